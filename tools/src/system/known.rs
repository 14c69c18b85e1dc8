//! What the person has a name for: events, reminders, lists, notes, files, programs, players that run. A request that says such a
//! name is likely about it: "scrap the climbing with Tom" names an event and no kind of thing at all.
//!
//! This is evidence for the ranking of tools, and one more way to write an argument. A name may come from somebody else, such as
//! the title of an invitation, so it lifts what the person's words make likely already, by a bounded factor, never finds a
//! tool by itself, and is never all that an argument can be.

mod places;

use std::{
    collections::{BTreeSet, HashMap, HashSet},
    sync::Arc,
};

use jiff::ToSpan as _;

use super::{
    alarms, apps, calendar, contacts, desktop::players, files, lists, mail, notes, plain, shortcuts, timers,
    vdir,
};
use crate::{
    contract::{Ctx, ToolError},
    discover::{
        Doc, Lifts,
        words::{self, Normaliser},
    },
};

/// Most names of one kind that are looked at; of events and files the nearest and the newest.
const MOST: usize = 2_000;
/// Words of one name that are looked at.
const MAX_WORDS: usize = 12;
/// A longer name is nothing that somebody says, in characters.
const MAX_NAME: usize = 120;
/// More names that were all said as a whole tell nothing.
const MOST_ALIKE: usize = 8;
/// How far back and ahead events are looked at, in days.
const BACK: i64 = 7;
const AHEAD: i64 = 90;
/// A sound of fewer letters is shared by too many words.
const MIN_SOUND: usize = 3;
/// What a word of a name counts that the tools' own texts use, too: "dentist" and "call" stand in many examples, so the
/// ranking has had its say about them.
const USUAL: f32 = 0.4;
/// A name that was said as a whole makes what it is the name of so many times as likely; one of which a telling part was
/// said; and one that is a usual word.
const WHOLE: f32 = 8.0;
const PART: f32 = 3.0;
const FAINT: f32 = 2.0;
/// A part tells something when it is so much of the name.
const ENOUGH: f32 = 0.3;
/// People and things on lists are talked about in all kinds of requests.
const LOOSELY: f32 = 1.5;

/// What a name is the name of.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Kind {
    /// A calendar.
    Calendar,
    /// Something in a calendar.
    Event,
    /// Something to be done.
    Reminder,
    /// A list of reminders.
    ReminderList,
    /// A list of things.
    List,
    /// Something on a list.
    Item,
    /// A note.
    Note,
    /// A file or folder.
    File,
    /// A person.
    Contact,
    /// Somebody who wrote mails.
    Sender,
    /// A timer.
    Timer,
    /// An alarm.
    Alarm,
    /// A program that can be started.
    App,
    /// A program of the person's own.
    Shortcut,
    /// A media player that runs.
    Player,
}

impl Kind {
    /// Those whose names stand in files. Which players run is asked on the bus, while these are read.
    const IN_FILES: [Kind; 14] = [
        Kind::Calendar,
        Kind::Event,
        Kind::Reminder,
        Kind::ReminderList,
        Kind::List,
        Kind::Item,
        Kind::Note,
        Kind::File,
        Kind::Contact,
        Kind::Sender,
        Kind::Timer,
        Kind::Alarm,
        Kind::App,
        Kind::Shortcut,
    ];

