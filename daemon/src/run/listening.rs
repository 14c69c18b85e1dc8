//! Push to talk in the loop: the microphone opens and closes, what was said becomes a turn or answers a question.

use std::{
    sync::{
        Arc, OnceLock,
        atomic::{AtomicU64, Ordering},
    },
    time::{Duration, Instant},
};

use clap::ValueEnum;
use futures_util::FutureExt as _;
use models::stt::Stt;
use prompts::words;
use tokio::{sync::oneshot, task::JoinHandle};

use super::{
    Asking, Daemon, Event, Running, Source,
    front::{Speaking, lock},
    making_way::MAX_WAITING,
    meant::OWN,
};
use crate::{
    bus::Client,
    listen::{
        Speech,
        early::Early,
        endpoint::Style,
        hearing::{Heard, LOST, Listening, is_muted},
        standing::Begins,
    },
    reply::{Confirmation, Happening, State, answer, plain_words},
    room::{Limits, transcribe},
    speak::earcon::Earcon,
    stop::{Sounding, still_heard},
};

/// What push to talk can do.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum Action {
    /// Listen until `stop`, however long the pauses are: for a key that is held.
    Start,
    /// Stop listening and answer what was said.
    Stop,
    /// Listen until you are silent, or stop listening: for a key that is tapped.
    Toggle,
    /// Forget what was said; when nobody listens, stop the answer.
    Cancel,
    /// Keep the microphone closed from now on, also after a restart.
    Mute,
    /// Let it be opened again.
    Unmute,
}

impl Action {
    /// From its word on the bus.
    pub fn named(word: &str) -> Option<Action> {
        Action::from_str(word, false).ok()
    }

    /// Its word on the bus.
    pub fn name(self) -> &'static str {
        match self {
            Action::Start => "start",
            Action::Stop => "stop",
            Action::Toggle => "toggle",
            Action::Cancel => "cancel",
            Action::Mute => "mute",
            Action::Unmute => "unmute",
        }
    }
}

/// Push to talk, as a client asks for it.
pub struct Push {
    /// What to do.
    pub action: Action,
    /// Who asks; 0 is nobody. The turn is theirs, should they still be there; it goes on without them.
    pub client: u64,
    /// Gets the signals of that turn.
    pub connection: Option<Client>,
    /// Told the state that this leads to, at once.
    pub tell: oneshot::Sender<State>,
}

/// How it came that somebody is listened to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Way {
    /// They pressed a key, or somebody did for them.
    Key,
    /// They said the phrase, and went on: it is part of what is heard.
    Woken(Begins),
    /// They said the phrase and paused, or were asked something.
    After(Begins),
    /// They were answered, and may go on for so long.
    FollowUp(Begins, Duration),
}

/// A microphone that is open, or about to be, or has just been.
pub(super) struct Open {
    pub(super) number: u64,
    pub(super) way: Way,
    pub(super) listening: Listening,
    pub(super) client: u64,
    connection: Option<Client>,
    /// The question that what is said answers.
    pub(super) question: Option<u64>,
    /// Holds its time up.
    speaking: Option<Speaking>,
    /// The turn that ends as soon as the microphone is open.
    interrupts: Option<u64>,
    /// Whether the person has finished.
    stopped: bool,
    /// Whether the microphone is closed.
    closed: bool,
    /// Whether it stopped what Tiro said or did.
    pub(super) interrupted: bool,
    /// The longest that they may speak.
    longest: Duration,
    /// What Tiro had just said when it opened by itself.
    pub(super) own: Option<String>,
    /// Waits for what comes of it.
    waiting: JoinHandle<()>,
}

impl Drop for Open {
    fn drop(&mut self) {
        self.waiting.abort();
    }
}

/// Whether a turn was stopped before its answer was told; settled once. Whoever was told the answer is not told that
/// there is none: such a turn is left to its end, which is near.
#[derive(Default)]
pub(super) struct Told(OnceLock<bool>);

impl Told {
    /// The answer is there. Whether it is told.
    pub(super) fn tell(&self) -> bool {
        *self.0.get_or_init(|| true)
    }

