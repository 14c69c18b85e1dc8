//! One distribution over everything that could be meant: the learned intents, each lifted by how well the words fit its
//! tools; the best of the tools that nobody taught, by their words alone; and nothing at all.
//!
//! A tool's score is the probability that it is acceptable while none above it is. So the second place is not taken
//! by a twin of the first: whoever misses the first wants something else.

use std::ops::Range;

use super::{Doc, learned::Learned};

/// The constants of the mix. Chosen by five-fold cross-validation on the training split, with a third of the tools
/// unlearned at a time so that those without training data have their say (`src/bin/train_discovery -- --cross`).
#[derive(Debug, Clone, Copy)]
pub struct Weights {
    /// What a logarithm of a learned probability counts.
    pub learned: f32,
    /// What the words of the best tool of a learned intent add to that.
    pub words: f32,
    /// What the likeness to its nearest example adds.
    pub near: f32,
    /// What it adds that the words are the tool's own ([`Fit::own`]); chosen later, and for openings 0.7 to 1.5 rank alike.
    pub own: f32,
    /// What it adds instead that they are an example of a taught tool, to the word: "snooze the alarm" is for the tool that says so,
    /// whatever other words with "alarm" are for. Chosen later.
    pub example: f32,
    /// What the words count for a tool that nobody taught.
    pub untaught_words: f32,
    /// What the likeness to its nearest example counts for such a tool.
    pub untaught_near: f32,
    /// What such a tool has against it from the start.
    pub untaught: f32,
    /// How much less a tool is worth than another of the same intent whose words fit better.
    pub within: f32,
    /// How probable other intents must be before the model overrules that the words of a taught tool's name were said.
    pub overrule: f32,
    /// The same for a tool that nobody taught.
    pub overrule_untaught: f32,
    /// The same where the whole name of a taught tool was said among other words; chosen later, as for those that nobody taught.
    pub overrule_whole: f32,
}

impl Default for Weights {
    fn default() -> Weights {
        Weights {
            learned: 1.1,
            words: 0.5,
            near: 0.5,
            own: 1.5,
            example: 4.0,
            untaught_words: 11.0,
            untaught_near: 9.0,
            untaught: 9.5,
            within: 0.5,
            overrule: 0.3,
            overrule_untaught: 0.6,
            overrule_whole: 0.6,
        }
    }
}

/// How well a tool fits by its own words.
#[derive(Debug, Clone, Copy, Default)]
pub struct Fit {
    /// Normalised BM25, 0 to 0.79.
    pub words: f32,
    /// Likeness to its nearest example, 0 to 1.
    pub near: f32,
    /// Whether the words are its own.
    pub own: Own,
}

/// Whether words are a tool's own.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Own {
    /// They are not.
    #[default]
    No,
    /// The sentence opens with its name, or is an example that says all of it only after something else.
    Opening,
    /// The sentence is one of its examples.
    Example,
}

impl Fit {
    /// What it counts that the words are the tool's own. What a foreign tool gives as examples is not known to be what people say to it.
    fn lift(self, weights: &Weights, taught: bool) -> f32 {
        match self.own {
            Own::No => 0.0,
            Own::Example if taught => weights.example,
            Own::Opening | Own::Example => weights.own,
        }
    }

    fn any(self) -> bool {
        self.words > 0.0 || self.near > 0.0
    }
}

/// At most so many tools that nobody taught compete with learned intents: there are more of them than places, and thousands
/// of faint likenesses must not add up.
const UNTAUGHT: usize = 3;
/// The same when the best of all is such a tool, for then its neighbours are likely, too.
const UNTAUGHT_FIRST: usize = 6;
/// So many places are given by what is left when those above are not meant; behind them the order stays.
const CAREFUL: usize = 12;
/// Less than this is no evidence.
const FAINT: f32 = 0.002;

/// Which tools of an index serve which learned intent.
pub struct Mix {
    /// Tools of each intent, one intent after the other.
    tools: Vec<usize>,
    /// Where those of each intent stand.
    places: Vec<Range<usize>>,
    /// Intents of each tool; none for one that nobody taught.
    intents: Vec<Vec<usize>>,
    weights: Weights,
}

