//! One session with an IMAP server (RFC 3501): encrypted before the password, every answer bounded in size and time.

use std::{
    collections::BTreeMap,
    time::{Duration, SystemTime},
};

use async_imap::{
    Authenticator, Client, Session,
    error::Error as ImapError,
    extensions::idle::IdleResponse,
    types::{Fetch, Flag, NameAttribute},
};
use futures_util::TryStreamExt as _;
use jiff::Timestamp;
use tokio::time::timeout;

use super::{
    Access, PostError, Secret,
    plan::There,
    token::Mechanism,
    wire::{STALL, Wire, garbled, unreachable},
};
use crate::system::plain;

/// One command with its answer, however large.
const COMMAND: Duration = Duration::from_secs(600);
/// What an answer may be that holds no message, in bytes.
const SMALL: u64 = 4 << 20;
/// What a list of messages may be, in bytes, a message.
const PER_MESSAGE: u64 = 1024;
/// Most folders of a server.
const MAX_FOLDERS: usize = 1000;
/// Numbers in one command.
const BATCH: usize = 500;
/// A server may end a session that says nothing for half an hour (RFC 2177), and routers forget it sooner.
const IDLE: Duration = Duration::from_secs(9 * 60);
/// A farewell that nobody needs.
const FAREWELL: Duration = Duration::from_secs(3);
/// Lines of the answer to what a server can.
const MAX_OFFERS: usize = 50;

/// What a folder is for (RFC 6154).
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Role {
    /// Where mail arrives.
    Inbox,
    /// What was sent.
    Sent,
    /// What is being written.
    Drafts,
    /// What is kept.
    Archive,
    /// What was thrown away.
    Trash,
    /// What is not mirrored: junk, and views of everything.
    Skipped,
    /// Anything else.
    Other,
}

impl Role {
    /// The folder below the Maildir and the name for a new one on the server; nothing where it has no fixed one.
    pub fn folder(self) -> Option<&'static str> {
        match self {
            Role::Inbox => Some(""),
            Role::Sent => Some(".Sent"),
            Role::Drafts => Some(".Drafts"),
            Role::Archive => Some(".Archive"),
            Role::Trash => Some(".Trash"),
            Role::Skipped | Role::Other => None,
        }
    }
}

/// A folder on the server.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Folder {
    /// Its name as the server writes it (modified UTF-7).
    pub name: String,
    /// What stands between two levels of the name.
    pub delimiter: Option<String>,
    /// What it is for.
    pub role: Role,
}

/// A folder that was opened.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Selected {
    /// How many messages it has.
    pub exists: u32,
    /// Changes when its numbers mean other messages.
    pub validity: u32,
}

/// A message that was fetched.
#[derive(Debug)]
pub struct Body {
    /// Its number.
    pub uid: u32,
    /// Its flags, letters in order.
    pub flags: String,
    /// When it arrived.
    pub when: Option<SystemTime>,
    /// The message.
    pub bytes: Vec<u8>,
}

/// A session.
pub struct Imap<'a> {
    session: Session<Wire>,
    access: &'a Access,
    can_move: bool,
    can_expunge_one: bool,
    can_idle: bool,
}

