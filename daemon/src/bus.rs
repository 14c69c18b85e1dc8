//! `org.tiro.Tiro1`, served peer to peer on the daemon's socket and on the session bus; only the same user may call.
//!
//! The interface is the one of DESIGN section 6. What it does is one event to the loop in `run.rs`.

mod icon;
mod menu;
mod picture;
pub mod program;
mod session;

use std::{
    collections::HashMap,
    fs::{File, TryLockError},
    path::{Path, PathBuf},
    sync::atomic::{AtomicU64, Ordering},
    time::Duration,
};

use anyhow::Context as _;
pub use icon::{Icon, WATCHER, icon_name_of};
pub use session::{NAME, attend, is_on, owner};
use tokio::{
    net::{UnixListener, UnixStream},
    sync::{mpsc, oneshot},
    task::JoinSet,
};
use zbus::{
    Connection, OwnedVariant, Variant, connection, fdo, interface, message::Header, names::OwnedUniqueName,
    object_server::SignalEmitter,
};

use crate::{
    act::finish_writes,
    reply::{self, Confirmation, Happening},
    run::{Action, Asking, Errand, Event, Push},
};

/// Object path of the interface.
pub const PATH: &str = "/org/tiro/Tiro1";

/// Version of the interface. Methods, signals and options are added within one version, never changed or taken away.
pub const VERSION: u32 = 1;

/// Longest text or path that a request may carry.
pub const MAX_TEXT: usize = 16 * 1024;

/// Longest text that is said aloud: more than anybody listens to.
pub const MAX_SAID: usize = 1 << 20;

/// Said where there is more.
pub const TOO_LONG: &str = "There is more than 1 MiB of text. Say less.";

/// How long a connecting client has for the handshake.
const HANDSHAKE: Duration = Duration::from_secs(5);

/// At most this many clients at once on the socket, and as many on the bus; a status line, a terminal or two and a key
/// binding are four.
const MAX_CLIENTS: usize = 32;

/// Where a client's signals go.
#[derive(Debug, Clone)]
pub struct Client {
    connection: Connection,
    /// Its name on a bus that others are on, too.
    name: Option<OwnedUniqueName>,
}

/// A client that calls.
struct Caller {
    /// Which client; counts up over the socket and the bus.
    id: u64,
    client: Client,
    /// What it is called, if it does not stand for the person. Who reached the socket does, and has the person's own files
    /// before it. On the bus there are also programs that are kept away from those. They may ask, but consent to nothing,
    /// take nothing back, name no file and open no microphone.
    guest: Option<String>,
}

impl Caller {
    /// Refuses what only the person may do.
    fn for_the_person(self, what: &str) -> fdo::Result<Caller> {
        match self.guest {
            None => Ok(self),
            Some(_) => Err(fdo::Error::AccessDenied(format!(
                "{what} is not for programs on the session bus; use Tiro's socket, as the program `tiro` does"
            ))),
        }
    }
}

/// Who can call over a connection.
enum Callers {
    /// The client whose socket it is.
    One(u64),
    /// Everybody on the bus.
    Many(session::Guests),
}

/// The daemon's side of a connection.
struct Tiro1 {
    events: mpsc::Sender<Event>,
    callers: Callers,
}

#[interface(
    name = "org.tiro.Tiro1",
    proxy(
        default_path = "/org/tiro/Tiro1",
        default_service = "org.tiro.Tiro1",
        visibility = "pub"
    )
)]
impl Tiro1 {
    /// Runs one turn. Options: `notify` (b, questions, the answer and a way to undo are shown on the desktop), and on the
    /// socket only `wav` (s, path of a recording instead of the text), `yes` (b, confirm everything), `interactive` (b, the
    /// client shows questions and answers them) and `now` (s, pins the clock of this turn). Without `interactive` and
    /// `notify` a question ends the turn. Returns the report of the turn as JSON.
    async fn ask(
        &self,
        text: String,
        options: HashMap<String, OwnedVariant>,
        #[zbus(header)] header: Header<'_>,
        #[zbus(connection)] connection: &Connection,
    ) -> fdo::Result<String> {
        let caller = self.caller(&header, connection).await?;
        if text.len() > MAX_TEXT {
            return Err(fdo::Error::LimitsExceeded(format!(
                "the text has more than {MAX_TEXT} bytes"
            )));
        }
        let (asking, answer) = self.asking(text, options, caller)?;
        self.send(Event::Ask(Box::new(asking))).await?;
        match answer.await {
            Ok(report) => report.map_err(fdo::Error::Failed),
            Err(_) => Err(fdo::Error::Failed("the turn was cancelled".to_owned())),
        }
    }

