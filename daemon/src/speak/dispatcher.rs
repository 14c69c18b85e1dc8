//! speech-dispatcher, the speech server of Linux desktops, over SSIP (its protocol of lines) on its unix socket.
//!
//! <https://htmlpreview.github.io/?https://github.com/brailcom/speechd/blob/master/doc/ssip.html>. Whatever comes from there is
//! bounded: lines, their number, and the time until each answer.

use std::{
    collections::VecDeque,
    io,
    os::unix::ffi::OsStrExt as _,
    path::{Path, PathBuf},
    process::Stdio,
    time::Duration,
};

use async_trait::async_trait;
use tokio::{net::UnixStream, process::Command, time::timeout};
use tools::system::plain;

use super::{Pieces, Settings, Trouble, Voice, program::find};

/// How long the server has for an answer.
const ANSWER: Duration = Duration::from_secs(3);
/// How long it may take to start: it starts its voices before it listens.
const STARTING: Duration = Duration::from_secs(8);
/// How often it is looked whether it has.
const LOOK: Duration = Duration::from_millis(50);
/// How long it may take from a text to its first sound. A program of higher rank may be speaking.
const SOUND: Duration = Duration::from_secs(6);
/// Longest line of an answer, bytes.
const MAX_LINE: usize = 4096;
/// Most lines of an answer: it may list a few hundred voices.
const MAX_LINES: usize = 2000;

/// Said where there is none.
const ABSENT: &str = "speech-dispatcher is not installed. Install it with its espeak-ng module.";

/// The server's own program.
const SERVER: &str = "speech-dispatcher";

/// What a speed of 1 and a loudness of 1 are there.
const USUAL_RATE: i32 = 0;
const USUAL_VOLUME: i32 = 100;

/// speech-dispatcher.
pub struct Dispatcher {
    /// The socket of a test.
    socket: Option<PathBuf>,
    name: String,
    rate: i32,
    volume: i32,
}

impl Dispatcher {
    /// With this speaker, speed and loudness.
    pub fn of(settings: &Settings) -> Dispatcher {
        Dispatcher {
            socket: settings.socket.clone(),
            name: plain::one_line(&settings.name, 200),
            rate: rate(settings.rate),
            // From -100 to 100, which is what it is when nobody says.
            volume: (settings.volume * 200.0 - 100.0).round().clamp(-100.0, 100.0) as i32,
        }
    }

    /// Connects, and starts the server where it is installed and nobody has.
    async fn connect(&self) -> Result<UnixStream, Trouble> {
        match self.find().await? {
            Found::Running(stream) => Ok(stream),
            Found::Startable(socket) => match timeout(STARTING, start(&socket)).await {
                Ok(stream) => stream,
                Err(_) => Err(cannot("it does not start")),
            },
        }
    }

    async fn find(&self) -> Result<Found, Trouble> {
        let socket = match &self.socket {
            Some(socket) => socket.clone(),
            None => address()?,
        };
        match timeout(ANSWER, UnixStream::connect(&socket)).await {
            Ok(Ok(stream)) => return Ok(Found::Running(stream)),
            Ok(Err(error)) if absent(&error) && self.socket.is_none() => {}
            Ok(Err(error)) => return Err(cannot(&error.to_string())),
            Err(_) => return Err(cannot("it does not answer")),
        }
        if find(SERVER).is_none() {
            return Err(Trouble::Absent(ABSENT.to_owned()));
        }
        Ok(Found::Startable(socket))
    }

