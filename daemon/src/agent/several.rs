//! Several requests in one sentence: "set a timer for ten minutes and tell me what is on tomorrow".
//!
//! A sentence is cut where both sides are sure to be requests of their own; the agent then takes them one after the other,
//! and their answers become one. Where it is not sure, nothing is cut: "remind me to call mum and text dad" is one
//! reminder. What is asked for once more in the words of the first request ("and another for ten") is in `again`.

mod again;

use std::{
    cell::LazyCell,
    collections::{HashSet, VecDeque},
};

use prompts::words as wording;
use tools::{
    Entry, TimeRole,
    discover::words::asks,
    reflex::{POLITE, Reflexes},
    when::{joined, said_times},
};

use super::{
    Agent, Call, Ending, Reply, Step, conversation::points_back, follow::POSITIONS, rules::Asked,
    schema::required, toolbox::Toolbox,
};

/// Words that join requests.
const JOINTS: &[&str] = &["also", "and", "plus", "then"];
/// As many business calls as a turn may have; what is said after the last cut stays with it.
const MOST: usize = 3;

/// Longer texts are dictated. A bound on the work, too.
const LONGEST: usize = 64;

/// What is still to be done of a sentence, and what came of the rest.
#[derive(Clone, Default)]
pub(super) struct Rest {
    /// Business calls of the whole sentence.
    pub(super) calls: usize,
    /// Discover calls of the whole sentence.
    pub(super) discovers: usize,
    /// What the model got wrong in the whole sentence.
    pub(super) mistakes: usize,
    /// What was searched for.
    pub(super) searched: HashSet<String>,
    /// Its requests that their words alone decided.
    pub(super) reflexes: usize,
    waiting: VecDeque<String>,
    replies: Vec<Reply>,
    /// Whether somebody else's words may be in one of the answers.
    untrusted: bool,
    /// What the open request has called last.
    called: Option<Call>,
    context: String,
    asked: Asked,
}

impl Rest {
    /// What came of the requests before the open one.
    pub(super) fn replies(&self) -> impl Iterator<Item = &Reply> {
        self.replies.iter()
    }

    /// What was done before the open request, as it was said.
    pub(super) fn done(&self) -> Vec<&str> {
        let done = self.replies.iter().filter(|reply| reply.end == Ending::Done);
        done.map(|reply| reply.text.as_str()).collect()
    }
}

impl Agent {
    /// Opens a turn with the first request of a sentence, and keeps the others.
    pub(super) fn said_all(&mut self, text: String, context: String, asked: Asked) -> Step {
        // What is one request by heart is not taken apart, unless it is one by an addition that nobody makes: "a timer for five
        // minutes and ten minutes".
        let sure = self.settings.split_score;
        let by_heart =
            self.reflexes.find(&text).is_some() && again::again(&text, &self.toolbox, sure).is_none();
        let mut requests = match by_heart {
            true => VecDeque::new(),
            false => VecDeque::from(cut(&text, &self.toolbox, &self.reflexes, sure)),
        };
        let first = requests.pop_front().unwrap_or(text);
        let mut step = self.said(first, context.clone(), asked.clone());
        if let Step::Generate(ask) = &step
            && ask.alone
            && requests.iter().any(|next| points_back(next))
        {
            step = Step::Generate(self.with_conversation());
        }
        // The request may have used up something already.
        self.rest = Rest {
            waiting: requests,
            context,
            asked,
            ..std::mem::take(&mut self.rest)
        };
        self.go_on(step)
    }

