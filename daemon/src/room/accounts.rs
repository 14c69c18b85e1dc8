//! What a turn is told before it begins and what is noted when it is over: the request's circumstances, how tools fared, what
//! lazy loading saved, what stays loaded.

use models::{
    EngineError,
    llm::{Piece, Usage},
};
use tools::system::desktop::power;

use super::{Room, joined};
use crate::{
    agent::rules::Asked,
    report::{Report, Savings},
    shelf,
};

/// Tokens of the static prefix.
#[derive(Debug, Clone, Copy)]
pub struct Sizes {
    /// With every schema.
    eager: u32,
    /// As it is.
    prefix: u32,
}

/// What the open turn has spent on finding tools.
#[derive(Debug, Clone, Copy, Default)]
pub struct Spending {
    /// Prompt tokens of the step before.
    prompt: u32,
    /// By how much such steps made the prompt grow.
    grown: u32,
}

impl Room {
    /// What is known about a request besides its words. The screen is looked at only for rules that ask for it.
    pub async fn asked(&mut self, by_voice: bool) -> Asked {
        let (now, parts) = (self.now().timestamp(), &self.parts);
        self.spending = Spending::default();
        Asked {
            at: now.as_second(),
            by_voice: Some(by_voice),
            locked: match parts.settings.loading.rules.ask_for_the_lock() {
                true => power::is_locked(&parts.desk).await,
                false => None,
            },
            weights: self.health.weights(now),
        }
    }

    /// Notes how a call ended, which counts when tools are searched.
    pub async fn fared(&mut self, tool: &'static str, worked: bool) {
        let (mut health, now) = (self.health.clone(), self.now().timestamp());
        let noting = tokio::task::spawn_blocking(move || {
            let noted = health.note(tool, worked, now);
            (health, noted)
        });
        if let Ok((health, noted)) = noting.await {
            self.health = health;
            if let Err(error) = noted {
                tracing::warn!(%error, "how a tool fared could not be written down");
            }
        }
    }

    /// Adds up what a step cost; called before the agent reads what the model wrote.
    ///
    /// # Errors
    /// When it was called before `ready`.
    pub fn spent(&mut self, usage: &Usage) -> Result<(), EngineError> {
        let searching = self.agent()?.found().searching;
        let spending = &mut self.spending;
        if searching {
            spending.grown += usage.prompt.saturating_sub(spending.prompt);
        }
        spending.prompt = usage.prompt;
        Ok(())
    }

    /// Closes a turn's accounts: what it saved, and what stays loaded for the next start. What cannot be counted or kept now
    /// is left out.
    pub async fn settle_accounts(&mut self, report: &mut Report) {
        if self.agent.is_none() {
            return;
        }
        if let Err(error) = self.count().await {
            tracing::debug!(%error, "the tools could not be counted");
        }
        let Some(agent) = &self.agent else { return };
        if let Some(sizes) = self.sizes {
            let found = agent.found();
            let (eager, prefix) = (u64::from(sizes.eager), u64::from(sizes.prefix));
            let loaded = u64::from(agent.toolbox().loaded_tokens());
            let discovery = u64::from(self.spending.grown.saturating_sub(found.later));
            report.savings = Some(Savings {
                eager,
                prefix,
                marginal: u64::from(found.ahead + found.later),
                loaded,
                discovery,
                reused: u64::from(report.tokens.cached),
                net: eager as i64 - (prefix + loaded + discovery) as i64,
            });
        }
        if agent.toolbox().keeps() {
            let (state, loaded) = (self.parts.dirs.state.clone(), agent.loaded());
            let kept = tokio::task::spawn_blocking(move || shelf::write(&state, &loaded)).await;
            if let Ok(Err(error)) = kept {
                tracing::warn!(%error, "the tools in use could not be written down");
            }
        }
    }

    /// Counts the static prefix and every schema with the model's own tokenizer, once.
    async fn count(&mut self) -> Result<(), EngineError> {
        let (Some(info), Some(agent), None) = (&self.info, &self.agent, self.sizes) else {
            return Ok(());
        };
        let mut eager = self.parts.clone();
        eager.settings.loading.lazy = false;
        let eager = eager.agent(info, &self.index).prefix();
        let dialect = prompts::detect(info.chat_template.as_deref(), &info.architecture);
        let cards = agent.toolbox().catalog_cards();
        let schemas = cards.iter().map(|card| dialect.found(std::slice::from_ref(card)));
        let texts: Vec<Piece> = [eager, agent.prefix()]
            .into_iter()
            .chain(schemas)
            .map(joined)
            .collect();
        let counts = self.llm.count(&texts).await?;
        let [eager, prefix, schemas @ ..] = &counts[..] else {
            return Ok(());
        };
        self.sizes = Some(Sizes {
            eager: *eager,
            prefix: *prefix,
        });
        let schemas = cards
            .into_iter()
            .map(|card| card.name)
            .zip(schemas.iter().copied())
            .collect();
        self.agent()?.counted(&schemas);
        Ok(())
    }
}
