//! What goes on from the turn before: a correction of what was done, the same for something else, the answer to a question
//! of Tiro's, or another tool on the same things.
//!
//! A change that is clear needs no model: the call of the turn before is made again with the one argument changed. What
//! was done is taken back with it, in one step (`act`), so that never half of a correction stands.

use prompts::words;
use tools::{
    Effect, Entry,
    discover::{Match, Tier},
};

use super::{
    Agent, Call, Outcome,
    amend::{self, Amended, Change},
    negation::{self, Wanted},
    step::Undo,
    switches::SWITCH,
    toolbox::Toolbox,
    unsure::Unsure,
};

/// How much likelier a tool of the domain of the turn before is than by the words alone, in odds: who has just asked for
/// their calendar and says "move it" means an event. As much as this, and a tool that nothing speaks for is still under the
/// score from which on one has to be called. `tests/src/dialogs.rs` measures what these numbers find.
const SAME_DOMAIN: f32 = 10.0;
/// The same for the very tool of the turn before.
const SAME_TOOL: f32 = 8.0;
/// The same for tools of other domains.
const OTHER_DOMAIN: f32 = 0.25;
/// The same where only words of its name were said: "move it" is part of `files.move`.
const OTHER_NAME: f32 = 0.1;
/// The same where it is a verb that tools of several domains have: "read it to me" is part of `notes.read`.
const OTHER_VERB: f32 = 0.02;
/// What a verb counts that another domain has, too: "delete it" fits the deletion of a list best, and means the mail.
const SAME_VERB: f32 = 0.8;
/// How likely the tool of the turn before is where there is no verb: "and the day after that".
const AGAIN: f32 = 0.3;
/// The same where a position that it takes is said of the thing: "turn it off" after the state of Bluetooth.
const VALUE: f32 = 0.8;
/// What the other tools of its domain count where few words without a verb name another thing, and how many those are at most:
/// "and from Priya".
const NEIGHBOUR: f32 = 0.5;
const SHORT: usize = 6;
/// From this score on words with a verb and all that it is about ask for a tool of another domain whatever was said before: "send
/// her a mail" after her birthday.
const SURE_ALONE: f32 = 0.5;
/// How much likelier the domain of the turn before is beside such words.
const BESIDE_SURE: f32 = 2.0;
/// What a ranking of the words before counts beside that of these. It is for what the model is shown, never for what it
/// has to call.
const WEAKLY: f32 = 0.39;
/// Tools of which the model may have to choose one.
const CHOICES: usize = 10;
/// A question what should be different is answered in the next turn or not at all; a turn that came to nothing may lie
/// between.
const PATIENCE: u8 = 1;

/// The call that the turn before came to.
#[derive(Debug, Clone)]
pub(super) struct Deed {
    pub(super) call: Call,
    /// Whether it was done.
    pub(super) done: bool,
    /// What it can be taken back by.
    pub(super) undo: Option<Undo>,
    /// What the person had said.
    said: String,
    /// Whether Tiro has asked what should be different.
    wanted: bool,
    /// What Tiro has asked for the place of: the arguments that it could be.
    unplaced: Option<(Change, Vec<String>)>,
    /// Turns since then in which nothing was called.
    idle: u8,
}

/// What becomes of words that change what was said before.
pub(super) enum Changed {
    /// This is called.
    Call(Call),
    /// This is called in the place of what was done.
    Instead(Call, Undo),
    /// This is asked.
    Ask(String),
    /// Nothing is to be done.
    Nothing,
}

impl Agent {
    /// Keeps what a call came to, for words that go on from it. What a guest did is nothing that the person goes on from.
    pub(super) fn keep_deed(&mut self, call: &Call, outcome: &Outcome) {
        if call.name == super::toolbox::DISCOVER {
            return;
        }
        let (done, undo) = match outcome {
            Outcome::Done(output) => (true, undo_of(output)),
            _ => (false, None),
        };
        self.deed = (!self.guest).then(|| Deed {
            call: call.clone(),
            done,
            undo,
            said: self.talk.said().last().copied().unwrap_or_default().to_owned(),
            wanted: false,
            unplaced: None,
            idle: 0,
        });
        self.acted = true;
        // What was to be replaced still stands, and is what can be corrected.
        if let Some(replaced) = self.replaced.take()
            && !matches!(outcome, Outcome::Done(_) | Outcome::TakenBack { .. })
        {
            self.deed = Some(replaced);
        }
    }

