//! What nobody said does not count: words that a model filled in by itself are left out, or asked for.
//!
//! Small models fill every argument that a schema offers ("label": "for a meeting") and every one that it requires
//! ("items": ["milk"] for "add to my list"). A free-text argument is kept only when its words come from what the person
//! said or from what a trusted tool answered. One that is required and was not said at all is asked for. Numbers,
//! enumerations and switches stay: the tool itself checks those.

use std::collections::{HashMap, HashSet};

use serde_json::Value;
use strsim::jaro_winkler;
use tools::{
    discover::words::{Normaliser, is_number},
    when::{is_time, sounds_like, whole_number},
};

use super::{
    own::Own,
    schema::{is_chosen, is_free_text, requires},
};

/// Words that carry no content of their own; an argument made of these alone says nothing.
const EMPTY: &[&str] = &[
    "a", "an", "and", "any", "are", "as", "at", "be", "by", "do", "for", "from", "have", "i", "in", "is",
    "it", "me", "my", "of", "on", "or", "s", "the", "this", "to", "what", "with", "you", "your",
];
/// Words that name nothing yet where something has to be named: "a new note", "some things".
const VAGUE: &[&str] = &[
    "again",
    "anything",
    "exactly",
    "new",
    "please",
    "some",
    "something",
    "that",
    "thing",
    "things",
];

/// How alike a word must be to one that was said: "reminder" and "reminders", "Ana" and "Anna".
pub(super) const ALIKE: f64 = 0.9;

/// How alike the letters of what sounds the same must be: "flower" and "flour", "toe keo" and "Tokyo", but not "take" and
/// "Tokyo". Double metaphone keeps a few consonants and puts very different words into one class.
const SOUNDS_LIKE: f64 = 0.7;
/// A text may have one word in so many that nobody said.
const STRANGE: usize = 4;
/// A text of so many words may be a request; fewer may be all that was said, and an answer.
const WHOLE_REQUEST: usize = 5;
/// Words of one number, at most: "nine hundred and ninety nine thousand".
const LONGEST_NUMBER: usize = 8;
/// Words that were heard for one, at most.
const LONGEST_RUN: usize = 4;

/// What became of the arguments of a call.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Grounded {
    /// Arguments that nobody said and that were left out.
    pub dropped: Vec<String>,
    /// A required argument that nobody said; it was left out, too.
    pub missing: Option<String>,
    /// Whether all texts that are left are the person's own words, and a number was said where there is one.
    pub own_words: bool,
    /// Whether a text that the model may word by itself says more than was said.
    pub made_up: bool,
}

