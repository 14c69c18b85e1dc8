//! What is said into the microphone, for as long as the person wants to try.

use std::{
    sync::mpsc::RecvTimeoutError,
    thread,
    time::{Duration, Instant},
};

use anyhow::{Context as _, bail, ensure};
use prompts::words;
use tokio::sync::{mpsc, oneshot};

use super::{Ear, TestArgs};
use crate::{
    cli::{app::App, say},
    listen::{
        capture::{Block, find},
        pipe::pipe,
        resample::Resampler,
        wake::Watch,
    },
    reply::say_aside,
    run::is_muted,
};

/// How long the microphone may take to open.
const OPENING: Duration = Duration::from_secs(5);
/// How long an open microphone may deliver nothing.
const SILENT: Duration = Duration::from_secs(3);
/// Blocks that may wait while the recogniser works; ten seconds at the least.
const BLOCKS: usize = 1024;

/// Listens, and shows each thing that is said. Whether a phrase was among them.
pub(super) async fn run(app: &App, ear: &Ear, args: &TestArgs) -> anyhow::Result<bool> {
    ensure!(!is_muted(&app.paths.state), "{}", words::muted());
    // Loaded first, so that the first word does not wait for it.
    ear.stt.info().await?;
    let mut sound = open(app.config.listen.device.clone()).await?;
    say_aside(&format!(
        "Say {}. It takes a score of {:.2}. Ctrl-C ends it.",
        ear.names().join(" or "),
        ear.phrases.threshold()
    ));
    let mut watch = Watch::default();
    let (mut heard, mut clips) = (false, Vec::new());
    let end = tokio::time::sleep(Duration::from_secs(args.seconds.into()));
    let interrupted = tokio::signal::ctrl_c();
    tokio::pin!(end, interrupted);
    loop {
        let block = tokio::select! {
            block = sound.recv() => block.context("The microphone went away")?,
            () = &mut end => return Ok(heard),
            _ = &mut interrupted => return Ok(heard),
        };
        let block = block?;
        watch.hear(&block, |clip| clips.push(clip));
        for clip in clips.drain(..) {
            let said = ear.judge(&clip, &mut watch).await?;
            heard |= said.heard;
            say(&match args.json {
                true => serde_json::to_string(&said)?,
                false => said.line(),
            })?;
        }
    }
}

/// The sound of the microphone at 16 kHz. A thread has it that nobody waits for, because a sound server may hang; it
/// closes when the receiver is gone.
async fn open(device: String) -> anyhow::Result<mpsc::Receiver<anyhow::Result<Vec<f32>>>> {
    let (give, sound) = mpsc::channel(BLOCKS);
    let (tell, told) = oneshot::channel();
    thread::Builder::new()
        .name("microphone".to_owned())
        .spawn(move || {
            let opened = find(&device).and_then(|m| {
                let (writer, reader) = pipe(BLOCKS, m.rate());
                Ok((m.open(writer)?, reader, Resampler::new(m.rate())?))
            });
            let (stream, mut blocks, mut resampler) = match opened {
                Ok(opened) => opened,
                Err(error) => {
                    let _ = tell.send(Err(error));
                    return;
                }
            };
            let _ = tell.send(Ok(()));
            let mut last = Instant::now();
            let failed = loop {
                let block = match blocks.recv_timeout(Duration::from_millis(100)) {
                    Ok(Block::Sound(block)) => block,
                    Ok(Block::Lost(why)) => break format!("The microphone went away: {why}."),
                    Err(RecvTimeoutError::Disconnected) => break "The microphone went away.".to_owned(),
                    Err(RecvTimeoutError::Timeout) if last.elapsed() > SILENT => {
                        break "The microphone is open but no sound comes from it.".to_owned();
                    }
                    Err(RecvTimeoutError::Timeout) if give.is_closed() => return,
                    Err(RecvTimeoutError::Timeout) => continue,
                };
                last = Instant::now();
                let mut samples = Vec::new();
                if let Err(error) = resampler.push(&block, &mut samples) {
                    break format!("{error:#}");
                }
                if give.blocking_send(Ok(samples)).is_err() {
                    return;
                }
            };
            drop(stream);
            let _ = give.blocking_send(Err(anyhow::anyhow!(failed)));
        })
        .context("I cannot listen")?;
    match tokio::time::timeout(OPENING, told).await {
        Ok(Ok(opened)) => opened.map(|()| sound),
        Ok(Err(_)) => bail!("The microphone went away."),
        Err(_) => bail!("The sound server does not answer, so I cannot hear you."),
    }
}
