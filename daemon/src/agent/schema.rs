//! What the schema of a tool says of its arguments.

use serde_json::Value;

/// The arguments without which a tool cannot be called.
pub fn required(schema: &Value) -> impl Iterator<Item = &str> {
    let all = schema["required"].as_array();
    all.into_iter().flatten().filter_map(Value::as_str)
}

/// Whether a tool cannot be called without this argument.
pub fn requires(schema: &Value, name: &str) -> bool {
    required(schema).any(|one| one == name)
}

/// Whether an argument is words of the person's, and not one of those that the schema names.
pub fn is_free_text(property: &Value) -> bool {
    property["type"] == "string" && !is_chosen(property)
}

/// Whether it is one of the words of the schema.
pub fn is_chosen(property: &Value) -> bool {
    property.get("enum").is_some() || property.get("const").is_some()
}
