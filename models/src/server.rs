//! A language model on a server that speaks OpenAI's chat interface (llama-server, vLLM, Ollama): for people who have a
//! bigger machine on their network.
//!
//! The server renders the prompt with its own model's template, so it is sent messages and tools, and what it calls is
//! given back framed as our own engine would have written it: whoever asks need not know which of the two answered. KV
//! cache, snapshots and memory are the server's affair; here they are nothing.
//!
//! Why ureq on a thread of its own, and not hyper: it is here already, trusts the system's certificates as DAV does,
//! bounds what it waits for, and `Agent::shutdown` ends a request in the middle, so dropping the future ends the work on
//! the server, too.

mod answer;
mod wire;
#[cfg(test)]
mod tests;

use std::{
    io::Read as _,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::{Duration, Instant},
};

use async_trait::async_trait;
use serde_json::Value;
use tokio::sync::mpsc;
use ureq::{
    Agent, Body, Timeout,
    http::{self, HeaderValue, Request, Response, Uri, header},
    tls::{RootCerts, TlsConfig},
};

use crate::{
    EngineError,
    llm::{Chat, End, Generate, Generated, Llm, ModelInfo, OnText, Piece, Prepared, Usage},
};
use answer::{Answer, Wrong};
use wire::Manner;

/// Longest time to find the server and to be let in.
const CONNECT: Duration = Duration::from_secs(5);
/// Longest answer of a server that says what is wrong, bytes.
const MAX_COMPLAINT: u64 = 64 * 1024;
/// Longest quotation of it, characters.
const MAX_QUOTE: usize = 200;
/// So many models of a server are listed.
const MAX_MODELS: usize = 200;
/// A token has about so many bytes; less than it really has, so that a prompt is rather taken to be too long.
const BYTES_PER_TOKEN: usize = 3;

/// Which server.
#[derive(Debug, Clone)]
pub struct ServerConfig {
    /// `https://host:port`.
    pub origin: String,
    /// The path that `/chat/completions` is added to, encoded; `/` stands for `/v1`.
    pub path: String,
    /// The model, as the server calls it; empty takes the first one that it lists.
    pub model: String,
    /// Its window in tokens.
    pub context: u32,
    /// How long the server may be silent.
    pub silence: Duration,
    /// What `info` says of the architecture, by which it is known how to speak to the model.
    pub architecture: String,
}

/// Where the key comes from.
#[async_trait]
pub trait Keys: Send + Sync {
    /// The key, or nothing where none is needed.
    ///
    /// # Errors
    /// Why there is none although there should be, and what to do.
    async fn key(&self) -> Result<Option<String>, String>;
}

/// The client of one server.
pub struct ModelServer {
    config: ServerConfig,
    base: String,
    keys: Arc<dyn Keys>,
    known: Mutex<Known>,
}

/// What was learnt about the server.
#[derive(Default)]
struct Known {
    /// The key, once it was asked for.
    key: Option<Key>,
    /// The model that stands for none.
    model: Option<String>,
    /// How it has to be asked.
    manner: Manner,
}

/// A key; it is never printed.
#[derive(Clone)]
struct Key(Option<String>);

/// What is done with a connection. The last one gets words as they come, and says whether anybody still wants them.
type Exchange<T> = fn(Agent, Request<Vec<u8>>, &mut dyn FnMut(&str) -> bool) -> Result<T, Failure>;

/// Why there is no answer.
enum Failure {
    /// No connection, or it broke before an answer began.
    Line(ureq::Error),
    /// It said no.
    Status {
        code: u16,
        complaint: String,
        moved: Option<String>,
    },
    /// What came cannot be used.
    Wrong(Wrong),
    /// What came is of another kind.
    Kind(String),
}

impl ModelServer {
    /// A client; nothing is asked yet.
    pub fn new(config: ServerConfig, keys: Arc<dyn Keys>) -> ModelServer {
        let path = match config.path.trim_end_matches('/') {
            "" => "/v1",
            path => path,
        };
        ModelServer {
            base: format!("{}{path}", config.origin),
            config,
            keys,
            known: Mutex::default(),
        }
    }

    /// The models that the server lists.
    ///
    /// # Errors
    /// Why it does not.
    pub async fn models(&self) -> Result<Vec<String>, EngineError> {
        let key = self.key().await?;
        let request = self.request("GET", "/models", &key)?.body(Vec::new());
        let request = request.map_err(|e| self.trouble(&e.to_string()))?;
        let mut nobody = |_: &str| {};
        let listed = self.talk(request, |agent, request, _| list(&agent, request), &mut nobody);
        listed.await.map_err(|failure| self.error(failure, &key))
    }

