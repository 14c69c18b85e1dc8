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
    speak::{aloud::aloud, earcon::Earcon},
    stop::{STOPS, Sounding, polite},
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
/// ... and so does who says one of these, or `STOPS`, when Tiro was speaking or at work: it has stopped.
const ENOUGH: &[&str] = &[
    "stop talking",
    "that will do",
    "okay",
    "ok",
    "thanks",
    "thank you",
];

/// What was said so long after Tiro's own words may be they.
pub(super) const OWN: Duration = Duration::from_secs(3);
/// Longest that is compared, in characters.
const MOST: usize = 4000;

impl Daemon {
    /// What of it is meant for Tiro, while this sounds. Nothing is when only the phrase was said, and then they are listened to
    /// on; or when they do not want anything after all.
    pub(super) fn meant(&mut self, open: &Open, mut speech: Speech, sounding: Sounding) -> Option<Speech> {
        let by_itself = matches!(open.way, Way::After(_) | Way::FollowUp(..));
        let phrases = self.parts.wake.as_ref().map(|wake| Arc::clone(&wake.phrases));
        match (&mut speech.transcript, phrases) {
            (Some(transcript), Some(phrases)) => {
                // People say the phrase where they need not, too; but then it must be that phrase.
                let said = open.way != Way::Key && phrases.spot(&transcript.text, None).is_some();
                if said || matches!(open.way, Way::Woken(_)) {
                    transcript.text = phrases.strip(&transcript.text).trim().to_owned();
                    if transcript.text.is_empty() {
                        self.open(Style::Tap, Way::After(Begins::Now), open.client, None);
                        if let Some(next) = &mut self.open {
                            next.interrupted |= open.interrupted;
                        }
                        return None;
                    }
                }
            }
            (None, Some(phrases)) if matches!(open.way, Way::Woken(_)) => speech.after = Some(phrases),
            _ => {}
        }
        let text = speech
            .transcript
            .as_ref()
            .map(|transcript| transcript.text.trim());
        // Nobody called: a cough is nothing, and neither is the end of what Tiro said, from the speaker.
        let nothing = |text: &str| {
            let own = open.own.as_deref();
            let own = own.is_some_and(|own| ends_with(own, text, open.question.is_none()));
            own || by_itself && text.is_empty()
        };
        if text.is_some_and(nothing) {
            tracing::debug!("nothing that was meant was heard");
            if open.question.is_none() {
                self.leave_hands_free();
            }
            if open.way == Way::Key {
                self.mention(words::nothing_heard(), open.client);
            }
            self.rest();
            return None;
        }
        let enough = open.interrupted || matches!(open.way, Way::FollowUp(..));
        // Who wants quiet and does not have it wants something; what that is, the turn finds out.
        let unheard = |text: &str| sounding.request(text, open.interrupted).is_none();
        let nothing = |text: &str| takes_back(text, enough) && unheard(text);
        if open.question.is_none() && text.is_some_and(nothing) {
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

/// Whether what Tiro said ends with these words, as they are spoken. One word may be an answer, so that it only counts where
/// there is no question.
fn ends_with(own: &str, words: &str, one: bool) -> bool {
    // What was recognised has figures where Tiro said words.
    let spoken = |text: &str| plain_words(&aloud(text, MOST));
    let (own, words) = (spoken(own), spoken(words));
    let tail = own.ends_with(&format!(" {words}")) || own == words;
    tail && !words.is_empty() && (one || words.contains(' '))
}

/// Whether somebody says that they want nothing after all. Who has just interrupted something means that with shorter words,
/// which are a request of their own where there was nothing to interrupt.
fn takes_back(text: &str, interrupted: bool) -> bool {
    let plain = polite(text);
    let is = |list: &[&str]| list.contains(&plain.as_str());
    is(NEVER_MIND) || interrupted && (is(ENOUGH) || is(STOPS))
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
        assert!(ends_with(own, "Yes or no.", false) && ends_with(own, "say yes or no", false));
        for other in ["Yes.", "No.", "yes do it", "Shall I say yes?", ""] {
            assert!(!ends_with(own, other, false), "{other}");
        }
        // What was spoken as words is recognised as figures.
        let spoken = aloud("The next one is at 9:30.", MOST);
        assert!(ends_with(&spoken, "at 9:30", true), "{spoken}");
        assert!(ends_with("It is a dentist.", "Dentist.", true));
        assert!(!ends_with("It is a dentist.", "the dentist", true));
    }
}
