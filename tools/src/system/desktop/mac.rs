//! macOS: the same through the programs that it brings along. It is compiled everywhere, so that it stays correct Rust
//! on a machine that cannot run it, and used on macOS alone.

use std::time::Duration;

use super::{
    Desk,
    battery::{Battery, Doing, OWN},
    child::{Failure, output, output_within},
    power::Act,
};
use crate::contract::ToolError;

/// Scripts wake the programs that they speak to.
const SCRIPT: Duration = Duration::from_secs(8);

/// Runs lines of AppleScript. What a person said is given as arguments, never as part of the script.
pub async fn script(desk: &Desk, lines: &[&str], arguments: &[&str]) -> Result<String, ToolError> {
    let mut all = vec!["-e", "on run argv"];
    for line in lines {
        all.extend(["-e", line]);
    }
    all.extend(["-e", "end run"]);
    all.extend(arguments);
    let said = output_within(desk, "osascript", &all, SCRIPT).await;
    said.map(|text| text.trim().to_owned())
        .map_err(|failure| told(failure, "macOS"))
}

/// In percent.
pub async fn volume(desk: &Desk) -> Result<u32, ToolError> {
    let said = script(desk, &["output volume of (get volume settings)"], &[]).await?;
    said.parse()
        .map_err(|_| ToolError::tell("This output has no volume that I can set."))
}

pub async fn set_volume(desk: &Desk, percent: u32) -> Result<(), ToolError> {
    let percent = percent.to_string();
    let line = "set volume output volume ((item 1 of argv) as integer)";
    script(desk, &[line], &[&percent]).await.map(drop)
}

pub async fn muted(desk: &Desk) -> Result<bool, ToolError> {
    let said = script(desk, &["output muted of (get volume settings)"], &[]).await?;
    Ok(said == "true")
}

pub async fn set_muted(desk: &Desk, on: bool) -> Result<(), ToolError> {
    let line = match on {
        true => "set volume with output muted",
        false => "set volume without output muted",
    };
    script(desk, &[line], &[]).await.map(drop)
}

pub async fn is_dark(desk: &Desk) -> Result<bool, ToolError> {
    let line = "tell application \"System Events\" to return dark mode of appearance preferences";
    Ok(script(desk, &[line], &[]).await? == "true")
}

pub async fn set_dark(desk: &Desk, dark: bool) -> Result<(), ToolError> {
    let line = match dark {
        true => "tell application \"System Events\" to set dark mode of appearance preferences to true",
        false => "tell application \"System Events\" to set dark mode of appearance preferences to false",
    };
    script(desk, &[line], &[]).await.map(drop)
}

pub async fn battery(desk: &Desk) -> Result<Option<Battery>, ToolError> {
    let text = run(desk, "pmset", &["-g", "batt"]).await?;
    Ok(parse_battery(&text))
}

pub async fn notify(desk: &Desk, title: &str, text: &str) -> Result<(), ToolError> {
    let line = "display notification (item 2 of argv) with title (item 1 of argv)";
    script(desk, &[line], &[title, text]).await.map(drop)
}

pub async fn lock(desk: &Desk) -> Result<(), ToolError> {
    // The screen sleeps and is locked when it wakes, as the person has set it.
    run(desk, "pmset", &["displaysleepnow"]).await.map(drop)
}

pub async fn power(desk: &Desk, act: Act) -> Result<(), ToolError> {
    match act {
        Act::Sleep => run(desk, "pmset", &["sleepnow"]).await.map(drop),
        Act::Restart => script(desk, &["tell application \"System Events\" to restart"], &[])
            .await
            .map(drop),
        Act::ShutDown => script(desk, &["tell application \"System Events\" to shut down"], &[])
            .await
            .map(drop),
    }
}

pub async fn wifi(desk: &Desk) -> Result<bool, ToolError> {
    let card = wifi_card(desk).await?;
    let said = run(desk, "networksetup", &["-getairportpower", &card]).await?;
    Ok(said.trim_end().ends_with("On"))
}

pub async fn set_wifi(desk: &Desk, on: bool) -> Result<(), ToolError> {
    let card = wifi_card(desk).await?;
    let on = if on { "on" } else { "off" };
    run(desk, "networksetup", &["-setairportpower", &card, on])
        .await
        .map(drop)
}

/// Focus has no door for other programs.
pub fn no_focus() -> Result<bool, ToolError> {
    Err(ToolError::tell(
        "macOS does not let other programs switch its Focus.",
    ))
}

pub async fn screenshot(desk: &Desk, file: &str) -> Result<(), ToolError> {
    run(desk, "screencapture", &["-x", file]).await.map(drop)
}

