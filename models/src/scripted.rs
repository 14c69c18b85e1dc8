//! Engines that follow a script: the daemon's tests run without weights and assert what the model was sent.

mod server;

pub use server::{Act, Heard, STREAM, ScriptedServer};

use std::{
    collections::VecDeque,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use async_trait::async_trait;
use tokio::sync::Semaphore;

use crate::{
    EngineError,
    llm::{End, EngineStats, Generate, Generated, Llm, ModelInfo, OnText, Opening, Piece, Prepared, Usage},
    stt::{OnSegment, Segment, Stt, SttInfo, Transcribe, Transcript, patience},
};

/// What a scripted engine does with one request.
#[derive(Debug, Clone)]
pub enum Reply {
    /// Answers with this text; stop strings and `max_tokens` (words) of the request hold.
    Text(String),
    /// Fails.
    Fail(EngineError),
    /// Streams this text and then never comes to an end: only dropping the future ends it.
    Hang(String),
    /// Streams pieces one after the other, each when it may. A recogniser says all of it at once.
    Stepwise(Steps),
}

/// Pieces of a text that takes its time.
#[derive(Debug, Clone)]
pub struct Steps {
    pieces: Vec<String>,
    may: Arc<Semaphore>,
    fails: Option<EngineError>,
}

impl Reply {
    /// Streams these pieces; each takes a permit.
    pub fn stepwise(pieces: &[&str], may: &Arc<Semaphore>) -> Reply {
        Reply::Stepwise(Steps {
            pieces: pieces.iter().map(|piece| (*piece).to_owned()).collect(),
            may: Arc::clone(may),
            fails: None,
        })
    }

    /// The same, and the engine is killed where the last one should end.
    pub fn crashing(pieces: &[&str], may: &Arc<Semaphore>) -> Reply {
        match (Reply::stepwise(pieces, may), Reply::crash()) {
            (Reply::Stepwise(steps), Reply::Fail(error)) => Reply::Stepwise(Steps {
                fails: Some(error),
                ..steps
            }),
            (other, _) => other,
        }
    }

    /// The engine is killed in the middle of this request.
    pub fn crash() -> Reply {
        Reply::Fail(EngineError::Crashed {
            engine: "scripted".into(),
            how: "killed by signal 9".into(),
        })
    }
}

impl Steps {
    async fn stream(self, on_text: OnText<'_>) -> Result<String, EngineError> {
        for piece in &self.pieces {
            // Nobody closes it; a script that is over may say the rest at once.
            if let Ok(permit) = self.may.acquire().await {
                permit.forget();
            }
            on_text(piece);
        }
        match self.fails {
            Some(error) => Err(error),
            None => Ok(self.pieces.concat()),
        }
    }
}

impl From<&str> for Reply {
    fn from(text: &str) -> Reply {
        Reply::Text(text.to_owned())
    }
}

impl From<String> for Reply {
    fn from(text: String) -> Reply {
        Reply::Text(text)
    }
}

type Script<T> = Box<dyn FnMut(&T) -> Reply + Send>;

/// A language model that follows a script and remembers what it was sent. A word is a token.
pub struct ScriptedLlm {
    info: ModelInfo,
    script: Mutex<Script<str>>,
    seen: Mutex<Seen>,
    /// Whether it says that it keeps states, and then each evaluation that names some takes a permit.
    keeps: Option<Arc<Semaphore>>,
}

#[derive(Default)]
struct Seen {
    requests: Vec<Generate>,
    read: Vec<Generate>,
    prefixes: Vec<Vec<Piece>>,
    held: Vec<String>,
}

impl ScriptedLlm {
    /// Gives these replies one after the other, and then says that the script is at its end.
    pub fn replies<R: Into<Reply>>(replies: impl IntoIterator<Item = R>) -> ScriptedLlm {
        let mut queue: VecDeque<Reply> = replies.into_iter().map(Into::into).collect();
        ScriptedLlm::answering(move |_| queue.pop_front().unwrap_or_else(end_of_script))
    }

    /// Answers by the text of the prompt.
    pub fn answering(script: impl FnMut(&str) -> Reply + Send + 'static) -> ScriptedLlm {
        ScriptedLlm {
            info: ModelInfo {
                name: "scripted".into(),
                architecture: "scripted".into(),
                eos: "<|im_end|>".into(),
                context: 32_768,
                device: "script".into(),
                sandbox: "none".into(),
                binding: "0".into(),
                ..ModelInfo::default()
            },
            script: Mutex::new(Box::new(script)),
            seen: Mutex::default(),
            keeps: None,
        }
    }

    /// The same, as a process that keeps states on disk and runs once a prefix was prepared. Each request that only reads what is worth
    /// keeping takes a permit.
    pub fn keeping_states(self, may: &Arc<Semaphore>) -> ScriptedLlm {
        ScriptedLlm {
            keeps: Some(Arc::clone(may)),
            ..self
        }
    }

    /// The same with another template, window or name.
    pub fn with_info(self, info: ModelInfo) -> ScriptedLlm {
        ScriptedLlm { info, ..self }
    }

    /// Every request to generate so far, oldest first.
    pub fn requests(&self) -> Vec<Generate> {
        lock(&self.seen).requests.clone()
    }

    /// Every request that only read what is worth keeping and came to its end, oldest first.
    pub fn read(&self) -> Vec<Generate> {
        lock(&self.seen).read.clone()
    }

    /// The text of every prompt so far, oldest first.
    pub fn prompts(&self) -> Vec<String> {
        lock(&self.seen)
            .requests
            .iter()
            .map(|r| joined(&r.prompt))
            .collect()
    }

    /// Every prefix that was prepared so far, oldest first.
    pub fn prefixes(&self) -> Vec<Vec<Piece>> {
        lock(&self.seen).prefixes.clone()
    }
}

#[async_trait]
impl Llm for ScriptedLlm {
    async fn info(&self) -> Result<ModelInfo, EngineError> {
        Ok(self.info.clone())
    }

    async fn count(&self, pieces: &[Piece]) -> Result<Vec<u32>, EngineError> {
        Ok(pieces
            .iter()
            .map(|piece| count(piece.text.split_whitespace()))
            .collect())
    }

    async fn prepare(&self, prefix: &[Piece]) -> Result<Prepared, EngineError> {
        let words = words(prefix);
        let mut seen = lock(&self.seen);
        seen.prefixes.push(prefix.to_vec());
        let tokens = count(words.iter());
        let prefilled = tokens - cached(&seen.held, &words).min(tokens);
        if prefilled > 0 {
            seen.held = words;
        }
        Ok(Prepared {
            tokens,
            prefilled,
            ..Prepared::default()
        })
    }

    async fn generate(&self, request: Generate, on_text: OnText<'_>) -> Result<Generated, EngineError> {
        let prompt = words(&request.prompt);
        let tokens = count(prompt.iter());
        if tokens >= self.info.context {
            return Err(EngineError::Refused(format!(
                "The prompt has {tokens} tokens and the window holds {}.",
                self.info.context
            )));
        }
        if request.max_tokens == 0 {
            // Only evaluates the prompt ahead of time: nothing is written, so the script does not move on.
            if let Some(may) = self.keeps.as_ref().filter(|_| !request.again.is_empty()) {
                // Nobody closes it.
                if let Ok(permit) = may.acquire().await {
                    permit.forget();
                }
                lock(&self.seen).read.push(request);
            }
            lock(&self.seen).held = prompt;
            return Ok(Generated {
                text: String::new(),
                end: End::Length,
                usage: Usage::default(),
            });
        }
        let reply = (lock(&self.script))(&joined(&request.prompt));
        let usage = {
            let mut seen = lock(&self.seen);
            seen.requests.push(request.clone());
            let cached = cached(&seen.held, &prompt).min(tokens.saturating_sub(1));
            seen.held = prompt;
            Usage {
                prompt: tokens,
                cached,
                ..Usage::default()
            }
        };
        let (text, hang) = match reply {
            Reply::Text(text) => (text, false),
            Reply::Hang(text) => (text, true),
            Reply::Fail(error) => return Err(error),
            Reply::Stepwise(steps) => {
                let text = steps.stream(on_text).await?;
                let usage = Usage {
                    generated: count(text.split_whitespace()),
                    ..usage
                };
                let end = End::Turn;
                return Ok(Generated { text, end, usage });
            }
        };
        let opens = |opening: &Opening| text.starts_with(&opening.text);
        if !request.openings.is_empty() && !request.openings.iter().any(opens) {
            return Err(EngineError::Refused(format!(
                "The script answers {text:?}, which begins with none of the openings."
            )));
        }
        let stop = request.stop.iter().filter_map(|s| text.find(s.as_str())).min();
        let (mut text, mut end) = match stop {
            Some(at) => (text[..at].to_owned(), End::Stop),
            None => (text, End::Turn),
        };
        let generated = count(text.split_whitespace());
        if generated > request.max_tokens {
            let parts = text.split_inclusive(char::is_whitespace);
            text = parts.take(request.max_tokens as usize).collect();
            end = End::Length;
        }
        for part in text.split_inclusive(' ') {
            on_text(part);
            tokio::task::yield_now().await;
        }
        if hang {
            std::future::pending::<()>().await;
        }
        let generated = generated.min(request.max_tokens);
        Ok(Generated {
            text,
            end,
            usage: Usage { generated, ..usage },
        })
    }

    fn keeps_states(&self) -> bool {
        self.keeps.is_some()
    }

    fn stats(&self) -> EngineStats {
        let running = self.keeps.is_some() && !lock(&self.seen).prefixes.is_empty();
        EngineStats {
            running,
            pid: running.then_some(1),
            ..EngineStats::default()
        }
    }
}

/// A recogniser that follows a script and remembers what it was given.
pub struct ScriptedStt {
    script: Mutex<Script<Transcribe>>,
    requests: Mutex<Vec<Transcribe>>,
    broken: Option<EngineError>,
}

impl ScriptedStt {
    /// Hears these texts one after the other, and then says that the script is at its end.
    pub fn replies<R: Into<Reply>>(replies: impl IntoIterator<Item = R>) -> ScriptedStt {
        let mut queue: VecDeque<Reply> = replies.into_iter().map(Into::into).collect();
        ScriptedStt::answering(move |_| queue.pop_front().unwrap_or_else(end_of_script))
    }

    /// Answers by the request.
    pub fn answering(script: impl FnMut(&Transcribe) -> Reply + Send + 'static) -> ScriptedStt {
        ScriptedStt {
            script: Mutex::new(Box::new(script)),
            requests: Mutex::default(),
            broken: None,
        }
    }

    /// Its model cannot be loaded, for this reason.
    #[must_use]
    pub fn without_model(self, why: EngineError) -> ScriptedStt {
        ScriptedStt {
            broken: Some(why),
            ..self
        }
    }

    /// Every request so far, oldest first.
    pub fn requests(&self) -> Vec<Transcribe> {
        lock(&self.requests).clone()
    }
}

#[async_trait]
impl Stt for ScriptedStt {
    async fn info(&self) -> Result<SttInfo, EngineError> {
        if let Some(why) = &self.broken {
            return Err(why.clone());
        }
        Ok(SttInfo {
            name: "scripted".into(),
            device: "script".into(),
            sandbox: "none".into(),
            binding: "0".into(),
            ..SttInfo::default()
        })
    }

    fn patience(&self, samples: usize) -> Duration {
        patience(samples)
    }

    async fn transcribe(
        &self,
        request: Transcribe,
        on_segment: OnSegment<'_>,
    ) -> Result<Transcript, EngineError> {
        let reply = (lock(&self.script))(&request);
        let seconds = request.samples.len() as f32 / crate::stt::SAMPLE_RATE as f32;
        let language = request.language.clone().unwrap_or_else(|| "en".into());
        lock(&self.requests).push(request);
        let (text, hang) = match reply {
            Reply::Text(text) => (text, false),
            Reply::Hang(text) => (text, true),
            Reply::Fail(error) => return Err(error),
            Reply::Stepwise(steps) => (steps.pieces.concat(), false),
        };
        let segment = Segment {
            start: 0.0,
            end: seconds,
            text: text.clone(),
        };
        let segments: Vec<Segment> = (!text.is_empty()).then_some(segment).into_iter().collect();
        segments.iter().for_each(on_segment);
        if hang {
            std::future::pending::<()>().await;
        }
        Ok(Transcript {
            text,
            segments,
            language,
            ..Transcript::default()
        })
    }
}

fn end_of_script() -> Reply {
    Reply::Fail(EngineError::Refused("The script is at its end.".into()))
}

fn joined(pieces: &[Piece]) -> String {
    pieces.iter().map(|piece| piece.text.as_str()).collect()
}

fn words(pieces: &[Piece]) -> Vec<String> {
    let all = pieces.iter().flat_map(|piece| piece.text.split_whitespace());
    all.map(str::to_owned).collect()
}

fn cached(held: &[String], words: &[String]) -> u32 {
    count(held.iter().zip(words).take_while(|(a, b)| a == b))
}

fn count<T>(items: impl Iterator<Item = T>) -> u32 {
    u32::try_from(items.count()).unwrap_or(u32::MAX)
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    fn ask(text: &str) -> Generate {
        Generate {
            prompt: vec![Piece {
                text: text.into(),
                special: false,
            }],
            stop: vec!["</call>".into()],
            max_tokens: 4,
            ..Generate::default()
        }
    }

    #[tokio::test]
    async fn a_script_is_followed_and_remembered() {
        let llm = ScriptedLlm::replies([
            Reply::from("one two</call> three"),
            Reply::crash(),
            Reply::from("a b c d e"),
        ]);
        let mut heard = String::new();
        let first = llm
            .generate(ask("you are Tiro. hello"), &mut |t| heard.push_str(t))
            .await
            .unwrap();
        assert_eq!((first.text.as_str(), first.end), ("one two", End::Stop));
        assert_eq!(heard, "one two");
        let crash = llm.generate(ask("again"), &mut |_| {}).await.unwrap_err();
        assert!(matches!(crash, EngineError::Crashed { .. }));
        let long = llm.generate(ask("again and again"), &mut |_| {}).await.unwrap();
        assert_eq!(
            (long.text.as_str(), long.end, long.usage.generated),
            ("a b c d ", End::Length, 4)
        );
        assert_eq!((long.usage.prompt, long.usage.cached), (3, 1));
        assert!(llm.generate(ask("more"), &mut |_| {}).await.is_err());
        assert_eq!(
            llm.prompts(),
            ["you are Tiro. hello", "again", "again and again", "more"]
        );
    }

    #[tokio::test]
    async fn a_hang_ends_when_it_is_dropped() {
        let llm = ScriptedLlm::answering(|prompt| Reply::Hang(format!("{prompt} so far")));
        let mut heard = String::new();
        let mut on_text = |t: &str| heard.push_str(t);
        let call = llm.generate(ask("slow"), &mut on_text);
        assert!(
            tokio::time::timeout(Duration::from_millis(30), call)
                .await
                .is_err()
        );
        assert_eq!(heard, "slow so far");
    }

    #[tokio::test]
    async fn a_text_that_takes_its_time_comes_when_it_may() {
        let may = Arc::new(Semaphore::new(1));
        let pieces = ["one ", "two ", "three"];
        let llm = ScriptedLlm::replies([
            Reply::stepwise(&pieces, &may),
            Reply::stepwise(&pieces, &may),
            Reply::crashing(&pieces, &may),
        ]);
        let mut heard = String::new();
        let mut on_text = |t: &str| heard.push_str(t);
        let call = llm.generate(ask("slow"), &mut on_text);
        assert!(
            tokio::time::timeout(Duration::from_millis(30), call)
                .await
                .is_err()
        );
        assert_eq!(heard, "one ");
        may.add_permits(6);
        let whole = llm.generate(ask("again"), &mut |_| {}).await.unwrap();
        assert_eq!((whole.text.as_str(), whole.usage.generated), ("one two three", 3));
        let mut heard = String::new();
        let crash = llm.generate(ask("and again"), &mut |t| heard.push_str(t)).await;
        assert!(matches!(crash, Err(EngineError::Crashed { .. })));
        assert_eq!((heard.as_str(), may.available_permits()), ("one two three", 0));
    }

    #[tokio::test]
    async fn speech_follows_a_script_too() {
        let stt = ScriptedStt::replies(["what time is it"]);
        let request = Transcribe {
            samples: vec![0.0; 16_000],
            ..Transcribe::default()
        };
        let mut parts = Vec::new();
        let heard = stt
            .transcribe(request.clone(), &mut |s| parts.push(s.clone()))
            .await
            .unwrap();
        assert_eq!(heard.text, "what time is it");
        assert_eq!(parts, heard.segments);
        assert_eq!(parts[0].end, 1.0);
        assert_eq!(stt.requests(), std::slice::from_ref(&request));
        assert!(stt.transcribe(request, &mut |_| {}).await.is_err());
    }
}