    /// Which tools such a name speaks for: the beginnings of their names.
    fn tools(self) -> &'static [&'static str] {
        match self {
            Kind::Calendar | Kind::Event => &["calendar."],
            Kind::Reminder => &["reminders."],
            // They are called "work" and "home", which are said of anything.
            Kind::ReminderList => &[],
            Kind::List | Kind::Item => &["lists."],
            Kind::Note => &["notes."],
            Kind::File => &["files."],
            Kind::Contact => &["contacts.", "mail.", "messages."],
            Kind::Sender => &["mail."],
            Kind::Timer => &["timers."],
            Kind::Alarm => &["alarms."],
            Kind::App => &["system.open_app", "system.quit_app"],
            Kind::Shortcut => &["shortcuts."],
            Kind::Player => &["media."],
        }
    }

    /// At most this much more likely.
    fn most(self) -> f32 {
        match self {
            Kind::Contact | Kind::Item => LOOSELY,
            // A browser that plays something is a player, too, and is talked about as a program.
            Kind::Calendar | Kind::App | Kind::Player | Kind::Sender => PART,
            _ => WHOLE,
        }
    }

    fn names(self, ctx: &Ctx) -> Result<Vec<String>, ToolError> {
        let dirs = &ctx.dirs;
        let named = |all: Vec<calendar::Todo>| all.into_iter().map(|todo| todo.title).collect();
        Ok(match self {
            Kind::Calendar => {
                let all = calendar::collections(&dirs.calendars).map_err(|e| e.tool("read the calendars"))?;
                all.into_iter().map(|one| one.name).collect()
            }
            Kind::Event => {
                let (from, to) = (
                    ctx.now.saturating_sub(BACK.days()),
                    ctx.now.saturating_add(AHEAD.days()),
                );
                let read = calendar::events(&dirs.calendars, &from, &to);
                let events = read.map_err(|e| e.tool("read the calendar"))?.items;
                // A series is one name however often it happens.
                let titles: BTreeSet<String> = events.into_iter().map(|event| event.title).collect();
                titles.into_iter().collect()
            }
            Kind::Reminder => named(
                calendar::todos(&dirs.reminders, &ctx.now)
                    .map_err(|e| e.tool("read the reminders"))?
                    .items,
            ),
            Kind::ReminderList => {
                let all = vdir::collections(&dirs.reminders).map_err(|e| e.tool("read your lists"))?;
                all.into_iter().map(|list| list.name).collect()
            }
            Kind::List => lists::all(ctx)?.into_iter().map(|one| one.name).collect(),
            Kind::Item => named(
                calendar::todos(&dirs.lists, &ctx.now)
                    .map_err(|e| e.tool("read the lists"))?
                    .items,
            ),
            Kind::Note => notes::list(&dirs.notes)?
                .into_iter()
                .map(|note| note.title)
                .collect(),
            Kind::File => {
                let items = files::list(dirs)?.items.into_iter();
                let stem = |item: files::Item| match item.name.rsplit_once('.') {
                    Some((stem, _)) if !stem.is_empty() => stem.to_owned(),
                    _ => item.name,
                };
                items
                    .filter(|item| !item.below.as_os_str().is_empty())
                    .take(MOST)
                    .map(stem)
                    .collect()
            }
            Kind::Contact => {
                let book = contacts::read(&dirs.contacts)?;
                let names = book.contacts.iter().flat_map(|one| {
                    let nicknames = one.nicknames.iter().cloned();
                    std::iter::once(one.name.clone()).chain(nicknames)
                });
                names.collect()
            }
            Kind::Sender => mail::writers(dirs, MOST)?,
            Kind::Timer => {
                let all = timers::all(dirs).map_err(|e| e.tool("read the timers"))?;
                all.into_iter().filter_map(|timer| timer.label).collect()
            }
            Kind::Alarm => {
                let all = alarms::all(dirs, &ctx.now)?;
                all.into_iter().filter_map(|alarm| alarm.label).collect()
            }
            Kind::App => {
                let apps = apps::installed(&apps::here(&dirs.applications));
                apps.into_iter().map(|app| app.name).collect()
            }
            Kind::Shortcut => {
                let shelf = shortcuts::list(&dirs.shortcuts)?;
                shelf.shortcuts.into_iter().map(|one| one.name).collect()
            }
            Kind::Player => Vec::new(),
        })
    }
}

/// Names, ready to be looked for in what somebody says.
#[derive(Default)]
pub struct Known {
    names: Vec<Name>,
    /// Which names have a word, by its stem and by its sound.
    stems: HashMap<Arc<str>, Vec<usize>>,
    sounds: HashMap<Arc<str>, Vec<usize>>,
    normal: Normaliser,
    usual: Arc<Usual>,
}

/// Stems of the words that tools' own texts use.
#[derive(Default)]
pub struct Usual {
    words: HashSet<String>,
    /// Those that are only there as the name of somebody or something.
    names: HashSet<String>,
}

