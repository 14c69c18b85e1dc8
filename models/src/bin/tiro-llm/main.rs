//! tiro-llm: the language model engine; links llama-cpp-2 and nothing that knows audio.

use std::{io::Write, path::PathBuf, process::ExitCode};

use llama_cpp_2::{LogOptions, llama_backend::LlamaBackend, send_logs_to_tracing};
use models::{
    EngineError, nativelog,
    protocol::{LlmAnswer, LlmDialect, LlmLoad, LlmRequest},
    sandbox,
    serve::{self, Inbox, Job, Reply},
};

mod weights;
mod window;
mod session;
mod again;
mod aside;
mod tokens;
mod choose;

/// Where the engine works.
struct Place {
    /// Its walls, for `doctor`.
    sandbox: String,
    /// The folder for states of the KV cache.
    snapshots: Option<PathBuf>,
}

fn main() -> ExitCode {
    match run() {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            drop(writeln!(std::io::stderr(), "tiro-llm: {error}"));
            ExitCode::from(2)
        }
    }
}

fn run() -> Result<(), EngineError> {
    nativelog::install();
    // Before any thread is started and any byte is read: later threads inherit the walls.
    let room = serve::room(std::env::args_os().skip(1))?;
    let sandbox = sandbox::confine(&room);
    let place = Place {
        sandbox,
        snapshots: room.write.into_iter().next(),
    };
    let inbox = Inbox::open()?;
    send_logs_to_tracing(LogOptions::default());
    let backend = LlamaBackend::init().map_err(|e| EngineError::Protocol(e.to_string()))?;
    let mut job = inbox.next();
    while let Some(Job { request, reply }) = job {
        job = match request {
            LlmRequest::Load(load) => with_model(&backend, load, reply, &inbox, &place),
            LlmRequest::Unload => answer(&reply, Ok(LlmAnswer::Unloaded), &inbox),
            LlmRequest::Stats => answer(&reply, Ok(LlmAnswer::Report(Default::default())), &inbox),
            _ => answer(
                &reply,
                Err(EngineError::Protocol("no model is loaded".into())),
                &inbox,
            ),
        };
    }
    Ok(())
}

/// Loads, and works with the model until it must go. The context borrows the model, hence a scope for each model:
/// gives the first job that needs another one.
fn with_model(
    backend: &LlamaBackend,
    load: LlmLoad,
    reply: Reply<LlmDialect>,
    inbox: &Inbox<LlmDialect>,
    place: &Place,
) -> Option<Job<LlmDialect>> {
    let model = match weights::load(backend, &load) {
        Ok(model) => model,
        Err(error) => return answer(&reply, Err(error), inbox),
    };
    let mut session = match session::Session::new(backend, &model, &load, place) {
        Ok(session) => session,
        Err(error) => return answer(&reply, Err(error), inbox),
    };
    reply.done(Ok(LlmAnswer::Loaded(session.info.clone())));
    loop {
        let Job { request, reply } = inbox.next()?;
        if reply.cancelled() {
            reply.done(Err(EngineError::Cancelled));
            continue;
        }
        let answer = match request {
            LlmRequest::Load(again) if again == load => Ok(LlmAnswer::Loaded(session.info.clone())),
            request @ LlmRequest::Load(_) => return Some(Job { request, reply }),
            LlmRequest::Unload => {
                drop(session);
                reply.done(Ok(LlmAnswer::Unloaded));
                return inbox.next();
            }
            LlmRequest::Count(pieces) => Ok(LlmAnswer::Counted(session.count(&pieces))),
            LlmRequest::Prefill(prefix) => session.prefill(&prefix, &|| reply.cancelled()),
            LlmRequest::Generate(request) => session
                .generate(&request, &|| reply.cancelled(), &mut |text| reply.part(text))
                .map(LlmAnswer::Generated),
            LlmRequest::Save { path } => session.save(&path).map(LlmAnswer::Saved),
            LlmRequest::Restore { path, prefix } => session.restore(&path, &prefix).map(LlmAnswer::Restored),
            LlmRequest::Stats => Ok(LlmAnswer::Report(session.report())),
        };
        reply.done(answer);
        // Nobody waits for that.
        session.settle();
    }
}

fn answer(
    reply: &Reply<LlmDialect>,
    answer: Result<LlmAnswer, EngineError>,
    inbox: &Inbox<LlmDialect>,
) -> Option<Job<LlmDialect>> {
    reply.done(answer);
    inbox.next()
}