    fn known(&self) -> MutexGuard<'_, Known> {
        self.known.lock().unwrap_or_else(PoisonError::into_inner)
    }

    async fn key(&self) -> Result<Key, EngineError> {
        if let Some(key) = self.known().key.clone() {
            return Ok(key);
        }
        let key = Key(self.keys.key().await.map_err(EngineError::Server)?);
        self.known().key = Some(key.clone());
        Ok(key)
    }

    async fn model(&self) -> Result<String, EngineError> {
        if !self.config.model.is_empty() {
            return Ok(self.config.model.clone());
        }
        if let Some(model) = self.known().model.clone() {
            return Ok(model);
        }
        let first = self.models().await?.into_iter().next();
        let model = first
            .ok_or_else(|| EngineError::Server(format!("{} has no model; load one there", self.name())))?;
        self.known().model = Some(model.clone());
        Ok(model)
    }

    fn request(&self, method: &str, path: &str, key: &Key) -> Result<http::request::Builder, EngineError> {
        let mut request = Request::builder()
            .method(method)
            .uri(format!("{}{path}", self.base))
            .header(header::CONTENT_TYPE, "application/json");
        if let Some(key) = &key.0 {
            let Ok(mut value) = HeaderValue::from_str(&format!("Bearer {key}")) else {
                return Err(self.trouble("its key holds what no key holds"));
            };
            value.set_sensitive(true);
            request = request.header(header::AUTHORIZATION, value);
        }
        Ok(request)
    }

    /// Does one exchange on a thread of its own. Dropping the future ends it.
    async fn talk<T: Send + 'static>(
        &self,
        request: Request<Vec<u8>>,
        exchange: Exchange<T>,
        on_text: OnText<'_>,
    ) -> Result<T, Failure> {
        let agent = self.agent();
        let line = Line(Some(agent.clone()));
        // What goes through it is bounded where it is read.
        let (words, mut heard) = mpsc::unbounded_channel::<String>();
        let work = tokio::task::spawn_blocking(move || {
            exchange(agent, request, &mut |text| words.send(text.to_owned()).is_ok())
        });
        while let Some(text) = heard.recv().await {
            on_text(&text);
        }
        let done = work.await;
        drop(line);
        done.unwrap_or_else(|_| Err(Failure::Wrong(Wrong::Broken("its reader failed".to_owned()))))
    }

    fn agent(&self) -> Agent {
        let silence = Some(self.config.silence);
        let mut config = Agent::config_builder()
            .user_agent(concat!("tiro/", env!("CARGO_PKG_VERSION")))
            .accept_encoding("identity")
            .http_status_as_error(false)
            // Nobody but this server may hear what was said, nor its key.
            .max_redirects(0)
            .timeout_resolve(Some(CONNECT))
            .timeout_connect(Some(CONNECT))
            .timeout_recv_response(silence)
            .timeout_per_read(silence)
            .timeout_per_write(silence)
            .tls_config(
                TlsConfig::builder()
                    .root_certs(RootCerts::PlatformVerifier)
                    .build(),
            );
        if self.base.starts_with("http://") {
            // A server without TLS is on this machine or network, where no proxy leads.
            config = config.proxy(None);
        }
        config.build().into()
    }

    fn name(&self) -> String {
        format!("the model server at {}", self.config.origin)
    }

    fn trouble(&self, what: &str) -> EngineError {
        EngineError::Server(format!("{} cannot be used: {what}", self.name()))
    }

    /// What the person is told, and what to do.
    fn error(&self, failure: Failure, key: &Key) -> EngineError {
        let name = self.name();
        let says = match failure {
            Failure::Line(error) => self.line_trouble(&error),
            Failure::Status {
                code,
                complaint,
                moved,
            } => {
                let complaint = quote(&complaint, key);
                if matches!(code, 400 | 413 | 422 | 500) && is_too_long(&complaint) {
                    return EngineError::TooLong(format!("that is too long for {name}{complaint}"));
                }
                match (code, &key.0) {
                    (401 | 403, None) => format!(
                        "{name} wants a key{complaint}; set llm.server.key_command, key_file or keyring"
                    ),
                    (401 | 403, Some(_)) => {
                        // The next request asks for it again: it may have been renewed.
                        self.known().key = None;
                        format!(
                            "{name} does not take this key{complaint}; correct it where llm.server says it is"
                        )
                    }
                    (404 | 405, _) => {
                        self.known().model = None;
                        let model = match &*self.config.model {
                            "" => String::new(),
                            model => format!("has no model {model}, or "),
                        };
                        format!(
                            "{name} {model}does not answer at this address{complaint}; correct llm.server.model or llm.server.url"
                        )
                    }
                    (300..=399, _) => {
                        let to = moved.map_or_else(|| "elsewhere".to_owned(), |to| format!("to {to}"));
                        format!("{name} points {to}, where nothing is sent; correct llm.server.url")
                    }
                    (429, _) => format!("{name} has too much to do{complaint}; try again in a moment"),
                    (503, _) => format!("{name} is not ready yet{complaint}; try again in a moment"),
                    (500..=599, _) => {
                        format!("{name} failed with status {code}{complaint}; what it logs says more")
                    }
                    _ => format!("{name} refused the request with status {code}{complaint}"),
                }
            }
            Failure::Wrong(Wrong::Complaint(complaint)) => {
                let complaint = quote(&complaint, key);
                if is_too_long(&complaint) {
                    return EngineError::TooLong(format!("that is too long for {name}{complaint}"));
                }
                format!("{name} failed{complaint}; what it logs says more")
            }
            Failure::Wrong(Wrong::Silent) => self.silent(),
            Failure::Wrong(Wrong::Broken(why)) => format!("{name} broke off ({})", plain(&why)),
            Failure::Wrong(Wrong::Endless) => format!("{name} sent more than any answer needs"),
            Failure::Wrong(Wrong::Garbage) => {
                format!("{name} answered what cannot be read; is llm.server.url that of a model server")
            }
            Failure::Kind(kind) => {
                format!("{name} answered with {kind}, which no model server does; correct llm.server.url")
            }
        };
        EngineError::Server(says)
    }

    fn silent(&self) -> String {
        let seconds = self.config.silence.as_secs_f32();
        format!(
            "{} was silent for {seconds} s; llm.server.timeout may allow more",
            self.name()
        )
    }

    fn line_trouble(&self, error: &ureq::Error) -> String {
        let (name, why) = (self.name(), plain(&error.to_string()));
        match error {
            ureq::Error::Timeout(Timeout::Connect | Timeout::Resolve) => format!(
                "{name} cannot be reached within {} s; start it, or correct llm.server.url",
                CONNECT.as_secs()
            ),
            ureq::Error::Timeout(_) => self.silent(),
            ureq::Error::Io(_) | ureq::Error::Rustls(_) | ureq::Error::Tls(_)
                if why.contains("certificate") =>
            {
                format!(
                    "the certificate of {name} is not trusted here ({why}); add it to those of the system"
                )
            }
            ureq::Error::Io(_) | ureq::Error::HostNotFound | ureq::Error::ConnectionFailed => {
                format!("{name} cannot be reached ({why}); start it, or correct llm.server.url")
            }
            _ => format!("{name} cannot be used ({why}); is llm.server.url right"),
        }
    }

    /// What came, as whoever asked reads it; `sent` is the length of the request in bytes.
    fn generated(answer: Answer, sent: usize, chat: &Chat, started: Instant) -> Generated {
        let (now, began) = (Instant::now(), answer.began.unwrap_or_else(Instant::now));
        let ms = |from: Instant, to: Instant| to.saturating_duration_since(from).as_secs_f32() * 1e3;
        let text = match &answer.call {
            Some(call) => framed(call, &chat.frame),
            None => answer.text,
        };
        Generated {
            end: match answer.cut {
                true => End::Length,
                false => End::Turn,
            },
            usage: Usage {
                prompt: answer.cost.prompt.unwrap_or_else(|| tokens(sent)),
                cached: answer.cost.cached.unwrap_or(0),
                generated: answer.cost.generated.unwrap_or_else(|| tokens(text.len())),
                prefill_ms: ms(started, began),
                decode_ms: ms(began, now),
            },
            text,
        }
    }
}

