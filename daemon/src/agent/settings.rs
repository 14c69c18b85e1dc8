//! The knobs of the agent, all from the config, and what they are when nobody set them.

use prompts::Placement;

use super::toolbox::Loading;

/// The knobs, all from the config.
#[derive(Debug, Clone)]
pub struct Settings {
    /// Which tools stay out of the prompt until discovered.
    pub loading: Loading,
    /// Where section 3 stands.
    pub placement: Placement,
    /// Whether catalogue rows carry summaries.
    pub catalog_summaries: bool,
    /// About how many tokens the catalogue may take.
    pub catalog_tokens: Option<u32>,
    /// Whether the person's words go through the index before the first step.
    pub pre_discover: bool,
    /// At most this many tools are loaded ahead.
    pub top_k: usize,
    /// How well the person's words must fit a tool before it is loaded ahead.
    pub show_score: f32,
    /// How well they must fit some tool before the model has to call one. Small models talk about tools instead of
    /// calling them, and they cannot tell whether to act (DESIGN section 8): that is decided here, outside the model.
    pub act_score: f32,
    /// How well the parts of a sentence must fit tools for it to be taken as several requests.
    pub split_score: f32,
    /// How much the index counts beside the model when one of several tools must be called: the model's log-probability
    /// of the name and this many times the logarithm of the odds that the index gives it decide together.
    pub rank_weight: f32,
    /// Business calls a turn.
    pub max_calls: usize,
    /// Discover calls a turn.
    pub max_discover: usize,
    /// Where the answer after a successful call comes from.
    pub answer: Answer,
    /// What happens when no tool surely fits.
    pub unsure: IfUnsure,
    /// Whether words that are completely a pattern of a tool are carried out without the model.
    pub reflex: bool,
}

/// What happens when no tool surely fits what the person said.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum IfUnsure {
    /// Tiro asks whether the likeliest tool is meant, or says that it cannot do that. Small models answer out of the
    /// blue instead, or call what nobody asked for.
    Ask,
    /// The model decides. What it says without a call is told where it claims nothing (`checked::talk`).
    Model,
}

/// Where the answer after a successful call comes from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Answer {
    /// The tool's own sentence, true by construction, and no second generation.
    Tool,
    /// The model words it, and may call another tool first. Words that say more than what was done give way to the tool's (`checked`).
    Model,
}

impl Default for Settings {
    fn default() -> Settings {
        Settings {
            loading: Loading::default(),
            placement: Placement::Tail,
            catalog_summaries: false,
            catalog_tokens: Some(CATALOG_TOKENS),
            pre_discover: true,
            top_k: 3,
            show_score: tools::discover::SHOW_SCORE,
            act_score: tools::discover::ACT_SCORE,
            split_score: SPLIT_SCORE,
            rank_weight: RANK_WEIGHT,
            max_calls: 3,
            max_discover: 3,
            answer: Answer::Tool,
            unsure: IfUnsure::Ask,
            reflex: true,
        }
    }
}

/// How much the index counts beside the model when one of several tools is called. Both are right more often than
/// either alone, with the index counting double (DESIGN section 8); the model alone wavers between neighbours such as
/// calendar.query and calendar.find_slots with the minute that the prompt names.
const RANK_WEIGHT: f32 = 2.0;

/// A sentence is cut only where both sides are as sure as this: a wrong cut does what nobody asked for.
pub const SPLIT_SCORE: f32 = 0.4;

/// Tokens of the catalogue: every tool of ours has its name in it, and its domain one line.
pub const CATALOG_TOKENS: u32 = 225;
