//! What people say and recognisers write for it: hours that are meant for the morning, weeks counted from a day, the edges of
//! months, hours counted to twenty-four, words that were split or misheard.

use super::*;

/// Each row at its own moment.
#[track_caller]
fn at_moments(hint: Hint, rows: &[(&str, &str, &str)]) {
    for (now, text, expect) in rows {
        let found = match resolve(text, &at(now, "Europe/Berlin"), hint) {
            Ok(resolved) => short(&resolved.value),
            Err(error) => format!("{error:?}"),
        };
        assert_eq!(found, *expect, "{text:?} at {now}");
    }
}

#[test]
fn a_bare_hour_of_another_day_rings_in_the_morning() {
    table(
        Hint::Wake,
        &[
            ("six tomorrow", "2026-10-03T06:00"),
            ("tomorrow at six", "2026-10-03T06:00"),
            ("tomorrow at half past five", "2026-10-03T05:30"),
            ("a quarter to six on monday", "2026-10-05T05:45"),
            ("saturday at eight", "2026-10-03T08:00"),
            ("tomorrow at eleven", "2026-10-03T11:00"),
            ("the day after tomorrow at 5:15", "2026-10-04T05:15"),
            // Nobody gets up at these by saying no more.
            ("tomorrow at two", "2026-10-03T14:00"),
            ("tomorrow at twelve", "2026-10-03T12:00"),
            // What was said counts, and of today or with no day the next one to come.
            ("tomorrow at six pm", "2026-10-03T18:00"),
            ("tomorrow at 18:00", "2026-10-03T18:00"),
            ("tomorrow evening at six", "2026-10-03T18:00"),
            ("today at six", "2026-10-02T18:00"),
            ("six", "18:00"),
            ("half past eleven", "11:30"),
            (
                "every weekday at half five",
                "FREQ=WEEKLY;BYDAY=MO,TU,WE,TH,FR 2026-10-05T05:30",
            ),
            (
                "weekdays at six",
                "FREQ=WEEKLY;BYDAY=MO,TU,WE,TH,FR 2026-10-05T06:00",
            ),
            (
                "monday to friday every week at five",
                "FREQ=WEEKLY;BYDAY=MO,TU,WE,TH,FR 2026-10-05T05:00",
            ),
            ("every day at five", "FREQ=DAILY 2026-10-03T05:00"),
            ("saturdays at nine", "FREQ=WEEKLY;BYDAY=SA 2026-10-03T09:00"),
            ("every evening at seven", "FREQ=DAILY 2026-10-02T19:00"),
            (
                "every weekday at half past six pm",
                "FREQ=WEEKLY;BYDAY=MO,TU,WE,TH,FR 2026-10-02T18:30",
            ),
            ("daily at two", "FREQ=DAILY 2026-10-02T14:00"),
        ],
    );
    // For an appointment the same hour is one when people meet.
    let meet = [
        ("six tomorrow", "2026-10-03T18:00"),
        (
            "every weekday at half five",
            "FREQ=WEEKLY;BYDAY=MO,TU,WE,TH,FR 2026-10-02T17:30",
        ),
    ];
    table(Hint::Schedule, &meet);
    table(Hint::Future, &meet);
}

#[test]
fn weeks_are_counted_from_a_day() {
    let rows = [
        ("a week on monday", "2026-10-12"),
        ("a week on monday at ten", "2026-10-12T10:00"),
        ("at ten a week on monday", "2026-10-12T10:00"),
        ("a week monday", "2026-10-12"),
        ("monday week", "2026-10-12"),
        ("on monday week at ten", "2026-10-12T10:00"),
        ("a week this sunday", "2026-10-11"),
        ("two weeks on tuesday", "2026-10-20"),
        ("a fortnight on sunday", "2026-10-18"),
        ("sunday fortnight", "2026-10-18"),
        (
            "a week on wednesday morning",
            "2026-10-14T08:00..2026-10-14T12:00",
        ),
        ("a week today", "2026-10-09"),
        ("a week today at noon", "2026-10-09T12:00"),
        ("a week tomorrow", "2026-10-10"),
        ("tomorrow week", "2026-10-10"),
        ("a fortnight today", "2026-10-16"),
        ("a fort night today", "2026-10-16"),
        ("three weeks today", "2026-10-23"),
        ("a month today", "2026-11-02"),
        ("a hundred days from now", "2027-01-10"),
        ("in a hundred days", "2027-01-10"),
        ("a hundred and twenty days from today", "2027-01-30"),
        ("in a hundred minutes", "2026-10-02T12:00"),
        // These are no such counts.
        ("monday next week", "2026-10-05"),
        ("monday for a week", "2026-10-05..2026-10-12"),
        ("for a week on monday", "2026-10-05..2026-10-12"),
        ("in a week on monday", "2026-10-05"),
    ];
    table(Hint::Future, &rows);
    table(Hint::Search, &rows[..9]);
    at_moments(
        Hint::Schedule,
        &[
            (
                "2026-11-23T09:00:00",
                "a week on monday at ten",
                "2026-11-30T10:00",
            ),
            ("2026-11-26T09:00:00", "monday week", "2026-12-07"),
        ],
    );
}

