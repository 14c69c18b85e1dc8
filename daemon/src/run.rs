//! The daemon's loop: one closed `enum Event`, one owner of the state. Barge-in is dropping the turn's future.

mod desktop_front;
mod enquiries;
mod foresee;
mod front;
mod listening;
mod look;
mod making_way;
mod mute;
mod meant;
mod notices;
mod one_turn;
mod quiet;
mod speaking;
mod spotting;
mod waking;

use std::{
    collections::{BTreeMap, VecDeque},
    io::IsTerminal as _,
    panic::AssertUnwindSafe,
    path::PathBuf,
    sync::{Arc, Mutex as StdMutex, atomic::AtomicUsize},
    time::{Duration, Instant},
};

use desktop_front::DesktopFront;
use front::{BusFront, Questions, lock};
use futures_util::FutureExt as _;
pub use listening::{Action, Push};
pub use look::Look;
use making_way::Way;
use models::llm::Prepared;
use mute::Mute;
pub use mute::is_muted;
use notices::Notices;
pub use notices::Source;
use one_turn::{one_turn, panicked, pump};
pub use quiet::SETTLED;
pub use speaking::{Errand, Saying};
use tokio::{
    sync::{Mutex, mpsc, oneshot, watch},
    task::JoinHandle,
};
use tools::discover::Index;
pub use waking::Settings as WakeSettings;
use waking::{HandsFree, Waking, Woken};

use crate::{
    act::finish_writes,
    agent::Ending,
    bus, hotkey,
    listen::{Speech, hearing::Heard, standing::Ended},
    reply::{Confirmation, Happening, State, say_aside},
    report::{Report, Savings, Tokens},
    ring,
    room::{Parts, Room},
    shelf,
    speak::{Trouble, duck::Ducking},
    status::Engines,
    stop::Sounding,
};

/// Everything that can wake the daemon.
pub enum Event {
    /// A client asks for a turn.
    Ask(Box<Asking>),
    /// A turn ended.
    Ended {
        /// Which.
        number: u64,
        /// What it did.
        report: Box<Report>,
    },
    /// The turn of a guest gave way to the person.
    GaveWay {
        /// Which.
        number: u64,
        /// What was asked.
        asking: Box<Asking>,
    },
    /// A client withdraws what it asked for, or stops the turn that is running when it asked for nothing.
    Cancel {
        /// Which client.
        client: u64,
        /// Whether it may stop what another one asked for.
        any: bool,
        /// Told when it is so.
        done: oneshot::Sender<()>,
    },
    /// The person answered a question.
    Confirm {
        /// Which question.
        id: u64,
        /// The answer.
        answer: Confirmation,
        /// Told whether it was an answer to the open question.
        done: oneshot::Sender<bool>,
    },
    /// A client wants to see the question that is open; told it with its id as JSON, or `null`.
    Question(oneshot::Sender<String>),
    /// Push to talk.
    Push(Box<Push>),
    /// The key of push to talk.
    Hotkey(hotkey::Happened),
    /// The microphone of a listening is open.
    Opened {
        /// Which.
        number: u64,
    },
    /// What was said so far in a listening, as far as it was recognised.
    SoFar {
        /// Which.
        number: u64,
        /// The words.
        text: String,
        /// Whether the person paused after them.
        pause: bool,
        /// The last frame of the listening in which they spoke.
        spoken: usize,
    },
    /// The microphone of a listening is closed, and what was said last is being recognised.
    Closed {
        /// Which.
        number: u64,
    },
    /// The microphone has to be open for the wake word, unless it is.
    StayAwake,
    /// It is, and sound comes from it.
    Awake(u64),
    /// It is not any more.
    Deaf {
        /// Which.
        number: u64,
        /// Why.
        why: Ended,
    },
    /// Somebody said the wake word.
    Woken(Woken),
    /// A listening came to its end.
    Listened {
        /// Which.
        number: u64,
        /// What came of it.
        heard: Heard,
        /// What sounds, where the words may mean that.
        sounding: Sounding,
    },
    /// What came of an answer that was spoken.
    Answered {
        /// Who asked to be listened to.
        client: u64,
        /// `None` when it was neither yes nor no.
        answer: Option<Confirmation>,
        /// Whether the question was still open.
        counted: bool,
    },
    /// A turn that was spoken will not be answered.
    Unanswered {
        /// Who asked to be listened to.
        client: u64,
    },
    /// Something is to be said aloud.
    Say(Box<Saying>),
    /// A client wants a text said aloud.
    Errand(Box<Errand>),
    /// Something was said, or could not be.
    Said {
        /// Which.
        number: u64,
        /// Why it could not.
        trouble: Option<Trouble>,
    },
    /// Forget the conversation.
    Forget,
    /// Take the last change back; told what it was, or why not.
    Undo(oneshot::Sender<Result<String, String>>),
    /// A client wants to know how the daemon is.
    Status(oneshot::Sender<String>),
    /// A client wants to know what the engines run on, for which they are loaded.
    Engines(oneshot::Sender<String>),
    /// A client wants the list of tools with what they cost in tokens.
    Tools {
        /// Whether every tool counts as standing in the prompt.
        eager: bool,
        /// Told the list as JSON, or why there is none.
        tell: oneshot::Sender<Result<String, String>>,
    },
    /// The model is loaded and its prefix is in the KV cache.
    Ready(Prepared),
    /// The conversation up to this turn is in the KV cache.
    Warm {
        /// The turn.
        number: u64,
        /// The process that holds it.
        engine: Option<u32>,
    },
    /// Something rings.
    Rang(Happening),
    /// All that is wrong at one source now; nothing when all is well there.
    Noticed {
        /// Where.
        source: Source,
        /// As sentences.
        texts: Vec<String>,
    },
    /// The turn of a client entered a state.
    Entered {
        /// Who asked.
        client: u64,
        /// The state.
        state: State,
    },
    /// A client is there, and wants to know what rings.
    Joined {
        /// Which.
        client: u64,
        /// Gets the signals.
        connection: bus::Client,
    },
    /// A client went.
    Left {
        /// Which.
        client: u64,
    },
    /// The daemon should end.
    Stop,
}

