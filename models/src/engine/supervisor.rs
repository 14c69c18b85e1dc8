//! Keeps one engine: starts it on first use, restarts it after a crash with growing pauses, lets it go when idle.

use std::{
    ffi::OsString,
    path::{Path, PathBuf},
    sync::{Arc, Mutex, Weak},
    time::{Duration, Instant},
};

use super::{
    find_program, memory_of,
    process::{Call, Connection, lock},
};
use crate::{EngineError, llm::EngineStats, protocol::Dialect};

/// How long things may take.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Limits {
    /// From spawn to greeting.
    pub start: Duration,
    /// Loading a model.
    pub load: Duration,
    /// Any other request, from sending to answer.
    pub request: Duration,
    /// Without a sign of life during a request before the engine counts as hung.
    pub hang: Duration,
    /// For how long it may go on with a request that was cancelled or took too long, before it counts as hung, too.
    pub give_up: Duration,
    /// Without a request before the process ends and its memory goes back.
    pub idle: Duration,
}

/// This time, as many times as the weights in this file are larger than those that it was chosen for, in bytes: the work is as
/// many times as much. A file that cannot be looked at is as the usual ones.
pub(super) fn heavier(file: &Path, usual: u64, time: Duration) -> Duration {
    let bytes = std::fs::metadata(file).map_or(0, |file| file.len());
    let times = bytes as f64 / usual as f64;
    Duration::try_from_secs_f64(time.as_secs_f64() * times.max(1.0)).unwrap_or(Duration::MAX)
}

impl Default for Limits {
    fn default() -> Limits {
        Limits {
            start: Duration::from_secs(10),
            load: Duration::from_secs(120),
            request: Duration::from_secs(600),
            hang: Duration::from_secs(10),
            give_up: Duration::from_secs(60),
            idle: Duration::from_secs(900),
        }
    }
}

/// The first pause after a crash that follows a crash; it doubles up to [`LONGEST_PAUSE`].
const FIRST_PAUSE: Duration = Duration::from_millis(250);
/// A turn waits for a restart, so the longest pause stays within what a person waits for.
const LONGEST_PAUSE: Duration = Duration::from_secs(8);

/// Keeps one engine. `I` is what it says of the model that it loaded.
pub(super) struct Supervisor<D: Dialect, I> {
    engines: Option<PathBuf>,
    arguments: Vec<OsString>,
    pub(super) limits: Limits,
    slot: tokio::sync::Mutex<Slot<D, I>>,
    seen: Mutex<Seen>,
}

struct Slot<D: Dialect, I> {
    running: Option<(Arc<Connection<D>>, I)>,
    crashes: u32,
    not_before: Option<Instant>,
}

/// What `stats` tells without waiting for anybody.
#[derive(Default)]
struct Seen {
    pid: Option<u32>,
    peak: u64,
    restarts: u32,
    last_used: Option<Instant>,
}

