//! Questions, answers and undo on the desktop, for turns that nobody watches in a terminal: notifications with buttons
//! (Desktop Notifications Specification 1.2), on a task of their own, so that a server that hangs holds up nothing.
//!
//! Whoever started the turn, a question is open in `Questions`, and a button answers it there by its id. Who takes the
//! notification away has said no; one that goes by itself is no answer, and silence is no as everywhere.
//!
//! A name on the bus says nothing about its owner: where no real server is, a program in a sandbox can be the one. So what
//! a program on the bus asked for cannot be agreed to here, where the same program or its friend might press the button,
//! but by voice and over the socket, which need the person. What the person asked for themselves can be, and undone, unless
//! the server is kept away from the person's files.

use std::{
    collections::{BTreeMap, HashMap},
    path::{Path, PathBuf},
    sync::{Arc, Mutex},
    time::Duration,
};

use anyhow::Context as _;
use futures_util::StreamExt as _;
use prompts::words;
use tokio::sync::{Notify, mpsc};
use tools::{Effect, Journal, system::plain};
use zbus::{Connection, Variant, connection, fdo::DBusProxy, proxy::OwnerChangedStream};

use super::front::{Questions, lock};
use crate::{
    act::Writing,
    bus::program::{self, Reach},
    consent::Question,
    reply::{Confirmation, escape},
    report::Report,
    ring::desk::{A_WHILE, DISMISSED, NotificationsProxy, Sign, Signs, UNTIL_CLOSED, signs},
};

/// How long the notification server has to be there, and for one command before that is logged.
const PATIENCE: Duration = Duration::from_secs(4);
/// The pause before a question that could not be shown is tried again.
const AGAIN: Duration = Duration::from_secs(2);
/// Answers that may wait while the server is stuck; what comes then is not shown.
const QUEUE: usize = 16;
/// Longest text of a notification. A question that is longer cannot be agreed to there, because it is not shown whole.
const MAX_TEXT: usize = 1_000;
/// Changes before a turn that are looked at; a turn makes fewer.
const STEPS: usize = 16;

/// The way to the desktop; cheap to clone.
#[derive(Clone)]
pub struct DesktopFront {
    commands: mpsc::Sender<Tell>,
    wanted: Arc<Wanted>,
    journal: Journal,
}

/// Shows an answer, and offers to undo this step; in place of another notification unless that is 0.
struct Tell {
    text: String,
    undo: Option<i64>,
    replaces: u32,
}

/// What is to be seen of a question. No queue, so that however long the server is stuck, a question that is over is taken
/// away and not shown again.
#[derive(Default)]
struct Wanted {
    open: Mutex<Option<Open>>,
    changed: Notify,
}

/// A question that is open.
#[derive(Clone)]
struct Open {
    id: u64,
    question: Question,
    /// Whether what is said into the microphone answers it.
    aloud: bool,
    /// Whether a program on the bus asked for what it is about.
    for_guest: bool,
}

/// A question on the desktop; taken away when this is dropped.
pub struct Asked {
    id: u64,
    wanted: Arc<Wanted>,
}

impl Drop for Asked {
    fn drop(&mut self) {
        lock(&self.wanted.open).take_if(|open| open.id == self.id);
        self.wanted.changed.notify_one();
    }
}

impl DesktopFront {
    /// Starts the task, which ends when everybody who holds this is gone. `bus` is where the notifications are, if not on
    /// the session bus of the environment.
    /// `files` is a folder of the person's that no program in a sandbox has before it.
    pub fn start(
        bus: Option<String>,
        journal: Journal,
        questions: Arc<Mutex<Questions>>,
        files: PathBuf,
    ) -> DesktopFront {
        let (commands, inbox) = mpsc::channel(QUEUE);
        let wanted = Arc::new(Wanted::default());
        let desk = Desk {
            bus,
            questions,
            files,
            journal: journal.clone(),
            commands: commands.downgrade(),
            wanted: Arc::clone(&wanted),
        };
        tokio::spawn(desk.run(inbox));
        DesktopFront {
            commands,
            wanted,
            journal,
        }
    }

