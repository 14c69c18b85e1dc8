//! What a recogniser writes when nobody spoke, or when it lost its way: repetition, echoes, stage directions, and the words that
//! films end with.

use self::seen::UNSURE;

pub mod seen;

/// The probability of no speech above which what the model is not sure of was not said: whisper's own limit
/// (`no_speech_threshold` in `decoding.py`).
const SILENT: f32 = 0.6;

/// What whisper is known to write where nobody speaks, because films and videos that it learnt from end so. In lower case, words only.
const WELL_KNOWN: &[&str] = &[
    "you",
    "thank you",
    "thank you so much",
    "thank you very much",
    "thank you for watching",
    "thank you for watching this video",
    "thanks",
    "thanks for watching",
    "thanks for watching this video",
    "bye",
    "bye bye",
    "i'll see you in the next video",
    "please subscribe",
    "please subscribe to my channel",
    "subtitles by the amara org community",
    "vielen dank",
    "vielen dank fürs zuschauen",
    "tschüss",
    "bis zum nächsten mal",
    "untertitel der amara org community",
    "untertitel im auftrag des zdf für funk 2017",
    "merci",
    "merci d'avoir regardé cette vidéo",
    "sous titres réalisés par la communauté d'amara org",
    "gracias",
    "gracias por ver el video",
    "subtítulos realizados por la comunidad de amara org",
    "sottotitoli creati dalla comunità amara org",
];

/// Whether a text is one that whisper is known to write where nobody speaks. People say most of them, too.
pub fn well_known(text: &str) -> bool {
    let text = words(text).join(" ");
    WELL_KNOWN.contains(&text.as_str())
}

/// Whether nobody said a text: the model thinks it likely that nobody speaks (`silence` is the probability) and is not sure of what
/// it wrote (`sureness` is the mean logarithm of the probabilities of its tokens), or wrote what it is known to write then.
pub fn unsaid(text: &str, sureness: f32, silence: f32) -> bool {
    silence > SILENT && (sureness < UNSURE || well_known(text))
}

/// Whether a text looks like a loop: a stretch of words that comes several times in a row, a text said twice, or
/// one that is long and poor in different words. Whisper does this when its window is cut short. People repeat
/// themselves too, so this is a reason to look again and not to drop anything.
pub fn repeats(text: &str) -> bool {
    let words: Vec<String> = words(text);
    let half = words.len() / 2;
    let looping = (1..=half).any(|size| {
        // One word said three times ("no no no") is speech; the longer the stretch, the less likely that is.
        let times = match size {
            _ if size * 2 == words.len() => 2,
            1 => 5,
            2 => 3,
            _ => 2,
        };
        (0..words.len()).any(|at| {
            let end = at + size * times;
            end <= words.len() && (at + size..end).all(|i| words[i] == words[i - size])
        })
    });
    let mut different = words.clone();
    different.sort_unstable();
    different.dedup();
    looping || (words.len() >= 24 && different.len() * 4 < words.len())
}

/// Whether a transcript is the words it was told to expect, and not speech: at least two words, nearly all of
/// which stand in the prompt in the same order.
pub fn echoes(text: &str, prompt: &str) -> bool {
    let (said, expected) = (words(text), words(prompt));
    if said.len() < 2 || expected.len() < 2 {
        return false;
    }
    let share = common(&said, &expected);
    // Names out of a list of expected names are wanted; the list itself, or a sentence of it, is not.
    share * 10 >= said.len() * 9 && share * 2 >= expected.len()
}

/// What recognisers of other kinds than whisper write for a word that they do not know, where it is not `[unk]`.
const UNKNOWN: &str = "<unk>";

/// The text without stage directions (`[BLANK_AUDIO]`, `(music)`, `*sighs*`, `♪`) and marks for unknown words; empty when nothing else
/// is left.
pub fn without_directions(text: &str) -> String {
    let mut kept = String::with_capacity(text.len());
    let text = text.replace(UNKNOWN, " ");
    let mut rest = text.as_str();
    while let Some(at) = rest.find(['[', '(', '*', '♪']) {
        kept.push_str(&rest[..at]);
        let opener = &rest[at..];
        let (open, close) = match opener.chars().next() {
            Some('[') => ('[', ']'),
            Some('(') => ('(', ')'),
            Some('*') => ('*', '*'),
            _ => ('♪', '♪'),
        };
        let inside = &opener[open.len_utf8()..];
        rest = match inside.find(close) {
            Some(end) => &inside[end + close.len_utf8()..],
            None => inside,
        };
    }
    kept.push_str(rest);
    if kept.chars().any(char::is_alphanumeric) {
        kept.split_whitespace().collect::<Vec<_>>().join(" ")
    } else {
        String::new()
    }
}