/// Leaves out texts that do not come from `heard`. What is required may come from anything that was said `before`, too,
/// since people go on from there without saying so. `own` are the words of the tool: they do not say what an argument is ("add to my
/// list"). `names` are the names of what is there, by argument, that were said; `worded` the arguments that the model may word by
/// itself.
pub fn ground(
    own: &Own,
    arguments: &mut Value,
    schema: &Value,
    heard: &[&str],
    before: &[&str],
    names: &[(&str, Vec<&str>)],
    worded: &[&str],
) -> Grounded {
    let mut done = Grounded {
        own_words: true,
        ..Grounded::default()
    };
    let Some(given) = arguments.as_object_mut() else {
        return done;
    };
    let heard = Heard::of(heard.iter().copied());
    let all_said = Heard::of(heard.texts.iter().copied().chain(before.iter().copied()));
    for (name, value) in given.iter_mut() {
        let property = &schema["properties"][name.as_str()];
        let needed = requires(schema, name);
        let is_named = |text: &str| names.iter().any(|(of, all)| of == name && all.contains(&text));
        if value.as_str().is_some_and(is_named) {
            continue;
        }
        let gone = match value {
            Value::String(text) if is_free_text(property) => match needed {
                true => !named(text, &all_said, own),
                false => {
                    let is_asked = |word: &str| !worded.contains(&name.as_str()) && own.is_asked(word);
                    !grounded(text, &heard)
                        || says_nothing(text, property, &|word| own.is_name(word), &is_asked)
                        || heard.is_said_whole(text)
                }
            },
            // What was said in other words stays: none of what is asked for may get lost.
            Value::Array(all) if needed && !all.is_empty() && is_free_text(&property["items"]) => {
                let said = |text: &str| is_named(text) || named(text, &all_said, own);
                all.retain(|one| one.as_str().is_none_or(said));
                all.is_empty()
            }
            Value::Array(all) if !all.is_empty() && is_free_text(&property["items"]) => {
                let said = |text: &str| is_named(text) || grounded(text, &heard);
                all.retain(|one| one.as_str().is_none_or(said));
                all.is_empty()
            }
            _ => false,
        };
        match (gone, needed) {
            (true, true) => done.missing = done.missing.or_else(|| Some(name.clone())),
            (true, false) => done.dropped.push(name.clone()),
            (false, _) if is_chosen(property) || is_chosen(&property["items"]) => {}
            (false, _) => {
                done.own_words &= is_own(value, &heard, &is_named);
                let text = value.as_str().filter(|_| worded.contains(&name.as_str()));
                done.made_up |= text.is_some_and(|text| !all_said.tells(text));
            }
        }
    }
    for name in done.dropped.iter().chain(&done.missing) {
        given.shift_remove(name);
    }
    done
}

/// Whether the person said this, or named it. A number that nobody said is the model's, which may mend it.
fn is_own(value: &Value, heard: &Heard<'_>, is_named: &dyn Fn(&str) -> bool) -> bool {
    let all = match value {
        Value::Array(all) => all.as_slice(),
        one => std::slice::from_ref(one),
    };
    all.iter().all(|one| match one {
        Value::String(text) => is_named(text) || grounded(text, heard),
        Value::Number(number) => grounded(&number.to_string(), heard),
        _ => true,
    })
}

/// Whether a required text says something that was heard: a text that the model worded need not be the person's to the
/// word, but one of which nothing was said is made up, and one that only repeats what the tool is called names nothing.
fn named(text: &str, heard: &Heard<'_>, own: &Own) -> bool {
    let mut content = content(text).filter(|word| !own.is_name(word)).peekable();
    content.peek().is_some() && content.any(|word| heard.has(&word))
}

/// Whether a text has no other words than the tool itself, and such that name nothing: "the calendar" is no place, and "diary" no
/// event. What the schema says of the argument may be an answer: "all".
fn says_nothing(
    text: &str,
    property: &Value,
    is_name: &dyn Fn(&str) -> bool,
    is_asked: &dyn Fn(&str) -> bool,
) -> bool {
    let description = property["description"].as_str().unwrap_or_default();
    let answers: HashSet<String> = words(description).collect();
    let is_asked = |word: &str| is_asked(word) && !answers.contains(word) && !is_time(text);
    content(text).all(|word| is_name(&word) || is_asked(&word))
}

/// The words of a text that name something.
fn content(text: &str) -> impl Iterator<Item = String> {
    words(text).filter(|word| !EMPTY.contains(&word.as_str()) && !VAGUE.contains(&word.as_str()))
}

/// Whether the content words of a text were all heard, and there is at least one. Digits may have been said as words, where
/// any number was said: a prompt may name the time of day, which models copy.
fn grounded(text: &str, heard: &Heard<'_>) -> bool {
    let mut content = words(text)
        .filter(|word| !EMPTY.contains(&word.as_str()))
        .peekable();
    content.peek().is_some() && content.all(|word| heard.has(&word))
}

/// What was said, to be looked up.
struct Heard<'a> {
    texts: Vec<&'a str>,
    words: HashSet<String>,
    /// Recognisers write what they hear: "flower" for flour, "grays" for Grace. Words, neighbours written together among
    /// them, by their sound.
    sounds: HashMap<String, Vec<String>>,
    /// Whether a number was said, and which digits would have been said as words.
    counted: bool,
    normal: Normaliser,
}

