//! What the dialects read: the calls that they write, those that a grammar writes, those that models write, and no others.

use proptest::prelude::*;

use super::{
    functiongemma::{FUNCTION_GEMMA, GEMMA_4},
    gemma::Gemma,
    hermes::Hermes,
    lfm2::{LFM2, LFM2_5},
    llama3::Llama3,
    messages::Messages,
    mistral::{V3, V7, V11, V13},
    *,
};

fn all() -> [&'static dyn Dialect; 12] {
    [
        &Hermes,
        &Llama3,
        &Messages,
        &Gemma,
        &FUNCTION_GEMMA,
        &GEMMA_4,
        &LFM2,
        &LFM2_5,
        &V3,
        &V7,
        &V11,
        &V13,
    ]
}

fn plain(pieces: &[Piece]) -> String {
    pieces.iter().map(|piece| piece.text.as_str()).collect()
}

/// The call that a grammar holds the model to; its arguments are JSON in every family.
fn framed(frame: &Frame, name: &str, arguments: &Value) -> String {
    let name = (frame.wire_name)(name);
    format!(
        "{}{name}{}{}{}",
        frame.open,
        frame.middle,
        spaced(arguments),
        frame.close
    )
}

#[track_caller]
fn reads(dialect: &dyn Dialect, text: &str, name: &str, arguments: Value) {
    let expect = Parsed::Call {
        name: name.into(),
        arguments,
    };
    assert_eq!(dialect.parse(text), Ok(expect), "{}: {text}", dialect.name());
}

#[track_caller]
fn says(dialect: &dyn Dialect, text: &str) {
    assert_eq!(
        dialect.parse(text),
        Ok(Parsed::Text(text.into())),
        "{}",
        dialect.name()
    );
}

#[test]
fn functiongemma_reads_what_it_writes() {
    let call =
        "<start_function_call>call:mail_send{to:<escape>Ann, {Bob}<escape>,copies:2}<end_function_call>";
    let arguments = json!({"to": "Ann, {Bob}", "copies": 2});
    assert_eq!(plain(&FUNCTION_GEMMA.call("mail.send", &arguments)), call);
    reads(&FUNCTION_GEMMA, call, "mail_send", arguments.clone());
    reads(
        &FUNCTION_GEMMA,
        &format!("{call}<start_function_response>"),
        "mail_send",
        arguments,
    );
    reads(
        &FUNCTION_GEMMA,
        "<start_function_call>call:clock.now{}",
        "clock.now",
        json!({}),
    );
    let four = "<|channel>thought\nHm.<channel|><|tool_call>call:mail_send{to:<|\"|>Ann<|\"|>}<tool_call|>";
    reads(&GEMMA_4, four, "mail_send", json!({"to": "Ann"}));
}

#[test]
fn gemma_reads_what_it_writes() {
    let call = "{\"name\": \"mail.send\", \"parameters\": {\"to\": \"Ann\"}}";
    assert_eq!(plain(&Gemma.call("mail.send", &json!({"to": "Ann"}))), call);
    reads(&Gemma, call, "mail.send", json!({"to": "Ann"}));
    reads(
        &Gemma,
        &format!("```json\n{call}\n```"),
        "mail.send",
        json!({"to": "Ann"}),
    );
    reads(
        &Gemma,
        "```tool_code\nmail.send(to=\"Ann\")\n```",
        "mail.send",
        json!({"to": "Ann"}),
    );
}

#[test]
fn lfm2_reads_what_it_writes() {
    let call =
        "<|tool_call_start|>[{\"name\": \"mail.send\", \"arguments\": {\"to\": \"Ann\"}}]<|tool_call_end|>";
    assert_eq!(plain(&LFM2.call("mail.send", &json!({"to": "Ann"}))), call);
    for text in [
        call,
        "<|tool_call_start|>{\"name\": \"mail.send\", \"arguments\": {\"to\": \"Ann\"}}<|tool_call_end|>",
        "<|tool_call_start|>[mail.send(to=\"Ann\")]<|tool_call_end|>I send it.",
        "<|tool_call_start|>[mail.send(to='Ann'), mail.read()]<|tool_call_end|>",
    ] {
        reads(&LFM2, text, "mail.send", json!({"to": "Ann"}));
    }
}

