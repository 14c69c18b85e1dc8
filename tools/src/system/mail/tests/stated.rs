//! Messages of the evaluation data of which the source states in its own tests what they are: who wrote to whom about what,
//! which story is in them, how many files are attached. (zbateson/mail-mime-parser, EmailFunctionalTest.) The stories are taken
//! out of two messages that hold them as they are, so no parser is on the way from them to what is compared.

use super::*;

/// What a message tells.
#[derive(Clone, Copy)]
enum Story {
    /// In English.
    Hare,
    /// In German, with its umlauts in every encoding that there is.
    Frogs,
    /// The same, and words behind it.
    FrogsAndMore,
    /// The same, between what two pictures in it are called.
    FrogsBetween,
    /// The source says nothing of it, or it has no text.
    Unsaid,
}

use Story::{Frogs, FrogsAndMore, FrogsBetween, Hare, Unsaid};

const DOUG: &str = "Doug Sauder";
const OUTLOOK: &str = "Test message from Microsoft Outlook 00";
const NETSCAPE: &str = "Test message from Netscape Communicator 4.7";
const FROGS: &str = "Die Hasen und die Frösche";
const FROGS_00: &str = "Die Hasen und die Frösche (Microsoft Outlook 00)";

/// File, sender, recipient, subject, story, attachments.
type Stated = (
    &'static str,
    (&'static str, &'static str),
    (&'static str, &'static str),
    &'static str,
    Story,
    usize,
);

const AT_HOME: (&str, &str) = (DOUG, "doug@example.com");
const AT_WORK: (&str, &str) = (DOUG, "dwsauder@example.com");
const ON_LINUX: (&str, &str) = (DOUG, "doug@penguin.example.com");
const JUERGEN: (&str, &str) = ("Jürgen Schmürgen", "schmuergen@example.com");
const JUERGEN_J: (&str, &str) = ("Jürgen Schmürgen", "jschmuergen@example.com");
const HEINZ: (&str, &str) = ("Heinz Müller", "mueller@example.com");
const JOE: (&str, &str) = ("Joe Blow", "blow@example.com");
const JOE_J: (&str, &str) = ("Joe Blow", "jblow@example.com");
const NOBODY: (&str, &str) = ("", "");
const SENDER: (&str, &str) = ("Test Sender", "sender@email.test");
const RECIPIENT: (&str, &str) = ("Test Recipient", "recipient@email.test");