    /// Somebody wants the turn to stop. Whether it does.
    pub(super) fn stop(&self) -> bool {
        !self.0.get_or_init(|| false)
    }
}

/// Listenings so far.
static BEGUN: AtomicU64 = AtomicU64::new(0);

/// A key that is held sends itself again, about 30 times a second, but the first time only after the keyboard's delay: 660 ms
/// on a plain X server, 600 in KDE and 500 in GNOME. Nobody taps twice so fast and means it.
const BOUNCE: Duration = Duration::from_millis(750);

/// Longest utterance of who presses no key: what goes on for longer is more likely a television as loud as they.
const BY_ITSELF: Duration = Duration::from_secs(30);
/// What a listening may take longer than all that it waits for.
const SPARE: Duration = Duration::from_secs(15);

/// A key that comes up sooner was tapped.
const TAP: Duration = Duration::from_millis(400);

/// Nobody waits for what was said, but the desktop.
pub(super) const NOBODY: u64 = 0;

/// Neither yes nor no.
const UNCLEAR: &str = "Please answer yes or no.";
/// The answer came when the turn that asked had ended, or somebody else had answered.
const OVER: &str = "I heard your answer, but the question is over.";
/// More than anybody can mean.
const TOO_MANY: &str = "I have not finished what you asked for before. Please say that again later.";

impl Daemon {
    /// Push to talk.
    pub(super) fn push(&mut self, push: Push) {
        let again = push.action == Action::Toggle
            && (self.toggled.replace(Instant::now())).is_some_and(|last| last.elapsed() < BOUNCE);
        let presses = matches!(push.action, Action::Start | Action::Toggle) && !again;
        let interrupted = presses && self.take_over();
        let state = match (push.action, &mut self.open) {
            (Action::Mute, _) => self.mute(true),
            (Action::Unmute, _) => self.mute(false),
            (Action::Start | Action::Toggle, Some(open))
                if again || push.action == Action::Start && !open.stopped =>
            {
                // Should it wait for the end, it knows now that there is something to wait for.
                let state = State::Listening;
                self.tell_one(push.client, Happening::State { state });
                state
            }
            (Action::Toggle, None) if again => self.shown(),
            (Action::Stop, Some(open)) => open.stop(),
            (Action::Toggle, Some(open)) if !open.stopped => open.stop(),
            (Action::Start, _) => self.open_by_hand(Style::Hold, push.client, push.connection),
            (Action::Toggle, _) => self.open_by_hand(Style::Tap, push.client, push.connection),
            (Action::Stop, None) => self.shown(),
            (Action::Cancel, _) => {
                if !self.close() {
                    let (done, _) = oneshot::channel();
                    self.cancel(push.client, true, done);
                }
                self.shown()
            }
        };
        self.went_before(interrupted);
        let _ = push.tell.send(state);
    }

    /// Mutes the microphone, or lets it be opened again. What was being said is dropped: who mutes it wants that nobody
    /// hears it.
    fn mute(&mut self, muted: bool) -> State {
        let new = self.mute.set(muted);
        match muted {
            true => self.sleep(),
            false => self.stay_awake(),
        }
        if !(muted && self.close()) && new {
            self.rest();
        }
        self.shown()
    }

    /// The key went down: whoever is listened to has finished, else they begin.
    pub(super) fn pressed(&mut self) {
        let interrupted = self.take_over();
        match &mut self.open {
            Some(open) if !open.stopped => _ = open.stop(),
            _ => {
                self.open_by_hand(Style::Hold, NOBODY, None);
                self.held = self.open.as_ref().map(|open| open.number);
            }
        }
        self.went_before(interrupted);
    }

    /// The key came up: that ends what it began, unless it was only tapped; then silence does, or the next tap.
    pub(super) fn released(&mut self, held: Duration) {
        let number = self.held.take();
        if let Some(open) = self.open.as_mut().filter(|open| Some(open.number) == number) {
            match held < TAP {
                true => open.listening.let_go(),
                false => _ = open.stop(),
            }
        }
    }