/// One turn that a client asks for.
pub struct Asking {
    /// What was typed.
    pub text: String,
    /// A recording to hear instead.
    pub wav: Option<PathBuf>,
    /// What was said into the microphone instead.
    pub speech: Option<Speech>,
    /// Whether every question is answered with yes.
    pub yes: bool,
    /// Whether the client answers questions.
    pub interactive: bool,
    /// Whether questions, the answer and a way to undo are shown on the desktop, because nobody watches the client.
    pub notify: bool,
    /// Pins the clock of this turn.
    pub now: Option<String>,
    /// Who asked.
    pub client: u64,
    /// What that is called, if it is a program that does not stand for the person.
    pub guest: Option<String>,
    /// Gets the signals.
    pub connection: Option<bus::Client>,
    /// Gets the report as JSON; dropped when the turn is cancelled.
    pub reply: oneshot::Sender<Result<String, String>>,
}

/// After this long without a turn the conversation is over and forgotten.
const CONVERSATION: Duration = Duration::from_secs(10 * 60);

/// How long a client has to take a signal.
const SIGNAL: Duration = Duration::from_secs(5);
/// Signals that wait for a client which reads slowly; more are lost to it.
const MAX_SIGNALS: usize = 64;

/// The running daemon.
pub struct Daemon {
    room: Arc<Mutex<Room>>,
    /// What the room is made of, for what must not wait until a turn gives the room back.
    parts: Parts,
    index: Arc<Index>,
    engines: Engines,
    events: mpsc::Sender<Event>,
    waiting: VecDeque<Asking>,
    running: Option<Running>,
    /// The microphone, while it is open.
    open: Option<listening::Open>,
    /// Listenings that were stopped and whose place another one took; their last words are on their way.
    closing: Vec<listening::Open>,
    /// The microphone that stays open for the wake word, and how many there were.
    waking: Option<Waking>,
    wakings: u64,
    /// How often it went away at once.
    deafness: u32,
    /// Whether the person talks without a key.
    hands_free: HandsFree,
    /// When a key last toggled it.
    toggled: Option<Instant>,
    /// Whether it is kept closed.
    mute: Mute,
    /// When somebody was last told so.
    hushed: Option<Instant>,
    /// The listening that the key opened which is held.
    held: Option<u64>,
    /// What is being said aloud.
    aloud: Option<speaking::Aloud>,
    /// How much is about to be.
    coming: Arc<AtomicUsize>,
    /// What clients want said, as soon as nothing else is.
    errands: VecDeque<Errand>,
    /// Turns players down meanwhile.
    ducking: Option<Ducking>,
    /// Whether what rings is to be silent for now.
    hushed_rings: watch::Sender<bool>,
    /// How the key reaches us.
    hotkey: hotkey::Reach,
    /// How many turns have begun; the number of the last one.
    begun: u64,
    /// Loads the model at the start.
    preparing: Option<JoinHandle<()>>,
    /// Evaluates the conversation between turns, or what is being said.
    warming: Option<JoinHandle<()>>,
    /// Reads the tools of the catalogue when nobody wants anything.
    learning: Option<JoinHandle<()>>,
    /// What was said so far, when the model reads that, and what it made of it.
    foreseen: Option<(String, foresee::Foreseeing)>,
    /// How the next turn begins, when it begins a new conversation.
    forget: Arc<StdMutex<Option<Forget>>>,
    questions: Arc<StdMutex<Questions>>,
    /// Made at the first use, since it needs the runtime.
    desktop: Option<DesktopFront>,
    /// Everybody who is told what rings, and what is noticed.
    clients: BTreeMap<u64, mpsc::Sender<Happening>>,
    notices: Notices,
    /// For who glances at it.
    look: watch::Sender<Look>,
    /// What was last answered.
    answer: String,
    state: Arc<StdMutex<State>>,
    since: Instant,
    last_turn: Instant,
    turns: u64,
    tokens: Tokens,
    savings: Savings,
    /// The tools that were loaded when the room was last free.
    loaded: Vec<String>,
    prefix: Option<Prepared>,
    /// The last turn that was evaluated ahead, and the process that holds it; 0 is the static prefix.
    warm: Option<(u64, Option<u32>)>,
}

