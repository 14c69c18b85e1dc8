//! How the halves of a sentence are worded once each stands for itself.

use std::ops::Range;

use tools::{
    reflex::POLITE,
    when::{Kind, joined, names_hours, said_times, whole_number},
};

use super::{
    AGAIN, ARTICLES, JOINTS, Joint, PREPOSITIONS, Sentence, Stated, TOGETHER, Times, is_day, of_kind, words,
};

/// What something is for begins with these, where it does not begin with a preposition of time.
const PURPOSE: &[&str] = &["about", "please", "to", "with"];
/// A time before one of these is counted from another one.
const COUNTED: &[&str] = &[
    "after", "ago", "before", "earlier", "from", "later", "past", "until",
];
/// What is counted from another time has one of these in it: "an hour later".
const COMPARED: &[&str] = &["after", "before", "earlier", "later"];
/// Behind one of these a time says which thing is meant: "a table for friday".
const OF_A_THING: &[&str] = &["about", "for", "from", "of"];

/// Two requests.
pub(super) struct Pair {
    /// What their times are.
    pub(super) kind: Kind,
    pub(super) first: String,
    pub(super) second: String,
    /// The second with what the first is about, where it says nothing about that: "at three to call mum and at four".
    pub(super) same_thing: Option<String>,
    /// Whether the second time may be one of the words that the first request has taken down.
    pub(super) may_be_words: bool,
    /// The word behind the last time; nothing at the end.
    pub(super) behind: String,
}

/// A sentence with a time on both sides of a joint.
pub(super) struct Halves<'a> {
    sentence: &'a Sentence<'a>,
    joint: &'a Joint,
    kind: Kind,
    /// The text of the first request.
    left: &'a str,
    /// The day of the first request, where it stands apart from its time.
    day: Option<Stated>,
    one: Stated,
    other: Stated,
    times: &'a Times<'a>,
    /// The words of the first request behind its time.
    own: Range<usize>,
    /// The last time of a list that begins with the second; else that one.
    last: Stated,
    is_list: bool,
    /// Where the words behind the last time begin.
    tail: usize,
    /// Whether something stands for the thing of the first request.
    stands_for: bool,
}

