//! What a text says, piece by piece, so that two texts can be compared: words by their stems, numbers and times by their value,
//! names and addresses to the letter, and beside them what turns a meaning around ("not", "will", "if").

use std::collections::{BTreeSet, HashSet};

use jiff::civil::Date;
use tools::{
    discover::words::{Normaliser, is_number, is_stop_word},
    when::count,
};

/// Words of one number, at most: "nine hundred and ninety nine thousand".
const LONGEST_NUMBER: usize = 8;
/// Minutes of half a day.
const HALF_DAY: u32 = 12 * 60;

/// What turns a meaning around, and what that comes to. Sorted.
const MODES: &[(&str, &str)] = &[
    ("almost", "almost"),
    ("already", "already"),
    ("barely", "not"),
    ("can", "can"),
    ("could", "could"),
    ("except", "except"),
    ("hardly", "not"),
    ("if", "if"),
    ("instead", "instead"),
    ("likely", "perhaps"),
    ("may", "may"),
    ("maybe", "perhaps"),
    ("might", "may"),
    ("must", "must"),
    ("nearly", "almost"),
    ("neither", "not"),
    ("never", "not"),
    ("no", "not"),
    ("nobody", "not"),
    ("none", "not"),
    ("nor", "not"),
    ("not", "not"),
    ("nothing", "not"),
    ("only", "only"),
    ("perhaps", "perhaps"),
    ("possibly", "perhaps"),
    ("probably", "perhaps"),
    ("shall", "will"),
    ("should", "should"),
    ("still", "still"),
    ("unless", "if"),
    ("unlikely", "not"),
    ("will", "will"),
    ("without", "not"),
    ("would", "would"),
    ("yet", "still"),
];
/// Words that hold a sentence together for the index and still say something here. Sorted.
const NOT_EMPTY: &[&str] = &[
    "get", "give", "go", "going", "got", "know", "let", "like", "need", "please", "tell", "want",
];
/// What joins parts that each stand for themselves. Sorted.
const JOINTS: &[&str] = &["and", "but", "or", "plus", "then", "whereas", "while"];
/// What stands before an hour. Sorted.
const BEFORE_HOURS: &[&str] = &[
    "after", "around", "at", "before", "by", "from", "past", "since", "till", "to", "until",
];
/// Words before "on" that make it what was done.
const SWITCHING: &[&str] = &["switch", "turn"];

/// What a sentence says.
pub struct Sentence {
    pub parts: Vec<Part>,
    /// Whether it is a question.
    pub asks: bool,
}

impl Sentence {
    /// Its words in order.
    pub fn words(&self) -> impl Iterator<Item = &str> {
        self.parts.iter().flat_map(|part| &part.words).map(String::as_str)
    }
}

/// A part of a sentence that stands for itself.
#[derive(Default)]
pub struct Part {
    /// What it says.
    pub items: Vec<Item>,
    /// What turns that around.
    pub modes: BTreeSet<&'static str>,
    /// Its words in order, in small letters and in full: "i", "have".
    pub words: Vec<String>,
    /// Whether a list follows.
    pub leads: bool,
}

/// One thing that is said.
pub struct Item {
    /// What it may mean; one of them has to be there.
    pub any: Vec<String>,
    /// All of what a text with it says.
    pub all: Vec<String>,
    /// The word that it is, where it is one.
    pub word: Option<String>,
}

/// Reads texts.
#[derive(Default)]
pub struct Reader {
    normal: Normaliser,
}

