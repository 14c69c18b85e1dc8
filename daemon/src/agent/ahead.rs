//! What of an answer may be said aloud before all of it is there.
//!
//! Only what the whole answer would hold, to the word: the answers to the earlier requests of a sentence, and those sentences of
//! the model that are over and that nothing which may still come can take back. Whatever ends the turn, its answer begins with
//! what was said. Pure: text in, text out.

use tools::Answered;

use super::{Agent, Ask, Reply, checked::Check};
use crate::speak::sentences::Splitter;

/// Words of the model while they are written.
pub struct Ahead {
    /// Names of tools. An answer that holds one is none (`Agent::answered`).
    names: Vec<String>,
    /// Whether these sentences may be said by themselves.
    check: Check,
    splitter: Splitter,
    /// What was written so far, without the blanks before it.
    text: String,
    /// How many bytes of it were let out.
    out: usize,
    /// Whether nothing more of it is.
    over: bool,
}

impl Agent {
    /// What of the model's answer to this may be said before it is complete; nothing where the whole answer decides that it is
    /// one. A server's words may still be followed by a call, and where the model has to call something there are none. What
    /// is written after a call that failed, or where Tiro asks instead of guessing, is not what the person is told, and each
    /// sentence has to pass the check of the whole answer (`checked`) before it is said.
    pub fn ahead(&self, ask: &Ask) -> Option<Ahead> {
        let words = ask.chat.is_none() && ask.openings.is_empty();
        let replaced =
            self.turn.told.is_some() || self.turn.stumbled || self.asks_back() && self.turn.did.is_none();
        let names = || self.toolbox.names().map(str::to_owned).collect();
        (words && !replaced).then(|| Ahead::new(names(), self.checks()))
    }

    /// The answers to the requests of this sentence that are done with: the answer to all of it begins with them.
    pub fn certain(&self) -> String {
        let done = self.rest.replies();
        done.map(|reply| format!("{} ", reply.text)).collect()
    }

    /// Puts what was said aloud before the rest of the answer, unless it stands there. It does wherever the turn ended as the
    /// words that were said promised; else the model was stopped, or its next words were no answer.
    pub fn begins_with(&mut self, said: &str, reply: &mut Reply) {
        if reply.text.starts_with(said.trim_end()) {
            return;
        }
        reply.text = format!("{} {}", said.trim_end(), reply.text);
        self.last = Some(Answered {
            text: reply.text.clone(),
            untrusted: self.tainted() || self.last.as_ref().is_some_and(|last| last.untrusted),
        });
    }
}

impl Ahead {
    fn new(names: Vec<String>, check: Check) -> Ahead {
        Ahead {
            names,
            check,
            splitter: Splitter::default(),
            text: String::new(),
            out: 0,
            over: false,
        }
    }

    /// More of what the model writes, cut anywhere. The next sentences that may be said, with the blanks behind them.
    pub fn push(&mut self, text: &str) -> Option<String> {
        let mut end = None;
        for c in text.chars() {
            if self.over || self.text.is_empty() && c.is_whitespace() {
                continue;
            }
            // How a list or a table is read out depends on all of it, and a call has such signs.
            self.over = c == '\n' || c == '\r' || may_be_no_words(c);
            if self.over {
                continue;
            }
            let over = self.splitter.push(c.encode_utf8(&mut [0; 4])).len() == 1;
            if over && !self.splitter.was_cut() && self.is_whole() {
                end = Some(self.text.len());
            }
            self.text.push(c);
        }
        let end = end?;
        // All of it and not only what is new: nothing that is no answer as a whole is begun.
        let names_tool = self.names.iter().any(|name| self.text[..end].contains(name));
        if names_tool || !(self.check)(&self.text[self.out..end]) {
            self.over = true;
            return None;
        }
        let new = self.text[self.out..end].to_owned();
        self.out = end;
        Some(new)
    }

    /// Whether what was written ends a sentence of its own: not the number of an item, not the middle of a sentence that is
    /// cut because it is long, and nothing in brackets that are still open.
    fn is_whole(&self) -> bool {
        let new = &self.text[self.out..];
        let bare = new
            .trim_end()
            .trim_end_matches([')', ']', '"', '\'', '”', '’', '»', '」', '』']);
        let count = |c: char| new.matches(c).count();
        let apart = new.ends_with(char::is_whitespace) || bare.ends_with(['。', '！', '？']);
        apart
            && bare.ends_with(['.', '!', '?', '…', '。', '！', '？'])
            && new.chars().any(char::is_alphabetic)
            && count('(') <= count(')')
            && count('[') <= count(']')
    }
}

