//! The only door to a tool's effects: look up, check consent, time out, run, turn errors into words.

use std::{
    sync::{
        Arc, LazyLock,
        atomic::{AtomicBool, Ordering},
    },
    time::{Duration, Instant},
};

use prompts::words;
use serde_json::Value;
use tokio::sync::watch;
use tools::{
    Ctx, Effect, Entry, ToolError,
    system::{contacts, progress::Progress},
};

use crate::{
    agent::{
        Call, Outcome, Undo,
        amend::{self, Amended},
    },
    consent::{self, Known, Question},
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
    /// What is taken back first.
    pub instead: Option<&'a Undo>,
}

/// Runs a call if it may run; what the person changed when they were asked is changed in it. What changes something runs in a
/// task of its own, so that neither an interruption nor a time-out halves it; a read is dropped with the turn.
pub async fn act(
    entry: &'static Entry,
    call: &mut Call,
    around: Circumstances<'_>,
    front: &mut dyn Front,
) -> Outcome {
    if let Some(refusal) = consent::refusal(entry, around.tainted) {
        return Outcome::Tell(refusal);
    }
    if let Some(reason) = consent::reason(entry, around.tainted) {
        if let Some(outcome) = ask_first(entry, call, reason, &around, front).await {
            return outcome;
        }
    } else if around.instead.is_some()
        // Before anything is taken back, so that a change that cannot be made loses nothing.
        && let Err(outcome) = preview(entry, call, &around.ctx).await
    {
        return outcome;
    }
    front.show(&Happening::State { state: State::Acting });
    front.show(&Happening::Acting {
        tool: entry.name.to_owned(),
        arguments: call.arguments.clone(),
    });
    let (arguments, mut ctx) = (call.arguments.clone(), around.ctx);
    let progress = Progress::default();
    ctx.progress = progress.clone();
    let mut writing = (entry.effect != Effect::Read).then(Writing::begin);
    let (instead, taken_back) = (around.instead.cloned(), Arc::new(AtomicBool::new(false)));
    let taking_back = Arc::clone(&taken_back);
    let task = tokio::spawn(async move {
        if let Some(undo) = instead {
            // In the same task, so that nothing comes between.
            if let Err(error) = take_back(&ctx, undo).await {
                return Ok(Err(error));
            }
            taking_back.store(true, Ordering::Release);
        }
        let run = entry.run(arguments, &ctx);
        let done = match entry.effect {
            // What is written to the person's files is written on threads that nothing can stop but they themselves, and
            // had better be finished than halved. A message that is dropped while it goes out may be out or not, and nobody
            // would ever know. What they wait for, the bus or a program, they wait for within bounds of their own.
            Effect::Write | Effect::Irreversible | Effect::Egress => Ok(run.await),
            // The time-out is inside the task, so that it still holds after the turn was dropped.
            Effect::Read => tokio::time::timeout(entry.timeout, run).await,
        };
        if let Some(writing) = writing.as_mut().filter(|_| ctx.progress.is_abandoned()) {
            writing.abandon();
        }
        done
    });
    let finish = |outcome| match taken_back.load(Ordering::Acquire) {
        true => half_done(outcome),
        false => outcome,
    };
    let mut task = AbortOnDrop {
        task,
        abort: entry.effect == Effect::Read,
        progress: Some(progress.clone()),
    };
    let watched = watched(&mut task.task, &progress, entry.name, front);
    let watched = tokio::time::timeout(entry.timeout + GRACE, watched).await;
    match watched {
        Ok(Ok(Ok(Ok(output)))) => return Outcome::Done(output),
        Ok(Ok(Ok(Err(error)))) => return finish(failed(entry, error)),
        Ok(Err(_)) => return finish(panicked(entry, true)),
        Ok(Ok(Err(_))) | Err(_) => {}
    }
    // It was not the person who gave up.
    task.progress = None;
    let seconds = entry.timeout.as_secs();
    tracing::warn!(tool = entry.name, seconds, "tool timed out");
    finish(Outcome::Broken(match entry.effect {
        Effect::Read => words::timed_out("do that"),
        Effect::Write => words::still_working(),
        Effect::Irreversible | Effect::Egress => words::perhaps_done(true),
    }))
}

