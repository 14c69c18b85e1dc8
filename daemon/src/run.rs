//! The daemon's loop: one closed `enum Event`, one owner of the state. Barge-in is dropping the turn's future.

use std::{
    collections::VecDeque,
    path::PathBuf,
    sync::{Arc, Mutex as StdMutex},
    time::{Duration, Instant},
};

use async_trait::async_trait;
use models::llm::Prepared;
use tokio::{
    sync::{Mutex, mpsc, oneshot},
    task::JoinHandle,
};
use zbus::Connection;

use crate::{
    bus,
    consent::Question,
    listen::Utterance,
    reply::{Confirmation, Front, Happening, State, say_aside},
    report::{Report, Tokens},
    room::{Clock, Room},
    status::{Engines, Status},
    turn::turn,
};

/// Everything that can wake the daemon.
pub enum Event {
    /// A client asks for a turn.
    Ask(Box<Asking>),
    /// The turn that is running ended.
    Ended(Box<Report>),
    /// Stop the turn that is running.
    Cancel,
    /// The person answered the open question.
    Confirm(bool),
    /// Forget the conversation.
    Forget,
    /// A client wants to know how the daemon is.
    Status(oneshot::Sender<String>),
    /// The model is loaded and its prefix is in the KV cache.
    Ready(Prepared),
    /// It is time to look at the timers.
    Tick,
    /// The daemon should end.
    Stop,
}

/// One turn that a client asks for.
pub struct Asking {
    /// What was typed.
    pub text: String,
    /// A recording to hear instead.
    pub wav: Option<PathBuf>,
    /// Whether every question is answered with yes.
    pub yes: bool,
    /// Pins the clock of this turn.
    pub now: Option<String>,
    /// Who asked; gets the signals.
    pub client: Connection,
    /// Gets the report as JSON; dropped when the turn is cancelled.
    pub reply: oneshot::Sender<Result<String, String>>,
}

/// Turns that may wait. A person does not have more on their mind, a broken script may.
const MAX_WAITING: usize = 8;

/// How often timers are looked at.
const TICK: Duration = Duration::from_millis(250);

/// After this long without a turn the conversation is over and forgotten.
const CONVERSATION: Duration = Duration::from_secs(10 * 60);

/// The running daemon.
pub struct Daemon {
    room: Arc<Mutex<Room>>,
    engines: Engines,
    events: mpsc::Sender<Event>,
    waiting: VecDeque<Asking>,
    running: Option<JoinHandle<()>>,
    /// Loads the model at the start and evaluates the conversation between turns.
    background: Option<JoinHandle<()>>,
    question: Arc<StdMutex<Option<oneshot::Sender<bool>>>>,
    state: Arc<StdMutex<State>>,
    since: Instant,
    last_turn: Instant,
    turns: u64,
    tokens: Tokens,
    prefix: Option<Prepared>,
}

impl Daemon {
    /// A daemon around a room; `events` is the sending end of the loop's own channel.
    pub fn new(room: Room, events: mpsc::Sender<Event>) -> Daemon {
        let engines = Engines {
            llm: Arc::clone(room.llm()),
            stt: Arc::clone(room.stt()),
        };
        Daemon {
            room: Arc::new(Mutex::new(room)),
            engines,
            events,
            waiting: VecDeque::new(),
            running: None,
            background: None,
            question: Arc::default(),
            state: Arc::new(StdMutex::new(State::Idle)),
            since: Instant::now(),
            last_turn: Instant::now(),
            turns: 0,
            tokens: Tokens::default(),
            prefix: None,
        }
    }

    /// Runs until `Event::Stop` or until nobody can send events any more.
    pub async fn run(mut self, mut inbox: mpsc::Receiver<Event>) {
        self.prepare();
        let mut ticks = tokio::time::interval(TICK);
        ticks.set_missed_tick_behavior(tokio::time::MissedTickBehavior::Delay);
        loop {
            let event = tokio::select! {
                event = inbox.recv() => event.unwrap_or(Event::Stop),
                _ = ticks.tick() => Event::Tick,
            };
            match event {
                Event::Ask(asking) => self.ask(*asking).await,
                Event::Ended(report) => self.ended(&report),
                Event::Cancel => self.cancel(),
                Event::Confirm(yes) => self.confirm(yes),
                Event::Forget => self.forget().await,
                Event::Status(tell) => drop(tell.send(self.status())),
                Event::Ready(prepared) => self.prefix = Some(prepared),
                Event::Tick => self.tick().await,
                Event::Stop => break,
            }
        }
        self.cancel();
        if let Some(task) = self.background.take() {
            task.abort();
        }
    }

    /// Loads the model before anybody speaks.
    fn prepare(&mut self) {
        let (room, events) = (Arc::clone(&self.room), self.events.clone());
        self.background = Some(tokio::spawn(async move {
            match room.lock().await.ready().await {
                Ok(Some(prepared)) => {
                    tracing::info!(?prepared, "ready");
                    let _ = events.send(Event::Ready(prepared)).await;
                }
                Ok(None) => {}
                Err(error) => tracing::warn!(%error, "the model is not ready"),
            }
        }));
    }

    async fn ask(&mut self, asking: Asking) {
        if self.running.is_none() {
            self.begin(asking).await;
        } else if self.waiting.len() < MAX_WAITING {
            self.waiting.push_back(asking);
        } else {
            let _ = asking
                .reply
                .send(Err(format!("{MAX_WAITING} requests are waiting already")));
        }
    }