impl Usual {
    /// The words of these tools.
    pub fn of(docs: &[Doc]) -> Usual {
        let normal = Normaliser::new();
        let texts = docs
            .iter()
            .flat_map(|doc| [&doc.name, &doc.summary].into_iter().chain(&doc.examples));
        let mut usual = Usual::default();
        let mut others = HashSet::new();
        for (at, word) in texts.flat_map(|text| text.split_whitespace().enumerate()) {
            let all = match at > 0 && word.starts_with(char::is_uppercase) {
                true => &mut usual.names,
                false => &mut others,
            };
            all.extend(words::split(word).into_iter().map(|word| normal.stem(&word)));
        }
        usual.names.retain(|name| !others.contains(name));
        usual.words = others.into_iter().chain(usual.names.iter().cloned()).collect();
        usual
    }

    /// What a word of a name of this kind counts. That an example is about somebody called Nina makes nobody's Nina usual, where
    /// it is she who is meant; with things that are named after people it does.
    fn counts(&self, kind: Kind, stem: &str) -> f32 {
        match self.words.contains(stem) && !(kind == Kind::Contact && self.names.contains(stem)) {
            true => USUAL,
            false => 1.0,
        }
    }
}

struct Name {
    kind: Kind,
    text: Box<str>,
    words: Vec<Word>,
}

struct Word {
    stem: Arc<str>,
    sound: Arc<str>,
    counts: f32,
}

impl Known {
    /// Reads the names, and asks meanwhile which players run. What cannot be read has none; the tool that is asked for it says
    /// why.
    ///
    /// # Errors
    /// `Broken` when the reading panics.
    pub async fn read(ctx: &Ctx, usual: Arc<Usual>) -> Result<Known, ToolError> {
        let files = ctx.blocking("read what things are called", move |ctx| {
            let mut known = Known::of([], usual);
            for kind in Kind::IN_FILES {
                match kind.names(ctx) {
                    Ok(names) => names.iter().take(MOST).for_each(|name| known.add(kind, name)),
                    Err(error) => tracing::debug!(?kind, %error, "names could not be read"),
                }
            }
            Ok(known)
        });
        let (known, players) = tokio::join!(files, players::names(&ctx.desk));
        let mut known = known?;
        players.iter().for_each(|name| known.add(Kind::Player, name));
        Ok(known)
    }

