//! What comes back: rules, their first occurrences, and what no rule can say.

use super::*;

#[test]
fn recurrences() {
    let rows = [
        ("every monday", "FREQ=WEEKLY;BYDAY=MO 2026-10-05"),
        ("each friday at noon", "FREQ=WEEKLY;BYDAY=FR 2026-10-02T12:00"),
        ("fridays at nine", "FREQ=WEEKLY;BYDAY=FR 2026-10-09T09:00"),
        (
            "on tuesdays and thursdays at half past six pm",
            "FREQ=WEEKLY;BYDAY=TU,TH 2026-10-06T18:30",
        ),
        (
            "every monday, wednesday and friday",
            "FREQ=WEEKLY;BYDAY=MO,WE,FR 2026-10-02",
        ),
        (
            "every weekday at nine",
            "FREQ=WEEKLY;BYDAY=MO,TU,WE,TH,FR 2026-10-05T09:00",
        ),
        (
            "at seven thirty on weekdays",
            "FREQ=WEEKLY;BYDAY=MO,TU,WE,TH,FR 2026-10-05T07:30",
        ),
        (
            "monday to friday every week at eight",
            "FREQ=WEEKLY;BYDAY=MO,TU,WE,TH,FR 2026-10-05T08:00",
        ),
        (
            "every day except sunday",
            "FREQ=WEEKLY;BYDAY=MO,TU,WE,TH,FR,SA 2026-10-02",
        ),
        ("every weekend", "FREQ=WEEKLY;BYDAY=SA,SU 2026-10-03"),
        ("every day", "FREQ=DAILY 2026-10-02"),
        ("daily at 8 am", "FREQ=DAILY 2026-10-03T08:00"),
        ("every day at five p m", "FREQ=DAILY 2026-10-02T17:00"),
        ("every morning", "FREQ=DAILY 2026-10-03T08:00 14400s"),
        ("every night at ten", "FREQ=DAILY 2026-10-02T22:00"),
        ("every three days", "FREQ=DAILY;INTERVAL=3 2026-10-02"),
        ("every other week", "FREQ=WEEKLY;INTERVAL=2 2026-10-02"),
        (
            "every other tuesday at 4 pm",
            "FREQ=WEEKLY;INTERVAL=2;BYDAY=TU 2026-10-06T16:00",
        ),
        (
            "every two weeks on friday",
            "FREQ=WEEKLY;INTERVAL=2;BYDAY=FR 2026-10-02",
        ),
        (
            "biweekly on wednesday",
            "FREQ=WEEKLY;INTERVAL=2;BYDAY=WE 2026-10-07",
        ),
        ("once a week on sunday", "FREQ=WEEKLY;BYDAY=SU 2026-10-04"),
        ("every month on the first", "FREQ=MONTHLY;BYMONTHDAY=1 2026-11-01"),
        (
            "monthly on the 15th at 3 pm",
            "FREQ=MONTHLY;BYMONTHDAY=15 2026-10-15T15:00",
        ),
        (
            "on the 25th of every month",
            "FREQ=MONTHLY;BYMONTHDAY=25 2026-10-25",
        ),
        (
            "the last day of each month",
            "FREQ=MONTHLY;BYMONTHDAY=-1 2026-10-31",
        ),
        ("every 31st", "FREQ=MONTHLY;BYMONTHDAY=31 2026-10-31"),
        (
            "the first monday of every month at ten",
            "FREQ=MONTHLY;BYDAY=1MO 2026-10-05T10:00",
        ),
        (
            "every last friday of the month",
            "FREQ=MONTHLY;BYDAY=-1FR 2026-10-30",
        ),
        ("every third thursday", "FREQ=MONTHLY;BYDAY=3TH 2026-10-15"),
        (
            "the last weekday of every month",
            "FREQ=MONTHLY;BYDAY=MO,TU,WE,TH,FR;BYSETPOS=-1 2026-10-30",
        ),
        ("every three months", "FREQ=MONTHLY;INTERVAL=3 2026-10-02"),
        ("quarterly", "FREQ=MONTHLY;INTERVAL=3 2026-10-02"),
        (
            "every year on may 5",
            "FREQ=YEARLY;BYMONTH=5;BYMONTHDAY=5 2027-05-05",
        ),
        (
            "every third of may",
            "FREQ=YEARLY;BYMONTH=5;BYMONTHDAY=3 2027-05-03",
        ),
        (
            "every february 29",
            "FREQ=YEARLY;BYMONTH=2;BYMONTHDAY=29 2028-02-29",
        ),
        (
            "the first monday of september every year",
            "FREQ=YEARLY;BYMONTH=9;BYDAY=1MO 2027-09-06",
        ),
        ("annually", "FREQ=YEARLY 2026-10-02"),
        ("every hour", "FREQ=HOURLY 2026-10-02T11:20"),
        ("every 20 minutes", "FREQ=MINUTELY;INTERVAL=20 2026-10-02T10:40"),
        (
            "every monday from 9 to 10:30",
            "FREQ=WEEKLY;BYDAY=MO 2026-10-05T09:00 5400s",
        ),
        (
            "every weekday 9 to 5",
            "FREQ=WEEKLY;BYDAY=MO,TU,WE,TH,FR 2026-10-05T09:00 28800s",
        ),
        (
            "between ten and eleven in the morning each wednesday",
            "FREQ=WEEKLY;BYDAY=WE 2026-10-07T10:00 3600s",
        ),
        (
            "every day from monday to thursday at noon",
            "FREQ=WEEKLY;BYDAY=MO,TU,WE,TH 2026-10-05T12:00",
        ),
        (
            "every monday at nine for two hours",
            "FREQ=WEEKLY;BYDAY=MO 2026-10-05T09:00 7200s",
        ),
        ("every day for two weeks", "FREQ=DAILY;UNTIL=20261015 2026-10-02"),
        (
            "every day at nine am for ten times",
            "FREQ=DAILY;COUNT=10 2026-10-03T09:00",
        ),
        (
            "every monday until october 26",
            "FREQ=WEEKLY;UNTIL=20261026;BYDAY=MO 2026-10-05",
        ),
        // Until the end of that day in Berlin, which keeps winter time by then.
        (
            "every monday at nine until october 26",
            "FREQ=WEEKLY;UNTIL=20261026T225959Z;BYDAY=MO 2026-10-05T09:00",
        ),
        (
            "every tuesday starting november 1",
            "FREQ=WEEKLY;BYDAY=TU 2026-11-03",
        ),
        (
            "every day next week at six pm",
            "FREQ=DAILY;UNTIL=20261011T215959Z 2026-10-05T18:00",
        ),
        (
            "every friday in november",
            "FREQ=WEEKLY;UNTIL=20261130;BYDAY=FR 2026-11-06",
        ),
    ];
    table(Hint::Schedule, &rows);
    table(Hint::Future, &rows);
}