    /// After an answer, opens the next request of the sentence; after the last one, joins the answers.
    pub(super) fn go_on(&mut self, step: Step) -> Step {
        let mut step = step;
        while let Step::Reply(reply) = step {
            let reply = self.with_what_is_left(reply);
            // Who says no or stop, or is not there to be asked, has not said what should become of the rest.
            if reply.end == Ending::NeedsConfirmation {
                self.rest.waiting.clear();
            }
            let Some(next) = self.rest.waiting.pop_front() else {
                self.by_reflex = self.rest.reflexes == self.rest.replies.len() + 1;
                return Step::Reply(self.joined(reply));
            };
            self.rest.replies.push(reply);
            self.rest.untrusted |= self.last.as_ref().is_some_and(|last| last.untrusted);
            let (context, asked) = (self.rest.context.clone(), self.rest.asked.clone());
            let mut rest = std::mem::take(&mut self.rest);
            step = self.said(next, context, asked);
            rest.calls += self.rest.calls;
            rest.reflexes += self.rest.reflexes;
            self.rest = rest;
            if matches!(step, Step::Call(_)) && self.rest.calls > self.settings.max_calls {
                step = self.reply(wording::too_many_calls(), Ending::CouldNot);
            } else if let Step::Generate(_) = step {
                // What may still be used is known again.
                step = Step::Generate(self.ask());
            }
        }
        if let Step::Call(call) = &step {
            self.rest.called = Some(call.clone());
        }
        step
    }

    /// Says that only one thing was done, where the request names a time for another.
    fn with_what_is_left(&mut self, mut reply: Reply) -> Reply {
        let call = self.rest.called.take().filter(|_| reply.end == Ending::Done);
        let said = self.talk.said().last().copied().unwrap_or_default();
        let sure = self.settings.split_score;
        if call.is_some_and(|call| again::is_left_over(said, &call, &self.toolbox, sure)) {
            reply.text = wording::only_this_one(&reply.text);
            if let Some(last) = &mut self.last {
                last.text.clone_from(&reply.text);
            }
        }
        reply
    }

    fn joined(&mut self, last: Reply) -> Reply {
        let rest = std::mem::take(&mut self.rest);
        let mut all = rest.replies;
        if all.is_empty() {
            return last;
        }
        all.push(last);
        let ends = |end| all.iter().any(|reply| reply.end == end);
        let end = match (ends(Ending::NeedsConfirmation), ends(Ending::CouldNot)) {
            (true, _) => Ending::NeedsConfirmation,
            (false, true) => Ending::CouldNot,
            (false, false) => Ending::Done,
        };
        let texts: Vec<&str> = all.iter().map(|reply| reply.text.as_str()).collect();
        let text = texts.join(" ");
        // Who wants to hear it again wants to hear all of it.
        let untrusted = rest.untrusted || self.last.as_ref().is_some_and(|last| last.untrusted);
        self.last = Some(tools::Answered {
            text: text.clone(),
            untrusted,
        });
        Reply { text, end }
    }
}

/// The requests of a sentence; one when it cannot be cut.
fn cut(text: &str, toolbox: &Toolbox, reflexes: &Reflexes, sure: f32) -> Vec<String> {
    let starts = Starts {
        toolbox,
        verbs: toolbox.names().filter_map(bare_verb).collect(),
    };
    let mut requests = Vec::new();
    let mut rest = text.trim().to_owned();
    while requests.len() + 1 < MOST {
        let cut = first_cut(&rest, toolbox, &starts, reflexes, sure);
        let cut = cut.map(|(first, after)| (first.to_owned(), after.to_owned()));
        let Some((first, after)) = cut.or_else(|| shared_cut(&rest, toolbox, &starts, sure)) else {
            break;
        };
        requests.push(first);
        rest = after;
    }
    requests.push(rest);
    // Each of them may ask for several of one kind.
    let mut all = Vec::new();
    let mut parts = VecDeque::from(requests);
    while let Some(part) = parts.pop_front() {
        match again::again(&part, toolbox, sure) {
            Some((first, after)) if all.len() + parts.len() + 1 < MOST => {
                all.push(first);
                parts.push_front(after);
            }
            _ => all.push(part),
        }
    }
    all
}

