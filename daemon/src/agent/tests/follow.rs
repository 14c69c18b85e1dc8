//! What goes on from the turn before: corrections, the same for something else, answers to questions, and what a guest
//! or somebody's mail must not bring about.

use super::{timely::whole, *};

/// A turn in which this is called, with a number in the journal where it wrote.
#[track_caller]
fn done(agent: &mut Agent, say: &str, tool: &str, arguments: Value, written: Option<i64>) {
    let call = called(agent, say, tool, arguments);
    let output = Output {
        step: written,
        ..Output::new("Done.", json!({}))
    };
    reply(did(agent, call, Outcome::Done(output)));
}

#[track_caller]
fn called(agent: &mut Agent, words: &str, tool: &str, arguments: Value) -> Call {
    say(agent, words);
    let text = json!({"name": tool, "arguments": arguments});
    call(agent.step(Input::Generated(format!("<tool_call>\n{text}\n</tool_call>"))))
}

fn guest() -> Asked {
    Asked {
        guest: true,
        ..Asked::default()
    }
}

/// A timer for ten minutes, which can be taken back by this number.
fn timer() -> Agent {
    let mut agent = whole();
    let ten = json!({"duration": "ten minutes"});
    done(
        &mut agent,
        "set a timer for ten minutes",
        "timers.set",
        ten,
        Some(7),
    );
    agent
}

fn hear(agent: &mut Agent, text: &str) -> Step {
    said(agent, text, Asked::default())
}

#[track_caller]
fn instead(step: Step) -> (Call, Undo) {
    match step {
        Step::Instead(call, undo) => (call, undo),
        other => panic!("expected a correction, got {other:?}"),
    }
}

#[test]
fn a_correction_takes_back_what_was_done_and_does_it_with_the_change() {
    for correction in [
        "no, I meant twelve",
        "actually make it twelve",
        "I said twelve, not ten",
        "not ten, twelve",
    ] {
        let mut agent = timer();
        let (call, undo) = instead(hear(&mut agent, correction));
        assert_eq!(
            call.arguments,
            json!({"duration": "twelve minutes"}),
            "{correction:?}"
        );
        assert_eq!((call.name.as_str(), undo.step), ("timers.set", 7));
        let end = reply(did(&mut agent, call, output("The timer runs.")));
        assert_eq!(
            (end.text, end.end),
            (words::instead("The timer runs."), Ending::Done)
        );
    }
}

#[test]
fn a_correction_of_what_was_looked_up_looks_it_up_again() {
    let mut agent = whole();
    done(
        &mut agent,
        "what is on my calendar on monday",
        "calendar.query",
        json!({"when": "monday"}),
        None,
    );
    let again = call(hear(&mut agent, "sorry, I meant Wednesday"));
    assert_eq!(again.arguments, json!({"when": "Wednesday"}));
    did(&mut agent, again, output("Nothing."));
    let again = call(hear(&mut agent, "and on Friday?"));
    assert_eq!(again.arguments, json!({"when": "on Friday"}));
    did(&mut agent, again, output("Nothing."));
    assert_eq!(
        call(hear(&mut agent, "Saturday?")).arguments,
        json!({"when": "Saturday"})
    );
}

#[test]
fn what_stands_because_a_correction_was_refused_can_still_be_corrected() {
    for refused in [
        Outcome::Declined,
        Outcome::Tell("I do not understand the time.".into()),
        Outcome::Unclear(words::not_changed()),
    ] {
        let mut agent = timer();
        let (call, _) = instead(hear(&mut agent, "no, twelve"));
        reply(did(&mut agent, call, refused));
        let (call, undo) = instead(hear(&mut agent, "no, fifteen"));
        assert_eq!(call.arguments, json!({"duration": "fifteen minutes"}));
        assert_eq!(undo.step, 7);
    }
    // What was taken back does not stand, and is not taken back twice.
    let mut agent = timer();
    let (call_, _) = instead(hear(&mut agent, "no, twelve"));
    let half = Outcome::TakenBack {
        text: words::instead("The disk is full."),
        untrusted: false,
    };
    let end = reply(did(&mut agent, call_, half));
    assert!(
        end.text.contains("The disk is full.") && end.end == Ending::CouldNot,
        "{end:?}"
    );
    assert_eq!(
        call(hear(&mut agent, "no, fifteen")).arguments,
        json!({"duration": "fifteen minutes"})
    );
}

