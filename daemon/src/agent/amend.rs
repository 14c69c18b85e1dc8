//! Which argument of a call somebody changes who says "no, I meant friday", "not Anna, Hanna", "make it four" or "and on
//! friday?", and what it becomes. Decided by what was said and by the schema, without the model: what is not clear is
//! asked.

use serde_json::{Map, Value};
use strsim::jaro_winkler;
use tools::{
    discover::words::{Normaliser, is_number},
    when::{amended, is_time, mentions},
};

use super::schema;

/// Ways to begin a correction, longest first where one begins like another. `true` when what follows is the new word and
/// nothing else, so that it may stand in the place of any text.
const CORRECTS: &[(&str, bool)] = &[
    ("i meant to say", true),
    ("i meant", true),
    ("i mean", true),
    ("i said", true),
    ("change that to", true),
    ("change this to", true),
    ("change it to", true),
    ("change to", true),
    ("make that", true),
    ("make this", true),
    ("make it", true),
    ("it should be", true),
    ("it's supposed to be", true),
    ("rather", false),
    ("actually", false),
    ("correction", false),
    ("sorry", false),
    ("wrong", false),
    ("nope", false),
    ("no", false),
];
/// Words before a correction that say nothing.
const IDLE: &[&str] = &[
    "oh", "ah", "hm", "hmm", "um", "uh", "wait", "well", "ok", "okay", "please", "but",
];
/// Ways to go on from what was asked before.
const GOES_ON: &[&str] = &[
    "and what about",
    "and how about",
    "what about",
    "how about",
    "and then",
    "and",
    "or",
    "then",
];
/// Words behind a change that say nothing.
const TAIL: &[&str] = &["please", "then", "though", "actually"];
/// Words behind a change that say that it is one.
const INSTEAD: &[&str] = &["instead", "rather"];
/// Words in front of a name or a place that are no part of it.
const LEADS: &[&str] = &[
    "in", "at", "to", "from", "for", "with", "of", "on", "by", "about", "the", "my", "a", "an",
];
/// Words behind which a thing stands that may be exchanged for another.
const BEHIND: &[&str] = &["about", "by", "for", "from", "in", "of", "to", "with"];
/// What makes words more than the name of something: whoever says these wants something else than to exchange one.
const SENTENCE: &[&str] = &[
    "i", "i'm", "i'll", "i've", "you", "he", "she", "it", "it's", "we", "they", "that", "that's", "this",
    "these", "those", "is", "are", "was", "were", "be", "am", "do", "does", "did", "don't", "doesn't",
    "didn't", "can", "can't", "could", "would", "should", "will", "won't", "not", "no", "nothing", "never",
    "any", "anything", "else", "all", "right", "wrong", "good", "fine", "thanks", "thank", "stop", "undo",
    "cancel", "what", "when", "where", "who", "why", "how", "which", "if", "because", "more", "her", "him",
    "his", "their", "them", "its", "one", "ones", "same", "other", "there", "again", "just",
];
/// What follows "no" where nothing is to be done.
const DECLINES: &[&str] = &[
    "don't",
    "do not",
    "nothing",
    "never mind",
    "that's all",
    "that's it",
    "thanks",
    "thank you",
];
/// What compares with what is there.
const RELATIVE: &[&str] = &[
    "back", "earlier", "forward", "later", "less", "longer", "more", "shorter", "sooner",
];
/// Words of "four, not three" that may stand before the contrast.
const SHORT: usize = 3;
/// More words than this are no name.
const MOST: usize = 5;
/// How alike two words must be to be the one that was meant and the one that was heard.
const ALIKE: f64 = 0.8;

/// What somebody says who goes on from a call.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Change {
    /// What it should be.
    new: String,
    /// What it should not be, where that was said.
    old: Option<String>,
    /// Whether the new words were said to be just that.
    plain: bool,
    /// Whether only the contrast says that it is a correction, so that the old words have to be in the call.
    contrasts: bool,
    /// Whether something was wrong, rather than something else asked for.
    pub corrects: bool,
}

