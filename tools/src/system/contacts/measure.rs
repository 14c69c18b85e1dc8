//! How well misheard names are found, and how fast: numbers over made-up books, printed and held by floors.
//!
//! Noise is what recognisers do to names that they do not know, as rules on spelling: another vowel, another spelling of
//! the same sound, a doubled or a single letter, a silent letter more or less, a word split or two merged. Which rules
//! strike is drawn from a seeded generator. Nothing was tuned on this noise; floors are what was seen, rounded down.

use std::{
    path::PathBuf,
    sync::Arc,
    time::{Duration, Instant},
};

use super::*;

/// Frequent given names of the United States (Social Security Administration, all years; public domain).
const GIVEN: &str = "james mary robert patricia john jennifer michael linda david elizabeth william barbara richard \
    susan joseph jessica thomas sarah christopher karen charles lisa daniel nancy matthew sandra anthony betty mark \
    ashley donald emily steven kimberly andrew margaret paul donna joshua michelle kenneth carol kevin amanda brian \
    melissa timothy deborah ronald stephanie jason rebecca george sharon edward laura jeffrey cynthia ryan dorothy \
    jacob amy nicholas kathleen gary angela eric shirley jonathan emma stephen brenda larry pamela justin nicole scott \
    anna brandon samantha benjamin katherine samuel christine gregory helen alexander debra patrick rachel frank \
    carolyn raymond janet jack maria dennis catherine jerry heather";

/// Frequent family names there (Census Bureau, 2010; public domain).
const FAMILY: &str = "smith johnson williams brown jones garcia miller davis rodriguez martinez hernandez lopez \
    gonzalez wilson anderson thomas taylor moore jackson martin lee perez thompson white harris sanchez clark ramirez \
    lewis robinson walker young allen king wright scott torres nguyen hill flores green adams nelson baker hall rivera \
    campbell mitchell carter roberts gomez phillips evans turner diaz parker cruz edwards collins reyes stewart morris \
    morales murphy cook rogers gutierrez ortiz morgan cooper peterson bailey reed kelly howard ramos kim cox ward \
    richardson watson brooks chavez wood james bennett gray mendoza ruiz hughes price alvarez castillo sanders patel \
    myers long ross foster jimenez";

/// Spellings of the same or a near sound; either side may become the other.
const SOUNDS: &[(&str, &str)] = &[
    ("c", "k"),
    ("ck", "k"),
    ("ph", "f"),
    ("s", "z"),
    ("th", "t"),
    ("y", "ie"),
    ("ey", "y"),
    ("ee", "ea"),
    ("ll", "l"),
    ("tt", "t"),
    ("nn", "n"),
    ("ss", "s"),
    ("rr", "r"),
    ("j", "g"),
    ("x", "ks"),
    ("ai", "ay"),
    ("ei", "i"),
    ("ou", "oo"),
    ("wr", "r"),
    ("ch", "sh"),
    ("d", "t"),
    ("v", "w"),
    ("m", "n"),
    ("h", ""),
    ("e", "a"),
    ("i", "e"),
    ("o", "u"),
    ("a", "o"),
    ("er", "ar"),
    ("on", "en"),
];

/// A linear congruential generator (Knuth, MMIX), so that every machine draws the same.
struct Dice(u64);

impl Dice {
    fn roll(&mut self, sides: usize) -> usize {
        self.0 = self
            .0
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) as usize % sides
    }

    fn pick<'a>(&mut self, words: &[&'a str]) -> &'a str {
        words[self.roll(words.len())]
    }

    /// One rule on one place where it fits, if there is one.
    fn mishear(&mut self, name: &str) -> String {
        for _ in 0..20 {
            let (a, b) = SOUNDS[self.roll(SOUNDS.len())];
            let (from, to) = if self.roll(2) == 0 { (a, b) } else { (b, a) };
            let places: Vec<usize> = if from.is_empty() {
                Vec::new()
            } else {
                name.match_indices(from).map(|m| m.0).collect()
            };
            if places.is_empty() {
                continue;
            }
            let at = places[self.roll(places.len())];
            return format!("{}{to}{}", &name[..at], &name[at + from.len()..]);
        }
        name.to_owned()
    }

    /// A whole name as heard: one or two rules, and sometimes a blank more or less.
    fn hear(&mut self, name: &str) -> String {
        let mut heard = name.to_lowercase();
        for _ in 0..=self.roll(2) {
            heard = self.mishear(&heard);
        }
        match self.roll(10) {
            0 => heard.replacen(' ', "", 1),
            1 if heard.len() > 8 => format!("{} {}", &heard[..4], &heard[4..]).replace("  ", " "),
            _ => heard,
        }
    }
}