impl<'a> Heard<'a> {
    fn of(texts: impl Iterator<Item = &'a str>) -> Heard<'a> {
        let (texts, normal) = (texts.collect::<Vec<_>>(), Normaliser::new());
        let words: HashSet<String> = texts.iter().flat_map(|text| runs(text, 2)).collect();
        let mut sounds: HashMap<String, Vec<String>> = HashMap::new();
        for run in texts.iter().flat_map(|text| runs(text, LONGEST_RUN)) {
            let sound = normal.sound(&run);
            if sound.len() > 1 {
                sounds.entry(sound).or_default().push(run);
            }
        }
        Heard {
            counted: words.iter().any(|word| is_number(word)),
            sounds,
            texts,
            words,
            normal,
        }
    }

    fn has(&self, word: &str) -> bool {
        (word.chars().all(|c| c.is_ascii_digit()) && self.counted)
            || self.words.contains(word)
            || self.sounds_like(word)
            || self.words.iter().any(|h| jaro_winkler(h, word) >= ALIKE)
    }

    /// Whether a text that was worded anew still says what was said: all of its numbers, and most of its words.
    fn tells(&self, text: &str) -> bool {
        let told = Figures::of(text, false);
        let content = told
            .rest
            .iter()
            .filter(|word| word.len() > 2 && !EMPTY.contains(&word.as_str()));
        let (strange, all) = content.fold((0, 0), |(strange, all), word| {
            (strange + usize::from(!self.has(word)), all + 1)
        });
        let counted = told.runs.is_empty() || {
            let said: Vec<Figures> = self.texts.iter().map(|text| Figures::of(text, true)).collect();
            told.runs.iter().all(|run| said.iter().any(|said| said.has(run)))
        };
        counted && strange * STRANGE <= all
    }

    /// Whether a text is a whole request. Then the model copied it because it had to write something.
    fn is_said_whole(&self, text: &str) -> bool {
        let text: Vec<String> = words(text).collect();
        text.len() >= WHOLE_REQUEST && self.texts.iter().any(|said| words(said).eq(text.iter().cloned()))
    }

    fn sounds_like(&self, word: &str) -> bool {
        // A sound is that of the beginning, so what is much longer is something else.
        let alike =
            |heard: &String| heard.len() <= word.len() + 3 && jaro_winkler(heard, word) >= SOUNDS_LIKE;
        let same = self.sounds.get(&self.normal.sound(word));
        same.is_some_and(|heard| heard.iter().any(alike))
    }
}

/// The numbers of a text, as digits, and its other words.
#[derive(Default)]
struct Figures {
    /// Those that follow each other without a word between: "four four seven one".
    runs: Vec<Vec<String>>,
    rest: Vec<String>,
}

impl Figures {
    /// `heard`: what sounds like a number may be one, too.
    fn of(text: &str, heard: bool) -> Figures {
        let words: Vec<String> = words(text).collect();
        let (mut figures, mut run, mut at) = (Figures::default(), Vec::new(), 0);
        while at < words.len() {
            // "Two hundred and forty" is one number.
            let spoken = || {
                (1..=LONGEST_NUMBER.min(words.len() - at))
                    .rev()
                    .find_map(|length| {
                        let number = whole_number(&words[at..at + length].join(" "));
                        Some((length, number?.to_string()))
                    })
            };
            let number = match is_digits(&words[at]) {
                // As it was written, however long and with its zeros.
                true => Some((1, words[at].clone())),
                false => spoken(),
            };
            let alike = || Some((1, sounds_like(&words[at]).filter(|_| heard)?.to_string()));
            match number.or_else(alike) {
                Some((length, number)) => {
                    run.push(number);
                    at += length;
                }
                None => {
                    figures.rest.push(words[at].clone());
                    figures.end(&mut run);
                    at += 1;
                }
            }
        }
        figures.end(&mut run);
        figures
    }

