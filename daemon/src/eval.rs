//! The text-mode harness: scenarios are played with the agent, the tools and the model that people have, and judged on
//! the calls and on the state of the world, never on prose alone.
//!
//! Every scenario has a home of its own (`stage`), so runs do not see each other or the person's data, and several may
//! run side by side. What is right is in `judge`, what it adds up to in `summary`.

pub mod scenario;
pub mod matching;
pub mod stage;
pub mod judge;
pub mod summary;
pub mod html;
pub mod rehearsal;
pub mod spoken;

use std::{sync::Arc, time::Instant};

use clap::ValueEnum;
use models::{llm::Llm, stt::Stt};
use serde::{Deserialize, Serialize};
use tools::discover::Index;

use crate::{
    act::finish_writes,
    agent::{Answer, IfUnsure, Settings},
    eval::{
        judge::{Played, Row},
        scenario::{Scenario, Turn, Words},
        stage::{Person, Stage},
    },
    listen::Utterance,
    report::{Report, millis},
    room::Parts,
    turn::turn,
};

/// How the tools reach the model: as Tiro does it, or as others do, to have something to compare with.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Prompting {
    /// As the config says.
    Tiro,
    /// Core tools, catalogue and `tools.discover`; the model decides alone whether and what to call.
    Lazy,
    /// Every schema in the prompt; the model decides alone.
    Eager,
}

impl Prompting {
    /// Its word.
    pub fn name(self) -> &'static str {
        match self {
            Prompting::Tiro => "tiro",
            Prompting::Lazy => "lazy",
            Prompting::Eager => "eager",
        }
    }

    /// The knobs for it. Grammar and window stay the same, so that only the way of the tools into the prompt differs.
    pub fn settings(self, usual: Settings) -> Settings {
        match self {
            Prompting::Tiro => usual,
            Prompting::Lazy | Prompting::Eager => Settings {
                pre_discover: false,
                // No score is that high.
                act_score: 2.0,
                split_score: 2.0,
                answer: Answer::Tool,
                unsure: IfUnsure::Model,
                reflex: false,
                loading: crate::agent::toolbox::Loading {
                    lazy: self == Prompting::Lazy,
                    ..usual.loading
                },
                ..usual
            },
        }
    }
}

/// What scenarios are played with.
pub struct Player {
    /// The model.
    pub llm: Arc<dyn Llm>,
    /// The recogniser, for recordings.
    pub stt: Arc<dyn Stt>,
    /// The config's room; folders, clock and desktop are replaced.
    pub parts: Parts,
    /// The index over its tools.
    pub index: Arc<Index>,
    /// The lines of a model that only rehearses.
    pub lines: Option<rehearsal::Lines>,
}

impl Player {
    /// Plays a scenario, turn by turn in one conversation.
    ///
    /// # Errors
    /// When its home cannot be set up, a recording cannot be read, or the model cannot be loaded. What goes wrong in a
    /// turn is part of its row.
    pub async fn play(&self, scenario: &Scenario) -> anyhow::Result<Vec<Row>> {
        let mut stage = Stage::set(scenario, self).await?;
        let mut rows = Vec::with_capacity(scenario.turns.len());
        for (at, expected) in scenario.turns.iter().enumerate() {
            // What a daemon does before anybody speaks, and in the pauses.
            stage.room.ready().await?;
            if at > 0 {
                stage.room.warm().await?;
            }
            if let Some(lines) = &self.lines {
                lines.begin(at);
            }
            let before = stage.files()?;
            let (report, person) = say(&mut stage, expected).await?;
            // Some of it is written down while the turn goes on, into a home that is gone after the last.
            finish_writes().await;
            let changed = stage.files()? != before;
            let state = stage.problems(&expected.after).await;
            rows.push(judge::judge(
                expected,
                Played {
                    id: &scenario.id,
                    turn: at,
                    now: &stage.now,
                    report,
                    person,
                    changed,
                    state,
                },
            ));
        }
        Ok(rows)
    }

    /// Loads the model and brings the static prefix into its cache, so that no scenario pays for it. Milliseconds. Then it reads
    /// the tools as a daemon does in its first quiet minutes; `read` is called after each.
    ///
    /// # Errors
    /// When the model cannot be loaded.
    pub async fn warm_up(&self, scenario: &Scenario, mut read: impl FnMut()) -> anyhow::Result<f32> {
        let started = Instant::now();
        let empty = Scenario {
            world: None,
            before: Vec::new(),
            ..scenario.clone()
        };
        let mut stage = Stage::set(&empty, self).await?;
        stage.room.ready().await?;
        let load = millis(started.elapsed());
        if self.parts.settings.pre_discover && self.parts.limits.read_ahead.is_some() {
            while stage.room.learn().await? {
                read();
            }
        }
        Ok(load)
    }
}

async fn say(stage: &mut Stage, expected: &Turn) -> anyhow::Result<(Report, Person)> {
    let utterance = match &expected.words {
        Words::Text(text) => Utterance::Text(text.clone()),
        Words::Wav(file) => Utterance::read_wav(file.clone()).await?,
    };
    let mut person = Person {
        answers: expected.confirm.clone(),
        ..Person::default()
    };
    let report = turn(&mut stage.room, utterance, &mut person).await;
    Ok((report, person))
}
