//! Calls of services on a bus: each with a time limit, each failure a sentence.

use std::{collections::HashMap, io, time::Duration};

use serde::{Serialize, de::DeserializeOwned};
use zbus::{Connection, DynamicType, OwnedVariant, Type, Variant, connection, fdo};

use super::Desk;
use crate::{contract::ToolError, system::plain};

/// A service and how people call it.
#[derive(Debug, Clone, Copy)]
pub struct Service {
    /// On which bus it is.
    pub on: On,
    /// Its well-known name.
    pub name: &'static str,
    /// The subject of a sentence, capitalised: "NetworkManager".
    pub called: &'static str,
}

/// Which bus.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum On {
    Session,
    System,
}

/// Why a call did not work.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Trouble {
    /// There is no such bus.
    NoBus(On),
    /// Nobody has the service's name, and nobody starts it.
    Absent,
    /// It has nothing of that name: an older version, or another kind of service.
    Unknown,
    /// It does not answer in time.
    Silent,
    /// It went away before it answered.
    Gone,
    /// It wants a password, or does not allow it at all.
    Denied,
    /// Its answer is of another shape.
    Garbage,
    /// It says no: the error's name and its words.
    Refused { name: String, words: String },
}

impl Trouble {
    /// What the person hears.
    pub fn tell(self, called: &str) -> ToolError {
        let text = match self {
            Trouble::NoBus(On::Session) => "No desktop session can be reached from here.".to_owned(),
            Trouble::NoBus(On::System) => {
                "This computer has no system bus, so that cannot be asked here.".to_owned()
            }
            Trouble::Absent => format!("{called} is not there on this computer."),
            Trouble::Unknown => format!("{called} cannot do that here."),
            Trouble::Silent => format!("{called} does not answer."),
            Trouble::Gone => format!("{called} went away before it answered."),
            Trouble::Denied => format!("{called} does not allow me to do that."),
            Trouble::Garbage => format!("{called} gave an answer that I do not understand."),
            Trouble::Refused { words, .. } => {
                let words = plain::one_line(&words, 120);
                match words.is_empty() {
                    true => format!("{called} could not do that."),
                    // A service quotes what others named, such as a network or a device.
                    false => {
                        return ToolError::TellOthers(format!(
                            "{called} could not do that: {}.",
                            words.trim_end_matches('.')
                        ));
                    }
                }
            }
        };
        ToolError::Tell(text)
    }

    fn of(error: zbus::Error) -> Trouble {
        match error {
            zbus::Error::FDO(error) => Trouble::of_fdo(*error),
            zbus::Error::MethodError(name, words, _) => {
                let name = name.to_string();
                match name.contains("PermissionDenied") || name.contains("NotAuthorized") {
                    true => Trouble::Denied,
                    false => Trouble::Refused {
                        name,
                        words: words.unwrap_or_default(),
                    },
                }
            }
            zbus::Error::InputOutput(error) if error.kind() == io::ErrorKind::TimedOut => Trouble::Silent,
            zbus::Error::InputOutput(_) => Trouble::Gone,
            _ => Trouble::Garbage,
        }
    }

    fn of_fdo(error: fdo::Error) -> Trouble {
        use fdo::Error as E;
        match error {
            E::ZBus(error) => Trouble::of(error),
            E::ServiceUnknown(_)
            | E::NameHasNoOwner(_)
            | E::SpawnServiceNotFound(_)
            | E::SpawnExecFailed(_)
            | E::SpawnChildExited(_)
            | E::SpawnChildSignaled(_)
            | E::SpawnFailed(_) => Trouble::Absent,
            E::UnknownMethod(_)
            | E::UnknownObject(_)
            | E::UnknownInterface(_)
            | E::UnknownProperty(_)
            | E::PropertyReadOnly(_)
            | E::NotSupported(_) => Trouble::Unknown,
            // The bus says so itself when the service leaves.
            E::NoReply(_) | E::Disconnected(_) => Trouble::Gone,
            E::Timeout(_) | E::TimedOut(_) => Trouble::Silent,
            E::AccessDenied(_) | E::AuthFailed(_) | E::InteractiveAuthorizationRequired(_) => Trouble::Denied,
            E::InvalidSignature(_) | E::InconsistentMessage(_) => Trouble::Garbage,
            E::InvalidArgs(words) | E::Failed(words) => Trouble::Refused {
                name: String::new(),
                words,
            },
            _ => Trouble::Refused {
                name: String::new(),
                words: String::new(),
            },
        }
    }
}

