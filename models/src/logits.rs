//! The likeliest of many tokens, by what a model gives each of them.

/// The token with the highest logit, of equals the first; nothing when none is possible.
pub fn best(logits: &[f32]) -> Option<i32> {
    let mut best = (0, f32::NEG_INFINITY);
    for (token, logit) in (0..).zip(logits) {
        if *logit > best.1 {
            best = (token, *logit);
        }
    }
    (best.1 > f32::NEG_INFINITY).then_some(best.0)
}

/// The tokens with the highest logits, highest first and of equals in order, at most so many; none that is impossible.
pub fn likeliest(logits: &[f32], most: usize) -> Vec<i32> {
    let possible = |(_, logit): &(i32, f32)| *logit > f32::NEG_INFINITY;
    let mut all: Vec<(i32, f32)> = (0..).zip(logits.iter().copied()).filter(possible).collect();
    let higher = |a: &(i32, f32), b: &(i32, f32)| b.1.total_cmp(&a.1).then(a.0.cmp(&b.0));
    if all.len() > most {
        all.select_nth_unstable_by(most, higher);
        all.truncate(most);
    }
    all.sort_unstable_by(higher);
    all.into_iter().map(|(token, _)| token).collect()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn the_likeliest_come_first_and_what_is_impossible_never() {
        let logits = [0.5, f32::NEG_INFINITY, 3.0, -1.0, 3.0, f32::NAN];
        assert_eq!(best(&logits), Some(2), "of equals the first");
        assert_eq!(likeliest(&logits, 2), [2, 4]);
        assert_eq!(likeliest(&logits, 100), [2, 4, 0, 3]);
        assert_eq!((best(&[f32::NEG_INFINITY]), best(&[])), (None, None));
        assert_eq!(likeliest(&[], 5), [0; 0]);
    }

    proptest! {
        /// Whoever goes down the list finds what a look at all of them would have found.
        #[test]
        fn they_are_those_of_a_whole_order(logits in prop::collection::vec(-9_i8..9, 0..300), most in 0_usize..40) {
            let logits: Vec<f32> = logits.into_iter().map(f32::from).collect();
            let mut all: Vec<i32> = (0..).take(logits.len()).collect();
            all.sort_by(|a, b| logits[*b as usize].total_cmp(&logits[*a as usize]));
            prop_assert_eq!(best(&logits), all.first().copied());
            all.truncate(most);
            prop_assert_eq!(likeliest(&logits, most), all);
        }
    }
}
