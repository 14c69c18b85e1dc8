//! What a pattern looks like and what it stands for.
//!
//! `word`, `[maybe these words]`, `(this|that way)`, `{argument}` for an argument whose type the schema says,
//! `{argument:kind}` for a text of a kind that can be checked, `{argument:one|two words}` for one of a few; after `->`
//! the arguments that the words imply: `turn it up -> direction=up`. A pattern is read as every way to say it.

use std::collections::BTreeSet;

use serde_json::{Map, Value};

use super::slots::Kind;

/// A pattern that can be said in more ways than this is several patterns, or a mistake.
const MAX_READINGS: usize = 400;
/// Deepest nesting of brackets.
const MAX_DEPTH: usize = 8;

/// One way to say a pattern.
#[derive(Debug, Clone, PartialEq)]
pub struct Reading {
    /// `domain.verb`.
    pub tool: &'static str,
    /// The words and slots, in order; never empty.
    pub parts: Vec<Part>,
    /// The arguments that the words imply.
    pub fixed: Map<String, Value>,
}

/// A piece of a reading.
#[derive(Debug, Clone, PartialEq)]
pub enum Part {
    /// This word.
    Word(String),
    /// A value.
    Slot {
        /// The argument.
        name: String,
        /// What may stand here.
        kind: Kind,
    },
}

/// Why a pattern is of no use.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct PatternError(String);

fn no<T>(why: impl Into<String>) -> Result<T, PatternError> {
    Err(PatternError(why.into()))
}

/// Every way to say a pattern of a tool with this schema.
///
/// # Errors
/// When it cannot be read, names no argument of the tool, leaves out one that is required, has a slot whose value
/// nothing can check, or can be said in too many ways.
pub fn readings(tool: &'static str, pattern: &str, schema: &Value) -> Result<Vec<Reading>, PatternError> {
    let (said, implied) = match pattern.split_once("->") {
        Some((said, implied)) => (said, Some(implied)),
        None => (pattern, None),
    };
    let mut fixed = Map::new();
    for pair in implied.into_iter().flat_map(|implied| implied.split(',')) {
        let Some((name, value)) = pair.split_once('=') else {
            return no(format!("{pair:?} is not written as argument=value"));
        };
        let (name, value) = (name.trim(), value.trim());
        let Some(value) = constant(value, &schema["properties"][name]) else {
            return no(format!("{value:?} is no value of {name}"));
        };
        if fixed.insert(name.to_owned(), value).is_some() {
            return no(format!("{name} is given twice"));
        }
    }
    let tokens = tokens(said);
    let mut at = 0;
    let ways = either(&tokens, &mut at, schema, 0)?;
    if at < tokens.len() {
        return no(format!("{:?} closes nothing", tokens[at]));
    }
    let mut readings: Vec<Reading> = Vec::new();
    for parts in ways {
        check(&parts, &fixed, schema)?;
        let reading = Reading {
            tool,
            parts,
            fixed: fixed.clone(),
        };
        if !readings.contains(&reading) {
            readings.push(reading);
        }
    }
    Ok(readings)
}

/// Whether a way to say it is a call.
fn check(parts: &[Part], fixed: &Map<String, Value>, schema: &Value) -> Result<(), PatternError> {
    let mut given: BTreeSet<&str> = fixed.keys().map(String::as_str).collect();
    for part in parts {
        if let Part::Slot { name, .. } = part
            && !given.insert(name)
        {
            return no(format!("{name} is given twice"));
        }
    }
    if !parts.iter().any(|part| matches!(part, Part::Word(_))) {
        return no("a value alone is no request");
    }
    let required = schema["required"].as_array().into_iter().flatten();
    match required
        .filter_map(Value::as_str)
        .find(|name| !given.contains(name))
    {
        Some(missing) => no(format!("{missing} is required and not given")),
        None => Ok(()),
    }
}

/// A value as it is written after `->`.
fn constant(text: &str, property: &Value) -> Option<Value> {
    match property["type"].as_str()? {
        "boolean" => text.parse().ok().map(Value::Bool),
        "integer" => text.parse::<u32>().ok().map(Value::from),
        "string" => {
            let allowed = property["enum"].as_array();
            let fits = allowed.is_none_or(|allowed| allowed.iter().any(|value| value == text));
            (fits && !text.is_empty()).then(|| Value::from(text))
        }
        _ => None,
    }
}

