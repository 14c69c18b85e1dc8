//! Sending one message by SMTP, and what became of it. The one moment at which nobody knows is between the end of the
//! message and the server's answer; what is cut before that end has certainly not been accepted.

use std::{
    io,
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
    time::Duration,
};

use base64::{Engine as _, engine::general_purpose::STANDARD};
use lettre::{
    Address,
    transport::smtp::{
        Error as SmtpError,
        authentication::{Credentials, Mechanism as Known},
        client::AsyncSmtpConnection,
        commands::{Data, Mail, Rcpt},
        extension::{ClientId, Extension, MailBodyParameter, MailParameter},
    },
};
use tokio::time::timeout;

use super::{
    Access, PostError, Secret,
    token::Mechanism,
    wire::{Wire, garbled, unreachable},
};
use crate::system::{
    mail::outbox::{OutboxError, Ticket},
    plain,
};

/// Everything up to the message.
const OPENING: Duration = Duration::from_secs(120);
/// The server's answer to the message may take minutes while it is being looked at (RFC 5321, 4.5.3.2.6: ten).
const VERDICT: Duration = Duration::from_secs(600);
/// A farewell that nobody needs.
const FAREWELL: Duration = Duration::from_secs(3);
/// Lines of a greeting.
const MAX_GREETING: usize = 50;

/// What became of a message.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Delivery {
    /// The server has it.
    Sent,
    /// It has it not, and may take it later. Why, as a sentence.
    Later(String),
    /// It refused it for good. Why, as a sentence.
    Refused(String),
    /// Nobody knows. Why, as a sentence.
    Unsure(String),
}

/// What is called when the message is about to be given to the server; when it fails, it must not be.
pub type Handing<'h> = &'h mut (dyn FnMut() -> Result<(), OutboxError> + Send);

/// A server that sends.
#[derive(Debug, Clone)]
pub struct Smtp {
    /// The account, for advice.
    pub account: String,
    /// How it is reached.
    pub access: Access,
}

impl Smtp {
    /// Gives it one message for all recipients, or for none of them.
    ///
    /// # Errors
    /// When the outbox could not be written before the message was given; nothing was sent then.
    pub async fn deliver(
        &self,
        ticket: &Ticket,
        message: &[u8],
        handing: Handing<'_>,
    ) -> Result<Delivery, OutboxError> {
        let opening = timeout(OPENING, self.open(ticket, message)).await;
        let mut open = match opening {
            Ok(Ok(open)) => open,
            Ok(Err(No::Later(why))) => return Ok(Delivery::Later(why)),
            Ok(Err(No::Never(why))) => return Ok(Delivery::Refused(why)),
            Err(_) => return Ok(Delivery::Later(format!("{} is too slow.", self.host()))),
        };
        handing()?;
        // What ends the message begins with the end of its last line.
        let message = message.strip_suffix(b"\r\n").unwrap_or(message);
        let before = open.written.load(Ordering::Relaxed);
        let given = timeout(VERDICT, open.connection.message(message)).await;
        // Dots at the beginning of lines are doubled and five bytes end it, so as long as no more than the message itself
        // was written its end was not.
        let is_whole = open.written.load(Ordering::Relaxed) - before > message.len() as u64;
        let cut = |why: &str| match is_whole {
            true => Delivery::Unsure(format!(
                "The connection to {} {why} before it had said whether it has the mail.",
                self.host()
            )),
            false => Delivery::Later(format!("The connection to {} {why} half-way.", self.host())),
        };
        Ok(match given {
            Ok(Ok(_)) => {
                let _ = timeout(FAREWELL, open.connection.quit()).await;
                Delivery::Sent
            }
            Ok(Err(error)) if error.status().is_some() => match error.is_permanent() {
                true => Delivery::Refused(self.said(&error)),
                false => Delivery::Later(self.said(&error)),
            },
            Ok(Err(_)) => cut("was lost"),
            Err(_) => cut("stood still"),
        })
    }

