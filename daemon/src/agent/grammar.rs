//! GBNF from tool schemas: a call that names a tool that is there, with every argument it needs, or free text.
//!
//! Properties come in schema order, required ones always, optional ones in any subset. Literals are names, keys and
//! enum values, words that the person said, and names of their things that they said, whole and quoted: never a description.
//! A schema that this does not understand becomes any JSON value; the tool's own type still checks it.

mod said;

use std::{
    borrow::{Borrow, Cow},
    fmt::Write,
};

use prompts::Frame;
use serde_json::{Map, Value, json};

pub use said::{copied, named};

/// Nested objects with their own rules; what is deeper is any JSON.
const MAX_DEPTH: usize = 3;
/// Properties of one object that get rules; a schema with more is any JSON object.
const MAX_PROPERTIES: usize = 64;
/// Alternatives of one enum; a longer one is any string, for the tool to check.
const MAX_CHOICES: usize = 256;
/// Array lengths that are spelled out; a longer bound is left to the tool.
const MAX_ITEMS: u64 = 16;

/// Rules of one grammar; past that, arguments are any JSON. A hundred ordinary tools need about 1,500.
const MAX_RULES: usize = 6_000;
/// Bytes of one enum or property name; foreign schemas may hold anything.
const MAX_LITERAL: usize = 8 * 1024;

/// Rules that every grammar carries. Numbers are bounded because a small model can get stuck on a digit. Strings are
/// not: a bound of 400 measured no cheaper and no dearer, but would cut a dictated note short without a word.
const COMMON: &str = r#"
string ::= "\"" char* "\""
filled ::= "\"" char+ "\""
char ::= [^"\\\x00-\x1F] | "\\" (["\\/bfnrt] | "u" hex hex hex hex)
hex ::= [0-9a-fA-F]
positive ::= [1-9] [0-9]{0,15}
natural ::= "0" | positive
integer ::= "-"? natural
number ::= integer ("." [0-9]{1,15})? ([eE] [-+]? [0-9]{1,3})?
boolean ::= "true" | "false"
null ::= "null"
value ::= object | array | string | number | boolean | null
object ::= "{" (string ": " value (", " string ": " value)*)? "}"
array ::= "[" (value (", " value)*)? "]"
"#;

/// Words for the person. They cannot begin like a call in any dialect, and hold nothing that opens a tag, a fence or
/// an object later on, so that every call stands at the start and is held to its schema.
const TEXT: &str = r#"text ::= [^\x00-\x20\x7F<>{}\[\]`] [^\x00-\x09\x0B-\x1F\x7F<>{}`]*"#;

/// The grammar of one answer: a call to one of `tools` (name and parameter schema), or words.
pub fn grammar<S: Borrow<Value>>(frame: &Frame, tools: &[(&str, S)]) -> String {
    let mut rules = Rules::default();
    let mut choices = Vec::with_capacity(tools.len());
    for (i, (name, schema)) in tools.iter().enumerate() {
        let arguments = rules.arguments(&format!("t{i}"), schema.borrow());
        let head = format!("{}{}", json_inside(&(frame.wire_name)(name)), frame.middle);
        choices.push(rules.add(format!("t{i}"), &format!("{} {arguments}", literal(&head))));
    }
    let root = match choices.is_empty() {
        true => "text",
        false => "call | text",
    };
    let mut out = format!("root ::= {root}\n");
    if !choices.is_empty() {
        let call = format!(
            "{} ({}) {}",
            literal(frame.open),
            choices.join(" | "),
            literal(frame.close)
        );
        let _ = writeln!(out, "call ::= {call}");
    }
    let _ = writeln!(out, "{TEXT}");
    out.push_str(&rules.text);
    out.push_str(COMMON.trim_start());
    out
}

/// A call of one tool in two parts: how it begins, up to the arguments, and the grammar of the rest. The begin can be
/// evaluated in one go instead of token by token. A blank before the arguments goes to the rest, because models write it
/// in one token with what follows.
pub fn call(frame: &Frame, name: &str, schema: &Value) -> (String, String) {
    let head = format!(
        "{}{}{}",
        frame.open,
        json_inside(&(frame.wire_name)(name)),
        frame.middle
    );
    let begin = head.trim_end();
    let mut rules = Rules::default();
    let arguments = rules.arguments("t", schema);
    let rest = format!(
        "root ::= {} {arguments} {}\n{}{}",
        literal(&head[begin.len()..]),
        literal(frame.close),
        rules.text,
        COMMON.trim_start()
    );
    (begin.to_owned(), rest)
}

