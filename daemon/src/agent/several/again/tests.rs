//! Which sentences hold several requests of one kind, and which do not.

use std::sync::{Arc, LazyLock};

use serde_json::{Value, json};
use tools::{discover::Index, reflex::Reflexes};

use super::{super::cut, *};
use crate::agent::{Settings, toolbox::Loading};

fn toolbox() -> Toolbox {
    static INDEX: LazyLock<Arc<Index>> = LazyLock::new(|| Arc::new(Index::of(tools::ALL)));
    Toolbox::new(tools::ALL, INDEX.clone(), &Loading::default())
}

#[track_caller]
fn check(text: &str, expect: &[&str]) {
    let sure = Settings::default().split_score;
    let parts = cut(text, &toolbox(), &Reflexes::of(tools::ALL), sure);
    assert_eq!(parts, expect);
}

#[test]
fn another_one_is_a_request_of_its_own() {
    check(
        "set a timer for eight minutes for the pasta and another for eleven for the potatoes",
        &[
            "set a timer for eight minutes for the pasta",
            "set a timer for eleven minutes for the potatoes",
        ],
    );
    check(
        "set a timer for five minutes and another one for twelve minutes",
        &["set a timer for five minutes", "set a timer for twelve minutes"],
    );
    check(
        "Timer of half an hour for the bread. One more of an hour for the roast, please.",
        &[
            "Timer of half an hour for the bread.",
            "Timer of an hour for the roast, please.",
        ],
    );
    check(
        "set an alarm for seven and another for half past eight",
        &["set an alarm for seven", "set an alarm for half past eight"],
    );
    check(
        "two timers, one for five minutes and the other for ten",
        &[
            "two timers, one for five minutes",
            "two timers, one for ten minutes",
        ],
    );
    check(
        "set a timer for eight minutes for the pasta, another for eleven for the potatoes and one for twenty for the roast",
        &[
            "set a timer for eight minutes for the pasta",
            "set a timer for eleven minutes for the potatoes",
            "set a timer for twenty minutes for the roast",
        ],
    );
    check(
        "set a timer for the pasta for eight minutes and another for eleven for the potatoes",
        &[
            "set a timer for the pasta for eight minutes",
            "set a timer for eleven minutes for the potatoes",
        ],
    );
}

#[test]
fn lengths_share_their_unit() {
    check(
        "two timers, five and ten minutes",
        &["two timers, five minutes", "two timers, ten minutes"],
    );
    check(
        "two timers, five minutes for the eggs and eleven for the potatoes",
        &[
            "two timers, five minutes for the eggs",
            "two timers, eleven minutes for the potatoes",
        ],
    );
    check(
        "set timers for five, ten and fifteen minutes please",
        &[
            "set timers for five minutes please",
            "set timers for ten minutes please",
            "set timers for fifteen minutes please",
        ],
    );
    // Nobody counts minutes and minutes together.
    check(
        "set a timer for 5 minutes and 10 minutes",
        &["set a timer for 5 minutes", "set a timer for 10 minutes"],
    );
}

#[test]
fn a_length_may_stand_before_its_thing() {
    check(
        "start a 5 minute timer and another of 10",
        &["start a 5 minute timer", "start a 10 minute timer"],
    );
    check(
        "start a five minute timer for the eggs and a ten minute one for the rice",
        &[
            "start a five minute timer for the eggs",
            "start a ten minute timer for the rice",
        ],
    );
    check(
        "set a five minute and a ten minute timer",
        &["set a five minute timer", "set a ten minute timer"],
    );
}

#[test]
fn times_with_a_thing_each_are_two() {
    check(
        "remind me at three to call mum and at four to call dad",
        &["remind me at three to call mum", "remind me at four to call dad"],
    );
    check(
        "remind me to call mum at three and at four to call dad",
        &["remind me to call mum at three", "remind me at four to call dad"],
    );
    check(
        "remind me in ten minutes to turn the oven on and in twenty to take the cake out",
        &[
            "remind me in ten minutes to turn the oven on",
            "remind me in twenty minutes to take the cake out",
        ],
    );
    check(
        "remind me every monday to water the plants and every friday to feed the fish",
        &[
            "remind me every monday to water the plants",
            "remind me every friday to feed the fish",
        ],
    );
    check(
        "wake me at seven on weekdays and at nine on weekends",
        &["wake me at seven on weekdays", "wake me at nine on weekends"],
    );
    check(
        "remind me on friday to buy milk, on saturday to mow the lawn and on sunday to call mum",
        &[
            "remind me on friday to buy milk",
            "remind me on saturday to mow the lawn",
            "remind me on sunday to call mum",
        ],
    );
    check(
        "what day is it in three weeks and in five weeks",
        &["what day is it in three weeks", "what day is it in five weeks"],
    );
}

