//! Reading calls that are no JSON: `name{key:<mark>text<mark>}` and Python's `[name(key='text')]`, and everything between those
//! forms and JSON that models write. The output is hostile until read.

use serde_json::{Map, Number, Value};

use super::{ParseError, Parsed};

/// Objects and lists inside each other; no schema of ours has more than four.
const MAX_DEPTH: usize = 32;

/// The first call of a text, whatever follows it. `mark` stands on both sides of a text, besides quotes; it may be empty.
///
/// # Errors
/// When there is no name with arguments behind it, or they do not end.
pub fn call(text: &str, mark: &str) -> Result<Parsed, ParseError> {
    let text = text.trim_start_matches(['[', ' ', '\n']);
    let text = text.strip_prefix("call:").unwrap_or(text).trim_start();
    let end = text
        .find(|c: char| !c.is_alphanumeric() && !"_-./".contains(c))
        .unwrap_or(text.len());
    let (name, rest) = text.split_at(end);
    let mut reader = Reader {
        rest: rest.trim_start(),
        mark,
    };
    let close = match reader.next() {
        Some('{') => '}',
        Some('(') => ')',
        _ => return Err(ParseError::Shape),
    };
    if name.is_empty() {
        return Err(ParseError::Shape);
    }
    reader.blanks();
    let arguments = match reader.rest.starts_with('{') {
        // All arguments as one object: `name({"key": 1})`.
        true if close == ')' => reader.value(0)?,
        _ => reader.object(close, 0)?,
    };
    Ok(Parsed::Call {
        name: name.to_owned(),
        arguments,
    })
}

/// What is left of a text, and the mark around its words.
struct Reader<'t> {
    rest: &'t str,
    mark: &'t str,
}

impl<'t> Reader<'t> {
    fn value(&mut self, depth: usize) -> Result<Value, ParseError> {
        if depth > MAX_DEPTH {
            return Err(ParseError::Form("it is too deep"));
        }
        self.blanks();
        if let Some(words) = self.words()? {
            return Ok(Value::String(words));
        }
        match self.rest.chars().next() {
            Some('{') => {
                self.next();
                self.object('}', depth + 1)
            }
            Some('[') => {
                self.next();
                self.list(depth + 1)
            }
            _ => self.bare(),
        }
    }

    /// Keys and values up to `close`.
    fn object(&mut self, close: char, depth: usize) -> Result<Value, ParseError> {
        let mut object = Map::new();
        loop {
            self.commas();
            if self.took(close) {
                return Ok(Value::Object(object));
            }
            let (key, named) = match self.words()? {
                Some(key) => (key, true),
                None => {
                    let key = self.until(&[':', '=', ',', '{', '}', '(', ')', '[', ']']);
                    (key.to_owned(), !key.is_empty())
                }
            };
            self.blanks();
            if !named || !(self.took(':') || self.took('=')) {
                return Err(ParseError::Form(
                    "a name of an argument is missing, or what follows it",
                ));
            }
            let value = self.value(depth)?;
            object.insert(key, value);
        }
    }

    fn list(&mut self, depth: usize) -> Result<Value, ParseError> {
        let mut items = Vec::new();
        loop {
            self.commas();
            if self.took(']') {
                return Ok(Value::Array(items));
            }
            items.push(self.value(depth)?);
        }
    }

    /// A text between marks or quotes, if one begins here.
    fn words(&mut self) -> Result<Option<String>, ParseError> {
        if !self.mark.is_empty()
            && let Some(inside) = self.rest.strip_prefix(self.mark)
        {
            let (words, rest) = inside.split_once(self.mark).ok_or(UNENDED)?;
            self.rest = rest;
            return Ok(Some(words.to_owned()));
        }
        match self.rest.chars().next() {
            Some(quote @ ('"' | '\'')) => {
                self.next();
                self.quoted(quote).map(Some)
            }
            _ => Ok(None),
        }
    }

    /// The rest of a text in quotes. LFM2.5's own template puts quotes around texts without escaping those inside, so a quote
    /// ends a text only where something can follow.
    fn quoted(&mut self, quote: char) -> Result<String, ParseError> {
        let mut json = String::from("\"");
        let mut chars = self.rest.char_indices();
        while let Some((at, c)) = chars.next() {
            match c {
                '\\' => match chars.next() {
                    Some((_, c)) if "\"\\/bfnrtu".contains(c) => json.extend(['\\', c]),
                    Some((_, '\'')) => json.push('\''),
                    Some((_, c)) => json.extend(["\\\\", c.encode_utf8(&mut [0; 4])]),
                    None => break,
                },
                c if c == quote && ends(&self.rest[at + 1..]) => {
                    let inside = &self.rest[..at];
                    self.rest = &self.rest[at + 1..];
                    json.push('"');
                    return Ok(serde_json::from_str(&json).unwrap_or_else(|_| inside.to_owned()));
                }
                '"' => json.push_str("\\\""),
                '\n' => json.push_str("\\n"),
                '\t' => json.push_str("\\t"),
                c => json.push(c),
            }
        }
        Err(UNENDED)
    }

    /// A number, a truth, nothing, or a text that stands without quotes.
    fn bare(&mut self) -> Result<Value, ParseError> {
        let text = self.until(&[',', '}', ']', ')']);
        Ok(match text {
            "" => return Err(ParseError::Form("a value is missing")),
            "true" | "True" => true.into(),
            "false" | "False" => false.into(),
            "null" | "None" => Value::Null,
            _ => match serde_json::from_str::<Number>(text) {
                Ok(number) => Value::Number(number),
                Err(_) => text.into(),
            },
        })
    }