/// Longest common subsequence, words.
fn common(a: &[String], b: &[String]) -> usize {
    let mut row = vec![0; b.len() + 1];
    for x in a {
        let mut diagonal = 0;
        for (j, y) in b.iter().enumerate() {
            let above = row[j + 1];
            row[j + 1] = if x == y { diagonal + 1 } else { above.max(row[j]) };
            diagonal = above;
        }
    }
    row[b.len()]
}

fn words(text: &str) -> Vec<String> {
    text.split(|c: char| !c.is_alphanumeric() && c != '\'')
        .filter(|w| !w.is_empty())
        .map(str::to_lowercase)
        .collect()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[track_caller]
    fn check_repeats(text: &str, expect: bool) {
        assert_eq!(repeats(text), expect, "{text}");
    }

    #[test]
    fn loops_are_found_and_speech_is_not() {
        check_repeats("", false);
        check_repeats("What do I have on my calendar tomorrow?", false);
        check_repeats("No, no, no, not that one.", false);
        check_repeats(
            "I'm going to go. I'm going to go. I'm going to go. I'm going to go.",
            true,
        );
        check_repeats("you you you you you", true);
        check_repeats("Set a timer for ten minutes and then and then and then", true);
        check_repeats("Call mum and call dad", false);
        check_repeats("What time is it? What time is it?", true);
        check_repeats("No. No.", true);
        check_repeats("rather selfish is to be old. Is to be old?", true);
    }

    #[track_caller]
    fn check_echo(text: &str, prompt: &str, expect: bool) {
        assert_eq!(echoes(text, prompt), expect, "{text}");
    }

    #[test]
    fn the_prompt_coming_back_is_an_echo() {
        let names = "Anna Kowalska, Bert Jansen, Chloe Dubois.";
        check_echo("Anna Kowalska, Bert Jansen, Chloe Dubois.", names, true);
        check_echo("Anna Kowalska Bert Jansen", names, true);
        check_echo("Bert Jansen", names, false);
        check_echo("Call Bert Jansen tomorrow", names, false);
        check_echo("Anna", names, false);
        check_echo("", names, false);
        check_echo("Hello there", "", false);
    }

    #[track_caller]
    fn check_directions(text: &str, expect: &str) {
        assert_eq!(without_directions(text), expect);
    }

    #[test]
    fn directions_are_dropped() {
        check_directions("[BLANK_AUDIO]", "");
        check_directions(" (upbeat music) ", "");
        check_directions("*sighs*", "");
        check_directions("♪ la la ♪", "");
        check_directions("♪", "");
        check_directions("[Music] Call Anna (laughs) now.", "Call Anna now.");
        check_directions("Call Anna [", "Call Anna");
        check_directions("...", "");
        check_directions("put <unk> and [unk] on the list", "put and on the list");
        check_directions("<unk>", "");
        check_directions("3 * 4 is twelve", "3 4 is twelve");
    }

    #[track_caller]
    fn check_unsaid(text: &str, sureness: f32, silence: f32, expect: bool) {
        assert_eq!(
            unsaid(text, sureness, silence),
            expect,
            "{text} {sureness} {silence}"
        );
    }

    #[test]
    fn what_nobody_said_is_told_from_what_somebody_did() {
        // Numbers are those that the models gave: a kitchen, a cough, people and a synthetic voice.
        check_unsaid("You", -3.37, 0.95, true);
        check_unsaid(">> No.", -1.22, 0.79, true);
        check_unsaid("door", -1.93, 0.82, true);
        check_unsaid("Thank you.", -0.2, 0.9, true);
        check_unsaid("Untertitel der Amara.org-Community", -0.1, 0.7, true);
        check_unsaid("Thank you.", -0.52, 0.40, false);
        check_unsaid("Thank you very much.", -0.09, 0.16, false);
        check_unsaid("Computer.", -0.13, 0.87, false);
        check_unsaid("Thank you, that will do.", -0.2, 0.9, false);
        check_unsaid("Launch Firefox.", -1.2, 0.14, false);
        check_unsaid("", 0.0, 0.9, false);
    }

    #[test]
    fn well_known_ghosts_have_words_only() {
        for text in WELL_KNOWN {
            assert!(well_known(text), "{text}");
        }
    }

    proptest! {
        #[test]
        fn nothing_panics(text in "\\PC{0,60}", prompt in "\\PC{0,60}") {
            prop_assert!(without_directions(&text).len() <= text.len());
            prop_assert!(!well_known(&text) || unsaid(&text, 0.0, 1.0));
            prop_assert!(!repeats(&text) || text.split_whitespace().count() > 0);
            prop_assert!(!echoes(&text, &prompt) || text.len() > 1);
        }
    }
}