/// Waits for a task, and shows now and then how far it is.
async fn watched<T>(
    task: &mut tokio::task::JoinHandle<T>,
    progress: &Progress,
    tool: &str,
    front: &mut dyn Front,
) -> Result<T, tokio::task::JoinError> {
    let mut percent = progress.percent();
    loop {
        tokio::select! {
            biased;
            done = &mut *task => return done,
            () = tokio::time::sleep(SHOWN) => {}
        }
        if percent.has_changed().unwrap_or(false) {
            let percent = *percent.borrow_and_update();
            front.show(&Happening::Working {
                tool: tool.to_owned(),
                percent,
            });
        }
    }
}

/// Takes back what was done before, if it still stands as it was left.
async fn take_back(ctx: &Ctx, undo: Undo) -> Result<(), ToolError> {
    ctx.blocking("undo that", move |ctx| {
        let undone = ctx.step.journal().undo(Some(undo.step));
        undone
            .map(drop)
            .map_err(|error| match (error.tool("undo that"), undo.untrusted) {
                // It quotes what the step said.
                (ToolError::Tell(text), true) => ToolError::TellOthers(text),
                (error, _) => error,
            })
    })
    .await
}

/// What came of a call in whose place nothing stands any more.
fn half_done(outcome: Outcome) -> Outcome {
    let (text, untrusted) = match outcome {
        Outcome::Tell(text) | Outcome::Misfit(text) | Outcome::Broken(text) => (text, false),
        Outcome::TellOthers(text) => (text, true),
        outcome => return outcome,
    };
    Outcome::TakenBack {
        text: words::instead(&text),
        untrusted,
    }
}

/// After a tool's own time-out, for its answer to come through.
const GRACE: Duration = Duration::from_millis(500);

/// How often the person sees how far something is.
const SHOWN: Duration = Duration::from_secs(2);

/// A question is asked again when what it was about has changed while the person thought, when they changed it, and when
/// they need more time; this often at most.
const QUESTIONS: usize = 3;

/// Who says "wait" has the time for an answer once more.
const WAITS: usize = 1;

/// Asks the person. `None` when they agreed to exactly what would be done now, which they may have changed.
async fn ask_first(
    entry: &'static Entry,
    call: &mut Call,
    reason: String,
    around: &Circumstances<'_>,
    front: &mut dyn Front,
) -> Option<Outcome> {
    let known = match around.tainted {
        true => Some(known(entry, &around.ctx).await),
        false => None,
    };
    let mut agreed = None;
    let mut waits = WAITS;
    // Also what they say while they are asked.
    let mut said: Vec<String> = Vec::new();
    for _ in 0..=QUESTIONS {
        let action = match preview(entry, call, &around.ctx).await {
            Ok(action) => action,
            Err(outcome) => return Some(outcome),
        };
        let mut because = vec![reason.clone()];
        if let Some(known) = &known {
            let said: Vec<&str> = around
                .said
                .iter()
                .copied()
                .chain(said.iter().map(String::as_str))
                .collect();
            because.extend(consent::strangers(entry, &call.arguments, &action, &said, known));
        }
        let action = match around.instead {
            Some(undo) => words::undo_and(&undo.say, &action),
            None => action,
        };
        if agreed.as_ref() == Some(&action) {
            return None;
        }
        let question = Question {
            tool: entry.name.to_owned(),
            action,
            because,
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
            Confirmation::Wait if waits > 0 => waits -= 1,
            Confirmation::Change(change) => {
                match changed(entry, call, &change) {
                    Ok(arguments) => call.arguments = arguments,
                    Err(why) => return Some(Outcome::Unclear(why)),
                }
                agreed = None;
                said.push(change);
            }
            Confirmation::No | Confirmation::Wait => return Some(Outcome::Declined),
            Confirmation::Nobody => return Some(Outcome::NeedsConfirmation(question.action)),
        }
    }
    Some(Outcome::Tell(words::keeps_changing()))
}

