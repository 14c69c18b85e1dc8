//! Words become the pieces that the encoder knows: the longest piece that a word begins with, then the longest that the rest
//! does (WordPiece, as BERT has it).

use std::{collections::HashMap, sync::LazyLock};

/// The vocabulary of the encoder, a piece a line; those that go on in a word begin with `##`.
static VOCABULARY: &str = include_str!("../../data/vocab.txt");

/// Stand at the beginning, at the end, and for a word that no pieces make.
const BEGIN: &str = "[CLS]";
const END: &str = "[SEP]";
const UNKNOWN: &str = "[UNK]";

/// A longer word is unknown, in bytes.
const MAX_WORD: usize = 48;

/// The pieces by their text, in the order of the vocabulary.
struct Pieces {
    begin: HashMap<&'static str, u32>,
    within: HashMap<&'static str, u32>,
}

static PIECES: LazyLock<Pieces> = LazyLock::new(|| {
    let mut pieces = Pieces {
        begin: HashMap::new(),
        within: HashMap::new(),
    };
    for (number, line) in (0..).zip(VOCABULARY.lines()) {
        match line.strip_prefix("##") {
            Some(rest) if !rest.is_empty() => pieces.within.insert(rest, number),
            _ => pieces.begin.insert(line, number),
        };
    }
    pieces
});

/// The pieces of lower-cased words, with the marks of both ends; no more than `most`.
pub(super) fn pieces(words: &[String], most: usize) -> Vec<u32> {
    let mut all = vec![special(BEGIN)];
    for word in words {
        match of_word(word) {
            Some(pieces) => all.extend(pieces),
            None => all.push(special(UNKNOWN)),
        }
    }
    all.truncate(most.saturating_sub(1));
    all.push(special(END));
    all
}

fn special(name: &str) -> u32 {
    PIECES.begin.get(name).copied().unwrap_or_default()
}

/// `None` where some part of the word is no piece.
fn of_word(word: &str) -> Option<Vec<u32>> {
    if word.len() > MAX_WORD {
        return None;
    }
    let mut pieces = Vec::new();
    let mut rest = word;
    while !rest.is_empty() {
        let known = if pieces.is_empty() {
            &PIECES.begin
        } else {
            &PIECES.within
        };
        let ends = rest.char_indices().map(|(at, c)| at + c.len_utf8()).rev();
        let (end, piece) = ends
            .filter_map(|end| Some((end, *known.get(&rest[..end])?)))
            .next()?;
        pieces.push(piece);
        rest = &rest[end..];
    }
    Some(pieces)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(text: &str, expect: &[u32]) {
        let words: Vec<String> = text.split(' ').map(str::to_owned).collect();
        assert_eq!(pieces(&words, 64), expect, "{text}");
    }

    #[test]
    fn words_are_taken_apart_as_the_encoder_learned_them() {
        // As the `tokenizers` package does it with the vocabulary of the model.
        check("set a timer", &[101, 2275, 1037, 25309, 102]);
        check(
            "unsubscribe from the podcastlings",
            &[101, 4895, 6342, 5910, 26775, 20755, 2013, 1996, 16110, 11227, 102],
        );
        check("wlan 5ghz", &[101, 1059, 5802, 1019, 5603, 2480, 102]);
        assert_eq!(PIECES.begin.len() + PIECES.within.len(), 30_522);
    }

    #[test]
    fn what_is_no_word_is_unknown_and_long_requests_are_cut() {
        check("語 語彙表", &[101, 1950, 100, 102]);
        check(&"x".repeat(MAX_WORD + 1), &[101, 100, 102]);
        let many = vec!["timer".to_owned(); 100];
        let cut = pieces(&many, 12);
        assert_eq!((cut.len(), cut[0], cut[11]), (12, 101, 102));
    }
}
