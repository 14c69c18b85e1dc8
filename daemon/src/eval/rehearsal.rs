//! A model that makes no mistakes: it calls what the scenario wants, with arguments that match.
//!
//! With it a scenario file is checked without weights in milliseconds: the tools exist and take such arguments, the
//! checks of the world hold once the right thing was done, and the state machine leads there. It says nothing about the
//! quality of a model.

use std::{
    collections::VecDeque,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use models::{
    llm::ModelInfo,
    scripted::{Reply, ScriptedLlm},
};
use serde_json::{Map, Value};

use super::scenario::{Scenario, Turn};
use crate::agent::{Settings, toolbox::Loading};

/// ChatML, for a model that writes calls as Hermes and Qwen do; the remark is what tells.
const TEMPLATE: &str = "{# <tool_call> #}{% for message in messages %}<|im_start|>{{ message.role }}\n\
    {{ message.content }}<|im_end|>\n{% endfor %}{% if add_generation_prompt %}<|im_start|>assistant\n{% endif %}";

/// What the model will still do.
#[derive(Debug, Clone, Default)]
pub struct Lines(Arc<Mutex<Script>>);

#[derive(Debug, Default)]
struct Script {
    /// What it does in each turn.
    turns: Vec<VecDeque<String>>,
    /// What it will still do in this one.
    now: VecDeque<String>,
}

impl Lines {
    /// The model that follows them, and says that it can do no more when there are none.
    pub fn model(&self) -> ScriptedLlm {
        let lines = self.clone();
        let model = ScriptedLlm::answering(move |_| {
            let next = lock(&lines.0).now.pop_front();
            Reply::Text(next.unwrap_or_else(|| "I cannot do that.".to_owned()))
        });
        model.with_info(ModelInfo {
            name: "rehearsal".to_owned(),
            architecture: "scripted".to_owned(),
            chat_template: Some(TEMPLATE.to_owned()),
            eos: "<|im_end|>".to_owned(),
            context: 32_768,
            device: "script".to_owned(),
            sandbox: "none".to_owned(),
            binding: "0".to_owned(),
            ..ModelInfo::default()
        })
    }

    /// What it does in these turns.
    pub fn learn(&self, scenario: &Scenario) {
        let mut script = lock(&self.0);
        script.now.clear();
        script.turns = scenario.turns.iter().map(|turn| calls(turn).into()).collect();
    }

    /// A turn begins, counted from 0. What it was not asked for in the one before, it does not do any more.
    pub fn begin(&self, turn: usize) {
        let mut script = lock(&self.0);
        script.now = script.turns.get_mut(turn).map(std::mem::take).unwrap_or_default();
    }
}

/// The knobs with which such a model is asked once a call: every tool is there, and none is chosen for it.
pub fn settings(usual: Settings) -> Settings {
    Settings {
        pre_discover: false,
        // What it does is written down call by call, so it must be asked for each.
        reflex: false,
        act_score: 2.0,
        loading: Loading {
            lazy: false,
            ..usual.loading
        },
        ..usual
    }
}

fn calls(turn: &Turn) -> Vec<String> {
    let one = turn.args.keys().next().or(turn.accept.first());
    let names: Vec<&String> = match turn.all.is_empty() {
        true => one.into_iter().collect(),
        false => turn.all.iter().collect(),
    };
    if names.is_empty() {
        return vec!["I cannot do that.".to_owned()];
    }
    let nth = |at: usize| names[..at].iter().filter(|name| **name == names[at]).count();
    (0..names.len())
        .map(|at| call(names[at], nth(at), turn))
        .collect()
}

/// The call of a tool, after so many of it.
fn call(name: &str, nth: usize, turn: &Turn) -> String {
    let mut arguments = Map::new();
    let each = turn.each.get(name).and_then(|each| each.get(nth));
    let own = each.or(turn.args.get(name));
    for (argument, matcher) in own.into_iter().flatten() {
        if let Some(value) = matcher.witness() {
            arguments.insert(argument.clone(), value);
        }
    }
    let call = serde_json::json!({"name": name, "arguments": Value::Object(arguments)});
    format!("<tool_call>\n{call}\n</tool_call>")
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
