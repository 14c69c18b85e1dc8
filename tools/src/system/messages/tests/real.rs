//! The real kdeconnectd with a phone of ours (phone.py), in a network where nobody else is: nothing of this reaches the
//! phones of whoever runs the tests. Seen with 22.12.3, of Debian 12.

use std::{
    fs,
    io::{BufRead as _, BufReader, Write as _},
    path::{Path, PathBuf},
    process::{Child, ChildStdin, Command, Stdio},
    sync::{Arc, Mutex},
    time::{Duration, Instant},
};

use serde_json::{Value, json};

use super::super::{Service, Trouble, open, recent, send, way};
use super::Recipient;
use crate::{
    Ctx,
    system::desktop::{
        bus::{At, Bus},
        testing::{PATIENCE, World, skipped},
    },
    testing::{run, said},
};

const NAME: &str = "org.kde.kdeconnect";
/// As the app of Android makes it; it stands in the certificate, too.
const DEVICE: &str = "1b2c3d4e5f60718293a4b5c6d7e8f901";
const PLACES: [&str; 4] = [
    "/usr/bin/kdeconnectd",
    "/usr/libexec/kdeconnectd",
    "/usr/lib/kdeconnectd",
    "/usr/lib/kf6/kdeconnectd",
];

/// Where distributions put the daemon; Debian has it in a folder named for the kind of machine.
fn daemon() -> Option<PathBuf> {
    let folders = fs::read_dir("/usr/lib").into_iter().flatten().flatten();
    let named = folders.map(|folder| folder.path().join("libexec/kdeconnectd"));
    PLACES
        .map(PathBuf::from)
        .into_iter()
        .chain(named)
        .find(|path| path.exists())
}

/// The phone, and the daemon that it starts.
struct Phone {
    sandbox: Child,
    orders: ChildStdin,
    /// What it said, a line each.
    said: Arc<Mutex<Vec<Value>>>,
}

impl Drop for Phone {
    fn drop(&mut self) {
        let _ = self.sandbox.kill();
        let _ = self.sandbox.wait();
    }
}

impl Phone {
    /// `None` with a loud line where something for it is missing.
    fn start(world: &World) -> Option<Phone> {
        if cfg!(target_os = "macos") {
            println!("SKIPPED: there is no sandbox like this on macOS.");
            return None;
        }
        let Some(daemon) = daemon() else {
            skipped("kdeconnectd");
            return None;
        };
        let here = Path::new(env!("CARGO_MANIFEST_DIR")).join("src/system/messages/tests");
        let (folder, home) = (world.folder(), world.folder().join("kde"));
        fs::create_dir(&home).unwrap();
        let mut command = Command::new("bwrap");
        for system in ["/usr", "/bin", "/lib", "/lib64", "/etc"] {
            command.args(["--ro-bind-try", system, system]);
        }
        command
            .args(["--proc", "/proc", "--dev", "/dev", "--tmpfs", "/run"])
            .args([
                "--unshare-net",
                "--unshare-pid",
                "--die-with-parent",
                "--clearenv",
            ])
            .args(["--setenv", "PATH", "/usr/bin:/bin", "--setenv", "LANG", "C.UTF-8"])
            .args(["--setenv", "QT_QPA_PLATFORM", "offscreen"])
            .args(["--setenv", "DBUS_SESSION_BUS_ADDRESS", world.address()]);
        for variable in [
            "HOME",
            "XDG_CONFIG_HOME",
            "XDG_DATA_HOME",
            "XDG_CACHE_HOME",
            "XDG_RUNTIME_DIR",
        ] {
            command.arg("--setenv").arg(variable).arg(&home);
        }
        command.arg("--ro-bind").args([&here, &here]);
        command.arg("--bind").args([folder, folder]);
        command
            .args(["python3", "-I"])
            .arg(here.join("phone.py"))
            .arg(daemon)
            .arg(here.join("phone.pem"))
            .arg(DEVICE)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(fs::File::create(world.folder().join("kde.log")).unwrap());
        let Ok(mut sandbox) = command.spawn() else {
            skipped("a sandbox (bwrap)");
            return None;
        };
        let (orders, lines) = (sandbox.stdin.take().unwrap(), sandbox.stdout.take().unwrap());
        let said = Arc::new(Mutex::new(Vec::new()));
        let heard = Arc::clone(&said);
        std::thread::spawn(move || {
            for line in BufReader::new(lines).lines().map_while(Result::ok) {
                heard.lock().unwrap().push(serde_json::from_str(&line).unwrap());
            }
        });
        Some(Phone {
            sandbox,
            orders,
            said,
        })
    }

