//! "Stop": who says only that means what sounds. What rings is meant before what plays. The words become the whole request that they
//! are short for, and from there on it goes the way of every other request.

use std::time::Duration;

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
const OFF: &[&str] = &["cancel", "turn it off", "off"];
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
    /// What sounds, where these words could mean it; nothing for all others, at no cost.
    pub async fn if_meant(text: &str, dirs: &Dirs, desk: &Desk) -> Sounding {
        let words = plain_words(text);
        let about = |list: &[&str]| list.iter().any(|stop| words.contains(stop));
        if words.split(' ').count() > MOST_WORDS || !(about(STOPS) || about(OFF)) {
            return Sounding::default();
        }
        let dirs = dirs.clone();
        let open = tokio::task::spawn_blocking(move || rings::open(&dirs)).await;
        let open = open.unwrap_or_default();
        let rings = |kinds: &[Kind]| open.iter().any(|open| kinds.contains(&open.ring.kind));
        let players = tokio::time::timeout(PATIENCE, Players::here(desk)).await;
        Sounding {
            timer: rings(&[Kind::Timer]),
            alarm: rings(&[Kind::Alarm, Kind::Event]),
            music: matches!(players, Ok(Ok(players)) if players.playing().next().is_some()),
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
            false if stop || OFF.contains(&words.as_str()) => Some(rings.join(" and ")),
            true if stop && self.music && !hushed => Some("stop the music".to_owned()),
            _ => None,
        }
    }
}

/// The words without what people say around them.
pub fn polite(text: &str) -> String {
    let plain = plain_words(text);
    let plain = plain.trim_start_matches("no ").trim_start_matches("oh ");
    let plain = plain.trim_end_matches(" please").trim_end_matches(" thanks");
    plain.to_owned()
}

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