/// The grammar of words (`grammar::TEXT`) has none of these, and every call in every dialect has one. Where no grammar is kept
/// to, nothing is said of what may turn out to be a call.
fn may_be_no_words(c: char) -> bool {
    matches!(c, '<' | '>' | '{' | '}' | '`' | '\u{7f}') || c < ' '
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::speak::aloud::{self, Shown};

    fn ahead() -> Ahead {
        Ahead::new(vec!["calendar.query".to_owned()], Box::new(|_| true))
    }

    /// What is let out of a text that comes in one piece.
    fn of(text: &str) -> String {
        ahead().push(text).unwrap_or_default()
    }

    #[test]
    fn sentences_are_let_out_when_the_next_one_begins() {
        let mut ahead = ahead();
        let pieces = [
            "  You have tw",
            "o events.",
            " ",
            "The first is at 3.",
            "30 p.m. wi",
            "th Dr. Who. N",
            "o more",
        ];
        let out: Vec<_> = pieces.iter().map(|piece| ahead.push(piece)).collect();
        let some = |text: &str| Some(text.to_owned());
        assert_eq!(
            out,
            [
                None,
                None,
                None,
                some("You have two events. "),
                None,
                some("The first is at 3.30 p.m. with Dr. Who. "),
                None
            ]
        );
    }

    #[test]
    fn what_may_be_no_answer_is_not_begun() {
        for text in [
            "<tool_call>\n{\"text\": \"Buy milk. Then eggs.\"} Done. Yes",
            "{\"name\": \"x\", \"text\": \"One. Two. Three\"}",
            "I call calendar.query now. Then I know. Yes",
            "1. Milk",
            "(One. Two. Three",
            "[One. Two](x) ",
            "Milk and eggs\nOne. Two. Three",
            "",
        ] {
            assert_eq!(of(text), "", "{text:?}");
        }
        // What was said before stays said, and nothing is added to it.
        assert_eq!(of("One. Two.\n- a. B. C. D"), "One. ");
        assert_eq!(of("One. Two <tool_call> Two. Three"), "One. ");
        let mut names = ahead();
        assert_eq!(names.push("One. It").as_deref(), Some("One. "));
        assert_eq!(names.push(" is calendar.query. So"), None);
        assert_eq!(names.push(" it is. Or not. Well"), None);
    }

    #[test]
    fn a_sentence_that_is_cut_because_it_is_long_is_said_as_a_whole() {
        let long = "one two three, ".repeat(60);
        assert_eq!(of(&long), "");
        assert_eq!(of(&format!("{long}four. Five")), format!("{long}four. "));
        // The cut may fall behind the full stop of a short form.
        let words = "word ".repeat(59);
        assert_eq!(
            of(&format!("{words}Dr. Who was. It")),
            format!("{words}Dr. Who was. ")
        );
    }

    /// What is said bit by bit, as it is spoken.
    fn bit_by_bit(text: &str, cuts: &[usize]) -> String {
        let (mut ahead, mut shown) = (ahead(), Shown::default());
        let (mut spoken, mut said, mut from) = (Vec::new(), 0, 0);
        let mut say = |text: &str| spoken.extend(aloud::sentences(text, &mut shown));
        let cuts = cuts.iter().filter(|cut| text.is_char_boundary(**cut));
        for cut in cuts.copied().chain([text.len()]) {
            if let Some(new) = ahead.push(&text[from..cut.max(from)]) {
                assert_eq!(
                    text.trim_start()[said..].find(&new),
                    Some(0),
                    "in order, and nothing twice"
                );
                said += new.len();
                say(&new);
            }
            from = cut.max(from);
        }
        say(&text.trim()[said.min(text.trim().len())..]);
        spoken.join(" ")
    }

    proptest! {
        #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

        #[test]
        fn it_is_spoken_as_if_it_had_come_at_once(
            text in "([A-Z][a-z]{1,8}( [a-z]{1,9}| [0-9]{1,2}:[0-9]{2}| Dr\\. [A-Z][a-z]{2,5}|, [a-z]{3,6}){0,9}[.!?]( |\n|\n- ){0,1}){1,30}",
            cuts in prop::collection::vec(0usize..900, 0..12),
        ) {
            let mut cuts: Vec<usize> = cuts.into_iter().filter(|cut| *cut <= text.len()).collect();
            cuts.sort_unstable();
            prop_assert_eq!(bit_by_bit(&text, &cuts), aloud::answer(&text));
        }
    }
}