    /// Push to talk: `start`, `stop`, `toggle` or `cancel`, and `mute` or `unmute` for the microphone; on the socket only.
    /// Returns at once with the state that this leads to, which is `muted` when it cannot be opened for that reason. Signals of the turn go to the caller while it is there; the turn goes on without it.
    async fn listen(
        &self,
        action: &str,
        #[zbus(header)] header: Header<'_>,
        #[zbus(connection)] connection: &Connection,
    ) -> fdo::Result<String> {
        let caller = self.caller(&header, connection).await?.for_the_person("Listen")?;
        let action = Action::named(action).ok_or_else(|| {
            fdo::Error::InvalidArgs("Listen takes start, stop, toggle, cancel, mute or unmute".to_owned())
        })?;
        let (tell, told) = oneshot::channel();
        let push = Push {
            action,
            client: caller.id,
            connection: Some(caller.client),
            tell,
        };
        self.send(Event::Push(Box::new(push))).await?;
        let state = told.await.map_err(|_| stopping())?;
        Ok(state.name().to_owned())
    }

    /// Says a text aloud as soon as nothing else is said and nobody is listened to; on the socket only. Returns when it has
    /// been said. `Cancel` stops it, and so does opening the microphone, or that the caller leaves.
    async fn say(
        &self,
        text: String,
        #[zbus(header)] header: Header<'_>,
        #[zbus(connection)] connection: &Connection,
    ) -> fdo::Result<()> {
        let caller = self.caller(&header, connection).await?.for_the_person("Say")?;
        if text.len() > MAX_SAID {
            return Err(fdo::Error::LimitsExceeded(TOO_LONG.to_owned()));
        }
        let (tell, said) = oneshot::channel();
        let client = caller.id;
        self.send(Event::Errand(Box::new(Errand { text, client, tell })))
            .await?;
        let stopped = || fdo::Error::Failed("I was stopped before I had said all of it.".to_owned());
        said.await.map_err(|_| stopped())?.map_err(fdo::Error::Failed)
    }

    /// Withdraws the caller's own requests, waiting or running; a caller on the socket without any stops the turn that is
    /// running, or the listening. Returns whether a write had begun; it is finished by then.
    async fn cancel(
        &self,
        #[zbus(header)] header: Header<'_>,
        #[zbus(connection)] connection: &Connection,
    ) -> fdo::Result<bool> {
        let Caller { id, guest, .. } = self.caller(&header, connection).await?;
        let (done, cancelled) = oneshot::channel();
        self.send(Event::Cancel {
            client: id,
            any: guest.is_none(),
            done,
        })
        .await?;
        // Fails when nothing was running or the daemon is stopping, and then nothing begins any more either.
        let _ = cancelled.await;
        Ok(finish_writes().await)
    }

    /// Answers the question with this id, and returns whether it was the open one; on the socket only. Whoever asked for
    /// the turn, nothing but the id of the question that is open counts.
    async fn confirm(
        &self,
        id: u64,
        yes: bool,
        #[zbus(header)] header: Header<'_>,
        #[zbus(connection)] connection: &Connection,
    ) -> fdo::Result<bool> {
        self.caller(&header, connection)
            .await?
            .for_the_person("Confirm")?;
        let answer = match yes {
            true => Confirmation::Yes,
            false => Confirmation::No,
        };
        let (done, counted) = oneshot::channel();
        self.send(Event::Confirm { id, answer, done }).await?;
        Ok(counted.await.unwrap_or(false))
    }

    /// The same in words: "yes", "no", "wait", or what should be different ("change it to friday"); on the socket only.
    /// Whatever means none of these means no.
    async fn answer(
        &self,
        id: u64,
        text: String,
        #[zbus(header)] header: Header<'_>,
        #[zbus(connection)] connection: &Connection,
    ) -> fdo::Result<bool> {
        self.caller(&header, connection).await?.for_the_person("Answer")?;
        let said = Some(text).filter(|text| text.len() <= MAX_TEXT);
        let answer = said
            .and_then(|text| reply::answer(&text))
            .unwrap_or(Confirmation::No);
        let (done, counted) = oneshot::channel();
        self.send(Event::Confirm { id, answer, done }).await?;
        Ok(counted.await.unwrap_or(false))
    }

