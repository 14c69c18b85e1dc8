//! What is not clear is asked, what nothing serves is said to be so, and neither asks the model.

use super::{timely::whole, *};

/// A request that fits a tool, but not surely.
pub(super) const UNCLEAR: &str = "shall I take the dog out without a coat tonight";

#[track_caller]
fn asked_back(agent: &mut Agent) -> String {
    let end = reply(said(agent, UNCLEAR, Asked::default()));
    assert!(end.text.ends_with('?') && end.end == Ending::CouldNot, "{end:?}");
    end.text
}

#[test]
fn what_nothing_serves_gets_one_sentence_and_no_generation() {
    let mut agent = whole();
    let end = reply(said(&mut agent, "boil an egg", Asked::default()));
    assert_eq!((end.text, end.end), (words::no_tool(), Ending::CouldNot));
}

#[test]
fn yes_to_the_question_does_what_was_asked_for() {
    let mut agent = whole();
    asked_back(&mut agent);
    let ask = say(&mut agent, "yes please");
    assert_eq!(ask.openings.len(), 1, "the tool that was agreed to: {ask:?}");
    let prompt = text(&ask);
    assert!(
        prompt.contains(UNCLEAR),
        "with the words of the request: {prompt}"
    );
    // It was answered, so the next yes is none to it.
    let mut agent = whole();
    asked_back(&mut agent);
    let end = reply(said(&mut agent, "no", Asked::default()));
    assert_eq!(end.text, words::declined());
    let again = said(&mut agent, "yes", Asked::default());
    assert!(
        !matches!(&again, Step::Generate(ask) if !ask.openings.is_empty()),
        "{again:?}"
    );
}

#[test]
fn anything_else_is_a_new_request() {
    let mut agent = whole();
    asked_back(&mut agent);
    let ask = say(&mut agent, "what is the weather like today");
    assert!(
        ask.openings.iter().any(|o| o.text.contains("weather.forecast")),
        "{ask:?}"
    );
    assert_eq!(text(&ask).matches("what is the weather like today").count(), 1);
}

#[test]
fn the_model_may_decide_where_the_person_wants_that() {
    let (template, _) = prompts::Template::load(None, "", "<|im_end|>");
    let renderer = Renderer::new(template, prompts::detect(Some("<tool_call>"), "qwen2"));
    let settings = Settings {
        unsure: IfUnsure::Model,
        ..Settings::default()
    };
    let toolbox = Toolbox::new(tools::ALL, Arc::new(Index::of(tools::ALL)), &settings.loading);
    let mut agent = Agent::new(settings, renderer, toolbox);
    assert!(say(&mut agent, "boil an egg").grammar.is_some());
}

#[test]
fn a_turn_in_which_nothing_was_done_does_not_end_in_the_models_own_words() {
    let mut agent = whole();
    let ask_timer = say(&mut agent, "set a timer for ten minutes");
    assert!(!ask_timer.openings.is_empty());
    let timer = json!({"name": "timers.set", "arguments": {"duration": "ten minutes"}});
    let timer = call(agent.step(Input::Generated(format!("<tool_call>\n{timer}\n</tool_call>"))));
    reply(did(&mut agent, timer, output("The timer runs.")));
    // What goes on from there is for the model to make sense of; its claims are not for the person.
    say(&mut agent, "and snooze that for a while longer than it was");
    let end = reply(agent.step(Input::Generated("I snoozed the timer.".into())));
    assert_eq!((end.text, end.end), (words::not_sure(), Ending::CouldNot));
}

#[test]
fn the_persons_yes_is_not_for_what_a_guest_said() {
    let guest = || Asked {
        guest: true,
        ..Asked::default()
    };
    let mut agent = whole();
    asked_back(&mut agent);
    // A guest takes the question away from nobody, and cannot answer it.
    said(&mut agent, "the offer belongs in the old folder", guest());
    let yes = said(&mut agent, "yes", guest());
    assert!(
        !matches!(&yes, Step::Generate(ask) if !ask.openings.is_empty()),
        "{yes:?}"
    );
    agent.settle();
    let ask = say(&mut agent, "yes");
    assert!(
        ask.openings[0].text.contains("weather.forecast"),
        "{:?}",
        ask.openings
    );
}

#[test]
fn who_does_not_want_a_thing_may_want_what_undoes_it() {
    for words in [
        "do not wake me up tomorrow",
        "no need to remind me about the bins",
    ] {
        let ask = say(&mut whole(), words);
        let undoes = ["alarms.cancel", "reminders.delete"];
        let first = ask.openings.first().map(|opening| opening.text.as_str());
        let first = first.unwrap_or_default();
        assert!(undoes.iter().any(|tool| first.contains(tool)), "{words}: {first}");
    }
    // What would be undone is no other thing, or not surely.
    for words in [
        "don't delete my alarm",
        "don't set an alarm for tomorrow",
        "let's not move the meeting",
    ] {
        let end = reply(said(&mut whole(), words, Asked::default()));
        assert_eq!((end.text, end.end), (words::declined(), Ending::Done), "{words}");
    }
}

#[test]
fn a_call_without_its_time_asks_when() {
    let mut agent = whole();
    say(&mut agent, "add lunch with Mike to my calendar");
    let arguments = json!({"title": "lunch", "start": "lunch with Mike", "end": "Mike", "people": ["Mike"]});
    let made = json!({"name": "calendar.create_event", "arguments": arguments});
    let made = call(agent.step(Input::Generated(format!("<tool_call>\n{made}\n</tool_call>"))));
    assert_eq!(made.arguments, json!({"title": "lunch", "people": ["Mike"]}));
    let end = reply(did(&mut agent, made, Outcome::Misfit("start is missing".into())));
    assert_eq!((end.text, end.end), (words::when(), Ending::CouldNot));
    // The answer goes on from there.
    let ask = say(&mut agent, "tomorrow at noon");
    assert!(
        ask.openings[0].text.contains("calendar.create_event"),
        "{:?}",
        ask.openings
    );
}
