//! Who answers: the running daemon, or a room of our own when there is none.

use std::{collections::HashMap, path::PathBuf};

use anyhow::Context as _;
use futures_util::{FutureExt, StreamExt};
use zbus::{Connection, MessageStream, OwnedVariant, message};

use crate::{
    bus::{self, Tiro1Proxy},
    cli::app::App,
    listen::Utterance,
    reply::{Confirmation, Front, Happening},
    report::Report,
    room::Room,
    turn::turn,
};

/// Who answers.
pub enum Partner {
    /// The daemon, over its socket.
    Daemon(Connection),
    /// Nobody runs, so this process does it.
    Here(Box<Room>),
}

/// What is asked.
pub enum Request {
    /// Typed.
    Text(String),
    /// Recorded.
    Wav(PathBuf),
}

impl Partner {
    /// The daemon when it runs, else a room of our own.
    ///
    /// # Errors
    /// When neither can be had.
    pub async fn find(app: &App) -> anyhow::Result<Partner> {
        match bus::client(&app.paths.socket()?).await? {
            Some(connection) => Ok(Partner::Daemon(connection)),
            None => Ok(Partner::Here(Box::new(app.room()?))),
        }
    }

    /// One turn. Dropping the future stops it.
    ///
    /// # Errors
    /// When the recording cannot be read or the daemon goes away.
    pub async fn ask(
        &mut self,
        request: Request,
        app: &App,
        yes: bool,
        front: &mut dyn Front,
    ) -> anyhow::Result<Report> {
        match self {
            Partner::Here(room) => {
                let utterance = match request {
                    Request::Text(text) => Utterance::Text(text),
                    Request::Wav(path) => Utterance::read_wav(path).await?,
                };
                Ok(turn(room, utterance, front).await)
            }
            Partner::Daemon(connection) => {
                let mut options = HashMap::from([("yes".to_owned(), OwnedVariant::from(yes))]);
                let text = match request {
                    Request::Text(text) => text,
                    Request::Wav(path) => {
                        let path = std::path::absolute(&path)?;
                        let path = path.to_str().context("the path of the recording is not UTF-8")?;
                        options.insert("wav".to_owned(), text_option(path)?);
                        String::new()
                    }
                };
                if let Some(now) = &app.now {
                    options.insert("now".to_owned(), text_option(now)?);
                }
                over_the_bus(connection, &text, options, front).await
            }
        }
    }

    /// Stops the turn that the daemon runs for us; a turn of our own stops by being dropped.
    pub async fn cancel(&self) {
        if let Partner::Daemon(connection) = self
            && let Ok(proxy) = Tiro1Proxy::new(connection).await
        {
            // A daemon that is gone runs nothing.
            let _ = proxy.cancel().await;
        }
    }
}

async fn over_the_bus(
    connection: &Connection,
    text: &str,
    options: HashMap<String, OwnedVariant>,
    front: &mut dyn Front,
) -> anyhow::Result<Report> {
    let proxy = Tiro1Proxy::new(connection).await?;
    let mut signals = MessageStream::from(connection);
    let mut answer = Box::pin(proxy.ask(text.to_owned(), options).fuse());
    let json = loop {
        tokio::select! {
            biased;
            message = signals.next() => {
                let message = message.context("the daemon went away")??;
                if let Some(happening) = happening(&message) {
                    meet(&proxy, &happening, front).await?;
                }
            }
            json = &mut answer => break json.map_err(plain)?,
        }
    };
    // What arrived together with the answer was sent before it.
    while let Some(Some(Ok(message))) = signals.next().now_or_never() {
        if let Some(happening) = happening(&message) {
            front.show(&happening);
        }
    }
    serde_json::from_str(&json).context("the daemon's answer cannot be read; are both of one version?")
}

async fn meet(proxy: &Tiro1Proxy<'_>, happening: &Happening, front: &mut dyn Front) -> anyhow::Result<()> {
    front.show(happening);
    if let Happening::Asked { question } = happening {
        let yes = front.confirm(question).await == Confirmation::Yes;
        proxy.confirm(yes).await?;
    }
    Ok(())
}

fn happening(message: &zbus::Message) -> Option<Happening> {
    if message.message_type() != message::Type::Signal {
        return None;
    }
    let (_, detail): (String, String) = message.body().deserialize().ok()?;
    serde_json::from_str(&detail).ok()
}

/// The daemon's own sentence without the D-Bus name in front.
fn plain(error: zbus::fdo::Error) -> anyhow::Error {
    match error {
        zbus::fdo::Error::Failed(text)
        | zbus::fdo::Error::InvalidArgs(text)
        | zbus::fdo::Error::LimitsExceeded(text) => anyhow::anyhow!(text),
        other => anyhow::Error::new(other).context("the daemon could not answer"),
    }
}

fn text_option(text: &str) -> anyhow::Result<OwnedVariant> {
    Ok(OwnedVariant::try_from(zbus::Variant::from(text.to_owned()))?)
}
