//! Notifications with buttons (Desktop Notifications Specification 1.2), on a task of their own: a notification server
//! that hangs delays nothing else.

use std::{
    collections::{BTreeMap, HashMap},
    time::Duration,
};

use futures_util::StreamExt as _;
use tokio::sync::mpsc;
use tools::system::rings::Kind;
use zbus::{Connection, Message, Variant, connection, proxy::SignalStream};

use super::{Settings, sound};

/// How long the notification server has for one call.
const PATIENCE: Duration = Duration::from_secs(2);
/// Commands that may wait; what rings while they are stuck is only heard.
const QUEUE: usize = 64;
/// Closed by the person (reason of `NotificationClosed`).
pub const DISMISSED: u32 = 2;
/// How long one is shown: until it is closed.
pub const UNTIL_CLOSED: i32 = 0;
/// How long one is shown: as long as the server holds for right.
pub const A_WHILE: i32 = -1;

/// What the person pressed, and on what.
#[derive(Debug)]
pub struct Answer {
    /// The ring's key.
    pub key: String,
    /// The button.
    pub pressed: Pressed,
}

/// A button.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Pressed {
    /// Once more later.
    Snooze,
    /// It was heard.
    Stop,
}

/// The way to the notifications.
pub struct Desk {
    commands: mpsc::Sender<Command>,
}

enum Command {
    Show {
        key: String,
        text: String,
        urgency: u8,
    },
    Notice {
        text: String,
        icon: &'static str,
        expires: i32,
    },
    Close {
        key: String,
    },
}

/// The notification server.
#[zbus::proxy(
    interface = "org.freedesktop.Notifications",
    default_service = "org.freedesktop.Notifications",
    default_path = "/org/freedesktop/Notifications"
)]
pub trait Notifications {
    /// Shows one, in place of another one unless that is 0; returns its number.
    #[expect(clippy::too_many_arguments, reason = "the specification has as many")]
    fn notify(
        &self,
        app_name: &str,
        replaces_id: u32,
        app_icon: &str,
        summary: &str,
        body: &str,
        actions: &[&str],
        hints: HashMap<&str, Variant<'_>>,
        expire_timeout: i32,
    ) -> zbus::Result<u32>;

    /// Takes one away.
    fn close_notification(&self, id: u32) -> zbus::Result<()>;

    /// What the server can do: `actions`, `body`, `body-markup` and others.
    fn get_capabilities(&self) -> zbus::Result<Vec<String>>;
}

/// What became of a notification.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Sign {
    /// A button was pressed.
    Pressed {
        /// The number of the notification.
        id: u32,
        /// The key of the button.
        key: String,
    },
    /// It went.
    Closed {
        /// Its number.
        id: u32,
        /// 1 by itself, 2 by the person, 3 by its program.
        reason: u32,
    },
}

/// The signs of a server in the order in which it gave them. One stream for both, because servers close what was pressed
/// as if the person had taken it away: read from two, the press could come second and count for nothing.
///
/// # Errors
/// When the bus cannot be asked for them.
pub async fn signs(proxy: &NotificationsProxy<'_>) -> zbus::Result<Signs> {
    Ok(proxy.inner().receive_all_signals().await?.filter_map(sign))
}

/// What [`signs`] gives.
pub type Signs = futures_util::stream::FilterMap<
    SignalStream<'static>,
    std::future::Ready<Option<Sign>>,
    fn(Message) -> std::future::Ready<Option<Sign>>,
>;

fn sign(message: Message) -> std::future::Ready<Option<Sign>> {
    let member = message.header().member().map(|member| member.as_str().to_owned());
    let body = message.body();
    std::future::ready(match member.as_deref() {
        Some("ActionInvoked") => body.deserialize().ok().map(|(id, key)| Sign::Pressed { id, key }),
        Some("NotificationClosed") => body
            .deserialize()
            .ok()
            .map(|(id, reason)| Sign::Closed { id, reason }),
        _ => None,
    })
}

impl Desk {
    /// Starts the task; it ends when the desk and all that it sent are gone. Without `answers` nothing has buttons.
    pub fn start(settings: Settings, answers: Option<mpsc::Sender<Answer>>) -> Desk {
        let (commands, inbox) = mpsc::channel(QUEUE);
        tokio::spawn(run(settings, inbox, answers));
        Desk { commands }
    }

    /// Shows a ring, in place of the same one that rang before.
    pub fn show(&self, key: &str, text: &str, kind: Kind) {
        let urgency = match kind {
            Kind::Timer | Kind::Alarm => 2,
            Kind::Reminder | Kind::Event => 1,
        };
        let command = Command::Show {
            key: key.to_owned(),
            text: text.to_owned(),
            urgency,
        };
        if self.commands.try_send(command).is_err() {
            tracing::warn!("the notification server does not answer");
        }
    }

    /// Shows something that the person should know and need not answer.
    pub fn notice(&self, text: &str) {
        self.tell(text, "dialog-warning-symbolic", UNTIL_CLOSED);
    }

