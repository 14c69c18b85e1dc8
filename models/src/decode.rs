//! Chooses the tokens of a transcript one after the other: whisper's own rules, and a hand for names that are to be expected.
//! No model is needed for that, only its scores and its vocabulary.
//!
//! The rules are those of `whisper_process_logits` in whisper.cpp, which has them from `decoding.py` in OpenAI's whisper,
//! for greedy decoding of one window that begins at 0.00 s. They stand here, too, because nothing can have a say in the
//! choice there but a pointer to C, and because a token is too little work for as many threads as the encoder gets.

use std::collections::HashMap;

use crate::expected::Expected;

/// Whisper's tokens. Those below `eot` are text; from `beg` on they are moments; between the two stand those that steer.
#[derive(Debug, Clone, Default)]
pub struct Vocabulary {
    /// The token that ends a transcript.
    eot: usize,
    /// The token of the moment 0.00 s.
    beg: usize,
    texts: Vec<Box<[u8]>>,
    tokens: HashMap<Box<[u8]>, usize>,
}

impl Vocabulary {
    /// Of the texts of the tokens below `eot`, in their order.
    pub fn new(eot: usize, beg: usize, texts: impl IntoIterator<Item = Vec<u8>>) -> Vocabulary {
        let texts: Vec<Box<[u8]>> = texts.into_iter().take(eot).map(Vec::into_boxed_slice).collect();
        let tokens = texts.iter().cloned().zip(0..);
        Vocabulary {
            eot,
            beg,
            tokens: tokens.filter(|(text, _)| !text.is_empty()).collect(),
            texts,
        }
    }

    /// The token that is written as this.
    pub fn token(&self, text: &[u8]) -> Option<usize> {
        self.tokens.get(text).copied()
    }

    /// The token of the moment 0.00 s.
    pub fn beginning(&self) -> usize {
        self.beg
    }
}

/// Seconds of one moment.
const MOMENT: f32 = 0.02;
/// A moment so close to the end of the sound, in seconds, ends the transcript.
const CLOSE: f32 = 0.1;
/// A stretch of tokens that is no longer than this and comes so often in a row is a loop, if that makes so many tokens. Nobody
/// says that, and it is noticed sooner than by running into the limit of tokens.
const LONGEST: usize = 12;
const TIMES: usize = 6;
const TOKENS: usize = 18;

/// A transcript that grows.
#[derive(Debug)]
pub struct Transcribing<'a> {
    vocabulary: &'a Vocabulary,
    expected: &'a Expected,
    /// The moment from which on one ends it.
    end: usize,
    /// Most tokens.
    most: usize,
    /// All so far, after the moment 0.00 s that it begins with.
    tokens: Vec<usize>,
    said: Vec<u8>,
    /// The sum of the logarithms of the probabilities of its text, and of how many tokens.
    sum: f32,
    count: f32,
    /// The last moment that was told.
    reached: Option<usize>,
    over: bool,
    /// The scores that are worked on.
    scores: Vec<f32>,
}