    /// Logs in and leaves again.
    ///
    /// # Errors
    /// Why that is not possible, as a sentence.
    pub async fn check(&self) -> Result<(), String> {
        match timeout(OPENING, self.log_in()).await {
            Ok(Ok((mut connection, _))) => {
                let _ = timeout(FAREWELL, connection.quit()).await;
                Ok(())
            }
            Ok(Err(No::Later(why) | No::Never(why))) => Err(why),
            Err(_) => Err(format!("{} is too slow.", self.host())),
        }
    }

    /// Names sender and recipients; then only the message is missing.
    async fn open(&self, ticket: &Ticket, message: &[u8]) -> Result<Open, No> {
        let address = |text: &str| {
            let parsed = text.parse::<Address>();
            parsed.map_err(|_| No::Never(format!("\"{text}\" is no mail address.")))
        };
        let from = address(&ticket.from)?;
        let to: Vec<Address> = ticket.to.iter().map(|to| address(to)).collect::<Result<_, _>>()?;
        let (mut connection, written) = self.log_in().await?;
        let mut parameters = Vec::new();
        let can = |what| connection.server_info().supports_feature(what);
        if !ticket.from.is_ascii() || ticket.to.iter().any(|to| !to.is_ascii()) {
            if !can(Extension::SmtpUtfEight) {
                let why = format!("{} takes no addresses with such letters.", self.host());
                return Err(No::Never(why));
            }
            parameters.push(MailParameter::SmtpUtfEight);
        }
        if !message.is_ascii() {
            if !can(Extension::EightBitMime) {
                let why = format!("{} takes no letters but English ones.", self.host());
                return Err(No::Never(why));
            }
            parameters.push(MailParameter::Body(MailBodyParameter::EightBitMime));
        }
        connection
            .command(Mail::new(Some(from), parameters))
            .await
            .map_err(|e| self.no(&e))?;
        for (recipient, text) in to.into_iter().zip(&ticket.to) {
            let answer = connection.command(Rcpt::new(recipient, Vec::new())).await;
            answer.map_err(|e| match self.no(&e) {
                No::Never(why) => No::Never(format!("{text} cannot be reached. {why}")),
                later => later,
            })?;
        }
        connection.command(Data).await.map_err(|e| self.no(&e))?;
        Ok(Open { connection, written })
    }

    /// A connection at which the server knows us.
    async fn log_in(&self) -> Result<(AsyncSmtpConnection, Arc<AtomicU64>), No> {
        let later = |error: PostError| No::Later(error.sentence(&self.account));
        let wire = self.wire().await.map_err(later)?;
        let written = wire.counter();
        let hello = ClientId::default();
        let mut connection = AsyncSmtpConnection::connect_with_transport(Box::new(wire), &hello)
            .await
            .map_err(|e| self.no(&e))?;
        match &self.access.login.secret {
            Secret::Token(token) => self.show(&mut connection, token).await?,
            Secret::Password(password) => {
                let credentials = Credentials::new(self.access.login.user.clone(), password.clone());
                let said = connection.auth(&[Known::Plain, Known::Login], &credentials).await;
                said.map_err(|e| match e.is_permanent() || e.is_client() {
                    // It is mended in the config, so the mail waits.
                    true => later(PostError::Login {
                        server: self.host().to_owned(),
                    }),
                    false => self.no(&e),
                })?;
            }
        }
        Ok((connection, written))
    }

