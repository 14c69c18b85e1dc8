//! What is sent, and what of it a server may refuse: not every server knows every field, and one that does not may say so
//! instead of ignoring it. Then the request goes again without that field, and so does every later one.

use std::collections::BTreeSet;

use serde_json::{Map, Value, json};

use super::answer::NOTHING_MORE;
use crate::llm::{Chat, ChatMessage, ChatTool, Generate};

/// Fields that a request can do without. The name is what the server's complaint mentions.
const DISPENSABLE: &[&str] = &[
    "tool_choice",
    "parallel_tool_calls",
    "stream_options",
    "max_tokens",
    "temperature",
    "seed",
    SCHEMA,
    "stop",
];

/// The field that holds the answer to a schema.
const SCHEMA: &str = "response_format";

/// How this server has to be asked, as far as it is known.
#[derive(Debug, Clone, Default)]
pub struct Manner {
    /// Fields that it refused.
    pub without: BTreeSet<&'static str>,
    /// Whether its model answers in words although a call is required, so that the words have to be a call. Seen with
    /// llama-server and a model whose template it cannot read calls of.
    pub by_schema: bool,
}

impl Manner {
    /// The field that a complaint is about, if it was sent and can be done without.
    pub fn refused(&self, complaint: &str) -> Option<&'static str> {
        let complaint = complaint.to_lowercase();
        let meant = |field: &&&str| match **field {
            SCHEMA => {
                self.by_schema
                    && ["response_format", "schema", "grammar"]
                        .iter()
                        .any(|w| complaint.contains(w))
            }
            // "Stopped" is no complaint about `stop`.
            field => has_words(&complaint, field) || has_words(&complaint, &field.replace('_', " ")),
        };
        let mut sent = DISPENSABLE.iter().filter(|field| !self.without.contains(*field));
        sent.find(meant).copied()
    }

    /// Whether words have to be a call where one is required; what cannot be asked for again is not.
    pub fn holds_to_calls(&self) -> bool {
        self.by_schema || self.without.contains(SCHEMA)
    }
}

/// Whether a text has this and no letter next to it.
fn has_words(text: &str, words: &str) -> bool {
    let letter = |c: char| c.is_alphanumeric() || c == '_' || c == '-';
    text.match_indices(words)
        .any(|(at, _)| !text[..at].ends_with(letter) && !text[at + words.len()..].starts_with(letter))
}

/// The body of a request.
pub fn body(model: &str, request: &Generate, chat: &Chat, manner: &Manner) -> Value {
    let mut body = Map::new();
    let sends = |field: &str| !manner.without.contains(field);
    body.insert("model".into(), model.into());
    body.insert("messages".into(), chat.messages.iter().map(message).collect());
    body.insert("stream".into(), true.into());
    if sends("stream_options") {
        // Else nobody says what the answer cost.
        body.insert("stream_options".into(), json!({"include_usage": true}));
    }
    // Newer servers of one maker only know the other name.
    let limit = match sends("max_tokens") {
        true => "max_tokens",
        false => "max_completion_tokens",
    };
    body.insert(limit.into(), request.max_tokens.into());
    if sends("temperature") {
        // A float of 32 bits has ugly digits in 64.
        let temperature = (f64::from(request.temperature) * 1e4).round() / 1e4;
        body.insert("temperature".into(), temperature.into());
    }
    if request.temperature > 0.0 && sends("seed") {
        body.insert("seed".into(), request.seed.into());
    }
    if sends("stop") {
        // Where the server ends it, it also says what it cost.
        let stop = request.stop.iter().map(String::as_str).chain([NOTHING_MORE]);
        body.insert("stop".into(), stop.collect());
    }
    if !chat.tools.is_empty() {
        let tools = chat.tools.iter().map(|tool| {
            json!({"type": "function", "function": {
                "name": tool.name, "description": tool.description, "parameters": tool.parameters,
            }})
        });
        body.insert("tools".into(), tools.collect());
        // Not by name where there is one: one tool of which one is required is the same, and llama-server knows no names.
        let choice = match chat.must_call && sends("tool_choice") {
            true => "required",
            false => "auto",
        };
        body.insert("tool_choice".into(), choice.into());
        if sends("parallel_tool_calls") {
            body.insert("parallel_tool_calls".into(), false.into());
        }
        if chat.must_call && manner.by_schema && sends(SCHEMA) {
            let calls: Value = chat.tools.iter().map(call).collect();
            body.insert(
                SCHEMA.into(),
                json!({"type": "json_schema", "json_schema": {"name": "call", "strict": true, "schema": {"anyOf": calls}}}),
            );
        }
    }
    Value::Object(body)
}

/// The schema of a call in words, as it is read where words come instead of one.
fn call(tool: &ChatTool) -> Value {
    json!({
        "type": "object",
        "properties": {"name": {"const": tool.name}, "arguments": tool.parameters},
        "required": ["name", "arguments"],
        "additionalProperties": false,
    })
}

fn message(message: &ChatMessage) -> Value {
    match message {
        ChatMessage::System(text) => json!({"role": "system", "content": text}),
        ChatMessage::User(text) => json!({"role": "user", "content": text}),
        ChatMessage::Assistant(text) => json!({"role": "assistant", "content": text}),
        ChatMessage::Call { id, name, arguments } => json!({
            "role": "assistant",
            // Empty and not absent: templates exist that want a text here.
            "content": "",
            "tool_calls": [
                {"id": id, "type": "function", "function": {"name": name, "arguments": arguments}}
            ],
        }),
        ChatMessage::Result { id, content } => {
            json!({"role": "tool", "tool_call_id": id, "content": content})
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn question() -> (Generate, Chat) {
        let chat = Chat {
            messages: vec![ChatMessage::User("hello".into())],
            tools: vec![ChatTool {
                name: "clock_now".into(),
                description: "Tell the time".into(),
                parameters: json!({"type": "object"}),
            }],
            must_call: true,
            frame: ["", "", ""],
        };
        let request = Generate {
            max_tokens: 64,
            temperature: 0.7,
            seed: 3,
            ..Generate::default()
        };
        (request, chat)
    }

    #[test]
    fn every_field_that_is_refused_goes_and_what_is_left_is_a_request() {
        let (request, chat) = question();
        let mut manner = Manner {
            by_schema: true,
            ..Manner::default()
        };
        let full = body("m", &request, &chat, &manner);
        let schema = &full["response_format"]["json_schema"]["schema"]["anyOf"];
        assert_eq!(schema[0]["properties"]["name"]["const"], "clock_now");
        assert_eq!(full["tool_choice"], "required");
        assert_eq!(full["temperature"], 0.7);
        for field in DISPENSABLE {
            let complaint = format!("Unsupported parameter: '{field}'.");
            assert_eq!(manner.refused(&complaint), Some(*field));
            manner.without.insert(field);
            assert_eq!(manner.refused(&complaint), None, "not twice");
        }
        let bare = body("m", &request, &chat, &manner);
        assert_eq!(
            bare,
            json!({
                "model": "m",
                "messages": [{"role": "user", "content": "hello"}],
                "stream": true,
                "max_completion_tokens": 64,
                "tools": full["tools"],
                "tool_choice": "auto",
            })
        );
        let fresh = Manner::default();
        let choice = "tool choice \"required\" is not there";
        assert_eq!(fresh.refused(choice), Some("tool_choice"));
        assert_eq!(fresh.refused("no such model"), None);
        assert_eq!(
            fresh.refused("the schema of a tool is wrong"),
            None,
            "none was sent"
        );
    }
}
