//! One turn of a client: the shared room, its utterance, and the signals of what happens.

use std::{sync::Mutex as StdMutex, time::Instant};

use prompts::words;
use tokio::sync::{Mutex, mpsc};

use super::{
    Asking, Forget, SIGNAL,
    front::{BusFront, lock},
};
use crate::{
    bus,
    listen::Utterance,
    reply::Happening,
    report::Report,
    room::{Clock, Room},
    turn::turn,
};

/// One turn for a client, on the shared room. A pinned clock holds for this turn only.
pub(super) async fn one_turn(
    room: &Mutex<Room>,
    forget: &StdMutex<Option<Forget>>,
    asking: &Asking,
    front: &mut BusFront,
) -> Result<Report, String> {
    let utterance = match (&asking.speech, &asking.wav) {
        (Some(speech), _) => Utterance::Speech(speech.clone()),
        (None, Some(path)) => Utterance::read_wav(path.clone())
            .await
            .map_err(|e| format!("{e:#}"))?,
        (None, None) => Utterance::Text(asking.text.clone()),
    };
    let pinned = asking
        .now
        .as_deref()
        .map(Clock::pinned)
        .transpose()
        .map_err(|e| format!("{e:#}"))?;
    let start = Instant::now();
    let mut room = room.lock().await;
    tracing::debug!(waited_ms = start.elapsed().as_millis(), "a turn begins");
    forgotten(&mut room, forget);
    room.pin(pinned);
    Ok(turn(&mut room, utterance, front).await)
}

/// What was to be forgotten is, before anything else is said.
pub(super) fn forgotten(room: &mut Room, forget: &StdMutex<Option<Forget>>) {
    let what = lock(forget).take();
    match what {
        Some(Forget::All) => room.forget(),
        Some(Forget::Talk) => room.part(),
        None => {}
    }
}

/// Signals what happens until the turn is over, or until the client does not read.
pub(super) async fn pump(client: Option<&bus::Client>, mut happenings: mpsc::UnboundedReceiver<Happening>) {
    let Some(client) = client else { return };
    while let Some(happening) = happenings.recv().await {
        if tokio::time::timeout(SIGNAL, bus::signal(client, &happening))
            .await
            .is_err()
        {
            tracing::debug!("a client does not read its signals");
            return;
        }
    }
}

/// What is left to say when a turn panicked.
pub(super) fn panicked(say: &str) -> Report {
    Report {
        say: say.to_owned(),
        reply: words::engine_crashed(),
        ..Report::default()
    }
}
