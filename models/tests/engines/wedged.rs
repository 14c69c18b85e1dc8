//! A recogniser whose worker hangs in native code while its reader answers that all is well. The engine is a double: this test
//! binary itself, which speaks the protocol of engines when a script beside the tests starts it so.

use std::{
    os::unix::fs::PermissionsExt as _,
    path::Path,
    time::{Duration, Instant},
};

use models::{
    EngineError,
    engine::{Limits, SttConfig, SttEngine},
    protocol::{SttAnswer, SttDialect, SttRequest},
    serve::Inbox,
    stt::{Stt, SttInfo, Transcribe, Transcript},
};

/// Says to a process of this test binary that it is the engine.
const ENGINE: &str = "TIRO_TEST_ENGINE";
const GIVE_UP: Duration = Duration::from_millis(600);

/// The engine, when this is it: it serves what it is asked as its language says, and looks at no `Cancel`.
#[test]
fn this_program_as_an_engine() {
    if std::env::var_os(ENGINE).is_none() {
        return;
    }
    let inbox = Inbox::<SttDialect>::open().unwrap();
    while let Some(job) = inbox.next() {
        let answer = match job.request {
            SttRequest::Load(_) => SttAnswer::Loaded(SttInfo::default(), 0.0),
            SttRequest::Transcribe(request) => {
                std::thread::sleep(match request.language.as_deref() {
                    Some("hangs") => Duration::from_secs(3600),
                    Some("slow") => GIVE_UP * 3,
                    _ => Duration::ZERO,
                });
                SttAnswer::Transcript(Transcript {
                    text: "well".to_owned(),
                    ..Transcript::default()
                })
            }
            _ => SttAnswer::Report(0),
        };
        job.reply.done(Ok(answer));
    }
}

/// An engine that is the double.
fn double(folder: &Path, request: Duration) -> SttEngine {
    let program = folder.join("tiro-stt");
    let this = std::env::current_exe().unwrap();
    let script = format!(
        "#!/bin/sh\n{ENGINE}=1 exec '{}' --exact wedged::this_program_as_an_engine --nocapture\n",
        this.display()
    );
    std::fs::write(&program, script).unwrap();
    std::fs::set_permissions(&program, std::fs::Permissions::from_mode(0o755)).unwrap();
    let mut config = SttConfig::new(program);
    config.engines_dir = Some(folder.to_owned());
    config.limits = Limits {
        start: Duration::from_secs(60),
        hang: Duration::from_secs(60),
        give_up: GIVE_UP,
        request,
        ..Limits::default()
    };
    SttEngine::new(config)
}

async fn hears(engine: &SttEngine, language: &str) -> Result<String, EngineError> {
    let request = Transcribe {
        samples: vec![0.0; 16_000],
        language: Some(language.to_owned()),
        ..Transcribe::default()
    };
    engine.transcribe(request, &mut |_| {}).await.map(|t| t.text)
}

#[tokio::test]
async fn an_engine_that_does_not_give_up_what_nobody_wants_is_killed_and_comes_back() {
    let folder = tempfile::tempdir().unwrap();
    let engine = double(folder.path(), Duration::from_secs(600));
    assert_eq!(hears(&engine, "en").await.as_deref(), Ok("well"));
    let given_up = tokio::time::timeout(Duration::from_millis(200), hears(&engine, "hangs")).await;
    assert!(given_up.is_err());
    // Who asks next waits behind it, but not for ever.
    let began = Instant::now();
    let error = hears(&engine, "en").await.unwrap_err();
    assert!(
        matches!(&error, EngineError::Crashed { how, .. } if how.contains("told to stop")),
        "{error}"
    );
    assert!(began.elapsed() < Duration::from_secs(30), "{:?}", began.elapsed());
    assert_eq!(hears(&engine, "en").await.as_deref(), Ok("well"));
    assert_eq!(engine.stats().restarts, 1);
}

#[tokio::test]
async fn a_request_that_takes_too_long_is_one_that_nobody_wants() {
    let folder = tempfile::tempdir().unwrap();
    let request = Duration::from_secs(3);
    let engine = double(folder.path(), request);
    assert_eq!(hears(&engine, "hangs").await, Err(EngineError::TimedOut(request)));
    let error = hears(&engine, "en").await.unwrap_err();
    assert!(matches!(error, EngineError::Crashed { .. }), "{error}");
    assert_eq!(hears(&engine, "en").await.as_deref(), Ok("well"));
}

#[tokio::test]
async fn what_was_given_up_behind_another_request_kills_nobody() {
    let folder = tempfile::tempdir().unwrap();
    let engine = double(folder.path(), Duration::from_secs(600));
    hears(&engine, "en").await.unwrap();
    let (slow, dropped) = tokio::join!(
        hears(&engine, "slow"),
        // After the other one was sent.
        async {
            tokio::time::sleep(Duration::from_millis(50)).await;
            tokio::time::timeout(Duration::from_millis(50), hears(&engine, "en")).await
        }
    );
    assert_eq!(slow.as_deref(), Ok("well"));
    assert!(dropped.is_err());
    assert_eq!(hears(&engine, "en").await.as_deref(), Ok("well"));
    assert_eq!(engine.stats().restarts, 0);
}
