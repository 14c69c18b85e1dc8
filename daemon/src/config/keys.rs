//! The keys of the config as data, read off the schema of `Config`: words, default, what is allowed.

use std::{fmt::Write as _, sync::LazyLock};

use schemars::generate::SchemaSettings;
use serde_json::{Map, Value, json};

use super::Config;

/// One key of the config file.
#[derive(Debug)]
pub struct Key {
    /// The part in brackets; one inside another has a dot.
    pub section: String,
    /// What the section is about.
    pub about: String,
    /// The name inside its section.
    pub name: String,
    /// What it does.
    pub words: String,
    /// Its value when the file does not say.
    pub default: Value,
    schema: Map<String, Value>,
}

/// Every key, in the order of `Config`.
pub fn keys() -> &'static [Key] {
    static KEYS: LazyLock<Vec<Key>> = LazyLock::new(collect);
    &KEYS
}

/// A config file with every key, its words and its default: what the file would say if it said everything.
pub fn reference() -> String {
    render(|key| (value(&key.default), String::new()), true)
}

/// Writes every key as a config file; `entry` gives the value and a remark for behind it.
pub(super) fn render(entry: impl Fn(&Key) -> (String, String), words: bool) -> String {
    let mut text = String::new();
    let mut section = "";
    for key in keys() {
        if key.section != section {
            let gap = if section.is_empty() { "" } else { "\n" };
            section = &key.section;
            text.push_str(gap);
            if words {
                comment(&mut text, &key.about);
            }
            let _ = writeln!(text, "[{section}]");
        }
        if words {
            comment(&mut text, &key.words);
            comment(&mut text, &format!("Allowed: {}.", key.allowed()));
            for field in key.fields() {
                comment(
                    &mut text,
                    &format!("{}: {} Allowed: {}.", field.name, field.words, field.allowed()),
                );
            }
        }
        let (value, remark) = entry(key);
        let gap = if remark.is_empty() { "" } else { "  # " };
        let _ = writeln!(text, "{} = {value}{gap}{remark}", key.name);
    }
    text
}

/// A value as TOML writes it.
pub(super) fn value(value: &Value) -> String {
    toml::Value::try_from(value).map_or_else(|_| value.to_string(), |v| v.to_string())
}

impl Key {
    /// `section.name`.
    pub fn path(&self) -> String {
        format!("{}.{}", self.section, self.name)
    }

    /// A config that says nothing but this.
    pub(super) fn alone(&self, value: Value) -> Value {
        let inside = |value, name: &str| json!({ name: value });
        self.section.rsplit('.').fold(inside(value, &self.name), inside)
    }

    /// Its value in a whole config.
    pub(super) fn of<'v>(&self, config: &'v Value) -> &'v Value {
        let section = self.section.split('.').fold(config, |value, part| &value[part]);
        &section[&self.name]
    }

    /// What the value may be, in words: "a whole number from 1 to 20".
    pub fn allowed(&self) -> String {
        if let Some(words) = self.schema.get("allowed").and_then(Value::as_str) {
            return words.to_owned();
        }
        if let Some(values) = self.schema.get("enum").and_then(Value::as_array) {
            let values: Vec<String> = values.iter().map(value).collect();
            return values.join(" or ");
        }
        let bound = |name| self.schema.get(name).map(Value::to_string);
        let range = match (bound("minimum"), bound("maximum")) {
            (Some(low), Some(high)) => format!(" from {low} to {high}"),
            _ => String::new(),
        };
        match self.kind() {
            "array" if !self.fields().is_empty() => {
                format!(
                    "tables [[{}]]{}",
                    self.path(),
                    self.at_most("maxItems", " of at most ", "")
                )
            }
            "integer" => format!("a whole number{range}"),
            "number" => format!("a number{range}"),
            "boolean" => "true or false".to_owned(),
            "array" => {
                let most = self.at_most("maxItems", " of at most ", "");
                match self
                    .schema
                    .get("items")
                    .and_then(|items| items["allowed"].as_str())
                {
                    Some(words) => format!("a list{most}, each {words}"),
                    None => format!("a list such as [\"...\"]{most}"),
                }
            }
            _ => format!(
                "a text in quotes{}",
                self.at_most("maxLength", " of at most ", " characters")
            ),
        }
    }

    /// Whether a value that has the right type is also inside the bounds. Serde checks types, not bounds.
    pub(super) fn within_bounds(&self, value: &Value) -> bool {
        let bound = |name: &str| self.schema.get(name).and_then(Value::as_f64);
        match value {
            Value::Number(number) => {
                let n = number.as_f64().unwrap_or(f64::NAN);
                bound("minimum").is_none_or(|low| low <= n) && bound("maximum").is_none_or(|high| n <= high)
            }
            Value::String(text) => bound("maxLength").is_none_or(|max| text.chars().count() as f64 <= max),
            Value::Array(items) => bound("maxItems").is_none_or(|max| items.len() as f64 <= max),
            // JSON has no NaN and no infinity: they arrive as null, and no key allows them.
            Value::Null => false,
            _ => true,
        }
    }

    /// The JSON type of its values.
    pub(super) fn kind(&self) -> &str {
        self.schema
            .get("type")
            .and_then(Value::as_str)
            .unwrap_or("string")
    }

    /// The keys of each table, for a key that takes a list of tables.
    pub fn fields(&self) -> Vec<Key> {
        let items = self.schema.get("items").unwrap_or(&Value::Null);
        let fields = items["properties"].as_object().cloned().unwrap_or_default();
        let field = |(name, field): (String, Value)| Key {
            section: self.path(),
            about: text(items, "description"),
            words: text(&field, "description"),
            default: field["default"].clone(),
            schema: field.as_object().cloned().unwrap_or_default(),
            name,
        };
        fields.into_iter().map(field).collect()
    }

    /// What an entry of its list may be, and names for it, where there are few.
    pub(super) fn entry(&self) -> Option<(&str, Vec<&str>)> {
        let items = self.schema.get("items")?;
        let names = items.get("such_as")?.as_array()?.iter().filter_map(Value::as_str);
        Some((items.get("allowed")?.as_str()?, names.collect()))
    }

    fn at_most(&self, bound: &str, before: &str, after: &str) -> String {
        self.schema
            .get(bound)
            .map_or_else(String::new, |n| format!("{before}{n}{after}"))
    }
}

