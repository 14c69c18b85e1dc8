//! The status icon: `org.kde.StatusNotifierItem` on the session bus (the Status Notifier Item specification, as KDE, GNOME's
//! AppIndicator extension, Waybar and other bars read it). Where no bar is there, nothing is shown and nothing is said.
//!
//! The bar is a program on the bus like any other, and so is whoever calls itself one: a name on the bus says nothing
//! about its owner, and where no bar is, a guest can have the bar's. So neither the watcher nor a host is trusted. Each
//! call is judged by its own caller: the answer is told, and a press counts, only where the caller reaches Tiro's socket
//! (`program.rs`) and could do the same there. Everybody else sees what every guest may know, that is the state, and
//! signals carry no words. A bar in a sandbox, if there is one, shows the icon and cannot use it.

use std::{
    path::PathBuf,
    sync::{
        Arc,
        atomic::{AtomicU32, Ordering},
    },
    time::Duration,
};

use futures_util::{FutureExt as _, StreamExt as _, future::BoxFuture};
use tokio::sync::{mpsc, oneshot, watch};
use zbus::{
    Connection, ObjectPath,
    connection::Builder,
    fdo::{self, DBusProxy},
    interface,
    message::Header,
    names::BusName,
    object_server::SignalEmitter,
};

use super::{
    menu::{self, Menu},
    picture::{Picture, pictures},
    program::{self, Reach},
};
use crate::{
    reply::{State, state_words},
    run::{Action, Event, Look, Push},
};

/// Where the item is; the only path at which every bar looks.
const PATH: &str = "/StatusNotifierItem";
/// Who brings items and bars together.
pub const WATCHER: &str = "org.kde.StatusNotifierWatcher";
/// How long that one has to answer.
const PATIENCE: Duration = Duration::from_secs(5);

/// What the icon of a daemon is called on the bus, as the specification has it.
pub fn icon_name_of(pid: u32) -> String {
    format!("org.kde.StatusNotifierItem-{pid}-1")
}

/// What the icon stands on.
#[derive(Clone)]
pub struct Icon {
    look: watch::Receiver<Look>,
    events: mpsc::Sender<Event>,
    /// Tiro's socket; who has it before it may press.
    socket: PathBuf,
    /// Counts the menus.
    revision: Arc<AtomicU32>,
}

/// What can be pressed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Press {
    /// Begin to listen, or end it.
    Listen,
    /// Mute the microphone, or open it again.
    Mute,
    /// Stop what goes on.
    Cancel,
    /// End the daemon.
    Quit,
}

impl Icon {
    /// An icon of the daemon that looks so; what is pressed is one event to its loop.
    pub fn new(look: watch::Receiver<Look>, events: mpsc::Sender<Event>, socket: PathBuf) -> Icon {
        Icon {
            look,
            events,
            socket,
            revision: Arc::default(),
        }
    }

