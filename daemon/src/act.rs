//! The only door to a tool's effects: look up, check consent, time out, run, turn errors into words.

use std::{
    sync::LazyLock,
    time::{Duration, Instant},
};

use prompts::words;
use tokio::sync::watch;
use tools::{Ctx, Effect, Entry, ToolError};

use crate::{
    agent::{Call, Outcome},
    consent::{self, Question},
    reply::{Confirmation, Front, Happening, State},
};

/// What a call is judged by, besides itself.
pub struct Circumstances<'a> {
    /// Clock, folders, index.
    pub ctx: Ctx,
    /// Whether somebody else's words are in the conversation.
    pub tainted: bool,
    /// What the person said.
    pub said: &'a [&'a str],
    /// How long the person has to answer a question.
    pub patience: Duration,
}

/// Runs a call if it may run. A write runs in a task of its own, so that an interruption never halves it;
/// a read is dropped with the turn.
pub async fn act(
    entry: &'static Entry,
    call: &Call,
    around: Circumstances<'_>,
    front: &mut dyn Front,
) -> Outcome {
    if let Some(refusal) = consent::refusal(entry, around.tainted) {
        return Outcome::Tell(refusal);
    }
    let because = consent::reasons(entry, &call.arguments, around.tainted, around.said);
    if !because.is_empty()
        && let Some(instead) = ask_first(entry, call, because, &around, front).await
    {
        return instead;
    }
    front.show(&Happening::State { state: State::Acting });
    front.show(&Happening::Acting {
        tool: entry.name.to_owned(),
        arguments: call.arguments.clone(),
    });
    let (arguments, ctx) = (call.arguments.clone(), around.ctx);
    let writing = (entry.effect != Effect::Read).then(Writing::begin);
    let task = tokio::spawn(async move {
        let _writing = writing;
        let run = entry.run(arguments, &ctx);
        match entry.effect {
            // What is written to the person's files is written on threads that nothing can stop, and had better be
            // finished than halved.
            Effect::Write => Ok(run.await),
            // The time-out is inside the task, so that it still holds after the turn was dropped.
            Effect::Read | Effect::Irreversible | Effect::Egress => {
                tokio::time::timeout(entry.timeout, run).await
            }
        }
    });
    let mut task = AbortOnDrop {
        task,
        abort: entry.effect == Effect::Read,
    };
    let timed_out = match tokio::time::timeout(entry.timeout + GRACE, &mut task.task).await {
        Ok(Ok(Ok(Ok(output)))) => return Outcome::Done(output),
        Ok(Ok(Ok(Err(error)))) => return failed(entry, error),
        Ok(Err(_)) => return panicked(entry),
        Ok(Ok(Err(_))) => words::timed_out("do that"),
        Err(_) => words::still_working(),
    };
    let seconds = entry.timeout.as_secs();
    tracing::warn!(tool = entry.name, seconds, "tool timed out");
    Outcome::Broken(timed_out)
}

/// After a tool's own time-out, for its answer to come through.
const GRACE: Duration = Duration::from_millis(500);

/// A question is asked again when what it was about has changed while the person thought; this often at most.
const QUESTIONS: usize = 3;

/// Asks the person. `None` when they agreed to exactly what would be done now.
async fn ask_first(
    entry: &'static Entry,
    call: &Call,
    because: Vec<String>,
    around: &Circumstances<'_>,
    front: &mut dyn Front,
) -> Option<Outcome> {
    let mut agreed = None;
    for _ in 0..=QUESTIONS {
        let action = match preview(entry, call, &around.ctx).await {
            Ok(action) => action,
            Err(outcome) => return Some(outcome),
        };
        if agreed.as_ref() == Some(&action) {
            return None;
        }
        let question = Question {
            tool: entry.name.to_owned(),
            action,
            because: because.clone(),
        };
        let silence = silence(around.patience, front.speaking());
        let answer = tokio::select! {
            // An answer counts that comes at the last moment.
            biased;
            answer = front.confirm(&question) => answer,
            () = silence => Confirmation::No,
        };
        match answer {
            Confirmation::Yes => agreed = Some(question.action),
            Confirmation::No => return Some(Outcome::Declined),
            Confirmation::Nobody => return Some(Outcome::NeedsConfirmation(question.action)),
        }
    }
    Some(Outcome::Tell(words::keeps_changing()))
}