impl Reader {
    /// What a text says.
    pub fn read(&self, text: &str) -> Vec<Sentence> {
        let (mut sentences, mut parts, mut open) = (Vec::new(), Vec::new(), Vec::new());
        let mut end = |parts: &mut Vec<Part>, asks| {
            let mut parts = std::mem::take(parts);
            // What holds under a condition does so in all of the sentence.
            if parts.iter().any(|part| part.modes.contains("if")) {
                parts.iter_mut().for_each(|part| _ = part.modes.insert("if"));
            }
            if !parts.is_empty() {
                sentences.push(Sentence { parts, asks });
            }
        };
        for token in tokens(text) {
            match token {
                Token::Break(sign) => self.close(&mut open, &mut parts, sign == ':'),
                Token::End(asks) => {
                    self.close(&mut open, &mut parts, false);
                    end(&mut parts, asks);
                }
                Token::Word(ref word, _) if JOINTS.binary_search(&word.as_str()).is_ok() => {
                    // "A hundred and five".
                    if !matches!(open.last(), Some(Token::Word(last, _)) if last == "hundred" || last == "thousand")
                    {
                        self.close(&mut open, &mut parts, false);
                    }
                }
                token => open.push(token),
            }
        }
        self.close(&mut open, &mut parts, false);
        end(&mut parts, false);
        sentences
    }

    /// The stem of a word in small letters.
    pub fn stem(&self, word: &str) -> String {
        match self.normal.stem(word) {
            // Days are no class here: friday is not monday.
            class if class.starts_with('#') => word.strip_suffix('s').unwrap_or(word).to_owned(),
            stem => stem,
        }
    }

    fn close(&self, open: &mut Vec<Token>, parts: &mut Vec<Part>, leads: bool) {
        if open.is_empty() {
            return;
        }
        let mut part = self.part(open, parts.is_empty());
        part.leads = leads;
        parts.push(part);
        open.clear();
    }

    fn part(&self, tokens: &[Token], first: bool) -> Part {
        let mut part = Part::default();
        let mut at = 0;
        while at < tokens.len() {
            let (item, taken) = match &tokens[at] {
                Token::Whole(text) => (Some(same(vec![format!("@{text}")])), 1),
                Token::Date(date, minute) => (Some(dated(*date, *minute)), 1),
                _ => match timed(tokens, at).or_else(|| numbered(tokens, at)) {
                    Some((item, taken)) => (Some(item), taken),
                    None => (self.worded(tokens, at, first && at == 0, &mut part.modes), 1),
                },
            };
            if let Some(item) = item {
                if item.any == ["#0"] {
                    part.modes.insert("not");
                } else {
                    part.items.push(item);
                }
            }
            part.words.extend(tokens[at..at + taken].iter().map(Token::text));
            at += taken;
        }
        part
    }

    fn worded(
        &self,
        tokens: &[Token],
        at: usize,
        first: bool,
        modes: &mut BTreeSet<&'static str>,
    ) -> Option<Item> {
        let Token::Word(word, capital) = &tokens[at] else {
            return None;
        };
        let is_name = *capital && !first;
        if let Ok(found) = MODES.binary_search_by_key(&word.as_str(), |(word, _)| word)
            && !is_name
        {
            modes.insert(MODES[found].1);
            return None;
        }
        let before = at.checked_sub(1).map(|at| self.stem(&tokens[at].text()));
        let says = match word.as_str() {
            // "Bluetooth is on", "I turned on Bluetooth", but "on Friday".
            "on" => at + 1 == tokens.len() || before.is_some_and(|word| SWITCHING.contains(&word.as_str())),
            // "I am" is no time, and the time was taken with its number.
            "out" => true,
            word => !is_stop_word(word) || NOT_EMPTY.binary_search(&word).is_ok(),
        };
        let (stem, exact) = (self.stem(word), format!("={word}"));
        says.then(|| Item {
            any: vec![match is_name {
                true => exact.clone(),
                false => stem.clone(),
            }],
            all: vec![stem, exact],
            word: Some(word.clone()),
        })
    }
}

/// Everything that a part says.
pub fn keys(parts: &[Part]) -> HashSet<String> {
    let items = parts.iter().flat_map(|part| &part.items);
    items.flat_map(|item| item.all.iter().cloned()).collect()
}

fn same(keys: Vec<String>) -> Item {
    Item {
        any: keys.clone(),
        all: keys,
        word: None,
    }
}

