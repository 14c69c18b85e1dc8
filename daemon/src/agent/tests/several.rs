//! Several requests in one sentence: one after the other, one answer.

use super::{timely::whole, *};

const BOTH: &str = "set a timer for ten minutes and tell me what is on my calendar tomorrow";

#[track_caller]
fn timer(agent: &mut Agent) -> Call {
    let ask = say(agent, BOTH);
    let prompt = text(&ask);
    assert!(prompt.contains("set a timer for ten minutes"), "{prompt}");
    assert!(!prompt.contains("calendar tomorrow"), "one at a time: {prompt}");
    write(agent, "timers.set", json!({"duration": "ten minutes"}))
}

#[track_caller]
fn write(agent: &mut Agent, name: &str, arguments: Value) -> Call {
    let text = json!({"name": name, "arguments": arguments});
    call(agent.step(Input::Generated(format!("<tool_call>\n{text}\n</tool_call>"))))
}

#[test]
fn both_are_done_and_both_answers_are_told() {
    let mut agent = whole();
    let first = timer(&mut agent);
    let next = ask(did(&mut agent, first, output("The timer runs.")));
    assert!(text(&next).contains("tell me what is on my calendar tomorrow"));
    assert_eq!(agent.did().as_deref(), Some("The timer runs."));
    let second = write(&mut agent, "calendar.query", json!({"when": "tomorrow"}));
    let end = reply(did(&mut agent, second, output("Nothing tomorrow.")));
    assert_eq!(
        (end.text.as_str(), end.end),
        ("The timer runs. Nothing tomorrow.", Ending::Done)
    );
}

#[test]
fn one_that_cannot_be_done_does_not_hide_the_other() {
    let mut agent = whole();
    let first = timer(&mut agent);
    ask(did(
        &mut agent,
        first,
        Outcome::Broken("The disk is full.".into()),
    ));
    let second = write(&mut agent, "calendar.query", json!({"when": "tomorrow"}));
    let end = reply(did(&mut agent, second, output("Nothing tomorrow.")));
    assert_eq!(
        (end.text.as_str(), end.end),
        ("The disk is full. Nothing tomorrow.", Ending::CouldNot)
    );
}

#[test]
fn what_a_second_request_goes_on_from_is_asked_with_the_conversation() {
    for (words, alone) in [(BOTH, true), ("read me the mail from Anna and archive it", false)] {
        let mut agent = whole();
        say(&mut agent, "what is the weather like today");
        let weather = write(&mut agent, "weather.forecast", json!({"when": "today"}));
        reply(did(&mut agent, weather, output("Sunny.")));
        let first = say(&mut agent, words);
        assert!(!text(&first).contains("archive it"), "one at a time: {words}");
        assert_eq!(
            (first.alone, text(&first).contains("Sunny.")),
            (alone, !alone),
            "{words}"
        );
    }
}

#[test]
fn who_interrupts_is_done_with_all_of_it() {
    let mut agent = whole();
    let first = timer(&mut agent);
    ask(did(&mut agent, first, output("The timer runs.")));
    agent.settle();
    assert_eq!(agent.did(), None);
    say(&mut agent, "what is the weather like today");
    let talk: String = agent
        .transcript()
        .pieces
        .into_iter()
        .map(|piece| piece.text)
        .collect();
    assert!(
        talk.contains("The timer runs."),
        "what was done stays in the conversation"
    );
    let weather = write(&mut agent, "weather.forecast", json!({"when": "today"}));
    let end = reply(did(&mut agent, weather, output("Sunny.")));
    assert_eq!(end.text, "Sunny.");
}

#[test]
fn a_turn_has_its_calls_once_for_all_requests() {
    let mut agent = whole();
    let first = timer(&mut agent);
    ask(did(&mut agent, first, output("The timer runs.")));
    for arguments in [json!({"when": "tomorrow"}), json!({})] {
        let again = write(&mut agent, "calendar.query", arguments);
        ask(did(&mut agent, again, Outcome::Misfit("No.".into())));
    }
    let text = json!({"name": "calendar.query", "arguments": {"text": "tomorrow"}});
    let end = reply(agent.step(Input::Generated(format!("<tool_call>\n{text}\n</tool_call>"))));
    assert!(end.text.ends_with(&words::too_many_calls()), "{end:?}");
    assert!(end.text.starts_with("The timer runs."), "{end:?}");
}

#[test]
fn who_says_no_has_not_said_yes_to_the_rest() {
    for outcome in [Outcome::Declined, Outcome::NeedsConfirmation("Start it".into())] {
        let mut agent = whole();
        let first = timer(&mut agent);
        let end = reply(did(&mut agent, first, outcome));
        assert_eq!(end.end, Ending::NeedsConfirmation, "{end:?}");
    }
}

#[test]
fn another_timer_is_set_after_the_first() {
    let mut agent = whole();
    let both = "set a timer for eight minutes for the pasta and another for eleven for the potatoes";
    let first = say(&mut agent, both);
    assert!(text(&first).contains("eight minutes for the pasta") && !text(&first).contains("eleven"));
    let first = write(
        &mut agent,
        "timers.set",
        json!({"duration": "eight minutes", "label": "pasta"}),
    );
    assert_eq!(first.arguments["duration"], "eight minutes");
    let next = ask(did(&mut agent, first, output("Pasta.")));
    assert!(text(&next).contains("set a timer for eleven minutes for the potatoes"));
    let second = write(
        &mut agent,
        "timers.set",
        json!({"duration": "eleven minutes", "label": "potatoes"}),
    );
    assert_eq!(
        second.arguments,
        json!({"duration": "eleven minutes", "label": "potatoes"})
    );
    let end = reply(did(&mut agent, second, output("Potatoes.")));
    assert_eq!((end.text.as_str(), end.end), ("Pasta. Potatoes.", Ending::Done));
}

#[test]
fn what_is_not_done_is_not_passed_over_in_silence() {
    let clause = "set a timer for eight minutes for the pasta and the potatoes need eleven minutes";
    for (said, both) in [
        (clause, true),
        ("set a timer for eight minutes for the pasta", false),
    ] {
        let mut agent = whole();
        say(&mut agent, said);
        let call = write(
            &mut agent,
            "timers.set",
            json!({"duration": "eight minutes", "label": "pasta"}),
        );
        let mut again = agent.clone();
        let end = reply(did(&mut agent, call.clone(), output("The timer runs.")));
        let told = match both {
            true => words::only_this_one("The timer runs."),
            false => "The timer runs.".to_owned(),
        };
        assert_eq!((&end.text, end.end), (&told, Ending::Done));
        assert_eq!(agent.last().unwrap().text, told, "it is what can be heard again");
        // Where nothing was done nothing is left.
        let end = reply(did(&mut again, call, Outcome::Broken("The disk is full.".into())));
        assert_eq!(end.text, "The disk is full.");
    }
}

#[test]
fn five_minutes_and_ten_minutes_are_not_fifteen() {
    let mut agent = whole();
    agent.reflexes = tools::reflex::Reflexes::of(tools::ALL);
    for (said_so, lengths) in [
        (
            "set a timer for five minutes and ten minutes",
            &["five minutes", "ten minutes"][..],
        ),
        (
            "set a timer for one hour and ten minutes",
            &["one hour and ten minutes"],
        ),
    ] {
        let mut step = said(&mut agent, said_so, Asked::default());
        for length in lengths {
            let timer = call(step);
            assert_eq!(timer.arguments, json!({"duration": length}));
            step = did(&mut agent, timer, output("It runs."));
        }
        assert_eq!(reply(step).end, Ending::Done);
    }
}
