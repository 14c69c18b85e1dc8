//! Which tools there are, which of them the model has seen, and which it may call now.

use std::{
    collections::{BTreeMap, BTreeSet, HashSet, VecDeque},
    ops::Range,
    sync::{Arc, Mutex, PoisonError},
};

use prompts::Card;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use tools::{
    Effect, Entry, LoadPolicy,
    discover::{Index, Lens, Match, Tier, lift},
    system::known,
};

use super::{
    calls, openers,
    rules::{Asked, Phase, Rules},
};

/// The meta-tool that loads others; exempt from the budget of business calls.
pub const DISCOVER: &str = "tools.discover";

/// How many tools a ranking is cut to.
const WIDE: usize = 10;

/// The score of a tool that nothing speaks for, under that of any that is found.
const SILENT: f32 = 0.03;

/// From this score on a request that something is not done is one for what undoes it. It is far over the one that acts: to leave
/// alone what was to be undone costs another sentence.
const UNDOES: f32 = 0.5;

/// Tenths of bytes in a token of a schema, until the model's own tokenizer has counted.
const BYTES_PER_TOKEN: usize = 35;

/// The catalogue of one conversation.
#[derive(Clone)]
pub struct Toolbox {
    tools: BTreeMap<&'static str, Known>,
    /// Deferred tools found so far, in the order found.
    loaded: Vec<Loaded>,
    index: Arc<Index>,
    loading: Loading,
    /// The verbs with which requests for these tools begin.
    openers: Arc<HashSet<&'static str>>,
    /// The request that is being served.
    asked: Asked,
    tainted: bool,
    /// What this request has found or used.
    busy: BTreeSet<String>,
    lens: Arc<Lens>,
    searches: Arc<Mutex<Searches>>,
}

/// A deferred tool whose schema the model has.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Loaded {
    /// `domain.verb`.
    pub name: String,
    /// When it was found or called last, in seconds since 1970.
    pub used: i64,
}

/// How tools are loaded; what the person set goes before what the tool says of itself.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Loading {
    /// Whether deferred tools stay out of the prompt until discovered.
    pub lazy: bool,
    /// Names of tools that are core whatever they say.
    pub core: Vec<String>,
    /// Names of tools that are deferred whatever they say. `tools.discover` never is: nothing could be found without it.
    pub deferred: Vec<String>,
    /// How long what was found stays.
    pub storage: Storage,
    /// Tokens that schemas found so far may take together; over that those go that were not used for longest.
    pub tokens: Option<u32>,
    /// Which tools a request may find, load and call.
    pub rules: Rules,
    /// Searches of one conversation that are remembered.
    pub searches: usize,
}

/// How long tools that were found stay loaded.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Storage {
    /// Until the conversation is over, and no longer than this many seconds after their last use.
    Session {
        /// None never expires.
        ttl: Option<u64>,
    },
    /// Until they are unloaded or forgotten, the next start included.
    Context,
}

impl Default for Loading {
    fn default() -> Loading {
        Loading {
            lazy: true,
            core: Vec::new(),
            deferred: Vec::new(),
            storage: Storage::Session { ttl: Some(1800) },
            tokens: Some(1500),
            rules: Rules::default(),
            searches: 32,
        }
    }
}

/// A ranking, cut to so many.
#[derive(Debug, Clone)]
struct Ranked {
    words: String,
    wide: usize,
    hits: Vec<Match>,
}

/// Rankings of the last requests, newest last. What is remembered is how the words rank, before any rule.
#[derive(Debug, Default)]
struct Searches {
    kept: VecDeque<Ranked>,
    hits: u64,
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
    /// Calls to go by.
    calls: Vec<(String, Value)>,
    /// What its schema takes in the prompt.
    tokens: u32,
}