/// What the player of macOS is told: "play", "pause", "next track", "previous track".
pub async fn music(desk: &Desk, verb: &str) -> Result<(), ToolError> {
    let line = format!("tell application \"Music\" to {verb}");
    script(desk, &[&line], &[]).await.map(drop)
}

/// Title, artist and album of what plays; nothing when nothing does.
pub async fn playing(desk: &Desk) -> Result<Option<[String; 3]>, ToolError> {
    let lines = [
        "if application \"Music\" is not running then return \"\"",
        "tell application \"Music\"",
        "if player state is not playing then return \"\"",
        "return (name of current track) & linefeed & (artist of current track) & linefeed & (album of current track)",
        "end tell",
    ];
    let said = script(desk, &lines, &[]).await?;
    let mut parts = said.lines().map(str::to_owned);
    Ok(parts.next().map(|title| {
        [
            title,
            parts.next().unwrap_or_default(),
            parts.next().unwrap_or_default(),
        ]
    }))
}

/// The names of programs with windows that run.
pub async fn running(desk: &Desk) -> Result<Vec<String>, ToolError> {
    let lines = [
        "set text item delimiters to linefeed",
        "tell application \"System Events\" to return (name of every process whose background only is false) as text",
    ];
    let said = script(desk, &lines, &[]).await?;
    Ok(said.lines().map(str::to_owned).collect())
}

/// Asks a program to end; it asks back about what is not saved.
pub async fn quit(desk: &Desk, name: &str) -> Result<(), ToolError> {
    script(desk, &["tell application (item 1 of argv) to quit"], &[name])
        .await
        .map(drop)
}

async fn wifi_card(desk: &Desk) -> Result<String, ToolError> {
    let ports = run(desk, "networksetup", &["-listallhardwareports"]).await?;
    let mut lines = ports.lines().skip_while(|line| *line != "Hardware Port: Wi-Fi");
    lines
        .nth(1)
        .and_then(|line| line.strip_prefix("Device: "))
        .map(str::to_owned)
        .ok_or_else(|| ToolError::tell("This computer has no wifi."))
}

async fn run(desk: &Desk, program: &str, arguments: &[&str]) -> Result<String, ToolError> {
    output(desk, program, arguments)
        .await
        .map_err(|failure| told(failure, program))
}

fn told(failure: Failure, who: &str) -> ToolError {
    match failure {
        Failure::Missing => ToolError::tell(format!("{who} is not there.")),
        Failure::Silent => ToolError::tell(format!("{who} does not answer.")),
        Failure::Failed(words) => {
            tracing::debug!(words, who, "refused");
            ToolError::tell(format!("{who} did not allow that."))
        }
    }
}

/// A line of `pmset -g batt`: after a tab "85%; discharging; 4:12 remaining present: true".
fn parse_battery(text: &str) -> Option<Battery> {
    let line = text.lines().find(|line| line.contains("InternalBattery"))?;
    let (_, state) = line.split_once('\t')?;
    let mut parts = state.split(';').map(str::trim);
    let percent: u32 = parts
        .next()?
        .strip_suffix('%')?
        .parse()
        .ok()
        .filter(|p| *p <= 100)?;
    let doing = match parts.next()? {
        "charging" => Some(Doing::Charging),
        "discharging" => Some(Doing::Discharging),
        "charged" => Some(Doing::Full),
        _ => None,
    };
    let left = parts
        .next()
        .and_then(|left| left.split(' ').next()?.split_once(':'));
    let seconds = left.and_then(|(hours, minutes)| {
        Some(hours.parse::<u64>().ok()?.checked_mul(3600)? + minutes.parse::<u64>().ok()?.min(59) * 60)
    });
    Some(Battery {
        name: OWN.to_owned(),
        kind: "battery",
        percent,
        doing,
        seconds: seconds.filter(|seconds| *seconds > 0),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_battery_is_read() {
        let text = "Now drawing from 'Battery Power'\n -InternalBattery-0 (id=4653155)\t85%; discharging; 4:12 remaining present: true\n";
        let battery = parse_battery(text).unwrap();
        assert_eq!(
            (battery.percent, battery.doing, battery.seconds),
            (85, Some(Doing::Discharging), Some(15_120))
        );
        let full =
            parse_battery(" -InternalBattery-0 (id=1)\t100%; charged; 0:00 remaining present: true").unwrap();
        assert_eq!(
            (full.percent, full.doing, full.seconds),
            (100, Some(Doing::Full), None)
        );
        for garbage in [
            "",
            "InternalBattery",
            "InternalBattery\t900%; x",
            "InternalBattery\t5%",
        ] {
            assert_eq!(parse_battery(garbage), None, "{garbage}");
        }
    }
}
