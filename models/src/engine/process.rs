//! One running engine and the socket to it.

use std::{
    collections::{BTreeMap, VecDeque},
    ffi::OsString,
    os::unix::process::ExitStatusExt,
    os::{fd::OwnedFd, unix::net::UnixStream as StdStream},
    path::Path,
    process::{ExitStatus, Stdio},
    sync::{
        Arc, Mutex, MutexGuard, PoisonError,
        atomic::{AtomicU64, Ordering},
    },
    time::{Duration, Instant},
};

use tokio::{
    io::{AsyncBufReadExt, AsyncWriteExt, BufReader},
    net::{
        UnixStream,
        unix::{OwnedReadHalf, OwnedWriteHalf},
    },
    process::{Child, ChildStderr, Command},
    sync::{Notify, mpsc, watch},
    time::timeout,
};

use super::Limits;
use crate::{
    EngineError,
    protocol::{self, Dialect, FromEngine, Hello, ToEngine},
};

/// What an engine inherits of the environment: where things are, which GPU, how to log. Secrets stay here.
const INHERITED: &[&str] = &[
    "PATH",
    "HOME",
    "LANG",
    "LD_LIBRARY_PATH",
    "DYLD_LIBRARY_PATH",
    "CUDA_VISIBLE_DEVICES",
    "GGML_VK_VISIBLE_DEVICES",
    "VK_ICD_FILENAMES",
    "TIRO_ENGINE_LOG",
    "RUST_BACKTRACE",
];

/// A running engine. Dropping it closes the socket, upon which the engine exits and is reaped.
pub(super) struct Connection<D: Dialect> {
    pub(super) pid: u32,
    limits: Limits,
    frames: mpsc::UnboundedSender<Vec<u8>>,
    shared: Arc<Shared<D>>,
    next_id: AtomicU64,
    ended: watch::Receiver<Option<String>>,
}

struct Shared<D: Dialect> {
    /// What the engine was asked and has not answered, in the order in which it works; nothing for what nobody wants any more.
    asked: Mutex<BTreeMap<u64, Option<mpsc::UnboundedSender<Event<D>>>>>,
    /// Somebody does not want an answer any more.
    dropped: Notify,
    heard: Mutex<Instant>,
    kill: Notify,
    killed_because: Mutex<Option<String>>,
}

/// What a call gets.
pub(super) enum Event<D: Dialect> {
    Part(D::Part),
    Done(Result<D::Answer, EngineError>),
}

impl<D: Dialect> Connection<D> {
    /// Starts the program and greets it.
    pub(super) async fn start(
        program: &Path,
        arguments: &[OsString],
        limits: Limits,
    ) -> Result<Connection<D>, EngineError> {
        let failed = |what: &str, e: std::io::Error| EngineError::Crashed {
            engine: D::ENGINE.into(),
            how: format!("{what}: {e}"),
        };
        let (ours, theirs) = StdStream::pair().map_err(|e| failed("no socket", e))?;
        let mut child = spawn(program, arguments, theirs).map_err(|e| failed("it does not start", e))?;
        let pid = child.id().unwrap_or(0);
        let said = Arc::new(Mutex::new(VecDeque::new()));
        if let Some(stderr) = child.stderr.take() {
            tokio::spawn(read_log(D::ENGINE, stderr, Arc::clone(&said)));
        }
        ours.set_nonblocking(true).map_err(|e| failed("no socket", e))?;
        let stream = UnixStream::from_std(ours).map_err(|e| failed("no socket", e))?;
        let (mut reader, mut writer) = stream.into_split();
        match timeout(limits.start, greet(&mut reader, &mut writer)).await {
            Ok(Ok(())) => {}
            Ok(Err(mismatch @ EngineError::Protocol(_))) if child.try_wait().is_ok_and(|s| s.is_none()) => {
                return Err(mismatch);
            }
            other => {
                let how = match other {
                    Err(_) => format!("it did not answer for {:?} after its start", limits.start),
                    _ => describe(child.wait().await.ok(), &lock(&said)),
                };
                drop(child.start_kill());
                drop(child.wait().await);
                return Err(EngineError::Crashed {
                    engine: D::ENGINE.into(),
                    how,
                });
            }
        }
        let shared = Arc::new(Shared {
            asked: Mutex::default(),
            dropped: Notify::new(),
            heard: Mutex::new(Instant::now()),
            kill: Notify::new(),
            killed_because: Mutex::default(),
        });
        let (frames, outgoing) = mpsc::unbounded_channel();
        let (on_end, ended) = watch::channel(None);
        tokio::spawn(write_all(writer, outgoing));
        tokio::spawn(watch_over(
            child,
            reader,
            Arc::clone(&shared),
            limits.give_up,
            said,
            on_end,
        ));
        Ok(Connection {
            pid,
            limits,
            frames,
            shared,
            next_id: AtomicU64::new(1),
            ended,
        })
    }