impl<'a> Imap<'a> {
    /// Connects, encrypts and logs in.
    ///
    /// # Errors
    /// `Unreachable`, `Certificate`, `Clear`, `Login`, `Garbled`.
    pub async fn open(access: &'a Access) -> Result<Imap<'a>, PostError> {
        let server = &access.server;
        let mut wire = Wire::connect(access).await?;
        if !server.tls {
            let mut client = greet(access, wire).await?;
            let encrypted = bounded(access, client.run_command_and_check_ok("STARTTLS", None)).await;
            // What came behind the answer is dropped with the client: nothing plain is taken for encrypted.
            wire = client.into_inner();
            match encrypted {
                Ok(()) => wire = wire.encrypt(access).await?,
                Err(PostError::Refused { .. }) if server.is_here() || access.allow_plain => {}
                Err(PostError::Refused { .. }) => {
                    return Err(PostError::Clear {
                        server: server.host.clone(),
                    });
                }
                Err(error) => return Err(error),
            }
        }
        let user = access.login.user.as_str();
        let (session, refused) = match &access.login.secret {
            Secret::Token(token) => {
                let way = timeout(STALL, token_way(&mut wire, server.tls)).await;
                let way = way
                    .map_err(|_| slow(access))?
                    .map_err(|e| unreachable(server, &e))?;
                let way = way.ok_or_else(|| PostError::NoTokens {
                    server: server.host.clone(),
                })?;
                let words = Words(Some(way.words(user, token)), way.after_refusal());
                let login = Client::new(wire).authenticate(way.name(), words);
                (
                    timeout(STALL, login).await,
                    PostError::Token {
                        server: server.host.clone(),
                    },
                )
            }
            Secret::Password(password) => {
                let mut client = Client::new(wire);
                if server.tls {
                    greeted(access, &mut client).await?;
                }
                let login = async {
                    // A quoted string holds nothing but ASCII (RFC 3501, 4.3).
                    match user.is_ascii() && password.is_ascii() {
                        true => client.login(user, password).await,
                        false => {
                            let words = Words(Some(format!("\0{user}\0{password}")), "");
                            client.authenticate("PLAIN", words).await
                        }
                    }
                };
                (
                    timeout(STALL, login).await,
                    PostError::Login {
                        server: server.host.clone(),
                    },
                )
            }
        };
        let session = session.map_err(|_| slow(access))?;
        let session = session.map_err(|(error, _)| match of(access, error) {
            PostError::Refused { said, .. } if !said.contains("[UNAVAILABLE]") => refused,
            error => error,
        })?;
        let mut imap = Imap {
            session,
            access,
            can_move: false,
            can_expunge_one: false,
            can_idle: false,
        };
        imap.allow(SMALL);
        let able = bounded(access, imap.session.capabilities()).await?;
        imap.can_move = able.has_str("MOVE");
        imap.can_expunge_one = able.has_str("UIDPLUS");
        imap.can_idle = able.has_str("IDLE");
        Ok(imap)
    }

    /// All folders that can be opened, the inbox first.
    ///
    /// # Errors
    /// What the server says; likewise below.
    pub async fn folders(&mut self) -> Result<Vec<Folder>, PostError> {
        self.allow(SMALL);
        let access = self.access;
        let mut folders = Vec::new();
        let work = async {
            let names = self.session.list(Some(""), Some("*")).await?;
            futures_util::pin_mut!(names);
            while let Some(name) = names.try_next().await? {
                let cannot = |a: &NameAttribute<'_>| match a {
                    NameAttribute::NoSelect => true,
                    NameAttribute::Extension(other) => other.eq_ignore_ascii_case("\\NonExistent"),
                    _ => false,
                };
                if folders.len() < MAX_FOLDERS && !name.attributes().iter().any(cannot) {
                    folders.push(Folder {
                        name: name.name().to_owned(),
                        delimiter: name.delimiter().map(str::to_owned),
                        role: role(name.name(), name.attributes()),
                    });
                }
            }
            Ok(())
        };
        bounded(access, work).await?;
        // A server may mark several; names only count where nothing is marked.
        let marked: Vec<Role> = folders.iter().map(|f| f.role).collect();
        for folder in &mut folders {
            let named = named(folder);
            if folder.role == Role::Other && !marked.contains(&named) {
                folder.role = named;
            }
        }
        folders.sort_by(|a, b| (a.role, &a.name).cmp(&(b.role, &b.name)));
        let mut seen = Vec::new();
        for folder in &mut folders {
            if folder.role.folder().is_some() {
                match seen.contains(&folder.role) {
                    true => folder.role = Role::Other,
                    false => seen.push(folder.role),
                }
            }
        }
        Ok(folders)
    }

