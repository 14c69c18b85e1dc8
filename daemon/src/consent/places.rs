//! Where a call leads: whom a message reaches, what a browser opens, which file is meant. Places are compared as a whole,
//! whether they were written or said, so that "bob@example.org.uk" never vouches for "bob@example.org".

use serde_json::Value;
use tools::{
    Effect, Entry,
    system::{
        contacts::{self, Book},
        plain, web,
    },
};

/// Longest form of a place in a question, in characters; what is longer shows where it leads by its beginning.
const SHOWN: usize = 120;
/// Most words in which one place is said: letter by letter.
const SPELLED: usize = 48;
/// What stands at the end of a text that was cut off.
const CUT: char = '…';
/// Digits that a number has at least where it is not clear that a number is meant: less is a year or an amount.
const DIGITS: usize = 5;
/// Digits that a number without its country has at least, to be taken for the same as one with it.
const NATIONAL: usize = 7;

/// A place, in a form in which two ways to write it are the same.
#[derive(Debug, Clone, PartialEq, Eq)]
enum Place {
    Mail(String),
    Page(String),
    /// Digits, with a plus before those that begin with the country.
    Phone(String),
    Path(String),
}

/// A place that a call leads to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Lead {
    /// As it is shown.
    pub shown: String,
    place: Place,
}

/// Whom the person knows: the addresses and numbers of their contacts, and their own.
#[derive(Debug, Clone, Default)]
pub struct Known(Vec<Place>);

impl Known {
    /// Who is in the contacts, and where the person themselves is reached.
    pub fn of<'a>(book: &'a Book, own: impl IntoIterator<Item = &'a str>) -> Known {
        let values = |of: fn(&contacts::Contact) -> &[contacts::Labelled]| {
            book.contacts
                .iter()
                .flat_map(move |contact| of(contact).iter().map(|labelled| labelled.value.as_str()))
        };
        let mails = values(|contact| &contact.mails)
            .chain(own)
            .map(|mail| Place::Mail(mail_of(mail)));
        let phones = values(|contact| &contact.phones).map(|phone| Place::Phone(dialled(phone)));
        Known(mails.chain(phones).collect())
    }

    fn holds(&self, place: &Place) -> bool {
        self.0.iter().any(|known| known.is(place))
    }
}

/// Where a call leads by its arguments and by what it says that it would do, each once.
pub fn leads(entry: &Entry, arguments: &Value, action: &str) -> Vec<Lead> {
    let mut all = Vec::new();
    match arguments {
        Value::Object(fields) => {
            for (name, value) in fields {
                of_argument(entry, name, value, &mut all);
            }
        }
        other => of_argument(entry, "", other, &mut all),
    }
    // Some recipients stand in no argument: an answer goes where the mail that it answers says. Nor does a page that was said
    // as words. What else is named there is what the call is about, such as the sender of a mail that is thrown away.
    let sends = entry.effect == Effect::Egress;
    all.extend(written(action).into_iter().filter(|lead| match &lead.place {
        Place::Mail(_) => sends,
        Place::Page(_) => lead.shown.contains("://"),
        Place::Phone(_) | Place::Path(_) => false,
    }));
    let mut once: Vec<Lead> = Vec::new();
    for lead in all {
        if !once.iter().any(|before| before.covers(&lead)) {
            once.push(lead);
        }
    }
    once
}

/// Whether a call leads there because the person wants it: they said the place, or it is one of somebody whom they know.
pub fn is_theirs(lead: &Lead, said: &[&str], known: &Known) -> bool {
    known.holds(&lead.place) || said.iter().any(|words| lead.place.is_said_in(words))
}

/// The places in one argument.
fn of_argument(entry: &Entry, name: &str, value: &Value, found: &mut Vec<Lead>) {
    match value {
        Value::String(text) => of_text(entry, name, text, found),
        Value::Array(items) => items
            .iter()
            .for_each(|item| of_argument(entry, name, item, found)),
        Value::Object(fields) => fields
            .values()
            .for_each(|field| of_argument(entry, name, field, found)),
        Value::Null | Value::Bool(_) | Value::Number(_) => {}
    }
}

fn of_text(entry: &Entry, name: &str, text: &str, found: &mut Vec<Lead>) {
    let text = text.trim();
    let home = |rest: &str| rest.starts_with(|c: char| c == '/' || c.is_alphabetic()) || rest.is_empty();
    if text.starts_with('/') || text.strip_prefix('~').is_some_and(home) {
        let place = Place::Path(path_of(text));
        found.push(lead(text, place));
        return;
    }
    let places = written(text);
    let is_time = entry.times.iter().any(|(timed, _)| *timed == name);
    if is_time || !places.is_empty() {
        found.extend(places);
        return;
    }
    // A number is an argument of its own, and no date.
    let least = match entry.effect {
        Effect::Egress => 0,
        Effect::Read | Effect::Write | Effect::Irreversible => DIGITS,
    };
    let is_date = text.contains('-') && text.parse::<jiff::civil::Date>().is_ok();
    if let Ok(number) = contacts::spoken_phone(text)
        && number.chars().filter(char::is_ascii_digit).count() >= least
        && !is_date
    {
        found.push(lead(text, Place::Phone(dialled(&number))));
    } else if !entry.worded.contains(&name) {
        found.extend(spoken(text));
    }
}