    /// Sends a request. Dropping the call cancels it.
    pub(super) fn call(self: &Arc<Self>, request: D::Request) -> Result<Call<D>, EngineError> {
        let (sender, events) = mpsc::unbounded_channel();
        // Under one lock, because the engine works on what it was asked in the order in which that was sent, and whoever looks
        // which it works on goes by the numbers.
        let mut asked = lock(&self.shared.asked);
        let id = self.next_id.fetch_add(1, Ordering::Relaxed);
        let frame = protocol::encode(&ToEngine::Request { id, request })?;
        // A closed channel is seen by `next`, which knows how the engine ended.
        drop(self.frames.send(frame));
        // An engine that has ended closes whoever waits then; this call may have come too late for that.
        if self.ended().is_none() {
            asked.insert(id, Some(sender));
        }
        drop(asked);
        let call = Call {
            id,
            events,
            connection: Arc::clone(self),
            done: false,
        };
        Ok(call)
    }

    /// How the engine ended, once it has.
    pub(super) fn ended(&self) -> Option<String> {
        self.ended.borrow().clone()
    }

    /// Whether anybody waits for an answer.
    pub(super) fn busy(&self) -> bool {
        lock(&self.shared.asked).values().any(Option::is_some)
    }

    /// Asks the engine to leave, makes it after a second, and waits until it is reaped.
    pub(super) async fn stop(&self) {
        self.send(&ToEngine::Shutdown);
        let mut ended = self.ended.clone();
        if timeout(Duration::from_secs(1), ended.wait_for(Option::is_some))
            .await
            .is_err()
        {
            self.kill("it did not leave when it was asked to");
            drop(timeout(Duration::from_secs(5), ended.wait_for(Option::is_some)).await);
        }
    }

    fn kill(&self, because: &str) {
        lock(&self.shared.killed_because).get_or_insert_with(|| because.into());
        self.shared.kill.notify_one();
    }

    fn send(&self, message: &ToEngine<D::Request>) {
        if let Ok(frame) = protocol::encode(message) {
            drop(self.frames.send(frame));
        }
    }

    async fn crashed(&self) -> EngineError {
        let mut ended = self.ended.clone();
        let how = match timeout(Duration::from_secs(5), ended.wait_for(Option::is_some)).await {
            Ok(Ok(how)) => how.clone().unwrap_or_default(),
            _ => "it closed its socket".into(),
        };
        EngineError::Crashed {
            engine: D::ENGINE.into(),
            how,
        }
    }
}

/// A request under way.
pub(super) struct Call<D: Dialect> {
    id: u64,
    events: mpsc::UnboundedReceiver<Event<D>>,
    connection: Arc<Connection<D>>,
    done: bool,
}

