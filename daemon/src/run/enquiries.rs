//! What clients want to know beside the turns. None of it waits for a turn that is running.

use std::sync::Arc;

use prompts::words;
use tokio::sync::oneshot;

use super::{Daemon, Forget, front::lock};
use crate::{
    act::Writing,
    listing,
    status::{Engines, Loaded, Status},
};

impl Daemon {
    /// The question that is open with its id as JSON, or `null`.
    pub(super) fn question(&self) -> String {
        let questions = lock(&self.questions);
        let open = questions.open();
        let open = open.map(|(id, question)| serde_json::json!({"id": id, "question": question}));
        open.unwrap_or_default().to_string()
    }

    /// The journal has its own turn, so this need not wait for the room.
    pub(super) fn undo(&self, tell: oneshot::Sender<Result<String, String>>) {
        let journal = self.parts.journal.clone();
        tokio::task::spawn_blocking(move || {
            let _writing = Writing::begin();
            let undone = journal.undo(None).map_err(|e| e.to_string());
            let _ = tell.send(undone.map(|step| words::undone(&step.say.unwrap_or(step.tool))));
        });
    }

    /// How it is, as JSON.
    pub(super) fn status(&mut self) -> String {
        let mut info = None;
        if let Ok(room) = self.room.try_lock() {
            info = room.info().cloned();
            self.loaded = room.loaded();
        }
        if *lock(&self.forget) == Some(Forget::All) {
            self.loaded.clear();
        }
        let status = Status {
            state: self.shown().name().to_owned(),
            pid: std::process::id(),
            uptime_s: self.since.elapsed().as_secs(),
            waiting: self.waiting.len(),
            turns: self.turns,
            tokens: self.tokens,
            savings: self.savings,
            loaded: self.loaded.clone(),
            prefix: self.prefix,
            problems: self.notices.all(),
            muted: self.mute.is(),
            hotkey: self.hotkey.clone(),
            warm: self.running.is_none() && self.warm == Some((self.begun, self.engines.llm.stats().life())),
            ..Status::of(&self.engines, info.as_ref())
        };
        serde_json::to_string(&status).unwrap_or_default()
    }

    /// Loads both engines where they are not, which takes seconds, so the loop does not wait for it.
    pub(super) fn engines(&self, tell: oneshot::Sender<String>) {
        let engines = Engines {
            llm: Arc::clone(&self.engines.llm),
            stt: Arc::clone(&self.engines.stt),
        };
        tokio::spawn(async move {
            let loaded = Loaded::of(&engines).await;
            let _ = tell.send(serde_json::to_string(&loaded).unwrap_or_default());
        });
    }

    /// Counting needs the model but no turn.
    pub(super) fn tools(&self, eager: bool, tell: oneshot::Sender<Result<String, String>>) {
        let (llm, parts, index) = (
            Arc::clone(&self.engines.llm),
            self.parts.clone(),
            Arc::clone(&self.index),
        );
        tokio::spawn(async move {
            let listed = listing::tools(&*llm, &parts, &index, eager).await;
            let _ = tell.send(listed.map(|list| list.to_string()).map_err(|e| e.to_string()));
        });
    }
}
