//! The model's own words are told only where they can be held against something.
//!
//! After a call the tool's sentence, its data and its own name are all that may be said again: every number, time, name,
//! address and content word of the answer has to stand there, those that belong together in one place, and with the same
//! "not", "will" and "if". So only function words are free, and whatever is worded otherwise costs no truth but the wording:
//! then the tool's own sentence is the answer. Words without a call are judged in `talk`. Pure, and bounded by the length of
//! what is read.

mod items;
mod talk;
#[cfg(test)]
mod tests;

use std::collections::{BTreeSet, HashSet};

use prompts::words;
use serde_json::Value;
use tools::{
    Effect, Entry,
    discover::words::{clip, is_number, is_stop_word},
};

use self::{
    items::{Item, Part, Reader, Sentence, keys},
    talk::Talk,
};
use super::{Agent, Answer, Call, Ending, Step};

/// An answer may have so many characters, or twice as many as the tool's own sentence: it is heard, and what is longer only
/// repeats.
const LONGEST: usize = 400;
/// Bytes of data and of a sentence that are looked at.
const MOST: usize = 16_384;
/// A text of so many words is read sentence by sentence; fewer are the name of something.
const NAME: usize = 8;

/// Words of an answer that say nothing by themselves. Sorted.
const NEUTRAL: &[&str] = &[
    "alright",
    "called",
    "certainly",
    "course",
    "currently",
    "following",
    "here",
    "named",
    "now",
    "ok",
    "see",
    "sure",
    "titled",
    "total",
];
/// What was done by looking, whatever the tool.
const LOOKED: &[&str] = &["check", "found", "look", "saw", "see"];
/// Stems of the kinds of things there are. What the person asked for may be called so in the answer.
pub(super) const KINDS: &[&str] = &[
    "alarm",
    "app",
    "appoint",
    "batteri",
    "birthday",
    "bluetooth",
    "bright",
    "calendar",
    "chat",
    "clipboard",
    "contact",
    "draft",
    "email",
    "entri",
    "event",
    "file",
    "folder",
    "forecast",
    "inbox",
    "invit",
    "item",
    "light",
    "list",
    "mail",
    "mailbox",
    "meet",
    "messag",
    "music",
    "note",
    "outbox",
    "playlist",
    "remind",
    "schedul",
    "screen",
    "screenshot",
    "shortcut",
    "song",
    "task",
    "temperatur",
    "text",
    "timer",
    "todo",
    "track",
    "unread",
    "volum",
    "weather",
    "wifi",
];
/// What says whose words follow. Sorted.
const QUOTING: &[&str] = &[
    "about", "ask", "by", "call", "from", "mention", "said", "say", "titl", "write", "written", "wrote",
];
/// What stands behind a verb that orders something.
const OBJECTS: &[&str] = &[
    "a", "all", "an", "every", "it", "me", "my", "that", "the", "them", "these", "this", "those", "to", "us",
    "your",
];
/// What asks something of the person.
const ASKING: &[&str] = &[
    "have", "need", "should", "must", "can", "could", "will", "would", "may", "want",
];

impl Agent {
    /// The model has words instead of a call. After a failed call they could claim what did not happen,
    /// so then the failure itself is the answer.
    pub(super) fn answered(&mut self, words: &str) -> Step {
        let words = words.trim();
        if let Some(told) = self.turn.told.take() {
            return self.could_not(told);
        }
        if words.is_empty() || self.turn.stumbled {
            return self.give_up();
        }
        if self.turn.did.is_some() {
            return match self.turn.proof.tells(words) {
                true => self.tells_done(words.to_owned()),
                false => {
                    tracing::info!("the model's words say more than what was done, so the tool answers");
                    self.give_up()
                }
            };
        }
        // Nothing was done, and the model's own words may well claim that something was: "I snoozed it", "You have no
        // events". Seen with every second request that goes on from another.
        if self.asks_back() {
            return self.reply(words::not_sure(), Ending::CouldNot);
        }
        // Talk about tools is no answer to a person: the model means a call that it could not or would not make.
        if self.toolbox.names().any(|name| words.contains(name)) {
            return self.reply(words::no_tool(), Ending::CouldNot);
        }
        if !self.talk_about().allows(words) {
            tracing::info!("the model's words claim what nobody did or looked up");
            return self.reply(words::not_sure(), Ending::CouldNot);
        }
        self.reply(words.to_owned(), Ending::Done)
    }