/// What a change makes of a call.
#[derive(Debug, Clone, PartialEq)]
pub enum Amended {
    /// These arguments.
    To(Value),
    /// It could be any of these arguments.
    Which(Vec<String>),
    /// There is nothing in the call that it could change.
    Nothing,
}

/// Reads words as a change of what was said before: a correction, or the same for something else. `None` when they are
/// neither.
pub fn change(said: &str) -> Option<Change> {
    let mut left = Words::of(said);
    let mut plain = false;
    let mut corrects = false;
    let mut goes_on = false;
    loop {
        if let Some((_, is_plain)) = CORRECTS.iter().find(|(start, _)| left.eat(start)) {
            (corrects, plain) = (true, *is_plain);
        } else if !corrects && !goes_on && GOES_ON.iter().any(|start| left.eat(start)) {
            goes_on = true;
        } else if !IDLE.iter().any(|idle| left.eat(idle)) {
            break;
        }
    }
    while TAIL.iter().any(|word| left.eat_last(word)) {}
    corrects |= !goes_on && INSTEAD.iter().any(|word| left.eat_last(word));
    let begins = corrects || left.starts(&["not"]);
    let (new, old) = left.contrast();
    // "Remind me not to be late" is no correction: only what is short and names what was said before is.
    if old.is_some() && !begins && Words::of(&new).parts().count() > SHORT {
        return None;
    }
    let contrasts = old.is_some() && !begins;
    corrects |= old.is_some();
    (corrects || goes_on).then_some(Change {
        new,
        old,
        plain,
        corrects,
        contrasts,
    })
}

/// Reads words that answer the question whether something is right, or what should be different: they are the change.
pub fn answer(said: &str) -> Change {
    let whole = || Change {
        new: said.trim_matches(|c: char| !c.is_alphanumeric()).to_owned(),
        old: None,
        plain: true,
        corrects: true,
        contrasts: false,
    };
    Change {
        plain: true,
        corrects: true,
        ..change(said).unwrap_or_else(whole)
    }
}

/// Reads words that are nothing but a time: "tomorrow?". "The first" is one of several things.
pub fn going_on(said: &str) -> Option<Change> {
    let new = said.trim_matches(|c: char| !c.is_alphanumeric());
    (is_time(new) && !mentions(new).is_empty()).then(|| Change {
        new: new.to_owned(),
        old: None,
        plain: false,
        corrects: false,
        contrasts: false,
    })
}

/// What follows a beginning such as "and" or "what about", if words begin so.
pub fn after_joint(said: &str) -> Option<&str> {
    let mut left = Words::of(said);
    while IDLE.iter().any(|idle| left.eat(idle)) {}
    let joint = GOES_ON.iter().any(|start| left.eat(start));
    joint.then_some(left.text)
}

/// The one of these arguments that words name.
pub fn named<'a>(said: &str, arguments: &'a [String]) -> Option<&'a str> {
    let words: Vec<String> = Words::of(said).parts().map(str::to_lowercase).collect();
    let is_said = |name: &&String| name.split('_').all(|part| words.iter().any(|word| word == part));
    let mut said = arguments.iter().filter(is_said);
    let first = said.next()?;
    said.next().is_none().then_some(first.as_str())
}

impl Change {
    /// Whether nothing was said but that something is wrong.
    pub fn is_bare(&self) -> bool {
        self.new.is_empty() && self.old.is_none()
    }

    /// Whether it says that nothing else is wanted.
    pub fn declines(&self) -> bool {
        let left = Words::of(&self.new);
        self.corrects && self.old.is_none() && DECLINES.iter().any(|start| { left }.eat(start))
    }

    /// Whether it is nothing but a time or a number, and so no request of its own.
    pub fn is_exact(&self) -> bool {
        is_time(&self.new) || number(&self.new).is_some()
    }