/// The words that a pattern takes for the same as one of these: `(calendar|agenda)` is a calendar by two names.
pub fn synonyms(pattern: &str, is_one: impl Fn(&str) -> bool) -> Vec<String> {
    let (mut found, mut groups) = (Vec::new(), Vec::<Vec<Vec<String>>>::new());
    for token in tokens(pattern) {
        match token.as_str() {
            "(" | "[" => {
                // What holds a group is more than a word.
                add(&mut groups, token.clone());
                groups.push(vec![Vec::new()]);
            }
            ")" | "]" => {
                let group = groups.pop().unwrap_or_default();
                let words = group
                    .into_iter()
                    .filter_map(|all| <[String; 1]>::try_from(all).ok());
                let words: Vec<String> = words.flatten().collect();
                if words.iter().any(|word| is_one(word)) {
                    found.extend(words);
                }
            }
            "|" => {
                if let Some(group) = groups.last_mut() {
                    group.push(Vec::new());
                }
            }
            _ => add(&mut groups, token),
        }
    }
    found
}

/// Adds a token to what is said one way.
fn add(groups: &mut [Vec<Vec<String>>], token: String) {
    if let Some(way) = groups.last_mut().and_then(|group| group.last_mut()) {
        way.push(token);
    }
}

/// Words and signs; a slot is one token with its braces.
fn tokens(text: &str) -> Vec<String> {
    let mut tokens: Vec<String> = Vec::new();
    let (mut word, mut slot) = (String::new(), false);
    for c in text.chars() {
        let ends = match c {
            '}' => {
                slot = false;
                word.push(c);
                true
            }
            _ if slot => {
                word.push(c);
                false
            }
            c if c.is_whitespace() || "[]()|{".contains(c) => true,
            c => {
                word.push(c);
                false
            }
        };
        if ends && !word.is_empty() {
            tokens.push(std::mem::take(&mut word));
        }
        match c {
            '{' if !slot => {
                slot = true;
                word.push(c);
            }
            '[' | ']' | '(' | ')' | '|' if !slot => tokens.push(c.to_string()),
            _ => {}
        }
    }
    if !word.is_empty() {
        tokens.push(word);
    }
    tokens
}

type Ways = Vec<Vec<Part>>;

/// One or another, up to a bracket that closes.
fn either(tokens: &[String], at: &mut usize, schema: &Value, depth: usize) -> Result<Ways, PatternError> {
    if depth > MAX_DEPTH {
        return no("its brackets are nested too deeply");
    }
    let mut all = one_after_another(tokens, at, schema, depth)?;
    while tokens.get(*at).is_some_and(|token| token == "|") {
        *at += 1;
        all.extend(one_after_another(tokens, at, schema, depth)?);
    }
    Ok(all)
}

fn one_after_another(
    tokens: &[String],
    at: &mut usize,
    schema: &Value,
    depth: usize,
) -> Result<Ways, PatternError> {
    let mut ways: Ways = vec![Vec::new()];
    while let Some(token) = tokens.get(*at) {
        let next: Ways = match token.as_str() {
            "|" | ")" | "]" => break,
            "(" | "[" => {
                *at += 1;
                let mut inner = either(tokens, at, schema, depth + 1)?;
                let close = if token == "(" { ")" } else { "]" };
                if tokens.get(*at).is_none_or(|end| end != close) {
                    return no(format!("{token:?} is not closed"));
                }
                if token == "[" {
                    inner.push(Vec::new());
                }
                inner
            }
            token => vec![vec![part(token, schema)?]],
        };
        *at += 1;
        if ways.len() * next.len() > MAX_READINGS {
            return no(format!("it can be said in more than {MAX_READINGS} ways"));
        }
        let longer = |way: &Vec<Part>| {
            let way = way.clone();
            next.iter().map(move |more| [way.clone(), more.clone()].concat())
        };
        ways = ways.iter().flat_map(longer).collect();
    }
    Ok(ways)
}

fn part(token: &str, schema: &Value) -> Result<Part, PatternError> {
    let Some(slot) = token.strip_prefix('{') else {
        let plain = |c: char| c.is_lowercase() || c.is_ascii_digit() || c == '\'';
        return match token.chars().all(plain) {
            true => Ok(Part::Word(token.to_owned())),
            false => no(format!(
                "{token:?} is never said so: write it in lower case, without signs"
            )),
        };
    };
    let Some(slot) = slot.strip_suffix('}') else {
        return no(format!("{token:?} is not closed"));
    };
    let (name, kind) = match slot.split_once(':') {
        Some((name, kind)) => (name, Some(kind)),
        None => (slot, None),
    };
    let property = &schema["properties"][name];
    if property.is_null() {
        return no(format!("there is no argument {name:?}"));
    }
    match Kind::of(property, kind) {
        Some(kind) => Ok(Part::Slot {
            name: name.to_owned(),
            kind,
        }),
        None => no(format!("nothing can check what stands in {token}")),
    }
}