    /// The call of the turn before, its tool, and whether it came to something.
    pub(super) fn before(&self) -> Option<(&Call, &'static Entry, bool)> {
        // What failed in this turn is being mended.
        let deed = self.deed.as_ref().filter(|_| !self.acted)?;
        Some((&deed.call, self.toolbox.find(&deed.call.name)?, deed.done))
    }

    /// A turn begins: what lies too far back is not gone on from, and nobody goes on from what a guest did or did not.
    pub(super) fn age_deed(&mut self, guest: bool) {
        // A correction that somebody interrupted may have been made or not.
        self.replaced = None;
        let acted = std::mem::take(&mut self.acted);
        if let Some(deed) = &mut self.deed
            && !acted
        {
            deed.idle += 1;
        }
        self.guest = guest;
        if guest || self.deed.as_ref().is_some_and(|deed| deed.idle > PATIENCE) {
            self.deed = None;
        }
    }

    /// Reads words as a change of what was called before. `None` when they are none, or when it is not for this to say
    /// what they change.
    pub(super) fn changed(&mut self, text: &str) -> Option<Changed> {
        // What is a request to the word is no change of another one.
        if !self.asks_first() || self.reflexes.find(text).is_some() {
            return None;
        }
        let wanted_of_it = negation::wanted(text, &|word| self.toolbox.opens(word));
        let deed = self.deed.as_mut()?;
        let entry = self.toolbox.find(&deed.call.name)?;
        // A request of its own, for something else than before.
        let last = deed.call.name.clone();
        let own = || is_request(&self.toolbox.rank(text), self.settings.act_score, &last);
        let wanted = std::mem::take(&mut deed.wanted);
        let placed = deed.unplaced.take().and_then(|(change, names)| {
            let place = amend::named(text, &names)?.to_owned();
            Some((change, Some(place)))
        });
        let (change, place) = match (placed, amend::change(text)) {
            (Some(placed), _) => placed,
            (None, Some(change)) => (change, None),
            (None, None) if wanted && !own() => (amend::answer(text), None),
            (None, None) => (amend::going_on(text)?, None),
        };
        if change.declines() {
            // "Don't call her, just write to her" wants something.
            return (!matches!(wanted_of_it, Wanted::Only(_))).then_some(Changed::Nothing);
        }
        if change.is_bare() && !deed.done {
            return Some(Changed::Nothing);
        }
        if change.is_bare() {
            deed.wanted = true;
            return Some(Changed::Ask(match deed.undo {
                Some(_) => words::what_instead(),
                None => words::what_did_you_mean(),
            }));
        }
        if !change.corrects && entry.effect != Effect::Read {
            // "And some flour" is another thing to add, and not instead of the first.
            return None;
        }
        // "Make it louder" may be another request although it begins like a correction. What says which word was wrong is not.
        if !change.is_exact() && !change.contrasts_words() && own() {
            return None;
        }
        // "An hour later" counts from what is there now: from what would be taken back it would be something else than what the person
        // was asked about.
        if entry.effect != Effect::Read && change.is_relative() {
            return None;
        }
        let parameters = self.toolbox.parameters(&deed.call.name)?;
        match change.amend(&deed.call.arguments, parameters, entry.worded, place.as_deref()) {
            Amended::Nothing => None,
            Amended::Which(names) => {
                let question = words::which_argument(&names);
                deed.unplaced = Some((change, names));
                Some(Changed::Ask(question))
            }
            Amended::To(arguments) => {
                let call = Call {
                    name: deed.call.name.clone(),
                    arguments,
                };
                let deed = deed.clone();
                Some(self.made_again(call, deed, &change, entry.effect))
            }
        }
    }