/// What is said as words: "eve at evil dot example". It is shown as what it is.
fn spoken(text: &str) -> Option<Lead> {
    let bare = match (text.rfind('<'), text.rfind('>')) {
        (Some(open), Some(close)) if open < close => &text[open + 1..close],
        _ => text,
    };
    if !has_dot(bare) {
        return None;
    }
    let place = match has_at(bare) {
        true => contacts::spoken_mail(bare)
            .ok()
            .map(|mail| Place::Mail(mail_of(&mail))),
        false => web::address(bare)
            .ok()
            .map(|page| Place::Page(page_of(&page.url))),
    }?;
    let shown = match &place {
        Place::Mail(text) | Place::Page(text) | Place::Phone(text) | Place::Path(text) => text.clone(),
    };
    Some(lead(&shown, place))
}

fn has_at(text: &str) -> bool {
    text.split_whitespace()
        .any(|word| word.contains('@') || word.eq_ignore_ascii_case("at"))
}

fn has_dot(text: &str) -> bool {
    text.split_whitespace()
        .any(|word| word.contains('.') || ["dot", "point"].iter().any(|dot| word.eq_ignore_ascii_case(dot)))
}

/// The addresses of people and pages that are written in a text.
fn written(text: &str) -> Vec<Lead> {
    text.split_whitespace().flat_map(of_word).collect()
}

fn of_word(word: &str) -> Vec<Lead> {
    if word.contains('@') && !word.contains("://") {
        // "eve'anna@example.org" is not Anna's: some signs may stand in the name of a mailbox.
        let parts = word.split(|c| SIGNS.contains(&c) && !OF_MAILBOXES.contains(&c));
        return parts
            .map(|part| part.trim_end_matches(ends))
            .filter_map(of_part)
            .collect();
    }
    let word = bare(word);
    if let Some(at) = word.find("://") {
        let before = |c: char| !(c.is_ascii_alphanumeric() || "+-.".contains(c));
        let start = word[..at]
            .char_indices()
            .rfind(|(_, c)| before(*c))
            .map_or(0, |(at, c)| at + c.len_utf8());
        let page = &word[start..];
        return vec![lead(page, Place::Page(page_of(page)))];
    }
    word.split(SIGNS).map(bare).filter_map(of_part).collect()
}

/// Of those, the ones that the name of a mailbox may have without quotes (RFC 5322, atext).
const OF_MAILBOXES: &[char] = &['\'', '!', '{', '}', '`'];

/// Signs that stand around an address.
const SIGNS: &[char] = &[
    '<', '>', '(', ')', '[', ']', '{', '}', '"', '\'', '`', ',', ';', '!', '“', '”', '‘', '’',
];

/// A word without the signs around it, and without what ends a sentence.
fn bare(word: &str) -> &str {
    word.trim_start_matches(SIGNS).trim_end_matches(ends)
}

fn ends(sign: char) -> bool {
    SIGNS.contains(&sign) || ".:?".contains(sign)
}

fn of_part(part: &str) -> Option<Lead> {
    if part.contains('@') && part.contains(char::is_alphanumeric) {
        return Some(lead(part, Place::Mail(mail_of(part))));
    }
    (is_host(part) || web::address(part).is_ok()).then(|| lead(part, Place::Page(page_of(part))))
}

fn lead(text: &str, place: Place) -> Lead {
    Lead {
        // Somebody else may have chosen it, and it stands in a question.
        shown: plain::one_line(text, SHOWN),
        place,
    }
}

/// Whether a text begins with the name of a host, as addresses do that are written without "https": `evil.example/x`.
fn is_host(text: &str) -> bool {
    let host = text.split(['/', '?', '#', ':']).next().unwrap_or_default();
    let ending = host.rsplit('.').next().unwrap_or_default();
    host.contains('.') && ending.len() >= 2 && ending.chars().all(char::is_alphabetic)
}

/// What is no address stays as it is: it is not the same as any that was said then, and is named.
fn mail_of(written: &str) -> String {
    let scheme = written.get(..7).filter(|s| s.eq_ignore_ascii_case("mailto:"));
    let address = &written[scheme.map_or(0, str::len)..];
    let address = address.split('?').next().unwrap_or(address);
    contacts::spoken_mail(address)
        .unwrap_or_else(|_| address.to_owned())
        .to_lowercase()
}

