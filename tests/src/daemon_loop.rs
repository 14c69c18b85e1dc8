//! The real daemon, headless: its loop and its bus on a private socket, a scripted model, real tools.

use std::{collections::BTreeMap, sync::Arc, time::Duration};

use daemon::{
    agent::{Ending, Settings},
    bus::{self, Tiro1Proxy},
    hotkey,
    reply::Happening,
    report::Report,
    room::{Clock, Parts, Room},
    run::{Daemon, Event, Look},
    status::Status,
};
use futures_util::StreamExt as _;
use models::scripted::{Reply, ScriptedLlm, ScriptedStt};
use tokio::sync::{mpsc, watch};
use tools::{Ctx, Effect, Entry, Output, Tool, ToolError, system::timers};
use zbus::{Connection, MessageStream, OwnedVariant, Variant};

use crate::home::Home;

/// A running daemon.
pub struct Running {
    /// Its home, and that of a client with this `TIRO_HOME`.
    pub home: Home,
    /// What it thinks with.
    pub llm: Arc<ScriptedLlm>,
    events: mpsc::Sender<Event>,
    look: watch::Receiver<Look>,
    ended: tokio::task::JoinHandle<()>,
    serving: tokio::task::JoinHandle<()>,
}

impl Running {
    /// How it looks now.
    pub fn look(&self) -> Look {
        self.look.borrow().clone()
    }

    /// A daemon in the demo world.
    pub async fn start(llm: ScriptedLlm) -> Running {
        Running::start_with(llm, |_| ()).await
    }

    /// A daemon in the demo world, of changed parts.
    pub async fn start_with(llm: ScriptedLlm, change: impl FnOnce(&mut Parts)) -> Running {
        let deaf = Arc::new(ScriptedStt::replies::<&str>([]));
        Running::start_hearing(llm, deaf, change).await
    }

    /// The same with a recogniser.
    pub async fn start_hearing(
        llm: ScriptedLlm,
        stt: Arc<ScriptedStt>,
        change: impl FnOnce(&mut Parts),
    ) -> Running {
        let (home, llm) = (Home::seeded(NOW), Arc::new(llm));
        let mut parts = home.parts(Settings {
            pre_discover: false,
            // What is said here is for the model that answers it.
            reflex: false,
            act_score: 1.0,
            ..Settings::default()
        });
        change(&mut parts);
        let room = Room::new(llm.clone(), stt, parts.clone());
        std::fs::create_dir(home.path().join("run")).unwrap();
        let listener = bus::listen(&home.path().join(SOCKET)).await.unwrap();
        let (events, inbox) = mpsc::channel(64);
        let daemon = Daemon::new(room, parts, events.clone());
        let look = daemon.look();
        let serving = tokio::spawn(bus::serve(listener, events.clone()));
        let ended = tokio::spawn(daemon.run(inbox));
        Running {
            home,
            llm,
            events,
            look,
            ended,
            serving,
        }
    }

    /// Puts it on a session bus; it leaves when the task is aborted.
    pub fn attend(&self, address: &str) -> tokio::task::JoinHandle<()> {
        tokio::spawn(bus::attend(Some(address.to_owned()), self.events.clone(), None))
    }

    /// The same with an icon in the bar.
    pub fn attend_with_icon(&self, address: &str) -> tokio::task::JoinHandle<()> {
        let socket = self.home.path().join(SOCKET);
        let icon = bus::Icon::new(self.look.clone(), self.events.clone(), socket);
        let address = Some(address.to_owned());
        tokio::spawn(bus::attend(address, self.events.clone(), Some(icon)))
    }

    /// Waits until it ends by itself.
    pub async fn ends(self) {
        self.ended.await.unwrap();
    }

    /// Gives it a key to talk.
    pub fn keys(&self, settings: hotkey::Settings) -> tokio::task::JoinHandle<()> {
        tokio::spawn(hotkey::attend(settings, self.events.clone()))
    }

    /// Ends it, as SIGTERM does.
    pub async fn stop(self) {
        self.happens(Event::Stop).await;
        self.ended.await.unwrap();
        self.serving.abort();
        let _ = self.serving.await;
    }

    /// Lets something happen to it.
    pub async fn happens(&self, event: Event) {
        self.events.send(event).await.unwrap();
    }

    /// What everything comes in by.
    pub fn events(&self) -> mpsc::Sender<Event> {
        self.events.clone()
    }

