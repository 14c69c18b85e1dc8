//! Reading an answer as it comes: server-sent events with pieces of text and of calls, or one JSON document. All of it is
//! bounded, and nothing of it is believed: a field of the wrong type is as good as none.

use std::{
    io::{BufRead as _, BufReader, Read},
    time::Instant,
};

use serde_json::Value;

/// Longest line of a stream, bytes. A whole call may come in one.
const MAX_LINE: usize = 256 * 1024;
/// Longest answer with everything around it, bytes.
const MAX_TOTAL: u64 = 8 << 20;
/// Longest text, and longest arguments of a call, bytes: what the agent reads at most.
const MAX_TEXT: usize = 60 * 1024;

/// Who writes so many empty lines has no more to say. Seen with llama-server, whose model had written a call as text and went
/// on with line breaks up to the bound of tokens.
pub const NOTHING_MORE: &str = "\n\n\n\n";

/// What came of a request.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Answer {
    /// The model's words.
    pub text: String,
    /// The first call; the agent takes one step at a time.
    pub call: Option<Call>,
    /// Whether it was cut off at the bound of tokens.
    pub cut: bool,
    /// What it cost.
    pub cost: Cost,
    /// When the first word or piece of a call came.
    pub began: Option<Instant>,
    /// Names the first call while it comes in pieces.
    first: Option<Value>,
    /// Whether the server said that this is the end.
    finished: bool,
}

/// A call as the server read it.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Call {
    /// Not known to exist.
    pub name: String,
    /// Should be a JSON object.
    pub arguments: String,
}

/// Tokens, where the server says.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct Cost {
    /// Of the whole prompt.
    pub prompt: Option<u32>,
    /// Of these, those that were not evaluated again.
    pub cached: Option<u32>,
    /// Of the answer.
    pub generated: Option<u32>,
}

/// Why an answer cannot be used.
#[derive(Debug, PartialEq, Eq)]
pub enum Wrong {
    /// It ends too early, or cannot be read any further.
    Broken(String),
    /// Nothing came for too long.
    Silent,
    /// More than any answer needs.
    Endless,
    /// No answer of such a server.
    Garbage,
    /// The server changed its mind in the middle: its words.
    Complaint(String),
}

/// Reads a stream of events to its end; `on_text` gets the words as they come and says whether anybody still wants them.
///
/// # Errors
/// What is wrong with it.
pub fn events(body: impl Read, on_text: &mut dyn FnMut(&str) -> bool) -> Result<Answer, Wrong> {
    let mut lines = BufReader::new(body.take(MAX_TOTAL));
    let (mut answer, mut event, mut total) = (Answer::default(), Vec::new(), 0);
    loop {
        let line = line(&mut lines, &mut total)?;
        let data = line.as_deref().and_then(|line| line.strip_prefix(b"data:"));
        if let Some(data) = data {
            if !event.is_empty() {
                event.push(b'\n');
            }
            event.extend(data.strip_prefix(b" ").unwrap_or(data));
            if event.len() > MAX_LINE {
                return Err(Wrong::Endless);
            }
        }
        // An event ends with an empty line, and with the stream. Other lines are comments, names and pings.
        let ended = line.is_none();
        if (ended || line.is_some_and(|line| line.is_empty())) && !event.is_empty() {
            if event.trim_ascii() == b"[DONE]" {
                answer.finished |= answer.began.is_some();
                return answer.complete();
            }
            let value = serde_json::from_slice(&event).map_err(|_| Wrong::Garbage)?;
            answer.add(&value, "delta", on_text)?;
            if answer.text.ends_with(NOTHING_MORE) && !answer.text.trim().is_empty() {
                return Ok(answer);
            }
            event.clear();
        }
        if ended {
            return answer.complete();
        }
    }
}

/// Reads one JSON document.
///
/// # Errors
/// What is wrong with it.
pub fn document(body: impl Read, on_text: &mut dyn FnMut(&str) -> bool) -> Result<Answer, Wrong> {
    let value = serde_json::from_slice(&whole(body)?).map_err(|_| Wrong::Garbage)?;
    let mut answer = Answer::default();
    answer.add(&value, "message", on_text)?;
    match answer.first.is_some() || value["choices"][0]["message"].is_object() {
        true => Ok(answer),
        false => Err(Wrong::Garbage),
    }
}

/// All of a body that has no more than it should.
///
/// # Errors
/// When it breaks off or does not end.
pub fn whole(body: impl Read) -> Result<Vec<u8>, Wrong> {
    let mut bytes = Vec::new();
    let read = body.take(MAX_TOTAL).read_to_end(&mut bytes);
    read.map_err(broken)?;
    match bytes.len() as u64 >= MAX_TOTAL {
        true => Err(Wrong::Endless),
        false => Ok(bytes),
    }
}