#[test]
fn what_both_share_is_said_of_both() {
    check(
        "wake me at seven and eight",
        &["wake me at seven", "wake me at eight"],
    );
    check(
        "remind me at three and at four to drink water",
        &[
            "remind me at three to drink water",
            "remind me at four to drink water",
        ],
    );
    check(
        "remind me to take my pills at eight and at six",
        &[
            "remind me to take my pills at eight",
            "remind me to take my pills at six",
        ],
    );
    check(
        "remind me tomorrow at nine to call mum and at ten to call dad",
        &[
            "remind me tomorrow at nine to call mum",
            "remind me tomorrow at ten to call dad",
        ],
    );
    check(
        "tomorrow wake me at seven and at eight",
        &["tomorrow wake me at seven", "tomorrow wake me at eight"],
    );
    check(
        "wake me at seven and at eight tomorrow",
        &["wake me at seven tomorrow", "wake me at eight tomorrow"],
    );
    check(
        "alarms at half past six and seven tomorrow morning",
        &[
            "alarms tomorrow at half past six",
            "alarms at seven tomorrow morning",
        ],
    );
    check(
        "wake me on monday and tuesday at seven",
        &["wake me on monday at seven", "wake me on tuesday at seven"],
    );
    check(
        "set alarms for one and two in the morning",
        &[
            "set alarms for one in the morning",
            "set alarms for two in the morning",
        ],
    );
    check(
        "wake me at ten and two in the afternoon",
        &["wake me at ten", "wake me at two in the afternoon"],
    );
    check(
        "wake me on monday, wednesday and friday at seven",
        &[
            "wake me on monday at seven",
            "wake me on wednesday at seven",
            "wake me on friday at seven",
        ],
    );
    check(
        "remind me to buy milk and eggs at three and at four and call mum",
        &[
            "remind me to buy milk and eggs at three",
            "remind me to buy milk and eggs at four and call mum",
        ],
    );
    check("alarms at 7 and 830", &["alarms at 7", "alarms at 830"]);
    check(
        "remind me at three to call mum and at four",
        &["remind me at three to call mum", "remind me at four to call mum"],
    );
}

#[test]
fn each_side_is_cut_again() {
    check(
        "set a timer for five minutes and another for ten and tell me what is on my calendar tomorrow",
        &[
            "set a timer for five minutes",
            "set a timer for ten minutes",
            "tell me what is on my calendar tomorrow",
        ],
    );
    check(
        "turn the volume down and remind me at three to call mum and at four to call dad",
        &[
            "turn the volume down",
            "remind me at three to call mum",
            "remind me at four to call dad",
        ],
    );
    check(
        "wake me at seven and remind me at eight to call mum",
        &["wake me at seven", "remind me at eight to call mum"],
    );
}

