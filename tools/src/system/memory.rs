//! What the person told Tiro to remember: one small Markdown file a fact, in their own words, to be read and edited with
//! any editor. Nothing else is ever written here; `memory.remember` refuses where somebody else's text was read.

use std::{
    fs,
    ops::Range,
    path::{Path, PathBuf},
};

use jiff::Timestamp;

use super::{
    heard::search::Search,
    journal::{JournalError, Step},
    notes, plain, speech,
    store::{self, Bounds, StoreError},
};
use crate::{contract::ToolError, discover::words};

/// Longest fact, in characters.
const MAX_FACT: usize = 500;
/// Largest file that is read, in bytes: the person may add to a fact by hand.
const MAX_FILE: u64 = 16 * 1024;
/// Facts of one name before giving up.
const MAX_SAME: usize = 100;
const BOUNDS: Bounds = Bounds {
    depth: 2,
    entries: 5000,
    file_links: false,
};

/// One thing that the person said.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Fact {
    /// In their words, on one line: "My locker code is 4411."
    pub text: String,
    /// Its file.
    pub path: PathBuf,
    /// When it was last changed.
    pub modified: Timestamp,
}

impl Fact {
    /// As Tiro says it to them: "Your locker code is 4411."
    pub fn to_you(&self) -> String {
        speech::sentence(&to_you(&self.text))
    }
}

/// What became of a fact.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Remembered {
    /// It is new.
    New(Fact),
    /// It was known, word for word.
    Known(Fact),
    /// It took the place of an older one, of which this was the text.
    Instead(Fact, String),
}

/// All facts, newest first.
///
/// # Errors
/// When the folder cannot be read. One that is not there holds none.
pub fn list(folder: &Path) -> Result<Vec<Fact>, ToolError> {
    let found = store::walk(folder, BOUNDS).map_err(|e| e.tool("read what I remember"))?;
    let mut facts: Vec<Fact> = found
        .files
        .into_iter()
        .filter(|path| path.extension().is_some_and(|e| e.eq_ignore_ascii_case("md")))
        .filter_map(|path| {
            let bytes = store::read_bounded(&path, MAX_FILE)
                .inspect_err(|error| tracing::debug!(%error, "a fact was left out"))
                .ok()?;
            let text = notes::aloud(&String::from_utf8_lossy(&bytes), MAX_FACT).0;
            let modified = fs::metadata(&path).and_then(|meta| meta.modified()).ok();
            let modified = modified.and_then(|at| Timestamp::try_from(at).ok());
            (!text.is_empty()).then(|| Fact {
                text,
                path,
                modified: modified.unwrap_or(Timestamp::UNIX_EPOCH),
            })
        })
        .collect();
    facts.sort_by(|a, b| b.modified.cmp(&a.modified).then_with(|| a.path.cmp(&b.path)));
    Ok(facts)
}

/// A fact as it is kept: one sentence, without the "that" of "remember that".
///
/// # Errors
/// `Tell` when nothing is left or it is too long.
pub fn sentence(said: &str) -> Result<String, ToolError> {
    let line = plain::one_line(said, MAX_FACT);
    if line.ends_with('…') {
        return Err(ToolError::tell(
            "That is too long to remember. Make a note of it instead.",
        ));
    }
    let mut rest = line.as_str();
    for opening in ["please", "remember", "that"] {
        let (word, after) = rest.split_once(' ').unwrap_or((rest, ""));
        if word.eq_ignore_ascii_case(opening) {
            rest = after;
        }
    }
    if !rest.contains(char::is_alphanumeric) {
        return Err(ToolError::tell("Say what I should remember."));
    }
    let mut text = speech::sentence(rest);
    if !text.ends_with(['.', '!', '?']) {
        text.push('.');
    }
    Ok(text)
}