    /// Makes a folder.
    pub async fn create(&mut self, name: &str) -> Result<(), PostError> {
        self.allow(SMALL);
        bounded(self.access, self.session.create(name)).await
    }

    /// Opens a folder.
    pub async fn select(&mut self, name: &str) -> Result<Selected, PostError> {
        self.allow(SMALL);
        let opened = bounded(self.access, self.session.select(name)).await?;
        let validity = opened.uid_validity;
        Ok(Selected {
            exists: opened.exists,
            validity: validity
                .ok_or_else(|| garbled(&self.access.server, "its folders have no UIDVALIDITY"))?,
        })
    }

    /// The newest `most` messages of the open folder, and the lowest number that was asked about: 0 when it was all of
    /// them.
    ///
    /// # Errors
    /// `Garbled` when the server lists fewer than it has, so that a list that was cut is never taken for the whole.
    pub async fn list(
        &mut self,
        selected: Selected,
        most: u32,
    ) -> Result<(BTreeMap<u32, There>, u32), PostError> {
        let mut there = BTreeMap::new();
        if selected.exists == 0 {
            return Ok((there, 0));
        }
        let first = selected.exists.saturating_sub(most.saturating_sub(1)).max(1);
        let expected = (selected.exists - first + 1) as usize;
        self.allow(SMALL + expected as u64 * PER_MESSAGE);
        let access = self.access;
        let work = async {
            let answers = self
                .session
                .fetch(format!("{first}:*"), "(UID FLAGS RFC822.SIZE)")
                .await?;
            futures_util::pin_mut!(answers);
            while let Some(fetch) = answers.try_next().await? {
                if let (Some(uid), Some(size)) = (fetch.uid, fetch.size) {
                    let there_is = There {
                        flags: letters(&fetch),
                        size: u64::from(size),
                    };
                    there.insert(uid, there_is);
                }
            }
            Ok(())
        };
        bounded(access, work).await?;
        if there.len() < expected {
            let why = format!("it listed {} of {expected} messages", there.len());
            return Err(garbled(&access.server, &why));
        }
        let from = match first {
            1 => 0,
            _ => there.keys().next().copied().unwrap_or(0),
        };
        Ok((there, from))
    }

    /// The Message-IDs of these messages, without brackets, where they have one.
    pub async fn message_ids(&mut self, uids: &[u32]) -> Result<BTreeMap<u32, String>, PostError> {
        let mut ids = BTreeMap::new();
        for uids in uids.chunks(BATCH) {
            self.allow(SMALL + uids.len() as u64 * 64 * 1024);
            let access = self.access;
            let work = async {
                let answers = self.session.uid_fetch(set(uids), "(UID ENVELOPE)").await?;
                futures_util::pin_mut!(answers);
                while let Some(fetch) = answers.try_next().await? {
                    let id = fetch
                        .envelope()
                        .and_then(|envelope| envelope.message_id.as_deref());
                    if let (Some(uid), Some(id)) = (fetch.uid, id) {
                        ids.insert(uid, bare(&String::from_utf8_lossy(id)).to_owned());
                    }
                }
                Ok(())
            };
            bounded(access, work).await?;
        }
        Ok(ids)
    }

