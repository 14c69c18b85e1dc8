//! Round trips of real files and of made-up ones; an edit changes what it means and nothing else.

use proptest::prelude::*;

use super::*;
use crate::testing::{data, files};

fn parse(text: &str) -> Document {
    Document::parse(text.as_bytes(), Bounds::default()).unwrap()
}

fn text(document: &Document) -> String {
    String::from_utf8(document.to_bytes()).unwrap()
}

#[track_caller]
fn refused(text: &str, bounds: Bounds, expect: &str) {
    let error = Document::parse(text.as_bytes(), bounds).unwrap_err();
    assert_eq!(error.to_string(), expect, "{text:?}");
}

/// An edit of the first component of the first component.
#[track_caller]
fn edited(before: &str, edit: impl FnOnce(&mut Component), after: &str) {
    let mut document = parse(before);
    edit(
        document
            .components_mut()
            .next()
            .unwrap()
            .components_mut()
            .next()
            .unwrap(),
    );
    assert_eq!(text(&document), after);
}

const EVENT: &str = "BEGIN:VCALENDAR\r\nX-ODD;x=1:  kept \r\nbegin:vevent\r\nUID:1\r\nSUMMARY;LANGUAGE=en:Old ti\r\n tle\r\nX-A:1\r\nATTENDEE:a\r\n\r\nATTENDEE:b\r\nBEGIN:VALARM\r\nACTION:AUDIO\r\nEND:VALARM\r\nend:vevent\r\nEND:VCALENDAR\r\n";

#[test]
fn edits_change_what_they_mean() {
    edited(
        EVENT,
        |event| event.set_value("summary", "New"),
        &EVENT.replace("Old ti\r\n tle", "New"),
    );
    edited(EVENT, |event| event.set_value("SUMMARY", "Old title"), EVENT);
    edited(
        EVENT,
        |event| event.set(Line::text("SUMMARY", "a, b")),
        &EVENT.replace("SUMMARY;LANGUAGE=en:Old ti\r\n tle", "SUMMARY:a\\, b"),
    );
    edited(
        EVENT,
        |event| event.set(Line::new("ATTENDEE", "c")),
        &EVENT
            .replace("ATTENDEE:a", "ATTENDEE:c")
            .replace("ATTENDEE:b\r\n", ""),
    );
    edited(
        EVENT,
        |event| event.add(Line::new("ATTENDEE", "c").with_param("CN", "B; \"C\"")),
        &EVENT.replace("ATTENDEE:b\r\n", "ATTENDEE:b\r\nATTENDEE;CN=\"B; ^'C^'\":c\r\n"),
    );
    edited(
        EVENT,
        |event| event.add(Line::new("LOCATION", "x")),
        &EVENT.replace("ATTENDEE:b\r\n", "ATTENDEE:b\r\nLOCATION:x\r\n"),
    );
    edited(
        EVENT,
        |event| assert_eq!(event.remove("attendee"), 2),
        &EVENT.replace("ATTENDEE:a\r\n", "").replace("ATTENDEE:b\r\n", ""),
    );
    edited(
        EVENT,
        |event| {
            let mut alarm = Component::new("VALARM");
            alarm.add(Line::new("TRIGGER", "-PT10M"));
            event.push(alarm);
        },
        &EVENT.replace(
            "END:VALARM\r\n",
            "END:VALARM\r\nBEGIN:VALARM\r\nTRIGGER:-PT10M\r\nEND:VALARM\r\n",
        ),
    );
    edited(
        EVENT,
        |event| event.retain(|component| !component.is("valarm")),
        &EVENT.replace("BEGIN:VALARM\r\nACTION:AUDIO\r\nEND:VALARM\r\n", ""),
    );
}

