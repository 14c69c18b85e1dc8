//! Who wrote a mail, where the person named them: a small model leaves them out ("read me the school's mail"), or puts them where
//! something else belongs ("about": "IT Service message"), and another mail is read than the one that was meant.

use serde_json::Value;
use tools::{Entry, discover::words::is_stop_word, system::known::Kind, when::is_time};

use super::{
    checked::strings,
    ground::words,
    own::Own,
    schema::{is_free_text, requires},
    toolbox::Toolbox,
};

/// Words before a name of which it is not said that a mail came from there.
const NOT_FROM: [&str; 10] = [
    "about",
    "but",
    "concerning",
    "except",
    "for",
    "not",
    "of",
    "on",
    "to",
    "with",
];

/// Words that may stand before a name without saying anything of it.
const ARTICLES: [&str; 7] = ["a", "all", "an", "my", "our", "that", "the"];
/// What mail is called, besides the words of the tool itself; "e" begins "e mail", as recognisers write it.
const MAILS: [&str; 9] = [
    "e",
    "email",
    "emails",
    "letter",
    "letters",
    "message",
    "messages",
    "newsletter",
    "newsletters",
];
/// With which a name owns what is said next.
const OWNS: [&str; 3] = ["'s", "\u{2019}s", "'"];
/// Words that may stand between an owner and what they own.
const BETWEEN: usize = 2;

/// Puts who was named as the sender into the argument for them where it is empty, and out of one that has nothing else.
pub fn settle(arguments: &mut Value, entry: &Entry, toolbox: &Toolbox, own: &Own, said: &str) {
    let sender = entry.named.iter().find(|(_, kind)| *kind == Kind::Sender);
    let (Some((from, _)), Some(given)) = (sender, arguments.as_object_mut()) else {
        return;
    };
    if given.contains_key(*from) {
        return;
    }
    let mut kinds = [Kind::Sender, Kind::Contact].into_iter();
    let Some(named) = kinds.find_map(|kind| Named::in_words(kind, toolbox, own, said)) else {
        return;
    };
    let whole = || {
        toolbox
            .named(entry, said)
            .iter()
            .any(|(name, all)| name == from && !all.is_empty())
    };
    let schema = entry.parameters();
    let holds = |value: &Value| {
        strings(value)
            .into_iter()
            .flat_map(words)
            .any(|word| named.has(&word))
    };
    let holders: Vec<(String, bool)> = given
        .iter()
        .filter(|(_, value)| holds(value))
        .map(|(name, value)| {
            let free = is_free_text(&schema["properties"][name.as_str()]) && !requires(&schema, name);
            let mut content = strings(value).into_iter().flat_map(words);
            let only = content.all(|word| named.has(&word) || is_stop_word(&word) || is_mail(own, &word));
            (name.clone(), free && only)
        })
        .collect();
    match &holders[..] {
        [] if named.wrote => {}
        [(holder, true)] if named.wrote || whole() => {
            given.shift_remove(holder);
        }
        // The same words say something else there, such as what a mail is about.
        _ => return,
    }
    given.insert((*from).to_owned(), named.text.into());
}

/// Whether this is a word for what the tool is about.
fn is_mail(own: &Own, word: &str) -> bool {
    MAILS.contains(&word) || own.is_name(word) || own.is_asked(word)
}

/// Somebody who writes mails, as they were named.
struct Named<'a> {
    text: &'a str,
    /// Whether the person said that it is them who wrote: "from Nina", "the school's mail", "the prize office message".
    wrote: bool,
}

