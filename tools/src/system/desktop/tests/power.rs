//! Battery, brightness, profiles, and what logind does, against python3-dbusmock.

use std::{collections::HashMap, fs};

use serde_json::json;

use crate::{
    ToolError,
    system::desktop::{
        power,
        testing::{Manner, World},
    },
    testing::{run, said, told},
};

const UPOWER: &str = "org.freedesktop.UPower";
const MOCK: &str = "org.freedesktop.DBus.Mock";
const LOGIN: &str = "org.freedesktop.login1";

#[tokio::test(flavor = "multi_thread")]
async fn batteries_are_told() {
    let Some(mut world) = World::start().await else {
        return;
    };
    if !world.mock("upower", "{}", UPOWER).await {
        return;
    }
    let ctx = world.ctx();
    let ask = async |args| run("system.battery", args, &ctx).await;
    assert_eq!(told(ask(json!({})).await), "This computer has no battery.");
    // Type, state, percentage, energies, rate, time to empty and to full, presence, icon, warning.
    let set = async |state: u32, percent: f64, empty: i64, full: i64| {
        let row = (
            2_u32, state, percent, 50.0_f64, 100.0_f64, 10.0_f64, empty, full, true, "", 1_u32,
        );
        world
            .call::<_, ()>(
                UPOWER,
                "/org/freedesktop/UPower",
                &format!("{MOCK}.SetupDisplayDevice"),
                &row,
            )
            .await;
    };
    set(2, 62.4, 9000, 0).await;
    assert_eq!(
        said(ask(json!({})).await),
        "The battery is at 62 percent and lasts about 2 and a half hours."
    );
    set(1, 80.0, 0, 2400).await;
    assert_eq!(
        said(ask(json!({"device": "my laptop"})).await),
        "The battery is at 80 percent and full in about 40 minutes."
    );
    set(4, 100.0, 0, 0).await;
    assert_eq!(said(ask(json!({})).await), "The battery is full.");
    set(2, 1e300, 0, 0).await;
    assert_eq!(told(ask(json!({})).await), "This computer has no battery.");

    let path: String = world
        .call(
            UPOWER,
            "/org/freedesktop/UPower",
            &format!("{MOCK}.AddDischargingBattery"),
            &("mouse", "Anna's Mouse\u{202e}", 34.0_f64, 0_i64),
        )
        .await;
    // As one of the computer's own cells it is no device of its own.
    let text = told(ask(json!({"device": "mouse"})).await);
    assert_eq!(text, "Nothing called \"mouse\" tells me its battery.");
    let changed = [
        ("Type", zbus::Variant::from(5_u32)),
        ("PowerSupply", zbus::Variant::from(false)),
    ];
    let changed: HashMap<&str, zbus::Variant<'_>> = changed.into_iter().collect();
    let path = zbus::OwnedObjectPath::try_from(path).unwrap();
    world
        .call::<_, ()>(
            UPOWER,
            "/org/freedesktop/UPower",
            &format!("{MOCK}.SetDeviceProperties"),
            &(path, changed),
        )
        .await;
    let output = ask(json!({"device": "the mouse"})).await.unwrap();
    assert_eq!(output.say, "The battery of Anna's Mouse is at 34 percent.");
    assert!(output.untrusted, "its owner called it that");
    let text = told(ask(json!({"device": "toaster"})).await);
    assert_eq!(text, "Nothing called \"toaster\" tells me its battery.");
}

#[tokio::test(flavor = "multi_thread")]
async fn the_screen_is_dimmed_through_logind() {
    let Some(mut world) = World::start().await else {
        return;
    };
    if !world.mock("logind", "{}", LOGIN).await {
        return;
    }
    let light = world.folder().join("sys/class/backlight/intel_backlight");
    fs::create_dir_all(&light).unwrap();
    for (name, value) in [
        ("brightness", "400\n"),
        ("max_brightness", "800\n"),
        ("type", "raw\n"),
    ] {
        fs::write(light.join(name), value).unwrap();
    }
    let root = world.folder().to_owned();
    world.desk().root = root;
    session(&world).await;
    // The mock does what the kernel does.
    let code = format!(
        "open('{}', 'w').write(str(args[2]))",
        light.join("brightness").display()
    );
    let method = (
        "org.freedesktop.login1.Session",
        "SetBrightness",
        "ssu",
        "",
        code.as_str(),
    );
    world
        .call::<_, ()>(LOGIN, SESSION, &format!("{MOCK}.AddMethod"), &method)
        .await;
    let ctx = world.ctx();
    let now = || fs::read_to_string(light.join("brightness")).unwrap();
    let set = async |args| said(run("system.set_brightness", args, &ctx).await);
    assert_eq!(
        set(json!({"percent": 25})).await,
        "The brightness is at 25 percent."
    );
    assert_eq!(now(), "200");
    assert_eq!(
        set(json!({"direction": "up"})).await,
        "The brightness is at 35 percent."
    );
    assert_eq!(
        set(json!({"percent": 0})).await,
        "The brightness is at 1 percent."
    );
    assert_eq!(now(), "8");
    said(run("assistant.undo", json!({"steps": 3}), &ctx).await);
    assert_eq!(now(), "400");
    assert_eq!(ctx.step.journal().verify_invariants().unwrap(), [""; 0]);
}