/// A piece of a text.
enum Token {
    /// In small letters and in full, and whether it began with a capital letter.
    Word(String, bool),
    /// In digits, as it was written.
    Figure(String),
    /// What has to be the same to the letter: an address, the name of a file.
    Whole(String),
    /// A day, and the minute of it.
    Date(Date, Option<u32>),
    Break(char),
    /// The end of a sentence, and whether that is a question.
    End(bool),
}

impl Token {
    fn text(&self) -> String {
        match self {
            Token::Word(text, _) | Token::Figure(text) | Token::Whole(text) => text.clone(),
            Token::Date(date, _) => date.to_string(),
            Token::Break(_) | Token::End(_) => String::new(),
        }
    }

    fn is(&self, words: &[&str]) -> bool {
        matches!(self, Token::Word(text, _) if words.contains(&text.as_str()))
    }
}

fn tokens(text: &str) -> Vec<Token> {
    let mut tokens = Vec::new();
    for line in text.lines() {
        for chunk in line.split_whitespace() {
            chunk_tokens(chunk, &mut tokens);
        }
        tokens.push(Token::End(false));
    }
    tokens
}

/// The pieces of what stands between blanks.
fn chunk_tokens(chunk: &str, tokens: &mut Vec<Token>) {
    let sign = |c: char| !c.is_alphanumeric() && !matches!(c, '%' | '°' | '€' | '$' | '£' | '-' | '−' | '@');
    let from = chunk.find(|c| !sign(c)).unwrap_or(chunk.len());
    let (before, rest) = chunk.split_at(from);
    let core = rest.trim_end_matches(sign);
    let behind = &rest[core.len()..];
    let breaks = |c: char| matches!(c, ',' | ';' | ':' | '(' | ')' | '[' | ']' | '–' | '—' | '•' | '|');
    if let Some(sign) = before.chars().find(|c| breaks(*c)) {
        tokens.push(Token::Break(sign));
    }
    let lower = core.to_lowercase();
    match lower.as_str() {
        "a.m" | "p.m" => tokens.push(Token::Word(lower.replace('.', ""), false)),
        "-" => tokens.push(Token::Break('-')),
        _ if iso(core, tokens) => {}
        _ if is_whole(core) => tokens.push(Token::Whole(lower.clone())),
        _ => scan(core, tokens),
    }
    if let Some(sign) = behind.chars().find(|c| breaks(*c)) {
        tokens.push(Token::Break(sign));
    }
    // "3 p.m. tomorrow" goes on.
    if behind.contains(['.', '!', '?', '…']) && lower != "a.m" && lower != "p.m" {
        tokens.push(Token::End(behind.contains('?')));
    }
}

/// Whether a piece is an address or the name of a file: it says something only as a whole.
fn is_whole(core: &str) -> bool {
    let inner = |c: char| {
        core.match_indices(c).any(|(at, _)| {
            let (before, after) = (
                core[..at].chars().next_back(),
                core[at + c.len_utf8()..].chars().next(),
            );
            before.is_some_and(char::is_alphanumeric) && after.is_some_and(char::is_alphabetic)
        })
    };
    core.contains('@') || core.contains("://") || inner('.')
}

/// A date as data has it: "2026-11-21T15:00:00+01:00".
fn iso(core: &str, tokens: &mut Vec<Token>) -> bool {
    let Some(date) = core.get(..10).and_then(|text| text.parse::<Date>().ok()) else {
        return false;
    };
    let clock = core.get(11..16).and_then(|text| text.split_once(':'));
    let minute =
        clock.and_then(|(hour, minute)| Some(hour.parse::<u32>().ok()? * 60 + minute.parse::<u32>().ok()?));
    tokens.push(Token::Date(date, minute));
    true
}

