//! Mistral: `[AVAILABLE_TOOLS]`, `[TOOL_CALLS]`, `[TOOL_RESULTS]`, in the four forms that they had since version 3 of the
//! tokenizer.
//!
//! The bytes are those of mistral-common (src/mistral_common/tokens/tokenizers/instruct.py, `InstructTokenizerV3` to `V13`) as
//! its templates for Tekken have them (tests/data/chat_templates). Those for SentencePiece have a blank behind each mark, which
//! llama.cpp adds by itself. There the tools stand before a message of the person; here they stand in the system message, which
//! is the prefix that stays. A result is no message: it stands behind the call, and the model goes on behind it.

use serde::de::IgnoredAny;
use serde_json::Value;

use super::{Dialect, Form, Frame, OWN_TURN, ParseError, Parsed, Shown, listed, plain_name, read, signature};
use crate::{Card, Piece, render::Text};

/// See the top of the file.
pub struct Mistral {
    name: &'static str,
    frame: Frame,
    /// What stands before and after a result.
    result: [&'static str; 2],
    /// Whether the result is a value in JSON.
    quoted: bool,
}

const CALLS: &str = "[TOOL_CALLS]";

/// One call a turn, so one name does for all of them: nine letters and digits, or the templates refuse it.
const LISTED: Frame = Frame {
    open: "[TOOL_CALLS][{\"name\": \"",
    middle: "\", \"arguments\": ",
    close: ", \"id\": \"call00001\"}]",
    // mistral-common refuses a name with anything else in it.
    wire_name: plain_name,
    form: Form::Json,
};

/// Mistral 7B v0.3, Mixtral 8x22B, Nemo, Ministral 2410.
pub static V3: Mistral = Mistral {
    name: "mistral-v3",
    frame: LISTED,
    // The call is a message that ended.
    result: [
        "</s>[TOOL_RESULTS]{\"content\": ",
        ", \"call_id\": \"call00001\"}[/TOOL_RESULTS]",
    ],
    quoted: true,
};

/// Mistral Large 2411, Small 3 and 3.1.
pub static V7: Mistral = Mistral {
    name: "mistral-v7",
    frame: LISTED,
    result: ["</s>[TOOL_RESULTS]call00001[TOOL_CONTENT]", "[/TOOL_RESULTS]"],
    quoted: false,
};

/// Small 3.2, Devstral and Magistral of the summer of 2025.
pub static V11: Mistral = Mistral {
    name: "mistral-v11",
    frame: Frame {
        open: CALLS,
        middle: "[CALL_ID]call00001[ARGS]",
        close: "",
        ..LISTED
    },
    ..V7
};

/// Everything after that.
pub static V13: Mistral = Mistral {
    name: "mistral-v13",
    frame: Frame {
        open: CALLS,
        middle: "[ARGS]",
        close: "",
        ..LISTED
    },
    result: ["</s>[TOOL_RESULTS]", "[/TOOL_RESULTS]"],
    quoted: false,
};

impl Dialect for Mistral {
    fn name(&self) -> &'static str {
        self.name
    }

    fn tools(&self, cards: &[Card]) -> Vec<Piece> {
        let mut text = Text::default();
        text.control("[AVAILABLE_TOOLS]")
            .words(&format!("[{}]", listed(cards, ", ", self, signature)))
            .control("[/AVAILABLE_TOOLS]");
        text.into_pieces()
    }

    fn found(&self, cards: &[Card]) -> Shown {
        Shown::as_words(cards, self)
    }

    fn call(&self, name: &str, arguments: &Value) -> Vec<Piece> {
        let Frame {
            open,
            middle,
            close,
            form,
            ..
        } = self.frame;
        let name = plain_name(name);
        let mut text = Text::default();
        text.control(CALLS)
            .words(&format!("{}{name}", &open[CALLS.len()..]));
        match self.names_apart() {
            true => text.control(middle),
            false => text.words(middle),
        };
        form.write(&mut text, arguments, self.tags());
        text.words(close);
        text.into_pieces()
    }

    fn result(&self, _name: &str, content: Vec<Piece>) -> Vec<Piece> {
        let [before, after] = self.result;
        let mut text = Text::default();
        text.control(before);
        match &content[..] {
            _ if !self.quoted => _ = text.pieces(content),
            [one] if !one.special && serde_json::from_str::<IgnoredAny>(&one.text).is_ok() => {
                text.words(&one.text);
            }
            _ => quote(&mut text, &content),
        }
        text.control(after);
        text.into_pieces()
    }

    fn result_role(&self) -> &'static str {
        OWN_TURN
    }

    fn frame(&self) -> Frame {
        self.frame
    }

    fn example(&self, name: &str, arguments: &Value) -> Vec<Piece> {
        let mut text = Text::default();
        match self.names_apart() {
            true => text.words(&plain_name(name)),
            false => text.words(&format!(
                "{{\"name\": \"{}{}",
                plain_name(name),
                self.frame.middle
            )),
        };
        self.frame.form.write(&mut text, arguments, self.tags());
        text.words(if self.names_apart() { "" } else { "}" });
        text.into_pieces()
    }

    fn parse(&self, output: &str) -> Result<Parsed, ParseError> {
        read::tagged(output, CALLS, call)
    }

    fn tags(&self) -> &'static [&'static str] {
        &[
            "[AVAILABLE_TOOLS",
            "[TOOL_",
            "[CALL_ID",
            "[ARGS",
            "[INST",
            "[SYSTEM_PROMPT",
            "[THINK",
            "s>",
            "untrusted",
        ]
    }
}

impl Mistral {
    /// Whether a mark stands between the name and the arguments, and no list around them.
    fn names_apart(&self) -> bool {
        self.frame.close.is_empty()
    }
}

/// A text as JSON, stretch by stretch.
fn quote(text: &mut Text, content: &[Piece]) {
    text.words("\"");
    for piece in content {
        let quoted = Value::from(piece.text.as_str()).to_string();
        let inside = &quoted[1..quoted.len() - 1];
        match piece.special {
            true => text.control(inside),
            false => text.words(inside),
        };
    }
    text.words("\"");
}

/// A call in any of the forms, as small models mix them: a list in JSON, or a name and what stands before its arguments.
fn call(body: &str) -> Result<Parsed, ParseError> {
    if body.starts_with(['[', '{']) {
        return read::json(body);
    }
    let (name, rest) = match body.find(['[', '{']) {
        Some(at) => body.split_at(at),
        None => return Err(ParseError::Shape),
    };
    let rest = match rest.starts_with('[') {
        true => rest.split_once("[ARGS]").ok_or(ParseError::Shape)?.1,
        false => rest,
    };
    let arguments = read::leading_json(rest.trim_start())?;
    match name.trim() {
        "" => Err(ParseError::Shape),
        name if arguments.is_object() => Ok(Parsed::Call {
            name: name.to_owned(),
            arguments,
        }),
        _ => Err(ParseError::Shape),
    }
}