    /// Whether it says which words were wrong.
    pub fn contrasts_words(&self) -> bool {
        self.old.is_some()
    }

    /// Whether it only says by how much: "an hour later".
    pub fn is_relative(&self) -> bool {
        Words::of(&self.new)
            .parts()
            .any(|word| RELATIVE.contains(&word.to_lowercase().as_str()))
    }

    /// The arguments with this change. `worded` are those that hold whole sentences, which are not changed by a word.
    /// `place` is the argument that it is for, where that is known.
    pub fn amend(&self, arguments: &Value, schema: &Value, worded: &[&str], place: Option<&str>) -> Amended {
        let (Some(given), false) = (arguments.as_object(), self.new.is_empty()) else {
            return Amended::Nothing;
        };
        let call = Call {
            given,
            schema,
            worded,
            place,
        };
        if let Some(old) = &self.old {
            let found = call.exchanges(old, &self.new);
            if !found.is_empty() || self.contrasts {
                return call.one(found);
            }
        }
        let mut found = call.times(&self.new);
        found.extend(call.numbers(&self.new));
        if found.is_empty() {
            found = call.absent_time(&self.new).into_iter().collect();
        }
        if found.is_empty() {
            found = call.choices(&self.new);
        }
        if found.is_empty() && !self.corrects {
            found = call.behind(&self.new);
        }
        if found.is_empty() && is_name(&self.new) {
            if self.corrects {
                found = call.misheard(bare(&self.new));
            }
            let leads = Words::of(&self.new).starts(LEADS);
            if found.is_empty()
                && number(&self.new).is_none()
                && (self.plain || self.old.is_some() || (!self.corrects && leads))
            {
                found = call.texts(bare(&self.new));
            }
        }
        call.one(found)
    }
}

/// A call that is changed.
struct Call<'a> {
    given: &'a Map<String, Value>,
    schema: &'a Value,
    worded: &'a [&'a str],
    place: Option<&'a str>,
}

/// An argument and what it becomes.
type Found = (String, Value);

