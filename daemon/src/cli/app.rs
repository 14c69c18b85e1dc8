//! What the verbs share: paths, config, clock, and the room made of them.

use std::{path::PathBuf, sync::Arc, time::Duration};

use models::{
    engine::{Limits as EngineLimits, LlmConfig, LlmEngine, SttConfig, SttEngine},
    llm::Llm,
    protocol::KvType,
    reader::{self, Reader},
    registry::Registry,
    stt::Stt,
};
use prompts::Placement;
use tools::{Journal, Retention, discover::Reads, system::desktop::Desk};

use super::log;
use crate::{
    agent::{Answer, IfUnsure, SPLIT_SCORE, Settings, toolbox},
    config::{self, Config, Discovered, Kv, Loading, Period, SttBackend, Weights},
    far,
    paths::Paths,
    room::{Clock, Expecting, Limits, Parts, Room},
    second::Second,
    speak::Speaker,
    trace::Trace,
    wyoming,
};

/// Paths, config and clock of this run.
pub struct App {
    /// Where things are.
    pub paths: Paths,
    /// What the person chose.
    pub config: Config,
    /// The time.
    pub clock: Clock,
    /// Whether this process is the daemon.
    pub daemon: bool,
    /// Whether each step is shown.
    pub trace: bool,
    /// `--now` as given, for a daemon that has to pin it itself.
    pub now: Option<String>,
}

impl App {
    /// Reads the config.
    ///
    /// # Errors
    /// What is wrong with the config, the folders or `--now`.
    pub fn load(now: Option<&str>, trace: bool) -> anyhow::Result<App> {
        let paths = Paths::from_env()?;
        let config = Config::load(&paths.config)?;
        let (window, answer, budget) = (config.llm.context, config.llm.max_tokens, config.prompt.budget);
        anyhow::ensure!(
            answer < window && (budget == 0 || answer < budget),
            "llm.max_tokens is {answer}, which leaves no room for the question in llm.context ({window}) and \
             prompt.budget ({budget})"
        );
        anyhow::ensure!(
            config.tools.rules.iter().all(|rule| !rule.deny.is_empty()),
            "a rule below [[tools.rules]] has no deny, so it would keep back nothing: write deny = [\"mail.*\"], say"
        );
        let clock = match now {
            Some(now) => Clock::pinned(now)?,
            None => Clock::Real,
        };
        Ok(App {
            paths,
            config,
            clock,
            daemon: false,
            trace,
            now: now.map(str::to_owned),
        })
    }

    /// The language model; started when it is first asked.
    ///
    /// # Errors
    /// When the configured model is neither an id nor a path, or the configured server cannot be one.
    pub fn llm(&self) -> anyhow::Result<Arc<dyn Llm>> {
        if far::is_chosen(&self.config) {
            return Ok(Arc::new(far::server(&self.config)?));
        }
        let llm = &self.config.llm;
        let usual = LlmConfig::new(self.weights(&llm.model)?);
        let config = LlmConfig {
            engines_dir: self.config.engines.dir.path(),
            context: llm.context,
            threads: some(llm.threads),
            gpu_layers: u32::try_from(llm.gpu_layers).ok(),
            kv: match llm.kv {
                Kv::F16 => KvType::F16,
                Kv::Q8 => KvType::Q8_0,
            },
            snapshots: Some(self.paths.snapshots.clone()),
            limits: limits(usual.limits, llm.idle_unload, llm.timeout),
            ..usual
        };
        Ok(Arc::new(LlmEngine::new(config)))
    }

    /// The recogniser; started when it is first asked.
    ///
    /// # Errors
    /// When the configured model is neither an id nor a path, or the configured server cannot be one.
    pub fn stt(&self) -> anyhow::Result<Arc<dyn Stt>> {
        let stt = &self.config.stt;
        if stt.backend == SttBackend::Wyoming {
            return Ok(Arc::new(wyoming::recogniser(&self.config)?));
        }
        let usual = SttConfig::new(self.weights(&stt.model)?);
        let config = SttConfig {
            engines_dir: self.config.engines.dir.path(),
            threads: some(stt.threads),
            limits: limits(usual.limits, stt.idle_unload, stt.timeout),
            ..usual
        };
        Ok(Arc::new(SttEngine::new(config)))
    }