impl<'a> Transcribing<'a> {
    /// Nothing yet, of a sound of so many seconds, and at most so many tokens.
    pub fn new(
        vocabulary: &'a Vocabulary,
        expected: &'a Expected,
        seconds: f32,
        most: usize,
    ) -> Transcribing<'a> {
        Transcribing {
            vocabulary,
            expected,
            end: vocabulary.beg + ((seconds - CLOSE) / MOMENT).max(0.0).round() as usize,
            most,
            tokens: Vec::new(),
            said: Vec::new(),
            sum: 0.0,
            count: 0.0,
            reached: None,
            over: most == 0,
            scores: Vec::new(),
        }
    }

    /// Whether nothing more comes.
    pub fn over(&self) -> bool {
        self.over
    }

    /// The token that the model is to be shown next.
    pub fn last(&self) -> usize {
        self.tokens.last().copied().unwrap_or(self.vocabulary.beg)
    }

    /// What it says; what is no UTF-8 is replaced.
    pub fn text(&self) -> String {
        String::from_utf8_lossy(&self.said).trim().to_owned()
    }

    /// The mean logarithm of the probabilities of its text; 0 without any.
    pub fn sureness(&self) -> f32 {
        if self.count > 0.0 {
            self.sum / self.count
        } else {
            0.0
        }
    }

    /// The last moment that was told, in seconds.
    pub fn reached(&self) -> Option<f32> {
        self.reached
            .map(|moment| (moment - self.vocabulary.beg) as f32 * MOMENT)
    }

    /// Chooses what comes next by the model's scores, one for each token. Scores that are not those of the vocabulary end it.
    pub fn next(&mut self, logits: &[f32]) {
        let Vocabulary { eot, beg, .. } = *self.vocabulary;
        if self.over || logits.len() <= beg || beg <= eot {
            self.over = true;
            return;
        }
        self.scores.clear();
        self.scores.extend_from_slice(logits);
        self.rule_out();
        let all = log_sum(&self.scores);
        let (text, moments) = (&self.scores[..=eot], &self.scores[beg..]);
        let best = highest(text);
        // Moments that are likelier together than any text mean that one comes, though each of them may be less likely.
        let token = match log_sum(moments) > best.1 {
            true => beg + highest(moments).0,
            // Names are weighed against other words only: none is written where the model hears no more.
            false if best.0 < eot => self.with_names(best),
            false => best.0,
        };
        // Nothing has a chance, or the scores are no numbers.
        if !self.scores[token].is_finite() {
            self.over = true;
            return;
        }
        if token < eot {
            self.sum += logits[token] - all;
            self.count += 1.0;
            self.said.extend_from_slice(&self.vocabulary.texts[token]);
        }
        if token > beg {
            self.reached = Some(token);
        }
        self.tokens.push(token);
        self.over = token == eot
            || self.tokens.len() >= self.most
            || self.reached.is_some_and(|reached| reached >= self.end)
            || self.loops();
    }

    /// The likeliest text, this one with its score or what goes on with a name.
    fn with_names(&self, best: (usize, f32)) -> usize {
        let names = self.expected.next(&self.said, self.vocabulary);
        let own = names.iter().find(|(token, _)| *token == best.0);
        let first = (best.0, best.1 + own.map_or(0.0, |(_, bonus)| *bonus));
        let scored = names
            .iter()
            .filter_map(|(token, bonus)| Some((*token, self.scores.get(*token)? + bonus)));
        let better = |best: (usize, f32), next: (usize, f32)| if next.1 > best.1 { next } else { best };
        scored.fold(first, better).0
    }

    /// What whisper never writes here has no chance.
    fn rule_out(&mut self) {
        let Vocabulary { eot, beg, .. } = *self.vocabulary;
        let scores = &mut self.scores;
        scores[eot + 1..beg].fill(f32::NEG_INFINITY);
        let is_moment = |token: &usize| *token >= beg;
        let before = self.tokens.iter().rev().nth(1);
        match self.tokens.last() {
            // A stretch has begun: it has text, or there is none at all.
            None => scores[beg..].fill(f32::NEG_INFINITY),
            Some(last) if is_moment(last) && before.is_none_or(is_moment) => {
                scores[beg..].fill(f32::NEG_INFINITY);
            }
            // A stretch is over: the next begins, or nothing more comes.
            Some(last) if is_moment(last) => scores[..eot].fill(f32::NEG_INFINITY),
            Some(_) => {}
        }
        // Time does not go back.
        if let Some(reached) = self.reached {
            scores[beg..reached].fill(f32::NEG_INFINITY);
        }
    }

    fn loops(&self) -> bool {
        (1..=LONGEST).any(|size| {
            let length = (size * TIMES).max(TOKENS);
            self.tokens.len() >= length && {
                let tail = &self.tokens[self.tokens.len() - length..];
                (size..length).all(|at| tail[at] == tail[at - size])
            }
        })
    }
}

/// The place of the highest score and the score; of equals the first.
fn highest(scores: &[f32]) -> (usize, f32) {
    let first = (0, f32::NEG_INFINITY);
    scores.iter().enumerate().fold(
        first,
        |best, (at, score)| {
            if *score > best.1 { (at, *score) } else { best }
        },
    )
}