/// The first place at which both sides are requests: what is before it and what is after it, without the joint.
fn first_cut<'a>(
    text: &'a str,
    toolbox: &Toolbox,
    starts: &Starts<'_>,
    reflexes: &Reflexes,
    sure: f32,
) -> Option<(&'a str, &'a str)> {
    let words = words(text);
    if words.len() > LONGEST {
        return None;
    }
    let best = |part: &str| {
        let best = toolbox.rank(part).into_iter().next()?;
        let entry = toolbox.find(&best.name)?;
        (best.score >= sure).then_some(entry)
    };
    // "Add close the windows and lock the door to my list" is about the list: each part by itself is something else. Where the
    // whole fits nothing for sure, two parts that do say more than it.
    let whole = LazyCell::new(|| best(text));
    let about = |tool: &Entry| whole.is_none_or(|whole| whole.domain() == tool.domain());
    let mut at = 1;
    while at < words.len() {
        let (_, before) = words[at - 1];
        let new_sentence = ends_sentence(as_said(words[at - 1], text));
        let new_clause = new_sentence || text[..before].ends_with(',');
        let next = (at..words.len())
            .find(|i| !is(JOINTS, words[*i], text) && !starts.misheard_and(&words, *i, text));
        let Some(next) = next else { break };
        if next == at && !new_clause {
            at += 1;
            continue;
        }
        let (start, _) = words[next];
        let (left, right) = (text[..before].trim_end_matches([',', ';']), &text[start..]);
        let joined = next > at;
        // What is one request by heart on either side is two.
        if joined && reflexes.find(left).is_some() && reflexes.find(right).is_some() {
            return Some((left, right));
        }
        let begin = |from: usize| {
            let from = (from..words.len()).find(|i| !is(POLITE, words[*i], text))?;
            let after = words.get(from + 1).map(|word| plain(*word, text));
            let word = plain(words[from], text);
            let begins = starts.begin(&word, &after.unwrap_or_default())?;
            Some((word, begins))
        };
        if let (Some(_), Some((word, begins))) = (begin(0), begin(next))
            // A clause behind a comma alone may be one about what was said: "mails from Anna, which are unread".
            && (joined || new_sentence || begins != Begin::Question)
            && let (Some(first), Some(second)) = (best(left), best(right))
            && (about(first) || about(second))
            // What somebody dictates may hold whole clauses. Only a new sentence ends it for sure, or, where it is the name of something
            // with a time, a clause of its own that turns to Tiro.
            && (first.worded.is_empty()
                || new_sentence
                || (new_clause && joined && begins == Begin::Me && has_time(first)))
            // A verb that only names a tool has to be that of the tool which was found.
            && (begins != Begin::Verb || bare_verb(second.name) == Some(&word))
            && (words.len() - next > 1 || second.name.ends_with(&format!(".{word}")))
            && names_enough(left, first)
        {
            return Some((left, right));
        }
        at = next.max(at + 1);
    }
    None
}

/// Two things to do that share the words for Tiro: "remind me to call Ray at nine and to oil the gate on Friday". Each has to
/// have a time of its own; else both may be one errand.
fn shared_cut(text: &str, toolbox: &Toolbox, starts: &Starts<'_>, sure: f32) -> Option<(String, String)> {
    let words = words(text);
    if words.len() > LONGEST {
        return None;
    }
    let word = |at: usize| words.get(at).map_or_else(String::new, |word| plain(*word, text));
    let first = (0..words.len()).find(|at| !is(POLITE, words[*at], text))?;
    if starts.begin(&word(first), &word(first + 1)) != Some(Begin::Me) || word(first + 2) != "to" {
        return None;
    }
    let (lead, verb) = (first + 3, words.get(first + 3)?.0);
    let best = |part: &str| {
        let best = toolbox.rank(part).into_iter().next()?;
        let entry = toolbox.find(&best.name)?;
        (best.score >= sure && has_time(entry)).then_some(entry)
    };
    (lead + 1..words.len().saturating_sub(2)).find_map(|at| {
        if !is(JOINTS, words[at], text) || word(at + 1) != "to" {
            return None;
        }
        // "Book a flight to Rome on monday and to Paris on friday"; "call Ray at nine and to tell him that the party is on friday".
        let same = |part: usize| word(part) == "to";
        let clause = |part: usize| TOGETHER.contains(&word(part).as_str());
        if (lead..at).any(same) || (at + 2..words.len()).any(clause) {
            return None;
        }
        let left = text[..words[at - 1].1].trim_end_matches([',', ';']);
        let behind = &text[words[at + 2].0..];
        if !has_own_times(left, behind) {
            return None;
        }
        let right = format!("{}{behind}", &text[..verb]);
        (best(left)?.name == best(&right)?.name).then(|| (left.to_owned(), right))
    })
}

