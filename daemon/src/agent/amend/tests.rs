//! Changes as people say them, of calls of real tools.

use serde_json::json;

use super::*;

#[track_caller]
fn check(tool: &str, arguments: Value, said: &str, expect: Amended) {
    let entry = tools::find(tool).unwrap();
    let change = change(said).unwrap_or_else(|| panic!("{said:?} is no change"));
    let amended = change.amend(&arguments, &entry.parameters(), entry.worded, None);
    assert_eq!(amended, expect, "{said:?} of {tool} {arguments}");
}

fn to(arguments: Value) -> Amended {
    Amended::To(arguments)
}

#[test]
fn a_time_goes_where_the_time_was() {
    let lunch = |start: &str| json!({"title": "lunch with Tom", "start": start});
    let event = "calendar.create_event";
    check(
        event,
        lunch("Thursday at one"),
        "no, I meant Friday",
        to(lunch("Friday at one")),
    );
    check(
        event,
        lunch("Thursday at one"),
        "No. At four.",
        to(lunch("Thursday at four")),
    );
    check(
        event,
        lunch("Thursday at one"),
        "make that Friday instead",
        to(lunch("Friday at one")),
    );
    check(
        event,
        lunch("Thursday at one"),
        "actually make it four",
        to(lunch("Thursday at four")),
    );
    check(
        event,
        lunch("Thursday at two"),
        "I said three not two",
        to(lunch("Thursday at three")),
    );
    check(
        "reminders.create",
        json!({"title": "feed the cat", "due": "six pm"}),
        "make that seven pm",
        to(json!({"title": "feed the cat", "due": "seven pm"})),
    );
    check(
        "timers.set",
        json!({"duration": "ten minutes"}),
        "sorry, twelve",
        to(json!({"duration": "twelve minutes"})),
    );
    check(
        "calendar.query",
        json!({"when": "tuesday"}),
        "then Wednesday?",
        to(json!({"when": "Wednesday"})),
    );
    check(
        "calendar.query",
        json!({}),
        "and tomorrow?",
        to(json!({"when": "tomorrow"})),
    );
    check(
        "weather.forecast",
        json!({"when": "today", "place": "Berlin"}),
        "what about Saturday",
        to(json!({"when": "Saturday", "place": "Berlin"})),
    );
}

#[test]
fn a_name_goes_where_it_sounds_alike_or_where_the_old_one_was() {
    let mail = |to: &str| json!({"to": [to], "text": "I am late"});
    check("mail.draft", mail("Anna"), "not Anna, Hanna", to(mail("Hanna")));
    check("mail.draft", mail("Anna"), "not Anna but Tom", to(mail("Tom")));
    check("mail.draft", mail("Anna"), "no, Hanna", to(mail("Hanna")));
    check("mail.draft", mail("Anna"), "I meant to Tom", to(mail("Tom")));
    check(
        "calendar.create_event",
        json!({"title": "lunch with Anna", "start": "friday"}),
        "no, Hanna",
        to(json!({"title": "lunch with Hanna", "start": "friday"})),
    );
    check(
        "clock.convert",
        json!({"to": "Tokyo"}),
        "and in New York",
        to(json!({"to": "New York"})),
    );
    check(
        "weather.forecast",
        json!({"when": "today", "place": "Berlin"}),
        "and in Paris?",
        to(json!({"when": "today", "place": "Paris"})),
    );
}

#[test]
fn a_number_goes_where_the_number_was() {
    check(
        "system.set_volume",
        json!({"percent": 40}),
        "no, fifty",
        to(json!({"percent": 50})),
    );
    check(
        "system.set_volume",
        json!({"percent": 40}),
        "make it 30 percent",
        to(json!({"percent": 30})),
    );
    check(
        "calc.convert_units",
        json!({"amount": "ten", "from": "kilometres", "to": "miles"}),
        "and twenty one",
        to(json!({"amount": "twenty one", "from": "kilometres", "to": "miles"})),
    );
}

#[test]
fn what_could_be_several_things_is_asked_and_what_is_none_changes_nothing() {
    let files = json!({"from": "kilometres", "to": "miles"});
    check(
        "calc.convert_units",
        files.clone(),
        "I meant stones",
        Amended::Which(vec!["from".into(), "to".into()]),
    );
    for said in [
        "no, don't add anything else",
        "no, that's wrong",
        "and her email",
        "no thanks",
        "no",
    ] {
        check("lists.add", json!({"items": ["wine"]}), said, Amended::Nothing);
    }
    check(
        "calendar.query",
        json!({"when": "friday"}),
        "no, friday",
        Amended::Nothing,
    );
    // Sentences that were dictated are not changed by a word.
    check(
        "notes.create",
        json!({"text": "call Anna"}),
        "no, Hanna",
        Amended::Nothing,
    );
    check("calendar.query", json!([1]), "no, friday", Amended::Nothing);
}

#[test]
fn what_is_no_change_is_told_from_one() {
    for said in [
        "what is on friday",
        "friday",
        "notes",
        "nobody called",
        "",
        "not",
        "ünïcode \u{202e}",
    ] {
        assert!(change(said).is_none_or(|change| change.old.is_none()), "{said:?}");
    }
    assert_eq!(change("friday"), None);
    assert_eq!(change("mute the sound please"), None);
    assert_eq!(change("thanks"), None);
    assert_eq!(change("remind me this evening not to be late"), None);
    check(
        "calendar.query",
        json!({"when": "friday"}),
        "tell me, not him",
        Amended::Nothing,
    );
    assert_eq!(change("another one"), None);
    assert!(change("No.").unwrap().is_bare());
    assert!(change("oh no").unwrap().is_bare());
    assert!(change("no, at four").unwrap().corrects && !change("and at four").unwrap().corrects);
    assert_eq!(answer("Friday.").new, "Friday");
}

#[test]
fn what_is_behind_the_same_word_is_exchanged() {
    let sum = |text: &str| json!({"expression": text});
    check(
        "calc.evaluate",
        sum("fifteen percent of eighty"),
        "and of two hundred and forty",
        to(sum("fifteen percent of two hundred and forty")),
    );
    check(
        "calc.evaluate",
        sum("a third of half of sixty"),
        "and of ninety",
        Amended::Nothing,
    );
    check(
        "mail.search",
        json!({"words": "letter from Anna"}),
        "and from Tom",
        to(json!({"words": "letter from Tom"})),
    );
    check(
        "files.search",
        json!({"words": "photos from Rome with Anna", "kind": "image"}),
        "and from Paris",
        to(json!({"words": "Paris", "kind": "image"})),
    );
    check(
        "mail.search",
        json!({"from": "Tom", "words": "offer from Siemens"}),
        "and from Priya",
        Amended::Which(vec!["from".to_owned(), "words".to_owned()]),
    );
    check(
        "calendar.query",
        json!({"when": "tomorrow"}),
        "and the day after that",
        to(json!({"when": "the day after tomorrow"})),
    );
    check(
        "calendar.query",
        json!({"when": "the day after tomorrow"}),
        "and the next day",
        to(json!({"when": "the day after the day after tomorrow"})),
    );
}
