//! `calendar.delete_event`: an event, an occurrence or a series taken out of the calendar.

use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::json;

use crate::{
    contract::{Ctx, Effect, Output, TimeRole, Tool, ToolError},
    system::{
        calendar::{self, Event, Scope},
        known::Kind,
        plain,
    },
};

/// Deletes events.
pub struct This;

/// Which one.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Args {
    /// Words of its title, or its uid
    event: String,
    /// Its day or time, if said
    when: Option<String>,
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
    const NAME: &'static str = "calendar.delete_event";
    const SUMMARY: &'static str = "Delete or cancel an event, meeting or appointment";
    const EFFECT: Effect = Effect::Write;
    const CONFIRM: bool = true;
    const NAMED: &'static [(&'static str, Kind)] = &[("event", Kind::Event)];
    const TIMES: &'static [(&'static str, TimeRole)] = &[("when", TimeRole::Find)];
    const EXAMPLES: &'static [&'static str] = &[
        "cancel my dentist appointment",
        "delete the meeting with Anna tomorrow",
        "take the team lunch off my calendar",
        "clear my three o'clock on friday",
        "skip yoga next monday",
        "remove all the standups from my calendar",
        "i'm not going to the book club any more, drop it from now on",
    ];
    const CALLS: &'static [(&'static str, &'static str)] = &[
        (
            "delete the meeting with Anna tomorrow",
            r#"{"event": "meeting with Anna", "when": "tomorrow"}"#,
        ),
        (
            "remove all the standups from my calendar",
            r#"{"event": "standups", "series": "all"}"#,
        ),
    ];
    const USE_WHEN: &'static str = "For events; a reminder or to-do is reminders.delete.";
    const LIMITS: &'static str =
        "One occurrence of a series unless all are asked for; tells nobody who takes part.";

    fn preview(args: &Args, ctx: &Ctx) -> Result<String, ToolError> {
        let (event, series) = resolve(args, ctx)?;
        Ok(format!("Delete {}.", which(&event, series, ctx)))
    }

    async fn run(args: Args, ctx: &Ctx) -> Result<Output, ToolError> {
        let own = ctx.clone();
        let (event, series) = tokio::task::spawn_blocking(move || {
            let (event, series) = resolve(&args, &own)?;
            let scope = match series {
                None | Some(Series::This) => Scope::One,
                Some(Series::Following) => Scope::Onwards,
                Some(Series::All) => Scope::All,
            };
            calendar::remove(&own.step, &event, scope, &own.now)?;
            Ok::<_, ToolError>((event, series))
        })
        .await
        .map_err(|e| ToolError::broken("delete the event", e))??;
        let mut say = format!("Deleted {}.", which(&event, series, ctx));
        if event.invited {
            say.push_str(" I only took it out of your calendar; nobody was told.");
        }
        let data = json!({
            "uid": plain::one_line(&event.uid, 120),
            "title": plain::one_line(&event.title, 120),
            "calendar": &*event.calendar,
        });
        Ok(Output {
            untrusted: event.invited,
            ..Output::new(say, data)
        })
    }
}

/// The event, and how much of its series is meant.
fn resolve(args: &Args, ctx: &Ctx) -> Result<(Event, Option<Series>), ToolError> {
    let event = calendar::which(&ctx.dirs.calendars, &args.event, args.when.as_deref(), &ctx.now)?;
    calendar::writable(&event)?;
    let all = calendar::is_whole_series(&args.event, &event);
    Ok((event, args.series.or(all.then_some(Series::All))))
}

/// "Dentist tomorrow at 09:30", with how much of a series is meant.
fn which(event: &Event, series: Option<Series>, ctx: &Ctx) -> String {
    let one = calendar::spoken(event, &ctx.now);
    match (event.repeats, series) {
        (false, _) => one,
        (true, None | Some(Series::This)) => format!("{one}, only this time"),
        (true, Some(Series::Following)) => format!("{one} and all that follow"),
        (true, Some(Series::All)) => format!("{}, the whole series", plain::one_line(&event.title, 80)),
    }
}

#[cfg(test)]
mod tests {
    use std::{fs, path::Path};

    use serde_json::Value;

    use super::*;
    use crate::testing::{ctx, event, files, run, said, told};

    fn put(root: &Path, name: &str, lines: &str) {
        event(root, "work", name, &format!("{lines}\nX-FOREIGN:kept"));
    }

    /// The context is of Monday 23 November 2026, 09:30 in Berlin.
    fn world(root: &Path) {
        put(
            root,
            "dentist",
            "SUMMARY:Dentist\nDTSTART:20261124T083000Z\nDURATION:PT1H",
        );
        put(
            root,
            "dennis",
            "SUMMARY:Dennis visits\nDTSTART:20261127T090000Z\nDURATION:PT1H",
        );
        put(
            root,
            "yoga",
            "SUMMARY:Yoga\nDTSTART;TZID=Europe/Berlin:20261102T180000\nDURATION:PT1H\nRRULE:FREQ=WEEKLY;COUNT=6",
        );
        put(
            root,
            "out",
            "SUMMARY:Review\nORGANIZER:mailto:eve@example.org\nDTSTART:20261125T080000Z",
        );
    }

    async fn delete(ctx: &Ctx, args: Value) -> Result<Output, ToolError> {
        run("calendar.delete_event", args, ctx).await
    }

