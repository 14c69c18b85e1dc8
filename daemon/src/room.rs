//! Everything a turn needs, held in one place: engines, agent, clock, folders, limits.

mod accounts;
mod learn;
mod names;

use std::{
    hash::{DefaultHasher, Hash, Hasher},
    sync::Arc,
    time::Duration,
};

use anyhow::Context as _;
use models::{
    EngineError,
    llm::{
        Chat, ChatMessage, ChatTool, Generate, Generated, Llm, ModelInfo, OnText, Opening, Piece, Prepared,
    },
    stt::{self, Stt, Transcribe, Transcript},
};
use prompts::{PromptError, Rendered, Renderer, Template, words};
use tools::{
    Ctx, Dirs, Entry, Journal,
    discover::{Index, Reads},
    system::{desktop::Desk, health::Health},
};

use crate::{
    agent::{
        Agent, Ask, Ending, Input, Reply, Settings, Step,
        toolbox::{Loaded, Toolbox},
    },
    listen::{Speech, hearing},
    report::Report,
    ring,
    run::WakeSettings,
    shelf,
    speak::Speaker,
    trace::Trace,
};
use accounts::{Sizes, Spending};
pub use names::Expecting;

/// Everything a turn needs.
pub struct Room {
    llm: Arc<dyn Llm>,
    stt: Arc<dyn Stt>,
    parts: Parts,
    index: Arc<Index>,
    agent: Option<Agent>,
    info: Option<ModelInfo>,
    prepared: Option<(Option<u32>, u64)>,
    pinned: Option<Clock>,
    health: Health,
    /// What the static prefix takes, once it has been counted.
    sizes: Option<Sizes>,
    spending: Spending,
    /// The tools in use as they were last written down.
    shelved: Option<Vec<Loaded>>,
    names: names::Names,
    /// Whether the last turn needed the model.
    needed: bool,
    learnt: learn::Learnt,
}

/// What a room is made of, besides its engines.
#[derive(Clone)]
pub struct Parts {
    /// The catalogue.
    pub tools: &'static [Entry],
    /// Gives a second opinion on which tool is meant, where it is there.
    pub reader: Option<Arc<dyn Reads>>,
    /// The person's data.
    pub dirs: Dirs,
    /// The time.
    pub clock: Clock,
    /// The agent's knobs.
    pub settings: Settings,
    /// Bounds of a turn.
    pub limits: Limits,
    /// How `tools.discover` cuts what it finds.
    pub search: tools::Search,
    /// Whether this process is the daemon, which rings timers.
    pub daemon: bool,
    /// When the person works.
    pub work: tools::Work,
    /// How it rings.
    pub ring: ring::Settings,
    /// How it listens.
    pub listen: hearing::Settings,
    /// What wakes it, where the person wants that.
    pub wake: Option<WakeSettings>,
    /// Speaks.
    pub speak: Speaker,
    /// The desktop that tools act on.
    pub desk: Desk,
    /// What tools reach beyond the folders.
    pub reach: tools::Reach,
    /// Where every write is written down before it happens.
    pub journal: Journal,
    /// Who the person is by mail.
    pub mail: tools::Mail,
    /// Where requests are kept, if the person wants that.
    pub trace: Option<Trace>,
}

/// Bounds of a turn.
#[derive(Debug, Clone)]
pub struct Limits {
    /// Prompt tokens; the oldest turns go when there are more. Never more than the window less the answer.
    pub budget: u32,
    /// Tokens of one answer.
    pub max_tokens: u32,
    /// 0 is greedy.
    pub temperature: f32,
    /// One generation.
    pub generate: Duration,
    /// One recognition.
    pub transcribe: Duration,
    /// The person's time to answer a question.
    pub patience: Duration,
    /// ISO 639-1, or nothing to detect it.
    pub language: Option<String>,
    /// Text for the recogniser to go on from.
    pub bias: Option<String>,
    /// Names for it to expect.
    pub names: Expecting,
    /// How long nobody wants anything before the tools are read; `None` never reads them ahead.
    pub read_ahead: Option<Duration>,
}

/// The time, real or pinned by `--now`.
#[derive(Debug, Clone, Default)]
pub enum Clock {
    /// The machine's.
    #[default]
    Real,
    /// Always this moment.
    Pinned(Box<jiff::Zoned>),
}

