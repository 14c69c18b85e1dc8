//! Words without a call: talk, an answer to a general question, a short question back. Nothing was looked at and nothing was
//! done, so they may not say that it was, nor how the person's things are.
//!
//! There is nothing to hold such words against, so this is a judgement of their form: in whose name a deed is told, whose
//! things are spoken of. What is doubtful counts as a claim; the person then hears that Tiro is not sure what they mean.

use std::collections::HashSet;

use tools::discover::words::asks;

use super::{
    KINDS, is_hidden,
    items::{Part, Reader, Sentence, keys},
};

/// Characters of talk that are looked at. What is longer is no answer to anybody who listens.
const LONGEST: usize = 4_000;
/// Digits of a number that is no count.
const LONG_NUMBER: usize = 4;
/// A sentence of so few words that ends with a deed says that it was done: "Note saved."
const SHORT: usize = 5;

/// What was done, as participles.
const DEEDS: &[&str] = &[
    "activated",
    "added",
    "adjusted",
    "archived",
    "booked",
    "cancelled",
    "canceled",
    "changed",
    "cleared",
    "closed",
    "completed",
    "confirmed",
    "connected",
    "copied",
    "created",
    "deleted",
    "disabled",
    "disconnected",
    "done",
    "emailed",
    "enabled",
    "finished",
    "fixed",
    "forwarded",
    "locked",
    "made",
    "marked",
    "moved",
    "muted",
    "noted",
    "opened",
    "ordered",
    "paid",
    "paused",
    "planned",
    "played",
    "playing",
    "posted",
    "put",
    "ready",
    "removed",
    "renamed",
    "replied",
    "rescheduled",
    "restarted",
    "restored",
    "resumed",
    "saved",
    "scheduled",
    "sent",
    "set",
    "snoozed",
    "started",
    "stopped",
    "stored",
    "switched",
    "texted",
    "turned",
    "undone",
    "unmuted",
    "updated",
    "written",
];
/// What somebody did, where it does not end like most verbs.
const PAST: &[&str] = &[
    "began", "bought", "did", "found", "gave", "got", "had", "heard", "kept", "left", "made", "paid", "put",
    "read", "ran", "said", "saw", "sent", "set", "shut", "told", "took", "undid", "was", "went", "woke",
    "wrote",
];
/// What stands between the one who does something and what is done.
const BETWEEN: &[&str] = &[
    "all",
    "also",
    "already",
    "always",
    "currently",
    "definitely",
    "even",
    "finally",
    "gladly",
    "going",
    "immediately",
    "just",
    "now",
    "really",
    "simply",
    "still",
    "successfully",
    "then",
    "will",
];
/// Beginnings that say nothing.
const FILLERS: &[&str] = &[
    "ah",
    "alright",
    "and",
    "certainly",
    "hello",
    "hey",
    "hi",
    "great",
    "no",
    "oh",
    "ok",
    "okay",
    "so",
    "sorry",
    "sure",
    "well",
    "yes",
    "yep",
    "yeah",
];
/// Answers that are a claim where the person asked about their own things.
const YES_NO: &[&str] = &["correct", "indeed", "no", "nope", "right", "yeah", "yep", "yes"];
/// What only may be.
const CAN: &[&str] = &[
    "can", "could", "may", "might", "must", "should", "would", "if", "unless", "whenever",
];
/// What stands for something that was done.
const THINGS: &[&str] = &[
    "all",
    "both",
    "everything",
    "it",
    "nothing",
    "none",
    "that",
    "these",
    "they",
    "this",
    "those",
    "which",
];
const IS: &[&str] = &["are", "be", "been", "gets", "has", "have", "is", "was", "were"];
/// What somebody may be called who talks. "You are free" is about their day.
const FRIENDLY: &[&str] = &[
    "asking", "correct", "funny", "kind", "most", "right", "so", "speaking", "talking", "too", "very",
    "welcome",
];
/// What of theirs nobody has to look up.
const OWN: &[&str] = &[
    "answer", "help", "opinion", "own", "patience", "question", "request", "words",
];
/// Of what is only so today.
const THESE_DAYS: &[&str] = &["currently", "today", "tomorrow", "tonight", "yesterday"];