/// What goes when a new conversation begins.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Forget {
    /// What was said.
    Talk,
    /// What was said and what was found.
    All,
}

/// The turn that is running.
struct Running {
    number: u64,
    client: u64,
    /// Whether the person is at the desktop, where its questions are answered by speaking, too.
    at_desktop: bool,
    /// Whether the person spoke it, so that it speaks to them.
    spoken: bool,
    told: Arc<listening::Told>,
    /// How it gives way to the person, if it is a guest's.
    way: Option<Way>,
    task: JoinHandle<()>,
}

impl Daemon {
    /// A daemon around a room made of these parts; `events` is the sending end of the loop's own channel.
    pub fn new(room: Room, parts: Parts, events: mpsc::Sender<Event>) -> Daemon {
        let mut parts = parts;
        // Whoever listens expects the names that the room reads.
        parts.limits.names = room.expecting();
        let engines = Engines {
            llm: Arc::clone(room.llm()),
            stt: Arc::clone(room.stt()),
        };
        let mute = Mute::kept(&parts.dirs.state, events.clone());
        Daemon {
            notices: Notices::new(parts.ring.clone()),
            room: Arc::new(Mutex::new(room)),
            index: parts.index(),
            parts,
            engines,
            events,
            waiting: VecDeque::new(),
            running: None,
            open: None,
            closing: Vec::new(),
            waking: None,
            wakings: 0,
            deafness: 0,
            hands_free: HandsFree::default(),
            toggled: None,
            mute,
            hushed: None,
            held: None,
            aloud: None,
            coming: Arc::default(),
            errands: VecDeque::new(),
            ducking: None,
            hushed_rings: watch::Sender::new(false),
            hotkey: hotkey::Reach::default(),
            begun: 0,
            preparing: None,
            warming: None,
            learning: None,
            foreseen: None,
            forget: Arc::default(),
            questions: Arc::default(),
            desktop: None,
            clients: BTreeMap::new(),
            look: watch::Sender::new(Look::default()),
            answer: String::new(),
            state: Arc::new(StdMutex::new(State::Idle)),
            since: Instant::now(),
            last_turn: Instant::now(),
            turns: 0,
            tokens: Tokens::default(),
            savings: Savings::default(),
            loaded: Vec::new(),
            prefix: None,
            warm: None,
        }
    }

    /// How it looks from now on.
    pub fn look(&self) -> watch::Receiver<Look> {
        self.look.subscribe()
    }

