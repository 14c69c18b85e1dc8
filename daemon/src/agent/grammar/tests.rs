//! What a grammar lets through, asked of the recogniser in `gbnf`.

use prompts::{
    Dialect,
    dialect::{hermes::Hermes, llama3::Llama3},
    spaced,
};
use proptest::prelude::*;
use serde_json::{Value, json};

use super::{copied, gbnf::Gbnf, grammar, named};

/// Whether arguments written like this are let through for a tool with this schema.
#[track_caller]
fn check(schema: &Value, arguments: &str, accepted: bool) {
    let rules = Gbnf::parse(&grammar(&Hermes.frame(), &[("notes.create", schema)]));
    let text = call("notes.create", arguments);
    assert_eq!(rules.accepts(&text), accepted, "{text}");
}

fn call(name: &str, arguments: &str) -> String {
    format!("<tool_call>\n{{\"name\": \"{name}\", \"arguments\": {arguments}}}\n</tool_call>")
}

fn object(properties: Value, required: Value) -> Value {
    json!({"type": "object", "properties": properties, "required": required})
}

#[test]
fn strings() {
    let schema = object(json!({"a": {"type": "string"}}), json!(["a"]));
    check(&schema, r#"{"a": ""}"#, true);
    check(&schema, r#"{"a": "Zoë's \"big\" day \u00e9 \n {}<>"}"#, true);
    check(&schema, r#"{"a":"no space"}"#, false);
    check(&schema, r#"{"a": "open}"#, false);
    check(&schema, r#"{"a": "bad \q escape"}"#, false);
    check(&schema, "{\"a\": \"raw\nline break\"}", false);
    check(&schema, r#"{"a": 1}"#, false);
    check(&schema, r#"{"b": "x"}"#, false);
    check(&schema, r#"{"a": "x", "a": "x"}"#, false);
    let filled = object(json!({"a": {"type": "string", "minLength": 1}}), json!(["a"]));
    check(&filled, r#"{"a": "x"}"#, true);
    check(&filled, r#"{"a": ""}"#, false);
}

#[test]
fn scalars() {
    let schema = object(
        json!({"i": {"type": "integer"}, "n": {"type": "number"}, "b": {"type": "boolean"},
               "u": {"type": "integer", "minimum": 0}, "p": {"type": "integer", "minimum": 1}, "z": {"type": ["string", "null"]}}),
        json!([]),
    );
    check(
        &schema,
        r#"{"i": -12, "n": -0.5e-3, "b": true, "u": 0, "z": null}"#,
        true,
    );
    check(&schema, r#"{"z": "x"}"#, true);
    check(&schema, r#"{"i": 1.5}"#, false);
    check(&schema, r#"{"i": 012}"#, false);
    check(&schema, r#"{"p": 10}"#, true);
    check(&schema, r#"{"p": 0}"#, false);
    check(&schema, r#"{"u": -1}"#, false);
    check(&schema, r#"{"b": "true"}"#, false);
    check(&schema, r#"{"z": 1}"#, false);
}

#[test]
fn optional_arguments_in_any_subset_but_in_order() {
    let any = json!({"type": "boolean"});
    let schema = object(json!({"a": any, "b": any, "c": any, "d": any}), json!(["c"]));
    for present in 0..16_u8 {
        let pairs: Vec<String> = (0..4)
            .filter(|i| present & (1 << i) != 0)
            .map(|i| format!("\"{}\": true", ["a", "b", "c", "d"][i]))
            .collect();
        check(
            &schema,
            &format!("{{{}}}", pairs.join(", ")),
            present & 0b100 != 0,
        );
    }
    check(&schema, r#"{"c": true, "b": true}"#, false);
    check(&schema, r#"{, "c": true}"#, false);
    check(&schema, r#"{"c": true, }"#, false);
    check(&schema, r#"{"a": true "c": true}"#, false);
    let none = object(json!({"a": any}), json!([]));
    check(&none, "{}", true);
    check(&object(json!({}), json!([])), "{}", true);
    check(&object(json!({}), json!([])), r#"{"a": true}"#, false);
}

#[test]
fn choices() {
    let schema = object(
        json!({"e": {"type": "string", "enum": ["low", "say \"hi\"", "größe", "back\\slash"]},
               "o": {"oneOf": [{"const": "x", "description": "one"}, {"const": 2}]}}),
        json!([]),
    );
    check(&schema, r#"{"e": "low", "o": 2}"#, true);
    check(&schema, r#"{"e": "say \"hi\""}"#, true);
    check(&schema, r#"{"e": "größe"}"#, true);
    check(&schema, r#"{"e": "back\\slash"}"#, true);
    check(&schema, r#"{"e": "lo"}"#, false);
    check(&schema, r#"{"o": "one"}"#, false);
}

#[test]
fn arrays() {
    let strings = json!({"type": "array", "items": {"type": "string"}});
    let schema = object(json!({"a": strings}), json!(["a"]));
    check(&schema, r#"{"a": []}"#, true);
    check(&schema, r#"{"a": ["x"]}"#, true);
    check(&schema, r#"{"a": ["x", "y", "z"]}"#, true);
    check(&schema, r#"{"a": ["x",]}"#, false);
    check(&schema, r#"{"a": [1]}"#, false);
    let bounded = |least: u64, most: u64| {
        let array =
            json!({"type": "array", "items": {"type": "integer"}, "minItems": least, "maxItems": most});
        object(json!({"a": array}), json!(["a"]))
    };
    for (least, most) in [(0, 0), (0, 1), (0, 3), (1, 1), (2, 4)] {
        for length in 0..6_u64 {
            let items = vec!["7"; length as usize].join(", ");
            check(
                &bounded(least, most),
                &format!("{{\"a\": [{items}]}}"),
                (least..=most).contains(&length),
            );
        }
    }
}

#[test]
fn nested_objects_until_they_are_any_json() {
    let deep = (0..6).fold(json!({"type": "integer"}), |inner, _| {
        object(json!({"x": inner}), json!(["x"]))
    });
    check(&deep, r#"{"x": {"x": {"x": {"x": {"x": {"x": 1}}}}}}"#, true);
    check(&deep, r#"{"x": {"x": {"x": {}}}}"#, false);
    check(&deep, r#"{"x": {"x": {"x": {"x": {"y": "anything"}}}}}"#, true);
}

#[test]
fn what_is_not_understood_is_any_json() {
    for shape in [
        json!({}),
        json!(true),
        json!({"$ref": "#/$defs/x"}),
        json!({"type": "tuple"}),
        json!({"enum": []}),
    ] {
        let schema = object(json!({"a": shape}), json!(["a"]));
        check(&schema, r#"{"a": {"k": [1, "two", null, {"x": false}]}}"#, true);
        check(&schema, r#"{"a": nothing}"#, false);
        check(&schema, "{}", false);
    }
    check(&json!({"type": "object"}), r#"{"anything": 1}"#, true);
    check(&json!("not a schema"), r#"{"anything": 1}"#, true);
}

#[test]
fn only_tools_that_are_there() {
    let (none, one) = (
        object(json!({}), json!([])),
        object(json!({"q": {"type": "string"}}), json!(["q"])),
    );
    let tools = [("calendar.query", &one), ("calendar.query_all", &none)];
    let rules = Gbnf::parse(&grammar(&Hermes.frame(), &tools));
    let accepts = |name: &str, arguments: &str| rules.accepts(&call(name, arguments));
    assert!(accepts("calendar.query", r#"{"q": "x"}"#));
    assert!(accepts("calendar.query_all", "{}"));
    assert!(!accepts("calendar.query", "{}"), "a required argument is missing");
    assert!(
        !accepts("calendar.query_all", r#"{"q": "x"}"#),
        "another tool's arguments"
    );
    assert!(!accepts("calendar.delete", "{}"));
    assert!(!accepts("calendar_query", r#"{"q": "x"}"#));
    let twice = call("calendar.query_all", "{}").repeat(2);
    assert!(!rules.accepts(&twice), "one call a step");
}

#[test]
fn a_call_in_two_parts_is_the_same_call() {
    let schema = object(json!({"when": {"type": "string"}}), json!(["when"]));
    for dialect in [&Hermes as &dyn Dialect, &Llama3] {
        let frame = dialect.frame();
        let whole = Gbnf::parse(&grammar(&frame, &[("timers.set", &schema)]));
        let (begin, rest) = super::call(&frame, "timers.set", &schema);
        let rest = Gbnf::parse(&rest);
        assert!(!begin.ends_with(' '), "{begin:?}");
        let written = |arguments: &str| {
            let name = (frame.wire_name)("timers.set").into_owned();
            [frame.open, &name, frame.middle, arguments, frame.close].concat()
        };
        for (arguments, good) in [
            (r#"{"when": "in ten minutes"}"#, true),
            (r#"{"when": 10}"#, false),
            ("{}", false),
        ] {
            let text = written(arguments);
            let tail = text.strip_prefix(begin.as_str()).unwrap();
            assert_eq!((whole.accepts(&text), rest.accepts(tail)), (good, good), "{text}");
        }
        assert!(!rest.accepts("It is ten."));
    }
}

#[test]
fn words_do_not_pass_for_calls() {
    let schema = object(json!({}), json!([]));
    let free = Gbnf::parse(&grammar(&Hermes.frame(), &[("clock.now", &schema)]));
    let nothing = Gbnf::parse(&grammar::<Value>(&Hermes.frame(), &[]));
    for text in [
        "It is ten past nine.",
        "Ça va?",
        "Two events:\n- lunch\n- dinner [moved]",
        "5 + 3 = 8.",
    ] {
        assert!(free.accepts(text) && nothing.accepts(text), "{text}");
    }
    for text in [
        "",
        " x",
        "\n",
        "<tool_call>",
        "{\"name\": 1}",
        "[1]",
        "```json",
        "Sure. <tool_call>\n{",
        "a\u{1b}[0m",
    ] {
        assert!(!free.accepts(text), "{text}");
    }
}

#[test]
fn llama3_writes_bare_json() {
    let schema = object(json!({"q": {"type": "string"}}), json!(["q"]));
    let rules = Gbnf::parse(&grammar(&Llama3.frame(), &[("mail.search", &schema)]));
    assert!(rules.accepts(r#"{"name": "mail.search", "parameters": {"q": "x"}}"#));
    assert!(!rules.accepts(r#"{"name": "mail.search", "parameters": {}}"#));
}

#[test]
fn hostile_schemas_stay_small() {
    let wide = |inner: Value| {
        let properties = (0..60)
            .map(|i| (format!("p{i}"), inner.clone()))
            .collect::<serde_json::Map<_, _>>();
        json!({"type": "object", "properties": properties})
    };
    let bomb = wide(wide(wide(
        json!({"type": "array", "items": {"enum": ["a", "b"]}}),
    )));
    let text = grammar(&Hermes.frame(), &[("x.bomb", &bomb)]);
    assert!(
        Gbnf::parse(&text).len() < 8_000 && text.len() < 1_000_000,
        "{} bytes",
        text.len()
    );
    let long = object(json!({"a": {"enum": ["x".repeat(1_000_000)]}}), json!([]));
    assert!(grammar(&Hermes.frame(), &[("x.long", &long)]).len() < 10_000);
    let odd = object(json!({"\"] | root \n\u{7f}\\": {"type": "boolean"}}), json!([]));
    check(&odd, "{\"\\\"] | root \\n\u{7f}\\\\\": true}", true);
    Gbnf::parse(&grammar(&Hermes.frame(), &[("quote\" ::= \n", &odd)]));
}

#[test]
fn the_whole_grammar() {
    let query = object(
        json!({"when": {"type": "string", "description": "a day"}, "limit": {"type": "integer", "minimum": 1},
               "kinds": {"type": "array", "items": {"enum": ["event", "task"]}}}),
        json!(["when"]),
    );
    let none = object(json!({}), json!([]));
    let tools = [("calendar.query", &query), ("clock.now", &none)];
    insta::assert_snapshot!(grammar(&Hermes.frame(), &tools), @r####"
    root ::= call | text
    call ::= "<tool_call>\n{\"name\": \"" (t0 | t1) "}\n</tool_call>"
    text ::= [^\x00-\x20\x7F<>{}\[\]`] [^\x00-\x09\x0B-\x1F\x7F<>{}`]*
    t0-a-2-item ::= ("\"event\"" | "\"task\"")
    t0-a-2p ::= "\"kinds\": " "[" (t0-a-2-item (", " t0-a-2-item){0,})? "]"
    t0-a-2r ::= ""
    t0-a-2f ::= ""
    t0-a-1p ::= "\"limit\": " positive
    t0-a-1r ::= (", " t0-a-2p)? t0-a-2r
    t0-a-1f ::= t0-a-2p t0-a-2r | t0-a-2f
    t0-a-0p ::= "\"when\": " string
    t0-a-0r ::= (", " t0-a-1p)? t0-a-1r
    t0 ::= "calendar.query\", \"arguments\": " "{" (t0-a-0p t0-a-0r) "}"
    t1 ::= "clock.now\", \"arguments\": " "{}"
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
    "####);
}

/// A schema with a value that is valid for it.
fn schema_and_value() -> impl Strategy<Value = (Value, Value)> {
    let leaf = prop_oneof![
        any::<String>().prop_map(|v| (json!({"type": "string"}), json!(v))),
        (-1_000_000_i64..1_000_000).prop_map(|v| (json!({"type": "integer"}), json!(v))),
        (-1_000_000_i64..1_000_000).prop_map(|v| (json!({"type": "number"}), json!(v as f64 / 1000.0))),
        any::<bool>().prop_map(|v| (json!({"type": "boolean"}), json!(v))),
        (
            prop::collection::vec(any::<String>(), 1..4),
            any::<prop::sample::Index>()
        )
            .prop_map(|(all, i)| (json!({"enum": all}), json!(all[i.index(all.len())]))),
        any::<bool>().prop_map(|v| (json!({}), json!({"free": [v, null]}))),
    ];
    leaf.prop_recursive(3, 24, 5, |inner| {
        let items = (inner.clone(), 0..4_usize).prop_map(|((schema, value), n)| {
            (json!({"type": "array", "items": schema}), json!(vec![value; n]))
        });
        prop_oneof![items, object_and_value(inner)]
    })
}

fn object_and_value(inner: impl Strategy<Value = (Value, Value)>) -> impl Strategy<Value = (Value, Value)> {
    prop::collection::btree_map(any::<String>(), (inner, any::<bool>(), any::<bool>()), 0..6).prop_map(
        |fields| {
            let (mut properties, mut value) = (serde_json::Map::new(), serde_json::Map::new());
            let mut required = Vec::new();
            for (key, ((schema, content), needed, present)) in fields {
                properties.insert(key.clone(), schema);
                if needed || present {
                    value.insert(key.clone(), content);
                }
                if needed {
                    required.push(key);
                }
            }
            (object(properties.into(), required.into()), value.into())
        },
    )
}

proptest! {
    #[test]
    fn valid_arguments_are_accepted_and_incomplete_ones_refused((schema, value) in object_and_value(schema_and_value())) {
        let rules = Gbnf::parse(&grammar(&Hermes.frame(), &[("x.y", &schema)]));
        prop_assert!(rules.accepts(&call("x.y", &spaced(&value))), "{}", spaced(&value));
        prop_assert!(!rules.accepts(&call("x.z", &spaced(&value))));
        for key in schema["required"].as_array().unwrap() {
            let mut incomplete = value.as_object().unwrap().clone();
            incomplete.shift_remove(key.as_str().unwrap());
            prop_assert!(!rules.accepts(&call("x.y", &spaced(&incomplete.into()))));
        }
    }
}

#[test]
fn a_required_text_is_a_stretch_of_what_was_said() {
    #[track_caller]
    fn check(said: &str, arguments: &str, accepted: bool) {
        let schema = object(
            json!({"a": {"type": "string"}, "b": {"type": "string"}, "c": {"type": "string"},
                   "l": {"type": "array", "items": {"type": "string"}}}),
            json!(["a", "b", "l"]),
        );
        let schema = copied(std::borrow::Cow::Owned(schema), said, &["b"]);
        super::tests::check(&schema, arguments, accepted);
    }
    let said = r#"Call "Zoë", my aunt -- at five p.m.!"#;
    check(
        said,
        r#"{"a": "Call", "b": "anything", "l": ["aunt", "five"]}"#,
        true,
    );
    check(
        said,
        r#"{"a": "my aunt -- at five p.m", "b": "", "c": "free, too", "l": []}"#,
        true,
    );
    check(said, r#"{"a": "Call \"Zoë\", my", "b": "", "l": []}"#, true);
    // Punctuation around a stretch is not part of it.
    check(said, r#"{"a": "Zoë\",", "b": "", "l": []}"#, false);
    check(said, r#"{"a": "uncle", "b": "", "l": []}"#, false);
    check(said, r#"{"a": "Call aunt", "b": "", "l": []}"#, false);
    check(said, r#"{"a": "au", "b": "", "l": []}"#, false);
    check(said, r#"{"a": "", "b": "", "l": []}"#, false);
    check(said, r#"{"a": "aunt", "b": "", "l": ["milk"]}"#, false);
    // What cannot be cut into words, or into too many, leaves the argument free.
    check("?!", r#"{"a": "anything", "b": "", "l": ["anything"]}"#, true);
    check(
        &"word ".repeat(65),
        r#"{"a": "anything", "b": "", "l": []}"#,
        true,
    );
}

#[test]
fn a_name_that_was_said_is_one_more_way_to_write_a_text_or_what_a_list_holds() {
    #[track_caller]
    fn check(arguments: &str, accepted: bool) {
        let schema = object(
            json!({"a": {"type": "string"}, "l": {"type": "array", "items": {"type": "string"}},
                   "e": {"type": "array", "items": {"type": "string", "enum": ["low", "high"]}},
                   "n": {"type": "array", "items": {"type": "integer"}},
                   "o": {"type": "array", "items": {"type": "string"}}}),
            json!(["a", "l"]),
        );
        let names = [
            ("a", vec!["Tax return"]),
            ("l", vec!["Anna Bell", r#"Tom "T" O'Hara"#]),
            ("e", vec!["Anna Bell"]),
            ("n", vec!["Anna Bell"]),
            ("o", vec!["Anna Bell"]),
            ("nowhere", vec!["Anna Bell"]),
        ];
        let copied = copied(std::borrow::Cow::Owned(schema), "mail ana bell and tom", &[]);
        super::tests::check(&named(copied, &names), arguments, accepted);
    }
    check(r#"{"a": "Tax return", "l": ["Anna Bell"]}"#, true);
    check(
        r#"{"a": "tom", "l": ["ana bell", "Tom \"T\" O'Hara", "tom"]}"#,
        true,
    );
    // What may be any text may still be any.
    check(
        r#"{"a": "tom", "l": [], "o": ["Anna Bell", "the plumber"]}"#,
        true,
    );
    // As a whole and to the letter, and only where such a thing is meant.
    check(r#"{"a": "tom", "l": ["Anna"]}"#, false);
    check(r#"{"a": "tom", "l": ["anna bell"]}"#, false);
    check(r#"{"a": "tom", "l": ["Anna Bell and tom"]}"#, false);
    check(r#"{"a": "tom", "l": ["Bob Stone"]}"#, false);
    check(r#"{"a": "Anna Bell", "l": ["tom"]}"#, false);
    check(r#"{"a": "tom", "l": "Anna Bell"}"#, false);
    check(r#"{"a": "tom", "l": [], "e": ["Anna Bell"]}"#, false);
    check(r#"{"a": "tom", "l": [], "n": ["Anna Bell"]}"#, false);
    check(r#"{"a": "tom", "l": [], "e": ["low"], "n": [1]}"#, true);
}

proptest! {
    #[test]
    fn nothing_that_is_said_becomes_a_rule(said in "\\PC{0,40}", from in 0usize..8) {
        let schema = object(json!({"a": {"type": "string"}}), json!(["a"]));
        let words: Vec<&str> = said
            .split_whitespace()
            .map(|word| word.trim_matches(|c: char| !c.is_alphanumeric()))
            .filter(|word| !word.is_empty())
            .collect();
        let schema = copied(std::borrow::Cow::Owned(schema), &said, &[]).into_owned();
        let rules = Gbnf::parse(&grammar(&Hermes.frame(), &[("notes.create", &schema)]));
        let arguments = |text: &str| call("notes.create", &format!("{{\"a\": {}}}", Value::from(text)));
        if let Some(word) = words.get(from) {
            prop_assert!(rules.accepts(&arguments(word)), "{said:?}: {word:?}");
        }
        if !words.is_empty() {
            prop_assert!(!rules.accepts(&arguments("something else altogether, not said by anyone")));
        }
    }
}
