//! The same once more: "set a timer for eight minutes for the pasta and another for eleven for the potatoes".
//!
//! What the second request leaves out stands before the time of the first, and is said again for it. Which tools make or tell
//! something for one time is in their declarations, and where times stand is known from `tools::when`. A sentence with two
//! times is one request more often than not, so both halves have to be surely for the same tool.

mod halves;
#[cfg(test)]
mod tests;

use std::{cell::OnceCell, ops::Range};

use tools::{
    Entry, TimeRole,
    when::{Hint, Kind, Mention, is_time, joined, said_times, same, whole_number},
};

use super::{JOINTS, LONGEST, TOGETHER, as_said, ends_sentence, is, plain, words};
use crate::agent::{Call, schema::requires, times::holds, toolbox::Toolbox};
use halves::{Halves, Pair};

/// What stands for the thing that was named in the first request.
const AGAIN: &[&str] = &["another", "more", "one", "other"];
/// What stands before a thing.
const ARTICLES: &[&str] = &["a", "an", "the"];
/// What leads to a time.
const PREPOSITIONS: &[&str] = &["at", "by", "for", "in", "of", "on"];
/// Behind one of these a time is not wanted.
const NOT: &[&str] = &["don", "except", "instead", "never", "no", "not", "without"];
/// More words do not lead to the second time.
const MOST_BETWEEN: usize = 4;
/// "One hundred twenty".
const MOST_OF_NUMBER: usize = 3;

/// The first request of a sentence that holds several of one kind, and the others as a sentence of their own.
pub(super) fn again(text: &str, toolbox: &Toolbox, sure: f32) -> Option<(String, String)> {
    let sentence = Sentence::of(text)?;
    let best = |part: &str| {
        let best = toolbox.rank(part).into_iter().next()?;
        toolbox.find(&best.name).filter(|_| best.score >= sure)
    };
    let requests = |pair: Pair| {
        let tool = best(&pair.first)?;
        let (kind, worded) = kind_of(tool)?;
        // Where words are taken down, the second time may be one of them. "At eight play the news" is something else to do.
        if kind != pair.kind || worded && pair.may_be_words || toolbox.opens(&pair.behind) {
            return None;
        }
        let second = match pair.same_thing {
            Some(whole) if worded => whole,
            _ => pair.second,
        };
        (best(&second)?.name == tool.name).then_some((pair.first, second))
    };
    sentence.joints().iter().find_map(|joint| {
        let sides = sentence.sides(joint);
        let kinds = [Kind::Length, Kind::Time].into_iter();
        kinds
            .filter_map(|kind| sentence.pair(joint, &sides, kind))
            .find_map(requests)
    })
}

/// Whether a request that was carried out names a time for a second thing, which nobody made. Where a tool takes down words every
/// time may be one of them; with the others it is clear only behind an "and", and where nothing else is said there.
pub(super) fn is_left_over(text: &str, call: &Call, toolbox: &Toolbox, sure: f32) -> bool {
    let entry = toolbox.find(&call.name);
    let Some((kind, worded)) = entry.and_then(kind_of) else {
        return false;
    };
    if again(text, toolbox, sure).is_some() {
        return true;
    }
    let Some(sentence) = Sentence::of(text).filter(|sentence| !worded && !sentence.joints().is_empty())
    else {
        return false;
    };
    let hint = match kind {
        Kind::Length => Hint::Length,
        _ => Hint::Schedule,
    };
    let given = call
        .arguments
        .as_object()
        .into_iter()
        .flat_map(|all| all.values());
    let given: Vec<&str> = given.filter_map(|value| value.as_str()).collect();
    let is_taken = |one: &Mention| {
        let said = &text[one.place.clone()];
        let is_it = |given: &&str| holds(given, said) || holds(said, given) || same(given, said, hint);
        given.iter().any(is_it)
    };
    let (taken, left): (Vec<Mention>, Vec<Mention>) =
        of_kind(kind, sentence.found()).cloned().partition(is_taken);
    let are_apart = |one: &Mention, other: &Mention| {
        let (first, second) = match one.place.start < other.place.start {
            true => (one, other),
            false => (other, one),
        };
        let mut between = sentence.words_from(first.place.end);
        let joint = between.find(|at| sentence.is(JOINTS, *at) && sentence.words[*at].0 < second.place.start);
        joint.is_some_and(|joint| {
            (joint..sentence.words.len()).all(|at| !sentence.is(TOGETHER, at) && !sentence.is(NOT, at))
        })
    };
    left.iter()
        .any(|one| taken.iter().any(|other| are_apart(one, other)))
}

