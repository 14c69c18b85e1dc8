//! One client of ours, from its first event to its last. It gets what it asks for, one thing after the other; whoever hangs up
//! ends what is being done for it. Nothing that it sends is believed, and nobody can tell who it is: it is a guest.

use std::{
    sync::Arc,
    time::{Duration, Instant},
};

use models::EngineError;
use serde_json::Value;
use tokio::{
    io::{AsyncRead, AsyncWrite},
    sync::{Semaphore, SemaphorePermit, oneshot},
    time::timeout,
};

use super::{
    line::{Reader, Trouble, Writer},
    serve::Services,
    sound::{Format, Sound},
    wire::{Event, Wrong},
};
use crate::{
    agent::Ending,
    bus,
    listen::Speech,
    report::Report,
    room::{self, Expecting, Limits},
    run,
};

/// Longest sound, seconds: as long as one may speak into the microphone at once.
const MAX_SECONDS: u32 = 60;
/// Longest text to be spoken, bytes; some five minutes.
const MAX_SPOKEN: usize = 4_000;
/// Longest text of a ping.
const MAX_PING: usize = 1_000;
/// Longest list of names to expect, bytes: as in the config.
const MAX_NAMES: usize = 500;

/// How long things may take.
#[derive(Debug, Clone, Copy)]
pub struct Times {
    /// A client says nothing.
    pub idle: Duration,
    /// It says nothing while it sends sound.
    pub pause: Duration,
    /// It takes an event.
    pub take: Duration,
    /// It sends sound.
    pub sending: Duration,
    /// It waits for others that want the same.
    pub turn: Duration,
    /// It waits for an answer, the person's time to agree included.
    pub answer: Duration,
    /// A text becomes sound, as fast as the client takes it.
    pub speaking: Duration,
}

impl Default for Times {
    fn default() -> Times {
        let seconds = Duration::from_secs;
        Times {
            idle: seconds(60),
            pause: seconds(15),
            take: seconds(15),
            sending: seconds(120),
            turn: seconds(30),
            answer: seconds(180),
            speaking: seconds(120),
        }
    }
}

/// A client that is here.
pub struct Session<R, W> {
    ears: Reader<R>,
    mouth: Writer<W>,
    services: Arc<Services>,
    /// What the person is told who it is.
    who: String,
    /// Its number among all clients of the daemon.
    client: u64,
    wanted: Wanted,
    sound: Option<Coming>,
}

/// What is wanted of the sound to come.
#[derive(Debug, Default)]
struct Wanted {
    language: Option<String>,
    names: Option<String>,
}

/// Sound that is coming.
struct Coming {
    sound: Sound,
    since: Instant,
}

/// Why the client is not served any more.
enum Over {
    /// It is not there, or does not read.
    Gone(Trouble),
    /// It was told what is wrong, and what it sends next makes no sense.
    Told,
}

impl From<Trouble> for Over {
    fn from(trouble: Trouble) -> Over {
        Over::Gone(trouble)
    }
}

/// What is done for a client: its outcome, or a sentence why there is none.
type Outcome<T> = Result<T, String>;

impl<R: AsyncRead + Unpin, W: AsyncWrite + Unpin> Session<R, W> {
    /// A client on this connection.
    pub fn new(ears: R, mouth: W, services: Arc<Services>, who: String) -> Session<R, W> {
        Session {
            ears: Reader::new(ears),
            mouth: Writer::new(mouth),
            services,
            who,
            client: bus::next_client(),
            wanted: Wanted::default(),
            sound: None,
        }
    }

    /// Serves it until it goes.
    pub async fn run(mut self) {
        loop {
            let times = self.services.times;
            let patience = if self.sound.is_some() {
                times.pause
            } else {
                times.idle
            };
            let served = match self.ears.next(patience).await {
                Ok(event) => self.serve(event).await,
                // A browser that was sent here by some web page gets nothing to read.
                Err(trouble @ (Trouble::Wrong(Wrong::NoHeader) | Trouble::Closed)) => Err(trouble.into()),
                Err(trouble) => self.refuse(&format!("You {trouble}.")).await,
            };
            match served {
                Ok(()) => {}
                Err(Over::Told) => return,
                Err(Over::Gone(trouble)) => {
                    tracing::debug!("a Wyoming client {trouble}");
                    return;
                }
            }
        }
    }

    async fn serve(&mut self, event: Event) -> Result<(), Over> {
        match event.kind.as_str() {
            "describe" => {
                let info = self.services.info();
                self.say(&info).await
            }
            "ping" => {
                let text = event.text("text").filter(|text| text.len() <= MAX_PING);
                self.say(&Event::new("pong").with("text", text)).await
            }
            "transcribe" if self.services.stt.is_some() => {
                self.wanted = Wanted::of(&event, &self.services.languages);
                Ok(())
            }
            "audio-start" | "audio-chunk" if self.services.stt.is_some() => self.hear(&event).await,
            "audio-stop" if self.services.stt.is_some() => self.recognise().await,
            "transcript" if self.services.conversation.is_some() => self.answer(&event).await,
            "synthesize" if self.services.voice.is_some() => self.speak(&event).await,
            // As the protocol wants it: what a server does not know is nothing.
            _ => Ok(()),
        }
    }