/// Whether both of two requests end with a time that stands for itself. "Tomorrow at nine" and "at ten" share their day.
fn has_own_times(left: &str, right: &str) -> bool {
    let (all, last) = (said_times(left), said_times(right));
    let (Some(one), Some(other)) = (all.last(), last.last()) else {
        return false;
    };
    let is_end = right[other.place.end..].chars().all(|c| !c.is_alphanumeric());
    // A day goes together with what is only an hour.
    let is_hour = |text: &str| joined("tomorrow", text).is_some();
    let (one, other) = (&left[one.place.clone()], &right[other.place.clone()]);
    is_end && (!is_hour(other) || is_hour(one))
}

/// With what requests begin.
struct Starts<'a> {
    toolbox: &'a Toolbox,
    /// The verbs that tools are called by: "archive".
    verbs: HashSet<&'a str>,
}

/// How a part of a sentence begins that may be a request.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Begin {
    /// With a verb of many requests.
    Opener,
    /// As a question.
    Question,
    /// With a verb that a tool is called by.
    Verb,
    /// With words for Tiro: "tell me", "I need".
    Me,
}

impl Starts<'_> {
    /// Whether this is an "an" that was an "and": a verb behind it begins a request. "An open window" has no article of its own
    /// left to lose, and both sides have to be requests anyway.
    fn misheard_and(&self, words: &[(usize, usize)], at: usize, text: &str) -> bool {
        let next = words.get(at + 1).map(|word| plain(*word, text));
        is(&["an"], words[at], text) && next.is_some_and(|next| self.toolbox.opens(&next))
    }

    fn begin(&self, word: &str, after: &str) -> Option<Begin> {
        let opens = self.toolbox.opens(word);
        match (word, after) {
            ("i", "need" | "want") => Some(Begin::Me),
            (_, "me") if opens => Some(Begin::Me),
            _ if opens && !RELATIVE.contains(&word) => Some(Begin::Opener),
            // Questions with a verb have who does it next: "will it rain". Will may be somebody's name, and "any" begins no question
            // behind "and".
            ("any", _) => None,
            _ if opens || (asks(word) && SUBJECTS.contains(&after)) => Some(Begin::Question),
            _ => (self.verbs.contains(word) && OBJECTS.contains(&after)).then_some(Begin::Verb),
        }
    }
}

/// What goes on from what stands before it, or says something about a thing.
const TOGETHER: &[&str] = &[
    "are", "because", "has", "he", "her", "him", "i", "if", "is", "it", "she", "that", "them", "they", "was",
    "we", "were", "when", "which", "who", "will", "you",
];
/// Questions begin with these, and so do clauses about what was named before.
const RELATIVE: &[&str] = &["which", "who", "whose"];
/// What follows the verb that a question begins with.
const SUBJECTS: &[&str] = &[
    "any", "anybody", "anyone", "anything", "he", "i", "it", "my", "she", "that", "the", "there", "these",
    "they", "this", "those", "we", "you",
];
/// What follows a verb that is none of many requests; else it may be a noun: "turn off wifi and bluetooth".
const OBJECTS: &[&str] = &["all", "it", "my", "that", "the", "them", "these", "this", "those"];

