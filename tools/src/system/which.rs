//! Which of several things somebody means: by name, also misheard, by place in the list, all of them, or the only one.

use super::{heard, plain};
use crate::contract::ToolError;

/// As many candidates are read out in a question.
const MAX_ASKED: usize = 5;

/// How things of one kind are talked about.
#[derive(Debug, Clone, Copy)]
pub struct Kind {
    /// "timer".
    pub one: &'static str,
    /// "timers".
    pub many: &'static str,
}

/// The one that is meant. Where nothing was said it is the only one there is.
///
/// # Errors
/// `Tell`: there is none, none of that name, or several: then it asks which, `describe` telling them apart.
pub fn one<'a, T>(
    said: &str,
    kind: Kind,
    items: &'a [T],
    name: impl Fn(&T) -> &str,
    describe: impl Fn(&T) -> String,
) -> Result<&'a T, ToolError> {
    let wanted = bare(said, kind);
    let which = |some: &mut dyn Iterator<Item = &T>| {
        let names: Vec<String> = some.take(MAX_ASKED).map(&describe).collect();
        ToolError::tell(format!("Which {}: {}?", kind.one, plain::listed(&names, "or")))
    };
    if items.is_empty() {
        return Err(ToolError::tell(format!("There are no {}.", kind.many)));
    }
    if wanted.is_empty() {
        return match items {
            [only] => Ok(only),
            several => Err(which(&mut several.iter())),
        };
    }
    let exact: Vec<&T> = items
        .iter()
        .filter(|item| bare(name(item), kind) == wanted)
        .collect();
    match exact[..] {
        [only] => return Ok(only),
        [] => {}
        _ => return Err(which(&mut exact.into_iter())),
    }
    if let Some(item) = place(&wanted, items.len()).and_then(|at| items.get(at)) {
        return Ok(item);
    }
    let found = heard::pick(&wanted, items, |item| vec![(name(item), 1.0)]);
    match (heard::contenders(&found), found.first()) {
        (1, Some((_, item))) => Ok(item),
        (0, _) | (_, None) => {
            let mut behind = items
                .iter()
                .filter(|item| is_behind_verb(&wanted, &bare(name(item), kind)));
            if let (Some(only), None) = (behind.next(), behind.next()) {
                return Ok(only);
            }
            let names: Vec<String> = items.iter().take(MAX_ASKED).map(&describe).collect();
            let more = if items.len() > MAX_ASKED {
                ", among others"
            } else {
                ""
            };
            Err(ToolError::tell(format!(
                "There is no {} called \"{}\". There is {}{more}.",
                kind.one,
                plain::one_line(said, 60),
                plain::listed(&names, "and")
            )))
        }
        (several, _) => Err(which(&mut found.iter().take(several).map(|(_, item)| *item))),
    }
}

/// Whether all of them are meant: "all", "all my timers", "every single one", "everything"; "my timers", since a model leaves
/// out the "all" of what was said.
pub fn is_all(said: &str, kind: Kind) -> bool {
    is_every(said, kind) || is_plural(said, kind)
}

/// Whether it is said that all of them are meant. "The items" of "the items that I bought" are not.
pub fn is_every(said: &str, kind: Kind) -> bool {
    matches!(
        telling(&words(said), kind)[..],
        ["all" | "every" | "everything" | "both" | "each"]
    )
}

/// Whether nothing but the kind was named, and as many: "my timers". "The last timers" are some of them.
fn is_plural(said: &str, kind: Kind) -> bool {
    let words = words(said);
    telling(&words, kind).is_empty()
        && words.iter().any(|word| word == kind.many)
        && !words
            .iter()
            .any(|word| ["last", "one", "single"].contains(&word.as_str()))
}

fn words(said: &str) -> Vec<String> {
    said.to_lowercase()
        .split(|c: char| !c.is_alphanumeric())
        .filter(|word| !word.is_empty())
        .map(str::to_owned)
        .collect()
}

/// The words that tell which.
fn telling(words: &[String], kind: Kind) -> Vec<&str> {
    const FILLING: [&str; 10] = [
        "of", "them", "my", "the", "ones", "these", "those", "one", "single", "last",
    ];
    words
        .iter()
        .map(String::as_str)
        .filter(|word| !FILLING.contains(word) && *word != kind.one && *word != kind.many)
        .collect()
}