    /// Ends a turn in which the model gets no further: with what was done, else with what kept it from being done.
    pub(super) fn give_up(&mut self) -> Step {
        match (self.turn.did.take(), self.turn.told.take()) {
            (_, Some(told)) => self.could_not(told),
            (Some(did), None) => self.tells_done(did),
            (None, None) => self.reply(words::no_answer(), Ending::CouldNot),
        }
    }

    /// Ends a turn with words about what was done.
    fn tells_done(&mut self, text: String) -> Step {
        let remembered = self.turn.proof.remembered(&text);
        self.tells(text, remembered)
    }

    /// Keeps what came of a call, where the model may word the answer.
    pub(super) fn prove(&mut self, call: &Call, say: &str, data: &Value, untrusted: bool) {
        if self.settings.answer.unless(self.turn.reflex) == Answer::Tool {
            return;
        }
        let came = Came {
            call,
            entry: self.toolbox.find(&call.name),
            say,
            data,
            untrusted,
            asked: self.talk.said().last().copied().unwrap_or_default(),
        };
        self.turn.proof.add(&came, &|word| self.toolbox.opens(word));
    }

    /// What sentences of the model's next words may be said before all of them are there.
    pub(super) fn checks(&self) -> Check {
        if self.turn.did.is_some() {
            let proof = self.turn.proof.clone();
            return Box::new(move |words| proof.allows(words));
        }
        let talk = self.talk_about();
        Box::new(move |words| talk.allows(words))
    }

    fn talk_about(&self) -> Talk {
        Talk::of(&self.talk.said(), self.talk.context(), self.tainted())
    }
}

/// Whether whole sentences may be said.
pub(super) type Check = Box<dyn Fn(&str) -> bool + Send>;

/// What an answer may say.
#[derive(Clone, Default)]
pub(super) struct Proof {
    records: Vec<Record>,
    /// What may stand in every part: what was looked for, what the tool is called, under which heading it found things.
    common: HashSet<String>,
    /// The same, to the letter: who looks for "cancel dentist" has cancelled nothing.
    wanted: HashSet<String>,
    /// What Tiro did, as stems of verbs.
    deeds: HashSet<String>,
    /// Words of it with which requests begin.
    orders: HashSet<String>,
    /// Whether something was changed.
    changed: bool,
    /// Whether others wrote some of it.
    others: bool,
    longest: usize,
}

/// What belongs together: a part of a sentence, or what data says of one thing.
#[derive(Clone, Default)]
struct Record {
    keys: HashSet<String>,
    modes: BTreeSet<&'static str>,
    /// What of it is denied; one of these has to be named. Empty where the words themselves deny.
    denied: HashSet<String>,
}

/// What came of a call.
pub(super) struct Came<'a> {
    pub call: &'a Call,
    pub entry: Option<&'a Entry>,
    pub say: &'a str,
    pub data: &'a Value,
    pub untrusted: bool,
    /// What the person said.
    pub asked: &'a str,
}