impl Clock {
    /// A moment as `--now` takes it: local, or with an offset or a zone in brackets.
    ///
    /// # Errors
    /// When it is no moment.
    pub fn pinned(text: &str) -> anyhow::Result<Clock> {
        let zoned = text.parse::<jiff::Zoned>().or_else(|_| {
            text.parse::<jiff::Timestamp>()
                .map(|t| t.to_zoned(jiff::tz::TimeZone::system()))
        });
        let zoned = zoned.or_else(|_| {
            text.parse::<jiff::civil::DateTime>()
                .and_then(|t| t.to_zoned(jiff::tz::TimeZone::system()))
        });
        let hint = "write it as 2026-11-21T09:30, with [Europe/Berlin] behind it for another zone";
        let zoned = zoned.with_context(|| format!("--now {text} is no moment; {hint}"))?;
        Ok(Clock::Pinned(Box::new(zoned)))
    }

    /// Now, in the local zone.
    pub fn now(&self) -> jiff::Zoned {
        match self {
            Clock::Real => jiff::Zoned::now(),
            Clock::Pinned(now) => (**now).clone(),
        }
    }
}

impl Room {
    /// A room with nothing loaded yet.
    pub fn new(llm: Arc<dyn Llm>, stt: Arc<dyn Stt>, parts: Parts) -> Room {
        let index = parts.index();
        Room::with_index(llm, stt, parts, index)
    }

    /// The same with an index of the same tools, for who needs many rooms.
    pub fn with_index(llm: Arc<dyn Llm>, stt: Arc<dyn Stt>, parts: Parts, index: Arc<Index>) -> Room {
        let health = Health::at(&parts.dirs.state);
        let expecting = parts.limits.names.clone();
        Room {
            llm,
            stt,
            parts,
            index,
            agent: None,
            info: None,
            prepared: None,
            pinned: None,
            health,
            sizes: None,
            spending: Spending::default(),
            shelved: None,
            names: names::Names::telling(expecting),
            needed: false,
            learnt: learn::Learnt::default(),
        }
    }

    /// The names that it tells its recogniser to expect, as they are read.
    pub fn expecting(&self) -> Expecting {
        self.parts.limits.names.clone()
    }

    /// Begins to read the names of what the person has, which whoever recognises what they say expects.
    pub fn read_names(&mut self) {
        let ctx = self.ctx();
        self.names.begin(ctx);
    }

    /// Loads the model and brings the static prefix into its KV cache, between turns. `None` when both are there already.
    ///
    /// # Errors
    /// What keeps the engine or the model from loading.
    pub async fn ready(&mut self) -> Result<Option<Prepared>, EngineError> {
        self.read_names();
        self.agent().settle();
        self.load().await
    }

    /// The same in a turn that turns out to need the model.
    ///
    /// # Errors
    /// As `ready`.
    pub async fn needs_model(&mut self) -> Result<Option<Prepared>, EngineError> {
        self.needed = true;
        self.load().await
    }

    async fn load(&mut self) -> Result<Option<Prepared>, EngineError> {
        if self.info.is_none() {
            let info = self.llm.info().await?;
            let (renderer, warning) = renderer(&info);
            if let Some(error) = warning {
                tracing::warn!(%error, "the model's chat template cannot be used; ChatML takes its place");
            }
            self.agent().speak(renderer);
            self.info = Some(info);
        }
        let prefix = pieces(self.agent().prefix());
        let key = (self.engine(), hash(&prefix));
        if self.prepared == Some(key) {
            return Ok(None);
        }
        let prepared = self.llm.prepare(&prefix).await?;
        // The engine may have been started by this very call, so its id is read again.
        self.prepared = Some((self.engine(), key.1));
        Ok(Some(prepared))
    }

    /// The process that holds the KV cache, if it runs.
    fn engine(&self) -> Option<u32> {
        self.llm.stats().life()
    }

    /// The agent, whether the model is loaded or not: what needs no model need not wait for it. The dialect is the model's once
    /// that is known; a server's is known from the beginning.
    pub fn agent(&mut self) -> &mut Agent {
        let (parts, index, info, llm) = (&self.parts, &self.index, &self.info, &self.llm);
        self.agent.get_or_insert_with(|| {
            let expected = || ModelInfo {
                architecture: llm.server().map_or("", |_| prompts::dialect::MESSAGES).to_owned(),
                ..ModelInfo::default()
            };
            let mut agent = parts.agent(&info.clone().unwrap_or_else(expected), index);
            if agent.toolbox().keeps() {
                agent.restore(shelf::read(&parts.dirs.state));
            }
            agent
        })
    }