/// Whether a request is more than its verb, where its tool needs more: "open up and play music" names nothing to open.
fn names_enough(request: &str, tool: &Entry) -> bool {
    let words = words(request);
    let mut words = words
        .into_iter()
        .filter(|word| !is(POLITE, *word, request))
        .skip(1);
    words.any(|word| !is(POSITIONS, word, request)) || required(&tool.parameters()).next().is_none()
}

/// Whether this puts down something that has a time.
fn has_time(tool: &Entry) -> bool {
    tool.times.iter().any(|(_, role)| *role == TimeRole::At)
}

/// The verb of a tool's name without its object: "create" of `calendar.create_event`.
fn bare_verb(name: &str) -> Option<&str> {
    name.split('.').nth(1)?.split('_').next()
}

/// Where the words are.
pub(super) fn words(text: &str) -> Vec<(usize, usize)> {
    let mut words = Vec::new();
    let mut at = 0;
    for word in text.split_inclusive(char::is_whitespace) {
        let shown = word.trim_end();
        if !shown.is_empty() {
            words.push((at, at + shown.len()));
        }
        at += word.len();
    }
    words
}

/// A word as it stands there.
fn as_said((start, end): (usize, usize), text: &str) -> &str {
    &text[start..end]
}

/// Whether a sentence ends with this word; "p.m." and "Dr." have their dot for themselves.
fn ends_sentence(word: &str) -> bool {
    let bare = word.trim_end_matches('.');
    word.ends_with(['?', '!', ';']) || (bare.len() < word.len() && bare.len() > 2 && !bare.contains('.'))
}

fn plain((start, end): (usize, usize), text: &str) -> String {
    text[start..end]
        .split(|c: char| !c.is_alphanumeric())
        .find(|part| !part.is_empty())
        .unwrap_or_default()
        .to_lowercase()
}

fn is(list: &[&str], word: (usize, usize), text: &str) -> bool {
    list.contains(&plain(word, text).as_str())
}

#[cfg(test)]
mod tests {
    use std::sync::{Arc, LazyLock};

    use tools::discover::Index;

    use super::*;
    use crate::agent::{Settings, toolbox::Loading};

    #[track_caller]
    fn check(text: &str, expect: &[&str]) {
        static INDEX: LazyLock<Arc<Index>> = LazyLock::new(|| Arc::new(Index::of(tools::ALL)));
        let toolbox = Toolbox::new(tools::ALL, INDEX.clone(), &Loading::default());
        let reflexes = Reflexes::of(tools::ALL);
        let parts = cut(text, &toolbox, &reflexes, Settings::default().split_score);
        assert_eq!(parts, expect);
    }

    #[test]
    fn two_requests_by_heart_are_two() {
        check(
            "volume to twenty percent and next song please",
            &["volume to twenty percent", "next song please"],
        );
        check("pause and mute", &["pause", "mute"]);
        // One of them is not.
        check(
            "volume to twenty percent and lower",
            &["volume to twenty percent and lower"],
        );
        check("remind me to pause and mute", &["remind me to pause and mute"]);
        check(
            "open Firefox and play some jazz",
            &["open Firefox", "play some jazz"],
        );
    }

    #[test]
    fn an_and_may_be_misheard() {
        check(
            "set a timer four ten minutes an add milk to the shopping list",
            &["set a timer four ten minutes", "add milk to the shopping list"],
        );
        check("open an open window", &["open an open window"]);
        check(
            "send Ben an email about the boiler",
            &["send Ben an email about the boiler"],
        );
    }

