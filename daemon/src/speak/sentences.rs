//! Text becomes sentences, also while it is still being written, so that the first one sounds before the last one is there.
//!
//! Pure, and the same however the text arrives: every character is looked at once, with what stood before it.

/// Longest piece, in characters; a sentence that is longer is cut where people breathe. Voices take a piece whole before they
/// sound it.
pub const LONGEST: usize = 300;

/// What is followed by a full stop that ends nothing, unless a new line begins.
const SHORT: &[&str] = &[
    "dr", "mr", "mrs", "ms", "prof", "st", "sr", "jr", "no", "nr", "vs", "e.g", "i.e", "cf", "approx", "ca",
    "dept", "est", "fig", "gen", "rev", "hon", "jan", "feb", "mar", "apr", "jun", "jul", "aug", "sep",
    "sept", "oct", "nov", "dec", "mt", "ave", "vol", "pp", "ch", "ed",
];

/// Cuts text into sentences as it comes.
#[derive(Debug, Default)]
pub struct Splitter {
    /// The sentence so far; blanks are single, and none at its ends.
    sentence: String,
    /// How many characters it has.
    length: usize,
    /// What stands between it and the next character.
    gap: Gap,
    /// Whether the last piece was cut because it is long.
    cut: bool,
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
enum Gap {
    #[default]
    None,
    Blank,
    Line,
}

impl Splitter {
    /// More text, cut anywhere. The sentences that are certainly over.
    pub fn push(&mut self, text: &str) -> Vec<String> {
        text.chars().filter_map(|c| self.character(c)).collect()
    }

    /// Whether the last piece is no whole sentence: it was cut because it is long.
    pub fn was_cut(&self) -> bool {
        self.cut
    }

    /// What is left when there is no more.
    pub fn finish(self) -> Option<String> {
        Some(self.sentence).filter(|sentence| !sentence.is_empty())
    }

    fn character(&mut self, c: char) -> Option<String> {
        if c.is_whitespace() || c.is_control() {
            self.gap = match c {
                '\n' | '\r' | '\u{85}' | '\u{2028}' | '\u{2029}' => Gap::Line,
                _ if self.gap == Gap::Line => Gap::Line,
                _ => Gap::Blank,
            };
            return None;
        }
        let gap = std::mem::take(&mut self.gap);
        let over = match gap {
            _ if self.sentence.is_empty() => false,
            Gap::Line => true,
            Gap::Blank => ends(&self.sentence, c),
            // Chinese and Japanese leave no blank.
            Gap::None => ends_without_a_blank(&self.sentence, c),
        };
        let mut done = over.then(|| self.take());
        self.cut &= !over;
        if gap == Gap::Blank && !over && !self.sentence.is_empty() {
            self.add(' ');
        }
        if done.is_none() && self.length >= LONGEST {
            done = Some(self.breathe());
            self.cut = true;
        }
        self.add(c);
        done
    }

    fn add(&mut self, c: char) {
        self.sentence.push(c);
        self.length += 1;
    }

    fn take(&mut self) -> String {
        self.length = 0;
        std::mem::take(&mut self.sentence)
    }