    /// These messages whole, of `bytes` altogether. One that is gone meanwhile is not among them.
    pub async fn bodies(&mut self, uids: &[u32], bytes: u64) -> Result<Vec<Body>, PostError> {
        self.allow(SMALL + bytes);
        let mut bodies = Vec::new();
        let access = self.access;
        let work = async {
            let answers = self
                .session
                .uid_fetch(set(uids), "(UID FLAGS INTERNALDATE BODY.PEEK[])")
                .await?;
            futures_util::pin_mut!(answers);
            while let Some(fetch) = answers.try_next().await? {
                let when = fetch
                    .internal_date()
                    .and_then(|date| date.timestamp().try_into().ok());
                if let (Some(uid), Some(bytes)) = (fetch.uid.filter(|uid| uids.contains(uid)), fetch.body()) {
                    bodies.push(Body {
                        uid,
                        flags: letters(&fetch),
                        when: when.map(|seconds| SystemTime::UNIX_EPOCH + Duration::from_secs(seconds)),
                        bytes: bytes.to_vec(),
                    });
                }
            }
            Ok(())
        };
        bounded(access, work).await?;
        Ok(bodies)
    }

    /// Gives a message of the open folder other flags.
    pub async fn set_flags(&mut self, uid: u32, before: &str, after: &str) -> Result<(), PostError> {
        let differ = |a: &str, b: &str| names(a.chars().filter(|flag| !b.contains(*flag)));
        for (sign, flags) in [('+', differ(after, before)), ('-', differ(before, after))] {
            if !flags.is_empty() {
                self.store(uid, &format!("{sign}FLAGS.SILENT ({flags})")).await?;
            }
        }
        Ok(())
    }

    /// Moves a message of the open folder. A server that cannot gets a copy first, and the original is only taken away by
    /// its number: what others have marked as deleted stays.
    pub async fn move_to(&mut self, uid: u32, folder: &str) -> Result<(), PostError> {
        self.allow(SMALL);
        let number = uid.to_string();
        if self.can_move {
            return bounded(self.access, self.session.uid_mv(&number, folder)).await;
        }
        bounded(self.access, self.session.uid_copy(&number, folder)).await?;
        self.store(uid, "+FLAGS.SILENT (\\Deleted)").await?;
        if self.can_expunge_one {
            self.allow(SMALL);
            let access = self.access;
            let work = async {
                let gone = self.session.uid_expunge(&number).await?;
                futures_util::pin_mut!(gone);
                while gone.try_next().await?.is_some() {}
                Ok(())
            };
            bounded(access, work).await?;
        }
        Ok(())
    }

    /// Adds a message to a folder.
    pub async fn append(
        &mut self,
        folder: &str,
        flags: &str,
        when: Option<Timestamp>,
        message: &[u8],
    ) -> Result<(), PostError> {
        self.allow(SMALL);
        let flags = format!("({})", names(flags.chars()));
        let when = when.map(|when| when.strftime("\"%d-%b-%Y %H:%M:%S +0000\"").to_string());
        let work = self
            .session
            .append(folder, Some(&flags), when.as_deref(), message);
        bounded(self.access, work).await
    }

    /// Whether the open folder has a message of this Message-ID.
    pub async fn has(&mut self, message_id: &str) -> Result<bool, PostError> {
        let odd = |c: char| !c.is_ascii_graphic() || c == '"' || c == '\\';
        if message_id.is_empty() || message_id.contains(odd) {
            return Ok(false);
        }
        self.allow(SMALL);
        let query = format!("HEADER Message-ID \"<{message_id}>\"");
        let found = bounded(self.access, self.session.uid_search(query)).await?;
        Ok(!found.is_empty())
    }

    /// Says goodbye; it is no matter whether anybody hears it.
    pub async fn leave(mut self) {
        self.allow(SMALL);
        let _ = timeout(FAREWELL, self.session.logout()).await;
    }

    async fn store(&mut self, uid: u32, query: &str) -> Result<(), PostError> {
        self.allow(SMALL);
        let access = self.access;
        let work = async {
            let answers = self.session.uid_store(uid.to_string(), query).await?;
            futures_util::pin_mut!(answers);
            while answers.try_next().await?.is_some() {}
            Ok(())
        };
        bounded(access, work).await
    }

    fn allow(&mut self, bytes: u64) {
        self.session.as_mut().allow(bytes);
    }
}

