//! GBNF from tool schemas: a call that names a tool that is there, with every argument it needs, or free text.
//!
//! Properties come in schema order, required ones always, optional ones in any subset. Literals are names, keys and
//! enum values only: never a description, never what somebody said. A schema that this does not understand becomes
//! any JSON value; the tool's own type still checks it.

use std::fmt::Write;

use prompts::Frame;
use serde_json::{Map, Value};

/// Nested objects with their own rules; what is deeper is any JSON.
const MAX_DEPTH: usize = 3;
/// Properties of one object that get rules; a schema with more is any JSON object.
const MAX_PROPERTIES: usize = 64;
/// Alternatives of one enum; a longer one is any string, for the tool to check.
const MAX_CHOICES: usize = 256;
/// Array lengths that are spelled out; a longer bound is left to the tool.
const MAX_ITEMS: u64 = 16;

/// Rules that every grammar carries. Numbers are bounded because a small model can get stuck on a digit; strings are
/// not, because `max_tokens` already ends those and a bound would cost a rule a character.
const COMMON: &str = r#"
string ::= "\"" char* "\""
char ::= [^"\\\x00-\x1F\x7F] | "\\" (["\\/bfnrt] | "u" hex hex hex hex)
hex ::= [0-9a-fA-F]
natural ::= "0" | [1-9] [0-9]{0,15}
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

/// The grammar of one answer: a call to one of `tools` (name and parameter schema), or words when `allow_text` is set.
/// Without tools it is words.
pub fn grammar(frame: &Frame, tools: &[(&str, &Value)], allow_text: bool) -> String {
    let mut rules = Rules::default();
    let mut choices = Vec::with_capacity(tools.len());
    for (i, (name, schema)) in tools.iter().enumerate() {
        let arguments = rules.arguments(&format!("t{i}"), schema);
        let head = format!("{}{}", json_inside(&(frame.wire_name)(name)), frame.middle);
        choices.push(rules.add(format!("t{i}"), format!("{} {arguments}", literal(&head))));
    }
    let root = match (choices.is_empty(), allow_text) {
        (true, _) => "text",
        (false, true) => "call | text",
        (false, false) => "call",
    };
    let mut out = format!("root ::= {root}\n");
    if !choices.is_empty() {
        let call = format!("{} ({}) {}", literal(frame.open), choices.join(" | "), literal(frame.close));
        let _ = writeln!(out, "call ::= {call}");
    }
    if choices.is_empty() || allow_text {
        let _ = writeln!(out, "{TEXT}");
    }
    out.push_str(&rules.text);
    out.push_str(COMMON.trim_start());
    out
}

#[derive(Default)]
struct Rules {
    text: String,
}

impl Rules {
    fn add(&mut self, name: String, body: String) -> String {
        let _ = writeln!(self.text, "{name} ::= {body}");
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
        let Some(schema_object) = schema.as_object() else { return "value".to_owned() };
        if let Some(constant) = schema_object.get("const") {
            return choice(std::slice::from_ref(constant)).unwrap_or_else(|| "value".to_owned());
        }
        if let Some(Value::Array(values)) = schema_object.get("enum") {
            return choice(values).unwrap_or_else(|| "value".to_owned());
        }
        if let Some(Value::Array(options)) = schema_object.get("anyOf").or_else(|| schema_object.get("oneOf")) {
            return self.any_of(name, options, depth);
        }
        match schema_object.get("type") {
            Some(Value::String(kind)) => self.typed(name, kind, schema, depth),
            Some(Value::Array(kinds)) if !kinds.is_empty() && kinds.len() <= 7 => {
                let options: Vec<String> = (kinds.iter().enumerate())
                    .map(|(i, kind)| match kind.as_str() {
                        Some(kind) => self.typed(&format!("{name}-{i}"), kind, schema, depth),
                        None => "value".to_owned(),
                    })
                    .collect();
                format!("({})", options.join(" | "))
            }
            _ => "value".to_owned(),
        }
    }

