//! `calendar.update_event`: another time, place or name for an event.

use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::json;

use crate::{
    contract::{Ctx, Effect, Output, TimeRole, Tool, ToolError},
    system::{
        calendar::{self, Change, Event, Scope},
        known::Kind,
        plain, speech,
    },
};

/// Changes events.
pub struct This;

/// Which one, and what shall be different.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Args {
    /// Words of its title, or its uid
    event: String,
    /// The day or time that it has now, if said
    when: Option<String>,
    /// New start as said: "friday at five", "an hour later"
    start: Option<String>,
    /// New end or length: "six", "two hours"
    end: Option<String>,
    /// New title
    title: Option<String>,
    /// New place
    location: Option<String>,
    /// Of a series: this occurrence, the following too, or all
    series: Option<Series>,
}

#[derive(Debug, Clone, Copy, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
enum Series {
    This,
    Following,
    All,
}

impl Tool for This {
    type Args = Args;
    const NAME: &'static str = "calendar.update_event";
    const SUMMARY: &'static str = "Move, rename or otherwise change an event in the calendar";
    const EFFECT: Effect = Effect::Write;
    const CONFIRM: bool = true;
    const NAMED: &'static [(&'static str, Kind)] = &[("event", Kind::Event)];
    const TIMES: &'static [(&'static str, TimeRole)] = &[
        ("start", TimeRole::Moved),
        ("when", TimeRole::Find),
        ("end", TimeRole::End),
    ];
    const EXAMPLES: &'static [&'static str] = &[
        "move my dentist appointment to friday at ten",
        "reschedule the meeting with Anna to tomorrow afternoon at three",
        "push the standup back by half an hour",
        "change the location of the team lunch to the Anchor",
        "rename tomorrow's call to project review",
        "make the workshop two hours long",
        "postpone all my monday yoga classes to six pm from next week on",
    ];
    const CALLS: &'static [(&'static str, &'static str)] = &[
        (
            "push the standup back by half an hour",
            r#"{"event": "standup", "start": "back by half an hour"}"#,
        ),
        (
            "rename tomorrow's call to project review",
            r#"{"event": "call", "when": "tomorrow", "title": "project review"}"#,
        ),
        (
            "make the workshop two hours long",
            r#"{"event": "workshop", "end": "two hours"}"#,
        ),
        (
            "change the location of the team lunch to the Anchor",
            r#"{"event": "team lunch", "location": "the Anchor"}"#,
        ),
    ];
    const USE_WHEN: &'static str = "For an event that is there already; a new one is calendar.create_event.";
    const LIMITS: &'static str = "Tells nobody who takes part; cannot change how often it repeats.";

    fn preview(args: &Args, ctx: &Ctx) -> Result<String, ToolError> {
        let (event, series, change) = resolve(args, ctx)?;
        Ok(format!(
            "Change {}: {}.",
            which(&event, series, ctx),
            described(&change, ctx)
        ))
    }

    async fn run(args: Args, ctx: &Ctx) -> Result<Output, ToolError> {
        let own = ctx.clone();
        let (event, change) = tokio::task::spawn_blocking(move || {
            let (event, series, change) = resolve(&args, &own)?;
            calendar::update(&own.step, &event, scope(series), &change, &own.now)?;
            Ok::<_, ToolError>(((event, series), change))
        })
        .await
        .map_err(|e| ToolError::broken("change the event", e))??;
        let (event, series) = event;
        let mut say = format!(
            "Changed {}: {}.",
            which(&event, series, ctx),
            described(&change, ctx)
        );
        if event.invited {
            say.push_str(" The others who take part do not know yet.");
        }
        let mut data = json!({"uid": plain::one_line(&event.uid, 120), "title": change.title.as_deref().unwrap_or(&event.title)});
        if let Some((start, end, all_day)) = &change.time {
            let shape = if *all_day { "%Y-%m-%d" } else { "%Y-%m-%dT%H:%M" };
            data["start"] = json!(start.strftime(shape).to_string());
            data["end"] = json!(end.strftime(shape).to_string());
        }
        Ok(Output {
            untrusted: event.invited,
            ..Output::new(say, data)
        })
    }
}

