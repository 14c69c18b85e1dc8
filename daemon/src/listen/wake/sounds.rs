//! How alike two stretches of words are to the ear: letters, and sounds by a rough reading of English spelling.
//!
//! Double metaphone, which finds names, is of no use here: it leaves two consonants of "tiro" and drops every vowel, so
//! that "try", "true" and "door" would be the same.

/// One sound: what class it is of, and which of the class.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Sound {
    class: char,
    kind: char,
    /// An r that many speakers do not pronounce, an h at the beginning: its absence costs half.
    weak: bool,
}

/// What it costs to take a sound for another of its class: t for d, ch for j.
const KIN: f32 = 0.25;
/// What it costs to take a sound for a near one: m for n, f for p.
const NEAR: f32 = 0.5;
/// What a weak sound or a vowel costs that is not there.
const WEAK: f32 = 0.5;

/// Letters and sounds of something said, worked out once.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Said {
    letters: Vec<char>,
    sounds: Vec<Sound>,
}

impl Said {
    /// Of letters that were lower-cased and joined.
    pub(super) fn new(letters: &str) -> Said {
        let letters: Vec<char> = letters.chars().collect();
        Said {
            sounds: sounds(&letters),
            letters,
        }
    }

    /// How many letters it has.
    pub(super) fn len(&self) -> usize {
        self.letters.len()
    }

    /// 1 the same, 0 nothing in common: the mean of what letters and sounds say. Either alone takes too much for the
    /// same ("service" sounds much like "jarvis").
    pub(super) fn likeness(&self, other: &Said) -> f32 {
        let letters = distance(&self.letters, &other.letters, |a, b| f32::from(a != b), |_| 1.0);
        let sounds = distance(&self.sounds, &other.sounds, taken_for, missing);
        let share = |cost: f32, a: usize, b: usize| 1.0 - (cost / a.max(b).max(1) as f32).min(1.0);
        0.5 * share(letters, self.letters.len(), other.letters.len())
            + 0.5 * share(sounds, self.sounds.len(), other.sounds.len())
    }
}

fn taken_for(a: &Sound, b: &Sound) -> f32 {
    match (a.class, b.class) {
        _ if a == b || (a.class, a.kind) == (b.class, b.kind) => 0.0,
        (x, y) if x == y => KIN,
        ('m', 'n')
        | ('n', 'm')
        | ('p', 'f')
        | ('f', 'p')
        | ('r', 'l')
        | ('l', 'r')
        | ('j', 's')
        | ('s', 'j') => NEAR,
        _ => 1.0,
    }
}

fn missing(sound: &Sound) -> f32 {
    match sound.weak || sound.class == 'a' {
        true => WEAK,
        false => 1.0,
    }
}

/// Edit distance with costs (Wagner and Fischer).
fn distance<T>(a: &[T], b: &[T], instead: impl Fn(&T, &T) -> f32, missing: impl Fn(&T) -> f32) -> f32 {
    let mut row = vec![0.0; b.len() + 1];
    for (j, y) in b.iter().enumerate() {
        row[j + 1] = row[j] + missing(y);
    }
    for x in a {
        let mut diagonal = row[0];
        row[0] += missing(x);
        for (j, y) in b.iter().enumerate() {
            let above = row[j + 1];
            row[j + 1] = (diagonal + instead(x, y))
                .min(above + missing(x))
                .min(row[j] + missing(y));
            diagonal = above;
        }
    }
    row[b.len()]
}

/// A rough reading: which class of sound each letter or pair of letters stands for. Vowels in a row are one, and letters
/// of other scripts stand for themselves.
fn sounds(letters: &[char]) -> Vec<Sound> {
    let mut sounds: Vec<Sound> = Vec::with_capacity(letters.len());
    let mut at = 0;
    while at < letters.len() {
        let rest = &letters[at..];
        let next = rest.get(1).copied().unwrap_or(' ');
        let soft = matches!(next, 'e' | 'i' | 'y');
        let (class, kind, taken) = match (rest[0], next) {
            ('c', 'h') | ('s', 'h') => ('j', rest[0], 2),
            ('t', 'h') => ('t', 'h', 2),
            ('p', 'h') => ('f', 'f', 2),
            ('c', 'k') => ('k', 'k', 2),
            ('q', 'u') => ('k', 'k', 2),
            ('x', _) => {
                sounds.push(Sound {
                    class: 'k',
                    kind: 'k',
                    weak: false,
                });
                ('s', 's', 1)
            }
            ('j', _) => ('j', 'j', 1),
            ('g', _) if soft => ('j', 'j', 1),
            ('c', _) if soft => ('s', 's', 1),
            ('c' | 'k' | 'q', _) => ('k', 'k', 1),
            ('g', _) => ('k', 'g', 1),
            ('s', _) => ('s', 's', 1),
            ('z', _) => ('s', 'z', 1),
            ('t', _) => ('t', 't', 1),
            ('d', _) => ('t', 'd', 1),
            ('p', _) => ('p', 'p', 1),
            ('b', _) => ('p', 'b', 1),
            ('f', _) => ('f', 'f', 1),
            ('v', _) => ('f', 'v', 1),
            ('a' | 'e' | 'i' | 'o' | 'u', _) => ('a', 'a', 1),
            ('y', _) if at > 0 => ('a', 'a', 1),
            (other, _) => (other, other, 1),
        };
        at += taken;
        let after_vowel = sounds.last().is_some_and(|s| s.class == 'a');
        let before_vowel = matches!(letters.get(at), Some('a' | 'e' | 'i' | 'o' | 'u' | 'y'));
        let weak = (class == 'r' && after_vowel && !before_vowel) || class == 'h';
        // "ss" is one sound, and so are vowels in a row.
        if sounds.last().is_some_and(|s| (s.class, s.kind) == (class, kind)) {
            continue;
        }
        sounds.push(Sound { class, kind, weak });
    }
    sounds
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn likeness(a: &str, b: &str) -> f32 {
        Said::new(a).likeness(&Said::new(b))
    }

    #[test]
    fn what_is_misheard_is_nearer_than_what_is_something_else() {
        #[track_caller]
        fn check(phrase: &str, misheard: &str, other: &str) {
            let (near, far) = (likeness(phrase, misheard), likeness(phrase, other));
            assert!(near > far + 0.04, "{misheard} {near}, {other} {far}");
        }
        check("computer", "combutu", "compare");
        check("computer", "kompjuter", "compose");
        check("jarvis", "javis", "service");
        check("jarvis", "charvis", "harvest");
        check("heytiro", "heytyro", "heythere");
        check("heytiro", "haytearo", "heytom");
        check("alexa", "aleksa", "alice");
        check("friday", "fridey", "frieda");
    }

    proptest! {
        #[test]
        fn likeness_is_a_share_and_the_same_both_ways(a in "\\PC{0,30}", b in "\\PC{0,30}") {
            let one = likeness(&a, &b);
            prop_assert!((0.0..=1.0).contains(&one));
            prop_assert!((one - likeness(&b, &a)).abs() < 1e-5);
            prop_assert!(likeness(&a, &a) == 1.0);
        }
    }
}