impl Mix {
    /// Finds the tools of the learned intents among these.
    pub fn new(docs: &[Doc], learned: &Learned, weights: Weights) -> Mix {
        let mut mix = Mix {
            tools: Vec::new(),
            places: Vec::new(),
            intents: vec![Vec::new(); docs.len()],
            weights,
        };
        for (intent, names) in learned.head().intents.iter().enumerate() {
            let tools = (0..docs.len()).filter(|d| names.binary_search(&docs[*d].name).is_ok());
            let from = mix.tools.len();
            mix.tools.extend(tools);
            mix.places.push(from..mix.tools.len());
            for &tool in &mix.tools[from..] {
                mix.intents[tool].push(intent);
            }
        }
        mix
    }

    /// Whether some learned intent has this tool.
    pub fn taught(&self, tool: usize) -> bool {
        !self.intents[tool].is_empty()
    }

    /// Whether the model is so sure of something else that a tool is not meant although words of its name were said, or the `whole`
    /// name; it gives each intent this probability.
    pub fn overrules(&self, probabilities: &[f32], tool: usize, whole: bool) -> bool {
        let other = (0..probabilities.len()).filter(|i| !self.intents[tool].contains(i));
        let sure = other.map(|i| probabilities[i]).fold(0.0, f32::max);
        let limit = match (self.taught(tool), whole) {
            (true, false) => self.weights.overrule,
            (true, true) => self.weights.overrule_whole,
            (false, _) => self.weights.overrule_untaught,
        };
        sure > limit
    }

    /// What the model alone gives a tool, from the probability of each intent; nothing for one that nobody taught.
    pub fn taught_odds(&self, probabilities: &[f32], tool: usize) -> f32 {
        self.intents[tool].iter().map(|i| probabilities[*i]).sum()
    }