    /// Shows a question that is open, which may be answered by speaking too unless the microphone is muted.
    pub fn ask(&self, id: u64, question: &Question, aloud: bool, for_guest: bool) -> Asked {
        *lock(&self.wanted.open) = Some(Open {
            id,
            question: question.clone(),
            aloud,
            for_guest,
        });
        self.wanted.changed.notify_one();
        Asked {
            id,
            wanted: Arc::clone(&self.wanted),
        }
    }

    /// The last change before a turn, for `after`.
    pub async fn before(&self) -> Option<i64> {
        let steps = self.steps(1).await;
        Some(steps.first().map_or(0, |step| step.id))
    }

    /// Shows what a turn answered, and offers to undo the last change that it made.
    pub async fn after(&self, before: Option<i64>, report: &Report) {
        let written = |tool: &str| {
            let call = report
                .calls
                .iter()
                .any(|call| call.name == tool && call.status == "ok");
            call && tools::find(tool).is_some_and(|entry| entry.effect == Effect::Write)
        };
        let steps = match before {
            Some(_) if report.calls.iter().any(|call| written(&call.name)) => self.steps(STEPS).await,
            _ => Vec::new(),
        };
        // Others write too: a synchronisation, a timer that rings.
        let mine = steps
            .iter()
            .find(|step| Some(step.id) > before && !step.undone && written(&step.tool));
        let tell = Tell {
            text: report.reply.clone(),
            undo: mine.map(|step| step.id),
            replaces: 0,
        };
        if self.commands.try_send(tell).is_err() {
            tracing::warn!("the notification server does not answer");
        }
    }

    async fn steps(&self, limit: usize) -> Vec<tools::system::journal::Past> {
        let journal = self.journal.clone();
        let steps = tokio::task::spawn_blocking(move || journal.history(limit)).await;
        steps.ok().and_then(Result::ok).unwrap_or_default()
    }
}

/// The task's own.
struct Desk {
    bus: Option<String>,
    questions: Arc<Mutex<Questions>>,
    files: PathBuf,
    journal: Journal,
    /// For what an undo has to say; weak, so that the task can end.
    commands: mpsc::WeakSender<Tell>,
    wanted: Arc<Wanted>,
}

/// A notification server, and what of ours it shows.
struct Session {
    proxy: NotificationsProxy<'static>,
    signs: Signs,
    owners: OwnerChangedStream<'static>,
    can: Can,
    /// The notification that shows a question.
    asked: Option<ShownQuestion>,
    /// The last question that was shown here. One that went by itself is not shown again.
    seen: Option<u64>,
    /// The step that each notification offers to undo.
    told: BTreeMap<u32, i64>,
}

/// A notification that shows a question.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct ShownQuestion {
    /// The number of the notification.
    shown: u32,
    /// The question.
    id: u64,
    /// Whether it has a button to agree. What was not offered is not taken.
    yes: bool,
}

/// What the server can do.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Can {
    actions: bool,
    /// Whether a press of its buttons may be one of the person's.
    agree: bool,
    body: bool,
    markup: bool,
}

