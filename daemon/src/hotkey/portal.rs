//! The key, asked of the desktop's portal: org.freedesktop.portal.GlobalShortcuts, versions 1 and 2.
//!
//! The desktop may ask the person, and they may choose another key. So it is asked once: not again by a portal that has
//! answered, and never again after a no.

use std::{collections::HashMap, time::Duration};

use futures_util::StreamExt as _;
use zbus::{
    Connection, MatchRule, Message, MessageStream, OwnedVariant, Variant, connection, fdo,
    message::Type,
    names::{BusName, OwnedUniqueName},
};

use super::Key;

const PORTAL: &str = "org.freedesktop.portal.Desktop";
const PATH: &str = "/org/freedesktop/portal/desktop";
const SHORTCUTS: &str = "org.freedesktop.portal.GlobalShortcuts";
const REQUEST: &str = "org.freedesktop.portal.Request";
const SESSION: &str = "org.freedesktop.portal.Session";
const REGISTRY: &str = "org.freedesktop.host.portal.Registry";

/// What we call the one shortcut. The desktop remembers the person's choice by it.
const TALK: &str = "talk";
/// What the person reads in the desktop's question and among its settings.
const WORDS: &str = "Talk to Tiro";
/// The name of our desktop entry, by which the desktop knows who asks.
const APP: &str = "org.tiro.Tiro";

const NO_INTERFACE: &str = "This desktop's portal has no global shortcuts.";
const NO_PORTAL: &str = "There is no desktop portal.";
const SILENT: &str = "The desktop's portal does not answer.";
const UNSEEN: &str = "The desktop was asked for a key and nobody has answered.";
const GARBAGE: &str = "The desktop's portal gave an answer that Tiro does not understand.";
const NO_KEY: &str = "The desktop's portal could not give Tiro a key.";
const UNKNOWN: &str =
    "The desktop's portal does not know Tiro; `tiro service install` puts its desktop entry where it looks.";
const GONE: &str = "The session bus went away.";

/// How to ask the portal, and to hear when there is another one.
pub(super) struct Portal {
    connection: Connection,
    /// All that is said to us, in order.
    stream: MessageStream,
    patience: Duration,
    /// The portal that was asked last.
    owner: Option<OwnedUniqueName>,
}

/// Why the portal gives no key.
#[derive(Debug)]
pub(super) enum No {
    /// It was asked and gave none.
    Asked(String),
    /// The person was asked and said no.
    Refused(String),
}

/// A shortcut that is bound.
pub(super) struct Bound {
    session: String,
    /// The key in the desktop's words; empty where the person gave it none.
    pub(super) key: String,
}

/// What a portal says of a shortcut that is bound.
pub(super) enum Said {
    Pressed,
    Released,
    /// It is on another key now.
    Key(String),
    /// It is ours no longer, and why.
    Over(String),
}

type Results = HashMap<String, OwnedVariant>;
type Shortcuts = Vec<(String, Results)>;

impl Portal {
    /// Connects to the session bus, or to the bus at this address.
    ///
    /// # Errors
    /// As a sentence.
    pub(super) async fn connect(bus: Option<&str>, patience: Duration) -> Result<Portal, String> {
        let builder = match bus {
            Some(address) => connection::Builder::address(address),
            None => connection::Builder::session(),
        };
        let joining = async {
            let connection = builder.build().await?;
            let stream = MessageStream::from(&connection);
            let leaves = MatchRule::builder()
                .msg_type(Type::Signal)
                .sender("org.freedesktop.DBus")
                .member("NameOwnerChanged")
                .add_arg(PORTAL);
            let bus = fdo::DBusProxy::new(&connection).await?;
            bus.add_match_rule(leaves.build()?).await?;
            zbus::Result::Ok((connection, stream))
        };
        match tokio::time::timeout(patience, joining).await {
            Ok(Ok((connection, stream))) => Ok(Portal {
                connection,
                stream,
                patience,
                owner: None,
            }),
            Ok(Err(error)) => {
                tracing::debug!(%error, "no session bus");
                Err("There is no session bus.".to_owned())
            }
            Err(_) => Err("The session bus does not answer.".to_owned()),
        }
    }

