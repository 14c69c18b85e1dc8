//! Programs of the desktop: settings that they keep, pictures that they take, apps that are opened and closed.

use std::{
    fs,
    os::unix::fs::PermissionsExt as _,
    sync::{Arc, Mutex},
    time::{Duration, Instant},
};

use serde_json::json;
use zbus::{Connection, ObjectPath, OwnedObjectPath, OwnedVariant, Variant, interface};

use crate::{
    system::desktop::testing::{PATIENCE, World, skipped},
    testing::{run, said, told},
};

#[tokio::test(flavor = "multi_thread")]
async fn dark_mode_is_a_key_of_the_desktop() {
    let Some(mut world) = World::start().await else {
        return;
    };
    // The answer of the key is kept in a file, as dconf does.
    let kept = world.folder().join("scheme");
    fs::write(&kept, "'default'").unwrap();
    let kept = kept.display().to_string();
    world.program(
        "gsettings",
        &format!("if [ $1 = get ]; then cat {kept}; else echo \"'$4'\" > {kept}; fi"),
    );
    let ctx = world.ctx();
    let dark = async |args| said(run("system.dark_mode", args, &ctx).await);
    assert_eq!(dark(json!({"on": true})).await, "Dark mode is on.");
    assert_eq!(dark(json!({"on": true})).await, "Dark mode is on already.");
    assert_eq!(dark(json!({})).await, "Light mode is on.");
    assert_eq!(fs::read_to_string(&kept).unwrap(), "'default'\n");
    said(run("assistant.undo", json!({}), &ctx).await);
    assert_eq!(fs::read_to_string(&kept).unwrap(), "'prefer-dark'\n");
    assert!(
        world
            .programs()
            .contains("gsettings set org.gnome.desktop.interface color-scheme prefer-dark")
    );
}

/// The real gsettings, where the schemas of desktops are installed; what it keeps lies in this test's folder.
#[tokio::test(flavor = "multi_thread")]
async fn the_real_gsettings_keeps_dark_mode() {
    let Some(world) = World::start().await else {
        return;
    };
    let known = std::process::Command::new("gsettings")
        .args(["range", "org.gnome.desktop.interface", "color-scheme"])
        .output();
    if !known.is_ok_and(|known| known.status.success()) {
        return skipped("gsettings with the settings of desktops");
    }
    let ctx = world.ctx();
    for (dark, expect) in [(true, "Dark mode is on."), (false, "Light mode is on.")] {
        let args = json!({ "on": dark });
        assert_eq!(said(run("system.dark_mode", args, &ctx).await), expect);
    }
    said(run("assistant.undo", json!({}), &ctx).await);
    let args = json!({"on": true});
    assert_eq!(
        said(run("system.dark_mode", args, &ctx).await),
        "Dark mode is on already."
    );
}

/// Plasma has a program of its own, and its portal says what is on.
#[tokio::test(flavor = "multi_thread")]
async fn plasma_is_read_through_the_portal() {
    struct Settings;

    #[interface(name = "org.freedesktop.portal.Settings")]
    impl Settings {
        fn read(&self, namespace: &str, key: &str) -> OwnedVariant {
            assert_eq!((namespace, key), ("org.freedesktop.appearance", "color-scheme"));
            // The first version of the portal wraps twice.
            Variant::Variant(Box::new(Variant::from(1_u32)))
                .try_to_owned()
                .unwrap()
        }
    }

    let Some(mut world) = World::start().await else {
        return;
    };
    let name = "org.freedesktop.portal.Desktop";
    let _portal = world
        .serve(name, "/org/freedesktop/portal/desktop", Settings)
        .await;
    for (name, value) in &mut world.desk().env {
        if name == "XDG_CURRENT_DESKTOP" {
            *value = "KDE".to_owned();
        }
    }
    world.program("plasma-apply-colorscheme", "");
    let ctx = world.ctx();
    assert_eq!(
        said(run("system.dark_mode", json!({"on": true}), &ctx).await),
        "Dark mode is on already."
    );
    assert_eq!(
        said(run("system.dark_mode", json!({}), &ctx).await),
        "Light mode is on."
    );
    assert_eq!(world.programs(), "plasma-apply-colorscheme BreezeLight\n");
}

