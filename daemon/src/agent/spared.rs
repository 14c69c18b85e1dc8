//! What is to stay as it is: "take the bins off my reminders but leave the electrician" names two of them, and a small model takes the
//! last one. What was named only to be left alone is not what is removed, and where some are to stay not all are.

use prompts::words as phrases;
use serde_json::Value;
use strsim::jaro_winkler;
use tools::{Entry, discover::words::is_stop_word, reflex::POLITE};

use super::{
    Agent, Call, Ending, Step,
    ground::{ALIKE, words},
    own::Own,
    schema::{is_chosen, requires},
};

/// What tools that take something away are called, behind their domain. Of others a name may be corrected: "brunch, not lunch".
const REMOVING: [&str; 7] = [
    "archive", "cancel", "complete", "delete", "quit", "remove", "trash",
];
/// What archives is asked to keep it.
const KEEPING: &str = "archive";
/// What leads to an exception, which is to stay. Not "instead of", which leads to what goes.
const EXCEPT: [&[&str]; 5] = [
    &["apart", "from"],
    &["aside", "from"],
    &["except"],
    &["except", "for"],
    &["other", "than"],
];
/// What leads to something else that is to stay, or to another wish.
const OTHERWISE: [&[&str]; 6] = [
    &["and", "keep"],
    &["and", "leave"],
    &["and", "not"],
    &["but", "keep"],
    &["but", "leave"],
    &["but", "not"],
];
/// With these a request begins that names first what is to stay: "keep the dentist and cancel pottery".
const BEGINNINGS: [&str; 2] = ["keep", "leave"];
/// Behind these "but" leads to an exception; else it leads to anything: "I can't come, but pottery can go".
const ALL: [&str; 4] = ["all", "every", "everyone", "everything"];
/// Where one of these stands so many words before, it does not: "not all of them, but the one from Priya".
const NOT: [&str; 2] = ["don", "not"];
const BEFORE: usize = 3;
/// What may stand between what leads to a name and the name: "except for my gym one", "but not the ones from Lena".
const BETWEEN: [&str; 23] = [
    "a", "about", "an", "any", "at", "by", "called", "for", "from", "her", "his", "in", "my", "of", "on",
    "one", "ones", "our", "that", "the", "their", "those", "with",
];
/// What begins no exception: "cancel all of them and leave me alone", "and not just the newest".
const NO_THING: [&str; 9] = ["alone", "him", "it", "just", "keep", "me", "only", "them", "us"];
/// What stands for a thing where only its day is said: "but not the one on friday". Who keeps friday free has another wish.
const ONE: [&str; 2] = ["one", "ones"];
/// Words of an exception, at most, where it is asked about.
const MOST: usize = 4;

impl Agent {
    /// The question where a call would remove what the person said shall stay; nothing else is left of such a call. From a list
    /// only that is taken out.
    pub(super) fn spares(&mut self, call: &mut Call, entry: &Entry) -> Option<Step> {
        let stays = spare(&mut call.arguments, entry, self.talk.said().last()?)?;
        Some(self.reply(phrases::spared(&stays), Ending::CouldNot))
    }
}

/// What is to stay, where a call has nothing else.
fn spare(arguments: &mut Value, entry: &Entry, said: &str) -> Option<String> {
    let given = arguments
        .as_object_mut()
        .filter(|_| REMOVING.contains(&verb_of(entry)))?;
    let (schema, own) = (entry.parameters(), Own::named(entry.name));
    let sentence = Sentence {
        said: words(said).collect(),
        own: &own,
        keeps: verb_of(entry) != KEEPING,
    };
    // What is chosen from the schema's own words names nothing.
    let names = |name: &str| !is_chosen(&schema["properties"][name]);
    let also: Vec<String> = given
        .iter()
        .filter(|(name, value)| names(name) && value.as_str().is_some_and(|text| !sentence.means_all(text)))
        .map(|(name, _)| name.clone())
        .collect();
    let stays = |name: &str, text: &str| match sentence.means_all(text) {
        true => sentence.exception(&also),
        false => sentence.stays(text, entry.times.iter().any(|(time, _)| *time == name)),
    };
    for (name, value) in given.iter_mut().filter(|(name, _)| names(name)) {
        match value {
            Value::String(text) => {
                if let Some(stays) = stays(name, text) {
                    return Some(stays);
                }
            }
            Value::Array(all) => {
                let mut left = Vec::new();
                all.retain(|one| match one.as_str().and_then(|text| stays(name, text)) {
                    Some(text) => {
                        left.push(text);
                        false
                    }
                    None => true,
                });
                if all.is_empty() && requires(&schema, name) && !left.is_empty() {
                    return Some(left.remove(0));
                }
            }
            _ => {}
        }
    }
    None
}

