//! The desktop that tools act on: services on its buses, programs of it, and what its settings are.
//!
//! Nothing here reads the environment but [`Desk::here`], so a test has a desktop of its own beside those of other tests.
//! Every call has a time limit; a service that is absent, hangs, vanishes or answers nonsense is told in one sentence.

mod apps;
pub(crate) mod bus;
mod child;
pub(crate) mod mac;
pub mod outside;
mod scopes;
pub mod battery;
pub mod bluetooth;
pub mod brightness;
pub mod disks;
pub mod level;
pub mod music;
pub mod notices;
pub mod players;
pub mod power;
pub mod profiles;
pub mod quiet;
pub mod scheme;
pub mod screenshot;
pub mod settings;
pub mod sound;
pub mod wifi;

#[cfg(test)]
pub mod testing;
#[cfg(test)]
mod tests;

use std::{
    ffi::OsString,
    path::PathBuf,
    sync::{Arc, Mutex},
    time::Duration,
};

use futures_util::future::{BoxFuture, join_all};

pub use apps::ask_to_quit;
pub use scopes::{adopt, escaped as unit_name};

use crate::contract::{Dirs, ToolError};

/// How long a service has for one answer.
pub const PATIENCE: Duration = Duration::from_secs(3);

/// Where the desktop is. Cheap enough to clone for every call.
#[derive(Debug, Clone)]
pub struct Desk {
    /// Address of the session bus; the one that the environment names when there is none here.
    pub session: Option<String>,
    /// Address of the system bus; the usual one when there is none here.
    pub system: Option<String>,
    /// Where programs are looked for, as `PATH`.
    pub path: OsString,
    /// Variables for programs that are started, over those of this process.
    pub env: Vec<(String, String)>,
    /// Where `sys` and `proc` are: `/`.
    pub root: PathBuf,
    /// How long a service has for one answer.
    pub patience: Duration,
    /// Whether Tiro is held so that the service manager starts what is the person's ([`outside`]).
    pub held: bool,
    /// The media player that was used last; shared by all clones.
    pub used: Arc<Mutex<Option<String>>>,
}

impl Desk {
    /// The desktop of this session.
    pub fn here() -> Desk {
        Desk {
            session: None,
            system: None,
            path: std::env::var_os("PATH").unwrap_or_default(),
            env: Vec::new(),
            root: PathBuf::from("/"),
            patience: PATIENCE,
            held: outside::is_held(),
            used: Arc::default(),
        }
    }

    /// A machine without any desktop: nothing of it can be reached, so nothing of it can be changed.
    pub fn nowhere() -> Desk {
        Desk {
            session: Some(NOWHERE.to_owned()),
            system: Some(NOWHERE.to_owned()),
            path: OsString::new(),
            env: Vec::new(),
            root: PathBuf::from("/nonexistent"),
            patience: PATIENCE,
            held: false,
            used: Arc::default(),
        }
    }

    /// The value of a variable, as a program that is started would see it.
    fn var(&self, name: &str) -> Option<String> {
        let set = self.env.iter().find(|(known, _)| known == name);
        let value = match set {
            Some((_, value)) => Some(value.clone()),
            // A desktop that is nowhere has no variables either.
            None if self.path.is_empty() => None,
            None => std::env::var(name).ok(),
        };
        value.filter(|value| !value.is_empty())
    }

    /// The program of this name, where it is installed.
    fn program(&self, name: &str) -> Option<PathBuf> {
        std::env::split_paths(&self.path)
            .map(|folder| folder.join(name))
            .find(|path| super::apps::executable(path))
    }
}

/// An address where no bus is.
const NOWHERE: &str = "unix:path=/nonexistent/bus";

/// One thing that a desktop may or may not have.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Capability {
    /// What it is for: "wifi".
    pub name: &'static str,
    /// What there is, or what is missing; a sentence either way.
    pub state: Result<String, String>,
}

/// What this desktop has, for `tiro doctor`. Takes no longer than the slowest service is waited for.
pub async fn capabilities(desk: &Desk, dirs: &Dirs) -> Vec<Capability> {
    type Check<'a> = (&'static str, BoxFuture<'a, Result<String, ToolError>>);
    let checks: Vec<Check> = vec![
        ("sound", Box::pin(sound::describe(desk))),
        ("media players", Box::pin(players::describe(desk))),
        ("music folder", Box::pin(music::describe(desk, dirs))),
        ("battery", Box::pin(battery::describe(desk))),
        ("brightness", Box::pin(brightness::describe(desk))),
        ("wifi", Box::pin(wifi::describe(desk))),
        ("bluetooth", Box::pin(bluetooth::describe(desk))),
        ("dark mode", Box::pin(scheme::describe(desk))),
        ("notifications", Box::pin(notices::describe(desk))),
        ("do not disturb", Box::pin(quiet::describe(desk))),
        ("power", Box::pin(power::describe(desk))),
        ("power profile", Box::pin(profiles::describe(desk))),
        ("screenshot", Box::pin(screenshot::describe(desk))),
        ("own scope for apps", Box::pin(scopes::describe(desk))),
    ];
    let all = checks.into_iter().map(|(name, check)| async move {
        let state = match tokio::time::timeout(4 * desk.patience, check).await {
            Ok(state) => state.map_err(|e| e.to_string()),
            Err(_) => Err("It does not answer.".to_owned()),
        };
        Capability { name, state }
    });
    join_all(all).await
}

/// Waits for something of the desktop where nothing can be awaited: previews and undoing are no tasks. It runs on a
/// thread of its own, so this may be called from anywhere, and ends after `limit` at the latest.
///
/// # Errors
/// Those of the work; `Tell` when time is up.
pub fn wait<T: Send>(
    limit: Duration,
    work: impl Future<Output = Result<T, ToolError>> + Send,
) -> Result<T, ToolError> {
    let run = || {
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .build()
            .map_err(|e| ToolError::broken("reach the desktop", e))?;
        runtime.block_on(async {
            tokio::time::timeout(limit, work)
                .await
                .unwrap_or_else(|_| Err(ToolError::tell("The desktop does not answer.")))
        })
    };
    std::thread::scope(|scope| {
        scope
            .spawn(run)
            .join()
            .unwrap_or_else(|_| Err(ToolError::broken("reach the desktop", "a panic")))
    })
}
