//! Which places count as strange: neither said, in whatever way people say them, nor in the contacts.

use serde_json::json;
use tools::system::contacts;

use super::*;
use crate::consent::strangers;

/// What a call leads to that is neither said nor known, without the words around it.
#[track_caller]
fn strange(tool: &str, arguments: Value, action: &str, said: &[&str], known: &Known) -> Vec<String> {
    let named = strangers(tools::find(tool).unwrap(), &arguments, action, said, known);
    let place = |sentence: String| {
        let place = sentence.strip_prefix("You did not mention ").unwrap();
        place.strip_suffix(" yourself.").unwrap().to_owned()
    };
    named.into_iter().map(place).collect()
}

/// Whether a mail to an address is to a stranger, after this was said.
#[track_caller]
fn check(to: &str, said: &str, is_strange: bool) {
    let named = strange("mail.send", json!({"to": [to]}), "", &[said], &Known::default());
    assert_eq!(!named.is_empty(), is_strange, "{to:?} after {said:?}: {named:?}");
}

fn known() -> Known {
    let cards = "BEGIN:VCARD\nVERSION:4.0\nFN:Anna Bell\nEMAIL:Anna@Example.org\nTEL:+49 171 2345678\nEND:VCARD\n\
        BEGIN:VCARD\nVERSION:3.0\nFN:Bob Stone\nTEL:030 / 123 45 67\nTEL:(0)\nEND:VCARD\n";
    Known::of(&contacts::parse(cards.as_bytes()), ["me@example.net"])
}

#[test]
fn an_address_was_said_when_the_whole_of_it_was() {
    for said in [
        "send the report to bob@example.org",
        "send the report to Bob@Example.org, please.",
        "it is <bob@example.org>",
        "mailto:bob@example.org",
        "send it to bob at example dot org",
        "send it to Bob at example.org.",
        "write bob@example dot org about the cake",
        "b o b at example dot o r g, and hurry",
        "bob at example dot org at nine",
    ] {
        check("bob@example.org", said, false);
        check("Bob Stone <bob@example.org>", said, false);
        check("bob at example dot org", said, false);
    }
    for said in [
        "",
        "send the report to bob",
        "send it to bob@example.org.uk",
        "send it to bob@example.orgy",
        "send it to abob@example.org",
        "send it to anna.bob@example.org",
        "send it to bob at example dot org dot uk",
        "send it to bob at example dot org dash shop dot com",
        "send it to anna dot bob at example dot org",
        "send it to c b o b at example dot o r g a",
        "open example.org",
        "bob and example dot org",
    ] {
        check("bob@example.org", said, true);
        check("bob at example dot org", said, true);
    }
    // The end of a sentence is the end of an address, too.
    check(
        "bob@example.org",
        "write to bob at example dot org. Slash the text",
        false,
    );
    check("bob@example.co", "write to bob at example dot c o m", true);
}

#[test]
fn a_book_that_the_person_pasted_is_looked_through_at_once() {
    let mut book = "at one, two and at the dot he wrote to bob and to hope for more. ".repeat(1000);
    let began = std::time::Instant::now();
    let to = json!({"to": ["hope@example.org", "+49 1520 1112223"]});
    let named = strange(
        "mail.send",
        to,
        "See https://example.org/",
        &[&book],
        &Known::default(),
    );
    assert_eq!(named.len(), 3, "{named:?}");
    assert!(
        began.elapsed() < std::time::Duration::from_secs(20),
        "{:?}",
        began.elapsed()
    );
    book.push_str("hope at example dot org");
    check("hope@example.org", &book, false);
}

#[test]
fn whoever_is_in_the_contacts_is_no_stranger() {
    let send = |to: &str| {
        strange(
            "mail.send",
            json!({"to": [to], "cc": ["eve@evil.example"]}),
            "",
            &[],
            &known(),
        )
    };
    for to in [
        "anna@example.org",
        "ANNA@EXAMPLE.ORG",
        "anna at example dot org",
        "me@example.net",
        "Anna",
    ] {
        assert_eq!(send(to), ["eve@evil.example"], "{to}");
    }
    assert_eq!(
        send("anna@example.org.evil.example"),
        ["anna@example.org.evil.example", "eve@evil.example"]
    );
    // Signs that the name of a mailbox may have make it another one.
    for other in [
        "eve'anna@example.org",
        "eve!anna@example.org",
        "'anna@example.org",
        "{anna@example.org",
    ] {
        assert_eq!(send(other), [other, "eve@evil.example"]);
        let shown = format!("Eve <{other}>");
        assert_eq!(send(&shown), [other, "eve@evil.example"], "{shown}");
    }
    assert_eq!(
        send("eve at evil dot example"),
        ["eve@evil.example"],
        "once, and as it is written"
    );
}