    /// Who presses a key while the microphone is open by itself wants to speak, and not to have spoken: what woke it may not
    /// have been they. Whether that had stopped what Tiro said or did.
    fn take_over(&mut self) -> bool {
        let by_itself = |open: &mut Open| open.way != Way::Key && !open.stopped;
        let before = self.open.take_if(by_itself);
        before.is_some_and(|open| open.interrupted)
    }

    /// What was listened to before stopped what Tiro said or did, and so did what took its place.
    fn went_before(&mut self, interrupted: bool) {
        if let Some(open) = &mut self.open {
            open.interrupted |= interrupted;
        }
    }

    fn open_by_hand(&mut self, style: Style, client: u64, connection: Option<Client>) -> State {
        self.by_hand();
        self.open(style, Way::Key, client, connection)
    }

    /// Opens the microphone, unless it is muted, or listens to the one that is open for the wake word: nothing else does.
    /// Whoever speaks while a turn runs interrupts it, unless it waits for their answer.
    pub(super) fn open(&mut self, style: Style, way: Way, client: u64, connection: Option<Client>) -> State {
        if self.mute.is() {
            // A key that is held is told once.
            let again = self.hushed.replace(Instant::now());
            if again.is_none_or(|last| last.elapsed() > BOUNCE) {
                self.mention(words::muted(), client);
            }
            return State::Muted;
        }
        // What Tiro says is no answer to it.
        let hushed = self.hush();
        // Whoever pressed no key was asked aloud, or nobody asked them: what others want is never agreed to in passing.
        let question = self
            .running
            .as_ref()
            .filter(|running| running.at_desktop && (way == Way::Key || running.spoken))
            .and_then(|_| lock(&self.questions).open().map(|(id, _)| id));
        let running = self.running.as_ref().map(|running| running.number);
        let mut settings = self.parts.listen.clone();
        settings.answer = question.is_some();
        if way != Way::Key {
            settings.longest = settings.longest.min(BY_ITSELF);
        }
        let begins = match way {
            Way::Key => self.begins_now(question.is_some()),
            Way::Woken(begins) | Way::After(begins) => begins,
            Way::FollowUp(begins, patience) => {
                settings.patience = patience;
                begins
            }
        };
        let (listening, opening) = match self.listen_on_standing(&settings, style, begins) {
            Some((listening, hearing)) => (listening, std::future::ready(Ok(hearing)).left_future()),
            None => {
                let (listening, opening) = Listening::begin(&settings, style, begins);
                (listening, opening.right_future())
            }
        };
        let number = BEGUN.fetch_add(1, Ordering::Relaxed);
        // Without a key only the words tell whether anything is wanted, and to a question Tiro's own may be among them.
        let early = settings.early || way != Way::Key || question.is_some();
        let (events, device) = (self.events.clone(), settings.device.clone());
        let (stt, limits) = (Arc::clone(&self.engines.stt), self.parts.limits.clone());
        let (dirs, desk) = (self.parts.dirs.clone(), self.parts.desk.clone());
        let (clock, length) = (self.parts.clock.clone(), self.parts.ring.length);
        let bound = settings.patience + settings.longest + limits.transcribe + SPARE;
        let waiting = tokio::spawn(async move {
            let heard = match opening.await {
                Ok(hearing) => {
                    let _ = events.send(Event::Opened { number }).await;
                    // What is told meanwhile may be lost in a rush.
                    let tell = |told: Early<'_>| {
                        let _ = events.try_send(match told {
                            Early::SoFar {
                                transcript,
                                pause,
                                spoken,
                            } => Event::SoFar {
                                number,
                                text: transcript.text.clone(),
                                pause,
                                spoken,
                            },
                            Early::Closed => Event::Closed { number },
                        });
                    };
                    let heard = async {
                        match early {
                            true => hearing.recognised(&*stt, &limits, tell).await,
                            false => hearing.heard().await,
                        }
                    };
                    // A thread that hangs in a sound server says nothing any more.
                    let lost = || Heard::Failed(LOST.to_owned());
                    tokio::time::timeout(bound, heard)
                        .await
                        .unwrap_or_else(|_| lost())
                }
                Err(heard) => heard,
            };
            let heard = match heard {
                // Whoever pressed a key wants to know why nothing came of it.
                Heard::Nobody if way == Way::Key && is_muted(&device).await => Heard::Muted,
                heard => heard,
            };
            let sounding = match heard.text() {
                Some(text) => {
                    let since = still_heard(&clock.now(), length);
                    Sounding::if_meant(text, &dirs, &desk, since).await
                }
                None => Sounding::default(),
            };
            let listened = Event::Listened {
                number,
                heard,
                sounding,
            };
            let _ = events.send(listened).await;
        });
        // One that was stopped keeps what was said, and leaves its place.
        self.closing.extend(self.open.take());
        let speaking = question.map(|_| lock(&self.questions).speak());
        self.open = Some(Open {
            number,
            way,
            speaking,
            listening,
            client,
            connection,
            question,
            interrupts: running.filter(|_| question.is_none()),
            longest: settings.longest,
            stopped: false,
            closed: false,
            interrupted: hushed,
            own: match way {
                Way::After(_) | Way::FollowUp(..) => self.parts.speak.own().borrow().lately(OWN),
                // Its own "yes or no" is no answer to it.
                Way::Key => question.and_then(|_| self.parts.speak.own().borrow().lately(OWN)),
                Way::Woken(_) => None,
            },
            waiting,
        });
        self.rest();
        self.prepare_again();
        // The recogniser loads while the person speaks.
        let stt = Arc::clone(&self.engines.stt);
        tokio::spawn(async move {
            if let Err(error) = stt.info().await {
                // The turn that comes of it says so.
                tracing::debug!(%error, "the recogniser is not ready");
            }
        });
        State::Listening
    }

    /// The microphone is open: now the person can speak, and the turn that this interrupts ends. Without a microphone
    /// it would have ended for nothing.
    pub(super) fn opened(&mut self, number: u64) {
        let mut listenings = self.open.iter().chain(&self.closing);
        let Some(open) = listenings.find(|open| open.number == number) else {
            return;
        };
        let interrupts = open.interrupts;
        self.stop_learning();
        self.parts.speak.earcon(Earcon::Begins);
        let is_it = |running: &Running| Some(running.number) == interrupts;
        // What a guest asked for is not lost because the person has something to say.
        if self.running.as_ref().is_some_and(|r| is_it(r) && r.way.is_some()) {
            return self.make_way();
        }
        let meant = |running: &mut Running| is_it(running) && running.told.stop();
        if let Some(running) = self.running.take_if(meant) {
            running.task.abort();
            let mut listenings = self.open.iter_mut().chain(&mut self.closing);
            if let Some(open) = listenings.find(|open| open.number == number) {
                open.interrupted = true;
            }
            self.next();
        }
    }

    /// The microphone is closed: from now on the recogniser is what is waited for.
    pub(super) fn closed(&mut self, number: u64) {
        if let Some(open) = self.open.as_mut().filter(|open| open.number == number) {
            open.stopped = true;
            open.closed = true;
            self.rest();
        }
    }

    /// Closes the microphone and forgets what was said. Whether it was open.
    pub(super) fn close(&mut self) -> bool {
        let (open, closing) = (self.open.take(), std::mem::take(&mut self.closing));
        if open.is_none() && closing.is_empty() {
            return false;
        }
        self.leave_hands_free();
        self.parts.speak.earcon(Earcon::Nothing);
        self.rest();
        self.go_on();
        true
    }

    /// A listening came to its end.
    pub(super) fn listened(&mut self, number: u64, heard: Heard, sounding: Sounding) {
        let open = self.open.take_if(|open| open.number == number);
        let closing = || self.closing.extract_if(.., |open| open.number == number).next();
        let Some(mut open) = open.or_else(closing) else {
            return;
        };
        if let Heard::Failed(_) = heard {
            // Said each time, because the person has just asked for it.
            self.notices.now(Source::Microphone, Vec::new());
        } else {
            self.noticed(Source::Microphone, Vec::new());
        }
        let client = open.client;
        match heard {
            Heard::Speech(speech) => {
                if speech.transcript.is_some() {
                    self.noticed(Source::Recogniser, Vec::new());
                }
                let Some(speech) = self.meant(&open, speech, sounding) else {
                    return self.go_on();
                };
                // Who was only listened to after an answer may not have meant any of it.
                if open.listening.was_cut_off() && !matches!(open.way, Way::FollowUp(..)) {
                    self.mention(words::cut_off(open.longest.as_secs()), client);
                }
                self.parts.speak.earcon(Earcon::Ends);
                // The others are told what goes on; this one, that something comes of what was said.
                let state = self.shown();
                self.tell(&Happening::State { state }, Some(client));
                let state = State::Transcribing;
                self.tell_one(client, Happening::State { state });
                match open.question {
                    Some(id) => {
                        let by_itself = open.way != Way::Key;
                        self.answered(id, speech, client, by_itself, open.speaking.take());
                    }
                    None => self.spoken(speech, client, open.connection.take()),
                }
            }
            Heard::Nobody => {
                if !matches!(open.way, Way::FollowUp(..)) {
                    self.parts.speak.earcon(Earcon::Nothing);
                }
                match open.way {
                    Way::Key => self.mention(words::nothing_heard(), client),
                    // Who was asked may still answer; who was only listened to owes nobody a word.
                    Way::After(_) if open.question.is_some() => {}
                    Way::Woken(_) | Way::After(_) | Way::FollowUp(..) => self.leave_hands_free(),
                }
                self.rest();
            }
            Heard::Muted => {
                self.parts.speak.earcon(Earcon::Nothing);
                self.mention(words::turned_off(), client);
                self.rest();
            }
            Heard::Failed(why) => {
                self.leave_hands_free();
                self.parts.speak.earcon(Earcon::Nothing);
                self.noticed(Source::Microphone, vec![why]);
                self.rest();
            }
            Heard::Discarded => self.rest(),
        }
        self.go_on();
    }

    /// What was said becomes a turn, before all that was typed. It belongs to the person, who may have asked for it with
    /// a key: it is told by a notification, and to the client that asked, should it still be there.
    fn spoken(&mut self, speech: Speech, client: u64, connection: Option<Client>) {
        let before = self.waiting.iter().take_while(|a| a.speech.is_some()).count();
        if before >= MAX_WAITING {
            return self.answer(TOO_MANY.to_owned(), client);
        }
        let (reply, replied) = oneshot::channel();
        let events = self.events.clone();
        tokio::spawn(async move {
            if !matches!(replied.await, Ok(Ok(_))) {
                let _ = events.send(Event::Unanswered { client }).await;
            }
        });
        let asking = Asking {
            text: String::new(),
            wav: None,
            speech: Some(speech),
            yes: false,
            interactive: true,
            notify: true,
            now: None,
            client,
            guest: None,
            connection,
            reply,
        };
        self.waiting.insert(before, asking);
        self.make_way();
    }

    /// What was said answers a question, should it be an answer.
    fn answered(&self, id: u64, speech: Speech, client: u64, by_itself: bool, speaking: Option<Speaking>) {
        let (stt, limits) = (Arc::clone(&self.engines.stt), self.parts.limits.clone());
        let (questions, events) = (Arc::clone(&self.questions), self.events.clone());
        tokio::spawn(async move {
            let answer = spoken_answer(&*stt, &limits, &speech, by_itself).await;
            let counted = match answer.clone() {
                Some(answer) => lock(&questions).answer(id, answer),
                None => false,
            };
            drop(speaking);
            let answered = Event::Answered {
                client,
                answer,
                counted,
            };
            let _ = events.send(answered).await;
        });
    }

    /// What came of an answer that was spoken. One that counted shows in what is done; the client that waits is told
    /// how it was understood.
    pub(super) fn answer_heard(&mut self, client: u64, answer: Option<Confirmation>, counted: bool) {
        let text = match (answer, counted) {
            (Some(answer), true) => {
                let text = match answer {
                    Confirmation::Yes => "You said yes.",
                    Confirmation::No | Confirmation::Nobody => "You said no.",
                    // What is asked now shows what was understood.
                    Confirmation::Wait => "I wait.",
                    Confirmation::Change(_) => "You want it changed.",
                };
                return self.tell_one(
                    client,
                    Happening::Replied {
                        text: text.to_owned(),
                    },
                );
            }
            (Some(_), false) => OVER,
            // The question stays, until its time is over.
            (None, _) => UNCLEAR,
        };
        self.answer(text.to_owned(), client);
    }

    /// What was said will not be answered, because somebody stopped the turn: the client that waits is told.
    pub(super) fn unanswered(&mut self, client: u64) {
        let text = words::cancelled();
        self.tell_one(client, Happening::Replied { text });
    }

    /// All that is said to what was spoken: on the desktop, and to the client that asked.
    fn answer(&mut self, text: String, client: u64) {
        self.notices.desk().say(&text);
        self.remark(&text, client);
        self.tell_one(client, Happening::Replied { text });
    }

    /// Something that is over as soon as it is said: on the desktop, and to the client that asked.
    pub(super) fn mention(&mut self, text: String, client: u64) {
        self.notices.desk().say(&text);
        self.tell_one(client, Happening::Noticed { text });
    }

    pub(super) fn tell_one(&self, client: u64, happening: Happening) {
        if let Some(signals) = self.clients.get(&client) {
            let _ = signals.try_send(happening);
        }
    }

    /// Everybody is told what goes on, where that may be something else than before.
    pub(super) fn rest(&self) {
        let state = self.shown();
        self.tell(&Happening::State { state }, None);
    }

    /// Begins what waits, when nothing else goes on.
    pub(super) fn go_on(&mut self) {
        if self.running.is_none()
            && !self.listens()
            && let Some(asking) = self.waiting.pop_front()
        {
            self.begin(asking);
        }
    }

    /// A question is over with its turn, and nobody need answer it any more. Who has answered already is told so.
    pub(super) fn no_question(&mut self) {
        if let Some(open) = self.open.take_if(|open| open.question.is_some() && !open.stopped) {
            drop(open);
            self.rest();
        }
    }

    /// Whether somebody may be saying what is to be done next: nothing begins meanwhile.
    pub(super) fn listens(&self) -> bool {
        let mut listenings = self.open.iter().chain(&self.closing);
        listenings.any(|open| open.question.is_none())
    }

    /// What goes on; that the microphone is open comes before all else.
    pub(super) fn shown(&self) -> State {
        match &self.open {
            Some(open) if open.closed => State::Transcribing,
            Some(_) => State::Listening,
            None => self.or_muted(*lock(&self.state)),
        }
    }

    /// Nothing goes on in another way while an answer is spoken, or the microphone is muted.
    pub(super) fn or_muted(&self, state: State) -> State {
        match state {
            State::Idle if self.speaks() => State::Speaking,
            State::Thinking if self.tells() => State::Speaking,
            State::Idle if self.mute.is() => State::Muted,
            state => state,
        }
    }
}