impl<D: Dialect> Call<D> {
    /// The next part, or the answer. An engine that gives no sign of life for `Limits::hang`, asked twice in that
    /// time, is killed.
    pub(super) async fn next(&mut self) -> Result<Event<D>, EngineError> {
        let hang = self.connection.limits.hang;
        let asked = Instant::now();
        loop {
            match timeout(hang / 3, self.events.recv()).await {
                Ok(Some(event)) => {
                    self.done = matches!(event, Event::Done(_));
                    return Ok(event);
                }
                Ok(None) => {
                    self.done = true;
                    return Err(self.connection.crashed().await);
                }
                Err(_) => {
                    let silent = lock(&self.connection.shared.heard).max(asked).elapsed();
                    if silent > hang {
                        self.connection
                            .kill(&format!("it gave no sign of life for {silent:.1?}"));
                    }
                    self.connection.send(&ToEngine::Health);
                }
            }
        }
    }

    /// The answer; parts go to `on_part`.
    pub(super) async fn answer(
        mut self,
        mut on_part: impl FnMut(D::Part) + Send,
    ) -> Result<D::Answer, EngineError> {
        loop {
            match self.next().await? {
                Event::Part(part) => on_part(part),
                Event::Done(answer) => return answer,
            }
        }
    }
}

impl<D: Dialect> Drop for Call<D> {
    fn drop(&mut self) {
        let shared = &self.connection.shared;
        if self.done {
            lock(&shared.asked).remove(&self.id);
            return;
        }
        // One that was answered meanwhile is not there any more.
        if let Some(call) = lock(&shared.asked).get_mut(&self.id) {
            *call = None;
        }
        self.connection.send(&ToEngine::Cancel { id: self.id });
        shared.dropped.notify_one();
    }
}

/// How long an idle OpenMP thread spins before it sleeps, in libgomp's own unit; it goes before the wait policy.
/// Measured on 2 cores with the 1.5B model, decode in tokens/s, alone and beside two busy programs: never spinning
/// 15 and 15, 1,000 spins 23 and 10, 10,000 spins 24 and 10 (6 beside one), always spinning 26 and no end in sight.
const SPINS: &str = "1000";

fn spawn(program: &Path, arguments: &[OsString], socket: StdStream) -> std::io::Result<Child> {
    let inherited = INHERITED
        .iter()
        .filter_map(|name| Some((name, std::env::var_os(name)?)));
    Command::new(program)
        .args(arguments)
        .env_clear()
        .envs(inherited)
        // Spinning OpenMP threads starve whatever else runs on a small machine (DESIGN section 8).
        .env("OMP_WAIT_POLICY", "PASSIVE")
        .env("GOMP_SPINCOUNT", SPINS)
        .stdin(Stdio::from(OwnedFd::from(socket)))
        .stdout(Stdio::null())
        .stderr(Stdio::piped())
        .process_group(0)
        .kill_on_drop(true)
        .spawn()
}

async fn greet(reader: &mut OwnedReadHalf, writer: &mut OwnedWriteHalf) -> Result<(), EngineError> {
    let hello = protocol::encode(&Hello {
        version: protocol::VERSION,
        who: "tiro".into(),
    })?;
    writer
        .write_all(&hello)
        .await
        .map_err(|e| EngineError::Protocol(format!("the engine is gone: {e}")))?;
    let theirs: Hello = protocol::read_async(reader)
        .await?
        .ok_or_else(|| EngineError::Protocol("the engine closed before it greeted".into()))?;
    protocol::agree(&theirs)
}

async fn write_all(mut writer: OwnedWriteHalf, mut outgoing: mpsc::UnboundedReceiver<Vec<u8>>) {
    while let Some(frame) = outgoing.recv().await {
        if writer.write_all(&frame).await.is_err() {
            return;
        }
    }
}

