//! What needs no model: it is called at once, through the same checks, and the conversation goes on from it.

use super::*;
use crate::agent::rules::{Rule, Rules, When};

const TIMER: &str = "set a timer for ten minutes";

fn with(settings: Settings) -> Agent {
    let (template, _) = prompts::Template::load(None, "", "<|im_end|>");
    let renderer = Renderer::new(template, prompts::detect(Some("<tool_call>"), "qwen2"));
    let toolbox = Toolbox::new(tools::ALL, Arc::new(Index::of(tools::ALL)), &settings.loading);
    Agent::new(settings, renderer, toolbox)
}

fn usual() -> Agent {
    with(Settings::default())
}

#[track_caller]
fn timer(agent: &mut Agent) -> Call {
    let call = call(said(agent, TIMER, Asked::default()));
    assert_eq!(
        (call.name.as_str(), &call.arguments),
        ("timers.set", &json!({"duration": "ten minutes"}))
    );
    call
}

#[test]
fn what_is_a_pattern_to_the_word_is_called_without_a_generation() {
    let mut agent = usual();
    let call = timer(&mut agent);
    let end = reply(did(&mut agent, call, output("The timer runs.")));
    assert_eq!((end.text.as_str(), end.end), ("The timer runs.", Ending::Done));
    let mut agent = with(Settings {
        answer: Answer::Model,
        ..Settings::default()
    });
    let call = timer(&mut agent);
    let end = reply(did(&mut agent, call, output("The timer runs.")));
    assert_eq!(end.text, "The timer runs.", "nor does the model word the answer");
}

#[test]
fn it_can_be_switched_off_and_anything_more_is_the_models() {
    let mut agent = with(Settings {
        reflex: false,
        ..Settings::default()
    });
    say(&mut agent, TIMER);
    let mut agent = usual();
    say(&mut agent, "set a timer for ten minutes called eggs");
}

#[test]
fn the_conversation_goes_on_from_it_as_if_the_model_had_called() {
    for placement in [Placement::Tail, Placement::System] {
        let mut agent = with(Settings {
            placement,
            ..Settings::default()
        });
        let first = timer(&mut agent);
        assert!(agent.toolbox().is_loaded("timers.set"));
        reply(did(&mut agent, first, output("The timer runs.")));
        let prompt = text(&say(&mut agent, "cancel that timer, it was a mistake"));
        for part in [
            TIMER,
            "\"duration\": \"ten minutes\"",
            "The timer runs.",
            "\"name\": \"timers.set\"",
        ] {
            assert!(prompt.contains(part), "{part} in {prompt}");
        }
    }
}

#[test]
fn what_the_tool_tells_is_the_answer_and_what_does_not_fit_is_the_models() {
    let mut agent = usual();
    let first = timer(&mut agent);
    let end = reply(did(&mut agent, first, Outcome::Tell("At most 24 hours.".into())));
    assert_eq!(
        (end.text.as_str(), end.end),
        ("At most 24 hours.", Ending::CouldNot)
    );
    let first = timer(&mut agent);
    ask(did(&mut agent, first, Outcome::Misfit("No.".into())));
}

#[test]
fn who_refuses_ends_it() {
    let mut agent = usual();
    let first = call(said(&mut agent, "restart the computer", Asked::default()));
    assert_eq!(
        first.name, "system.restart",
        "what asks first still does, on the way of every call"
    );
    let end = reply(did(&mut agent, first, Outcome::Declined));
    assert_eq!(end.end, Ending::NeedsConfirmation);
}

#[test]
fn a_rule_keeps_a_tool_from_it_at_every_step() {
    for phase in [Phase::Search, Phase::Load, Phase::Active] {
        let mut settings = Settings::default();
        settings.loading.rules = Rules(vec![Rule {
            tools: vec!["timers.*".to_owned()],
            phases: vec![phase],
            when: When::Voice,
        }]);
        let voice = |voice| Asked {
            by_voice: Some(voice),
            ..Asked::default()
        };
        let mut agent = with(settings);
        let end = reply(said(&mut agent, TIMER, voice(true)));
        assert_eq!(end.text, words::not_allowed(), "{phase:?}");
        call(said(&mut agent, TIMER, voice(false)));
    }
}

#[test]
fn an_open_question_comes_first() {
    let mut agent = usual();
    reply(said(&mut agent, unsure::UNCLEAR, Asked::default()));
    say(&mut agent, TIMER);
}

#[test]
fn the_parts_of_a_sentence_need_no_model_either() {
    let mut agent = usual();
    let both = "set a timer for ten minutes and tell me what is on my calendar tomorrow";
    let first = call(said(&mut agent, both, Asked::default()));
    assert_eq!(first.name, "timers.set");
    // The other part is no pattern to the word.
    ask(did(&mut agent, first, output("The timer runs.")));

    let mut agent = usual();
    let both = "set a timer for ten minutes and set an alarm for seven";
    let first = call(said(&mut agent, both, Asked::default()));
    let second = call(did(&mut agent, first, output("The timer runs.")));
    assert_eq!(second.name, "alarms.set");
    let end = reply(did(&mut agent, second, output("The alarm is set.")));
    assert_eq!(end.text, "The timer runs. The alarm is set.");
}

#[test]
fn it_counts_as_one_of_the_calls_of_a_turn() {
    let mut agent = with(Settings {
        max_calls: 1,
        ..Settings::default()
    });
    let both = "set a timer for ten minutes and set an alarm for seven";
    let first = call(said(&mut agent, both, Asked::default()));
    let end = reply(did(&mut agent, first, output("The timer runs.")));
    assert_eq!(
        (end.text, end.end),
        (
            format!("The timer runs. {}", words::too_many_calls()),
            Ending::CouldNot
        )
    );
}