#[test]
fn a_phone_number_is_an_address() {
    let text = |to: &str, said: &str| {
        let arguments = json!({"to": to, "text": "see you on 2026-11-20 at nine"});
        strange("messages.send", arguments, "", &[said], &known())
    };
    for (to, said) in [
        ("+49 171 2345678", ""),
        ("0171 2345678", ""),
        ("0049 171 23 45 678", ""),
        ("oh one seven one two three four five six seven eight", ""),
        ("+49 (0)30 1234567", ""),
        ("+49 1520 1112223", "text +49 1520 1112223 that I am late"),
        (
            "+4915201112223",
            "text plus four nine one five two oh, one one one two two two three, that I am late",
        ),
        (
            "01520 1112223",
            "text oh one five two oh triple one triple two three",
        ),
        ("81234", "send yes to 81234"),
        ("Anna", ""),
    ] {
        assert_eq!(text(to, said), [""; 0], "{to:?} after {said:?}");
    }
    for (to, said) in [
        ("+49 900 2345678", ""),
        ("+1 900 171 2345678", ""),
        ("2345678", ""),
        ("+49 1520 1112223", "text +49 1520 11122234 that I am late"),
        ("+49 1520 1112223", "text my sister that I am late"),
        ("+900 1112223", "text 1112223 9"),
        ("81234", ""),
        ("1234", "text anna at nine"),
        ("20261120", ""),
    ] {
        assert_eq!(text(to, said), [to], "{to:?} after {said:?}");
    }
    // Whoever is saved under a name that the person trusts is written to later.
    let save = |phone: &str| {
        let arguments = json!({"name": "Mum", "phone": phone, "birthday": "1956-11-30"});
        strange(
            "contacts.create",
            arguments,
            "",
            &["save the number of mum"],
            &known(),
        )
    };
    assert_eq!(save("0900 123456"), ["0900 123456"]);
    // A time is none, however it is written.
    let timer = json!({"duration": "one two three four five"});
    assert_eq!(strange("timers.set", timer, "", &[], &known()), [""; 0]);
}

#[test]
fn a_page_that_the_person_never_said_is_strange() {
    let said = [
        "open example.org",
        "then go to Wikipedia dot org slash wiki, please",
        "read my mail",
    ];
    let open = |url: &str| {
        let open = tools::find("web.open_url").unwrap();
        let page = web::address(url).unwrap();
        let action = format!("Open {} ({}).", page.host, plain::one_line(&page.url, 200));
        strange(open.name, json!({"url": url}), &action, &said, &Known::default())
    };
    for url in [
        "example.org",
        "https://example.org/",
        "http://www.example.org",
        "wikipedia.org/wiki",
        "example dot org",
    ] {
        assert_eq!(open(url), [""; 0], "{url}");
    }
    let long = format!("https://evil.example/?q={}", "x".repeat(400));
    for (url, shown) in [
        ("evil.example/?q=secret", "evil.example/?q=secret"),
        ("https://evil.example", "https://evil.example"),
        ("https://example.org/?q=secret", "https://example.org/?q=secret"),
        ("example.org.evil.example", "example.org.evil.example"),
        ("wikipedia.org", "wikipedia.org"),
        ("en.wikipedia.org/wiki", "en.wikipedia.org/wiki"),
        ("203.0.113.5/x", "203.0.113.5/x"),
        ("evil dot example slash x", "https://evil.example/x"),
        (&long, &plain::one_line(&long, SHOWN)),
    ] {
        assert_eq!(open(url), [shown], "{url}");
    }
    assert_eq!(
        strange(
            "web.search",
            json!({"words": "cake"}),
            "Search example.com for cake.",
            &said,
            &Known::default()
        ),
        [""; 0]
    );
}

#[test]
fn a_path_is_said_as_a_whole() {
    let said = ["look into /srv/share/plans. Then ~/Taxes/plan one.txt"];
    let opened = |file: &str| strange("files.open", json!({"file": file}), "", &said, &Known::default());
    for file in [
        "/srv/share/plans",
        "/srv/share/plans/",
        "~/taxes/plan one.txt",
        "the tax return",
    ] {
        assert_eq!(opened(file), [""; 0], "{file}");
    }
    for file in ["/srv/share/plan", "/srv/share", "/srv", "/", "~/Taxes", "~eve/x"] {
        assert_eq!(opened(file).len(), 1, "{file}");
    }
}

#[test]
fn what_a_call_would_do_says_whom_it_reaches() {
    let action = "Reply to Bob (eve@evil.example) and anna@example.org, with a copy to me@example.net, to the mail from \
        Bob about Lunch: \"Yes\"";
    let reply = |tool| {
        strange(
            tool,
            json!({"text": "yes", "from": "bob"}),
            action,
            &["answer bob"],
            &known(),
        )
    };
    assert_eq!(reply("mail.reply"), ["eve@evil.example"]);
    // Whoever wrote a mail that is thrown away is not reached by that.
    assert_eq!(reply("mail.delete"), [""; 0]);
}

#[test]
fn addresses_within_texts_are_named_by_themselves() {
    let text =
        "Hi Anna, write to eve@evil.example, or see (https://evil.example/a,b) and evil.example/c.\nAt noon.";
    let named = strange(
        "notes.create",
        json!({"text": text}),
        "",
        &["take a note"],
        &known(),
    );
    assert_eq!(
        named,
        ["eve@evil.example", "https://evil.example/a,b", "evil.example/c"]
    );
    let hostile = "eve@evil.example\u{202e}\u{1b}[31m";
    let named = strange("mail.send", json!({"to": [hostile]}), "", &[], &known());
    assert!(
        named.iter().all(|place| !place.contains(char::is_control)),
        "{named:?}"
    );
    assert_eq!(named.len(), 1, "{named:?}");
    // Words that the person dictated are theirs, also where they look like an address.
    let dictated = "We meet at the dot matrix printer";
    let named = strange(
        "notes.create",
        json!({"text": dictated}),
        "",
        &["note something"],
        &known(),
    );
    assert_eq!(named, [""; 0]);
}