    /// Shows the access token. lettre knows the older way only, so both are said here.
    async fn show(&self, connection: &mut AsyncSmtpConnection, token: &str) -> Result<(), No> {
        let server = self.host().to_owned();
        let later = |error: PostError| No::Later(error.sentence(&self.account));
        let way = match connection.server_info().supports_auth_mechanism(Known::Xoauth2) {
            true => Mechanism::Xoauth2,
            false => Mechanism::Bearer,
        };
        let words = STANDARD.encode(way.words(&self.access.login.user, token));
        let mut said = connection
            .command(format!("AUTH {} {words}\r\n", way.name()))
            .await;
        if said.as_ref().is_ok_and(|answer| answer.has_code(334)) {
            // It refuses, and has explained why; it says so once that was answered.
            let answer = STANDARD.encode(way.after_refusal());
            said = connection.command(format!("{answer}\r\n")).await;
        }
        match said {
            Ok(answer) if answer.has_code(235) => Ok(()),
            Ok(_) => Err(later(PostError::Token { server })),
            // Not known, not to be had here, no such way (RFC 5321 and 4954).
            Err(error)
                if error
                    .status()
                    .is_some_and(|code| ["500", "502", "504"].contains(&code.to_string().as_str())) =>
            {
                Err(later(PostError::NoTokens { server }))
            }
            Err(error) if error.is_permanent() => Err(later(PostError::Token { server })),
            Err(error) => Err(self.no(&error)),
        }
    }

    /// An encrypted connection, at its greeting; or a plain one, where that is allowed.
    async fn wire(&self) -> Result<Wire, PostError> {
        let (server, access) = (&self.access.server, &self.access);
        let mut wire = Wire::connect(access).await?;
        if server.tls {
            return Ok(wire);
        }
        let fail = |e: io::Error| unreachable(server, &e);
        let greeting = answer(&mut wire).await.map_err(fail)?;
        // The same words as lettre's, which says them once more behind the encryption.
        wire.say("EHLO [127.0.0.1]\r\n").await.map_err(fail)?;
        let offers = answer(&mut wire).await.map_err(fail)?;
        let offered = offers
            .split(|b| *b == b'\n')
            .filter_map(|line| line.get(4..))
            .any(|word| word.trim_ascii().eq_ignore_ascii_case(b"STARTTLS"));
        if offered {
            wire.say("STARTTLS\r\n").await.map_err(fail)?;
            let said = answer(&mut wire).await.map_err(fail)?;
            if !said.starts_with(b"220") {
                return Err(garbled(server, "it offers encryption and refuses it"));
            }
            wire = wire.encrypt(access).await?;
        } else if !(server.is_here() || access.allow_plain) {
            return Err(PostError::Clear {
                server: server.host.clone(),
            });
        }
        // Whoever speaks next begins with the greeting, which a server says only once.
        wire.unread(&greeting);
        Ok(wire)
    }

    /// What an error before the message means.
    fn no(&self, error: &SmtpError) -> No {
        match (error.status(), error.is_permanent()) {
            (Some(_), true) => No::Never(self.said(error)),
            (Some(_), false) => No::Later(self.said(error)),
            (None, _) => No::Later(format!("The connection to {} was lost.", self.host())),
        }
    }

    /// What the server said, as a sentence.
    fn said(&self, error: &SmtpError) -> String {
        let code = error.status().map(|code| code.to_string()).unwrap_or_default();
        let said = std::error::Error::source(error).map(ToString::to_string);
        let said = plain::one_line(&said.unwrap_or_default(), 200);
        let said = said.trim_end_matches('.');
        match said.is_empty() {
            true => format!("{} answered {code}.", self.host()),
            false => format!("{} answered {code}: {said}.", self.host()),
        }
    }

    fn host(&self) -> &str {
        &self.access.server.host
    }
}

/// A connection that waits for the message.
struct Open {
    connection: AsyncSmtpConnection,
    written: Arc<AtomicU64>,
}

/// Why the message was not asked for.
enum No {
    Later(String),
    Never(String),
}

/// One answer of the server: lines `250-...`, the last `250 ...`.
async fn answer(wire: &mut Wire) -> io::Result<Vec<u8>> {
    let mut all = Vec::new();
    for _ in 0..MAX_GREETING {
        let line = wire.line().await?;
        all.extend_from_slice(&line);
        if line.get(3) != Some(&b'-') {
            return Ok(all);
        }
    }
    Err(io::ErrorKind::InvalidData.into())
}