#[test]
fn recurrences_that_are_heard_both_ways_say_so() {
    #[track_caller]
    fn check(text: &str, best: &str, others: &[&str]) {
        let resolved = resolve(text, &now(), Hint::Schedule).unwrap();
        let found: Vec<String> = resolved.alternatives.iter().map(short).collect();
        assert_eq!(
            (short(&resolved.value).as_str(), found),
            (best, others.iter().map(|o| (*o).to_owned()).collect())
        );
    }
    check(
        "every day at five",
        "FREQ=DAILY 2026-10-02T17:00",
        &["FREQ=DAILY 2026-10-03T05:00"],
    );
    check(
        "every second tuesday",
        "FREQ=WEEKLY;INTERVAL=2;BYDAY=TU 2026-10-06",
        &["FREQ=MONTHLY;BYDAY=2TU 2026-10-13"],
    );
    check(
        "every second tuesday of the month",
        "FREQ=MONTHLY;BYDAY=2TU 2026-10-13",
        &[],
    );
}

#[test]
fn what_no_rule_can_say_is_refused() {
    for text in [
        "twice a week",
        "three times a day",
        "every",
        "every month on monday",
        "every day except",
        "every second",
        "every monday until yesterday",
        "every february 30",
        "every 0 days",
        "every day except monday to sunday",
        "every monday every month",
        "every hour at nine",
    ] {
        assert!(
            resolve(text, &now(), Hint::Schedule).is_err(),
            "{text:?} gave {}",
            said(text, Hint::Schedule)
        );
    }
}