impl Toolbox {
    /// A toolbox over these tools. With loading not `lazy` everything is core and there is nothing to discover.
    pub fn new(entries: &'static [Entry], index: Arc<Index>, loading: &Loading) -> Toolbox {
        let deferred = |e: &Entry| loading.lazy && loading.policy(e) == LoadPolicy::Deferred;
        let any_deferred = entries.iter().any(deferred);
        let known = entries.iter().filter(|e| e.name != DISCOVER || any_deferred);
        Toolbox {
            tools: known
                .clone()
                .map(|entry| (entry.name, Known::new(entry, !deferred(entry))))
                .collect(),
            loaded: Vec::new(),
            index,
            loading: loading.clone(),
            openers: Arc::new(openers::of(known)),
            asked: Asked::default(),
            tainted: false,
            busy: BTreeSet::new(),
            lens: Arc::default(),
            searches: Arc::default(),
        }
    }

    /// Begins to serve a request: what it may see is decided now, and what nobody used for long is unloaded. Returns what
    /// went.
    pub fn ask(&mut self, asked: Asked, tainted: bool) -> Vec<Loaded> {
        self.asked = asked;
        self.taint(tainted);
        self.busy.clear();
        for one in &mut self.loaded {
            // A clock that was put back must not make a tool stay for ever.
            one.used = one.used.min(self.asked.at);
        }
        let before = self.loaded.clone();
        if let Storage::Session { ttl: Some(ttl) } = self.loading.storage {
            let at = self.asked.at;
            self.loaded
                .retain(|one| at.saturating_sub(one.used) <= i64::try_from(ttl).unwrap_or(i64::MAX));
        }
        self.loaded.retain(|one| {
            let forbidden = |phase| self.loading.rules.forbid(phase, &one.name, &self.asked, tainted);
            !forbidden(Phase::Load)
        });
        gone(&before, &self.loaded)
    }

    /// Words of others have come into the conversation, or have gone out of it.
    pub fn taint(&mut self, tainted: bool) {
        self.tainted = tainted;
        let hidden = self.tools.keys().filter(|name| self.forbids(Phase::Search, name));
        self.lens = Arc::new(Lens {
            hidden: hidden.map(|name| (*name).to_owned()).collect(),
            weights: self.asked.weights.clone(),
        });
    }

    /// Whether the person's rules keep this tool from this request.
    pub fn forbids(&self, phase: Phase, name: &str) -> bool {
        self.loading.rules.forbid(phase, name, &self.asked, self.tainted)
    }

    /// Whether what this tool told may not be told in this request either.
    pub fn holds_back(&self, name: &str) -> bool {
        // That it was told made the conversation tainted; that alone is no reason to forget it.
        self.loading.rules.forbid(Phase::Active, name, &self.asked, false)
    }

    /// What searches of this request see.
    pub fn lens(&self) -> &Arc<Lens> {
        &self.lens
    }

    /// Makes room when the schemas found so far take more tokens than they may: those go that were not used for
    /// longest, down to three quarters, because whatever goes makes the engine evaluate all that follows again. What this request
    /// has found or used stays. Returns the names of what went.
    pub fn make_room(&mut self) -> Vec<Loaded> {
        let Some(most) = self.loading.tokens else {
            return Vec::new();
        };
        if self.loaded_tokens() <= most {
            return Vec::new();
        }
        let before = self.loaded.clone();
        while self.loaded_tokens() > most / 4 * 3 {
            let old = self
                .loaded
                .iter()
                .enumerate()
                .filter(|(_, one)| !self.busy.contains(&one.name));
            let Some((oldest, _)) = old.min_by_key(|(_, one)| one.used) else {
                break;
            };
            self.loaded.remove(oldest);
        }
        gone(&before, &self.loaded)
    }

    /// Tokens of the schemas found so far.
    pub fn loaded_tokens(&self) -> u32 {
        self.loaded.iter().map(|one| self.tokens(&one.name)).sum()
    }

    /// Tokens of a schema.
    pub fn tokens(&self, name: &str) -> u32 {
        self.tools.get(name).map_or(0, |known| known.tokens)
    }

    /// What the model's own tokenizer counted.
    pub fn counted(&mut self, tokens: &BTreeMap<String, u32>) {
        for (name, known) in &mut self.tools {
            if let Some(tokens) = tokens.get(*name) {
                known.tokens = *tokens;
            }
        }
    }

    /// Tools whose schemas the model does not have before they are found.
    pub fn deferred(&self) -> impl Iterator<Item = &str> {
        self.tools.values().filter(|k| !k.core).map(|k| k.entry.name)
    }