    /// Runs until `Event::Stop` or until nobody can send events any more. A write that has begun is finished first.
    pub async fn run(mut self, mut inbox: mpsc::Receiver<Event>) {
        self.prepare();
        self.stay_awake();
        self.look_after_players();
        // By the clock of the daemon, whatever moment a turn pretends.
        let (parts, index) = (self.parts.clone(), Arc::clone(&self.index));
        let ringing = ring::run(parts, index, self.events.clone(), self.hushed_rings.subscribe());
        let ringing = tokio::spawn(ringing);
        loop {
            self.keep_quiet();
            self.listen_on();
            self.run_errand();
            self.show();
            match inbox.recv().await.unwrap_or(Event::Stop) {
                Event::Ask(asking) => self.ask(*asking),
                Event::Ended { number, report } => self.ended(number, &report),
                Event::GaveWay { number, asking } => self.gave_way(number, *asking),
                Event::Cancel { client, any, done } => self.cancel(client, any, done),
                Event::Confirm { id, answer, done } => {
                    _ = done.send(lock(&self.questions).answer(id, answer));
                }
                Event::Question(tell) => drop(tell.send(self.question())),
                Event::Push(push) => self.push(*push),
                Event::Hotkey(hotkey::Happened::Pressed) => self.pressed(),
                Event::Hotkey(hotkey::Happened::Released(held)) => self.released(held),
                Event::Hotkey(hotkey::Happened::Reached(reach)) => self.hotkey = reach,
                Event::Opened { number } => self.opened(number),
                Event::SoFar {
                    number,
                    text,
                    pause,
                    spoken,
                } => self.so_far(number, text, pause.then_some(spoken)),
                Event::Closed { number } => self.closed(number),
                Event::StayAwake => self.stay_awake(),
                Event::Awake(number) => self.awake(number),
                Event::Deaf { number, why } => self.deaf(number, why),
                Event::Woken(woken) => self.woken(&woken),
                Event::Listened {
                    number,
                    heard,
                    sounding,
                } => self.listened(number, heard, sounding),
                Event::Answered {
                    client,
                    answer,
                    counted,
                } => self.answer_heard(client, answer, counted),
                Event::Unanswered { client } => self.unanswered(client),
                Event::Say(saying) => self.say(*saying),
                Event::Errand(errand) => self.errand(*errand),
                Event::Said { number, trouble } => self.said(number, trouble),
                Event::Forget => self.forget(Forget::All),
                Event::Undo(tell) => self.undo(tell),
                Event::Status(tell) => drop(tell.send(self.status())),
                Event::Engines(tell) => self.engines(tell),
                Event::Tools { eager, tell } => self.tools(eager, tell),
                Event::Ready(prepared) => {
                    self.prefix = Some(prepared);
                    self.warm = Some((0, self.engines.llm.stats().life()));
                    self.learn_later(false);
                }
                Event::Warm { number, engine } => self.warm = Some((number, engine)),
                Event::Rang(rang) => self.aside(&rang),
                Event::Noticed { source, texts } => self.noticed(source, texts),
                Event::Entered { client, state } => self.entered(client, state),
                Event::Joined { client, connection } => self.joined(client, connection),
                Event::Left { client } => {
                    self.clients.remove(&client);
                    self.withdraw_errands(client);
                }
                Event::Stop => break,
            }
        }
        // Whoever asks from now on hears that the daemon is stopping.
        drop(inbox);
        self.open = None;
        self.waking = None;
        self.closing.clear();
        self.waiting.clear();
        let turn = self.running.take().map(|running| running.task);
        let ahead = [self.preparing.take(), self.warming.take(), self.learning.take()];
        for task in [turn, Some(ringing)].into_iter().chain(ahead).flatten() {
            task.abort();
            // Until then it may still begin something.
            let _ = task.await;
        }
        self.fall_silent().await;
        finish_writes().await;
        // A turn that was running when the person wanted all forgotten has kept its tools since.
        if *lock(&self.forget) == Some(Forget::All) {
            shelf::clear(&self.parts.dirs.state);
        }
    }

    /// A conversation that nobody went on with is over.
    fn part_after_silence(&mut self) {
        if self.last_turn.elapsed() > CONVERSATION {
            self.forget(Forget::Talk);
        }
    }