    fn end(&mut self, run: &mut Vec<String>) {
        if !run.is_empty() {
            self.runs.push(std::mem::take(run));
        }
    }

    /// Whether these numbers are among them, each by itself or all as one.
    fn has(&self, run: &[String]) -> bool {
        let whole = run.concat();
        self.runs.iter().any(|said| said.concat() == whole)
            || run
                .iter()
                .all(|one| self.runs.iter().flatten().any(|said| said == one))
    }
}

fn is_digits(word: &str) -> bool {
    word.chars().all(|c| c.is_ascii_digit())
}

/// Words, and up to so many neighbours written together: recognisers hear "p m" and "to do".
fn runs(text: &str, longest: usize) -> Vec<String> {
    let words: Vec<String> = words(text).collect();
    (1..=longest)
        .flat_map(|length| words.windows(length).map(|run| run.concat()))
        .collect()
}

/// Lower-case words; letters and digits are apart, so that "5pm" and "5 pm" are the same.
pub(super) fn words(text: &str) -> impl Iterator<Item = String> + use<> {
    let mut words: Vec<String> = Vec::new();
    let mut kind = None;
    for c in text.to_lowercase().chars() {
        let this = c.is_alphanumeric().then(|| c.is_ascii_digit());
        match (this, words.last_mut()) {
            (Some(_), Some(word)) if this == kind => word.push(c),
            (Some(_), _) => words.push(c.into()),
            (None, _) => {}
        }
        kind = this;
    }
    words.into_iter()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    const SCHEMA: &str = r#"{
        "properties": {
            "title": {"type": "string"}, "when": {"type": "string"}, "label": {"type": "string"},
            "want": {"type": "string", "enum": ["phone", "mail"]}, "count": {"type": "integer"},
            "items": {"type": "array", "items": {"type": "string"}},
            "people": {"type": "array", "items": {"type": "string"}}
        },
        "required": ["title", "items"]
    }"#;

    fn after(heard: &str, arguments: &Value) -> (Value, Grounded) {
        let mut kept = arguments.clone();
        let schema = serde_json::from_str(SCHEMA).unwrap();
        let done = ground(
            &Own::named("lists.add_item"),
            &mut kept,
            &schema,
            &[heard],
            &["the red one"],
            &[],
            &["title"],
        );
        (kept, done)
    }

    #[track_caller]
    fn check(heard: &str, arguments: Value, expect: Value) {
        assert_eq!(after(heard, &arguments).0, expect, "{heard:?}");
    }

    #[test]
    fn what_was_said_stays_and_what_was_made_up_goes() {
        check(
            "set a timer for ten minutes",
            json!({"title": "timer", "label": "for a meeting"}),
            json!({"title": "timer"}),
        );
        check(
            "what is on tomorrow",
            json!({"when": "tomorrow", "label": "what it is"}),
            json!({"when": "tomorrow"}),
        );
        check("an egg timer", json!({"label": "Eggs"}), json!({"label": "Eggs"}));
        check(
            "call at five p m",
            json!({"when": "5 PM"}),
            json!({"when": "5 PM"}),
        );
        check(
            "call at 5pm",
            json!({"when": "at 5 pm"}),
            json!({"when": "at 5 pm"}),
        );
        check(
            "next tuesday",
            json!({"when": "next Tuesday"}),
            json!({"when": "next Tuesday"}),
        );
        check("next tuesday", json!({"when": "next Wednesday"}), json!({}));
        check("do I have any appointments", json!({"label": "10:30"}), json!({}));
        check(
            "the meeting at half past ten",
            json!({"label": "10:30"}),
            json!({"label": "10:30"}),
        );
        check(
            "mails from ana",
            json!({"label": "Anna"}),
            json!({"label": "Anna"}),
        );
    }

