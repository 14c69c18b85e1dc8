//! `calendar.create_event`: a new event, its times as they were said.

use std::path::Path;

use jiff::{SignedDuration, ToSpan, Zoned};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::json;

use crate::{
    contract::{Ctx, Effect, Output, TimeRole, Tool, ToolError},
    system::{
        calendar::{self, NewEvent, Person},
        contacts, heard,
        journal::{JournalError, Step},
        known::Kind,
        plain, speech,
        store::StoreError,
        timers,
        vdir::{self, Collection},
    },
    when::{self, Hint, Shift, When},
};

/// As many people are noted down.
const MAX_PEOPLE: usize = 50;
/// As many events at the same time are named.
const MAX_OVERLAPS: usize = 3;

/// Makes events.
pub struct This;

/// What, when and where.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Args {
    /// What it is
    title: String,
    /// Start as said: "tomorrow at five", "every monday at nine"
    start: String,
    /// End or length as said: "six", "two hours"
    end: Option<String>,
    /// Where
    location: Option<String>,
    /// Names of those who take part
    people: Option<Vec<String>>,
    /// How long before to remind: "10 minutes"
    remind: Option<String>,
    /// Which calendar, if the person named one
    calendar: Option<String>,
}

impl Tool for This {
    type Args = Args;
    const NAME: &'static str = "calendar.create_event";
    const SUMMARY: &'static str = "Put a new event, meeting or appointment into the calendar";
    const EFFECT: Effect = Effect::Write;
    const NAMED: &'static [(&'static str, Kind)] = &[("people", Kind::Contact), ("calendar", Kind::Calendar)];
    const TIMES: &'static [(&'static str, TimeRole)] = &[
        ("start", TimeRole::At),
        ("end", TimeRole::End),
        ("remind", TimeRole::Ahead),
    ];
    const EXAMPLES: &'static [&'static str] = &[
        "schedule a meeting with Anna tomorrow at ten",
        "put dentist on tuesday at half past nine in my calendar",
        "add lunch with mum on friday from twelve to one",
        "block next week for my holiday",
        "create an event called book club on the 5th of may at eight pm at the library",
        "set up a two hour workshop on monday at nine in my work calendar",
        "put yoga every tuesday at six pm in the calendar and remind me 30 minutes before",
    ];
    const CALLS: &'static [(&'static str, &'static str)] = &[
        (
            "put dentist on tuesday at half past nine in my calendar",
            r#"{"title": "dentist", "start": "tuesday at half past nine"}"#,
        ),
        (
            "add lunch with mum on friday from twelve to one at the Anchor",
            r#"{"title": "lunch with mum", "start": "friday from twelve", "end": "one", "location": "the Anchor", "people": ["mum"]}"#,
        ),
    ];
    const USE_WHEN: &'static str = "For something that happens at a time; a thing to do is reminders.create.";
    const LIMITS: &'static str = "Notes down who takes part but invites nobody.";

    fn preview(args: &Args, ctx: &Ctx) -> Result<String, ToolError> {
        let event = resolve(args, ctx)?;
        let target = target(args, &ctx.dirs.calendars)?;
        let (overlap, _) = overlap(&event, ctx)?;
        Ok(format!("Add {}.{overlap}", described(&event, &target, ctx)))
    }

    async fn run(args: Args, ctx: &Ctx) -> Result<Output, ToolError> {
        let own = ctx.clone();
        let (args, event, target, (overlap, untrusted)) = tokio::task::spawn_blocking(move || {
            let event = resolve(&args, &own)?;
            let target = target(&args, &own.dirs.calendars)?;
            let overlap = overlap(&event, &own)?;
            Ok::<_, ToolError>((args, event, target, overlap))
        })
        .await
        .map_err(|e| ToolError::broken("save the event", e))??;
        let said = described(&event, &target, ctx);
        let (root, now, step) = (ctx.dirs.calendars.clone(), ctx.now.clone(), ctx.step.clone());
        let (new, calendar) = (event.clone(), target.name().to_owned());
        let (uid, _) = tokio::task::spawn_blocking(move || {
            let collection = target.ensure(&step, &root)?;
            calendar::create(&step, &collection, &new, &now)
        })
        .await
        .map_err(|e| ToolError::broken("save the event", e))??;
        let shape = if event.all_day {
            "%Y-%m-%d"
        } else {
            "%Y-%m-%dT%H:%M"
        };
        let mut data = json!({
            "uid": uid,
            "title": event.title,
            "start": event.start.strftime(shape).to_string(),
            "end": event.end.strftime(shape).to_string(),
            "calendar": calendar,
        });
        if let Some(rule) = &event.rule {
            data["repeats"] = json!(rule);
        }
        let say = format!("Added {said}.{}{overlap}", note(&args, ctx));
        Ok(Output {
            untrusted,
            ..Output::new(say, data)
        })
    }
}

