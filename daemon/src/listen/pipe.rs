//! The way of sound from the callback of a microphone to the thread that listens. The writing end is for a thread that must
//! not wait: it takes no lock, asks for no memory and logs nothing, and what has no room is lost and counted. Two rings
//! with one writer and one reader each hold the samples and the lengths of the blocks in which they came, so that whoever
//! reads sees how the microphone delivers. That it is gone comes once and from elsewhere, and so goes past them.

use std::{
    marker::PhantomData,
    sync::{
        Arc, OnceLock,
        atomic::{AtomicBool, AtomicU64, Ordering},
        mpsc::RecvTimeoutError,
    },
    thread::{self, Thread},
    time::{Duration, Instant},
};

use rtrb::{Consumer, Producer, RingBuffer};

use super::capture::Block;

/// There is room for blocks of this length on average: PulseAudio and PipeWire are asked for pieces of it (`capture::pulse`).
const AVERAGE: Duration = Duration::from_millis(32);
/// Samples a second: what PulseAudio allows at the most (`PA_RATE_MAX`). Whatever claims to be faster gets no more memory.
const FASTEST: u32 = 768_000;

/// A pipe for so many blocks at so many samples a second, which together may be `blocks` times 32 ms long: 512 blocks are
/// 16.4 s, and less where they are shorter. At 48 kHz that takes 3 MB, and 1.6 ms once. The reader stays on the thread that asks.
pub fn pipe(blocks: usize, rate: u32) -> (Writer, Reader) {
    let room = rate.min(FASTEST) as usize * AVERAGE.as_millis() as usize * blocks / 1000;
    let (mut samples, heard) = RingBuffer::new(room);
    let (lengths, pieces) = RingBuffer::new(blocks);
    // All of it is written to once without being handed over. Otherwise the system would only find the memory when the
    // callback comes to each part for the first time, and that would have to wait.
    drop(samples.write_chunk(samples.slots()));
    let shared = Arc::<Shared>::default();
    let end = Arc::new(End {
        shared: Arc::clone(&shared),
        reader: thread::current(),
    });
    let writer = Writer {
        samples,
        lengths,
        end,
    };
    let reader = Reader {
        samples: heard,
        lengths: pieces,
        shared,
        taken: 0,
        told: 0,
        here: PhantomData,
    };
    (writer, reader)
}

/// The end of the pipe that the callback has.
pub struct Writer {
    samples: Producer<f32>,
    lengths: Producer<usize>,
    end: Arc<End>,
}

/// Tells the reader that the microphone is gone.
pub struct Teller(Arc<End>);

/// The end of the pipe that the listening thread has, the one that made the pipe: that is woken, so this cannot be sent to
/// another.
pub struct Reader {
    samples: Consumer<f32>,
    lengths: Consumer<usize>,
    shared: Arc<Shared>,
    /// Blocks that were taken.
    taken: u64,
    /// Lost frames that the log knows of.
    told: u64,
    here: PhantomData<*const ()>,
}

#[derive(Default)]
struct Shared {
    /// Blocks that were written.
    written: AtomicU64,
    /// Frames for which there was no room.
    missed: AtomicU64,
    /// How many blocks had been written when the microphone went away, and why it did.
    lost: OnceLock<(u64, String)>,
    /// Whether nobody is left to write or tell anything.
    closed: AtomicBool,
}

/// What the writer and those who tell have of the pipe; the last of them closes it.
struct End {
    shared: Arc<Shared>,
    reader: Thread,
}

impl Drop for End {
    fn drop(&mut self) {
        self.shared.closed.store(true, Ordering::Release);
        self.reader.unpark();
    }
}

impl Writer {
    /// Hands over the next frames as one block, mixed to one channel. Where there is no room for all of them, all are lost.
    /// No frames are no block, so that a microphone which delivers nothing else is found to be silent.
    pub fn write(&mut self, sound: impl ExactSizeIterator<Item = f32>) {
        let frames = sound.len();
        if frames == 0 {
            return;
        }
        let room = !self.lengths.is_full();
        let Some(chunk) = self.samples.write_chunk_uninit(frames).ok().filter(|_| room) else {
            self.end.shared.missed.fetch_add(frames as u64, Ordering::Relaxed);
            return;
        };
        // The samples come first: a length promises that they are there. It has the room that was just seen, because
        // nobody else writes.
        let _ = self.lengths.push(chunk.fill_from_iter(sound));
        self.end.shared.written.fetch_add(1, Ordering::Release);
        // This is an exchange of one number, and a call of the system where the reader sleeps; neither waits.
        self.end.reader.unpark();
    }

    /// What tells the reader that the microphone is gone.
    pub fn teller(&self) -> Teller {
        Teller(Arc::clone(&self.end))
    }
}

