//! The tools are read while nobody wants anything, and whoever wants something does not wait for that.

use std::{collections::HashSet, sync::Arc, time::Duration};

use daemon::{agent::Settings, room::Room};
use models::{
    llm::Generate,
    scripted::{Reply, ScriptedLlm, ScriptedStt},
};
use tokio::sync::Semaphore;

use crate::{
    daemon_loop::{Running, ask, call},
    home::Home,
    loading::say,
};

const NOW: &str = "2026-11-20T09:00[Europe/Berlin]";

/// Words that make this tool be looked at ahead.
const WORDS: &str = "set a timer for ten minutes";
const TOOL: &str = "timers.set";

fn talking() -> ScriptedLlm {
    ScriptedLlm::answering(|_| Reply::from("Fine."))
}

fn room(home: &Home, llm: &Arc<ScriptedLlm>) -> Room {
    let settings = Settings {
        reflex: false,
        act_score: 1.0,
        ..Settings::default()
    };
    home.room(llm.clone(), settings)
}

fn text(request: &Generate) -> String {
    request.prompt.iter().map(|piece| piece.text.as_str()).collect()
}

/// In how many ways conversations can begin that find one of these tools first: two of its calls are shown, in either order.
fn beginnings(tools: &[String]) -> usize {
    let calls = |name: &String| {
        tools::ALL
            .iter()
            .find(|entry| entry.name == name)
            .unwrap()
            .calls
            .len()
    };
    let pairs = |calls: usize| if calls < 2 { 1 } else { calls * (calls - 1) };
    tools.iter().map(calls).map(pairs).sum()
}

#[tokio::test]
async fn each_deferred_tool_is_read_and_is_what_a_request_begins_with() {
    let home = Home::seeded(NOW);
    let llm = Arc::new(talking().keeping_states(&Arc::new(Semaphore::new(1000))));
    let mut room = room(&home, &llm);
    assert!(!room.learn().await.unwrap(), "an engine that rests is not woken");
    say(&mut room, "call me Ishmael").await;
    while room.learn().await.unwrap() {}
    let read = llm.read();
    let deferred: Vec<String> = room.agent().toolbox().deferred().map(str::to_owned).collect();
    let texts: HashSet<String> = read.iter().map(text).collect();
    // Once each, and then with their calls in another order; nothing twice.
    assert!(
        read.len() > deferred.len(),
        "{} of {}",
        read.len(),
        deferred.len()
    );
    assert_eq!(read.len(), texts.len());
    for (name, request) in deferred.iter().zip(&read) {
        let text = text(request);
        assert!(text.contains(&format!("\n{name}(")), "{name}: {text:?}");
        let calls = tools::ALL.iter().find(|entry| entry.name == name).unwrap().calls;
        assert_eq!(
            text.matches(&format!("{{\"name\": \"{name}\", ")).count(),
            calls.len().min(2),
            "{name}: {text:?}"
        );
        assert!(
            !text.contains("Ishmael"),
            "what somebody said is not kept: {text:?}"
        );
        assert_eq!(
            request.again.last(),
            Some(&(request.prompt.len() as u32)),
            "{name}"
        );
        assert_eq!(request.max_tokens, 0);
    }
    assert!(!room.learn().await.unwrap());
    assert_eq!(llm.read().len(), read.len(), "all are known");
    // What was read is what a request in a new conversation begins with, to the letter.
    room.forget();
    say(&mut room, WORDS).await;
    let asked = llm.prompts().pop().unwrap();
    let of_tool = |text: &&String| text.contains(&format!("\n{TOOL}("));
    let fits = texts
        .iter()
        .filter(of_tool)
        .filter(|text| asked.starts_with(*text));
    assert_eq!(fits.count(), 1, "{asked}");
}

#[tokio::test]
async fn a_request_goes_on_from_what_was_read_when_nobody_waited() {
    let home = Home::seeded(NOW);
    let llm = Arc::new(talking().keeping_states(&Arc::new(Semaphore::new(1000))));
    let mut room = room(&home, &llm);
    let read = |room: &mut Room| -> String {
        let next = room.agent().next();
        next.pieces.into_iter().map(|piece| piece.text).collect()
    };
    // In a new conversation, and behind what was said before; whatever tool it finds.
    let new = read(&mut room);
    say(&mut room, WORDS).await;
    let first = llm.prompts().pop().unwrap();
    assert!(
        first.starts_with(&new) && first[new.len()..].starts_with(TOOL),
        "{new}"
    );
    room.warm().await.unwrap();
    let later = read(&mut room);
    assert_eq!(text(&llm.read().pop().unwrap()), later);
    say(&mut room, "wake me up at seven tomorrow").await;
    let second = llm.prompts().pop().unwrap();
    assert!(later.contains(WORDS) && second.starts_with(&later), "{later}");
    assert!(second[later.len()..].starts_with("alarms.set("), "{second}");
}