    /// What tools may use.
    pub fn ctx(&self) -> Ctx {
        Ctx {
            now: self.now(),
            last: self.agent.as_ref().and_then(Agent::last),
            search: self.search(),
            ..self.parts.ctx(&self.index)
        }
    }

    /// The tools that are loaded, for who wants to look.
    pub fn loaded(&self) -> Vec<String> {
        let loaded = self.agent.as_ref().map_or_else(Vec::new, Agent::loaded);
        loaded.into_iter().map(|one| one.name).collect()
    }

    /// How tools are searched in this request.
    fn search(&self) -> tools::Search {
        let usual = self.parts.search.clone();
        match self.agent.as_ref().map(Agent::toolbox) {
            None => usual,
            Some(toolbox) => tools::Search {
                lens: Arc::clone(toolbox.lens()),
                core: Some(Arc::new(toolbox.core())),
                ..usual
            },
        }
    }

    fn now(&self) -> jiff::Zoned {
        self.pinned.as_ref().unwrap_or(&self.parts.clock).now()
    }

    /// How long the person has to answer a question.
    pub fn patience(&self) -> Duration {
        self.parts.limits.patience
    }

    /// Pins the clock until it is pinned otherwise; `None` goes back to the clock of the room. Set before every turn
    /// rather than put back after it, because a turn may be dropped in the middle.
    pub fn pin(&mut self, clock: Option<Clock>) {
        self.pinned = clock;
    }

    /// The language model.
    pub fn llm(&self) -> &Arc<dyn Llm> {
        &self.llm
    }

    /// The recogniser.
    pub fn stt(&self) -> &Arc<dyn Stt> {
        &self.stt
    }

    /// What the loaded model said of itself.
    pub fn info(&self) -> Option<&ModelInfo> {
        self.info.as_ref()
    }

    /// What the person's words come with: the date and the time, which the static prefix must not hold.
    pub fn context(&self) -> String {
        self.now().strftime("%A %-d %B %Y, %-H:%M").to_string()
    }

    /// Recognises speech.
    ///
    /// # Errors
    /// What keeps the recogniser from it.
    pub async fn transcribe(&mut self, speech: &Speech) -> Result<Transcript, EngineError> {
        self.read_names();
        // A recording may be the first that anybody wants of this room.
        self.names.now().await;
        transcribe(&*self.stt, &self.parts.limits, speech).await
    }

    /// Generates an answer to a prompt; `on_text` gets it as it comes. A server knows its model's window better than the config may: where it says that
    /// the prompt is too long, the oldest turns go until it is not.
    ///
    /// # Errors
    /// What keeps the engine from it.
    pub async fn generate(&mut self, ask: Ask, on_text: OnText<'_>) -> Result<Generated, EngineError> {
        let mut ask = ask;
        loop {
            match self.generate_once(ask, on_text).await {
                // Each time a turn goes, so this ends.
                Err(EngineError::TooLong(why)) => match self.agent().trim() {
                    Some(shorter) => ask = shorter,
                    None => return Err(EngineError::TooLong(why)),
                },
                other => return other,
            }
        }
    }

    async fn generate_once(&self, ask: Ask, on_text: OnText<'_>) -> Result<Generated, EngineError> {
        let limits = &self.parts.limits;
        let request = Generate {
            again: again(ask.static_len, &ask.found),
            prompt: pieces(ask.prompt),
            beside: ask.alone,
            idle: false,
            openings: ask.openings.into_iter().map(opening).collect(),
            grammar: ask.grammar,
            stop: Vec::new(),
            max_tokens: limits.max_tokens,
            temperature: limits.temperature,
            seed: 0,
            chat: ask.chat.map(chat),
        };
        self.asked_of_model(request, on_text).await
    }

    async fn asked_of_model(&self, request: Generate, on_text: OnText<'_>) -> Result<Generated, EngineError> {
        bounded(self.parts.limits.generate, self.llm.generate(request, on_text)).await
    }