#[test]
fn days_are_counted_in_a_month() {
    let rows = [
        ("first of next month", "2026-11-01"),
        ("the first of next month at nine", "2026-11-01T09:00"),
        ("the 15th of next month", "2026-11-15"),
        ("on the last of the month", "2026-10-31"),
        ("the 31st of the month", "2026-10-31"),
        ("the 2nd of this month", "2026-10-02"),
        ("the first of this month", "2026-10-01"),
        ("the first of next year", "2027-01-01"),
        // What is over this month is that of the next one.
        ("the first of the month", "2026-11-01"),
        ("the first of the year", "2027-01-01"),
        ("the first thursday of the month", "2026-11-05"),
        ("the first monday of the month", "2026-10-05"),
    ];
    table(Hint::Future, &rows);
    table(Hint::Schedule, &rows);
    table(Hint::Past, &[("the first of the month", "2026-10-01")]);
    at_moments(
        Hint::Schedule,
        &[
            ("2026-11-23T09:00:00", "the 31st of the month", "2026-12-31"),
            ("2026-12-31T09:00:00", "first of the month", "2027-01-01"),
        ],
    );
}

#[test]
fn what_is_put_down_at_the_end_of_a_month_is_on_its_last_day() {
    table(
        Hint::Schedule,
        &[
            ("the end of the month", "2026-10-31"),
            ("at the end of november", "2026-11-30"),
            ("end of february 2028", "2028-02-29"),
            ("end of the year", "2026-12-31"),
            ("end of next week", "2026-10-09"),
            ("beginning of next month", "2026-11-01"),
            ("start of this week", "2026-09-28"),
            ("by the end of the month", "..2026-11-01"),
            ("by sunday", "..2026-10-05"),
            ("until sunday", "..2026-10-05"),
            ("before sunday", "..2026-10-04"),
            ("by five", "..2026-10-02T17:00"),
            (
                "every friday until the end of the month",
                "FREQ=WEEKLY;UNTIL=20261031;BYDAY=FR 2026-10-02",
            ),
        ],
    );
    at_moments(
        Hint::Schedule,
        &[
            ("2026-11-23T09:00:00", "end of the month", "2026-11-30"),
            ("2026-11-30T09:00:00", "end of the month", "2026-11-30"),
            ("2026-11-23T09:00:00", "the beginning of the month", "2026-12-01"),
            ("2026-11-25T09:00:00", "the start of the week", "2026-11-30"),
            ("2026-11-25T09:00:00", "the end of the week", "2026-11-27"),
            ("2026-11-28T09:00:00", "the end of the week", "2026-11-29"),
        ],
    );
    // Who looks for something wants all of it, as far as it is to come, or was.
    at_moments(
        Hint::Search,
        &[
            (
                "2026-11-02T09:00:00",
                "the end of the month",
                "2026-11-16..2026-12-01",
            ),
            (
                "2026-11-23T09:00:00",
                "the end of the month",
                "2026-11-23..2026-12-01",
            ),
            (
                "2026-11-23T09:00:00",
                "the beginning of the month",
                "2026-11-01..2026-11-16",
            ),
        ],
    );
}

#[test]
fn hours_are_counted_to_twenty_four() {
    table(
        Hint::Future,
        &[
            ("1600 hours", "16:00"),
            ("0730 hours", "07:30"),
            ("at 0730", "07:30"),
            ("1600h", "16:00"),
            ("sixteen hundred hours", "16:00"),
            ("oh eight hundred hours", "08:00"),
            ("at zero nine hundred", "09:00"),
            ("at eight hundred hours", "08:00"),
            ("sixteen thirty hours", "16:30"),
            ("16:30 hours", "16:30"),
            ("at 16.30 hours", "16:30"),
            ("tomorrow at 1600 hours", "2026-10-03T16:00"),
            ("16.30", "16:30"),
            ("7.45", "19:45"),
            ("10.30", "10:30"),
            ("tomorrow 16.30", "2026-10-03T16:30"),
            ("friday 13.45", "2026-10-02T13:45"),
            ("half passed nine", "21:30"),
            // Dates have dots, too, and numbers of hours are lengths.
            ("5.12", "2027-05-12"),
            ("25.12", "2026-12-25"),
            ("30.10.2026", "2026-10-30"),
            ("in 2.5 hours", "2026-10-02T12:50"),
            ("a hundred hours", "360000s"),
            ("for 1600 hours", "5760000s"),
            ("1600 hours ago", "2026-07-27T18:20"),
        ],
    );
    table(
        Hint::Length,
        &[("1600 hours", "5760000s"), ("2.5 hours", "9000s")],
    );
}

