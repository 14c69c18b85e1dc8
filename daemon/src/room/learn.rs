//! Reading the tools of the catalogue while nobody wants anything, so that the first request that needs one of them is as quick as
//! the second. The engine keeps what it read on disk, so this is done once for a model and a set of tools.

use std::collections::HashSet;

use models::{EngineError, llm::Generate};

use super::{Room, again, bounded, pieces};

/// What was read, and for which static prefix.
#[derive(Debug, Default)]
pub(super) struct Learnt {
    prefix: u64,
    tools: HashSet<String>,
}

impl Room {
    /// Reads one more tool. The conversation is no longer in the cache then. `false` when all are known, or where it does not pay:
    /// the engine has gone to rest, or it keeps nothing.
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
        let learnt = std::mem::take(&mut self.learnt.tools);
        let agent = self.agent();
        let next = agent.toolbox().deferred().find(|name| !learnt.contains(*name));
        let next = next.map(|name| (name.to_owned(), agent.beginning(name)));
        self.learnt.tools = learnt;
        let Some((name, beginning)) = next else {
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
        self.learnt.tools.insert(name);
        Ok(true)
    }
}
