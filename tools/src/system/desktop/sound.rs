//! How loud it is: the default output of PipeWire or PulseAudio, asked through their own programs, which each desktop
//! that has the server has, too.

use super::{
    Desk,
    child::{Failure, output},
    mac,
};
use crate::contract::ToolError;

/// Full volume, as PulseAudio counts.
pub const FULL: u32 = 65_536;

/// What speaks to the sound server here.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Through {
    /// PulseAudio, and PipeWire in its place.
    Pactl,
    /// PipeWire without it.
    Wpctl,
}

/// How loud it is, in units of which [`FULL`] is full.
///
/// # Errors
/// `Tell` where nothing can be heard.
pub async fn volume(desk: &Desk) -> Result<u32, ToolError> {
    if cfg!(target_os = "macos") {
        return mac::volume(desk).await.map(of_percent);
    }
    let (text, found) = match through(desk)? {
        Through::Pactl => {
            let text = ask(desk, "pactl", &["get-sink-volume", "@DEFAULT_SINK@"]).await?;
            let found = loudest(&text);
            (text, found)
        }
        Through::Wpctl => {
            let text = ask(desk, "wpctl", &["get-volume", "@DEFAULT_AUDIO_SINK@"]).await?;
            let found = fraction(&text);
            (text, found)
        }
    };
    found.ok_or_else(|| {
        tracing::debug!(text, "no volume");
        ToolError::tell("The sound server gave an answer that I do not understand.")
    })
}

/// Sets how loud it is.
///
/// # Errors
/// As [`volume`].
pub async fn set_volume(desk: &Desk, raw: u32) -> Result<(), ToolError> {
    if cfg!(target_os = "macos") {
        return mac::set_volume(desk, percent(raw)).await;
    }
    match through(desk)? {
        Through::Pactl => {
            let raw = raw.to_string();
            ask(desk, "pactl", &["set-sink-volume", "@DEFAULT_SINK@", &raw]).await?
        }
        Through::Wpctl => {
            let part = format!("{:.4}", f64::from(raw) / f64::from(FULL));
            ask(desk, "wpctl", &["set-volume", "@DEFAULT_AUDIO_SINK@", &part]).await?
        }
    };
    Ok(())
}

/// Whether the output is muted.
///
/// # Errors
/// As [`volume`].
pub async fn muted(desk: &Desk) -> Result<bool, ToolError> {
    if cfg!(target_os = "macos") {
        return mac::muted(desk).await;
    }
    Ok(match through(desk)? {
        Through::Pactl => ask(desk, "pactl", &["get-sink-mute", "@DEFAULT_SINK@"])
            .await?
            .contains("yes"),
        Through::Wpctl => ask(desk, "wpctl", &["get-volume", "@DEFAULT_AUDIO_SINK@"])
            .await?
            .contains("[MUTED]"),
    })
}

/// Mutes the output, or lets it be heard again.
///
/// # Errors
/// As [`volume`].
pub async fn set_muted(desk: &Desk, on: bool) -> Result<(), ToolError> {
    if cfg!(target_os = "macos") {
        return mac::set_muted(desk, on).await;
    }
    let on = if on { "1" } else { "0" };
    match through(desk)? {
        Through::Pactl => ask(desk, "pactl", &["set-sink-mute", "@DEFAULT_SINK@", on]).await?,
        Through::Wpctl => ask(desk, "wpctl", &["set-mute", "@DEFAULT_AUDIO_SINK@", on]).await?,
    };
    Ok(())
}

/// What there is, for `tiro doctor`.
pub async fn describe(desk: &Desk) -> Result<String, ToolError> {
    let volume = percent(volume(desk).await?);
    Ok(format!("The volume is {volume} percent."))
}

/// In percent of full.
pub fn percent(raw: u32) -> u32 {
    let percent = (u64::from(raw) * 100 + u64::from(FULL) / 2) / u64::from(FULL);
    u32::try_from(percent).unwrap_or(u32::MAX)
}

/// Percent in units of which [`FULL`] is full.
pub fn of_percent(percent: u32) -> u32 {
    let raw = (u64::from(percent) * u64::from(FULL) + 50) / 100;
    u32::try_from(raw).unwrap_or(u32::MAX)
}

fn through(desk: &Desk) -> Result<Through, ToolError> {
    match (desk.program("pactl"), desk.program("wpctl")) {
        (Some(_), _) => Ok(Through::Pactl),
        (None, Some(_)) => Ok(Through::Wpctl),
        (None, None) => Err(ToolError::tell(
            "Nothing here can change the volume: install pulseaudio-utils or wireplumber.",
        )),
    }
}

async fn ask(desk: &Desk, program: &str, arguments: &[&str]) -> Result<String, ToolError> {
    output(desk, program, arguments)
        .await
        .map_err(|failure| match failure {
            Failure::Silent => ToolError::tell("The sound server does not answer."),
            Failure::Missing => ToolError::tell(format!("{program} cannot be started.")),
            Failure::Failed(words) => {
                tracing::debug!(words, "no sound");
                ToolError::tell("No sound server can be reached, or it has no output.")
            }
        })
}

/// The loudest channel of `pactl get-sink-volume`: "Volume: front-left: 19661 /  30% / -31.37 dB, ...".
fn loudest(text: &str) -> Option<u32> {
    let line = text
        .lines()
        .find(|line| line.trim_start().starts_with("Volume:"))?;
    line.split(',')
        .filter_map(|channel| {
            channel
                .split('/')
                .next()?
                .rsplit(' ')
                .find(|w| !w.is_empty())?
                .parse()
                .ok()
        })
        .max()
}

/// The volume of `wpctl get-volume`: "Volume: 0.40 [MUTED]".
fn fraction(text: &str) -> Option<u32> {
    let part: f64 = text
        .trim()
        .strip_prefix("Volume:")?
        .split_whitespace()
        .next()?
        .parse()
        .ok()?;
    // More than a hundredfold is nobody's volume.
    (0.0..=100.0)
        .contains(&part)
        .then(|| (part * f64::from(FULL)).round() as u32)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn volumes_are_read() {
        let two = "Volume: front-left: 19661 /  30% / -31.37 dB,   front-right: 26214 /  40% / -23.88 dB\n        balance 0.00\n";
        assert_eq!(loudest(two), Some(26_214));
        assert_eq!(loudest("Volume: mono: 0 /   0% / -inf dB"), Some(0));
        for garbage in [
            "",
            "Volume:",
            "Volume: x / 3%",
            "Failure: no",
            "Volume: mono: -3 / 0%",
            "Volume: m: 99999999999 /",
        ] {
            assert_eq!(loudest(garbage), None, "{garbage}");
        }
        assert_eq!(fraction("Volume: 0.40 [MUTED]\n"), Some(26_214));
        for garbage in ["", "0.4", "Volume: NaN", "Volume: -1", "Volume: 1e9"] {
            assert_eq!(fraction(garbage), None, "{garbage}");
        }
    }

    #[test]
    fn percent_goes_there_and_back() {
        for n in 0..=150 {
            assert_eq!(percent(of_percent(n)), n);
        }
    }
}