    /// The question that is open as JSON, `{"id", "question": {"tool", "action", "because"}}`, or `null`; on the socket
    /// only.
    async fn question(
        &self,
        #[zbus(header)] header: Header<'_>,
        #[zbus(connection)] connection: &Connection,
    ) -> fdo::Result<String> {
        self.caller(&header, connection)
            .await?
            .for_the_person("Question")?;
        self.told(Event::Question).await
    }

    /// Takes the last change back, and returns the sentence that says which it was; on the socket only.
    async fn undo(
        &self,
        #[zbus(header)] header: Header<'_>,
        #[zbus(connection)] connection: &Connection,
    ) -> fdo::Result<String> {
        self.caller(&header, connection).await?.for_the_person("Undo")?;
        self.told(Event::Undo).await?.map_err(fdo::Error::Failed)
    }

    /// Forgets the conversation; on the socket only.
    async fn forget(
        &self,
        #[zbus(header)] header: Header<'_>,
        #[zbus(connection)] connection: &Connection,
    ) -> fdo::Result<()> {
        self.caller(&header, connection).await?.for_the_person("Forget")?;
        self.send(Event::Forget).await
    }

    /// The state of the daemon as JSON, in the shape of `tiro status --json`.
    async fn status(
        &self,
        #[zbus(header)] header: Header<'_>,
        #[zbus(connection)] connection: &Connection,
    ) -> fdo::Result<String> {
        self.caller(&header, connection).await?;
        self.told(Event::Status).await
    }

    /// What the engines run on as JSON, in the shape of `status::Loaded`; they are loaded for it. On the socket only.
    async fn engines(
        &self,
        #[zbus(header)] header: Header<'_>,
        #[zbus(connection)] connection: &Connection,
    ) -> fdo::Result<String> {
        self.caller(&header, connection)
            .await?
            .for_the_person("Engines")?;
        self.told(Event::Engines).await
    }

    /// The tools as JSON, in the shape of `tiro tools --json`; on the socket only, because the model is loaded to count.
    async fn tools(
        &self,
        eager: bool,
        #[zbus(header)] header: Header<'_>,
        #[zbus(connection)] connection: &Connection,
    ) -> fdo::Result<String> {
        self.caller(&header, connection).await?.for_the_person("Tools")?;
        let listed = self.told(|tell| Event::Tools { eager, tell }).await?;
        listed.map_err(fdo::Error::Failed)
    }

    /// Version of this interface.
    #[zbus(property(emits_changed_signal = "const"))]
    async fn version(&self) -> u32 {
        VERSION
    }

