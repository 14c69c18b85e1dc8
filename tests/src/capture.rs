//! The microphone of a real sound server: nothing is lost on the way, whatever else the machine does, and what is played
//! comes in small pieces.

use std::{
    path::Path,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
        mpsc::RecvTimeoutError,
    },
    thread,
    time::{Duration, Instant},
};

use daemon::listen::{
    capture::{Block, find},
    pipe::{Reader, pipe},
};

use crate::{microphone::alone_in, pulse::Pulse};

const PATIENCE: Duration = Duration::from_secs(60);
/// Samples a second of the virtual microphone.
const RATE: usize = 48_000;

/// Off the runtime, as in the daemon: what opens a microphone may block.
fn alone(name: &str, test: impl FnOnce(&Path, &Pulse)) {
    alone_in("capture", name, async |folder, pulse| {
        tokio::task::block_in_place(|| test(&folder, &pulse));
    });
}

/// Noise that never repeats itself, never 0, and no louder than half.
fn noise(length: usize) -> Vec<i16> {
    let mut state = 0x1234_5678_u32;
    let step = |_| {
        state ^= state << 13;
        state ^= state >> 17;
        state ^= state << 5;
        (state % 16_000) as i16 + 1
    };
    (0..length).map(step).collect()
}

fn write(path: &Path, rate: u32, channels: u16, samples: &[i16]) {
    let spec = hound::WavSpec {
        channels,
        sample_rate: rate,
        bits_per_sample: 16,
        sample_format: hound::SampleFormat::Int,
    };
    let mut file = hound::WavWriter::create(path, spec).unwrap();
    samples.iter().for_each(|s| file.write_sample(*s).unwrap());
    file.finalize().unwrap();
}

/// All that comes until `enough` says so, with the lengths of its pieces and the time between the first and the last.
fn heard(blocks: &mut Reader, enough: impl Fn(&[f32]) -> bool) -> (Vec<f32>, Vec<usize>, Duration) {
    let (mut all, mut pieces) = (Vec::new(), Vec::new());
    let began = Instant::now();
    let mut first = None;
    while !enough(&all) {
        assert!(began.elapsed() < PATIENCE, "{} samples came", all.len());
        match blocks.recv_timeout(PATIENCE) {
            Ok(Block::Sound(sound)) => {
                first.get_or_insert_with(Instant::now);
                pieces.push(sound.len());
                all.extend(sound);
            }
            other => panic!("{other:?}"),
        }
    }
    (
        all,
        pieces,
        first.map(|first| first.elapsed()).unwrap_or_default(),
    )
}

/// How much silence says that what was played is over.
const AFTER: usize = RATE / 2;

fn over(all: &[f32]) -> bool {
    let silent = all.iter().rev().take_while(|s| **s == 0.0).count();
    silent >= AFTER && silent < all.len()
}

/// Every sample of eight seconds arrives, once and in order, to the bit: on a machine that does nothing else, on one whose
/// processors are all busy, and when nobody takes the sound for a while.
#[test]
fn no_sample_is_lost_on_the_way() {
    alone("no_sample_is_lost_on_the_way", |folder, pulse| {
        every_sample_arrives(folder, pulse);
    });
}

/// The same on a server of any kind.
pub fn every_sample_arrives(folder: &Path, pulse: &Pulse) {
    let server = pulse.name();
    let played = noise(8 * RATE);
    let file = folder.join("noise.wav");
    write(&file, RATE as u32, 1, &played);
    for load in [
        "none",
        "every processor is busy",
        "nobody takes the sound for 2 s",
    ] {
        let busy = Arc::new(AtomicBool::new(load.starts_with("every")));
        let workers = thread::available_parallelism().unwrap().get() * 2;
        for _ in 0..workers {
            let busy = Arc::clone(&busy);
            thread::spawn(move || while busy.load(Ordering::Relaxed) {});
        }
        let microphone = find("").unwrap();
        assert_eq!(
            microphone.to_string(),
            format!("Desk-Microphone through {server}, 48000 Hz, mono")
        );
        let began = Instant::now();
        let (writer, mut blocks) = pipe(512, microphone.rate());
        let open = microphone.open(writer).unwrap();
        let opened = began.elapsed();
        let player = {
            let mut command = pulse.command("paplay");
            command.arg("--device=mic_in").arg(&file);
            thread::spawn(move || assert!(command.status().unwrap().success()))
        };
        if load.starts_with("nobody") {
            thread::sleep(Duration::from_secs(2));
        }
        let (all, mut pieces, took) = heard(&mut blocks, over);
        player.join().unwrap();
        busy.store(false, Ordering::Relaxed);
        drop(open);
        pulse.until_recorders(0);
        assert_eq!(blocks.missed(), 0, "{load}");

        let start = all.iter().position(|s| *s != 0.0).unwrap();
        let end = all.len() - AFTER;
        let same = all[start..]
            .iter()
            .zip(&played)
            .take_while(|(heard, played)| **heard == f32::from(**played) / 32_768.0)
            .count();
        pieces.sort_unstable();
        let in_ms = |samples: usize| samples * 1000 / RATE;
        let (middle, longest) = (pieces[pieces.len() / 2], pieces[pieces.len() - 1]);
        println!(
            "{load}: open after {} ms; {} samples in {} ms, pieces of {} ms, the longest {}",
            opened.as_millis(),
            all.len(),
            took.as_millis(),
            in_ms(middle),
            in_ms(longest)
        );
        assert_eq!(
            same,
            played.len(),
            "{load}: {} samples between silences",
            end - start
        );
        // A server that saves up for as long as it likes says the last word a quarter of a second late.
        assert!(in_ms(middle) <= 40, "{load}: {} ms", in_ms(middle));
    }
}

