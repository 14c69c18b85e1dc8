//! Reading what a model wrote, whatever shape it took: tags, code fences, bare JSON, doubled braces, several calls,
//! words before and after. Shared by the dialects that write calls as JSON. The output is hostile until read.

use serde_json::{Map, Value};

use super::{ParseError, Parsed};

/// Bytes of output that are looked at; ten times what the longest answer needs.
pub const MAX_OUTPUT: usize = 64 * 1024;

/// Reads one output. `tag` is what the family writes before a call.
///
/// # Errors
/// When a tagged call cannot be read, or the output is too long.
pub fn output(text: &str, tag: &str) -> Result<Parsed, ParseError> {
    if text.len() > MAX_OUTPUT {
        return Err(ParseError::TooLong(text.len()));
    }
    let text = after_thinking(text).trim();
    if let Some(at) = text.find(tag) {
        let body = unfence(text[at + tag.len()..].trim_start());
        return call_in(leading_json(body)?, false).ok_or(ParseError::Shape);
    }
    Ok(untagged_call(text).unwrap_or_else(|| Parsed::Text(text.to_owned())))
}

/// Text of others with every tag of ours broken by a space, so that it can neither open nor close a structure,
/// nor become a single user-defined token. JSON stays JSON: tags stand in strings only.
pub fn defuse(text: &str, tags: &[&str]) -> String {
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(at) = rest.find('<') {
        let (before, after) = rest.split_at(at + 1);
        out.push_str(before);
        let name = after.trim_start_matches('/').as_bytes();
        if tags.iter().any(|t| {
            name.get(..t.len())
                .is_some_and(|n| n.eq_ignore_ascii_case(t.as_bytes()))
        }) {
            out.push(' ');
        }
        rest = after;
    }
    out.push_str(rest);
    out
}

/// What follows the reasoning of models that think aloud.
fn after_thinking(text: &str) -> &str {
    let text = text.trim_start();
    match text.strip_prefix("<think>") {
        Some(thoughts) => thoughts.split_once("</think>").map_or("", |(_, said)| said),
        None => text,
    }
}

/// The inside of a code fence, or the text itself.
fn unfence(text: &str) -> &str {
    match text.strip_prefix("```") {
        Some(body) => body
            .trim_start_matches(|c: char| c.is_ascii_alphanumeric() || c == '_')
            .trim_start(),
        None => text,
    }
}

/// A call without tags: the whole output, in a code fence, or the first object that has both a name and arguments.
fn untagged_call(text: &str) -> Option<Parsed> {
    let starts = text.match_indices("```").map(|(at, _)| at);
    let braces = text.match_indices('{').map(|(at, _)| at);
    // A handful of places is enough; trying all of a text full of braces would be quadratic.
    std::iter::once(0)
        .chain(starts.take(4))
        .chain(braces.take(4))
        .find_map(|at| {
            let value = leading_json(unfence(&text[at..])).ok()?;
            call_in(value, true)
        })
}

/// The JSON value at the start, whatever follows it.
fn leading_json(text: &str) -> Result<Value, ParseError> {
    let first = serde_json::Deserializer::from_str(text)
        .into_iter::<Value>()
        .next();
    match first {
        Some(Ok(value)) => Ok(value),
        // Qwen2.5-Coder's own template shows a call in doubled braces, and the model copies that.
        _ if text.starts_with("{{") => leading_json(&text[1..]),
        Some(Err(error)) => Err(ParseError::Json(error.to_string())),
        None => Err(ParseError::Json("nothing there".to_owned())),
    }
}

/// The call that a value stands for. `strict` asks for arguments too: an object that merely has a name is no call
/// unless a tag says so.
fn call_in(value: Value, strict: bool) -> Option<Parsed> {
    let mut object = match value {
        Value::Array(calls) => return calls.into_iter().next().and_then(|first| call_in(first, strict)),
        Value::Object(object) => object,
        _ => return None,
    };
    if let Some(Value::Object(inner)) = object.get_mut("function").map(Value::take) {
        object = inner;
    }
    let name = match object.get("name") {
        Some(Value::String(name)) if !name.trim().is_empty() => name.trim().to_owned(),
        _ => return None,
    };
    let found = ["arguments", "parameters", "args"]
        .iter()
        .find_map(|key| object.shift_remove(*key));
    let arguments = match found {
        Some(Value::Object(arguments)) => arguments,
        Some(Value::String(text)) => match serde_json::from_str(&text) {
            Ok(Value::Object(arguments)) => arguments,
            _ => return None,
        },
        Some(Value::Null) | None if !strict => Map::new(),
        _ => return None,
    };
    Some(Parsed::Call {
        name,
        arguments: Value::Object(arguments),
    })
}