/// Owns the child: hands out what it says, and reaps it whichever way it ends.
async fn watch_over<D: Dialect>(
    mut child: Child,
    mut reader: OwnedReadHalf,
    shared: Arc<Shared<D>>,
    give_up: Duration,
    said: Arc<Mutex<VecDeque<String>>>,
    on_end: watch::Sender<Option<String>>,
) {
    let problem = tokio::select! {
        problem = hand_out(&mut reader, &shared) => problem,
        () = holds_on(&shared, give_up) => {
            drop(child.start_kill());
            Some(format!("it was told to stop and went on for {give_up:?}"))
        }
        () = shared.kill.notified() => {
            drop(child.start_kill());
            None
        }
        // Nobody holds the connection any more: the engine sees its socket close and leaves, or is made to.
        () = on_end.closed() => None,
    };
    // After a closed socket the process is about to end; one that does not is made to.
    let status = match timeout(Duration::from_secs(2), child.wait()).await {
        Ok(status) => status.ok(),
        Err(_) => {
            drop(child.start_kill());
            child.wait().await.ok()
        }
    };
    let why = lock(&shared.killed_because).take().or(problem);
    let how = why.unwrap_or_else(|| describe(status, &lock(&said)));
    drop(on_end.send(Some(how)));
    lock(&shared.asked).clear();
}

async fn hand_out<D: Dialect>(reader: &mut OwnedReadHalf, shared: &Shared<D>) -> Option<String> {
    loop {
        let message = match protocol::read_async::<FromEngine<D::Part, D::Answer>>(reader).await {
            Ok(Some(message)) => message,
            Ok(None) => return None,
            // A connection reset is how a killed engine looks; its exit status says more.
            Err(error) if error.to_string().contains("gone") => return None,
            Err(error) => return Some(error.to_string()),
        };
        *lock(&shared.heard) = Instant::now();
        let mut asked = lock(&shared.asked);
        match message {
            FromEngine::Part { id, part } => {
                if let Some(Some(call)) = asked.get(&id) {
                    drop(call.send(Event::Part(part)));
                }
            }
            FromEngine::Done { id, answer } => {
                if let Some(Some(call)) = asked.remove(&id) {
                    drop(call.send(Event::Done(answer)));
                }
            }
            FromEngine::Alive => {}
        }
    }
}

/// Ends when the engine has worked for so long on what nobody wants any more. Its reader answers that it is alive while its
/// worker hangs in native code, so nothing else tells. What waits behind another request has not been begun, and is not meant.
async fn holds_on<D: Dialect>(shared: &Shared<D>, give_up: Duration) {
    loop {
        shared.dropped.notified().await;
        let mut since: Option<(u64, Instant)> = None;
        loop {
            let unwanted = {
                let asked = lock(&shared.asked);
                if asked.values().all(Option::is_some) {
                    break;
                }
                let at_work = asked.first_key_value();
                at_work.filter(|(_, call)| call.is_none()).map(|(id, _)| *id)
            };
            since = unwanted.map(|id| {
                since
                    .filter(|before| before.0 == id)
                    .unwrap_or((id, Instant::now()))
            });
            if since.is_some_and(|(_, began)| began.elapsed() >= give_up) {
                return;
            }
            tokio::time::sleep(give_up / 8).await;
        }
    }
}

/// Native libraries talk a lot; what they say is for whoever debugs, and the last words explain a crash.
async fn read_log(engine: &'static str, stderr: ChildStderr, said: Arc<Mutex<VecDeque<String>>>) {
    let mut lines = BufReader::new(stderr).split(b'\n');
    while let Ok(Some(line)) = lines.next_segment().await {
        let line: String = String::from_utf8_lossy(&line).chars().take(500).collect();
        tracing::debug!(engine, "{line}");
        let mut said = lock(&said);
        said.push_back(line);
        if said.len() > 20 {
            said.pop_front();
        }
    }
}

fn describe(status: Option<ExitStatus>, said: &VecDeque<String>) -> String {
    let mut how = match status {
        None => "it is gone".to_owned(),
        Some(status) => match (status.signal(), status.code()) {
            (Some(signal), _) => format!("killed by signal {signal}"),
            (None, Some(code)) => format!("it ended with code {code}"),
            (None, None) => "it is gone".into(),
        },
    };
    if let Some(words) = said.iter().rev().find(|line| !line.trim().is_empty()) {
        how.push_str(&format!(" after saying: {}", words.trim()));
    }
    how
}

/// A poisoned lock holds plain data that is still whole.
pub(super) fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
