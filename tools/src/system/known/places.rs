//! Where in a sentence something is named.

use std::{collections::HashSet, ops::Range};

use super::{FAINT, Kind, Known, MIN_SOUND, Name, Word, content};

/// What stands between two names, unless it is part of one: "Brick and Bloom".
const JOINTS: [&str; 3] = ["and", "but", "or"];

impl Known {
    /// The stretch of these words that names something of this kind, at least half of it, without the words before and
    /// after it that stand in no such name: "visitor badge" of "the visitor badge thing". Nothing where nothing is named.
    pub fn within<'t>(&self, kind: Kind, text: &'t str) -> Option<&'t str> {
        let places = self.places(&self.half_said(kind, text, 1.0), text);
        text.get(places.first()?.start..places.last()?.end)
    }

    /// Where these words name something of this kind, at least half of it and more than usual words: "all" names no "AllTrails". Words
    /// of one name stand in one place, with the small words between them and those of the name before it: "IT Service".
    pub fn stretches(&self, kind: Kind, text: &str) -> Vec<Range<usize>> {
        let named = self.half_said(kind, text, FAINT);
        let of_names = named.iter().flat_map(|name| name.text.split_whitespace());
        let small: HashSet<String> = of_names.filter_map(small_word).collect();
        let mut stretches: Vec<Range<usize>> = Vec::new();
        for place in self.places(&named, text) {
            let of_name = |word: &str| small_word(word).is_some_and(|word| small.contains(&word));
            let joins = |word: &str| !of_name(word) && JOINTS.contains(&word.to_lowercase().as_str());
            let goes_on = |last: &&mut Range<usize>| {
                let between = text.get(last.end..place.start).unwrap_or_default();
                content(between).next().is_none() && !between.split_whitespace().any(joins)
            };
            if let Some(last) = stretches.last_mut().filter(goes_on) {
                last.end = place.end;
                continue;
            }
            let mut start = place.start;
            while let Some((at, _)) = text
                .get(..start)
                .and_then(last_word)
                .filter(|(_, word)| of_name(word))
            {
                start = at;
            }
            stretches.push(start..place.end);
        }
        stretches
    }

    /// The names of this kind of which at least half was said, and which that makes so much likelier.
    fn half_said(&self, kind: Kind, text: &str, least: f32) -> Vec<&Name> {
        let (stems, sounds) = self.stems_and_sounds(text);
        let half = |name: &Name| {
            let said = |word: &&Word| stems.contains(&*word.stem) || sounds.contains(&*word.sound);
            name.words.iter().filter(said).count() * 2 >= name.words.len()
        };
        self.said_in(text)
            .filter(|(name, lift)| name.kind == kind && *lift >= least && half(name))
            .map(|(name, _)| name)
            .collect()
    }

    /// The words that belong to these names.
    fn places(&self, named: &[&Name], text: &str) -> Vec<Range<usize>> {
        let belongs = |word: &str| {
            content(word).any(|word| {
                let (stem, sound) = (self.normal.stem(&word), self.normal.sound(&word));
                let mut all = named.iter().flat_map(|name| &name.words);
                let sounds = sound.len() >= MIN_SOUND;
                all.any(|of_name| *of_name.stem == stem || (sounds && *of_name.sound == sound))
            })
        };
        let (mut at, mut places) = (0, Vec::new());
        for word in text.split_inclusive(char::is_whitespace) {
            let core = word.trim_matches(|c: char| !c.is_alphanumeric());
            if let Some(start) = word.find(core).filter(|_| belongs(core)) {
                places.push(at + start..at + start + core.len());
            }
            at += word.len();
        }
        places
    }
}

/// The last word, and where it begins.
fn last_word(text: &str) -> Option<(usize, &str)> {
    let text = text.trim_end();
    let before = text.char_indices().rev().find(|(_, c)| c.is_whitespace());
    let at = before.map_or(0, |(at, c)| at + c.len_utf8());
    Some((at, text.get(at..)?)).filter(|(_, word)| !word.is_empty())
}

/// A word that names nothing by itself, in small letters: "IT" of "IT Service".
fn small_word(word: &str) -> Option<String> {
    let word = word.trim_matches(|c: char| !c.is_alphanumeric());
    (!word.is_empty() && content(word).next().is_none()).then(|| word.to_lowercase())
}

#[cfg(test)]
mod tests {
    use super::{super::tests::known, *};

    #[test]
    fn words_around_a_name_go() {
        let known = known(&[
            (Kind::Event, "Lunch with Anna"),
            (Kind::Reminder, "Hand in the visitor badge"),
            (Kind::Reminder, "Return the library books"),
        ]);
        let check = |kind, text: &str, expect| assert_eq!(known.within(kind, text), expect, "{text}");
        check(Kind::Event, "make my lunch with Anna", Some("lunch with Anna"));
        check(Kind::Reminder, "the visitor badge thing", Some("visitor badge"));
        check(Kind::Reminder, "Push library books.", Some("library books"));
        check(Kind::Reminder, "visitor badge", Some("visitor badge"));
        check(Kind::Event, "the visitor badge thing", None);
        check(Kind::Event, "opera", None);
        check(Kind::Event, "", None);
    }

    #[test]
    fn each_place_where_a_name_is_said_is_told() {
        let known = known(&[
            (Kind::Sender, "Brick and Bloom"),
            (Kind::Sender, "St Mary's School"),
            (Kind::Sender, "Gadget Weekly"),
            (Kind::Sender, "北京"),
            (Kind::Sender, "AllTrails"),
            (Kind::Sender, "IT Service"),
        ]);
        for (said, expect) in [
            ("what do brick and bloom want", &["brick and bloom"][..]),
            (
                "the school's mail, or the one of Gadget Weekly",
                &["school's", "Gadget Weekly"],
            ),
            (
                "has the school written, I mean st. Mary's",
                &["school", "st. Mary's"],
            ),
            ("read the IT Service message", &["IT Service"]),
            ("the school and gadget weekly", &["school", "gadget weekly"]),
            ("read all mails", &[]),
            // Digits sound like nothing, and so does another script.
            ("the letter of 2026", &[]),
        ] {
            let places = known.stretches(Kind::Sender, said);
            let told: Vec<&str> = places.into_iter().map(|place| &said[place]).collect();
            assert_eq!(told, expect, "{said}");
        }
    }
}