    /// Drops the oldest turns when the prompt passes the budget, down to three quarters of it: whatever is dropped
    /// makes the engine evaluate all that follows again, so it is done seldom and then thoroughly. `None` when even the open turn alone
    /// does not fit.
    ///
    /// # Errors
    /// What keeps the engine from counting.
    pub async fn fit(&mut self, mut ask: Ask) -> Result<Option<Ask>, EngineError> {
        let budget = self.budget();
        if self.has_at_most(budget, &ask.prompt).await? {
            return Ok(Some(ask));
        }
        loop {
            match self.agent().trim() {
                Some(shorter) => ask = shorter,
                // Only the open turn is left: it may pass the goal, but not the budget.
                None => return Ok(self.has_at_most(budget, &ask.prompt).await?.then_some(ask)),
            }
            if self.has_at_most(budget / 4 * 3, &ask.prompt).await? {
                return Ok(Some(ask));
            }
        }
    }

    /// What the next request goes on from, within the budget: where each request was asked about alone, nothing has looked at that.
    async fn next(&mut self) -> Result<Rendered, EngineError> {
        let budget = self.budget();
        let mut next = self.agent().next();
        if self.has_at_most(budget, &next.pieces).await? {
            return Ok(next);
        }
        while self.agent().shorten() {
            next = self.agent().next();
            if self.has_at_most(budget / 4 * 3, &next.pieces).await? {
                break;
            }
        }
        Ok(next)
    }

    /// Tokens that a prompt may have.
    fn budget(&self) -> u32 {
        let context = self.info.as_ref().map_or(u32::MAX, |i| i.context);
        let room = context.saturating_sub(self.parts.limits.max_tokens);
        self.parts.limits.budget.min(room)
    }

    /// Whether a prompt has no more tokens than that. Counting costs a round trip, so it is done only when the bytes leave it open: a
    /// token has at least one.
    async fn has_at_most(&self, tokens: u32, prompt: &[prompts::Piece]) -> Result<bool, EngineError> {
        let bytes: usize = prompt.iter().map(|piece| piece.text.len()).sum();
        if u32::try_from(bytes).is_ok_and(|bytes| bytes <= tokens) {
            return Ok(true);
        }
        let counted = self.llm.count(&pieces(prompt.to_vec())).await?;
        Ok(counted.iter().sum::<u32>() <= tokens)
    }

    /// Evaluates while nobody waits what the next request goes on from, so that its turn evaluates only what is new. Not when
    /// the engine has gone to rest and the last turn did not need it: "pause" is no reason to load a gigabyte. Whether
    /// it did.
    ///
    /// # Errors
    /// What keeps the engine from it.
    pub async fn warm(&mut self) -> Result<bool, EngineError> {
        let ran = self.prepared.is_some_and(|(life, _)| life.is_some());
        if !self.needed && ran && self.engine().is_none() {
            return Ok(false);
        }
        self.ready().await?;
        let talk = self.next().await?;
        let request = Generate {
            again: again(talk.static_len, &talk.found),
            prompt: pieces(talk.pieces),
            idle: true,
            max_tokens: 0,
            ..Generate::default()
        };
        bounded(
            self.parts.limits.generate,
            self.llm.generate(request, &mut |_| {}),
        )
        .await?;
        Ok(true)
    }

    /// Evaluates what the model would be asked about these words, before it is sure that nothing more is said, and which of the calls
    /// that are offered it would make: then only the arguments are left to be written. Nothing comes of it, and the conversation
    /// stays as it is. A server is told nothing before the person has finished.
    ///
    /// To let it write the whole decision as well was tried: three of seven spoken requests did not find theirs in the end and
    /// asked anew, 3.7 s after the last word at the median, where only reading took 2.5 s on the same machine.
    ///
    /// # Errors
    /// What keeps the engine from it.
    pub async fn foresee(&mut self, text: &str) -> Result<Foreseen, EngineError> {
        let mut step = self.foreseen(text).await;
        match &step {
            Step::Generate(ask) if ask.chat.is_none() => {}
            Step::Call(_) if self.agent().is_whole(text) => return Ok(Foreseen::Whole),
            _ => return Ok(Foreseen::Nothing),
        }
        if self.needs_model().await?.is_some() {
            // It may have come only now, and speaks a dialect of its own.
            step = self.foreseen(text).await;
        }
        let Step::Generate(ask) = step else {
            return Ok(Foreseen::Nothing);
        };
        if ask.chat.is_some() {
            return Ok(Foreseen::Nothing);
        }
        let read = Generate {
            again: again(ask.static_len, &ask.found),
            prompt: pieces(ask.prompt),
            beside: ask.alone,
            openings: ask.openings.into_iter().map(opening).collect(),
            max_tokens: 0,
            ..Generate::default()
        };
        let start = std::time::Instant::now();
        let usage = self.asked_of_model(read, &mut |_| {}).await?.usage;
        let (prompt, cached, ms) = (usage.prompt, usage.cached, start.elapsed().as_millis());
        tracing::debug!(prompt, cached, ms, "read ahead of the end");
        Ok(Foreseen::Read)
    }

