//! Tables of what is written and what is said.

use std::time::{Duration, Instant};

use proptest::prelude::*;

use super::*;

#[track_caller]
fn check(rows: &[(&str, &str)]) {
    let wrong: Vec<String> = rows
        .iter()
        .map(|(text, expect)| (text, words(&lines::lines(text, 10_000).join(" ")), expect))
        .filter(|(_, said, expect)| said != *expect)
        .map(|(text, said, expect)| format!("{text:?}\n   is {said:?}\n  not {expect:?}"))
        .collect();
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn times_are_said_by_the_clock() {
    check(&[
        ("at 14:30", "at two thirty PM"),
        ("at 09:00, all day", "at nine AM, all day"),
        ("tomorrow at 9:05.", "tomorrow at nine oh five AM."),
        ("12:00 or 00:00", "noon or midnight"),
        ("00:15", "twelve fifteen AM"),
        ("24:00", "midnight"),
        ("14:30:15", "two thirty PM and fifteen seconds"),
        ("from 09:30 to 10:30", "from nine thirty to ten thirty AM"),
        ("09:30-14:00", "nine thirty AM to two PM"),
        ("11:00–12:00", "eleven AM to noon"),
        ("9:30 am - 10 am", "nine thirty to ten AM"),
        ("at 5pm or 5 p.m. sharp", "at five PM or five PM sharp"),
        ("at 12 am", "at midnight"),
        ("14:30 until 16:00", "two thirty PM until four PM"),
        ("it ended 3:1", "it ended three to one"),
        ("at 9 o'clock", "at nine o'clock"),
        ("25:00 and 12:60", "twenty-five to zero zero and twelve to sixty"),
    ]);
}

#[test]
fn dates_are_said_as_days() {
    check(&[
        ("2026-11-20", "the twentieth of November twenty twenty-six"),
        (
            "2026-11-20T14:30:00+01:00",
            "the twentieth of November twenty twenty-six at two thirty PM",
        ),
        ("20 Nov", "the twentieth of November"),
        (
            "on Tuesday 1 December at 09:30",
            "on Tuesday the first of December at nine thirty AM",
        ),
        ("the 3rd of May 2008", "the third of May two thousand and eight"),
        ("Nov 20, 2026", "November twentieth twenty twenty-six"),
        ("Nov. 20", "November twentieth"),
        ("May 5th", "May fifth"),
        ("Fri 20 Nov.", "Friday the twentieth of November."),
        ("in Nov 2026", "in November twenty twenty-six"),
        (
            "20/11/2026 or 11/20/2026",
            "the twentieth of November twenty twenty-six or the twentieth of November twenty twenty-six",
        ),
        ("1/2/2026", "the first of the second, twenty twenty-six"),
        (
            "in 1984 and since 2000",
            "in nineteen eighty-four and since two thousand",
        ),
        ("the 1990s", "the nineteen nineties"),
        ("2019-2021", "twenty nineteen to twenty twenty-one"),
        ("2026-13-40", "2026-13-40"),
        ("5 may be enough", "five may be enough"),
    ]);
}

#[test]
fn numbers_are_said_in_words() {
    check(&[
        (
            "0 1 10 19 20 21 99",
            "zero one ten nineteen twenty twenty-one ninety-nine",
        ),
        (
            "100, 105, 110",
            "one hundred, one hundred and five, one hundred and ten",
        ),
        (
            "1,234 or 1001",
            "one thousand two hundred and thirty-four or one thousand and one",
        ),
        ("1000000", "one million"),
        (
            "12,345,678",
            "twelve million three hundred and forty-five thousand six hundred and seventy-eight",
        ),
        ("3.5 and -0.25", "three point five and minus zero point two five"),
        ("−4", "minus four"),
        (
            "1st 2nd 3rd 12th 20th 21st 101st",
            "first second third twelfth twentieth twenty-first one hundred and first",
        ),
        ("3-5 people", "three to five people"),
        ("1/2, 3/4", "one half, three quarters"),
        ("10/12", "ten slash twelve"),
        ("version 1.2.3", "version one point two point three"),
        ("#5 and #home_alone", "number five and hashtag home alone"),
        ("No. 7", "number seven"),
        ("a 20-minute walk", "a twenty-minute walk"),
        ("Boeing A320, MP3, COVID-19", "Boeing A320, MP3, COVID-nineteen"),
        (
            "12345678901234567890",
            "one two three four five six seven eight nine zero one two three four five six seven eight nine zero",
        ),
        ("007", "zero zero seven"),
        (
            "+49 30 123456",
            "plus four nine, three zero, one two three four five six",
        ),
        (
            "0170-1234567",
            "zero one seven zero one two three four five six seven",
        ),
        ("1,23", "1,23"),
        ("3 * 4 = 12", "three times four is twelve"),
        ("2+2", "2+2"),
    ]);
}

#[test]
fn units_and_money_are_said_in_full() {
    check(&[
        ("5 km, 1 km", "five kilometres, one kilometre"),
        (
            "21°C or 70 °F",
            "twenty-one degrees Celsius or seventy degrees Fahrenheit",
        ),
        ("50% off", "fifty percent off"),
        ("10-15 km/h", "ten to fifteen kilometres an hour"),
        ("3.5 GB free", "three point five gigabytes free"),
        ("1h30m", "one hour thirty minutes"),
        ("90 min.", "ninety minutes."),
        ("5 m wide", "five metres wide"),
        ("in 2000 m", "in two thousand metres"),
        ("I have 5 apples", "I have five apples"),
        ("€12.50", "twelve euros fifty"),
        ("$1", "one dollar"),
        ("$0.99", "ninety-nine cents"),
        ("£3.05", "three pounds and five pence"),
        ("12,50 €", "twelve euros fifty"),
        ("5 EUR or USD 5", "five euros or five dollars"),
        ("$1.2 million", "one point two million dollars"),
        ("-$5.00", "minus five dollars"),
        ("¥500", "five hundred yen"),
        (
            "1.234,50 €",
            "one thousand two hundred and thirty-four euros fifty",
        ),
    ]);
}

#[test]
fn addresses_are_said_short() {
    check(&[
        ("See https://www.example.org/a/b?c=d#e.", "See example dot org."),
        ("https://user:pass@evil.example:8080/x", "evil dot example"),
        ("https://bank.example@evil.example/", "evil dot example"),
        (
            "Mail <anna.meyer@example.org>, please",
            "Mail anna dot meyer at example dot org, please",
        ),
        ("/home/anna/Documents/tax_2026.pdf", "tax 2026 dot pdf"),
        ("~/.config/tiro/config.toml", "config dot toml"),
        ("open notes.md", "open notes dot md"),
        (
            "cc324af070c2ecbfd324a30884d2f951a7ff756aba85cb811a6ec436933bb046",
            "a long code",
        ),
        ("550e8400-e29b-41d4-a716-446655440000", "a long code"),
        ("and/or he/she", "and or he she"),
        ("@anna", "@anna"),
    ]);
}

#[test]
fn markup_and_pictures_are_left_out() {
    check(&[
        ("# Today", "Today"),
        ("**Bold**, _slanted_ and `code`", "Bold, slanted and code"),
        ("snake_case stays", "snake case stays"),
        ("[the site](https://example.org/x) is up", "the site is up"),
        ("![a cat](cat.png)", "a cat"),
        ("Done ✅ 🎉!", "Done!"),
        ("👨‍👩‍👧 at home", "at home"),
        ("> quoted", "quoted"),
        ("- [x] milk", "milk"),
        ("Tea & cake — now", "Tea and cake now"),
        ("“Fine” quotes", "\"Fine\" quotes"),
        ("Anna → Bob", "Anna to Bob"),
        ("wait…", "wait."),
        ("what?!!!", "what?!"),
        ("a < b, b >= c", "a less than b, b at least c"),
        (
            "e.g. tea, i.e. hot, etc.",
            "for example tea, that is hot, and so on.",
        ),
        ("Dr. Meyer vs. Prof. Smith", "Doctor Meyer versus Professor Smith"),
    ]);
}

#[test]
fn lists_are_cut_and_lines_are_sentences() {
    let list: String = (1..=12).map(|n| format!("- item {n}\n")).collect();
    assert_eq!(
        aloud(&format!("You have:\n{list}\nThat is all"), 10_000),
        "You have: item one. item two. item three. item four. item five. And seven more. That is all."
    );
    let few: String = (1..=6).map(|n| format!("{n}. item\n")).collect();
    assert_eq!(aloud(&few, 10_000), ["item."; 6].join(" "), "one more is no more");
    assert_eq!(
        aloud("Look:\n```\nfn main() {}\n```\nDone!", 10_000),
        "Look: There is some code. Done!"
    );
    assert_eq!(
        aloud("| a | b |\n|---|---|\n| 1 | 2 |", 10_000),
        "a, b. one, two."
    );
}

#[test]
fn what_is_hostile_becomes_harmless() {
    assert_eq!(
        aloud("<speak><break time=\"100s\"/>Hi <b>there</b></speak>", 1000),
        "Hi there."
    );
    assert_eq!(aloud("a\0b\u{1b}[31mc\u{202e}d\u{7}", 1000), "ab 31mcd.");
    assert_eq!(
        aloud("say [[volm 0.0]] nothing", 1000),
        "say volm zero point zero nothing."
    );
    // What markup holds is no way around that.
    assert_eq!(aloud("mail <anna@[[volm]]> now", 1000), "mail anna@ volm now.");
    assert_eq!(aloud("[a [[volm](https://x.example) b", 1000), "a volm b.");
    assert_eq!(aloud("[<a@[[volm>](x) b", 1000), "a@ volm b.");
    assert_eq!(aloud("[**Open** it](x) now", 1000), "Open it now.");
    assert_eq!(aloud("\r\n.\r\nQUIT\r\n", 1000), "QUIT.");
    assert_eq!(aloud("", 1000), "");
    assert_eq!(aloud("🎉🎉🎉", 1000), "");
    let began = Instant::now();
    for seed in [
        "<", "[", "![", "a ", "1", "1 ", "- x\n", "((((", "1.", "**_", "x@", "http://", "€", "`", "1:",
    ] {
        let text = seed.repeat((1 << 20) / seed.len());
        let spoken = aloud(&text, 100_000);
        assert!(spoken.len() < 2_000_000, "{seed:?}: {}", spoken.len());
    }
    assert!(began.elapsed() < Duration::from_secs(60), "{:?}", began.elapsed());
}

#[test]
fn a_long_answer_ends_with_a_sentence() {
    let long = "This is a sentence of some length that says little. ".repeat(200);
    let spoken = answer(&long);
    assert!(
        spoken.ends_with("says little. There is more; I only show it."),
        "{spoken}"
    );
    assert!(spoken.chars().count() < ANSWER + 100);
    assert_eq!(answer("It is 14:30."), "It is two thirty PM.");
    assert_eq!(answer(""), "");
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn it_never_breaks_and_never_steers(text in "([-a-z0-9.,:/@#*_<>\\[\\]()$€%+ \n\t]|\\PC|[\u{0}-\u{1f}]){0,200}") {
        let spoken = aloud(&text, 10_000);
        prop_assert!(!spoken.chars().any(char::is_control), "{:?}", spoken);
        prop_assert!(!spoken.contains(['\n', '[']) && spoken.trim() == spoken, "{:?}", spoken);
        prop_assert!(spoken.len() <= 40 * text.len() + 40, "{:?}", spoken);
    }
}