#[test]
fn endings_and_encodings_are_kept() {
    // A file of bare line feeds that ends in none.
    let mut document = parse("BEGIN:VCARD\nFN:A\nEND:VCARD");
    document
        .components_mut()
        .next()
        .unwrap()
        .set(Line::new("FN", "B"));
    document.push(Component::new("VCARD"));
    assert_eq!(
        text(&document),
        "BEGIN:VCARD\nFN:B\nEND:VCARD\nBEGIN:VCARD\nEND:VCARD\n"
    );
    // Latin-1: what is new is written as the rest is.
    let mut document = Document::parse(b"BEGIN:VCARD\nFN:J\xfcrgen\nEND:VCARD\n", Bounds::default()).unwrap();
    let card = document.components_mut().next().unwrap();
    assert_eq!(card.value("FN"), Some("Jürgen"));
    card.add(Line::new("NOTE", "grün"));
    assert_eq!(
        document.to_bytes(),
        b"BEGIN:VCARD\nFN:J\xfcrgen\nNOTE:gr\xfcn\nEND:VCARD\n"
    );
    // A fold within a letter is no Latin-1.
    let document = Document::parse(
        b"BEGIN:VCARD\nFN:J\xc3\n \xbcrgen\nEND:VCARD\n",
        Bounds::default(),
    )
    .unwrap();
    assert_eq!(document.components().next().unwrap().value("FN"), Some("Jürgen"));
}

#[test]
fn lines_are_taken_apart() {
    let document = parse(
        "\u{feff}BEGIN:VCARD\nitem1.TEL;TYPE=\"home,voice\";type=PREF;X=a,\"b:c\":+49 30:5\nTEL;WORK;FAX:1\nNOTE;QUOTED-PRINTABLE:a=3D=\n41=\n;b\nN:Do\\;e;J\\\\;\\n\n junk\nno colon\n\n unfolded junk\nEND:VCARD\n",
    );
    let card = document.components().next().unwrap();
    let phones: Vec<&Line> = card.all("TEL").collect();
    assert_eq!(
        (phones[0].group(), phones[0].name(), phones[0].value()),
        (Some("item1"), "TEL", "+49 30:5")
    );
    assert_eq!(phones[0].types(), ["home", "voice", "pref"]);
    assert_eq!(phones[0].param_values("x"), ["a", "b:c"]);
    assert_eq!(phones[1].types(), ["work", "fax"]);
    let note = card.get("NOTE").unwrap();
    assert!(note.is_quoted_printable());
    assert_eq!((note.value(), note.number()), ("a=3D41;b", 4));
    assert_eq!(
        split(card.value("N").unwrap(), ';'),
        ["Do\\;e", "J\\\\", "\\njunk"]
    );
    assert_eq!(card.lines().filter(|line| line.name().is_empty()).count(), 3);
}

#[test]
fn what_does_not_nest_is_refused_with_its_line() {
    let all = Bounds::default();
    refused(
        "BEGIN:VCALENDAR\nBEGIN:VEVENT\nSUMMARY:cut",
        all,
        "line 2: BEGIN:VEVENT without its END",
    );
    refused("A:1\nEND:VEVENT\n", all, "line 2: END:VEVENT without its BEGIN");
    refused(
        "BEGIN:A\nX:\n folded\nEND:B\n",
        all,
        "line 4: END:B where END:A is due (BEGIN in line 1)",
    );
    refused(
        &"BEGIN:A\n".repeat(20),
        all,
        "line 17: more than 16 components in one another",
    );
    let small = Bounds {
        bytes: 100,
        lines: 3,
        depth: 2,
    };
    refused(
        "A:1\nB:2\nC:3\nD:4\n",
        small,
        "line 4: the file has more than 3 lines",
    );
    refused(
        &"x".repeat(101),
        small,
        "line 1: the file has more than 100 bytes",
    );
}

#[test]
fn no_text_becomes_a_second_line() {
    let evil = "x\r\nEND:VEVENT\nBEGIN:VEVENT\rSUMMARY:evil\0";
    let mut component = Component::new("V\r\nEVENT");
    component.add(Line::text("SUMMARY", evil));
    component.add(Line::new("DESCRIPTION\r\nX", evil).with_param("CN\n", evil));
    let written = text(&Document::of(component));
    let read = parse(&written);
    let component = read.components().next().unwrap();
    assert_eq!(component.lines().count(), 2, "{written:?}");
    assert_eq!(
        component.get("SUMMARY").unwrap().to_text(),
        "x\nEND:VEVENT\nBEGIN:VEVENT\nSUMMARY:evil"
    );
    assert_eq!(
        component.lines().last().unwrap().param("CN").unwrap(),
        "x\nEND:VEVENT\nBEGIN:VEVENT\u{d}SUMMARY:evil".replace('\r', "")
    );
}

