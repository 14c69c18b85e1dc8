//! Arguments in the person's own words: a grammar of every stretch of what was said.
//!
//! A small model that may write any text for an argument writes an example from the schema, or the time of day from the
//! prompt. One that can only repeat what it heard cannot. What was said goes into the grammar as quoted literals of whole
//! words, so nothing in it can become a rule.

use std::{borrow::Cow, fmt::Write as _, ops::Range};

use serde_json::Value;

use super::{json_inside, literal};
use crate::agent::schema::required;

/// The key that says what an argument is a stretch of; no schema that a model sees has it.
pub(super) const KEY: &str = "x-said";
/// The key that says which names an argument may be as well.
pub(super) const NAMES: &str = "x-names";
/// More words than anybody says in one breath; a longer text is dictated, and its stretches would be too many.
const MAX_WORDS: usize = 64;

/// The schema whose required texts, alone or in lists, are stretches of `said`, except those that the model may word
/// by itself.
pub fn copied<'a>(schema: Cow<'a, Value>, said: &str, worded: &[&str]) -> Cow<'a, Value> {
    if words(said).is_empty() {
        return schema;
    }
    let copied: Vec<String> = required(&schema)
        .filter(|name| !worded.contains(name) && text(&schema["properties"][*name]).is_some())
        .map(str::to_owned)
        .collect();
    if copied.is_empty() {
        return schema;
    }
    let mut schema = schema.into_owned();
    for name in copied {
        one_of(&mut schema["properties"][name.as_str()])[KEY] = Value::from(said);
    }
    Cow::Owned(schema)
}

/// The schema whose arguments, or what lists of them hold, may be one of the names that were said, too, written as the things
/// are called that are there.
/// Nothing is left to these names alone: not every name is known, and somebody else may have given one.
pub fn named<'a>(schema: Cow<'a, Value>, names: &[(&str, Vec<&str>)]) -> Cow<'a, Value> {
    let fits =
        |(name, all): &&(&str, Vec<&str>)| !all.is_empty() && text(&schema["properties"][*name]).is_some();
    let names: Vec<_> = names.iter().filter(fits).collect();
    if names.is_empty() {
        return schema;
    }
    let mut schema = schema.into_owned();
    for (name, all) in names {
        one_of(&mut schema["properties"][*name])[NAMES] = Value::from(all.clone());
    }
    Cow::Owned(schema)
}

/// The schema of an argument, or of what a list of them holds.
fn one_of(property: &mut Value) -> &mut Value {
    match property["type"] == "array" {
        true => &mut property["items"],
        false => property,
    }
}

/// The schema of the text that an argument is or holds a list of; `None` when it is not free text.
fn text(property: &Value) -> Option<&Value> {
    let one = match property["type"] == "array" {
        true => &property["items"],
        false => property,
    };
    let free = one["type"] == "string" && one.get("enum").is_none() && one.get("const").is_none();
    free.then_some(one)
}

/// The rules for a stretch of `said`, the first of which is `said`. Rule `w<i>`: word `i`, alone or with what follows.
pub(super) fn rules(said: &str) -> String {
    let words = words(said);
    let starts: Vec<String> = (0..words.len()).map(|i| format!("w{i}")).collect();
    let mut rules = format!("said ::= \"\\\"\" ({}) \"\\\"\"\n", starts.join(" | "));
    let quoted = |range: Range<usize>| literal(&json_inside(said.get(range).unwrap_or_default()));
    for (i, word) in words.iter().enumerate() {
        let core = quoted(word.clone());
        let _ = match words.get(i + 1) {
            Some(next) => {
                let between = quoted(word.end..next.start);
                writeln!(rules, "w{i} ::= {core} ({between} w{})?", i + 1)
            }
            None => writeln!(rules, "w{i} ::= {core}"),
        };
    }
    rules
}

/// Where the words are, without the punctuation around them, which belongs to a stretch only within it; none when there
/// are too many.
fn words(said: &str) -> Vec<Range<usize>> {
    let mut words: Vec<Range<usize>> = Vec::new();
    let mut at = 0;
    for word in said.split_inclusive(char::is_whitespace) {
        let core = word.trim_matches(|c: char| !c.is_alphanumeric());
        if let Some(start) = word.find(core).filter(|_| !core.is_empty()) {
            words.push(at + start..at + start + core.len());
        }
        at += word.len();
    }
    match words.len() > MAX_WORDS {
        true => Vec::new(),
        false => words,
    }
}
