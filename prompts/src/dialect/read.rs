//! Reading what a model wrote, whatever shape it took: tags, code fences, bare JSON, doubled braces, several calls,
//! words before and after. Shared by the dialects that write calls as JSON. The output is hostile until read.

use serde_json::{Map, Value};

use super::{ParseError, Parsed, loose};

/// Bytes of output that are looked at; ten times what the longest answer needs.
pub const MAX_OUTPUT: usize = 64 * 1024;

/// Reads one output. `tag` is what the family writes before a call in JSON.
///
/// # Errors
/// When a tagged call cannot be read, or the output is too long.
pub fn output(text: &str, tag: &str) -> Result<Parsed, ParseError> {
    tagged(text, tag, json)
}

/// The same for families that write more than JSON behind their tag: `call` reads what stands there.
///
/// # Errors
/// Those of `call`, or when the output is too long.
pub fn tagged(
    text: &str,
    tag: &str,
    call: impl FnOnce(&str) -> Result<Parsed, ParseError>,
) -> Result<Parsed, ParseError> {
    if text.len() > MAX_OUTPUT {
        return Err(ParseError::TooLong(text.len()));
    }
    let text = after_thinking(text).trim();
    if let Some(at) = text.find(tag) {
        return call(text[at + tag.len()..].trim_start());
    }
    if let Some(call) = untagged_call(text) {
        return Ok(call);
    }
    // Half a call must not be read out to the person.
    let body = unfence(text);
    match leading_json(body) {
        Err(error) if body.starts_with('{') && body.contains("\"name\"") => Err(error),
        _ => Ok(Parsed::Text(text.to_owned())),
    }
}

/// A call in JSON, in a code fence or not.
pub(super) fn json(body: &str) -> Result<Parsed, ParseError> {
    call_in(leading_json(unfence(body))?, false).ok_or(ParseError::Shape)
}

/// A call in JSON or in Python.
pub(super) fn json_or_python(body: &str) -> Result<Parsed, ParseError> {
    let body = unfence(body);
    match body.trim_start_matches(['[', ' ', '\n']).starts_with('{') {
        true => json(body),
        false => loose::call(body, ""),
    }
}

/// Text of others with every tag of ours broken by a space, so that it can neither open nor close a structure,
/// nor become a single user-defined token. JSON stays JSON: tags stand in strings only.
pub fn defuse(text: &str, tags: &[&str]) -> String {
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(at) = rest.find(['<', '[']) {
        let (before, after) = rest.split_at(at + 1);
        out.push_str(before);
        let name = after.trim_start_matches('/').as_bytes();
        let begins = |tag: &str| {
            let start = name.get(..tag.len());
            start.is_some_and(|start| start.eq_ignore_ascii_case(tag.as_bytes()))
        };
        let opens = |tag: &&str| match (tag.strip_prefix('['), before.ends_with('[')) {
            (Some(tag), true) => begins(tag),
            (None, false) => begins(tag),
            _ => false,
        };
        if tags.iter().any(opens) {
            out.push(' ');
        }
        rest = after;
    }
    out.push_str(rest);
    out
}

/// Text of others for servers that read control tokens wherever they stand: whatever looks like one is broken by a space,
/// since nobody says which ones their model has. `<|x|>`, `<x>`, `</x>`, `<<X>>`, `<｜x｜>`, `[X]` with a capital and `[|x|]` are
/// what the families use. `a < b`, `[cut]` and `<ada@example.org>` stay as they are.
pub fn shield(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for (at, c) in text.char_indices() {
        out.push(c);
        let rest = &text[at + c.len_utf8()..];
        let opens = match c {
            '<' => {
                rest.starts_with(['|', '｜', '<']) || tag(rest, &['>', ' ', '|', '/', '=', '\n']).is_some()
            }
            '[' => {
                rest.starts_with(['|', '~'])
                    || tag(rest, &[']']).is_some_and(|name| name.contains(|c: char| c.is_ascii_uppercase()))
            }
            // `]~b]` and `[e~[`.
            ']' => rest.starts_with('~'),
            '~' => rest.starts_with(['[', ']']),
            _ => false,
        };
        if opens {
            out.push(' ');
        }
    }
    out
}

/// The name that a text begins with, as tokens have it: a few letters, behind which one of these follows.
fn tag<'t>(rest: &'t str, ends: &[char]) -> Option<&'t str> {
    let rest = rest.strip_prefix('/').unwrap_or(rest);
    let end = rest.find(|c: char| !c.is_ascii_alphanumeric() && !"_-:.".contains(c))?;
    let name = &rest[..end];
    let fine = name.starts_with(|c: char| c.is_ascii_alphanumeric() || c == '_') && name.len() < 64;
    (fine && rest[end..].starts_with(ends)).then_some(name)
}

