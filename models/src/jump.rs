//! What a grammar leaves no choice about: the text that has to come next, so that it is evaluated in one go instead of
//! token by token.
//!
//! In a call of a tool every second token is a brace, a quote or the name of an argument that has to be there. A model
//! writes them one at a time for no other reason than that nobody tells it. This reads the grammar that it is held to
//! (GBNF, the notation of llama.cpp's `grammars/README.md`), follows what was written, and says what can only follow.
//! It decides nothing: whatever it does not understand it has nothing to say about, and the grammar still holds.

use std::collections::HashMap;

/// Ways in which a text can be read at the same time; more are not followed.
const MAX_WAYS: usize = 512;
/// Elements of all rules; a larger grammar is not followed.
const MAX_ELEMENTS: usize = 400_000;
/// Groups within groups, and rules within rules without a character between them.
const MAX_DEPTH: usize = 200;
/// A longer repetition is not spelled out.
const MAX_REPEATS: usize = 64;
/// Most characters that are said to follow at once.
const MAX_FORCED: usize = 256;

/// A grammar and where in it a text stands.
pub struct Jump {
    rules: Vec<Vec<Vec<Element>>>,
    /// Every way to read what was written; none when it is not followed any more.
    ways: Vec<Way>,
    /// The first bytes of a character whose rest has not come yet.
    part: Vec<u8>,
}

/// What has to come next.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Forced {
    /// The text; may be empty.
    pub text: String,
    /// Whether nothing can come after it.
    pub ends: bool,
}

/// Positions in rules, the innermost last; behind each is what follows when the one inside it is done. Each stands at a
/// character, and a way without any is at the end.
type Way = Vec<Place>;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Place {
    rule: usize,
    choice: usize,
    at: usize,
}

#[derive(Debug, Clone, PartialEq)]
enum Element {
    One(Class),
    Rule(usize),
}

/// Characters that may stand at a place.
#[derive(Debug, Clone, PartialEq)]
struct Class {
    negated: bool,
    ranges: Vec<(char, char)>,
}

impl Class {
    fn has(&self, c: char) -> bool {
        let within = self.ranges.iter().any(|(from, to)| (*from..=*to).contains(&c));
        within != self.negated
    }

    fn only(&self) -> Option<char> {
        match self.ranges[..] {
            [(from, to)] if from == to && !self.negated => Some(from),
            _ => None,
        }
    }
}

impl Jump {
    /// A grammar at its beginning; nothing when it is not understood.
    pub fn new(grammar: &str) -> Option<Jump> {
        let (rules, root) = Reader::read(grammar)?;
        let mut jump = Jump {
            rules,
            ways: Vec::new(),
            part: Vec::new(),
        };
        let mut ways = Vec::new();
        for choice in 0..jump.rules.get(root)?.len() {
            let place = Place {
                rule: root,
                choice,
                at: 0,
            };
            jump.open(vec![place], &mut ways, 0)?;
        }
        jump.ways = ways;
        Some(jump)
    }

    /// These bytes were written.
    pub fn take(&mut self, bytes: &[u8]) {
        self.part.extend_from_slice(bytes);
        let part = std::mem::take(&mut self.part);
        let text = match std::str::from_utf8(&part) {
            Ok(text) => text,
            Err(error) if error.error_len().is_none() => {
                let (whole, rest) = part.split_at(error.valid_up_to());
                self.part = rest.to_vec();
                std::str::from_utf8(whole).unwrap_or_default()
            }
            Err(_) => return self.ways.clear(),
        };
        for c in text.chars() {
            self.ways = self.after(&self.ways, c);
        }
    }

    /// What has to be written next.
    pub fn forced(&self) -> Forced {
        let mut forced = Forced::default();
        if !self.part.is_empty() {
            return forced;
        }
        let mut ways = self.ways.clone();
        for _ in 0..MAX_FORCED {
            if !ways.is_empty() && ways.iter().all(Vec::is_empty) {
                forced.ends = true;
                break;
            }
            let mut next = ways.iter().map(|way| self.class(way)?.only());
            let Some(Some(only)) = next.next() else { break };
            if !next.all(|c| c == Some(only)) {
                break;
            }
            ways = self.after(&ways, only);
            forced.text.push(only);
        }
        forced
    }