    /// How a changed call is made: in the place of what was done where that can be taken back, and not without asking where it
    /// cannot.
    fn made_again(&mut self, call: Call, deed: Deed, change: &Change, effect: Effect) -> Changed {
        match (deed.undo.clone(), effect) {
            (Some(undo), _) if change.corrects => {
                self.replaced = Some(deed);
                Changed::Instead(call, undo)
            }
            (_, Effect::Irreversible | Effect::Egress) if deed.done => {
                self.unsure = Some(Unsure {
                    said: deed.said,
                    tool: call.name.clone(),
                    call: Some(call),
                });
                Changed::Ask(words::cannot_take_back())
            }
            _ => Changed::Call(call),
        }
    }

    /// Tools that fit words which go on from others, best first: by what the words say themselves, by the tool and the
    /// domain of the turn before, and weakly by what was said then. With them, what counts for having to be called.
    pub(super) fn rank_after(&self, text: &str, before: &str) -> (Vec<Match>, Vec<(String, f32)>) {
        let mut hits = self.toolbox.rank_all(text);
        let last = self
            .deed
            .as_ref()
            .and_then(|deed| self.toolbox.find(&deed.call.name));
        let again = self.goes_on_without_verb(text);
        let valued = last.is_some_and(|last| self.takes(last.name, text));
        let own: Vec<(String, f32)> = hits.iter().map(|hit| (hit.name.clone(), hit.score)).collect();
        let of_verb = |name: &str| {
            let same = own
                .iter()
                .filter(|(other, _)| verb(other) == verb(name) && domain(other) != domain(name));
            same.map(|(_, score)| *score).fold(0.0, f32::max)
        };
        let shared = |name: &str| {
            let mut all = self.toolbox.names();
            all.any(|other| verb(other) == verb(name) && domain(other) != domain(name))
        };
        let odds_on = |own: f32, odds: f32| own * odds / (1.0 - own + own * odds);
        // "And the library books, push those to Monday" has its own verb, and says more than another thing.
        let elliptic = again && is_short(text) && !has_verb(text, &self.toolbox);
        // "Move that to friday" is sure to be a reminder only as long as nothing is known of what that is.
        let names_it = |word: String| THINGS.contains(&word.as_str());
        let stands_alone = !again && !super::names::words(text).any(names_it);
        let is_sure = |hit: &Match| {
            let by_name = matches!(hit.tier, Tier::Name | Tier::Keyword);
            stands_alone && hit.score >= SURE_ALONE && !by_name
        };
        let elsewhere =
            |hit: &Match| is_sure(hit) && last.is_some_and(|last| domain(&hit.name) != last.domain());
        let (same_tool, same_domain_odds) = match hits.iter().any(elsewhere) {
            true => (BESIDE_SURE, BESIDE_SURE),
            false => (SAME_TOOL, SAME_DOMAIN),
        };
        // What a tool of the domain reaches by these words.
        let likeliest = own
            .iter()
            .filter(|(name, _)| last.is_some_and(|last| domain(name) == last.domain()))
            .map(|(_, score)| odds_on(*score, SAME_DOMAIN))
            .fold(0.0, f32::max);
        for hit in &mut hits {
            let Some(last) = last else { break };
            // What is about the conversation itself goes on from anything.
            if domain(&hit.name) == ASSISTANT {
                continue;
            }
            let (same_domain, same) = (domain(&hit.name) == last.domain(), hit.name == last.name);
            let (own, odds) = match (same, same_domain) {
                (true, _) => (hit.score, same_tool),
                // "Turn it off" after "is bluetooth on" names nothing by itself, so its neighbours make nothing of it.
                (false, true) if valued => (hit.score, 1.0),
                (false, true) => (hit.score.max(SAME_VERB * of_verb(&hit.name)), same_domain_odds),
                (false, false) if hit.tier == Tier::Name && shared(&hit.name) => (hit.score, OTHER_VERB),
                (false, false) if hit.tier == Tier::Keyword => (hit.score, OTHER_NAME),
                (false, false) if is_sure(hit) => (hit.score, 1.0),
                (false, false) => (hit.score, OTHER_DOMAIN),
            };
            let mut score = odds_on(own, odds);
            if elliptic && same {
                // "And from Priya" after a look for mail: reading fits these words as well, and is another request.
                score = score.max(likeliest);
            } else if elliptic && same_domain {
                score *= NEIGHBOUR;
            }
            if again && same {
                score += AGAIN * (1.0 - score);
            }
            if same && valued {
                score += VALUE * (1.0 - score);
            }
            hit.why = format!("{own:.2} by itself, goes on from {}: {}", last.name, hit.why);
            hit.score = score;
        }
        sort(&mut hits);
        let scores = hits.iter().take(CHOICES).map(|hit| (hit.name.clone(), hit.score));
        let scores = scores.collect();
        let earlier = self.toolbox.rank_all(before);
        for hit in &mut hits {
            let weakly = earlier.iter().find(|earlier| earlier.name == hit.name);
            hit.score = weakly.map_or(hit.score, |earlier| hit.score.max(earlier.score * WEAKLY));
        }
        sort(&mut hits);
        hits.truncate(CHOICES);
        (hits, scores)
    }

