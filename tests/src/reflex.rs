//! Requests that need no model: with no engine, while one loads, before one came, and over all scenarios.

use std::{sync::Arc, time::Duration};

use async_trait::async_trait;
use daemon::{
    agent::{Ending, Settings},
    bus,
    eval::{
        Player,
        judge::Row,
        rehearsal::{self, Lines},
        scenario::{Turn, Words},
        stage::Person,
    },
    listen::Utterance,
    report::Report,
    room::Room,
    run::{Daemon, Event},
    turn::turn,
};
use models::{
    EngineError,
    llm::{Generate, Generated, Llm, ModelInfo, OnText, Piece, Prepared},
    scripted::{Reply, ScriptedLlm, ScriptedStt},
};
use tokio::sync::mpsc;
use tools::{discover::Index, reflex::Reflexes, system::timers};

use crate::{daemon_loop, home::Home, program::Tiro, scenarios::scenarios};

const NOW: &str = "2026-11-20T09:00[Europe/Berlin]";
const TIMER: &str = "set a timer for ten minutes";
/// A request that is no pattern to the word.
const LONG: &str = "put dentist on tuesday at half past nine in my calendar";

/// An engine that is not there, or whose model takes for ever to load.
struct Nobody {
    loads: bool,
}

impl Nobody {
    async fn come<T>(&self) -> Result<T, EngineError> {
        if self.loads {
            std::future::pending::<()>().await;
        }
        Err(EngineError::NoEngine {
            engine: "tiro-llm".to_owned(),
            looked: Vec::new(),
        })
    }
}

#[async_trait]
impl Llm for Nobody {
    async fn info(&self) -> Result<ModelInfo, EngineError> {
        self.come().await
    }

    async fn count(&self, _: &[Piece]) -> Result<Vec<u32>, EngineError> {
        self.come().await
    }

    async fn prepare(&self, _: &[Piece]) -> Result<Prepared, EngineError> {
        self.come().await
    }

    async fn generate(&self, _: Generate, _: OnText<'_>) -> Result<Generated, EngineError> {
        self.come().await
    }
}

fn deaf() -> Arc<ScriptedStt> {
    Arc::new(ScriptedStt::replies::<&str>([]))
}

async fn say(room: &mut Room, words: &str) -> Report {
    turn(room, Utterance::Text(words.to_owned()), &mut Person::default()).await
}

fn running(home: &Home) -> usize {
    timers::all(&home.dirs()).unwrap().len()
}

#[tokio::test]
async fn what_needs_no_model_works_without_an_engine_and_can_be_undone() {
    let home = Home::seeded(NOW);
    let mut room = home.room(Arc::new(Nobody { loads: false }), Settings::default());
    let report = say(&mut room, TIMER).await;
    assert_eq!((report.end, report.reflex, report.steps), (Ending::Done, true, 0));
    assert!(report.reply.contains("10 minutes"), "{report:?}");
    assert_eq!(running(&home), 1);
    // What needs one says what is missing, and the conversation goes on after it.
    let report = say(&mut room, LONG).await;
    assert_eq!((report.end, report.reflex), (Ending::CouldNot, false));
    assert!(report.reply.contains("tiro-llm"), "{report:?}");
    let report = say(&mut room, "Undo that, please.").await;
    assert_eq!((report.end, report.reflex), (Ending::Done, true), "{report:?}");
    assert_eq!(running(&home), 0);
    // Questions are asked as always: here nobody is there to answer.
    let report = say(&mut room, "restart the computer").await;
    assert_ne!(report.end, Ending::Done, "{report:?}");
}

#[tokio::test]
async fn switched_off_everything_waits_for_the_model() {
    let home = Home::seeded(NOW);
    let settings = Settings {
        reflex: false,
        ..Settings::default()
    };
    let mut room = home.room(Arc::new(Nobody { loads: false }), settings);
    let report = say(&mut room, TIMER).await;
    assert_eq!((report.end, report.reflex), (Ending::CouldNot, false));
    assert_eq!(running(&home), 0);
}

