//! What holds for every tool of the catalogue, checked over the whole of it.

use std::{collections::BTreeSet, fs, path::Path, process::Command};

use serde_json::Value;

use crate::{ALL, Effect, LoadPolicy, ToolError, system::known::Kind};

/// Names that DESIGN section 2 puts into the prompt from the start.
const CORE: &[&str] = &[
    "calendar.query",
    "contacts.search",
    "mail.recent",
    "reminders.list",
    "system.open_app",
    "tools.discover",
];

#[test]
fn names_are_the_file_names_and_unique() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("src/catalog");
    let mut stems: Vec<String> = fs::read_dir(folder)
        .unwrap()
        .map(|e| {
            e.unwrap()
                .path()
                .file_stem()
                .unwrap()
                .to_str()
                .unwrap()
                .to_owned()
        })
        .collect();
    stems.sort();
    let names: Vec<String> = ALL.iter().map(|e| e.name.to_owned()).collect();
    // Only the first underscore separates domain and verb: system_open_app is system.open_app.
    let expect: Vec<String> = stems.iter().map(|s| s.replacen('_', ".", 1)).collect();
    assert_eq!(names, expect);
    assert_eq!(names.iter().collect::<BTreeSet<_>>().len(), names.len());
    for name in names {
        assert!(
            name.chars()
                .all(|c| c.is_ascii_lowercase() || c == '.' || c == '_'),
            "{name}"
        );
    }
}

#[test]
fn words_are_short_plain_and_enough() {
    for tool in ALL {
        let name = tool.name;
        assert!(
            (10..=80).contains(&tool.summary.chars().count()),
            "{name}: {}",
            tool.summary
        );
        assert!(!tool.summary.ends_with('.'), "{name}: a summary is no sentence");
        assert!(
            tool.summary.starts_with(char::is_uppercase),
            "{name}: {}",
            tool.summary
        );
        assert!(tool.examples.len() >= 3, "{name}: too few examples");
        assert_eq!(
            tool.examples.iter().collect::<BTreeSet<_>>().len(),
            tool.examples.len(),
            "{name}"
        );
        for sentence in [tool.use_when, tool.limits].into_iter().filter(|s| !s.is_empty()) {
            assert!(
                sentence.ends_with('.') && sentence.len() <= 160,
                "{name}: {sentence}"
            );
        }
        assert!(!tool.timeout.is_zero(), "{name}");
    }
}

/// What is no text cannot be a name, and a name of what is chosen from a schema would be a second way to write it.
#[test]
fn names_are_free_texts_or_lists_of_them() {
    for tool in ALL {
        let schema = tool.parameters();
        for (argument, kind) in tool.named {
            let property = &schema["properties"][*argument];
            let one = if property["type"] == "array" {
                &property["items"]
            } else {
                property
            };
            let is_free = one["type"] == "string" && one["enum"].is_null() && one["const"].is_null();
            assert!(is_free, "{}: {argument} as {kind:?}: {property}", tool.name);
        }
    }
    let players = ALL
        .iter()
        .filter(|tool| tool.parameters()["properties"]["player"].is_object());
    for tool in players {
        assert!(tool.named.contains(&("player", Kind::Player)), "{}", tool.name);
    }
}

/// Texts of a value.
fn texts(value: &Value) -> Vec<&str> {
    match value {
        Value::String(text) => vec![text],
        Value::Array(all) => all.iter().flat_map(texts).collect(),
        Value::Object(all) => all.values().flat_map(texts).collect(),
        _ => Vec::new(),
    }
}

/// The words of a text between blanks, so that a part of a word is none; an 's and a comma are no part of it.
fn words(text: &str) -> String {
    let plain = text.replace("'s", "").replace([',', ':', '?', '.'], " ");
    format!(" {} ", plain.split_whitespace().collect::<Vec<_>>().join(" "))
}