/// What is known about a request that the model answers by itself.
#[derive(Default)]
pub(super) struct Talk {
    asked: HashSet<String>,
    known: HashSet<String>,
    about_self: bool,
    /// Whether somebody else's words are in the conversation.
    tainted: bool,
}

impl Talk {
    /// `asked` is all that the person said, the request last, `context` what the prompt says of the day and the place.
    pub fn of(asked: &[&str], context: &str, tainted: bool) -> Talk {
        let reader = Reader::default();
        let all = |text: &str| -> HashSet<String> {
            reader
                .read(text)
                .iter()
                .flat_map(|one| keys(&one.parts))
                .collect()
        };
        let request = asked.last().copied().unwrap_or_default();
        let about_self = |word: &str| matches!(word, "i" | "me" | "my" | "our" | "we" | "mine");
        Talk {
            about_self: reader
                .read(request)
                .iter()
                .flat_map(Sentence::words)
                .any(about_self),
            known: all(context).into_iter().chain(all(request)).collect(),
            asked: asked.iter().flat_map(|text| all(text)).collect(),
            tainted,
        }
    }

    /// Whether these words claim nothing that somebody would have had to do or to look up.
    pub fn allows(&self, words: &str) -> bool {
        if words.len() > LONGEST || words.chars().any(is_hidden) {
            return false;
        }
        let reader = Reader::default();
        let sentences = reader.read(words);
        let bare = sentences
            .iter()
            .flat_map(Sentence::words)
            .all(|word| YES_NO.contains(&word));
        !(bare && self.about_self) && sentences.iter().all(|one| self.allows_sentence(one, &reader))
    }

    fn allows_sentence(&self, sentence: &Sentence, reader: &Reader) -> bool {
        !(self.tainted && self.repeats(sentence))
            && sentence.parts.iter().all(|part| {
                let words = bare(part);
                let asks = sentence.asks && words.first().is_some_and(|word| is_asking(word));
                asks || !(claims_deed(&words)
                    || claims_yours(&words)
                    || self.claims_state(part, &words, sentence.asks, reader))
            })
    }

    /// Whether it names an address or a number that the person did not say, while others may have.
    fn repeats(&self, sentence: &Sentence) -> bool {
        let items = sentence.parts.iter().flat_map(|part| &part.items);
        let mut strange = items
            .flat_map(|item| &item.any)
            .filter(|key| key.starts_with('@') || (key.starts_with('#') && key.len() > LONG_NUMBER));
        strange.any(|key| !self.asked.contains(key))
    }

    /// Whether a part tells how things are that only a tool can see.
    fn claims_state(&self, part: &Part, words: &[&str], asks: bool, reader: &Reader) -> bool {
        if may_be(words) || denies_knowing(words) {
            return false;
        }
        let these_days = words.iter().any(|word| THESE_DAYS.contains(word));
        let known = || {
            part.items.iter().all(|item| {
                let day = |word: &str| THESE_DAYS.contains(&word);
                item.word.as_deref().is_some_and(day) || item.all.iter().any(|key| self.known.contains(key))
            })
        };
        if these_days && !asks && !known() {
            return true;
        }
        let counts = part.items.iter().any(|item| item.word.is_none());
        let kinds: Vec<usize> = (0..words.len())
            .filter(|at| KINDS.contains(&reader.stem(words[*at]).as_str()))
            .collect();
        // What things of a kind are as such: "a timer counts down", "emails are letters".
        let generic = |at: &usize| {
            let before = &words[at.saturating_sub(3)..*at];
            before.iter().any(|word| matches!(*word, "a" | "an")) || (*at == 0 && words[0].ends_with('s'))
        };
        !kinds.is_empty() && (counts || these_days || has_deed(words) || !kinds.iter().all(generic))
    }
}

/// The words of a part without what it begins with and says nothing.
fn bare(part: &Part) -> Vec<&str> {
    let words = part.words.iter().map(String::as_str);
    words.skip_while(|word| FILLERS.contains(word)).collect()
}

fn is_asking(word: &str) -> bool {
    asks(word)
        || matches!(
            word,
            "can" | "could" | "may" | "shall" | "should" | "would" | "or"
        )
}

fn may_be(words: &[&str]) -> bool {
    words.iter().any(|word| CAN.contains(word))
}

fn has_deed(words: &[&str]) -> bool {
    words.iter().any(|word| DEEDS.contains(word))
}