/// Keeps a fact. A new number for the same thing ("my locker code is 5522") takes the place of the old one; anything
/// else is added, because two facts on one thing may both be true.
///
/// # Errors
/// As [`sentence`] and [`list`], and for a folder that takes no files.
pub fn remember(step: &Step, folder: &Path, said: &str) -> Result<Remembered, ToolError> {
    let what = "remember that";
    let text = sentence(said)?;
    let content = format!("{text}\n");
    let facts: Vec<(Fact, String)> = list(folder)?
        .into_iter()
        .filter_map(|fact| {
            let bytes = store::read_bounded(&fact.path, MAX_FILE).ok()?;
            Some((fact, String::from_utf8(bytes).ok()?))
        })
        .collect();
    for (fact, raw) in &facts {
        if let Some((_, old)) = find(raw, |old| same(old, &text)) {
            let known = Fact {
                text: old,
                ..fact.clone()
            };
            return Ok(Remembered::Known(known));
        }
    }
    for (fact, raw) in &facts {
        if let Some((at, old)) = find(raw, |old| supersedes(&text, old)) {
            // The person may have added to the file by hand, and that stays.
            let after = [&raw[..at.start], &text, &raw[at.end..]].concat();
            step.replace(&fact.path, raw.as_bytes(), after.as_bytes())
                .map_err(|e| e.tool(what))?;
            let new = Fact { text, ..fact.clone() };
            return Ok(Remembered::Instead(new, old));
        }
    }
    // Named after what it is about, so that a changed number does not leave a name that says the old one.
    let name = notes::file_name(subject(&text).map_or(text.as_str(), |(subject, _)| subject));
    store::make_folder(folder).map_err(|e| e.tool(what))?;
    for number in 1..=MAX_SAME {
        let path = match number {
            1 => folder.join(format!("{name}.md")),
            n => folder.join(format!("{name}-{n}.md")),
        };
        match step.create(&path, content.as_bytes()) {
            Ok(()) => {
                let modified = Timestamp::now();
                return Ok(Remembered::New(Fact { text, path, modified }));
            }
            Err(JournalError::Store(StoreError::Exists(_))) => {}
            Err(error) => return Err(error.tool(what)),
        }
    }
    Err(ToolError::tell(
        "I remember too many things of that name. Forget one first.",
    ))
}

/// The facts that fit best, best first; far worse ones are left out.
pub fn recall(facts: &[Fact], about: &str) -> Vec<(f64, Fact)> {
    let mut search = Search::new(about);
    for fact in facts {
        search.look(fact.clone(), &fact.text, "");
    }
    let mut ranked = search.ranked();
    let best = ranked.first().map_or(0.0, |r| r.0);
    ranked.retain(|(score, _)| *score >= 0.7 * best);
    ranked
}

/// The fact that is meant.
///
/// # Errors
/// What to say when there is none or more than one such.
pub fn choose(facts: &[Fact], about: &str) -> Result<Fact, ToolError> {
    let said = plain::one_line(about, 80);
    if said.is_empty() {
        return Err(ToolError::tell("Say what I should forget."));
    }
    if let Some(fact) = facts.iter().find(|f| same(&f.text, &said)) {
        return Ok(fact.clone());
    }
    let ranked = recall(facts, about);
    match &ranked[..] {
        [] => Err(ToolError::tell(format!("I remember nothing about {said}."))),
        [(_, one)] => Ok(one.clone()),
        [(best, one), (second, _), ..] if *best > 1.2 * second => Ok(one.clone()),
        several => {
            let texts: Vec<String> = several
                .iter()
                .take(4)
                .map(|(_, fact)| to_you(fact.text.trim_end_matches('.')))
                .collect();
            Err(ToolError::tell(format!(
                "Which one: {}?",
                plain::listed(&texts, "or")
            )))
        }
    }
}

/// Forgets a fact; the journal keeps it for undo.
///
/// # Errors
/// When it was changed meanwhile or the folder takes no writes.
pub fn forget(step: &Step, fact: &Fact) -> Result<(), ToolError> {
    let what = "forget that";
    let before = store::read_bounded(&fact.path, MAX_FILE).map_err(|e| e.tool(what))?;
    step.remove(&fact.path, &before).map_err(|e| e.tool(what))
}

