//! Who wrote a mail that is to be read or looked for, where the person said so: a small model leaves them out ("read me the
//! school's mail"), or takes them for what it is about ("about": "IT Service message"), and another mail is read than the one that
//! was meant. Nothing is put into a call that changes anything.

use serde_json::Value;
use tools::{Effect, Entry, discover::words::is_stop_word, system::known::Kind};

use super::{ground::words, toolbox::Toolbox};

/// The argument for them.
const FROM: &str = "from";
/// Arguments for what a mail is about.
const ABOUT: [&str; 2] = ["about", "words"];
/// Arguments that say in another way which mails are meant, or that others stand in.
const OTHERS: [&str; 3] = ["folder", "to", "which"];
/// Before a name these say that the mails of others are meant, or none.
const NOT: [&str; 13] = [
    "apart",
    "aside",
    "but",
    "don",
    "except",
    "excluding",
    "instead",
    "neither",
    "never",
    "no",
    "nor",
    "not",
    "without",
];
/// What may stand between a word that leads to a name and the name.
const ARTICLES: [&str; 5] = ["a", "an", "my", "our", "the"];
/// What mail is called; "e" begins "e mail", as recognisers write it.
const MAILS: [&str; 7] = ["e", "email", "emails", "mail", "mails", "message", "messages"];
/// What may stand between an owner and their mail.
const WHICH: [&str; 8] = [
    "first", "last", "latest", "new", "newest", "other", "recent", "unread",
];

/// What leads to a name that is no writer.
const LEADS: [&str; 10] = [
    "about",
    "concerning",
    "for",
    "mentioning",
    "of",
    "on",
    "re",
    "regarding",
    "to",
    "with",
];

/// Who says these, or only such words as "mails", means no one in particular.
const ANYBODY: [&str; 13] = [
    "all",
    "any",
    "anybody",
    "anyone",
    "each",
    "else",
    "every",
    "everybody",
    "everyone",
    "of",
    "people",
    "somebody",
    "someone",
];
/// Domains of what people write.
const WRITTEN: [&str; 2] = ["mail", "messages"];

/// Puts who is said to have written into the argument for them where nobody stands in it who was said. "All my mails" are from nobody who
/// is called "all".
pub fn settle(arguments: &mut Value, entry: &Entry, schema: &Value, toolbox: &Toolbox, said: &str) {
    let reads = entry.effect == Effect::Read && is_one(&WRITTEN, entry.domain());
    let (Some(given), true) = (arguments.as_object_mut(), reads) else {
        return;
    };
    if schema["properties"].get(FROM).is_none() {
        return;
    }
    if given.get(FROM).and_then(Value::as_str).is_some_and(is_nobody) {
        given.shift_remove(FROM);
    }
    if entry.domain() != WRITTEN[0] {
        return;
    }
    let mut kinds = [Kind::Sender, Kind::Contact].into_iter();
    let Some(name) = kinds.find_map(|kind| writer(kind, toolbox, said)) else {
        return;
    };
    let (named, said): (Vec<String>, Vec<String>) = (words(name).collect(), words(said).collect());
    let text = |name: &str| given.get(name).and_then(Value::as_str).unwrap_or_default();
    // What nobody spoke of is left out later, and then it would be anybody's mail.
    let is_said =
        |name: &&str| words(text(name)).any(|word| said.contains(&word) && !is_one(&ARTICLES, &word));
    if is_said(&FROM) || OTHERS.iter().any(is_said) {
        return;
    }
    let small = |word: &String| is_stop_word(word);
    let holds = |about: &&str| words(text(about)).any(|word| named.contains(&word) && !small(&word));
    // What says more there may be what the mail is about.
    let only = |about: &&str| {
        words(text(about)).all(|word| named.contains(&word) || small(&word) || is_one(&MAILS, &word))
    };
    let holders: Vec<&str> = ABOUT.into_iter().filter(holds).collect();
    if !holders.iter().all(only) {
        return;
    }
    for about in holders {
        given.shift_remove(about);
    }
    given.insert(FROM.to_owned(), name.into());
}

