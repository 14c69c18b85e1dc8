//! What is kept about tools from turn to turn, from start to start, and what it is told to have saved.

use std::sync::Arc;

use async_trait::async_trait;
use daemon::{
    agent::{
        Settings,
        rules::{Phase, Rule, Rules, When},
        toolbox::Storage,
    },
    consent::Question,
    listen::Utterance,
    reply::{Confirmation, Front, Happening},
    report::{Report, Savings},
    room::Room,
    run::Event,
    turn::turn,
};
use models::scripted::{Reply, ScriptedLlm};
use prompts::{Placement, words};

use crate::{
    daemon_loop::{Running, call},
    home::Home,
};

const NOW: &str = "2026-11-20T09:00[Europe/Berlin]";

/// Nobody looks, nobody answers.
pub struct Alone;

#[async_trait]
impl Front for Alone {
    fn show(&mut self, _: &Happening) {}

    async fn confirm(&mut self, _: &Question) -> Confirmation {
        Confirmation::Nobody
    }
}

pub async fn say(room: &mut Room, words: &str) -> Report {
    turn(room, Utterance::Text(words.to_owned()), &mut Alone).await
}

fn keeping(placement: Placement) -> Settings {
    let mut settings = Settings {
        placement,
        // The model only talks here, whatever it is asked.
        act_score: 1.0,
        ..Settings::default()
    };
    settings.loading.storage = Storage::Context;
    settings
}

/// A room in this home whose model only talks, and the model.
fn room(home: &Home, settings: Settings) -> (Room, Arc<ScriptedLlm>) {
    let llm = Arc::new(ScriptedLlm::answering(|_| Reply::from("Fine.")));
    // The words may be what needs no model, and these tests are about what it is shown.
    let settings = Settings {
        reflex: false,
        ..settings
    };
    (home.room(llm.clone(), settings), llm)
}

/// Words that make three tools be looked at ahead, one of them this one, and no tool be called.
const WORDS: &str = "set a timer for ten minutes";
const TOOL: &str = "timers.set";

/// The prompt is rendered before every step and compared by its hash: the static prefix stays as it was, whatever is found meanwhile,
/// so it is brought into the cache once.
#[tokio::test]
async fn a_prefix_that_did_not_change_costs_nothing() {
    for placement in [Placement::Tail, Placement::System] {
        let home = Home::seeded(NOW);
        let settings = Settings {
            placement,
            act_score: 1.0,
            ..Settings::default()
        };
        let (mut room, llm) = room(&home, settings);
        say(&mut room, "tell me a story").await;
        let prompts = llm.prompts().len();
        for words in ["and another one", WORDS, "tell me a third"] {
            say(&mut room, words).await;
        }
        assert!(llm.prompts().len() >= prompts + 3);
        assert_eq!(llm.prefixes().len(), 1, "{placement:?}");
    }
}

#[tokio::test]
async fn with_storage_context_what_was_found_is_there_after_a_restart() {
    for placement in [Placement::Tail, Placement::System] {
        let home = Home::seeded(NOW);
        let schema = format!("\n{TOOL}(duration");
        let shown = |llm: &ScriptedLlm| llm.prompts().last().unwrap().matches(&schema).count();
        let (mut first, llm) = room(&home, keeping(placement));
        say(&mut first, WORDS).await;
        assert_eq!(shown(&llm), 1);
        let loaded = first.loaded();
        assert!(loaded.contains(&TOOL.to_owned()), "{loaded:?}");
        drop(first);
        let (mut next, llm) = room(&home, keeping(placement));
        say(&mut next, "hm").await;
        assert_eq!(shown(&llm), 1, "{placement:?}");
        assert_eq!(next.loaded(), loaded);
        // Whoever starts with another storage is not bothered with it, and it does not bother them.
        let free = Settings {
            act_score: 1.0,
            ..Settings::default()
        };
        let (mut session, llm) = room(&home, free);
        say(&mut session, "hm").await;
        assert_eq!(shown(&llm), 0);
        next.forget();
        drop(next);
        let (mut forgotten, llm) = room(&home, keeping(placement));
        say(&mut forgotten, "hm").await;
        assert_eq!(shown(&llm), 0, "{placement:?}");
    }
}

#[tokio::test]
async fn what_is_kept_is_private_names_no_words_and_may_be_broken() {
    use std::os::unix::fs::PermissionsExt as _;
    let home = Home::seeded(NOW);
    let (mut first, _) = room(&home, keeping(Placement::Tail));
    say(&mut first, WORDS).await;
    let file = home.dirs().state.join("loaded-tools.json");
    let kept = std::fs::read_to_string(&file).unwrap();
    assert!(kept.contains(TOOL) && !kept.contains("ten minutes"), "{kept}");
    assert_eq!(file.metadata().unwrap().permissions().mode() & 0o077, 0);
    for broken in [
        "",
        "{}",
        "nonsense",
        r#"{"version": 9, "loaded": []}"#,
        &"[".repeat(100_000),
    ] {
        std::fs::write(&file, broken).unwrap();
        let (mut next, _) = room(&home, keeping(Placement::Tail));
        say(&mut next, "hm").await;
        assert!(!next.loaded().contains(&TOOL.to_owned()), "{broken:.20}");
    }
}