/// A connection to a bus, for one call of a tool.
#[derive(Debug, Clone)]
pub struct Bus {
    connection: Connection,
    patience: Duration,
}

/// An object of a service and one interface of it.
#[derive(Debug, Clone, Copy)]
pub struct At<'a> {
    /// Who has it: a well-known or a unique name.
    pub name: &'a str,
    pub path: &'a str,
    pub interface: &'a str,
}

/// What `GetAll` answers.
pub type Properties = HashMap<String, OwnedVariant>;

impl Bus {
    /// Connects; that takes a millisecond, and whatever went wrong with the last connection is over.
    pub async fn open(desk: &Desk, on: On) -> Result<Bus, Trouble> {
        let address = match on {
            On::Session => &desk.session,
            On::System => &desk.system,
        };
        let builder = match (address, on) {
            (Some(address), _) => connection::Builder::address(address.as_str()),
            (None, On::Session) => connection::Builder::session(),
            (None, On::System) => connection::Builder::system(),
        };
        match tokio::time::timeout(desk.patience, builder.build()).await {
            Ok(Ok(connection)) => Ok(Bus {
                connection,
                patience: desk.patience,
            }),
            Ok(Err(error)) => {
                tracing::debug!(%error, ?on, "no bus");
                Err(Trouble::NoBus(on))
            }
            Err(_) => Err(Trouble::Silent),
        }
    }

    /// The connection itself, for who waits for signals.
    pub fn connection(&self) -> &Connection {
        &self.connection
    }

    /// The same with another time limit for each answer.
    pub fn patient(mut self, patience: Duration) -> Bus {
        self.patience = patience;
        self
    }

    /// Calls a method.
    pub async fn call<B, R>(&self, at: At<'_>, method: &str, body: &B) -> Result<R, Trouble>
    where
        B: Serialize + DynamicType,
        R: DeserializeOwned + Type,
    {
        let answer = self
            .connection
            .call_method(Some(at.name), at.path, Some(at.interface), method, body);
        let answer = tokio::time::timeout(self.patience, answer)
            .await
            .map_err(|_| Trouble::Silent)?
            .map_err(Trouble::of)?;
        answer.body().deserialize().map_err(|error| {
            tracing::debug!(%error, method, "an answer of another shape");
            Trouble::Garbage
        })
    }

    /// Reads a property.
    pub async fn get<T: TryFrom<OwnedVariant>>(&self, at: At<'_>, name: &str) -> Result<T, Trouble> {
        let value: OwnedVariant = self.call(properties(at), "Get", &(at.interface, name)).await?;
        T::try_from(value).map_err(|_| Trouble::Garbage)
    }

    /// Reads all properties.
    pub async fn all(&self, at: At<'_>) -> Result<Properties, Trouble> {
        self.call(properties(at), "GetAll", &(at.interface,)).await
    }

    /// Sets a property.
    pub async fn set(&self, at: At<'_>, name: &str, value: Variant<'_>) -> Result<(), Trouble> {
        self.call(properties(at), "Set", &(at.interface, name, value))
            .await
    }

    /// The names that somebody has on the bus.
    pub async fn names(&self) -> Result<Vec<String>, Trouble> {
        self.call(BUS, "ListNames", &()).await
    }

    /// Whether somebody has this name, or would be started for it.
    pub async fn offers(&self, name: &str) -> bool {
        if self.has(name).await == Ok(true) {
            return true;
        }
        let startable: Result<Vec<String>, _> = self.call(BUS, "ListActivatableNames", &()).await;
        startable.is_ok_and(|names| names.iter().any(|known| known == name))
    }

    /// Whether somebody has this name now.
    pub async fn has(&self, name: &str) -> Result<bool, Trouble> {
        self.call(BUS, "NameHasOwner", &(name,)).await
    }
}

/// Takes a property of one type out of all.
pub fn take<T: TryFrom<OwnedVariant>>(from: &mut Properties, name: &str) -> Option<T> {
    from.remove(name).and_then(|value| T::try_from(value).ok())
}

const BUS: At = At {
    name: "org.freedesktop.DBus",
    path: "/org/freedesktop/DBus",
    interface: "org.freedesktop.DBus",
};

fn properties(at: At<'_>) -> At<'_> {
    At {
        interface: "org.freedesktop.DBus.Properties",
        ..at
    }
}