/// What is left of a name without the words around it: "my egg timer" is "egg", "that one" is nothing.
pub fn bare(said: &str, kind: Kind) -> String {
    const BEFORE: [&str; 14] = [
        "my", "the", "that", "this", "it", "a", "an", "called", "named", "current", "for", "about", "of",
        "to",
    ];
    let said = plain::one_line(said, 200).to_lowercase();
    let mut words: Vec<&str> = said.split_whitespace().collect();
    let is_kind = |word: &str| word == kind.one || word == kind.many;
    while words.first().is_some_and(|w| BEFORE.contains(w) || is_kind(w)) {
        words.remove(0);
    }
    while words.last().is_some_and(|w| is_kind(w) || *w == "one") {
        words.pop();
    }
    words.join(" ").trim_end_matches(['.', '!', '?']).to_owned()
}

/// Whether a text is this name with a verb before its article, which a model took along: "scrap the bread".
fn is_behind_verb(text: &str, name: &str) -> bool {
    const ARTICLES: [&str; 4] = ["my", "that", "the", "this"];
    // What leaves it out instead.
    const NOT: [&str; 9] = [
        "bar",
        "besides",
        "but",
        "except",
        "excluding",
        "minus",
        "not",
        "save",
        "without",
    ];
    let words: Vec<&str> = text.split_whitespace().collect();
    match words[..] {
        [verb, article, ..] => {
            ARTICLES.contains(&article)
                && !NOT.contains(&verb)
                && !name.is_empty()
                && words[2..].join(" ") == name
        }
        _ => false,
    }
}

/// "the second", "the last item": a place in the list, from 0.
fn place(wanted: &str, count: usize) -> Option<usize> {
    const PLACES: [&str; 5] = ["first", "second", "third", "fourth", "fifth"];
    let mut words = wanted.split_whitespace();
    let word = words.next()?;
    if !words.all(|w| matches!(w, "item" | "entry" | "row" | "thing" | "on" | "list" | "of")) {
        return None;
    }
    match word {
        "last" => count.checked_sub(1),
        _ => PLACES.iter().position(|p| *p == word).filter(|at| *at < count),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const KIND: Kind = Kind {
        one: "timer",
        many: "timers",
    };

    #[track_caller]
    fn check(said: &str, items: &[&str], expect: &str) {
        let found = match one(said, KIND, items, |i| i, |i| (*i).to_owned()) {
            Ok(item) => (*item).to_owned(),
            Err(error) => error.to_string(),
        };
        assert_eq!(found, expect, "{said:?}");
    }

    #[test]
    fn what_is_said_finds_what_is_meant_or_asks() {
        let three = ["eggs", "pasta", "laundry room"];
        check("", &["eggs"], "eggs");
        check("that timer", &["eggs"], "eggs");
        check("", &three, "Which timer: eggs, pasta or laundry room?");
        check("the eggs timer", &three, "eggs");
        check("Pasta.", &three, "pasta");
        check("the timer for the eggs", &three, "eggs");
        check("paster", &three, "pasta");
        check("laundry", &three, "laundry room");
        check("the second one", &three, "pasta");
        check("the last item", &three, "laundry room");
        check(
            "bread",
            &three,
            "There is no timer called \"bread\". There is eggs, pasta and laundry room.",
        );
        check("scrap the pasta", &three, "pasta");
        check("scrap the pasta one", &three, "pasta");
        check(
            "all but the pasta",
            &three,
            "There is no timer called \"all but the pasta\". There is eggs, pasta and laundry room.",
        );
        check(
            "all other than the eggs",
            &three,
            "There is no timer called \"all other than the eggs\". There is eggs, pasta and laundry room.",
        );
        check(
            "scrap the pasta machine",
            &three,
            "There is no timer called \"scrap the pasta machine\". There is eggs, pasta and laundry room.",
        );
        check("anything", &[], "There are no timers.");
        check("eggs", &["eggs", "Eggs"], "Which timer: eggs or Eggs?");
        check(
            "sixth",
            &three,
            "There is no timer called \"sixth\". There is eggs, pasta and laundry room.",
        );
    }

    #[test]
    fn all_is_all_of_this_kind_only() {
        for said in [
            "all",
            "all of them",
            "all my timers",
            "everything",
            "both",
            "every timer",
        ] {
            assert!(is_all(said, KIND), "{said}");
        }
        for said in [
            "my timers",
            "the timers",
            "Timers.",
            "every single timer",
            "every last one of them",
        ] {
            assert!(is_all(said, KIND), "{said}");
        }
        for said in [
            "",
            "all the eggs",
            "every monday",
            "the timer",
            "allison",
            "the last timers",
            "that one of my timers",
            "the egg timers",
        ] {
            assert!(!is_all(said, KIND), "{said}");
        }
    }
}
