//! How the daemon is: the shape of `tiro status --json`.

use std::{sync::Arc, time::Duration};

use models::{
    EngineError,
    llm::{EngineStats, Llm, ModelInfo, Prepared},
    stt::{Stt, SttInfo},
};
use serde::{Deserialize, Serialize};

use crate::{
    hotkey::Reach,
    report::{Savings, Tokens},
};

/// The engines of a daemon, asked without waiting for a turn.
pub struct Engines {
    /// Decides.
    pub llm: Arc<dyn Llm>,
    /// Hears.
    pub stt: Arc<dyn Stt>,
}

/// Longest time for an engine to start, load and say what it runs on.
pub const ENGINE_TIME: Duration = Duration::from_secs(60);

/// An engine that was asked what it runs on.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Examined<I> {
    /// What it says, or why it does not.
    pub info: Result<I, EngineError>,
    /// Its resident memory once it is loaded, bytes.
    pub rss: u64,
}

/// Both engines, loaded: the shape of `Engines` on the bus.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Loaded {
    /// Decides.
    pub llm: Examined<ModelInfo>,
    /// Hears.
    pub stt: Examined<SttInfo>,
}

impl<I> Examined<I> {
    /// Loads an engine, within [`ENGINE_TIME`].
    pub async fn of(
        info: impl Future<Output = Result<I, EngineError>>,
        stats: impl FnOnce() -> EngineStats,
    ) -> Examined<I> {
        let info = tokio::time::timeout(ENGINE_TIME, info).await;
        Examined {
            info: info
                .unwrap_or(Err(EngineError::TimedOut(ENGINE_TIME)))
                .map_err(told),
            rss: stats().rss,
        }
    }
}

impl Loaded {
    /// Loads both.
    pub async fn of(engines: &Engines) -> Loaded {
        let Engines { llm, stt } = engines;
        let (llm, stt) = tokio::join!(
            Examined::of(llm.info(), || llm.stats()),
            Examined::of(stt.info(), || stt.stats()),
        );
        Loaded { llm, stt }
    }
}

/// What is said of a server never crosses a socket as such, but its words may.
fn told(error: EngineError) -> EngineError {
    match error {
        EngineError::Server(why) | EngineError::TooLong(why) => EngineError::Refused(why),
        other => other,
    }
}

/// How the daemon is.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Status {
    /// `off` without a daemon; else `idle`, `listening`, `transcribing`, `thinking`, `confirming`, `acting`, `speaking`, and `muted` when
    /// nothing else goes on and the microphone is.
    pub state: String,
    /// Process id; 0 without a daemon.
    pub pid: u32,
    /// Seconds since it started.
    pub uptime_s: u64,
    /// Resident memory of the daemon itself, bytes.
    pub rss: u64,
    /// Requests that wait for the one that is running.
    pub waiting: usize,
    /// Turns since the start.
    pub turns: u64,
    /// Tokens over all turns.
    pub tokens: Tokens,
    /// What lazy loading of tools saved over all turns.
    #[serde(default)]
    pub savings: Savings,
    /// Tools that were found and are loaded now.
    #[serde(default)]
    pub loaded: Vec<String>,
    /// The loaded model's name and what it runs on; empty until it is loaded.
    pub model: String,
    /// What the model runs on.
    pub device: String,
    /// The server that the model is on, where it is on none of this machine's processes: `https://host:port`.
    #[serde(default)]
    pub server: Option<String>,
    /// How the static prefix came into the KV cache; nothing until the daemon is ready.
    pub prefix: Option<Prepared>,
    /// Whether the engine holds all that was said so far: the next turn evaluates nothing but new words.
    pub warm: bool,
    /// Whether the person muted the microphone.
    #[serde(default)]
    pub muted: bool,
    /// What the daemon noticed that the person should know, as sentences.
    pub problems: Vec<String>,
    /// How the key of push to talk reaches the daemon: `way` is `portal`, `x11`, `none` where there is no way, or `off`.
    #[serde(default)]
    pub hotkey: Reach,
    /// The process that decides.
    pub llm: EngineStats,
    /// The process that hears.
    pub stt: EngineStats,
}