fn scope(series: Option<Series>) -> Scope {
    match series {
        None | Some(Series::This) => Scope::One,
        Some(Series::Following) => Scope::Onwards,
        Some(Series::All) => Scope::All,
    }
}

/// The event, how much of its series is meant and what shall be different, or what is wrong with it.
fn resolve(args: &Args, ctx: &Ctx) -> Result<(Event, Option<Series>, Change), ToolError> {
    let said = |text: &Option<String>| {
        text.as_deref()
            .map(|t| plain::one_line(t, 150))
            .filter(|t| !t.is_empty())
    };
    let event = calendar::which(&ctx.dirs.calendars, &args.event, args.when.as_deref(), &ctx.now)?;
    calendar::writable(&event)?;
    let all = calendar::is_whole_series(&args.event, &event);
    let series = args.series.or(all.then_some(Series::All));
    let (start, end) = (said(&args.start), said(&args.end));
    let time = if start.is_some() || end.is_some() {
        Some(time(&event, start.as_deref(), end.as_deref(), ctx)?)
    } else {
        None
    };
    // An occurrence that was moved may be then already, while its series is not.
    let moved = event.original.as_ref().is_some_and(|at| *at != event.start);
    let moves_others = moved && start.is_some() && scope(series) != Scope::One;
    let change = Change {
        title: said(&args.title).filter(|title| *title != event.title),
        location: said(&args.location).filter(|place| Some(place) != event.location.as_ref()),
        time: time.filter(|(from, to, all_day)| {
            (from, to, *all_day) != (&event.start, &event.end, event.all_day) || moves_others
        }),
    };
    if change == Change::default() {
        let nothing =
            args.title.is_none() && args.location.is_none() && args.start.is_none() && args.end.is_none();
        let what = calendar::spoken(&event, &ctx.now);
        let text = if nothing {
            format!("What shall be different about {what}: its time, title or place?")
        } else {
            format!("{what} is like that already.")
        };
        return Err(calendar::tell(text, [&event]));
    }
    Ok((event, series, change))
}

type Time = (jiff::Zoned, jiff::Zoned, bool);

/// The new time; an event that is only moved keeps its length.
fn time(event: &Event, start: Option<&str>, end: Option<&str>, ctx: &Ctx) -> Result<Time, ToolError> {
    let outside = |_| ToolError::tell("That is outside the calendar.");
    let moved = match start {
        Some(start) => calendar::moved(start, event, &ctx.now)?,
        None => calendar::Moved {
            start: event.start.clone(),
            end: None,
            all_day: event.all_day,
        },
    };
    let to = match (end, &moved.end) {
        (Some(said), _) => calendar::end(said, &moved.start, moved.all_day)?.0,
        (None, Some(end)) => end.clone(),
        (None, None) if moved.all_day => {
            let days = event
                .start
                .date()
                .until(event.end.date())
                .map_or(1, |span| span.get_days().max(1));
            moved
                .start
                .checked_add(jiff::Span::new().days(days))
                .map_err(outside)?
        }
        // What was a whole day becomes an hour, as a new event would.
        (None, None) if event.all_day => moved
            .start
            .checked_add(jiff::Span::new().hours(1))
            .map_err(outside)?,
        (None, None) => moved
            .start
            .checked_add(event.start.duration_until(&event.end))
            .map_err(outside)?,
    };
    if to < moved.start || (to == moved.start && event.start != event.end) {
        return Err(ToolError::tell(format!(
            "It would end {} before it starts {}.",
            speech::moment(&to, &ctx.now),
            speech::moment(&moved.start, &ctx.now)
        )));
    }
    Ok((moved.start, to, moved.all_day))
}

/// "Dentist tomorrow at 09:30", with how much of a series is meant.
fn which(event: &Event, series: Option<Series>, ctx: &Ctx) -> String {
    let one = calendar::spoken(event, &ctx.now);
    match (event.repeats, series) {
        (false, _) => one,
        (true, None | Some(Series::This)) => format!("{one}, only this time"),
        (true, Some(Series::Following)) => format!("{one} and from then on"),
        (true, Some(Series::All)) => format!("all of {}", plain::one_line(&event.title, 80)),
    }
}

