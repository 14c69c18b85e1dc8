//! Music steps back while somebody speaks: players that play are turned down, and later made as loud as they were.
//!
//! What was turned down is written down before it is, so that a daemon that was killed restores it at its next start. A player
//! whose volume somebody changed meanwhile is left as they wanted it.

use std::{
    path::{Path, PathBuf},
    time::Duration,
};

use futures_util::future::join_all;
use serde::{Deserialize, Serialize};
use tokio::{sync::watch, task::JoinHandle};
use tools::system::{
    desktop::{Desk, players::Mixer},
    store::{self, StoreError},
};

/// Where it is written down, below the state folder.
const FILE: &str = "turned-down.json";
/// Most bytes of it.
const MAX_BYTES: u64 = 64 << 10;
/// Two volumes that differ by less are the same; players round.
const SAME: f64 = 0.02;
/// What is quieter than this is left alone.
const QUIET: f64 = 0.05;
/// Between listening, thinking and speaking players are not made loud for so short.
const LINGER: Duration = Duration::from_millis(1500);
/// A player takes a moment until it says what it was told.
const SETTLE: Duration = Duration::from_millis(80);
/// Longest that the end of the daemon waits for players.
const LAST: Duration = Duration::from_secs(4);
/// After so many days nobody remembers how loud a player was that was not there since.
const DAYS: i64 = 7;

/// Players are turned down by this.
pub struct Ducking {
    wish: watch::Sender<Wish>,
    task: JoinHandle<()>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Wish {
    Loud,
    Quiet,
    End,
}

/// A player that was turned down.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
struct Turned {
    /// Its name on the bus.
    player: String,
    /// How loud it was.
    before: f64,
    /// How loud it has been since.
    now: f64,
    /// When, in seconds since 1970.
    at: i64,
    /// Whether `now` is what the player made of what it was told. Until then it is what it was told, and some can only be so or so
    /// loud: who is killed in between must not take that for somebody's wish.
    #[serde(default)]
    settled: bool,
}

impl Turned {
    /// Whether a player that is so loud is so by our doing.
    fn is_ours(&self, volume: f64) -> bool {
        same(volume, self.now) || !self.settled && volume < self.before
    }
}

impl Ducking {
    /// Starts the task, and restores what an earlier one left. `share` is what is left of a volume; 1 turns nothing down.
    pub fn start(desk: Desk, state: &Path, share: f32) -> Ducking {
        let wish = watch::Sender::new(Wish::Loud);
        let duck = Duck {
            desk,
            file: state.join(FILE),
            share: f64::from(share),
        };
        let task = tokio::spawn(duck.run(wish.subscribe()));
        Ducking { wish, task }
    }

    /// Whether it should be quiet now.
    pub fn quiet(&self, quiet: bool) {
        let wish = if quiet { Wish::Quiet } else { Wish::Loud };
        self.wish
            .send_if_modified(|now| std::mem::replace(now, wish) != wish);
    }

    /// Makes everything as loud as it was, and ends.
    pub async fn end(mut self) {
        self.wish.send_replace(Wish::End);
        if tokio::time::timeout(LAST, &mut self.task).await.is_err() {
            // What is left is written down.
            tracing::warn!("a media player does not answer");
        }
    }
}

impl Drop for Ducking {
    fn drop(&mut self) {
        self.task.abort();
    }
}

struct Duck {
    desk: Desk,
    file: PathBuf,
    share: f64,
}

impl Duck {
    async fn run(self, mut wishes: watch::Receiver<Wish>) {
        self.restore().await;
        loop {
            let wish = *wishes.borrow_and_update();
            match wish {
                Wish::Quiet if self.share < 1.0 => self.turn_down().await,
                Wish::Quiet => {}
                Wish::Loud => {
                    if tokio::time::timeout(LINGER, wishes.changed()).await.is_ok() {
                        continue;
                    }
                    self.restore().await;
                }
                Wish::End => return self.restore().await,
            }
            if wishes.changed().await.is_err() {
                return;
            }
        }
    }