impl Call<'_> {
    /// The arguments with the change, where only one place is meant.
    fn one(&self, mut found: Vec<Found>) -> Amended {
        if let Some(place) = self.place {
            found.retain(|(name, _)| name == place);
        }
        if found.len() > 1
            && let Some(named) = found.iter().position(|(name, value)| {
                value
                    .as_str()
                    .is_some_and(|value| value.to_lowercase().ends_with(&format!(" {name}")))
            })
        {
            // "The party list" says where it belongs.
            found = vec![found.swap_remove(named)];
        }
        if found.len() > 1 {
            // What a call cannot be made without is what it is about.
            let required: Vec<usize> = (0..found.len()).filter(|i| self.requires(&found[*i].0)).collect();
            if let [only] = required[..] {
                found = vec![found.swap_remove(only)];
            }
        }
        if found.len() > 1 {
            return Amended::Which(found.into_iter().map(|(name, _)| name).collect());
        }
        let Some((name, value)) = found.pop() else {
            return Amended::Nothing;
        };
        let mut changed = self.given.clone();
        changed.insert(name, value);
        match changed == *self.given {
            true => Amended::Nothing,
            false => Amended::To(Value::Object(changed)),
        }
    }

    fn requires(&self, name: &str) -> bool {
        schema::requires(self.schema, name)
    }

    fn property(&self, name: &str) -> &Value {
        &self.schema["properties"][name]
    }

    /// The texts that were given, whole sentences aside.
    fn given_texts(&self) -> impl Iterator<Item = (&String, &str)> {
        let texts = self.given.iter().filter_map(|(name, value)| {
            let one = match value {
                Value::Array(all) if all.len() == 1 => &all[0],
                value => value,
            };
            Some((name, one.as_str()?))
        });
        texts.filter(|(name, _)| !self.worded.contains(&name.as_str()))
    }

    /// A text in the place of another, in a list where it stood in one.
    fn put(&self, name: &str, text: String) -> Found {
        let value = match self.given.get(name) {
            Some(Value::Array(_)) => Value::from(vec![text]),
            _ => Value::from(text),
        };
        (name.to_owned(), value)
    }

    /// The texts, lists and numbers that hold the old words, with the new ones.
    fn exchanges(&self, old: &str, new: &str) -> Vec<Found> {
        let old = bare(old);
        let mut found = Vec::new();
        for (name, value) in self.given {
            let exchanged = match value {
                Value::String(text) => exchange(text, old, bare(new)).map(Value::from),
                Value::Array(all) => {
                    let texts: Vec<Option<String>> = all
                        .iter()
                        .map(|one| exchange(one.as_str()?, old, bare(new)))
                        .collect();
                    texts.iter().any(Option::is_some).then(|| {
                        let pairs = all.iter().zip(texts);
                        Value::from_iter(pairs.map(|(one, text)| text.map_or(one.clone(), Value::from)))
                    })
                }
                Value::Number(was) => (number(old) == was.as_i64())
                    .then(|| number(new).map(Value::from))
                    .flatten(),
                _ => None,
            };
            let choices = self.property(name)["enum"].as_array();
            let exchanged = exchanged.filter(|value| choices.is_none_or(|all| all.contains(value)));
            found.extend(exchanged.map(|value| (name.clone(), value)));
        }
        found
    }

    /// The times that were given, with what is said anew.
    fn times(&self, new: &str) -> Vec<Found> {
        let texts = self
            .given_texts()
            .filter(|(name, _)| is_timed(name, self.property(name)));
        texts
            .filter_map(|(name, text)| Some(self.put(name, amended(text, new)?)))
            .collect()
    }

    /// The time that could have been given and was not, where it is only one.
    fn absent_time(&self, new: &str) -> Option<Found> {
        let properties = self.schema["properties"].as_object()?;
        let mut absent = properties.iter().filter(|(name, property)| {
            !self.given.contains_key(*name) && property["type"] == "string" && is_timed(name, property)
        });
        let (name, _) = absent.next()?;
        (is_time(new) && absent.next().is_none()).then(|| self.put(name, new.to_owned()))
    }

    /// The numbers that were given, as such or as a word.
    fn numbers(&self, new: &str) -> Vec<Found> {
        let Some(count) = number(new) else {
            return Vec::new();
        };
        let counted = self.given.iter().filter_map(|(name, value)| match value {
            Value::Number(_) => Some((name.clone(), Value::from(count))),
            Value::String(text) if number(text).is_some() && !is_timed(name, self.property(name)) => {
                Some((name.clone(), Value::from(bare(new))))
            }
            _ => None,
        });
        counted.collect()
    }

    /// The arguments that are one of a few words, of which this is one.
    fn choices(&self, new: &str) -> Vec<Found> {
        let new = bare(new).to_lowercase();
        let properties = self.schema["properties"].as_object().into_iter().flatten();
        let chosen = properties.filter(|(_, property)| {
            let words = property["enum"].as_array().into_iter().flatten();
            words.filter_map(Value::as_str).any(|word| word == new)
        });
        chosen
            .map(|(name, _)| (name.clone(), Value::from(new.as_str())))
            .collect()
    }

    /// The texts in which something stands behind the word that leads to the new one: "and of ninety" after "a third of sixty".
    fn behind(&self, new: &str) -> Vec<Found> {
        let Some((lead, thing)) = new.split_once(char::is_whitespace) else {
            return Vec::new();
        };
        let lead = lead.to_lowercase();
        // An argument of that name is where it goes: "and from Tom".
        if !BEHIND.contains(&lead.as_str()) || self.given.contains_key(&lead) {
            return Vec::new();
        }
        let texts = self
            .given
            .iter()
            .filter(|(name, _)| !is_timed(name, self.property(name)));
        let exchanged = |text: &str| {
            let words = Words::of(text);
            let mut leads = words.parts().filter(|part| part.eq_ignore_ascii_case(&lead));
            let (Some(place), None) = (leads.next(), leads.next()) else {
                return None;
            };
            let start = place.as_ptr() as usize - text.as_ptr() as usize;
            let before = text[..start].trim_end();
            let after = Words {
                text: text[start + place.len()..].trim(),
            };
            // "From Rome with Anna": what is behind the next of them would be lost.
            let mut parts = after.parts();
            let more = parts.any(|part| BEHIND.contains(&part.to_lowercase().as_str()));
            let whole = !before.is_empty() && !after.text.is_empty() && !more;
            whole.then(|| format!("{before} {lead} {}", thing.trim()))
        };
        texts
            .filter_map(|(name, value)| Some((name.clone(), exchanged(value.as_str()?)?.into())))
            .collect()
    }

    /// The texts in which a word was taken for one that sounds like it: "Anna" for "Hanna".
    fn misheard(&self, new: &str) -> Vec<Found> {
        let normal = Normaliser::new();
        let alike = |was: &str| {
            let (was, new) = (was.to_lowercase(), new.to_lowercase());
            was != new && (jaro_winkler(&was, &new) >= ALIKE || normal.sound(&was) == normal.sound(&new))
        };
        let mut found = Vec::new();
        for (name, text) in self
            .given_texts()
            .filter(|(name, _)| !is_timed(name, self.property(name)))
        {
            let words = Words::of(text);
            let heard = words.parts().find(|part| alike(part));
            found.extend(heard.map(|part| self.put(name, text.replacen(part, new, 1))));
        }
        found
    }

    /// The only text that was given, in the place of which another could stand.
    fn texts(&self, new: &str) -> Vec<Found> {
        let free = |name: &str| {
            let property = self.property(name);
            property.get("enum").is_none()
                && property["items"].get("enum").is_none()
                && !is_timed(name, property)
        };
        let texts = self
            .given_texts()
            .filter(|(name, text)| free(name) && number(text).is_none());
        texts.map(|(name, _)| self.put(name, new.to_owned())).collect()
    }
}