impl<'a> Halves<'a> {
    pub(super) fn of(
        sentence: &'a Sentence<'a>,
        left: &'a str,
        joint: &'a Joint,
        kind: Kind,
        (day, one): (Option<Stated>, Stated),
        (other, times): (Stated, &'a Times<'a>),
    ) -> Halves<'a> {
        let (last, is_list) = times.last_of_list(&other);
        Halves {
            own: one.end..joint.at,
            stands_for: (joint.next..other.first).any(|at| sentence.is(AGAIN, at)),
            sentence,
            joint,
            kind,
            left,
            day,
            one,
            other,
            times,
            tail: last.end,
            last,
            is_list,
        }
    }

    /// Both requests, if the sentence can be both.
    pub(super) fn pair(self) -> Option<Pair> {
        if !self.can_be_two() {
            return None;
        }
        let (one, other) = match self.kind {
            Kind::Length => self.numbers(),
            _ => self.days(self.numbers())?,
        };
        let second = self.second(&other)?;
        let says_nothing = self.tail == self.sentence.words.len() && !self.own.is_empty();
        let same_thing =
            (says_nothing && !self.stands_for).then(|| format!("{second} {}", self.said(self.own.clone())));
        Some(Pair {
            kind: self.kind,
            first: self.first(one),
            second,
            same_thing,
            may_be_words: self.may_be_words(),
            behind: self.sentence.word(self.tail),
        })
    }

    fn said(&self, all: impl Iterator<Item = usize>) -> String {
        let all: Vec<&str> = all.map(|at| self.sentence.said(at)).collect();
        all.join(" ")
    }

    /// Whether what something is for, or where it belongs, begins with this word.
    fn is_purpose(&self, at: usize) -> bool {
        self.sentence.is(PREPOSITIONS, at) || self.sentence.is(PURPOSE, at)
    }

    /// Whether nothing that belongs to what stands before this word goes on with it.
    fn is_end(&self, at: usize) -> bool {
        at >= self.sentence.words.len() || self.sentence.is(JOINTS, at) || self.sentence.is_new_clause(at)
    }

    fn can_be_two(&self) -> bool {
        let sentence = self.sentence;
        let end = self.other.end;
        // "To call mum" and "to call dad".
        let alike = !self.own.is_empty() && sentence.word(self.own.start) == sentence.word(end);
        // Behind a comma alone a time may put the first one right, or say it again.
        let is_joined = self.joint.is_said() || self.stands_for || self.is_list || alike;
        // "Three eggs" are no time.
        let is_counted = self.other.bare && !self.is_end(end) && !self.is_purpose(end);
        let is_from_another = [end, self.tail].iter().any(|at| sentence.is(COUNTED, *at))
            || (self.other.first..end).any(|at| sentence.is(COMPARED, at));
        let mut behind = self.joint.next..sentence.words.len();
        let is_clause = !alike && behind.any(|at| sentence.is(TOGETHER, at));
        // Numbers alone are times where they are led to.
        let is_led = self.one.first > 0 && sentence.is(PREPOSITIONS, self.one.first - 1);
        let are_numbers = self.one.bare && self.other.bare && !self.is_list && !is_led;
        let are_hours = [&self.one, &self.other].iter().all(|one| self.may_be_hour(one));
        is_joined && are_hours && !(is_counted || is_from_another || is_clause || are_numbers)
    }

    /// A number that stands for a time of day is one: "seven", "830". What is counted can be any number: "in thirty minutes".
    fn may_be_hour(&self, stated: &Stated) -> bool {
        let is_hour = |number: u32| match number {
            0..=24 => true,
            _ => (100..=2400).contains(&number) && number % 100 < 60,
        };
        let counts =
            self.kind == Kind::Length || !self.one.bare && joined("tomorrow", &self.one.text).is_none();
        !stated.bare || counts || whole_number(&stated.text).is_some_and(is_hour)
    }

    /// The texts of both times. A number alone has the unit, or the half of the day, of the other one.
    fn numbers(&self) -> (String, String) {
        let (one, other) = (&self.one, &self.other);
        let with = |time: &str, number: &Stated| self.with_number(time, &number.text);
        let own = |stated: &Stated| stated.text.clone();
        let hour = |stated: &Stated| match self.kind {
            Kind::Length => own(stated),
            _ => format!("at {}", stated.text),
        };
        match (one.bare, other.bare) {
            (false, false) => (self.same_half().unwrap_or_else(|| own(one)), self.led_alike()),
            (false, true) => (own(one), with(&one.text, other).unwrap_or_else(|| hour(other))),
            (true, false) if self.kind == Kind::Length => {
                (with(&other.text, one).unwrap_or_else(|| own(one)), own(other))
            }
            (true, false) => (self.same_half().unwrap_or_else(|| own(one)), own(other)),
            // "Five, ten and fifteen minutes".
            (true, true) => {
                let mut later = self.times.of_kind.iter().filter(|time| time.first > other.first);
                let whole = later.next().and_then(|time| with(&time.text, one));
                (whole.unwrap_or_else(|| own(one)), own(other))
            }
        }
    }

    /// The first hour in the half of the day in which the second is, where it comes before it: "at one and two in the morning",
    /// and not "at ten and two in the afternoon".
    fn same_half(&self) -> Option<String> {
        let (one, other) = (&self.one.text, &self.other.text);
        let lead = Some(first_word(one)).filter(|word| PREPOSITIONS.contains(&word.as_str()));
        let hour = one[lead.as_ref().map_or(0, String::len)..].trim_start();
        let second = other.split_whitespace().find_map(whole_number)?;
        let comes_before = whole_number(hour)? < second && self.own.is_empty() && self.kind == Kind::Time;
        let whole = comes_before.then(|| self.with_number(other, hour))??;
        match lead {
            Some(lead) if first_word(&whole) != lead => Some(format!("{lead} {whole}")),
            _ => Some(whole),
        }
    }

    /// "At seven and 8:30" has its preposition once.
    fn led_alike(&self) -> String {
        let (lead, text) = (first_word(&self.one.text), &self.other.text);
        let is_number =
            text.starts_with(|c: char| c.is_ascii_digit()) || whole_number(&first_word(text)).is_some();
        let is_led =
            self.other.first > self.joint.next && self.sentence.is(PREPOSITIONS, self.other.first - 1);
        match is_number && !is_led && PREPOSITIONS.contains(&lead.as_str()) {
            true => format!("{lead} {text}"),
            false => text.clone(),
        }
    }

    /// A time with another number, if it is one number and what is counted with it: "in ten minutes", "an hour", "six am".
    fn with_number(&self, time: &str, number: &str) -> Option<String> {
        let words: Vec<&str> = time.split_whitespace().collect();
        let is = |list: &[&str], word: &str| list.contains(&word.to_lowercase().as_str());
        let from = usize::from(words.len() > 1 && is(PREPOSITIONS, words[0]));
        let count = |all: &[&str]| {
            whole_number(&all.join(" ")).is_some() || all.len() == 1 && is(&["a", "an"], all[0])
        };
        let end = (from + 1..=words.len())
            .rev()
            .find(|end| count(&words[from..*end]))?;
        let rest = &words[end..];
        let has_number = (0..rest.len()).any(|at| count(&rest[at..=at]) || is(&["half"], rest[at]));
        let counted = match self.kind {
            Kind::Length => rest.len() == 1,
            _ => !has_number,
        };
        let all: Vec<&str> = words[..from]
            .iter()
            .chain([&number])
            .chain(rest)
            .copied()
            .collect();
        let text = all.join(" ");
        let found = said_times(&text);
        // The preposition is no part of a time of day: "at six am".
        let is_whole = of_kind(self.kind, &found).any(|one| one.place.end + 1 >= text.len());
        (counted && is_whole && found.len() == 1).then_some(text)
    }

    /// The same with the day of the other where one of them has none. `None` when both are parts of one time, or when it is not
    /// clear which day is meant.
    fn days(&self, (one, other): (String, String)) -> Option<(String, String)> {
        if let Some(day) = &self.day {
            return joined(&day.text, &other).map(|_| (one, other));
        }
        if joined(&one, &other).is_some() {
            return None;
        }
        let is_hour = |text: &str| joined("tomorrow", text).is_some();
        if is_hour(&other) && !is_hour(&one) {
            let other = match parts(&one).find_map(|day| joined(day, &other)) {
                Some(whole) => whole,
                None if names_hours(&one) => other,
                None => return None,
            };
            return Some((one, other));
        }
        if !self.own.is_empty() {
            return Some((one, other));
        }
        // What is said at the end is said of both: "at seven and at eight tomorrow".
        let last = match self.is_list {
            true => &self.last.text,
            false => &other,
        };
        let first = behind_the_first(last).find_map(|part| joined(&one, part));
        let mut hours = parts(&one).filter(|_| is_day(&other));
        let second = hours.find_map(|hour| joined(hour, &other));
        Some((first.unwrap_or_else(|| one.clone()), second.unwrap_or(other)))
    }

    /// The first request with its time in these words, and with what is said of both at the end.
    fn first(&self, one: String) -> String {
        let text = self.sentence.text;
        let mut first = match one == self.one.text {
            true => self.left.to_owned(),
            false => {
                let shared = self.without_lead(self.one.first, &one);
                let before = &text[..self.sentence.words[shared].0];
                format!("{before}{one}{}", &self.left[self.one.to..])
            }
        };
        let tail = self.tail..self.sentence.words.len();
        let is_of_second =
            self.stands_for || self.is_end(tail.start) || self.goes_back_to(tail.start).is_some();
        if self.own.is_empty() && !is_of_second {
            first = format!("{first} {}", &text[self.sentence.words[tail.start].0..]);
        }
        first
    }

    /// The word before the first time with which the second request begins to go its own way: "remind me [to call mum] at three
    /// and at four to call dad".
    fn goes_back_to(&self, at: usize) -> Option<usize> {
        let goes_on = !self.is_end(at);
        goes_on
            .then(|| self.sentence.place_of(&self.sentence.word(at), self.one.first))
            .flatten()
    }

    /// The second request with its time in these words. Of the first it has what stands before the time, up to where it goes its
    /// own way.
    fn second(&self, other: &str) -> Option<String> {
        let sentence = self.sentence;
        let (mut shared, about) = (self.one.first, self.other.end);
        if self.own.is_empty() && !self.is_list {
            shared = self.goes_back_to(about).unwrap_or(shared);
        }
        // "A five minute timer" has its thing behind the time.
        let thing: Vec<usize> = self.own.clone().take_while(|at| !self.is_purpose(*at)).collect();
        let is_before_thing = !thing.is_empty() && (shared == 0 || sentence.is(ARTICLES, shared - 1));
        let mut lead = (self.joint.next..self.other.first)
            .next_back()
            .filter(|at| !is_before_thing && !sentence.is(AGAIN, *at));
        let word = lead.map(|at| sentence.word(at));
        if let Some(word) = &word {
            shared = sentence.place_of(word, shared).unwrap_or(shared);
            lead = lead.filter(|_| first_word(other) != *word);
        }
        shared = self.without_lead(shared, word.as_deref().unwrap_or(other));
        if shared == 0 && !is_before_thing {
            return None;
        }
        let mut second = self.said((0..shared).chain(lead));
        for part in [" ", other] {
            second.push_str(part);
        }
        let mut behind = self.other.to;
        if is_before_thing {
            // "A ten minute one for the rice".
            let stands_for = sentence.is(&["one", "ones"], about);
            if stands_for {
                behind = sentence.words[about].1;
            }
            if stands_for || self.is_end(about) || self.is_purpose(about) {
                second = format!("{second} {}", self.said(thing.into_iter()));
            }
        }
        second.push_str(&sentence.text[behind..]);
        Some(second.trim_start().to_owned())
    }

    /// How many words of the first are left where what follows them has its own preposition: "at" before "on friday", and before
    /// "friday at nine".
    fn without_lead(&self, shared: usize, next: &str) -> usize {
        let begins_with_day = parts(next).any(|part| next.starts_with(part) && is_day(part));
        let is_led = |list: &[&str]| shared > 0 && self.sentence.is(list, shared - 1);
        let has_own = PREPOSITIONS.contains(&first_word(next).as_str());
        shared - usize::from(has_own && is_led(PREPOSITIONS) || begins_with_day && is_led(&["at"]))
    }

    fn may_be_words(&self) -> bool {
        let sentence = self.sentence;
        let first = (0..self.one.first).find(|at| !sentence.is(POLITE, *at));
        // "Remind me that it closes at four and at five".
        let mut taken = first.unwrap_or_default() + 2..self.one.first;
        let is_clause = taken.any(|at| sentence.is(TOGETHER, at));
        let is_of_a_thing = self.one.first > 0
            && sentence.is(OF_A_THING, self.one.first - 1)
            && sentence.place_of("to", self.one.first).is_some();
        // "Bread for mum and two for dad", unless it is said as the first: "in ten minutes to bake and in twenty to eat".
        let led = sentence.word(self.other.first - 1);
        let is_number = self.other.bare && !self.own.is_empty() && led != first_word(&self.one.text);
        self.one.bare || is_clause || is_of_a_thing || is_number
    }
}

fn first_word(text: &str) -> String {
    text.split_whitespace().next().unwrap_or_default().to_lowercase()
}

/// What a text begins or ends with.
fn parts(text: &str) -> impl Iterator<Item = &str> {
    let cuts = text.match_indices(' ');
    cuts.flat_map(|(at, _)| [&text[..at], &text[at + 1..]])
}

/// What stands in a text behind its first word, the longest first: "tomorrow" in "seven tomorrow morning".
fn behind_the_first(text: &str) -> impl Iterator<Item = &str> {
    let words = words(text);
    let lengths = (1..words.len()).rev();
    lengths.flat_map(move |length| {
        let starts = 1..=words.len() - length;
        let parts = starts.map(|start| &text[words[start].0..words[start + length - 1].1]);
        parts.collect::<Vec<_>>()
    })
}
