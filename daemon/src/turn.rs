//! THE PATH of one request: listen -> transcribe -> decide -> act -> reply, readable top to bottom.
//!
//! Dropping the future of `turn` is barge-in: generation stops in the engine, reads are dropped, a write that has
//! begun is finished by its own task.

use std::time::Instant;

use models::EngineError;
use prompts::words;
use serde_json::Value;

use crate::{
    act::{Circumstances, act},
    agent::{Ask, Call, Ending, Input, Outcome, Reply, Step, Undo, rules::Asked},
    listen::Utterance,
    reply::{Front, Happening, State},
    report::Report,
    room::Room,
};

/// Runs one turn and reports it. Errors of engines and tools are part of the report: they end in a sentence.
pub async fn turn(room: &mut Room, utterance: Utterance, front: &mut dyn Front) -> Report {
    let mut report = Report::default();
    let started = Instant::now();
    let mut reply = match path(room, utterance, front, &mut report).await {
        Ok(reply) => reply,
        Err(error) => room.failed(&error),
    };
    // However the turn ended, what was heard of the answer stands in it.
    if !report.ahead.is_empty() {
        room.agent().begins_with(&report.ahead, &mut reply);
    }
    front.show(&Happening::Replied {
        text: reply.text.clone(),
    });
    front.show(&Happening::State { state: State::Idle });
    report.finish(reply, started.elapsed());
    room.settle_accounts(&mut report).await;
    room.keep(&report);
    report
}

async fn path(
    room: &mut Room,
    utterance: Utterance,
    front: &mut dyn Front,
    report: &mut Report,
) -> Result<Reply, EngineError> {
    let by_voice = matches!(utterance, Utterance::Speech(_));
    let Some(text) = hear(room, utterance, front, report).await? else {
        return Ok(Reply {
            text: words::nothing_heard(),
            end: Ending::CouldNot,
        });
    };
    front.show(&Happening::State {
        state: State::Thinking,
    });
    let text = room.in_full(text).await;
    let context = room.context();
    let asked = Asked {
        guest: front.is_for_guest(),
        ..room.asked(&text, by_voice).await
    };
    let mut step = room.agent().step(Input::Said { text, context, asked });
    loop {
        step = match step {
            Step::Generate(ask) => decide(room, ask, front, report).await?,
            Step::Call(call) => carry_out(room, call, None, front, report).await?,
            Step::Instead(call, undo) => carry_out(room, call, Some(undo), front, report).await?,
            Step::Reply(reply) => {
                report.reflex = report.steps == 0 && room.agent().by_reflex();
                return Ok(reply);
            }
        }
    }
}

/// Speech becomes text; typed text is text already.
async fn hear(
    room: &mut Room,
    utterance: Utterance,
    front: &mut dyn Front,
    report: &mut Report,
) -> Result<Option<String>, EngineError> {
    let speech = match utterance {
        Utterance::Text(text) => {
            report.say.clone_from(&text);
            return Ok(Some(text).filter(|t| !t.trim().is_empty()));
        }
        Utterance::Speech(speech) => speech,
    };
    front.show(&Happening::State {
        state: State::Transcribing,
    });
    let started = Instant::now();
    let mut transcript = match &speech.transcript {
        Some(transcript) => transcript.clone(),
        None => room.transcribe(&speech).await?,
    };
    if let Some(phrases) = &speech.after {
        transcript.text = phrases.strip(&transcript.text).to_owned();
    }
    report.ms.stt = match &speech.transcript {
        Some(known) => known.decode_ms,
        None => started.elapsed().as_secs_f32() * 1e3,
    };
    report.say.clone_from(&transcript.text);
    let (text, seconds) = (transcript.text.clone(), speech.seconds());
    front.show(&Happening::Heard {
        text,
        seconds,
        ms: report.ms.stt,
    });
    Ok(Some(transcript.text).filter(|t| !t.is_empty()))
}

