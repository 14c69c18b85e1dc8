//! Which tools there are, which of them the model has seen, and which it may call now.

use std::{collections::BTreeMap, sync::Arc};

use prompts::Card;
use serde_json::{Value, json};
use tools::{
    Entry, LoadPolicy,
    discover::{Index, Match},
};

/// The meta-tool that loads others; exempt from the budget of business calls.
pub const DISCOVER: &str = "tools.discover";

/// How many tools a ranking is cut to.
const WIDE: usize = 10;

/// The catalogue of one conversation.
#[derive(Clone)]
pub struct Toolbox {
    tools: BTreeMap<&'static str, Known>,
    /// Deferred tools found so far, in the order found.
    loaded: Vec<&'static str>,
    index: Arc<Index>,
}

/// How tools are loaded; what the person set goes before what the tool says of itself.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Loading {
    /// Whether deferred tools stay out of the prompt until discovered.
    pub lazy: bool,
    /// Names of tools that are core whatever they say.
    pub core: Vec<String>,
    /// Names of tools that are deferred whatever they say. `tools.discover` never is: nothing could be found without it.
    pub deferred: Vec<String>,
}

impl Loading {
    fn policy(&self, entry: &Entry) -> LoadPolicy {
        let named = |names: &[String]| names.iter().any(|n| n == entry.name);
        match (named(&self.core), named(&self.deferred)) {
            _ if entry.name == DISCOVER => LoadPolicy::Core,
            (true, _) => LoadPolicy::Core,
            (false, true) => LoadPolicy::Deferred,
            (false, false) => entry.load,
        }
    }
}

#[derive(Clone)]
struct Known {
    entry: &'static Entry,
    core: bool,
    parameters: Value,
}

impl Toolbox {
    /// A toolbox over these tools. With loading not `lazy` everything is core and there is nothing to discover.
    pub fn new(entries: &'static [Entry], index: Arc<Index>, loading: &Loading) -> Toolbox {
        let deferred = |e: &Entry| loading.lazy && loading.policy(e) == LoadPolicy::Deferred;
        let any_deferred = entries.iter().any(deferred);
        let known = entries
            .iter()
            .filter(|e| e.name != DISCOVER || any_deferred)
            .map(|entry| {
                (
                    entry.name,
                    Known {
                        entry,
                        core: !deferred(entry),
                        parameters: entry.parameters(),
                    },
                )
            });
        Toolbox {
            tools: known.collect(),
            loaded: Vec::new(),
            index,
        }
    }

    /// The tool of this exact name.
    pub fn find(&self, name: &str) -> Option<&'static Entry> {
        self.tools.get(name).map(|k| k.entry)
    }

    /// Every name.
    pub fn names(&self) -> impl Iterator<Item = &'static str> + '_ {
        self.tools.keys().copied()
    }

    /// Names near this one.
    pub fn nearest(&self, name: &str) -> Vec<String> {
        self.index.nearest(name, 3)
    }

    /// Whether the model has the schema.
    pub fn is_loaded(&self, name: &str) -> bool {
        self.is_core(name) || self.loaded.contains(&name)
    }

    /// Whether its schema stands in the prompt from the start.
    pub fn is_core(&self, name: &str) -> bool {
        self.tools.get(name).is_some_and(|k| k.core)
    }

    /// Tools that fit these words, best first: core ones too, since what is best decides whether to act at all.
    pub fn rank(&self, words: &str) -> Vec<Match> {
        let mut hits = self.index.search(words, None, WIDE, 0.0);
        hits.retain(|hit| hit.name != DISCOVER && self.tools.contains_key(hit.name.as_str()));
        hits
    }

    /// Whether the index itself would offer this tool for these words. A wide net: it only has to keep out
    /// what has nothing to do with them.
    pub fn serves(&self, name: &str, words: Option<&str>) -> bool {
        words.is_some_and(|words| self.rank(words).iter().any(|hit| hit.name == name))
    }

    /// Loads tools that are not loaded yet and returns their cards.
    pub fn load(&mut self, names: &[String]) -> Vec<Card> {
        let mut cards = Vec::new();
        for name in names {
            if let Some(known) = self.tools.get(name.as_str())
                && !known.core
                && !self.loaded.contains(&known.entry.name)
            {
                self.loaded.push(known.entry.name);
                cards.push(known.card());
            }
        }
        cards
    }

    /// Unloads what does not stand in the prompt any more.
    pub fn keep_only(&mut self, shown: &[&str]) {
        self.loaded.retain(|name| shown.contains(name));
    }

    /// Unloads everything.
    pub fn unload_all(&mut self) {
        self.loaded.clear();
    }

    /// Section 1.
    pub fn core_cards(&self) -> Vec<Card> {
        let core = self
            .tools
            .values()
            .filter(|k| k.core && (k.entry.name != DISCOVER || !self.all_loaded()));
        core.map(Known::card).collect()
    }

    /// Section 2; empty when everything is loaded.
    pub fn catalog_cards(&self) -> Vec<Card> {
        match self.all_loaded() {
            true => Vec::new(),
            false => self.tools.values().filter(|k| !k.core).map(Known::card).collect(),
        }
    }

    /// Section 3.
    pub fn loaded_cards(&self) -> Vec<Card> {
        self.loaded
            .iter()
            .filter_map(|name| self.tools.get(name))
            .map(Known::card)
            .collect()
    }

    /// What the grammar lets through: loaded tools with their schemas, deferred ones by name only (their schema
    /// is loaded when they are named), `tools.discover` while it may still be used.
    pub fn callable(&self, no_more_search: bool) -> Vec<(String, Value)> {
        let searchable = !no_more_search && !self.all_loaded();
        let callable = self
            .tools
            .values()
            .filter(|k| k.entry.name != DISCOVER || searchable);
        callable
            .map(|k| match self.is_loaded(k.entry.name) {
                true => (k.entry.name.to_owned(), k.parameters.clone()),
                false => (
                    k.entry.name.to_owned(),
                    json!({"type": "object", "properties": {}}),
                ),
            })
            .collect()
    }

    /// The schema of a tool's arguments.
    pub fn parameters(&self, name: &str) -> Option<&Value> {
        self.tools.get(name).map(|known| &known.parameters)
    }

    fn all_loaded(&self) -> bool {
        self.tools.values().filter(|k| !k.core).count() == self.loaded.len()
    }
}

impl Known {
    fn card(&self) -> Card {
        Card {
            name: self.entry.name.to_owned(),
            summary: self.entry.summary.to_owned(),
            parameters: self.parameters.clone(),
            confirm: self.entry.confirm,
        }
    }
}

/// What makes two searches the same: their words, in any order and spelling of case.
pub fn search_key(query: &str) -> String {
    let mut words: Vec<String> = query
        .split(|c: char| !c.is_alphanumeric())
        .filter(|w| !w.is_empty())
        .map(str::to_lowercase)
        .collect();
    words.sort();
    words.dedup();
    words.join(" ")
}