#[test]
fn no_alone_is_no_undo() {
    let mut agent = timer();
    let end = reply(hear(&mut agent, "No."));
    assert_eq!(end.text, words::what_instead());
    // The answer to that question is the change.
    let (call, _) = instead(hear(&mut agent, "twelve minutes"));
    assert_eq!(call.arguments, json!({"duration": "twelve minutes"}));
    let mut agent = timer();
    let end = reply(hear(&mut agent, "no, nothing else, thanks"));
    assert_eq!((end.text, end.end), (words::done_already(), Ending::Done));
}

#[test]
fn what_cannot_be_taken_back_is_said_to_be_so_and_asked() {
    let mut agent = whole();
    let open = json!({"name": "backup"});
    done(&mut agent, "run the shortcut backup", "shortcuts.run", open, None);
    let end = reply(hear(&mut agent, "no, I meant cleanup"));
    assert_eq!(end.text, words::cannot_take_back());
    let again = call(hear(&mut agent, "yes"));
    assert_eq!(again.arguments, json!({"name": "cleanup"}));
    let mut agent = whole();
    done(
        &mut agent,
        "run the shortcut backup",
        "shortcuts.run",
        json!({"name": "backup"}),
        None,
    );
    reply(hear(&mut agent, "no, I meant cleanup"));
    assert_eq!(reply(hear(&mut agent, "no")).text, words::declined());
}

#[test]
fn what_went_out_is_not_said_to_be_left_alone() {
    for (said, tool, arguments, no) in [
        (
            "text Anna that I am late",
            "messages.send",
            json!({"to": "Anna", "text": "I am late"}),
            "no, don't send it",
        ),
        ("next song", "media.next", json!({}), "never mind"),
    ] {
        let mut agent = whole();
        done(&mut agent, said, tool, arguments, None);
        assert_eq!(reply(hear(&mut agent, no)).text, words::done_for_good(), "{said}");
    }
    // Who only looked has changed nothing.
    let mut agent = whole();
    let when = json!({"when": "tomorrow"});
    done(
        &mut agent,
        "what do I have tomorrow",
        "calendar.query",
        when,
        None,
    );
    assert_eq!(reply(hear(&mut agent, "never mind")).text, words::declined());
}

#[test]
fn only_the_last_thing_is_taken_back_and_only_by_who_did_it() {
    // Something else was done since.
    let mut agent = timer();
    done(
        &mut agent,
        "what is on tomorrow",
        "calendar.query",
        json!({"when": "tomorrow"}),
        None,
    );
    assert!(!matches!(
        hear(&mut agent, "no, twelve minutes"),
        Step::Instead(..)
    ));
    // What is under way when somebody interrupts may have been done; nothing older is taken back for it.
    let mut agent = timer();
    called(
        &mut agent,
        "put rice on the shopping list",
        "lists.add",
        json!({"items": ["rice"]}),
    );
    agent.settle();
    assert!(!matches!(
        hear(&mut agent, "no, twelve minutes"),
        Step::Instead(..)
    ));
    // Nor is what an interrupted correction may have taken back already.
    let mut agent = timer();
    instead(hear(&mut agent, "no, twelve minutes"));
    agent.settle();
    let failed = called(
        &mut agent,
        "put rice on the shopping list",
        "lists.add",
        json!({"items": ["rice"]}),
    );
    did(&mut agent, failed, Outcome::Broken("The disk is full.".into()));
    assert!(!matches!(
        hear(&mut agent, "no, fifteen minutes"),
        Step::Instead(..)
    ));
    // A guest spoke since, or asks for it.
    let mut agent = timer();
    let step = said(&mut agent, "no, twelve minutes", guest());
    assert!(!matches!(step, Step::Instead(..)), "{step:?}");
    agent.settle();
    assert!(!matches!(
        hear(&mut agent, "no, twelve minutes"),
        Step::Instead(..)
    ));
    // Too much was said since.
    let mut agent = timer();
    for idle in ["boil an egg", "fold the laundry"] {
        reply(hear(&mut agent, idle));
    }
    assert!(!matches!(
        hear(&mut agent, "no, twelve minutes"),
        Step::Instead(..)
    ));
    // The conversation is over.
    let mut agent = timer();
    agent.part();
    assert!(!matches!(
        hear(&mut agent, "no, twelve minutes"),
        Step::Instead(..)
    ));
}

#[test]
fn what_a_change_is_for_is_asked_where_it_is_not_clear() {
    let mut agent = whole();
    let units = json!({"amount": "ten", "from": "kilometres", "to": "miles"});
    done(
        &mut agent,
        "how far is ten kilometres in miles",
        "calc.convert_units",
        units,
        None,
    );
    let end = reply(hear(&mut agent, "I meant yards"));
    assert_eq!(end.text, "I am not sure what to change: the from or the to?");
    let again = call(hear(&mut agent, "the to"));
    assert_eq!(
        again.arguments,
        json!({"amount": "ten", "from": "kilometres", "to": "yards"})
    );
}

