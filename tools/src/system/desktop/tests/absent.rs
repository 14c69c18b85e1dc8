//! Services that are absent, hang, vanish, answer nonsense or want a password: one sentence, in time, and nothing done.

use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::{
    Ctx, ToolError,
    system::desktop::{
        self,
        testing::{Manner, PATIENCE, World},
    },
    testing::{ctx, run},
};

/// Every tool that needs a service, with the service and arguments that make it speak to it.
fn tools() -> Vec<(&'static str, &'static str, Value)> {
    vec![
        ("media.play", PLAYER, json!({})),
        ("media.pause", PLAYER, json!({})),
        ("media.next", PLAYER, json!({})),
        ("media.previous", PLAYER, json!({})),
        ("media.seek", PLAYER, json!({"by": "ten seconds"})),
        ("media.shuffle", PLAYER, json!({})),
        ("media.repeat", PLAYER, json!({"mode": "all"})),
        ("system.battery", "org.freedesktop.UPower", json!({})),
        (
            "system.wifi",
            "org.freedesktop.NetworkManager",
            json!({"action": "off"}),
        ),
        (
            "system.wifi",
            "org.freedesktop.NetworkManager",
            json!({"action": "list"}),
        ),
        ("system.bluetooth", "org.bluez", json!({"action": "off"})),
        ("system.bluetooth", "org.bluez", json!({"device": "x"})),
        (
            "system.power_profile",
            "net.hadess.PowerProfiles",
            json!({"profile": "balanced"}),
        ),
        (
            "system.do_not_disturb",
            "org.freedesktop.Notifications",
            json!({}),
        ),
        (
            "system.notify",
            "org.freedesktop.Notifications",
            json!({"text": "x"}),
        ),
        ("system.screenshot", "org.freedesktop.portal.Desktop", json!({})),
        ("system.lock", "org.freedesktop.login1", json!({})),
        ("system.sleep", "org.freedesktop.login1", json!({})),
        ("system.restart", "org.freedesktop.login1", json!({})),
        ("system.shutdown", "org.freedesktop.login1", json!({})),
    ]
}

const PLAYER: &str = "org.mpris.MediaPlayer2.bad";

/// Tools whose service is no name on a bus, or that go on without one; they are tried in the files beside this.
const OTHERS: [&str; 8] = [
    "media.now_playing",
    "system.dark_mode",
    "system.disk_usage",
    "system.list_apps",
    "system.mute",
    "system.open_app",
    "system.quit_app",
    "system.set_volume",
];

#[test]
fn no_tool_is_forgotten() {
    let mut tried: Vec<&str> = tools().iter().map(|(name, ..)| *name).chain(OTHERS).collect();
    // Its screen is looked for in sysfs first.
    tried.push("system.set_brightness");
    for tool in crate::ALL {
        let ours = ["media", "system"].contains(&tool.domain());
        assert!(!ours || tried.contains(&tool.name), "{}", tool.name);
    }
}

/// It must be told in one plain sentence, and leave nothing that could be undone.
async fn plain(name: &str, args: &Value, ctx: &Ctx, case: &str) -> String {
    let began = Instant::now();
    let text = match run(name, args.clone(), ctx).await {
        Err(ToolError::Tell(text) | ToolError::TellOthers(text)) => text,
        other => panic!("{name} {args} {case}: {other:?}"),
    };
    assert!(began.elapsed() < PATIENCE, "{name} {case}: {:?}", began.elapsed());
    assert!(
        text.ends_with(['.', '?']) && !text.contains("org.") && text.len() < 200,
        "{name} {case}: {text}"
    );
    let history = ctx.step.journal().history(5).unwrap();
    assert!(history.is_empty(), "{name} {case}: {history:?}");
    text
}

#[tokio::test(flavor = "multi_thread")]
async fn without_a_desktop_each_tool_says_so() {
    let home = tempfile::tempdir().unwrap();
    let ctx = ctx(home.path());
    let others = [
        ("system.set_volume", json!({"percent": 3})),
        ("system.mute", json!({})),
        ("system.set_brightness", json!({"percent": 3})),
        ("system.dark_mode", json!({"on": true})),
    ];
    let all = tools()
        .into_iter()
        .map(|(name, _, args)| (name, args))
        .chain(others);
    for (name, args) in all {
        plain(name, &args, &ctx, "nowhere").await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_service_that_is_not_there_is_named() {
    let Some(mut world) = World::start().await else {
        return;
    };
    world.desk().path = "/nonexistent".into();
    let ctx = world.ctx();
    for (name, service, args) in tools() {
        let text = plain(name, &args, &ctx, "absent").await;
        let expect = match service {
            PLAYER => "No media player is running.",
            "org.freedesktop.portal.Desktop" => "Nothing here can take a picture of the screen.",
            _ => "is not there on this computer.",
        };
        assert!(
            text.contains(expect) || text == "Nothing is playing.",
            "{name}: {text}"
        );
    }
}

async fn badly(manner: Manner, patience: Duration) {
    for (name, service, args) in tools() {
        let Some(mut world) = World::start().await else {
            return;
        };
        world.bad(service, manner).await;
        world.desk().path = "/nonexistent".into();
        world.desk().patience = patience;
        let began = Instant::now();
        let text = plain(name, &args, &world.ctx(), &format!("{manner:?}")).await;
        if manner == Manner::Hangs {
            // The tool's own time-out is never needed.
            let limit = crate::find(name).unwrap().timeout;
            assert!(began.elapsed() < limit, "{name}: {:?}", began.elapsed());
            assert!(text.contains("does not answer"), "{name}: {text}");
        }
        println!("{manner:?} {name}: {text}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_service_that_hangs_is_not_waited_for() {
    badly(Manner::Hangs, Duration::from_millis(400)).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_service_that_vanishes_in_the_middle_is_told() {
    badly(Manner::Vanishes, Duration::from_secs(20)).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn nonsense_is_told() {
    badly(Manner::Garbage, Duration::from_secs(20)).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_password_is_never_waited_for() {
    badly(Manner::Denies, Duration::from_secs(20)).await;
}

/// One player that hangs holds up no other and is not listed.
#[tokio::test(flavor = "multi_thread")]
async fn what_there_is_is_listed_in_time() {
    let Some(mut world) = World::start().await else {
        return;
    };
    for service in [
        PLAYER,
        "org.freedesktop.UPower",
        "org.bluez",
        "org.freedesktop.login1",
    ] {
        world.bad(service, Manner::Hangs).await;
    }
    world.desk().patience = Duration::from_millis(400);
    let ctx = world.ctx();
    let began = Instant::now();
    let all = desktop::capabilities(&ctx.desk, &ctx.dirs).await;
    assert!(began.elapsed() < PATIENCE, "{:?}", began.elapsed());
    assert_eq!(all.len(), 14, "{all:?}");
    for capability in &all {
        let (Ok(text) | Err(text)) = &capability.state;
        assert!(text.ends_with('.'), "{capability:?}");
    }
    let battery = all
        .iter()
        .find(|capability| capability.name == "battery")
        .unwrap();
    assert_eq!(
        battery.state,
        Err("The battery service (UPower) does not answer.".to_owned())
    );
}
