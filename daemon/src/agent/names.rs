//! Names of what is there: an argument that points at one is brought back to it.
//!
//! A small model writes words around a name ("make my lunch with Anna"), says the same words twice ("title": what the event is
//! called already), and fills an argument for a name with whatever stood near ("calendar": "school"). What is there and has a
//! name is known without it.

use serde_json::{Map, Value};
use tools::{Entry, TimeRole, discover::words::is_pointer, system::known::Kind, when::said_times};

use super::{schema::requires, toolbox::Toolbox};

/// What is known of people.
const OF_PEOPLE: &[&str] = &[
    "address",
    "birthday",
    "cell",
    "contact",
    "details",
    "email",
    "home",
    "mail",
    "mobile",
    "number",
    "numbers",
    "phone",
    "telephone",
    "work",
];
/// What makes two of one, leaves one out or makes somebody else of them ("my plumber" is hardly Joe Plumber): no filling.
const TELLING: &[&str] = &[
    "and", "but", "me", "mine", "my", "or", "our", "their", "them", "us", "whose", "you", "your",
];
/// What is said of anything.
const ANYTHING: &[&str] = &["again", "instead", "one", "please", "stuff", "thing", "things"];

/// Puts the arguments of a call right that are names, from what was said and what Tiro `told` before: a model that takes a
/// name from there takes what stood around it, too ("Dentist tomorrow at 09:30").
pub fn settle(arguments: &mut Value, entry: &Entry, toolbox: &Toolbox, said: &str, told: &str) {
    let Some(given) = arguments.as_object_mut() else {
        return;
    };
    let schema = entry.parameters();
    let required = |name: &str| requires(&schema, name);
    let name_in = |kind: Kind, text: &str| {
        let part = toolbox.named_in(kind, text)?;
        if let (Kind::Contact, Some(owner)) = (kind, owner(part, text)) {
            return Some(owner.to_owned());
        }
        (is_around(part, text, said, toolbox) || is_told(text, told)).then(|| part.to_owned())
    };
    repeats(given, entry, &required, &name_in);
    strays(given, said, &|word| toolbox.opens(word));
    for ((name, kind), (_, whole)) in entry.named.iter().zip(toolbox.named(entry, said)) {
        if schema["properties"][*name]["type"] == "array" {
            if let Some(Value::Array(all)) = given.get_mut(*name) {
                bare(all, *kind, &whole, toolbox, said);
            }
            continue;
        }
        let text = given.get(*name).and_then(Value::as_str).unwrap_or_default();
        if whole.contains(&text) {
            continue;
        }
        let means = match name_in(*kind, text) {
            Some(part) => Some(part),
            None if toolbox.named_in(*kind, text).is_some() => continue,
            // Another name than the one that was written is no repair, but where none was written only one can be meant.
            None if required(name) => match whole[..] {
                [only] if text.is_empty() => Some(only.to_owned()),
                _ => continue,
            },
            // A new calendar is not made by naming it, and "all" is an answer to most other questions.
            None if !matches!(kind, Kind::Calendar | Kind::ReminderList | Kind::List)
                || toolbox.touches(*kind, text)
                || calls(said, text, name)
                // What asks first asks about all of them where the list is left out.
                || (*kind == Kind::ReminderList && (entry.confirm || lists_reminders(said, text))) =>
            {
                continue;
            }
            None => None,
        };
        let time = means.as_deref().and_then(|means| time_behind(means, text));
        let time = time.filter(|_| !is_told(text, told)).map(str::to_owned);
        match means {
            Some(means) => given.insert((*name).to_owned(), means.into()),
            None => given.shift_remove(*name),
        };
        let finds = entry.times.iter().find(|(_, role)| *role == TimeRole::Find);
        if let (Some(time), Some((when, _))) = (time, finds)
            && !given.contains_key(*when)
        {
            given.insert((*when).to_owned(), time.into());
        }
    }
}

/// Takes from the names in a list what stands around them. Nothing is put into a list or out of it, and no name gets another: it
/// may say whom a mail goes to. Nor is anything cut off that tells one from another, such as which of their addresses is meant.
fn bare(all: &mut [Value], kind: Kind, whole: &[&str], toolbox: &Toolbox, said: &str) {
    for one in all {
        let Some(text) = one.as_str().filter(|text| !whole.contains(text)) else {
            continue;
        };
        let part = toolbox.named_in(kind, text).filter(|part| *part != text);
        if let Some(part) = part.filter(|part| is_filling(part, text, said, toolbox)) {
            *one = part.into();
        }
    }
}