#[test]
fn split_and_misheard_words_are_put_together() {
    table(
        Hint::Schedule,
        &[
            ("to morrow", "2026-10-03"),
            ("to morrow at nine", "2026-10-03T09:00"),
            ("yester day", "2026-10-01"),
            ("mid night", "00:00"),
            ("at for pm", "16:00"),
            ("at for p m", "16:00"),
            ("on monday at for pm", "2026-10-05T16:00"),
            ("at ate a m to morrow", "2026-10-03T08:00"),
            ("at to thirty pm", "14:30"),
            ("at for o'clock", "16:00"),
            ("at won pm", "13:00"),
            ("sick thirty a m", "06:30"),
            ("tree o'clock on satur day", "2026-10-03T15:00"),
            ("sun day morning", "2026-10-04T08:00..2026-10-04T12:00"),
            ("next tues day at ten", "2026-10-06T10:00"),
            ("too morrow at nine", "2026-10-03T09:00"),
            ("ate minutes", "480s"),
            ("in too hours", "2026-10-02T12:20"),
            ("an our", "3600s"),
            ("half an our", "1800s"),
            ("a half our", "1800s"),
            ("a quarter of an our", "900s"),
        ],
    );
    for text in [
        "for pm",
        "to pm",
        "at for",
        "for am",
        "at for example",
        "to more",
        "morrow",
        "at for seventy pm",
        "a hundred",
        "25.61",
        "2500 hours",
        "a hundred on monday",
        "our",
        "at three our time",
        "half our",
        "for minutes",
        "to days",
        "one too minutes",
        "too 10 am",
        "tree 11 pm",
        "sick hours",
        "two ours",
        "one our",
        "sick",
        "son days",
    ] {
        assert!(
            resolve(text, &now(), Hint::Schedule).is_err()
                || matches!(resolve(text, &now(), Hint::Schedule), Ok(r) if matches!(r.value, When::Duration { .. })),
            "{text:?} gave {}",
            said(text, Hint::Schedule)
        );
    }
}

#[test]
fn an_hour_stays_near_to_what_it_replaces() {
    #[track_caller]
    fn check(said: &str, before: &str, expect: &str) {
        let resolved = resolve(said, &now(), Hint::Schedule).unwrap();
        let instead = resolved.instead_of(&at(before, "Europe/Berlin"), &now());
        assert_eq!(short(&instead), expect, "{said:?} instead of {before}");
    }
    check("half past seven", "2026-10-05T18:00:00", "2026-10-05T19:30");
    check("half past seven", "2026-10-05T09:00:00", "2026-10-05T07:30");
    check(
        "tuesday at half past seven",
        "2026-10-05T18:00:00",
        "2026-10-06T19:30",
    );
    check("tomorrow at eight", "2026-10-05T20:00:00", "2026-10-03T20:00");
    check("five", "2026-10-05T09:00:00", "2026-10-05T17:00");
    check("five", "2026-10-05T06:00:00", "2026-10-05T05:00");
    check("one", "2026-10-05T11:00:00", "2026-10-05T13:00");
    check("eleven", "2026-10-05T14:00:00", "2026-10-05T11:00");
    check("eleven", "2026-10-05T20:00:00", "2026-10-05T23:00");
    check("seven am", "2026-10-05T18:00:00", "2026-10-05T07:00");
    check("ten", "2026-10-02T11:00:00", "2026-10-02T22:00");
    check(
        "from seven to eight",
        "2026-10-05T18:00:00",
        "2026-10-05T19:00..2026-10-05T20:00",
    );
    check(
        "tomorrow from seven to eight",
        "2026-10-05T18:00:00",
        "2026-10-03T19:00..2026-10-03T20:00",
    );
    // What is no hour is what it is.
    check("friday", "2026-10-05T18:00:00", "2026-10-02");
    check("in an hour", "2026-10-05T18:00:00", "2026-10-02T11:20");
    check("march", "2026-10-05T18:00:00", "2027-03-01..2027-04-01");
}