/// "delete" of `calendar.delete_event`.
fn verb_of(entry: &Entry) -> &'static str {
    entry.name.split(['.', '_']).nth(1).unwrap_or_default()
}

/// What was said, to a tool with words of its own.
struct Sentence<'a> {
    said: Vec<String>,
    own: &'a Own,
    /// Whether the tool keeps nothing of what it takes away.
    keeps: bool,
}

impl Sentence<'_> {
    /// Whether a text names all there is: "all", "every alarm".
    fn means_all(&self, text: &str) -> bool {
        let says_which = |word: &String| !is_all(word) && !is_stop_word(word) && !self.own.is_name(word);
        words(text).any(|word| is_all(&word)) && !words(text).any(|word| says_which(&word))
    }

    /// What is to stay of all there is. Others of a kind that the call has named `also` are none of these: "but leave those from Priya".
    fn exception(&self, also: &[String]) -> Option<String> {
        let leads = |at: usize| self.leads(&self.said[..at]);
        // "But keep the gym one" is led to by both words.
        let mut begins = (0..self.said.len()).filter(|at| leads(*at) && !leads(at + 1));
        begins.find_map(|at| {
            let exception: Vec<&str> = self.said[at..].iter().map(String::as_str).take(MOST).collect();
            let is_other = || also.iter().any(|name| exception.contains(&name.as_str()));
            let counts = !NO_THING.contains(&exception[0]) && (self.excepts(&self.said[..at]) || !is_other());
            counts.then(|| exception.join(" "))
        })
    }

    /// What is to stay where this text, a time perhaps, would take it along: what was named, wherever it was, to be left alone.
    fn stays(&self, text: &str, is_time: bool) -> Option<String> {
        let says = |word: &String| !is_stop_word(word) && !self.own.is_name(word);
        let named: Vec<String> = words(text).filter(says).collect();
        let is_named = |word: &String| named.iter().any(|named| is_alike(named, word));
        let around = |word: &String| is_between(word) || is_named(word);
        let leads_here = |at: usize| {
            let small = self.said[..at].iter().rev().take_while(|word| around(word));
            (0..=small.count()).any(|small| {
                let (before, between) = self.said[..at].split_at(at - small);
                let is_one = || between.iter().any(|word| ONE.contains(&word.as_str()));
                self.leads(before) && (!is_time || self.excepts(before) || is_one())
            })
        };
        // Both may be called alike in part: "the seven o'clock alarm, but keep the eight o'clock one".
        let content: Vec<usize> = (0..self.said.len()).filter(|at| says(&self.said[*at])).collect();
        let is_whole = |places: &&[usize]| {
            let mut pairs = places.iter().zip(&named);
            pairs.all(|(at, named)| is_alike(named, &self.said[*at]))
        };
        let whole = content.windows(named.len().max(1)).filter(is_whole);
        let mut places: Vec<usize> = whole.map(|places| places[0]).collect();
        if places.is_empty() {
            places = (0..self.said.len())
                .filter(|at| is_named(&self.said[*at]))
                .collect();
        }
        (!named.is_empty() && !places.is_empty() && places.into_iter().all(leads_here))
            .then(|| text.to_owned())
    }

    /// Whether these words lead to what is to stay.
    fn leads(&self, before: &[String]) -> bool {
        let counts = |word: &str| self.keeps || word != "keep";
        let otherwise = || {
            let mut leads = OTHERWISE.iter();
            leads.any(|lead| counts(lead[1]) && ends_with(before, lead))
        };
        let begins = || {
            let rest = before.iter().skip_while(|word| POLITE.contains(&word.as_str()));
            let mut rest = rest.map(String::as_str);
            let first = rest.next().filter(|first| BEGINNINGS.contains(first));
            first.is_some_and(counts) && rest.next().is_none()
        };
        self.excepts(before) || otherwise() || begins()
    }

    /// Whether these words lead to an exception.
    fn excepts(&self, before: &[String]) -> bool {
        let is_not = |at: usize| {
            let near = &before[at.saturating_sub(BEFORE)..at];
            near.iter().any(|word| NOT.contains(&word.as_str()))
        };
        let all = || (0..before.len()).any(|at| is_all(&before[at]) && !is_not(at));
        EXCEPT.iter().any(|lead| ends_with(before, lead)) || ends_with(before, &["but"]) && all()
    }
}