fn collect() -> Vec<Key> {
    let settings = SchemaSettings::draft2020_12().with(|s| s.inline_subschemas = true);
    let schema = settings
        .into_generator()
        .into_root_schema_for::<Config>()
        .to_value();
    let mut keys = Vec::new();
    for (section, schema) in members(&schema) {
        collect_section(section, &schema, &mut keys);
    }
    keys
}

fn members(schema: &Value) -> Map<String, Value> {
    schema["properties"].as_object().cloned().unwrap_or_default()
}

/// The keys of a section, and then those of the sections inside it, as they have to stand in a file.
fn collect_section(section: String, schema: &Value, keys: &mut Vec<Key>) {
    let (inner, own): (Vec<_>, Vec<_>) = members(schema)
        .into_iter()
        .partition(|(_, key)| key["properties"].is_object());
    for (name, key) in own {
        keys.push(Key {
            section: section.clone(),
            about: text(schema, "description"),
            name,
            words: text(&key, "description"),
            default: key["default"].clone(),
            schema: key.as_object().cloned().unwrap_or_default(),
        });
    }
    for (name, schema) in inner {
        collect_section(format!("{section}.{name}"), &schema, keys);
    }
}

fn text(value: &Value, name: &str) -> String {
    value[name].as_str().unwrap_or_default().to_owned()
}

/// Words as comment lines; line breaks of the source are only breaks of the source.
fn comment(text: &mut String, words: &str) {
    let mut line = String::new();
    for word in words.split_whitespace() {
        if line.len() + word.len() > 100 {
            let _ = writeln!(text, "#{line}");
            line.clear();
        }
        line.push(' ');
        line.push_str(word);
    }
    let _ = writeln!(text, "#{line}");
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_key_has_words_a_default_and_bounds() {
        assert!(keys().len() > 30);
        let fields = keys().iter().flat_map(Key::fields).collect::<Vec<_>>();
        assert!(fields.len() >= 10, "the keys of accounts are missing");
        for key in keys().iter().chain(&fields) {
            let path = key.path();
            assert!(
                key.about.ends_with('.') && key.words.ends_with('.'),
                "{path} lacks words"
            );
            assert!(!key.default.is_null(), "{path} lacks a default");
            assert!(
                key.within_bounds(&key.default),
                "the default of {path} is out of bounds"
            );
            if matches!(key.kind(), "integer" | "number") {
                assert!(key.allowed().contains(" from "), "{path} lacks a range");
            }
            if key.kind() == "array" {
                assert!(key.allowed().contains("at most"), "{path} lacks a bound");
            }
        }
    }

    #[test]
    fn the_reference_is_a_config_that_changes_nothing() {
        let parsed: Config = toml::from_str(&reference()).unwrap();
        assert_eq!(parsed, Config::default());
    }
}
