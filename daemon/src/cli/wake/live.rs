//! What is said into the microphone, for as long as the person wants to try.

use std::{convert::Infallible, thread, time::Duration};

use anyhow::{Context as _, bail, ensure};
use prompts::words;
use tokio::sync::{mpsc, oneshot};

use super::{Ear, TestArgs};
use crate::{
    cli::{app::App, say},
    listen::{capture::find, hearing::Sounds, pipe::pipe, wake::Watch},
    reply::say_aside,
    run::is_muted,
};

/// How long the microphone may take to open.
const OPENING: Duration = Duration::from_secs(5);
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
    let end = async {
        let time = tokio::time::sleep(Duration::from_secs(args.seconds.into()));
        tokio::select! {
            () = time => {}
            _ = tokio::signal::ctrl_c() => {}
        }
    };
    until(end, ear, &mut sound, args.json).await
}

type Sound = mpsc::Receiver<anyhow::Result<Vec<f32>>>;

/// The same until this ends, which does not wait for a clip that is being recognised.
async fn until(
    end: impl Future<Output = ()>,
    ear: &Ear,
    sound: &mut Sound,
    json: bool,
) -> anyhow::Result<bool> {
    let mut heard = false;
    tokio::select! {
        failed = show(ear, sound, json, &mut heard) => match failed? {},
        () = end => Ok(heard),
    }
}

/// Shows each thing that is said.
async fn show(ear: &Ear, sound: &mut Sound, json: bool, heard: &mut bool) -> anyhow::Result<Infallible> {
    let (mut watch, mut clips) = (Watch::default(), Vec::new());
    loop {
        let block = sound.recv().await.context("The microphone went away")??;
        watch.hear(&block, |clip| clips.push(clip));
        for clip in clips.drain(..) {
            let said = ear.judge(&clip, &mut watch).await?;
            *heard |= said.heard;
            say(&match json {
                true => serde_json::to_string(&said)?,
                false => said.line(),
            })?;
        }
    }
}

/// The sound of the microphone at 16 kHz. A thread has it that nobody waits for, because a sound server may hang; it
/// closes when the receiver is gone.
async fn open(device: String) -> anyhow::Result<Sound> {
    let (give, sound) = mpsc::channel(BLOCKS);
    let (tell, told) = oneshot::channel();
    thread::Builder::new()
        .name("microphone".to_owned())
        .spawn(move || {
            let opened = find(&device).and_then(|m| {
                let (writer, reader) = pipe(BLOCKS, m.rate());
                Ok((m.open(writer)?, reader, m.rate()))
            });
            let (stream, mut blocks, rate) = match opened {
                Ok(opened) => opened,
                Err(error) => return drop(tell.send(Err(error))),
            };
            let mut sounds = match Sounds::new(&mut blocks, rate) {
                Ok(sounds) => sounds,
                Err(error) => return drop(tell.send(Err(error))),
            };
            let _ = tell.send(Ok(()));
            let failed = loop {
                match sounds.wait() {
                    Ok(true) if give.blocking_send(Ok(std::mem::take(&mut sounds.fresh))).is_err() => return,
                    Ok(false) if give.is_closed() => return,
                    Ok(_) => {}
                    Err(why) => break why,
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

#[cfg(test)]
mod tests {
    use std::{sync::Arc, time::Instant};

    use models::scripted::{Reply, ScriptedStt};

    use super::*;
    use crate::listen::{
        recordings,
        wake::{PATIENCE, Phrases},
        wav, wavs,
    };

    #[tokio::test]
    async fn the_end_does_not_wait_for_a_clip_that_is_recognised() {
        let Some(folder) = recordings() else { return };
        let word = wav::read(&wavs(&folder.join("wake").join("computer"))[0]).unwrap();
        let stt = Arc::new(ScriptedStt::replies([
            Reply::Text("Computer!".to_owned()),
            Reply::Hang(String::new()),
        ]));
        let ear = Ear {
            stt: stt.clone(),
            language: None,
            phrases: Phrases::new(vec!["computer".parse().unwrap()], 0.5),
        };
        let (give, mut sound) = mpsc::channel(BLOCKS);
        for _ in 0..2 {
            for block in [word.clone(), vec![0.0; 16_000]] {
                give.send(Ok(block)).await.unwrap();
            }
        }
        let began = Instant::now();
        let end = async {
            while stt.requests().len() < 2 {
                tokio::time::sleep(Duration::from_millis(10)).await;
            }
        };
        assert!(
            until(end, &ear, &mut sound, true).await.unwrap(),
            "the first was heard"
        );
        assert!(began.elapsed() < PATIENCE, "{:?}", began.elapsed());
    }
}