    #[test]
    fn what_sounds_like_what_was_said_was_said() {
        for (heard, value) in [
            ("what is the time in toe keo", "Tokyo"),
            ("what time is it in toe key oh", "Tokyo"),
            ("the weather in lisbun please", "Lisbon"),
            ("is it raining in sin sin natty", "Cincinnati"),
            ("put it on the grosse rees list", "groceries"),
            ("call it bored meeting", "board meeting"),
            ("the file knights shift", "Night shift"),
            ("the list called grays party", "Grace party"),
            ("a mail about the flower order", "flour order"),
        ] {
            check(heard, json!({"label": value}), json!({"label": value}));
        }
        // What only shares its consonants with a word, or nothing, was made up.
        for (heard, value) in [
            ("take a note", "Tokyo"),
            ("what is the time in berlin", "Tokyo"),
            ("the weather in lisbon", "London"),
            ("what is on next tuesday", "next Wednesday"),
            ("the time in new york", "New Delhi"),
            ("the weather please", "New York"),
            ("call her back later", "Clara"),
            ("set a timer for ten minutes", "tomatoes"),
            ("what is on my calendar", "kitchen"),
            ("is it raining", "Rome"),
            ("call mum", "Mom's office"),
        ] {
            check(heard, json!({"label": value}), json!({}));
        }
    }

    #[test]
    fn what_is_no_free_text_is_left_to_the_tool() {
        check(
            "hello",
            json!({"want": "phone", "count": 5, "unknown": "words"}),
            json!({"want": "phone", "count": 5, "unknown": "words"}),
        );
        check("hello", json!([1]), json!([1]));
    }

    #[test]
    fn what_is_required_and_was_not_said_is_asked_for() {
        #[track_caller]
        fn check(heard: &str, arguments: Value, missing: Option<&str>) {
            let done = after(heard, &arguments).1;
            assert_eq!(done.missing.as_deref(), missing, "{heard:?} {arguments}");
        }
        check(
            "add to my to do list",
            json!({"items": ["buy milk"]}),
            Some("items"),
        );
        check(
            "add to my to do list",
            json!({"items": ["to do list"]}),
            Some("items"),
        );
        check(
            "add a new item to a list",
            json!({"items": ["a new item"]}),
            Some("items"),
        );
        check("add milk to my list", json!({"items": ["milk"]}), None);
        check("add by milk to my list", json!({"items": ["buy milk"]}), None);
        check("add to my list", json!({"title": "Groceries"}), Some("title"));
        check(
            "tell anna exactly that",
            json!({"title": "exactly that"}),
            Some("title"),
        );
        check("tell anna exactly ten", json!({"title": "exactly ten"}), None);
        check("tell anna I am late", json!({"title": "I'll be late"}), None);
        check("call at five p m", json!({"title": "17:00"}), None);
        check("add flower to my list", json!({"items": ["flour"]}), None);
        check("tell her it comes by one", json!({"title": "by one"}), None);
        // People go on from what they said before.
        check("make it bigger", json!({"title": "red"}), None);
        check("make it bigger", json!({"title": "green"}), Some("title"));
    }

    #[test]
    fn what_a_list_holds_and_nobody_said_goes() {
        check(
            "add milk to my list",
            json!({"items": ["milk", "bread"], "people": ["Tiro"]}),
            json!({"items": ["milk"]}),
        );
        // What was said in other words is not lost.
        check(
            "put by milk and the red won on my list",
            json!({"items": ["buy milk", "the red one"]}),
            json!({"items": ["buy milk", "the red one"]}),
        );
        check(
            "lunch with anna and tom",
            json!({"people": ["Anna", "Tom", "Priya"]}),
            json!({"people": ["Anna", "Tom"]}),
        );
    }

