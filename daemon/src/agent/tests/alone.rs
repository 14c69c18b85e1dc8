//! Requests that stand for themselves are asked about without what was said before.

use super::*;

const TIMER: &str = "set a timer for ten minutes";
const MAIL: &str = "any new mail";

fn ahead(placement: Placement) -> Agent {
    agent(Settings {
        show_score: 0.1,
        placement,
        reflex: false,
        ..Settings::default()
    })
}

/// A turn in which the model calls this tool and it says something.
fn turn(agent: &mut Agent, words: &str, tool: &str) {
    say(agent, words);
    let call = call(model(agent, tool, words));
    reply(did(agent, call, output("It told something.")));
}

/// A conversation with two turns in it.
fn talk() -> Agent {
    let mut agent = ahead(Placement::Tail);
    turn(&mut agent, TIMER, "timers.set");
    turn(&mut agent, MAIL, "mail.recent");
    agent
}

#[test]
fn it_is_asked_about_as_in_a_new_conversation() {
    for words in [TIMER, MAIL, "what is on my calendar"] {
        let (mut old, mut new) = (talk(), ahead(Placement::Tail));
        let (old, new) = (say(&mut old, words), say(&mut new, words));
        assert!(old.alone && !new.alone, "{words}");
        assert_eq!(Ask { alone: false, ..old }, new, "{words}");
        assert!(new.found.stretches.is_empty() || new.found.begins, "{words}");
    }
}

#[test]
fn it_is_part_of_the_conversation_all_the_same() {
    let mut agent = talk();
    turn(&mut agent, "write this down", "notes.create");
    let later = say(&mut agent, "and what about that mail");
    assert!(!later.alone);
    for said in [TIMER, MAIL, "write this down", "It told something."] {
        assert!(text(&later).contains(said), "{said}");
    }
    for tool in ["timers.set", "notes.create"] {
        let schema = format!("\"name\": \"{tool}\"");
        assert!(text(&later).contains(&schema), "{tool}");
    }
}

#[test]
fn what_is_read_in_the_pause_is_what_a_later_request_goes_on_from() {
    let mut agent = talk();
    let next = agent.next();
    let later = say(&mut agent, "and what about that mail");
    let read = agent.transcript().pieces;
    assert!(next.pieces.len() > next.static_len);
    let common = next.pieces.iter().zip(&read).take_while(|(a, b)| a == b).count();
    assert!(
        common + 1 >= next.pieces.len(),
        "{common} of {}",
        next.pieces.len()
    );
    assert_eq!(later.prompt, read);
}

#[test]
fn after_a_mistake_the_model_sees_everything() {
    let mut agent = talk();
    assert!(say(&mut agent, TIMER).alone);
    let first = call(model(&mut agent, "timers.set", "ten minutes"));
    let again = ask(did(&mut agent, first, Outcome::Misfit("No such length.".into())));
    assert!(!again.alone && text(&again).contains(MAIL), "{}", text(&again));
    assert!(text(&again).contains("No such length."));
}

#[test]
fn what_is_repaired_after_a_mistake_is_repaired_with_everything() {
    let mut agent = talk();
    assert!(say(&mut agent, MAIL).alone);
    let first = call(model(&mut agent, "mail.recent", "new mail"));
    ask(did(&mut agent, first, Outcome::Misfit("No such mail.".into())));
    // Free again, it takes a tool of an earlier turn and makes a text up.
    let copies = agent.step(Input::Generated(
        "<tool_call>\n{\"name\": \"timers.set\", \"arguments\": {\"query\": \"five bananas\"}}\n</tool_call>"
            .into(),
    ));
    if let Step::Generate(again) = copies {
        assert!(!again.alone && text(&again).contains(TIMER), "{}", text(&again));
    }
    assert_eq!(agent.alone(), None);
}

#[test]
fn after_somebody_elses_turn_what_points_back_sees_everything() {
    let mut agent = talk();
    let guest = Asked {
        guest: true,
        ..Asked::default()
    };
    said(&mut agent, MAIL, guest);
    let call = call(model(&mut agent, "mail.recent", "new mail"));
    reply(did(&mut agent, call, output("It told something.")));
    let later = say(&mut agent, "set a timer for ten minutes instead");
    assert!(!later.alone && text(&later).contains(MAIL), "{}", text(&later));
}

#[test]
fn where_the_conversation_cannot_be_left_out_it_is_there() {
    let mut system = ahead(Placement::System);
    turn(&mut system, TIMER, "timers.set");
    assert!(!say(&mut system, MAIL).alone);
    // A question of Tiro's is open.
    let mut asked = ahead(Placement::Tail);
    say(&mut asked, TIMER);
    let one = call(model(&mut asked, "timers.set", "ten minutes"));
    reply(did(&mut asked, one, Outcome::Broken("Which timer?".into())));
    assert!(!say(&mut asked, MAIL).alone);
}

#[test]
fn a_long_conversation_is_not_dropped_for_a_request_that_does_not_show_it() {
    let mut agent = talk();
    assert!(say(&mut agent, TIMER).alone);
    assert_eq!(agent.trim(), None);
    let before = agent.transcript().pieces.len();
    assert!(agent.shorten() && agent.transcript().pieces.len() < before);
    assert!(agent.shorten() && !agent.shorten(), "the open turn stays");
}