    /// What stands before any of these, without the blanks around it.
    fn until(&mut self, ends: &[char]) -> &'t str {
        let at = self.rest.find(ends).unwrap_or(self.rest.len());
        let (text, rest) = self.rest.split_at(at);
        self.rest = rest;
        text.trim()
    }

    fn took(&mut self, c: char) -> bool {
        let rest = self.rest.strip_prefix(c);
        self.rest = rest.unwrap_or(self.rest);
        rest.is_some()
    }

    fn next(&mut self) -> Option<char> {
        let c = self.rest.chars().next()?;
        self.rest = &self.rest[c.len_utf8()..];
        Some(c)
    }

    fn blanks(&mut self) {
        self.rest = self.rest.trim_start();
    }

    fn commas(&mut self) {
        self.rest = self
            .rest
            .trim_start_matches(|c: char| c == ',' || c.is_whitespace());
    }
}

const UNENDED: ParseError = ParseError::Form("a text does not end");

/// Whether what follows a quote is what follows a text.
fn ends(rest: &str) -> bool {
    let rest = rest.trim_start();
    rest.is_empty() || rest.starts_with([',', ':', '=', '}', ']', ')'])
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde_json::json;

    use super::*;

    #[track_caller]
    fn check(text: &str, arguments: Value) {
        let expect = Parsed::Call {
            name: "a_b".into(),
            arguments,
        };
        assert_eq!(call(text, "<q>"), Ok(expect), "{text}");
    }

    #[test]
    fn calls_as_models_write_them() {
        check(
            "call:a_b{x:<q>y, {z}<q>,n:2}<end>",
            json!({"x": "y, {z}", "n": 2}),
        );
        check("call:a_b{}", json!({}));
        check(
            "a_b{x:[<q>a<q>,<q>b\nc<q>],o:{k:true,l:null}}",
            json!({"x": ["a", "b\nc"], "o": {"k": true, "l": null}}),
        );
        check(
            "call: a_b {\"x\": \"say \\\"hi\\\", ok\", \"n\": [1, 2.5]}",
            json!({"x": "say \"hi\", ok", "n": [1, 2.5]}),
        );
        check(
            "a_b{when:half past nine,at:10:30}",
            json!({"when": "half past nine", "at": "10:30"}),
        );
        check(
            "[a_b(x='y', n=-1, t=True, f=False, z=None)]",
            json!({"x": "y", "n": -1, "t": true, "f": false, "z": null}),
        );
        check(
            "[a_b(x=\"it's\"), c(y=1)]<|tool_call_end|> I will.",
            json!({"x": "it's"}),
        );
        check(
            "a_b(x='it's, ok', y=\"a \"b\" c\")",
            json!({"x": "it's, ok", "y": "a \"b\" c"}),
        );
        check(
            "a_b(x='\\'\\u00e9\\d\\n\"', l=['p', {'k': 'v'}])",
            json!({"x": "'é\\d\n\"", "l": ["p", {"k": "v"}]}),
        );
        check("a_b(x='\\u12')", json!({"x": "\\u12"}));
        check("a_b({\"x\": 1})", json!({"x": 1}));
        check("a_b()", json!({}));
    }

    #[test]
    fn half_a_call_is_none() {
        for text in [
            "",
            "[",
            "call:",
            "{x:1}",
            "a_b",
            "a_b says hello",
            "a_b{",
            "a_b{x",
            "a_b{x:",
            "a_b{x:<q>y",
            "a_b{x:1",
            "a_b{x:}",
            "a_b{:1}",
            "a_b{x 1}",
            "a_b(x='y",
            "a_b('y')",
            "a_b(x=[1",
            "a_b(x='\\",
            "a_b({\"x\": 1",
        ] {
            assert!(call(text, "<q>").is_err(), "{text}");
        }
        for open in ["[", "{x:", "{\"", "{'x': ["] {
            let deep = format!("a_b{{x:{}", open.repeat(60_000 / open.len()));
            assert!(call(&deep, "<q>").is_err(), "{open}");
        }
    }

    fn values() -> impl Strategy<Value = Value> {
        let leaf = prop_oneof![
            any::<String>().prop_map(Value::from),
            any::<i64>().prop_map(Value::from),
            any::<bool>().prop_map(Value::from),
            Just(Value::Null),
        ];
        leaf.prop_recursive(3, 20, 4, |inner| {
            prop_oneof![
                prop::collection::vec(inner.clone(), 0..4).prop_map(Value::from),
                prop::collection::vec((any::<String>(), inner), 0..4)
                    .prop_map(|pairs| Value::Object(pairs.into_iter().collect())),
            ]
        })
    }

    proptest! {
        #[test]
        fn json_is_read_as_it_is(key in any::<String>(), value in values()) {
            let arguments = json!({key: value});
            let expect = Parsed::Call { name: "a_b".into(), arguments: arguments.clone() };
            prop_assert_eq!(call(&format!("a_b{arguments}"), "<q>"), Ok(expect.clone()));
            prop_assert_eq!(call(&format!("[a_b({})]", crate::spaced(&arguments)), ""), Ok(expect));
        }

        #[test]
        fn any_output_is_read_or_refused(text in "(call:|a_b|<q>|[(){}\\[\\],:='\"\\\\]|.){0,40}") {
            for mark in ["", "<q>"] {
                if let Ok(Parsed::Call { name, arguments }) = call(&text, mark) {
                    prop_assert!(!name.is_empty() && arguments.is_object());
                }
            }
        }
    }
}