    /// Who is the portal; one that is to be had is started.
    ///
    /// # Errors
    /// When there is none, as a sentence.
    pub(super) async fn who(&mut self) -> Result<OwnedUniqueName, String> {
        let finding = async {
            let bus = fdo::DBusProxy::new(&self.connection).await?;
            let name = || BusName::try_from(PORTAL);
            let owner = match bus.get_name_owner(name()?).await {
                Ok(owner) => owner,
                Err(_) => {
                    bus.start_service_by_name(PORTAL.try_into()?, 0).await?;
                    bus.get_name_owner(name()?).await?
                }
            };
            zbus::Result::Ok(owner)
        };
        let owner = within(self.patience, finding).await.map_err(|why| match why {
            Failed::Silent => SILENT.to_owned(),
            Failed::Error(error) => {
                tracing::debug!(%error, "no portal");
                NO_PORTAL.to_owned()
            }
        })?;
        self.owner = Some(owner.clone());
        Ok(owner)
    }

    /// Looks for a portal that has global shortcuts.
    ///
    /// # Errors
    /// When there is none, as a sentence.
    pub(super) async fn find(&mut self) -> Result<(), String> {
        self.who().await?;
        // Who we are comes before all else. Portals from 1.21 on give no keys to who does not say; before 1.19 they go by
        // the process and know nothing of this.
        let none = HashMap::<&str, Variant<'_>>::new();
        match self.call(REGISTRY, "Register", &(APP, &none)).await {
            Ok(_) => {}
            Err(Failed::Silent) => return Err(SILENT.to_owned()),
            Err(Failed::Error(error)) => tracing::debug!(%error, "the portal takes no name"),
        }
        let interface = "org.freedesktop.DBus.Properties";
        let version = self.call(interface, "Get", &(SHORTCUTS, "version")).await;
        let version: OwnedVariant = read(&version.map_err(|why| why.say(NO_INTERFACE))?)?;
        match u32::try_from(version) {
            Ok(1..) => Ok(()),
            Ok(0) | Err(_) => Err(NO_INTERFACE.to_owned()),
        }
    }

    /// Asks the portal that was found for the key. The desktop may ask the person, who has `asking` to answer.
    ///
    /// # Errors
    /// Why there is none.
    pub(super) async fn bind(&mut self, key: &Key, asking: Duration) -> Result<Bound, No> {
        let asked = |why: Failed| No::Asked(why.say(NO_KEY));
        let session = self.path("session", "tiro_keys");
        let (opened, bound) = (
            self.path("request", "tiro_opens"),
            self.path("request", "tiro_binds"),
        );
        // What answers is heard of before it is asked.
        let answers = [
            (REQUEST, Some(&opened)),
            (REQUEST, Some(&bound)),
            (SESSION, Some(&session)),
            (SHORTCUTS, None),
        ];
        for (interface, path) in answers {
            self.hear(interface, path).await.map_err(asked)?;
        }
        let options = HashMap::from([
            ("handle_token", Variant::from("tiro_opens")),
            ("session_handle_token", Variant::from("tiro_keys")),
        ]);
        self.call(SHORTCUTS, "CreateSession", &(options,))
            .await
            .map_err(asked)?;
        let mut results = self.answer(&opened, self.patience, SILENT).await?;
        if taken::<String>(&mut results, "session_handle").is_some_and(|handle| handle != session) {
            return Err(No::Asked(GARBAGE.to_owned()));
        }
        let about = HashMap::from([
            ("description", Variant::from(WORDS)),
            ("preferred_trigger", Variant::from(key.trigger())),
        ]);
        let options = HashMap::from([("handle_token", Variant::from("tiro_binds"))]);
        let session_path =
            zbus::ObjectPath::try_from(session.as_str()).map_err(|error| asked(Failed::Error(error)))?;
        let binding = (session_path, vec![(TALK, about)], "", options);
        self.call(SHORTCUTS, "BindShortcuts", &binding)
            .await
            .map_err(asked)?;
        let mut results = self.answer(&bound, asking, UNSEEN).await?;
        let shortcuts: Option<Shortcuts> = taken(&mut results, "shortcuts");
        match key_of(shortcuts.ok_or_else(|| No::Asked(GARBAGE.to_owned()))?) {
            Some(key) => Ok(Bound { session, key }),
            None => Err(No::Refused(
                "The desktop was told to give Tiro no key.".to_owned(),
            )),
        }
    }