/// The only one of this kind, if they are said to have written: "from Nina", "the school's last mail", "the prize office message".
fn writer<'a>(kind: Kind, toolbox: &Toolbox, said: &'a str) -> Option<&'a str> {
    let places = toolbox.stretches(kind, said).into_iter();
    let mut places = places.filter_map(|place| {
        let parts = (
            said.get(..place.start)?,
            said.get(place.clone())?,
            said.get(place.end..)?,
        );
        // Somebody is called "Daily Mail", and "mail" is said of all of it.
        Some(parts).filter(|(_, name, _)| !words(name).all(|word| is_one(&MAILS, &word)))
    });
    let (Some((before, name, behind)), None) = (places.next(), places.next()) else {
        return None;
    };
    let before: Vec<String> = words(before).collect();
    if before.iter().any(|word| is_one(&NOT, word)) {
        return None;
    }
    let led_by = before.iter().rev().find(|word| !is_one(&ARTICLES, word));
    let is_led = |by: &[&str]| led_by.is_some_and(|word| is_one(by, word));
    let mut endings = ["'s", "\u{2019}s"].iter();
    let owner = endings.find_map(|ending| name.strip_suffix(ending));
    let mut next = words(behind).peekable();
    if owner.is_some() || behind.starts_with(['\'', '\u{2019}']) {
        while next.next_if(|word| is_one(&WHICH, word)).is_some() {}
    }
    let is_mail = next.peek().is_some_and(|word| is_one(&MAILS, word));
    match is_led(&["by", "from"]) {
        // "From Nina Smith": that is another Nina.
        true if is_mail || next.peek().is_none_or(|word| is_stop_word(word)) => Some(name),
        // "The answer to Nina's mail" is not hers.
        false if is_mail && !is_led(&LEADS) => Some(owner.unwrap_or(name)),
        _ => None,
    }
}

/// Whether these words are for no one in particular.
fn is_nobody(from: &str) -> bool {
    let is_idle = |word: &str| is_one(&ARTICLES, word) || is_one(&MAILS, word);
    !from.is_empty() && words(from).all(|word| is_one(&ANYBODY, &word) || is_idle(&word))
}