    /// Shows what Tiro says, which is over as soon as it is said.
    pub fn say(&self, text: &str) {
        self.tell(text, "dialog-information-symbolic", A_WHILE);
    }

    fn tell(&self, text: &str, icon: &'static str, expires: i32) {
        let text = text.to_owned();
        let command = Command::Notice { text, icon, expires };
        if self.commands.try_send(command).is_err() {
            tracing::warn!("the notification server does not answer");
        }
    }

    /// Takes a notification away, because it was answered elsewhere.
    pub fn close(&self, key: &str) {
        let _ = self.commands.try_send(Command::Close { key: key.to_owned() });
    }
}

/// A session bus, and what of ours stands on the desktop.
struct Session {
    proxy: NotificationsProxy<'static>,
    signs: Signs,
    shown: BTreeMap<u32, String>,
}

async fn run(settings: Settings, mut inbox: mpsc::Receiver<Command>, answers: Option<mpsc::Sender<Answer>>) {
    let mut session: Option<Session> = None;
    loop {
        let answer = match &mut session {
            None => match inbox.recv().await {
                Some(command) => {
                    session = attempt(&settings, None, command).await;
                    None
                }
                None => return,
            },
            Some(open) => tokio::select! {
                command = inbox.recv() => match command {
                    Some(command) => {
                        session = attempt(&settings, session.take(), command).await;
                        None
                    }
                    None => return,
                },
                sign = open.signs.next() => match sign {
                    Some(Sign::Pressed { id, key }) => {
                        let pressed = match key.as_str() {
                            "snooze" => Pressed::Snooze,
                            _ => Pressed::Stop,
                        };
                        open.shown.remove(&id).map(|key| Answer { key, pressed })
                    }
                    Some(Sign::Closed { id, reason }) => {
                        let key = open.shown.remove(&id).filter(|_| reason == DISMISSED);
                        let pressed = Pressed::Stop;
                        key.map(|key| Answer { key, pressed })
                    }
                    None => {
                        session = None;
                        None
                    }
                },
            },
        };
        if let (Some(answer), Some(answers)) = (answer, &answers)
            && answers.send(answer).await.is_err()
        {
            return;
        }
    }
}

/// Carries out a command, over a new connection where there is none. Gives back what can be used again.
async fn attempt(settings: &Settings, session: Option<Session>, command: Command) -> Option<Session> {
    let work = async {
        let mut session = match session {
            Some(session) => session,
            None => connect(settings).await?,
        };
        session.carry_out(settings, command).await?;
        zbus::Result::Ok(session)
    };
    match tokio::time::timeout(2 * PATIENCE, work).await {
        Ok(Ok(session)) => Some(session),
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

async fn connect(settings: &Settings) -> zbus::Result<Session> {
    let connection: Connection = match &settings.bus {
        Some(address) => connection::Builder::address(address.as_str()).build().await?,
        None => Connection::session().await?,
    };
    let proxy = NotificationsProxy::new(&connection).await?;
    Ok(Session {
        signs: signs(&proxy).await?,
        shown: BTreeMap::new(),
        proxy,
    })
}

impl Session {
    async fn carry_out(&mut self, settings: &Settings, command: Command) -> zbus::Result<()> {
        let id_of = |shown: &BTreeMap<u32, String>, key: &str| {
            let mut shown = shown.iter();
            shown.find(|(_, k)| *k == key).map(|(id, _)| *id)
        };
        match command {
            Command::Show { key, text, urgency } => {
                let replaces = id_of(&self.shown, &key).unwrap_or(0);
                let mut hints = HashMap::from([("urgency", Variant::from(urgency))]);
                // Where we have nothing to play it with, the server may have.
                if settings.sound && sound::player().is_none() {
                    hints.insert("sound-name", Variant::from("alarm-clock-elapsed"));
                }
                let minutes = settings.snooze.as_secs().div_ceil(60);
                let snooze = format!("Snooze {minutes} min");
                let actions = ["snooze", snooze.as_str(), "stop", "Stop"];
                // The text is the title, which no server takes for markup.
                let notify = self.proxy.notify(
                    "Tiro",
                    replaces,
                    "alarm-symbolic",
                    &text,
                    "",
                    &actions,
                    hints,
                    UNTIL_CLOSED,
                );
                let id = notify.await?;
                self.shown.insert(id, key);
            }
            Command::Notice { text, icon, expires } => {
                // What went wrong may quote names that others chose; the title is taken for no markup.
                let hints = HashMap::from([("urgency", Variant::from(1_u8))]);
                self.proxy
                    .notify("Tiro", 0, icon, &text, "", &[], hints, expires)
                    .await?;
            }
            Command::Close { key } => {
                if let Some(id) = id_of(&self.shown, &key) {
                    self.shown.remove(&id);
                    self.proxy.close_notification(id).await?;
                }
            }
        }
        Ok(())
    }
}
