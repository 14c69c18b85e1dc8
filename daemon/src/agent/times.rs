//! Times as they were said: what a model cut short, repeated, worded anew or forgot is put right from the sentence itself.
//!
//! Where times stand in a sentence is known without a model (`tools::when`). A small model knows which argument they belong
//! to and little more: it takes the hour without its day, fills the end with the start once more, writes a time of day that
//! nobody said, or leaves the one out that was named. Each stretch of the sentence is used once.

use std::ops::Range;

use serde_json::{Map, Value};
use tools::{
    Effect, Entry, TimeRole,
    discover::words::is_stop_word,
    when::{Hint, Kind, Mention, is_time, joined, names_hours, recurs, said_times, same},
};

use super::schema::requires;

/// Puts the times among the arguments of a call right, from what was `said`; how often may have been said or told `before`. Whatever
/// was filled with words that are no time and were not meant for one is left out; which of it is required is what is returned.
pub fn settle(arguments: &mut Value, entry: &Entry, said: &str, before: &[&str]) -> Option<&'static str> {
    let given = arguments.as_object_mut()?;
    let (times, schema) = (entry.times, entry.parameters());
    let found = match times.is_empty() {
        true => return None,
        false => said_times(said),
    };
    let mut sentence = Sentence {
        said,
        before,
        used: vec![None; found.len()],
        found,
    };
    let required = |name: &str| requires(&schema, name);
    if sentence.found.is_empty() {
        let unmeant: Vec<&'static str> = times
            .iter()
            .map(|(name, _)| *name)
            .filter(|name| {
                let is_meant = |text: &str| match (required(name), role(times, name)) {
                    // Who asks when something is says what, and need not name a time.
                    (true, _) if entry.effect == Effect::Read => true,
                    (true, _) | (_, TimeRole::End) => sentence.means(text, given, times, entry.name),
                    _ => sentence.says(text, entry.name),
                };
                let text = given.get(*name).and_then(Value::as_str);
                text.is_some_and(|text| !is_time(text) && !is_meant(text))
            })
            .collect();
        for name in &unmeant {
            given.shift_remove(*name);
        }
        return unmeant.into_iter().find(|name| required(name));
    }
    sentence.turn_round(given, times);
    for (name, _) in times {
        let Some(text) = given.get(*name).and_then(Value::as_str) else {
            continue;
        };
        match sentence.take(name, times, text, required(name), given) {
            Taken::AsItIs => {}
            Taken::Said(words) => {
                given.insert((*name).to_owned(), words.into());
            }
            Taken::Gone if !required(name) => {
                given.shift_remove(*name);
            }
            Taken::Gone => {}
        }
    }
    sentence.find_lost(given, times);
    if times.iter().any(|(_, timing)| *timing == TimeRole::At) {
        let kept = |name: &str| required(name) || times.iter().any(|(time, _)| *time == name);
        sentence.clear(given, &kept);
    }
    None
}

/// Puts what says more about a time to where it belongs when no time was named: small models take Tokyo for the place that a
/// time is from, and nobody named one.
pub fn without_time(arguments: &mut Value, entry: &Entry) {
    let Some(given) = arguments.as_object_mut() else {
        return;
    };
    let is_now = |value: &Value| {
        let text = value.as_str().unwrap_or_default().to_lowercase();
        ["", "at the moment", "just now", "now", "right now"].contains(&text.trim())
    };
    let named = entry
        .times
        .iter()
        .any(|(time, _)| given.get(*time).is_some_and(|value| !is_now(value)));
    for (of, instead) in entry.of_time {
        if !named
            && !given.contains_key(*instead)
            && let Some(value) = given.shift_remove(*of)
        {
            given.insert((*instead).to_owned(), value);
        }
    }
}

/// With which something is put somewhere else.
const MOVES: [&str; 8] = [
    "bring",
    "change",
    "move",
    "postpone",
    "push",
    "reschedule",
    "shift",
    "switch",
];

