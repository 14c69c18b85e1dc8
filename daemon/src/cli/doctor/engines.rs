//! What the engines run on. Only a model that is loaded can say it; where a daemon runs it is the daemon's, since a second one
//! beside it would take its memory twice.

use std::time::Duration;

use models::EngineError;

use super::{BUS_TIME, mib, model_server, report::Section, speech_server};
use crate::{
    bus::{self, Tiro1Proxy},
    cli::app::App,
    config::SttBackend,
    far,
    status::{ENGINE_TIME, Examined, Loaded},
};

/// Time for the daemon's answer to arrive, besides what its engines take.
const MARGIN: Duration = Duration::from_secs(5);

/// Loads both engines and says what they run on.
pub async fn engines(app: &App) -> Section {
    let mut section = Section::new("engines");
    let (of_llm, of_stt) = match of_the_daemon(app).await {
        Some(Loaded { llm, stt }) => (Some(llm), Some(stt)),
        None => (None, None),
    };
    match app.llm() {
        _ if far::is_chosen(&app.config) => model_server::examine(&mut section, &app.config).await,
        Ok(llm) => {
            let examined = match of_llm {
                Some(examined) => examined,
                None => Examined::of(llm.info(), || llm.stats()).await,
            };
            engine(&mut section, ["llm", "llm sandbox"], examined, |i, rss| {
                let what = format!(
                    "{} ({}, window of {} tokens) on {}",
                    i.name, i.architecture, i.context, i.device
                );
                let size = mib(i.bytes);
                (
                    format!("{what}; {rss} resident, of which the model is {size}."),
                    i.sandbox,
                )
            });
        }
        Err(error) => section.fail("llm", format!("{error:#}"), "See models above."),
    }
    match app.stt() {
        _ if app.config.stt.backend == SttBackend::Wyoming => {
            speech_server::examine(&mut section, &app.config).await;
        }
        Ok(stt) => {
            let examined = match of_stt {
                Some(examined) => examined,
                None => Examined::of(stt.info(), || stt.stats()).await,
            };
            engine(&mut section, ["stt", "stt sandbox"], examined, |i, rss| {
                let what = format!("whisper {} on {}", i.name, i.device);
                let size = mib(i.bytes);
                (
                    format!("{what}; {rss} resident, of which the model is {size}."),
                    i.sandbox,
                )
            });
        }
        Err(error) => section.fail("stt", format!("{error:#}"), "See models above."),
    }
    section
}

/// What the daemon's engines say. Nothing where none runs, and where one runs that cannot say it, as one of an earlier version:
/// then engines of our own are asked.
async fn of_the_daemon(app: &App) -> Option<Loaded> {
    let socket = app.paths.socket().ok()?;
    let connection = tokio::time::timeout(BUS_TIME, bus::client(&socket)).await;
    let connection = connection.ok()?.ok()??;
    let proxy = Tiro1Proxy::new(&connection).await.ok()?;
    let answer = tokio::time::timeout(ENGINE_TIME + MARGIN, proxy.engines()).await;
    serde_json::from_str(&answer.ok()?.ok()?).ok()
}

fn engine<I>(
    section: &mut Section,
    [name, confined]: [&'static str; 2],
    Examined { info, rss }: Examined<I>,
    words: impl FnOnce(I, String) -> (String, String),
) {
    let error = match info {
        Ok(info) => {
            let (says, sandbox) = words(info, mib(rss));
            section.ok(name, says);
            return match sandbox.starts_with("none") {
                true => section.warn(
                    confined,
                    format!("tiro-{name} runs without one ({sandbox})."),
                    "A kernel with Landlock (Linux 5.13 or later) confines it.",
                ),
                false => section.ok(confined, format!("tiro-{name} is confined: {sandbox}.")),
            };
        }
        Err(EngineError::TimedOut(limit)) => {
            return section.fail(
                name,
                format!("tiro-{name} did not start within {} s.", limit.as_secs()),
                "Close other programs, or choose a smaller model.",
            );
        }
        Err(error) => error,
    };
    let todo = match &error {
        EngineError::NoEngine { .. } => "Build the engines with `cargo xtask setup`.",
        EngineError::NoModel { .. } => "Run `tiro models pull`.",
        EngineError::BadModel { .. } => "Run `tiro models verify`, or choose another model.",
        EngineError::TooLittleMemory { .. } => "Choose a smaller model, or a smaller llm.context.",
        _ => "Run it again with -vv to see the engine's own words.",
    };
    section.fail(name, format!("{error}."), todo);
}
