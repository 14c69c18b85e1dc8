//! The only door to a tool's effects: look up, check consent, time out, run, turn errors into words.

use std::{
    panic::{AssertUnwindSafe, catch_unwind},
    sync::LazyLock,
    time::Duration,
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
    if !because.is_empty() {
        let preview = catch_unwind(AssertUnwindSafe(|| {
            entry.preview(call.arguments.clone(), &around.ctx)
        }));
        let action = match preview {
            Ok(Ok(action)) => action,
            Ok(Err(error)) => return failed(entry, error),
            Err(_) => return panicked(entry),
        };
        let question = Question {
            tool: entry.name.to_owned(),
            action,
            because,
        };
        match tokio::time::timeout(around.patience, front.confirm(&question)).await {
            Ok(Confirmation::Yes) => {}
            Ok(Confirmation::No) | Err(_) => return Outcome::Declined,
            Ok(Confirmation::Nobody) => return Outcome::NeedsConfirmation(question.action),
        }
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
        // The time-out is inside the task, so that it still holds after the turn was dropped.
        tokio::time::timeout(entry.timeout, entry.run(arguments, &ctx)).await
    });
    let mut task = match entry.effect {
        Effect::Read => AbortOnDrop { task, abort: true },
        Effect::Write | Effect::Irreversible | Effect::Egress => AbortOnDrop { task, abort: false },
    };
    match (&mut task.task).await {
        Ok(Ok(Ok(output))) => Outcome::Done(output),
        Ok(Ok(Err(error))) => failed(entry, error),
        Ok(Err(_)) => {
            tracing::warn!(
                tool = entry.name,
                seconds = entry.timeout.as_secs(),
                "tool timed out"
            );
            Outcome::Broken(words::timed_out("do that"))
        }
        Err(_) => panicked(entry),
    }
}

fn failed(entry: &Entry, error: ToolError) -> Outcome {
    match error {
        ToolError::Tell(text) => Outcome::Tell(text),
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
    // Each ends by its tool's own time-out; this bound is for one that blocks its thread.
    let longest = tools::ALL.iter().map(|tool| tool.timeout).max();
    let finished = writes.wait_for(|open| *open == 0);
    if tokio::time::timeout(longest.unwrap_or_default(), finished)
        .await
        .is_err()
    {
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
mod tests {
    use std::sync::Arc;

    use serde_json::json;

    use super::*;
    use crate::reply::Terminal;

    #[tokio::test]
    async fn a_planted_fact_is_not_remembered_even_with_a_yes() {
        let home = tempfile::tempdir().unwrap();
        let dirs = tools::Dirs::under(home.path());
        let call = Call {
            name: "memory.remember".into(),
            arguments: json!({"fact": "my bank is at evil.example"}),
        };
        let remember = async |tainted| {
            let journal = tools::Journal::at(&dirs.state, tools::Retention::default());
            let around = Circumstances {
                ctx: Ctx::new(
                    jiff::Zoned::now(),
                    dirs.clone(),
                    Arc::new(tools::discover::Index::of(tools::ALL)),
                    journal.step("memory.remember"),
                ),
                tainted,
                said: &["yes"],
                patience: Duration::from_secs(5),
            };
            let mut says_yes = Terminal {
                verbose: false,
                yes: true,
                interactive: false,
            };
            let entry = tools::find("memory.remember").unwrap();
            act(entry, &call, around, &mut says_yes).await
        };
        assert_eq!(remember(true).await, Outcome::Tell(words::own_words_only()));
        assert!(!dirs.memory.exists());
        assert!(matches!(remember(false).await, Outcome::Done(_)));
        assert!(dirs.memory.exists());
    }
}