    /// Somebody on its bus.
    pub async fn client(&self) -> Connection {
        bus::client(&self.home.path().join(SOCKET))
            .await
            .unwrap()
            .expect("the daemon listens")
    }

    /// How it is.
    pub async fn status(&self) -> Status {
        let client = self.client().await;
        let json = Tiro1Proxy::new(&client).await.unwrap().status().await.unwrap();
        serde_json::from_str(&json).unwrap()
    }

    /// Waits until the daemon is as it should be.
    pub async fn until(&self, what: &str, is_so: impl Fn(&Status) -> bool) {
        // Patient, because the machine may be busy with the other tests.
        let began = std::time::Instant::now();
        while began.elapsed() < Duration::from_secs(60) {
            if is_so(&self.status().await) {
                return;
            }
            tokio::time::sleep(Duration::from_millis(25)).await;
        }
        panic!("never {what}: {:?}", self.status().await);
    }

    /// Waits until the model has been asked this many times and the answer to the last one is waited for. A turn thinks from its
    /// first moment on, before its script is: who interrupts it that early leaves the reply to the next one.
    pub async fn until_asked(&self, times: usize) {
        self.until("asked", |s| {
            s.state == "thinking" && self.llm.prompts().len() == times
        })
        .await;
    }
}

/// Where a `tiro` with this home looks for its daemon.
const SOCKET: &str = "run/tiro.sock";

/// The moment of every turn.
const NOW: &str = "2026-11-20T09:00[Europe/Berlin]";

/// The tools, with one that asks before it writes.
pub fn asking_tools(parts: &mut Parts) {
    let mut tools = tools::ALL.to_vec();
    let note = tools.iter_mut().find(|t| t.name == "notes.create").unwrap();
    note.confirm = true;
    parts.tools = tools.leak();
    parts.settings.loading.core = vec!["notes.create".into()];
}

/// What the model writes to note something.
pub fn note(text: &str) -> String {
    call("notes.create", &format!(r#"{{"text": "{text}"}}"#))
}

/// Writes for a while.
struct Slow;

impl Tool for Slow {
    type Args = BTreeMap<String, String>;
    const NAME: &'static str = "test.slow";
    const SUMMARY: &'static str = "Write for a while";
    const EFFECT: Effect = Effect::Write;
    const EXAMPLES: &'static [&'static str] = &["write slowly"];

    async fn run(_: Self::Args, ctx: &Ctx) -> Result<Output, ToolError> {
        tokio::time::sleep(Duration::from_millis(700)).await;
        std::fs::write(ctx.dirs.notes.join("slow.md"), "done").unwrap();
        Ok(Output::new("Written.", serde_json::json!({})))
    }
}

/// Cannot even say what it would do.
struct Panics;

impl Tool for Panics {
    type Args = BTreeMap<String, String>;
    const NAME: &'static str = "test.panics";
    const SUMMARY: &'static str = "Panic";
    const EFFECT: Effect = Effect::Irreversible;
    const EXAMPLES: &'static [&'static str] = &["panic"];

    fn preview(_: &Self::Args, _: &Ctx) -> Result<String, ToolError> {
        panic!("a panic on purpose")
    }

    async fn run(_: Self::Args, _: &Ctx) -> Result<Output, ToolError> {
        unreachable!("nobody said yes")
    }
}

/// The tools, and the two above.
pub fn test_tools(parts: &mut Parts) {
    let mut tools = tools::ALL.to_vec();
    tools.extend([Entry::of::<Slow>(), Entry::of::<Panics>()]);
    parts.tools = tools.leak();
    parts.settings.loading.core = vec![Slow::NAME.into(), Panics::NAME.into()];
}

/// The id of the next question that this client is asked.
pub async fn question(signals: &mut MessageStream) -> u64 {
    loop {
        let message = signals.next().await.expect("a signal").unwrap();
        let body = message.body();
        let Ok((_, detail)) = body.deserialize::<(String, String)>() else {
            continue;
        };
        if let Ok(Happening::Asked { id, .. }) = serde_json::from_str(&detail) {
            return id;
        }
    }
}

/// What the model writes to call a tool.
pub fn call(tool: &str, arguments: &str) -> String {
    format!("<tool_call>\n{{\"name\": \"{tool}\", \"arguments\": {arguments}}}\n</tool_call>")
}