/// What the one time of a tool is that makes or tells something for each, and whether it takes down words. A tool that need
/// not be told a time, nor takes words down, changes what is there, and would change the same thing twice.
fn kind_of(entry: &Entry) -> Option<(Kind, bool)> {
    let [(name, role)] = entry.times else { return None };
    let kind = match role {
        TimeRole::Length => Kind::Length,
        TimeRole::At => Kind::Time,
        _ => return None,
    };
    let worded = !entry.worded.is_empty();
    (worded || requires(&entry.parameters(), name)).then_some((kind, worded))
}

/// What comes back is a time, too.
fn of_kind(kind: Kind, all: &[Mention]) -> impl Iterator<Item = &Mention> {
    all.iter()
        .filter(move |one| (one.kind == Kind::Length) == (kind == Kind::Length))
}

fn is_day(text: &str) -> bool {
    joined(text, "at ten").is_some()
}

/// A place at which a second request may begin.
struct Joint {
    /// The first word that is no longer of the first request.
    at: usize,
    /// The first word of the second one.
    next: usize,
}

impl Joint {
    /// Whether a word joins both, and not a comma alone.
    fn is_said(&self) -> bool {
        self.next > self.at
    }
}

/// A sentence without a joint.
struct Sides<'a> {
    left: &'a str,
    /// Where the right side begins, in bytes.
    from: usize,
    before: Vec<Mention>,
    after: Vec<Mention>,
}

/// A time with its words.
#[derive(Clone)]
struct Stated {
    first: usize,
    /// The word behind it.
    end: usize,
    text: String,
    /// Where its last letter ends, in bytes.
    to: usize,
    /// Whether it is nothing but a number.
    bare: bool,
}

/// A sentence in words.
struct Sentence<'a> {
    text: &'a str,
    words: Vec<(usize, usize)>,
    found: OnceCell<Vec<Mention>>,
}

impl<'a> Sentence<'a> {
    fn of(text: &'a str) -> Option<Sentence<'a>> {
        let words = words(text);
        (words.len() <= LONGEST).then(|| Sentence {
            text,
            words,
            found: OnceCell::new(),
        })
    }

    fn said(&self, at: usize) -> &'a str {
        as_said(self.words[at], self.text)
    }

    /// A word for comparing; nothing behind the last one.
    fn word(&self, at: usize) -> String {
        let word = self.words.get(at);
        word.map_or_else(String::new, |word| plain(*word, self.text))
    }

    fn is(&self, list: &[&str], at: usize) -> bool {
        self.words.get(at).is_some_and(|word| is(list, *word, self.text))
    }

    /// The words that begin at a byte or behind it.
    fn words_from(&self, byte: usize) -> Range<usize> {
        self.words.partition_point(|word| word.0 < byte)..self.words.len()
    }

    /// The first place of a word before another place.
    fn place_of(&self, word: &str, before: usize) -> Option<usize> {
        (0..before).find(|at| self.word(*at) == word)
    }

    /// Whether a comma or the end of a sentence stands before a word.
    fn is_new_clause(&self, at: usize) -> bool {
        let before = self.said(at - 1);
        before.ends_with([',', ';']) || ends_sentence(before)
    }