/// The model writes, within its window, and the agent reads. Only now the model has to be there.
async fn decide(
    room: &mut Room,
    mut ask: Ask,
    front: &mut dyn Front,
    report: &mut Report,
) -> Result<Step, EngineError> {
    front.show(&Happening::State {
        state: State::Thinking,
    });
    if let Some(prepared) = room.needs_model().await? {
        front.show(&Happening::Prepared { prepared });
        // It may have come only now, and speaks a dialect of its own.
        ask = room.agent().ask_again();
    }
    if let Err(error) = room.count().await {
        tracing::debug!(%error, "the tools could not be counted");
    }
    let started = Instant::now();
    let Some(ask) = room.fit(ask).await? else {
        return Ok(room.agent().too_long());
    };
    let mut ahead = None;
    if front.speaks() {
        let certain = room.agent().certain();
        say_ahead(certain.strip_prefix(&report.ahead), front, &mut report.ahead);
        ahead = room.agent().ahead(&ask);
    }
    let mut on_text = |text: &str| {
        let sentences = ahead.as_mut().and_then(|ahead| ahead.push(text));
        say_ahead(sentences.as_deref(), front, &mut report.ahead);
    };
    let generated = room.generate(ask, &mut on_text).await?;
    report.generated(&generated.usage, started.elapsed());
    room.spent(&generated.usage);
    front.show(&Happening::Generated {
        text: generated.text.clone(),
        usage: generated.usage,
    });
    Ok(room.agent().step(Input::Generated(generated.text)))
}

/// Says what is certain of the answer while the rest is not there yet.
fn say_ahead(text: Option<&str>, front: &mut dyn Front, said: &mut String) {
    if let Some(text) = text.filter(|text| !text.is_empty()) {
        said.push_str(text);
        front.show(&Happening::Saying {
            text: text.to_owned(),
        });
    }
}

/// A call passes consent and runs, and the agent reads what came of it.
async fn carry_out(
    room: &mut Room,
    mut call: Call,
    instead: Option<Undo>,
    front: &mut dyn Front,
    report: &mut Report,
) -> Result<Step, EngineError> {
    let (ctx, patience) = (room.ctx(), room.patience());
    let agent = room.agent();
    let Some(entry) = agent.toolbox().find(&call.name) else {
        let outcome = Outcome::Misfit(format!("There is no tool {}.", call.name));
        return Ok(agent.step(Input::Did { call, outcome }));
    };
    let guest = front.is_for_guest();
    let said = match guest {
        true => Vec::new(),
        false => agent.said_words(),
    };
    let around = Circumstances {
        ctx,
        tainted: agent.tainted() || guest,
        said: &said,
        patience,
        instead: instead.as_ref(),
    };
    let started = Instant::now();
    let outcome = act(entry, &mut call, around, front).await;
    let ms = started.elapsed().as_secs_f32() * 1e3;
    match outcome {
        Outcome::Done(_) => room.fared(entry.name, true),
        Outcome::Broken(_) => room.fared(entry.name, false),
        // The tool could do its part; what it lacked is no fault of its own.
        _ => {}
    }
    let (status, result) = outcome_words(&outcome);
    report.called(&call, status, result.clone(), ms);
    front.show(&Happening::Did {
        tool: call.name.clone(),
        status: status.into(),
        result,
        ms,
    });
    Ok(room.agent().step(Input::Did { call, outcome }))
}

fn outcome_words(outcome: &Outcome) -> (&'static str, Value) {
    match outcome {
        Outcome::Done(output) => ("ok", output.data.clone()),
        Outcome::Tell(text) | Outcome::TellOthers(text) | Outcome::Misfit(text) => {
            ("told", Value::from(text.as_str()))
        }
        Outcome::Broken(text) => ("broken", Value::from(text.as_str())),
        Outcome::TakenBack { text, .. } => ("told", Value::from(text.as_str())),
        Outcome::Declined | Outcome::Unclear(_) => ("declined", Value::Null),
        Outcome::NeedsConfirmation(question) => ("unconfirmed", Value::from(question.as_str())),
    }
}
