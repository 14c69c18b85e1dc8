//! What a model is likely to write next, guessed from what it has read: prompt-lookup decoding (Saxena 2023).
//!
//! A call of a tool copies from its prompt: the words of the person, names of arguments, values of the calls to go by. Where
//! what was written last stands in the prompt, what followed it there may follow here. To look at a few tokens at once costs
//! hardly more than one of them, because all weights are read either way; those that the model would have written itself
//! are kept, and the others cost a little. It decides nothing: only what the model and the grammar choose is written.

/// The longest stretch that is looked for.
const LONGEST: usize = 3;
/// So far back it is looked for, in tokens: the tools that were found, the conversation, the person's words.
pub const BACK: usize = 512;
/// So many tokens are guessed at once: more are seldom right, and each costs.
pub const MOST: usize = 4;

/// What may follow these tokens: what followed their end where it was read or written last; longer stretches first. `worth`
/// tells whether one token alone says enough to go by. Nothing where it was never read.
pub fn draft<T: PartialEq>(seen: &[T], worth: impl Fn(&T) -> bool) -> &[T] {
    let from = seen.len().saturating_sub(BACK);
    let seen = &seen[from..];
    for n in (1..=LONGEST.min(seen.len())).rev() {
        let (before, end) = seen.split_at(seen.len() - n);
        if n == 1 && !worth(&end[0]) {
            break;
        }
        // What comes after it must not be the end itself.
        let found = (0..before.len().saturating_sub(n - 1))
            .rev()
            .find(|at| seen[*at..].starts_with(end) && at + n < seen.len());
        if let Some(at) = found {
            let behind = at + n;
            return &seen[behind..seen.len().min(behind + MOST)];
        }
    }
    &[]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(seen: &str, expect: &str) {
        let words: Vec<&str> = seen.split_whitespace().collect();
        let draft = draft(&words, |word| word.len() > 1);
        assert_eq!(draft.join(" "), expect, "{seen:?}");
    }

    #[test]
    fn what_followed_before_may_follow_again() {
        check("put the red cat out now and the red", "cat out now and");
        // The last place counts, and a longer stretch more than a later one.
        check("the cat sat . the dog ran . the", "dog ran . the");
        check("in the cat sat . on the dog ran . in the", "cat sat . on");
        // Not more than there is.
        check("red cat red", "cat red");
    }

    #[test]
    fn what_was_never_read_is_not_guessed() {
        check("", "");
        check("one", "");
        check("one two three", "");
        // A single sign says nothing.
        check("a , b ,", "");
        check("x a , b y x a ,", "b y x a");
    }

    #[test]
    fn it_does_not_look_back_for_ever() {
        let far = format!("red cat {} red", "word other ".repeat(BACK));
        check(&far, "");
    }
}