/// The arguments of a tool that are times.
type Times<'a> = &'a [(&'a str, TimeRole)];

fn role(times: Times<'_>, name: &str) -> TimeRole {
    let found = times.iter().find(|(time, _)| *time == name);
    found.map_or(TimeRole::Find, |(_, role)| *role)
}

/// A sentence, what it says of time, and the argument that has each.
struct Sentence<'a> {
    said: &'a str,
    before: &'a [&'a str],
    found: Vec<Mention>,
    used: Vec<Option<String>>,
}

/// What becomes of an argument.
enum Taken {
    AsItIs,
    /// These words of the person are meant.
    Said(String),
    /// Another argument has these words already, or nobody said them.
    Gone,
}

impl<'a> Sentence<'a> {
    /// Whether words that are no time that anybody knows were meant for one, so that the tool says so: they stand where times do
    /// ("on blursday"), and are neither what the tool deals with ("out of my calendar") nor what another argument says as well.
    fn means(&self, text: &str, given: &Map<String, Value>, times: Times<'_>, tool: &str) -> bool {
        const LEADS: [&str; 22] = [
            "about", "after", "at", "before", "by", "during", "each", "every", "for", "from", "if", "in",
            "last", "next", "on", "once", "since", "this", "till", "to", "until", "when",
        ];
        const BETWEEN: [&str; 4] = ["a", "an", "my", "the"];
        let Some(place) = place(self.said, text) else {
            return false;
        };
        let said: Vec<String> = words(&self.said[..place.start]).collect();
        let before = said.iter().rev().find(|word| !BETWEEN.contains(&word.as_str()));
        let is_led = [words(text).next().as_ref(), before]
            .into_iter()
            .flatten()
            .any(|word| LEADS.contains(&word.as_str()));
        let is_same = |value: &Value| value.as_str().is_some_and(|value| words(value).eq(words(text)));
        let is_elsewhere = given
            .iter()
            .filter(|(name, _)| times.iter().all(|(time, _)| time != name))
            .any(|(_, value)| is_same(value) || value.as_array().is_some_and(|all| all.iter().any(is_same)));
        is_led && !is_elsewhere && self.says(text, tool)
    }

    /// Whether words that are no time were said, and not only such that name nothing or what the tool deals with. The tool then
    /// says that it does not understand them, so that nothing of what was said is lost.
    fn says(&self, text: &str, tool: &str) -> bool {
        let names =
            |word: &String| !is_small(word) && !says_little(word) && !words(tool).any(|of| of == *word);
        words(text).any(|word| names(&word) && words(self.said).any(|said| said == word))
    }