impl Status {
    /// What the engines say of themselves.
    pub fn of(engines: &Engines, info: Option<&ModelInfo>) -> Status {
        Status {
            rss: own_rss(),
            model: info.map(|i| i.name.clone()).unwrap_or_default(),
            device: info.map(|i| i.device.clone()).unwrap_or_default(),
            server: engines.llm.server().map(str::to_owned),
            llm: engines.llm.stats(),
            stt: engines.stt.stats(),
            ..Status::default()
        }
    }

    /// Without a daemon.
    pub fn off() -> Status {
        Status {
            state: "off".to_owned(),
            ..Status::default()
        }
    }

    /// For people.
    pub fn lines(&self) -> String {
        if self.pid == 0 {
            return "The daemon is not running; start it with `tiro daemon`.".to_owned();
        }
        let engine = |stats: &EngineStats| match stats.pid {
            Some(pid) => {
                format!(
                    "process {pid}, {} MiB (at most {} MiB)",
                    mib(stats.rss),
                    mib(stats.peak_rss)
                )
            }
            None => "not loaded".to_owned(),
        };
        let model = if self.model.is_empty() {
            String::new()
        } else {
            format!(" {} on {}", self.model, self.device)
        };
        let llm = match &self.server {
            Some(server) if self.model.is_empty() => format!(" on the server {server}"),
            Some(server) => format!(" {} on the server {server}", self.model),
            None => format!("{model}: {}, {} restarts", engine(&self.llm), self.llm.restarts),
        };
        let mut savings = match self.savings.eager {
            0 => String::new(),
            _ => format!("\ntools: {}", self.savings.summary()),
        };
        if !self.loaded.is_empty() {
            savings.push_str(&format!("\nfound: {}", self.loaded.join(", ")));
        }
        let muted = if self.muted {
            "\nthe microphone is muted"
        } else {
            ""
        };
        let problems: String = self.problems.iter().map(|text| format!("\n! {text}")).collect();
        format!(
            "{}, process {}, up {} s, {} MiB, {} turns\nllm{llm}\nstt: {}, {} restarts\n\
             tokens: {} of {} prompt tokens cached, {} written{savings}{muted}{problems}",
            self.state,
            self.pid,
            self.uptime_s,
            mib(self.rss),
            self.turns,
            engine(&self.stt),
            self.stt.restarts,
            self.tokens.cached,
            self.tokens.prompt,
            self.tokens.generated
        )
    }
}

fn mib(bytes: u64) -> u64 {
    bytes / (1024 * 1024)
}

/// Resident memory of this process in bytes; 0 where the system does not say.
fn own_rss() -> u64 {
    let pages = std::fs::read_to_string("/proc/self/statm").ok();
    let pages = pages.and_then(|s| s.split(' ').nth(1)?.parse::<u64>().ok());
    pages.unwrap_or_default() * rustix::param::page_size() as u64
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_model_on_a_server_is_no_process() {
        let status = Status {
            pid: 1,
            state: "idle".into(),
            model: "qwen3".into(),
            device: "http://tower:8080".into(),
            server: Some("http://tower:8080".into()),
            ..Status::default()
        };
        let lines = status.lines();
        assert!(
            lines.contains("\nllm qwen3 on the server http://tower:8080\nstt: not loaded"),
            "{lines}"
        );
        let unknown = Status {
            model: String::new(),
            ..status.clone()
        };
        assert!(
            unknown
                .lines()
                .contains("\nllm on the server http://tower:8080\n")
        );
        let local = Status {
            server: None,
            ..status
        };
        assert!(
            local.lines().contains(": not loaded, 0 restarts\nstt"),
            "{}",
            local.lines()
        );
    }
}
