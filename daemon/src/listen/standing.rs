//! A microphone that stays open, because somebody may say the wake word: what is said into it begins before anybody
//! knows that it is wanted.

use std::{
    sync::{
        Arc,
        atomic::Ordering,
        mpsc::{Sender, channel},
    },
    thread,
    time::Instant,
};

use tokio::sync::{oneshot, watch};

use super::{
    capture::{Care, find},
    endpoint::Style,
    hearing::{BLOCKS, Hearing, Held, Listening, NO_ANSWER, OPENING, Settings, sentence, wanted},
    pipe::pipe,
    stream::{LOST, Order, keep_listening},
};

pub use super::stream::Begins;

/// A microphone that stays open; dropping it closes it, once what is being said is over.
pub struct Standing {
    orders: Sender<Order>,
    care: Arc<Care>,
}

/// Hears all that comes in.
pub type Spy = Box<dyn FnMut(&[f32]) + Send>;

/// Why a microphone that was to stay open is closed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Ended {
    /// Nobody wants it any more.
    Wanted,
    /// The desktop chose another one, which is to be opened in its place.
    Changed,
    /// It could not be opened or went away; why, as a sentence.
    Failed(String),
}

impl Standing {
    /// Opens it. The future ends when it is closed again, and says why. All its sound, mono at 16 kHz, goes to `spy`, on a
    /// thread of its own.
    pub fn open(settings: &Settings, spy: Spy) -> (Standing, impl Future<Output = Ended> + Send + use<>) {
        let (orders, ordered) = channel();
        let (open, opened) = oneshot::channel();
        let (tell, ended) = oneshot::channel::<Ended>();
        let device = settings.device.clone();
        let care = Arc::<Care>::default();
        let cared = Arc::clone(&care);
        // A server that hangs may have kept all the threads that there may be.
        let started = Held::one().map(|held| {
            thread::Builder::new()
                .name("microphone".to_owned())
                .spawn(move || {
                    let _held = held;
                    let began = Instant::now();
                    let microphone = find(&device).and_then(|m| {
                        let (writer, reader) = pipe(BLOCKS, m.rate());
                        Ok((m.open_to_stay(writer, Arc::clone(&cared))?, m, reader))
                    });
                    let (stream, microphone, mut blocks) = match microphone {
                        Ok(open) => open,
                        Err(error) => return drop(tell.send(Ended::Failed(sentence(&error)))),
                    };
                    tracing::info!(%microphone, ms = began.elapsed().as_millis() as u64, "the microphone stays open");
                    let _ = open.send(());
                    let why = keep_listening(&mut blocks, microphone.rate(), &ordered, &cared.in_use, spy);
                    // Whoever ordered something that was not begun hears so now, and not when the stream lets go.
                    drop(ordered);
                    let _ = tell.send(match why {
                        None => Ended::Wanted,
                        Some(_) if cared.changed.load(Ordering::Acquire) => Ended::Changed,
                        Some(why) => Ended::Failed(why.to_owned()),
                    });
                    drop(stream);
                    tracing::debug!("the microphone is closed");
                })
        });
        let end = async move {
            match started {
                None => return Ended::Failed(NO_ANSWER.to_owned()),
                Some(Err(error)) => return Ended::Failed(format!("I cannot listen: {error}.")),
                Some(Ok(_)) => {}
            }
            if tokio::time::timeout(OPENING, opened).await.is_err() {
                return Ended::Failed(NO_ANSWER.to_owned());
            }
            ended.await.unwrap_or_else(|_| Ended::Failed(LOST.to_owned()))
        };
        (Standing { orders, care }, end)
    }

    /// Whether the desktop mutes it, from now on.
    pub fn muted(&self) -> watch::Receiver<bool> {
        self.care.muted.subscribe()
    }

    /// Listens to what is said from there on; `None` when it is closed already.
    pub fn listen(&self, settings: &Settings, style: Style, begins: Begins) -> Option<(Listening, Hearing)> {
        let (listening, take, hearing) = wanted(settings, style);
        self.orders.send((take, begins)).ok()?;
        Some((listening, hearing))
    }
}
