//! The status icon, as a bar sees it: registered with whoever collects icons, its state, its menu, and who may press.

use std::{
    collections::HashMap,
    path::Path,
    process::{Command, Stdio},
    sync::{Arc, Mutex},
    time::{Duration, Instant},
};

use daemon::bus::Tiro1Proxy;
use futures_util::StreamExt as _;
use models::scripted::{Reply, ScriptedLlm};
use serde::{Serialize, de::DeserializeOwned};
use zbus::{
    Connection, DynamicType, MatchRule, MessageStream, OwnedVariant, Type, Variant, connection, interface,
};

use crate::{
    daemon_loop::{Running, ask, ask_with, asking_tools, call, note},
    desktop::{Bus, Desktop, PATIENCE, Programs, sandbox, screen, skipped},
    session::arrives,
};

const WATCHER: &str = "org.kde.StatusNotifierWatcher";
const ITEM: &str = "org.kde.StatusNotifierItem";
const MENU: &str = "com.canonical.dbusmenu";

/// What a bar of a desktop is: it collects icons, and shows them.
#[derive(Default, Clone)]
struct Bar {
    registered: Arc<Mutex<Vec<String>>>,
}

#[interface(name = "org.kde.StatusNotifierWatcher")]
impl Bar {
    fn register_status_notifier_item(&self, service: String) {
        self.registered.lock().unwrap().push(service);
    }

    #[zbus(property)]
    fn is_status_notifier_host_registered(&self) -> bool {
        true
    }

    #[zbus(property)]
    fn protocol_version(&self) -> i32 {
        0
    }
}

impl Bar {
    async fn serve(&self, bus: &Bus) -> Connection {
        connection::Builder::address(bus.address.as_str())
            .name(WATCHER)
            .serve_at("/StatusNotifierWatcher", self.clone())
            .build()
            .await
            .unwrap()
    }

    /// Waits for the n-th registration.
    async fn registered(&self, n: usize) -> String {
        let began = Instant::now();
        loop {
            if let Some(service) = self.registered.lock().unwrap().get(n) {
                return service.clone();
            }
            assert!(began.elapsed() < PATIENCE, "icon {n} does not come");
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
    }
}

/// The icon, as a program on the bus sees it.
struct Item {
    on: Connection,
    service: String,
}

/// A menu with its number.
type Layout = (u32, (i32, HashMap<String, OwnedVariant>, Vec<OwnedVariant>));

/// A row: what it says, whether it can be pressed, its check mark.
type Row = (String, bool, Option<i32>);

impl Item {
    async fn call<B, T>(&self, at: &str, on: &str, method: &str, body: &B) -> zbus::Result<T>
    where
        B: Serialize + DynamicType + Sync,
        T: DeserializeOwned + Type,
    {
        let service = Some(self.service.as_str());
        let reply = self.on.call_method(service, at, Some(on), method, body).await?;
        reply.body().deserialize()
    }

    async fn get(&self, name: &str) -> OwnedVariant {
        let on = "org.freedesktop.DBus.Properties";
        self.call("/StatusNotifierItem", on, "Get", &(ITEM, name))
            .await
            .unwrap()
    }

    async fn text(&self, name: &str) -> String {
        String::try_from(self.get(name).await).unwrap()
    }