#[tokio::test]
async fn what_lazy_loading_saves_is_told_by_turn_and_in_all() {
    let script = [
        Reply::Text(call("tools.discover", r#"{"query": "set a timer", "top_k": 1}"#)),
        Reply::Text(call(TOOL, r#"{"duration": "ten minutes"}"#)),
        Reply::from("Fine."),
    ];
    let running = Running::start_with(ScriptedLlm::replies(script), |_| ()).await;
    let client = running.client().await;
    // Counted from the first turn on.
    let first = daemon_ask(&client, WORDS).await;
    let found = first.savings.unwrap();
    assert!(found.eager > 3 * found.prefix, "{found:?}");
    assert!(found.marginal > 0 && found.marginal == found.loaded, "{found:?}");
    // The call and its answer stand in the prompt besides the schema.
    assert!(found.discovery > 0 && found.discovery < 500, "{found:?}");
    assert_eq!(found.reused, u64::from(first.tokens.cached));
    let spent = (found.prefix + found.loaded + found.discovery) as i64;
    assert_eq!(found.net, found.eager as i64 - spent);
    let second = daemon_ask(&client, "hm").await;
    let idle = second.savings.unwrap();
    assert_eq!((idle.eager, idle.prefix), (found.eager, found.prefix));
    assert_eq!((idle.marginal, idle.loaded, idle.discovery), (0, found.loaded, 0));
    let silence = daemon_ask(&client, " ").await;
    assert_eq!(silence.savings, None, "nobody asked the model");
    let mut all = Savings::default();
    all.add(&idle);
    all.add(&found);
    running
        .until("has both turns", |status| {
            status.turns == 3 && status.savings == all
        })
        .await;
    running
        .until("names what is loaded", |status| status.loaded == [TOOL])
        .await;
    running.happens(Event::Forget).await;
    running
        .until("says that it forgets it", |status| status.loaded.is_empty())
        .await;
    daemon_ask(&client, "hm").await;
    running
        .until("has forgotten it", |status| status.loaded.is_empty())
        .await;
}

async fn daemon_ask(client: &zbus::Connection, words: &str) -> Report {
    crate::daemon_loop::ask(client, words).await.unwrap()
}

#[tokio::test]
async fn what_was_read_out_is_not_repeated_once_a_rule_holds_it_back() {
    let home = Home::seeded(NOW);
    let mut settings = Settings {
        pre_discover: false,
        act_score: 1.0,
        ..Settings::default()
    };
    settings.loading.rules = Rules(vec![Rule {
        tools: vec!["mail.*".to_owned()],
        phases: vec![Phase::Search, Phase::Load, Phase::Active],
        when: When::Voice,
    }]);
    let script = [Reply::Text(call("mail.recent", "{}")), Reply::from("Nothing.")];
    let llm = Arc::new(ScriptedLlm::replies(script));
    let mut room = home.room(llm.clone(), settings);
    let read = say(&mut room, "any new mail").await;
    assert_eq!(read.calls[0].status, "ok");
    let subject = read.calls[0].result["mails"][0]["subject"]
        .as_str()
        .unwrap()
        .to_owned();
    assert!(room.ctx().last.is_some_and(|last| last.text.len() > 5));
    // Not even when the turn itself was trimmed away and only the last answer is left of it.
    while room.agent().trim().is_some() {}
    assert!(room.ctx().last.is_some());
    room.agent().step(daemon::agent::Input::Said {
        text: "repeat that".into(),
        context: String::new(),
        asked: daemon::agent::rules::Asked {
            by_voice: Some(true),
            ..Default::default()
        },
    });
    assert!(room.ctx().last.is_none());
    let prompt: String = room
        .agent()
        .transcript()
        .pieces
        .into_iter()
        .map(|piece| piece.text)
        .collect();
    assert!(!prompt.contains(&subject), "{prompt}");
}

#[tokio::test]
async fn a_rule_on_locked_screens_holds_where_nobody_can_tell() {
    let home = Home::seeded(NOW);
    let rule = |when| {
        let mut settings = Settings::default();
        settings.loading.rules = Rules(vec![Rule {
            tools: vec!["timers.*".to_owned()],
            phases: vec![Phase::Search, Phase::Load, Phase::Active],
            when,
        }]);
        settings
    };
    // This home has no bus, and so nobody who knows of a lock.
    let (mut locked, llm) = room(&home, rule(When::Locked));
    let report = say(&mut locked, WORDS).await;
    assert_eq!(report.reply, words::not_allowed());
    assert!(llm.requests().is_empty(), "the model is not even asked");
    let script = [call(TOOL, r#"{"duration": "ten minutes"}"#)];
    let mut spoken = home.room(Arc::new(ScriptedLlm::replies(script)), rule(When::Voice));
    let report = say(&mut spoken, WORDS).await;
    assert_eq!(
        (report.calls.len(), report.calls[0].status.as_str()),
        (1, "ok"),
        "{report:?}"
    );
    let (mut typed, _) = room(&home, rule(When::Typed));
    assert_eq!(say(&mut typed, WORDS).await.reply, words::not_allowed());
}
