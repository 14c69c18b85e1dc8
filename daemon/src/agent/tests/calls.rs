//! What a model is shown to go by, and what it is shown of what was done before.

use super::{timely::whole, *};

/// What is new in this question: all after the static prefix.
fn tail(ask: &Ask) -> String {
    ask.prompt[ask.static_len..]
        .iter()
        .map(|p| p.text.as_str())
        .collect()
}

#[test]
fn a_request_brings_the_calls_that_are_most_like_it() {
    let mut agent = whole();
    let ask = say(&mut agent, "rename the dentist reminder to call Doctor Stone");
    let tail = tail(&ask);
    let (like, other) = (
        "rename the plumber reminder to call the electrician\n{\"name\": \"reminders.update\", \
         \"arguments\": {\"title\": \"plumber\", \"new_title\": \"call the electrician\"}}",
        "give the report high priority",
    );
    assert!(tail.contains(like) && !tail.contains(other), "{tail}");
    assert!(tail.find(like) < tail.find("rename the dentist"), "{tail}");
    // What stands in every prompt has to stay short.
    let fixed: String = ask.prompt[..ask.static_len]
        .iter()
        .map(|p| p.text.as_str())
        .collect();
    assert!(!fixed.contains("For example:"), "{fixed}");
}

#[test]
fn a_request_that_goes_on_from_another_brings_none() {
    let mut agent = whole();
    turn(
        &mut agent,
        "what is on my calendar tomorrow",
        "calendar.query",
        "One event: Dentist.",
    );
    let tail = tail(&say(&mut agent, "push it back by an hour"));
    assert!(tail.contains("calendar.update_event("), "{tail}");
    assert!(!tail.contains("For example:"), "{tail}");
}

#[test]
fn what_was_found_is_kept_in_the_words_that_the_person_heard() {
    let found = || Outcome::Done(Output::new("One event: Dentist.", json!({"uid": "0815"})));
    let mut agent = plain();
    say(&mut agent, "what is on my calendar");
    let query = call(model(&mut agent, "calendar.query", "today"));
    reply(did(&mut agent, query.clone(), found()));
    let next = text(&say(&mut agent, "and any mail"));
    assert_eq!(next.matches("One event: Dentist.").count(), 1, "{next}");
    assert!(!agent.last().unwrap().untrusted, "these are Tiro's own words");
    assert!(!next.contains("0815"), "{next}");

    // A model that words the answer is given all of it.
    let mut agent = plain();
    agent.settings.answer = Answer::Model;
    say(&mut agent, "what is on my calendar");
    let query = call(model(&mut agent, "calendar.query", "today"));
    let next = text(&ask(did(&mut agent, query, found())));
    assert!(next.contains("0815"), "{next}");
}

#[test]
fn what_discovery_found_is_kept_whole() {
    let mut agent = plain();
    say(&mut agent, "what else can you do");
    let search = call(model(&mut agent, "tools.discover", "timers"));
    let found = Output::new("Loaded: timers.set.", json!({"have_already": ["calendar.query"]}));
    let next = text(&ask(did(&mut agent, search, Outcome::Done(found))));
    assert!(next.contains("have_already"), "{next}");
}