/// Whom a fact names as the person's sister, boss, doctor: from "Eva is my sister" and "my sister is Eva".
pub fn related(facts: &[Fact], is_relation: impl Fn(&str) -> bool) -> Vec<String> {
    let mut names = Vec::new();
    for fact in facts {
        let Some((left, right)) = subject(&fact.text) else {
            continue;
        };
        for (mine, name) in [(left, right), (right, left)] {
            let mine = mine.to_lowercase();
            let Some(relation) = mine.strip_prefix("my ") else {
                continue;
            };
            let relation = relation.trim_end_matches("'s name").trim_end_matches("s name");
            // A name is a word or a few; "my sister is allergic to nuts" names nobody.
            let is_name = name.split_whitespace().count() <= 3 && name.starts_with(char::is_uppercase);
            if is_name && is_relation(relation) {
                names.push(name.to_owned());
            }
        }
    }
    names
}

/// The two sides of "my locker code is 4411".
fn subject(text: &str) -> Option<(&str, &str)> {
    let text = text.trim_end_matches('.');
    let (subject, value) = text.split_once(" is ").or_else(|| text.split_once(" are "))?;
    Some((subject.trim(), value.trim()))
}

/// The sentence of a file that `wanted` accepts: where it stands, without the mark of a heading or an item before it,
/// and how it reads. A fact that goes over several lines is found where it is all of the file.
fn find(raw: &str, wanted: impl Fn(&str) -> bool) -> Option<(Range<usize>, String)> {
    let look = |from: usize, to: usize| {
        let text = notes::aloud(&raw[from..to], MAX_FACT).0;
        // "Dr. Smith's number" may be what it is about, but what follows another sentence's end is not its value.
        let ends = subject(&text).is_none_or(|(_, value)| starts(value).next().is_none());
        (ends && wanted(&text)).then_some((from..to, text))
    };
    let body = raw.len() - notes::body(raw).len();
    let mut at = body;
    for line in raw[body..].split_inclusive('\n') {
        let begin = at + line.len() - unmarked(line).len();
        let end = begin.max(at + line.trim_end().len());
        at += line.len();
        let starts: Vec<usize> = [0]
            .into_iter()
            .chain(starts(&raw[begin..end]))
            .map(|start| begin + start)
            .collect();
        for n in 0..starts.len() {
            let to = starts
                .get(n + 1)
                .map_or(end, |next| starts[n] + raw[starts[n]..*next].trim_end().len());
            let found = starts[..=n]
                .iter()
                .rev()
                .take(ABBREVIATIONS)
                .find_map(|from| look(*from, to));
            if found.is_some() {
                return found;
            }
        }
    }
    let rest = raw[body..].trim();
    let from = raw.len() - raw[body..].trim_start().len();
    look(from, from + rest.len())
}

/// A stop ends a sentence or an abbreviation; so many stops may be in one sentence.
const ABBREVIATIONS: usize = 3;

/// Where the second and later sentences of a text begin, as far as stops tell.
fn starts(text: &str) -> impl Iterator<Item = usize> {
    let stops = text.match_indices(['.', '!', '?']);
    stops.filter_map(|(at, _)| {
        let rest = &text[at + 1..];
        let next = rest.trim_start();
        (next.len() < rest.len() && !next.is_empty()).then(|| text.len() - next.len())
    })
}

/// A line of Markdown without what makes it a heading, an item or a quotation.
fn unmarked(line: &str) -> &str {
    let mut rest = line.trim_start();
    while let Some((mark, after)) = rest.split_once(' ')
        && !mark.is_empty()
        && mark.chars().all(|c| "-*+>#".contains(c))
    {
        rest = after.trim_start();
    }
    rest
}

fn same(a: &str, b: &str) -> bool {
    words::split(a) == words::split(b)
}

fn supersedes(new: &str, old: &str) -> bool {
    let numeric = |value: &str| value.chars().any(|c| c.is_ascii_digit());
    match (subject(new), subject(old)) {
        (Some((a, new)), Some((b, old))) => same(a, b) && numeric(new) && numeric(old),
        _ => false,
    }
}