    /// These names.
    pub fn of<'n>(names: impl IntoIterator<Item = (Kind, &'n str)>, usual: Arc<Usual>) -> Known {
        let mut known = Known {
            usual,
            ..Known::default()
        };
        for (kind, name) in names {
            known.add(kind, name);
        }
        known
    }

    fn add(&mut self, kind: Kind, name: &str) {
        let mut of_name: Vec<Word> = Vec::new();
        for word in content(name).take(MAX_WORDS) {
            let stem = self.normal.stem(&word);
            // "#number" and "#time" are said in every other request.
            if stem.starts_with('#') || of_name.iter().any(|known| *known.stem == stem) {
                continue;
            }
            let counts = self.usual.counts(kind, &stem);
            of_name.push(Word {
                sound: self.normal.sound(&word).into(),
                stem: stem.into(),
                counts,
            });
        }
        if of_name.is_empty() {
            return;
        }
        // Of people in the address book it is known already that they write, and they are talked about in other requests, too.
        let stems = || of_name.iter().map(|word| &word.stem);
        let same = |other: &Name| {
            other.kind == Kind::Contact && stems().eq(other.words.iter().map(|word| &word.stem))
        };
        if kind == Kind::Sender {
            let first = of_name.first().and_then(|word| self.stems.get(&word.stem));
            if first.into_iter().flatten().any(|at| same(&self.names[*at])) {
                return;
            }
        }
        let at = self.names.len();
        for word in &of_name {
            self.stems.entry(Arc::clone(&word.stem)).or_default().push(at);
            if word.sound.len() >= MIN_SOUND {
                self.sounds.entry(Arc::clone(&word.sound)).or_default().push(at);
            }
        }
        let text = plain::one_line(name, MAX_NAME).into();
        self.names.push(Name {
            kind,
            text,
            words: of_name,
        });
    }

    /// What the names in these words speak for; nothing when no name is in them.
    pub fn lifts(&self, said: &str) -> Lifts {
        let mut lifts = Lifts::new();
        for (name, lift) in self.said_in(said) {
            let lift = lift.min(name.kind.most());
            if lift > 1.0 {
                for tools in name.kind.tools() {
                    let most = lifts.entry(*tools).or_insert(lift);
                    *most = most.max(lift);
                }
            }
        }
        lifts
    }

    /// The names of this kind that these words hold as a whole, without those that are a part of another, or nothing when there are none or too many.
    pub fn whole(&self, kind: Kind, said: &str) -> Vec<&str> {
        let mut whole: Vec<&Name> = self
            .said_in(said)
            .filter(|(name, lift)| name.kind == kind && *lift >= FAINT && *lift != PART)
            .map(|(name, _)| name)
            .collect();
        // "Lunch with Anna" was said where "Lunch" is there, too.
        let all = whole.clone();
        whole.retain(|name| !all.iter().any(|other| name.is_part_of(other)));
        let mut names: Vec<&str> = whole.iter().map(|name| &*name.text).collect();
        names.sort_unstable();
        names.dedup();
        match names.len() > MOST_ALIKE {
            true => Vec::new(),
            false => names,
        }
    }

    /// Whether a word of these stands in a name of this kind.
    pub fn touches(&self, kind: Kind, text: &str) -> bool {
        self.said_in(text).any(|(name, _)| name.kind == kind)
    }

    /// The names of which something was said, and how much that makes likelier.
    fn said_in(&self, said: &str) -> impl Iterator<Item = (&Name, f32)> {
        let (stems, sounds) = self.stems_and_sounds(said);
        let by_stem = stems.iter().filter_map(|stem| self.stems.get(stem.as_str()));
        let by_sound = sounds.iter().filter_map(|sound| self.sounds.get(sound.as_str()));
        let candidates: BTreeSet<usize> = by_stem.chain(by_sound).flatten().copied().collect();
        let names = candidates.into_iter().filter_map(|at| self.names.get(at));
        names.map(move |name| (name, name.lift(&stems, &sounds)))
    }

    /// The words that could name something, as they are looked up. Digits and letters of other scripts have no sound.
    fn stems_and_sounds(&self, text: &str) -> (HashSet<String>, HashSet<String>) {
        let words: Vec<String> = content(text).collect();
        let stems = words.iter().map(|word| self.normal.stem(word)).collect();
        let sounds = words.iter().map(|word| self.normal.sound(word));
        (stems, sounds.filter(|sound| sound.len() >= MIN_SOUND).collect())
    }

    /// Names that somebody who hears the person should expect, at most so many: of people, calendars, lists and programs, in this order.
    /// What is only made of words that tools' own texts use is heard rightly without.
    pub fn to_expect(&self, most: usize) -> impl Iterator<Item = &str> {
        const KINDS: [Kind; 6] = [
            Kind::Contact,
            Kind::Calendar,
            Kind::List,
            Kind::App,
            Kind::Shortcut,
            Kind::Sender,
        ];
        let of = |kind| self.names.iter().filter(move |name| name.kind == kind);
        KINDS
            .into_iter()
            .flat_map(of)
            .filter(|name| name.words.iter().any(|word| word.counts > USUAL))
            .map(|name| &*name.text)
            .take(most)
    }

    /// How many names there are.
    pub fn len(&self) -> usize {
        self.names.len()
    }

    /// Whether nothing has a name.
    pub fn is_empty(&self) -> bool {
        self.names.is_empty()
    }
}

impl std::fmt::Debug for Known {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        // Never the names themselves: logs carry no content.
        write!(f, "Known({} names)", self.len())
    }
}

impl Name {
    /// Whether the other has all words of this one, and more.
    fn is_part_of(&self, other: &Name) -> bool {
        let there = |word: &Word| other.words.iter().any(|of_other| of_other.stem == word.stem);
        self.words.len() < other.words.len() && self.words.iter().all(there)
    }

