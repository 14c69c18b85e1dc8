//! Dialogues as data: every file of `dialogues/` is a conversation with a scripted model and the real tools on the
//! demo world. A snapshot says what was called, answered and written; adding a test is adding a file.
//!
//! Lines: `now TIME`, `set KEY VALUE` (a setting, or `account` and the address of a mail account that sends), `you WORDS`,
//! `call TOOL ARGUMENTS` (the model calls), `says TEXT` (the model writes), `crash` (the engine dies), `confirm WORDS` (the
//! answer to the next question of this turn).

use std::{collections::VecDeque, fmt::Write as _, sync::Arc};

use async_trait::async_trait;
use daemon::{
    agent::{Answer, Settings},
    consent::Question,
    listen::Utterance,
    reply::{Confirmation, Front, Happening, answer, ask_line},
    room::Room,
    turn::turn,
};
use models::scripted::{Reply, ScriptedLlm, ScriptedStt};
use prompts::Placement;

use crate::home::{Home, root};

/// One turn of a dialogue file.
#[derive(Default)]
struct Turn {
    you: String,
    model: Vec<Reply>,
    confirm: VecDeque<Confirmation>,
}

/// Writes down what happens.
struct Scribe {
    lines: String,
    confirm: VecDeque<Confirmation>,
}

#[async_trait]
impl Front for Scribe {
    fn show(&mut self, happening: &Happening) {
        let lines = &mut self.lines;
        match happening {
            Happening::Acting { tool, arguments } => writeln!(lines, "  calls {tool} {arguments}"),
            Happening::Did {
                tool, status, result, ..
            } => writeln!(lines, "  {status:<5} {tool} {result}"),
            _ => Ok(()),
        }
        .unwrap();
    }

    async fn confirm(&mut self, question: &Question) -> Confirmation {
        writeln!(self.lines, "  asks  {}", ask_line(question)).unwrap();
        self.confirm.pop_front().unwrap_or(Confirmation::Nobody)
    }
}

#[tokio::test]
async fn dialogues() {
    let mut files: Vec<_> = std::fs::read_dir(root().join("tests/dialogues"))
        .unwrap()
        .map(|e| e.unwrap().path())
        .collect();
    files.retain(|f| f.extension().is_some_and(|e| e == "txt"));
    files.sort();
    assert!(files.len() >= 5, "the dialogues are there");
    for file in files {
        let name = file.file_stem().unwrap().to_str().unwrap().to_owned();
        let text = std::fs::read_to_string(&file).unwrap();
        let transcript = play(&text).await;
        insta::assert_snapshot!(name, transcript);
    }
}

async fn play(text: &str) -> String {
    let mut now = "2026-11-20T09:00[Europe/Berlin]".to_owned();
    let mut settings = Settings {
        pre_discover: false,
        // Each file says what the model does.
        reflex: false,
        act_score: 1.0,
        ..Settings::default()
    };
    let mut accounts: Vec<String> = Vec::new();
    let mut turns: Vec<Turn> = Vec::new();
    for line in text
        .lines()
        .filter(|l| !l.trim().is_empty() && !l.starts_with('#'))
    {
        let (verb, rest) = line.split_once(' ').unwrap_or((line, ""));
        let last = turns.last_mut();
        match (verb, last) {
            ("now", _) => now = rest.to_owned(),
            ("set", _) => match rest.strip_prefix("account ") {
                Some(address) => accounts.push(address.to_owned()),
                None => set(&mut settings, rest),
            },
            ("you", _) => turns.push(Turn {
                you: rest.to_owned(),
                ..Turn::default()
            }),
            ("call", Some(turn)) => {
                let (tool, arguments) = rest.split_once(' ').unwrap_or((rest, "{}"));
                let call = format!(
                    "<tool_call>\n{{\"name\": \"{tool}\", \"arguments\": {arguments}}}\n</tool_call>"
                );
                turn.model.push(Reply::Text(call));
            }
            ("says", Some(turn)) => turn.model.push(Reply::Text(rest.to_owned())),
            ("crash", Some(turn)) => turn.model.push(Reply::crash()),
            ("confirm", Some(turn)) => turn.confirm.push_back(answer(rest).unwrap()),
            _ => panic!("a dialogue has no line {line:?}"),
        }
    }
    let home = Home::seeded(&now);
    let mut parts = home.parts(settings);
    parts.mail.accounts = accounts
        .into_iter()
        .map(|address| tools::MailAccount {
            name: "home".into(),
            address,
            sender: "Robin Miller".into(),
            maildir: home.dirs().mail,
            sends: true,
        })
        .collect();
    let script: Vec<Reply> = turns.iter().flat_map(|t| t.model.clone()).collect();
    let (wanted, llm) = (script.len(), Arc::new(ScriptedLlm::replies(script)));
    let mut room = Room::new(llm.clone(), Arc::new(ScriptedStt::replies::<&str>([])), parts);
    let mut transcript = String::new();
    for this in turns {
        let before = home.files();
        let mut scribe = Scribe {
            lines: String::new(),
            confirm: this.confirm,
        };
        let report = turn(&mut room, Utterance::Text(this.you.clone()), &mut scribe).await;
        writeln!(transcript, "you   {}", this.you).unwrap();
        transcript.push_str(&scribe.lines);
        assert!(
            scribe.confirm.is_empty(),
            "{}: a confirmation was prepared and nobody asked\n{transcript}",
            this.you
        );
        for (name, _) in home.files().into_iter().filter(|f| !before.contains(f)) {
            writeln!(transcript, "  wrote {}", stable(&name)).unwrap();
        }
        writeln!(transcript, "tiro  {} ({:?})\n", report.reply, report.end).unwrap();
    }
    assert_eq!(
        llm.requests().len(),
        wanted,
        "the model was asked as often as the file says\n{transcript}"
    );
    transcript.trim_end().to_owned()
}

fn set(settings: &mut Settings, pair: &str) {
    match pair {
        "answer model" => settings.answer = Answer::Model,
        "pre_discover on" => settings.pre_discover = true,
        "placement system" => settings.placement = Placement::System,
        "loading eager" => settings.loading.lazy = false,
        _ => panic!("a dialogue has no setting {pair:?}"),
    }
}

/// File names with a random id in them stay the same from run to run.
fn stable(name: &str) -> String {
    let (folder, file) = name.rsplit_once('/').unwrap_or(("", name));
    let random = file.len() > 30 && file.contains('-');
    let file = if random {
        format!("ID.{}", file.rsplit('.').next().unwrap_or_default())
    } else {
        file.to_owned()
    };
    format!("{folder}/{file}")
}