    fn begin(&mut self, asking: Asking) {
        // Warming up is only worth something while nobody waits. Loading the model is what this turn needs anyway.
        // So is having read what was said indeed.
        let said = asking
            .speech
            .as_ref()
            .and_then(|speech| speech.transcript.as_ref());
        let foreseen = self.foreseen.take();
        self.stop_learning();
        if let Some(warming) = self.warming.take()
            && foreseen.is_none_or(|(text, _)| said.is_none_or(|said| said.text != text))
        {
            warming.abort();
        }
        self.part_after_silence();
        self.begun += 1;
        let (number, client) = (self.begun, asking.client);
        let (room, forget) = (Arc::clone(&self.room), Arc::clone(&self.forget));
        let events = self.events.clone();
        let (signals, happenings) = mpsc::unbounded_channel();
        let spoken = asking.speech.is_some() && asking.guest.is_none();
        let (at_desktop, told) = (asking.notify, Arc::<listening::Told>::default());
        let way = asking.guest.is_some().then(Way::default);
        let mut front = BusFront {
            signals,
            questions: Arc::clone(&self.questions),
            state: Arc::clone(&self.state),
            entered: (client, self.events.clone()),
            told: Arc::clone(&told),
            way: way.clone(),
            yes: asking.yes,
            interactive: asking.interactive,
            desktop: asking.notify.then(|| self.desktop()),
            guest: asking.guest.clone(),
            muted: self.mute.watched(),
            mouth: self.mouth(&asking),
        };
        let (desktop, gives_way) = (front.desktop.clone(), way.clone());
        let task = tokio::spawn(async move {
            let before = match &desktop {
                Some(desktop) => desktop.before().await,
                None => None,
            };
            let turn = async {
                let turn = one_turn(&room, &forget, &asking, &mut front);
                let outcome = AssertUnwindSafe(turn).catch_unwind().await;
                // Lets the pump come to its end: the signals of a turn arrive before its answer.
                drop(front);
                outcome
            };
            let whole = async { tokio::join!(turn, pump(asking.connection.as_ref(), happenings)).0 };
            let made_way = async {
                match &gives_way {
                    Some(way) => way.given().await,
                    None => std::future::pending().await,
                }
            };
            let outcome = tokio::select! {
                biased;
                outcome = whole => Some(outcome),
                () = made_way => None,
            };
            let Some(outcome) = outcome else {
                let asking = Box::new(asking);
                let _ = events.send(Event::GaveWay { number, asking }).await;
                return;
            };
            let outcome = outcome.unwrap_or_else(|_| {
                tracing::error!("a turn panicked");
                // What the conversation is like after a panic, nobody knows.
                let mut forget = lock(&forget);
                *forget = (*forget).max(Some(Forget::Talk));
                Ok(panicked(&asking.text))
            });
            let report = outcome.as_ref().cloned().unwrap_or_else(|error| Report {
                reply: error.clone(),
                ..Report::default()
            });
            let json = outcome.and_then(|r| serde_json::to_string(&r).map_err(|e| e.to_string()));
            let _ = asking.reply.send(json);
            if let Some(desktop) = desktop {
                desktop.after(before, &report).await;
            }
            let report = Box::new(report);
            let _ = events.send(Event::Ended { number, report }).await;
        });
        self.running = Some(Running {
            number,
            client,
            at_desktop,
            spoken,
            told,
            way,
            task,
        });
    }