/// Whether what stands around a name in a list says nothing: words that only hold a sentence together, and before it an "and" or the
/// verb with which the request begins.
fn is_filling(part: &str, text: &str, said: &str, toolbox: &Toolbox) -> bool {
    let Some((before, after)) = text.split_once(part) else {
        return false;
    };
    let fills = |word: &String| {
        let idle = tools::discover::words::is_stop_word(word) || ANYTHING.contains(&word.as_str());
        idle && !TELLING.contains(&word.as_str())
    };
    // "Send Nina" asks for a mail to her, and "skip Nina" at the end of it for none.
    let begins = || words(said).take(words(text).count()).eq(words(text));
    let verb = |word: &String| toolbox.opens(word) && begins();
    let first_join = words(before).next().is_some_and(|word| word == "and");
    let mut before = words(before).skip(usize::from(first_join));
    !text.contains('@')
        && before.all(|word| fills(&word) || verb(&word))
        && words(after).all(|word| fills(&word))
}

/// Takes away what says once more what another argument says: what has to be there stays, then what is a name. Where it has
/// to be a name and is none, the words may as well be meant for the other one.
fn repeats(
    given: &mut Map<String, Value>,
    entry: &Entry,
    required: &dyn Fn(&str) -> bool,
    name_in: &dyn Fn(Kind, &str) -> Option<String>,
) {
    let weight = |name: &str| match () {
        () if required(name) => 2,
        () if entry.named.iter().any(|(named, _)| *named == name) => 1,
        () => 0,
    };
    let stands = |name: &str| match entry.named.iter().find(|(named, _)| *named == name) {
        // A player is one that runs: "queen" may as well be the music.
        Some((_, kind)) if required(name) || *kind == Kind::Player => {
            let text = given.get(name).and_then(Value::as_str).unwrap_or_default();
            name_in(*kind, text).is_some()
        }
        _ => true,
    };
    let texts: Vec<(String, Vec<String>)> = given
        .iter()
        .filter_map(|(name, value)| Some((name.clone(), words(value.as_str()?).collect())))
        .filter(|(name, _)| !entry.times.iter().any(|(time, _)| time == name))
        .collect();
    let again = |(name, said): &&(String, Vec<String>)| {
        let mut others = texts.iter();
        others.any(|(other, also)| weight(other) > weight(name) && also == said && stands(other))
    };
    let gone: Vec<String> = texts.iter().filter(again).map(|(name, _)| name.clone()).collect();
    for name in gone {
        given.shift_remove(&name);
    }
}

/// Takes out of a list what led on to where it goes, word for word: "bin liners, put them on the shopping list" names one thing.
fn strays(given: &mut Map<String, Value>, said: &str, opens: &dyn Fn(&str) -> bool) {
    let names: Vec<String> = given
        .values()
        .filter_map(|value| Some(value.as_str()?.to_lowercase()))
        .collect();
    let said: Vec<String> = words(said).collect();
    for value in given.values_mut() {
        let Value::Array(all) = value else { continue };
        let lower = |one: &Value| one.as_str().unwrap_or_default().to_lowercase();
        let items: Vec<String> = all.iter().map(lower).collect();
        // Only a sentence that was taken apart has both as things of their own: who wants to "send it" has one.
        let led = said.windows(2).find(|pair| {
            opens(&pair[0]) && is_pointer(&pair[1]) && pair.iter().all(|word| items.contains(word))
        });
        let Some(led) = led else { continue };
        let strays = |one: &String| led.contains(one) || names.contains(one);
        if !items.iter().all(strays) {
            all.retain(|one| !strays(&lower(one)));
        }
    }
}

