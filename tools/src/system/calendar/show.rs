//! What the tools that look into the calendar share: reading it, asking for words in it, and what the model sees of it.

use serde_json::{Value, json};

use super::{Event, Reading, Window, events};
use crate::{
    contract::{Ctx, ToolError},
    system::{
        heard::{Ear, HEARD},
        plain,
    },
};

/// The events of a stretch, read where waiting for the disk holds nobody up.
///
/// # Errors
/// When the store cannot be read.
pub async fn read(ctx: &Ctx, window: &Window) -> Result<Reading<Event>, ToolError> {
    let (root, from, to) = (ctx.dirs.calendars.clone(), window.from.clone(), window.to.clone());
    tokio::task::spawn_blocking(move || events(&root, &from, &to))
        .await
        .map_err(|e| ToolError::broken("read your calendar", e))?
        .map_err(|e| e.tool("read your calendar"))
}

/// Whether the words are in it, letter by letter or as a name that was heard. `ear` is of the same words.
pub fn is_about(event: &Event, text: &str, ear: &Ear) -> bool {
    let text = text.to_lowercase();
    let mut fields = vec![event.title.as_str(), &event.calendar];
    fields.extend(event.location.as_deref());
    fields.extend(event.people.iter().map(String::as_str));
    let heard = |field: &&str| field.to_lowercase().contains(&text) || ear.likeness(field) >= HEARD;
    fields.iter().any(heard)
        || event
            .description
            .as_ref()
            .is_some_and(|d| d.to_lowercase().contains(&text))
}

/// An error for the model or the person that quotes these events; an invitation's words are its sender's.
pub fn tell<'a>(text: impl Into<String>, quoted: impl IntoIterator<Item = &'a Event>) -> ToolError {
    if quoted.into_iter().any(|event| event.invited) {
        ToolError::TellOthers(text.into())
    } else {
        ToolError::Tell(text.into())
    }
}

/// Where it is, as it is said: "at Main Street 5". A link is no place, and nobody wants to hear one.
pub fn place(event: &Event) -> Option<String> {
    let place = plain::one_line(event.location.as_deref()?, 80);
    match place {
        _ if place.is_empty() => None,
        _ if place.contains("://") && !place.contains(' ') => Some("online".to_owned()),
        place => Some(format!("at {place}")),
    }
}

/// What the model sees. `invited` marks words that somebody else may have written.
pub fn shown(event: &Event) -> Value {
    let shape = if event.all_day {
        "%Y-%m-%d"
    } else {
        "%Y-%m-%dT%H:%M"
    };
    let mut data = json!({
        "title": plain::one_line(&event.title, 120),
        "start": event.start.strftime(shape).to_string(),
        "end": event.end.strftime(shape).to_string(),
        "calendar": &*event.calendar,
        "uid": plain::one_line(&event.uid, 120),
    });
    if let Some(location) = &event.location {
        data["location"] = json!(plain::one_line(location, 120));
    }
    if !event.people.is_empty() {
        data["people"] = json!(event.people.iter().take(10).collect::<Vec<_>>());
    }
    if event.invited {
        data["invited"] = json!(true);
    }
    data
}

#[cfg(test)]
mod tests {
    use crate::testing::{ctx, event, run, said};

    /// The context is of Monday 23 November 2026, 09:30 in Berlin.
    #[tokio::test]
    async fn one_event_is_said_with_its_place() {
        for (location, place) in [
            ("LOCATION:Café Luna", ", at Café Luna"),
            ("LOCATION:Room\\, upstairs\\nleft", ", at Room, upstairs left"),
            ("LOCATION:https://meet.example.org/abc-defg", ", online"),
            ("LOCATION: ", ""),
            ("CATEGORIES:x", ""),
        ] {
            let root = tempfile::tempdir().unwrap();
            let ctx = ctx(root.path());
            let lines = format!("SUMMARY:Lunch\n{location}\nDTSTART:20261124T113000Z\nDURATION:PT1H");
            event(root.path(), "work", "lunch", &lines);
            let ask = async || {
                let when = serde_json::json!({"when": "tomorrow"});
                said(run("calendar.query", when, &ctx).await)
            };
            assert_eq!(
                ask().await,
                format!("Tomorrow you have one event: Lunch at 12:30{place}.")
            );
            // Of several it would be too much to listen to.
            let other = "SUMMARY:Tea\nLOCATION:Garden\nDTSTART:20261124T150000Z\nDURATION:PT1H";
            event(root.path(), "work", "tea", other);
            assert_eq!(
                ask().await,
                "Tomorrow you have two events: Lunch at 12:30 and Tea at 16:00."
            );
        }
    }
}