/// The calendar that the event goes into.
enum Target {
    There(Collection),
    /// There is none yet; the first event makes one.
    First,
}

/// Calendars that people keep for themselves, by the names that programs give them.
const OWN: [&str; 4] = ["personal", "default", "home", "calendar"];
const FIRST: &str = "Personal";

impl Target {
    fn name(&self) -> &str {
        match self {
            Target::There(collection) => &collection.name,
            Target::First => FIRST,
        }
    }

    fn ensure(self, step: &Step, root: &Path) -> Result<Collection, ToolError> {
        match self {
            Target::There(collection) => Ok(collection),
            Target::First => {
                let path = root.join("personal");
                match step.create(&path.join("displayname"), FIRST.as_bytes()) {
                    Ok(()) | Err(JournalError::Store(StoreError::Exists(_))) => {}
                    Err(e) => return Err(e.tool("make a calendar")),
                }
                Ok(Collection {
                    name: FIRST.to_owned(),
                    color: None,
                    path,
                })
            }
        }
    }
}

fn target(args: &Args, root: &Path) -> Result<Target, ToolError> {
    let mut all = vdir::collections(root).map_err(|e| e.tool("read your calendars"))?;
    if let Some(wanted) = args.calendar.as_deref().filter(|name| !name.trim().is_empty()) {
        let chosen = vdir::choose(wanted, "calendar", &all).map_err(ToolError::tell)?;
        if chosen.is_read_only() {
            return Err(ToolError::tell(format!(
                "The calendar {} is read-only. Which other one shall it go to?",
                chosen.name
            )));
        }
        return Ok(Target::There(chosen.clone()));
    }
    let writable = all.iter().any(|c| !c.is_read_only());
    all.retain(|c| !writable || !c.is_read_only());
    let own = all.iter().position(|c| {
        let folder = c.path.file_name().unwrap_or_default();
        OWN.iter()
            .any(|own| c.name.eq_ignore_ascii_case(own) || folder.eq_ignore_ascii_case(own))
    });
    if all.is_empty() {
        return Ok(Target::First);
    }
    Ok(Target::There(all.swap_remove(own.unwrap_or(0))))
}

/// Everything resolved, or what is wrong with it.
fn resolve(args: &Args, ctx: &Ctx) -> Result<NewEvent, ToolError> {
    let now = &ctx.now;
    let title = plain::one_line(&args.title, 150);
    if title.is_empty() {
        return Err(ToolError::tell("What shall the event be called?"));
    }
    let start = when::resolve(&args.start, now, Hint::Schedule)
        .map_err(|e| ToolError::tell(format!("{e} Say it as in tomorrow at five.")))?
        .value;
    let outside = || ToolError::tell("That is outside the calendar.");
    let no_start = || ToolError::tell(format!("When does {title} start?"));
    let (mut from, mut to) = match &start {
        When::Duration { .. } => return Err(no_start()),
        other => other.stretch(now).ok_or_else(outside)?,
    };
    let rule = match &start {
        When::Recurrence { rrule, .. } => Some(rrule.clone()),
        _ => None,
    };
    let mut all_day = matches!(start, When::Date(_) | When::Recurrence { all_day: true, .. })
        || calendar::is_days(&from, &to);
    // "until six" says no start; "after six" no end, and is a start.
    let begin = from.take().ok_or_else(no_start)?;
    if to.as_ref() == Some(&begin) {
        to = None;
    }
    if let Some(said) = args.end.as_deref().filter(|end| !end.trim().is_empty()) {
        let end = calendar::end(said, &begin, all_day)?;
        match &to {
            Some(to) if !all_day && *to != end.0 => {
                return Err(ToolError::tell(format!(
                    "Start says until {}, end says until {}. Which one is right?",
                    speech::moment(to, now),
                    speech::moment(&end.0, now)
                )));
            }
            _ => to = Some(end.0),
        }
        if all_day && end.1 {
            return Err(ToolError::tell(format!("At what time does {title} start?")));
        }
        all_day &= !end.1;
    }
    let end = match to {
        Some(end) => end,
        // An hour, as calendar programs assume.
        None => begin.checked_add(1.hour()).map_err(|_| outside())?,
    };
    if end <= begin {
        return Err(ToolError::tell(format!(
            "{title} would end {} before it starts {}.",
            speech::moment(&end, now),
            speech::moment(&begin, now)
        )));
    }
    let over = if all_day {
        begin.date() < now.date()
    } else {
        begin < *now
    };
    if over {
        return Err(ToolError::tell(format!(
            "{} is over already. When shall {title} be?",
            speech::sentence(&if all_day {
                speech::day(begin.date(), now)
            } else {
                speech::moment(&begin, now)
            })
        )));
    }
    let location = args.location.as_deref().map(|l| plain::one_line(l, 150));
    Ok(NewEvent {
        title,
        start: begin,
        end,
        all_day,
        location: location.filter(|l| !l.is_empty()),
        description: None,
        rule,
        people: people(args.people.as_deref().unwrap_or_default(), ctx)?,
        remind: args
            .remind
            .as_deref()
            .map(|said| before(said, now))
            .transpose()?
            .flatten(),
    })
}