/// Whether what stands around a part of a text is no name: before it verbs that begin requests, or words that were said somewhere
/// else, and words for anything.
fn is_around(part: &str, text: &str, said: &str, toolbox: &Toolbox) -> bool {
    let Some((before, after)) = text.split_once(part) else {
        return false;
    };
    let is_stop = |word: &str| tools::discover::words::is_stop_word(word);
    // "The library books, push those": the verb stands behind the name, where nothing of the name does.
    let apart = || match said.to_lowercase().split_once(&part.to_lowercase()) {
        Some((_, behind)) => {
            words(before).all(|word| is_stop(&word) || words(behind).any(|said| said == word))
        }
        None => false,
    };
    (words(before).all(|word| is_stop(&word) || toolbox.opens(&word)) || apart())
        && (words(after).all(|word| is_stop(&word) || ANYTHING.contains(&word.as_str()))
            || time_behind(part, text).is_some())
}

/// Who has what a text is about: "Nina's mobile". Anna's mum is somebody else.
fn owner<'t>(part: &'t str, text: &str) -> Option<&'t str> {
    let owner = part
        .strip_suffix("'s")
        .or_else(|| part.strip_suffix("\u{2019}s"))?;
    let (_, behind) = text.split_once(part)?;
    let mut behind = words(behind).peekable();
    behind.peek()?;
    behind
        .all(|word| OF_PEOPLE.contains(&word.as_str()))
        .then_some(owner)
}

/// The time that stands behind a part of a text, where nothing else does: "yoga on Sunday".
fn time_behind<'t>(part: &str, text: &'t str) -> Option<&'t str> {
    let (_, after) = text.split_once(part)?;
    let [time] = &said_times(after)[..] else {
        return None;
    };
    let (before, behind) = (&after[..time.place.start], &after[time.place.end..]);
    let small = |word: String| ["at", "for", "from", "in", "of", "on", "s", "this"].contains(&word.as_str());
    (words(before).all(small) && words(behind).next().is_none()).then(|| &after[time.place.clone()])
}

/// Whether Tiro said these words before.
fn is_told(text: &str, told: &str) -> bool {
    !text.trim().is_empty() && told.to_lowercase().contains(&text.trim().to_lowercase())
}

/// Whether these words are called what the argument is: "the golf calendar", "the list of tools", "calendar called golf".
fn calls(said: &str, text: &str, argument: &str) -> bool {
    let (said, text): (Vec<String>, Vec<String>) = (words(said).collect(), words(text).collect());
    let Some(at) = said
        .windows(text.len().max(1))
        .position(|run| run == text.as_slice())
    else {
        return false;
    };
    let near = said
        .get(at + text.len())
        .into_iter()
        .chain(&said[at.saturating_sub(2)..at]);
    near.into_iter().any(|word| word == argument)
}

/// Whether these words say which reminders: "my school reminders", "the garden to do list".
fn lists_reminders(said: &str, text: &str) -> bool {
    const OF_LIST: [&[&str]; 8] = [
        &["reminder"],
        &["reminders"],
        &["task"],
        &["tasks"],
        &["todo"],
        &["todos"],
        &["to", "do"],
        &["to", "dos"],
    ];
    let (said, text): (Vec<String>, Vec<String>) = (words(said).collect(), words(text).collect());
    let mut runs = said.windows(text.len().max(1)).enumerate();
    runs.any(|(at, run)| {
        let behind = said.get(at + text.len()..).unwrap_or_default();
        let of_list = |words: &&[&str]| behind.iter().take(words.len()).eq(words.iter());
        run == text.as_slice() && OF_LIST.iter().any(of_list)
    })
}

pub(super) fn words(text: &str) -> impl Iterator<Item = String> {
    text.split(|c: char| !c.is_alphanumeric() && c != '\'')
        .filter(|word| !word.is_empty())
        .map(str::to_lowercase)
}

#[cfg(test)]
mod tests {
    use std::{borrow::Cow, sync::Arc};

    use prompts::Dialect as _;
    use serde_json::json;
    use tools::system::known::Known;

    use super::*;
    use crate::agent::grammar::{self, gbnf::Gbnf};

    fn toolbox() -> Toolbox {
        let names = [
            (Kind::Calendar, "Work"),
            (Kind::Calendar, "Family"),
            (Kind::Event, "Lunch with Anna"),
            (Kind::Event, "Dentist"),
            (Kind::Reminder, "Return the library books"),
            (Kind::Reminder, "Call the plumber"),
            (Kind::ReminderList, "Work"),
            (Kind::ReminderList, "Garden"),
            (Kind::List, "camping"),
            (Kind::List, "shopping"),
            (Kind::Note, "Paint colours"),
            (Kind::Contact, "Nina Castellano"),
            (Kind::Contact, "Tom Weber"),
            (Kind::Item, "chickpeas"),
            (Kind::Player, "Spotify"),
        ];
        Toolbox::knowing(Known::of(names, Arc::default()))
    }