    /// Says how it should be spoken.
    async fn open(&self, stream: UnixStream) -> Result<Talk, Trouble> {
        let mut talk = Talk {
            stream,
            read: Vec::new(),
            lines: VecDeque::new(),
            speaking: Speaking::Nothing,
            refused: false,
        };
        let user = plain::one_line(&std::env::var("USER").unwrap_or_default(), 40).replace([' ', ':'], "_");
        let user = if user.is_empty() { "user" } else { &user };
        talk.order(&format!("SET SELF CLIENT_NAME {user}:tiro:main"))
            .await?;
        let modules = talk.order("LIST OUTPUT_MODULES").await?;
        if !modules.iter().any(|module| module != "dummy") {
            let what =
                "speech-dispatcher has no voice. Install its espeak-ng module (speech-dispatcher-espeak-ng).";
            return Err(Trouble::Absent(what.to_owned()));
        }
        talk.order("SET SELF NOTIFICATION ALL ON").await?;
        // What these are is taste; a voice that does not know them speaks all the same.
        let mut wishes = vec![
            // Waits for its turn, and what a screen reader says in passing waits for it.
            "SET SELF PRIORITY message".to_owned(),
            "SET SELF SSML_MODE off".to_owned(),
            "SET SELF PUNCTUATION some".to_owned(),
            // What Tiro says is English, whatever the desktop speaks.
            "SET SELF LANGUAGE en".to_owned(),
        ];
        // Who wished for nothing here has what they chose for the whole desktop: a screen reader's speed, say.
        let own = [
            ("RATE", self.rate, USUAL_RATE),
            ("VOLUME", self.volume, USUAL_VOLUME),
        ];
        let own = own.into_iter().filter(|(_, now, usual)| now != usual);
        wishes.extend(own.map(|(what, now, _)| format!("SET SELF {what} {now}")));
        if !self.name.is_empty() {
            wishes.push(format!("SET SELF SYNTHESIS_VOICE {}", self.name));
        }
        for wish in wishes {
            match talk.order(&wish).await {
                Err(Trouble::Failed(why)) if talk.refused => {
                    tracing::debug!(wish, why, "speech-dispatcher does not follow")
                }
                done => drop(done?),
            }
        }
        Ok(talk)
    }
}

#[async_trait]
impl Voice for Dispatcher {
    fn name(&self) -> &str {
        SERVER
    }

    async fn there(&self) -> Result<String, Trouble> {
        let mut talk = match self.find().await? {
            Found::Running(stream) => self.open(stream).await?,
            // Looking at it makes no difference.
            Found::Startable(_) => return Ok("speech-dispatcher, which starts when it is needed.".to_owned()),
        };
        let modules = talk.order("LIST OUTPUT_MODULES").await?;
        let names: Vec<String> = modules.iter().map(|name| plain::one_line(name, 40)).collect();
        Ok(format!(
            "speech-dispatcher with {}.",
            plain::listed(&names, "and")
        ))
    }

    async fn say(&self, pieces: &Pieces) -> Result<(), Trouble> {
        let Some(mut piece) = pieces.next().await else {
            return Ok(());
        };
        let stream = self.connect().await?;
        let mut talk = self.open(stream).await?;
        loop {
            talk.speak(&piece).await?;
            pieces.spoken();
            piece = match pieces.next().await {
                Some(next) => next,
                None => break,
            };
        }
        talk.send("QUIT\r\n").await
    }
}

/// Where the server is.
enum Found {
    Running(UnixStream),
    /// It would listen there.
    Startable(PathBuf),
}

/// What of ours the server has.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Speaking {
    Nothing,
    /// A text of which it may not have seen the end.
    Half,
    /// A text that it speaks, or will.
    Whole,
}

/// A connection. Dropped while something is spoken, that is stopped.
struct Talk {
    stream: UnixStream,
    /// The beginning of a line.
    read: Vec<u8>,
    lines: VecDeque<String>,
    speaking: Speaking,
    /// Whether the last order was answered, with a no.
    refused: bool,
}

/// A line of the server: `250-text` or, the last one of an answer, `250 text`.
#[derive(Debug, PartialEq, Eq)]
struct Line<'a> {
    code: u16,
    last: bool,
    text: &'a str,
}

impl<'a> Line<'a> {
    fn of(line: &'a str) -> Option<Line<'a>> {
        let (code, rest) = line.split_at_checked(3)?;
        let digits = code.bytes().all(|byte| byte.is_ascii_digit());
        let code = code.parse().ok().filter(|_| digits)?;
        let (last, text) = match rest.split_at_checked(1) {
            Some((" ", text)) => (true, text),
            Some(("-", text)) => (false, text),
            None if rest.is_empty() => (true, ""),
            _ => return None,
        };
        Some(Line { code, last, text })
    }

    /// Whether it tells what goes on instead of answering.
    fn is_event(&self) -> bool {
        self.code / 100 == 7
    }
}

/// What happened to a text.
#[derive(Debug, PartialEq, Eq)]
enum Happened {
    Begins,
    Ends,
    Cancelled,
}

impl Talk {
    /// Gives an order; the lines of its answer but the last.
    async fn order(&mut self, order: &str) -> Result<Vec<String>, Trouble> {
        self.send(&format!("{order}\r\n")).await?;
        self.answer().await
    }