/// A schema whose `when` is this time, if it has one. Of several it may be any or all together, so the model says which.
pub fn timely<'a>(schema: &'a Value, times: &[String], required: bool) -> Cow<'a, Value> {
    if times.is_empty() || schema["properties"].get("when").is_none() {
        return Cow::Borrowed(schema);
    }
    let mut schema = schema.clone();
    if let [time] = times {
        schema["properties"]["when"] = json!({"type": "string", "enum": [time]});
    }
    if required {
        match schema.get_mut("required").and_then(Value::as_array_mut) {
            Some(all) if all.iter().any(|name| name == "when") => {}
            Some(all) => all.push("when".into()),
            None => schema["required"] = json!(["when"]),
        }
    }
    Cow::Owned(schema)
}

#[cfg(test)]
pub(in crate::agent) mod gbnf;
#[cfg(test)]
mod tests;

/// Rules under construction, and how many there are.
#[derive(Default)]
struct Rules {
    text: String,
    count: usize,
    /// Whether the rules for what was said are there; they are the same for every argument.
    said: bool,
}

impl Rules {
    fn add(&mut self, name: String, body: &str) -> String {
        let _ = writeln!(self.text, "{name} ::= {body}");
        self.count += 1;
        name
    }

    /// The arguments of a tool: always an object, whatever the schema says.
    fn arguments(&mut self, tool: &str, schema: &Value) -> String {
        match schema.get("properties").and_then(Value::as_object) {
            Some(properties) => self.object(&format!("{tool}-a"), properties, schema, 0),
            None => "object".to_owned(),
        }
    }

    /// An expression for a schema; `name` is free for rules of its own.
    fn value(&mut self, name: &str, schema: &Value, depth: usize) -> String {
        if depth > MAX_DEPTH + 1 || self.count > MAX_RULES {
            return "value".to_owned();
        }
        if let Some(constant) = schema.get("const") {
            return choice(std::slice::from_ref(constant));
        }
        if let Some(Value::Array(values)) = schema.get("enum") {
            return choice(values);
        }
        if let Some(Value::Array(options)) = schema.get("anyOf").or_else(|| schema.get("oneOf")) {
            return self.any_of(options, |rules, i, option| {
                rules.value(&format!("{name}-{i}"), option, depth + 1)
            });
        }
        match schema.get("type") {
            Some(Value::String(kind)) => self.typed(name, kind, schema, depth),
            Some(Value::Array(kinds)) => self.any_of(kinds, |rules, i, kind| {
                rules.typed(
                    &format!("{name}-{i}"),
                    kind.as_str().unwrap_or_default(),
                    schema,
                    depth,
                )
            }),
            _ => "value".to_owned(),
        }
    }

    fn any_of(
        &mut self,
        options: &[Value],
        mut one: impl FnMut(&mut Rules, usize, &Value) -> String,
    ) -> String {
        if options.is_empty() || options.len() > MAX_CHOICES {
            return "value".to_owned();
        }
        let options: Vec<String> = options
            .iter()
            .enumerate()
            .map(|(i, option)| one(self, i, option))
            .collect();
        format!("({})", options.join(" | "))
    }

    fn typed(&mut self, name: &str, kind: &str, schema: &Value, depth: usize) -> String {
        let at_least = |key, least: f64| {
            schema
                .get(key)
                .and_then(Value::as_f64)
                .is_some_and(|n| n >= least)
        };
        match kind {
            "string" if let Some(names) = schema[said::NAMES].as_array() => {
                let mut other = schema.clone();
                other[said::NAMES] = Value::Null;
                format!("({} | {})", choice(names), self.typed(name, kind, &other, depth))
            }
            "string" if schema[said::KEY].is_string() => self.said(schema),
            "string" if at_least("minLength", 1.0) => "filled".to_owned(),
            "integer" if at_least("minimum", 1.0) => "positive".to_owned(),
            "integer" if at_least("minimum", 0.0) => "natural".to_owned(),
            "string" | "integer" | "number" | "boolean" | "null" => kind.to_owned(),
            "array" => self.array(name, schema, depth),
            "object" => match schema.get("properties").and_then(Value::as_object) {
                Some(properties) if depth <= MAX_DEPTH => self.object(name, properties, schema, depth),
                _ => "object".to_owned(),
            },
            _ => "value".to_owned(),
        }
    }

