//! Locking, sleeping, restarting and shutting down, through logind. What a program holds up is not overridden.

use std::time::Duration;

use super::{
    Desk,
    bus::{At, Bus, On, Trouble},
    mac,
};
use crate::{contract::ToolError, system::plain};

const CALLED: &str = "The login service";
const MANAGER: At = At {
    name: "org.freedesktop.login1",
    path: "/org/freedesktop/login1",
    interface: "org.freedesktop.login1.Manager",
};
const SESSION: At = At {
    path: "/org/freedesktop/login1/session/auto",
    interface: "org.freedesktop.login1.Session",
    ..MANAGER
};
/// What locks the screen where no session of logind does: name, path and interface.
const SAVERS: [At; 2] = [
    At {
        name: "org.freedesktop.ScreenSaver",
        path: "/org/freedesktop/ScreenSaver",
        interface: "org.freedesktop.ScreenSaver",
    },
    At {
        name: "org.gnome.ScreenSaver",
        path: "/org/gnome/ScreenSaver",
        interface: "org.gnome.ScreenSaver",
    },
];
/// How long a screen may take to be locked.
const LOCKING: Duration = Duration::from_millis(1500);

/// What the machine can be made to do.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[expect(missing_docs, reason = "the words say it")]
pub enum Act {
    Sleep,
    Restart,
    ShutDown,
}

impl Act {
    /// As an infinitive: "restart".
    pub fn verb(self) -> &'static str {
        match self {
            Act::Sleep => "go to sleep",
            Act::Restart => "restart",
            Act::ShutDown => "shut down",
        }
    }

    /// Methods of logind that do it and that say whether it can be done, and the lock that holds it up.
    fn methods(self) -> (&'static str, &'static str, &'static str) {
        match self {
            Act::Sleep => ("Suspend", "CanSuspend", "sleep"),
            Act::Restart => ("Reboot", "CanReboot", "shutdown"),
            Act::ShutDown => ("PowerOff", "CanPowerOff", "shutdown"),
        }
    }
}

/// Whether it can be done now; changes nothing.
///
/// # Errors
/// `Tell` when the machine cannot, when that takes a password, and when a program holds it up: then it is named.
pub async fn check(desk: &Desk, act: Act) -> Result<(), ToolError> {
    if cfg!(target_os = "macos") {
        return Ok(());
    }
    let bus = open(desk).await?;
    let (_, can, lock) = act.methods();
    let can: String = bus.call(MANAGER, can, &()).await.map_err(fail)?;
    let verb = act.verb();
    match can.as_str() {
        "yes" => {}
        "challenge" => {
            return Err(ToolError::tell(format!(
                "This computer wants an administrator's password to {verb}, and I never give one."
            )));
        }
        "no" => {
            return Err(ToolError::tell(format!(
                "You are not allowed to make this computer {verb}."
            )));
        }
        _ => return Err(ToolError::tell(format!("This computer cannot {verb}."))),
    }
    let holding: Vec<Holding> = bus.call(MANAGER, "ListInhibitors", &()).await.map_err(fail)?;
    let blocking = holding
        .iter()
        .find(|(what, _, _, mode, _, _)| mode == "block" && what.split(':').any(|what| what == lock));
    match blocking {
        None => Ok(()),
        // Programs say there what they play or download.
        Some((_, who, why, ..)) => Err(ToolError::TellOthers(format!(
            "This computer cannot {verb} now: {} holds it up ({}).",
            plain::one_line(who, 60),
            plain::one_line(why, 100)
        ))),
    }
}

/// Does it. No password is ever asked for: logind is told not to.
///
/// # Errors
/// As [`check`].
pub async fn act(desk: &Desk, act: Act) -> Result<(), ToolError> {
    if cfg!(target_os = "macos") {
        return mac::power(desk, act).await;
    }
    check(desk, act).await?;
    let bus = open(desk).await?;
    match bus.call(MANAGER, act.methods().0, &(false,)).await {
        Ok(()) => Ok(()),
        // The answer may be lost in the very thing that was asked for.
        Err(Trouble::Silent | Trouble::Gone) => {
            tracing::info!("the login service went quiet");
            Ok(())
        }
        Err(Trouble::Refused { name, .. }) if name.ends_with("BlockedByInhibitorLock") => {
            Err(ToolError::tell(format!(
                "A program does not let this computer {} now.",
                act.verb()
            )))
        }
        Err(trouble) => Err(fail(trouble)),
    }
}