    /// Cuts a sentence that is too long: behind the last comma, else between words, else anywhere.
    fn breathe(&mut self) -> String {
        let text = &self.sentence;
        let late = text.len() / 3;
        let last = |marks: &[char]| {
            let ends = text.rmatch_indices(marks).map(|(at, mark)| at + mark.len());
            ends.into_iter()
                .find(|end| *end > late && (marks == [' '] || text[*end..].starts_with(' ')))
        };
        let at = last(&[',', ';', ':'])
            .or_else(|| last(&[' ']))
            .unwrap_or(text.len());
        // A blank at the end stays before what comes.
        let rest = text[at..].trim_start().to_owned();
        let mut piece = std::mem::replace(&mut self.sentence, rest);
        self.length = self.sentence.chars().count();
        piece.truncate(at);
        piece.trim_end().to_owned()
    }
}

/// All sentences of a text.
pub fn split(text: &str) -> Vec<String> {
    let mut splitter = Splitter::default();
    let mut sentences = splitter.push(text);
    sentences.extend(splitter.finish());
    sentences
}

/// Whether a sentence is over that a blank follows and then this character.
fn ends(sentence: &str, next: char) -> bool {
    let bare = sentence.trim_end_matches(closes);
    let Some(mark) = bare.chars().next_back() else {
        return false;
    };
    match mark {
        '!' | '?' | '…' | '。' | '！' | '？' => !next.is_lowercase(),
        '.' if next.is_lowercase() => false,
        '.' => !is_short(bare),
        _ => false,
    }
}

fn ends_without_a_blank(sentence: &str, next: char) -> bool {
    let bare = sentence.trim_end_matches(closes);
    bare.ends_with(['。', '！', '？']) && !closes(next) && !matches!(next, '。' | '！' | '？')
}

/// Whether the full stop at the end belongs to a short form: "Dr.", "J.", "e.g.".
fn is_short(sentence: &str) -> bool {
    let Some(rest) = sentence.strip_suffix('.') else {
        return false;
    };
    let word = rest.rsplit([' ', '(', '"', '\'', '[']).next().unwrap_or_default();
    let mut letters = word.chars();
    let initial =
        matches!((letters.next(), letters.next()), (Some(one), None) if one.is_uppercase() && one != 'I');
    // "May." is a month and no short form; "no." ends a sentence when it is all of it.
    let alone = word.len() == rest.len() && word.eq_ignore_ascii_case("no");
    initial || (!alone && SHORT.iter().any(|short| word.eq_ignore_ascii_case(short)))
}

/// Brackets and quotes that stand behind the mark of a sentence.
fn closes(c: char) -> bool {
    matches!(c, ')' | ']' | '"' | '\'' | '”' | '’' | '»' | '」' | '』')
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[track_caller]
    fn check(text: &str, expect: &[&str]) {
        assert_eq!(split(text), expect, "{text:?}");
    }

    #[test]
    fn sentences_end_where_people_end_them() {
        check("", &[]);
        check(" \n ", &[]);
        check("Done", &["Done"]);
        check("Done. It is three.", &["Done.", "It is three."]);
        check("Really?! Yes… No.", &["Really?!", "Yes…", "No."]);
        check("She said \"Go.\" He went.", &["She said \"Go.\"", "He went."]);
        check(
            "It costs 3.5 euros. 20 are left.",
            &["It costs 3.5 euros.", "20 are left."],
        );
        check("one\ntwo\r\n\r\nthree", &["one", "two", "three"]);
        check("没有。明天有三个！好", &["没有。", "明天有三个！", "好"]);
        check(
            "Look at example.org now. Or not.",
            &["Look at example.org now.", "Or not."],
        );
    }

    #[test]
    fn a_short_form_ends_no_sentence() {
        for text in [
            "Dr. Meyer and Mrs. Smith",
            "with J. R. Tolkien",
            "fruit, e.g. Apples",
            "at 5 p.m. with Anna",
            "at No. 5",
            "on 20 Nov. 2026",
            "He asked what? and left",
        ] {
            check(text, &[text]);
        }
        check("No. That is all.", &["No.", "That is all."]);
        check("It was I. You know.", &["It was I.", "You know."]);
    }

    #[test]
    fn what_is_too_long_is_cut_where_people_breathe() {
        let text = "one two three, ".repeat(60);
        let pieces = split(&text);
        assert!(
            pieces.len() > 2 && pieces.iter().all(|p| p.chars().count() <= LONGEST),
            "{pieces:?}"
        );
        assert!(pieces.iter().all(|p| p.ends_with(',')), "{pieces:?}");
        let solid = "ä".repeat(3 * LONGEST + 1);
        let pieces = split(&solid);
        assert_eq!((pieces.len(), pieces.concat()), (4, solid));
    }

    fn bare(text: &str) -> String {
        let kept = |c: &char| !c.is_whitespace() && !c.is_control();
        text.chars().filter(kept).collect()
    }

    proptest! {
        #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

        #[test]
        fn nothing_is_lost_and_nothing_is_too_long(text in "([a-zA-Z.!?,;:0-9 \n\"')ä。]|[\\PC\t]){0,900}") {
            let pieces = split(&text);
            prop_assert_eq!(bare(&pieces.concat()), bare(&text));
            for piece in &pieces {
                prop_assert!(!piece.is_empty() && piece.trim() == piece, "{:?}", piece);
                prop_assert!(piece.chars().count() <= LONGEST + 1, "{:?}", piece);
            }
        }

        #[test]
        fn it_is_the_same_however_it_comes(text in "[a-zA-Z.!?, \n0-9ä]{0,700}", cuts in prop::collection::vec(0usize..700, 0..9)) {
            let mut splitter = Splitter::default();
            let (mut pieces, mut from) = (Vec::new(), 0);
            let mut cuts: Vec<usize> = cuts.into_iter().filter(|cut| text.is_char_boundary(*cut)).collect();
            cuts.sort_unstable();
            for cut in cuts.into_iter().filter(|cut| *cut <= text.len()) {
                pieces.extend(splitter.push(&text[from..cut]));
                from = cut;
            }
            pieces.extend(splitter.push(&text[from..]));
            pieces.extend(splitter.finish());
            prop_assert_eq!(pieces, split(&text));
        }
    }
}