    #[tokio::test]
    async fn what_is_deleted_is_gone_and_can_be_undone() {
        for (args, expect, left, yoga) in [
            (
                json!({"event": "dentist"}),
                "Deleted Dentist tomorrow at 09:30.",
                3,
                6,
            ),
            (
                json!({"event": "meeting", "when": "tomorrow"}),
                "Deleted Dentist tomorrow at 09:30.",
                3,
                6,
            ),
            (
                json!({"event": "yoga"}),
                "Deleted Yoga today at 18:00, only this time.",
                4,
                5,
            ),
            (
                json!({"event": "yoga", "when": "next monday", "series": "following"}),
                "Deleted Yoga on Monday 30 November at 18:00 and all that follow.",
                4,
                4,
            ),
            (
                json!({"event": "all my yoga"}),
                "Deleted Yoga, the whole series.",
                3,
                0,
            ),
            (
                json!({"event": "the yoga series"}),
                "Deleted Yoga, the whole series.",
                3,
                0,
            ),
            (
                json!({"event": "yoga", "series": "all"}),
                "Deleted Yoga, the whole series.",
                3,
                0,
            ),
            (
                json!({"event": "review"}),
                "Deleted Review on Wednesday 25 November at 09:00. I only took it out of your calendar; nobody was told.",
                3,
                6,
            ),
        ] {
            let root = tempfile::tempdir().unwrap();
            world(root.path());
            let ctx = ctx(root.path());
            let before = files(&ctx.dirs.calendars);
            let tool = crate::find("calendar.delete_event").unwrap();
            assert!(tool.confirm);
            assert!(tool.preview(args.clone(), &ctx).unwrap().starts_with("Delete "));
            assert_eq!(files(&ctx.dirs.calendars), before);
            assert_eq!(said(delete(&ctx, args.clone()).await), expect);
            let now = files(&ctx.dirs.calendars);
            assert_eq!(now.len(), left, "{args}");
            assert!(
                now.iter()
                    .all(|(_, text)| String::from_utf8_lossy(text).contains("X-FOREIGN:kept"))
            );
            let found = run(
                "calendar.query",
                json!({"when": "2026-11-01/2027-03-01", "text": "yoga"}),
                &ctx,
            )
            .await;
            assert_eq!(found.unwrap().data["found"], yoga, "{args}");
            ctx.step.journal().undo(None).unwrap();
            assert_eq!(files(&ctx.dirs.calendars), before, "{args}");
        }
    }

    #[tokio::test]
    async fn a_moved_occurrence_is_left_out_with_what_replaced_it() {
        let root = tempfile::tempdir().unwrap();
        world(root.path());
        let ctx = ctx(root.path());
        run(
            "calendar.update_event",
            json!({"event": "yoga", "start": "seven pm"}),
            &ctx,
        )
        .await
        .unwrap();
        said(delete(&ctx, json!({"event": "yoga"})).await);
        let text = fs::read_to_string(ctx.dirs.calendars.join("work/yoga.ics")).unwrap();
        assert!(!text.contains("RECURRENCE-ID"), "{text}");
        assert!(
            text.contains("EXDATE;TZID=Europe/Berlin:20261123T180000"),
            "{text}"
        );
    }

    #[tokio::test]
    async fn what_is_not_clear_is_asked() {
        let root = tempfile::tempdir().unwrap();
        world(root.path());
        put(
            root.path(),
            "second",
            "SUMMARY:Dentist\nDTSTART:20261203T083000Z\nDURATION:PT1H",
        );
        let ctx = ctx(root.path());
        let before = files(&ctx.dirs.calendars);
        for (args, expect) in [
            (
                json!({"event": "the dentist"}),
                "Which one: Dentist tomorrow at 09:30 or Dentist on Thursday 3 December at 09:30?",
            ),
            (
                json!({"event": "opera"}),
                "I found no event called \"opera\". Say its title, or another day.",
            ),
            (
                json!({"event": "it", "when": "saturday"}),
                "There is no event in your calendar saturday.",
            ),
            (
                json!({"event": "dentist", "when": "purple"}),
                "I do not understand the time",
            ),
            (json!({"event": "dentist", "series": "some"}), "following"),
            (json!({}), "event"),
        ] {
            let text = told(delete(&ctx, args.clone()).await);
            assert!(text.contains(expect), "{args}: {text}");
        }
        assert_eq!(files(&ctx.dirs.calendars), before);
    }

    #[tokio::test]
    async fn a_question_that_quotes_an_invitation_is_marked() {
        let root = tempfile::tempdir().unwrap();
        world(root.path());
        let review = "SUMMARY:Review\nDTSTART:20261126T080000Z\nDURATION:PT1H";
        put(root.path(), "own", review);
        let ctx = ctx(root.path());
        let ask = async |event: &str| run("calendar.delete_event", json!({"event": event}), &ctx).await;
        let asked = ask("review").await;
        assert!(
            matches!(&asked, Err(ToolError::TellOthers(text)) if text.starts_with("Which one: Review")),
            "{asked:?}"
        );
        // All of these are the person's own.
        put(root.path(), "out", "SUMMARY:Review\nDTSTART:20261125T080000Z");
        assert!(told(ask("review").await).starts_with("Which one: Review"));
    }
}