#[test]
fn mistral_reads_what_it_writes() {
    let arguments = json!({"to": "Ann [x]"});
    let listed = "[TOOL_CALLS][{\"name\": \"mail_send\", \"arguments\": {\"to\": \"Ann [x]\"}, \"id\": \"call00001\"}]";
    let named = "[TOOL_CALLS]mail_send[CALL_ID]call00001[ARGS]{\"to\": \"Ann [x]\"}";
    let short = "[TOOL_CALLS]mail_send[ARGS]{\"to\": \"Ann [x]\"}";
    assert_eq!(plain(&V3.call("mail.send", &arguments)), listed);
    assert_eq!(plain(&V7.call("mail.send", &arguments)), listed);
    assert_eq!(plain(&V11.call("mail.send", &arguments)), named);
    assert_eq!(plain(&V13.call("mail.send", &arguments)), short);
    for dialect in [&V3, &V7, &V11, &V13] {
        for text in [
            listed,
            named,
            short,
            "[TOOL_CALLS] mail_send {\"to\": \"Ann [x]\"}",
        ] {
            reads(dialect, text, "mail_send", arguments.clone());
        }
        reads(
            dialect,
            &format!("[THINK]{named}[/THINK]{short}{listed}"),
            "mail_send",
            arguments.clone(),
        );
    }
    for text in [
        "[TOOL_CALLS]",
        "[TOOL_CALLS]mail_send",
        "[TOOL_CALLS]mail_send[ARGS]",
        "[TOOL_CALLS]mail_send[CALL_ID]call00001",
        "[TOOL_CALLS]mail_send[ARGS][1]",
        "[TOOL_CALLS][ARGS]{}",
        "[TOOL_CALLS] {}",
    ] {
        assert!(V13.parse(text).is_err(), "{text}");
    }
}

#[test]
fn mistral_quotes_a_result_where_it_is_json() {
    #[track_caller]
    fn check(content: &[Piece], expect: &str) {
        let text = plain(&V3.result("a.b", content.to_vec()));
        let text = text.strip_prefix("</s>[TOOL_RESULTS]").unwrap();
        let text = text.strip_suffix("[/TOOL_RESULTS]").unwrap();
        assert_eq!(
            text,
            format!("{{\"content\": {expect}, \"call_id\": \"call00001\"}}")
        );
        assert!(serde_json::from_str::<Value>(text).is_ok(), "{text}");
    }
    check(&[Piece::text("{\"id\": 7}")], "{\"id\": 7}");
    check(
        &[Piece::text("{\"id\": 7}, \"x\": 1")],
        "\"{\\\"id\\\": 7}, \\\"x\\\": 1\"",
    );
    check(
        &[
            Piece::control("<untrusted>\n"),
            Piece::text("1\n"),
            Piece::control("</untrusted>"),
        ],
        "\"<untrusted>\\n1\\n</untrusted>\"",
    );
    check(&[], "\"\"");
}

#[test]
fn words_are_words_and_half_a_call_is_not() {
    for dialect in all() {
        for text in ["It is nine.", "", "{\"answer\": 42}", "a {brace} and [a list]"] {
            says(dialect, text);
        }
        let whole = framed(&dialect.frame(), "a.b", &json!({"x": "y"}));
        let half = &whole[..whole.find("\"y").unwrap()];
        assert!(dialect.parse(half).is_err(), "{}: {half}", dialect.name());
        let long = whole.repeat(read::MAX_OUTPUT / whole.len() + 1);
        assert_eq!(dialect.parse(&long), Err(ParseError::TooLong(long.len())));
        let frame = dialect.frame();
        for deep in ["{", "[", "{\"a\":", "{a:["] {
            let deep = format!(
                "{}a{}{{\"x\": {}",
                frame.open,
                frame.middle,
                deep.repeat(60_000 / deep.len())
            );
            assert!(dialect.parse(&deep).is_err(), "{}", dialect.name());
        }
    }
}

#[test]
fn a_name_comes_back_from_the_wire() {
    for dialect in all() {
        let frame = dialect.frame();
        let wire = (frame.wire_name)("mail.send");
        assert_eq!(
            restore_name(&frame, &wire, ["mail.read", "mail.send"]),
            Some("mail.send")
        );
        let shown = plain(&dialect.tools(&[Card {
            name: "mail.send".into(),
            summary: "Send a mail".into(),
            parameters: json!({"type": "object", "properties": {}}),
            confirm: false,
            calls: vec![],
        }]));
        // What takes messages is shown its tools elsewhere.
        assert!(
            dialect.takes_messages() || shown.contains(&*wire),
            "{}: {shown}",
            dialect.name()
        );
    }
}

proptest! {
    #[test]
    fn what_was_called_is_read(name in "[a-z]{1,9}\\.[a-z_]{1,9}", key in "[a-z_]{1,9}", value in any::<String>(), number in any::<i64>()) {
        for dialect in all() {
            let value = defuse(&value, dialect.tags());
            let arguments = json!({(key.as_str()): [value], "n": number});
            let frame = dialect.frame();
            let wire = (frame.wire_name)(&name).into_owned();
            let call = Parsed::Call { name: wire.clone(), arguments: arguments.clone() };
            prop_assert_eq!(dialect.parse(&plain(&dialect.call(&wire, &arguments))), Ok(call.clone()));
            prop_assert_eq!(dialect.parse(&framed(&frame, &name, &arguments)), Ok(call));
        }
    }

    #[test]
    fn any_output_is_read_or_refused(
        text in "(<start_function_call>|<\\|tool_call>|<\\|tool_call_start\\|>|\\[TOOL_CALLS\\]|\\[ARGS\\]|```tool_code|call:|<escape>|<\\|\"\\|>|[(){}\\[\\]:=,\"']|\"name\": |a|.){0,40}",
    ) {
        for dialect in all() {
            if let Ok(Parsed::Call { name, arguments }) = dialect.parse(&text) {
                prop_assert!(!name.is_empty() && arguments.is_object());
            }
        }
    }
}
