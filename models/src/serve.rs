//! The engine's side of the socket: one thread reads, the other works.
//!
//! The reader answers `Health` and takes `Cancel` while the worker is deep in native code, and ends the process
//! when the daemon is gone. The worker pulls jobs one at a time.

use std::{
    collections::HashSet,
    ffi::OsString,
    io::{Write, stdin},
    marker::PhantomData,
    os::{fd::AsFd, unix::net::UnixStream},
    path::PathBuf,
    sync::{
        Arc, Mutex, MutexGuard, PoisonError,
        mpsc::{self, Receiver, Sender},
    },
};

use crate::{
    EngineError,
    protocol::{self, Dialect, FromEngine, Hello, ToEngine},
    sandbox::Room,
};

/// The command line of an engine: what it may touch.
///
/// # Errors
/// `Protocol` for anything but `--model FILE` and `--snapshots FOLDER`.
pub fn room(mut arguments: impl Iterator<Item = OsString>) -> Result<Room, EngineError> {
    let mut room = Room::default();
    while let Some(name) = arguments.next() {
        let value = arguments.next().map(PathBuf::from);
        match (name.to_str(), value) {
            (Some("--model"), Some(file)) => {
                // A link is resolved by the kernel, so the folder that it points to is needed too.
                let target = file.canonicalize().ok();
                let folders = [Some(&file), target.as_ref()].map(|f| f?.parent().map(PathBuf::from));
                room.read.extend(folders.into_iter().flatten());
            }
            (Some("--snapshots"), Some(folder)) => room.write.push(folder),
            _ => {
                return Err(EngineError::Protocol(format!(
                    "this program is started by tiro, without {name:?}"
                )));
            }
        }
    }
    Ok(room)
}

/// Where the worker pulls its jobs from.
pub struct Inbox<D: Dialect> {
    jobs: Receiver<Job<D>>,
}

impl<D: Dialect> Inbox<D> {
    /// Greets the daemon on standard input, which it made a socket, and starts to read.
    ///
    /// # Errors
    /// `Protocol` when standard input is no socket (somebody ran the engine by hand) or the versions differ.
    pub fn open() -> Result<Inbox<D>, EngineError> {
        let own = stdin().as_fd().try_clone_to_owned().map_err(by_hand)?;
        Inbox::over(UnixStream::from(own), end_process)
    }

    /// The same over any stream; `on_close` runs when the other side is gone.
    ///
    /// # Errors
    /// The same as [`Inbox::open`].
    pub fn over(
        mut stream: UnixStream,
        on_close: impl FnOnce() + Send + 'static,
    ) -> Result<Inbox<D>, EngineError> {
        let out = Outbox(Arc::new(Mutex::new(stream.try_clone().map_err(by_hand)?)));
        out.send(&Hello {
            version: protocol::VERSION,
            who: D::ENGINE.into(),
        })?;
        let theirs: Hello = protocol::read(&mut stream)?
            .ok_or_else(|| EngineError::Protocol("closed before it greeted".into()))?;
        protocol::agree(&theirs)?;
        let (sender, jobs) = mpsc::channel();
        std::thread::Builder::new()
            .name("reader".into())
            .spawn(move || {
                read_all::<D>(&mut stream, &out, &sender);
                on_close();
            })
            .map_err(|e| EngineError::Protocol(format!("no thread: {e}")))?;
        Ok(Inbox { jobs })
    }

    /// The next job; `None` when the daemon asked for the end.
    pub fn next(&self) -> Option<Job<D>> {
        self.jobs.recv().ok()
    }
}

/// One request, and the way back to whoever made it.
pub struct Job<D: Dialect> {
    /// What to do.
    pub request: D::Request,
    /// Where answers go.
    pub reply: Reply<D>,
}

/// The way back to whoever made a request.
pub struct Reply<D: Dialect> {
    id: u64,
    out: Outbox,
    cancelled: Cancelled,
    dialect: PhantomData<D>,
}

impl<D: Dialect> Reply<D> {
    /// Streams a part. A daemon that is gone is noticed by the reader, so errors need no handling here.
    pub fn part(&self, part: D::Part) {
        drop(
            self.out
                .send(&FromEngine::<D::Part, D::Answer>::Part { id: self.id, part }),
        );
    }

    /// Answers; nothing may follow.
    pub fn done(&self, answer: Result<D::Answer, EngineError>) {
        let id = self.id;
        let sent = self
            .out
            .send(&FromEngine::<D::Part, D::Answer>::Done { id, answer });
        if let Err(error @ EngineError::Refused(_)) = sent {
            let answer = Err(error);
            drop(
                self.out
                    .send(&FromEngine::<D::Part, D::Answer>::Done { id, answer }),
            );
        }
        lock(&self.cancelled).retain(|other| *other > id);
    }

    /// Whether the daemon no longer wants the answer.
    pub fn cancelled(&self) -> bool {
        lock(&self.cancelled).contains(&self.id)
    }

    /// A way to stream parts for callbacks that outlive the borrow.
    pub fn sender(&self) -> impl Fn(D::Part) + Send + 'static {
        let (id, out) = (self.id, self.out.clone());
        move |part| drop(out.send(&FromEngine::<D::Part, D::Answer>::Part { id, part }))
    }

    /// The same question as `cancelled` for callbacks that outlive the borrow.
    pub fn cancel_flag(&self) -> impl Fn() -> bool + Send + 'static {
        let (id, cancelled) = (self.id, Arc::clone(&self.cancelled));
        move || lock(&cancelled).contains(&id)
    }
}