    fn any_of(&mut self, name: &str, options: &[Value], depth: usize) -> String {
        if options.is_empty() || options.len() > MAX_CHOICES || depth > MAX_DEPTH {
            return "value".to_owned();
        }
        let options: Vec<String> = (options.iter().enumerate())
            .map(|(i, option)| self.value(&format!("{name}-{i}"), option, depth + 1))
            .collect();
        format!("({})", options.join(" | "))
    }

    fn typed(&mut self, name: &str, kind: &str, schema: &Value, depth: usize) -> String {
        match kind {
            "string" | "boolean" | "null" => kind.to_owned(),
            "integer" | "number" => {
                let no_sign = schema.get("minimum").and_then(Value::as_f64).is_some_and(|least| least >= 0.0);
                if no_sign && kind == "integer" { "natural".to_owned() } else { kind.to_owned() }
            }
            "array" => self.array(name, schema, depth),
            "object" => match schema.get("properties").and_then(Value::as_object) {
                Some(properties) if depth < MAX_DEPTH => self.object(name, properties, schema, depth),
                _ => "object".to_owned(),
            },
            _ => "value".to_owned(),
        }
    }

    fn array(&mut self, name: &str, schema: &Value, depth: usize) -> String {
        let bound = |key| schema.get(key).and_then(Value::as_u64);
        let item = match schema.get("items") {
            Some(items) if depth < MAX_DEPTH => {
                let body = self.value(&format!("{name}-i"), items, depth + 1);
                self.add(format!("{name}-item"), body)
            }
            _ => "value".to_owned(),
        };
        let least = bound("minItems").unwrap_or(0).min(MAX_ITEMS);
        let most = bound("maxItems").filter(|most| *most <= MAX_ITEMS);
        if most == Some(0) {
            return "\"[]\"".to_owned();
        }
        let more = match most {
            Some(most) => format!("{{{},{}}}", least.saturating_sub(1), most.max(least) - 1),
            None => format!("{{{},}}", least.saturating_sub(1)),
        };
        let items = format!("{item} (\", \" {item}){more}");
        match least {
            0 => format!("\"[\" ({items})? \"]\""),
            _ => format!("\"[\" {items} \"]\""),
        }
    }

    /// Two chains of rules say which commas are due: in `<name>-<i>` nothing was written before property `i`; once
    /// something was, the rest is a plain sequence with a comma before each. Linear in the number of properties.
    fn object(&mut self, name: &str, properties: &Map<String, Value>, schema: &Value, depth: usize) -> String {
        if properties.len() > MAX_PROPERTIES {
            return "object".to_owned();
        }
        let required: Vec<&str> = match schema.get("required") {
            Some(Value::Array(names)) => names.iter().filter_map(Value::as_str).collect(),
            _ => Vec::new(),
        };
        let mut first = "\"\"".to_owned();
        let mut rest = String::new();
        for (i, (key, property)) in properties.iter().enumerate().rev() {
            let body = self.value(&format!("{name}-{i}v"), property, depth + 1);
            let key_text = Value::from(key.as_str()).to_string();
            let pair = self.add(format!("{name}-{i}p"), format!("{} {body}", literal(&format!("{key_text}: "))));
            let must = required.contains(&key.as_str());
            let after = if rest.is_empty() { String::new() } else { self.add(format!("{name}-{i}r"), rest.clone()) };
            first = match must {
                true => format!("{pair} {after}"),
                false => {
                    let without = self.add(format!("{name}-{i}n"), first);
                    format!("{pair} {after} | {without}")
                }
            };
            rest = match must {
                true => format!("\", \" {pair} {after}"),
                false => format!("(\", \" {pair})? {after}"),
            };
        }
        let body = self.add(format!("{name}-o"), first);
        format!("\"{{\" {body} \"}}\"")
    }
}

/// Alternatives of literal values; `None` when they are too many or not literals.
fn choice(values: &[Value]) -> Option<String> {
    let plain = |value: &Value| !value.is_object() && !value.is_array();
    if values.is_empty() || !values.iter().all(plain) {
        return None;
    }
    if values.len() > MAX_CHOICES {
        return values.iter().all(Value::is_string).then(|| "string".to_owned());
    }
    let literals: Vec<String> = values.iter().map(|value| literal(&value.to_string())).collect();
    Some(format!("({})", literals.join(" | ")))
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