    /// Puts it on a connection that is being made.
    pub(super) fn serve_on<'a>(&self, builder: Builder<'a>) -> Builder<'a> {
        builder
            .serve_at(PATH, Item(self.clone()))
            .serve_at(menu::PATH, Menu(self.clone()))
    }

    /// Tells bars that it is there, and how it looks, as long as the connection lasts.
    pub(super) async fn show(&self, connection: &Connection) {
        if let Err(error) = self.follow(connection).await {
            tracing::debug!(%error, "no status icon");
        }
        std::future::pending().await
    }

    async fn follow(&self, connection: &Connection) -> zbus::Result<()> {
        let name = icon_name_of(std::process::id());
        connection.request_name(name.as_str()).await?;
        let bus = DBusProxy::new(connection).await?;
        // Before it is asked for, so that none comes unseen in between.
        let mut watchers = bus.receive_name_owner_changed_with_args(&[(0, WATCHER)]).await?;
        let mut registering: BoxFuture<'_, ()> = register(&bus, &name).boxed();
        let mut registered = false;
        let mut look = self.look.clone();
        let mut shown = look.borrow_and_update().clone();
        loop {
            tokio::select! {
                () = &mut registering, if !registered => registered = true,
                change = watchers.next() => {
                    change.ok_or_else(|| zbus::Error::Failure("the bus went away".to_owned()))?;
                    (registering, registered) = (register(&bus, &name).boxed(), false);
                }
                changed = look.changed() => {
                    // A daemon that ends takes its icon along.
                    let Ok(()) = changed else { return Ok(()) };
                    let now = look.borrow_and_update().clone();
                    self.tell(connection, &shown, &now).await?;
                    shown = now;
                }
            }
        }
    }

    /// Signals what is new, without any words.
    async fn tell(&self, connection: &Connection, before: &Look, now: &Look) -> zbus::Result<()> {
        let emitter = &SignalEmitter::new(connection, PATH)?;
        if icon_name(before) != icon_name(now) {
            Item::new_icon(emitter).await?;
        }
        if status(before) != status(now) {
            Item::new_status(emitter, status(now)).await?;
        }
        if headline(before) != headline(now) || before.answer != now.answer {
            Item::new_tool_tip(emitter).await?;
        }
        if menu::rows(before, true) != menu::rows(now, true) {
            let revision = self.revision.fetch_add(1, Ordering::Relaxed) + 1;
            menu::changed(connection, revision).await?;
        }
        Ok(())
    }

    /// How the daemon is now.
    pub(super) fn look(&self) -> Look {
        self.look.borrow().clone()
    }

    /// The number of the menu as it is now.
    pub(super) fn revision(&self) -> u32 {
        self.revision.load(Ordering::Relaxed)
    }

    /// Whether the caller may read answers and press.
    pub(super) async fn is_near(&self, header: &Header<'_>, connection: &Connection) -> bool {
        match (header.sender(), DBusProxy::new(connection).await) {
            (Some(sender), Ok(bus)) => program::reaches(&bus, sender, &self.socket).await == Reach::Yes,
            _ => false,
        }
    }

    /// Does what was pressed, if the caller may.
    pub(super) async fn press(
        &self,
        press: Press,
        header: &Header<'_>,
        connection: &Connection,
    ) -> fdo::Result<()> {
        if !self.is_near(header, connection).await {
            tracing::info!("a program that does not reach Tiro's socket pressed its status icon");
            return Err(fdo::Error::AccessDenied(
                "only programs that reach Tiro's socket may press its icon".to_owned(),
            ));
        }
        let push = |action| {
            // Nobody waits for the answer, and the signals go to those who listen for them.
            let (tell, _) = oneshot::channel();
            Event::Push(Box::new(Push {
                action,
                client: 0,
                connection: None,
                tell,
            }))
        };
        let event = match press {
            Press::Listen => push(Action::Toggle),
            Press::Mute if self.look().muted => push(Action::Unmute),
            Press::Mute => push(Action::Mute),
            Press::Cancel => push(Action::Cancel),
            Press::Quit => Event::Stop,
        };
        let stopping = |_| fdo::Error::Failed("the daemon is stopping".to_owned());
        self.events.send(event).await.map_err(stopping)
    }
}

/// Tells the watcher of the item, if there is one; it is not started for that.
async fn register(bus: &DBusProxy<'_>, name: &str) {
    let telling = async {
        let watcher = BusName::try_from(WATCHER)?;
        if !bus.name_has_owner(watcher.clone()).await? {
            return zbus::Result::Ok(());
        }
        let call = bus.inner().connection().call_method(
            Some(watcher),
            "/StatusNotifierWatcher",
            Some(WATCHER),
            "RegisterStatusNotifierItem",
            &name,
        );
        call.await.map(drop)
    };
    match tokio::time::timeout(PATIENCE, telling).await {
        Ok(Ok(())) => {}
        Ok(Err(error)) => tracing::debug!(%error, "the status icon is not shown"),
        Err(_) => tracing::debug!("the status icon is not shown: the bar does not answer"),
    }
}

/// The icon from the names that themes have (Icon Naming Specification, and what Adwaita and Breeze add to it).
fn icon_name(look: &Look) -> &'static str {
    match look.state {
        State::Listening => "media-record-symbolic",
        _ if look.asks => "dialog-question-symbolic",
        State::Confirming => "dialog-question-symbolic",
        State::Transcribing | State::Thinking => "emblem-synchronizing-symbolic",
        State::Acting => "system-run-symbolic",
        State::Speaking => "audio-speakers-symbolic",
        State::Muted => "microphone-sensitivity-muted-symbolic",
        State::Idle if look.problem => "dialog-warning-symbolic",
        State::Idle => "audio-input-microphone-symbolic",
    }
}

