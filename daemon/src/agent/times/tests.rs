//! Times as people say them and as small models write them.

use serde_json::json;

use super::*;

#[track_caller]
fn check(tool: &str, said: &str, given: Value, expect: Value) {
    let entry = tools::ALL.iter().find(|entry| entry.name == tool).unwrap();
    let mut settled = given.clone();
    settle(&mut settled, entry, said, &[]);
    assert_eq!(settled, expect, "{said:?} {given}");
}

#[test]
fn what_is_no_time_and_was_not_meant_for_one_is_asked_for() {
    let event = tools::ALL
        .iter()
        .find(|entry| entry.name == "calendar.create_event")
        .unwrap();
    for (said, start, location, kept) in [
        ("add lunch with mike", "lunch with mike", None, false),
        (
            "put a meeting with Ray in my calendar",
            "my calendar",
            None,
            false,
        ),
        (
            "a meeting with derrick in highest",
            "highest",
            Some("highest"),
            false,
        ),
        ("add a meeting with jane", "next Friday morning tea", None, false),
        // Where times stand, and no time that anybody knows: the tool says which words it does not understand.
        ("a meeting with derrick on blursday", "blursday", None, true),
        (
            "a meeting with fred at the next available slot",
            "next available slot",
            None,
            true,
        ),
        // From the request before.
        ("no, with mike", "tomorrow at ten", None, true),
    ] {
        let mut arguments = json!({"title": "meeting", "start": start, "end": start});
        if let Some(place) = location {
            arguments["location"] = place.into();
        }
        let untimed = settle(&mut arguments, event, said, &[]);
        assert_eq!(untimed, (!kept).then_some("start"), "{said}");
        assert_eq!(arguments.get("start").is_some(), kept, "{said} {arguments}");
        assert_eq!(arguments.get("end").is_some(), kept, "{said} {arguments}");
    }
}

#[test]
fn nothing_that_may_be_a_time_is_lost() {
    for (tool, said, given) in [
        (
            "reminders.create",
            "remind me to close the windows when it rains",
            json!({"title": "close the windows", "due": "when it rains"}),
        ),
        (
            "reminders.create",
            "remind me choose day to call mum",
            json!({"title": "call mum", "due": "choose day"}),
        ),
        ("clock.resolve", "when is Diwali", json!({"text": "Diwali"})),
        (
            "calendar.update_event",
            "change the workshop from monday to end at five",
            json!({"event": "workshop", "when": "from monday", "end": "at five"}),
        ),
    ] {
        check(tool, said, given.clone(), given);
    }
}

#[test]
fn an_end_that_is_the_start_once_more_goes() {
    check(
        "calendar.create_event",
        "pop a haircut into my diary for Saturday at quarter past eleven",
        json!({"title": "haircut", "start": "Saturday at quarter past eleven", "end": "quarter past eleven"}),
        json!({"title": "haircut", "start": "Saturday at quarter past eleven"}),
    );
    check(
        "calendar.create_event",
        "lunch with mum on friday from twelve to one",
        json!({"title": "lunch", "start": "friday from twelve", "end": "one"}),
        json!({"title": "lunch", "start": "friday from twelve", "end": "one"}),
    );
    check(
        "calendar.create_event",
        "a two hour workshop on monday at nine",
        json!({"title": "workshop", "start": "monday at nine", "end": "two hour"}),
        json!({"title": "workshop", "start": "monday at nine", "end": "two hour"}),
    );
}

#[test]
fn parts_of_one_time_are_no_beginning_and_end() {
    check(
        "calendar.create_event",
        "dinner with Grace on Saturday at seven pm, calendar please",
        json!({"title": "dinner with Grace", "start": "seven pm", "end": "Saturday", "people": ["Grace"]}),
        json!({"title": "dinner with Grace", "start": "Saturday at seven pm", "people": ["Grace"]}),
    );
    check(
        "calendar.create_event",
        "book the parents' meeting on the second of December at six thirty in the evening",
        json!({"title": "parents' meeting", "start": "December at six thirty", "end": "evening"}),
        json!({"title": "parents' meeting", "start": "second of December at six thirty in the evening"}),
    );
}