fn is_one(words: &[&str], word: &str) -> bool {
    words.contains(&word)
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use serde_json::json;
    use tools::{
        discover::Doc,
        system::known::{Known, Usual},
    };

    use super::*;

    fn toolbox() -> Toolbox {
        let names = [
            (Kind::Contact, "Lena Fischer"),
            (Kind::Sender, "Harbour Studio"),
            (Kind::Sender, "Rowan Park Nursery"),
            (Kind::Sender, "Parcel Post"),
            (Kind::Sender, "Morning Digest"),
            (Kind::Sender, "AllTrails"),
            (Kind::Sender, "Daily Mail"),
            (Kind::Contact, "James Weber"),
        ];
        let docs: Vec<Doc> = tools::ALL.iter().map(Doc::from).collect();
        Toolbox::knowing(Known::of(names, Arc::new(Usual::of(&docs))))
    }

    #[test]
    fn who_was_named_as_the_sender_is_the_sender() {
        let toolbox = toolbox();
        for (tool, said, given, expect) in [
            (
                "mail.read",
                "what does the studio's mail say",
                json!({}),
                json!({"from": "studio"}),
            ),
            (
                "mail.read",
                "read the one from the rowan nursery",
                json!({"part": 1}),
                json!({"part": 1, "from": "rowan nursery"}),
            ),
            (
                "mail.read",
                "open the Harbour Studio message",
                json!({"about": "Harbour Studio message"}),
                json!({"from": "Harbour Studio"}),
            ),
            (
                "mail.read",
                "open the Harbour Studio message",
                json!({"from": "Anna", "about": ""}),
                json!({"from": "Harbour Studio", "about": ""}),
            ),
            (
                "mail.read",
                "read me the studio's mail",
                json!({"which": "the latest"}),
                json!({"which": "the latest", "from": "studio"}),
            ),
            (
                "mail.search",
                "Lena's unread messages",
                json!({"unread": true}),
                json!({"unread": true, "from": "Lena"}),
            ),
            (
                "mail.recent",
                "anything new from Harbour Studio",
                json!({}),
                json!({"from": "Harbour Studio"}),
            ),
            (
                "mail.read",
                "read the mail from James",
                json!({}),
                json!({"from": "James"}),
            ),
            (
                "mail.read",
                "read James' last mail",
                json!({}),
                json!({"from": "James"}),
            ),
            // Nobody is called so.
            (
                "mail.unread_count",
                "count all the mails I haven't read",
                json!({"from": "all"}),
                json!({}),
            ),
            (
                "mail.recent",
                "any new mail from anybody",
                json!({"from": "Anybody"}),
                json!({}),
            ),
            (
                "messages.recent",
                "did someone text me",
                json!({"from": "someone"}),
                json!({}),
            ),
            (
                "mail.read",
                "read the mail from James",
                json!({"from": "mail"}),
                json!({"from": "James"}),
            ),
            // Though somebody is called "Daily Mail".
            (
                "mail.recent",
                "all the mails",
                json!({"from": "all the mails"}),
                json!({}),
            ),
        ] {
            check(&toolbox, tool, said, &given, &expect);
        }
    }

    #[test]
    fn what_may_be_meant_otherwise_stays() {
        let toolbox = toolbox();
        for (tool, said, given) in [
            (
                "mail.read",
                "read the studio's mail",
                json!({"from": "the studio"}),
            ),
            (
                "mail.read",
                "read the mail about the studio",
                json!({"about": "studio"}),
            ),
            ("mail.read", "read the mail about the studio", json!({})),
            (
                "mail.search",
                "any email mentioning harbour studio",
                json!({"words": "harbour studio"}),
            ),
            (
                "mail.read",
                "the studio mail about my studio card",
                json!({"about": "studio card"}),
            ),
            ("mail.search", "have I sent Lena emails", json!({"to": "Lena"})),
            ("mail.search", "have I sent the answer to Lena's mail", json!({})),
            (
                "mail.search",
                "unread messages from the studio folder",
                json!({"folder": "studio", "unread": true}),
            ),
            (
                "mail.read",
                "the next mail from the studio",
                json!({"which": "next"}),
            ),
            ("mail.recent", "mails that are not from the studio", json!({})),
            ("mail.read", "is there any mail but the one from Lena", json!({})),
            ("mail.recent", "which mails came this morning", json!({})),
            (
                "mail.read",
                "read the studio's mail and the one from Parcel Post",
                json!({}),
            ),
            ("mail.read", "read Lena's mum's mail", json!({})),
            ("mail.read", "read the mail from Lena Smith", json!({})),
            ("mail.read", "read Lena's party mail", json!({})),
            ("mail.read", "read all mails", json!({})),
            (
                "mail.search",
                "all from the post",
                json!({"from": "all from the post"}),
            ),
            ("mail.read", "tell Lena that I read it", json!({})),
            // Which one is changed, or goes out, is asked.
            ("mail.archive", "archive the studio's mail", json!({})),
            (
                "mail.reply",
                "answer the studio's mail that I quit",
                json!({"text": "I quit"}),
            ),
        ] {
            check(&toolbox, tool, said, &given, &given);
        }
    }

    #[track_caller]
    fn check(toolbox: &Toolbox, tool: &str, said: &str, given: &Value, expect: &Value) {
        let mut settled = given.clone();
        let entry = tools::find(tool).unwrap();
        settle(&mut settled, entry, &entry.parameters(), toolbox, said);
        assert_eq!(settled, *expect, "{tool}: {said:?} {given}");
    }
}