    /// What would be done first about these words.
    async fn foreseen(&mut self, text: &str) -> Step {
        let (context, asked) = (self.context(), self.asked(text, true).await);
        // One that is thrown away: the words may not be what the person meant to say.
        let mut guess = self.agent().clone();
        let text = text.to_owned();
        guess.step(Input::Said { text, context, asked })
    }

    /// Keeps a finished turn in the trace, if there is one.
    pub fn keep(&self, report: &Report) {
        if let Some(trace) = &self.parts.trace {
            trace.keep(report, &self.now());
        }
    }

    /// Forgets the conversation because it is over.
    pub fn part(&mut self) {
        if let Some(agent) = &mut self.agent {
            agent.part();
        }
    }

    /// Forgets the conversation and the tools that were found, on disk, too.
    pub fn forget(&mut self) {
        if let Some(agent) = &mut self.agent {
            agent.forget();
        }
        self.shelved = None;
        shelf::clear(&self.parts.dirs.state);
    }

    /// Turns an engine's failure into the sentence that ends the turn, and closes the turn.
    pub fn failed(&mut self, error: &EngineError) -> Reply {
        tracing::warn!(%error, "a turn failed");
        let did = self.agent.as_ref().and_then(Agent::did);
        if let Some(agent) = &mut self.agent {
            agent.interrupt();
        }
        // What was done is said, so that nobody asks for it a second time.
        if let Some(did) = did {
            return Reply {
                text: words::did_and_crashed(&did),
                end: Ending::CouldNot,
            };
        }
        let text = match error {
            EngineError::Crashed { .. } | EngineError::Protocol(_) => words::engine_crashed(),
            EngineError::Refused(why) => words::refused(why),
            EngineError::TimedOut(_) => words::timed_out("answer that"),
            EngineError::TooLong(_) => words::too_long(),
            EngineError::Cancelled => words::cancelled(),
            EngineError::NoEngine { .. }
            | EngineError::NoModel { .. }
            | EngineError::BadModel { .. }
            | EngineError::TooLittleMemory { .. }
            | EngineError::Server(_) => words::engine_missing(&error.to_string()),
        };
        Reply {
            text,
            end: Ending::CouldNot,
        }
    }
}

impl Parts {
    /// The discovery index of the catalogue.
    pub fn index(&self) -> Arc<Index> {
        Arc::new(Index::of(self.tools).reading(self.reader.clone()))
    }

    /// What tools may use.
    pub fn ctx(&self, index: &Arc<Index>) -> Ctx {
        Ctx {
            now: self.clock.now(),
            dirs: self.dirs.clone(),
            index: Arc::clone(index),
            search: self.search.clone(),
            daemon: self.daemon,
            work: self.work.clone(),
            last: None,
            snooze: self.ring.snooze,
            desk: self.desk.clone(),
            mail: self.mail.clone(),
            reach: self.reach.clone(),
            // A call writes through a step of its own; this one only leads to the journal.
            step: self.journal.step("tiro"),
            progress: tools::system::progress::Progress::default(),
        }
    }

    /// An agent that speaks the model's dialect.
    pub fn agent(&self, info: &ModelInfo, index: &Arc<Index>) -> Agent {
        let toolbox = Toolbox::new(self.tools, Arc::clone(index), &self.settings.loading);
        Agent::new(self.settings.clone(), renderer(info).0, toolbox)
    }
}

/// A question in messages as the engine takes it.
fn chat(chat: prompts::Chat) -> Chat {
    // Whoever speaks in messages answers in this dialect.
    let frame = prompts::detect(None, prompts::dialect::MESSAGES).frame();
    let message = |message| match message {
        prompts::ChatMessage::System(text) => ChatMessage::System(text),
        prompts::ChatMessage::User(text) => ChatMessage::User(text),
        prompts::ChatMessage::Assistant(text) => ChatMessage::Assistant(text),
        prompts::ChatMessage::Call { id, name, arguments } => ChatMessage::Call { id, name, arguments },
        prompts::ChatMessage::Result { id, content } => ChatMessage::Result { id, content },
    };
    let tool = |card: prompts::Card| ChatTool {
        name: card.name,
        description: card.summary,
        parameters: card.parameters,
    };
    Chat {
        messages: chat.messages.into_iter().map(message).collect(),
        tools: chat.tools.into_iter().map(tool).collect(),
        must_call: chat.must_call,
        frame: [frame.open, frame.middle, frame.close],
    }
}

