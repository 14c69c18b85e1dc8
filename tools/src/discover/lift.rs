//! Evidence besides the words of a request, such as that it names something that the person has.

use std::collections::BTreeMap;

use super::{
    Match, Tier,
    rank::{HIGHEST, LOWEST},
};

/// How many times as likely tools are as the words alone say, by the beginning of their names.
pub type Lifts = BTreeMap<&'static str, f32>;

/// Takes evidence into account by Bayes' rule, best first again: scores of the ranked tiers stand for probabilities, and what
/// they leave is for what no tool serves, which nothing lifts. What was found by its name needs no evidence.
pub fn lift(hits: &mut [Match], lifts: &Lifts) {
    if lifts.is_empty() {
        return;
    }
    let probability = |hit: &Match| ((hit.score - LOWEST) / (HIGHEST - LOWEST)).clamp(0.0, 1.0);
    let factor = |hit: &Match| {
        let mine = lifts.iter().filter(|(start, _)| hit.name.starts_with(**start));
        mine.map(|(_, lift)| *lift).fold(1.0, f32::max)
    };
    let ranked = |hit: &Match| matches!(hit.tier, Tier::Learned | Tier::Bm25);
    let sum = |of: &dyn Fn(&Match) -> f32| hits.iter().filter(|hit| ranked(hit)).map(of).sum::<f32>();
    let nothing = (1.0 - sum(&probability)).max(0.0);
    let total = nothing + sum(&|hit| probability(hit) * factor(hit));
    if total <= 0.0 {
        return;
    }
    for hit in hits.iter_mut().filter(|hit| ranked(hit)) {
        let factor = factor(hit);
        if factor > 1.0 {
            hit.why = format!("{}, named: times {factor:.1}", hit.why);
        }
        hit.score = LOWEST + (HIGHEST - LOWEST) * probability(hit) * factor / total;
    }
    hits.sort_by(|a, b| b.score.total_cmp(&a.score));
}

#[cfg(test)]
mod tests {
    use super::*;

    fn hit(name: &str, probability: f32, tier: Tier) -> Match {
        Match {
            name: name.to_owned(),
            score: LOWEST + (HIGHEST - LOWEST) * probability,
            tier,
            why: String::new(),
        }
    }

    #[test]
    fn evidence_moves_what_the_words_leave_open() {
        let mut hits = vec![
            hit("notes.delete", 0.2, Tier::Learned),
            hit("calendar.delete_event", 0.1, Tier::Learned),
        ];
        lift(&mut hits, &[("calendar.", 8.0)].into());
        assert_eq!(hits[0].name, "calendar.delete_event");
        // 0.1 * 8 against 0.2 and the 0.7 that are left.
        let expected = LOWEST + (HIGHEST - LOWEST) * 0.8 / 1.7;
        assert!((hits[0].score - expected).abs() < 1e-4, "{}", hits[0].score);
        assert!(hits[1].score < LOWEST + (HIGHEST - LOWEST) * 0.2);
    }

    #[test]
    fn evidence_alone_finds_nothing_and_a_name_needs_none() {
        let mut hits = vec![hit("calendar.query", 0.0, Tier::Bm25)];
        lift(&mut hits, &[("calendar.", 8.0)].into());
        assert!((hits[0].score - LOWEST).abs() < 1e-6);
        let mut hits = vec![
            Match {
                score: 0.97,
                ..hit("notes.read", 1.0, Tier::Name)
            },
            hit("mail.read", 0.5, Tier::Learned),
        ];
        lift(&mut hits, &[("mail.", 8.0)].into());
        assert_eq!((hits[0].name.as_str(), hits[0].score), ("notes.read", 0.97));
    }
}