/// Those who take part, by the names and addresses that the contacts have for them; strangers by the name that was said.
fn people(said: &[String], ctx: &Ctx) -> Result<Vec<Person>, ToolError> {
    let names: Vec<String> = said
        .iter()
        .map(|name| plain::one_line(name, 60))
        .filter(|name| !name.is_empty())
        .take(MAX_PEOPLE)
        .collect();
    if names.is_empty() {
        return Ok(Vec::new());
    }
    let known = contacts::read(&ctx.dirs.contacts)?.contacts;
    let one = |name: &String| {
        let found = heard::pick(name, &known, |contact| {
            let nicknames = contact.nicknames.iter().map(|nick| (nick.as_str(), 0.99));
            std::iter::once((contact.name.as_str(), 1.0))
                .chain(nicknames)
                .collect()
        });
        match heard::contenders(&found) {
            0 => Ok(Person {
                name: name.clone(),
                mail: name.contains('@').then(|| name.clone()),
            }),
            1 => Ok(Person {
                name: found[0].1.name.clone(),
                mail: found[0].1.mails.first().map(|mail| mail.value.clone()),
            }),
            several => {
                let names: Vec<String> = found
                    .iter()
                    .take(several.min(5))
                    .map(|(_, c)| c.name.clone())
                    .collect();
                Err(ToolError::tell(format!(
                    "Which {name}: {}?",
                    plain::listed(&names, "or")
                )))
            }
        }
    };
    names.iter().map(one).collect()
}

/// How long before the start to remind; nothing when nothing was said.
fn before(said: &str, now: &Zoned) -> Result<Option<SignedDuration>, ToolError> {
    let mut said = plain::one_line(said, 60).to_lowercase();
    if said.is_empty() || said == "no" || said == "none" {
        return Ok(None);
    }
    if ["at the start", "at the time", "on time", "when it starts"].contains(&said.as_str()) {
        return Ok(Some(SignedDuration::ZERO));
    }
    for ending in ["before", "ahead", "earlier", "in advance", "prior", "beforehand"] {
        said = said.strip_suffix(ending).unwrap_or(&said).trim().to_owned();
    }
    calendar::length(said.trim_start_matches("the "), now).map(Some)
}

/// What is in the calendar at that time already. It is said and does not stop anything: people do double-book. And
/// whether it quotes an invitation, whose words are its sender's.
fn overlap(event: &NewEvent, ctx: &Ctx) -> Result<(String, bool), ToolError> {
    if event.all_day {
        return Ok((String::new(), false));
    }
    let reading = calendar::events(&ctx.dirs.calendars, &event.start, &event.end)
        .map_err(|e| e.tool("read your calendar"))?;
    let others = reading.items.iter().filter(|other| other.busy && !other.all_day);
    let invited = others.clone().take(MAX_OVERLAPS).any(|other| other.invited);
    let taken: Vec<String> = others
        .map(|other| {
            format!(
                "{} at {}",
                plain::one_line(&other.title, 80),
                speech::time(other.start.time())
            )
        })
        .collect();
    let said = match taken.is_empty() {
        true => String::new(),
        false => format!(" It overlaps {}.", speech::some_of(&taken, MAX_OVERLAPS)),
    };
    Ok((said, invited))
}