    fn class(&self, way: &Way) -> Option<&Class> {
        let place = way.last()?;
        match self.rules.get(place.rule)?.get(place.choice)?.get(place.at)? {
            Element::One(class) => Some(class),
            Element::Rule(_) => None,
        }
    }

    fn after(&self, ways: &[Way], c: char) -> Vec<Way> {
        let mut next = Vec::new();
        for way in ways {
            if self.class(way).is_some_and(|class| class.has(c)) {
                let mut way = way.clone();
                if let Some(place) = way.last_mut() {
                    place.at += 1;
                }
                if self.open(way, &mut next, 0).is_none() {
                    return Vec::new();
                }
            }
        }
        next
    }

    /// Goes into rules and out of those that are done, until each way stands at a character or at the end.
    fn open(&self, mut way: Way, ways: &mut Vec<Way>, depth: usize) -> Option<()> {
        if depth > MAX_DEPTH || ways.len() > MAX_WAYS {
            return None;
        }
        let Some(place) = way.last().copied() else {
            if !ways.contains(&way) {
                ways.push(way);
            }
            return Some(());
        };
        match self.rules.get(place.rule)?.get(place.choice)?.get(place.at) {
            Some(Element::One(_)) => {
                if !ways.contains(&way) {
                    ways.push(way);
                }
                Some(())
            }
            Some(Element::Rule(rule)) => {
                way.pop();
                // What has nothing behind it need not be come back to.
                let follows = self.rules[place.rule][place.choice].len() > place.at + 1;
                if follows {
                    way.push(Place {
                        at: place.at + 1,
                        ..place
                    });
                }
                for choice in 0..self.rules.get(*rule)?.len() {
                    let mut inside = way.clone();
                    inside.push(Place {
                        rule: *rule,
                        choice,
                        at: 0,
                    });
                    self.open(inside, ways, depth + 1)?;
                }
                Some(())
            }
            None => {
                way.pop();
                self.open(way, ways, depth + 1)
            }
        }
    }
}

/// What of a forced text is evaluated ahead: up to where the model would begin a new token by itself, because one that begins
/// in the middle of what it knows chooses differently. Seen: after ` {` models close the braces, where they would have
/// written ` {"` in one token. New tokens begin behind a colon, behind a quote that opens a text, and behind a whole word
/// where others follow; a quote that closes a text is written together with what follows it.
pub fn whole(forced: &str) -> &str {
    let begins = ["\":", " \"", "{\"", "[\""].iter().filter_map(|end| {
        let at = forced.rfind(end)?;
        Some(at + end.len())
    });
    // What does not begin with a blank may be the rest of a word, of which the model knows other pieces.
    let words = forced.starts_with(' ').then(|| words(forced)).flatten();
    &forced[..begins.chain(words).max().unwrap_or_default()]
}

/// Where the last word ends that something else follows.
fn words(forced: &str) -> Option<usize> {
    let ends = forced.char_indices().zip(forced.chars().skip(1));
    let ends = ends.filter(|((_, word), next)| word.is_alphanumeric() && !next.is_alphanumeric());
    ends.map(|((at, last), _)| at + last.len_utf8()).last()
}

/// Reads GBNF, one rule a line as Tiro writes it.
struct Reader<'g> {
    names: HashMap<&'g str, usize>,
    rules: Vec<Vec<Vec<Element>>>,
    elements: usize,
}

