//! Holidays, comparisons, and what is not the same for everybody.

use super::*;

#[test]
fn holidays() {
    table(
        Hint::Future,
        &[
            ("christmas", "2026-12-25"),
            ("Christmas Day at noon", "2026-12-25T12:00"),
            ("christmas eve", "2026-12-24"),
            ("the eve of thanksgiving", "2026-11-25"),
            ("new year's eve", "2026-12-31"),
            ("new years", "2027-01-01"),
            ("easter", "2027-03-28"),
            ("easter 2030", "2030-04-21"),
            ("good friday next year", "2027-03-26"),
            ("last easter", "2026-04-05"),
            ("next easter", "2027-03-28"),
            ("pentecost 2026", "2026-05-24"),
            ("shrove tuesday", "2027-02-09"),
            ("thanksgiving", "2026-11-26"),
            ("black friday", "2026-11-27"),
            ("labor day", "2027-09-06"),
            ("labour day", "2027-05-01"),
            ("martin luther king day", "2027-01-18"),
            ("mother's day", "2027-05-09"),
            ("mothers day 2026", "2026-05-10"),
            ("Father's Day", "2027-06-20"),
            ("memorial day", "2027-05-31"),
            ("victoria day 2026", "2026-05-18"),
            ("advent sunday 2026", "2026-11-29"),
            ("election day 2028", "2028-11-07"),
            ("st. patrick's day", "2027-03-17"),
            ("halloween night", "2026-10-31T20:00..2026-11-01"),
            ("the day after thanksgiving", "2026-11-27"),
            ("three days before easter", "2027-03-25"),
            ("a week from christmas eve", "2026-12-31"),
            ("before christmas", "..2026-12-25"),
            ("memorial day weekend", "2027-05-29..2027-06-01"),
            ("the weekend of thanksgiving", "2026-11-26..2026-11-30"),
            ("christmas week", "2026-12-21..2026-12-28"),
            ("from christmas to new year's eve", "2026-12-25..2026-12-31"),
            (
                "every christmas",
                "FREQ=YEARLY;BYMONTH=12;BYMONTHDAY=25 2026-12-25",
            ),
            (
                "every thanksgiving at four pm",
                "FREQ=YEARLY;BYMONTH=11;BYDAY=4TH 2026-11-26T16:00",
            ),
            (
                "every monday until christmas",
                "FREQ=WEEKLY;UNTIL=20261225;BYDAY=MO 2026-10-05",
            ),
        ],
    );
    table(
        Hint::Past,
        &[("christmas", "2025-12-25"), ("easter", "2026-04-05")],
    );
    let other = |text: &str| -> Vec<String> {
        let resolved = resolve(text, &now(), Hint::Future).unwrap();
        resolved.alternatives.iter().map(short).collect()
    };
    // Another country's day comes before the same day of another year.
    assert_eq!(other("thanksgiving"), ["2026-10-12", "2025-11-27", "2025-10-13"]);
    assert_eq!(other("next christmas"), ["2027-12-25"]);
}

#[test]
fn stretches_by_comparison() {
    table(
        Hint::Future,
        &[
            ("more than a week after tomorrow", "2026-10-10.."),
            ("more than three days ago", "..2026-09-29"),
            ("at least two weeks before christmas", "..2026-12-11"),
            ("less than two weeks after christmas", "2026-12-25..2027-01-08"),
            ("less than an hour ago", "2026-10-02T09:20..2026-10-02T10:20"),
            ("within two days before easter", "2027-03-26..2027-03-28"),
            ("later than 2030", "2031-01-01.."),
            (">= 2030", "2030-01-01.."),
            ("< may 5 2027", "..2027-05-05"),
            ("the next two business days", "2026-10-03..2026-10-07"),
            ("in three working days", "2026-10-07"),
            ("two business days before christmas", "2026-12-23"),
            ("cy 2031", "2031-01-01..2032-01-01"),
            ("calendar year 2031", "2031-01-01..2032-01-01"),
            ("in five days on wednesday", "2026-10-07"),
            ("thursday two weeks after may 3rd", "2027-05-20"),
            ("a month from today on monday", "2026-11-02"),
        ],
    );
}

#[test]
fn what_is_not_the_same_for_everybody_is_said_so() {
    for text in [
        "this summer",
        "next fiscal year",
        "school year 2027",
        "end of the tax year",
    ] {
        let error = resolve(text, &now(), Hint::Future).unwrap_err();
        assert_eq!(error, WhenError::Unsettled(text.to_owned()));
    }
}