fn described(change: &Change, ctx: &Ctx) -> String {
    let mut parts = Vec::new();
    if let Some((start, end, all_day)) = &change.time {
        parts.push(format!(
            "it is {} now",
            speech::stretch(start, end, *all_day, &ctx.now)
        ));
    }
    parts.extend(change.title.as_ref().map(|title| format!("it is called {title}")));
    parts.extend(change.location.as_ref().map(|place| format!("it is at {place}")));
    plain::listed(&parts, "and")
}

#[cfg(test)]
mod tests {
    use std::{fs, path::Path};

    use serde_json::Value;

    use super::*;
    use crate::testing::{ctx, run, said, told};

    const FOREIGN: &str = "X-FOREIGN;P=\"a:b\":  kept\nCATEGORIES:One,\n  Two";

    fn put(root: &Path, name: &str, lines: &str) {
        let folder = root.join("calendars/office");
        fs::create_dir_all(&folder).unwrap();
        let text = format!(
            "BEGIN:VCALENDAR\nVERSION:2.0\nPRODID:-//x//y\nBEGIN:VEVENT\nUID:{name}\n{lines}\n{FOREIGN}\nEND:VEVENT\nEND:VCALENDAR\n"
        );
        fs::write(folder.join(format!("{name}.ics")), text).unwrap();
    }

    /// The context is of Monday 23 November 2026, 09:30 in Berlin.
    fn world(root: &Path) {
        put(
            root,
            "dentist",
            "SUMMARY;LANGUAGE=en:Dentist\nDTSTART;TZID=Europe/Berlin:20261124T093000\nDURATION:PT45M\nSEQUENCE:4",
        );
        put(
            root,
            "lunch",
            "SUMMARY:Lunch\nATTENDEE;CN=Anna Berg:mailto:anna@example.org\nDTSTART:20261124T113000Z\nDTEND:20261124T123000Z",
        );
        put(
            root,
            "yoga",
            "SUMMARY:Yoga\nDTSTART;TZID=Europe/Berlin:20261102T180000\nDTEND;TZID=Europe/Berlin:20261102T190000\nRRULE:FREQ=WEEKLY;BYDAY=MO;COUNT=8\nEXDATE;TZID=Europe/Berlin:20261207T180000",
        );
        put(
            root,
            "fair",
            "SUMMARY:Fair\nDTSTART;VALUE=DATE:20261127\nDTEND;VALUE=DATE:20261129",
        );
        for (name, day) in [("plan1", 25), ("plan2", 26)] {
            put(
                root,
                name,
                &format!("SUMMARY:Planning\nDTSTART:202611{day}T080000Z\nDURATION:PT1H"),
            );
        }
    }

    async fn change(ctx: &Ctx, args: Value) -> Result<Output, ToolError> {
        run("calendar.update_event", args, ctx).await
    }

    fn text(ctx: &Ctx, name: &str) -> String {
        fs::read_to_string(ctx.dirs.calendars.join(format!("office/{name}.ics"))).unwrap()
    }

    async fn agenda(ctx: &Ctx, when: &str, text: &str) -> Vec<String> {
        let found = run("calendar.query", json!({"when": when, "text": text}), ctx)
            .await
            .unwrap();
        let events = found.data["events"].as_array().unwrap().clone();
        events
            .iter()
            .map(|e| e["start"].as_str().unwrap().to_owned())
            .collect()
    }

