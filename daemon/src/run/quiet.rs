//! What is done while nobody waits: the model is loaded, the conversation is evaluated, and the tools of the catalogue are read.

use std::{sync::Arc, time::Duration};

use super::{CONVERSATION, Daemon, Event};

/// For how long the model has been there when the tools are read, as a rule: who has just started Tiro may want something at once.
pub const SETTLED: Duration = Duration::from_secs(20);

/// How long nobody has said anything when they are. A conversation goes out of the cache for them, and before it is over for
/// good the engine may have gone to rest.
const OVER: Duration = Duration::from_secs(CONVERSATION.as_secs() * 4 / 5);

/// Between two tools, so that no fan need run for it and others get at the cores.
const BREATH: Duration = Duration::from_secs(1);

impl Daemon {
    /// Loads the model before anybody speaks.
    pub(super) fn prepare(&mut self) {
        let (room, events) = (Arc::clone(&self.room), self.events.clone());
        let llm = Arc::clone(&self.engines.llm);
        self.preparing = Some(tokio::spawn(async move {
            // Whoever speaks before the model is there is heard with them, too.
            room.lock().await.read_names();
            // Without the room: a turn that needs no model does not wait for it.
            if let Err(error) = llm.info().await {
                tracing::warn!(%error, "the model is not ready");
                return;
            }
            let mut room = room.lock().await;
            match room.ready().await {
                Ok(Some(prepared)) => {
                    tracing::info!(?prepared, "ready");
                    let _ = events.send(Event::Ready(prepared)).await;
                    if let Err(error) = room.count().await {
                        tracing::debug!(%error, "the tools could not be counted");
                    }
                }
                Ok(None) => {}
                Err(error) => tracing::warn!(%error, "the model is not ready"),
            }
        }));
    }

    /// Loads a model that was there and is not any more, because nobody needed it for a while: it is ready when the person has
    /// finished.
    pub(super) fn prepare_again(&mut self) {
        let had = self.warm.is_some_and(|(_, life)| life.is_some());
        let begun = self
            .preparing
            .as_ref()
            .is_some_and(|preparing| !preparing.is_finished());
        if had && !begun && self.engines.llm.stats().life().is_none() {
            self.prepare();
        }
    }

    /// Evaluates the conversation so far, so that the next turn evaluates only what is new.
    pub(super) fn warm_up(&mut self) {
        let (room, events, number) = (Arc::clone(&self.room), self.events.clone(), self.begun);
        let warming = tokio::spawn(async move {
            let mut room = room.lock().await;
            match room.warm().await {
                Ok(false) => {}
                Ok(true) => {
                    let engine = room.llm().stats().life();
                    let _ = events.send(Event::Warm { number, engine }).await;
                }
                Err(error) => tracing::debug!(%error, "the conversation could not be evaluated ahead"),
            }
        });
        if let Some(earlier) = self.warming.replace(warming) {
            earlier.abort();
        }
    }

    /// Reads the tools of the catalogue when nobody has wanted anything for a while, and after a turn when its conversation is over.
    pub(super) fn learn_later(&mut self, talked: bool) {
        let Some(settled) = self.parts.limits.read_ahead else {
            return;
        };
        let after = if talked { settled.max(OVER) } else { settled };
        let room = Arc::clone(&self.room);
        let learning = tokio::spawn(async move {
            tokio::time::sleep(after).await;
            loop {
                // The task is aborted when somebody wants something, in the middle of a tool, too.
                let more = room.lock().await.learn().await;
                match more {
                    Ok(true) => tokio::time::sleep(BREATH).await,
                    Ok(false) => return,
                    Err(error) => {
                        tracing::debug!(%error, "the tools could not be read ahead");
                        return;
                    }
                }
            }
        });
        if let Some(before) = self.learning.replace(learning) {
            before.abort();
        }
    }

    /// Somebody wants something.
    pub(super) fn stop_learning(&mut self) {
        if let Some(learning) = self.learning.take() {
            learning.abort();
        }
    }
}