    async fn answer(&mut self) -> Result<Vec<String>, Trouble> {
        let (mut texts, mut events) = (Vec::new(), VecDeque::new());
        self.refused = false;
        for _ in 0..MAX_LINES {
            let whole = self.line(ANSWER).await?;
            let Some(line) = Line::of(&whole) else {
                return Err(cannot("it answers something that I do not understand"));
            };
            match (line.code, line.last) {
                // What went on meanwhile is read afterwards.
                _ if line.is_event() => events.push_back(whole),
                (200..300, false) => texts.push(line.text.to_owned()),
                (200..300, true) => {
                    events.append(&mut self.lines);
                    self.lines = events;
                    return Ok(texts);
                }
                // What else there is are refusals.
                (_, true) => {
                    self.refused = true;
                    return Err(cannot(&plain::one_line(line.text, 100).to_lowercase()));
                }
                (_, false) => {}
            }
        }
        Err(cannot("its answer has no end"))
    }

    /// Has a piece spoken, to its end.
    async fn speak(&mut self, piece: &str) -> Result<(), Trouble> {
        self.order("SPEAK").await?;
        self.speaking = Speaking::Half;
        self.send(&text(piece)).await?;
        self.speaking = Speaking::Whole;
        let answer = self.answer().await?;
        let Some(id) = answer.first().and_then(|id| id.trim().parse::<u64>().ok()) else {
            return Err(cannot("it does not say which number the text has"));
        };
        let mut begun = false;
        loop {
            // How long it may take from then on, who calls this knows best.
            let patience = if begun { Duration::MAX } else { SOUND };
            match self.happened(id, patience).await? {
                Happened::Begins => begun = true,
                Happened::Ends => {
                    self.speaking = Speaking::Nothing;
                    return Ok(());
                }
                Happened::Cancelled => {
                    self.speaking = Speaking::Nothing;
                    return Err(Trouble::Silenced);
                }
            }
        }
    }

    /// The next event of this text. Each is three lines: its number, that of the client, and what happened.
    async fn happened(&mut self, id: u64, patience: Duration) -> Result<Happened, Trouble> {
        let mut first = None;
        loop {
            let line = self.line(patience).await?;
            let Some(line) = Line::of(&line).filter(Line::is_event) else {
                return Err(cannot("it says something that I do not understand"));
            };
            if !line.last {
                first.get_or_insert_with(|| line.text.trim().parse::<u64>().ok());
                continue;
            }
            if first.take().flatten() == Some(id) {
                match line.code {
                    701 => return Ok(Happened::Begins),
                    702 => return Ok(Happened::Ends),
                    703 => return Ok(Happened::Cancelled),
                    // Index marks, and that somebody lets it pause and go on.
                    _ => {}
                }
            }
        }
    }

    async fn send(&mut self, text: &str) -> Result<(), Trouble> {
        let mut left = text.as_bytes();
        let writing = async {
            while !left.is_empty() {
                self.stream.writable().await?;
                match self.stream.try_write(left) {
                    Ok(written) => left = &left[written..],
                    Err(error) if error.kind() == io::ErrorKind::WouldBlock => {}
                    Err(error) => return Err(error),
                }
            }
            Ok(())
        };
        match timeout(ANSWER, writing).await {
            Ok(sent) => sent.map_err(|error| cannot(&error.to_string())),
            Err(_) => Err(cannot("it does not answer")),
        }
    }