impl Proof {
    /// Adds what came of a call. `opens` tells with which words requests begin.
    pub(super) fn add(&mut self, came: &Came<'_>, opens: &dyn Fn(&str) -> bool) {
        let reader = Reader::default();
        let effect = came.entry.map_or(Effect::Egress, |entry| entry.effect);
        self.changed |= effect != Effect::Read;
        self.others |= came.untrusted;
        self.longest = self.longest.max(LONGEST).max(came.say.chars().count() * 2);
        let said = reader.read(clip(came.say, MOST));
        // "Milk is on the list already": then nothing was added. What leaves the machine may still be on its way.
        let plain = said
            .iter()
            .flat_map(|sentence| &sentence.parts)
            .all(|part| part.modes.is_empty());
        let sure = plain && matches!(effect, Effect::Read | Effect::Write);
        let mut name = came.call.name.split(['.', '_']);
        let domain = name.next().unwrap_or_default();
        let verbs: Vec<String> = name.filter(|_| sure).map(|verb| reader.stem(verb)).collect();
        self.common.insert(reader.stem(domain));
        self.common.extend(verbs.iter().cloned());
        self.deeds.extend(verbs);
        if effect == Effect::Read {
            let wanted = strings(&came.call.arguments);
            let wanted = wanted.iter().flat_map(|text| keys_of(&reader, clip(text, MOST)));
            self.wanted
                .extend(wanted.filter(|key| key.starts_with(['=', '#', '@']) || is_clock(key)));
        }
        let asked = reader.read(clip(came.asked, MOST));
        let kinds = asked
            .iter()
            .flat_map(Sentence::words)
            .map(|word| reader.stem(word));
        self.common
            .extend(kinds.filter(|stem| KINDS.contains(&stem.as_str())));
        for (first, sentence) in said.iter().enumerate() {
            for (at, part) in sentence.parts.iter().enumerate() {
                if part.leads && part.modes.is_empty() {
                    let words = part.items.iter().filter(|item| item.word.is_some());
                    self.common
                        .extend(words.flat_map(|item| item.all.iter().cloned()));
                }
                // Behind the first sentence the words may be those of others.
                let own = at == 0 && (first == 0 || !came.untrusted);
                if own && part.words.first().is_some_and(|word| word == "i") {
                    let verb = part.items.first().and_then(|item| item.word.as_deref());
                    self.deeds.extend(verb.map(|verb| reader.stem(verb)));
                }
            }
        }
        self.tell(&said, &HashSet::new());
        let mut left = MOST;
        self.read_data(&reader, came.data, &HashSet::new(), &mut left);
        if self.others {
            let words = came.say.split(|c: char| !c.is_alphabetic()).chain(
                strings(came.data)
                    .into_iter()
                    .flat_map(|text| text.split(|c: char| !c.is_alphabetic())),
            );
            let words = words.take(MOST).map(str::to_lowercase);
            self.orders.extend(words.filter(|word| opens(word)));
        }
    }

    /// What the conversation keeps of an answer. What others wrote stands in the delimited result; repeated as Tiro's own
    /// words it would stand outside the delimiters.
    pub(super) fn remembered(&self, answer: &str) -> String {
        match self.others {
            true => words::read_out(),
            false => answer.to_owned(),
        }
    }

    /// Whether these words, all of an answer, say what came of it and nothing else.
    pub(super) fn tells(&self, words: &str) -> bool {
        let says = |sentence: &Sentence| sentence.parts.iter().any(|part| !part.items.is_empty());
        self.allows(words) && (self.changed || Reader::default().read(words).iter().any(says))
    }

    /// Whether nothing in these words is said without a reason.
    pub(super) fn allows(&self, words: &str) -> bool {
        if words.chars().count() > self.longest || words.chars().any(is_hidden) {
            return false;
        }
        let reader = Reader::default();
        let sentences = reader.read(words);
        !sentences.is_empty()
            && sentences
                .iter()
                .all(|sentence| self.allows_sentence(sentence, &reader))
    }

    fn allows_sentence(&self, sentence: &Sentence, reader: &Reader) -> bool {
        // A tool is done. Whoever asks for something now is not Tiro.
        !sentence.asks
            && sentence.words().all(|word| word != "please")
            && !(self.others && self.orders_about(sentence, reader))
            && sentence
                .parts
                .iter()
                .all(|part| is_no(part, sentence) || self.allows_part(part, reader))
    }