#[test]
fn what_goes_on_with_another_tool_has_to_be_one_that_fits_the_turn_before() {
    let mut agent = whole();
    let query = json!({"text": "dentist"});
    done(
        &mut agent,
        "when am I at the dentist",
        "calendar.query",
        query,
        None,
    );
    let ask = say(&mut agent, "move it to three");
    let first = ask
        .openings
        .first()
        .unwrap_or_else(|| panic!("the model is free: {ask:?}"));
    assert!(first.text.contains("calendar.update_event"), "{:?}", ask.openings);
}

#[test]
fn a_mail_that_ends_like_a_question_asks_nothing_of_the_person() {
    let mut agent = whole();
    let read = called(
        &mut agent,
        "read me the mail from Anna",
        "mail.read",
        json!({"from": "Anna"}),
    );
    let mail = Output {
        untrusted: true,
        ..Output::new("Shall we meet at noon?", json!({}))
    };
    reply(did(&mut agent, read, Outcome::Done(mail)));
    assert!(!agent.talk.asked(false));
    let ask = say(&mut agent, "set a timer for ten minutes");
    assert!(!ask.openings.is_empty());
    assert_eq!(agent.talk.heard(), ["set a timer for ten minutes"]);
}

#[test]
fn texts_come_from_the_request_that_was_asked_back_about() {
    let mut agent = whole();
    reply(hear(&mut agent, unsure::UNCLEAR));
    say(&mut agent, "yes");
    assert_eq!(agent.talk.heard(), [unsure::UNCLEAR]);
}

#[test]
fn all_answers_to_a_sentence_are_repeated() {
    let mut agent = whole();
    let both = "set a timer for ten minutes and tell me what is on my calendar tomorrow";
    let ten = json!({"duration": "ten minutes"});
    let first = called(&mut agent, both, "timers.set", ten);
    ask(did(&mut agent, first, output("The timer runs.")));
    let text = json!({"name": "calendar.query", "arguments": {"when": "tomorrow"}});
    let second = call(agent.step(Input::Generated(format!("<tool_call>\n{text}\n</tool_call>"))));
    let theirs = Output {
        untrusted: true,
        ..Output::new("A party.", json!({}))
    };
    reply(did(&mut agent, second, Outcome::Done(theirs)));
    let last = agent.last().unwrap();
    assert_eq!(
        (last.text.as_str(), last.untrusted),
        ("The timer runs. A party.", true)
    );
}

#[test]
fn a_sentence_has_its_searches_and_mistakes_once_for_all_requests() {
    let mut agent = whole();
    say(
        &mut agent,
        "set a timer for ten minutes and tell me what is on my calendar tomorrow",
    );
    for query in ["eggs", "spoons", "forks"] {
        let text = json!({"name": "tools.discover", "arguments": {"query": query}});
        let search = call(agent.step(Input::Generated(format!("<tool_call>\n{text}\n</tool_call>"))));
        did(&mut agent, search, output("Nothing."));
    }
    let text = json!({"name": "timers.set", "arguments": {"duration": "ten minutes"}});
    let first = call(agent.step(Input::Generated(format!("<tool_call>\n{text}\n</tool_call>"))));
    ask(did(&mut agent, first, output("The timer runs.")));
    let search = json!({"name": "tools.discover", "arguments": {"query": "plates"}});
    let refused = ask(agent.step(Input::Generated(format!("<tool_call>\n{search}\n</tool_call>"))));
    assert!(
        text_of(&refused).contains("You searched for that already"),
        "{}",
        text_of(&refused)
    );
    assert!(!allows(&refused, "tools.discover"), "it is not offered either");
    // One mistake was made; a second is the last.
    let wrong = |name: &str| {
        Input::Generated(format!(
            "<tool_call>\n{{\"name\": \"{name}\", \"arguments\": {{}}}}\n</tool_call>"
        ))
    };
    ask(agent.step(wrong("no.such")));
    let end = reply(agent.step(wrong("nor.this")));
    assert!(end.text.ends_with(&words::no_answer()), "{end:?}");
}

fn text_of(ask: &Ask) -> String {
    text(ask)
}