impl Open {
    /// Whether it listens for the answer to another question than this one.
    pub(super) fn is_for_another_question(&self, open: Option<u64>) -> bool {
        !self.stopped && self.question.is_some() && self.question != open
    }

    /// The person has finished.
    fn stop(&mut self) -> State {
        self.stopped = true;
        self.listening.stop();
        State::Transcribing
    }
}

/// What somebody answered. Where no key was pressed, "okay" and "yeah" may be anybody's and mean anything: only a yes is one.
async fn spoken_answer(
    stt: &dyn Stt,
    limits: &Limits,
    speech: &Speech,
    by_itself: bool,
) -> Option<Confirmation> {
    let transcript = match &speech.transcript {
        Some(transcript) => Ok(transcript.clone()),
        None => transcribe(stt, limits, speech).await,
    };
    match transcript {
        Ok(transcript) => {
            let text = match &speech.after {
                Some(phrases) => phrases.strip(&transcript.text),
                None => &transcript.text,
            };
            let surely = !by_itself || plain_words(text).split(' ').next() == Some("yes");
            answer(text).filter(|answer| *answer != Confirmation::Yes || surely)
        }
        Err(error) => {
            tracing::warn!(%error, "an answer was not understood");
            None
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_turn_is_stopped_or_its_answer_is_told_but_never_both() {
        let told = Told::default();
        assert!(told.tell() && !told.stop() && told.tell());
        let stopped = Told::default();
        assert!(stopped.stop() && !stopped.tell() && stopped.stop());
    }
}