    async fn say(&mut self, event: &Event) -> Result<(), Over> {
        Ok(self.mouth.send(event, self.services.times.take).await?)
    }

    async fn complain(&mut self, text: &str) -> Result<(), Over> {
        self.say(&Event::new("error").with("text", text)).await
    }

    /// Says what is wrong and parts, because what follows would be read wrongly.
    async fn refuse(&mut self, text: &str) -> Result<(), Over> {
        self.complain(text).await?;
        Err(Over::Told)
    }

    /// Takes sound.
    async fn hear(&mut self, event: &Event) -> Result<(), Over> {
        let format = match Format::of(event) {
            Ok(format) => format,
            Err(unfit) => return self.refuse(&unfit.to_string()).await,
        };
        if event.kind == "audio-start" {
            self.sound = None;
        }
        let coming = self.sound.get_or_insert_with(|| Coming {
            sound: Sound::default(),
            since: Instant::now(),
        });
        if coming.since.elapsed() > self.services.times.sending {
            return self.refuse("The sound takes too long to arrive.").await;
        }
        match coming.sound.push(format, &event.payload, MAX_SECONDS) {
            Ok(()) => Ok(()),
            Err(error) => self.refuse(&error.to_string()).await,
        }
    }

    /// The sound is here: its text goes back.
    async fn recognise(&mut self) -> Result<(), Over> {
        let (wanted, coming) = (std::mem::take(&mut self.wanted), self.sound.take());
        let services = Arc::clone(&self.services);
        let heard = self.unless_gone(async {
            let _turn = turn(&services.hearing, services.times.turn).await?;
            hear(&services, wanted, coming).await
        });
        match heard.await? {
            Ok(transcript) => self.say(&transcript).await,
            Err(text) => self.complain(&text).await,
        }
    }

    /// What was asked becomes an answer.
    async fn answer(&mut self, event: &Event) -> Result<(), Over> {
        let text = event.text("text").unwrap_or_default().to_owned();
        let (services, who, client) = (Arc::clone(&self.services), self.who.clone(), self.client);
        let answered = self.unless_gone(async {
            // One at a time, so that guests never fill the queue that the person's own requests wait in.
            let _turn = turn(&services.answering, services.times.turn).await?;
            ask(&services, text, who, client).await
        });
        let (kind, text) = match answered.await? {
            Ok(report) if report.end == Ending::Done => ("handled", report.reply),
            Ok(report) => ("not-handled", report.reply),
            Err(text) => ("not-handled", text),
        };
        self.say(&Event::new(kind).with("text", text)).await
    }

    /// A text becomes sound, which goes out as it is made.
    async fn speak(&mut self, event: &Event) -> Result<(), Over> {
        let text = event.text("text").unwrap_or_default().trim().to_owned();
        if text.len() > MAX_SPOKEN {
            return self
                .complain(&format!("The text has more than {MAX_SPOKEN} bytes."))
                .await;
        }
        let speaking = timeout(self.services.times.speaking, self.speak_all(text));
        match speaking.await {
            Ok(spoken) => spoken,
            // It may have been cut off in the middle of an event.
            Err(_) => Err(Over::Told),
        }
    }

    async fn speak_all(&mut self, text: String) -> Result<(), Over> {
        let services = Arc::clone(&self.services);
        let Some(voice) = &services.voice else {
            return Ok(());
        };
        if text.is_empty() {
            self.say(&Format::SPEECH.start()).await?;
            return self.say(&Event::new("audio-stop")).await;
        }
        let _turn = match self
            .unless_gone(turn(&services.speaking, services.times.turn))
            .await?
        {
            Ok(turn) => turn,
            Err(text) => return self.complain(&text).await,
        };
        let failed = |error: anyhow::Error| {
            tracing::warn!(
                error = format!("{error:#}"),
                "the voice for Wyoming clients failed"
            );
            "The voice failed."
        };
        let mut spoken = match self.unless_gone(voice.speak(&text)).await? {
            Ok(spoken) => spoken,
            Err(error) => return self.complain(failed(error)).await,
        };
        let format = spoken.format();
        self.say(&format.start()).await?;
        loop {
            match self.unless_gone(spoken.next()).await? {
                Ok(Some(pcm)) => self.say(&format.chunk(pcm)).await?,
                Ok(None) => return self.say(&Event::new("audio-stop")).await,
                Err(error) => return self.complain(failed(error)).await,
            }
        }
    }