const STATED: &[Stated] = &[
    ("m0002", AT_HOME, JUERGEN, FROGS_00, Frogs, 0),
    ("m0004", AT_HOME, JUERGEN, FROGS_00, Frogs, 0),
    ("m0006", AT_HOME, JOE_J, FROGS_00, Frogs, 0),
    ("m0008", AT_HOME, HEINZ, FROGS_00, Frogs, 0),
    ("m0010", AT_HOME, HEINZ, FROGS_00, Frogs, 0),
    ("m0012", AT_HOME, JOE_J, OUTLOOK, Unsaid, 1),
    ("m0014", AT_HOME, JOE_J, OUTLOOK, Hare, 0),
    ("m0016", AT_HOME, JOE_J, OUTLOOK, Hare, 2),
    ("m0018", AT_HOME, JOE_J, OUTLOOK, Hare, 3),
    ("m0020", AT_HOME, JOE_J, OUTLOOK, Hare, 2),
    (
        "m0024",
        ("John DOE", "blablafakeemail@provider.fr"),
        ("list-name", "list-name@list-domain.org"),
        "Persil, abeilles ...",
        Unsaid,
        1,
    ),
    (
        "m1002",
        AT_WORK,
        HEINZ,
        "Die Hasen und die Frösche (Netscape Communicator 4.7)",
        Frogs,
        0,
    ),
    ("m1004", AT_WORK, JOE, NETSCAPE, Frogs, 2),
    ("m1006", AT_WORK, JUERGEN, NETSCAPE, Frogs, 4),
    ("m1008", AT_WORK, JOE, NETSCAPE, Hare, 0),
    ("m1012", AT_WORK, JUERGEN, FROGS, Frogs, 0),
    ("m1014", AT_WORK, JOE, NETSCAPE, Hare, 3),
    ("m2002", AT_WORK, HEINZ, FROGS, Frogs, 0),
    ("m2004", AT_WORK, HEINZ, FROGS, FrogsBetween, 2),
    ("m2006", AT_WORK, HEINZ, FROGS, Frogs, 2),
    ("m2008", AT_WORK, HEINZ, FROGS, FrogsAndMore, 4),
    ("m2010", AT_WORK, JUERGEN_J, "The Hare and the Tortoise", Hare, 2),
    ("m2012", AT_WORK, JUERGEN_J, FROGS, Frogs, 3),
    ("m2014", AT_WORK, JUERGEN_J, FROGS, Frogs, 0),
    ("m2016", AT_WORK, JOE, "The Hare and the Tortoise", Hare, 0),
    ("m3002", ON_LINUX, JUERGEN, FROGS, Frogs, 0),
    ("m3004", ON_LINUX, JOE, FROGS, Unsaid, 1),
    ("m4001", AT_HOME, JUERGEN, FROGS_00, Frogs, 0),
    ("m4003", AT_HOME, JOE_J, OUTLOOK, Hare, 0),
    ("m4005", AT_HOME, HEINZ, OUTLOOK, Hare, 1),
    ("m4007", SENDER, RECIPIENT, "Test multipart-digest", Unsaid, 1),
    // Its text is in Latin-1; what says so is broken in the one, and says UTF-8 in the other.
    ("github-102-02", AT_HOME, JUERGEN, FROGS_00, Frogs, 0),
    ("m1010", AT_WORK, JOE, NETSCAPE, Frogs, 0),
    ("m1016", AT_WORK, JOE, NETSCAPE, Hare, 1),
    ("m0022", ("", "test@test.sk"), NOBODY, "long att", Unsaid, 1),
    (
        "invalid-charset",
        AT_HOME,
        JUERGEN,
        "Test invalid charset",
        Hare,
        0,
    ),
];

/// Letters and signs without what lies between them: where lines are broken is nobody's text.
fn words(text: &str) -> String {
    text.split_whitespace().collect()
}

/// From the body of a message that is written as it is read, in Latin-1, up to these words.
fn taken(bytes: &[u8], last: &str) -> String {
    let text: String = bytes.iter().copied().map(char::from).collect();
    let (_, body) = text
        .replace('\r', "")
        .split_once("\n\n")
        .map(|(a, b)| (a.len(), b.to_owned()))
        .unwrap();
    let end = body.find(last).unwrap() + last.len();
    words(&body[..end])
}

