//! `tiro daemon`: the daemon in the foreground.

use std::{process::ExitCode, sync::Arc};

use tokio::{
    signal::unix::{SignalKind, signal},
    sync::{mpsc, watch},
};

use super::app::App;
use crate::{
    act::finish_writes,
    bus, dav, post,
    reply::say_aside,
    run::{Daemon, Event},
    supervisor::Supervisor,
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
    let daemon = Daemon::new(app.room()?, app.parts(), events.clone());
    let serving = tokio::spawn(bus::serve(door, events.clone()));
    let attending = tokio::spawn(bus::attend(None, events.clone()));
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
    // From here on no mail begins to go; one that is on its way is waited for.
    let _ = end.send(true);
    let _ = posting.await;
    finish_writes().await;
    attending.abort();
    serving.abort();
    // Takes the socket away.
    let _ = serving.await;
    let _ = synchronising.await;
    stopping.abort();
    watching.abort();
    Ok(ExitCode::SUCCESS)
}