    /// Does something for the client as long as it is there.
    async fn unless_gone<T>(&mut self, work: impl Future<Output = T>) -> Result<T, Over> {
        tokio::select! {
            biased;
            done = work => Ok(done),
            () = self.ears.gone() => Err(Over::Gone(Trouble::Closed)),
        }
    }
}

/// Waits for others that want the same.
async fn turn(turns: &Semaphore, patience: Duration) -> Outcome<SemaphorePermit<'_>> {
    let turn = timeout(patience, turns.acquire()).await;
    turn.ok()
        .and_then(Result::ok)
        .ok_or_else(|| "I am busy with others. Please try again in a moment.".to_owned())
}

/// Recognises speech of a guest, in the language and with the names that it expects and not with the person's own.
async fn hear(services: &Services, wanted: Wanted, coming: Option<Coming>) -> Outcome<Event> {
    let Some(stt) = &services.stt else {
        return Err("There is no recogniser.".to_owned());
    };
    let samples = coming.map(|coming| coming.sound.finish()).transpose();
    let samples = samples.map_err(|error| error.to_string())?.unwrap_or_default();
    let limits = Limits {
        language: wanted.language.or(services.limits.language.clone()),
        bias: wanted.names,
        names: Expecting::none(),
        ..services.limits.clone()
    };
    let speech = Speech {
        samples,
        transcript: None,
        after: None,
    };
    match room::transcribe(&**stt, &limits, &speech).await {
        Ok(transcript) => {
            let language = Some(transcript.language).filter(|language| !language.is_empty());
            Ok(Event::new("transcript")
                .with("text", transcript.text)
                .with("language", language))
        }
        Err(error) => {
            // Where its files are is nobody's business out there.
            tracing::warn!(%error, "the recogniser failed for a Wyoming client");
            Err(match error {
                EngineError::TimedOut(_) => "The recogniser took too long.".to_owned(),
                _ => "The recogniser failed.".to_owned(),
            })
        }
    }
}

/// One turn for a guest: what it would change is asked of the person at the desktop, whom it cannot answer for.
async fn ask(services: &Services, text: String, who: String, client: u64) -> Outcome<Report> {
    let Some(events) = &services.conversation else {
        return Err("Nobody answers here.".to_owned());
    };
    if text.len() > bus::MAX_TEXT {
        return Err("That is too long for me.".to_owned());
    }
    let (reply, answered) = oneshot::channel();
    let asking = run::Asking {
        text,
        wav: None,
        speech: None,
        yes: false,
        interactive: false,
        notify: true,
        now: None,
        client,
        guest: Some(who),
        connection: None,
        reply,
    };
    let mut withdrawing = Withdrawing {
        services,
        client,
        due: true,
    };
    let asked = events.send(run::Event::Ask(Box::new(asking)));
    let report = timeout(services.times.answer, async {
        asked.await.ok()?;
        answered.await.ok()
    });
    let report = match report.await {
        Err(_) => return Err("That took too long, and I have stopped.".to_owned()),
        Ok(None) => Err("That was stopped.".to_owned()),
        Ok(Some(report)) => report,
    };
    withdrawing.due = false;
    let report = report?;
    serde_json::from_str(&report).map_err(|_| "Sorry, something went wrong.".to_owned())
}

/// Withdraws what a guest asked for when nobody waits for the answer any more.
struct Withdrawing<'a> {
    services: &'a Services,
    client: u64,
    due: bool,
}

impl Drop for Withdrawing<'_> {
    fn drop(&mut self) {
        let (true, Some(events)) = (self.due, self.services.conversation.clone()) else {
            return;
        };
        let cancel = run::Event::Cancel {
            client: self.client,
            any: false,
            done: oneshot::channel().0,
        };
        if let Ok(runtime) = tokio::runtime::Handle::try_current() {
            runtime.spawn(async move {
                // Fails only when the daemon is stopping.
                let _ = events.send(cancel).await;
            });
        }
    }
}

impl Wanted {
    /// What `transcribe` wants, as far as it is among these languages and not too long.
    fn of(event: &Event, languages: &[String]) -> Wanted {
        let language = event.text("language").map(|language| {
            let code = language.split(['-', '_']).next().unwrap_or_default();
            code.to_ascii_lowercase()
        });
        let names = ["transcript_names", "transcript_terms"]
            .into_iter()
            .filter_map(|field| event.data.get(field)?.as_array())
            .flatten()
            .filter_map(Value::as_str);
        let mut expected = String::new();
        for name in names.map(super::describe::short).filter(|name| !name.is_empty()) {
            if expected.len() + 2 + name.len() > MAX_NAMES {
                break;
            }
            if !expected.is_empty() {
                expected.push_str(", ");
            }
            expected.push_str(&name);
        }
        Wanted {
            language: language.filter(|code| languages.contains(code)),
            names: Some(expected).filter(|names| !names.is_empty()),
        }
    }
}

#[cfg(test)]
pub(super) mod tests;