/// Where a page lies. A recogniser hears neither the scheme nor capitals, and "www." is the same house.
fn page_of(written: &str) -> String {
    let written = written.trim_end_matches(CUT);
    let url = web::address(written)
        .map_or_else(|_| written.to_owned(), |address| address.url)
        .to_lowercase();
    let place = ["https://", "http://"]
        .iter()
        .find_map(|scheme| url.strip_prefix(scheme))
        .unwrap_or(&url);
    place
        .strip_prefix("www.")
        .unwrap_or(place)
        .trim_end_matches('/')
        .to_owned()
}

fn path_of(written: &str) -> String {
    let path = written.to_lowercase();
    match path.trim_end_matches('/') {
        "" => "/".to_owned(),
        path => path.to_owned(),
    }
}

/// The digits of a number, and whether they begin with the country.
fn dialled(number: &str) -> String {
    let number = number.strip_prefix("tel:").unwrap_or(number).trim();
    let plus = number.starts_with('+');
    // "+49 (0)30": the zero is dialled by those who leave the country out.
    let number = match plus {
        true => number.replace("(0)", ""),
        false => number.to_owned(),
    };
    let digits: String = number.chars().filter(char::is_ascii_digit).collect();
    match (plus, digits.strip_prefix("00")) {
        (true, _) => format!("+{digits}"),
        (false, Some(abroad)) => format!("+{abroad}"),
        (false, None) => digits,
    }
}

/// Whether a number with its country, of one to three digits (ITU-T E.164), is the same as one without.
fn is_abroad(with: &str, without: &str) -> bool {
    let without = without.strip_prefix('0').unwrap_or(without);
    let country = with.strip_suffix(without);
    without.len() >= NATIONAL && country.is_some_and(|country| (1..=3).contains(&country.len()))
}

impl Lead {
    /// Whether the other is the same: what a call says that it would open may be cut off.
    fn covers(&self, other: &Lead) -> bool {
        match (&self.place, &other.place) {
            (Place::Page(whole), Place::Page(part)) if other.shown.ends_with(CUT) => {
                whole.starts_with(part.as_str())
            }
            (one, other) => one.is(other),
        }
    }
}

impl Place {
    fn is(&self, other: &Place) -> bool {
        match (self, other) {
            (Place::Phone(one), Place::Phone(other)) => {
                match (one.strip_prefix('+'), other.strip_prefix('+')) {
                    (Some(with), None) => is_abroad(with, other),
                    (None, Some(with)) => is_abroad(with, one),
                    _ => one == other,
                }
            }
            _ => self == other,
        }
    }

    /// Whether somebody said this place, the whole of it and nothing more.
    fn is_said_in(&self, words: &str) -> bool {
        match self {
            Place::Path(path) => stands_in(path, words),
            Place::Mail(_) | Place::Page(_) | Place::Phone(_) => {
                written(words).iter().any(|lead| lead.place.is(self)) || self.is_dictated_in(words)
            }
        }
    }

    /// Whether some stretch of words is this place as people say it.
    fn is_dictated_in(&self, text: &str) -> bool {
        let may_be = match self {
            Place::Mail(_) => has_at(text),
            Place::Page(_) => has_dot(text),
            Place::Phone(_) => true,
            Place::Path(_) => false,
        };
        if !may_be {
            return false;
        }
        let words: Vec<Word<'_>> = text.split_whitespace().map(Word::of).collect();
        (0..words.len()).any(|start| self.is_dictated_from(&words, start))
    }

