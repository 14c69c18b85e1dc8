//! Gemma 2, 3 and 3n: a bare JSON object with `name` and `parameters`. These have no marks for tools and no place for them in
//! their template; the wording is that of Google's guide (ai.google.dev/gemma/docs/capabilities/function-calling, the variant in
//! JSON). Models of the family that do have marks are in `functiongemma.rs`.

use serde_json::Value;

use super::{
    Dialect, Frame, ParseError, Parsed, Shown, function,
    hermes::Hermes,
    listed,
    llama3::{Llama3, bare_call},
    read,
};
use crate::{Card, Piece, render::Text};

/// See the top of the file.
pub struct Gemma;

const HEAD: &str = "You have access to functions. If you decide to invoke any of the function(s), you MUST put it in the \
format of\n{\"name\": function name, \"parameters\": dictionary of argument name and its value}\n\nYou SHOULD NOT include \
any other text in the response if you call a function\n";

impl Dialect for Gemma {
    fn name(&self) -> &'static str {
        "gemma"
    }

    fn tools(&self, cards: &[Card]) -> Vec<Piece> {
        let mut text = Text::default();
        text.control(HEAD)
            .words(&format!("[{}]", listed(cards, ", ", self, function)));
        text.into_pieces()
    }

    fn found(&self, cards: &[Card]) -> Shown {
        Shown::as_words(cards, self)
    }

    fn call(&self, name: &str, arguments: &Value) -> Vec<Piece> {
        bare_call(name, arguments, self.tags())
    }

    /// The guide leaves the form of results open, and the models know no role but the person's for them. Google's runtime for 3n
    /// (LiteRT-LM, prompt_template_utils.cc) puts them into a code fence, which any text can close; these tags, those of vLLM's
    /// template for Gemma 3 (examples/tool_chat_template_gemma3_pythonic.jinja), none can.
    fn result(&self, name: &str, content: Vec<Piece>) -> Vec<Piece> {
        Hermes.result(name, content)
    }

    fn result_role(&self) -> &'static str {
        "user"
    }

    fn frame(&self) -> Frame {
        Llama3.frame()
    }

    /// Left to themselves they put a call into a fence of this kind, and write Python there.
    fn parse(&self, output: &str) -> Result<Parsed, ParseError> {
        read::tagged(output, "```tool_code", read::json_or_python)
    }

    fn tags(&self) -> &'static [&'static str] {
        &["tool_response", "start_of_turn", "end_of_turn", "untrusted"]
    }
}