#[test]
fn one_request_may_hold_two_times() {
    for text in [
        // From one to the other.
        "remind me from three to four to breathe",
        "remind me between three and four to call mum",
        "put a meeting on monday at three and a half hour long in my calendar",
        "move the dentist from three to four",
        "schedule lunch with anna at noon and dinner at eight",
        // One length, one time, one rule.
        "set a timer for an hour and ten minutes",
        "set a timer for one hour and a half",
        "set a timer for two and a half minutes",
        "set a timer for two hours and thirty minutes",
        "set a timer for one minute, thirty seconds",
        "remind me in an hour and a half",
        "remind me in an hour and ten minutes to call mum",
        "wake me every monday and friday at seven",
        "remind me on friday, at nine, to call mum",
        "remind me on monday and at nine to call mum",
        "remind me tomorrow, saturday, to take the bins out",
        "remind me on monday, the third of may, to pay the rent",
        "remind me on the third and fourth of may to water the plants",
        // What is put right, or not wanted.
        "set a timer for ten minutes, sorry, fifteen minutes",
        "set a timer for ten, fifteen minutes",
        "wake me at seven, at eight",
        "wake me at seven and not at eight",
        "set a timer for ten minutes and call it eleven",
        // Other numbers.
        "set a timer for ten minutes and three eggs",
        "remind me at three to buy bread for mum and two for dad",
        "remind me to buy three and four",
        "order pizza for three and for four",
        "wake me up at five hundred and thirty",
        "set an alarm for five and thirty",
        // A time of the thing itself.
        "remind me on friday about the train at nine",
        "remind me at three to tell dad that the trains go at four and at five",
        "remind me that the shop closes at four and at five it is too late",
        "remind me that the trains go at three and at four",
        "remind me to book a table for friday and saturday at seven",
        "remind me at three to set a timer for ten minutes and another for twelve",
        "wake me at seven, the train goes at eight",
        // Only a part of what is done then is said before.
        "remind me to call mum at three and dad at four",
        "remind me at three to call mum and dad at four",
        "remind me on monday to call mum and at ten to call dad",
        "remind me every monday at nine to call mum and at ten to call dad",
        // Something else is to be done then, or then is not known yet.
        "set an alarm for 235pm and another an hour later",
        "wake me at seven and at eight play the news",
        "set a timer for twenty minutes and five minutes before it rings lower the volume",
        "set a timer for five minutes and ten minutes later remind me to eat",
        "set a timer for eight minutes for the pasta and the potatoes need eleven minutes",
        // Tools that take both times at once, or only look.
        "what is on my calendar on monday and on tuesday",
        "cancel the alarm at seven and at eight",
        "is it going to rain at three and at four",
        "add milk for friday and eggs for saturday to my list",
        "move the reminder for the bins to friday and saturday",
        "and at seven",
        "at seven and",
    ] {
        check(text, &[text]);
    }
}

#[test]
fn what_was_named_and_not_done_is_left_over() {
    #[track_caller]
    fn check(text: &str, tool: &str, arguments: Value, expect: bool) {
        let call = Call {
            name: tool.to_owned(),
            arguments,
        };
        let sure = Settings::default().split_score;
        assert_eq!(is_left_over(text, &call, &toolbox(), sure), expect, "{text:?}");
    }
    let length = |length: &str| json!({"duration": length});
    let time = |time: &str| json!({"time": time});
    for (text, tool, arguments) in [
        (
            "set a timer for eight minutes for the pasta and the potatoes need eleven minutes",
            "timers.set",
            length("eight minutes"),
        ),
        (
            "wake me at seven and at eight play the news",
            "alarms.set",
            time("at seven"),
        ),
        // It may also have done the second.
        (
            "wake me at seven and at eight play the news",
            "alarms.set",
            time("eight"),
        ),
        // More than a sentence is cut into.
        ("timers for 3 and 4 minutes", "timers.set", length("4 minutes")),
    ] {
        check(text, tool, arguments, true);
    }
    for (text, tool, arguments) in [
        ("set a timer for ten minutes", "timers.set", length("ten minutes")),
        (
            "set a timer for an hour and ten minutes",
            "timers.set",
            length("70 minutes"),
        ),
        (
            "set a timer for ten minutes, no, fifteen minutes",
            "timers.set",
            length("fifteen minutes"),
        ),
        (
            "wake me at seven and not at eight",
            "alarms.set",
            time("at seven"),
        ),
        (
            "wake me at seven and the train is at eight",
            "alarms.set",
            time("at seven"),
        ),
        (
            "wake me at seven, the train goes at eight",
            "alarms.set",
            time("at seven"),
        ),
        (
            "set a timer for ten minutes for the five minute eggs",
            "timers.set",
            json!({"duration": "ten minutes", "label": "five minute eggs"}),
        ),
        (
            "wake me at seven and call it the eight am run",
            "alarms.set",
            json!({"time": "at seven", "label": "the eight am run"}),
        ),
        // The time may be of what is to be done.
        (
            "remind me on friday to take the train at nine and the bus at ten",
            "reminders.create",
            json!({"title": "take the train at nine", "due": "friday"}),
        ),
        (
            "what is on at three and at four",
            "calendar.query",
            json!({"when": "at three"}),
        ),
        ("wake me at seven and at eight", "alarms.list", json!({})),
    ] {
        check(text, tool, arguments, false);
    }
}
