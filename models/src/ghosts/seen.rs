//! What one look at a clip shows: whether to look again, and which of several looks is kept.

use crate::{ghosts, stt::Segment};

/// A mean log-probability of text tokens below which a result counts as unsure: whisper's own limit for trying again.
pub const UNSURE: f32 = -1.0;

/// What one look saw.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Seen {
    /// Each with text.
    pub segments: Vec<Segment>,
    /// The mean logarithm of the probabilities of its text tokens; 0 without any.
    pub sureness: f32,
}

/// How much a look is worth, the least first. Nothing is better than a loop: where the decoder lost its way in a narrow window,
/// a wide one that shows nothing is right more often.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Worth {
    Loop,
    Nothing,
    Text,
}

impl Seen {
    /// All that it says.
    pub fn text(&self) -> String {
        let texts: Vec<&str> = self.segments.iter().map(|s| s.text.as_str()).collect();
        texts.join(" ")
    }

    /// Whether to look again. A decoder that ran into its limit leaves nothing behind; neither does a window that was too narrow.
    pub fn doubtful(&self) -> bool {
        self.sureness < UNSURE || self.worth() != Worth::Text
    }

    /// Whether it may be one of the texts that come of no speech, so that the probability of that has to be asked for.
    pub fn suspicious(&self) -> bool {
        let text = self.text();
        !text.is_empty() && (self.sureness < UNSURE || ghosts::well_known(&text))
    }

    /// This, or nothing if that is what was said: `silence` is the probability that nobody spoke.
    #[must_use]
    pub fn unless_silent(self, silence: f32) -> Seen {
        if ghosts::unsaid(&self.text(), self.sureness, silence) {
            Seen::default()
        } else {
            self
        }
    }

    /// Whether a look with a wider window shows the same. One short word is never sure by its numbers; this is as good. Loops
    /// agree with nothing: they come again in wider windows, too.
    pub fn agrees(&self, wider: &Seen) -> bool {
        wider.worth() != Worth::Loop && self.text() == wider.text()
    }

    /// The better of this and a look with a wider window: what says something, then what is surer. Of equals the wider one.
    #[must_use]
    pub fn or(self, wider: Seen) -> Seen {
        let (worth, other) = (self.worth(), wider.worth());
        if worth > other || (worth == other && self.sureness > wider.sureness) {
            self
        } else {
            wider
        }
    }

    fn worth(&self) -> Worth {
        let text = self.text();
        if text.is_empty() {
            Worth::Nothing
        } else if ghosts::repeats(&text) {
            Worth::Loop
        } else {
            Worth::Text
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn seen(text: &str, sureness: f32) -> Seen {
        let segment = Segment {
            start: 0.0,
            end: 1.0,
            text: text.into(),
        };
        Seen {
            segments: Some(segment).filter(|s| !s.text.is_empty()).into_iter().collect(),
            sureness,
        }
    }

    /// Which text is kept of looks with ever wider windows.
    #[track_caller]
    fn check(looks: &[(&str, f32)], expect: &str) {
        let looks = looks.iter().map(|(text, sureness)| seen(text, *sureness));
        let kept = looks.reduce(Seen::or).unwrap();
        assert_eq!(kept.text(), expect);
    }

    #[test]
    fn the_best_of_the_looks_is_kept() {
        let alarm = "Set an alarm for seven.";
        // What comes later is no better for it: nothing, a loop, something less sure.
        check(&[(alarm, -1.2), ("", 0.0)], alarm);
        check(&[(alarm, -1.2), ("no no no no no", -0.1)], alarm);
        check(&[(alarm, -1.2), ("Second alarm for Kevin.", -1.9)], alarm);
        check(&[(alarm, -1.2), ("", 0.0), ("", -0.4), ("Thanks.", -2.0)], alarm);
        // What is surer is, and the wider of equals.
        check(&[("Second alarm for Kevin.", -1.9), (alarm, -1.2)], alarm);
        check(&[("set an alarm for seven", -1.2), (alarm, -1.2)], alarm);
        // However sure a loop is, it is the last choice.
        check(&[("Computer Computer", -0.1), ("Computer.", -1.4)], "Computer.");
        check(&[("you you you you you", -0.1), ("", 0.0)], "");
        check(&[("", 0.0), ("you you you you you", -0.1)], "");
        // People do say things twice.
        check(&[("No. No.", -0.5), ("No. No.", -0.4)], "No. No.");
        check(&[("", 0.0), ("Stop.", -1.5)], "Stop.");
        check(&[("", 0.0)], "");
    }

    #[test]
    fn doubt_and_agreement() {
        assert!(!seen("Stop.", -0.9).doubtful());
        assert!(seen("Stop.", -1.1).doubtful() && seen("", 0.0).doubtful());
        assert!(seen("no no no no no", -0.1).doubtful());
        assert!(seen("Stop.", -1.5).agrees(&seen("Stop.", -1.4)) && seen("", 0.0).agrees(&seen("", -2.0)));
        assert!(!seen("Stop.", -1.5).agrees(&seen("Shop.", -1.5)));
        assert!(!seen("No. No.", -0.5).agrees(&seen("No. No.", -0.5)));
    }

    #[test]
    fn only_what_may_come_of_silence_is_asked_about_it() {
        assert!(seen("Thank you.", -0.1).suspicious() && seen("and", -2.9).suspicious());
        assert!(!seen("Stop.", -0.1).suspicious() && !seen("", 0.0).suspicious());
        assert_eq!(seen("Thank you.", -0.1).unless_silent(0.9), Seen::default());
        assert_eq!(
            seen("Thank you.", -0.1).unless_silent(0.2),
            seen("Thank you.", -0.1)
        );
    }
}