/// Comes to its end when the person has been silent for so long. While they speak, time stands still; each listening is
/// bounded by itself.
async fn silence(patience: Duration, mut speaking: watch::Receiver<usize>) {
    let mut left = patience;
    // Until nobody can speak any more.
    while speaking.wait_for(|speaking| *speaking == 0).await.is_ok() {
        let began = Instant::now();
        tokio::select! {
            () = tokio::time::sleep(left) => return,
            changed = speaking.changed() => if changed.is_err() {
                left = left.saturating_sub(began.elapsed());
                break;
            }
        }
        left = left.saturating_sub(began.elapsed());
    }
    tokio::time::sleep(left).await;
}

/// What a call would do. It reads the person's files, so it runs where a slow disk holds up nobody else.
async fn preview(entry: &'static Entry, call: &Call, ctx: &Ctx) -> Result<String, Outcome> {
    let (arguments, ctx) = (call.arguments.clone(), ctx.clone());
    let looking = tokio::task::spawn_blocking(move || entry.preview(arguments, &ctx));
    match tokio::time::timeout(entry.timeout, looking).await {
        Ok(Ok(Ok(action))) => Ok(action),
        Ok(Ok(Err(error))) => Err(failed(entry, error)),
        Ok(Err(_)) => Err(panicked(entry)),
        Err(_) => Err(Outcome::Broken(words::timed_out("look that up"))),
    }
}

fn failed(entry: &Entry, error: ToolError) -> Outcome {
    match error {
        ToolError::Tell(text) => Outcome::Tell(text),
        ToolError::TellOthers(text) => Outcome::TellOthers(text),
        ToolError::Misfit(text) => Outcome::Misfit(text),
        ToolError::Broken { what, cause } => {
            tracing::warn!(tool = entry.name, "tool failed");
            // The cause may name what the person named.
            tracing::debug!(tool = entry.name, what, cause, "tool failed");
            Outcome::Broken(words::broken(&what))
        }
    }
}

fn panicked(entry: &Entry) -> Outcome {
    tracing::error!(tool = entry.name, "tool panicked");
    Outcome::Broken(words::broken("do that"))
}

/// Whoever leaves waits so long for writes that have begun: they are short, and this is for a disk that hangs. Session
/// managers kill what takes longer to leave than 90 s.
const LAST_WORD: Duration = Duration::from_secs(60);

/// How many writes have begun and are not finished.
static WRITES: LazyLock<watch::Sender<usize>> = LazyLock::new(watch::Sender::default);

/// A write that has begun; it is finished when this is dropped.
pub struct Writing;

impl Writing {
    /// Begins one.
    pub fn begin() -> Writing {
        WRITES.send_modify(|open| *open += 1);
        Writing
    }
}

impl Drop for Writing {
    fn drop(&mut self) {
        WRITES.send_modify(|open| *open -= 1);
    }
}

/// Waits until every write that has begun is finished, and says whether there was one. Whoever ends the process or
/// tells the person that a turn was stopped waits for this first.
pub async fn finish_writes() -> bool {
    let mut writes = WRITES.subscribe();
    let writing = *writes.borrow_and_update() > 0;
    let finished = writes.wait_for(|open| *open == 0);
    if tokio::time::timeout(LAST_WORD, finished).await.is_err() {
        tracing::error!("a write does not come to an end");
    }
    writing
}

struct AbortOnDrop<T> {
    task: tokio::task::JoinHandle<T>,
    abort: bool,
}

impl<T> Drop for AbortOnDrop<T> {
    fn drop(&mut self) {
        if self.abort {
            self.task.abort();
        }
    }
}

#[cfg(test)]
mod tests;
