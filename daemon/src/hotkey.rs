//! The key of push to talk, whatever window is in front: asked of the desktop's portal, else grabbed on the X server, else
//! taken from macOS.
//!
//! The portal comes first because it is the only way on Wayland, and where it is there the person chooses the key. Where
//! there is neither, a key can be bound to `tiro listen toggle` in the desktop's own settings; so it is said.

mod key;
#[cfg(any(target_os = "macos", test))]
mod mac;
mod portal;
mod x11;

use std::time::{Duration, Instant};

pub use key::{HOTKEY, Hotkey, Key};
#[cfg(target_os = "macos")]
pub use mac::{WORK, hold};
use portal::{No, Portal, Said};
use serde::{Deserialize, Serialize};
use tokio::sync::mpsc;
use x11::{Grab, Over, Said as Server};

use crate::run::Event;

/// Which key, and where it may be had.
#[derive(Debug, Clone)]
pub struct Settings {
    /// The key that is asked for.
    pub key: Key,
    /// Where the session bus is; nothing for that of this session.
    pub bus: Option<String>,
    /// The X display.
    pub display: Option<String>,
    /// Whether the desktop is a Wayland one, where an X server sees no key of other windows.
    pub wayland: bool,
    /// How long the portal has for each answer.
    pub patience: Duration,
    /// How long the person has to answer what the desktop asks them.
    pub asking: Duration,
    /// How often everything is tried again where there is no way.
    pub again: Duration,
}

/// What the key does to the daemon.
#[derive(Debug)]
pub enum Happened {
    /// It went down.
    Pressed,
    /// It came up after so long; so long that it was held, where nobody can tell.
    Released(Duration),
    /// It is reached in another way now.
    Reached(Reach),
}

/// How the key is reached.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Reach {
    /// Which way.
    pub way: Way,
    /// As sentences: which key, or why there is none.
    pub says: String,
}

/// Which way a key is reached.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Way {
    /// None is wanted.
    #[default]
    Off,
    /// The desktop's portal.
    Portal,
    /// A grab on the X server.
    X11,
    /// A hot key of macOS.
    Mac,
    /// One is wanted, and there is no way.
    None,
}

/// First pause before everything is tried again; each is twice as long as the one before.
const PAUSE: Duration = Duration::from_secs(1);
/// Longest pause.
const MAX_PAUSE: Duration = Duration::from_secs(60);

impl Settings {
    /// This key in the session of this process.
    pub fn here(key: Key) -> Settings {
        let named = |name| std::env::var(name).ok().filter(|value| !value.is_empty());
        Settings {
            key,
            bus: None,
            display: named("DISPLAY"),
            wayland: named("WAYLAND_DISPLAY").is_some(),
            patience: Duration::from_secs(10),
            asking: Duration::from_secs(120),
            again: MAX_PAUSE,
        }
    }
}

impl Reach {
    /// What is to be had where nobody looked for a key.
    pub fn off(says: &str) -> Reach {
        Reach {
            way: Way::Off,
            says: says.to_owned(),
        }
    }

    fn portal(key: &str) -> Reach {
        let says = match key {
            "" => "The desktop has not given Tiro a key yet; choose one in its keyboard settings.".to_owned(),
            key => format!("{key}, given by the desktop."),
        };
        let way = Way::Portal;
        Reach { way, says }
    }

    fn none(why: &[String]) -> Reach {
        let (way, says) = (Way::None, why.join(" ").trim().to_owned());
        Reach { way, says }
    }
}

/// Keeps the key and tells the daemon of it, until the task is dropped; the key is free then. Whatever goes away is waited
/// for, and when the portal comes later it is asked.
pub async fn attend(settings: Settings, events: mpsc::Sender<Event>) {
    let mut keeper = Keeper {
        settings,
        events,
        told: Reach::default(),
        asked: Asked::Not,
    };
    let mut pause = PAUSE;
    loop {
        let began = Instant::now();
        let at_once = keeper.round().await;
        // Whatever had the key, nobody would say any more that it came up.
        keeper.tell(Happened::Released(Duration::MAX)).await;
        if at_once {
            continue;
        }
        if began.elapsed() > MAX_PAUSE {
            pause = PAUSE;
        }
        tokio::time::sleep(pause).await;
        pause = (2 * pause).min(MAX_PAUSE);
    }
}