impl Desk {
    async fn run(self, mut inbox: mpsc::Receiver<Tell>) {
        let mut session: Option<Session> = None;
        let mut pause = Duration::ZERO;
        loop {
            let wanted = lock(&self.wanted.open).as_ref().map(|open| open.id);
            let due = wanted.is_some() && session.as_ref().is_none_or(|session| session.seen != wanted);
            let again = async {
                match due {
                    true => tokio::time::sleep(pause).await,
                    false => std::future::pending().await,
                }
            };
            let sign = async {
                match &mut session {
                    Some(session) => session.sign().await,
                    None => std::future::pending().await,
                }
            };
            tokio::select! {
                tell = inbox.recv() => match tell {
                    Some(tell) => pause = self.attempt(&mut session, Some(tell)).await,
                    None => return,
                },
                () = self.wanted.changed.notified() => pause = self.attempt(&mut session, None).await,
                () = again => pause = self.attempt(&mut session, None).await,
                sign = sign => match (sign, &mut session) {
                    (Some(Sign::Pressed { id, key }), Some(open)) => self.pressed(open, id, &key),
                    (Some(Sign::Closed { id, reason }), Some(open)) => self.closed(open, id, reason),
                    (None, _) | (_, None) => session = None,
                },
            }
        }
    }

    /// Shows what is to be seen, over a new connection where there is none, and takes away what is over. Returns the pause
    /// before a question that is not to be seen yet is tried again.
    async fn attempt(&self, session: &mut Option<Session>, tell: Option<Tell>) -> Duration {
        match self.show(session, tell).await {
            Ok(()) => Duration::ZERO,
            Err(error) => {
                tracing::info!(error = format!("{error:#}"), "no desktop notification");
                AGAIN
            }
        }
    }

    async fn show(&self, session: &mut Option<Session>, tell: Option<Tell>) -> anyhow::Result<()> {
        let open = lock(&self.wanted.open).clone();
        let session = match session {
            Some(session) => session,
            // There is nothing to take away.
            None if open.is_none() && tell.is_none() => return Ok(()),
            None => {
                let connecting = tokio::time::timeout(PATIENCE, connect(self.bus.as_deref(), &self.files));
                let connected = connecting
                    .await
                    .context("the notification server does not answer")?;
                session.insert(connected?)
            }
        };
        // A call that has begun is waited for, however long it takes: what it shows would have dead buttons else.
        let work = async {
            // An answer is shown although a question cannot be: it is told once, and the question is tried again.
            let asked = session.ask(open.as_ref()).await;
            if let Some(tell) = tell {
                session.tell(tell).await?;
            }
            asked
        };
        tokio::pin!(work);
        if let Ok(done) = tokio::time::timeout(PATIENCE, &mut work).await {
            return Ok(done?);
        }
        tracing::warn!("the notification server does not answer");
        Ok(work.await?)
    }

    /// A button. Only one that names the question it stands under is an answer to it.
    fn pressed(&self, session: &mut Session, id: u32, key: &str) {
        if let Some(question) = session.asked
            && question.shown == id
        {
            if question.yes && key == yes_key(question.id) {
                lock(&self.questions).answer(question.id, Confirmation::Yes);
            } else if key == no_key(question.id) {
                lock(&self.questions).answer(question.id, Confirmation::No);
            }
        } else if key == UNDO
            && let Some(step) = session.told.remove(&id)
        {
            self.undo(step, id);
        }
    }

    fn closed(&self, session: &mut Session, id: u32, reason: u32) {
        session.told.remove(&id);
        if let Some(question) = session.asked.take_if(|question| question.shown == id)
            && reason == DISMISSED
        {
            lock(&self.questions).answer(question.id, Confirmation::No);
        }
    }

    /// Undoes a step, and says so where the button was.
    fn undo(&self, step: i64, replaces: u32) {
        let (journal, commands) = (self.journal.clone(), self.commands.clone());
        tokio::task::spawn_blocking(move || {
            let _writing = Writing::begin();
            let text = match journal.undo(Some(step)) {
                Ok(undone) => words::undone(&undone.say.unwrap_or(undone.tool)),
                Err(error) => error.to_string(),
            };
            if let Some(commands) = commands.upgrade() {
                let undo = None;
                let _ = commands.try_send(Tell { text, undo, replaces });
            }
        });
    }
}