#[async_trait]
impl Llm for ModelServer {
    async fn info(&self) -> Result<ModelInfo, EngineError> {
        let model = self.known().model.clone();
        let name = match (&*self.config.model, model) {
            ("", None) => "the first model".to_owned(),
            ("", Some(model)) => model,
            (model, _) => model.to_owned(),
        };
        Ok(ModelInfo {
            name,
            architecture: self.config.architecture.clone(),
            context: self.config.context,
            device: self.config.origin.clone(),
            sandbox: "none of ours".to_owned(),
            ..ModelInfo::default()
        })
    }

    /// Estimates, because the interface has no way to ask.
    async fn count(&self, pieces: &[Piece]) -> Result<Vec<u32>, EngineError> {
        Ok(pieces.iter().map(estimate).collect())
    }

    /// Does nothing: what the server keeps is its affair.
    async fn prepare(&self, _prefix: &[Piece]) -> Result<Prepared, EngineError> {
        Ok(Prepared::default())
    }

    async fn generate(&self, request: Generate, on_text: OnText<'_>) -> Result<Generated, EngineError> {
        let started = Instant::now();
        let Some(chat) = request.chat.as_ref().filter(|_| request.max_tokens > 0) else {
            // Only to be evaluated ahead of time.
            return Ok(Generated {
                text: String::new(),
                end: End::Length,
                usage: Usage::default(),
            });
        };
        let (key, model) = (self.key().await?, self.model().await?);
        let mut spent = Usage::default();
        loop {
            let manner = self.known().manner.clone();
            let body = wire::body(&model, &request, chat, &manner).to_string();
            let sent = body.len();
            let wire = self
                .request("POST", "/chat/completions", &key)?
                .body(body.into_bytes())
                .map_err(|e| self.trouble(&e.to_string()))?;
            // Words are no answer where a call is required.
            let mut nobody = |_: &str| {};
            let heard = match chat.must_call {
                true => self.talk(wire, ask, &mut nobody).await,
                false => self.talk(wire, ask, on_text).await,
            };
            match heard {
                Ok(answer) => {
                    let bare = chat.must_call && answer.call.is_none();
                    if bare && !manner.holds_to_calls() {
                        tracing::info!(
                            server = self.config.origin,
                            "the model server does not hold its model to calls, so it is asked for JSON from now on"
                        );
                        self.known().manner.by_schema = true;
                    }
                    let again = bare && !manner.holds_to_calls() && !is_like_a_call(&answer.text);
                    let mut generated = ModelServer::generated(answer, sent, chat, started);
                    generated.usage = added(spent, generated.usage);
                    match again {
                        true => spent = generated.usage,
                        false => return Ok(generated),
                    }
                }
                Err(Failure::Status {
                    code: 400 | 422 | 501,
                    complaint,
                    ..
                }) if let Some(field) = refused(&complaint, &manner) => {
                    tracing::warn!(
                        field,
                        server = self.config.origin,
                        "the model server does not know this field, so it is left out from now on"
                    );
                    self.known().manner.without.insert(field);
                }
                Err(failure) => return Err(self.error(failure, &key)),
            }
        }
    }