/// One turn by text.
pub async fn ask(client: &Connection, text: &str) -> zbus::Result<Report> {
    ask_with(client, text, &[]).await
}

/// The same with options that are switched on.
pub async fn ask_with(client: &Connection, text: &str, on: &[&str]) -> zbus::Result<Report> {
    let now = OwnedVariant::try_from(Variant::from(NOW.to_owned())).unwrap();
    let on = on.iter().map(|key| ((*key).to_owned(), OwnedVariant::from(true)));
    let options = on.chain([("now".to_owned(), now)]).collect();
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
        call("contacts.search", r#"{"name": "Anna"}"#),
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
async fn what_was_changed_is_taken_back_by_word_and_over_the_bus() {
    let script = [
        note("one"),
        note("two"),
        call("assistant.undo", "{}"),
        call("assistant.repeat", "{}"),
    ];
    let eager = |parts: &mut Parts| parts.settings.loading.lazy = false;
    let running = Running::start_with(ScriptedLlm::replies(script), eager).await;
    let client = running.client().await;
    let proxy = Tiro1Proxy::new(&client).await.unwrap();
    let nothing = proxy.undo().await.unwrap_err().to_string();
    assert!(nothing.contains("There is nothing to undo."), "{nothing}");
    let before = running.home.files();
    ask(&client, "note one").await.unwrap();
    ask(&client, "note two").await.unwrap();
    let undone = ask(&client, "undo that").await.unwrap();
    assert_eq!(undone.reply, "Undone: I saved the note.");
    assert_eq!(ask(&client, "say that again").await.unwrap().reply, undone.reply);
    assert_eq!(proxy.undo().await.unwrap(), undone.reply);
    assert_eq!(running.home.files(), before);
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
        running.until_asked(1).await;
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
    running.until_asked(1).await;
    assert_eq!(running.status().await.pid, std::process::id());
    Tiro1Proxy::new(&other).await.unwrap().cancel().await.unwrap();
    assert!(busy.await.unwrap());
}

#[tokio::test]
async fn a_second_daemon_refuses_and_a_dead_ones_socket_is_replaced() {
    let running = Running::start(ScriptedLlm::replies::<&str>([])).await;
    let socket = running.home.path().join(SOCKET);
    let refused = bus::listen(&socket).await.map(drop).unwrap_err();
    assert!(refused.to_string().contains("another tiro daemon"), "{refused}");
    running.events.send(Event::Stop).await.unwrap();
    running.ended.await.unwrap();
    running.serving.abort();
    let _ = running.serving.await;
    assert!(!socket.exists(), "a daemon that leaves takes its socket away");
    drop(std::os::unix::net::UnixListener::bind(&socket).unwrap());
    assert!(socket.exists(), "the file of a killed daemon stays behind");
    let door = bus::listen(&socket).await.unwrap();
    // Nobody serves it yet, but it is taken.
    std::fs::remove_file(&socket).unwrap();
    let refused = bus::listen(&socket).await.map(drop).unwrap_err();
    assert!(refused.to_string().contains("another tiro daemon"), "{refused}");
    drop(door);
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

#[tokio::test]
async fn a_client_that_cancels_while_it_waits_withdraws_its_own_request_and_no_other() {
    let running = Running::start(ScriptedLlm::replies([
        Reply::Hang("Once upon".into()),
        Reply::Text(call("calendar.query", r#"{"when": "tomorrow"}"#)),
    ]))
    .await;
    let (first, second, key) = (
        running.client().await,
        running.client().await,
        running.client().await,
    );
    let story = tokio::spawn(async move { ask(&first, "tell me a story").await });
    running.until_asked(1).await;
    let asks = second.clone();
    let joke = tokio::spawn(async move { ask(&asks, "tell me a joke").await });
    running.until("waiting", |s| s.waiting == 1).await;
    Tiro1Proxy::new(&second).await.unwrap().cancel().await.unwrap();
    assert!(joke.await.unwrap().unwrap_err().to_string().contains("cancelled"));
    running
        .until("thinking on", |s| s.waiting == 0 && s.state == "thinking")
        .await;
    assert!(!story.is_finished(), "somebody else's turn goes on");

    // A key binding has no request of its own: it means what is running.
    Tiro1Proxy::new(&key).await.unwrap().cancel().await.unwrap();
    assert!(
        story
            .await
            .unwrap()
            .unwrap_err()
            .to_string()
            .contains("cancelled")
    );
    assert!(ask(&second, "what do I have tomorrow").await.is_ok());
    let prompts = running.llm.prompts();
    assert_eq!(prompts.len(), 2);
    assert!(
        !prompts.concat().contains("joke"),
        "what was withdrawn never began"
    );
}

#[tokio::test]
async fn an_answer_counts_only_for_the_question_that_is_open() {
    let script = [note("milk"), note("bread"), note("eggs")];
    let running = Running::start_with(ScriptedLlm::replies(script), asking_tools).await;
    let (client, other) = (running.client().await, running.client().await);
    let (mine, foreign) = (
        Tiro1Proxy::new(&client).await.unwrap(),
        Tiro1Proxy::new(&other).await.unwrap(),
    );
    let mut signals = MessageStream::from(&client);
    let before = running.home.files();

    let asks = client.clone();
    let asked = tokio::spawn(async move { ask_with(&asks, "note milk", &["interactive"]).await });
    let id = question(&mut signals).await;
    assert!(!foreign.confirm(id + 1, true).await.unwrap());
    assert!(!mine.confirm(id - 1, true).await.unwrap());
    running.until("asking on", |s| s.state == "confirming").await;
    let shown = foreign.question().await.unwrap();
    assert!(
        shown.starts_with(&format!("{{\"id\":{id},")) && shown.contains("milk"),
        "{shown}"
    );
    // Whoever reaches the socket speaks for the person, as `tiro confirm` does.
    assert!(foreign.confirm(id, false).await.unwrap());
    assert!(!mine.confirm(id, true).await.unwrap(), "it is answered");
    assert_eq!(asked.await.unwrap().unwrap().calls[0].status, "declined");
    assert_eq!(running.home.files(), before, "nothing was written");

    // The yes to the first question comes late: it is no answer to the second one.
    let asks = client.clone();
    let asked = tokio::spawn(async move { ask_with(&asks, "note bread", &["interactive"]).await });
    let next = question(&mut signals).await;
    assert!(next > id);
    assert!(!mine.confirm(id, true).await.unwrap());
    running.until("asking on", |s| s.state == "confirming").await;
    assert!(mine.confirm(next, true).await.unwrap());
    assert_eq!(asked.await.unwrap().unwrap().calls[0].status, "ok");

    drop(signals);
    let mut signals = MessageStream::from(&client);
    let report = ask_with(&client, "note eggs", &["interactive", "yes"])
        .await
        .unwrap();
    assert_eq!(report.calls[0].status, "ok");
    let asked = tokio::time::timeout(Duration::from_millis(300), question(&mut signals)).await;
    assert!(asked.is_err(), "who said yes beforehand is not asked");
}

#[tokio::test]
async fn a_client_with_nobody_in_front_of_it_is_told_what_needs_a_yes() {
    let running = Running::start_with(ScriptedLlm::replies([note("milk")]), asking_tools).await;
    let client = running.client().await;
    let before = running.home.files();
    let report = ask(&client, "note milk").await.unwrap();
    assert_eq!(
        (report.end, report.calls[0].status.as_str()),
        (Ending::NeedsConfirmation, "unconfirmed")
    );
    assert_eq!(running.home.files(), before, "nothing was written");
    let long = "a".repeat(bus::MAX_TEXT + 1);
    let refused = ask(&client, &long).await.unwrap_err();
    assert!(
        refused.to_string().contains("the text has more than"),
        "{refused}"
    );
}

#[tokio::test]
async fn a_timer_rings_by_the_real_clock_while_a_turn_hangs_in_another_time() {
    let script = ScriptedLlm::replies([Reply::Hang(String::new())]);
    let running = Running::start_with(script, |parts| parts.clock = Clock::Real).await;
    let client = running.client().await;
    let _busy = tokio::spawn(async move { ask(&client, "tell me a story").await });
    running.until_asked(1).await;
    let (dirs, now) = (running.home.dirs(), jiff::Zoned::now());
    let step = tools::Journal::at(&dirs.state, tools::Retention::default()).step("test");
    let set = |length| timers::set(&step, &dirs, &now, Duration::from_secs(length), None).unwrap();
    let (long, short) = (set(3600), set(1));
    assert!(short.rings < long.rings);
    let patience = std::time::Instant::now();
    while timers::all(&dirs).unwrap() != [long.clone()] {
        assert!(patience.elapsed() < Duration::from_secs(10), "it rings");
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
}

#[tokio::test]
async fn what_is_forgotten_while_a_turn_runs_is_gone_from_the_next_one_and_nobody_waits() {
    let query = call("calendar.query", r#"{"when": "tomorrow"}"#);
    let running = Running::start(ScriptedLlm::replies([
        Reply::Text(query.clone()),
        Reply::Hang(String::new()),
        Reply::Text(query),
    ]))
    .await;
    let (client, other) = (running.client().await, running.client().await);
    ask(&client, "what about Wednesday").await.unwrap();
    let asks = client.clone();
    let busy = tokio::spawn(async move { ask(&asks, "tell me a story").await });
    running.until_asked(2).await;
    let proxy = Tiro1Proxy::new(&other).await.unwrap();
    tokio::time::timeout(Duration::from_secs(2), proxy.forget())
        .await
        .expect("it does not wait for the turn")
        .unwrap();
    proxy.cancel().await.unwrap();
    assert!(busy.await.unwrap().is_err());
    ask(&client, "what do I have tomorrow").await.unwrap();
    let prompts = running.llm.prompts();
    assert!(prompts[1].contains("Wednesday"));
    assert!(!prompts[2].contains("Wednesday"), "{}", prompts[2]);
}

#[tokio::test]
async fn a_panic_in_a_turn_costs_one_sentence_and_the_daemon_lives() {
    let mut turns = 0;
    let running = Running::start(ScriptedLlm::answering(move |_| {
        turns += 1;
        assert!(turns > 1, "a panic on purpose");
        call("calendar.query", r#"{"when": "tomorrow"}"#).into()
    }))
    .await;
    let client = running.client().await;
    let report = ask(&client, "what do I have tomorrow").await.unwrap();
    assert_eq!(report.reply, prompts::words::engine_crashed());
    running.until("idle", |s| s.state == "idle" && s.turns == 1).await;
    let report = ask(&client, "what do I have tomorrow").await.unwrap();
    assert!(report.reply.contains("Dentist"), "{}", report.reply);
}

#[tokio::test]
async fn the_end_of_a_turn_that_is_over_ends_no_other_one() {
    let running = Running::start(ScriptedLlm::replies([Reply::Hang(String::new())])).await;
    let client = running.client().await;
    let story = tokio::spawn(async move { ask(&client, "tell me a story").await });
    running.until_asked(1).await;
    let (number, report) = (0, Box::default());
    running
        .events
        .send(Event::Ended { number, report })
        .await
        .unwrap();
    let status = running.status().await;
    assert_eq!((status.state.as_str(), status.turns), ("thinking", 0));
    assert!(!story.is_finished());
}

#[tokio::test]
async fn a_write_that_has_begun_is_finished_before_a_cancel_or_a_stop_is() {
    let script = [call(Slow::NAME, "{}"), call(Slow::NAME, "{}")];
    let running = Running::start_with(ScriptedLlm::replies(script), test_tools).await;
    let file = running.home.dirs().notes.join("slow.md");
    let client = running.client().await;
    let proxy = Tiro1Proxy::new(&client).await.unwrap();

    let asks = client.clone();
    let asked = tokio::spawn(async move { ask(&asks, "write slowly").await });
    running.until("writing", |s| s.state == "acting").await;
    assert!(!file.exists());
    assert!(proxy.cancel().await.unwrap(), "it says that a write had begun");
    assert!(file.exists());
    assert!(asked.await.unwrap().is_err());
    assert!(!proxy.cancel().await.unwrap(), "nothing is going on");

    std::fs::remove_file(&file).unwrap();
    let _asked = tokio::spawn(async move { ask(&client, "write slowly").await });
    running.until("writing", |s| s.state == "acting").await;
    running.events.send(Event::Stop).await.unwrap();
    running.ended.await.unwrap();
    assert!(file.exists());
}

#[tokio::test]
async fn a_tool_that_panics_over_its_question_costs_one_sentence() {
    let script = ScriptedLlm::replies([call(Panics::NAME, "{}")]);
    let running = Running::start_with(script, test_tools).await;
    let client = running.client().await;
    let report = ask_with(&client, "panic", &["yes"]).await.unwrap();
    assert_eq!(report.calls[0].status, "broken");
    assert_eq!(report.reply, prompts::words::broken("do that"));
}