    #[tokio::test]
    async fn events_move_and_keep_their_length_and_everything_else() {
        for (args, expect, lines) in [
            (
                json!({"event": "dentist", "start": "friday at ten"}),
                "Changed Dentist tomorrow at 09:30: it is on Friday 27 November, 10:00 to 10:45 now.",
                &[
                    "DTSTART;TZID=Europe/Berlin:20261127T100000",
                    "DURATION:PT45M",
                    "SUMMARY;LANGUAGE=en:Dentist",
                ][..],
            ),
            (
                json!({"event": "the dennis appointment", "start": "eleven"}),
                "Changed Dentist tomorrow at 09:30: it is tomorrow, 11:00 to 11:45 now.",
                &["DTSTART;TZID=Europe/Berlin:20261124T110000"],
            ),
            (
                json!({"event": "lunch", "start": "half past one"}),
                "Changed Lunch tomorrow at 12:30: it is tomorrow, 13:30 to 14:30 now.",
                &["DTSTART:20261124T123000Z"],
            ),
            (
                json!({"event": "dentist", "start": "thursday from four to five"}),
                "Changed Dentist tomorrow at 09:30: it is on Thursday 26 November, 16:00 to 17:00 now.",
                &[],
            ),
            (
                json!({"event": "dentist", "start": "from four to five"}),
                "Changed Dentist tomorrow at 09:30: it is tomorrow, 16:00 to 17:00 now.",
                &[],
            ),
            (
                json!({"event": "dentist", "start": "an hour later"}),
                "Changed Dentist tomorrow at 09:30: it is tomorrow, 10:30 to 11:15 now.",
                &[],
            ),
            (
                json!({"event": "dentist", "start": "back by an hour"}),
                "Changed Dentist tomorrow at 09:30: it is tomorrow, 10:30 to 11:15 now.",
                &[],
            ),
            (
                json!({"event": "dentist", "start": "ahead by an hour"}),
                "Changed Dentist tomorrow at 09:30: it is tomorrow, 08:30 to 09:15 now.",
                &[],
            ),
            (
                json!({"event": "dentist", "end": "two hours"}),
                "Changed Dentist tomorrow at 09:30: it is tomorrow, 09:30 to 11:30 now.",
                &["DTEND;TZID=Europe/Berlin:20261124T113000"],
            ),
            (
                json!({"event": "lunch with anna", "start": "thursday", "location": "The Anchor, upstairs"}),
                "Changed Lunch tomorrow at 12:30: it is on Thursday 26 November, 12:30 to 13:30 now and it is at The Anchor, upstairs.",
                &[
                    "DTSTART:20261126T113000Z",
                    "DTEND:20261126T123000Z",
                    "LOCATION:The Anchor\\, upstairs",
                ],
            ),
            (
                json!({"event": "meeting", "when": "tomorrow at 12:30", "title": "Brunch"}),
                "Changed Lunch tomorrow at 12:30: it is called Brunch.",
                &["SUMMARY:Brunch", "DTSTART:20261124T113000Z"],
            ),
            (
                json!({"event": "fair", "start": "the 4th of december"}),
                "Changed Fair on Friday 27 November: it is from Friday 4 December to Saturday 5 December now.",
                &["DTSTART;VALUE=DATE:20261204", "DTEND;VALUE=DATE:20261206"],
            ),
        ] {
            let root = tempfile::tempdir().unwrap();
            world(root.path());
            let ctx = ctx(root.path());
            let before = crate::testing::files(&ctx.dirs.calendars);
            let preview = crate::find("calendar.update_event")
                .unwrap()
                .preview(args.clone(), &ctx)
                .unwrap();
            assert_eq!(
                crate::testing::files(&ctx.dirs.calendars),
                before,
                "a preview changes nothing"
            );
            let say = said(change(&ctx, args.clone()).await);
            assert_eq!(say, expect, "{args}");
            assert_eq!(preview.replacen("Change", "Changed", 1), say);
            let changed: Vec<String> = crate::testing::files(&ctx.dirs.calendars)
                .into_iter()
                .filter(|file| !before.contains(file))
                .map(|(_, bytes)| String::from_utf8(bytes).unwrap())
                .collect();
            let [text] = &changed[..] else {
                panic!("{args}: {} files changed", changed.len());
            };
            for line in lines
                .iter()
                .chain(&[FOREIGN, "DTSTAMP:20261123T083000Z", "SEQUENCE:"])
            {
                assert!(text.contains(&format!("\n{line}")), "{args}: {line} in {text}");
            }
            ctx.step.journal().undo(None).unwrap();
            assert_eq!(crate::testing::files(&ctx.dirs.calendars), before, "{args}");
        }
    }

