//! The real daemon, headless: its loop and its bus on a private socket, a scripted model, real tools.

use std::{sync::Arc, time::Duration};

use daemon::{
    agent::Settings,
    bus::{self, Tiro1Proxy},
    report::Report,
    run::{Daemon, Event},
    status::Status,
};
use models::scripted::{Reply, ScriptedLlm};
use tokio::sync::mpsc;
use zbus::{Connection, OwnedVariant, Variant};

use crate::home::Home;

/// A running daemon.
struct Running {
    home: Home,
    llm: Arc<ScriptedLlm>,
    events: mpsc::Sender<Event>,
    ended: tokio::task::JoinHandle<()>,
    serving: tokio::task::JoinHandle<()>,
}

impl Running {
    async fn start(llm: ScriptedLlm) -> Running {
        let (home, llm) = (Home::seeded("2026-11-20T09:00[Europe/Berlin]"), Arc::new(llm));
        let room = home.room(
            llm.clone(),
            Settings {
                pre_discover: false,
                act_score: 1.0,
                ..Settings::default()
            },
        );
        let listener = bus::listen(&home.path().join("s")).await.unwrap();
        let (events, inbox) = mpsc::channel(64);
        let daemon = Daemon::new(room, events.clone());
        let serving = tokio::spawn(bus::serve(listener, events.clone()));
        let ended = tokio::spawn(daemon.run(inbox));
        Running {
            home,
            llm,
            events,
            ended,
            serving,
        }
    }

    async fn client(&self) -> Connection {
        bus::client(&self.home.path().join("s"))
            .await
            .unwrap()
            .expect("the daemon listens")
    }
}

fn call(tool: &str, arguments: &str) -> String {
    format!("<tool_call>\n{{\"name\": \"{tool}\", \"arguments\": {arguments}}}\n</tool_call>")
}

async fn ask(client: &Connection, text: &str) -> zbus::Result<Report> {
    let now = Variant::from("2026-11-20T09:00[Europe/Berlin]".to_owned());
    let options = [("now".to_owned(), OwnedVariant::try_from(now).unwrap())].into();
    let proxy = Tiro1Proxy::new(client).await?;
    let json = tokio::time::timeout(Duration::from_secs(20), proxy.ask(text.into(), options))
        .await
        .expect("an answer")?;
    Ok(serde_json::from_str(&json).unwrap())
}

#[tokio::test]
async fn a_client_asks_and_gets_the_report_and_the_conversation_goes_on() {
    let running = Running::start(ScriptedLlm::replies([
        call("calendar.query", r#"{"when": "tomorrow"}"#),
        call("contacts.search", r#"{"query": "Anna"}"#),
    ]))
    .await;
    let client = running.client().await;
    let first = ask(&client, "what do I have tomorrow").await.unwrap();
    assert!(first.reply.contains("Dentist"), "{}", first.reply);
    let second = ask(&client, "and what is Anna's number").await.unwrap();
    assert!(second.reply.contains("Anna"), "{}", second.reply);
    assert!(
        running.llm.prompts()[1].contains("what do I have tomorrow"),
        "the conversation is one"
    );
}

#[tokio::test]
async fn a_cancelled_turn_ends_and_the_next_one_works() {
    let running = Running::start(ScriptedLlm::replies([
        Reply::Hang("Once upon".into()),
        Reply::Text(call("calendar.query", r#"{"when": "tomorrow"}"#)),
    ]))
    .await;
    let client = running.client().await;
    let other = running.client().await;
    let stop = async {
        tokio::time::sleep(Duration::from_millis(300)).await;
        Tiro1Proxy::new(&other).await.unwrap().cancel().await.unwrap();
    };
    let (cancelled, ()) = tokio::join!(ask(&client, "tell me a story"), stop);
    assert!(cancelled.unwrap_err().to_string().contains("cancelled"));
    let next = ask(&client, "what do I have tomorrow").await.unwrap();
    assert!(next.reply.contains("Dentist"), "{}", next.reply);
    assert!(
        !running.llm.prompts()[1].contains("story"),
        "the cancelled turn left no trace"
    );
}

#[tokio::test]
async fn an_engine_that_dies_costs_one_sentence_and_nothing_else() {
    let running = Running::start(ScriptedLlm::replies([
        Reply::crash(),
        Reply::Text(call("calendar.query", r#"{"when": "tomorrow"}"#)),
    ]))
    .await;
    let client = running.client().await;
    assert_eq!(
        ask(&client, "what do I have tomorrow").await.unwrap().reply,
        prompts::words::engine_crashed()
    );
    assert!(
        ask(&client, "what do I have tomorrow")
            .await
            .unwrap()
            .reply
            .contains("Dentist")
    );
}

#[tokio::test]
async fn status_tells_of_the_daemon_while_it_is_busy() {
    let running = Running::start(ScriptedLlm::replies([Reply::Hang(String::new())])).await;
    let (client, other) = (running.client().await, running.client().await);
    let busy = tokio::spawn(async move { ask(&client, "tell me a story").await.is_err() });
    tokio::time::sleep(Duration::from_millis(300)).await;
    let proxy = Tiro1Proxy::new(&other).await.unwrap();
    let status: Status = serde_json::from_str(&proxy.status().await.unwrap()).unwrap();
    assert_eq!(
        (status.state.as_str(), status.pid),
        ("thinking", std::process::id())
    );
    proxy.cancel().await.unwrap();
    assert!(busy.await.unwrap());
}

#[tokio::test]
async fn a_second_daemon_refuses_and_a_dead_ones_socket_is_replaced() {
    let running = Running::start(ScriptedLlm::replies::<&str>([])).await;
    let socket = running.home.path().join("s");
    let refused = bus::listen(&socket).await.unwrap_err();
    assert!(refused.to_string().contains("another tiro daemon"), "{refused}");
    running.events.send(Event::Stop).await.unwrap();
    running.ended.await.unwrap();
    running.serving.abort();
    let _ = running.serving.await;
    assert!(socket.exists(), "the file of a killed daemon stays behind");
    bus::listen(&socket).await.unwrap();
}

#[tokio::test]
async fn options_that_nobody_knows_are_refused() {
    let running = Running::start(ScriptedLlm::replies::<&str>([])).await;
    let client = running.client().await;
    let proxy = Tiro1Proxy::new(&client).await.unwrap();
    let options = [("shell".to_owned(), OwnedVariant::from(true))].into();
    let refused = proxy.ask("hello".into(), options).await.unwrap_err();
    assert!(refused.to_string().contains("no option shell"), "{refused}");
}