fn scan(core: &str, tokens: &mut Vec<Token>) {
    let chars: Vec<char> = core.chars().collect();
    let mut at = 0;
    while at < chars.len() {
        let c = chars[at];
        let from = at;
        at += 1;
        if c.is_ascii_digit() {
            let inside = |at: usize| {
                matches!(chars[at], '.' | ',' | ':') && chars.get(at + 1).is_some_and(char::is_ascii_digit)
            };
            while at < chars.len() && (chars[at].is_ascii_digit() || inside(at)) {
                at += 1;
            }
            let minus = from == 1 && matches!(chars[0], '-' | '−');
            let figure: String = chars[from..at].iter().collect();
            tokens.push(Token::Figure(match minus {
                true => format!("-{figure}"),
                false => figure,
            }));
            // "21st".
            let ordinal: String = chars[at..].iter().take(2).collect::<String>().to_lowercase();
            if ["st", "nd", "rd", "th"].contains(&ordinal.as_str()) {
                at += 2;
            }
        } else if c.is_alphabetic() {
            let apostrophe = |c: char| c == '\'' || c == '’';
            while at < chars.len() && (chars[at].is_alphabetic() || apostrophe(chars[at])) {
                at += 1;
            }
            let word: String = chars[from..at].iter().collect();
            in_full(&word.to_lowercase().replace('’', "'"), c.is_uppercase(), tokens);
        } else if let Some(word) = match c {
            '%' => Some("percent"),
            '°' => Some("degrees"),
            '€' => Some("euros"),
            '$' => Some("dollars"),
            '£' => Some("pounds"),
            _ => None,
        } {
            tokens.push(Token::Word(word.into(), false));
        }
    }
}

/// Short forms are what they stand for.
fn in_full(word: &str, capital: bool, tokens: &mut Vec<Token>) {
    let mut push = |word: &str| {
        if !word.is_empty() {
            tokens.push(Token::Word(word.to_owned(), capital));
        }
    };
    let both = match word {
        "cannot" | "can't" => ("can", "not"),
        "won't" => ("will", "not"),
        "ain't" => ("is", "not"),
        "it's" | "that's" | "there's" | "here's" | "what's" | "who's" | "he's" | "she's" | "everything's" => {
            (word.split('\'').next().unwrap_or_default(), "is")
        }
        "i'm" => ("i", "am"),
        _ => match word.rsplit_once('\'') {
            Some((base, "t")) => (base.strip_suffix('n').unwrap_or(base), "not"),
            Some((base, "ve")) => (base, "have"),
            Some((base, "ll")) => (base, "will"),
            Some((base, "re")) => (base, "are"),
            Some((base, "d")) => (base, "would"),
            Some((base, "s" | "")) => (base, ""),
            _ => (word, ""),
        },
    };
    push(both.0);
    if !both.1.is_empty() {
        tokens.push(Token::Word(both.1.to_owned(), false));
    }
}

/// The number in words or digits at a token, and how many tokens it takes.
fn number(tokens: &[Token], at: usize) -> Option<(String, usize)> {
    match tokens.get(at)? {
        Token::Figure(figure) => Some((value(figure), 1)),
        Token::Word(word, _) if is_number(word) => {
            let run = tokens[at..].iter().take(LONGEST_NUMBER).take_while(
                |token| matches!(token, Token::Word(word, _) if is_number(word) && word != "half" && word != "quarter"),
            );
            let run: Vec<String> = run.map(Token::text).collect();
            (1..=run.len()).rev().find_map(|length| {
                // "A hundred".
                let one = if matches!(run[0].as_str(), "hundred" | "thousand" | "million") {
                    "one "
                } else {
                    ""
                };
                let number = count(&format!("{one}{}", run[..length].join(" ")))?;
                Some((number.to_string(), length))
            })
        }
        _ => None,
    }
}

/// A number in digits, written in one way: without the marks of thousands and without zeros that say nothing.
fn value(figure: &str) -> String {
    let groups: Vec<&str> = figure.split(',').collect();
    let figure = match groups.len() > 1
        && groups[1..]
            .iter()
            .all(|group| group.split('.').next().is_some_and(|g| g.len() == 3))
    {
        true => groups.concat(),
        false => figure.replace(',', "."),
    };
    let figure = match figure.matches('.').count() {
        1 => figure.trim_end_matches('0').trim_end_matches('.').to_owned(),
        _ => figure,
    };
    match figure.strip_prefix('0') {
        Some(rest) if rest.len() == 1 => rest.to_owned(),
        _ => figure,
    }
}