/// Whether an argument is a time, by its name or by what its description says of it.
fn is_timed(name: &str, property: &Value) -> bool {
    let described = property["description"].as_str().unwrap_or_default();
    name == "when"
        || described.to_lowercase().contains("time as said")
        || described.split('"').skip(1).step_by(2).any(is_time)
}

/// The number that all these words are.
fn number(words: &str) -> Option<i64> {
    let words = bare(words);
    let words = words.trim_end_matches("percent").trim_end_matches('%').trim_end();
    if let Ok(number) = words.parse() {
        return Some(number);
    }
    tools::when::count(words).map(i64::from)
}

/// Whether words may be the name of something and are no sentence.
fn is_name(words: &str) -> bool {
    let words: Vec<String> = Words::of(words).parts().map(str::to_lowercase).collect();
    (1..=MOST).contains(&words.len())
        && !words.iter().any(|word| SENTENCE.contains(&word.as_str()))
        && !words.iter().all(|word| is_number(word))
}

/// A name without what leads up to it.
fn bare(words: &str) -> &str {
    let mut left = Words::of(words);
    while LEADS.iter().any(|lead| left.eat(lead)) {}
    match left.text.is_empty() {
        true => Words::of(words).text,
        false => left.text,
    }
}

/// A text with some of its words exchanged; `None` when they are not in it.
fn exchange(text: &str, old: &str, new: &str) -> Option<String> {
    let all = Words::of(text);
    let words: Vec<&str> = all.parts().collect();
    let sought: Vec<String> = Words::of(old).parts().map(str::to_lowercase).collect();
    if sought.is_empty() {
        return None;
    }
    let same = |said: &str, sought: &String| {
        said.to_lowercase() == *sought || number(said).is_some_and(|n| number(sought) == Some(n))
    };
    let at = words.windows(sought.len()).position(|window| {
        window
            .iter()
            .zip(&sought)
            .all(|(said, sought)| same(said, sought))
    })?;
    let place = |word: &str| word.as_ptr() as usize - text.as_ptr() as usize;
    let (first, last) = (words[at], words[at + sought.len() - 1]);
    let (start, end) = (place(first), place(last) + last.len());
    Some(format!("{}{new}{}", &text[..start], &text[end..]))
}

