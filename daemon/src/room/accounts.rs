//! What a turn is told before it begins and what is noted when it is over: the request's circumstances, how tools fared, what
//! lazy loading saved, what stays loaded.

use jiff::Timestamp;
use models::{
    EngineError,
    llm::{Piece, Usage},
};
use tools::system::desktop::power;

use super::{Room, bounded, joined};
use crate::{
    act::Writing,
    agent::rules::Asked,
    report::{Report, Savings},
    shelf,
    stop::{Sounding, still_heard},
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
    pub async fn asked(&mut self, text: &str, by_voice: bool) -> Asked {
        // By the machine's clock, whatever moment the turn pretends: this is compared with other turns, and kept.
        let now = Timestamp::now();
        let ctx = self.ctx();
        self.names.begin(ctx);
        let known = match self.agent().is_reflex(text) {
            true => self.names.latest(),
            false => self.names.now().await,
        };
        let parts = &self.parts;
        self.spending = Spending::default();
        self.needed = false;
        Asked {
            at: now.as_second(),
            by_voice: Some(by_voice),
            locked: match parts.settings.loading.rules.ask_for_the_lock() {
                true => power::is_locked(&parts.desk).await,
                false => None,
            },
            weights: self.health.weights(now),
            guest: false,
            known,
        }
    }

    /// The request that these words are short for, when something sounds; else they themselves.
    pub async fn in_full(&mut self, text: String) -> String {
        let parts = &self.parts;
        let since = still_heard(&parts.clock.now(), parts.ring.length);
        let sounding = Sounding::if_meant(&text, &parts.dirs, &parts.desk, since).await;
        // Who stops at a question means the question, unless something rings.
        let request = sounding.request(&text, self.agent().is_asking());
        request.unwrap_or(text)
    }

    /// Notes how a call ended, which counts when tools are searched. It is written down while the turn goes on.
    pub fn fared(&mut self, tool: &'static str, worked: bool) {
        let Some(noted) = self.health.note(tool, worked, Timestamp::now()) else {
            return;
        };
        let writing = Writing::begin();
        tokio::task::spawn_blocking(move || {
            let _writing = writing;
            if let Err(error) = noted.write() {
                tracing::warn!(%error, "how a tool fared could not be written down");
            }
        });
    }

    /// Adds up what a step cost; called before the agent reads what the model wrote.
    pub fn spent(&mut self, usage: &Usage) {
        let searching = self.agent().found().searching;
        let spending = &mut self.spending;
        if searching {
            spending.grown += usage.prompt.saturating_sub(spending.prompt);
        }
        spending.prompt = usage.prompt;
    }

    /// Closes a turn's accounts: what it saved, and what stays loaded for the next start.
    pub async fn settle_accounts(&mut self, report: &mut Report) {
        let Some(agent) = &self.agent else { return };
        // Where no model was asked, nothing was spent and nothing saved.
        if let Some(sizes) = self.sizes.filter(|_| report.steps > 0) {
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
        let loaded = agent.loaded();
        if !agent.toolbox().keeps() || self.shelved.as_ref() == Some(&loaded) {
            return;
        }
        let (state, shelved) = (self.parts.dirs.state.clone(), loaded.clone());
        match tokio::task::spawn_blocking(move || shelf::write(&state, &loaded)).await {
            Ok(Ok(())) => self.shelved = Some(shelved),
            Ok(Err(error)) => tracing::warn!(%error, "the tools in use could not be written down"),
            Err(_) => {}
        }
    }

    /// Counts the static prefix and every schema with the model's own tokenizer, once. A server does not count, and what lazy
    /// loading saves is not told by estimates.
    ///
    /// # Errors
    /// What keeps the engine from it; everything works without, by estimates.
    pub async fn count(&mut self) -> Result<(), EngineError> {
        let (Some(info), Some(agent), None) = (&self.info, &self.agent, self.sizes) else {
            return Ok(());
        };
        if self.llm.server().is_some() {
            return Ok(());
        }
        let mut eager = self.parts.clone();
        eager.settings.loading.lazy = false;
        let eager = eager.agent(info, &self.index).prefix();
        let cards = agent.toolbox().catalog_cards();
        let schemas = cards.iter().map(|card| agent.adds(card.clone()));
        let texts: Vec<Piece> = [eager, agent.prefix()]
            .into_iter()
            .chain(schemas)
            .map(joined)
            .collect();
        let counts = bounded(self.parts.limits.generate, self.llm.count(&texts)).await?;
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
        self.agent().counted(&schemas);
        Ok(())
    }
}
