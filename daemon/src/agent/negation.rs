//! What somebody does not want: "don't set an alarm for tomorrow" names an alarm, a time and a verb, and the index, which
//! looks at words, is as sure of it as of its opposite. So a request that only says what should not be done is recognised
//! by its form, before anything is ranked.

use super::several::words;

/// What stands in front of a request and says nothing about it.
const FRINGE: &[&str] = &[
    "actually", "ah", "and", "but", "hey", "hmm", "just", "no", "oh", "ok", "okay", "please", "so", "tiro",
    "uh", "um", "well", "wait",
];
/// How a request begins that something be left alone.
const OPENINGS: &[&[&str]] = &[
    &["do", "not"],
    &["don't"],
    &["i", "do", "not", "want", "you", "to"],
    &["i", "don't", "want", "you", "to"],
    &["let's", "not"],
    &["never"],
    &["no", "need", "to"],
    &["there", "is", "no", "need", "to"],
    &["there's", "no", "need", "to"],
    &["you", "do", "not", "have", "to"],
    &["you", "do", "not", "need", "to"],
    &["you", "don't", "have", "to"],
    &["you", "don't", "need", "to"],
    &["you", "needn't"],
    &["i", "don't", "need", "a"],
    &["i", "don't", "need", "an"],
    &["i", "don't", "need", "any"],
    &["i", "don't", "want", "a"],
    &["i", "don't", "want", "an"],
    &["i", "don't", "want", "any"],
    &["i", "don't", "want", "to", "be"],
];
/// What wants something although it begins like that: "don't let me forget the milk", "do not disturb on".
const WANTED: &[&[&str]] = &[
    &["be"],
    &["bother", "me"],
    &["bother", "us"],
    &["bothered"],
    &["disturb"],
    &["disturbed"],
    &["forget"],
    &["i"],
    &["interrupted"],
    &["interruptions"],
    &["let"],
    &["mind"],
    &["miss"],
    &["notifications"],
    &["suppose"],
    &["they"],
    &["think"],
    &["we"],
    &["you"],
];
/// What takes back a request that is not even made.
const NEVER_MIND: &[&str] = &[
    "forget about it",
    "forget it",
    "it doesn't matter",
    "it's nothing",
    "never mind",
    "never mind forget it",
    "nothing",
    "nothing thanks",
    "nothing thank you",
];
/// What thanks are made of, and of nothing else; one of [`THANKS`] is among them.
const AROUND_THANKS: &[&str] = &[
    "a",
    "all",
    "brilliant",
    "bye",
    "excellent",
    "fine",
    "for",
    "good",
    "great",
    "help",
    "i",
    "it",
    "job",
    "kind",
    "lot",
    "lovely",
    "many",
    "much",
    "nice",
    "perfect",
    "really",
    "so",
    "super",
    "that",
    "that's",
    "the",
    "this",
    "tiro",
    "very",
    "well",
    "wonderful",
    "work",
    "you",
    "your",
];
const THANKS: &[&str] = &["cheers", "ta", "thank", "thanks"];
/// Words with which the part begins that is wanted after all.
const BUT: &[&str] = &["but", "instead", "just", "only", "rather"];

/// How somebody asks what Tiro is like, and for nothing: "would you ever read my mail".
const ASKS_ABOUT: &[&str] = &["could", "did", "do", "have", "will", "would"];
/// Verbs that are the same in the past: who says "I set a timer" did it.
const PAST: &[&str] = &["cut", "hit", "let", "put", "quit", "read", "reset", "set", "shut"];