#[test]
fn how_long_something_takes_is_no_reminder() {
    check(
        "calendar.create_event",
        "set up a forty five minute call with Ana on December first at two thirty",
        json!({"title": "call", "start": "December first at two thirty", "remind": "45 minutes"}),
        json!({"title": "call", "start": "December first at two thirty", "end": "forty five minute"}),
    );
    for said in [
        "a call on friday at two, warn me 45 minutes before",
        "a call on friday at two with a reminder, 45 minutes",
        "a call on friday at two with a 45 minute warning",
    ] {
        let given = json!({"title": "call", "start": "friday at two", "remind": "45 minutes"});
        check("calendar.create_event", said, given.clone(), given);
    }
}

#[test]
fn how_often_is_not_taken_from_an_example() {
    let given = json!({"title": "gym", "start": "every monday at nine"});
    check(
        "calendar.create_event",
        "then put gym in for Monday at nine",
        given.clone(),
        json!({"title": "gym", "start": "Monday at nine"}),
    );
    // It was said before.
    let entry = tools::ALL
        .iter()
        .find(|entry| entry.name == "calendar.create_event")
        .unwrap();
    let mut settled = given.clone();
    settle(&mut settled, entry, "at nine", &["gym every Monday please"]);
    assert_eq!(settled, given);
    // Apart from the hour.
    for (tool, said, given) in [
        (
            "reminders.create",
            "set a daily reminder at nine to take my pills",
            json!({"title": "take my pills", "due": "every day at nine"}),
        ),
        (
            "calendar.create_event",
            "weekly gym on Monday at nine",
            json!({"title": "gym", "start": "every Monday at nine"}),
        ),
    ] {
        check(tool, said, given.clone(), given);
    }
}

#[test]
fn a_time_that_was_named_is_not_lost() {
    check(
        "reminders.create",
        "remind me on Friday to pay the window cleaner",
        json!({"title": "pay the window cleaner"}),
        json!({"title": "pay the window cleaner", "due": "Friday"}),
    );
    check(
        "reminders.create",
        "on the fifteenth of every month at noon I need a nudge to water the fern",
        json!({"title": "water the fern"}),
        json!({"title": "water the fern", "due": "fifteenth of every month at noon"}),
    );
    // It is part of what is to be done.
    check(
        "reminders.create",
        "remind me to buy a ticket for the concert on friday",
        json!({"title": "buy a ticket for the concert on friday"}),
        json!({"title": "buy a ticket for the concert on friday"}),
    );
    check(
        "calendar.create_event",
        "schedule a meeting tomorrow with Anna at ten",
        json!({"title": "meeting", "start": "tomorrow", "people": ["Anna"]}),
        json!({"title": "meeting", "start": "tomorrow at ten", "people": ["Anna"]}),
    );
    check(
        "calendar.create_event",
        "block two hours for the review tomorrow at nine",
        json!({"title": "review", "start": "tomorrow at nine"}),
        json!({"title": "review", "start": "tomorrow at nine", "end": "two hours"}),
    );
    check(
        "calendar.create_event",
        "parents' meeting on the 9th at 7 pm, and nudge me an hour ahead",
        json!({"title": "parents' meeting", "start": "9th at 7 pm"}),
        json!({"title": "parents' meeting", "start": "9th at 7 pm", "remind": "an hour"}),
    );
    // Where to look is not forced on anybody.
    check(
        "mail.read",
        "what did Lena want to know about Tuesday",
        json!({"from": "Lena"}),
        json!({"from": "Lena"}),
    );
}

#[test]
fn where_something_goes_is_no_part_of_where_it_is() {
    // The model had the day from the answer before.
    check(
        "calendar.update_event",
        "move it to three",
        json!({"event": "Dentist", "when": "tomorrow", "start": "tomorrow at 15:00"}),
        json!({"event": "Dentist", "start": "three"}),
    );
    check(
        "calendar.update_event",
        "move it to three",
        json!({"event": "Dentist", "when": "15:00", "start": "15:00"}),
        json!({"event": "Dentist", "start": "three"}),
    );
    // What the 1.5B model wrote, after the schema's "friday at five".
    let wrote = "friday at three";
    check(
        "calendar.update_event",
        "move it to three",
        json!({"event": "Dentist", "when": wrote, "start": wrote, "end": wrote}),
        json!({"event": "Dentist", "start": "three"}),
    );
    check(
        "calendar.update_event",
        "move bored meeting from tuesday two thursday at nine",
        json!({"event": "bored meeting", "start": "from tuesday two", "end": "thursday at nine"}),
        json!({"event": "bored meeting", "start": "thursday at nine"}),
    );
    check(
        "calendar.update_event",
        "rename tomorrow's call at three to project review",
        json!({"event": "call", "when": "tomorrow", "title": "project review"}),
        json!({"event": "call", "when": "tomorrow at three", "title": "project review"}),
    );
    check(
        "calendar.query",
        "what is on tomorrow, around three",
        json!({"when": "tomorrow"}),
        json!({"when": "tomorrow, around three"}),
    );
}