    fn ended(&mut self, number: u64, report: &Report) {
        // A turn may be cancelled when it has just come to its end.
        if self.running.as_ref().is_none_or(|r| r.number != number) {
            return;
        }
        self.turns += 1;
        self.may_go_on(report.end != Ending::CouldNot);
        self.keep_answer(&report.reply);
        self.tokens.prompt += report.tokens.prompt;
        self.tokens.cached += report.tokens.cached;
        self.tokens.generated += report.tokens.generated;
        if let Some(savings) = &report.savings {
            self.savings.add(savings);
        }
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

    /// The running turn is over; the one that waits begins, or the conversation is evaluated ahead.
    fn next(&mut self) {
        self.running = None;
        self.last_turn = Instant::now();
        // A new place: a turn that was aborted may still be at work, and would write into the old one.
        let before = std::mem::replace(&mut self.state, Arc::new(StdMutex::new(State::Idle)));
        // A turn that was stopped does not say so itself.
        if *lock(&before) != State::Idle {
            self.rest();
        }
        self.no_question();
        self.go_on();
        if self.running.is_some() {
            return;
        }
        self.warm_up();
        self.learn_later(true);
    }

    /// Withdraws what this client asked for. A client that asked for nothing, such as a key binding, means the turn
    /// that is running, if it may stop `any`.
    fn cancel(&mut self, client: u64, any: bool, done: oneshot::Sender<()>) {
        if any {
            self.leave_hands_free();
        }
        let own = self
            .running
            .as_ref()
            .is_some_and(|running| running.client == client)
            || self.waiting.iter().any(|asking| asking.client == client);
        // Who wanted something said, or stops an answer that is being spoken, means that, and not what goes on besides.
        if self.withdraw_errands(client) && !own {
            return;
        }
        if self.hush_for(client, any && !own) && !own {
            return;
        }
        let waiting = self.waiting.len();
        self.waiting.retain(|asking| asking.client != client);
        let withdrawn = self.waiting.len() < waiting;
        let meant =
            |running: &mut Running| (running.client == client || (any && !withdrawn)) && running.told.stop();
        if let Some(Running { task, .. }) = self.running.take_if(meant) {
            task.abort();
            tokio::spawn(async move {
                // Until then it may still begin something.
                let _ = task.await;
                let _ = done.send(());
            });
            self.next();
        } else if any && !withdrawn && self.running.as_ref().is_none_or(|r| r.client != client) {
            self.close();
        }
    }

    /// The desktop, for turns that nobody watches.
    fn desktop(&mut self) -> DesktopFront {
        let (parts, questions) = (&self.parts, &self.questions);
        let start = || {
            DesktopFront::start(
                parts.ring.bus.clone(),
                parts.journal.clone(),
                Arc::clone(questions),
                parts.dirs.state.clone(),
            )
        };
        self.desktop.get_or_insert_with(start).clone()
    }

    /// The next turn forgets the conversation first: it has the room, for which the loop must not wait.
    fn forget(&mut self, what: Forget) {
        if what == Forget::All {
            // Now as well, because the next turn may never come, nor the end of this process.
            shelf::clear(&self.parts.dirs.state);
            self.answer.clear();
        }
        let mut forget = lock(&self.forget);
        *forget = (*forget).max(Some(what));
    }

    /// Tells every client what happens beside the turns, and the daemon's own terminal.
    fn aside(&self, happening: &Happening) {
        // A log is no place for what the person named a timer.
        if let Happening::Rang { text, .. } | Happening::Noticed { text } = happening
            && std::io::stderr().is_terminal()
        {
            say_aside(text);
        }
        self.tell(happening, None);
    }

    /// Takes all that is wrong at a source, and tells what is new.
    fn noticed(&mut self, source: Source, texts: Vec<String>) {
        for text in self.notices.now(source, texts) {
            self.aside(&Happening::Noticed { text });
        }
    }

    /// Tells every client but the one that knows already.
    fn tell(&self, happening: &Happening, but: Option<u64>) {
        for (client, signals) in &self.clients {
            if but != Some(*client) && signals.try_send(happening.clone()).is_err() {
                tracing::debug!(client, "a client does not read its signals");
            }
        }
    }

    /// The client that asked knows where its turn is; the others are told, unless the turn was stopped meanwhile. That
    /// the microphone is open they know, and nothing is more important.
    fn entered(&self, client: u64, state: State) {
        if self.open.is_none() && self.running.as_ref().is_some_and(|r| r.client == client) {
            let state = self.or_muted(state);
            self.tell(&Happening::State { state }, Some(client));
        }
    }

    /// From now on the client is told, in order; this ends when it has left.
    fn joined(&mut self, client: u64, connection: bus::Client) {
        let (signals, mut inbox) = mpsc::channel::<Happening>(MAX_SIGNALS);
        self.clients.insert(client, signals);
        tokio::spawn(async move {
            while let Some(happening) = inbox.recv().await {
                let signal = bus::signal(&connection, &happening);
                if tokio::time::timeout(SIGNAL, signal).await.is_err() {
                    return;
                }
            }
        });
    }
}