/// What is left of a request that says what is not wanted.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Wanted<'a> {
    /// All of it: nothing in it is negated.
    All,
    /// This part only: "don't set an alarm, set a timer".
    Only(&'a str),
    /// Nothing of this, which is all that it says: "don't wake me tomorrow".
    Not(&'a str),
    /// Nothing.
    Nothing,
}

/// What somebody wants of what they said. `opens` tells the words with which requests begin.
pub(super) fn wanted<'a>(text: &'a str, opens: &dyn Fn(&str) -> bool) -> Wanted<'a> {
    let places = words(text);
    let said: Vec<String> = places.iter().map(|(from, to)| bare(&text[*from..*to])).collect();
    let start = said
        .iter()
        .take_while(|word| FRINGE.contains(&word.as_str()))
        .count();
    // "No need to" begins with a word of the fringe.
    let from = (0..=start).find_map(|from| Some(from + opening(&said[from..])?));
    if NEVER_MIND.contains(&said[start..].join(" ").as_str()) || NEVER_MIND.contains(&said.join(" ").as_str())
    {
        return Wanted::Nothing;
    }
    let Some(from) = from else {
        return Wanted::All;
    };
    if from >= said.len() || WANTED.iter().any(|start| begins(&said[from..], start)) {
        return Wanted::All;
    }
    // A clause of its own that begins with "but", "just" and the like, or as requests do, is what is wanted.
    for at in from + 1..said.len() {
        let clause = text[..places[at].0].trim_end().ends_with([',', ';', '.', '!']);
        let but = BUT.contains(&said[at].as_str()) && (clause || said[at] == "but");
        let rest = (at..said.len())
            .find(|i| !BUT.contains(&said[*i].as_str()) && !FRINGE.contains(&said[*i].as_str()));
        match rest {
            None if but => return Wanted::Nothing,
            Some(rest) if but || (clause && is_request(&said[rest..], opens)) => {
                // It may be another thing that is not wanted.
                let rest = &text[places[rest].0..];
                return match wanted(rest, opens) {
                    Wanted::All => Wanted::Only(rest),
                    Wanted::Not(_) => Wanted::Nothing,
                    other => other,
                };
            }
            _ => {}
        }
    }
    Wanted::Not(&text[places[from].0..])
}

/// Whether these words begin as requests do, and are not one of several things that were named: "pause, skip or stop".
fn is_request(said: &[String], opens: &dyn Fn(&str) -> bool) -> bool {
    let listed = said
        .windows(2)
        .any(|pair| matches!(pair[0].as_str(), "or" | "nor") && opens(&pair[1]));
    said.first().is_some_and(|first| opens(first)) && !listed
}

/// Whether somebody tells what they did themselves, or asks what Tiro would ever do, in the words in which a tool is asked for;
/// `examples` are those. "I set a timer for the rice, scrap it" asks for another one.
pub(super) fn only_tells(text: &str, examples: &[&str], opens: &dyn Fn(&str) -> bool) -> bool {
    let places = words(text);
    let clause = |at: usize| text[..places[at].0].trim_end().ends_with([',', ';', '.']);
    let said: Vec<String> = places.iter().map(|(from, to)| bare(&text[*from..*to])).collect();
    let start = said
        .iter()
        .take_while(|word| FRINGE.contains(&word.as_str()))
        .count();
    // "I set an alarm for seven, make it eight" asks for something all the same.
    let asks = (start + 2..said.len())
        .any(|at| opens(&said[at]) && (clause(at) || FRINGE.contains(&said[at - 1].as_str())));
    if asks {
        return false;
    }
    let word = |at: usize| said.get(start + at).map_or("", String::as_str);
    match (word(0), word(1), word(2)) {
        // "Would you ever so kindly".
        (asks, "you", "ever") => ASKS_ABOUT.contains(&asks) && word(3) != "so",
        ("i", verb, _) if PAST.contains(&verb) => examples
            .iter()
            .any(|example| example.split_whitespace().next() == Some(verb)),
        _ => false,
    }
}

/// Whether this takes back a request that is not even made, and nothing more.
pub(super) fn is_never_mind(text: &str) -> bool {
    let said: Vec<String> = words(text)
        .into_iter()
        .map(|(from, to)| bare(&text[from..to]))
        .collect();
    NEVER_MIND.contains(&said.join(" ").as_str())
}

/// Whether somebody says thank you and nothing more.
pub(super) fn is_thanks(text: &str) -> bool {
    let said = words(text);
    let mut said = said.into_iter().map(|(from, to)| bare(&text[from..to]));
    let mut thanks = false;
    let all = said.all(|word| {
        thanks |= THANKS.contains(&word.as_str());
        let idle = [THANKS, AROUND_THANKS, FRINGE]
            .iter()
            .any(|some| some.contains(&word.as_str()));
        // "No thanks" is an answer.
        idle && word != "no"
    });
    all && thanks
}

/// How many words the opening takes with which these words begin.
fn opening(said: &[String]) -> Option<usize> {
    OPENINGS
        .iter()
        .find(|start| begins(said, start))
        .map(|start| start.len())
}

/// A word as it is looked up: recognisers leave out apostrophes as they like.
fn bare(word: &str) -> String {
    let word = word.trim_matches(|c: char| !c.is_alphanumeric()).to_lowercase();
    match word.replace('\u{2019}', "'").as_str() {
        "dont" => "don't".to_owned(),
        "lets" => "let's".to_owned(),
        "neednt" => "needn't".to_owned(),
        other => other.to_owned(),
    }
}