#[test]
fn a_time_that_was_cut_or_worded_anew_is_the_one_that_was_said() {
    check(
        "calendar.update_event",
        "my dentist's been shifted to half ten tomorrow",
        json!({"event": "dentist", "when": "tomorrow at 10:00", "start": "tomorrow at 10:00", "end": "tomorrow at 10:00"}),
        json!({"event": "dentist", "start": "half ten tomorrow"}),
    );
    check(
        "timers.set",
        "set a timer four ten minutes",
        json!({"duration": "four ten minutes"}),
        json!({"duration": "ten minutes"}),
    );
    check(
        "timers.set",
        "start one for the laundry, an hour and ten",
        json!({"duration": "one", "label": "laundry"}),
        json!({"duration": "an hour and ten", "label": "laundry"}),
    );
    // Said otherwise and still the same.
    check(
        "calendar.query",
        "what's on my calender to morrow",
        json!({"when": "tomorrow"}),
        json!({"when": "tomorrow"}),
    );
    check(
        "alarms.set",
        "I want to be up by quarter to eight tomorrow",
        json!({"time": "quarter to eight"}),
        json!({"time": "quarter to eight tomorrow"}),
    );
    check(
        "reminders.create",
        "new work task: review the portfolio by Tuesday at one",
        json!({"title": "review the portfolio", "due": "Tuesday at one"}),
        json!({"title": "review the portfolio", "due": "Tuesday at one"}),
    );
    check(
        "alarms.set",
        "wake me at 7 a.m. tomorrow",
        json!({"time": "7 am tomorrow"}),
        json!({"time": "7 am tomorrow"}),
    );
}

#[test]
fn what_is_moved_goes_so_far_or_to_there() {
    check(
        "calendar.update_event",
        "push my handover with Karim back by thirty minutes",
        json!({"event": "handover"}),
        json!({"event": "handover", "start": "thirty minutes later"}),
    );
    check(
        "calendar.update_event",
        "bring the review forward an hour",
        json!({"event": "review"}),
        json!({"event": "review", "start": "an hour earlier"}),
    );
    check(
        "calendar.update_event",
        "move it to three",
        json!({"event": "dentist"}),
        json!({"event": "dentist", "start": "three"}),
    );
    check(
        "calendar.update_event",
        "move the second one to four",
        json!({"event": "interview", "start": "four"}),
        json!({"event": "interview", "start": "four"}),
    );
    check(
        "calendar.update_event",
        "make it last until eleven",
        json!({"event": "boiler service"}),
        json!({"event": "boiler service", "end": "eleven"}),
    );
    check(
        "reminders.snooze",
        "not now, again in ten minutes",
        json!({}),
        json!({"until": "in ten minutes"}),
    );
}

#[test]
fn an_hour_is_no_part_of_what_is_to_be_done() {
    check(
        "reminders.create",
        "remind me to call Anna tonight at eight",
        json!({"title": "call Anna tonight at eight"}),
        json!({"title": "call Anna", "due": "tonight at eight"}),
    );
    check(
        "calendar.create_event",
        "dinner with Grace on Saturday at seven pm",
        json!({"title": "dinner with Grace", "start": "seven pm", "location": "Saturday"}),
        json!({"title": "dinner with Grace", "start": "Saturday at seven pm"}),
    );
    check(
        "calendar.find_slots",
        "when could I squeeze in a ninety minute workout this weekend",
        json!({"buffer": "15 minutes", "count": 1}),
        json!({"count": 1, "when": "this weekend", "length": "ninety minute"}),
    );
    check(
        "clock.resolve",
        "what's the date ninety days from now",
        json!({"text": "the date ninety days from now"}),
        json!({"text": "ninety days from now"}),
    );
}