    #[test]
    fn what_a_list_holds_may_be_a_name_that_was_said() {
        #[track_caller]
        fn check(names: &[(&str, Vec<&str>)], arguments: Value, expect: Value, own_words: bool) {
            let mut kept = arguments.clone();
            let schema = serde_json::from_str(SCHEMA).unwrap();
            let heard = ["lunch with anna the freeze and tom, bring the grays cake"];
            let done = ground(
                &Own::named("calendar.x"),
                &mut kept,
                &schema,
                &heard,
                &[],
                names,
                &[],
            );
            assert_eq!(
                (kept, done.own_words),
                (expect, own_words),
                "{names:?} {arguments}"
            );
        }
        let people = || vec!["Anna de Vries"];
        let call = json!({"people": ["Anna de Vries", "Tom", "Priya"]});
        check(
            &[("people", people())],
            call.clone(),
            json!({"people": ["Anna de Vries", "Tom"]}),
            true,
        );
        check(&[], call.clone(), json!({"people": ["Tom"]}), true);
        // Names are those of one argument.
        check(&[("items", people())], call, json!({"people": ["Tom"]}), true);
        check(
            &[("items", vec!["Zwetschgenkuchen"])],
            json!({"items": ["Zwetschgenkuchen", "Priya"]}),
            json!({"items": ["Zwetschgenkuchen"]}),
            true,
        );
        check(
            &[],
            json!({"items": ["Zwetschgenkuchen", "Priya's cake"]}),
            json!({"items": ["Priya's cake"]}),
            false,
        );
    }

    #[test]
    fn what_a_model_words_says_what_was_said() {
        #[track_caller]
        fn check(heard: &str, title: &str, made_up: bool) {
            let done = after(heard, &json!({"title": title})).1;
            assert_eq!(
                (done.missing, done.made_up),
                (None, made_up),
                "{heard:?} {title:?}"
            );
        }
        check("what's ate times twelve", "8 * 12", false);
        check("what's ate times twelve", "15% of twelve", true);
        check("and of two hundred and forty", "240 * 2", true);
        check("fifteen percent of two hundred and forty", "15% of 240", false);
        check(
            "the bike lock opens with 7 2 9",
            "the bike lock opens with 729",
            false,
        );
        check("the code is four four seven one", "The code is 4471", false);
        check("the code is four four seven one", "my locker code is 4411", true);
        check("add up 12.50 and 007", "12.50 + 007", false);
        check("tell anna I am late", "I'm late", false);
        check(
            "reply that the slides are coming by one",
            "Hi Priya, the slides are coming by one o'clock. I'll help you with the budget.",
            true,
        );
        check("text grays that i'm out side", "I'm outside", false);
        check("go to wiki pedia dot org", "wikipedia.org", false);
        check(
            "go to wiki pedia dot org",
            "https://en.wikipedia.org/wiki/Pizza",
            true,
        );
    }

    #[test]
    fn a_whole_request_is_no_argument_of_itself() {
        let said = "do I have anything on friday";
        check(
            said,
            json!({"when": "friday", "label": said}),
            json!({"when": "friday"}),
        );
        check(
            "the red bike",
            json!({"label": "the red bike"}),
            json!({"label": "the red bike"}),
        );
    }

    #[test]
    fn the_tools_own_words_are_no_argument() {
        check(
            "put it on a list",
            json!({"label": "a list", "title": "it all"}),
            json!({}),
        );
        check(
            "is there anything on thursday",
            json!({"label": "anything"}),
            json!({}),
        );
    }

    #[test]
    fn words_of_the_model_are_told_from_the_persons() {
        #[track_caller]
        fn check(heard: &str, arguments: Value, own_words: bool) {
            assert_eq!(after(heard, &arguments).1.own_words, own_words, "{heard:?}");
        }
        check(
            "rain in portland on monday",
            json!({"label": "Portland", "when": "monday"}),
            true,
        );
        check("tell anna I am late", json!({"title": "I will be late"}), false);
        check("what is on", json!({"label": "made up"}), true);
        check("what is on", json!({"want": "phone"}), true);
        check("what is on", json!({"count": 5, "want": "phone"}), false);
        check("what are the next five", json!({"count": 5}), true);
    }
}