#[test]
fn what_a_guest_said_is_in_nobody_elses_arguments() {
    let mut agent = whole();
    said(&mut agent, "what is the weather in Evilville", guest());
    let text = json!({"name": "weather.forecast", "arguments": {"place": "Evilville"}});
    let theirs = call(agent.step(Input::Generated(format!("<tool_call>\n{text}\n</tool_call>"))));
    assert_eq!(
        theirs.arguments,
        json!({"place": "Evilville"}),
        "it is theirs to say"
    );
    reply(did(&mut agent, theirs, output("Rain.")));
    assert_eq!(agent.said_words(), Vec::<&str>::new());
    let mine = called(
        &mut agent,
        "what is the weather like there tomorrow",
        "weather.forecast",
        json!({"when": "tomorrow", "place": "Evilville"}),
    );
    assert_eq!(mine.arguments, json!({"when": "tomorrow"}));
}

#[test]
fn a_position_is_that_of_the_thing_before() {
    let mut agent = whole();
    done(
        &mut agent,
        "is bluetooth on",
        "system.bluetooth",
        json!({"action": "status"}),
        None,
    );
    let best = |agent: &Agent, words: &str| agent.rank_after(words, "is bluetooth on").1[0].0.clone();
    assert_eq!(best(&agent, "turn it off then"), "system.bluetooth");
    assert_eq!(best(&agent, "switch it on please"), "system.bluetooth");
    // These are about something else, though they hold such words.
    for other in [
        "put that on the shopping list",
        "take that off the shopping list",
        "cross it off my list",
        "put it off until friday",
        "call it off",
        "turn the volume down",
    ] {
        assert_ne!(best(&agent, other), "system.bluetooth", "{other}");
    }
    let mut agent = whole();
    done(
        &mut agent,
        "turn the volume up",
        "system.set_volume",
        json!({"direction": "up"}),
        None,
    );
    let best = |words: &str| agent.rank_after(words, "turn the volume up").1[0].0.clone();
    assert_eq!(best("now turn it down a bit"), "system.set_volume");
    for other in ["note it down the plumber comes at nine", "wake me up at six too"] {
        assert_ne!(best(other), "system.set_volume", "{other}");
    }
}

#[test]
fn a_verb_that_is_part_of_another_tools_name_names_no_other_thing() {
    let mut agent = whole();
    done(
        &mut agent,
        "put bananas on the shopping list",
        "lists.add",
        json!({"items": ["bananas"], "list": "shopping"}),
        Some(3),
    );
    let best = |words: &str| {
        agent.rank_after(words, "put bananas on the shopping list").0[0]
            .name
            .clone()
    };
    assert_eq!(best("read it to me"), "lists.show");
    assert_eq!(best("delete it"), "lists.delete");
    // A thing that only one tool is called by is still that thing.
    assert_eq!(best("take a screenshot of that"), "system.screenshot");
}

/// The tool that fits these words best after a turn in which this was called.
#[track_caller]
fn likeliest(before: (&str, &str, Value), words: &str) -> String {
    let (said, tool, arguments) = before;
    let mut agent = whole();
    done(&mut agent, said, tool, arguments, None);
    let (_, scores) = agent.rank_after(words, said);
    scores.first().expect("something fits").0.clone()
}

#[test]
fn a_request_of_its_own_is_one_and_what_goes_on_is_none() {
    let nina = (
        "what is Nina's phone number",
        "contacts.search",
        json!({"name": "Nina"}),
    );
    let today = (
        "what is on my calendar today",
        "calendar.query",
        json!({"when": "today"}),
    );
    let badge = (
        "I have handed in the badge, tick that reminder off",
        "reminders.complete",
        json!({"title": "badge"}),
    );
    let anna = (
        "have I got mail from Anna",
        "mail.recent",
        json!({"from": "Anna"}),
    );
    let screen = (
        "dim the screen to twenty percent",
        "system.set_brightness",
        json!({"percent": 20}),
    );
    for (before, words, expect) in [
        // All that it is about was said.
        (
            &nina,
            "send her a mail saying I will bring the cheese",
            "mail.send",
        ),
        (&nina, "and her email", "contacts.search"),
        (
            &today,
            "remind me on Friday at six pm to wrap his present",
            "reminders.create",
        ),
        // Which thing is for the turn before to say.
        (&today, "move that to friday", "calendar.update_event"),
        (&screen, "a little brighter than that", "system.set_brightness"),
        // The same again, for somebody else.
        (&anna, "and from Priya", "mail.recent"),
        // It has a verb of its own.
        (
            &badge,
            "and the library books, push those to Monday",
            "reminders.update",
        ),
    ] {
        assert_eq!(
            likeliest(before.clone(), words),
            expect,
            "{words:?} after {before:?}"
        );
    }
}