#[test]
fn what_is_no_time_is_none() {
    // Nothing was said of time at all.
    check(
        "calendar.delete_event",
        "I can't make the concert after all, take it out of the calendar",
        json!({"event": "concert", "when": "after all"}),
        json!({"event": "concert"}),
    );
    // What may be meant for a day is not left out without a word.
    check(
        "calendar.query",
        "and what about flurbsday",
        json!({"when": "flurbsday"}),
        json!({"when": "flurbsday"}),
    );
    // More than the time was copied.
    check(
        "alarms.set",
        "on Saturdays and Sundays I'd like an alarm at nine thirty",
        json!({"time": "on Saturdays and Sundays I'd like an alarm at nine thirty"}),
        json!({"time": "Saturdays and Sundays at nine thirty"}),
    );
    check(
        "calendar.create_event",
        "Set up a forty five minute call with Sofía on December first at two thirty",
        json!({"title": "call", "start": "December first at two thirty", "end": "two thirty and forty-five minutes"}),
        json!({"title": "call", "start": "December first at two thirty", "end": "forty five minute"}),
    );
    // A day is no list.
    check(
        "reminders.update",
        "move it to Saturday",
        json!({"title": "buy stamps", "list": "saturday"}),
        json!({"title": "buy stamps", "due": "Saturday"}),
    );
}

#[test]
fn a_place_without_a_time_is_the_one_that_is_asked_for() {
    let entry = tools::ALL
        .iter()
        .find(|entry| entry.name == "clock.convert")
        .unwrap();
    for (given, expect) in [
        (json!({"from": "tokyo"}), json!({"to": "tokyo"})),
        (
            json!({"time": "now", "from": "sydney"}),
            json!({"time": "now", "to": "sydney"}),
        ),
        (
            json!({"time": "three pm", "from": "london"}),
            json!({"time": "three pm", "from": "london"}),
        ),
        (
            json!({"from": "london", "to": "tokyo"}),
            json!({"from": "london", "to": "tokyo"}),
        ),
    ] {
        let mut settled = given.clone();
        without_time(&mut settled, entry);
        assert_eq!(settled, expect, "{given}");
    }
}

#[test]
fn what_is_moved_begins_there() {
    for (said, given, expect) in [
        (
            "push it back to half past four",
            json!({"event": "review", "end": "half past four"}),
            json!({"event": "review", "start": "half past four"}),
        ),
        (
            "push it back to half past four",
            json!({"event": "review", "end": "16:30"}),
            json!({"event": "review", "start": "half past four"}),
        ),
        // Where it is not is no place to look for it, and where it was nobody said.
        (
            "move it to three",
            json!({"event": "review", "when": "three"}),
            json!({"event": "review", "start": "three"}),
        ),
        (
            "add the Anchor as the location to friday's call",
            json!({"event": "call", "when": "friday", "location": "the Anchor"}),
            json!({"event": "call", "when": "friday", "location": "the Anchor"}),
        ),
        (
            "move it to three",
            json!({"event": "review", "start": "tomorrow at ten", "end": "three"}),
            json!({"event": "review", "start": "three"}),
        ),
        (
            "extend it to half past four",
            json!({"event": "review", "end": "half past four"}),
            json!({"event": "review", "end": "half past four"}),
        ),
        (
            "make it last until half past four",
            json!({"event": "review", "end": "half past four"}),
            json!({"event": "review", "end": "until half past four"}),
        ),
    ] {
        check("calendar.update_event", said, given, expect);
    }
}

#[test]
fn two_times_stay_two() {
    check(
        "calendar.update_event",
        "move the board meeting from tuesday to thursday at nine",
        json!({"event": "board meeting", "when": "tuesday", "start": "thursday at nine"}),
        json!({"event": "board meeting", "when": "tuesday", "start": "thursday at nine"}),
    );
    check(
        "calendar.update_event",
        "move tomorrow's dentist and make it friday at ten",
        json!({"event": "dentist", "when": "tomorrow", "start": "friday"}),
        json!({"event": "dentist", "when": "tomorrow", "start": "friday at ten"}),
    );
}