impl<'a> Named<'a> {
    /// The only one of this kind in these words. It is not known of people in the address book whether they write, so it has to be
    /// said.
    fn in_words(kind: Kind, toolbox: &Toolbox, own: &Own, said: &'a str) -> Option<Named<'a>> {
        let [place] = &toolbox.stretches(kind, said)[..] else {
            return None;
        };
        let (before, text) = (said.get(..place.start)?, said.get(place.clone())?);
        let before = words(before).filter(|word| !ARTICLES.contains(&word.as_str()));
        let before = before.last().unwrap_or_default();
        if is_time(text) || NOT_FROM.contains(&before.as_str()) {
            return None;
        }
        let owner = OWNS.iter().find_map(|ending| text.strip_suffix(ending));
        // Something may stand between them and what is theirs: "Nina's last message".
        let near = if owner.is_some() { BETWEEN + 1 } else { 1 };
        let mut behind = words(said.get(place.end..)?).take(near);
        let theirs = behind.any(|word| is_mail(own, &word));
        let named = Named {
            text: owner.unwrap_or(text),
            wrote: ["by", "from"].contains(&before.as_str()) || theirs,
        };
        (kind == Kind::Sender || named.wrote).then_some(named)
    }

    fn has(&self, word: &str) -> bool {
        !is_stop_word(word) && words(self.text).any(|of_name| of_name == word)
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use serde_json::json;
    use tools::{discover::Index, system::known::Known};

    use super::*;
    use crate::agent::{rules::Asked, toolbox::Loading};

    fn toolbox() -> Toolbox {
        let index = Arc::new(Index::of(tools::ALL));
        let mut toolbox = Toolbox::new(tools::ALL, index, &Loading::default());
        let names = [
            (Kind::Contact, "Lena Fischer"),
            (Kind::Sender, "Harbour Gym"),
            (Kind::Sender, "Rowan Park Nursery"),
            (Kind::Sender, "Parcel Post"),
            (Kind::Sender, "Morning Digest"),
        ];
        let asked = Asked {
            known: Arc::new(Known::of(names, Arc::default())),
            ..Asked::default()
        };
        toolbox.ask(asked, false);
        toolbox
    }

    #[test]
    fn who_was_named_as_the_sender_is_the_sender() {
        let toolbox = toolbox();
        for (tool, said, given, expect) in [
            (
                "mail.read",
                "what does the gym's mail say",
                json!({}),
                json!({"from": "gym"}),
            ),
            (
                "mail.read",
                "read the latest one from the rowan nursery",
                json!({"which": "latest"}),
                json!({"which": "latest", "from": "rowan nursery"}),
            ),
            (
                "mail.read",
                "open the Harbour Gym message",
                json!({"about": "Harbour Gym message"}),
                json!({"from": "Harbour Gym"}),
            ),
            (
                "mail.search",
                "all that Parcel Post sent",
                json!({"folder": "Parcel Post"}),
                json!({"from": "Parcel Post"}),
            ),
            (
                "mail.archive",
                "put away Lena's last mail",
                json!({"which": "last"}),
                json!({"which": "last", "from": "Lena"}),
            ),
            // What was filled in is left alone, and so is what may be meant otherwise.
            (
                "mail.read",
                "read the gym's mail",
                json!({"from": "the gym"}),
                json!({"from": "the gym"}),
            ),
            (
                "mail.read",
                "read the mail about the gym",
                json!({"about": "gym"}),
                json!({"about": "gym"}),
            ),
            ("mail.read", "read the mail about the gym", json!({}), json!({})),
            (
                "mail.read",
                "the gym mail about my gym card",
                json!({"about": "gym card"}),
                json!({"about": "gym card"}),
            ),
            (
                "mail.search",
                "search for parcel post",
                json!({"words": "parcel post"}),
                json!({"words": "parcel post"}),
            ),
            (
                "mail.search",
                "which mails went to Lena",
                json!({"to": "Lena"}),
                json!({"to": "Lena"}),
            ),
            (
                "mail.read",
                "is there any mail but that of the gym",
                json!({}),
                json!({}),
            ),
            (
                "mail.recent",
                "which mails came this morning",
                json!({}),
                json!({}),
            ),
            (
                "mail.read",
                "read the gym's mail and the one from Parcel Post",
                json!({}),
                json!({}),
            ),
            ("mail.read", "tell Lena that I read it", json!({}), json!({})),
            // Where a text goes out, the name may stand in that.
            (
                "mail.reply",
                "answer the gym's mail that I quit",
                json!({"text": "I quit"}),
                json!({"text": "I quit"}),
            ),
        ] {
            let entry = tools::find(tool).unwrap();
            let mut settled = given.clone();
            settle(
                &mut settled,
                entry,
                &toolbox,
                &Own::of(entry, &entry.parameters()),
                said,
            );
            assert_eq!(settled, expect, "{tool}: {said:?} {given}");
        }
    }
}