    /// Whether a sentence may be an order of those who wrote what was read, told as Tiro's own.
    fn orders_about(&self, sentence: &Sentence, reader: &Reader) -> bool {
        let words: Vec<&str> = sentence.words().collect();
        // "Forward this": a verb and what it is to be done with. What is called something has no such word behind it.
        let verb =
            |word: &str| !is_stop_word(word) && !is_number(word) && !self.common.contains(&reader.stem(word));
        let opens = words.first().is_some_and(|word| {
            let object = words.get(1).is_some_and(|next| OBJECTS.contains(next));
            self.orders.contains(*word) || (object && verb(word))
        });
        let asks = (1..words.len()).any(|at| {
            let has_to = words[at] != "have" || words.get(at + 1).is_some_and(|word| *word == "to");
            words[at - 1] == "you" && ASKING.contains(&words[at]) && has_to
        });
        let told = words.iter().any(|word| {
            let stem = reader.stem(word);
            let known = [&stem, &format!("={word}")]
                .into_iter()
                .any(|key| self.common.contains(key));
            known || KINDS.contains(&stem.as_str()) || QUOTING.binary_search(&stem.as_str()).is_ok()
        });
        let says = sentence.parts.iter().any(|part| !part.items.is_empty());
        opens || asks || (says && !told)
    }

    fn allows_part(&self, part: &Part, reader: &Reader) -> bool {
        let free = |item: &&Item| {
            item.word.as_deref().is_some_and(|word| {
                let stem = reader.stem(word);
                NEUTRAL.binary_search(&word).is_ok()
                    || LOOKED.contains(&stem.as_str())
                    || QUOTING.binary_search(&stem.as_str()).is_ok()
                    || (self.changed && word == "done")
            })
        };
        let mine = part
            .words
            .iter()
            .any(|word| matches!(word.as_str(), "i" | "we" | "me"));
        if mine && !self.is_deed(part, reader) {
            return false;
        }
        let items: Vec<&Item> = part.items.iter().filter(|item| !free(item)).collect();
        if items.is_empty() {
            return part.modes.is_empty();
        }
        let has = |keys: &HashSet<String>, item: &Item| item.any.iter().any(|key| keys.contains(key));
        let is_wanted = |item: &Item| {
            item.all
                .iter()
                .chain(&item.any)
                .any(|key| self.wanted.contains(key))
        };
        let overlap = |record: &Record| items.iter().filter(|item| has(&record.keys, item)).count();
        let agrees = |record: &&Record| record.modes == part.modes;
        // Where something is denied, or told under a condition, only what is found in its place is free of that.
        let turned = self.records.iter().any(|record| !record.modes.is_empty());
        let others = self.records.iter().filter(|record| !agrees(record)).map(overlap);
        let least = others
            .max()
            .unwrap_or_default()
            .max(usize::from(turned || !part.modes.is_empty()));
        self.records.iter().filter(agrees).any(|record| {
            let holds = |item: &&Item| has(&record.keys, item) || has(&self.common, item) || is_wanted(item);
            let denies = record.denied.is_empty() || items.iter().any(|item| has(&record.denied, item));
            overlap(record) >= least && denies && items.iter().all(holds)
        })
    }

    /// Whether a part in which Tiro speaks of itself says what it did.
    fn is_deed(&self, part: &Part, reader: &Reader) -> bool {
        let verb = part.items.iter().find_map(|item| item.word.as_deref());
        verb.is_some_and(|verb| {
            let stem = reader.stem(verb);
            LOOKED.contains(&stem.as_str()) || self.deeds.contains(&stem) || (self.changed && verb == "done")
        })
    }