/// Logs in and leaves again.
///
/// # Errors
/// Why that is not possible.
pub async fn check(access: &Access) -> Result<(), PostError> {
    Imap::open(access).await?.leave().await;
    Ok(())
}

/// Calls `news` whenever something happens in the inbox, until the connection ends; once right after it began, since
/// nobody knows what happened before. Returns when the server cannot say.
///
/// # Errors
/// What ended it.
pub async fn wait_for_news(access: &Access, news: &(dyn Fn() + Send + Sync)) -> Result<(), PostError> {
    let mut imap = Imap::open(access).await?;
    if !imap.can_idle {
        imap.leave().await;
        return Ok(());
    }
    imap.select("INBOX").await?;
    news();
    let mut session = imap.session;
    loop {
        session.as_mut().allow(SMALL);
        let mut idle = session.idle();
        timeout(STALL, idle.init())
            .await
            .map_err(|_| slow(access))?
            .map_err(|e| of(access, e))?;
        // It is the silence that is waited for.
        idle.as_mut().wait_for(IDLE + STALL);
        let answer = {
            let (answer, _interrupt) = idle.wait_with_timeout(IDLE);
            answer.await.map_err(|e| of(access, e))?
        };
        idle.as_mut().wait_for(STALL);
        match answer {
            IdleResponse::NewData(_) => news(),
            IdleResponse::Timeout => {}
            // Its stream has ended, although nobody here ended it.
            IdleResponse::ManualInterrupt => return Err(of(access, ImapError::ConnectionLost)),
        }
        session = timeout(STALL, idle.done())
            .await
            .map_err(|_| slow(access))?
            .map_err(|e| of(access, e))?;
    }
}