    /// The file of a configured model.
    fn weights(&self, weights: &Weights) -> anyhow::Result<PathBuf> {
        match weights.file() {
            Some(path) => Ok(path),
            None => Ok(models::registry::resolve(weights.as_str(), &self.paths.models)?),
        }
    }

    /// What gives a second opinion on which tool is meant, where the person wants that; its model may be pulled at any time.
    pub fn reader(&self) -> Option<Arc<dyn Reads>> {
        let registry = Registry::builtin();
        let model = registry
            .find(reader::MODEL)
            .ok()
            .filter(|_| self.config.tools.reader)?;
        Some(Arc::new(Second(Reader::at(model.path(&self.paths.models)))))
    }

    /// The knobs of the agent.
    pub fn settings(&self) -> Settings {
        let config = &self.config;
        Settings {
            loading: toolbox::Loading {
                lazy: config.tools.loading == Loading::Lazy,
                core: config.tools.core.clone(),
                deferred: config.tools.deferred.clone(),
                storage: match config.tools.storage {
                    config::Storage::Session => toolbox::Storage::Session {
                        ttl: config.tools.ttl.unless_zero().map(|ttl| ttl.as_secs()),
                    },
                    config::Storage::Context => toolbox::Storage::Context,
                },
                tokens: some(config.tools.loaded_tokens),
                rules: config.tools.rules(),
                searches: config.tools.searches as usize,
            },
            placement: match config.prompt.discovered {
                Discovered::Tail => Placement::Tail,
                Discovered::System => Placement::System,
            },
            catalog_summaries: config.prompt.catalog_summaries,
            catalog_tokens: Some(config.prompt.catalog_tokens).filter(|tokens| *tokens > 0),
            pre_discover: config.tools.pre_discover,
            top_k: config.tools.top_k as usize,
            show_score: config.tools.show_score as f32,
            act_score: config.tools.act_score as f32,
            // Whoever wants Tiro to be surer before it acts wants that of each part, too.
            split_score: (config.tools.act_score as f32).max(SPLIT_SCORE),
            rank_weight: config.tools.rank_weight as f32,
            max_calls: config.tools.max_calls as usize,
            max_discover: config.tools.max_discover as usize,
            unsure: match config.agent.unsure {
                config::Unsure::Ask => IfUnsure::Ask,
                config::Unsure::Model => IfUnsure::Model,
            },
            reflex: config.agent.reflex,
            answer: match config.agent.answer {
                config::Answer::Tool => Answer::Tool,
                config::Answer::Model => Answer::Model,
            },
        }
    }

    /// What a room is made of, besides its engines.
    pub fn parts(&self) -> Parts {
        let config = &self.config;
        Parts {
            tools: tools::ALL,
            reader: self.reader(),
            dirs: config.dirs(&self.paths),
            clock: self.clock.clone(),
            search: tools::Search {
                top_k: config.tools.top_k as usize,
                min_score: config.tools.min_score as f32,
                auto_load: config.tools.auto_load,
                ..tools::Search::default()
            },
            daemon: self.daemon,
            work: config.calendar.work(),
            ring: crate::ring::Settings {
                sound: config.ring.sound,
                volume: config.ring.volume as f32,
                length: config.ring.length.get(),
                snooze: config.ring.snooze.get(),
                again: config.ring.again.get(),
                times: config.ring.times,
                bus: None,
                speaker: None,
            },
            listen: config.listen.settings(),
            wake: config.wake.settings(),
            speak: Speaker::of(config.speech.settings()),
            desk: Desk::here(),
            reach: config.reach(),
            journal: self.journal(),
            mail: config.mail(&self.paths),
            trace: config
                .privacy
                .trace
                .then(|| Trace::new(self.paths.state.join("trace"), config.privacy.retention.get())),
            settings: self.settings(),
            limits: Limits {
                budget: match config.prompt.budget {
                    0 => u32::MAX,
                    budget => budget.saturating_sub(config.llm.max_tokens),
                },
                max_tokens: config.llm.max_tokens,
                temperature: config.llm.temperature as f32,
                generate: config.llm.timeout.get(),
                transcribe: config.stt.timeout.get(),
                patience: config.consent.timeout.get(),
                language: config.stt.language.known().map(str::to_owned),
                bias: Some(config.stt.prompt.clone()).filter(|p| !p.is_empty()),
                names: match config.stt.names {
                    true => Expecting::some(),
                    false => Expecting::none(),
                },
                read_ahead: config.llm.read_ahead.then_some(crate::run::SETTLED),
            },
        }
    }