/// Every public file comes back as it is, or is refused with its line.
#[test]
fn public_files_survive() {
    for folder in ["ics", "vcf"] {
        let Some(root) = data(folder) else {
            return;
        };
        let (mut kept, mut refused) = (0, Vec::new());
        for (path, bytes) in files(&root) {
            match Document::parse(&bytes, Bounds::default()) {
                Ok(document) => {
                    assert_eq!(document.to_bytes(), bytes, "{}", path.display());
                    kept += 1;
                }
                Err(error) => refused.push(format!("{}: {error}", path.display())),
            }
        }
        eprintln!("{folder}: {kept} files kept, {} refused", refused.len());
        if std::env::var_os("TIRO_SHOW").is_some() {
            eprintln!("{refused:#?}");
        }
        assert!(kept > 10 * refused.len(), "{kept} kept, {refused:#?}");
    }
}

/// Lines as files have them: properties, folds, junk, blank ones, all endings.
fn any_line() -> impl Strategy<Value = String> {
    let content = prop_oneof![
        "[A-C]{1,2}(;[X-Z]=[a-c\",:]{0,4}){0,2}:[a-z\\\\;,:= üß]{0,90}",
        "[a-c]\\.[A-C](;QUOTED-PRINTABLE)?:[a-z=]{0,20}",
        "[ \t]?[a-z]{0,9}",
    ];
    (content, prop_oneof!["\n", "\r\n"]).prop_map(|(content, ending)| format!("{content}{ending}"))
}

fn any_file() -> impl Strategy<Value = String> {
    let lines = || proptest::collection::vec(any_line(), 0..8).prop_map(|lines| lines.concat());
    (lines(), lines(), lines()).prop_map(|(before, inner, after)| {
        format!("BEGIN:V\r\nA:1\r\n{before}\r\nBEGIN:W\r\n{inner}\r\nEND:W\r\n{after}\r\nEND:V\r\n")
    })
}

proptest! {
    #[test]
    fn what_was_read_is_written(file in any_file()) {
        if let Ok(document) = Document::parse(file.as_bytes(), Bounds::default()) {
            prop_assert_eq!(text(&document), file);
        }
    }

    #[test]
    fn bytes_are_written_back_or_refused(bytes in proptest::collection::vec(any::<u8>(), 0..400)) {
        if let Ok(document) = Document::parse(&bytes, Bounds::default()) {
            prop_assert_eq!(document.to_bytes(), bytes);
        }
    }

    /// Every line but the one that is set keeps its bytes; what was set is read back; the second edit is the first undone.
    #[test]
    fn an_edit_keeps_every_other_line(file in any_file(), value in "[a-zü \\\\;,:]{0,200}") {
        let Ok(mut document) = Document::parse(file.as_bytes(), Bounds::default()) else {
            return Ok(());
        };
        let before = document.clone();
        let component = document.components_mut().next().unwrap();
        component.set(Line::text("X-NEW", &value));
        let written = document.to_bytes();
        let mut again = Document::parse(&written, Bounds::default()).unwrap();
        let component = again.components_mut().next().unwrap();
        prop_assert_eq!(component.get("X-NEW").unwrap().to_text(), value);
        for line in written.split(|b| *b == b'\n') {
            prop_assert!(!line.starts_with(b"X-NEW") || line.len() <= 76);
        }
        component.remove("X-NEW");
        prop_assert_eq!(again.to_bytes(), before.to_bytes());
    }

    #[test]
    fn text_survives_escaping(text in "[a-zA-Z\\\\;,:\n\"^ü]{0,60}") {
        prop_assert_eq!(unescape(&escape(&text)), text.clone());
        let line = Line::text("X", "").with_param("P", &text);
        let written = Document::of({ let mut c = Component::new("V"); c.add(line); c }).to_bytes();
        let read = Document::parse(&written, Bounds::default()).unwrap();
        let line = read.components().next().unwrap().get("X").unwrap().clone();
        let param = line.param("P").unwrap();
        prop_assert_eq!(param.trim(), text.trim());
    }
}