    fn text(&self, at: usize) -> &'a str {
        &self.said[self.found[at].place.clone()]
    }

    /// What an argument takes of the sentence.
    fn take(
        &mut self,
        name: &str,
        times: Times<'_>,
        text: &str,
        required: bool,
        given: &Map<String, Value>,
    ) -> Taken {
        let timing = role(times, name);
        let standing = place(self.said, text);
        let touched = match &standing {
            Some(place) => self.every(|one| one.place.start < place.end && place.start < one.place.end),
            // Worded by the model: what has one of its words, or says the same.
            None => {
                let parts: Vec<String> = words(text).filter(|word| !is_small(word)).collect();
                let all = self.every(|one| {
                    let mention = &self.said[one.place.clone()];
                    words(mention).any(|word| parts.contains(&word)) || same(text, mention, hint(timing))
                });
                self.meant(all, timing, text)
            }
        };
        match touched[..] {
            // Words of the person that are no time, or a time that nobody said.
            [] if standing.is_none() || !is_time(text) => {
                let all = 0..self.found.len();
                let free: Vec<usize> = all
                    .filter(|at| self.used[*at].is_none() && self.fits(timing, *at))
                    .collect();
                match free[..] {
                    [one] if required && timing != TimeRole::Find => {
                        self.take_one(name, times, text, one, given)
                    }
                    [_, ..] if !required && standing.is_none() => Taken::Gone,
                    _ => Taken::AsItIs,
                }
            }
            [] => Taken::AsItIs,
            [one] => self.take_one(name, times, text, one, given),
            // More than times was taken: the whole sentence, or a length and an hour in one.
            _ if timing != TimeRole::Find && (!is_time(text) || self.has_other(name, &touched, times)) => {
                let free = |at: &usize| self.used[*at].is_none() && self.fits(timing, *at);
                let free: Vec<usize> = touched.into_iter().filter(free).collect();
                match free[..] {
                    [] => Taken::Gone,
                    // The rest of it is the other's, although both make a time together.
                    [one] if is_time(text) => {
                        self.used[one] = Some(name.to_owned());
                        Taken::Said(self.worded(one, timing))
                    }
                    [one] => self.take_one(name, times, text, one, given),
                    _ => self.take_all(name, &free),
                }
            }
            // From one time to another: both are gone, and the words stay as they are.
            _ => {
                for one in touched {
                    self.used[one].get_or_insert_with(|| name.to_owned());
                }
                Taken::AsItIs
            }
        }
    }

    /// Of two stretches that are no parts of one time, the one that can be meant: a model puts the day before which something has to
    /// be done, or from which it is moved, to the hour of the other one.
    fn meant(&self, all: Vec<usize>, timing: TimeRole, text: &str) -> Vec<usize> {
        let [one, other] = all[..] else { return all };
        if words(text).any(|word| spans(&word)) || together(self.text(one), self.text(other)).is_some() {
            return all;
        }
        let lead = match timing {
            TimeRole::At => "before",
            TimeRole::Moved => "from",
            _ => return all,
        };
        match (self.is_led_by(one, lead), self.is_led_by(other, lead)) {
            (true, false) => vec![other],
            (false, true) => vec![one],
            _ => all,
        }
    }

    /// Whether this word stands before a stretch, or begins it; an article may lie between.
    fn is_led_by(&self, at: usize, lead: &str) -> bool {
        let before: Vec<String> = words(&self.said[..self.found[at].place.start]).collect();
        let mut before = before.iter().rev().filter(|word| *word != "the");
        before.next().is_some_and(|word| word == lead)
            || words(self.text(at)).next().is_some_and(|word| word == lead)
    }

    /// Whether some of these stretches belong to another argument: "half an hour on monday" is a length and a day.
    fn has_other(&self, name: &str, touched: &[usize], times: Times<'_>) -> bool {
        let timing = role(times, name);
        let belongs = |at: usize| {
            let mut others = times.iter().filter(|(other, _)| *other != name);
            others.any(|(_, role)| self.takes(*role, at))
        };
        touched.iter().any(|at| !self.fits(timing, *at) && belongs(*at))
    }

    /// Several stretches for one argument, where they are parts of one time: a day and its hour.
    fn take_all(&mut self, name: &str, all: &[usize]) -> Taken {
        let mut texts = all.iter().map(|at| self.text(*at));
        let first = texts.next().map(str::to_owned);
        match first.and_then(|first| texts.try_fold(first, |both, text| together(&both, text))) {
            Some(whole) => {
                for at in all {
                    self.used[*at] = Some(name.to_owned());
                }
                Taken::Said(whole)
            }
            None => Taken::AsItIs,
        }
    }

    /// What is put somewhere else begins there: who moves it "to half past four" said nothing about its end.
    fn turn_round(&self, given: &mut Map<String, Value>, times: Times<'_>) {
        const ENDING: [&str; 13] = [
            "end", "ends", "ending", "extend", "finish", "finishes", "last", "lasts", "longer", "over",
            "shorten", "shorter", "stretch",
        ];
        let Some((start, _)) = times.iter().find(|(_, role)| *role == TimeRole::Moved) else {
            return;
        };
        // Of other times the model knows best which is which.
        if words(self.said).any(|word| ENDING.contains(&word.as_str())) {
            return;
        }
        let [one] = &self.found[..] else {
            return self.turn_round_both(given, times, start);
        };
        let before = self.said[..one.place.start].split_whitespace().next_back();
        let is_there = one.kind == Kind::Time && before.is_some_and(|word| word.eq_ignore_ascii_case("to"));
        // Where it began before is no answer, either, where nobody said it.
        let standing = |name: &str| place(self.said, given.get(name)?.as_str()?);
        if !is_there || standing(start).is_some() {
            return;
        }
        // "To tomorrow's lunch" says which one.
        let named = self.text(0).contains("'s")
            || self.said[one.place.end..].starts_with("'s")
            || words(&self.said[one.place.end..]).next().is_some();
        let is_it = |(name, role): &&(&str, TimeRole)| match role {
            TimeRole::End => given.contains_key(*name),
            TimeRole::Find if named => false,
            TimeRole::Find => match standing(name) {
                Some(place) => one.place.start <= place.end && place.start <= one.place.end,
                // Worded by the model: "15:00", "friday at three".
                None => given.get(*name).and_then(Value::as_str).is_some_and(|text| {
                    holds(text, self.text(0)) || same(text, self.text(0), Hint::Schedule)
                }),
            },
            _ => false,
        };
        let holder = times.iter().find(is_it).map(|(name, _)| *name);
        let is_said = holder.is_some_and(|name| standing(name).is_some());
        let Some(text) = holder.and_then(|name| given.shift_remove(name)) else {
            return;
        };
        // A day that the model put before the hour is one that nobody said, and would take the hour with it.
        let text = match is_said || !names_hours(self.text(0)) {
            true => text,
            false => self.text(0).into(),
        };
        given.insert((*start).to_owned(), text);
    }

    /// The same where both times were named: what is moved "from tuesday two thursday" was on Tuesday and goes to Thursday,
    /// however the "to" was heard.
    fn turn_round_both(&self, given: &mut Map<String, Value>, times: Times<'_>, start: &str) {
        let is_time = |one: &Mention| one.kind == Kind::Time;
        let both = self.found.len() == 2 && self.found.iter().all(is_time);
        if !both || !self.moves() || !self.is_led_by(0, "from") {
            return;
        }
        // Where it was is left to the model: a "to" that was heard as "two" stands at its end.
        let to = self.text(1);
        let is_it = |value: &Value| value.as_str().is_some_and(|text| holds(text, to));
        let ends = times.iter().filter(|(_, role)| *role == TimeRole::End);
        let end = ends
            .map(|(name, _)| *name)
            .find(|name| given.get(*name).is_some_and(is_it));
        if let Some(end) = end {
            given.shift_remove(end);
        }
        given.insert(start.to_owned(), to.into());
    }

    fn take_one(
        &mut self,
        name: &str,
        times: Times<'_>,
        text: &str,
        one: usize,
        given: &Map<String, Value>,
    ) -> Taken {
        if let Some(holder) = &self.used[one] {
            // "From two to four" may be divided between both; what both have, only the first one means.
            let held: Vec<String> = given
                .get(holder)
                .and_then(Value::as_str)
                .map(|text| words(text).collect())
                .unwrap_or_default();
            let repeats = words(text).any(|word| held.contains(&word) && !is_small(&word));
            return match repeats {
                true => Taken::Gone,
                false => Taken::AsItIs,
            };
        }
        let timing = role(times, name);
        if !self.fits(timing, one) {
            return match timing {
                // An hour that something takes is no reminder of it, and nobody asked for one.
                TimeRole::Ahead => Taken::Gone,
                _ => Taken::AsItIs,
            };
        }
        let divided = self.is_divided(name, one, times, given);
        self.used[one] = Some(name.to_owned());
        let wanted = self.worded(one, timing);
        let mention = self.text(one);
        let more = holds(text, mention)
            && (is_time(text) || timing == TimeRole::Moved)
            && !self.is_made_often(one, text);
        let is_same = |said: &str| same(text, said, hint(timing));
        match divided || more || is_same(mention) || is_same(&wanted) {
            // In the person's own words: "15:00" would be left out later, because nobody said it.
            true if timing == TimeRole::Moved && place(self.said, text).is_none() && is_same(&wanted) => {
                Taken::Said(wanted)
            }
            true => Taken::AsItIs,
            false => Taken::Said(wanted),
        }
    }

    /// Whether a time comes back of which nobody said so, as one in an example does: "every monday at nine".
    fn is_made_often(&self, one: usize, text: &str) -> bool {
        let comes_back = |text: &str| said_times(text).iter().any(|one| one.kind == Kind::Often);
        let known = |word: String| {
            let mut all = self.before.iter().chain([&self.said]);
            is_small(&word) || all.any(|known| words(known).any(|said| said == word))
        };
        // "A daily reminder at nine" says it apart from the hour.
        let is_said = || words(self.said).any(|word| recurs(&word));
        self.found[one].kind != Kind::Often && comes_back(text) && !words(text).all(known) && !is_said()
    }

    /// How an argument is filled with what was said.
    fn worded(&self, one: usize, timing: TimeRole) -> String {
        let text = self.text(one).to_owned();
        // Who is up "by seven" gets up at seven, as far as a clock is concerned.
        if let (TimeRole::At, Some(("by" | "By", rest))) = (timing, text.split_once(' '))
            && is_time(rest)
        {
            return rest.to_owned();
        }
        if timing != TimeRole::Moved {
            return text;
        }
        if self.found[one].kind != Kind::Length {
            return self.moved_to(one).unwrap_or(text);
        }
        let ahead = words(self.said)
            .any(|word| ["ahead", "earlier", "forward", "forwards", "sooner"].contains(&word.as_str()));
        match ahead {
            true => format!("{text} earlier"),
            false => format!("{text} later"),
        }
    }

    /// Where a thing goes that is moved from one time to another, where the sentence takes both for one stretch of time.
    fn moved_to(&self, one: usize) -> Option<String> {
        if !self.moves() || !self.is_led_by(one, "from") {
            return None;
        }
        let text = self.text(one);
        // "Quarter to nine to ten".
        text.match_indices(" to ").find_map(|(at, joint)| {
            let (from, to) = (&text[..at], &text[at + joint.len()..]);
            let single = |text: &str| is_time(text) && said_times(text).len() == 1;
            (single(from) && single(to)).then(|| to.to_owned())
        })
    }

    /// Whether something is put somewhere else.
    fn moves(&self) -> bool {
        words(self.said).any(|word| MOVES.contains(&word.as_str()))
    }

    /// Whether another argument has the other end of the same stretch of time: "from tuesday to thursday". Other words of one moment
    /// are no end of it.
    fn is_divided(&self, name: &str, one: usize, times: Times<'_>, given: &Map<String, Value>) -> bool {
        let own = given.get(name).and_then(Value::as_str);
        let Some(own) = own.and_then(|own| place(self.said, own)) else {
            return false;
        };
        let mention = &self.found[one].place;
        times
            .iter()
            .filter(|(other, _)| *other != name)
            .filter_map(|(other, _)| place(self.said, given.get(*other)?.as_str()?))
            .any(|other| {
                let inside = other.start >= mention.start && other.end <= mention.end;
                let between = own.end.min(other.end)..own.start.max(other.start);
                inside
                    && self
                        .said
                        .get(between)
                        .is_some_and(|between| words(between).any(|word| spans(&word)))
            })
    }

    /// Gives what nobody took to the one argument that it can be.
    fn find_lost(&mut self, given: &mut Map<String, Value>, times: Times<'_>) {
        for one in 0..self.found.len() {
            if self.used[one].is_some() {
                continue;
            }
            let text = self.text(one);
            let lost = times
                .iter()
                .find(|(name, timing)| !given.contains_key(*name) && self.takes(*timing, one));
            // A day and its hour that were said apart. Where something is moved to is no part of the time of what is looked for.
            let goes_there = lost.is_some() && self.is_led_by(one, "to");
            let apart = times.iter().find_map(|(name, timing)| {
                let both = joined(given.get(*name)?.as_str()?, text)?;
                (*timing != TimeRole::Find || !goes_there).then_some((*name, both))
            });
            let elsewhere = self
                .stands_elsewhere(one, given)
                // What is nothing but this time was mistaken for something else.
                .filter(|holder| given[holder].as_str().is_none_or(|value| !is_all(value, text)));
            if let Some((name, both)) = apart.filter(|_| elsewhere.is_none()) {
                given.insert(name.to_owned(), both.into());
                self.used[one] = Some(name.to_owned());
                continue;
            }
            let Some((name, timing)) = lost else { continue };
            match elsewhere {
                None => {}
                // "Call Anna tonight at eight": nobody calls anything by its hour.
                Some(holder) if *timing == TimeRole::At && names_hours(text) => {
                    let whole = given[&holder].as_str().unwrap_or_default();
                    let Some(rest) = without(whole, text) else {
                        continue;
                    };
                    given.insert(holder, rest.into());
                }
                Some(_) => continue,
            }
            given.insert((*name).to_owned(), self.worded(one, *timing).into());
            self.used[one] = Some((*name).to_owned());
        }
    }

    /// Takes away what a time was mistaken for: "on Saturday" is no place.
    fn clear(&self, given: &mut Map<String, Value>, kept: &dyn Fn(&str) -> bool) {
        let mistaken = |name: &str, value: &Value| {
            let stands = value.as_str().and_then(|text| place(self.said, text));
            stands.is_some_and(|place| {
                self.found.iter().zip(&self.used).any(|(one, used)| {
                    let within = one.place.start <= place.start && place.end <= one.place.end;
                    within && used.as_deref().is_some_and(|holder| holder != name)
                })
            })
        };
        let gone: Vec<String> = given
            .iter()
            .filter(|(name, value)| !kept(name) && mistaken(name, value))
            .map(|(name, _)| name.clone())
            .collect();
        for name in gone {
            given.shift_remove(&name);
        }
    }

    /// The argument that has it among its words: "buy a ticket for the concert on friday".
    fn stands_elsewhere(&self, one: usize, given: &Map<String, Value>) -> Option<String> {
        let text = self.text(one);
        let within = |value: &Value| value.as_str().is_some_and(|value| holds(value, text));
        given
            .iter()
            .find(|(_, value)| match value {
                Value::Array(all) => all.iter().any(within),
                one => within(one),
            })
            .map(|(name, _)| name.clone())
    }

    /// Whether an argument may be filled with it.
    fn fits(&self, timing: TimeRole, one: usize) -> bool {
        let kind = self.found[one].kind;
        match timing {
            TimeRole::At | TimeRole::Moved if self.ends(one) => false,
            TimeRole::At | TimeRole::Find => kind != Kind::Length,
            TimeRole::Moved => true,
            TimeRole::End if self.leads_up(one) => false,
            TimeRole::End | TimeRole::Until => kind != Kind::Often,
            TimeRole::Length => kind == Kind::Length,
            TimeRole::Ahead => kind == Kind::Length && (self.leads_up(one) || self.reminds()),
        }
    }

    /// Whether what no argument has is meant for this one.
    fn takes(&self, timing: TimeRole, one: usize) -> bool {
        match timing {
            TimeRole::Find => false,
            // What is said before or after an appointment need not be its end.
            TimeRole::End => {
                self.fits(timing, one) && (self.found[one].kind == Kind::Length || self.ends(one))
            }
            _ => self.fits(timing, one),
        }
    }

    /// Whether it says until when.
    fn ends(&self, one: usize) -> bool {
        let is_until = |word: &str| ["til", "till", "until"].contains(&word.to_lowercase().as_str());
        let before = self.said[..self.found[one].place.start]
            .split_whitespace()
            .next_back();
        before.is_some_and(is_until) || self.text(one).split_whitespace().next().is_some_and(is_until)
    }

    /// Whether it is so long before something: "remind me an hour ahead".
    fn leads_up(&self, one: usize) -> bool {
        let next = words(&self.said[self.found[one].place.end..]).next();
        next.is_some_and(|next| {
            ["ahead", "before", "beforehand", "earlier", "prior"].contains(&next.as_str())
        })
    }

    /// Whether somebody wants to be told of it before.
    fn reminds(&self) -> bool {
        const REMINDING: [&str; 11] = [
            "advance", "alarm", "alert", "before", "early", "heads", "noti", "nudg", "ping", "remind", "warn",
        ];
        words(self.said).any(|word| REMINDING.iter().any(|stem| word.starts_with(stem)))
    }

    fn every(&self, fits: impl Fn(&Mention) -> bool) -> Vec<usize> {
        let all = self.found.iter().enumerate();
        all.filter(|(_, one)| fits(one)).map(|(at, _)| at).collect()
    }
}