    /// The joint before this word, if one is there.
    fn joint(&self, at: usize) -> Option<Joint> {
        let next = (at..self.words.len()).find(|at| !self.is(JOINTS, *at))?;
        let is_whole = !self.is(JOINTS, at - 1);
        (is_whole && (next > at || self.is_new_clause(at))).then_some(Joint { at, next })
    }

    /// The joints with a number or a time close behind them. Where all times stand takes milliseconds to find out, and most
    /// sentences have nothing to be cut.
    fn joints(&self) -> Vec<Joint> {
        let says_time = |from: usize, to: usize| {
            let end = self.words[to.min(self.words.len()) - 1].1;
            is_time(&self.text[self.words[from].0..end])
        };
        let is_of_time =
            |at: usize| self.number(at).is_some() || says_time(at, at + 1) || says_time(at, at + 2);
        let may_go_on = |joint: &Joint| {
            let end = self.words.len().min(joint.next + MOST_BETWEEN + 1);
            (joint.next..end).any(is_of_time)
        };
        let all = (1..self.words.len()).filter_map(|at| self.joint(at));
        all.filter(may_go_on).collect()
    }

    /// What the sentence says of time.
    fn found(&self) -> &[Mention] {
        self.found.get_or_init(|| said_times(self.text))
    }

    fn sides(&self, joint: &Joint) -> Sides<'a> {
        let left = self.text[..self.words[joint.at - 1].1].trim_end_matches([',', ';']);
        let from = self.words[joint.next].0;
        Sides {
            left,
            from,
            before: said_times(left),
            after: said_times(&self.text[from..]),
        }
    }

    /// What a part of the sentence that begins at this byte says of time.
    fn stated<'m>(&self, from: usize, all: impl Iterator<Item = &'m Mention>) -> Vec<Stated> {
        let stated = |one: &Mention| {
            let (start, to) = (one.place.start + from, one.place.end + from);
            Stated {
                first: self.words.partition_point(|word| word.1 <= start),
                end: self.words.partition_point(|word| word.0 < to),
                text: self.text[start..to].to_owned(),
                to,
                bare: false,
            }
        };
        all.map(stated).collect()
    }

    /// All these words as one number.
    fn as_number(&self, first: usize, end: usize) -> Option<Stated> {
        let inner = |at: usize| self.said(at).ends_with(char::is_alphanumeric);
        let said = &self.text[self.words[first].0..self.words[end - 1].1];
        let text = said.trim_matches(|c: char| !c.is_alphanumeric());
        // "Five, ten" are two.
        let is_one = (first..end - 1).all(inner) && whole_number(text).is_some_and(|number| number > 0);
        is_one.then(|| Stated {
            first,
            end,
            text: text.to_owned(),
            to: self.words[first].0 + said.rfind(text).unwrap_or_default() + text.len(),
            bare: true,
        })
    }

    /// The longest number that begins with a word.
    fn number(&self, first: usize) -> Option<Stated> {
        let most = self.words.len().min(first + MOST_OF_NUMBER);
        (first + 1..=most)
            .rev()
            .find_map(|end| self.as_number(first, end))
    }

    /// Both halves of the sentence at a joint, where each has a time of this kind.
    fn pair(&self, joint: &Joint, sides: &Sides<'_>, kind: Kind) -> Option<Pair> {
        let (left, from) = (sides.left, sides.from);
        let (day, one) = self.first_time(joint, kind, &sides.before)?;
        // What is said of time before that is of another thing.
        let is_of_it = |other: &Stated| {
            other.first >= one.first || day.as_ref().is_some_and(|day| day.first == other.first)
        };
        if !self.stated(0, sides.before.iter()).iter().all(is_of_it) {
            return None;
        }
        let times = Times {
            sentence: self,
            shared: one.first,
            all: self.stated(from, sides.after.iter()),
            of_kind: self.stated(from, of_kind(kind, &sides.after)),
        };
        let other = times.from(joint.next, MOST_BETWEEN)?;
        let spans = |found: &Mention| found.place.start < left.len() && found.place.end > from;
        let are_two = || joint.is_said() && self.has_one_unit(&one, &other);
        // "Five hundred and thirty" is one number.
        let begins = joint.at.saturating_sub(MOST_OF_NUMBER)..joint.at;
        let is_number = || {
            other.bare
                && begins
                    .clone()
                    .any(|first| self.as_number(first, other.end).is_some())
        };
        if self.found().iter().any(spans) && !are_two() || is_number() {
            return None;
        }
        Halves::of(self, left, joint, kind, (day, one), (other, &times)).pair()
    }

    /// The time of the first request, and the day before it where both were said apart.
    fn first_time(&self, joint: &Joint, kind: Kind, all: &[Mention]) -> Option<(Option<Stated>, Stated)> {
        let from = joint.at.saturating_sub(MOST_OF_NUMBER);
        let bare = (from..joint.at).find_map(|first| self.as_number(first, joint.at));
        let found = self.stated(0, all.iter());
        let bare = bare.filter(|bare| found.iter().all(|one| one.end <= bare.first));
        match &self.stated(0, of_kind(kind, all))[..] {
            [] => Some((None, bare?)),
            [day] if bare.is_some() && is_day(&day.text) => Some((Some(day.clone()), bare?)),
            [one] => Some((None, one.clone())),
            [day, one] if is_day(&day.text) && joined(&day.text, &one.text).is_some() => {
                Some((Some(day.clone()), one.clone()))
            }
            _ => None,
        }
    }

    /// Whether two lengths have the same unit. Nobody adds minutes to minutes.
    fn has_one_unit(&self, one: &Stated, other: &Stated) -> bool {
        let unit = |stated: &Stated| {
            let counted = stated.end > stated.first + 1;
            let unit = counted.then(|| self.word(stated.end - 1))?;
            self.as_number(stated.first, stated.end - 1)?;
            Some(unit.trim_end_matches('s').to_owned())
        };
        unit(one).is_some_and(|unit_of_one| unit(other) == Some(unit_of_one))
    }
}

