//! The sound of a ring: two short tones, made here, played by a player that the machine has.

use std::{
    f32::consts::TAU,
    io::Write as _,
    path::PathBuf,
    process::Stdio,
    sync::atomic::{AtomicBool, Ordering},
    time::Duration,
};

use tokio::process::Command;

/// The player that takes the address of a PulseAudio server.
const PULSE: &str = "paplay";

/// Players of WAV files, the likeliest first: PipeWire, PulseAudio, ALSA, macOS, GNOME.
/// What is asked of the servers is that they do not play out a second of sound when a player is ended.
const PLAYERS: [(&str, &[&str]); 5] = [
    ("pw-play", &["--latency=100ms"]),
    (PULSE, &["--latency-msec=100"]),
    ("aplay", &["-q"]),
    ("afplay", &[]),
    ("canberra-gtk-play", &["-f"]),
];

/// Samples a second: enough for these tones.
const RATE: u32 = 16_000;
/// Two beeps of an octave and silence make a bar.
const BAR: f32 = 1.2;
const BEEPS: [(f32, f32); 2] = [(0.0, 880.0), (0.25, 1318.5)];
const BEEP: f32 = 0.18;
/// A tone that starts at once clicks.
const RAMP: f32 = 0.015;
/// No sound is longer, whatever the config says.
const LONGEST: Duration = Duration::from_secs(300);
/// How much longer than its file a player may take.
const PATIENCE: Duration = Duration::from_secs(5);

/// Plays the tones for a while; the player ends with the task. A machine without a player stays silent, which is said
/// in the log, once. `speaker` is a PulseAudio server in place of the one of the environment.
pub async fn play(length: Duration, volume: f32, speaker: Option<String>) {
    let length = length.min(LONGEST);
    if let Err(silent) = play_wav(tones(length, volume), length, speaker.as_deref()).await {
        static SAID: AtomicBool = AtomicBool::new(false);
        if !SAID.swap(true, Ordering::Relaxed) {
            tracing::warn!(%silent, "what rings is silent");
        }
    }
}

/// The tones as a WAV file, of this loudness from 0 to 1.
pub fn tones(length: Duration, volume: f32) -> Vec<u8> {
    wav(length.as_secs_f32(), |time| bar(time) * volume.clamp(0.0, 1.0))
}