impl<'g> Reader<'g> {
    fn read(grammar: &'g str) -> Option<(Vec<Vec<Vec<Element>>>, usize)> {
        let mut reader = Reader {
            names: HashMap::new(),
            rules: Vec::new(),
            elements: 0,
        };
        let lines: Vec<(&str, &str)> = grammar
            .lines()
            .filter(|line| !line.trim().is_empty())
            .map(|line| line.split_once("::="))
            .map(|rule| rule.map(|(name, body)| (name.trim(), body)))
            .collect::<Option<_>>()?;
        for (at, (name, _)) in lines.iter().enumerate() {
            reader.names.insert(name, at);
            reader.rules.push(Vec::new());
        }
        for (at, (_, body)) in lines.iter().enumerate() {
            let mut chars = Chars {
                all: body.chars().collect(),
                at: 0,
            };
            reader.rules[at] = reader.choices(&mut chars, 0)?;
            if chars.look().is_some() {
                return None;
            }
        }
        let root = *reader.names.get("root")?;
        Some((reader.rules, root))
    }

    fn choices(&mut self, chars: &mut Chars, depth: usize) -> Option<Vec<Vec<Element>>> {
        if depth > MAX_DEPTH {
            return None;
        }
        let mut all = vec![self.sequence(chars, depth)?];
        while chars.eat('|') {
            all.push(self.sequence(chars, depth)?);
        }
        Some(all)
    }

    fn sequence(&mut self, chars: &mut Chars, depth: usize) -> Option<Vec<Element>> {
        let mut all = Vec::new();
        loop {
            let one = match chars.look() {
                Some('"') => chars.literal()?,
                Some('[') => vec![Element::One(chars.class()?)],
                Some('(') => {
                    chars.at += 1;
                    let inside = self.choices(chars, depth + 1)?;
                    if !chars.eat(')') {
                        return None;
                    }
                    vec![self.rule(inside)]
                }
                Some(c) if c.is_ascii_alphanumeric() => {
                    let name = chars.name();
                    vec![Element::Rule(*self.names.get(name.as_str())?)]
                }
                _ => return Some(all),
            };
            let one = match chars.repeats()? {
                None => one,
                // Only the last character of a literal is repeated in GBNF; Tiro writes no such thing.
                Some(_) if one.len() != 1 => return None,
                Some((least, most)) => self.repeated(&one, least, most)?,
            };
            self.elements += one.len();
            if self.elements > MAX_ELEMENTS {
                return None;
            }
            all.extend(one);
        }
    }

    /// A rule of its own.
    fn rule(&mut self, choices: Vec<Vec<Element>>) -> Element {
        self.rules.push(choices);
        Element::Rule(self.rules.len() - 1)
    }

    /// So many times, at most as often as `most` or without an end.
    fn repeated(&mut self, one: &[Element], least: usize, most: Option<usize>) -> Option<Vec<Element>> {
        if least.max(most.unwrap_or(0)) > MAX_REPEATS {
            return None;
        }
        let mut all: Vec<Element> = (0..least).flat_map(|_| one.to_vec()).collect();
        match most {
            None => {
                // "x*" is nothing, or x and then "x*" once more.
                let again = self.rule(Vec::new());
                let Element::Rule(number) = again else { return None };
                let mut more = one.to_vec();
                more.push(again.clone());
                self.rules[number] = vec![more, Vec::new()];
                all.push(again);
            }
            Some(most) => {
                let mut rest: Vec<Element> = Vec::new();
                for _ in least..most {
                    let mut more = one.to_vec();
                    more.append(&mut rest);
                    rest = vec![self.rule(vec![more, Vec::new()])];
                }
                all.append(&mut rest);
            }
        }
        Some(all)
    }
}

struct Chars {
    all: Vec<char>,
    at: usize,
}

impl Chars {
    /// The next character that is no blank.
    fn look(&mut self) -> Option<char> {
        while self.all.get(self.at).is_some_and(|c| c.is_whitespace()) {
            self.at += 1;
        }
        self.all.get(self.at).copied()
    }

    fn eat(&mut self, wanted: char) -> bool {
        let there = self.look() == Some(wanted);
        self.at += usize::from(there);
        there
    }

    fn next(&mut self) -> Option<char> {
        let c = self.all.get(self.at).copied();
        self.at += 1;
        c
    }

    fn name(&mut self) -> String {
        let mut name = String::new();
        while let Some(c) = self.all.get(self.at).copied()
            && (c.is_ascii_alphanumeric() || c == '-')
        {
            name.push(c);
            self.at += 1;
        }
        name
    }