    /// Whether the words say nothing but a position that this tool can be put into: "turn it off" where it switches, "up" where
    /// it goes both ways. "Take it off the list" and "call her back" are about something else.
    fn takes(&self, tool: &str, text: &str) -> bool {
        let properties = self
            .toolbox
            .parameters(tool)
            .and_then(|all| all["properties"].as_object());
        let text = text.to_lowercase();
        let mut said: Vec<&str> = text
            .split(|c: char| !c.is_alphanumeric())
            .filter(|word| !word.is_empty() && !PLACING.contains(word))
            .collect();
        said.dedup();
        let [position] = said[..] else { return false };
        let mut all = properties.into_iter().flatten();
        POSITIONS.contains(&position)
            && all.any(|(name, property)| match property["enum"].as_array() {
                Some(values) => values.iter().any(|value| value == position),
                None => name == SWITCH && matches!(position, "on" | "off"),
            })
    }

    /// Whether words only name something else for what was asked before: they begin like it, and not with a verb; or they
    /// answer a question of Tiro's.
    fn goes_on_without_verb(&self, text: &str) -> bool {
        let left = amend::after_joint(text);
        let first = left
            .unwrap_or(text)
            .split(|c: char| !c.is_alphanumeric())
            .find(|word| !word.is_empty());
        let verb = first.is_some_and(|first| self.toolbox.opens(&first.to_lowercase()));
        !verb && (left.is_some() || self.talk.asked(self.guest))
    }
}

/// Words that say where a thing goes and not which thing is meant.
pub(super) const POSITIONS: &[&str] = &["back", "down", "forward", "off", "on", "up"];
/// Words that put a thing into a position, name it by a pronoun, or are said around that.
const PLACING: &[&str] = &[
    "a", "again", "bit", "can", "could", "it", "little", "make", "now", "please", "put", "set", "switch",
    "that", "them", "then", "these", "this", "too", "turn", "would", "you",
];
/// Words for the thing that was spoken of.
const THINGS: &[&str] = &["it", "one", "ones", "that", "them", "these", "this", "those"];

/// The domain of what is about the conversation itself.
const ASSISTANT: &str = "assistant";

/// The domain of a tool's name: "timers" of `timers.set`.
pub(super) fn domain(name: &str) -> &str {
    name.split('.').next().unwrap_or_default()
}

/// What a tool does, without the thing that it may name: "delete" of `calendar.delete_event` as of `lists.delete`.
fn verb(name: &str) -> &str {
    let rest = name.split('.').nth(1).unwrap_or_default();
    rest.split('_').next().unwrap_or_default()
}

/// Whether a verb with which requests begin stands anywhere in these words.
fn has_verb(text: &str, toolbox: &Toolbox) -> bool {
    super::names::words(text).any(|word| toolbox.opens(&word))
}

/// Whether these words are few enough to name nothing but another thing.
fn is_short(text: &str) -> bool {
    super::names::words(text).count() <= SHORT
}

fn sort(hits: &mut [Match]) {
    hits.sort_by(|a, b| b.score.total_cmp(&a.score).then_with(|| a.name.cmp(&b.name)));
}

/// Whether words are surely a request for another tool than this one.
fn is_request(fit: &[Match], sure: f32, but: &str) -> bool {
    fit.first()
        .is_some_and(|best| best.score >= sure && best.name != but)
}

fn undo_of(output: &tools::Output) -> Option<Undo> {
    Some(Undo {
        step: output.step?,
        say: output.say.clone(),
        untrusted: output.untrusted,
    })
}