    /// What the portal says next of the shortcut.
    pub(super) async fn next(&mut self, bound: &Bound) -> Said {
        loop {
            let Some(Ok(message)) = self.stream.next().await else {
                return Said::Over(GONE.to_owned());
            };
            if self.leaves(&message).is_some() {
                return Said::Over("The desktop's portal went away.".to_owned());
            }
            if !self.is_from_the_portal(&message) {
                continue;
            }
            let (header, body) = (message.header(), message.body());
            let member = header.member().map(|member| member.as_str());
            let interface = header.interface().map(|interface| interface.as_str());
            match (interface, member) {
                (Some(SESSION), Some("Closed")) if is_at(&message, &bound.session) => {
                    return Said::Over("The desktop took the key back.".to_owned());
                }
                (Some(SHORTCUTS), Some(member @ ("Activated" | "Deactivated"))) => {
                    type Press = (zbus::OwnedObjectPath, String, u64, Results);
                    let Ok((session, shortcut, ..)) = body.deserialize::<Press>() else {
                        continue;
                    };
                    if session.as_str() == bound.session && shortcut == TALK {
                        return match member {
                            "Activated" => Said::Pressed,
                            _ => Said::Released,
                        };
                    }
                }
                (Some(SHORTCUTS), Some("ShortcutsChanged")) => {
                    let Ok((session, shortcuts)) = body.deserialize::<(zbus::OwnedObjectPath, Shortcuts)>()
                    else {
                        continue;
                    };
                    if session.as_str() == bound.session
                        && let Some(key) = key_of(shortcuts)
                    {
                        return Said::Key(key);
                    }
                }
                _ => {}
            }
        }
    }

    /// Waits until there is another portal than the one that was asked; or the bus goes.
    pub(super) async fn another(&mut self) {
        while let Some(Ok(message)) = self.stream.next().await {
            if let Some(new) = self.leaves(&message)
                && !new.is_empty()
                && self.owner.as_ref().is_none_or(|owner| owner.as_str() != new)
            {
                return;
            }
        }
    }

    /// The portal that was asked last.
    pub(super) fn owner(&self) -> Option<&OwnedUniqueName> {
        self.owner.as_ref()
    }

    /// The name of the new portal, in the message that there is a change; empty when there is none now.
    fn leaves(&self, message: &Message) -> Option<String> {
        let header = message.header();
        let is_it = header
            .sender()
            .is_some_and(|sender| sender.as_str() == "org.freedesktop.DBus")
            && header
                .member()
                .is_some_and(|member| member.as_str() == "NameOwnerChanged");
        let body = message.body();
        let (name, old, new) = is_it.then(|| body.deserialize::<(String, String, String)>().ok())??;
        let is_news = self
            .owner
            .as_ref()
            .is_none_or(|owner| owner.as_str() == old || owner.as_str() != new);
        (name == PORTAL && is_news).then_some(new)
    }

    /// Anybody on the bus can send us a signal, and what is said here opens the microphone.
    fn is_from_the_portal(&self, message: &Message) -> bool {
        let header = message.header();
        header.message_type() == Type::Signal
            && self.owner.is_some()
            && header.sender().map(|sender| sender.as_str())
                == self.owner.as_ref().map(|owner| owner.as_str())
    }

    /// The path that the portal gives what we ask for with this token (documentation of org.freedesktop.portal.Request).
    fn path(&self, kind: &str, token: &str) -> String {
        let name = self.connection.unique_name().map(|name| name.as_str());
        let name = name.unwrap_or_default().trim_start_matches(':').replace('.', "_");
        format!("{PATH}/{kind}/{name}/{token}")
    }