    /// Whether it is what is said from this word on.
    fn is_dictated_from(&self, words: &[Word<'_>], start: usize) -> bool {
        let before = start.checked_sub(1).and_then(|at| words.get(at));
        if !self.may_begin(&words[start]) || before.is_some_and(|before| self.goes_on(before, &words[start]))
        {
            return false;
        }
        let mut stretch = String::new();
        let mut left = self.letters();
        for (end, word) in words.iter().enumerate().skip(start).take(SPELLED) {
            let fits = match self {
                Place::Phone(_) => word.is_of_number(),
                _ => left.checked_sub(word.letters()).map(|rest| left = rest).is_some(),
            };
            if !fits {
                return false;
            }
            if start < end {
                stretch.push(' ');
            }
            stretch.push_str(word.text);
            let ended = || !words.get(end + 1).is_some_and(|after| self.goes_on(word, after));
            if self.is_read_from(&stretch) && ended() {
                return true;
            }
        }
        false
    }

    /// How many letters are said of it at most, beside what stands for a sign or a digit.
    fn letters(&self) -> usize {
        const LEFT_OUT: usize = "httpswww".len();
        match self {
            Place::Mail(place) | Place::Page(place) | Place::Phone(place) | Place::Path(place) => {
                place.chars().filter(|c| c.is_alphanumeric()).count() + LEFT_OUT
            }
        }
    }

    /// Whether it is worth a look what follows on a word: somebody may have pasted a book.
    fn may_begin(&self, word: &Word<'_>) -> bool {
        match self {
            Place::Phone(_) => word.is_of_number(),
            Place::Mail(place) | Place::Page(place) | Place::Path(place) => {
                let first = |text: &str| text.chars().flat_map(char::to_lowercase).next();
                let is_letter = place.starts_with(char::is_alphabetic);
                // A page begins with what is left out of its name, too.
                let is_left_out =
                    matches!(self, Place::Page(_)) && word.text.starts_with(['w', 'W', 'h', 'H']);
                !is_letter || is_left_out || first(word.text) == first(place)
            }
        }
    }

    fn is_read_from(&self, stretch: &str) -> bool {
        match self {
            Place::Mail(mail) => {
                has_at(stretch) && contacts::spoken_mail(stretch).is_ok_and(|said| mail_of(&said) == *mail)
            }
            Place::Page(page) => {
                has_dot(stretch) && web::address(stretch).is_ok_and(|said| page_of(&said.url) == *page)
            }
            Place::Phone(_) => {
                contacts::spoken_phone(stretch).is_ok_and(|said| Place::Phone(dialled(&said)).is(self))
            }
            Place::Path(_) => false,
        }
    }

    /// Whether a place that has one of two neighbouring words has the other one, too: "example dot co" before "dot uk".
    fn goes_on(&self, word: &Word<'_>, next: &Word<'_>) -> bool {
        match self {
            Place::Phone(_) => word.is_digits() && next.is_digits() && !word.ends,
            _ => (word.joins() || next.joins() || word.is_letter() && next.is_letter()) && !word.ends,
        }
    }
}

/// Whether a path stands in a text as a whole: "/a" does not in "/a/b".
fn stands_in(path: &str, text: &str) -> bool {
    let text = text.to_lowercase();
    let of_path = |c: char| c.is_alphanumeric() || "/~._-@%".contains(c);
    text.match_indices(path).any(|(at, _)| {
        let (before, after) = (&text[..at], &text[at + path.len()..]);
        let after = after.strip_prefix('/').unwrap_or(after);
        // What ends a sentence is not of the path.
        let after = match after.strip_prefix('.') {
            Some(rest) if !rest.starts_with(of_path) => rest,
            _ => after,
        };
        !before.ends_with(of_path) && !after.starts_with(of_path)
    })
}

/// A word as a recogniser writes it.
struct Word<'a> {
    text: &'a str,
    /// Whether a sign after it ends what it belongs to.
    ends: bool,
}

impl<'a> Word<'a> {
    fn of(written: &'a str) -> Word<'a> {
        let text = bare(written);
        match text.is_empty() {
            // A sign that stands for itself: "anna @ example . org".
            true => Word {
                text: written,
                ends: false,
            },
            false => Word {
                text,
                ends: !written.ends_with(text),
            },
        }
    }

    /// Signs of addresses, and how they are said.
    fn joins(&self) -> bool {
        const JOINS: [&str; 15] = [
            "dot",
            "point",
            "dash",
            "hyphen",
            "minus",
            "underscore",
            "plus",
            "slash",
            "colon",
            ".",
            "-",
            "_",
            "+",
            "/",
            ":",
        ];
        JOINS.iter().any(|joins| self.text.eq_ignore_ascii_case(joins))
    }

    fn is_letter(&self) -> bool {
        let mut letters = self.text.chars();
        letters.next().is_some_and(char::is_alphanumeric) && letters.next().is_none()
    }

    /// What it adds to the letters of an address.
    fn letters(&self) -> usize {
        match self.joins() || self.is_digits() || self.text.eq_ignore_ascii_case("at") {
            true => 0,
            false => self.text.chars().filter(|c| c.is_alphanumeric()).count(),
        }
    }

    /// Whether it may be part of a number.
    fn is_of_number(&self) -> bool {
        contacts::spoken_phone(&format!("{} 000", self.text)).is_ok()
    }

    /// Whether it can only be part of a number; "to" and "for" may be, and are more often something else.
    fn is_digits(&self) -> bool {
        const DIGITS: [&str; 12] = [
            "zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "double",
            "triple",
        ];
        self.text.contains(|c: char| c.is_ascii_digit())
            || DIGITS.iter().any(|digit| self.text.eq_ignore_ascii_case(digit))
    }
}

#[cfg(test)]
mod tests;