/// Whom the person knows. Where that cannot be read in time they know nobody: then more is named as strange, never less.
async fn known(entry: &Entry, ctx: &Ctx) -> Known {
    let ctx = ctx.clone();
    let reading = tokio::task::spawn_blocking(move || {
        let book = contacts::read(&ctx.dirs.contacts).unwrap_or_default();
        let own = ctx.mail.accounts.iter().map(|account| account.address.as_str());
        Known::of(&book, own)
    });
    let reading = tokio::time::timeout(entry.timeout, reading).await;
    reading.ok().and_then(Result::ok).unwrap_or_default()
}

/// The arguments with what the person wants changed; else the sentence that says why they stay.
fn changed(entry: &Entry, call: &Call, change: &str) -> Result<Value, String> {
    let change = amend::answer(change);
    match change.amend(&call.arguments, &entry.parameters(), entry.worded, None) {
        Amended::To(arguments) => Ok(arguments),
        Amended::Which(_) | Amended::Nothing => Err(words::not_changed()),
    }
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
        Ok(Err(_)) => Err(panicked(entry, false)),
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

/// What is said of a tool that broke down: what had begun to change something may have changed it.
fn panicked(entry: &Entry, had_begun: bool) -> Outcome {
    tracing::error!(tool = entry.name, "tool panicked");
    Outcome::Broken(match had_begun && entry.effect != Effect::Read {
        true => words::perhaps_done(false),
        false => words::broken("do that"),
    })
}

/// Whoever leaves waits so long for writes that have begun: they are short, and this is for a disk that hangs. Session
/// managers kill what takes longer to leave than 90 s.
const LAST_WORD: Duration = Duration::from_secs(60);

/// How many changes have begun and are not finished, and how many were finished so far.
#[derive(Default)]
struct Writes {
    open: usize,
    finished: usize,
}

static WRITES: LazyLock<watch::Sender<Writes>> = LazyLock::new(watch::Sender::default);

/// A write that has begun; it is finished when this is dropped.
pub struct Writing {
    abandoned: bool,
}

impl Writing {
    /// Begins one.
    pub fn begin() -> Writing {
        WRITES.send_modify(|writes| writes.open += 1);
        Writing { abandoned: false }
    }

    /// It has stopped, and everything is as if it had never begun.
    fn abandon(&mut self) {
        self.abandoned = true;
    }
}

impl Drop for Writing {
    fn drop(&mut self) {
        WRITES.send_modify(|writes| {
            writes.open -= 1;
            writes.finished += usize::from(!self.abandoned);
        });
    }
}

/// Waits until every write that has begun is finished, and says whether there was one that was. Whoever ends the process or
/// tells the person that a turn was stopped waits for this first.
pub async fn finish_writes() -> bool {
    let mut writes = WRITES.subscribe();
    let (open, before) = {
        let writes = writes.borrow_and_update();
        (writes.open, writes.finished)
    };
    let finished = writes.wait_for(|writes| writes.open == 0);
    let finished = tokio::time::timeout(LAST_WORD, finished).await;
    match finished {
        Ok(Ok(writes)) => open > 0 && writes.finished > before,
        Ok(Err(_)) => open > 0,
        Err(_) => {
            tracing::error!("a write does not come to an end");
            open > 0
        }
    }
}

struct AbortOnDrop<T> {
    task: tokio::task::JoinHandle<T>,
    abort: bool,
    /// What is told that nobody wants it any more.
    progress: Option<Progress>,
}

impl<T> Drop for AbortOnDrop<T> {
    fn drop(&mut self) {
        if self.abort {
            self.task.abort();
        }
        // What can stop without leaving anything half done does; everything else is finished.
        if let Some(progress) = &self.progress {
            progress.stop();
        }
    }
}

#[cfg(test)]
mod tests;