fn numbered(tokens: &[Token], at: usize) -> Option<(Item, usize)> {
    let (number, taken) = number(tokens, at)?;
    let key = format!("#{number}");
    let behind = tokens.get(at + taken);
    let counts = behind.is_some_and(|token| {
        matches!(token, Token::Word(word, _) if word == "percent" || (word.ends_with('s') && !is_stop_word(word)))
    });
    let hour = number.parse::<u32>().ok().filter(|hour| (1..=24).contains(hour));
    let is_hour = at > 0 && tokens[at - 1].is(BEFORE_HOURS) && !counts;
    let item = match hour {
        // "At three" may be the hour that another text writes in digits.
        Some(hour) if is_hour => {
            let clock = clock(hour, 0, None);
            Item {
                all: clock.iter().cloned().chain([key]).collect(),
                any: clock,
                word: None,
            }
        }
        _ => same(vec![key]),
    };
    Some((item, taken))
}

/// A time of day at a token, and how many tokens it takes.
fn timed(tokens: &[Token], at: usize) -> Option<(Item, usize)> {
    let hour_at = |at: usize| {
        let (number, taken) = number(tokens, at)?;
        let number = number.parse::<u32>().ok().filter(|number| *number < 60)?;
        Some((number, taken))
    };
    let half = |at: usize| {
        let token = tokens.get(at)?;
        match () {
            () if token.is(&["am"]) => Some(false),
            () if token.is(&["pm"]) => Some(true),
            () => None,
        }
    };
    let whole = |hour: u32, minute: u32, taken: usize| {
        if hour > 24 || minute > 59 {
            return None;
        }
        let half = half(at + taken);
        Some((
            same(clock(hour, minute, half)),
            taken + usize::from(half.is_some()),
        ))
    };
    match &tokens[at] {
        token if token.is(&["noon", "midday"]) => return Some((same(vec![key(HALF_DAY)]), 1)),
        token if token.is(&["midnight"]) => return Some((same(vec![key(0)]), 1)),
        token if token.is(&["half", "quarter"]) && at + 2 < tokens.len() => {
            let minutes = if token.is(&["half"]) { 30 } else { 15 };
            let (hour, taken) = hour_at(at + 2)?;
            return match &tokens[at + 1] {
                side if side.is(&["past"]) => whole(hour, minutes, taken + 2),
                side if side.is(&["to"]) && hour > 0 => whole(hour - 1, 60 - minutes, taken + 2),
                _ => None,
            };
        }
        Token::Figure(figure) => {
            let mut pieces = figure.split(':').map(str::parse::<u32>);
            if let (Some(Ok(hour)), Some(Ok(minute))) = (pieces.next(), pieces.next()) {
                return whole(hour, minute, 1);
            }
            // "3.30 pm".
            if let Some((hour, minute)) = figure.split_once('.')
                && half(at + 1).is_some()
            {
                return whole(hour.parse().ok()?, minute.parse().ok()?, 1);
            }
        }
        _ => {}
    }
    let (hour, taken) = hour_at(at)?;
    let next = tokens.get(at + taken)?;
    if half(at + taken).is_some() {
        return whole(hour, 0, taken);
    }
    if next.is(&["o"]) || next.is(&["o'clock", "oclock"]) {
        let (item, all) = whole(hour, 0, taken)?;
        return Some((item, all + 1));
    }
    // "Three thirty".
    if matches!(tokens[at], Token::Word(..)) && matches!(next, Token::Word(..)) && (1..=12).contains(&hour) {
        let (minute, more) = hour_at(at + taken)?;
        return (minute > 9).then(|| whole(hour, minute, taken + more)).flatten();
    }
    None
}

