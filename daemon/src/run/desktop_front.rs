//! Questions, answers and undo on the desktop, for turns that nobody watches in a terminal: notifications with buttons
//! (Desktop Notifications Specification 1.2), on a task of their own, so that a server that hangs holds up nothing.
//!
//! Whoever started the turn, a question is open in `Questions`, and a button answers it there by its id. Who takes the
//! notification away has said no; one that goes by itself is no answer, and silence is no as everywhere.

use std::{
    collections::{BTreeMap, HashMap},
    sync::{Arc, Mutex},
    time::Duration,
};

use futures_util::StreamExt as _;
use prompts::words;
use tokio::sync::mpsc;
use tools::{Effect, Journal, system::plain};
use zbus::{Connection, Variant, connection, proxy::OwnerChangedStream};

use super::front::{Questions, lock};
use crate::{
    act::Writing,
    consent::Question,
    report::Report,
    ring::desk::{ActionInvokedStream, DISMISSED, NotificationClosedStream, NotificationsProxy},
};

/// How long the notification server has for one command.
const PATIENCE: Duration = Duration::from_secs(4);
/// Commands that may wait while the server is stuck; what comes then is not shown.
const QUEUE: usize = 16;
/// Longest text of a notification. A question that is longer cannot be agreed to there, because it is not shown whole.
const MAX_TEXT: usize = 1_000;
/// Changes before a turn that are looked at; a turn makes fewer.
const STEPS: usize = 16;

/// The way to the desktop; cheap to clone.
#[derive(Clone)]
pub struct DesktopFront {
    commands: mpsc::Sender<Command>,
    journal: Journal,
}

enum Command {
    /// Shows a question.
    Ask { id: u64, question: Question },
    /// Takes a question away.
    Close { id: u64 },
    /// Shows an answer, and offers to undo this step; in place of another notification unless that is 0.
    Tell {
        text: String,
        undo: Option<i64>,
        replaces: u32,
    },
}

/// A question on the desktop; taken away when this is dropped.
pub struct Asked {
    id: u64,
    commands: mpsc::Sender<Command>,
}

impl Drop for Asked {
    fn drop(&mut self) {
        let _ = self.commands.try_send(Command::Close { id: self.id });
    }
}

impl DesktopFront {
    /// Starts the task, which ends when everybody who holds this is gone. `bus` is where the notifications are, if not on
    /// the session bus of the environment.
    pub fn start(bus: Option<String>, journal: Journal, questions: Arc<Mutex<Questions>>) -> DesktopFront {
        let (commands, inbox) = mpsc::channel(QUEUE);
        let desk = Desk {
            bus,
            questions,
            journal: journal.clone(),
            commands: commands.downgrade(),
            open: BTreeMap::new(),
        };
        tokio::spawn(desk.run(inbox));
        DesktopFront { commands, journal }
    }

    /// Shows a question that is open.
    pub fn ask(&self, id: u64, question: &Question) -> Asked {
        let question = question.clone();
        self.send(Command::Ask { id, question });
        Asked {
            id,
            commands: self.commands.clone(),
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
        self.send(Command::Tell {
            text: report.reply.clone(),
            undo: mine.map(|step| step.id),
            replaces: 0,
        });
    }

    async fn steps(&self, limit: usize) -> Vec<tools::system::journal::Past> {
        let journal = self.journal.clone();
        let steps = tokio::task::spawn_blocking(move || journal.history(limit)).await;
        steps.ok().and_then(Result::ok).unwrap_or_default()
    }

    fn send(&self, command: Command) {
        if self.commands.try_send(command).is_err() {
            tracing::warn!("the notification server does not answer");
        }
    }
}

/// The task's own.
struct Desk {
    bus: Option<String>,
    questions: Arc<Mutex<Questions>>,
    journal: Journal,
    /// For what an undo has to say; weak, so that the task can end.
    commands: mpsc::WeakSender<Command>,
    /// Questions that are to be seen, for a server that comes later or comes again.
    open: BTreeMap<u64, Question>,
}

/// A notification server, and what of ours it shows.
struct Session {
    proxy: NotificationsProxy<'static>,
    actions: ActionInvokedStream,
    closings: NotificationClosedStream,
    owners: OwnerChangedStream<'static>,
    can: Can,
    /// The question of each notification.
    asked: BTreeMap<u32, u64>,
    /// The step that each notification offers to undo.
    told: BTreeMap<u32, i64>,
}

/// What the server can do.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Can {
    actions: bool,
    body: bool,
    markup: bool,
}