    async fn hear(&self, interface: &str, path: Option<&String>) -> Result<(), Failed> {
        let hearing = async {
            let mut rule = MatchRule::builder()
                .msg_type(Type::Signal)
                .sender(PORTAL)
                .interface(interface);
            if let Some(path) = path {
                rule = rule.path(path.as_str());
            }
            let bus = fdo::DBusProxy::new(&self.connection).await?;
            bus.add_match_rule(rule.build()?).await?;
            zbus::Result::Ok(())
        };
        within(self.patience, hearing).await
    }

    async fn call<B>(&self, interface: &str, method: &str, body: &B) -> Result<Message, Failed>
    where
        B: serde::Serialize + zbus::DynamicType,
    {
        let call = self
            .connection
            .call_method(Some(PORTAL), PATH, Some(interface), method, body);
        within(self.patience, call).await
    }

    /// What came of a request; `late` says that nothing did in time.
    async fn answer(&mut self, request: &str, patience: Duration, late: &str) -> Result<Results, No> {
        let answer = async {
            while let Some(Ok(message)) = self.stream.next().await {
                if self.leaves(&message).is_some() {
                    return Err("The desktop's portal went away before it answered.");
                }
                if self.is_from_the_portal(&message) && is_at(&message, request) {
                    return message
                        .body()
                        .deserialize::<(u32, Results)>()
                        .map_err(|_| GARBAGE);
                }
            }
            Err(GONE)
        };
        match tokio::time::timeout(patience, answer).await {
            Ok(Ok((0, results))) => Ok(results),
            Ok(Ok((1, _))) => Err(No::Refused(
                "The desktop was told to give Tiro no key.".to_owned(),
            )),
            Ok(Ok(_)) => Err(No::Asked(NO_KEY.to_owned())),
            Ok(Err(why)) => Err(No::Asked(why.to_owned())),
            Err(_) => {
                // Takes a question away that the person has not seen.
                let close = self
                    .connection
                    .call_method(Some(PORTAL), request, Some(REQUEST), "Close", &());
                let _ = within(self.patience, close).await;
                Err(No::Asked(late.to_owned()))
            }
        }
    }
}

enum Failed {
    Silent,
    Error(zbus::Error),
}

impl Failed {
    fn say(self, otherwise: &str) -> String {
        match self {
            Failed::Silent => SILENT.to_owned(),
            // "An app id is required."
            Failed::Error(zbus::Error::MethodError(name, ..))
                if name.as_str() == "org.freedesktop.portal.Error.NotAllowed" =>
            {
                UNKNOWN.to_owned()
            }
            Failed::Error(error) => {
                tracing::debug!(%error, "the portal gives no key");
                otherwise.to_owned()
            }
        }
    }
}

async fn within<T>(patience: Duration, call: impl Future<Output = zbus::Result<T>>) -> Result<T, Failed> {
    match tokio::time::timeout(patience, call).await {
        Ok(done) => done.map_err(Failed::Error),
        Err(_) => Err(Failed::Silent),
    }
}

fn read<T: serde::de::DeserializeOwned + zbus::Type>(message: &Message) -> Result<T, String> {
    message.body().deserialize().map_err(|_| GARBAGE.to_owned())
}

fn is_at(message: &Message, path: &str) -> bool {
    message.header().path().is_some_and(|at| at.as_str() == path)
}

fn taken<T: TryFrom<OwnedVariant>>(results: &mut Results, name: &str) -> Option<T> {
    T::try_from(results.remove(name)?).ok()
}

/// The key of our shortcut in the desktop's words; `None` where the shortcut is not among these.
fn key_of(shortcuts: Shortcuts) -> Option<String> {
    let mut ours = shortcuts.into_iter().find(|(name, _)| name == TALK)?.1;
    let words = taken::<String>(&mut ours, "trigger_description").unwrap_or_default();
    // It goes into a sentence of ours.
    let plain: String = words.chars().filter(|c| !c.is_control()).take(80).collect();
    Some(plain.trim().to_owned())
}