/// The minutes of the day that a time of day may be.
fn clock(hour: u32, minute: u32, after_noon: Option<bool>) -> Vec<String> {
    let minutes = (hour % 24) * 60 + minute;
    match after_noon {
        Some(false) if hour == 12 => vec![key(minute)],
        Some(true) if hour < 12 => vec![key(minutes + HALF_DAY)],
        None if hour == 12 => vec![key(minute), key(minutes)],
        None if (1..12).contains(&hour) => vec![key(minutes), key(minutes + HALF_DAY)],
        _ => vec![key(minutes)],
    }
}

fn key(minutes: u32) -> String {
    format!("t{minutes}")
}

/// A day in figures is also its month and its weekday.
fn dated(date: Date, minute: Option<u32>) -> Item {
    let mut all = vec![format!("#{}", date.year()), format!("#{}", date.day())];
    for part in ["%B", "%A"] {
        let name = date.strftime(part).to_string().to_lowercase();
        all.extend([format!("={name}"), name]);
    }
    all.extend(minute.map(key));
    Item {
        any: vec![format!("d{date}")],
        all: all.into_iter().chain([format!("d{date}")]).collect(),
        word: None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What the one part of a text may mean, each item by its first reading.
    #[track_caller]
    fn check(text: &str, expect: &[&str]) {
        let read = Reader::default().read(text);
        let items = read
            .iter()
            .flat_map(|sentence| &sentence.parts)
            .flat_map(|part| &part.items);
        let items: Vec<String> = items.map(|item| item.any.join("|")).collect();
        assert_eq!(items, expect, "{text:?}");
    }

    #[test]
    fn the_same_number_is_the_same_in_digits_and_in_words() {
        for text in ["21", "twenty one", "twenty-one", "21st", "21.0", "21.00"] {
            check(text, &["#21"]);
        }
        check("1,250 euros", &["#1250", "euro"]);
        check("1250 €", &["#1250", "euro"]);
        check("-5°", &["#-5", "degre"]);
        check("a hundred and five", &["#105"]);
        check("0151 234567", &["#0151", "#234567"]);
        check("36 percent", &["#36", "percent"]);
        check("36%", &["#36", "percent"]);
    }

    #[test]
    fn the_same_time_is_the_same_however_it_is_written() {
        for text in ["15:00", "3 pm", "3 p.m.", "3:00pm", "three pm", "15:00:00"] {
            check(text, &["t900"]);
        }
        for text in ["at three", "3:00", "three o'clock"] {
            check(text, &["t180|t900"]);
        }
        for text in ["half past three", "3:30", "three thirty", "at 3:30"] {
            check(text, &["t210|t930"]);
        }
        check("quarter to nine", &["t525|t1245"]);
        check("at noon", &["t720"]);
        check("3.30 pm", &["t930"]);
        // A count is no hour.
        check("three events", &["#3", "event"]);
        check("at 20 percent", &["#20", "percent"]);
    }

    #[test]
    fn what_turns_a_meaning_around_stands_beside_it() {
        let read = Reader::default().read("You don't have events, but it may rain if it's Friday.");
        let modes: Vec<Vec<&str>> = read[0]
            .parts
            .iter()
            .map(|part| part.modes.iter().copied().collect())
            .collect();
        assert_eq!(modes, [vec!["if", "not"], vec!["if", "may"]]);
        assert!(MODES.is_sorted_by_key(|(word, _)| word));
        for list in [NOT_EMPTY, JOINTS, BEFORE_HOURS] {
            assert!(list.is_sorted());
        }
    }

    #[test]
    fn addresses_and_names_are_the_same_to_the_letter_only() {
        check("mail anna@example.org", &["mail", "@anna@example.org"]);
        check("see report.pdf.", &["see", "@report.pdf"]);
        check("the dentist of Anna's", &["dentist", "=anna"]);
        check("Bluetooth is on.", &["bluetooth", "on"]);
        check("on Friday", &["=friday"]);
    }
}
