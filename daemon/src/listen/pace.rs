//! How long a pause may be before an utterance is taken to be over, by the words before it.

use crate::room::Foreseen;

/// Words after which nobody has finished: what they lead to is still to come.
const LEADING: &[&str] = &[
    "a", "about", "also", "an", "and", "at", "because", "but", "called", "every", "for", "from", "if", "in",
    "into", "its", "it's", "like", "my", "named", "of", "or", "our", "saying", "so", "than", "that", "the",
    "their", "then", "to", "until", "with", "your",
];
/// Sounds of somebody who looks for words.
const LOOKING: &[&str] = &[
    "ah", "eh", "er", "erm", "hm", "hmm", "mm", "uh", "uhm", "um", "well", "let's",
];

/// In percent of the usual time: the person is in the middle of a sentence, or looks for words.
const LONGER: u8 = 200;
const USUAL: u8 = 100;
/// The words are a whole request, and a short one: 0.5 s then tell as much as the usual time does after any others.
const WHOLE: u8 = 60;

/// How long the silence after these words has to be when so much is known of them, in percent of the usual time.
pub(super) fn after_known(text: &str, known: Foreseen) -> u8 {
    match (after(text), known) {
        (USUAL, Foreseen::Whole) => WHOLE,
        (usual, _) => usual,
    }
}

/// How long the silence after these words has to be, in percent of the usual time.
pub(super) fn after(text: &str) -> u8 {
    let text = text.trim();
    let cut = text.ends_with("...") || text.ends_with(['\u{2026}', ',', '-', '\u{2013}', '\u{2014}']);
    let plain = text.to_lowercase().replace('\u{2019}', "'");
    let last = plain
        .rsplit(|c: char| !c.is_alphanumeric() && c != '\'')
        .find(|word| !word.is_empty());
    // A full stop tells nothing: recognisers end everything with one. A question mark they have heard.
    let leads =
        last.is_some_and(|last| LEADING.contains(&last) && !text.ends_with('?') || LOOKING.contains(&last));
    match cut || leads {
        true => LONGER,
        false => USUAL,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(text: &str, expect: u8) {
        assert_eq!(after(text), expect, "{text:?}");
    }

    #[test]
    fn who_looks_for_words_is_waited_for() {
        for text in [
            "Add milk and",
            "Remind me to.",
            "Send a mail to Anna saying...",
            "Um,",
            "Set an alarm for, uh.",
            "Put bread, milk,",
            "What is the\u{2026}",
        ] {
            check(text, LONGER);
        }
        for text in [
            "What time is it?",
            "Pause.",
            "Who is it from?",
            "Add milk and bread to the shopping list.",
            "",
            "...and then call mum",
        ] {
            check(text, USUAL);
            assert_eq!(after_known(text, Foreseen::Whole), WHOLE, "{text:?}");
            assert_eq!(after_known(text, Foreseen::Read), USUAL, "{text:?}");
        }
        // However whole a request is, whoever sounds as if they went on may do so.
        assert_eq!(after_known("What time is it in", Foreseen::Whole), LONGER);
    }
}