    /// One character of a literal or a class.
    fn character(&mut self) -> Option<char> {
        let c = self.next()?;
        if c != '\\' {
            return Some(c);
        }
        match self.next()? {
            'n' => Some('\n'),
            'r' => Some('\r'),
            't' => Some('\t'),
            'x' => self.coded(2),
            'u' => self.coded(4),
            'U' => self.coded(8),
            c @ ('\\' | '"' | '[' | ']' | '-' | '/' | '^') => Some(c),
            _ => None,
        }
    }

    /// A character by its number, in so many hexadecimal digits.
    fn coded(&mut self, digits: usize) -> Option<char> {
        let code: String = (0..digits).map(|_| self.next()).collect::<Option<_>>()?;
        char::from_u32(u32::from_str_radix(&code, 16).ok()?)
    }

    fn literal(&mut self) -> Option<Vec<Element>> {
        self.at += 1;
        let mut all = Vec::new();
        while *self.all.get(self.at)? != '"' {
            let c = self.character()?;
            all.push(Element::One(Class {
                negated: false,
                ranges: vec![(c, c)],
            }));
        }
        self.at += 1;
        Some(all)
    }

    fn class(&mut self) -> Option<Class> {
        self.at += 1;
        let negated = self.all.get(self.at) == Some(&'^');
        self.at += usize::from(negated);
        let mut ranges = Vec::new();
        while *self.all.get(self.at)? != ']' {
            let from = self.character()?;
            let is_range = self.all.get(self.at) == Some(&'-') && self.all.get(self.at + 1) != Some(&']');
            let to = match is_range {
                true => {
                    self.at += 1;
                    self.character()?
                }
                false => from,
            };
            ranges.push((from, to));
        }
        self.at += 1;
        Some(Class { negated, ranges })
    }

    /// How often what stands before may come, if it says; `None` when it says what nobody understands.
    fn repeats(&mut self) -> Option<Option<(usize, Option<usize>)>> {
        let bounds = match self.all.get(self.at) {
            Some('*') => (0, None),
            Some('+') => (1, None),
            Some('?') => (0, Some(1)),
            Some('{') => return self.bounds().map(Some),
            _ => return Some(None),
        };
        self.at += 1;
        Some(Some(bounds))
    }

