//! The client against servers that behave, and against those that do not.

use serde_json::json;

use super::*;
use crate::{
    llm::{ChatMessage, ChatTool},
    scripted::{Act, Heard, STREAM, ScriptedServer},
};

const KEY: &str = "sk-very-secret";
/// Long enough for a busy machine, short enough to wait for.
const SILENCE: Duration = Duration::from_millis(1500);

struct Pocket(Option<&'static str>);

#[async_trait]
impl Keys for Pocket {
    async fn key(&self) -> Result<Option<String>, String> {
        Ok(self.0.map(str::to_owned))
    }
}

fn client(origin: String, key: Option<&'static str>) -> ModelServer {
    let config = ServerConfig {
        origin,
        path: "/".into(),
        model: "m".into(),
        context: 4096,
        silence: SILENCE,
        architecture: "messages".into(),
    };
    ModelServer::new(config, Arc::new(Pocket(key)))
}

fn question() -> Generate {
    let tool = |name: &str| ChatTool {
        name: name.into(),
        description: "Does it".into(),
        parameters: json!({"type": "object", "properties": {}}),
    };
    Generate {
        max_tokens: 64,
        chat: Some(Chat {
            messages: vec![
                ChatMessage::System("You are Tiro.".into()),
                ChatMessage::User("hello".into()),
            ],
            tools: vec![tool("clock_now"), tool("calendar_query")],
            must_call: true,
            frame: ["<call>", "|", "</call>"],
        }),
        ..Generate::default()
    }
}

/// The same, where the model may answer in words.
fn talk() -> Generate {
    let mut question = question();
    if let Some(chat) = &mut question.chat {
        chat.must_call = false;
    }
    question
}

/// What a client makes of a server that does this, with a key.
async fn told(act: Act) -> (String, ScriptedServer) {
    let server = ScriptedServer::acts([act]).unwrap();
    let client = client(server.origin(), Some(KEY));
    let answer = client.generate(question(), &mut |_| {}).await;
    let text = answer.expect_err("an error").to_string();
    assert!(
        !text.contains(KEY) && !text.contains('\n') && text.len() < 500,
        "{text}"
    );
    assert!(!text.ends_with('.'), "{text}");
    (text, server)
}

#[tokio::test]
async fn words_and_calls_come_back_as_an_engine_would_give_them() {
    let server = ScriptedServer::acts([
        Act::says("It is nine."),
        Act::calls("calendar_query", &json!({"when": "tomorrow"})),
        Act::json(
            200,
            &json!({"choices": [{"message": {"content": "Yes."}, "finish_reason": "stop"}]}),
        ),
    ])
    .unwrap();
    let client = client(server.origin(), Some(KEY));
    let mut heard = Vec::new();
    let mut on_text = |text: &str| heard.push(text.to_owned());
    let said = client.generate(talk(), &mut on_text).await.unwrap();
    assert_eq!((said.text.as_str(), said.end), ("It is nine.", End::Turn));
    assert_eq!((said.usage.prompt, said.usage.generated), (50, 7));
    assert_eq!(heard, ["It ", "is ", "nine."]);
    let called = client.generate(question(), &mut |_| {}).await.unwrap();
    assert_eq!(called.text, r#"<call>calendar_query|{"when":"tomorrow"}</call>"#);
    let whole = client.generate(talk(), &mut |_| {}).await.unwrap();
    assert_eq!(whole.text, "Yes.");

    let first = &server.heard()[0];
    assert_eq!(first.line, "POST /v1/chat/completions");
    assert!(first.head.contains(&format!("Bearer {KEY}")), "{}", first.head);
    assert_eq!(first.tools(), ["clock_now", "calendar_query"]);
    let choices = server.heard();
    let choices = choices
        .iter()
        .map(|heard| heard.body["tool_choice"].as_str().unwrap());
    assert_eq!(choices.collect::<Vec<_>>(), ["auto", "required", "auto"]);
    assert_eq!(first.body["messages"][0]["content"], "You are Tiro.");
    // What is only to be evaluated ahead of time, and what is not in messages, is not sent.
    let ahead = Generate {
        max_tokens: 0,
        ..question()
    };
    assert_eq!(client.generate(ahead, &mut |_| {}).await.unwrap().text, "");
    assert_eq!(server.heard().len(), 3);
}

#[tokio::test]
async fn every_status_becomes_a_sentence_with_what_to_do() {
    let complaint = json!({"error": {"message": format!("It is\n{KEY} that\u{7} is wrong.")}});
    let not_json = |code, kind: &str, body: &str| {
        Act::Answer(
            code,
            format!("Content-Type: {kind}\r\n"),
            body.as_bytes().to_vec(),
        )
    };
    for (act, parts) in [
        (
            Act::json(401, &complaint),
            &[
                "does not take this key (it says: It is ... that is wrong)",
                "correct it",
            ][..],
        ),
        (
            Act::json(404, &json!({"detail": "Not Found"})),
            &["has no model m, or", "(it says: Not Found)", "llm.server.url"],
        ),
        (
            not_json(404, "text/plain", "404 page not found"),
            &["(it says: 404 page not found)"],
        ),
        (
            not_json(404, "text/html", "<html>x</html>"),
            &["does not answer at this address; correct"],
        ),
        (Act::json(429, &complaint), &["has too much to do", "in a moment"]),
        (
            Act::json(500, &json!({})),
            &["failed with status 500; what it logs"],
        ),
        (
            Act::json(503, &json!({"error": "Loading model"})),
            &["is not ready yet (it says: Loading model)"],
        ),
        (
            Act::json(418, &json!(3)),
            &["refused the request with status 418"],
        ),
        (
            not_json(200, "text/html", "<html>"),
            &["answered with text/html", "llm.server.url"],
        ),
        (
            not_json(200, "application/json", "{\"x\""),
            &["answered what cannot be read"],
        ),
        (
            not_json(200, "application/json", "{}"),
            &["answered what cannot be read"],
        ),
        (
            Act::Raw(vec![b"SSH-2.0-OpenSSH\r\n".to_vec()]),
            &["cannot be used", "llm.server.url"],
        ),
        (Act::Raw(vec![]), &["cannot be reached"]),
    ] {
        let (text, server) = told(act).await;
        assert!(text.contains(&server.origin()), "{text}");
        for part in parts {
            assert!(text.contains(part), "{part:?} is missing in {text:?}");
        }
    }
    let closed = ScriptedServer::acts([]).unwrap().origin();
    let gone = client(closed, None)
        .generate(question(), &mut |_| {})
        .await
        .unwrap_err();
    assert!(gone.to_string().contains("cannot be reached"), "{gone}");
    let server = ScriptedServer::acts([Act::json(401, &json!({}))]).unwrap();
    let keyless = client(server.origin(), None)
        .generate(question(), &mut |_| {})
        .await
        .unwrap_err();
    assert!(
        keyless
            .to_string()
            .contains("wants a key; set llm.server.key_command"),
        "{keyless}"
    );
}

#[tokio::test]
async fn nothing_goes_where_a_redirect_points() {
    let other = ScriptedServer::acts([Act::says("Gotcha.")]).unwrap();
    for code in [301, 302, 307, 308] {
        let headers = format!("Location: {}/v1/chat/completions\r\n", other.origin());
        let (text, _server) = told(Act::Answer(code, headers, Vec::new())).await;
        assert!(
            text.contains("points to 127.0.0.1, where nothing is sent"),
            "{text}"
        );
    }
    assert!(other.heard().is_empty());
}

#[tokio::test]
async fn bad_streams_end_with_a_sentence() {
    let begin = |text: &str| format!("{STREAM}{text}").into_bytes();
    let piece = "data: {\"choices\": [{\"delta\": {\"content\": \"Hm\"}}]}\n\n";
    for (act, part) in [
        (Act::Raw(vec![begin(piece)]), "broke off"),
        (Act::Raw(vec![begin("data: {]\n\n")]), "cannot be read"),
        (
            Act::Raw(vec![begin("data: {\"error\": {\"message\": \"no memory\"}}\n\n")]),
            "(it says: no memory)",
        ),
        (
            Act::Raw(vec![begin(piece)[..STREAM.len() + 20].to_vec()]),
            "cannot be read",
        ),
        (
            Act::Flood(begin("data: "), vec![b'x'; 65536]),
            "more than any answer needs",
        ),
        (
            Act::Flood(begin(""), piece.repeat(100).into_bytes()),
            "more than any answer needs",
        ),
        (
            Act::Flood(begin(""), b": ping\n\n".repeat(1000)),
            "more than any answer needs",
        ),
        (Act::Hang(begin(piece)), "was silent for 1.5 s"),
        (Act::Hang(Vec::new()), "was silent for 1.5 s"),
    ] {
        let (text, _server) = told(act.clone()).await;
        assert!(text.contains(part), "{part:?} is missing in {text:?}");
    }
    let half = "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n\r\n6\r\ndata: \r\nff";
    let (text, _server) = told(Act::Raw(vec![half.into()])).await;
    assert!(text.contains("broke off"), "{text}");
}

#[tokio::test]
async fn dropping_the_future_hangs_up_at_once() {
    let piece = "data: {\"choices\": [{\"delta\": {\"content\": \"Well\"}}]}\n\n";
    // In the middle of an answer, and before it began.
    for begin in [format!("{STREAM}{piece}"), String::new()] {
        let server = ScriptedServer::acts([Act::Hang(begin.clone().into_bytes())]).unwrap();
        let config = ServerConfig {
            silence: Duration::from_secs(3600),
            ..client(server.origin(), None).config
        };
        let client = ModelServer::new(config, Arc::new(Pocket(None)));
        let heard = Mutex::new(String::new());
        let mut on_text = |text: &str| heard.lock().unwrap().push_str(text);
        let generating = client.generate(talk(), &mut on_text);
        let until = async {
            while server.heard().is_empty() || (!begin.is_empty() && heard.lock().unwrap().is_empty()) {
                tokio::time::sleep(Duration::from_millis(5)).await;
            }
        };
        tokio::select! {
            answer = generating => panic!("{answer:?}"),
            () = until => {}
        }
        let dropped = Instant::now();
        while server.left() == 0 {
            assert!(
                dropped.elapsed() < Duration::from_secs(30),
                "the server was never left"
            );
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    }
}

#[tokio::test]
async fn a_field_that_the_server_does_not_know_is_left_out_from_then_on() {
    let server = ScriptedServer::start(|heard| {
        let refuse = |text: &str| Act::json(400, &json!({"error": {"message": text}}));
        match &heard.body {
            body if body["tool_choice"] == "required" => refuse("tool_choice 'required' is not supported"),
            body if body.get("stream_options").is_some() => refuse("Unknown parameter: 'stream_options'."),
            _ => Act::calls("clock_now", &json!({})),
        }
    })
    .unwrap();
    let client = client(server.origin(), None);
    for _ in 0..2 {
        let called = client.generate(question(), &mut |_| {}).await.unwrap();
        assert_eq!(called.text, "<call>clock_now|{}</call>");
    }
    assert_eq!(server.heard().len(), 4);
    assert_eq!(server.heard()[3].body["tool_choice"], "auto");
}

#[tokio::test]
async fn a_model_that_talks_instead_of_calling_is_held_to_a_schema() {
    let call = "{\"name\": \"clock_now\", \"arguments\": {}}";
    let server = ScriptedServer::start(move |heard| match heard.body.get("response_format") {
        Some(_) => Act::says(call),
        None => Act::says("I would call clock_now()."),
    })
    .unwrap();
    let client = client(server.origin(), None);
    let mut words = Vec::new();
    let mut on_text = |text: &str| words.push(text.to_owned());
    let first = client.generate(question(), &mut on_text).await.unwrap();
    assert_eq!(
        (first.text.as_str(), first.usage.prompt),
        (call, 100),
        "two requests"
    );
    assert!(words.is_empty(), "{words:?}");
    // From then on at once, and never where words are welcome.
    client.generate(question(), &mut |_| {}).await.unwrap();
    client.generate(talk(), &mut |_| {}).await.unwrap();
    let by_schema = |heard: Heard| heard.body["response_format"]["json_schema"]["schema"]["anyOf"].is_array();
    let asked: Vec<bool> = server.heard().into_iter().map(by_schema).collect();
    assert_eq!(asked, [false, true, true, false]);

    // A server that knows no schema gives what it has.
    let server = ScriptedServer::start(|heard| match heard.body.get("response_format") {
        Some(_) => Act::json(400, &json!({"error": "response_format is not supported"})),
        None => Act::says("I would call it."),
    })
    .unwrap();
    let client = self::client(server.origin(), None);
    for _ in 0..2 {
        assert_eq!(
            client.generate(question(), &mut |_| {}).await.unwrap().text,
            "I would call it."
        );
    }
    assert_eq!(server.heard().len(), 4);
}

#[tokio::test]
async fn what_is_too_long_is_told_apart() {
    for text in [
        "This model's maximum context length is 4096 tokens. However, you requested max_tokens 512",
        "the request exceeds the available context size, try increasing it",
    ] {
        for act in [
            Act::json(400, &json!({"error": {"message": text}})),
            Act::Raw(vec![
                format!("{STREAM}data: {}\n\n", json!({"error": text})).into_bytes(),
            ]),
        ] {
            let server = ScriptedServer::acts([act]).unwrap();
            let client = client(server.origin(), None);
            let error = client.generate(question(), &mut |_| {}).await.unwrap_err();
            assert!(matches!(error, EngineError::TooLong(_)), "{error}");
            assert_eq!(server.heard().len(), 1);
        }
    }
}

#[tokio::test]
async fn the_first_model_stands_for_none() {
    let server = ScriptedServer::start(|heard| match heard.line.as_str() {
        "GET /openai/models" => Act::json(200, &json!({"data": [{"id": 3}, {"id": "a\nb"}, {"id": "qwen"}]})),
        _ => Act::says("Yes."),
    })
    .unwrap();
    let config = ServerConfig {
        path: "/openai/".into(),
        model: String::new(),
        ..client(server.origin(), None).config
    };
    let client = ModelServer::new(config, Arc::new(Pocket(None)));
    assert_eq!(client.info().await.unwrap().name, "the first model");
    for _ in 0..2 {
        client.generate(talk(), &mut |_| {}).await.unwrap();
    }
    assert_eq!(client.info().await.unwrap().name, "qwen");
    assert_eq!(client.models().await.unwrap(), ["qwen"]);
    let lines: Vec<String> = server.heard().into_iter().map(|heard| heard.line).collect();
    let ask = "POST /openai/chat/completions";
    assert_eq!(lines, ["GET /openai/models", ask, ask, "GET /openai/models"]);
    assert_eq!(server.heard()[1].body["model"], "qwen");
    for (list, part) in [
        (
            Act::json(200, &json!({"data": []})),
            "has no model; load one there",
        ),
        (Act::json(200, &json!({"models": []})), "cannot be read"),
        (Act::json(403, &json!({})), "wants a key"),
    ] {
        let server = ScriptedServer::acts([list]).unwrap();
        let config = ServerConfig {
            origin: server.origin(),
            ..client.config.clone()
        };
        let client = ModelServer::new(config, Arc::new(Pocket(None)));
        let error = client
            .generate(question(), &mut |_| {})
            .await
            .unwrap_err()
            .to_string();
        assert!(error.contains(part), "{error}");
    }
}

#[test]
fn hostile_calls_stay_calls() {
    let frame = ["{\"name\": \"", "\", \"arguments\": ", "}"];
    let call = |name: &str, arguments: &str| answer::Call {
        name: name.into(),
        arguments: arguments.into(),
    };
    for (name, arguments) in [
        ("a", "{}"),
        ("a\", \"name\": \"mail.send", "{\"a\": 1}"),
        ("", "null"),
        ("\u{0}\n", ""),
    ] {
        let text = framed(&call(name, arguments), &frame);
        let read: Value = serde_json::from_str(&text).unwrap();
        assert_eq!(read["name"], name.trim(), "{text}");
        assert!(read["arguments"].is_object());
    }
    for arguments in ["{\"a\": ", "{}, \"name\": \"mail.send\"", "[1]", "nonsense"] {
        assert_eq!(
            framed(&call("a", arguments), &frame),
            "{\"name\": \"a\", \"arguments\": "
        );
    }
}