/// Writes prompts as the model wants them; and what is wrong with its template, if something is that matters.
fn renderer(info: &ModelInfo) -> (Renderer, Option<PromptError>) {
    let dialect = prompts::detect(info.chat_template.as_deref(), &info.architecture);
    let (template, warning) = Template::load(info.chat_template.as_deref(), &info.bos, &info.eos);
    // Where messages are sent no template is used.
    let warning = warning.filter(|_| !dialect.takes_messages());
    (Renderer::new(template, dialect), warning)
}

/// Pieces as the engine takes them; the rooms below do not know each other, so the daemon converts.
pub fn pieces(pieces: Vec<prompts::Piece>) -> Vec<Piece> {
    pieces
        .into_iter()
        .map(|p| Piece {
            text: p.text,
            special: p.special,
        })
        .collect()
}

/// Pieces as one text, to be counted.
pub fn joined(parts: Vec<prompts::Piece>) -> Piece {
    let text = parts.into_iter().map(|p| p.text).collect();
    Piece { text, special: true }
}

/// An opening as the engine takes it.
fn opening(opening: crate::agent::Opening) -> Opening {
    Opening {
        text: opening.text,
        prior: opening.prior,
        grammar: Some(opening.grammar),
    }
}

/// What comes of words that somebody may have said to the end.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Foreseen {
    /// They are, completely, what a tool is asked with, and nobody has to think about them.
    Whole,
    /// The model has read them.
    Read,
    /// There was nothing to be done before they are surely all.
    Nothing,
}

/// Recognises speech, within its time: that of the limits at most, and less where little was said and the recogniser is here.
///
/// # Errors
/// What keeps the recogniser from it.
pub async fn transcribe(stt: &dyn Stt, limits: &Limits, speech: &Speech) -> Result<Transcript, EngineError> {
    recognise(stt, limits, speech, |_| None).await
}

/// The same of what somebody has not finished saying: one look, however doubtful. To look again takes a second and more of half
/// a word, and the recogniser is to be free when they pause.
///
/// # Errors
/// As `transcribe`.
pub async fn draft(stt: &dyn Stt, limits: &Limits, speech: &Speech) -> Result<Transcript, EngineError> {
    recognise(stt, limits, speech, |samples| {
        Some(stt::window(samples, stt::MARGIN))
    })
    .await
}

async fn recognise(
    stt: &dyn Stt,
    limits: &Limits,
    speech: &Speech,
    window: impl Fn(usize) -> Option<u32>,
) -> Result<Transcript, EngineError> {
    let Some(voiced) = speech.voiced() else {
        return Ok(Transcript::default());
    };
    let request = Transcribe {
        samples: voiced.to_vec(),
        language: limits.language.clone(),
        prompt: limits.bias.clone(),
        names: limits.names.all().to_vec(),
        audio_ctx: window(voiced.len()),
    };
    let time = stt.patience(voiced.len()).min(limits.transcribe);
    bounded(limits.transcribe, stt.load()).await?;
    bounded(time, stt.transcribe(request, &mut |_| {})).await
}

/// Where the static prefix ends, and the tools and calls that other conversations go on with as well; nothing where there are none.
fn again(prefix: usize, found: &prompts::Found) -> Vec<u32> {
    let Some(first) = found.stretches.first().filter(|_| found.begins) else {
        return Vec::new();
    };
    let mut behind = first.start;
    // Those of later messages stand apart.
    let stretches = found.stretches.iter().map_while(|stretch| {
        let follows = stretch.start == behind;
        behind = stretch.end;
        follows.then_some(stretch.end)
    });
    let ends = std::iter::once(prefix).chain(stretches);
    ends.filter_map(|end| u32::try_from(end).ok()).collect()
}

fn hash(prefix: &[Piece]) -> u64 {
    let mut hasher = DefaultHasher::new();
    prefix.hash(&mut hasher);
    hasher.finish()
}

async fn bounded<T>(
    limit: Duration,
    work: impl Future<Output = Result<T, EngineError>>,
) -> Result<T, EngineError> {
    tokio::time::timeout(limit, work)
        .await
        .unwrap_or(Err(EngineError::TimedOut(limit)))
}