impl Desk {
    async fn run(mut self, mut inbox: mpsc::Receiver<Command>) {
        let mut session: Option<Session> = None;
        loop {
            let Some(open) = &mut session else {
                let Some(command) = inbox.recv().await else { return };
                session = self.attempt(None, Some(command)).await;
                continue;
            };
            tokio::select! {
                command = inbox.recv() => match command {
                    Some(command) => session = self.attempt(session.take(), Some(command)).await,
                    None => return,
                },
                action = open.actions.next() => match action {
                    Some(action) => {
                        if let Ok(args) = action.args() {
                            self.pressed(open, args.id, args.action_key);
                        }
                    }
                    None => session = None,
                },
                closing = open.closings.next() => match closing {
                    Some(closing) => {
                        if let Ok(args) = closing.args() {
                            self.closed(open, args.id, args.reason);
                        }
                    }
                    None => session = None,
                },
                owner = open.owners.next() => match owner {
                    // The numbers of the one that went mean something else to the next one.
                    Some(None) => {
                        open.asked.clear();
                        open.told.clear();
                    }
                    // The next one may be able to do other things.
                    Some(Some(_)) if !self.open.is_empty() => session = self.attempt(None, None).await,
                    Some(Some(_)) | None => session = None,
                },
            }
        }
    }

    /// Carries out a command, over a new connection where there is none. Gives back what can be used again.
    async fn attempt(&mut self, session: Option<Session>, command: Option<Command>) -> Option<Session> {
        match &command {
            Some(Command::Ask { id, question }) => _ = self.open.insert(*id, question.clone()),
            Some(Command::Close { id }) => _ = self.open.remove(id),
            Some(Command::Tell { .. }) | None => {}
        }
        let work = async {
            let mut session = match session {
                Some(session) => session,
                // There is nothing to take away.
                None if matches!(command, Some(Command::Close { .. })) => return Ok(None),
                None => connect(self.bus.as_deref()).await?,
            };
            for (id, question) in &self.open {
                if !session.asked.values().any(|shown| shown == id) {
                    session.ask(*id, question).await?;
                }
            }
            match command {
                Some(Command::Close { id }) => session.close(id).await?,
                Some(Command::Tell { text, undo, replaces }) => session.tell(&text, undo, replaces).await?,
                Some(Command::Ask { .. }) | None => {}
            }
            zbus::Result::Ok(Some(session))
        };
        match tokio::time::timeout(PATIENCE, work).await {
            Ok(Ok(session)) => session,
            Ok(Err(error)) => {
                tracing::info!(%error, "no desktop notification");
                None
            }
            Err(_) => {
                tracing::warn!("the notification server does not answer");
                None
            }
        }
    }

    /// A button. Only one that names the question it stands under is an answer to it.
    fn pressed(&self, session: &mut Session, id: u32, key: &str) {
        if let Some(question) = session.asked.get(&id) {
            for (yes, button) in [(true, yes_key(*question)), (false, no_key(*question))] {
                if key == button {
                    lock(&self.questions).answer(*question, yes);
                }
            }
        } else if key == UNDO
            && let Some(step) = session.told.remove(&id)
        {
            self.undo(step, id);
        }
    }

    fn closed(&self, session: &mut Session, id: u32, reason: u32) {
        session.told.remove(&id);
        if let Some(question) = session.asked.remove(&id)
            && reason == DISMISSED
        {
            lock(&self.questions).answer(question, false);
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
                let _ = commands.try_send(Command::Tell { text, undo, replaces });
            }
        });
    }
}

