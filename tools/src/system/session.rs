//! Calls of services on the session bus, each with a time limit and none without an answer that can be told.

use std::time::Duration;

use serde::{Serialize, de::DeserializeOwned};
use zbus::{Connection, DynamicType, Type, connection::Builder};

use crate::contract::{Reach, ToolError};

/// How long a service may take to answer.
pub const PATIENCE: Duration = Duration::from_secs(5);

/// Why a call came to nothing.
#[derive(Debug, thiserror::Error)]
pub enum BusError {
    /// There is no session bus.
    #[error("there is no desktop session")]
    NoBus,
    /// The service is not there, or does not know the call.
    #[error("the service is not there")]
    Absent,
    /// No answer came in time.
    #[error("the service does not answer")]
    Silent,
    /// It said no, in its words.
    #[error("{0}")]
    Refused(String),
}

/// A connection to the session bus.
#[derive(Debug, Clone)]
pub struct Session(Connection);

impl Session {
    /// Connects.
    ///
    /// # Errors
    /// `NoBus`, `Silent`.
    pub async fn open(reach: &Reach) -> Result<Session, BusError> {
        let builder = match &reach.bus {
            Some(address) => Builder::address(address.as_str()),
            None => Builder::session(),
        };
        match tokio::time::timeout(PATIENCE, builder.build()).await {
            Ok(Ok(connection)) => Ok(Session(connection)),
            Ok(Err(error)) => {
                tracing::debug!(%error, "no session bus");
                Err(BusError::NoBus)
            }
            Err(_) => Err(BusError::Silent),
        }
    }

    /// The connection, for who listens.
    pub fn connection(&self) -> &Connection {
        &self.0
    }

    /// Whether somebody has this name, or would be started for it.
    pub async fn has(&self, name: &str) -> bool {
        let bus = (
            "org.freedesktop.DBus",
            "/org/freedesktop/DBus",
            "org.freedesktop.DBus",
        );
        if self.call(bus, "NameHasOwner", &(name,)).await.unwrap_or(false) {
            return true;
        }
        let startable: Result<Vec<String>, _> = self.call(bus, "ListActivatableNames", &()).await;
        startable.is_ok_and(|names| names.iter().any(|known| known == name))
    }

    /// Calls a method of a service, an object and an interface.
    ///
    /// # Errors
    /// `Absent`, `Silent`, `Refused`.
    pub async fn call<B, R>(&self, at: (&str, &str, &str), method: &str, body: &B) -> Result<R, BusError>
    where
        B: Serialize + DynamicType + Sync,
        R: DeserializeOwned + Type,
    {
        let (name, path, interface) = at;
        let answer = self
            .0
            .call_method(Some(name), path, Some(interface), method, body);
        let answer = tokio::time::timeout(PATIENCE, answer)
            .await
            .map_err(|_| BusError::Silent)?
            .map_err(of)?;
        answer.body().deserialize().map_err(|error| {
            tracing::debug!(%error, method, "an answer of another shape");
            BusError::Refused("its answer cannot be read".to_owned())
        })
    }
}

fn of(error: zbus::Error) -> BusError {
    match error {
        zbus::Error::MethodError(name, words, _) => {
            let absent = [
                "ServiceUnknown",
                "UnknownMethod",
                "UnknownObject",
                "UnknownInterface",
                "NameHasNoOwner",
            ];
            match absent.iter().any(|known| name.ends_with(known)) {
                true => BusError::Absent,
                false => BusError::Refused(words.unwrap_or_else(|| name.to_string())),
            }
        }
        zbus::Error::FDO(error) => match *error {
            zbus::fdo::Error::ServiceUnknown(_)
            | zbus::fdo::Error::NameHasNoOwner(_)
            | zbus::fdo::Error::UnknownMethod(_)
            | zbus::fdo::Error::UnknownObject(_)
            | zbus::fdo::Error::UnknownInterface(_)
            | zbus::fdo::Error::SpawnServiceNotFound(_) => BusError::Absent,
            zbus::fdo::Error::NoReply(_) | zbus::fdo::Error::TimedOut(_) | zbus::fdo::Error::Timeout(_) => {
                BusError::Silent
            }
            zbus::fdo::Error::Failed(words) | zbus::fdo::Error::InvalidArgs(words) => {
                BusError::Refused(words)
            }
            error => BusError::Refused(error.to_string()),
        },
        error => BusError::Refused(error.to_string()),
    }
}

/// Waits for an answer of the desktop where nothing can be awaited, as in a preview: on a thread of its own, so that it
/// may be called from anywhere.
///
/// # Errors
/// Those of the work; `Tell` when it takes too long.
pub fn wait<T: Send>(work: impl Future<Output = Result<T, ToolError>> + Send) -> Result<T, ToolError> {
    let run = || {
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .build()
            .map_err(|e| ToolError::broken("reach the desktop", e))?;
        runtime.block_on(async {
            tokio::time::timeout(4 * PATIENCE, work)
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