/// Requests that stand for themselves are asked about alone, and nobody counts what they add up to but who reads it in the pauses.
#[tokio::test]
async fn a_conversation_that_no_request_shows_stays_within_the_budget() {
    let home = Home::seeded(NOW);
    let sets = |_: &str| Reply::from(call(TOOL, r#"{"duration": "nine minutes"}"#));
    let llm = ScriptedLlm::answering(sets).keeping_states(&Arc::new(Semaphore::new(1000)));
    let llm = Arc::new(llm);
    let settings = Settings {
        reflex: false,
        ..Settings::default()
    };
    let nobody = || Arc::new(ScriptedStt::replies::<&str>([]));
    let words = |text: &str| text.split_whitespace().count();
    let mut parts = home.parts(settings);
    let mut new = Room::new(llm.clone(), nobody(), parts.clone());
    let new: Vec<String> = new
        .agent()
        .next()
        .pieces
        .into_iter()
        .map(|piece| piece.text)
        .collect();
    let budget = words(&new.concat()) + 400;
    parts.limits.budget = budget as u32;
    let mut room = Room::new(llm.clone(), nobody(), parts);
    let noodles = "set a timer for the noodles to nine minutes";
    let mut longest = 0;
    for turn in 0..30 {
        say(&mut room, noodles).await;
        let asked = llm.requests().pop().unwrap();
        assert_eq!((asked.beside, asked.idle), (turn > 0, false));
        assert_eq!(text(&asked).matches(noodles).count(), 1, "{turn}");
        room.warm().await.unwrap();
        room.warm().await.unwrap();
        let read = llm.read().pop().unwrap();
        assert_eq!((read.beside, read.idle), (false, true));
        assert!(
            words(&text(&read)) <= budget,
            "{} of {budget} after {turn}",
            words(&text(&read))
        );
        longest = longest.max(text(&read).matches(noodles).count());
    }
    assert!(longest > 3, "what fits is kept: {longest}");
    say(&mut room, "and what about that").await;
    let later = llm.requests().pop().unwrap();
    assert!(!later.beside && text(&later).matches(noodles).count() > 1);
}

#[tokio::test]
async fn a_tool_whose_reading_was_broken_off_is_read_again() {
    let home = Home::seeded(NOW);
    let may = Arc::new(Semaphore::new(0));
    let llm = Arc::new(talking().keeping_states(&may));
    let mut room = room(&home, &llm);
    room.ready().await.unwrap();
    let cut = tokio::time::timeout(Duration::from_millis(20), room.learn()).await;
    assert!(cut.is_err() && llm.read().is_empty(), "nobody let it end");
    may.add_permits(1000);
    while room.learn().await.unwrap() {}
    let read = llm.read();
    let texts: HashSet<String> = read.iter().map(text).collect();
    let deferred: Vec<String> = room.agent().toolbox().deferred().map(str::to_owned).collect();
    assert_eq!((read.len(), texts.len()), (beginnings(&deferred), read.len()));
}

#[tokio::test]
async fn where_nothing_is_kept_nothing_is_read() {
    let home = Home::seeded(NOW);
    let llm = Arc::new(talking());
    let mut room = room(&home, &llm);
    room.ready().await.unwrap();
    assert!(!room.learn().await.unwrap());
    assert!(llm.read().is_empty());
}

/// The third tool never ends, and whoever asks meanwhile gets an answer.
#[tokio::test]
async fn a_request_breaks_off_the_reading() {
    let may = Arc::new(Semaphore::new(2));
    let running = Running::start_with(talking().keeping_states(&may), |parts| {
        parts.limits.read_ahead = Some(Duration::from_millis(10));
        parts.limits.generate = Duration::from_secs(600);
    })
    .await;
    running
        .until("has read two", |_| running.llm.read().len() == 2)
        .await;
    let client = running.client().await;
    let asking = ask(&client, "good morning");
    let report = tokio::time::timeout(Duration::from_secs(30), asking).await;
    assert_eq!(report.expect("the reading is in its way").unwrap().reply, "Fine.");
    // It does not go on before the conversation is over.
    may.add_permits(1000);
    tokio::time::sleep(Duration::from_secs(3)).await;
    assert_eq!(running.llm.read().len(), 2);
    running.stop().await;
}

#[tokio::test]
async fn who_wants_no_reading_ahead_has_none() {
    let may = Arc::new(Semaphore::new(1000));
    let running = Running::start_with(talking().keeping_states(&may), |parts| {
        parts.limits.read_ahead = None;
    })
    .await;
    running.until("is ready", |status| status.prefix.is_some()).await;
    tokio::time::sleep(Duration::from_millis(1500)).await;
    assert!(running.llm.read().is_empty());
    running.stop().await;
}