/// Which way a daemon would take now; no key is asked for and none is grabbed.
pub async fn would_be(settings: &Settings) -> Reach {
    let key = &settings.key;
    if cfg!(target_os = "macos") {
        let (way, says) = (
            Way::Mac,
            format!("{key}, taken from macOS when the daemon starts."),
        );
        return Reach { way, says };
    }
    let found = match Portal::connect(settings.bus.as_deref(), settings.patience).await {
        Ok(mut portal) => portal.find().await,
        Err(why) => Err(why),
    };
    let no_portal = match found {
        Ok(()) => {
            let (way, says) = (
                Way::Portal,
                format!("{key}, asked of the desktop when the daemon starts."),
            );
            return Reach { way, says };
        }
        Err(why) => why,
    };
    match no_x(settings) {
        Some(why) => Reach::none(&[no_portal, why]),
        None => match x11::is_there(settings.display.as_deref().unwrap_or_default()).await {
            Ok(()) => {
                let (way, says) = (
                    Way::X11,
                    format!("{key}, grabbed on the X server when the daemon starts."),
                );
                Reach { way, says }
            }
            Err(why) => Reach::none(&[no_portal, why]),
        },
    }
}

/// Why the X server is of no use.
fn no_x(settings: &Settings) -> Option<String> {
    if cfg!(target_os = "macos") {
        // The one of XQuartz sees only what is typed into its own windows.
        return Some(String::new());
    }
    match (&settings.display, settings.wayland) {
        (_, true) => Some("On Wayland no program can take a key by itself.".to_owned()),
        (None, false) => Some("There is no X display either.".to_owned()),
        (Some(_), false) => None,
    }
}

/// Whether the portal was asked.
enum Asked {
    Not,
    /// This one was, and gave no key, for this reason; another one can be asked.
    This(String, String),
    /// The person said no.
    Never(String),
}

struct Keeper {
    settings: Settings,
    events: mpsc::Sender<Event>,
    told: Reach,
    asked: Asked,
}

impl Keeper {
    /// Takes the first way that there is, until it is over. Whether it is to be taken again at once.
    async fn round(&mut self) -> bool {
        let mut portal = Portal::connect(self.settings.bus.as_deref(), self.settings.patience).await;
        let no_portal = match &mut portal {
            Ok(portal) => match self.ask(portal).await {
                Ok(()) => return false,
                Err(why) => why,
            },
            Err(why) => why.clone(),
        };
        let Settings {
            bus, patience, again, ..
        } = self.settings.clone();
        let never = matches!(self.asked, Asked::Never(_));
        let another = async {
            match portal {
                _ if never => std::future::pending().await,
                Ok(mut portal) => portal.another().await,
                // A session bus that came later.
                Err(_) => loop {
                    tokio::time::sleep(again).await;
                    if Portal::connect(bus.as_deref(), patience).await.is_ok() {
                        return;
                    }
                },
            }
        };
        let grab = match (no_x(&self.settings), &self.settings.display) {
            (None, Some(display)) => Grab::of(display, &self.settings.key).await,
            (why, _) => Err(why.unwrap_or_default()),
        };
        match grab {
            Ok(mut grab) => {
                let (way, says) = (
                    Way::X11,
                    format!("{}, grabbed on the X server.", self.settings.key),
                );
                self.reached(Reach { way, says }).await;
                tokio::select! {
                    over = self.serve(&mut grab) => match over {
                        Over::Changed => return true,
                        Over::Gone => self.reached(Reach::none(&["The X server went away.".to_owned()])).await,
                    },
                    () = another => {}
                }
            }
            Err(why) => {
                let why_not = match self.on_mac().await {
                    Ok(()) => return false,
                    Err(Some(no_mac)) => vec![no_mac],
                    Err(None) => vec![no_portal, why],
                };
                self.reached(Reach::none(&why_not)).await;
                let _ = tokio::time::timeout(again, another).await;
            }
        }
        false
    }

