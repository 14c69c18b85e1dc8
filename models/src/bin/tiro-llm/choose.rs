//! Choosing the next token: greedy or by chance, within a grammar.

use llama_cpp_2::{
    GrammarError,
    context::LlamaContext,
    model::LlamaModel,
    sampling::LlamaSampler,
    token::{LlamaToken, data::LlamaTokenData, data_array::LlamaTokenDataArray},
};
use models::{EngineError, llm::Generate, logits};

/// So many of the likeliest tokens are checked one by one before the grammar is applied to the whole vocabulary.
const TRIED: usize = 100;

/// Chooses tokens for one generation.
pub(crate) struct Chooser {
    grammar: Option<LlamaSampler>,
    chance: Option<LlamaSampler>,
}

impl Chooser {
    /// # Errors
    /// `Refused` when the grammar is broken.
    pub(crate) fn new(
        model: &LlamaModel,
        grammar: Option<&str>,
        request: &Generate,
    ) -> Result<Chooser, EngineError> {
        let grammar = match grammar {
            Some(text) => Some(LlamaSampler::grammar(model, text, "root").map_err(|e| broken_grammar(&e))?),
            None => None,
        };
        let chance = (request.temperature > 0.0).then(|| {
            LlamaSampler::chain(
                [
                    LlamaSampler::temp(request.temperature),
                    LlamaSampler::dist(request.seed),
                ],
                true,
            )
        });
        Ok(Chooser { grammar, chance })
    }

    /// The next token after the last evaluated one. The model's own choice is checked against the grammar first. When it is
    /// not allowed, a greedy choice goes down the likeliest ones, and only when none of those is, or chance has a say, is the grammar
    /// applied to the whole vocabulary, which takes 20 ms (`docs/eval.md`, "How the grammar is held to"). For greedy choice the
    /// result is the same, and choosing again among the allowed is the same distribution.
    ///
    /// # Errors
    /// `Refused` when the grammar allows nothing more.
    pub(crate) fn choose(&mut self, context: &LlamaContext<'_>) -> Result<LlamaToken, EngineError> {
        let free = match &mut self.chance {
            None => logits::best(context.get_logits_ith(-1)).map(LlamaToken),
            Some(chance) => pick(chance, &mut context.token_data_array_ith(-1)),
        };
        let Some(grammar) = &mut self.grammar else {
            return free.ok_or_else(nothing_left);
        };
        let mut allowed = free.filter(|token| allows(grammar, *token));
        if allowed.is_none() && self.chance.is_none() {
            let likeliest = logits::likeliest(context.get_logits_ith(-1), TRIED);
            allowed = likeliest
                .into_iter()
                .map(LlamaToken)
                .find(|token| allows(grammar, *token));
        }
        let token = match allowed {
            Some(token) => token,
            None => {
                let mut all = context.token_data_array_ith(-1);
                all.apply_sampler(grammar);
                all.data.retain(|candidate| candidate.logit() > f32::NEG_INFINITY);
                all.selected = None;
                match &mut self.chance {
                    None => most_likely(&all.data),
                    Some(_) if all.data.is_empty() => None,
                    Some(chance) => pick(chance, &mut all),
                }
                .ok_or_else(nothing_left)?
            }
        };
        // It was seen to be allowed: llama.cpp ends the process where a token is accepted that is not.
        grammar.accept(token);
        Ok(token)
    }

    /// A token was written without being chosen.
    ///
    /// # Errors
    /// `Refused` when the grammar does not allow it.
    pub(crate) fn accept(&mut self, token: LlamaToken) -> Result<(), EngineError> {
        if let Some(grammar) = &mut self.grammar {
            if !allows(grammar, token) {
                return Err(nothing_left());
            }
            grammar.accept(token);
        }
        Ok(())
    }
}

/// The log-probability of each of these tokens, by the softmax of all logits.
pub(crate) fn likely(logits: &[f32], tokens: &[LlamaToken]) -> Vec<f32> {
    let highest = logits.iter().copied().fold(f32::NEG_INFINITY, f32::max);
    let total: f32 = logits.iter().map(|logit| (logit - highest).exp()).sum();
    let of = |token: &LlamaToken| {
        let logit = usize::try_from(token.0).ok().and_then(|i| logits.get(i));
        logit.map_or(f32::NEG_INFINITY, |logit| logit - highest - total.ln())
    };
    tokens.iter().map(of).collect()
}

fn most_likely(candidates: &[LlamaTokenData]) -> Option<LlamaToken> {
    let best = candidates.iter().max_by(|a, b| a.logit().total_cmp(&b.logit()));
    best.map(LlamaTokenData::id)
}

fn pick(chance: &mut LlamaSampler, candidates: &mut LlamaTokenDataArray) -> Option<LlamaToken> {
    candidates.apply_sampler(chance);
    candidates.selected_token()
}

fn allows(grammar: &mut LlamaSampler, token: LlamaToken) -> bool {
    let mut one = LlamaTokenDataArray::new(vec![LlamaTokenData::new(token, 1.0, 0.0)], false);
    one.apply_sampler(grammar);
    one.data
        .first()
        .is_some_and(|candidate| candidate.logit() > f32::NEG_INFINITY)
}

fn broken_grammar(error: &GrammarError) -> EngineError {
    let said = models::nativelog::take_last_error();
    let reason = said.unwrap_or_else(|| error.to_string());
    EngineError::Refused(format!("The grammar is broken: {reason}."))
}

fn nothing_left() -> EngineError {
    EngineError::Refused("The grammar allows no token that the model knows.".into())
}