/// Why a sound is not heard.
#[derive(Debug, thiserror::Error)]
pub enum Silent {
    /// No program that plays sound is installed.
    #[error("there is no player; `tiro doctor` says what to install")]
    NoPlayer,
    /// There are players, and none could.
    #[error("no player could play")]
    NonePlays,
    /// One began and does not end.
    #[error("the player {0} does not end")]
    Hangs(&'static str),
    /// The sound cannot be given to a player.
    #[error("the sound could not be written: {0}")]
    NotWritten(std::io::Error),
}

/// Plays a WAV file of this length to its end; the player ends with the task.
///
/// # Errors
/// Why nothing is heard.
pub async fn play_wav(wav: Vec<u8>, length: Duration, speaker: Option<&str>) -> Result<(), Silent> {
    let file = tokio::task::spawn_blocking(move || {
        let mut file = tempfile::Builder::new()
            .prefix("tiro-")
            .suffix(".wav")
            .tempfile()?;
        file.write_all(&wav)?;
        std::io::Result::Ok(file.into_temp_path())
    });
    let path = file
        .await
        .unwrap_or_else(|panic| Err(std::io::Error::other(panic)))
        .map_err(Silent::NotWritten)?;
    let meant = |(player, _): &(&str, &[&str])| speaker.is_none() || *player == PULSE;
    for (player, arguments) in PLAYERS.into_iter().filter(meant) {
        let mut command = Command::new(player);
        if let Some(speaker) = &speaker {
            command.env("PULSE_SERVER", speaker);
        }
        let child = command
            .args(arguments)
            .arg(&path)
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .kill_on_drop(true)
            .spawn();
        let Ok(mut child) = child else {
            continue;
        };
        match tokio::time::timeout(length + PATIENCE, child.wait()).await {
            Ok(Ok(status)) if status.success() => return Ok(()),
            // It is there, and its server is not; another may do.
            Ok(_) => tracing::debug!(player, "the player failed"),
            Err(_) => {
                let _ = child.kill().await;
                return Err(Silent::Hangs(player));
            }
        }
    }
    Err(match player() {
        Some(_) => Silent::NonePlays,
        None => Silent::NoPlayer,
    })
}

/// The player that is tried first, if the machine has any.
pub fn player() -> Option<PathBuf> {
    let path = std::env::var_os("PATH").unwrap_or_default();
    PLAYERS.iter().find_map(|(name, _)| {
        let mut folders = std::env::split_paths(&path).map(|folder| folder.join(name));
        folders.find(|program| program.is_file())
    })
}

/// A sound as a WAV file: 16 bit, one channel; the loudness, -1 to 1, by the seconds since its start.
pub fn wav(seconds: f32, sample: impl Fn(f32) -> f32) -> Vec<u8> {
    let count = (seconds * RATE as f32) as u32;
    let bytes = count * 2;
    let mut out = Vec::with_capacity(44 + bytes as usize);
    out.extend_from_slice(b"RIFF");
    out.extend_from_slice(&(36 + bytes).to_le_bytes());
    out.extend_from_slice(b"WAVEfmt ");
    out.extend_from_slice(&16u32.to_le_bytes());
    out.extend_from_slice(&1u16.to_le_bytes());
    out.extend_from_slice(&1u16.to_le_bytes());
    out.extend_from_slice(&RATE.to_le_bytes());
    out.extend_from_slice(&(RATE * 2).to_le_bytes());
    out.extend_from_slice(&2u16.to_le_bytes());
    out.extend_from_slice(&16u16.to_le_bytes());
    out.extend_from_slice(b"data");
    out.extend_from_slice(&bytes.to_le_bytes());
    for n in 0..count {
        let value = sample(n as f32 / RATE as f32).clamp(-1.0, 1.0);
        out.extend_from_slice(&((value * f32::from(i16::MAX)) as i16).to_le_bytes());
    }
    out
}

/// A tone of this pitch and length, in hertz and seconds, at this time since its start.
pub fn tone(pitch: f32, length: f32, since: f32) -> f32 {
    if !(0.0..length).contains(&since) {
        return 0.0;
    }
    let ramp = (since / RAMP).min((length - since) / RAMP).min(1.0);
    (TAU * pitch * since).sin() * ramp
}

fn bar(time: f32) -> f32 {
    let at = time % BAR;
    let beeps = BEEPS.iter().map(|(start, pitch)| tone(*pitch, BEEP, at - start));
    beeps.sum()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_tones_are_a_wav_file_as_long_and_as_loud_as_asked() {
        #[track_caller]
        fn check(seconds: f32, volume: f32) {
            let bytes = tones(Duration::from_secs_f32(seconds), volume);
            let reader = hound::WavReader::new(&bytes[..]).unwrap();
            assert_eq!((reader.spec().sample_rate, reader.spec().channels), (RATE, 1));
            let samples: Vec<i16> = reader.into_samples().map(Result::unwrap).collect();
            assert_eq!(samples.len(), (seconds * RATE as f32) as usize);
            let peak = samples
                .iter()
                .map(|s| f32::from(s.unsigned_abs()))
                .fold(0.0, f32::max);
            let peak = peak / f32::from(i16::MAX);
            assert!((peak - volume.clamp(0.0, 1.0)).abs() < 0.05, "{volume}: {peak}");
            assert_eq!(samples.first(), Some(&0), "it does not click");
        }
        check(1.2, 0.6);
        check(3.0, 1.0);
        check(1.2, 0.0);
        check(1.2, 7.0);
    }

    #[tokio::test]
    async fn a_sound_that_is_stopped_leaves_no_player() {
        // Also where there is no player this comes to its end.
        let playing = tokio::spawn(play(Duration::from_millis(100), 0.0, None));
        let done = tokio::time::timeout(Duration::from_secs(30), playing).await;
        done.expect("it ends").unwrap();
    }
}