async fn connect(bus: Option<&str>, files: &Path) -> zbus::Result<Session> {
    let connection: Connection = match bus {
        Some(address) => connection::Builder::address(address).build().await?,
        None => Connection::session().await?,
    };
    let proxy = NotificationsProxy::new(&connection).await?;
    let signs = signs(&proxy).await?;
    // Starts the server where the bus can.
    let can = proxy.get_capabilities().await?;
    let can = |what: &str| can.iter().any(|c| c == what);
    let owners = proxy.inner().receive_owner_changed().await?;
    let names = DBusProxy::new(&connection).await?;
    let owner = names
        .get_name_owner(proxy.inner().destination().to_owned())
        .await?;
    let reach = program::reaches(&names, &owner, files).await;
    if reach == Reach::No {
        tracing::info!(
            "the notification server is kept away from the person's files, so it gets no buttons to agree"
        );
    }
    Ok(Session {
        owners,
        signs,
        can: Can {
            actions: can("actions"),
            agree: reach != Reach::No,
            body: can("body"),
            markup: can("body-markup"),
        },
        asked: None,
        seen: None,
        told: BTreeMap::new(),
        proxy,
    })
}

impl Session {
    /// What the server tells next. Nothing when it went or another one came, to which the numbers mean something else and
    /// which may be able to do other things; nor when the bus went.
    async fn sign(&mut self) -> Option<Sign> {
        tokio::select! {
            sign = self.signs.next() => sign,
            _ = self.owners.next() => None,
        }
    }

    /// Shows the question that is open, and takes the one before it away.
    async fn ask(&mut self, open: Option<&Open>) -> zbus::Result<()> {
        let wanted = open.map(|open| open.id);
        if let Some(question) = self.asked.take_if(|question| Some(question.id) != wanted) {
            // One that went with its button is not there to be closed, and some servers call that an error.
            let _ = self.proxy.close_notification(question.shown).await;
        }
        let Some(open) = open.filter(|open| self.seen != Some(open.id)) else {
            return Ok(());
        };
        let (text, agree) = asked_text(open, self.can);
        let (yes, no) = (yes_key(open.id), no_key(open.id));
        let actions: &[&str] = match (self.can.actions, agree) {
            (false, _) => &[],
            (true, true) => &[&yes, "Yes", &no, "No"],
            (true, false) => &[&no, "No"],
        };
        // Critical: it stays until it is answered.
        let shown = self.show("Shall I do this?", &text, actions, 2, UNTIL_CLOSED, 0);
        self.asked = Some(ShownQuestion {
            shown: shown.await?,
            id: open.id,
            yes: agree,
        });
        self.seen = Some(open.id);
        Ok(())
    }

    async fn tell(&mut self, tell: Tell) -> zbus::Result<()> {
        let text = cut(&plain::lines(&tell.text)).0;
        let undo = tell.undo.filter(|_| self.can.actions && self.can.agree);
        let actions: &[&str] = match undo {
            Some(_) => &[UNDO, "Undo"],
            None => &[],
        };
        let shown = self
            .show("Tiro", &text, actions, 1, A_WHILE, tell.replaces)
            .await?;
        self.told.extend(undo.map(|step| (shown, step)));
        Ok(())
    }

    /// Shows text that nobody takes for markup.
    async fn show(
        &mut self,
        title: &str,
        text: &str,
        actions: &[&str],
        urgency: u8,
        expires: i32,
        replaces: u32,
    ) -> zbus::Result<u32> {
        let hints = HashMap::from([("urgency", Variant::from(urgency))]);
        let escaped = match self.can.markup {
            true => escape(text),
            false => text.to_owned(),
        };
        let (title, body) = match self.can.body {
            true => (title, escaped.as_str()),
            // A title is taken for no markup.
            false => (text, ""),
        };
        self.proxy
            .notify("Tiro", replaces, ICON, title, body, actions, hints, expires)
            .await
    }
}

/// The icon, from the names that every theme has (Icon Naming Specification).
const ICON: &str = "audio-input-microphone";
/// The key of the button that undoes.
const UNDO: &str = "undo";