    #[tokio::test]
    async fn of_a_series_one_the_following_or_all_change() {
        for (args, expect, calendar) in [
            (
                json!({"event": "yoga", "start": "seven pm"}),
                "Changed Yoga today at 18:00, only this time: it is today, 19:00 to 20:00 now.",
                &[
                    "11-02T18", "11-09T18", "11-16T18", "11-23T19", "11-30T18", "12-14T18", "12-21T18",
                ],
            ),
            (
                json!({"event": "yoga", "when": "next monday", "start": "seven pm", "series": "following"}),
                "Changed Yoga on Monday 30 November at 18:00 and from then on: it is on Monday 30 November, 19:00 to 20:00 now.",
                &[
                    "11-02T18", "11-09T18", "11-16T18", "11-23T18", "11-30T19", "12-14T19", "12-21T19",
                ],
            ),
            (
                json!({"event": "every yoga", "start": "tuesday at seven"}),
                "Changed all of Yoga: it is tomorrow, 19:00 to 20:00 now.",
                &[
                    "11-03T19", "11-10T19", "11-17T19", "11-24T19", "12-01T19", "12-15T19", "12-22T19",
                ],
            ),
            (
                json!({"event": "yoga", "start": "tuesday at seven pm", "series": "all"}),
                "Changed all of Yoga: it is tomorrow, 19:00 to 20:00 now.",
                &[
                    "11-03T19", "11-10T19", "11-17T19", "11-24T19", "12-01T19", "12-15T19", "12-22T19",
                ],
            ),
        ] {
            let root = tempfile::tempdir().unwrap();
            world(root.path());
            let ctx = ctx(root.path());
            let before = crate::testing::files(&ctx.dirs.calendars);
            assert_eq!(said(change(&ctx, args.clone()).await), expect, "{args}");
            let starts: Vec<String> = agenda(&ctx, "2026-11-01/2027-02-01", "yoga")
                .await
                .iter()
                .map(|start| start[5..13].to_owned())
                .collect();
            assert_eq!(starts, calendar, "{args}: {}", text(&ctx, "yoga"));
            ctx.step.journal().undo(None).unwrap();
            assert_eq!(crate::testing::files(&ctx.dirs.calendars), before, "{args}");
        }
        // Changing the same occurrence again changes what replaced it.
        let root = tempfile::tempdir().unwrap();
        world(root.path());
        let ctx = ctx(root.path());
        said(change(&ctx, json!({"event": "yoga", "start": "seven pm"})).await);
        said(change(&ctx, json!({"event": "yoga", "title": "Quiet yoga"})).await);
        let text = text(&ctx, "yoga");
        assert_eq!(
            text.matches("RECURRENCE-ID;TZID=Europe/Berlin:20261123T180000")
                .count(),
            1,
            "{text}"
        );
        assert_eq!(agenda(&ctx, "today", "quiet").await, ["2026-11-23T19:00"]);
    }

    /// Yoga on Mondays from 18:00 to 19:00, this week from 19:00 to 21:00.
    const MOVED: &str = "DTSTART;TZID=Europe/Berlin:20261102T180000\nDTEND;TZID=Europe/Berlin:20261102T190000\nRRULE:FREQ=WEEKLY;BYDAY=MO;UNTIL=20261207T170000Z\nSUMMARY:Yoga\nEND:VEVENT\nBEGIN:VEVENT\nUID:yoga\nSUMMARY:Yoga\nRECURRENCE-ID;TZID=Europe/Berlin:20261123T180000\nDTSTART;TZID=Europe/Berlin:20261123T190000\nDTEND;TZID=Europe/Berlin:20261123T210000";

    /// Title, start and end of everything in the calendar this winter.
    async fn winter(ctx: &Ctx) -> Vec<String> {
        let found = run("calendar.query", json!({"when": "2026-11-01/2027-02-01"}), ctx).await;
        let events = found.unwrap().data["events"].as_array().unwrap().clone();
        let part = |event: &Value, name: &str, from: usize| event[name].as_str().unwrap()[from..].to_owned();
        let each = events.iter().map(|e| {
            let (title, start, end) = (part(e, "title", 0), part(e, "start", 5), part(e, "end", 11));
            format!("{title} {start}-{end}")
        });
        each.collect()
    }

    #[track_caller]
    fn check_series(lines: &str, args: Value, expect: &[&str]) {
        let root = tempfile::tempdir().unwrap();
        put(root.path(), "yoga", lines);
        let ctx = ctx(root.path());
        let before = crate::testing::files(&ctx.dirs.calendars);
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .build()
            .unwrap();
        let seen = runtime.block_on(async {
            said(change(&ctx, args.clone()).await);
            winter(&ctx).await
        });
        assert_eq!(
            seen,
            expect,
            "{args}: {:?}",
            crate::testing::files(&ctx.dirs.calendars)
        );
        ctx.step.journal().undo(None).unwrap();
        assert_eq!(crate::testing::files(&ctx.dirs.calendars), before, "{args}");
    }

