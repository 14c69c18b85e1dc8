//! Cross-validation: how good the index is on requests that its model has not seen, and which constants of the mix suit.

use std::{
    collections::BTreeSet,
    fmt,
    io::{self, Write},
};

use tools::{
    ALL,
    discover::{
        ACT_SCORE, Doc, Index, MIN_SCORE, Match, SHOW_SCORE, Weights, learned::Head, learned::Learned, words,
    },
};

use super::{Failure, Utterance, fit, intents, recogniser::Recogniser};

/// One request in five is held out at a time.
const FOLDS: usize = 5;
/// One tool in three is unlearned at a time, to stand for those that nobody taught.
const PARTS: usize = 3;
const THRESHOLDS: [f32; 3] = [MIN_SCORE, SHOW_SCORE, ACT_SCORE];
const SEED: u64 = 0x0dd5_eed5_2026_0001;

/// Prints what the mix is worth, then each step to a neighbour that is worth more.
pub fn report(utterances: &[Utterance], out: &mut impl Write) -> Result<(), Failure> {
    let cross = Cross::new(utterances)?;
    let mut best = Weights::default();
    let mut loss = cross.print(best, out)?;
    for tried in neighbours(best) {
        let tried_loss = cross.print(tried, out)?;
        if tried_loss < loss {
            (best, loss) = (tried, tried_loss);
        }
    }
    writeln!(out, "least loss: {best:?}")?;
    Ok(())
}

/// Models that have not seen what they are measured on.
pub struct Cross {
    docs: Vec<Doc>,
    folds: Vec<Fold>,
    parts: Vec<Fold>,
}

impl Cross {
    pub fn new(utterances: &[Utterance]) -> Result<Cross, Failure> {
        Ok(Cross {
            docs: ALL.iter().map(Doc::from).collect(),
            folds: (0..FOLDS)
                .map(|f| Fold::held_out(utterances, f))
                .collect::<Result<_, _>>()?,
            parts: (0..PARTS)
                .map(|p| Fold::unlearned(utterances, p))
                .collect::<Result<_, _>>()?,
        })
    }

    /// Prints one mix and returns its loss: that of a request plus that of a request whose tool nobody taught.
    pub fn print(&self, weights: Weights, out: &mut impl Write) -> io::Result<f64> {
        let of = |folds: &[Fold]| {
            let mut tally = Tally::default();
            for fold in folds {
                let index = Index::with(self.docs.clone(), fold.learned, weights);
                fold.unseen.iter().for_each(|u| tally.count(&index, u));
            }
            tally
        };
        let (taught, untaught) = (of(&self.folds), of(&self.parts));
        writeln!(out, "{weights:?}\n  taught   {taught}\n  untaught {untaught}")?;
        Ok(taught.mean_loss() + untaught.mean_loss())
    }
}

/// Each constant a step smaller and a step larger.
fn neighbours(w: Weights) -> Vec<Weights> {
    const CONSTANTS: [fn(&mut Weights) -> &mut f32; 8] = [
        |w| &mut w.learned,
        |w| &mut w.words,
        |w| &mut w.near,
        |w| &mut w.untaught_words,
        |w| &mut w.untaught_near,
        |w| &mut w.untaught,
        |w| &mut w.within,
        |w| &mut w.overrule,
    ];
    let mut all = Vec::new();
    for factor in [0.8, 1.25] {
        for constant in CONSTANTS {
            let mut tried = w;
            *constant(&mut tried) *= factor;
            all.push(tried);
        }
        // A probability near 1 is moved by what it lacks.
        all.push(Weights {
            overrule_untaught: 1.0 - (1.0 - w.overrule_untaught) * factor * factor,
            ..w
        });
    }
    all
}

/// A model, and requests that it has not seen.
struct Fold {
    learned: &'static Learned,
    unseen: Vec<Utterance>,
}

impl Fold {
    fn held_out(utterances: &[Utterance], fold: usize) -> Result<Fold, Failure> {
        let (unseen, seen): (Vec<_>, Vec<_>) = utterances
            .iter()
            .enumerate()
            .partition(|(i, _)| i % FOLDS == fold);
        let own = |part: Vec<(usize, &Utterance)>| part.into_iter().map(|p| p.1.clone()).collect();
        Fold::of(own(seen), own(unseen))
    }

    /// All requests for a third of the tools are held out, and a tenth of the others so that they are measured, too.
    fn unlearned(utterances: &[Utterance], part: usize) -> Result<Fold, Failure> {
        let names: BTreeSet<&String> = utterances.iter().flat_map(|u| &u.accept).collect();
        let gone: BTreeSet<&String> = names.into_iter().skip(part).step_by(PARTS).collect();
        let (mut seen, mut unseen) = (Vec::new(), Vec::new());
        for (i, utterance) in utterances.iter().enumerate() {
            let lost = utterance.accept.iter().filter(|a| gone.contains(a)).count();
            match lost {
                0 if i % 10 == part => unseen.push(utterance.clone()),
                0 => seen.push(utterance.clone()),
                // Only what has no other tool tells how well such tools are found.
                n if n == utterance.accept.len() => unseen.push(utterance.clone()),
                _ => {}
            }
        }
        Fold::of(seen, unseen)
    }