    fn server(&self) -> Option<&str> {
        Some(&self.config.origin)
    }
}

/// Ends the requests of an agent when it goes; those that are over are not touched.
struct Line(Option<Agent>);

impl Drop for Line {
    fn drop(&mut self) {
        if let Some(agent) = self.0.take() {
            agent.shutdown();
        }
    }
}

/// Sends a question and reads the answer.
fn ask(
    agent: Agent,
    request: Request<Vec<u8>>,
    on_text: &mut dyn FnMut(&str) -> bool,
) -> Result<Answer, Failure> {
    let answer = good(agent.run(request).map_err(Failure::Line)?)?;
    let kind = kind(&answer);
    let body = answer.into_body().into_with_config().limit(u64::MAX).reader();
    match &*kind {
        "text/event-stream" => answer::events(body, on_text).map_err(Failure::Wrong),
        // Not all servers can stream.
        "application/json" => answer::document(body, on_text).map_err(Failure::Wrong),
        _ => Err(Failure::Kind(kind)),
    }
}

/// Asks for the names of models.
fn list(agent: &Agent, request: Request<Vec<u8>>) -> Result<Vec<String>, Failure> {
    let answer = good(agent.run(request.map(|_| ())).map_err(Failure::Line)?)?;
    let kind = kind(&answer);
    if kind != "application/json" {
        return Err(Failure::Kind(kind));
    }
    let body = answer.into_body().into_with_config().limit(u64::MAX).reader();
    let bytes = answer::whole(body).map_err(Failure::Wrong)?;
    let value: Value = serde_json::from_slice(&bytes).map_err(|_| Failure::Wrong(Wrong::Garbage))?;
    let models = value["data"].as_array().ok_or(Failure::Wrong(Wrong::Garbage))?;
    let names = models.iter().filter_map(|model| model["id"].as_str());
    Ok(names
        .filter(|name| !name.is_empty() && name.len() <= 500 && !name.contains(char::is_control))
        .take(MAX_MODELS)
        .map(str::to_owned)
        .collect())
}