    #[test]
    fn a_series_is_changed_by_its_own_times_when_the_occurrence_was_moved() {
        check_series(
            MOVED,
            json!({"event": "yoga", "title": "Quiet", "series": "following"}),
            &[
                "Yoga 11-02T18:00-19:00",
                "Yoga 11-09T18:00-19:00",
                "Yoga 11-16T18:00-19:00",
                "Quiet 11-23T19:00-21:00",
                "Quiet 11-30T18:00-19:00",
                "Quiet 12-07T18:00-19:00",
            ],
        );
        check_series(
            MOVED,
            json!({"event": "yoga", "start": "eight pm", "series": "following"}),
            &[
                "Yoga 11-02T18:00-19:00",
                "Yoga 11-09T18:00-19:00",
                "Yoga 11-16T18:00-19:00",
                "Yoga 11-23T20:00-22:00",
                "Yoga 11-30T20:00-21:00",
                "Yoga 12-07T20:00-21:00",
            ],
        );
        check_series(
            MOVED,
            json!({"event": "yoga", "start": "eight pm", "series": "all"}),
            &[
                "Yoga 11-02T20:00-21:00",
                "Yoga 11-09T20:00-21:00",
                "Yoga 11-16T20:00-21:00",
                "Yoga 11-23T20:00-22:00",
                "Yoga 11-30T20:00-21:00",
                "Yoga 12-07T20:00-21:00",
            ],
        );
        // The series moves to where the occurrence is already; the weekday stays when it moves to earlier.
        for (start, hours) in [("seven pm", "19:00-20:00"), ("five pm", "17:00-18:00")] {
            let days = ["11-02", "11-09", "11-16", "11-23", "11-30", "12-07"];
            let mut expect = days.map(|day| format!("Yoga {day}T{hours}"));
            expect[3] = format!(
                "Yoga 11-23T{}",
                if start == "seven pm" {
                    "19:00-21:00"
                } else {
                    "17:00-19:00"
                }
            );
            check_series(
                MOVED,
                json!({"event": "yoga", "start": start, "series": "all"}),
                &expect.each_ref().map(String::as_str),
            );
        }
        // Only its length.
        check_series(
            MOVED,
            json!({"event": "yoga", "end": "30 minutes", "series": "all"}),
            &[
                "Yoga 11-02T18:00-18:30",
                "Yoga 11-09T18:00-18:30",
                "Yoga 11-16T18:00-18:30",
                "Yoga 11-23T19:00-19:30",
                "Yoga 11-30T18:00-18:30",
                "Yoga 12-07T18:00-18:30",
            ],
        );
        // Another occurrence is named: the moved one stays where it is, and stays this one.
        check_series(
            MOVED,
            json!({"event": "yoga", "when": "next monday", "start": "tuesday the 1st of december at eight pm", "title": "Quiet", "series": "all"}),
            &[
                "Quiet 11-03T20:00-21:00",
                "Quiet 11-10T20:00-21:00",
                "Quiet 11-17T20:00-21:00",
                "Quiet 11-23T19:00-21:00",
                "Quiet 12-01T20:00-21:00",
                "Quiet 12-08T20:00-21:00",
            ],
        );
    }

    #[test]
    fn a_divided_series_keeps_each_date_once() {
        let zone = ";TZID=Europe/Berlin:";
        check_series(
            &format!(
                "SUMMARY:Yoga\nDTSTART{zone}20261102T180000\nDURATION:PT1H\nRRULE:FREQ=WEEKLY;COUNT=6\nRDATE{zone}20261105T180000,20261203T180000"
            ),
            json!({"event": "yoga", "when": "next monday", "start": "seven pm", "series": "following"}),
            &[
                "Yoga 11-02T18:00-19:00",
                "Yoga 11-05T18:00-19:00",
                "Yoga 11-09T18:00-19:00",
                "Yoga 11-16T18:00-19:00",
                "Yoga 11-23T18:00-19:00",
                "Yoga 11-30T19:00-20:00",
                "Yoga 12-03T19:00-20:00",
                "Yoga 12-07T19:00-20:00",
            ],
        );
        // It happened 1091 times before, and two are left.
        check_series(
            "SUMMARY:Yoga\nDTSTART;TZID=Europe/Berlin:20060102T180000\nDURATION:PT1H\nRRULE:FREQ=WEEKLY;COUNT=1093",
            json!({"event": "yoga", "when": "next monday", "start": "seven pm", "series": "following"}),
            &[
                "Yoga 11-02T18:00-19:00",
                "Yoga 11-09T18:00-19:00",
                "Yoga 11-16T18:00-19:00",
                "Yoga 11-23T18:00-19:00",
                "Yoga 11-30T19:00-20:00",
                "Yoga 12-07T19:00-20:00",
            ],
        );
    }

