//! The only door to a tool's effects: look up, check consent, time out, run, turn errors into words.

use std::time::Duration;

use prompts::words;
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
    let because = consent::reasons(entry, &call.arguments, around.tainted, around.said);
    if !because.is_empty() {
        let action = match entry.preview(call.arguments.clone(), &around.ctx) {
            Ok(action) => action,
            Err(error) => return failed(entry, error),
        };
        let question = Question {
            tool: entry.name.to_owned(),
            action,
            because,
        };
        front.show(&Happening::State {
            state: State::Confirming,
        });
        front.show(&Happening::Asked {
            question: question.clone(),
        });
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
    let task = tokio::spawn(async move {
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
        Err(error) => {
            tracing::error!(tool = entry.name, %error, "tool panicked");
            Outcome::Broken(words::broken("do that"))
        }
    }
}

fn failed(entry: &Entry, error: ToolError) -> Outcome {
    match error {
        ToolError::Tell(text) => Outcome::Tell(text),
        ToolError::Broken { what, cause } => {
            tracing::warn!(tool = entry.name, what, cause, "tool failed");
            Outcome::Broken(words::broken(&what))
        }
    }
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