/// "Dentist tomorrow, 09:30 to 10:30, at Main Street, to Personal".
fn described(event: &NewEvent, target: &Target, ctx: &Ctx) -> String {
    let when = speech::stretch(&event.start, &event.end, event.all_day, &ctx.now);
    let place = event
        .location
        .as_ref()
        .map(|l| format!(", at {l}"))
        .unwrap_or_default();
    let rule = if event.rule.is_some() {
        format!(", {}", calendar::said_rule(event))
    } else {
        String::new()
    };
    let names: Vec<String> = event.people.iter().map(|person| person.name.clone()).collect();
    let people = match names.is_empty() {
        true => String::new(),
        false => format!(", with {}", plain::listed(&names, "and")),
    };
    let remind = match event.remind {
        None => String::new(),
        Some(before) if before.is_zero() => ", with a reminder when it starts".to_owned(),
        Some(before) => {
            format!(
                ", with a reminder {} before",
                timers::spoken(before.unsigned_abs().as_secs())
            )
        }
    };
    format!(
        "{} {when}{rule}{place}{people}{remind}, to {}",
        event.title,
        target.name()
    )
}

/// What the person should know about the clocks that night.
fn note(args: &Args, ctx: &Ctx) -> &'static str {
    match when::resolve(&args.start, &ctx.now, Hint::Schedule).map(|r| r.shift) {
        Ok(Some(Shift::Skipped)) => " The clocks go forward then, so it is an hour later than you said.",
        Ok(Some(Shift::Twice)) => " That hour comes twice that night; I took the first.",
        _ => "",
    }
}

#[cfg(test)]
mod tests {
    use std::fs;

    use serde_json::Value;

    use super::*;
    use crate::testing::{ctx, run, said, told};

    /// The context is of Monday 23 November 2026, 09:30 in Berlin.
    async fn add(ctx: &Ctx, args: Value) -> Result<Output, ToolError> {
        run("calendar.create_event", args, ctx).await
    }

    #[tokio::test]
    async fn what_repeats_is_put_down_once_with_its_rule() {
        let root = tempfile::tempdir().unwrap();
        let ctx = ctx(root.path());
        for (args, expect) in [
            (
                json!({"title": "Gym", "start": "every tuesday at six pm"}),
                "Added Gym tomorrow, 18:00 to 19:00, every week on Tuesday, to Personal.",
            ),
            (
                json!({"title": "Rent", "start": "every month on the first"}),
                "Added Rent on Tuesday 1 December, all day, every month, to Personal.",
            ),
            (
                json!({"title": "Standup", "start": "every weekday from nine to quarter past nine"}),
                "Added Standup tomorrow, 09:00 to 09:15, every week on Monday, Tuesday, Wednesday, Thursday and Friday, to Personal.",
            ),
        ] {
            assert_eq!(said(add(&ctx, args).await), expect);
        }
        let output = run(
            "calendar.query",
            json!({"when": "next week", "text": "gym"}),
            &ctx,
        )
        .await
        .unwrap();
        assert_eq!(
            output.data["events"][0]["start"], "2026-12-01T18:00",
            "{}",
            output.data
        );
    }

    #[tokio::test]
    async fn people_reminders_and_overlaps_are_said_and_written() {
        let root = tempfile::tempdir().unwrap();
        let ctx = ctx(root.path());
        fs::create_dir_all(ctx.dirs.contacts.join("book")).unwrap();
        for (file, name) in [("a", "Anna Bell"), ("b", "Bob Stone"), ("c", "Bob Marsh")] {
            let card = format!("BEGIN:VCARD\nVERSION:4.0\nFN:{name}\nEMAIL:{file}@example.org\nEND:VCARD\n");
            fs::write(ctx.dirs.contacts.join(format!("book/{file}.vcf")), card).unwrap();
        }
        let args = json!({"title": "Lunch", "start": "tomorrow at noon", "people": ["anna", "Zoltan"], "remind": "10 minutes before"});
        assert_eq!(
            said(add(&ctx, args).await),
            "Added Lunch tomorrow, 12:00 to 13:00, with Anna Bell and Zoltan, with a reminder 10 minutes before, to Personal."
        );
        let text: String = crate::testing::files(&ctx.dirs.calendars)
            .iter()
            .map(|(_, bytes)| String::from_utf8_lossy(bytes).into_owned())
            .collect();
        for line in [
            "ATTENDEE;CN=Anna Bell:mailto:a@example.org\r\n",
            "ATTENDEE;CN=Zoltan:invalid:nomail\r\n",
            "BEGIN:VALARM\r\nACTION:DISPLAY\r\nDESCRIPTION:Lunch\r\nTRIGGER:-PT10M\r\nEND:VALARM\r\n",
        ] {
            assert!(text.contains(line), "{line} in {text}");
        }
        assert!(!text.contains("ORGANIZER"), "nobody is invited");
        let say = said(add(&ctx, json!({"title": "Call", "start": "tomorrow at 12:30"})).await);
        assert_eq!(
            say,
            "Added Call tomorrow, 12:30 to 13:30, to Personal. It overlaps Lunch at 12:00."
        );
        let text = told(
            add(
                &ctx,
                json!({"title": "Call", "start": "tomorrow at nine", "people": ["bob"]}),
            )
            .await,
        );
        assert_eq!(text, "Which bob: Bob Marsh or Bob Stone?");
        let text = told(
            add(
                &ctx,
                json!({"title": "Call", "start": "tomorrow at nine", "remind": "purple"}),
            )
            .await,
        );
        assert!(text.contains("no length of time"), "{text}");
        ctx.step.journal().undo(None).unwrap();
        let found = run("calendar.query", json!({"when": "tomorrow"}), &ctx)
            .await
            .unwrap();
        assert_eq!(found.data["found"], 1, "the call is undone: {}", found.data);
    }