fn begins(said: &[String], start: &[&str]) -> bool {
    said.len() >= start.len() && said.iter().zip(start).all(|(word, expected)| word == expected)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn wanted(text: &str) -> Wanted<'_> {
        super::wanted(text, &|word| ["send", "set", "add", "play"].contains(&word))
    }

    #[test]
    fn what_is_not_wanted_is_told_by_its_form() {
        for text in [
            "don't set an alarm for tomorrow",
            "please don't delete any of my mail",
            "Do not send that to Anna.",
            "no need to remind me about the bins",
            "no, there's no need to save it",
            "oh and don\u{2019}t pause the music",
            "I don't want you to call her",
            "never read my messages aloud",
            "let's not move the meeting",
            "don't set an alarm for tomorrow, I'm off",
            "don't add, play or send anything",
            "don't bother to send it",
            "I don't want an alarm tomorrow",
            "I don't want to be woken tomorrow",
        ] {
            assert!(
                matches!(wanted(text), Wanted::Not(_)),
                "{text}: {:?}",
                wanted(text)
            );
        }
        for text in [
            "don't play it, but don't add it either",
            "never mind",
            "no, forget it",
        ] {
            assert_eq!(wanted(text), Wanted::Nothing, "{text}");
        }
    }

    #[test]
    fn what_is_not_wanted_is_known() {
        for (text, not) in [
            ("please don't wake me tomorrow", "wake me tomorrow"),
            ("I don't want to be woken tomorrow", "woken tomorrow"),
            ("no, there's no need to save it", "save it"),
        ] {
            assert_eq!(wanted(text), Wanted::Not(not), "{text}");
        }
    }

    #[test]
    fn what_only_sounds_like_it_is_wanted() {
        for text in [
            "don't let me forget the milk",
            "don't forget to remind me at six",
            "do not disturb",
            "don't bother me",
            "I don't want to be disturbed for now",
            "I don't want any notifications",
            "turn do not disturb on",
            "do I have a meeting",
            "don't you think it will rain",
            "I don't have any eggs, add them to the list",
            "remind me not to call him",
            "no, I meant Friday",
            "nothing but the blues, play that",
            "what does never mind the buzzcocks mean",
            "don't",
            "",
        ] {
            assert_eq!(wanted(text), Wanted::All, "{text}");
        }
    }

    #[test]
    fn what_is_told_is_not_asked_for() {
        let timers = ["set a timer for ten minutes", "timer for eggs"];
        let opens = |word: &str| ["cancel", "make", "set"].contains(&word);
        for text in [
            "I set a timer for ten minutes earlier and it was way too long",
            "so I set the thing for twenty minutes",
            "would you ever set a timer by yourself",
            "oh, do you ever set one without asking?",
        ] {
            assert!(only_tells(text, &timers, &opens), "{text}");
        }
        for text in [
            "set a timer for ten minutes",
            "I need a timer for ten minutes",
            "would you set a timer",
            "did you set the timer",
            "would you ever so kindly set a timer",
            "I put the eggs on, ten minutes",
            "I set a timer for ten minutes, make it twenty",
            "I set a timer for the rice so cancel it",
            "",
        ] {
            assert!(!only_tells(text, &timers, &opens), "{text}");
        }
        assert!(!only_tells(
            "I set that timer by mistake, get rid of it",
            &["cancel my timer"],
            &opens
        ));
    }

    #[test]
    fn thanks_are_told_from_requests_with_thanks() {
        for text in [
            "thanks",
            "Great, thanks for that.",
            "okay thank you very much",
            "ta",
            "Cheers, Tiro!",
        ] {
            assert!(is_thanks(text), "{text}");
        }
        for text in [
            "great",
            "",
            "thanks to Anna's mail, delete it",
            "thank Anna for the flowers",
            "put cheers on the card",
            "no thanks",
            "what's the time, thanks",
        ] {
            assert!(!is_thanks(text), "{text}");
        }
    }

    #[test]
    fn the_clause_behind_it_is_what_is_wanted() {
        for (text, rest) in [
            (
                "don't set an alarm, just set a timer for ten minutes",
                "set a timer for ten minutes",
            ),
            ("do not delete it but archive it", "archive it"),
            (
                "no need to wait, send Karim a mail with exactly that",
                "send Karim a mail with exactly that",
            ),
            ("don't bring up the list; please add milk to it", "add milk to it"),
            ("don't call her. Instead send her a message", "send her a message"),
        ] {
            assert_eq!(wanted(text), Wanted::Only(rest), "{text}");
        }
        assert_eq!(wanted("don't do that, rather"), Wanted::Nothing);
    }
}
