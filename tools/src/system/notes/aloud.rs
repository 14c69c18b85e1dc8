//! Markdown as it is read aloud: the words, without what only lays them out.

use pulldown_cmark::{Event, Options, Parser, Tag, TagEnd};

use crate::system::plain;

/// The text without its front matter: what stands between `---` lines at its very beginning belongs to programs.
pub fn body(text: &str) -> &str {
    front_matter(text).map_or(text, |(_, body)| body)
}

/// The front matter and what follows it, if the text begins with one.
pub fn front_matter(text: &str) -> Option<(&str, &str)> {
    let rest = text
        .strip_prefix("---\n")
        .or_else(|| text.strip_prefix("---\r\n"))?;
    let mut at = 0;
    for line in rest.split_inclusive('\n') {
        if matches!(line.trim_end(), "---" | "...") {
            return Some((&rest[..at], &rest[at + line.len()..]));
        }
        at += line.len();
    }
    None
}

/// What is said for a note, at most `max` characters, and whether that is all of it. Headings, items and paragraphs
/// become sentences; pictures, HTML and link targets are left out.
pub fn aloud(text: &str, max: usize) -> (String, bool) {
    let options = Options::ENABLE_TASKLISTS
        | Options::ENABLE_STRIKETHROUGH
        | Options::ENABLE_TABLES
        | Options::ENABLE_FOOTNOTES
        | Options::ENABLE_WIKILINKS;
    let mut said = Said::default();
    for event in Parser::new_ext(body(text), options) {
        match event {
            Event::Text(text) | Event::Code(text) => said.words.push_str(&text),
            Event::SoftBreak | Event::HardBreak => said.words.push(' '),
            Event::TaskListMarker(done) => said.words.push_str(if done { "done: " } else { "to do: " }),
            Event::Start(Tag::Item) => said.end(", "),
            Event::End(TagEnd::TableCell | TagEnd::Item) => said.end(", "),
            Event::Start(Tag::List(_)) => said.end(": "),
            Event::End(
                TagEnd::Paragraph
                | TagEnd::Heading(_)
                | TagEnd::List(_)
                | TagEnd::CodeBlock
                | TagEnd::TableRow
                | TagEnd::TableHead,
            ) => said.end(". "),
            _ => {}
        }
        // A little more than needed, so that what is cut is seen.
        if said.done.len() > max * 4 {
            break;
        }
    }
    said.end(". ");
    let line = plain::one_line(&said.done, max);
    let whole = !line.ends_with('…');
    (line, whole)
}

/// Pieces of text as they become sentences.
#[derive(Default)]
struct Said {
    done: String,
    words: String,
}

impl Said {
    /// Ends a piece with a stop, unless it ended with one of its own. A stronger stop replaces a weaker one.
    fn end(&mut self, stop: &str) {
        let piece = plain::one_line(&self.words, 4000);
        self.words.clear();
        if piece.is_empty() {
            if stop == ". " && self.done.ends_with(", ") {
                self.done.truncate(self.done.len() - 2);
                self.done.push_str(stop);
            }
            return;
        }
        self.done.push_str(&piece);
        if piece.ends_with(['.', '!', '?', ':', ',', ';', '…']) {
            self.done.push(' ');
        } else {
            self.done.push_str(stop);
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[track_caller]
    fn check(text: &str, expect: &str) {
        assert_eq!(aloud(text, 200), (expect.to_owned(), true), "{text:?}");
    }

    #[test]
    fn markup_is_not_read_aloud() {
        check(
            "# Trip\n\nPack *light* and `early`.\n",
            "Trip. Pack light and early.",
        );
        check(
            "To buy:\n\n- milk\n- eggs\n\nSoon.\n",
            "To buy: milk, eggs. Soon.",
        );
        check("- [ ] call mum\n- [x] post\n", "to do: call mum, done: post.");
        check(
            "See [the plan](https://x.example/?q=1) and [[Garden|beds]].",
            "See the plan and beds.",
        );
        check("![a cat](cat.png)\n\nText<br>more\n", "a cat. Textmore.");
        check("---\ntitle: X\ntags: [a]\n---\nHello\n", "Hello.");
        check("| a | b |\n|---|---|\n| 1 | 2 |\n", "a, b. 1, 2.");
        check("one\ntwo", "one two.");
        check("", "");
    }

    #[test]
    fn nested_lists_and_long_texts_end() {
        check("- a\n  - b\n  - c\n- d\n", "a: b, c. d.");
        let (said, whole) = aloud(&"word ".repeat(10_000), 50);
        assert!(!whole && said.chars().count() <= 51, "{said}");
    }

    #[test]
    fn front_matter_is_only_what_is_closed_and_first() {
        assert_eq!(front_matter("---\na: b\n---\nx"), Some(("a: b\n", "x")));
        assert_eq!(front_matter("---\r\na: b\r\n...\r\nx"), Some(("a: b\r\n", "x")));
        assert_eq!(front_matter("---\na: b\n"), None);
        assert_eq!(front_matter("x\n---\n"), None);
    }

    proptest! {
        #[test]
        fn any_text_is_survived(text in "(.|\n){0,400}") {
            let (said, _) = aloud(&text, 100);
            prop_assert!(said.chars().count() <= 101 && !said.contains('\n'));
        }
    }
}