    /// Schemas found so far and when they were last used, in the order found.
    pub fn loaded(&self) -> &[Loaded] {
        &self.loaded
    }

    /// Whether what was found is kept for the next start.
    pub fn keeps(&self) -> bool {
        self.loading.lazy && self.loading.storage == Storage::Context
    }

    /// The tool of this exact name.
    pub fn find(&self, name: &str) -> Option<&'static Entry> {
        self.tools.get(name).map(|k| k.entry)
    }

    /// Every tool.
    pub fn entries(&self) -> Vec<Entry> {
        self.tools.values().map(|known| *known.entry).collect()
    }

    /// Every name.
    pub fn names(&self) -> impl Iterator<Item = &'static str> + '_ {
        self.tools.keys().copied()
    }

    /// Whether requests begin with this verb, in small letters.
    pub fn opens(&self, word: &str) -> bool {
        self.openers.contains(word)
    }

    /// Names near this one.
    pub fn nearest(&self, name: &str) -> Vec<String> {
        self.index.nearest(name, 3)
    }

    /// Whether the model has the schema.
    pub fn is_loaded(&self, name: &str) -> bool {
        self.is_core(name) || self.loaded.iter().any(|one| one.name == name)
    }

    /// Names of the tools whose schemas stand in the prompt from the start.
    pub fn core(&self) -> BTreeSet<String> {
        let core = self.tools.iter().filter(|(_, known)| known.core);
        core.map(|(name, _)| (*name).to_owned()).collect()
    }

    /// Whether its schema stands in the prompt from the start.
    pub fn is_core(&self, name: &str) -> bool {
        self.tools.get(name).is_some_and(|k| k.core)
    }

    /// Tools that fit these words, best first: core ones too, since what is best decides whether to act at all.
    pub fn rank(&self, words: &str) -> Vec<Match> {
        self.lens.look(self.lifted(words), WIDE, 0.0)
    }

    /// As the index ranks them, and as what the words name of the person's own things speaks for them.
    fn lifted(&self, words: &str) -> Vec<Match> {
        let lifts = self.asked.known.lifts(words);
        let mut hits = self.raw(words, !lifts.is_empty());
        lift(&mut hits, &lifts);
        hits
    }

    /// Whether who says that something is not to be asks for something else, mostly for what undoes it: the index, which learned
    /// from what people say, is sure of a tool for all of the words that is of the same domain as the one for what is `unwanted`,
    /// and another. Where both are the same, as for "don't delete it", the words only forbid. What the other tool does is not
    /// looked at here; whether it may is a matter of consent, as ever.
    pub fn is_undone(&self, words: &str, unwanted: &str) -> bool {
        let best = |words: &str| {
            let best = self.rank(words).into_iter().next()?;
            Some((self.find(&best.name)?, best.score))
        };
        let (Some((whole, score)), Some((not, _))) = (best(words), best(unwanted)) else {
            return false;
        };
        score >= UNDOES && whole.name != not.name && whole.domain() == not.domain()
    }

    /// Whether these words name something of the person's own that this tool looks at, or asks about before it changes it.
    pub fn is_about(&self, name: &str, words: &str) -> bool {
        let harmless = |entry: &Entry| entry.effect == Effect::Read || entry.confirm;
        self.find(name).is_some_and(harmless)
            && self
                .asked
                .known
                .lifts(words)
                .keys()
                .any(|tools| name.starts_with(tools))
    }

    /// What arguments of this tool can only be, because these words hold the name of it.
    pub fn named(&self, entry: &Entry, words: &str) -> Vec<(&'static str, Vec<&str>)> {
        let names = entry.named.iter();
        names
            .map(|(argument, kind)| (*argument, self.asked.known.whole(*kind, words)))
            .collect()
    }

    /// What of these words names something of this kind.
    pub fn named_in<'t>(&self, kind: known::Kind, words: &'t str) -> Option<&'t str> {
        self.asked.known.within(kind, words)
    }

    /// Where these words name something of this kind.
    pub fn stretches(&self, kind: known::Kind, words: &str) -> Vec<Range<usize>> {
        self.asked.known.stretches(kind, words)
    }

    /// Whether any of these words stands in a name of this kind.
    pub fn touches(&self, kind: known::Kind, words: &str) -> bool {
        self.asked.known.touches(kind, words)
    }

    /// The same for all tools, however little they fit.
    pub fn rank_all(&self, words: &str) -> Vec<Match> {
        let all = self.index.docs().len();
        let mut hits = self.index.search(words, None, all, 0.0);
        hits.retain(|hit| hit.name != DISCOVER && self.tools.contains_key(hit.name.as_str()));
        let silent = self.tools.keys().filter(|name| **name != DISCOVER);
        let silent: Vec<Match> = silent
            .filter(|name| !hits.iter().any(|hit| hit.name == **name))
            .map(|name| Match {
                name: (*name).to_owned(),
                score: SILENT,
                tier: Tier::Bm25,
                why: "nothing".to_owned(),
            })
            .collect();
        hits.extend(silent);
        lift(&mut hits, &self.asked.known.lifts(words));
        self.lens.look(hits, all, 0.0)
    }

    /// The tool that fits these words best of all where the person's rules keep it from this request.
    pub fn forbidden_best(&self, words: &str) -> Option<Match> {
        if self.loading.rules.0.is_empty() {
            return None;
        }
        let best = self.lifted(words).into_iter().next()?;
        let phases = match self.is_core(&best.name) {
            true => &[Phase::Search, Phase::Active][..],
            false => &[Phase::Search, Phase::Load, Phase::Active],
        };
        let forbidden = phases.iter().any(|phase| self.forbids(*phase, &best.name));
        Some(best).filter(|_| forbidden)
    }

    /// As the index ranks them; all of them where they will be reordered. The words of a turn are looked up several times, and people say the same again.
    fn raw(&self, words: &str, reordered: bool) -> Vec<Match> {
        let plain = !reordered && self.lens.hidden.is_empty() && self.lens.weights.is_empty();
        // What sinks or is hidden makes room for what would not have been among the best.
        let wide = if plain { WIDE + 1 } else { self.index.docs().len() };
        let mut searches = self.searches.lock().unwrap_or_else(PoisonError::into_inner);
        let known = |ranked: &Ranked| ranked.words == words && ranked.wide >= wide;
        if let Some(known) = searches
            .kept
            .iter()
            .position(known)
            .and_then(|at| searches.kept.remove(at))
        {
            searches.hits += 1;
            searches.kept.push_back(known.clone());
            return known.hits;
        }
        let mut hits = self.index.search(words, None, wide, 0.0);
        hits.retain(|hit| hit.name != DISCOVER && self.tools.contains_key(hit.name.as_str()));
        searches.kept.push_back(Ranked {
            words: words.to_owned(),
            wide,
            hits: hits.clone(),
        });
        while searches.kept.len() > self.loading.searches {
            searches.kept.pop_front();
        }
        hits
    }

    /// How many searches were answered from memory in this conversation.
    pub fn remembered(&self) -> u64 {
        self.searches.lock().unwrap_or_else(PoisonError::into_inner).hits
    }

    /// Whether the index itself would offer this tool for these words. A wide net: it only has to keep out
    /// what has nothing to do with them.
    pub fn serves(&self, name: &str, words: Option<&str>) -> bool {
        words.is_some_and(|words| self.rank(words).iter().any(|hit| hit.name == name))
    }

    /// Loads tools that are not loaded yet and returns their cards; those that the person's rules keep back are not.
    pub fn load(&mut self, names: &[String]) -> Vec<Card> {
        let mut cards = Vec::new();
        for name in names {
            if self.is_loaded(name) {
                self.touch(name);
            } else if let Some(known) = self.tools.get(name.as_str())
                && !self.forbids(Phase::Load, name)
            {
                self.busy.insert(name.clone());
                self.loaded.push(Loaded {
                    name: name.clone(),
                    used: self.asked.at,
                });
                cards.push(known.card());
            }
        }
        cards
    }

    /// A tool is used now.
    pub fn touch(&mut self, name: &str) {
        if let Some(one) = self.loaded.iter_mut().find(|one| one.name == name) {
            one.used = self.asked.at;
            self.busy.insert(name.to_owned());
        }
    }

    /// A tool that was just loaded was used then, and this request has not asked for it.
    pub fn used(&mut self, name: &str, at: i64) {
        if let Some(one) = self.loaded.iter_mut().find(|one| one.name == name) {
            one.used = at.min(self.asked.at);
            self.busy.remove(name);
        }
    }

    /// Unloads what does not stand in the prompt any more, and returns it.
    pub fn keep_only(&mut self, shown: &[&str]) -> Vec<Loaded> {
        let (kept, gone) = std::mem::take(&mut self.loaded)
            .into_iter()
            .partition(|one| shown.contains(&one.name.as_str()));
        self.loaded = kept;
        gone
    }

    /// Unloads everything.
    pub fn unload_all(&mut self) {
        self.loaded.clear();
        self.searches = Arc::default();
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

    /// What a prompt shows of a deferred tool, with all its calls to go by.
    pub fn found_card(&self, name: &str) -> Option<Card> {
        let known = self.tools.get(name).filter(|known| !known.core)?;
        Some(known.card())
    }

    /// Section 3.
    pub fn loaded_cards(&self) -> Vec<Card> {
        let loaded = self.loaded.iter();
        let known = loaded.filter_map(|one| self.tools.get(one.name.as_str()));
        let card = |known: &Known| {
            let mut card = known.card();
            card.calls.truncate(calls::OF_BEST);
            card
        };
        known.map(card).collect()
    }

    /// What the grammar lets through: loaded tools with their schemas, deferred ones by name only (their schema
    /// is loaded when they are named), `tools.discover` while it may still be used.
    pub fn callable(&self, no_more_search: bool) -> Vec<(String, Value)> {
        let searchable = !no_more_search && !self.all_loaded();
        let callable = self
            .tools
            .values()
            .filter(|k| k.entry.name != DISCOVER || searchable)
            .filter(|k| !self.forbids(Phase::Active, k.entry.name));
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
    fn new(entry: &'static Entry, core: bool) -> Known {
        let parameters = entry.parameters();
        let bytes = entry.name.len() + entry.summary.len() + parameters.to_string().len();
        Known {
            entry,
            core,
            parameters,
            calls: calls(entry),
            tokens: u32::try_from(bytes * 10 / BYTES_PER_TOKEN).unwrap_or(u32::MAX),
        }
    }

    fn card(&self) -> Card {
        Card {
            name: self.entry.name.to_owned(),
            summary: self.entry.summary.to_owned(),
            parameters: self.parameters.clone(),
            confirm: self.entry.confirm,
            calls: self.calls.clone(),
        }
    }
}

/// The calls to go by. The catalogue's own tests read them all, so none is lost here.
fn calls(entry: &Entry) -> Vec<(String, Value)> {
    let read =
        |(said, arguments): &(&str, &str)| Some(((*said).to_owned(), serde_json::from_str(arguments).ok()?));
    entry.calls.iter().filter_map(read).collect()
}

/// What is in one list and not in the other.
fn gone(before: &[Loaded], after: &[Loaded]) -> Vec<Loaded> {
    let gone = before
        .iter()
        .filter(|one| !after.iter().any(|left| left.name == one.name));
    gone.cloned().collect()
}

/// What makes two searches the same: their words, in any order and spelling of case; without words, the domain.
pub fn search_key(query: &str, domain: Option<&str>) -> String {
    let mut words: Vec<String> = query
        .split(|c: char| !c.is_alphanumeric())
        .filter(|w| !w.is_empty())
        .map(str::to_lowercase)
        .collect();
    words.sort();
    words.dedup();
    match words.is_empty() {
        true => format!("all of {}", domain.unwrap_or_default().trim().to_lowercase()),
        false => words.join(" "),
    }
}

#[cfg(test)]
impl Toolbox {
    /// All tools, and a person who has what is known here.
    pub fn knowing(known: known::Known) -> Toolbox {
        let index = Arc::new(Index::of(tools::ALL));
        let mut toolbox = Toolbox::new(tools::ALL, index, &Loading::default());
        let asked = Asked {
            known: Arc::new(known),
            ..Asked::default()
        };
        toolbox.ask(asked, false);
        toolbox
    }
}
