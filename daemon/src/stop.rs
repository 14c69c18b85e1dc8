//! "Stop": who says only that means what sounds. What rings is meant before what plays. The words become the whole request
//! that they are short for, and from there on it goes the way of every other request.

use std::time::Duration;

use jiff::{Timestamp, Zoned};
use tools::{
    Dirs,
    system::{
        desktop::{Desk, players::Players},
        rings::{self, Kind},
    },
};

use crate::reply::plain_words;

/// Who says one of these wants quiet.
pub const STOPS: &[&str] = &[
    "stop",
    "stop it",
    "stop that",
    "quiet",
    "be quiet",
    "shut up",
    "enough",
    "that's enough",
];
/// What is said to something that rings, and to nothing else that sounds.
const OFF: &[&str] = &["cancel"];
/// What rang for the last time so long before is not heard any more, unless its sound is longer.
const HEARD: Duration = Duration::from_secs(60);
/// As many words are looked at, with a phrase in front of them and thanks behind.
const MOST_WORDS: usize = 8;
/// Players that take longer to answer are not waited for.
const PATIENCE: Duration = Duration::from_millis(500);

/// Something that sounds now.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Sounding {
    timer: bool,
    alarm: bool,
    music: bool,
}

impl Sounding {
    /// What sounds, where these words could mean it; nothing for all others, at no cost. `since` is the moment from which on
    /// something that rang is still heard (`still_heard`).
    pub async fn if_meant(text: &str, dirs: &Dirs, desk: &Desk, since: Timestamp) -> Sounding {
        let words = polite(text);
        // A phrase may stand in front.
        let ends_with = |list: &[&str]| {
            list.iter().any(|stop| {
                let before = words.strip_suffix(stop);
                before.is_some_and(|before| before.is_empty() || before.ends_with(' '))
            })
        };
        let stop = ends_with(STOPS);
        if words.split(' ').count() > MOST_WORDS || !(stop || ends_with(OFF)) {
            return Sounding::default();
        }
        let dirs = dirs.clone();
        let open = tokio::task::spawn_blocking(move || rings::open(&dirs)).await;
        let open = open.unwrap_or_default();
        let rings = |kinds: &[Kind]| {
            open.iter()
                .any(|open| kinds.contains(&open.ring.kind) && open.last >= since)
        };
        let music = async {
            let players = tokio::time::timeout(PATIENCE, Players::here(desk)).await;
            matches!(players, Ok(Ok(players)) if players.playing().next().is_some())
        };
        Sounding {
            timer: rings(&[Kind::Timer]),
            alarm: rings(&[Kind::Alarm, Kind::Event]),
            music: stop && music.await,
        }
    }

    /// The whole request that these words are while this sounds. Where Tiro itself was just stopped or asks something, `hushed`,
    /// what plays is not meant.
    pub fn request(self, text: &str, hushed: bool) -> Option<String> {
        let words = polite(text);
        let stop = STOPS.contains(&words.as_str());
        let rings = [(self.timer, "stop the timer"), (self.alarm, "stop the alarm")];
        let rings: Vec<&str> = rings
            .into_iter()
            .filter_map(|(rings, what)| rings.then_some(what))
            .collect();
        match rings.is_empty() {
            false if stop || !hushed && OFF.contains(&words.as_str()) => Some(rings.join(" and ")),
            true if stop && self.music && !hushed => Some("stop the music".to_owned()),
            _ => None,
        }
    }
}

/// The moment from which on something that rang is heard now, where a ring sounds for so long.
pub fn still_heard(now: &Zoned, length: Duration) -> Timestamp {
    let now = now.timestamp();
    now.checked_sub(HEARD.max(length)).unwrap_or(now)
}

/// The words without what people say around them.
pub fn polite(text: &str) -> String {
    let plain = plain_words(text);
    let mut plain = plain.as_str();
    while let Some(rest) = AROUND.iter().find_map(|around| plain.strip_prefix(around)) {
        plain = rest;
    }
    let plain = plain.trim_end_matches(" please").trim_end_matches(" thanks");
    plain.to_owned()
}

/// What is said before what is meant.
const AROUND: &[&str] = &["no ", "oh ", "ok ", "okay ", "please "];

#[cfg(test)]
mod tests {
    use tools::reflex::Reflexes;

    use super::*;

    const NOTHING: Sounding = Sounding {
        timer: false,
        alarm: false,
        music: false,
    };
    const TIMER: Sounding = Sounding {
        timer: true,
        ..NOTHING
    };
    const ALARM: Sounding = Sounding {
        alarm: true,
        ..NOTHING
    };
    const MUSIC: Sounding = Sounding {
        music: true,
        ..NOTHING
    };

    #[track_caller]
    fn check(sounding: Sounding, text: &str, hushed: bool, expect: Option<&str>) {
        let request = sounding.request(text, hushed);
        assert_eq!(request.as_deref(), expect, "{text:?} {sounding:?}");
    }

    #[test]
    fn stop_means_what_sounds() {
        for text in [
            "Stop.",
            "Oh, stop it, please!",
            "That's enough.",
            "Be quiet, thanks.",
        ] {
            for hushed in [false, true] {
                check(TIMER, text, hushed, Some("stop the timer"));
                // An alarm is louder than music.
                check(
                    Sounding { alarm: true, ..MUSIC },
                    text,
                    hushed,
                    Some("stop the alarm"),
                );
            }
            check(MUSIC, text, false, Some("stop the music"));
            check(MUSIC, text, true, None);
            check(NOTHING, text, false, None);
        }
        let both = Sounding { alarm: true, ..TIMER };
        check(both, "stop", false, Some("stop the timer and stop the alarm"));
        check(ALARM, "Cancel.", false, Some("stop the alarm"));
        check(ALARM, "Cancel.", true, None);
        check(MUSIC, "cancel", false, None);
        for text in [
            "stop the radio",
            "stop it at nine",
            "stop worrying",
            "",
            "thank you",
            "okay",
        ] {
            check(Sounding { music: true, ..both }, text, false, None);
        }
    }

    #[test]
    fn each_such_request_needs_no_model() {
        let reflexes = Reflexes::of(tools::ALL);
        for (sounding, tool) in [
            (TIMER, "timers.cancel"),
            (ALARM, "alarms.cancel"),
            (MUSIC, "media.pause"),
        ] {
            let request = sounding.request("stop", false).unwrap();
            assert_eq!(reflexes.find(&request).unwrap().name, tool, "{request}");
        }
    }
}