/// Words of a sentence, taken away from its ends.
#[derive(Clone, Copy)]
struct Words<'a> {
    text: &'a str,
}

impl<'a> Words<'a> {
    fn of(text: &'a str) -> Words<'a> {
        Words {
            text: text.trim_matches(|c: char| !c.is_alphanumeric()),
        }
    }

    /// The words as they were said, without the signs around them.
    fn parts(&self) -> impl Iterator<Item = &'a str> + use<'a> {
        let parts = self
            .text
            .split(|c: char| !(c.is_alphanumeric() || is_apostrophe(c) || c == ':'));
        parts.filter(|part| !part.is_empty())
    }

    fn starts(&self, words: &[&str]) -> bool {
        let first = self.parts().next().unwrap_or_default().to_lowercase();
        words.contains(&first.as_str())
    }

    /// Takes these words from the beginning, if they stand there.
    fn eat(&mut self, start: &str) -> bool {
        let mut left = self.text;
        for word in start.split(' ') {
            let trimmed = left.trim_start_matches(|c: char| !c.is_alphanumeric());
            let end = trimmed
                .find(|c: char| !(c.is_alphanumeric() || is_apostrophe(c)))
                .unwrap_or(trimmed.len());
            if trimmed[..end].to_lowercase().replace('\u{2019}', "'") != word {
                return false;
            }
            left = &trimmed[end..];
        }
        *self = Words::of(left);
        true
    }

    /// The same from the end.
    fn eat_last(&mut self, word: &str) -> bool {
        let last = self.parts().last();
        let is = last.is_some_and(|last| last.to_lowercase() == word);
        if is
            && let Some(at) = self.text.to_lowercase().rfind(word)
            && self.text.is_char_boundary(at)
        {
            *self = Words::of(&self.text[..at]);
            return true;
        }
        false
    }

    /// The new and the old of "four, not three", "not three but four", "not three, four" and "not Anna Hanna".
    fn contrast(&self) -> (String, Option<String>) {
        let mut rest = *self;
        if rest.eat("not") {
            for between in [", but ", " but ", ", i said ", ", i meant ", ", ", "; ", ". "] {
                if let Some((old, new)) = split_at(rest.text, between) {
                    return (
                        Words::of(new).text.to_owned(),
                        Some(Words::of(old).text.to_owned()),
                    );
                }
            }
            let words: Vec<&str> = rest.parts().collect();
            // A recogniser need not write the comma.
            if let [old, new] = words[..] {
                return (new.to_owned(), Some(old.to_owned()));
            }
            return (self.text.to_owned(), None);
        }
        match split_at(self.text, " not ") {
            Some((new, old)) if !new.is_empty() && !old.is_empty() => {
                let (new, old) = (Words::of(new).text, Words::of(old).text);
                (new.to_owned(), Some(old.to_owned()))
            }
            _ => (self.text.to_owned(), None),
        }
    }
}

fn is_apostrophe(c: char) -> bool {
    c == '\'' || c == '\u{2019}'
}

/// The two sides of some words, whatever their case.
fn split_at<'a>(text: &'a str, between: &str) -> Option<(&'a str, &'a str)> {
    // Letters that change their length with their case are none that are looked for.
    let at = text.to_ascii_lowercase().find(between)?;
    Some((&text[..at], &text[at + between.len()..]))
}

#[cfg(test)]
mod tests;