    /// Tools with their probabilities, likeliest first. `learned` are logarithms of probabilities of the intents, `fits`
    /// how well each tool fits by its own words; `first` are tools that are found already, and so many more are wanted at most.
    pub fn rank(&self, learned: &[f32], fits: &[Fit], first: &[usize], most: usize) -> Vec<(usize, f32)> {
        let w = &self.weights;
        let own: Vec<f32> = fits
            .iter()
            .enumerate()
            .map(|(t, f)| w.words * f.words + w.near * f.near + f.lift(w, self.taught(t)))
            .collect();
        let mut intents: Vec<f32> = learned.iter().map(|l| w.learned * l).collect();
        // How much of an intent's probability each of its tools is worth.
        let mut worth = Vec::with_capacity(self.tools.len());
        for (z, place) in intents.iter_mut().zip(&self.places) {
            let tools = &self.tools[place.clone()];
            let best = tools.iter().map(|t| own[*t]).fold(0.0, f32::max);
            *z += best;
            worth.extend(tools.iter().map(|t| (w.within * (own[*t] - best)).exp()));
        }
        let mut untaught: Vec<(usize, f32)> = (0..fits.len())
            .filter(|t| fits[*t].any() && !self.taught(*t) && !first.contains(t))
            .map(|t| {
                (
                    t,
                    w.untaught_words * fits[t].words
                        + w.untaught_near * fits[t].near
                        + fits[t].lift(w, false)
                        - w.untaught,
                )
            })
            .collect();
        keep_best(&mut untaught, UNTAUGHT_FIRST);
        let likeliest = (0..intents.len())
            .map(|i| intents[i])
            .fold(f32::NEG_INFINITY, f32::max);
        let ahead = untaught.first().is_some_and(|best| best.1 > likeliest);
        untaught.truncate(if ahead { UNTAUGHT_FIRST } else { UNTAUGHT });
        let all = || intents.iter().copied().chain(untaught.iter().map(|u| u.1));
        let top = all().fold(f32::NEG_INFINITY, f32::max);
        let total: f32 = all().map(|z| (z - top).exp()).sum();
        let share = |z: f32| (z - top).exp() / total;
        intents.iter_mut().for_each(|z| *z = share(*z));
        untaught.iter_mut().for_each(|u| u.1 = share(u.1));

        let mut odds = vec![0.0; fits.len()];
        for (intent, place) in intents.iter().zip(&self.places) {
            for i in place.clone() {
                odds[self.tools[i]] += intent * worth[i];
            }
        }
        untaught.iter().for_each(|(tool, p)| odds[*tool] = *p);
        let mut ranked = Vec::new();
        let mut take = |tool: usize, odds: &mut Vec<f32>| {
            for &intent in &self.intents[tool] {
                for i in self.places[intent].clone() {
                    odds[self.tools[i]] -= intents[intent] * worth[i];
                }
                intents[intent] = 0.0;
            }
            odds[tool] = f32::NEG_INFINITY;
        };
        first.iter().for_each(|tool| take(*tool, &mut odds));
        // Odds only fall, so what is faint now stays out.
        let likely: Vec<usize> = (0..odds.len()).filter(|t| odds[*t] > FAINT).collect();
        for _ in 0..CAREFUL.min(most) {
            let best = likely.iter().copied().max_by(|a, b| {
                let by_words = || own[*a].total_cmp(&own[*b]);
                odds[*a].total_cmp(&odds[*b]).then_with(by_words).then(b.cmp(a))
            });
            let Some(best) = best.filter(|b| odds[*b] > FAINT) else {
                break;
            };
            ranked.push((best, odds[best]));
            take(best, &mut odds);
        }
        let last = ranked.last().map_or(FAINT, |r| r.1.min(FAINT));
        // The rest has next to no probability left; what the words say orders it.
        let mut rest: Vec<(usize, f32)> = (0..odds.len())
            .filter(|t| fits[*t].words > 0.0 && odds[*t] > f32::NEG_INFINITY)
            .map(|t| (t, last * fits[t].words))
            .collect();
        keep_best(&mut rest, most.saturating_sub(ranked.len()));
        ranked.extend(rest);
        ranked
    }
}

/// What the model of words counts, and what the reader does beside it. Together they are surer than either, hence more than one; what
/// the reader counts was chosen of five values after its last training, and they differ little (`docs/eval.md`).
const COUNTED: f32 = 0.8;
const READ: f32 = 0.4;

/// What two models make of a request: the logarithms of the probabilities of its intents, weighed, and made probabilities again.
pub fn both(counted: &[f32], read: &[f32]) -> Vec<f32> {
    let pairs = counted.iter().zip(read);
    let mut both: Vec<f32> = pairs
        .map(|(counted, read)| COUNTED * counted + READ * read)
        .collect();
    let top = both.iter().copied().fold(f32::NEG_INFINITY, f32::max);
    let total = top + both.iter().map(|z| (z - top).exp()).sum::<f32>().ln();
    both.iter_mut().for_each(|z| *z -= total);
    both
}

/// Keeps so many of the best, best first; of equals those that come first.
fn keep_best(scored: &mut Vec<(usize, f32)>, most: usize) {
    let better = |a: &(usize, f32), b: &(usize, f32)| b.1.total_cmp(&a.1).then(a.0.cmp(&b.0));
    if scored.len() > most {
        scored.select_nth_unstable_by(most, better);
        scored.truncate(most);
    }
    scored.sort_unstable_by(better);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_foreign_tool_gives_as_its_example_counts_no_more_than_an_opening() {
        let weights = Weights::default();
        let lift = |own, taught| {
            Fit {
                own,
                ..Fit::default()
            }
            .lift(&weights, taught)
        };
        assert!(lift(Own::Example, true) > lift(Own::Opening, true));
        assert_eq!(
            lift(Own::Example, false).total_cmp(&lift(Own::Opening, false)),
            std::cmp::Ordering::Equal
        );
        assert!(lift(Own::Opening, false) > lift(Own::No, false));
    }
}
