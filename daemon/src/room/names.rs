//! The names of what the person has, read beside the turns: they are evidence, and nobody waits long for evidence.

use std::{
    sync::{Arc, PoisonError, RwLock},
    time::{Duration, Instant},
};

use tokio::task::JoinHandle;
use tools::{
    Ctx, ToolError,
    system::known::{Known, Usual},
};

/// How long a turn waits for names when there are none yet, and when those of before are there.
const FIRST: Duration = Duration::from_millis(500);
const AGAIN: Duration = Duration::from_millis(40);
/// Names that took longer than this to read are read again only when they are so old.
const SLOW: Duration = Duration::from_millis(100);
const OLD: Duration = Duration::from_secs(60);
/// Names that the recogniser is told to expect, at most: it looks through them for each token.
const MOST: usize = 300;

/// Names that the recogniser is told to expect. Whoever has this has them as they were read last.
#[derive(Clone, Default)]
pub struct Expecting(Option<Arc<RwLock<Arc<[String]>>>>);

impl Expecting {
    /// None so far.
    pub fn some() -> Expecting {
        Expecting(Some(Arc::default()))
    }

    /// None, ever: of who is not the person, or does not want it.
    pub fn none() -> Expecting {
        Expecting(None)
    }

    /// The names.
    pub fn all(&self) -> Arc<[String]> {
        let names = self.0.as_ref().map(|names| names.read());
        names.map_or_else(Arc::default, |names| {
            Arc::clone(&names.unwrap_or_else(PoisonError::into_inner))
        })
    }

    fn set(&self, known: &Known) {
        if let Some(names) = &self.0 {
            let known = known.to_expect(MOST).map(str::to_owned).collect();
            *names.write().unwrap_or_else(PoisonError::into_inner) = known;
        }
    }
}

impl std::fmt::Debug for Expecting {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        // Never the names themselves: logs carry no content.
        write!(f, "Expecting({} names)", self.all().len())
    }
}

/// Names as they were read last.
#[derive(Default)]
pub struct Names {
    /// Told them, too.
    expecting: Expecting,
    usual: Option<Arc<Usual>>,
    known: Option<Arc<Known>>,
    reading: Option<JoinHandle<(Result<Known, ToolError>, Duration)>>,
    /// When the names were read, and how long that took.
    read: Option<(Instant, Duration)>,
}

impl Names {
    /// None were read yet; who expects them is told when they are.
    pub fn telling(expecting: Expecting) -> Names {
        Names {
            expecting,
            ..Names::default()
        }
    }

    /// Begins to read the names, unless that goes on already or was done just now at some cost.
    pub fn begin(&mut self, ctx: Ctx) {
        let fresh = |(at, took): (Instant, Duration)| took > SLOW && at.elapsed() < OLD;
        if self.reading.is_some() || self.read.is_some_and(fresh) {
            return;
        }
        let usual = self
            .usual
            .get_or_insert_with(|| Arc::new(Usual::of(ctx.index.docs())));
        let (usual, expecting) = (Arc::clone(usual), self.expecting.clone());
        self.reading = Some(tokio::spawn(async move {
            let started = Instant::now();
            let known = Known::read(&ctx, usual).await;
            if let Ok(known) = &known {
                expecting.set(known);
            }
            (known, started.elapsed())
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
                Ok(Ok((Ok(known), took))) => {
                    tracing::debug!(names = known.len(), ?took, "names were read");
                    self.known = Some(Arc::new(known));
                    self.read = Some((Instant::now(), took));
                }
                Ok(Ok((Err(error), _))) => tracing::error!(%error, "names could not be read"),
                Ok(Err(error)) => tracing::error!(%error, "names could not be read"),
                Err(_) => self.reading = Some(reading),
            }
        }
        self.latest()
    }
}