#[test]
fn calls_to_go_by_fit_and_hold_what_was_said() {
    let root = tempfile::tempdir().unwrap();
    let ctx = crate::testing::ctx(root.path());
    for tool in ALL.iter().filter(|tool| tool.name != "tools.discover") {
        let name = tool.name;
        let schema = tool.parameters();
        let takes_some = schema["properties"]
            .as_object()
            .is_some_and(|all| !all.is_empty());
        assert_eq!(tool.calls.is_empty(), !takes_some, "{name}: calls to go by");
        for (said, arguments) in tool.calls {
            let arguments: Value = serde_json::from_str(arguments).unwrap();
            let fits = tool.preview(arguments.clone(), &ctx);
            assert!(
                !matches!(fits, Err(ToolError::Misfit(_))),
                "{name}: {said}: {fits:?}"
            );
            for (key, value) in arguments.as_object().unwrap() {
                if schema["properties"][key]["enum"].is_array() {
                    continue;
                }
                for text in texts(value) {
                    assert!(
                        words(said).contains(&words(text)),
                        "{name}: {said}: {key}: {text}"
                    );
                }
            }
        }
    }
}

#[test]
fn effects_and_consent_agree() {
    for tool in ALL {
        if matches!(tool.effect, Effect::Irreversible | Effect::Egress) {
            assert!(tool.confirm, "{}: what cannot be undone asks first", tool.name);
        }
        if tool.effect == Effect::Read {
            assert!(!tool.confirm, "{}: reading does not ask", tool.name);
        }
        assert_eq!(
            tool.load == LoadPolicy::Core,
            CORE.contains(&tool.name),
            "{}",
            tool.name
        );
    }
}

/// Arguments of core tools that say it by their name alone: their schemas stand in every prompt, which has to start with few
/// tokens.
const PLAIN: &[(&str, &str)] = &[
    ("contacts.search", "want"),
    ("mail.recent", "from"),
    ("mail.recent", "unread"),
    ("reminders.list", "list"),
    ("system.open_app", "name"),
    ("tools.discover", "domain"),
    ("tools.discover", "query"),
    ("tools.discover", "top_k"),
];

#[test]
fn schemas_are_small_and_simple() {
    for tool in ALL {
        let schema = tool.parameters();
        assert_eq!(schema["type"], "object", "{}", tool.name);
        let root = tempfile::tempdir().unwrap();
        let unknown = tool.preview(
            serde_json::json!({"no_such_argument": 1}),
            &crate::testing::ctx(root.path()),
        );
        let refused = unknown.is_err_and(|e| e.to_string().contains("no_such_argument"));
        assert!(refused, "{}: unknown arguments are refused", tool.name);
        let properties = schema["properties"].as_object().unwrap();
        assert!(
            properties.len() <= 7,
            "{}: {} arguments",
            tool.name,
            properties.len()
        );
        for required in schema["required"].as_array().into_iter().flatten() {
            assert!(
                properties.contains_key(required.as_str().unwrap()),
                "{}",
                tool.name
            );
        }
        for (argument, value) in properties {
            simple(tool.name, argument, value);
            let described = value["description"].as_str().unwrap_or_default();
            let plain = PLAIN.contains(&(tool.name, argument.as_str()));
            assert!(
                plain && described.is_empty() || (3..=100).contains(&described.len()),
                "{}.{argument}: {described:?}",
                tool.name
            );
        }
    }
}

/// A grammar can be made of it: one type, no references, no alternatives but enumerations.
#[track_caller]
fn simple(tool: &str, argument: &str, schema: &Value) {
    for complicated in [
        "$ref", "$defs", "anyOf", "oneOf", "allOf", "not", "title", "format",
    ] {
        assert!(
            schema.get(complicated).is_none(),
            "{tool}.{argument} has {complicated}: {schema}"
        );
    }
    match schema["type"].as_str() {
        Some("string" | "integer" | "number" | "boolean") => {}
        Some("array") => simple(tool, argument, &schema["items"]),
        other => panic!("{tool}.{argument} has type {other:?}: {schema}"),
    }
}

/// `cargo fmt` finds modules by reading code, and the catalogue's are named by the build script.
#[test]
fn catalogue_files_are_formatted() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let files = fs::read_dir(root.join("src/catalog"))
        .unwrap()
        .map(|e| e.unwrap().path());
    let check = Command::new("rustfmt")
        .args(["--check", "--edition", "2024", "--config-path"])
        .arg(root.join(".."))
        .args(files)
        .output();
    match check {
        Ok(output) => assert!(
            output.status.success(),
            "{}",
            String::from_utf8_lossy(&output.stdout)
        ),
        Err(error) => println!("SKIPPED: rustfmt cannot be run: {error}"),
    }
}