/// A notification service that says which it is, and what dunst has besides.
struct Server(&'static str);

#[interface(name = "org.freedesktop.Notifications")]
impl Server {
    fn get_server_information(&self) -> (String, String, String, String) {
        (self.0.to_owned(), String::new(), String::new(), String::new())
    }
}

struct Dunst(bool);

#[interface(name = "org.dunstproject.cmd0")]
impl Dunst {
    #[zbus(property, name = "paused")]
    fn paused(&self) -> bool {
        self.0
    }

    #[zbus(property, name = "paused")]
    fn set_paused(&mut self, on: bool) {
        self.0 = on;
    }
}

struct Swaync(bool);

#[interface(name = "org.erikreider.swaync.cc")]
impl Swaync {
    fn get_dnd(&self) -> bool {
        self.0
    }

    fn set_dnd(&mut self, on: bool) {
        self.0 = on;
    }
}

const NOTIFICATIONS: &str = "/org/freedesktop/Notifications";

async fn notifications(world: &World, server: &'static str) -> Connection {
    world
        .serve("org.freedesktop.Notifications", NOTIFICATIONS, Server(server))
        .await
}

#[tokio::test(flavor = "multi_thread")]
async fn each_desktop_has_its_own_do_not_disturb() {
    for server in [
        "dunst",
        "SwayNotificationCenter",
        "gnome-shell",
        "mako",
        "Plasma",
        "Xfce Notify Daemon",
    ] {
        let Some(mut world) = World::start().await else {
            return;
        };
        let service = notifications(&world, server).await;
        service
            .object_server()
            .at(NOTIFICATIONS, Dunst(false))
            .await
            .unwrap();
        let _swaync = world
            .serve(
                "org.erikreider.swaync.cc",
                "/org/erikreider/swaync/cc",
                Swaync(false),
            )
            .await;
        let kept = world.folder().join("kept").display().to_string();
        // Plasma leaves the end of the last time there.
        let before = if server == "Plasma" { "2020,1,1,0,0,0" } else { "" };
        fs::write(&kept, before).unwrap();
        // Each program keeps what it is told last.
        world.program(
            "gsettings",
            &format!("if [ $1 = get ]; then cat {kept}; else echo $4 > {kept}; fi"),
        );
        world.program("makoctl", &format!("if [ \"$2\" = -a ]; then echo $3 > {kept}; elif [ \"$2\" = -r ]; then echo > {kept}; else cat {kept}; fi"));
        world.program("kreadconfig6", &format!("cat {kept}"));
        world.program("kwriteconfig6", &format!("echo $8 > {kept}"));
        world.program(
            "xfconf-query",
            &format!("if [ $5x = x ]; then cat {kept}; else echo $9 > {kept}; fi"),
        );
        let ctx = world.ctx();
        let set = async |on: bool| said(run("system.do_not_disturb", json!({ "on": on }), &ctx).await);
        assert_eq!(set(true).await, "Do not disturb is on.", "{server}");
        assert_eq!(set(true).await, "Do not disturb is on already.", "{server}");
        said(run("assistant.undo", json!({}), &ctx).await);
        assert_eq!(
            set(false).await,
            "Do not disturb is off already.",
            "{server}: {}",
            world.programs()
        );
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn an_unknown_desktop_is_told() {
    let Some(mut world) = World::start().await else {
        return;
    };
    let _service = notifications(&world, "Purple Shell").await;
    world.program("true", "");
    let text = told(run("system.do_not_disturb", json!({}), &world.ctx()).await);
    assert_eq!(text, "This desktop has no do not disturb that I can switch.");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_notification_is_shown_and_takes_no_markup() {
    let Some(mut world) = World::start().await else {
        return;
    };
    if !world
        .mock("notification_daemon", "{}", "org.freedesktop.Notifications")
        .await
    {
        return;
    }
    let ctx = world.ctx();
    let args = json!({"title": "Tea", "text": "<b>5 & up</b>"});
    assert_eq!(said(run("system.notify", args, &ctx).await), "I showed it.");
    assert!(
        world.was_called("\"Tea\" \"&lt;b&gt;5 &amp; up&lt;/b&gt;\""),
        "{:?}",
        fs::read_to_string(world.log())
    );
    assert_eq!(
        told(run("system.notify", json!({"text": " \u{202e}"}), &ctx).await),
        "What shall the notification say?"
    );
}

const PORTAL: &str = "/org/freedesktop/portal/desktop";

/// A portal that answers what it is told to.
struct Portal {
    code: u32,
    uri: String,
}

#[interface(name = "org.freedesktop.portal.Screenshot")]
impl Portal {
    async fn screenshot(
        &self,
        _window: &str,
        options: std::collections::HashMap<String, OwnedVariant>,
        #[zbus(header)] header: zbus::message::Header<'_>,
        #[zbus(connection)] connection: &Connection,
    ) -> OwnedObjectPath {
        let sender = header.sender().unwrap().trim_start_matches(':').replace('.', "_");
        let token = String::try_from(options["handle_token"].clone()).unwrap();
        let path = format!("{PORTAL}/request/{sender}/{token}");
        let results = std::collections::HashMap::from([("uri", Variant::from(self.uri.as_str()))]);
        let body = (self.code, results);
        let interface = "org.freedesktop.portal.Request";
        // Before the method has answered: who listens only then has missed it.
        let sender = header.sender().cloned();
        connection
            .emit_signal(
                sender,
                ObjectPath::try_from(path.as_str()).unwrap(),
                interface,
                "Response",
                &body,
            )
            .await
            .unwrap();
        OwnedObjectPath::try_from(path).unwrap()
    }

    #[zbus(property, name = "version")]
    fn version(&self) -> u32 {
        2
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn the_portal_takes_the_picture() {
    for (code, uri, expect) in [
        (
            0,
            "file://{}/Pictures/Shot%201.png",
            "I saved the screenshot in Pictures.",
        ),
        (1, "", "No picture was taken: the desktop was told no."),
        (
            0,
            "http://example.org/x.png",
            "gave an answer that I do not understand",
        ),
        (2, "", "cannot do that here"),
    ] {
        let Some(mut world) = World::start().await else {
            return;
        };
        let folder = world.folder().join("Pictures");
        fs::create_dir(&folder).unwrap();
        fs::write(folder.join("Shot 1.png"), b"\x89PNG").unwrap();
        let uri = uri.replace("{}", &world.folder().display().to_string());
        let portal = Portal { code, uri };
        let _portal = world
            .serve("org.freedesktop.portal.Desktop", PORTAL, portal)
            .await;
        // No other program takes pictures here.
        let bin = world.folder().join("bin");
        world.desk().path = bin.into_os_string();
        let text = match run("system.screenshot", json!({}), &world.ctx()).await {
            Ok(output) => output.say,
            Err(error) => error.to_string(),
        };
        match code {
            2 => assert!(
                text.contains("Nothing here can take") || text.contains(expect),
                "{text}"
            ),
            _ => assert!(text.contains(expect), "{text}"),
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn without_a_portal_a_program_takes_the_picture() {
    let Some(mut world) = World::start().await else {
        return;
    };
    world.program("grim", "printf '\\211PNG' > \"$1\"");
    for (name, value) in &mut world.desk().env {
        if name == "WAYLAND_DISPLAY" {
            *value = "wayland-7".to_owned();
        }
    }
    let ctx = world.ctx();
    for _ in 0..2 {
        assert_eq!(
            said(run("system.screenshot", json!({}), &ctx).await),
            "I saved the screenshot in pictures."
        );
    }
    assert_eq!(
        crate::testing::files(&ctx.dirs.pictures).len(),
        2,
        "two pictures of one second"
    );
    said(run("assistant.undo", json!({"steps": 2}), &ctx).await);
    assert_eq!(fs::read_dir(&ctx.dirs.pictures).unwrap().count(), 0);
    let guard = crate::testing::ReadOnly::of(&ctx.dirs.pictures);
    let refused = crate::testing::unprivileged(async || run("system.screenshot", json!({}), &ctx).await);
    drop(guard);
    let text = told(refused);
    assert!(
        text.contains("pictures") && text.contains("then try again"),
        "{text}"
    );
    world.program("grim", "echo no > \"$1\"");
    assert_eq!(
        told(run("system.screenshot", json!({}), &ctx).await),
        "What came back is no picture."
    );
    world.program("grim", "exit 1");
    assert_eq!(
        told(run("system.screenshot", json!({}), &ctx).await),
        "grim could not take a picture of the screen."
    );
}

/// The user manager of systemd, as far as opening an app asks it.
#[derive(Default)]
struct Manager(Arc<Mutex<Vec<(String, u32)>>>);

type Property = (String, OwnedVariant);

#[interface(name = "org.freedesktop.systemd1.Manager")]
impl Manager {
    fn start_transient_unit(
        &self,
        name: String,
        mode: String,
        properties: Vec<Property>,
        _others: Vec<(String, Vec<Property>)>,
    ) -> OwnedObjectPath {
        assert_eq!(mode, "fail");
        let pids = properties.into_iter().find(|(name, _)| name == "PIDs").unwrap().1;
        let pids = Vec::<u32>::try_from(pids).unwrap();
        self.0.lock().unwrap().push((name, pids[0]));
        OwnedObjectPath::try_from("/org/freedesktop/systemd1/job/1").unwrap()
    }
}

/// Installs an app that is a script; the file is its own program.
fn install(world: &World, id: &str, name: &str, body: &str) {
    let apps = world.folder().join("applications");
    fs::create_dir_all(&apps).unwrap();
    let program = world.folder().join(id);
    fs::write(&program, format!("#!/bin/sh\n{body}\n")).unwrap();
    fs::set_permissions(&program, fs::Permissions::from_mode(0o755)).unwrap();
    let entry = format!(
        "[Desktop Entry]\nType=Application\nName={name}\nExec={}\n",
        program.display()
    );
    fs::write(apps.join(format!("{id}.desktop")), entry).unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn apps_are_opened_in_a_scope_listed_and_closed() {
    let Some(world) = World::start().await else { return };
    let manager = Manager::default();
    let asked = Arc::clone(&manager.0);
    let _manager = world
        .serve("org.freedesktop.systemd1", "/org/freedesktop/systemd1", manager)
        .await;
    // Names that no program of the machine has, for the list looks at real processes.
    let unique = std::process::id();
    let (good, stubborn) = (format!("tiro-good-{unique}"), format!("tiro-stubborn-{unique}"));
    install(&world, &good, "Garden Planner", "while :; do sleep 0.1; done");
    install(
        &world,
        &stubborn,
        "Stubborn Editor",
        "trap '' TERM\nwhile :; do sleep 0.1; done",
    );
    let ctx = world.ctx();
    let list = async || run("system.list_apps", json!({}), &ctx).await.unwrap().data["apps"].clone();
    assert_eq!(list().await, json!([]));
    assert_eq!(
        told(run("system.quit_app", json!({"name": "garden planner"}), &ctx).await),
        "Garden Planner is not open."
    );
    said(run("system.open_app", json!({"name": "garden planer"}), &ctx).await);
    said(run("system.open_app", json!({"name": "stubborn editor"}), &ctx).await);
    let scopes = asked.lock().unwrap().clone();
    assert_eq!(scopes.len(), 2);
    let (name, pid) = &scopes[0];
    assert_eq!(name, &format!("app-tiro-tiro\\x2dgood\\x2d{unique}-{pid}.scope"));
    assert_eq!(list().await, json!(["Garden Planner", "Stubborn Editor"]));
    let installed = run("system.list_apps", json!({"which": "installed"}), &ctx)
        .await
        .unwrap();
    assert!(
        installed.say.starts_with("2 apps are installed") || installed.say.starts_with("Two apps"),
        "{}",
        installed.say
    );

    let entry = crate::find("system.quit_app").unwrap();
    assert_eq!(
        entry.preview(json!({"name": "garden"}), &ctx).unwrap(),
        "Close Garden Planner"
    );
    assert_eq!(
        list().await,
        json!(["Garden Planner", "Stubborn Editor"]),
        "a preview closes nothing"
    );
    assert_eq!(
        said(run("system.quit_app", json!({"name": "the garden planner"}), &ctx).await),
        "I closed Garden Planner."
    );
    assert_eq!(
        told(run("system.quit_app", json!({"name": "stubborn"}), &ctx).await),
        "I asked Stubborn Editor to close and it is still open. It may be asking you something."
    );
    assert_eq!(list().await, json!(["Stubborn Editor"]));
    assert_eq!(
        told(run("system.quit_app", json!({"name": "purple"}), &ctx).await),
        "No installed program is called \"purple\"."
    );
    let stubborn = i32::try_from(scopes[1].1).unwrap();
    rustix::process::kill_process(
        rustix::process::Pid::from_raw(stubborn).unwrap(),
        rustix::process::Signal::KILL,
    )
    .unwrap();
    let began = Instant::now();
    while list().await != json!([]) {
        assert!(began.elapsed() < PATIENCE);
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
}

#[tokio::test]
async fn disks_are_told_and_found_by_name() {
    let Some(mut world) = World::start().await else {
        return;
    };
    let ask = async |world: &World, args| run("system.disk_usage", args, &world.ctx()).await;
    let own = ask(&world, json!({})).await.unwrap();
    assert_eq!(own.data["disks"][0]["name"], "system", "{own:?}");
    // Two file systems in a table of our own, both of them this one.
    let root = world.folder().to_owned();
    let proc = root.join("proc/self");
    fs::create_dir_all(&proc).unwrap();
    let stick = root.join("HOLIDAY 24");
    fs::create_dir(&stick).unwrap();
    let place = stick.display().to_string().replace(' ', "\\040");
    let table = format!("1 1 8:1 / / rw - ext4 /dev/sda1 rw\n2 1 8:2 / {place} rw - vfat /dev/sdb1 rw\n");
    fs::write(proc.join("mountinfo"), table).unwrap();
    world.desk().root = root;
    let both = ask(&world, json!({})).await.unwrap();
    assert_eq!(both.data["disks"].as_array().unwrap().len(), 2, "{both:?}");
    let one = ask(&world, json!({"disk": "my holliday stick"})).await;
    let text = match one {
        Ok(output) => output.say,
        Err(error) => error.to_string(),
    };
    assert!(text.contains("HOLIDAY 24"), "{text}");
    let stick = ask(&world, json!({"disk": "holiday 24"})).await.unwrap();
    assert!(
        stick.say.starts_with("HOLIDAY 24: ") && stick.untrusted,
        "{stick:?}"
    );
    let text = told(ask(&world, json!({"disk": "purple"})).await);
    assert!(text.contains("no disk called \"purple\""), "{text}");
}