    /// Where every write is written down, so that it can be undone.
    pub fn journal(&self) -> Journal {
        let keep = &self.config.journal;
        let day = Duration::from_secs(86_400);
        let retention = Retention {
            days: u32::try_from(keep.retention.get().as_secs().div_ceil(day.as_secs())).unwrap_or(u32::MAX),
            bytes: u64::from(keep.max_mib) << 20,
        };
        Journal::at(&self.paths.state, retention).on(Desk::here())
    }

    /// A room with engines of its own.
    ///
    /// # Errors
    /// As `llm` and `stt`.
    pub fn room(&self) -> anyhow::Result<Room> {
        Ok(Room::new(self.llm()?, self.stt()?, self.parts()))
    }
}

/// Logs to stderr: warnings, with `-vv` and in the journal more. `TIRO_LOG` takes a tracing filter.
pub fn log(verbose: u8) {
    let journal = log::to_the_journal();
    let default = match verbose {
        0 | 1 if !journal => "warn",
        0 | 1 => "info",
        2 => "info",
        _ => "debug",
    };
    let filter = std::env::var("TIRO_LOG").unwrap_or_else(|_| default.to_owned());
    let filter = tracing_subscriber::EnvFilter::try_new(filter)
        .unwrap_or_else(|_| tracing_subscriber::EnvFilter::new(default));
    // What the first traces is passwords and mail; the second calls it an error when the microphone is closed.
    let quiet = ["async_imap=info", "pulseaudio::client=off"];
    let quiet = quiet.iter().filter_map(|directive| directive.parse().ok());
    let filter = quiet.fold(filter, tracing_subscriber::EnvFilter::add_directive);
    let log = tracing_subscriber::fmt()
        .with_env_filter(filter)
        .with_writer(std::io::stderr);
    // Set twice only by tests that run verbs in one process.
    let _ = match journal {
        true => log.event_format(log::ForTheJournal).try_init(),
        false => log.try_init(),
    };
}

/// 0 in the config leaves the choice to the engine.
fn some(count: u32) -> Option<u32> {
    Some(count).filter(|n| *n > 0)
}

/// A period of 0 never unloads; ten years are as good as never and cannot overflow a clock.
fn limits(usual: EngineLimits, idle: Period, request: Period) -> EngineLimits {
    let idle = idle
        .unless_zero()
        .unwrap_or(Duration::from_secs(10 * 365 * 24 * 3600));
    EngineLimits {
        idle,
        request: request.get(),
        ..usual
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The config's numbers stand in its file for people to read; what was measured stands beside the index.
    #[test]
    fn the_defaults_of_the_config_are_what_was_measured() {
        let tools = Config::default().tools;
        let usual = Settings::default();
        assert_eq!(tools.min_score as f32, ::tools::discover::MIN_SCORE);
        assert_eq!(tools.show_score as f32, usual.show_score);
        assert_eq!(tools.act_score as f32, usual.act_score);
        assert_eq!(tools.rank_weight as f32, usual.rank_weight);
        assert_eq!(tools.top_k as usize, usual.top_k);
        assert_eq!(tools.loaded_tokens, usual.loading.tokens.unwrap_or(0));
        assert_eq!(tools.searches as usize, usual.loading.searches);
        assert_eq!(
            usual.loading.storage,
            toolbox::Storage::Session {
                ttl: Some(tools.ttl.get().as_secs())
            }
        );
    }
}