    #[test]
    fn requests_are_taken_apart() {
        check(
            "set a timer for ten minutes and tell me what is on my calendar tomorrow",
            &[
                "set a timer for ten minutes",
                "tell me what is on my calendar tomorrow",
            ],
        );
        check(
            "turn the volume down, and then play some jazz",
            &["turn the volume down", "play some jazz"],
        );
        check(
            "Remind me to water the plants. What's the weather like today?",
            &["Remind me to water the plants.", "What's the weather like today?"],
        );
        check(
            "set an alarm for seven, add milk to the shopping list and also please lock the screen",
            &[
                "set an alarm for seven",
                "add milk to the shopping list",
                "please lock the screen",
            ],
        );
    }

    #[test]
    fn a_question_behind_a_comma_is_one_of_its_own() {
        check(
            "set a timer for ten minutes, what is on my calendar tomorrow",
            &["set a timer for ten minutes", "what is on my calendar tomorrow"],
        );
        check(
            "turn the volume down, when is my next meeting",
            &["turn the volume down", "when is my next meeting"],
        );
    }

    #[test]
    fn questions_wishes_and_a_tools_own_verb_begin_requests() {
        check(
            "when is my next meeting and have I got any new mail",
            &["when is my next meeting", "have I got any new mail"],
        );
        check(
            "is it going to rain tomorrow, and are there any meetings in my calendar on friday",
            &[
                "is it going to rain tomorrow",
                "are there any meetings in my calendar on friday",
            ],
        );
        check(
            "remind me to buy flowers on friday, and I need a timer for five minutes",
            &[
                "remind me to buy flowers on friday",
                "I need a timer for five minutes",
            ],
        );
        check(
            "read my newest mail and please archive it",
            &["read my newest mail", "please archive it"],
        );
    }

    #[test]
    fn what_shares_the_words_for_tiro_is_two() {
        check(
            "remind me to call Ray tomorrow at nine am and to oil the gate on Friday",
            &[
                "remind me to call Ray tomorrow at nine am",
                "remind me to oil the gate on Friday",
            ],
        );
        check(
            "please remind me to water the fern at seven, and to feed the cat at eight, and to lock up at ten",
            &[
                "please remind me to water the fern at seven",
                "please remind me to feed the cat at eight",
                "please remind me to lock up at ten",
            ],
        );
    }

    #[test]
    fn what_is_one_request_stays_one() {
        for text in [
            "remind me to call Ray at nine and to tell him that the party is on friday",
            "remind me to call Ray at nine and to say the party is on friday",
            "remind me to call Ray tomorrow at nine and to oil the gate at ten",
            "remind me to book a table for friday and to tell Anna we meet at seven",
            "remind me to go to the chemist and to buy plasters tomorrow",
            "remind me to call Ray and to oil the gate on Friday",
            "add milk and eggs to the shopping list",
            "remind me to call mum and text dad",
            "make a note that the bins go out on monday and check the meter",
            "write to anna that I am late and tell her to start without me",
            "schedule lunch with anna and tom tomorrow at noon",
            "play rock and roll",
            "make a note that tom is late and I need a new key",
            "write to anna that I am late, and I need an alarm for seven tomorrow",
            "remind me to ask tom what he wants and when the shop opens",
            "remind me to book a flight to Rome on monday and to Paris on friday",
            "make a note: dear diary, I want music and dancing tonight",
            "make a note that the landlord is late, and I need an alarm for the gate",
            "draft a mail to anna saying I am ill, and send me the calendar for friday",
            "turn off wifi and bluetooth",
            "turn on do not disturb and dark mode",
            "schedule lunch with anna and will tomorrow at noon",
            "show my mails from anna, which are unread",
            "add milk and any bread to the shopping list",
            "what is the weather like today and tomorrow",
            "add close the windows and lock the door to my list",
            "remind me at 9 p.m. lock the door",
            "open up and play some jazz",
            "open and read me my newest mail",
            "tomorrow morning at nine, remind me that the library books are due",
            "what is on my calendar tomorrow",
            "and",
            "and then and then",
            "",
        ] {
            check(text, &[text]);
        }
    }
}
