//! What the daemon tells the service manager that started it (sd_notify(3)): ready, alive, stopping. Without one nothing
//! is told.

use std::{
    env, ffi::OsStr, os::unix::ffi::OsStrExt as _, os::unix::net::SocketAddr, os::unix::net::UnixDatagram,
    time::Duration,
};

use tokio::sync::{mpsc, oneshot};

use crate::run::Event;

/// The way to the service manager.
#[derive(Debug)]
pub struct Supervisor {
    there: Option<(UnixDatagram, SocketAddr)>,
    /// How often it wants to hear that we live.
    watchdog: Option<Duration>,
}

impl Supervisor {
    /// As the environment of this process says.
    pub fn from_env() -> Supervisor {
        let text = |name: &str| env::var(name).ok();
        // The variables of somebody else's service may have been passed on to us.
        let ours = text("WATCHDOG_PID").is_none_or(|pid| pid == std::process::id().to_string());
        let watchdog = text("WATCHDOG_USEC")
            .filter(|_| ours)
            .and_then(|usec| usec.parse().ok());
        Supervisor::at(
            env::var_os("NOTIFY_SOCKET").as_deref(),
            watchdog.map(Duration::from_micros),
        )
    }

    /// At this socket: a path, or a name in the abstract name space after an `@`.
    pub fn at(socket: Option<&OsStr>, watchdog: Option<Duration>) -> Supervisor {
        let there = socket.filter(|name| !name.is_empty()).and_then(|name| {
            let socket = UnixDatagram::unbound().ok()?;
            // A manager that does not read holds up nothing.
            socket.set_nonblocking(true).ok()?;
            Some((socket, address(name.as_bytes())?))
        });
        Supervisor {
            there,
            watchdog: watchdog.filter(|every| !every.is_zero()),
        }
    }

    /// Requests can come.
    pub fn ready(&self) {
        self.tell("READY=1");
    }

    /// The end has begun.
    pub fn stopping(&self) {
        self.tell("STOPPING=1");
    }

    /// Says twice in each period that the loop lives, as long as it answers.
    pub async fn watch(&self, events: mpsc::Sender<Event>) {
        let Some(every) = self.watchdog.filter(|_| self.there.is_some()) else {
            return;
        };
        let every = every / 2;
        loop {
            tokio::time::sleep(every).await;
            let (tell, told) = oneshot::channel();
            let asked = async {
                events.send(Event::Status(tell)).await.ok()?;
                told.await.ok()
            };
            if let Ok(Some(_)) = tokio::time::timeout(every, asked).await {
                self.tell("WATCHDOG=1");
            }
        }
    }

    fn tell(&self, state: &str) {
        if let Some((socket, address)) = &self.there
            && let Err(error) = socket.send_to_addr(state.as_bytes(), address)
        {
            tracing::debug!(%error, state, "the service manager was not told");
        }
    }
}

fn address(name: &[u8]) -> Option<SocketAddr> {
    match name.strip_prefix(b"@") {
        #[cfg(target_os = "linux")]
        Some(name) => {
            use std::os::linux::net::SocketAddrExt as _;
            SocketAddr::from_abstract_name(name).ok()
        }
        #[cfg(not(target_os = "linux"))]
        Some(_) => None,
        None => SocketAddr::from_pathname(OsStr::from_bytes(name)).ok(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn heard(manager: &UnixDatagram) -> String {
        let mut text = [0; 64];
        let length = manager.recv(&mut text).unwrap();
        String::from_utf8_lossy(&text[..length]).into_owned()
    }

    #[tokio::test(flavor = "multi_thread")]
    async fn the_manager_hears_of_a_loop_that_lives_and_not_of_one_that_is_stuck() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("notify");
        let manager = UnixDatagram::bind(&path).unwrap();
        manager.set_read_timeout(Some(Duration::from_secs(60))).unwrap();
        let supervisor = Supervisor::at(Some(path.as_os_str()), Some(Duration::from_millis(100)));
        supervisor.ready();
        assert_eq!(heard(&manager), "READY=1");
        let (events, mut inbox) = mpsc::channel(1);
        let answering = tokio::spawn(async move {
            for _ in 0..2 {
                if let Some(Event::Status(tell)) = inbox.recv().await {
                    let _ = tell.send(String::new());
                }
            }
            // From here on it takes events and answers none.
            std::future::pending::<()>().await;
            drop(inbox);
        });
        let watched = tokio::time::timeout(Duration::from_secs(1), supervisor.watch(events)).await;
        assert!(watched.is_err(), "it goes on");
        supervisor.stopping();
        assert_eq!(heard(&manager), "WATCHDOG=1");
        assert_eq!(heard(&manager), "WATCHDOG=1");
        assert_eq!(heard(&manager), "STOPPING=1");
        answering.abort();
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn a_manager_may_have_an_abstract_name() {
        use std::os::linux::net::SocketAddrExt as _;
        let name = format!("tiro-test-{}", std::process::id());
        let manager = UnixDatagram::bind_addr(&SocketAddr::from_abstract_name(&name).unwrap()).unwrap();
        manager.set_read_timeout(Some(Duration::from_secs(60))).unwrap();
        Supervisor::at(Some(OsStr::new(&format!("@{name}"))), None).ready();
        assert_eq!(heard(&manager), "READY=1");
    }

    #[tokio::test]
    async fn without_a_manager_nothing_happens() {
        let (events, _inbox) = mpsc::channel(1);
        for socket in [
            None,
            Some(""),
            Some("relative and not there"),
            Some("/nowhere/at/all"),
        ] {
            let supervisor = Supervisor::at(socket.map(OsStr::new), None);
            supervisor.ready();
            supervisor.watch(events.clone()).await;
        }
    }
}