type Cancelled = Arc<Mutex<HashSet<u64>>>;

/// Both threads write; a frame is never torn.
#[derive(Clone)]
struct Outbox(Arc<Mutex<UnixStream>>);

impl Outbox {
    fn send<T: serde::Serialize>(&self, message: &T) -> Result<(), EngineError> {
        let frame = protocol::encode(message)?;
        lock(&self.0)
            .write_all(&frame)
            .map_err(|e| EngineError::Protocol(format!("the daemon is gone: {e}")))
    }
}

fn read_all<D: Dialect>(stream: &mut UnixStream, out: &Outbox, jobs: &Sender<Job<D>>) {
    let cancelled = Cancelled::default();
    loop {
        match protocol::read::<ToEngine<D::Request>>(stream) {
            Ok(Some(ToEngine::Request { id, request })) => {
                let reply = Reply {
                    id,
                    out: out.clone(),
                    cancelled: Arc::clone(&cancelled),
                    dialect: PhantomData,
                };
                if jobs.send(Job { request, reply }).is_err() {
                    return;
                }
            }
            Ok(Some(ToEngine::Cancel { id })) => {
                lock(&cancelled).insert(id);
            }
            Ok(Some(ToEngine::Health)) => {
                drop(out.send(&FromEngine::<D::Part, D::Answer>::Alive));
            }
            Ok(Some(ToEngine::Shutdown) | None) => return,
            Err(error) => {
                tracing::error!(%error, "cannot read from the daemon");
                return;
            }
        }
    }
}

/// Leaves at once: there is nothing to flush, and running C++ destructors beside a decoding thread would crash.
fn end_process() {
    let killed = rustix::process::kill_process(rustix::process::getpid(), rustix::process::Signal::KILL);
    if killed.is_err() {
        std::process::abort();
    }
}

fn by_hand(error: std::io::Error) -> EngineError {
    EngineError::Protocol(format!(
        "this program is started by tiro and not by hand ({error})"
    ))
}

/// A poisoned lock holds plain data that is still whole.
fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;
    use crate::protocol::{LlmAnswer, LlmDialect, LlmRequest};

    type Opened = std::thread::JoinHandle<Result<Inbox<LlmDialect>, EngineError>>;

    fn connect() -> (UnixStream, Receiver<()>, Opened) {
        let (ours, theirs) = UnixStream::pair().unwrap();
        let (closed, on_close) = mpsc::channel();
        let inbox =
            std::thread::spawn(move || Inbox::over(theirs, move || closed.send(()).unwrap_or_default()));
        (ours, on_close, inbox)
    }

    fn greet(stream: &mut UnixStream, version: u32) -> Hello {
        protocol::write(
            stream,
            &Hello {
                version,
                who: "tiro".into(),
            },
        )
        .unwrap();
        protocol::read(stream).unwrap().unwrap()
    }

    fn next(stream: &mut UnixStream) -> FromEngine<String, LlmAnswer> {
        protocol::read(stream).unwrap().unwrap()
    }

    #[test]
    fn health_and_cancel_are_heard_during_work() {
        let (mut daemon, on_close, inbox) = connect();
        assert_eq!(greet(&mut daemon, protocol::VERSION).who, "tiro-llm");
        let inbox = inbox.join().unwrap().unwrap();
        for id in [1, 2] {
            protocol::write(
                &mut daemon,
                &ToEngine::Request {
                    id,
                    request: LlmRequest::Stats,
                },
            )
            .unwrap();
        }
        let job = inbox.next().unwrap();
        assert_eq!(job.request, LlmRequest::Stats);
        protocol::write(&mut daemon, &ToEngine::<LlmRequest>::Health).unwrap();
        assert_eq!(next(&mut daemon), FromEngine::Alive);
        assert!(!job.reply.cancelled());
        protocol::write(&mut daemon, &ToEngine::<LlmRequest>::Cancel { id: 1 }).unwrap();
        protocol::write(&mut daemon, &ToEngine::<LlmRequest>::Cancel { id: 2 }).unwrap();
        protocol::write(&mut daemon, &ToEngine::<LlmRequest>::Health).unwrap();
        assert_eq!(next(&mut daemon), FromEngine::Alive);
        assert!(job.reply.cancelled());
        job.reply.part("so far".into());
        job.reply.done(Err(EngineError::Cancelled));
        assert_eq!(
            next(&mut daemon),
            FromEngine::Part {
                id: 1,
                part: "so far".into()
            }
        );
        assert!(matches!(
            next(&mut daemon),
            FromEngine::Done {
                id: 1,
                answer: Err(EngineError::Cancelled)
            }
        ));
        // Finishing 1 must not forget that 2, still waiting, was cancelled too.
        assert!(inbox.next().unwrap().reply.cancelled());
        drop(daemon);
        on_close.recv_timeout(Duration::from_secs(5)).unwrap();
        assert!(inbox.next().is_none());
    }

    #[test]
    fn another_version_is_refused_before_any_work() {
        let (mut daemon, _on_close, inbox) = connect();
        greet(&mut daemon, protocol::VERSION + 1);
        let error = inbox.join().unwrap().err().unwrap().to_string();
        assert!(error.contains("version"), "{error}");
    }

    #[test]
    fn garbage_closes_the_engine() {
        let (mut daemon, on_close, inbox) = connect();
        greet(&mut daemon, protocol::VERSION);
        let inbox = inbox.join().unwrap().unwrap();
        daemon.write_all(&[255; 64]).unwrap();
        on_close.recv_timeout(Duration::from_secs(5)).unwrap();
        assert!(inbox.next().is_none());
    }
}