    /// Turns down what plays and is not turned down yet.
    async fn turn_down(&self) {
        let Some(mixer) = Mixer::open(&self.desk).await else {
            return;
        };
        let mut all = self.read().await;
        let at = jiff::Timestamp::now().as_second();
        let mut new = Vec::new();
        for (player, before) in mixer.playing().await {
            let down = all
                .iter()
                .any(|turned| turned.player == player && same(turned.now, before));
            if down || before <= QUIET {
                continue;
            }
            // Whoever made it louder since wants it so when it is restored.
            all.retain(|turned| turned.player != player);
            let now = before * self.share;
            new.push(Turned {
                player,
                before,
                now,
                at,
                settled: false,
            });
        }
        if new.is_empty() {
            return;
        }
        let kept = all.len();
        all.extend(new);
        // What cannot be written down is not turned down: a crash would leave it quiet for ever.
        if !self.write(&all).await {
            return;
        }
        let mixer = &mixer;
        let turning = all[kept..].iter_mut().map(|turned| async move {
            if mixer.set(&turned.player, turned.now).await {
                tokio::time::sleep(SETTLE).await;
                // Some can only be so or so loud.
                let now = mixer.volume(&turned.player).await;
                if let Some(now) = now.filter(|now| !same(*now, turned.before)) {
                    turned.now = now;
                }
            }
            turned.settled = true;
        });
        join_all(turning).await;
        self.write(&all).await;
    }

    /// Makes everything as loud as it was. A player that is not there is tried again the next time.
    async fn restore(&self) {
        let all = self.read().await;
        if all.is_empty() {
            return;
        }
        let Some(mixer) = Mixer::open(&self.desk).await else {
            return;
        };
        let mixer = &mixer;
        let restoring = all.iter().map(|turned| async move {
            let now = mixer.volume(&turned.player).await?;
            if turned.is_ours(now) {
                return mixer.set(&turned.player, turned.before).await.then_some(());
            }
            Some(())
        });
        let done = join_all(restoring).await;
        let oldest = jiff::Timestamp::now().as_second() - DAYS * 86_400;
        let left = all.into_iter().zip(done);
        let left: Vec<Turned> = left
            .filter(|(turned, done)| done.is_none() && turned.at > oldest)
            .map(|(turned, _)| turned)
            .collect();
        self.write(&left).await;
    }

    /// What is turned down. A file that cannot be read says nothing.
    async fn read(&self) -> Vec<Turned> {
        let file = self.file.clone();
        let reading = tokio::task::spawn_blocking(move || {
            let bytes = store::read_bounded(&file, MAX_BYTES).ok()?;
            serde_json::from_slice::<Vec<Turned>>(&bytes).ok()
        });
        let all = reading.await.ok().flatten().unwrap_or_default();
        let sound = |turned: &Turned| {
            let volumes = [turned.before, turned.now];
            volumes
                .iter()
                .all(|volume| volume.is_finite() && (0.0..=10.0).contains(volume))
        };
        all.into_iter().filter(sound).collect()
    }

    /// Whether it could be written down.
    async fn write(&self, all: &[Turned]) -> bool {
        let (file, bytes) = (self.file.clone(), serde_json::to_vec(all).unwrap_or_default());
        let none = all.is_empty();
        let writing = tokio::task::spawn_blocking(move || {
            if none {
                return match std::fs::remove_file(&file) {
                    Err(error) if error.kind() != std::io::ErrorKind::NotFound => {
                        Err(StoreError::of(&file, error))
                    }
                    _ => Ok(()),
                };
            }
            if let Some(folder) = file.parent() {
                store::make_folder(folder)?;
            }
            store::replace(&file, &bytes)
        });
        match writing.await {
            Ok(Ok(())) => true,
            Ok(Err(error)) => {
                tracing::warn!(%error, "what is turned down cannot be written down");
                false
            }
            Err(_) => false,
        }
    }
}

fn same(a: f64, b: f64) -> bool {
    (a - b).abs() < SAME
}
