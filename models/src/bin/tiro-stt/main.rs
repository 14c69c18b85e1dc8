//! tiro-stt: the recogniser engine; links whisper-rs and nothing else native.

use std::{io::Write, process::ExitCode};

use models::{
    EngineError, nativelog,
    protocol::{SttAnswer, SttDialect, SttLoad, SttRequest},
    sandbox,
    serve::{self, Inbox, Job},
};

use crate::recognise::Recogniser;

mod recognise;

fn main() -> ExitCode {
    match run() {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            drop(writeln!(std::io::stderr(), "tiro-stt: {error}"));
            ExitCode::from(2)
        }
    }
}

fn run() -> Result<(), EngineError> {
    nativelog::install();
    // Before any thread is started and any byte is read: later threads inherit the walls.
    let sandbox = sandbox::confine(&serve::room(std::env::args_os().skip(1))?);
    let inbox = Inbox::<SttDialect>::open()?;
    whisper_rs::install_logging_hooks();
    let mut loaded: Option<(SttLoad, Recogniser)> = None;
    while let Some(Job { request, reply }) = inbox.next() {
        if reply.cancelled() {
            reply.done(Err(EngineError::Cancelled));
            continue;
        }
        let answer = match (request, &mut loaded) {
            (SttRequest::Load(load), Some((have, recogniser))) if load == *have => {
                Ok(SttAnswer::Loaded(recogniser.info.clone(), 0.0))
            }
            (SttRequest::Load(load), _) => {
                // The old model goes before the new one comes: both may not fit.
                loaded = None;
                Recogniser::load(&load, &sandbox).map(|(recogniser, ms)| {
                    let info = recogniser.info.clone();
                    loaded = Some((load, recogniser));
                    SttAnswer::Loaded(info, ms)
                })
            }
            (SttRequest::Transcribe(request), Some((_, recogniser))) => {
                recogniser.transcribe(&request, &reply).map(SttAnswer::Transcript)
            }
            (SttRequest::Transcribe(_), None) => Err(EngineError::Protocol("no model is loaded".into())),
            (SttRequest::Stats, loaded) => Ok(SttAnswer::Report(
                loaded.as_ref().map_or(0, |(_, recogniser)| recogniser.info.bytes),
            )),
            (SttRequest::Unload, _) => {
                loaded = None;
                Ok(SttAnswer::Unloaded)
            }
        };
        reply.done(answer);
    }
    Ok(())
}
