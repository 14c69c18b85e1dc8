//! Reading the tools of the catalogue while nobody wants anything, so that the first request that needs one of them is as quick as
//! the second. The engine keeps what it read on disk, so this is done once for a model and a set of tools.

use std::collections::HashMap;

use models::{EngineError, llm::Generate};

use super::{Room, again, bounded, pieces};

/// What was read, and for which static prefix.
#[derive(Debug, Default)]
pub(super) struct Learnt {
    prefix: u64,
    /// How many beginnings of each tool.
    tools: HashMap<String, usize>,
}

impl Room {
    /// Reads one more tool, or the next order of its calls. The conversation is no longer in the cache then. `false` when all are known,
    /// or where it does not pay: the engine has gone to rest, or it keeps nothing more.
    ///
    /// # Errors
    /// What keeps the engine from it.
    pub async fn learn(&mut self) -> Result<bool, EngineError> {
        if !self.llm.keeps_states() || self.engine().is_none() {
            return Ok(false);
        }
        self.load().await?;
        let prefix = self.prepared.map_or(0, |(_, prefix)| prefix);
        if self.learnt.prefix != prefix {
            self.learnt = Learnt {
                prefix,
                ..Learnt::default()
            };
        }
        let tools = std::mem::take(&mut self.learnt.tools);
        let agent = self.agent();
        let read = |name: &str| tools.get(name).copied().unwrap_or_default();
        let unread = agent.toolbox().deferred();
        let unread = unread.filter(|name| read(name) < agent.beginnings(name));
        // Every tool once before the first one is read again, with its calls in another order.
        let next = unread.min_by_key(|name| read(name));
        let next = next.map(|name| (name.to_owned(), read(name), agent.beginning(name, read(name))));
        self.learnt.tools = tools;
        let Some((name, read, beginning)) = next else {
            return Ok(false);
        };
        if let Some(beginning) = beginning {
            let request = Generate {
                again: again(beginning.static_len, &beginning.found),
                prompt: pieces(beginning.pieces),
                beside: true,
                idle: true,
                ..Generate::default()
            };
            bounded(
                self.parts.limits.generate,
                self.llm.generate(request, &mut |_| {}),
            )
            .await?;
        }
        self.learnt.tools.insert(name, read + 1);
        Ok(true)
    }
}