/// The next line without its end; `None` when there is none.
fn line(from: &mut BufReader<impl Read>, total: &mut u64) -> Result<Option<Vec<u8>>, Wrong> {
    let mut line = Vec::new();
    let most = MAX_LINE as u64 + 1;
    let read = from.by_ref().take(most).read_until(b'\n', &mut line);
    let read = read.map_err(broken)? as u64;
    *total += read;
    if read >= most || *total >= MAX_TOTAL {
        return Err(Wrong::Endless);
    }
    if read == 0 {
        return Ok(None);
    }
    while line.last().is_some_and(|b| *b == b'\n' || *b == b'\r') {
        line.pop();
    }
    Ok(Some(line))
}

fn broken(error: std::io::Error) -> Wrong {
    match ureq::Error::from(error) {
        ureq::Error::Timeout(_) => Wrong::Silent,
        other => Wrong::Broken(other.to_string()),
    }
}

impl Answer {
    /// Adds one piece; `part` is where its words are.
    fn add(&mut self, piece: &Value, part: &str, on_text: &mut dyn FnMut(&str) -> bool) -> Result<(), Wrong> {
        if let Some(complaint) = complaint(piece) {
            return Err(Wrong::Complaint(complaint));
        }
        self.cost.add(piece);
        let choice = &piece["choices"][0];
        if let Some(text) = choice[part]["content"].as_str() {
            self.text.push_str(text);
            if !text.is_empty() {
                self.began.get_or_insert_with(Instant::now);
            }
            if !text.is_empty() && !on_text(text) {
                return Err(Wrong::Broken("nobody wants it any more".to_owned()));
            }
        }
        for call in choice[part]["tool_calls"].as_array().into_iter().flatten() {
            self.call(call);
        }
        if let Some(reason) = choice["finish_reason"].as_str() {
            self.finished = true;
            self.cut = reason == "length";
        }
        let call = self
            .call
            .as_ref()
            .map_or(0, |call| call.name.len() + call.arguments.len());
        match self.text.len() > MAX_TEXT || call > MAX_TEXT {
            true => Err(Wrong::Endless),
            false => Ok(()),
        }
    }

    /// A piece of a call. The pieces of one have the same `index`, or, from servers that leave it out, no other `id`.
    fn call(&mut self, piece: &Value) {
        let name = match &piece["index"] {
            Value::Null => &piece["id"],
            index => index,
        };
        let first = self.first.get_or_insert_with(|| name.clone());
        if first != name && !name.is_null() {
            return;
        }
        self.began.get_or_insert_with(Instant::now);
        let (call, function) = (self.call.get_or_insert_default(), &piece["function"]);
        if call.name.is_empty() {
            call.name = function["name"].as_str().unwrap_or_default().to_owned();
        }
        match &function["arguments"] {
            Value::String(text) => call.arguments.push_str(text),
            // As Ollama's own interface has them.
            object @ Value::Object(_) => call.arguments = object.to_string(),
            _ => {}
        }
    }

    /// What came is an answer only if the server said so itself: a line that drops looks like an end.
    fn complete(self) -> Result<Answer, Wrong> {
        match self.finished {
            true => Ok(self),
            false => Err(Wrong::Broken("it ended in the middle".to_owned())),
        }
    }
}

impl Cost {
    fn add(&mut self, piece: &Value) {
        let number = |value: &Value| value.as_u64().and_then(|n| u32::try_from(n).ok());
        let (usage, timings) = (&piece["usage"], &piece["timings"]);
        self.prompt = number(&usage["prompt_tokens"]).or(self.prompt);
        self.generated = number(&usage["completion_tokens"]).or(self.generated);
        let cached = number(&usage["prompt_tokens_details"]["cached_tokens"]);
        // llama-server says it there.
        self.cached = cached.or(number(&timings["cache_n"])).or(self.cached);
    }
}

/// What a server says is wrong, in the shapes in which servers say it.
pub fn complaint(value: &Value) -> Option<String> {
    let error = &value["error"];
    let text = [
        &error["message"],
        error,
        &value["detail"],
        // Only with the mark of an error: a message of the model is one, too.
        if value["object"] == "error" {
            &value["message"]
        } else {
            &Value::Null
        },
    ]
    .into_iter()
    .find_map(Value::as_str);
    if let Some(text) = text {
        return Some(text.to_owned());
    }
    let lists = [
        &error["detail"],
        &value["detail"],
        &error["message"]["detail"],
        &value["message"]["detail"],
    ];
    match lists.into_iter().find_map(Value::as_array) {
        Some(list) => Some(list.iter().take(8).map(located).collect::<Vec<_>>().join("; ")),
        None => error.is_object().then(|| error.to_string()),
    }
}

