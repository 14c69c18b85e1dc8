//! The names of what the person has, read beside the turns: they are evidence, and nobody waits long for evidence.

use std::{
    sync::Arc,
    time::{Duration, Instant},
};

use tokio::task::JoinHandle;
use tools::{
    Ctx,
    system::known::{Known, Usual},
};

/// How long a turn waits for names when there are none yet, and when those of before are there.
const FIRST: Duration = Duration::from_millis(500);
const AGAIN: Duration = Duration::from_millis(40);
/// Names that took longer than this to read are read again only when they are so old.
const SLOW: Duration = Duration::from_millis(100);
const OLD: Duration = Duration::from_secs(60);

/// Names as they were read last.
#[derive(Default)]
pub struct Names {
    usual: Option<Arc<Usual>>,
    known: Option<Arc<Known>>,
    reading: Option<JoinHandle<(Known, Duration)>>,
    /// When the names were read, and how long that took.
    read: Option<(Instant, Duration)>,
}

impl Names {
    /// Begins to read the names, unless that goes on already or was done just now at some cost.
    pub fn begin(&mut self, ctx: Ctx) {
        let fresh = |(at, took): (Instant, Duration)| took > SLOW && at.elapsed() < OLD;
        if self.reading.is_some() || self.read.is_some_and(fresh) {
            return;
        }
        let usual = self
            .usual
            .get_or_insert_with(|| Arc::new(Usual::of(ctx.index.docs())));
        let usual = Arc::clone(usual);
        self.reading = Some(tokio::task::spawn_blocking(move || {
            let started = Instant::now();
            (Known::read(&ctx, usual), started.elapsed())
        }));
    }

    /// The names as they were read last, for who does not wait.
    pub fn latest(&self) -> Arc<Known> {
        self.known.clone().unwrap_or_default()
    }

    /// The names as they are now, or as they were when that takes too long.
    pub async fn now(&mut self) -> Arc<Known> {
        let patience = if self.known.is_some() { AGAIN } else { FIRST };
        if let Some(mut reading) = self.reading.take() {
            match tokio::time::timeout(patience, &mut reading).await {
                Ok(Ok((known, took))) => {
                    tracing::debug!(names = known.len(), ?took, "names were read");
                    self.known = Some(Arc::new(known));
                    self.read = Some((Instant::now(), took));
                }
                Ok(Err(error)) => tracing::error!(%error, "names could not be read"),
                Err(_) => self.reading = Some(reading),
            }
        }
        self.latest()
    }
}