    #[tokio::test]
    async fn what_is_not_clear_is_asked_and_nothing_changes() {
        let root = tempfile::tempdir().unwrap();
        world(root.path());
        let ctx = ctx(root.path());
        let before = crate::testing::files(&ctx.dirs.calendars);
        for (args, expect) in [
            (
                json!({"event": "planning", "start": "friday"}),
                "Which one: Planning on Wednesday 25 November at 09:00 or Planning on Thursday 26 November at 09:00?",
            ),
            (
                json!({"event": "opera", "start": "friday"}),
                "I found no event called \"opera\"",
            ),
            (
                json!({"event": "dentist", "when": "friday", "start": "ten"}),
                "called \"dentist\" friday",
            ),
            (
                json!({"event": "dentist"}),
                "What shall be different about Dentist tomorrow at 09:30",
            ),
            (
                json!({"event": "dentist", "title": "Dentist"}),
                "is like that already",
            ),
            (
                json!({"event": "dentist", "start": "purple"}),
                "do not understand the time",
            ),
            (
                json!({"event": "dentist", "start": "friday afternoon"}),
                "At what time exactly shall Dentist be?",
            ),
            (
                json!({"event": "dentist", "start": "every friday"}),
                "cannot change how often",
            ),
            (
                json!({"event": "dentist", "end": "2026-11-24T08:00"}),
                "would end",
            ),
            (
                json!({"event": "yoga", "start": "2026-11-24", "end": "x", "series": "all"}),
                "time",
            ),
            (json!({"start": "friday"}), "event"),
        ] {
            let text = told(change(&ctx, args.clone()).await);
            assert!(text.contains(expect), "{args}: {text}");
        }
        assert_eq!(crate::testing::files(&ctx.dirs.calendars), before);
        let empty = tempfile::tempdir().unwrap();
        let text = told(
            change(
                &crate::testing::ctx(empty.path()),
                json!({"event": "dentist", "start": "ten"}),
            )
            .await,
        );
        assert!(text.contains("found no event"), "{text}");
    }

    #[tokio::test]
    async fn a_broken_file_and_an_invitation_are_said() {
        let root = tempfile::tempdir().unwrap();
        put(
            root.path(),
            "a",
            "SUMMARY:Review\nORGANIZER:mailto:eve@example.org\nDTSTART:20261124T080000Z",
        );
        let broken = "BEGIN:VCALENDAR\nBEGIN:VEVENT\nUID:b\nSUMMARY:Opera\nDTSTART:20261124T090000Z\nBEGIN:VALARM\nEND:VEVENT\nEND:VCALENDAR\n";
        fs::write(root.path().join("calendars/office/b.ics"), broken).unwrap();
        let ctx = ctx(root.path());
        let output = change(&ctx, json!({"event": "review", "start": "ten"}))
            .await
            .unwrap();
        assert!(
            output.untrusted && output.say.ends_with("The others who take part do not know yet."),
            "{}",
            output.say
        );
        for args in [
            json!({"event": "review"}),
            json!({"event": "review", "title": "Review"}),
            json!({"event": "review", "start": "friday afternoon"}),
        ] {
            let result = change(&ctx, args.clone()).await;
            assert!(
                matches!(&result, Err(ToolError::TellOthers(text)) if text.contains("Review")),
                "{args}: {result:?}"
            );
        }
        let text = told(change(&ctx, json!({"event": "opera", "title": "Ballet"})).await);
        assert!(text.contains("b.ics is broken in line 7"), "{text}");
        assert_eq!(
            fs::read_to_string(root.path().join("calendars/office/b.ics")).unwrap(),
            broken
        );
    }
}
