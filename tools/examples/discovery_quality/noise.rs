//! Spoken tool names as a recogniser might write them: split, merged, replaced by a homophone, or one phoneme off.
//!
//! The name is spoken as its words. Each kind of noise is applied to each name once, at a place that a fixed seed chooses.

use tools::discover::words;

/// Names of the kinds, in the order of [`noisy`].
pub const KINDS: [&str; 4] = ["split", "merged", "homophone", "phoneme"];
const SEED: u64 = 0x5eed_0f71_2026_0001;

/// Words that sound the same; where a name has none of them, its spelling is changed so that it still sounds the same.
const HOMOPHONES: &[(&str, &str)] = &[
    ("add", "ad"),
    ("apps", "aps"),
    ("clock", "cloch"),
    ("do", "due"),
    ("find", "fined"),
    ("for", "four"),
    ("lock", "loch"),
    ("mail", "male"),
    ("next", "necks"),
    ("notes", "knotes"),
    ("pause", "paws"),
    ("read", "reed"),
    ("seek", "sikh"),
    ("send", "scend"),
    ("weather", "whether"),
    ("wifi", "why fi"),
    ("write", "right"),
];
/// Spellings of the same sound.
const SPELLINGS: &[(&str, &str)] = &[
    ("ck", "k"),
    ("ph", "f"),
    ("c", "k"),
    ("tion", "shun"),
    ("ee", "ea"),
    ("ll", "l"),
    ("ss", "s"),
    ("ar", "er"),
    ("y", "ie"),
    ("e", "ea"),
    ("i", "y"),
];
/// Pairs of phonemes that differ in one feature, as they are mostly spelt.
const NEAR: &[(&str, &str)] = &[
    ("b", "p"),
    ("d", "t"),
    ("g", "k"),
    ("v", "f"),
    ("z", "s"),
    ("m", "n"),
    ("l", "r"),
    ("a", "e"),
    ("i", "e"),
    ("o", "u"),
    ("s", "sh"),
    ("t", "d"),
    ("p", "b"),
    ("k", "g"),
    ("n", "m"),
    ("r", "l"),
    ("e", "i"),
];

/// One variant of each kind for a tool's name; a kind that cannot touch it is left out.
pub fn noisy(names: &[String]) -> Vec<(usize, &'static str, String)> {
    let mut random = SEED;
    let mut below = move |n: usize| {
        random ^= random << 13;
        random ^= random >> 7;
        random ^= random << 17;
        (random % n.max(1) as u64) as usize
    };
    let mut all = Vec::new();
    for (tool, name) in names.iter().enumerate() {
        let words = words::split(name);
        let longest = (0..words.len()).max_by_key(|w| words[*w].len()).unwrap_or(0);
        let at = |word: usize, text: String| {
            let mut changed = words.clone();
            changed[word] = text;
            changed.join(" ")
        };
        let cut = 2 + below(words[longest].len().saturating_sub(3));
        if words[longest].len() >= 4 {
            all.push((
                tool,
                KINDS[0],
                at(
                    longest,
                    format!("{} {}", &words[longest][..cut], &words[longest][cut..]),
                ),
            ));
        }
        if words.len() > 1 {
            let first = below(words.len() - 1);
            let mut merged = words.clone();
            let second = merged.remove(first + 1);
            merged[first].push_str(&second);
            all.push((tool, KINDS[1], merged.join(" ")));
        }
        let word = below(words.len());
        let order: Vec<usize> = (0..words.len()).map(|w| (word + w) % words.len()).collect();
        let homophone = order.iter().find_map(|w| {
            let same = HOMOPHONES.iter().find(|h| h.0 == words[*w]);
            same.map(|h| at(*w, h.1.to_owned()))
        });
        let spelt = || {
            order
                .iter()
                .find_map(|w| replaced(&words[*w], SPELLINGS, 0).map(|text| at(*w, text)))
        };
        if let Some(text) = homophone.or_else(spelt) {
            all.push((tool, KINDS[2], text));
        }
        let start = below(NEAR.len());
        if let Some(text) = order
            .iter()
            .find_map(|w| replaced(&words[*w], NEAR, start).map(|text| at(*w, text)))
        {
            all.push((tool, KINDS[3], text));
        }
    }
    all
}

/// The word with the first of these spellings, from `start` on and around, replaced once.
fn replaced(word: &str, pairs: &[(&str, &str)], start: usize) -> Option<String> {
    (0..pairs.len()).find_map(|i| {
        let (from, to) = pairs[(start + i) % pairs.len()];
        word.contains(from).then(|| word.replacen(from, to, 1))
    })
}