    /// Waits until it is so.
    async fn until(&self, name: &str, expect: &str) {
        let began = Instant::now();
        while self.text(name).await != expect {
            assert!(
                began.elapsed() < PATIENCE,
                "{name} stays {}",
                self.text(name).await
            );
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
    }

    /// Title and text.
    async fn tip(&self) -> (String, String) {
        let tip = self.get("ToolTip").await;
        let Variant::Structure(tip) = &*tip else {
            panic!("{tip:?}");
        };
        let text = |n: usize| match &tip.fields()[n] {
            Variant::Str(text) => text.as_str().to_owned(),
            other => panic!("{other:?}"),
        };
        assert_eq!(text(0), "");
        (text(2), text(3))
    }

    async fn rows(&self) -> HashMap<i32, Row> {
        let rows: Vec<(i32, HashMap<String, OwnedVariant>)> = self
            .call(
                "/MenuBar",
                MENU,
                "GetGroupProperties",
                &(Vec::<i32>::new(), Vec::<String>::new()),
            )
            .await
            .unwrap();
        let label = |row: &HashMap<String, OwnedVariant>| {
            let label = row.get("label").map(|label| label.try_clone().unwrap());
            label.map(|label| String::try_from(label).unwrap())
        };
        let shown = |(id, row): (i32, HashMap<String, OwnedVariant>)| {
            let enabled = !row.contains_key("enabled");
            let checked = row.get("toggle-state").map(|state| i32::try_from(state).unwrap());
            Some((id, (label(&row)?, enabled, checked)))
        };
        rows.into_iter().filter_map(shown).collect()
    }

    /// The number of the row that says this.
    async fn row(&self, label: &str) -> i32 {
        let rows = self.rows().await;
        let found = rows.iter().find(|(_, row)| row.0 == label);
        *found.unwrap_or_else(|| panic!("no {label}: {rows:?}")).0
    }

    async fn click(&self, label: &str) {
        let clicked = (self.row(label).await, "clicked", Variant::from(0_i32), 0_u32);
        self.call::<_, ()>("/MenuBar", MENU, "Event", &clicked)
            .await
            .unwrap();
    }
}

/// A daemon with an icon, and a bar that shows it.
struct World {
    running: Running,
    bar: Bar,
    item: Item,
    bus: Bus,
}

impl World {
    async fn start(script: impl IntoIterator<Item = Reply>) -> Option<World> {
        let running = Running::start_with(ScriptedLlm::replies(script), |parts| {
            asking_tools(parts);
            parts.settings.loading.core.push("calendar.query".into());
            parts.ring.bus = Some("unix:path=/nowhere/at/all".to_owned());
            parts.limits.patience = PATIENCE;
        })
        .await;
        let bus = Bus::start(running.home.path())?;
        let bar = Bar::default();
        let on = bar.serve(&bus).await;
        running.attend_with_icon(&bus.address);
        let service = bar.registered(0).await;
        let item = Item { on, service };
        Some(World {
            running,
            bar,
            item,
            bus,
        })
    }
}

fn hang() -> Reply {
    Reply::Hang("Once upon".into())
}

fn tomorrow() -> Reply {
    Reply::Text(call("calendar.query", r#"{"when": "tomorrow"}"#))
}

/// Waits for these signals in any order, and sees to it that there are no others and no words in them.
async fn signalled(signals: &mut MessageStream, members: &[&str]) {
    let mut missing = members.to_vec();
    while !missing.is_empty() {
        let next = tokio::time::timeout(PATIENCE, signals.next()).await;
        let message = next
            .unwrap_or_else(|_| panic!("no {missing:?}"))
            .unwrap()
            .unwrap();
        let header = message.header();
        let member = header.member().unwrap().as_str();
        let body = message.body();
        let known = match member {
            "NewIcon" | "NewToolTip" => body.signature() == "",
            "NewStatus" => body
                .deserialize::<String>()
                .is_ok_and(|s| s == "Active" || s == "NeedsAttention"),
            "LayoutUpdated" => body
                .deserialize::<(u32, i32)>()
                .is_ok_and(|(_, parent)| parent == 0),
            _ => false,
        };
        assert!(known, "{message:?}");
        missing.retain(|m| *m != member);
    }
}

#[tokio::test]
async fn the_icon_shows_what_goes_on_and_its_menu_does_what_it_says() {
    let script = [hang(), tomorrow(), Reply::Text(note("milk"))];
    let Some(World {
        running, item, bus, ..
    }) = World::start(script).await
    else {
        return;
    };
    for (name, expect) in [
        ("Category", "ApplicationStatus"),
        ("Id", "tiro"),
        ("Title", "Tiro"),
        ("Status", "Active"),
        ("IconName", "audio-input-microphone-symbolic"),
    ] {
        assert_eq!(item.text(name).await, expect);
    }
    assert_eq!(*item.get("ItemIsMenu").await, Variant::from(false));
    assert!(matches!(&*item.get("Menu").await, Variant::ObjectPath(path) if *path == "/MenuBar"));
    assert_eq!(item.tip().await, ("Tiro is ready.".to_owned(), String::new()));
    let Variant::Array(pictures) = &*item.get("IconPixmap").await else {
        panic!("no pictures");
    };
    assert_eq!(pictures.len(), 2);

    // Everything that a bar is told from here on.
    let rule = MatchRule::builder()
        .msg_type(zbus::message::Type::Signal)
        .sender(item.service.as_str());
    let mut signals = MessageStream::for_match_rule(rule.build().unwrap(), &item.on, None)
        .await
        .unwrap();
    let client = running.client().await;
    let story = tokio::spawn(async move { ask(&client, "tell me a story").await });
    item.until("IconName", "emblem-synchronizing-symbolic").await;
    signalled(&mut signals, &["NewIcon", "NewToolTip", "LayoutUpdated"]).await;
    assert!(item.rows().await[&6].1, "there is something to cancel");
    running.until_asked(1).await;
    item.click("Cancel").await;
    assert!(story.await.unwrap().is_err());
    item.until("IconName", "audio-input-microphone-symbolic").await;
    assert!(!item.rows().await[&6].1);

    let client = running.client().await;
    let answer = ask(&client, "what do I have tomorrow").await.unwrap().reply;
    running.until("done", |s| s.turns == 1).await;
    let (title, text) = item.tip().await;
    assert_eq!(title, "Tiro is ready.");
    assert!(text.contains("Dentist") && answer.contains("Dentist"), "{text}");
    let rows = item.rows().await;
    assert!(rows[&2].0.contains("Dentist") && !rows[&2].1, "{rows:?}");
    let (_, (root, _, children)): Layout = item
        .call("/MenuBar", MENU, "GetLayout", &(0, -1, ["label"].as_slice()))
        .await
        .unwrap();
    assert_eq!((root, children.len()), (0, 8));
    assert!(format!("{children:?}").contains("Dentist"));

    // A question wants attention until it is answered.
    let client = running.client().await;
    let turn = tokio::spawn(async move { ask_with(&client, "note milk", &["notify"]).await.unwrap() });
    item.until("Status", "NeedsAttention").await;
    signalled(&mut signals, &["NewStatus"]).await;
    assert_eq!(item.text("IconName").await, "dialog-question-symbolic");
    item.click("Cancel").await;
    assert!(turn.await.is_err());
    item.until("Status", "Active").await;
    signalled(&mut signals, &["NewStatus"]).await;

    let socket = running.client().await;
    let proxy = Tiro1Proxy::new(&socket).await.unwrap();
    item.click("Mute microphone").await;
    item.until("IconName", "microphone-sensitivity-muted-symbolic")
        .await;
    signalled(&mut signals, &["NewIcon", "LayoutUpdated"]).await;
    let rows = item.rows().await;
    assert_eq!((rows[&4].1, rows[&5].2), (false, Some(1)), "{rows:?}");
    let status = running.status().await;
    assert!(status.muted && status.state == "muted");
    assert_eq!(proxy.listen("toggle").await.unwrap(), "muted");
    let (kept, began) = (running.home.dirs().state.join("microphone-muted"), Instant::now());
    while !kept.exists() {
        assert!(began.elapsed() < PATIENCE, "it is not kept");
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
    item.click("Mute microphone").await;
    item.until("IconName", "audio-input-microphone-symbolic").await;
    running
        .until("open again", |s| !s.muted && s.state == "idle")
        .await;

    item.click("Quit Tiro").await;
    running.ends().await;
    drop(bus);
}

#[tokio::test]
async fn a_bar_that_comes_later_or_again_gets_the_icon() {
    let running = Running::start(ScriptedLlm::replies::<&str>([])).await;
    let Some(bus) = Bus::start(running.home.path()) else {
        return;
    };
    running.attend_with_icon(&bus.address);
    let client = bus.client().await;
    arrives(&client).await;
    let bar = Bar::default();
    for n in 0..3 {
        let on = bar.serve(&bus).await;
        let service = bar.registered(n).await;
        let item = Item { on, service };
        assert_eq!(item.text("Id").await, "tiro");
        match n {
            // It ends, or only gives its name back.
            0 => item.on.close().await.unwrap(),
            _ => _ = item.on.release_name(WATCHER).await.unwrap(),
        }
    }
    // One that has the name and never answers holds up nothing.
    let stuck = bus.client().await;
    stuck.request_name(WATCHER).await.unwrap();
    let socket = running.client().await;
    let proxy = Tiro1Proxy::new(&socket).await.unwrap();
    assert_eq!(proxy.listen("mute").await.unwrap(), "muted");
    let item = Item {
        on: stuck,
        service: bar.registered(2).await,
    };
    item.until("IconName", "microphone-sensitivity-muted-symbolic")
        .await;
}

/// Calls a method in a sandbox that has the bus before it and not the person's files; what it printed.
fn from_a_sandbox(bus: &Bus, item: &Item, path: &str, method: &str, arguments: &[&str]) -> Option<String> {
    let socket = bus.address.strip_prefix("unix:path=").unwrap();
    let mut command = sandbox();
    command
        .args(["--ro-bind", socket, socket])
        .args(["dbus-send", "--print-reply", "--reply-timeout=60000"])
        .arg(format!("--bus={}", bus.address))
        .arg(format!("--dest={}", item.service))
        .args([path, method])
        .args(arguments);
    match command.output() {
        Ok(out) if !out.stderr.starts_with(b"bwrap:") => {
            let said = [out.stdout, out.stderr].concat();
            Some(String::from_utf8_lossy(&said).into_owned())
        }
        other => {
            skipped(&format!("a sandbox (bwrap: {other:?})"));
            None
        }
    }
}

// The sandbox is waited for on a thread of its own.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn who_does_not_reach_the_socket_reads_no_answer_and_presses_nothing() {
    let Some(world) = World::start([tomorrow(), hang()]).await else {
        return;
    };
    let (running, item, bus) = (&world.running, &world.item, &world.bus);
    let client = running.client().await;
    ask(&client, "what do I have tomorrow").await.unwrap();
    running.until("done", |s| s.turns == 1).await;
    assert!(item.tip().await.1.contains("Dentist"), "the bar may");
    let client = running.client().await;
    let story = tokio::spawn(async move { ask(&client, "tell me a story").await });
    item.until("IconName", "emblem-synchronizing-symbolic").await;

    let get = "org.freedesktop.DBus.Properties.Get";
    let of = ["string:org.kde.StatusNotifierItem", "string:ToolTip"];
    let layout = ["int32:0", "int32:-1", "array:string:label"];
    for (path, method, arguments, sees) in [
        ("/StatusNotifierItem", get, of.as_slice(), "Tiro is thinking."),
        (
            "/StatusNotifierItem",
            "org.freedesktop.DBus.Properties.GetAll",
            &of[..1],
            "Tiro is thinking.",
        ),
        (
            "/MenuBar",
            "com.canonical.dbusmenu.GetLayout",
            &layout,
            "Quit Tiro",
        ),
        (
            "/MenuBar",
            "com.canonical.dbusmenu.GetGroupProperties",
            &["array:int32:1,2,8", "array:string:label"],
            "Quit Tiro",
        ),
    ] {
        let Some(said) = from_a_sandbox(bus, item, path, method, arguments) else {
            return;
        };
        assert!(
            said.contains(sees) && !said.contains("Dentist"),
            "{method}: {said}"
        );
    }
    let press = |id: &str| [id, "string:clicked", "variant:int32:0", "uint32:0"].map(str::to_owned);
    let before = running.status().await;
    for row in ["int32:4", "int32:5", "int32:6", "int32:8"] {
        let arguments = press(row);
        let arguments = arguments.each_ref().map(String::as_str);
        let method = "com.canonical.dbusmenu.Event";
        let said = from_a_sandbox(bus, item, "/MenuBar", method, &arguments).unwrap();
        assert!(said.contains("AccessDenied"), "{row}: {said}");
    }
    let activate = "org.kde.StatusNotifierItem.Activate";
    let said = from_a_sandbox(
        bus,
        item,
        "/StatusNotifierItem",
        activate,
        &["int32:0", "int32:0"],
    )
    .unwrap();
    assert!(said.contains("AccessDenied"), "{said}");
    let after = running.status().await;
    assert_eq!((after.muted, after.state), (before.muted, before.state));
    assert!(!story.is_finished());
    // The same from outside of it counts.
    item.click("Cancel").await;
    assert!(story.await.unwrap().is_err());
}

/// A bar with nothing but icons, at the upper left corner.
const PANEL: &str = r#"<?xml version="1.0" encoding="UTF-8"?>
<channel name="xfce4-panel" version="1.0">
  <property name="configver" type="int" value="2"/>
  <property name="panels" type="array">
    <value type="int" value="1"/>
    <property name="panel-1" type="empty">
      <property name="position" type="string" value="p=6;x=0;y=0"/>
      <property name="length" type="uint" value="100"/>
      <property name="size" type="uint" value="30"/>
      <property name="plugin-ids" type="array"><value type="int" value="1"/></property>
    </property>
  </property>
  <property name="plugins" type="empty"><property name="plugin-1" type="string" value="systray"/></property>
</channel>
"#;

/// Starts Xfce's bar on an X server of its own, and says which; `None` with a loud line where one of its parts is not
/// there.
fn xfce(folder: &Path, bus: &Bus) -> Option<(Programs, String)> {
    let config = folder.join("xfce4/xfconf/xfce-perchannel-xml");
    std::fs::create_dir_all(&config).unwrap();
    std::fs::write(config.join("xfce4-panel.xml"), PANEL).unwrap();
    // Its configuration is a service, which nothing but the bus starts.
    let service = "org.xfce.Xfconf.service";
    if std::fs::copy(
        Path::new("/usr/share/dbus-1/services").join(service),
        bus.services.join(service),
    )
    .is_err()
    {
        skipped("Xfce's bar");
        return None;
    }
    let (mut programs, display) = screen()?;
    let started = Command::new("xfce4-panel")
        .arg("--disable-wm-check")
        .env("DISPLAY", &display)
        .env("DBUS_SESSION_BUS_ADDRESS", &bus.address)
        .envs(homes(folder))
        .env("NO_AT_BRIDGE", "1")
        .env_remove("WAYLAND_DISPLAY")
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn();
    let Ok(panel) = started else {
        skipped("Xfce's bar");
        return None;
    };
    programs.0.push(panel);
    Some((programs, display))
}

/// What keeps a desktop's programs in one folder.
fn homes(folder: &Path) -> [(&'static str, &Path); 6] {
    [
        ("HOME", folder),
        ("XDG_CONFIG_HOME", folder),
        ("XDG_CACHE_HOME", folder),
        ("XDG_DATA_HOME", folder),
        ("XDG_RUNTIME_DIR", folder),
        ("GSETTINGS_BACKEND", Path::new("memory")),
    ]
}

/// Moves the pointer and presses keys; `false` where nobody can.
async fn xdotool(display: &str, words: &[&str]) -> bool {
    let mut command = tokio::process::Command::new("xdotool");
    let done = command.args(words).env("DISPLAY", display).status().await;
    // For what was pressed to be drawn.
    tokio::time::sleep(Duration::from_millis(300)).await;
    done.is_ok()
}

#[tokio::test]
async fn the_bar_of_a_real_desktop_shows_it_and_its_menu_mutes() {
    let folder = tempfile::tempdir().unwrap();
    let Some(bus) = Bus::start_with(folder.path(), &homes(folder.path())) else {
        return;
    };
    let Some((_programs, display)) = xfce(folder.path(), &bus) else {
        return;
    };
    let desktop = Desktop::default();
    let _desktop = desktop.serve(&bus).await;
    let running = Running::start_with(ScriptedLlm::replies::<&str>([]), |parts| {
        parts.ring.bus = Some(bus.address.clone());
    })
    .await;
    running.attend_with_icon(&bus.address);
    let (client, began) = (bus.client().await, Instant::now());
    loop {
        let on = "org.freedesktop.DBus.Properties";
        let of = (WATCHER, "RegisteredStatusNotifierItems");
        let reply = client
            .call_method(Some(WATCHER), "/StatusNotifierWatcher", Some(on), "Get", &of)
            .await;
        if reply.is_ok_and(|reply| format!("{:?}", reply.body().deserialize::<OwnedVariant>()).contains(ITEM))
        {
            break;
        }
        assert!(began.elapsed() < PATIENCE, "the bar does not take the icon");
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
    // The right button opens the menu; of its rows only some can be reached: Listen is the first, Mute the second.
    while !running.status().await.muted {
        assert!(began.elapsed() < 2 * PATIENCE, "the menu does not mute");
        if !xdotool(&display, &["key", "Escape"]).await {
            return skipped("xdotool");
        }
        xdotool(&display, &["mousemove", "15", "15", "click", "3"]).await;
        xdotool(&display, &["key", "Down"]).await;
        xdotool(&display, &["key", "Down"]).await;
        xdotool(&display, &["key", "Return"]).await;
    }
    // The left button wants to listen, and hears why nobody does.
    while desktop.count() == 0 {
        assert!(began.elapsed() < 2 * PATIENCE, "a click does nothing");
        xdotool(&display, &["mousemove", "15", "15", "click", "1"]).await;
    }
    assert_eq!(desktop.shown(0).await.text, prompts::words::muted());
}

#[tokio::test]
async fn what_is_wrong_with_a_call_is_said() {
    let Some(world) = World::start([]).await else {
        return;
    };
    let item = &world.item;
    let layout = async |parent: i32| {
        let arguments = (parent, -1, [""; 0].as_slice());
        let answer: zbus::Result<Layout> = item.call("/MenuBar", MENU, "GetLayout", &arguments).await;
        answer
    };
    assert_eq!(layout(8).await.unwrap().1.2.len(), 0);
    assert!(layout(99).await.unwrap_err().to_string().contains("no row 99"));
    let event = |id: i32| (id, "clicked", Variant::from(0_i32), 0_u32);
    let group = async |events: Vec<(i32, &str, Variant<'_>, u32)>| {
        item.call::<_, Vec<i32>>("/MenuBar", MENU, "EventGroup", &(events,))
            .await
    };
    // A row that cannot be pressed is there; nothing happens.
    assert_eq!(group(vec![event(6), event(99), event(1)]).await.unwrap(), [99]);
    let many = group((0..17).map(|_| event(5)).collect()).await;
    assert!(many.unwrap_err().to_string().contains("at most 16"));
    assert!(!world.running.status().await.muted);
    assert_eq!(world.bar.registered.lock().unwrap().len(), 1);
}