    #[tokio::test]
    async fn it_says_what_it_added_and_the_event_is_there() {
        let root = tempfile::tempdir().unwrap();
        let ctx = ctx(root.path());
        for (args, expect) in [
            (
                json!({"title": "Dentist", "start": "next tuesday at half past nine"}),
                "Added Dentist on Tuesday 1 December, 09:30 to 10:30, to Personal.",
            ),
            (
                json!({"title": "Lunch", "start": "tomorrow at noon", "end": "half past one", "location": "the Anchor"}),
                "Added Lunch tomorrow, 12:00 to 13:30, at the Anchor, to Personal.",
            ),
            (
                json!({"title": "Workshop", "start": "friday at nine", "end": "two hours"}),
                "Added Workshop on Friday 27 November, 09:00 to 11:00, to Personal.",
            ),
            (
                json!({"title": "Call", "start": "tomorrow from 3 to 5"}),
                "Added Call tomorrow, 15:00 to 17:00, to Personal.",
            ),
            (
                json!({"title": "Holiday", "start": "next week"}),
                "Added Holiday from Monday 30 November to Sunday 6 December, to Personal.",
            ),
            (
                json!({"title": "Trip", "start": "2026-12-10", "end": "2026-12-12"}),
                "Added Trip from Thursday 10 December to Saturday 12 December, to Personal.",
            ),
            (
                json!({"title": "Birthday", "start": "the 5th of may"}),
                "Added Birthday on Wednesday 5 May, all day, to Personal.",
            ),
            (
                json!({"title": "Walk", "start": "in 20 minutes", "end": "until eleven"}),
                "Added Walk today, 09:50 to 11:00, to Personal.",
            ),
        ] {
            assert_eq!(said(add(&ctx, args).await), expect);
        }
        let found = run("calendar.query", json!({"text": "dentist"}), &ctx)
            .await
            .unwrap();
        assert_eq!(found.data["events"][0]["start"], "2026-12-01T09:30");
        assert_eq!(
            fs::read_dir(ctx.dirs.calendars.join("personal")).unwrap().count(),
            9
        );
    }

    #[tokio::test]
    async fn the_preview_says_the_same_and_changes_nothing() {
        let root = tempfile::tempdir().unwrap();
        let ctx = ctx(root.path());
        let args = json!({"title": "Dentist", "start": "tomorrow at five"});
        let preview = crate::find("calendar.create_event")
            .unwrap()
            .preview(args, &ctx)
            .unwrap();
        assert_eq!(preview, "Add Dentist tomorrow, 17:00 to 18:00, to Personal.");
        assert!(!ctx.dirs.calendars.exists());
    }

