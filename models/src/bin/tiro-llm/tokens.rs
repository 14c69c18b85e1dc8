//! Text to tokens and back, with a wall between text that may hold control tokens and text that must not.

use llama_cpp_2::{model::LlamaModel, token::LlamaToken, token_type::LlamaTokenAttr, vocab::LlamaVocab};
use models::{llm::Piece, text::cut_marker};

/// The model's tokenizer.
pub(crate) struct Tokens<'m> {
    vocab: LlamaVocab<'m>,
    bos: Option<LlamaToken>,
}

impl<'m> Tokens<'m> {
    pub(crate) fn new(model: &'m LlamaModel) -> Tokens<'m> {
        let vocab = model.vocab();
        let bos = vocab.should_add_bos().then(|| vocab.bos());
        Tokens { vocab, bos }
    }

    /// Tokens of one stretch.
    pub(crate) fn of(&self, piece: &Piece) -> Vec<LlamaToken> {
        if piece.special {
            return self.vocab.tokenize(piece.text.as_bytes(), false, true);
        }
        let mut tokens = Vec::new();
        self.plain(&piece.text, &mut tokens);
        tokens
    }

    /// Tokens of a prompt, stretch by stretch, with the beginning-of-sequence token when the model wants one.
    pub(crate) fn prompt(&self, pieces: &[Piece]) -> Vec<LlamaToken> {
        self.prompt_with_ends(pieces, &[]).0
    }

    /// The same, and after how many tokens these numbers of leading stretches end.
    pub(crate) fn prompt_with_ends(&self, pieces: &[Piece], ends: &[u32]) -> (Vec<LlamaToken>, Vec<usize>) {
        let mut tokens = Vec::new();
        let mut lengths = vec![0];
        for piece in pieces {
            tokens.extend(self.of(piece));
            lengths.push(tokens.len());
        }
        // A template that writes the token itself must not lead to two of them.
        if let Some(bos) = self.bos
            && tokens.first() != Some(&bos)
        {
            tokens.insert(0, bos);
            lengths.iter_mut().for_each(|length| *length += 1);
        }
        let ends = ends.iter().filter_map(|end| lengths.get(*end as usize).copied());
        (tokens, ends.collect())
    }

    /// The bytes of a token; control tokens are written out, because dialects of tool calls use them.
    pub(crate) fn bytes(&self, token: LlamaToken) -> Vec<u8> {
        self.vocab.token_to_piece(token, true, None)
    }

    /// Whether the token ends the model's turn.
    pub(crate) fn ends(&self, token: LlamaToken) -> bool {
        self.vocab.is_eog(token)
    }

    /// Text of the beginning- and end-of-sequence tokens; empty where the model has none.
    pub(crate) fn edges(&self) -> (String, String) {
        let text = |token: LlamaToken| match token.0 {
            ..0 => String::new(),
            _ => String::from_utf8_lossy(&self.bytes(token)).into_owned(),
        };
        (self.bos.map(text).unwrap_or_default(), text(self.vocab.eos()))
    }

    /// llama.cpp parses USER_DEFINED tokens (`<tool_call>` in Qwen) even where special tokens are off. So whatever
    /// comes out as a marker is cut inside its text and tokenised again.
    fn plain(&self, text: &str, tokens: &mut Vec<LlamaToken>) {
        let found = self.vocab.tokenize(text.as_bytes(), false, false);
        let marker = found.iter().find_map(|token| self.marker(*token));
        let parts = marker.map(|marker| cut_marker(text, &marker)).unwrap_or_default();
        if parts.len() < 2 {
            tokens.extend(found);
            return;
        }
        for part in parts {
            self.plain(part, tokens);
        }
    }

    /// The text of a token that carries markup. Runs of blanks are user-defined tokens in some vocabularies and
    /// carry none.
    fn marker(&self, token: LlamaToken) -> Option<String> {
        let attributes = self.vocab.attr(token);
        let marks =
            attributes.contains(LlamaTokenAttr::UserDefined) || attributes.contains(LlamaTokenAttr::Control);
        let text = marks.then(|| String::from_utf8_lossy(&self.bytes(token)).into_owned())?;
        (!text.trim().is_empty()).then_some(text)
    }
}