    /// Elsewhere there is no such key.
    #[cfg(not(target_os = "macos"))]
    async fn on_mac(&mut self) -> Result<(), Option<String>> {
        Err(None)
    }

    /// Takes the key from macOS, and has it until that is over.
    #[cfg(target_os = "macos")]
    async fn on_mac(&mut self) -> Result<(), Option<String>> {
        let program =
            std::env::current_exe().map_err(|error| format!("Tiro does not find itself ({error})."))?;
        let mut carbon = mac::Carbon::of(&program, &self.settings.key).await?;
        let (way, says) = (Way::Mac, format!("{}, taken from macOS.", self.settings.key));
        self.reached(Reach { way, says }).await;
        loop {
            match carbon.next().await {
                mac::Said::Pressed => self.tell(Happened::Pressed).await,
                mac::Said::Released(held) => self.tell(Happened::Released(held)).await,
                mac::Said::Over => break,
            }
        }
        self.reached(Reach::none(&["What had the key for Tiro has ended.".to_owned()]))
            .await;
        Ok(())
    }

    async fn serve(&self, grab: &mut Grab) -> Over {
        loop {
            match grab.next().await {
                Server::Pressed => self.tell(Happened::Pressed).await,
                Server::Released(held) => self.tell(Happened::Released(held)).await,
                Server::Over(over) => return over,
            }
        }
    }

    /// Asks the portal, unless it was asked, and has the key until that is over.
    async fn ask(&mut self, portal: &mut Portal) -> Result<(), String> {
        match &self.asked {
            Asked::Never(why) => return Err(why.clone()),
            Asked::This(owner, why) if *owner == portal.who().await?.as_str() => return Err(why.clone()),
            Asked::This(..) | Asked::Not => {}
        }
        portal.find().await?;
        // Until the person has answered what the desktop may ask them.
        let (way, says) = (
            Way::None,
            format!("The desktop is asked for {}.", self.settings.key),
        );
        self.reached(Reach { way, says }).await;
        let asked_now = |portal: &Portal, why: &String| match portal.owner() {
            Some(owner) => Asked::This(owner.to_string(), why.clone()),
            None => Asked::Not,
        };
        let bound = match portal.bind(&self.settings.key, self.settings.asking).await {
            Ok(bound) => bound,
            Err(No::Asked(why)) => {
                self.asked = asked_now(portal, &why);
                return Err(why);
            }
            Err(No::Refused(why)) => {
                self.asked = Asked::Never(why.clone());
                return Err(why);
            }
        };
        self.reached(Reach::portal(&bound.key)).await;
        let mut down = None::<Instant>;
        loop {
            match portal.next(&bound).await {
                Said::Pressed if down.is_none() => {
                    down = Some(Instant::now());
                    self.tell(Happened::Pressed).await;
                }
                Said::Released if let Some(since) = down.take() => {
                    self.tell(Happened::Released(since.elapsed())).await;
                }
                Said::Pressed | Said::Released => {}
                Said::Key(key) => self.reached(Reach::portal(&key)).await,
                Said::Over(why) => {
                    self.asked = asked_now(portal, &why);
                    self.reached(Reach::none(&[why])).await;
                    return Ok(());
                }
            }
        }
    }

    /// Says how the key is reached, when that is news.
    async fn reached(&mut self, reach: Reach) {
        if self.told != reach {
            tracing::info!(way = ?reach.way, "the key to talk: {}", reach.says);
            self.told = reach.clone();
            self.tell(Happened::Reached(reach)).await;
        }
    }

    /// Fails only when the daemon is stopping.
    async fn tell(&self, happened: Happened) {
        let _ = self.events.send(Event::Hotkey(happened)).await;
    }
}