const SESSION: &str = "/org/freedesktop/login1/session/auto";

/// The session of the person.
async fn session(world: &World) {
    let row = ("auto", "seat0", 1000_u32, "ada", true);
    let _path: String = world
        .call(
            LOGIN,
            "/org/freedesktop/login1",
            &format!("{MOCK}.AddSession"),
            &row,
        )
        .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn profiles_are_found_by_what_people_call_them() {
    let Some(mut world) = World::start().await else {
        return;
    };
    if !world
        .mock("power_profiles_daemon", "{}", "net.hadess.PowerProfiles")
        .await
    {
        return;
    }
    let ctx = world.ctx();
    let set = async |args| run("system.power_profile", args, &ctx).await;
    assert_eq!(
        said(set(json!({})).await),
        "The power profile is balanced. There is also power saver and performance."
    );
    for (words, expect) in [
        ("battery saver", "The power profile is power saver."),
        ("power saver mode", "The power profile is power saver already."),
        ("full power", "The power profile is performance."),
        ("normal", "The power profile is balanced."),
    ] {
        assert_eq!(said(set(json!({"profile": words})).await), expect, "{words}");
    }
    let text = told(set(json!({"profile": "purple"})).await);
    assert_eq!(text, "Which power profile: power saver, balanced or performance?");
    assert_eq!(
        said(run("assistant.undo", json!({}), &ctx).await),
        "Undone: The power profile is balanced."
    );
    assert!(said(set(json!({})).await).starts_with("The power profile is performance."));
}

/// The profiles under the name that the service has had since 0.20.
struct Profiles(String);

#[zbus::interface(name = "org.freedesktop.UPower.PowerProfiles")]
impl Profiles {
    #[zbus(property)]
    fn active_profile(&self) -> String {
        self.0.clone()
    }

    #[zbus(property)]
    fn set_active_profile(&mut self, profile: String) {
        self.0 = profile;
    }

    #[zbus(property)]
    fn profiles(&self) -> Vec<HashMap<String, zbus::OwnedVariant>> {
        let row = |name: &str| {
            let name = zbus::Variant::from(name).try_to_owned().unwrap();
            HashMap::from([("Profile".to_owned(), name)])
        };
        ["power-saver", "balanced"].map(row).to_vec()
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn profiles_have_a_newer_name_on_the_bus() {
    let Some(world) = World::start().await else {
        return;
    };
    let (name, path) = (
        "org.freedesktop.UPower.PowerProfiles",
        "/org/freedesktop/UPower/PowerProfiles",
    );
    let _service = world.serve(name, path, Profiles("balanced".to_owned())).await;
    let ctx = world.ctx();
    let set = async |args| said(run("system.power_profile", args, &ctx).await);
    assert_eq!(
        set(json!({"profile": "save battery"})).await,
        "The power profile is power saver."
    );
    assert_eq!(
        set(json!({})).await,
        "The power profile is power saver. There is also balanced."
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn the_machine_does_what_it_is_told_and_what_holds_it_up_is_named() {
    let Some(mut world) = World::start().await else {
        return;
    };
    if !world
        .mock(
            "logind",
            r#"{"CanReboot": "challenge", "CanSuspend": "na"}"#,
            LOGIN,
        )
        .await
    {
        return;
    }
    let ctx = world.ctx();
    let preview = |name: &str| crate::find(name).unwrap().preview(json!({}), &ctx);
    assert_eq!(
        preview("system.shutdown").unwrap(),
        "Shut this computer down. What is not saved is lost"
    );
    assert_eq!(
        told(run("system.restart", json!({}), &ctx).await),
        "This computer wants an administrator's password to restart, and I never give one."
    );
    assert_eq!(
        preview("system.sleep").unwrap_err().to_string(),
        "This computer cannot go to sleep."
    );
    // Somebody burns a disc.
    let lock = ("shutdown:sleep", "Disc Burner", "Writing a disc\u{202e}", "block");
    let held: zbus::OwnedFd = world
        .call(
            LOGIN,
            "/org/freedesktop/login1",
            "org.freedesktop.login1.Manager.Inhibit",
            &lock,
        )
        .await;
    let expect = "This computer cannot shut down now: Disc Burner holds it up (Writing a disc).";
    assert_eq!(preview("system.shutdown").unwrap_err().to_string(), expect);
    match run("system.shutdown", json!({}), &ctx).await {
        Err(ToolError::TellOthers(text)) => assert_eq!(text, expect),
        other => panic!("{other:?}"),
    }
    assert!(!world.was_called(" PowerOff "));
    drop(held);
    let began = std::time::Instant::now();
    while preview("system.shutdown").is_err() {
        assert!(began.elapsed() < crate::system::desktop::testing::PATIENCE);
        tokio::time::sleep(std::time::Duration::from_millis(50)).await;
    }
    // A lock that only delays holds nothing up.
    let lock = ("shutdown", "Player", "Saving", "delay");
    let _held: zbus::OwnedFd = world
        .call(
            LOGIN,
            "/org/freedesktop/login1",
            "org.freedesktop.login1.Manager.Inhibit",
            &lock,
        )
        .await;
    assert_eq!(
        said(run("system.shutdown", json!({}), &ctx).await),
        "Shutting down."
    );
    assert!(world.was_called(" PowerOff False"), "no password is asked for");
    let text = told(run("assistant.undo", json!({}), &ctx).await);
    assert!(text.contains("is nothing that I can undo"), "{text}");
}

#[tokio::test(flavor = "multi_thread")]
async fn the_screen_is_locked_and_said_to_be_only_when_it_is() {
    let Some(mut world) = World::start().await else {
        return;
    };
    if !world.mock("logind", "{}", LOGIN).await {
        return;
    }
    assert_eq!(
        power::is_locked(&world.ctx().desk).await,
        None,
        "there is no session"
    );
    session(&world).await;
    let ctx = world.ctx();
    // Many a program that locks does not tell logind, so its no proves nothing.
    assert_eq!(power::is_locked(&ctx.desk).await, None);
    assert_eq!(
        said(run("system.lock", json!({}), &ctx).await),
        "I asked the desktop to lock the screen. It does not say whether it did."
    );
    assert!(world.was_called("Lock"));
    let row = (
        "org.freedesktop.login1.Session",
        "SetLockedHint",
        "b",
        "",
        "self.UpdateProperties('org.freedesktop.login1.Session', {'LockedHint': args[0]})",
    );
    world
        .call::<_, ()>(LOGIN, SESSION, &format!("{MOCK}.AddMethod"), &row)
        .await;
    world
        .call::<_, ()>(
            LOGIN,
            SESSION,
            "org.freedesktop.login1.Session.SetLockedHint",
            &(true,),
        )
        .await;
    assert_eq!(power::is_locked(&ctx.desk).await, Some(true));
    assert_eq!(
        said(run("system.lock", json!({}), &ctx).await),
        "The screen is locked."
    );
}

/// Locks the screen, and says whether it did.
struct Saver(bool);

#[zbus::interface(name = "org.freedesktop.ScreenSaver")]
impl Saver {
    fn get_active(&self) -> bool {
        self.0
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_lock_is_believed_from_who_locks_and_from_nobody_who_is_silent() {
    const SAVER: (&str, &str) = ("org.freedesktop.ScreenSaver", "/org/freedesktop/ScreenSaver");
    for locked in [true, false] {
        let Some(world) = World::start().await else {
            return;
        };
        let desk = world.ctx().desk;
        assert_eq!(power::is_locked(&desk).await, None);
        let _saver = world.serve(SAVER.0, SAVER.1, Saver(locked)).await;
        assert_eq!(power::is_locked(&desk).await, Some(locked));
        // Another locker that does not answer may be the one that locked.
        world.bad("org.gnome.ScreenSaver", Manner::Hangs).await;
        assert_eq!(power::is_locked(&desk).await, locked.then_some(true));
    }
}