impl<D: Dialect, I: Clone + Send + 'static> Supervisor<D, I> {
    pub(super) fn new(engines: Option<PathBuf>, arguments: Vec<OsString>, limits: Limits) -> Arc<Self> {
        Arc::new(Supervisor {
            engines,
            arguments,
            limits,
            slot: tokio::sync::Mutex::new(Slot {
                running: None,
                crashes: 0,
                not_before: None,
            }),
            seen: Mutex::default(),
        })
    }

    /// A running engine with its model loaded. `load` asks a fresh process to load.
    pub(super) async fn ready(
        self: &Arc<Self>,
        load: impl AsyncFnOnce(Arc<Connection<D>>) -> Result<I, EngineError>,
    ) -> Result<(Arc<Connection<D>>, I), EngineError> {
        let mut slot = self.slot.lock().await;
        if let Some((connection, info)) = &slot.running {
            match connection.ended() {
                None => {
                    self.touch();
                    return Ok((Arc::clone(connection), info.clone()));
                }
                // It died while nobody asked it anything (out of memory, by hand): that counts as a crash too.
                Some(how) => {
                    tracing::warn!(engine = D::ENGINE, how, "the engine ended");
                    slot.running = None;
                    self.crashed(&mut slot);
                }
            }
        }
        if let Some(at) = slot.not_before.take() {
            tokio::time::sleep_until(at.into()).await;
        }
        let program = find_program(D::ENGINE, self.engines.as_deref())?;
        let started = async {
            let connection = Arc::new(Connection::start(&program, &self.arguments, self.limits).await?);
            lock(&self.seen).pid = Some(connection.pid);
            let info = tokio::time::timeout(self.limits.load, load(Arc::clone(&connection))).await;
            match info {
                Ok(Ok(info)) => Ok((connection, info)),
                Ok(Err(error)) => Err(error),
                Err(_) => Err(EngineError::Crashed {
                    engine: D::ENGINE.into(),
                    how: format!("it did not load the model within {:?}", self.limits.load),
                }),
            }
        };
        match started.await {
            Ok((connection, info)) => {
                self.touch();
                slot.running = Some((Arc::clone(&connection), info.clone()));
                tokio::spawn(leave_when_idle(Arc::downgrade(self), Arc::downgrade(&connection)));
                Ok((connection, info))
            }
            Err(error) => {
                lock(&self.seen).pid = None;
                if matches!(error, EngineError::Crashed { .. }) {
                    self.crashed(&mut slot);
                }
                Err(error)
            }
        }
    }

    /// Sends a request and waits for its answer within the limits; a success forgives earlier crashes.
    pub(super) async fn ask(
        self: &Arc<Self>,
        connection: &Arc<Connection<D>>,
        request: D::Request,
        on_part: impl FnMut(D::Part) + Send,
    ) -> Result<D::Answer, EngineError> {
        let call: Call<D> = connection.call(request)?;
        let answer = tokio::time::timeout(self.limits.request, call.answer(on_part)).await;
        self.touch();
        match answer {
            Ok(Err(crash @ EngineError::Crashed { .. })) => {
                let mut slot = self.slot.lock().await;
                let same = |(running, _): &(Arc<Connection<D>>, I)| Arc::ptr_eq(running, connection);
                if slot.running.as_ref().is_some_and(same) {
                    slot.running = None;
                    self.crashed(&mut slot);
                }
                Err(crash)
            }
            Ok(answer) => {
                if answer.is_ok() {
                    self.slot.lock().await.crashes = 0;
                }
                answer
            }
            Err(_) => Err(EngineError::TimedOut(self.limits.request)),
        }
    }

    pub(super) fn stats(&self) -> EngineStats {
        let mut seen = lock(&self.seen);
        let (rss, peak) = seen.pid.map_or((0, 0), memory_of);
        seen.peak = seen.peak.max(peak);
        EngineStats {
            running: seen.pid.is_some() && rss > 0 || seen.pid.is_some() && cfg!(not(target_os = "linux")),
            pid: seen.pid,
            rss,
            peak_rss: seen.peak,
            restarts: seen.restarts,
        }
    }

    fn touch(&self) {
        lock(&self.seen).last_used = Some(Instant::now());
    }

    fn crashed(&self, slot: &mut Slot<D, I>) {
        // The first restart is at once; a person who asks again must not wait for a chance event.
        let pause = match slot.crashes {
            0 => Duration::ZERO,
            n => FIRST_PAUSE
                .saturating_mul(1 << (n - 1).min(10))
                .min(LONGEST_PAUSE),
        };
        slot.crashes += 1;
        slot.not_before = Some(Instant::now() + pause);
        let mut seen = lock(&self.seen);
        seen.pid = None;
        seen.restarts += 1;
    }
}

/// Ends the process once nobody needed it for a while. Weak, so that neither side is kept alive by being watched.
async fn leave_when_idle<D: Dialect, I: Clone + Send + 'static>(
    supervisor: Weak<Supervisor<D, I>>,
    connection: Weak<Connection<D>>,
) {
    loop {
        let (Some(keeper), Some(engine)) = (supervisor.upgrade(), connection.upgrade()) else {
            return;
        };
        let last_used = lock(&keeper.seen).last_used.unwrap_or_else(Instant::now);
        let idle = if engine.busy() {
            Duration::ZERO
        } else {
            last_used.elapsed()
        };
        if idle >= keeper.limits.idle {
            let mut slot = keeper.slot.lock().await;
            // Somebody may have come while we waited for the slot.
            let used = lock(&keeper.seen)
                .last_used
                .is_some_and(|at| at.elapsed() < keeper.limits.idle);
            let ours = |(running, _): &(Arc<Connection<D>>, I)| Arc::ptr_eq(running, &engine);
            if !used && !engine.busy() && slot.running.as_ref().is_some_and(ours) {
                tracing::debug!(engine = D::ENGINE, "idle: the engine leaves");
                slot.running = None;
                engine.stop().await;
                lock(&keeper.seen).pid = None;
                return;
            }
        }
        let wait = keeper
            .limits
            .idle
            .saturating_sub(idle)
            .max(Duration::from_millis(20));
        drop((keeper, engine));
        tokio::time::sleep(wait).await;
    }
}