/// A text without a time that it begins or ends with, and the small words that led to it.
fn without(text: &str, time: &str) -> Option<String> {
    let all = stretches(text);
    let gone = place(text, time)?;
    let (first, last) = (all.first()?, all.last()?);
    let content = |place: &&Range<usize>| !is_small(&text[(*place).clone()].to_lowercase());
    let kept = match () {
        () if gone.end == last.end => {
            let mut before = all.iter().rev().filter(|place| place.start < gone.start);
            first.start..before.find(content)?.end
        }
        () if gone.start == first.start => {
            let mut after = all.iter().filter(|place| place.end > gone.end);
            after.find(content)?.start..last.end
        }
        () => return None,
    };
    Some(text[kept].to_owned())
}

/// Two stretches as one time: a day and its hour, or how often and at what hour.
fn together(one: &str, other: &str) -> Option<String> {
    let at_that_hour = || {
        let both = format!("{one} at {other}");
        (names_hours(other) && is_time(&both)).then_some(both)
    };
    joined(one, other).or_else(at_that_hour)
}

/// Whether a text says this time and nothing else.
fn is_all(text: &str, time: &str) -> bool {
    let content = |text: &str| words(text).filter(|word| !is_small(word)).collect::<Vec<_>>();
    content(text) == content(time)
}