/// What follows the reasoning of models that think aloud, in the marks of any family.
fn after_thinking(text: &str) -> &str {
    const MARKS: [(&str, &str); 3] = [
        ("<think>", "</think>"),
        ("<|channel>", "<channel|>"),
        ("[THINK]", "[/THINK]"),
    ];
    let text = text.trim_start();
    let thought = MARKS
        .iter()
        .find_map(|(begin, end)| Some((text.strip_prefix(begin)?, end)));
    match thought {
        Some((thoughts, end)) => thoughts.split_once(end).map_or("", |(_, said)| said),
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
pub(super) fn leading_json(text: &str) -> Result<Value, ParseError> {
    let first = |text| {
        serde_json::Deserializer::from_str(text)
            .into_iter::<Value>()
            .next()
    };
    // Qwen2.5-Coder's own template shows a call in doubled braces, and the model copies that.
    let doubled = text.strip_prefix('{').filter(|rest| rest.starts_with('{'));
    match (first(text), doubled.and_then(first)) {
        (Some(Ok(value)), _) | (_, Some(Ok(value))) => Ok(value),
        (Some(Err(error)), _) => Err(ParseError::Json(error.to_string())),
        (None, _) => Err(ParseError::Json("nothing there".to_owned())),
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

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde_json::json;

    use super::*;

    #[track_caller]
    fn check(text: &str, expect: Result<(&str, Value), &str>) {
        let expect = match expect {
            Ok((name, arguments)) => Parsed::Call {
                name: name.into(),
                arguments,
            },
            Err(words) => Parsed::Text(words.into()),
        };
        assert_eq!(output(text, "<tool_call>").unwrap(), expect, "{text}");
    }

    #[track_caller]
    fn broken(text: &str) {
        assert!(output(text, "<tool_call>").is_err(), "{text}");
    }

    #[test]
    fn calls_as_models_write_them() {
        let call = || Ok(("a.b", json!({"x": 1})));
        check(
            "<tool_call>\n{\"name\": \"a.b\", \"arguments\": {\"x\": 1}}\n</tool_call>",
            call(),
        );
        check("<tool_call>{\"name\":\"a.b\",\"arguments\":{\"x\":1}}", call());
        check(
            "Sure! <tool_call>\n{\"name\": \"a.b\", \"arguments\": {\"x\": 1}}\n</tool_call> Done.",
            call(),
        );
        check(
            "<tool_call>\n{{\"name\": \"a.b\", \"arguments\": {\"x\": 1}}}\n</tool_call>",
            call(),
        );
        check(
            "<tool_call>\n```json\n{\"name\": \"a.b\", \"arguments\": {\"x\": 1}}\n```\n</tool_call>",
            call(),
        );
        check(
            "<tool_call>\n[{\"name\": \"a.b\", \"arguments\": {\"x\": 1}}, {\"name\": \"c\"}]",
            call(),
        );
        let two = "<tool_call>\n{\"name\": \"a.b\", \"arguments\": {\"x\": 1}}\n</tool_call>\n".to_owned()
            + "<tool_call>\n{\"name\": \"c.d\", \"arguments\": {}}\n</tool_call>";
        check(&two, call());
        check("{\"name\": \"a.b\", \"parameters\": {\"x\": 1}}", call());
        check(
            "```json\n{\"name\": \"a.b\", \"arguments\": {\"x\": 1}}\n```",
            call(),
        );
        check(
            "```\n{\"name\": \"a.b\", \"arguments\": \"{\\\"x\\\": 1}\"}\n```",
            call(),
        );
        check(
            "I will look: {\"name\": \"a.b\", \"arguments\": {\"x\": 1}}; done",
            call(),
        );
        let wrapped =
            "{\"type\": \"function\", \"function\": {\"name\": \"a.b\", \"arguments\": {\"x\": 1}}}";
        check(wrapped, call());
        check(
            "<think>\n{\"name\": \"no\", \"arguments\": {}}</think>\n{\"name\": \"a.b\", \"args\": {\"x\": 1}}",
            call(),
        );
        check(
            "<tool_call>{\"name\": \" clock.now \"}</tool_call>",
            Ok(("clock.now", json!({}))),
        );
    }

    #[test]
    fn words() {
        for text in [
            "It is nine.",
            "",
            "{\"answer\": 42}",
            "[1, 2]",
            "A {brace} and ```code```",
            "{\"name\": \"Bob\"}",
        ] {
            check(text, Err(text));
        }
        check("  It is nine.\n", Err("It is nine."));
        check("<think>hm</think>\n\nYes.", Err("Yes."));
        check("<think>never ends", Err(""));
        check("<|channel>thought\nhm<channel|>Yes.", Err("Yes."));
        check("[THINK]hm[/THINK]Yes.", Err("Yes."));
    }

    #[test]
    fn half_a_call_is_not_words() {
        broken("<tool_call>\n{\"name\": \"a.b\", \"arguments\": {\"x\": ");
        broken("<tool_call>\n");
        broken("<tool_call>\n{\"arguments\": {}}\n</tool_call>");
        broken("<tool_call>\n{\"name\": \"a.b\", \"arguments\": [1]}\n</tool_call>");
        broken("<tool_call>\n42");
        broken("{\"name\": \"a.b\", \"parameters\": {\"x\": \"never en");
        broken(&"x".repeat(MAX_OUTPUT + 1));
        broken(&format!("<tool_call>{}", "{".repeat(60_000)));
        broken(&format!("<tool_call>{}", "[".repeat(60_000)));
    }

    #[test]
    fn tags_of_others_are_broken() {
        let tags = ["tool_call", "untrusted"];
        for (text, expect) in [
            ("a < b", "a < b"),
            ("<tool_call>", "< tool_call>"),
            ("</Tool_Call>x</untrusted", "< /Tool_Call>x< /untrusted"),
            ("<<tool_call>", "<< tool_call>"),
            ("<//untrusted>", "< //untrusted>"),
            ("<b>bold</b> é<", "<b>bold</b> é<"),
            ("<tool_c", "<tool_c"),
            ("[<tool_call>]", "[< tool_call>]"),
        ] {
            assert_eq!(defuse(text, &tags), expect);
            assert_eq!(defuse(expect, &tags), expect, "a second time changes nothing");
        }
        let brackets = ["[TOOL_", "|tool_", "s>"];
        for (text, expect) in [
            ("[TOOL_CALLS][/tool_results]", "[ TOOL_CALLS][ /tool_results]"),
            ("[[TOOL_CALLS]]", "[[ TOOL_CALLS]]"),
            ("<TOOL_CALLS>[|tool_x] [1]", "<TOOL_CALLS>[|tool_x] [1]"),
            ("<|tool_call_start|>", "< |tool_call_start|>"),
            ("</s><b>", "< /s><b>"),
        ] {
            assert_eq!(defuse(text, &brackets), expect);
            assert_eq!(defuse(expect, &brackets), expect, "a second time changes nothing");
        }
    }

    #[test]
    fn what_looks_like_a_control_token_is_broken() {
        for (text, expect) in [
            ("a < b and c<d", "a < b and c<d"),
            ("Ada <ada@example.org>", "Ada <ada@example.org>"),
            ("<|im_start|>system", "< |im_start|>system"),
            ("</s><s>", "< /s>< s>"),
            ("<start_of_turn>user", "< start_of_turn>user"),
            ("<｜Assistant｜>", "< ｜Assistant｜>"),
            ("<<SYS>>", "< < SYS>>"),
            ("[INST] x [/INST][TOOL_CALLS]", "[ INST] x [ /INST][ TOOL_CALLS]"),
            ("[cut] [1, 2]", "[cut] [1, 2]"),
            ("[|user|][gMASK]<sop>", "[ |user|][ gMASK]< sop>"),
            ("<tool_call>{}</tool_call>", "< tool_call>{}< /tool_call>"),
            ("<function=mail.send>", "< function=mail.send>"),
            ("{\"a\": [\"<|eot_id|>\"]}", "{\"a\": [\"< |eot_id|>\"]}"),
            ("<", "<"),
            ("<é>", "<é>"),
        ] {
            assert_eq!(shield(text), expect);
            assert_eq!(shield(expect), expect, "a second time changes nothing");
        }
    }

    proptest! {
        #[test]
        fn a_shield_only_adds_blanks(text in "(<|/|>|[|]|[\\[\\]A-Za-z_ ]|.){0,60}") {
            let bare = |text: &str| text.replace(' ', "");
            let safe = shield(&text);
            prop_assert_eq!(bare(&safe), bare(&text));
            for mark in ["<|", "<<", "</s>", "<s>", "[INST]"] {
                prop_assert!(!safe.contains(mark), "{}", safe);
            }
        }

        #[test]
        fn any_output_is_read_or_refused(text in "(<tool_call>|```json|[{]{1,3}|\\[|\"name\": |\"a\"|,|[}]|</think>|<think>|.){0,40}") {
            if let Ok(Parsed::Call { name, arguments }) = output(&text, "<tool_call>") {
                prop_assert!(!name.is_empty() && arguments.is_object());
            }
        }

        #[test]
        fn what_was_called_is_read(name in "[a-z]{1,9}\\.[a-z_]{1,9}", key in any::<String>(), value in any::<String>()) {
            let arguments = json!({(key): value});
            let text = crate::spaced(&json!({"name": name, "arguments": arguments}));
            let call = Parsed::Call { name, arguments };
            prop_assert_eq!(output(&format!("<tool_call>\n{text}\n</tool_call>"), "<tool_call>").unwrap(), call.clone());
            prop_assert_eq!(output(&text, "<tool_call>").unwrap(), call);
        }
    }
}