    fn lift(&self, stems: &HashSet<String>, sounds: &HashSet<String>) -> f32 {
        let said = |word: &&Word| stems.contains(&*word.stem) || sounds.contains(&*word.sound);
        let all: f32 = self.words.iter().map(|word| word.counts).sum();
        let here: f32 = self.words.iter().filter(said).map(|word| word.counts).sum();
        let whole = self.words.iter().all(|word| said(&word));
        match whole {
            // Two usual words together are as good as a telling one: "tax return".
            true if here >= 2.0 * USUAL => WHOLE,
            true => FAINT,
            false if here >= 1.0 && here >= ENOUGH * all => PART,
            false => 1.0,
        }
    }
}

/// The words that could name something.
fn content(text: &str) -> impl Iterator<Item = String> {
    words::split(text)
        .into_iter()
        .filter(|word| word.chars().count() > 2 && !words::is_stop_word(word))
}

#[cfg(test)]
mod tests {
    use std::sync::LazyLock;

    use proptest::prelude::*;
    use serde_json::json;

    use super::*;
    use crate::testing::{ctx, run, said};

    fn usual() -> Arc<Usual> {
        static USUAL: LazyLock<Arc<Usual>> = LazyLock::new(|| {
            let docs: Vec<Doc> = crate::ALL.iter().map(Doc::from).collect();
            Arc::new(Usual::of(&docs))
        });
        Arc::clone(&USUAL)
    }

    pub(super) fn known(names: &[(Kind, &str)]) -> Known {
        Known::of(names.iter().copied(), usual())
    }

    #[test]
    fn a_name_speaks_for_the_tools_of_its_kind() {
        let known = known(&[
            (Kind::Event, "Climbing with Tom"),
            (Kind::Reminder, "Tax return"),
            (Kind::Note, "Boiler pressure"),
            (Kind::Contact, "Tom Whitfield"),
            (Kind::Contact, "Nina Castellano"),
            (Kind::Sender, "Gadget Weekly"),
            (Kind::Sender, "Tom Whitfield"),
        ]);
        let check = |said: &str, expect: &[(&str, f32)]| {
            let lifts: Vec<(&str, f32)> = known.lifts(said).into_iter().collect();
            assert_eq!(lifts, expect, "{said}");
        };
        let person = [("contacts.", LOOSELY), ("mail.", LOOSELY), ("messages.", LOOSELY)];
        // Tom has a card, too, and people are talked about in all kinds of requests.
        let climbing = [&[("calendar.", WHOLE)][..], &person].concat();
        check("scrap the climbing with Tom", &climbing);
        check("did Tom Whitfield write", &person);
        // One of the tools' examples is about another Nina.
        check("I need Nina's mobile", &person);
        check("scrap the climbing", &[("calendar.", PART)]);
        check(
            "show everything Gadget Weekly has ever sent me",
            &[("mail.", PART)],
        );
        // As a recogniser may write it.
        check("tick of the tacks return", &[("reminders.", WHOLE)]);
        check("what did the boiler say", &[("notes.", PART)]);
        check("play some music", &[]);
        check("", &[]);
    }

    #[test]
    fn a_name_that_was_said_as_a_whole_is_what_is_meant() {
        let known = known(&[
            (Kind::Event, "Lunch with Anna"),
            (Kind::Event, "Lunch"),
            (Kind::Event, "Anna's birthday party"),
            (Kind::List, "Shopping"),
            (Kind::Note, "Lunch"),
        ]);
        let check = |kind, said: &str, expect: &[&str]| assert_eq!(known.whole(kind, said), expect, "{said}");
        check(
            Kind::Event,
            "make my lunch with Anna last until three",
            &["Lunch with Anna"],
        );
        check(Kind::Event, "move lunch to one", &["Lunch"]);
        check(
            Kind::Event,
            "call lunch with anna the anna birthday party",
            &["Anna's birthday party", "Lunch with Anna"],
        );
        check(Kind::Event, "move the birthday to one", &[]);
        check(Kind::List, "put milk on the shopping list", &["Shopping"]);
        check(Kind::List, "put milk on the list", &[]);
    }