fn yes_key(question: u64) -> String {
    format!("yes-{question}")
}

fn no_key(question: u64) -> String {
    format!("no-{question}")
}

/// The question as text, and whether there is a button to agree with all of it.
fn asked_text(open: &Open, can: Can) -> (String, bool) {
    let (id, question) = (open.id, &open.question);
    let text = format!("{}\n{}", question.action, question.because.join(" "));
    let (mut text, whole) = cut(&plain::lines(&text));
    if open.aloud {
        text.push_str("\nSay yes or no.");
    }
    if !whole {
        text.push_str("\nThis is too long to be shown here: `tiro confirm` shows all of it.");
    } else if !can.actions {
        text.push_str(&format!(
            "\nAnswer with `tiro confirm yes {id}` or `tiro confirm no {id}`."
        ));
    } else if open.for_guest || !can.agree {
        text.push_str(&format!("\nAgree with `tiro confirm yes {id}`."));
    }
    (text, whole && can.actions && can.agree && !open.for_guest)
}

/// The beginning of a text, and whether that is all of it.
fn cut(text: &str) -> (String, bool) {
    match text.char_indices().nth(MAX_TEXT) {
        Some((end, _)) => (format!("{}…", &text[..end]), false),
        None => (text.to_owned(), true),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const CAN: Can = Can {
        actions: true,
        agree: true,
        body: true,
        markup: true,
    };

    #[track_caller]
    fn check(action: &str, can: Can, expect: &str, agree: bool) {
        check_aloud(action, can, false, expect, agree);
    }

    #[track_caller]
    fn check_aloud(action: &str, can: Can, aloud: bool, expect: &str, agree: bool) {
        check_asked(action, can, aloud, false, expect, agree);
    }

    #[track_caller]
    fn check_asked(action: &str, can: Can, aloud: bool, for_guest: bool, expect: &str, agree: bool) {
        let question = Question {
            tool: "mail.send".into(),
            action: action.into(),
            because: vec!["This leaves your computer.".into(), "Look.".into()],
        };
        let open = Open {
            id: 7,
            question,
            aloud,
            for_guest,
        };
        assert_eq!(asked_text(&open, can), (expect.to_owned(), agree));
    }

    #[test]
    fn a_question_is_shown_whole_or_cannot_be_agreed_to() {
        let because = "\nThis leaves your computer. Look.";
        check("Send it.", CAN, &format!("Send it.{because}"), true);
        check("Send\u{202e} it.", CAN, &format!("Send it.{because}"), true);
        let spoken = format!("Send it.{because}\nSay yes or no.");
        check_aloud("Send it.", CAN, true, &spoken, true);
        let how = "\nSay yes or no.\nAgree with `tiro confirm yes 7`.";
        check_asked(
            "Send it.",
            CAN,
            true,
            true,
            &format!("Send it.{because}{how}"),
            false,
        );
        let confined = Can { agree: false, ..CAN };
        check_aloud(
            "Send it.",
            confined,
            true,
            &format!("Send it.{because}{how}"),
            false,
        );
        let mute = Can {
            actions: false,
            ..CAN
        };
        let how = "\nAnswer with `tiro confirm yes 7` or `tiro confirm no 7`.";
        check("Send it.", mute, &format!("Send it.{because}{how}"), false);
        let long = "ä".repeat(MAX_TEXT + 1);
        let how = "\nThis is too long to be shown here: `tiro confirm` shows all of it.";
        check(&long, CAN, &format!("{}…{how}", "ä".repeat(MAX_TEXT)), false);
        check(&long, mute, &format!("{}…{how}", "ä".repeat(MAX_TEXT)), false);
    }

    #[test]
    fn text_stays_text() {
        assert_eq!(escape("a <b>&amp;</b>"), "a &lt;b&gt;&amp;amp;&lt;/b&gt;");
    }
}
