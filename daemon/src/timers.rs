//! Timers that ring: the daemon takes what is due and tells the person.

use std::{collections::HashMap, time::Duration};

use tools::{
    Ctx,
    system::timers::{self, Timer},
};
use zbus::Variant;

/// A timer that rings later than this was missed while no daemon ran, and is told as such.
const LATE: Duration = Duration::from_secs(60);

/// How long the notification server has.
const PATIENCE: Duration = Duration::from_secs(2);

/// Takes out the timers that are due and says of each what the person should hear.
pub fn due(ctx: &Ctx) -> Vec<String> {
    match timers::take_due(&ctx.dirs, &ctx.now) {
        Ok(due) => due.iter().map(|timer| sentence(timer, ctx)).collect(),
        Err(error) => {
            tracing::warn!("the timers cannot be read");
            tracing::debug!(%error, "the timers cannot be read");
            Vec::new()
        }
    }
}

fn sentence(timer: &Timer, ctx: &Ctx) -> String {
    let length = timers::spoken(timer.seconds);
    let name = match &timer.label {
        Some(label) => format!("Your {label} timer for {length}"),
        None => format!("Your timer for {length}"),
    };
    let late = ctx.now.timestamp().duration_since(timer.rings);
    match u64::try_from(late.as_secs()) {
        Ok(late) if late > LATE.as_secs() => {
            format!(
                "{name} was up {} ago, while I was not running.",
                timers::spoken(late / 60 * 60)
            )
        }
        _ => format!("{name} is up."),
    }
}

/// Shows a notification on the desktop. Where there is none the line still goes to the daemon's own terminal.
pub async fn announce(line: &str) {
    match tokio::time::timeout(PATIENCE, notify(line)).await {
        Ok(Ok(())) => {}
        Ok(Err(error)) => tracing::info!(%error, "no desktop notification"),
        Err(_) => tracing::warn!("the notification server does not answer"),
    }
}

async fn notify(line: &str) -> zbus::Result<()> {
    let session = zbus::Connection::session().await?;
    let hints: HashMap<&str, Variant<'_>> = HashMap::from([("urgency", Variant::from(2u8))]);
    let actions: [&str; 0] = [];
    // Notify(app_name, replaces_id, app_icon, summary, body, actions, hints, expire_timeout) of the Desktop
    // Notifications Specification 1.2; 0 keeps it until it is closed.
    let body = (
        "Tiro",
        0u32,
        "alarm-symbolic",
        line,
        "",
        actions.as_slice(),
        hints,
        0i32,
    );
    let service = "org.freedesktop.Notifications";
    session
        .call_method(
            Some(service),
            "/org/freedesktop/Notifications",
            Some(service),
            "Notify",
            &body,
        )
        .await?;
    Ok(())
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;

    #[test]
    fn a_timer_rings_once_and_a_missed_one_says_so() {
        let root = tempfile::tempdir().unwrap();
        let at = |time: &str| {
            Ctx::new(
                format!("2026-11-21T{time}[Europe/Berlin]").parse().unwrap(),
                tools::Dirs::under(root.path()),
                Arc::new(tools::discover::Index::of(&[])),
                tools::Journal::at(root.path(), tools::Retention::default()).step("test"),
            )
        };
        let set = |time: &str, minutes: u64, label: Option<&str>| {
            let ctx = at(time);
            timers::set(
                &ctx.dirs,
                &ctx.now,
                Duration::from_secs(minutes * 60),
                label.map(str::to_owned),
            )
            .unwrap();
        };
        set("09:00:00", 10, None);
        set("09:00:00", 30, Some("bread"));
        assert!(due(&at("09:09:59")).is_empty());
        assert_eq!(due(&at("09:10:00")), ["Your timer for 10 minutes is up."]);
        assert!(due(&at("09:10:01")).is_empty());
        let missed = "Your bread timer for 30 minutes was up 1 hour 5 minutes ago, while I was not running.";
        assert_eq!(due(&at("10:35:00")), [missed]);
    }
}
