//! Events over a connection: each within its time, both ways, and a way to notice that the peer has hung up.

use std::{io, time::Duration};

use tokio::io::{AsyncRead, AsyncReadExt as _, AsyncWrite, AsyncWriteExt as _};

use super::wire::{Decoder, Event, Wrong};

/// Bytes that are read in one go.
const PIECE: usize = 16 << 10;
/// So many bytes of a peer that goes on talking while it is being answered are taken; the rest waits in its own system.
const MAX_AHEAD: usize = 256 << 10;

/// Why there is no next event; the words go behind the name of the peer.
#[derive(Debug, thiserror::Error)]
pub enum Trouble {
    /// The peer hung up between two events.
    #[error("closed the connection")]
    Closed,
    /// The peer hung up in the middle of one.
    #[error("closed the connection in the middle of an event")]
    CutOff,
    /// The connection broke.
    #[error("broke the connection: {0}")]
    Broke(#[from] io::Error),
    /// No whole event came, or the peer takes none.
    #[error("said nothing within {} s", .0.as_secs_f32())]
    Silent(Duration),
    /// The peer does not read.
    #[error("took nothing within {} s", .0.as_secs_f32())]
    Stuck(Duration),
    /// What came is not the protocol.
    #[error("does not speak Wyoming: {0}")]
    Wrong(#[from] Wrong),
}

/// The side that listens.
#[derive(Debug)]
pub struct Reader<R> {
    stream: R,
    decoder: Decoder,
    piece: Vec<u8>,
    /// The peer has said that nothing more comes.
    ended: bool,
}

impl<R: AsyncRead + Unpin> Reader<R> {
    /// Reads events from here.
    pub fn new(stream: R) -> Reader<R> {
        Reader {
            stream,
            decoder: Decoder::default(),
            piece: vec![0; PIECE],
            ended: false,
        }
    }

    /// The next event. It has to be here whole within this time, so that nobody keeps us by single bytes.
    ///
    /// # Errors
    /// Why there is none.
    pub async fn next(&mut self, patience: Duration) -> Result<Event, Trouble> {
        tokio::time::timeout(patience, self.next_whole())
            .await
            .unwrap_or(Err(Trouble::Silent(patience)))
    }

    async fn next_whole(&mut self) -> Result<Event, Trouble> {
        loop {
            if let Some(event) = self.decoder.next_event()? {
                return Ok(event);
            }
            if self.ended {
                return Err(match self.decoder.in_the_middle() {
                    true => Trouble::CutOff,
                    false => Trouble::Closed,
                });
            }
            self.read().await?;
        }
    }

    /// Waits until the peer hangs up. What it says meanwhile is kept for `next`, up to a bound.
    pub async fn gone(&mut self) {
        while !self.ended {
            if self.decoder.waiting() > MAX_AHEAD {
                // It says much and listens little. Whatever is being done for it has a time of its own.
                return std::future::pending().await;
            }
            if self.read().await.is_err() {
                return;
            }
        }
    }

    /// May be dropped while it waits: then nothing was taken.
    async fn read(&mut self) -> io::Result<()> {
        match self.stream.read(&mut self.piece).await? {
            0 => self.ended = true,
            n => self.decoder.feed(&self.piece[..n]),
        }
        Ok(())
    }
}

/// The side that speaks.
#[derive(Debug)]
pub struct Writer<W> {
    stream: W,
}

impl<W: AsyncWrite + Unpin> Writer<W> {
    /// Writes events there.
    pub fn new(stream: W) -> Writer<W> {
        Writer { stream }
    }

    /// Sends an event, which has to be taken within this time.
    ///
    /// # Errors
    /// Why it was not. What was sent in part cannot be gone on from.
    pub async fn send(&mut self, event: &Event, patience: Duration) -> Result<(), Trouble> {
        let bytes = event.encode();
        let sending = async {
            self.stream.write_all(&bytes).await?;
            self.stream.flush().await
        };
        match tokio::time::timeout(patience, sending).await {
            Ok(sent) => Ok(sent?),
            Err(_) => Err(Trouble::Stuck(patience)),
        }
    }
}

#[cfg(test)]
mod tests {
    use tokio::io::duplex;

    use super::*;

    const SHORT: Duration = Duration::from_millis(50);
    const LONG: Duration = Duration::from_secs(20);

    #[tokio::test]
    async fn events_arrive_and_the_end_is_told_from_a_break() {
        let (near, far) = duplex(64);
        let (mut reader, mut writer) = (Reader::new(near), Writer::new(far));
        let event = Event {
            payload: vec![7; 1000],
            ..Event::new("audio-chunk").with("rate", 8000)
        };
        let (sent, got) = tokio::join!(writer.send(&event, LONG), reader.next(LONG));
        sent.unwrap();
        assert_eq!(got.unwrap(), event);
        drop(writer);
        assert!(matches!(reader.next(LONG).await, Err(Trouble::Closed)));
        let (near, mut far) = duplex(64);
        far.write_all(b"{\"type\": \"x\", \"payload_length\": 3}\n12")
            .await
            .unwrap();
        drop(far);
        assert!(matches!(Reader::new(near).next(LONG).await, Err(Trouble::CutOff)));
    }

    #[tokio::test]
    async fn single_bytes_do_not_keep_anybody() {
        let (near, mut far) = duplex(64);
        let dripping = tokio::spawn(async move {
            for byte in br#"{"type": "describe"}"#.iter().cycle() {
                if far.write_all(&[*byte]).await.is_err() {
                    return;
                }
                tokio::time::sleep(Duration::from_millis(40)).await;
            }
        });
        let mut reader = Reader::new(near);
        assert!(matches!(reader.next(SHORT).await, Err(Trouble::Silent(_))));
        dripping.abort();
    }

    #[tokio::test]
    async fn a_peer_that_does_not_read_is_given_up() {
        let (near, _far) = duplex(64);
        let event = Event {
            payload: vec![0; 1000],
            ..Event::new("audio-chunk")
        };
        let sent = Writer::new(near).send(&event, SHORT).await;
        assert!(matches!(sent, Err(Trouble::Stuck(_))));
    }

    #[tokio::test]
    async fn hanging_up_is_noticed_and_what_was_said_before_is_kept() {
        let (near, mut far) = duplex(1024);
        let mut reader = Reader::new(near);
        far.write_all(&Event::new("ping").encode()).await.unwrap();
        assert!(
            tokio::time::timeout(SHORT, reader.gone()).await.is_err(),
            "it is there"
        );
        assert_eq!(reader.next(SHORT).await.unwrap().kind, "ping");
        far.write_all(&Event::new("describe").encode()).await.unwrap();
        drop(far);
        reader.gone().await;
        assert_eq!(reader.next(SHORT).await.unwrap().kind, "describe");
        assert!(matches!(reader.next(SHORT).await, Err(Trouble::Closed)));
    }

    #[tokio::test]
    async fn who_talks_while_it_is_answered_fills_its_own_memory() {
        let (near, mut far) = duplex(PIECE);
        let talking = tokio::spawn(async move {
            let mut sent = 0;
            while tokio::time::timeout(10 * SHORT, far.write_all(&[b' '; 1024]))
                .await
                .is_ok()
            {
                sent += 1024;
            }
            (sent, far)
        });
        let mut reader = Reader::new(near);
        assert!(tokio::time::timeout(40 * SHORT, reader.gone()).await.is_err());
        let (sent, _far) = talking.await.unwrap();
        assert!((MAX_AHEAD..MAX_AHEAD + 4 * PIECE).contains(&sent), "{sent}");
    }
}
