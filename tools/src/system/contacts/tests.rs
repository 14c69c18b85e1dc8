//! Reading cards of all versions, refusing what is none, and changing real exports without touching what is not meant.

use proptest::prelude::*;

use super::*;

#[track_caller]
fn card(text: &str) -> Contact {
    let book = parse(text.as_bytes());
    assert_eq!((book.contacts.len(), &book.problems[..]), (1, &[][..]), "{text}");
    Contact::clone(&book.contacts[0])
}

#[test]
fn a_card_of_each_version_says_the_same() {
    let v4 = card(
        "BEGIN:VCARD\r\nVERSION:4.0\r\nFN:Anna Bell\r\nN:Bell;Anna;;;\r\nNICKNAME:Annie,Nan\r\n\
         TEL;VALUE=uri;TYPE=\"voice,cell\":tel:+49-151-5550101\r\nEMAIL;TYPE=work:anna@example.org\r\n\
         BDAY:--0503\r\nEND:VCARD\r\n",
    );
    assert_eq!(v4.name, "Anna Bell");
    assert_eq!(v4.nicknames, ["Annie", "Nan"]);
    assert_eq!(
        (v4.phones[0].label, v4.phones[0].value.as_str()),
        ("mobile", "+49-151-5550101")
    );
    assert_eq!(
        (v4.mails[0].label, v4.mails[0].value.as_str()),
        ("work", "anna@example.org")
    );
    assert_eq!(v4.birthday.unwrap().spoken(), "3 May");
    let v3 = card(
        "BEGIN:VCARD\nVERSION:3.0\nN:Bell;Anna;;Dr.;\nTEL;TYPE=CELL:+49 151 5550101\nBDAY:1980-05-03\n\
         ADR;TYPE=HOME:;;Main Street 1;Springfield;;12345;USA\nEND:VCARD\n",
    );
    assert_eq!(v3.name, "Dr. Anna Bell");
    assert_eq!(v3.phones[0].label, "mobile");
    assert_eq!(v3.birthday.unwrap().iso(), "1980-05-03");
    assert_eq!(v3.addresses[0].value, "Main Street 1, Springfield, 12345, USA");
    let v2 = card(
        "BEGIN:VCARD\nVERSION:2.1\nFN;CHARSET=UTF-8;ENCODING=QUOTED-PRINTABLE:J=C3=BCrgen\nTEL;CELL;VOICE:123456\n\
         BDAY:19800503\nEND:VCARD\n",
    );
    assert_eq!((v2.name.as_str(), v2.phones[0].label), ("Jürgen", "mobile"));
    assert_eq!(v2.birthday.unwrap().iso(), "1980-05-03");
}

#[test]
fn hostile_cards_are_bounded() {
    let long = format!(
        "BEGIN:VCARD\nVERSION:3.0\nFN:{}\nEND:VCARD\n",
        "x".repeat(100_000)
    );
    assert_eq!(card(&long).name.chars().count(), MAX_TEXT + 1);
    let many = format!(
        "BEGIN:VCARD\nVERSION:3.0\nFN:A\n{}END:VCARD\n",
        "TEL:1\nTEL:2\n".repeat(1000)
    );
    assert_eq!(card(&many).phones.len(), 2);
    let bidi = card("BEGIN:VCARD\nVERSION:3.0\nFN:A\u{202e}nna\\nBell\nBDAY:2000-02-31\nEND:VCARD\n");
    assert_eq!((bidi.name.as_str(), bidi.birthday), ("Anna Bell", None));
    assert_eq!(
        parse(b"BEGIN:VCARD\nFN:never ended").contacts[0].name,
        "never ended"
    );
}

#[test]
fn latin_1_is_read_as_such() {
    let book = parse(b"BEGIN:VCARD\nVERSION:3.0\nFN:J\xfcrgen\nEND:VCARD\n");
    assert_eq!(book.contacts[0].name, "Jürgen");
}

#[test]
fn what_is_no_card_is_refused_with_its_line_and_takes_no_neighbour_along() {
    #[track_caller]
    fn check(text: &str, names: &[&str], problems: &[(usize, &str)]) {
        let book = parse(text.as_bytes());
        let seen: Vec<&str> = book.contacts.iter().map(|c| c.name.as_str()).collect();
        let refused: Vec<(usize, &str)> = book.problems.iter().map(|p| (p.line, p.what.as_str())).collect();
        assert_eq!((&seen[..], &refused[..]), (names, problems), "{text}");
    }
    check("hello\n", &[], &[(1, "no BEGIN:VCARD in this file")]);
    check("", &[], &[(1, "no BEGIN:VCARD in this file")]);
    check(
        "\nBEGIN:VCARD\nVERSION:3.0\nEND:VCARD\n",
        &[],
        &[(2, "this card names nobody")],
    );
    check(
        "BEGIN:VCARD\nFN:A\nBEGIN:VCARD\nNOTE:x\nEND:VCARD\nBEGIN:VCARD\nFN:B\nEND:VCARD\n",
        &["A", "B"],
        &[(3, "this card names nobody")],
    );
    check(
        "BEGIN:VCARD\nFN:A\nAGENT:\nBEGIN:VCARD\nFN:B\nEND:VCARD\nTEL:1\nEND:VCARD\n",
        &["A"],
        &[],
    );
}