    fn of(seen: Vec<Utterance>, mut unseen: Vec<Utterance>) -> Result<Fold, Failure> {
        let intents = intents(&seen);
        let (bias, rows) = fit::fit(&seen, &intents);
        let head = Head {
            intents,
            utterances: seen.len(),
            ..Head::default()
        };
        let bytes = Learned::write(head, &bias, &rows)?;
        let learned = Learned::read(&bytes).ok_or("a model that cannot be read back")?;
        let said: Vec<Vec<String>> = unseen.iter().map(|u| words::split(&u.say)).collect();
        let mut recogniser = Recogniser::new(&said, SEED);
        for (utterance, words) in unseen.iter_mut().zip(&said) {
            utterance.say = recogniser.hears(words).join(" ");
        }
        // A handful of models for the life of this program.
        Ok(Fold {
            learned: Box::leak(Box::new(learned)),
            unseen,
        })
    }
}

/// What was found.
#[derive(Default)]
struct Tally {
    /// Requests for tools that the model was taught and that it was not, and the hits at 1, 3 and 5 of each.
    served: [usize; 2],
    hits: [[usize; 3]; 2],
    nobody: usize,
    abstained: usize,
    /// Sum of the negative logarithms of the probability of what was right.
    loss: f64,
    /// Under each threshold: requests that nothing serves, and others although the right tool was among the five.
    under: [[usize; 2]; 3],
    /// By tenths of the best score: how many, and how many were right.
    bins: [(usize, usize); 10],
}

impl Tally {
    fn count(&mut self, index: &Index, utterance: &Utterance) {
        let exists = |name: &String| tools::find(name).is_some();
        let found = index.search(&utterance.say, None, 5, 0.0);
        let right = |hit: &Match| utterance.accept.contains(&hit.name);
        let sum = |hits: &mut dyn Iterator<Item = &Match>| hits.map(probability).sum::<f64>();
        if let Some(best) = found.first() {
            let bin = &mut self.bins[((best.score * 10.0) as usize).min(9)];
            bin.0 += 1;
            bin.1 += usize::from(right(best));
        }
        let score = found.first().map_or(0.0, |hit| hit.score);
        for (under, threshold) in self.under.iter_mut().zip(THRESHOLDS) {
            let nobody = !utterance.accept.iter().any(exists);
            under[0] += usize::from(nobody && score < threshold);
            under[1] += usize::from(found.iter().any(right) && score < threshold);
        }
        if !utterance.accept.iter().any(exists) {
            self.nobody += 1;
            self.abstained += usize::from(found.first().is_none_or(|hit| probability(hit) < 0.5));
            self.loss -= (1.0 - sum(&mut found.iter())).max(0.01).ln();
            return;
        }
        let taught = index.learned().head().intents.iter().flatten();
        let kind = usize::from(!taught.clone().any(|name| utterance.accept.contains(name)));
        self.served[kind] += 1;
        let rank = found.iter().position(right);
        for (hits, k) in self.hits[kind].iter_mut().zip([1, 3, 5]) {
            *hits += usize::from(rank.is_some_and(|r| r < k));
        }
        self.loss -= sum(&mut found.iter().filter(|hit| right(hit))).max(0.01).ln();
    }
}

/// The probability that a score stands for.
fn probability(hit: &Match) -> f64 {
    let score = f64::from(hit.score);
    if score >= 0.8 {
        score
    } else {
        (score - 0.05) / 0.74
    }
    .clamp(0.0, 0.99)
}

impl Tally {
    fn mean_loss(&self) -> f64 {
        self.loss / (self.served[0] + self.served[1] + self.nobody) as f64
    }
}

impl fmt::Display for Tally {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let share = |n: usize, of: usize| 100.0 * n as f64 / of.max(1) as f64;
        for (kind, name) in ["", "unlearned "]
            .into_iter()
            .enumerate()
            .filter(|(k, _)| self.served[*k] > 0)
        {
            let hits = self.hits[kind].map(|h| format!("{:.1}", share(h, self.served[kind])));
            write!(f, "{name}{} top {}; ", self.served[kind], hits.join(" "))?;
        }
        let served = self.served[0] + self.served[1];
        for (threshold, [nobody, lost]) in THRESHOLDS.into_iter().zip(self.under) {
            let (nobody, lost) = (share(nobody, self.nobody), share(lost, served));
            write!(f, "under {threshold}: {nobody:.1} of nobody's, {lost:.1} lost; ")?;
        }
        let bins = self.bins.map(|(n, right)| format!("{:.0}/{n}", share(right, n)));
        write!(
            f,
            "nobody {} even odds {:.1}; loss {:.4}; right by tenths of score {}",
            self.nobody,
            share(self.abstained, self.nobody),
            self.mean_loss(),
            bins.join(" ")
        )
    }
}
