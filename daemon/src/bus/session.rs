//! `org.tiro.Tiro1` on the session bus, beside the socket: who calls there, and what happens when the bus goes.
//!
//! Everybody on a bus shares one connection, so each call names its caller. A unique name becomes a client with its first
//! call and leaves with its owner. What a client is told goes to it alone: a broadcast would tell the whole bus. Who is
//! here may be a program that is kept away from the person's files, so it is a guest: it may ask, in words that are not
//! the person's, and what its turn would change is a question to the person that names it.

use std::{
    collections::HashMap,
    sync::Arc,
    time::{Duration, Instant},
};

use anyhow::Context as _;
use futures_util::StreamExt as _;
use tokio::{
    sync::{Mutex, mpsc},
    task::AbortHandle,
};
use zbus::{
    Connection, connection,
    fdo::{self, DBusProxy, RequestNameFlags},
    message::Header,
    names::{BusName, OwnedUniqueName},
};

use super::{Caller, Callers, Client, HANDSHAKE, Icon, MAX_CLIENTS, PATH, Tiro1, next_client, program};
use crate::run::Event;

/// The name on the bus.
pub const NAME: &str = "org.tiro.Tiro1";

/// First pause before the bus is tried again; each is twice as long as the one before.
const PAUSE: Duration = Duration::from_secs(1);
/// Longest pause. Who logs in to a desktop later finds Tiro there within a minute.
const MAX_PAUSE: Duration = Duration::from_secs(60);
/// How long the bus has to say who a caller is.
const PATIENCE: Duration = Duration::from_secs(5);

/// Serves on the session bus, or on the bus at this address, until the task is dropped. Without a bus, and where somebody
/// else has the name, that is said once and tried again later; the socket serves all the same.
/// An icon shows there how the daemon is.
pub async fn attend(address: Option<String>, events: mpsc::Sender<Event>, icon: Option<Icon>) {
    let (mut pause, mut said) = (PAUSE, String::new());
    loop {
        let began = Instant::now();
        let why = match serve(address.as_deref(), &events, icon.as_ref()).await {
            Ok(()) => "the session bus went away".to_owned(),
            Err(error) => format!("{error:#}"),
        };
        if began.elapsed() > MAX_PAUSE {
            (pause, said) = (PAUSE, String::new());
        }
        if said != why {
            tracing::warn!("Tiro is reached by its socket only: {why}");
            said = why;
        }
        tokio::time::sleep(pause).await;
        pause = (2 * pause).min(MAX_PAUSE);
    }
}

/// Whether a daemon is on this bus.
pub async fn is_on(bus: &Connection) -> bool {
    let asked = async {
        let owned = DBusProxy::new(bus)
            .await?
            .name_has_owner(BusName::try_from(NAME)?)
            .await?;
        zbus::Result::Ok(owned)
    };
    asked.await.unwrap_or(false)
}

/// The process of the daemon that is on this bus.
pub async fn owner(bus: &Connection) -> Option<u32> {
    let asked = async {
        let bus = DBusProxy::new(bus).await?;
        let owner = bus
            .get_connection_unix_process_id(BusName::try_from(NAME)?)
            .await?;
        zbus::Result::Ok(owner)
    };
    asked.await.ok()
}

/// Serves until the bus goes.
async fn serve(
    address: Option<&str>,
    events: &mpsc::Sender<Event>,
    icon: Option<&Icon>,
) -> anyhow::Result<()> {
    let guests = Guests {
        events: events.clone(),
        known: Arc::default(),
    };
    // Their watches hold the connection, which holds the interface, which holds them.
    let _parting = Parting(Arc::clone(&guests.known));
    let tiro = Tiro1 {
        events: events.clone(),
        callers: Callers::Many(guests.clone()),
    };
    let builder = match address {
        Some(address) => connection::Builder::address(address),
        None => connection::Builder::session(),
    };
    let builder = match icon {
        Some(icon) => icon.serve_on(builder),
        None => builder,
    };
    let joining = async {
        let connection = builder.serve_at(PATH, tiro).build().await?;
        // Last, because whoever activates us calls as soon as the name is there.
        let flags = RequestNameFlags::DO_NOT_QUEUE;
        match connection.request_name_with_flags(NAME, flags).await {
            Err(zbus::Error::NameTaken) => {
                anyhow::bail!("another program has the name {NAME} on the session bus")
            }
            other => other?,
        };
        Ok(connection)
    };
    let joining = tokio::time::timeout(HANDSHAKE, joining).await;
    let connection = joining
        .context("the session bus does not answer")?
        .context("no session bus")?;
    tracing::info!("{NAME} is on the session bus");
    let showing = async {
        match icon {
            Some(icon) => icon.show(&connection).await,
            None => std::future::pending().await,
        }
    };
    tokio::select! {
        () = connection.closed() => {}
        () = showing => {}
    }
    for (_, guest) in guests.known.lock().await.drain() {
        guest.watch.abort();
        // Fails only when the daemon is stopping.
        let _ = events.send(Event::Left { client: guest.client }).await;
    }
    Ok(())
}