fn hint(timing: TimeRole) -> Hint {
    match timing {
        TimeRole::Length | TimeRole::Ahead => Hint::Length,
        _ => Hint::Schedule,
    }
}

/// Where these words stand in the sentence, whatever their case.
pub(super) fn place(said: &str, text: &str) -> Option<Range<usize>> {
    let wanted: Vec<String> = words(text).collect();
    if wanted.is_empty() {
        return None;
    }
    let all = stretches(said);
    all.windows(wanted.len()).find_map(|run| {
        let same = run
            .iter()
            .zip(&wanted)
            .all(|(place, word)| bare(&said[place.clone()]) == *word);
        same.then(|| run[0].start..run[run.len() - 1].end)
    })
}

/// Whether all words of `part` stand together in `text`.
pub(super) fn holds(text: &str, part: &str) -> bool {
    place(text, part).is_some()
}

/// Whether a word leads from the beginning of a stretch of time to its end.
fn spans(word: &str) -> bool {
    ["and", "through", "till", "to", "until"].contains(&word)
}

/// Words that say nothing of time by themselves.
fn is_small(word: &str) -> bool {
    ["a", "an", "at", "for", "from", "in", "on", "the", "to", "until"].contains(&word)
}

/// Whether a word names nothing: of "after all" none does.
fn says_little(word: &str) -> bool {
    const LITTLE: [&str; 12] = [
        "after", "again", "all", "anyway", "away", "instead", "more", "off", "out", "then", "though", "too",
    ];
    is_stop_word(word) || LITTLE.contains(&word)
}

pub(super) fn words(text: &str) -> impl Iterator<Item = String> {
    stretches(text).into_iter().map(|place| bare(&text[place]))
}

/// A word for comparing: "tomorrow's" is the one of tomorrow.
fn bare(word: &str) -> String {
    let word = word.to_lowercase();
    word.strip_suffix("'s").unwrap_or(&word).to_owned()
}

/// Where the words of a text are.
fn stretches(text: &str) -> Vec<Range<usize>> {
    let mut all: Vec<Range<usize>> = Vec::new();
    for (at, c) in text.char_indices() {
        let end = at + c.len_utf8();
        match all.last_mut() {
            Some(last) if last.end == at && (c.is_alphanumeric() || c == '\'' || c == ':') => last.end = end,
            _ if c.is_alphanumeric() => all.push(at..end),
            _ => {}
        }
    }
    all
}

#[cfg(test)]
mod tests;