/// A microphone of another kind is recorded as it is, and its channels are mixed here.
#[test]
fn a_microphone_has_its_own_rate_and_channels() {
    alone("a_microphone_has_its_own_rate_and_channels", |folder, pulse| {
        let module = pulse.load("module-null-sink sink_name=room rate=44100 channels=2 norewinds=1");
        let microphone = find("room.monitor").unwrap();
        assert_eq!(microphone.rate(), 44_100);
        let says = microphone.to_string();
        let expect = format!(" through {}, 44100 Hz, 2 channels", pulse.name());
        assert!(says.ends_with(&expect), "{says}");
        let (writer, mut blocks) = pipe(512, microphone.rate());
        let open = microphone.open(writer).unwrap();
        let left = noise(44_100);
        let right = left.iter().map(|s| s / 2);
        let both: Vec<i16> = left
            .iter()
            .zip(right.clone())
            .flat_map(|(l, r)| [*l, r])
            .collect();
        let file = folder.join("stereo.wav");
        write(&file, 44_100, 2, &both);
        let mut command = pulse.command("paplay");
        assert!(
            command
                .arg("--device=room")
                .arg(&file)
                .status()
                .unwrap()
                .success()
        );
        let (all, ..) = heard(&mut blocks, over);
        let start = all.iter().position(|s| *s != 0.0).unwrap();
        let mean = left
            .iter()
            .zip(right)
            .map(|(l, r)| (f32::from(*l) + f32::from(r)) / 65_536.0);
        let same = all[start..]
            .iter()
            .zip(mean)
            .take_while(|(heard, mean)| (**heard - mean).abs() < 1e-6);
        assert_eq!(same.count(), left.len());

        // It is unplugged. Another one is none that anybody chose, so the server does not go on with that.
        pulse.pactl(&format!("unload-module {module}"));
        let began = Instant::now();
        let lost = loop {
            match blocks.recv_timeout(Duration::from_secs(3)) {
                Ok(Block::Sound(_)) if began.elapsed() < Duration::from_secs(3) => {}
                Ok(Block::Lost(why)) => break why,
                Err(RecvTimeoutError::Disconnected) => break "the connection ended".to_owned(),
                Ok(Block::Sound(_)) => panic!("it goes on with another"),
                Err(RecvTimeoutError::Timeout) => panic!("nothing was said for 3 s"),
            }
        };
        println!("unplugged, after {} ms: {lost}", began.elapsed().as_millis());
        drop(open);
        pulse.until_recorders(0);
        let none = find("room.monitor").err().unwrap().to_string();
        assert!(none.contains("There is: Desk-Microphone."), "{none}");
    });
}

/// Whoever names a microphone writes what their settings call it. Who names none has the one that the desktop chose, or any: what
/// the speakers play is no microphone.
#[test]
fn a_microphone_is_found_by_its_description_and_a_speaker_is_none() {
    alone(
        "a_microphone_is_found_by_its_description_and_a_speaker_is_none",
        |_, pulse| {
            let called = |wanted: &str| find(wanted).map(|m| m.to_string()).map_err(|e| e.to_string());
            let desk = format!("Desk-Microphone through {}, 48000 Hz, mono", pulse.name());
            let desk = desk.as_str();
            for wanted in ["", "Desk-Microphone", "desk-microphone", "vmic"] {
                assert_eq!(called(wanted).as_deref(), Ok(desk), "{wanted}");
            }
            pulse.pactl("set-default-source speaker.monitor");
            assert_eq!(called("").as_deref(), Ok(desk));
            pulse.plug_in("Headset");
            pulse.pactl("set-default-source Headset");
            assert!(called("").unwrap().starts_with("Headset through"));
            pulse.pactl("set-default-source vmic");

            let muted = || find("").unwrap().is_muted();
            assert!(!muted());
            for (change, expect) in [
                ("set-source-mute vmic 1", true),
                ("set-source-mute vmic 0", false),
                ("set-source-volume vmic 0", true),
                ("set-source-volume vmic 40%", false),
            ] {
                pulse.pactl(change);
                assert_eq!(muted(), expect, "{change}");
            }

            pulse.pactl("unload-module module-remap-source");
            let none = called("").unwrap_err();
            assert!(none.starts_with("There is no microphone."), "{none}");
        },
    );
}