/// The logarithm of the sum of what these are logarithms of.
fn log_sum(scores: &[f32]) -> f32 {
    let top = highest(scores).1;
    if top == f32::NEG_INFINITY {
        return top;
    }
    top + scores.iter().map(|score| (score - top).exp()).sum::<f32>().ln()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const TEXTS: [&str; 6] = [" call", " An", "ya", "na", " no", ","];
    const EOT: usize = TEXTS.len();
    /// One token that steers stands between the end and the moments, of which there are 101: two seconds.
    const BEG: usize = EOT + 2;
    const ALL: usize = BEG + 101;

    fn vocabulary() -> Vocabulary {
        Vocabulary::new(EOT, BEG, TEXTS.map(|text| text.as_bytes().to_vec()))
    }

    /// Scores under which these tokens are as likely as said, and all others hardly.
    fn scores(likely: &[(usize, f32)]) -> Vec<f32> {
        let mut scores = vec![-20.0; ALL];
        likely.iter().for_each(|(token, score)| scores[*token] = *score);
        scores
    }

    /// What is written when the model finds these the likeliest, one after the other.
    fn written(expected: &Expected, seconds: f32, steps: &[&[(usize, f32)]]) -> (String, Vec<usize>, bool) {
        let vocabulary = vocabulary();
        let mut transcribing = Transcribing::new(&vocabulary, expected, seconds, 50);
        for step in steps {
            transcribing.next(&scores(step));
        }
        let over = transcribing.over();
        (transcribing.text(), transcribing.tokens, over)
    }

    #[test]
    fn text_is_written_until_a_moment_near_the_end() {
        let none = Expected::default();
        let end = BEG + 95;
        let steps: [&[(usize, f32)]; 4] = [&[(0, 9.0)], &[(1, 9.0)], &[(2, 9.0)], &[(end, 9.0)]];
        assert_eq!(
            written(&none, 2.0, &steps),
            ("call Anya".to_owned(), vec![0, 1, 2, end], true)
        );
        // The same moment of a longer sound ends only a stretch.
        assert!(!written(&none, 4.0, &steps).2);
        assert!(written(&none, 4.0, &[&[(0, 9.0)], &[(EOT, 9.0)]]).2);
    }

    #[test]
    fn what_whisper_rules_out_is_never_chosen() {
        let none = Expected::default();
        // A token that steers; a moment at once; a second moment in a row before text; time that goes back.
        assert_eq!(written(&none, 2.0, &[&[(EOT + 1, 9.0), (0, 1.0)]]).1, [0]);
        assert_eq!(written(&none, 2.0, &[&[(BEG + 5, 9.0), (0, 1.0)]]).1, [0]);
        let behind: &[(usize, f32)] = &[(BEG + 50, 9.0)];
        let pair: [&[(usize, f32)]; 3] = [&[(0, 9.0)], behind, &[(1, 9.0), (BEG + 40, 8.0), (BEG + 60, 1.0)]];
        assert_eq!(written(&none, 2.0, &pair).1, [0, BEG + 50, BEG + 60]);
        let after: [&[(usize, f32)]; 4] = [pair[0], pair[1], pair[2], &[(BEG + 70, 9.0), (4, 1.0)]];
        assert_eq!(written(&none, 2.0, &after).1, [0, BEG + 50, BEG + 60, 4]);
    }

    #[test]
    fn many_moments_together_are_likelier_than_one_text() {
        let mut likely = vec![(0, 2.0)];
        likely.extend((60..70).map(|moment| (BEG + moment, 1.0)));
        let steps: [&[(usize, f32)]; 2] = [&[(1, 9.0)], &likely];
        assert_eq!(written(&Expected::default(), 2.0, &steps).1, [1, BEG + 60]);
        assert_eq!(
            written(&Expected::default(), 2.0, &[&[(1, 9.0)], &likely[..2]]).1,
            [1, 0]
        );
    }

    #[test]
    fn a_name_that_is_expected_is_written_where_something_much_like_it_was_said() {
        let near: [&[(usize, f32)]; 2] = [&[(1, 9.0)], &[(3, 4.0), (2, 3.0)]];
        let far: [&[(usize, f32)]; 2] = [&[(1, 9.0)], &[(3, 9.0), (2, 3.0)]];
        let anya = Expected::of(["Anya"]);
        assert_eq!(written(&Expected::default(), 2.0, &near).0, "Anna");
        assert_eq!(written(&anya, 2.0, &near).0, "Anya");
        assert_eq!(written(&anya, 2.0, &far).0, "Anna");
        // The moments and the end are as likely as before.
        assert_eq!(written(&anya, 2.0, &[&[(EOT, 4.0), (1, 3.5)]]).0, "");
    }

    #[test]
    fn a_loop_is_noticed_and_emphasis_is_none() {
        let no: &[(usize, f32)] = &[(4, 9.0)];
        let comma: &[(usize, f32)] = &[(5, 9.0)];
        let say = |times: usize| {
            let steps: Vec<&[(usize, f32)]> = (0..times).flat_map(|_| [no, comma]).collect();
            written(&Expected::default(), 30.0, &steps)
        };
        assert!(!say(5).2);
        let (_, tokens, over) = say(20);
        assert!(over && tokens.len() < 20, "{tokens:?}");
    }

    #[test]
    fn strange_scores_end_it() {
        let vocabulary = vocabulary();
        let none = Expected::default();
        for scores in [
            vec![],
            vec![0.0; BEG],
            vec![f32::NEG_INFINITY; ALL],
            vec![f32::NAN; ALL],
        ] {
            let mut transcribing = Transcribing::new(&vocabulary, &none, 2.0, 50);
            transcribing.next(&scores);
            assert!(transcribing.over(), "{} scores", scores.len());
        }
        assert!(Transcribing::new(&vocabulary, &none, 2.0, 0).over());
    }

    proptest! {
        /// Whatever the model says, it comes to an end, and what is written is text.
        #[test]
        fn it_always_ends(steps in prop::collection::vec(prop::collection::vec(-30.0f32..30.0, ALL), 60)) {
            let vocabulary = vocabulary();
            let expected = Expected::of(["Anya", "Anna no"]);
            let mut transcribing = Transcribing::new(&vocabulary, &expected, 2.0, 50);
            let mut reached = 0.0;
            for scores in &steps {
                transcribing.next(scores);
                let now = transcribing.reached().unwrap_or(0.0);
                prop_assert!(now >= reached, "time goes back");
                reached = now;
            }
            prop_assert!(transcribing.over());
            prop_assert!(transcribing.tokens.len() <= 50);
            prop_assert!(transcribing.sureness() <= 0.0);
        }
    }
}