    #[tokio::test]
    async fn what_contradicts_itself_is_told_and_nothing_is_written() {
        let root = tempfile::tempdir().unwrap();
        let ctx = ctx(root.path());
        for name in ["Work", "Family"] {
            fs::create_dir_all(ctx.dirs.calendars.join(name)).unwrap();
        }
        for (args, expect) in [
            (
                json!({"title": " ", "start": "tomorrow"}),
                "What shall the event be called?",
            ),
            (
                json!({"title": "A", "start": "whenever"}),
                "I do not understand the time",
            ),
            (json!({"title": "A", "start": "february 30"}), "no such date"),
            (json!({"title": "A", "start": "two hours"}), "When does A start?"),
            (
                json!({"title": "A", "start": "yesterday at nine"}),
                "Yesterday at 09:00 is over already",
            ),
            (json!({"title": "A", "start": "2020-01-01"}), "is over already"),
            (
                json!({"title": "A", "start": "2026-11-24T10:00", "end": "2026-11-24T09:00"}),
                "would end tomorrow at 09:00 before",
            ),
            (
                json!({"title": "A", "start": "tomorrow from 3 to 5", "end": "six"}),
                "Which one is right?",
            ),
            (
                json!({"title": "A", "start": "tomorrow", "end": "six pm"}),
                "At what time does A start?",
            ),
            (
                json!({"title": "A", "start": "tomorrow", "calendar": "garden"}),
                "There is Family and Work.",
            ),
            (json!({"title": "A"}), "start"),
        ] {
            let text = told(add(&ctx, args.clone()).await);
            assert!(text.contains(expect), "{args}: {text}");
        }
        for name in ["Work", "Family"] {
            assert_eq!(fs::read_dir(ctx.dirs.calendars.join(name)).unwrap().count(), 0);
        }
        assert!(
            said(
                add(
                    &ctx,
                    json!({"title": "A", "start": "tomorrow", "calendar": "my work calendar"})
                )
                .await
            )
            .ends_with("to Work.")
        );
    }

    #[tokio::test]
    async fn a_clock_change_is_said() {
        let root = tempfile::tempdir().unwrap();
        let ctx = Ctx {
            now: "2027-03-27T12:00:00[Europe/Berlin]".parse().unwrap(),
            ..ctx(root.path())
        };
        let text = said(add(&ctx, json!({"title": "Train", "start": "tomorrow at 2:30 am"})).await);
        assert!(
            text.starts_with("Added Train tomorrow, 03:30 to 04:30") && text.contains("clocks go forward"),
            "{text}"
        );
    }

    #[tokio::test]
    async fn a_file_in_the_place_of_the_store_stays() {
        let root = tempfile::tempdir().unwrap();
        let ctx = ctx(root.path());
        fs::write(&ctx.dirs.calendars, "").unwrap();
        let error = add(&ctx, json!({"title": "A", "start": "tomorrow"}))
            .await
            .unwrap_err();
        assert!(matches!(error, ToolError::Broken { .. }), "{error}");
        assert_eq!(fs::read(&ctx.dirs.calendars).unwrap(), b"");
    }

    #[tokio::test]
    async fn hostile_text_makes_no_second_event() {
        let root = tempfile::tempdir().unwrap();
        let ctx = ctx(root.path());
        let title = "x\r\nEND:VEVENT\r\nBEGIN:VEVENT\r\nSUMMARY:evil\r\nDTSTART:20261124T000000Z";
        let args = json!({"title": title, "start": "tomorrow at five", "location": "a;b,c\\n\u{202e}"});
        let output = add(&ctx, args).await.unwrap();
        assert_eq!(output.say.lines().count(), 1);
        let found = run("calendar.query", json!({"when": "tomorrow"}), &ctx)
            .await
            .unwrap();
        assert_eq!(found.data["found"], 1, "{}", found.data);
    }

    #[tokio::test]
    async fn an_invitation_that_it_overlaps_is_marked() {
        for (organizer, others) in [("", false), ("ORGANIZER:mailto:eve@example.org\n", true)] {
            let root = tempfile::tempdir().unwrap();
            let folder = root.path().join("calendars/personal");
            fs::create_dir_all(&folder).unwrap();
            let text = format!(
                "BEGIN:VCALENDAR\nBEGIN:VEVENT\nUID:i\nSUMMARY:Pitch\n{organizer}DTSTART:20261124T110000Z\nDURATION:PT1H\nEND:VEVENT\nEND:VCALENDAR\n"
            );
            fs::write(folder.join("i.ics"), text).unwrap();
            let ctx = ctx(root.path());
            let args = json!({"title": "Call", "start": "tomorrow at 12:30"});
            let output = run("calendar.create_event", args, &ctx).await.unwrap();
            assert!(
                output.say.ends_with("It overlaps Pitch at 12:00."),
                "{}",
                output.say
            );
            assert_eq!(output.untrusted, others, "{organizer}");
            let args = json!({"title": "Call", "start": "tomorrow at 16:00"});
            let output = run("calendar.create_event", args, &ctx).await.unwrap();
            assert!(!output.untrusted, "{}", output.say);
        }
    }
}