    #[test]
    fn a_player_that_runs_is_named_by_either_of_its_names() {
        let known = known(&[
            (Kind::Player, "VLC media player"),
            (Kind::Player, "vlc"),
            (Kind::Player, "Spotify"),
            (Kind::Player, "Rhythmbox"),
            (Kind::App, "Spotify"),
        ]);
        for (said, expect) in [
            ("pause vlc", &["vlc"][..]),
            ("stop the VLC media player", &["VLC media player"]),
            ("next song on spotify", &["Spotify"]),
            // As a recogniser may write it.
            ("go on with rhythm box", &[]),
            ("skip this on rithmbox", &["Rhythmbox"]),
            ("play something else", &[]),
            ("which media are there", &[]),
        ] {
            assert_eq!(known.whole(Kind::Player, said), expect, "{said}");
        }
        // It may be meant as what plays and as what is opened, and neither outweighs the other.
        let both = known.lifts("spotify");
        assert_eq!(both["media."], both["system.open_app"]);
        assert_eq!(known.lifts("quieter please"), Lifts::new());
        assert_eq!(
            known.to_expect(10).collect::<Vec<_>>(),
            Vec::<&str>::new(),
            "others chose these names"
        );
    }

    #[test]
    fn usual_words_and_values_say_little() {
        let known = known(&[
            (Kind::Event, "Meeting"),
            (Kind::Event, "Monday 9:30"),
            (Kind::Reminder, "Call the dentist about the reminder list"),
        ]);
        // "Meeting" stands in the tools' own examples; of the reminder no telling word was said.
        assert_eq!(
            known.lifts("when is the meeting"),
            Lifts::from([("calendar.", FAINT)])
        );
        assert_eq!(known.lifts("what is on monday at 9:30"), Lifts::new());
        assert_eq!(known.lifts("call mum"), Lifts::new());
        assert_eq!(known.len(), 2);
    }

    #[tokio::test]
    async fn what_the_person_has_is_known_by_its_name() {
        let root = tempfile::tempdir().unwrap();
        let ctx = ctx(root.path());
        for (tool, arguments) in [
            (
                "calendar.create_event",
                json!({"title": "Zumba", "start": "tomorrow at five"}),
            ),
            ("reminders.create", json!({"title": "Defrost the freezer"})),
            ("lists.add", json!({"items": ["chickpeas"], "list": "camping"})),
            (
                "timers.set",
                json!({"duration": "ten minutes", "label": "sourdough"}),
            ),
            (
                "alarms.set",
                json!({"time": "six in the morning", "label": "rowing"}),
            ),
        ] {
            said(run(tool, arguments, &ctx).await);
        }
        let known = Known::read(&ctx, usual()).await.unwrap();
        for (words, tools, lift) in [
            ("zumba is off", "calendar.", WHOLE),
            ("the freezer is defrosted", "reminders.", WHOLE),
            ("camping needs more", "lists.", WHOLE),
            ("we have chickpeas", "lists.", LOOSELY),
            ("how is the sourdough", "timers.", WHOLE),
            ("no rowing tomorrow", "alarms.", WHOLE),
        ] {
            assert_eq!(known.lifts(words), Lifts::from([(tools, lift)]), "{words}");
        }
    }

    #[test]
    fn many_names_are_read_in_bounds() {
        let long = "zebra ".repeat(10_000);
        let known = known(&[
            (Kind::File, &long),
            (Kind::File, ""),
            (Kind::File, "\u{0}\u{202e}"),
        ]);
        assert_eq!(known.lifts("the zebra"), Lifts::from([("files.", WHOLE)]));
    }

    proptest! {
        #[test]
        fn lifts_are_bounded_whatever_is_said(name in ".{0,80}", said in ".{0,200}") {
            let known = known(&[(Kind::Event, &name), (Kind::App, &name)]);
            for lift in known.lifts(&said).values() {
                prop_assert!((1.0..=WHOLE).contains(lift));
            }
        }
    }
}