fn book(dice: &mut Dice, count: usize) -> Book {
    let given: Vec<&str> = GIVEN.split_whitespace().collect();
    let family: Vec<&str> = FAMILY.split_whitespace().collect();
    let mut names = std::collections::BTreeSet::new();
    while names.len() < count {
        let first = crate::system::speech::sentence(dice.pick(&given));
        let last = crate::system::speech::sentence(dice.pick(&family));
        names.insert(format!("{first} {last}"));
    }
    let contacts = names.into_iter().map(|name| {
        Arc::new(Contact {
            names: vec![(heard::Name::new(&name), 1.0)],
            name,
            ..Contact::default()
        })
    });
    Book {
        contacts: contacts.collect(),
        problems: Vec::new(),
    }
}

/// Whole names of a book of so many, misheard: right and alone; right among those that are asked about; wrong.
fn accuracy(count: usize, seed: u64) -> (f64, f64, f64) {
    let mut dice = Dice(seed);
    let book = book(&mut dice, count);
    let (mut alone, mut among, mut wrong) = (0, 0, 0);
    let rounds = 1000;
    for _ in 0..rounds {
        let meant = &book.contacts[dice.roll(book.contacts.len())];
        let said = dice.hear(&meant.name);
        let (_, found) = find(&book, &said, &[]);
        let right = found.iter().any(|c| c.name == meant.name);
        match (right, found.len()) {
            (true, 1) => alone += 1,
            (true, _) => among += 1,
            (false, 0) => {}
            (false, _) => wrong += 1,
        }
    }
    let share = |n: i32| f64::from(n) / f64::from(rounds);
    (share(alone), share(among), share(wrong))
}

#[test]
fn misheard_names_find_their_people() {
    for (count, floor) in [(200, 0.84), (2000, 0.73)] {
        let (alone, among, wrong) = accuracy(count, 20_261_122);
        println!(
            "{count} contacts: top-1 {:.1} %, asked among several {:.1} %, wrong {:.1} %, not found {:.1} %",
            100.0 * alone,
            100.0 * among,
            100.0 * wrong,
            100.0 * (1.0 - alone - among - wrong)
        );
        assert!(alone >= floor, "{count}: {alone}");
    }
}

/// The whole size with `TIRO_SCALE=1 cargo nextest run -p tools --no-capture thousands_of_cards`.
#[test]
fn thousands_of_cards_are_read_once_and_searched_in_time() {
    let home = tempfile::tempdir().unwrap();
    let count = if std::env::var_os("TIRO_SCALE").is_some() {
        20_000
    } else {
        1000
    };
    let mut dice = Dice(7);
    let given: Vec<&str> = GIVEN.split_whitespace().collect();
    let family: Vec<&str> = FAMILY.split_whitespace().collect();
    let folder: PathBuf = home.path().join("book");
    std::fs::create_dir(&folder).unwrap();
    for n in 0..count {
        let (first, last) = (dice.pick(&given), dice.pick(&family));
        let card = format!(
            "BEGIN:VCARD\r\nVERSION:4.0\r\nUID:{n}\r\nFN:{first} {last}\r\nN:{last};{first};;;\r\nTEL;TYPE=cell:+49 151 {n:07}\r\n\
             EMAIL:{first}.{last}{n}@example.org\r\nORG:Company {n}\r\nEND:VCARD\r\n"
        );
        std::fs::write(folder.join(format!("{n}.vcf")), card).unwrap();
    }
    let one = "BEGIN:VCARD\r\nVERSION:4.0\r\nFN:Siobhan Quigley\r\nEND:VCARD\r\n";
    std::fs::write(folder.join("one.vcf"), one).unwrap();
    // Until the stamps are settled, files are read anew.
    std::thread::sleep(Duration::from_millis(200));
    let started = Instant::now();
    let first = read(home.path()).unwrap();
    let cold = started.elapsed();
    let started = Instant::now();
    let second = read(home.path()).unwrap();
    let warm = started.elapsed();
    let kept = first
        .contacts
        .iter()
        .zip(&second.contacts)
        .filter(|(a, b)| Arc::ptr_eq(a, b))
        .count();
    assert_eq!(
        (first.contacts.len(), kept),
        (count + 1, count + 1),
        "nothing is read twice"
    );
    let mut times = Vec::new();
    for (heard, expect) in [
        ("shivon quigley", None),
        ("siobhan quigly", Some("Siobhan Quigley")),
        ("mary smith", None),
    ] {
        let started = Instant::now();
        let (_, found) = find(&second, heard, &[]);
        times.push(started.elapsed());
        if let Some(expect) = expect {
            assert_eq!(found[0].name, expect);
        }
    }
    println!(
        "{} cards: cold {cold:?}, warm {warm:?}, searches {times:?}",
        count + 1
    );
}
