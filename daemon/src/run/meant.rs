//! What of the words that were heard is meant for Tiro: not the phrase that called it, not its own words from the speaker, and
//! not what somebody says who wants nothing after all.

use std::{sync::Arc, time::Duration};

use prompts::words;

use super::{
    Daemon,
    listening::{Open, Way},
};
use crate::{
    listen::{Speech, endpoint::Style, standing::Begins},
    reply::{Happening, plain_words},
    speak::earcon::Earcon,
};

/// Whoever says one of these wants nothing after all ...
const NEVER_MIND: &[&str] = &[
    "never mind",
    "nevermind",
    "forget it",
    "forget about it",
    "cancel",
    "nothing",
    "it's nothing",
    "not you",
    "i didn't mean you",
];
/// ... and so does who says one of these when Tiro was speaking or at work: it has stopped.
const ENOUGH: &[&str] = &[
    "stop",
    "stop it",
    "stop that",
    "stop talking",
    "quiet",
    "be quiet",
    "shut up",
    "enough",
    "that's enough",
    "that will do",
    "okay",
    "ok",
    "thanks",
    "thank you",
];

/// What was said so long after Tiro's own words may be they.
const OWN: Duration = Duration::from_secs(3);

impl Daemon {
    /// What of it is meant for Tiro. Nothing is when only the phrase was said, and then they are listened to on; or when they
    /// do not want anything after all.
    pub(super) fn meant(&mut self, open: &Open, mut speech: Speech) -> Option<Speech> {
        if let (Way::Woken(_), Some(wake)) = (open.way, &self.parts.wake) {
            match &mut speech.transcript {
                Some(transcript) => {
                    transcript.text = wake.phrases.strip(&transcript.text).trim().to_owned();
                    if transcript.text.is_empty() {
                        self.open(Style::Tap, Way::After(Begins::Now), open.client, None);
                        return None;
                    }
                }
                None => speech.after = Some(Arc::clone(&wake.phrases)),
            }
        }
        let text = speech
            .transcript
            .as_ref()
            .map(|transcript| transcript.text.as_str());
        // Nobody called, so it may be the end of what Tiro said, from the speaker.
        let own = self.parts.speak.own().borrow().lately(OWN);
        if let (Way::After(_) | Way::FollowUp(..), Some(text), Some(own)) = (open.way, text, own)
            && ends_with(&own, text)
        {
            tracing::debug!("own words were heard");
            self.rest();
            return None;
        }
        if open.question.is_none() && text.is_some_and(|text| takes_back(text, open.interrupted)) {
            self.leave_hands_free();
            self.parts.speak.earcon(Earcon::Nothing);
            let text = words::cancelled();
            self.tell_one(open.client, Happening::Replied { text });
            self.rest();
            return None;
        }
        Some(speech)
    }
}

/// Whether a text ends with these words, of which there must be at least two: people say what they were told again, but not
/// with its very last words only.
fn ends_with(text: &str, words: &str) -> bool {
    let (text, words) = (plain_words(text), plain_words(words));
    words.contains(' ') && text.ends_with(&words)
}

/// Whether somebody says that they want nothing after all. Who has just interrupted something means that with shorter words,
/// which are a request of their own where there was nothing to interrupt.
fn takes_back(text: &str, interrupted: bool) -> bool {
    let plain = plain_words(text);
    let plain = plain.trim_start_matches("no ").trim_start_matches("oh ");
    let plain = plain.trim_end_matches(" please").trim_end_matches(" thanks");
    NEVER_MIND.contains(&plain) || interrupted && ENOUGH.contains(&plain)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn who_wants_nothing_after_all_is_understood() {
        #[track_caller]
        fn check(text: &str, interrupted: bool, expect: bool) {
            assert_eq!(takes_back(text, interrupted), expect, "{text:?}");
        }
        for text in [
            "Never mind.",
            "Oh, never mind, thanks.",
            "No, forget it!",
            "Cancel.",
        ] {
            check(text, false, true);
        }
        for text in ["Stop.", "Okay, thank you.", "Be quiet, please.", "Thanks!"] {
            check(text, false, false);
        }
        for text in ["Stop.", "Be quiet, please.", "Thanks!"] {
            check(text, true, true);
        }
        for text in [
            "Cancel my alarm.",
            "Stop the music.",
            "",
            "Never mind the rain, what about Friday?",
        ] {
            check(text, true, false);
        }
    }

    #[test]
    fn the_end_of_an_own_sentence_is_no_answer() {
        let own = "You have two events tomorrow. Shall I? Say yes or no.";
        assert!(ends_with(own, "Yes or no.") && ends_with(own, "say yes or no"));
        for other in ["Yes.", "No.", "yes do it", "Shall I say yes?", ""] {
            assert!(!ends_with(own, other), "{other}");
        }
    }
}