    #[test]
    fn who_names_something_wants_to_see_it() {
        let toolbox = toolbox();
        for (tool, said, about) in [
            ("notes.read", "which paint colours were those", true),
            // It asks first.
            ("notes.delete", "erase my paint colours", true),
            ("notes.append", "which paint colours were those", false),
            ("files.read", "which paint colours were those", false),
            ("notes.read", "which birds can talk", false),
            ("calendar.query", "how long is the lunch with Anna", true),
        ] {
            assert_eq!(toolbox.is_about(tool, said), about, "{tool}: {said}");
        }
    }

    #[track_caller]
    fn check_of(toolbox: &Toolbox, tool: &str, said: &str, given: Value, expect: Value) {
        let mut settled = given.clone();
        let told =
            "Tomorrow you have two events: Dentist at 09:30, at Dr. Weber, and Lunch with Anna at 12:30.";
        settle(&mut settled, entry(tool), toolbox, said, told);
        assert_eq!(settled, expect, "{said:?} {given}");
    }

    fn entry(tool: &str) -> &'static Entry {
        tools::ALL.iter().find(|entry| entry.name == tool).unwrap()
    }

    #[test]
    fn names_in_lists_lose_only_what_stands_around_them() {
        let toolbox = toolbox();
        let said = "send Nina and Tom a mail that I am late";
        for (given, expect) in [
            (&["send Nina", "and Tom"][..], &["Nina", "Tom"][..]),
            (&["to Nina Castellano", "Tom please"], &["Nina Castellano", "Tom"]),
            (&["Nina", "tom"], &["Nina", "tom"]),
            // Nobody is put in, whoever was named, and nobody out.
            (&[], &[]),
            (&["Priya"], &["Priya"]),
            (&["me", "Nina"], &["me", "Nina"]),
        ] {
            for argument in ["to", "cc"] {
                let call = |all: &[&str]| json!({"text": "I am late", argument: all});
                check_of(&toolbox, "mail.send", said, call(given), call(expect));
            }
        }
        // Somebody else, another address of theirs, or not them.
        for same in [
            "Nina Smith",
            "Nina's mum",
            "Nina's work",
            "Nina at work",
            "Nina's home address",
            "nina at example dot org",
            "nina@example.org",
            "Nina <info@example.org>",
            "but Nina",
            "not Nina",
            "everybody but Nina",
            "skip Nina",
            "send Tom, not Nina",
            "me and Nina",
            "my weber",
            "Nina or me",
            "Nina on Sunday",
            "Dentist at 09:30, at Dr. Weber",
        ] {
            for tool in ["mail.send", "mail.forward", "mail.draft"] {
                let call = json!({"to": [same], "text": "I am late"});
                check_of(&toolbox, tool, said, call.clone(), call);
            }
        }
        for said in ["email Nina Castellano", "forward it to Nina Castellano"] {
            for tool in ["mail.send", "mail.forward", "mail.draft"] {
                for call in [json!({}), json!({"to": []}), json!({"to": "Nina Castellano"})] {
                    check_of(&toolbox, tool, said, call.clone(), call);
                }
            }
        }
        let said = "take chickpeas off my camping list";
        for (given, expect) in [
            ("take chickpeas", "chickpeas"),
            ("the chickpeas thing", "chickpeas"),
            ("chickpeas", "chickpeas"),
            ("black chickpeas", "black chickpeas"),
            ("all but chickpeas", "all but chickpeas"),
            ("delete chickpeas", "delete chickpeas"),
            ("all", "all"),
        ] {
            let call = |one: &str| json!({"items": [one], "list": "camping"});
            check_of(&toolbox, "lists.remove", said, call(given), call(expect));
        }
        check_of(
            &toolbox,
            "calendar.create_event",
            "lunch at noon with Nina",
            json!({"title": "lunch", "start": "noon", "people": ["with Nina", "school"]}),
            json!({"title": "lunch", "start": "noon", "people": ["Nina", "school"]}),
        );
    }

    #[test]
    fn a_player_that_runs_is_no_music() {
        let toolbox = toolbox();
        let check = |tool, said, given: Value, expect: Value| check_of(&toolbox, tool, said, given, expect);
        check(
            "media.play",
            "go on with spotify",
            json!({"query": "spotify", "player": "spotify"}),
            json!({"player": "spotify"}),
        );
        check(
            "media.next",
            "next one on spotify please",
            json!({"player": "spotify please"}),
            json!({"player": "spotify"}),
        );
        for (tool, said, call) in [
            (
                "media.play",
                "play queen",
                json!({"query": "queen", "player": "queen"}),
            ),
            (
                "media.play",
                "play queen on spotify",
                json!({"query": "queen", "player": "spotify"}),
            ),
            // What does not run is told, and nothing else is paused.
            ("media.pause", "pause winamp", json!({"player": "winamp"})),
            ("media.pause", "pause spotify", json!({})),
        ] {
            check(tool, said, call.clone(), call);
        }
    }

    #[test]
    fn a_mail_goes_to_who_was_said_or_named() {
        let toolbox = toolbox();
        let frame = prompts::dialect::hermes::Hermes.frame();
        let check = |tool: &str, said: &str, to: &str, accepted: bool| {
            let entry = entry(tool);
            let copied = grammar::copied(Cow::Owned(entry.parameters()), said, entry.worded);
            let schema = grammar::named(copied, &toolbox.named(entry, said));
            let rules = Gbnf::parse(&grammar::grammar(&frame, &[(tool, &*schema)]));
            let rest = if tool == "mail.send" {
                r#", "text": "hello""#
            } else {
                ""
            };
            let call = format!(
                "<tool_call>\n{{\"name\": \"{tool}\", \"arguments\": {{\"to\": [\"{to}\"]{rest}}}}}\n</tool_call>"
            );
            assert_eq!(rules.accepts(&call), accepted, "{tool}: {said:?} to {to:?}");
        };
        for tool in ["mail.send", "mail.forward"] {
            let said = "a mail to nina castelano and bob about tom";
            // As it was heard, and as she is called.
            check(tool, said, "nina castelano", true);
            check(tool, said, "Nina Castellano", true);
            check(tool, said, "bob", true);
            // A part of a name is that of others, too.
            check(tool, said, "Tom Weber", false);
            check(tool, said, "Nina", false);
            check(tool, said, "info@example.org", false);
            check(tool, "a mail to bob", "Nina Castellano", false);
        }
    }

    #[test]
    fn a_name_is_what_is_there() {
        let toolbox = toolbox();
        let check = |tool: &str, said: &str, given: Value, expect: Value| {
            check_of(&toolbox, tool, said, given, expect);
        };
        check(
            "calendar.update_event",
            "make my lunch with Anna last until three",
            json!({"event": "make my lunch with Anna", "title": "make my lunch with Anna", "end": "three"}),
            json!({"event": "lunch with Anna", "end": "three"}),
        );
        check(
            "reminders.update",
            "move the library books thing to Monday",
            json!({"title": "move the library books thing", "due": "Monday"}),
            json!({"title": "library books", "due": "Monday"}),
        );
        // The verb stood behind it.
        check(
            "reminders.update",
            "and the library books, push those to Monday",
            json!({"title": "Push library books", "due": "Monday"}),
            json!({"title": "library books", "due": "Monday"}),
        );
        // What somebody has is not their name.
        check(
            "contacts.search",
            "I need Nina's mobile",
            json!({"name": "Nina's mobile", "want": "phone"}),
            json!({"name": "Nina", "want": "phone"}),
        );
        check(
            "contacts.update",
            "change Nina's mum's number to 0123",
            json!({"name": "Nina's mum", "field": "phone"}),
            json!({"name": "Nina's mum", "field": "phone"}),
        );
        // Tiro's own words around it.
        check(
            "calendar.update_event",
            "move it to three",
            json!({"event": "Dentist at 09:30, at Dr. Weber", "title": "Dentist at 09:30, at Dr. Weber", "start": "three"}),
            json!({"event": "Dentist", "start": "three"}),
        );
        // The day is no part of the name, and says which one.
        check(
            "calendar.delete_event",
            "I won't make it to the dentist on Sunday, remove that",
            json!({"event": "dentist on Sunday"}),
            json!({"event": "dentist", "when": "Sunday"}),
        );
        check(
            "calendar.delete_event",
            "remove the dentist with Tom on Sunday",
            json!({"event": "dentist with Tom on Sunday"}),
            json!({"event": "dentist with Tom on Sunday"}),
        );
        check(
            "lists.add",
            "we need more bin liners put him on the shopping list",
            json!({"items": ["bin liners", "put", "him", "shopping"], "list": "shopping"}),
            json!({"items": ["bin liners"], "list": "shopping"}),
        );
        check(
            "lists.add",
            "add buy a gift wrap it and send it to my party list",
            json!({"items": ["buy a gift", "wrap it", "send it"], "list": "party"}),
            json!({"items": ["buy a gift", "wrap it", "send it"], "list": "party"}),
        );
        check(
            "lists.add",
            "add a book and put options on the shopping list",
            json!({"items": ["book", "put options"], "list": "shopping"}),
            json!({"items": ["book", "put options"], "list": "shopping"}),
        );
        // What it shall be called was written twice.
        check(
            "reminders.update",
            "the plumber reminder should say call the roofer",
            json!({"title": "call the roofer", "new_title": "call the roofer"}),
            json!({"title": "call the roofer", "new_title": "call the roofer"}),
        );
        // Another one than what is there stays another one.
        check(
            "calendar.delete_event",
            "cancel Tom's lunch with Anna Smith",
            json!({"event": "Tom's lunch with Anna Smith"}),
            json!({"event": "Tom's lunch with Anna Smith"}),
        );
        check(
            "calendar.delete_event",
            "cancel toms lunch with Anna",
            json!({"event": "Tom's lunch with Anna"}),
            json!({"event": "Tom's lunch with Anna"}),
        );
        check(
            "calendar.delete_event",
            "cancel the opera",
            json!({"event": "opera"}),
            json!({"event": "opera"}),
        );
        // Nobody makes a calendar by naming it, but one that is not there is asked about.
        check(
            "calendar.create_event",
            "meeting at the school on the 9th",
            json!({"title": "meeting", "start": "9th", "location": "school", "calendar": "school"}),
            json!({"title": "meeting", "start": "9th"}),
        );
        check(
            "calendar.create_event",
            "put golf in my work calendar",
            json!({"title": "golf", "start": "9th", "calendar": "work"}),
            json!({"title": "golf", "start": "9th", "calendar": "work"}),
        );
        check(
            "calendar.create_event",
            "put it in my golf calendar",
            json!({"title": "it", "start": "9th", "calendar": "golf"}),
            json!({"title": "it", "start": "9th", "calendar": "golf"}),
        );
        check(
            "lists.show",
            "did I write butter down for the supermarket",
            json!({"list": "supermarket"}),
            json!({}),
        );
        check(
            "lists.show",
            "what is on the garden list",
            json!({"list": "garden"}),
            json!({"list": "garden"}),
        );
        // Nor a list of reminders.
        for (said, list, kept) in [
            ("and the library books, push those to Monday", "library", None),
            (
                "put the library books on my garden list",
                "garden",
                Some("garden"),
            ),
            ("move the library books to work", "work", Some("work")),
            ("delete all my school reminders", "school", Some("school")),
            ("put the fuse on my cellar to-do list", "cellar", Some("cellar")),
            // One that is not there is told.
            (
                "move the library books to my school list",
                "school",
                Some("school"),
            ),
        ] {
            let call = |list: Option<&str>| match list {
                Some(list) => json!({"title": "library books", "list": list}),
                None => json!({"title": "library books"}),
            };
            let mut settled = call(Some(list));
            settle(&mut settled, entry("reminders.update"), &toolbox, said, "");
            let list = settled["list"].as_str().map(str::to_lowercase);
            assert_eq!(list.as_deref(), kept, "{said}");
        }
        // Where nothing was written, what was said is meant.
        check(
            "notes.delete",
            "erase my paint colours",
            json!({}),
            json!({"note": "Paint colours"}),
        );
        check("calendar.create_event", "golf", json!(["golf"]), json!(["golf"]));
    }
}