/// The times behind a joint.
struct Times<'a> {
    sentence: &'a Sentence<'a>,
    /// How many words stand before the time of the first request.
    shared: usize,
    all: Vec<Stated>,
    of_kind: Vec<Stated>,
}

impl Times<'_> {
    /// The time that begins at a word, or behind what stands there for the thing of the first request.
    fn from(&self, at: usize, most: usize) -> Option<Stated> {
        let sentence = self.sentence;
        if at >= sentence.words.len() || most == 0 {
            return None;
        }
        let begins = |one: &&Stated| one.first == at;
        if self.all.iter().any(|one| begins(&one)) {
            return self.of_kind.iter().find(begins).cloned();
        }
        let (word, number) = (sentence.word(at), sentence.number(at));
        let leads = [AGAIN, ARTICLES, PREPOSITIONS]
            .iter()
            .any(|list| sentence.is(list, at))
            || sentence.place_of(&word, self.shared).is_some();
        // "One for twenty" has something for the thing, and "one for the roast" a number.
        let behind = match leads && (number.is_none() || word == "one") {
            true => self.from(at + 1, most - 1),
            false => None,
        };
        behind
            .filter(|one| number.is_none() || one.first > at + 1)
            .or(number)
    }

    /// The last time of a list that begins with this one, and whether it is a list: "five, ten and fifteen".
    fn last_of_list(&self, one: &Stated) -> (Stated, bool) {
        let (mut last, mut is_list) = (one.clone(), false);
        while last.end < self.sentence.words.len()
            && let Some(joint) = self.sentence.joint(last.end)
            && let Some(next) = self.from(joint.next, MOST_BETWEEN)
        {
            (last, is_list) = (next, joint.is_said());
        }
        (last, is_list)
    }
}