    /// `{3}`, `{3,}`, `{0,15}`.
    fn bounds(&mut self) -> Option<(usize, Option<usize>)> {
        let rest = &self.all[self.at + 1..];
        let end = rest.iter().position(|c| *c == '}')?;
        let inside: String = rest[..end].iter().collect();
        self.at += end + 2;
        match inside.split_once(',') {
            None => {
                let times = inside.trim().parse().ok()?;
                Some((times, Some(times)))
            }
            Some((least, most)) => {
                let least = least.trim().parse().ok()?;
                match most.trim() {
                    "" => Some((least, None)),
                    most => Some((least, Some(most.parse().ok()?))),
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const CALL: &str = r#"root ::= " " t-a "}\n</tool_call>"
t-a ::= "{\"title\": " string ", \"start\": " string t-o "}"
t-o ::= (", \"end\": " string)? (", \"kind\": " ("\"up\"" | "\"upper\"" | "\"down\""))? (", \"count\": " natural)?
string ::= "\"" char* "\""
char ::= [^"\\\x00-\x1F] | "\\" (["\\/bfnrt] | "u" hex hex hex hex)
hex ::= [0-9a-fA-F]
natural ::= "0" | [1-9] [0-9]{0,3}
"#;

    fn after(text: &str) -> Forced {
        let mut jump = Jump::new(CALL).unwrap();
        jump.take(text.as_bytes());
        jump.forced()
    }

    #[track_caller]
    fn check(text: &str, forced: &str, ends: bool) {
        let expect = Forced {
            text: forced.to_owned(),
            ends,
        };
        assert_eq!(after(text), expect, "{text:?}");
    }

    #[test]
    fn what_has_no_choice_is_forced() {
        check("", " {\"title\": \"", false);
        check(" {\"title\": \"", "", false);
        check(" {\"title\": \"tea", "", false);
        check(" {\"title\": \"tea\"", ", \"start\": \"", false);
        check(" {\"title\": \"tea\",", " \"start\": \"", false);
        check(" {\"title\": \"te\\u00", "", false);
        let both = " {\"title\": \"tea\", \"start\": \"six\"";
        check(both, "", false);
        check(&format!("{both},"), " \"", false);
        check(&format!("{both}, \"e"), "nd\": \"", false);
        check(&format!("{both}, \"kind\": \"u"), "p", false);
        check(&format!("{both}, \"kind\": \"d"), "own\"", false);
        check(&format!("{both}, \"count\": 1234"), "}}\n</tool_call>", true);
        check(&format!("{both}, \"count\": 12"), "", false);
        check(&format!("{both}}}"), "}\n</tool_call>", true);
        check(&format!("{both}}}}}\n</tool_call>"), "", true);
        // What the grammar does not allow, or nobody can read, is not followed.
        check("nonsense", "", false);
    }

    #[test]
    fn what_a_token_may_join_is_left_to_the_model() {
        for (forced, ahead) in [
            (" {\"title\": \"", " {\"title\": \""),
            (" {", ""),
            (" {\"items\": [", " {\"items\":"),
            (" {\"items\": [\"", " {\"items\": [\""),
            ("nd\": ", "nd\":"),
            (", \"start\": \"", ", \"start\": \""),
            ("p", ""),
            ("own\"", ""),
            ("own\", \"", "own\", \""),
            ("\"shop", ""),
            (" at quarter past eleven\"", " at quarter past eleven"),
            (" at quarter past elev", " at quarter past"),
            (" at", ""),
            ("day at noon\"", ""),
            ("", ""),
        ] {
            assert_eq!(whole(forced), ahead, "{forced:?}");
        }
    }

    #[test]
    fn characters_come_in_pieces() {
        let mut jump = Jump::new("root ::= [^a] \"é\" \"!\"").unwrap();
        jump.take("ü".as_bytes());
        assert_eq!(jump.forced().text, "é!");
        jump.take(&"é".as_bytes()[..1]);
        assert_eq!(jump.forced(), Forced::default(), "in the middle of a character");
        jump.take(&"é".as_bytes()[1..]);
        assert_eq!(
            jump.forced(),
            Forced {
                text: "!".to_owned(),
                ends: true
            }
        );
        jump.take(&[0xFF]);
        assert_eq!(jump.forced(), Forced::default(), "no text at all");
    }

    #[test]
    fn what_is_not_understood_is_not_followed() {
        for grammar in [
            "",
            "root",
            "top ::= \"a\"",
            "root ::= missing",
            "root ::= \"a",
            "root ::= [a",
            "root ::= (\"a\"",
            "root ::= \"a\")",
            "root ::= \"ab\"*",
            "root ::= \"\\q\"",
            "root ::= [a]{900}",
            "root ::= [a]{x}",
        ] {
            assert!(Jump::new(grammar).is_none(), "{grammar:?}");
        }
        // Left recursion has no end.
        assert!(Jump::new("root ::= root \"a\" | \"b\"").is_none());
        let deep = format!("root ::= {}\"a\"{}", "(".repeat(5_000), ")".repeat(5_000));
        assert!(Jump::new(&deep).is_none());
    }

    proptest! {
        #[test]
        fn nothing_breaks_it(grammar in "(root ::= )?[a-z\"\\[\\](){}*+?|^ \\\\\n:=0-9-]{0,60}", text in ".{0,20}") {
            if let Some(mut jump) = Jump::new(&grammar) {
                jump.take(text.as_bytes());
                let forced = jump.forced();
                let before = jump.ways.clone();
                jump.take(forced.text.as_bytes());
                prop_assert!(before.is_empty() || !jump.ways.is_empty(), "what is forced is allowed");
            }
        }
    }
}
