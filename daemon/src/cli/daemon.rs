//! `tiro daemon`: the daemon in the foreground.

use std::{ffi::OsStr, process::ExitCode, sync::Arc};

use prompts::words;
use tokio::{
    signal::unix::{SignalKind, signal},
    sync::{mpsc, watch},
};

use super::app::App;
use crate::{
    act::finish_writes,
    bus, dav, hotkey, post,
    reply::say_aside,
    room::Room,
    run::{Daemon, Event, Source},
    supervisor::Supervisor,
    wyoming,
};

/// Runs until SIGTERM or Ctrl-C, and then until a write that has begun is finished.
pub async fn run(app: &App) -> anyhow::Result<ExitCode> {
    app.paths.create()?;
    let accounts = dav::accounts(&app.config)?;
    let posting = post::Post {
        accounts: post::accounts(&app.config)?,
        mail: app.config.mail(&app.paths),
        dirs: app.config.dirs(&app.paths),
    };
    let socket = app.paths.socket()?;
    let door = bus::listen(&socket).await?;
    let (events, inbox) = mpsc::channel(64);
    let (own, guests) = wyoming::shared(app.stt()?);
    let room = Room::new(app.llm()?, own, app.parts());
    let satellites = wyoming::serving(&app.config, guests, app.parts().limits, events.clone())?;
    let daemon = Daemon::new(room, app.parts(), events.clone());
    let serving = tokio::spawn(bus::serve(door, events.clone()));
    let satellites = satellites.map(tokio::spawn);
    let (home, bus) = (std::env::var_os("TIRO_HOME"), std::env::var_os("TIRO_BUS"));
    let attending = attends(home.as_deref(), bus.as_deref());
    let icon = app.config.desktop.icon;
    let icon = icon.then(|| bus::Icon::new(daemon.look(), events.clone(), socket.clone()));
    let attending = attending.then(|| tokio::spawn(bus::attend(None, events.clone(), icon)));
    let keys = match key(app) {
        Ok(settings) => Some(tokio::spawn(hotkey::attend(settings, events.clone()))),
        Err(off) => {
            let reached = hotkey::Happened::Reached(off);
            // The loop that takes it has not begun; there is room.
            let _ = events.send(Event::Hotkey(reached)).await;
            None
        }
    };
    if app.config.wake.has_no_phrase() {
        let (source, texts) = (Source::Wake, vec![words::no_wake_phrase()]);
        // As above.
        let _ = events.send(Event::Noticed { source, texts }).await;
    }
    let (end, ended) = watch::channel(false);
    let synchronising = tokio::spawn(dav::keep_in_step(
        accounts,
        app.config.dirs(&app.paths),
        events.clone(),
        ended.clone(),
    ));
    let posting = tokio::spawn(post::keep_in_step(posting, events.clone(), ended));
    let supervisor = Arc::new(Supervisor::from_env());
    let watched = Arc::clone(&supervisor);
    let alive = events.clone();
    let watching = tokio::spawn(async move { watched.watch(alive).await });
    let stops = Arc::clone(&supervisor);
    let (mut term, mut int) = (signal(SignalKind::terminate())?, signal(SignalKind::interrupt())?);
    let stopping = tokio::spawn(async move {
        tokio::select! {
            _ = term.recv() => {}
            _ = int.recv() => {}
        }
        stops.stopping();
        let _ = events.send(Event::Stop).await;
    });
    say_aside(&format!("Tiro listens on {}.", socket.display()));
    supervisor.ready();
    daemon.run(inbox).await;
    // It may have been told to by its icon, not by a signal.
    supervisor.stopping();
    // From here on no mail begins to go; one that is on its way is waited for.
    let _ = end.send(true);
    let _ = posting.await;
    finish_writes().await;
    for attending in [keys, attending, satellites].into_iter().flatten() {
        attending.abort();
    }
    serving.abort();
    // Takes the socket away.
    let _ = serving.await;
    let _ = synchronising.await;
    stopping.abort();
    watching.abort();
    Ok(ExitCode::SUCCESS)
}

/// The key to talk that is taken in the person's session, or why none is.
pub(super) fn key(app: &App) -> Result<hotkey::Settings, hotkey::Reach> {
    let (home, bus) = (std::env::var_os("TIRO_HOME"), std::env::var_os("TIRO_BUS"));
    if !attends(home.as_deref(), bus.as_deref()) {
        return Err(hotkey::Reach::off(
            "A daemon with a TIRO_HOME leaves the keys of your session alone, unless TIRO_BUS=session is set, too.",
        ));
    }
    let key = app.config.listen.key.key().cloned();
    key.map(hotkey::Settings::here)
        .ok_or_else(|| hotkey::Reach::off("None is wanted (listen.key)."))
}

/// Whether it is part of the person's session. There is one name for the person's daemon: one with a home of its own, such as a
/// demo's or a test's, leaves it alone unless it is told to take it.
fn attends(home: Option<&OsStr>, bus: Option<&OsStr>) -> bool {
    home.is_none_or(OsStr::is_empty) || bus.is_some_and(|bus| bus == "session")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_home_of_its_own_takes_the_name_only_when_told() {
        #[track_caller]
        fn check(home: Option<&str>, bus: Option<&str>, expect: bool) {
            assert_eq!(attends(home.map(OsStr::new), bus.map(OsStr::new)), expect);
        }
        check(None, None, true);
        check(Some(""), None, true);
        check(Some("/demo"), None, false);
        check(Some("/demo"), Some(""), false);
        check(Some("/demo"), Some("session"), true);
    }
}
