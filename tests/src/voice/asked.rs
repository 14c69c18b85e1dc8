//! Whole turns by voice whose request no reflex serves: the words are heard, the real model decides, a tool acts, and the answer is
//! heard on the speaker. Judged by the calls and by the world afterwards; timed from the end of speech to the start of the action.

use serde_json::Value;

use super::{CONFIG, Scene};
use crate::{
    program::Tiro,
    pulse::Pulse,
    spoken::{
        Sound::{Pause, Phrase, Recording, Request, Say},
        sounds,
    },
};

/// What somebody wants.
struct Wanted {
    says: &'static str,
    /// One of these is right.
    tools: &'static [&'static str],
    /// How to look whether it came about, and what is there then.
    after: Option<(&'static str, &'static str, &'static str)>,
}

/// Written before any of them had been heard by the model, and kept whatever came of them. No day of the week is among them: the
/// clock is real, and "Monday at eleven" means tonight on a Monday at noon.
const WANTED: &[Wanted] = &[
    Wanted {
        says: "Who am I having lunch with tomorrow?",
        tools: &["calendar.query", "calendar.next"],
        after: None,
    },
    Wanted {
        says: "Put a haircut in my calendar for tomorrow at eleven.",
        tools: &["calendar.create_event"],
        after: Some(("calendar.query", r#"{"when": "tomorrow"}"#, "haircut")),
    },
    Wanted {
        says: "Remind me to pay the rent tomorrow at six in the evening.",
        tools: &["reminders.create"],
        after: Some(("reminders.list", r#"{"when": "tomorrow"}"#, "rent")),
    },
    Wanted {
        says: "Is there any mail from Anna?",
        tools: &["mail.recent", "mail.search"],
        after: None,
    },
    Wanted {
        says: "Add milk and bread to the shopping list.",
        tools: &["lists.add"],
        after: Some(("lists.show", r#"{"list": "shopping"}"#, "bread")),
    },
    Wanted {
        says: "When does my train to Hamburg leave?",
        tools: &["calendar.query", "calendar.next", "mail.search", "mail.read"],
        after: None,
    },
];

#[test]
fn real_requests_that_need_the_model() {
    let Some(tiro) = Tiro::in_the_demo_world() else {
        return;
    };
    let Some(pulse) = Pulse::start(tiro.home()) else {
        return;
    };
    if sounds(tiro.home(), &[Request]).is_none() {
        return;
    }
    // Each request for itself: nobody is listened to without the phrase.
    let config = CONFIG.replace("follow_up_seconds = 5", "follow_up_seconds = 0");
    let scene = Scene::with(&tiro, pulse, &config);
    let holds = |after: &(&str, &str, &str)| {
        let ran = tiro.run(["call", after.0, after.1, "--json"]);
        ran.out.to_lowercase().contains(after.2)
    };
    let (mut actions, mut words, mut right) = (Vec::new(), Vec::new(), 0);
    for (n, wanted) in WANTED.iter().enumerate() {
        println!("-- {}", wanted.says);
        assert!(!wanted.after.as_ref().is_some_and(holds), "it is so before");
        let came = scene.ask(&[Pause(500), Phrase(n), Pause(900), Say(wanted.says), Pause(300)]);
        println!("{}", came.report);
        let report = &came.report;
        assert_eq!(report["reflex"], false, "this was to need the model: {report}");
        let calls = report["calls"].as_array().unwrap();
        let ok =
            |call: &&Value| call["status"] == "ok" && wanted.tools.iter().any(|tool| call["name"] == **tool);
        let came_about = calls.iter().any(|call| ok(&call)) && wanted.after.as_ref().is_none_or(holds);
        // What was not wanted is not done, whatever was understood.
        for call in calls.iter().filter(|call| call["status"] == "ok" && !ok(call)) {
            let entry = tools::find(call["name"].as_str().unwrap()).unwrap();
            assert_eq!(entry.effect, tools::Effect::Read, "{call} for {:?}", wanted.says);
        }
        println!("{}", if came_about { "right" } else { "NOT RIGHT" });
        right += usize::from(came_about);
        if came_about {
            scene.is_heard(&came);
        }
        let since = |state: &str| {
            let at = scene.follow.since(came.ended, state);
            at.map(|at| at.duration_since(came.ended).as_millis())
        };
        words.extend(since("thinking"));
        actions.extend(since("acting"));
        scene.until_idle();
    }

    println!("-- a person asks for what nothing here can do");
    let came = scene.ask(&[
        Pause(500),
        Phrase(0),
        Pause(900),
        Recording("read/a3a899-would_you_please_turn_on_living_room_lamp.wav"),
        Pause(300),
    ]);
    println!("{}", came.report);
    let calls = came.report["calls"].as_array().unwrap();
    assert!(calls.iter().all(|call| call["status"] != "ok"), "{}", came.report);

    for all in [&mut words, &mut actions] {
        all.sort_unstable();
    }
    let p50 = actions[actions.len() / 2];
    println!("end of speech to thinking, ms: {words:?}");
    println!(
        "requests that need the model, end of speech to the start of the action, ms: {actions:?}, p50 {p50}; {right} of {} right",
        WANTED.len()
    );
    assert!(right >= RIGHT, "{right} of {} are right", WANTED.len());
    assert!(actions.len() >= RIGHT, "the start of an action is told");
    // 2.5 s are aimed at on two quiet cores; with others at work on them 12.5 s were seen.
    assert!(p50 < 40_000, "{p50} ms");
}

/// Requests that come about, at least: of the three that were seen to, less one, because the model reads the day and the hour. Not
/// among them: an event of which the model repeats the start as its end, a mail that it does not look for, a train that the
/// ranking does not look for in the calendar.
const RIGHT: usize = 2;
