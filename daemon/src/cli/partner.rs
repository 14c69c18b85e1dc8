//! Who answers: the running daemon, or a room of our own when there is none.

use std::{collections::HashMap, path::PathBuf};

use anyhow::Context as _;
use futures_util::{FutureExt, StreamExt};
use prompts::words;
use zbus::{Connection, MessageStream, OwnedVariant};

use crate::{
    act::finish_writes,
    bus::{self, Tiro1Proxy},
    cli::app::App,
    listen::Utterance,
    reply::{Confirmation, Front, Happening, Terminal},
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

    /// Forgets the conversation and the tools that were found in it, before the next turn.
    ///
    /// # Errors
    /// When the daemon goes away.
    pub async fn begin_anew(&mut self) -> anyhow::Result<()> {
        match self {
            Partner::Here(room) => room.forget(),
            Partner::Daemon(connection) => Tiro1Proxy::new(connection).await?.forget().await?,
        }
        Ok(())
    }

    /// One turn. Dropping the future stops it.
    ///
    /// # Errors
    /// When the text is too long, the recording cannot be read or the daemon goes away.
    pub async fn ask(&mut self, request: Request, app: &App, front: &mut Terminal) -> anyhow::Result<Report> {
        self.ask_with(request, app, front, None).await
    }

    /// The same with an option of `Ask` switched on, where the daemon answers.
    ///
    /// # Errors
    /// As `ask`.
    pub async fn ask_with(
        &mut self,
        request: Request,
        app: &App,
        front: &mut Terminal,
        option: Option<&str>,
    ) -> anyhow::Result<Report> {
        if let Request::Text(text) = &request {
            let limit = bus::MAX_TEXT;
            anyhow::ensure!(text.len() <= limit, "the text has more than {limit} bytes");
        }
        match self {
            Partner::Here(room) => {
                let utterance = match request {
                    Request::Text(text) => Utterance::Text(text),
                    Request::Wav(path) => Utterance::read_wav(path).await?,
                };
                Ok(turn(room, utterance, front).await)
            }
            Partner::Daemon(connection) => {
                let mut options = HashMap::from([
                    ("yes".to_owned(), OwnedVariant::from(front.yes)),
                    ("interactive".to_owned(), OwnedVariant::from(front.interactive)),
                ]);
                options.extend(option.map(|key| (key.to_owned(), OwnedVariant::from(true))));
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

    /// Stops the turn that the daemon runs for us; a turn of our own stops by being dropped. Waits until a write that
    /// had begun is finished, and returns what the person should hear.
    pub async fn cancel(&self) -> String {
        let written = match self {
            Partner::Here(_) => finish_writes().await,
            Partner::Daemon(connection) => match Tiro1Proxy::new(connection).await {
                // A daemon that is gone runs nothing.
                Ok(proxy) => proxy.cancel().await.unwrap_or(false),
                Err(_) => false,
            },
        };
        stopped(written)
    }

    /// What happens in the daemon meanwhile; nothing when there is none.
    pub fn signals(&self) -> Option<MessageStream> {
        match self {
            Partner::Daemon(connection) => Some(MessageStream::from(connection)),
            Partner::Here(_) => None,
        }
    }

    /// Whether the daemon that answered is not there any more.
    pub fn is_gone(&self) -> bool {
        matches!(self, Partner::Daemon(connection) if connection.is_closed())
    }
}

/// What the person hears when they stopped something; `written` when a write had begun, which was finished.
pub fn stopped(written: bool) -> String {
    match written {
        true => words::cancelled_after_write(),
        false => words::cancelled(),
    }
}

async fn over_the_bus(
    connection: &Connection,
    text: &str,
    options: HashMap<String, OwnedVariant>,
    front: &mut Terminal,
) -> anyhow::Result<Report> {
    let proxy = Tiro1Proxy::new(connection).await?;
    let mut signals = MessageStream::from(connection);
    let mut answer = Box::pin(proxy.ask(text.to_owned(), options).fuse());
    let json = loop {
        let message = tokio::select! {
            biased;
            message = signals.next() => message.context("the daemon went away")??,
            json = &mut answer => break json.map_err(plain)?,
        };
        let Some(happening) = bus::happening(&message) else {
            continue;
        };
        front.show(&happening);
        if let Happening::Asked { id, question } = happening {
            tokio::select! {
                confirmation = front.confirm(&question) => {
                    tell(&proxy, id, confirmation).await?;
                }
                // The question was answered elsewhere, or waited too long.
                json = &mut answer => break json.map_err(plain)?,
            }
        }
    };
    // What arrived together with the answer was sent before it.
    while let Some(Some(Ok(message))) = signals.next().now_or_never() {
        if let Some(happening) = bus::happening(&message) {
            front.show(&happening);
        }
    }
    serde_json::from_str(&json).context("the daemon's answer cannot be read; are both of one version?")
}

/// Tells the daemon the answer to a question, and returns whether it was the open one.
pub async fn tell(proxy: &Tiro1Proxy<'_>, id: u64, answer: Confirmation) -> zbus::fdo::Result<bool> {
    match answer {
        Confirmation::Yes => proxy.confirm(id, true).await,
        Confirmation::No | Confirmation::Nobody => proxy.confirm(id, false).await,
        Confirmation::Wait => proxy.answer(id, "wait".to_owned()).await,
        Confirmation::Change(text) => proxy.answer(id, text).await,
    }
}

/// The daemon's own sentence without the D-Bus name in front.
pub(super) fn plain(error: zbus::fdo::Error) -> anyhow::Error {
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
