//! No tool that changes something runs without a yes: every one of them, by the one door that leads to tools. That there is no
//! other door is in `tidy`; that the model's way leads to this one is in the dialogues.

use std::{
    collections::{BTreeMap, BTreeSet},
    fs,
    os::unix::fs::PermissionsExt as _,
    path::Path,
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
    time::Duration,
};

use async_trait::async_trait;
use daemon::{
    act::{Circumstances, act},
    agent::{Call, Outcome, Settings},
    consent::Question,
    eval::{
        Player,
        rehearsal::{self, Lines},
        scenario::{Prepare, Scenario},
        stage::Stage,
    },
    reply::{Confirmation, Front, Happening},
    world::World,
};
use models::{
    llm::{Generate, Llm as _},
    scripted::ScriptedStt,
};
use prompts::words;
use serde_json::{Value, json};
use tools::{Ctx, Effect, Entry, discover::Index, system::desktop::Desk};

use crate::{
    desktop::Bus,
    home::{Home, root},
    scenarios::scenarios,
};

/// Gives one answer to all questions, and remembers them and whether anything was done.
struct Answers {
    answer: Confirmation,
    asked: Vec<Question>,
    acted: bool,
}

#[async_trait]
impl Front for Answers {
    fn show(&mut self, happening: &Happening) {
        self.acted |= matches!(happening, Happening::Acting { .. });
    }

    async fn confirm(&mut self, question: &Question) -> Confirmation {
        self.asked.push(question.clone());
        self.answer.clone()
    }
}

/// A world, and a call that a tool can do in it.
type Scene = (Scenario, Value);

/// Calls of every tool: those that the scenarios want, and those that its own file gives a model to go by.
async fn scenes(player: &Player) -> BTreeMap<String, Vec<Scene>> {
    let mut scenes: BTreeMap<String, Vec<Scene>> = BTreeMap::new();
    let all = scenarios();
    let (lines, mut plain) = (Lines::default(), all[0].clone());
    let model = lines.model();
    let request = Generate {
        max_tokens: 1000,
        ..Generate::default()
    };
    let mut read = 0;
    for scenario in all {
        lines.learn(&scenario);
        for turn in 0..scenario.turns.len() {
            lines.begin(turn);
            loop {
                let wrote = model.generate(request.clone(), &mut |_| {}).await.unwrap();
                let call = wrote.text.trim().strip_prefix("<tool_call>");
                let Some(call) = call.and_then(|call| call.strip_suffix("</tool_call>")) else {
                    break;
                };
                let mut call: Value = serde_json::from_str(call).unwrap();
                let name = call["name"].as_str().unwrap().to_owned();
                let scene = (scenario.clone(), call["arguments"].take());
                scenes.entry(name).or_default().push(scene);
                read += 1;
            }
        }
    }
    assert!(read > 400, "only {read} calls are in the scenarios");
    plain.world = Some(World::load(&root().join("tests/worlds/demo.json")).unwrap());
    plain.now = Some(player.parts.clock.clone());
    plain.before.clear();
    for entry in tools::ALL {
        let calls = entry
            .calls
            .iter()
            .map(|(_, arguments)| serde_json::from_str(arguments).unwrap());
        let scene = |arguments| (plain.clone(), arguments);
        let of_tool = scenes.entry(entry.name.to_owned()).or_default();
        of_tool.extend(calls.chain([json!({})]).map(scene));
    }
    scenes
}

/// What a home has beside its world: something that was done and can be undone, a shortcut, a program for chats.
async fn home(scenario: &Scenario, player: &Player) -> Stage {
    let mut scenario = scenario.clone();
    scenario.before.push(Prepare {
        tool: "notes.create".to_owned(),
        arguments: json!({"text": "Something was done before."}),
    });
    let stage = Stage::set(&scenario, player).await.unwrap();
    let dirs = stage.room.ctx().dirs;
    fs::create_dir_all(&dirs.shortcuts).unwrap();
    let shortcut = dirs.shortcuts.join("tidy-desk");
    fs::write(&shortcut, "#!/bin/sh\necho tidied > \"$0.done\"\n").unwrap();
    fs::set_permissions(&shortcut, fs::Permissions::from_mode(0o700)).unwrap();
    fs::create_dir_all(&dirs.applications[0]).unwrap();
    let chats = "[Desktop Entry]\nType=Application\nName=Chatty\nExec=true\n";
    fs::write(dirs.applications[0].join("chatty.desktop"), chats).unwrap();
    stage
}

/// What comes of a call, and what the person was asked.
async fn carry_out(
    entry: &'static Entry,
    arguments: &Value,
    ctx: Ctx,
    tainted: bool,
    answer: Confirmation,
) -> (Outcome, Answers) {
    let mut front = Answers {
        answer,
        asked: Vec::new(),
        acted: false,
    };
    let around = Circumstances {
        ctx,
        tainted,
        said: &[],
        patience: Duration::from_secs(60),
        instead: None,
    };
    let mut call = Call {
        name: entry.name.to_owned(),
        arguments: arguments.clone(),
    };
    let outcome = act(entry, &mut call, around, &mut front).await;
    (outcome, front)
}

/// Whoever puts the computer to sleep, and how often it was told to.
struct Logind(Arc<AtomicUsize>);

#[zbus::interface(name = "org.freedesktop.login1.Manager")]
impl Logind {
    fn can_suspend(&self) -> &str {
        "yes"
    }

    fn can_reboot(&self) -> &str {
        "yes"
    }

    fn can_power_off(&self) -> &str {
        "yes"
    }

    fn list_inhibitors(&self) -> Vec<(String, String, String, String, u32, u32)> {
        Vec::new()
    }

    fn suspend(&self, _interactive: bool) {
        self.0.fetch_add(1, Ordering::Relaxed);
    }

