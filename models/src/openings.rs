//! Which of several beginnings an answer takes: the likeliest, found with as few looks at the model as possible.
//!
//! The beginnings share their first tokens, so they form a tree. The model is only asked where branches part, best
//! branch first: a branch can only lose by going on, so the first end that is reached is the best one.

/// The index of the best path: greatest sum of its prior and the log-probabilities of its tokens, where only tokens count at
/// which paths part. `look` gives, for a stretch that paths begin with, the log-probability of each of these next tokens.
/// `None` when there are no paths or one of them begins another.
///
/// # Errors
/// What `look` says.
pub fn choose<T: Copy + PartialEq, E>(
    paths: &[Vec<T>],
    priors: &[f32],
    mut look: impl FnMut(&[T], &[T]) -> Result<Vec<f32>, E>,
) -> Result<Option<usize>, E> {
    let one_begins_another = paths.iter().enumerate().any(|(i, path)| {
        let mut others = paths.iter().enumerate().filter(|(j, _)| *j != i);
        others.any(|(_, other)| other.starts_with(path))
    });
    if one_begins_another || paths.len() != priors.len() {
        return Ok(None);
    }
    let mut branches = vec![Branch {
        members: (0..paths.len()).collect(),
        score: 0.0,
    }];
    loop {
        let best = branches.iter().enumerate().max_by(|(_, a), (_, b)| {
            let bound = |branch: &Branch| branch.bound(priors);
            bound(a).total_cmp(&bound(b))
        });
        let Some((best, _)) = best else {
            return Ok(None);
        };
        let branch = branches.swap_remove(best);
        let [first, rest @ ..] = branch.members.as_slice() else {
            return Ok(None);
        };
        if rest.is_empty() {
            return Ok(Some(*first));
        }
        let depth = rest
            .iter()
            .map(|&other| common(&paths[*first], &paths[other]))
            .min()
            .unwrap_or_default();
        let mut next: Vec<(T, Vec<usize>)> = Vec::new();
        for &member in &branch.members {
            // None ends here: it would begin the others.
            let token = paths[member][depth];
            match next.iter_mut().find(|(t, _)| *t == token) {
                Some((_, members)) => members.push(member),
                None => next.push((token, vec![member])),
            }
        }
        let tokens: Vec<T> = next.iter().map(|(token, _)| *token).collect();
        let likely = look(&paths[*first][..depth], &tokens)?;
        branches.extend(next.into_iter().zip(likely).map(|((_, members), likely)| Branch {
            members,
            score: branch.score + likely,
        }));
    }
}

/// Paths that share their beginning.
struct Branch {
    members: Vec<usize>,
    /// Of what they share.
    score: f32,
}

impl Branch {
    /// No member can come to more than this.
    fn bound(&self, priors: &[f32]) -> f32 {
        let best = self.members.iter().map(|&member| priors[member]);
        self.score + best.fold(f32::NEG_INFINITY, f32::max)
    }
}

fn common<T: PartialEq>(a: &[T], b: &[T]) -> usize {
    a.iter().zip(b).take_while(|(a, b)| a == b).count()
}

#[cfg(test)]
mod tests {
    use std::convert::Infallible;

    use proptest::prelude::*;

    use super::*;

    /// A made-up model: the log-probability of a token depends on all that stands before it.
    fn likely(before: &[u8], token: u8) -> f32 {
        let seed = before
            .iter()
            .fold(17_u32, |h, b| h.wrapping_mul(31).wrapping_add(u32::from(*b)));
        let of = |token: u8| ((seed ^ u32::from(token).wrapping_mul(2_654_435_761)) % 1000) as f32 / 250.0;
        let total: f32 = (0..=255).map(|t| of(t).exp()).sum();
        of(token) - total.ln()
    }

    fn run(paths: &[&str], priors: &[f32]) -> (Option<usize>, usize) {
        let paths: Vec<Vec<u8>> = paths.iter().map(|p| p.as_bytes().to_vec()).collect();
        let mut looks = 0;
        let chosen = choose(&paths, priors, |before, next| {
            looks += 1;
            Ok::<_, Infallible>(next.iter().map(|t| likely(before, *t)).collect())
        });
        (chosen.unwrap(), looks)
    }

    #[test]
    fn a_prior_decides_and_the_model_is_only_asked_where_ways_part() {
        assert_eq!(run(&["call a.b("], &[0.0]), (Some(0), 0));
        assert_eq!(
            run(&["call a.b(", "call a.c(", "call d.e("], &[0.0, 50.0, 0.0]),
            (Some(1), 2)
        );
        assert_eq!(
            run(&["call a.b(", "call a.c(", "call d.e("], &[0.0, 0.0, 50.0]),
            (Some(2), 1)
        );
    }

    #[test]
    fn what_cannot_be_told_apart_is_refused() {
        for paths in [&["a", "ab"][..], &["a", "a"], &["", "a"], &[]] {
            assert_eq!(run(paths, &vec![0.0; paths.len()]).0, None, "{paths:?}");
        }
        assert_eq!(run(&["a", "b"], &[0.0]).0, None);
    }

    proptest! {
        #[test]
        fn it_finds_what_weighing_all_of_them_finds(
            paths in prop::collection::hash_set("[abc]{1,5}", 1..8),
            priors in prop::collection::vec(-4.0_f32..0.0, 8),
        ) {
            let paths: Vec<String> = paths.into_iter().map(|path| path + ".").collect();
            let paths: Vec<&str> = paths.iter().map(String::as_str).collect();
            let score = |path: &str, prior: f32| {
                let parts = |depth: &usize| {
                    let alike = paths.iter().filter(|p| p.len() > *depth && p[..*depth] == path[..*depth]);
                    let mut next: Vec<u8> = alike.map(|p| p.as_bytes()[*depth]).collect();
                    next.dedup();
                    next.iter().any(|b| *b != path.as_bytes()[*depth])
                };
                let steps = (0..path.len()).filter(parts);
                prior + steps.map(|d| likely(&path.as_bytes()[..d], path.as_bytes()[d])).sum::<f32>()
            };
            let scores: Vec<f32> = paths.iter().zip(&priors).map(|(path, prior)| score(path, *prior)).collect();
            let chosen = run(&paths, &priors[..paths.len()]).0.unwrap();
            let best = scores.iter().copied().fold(f32::NEG_INFINITY, f32::max);
            prop_assert!((scores[chosen] - best).abs() < 1e-3, "{paths:?} {scores:?} {chosen}");
        }
    }
}