#[test]
fn messages_are_what_their_source_states() {
    let Some(folder) = data("mail/zbateson") else {
        return;
    };
    let all = files(&folder);
    let named = |name: &str| -> &[u8] {
        let end = format!("-{name}.txt");
        let mut fits = all
            .iter()
            .filter(|(path, _)| path.to_string_lossy().ends_with(&end));
        &fits.next().unwrap().1
    };
    let hare = taken(named("m0018"), "wins the race.");
    let frogs = taken(named("github-102-02"), "als wir.\"");
    assert!(hare.starts_with("TheHareandtheTortoise") && frogs.starts_with("DieHasenunddieFrösche"));
    let mut wrong = Vec::new();
    for (name, from, to, subject, story, attachments) in STATED {
        let mut check = |what: &str, got: &str, expect: &str| {
            if got != expect {
                wrong.push(format!("{name}: {what} is {got:?} instead of {expect:?}"));
            }
        };
        let letter = Letter::read(named(name), NOON).unwrap();
        let person =
            |person: Option<&Person>| person.map_or(String::new(), |p| format!("{} <{}>", p.name, p.address));
        let stated = |(name, address): &(&str, &str)| format!("{name} <{address}>");
        check("the sender", &person(Some(&letter.head.from)), &stated(from));
        let to = if *to == NOBODY { String::new() } else { stated(to) };
        check("the recipient", &person(letter.head.to.first()), &to);
        check("the subject", &letter.head.subject, subject);
        let text = words(&letter.text);
        match story {
            Hare => check("the text", &text, &hare),
            Frogs => check("the text", &text, &frogs),
            FrogsAndMore => check("the beginning of the text", cut(&text, frogs.len()), &frogs),
            FrogsBetween => check(
                "the middle of the text",
                text.trim_start_matches("blueball.png")
                    .trim_end_matches("redball.png"),
                &frogs,
            ),
            Unsaid => {}
        }
        check(
            "the number of attachments",
            &letter.attachments.len().to_string(),
            &attachments.to_string(),
        );
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    println!("{} messages are what their source states", STATED.len());
}

/// What the tests of other sources state.
const OTHERS: &str = include_str!("stated.tsv");

/// Files beside the messages of the sources that are none: licences, where all of it comes from, texts that messages hold.
pub const NO_MAIL: [&str; 7] = [
    "accfdb-LICENSE.txt",
    "ec709e-SOURCE.txt",
    "f5257c-message.txt",
    "070c49-SOURCE.txt",
    "22724d-farmerandstork.txt",
    "2599df-aaa.txt",
    "dec215-wolfandlamb.txt",
];

/// A name that mail programs give to a signature, which people do not call an attachment.
const SIGNATURES: [&str; 2] = ["smime.p7s", "signature.asc"];

#[test]
fn messages_are_what_other_sources_state() {
    let Some(folder) = data("mail") else {
        return;
    };
    let all: std::collections::HashMap<String, Vec<u8>> = files(&folder)
        .into_iter()
        .filter_map(|(path, bytes)| Some((path.file_name()?.to_str()?.to_owned(), bytes)))
        .collect();
    let (mut wrong, mut stated, mut facts) = (Vec::new(), 0, 0);
    for line in OTHERS.lines().filter(|line| !line.starts_with('#')) {
        let fields: Vec<&str> = line.split('\t').collect();
        let [name, from, subject, begins, length, attached, ref more @ ..] = fields[..] else {
            panic!("{line}");
        };
        let bytes = all.get(name).unwrap_or_else(|| panic!("{name} is gone"));
        let letter = match Letter::read(bytes, NOON) {
            Ok(letter) => letter,
            Err(why) => {
                wrong.push(format!("{name}: {why}"));
                continue;
            }
        };
        let mut check = |what: &str, got: &str, expect: &str| {
            facts += usize::from(expect != "-");
            if expect != "-" && got != expect {
                wrong.push(format!("{name}: {what} is {got:?} instead of {expect:?}"));
            }
        };
        let text = words(&letter.text);
        let count: usize = begins.chars().count();
        check("the sender", &letter.head.from.address, from);
        check("the subject", &letter.head.subject, subject);
        check("the text", &text.chars().take(count).collect::<String>(), begins);
        check("its length", &text.chars().count().to_string(), length);
        let copies: Vec<&str> = letter
            .head
            .cc
            .iter()
            .map(|person| person.address.as_str())
            .collect();
        check("who gets a copy", &copies.join("|"), more.first().unwrap_or(&"-"));
        match attached.parse::<usize>() {
            Ok(_) => check(
                "the number of attachments",
                &letter.attachments.len().to_string(),
                attached,
            ),
            Err(_) => {
                let names = |names: &mut dyn Iterator<Item = &str>| names.collect::<Vec<_>>().join("|");
                let expect = names(&mut attached.split('|').filter(|name| !SIGNATURES.contains(name)));
                let got = names(&mut letter.attachments.iter().map(|file| file.name.as_str()));
                check(
                    "what is attached",
                    if attached == "-" { "-" } else { &got },
                    &expect,
                );
            }
        }
        stated += 1;
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    assert!(stated > 125 && facts > 270, "{stated} messages, {facts} facts");
    println!("{facts} facts of {stated} messages are as their sources state");
}