    fn reboot(&self, _interactive: bool) {
        self.0.fetch_add(1, Ordering::Relaxed);
    }

    fn power_off(&self, _interactive: bool) {
        self.0.fetch_add(1, Ordering::Relaxed);
    }
}

/// A desktop of its own: a bus with what sends messages, who answers nothing, and what turns the computer off.
struct Around {
    desk: Desk,
    turned_off: Arc<AtomicUsize>,
    /// Processes as `/proc` has them.
    root: tempfile::TempDir,
    /// Where there is a bus.
    services: Option<(Bus, zbus::Connection)>,
}

impl Around {
    async fn new() -> Around {
        let mut around = Around {
            desk: Desk::nowhere(),
            turned_off: Arc::default(),
            root: tempfile::tempdir().unwrap(),
            services: None,
        };
        around.desk.root = around.root.path().to_owned();
        if let Some(bus) = Bus::start(around.root.path()) {
            around.desk.session = Some(bus.address.clone());
            around.desk.system = Some(bus.address.clone());
            let logind = Logind(Arc::clone(&around.turned_off));
            let services = zbus::connection::Builder::address(bus.address.as_str())
                .name("org.asamk.Signal")
                .name("org.freedesktop.login1")
                .serve_at("/org/freedesktop/login1", logind);
            around.services = Some((bus, services.build().await.unwrap()));
        }
        around
    }

    /// Every program that is installed there runs; no process has such a number.
    fn runs_all(&self, applications: &Path) {
        for (pid, entry) in (2_000_000_000..).zip(fs::read_dir(applications).unwrap()) {
            let path = entry.unwrap().path();
            let unit = path.file_stem().unwrap().to_str().unwrap().replace('-', "\\x2d");
            let process = self.root.path().join("proc").join(pid.to_string());
            fs::create_dir_all(&process).unwrap();
            fs::write(process.join("cmdline"), "").unwrap();
            fs::write(process.join("cgroup"), format!("0::/app-{unit}-1.scope\n")).unwrap();
        }
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn no_tool_with_an_effect_runs_without_a_yes() {
    let around = Around::new().await;
    let usual = Home::empty("2026-11-20T09:00[Europe/Berlin]");
    let player = Player {
        llm: Arc::new(Lines::default().model()),
        stt: Arc::new(ScriptedStt::replies::<&str>([])),
        parts: usual.parts(rehearsal::settings(Settings::default())),
        index: Arc::new(Index::of(tools::ALL)),
        lines: None,
    };
    let mut scenes = scenes(&player).await;
    let (mut unasked, mut idle) = (BTreeSet::new(), BTreeSet::new());
    for entry in tools::ALL.iter().filter(|entry| entry.effect != Effect::Read) {
        let mut asked = false;
        for (scenario, arguments) in scenes.remove(entry.name).unwrap_or_default() {
            let stage = home(&scenario, &player).await;
            let ctx = || Ctx {
                desk: around.desk.clone(),
                ..stage.room.ctx()
            };
            around.runs_all(&ctx().dirs.applications[0]);
            let world = || (stage.files().unwrap(), around.turned_off.load(Ordering::Relaxed));
            let before = world();
            asked = true;
            for (tainted, answer) in [
                (true, Confirmation::No),
                (true, Confirmation::Nobody),
                (false, Confirmation::No),
                (false, Confirmation::Nobody),
            ] {
                if !tainted && !entry.confirm {
                    continue;
                }
                let (outcome, front) = carry_out(entry, &arguments, ctx(), tainted, answer.clone()).await;
                let what = format!(
                    "{} {arguments} tainted={tainted} {answer:?}: {outcome:?}",
                    entry.name
                );
                assert!(!front.acted && world() == before, "{what}");
                let questions = match &outcome {
                    Outcome::Declined if answer == Confirmation::No => 1,
                    Outcome::NeedsConfirmation(_) if answer == Confirmation::Nobody => 1,
                    // Not even a yes is enough for this.
                    Outcome::Tell(why) if entry.own_words && tainted => {
                        assert_eq!(*why, words::own_words_only(), "{what}");
                        0
                    }
                    // It cannot be done in this world, so there is nothing to ask about.
                    Outcome::Tell(_) | Outcome::TellOthers(_) | Outcome::Misfit(_) => {
                        asked = false;
                        0
                    }
                    _ => panic!("{what}"),
                };
                assert_eq!(front.asked.len(), questions, "{what}");
            }
            if asked {
                // With a yes the same call is carried out, so it was the answer that kept it from that.
                let yes = Confirmation::Yes;
                let (outcome, front) = carry_out(entry, &arguments, ctx(), !entry.own_words, yes).await;
                assert!(front.acted, "{} {arguments}: {outcome:?}", entry.name);
                if world() == before {
                    idle.insert(entry.name);
                }
                break;
            }
        }
        if !asked {
            unasked.insert(entry.name);
        }
    }
    println!("with a yes these change nothing in a home without a desktop: {idle:?}");
    // What only shows or plays something, or needs a desktop to change it.
    let elsewhere = [
        "clipboard.",
        "files.open",
        "files.reveal",
        "media.",
        "messages.",
        "system.",
        "web.",
    ];
    let kept = |name: &&&str| !elsewhere.iter().any(|start| name.starts_with(start));
    assert_eq!(
        idle.iter().filter(kept).count(),
        0,
        "nothing comes of a yes: {idle:?}"
    );
    // Without a bus, of which it was said that it is missing, there is nobody to send messages or to turn the computer off.
    if around.services.is_some() {
        assert_eq!(unasked, BTreeSet::new(), "no call of these was asked about");
        assert_eq!(around.turned_off.load(Ordering::Relaxed), 3);
    }
}