#[tokio::test]
async fn the_model_that_comes_later_finds_the_conversation_in_its_own_dialect() {
    let home = Home::seeded(NOW);
    let llm = Arc::new(ScriptedLlm::answering(|_| Reply::from("Fine.")));
    let mut room = home.room(llm.clone(), Settings::default());
    say(&mut room, TIMER).await;
    assert_eq!((llm.requests().len(), llm.prefixes().len()), (0, 0));
    say(&mut room, LONG).await;
    assert_eq!(
        llm.prefixes().len(),
        1,
        "its prefix is prepared before it is asked"
    );
    let alone = llm.prompts().pop().unwrap();
    assert!(alone.contains(LONG) && !alone.contains(TIMER), "{alone}");
    say(&mut room, "and what about that").await;
    let prompt = llm.prompts().pop().unwrap();
    for part in [TIMER, "timers.set", "ten minutes", "and what about that"] {
        assert!(prompt.contains(part), "{part} in {prompt}");
    }
}

#[tokio::test]
async fn a_daemon_whose_model_still_loads_answers_at_once() {
    let home = Home::seeded(NOW);
    let llm: Arc<dyn Llm> = Arc::new(Nobody { loads: true });
    let parts = home.parts(Settings::default());
    let room = Room::new(llm, deaf(), parts.clone());
    let socket = home.path().join("socket");
    let listener = bus::listen(&socket).await.unwrap();
    let (events, inbox) = mpsc::channel(64);
    let daemon = tokio::spawn(Daemon::new(room, parts, events.clone()).run(inbox));
    let serving = tokio::spawn(bus::serve(listener, events.clone()));
    let client = bus::client(&socket).await.unwrap().unwrap();
    for count in 1..=2 {
        let asked = daemon_loop::ask(&client, TIMER);
        let report = tokio::time::timeout(Duration::from_secs(20), asked).await;
        let report = report.expect("the model is not waited for").unwrap();
        assert!(report.reflex && report.end == Ending::Done, "{report:?}");
        assert_eq!(running(&home), count);
    }
    events.send(Event::Stop).await.unwrap();
    daemon.await.unwrap();
    serving.abort();
}

/// Whatever scenario of ours is matched to the word is right in everything: tool, arguments, world and answer. What the
/// others need is not there, so what comes of them is not looked at.
#[tokio::test]
async fn what_is_matched_in_the_scenarios_is_right() {
    let home = Home::empty(NOW);
    // What needs the model is done as it should be, since "undo that" is judged by what came before it.
    let lines = Lines::default();
    let player = Player {
        llm: Arc::new(lines.model()),
        stt: deaf(),
        parts: home.parts(Settings {
            reflex: true,
            ..rehearsal::settings(Settings::default())
        }),
        index: Arc::new(Index::of(tools::ALL)),
        lines: Some(lines.clone()),
    };
    let reflexes = Reflexes::of(tools::ALL);
    let known = |turn: &Turn| matches!(&turn.words, Words::Text(text) if reflexes.find(text).is_some());
    let (mut rows, mut turns): (Vec<Row>, usize) = (Vec::new(), 0);
    for scenario in scenarios() {
        turns += scenario.turns.len();
        if scenario.turns.iter().any(known) {
            lines.learn(&scenario);
            let played = player.play(&scenario).await.unwrap();
            rows.extend(played.into_iter().filter(|row| row.reflex));
        }
    }
    let wrong: Vec<&Row> = rows.iter().filter(|row| !row.passed).collect();
    println!("{} of {turns} turns by reflex, {} wrong", rows.len(), wrong.len());
    for row in &rows {
        println!("{} {}: {:?} {:.1} ms", row.id, row.turn, row.say, row.ms.total);
    }
    // From the words to the answer, the tool's own work with it.
    let mut times: Vec<f32> = rows.iter().map(|row| row.ms.total).collect();
    times.sort_by(f32::total_cmp);
    assert!(rows.len() >= 5, "the scenarios have some: {}", rows.len());
    let (best, p50) = (times[0], times[times.len() / 2]);
    println!("quickest {best:.1} ms, p50 {p50:.1} ms");
    // Other tests run beside it and take the processor, so that the median says more of them.
    assert!(best < 20.0, "{best} ms");
    assert!(wrong.is_empty(), "{wrong:#?}");
}

#[test]
fn real_program_answers_without_its_engines() {
    let Some(tiro) = Tiro::in_the_demo_world() else {
        return;
    };
    let mut command = tiro.command(["ask", "--json", TIMER]);
    command.env("TIRO_ENGINES", "/nonexistent");
    let ran = crate::program::finish(command.spawn().unwrap());
    let report: Report = serde_json::from_str(&ran.out).unwrap_or_else(|error| panic!("{error}: {ran:?}"));
    println!("{:?}", report.ms);
    assert!(report.reflex && report.end == Ending::Done, "{report:?}");
}