type Known = Arc<Mutex<HashMap<OwnedUniqueName, Guest>>>;

/// The clients on the bus, by their unique names.
#[derive(Clone)]
pub(super) struct Guests {
    events: mpsc::Sender<Event>,
    known: Known,
}

struct Guest {
    client: u64,
    /// What it is called.
    program: String,
    /// Waits until it leaves.
    watch: AbortHandle,
}

/// Ends the watches with the service.
struct Parting(Known);

impl Drop for Parting {
    fn drop(&mut self) {
        if let Ok(mut known) = self.0.try_lock() {
            known.drain().for_each(|(_, guest)| guest.watch.abort());
        }
    }
}

impl Guests {
    /// Who calls. Asked of the bus at the first call of each unique name; the bus never gives a name to a second owner.
    pub(super) async fn caller(&self, header: &Header<'_>, connection: &Connection) -> fdo::Result<Caller> {
        let nobody = || fdo::Error::AccessDenied("the bus does not say who calls".to_owned());
        let name = OwnedUniqueName::from(header.sender().ok_or_else(nobody)?.to_owned());
        let client = Client {
            connection: connection.clone(),
            name: Some(name.clone()),
        };
        let mut known = self.known.lock().await;
        let (id, program) = match known.get(&name) {
            Some(guest) => (guest.client, guest.program.clone()),
            None if known.len() >= MAX_CLIENTS => {
                return Err(fdo::Error::LimitsExceeded(format!(
                    "{MAX_CLIENTS} clients are here already"
                )));
            }
            None => {
                let guest = tokio::time::timeout(PATIENCE, self.admit(&name, client.clone()));
                let guest = guest.await.map_err(|_| nobody())??;
                let found = (guest.client, guest.program.clone());
                known.insert(name, guest);
                found
            }
        };
        Ok(Caller {
            id,
            client,
            guest: Some(program),
        })
    }

    /// Lets the same user in, and sees to it that the client is forgotten when it leaves.
    async fn admit(&self, name: &OwnedUniqueName, client: Client) -> fdo::Result<Guest> {
        let bus = DBusProxy::new(&client.connection).await?;
        // Before the bus is asked who it is, so that nobody leaves unseen in between.
        let mut changes = bus
            .receive_name_owner_changed_with_args(&[(0, name.as_str())])
            .await?;
        let user = bus.get_connection_unix_user(BusName::from(name.as_ref())).await?;
        if user != rustix::process::getuid().as_raw() {
            tracing::warn!("a client on the bus was turned away: it is another user's");
            return Err(fdo::Error::AccessDenied(
                "Tiro takes calls of its own user only".to_owned(),
            ));
        }
        let program = program::named(&bus, name).await;
        let program = program.unwrap_or_else(|| "unknown".to_owned());
        let id = next_client();
        // Fails only when the daemon is stopping.
        let _ = self
            .events
            .send(Event::Joined {
                client: id,
                connection: client,
            })
            .await;
        let (events, known, name) = (self.events.clone(), Arc::clone(&self.known), name.clone());
        let watch = tokio::spawn(async move {
            while let Some(change) = changes.next().await {
                if change.args().is_ok_and(|change| change.new_owner.is_none()) {
                    break;
                }
            }
            known.lock().await.remove(&name);
            let _ = events.send(Event::Left { client: id }).await;
        });
        Ok(Guest {
            client: id,
            program,
            watch: watch.abort_handle(),
        })
    }
}