#[test]
fn real_exports_are_read_or_refused() {
    let Some(data) = crate::testing::data("vcf") else {
        return;
    };
    let (mut cards, mut refused) = (0, Vec::new());
    for (path, bytes) in crate::testing::files(&data) {
        let book = parse(&bytes);
        let name = path.file_name().unwrap().to_string_lossy().into_owned();
        assert!(book.contacts.len() + book.problems.len() > 0, "{name}");
        assert!(book.contacts.iter().all(|c| !c.name.is_empty()), "{name}");
        assert!(book.problems.iter().all(|p| p.line > 0), "{name}");
        cards += book.contacts.len();
        refused.extend(
            book.problems
                .iter()
                .map(|p| format!("{name}:{}: {}", p.line, p.what)),
        );
    }
    println!("{cards} cards, refused: {refused:?}");
    assert!(cards >= 10, "{cards}");
}

/// Each real card gets a number, and loses it again: every other byte of its file stays.
#[test]
fn real_exports_keep_every_property_through_an_edit() {
    let Some(data) = crate::testing::data("vcf") else {
        return;
    };
    let home = tempfile::tempdir().unwrap();
    let step = crate::testing::step(home.path());
    let change = |how| Change::new(Kind::Phone, "0800 424242", None, Some(how), |_| unreachable!()).unwrap();
    let (mut edited, mut refused) = (0, Vec::new());
    for (path, before) in crate::testing::files(&data) {
        let name = path.file_name().unwrap().to_string_lossy().into_owned();
        let copy = home.path().join(&name);
        std::fs::write(&copy, &before).unwrap();
        for contact in parse(&before).contacts {
            let contact = Contact {
                path: copy.clone(),
                ..Contact::clone(&contact)
            };
            match update(&step, &contact, &change(How::Add)) {
                Ok(()) => {}
                Err(error) => {
                    refused.push(format!("{name}: {error}"));
                    continue;
                }
            }
            let after = std::fs::read(&copy).unwrap();
            let line = b"0800 424242";
            let at = after.windows(line.len()).position(|w| w == line).unwrap();
            let start = after[..at].iter().rposition(|b| *b == b'\n').unwrap() + 1;
            let end = at + after[at..].iter().position(|b| *b == b'\n').unwrap() + 1;
            assert_eq!(
                [&after[..start], &after[end..]].concat(),
                before,
                "{name}: {}",
                contact.name
            );
            update(&step, &contact, &change(How::Remove)).unwrap();
            assert_eq!(std::fs::read(&copy).unwrap(), before, "{name}: {}", contact.name);
            edited += 1;
        }
    }
    println!("{edited} cards edited and back, refused: {refused:?}");
    assert!(edited >= 10 && refused.len() <= 2, "{edited}, {refused:?}");
}

#[test]
fn an_edit_of_what_another_program_moved_is_refused() {
    let home = tempfile::tempdir().unwrap();
    let step = crate::testing::step(home.path());
    let file = home.path().join("a.vcf");
    let card = |name: &str| format!("BEGIN:VCARD\nVERSION:3.0\nFN:{name}\nEND:VCARD\n");
    std::fs::write(&file, card("Anna")).unwrap();
    let contact = Contact::clone(&read(home.path()).unwrap().contacts[0]);
    std::fs::write(&file, card("Bob")).unwrap();
    let change = Change::new(Kind::Phone, "0800 42", None, None, |_| unreachable!()).unwrap();
    assert!(
        update(&step, &contact, &change)
            .unwrap_err()
            .to_string()
            .contains("another program")
    );
    assert!(
        delete(&step, &contact)
            .unwrap_err()
            .to_string()
            .contains("another program")
    );
    assert_eq!(std::fs::read_to_string(&file).unwrap(), card("Bob"));
}

#[test]
fn a_change_by_another_program_is_seen() {
    let home = tempfile::tempdir().unwrap();
    let file = home.path().join("a.vcf");
    for name in ["Anna", "Anne", "Anni"] {
        std::fs::write(&file, format!("BEGIN:VCARD\nVERSION:3.0\nFN:{name}\nEND:VCARD\n")).unwrap();
        for _ in 0..2 {
            assert_eq!(read(home.path()).unwrap().contacts[0].name, name);
        }
    }
    std::fs::remove_file(&file).unwrap();
    assert!(read(home.path()).unwrap().contacts.is_empty());
}

#[test]
fn birthdays_come_in_the_order_of_the_year() {
    let card =
        |name: &str, day: &str| format!("BEGIN:VCARD\nVERSION:4.0\nFN:{name}\nBDAY:{day}\nEND:VCARD\n");
    let text = [
        card("Leap", "20000229"),
        card("Past", "--1122"),
        card("Today", "19801123"),
    ]
    .concat();
    let book = parse(text.as_bytes());
    let next: Vec<String> = birthdays(&book, jiff::civil::date(2026, 11, 23))
        .iter()
        .map(|(day, who)| format!("{day} {}", who.name))
        .collect();
    assert_eq!(next, ["2026-11-23 Today", "2027-02-28 Leap", "2027-11-22 Past"]);
}

proptest! {
    #[test]
    fn any_bytes_are_survived(bytes in proptest::collection::vec(any::<u8>(), 0..400)) {
        let mut text = b"BEGIN:VCARD\nVERSION:3.0\n".to_vec();
        text.extend(bytes);
        text.extend(b"\nEND:VCARD\n");
        parse(&text);
    }
}