#[test]
fn where_nothing_was_said_of_time_nothing_changes() {
    check(
        "reminders.create",
        "remind me to buy milk",
        json!({"title": "buy milk", "due": "tomorrow"}),
        json!({"title": "buy milk", "due": "tomorrow"}),
    );
    check("calendar.query", "what is on", json!([1]), json!([1]));
    check(
        "calendar.query",
        "what is on friday",
        json!({"when": 5}),
        json!({"when": 5}),
    );
}

#[test]
fn a_length_and_a_day_are_two_things() {
    let said = "is there half an hour on monday for a call";
    let expect = json!({"when": "monday", "length": "half an hour"});
    for given in [
        json!({"when": "half an hour on monday"}),
        json!({"length": "half an hour", "when": "half an hour on monday"}),
    ] {
        let mut settled = given.clone();
        let entry = tools::ALL
            .iter()
            .find(|entry| entry.name == "calendar.find_slots")
            .unwrap();
        settle(&mut settled, entry, said, &[]);
        for name in ["when", "length"] {
            assert_eq!(settled[name], expect[name], "{given}");
        }
    }
}

#[test]
fn of_two_times_the_one_that_can_be_meant_is() {
    // The model put the day of one to the hour of the other.
    check(
        "reminders.create",
        "I must phone Grandpa before the twenty eighth, remind me on the twenty seventh at ten in the morning",
        json!({"title": "phone Grandpa", "due": "twenty eighth at ten in the morning"}),
        json!({"title": "phone Grandpa", "due": "twenty seventh at ten in the morning"}),
    );
    check(
        "calendar.update_event",
        "move board meeting from tuesday to thursday at nine a m",
        json!({"event": "board meeting", "start": "tuesday at nine"}),
        json!({"event": "board meeting", "start": "thursday at nine a m"}),
    );
    check(
        "calendar.update_event",
        "move bored meeting from tuesday two thursday at nine a m",
        json!({"event": "bored meeting", "start": "tuesday at nine"}),
        json!({"event": "bored meeting", "start": "thursday at nine a m"}),
    );
    check(
        "calendar.update_event",
        "move the dentist on monday at half past nine over to wednesday",
        json!({"event": "dentist", "start": "wednesday at half past nine"}),
        json!({"event": "dentist", "start": "wednesday at half past nine"}),
    );
    check(
        "calendar.update_event",
        "make the review run from half past two to four pm tomorrow",
        json!({"event": "review", "start": "half past two to four pm tomorrow"}),
        json!({"event": "review", "start": "half past two to four pm tomorrow"}),
    );
    check(
        "reminders.create",
        "remind me on friday to book the table for monday at half past eight",
        json!({"title": "book the table", "due": "friday at half past eight"}),
        json!({"title": "book the table", "due": "friday at half past eight"}),
    );
    check(
        "reminders.create",
        "remind me tomorrow to book the table for friday at eight",
        json!({"title": "book the table", "due": "tomorrow at eight"}),
        json!({"title": "book the table", "due": "tomorrow at eight"}),
    );
    check(
        "calendar.create_event",
        "rowing on monday and yoga on tuesday at seven",
        json!({"title": "rowing", "start": "monday"}),
        json!({"title": "rowing", "start": "monday"}),
    );
}

#[test]
fn where_a_thing_is_taken_from_is_no_time() {
    check(
        "calendar.delete_event",
        "take climbing with Tom out of my calendar",
        json!({"event": "climbing with Tom", "when": "out of my calendar"}),
        json!({"event": "climbing with Tom"}),
    );
    check(
        "calendar.update_event",
        "move it to three",
        json!({"event": "Dentist", "location": "12 Garden Street", "series": "this"}),
        json!({"event": "Dentist", "location": "12 Garden Street", "series": "this", "start": "three"}),
    );
    check(
        "timers.set",
        "a half our timer for the potatoes please",
        json!({"duration": "a half our timer for the potatoes please"}),
        json!({"duration": "a half our"}),
    );
    check(
        "timers.set",
        "set a half our timer",
        json!({"duration": "half our"}),
        json!({"duration": "a half our"}),
    );
}