/// "I do not know your name", "I have no access to your mail".
fn denies_knowing(words: &[&str]) -> bool {
    let knows = ["know", "access", "understand", "sure", "able"];
    let at = words.iter().position(|word| matches!(*word, "not" | "no"));
    words.contains(&"i") && at.is_some_and(|at| words[at..].iter().take(3).any(|word| knows.contains(word)))
}

/// Whether a part says that Tiro did, does or will do something.
fn claims_deed(words: &[&str]) -> bool {
    let first = words.iter().position(|word| matches!(*word, "i" | "we"));
    if let Some(first) = first {
        let tail: Vec<&str> = words[first + 1..].to_vec();
        let skipped = tail
            .iter()
            .take_while(|word| BETWEEN.contains(word) && **word != "will")
            .count();
        let (going, tail) = (tail[..skipped].contains(&"going"), &tail[skipped..]);
        let after = |at: usize| {
            let rest = tail.get(at..).unwrap_or_default();
            rest.iter()
                .copied()
                .find(|word| !BETWEEN.contains(word))
                .unwrap_or_default()
        };
        let mine = match tail.first().copied().unwrap_or_default() {
            // To say that nothing was found is to say that somebody looked.
            "can" | "could" | "do" | "may" | "might" | "would" | "should" | "must" => {
                let rest = tail.iter().skip(1).take(3);
                rest.into_iter()
                    .any(|word| matches!(*word, "find" | "found" | "see" | "hear"))
            }
            "have" => !matches!(
                after(1),
                "a" | "an" | "no" | "to" | "some" | "many" | "the" | "lots" | "access"
            ),
            "will" => !matches!(after(1), "not" | "be" | "try" | "need"),
            "am" => {
                let next = after(1);
                let acts = next.ends_with("ing")
                    && !matches!(next, "doing" | "talking" | "speaking" | "trying" | "wondering");
                acts || DEEDS.contains(&next) || tail.contains(&"going")
            }
            verb => {
                going
                    || PAST.contains(&verb)
                    || (verb.ends_with("ed") && !matches!(verb, "need" | "speed" | "feed"))
            }
        };
        if mine {
            return true;
        }
    }
    if may_be(words) {
        return false;
    }
    // "Done.", "Note saved", "It has been moved", "all set".
    let short = words.len() <= SHORT
        && words.last().is_some_and(|word| DEEDS.contains(word))
        && !words.contains(&"not");
    let opens = words
        .first()
        .is_some_and(|word| DEEDS.contains(word) && *word != "made" && *word != "put");
    let past = words.iter().any(|word| matches!(*word, "was" | "were"));
    let year = words
        .iter()
        .any(|word| word.len() == 4 && word.bytes().all(|b| b.is_ascii_digit()));
    let thing = words
        .iter()
        .position(|word| THINGS.contains(word))
        .is_some_and(|at| {
            let mut rest = words[at + 1..]
                .iter()
                .copied()
                .skip_while(|word| BETWEEN.contains(word))
                .peekable();
            let is = rest.peek().is_some_and(|word| IS.contains(word));
            let what = rest
                .find(|word| !IS.contains(word) && !BETWEEN.contains(word))
                .unwrap_or_default();
            is && (DEEDS.contains(&what) || matches!(what, "on" | "off" | "gone"))
                && !(past && year)
                && !(what == "on" && rest.next().is_some())
        });
    short || opens || thing
}

/// Whether a part tells how the person's things are.
fn claims_yours(words: &[&str]) -> bool {
    if may_be(words) || denies_knowing(words) {
        return false;
    }
    (0..words.len()).any(|at| {
        let mut rest = words[at + 1..]
            .iter()
            .copied()
            .skip_while(|word| BETWEEN.contains(word));
        let (next, after) = (rest.next().unwrap_or_default(), rest.next().unwrap_or_default());
        match words[at] {
            "you" => {
                let asked = words[..at]
                    .iter()
                    .any(|word| matches!(*word, "what" | "whatever" | "how" | "do" | "when"));
                let has = matches!(next, "have" | "had" | "got") && after != "to";
                let is = matches!(next, "are" | "were") && !FRIENDLY.contains(&after);
                let does = next == "do" && after == "not";
                !asked && (has || is || does)
            }
            "your" | "yours" => !OWN.contains(&next),
            _ => false,
        }
    })
}