    async fn begin(&mut self, asking: Asking) {
        // Warming up is only worth something while nobody waits; loading the model is what this turn needs anyway,
        // and it holds no more than the room until it is done.
        if self.turns > 0
            && let Some(task) = self.background.take()
        {
            task.abort();
        }
        if self.last_turn.elapsed() > CONVERSATION {
            self.forget().await;
        }
        let room = Arc::clone(&self.room);
        let (events, question) = (self.events.clone(), Arc::clone(&self.question));
        let (signals, mut outbox) = mpsc::unbounded_channel();
        let mut front = BusFront {
            signals,
            question,
            state: Arc::clone(&self.state),
            yes: asking.yes,
        };
        let client = asking.client.clone();
        let pump = tokio::spawn(async move {
            while let Some(happening) = outbox.recv().await {
                bus::signal(&client, &happening).await;
            }
        });
        self.running = Some(tokio::spawn(async move {
            let outcome = one_turn(&room, &asking, &mut front).await;
            // The signals of a turn arrive before its answer.
            drop(front);
            let _ = pump.await;
            let report = match outcome {
                Ok(report) => {
                    let json = serde_json::to_string(&report).map_err(|e| e.to_string());
                    let _ = asking.reply.send(json);
                    report
                }
                Err(error) => {
                    let _ = asking.reply.send(Err(error));
                    Report::default()
                }
            };
            let _ = events.send(Event::Ended(Box::new(report))).await;
        }));
    }

    fn ended(&mut self, report: &Report) {
        self.running = None;
        self.last_turn = Instant::now();
        self.turns += 1;
        self.tokens.prompt += report.tokens.prompt;
        self.tokens.cached += report.tokens.cached;
        self.tokens.generated += report.tokens.generated;
        tracing::info!(
            steps = report.steps,
            calls = report.calls.len(),
            ms = report.ms.total,
            cached = report.tokens.cached,
            prompt = report.tokens.prompt,
            "turn"
        );
        self.next();
    }

    fn next(&mut self) {
        if let Some(asking) = self.waiting.pop_front() {
            let events = self.events.clone();
            tokio::spawn(async move { events.send(Event::Ask(Box::new(asking))).await });
            return;
        }
        let room = Arc::clone(&self.room);
        self.background = Some(tokio::spawn(async move {
            if let Err(error) = room.lock().await.warm().await {
                tracing::debug!(%error, "the conversation could not be evaluated ahead");
            }
        }));
    }

    fn cancel(&mut self) {
        if let Some(turn) = self.running.take() {
            turn.abort();
            *lock(&self.question) = None;
            *lock(&self.state) = State::Idle;
            self.last_turn = Instant::now();
            self.next();
        }
    }

    fn confirm(&mut self, yes: bool) {
        if let Some(answer) = lock(&self.question).take() {
            let _ = answer.send(yes);
        }
    }

    async fn forget(&mut self) {
        if self.running.is_none() {
            self.room.lock().await.forget();
        }
    }

    async fn tick(&mut self) {
        // Timers are files of a few hundred bytes; reading them costs less than remembering when to.
        let Ok(room) = self.room.try_lock() else { return };
        let ctx = room.ctx();
        drop(room);
        for line in crate::timers::due(&ctx) {
            say_aside(&line);
            tokio::spawn(async move { crate::timers::announce(&line).await });
        }
    }

    fn status(&self) -> String {
        let info = self.room.try_lock().ok().and_then(|r| r.info().cloned());
        let status = Status {
            state: lock(&self.state).name().to_owned(),
            pid: std::process::id(),
            uptime_s: self.since.elapsed().as_secs(),
            waiting: self.waiting.len(),
            turns: self.turns,
            tokens: self.tokens,
            prefix: self.prefix,
            ..Status::of(&self.engines, info.as_ref())
        };
        serde_json::to_string(&status).unwrap_or_default()
    }
}

/// One turn for a client, on the shared room. A pinned clock holds for this turn only.
async fn one_turn(room: &Mutex<Room>, asking: &Asking, front: &mut BusFront) -> Result<Report, String> {
    let utterance = match &asking.wav {
        Some(path) => Utterance::read_wav(path.clone())
            .await
            .map_err(|e| format!("{e:#}"))?,
        None => Utterance::Text(asking.text.clone()),
    };
    let pinned = asking
        .now
        .as_deref()
        .map(Clock::pinned)
        .transpose()
        .map_err(|e| format!("{e:#}"))?;
    let mut room = room.lock().await;
    room.pin(pinned);
    Ok(turn(&mut room, utterance, front).await)
}

/// A client on the bus.
struct BusFront {
    signals: mpsc::UnboundedSender<Happening>,
    question: Arc<StdMutex<Option<oneshot::Sender<bool>>>>,
    state: Arc<StdMutex<State>>,
    yes: bool,
}

#[async_trait]
impl Front for BusFront {
    fn show(&mut self, happening: &Happening) {
        if let Happening::State { state } = happening {
            *lock(&self.state) = *state;
        }
        // Fails only when the client's pump is gone, and then nobody looks.
        let _ = self.signals.send(happening.clone());
    }

    async fn confirm(&mut self, _question: &Question) -> Confirmation {
        if self.yes {
            return Confirmation::Yes;
        }
        let (tell, told) = oneshot::channel();
        *lock(&self.question) = Some(tell);
        match told.await {
            Ok(true) => Confirmation::Yes,
            Ok(false) | Err(_) => Confirmation::No,
        }
    }
}

/// A lock that a panic elsewhere does not poison for the daemon: what it guards is one plain value.
fn lock<T>(mutex: &StdMutex<T>) -> std::sync::MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(std::sync::PoisonError::into_inner)
}