    /// Adds the parts of sentences, each with what stands above all of them.
    fn tell(&mut self, sentences: &[Sentence], above: &HashSet<String>) {
        for part in sentences.iter().flat_map(|sentence| &sentence.parts) {
            let mut found = keys(std::slice::from_ref(part));
            found.extend(above.iter().cloned());
            self.records.push(Record {
                keys: found,
                modes: part.modes.clone(),
                ..Record::default()
            });
        }
    }

    /// Adds what data says, thing by thing. What is empty, zero or false is denied.
    fn read_data(&mut self, reader: &Reader, data: &Value, above: &HashSet<String>, left: &mut usize) {
        let mut rows: Vec<(&str, &Value)> = Vec::new();
        match data {
            Value::Object(fields) => rows.extend(fields.iter().map(|(name, value)| (name.as_str(), value))),
            Value::Array(all) => {
                for one in all {
                    match one {
                        _ if *left == 0 => return,
                        Value::Object(_) | Value::Array(_) => self.read_data(reader, one, above, left),
                        one => self.read_data(reader, &serde_json::json!({ "": one }), above, left),
                    }
                }
                return;
            }
            one => rows.push(("", one)),
        }
        let mut whole = Record {
            keys: above.clone(),
            ..Record::default()
        };
        let mut denied = Vec::new();
        for (name, value) in rows.iter().filter(|(_, value)| !value.is_object()) {
            let name = keys_of(reader, &name.replace('_', " "));
            let text: &str = match value {
                Value::String(text) if !text.is_empty() => clip(text, *left),
                Value::Number(number) if number.as_f64() != Some(0.0) => &number.to_string(),
                Value::Bool(true) => "",
                Value::Array(all) if !all.is_empty() => &all.len().to_string(),
                _ => {
                    denied.push(name);
                    continue;
                }
            };
            *left = left.saturating_sub(text.len().max(1));
            let said = reader.read(text);
            let turned = said
                .iter()
                .flat_map(|one| &one.parts)
                .any(|part| !part.modes.is_empty());
            if turned || text.split_whitespace().count() > NAME {
                self.tell(&said, &name);
                continue;
            }
            whole.keys.extend(name);
            whole.keys.extend(said.iter().flat_map(|one| keys(&one.parts)));
        }
        for name in denied {
            self.records.push(Record {
                keys: name.union(&whole.keys).cloned().collect(),
                modes: BTreeSet::from(["not"]),
                denied: name,
            });
        }
        for (name, value) in rows
            .iter()
            .filter(|(_, value)| value.is_object() || value.is_array())
        {
            let mut above = whole.keys.clone();
            above.extend(keys_of(reader, &name.replace('_', " ")));
            if *left > 0 {
                self.read_data(reader, value, &above, left);
            }
        }
        if !whole.keys.is_empty() {
            self.records.push(whole);
        }
    }
}

/// Whether it is the "no" before what denies: "No, there is nothing."
fn is_no(part: &Part, sentence: &Sentence) -> bool {
    let denies = |part: &Part| !part.items.is_empty() && part.modes.contains("not");
    part.words == ["no"] && sentence.parts.iter().any(denies)
}

/// Everything that a text says.
fn keys_of(reader: &Reader, text: &str) -> HashSet<String> {
    reader
        .read(text)
        .iter()
        .flat_map(|one| keys(&one.parts))
        .collect()
}

fn is_clock(key: &str) -> bool {
    key.strip_prefix('t')
        .is_some_and(|minutes| minutes.parse::<u32>().is_ok())
}

/// All texts in data.
pub(super) fn strings(data: &Value) -> Vec<&str> {
    match data {
        Value::String(text) => vec![text],
        Value::Array(all) => all.iter().flat_map(strings).collect(),
        Value::Object(fields) => fields.values().flat_map(strings).collect(),
        _ => Vec::new(),
    }
}

/// What nobody sees or hears and what may change how the rest is read.
fn is_hidden(c: char) -> bool {
    (c.is_control() && c != '\n')
        || matches!(c, '\u{200b}'..='\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2060}'..='\u{2069}' | '\u{feff}')
}