/// How locking went.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Locked {
    /// The session says that it is.
    Surely,
    /// It was asked for, and nothing says whether it happened.
    Asked,
}

/// Locks the screen of this session.
///
/// # Errors
/// `Tell` where nothing can.
pub async fn lock(desk: &Desk) -> Result<Locked, ToolError> {
    if cfg!(target_os = "macos") {
        return mac::lock(desk).await.map(|()| Locked::Asked);
    }
    let asked = match open(desk).await {
        Ok(bus) => match bus.call::<_, ()>(SESSION, "Lock", &()).await {
            Ok(()) if hinted(&bus).await => return Ok(Locked::Surely),
            other => other.map_err(fail),
        },
        Err(error) => Err(error),
    };
    // Many a desktop does not listen to logind, but has a service of its own.
    let session = Bus::open(desk, On::Session).await;
    if let Ok(session) = session {
        for saver in SAVERS {
            if session.has(saver.name).await == Ok(true)
                && session.call::<_, ()>(saver, "Lock", &()).await.is_ok()
            {
                return Ok(Locked::Surely);
            }
        }
    }
    asked.map(|()| Locked::Asked)
}

/// What there is, for `tiro doctor`.
pub async fn describe(desk: &Desk) -> Result<String, ToolError> {
    let bus = open(desk).await?;
    let mut can = Vec::new();
    for act in [Act::Sleep, Act::Restart, Act::ShutDown] {
        let answer: String = bus.call(MANAGER, act.methods().1, &()).await.map_err(fail)?;
        if answer == "yes" {
            can.push(act.verb().to_owned());
        }
    }
    match can.is_empty() {
        true => Err(ToolError::tell("I may neither put it to sleep nor shut it down.")),
        false => Ok(format!("I can make it {}.", plain::listed(&can, "and"))),
    }
}

/// What, who, why, how, and the numbers of user and process.
type Holding = (String, String, String, String, u32, u32);

fn fail(trouble: Trouble) -> ToolError {
    trouble.tell(CALLED)
}

async fn open(desk: &Desk) -> Result<Bus, ToolError> {
    Bus::open(desk, On::System).await.map_err(fail)
}

/// Whether the screen is locked; nothing when nobody can tell. That logind does not know of a lock says little: many a program
/// that locks tells nobody. So only a service of the desktop that is asked and says no is believed.
pub async fn is_locked(desk: &Desk) -> Option<bool> {
    if let Ok(system) = Bus::open(desk, On::System).await
        && system.get(SESSION, "LockedHint").await == Ok(true)
    {
        return Some(true);
    }
    let session = Bus::open(desk, On::Session).await.ok()?;
    let mut known = Vec::new();
    for saver in SAVERS {
        if session.has(saver.name).await != Ok(false) {
            known.push(match session.call::<_, bool>(saver, "GetActive", &()).await {
                // Many have the name for holding up the screen saver only, and know nothing of locks.
                Err(Trouble::Unknown) => continue,
                answer => answer.ok(),
            });
        }
    }
    if known.contains(&Some(true)) {
        return Some(true);
    }
    // One that does not answer may be the one that locked.
    (!known.is_empty() && !known.contains(&None)).then_some(false)
}

/// Whether the session says that it is locked, soon.
async fn hinted(bus: &Bus) -> bool {
    let began = tokio::time::Instant::now();
    while began.elapsed() < LOCKING {
        if bus.get(SESSION, "LockedHint").await == Ok(true) {
            return true;
        }
        tokio::time::sleep(Duration::from_millis(100)).await;
    }
    false
}