fn status(look: &Look) -> &'static str {
    match look.asks {
        true => "NeedsAttention",
        false => "Active",
    }
}

/// What goes on, as a sentence.
pub(super) fn headline(look: &Look) -> String {
    match look.state {
        State::Idle if look.problem => "Something is wrong; `tiro status` tells what.".to_owned(),
        state => state_words(state.name()),
    }
}

/// The item.
struct Item(Icon);

#[interface(name = "org.kde.StatusNotifierItem")]
impl Item {
    /// A click.
    async fn activate(
        &self,
        _x: i32,
        _y: i32,
        #[zbus(header)] header: Header<'_>,
        #[zbus(connection)] connection: &Connection,
    ) -> fdo::Result<()> {
        self.0.press(Press::Listen, &header, connection).await
    }

    #[zbus(property(emits_changed_signal = "const"))]
    fn category(&self) -> &str {
        "ApplicationStatus"
    }

    #[zbus(property(emits_changed_signal = "const"))]
    fn id(&self) -> &str {
        "tiro"
    }

    #[zbus(property(emits_changed_signal = "const"))]
    fn title(&self) -> &str {
        "Tiro"
    }

    #[zbus(property(emits_changed_signal = "false"))]
    fn status(&self) -> &str {
        status(&self.0.look())
    }

    #[zbus(property(emits_changed_signal = "const"))]
    fn window_id(&self) -> i32 {
        0
    }

    #[zbus(property(emits_changed_signal = "false"))]
    fn icon_name(&self) -> &str {
        icon_name(&self.0.look())
    }

    #[zbus(property(emits_changed_signal = "false"))]
    fn icon_pixmap(&self) -> Vec<Picture> {
        let look = self.0.look();
        pictures(look.state, look.problem)
    }

    #[zbus(property(emits_changed_signal = "const"))]
    fn overlay_icon_name(&self) -> &str {
        ""
    }

    #[zbus(property(emits_changed_signal = "const"))]
    fn overlay_icon_pixmap(&self) -> Vec<Picture> {
        Vec::new()
    }

    #[zbus(property(emits_changed_signal = "const"))]
    fn attention_icon_name(&self) -> &str {
        "dialog-question-symbolic"
    }

    #[zbus(property(emits_changed_signal = "const"))]
    fn attention_icon_pixmap(&self) -> Vec<Picture> {
        pictures(State::Confirming, false)
    }

    #[zbus(property(emits_changed_signal = "const"))]
    fn attention_movie_name(&self) -> &str {
        ""
    }

    #[zbus(property(emits_changed_signal = "const"))]
    fn icon_theme_path(&self) -> &str {
        ""
    }

    /// What goes on, and the last answer, in which no bar finds markup.
    #[zbus(property(emits_changed_signal = "false"))]
    async fn tool_tip(
        &self,
        #[zbus(header)] header: Option<Header<'_>>,
        #[zbus(connection)] connection: &Connection,
    ) -> (String, Vec<Picture>, String, String) {
        let look = self.0.look();
        let near = match &header {
            Some(header) => self.0.is_near(header, connection).await,
            None => false,
        };
        let answer = if near {
            crate::reply::escape(&look.answer)
        } else {
            String::new()
        };
        (String::new(), Vec::new(), headline(&look), answer)
    }

    /// A click listens; the menu is for the other button.
    #[zbus(property(emits_changed_signal = "const"))]
    fn item_is_menu(&self) -> bool {
        false
    }

    #[zbus(property(emits_changed_signal = "const"))]
    fn menu(&self) -> fdo::Result<ObjectPath<'_>> {
        ObjectPath::try_from(menu::PATH).map_err(|error| fdo::Error::Failed(error.to_string()))
    }

    #[zbus(signal)]
    async fn new_icon(emitter: &SignalEmitter<'_>) -> zbus::Result<()>;

    #[zbus(signal)]
    async fn new_tool_tip(emitter: &SignalEmitter<'_>) -> zbus::Result<()>;

    #[zbus(signal)]
    async fn new_status(emitter: &SignalEmitter<'_>, status: &str) -> zbus::Result<()>;
}