    /// The next line, without its end.
    async fn line(&mut self, patience: Duration) -> Result<String, Trouble> {
        if let Some(line) = self.lines.pop_front() {
            return Ok(line);
        }
        let reading = async {
            let mut bytes = [0; MAX_LINE];
            while self.lines.is_empty() {
                self.stream.readable().await?;
                let got = match self.stream.try_read(&mut bytes) {
                    Ok(0) => return Err(io::ErrorKind::UnexpectedEof.into()),
                    Ok(got) => got,
                    Err(error) if error.kind() == io::ErrorKind::WouldBlock => continue,
                    Err(error) => return Err(error),
                };
                self.read.extend_from_slice(&bytes[..got]);
                while let Some(end) = self.read.iter().position(|byte| *byte == b'\n') {
                    let line: Vec<u8> = self.read.drain(..=end).collect();
                    let line = String::from_utf8_lossy(&line);
                    self.lines.push_back(line.trim_end().to_owned());
                }
                if self.read.len() > MAX_LINE {
                    return Err(io::Error::other("a line has no end"));
                }
            }
            Ok(self.lines.pop_front().unwrap_or_default())
        };
        let read = match patience {
            Duration::MAX => Ok(reading.await),
            patience => timeout(patience, reading).await,
        };
        match read {
            Ok(Ok(line)) => Ok(line),
            Ok(Err(error)) if error.kind() == io::ErrorKind::UnexpectedEof => Err(cannot("it went away")),
            Ok(Err(error)) => Err(cannot(&error.to_string())),
            Err(_) => Err(cannot("it does not answer")),
        }
    }
}

impl Drop for Talk {
    fn drop(&mut self) {
        // A text outlives its client, so it has to be stopped. Nobody waits here: what the socket does not take is a server that
        // does not read, and then nothing is heard either.
        let order: &[u8] = match self.speaking {
            Speaking::Nothing => return,
            Speaking::Half => b"\r\n.\r\nCANCEL SELF\r\n",
            Speaking::Whole => b"CANCEL SELF\r\n",
        };
        // A server that is gone raises SIGPIPE, which Rust's runtime ignores.
        let _ = rustix::net::send(&self.stream, order, rustix::net::SendFlags::DONTWAIT);
    }
}

/// A text as it is sent: lines, of which one that begins with a dot gets another one, and a dot alone at the end.
fn text(piece: &str) -> String {
    let mut text = String::with_capacity(piece.len() + 8);
    for line in piece.lines() {
        if line.starts_with('.') {
            text.push('.');
        }
        text.push_str(line);
        text.push_str("\r\n");
    }
    text.push_str(".\r\n");
    text
}

/// From -100 to 100, where 0 is usual and the ends are what its voices can: about half as fast, and two and a half times.
fn rate(factor: f32) -> i32 {
    let rate = match factor < 1.0 {
        true => (factor - 1.0) * 190.0,
        false => (factor - 1.0) * 77.0,
    };
    rate.round().clamp(-100.0, 100.0) as i32
}

/// Where the server listens: what `SPEECHD_ADDRESS` says, or the usual place.
fn address() -> Result<PathBuf, Trouble> {
    let given = std::env::var_os("SPEECHD_ADDRESS").unwrap_or_default();
    place(
        given.as_bytes(),
        std::env::var_os("XDG_RUNTIME_DIR").map(PathBuf::from),
        || {
            let cache = std::env::var_os("XDG_CACHE_HOME").map(PathBuf::from);
            cache.or_else(|| Some(PathBuf::from(std::env::var_os("HOME")?).join(".cache")))
        },
    )
}

fn place(
    given: &[u8],
    runtime: Option<PathBuf>,
    cache: impl FnOnce() -> Option<PathBuf>,
) -> Result<PathBuf, Trouble> {
    let given = String::from_utf8_lossy(given);
    let (method, at) = given.split_once(':').unwrap_or((&given, ""));
    match (method, at) {
        ("unix_socket" | "", at) if at.starts_with('/') => Ok(PathBuf::from(at)),
        ("unix_socket" | "", "") => {
            let folder = runtime.filter(|folder| folder.is_absolute()).or_else(cache);
            let folder = folder.ok_or_else(|| Trouble::Absent("There is no XDG_RUNTIME_DIR.".to_owned()))?;
            Ok(folder.join("speech-dispatcher/speechd.sock"))
        }
        _ => Err(Trouble::Failed(format!(
            "SPEECHD_ADDRESS is {}; I only know unix_socket and unix_socket:/path.",
            plain::one_line(&given, 100)
        ))),
    }
}

/// Starts the server, and connects as soon as it listens.
async fn start(socket: &Path) -> Result<UnixStream, Trouble> {
    tracing::info!("starting speech-dispatcher");
    let started = Command::new(SERVER)
        .args([
            "--spawn",
            "--communication-method",
            "unix_socket",
            "--socket-path",
        ])
        .arg(socket)
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn();
    let mut starting = started.map_err(|error| cannot(&error.to_string()))?;
    loop {
        if let Ok(stream) = UnixStream::connect(socket).await {
            // It goes on by itself; what was started only starts it. Should that still be there, it is waited for elsewhere.
            return Ok(stream);
        }
        if let Ok(Some(status)) = starting.try_wait()
            && !status.success()
        {
            return Err(cannot("it does not start; its config may forbid that"));
        }
        tokio::time::sleep(LOOK).await;
    }
}

/// Whether nobody listens there.
fn absent(error: &io::Error) -> bool {
    use io::ErrorKind as E;
    matches!(error.kind(), E::NotFound | E::ConnectionRefused)
}

fn cannot(why: &str) -> Trouble {
    Trouble::Failed(format!(
        "speech-dispatcher could not speak: {}.",
        why.trim_end_matches('.')
    ))
}

#[cfg(test)]
mod tests;