    /// The turn entered a state. `detail` is the happening as JSON, in the shape of `reply::Happening`. The client that
    /// asked gets everything that happens in its turn; every other client gets the states, without any words.
    #[zbus(signal)]
    async fn state_changed(emitter: &SignalEmitter<'_>, state: &str, detail: &str) -> zbus::Result<()>;

    /// Speech became text.
    #[zbus(signal)]
    async fn heard(emitter: &SignalEmitter<'_>, text: &str, detail: &str) -> zbus::Result<()>;

    /// A tool is about to run.
    #[zbus(signal)]
    async fn acting(emitter: &SignalEmitter<'_>, tool: &str, detail: &str) -> zbus::Result<()>;

    /// The answer.
    #[zbus(signal)]
    async fn replied(emitter: &SignalEmitter<'_>, text: &str, detail: &str) -> zbus::Result<()>;

    /// A timer, an alarm, a reminder or an event rang. Every client gets it.
    #[zbus(signal)]
    async fn ringing(emitter: &SignalEmitter<'_>, text: &str, detail: &str) -> zbus::Result<()>;

    /// The daemon noticed something that the person should know. Every client gets it.
    #[zbus(signal)]
    async fn noticed(emitter: &SignalEmitter<'_>, text: &str, detail: &str) -> zbus::Result<()>;
}

impl Tiro1 {
    /// Who calls.
    async fn caller(&self, header: &Header<'_>, connection: &Connection) -> fdo::Result<Caller> {
        match &self.callers {
            Callers::One(client) => Ok(Caller {
                id: *client,
                client: Client::peer(connection.clone()),
                guest: None,
            }),
            Callers::Many(guests) => guests.caller(header, connection).await,
        }
    }

    async fn send(&self, event: Event) -> fdo::Result<()> {
        self.events.send(event).await.map_err(|_| stopping())
    }

    /// Sends the event that asks for something, and waits until it is told.
    async fn told<T>(&self, event: impl FnOnce(oneshot::Sender<T>) -> Event) -> fdo::Result<T> {
        let (tell, told) = oneshot::channel();
        self.send(event(tell)).await?;
        told.await.map_err(|_| stopping())
    }

    fn asking(
        &self,
        text: String,
        options: HashMap<String, OwnedVariant>,
        mut caller: Caller,
    ) -> fdo::Result<(Asking, oneshot::Receiver<Result<String, String>>)> {
        for key in options.keys().filter(|key| *key != "notify") {
            caller = caller.for_the_person(&format!("the option {key} of Ask"))?;
        }
        let (reply, answer) = oneshot::channel();
        let mut asking = Asking {
            text,
            wav: None,
            speech: None,
            yes: false,
            interactive: false,
            notify: false,
            now: None,
            client: caller.id,
            guest: caller.guest,
            connection: Some(caller.client),
            reply,
        };
        for (key, value) in options {
            match (key.as_str(), &*value) {
                ("wav", Variant::Str(path)) if path.len() <= MAX_TEXT => {
                    asking.wav = Some(path.as_str().into());
                }
                ("yes", Variant::Bool(yes)) => asking.yes = *yes,
                ("interactive", Variant::Bool(interactive)) => asking.interactive = *interactive,
                ("notify", Variant::Bool(notify)) => asking.notify = *notify,
                ("now", Variant::Str(now)) if now.len() <= MAX_TEXT => {
                    asking.now = Some(now.as_str().to_owned());
                }
                _ => {
                    return Err(fdo::Error::InvalidArgs(format!(
                        "Ask has no option {key} of that type"
                    )));
                }
            }
        }
        Ok((asking, answer))
    }
}

fn stopping() -> fdo::Error {
    fdo::Error::Failed("the daemon is stopping".to_owned())
}

impl Client {
    /// The client on the other end of a socket.
    pub fn peer(connection: Connection) -> Client {
        Client {
            connection,
            name: None,
        }
    }

    /// To this client only, whoever else is on the bus.
    fn emitter(&self) -> zbus::Result<SignalEmitter<'_>> {
        let emitter = SignalEmitter::new(&self.connection, PATH)?;
        Ok(match &self.name {
            Some(name) => emitter.set_destination(name.as_ref().into()),
            None => emitter,
        })
    }
}

/// The number of a new client.
pub(crate) fn next_client() -> u64 {
    static LAST: AtomicU64 = AtomicU64::new(0);
    LAST.fetch_add(1, Ordering::Relaxed) + 1
}

/// Sends a happening to one client as the signal that it is.
pub async fn signal(client: &Client, happening: &Happening) {
    let sent = async {
        let emitter = &client.emitter()?;
        let detail = serde_json::to_string(happening).unwrap_or_default();
        match happening {
            Happening::Hearing { text } | Happening::Heard { text, .. } => {
                Tiro1::heard(emitter, text, &detail).await
            }
            Happening::Acting { tool, .. } => Tiro1::acting(emitter, tool, &detail).await,
            Happening::Rang { text, .. } => Tiro1::ringing(emitter, text, &detail).await,
            Happening::Noticed { text } => Tiro1::noticed(emitter, text, &detail).await,
            Happening::Replied { text } => Tiro1::replied(emitter, text, &detail).await,
            Happening::State { state } => Tiro1::state_changed(emitter, state.name(), &detail).await,
            Happening::Asked { .. } => Tiro1::state_changed(emitter, "confirming", &detail).await,
            Happening::Prepared { .. } | Happening::Generated { .. } => {
                Tiro1::state_changed(emitter, "thinking", &detail).await
            }
            Happening::Working { .. } | Happening::Did { .. } => {
                Tiro1::state_changed(emitter, "acting", &detail).await
            }
            Happening::Saying { .. } => Tiro1::state_changed(emitter, "speaking", &detail).await,
        }
    };
    // A client that left is no reason to end its turn: what it asked for is still done.
    if let Err(error) = sent.await {
        tracing::debug!(%error, "a signal reached nobody");
    }
}

/// The daemon's socket, and the lock that keeps a second daemon from it. Leaving takes the socket away.
pub struct Door {
    listener: UnixListener,
    socket: PathBuf,
    _lock: File,
}

impl Drop for Door {
    fn drop(&mut self) {
        // The next daemon would replace it, but a client should not try a socket that nobody answers.
        let _ = std::fs::remove_file(&self.socket);
    }
}

/// Takes the socket. A file that a dead daemon left is replaced; a living daemon is not, and of two that start at the same
/// moment one gets it.
///
/// # Errors
/// When another daemon is running, or the folder cannot be written.
pub async fn listen(socket: &Path) -> anyhow::Result<Door> {
    let path = socket.with_extension("lock");
    let lock = File::create(&path).with_context(|| format!("cannot write {}", path.display()))?;
    // The lock is the system's and ends with its process; where a file system has none the socket has to tell.
    let taken = matches!(lock.try_lock(), Err(TryLockError::WouldBlock));
    if taken || running(socket).await {
        anyhow::bail!("another tiro daemon is running on {}", socket.display());
    }
    match std::fs::remove_file(socket) {
        Err(error) if error.kind() != std::io::ErrorKind::NotFound => {
            return Err(error).with_context(|| format!("cannot replace the socket {}", socket.display()));
        }
        _ => {}
    }
    let listener =
        UnixListener::bind(socket).with_context(|| format!("cannot listen on {}", socket.display()))?;
    Ok(Door {
        listener,
        socket: socket.to_owned(),
        _lock: lock,
    })
}

/// Whether somebody listens on the socket.
pub async fn running(socket: &Path) -> bool {
    UnixStream::connect(socket).await.is_ok()
}

/// The happening in a signal; nothing in any other message.
pub fn happening(message: &zbus::Message) -> Option<Happening> {
    if message.message_type() != zbus::message::Type::Signal {
        return None;
    }
    let (_, detail): (String, String) = message.body().deserialize().ok()?;
    serde_json::from_str(&detail).ok()
}

/// Accepts clients until the task is dropped, and parts with them then.
pub async fn serve(door: Door, events: mpsc::Sender<Event>) {
    let clients = std::sync::Arc::new(tokio::sync::Semaphore::new(MAX_CLIENTS));
    let mut here = JoinSet::new();
    loop {
        while here.try_join_next().is_some() {}
        let stream = match door.listener.accept().await {
            Ok((stream, _)) => stream,
            Err(error) => {
                // Out of file descriptors, say: waiting is all that helps.
                tracing::warn!(%error, "a client could not connect");
                tokio::time::sleep(Duration::from_millis(100)).await;
                continue;
            }
        };
        let same_user = stream
            .peer_cred()
            .is_ok_and(|c| c.uid() == rustix::process::getuid().as_raw());
        let permit = std::sync::Arc::clone(&clients).try_acquire_owned();
        let (true, Ok(permit)) = (same_user, permit) else {
            tracing::warn!(same_user, "a client was turned away");
            continue;
        };
        let client = next_client();
        let tiro = Tiro1 {
            events: events.clone(),
            callers: Callers::One(client),
        };
        let events = events.clone();
        here.spawn(async move {
            match tokio::time::timeout(HANDSHAKE, connect(stream, tiro)).await {
                Ok(Ok(connection)) => {
                    let joined = Event::Joined {
                        client,
                        connection: Client::peer(connection.clone()),
                    };
                    // Fails only when the daemon is stopping.
                    let _ = events.send(joined).await;
                    connection.closed().await;
                    let _ = events.send(Event::Left { client }).await;
                }
                Ok(Err(error)) => tracing::debug!(%error, "a client did not finish the handshake"),
                Err(_) => tracing::debug!("a client was too slow in the handshake"),
            }
            drop(permit);
        });
    }
}

async fn connect(stream: UnixStream, tiro: Tiro1) -> anyhow::Result<Connection> {
    let stream = stream.into_std()?;
    Ok(connection::Builder::unix_stream(stream)
        .server(zbus::Guid::generate())
        .p2p()
        .serve_at(PATH, tiro)
        .build()
        .await?)
}

/// Connects to a running daemon; `None` when there is none.
pub async fn client(socket: &Path) -> anyhow::Result<Option<Connection>> {
    let Ok(stream) = UnixStream::connect(socket).await else {
        return Ok(None);
    };
    let build = connection::Builder::unix_stream(stream.into_std()?).p2p().build();
    let connection = tokio::time::timeout(HANDSHAKE, build)
        .await
        .context("the daemon does not answer")??;
    Ok(Some(connection))
}