    /// A stretch of what was said.
    fn said(&mut self, schema: &Value) -> String {
        if !self.said {
            self.said = true;
            let rules = said::rules(schema[said::KEY].as_str().unwrap_or_default());
            self.count += rules.lines().count();
            self.text.push_str(&rules);
        }
        "said".to_owned()
    }

    fn array(&mut self, name: &str, schema: &Value, depth: usize) -> String {
        let bound = |key| schema.get(key).and_then(Value::as_u64);
        let least = bound("minItems").unwrap_or(0).min(MAX_ITEMS);
        let most = bound("maxItems")
            .filter(|most| *most <= MAX_ITEMS)
            .map(|most| most.max(least));
        let item = match schema.get("items") {
            Some(items) if most != Some(0) => self.value(&format!("{name}-i"), items, depth + 1),
            _ => "value".to_owned(),
        };
        let more = match most {
            Some(0) => return literal("[]"),
            Some(most) => format!("{{{},{}}}", least.saturating_sub(1), most - 1),
            None => format!("{{{},}}", least.saturating_sub(1)),
        };
        let item = self.add(format!("{name}-item"), &item);
        let items = format!("{item} (\", \" {item}){more}");
        match least {
            0 => format!("\"[\" ({items})? \"]\""),
            _ => format!("\"[\" {items} \"]\""),
        }
    }

    /// Two chains of rules say which commas are due. Rule `<i>f`: the rest from property `i` on while nothing has been
    /// written yet. Rule `<i>r`: the rest once something has, each with a comma before it. Built from the last
    /// property backwards, and linear in their number.
    fn object(
        &mut self,
        name: &str,
        properties: &Map<String, Value>,
        schema: &Value,
        depth: usize,
    ) -> String {
        if properties.is_empty() {
            return literal("{}");
        }
        if properties.len() > MAX_PROPERTIES || properties.keys().any(|key| key.len() > MAX_LITERAL) {
            return "object".to_owned();
        }
        let required = schema
            .get("required")
            .and_then(Value::as_array)
            .map_or(&[][..], Vec::as_slice);
        let (mut first, mut rest) = ("\"\"".to_owned(), "\"\"".to_owned());
        for (i, (key, property)) in properties.iter().enumerate().rev() {
            let value = self.value(&format!("{name}-{i}"), property, depth + 1);
            let key_text = literal(&format!("{}: ", Value::from(key.as_str())));
            let pair = self.add(format!("{name}-{i}p"), &format!("{key_text} {value}"));
            let after = self.add(format!("{name}-{i}r"), &rest);
            if required.iter().any(|name| name.as_str() == Some(key)) {
                first = format!("{pair} {after}");
                rest = format!("\", \" {pair} {after}");
            } else {
                let without = self.add(format!("{name}-{i}f"), &first);
                first = format!("{pair} {after} | {without}");
                rest = format!("(\", \" {pair})? {after}");
            }
        }
        format!("\"{{\" ({first}) \"}}\"")
    }
}

/// Alternatives of literal values, or the nearest general rule when they are not literals or too many.
fn choice(values: &[Value]) -> String {
    let all = |test: fn(&Value) -> bool| !values.is_empty() && values.iter().all(test);
    let literals: Vec<String> = values
        .iter()
        .take(MAX_CHOICES + 1)
        .map(|v| literal(&v.to_string()))
        .collect();
    let fits =
        literals.len() <= MAX_CHOICES && literals.iter().map(String::len).sum::<usize>() <= MAX_LITERAL;
    match fits && all(|v| !v.is_object() && !v.is_array()) {
        true => format!("({})", literals.join(" | ")),
        false if all(Value::is_string) => "string".to_owned(),
        false => "value".to_owned(),
    }
}

/// A name as it stands inside a JSON string.
fn json_inside(name: &str) -> String {
    let quoted = Value::from(name).to_string();
    quoted[1..quoted.len() - 1].to_owned()
}

/// A quoted GBNF literal.
fn literal(text: &str) -> String {
    let mut out = String::with_capacity(text.len() + 2);
    out.push('"');
    for c in text.chars() {
        match c {
            '"' => out.push_str("\\\""),
            '\\' => out.push_str("\\\\"),
            '\n' => out.push_str("\\n"),
            '\r' => out.push_str("\\r"),
            '\t' => out.push_str("\\t"),
            c if (c as u32) < 0x20 || c as u32 == 0x7F => {
                let _ = write!(out, "\\x{:02X}", c as u32);
            }
            c => out.push(c),
        }
    }
    out.push('"');
    out
}
