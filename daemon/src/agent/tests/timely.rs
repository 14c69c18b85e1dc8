//! Who names a time means it.

use super::*;
use crate::agent::grammar::gbnf::Gbnf;

/// An agent with the tools that Tiro has, whose model must call what fits.
pub(super) fn whole() -> Agent {
    let (template, _) = prompts::Template::load(None, "", "<|im_end|>");
    let renderer = Renderer::new(template, prompts::detect(Some("<tool_call>"), "qwen2"));
    let settings = Settings {
        reflex: false,
        ..Settings::default()
    };
    let toolbox = Toolbox::new(tools::ALL, Arc::new(Index::of(tools::ALL)), &settings.loading);
    Agent::new(settings, renderer, toolbox)
}

/// Whether the tool may be called with these arguments now.
#[track_caller]
fn lets(ask: &Ask, tool: &str, arguments: &Value) -> bool {
    let arguments = prompts::spaced(arguments);
    if let Some(grammar) = &ask.grammar {
        let call = format!("<tool_call>\n{{\"name\": \"{tool}\", \"arguments\": {arguments}}}\n</tool_call>");
        return Gbnf::parse(grammar).accepts(&call);
    }
    let opening = ask.openings.iter().find(|o| o.text.contains(tool));
    let opening = opening.unwrap_or_else(|| panic!("{tool} cannot be called: {ask:?}"));
    Gbnf::parse(&opening.grammar).accepts(&format!(" {arguments}}}\n</tool_call>"))
}

#[track_caller]
fn check(words: &str, tool: &str, when: &str, other: bool, without: bool) {
    let mut agent = whole();
    let ask = say(&mut agent, words);
    assert!(lets(&ask, tool, &json!({"when": when})), "{words:?} {when}");
    let unsaid = json!({"when": "2026-11-22"});
    assert_eq!(lets(&ask, tool, &unsaid), other, "{words:?} {unsaid}");
    assert_eq!(lets(&ask, tool, &json!({})), without, "{words:?} without a time");
}

#[test]
fn a_tool_that_looks_something_up_is_not_called_without_the_time_that_was_named() {
    check(
        "what do I have on my calendar tomorrow",
        "calendar.query",
        "tomorrow",
        false,
        false,
    );
    check(
        "what do I have on my calendar today and on monday",
        "calendar.query",
        "today and monday",
        true,
        false,
    );
    check("what is on my calendar", "calendar.query", "today", true, true);
    // The time is part of a name here, and asked for.
    check(
        "when is the christmas party on my calendar",
        "calendar.query",
        "christmas",
        true,
        true,
    );
    check(
        "list my reminders that are due this week",
        "reminders.list",
        "this week",
        false,
        false,
    );
    check("list my open reminders", "reminders.list", "today", true, true);
    // What came on a day and what is about that day are both looked for like this.
    check(
        "search my mail for the meeting on friday",
        "mail.search",
        "friday",
        false,
        true,
    );
}

#[test]
fn a_tool_that_changes_something_asks_by_itself() {
    let mut agent = whole();
    let ask = say(&mut agent, "remind me to buy a ticket for the concert on friday");
    assert!(lets(
        &ask,
        "reminders.create",
        &json!({"title": "buy a ticket for the concert on friday"})
    ));
}

#[test]
fn after_a_call_that_did_not_fit_the_time_may_be_left_out() {
    let mut agent = whole();
    say(&mut agent, "what do I have on my calendar tomorrow");
    let text =
        "<tool_call>\n{\"name\": \"calendar.query\", \"arguments\": {\"when\": \"tomorrow\"}}\n</tool_call>";
    let call = call(agent.step(Input::Generated(text.into())));
    let again = ask(did(
        &mut agent,
        call,
        Outcome::Misfit("The time is too long.".into()),
    ));
    assert!(lets(&again, "calendar.query", &json!({})));
}

#[test]
fn a_time_that_was_said_in_parts_can_be_put_together() {
    let mut agent = whole();
    let ask = say(&mut agent, "schedule a meeting tomorrow with Anna at ten");
    let both = json!({"title": "meeting", "start": "tomorrow at ten"});
    assert!(lets(&ask, "calendar.create_event", &both));
    let mut agent = whole();
    let ask = say(&mut agent, "schedule a meeting with Anna tomorrow");
    let unsaid = json!({"title": "meeting", "start": "tomorrow at five"});
    assert!(!lets(&ask, "calendar.create_event", &unsaid));
}

/// What the agent makes of a call that the model wrote to these words.
fn decided(agent: &mut Agent, words: &str, tool: &str, arguments: &Value) -> Step {
    say(agent, words);
    let call = format!("<tool_call>\n{{\"name\": \"{tool}\", \"arguments\": {arguments}}}\n</tool_call>");
    agent.step(Input::Generated(call))
}

#[test]
fn what_cannot_wait_is_not_done_before_its_time() {
    let mut agent = whole();
    let end = reply(decided(
        &mut agent,
        "lock the screen in ten minutes",
        "system.lock",
        &json!({}),
    ));
    assert_eq!((end.text, end.end), (words::only_now(), Ending::CouldNot));
    let agreed = call(said(&mut agent, "yes", Asked::default()));
    assert_eq!(
        (agreed.name.as_str(), agreed.arguments),
        ("system.lock", json!({}))
    );

    let mut agent = whole();
    reply(decided(
        &mut agent,
        "lock the screen in ten minutes",
        "system.lock",
        &json!({}),
    ));
    assert_eq!(
        reply(said(&mut agent, "no", Asked::default())).text,
        words::declined()
    );
}

#[test]
fn what_lasts_for_a_while_is_done_and_its_end_is_not_promised() {
    let mut agent = whole();
    let muted = call(decided(
        &mut agent,
        "mute the sound for an hour",
        "system.mute",
        &json!({}),
    ));
    let end = reply(did(&mut agent, muted, output("The sound is off.")));
    assert_eq!(end.text, words::stays("The sound is off."));
}

/// Every time goes to a tool as it was said, so who only has to fill in a call need not know what time it is.
#[test]
fn the_time_is_told_where_it_can_be_of_use() {
    let told = |agent: &mut Agent, words: &str| text(&say(agent, words)).contains("21 November 2026");
    let mut agent = whole();
    assert!(!told(&mut agent, "what is on my calendar tomorrow"));
    let mut free = whole();
    free.settings.act_score = 1.0;
    assert!(
        told(&mut free, "what is on my calendar tomorrow"),
        "no tool has to be called"
    );
    let mut worded = whole();
    worded.settings.answer = Answer::Model;
    assert!(
        told(&mut worded, "what is on my calendar tomorrow"),
        "the model words the answer"
    );
}