/// An answer that says yes.
fn good(answer: Response<Body>) -> Result<Response<Body>, Failure> {
    if answer.status().is_success() {
        return Ok(answer);
    }
    let code = answer.status().as_u16();
    // Only where to, so that nothing else of a hostile header is shown.
    let moved = answer.headers().get(header::LOCATION).and_then(|to| {
        let to: Uri = to.to_str().ok()?.parse().ok()?;
        to.host().map(|host| host.chars().take(100).collect())
    });
    let html = kind(&answer) == "text/html";
    let mut bytes = Vec::new();
    let body = answer.into_body().into_with_config().limit(u64::MAX).reader();
    // What does not come is not missed: the status says the most.
    let _ = body.take(MAX_COMPLAINT).read_to_end(&mut bytes);
    let complaint = match serde_json::from_slice::<Value>(&bytes) {
        Ok(value) => answer::complaint(&value).unwrap_or_default(),
        Err(_) if html => String::new(),
        Err(_) => String::from_utf8_lossy(&bytes).into_owned(),
    };
    Err(Failure::Status {
        code,
        complaint,
        moved,
    })
}

/// What kind of thing an answer is: `text/html`.
fn kind(answer: &Response<Body>) -> String {
    let kind = answer.headers().get(header::CONTENT_TYPE);
    let kind = kind
        .and_then(|kind| kind.to_str().ok())
        .unwrap_or("something unnamed");
    let kind = kind.split(';').next().unwrap_or_default().trim();
    kind.to_ascii_lowercase().chars().take(60).collect()
}

/// A call as the one who asked wants to read it. Arguments that are no object are left out, so that it reads as a call
/// that was cut off, which it mostly is.
fn framed(call: &answer::Call, [open, middle, close]: &[&str; 3]) -> String {
    let name = Value::from(call.name.trim()).to_string();
    let name = name.get(1..name.len() - 1).unwrap_or_default();
    let arguments = match call.arguments.trim() {
        // A tool without arguments.
        "" | "null" => Ok(Value::Object(serde_json::Map::new())),
        text => serde_json::from_str(text),
    };
    match arguments {
        Ok(arguments @ Value::Object(_)) => format!("{open}{name}{middle}{arguments}{close}"),
        _ => format!("{open}{name}{middle}"),
    }
}

/// Whether a complaint means that the prompt is longer than the window.
fn is_too_long(complaint: &str) -> bool {
    let complaint = complaint.to_lowercase();
    [
        "context length",
        "context size",
        "context window",
        "context_length",
        "exceed_context",
        "too many tokens",
    ]
    .iter()
    .any(|words| complaint.contains(words))
}

/// The field that a complaint is about. What is too long is no fault of a field, though it may name `max_tokens`.
fn refused(complaint: &str, manner: &Manner) -> Option<&'static str> {
    match is_too_long(complaint) {
        true => None,
        false => manner.refused(complaint),
    }
}

/// Whether words may well be read as a call: an object, or one in a fence.
fn is_like_a_call(text: &str) -> bool {
    text.trim_start().starts_with(['{', '`', '<'])
}

/// What two requests cost together; their times are told from the start of the first.
fn added(one: Usage, other: Usage) -> Usage {
    Usage {
        prompt: one.prompt.saturating_add(other.prompt),
        cached: one.cached.saturating_add(other.cached),
        generated: one.generated.saturating_add(other.generated),
        ..other
    }
}

/// The server's own words behind ours: one short line without the key, which some servers repeat.
fn quote(complaint: &str, key: &Key) -> String {
    let complaint = match &key.0 {
        Some(key) => complaint.replace(key.as_str(), "..."),
        None => complaint.to_owned(),
    };
    match plain(&complaint).trim_end_matches(['.', ' ']) {
        "" => String::new(),
        words => format!(" (it says: {words})"),
    }
}

/// One short line without control characters.
fn plain(text: &str) -> String {
    let bare: String = text
        .chars()
        .take(MAX_QUOTE * 4)
        .map(|c| if c.is_control() { ' ' } else { c })
        .collect();
    let words: Vec<&str> = bare.split_whitespace().collect();
    words.join(" ").chars().take(MAX_QUOTE).collect()
}

fn estimate(piece: &Piece) -> u32 {
    tokens(piece.text.len())
}

fn tokens(bytes: usize) -> u32 {
    u32::try_from(bytes.div_ceil(BYTES_PER_TOKEN)).unwrap_or(u32::MAX)
}