impl Teller {
    /// The microphone is gone; why, for the log. It is told after all that was written until now, and only the first time.
    pub fn lost(&self, why: String) {
        let End { shared, reader } = &*self.0;
        let _ = shared.lost.set((shared.written.load(Ordering::Acquire), why));
        reader.unpark();
    }
}

impl Reader {
    /// The next block, or why there is no other. When there is neither, this waits for one.
    ///
    /// # Errors
    /// `Timeout` when nothing came in this time; `Disconnected` when all was read and nobody can write any more.
    pub fn recv_timeout(&mut self, time: Duration) -> Result<Block, RecvTimeoutError> {
        let began = Instant::now();
        loop {
            if let Some(next) = self.next() {
                return next;
            }
            // Waking before the time is over means nothing by itself.
            match time.checked_sub(began.elapsed()) {
                None | Some(Duration::ZERO) => return Err(RecvTimeoutError::Timeout),
                Some(left) => thread::park_timeout(left),
            }
        }
    }

    /// Frames that were lost until now because there was no room for their block.
    pub fn missed(&self) -> u64 {
        self.shared.missed.load(Ordering::Relaxed)
    }

    fn next(&mut self) -> Option<Result<Block, RecvTimeoutError>> {
        let missed = self.missed();
        if missed > self.told {
            tracing::debug!(frames = missed - self.told, "sound was lost");
            self.told = missed;
        }
        // Looked at first: all that was written before the end is then seen below.
        let closed = self.shared.closed.load(Ordering::Acquire);
        if let Some((_, why)) = self.shared.lost.get().filter(|(at, _)| self.taken >= *at) {
            return Some(Ok(Block::Lost(why.clone())));
        }
        let block = self.lengths.pop().ok();
        match block.and_then(|frames| self.samples.read_chunk(frames).ok()) {
            Some(chunk) => {
                self.taken += 1;
                Some(Ok(Block::Sound(chunk.into_iter().collect())))
            }
            None => closed.then_some(Err(RecvTimeoutError::Disconnected)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SOON: Duration = Duration::from_secs(10);

    fn count(from: usize, frames: usize) -> impl ExactSizeIterator<Item = f32> {
        (from..from + frames).map(|n| n as f32)
    }

    fn sound(next: Result<Block, RecvTimeoutError>) -> Vec<f32> {
        match next {
            Ok(Block::Sound(sound)) => sound,
            other => panic!("{other:?}"),
        }
    }

    /// A callback of its own thread writes blocks of changing lengths many times around the ring, while the reader is slow
    /// now and then and there is room only because the writer looks.
    #[test]
    fn every_sample_arrives_in_order_and_in_its_block() {
        const BLOCKS: usize = 20_000;
        let (mut writer, mut reader) = pipe(8, 16_000);
        let shared = Arc::clone(&reader.shared);
        let length = |n: usize| n * 7 % 501 + 1;
        let writing = thread::spawn(move || {
            let mut from = 0;
            for n in 0..BLOCKS {
                // The reader may take long, and here nothing is to be lost.
                while writer.lengths.slots() == 0 || writer.samples.slots() < length(n) {
                    thread::yield_now();
                }
                writer.write(count(from, length(n)));
                from = (from + length(n)) % (1 << 20);
            }
        });
        let mut from = 0;
        for n in 0..BLOCKS {
            if n % 1000 == 0 {
                thread::sleep(Duration::from_millis(3));
            }
            let heard = sound(reader.recv_timeout(SOON));
            assert!(heard.iter().copied().eq(count(from, length(n))), "block {n}");
            from = (from + length(n)) % (1 << 20);
        }
        writing.join().unwrap();
        assert_eq!(shared.missed.load(Ordering::Relaxed), 0);
        assert!(matches!(
            reader.recv_timeout(SOON),
            Err(RecvTimeoutError::Disconnected)
        ));
    }

    #[test]
    fn what_has_no_room_is_lost_in_whole_blocks_and_counted() {
        // Too many blocks.
        let (mut writer, mut reader) = pipe(4, 16_000);
        for n in 0..7 {
            writer.write(count(n * 10, 10));
        }
        assert_eq!(reader.missed(), 30);
        for n in 0..4 {
            assert!(sound(reader.recv_timeout(SOON)).into_iter().eq(count(n * 10, 10)));
        }
        // What comes later has room again.
        writer.write(count(70, 10));
        assert!(sound(reader.recv_timeout(SOON)).into_iter().eq(count(70, 10)));

        // Too many samples: 4 times 512 are all that there is room for.
        writer.write(count(0, 1500));
        writer.write(count(0, 600));
        writer.write(count(1500, 500));
        assert_eq!(reader.missed(), 630);
        assert!(sound(reader.recv_timeout(SOON)).into_iter().eq(count(0, 1500)));
        assert!(sound(reader.recv_timeout(SOON)).into_iter().eq(count(1500, 500)));
        writer.write(count(0, 2049));
        assert_eq!(reader.missed(), 630 + 2049);
        // It is empty, and a block that is as large as all of it still goes through.
        writer.write(count(0, 2048));
        assert_eq!(sound(reader.recv_timeout(SOON)).len(), 2048);
        assert_eq!(reader.told, reader.missed());
    }

    #[test]
    fn a_rate_that_cannot_be_takes_no_more_memory() {
        let room = |rate| pipe(512, rate).0.samples.slots();
        assert_eq!((room(48_000), room(u32::MAX)), (786_432, room(FASTEST)));
        let (mut writer, reader) = pipe(512, 0);
        writer.write(count(0, 10));
        assert_eq!(reader.missed(), 10);
    }

    #[test]
    fn nothing_is_no_block_and_the_time_is_kept() {
        let (mut writer, mut reader) = pipe(4, 16_000);
        writer.write(count(0, 0));
        let (began, time) = (Instant::now(), Duration::from_millis(30));
        // That somebody wakes the thread for another reason does not end it.
        thread::current().unpark();
        let next = reader.recv_timeout(time);
        assert!(matches!(next, Err(RecvTimeoutError::Timeout)), "{next:?}");
        assert!(began.elapsed() >= time);
    }

    /// It sleeps until then and does not look now and then: the best of some tries, because the processor may be busy.
    #[test]
    fn a_reader_that_waits_is_woken_at_once() {
        let (mut writer, mut reader) = pipe(4, 16_000);
        let (told, tell) = std::sync::mpsc::channel();
        let (go, went) = std::sync::mpsc::channel();
        let writing = thread::spawn(move || {
            for () in went {
                thread::sleep(Duration::from_millis(20));
                told.send(Instant::now()).unwrap();
                writer.write(count(0, 160));
            }
        });
        let best = (0..20)
            .map(|_| {
                go.send(()).unwrap();
                sound(reader.recv_timeout(SOON));
                tell.recv().unwrap().elapsed()
            })
            .min();
        drop(go);
        writing.join().unwrap();
        assert!(best.unwrap() < Duration::from_millis(3), "{best:?}");
    }

    #[test]
    fn the_end_comes_after_all_samples_and_when_nobody_can_tell_anything() {
        let (mut writer, mut reader) = pipe(4, 16_000);
        writer.write(count(0, 10));
        writer.write(count(10, 10));
        let teller = writer.teller();
        drop(writer);
        assert_eq!(sound(reader.recv_timeout(SOON)).len(), 10);
        assert_eq!(sound(reader.recv_timeout(SOON)).len(), 10);
        // The callback is gone; why, may still be told.
        let next = reader.recv_timeout(Duration::ZERO);
        assert!(matches!(next, Err(RecvTimeoutError::Timeout)), "{next:?}");
        let ending = thread::spawn(move || {
            thread::sleep(Duration::from_millis(20));
            drop(teller);
        });
        let began = Instant::now();
        let next = reader.recv_timeout(SOON);
        assert!(matches!(next, Err(RecvTimeoutError::Disconnected)), "{next:?}");
        assert!(began.elapsed() < SOON);
        ending.join().unwrap();
    }

    #[test]
    fn why_it_was_lost_comes_after_the_samples_before_it_and_before_those_after() {
        let (mut writer, mut reader) = pipe(4, 16_000);
        let teller = writer.teller();
        writer.write(count(0, 10));
        writer.write(count(10, 10));
        teller.lost("unplugged".to_owned());
        // The callback may not know it yet.
        writer.write(count(20, 10));
        teller.lost("gone".to_owned());
        assert!(sound(reader.recv_timeout(SOON)).into_iter().eq(count(0, 10)));
        assert!(sound(reader.recv_timeout(SOON)).into_iter().eq(count(10, 10)));
        match reader.recv_timeout(SOON) {
            Ok(Block::Lost(why)) => assert_eq!(why, "unplugged"),
            other => panic!("{other:?}"),
        }

        // Who waits is woken, and a full pipe has room for that.
        let (mut writer, mut reader) = pipe(1, 16_000);
        writer.write(count(0, 512));
        let teller = writer.teller();
        let losing = thread::spawn(move || {
            thread::sleep(Duration::from_millis(20));
            teller.lost("unplugged".to_owned());
        });
        assert_eq!(sound(reader.recv_timeout(SOON)).len(), 512);
        let next = reader.recv_timeout(SOON);
        assert!(matches!(next, Ok(Block::Lost(_))), "{next:?}");
        losing.join().unwrap();
    }
}