fn is_all(word: &str) -> bool {
    ALL.contains(&word)
}

fn is_between(word: &str) -> bool {
    BETWEEN.contains(&word)
}

fn is_alike(one: &str, other: &str) -> bool {
    jaro_winkler(one, other) >= ALIKE
}

fn ends_with(words: &[String], end: &[&str]) -> bool {
    let rest = words.len().checked_sub(end.len());
    rest.is_some_and(|rest| words[rest..].iter().eq(end.iter()))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn spared(tool: &str, said: &str, given: &Value) -> (Option<String>, Value) {
        let mut spared = given.clone();
        (spare(&mut spared, tools::find(tool).unwrap(), said), spared)
    }

    /// A verb that no tool has would look after nothing.
    #[test]
    fn each_verb_is_that_of_a_tool() {
        for verb in REMOVING {
            assert!(tools::ALL.iter().any(|entry| verb_of(entry) == verb), "{verb}");
        }
    }

    #[test]
    fn what_is_to_stay_is_not_removed() {
        for (tool, said, given, stays) in [
            (
                "reminders.delete",
                "take the orchids off my reminders but leave the parcel",
                json!({"title": "parcel"}),
                "parcel",
            ),
            (
                "reminders.complete",
                "keep the parcel and tick off the orchids",
                json!({"title": "the parcel"}),
                "the parcel",
            ),
            (
                "calendar.delete_event",
                "clear my calendar on friday except for the pottery class",
                json!({"event": "pottery class"}),
                "pottery class",
            ),
            (
                "timers.cancel",
                "I can't cook any more, stop all timers but the pasta one",
                json!({"timer": "pasta"}),
                "pasta",
            ),
            (
                "timers.cancel",
                "stop the egg timer but not the pasta timer",
                json!({"timer": "pasta timer"}),
                "pasta timer",
            ),
            (
                "timers.cancel",
                "stop all timers but the pasta one",
                json!({"timer": "all"}),
                "the pasta one",
            ),
            (
                "alarms.cancel",
                "cancel all my alarms apart from the one at seven",
                json!({"alarm": "seven"}),
                "seven",
            ),
            (
                "alarms.cancel",
                "all alarms can go but the gym one",
                json!({"alarm": "all alarms"}),
                "the gym one",
            ),
            (
                "alarms.cancel",
                "cancel all alarms but keep the gym one",
                json!({"alarm": "all"}),
                "the gym one",
            ),
            (
                "alarms.cancel",
                "I don't work tomorrow, cancel all alarms but the gym one",
                json!({"alarm": "all"}),
                "the gym one",
            ),
            (
                "alarms.cancel",
                "cancel all my alarms and leave me alone, except the gym one",
                json!({"alarm": "all"}),
                "the gym one",
            ),
            (
                "lists.remove",
                "take everything off the shopping list but keep the walnuts",
                json!({"items": ["everything"], "list": "shopping"}),
                "the walnuts",
            ),
            (
                "lists.remove",
                "clear the shopping list but keep the walnuts",
                json!({"items": ["all"], "list": "shopping"}),
                "the walnuts",
            ),
            (
                "mail.delete",
                "delete all mails from the shop but not the ones about my order",
                json!({"from": "shop", "which": "all"}),
                "the ones about my",
            ),
            (
                "alarms.cancel",
                "turn the seven o'clock alarm off but keep the eight o'clock one",
                json!({"alarm": "eight o'clock"}),
                "eight o'clock",
            ),
            (
                "timers.cancel",
                "stop the five minute timer but keep the ten minute one",
                json!({"timer": "ten minute"}),
                "ten minute",
            ),
            (
                "contacts.delete",
                "delete Anna Bell but not Anna Hill",
                json!({"name": "Anna Hill"}),
                "Anna Hill",
            ),
            (
                "calendar.delete_event",
                "cancel pottery but not the one on friday",
                json!({"event": "pottery", "when": "friday"}),
                "friday",
            ),
            (
                "calendar.delete_event",
                "please keep the dentist and cancel pottery",
                json!({"event": "dentist"}),
                "dentist",
            ),
            (
                "mail.archive",
                "archive all mails from the shop except the one about my order",
                json!({"from": "shop", "which": "all"}),
                "the one about my",
            ),
            (
                "mail.archive",
                "archive everything aside from Lena's mails",
                json!({"from": "Lena"}),
                "Lena",
            ),
            (
                "mail.delete",
                "delete all mails from the shop but not the ones about my order",
                json!({"from": "shop", "about": "order"}),
                "order",
            ),
            (
                "lists.remove",
                "take everything off but the walnuts",
                json!({"items": ["walnut"]}),
                "walnut",
            ),
            (
                "lists.remove",
                "take everything off but the walnuts",
                json!({"items": ["everything"]}),
                "the walnuts",
            ),
        ] {
            assert_eq!(spared(tool, said, &given).0.as_deref(), Some(stays), "{said}");
        }
        let said = "the oats and the tea go but not the walnuts";
        let (question, left) = spared(
            "lists.remove",
            said,
            &json!({"items": ["oats", "tea", "walnuts"]}),
        );
        assert_eq!((question, left), (None, json!({"items": ["oats", "tea"]})));
    }

    #[test]
    fn what_is_named_to_go_goes() {
        let pottery = || json!({"event": "pottery"});
        for (tool, said, given) in [
            (
                "calendar.delete_event",
                "cancel pottery but leave the dentist",
                pottery(),
            ),
            (
                "calendar.delete_event",
                "cancel nothing but the pottery",
                pottery(),
            ),
            ("calendar.delete_event", "not the dentist but pottery", pottery()),
            (
                "calendar.delete_event",
                "the dentist stays but pottery can go",
                pottery(),
            ),
            (
                "calendar.delete_event",
                "I can't make it, sorry but pottery has to go",
                pottery(),
            ),
            (
                "calendar.delete_event",
                "do not forget to cancel pottery",
                pottery(),
            ),
            ("calendar.delete_event", "cancel it", pottery()),
            (
                "reminders.delete",
                "delete the reminder to not forget milk",
                json!({"title": "milk"}),
            ),
            (
                "lists.remove",
                "take everything off the list",
                json!({"items": ["everything"]}),
            ),
            ("lists.remove", "all but gone", json!({"items": []})),
            (
                "mail.delete",
                "not the one from Lena but the one from Priya",
                json!({"from": "Priya"}),
            ),
            (
                "mail.archive",
                "archive the mails from Lena and leave those from Priya",
                json!({"from": "Lena"}),
            ),
            (
                "alarms.cancel",
                "turn off the alarm at six but keep the one at seven",
                json!({"alarm": "six"}),
            ),
            (
                "mail.archive",
                "keep the invoice but get it out of my inbox",
                json!({"about": "invoice"}),
            ),
            (
                "mail.archive",
                "archive all mails from the newsletter and keep my inbox clean",
                json!({"from": "newsletter", "which": "all"}),
            ),
            (
                "mail.delete",
                "delete all mails from Lena but leave the ones from Priya",
                json!({"from": "Lena", "which": "all"}),
            ),
            (
                "mail.delete",
                "not all of them but the one from Priya",
                json!({"from": "Priya"}),
            ),
            (
                "calendar.delete_event",
                "delete the yoga series but keep the dentist",
                json!({"event": "yoga", "series": "all"}),
            ),
            (
                "alarms.cancel",
                "cancel all my alarms and leave me alone",
                json!({"alarm": "all"}),
            ),
            (
                "contacts.delete",
                "delete Anna Bell but not Anna Hill",
                json!({"name": "Anna Bell"}),
            ),
            (
                "calendar.delete_event",
                "cancel pottery and keep friday free",
                json!({"event": "pottery", "when": "friday"}),
            ),
            // Corrected, not removed.
            (
                "calendar.update_event",
                "call it brunch and not lunch",
                json!({"event": "lunch", "title": "brunch"}),
            ),
        ] {
            assert_eq!(spared(tool, said, &given), (None, given.clone()), "{said}");
        }
    }
}