async fn connect(bus: Option<&str>) -> zbus::Result<Session> {
    let connection: Connection = match bus {
        Some(address) => connection::Builder::address(address).build().await?,
        None => Connection::session().await?,
    };
    let proxy = NotificationsProxy::new(&connection).await?;
    let actions = proxy.receive_action_invoked().await?;
    let closings = proxy.receive_notification_closed().await?;
    // Starts the server where the bus can.
    let can = proxy.get_capabilities().await?;
    let can = |what: &str| can.iter().any(|c| c == what);
    Ok(Session {
        owners: proxy.inner().receive_owner_changed().await?,
        actions,
        closings,
        can: Can {
            actions: can("actions"),
            body: can("body"),
            markup: can("body-markup"),
        },
        asked: BTreeMap::new(),
        told: BTreeMap::new(),
        proxy,
    })
}

impl Session {
    async fn ask(&mut self, id: u64, question: &Question) -> zbus::Result<()> {
        let (text, whole) = asked_text(id, question, self.can);
        let (yes, no) = (yes_key(id), no_key(id));
        let actions: &[&str] = match (self.can.actions, whole) {
            (false, _) => &[],
            (true, true) => &[&yes, "Yes", &no, "No"],
            (true, false) => &[&no, "No"],
        };
        // Critical and without end: it stays until it is answered.
        let shown = self.show("Shall I do this?", &text, actions, 2, 0, 0).await?;
        self.asked.insert(shown, id);
        Ok(())
    }

    async fn tell(&mut self, text: &str, undo: Option<i64>, replaces: u32) -> zbus::Result<()> {
        let text = cut(&plain::lines(text)).0;
        let actions: &[&str] = match undo {
            Some(_) if self.can.actions => &[UNDO, "Undo"],
            _ => &[],
        };
        let shown = self.show("Tiro", &text, actions, 1, -1, replaces).await?;
        self.told.extend(undo.map(|step| (shown, step)));
        Ok(())
    }

    async fn close(&mut self, question: u64) -> zbus::Result<()> {
        let shown = self
            .asked
            .iter()
            .find(|(_, id)| **id == question)
            .map(|(shown, _)| *shown);
        if let Some(shown) = shown {
            self.asked.remove(&shown);
            // One that went with its button is not there to be closed, and some servers call that an error.
            let _ = self.proxy.close_notification(shown).await;
        }
        Ok(())
    }

    /// Shows text that nobody takes for markup.
    async fn show(
        &self,
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

/// The question as text, and whether all of it is there.
fn asked_text(id: u64, question: &Question, can: Can) -> (String, bool) {
    let text = format!("{}\n{}", question.action, question.because.join(" "));
    let (mut text, whole) = cut(&plain::lines(&text));
    if !whole {
        text.push_str("\nThis is too long to be shown here: `tiro confirm` shows all of it.");
    } else if !can.actions {
        text.push_str(&format!(
            "\nAnswer with `tiro confirm yes {id}` or `tiro confirm no {id}`."
        ));
    }
    (text, whole)
}

/// The beginning of a text, and whether that is all of it.
fn cut(text: &str) -> (String, bool) {
    match text.char_indices().nth(MAX_TEXT) {
        Some((end, _)) => (format!("{}…", &text[..end]), false),
        None => (text.to_owned(), true),
    }
}

/// Text that stays text where markup is read.
fn escape(text: &str) -> String {
    let mut escaped = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '&' => escaped.push_str("&amp;"),
            '<' => escaped.push_str("&lt;"),
            '>' => escaped.push_str("&gt;"),
            c => escaped.push(c),
        }
    }
    escaped
}

#[cfg(test)]
mod tests {
    use super::*;

    const CAN: Can = Can {
        actions: true,
        body: true,
        markup: true,
    };

    #[track_caller]
    fn check(action: &str, can: Can, expect: &str, whole: bool) {
        let question = Question {
            tool: "mail.send".into(),
            action: action.into(),
            because: vec!["This leaves your computer.".into(), "Look.".into()],
        };
        assert_eq!(asked_text(7, &question, can), (expect.to_owned(), whole));
    }

    #[test]
    fn a_question_is_shown_whole_or_cannot_be_agreed_to() {
        let because = "\nThis leaves your computer. Look.";
        check("Send it.", CAN, &format!("Send it.{because}"), true);
        check("Send\u{202e} it.", CAN, &format!("Send it.{because}"), true);
        let mute = Can {
            actions: false,
            ..CAN
        };
        let how = "\nAnswer with `tiro confirm yes 7` or `tiro confirm no 7`.";
        check("Send it.", mute, &format!("Send it.{because}{how}"), true);
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