    /// Tells it to do something, and waits until it is done.
    async fn obey(&mut self, order: Value) {
        let done = json!({"done": true});
        let count = |said: &[Value]| said.iter().filter(|line| **line == done).count();
        let before = count(&self.said.lock().unwrap());
        writeln!(self.orders, "{order}").unwrap();
        self.until("done", |said| count(said) > before).await;
    }

    /// Waits for what it says.
    async fn until(&mut self, what: &str, is: impl Fn(&[Value]) -> bool) {
        let began = Instant::now();
        while !is(&self.said.lock().unwrap()) {
            let ended = self.sandbox.try_wait().unwrap();
            let late = ended.is_some() || began.elapsed() > PATIENCE;
            assert!(!late, "{what}: {ended:?} {:?}", self.said.lock().unwrap());
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    }

    /// What it got of a kind, oldest first.
    fn got(&self, kind: &str) -> Vec<Value> {
        let said = self.said.lock().unwrap();
        let of_kind = said.iter().filter(|line| line["got"] == kind);
        of_kind.map(|line| line["body"].clone()).collect()
    }

    async fn connect(&mut self) {
        let sms = ["request", "request_conversations", "request_conversation"];
        let takes = sms.map(|kind| format!("kdeconnect.sms.{kind}"));
        let gives = ["kdeconnect.sms.messages"];
        let body = json!({"deviceName": "Walk Phone", "deviceType": "phone",
            "incomingCapabilities": takes, "outgoingCapabilities": gives});
        self.obey(json!({"connect": body})).await;
    }
}

/// Calls a method of the phone's object at the daemon.
async fn device(bus: &Bus, method: &str) -> Result<(), Trouble> {
    let at = At {
        name: NAME,
        path: &format!("/modules/kdeconnect/devices/{DEVICE}"),
        interface: "org.kde.kdeconnect.device",
    };
    match method {
        "sms off" | "sms on" => {
            let body = ("kdeconnect_sms", method == "sms on");
            bus.call(at, "setPluginEnabled", &body).await
        }
        method => bus.call(at, method, &()).await,
    }
}

/// Waits until text messages can be sent, or for the reason why they cannot.
async fn until(ctx: &Ctx, expect: Result<(), &str>) {
    let began = Instant::now();
    loop {
        let ways = super::super::ways(&ctx.desk, "", Some(Service::Sms)).await;
        let fits = match (&ways, expect) {
            (Ok(_), Ok(())) => true,
            (Err(error), Err(part)) => error.to_string().contains(part),
            _ => false,
        };
        if fits {
            return;
        }
        assert!(
            began.elapsed() < PATIENCE,
            "{expect:?}: {:?}",
            ways.map(|(_, ways)| ways)
        );
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn real_text_messages_go_through_kde_connect() {
    let Some(world) = World::start().await else {
        return;
    };
    let Some(mut phone) = Phone::start(&world) else {
        return;
    };
    let ctx = world.ctx();
    let card = json!({"name": "Anna Berg", "phone": "+49 171 2345678"});
    said(run("contacts.create", card, &ctx).await);

    // Nothing is paired at first, and a phone that only stands beside it is none to send with.
    phone.obey(json!({"start": null})).await;
    world.wait_for(NAME).await;
    phone.connect().await;
    until(&ctx, Err("No phone is reachable: pair one with KDE Connect")).await;
    let bus = open(&ctx.desk).await.unwrap();
    let began = Instant::now();
    // Later versions have another name for it.
    while device(&bus, "requestPair").await.is_err() && device(&bus, "requestPairing").await.is_err() {
        assert!(began.elapsed() < PATIENCE, "the phone has no object");
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
    until(&ctx, Ok(())).await;
    assert_eq!(phone.got("kdeconnect.pair"), [json!({"pair": true})]);

    // The daemon knows nothing of its messages until it is asked; then it shows what the phone says.
    let none = run("messages.recent", json!({}), &ctx).await;
    assert!(
        matches!(&none, Err(crate::ToolError::TellOthers(text)) if text.starts_with("Walk Phone shows me no messages.")),
        "{none:?}"
    );
    let at = |minutes: i64| (ctx.now.timestamp().as_second() - 60 * minutes) * 1000 + 123;
    let one = |thread: i64, from: &str, text: &str, minutes: i64, kind: i32, read: i32| {
        json!({"addresses": [{"address": from}], "body": text, "date": at(minutes), "type": kind, "read": read,
            "thread_id": thread, "_id": 10 * thread, "event": 1, "sub_id": 1})
    };
    let mut group = one(4, "0301", "", 8, 1, 1);
    group["addresses"] = json!([{"address": "0301"}, {"address": "0302"}]);
    group["attachments"] = json!([{"part_id": 3, "mime_type": "image/jpeg", "encoded_thumbnail": "aGFsbG8=",
        "unique_identifier": "PART_3"}]);
    let messages = [
        one(1, "+491712345678", "Grüße,\n\"Anna\" 🎉", 2, 1, 0),
        one(2, "0305", "a draft", 1, 3, 0),
        one(3, "0309", "lost", 9, 5, 1),
        group,
        one(5, "0301234", "See you", 5, 2, 1),
    ];
    phone.obey(json!({"conversations": messages})).await;
    let all = run("messages.recent", json!({}), &ctx).await.unwrap();
    let row =
        |with: &str, text: &str, minutes: i64, own: bool, unread: bool, failed: bool, attached: &[&str]| {
            let when = jiff::Timestamp::from_millisecond(at(minutes)).unwrap();
            let when = when.to_zoned(ctx.now.time_zone().clone());
            json!({"with": with, "text": text, "at": when.strftime("%Y-%m-%dT%H:%M").to_string(), "own": own,
            "unread": unread, "failed": failed, "attached": attached})
        };
    assert_eq!(
        all.data,
        json!({"found": 4, "unread": 1, "messages": [
            row("Anna Berg", "Grüße,\n\"Anna\" 🎉", 2, false, true, false, &[]),
            row("0301234", "See you", 5, true, false, false, &[]),
            row("0301 and 0302", "", 8, false, false, false, &["picture"]),
            row("0309", "lost", 9, true, false, true, &[]),
        ]})
    );
    // What comes in while it is there is known at once.
    let mut reply = one(5, "0301234", "And you?", 0, 1, 0);
    reply["_id"] = json!(51);
    let news = json!({"version": 2, "messages": [reply]});
    phone
        .obey(json!({"packet": "kdeconnect.sms.messages", "body": news}))
        .await;
    let newest = recent(&ctx.desk).await.unwrap();
    assert_eq!(
        (newest.messages[0].text.as_str(), newest.messages[0].unread),
        ("And you?", true)
    );

    // A message reaches the phone as it was said.
    let text = "Grüße, \"Anna\"\nbis später 🎉 \\ 'ok' {\"a\": 1}";
    let sent = run("messages.send", json!({"to": "anna", "text": text}), &ctx).await;
    assert_eq!(
        said(sent),
        "I gave KDE Connect the message to Anna Berg, for your phone to send."
    );
    let request = "kdeconnect.sms.request";
    phone
        .until(request, |said| said.iter().any(|line| line["got"] == request))
        .await;
    let wanted = json!({"version": 2, "addresses": [{"address": "+491712345678"}], "messageBody": text});
    assert_eq!(phone.got(request), [wanted]);

    // It goes away between the question and the answer, and before the question.
    let anna = Recipient {
        name: "Anna".into(),
        number: "+491712345678".into(),
    };
    let (bus, by) = way(&ctx, None, &anna).await.unwrap();
    phone.obey(json!({"drop": null})).await;
    until(&ctx, Err("KDE Connect cannot reach Walk Phone now.")).await;
    let gone = send(&bus, &by, &anna, "x").await.unwrap_err().to_string();
    assert_eq!(
        gone,
        "The message to Anna was not sent. Walk Phone is not connected any more."
    );
    // It comes back while it is waited for, and what it said before is not kept.
    let comes = async {
        tokio::time::sleep(Duration::from_millis(500)).await;
        phone.connect().await;
    };
    let (ways, ()) = tokio::join!(super::super::ways(&ctx.desk, "", None), comes);
    assert_eq!(ways.unwrap().1, std::slice::from_ref(&by));
    phone.obey(json!({"conversations": []})).await;
    let none = recent(&ctx.desk).await.unwrap_err().to_string();
    assert!(none.starts_with("Walk Phone shows me no messages."), "{none}");

    // Without its plugin, unpaired by the phone, and with a daemon that was killed.
    device(&bus, "sms off").await.unwrap();
    until(&ctx, Err("KDE Connect has no text messages of Walk Phone")).await;
    device(&bus, "sms on").await.unwrap();
    until(&ctx, Ok(())).await;
    phone
        .obey(json!({"packet": "kdeconnect.pair", "body": {"pair": false}}))
        .await;
    until(&ctx, Err("pair one with KDE Connect")).await;
    let gone = send(&bus, &by, &anna, "x").await.unwrap_err().to_string();
    assert!(
        gone.ends_with("was not sent. Walk Phone is not connected any more."),
        "{gone}"
    );
    phone.obey(json!({"kill": null})).await;
    until(&ctx, Err("pair one with KDE Connect")).await;
    let gone = send(&bus, &by, &anna, "x").await.unwrap_err().to_string();
    assert!(
        gone.ends_with("was not sent. Walk Phone is not connected any more."),
        "{gone}"
    );
    assert_eq!(phone.got(request).len(), 1, "nothing was sent twice");
}