/// Answers one challenge; a second one is an error's explanation, which wants an answer of its own.
struct Words(Option<String>, &'static str);

impl Authenticator for Words {
    type Response = String;

    fn process(&mut self, _challenge: &[u8]) -> String {
        self.0.take().unwrap_or_else(|| self.1.to_owned())
    }
}

/// How the server wants to be shown a token, asked before anybody has logged in; nothing where it takes none. Where TLS began
/// at once its greeting is still to be read.
async fn token_way(wire: &mut Wire, greets: bool) -> std::io::Result<Option<Mechanism>> {
    if greets {
        wire.line().await?;
    }
    wire.say("t0 CAPABILITY\r\n").await?;
    let mut offers = String::new();
    for _ in 0..MAX_OFFERS {
        let line = wire.line().await?;
        let line = String::from_utf8_lossy(&line);
        match line.strip_prefix("* CAPABILITY ") {
            Some(words) => offers.push_str(words),
            None if line.starts_with("t0 ") => {
                let offered = offers.split_whitespace();
                return Ok(Mechanism::of(
                    offered.filter_map(|word| word.get(5..).filter(|_| is_way(word))),
                ));
            }
            None => {}
        }
    }
    Err(std::io::ErrorKind::InvalidData.into())
}

/// Whether a capability is a way to log in: `AUTH=...`.
fn is_way(capability: &str) -> bool {
    capability
        .get(..5)
        .is_some_and(|front| front.eq_ignore_ascii_case("AUTH="))
}

async fn greet(access: &Access, wire: Wire) -> Result<Client<Wire>, PostError> {
    let mut client = Client::new(wire);
    greeted(access, &mut client).await?;
    Ok(client)
}

/// Takes the server's greeting.
async fn greeted(access: &Access, client: &mut Client<Wire>) -> Result<(), PostError> {
    let greeting = timeout(STALL, client.read_response()).await;
    match greeting.map_err(|_| slow(access))? {
        Ok(Some(_)) => Ok(()),
        Ok(None) => Err(of(access, ImapError::ConnectionLost)),
        Err(error) => Err(of(access, error.into())),
    }
}

async fn bounded<T>(
    access: &Access,
    work: impl Future<Output = Result<T, ImapError>>,
) -> Result<T, PostError> {
    match timeout(COMMAND, work).await {
        Ok(result) => result.map_err(|e| of(access, e)),
        Err(_) => Err(slow(access)),
    }
}

fn slow(access: &Access) -> PostError {
    unreachable(&access.server, &std::io::ErrorKind::TimedOut.into())
}

fn of(access: &Access, error: ImapError) -> PostError {
    let server = &access.server;
    match error {
        ImapError::Io(error) if error.kind() == std::io::ErrorKind::Other => garbled(server, "it is no IMAP"),
        ImapError::Io(error) => unreachable(server, &error),
        ImapError::ConnectionLost => unreachable(server, &std::io::ErrorKind::UnexpectedEof.into()),
        ImapError::No(said) | ImapError::Bad(said) => PostError::Refused {
            server: server.host.clone(),
            said: plain::one_line(&said, 200),
        },
        ImapError::Append => PostError::Refused {
            server: server.host.clone(),
            said: "it does not take the message".to_owned(),
        },
        other => garbled(server, &other.to_string()),
    }
}

fn role(name: &str, attributes: &[NameAttribute<'_>]) -> Role {
    if name.eq_ignore_ascii_case("INBOX") {
        return Role::Inbox;
    }
    let roles = attributes.iter().filter_map(|attribute| match attribute {
        NameAttribute::Sent => Some(Role::Sent),
        NameAttribute::Drafts => Some(Role::Drafts),
        NameAttribute::Archive => Some(Role::Archive),
        NameAttribute::Trash => Some(Role::Trash),
        NameAttribute::Junk | NameAttribute::All | NameAttribute::Flagged => Some(Role::Skipped),
        _ => None,
    });
    roles.min().unwrap_or(Role::Other)
}

/// What a folder is for by its name, in the words of common servers.
fn named(folder: &Folder) -> Role {
    let delimiter = folder
        .delimiter
        .as_deref()
        .filter(|d| !d.is_empty())
        .unwrap_or("/");
    let mut parts: Vec<&str> = folder.name.split(delimiter).collect();
    if parts.len() == 2 && parts[0].eq_ignore_ascii_case("INBOX") {
        parts.remove(0);
    }
    let [name] = parts[..] else { return Role::Other };
    match name.to_ascii_lowercase().as_str() {
        "sent" | "sent items" | "sent messages" | "sent mail" => Role::Sent,
        "drafts" => Role::Drafts,
        "archive" | "archives" => Role::Archive,
        "trash" | "deleted items" | "deleted messages" => Role::Trash,
        "junk" | "spam" | "junk e-mail" | "junk email" => Role::Skipped,
        _ => Role::Other,
    }
}

fn letters(fetch: &Fetch) -> String {
    let mut all: Vec<char> = fetch
        .flags()
        .filter_map(|flag| match flag {
            Flag::Draft => Some('D'),
            Flag::Flagged => Some('F'),
            Flag::Answered => Some('R'),
            Flag::Seen => Some('S'),
            Flag::Deleted => Some('T'),
            _ => None,
        })
        .collect();
    all.sort_unstable();
    all.into_iter().collect()
}

fn names(letters: impl Iterator<Item = char>) -> String {
    let names: Vec<&str> = letters
        .filter_map(|letter| match letter {
            'D' => Some("\\Draft"),
            'F' => Some("\\Flagged"),
            'R' => Some("\\Answered"),
            'S' => Some("\\Seen"),
            'T' => Some("\\Deleted"),
            _ => None,
        })
        .collect();
    names.join(" ")
}

/// A Message-ID without its brackets.
pub fn bare(id: &str) -> &str {
    id.trim().trim_start_matches('<').trim_end_matches('>')
}

/// Numbers as a command takes them.
fn set(uids: &[u32]) -> String {
    let all: Vec<String> = uids.iter().map(u32::to_string).collect();
    all.join(",")
}
