//! Asking back: what is not clear gets one short question, what nothing serves one honest sentence.
//!
//! Both are decided by the index and cost no generation. Left to itself a small model answers such requests out of the
//! blue, or claims to have looked.

use prompts::words;
use tools::discover::Match;

use super::{Agent, Call, Ending, IfUnsure, Step};
use crate::reply::yes_or_no;

/// What was asked back about.
#[derive(Clone)]
pub(super) struct Unsure {
    pub(super) said: String,
    pub(super) tool: String,
    /// The whole call, where it is known.
    pub(super) call: Option<Call>,
}

/// What the person means now.
pub(super) struct Answer {
    /// The request: what was asked about, when they said yes.
    pub text: String,
    /// The tool that they agreed to.
    pub tool: Option<String>,
    /// The call that they agreed to.
    pub call: Option<Call>,
    /// Whether they said no.
    pub no: bool,
}

impl Agent {
    /// Whether what is not clear is asked. Where no score is enough to act on, the model decides everything.
    pub(super) fn asks_back(&self) -> bool {
        self.settings.unsure == IfUnsure::Ask && self.settings.act_score < 1.0
    }

    /// Whether Tiro itself decides what goes on from the turn before.
    pub(super) fn asks_first(&self) -> bool {
        self.settings.unsure == IfUnsure::Ask
    }

    /// Reads words as an answer to the question that is open, if they are one. What is neither yes nor no is a new
    /// request. A guest neither answers the person's question nor takes it away.
    pub(super) fn answer_to(&mut self, text: String, guest: bool) -> Answer {
        let open = match guest {
            true => None,
            false => self.unsure.take(),
        };
        let usual = |text| Answer {
            text,
            tool: None,
            call: None,
            no: false,
        };
        match (open, yes_or_no(&text)) {
            (Some(unsure), Some(true)) => {
                // The request is said again as a whole, so its texts are copied from it alone.
                self.talk.settle_question();
                Answer {
                    text: unsure.said,
                    tool: Some(unsure.tool),
                    call: unsure.call,
                    no: false,
                }
            }
            (Some(_), Some(false)) => Answer {
                no: true,
                ..usual(text)
            },
            _ => usual(text),
        }
    }

    /// Asks whether this tool is meant, or says that nothing fits. The turn is open. Nobody's yes does what a guest said.
    pub(super) fn ask_back(&mut self, said: String, best: Option<Match>, guest: bool) -> Step {
        let likely = best.filter(|best| best.score >= self.settings.show_score);
        let Some(entry) = likely.and_then(|best| self.toolbox.find(&best.name)) else {
            return self.reply(words::no_tool(), Ending::CouldNot);
        };
        if !guest {
            self.unsure = Some(Unsure {
                said,
                tool: entry.name.to_owned(),
                call: None,
            });
        }
        self.reply(words::do_you_mean(entry.summary), Ending::CouldNot)
    }
}

/// The tool that the person agreed to is sure, and nothing else fits better.
pub(super) fn agreed(fit: Vec<Match>, tool: &str) -> Vec<Match> {
    let mut fit = fit;
    fit.retain(|hit| hit.name == tool);
    for hit in &mut fit {
        hit.score = 1.0;
    }
    fit
}