/// What somebody said of themselves, said to them.
pub fn to_you(text: &str) -> String {
    let mut said = Vec::new();
    let mut after_i = false;
    for word in text.split(' ') {
        let lower = word.to_lowercase();
        let core = lower.trim_matches(|c: char| !c.is_alphanumeric() && c != '\'' && c != '’');
        let new = match core.replace('’', "'").as_str() {
            "my" | "our" => "your",
            "mine" | "ours" => "yours",
            "i" | "me" | "we" | "us" => "you",
            "myself" => "yourself",
            "i'm" | "we're" => "you're",
            "i've" | "we've" => "you've",
            "i'll" | "we'll" => "you'll",
            "i'd" | "we'd" => "you'd",
            "am" if after_i => "are",
            "was" if after_i => "were",
            _ => "",
        };
        after_i = core == "i";
        said.push(if new.is_empty() {
            word.to_owned()
        } else {
            lower.replace(core, new)
        });
    }
    said.join(" ")
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::testing::step;

    #[track_caller]
    fn tell(folder: &Path, said: &str) -> Remembered {
        let home = tempfile::tempdir().unwrap();
        remember(&step(home.path()), folder, said).unwrap()
    }

    fn texts(folder: &Path) -> Vec<String> {
        let mut texts: Vec<String> = list(folder).unwrap().into_iter().map(|f| f.text).collect();
        texts.sort();
        texts
    }

    #[test]
    fn a_fact_is_a_file_that_anybody_can_edit() {
        let home = tempfile::tempdir().unwrap();
        let folder = home.path().join("memory");
        let Remembered::New(fact) = tell(&folder, "that my locker code is 4411") else {
            panic!("it is new");
        };
        assert_eq!(fact.path, folder.join("my-locker-code.md"));
        assert_eq!(
            fs::read_to_string(&fact.path).unwrap(),
            "My locker code is 4411.\n"
        );
        fs::write(&fact.path, "# Gym\n\nMy locker code is *9999*.\n").unwrap();
        fs::write(folder.join("own.md"), "I like tea").unwrap();
        fs::write(folder.join("broken.md"), vec![b'x'; 20_000]).unwrap();
        assert_eq!(texts(&folder), ["Gym. My locker code is 9999.", "I like tea."]);
    }

    #[test]
    fn only_the_sentence_is_replaced() {
        #[track_caller]
        fn check(before: &str, said: &str, expect: &str) {
            let home = tempfile::tempdir().unwrap();
            let path = home.path().join("a.md");
            fs::write(&path, before).unwrap();
            let Remembered::Instead(fact, _) = tell(home.path(), said) else {
                panic!("{before:?} is not found");
            };
            assert_eq!(fs::read_to_string(&fact.path).unwrap(), expect);
            assert_eq!(fs::read_dir(home.path()).unwrap().count(), 1);
            assert!(matches!(tell(home.path(), said), Remembered::Known(_)));
        }
        let said = "my locker code is 5522";
        check("My locker code is 4411.\n", said, "My locker code is 5522.\n");
        check(
            "My locker code is 4411. The locker is on the left.\n",
            said,
            "My locker code is 5522. The locker is on the left.\n",
        );
        check(
            "---\ntags: x\n---\n# Gym\n\n- Bring a towel!  My locker code is *4411*\n- It closes at 10.\n",
            said,
            "---\ntags: x\n---\n# Gym\n\n- Bring a towel!  My locker code is 5522.\n- It closes at 10.\n",
        );
        check("My locker code\nis 4411.\n", said, "My locker code is 5522.\n");
        check(
            "I like tea. Dr. Smith's number is 12. I call on Mondays.",
            "Dr. Smith's number is 34",
            "I like tea. Dr. Smith's number is 34. I call on Mondays.",
        );
    }

    #[test]
    fn a_new_number_replaces_and_everything_else_adds() {
        let home = tempfile::tempdir().unwrap();
        let folder = home.path();
        for said in [
            "my locker code is 4411",
            "Eva is my sister",
            "Eva is allergic to nuts",
        ] {
            assert!(matches!(tell(folder, said), Remembered::New(_)), "{said}");
        }
        assert!(matches!(
            tell(folder, "My locker code is 4411!"),
            Remembered::Known(_)
        ));
        match tell(folder, "my locker code is 5522") {
            Remembered::Instead(fact, old) => {
                assert_eq!(
                    (fact.text.as_str(), old.as_str()),
                    ("My locker code is 5522.", "My locker code is 4411.")
                );
            }
            other => panic!("{other:?}"),
        }
        assert_eq!(
            texts(folder),
            [
                "Eva is allergic to nuts.",
                "Eva is my sister.",
                "My locker code is 5522."
            ]
        );
    }

    #[test]
    fn facts_are_recalled_as_asked_and_as_heard() {
        let home = tempfile::tempdir().unwrap();
        for said in [
            "my locker code is 4411",
            "the code for the bike lock is 730",
            "I parked the car on level three",
            "mum likes tulips",
        ] {
            tell(home.path(), said);
        }
        let facts = list(home.path()).unwrap();
        for (about, expect) in [
            ("my locker code", &["Your locker code is 4411."][..]),
            ("lokker code", &["Your locker code is 4411."]),
            ("where did I park", &["You parked the car on level three."]),
            ("flowers", &[]),
            ("tulip", &["Mum likes tulips."]),
        ] {
            let found: Vec<String> = recall(&facts, about).iter().map(|(_, f)| f.to_you()).collect();
            assert_eq!(found, expect, "{about}");
        }
        let doubt = choose(&facts, "code").unwrap_err().to_string();
        assert!(
            doubt.starts_with("Which one: ") && doubt.contains("your locker code is 4411"),
            "{doubt}"
        );
        assert_eq!(
            choose(&facts, "the bike lock").unwrap().text,
            "The code for the bike lock is 730."
        );
        assert_eq!(
            choose(&facts, "tax").unwrap_err().to_string(),
            "I remember nothing about tax."
        );
    }

    #[test]
    fn what_is_forgotten_comes_back() {
        let home = tempfile::tempdir().unwrap();
        let folder = home.path().join("memory");
        tell(&folder, "my locker code is 4411");
        let step = step(home.path());
        let fact = list(&folder).unwrap().remove(0);
        forget(&step, &fact).unwrap();
        assert!(list(&folder).unwrap().is_empty());
        let journal = step.journal().clone();
        drop(step);
        journal.undo(None).unwrap();
        assert_eq!(texts(&folder), ["My locker code is 4411."]);
    }

    #[test]
    fn relations_are_read_from_facts() {
        let fact = |text: &str| Fact {
            text: text.into(),
            path: PathBuf::new(),
            modified: Timestamp::UNIX_EPOCH,
        };
        let facts = [
            "Eva is my sister.",
            "My sister's name is Ida.",
            "My sister is allergic to nuts.",
            "Tom is my boss.",
        ]
        .map(fact);
        assert_eq!(related(&facts, |r| r == "sister"), ["Eva", "Ida"]);
        assert_eq!(related(&facts, |r| r == "doctor"), [""; 0]);
    }

    #[test]
    fn persons_are_turned_round() {
        #[track_caller]
        fn check(text: &str, expect: &str) {
            assert_eq!(to_you(text), expect);
        }
        check("my dog is mine.", "your dog is yours.");
        check(
            "I am at my best when I'm up",
            "you are at your best when you're up",
        );
        check("I was there", "you were there");
        check("Tom gave me a key", "Tom gave you a key");
        check("Miami", "Miami");
    }

    #[test]
    fn nothing_and_too_much_are_refused() {
        for said in ["", "  ", "that", "...", "please remember that"] {
            assert!(sentence(said).is_err(), "{said:?}");
        }
        assert!(
            sentence(&"x ".repeat(600))
                .unwrap_err()
                .to_string()
                .contains("too long")
        );
    }

    proptest! {
        #[test]
        fn any_words_are_survived(said in ".{0,120}") {
            to_you(&said);
            if let Some((at, _)) = find(&said, |_| true) {
                prop_assert!(said.get(at).is_some());
            }
            if let Ok(text) = sentence(&said) {
                prop_assert!(text.lines().count() == 1);
                subject(&text);
            }
        }
    }
}