/// One of the complaints of a list: where and what. What was sent stands in it, too, and is none of anybody's business.
fn located(one: &Value) -> String {
    let place = one["loc"].as_array().into_iter().flatten();
    let place: Vec<String> = place
        .map(|part| part.as_str().map_or_else(|| part.to_string(), str::to_owned))
        .collect();
    let why = one["msg"].as_str().or(one["type"].as_str()).unwrap_or("is wrong");
    format!("{}: {why}", place.join("."))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde_json::json;

    use super::*;

    /// Gives a few bytes at a time, as a network may.
    struct Slow<'a>(&'a [u8], usize);

    impl Read for Slow<'_> {
        fn read(&mut self, to: &mut [u8]) -> std::io::Result<usize> {
            let n = self.1.min(self.0.len()).min(to.len());
            to[..n].copy_from_slice(&self.0[..n]);
            self.0 = &self.0[n..];
            Ok(n)
        }
    }

    fn stream(pieces: &[Value]) -> String {
        let mut text: String = pieces.iter().map(|piece| format!("data: {piece}\n\n")).collect();
        text.push_str("data: [DONE]\n\n");
        text
    }

    fn delta(delta: Value) -> Value {
        json!({"choices": [{"index": 0, "delta": delta, "finish_reason": null}]})
    }

    fn end(reason: &str) -> Value {
        json!({"choices": [{"index": 0, "delta": {}, "finish_reason": reason}]})
    }

    /// Reads it at once and bit by bit, which comes to the same.
    fn read(text: &str) -> Result<Answer, Wrong> {
        let timeless = |answer: Answer| Answer {
            began: None,
            ..answer
        };
        let fast = events(text.as_bytes(), &mut |_| true).map(timeless);
        for step in [1, 7] {
            assert_eq!(
                events(Slow(text.as_bytes(), step), &mut |_| true).map(timeless),
                fast
            );
        }
        fast
    }

    fn called(name: &str, arguments: &str) -> Option<Call> {
        Some(Call {
            name: name.into(),
            arguments: arguments.into(),
        })
    }

    #[test]
    fn words_come_in_pieces() {
        let usage = json!({"choices": [], "usage": {
            "prompt_tokens": 90, "completion_tokens": 4, "prompt_tokens_details": {"cached_tokens": 70},
        }});
        let text = stream(&[
            delta(json!({"role": "assistant", "content": null})),
            delta(json!({"reasoning_content": "hm"})),
            delta(json!({"content": "It is "})),
            delta(json!({"content": "nine é."})),
            end("stop"),
            usage,
        ]);
        let mut heard = Vec::new();
        let answer = events(text.as_bytes(), &mut |t| {
            heard.push(t.to_owned());
            true
        });
        let answer = answer.unwrap();
        assert!(answer.began.is_some());
        let answer = Answer {
            began: None,
            ..answer
        };
        assert_eq!((answer.text.as_str(), answer.cut), ("It is nine é.", false));
        assert_eq!(heard, ["It is ", "nine é."]);
        let cost = Cost {
            prompt: Some(90),
            cached: Some(70),
            generated: Some(4),
        };
        assert_eq!(answer.cost, cost);
        assert_eq!(read(&text).unwrap(), answer);
        assert_eq!(read(&text.replace('\n', "\r\n")).unwrap(), answer);
        let pinged = text.replace("data: ", ": ping\n\nevent: x\ndata:");
        assert_eq!(read(&pinged).unwrap(), answer);
    }

    #[test]
    fn calls_come_in_pieces_and_the_first_one_counts() {
        let part = |index, function| delta(json!({"tool_calls": [{"index": index, "function": function}]}));
        let text = stream(&[
            part(0, json!({"name": "calendar_query", "arguments": ""})),
            part(0, json!({"arguments": "{\"when\": \"to"})),
            part(1, json!({"name": "mail_send", "arguments": "{}"})),
            part(0, json!({"arguments": "morrow\"}"})),
            end("tool_calls"),
        ]);
        assert_eq!(
            read(&text).unwrap().call,
            called("calendar_query", "{\"when\": \"tomorrow\"}")
        );
        // Without an index, whole calls.
        let whole = |id, name| json!({"id": id, "function": {"name": name, "arguments": {"a": 1}}});
        let text = stream(&[
            delta(json!({"tool_calls": [whole("x", "a"), whole("y", "b")]})),
            end("stop"),
        ]);
        assert_eq!(read(&text).unwrap().call, called("a", "{\"a\":1}"));
    }

    #[test]
    fn who_only_writes_line_breaks_has_ended() {
        let said = "```json\n{}\n```\n\n\n\n";
        let words = |text: &str| delta(json!({"content": text}));
        let text = stream(&[words("\n\n\n\n"), words(said), words("never read")]);
        assert_eq!(read(&text).unwrap().text, format!("\n\n\n\n{said}"));
    }

    #[test]
    fn what_is_no_answer_is_refused() {
        #[track_caller]
        fn check(text: &str, expect: &Wrong) {
            assert_eq!(read(text).unwrap_err(), *expect, "{:.80}", text);
        }
        let broken = Wrong::Broken("it ended in the middle".into());
        check("", &broken);
        check(
            &format!("data: {}\n\n", delta(json!({"content": "half"}))),
            &broken,
        );
        check("data: [DONE]\n\n", &broken);
        check("data: {\n\n", &Wrong::Garbage);
        check("<html>\n<body>\n", &broken);
        check(
            "data: {\"error\": {\"message\": \"out of memory\"}}\n\n",
            &Wrong::Complaint("out of memory".into()),
        );
        check(&"data: x\n".repeat(200_000), &Wrong::Endless);
        check(&format!("data: {}", "x".repeat(MAX_LINE)), &Wrong::Endless);
        check(&": ping\n".repeat(1_300_000), &Wrong::Endless);
        let flood = delta(json!({"content": "a".repeat(1000)}));
        check(&stream(&vec![flood; 100]), &Wrong::Endless);
        let flood = delta(json!({"tool_calls": [{"index": 0, "function": {"arguments": "a".repeat(1000)}}]}));
        check(&stream(&vec![flood; 100]), &Wrong::Endless);
        for odd in [
            "[]",
            "1",
            "null",
            "{\"choices\": 3}",
            "{\"choices\": [[]]}",
            "\"x\"",
        ] {
            check(&format!("data: {odd}\n\n"), &broken);
        }
        let deep = format!("data: {}\n\n", "[".repeat(100_000));
        check(&deep, &Wrong::Garbage);
    }

    #[test]
    fn a_document_is_an_answer_too() {
        let read = |value: Value| document(value.to_string().as_bytes(), &mut |_| true);
        let answer = read(json!({"choices": [{"message": {"content": "Yes."}, "finish_reason": "length"}]}));
        let answer = answer.unwrap();
        assert_eq!((answer.text.as_str(), answer.cut), ("Yes.", true));
        let call = json!({"function": {"name": "a", "arguments": "{}"}});
        let answer = read(json!({"choices": [{"message": {"content": null, "tool_calls": [call]}}]}));
        assert_eq!(answer.unwrap().call, called("a", "{}"));
        assert_eq!(read(json!({})).unwrap_err(), Wrong::Garbage);
        assert_eq!(read(json!({"choices": []})).unwrap_err(), Wrong::Garbage);
        assert_eq!(
            read(json!({"detail": "no"})).unwrap_err(),
            Wrong::Complaint("no".into())
        );
        let endless = std::io::repeat(b' ');
        assert_eq!(document(endless, &mut |_| true).unwrap_err(), Wrong::Endless);
    }

    #[test]
    fn complaints_have_many_shapes() {
        for shape in [
            json!({"error": {"message": "why", "type": "x"}}),
            json!({"error": "why"}),
            json!({"object": "error", "message": "why"}),
            json!({"detail": "why"}),
        ] {
            assert_eq!(complaint(&shape).as_deref(), Some("why"));
        }
        let detail = json!([{"type": "extra_forbidden", "loc": ["body", "seed"], "msg": "not permitted", "input": "secret"}]);
        for shape in [
            json!({"detail": detail}),
            json!({"object": "error", "message": {"detail": detail}}),
        ] {
            assert_eq!(complaint(&shape).as_deref(), Some("body.seed: not permitted"));
        }
        assert_eq!(complaint(&json!({"message": "hello"})), None);
        assert_eq!(complaint(&json!({"error": null})), None);
    }

    proptest! {
        #[test]
        fn no_stream_panics(text in "(data: |\\n|\\{\"choices\": \\[\\{\"delta\": |\\{\"content\": \"a\"\\}|\\}\\]\\}|.){0,60}") {
            let _ = read(&text);
        }
    }
}
