//! What Tiro makes of words that go on from a turn before, without an engine: each dialogue is led through the right calls,
//! and at each later turn it is asked what would be called, by the index and the rules for such words alone.

use std::sync::Arc;

use daemon::{
    agent::{
        Agent, Ask, Call, Input, Outcome, Settings, Step,
        rules::Asked,
        toolbox::{DISCOVER, Toolbox},
    },
    eval::scenario::{Reader, Turn, Words},
};
use prompts::{Renderer, Template};
use serde_json::{Map, Value, json};
use tools::{Effect, Output, discover::Index};

use crate::home::root;

/// What would become of later turns.
#[derive(Debug, Default)]
struct Counts {
    /// Turns in which a tool is right.
    turns: usize,
    /// A right tool is called, or is what the index would call.
    right: usize,
    /// A right tool is among those of which the model has to call one.
    offered: usize,
    /// The model decides freely.
    free: usize,
    /// Nothing is called.
    none: usize,
    /// The words alone are enough, and right.
    alone: usize,
    /// Turns in which no tool may act, and those in which one would.
    quiet: usize,
    acted: usize,
}

/// What is decided before any model writes.
enum Decided {
    /// One of these is called, the likeliest first.
    Calls(Vec<String>),
    Free,
    Nothing,
}

#[test]
fn what_goes_on_from_a_turn_is_called_without_the_model() {
    let index = Arc::new(Index::of(tools::ALL));
    let mut seen = Vec::new();
    for file in ["followups.jsonl", "dialogues.jsonl"] {
        let path = root().join("tests/scenarios").join(file);
        let mut counts = Counts::default();
        for scenario in Reader::new("say", tools::ALL).read(&path).unwrap() {
            let mut agent = agent(&index);
            for (at, turn) in scenario.turns.iter().enumerate() {
                let Words::Text(say) = &turn.words else { continue };
                let alone = agent.toolbox().rank(say).into_iter().next();
                let step = agent.step(Input::Said {
                    text: say.clone(),
                    context: "Friday 20 November 2026, 9:00".to_owned(),
                    asked: Asked::default(),
                });
                if at > 0 {
                    let sure = alone.filter(|best| best.score >= Settings::default().act_score);
                    let found = decided(&step);
                    let line = counts.count(turn, sure.map(|best| best.name), &found);
                    if let Some(line) = line {
                        println!("{} {say:?}: {line}", scenario.id);
                    }
                }
                lead(&mut agent, step, turn);
            }
        }
        println!("{file}: {counts:?}");
        seen.push(counts);
    }
    let [ours, others] = &seen[..] else { unreachable!() };
    // What was seen, less a little. By their words alone it would be far fewer.
    for (counts, right, free) in [(ours, RIGHT.0, FREE.0), (others, RIGHT.1, FREE.1)] {
        assert!(counts.right >= right, "{counts:?}");
        assert!(counts.free <= free, "{counts:?}");
        assert!(counts.right > counts.alone, "{counts:?}");
    }
    assert!(ours.acted + others.acted <= ACTED, "{seen:?}");
}

/// Later turns in which the right tool is found.
const RIGHT: (usize, usize) = (40, 36);
/// Those that are left to the model.
const FREE: (usize, usize) = (9, 9);
/// Those in which a tool would act and none may.
const ACTED: usize = 1;

impl Counts {
    /// Counts a turn; what was wrong with it, if anything.
    fn count(&mut self, turn: &Turn, alone: Option<String>, found: &Decided) -> Option<String> {
        let accepts = |name: &String| turn.accept.contains(name);
        if turn.accept.is_empty() {
            self.quiet += 1;
            let acts = matches!(found, Decided::Calls(_));
            self.acted += usize::from(acts);
            return acts.then(|| "acts".to_owned());
        }
        self.turns += 1;
        self.alone += usize::from(alone.as_ref().is_some_and(accepts));
        match found {
            Decided::Calls(names) => {
                let right = names.first().is_some_and(accepts);
                self.right += usize::from(right);
                self.offered += usize::from(names.iter().any(accepts));
                (!right).then(|| format!("{names:?} and not {:?}", turn.accept))
            }
            Decided::Free => {
                self.free += 1;
                Some(format!("free, and not {:?}", turn.accept))
            }
            Decided::Nothing => {
                self.none += 1;
                Some(format!("nothing, and not {:?}", turn.accept))
            }
        }
    }
}

fn agent(index: &Arc<Index>) -> Agent {
    let settings = Settings::default();
    let (template, _) = Template::load(None, "", "<|im_end|>");
    let renderer = Renderer::new(template, prompts::detect(Some("<tool_call>"), "qwen2"));
    let toolbox = Toolbox::new(tools::ALL, Arc::clone(index), &settings.loading);
    Agent::new(settings, renderer, toolbox)
}

fn decided(step: &Step) -> Decided {
    match step {
        Step::Call(call) | Step::Instead(call, _) => Decided::Calls(vec![call.name.clone()]),
        Step::Reply(_) => Decided::Nothing,
        Step::Generate(ask) if ask.openings.is_empty() => Decided::Free,
        Step::Generate(ask) => Decided::Calls(opened(ask)),
    }
}

/// The tools of which one must be called, the likeliest first.
fn opened(ask: &Ask) -> Vec<String> {
    let mut openings: Vec<_> = ask.openings.iter().collect();
    openings.sort_by(|a, b| b.prior.total_cmp(&a.prior));
    let name = |text: &str| {
        let names = tools::ALL.iter().map(|tool| tool.name);
        let quoted = |name: &str| text.contains(&format!("\"{name}\""));
        names
            .filter(|name| *name != DISCOVER)
            .find(|name| quoted(name))
            .unwrap()
            .to_owned()
    };
    openings.iter().map(|opening| name(&opening.text)).collect()
}

/// Ends the turn as it should end.
fn lead(agent: &mut Agent, step: Step, turn: &Turn) {
    let mut step = step;
    for _ in 0..4 {
        step = match step {
            Step::Reply(_) => return,
            Step::Call(call) | Step::Instead(call, _) => {
                let outcome = Outcome::Done(output(&call));
                agent.step(Input::Did { call, outcome })
            }
            Step::Generate(_) => {
                let name = turn.args.keys().next().or(turn.accept.first());
                let Some(name) = name else {
                    agent.step(Input::Generated("I cannot do that.".to_owned()));
                    return;
                };
                let mut arguments = Map::new();
                for (argument, matcher) in turn.args.get(name).into_iter().flatten() {
                    arguments.extend(matcher.witness().map(|value| (argument.clone(), value)));
                }
                let call = json!({"name": name, "arguments": Value::Object(arguments)});
                agent.step(Input::Generated(format!("<tool_call>\n{call}\n</tool_call>")))
            }
        };
    }
}

fn output(call: &Call) -> Output {
    let entry = tools::find(&call.name).unwrap();
    Output {
        step: (entry.effect == Effect::Write).then_some(1),
        ..Output::new("Done.", json!({}))
    }
}
