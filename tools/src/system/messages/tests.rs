//! Messages against services of our own on a private bus.

use std::{
    sync::{Arc, Mutex},
    time::Duration,
};

use zbus::{Connection, OwnedVariant, Structure, Variant, connection::Builder};

use super::*;
use crate::{
    system::desktop::testing::{Manner, World},
    testing::ctx,
};

/// What was sent: number, text.
pub type Sent = Arc<Mutex<Vec<(String, String)>>>;

struct Signal(Sent);

#[zbus::interface(name = "org.asamk.Signal")]
impl Signal {
    #[zbus(name = "sendMessage")]
    async fn send_message(
        &self,
        text: String,
        attachments: Vec<String>,
        number: String,
    ) -> zbus::fdo::Result<i64> {
        assert!(attachments.is_empty());
        if number == "+49000" {
            return Err(zbus::fdo::Error::Failed("Unregistered user".into()));
        }
        if number == "+49111" {
            tokio::time::sleep(Duration::from_secs(60)).await;
        }
        self.0.lock().unwrap().push((number, text));
        Ok(1)
    }
}

/// KDE Connect with a phone, a laptop, and a device that would lead somewhere else. Its answers and signals have the
/// shapes, and come in the order, that kdeconnectd 22.12.3 showed (`real` looks whether they still do).
#[derive(Clone)]
pub struct Kde(Arc<Mutex<State>>);

/// How the phone is.
pub struct State {
    /// What was sent through it.
    sent: Sent,
    /// How often it is still asked for before it is back.
    pub away: usize,
    /// How often it was called.
    pub called: usize,
    /// Whether its plugin for text messages is on.
    pub sms: bool,
    /// Whether it answers with its messages.
    pub answers: bool,
    /// How long it takes from one message to the next.
    pub gap: Duration,
    /// Whether there is another phone, which fails when it is asked for its messages.
    pub other: bool,
    /// What the daemon has heard from it.
    known: Vec<OwnedVariant>,
}

impl Kde {
    /// Changes how it is.
    pub fn now(&self, change: impl FnOnce(&mut State)) {
        change(&mut self.0.lock().unwrap());
    }
}

#[zbus::interface(name = "org.kde.kdeconnect.daemon")]
impl Kde {
    #[zbus(name = "deviceNames")]
    fn device_names(&self, reachable: bool, paired: bool) -> std::collections::HashMap<String, String> {
        assert!(paired);
        let mut state = self.0.lock().unwrap();
        let (away, other) = (state.away > 0, state.other);
        if reachable {
            state.away = state.away.saturating_sub(1);
        }
        [
            ("abc_1", "My Phone"),
            ("../evil", "Evil"),
            ("with-hyphen", "Odd"),
            ("laptop", "Laptop"),
        ]
        .into_iter()
        .filter(|(id, _)| !(reachable && away && *id == "abc_1"))
        .chain(other.then_some(("def_2", "Old Phone")))
        .map(|(id, name)| (id.to_owned(), name.to_owned()))
        .chain((0..DESKTOPS).map(|number| (format!("a{number}"), format!("Desktop {number}"))))
        .collect()
    }

    #[zbus(name = "forceOnNetworkChange")]
    fn force_on_network_change(&self) {
        self.0.lock().unwrap().called += 1;
    }
}

/// A device and its type.
struct Device(Kde, &'static str);

#[zbus::interface(name = "org.kde.kdeconnect.device")]
impl Device {
    #[zbus(name = "hasPlugin")]
    fn has_plugin(&self, name: String) -> bool {
        self.1 == "smartphone" && self.0.0.lock().unwrap().sms && name == "kdeconnect_sms"
    }

    #[zbus(property, name = "type")]
    fn kind(&self) -> String {
        self.1.to_owned()
    }
}

struct Sms(Kde);

const PHONE: &str = "/modules/kdeconnect/devices/abc_1";
/// Its desktops come before its phones, and must not be all that is looked at.
const DESKTOPS: usize = 9;

#[zbus::interface(name = "org.kde.kdeconnect.device.sms")]
impl Sms {
    #[zbus(name = "sendSms")]
    fn send_sms(&self, addresses: Vec<OwnedVariant>, text: String, attachments: Vec<OwnedVariant>) {
        assert!(attachments.is_empty());
        for address in addresses {
            let Variant::Structure(parts) = &*address else {
                panic!("{address:?}");
            };
            let [Variant::Str(number)] = parts.fields() else {
                panic!("{parts:?}");
            };
            let sent = Arc::clone(&self.0.0.lock().unwrap().sent);
            sent.lock().unwrap().push((number.to_string(), text.clone()));
        }
    }

    /// The daemon says each conversation that the phone tells it, some time after this was answered.
    #[zbus(name = "requestAllConversations")]
    fn request_all_conversations(&self, #[zbus(connection)] connection: &Connection) {
        if !self.0.0.lock().unwrap().answers {
            return;
        }
        let (kde, connection) = (self.0.clone(), connection.clone());
        tokio::spawn(async move {
            tokio::time::sleep(Duration::from_millis(200)).await;
            let gap = kde.0.lock().unwrap().gap;
            for (conversation, told) in told().into_iter().enumerate() {
                tokio::time::sleep(gap).await;
                // What it knows already it keeps as it is, and says again that it was told.
                kde.now(|state| {
                    if !state.known.contains(&told) {
                        state.known.push(told);
                    }
                });
                let said = (i64::try_from(conversation).unwrap(), 1u64);
                let from = "org.kde.kdeconnect.device.conversations";
                let emitted = connection.emit_signal(None::<&str>, PHONE, from, "conversationLoaded", &said);
                emitted.await.unwrap();
            }
        });
    }
}

/// What the phone tells, oldest first: numbers, text, when, type, read, and what comes with it.
fn told() -> Vec<OwnedVariant> {
    let one = |numbers: &[&str], text: &str, at: i64, kind: i32, read: i32, mime: &[&str]| {
        let numbers: Vec<(String,)> = numbers.iter().map(|number| ((*number).to_owned(),)).collect();
        let attached: Vec<(i64, String, String, String)> = mime
            .iter()
            .map(|mime| (3, (*mime).to_owned(), "aGFsbG8=".to_owned(), "PART_3".to_owned()))
            .collect();
        let text = text.to_owned();
        let parts = (1i32, text, numbers, at, kind, read, 7i64, 8i32, -1i64, attached);
        OwnedVariant::try_from(Variant::from(Structure::from(parts))).unwrap()
    };
    vec![
        one(&["030555"], "A draft", 1_795_430_000_000, 3, 0, &[]),
        one(&["0309"], "Lost", 1_795_390_000_000, 5, 0, &[]),
        one(
            &["0301", "0302"],
            "",
            1_795_400_000_000,
            1,
            1,
            &["image/jpeg", "text/x-vcard"],
        ),
        one(
            &["+491712345678"],
            "On my way\u{202e}",
            1_795_420_800_000,
            1,
            0,
            &[],
        ),
        one(&["0301234"], "See you", 1_795_424_400_000, 2, 1, &["video/mp4"]),
        one(&["0301234"], "out of time", i64::MAX, 1, 1, &[]),
    ]
}

struct Conversations(Kde);

#[zbus::interface(name = "org.kde.kdeconnect.device.conversations")]
impl Conversations {
    #[zbus(name = "activeConversations")]
    fn active_conversations(&self) -> Vec<OwnedVariant> {
        self.0.0.lock().unwrap().known.clone()
    }
}

/// signal-cli on a bus.
pub async fn signal(address: &str) -> (Connection, Sent) {
    let sent = Sent::default();
    let connection = Builder::address(address)
        .serve_at("/org/asamk/Signal", Signal(Arc::clone(&sent)))
        .name("org.asamk.Signal")
        .build()
        .await
        .unwrap();
    (connection, sent)
}

/// signal-cli as it runs for all accounts of a person: these.
struct Control(Arc<Mutex<Vec<&'static str>>>);

#[zbus::interface(name = "org.asamk.SignalControl")]
impl Control {
    #[zbus(name = "listAccounts")]
    fn list_accounts(&self) -> Vec<zbus::OwnedObjectPath> {
        let path = |digits: &&str| format!("/org/asamk/Signal/_{digits}").try_into().unwrap();
        self.0.lock().unwrap().iter().map(path).collect()
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn of_several_signal_accounts_the_one_that_the_config_names_sends() {
    let Some(world) = World::start().await else {
        return;
    };
    let (home, work) = (Sent::default(), Sent::default());
    let accounts = Arc::new(Mutex::new(vec!["491701", "431602"]));
    let _service = Builder::address(world.address())
        .serve_at("/org/asamk/Signal", Control(Arc::clone(&accounts)))
        .serve_at("/org/asamk/Signal/_491701", Signal(Arc::clone(&home)))
        .serve_at("/org/asamk/Signal/_431602", Signal(Arc::clone(&work)))
        .name("org.asamk.Signal")
        .build()
        .await
        .unwrap();
    let anna = Recipient {
        name: "Anna".into(),
        number: "+491712345678".into(),
    };
    let mut ctx = world.ctx();
    let mut go = async |number: &str| -> Result<(), ToolError> {
        ctx.reach.signal = number.to_owned();
        let (bus, way) = way(&ctx, None, &anna).await?;
        send(&bus, &way, &anna, number).await
    };
    assert_eq!(
        go("").await.unwrap_err().to_string(),
        "Signal has several accounts here: +491701 and +431602. Say which one sends with messages.signal in the config."
    );
    assert_eq!(
        go("+1 555").await.unwrap_err().to_string(),
        "Signal has no account +1555 here, which messages.signal in the config names. There is +491701 and +431602."
    );
    assert!(home.lock().unwrap().is_empty() && work.lock().unwrap().is_empty());
    go("+43 1602").await.unwrap();
    go("+491701").await.unwrap();
    let texts = |sent: &Sent| -> Vec<String> {
        let sent = sent.lock().unwrap();
        sent.iter().map(|(_, text)| text.clone()).collect()
    };
    assert_eq!(
        (texts(&home), texts(&work)),
        (vec!["+491701".into()], vec!["+43 1602".into()])
    );
    // Of one there is no choice, unless the config means another.
    *accounts.lock().unwrap() = vec!["431602"];
    go("").await.unwrap();
    assert_eq!(texts(&work), ["+43 1602", ""]);
    let other = go("+491701").await.unwrap_err().to_string();
    assert!(other.starts_with("Signal has no account +491701 here"), "{other}");
}

/// KDE Connect with one phone on a bus.
pub async fn phone(address: &str) -> (Connection, Sent) {
    let (connection, kde) = kde(address).await;
    let sent = Arc::clone(&kde.0.lock().unwrap().sent);
    (connection, sent)
}

/// The same, to change how the phone is.
pub async fn kde(address: &str) -> (Connection, Kde) {
    let kde = Kde(Arc::new(Mutex::new(State {
        sent: Sent::default(),
        away: 0,
        called: 0,
        sms: true,
        answers: true,
        gap: Duration::ZERO,
        other: false,
        known: Vec::new(),
    })));
    let mut builder = Builder::address(address);
    for number in 0..DESKTOPS {
        let path = format!("/modules/kdeconnect/devices/a{number}");
        builder = builder.serve_at(path, Device(kde.clone(), "desktop"));
    }
    let connection = builder
        .serve_at("/modules/kdeconnect", kde.clone())
        .serve_at(
            "/modules/kdeconnect/devices/def_2",
            Device(kde.clone(), "smartphone"),
        )
        .serve_at(PHONE, Device(kde.clone(), "smartphone"))
        .serve_at(PHONE, Conversations(kde.clone()))
        .serve_at(format!("{PHONE}/sms"), Sms(kde.clone()))
        .serve_at(
            "/modules/kdeconnect/devices/laptop",
            Device(kde.clone(), "laptop"),
        )
        .name("org.kde.kdeconnect")
        .build()
        .await
        .unwrap();
    (connection, kde)
}

#[test]
fn recipients_come_from_the_contacts_or_are_numbers() {
    let home = tempfile::tempdir().unwrap();
    let ctx = ctx(home.path());
    let book = home.path().join("contacts/book");
    std::fs::create_dir_all(&book).unwrap();
    for (name, lines) in [
        (
            "Anna Berg",
            "TEL;TYPE=cell:+49 171 2345678\nTEL;TYPE=home:030 1234\n",
        ),
        ("Anna Roth", "TEL:0171 8765432\n"),
        ("Carl Zeiss", "TEL;TYPE=home:030 1\nTEL;TYPE=work:030 2\n"),
        ("Dora Maar", "EMAIL:dora@example.org\n"),
    ] {
        let card = format!("BEGIN:VCARD\nVERSION:3.0\nUID:{name}\nFN:{name}\n{lines}END:VCARD\n");
        std::fs::write(book.join(format!("{name}.vcf")), card).unwrap();
    }
    for (said, expect) in [
        ("anna berg", "Anna Berg, +491712345678"),
        ("Anna Roth", "Anna Roth, 01718765432"),
        (
            "anna",
            "Several contacts fit: Anna Berg and Anna Roth. Which one?",
        ),
        (
            "carl",
            "Carl Zeiss has several numbers: 030 1 and 030 2. Which one? Say the number.",
        ),
        ("dora", "Dora Maar has no phone number in your contacts."),
        ("zebulon", "Nobody in your contacts is called zebulon."),
        ("+49 171 2345678", "Anna Berg, +491712345678"),
        ("0049 160 1112223", "+491601112223"),
        ("", "Who shall get the message?"),
    ] {
        let found = match recipient(&ctx.dirs, said) {
            Ok(to) => to.spoken(),
            Err(error) => error.to_string(),
        };
        assert_eq!(found, expect, "{said:?}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_service_that_says_no_or_nothing_is_told() {
    let Some(mut world) = World::start().await else {
        return;
    };
    world.desk().patience = Duration::from_secs(5);
    let (_service, sent) = signal(world.address()).await;
    let ctx = world.ctx();
    for (number, expect) in [
        (
            "+49000",
            "was not sent. Signal could not do that: Unregistered user.",
        ),
        ("+49111", "I do not know whether the message to X was sent"),
        ("030 1", "Signal needs the number of X with its country code"),
    ] {
        let to = Recipient {
            name: "X".into(),
            number: number.into(),
        };
        let result = match way(&ctx, None, &to).await {
            Ok((bus, way)) => send(&bus, &way, &to, "hello").await,
            Err(error) => Err(error),
        };
        let error = result.unwrap_err().to_string();
        assert!(error.contains(expect), "{number}: {error}");
    }
    assert!(sent.lock().unwrap().is_empty());
}

/// A service whose answer is none that can be read.
struct Odd(Sent);

#[zbus::interface(name = "org.asamk.Signal")]
impl Odd {
    #[zbus(name = "sendMessage")]
    fn send_message(&self, text: String, _attachments: Vec<String>, number: String) -> String {
        self.0.lock().unwrap().push((number, text));
        "sent".to_owned()
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn what_may_have_gone_is_not_said_to_have_failed() {
    let Some(world) = World::start().await else {
        return;
    };
    let sent = Sent::default();
    let _service = Builder::address(world.address())
        .serve_at("/org/asamk/Signal", Odd(Arc::clone(&sent)))
        .name("org.asamk.Signal")
        .build()
        .await
        .unwrap();
    let to = Recipient {
        name: "X".into(),
        number: "+49222".into(),
    };
    let (bus, way) = way(&world.ctx(), None, &to).await.unwrap();
    let error = send(&bus, &way, &to, "hello").await.unwrap_err().to_string();
    assert!(
        error.starts_with("I do not know whether the message to X was sent."),
        "{error}"
    );
    assert_eq!(*sent.lock().unwrap(), [("+49222".to_owned(), "hello".to_owned())]);
}

#[tokio::test(flavor = "multi_thread")]
async fn what_is_not_there_is_named() {
    let home = tempfile::tempdir().unwrap();
    let bare = ctx(home.path());
    let error = ways(&bare.desk, "", None).await.unwrap_err().to_string();
    assert!(error.contains("cannot reach a desktop session"), "{error}");
    let Some(world) = World::start().await else {
        return;
    };
    let ctx = world.ctx();
    for (wanted, expect) in [
        (None, "Nothing here sends messages"),
        (Some(Service::Signal), "signal-cli"),
        (Some(Service::Sms), "KDE Connect"),
    ] {
        let error = ways(&ctx.desk, "", wanted).await.unwrap_err().to_string();
        assert!(error.contains(expect), "{wanted:?}: {error}");
    }
    let (_service, _) = signal(world.address()).await;
    let error = recent(&ctx.desk).await.unwrap_err().to_string();
    assert!(error.contains("Signal gives me no messages"), "{error}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_phone_that_is_away_is_called_and_named() {
    let Some(world) = World::start().await else {
        return;
    };
    let (connection, kde) = kde(world.address()).await;
    let ctx = world.ctx();
    let anna = Recipient {
        name: "Anna".into(),
        number: "+491712345678".into(),
    };
    // It comes when it is called.
    kde.now(|state| state.away = 3);
    let (bus, way) = way(&ctx, None, &anna).await.unwrap();
    assert_eq!(kde.0.lock().unwrap().called, 1);
    assert_eq!(way.spoken(), "as a text message with My Phone");
    // It does not come.
    kde.now(|state| state.away = usize::MAX);
    let refused = async || match super::way(&ctx, None, &anna).await {
        // A phone chooses its own name.
        Err(ToolError::TellOthers(text)) => text,
        other => panic!("{other:?}"),
    };
    let away = "KDE Connect cannot reach My Phone now. Is it on, and on the same network?";
    assert_eq!(refused().await, away);
    assert_eq!(recent(&ctx.desk).await.unwrap_err().to_string(), away);
    // It does no text messages.
    kde.now(|state| (state.away, state.sms) = (0, false));
    let mute = refused().await;
    assert!(
        mute.starts_with("KDE Connect has no text messages of My Phone:"),
        "{mute}"
    );
    // It goes between the question and the answer.
    let server = connection.object_server();
    assert!(server.remove::<Sms, _>(format!("{PHONE}/sms")).await.unwrap());
    let gone = send(&bus, &way, &anna, "x").await.unwrap_err();
    assert!(matches!(gone, ToolError::TellOthers(_)), "{gone:?}");
    assert_eq!(
        gone.to_string(),
        "The message to Anna was not sent. My Phone is not connected any more."
    );
    kde.now(|state| state.sms = true);
    let gone = recent(&ctx.desk).await.unwrap_err().to_string();
    assert_eq!(gone, "My Phone is not connected any more.");
    // Signal is a way, and nobody waits for the phone then.
    kde.now(|state| (state.away, state.called) = (usize::MAX, 0));
    let (_signal, _) = signal(world.address()).await;
    let (_, way) = super::way(&ctx, None, &anna).await.unwrap();
    assert_eq!(
        (way.spoken().as_str(), kde.0.lock().unwrap().called),
        ("by Signal", 0)
    );
    drop(connection);
    let none = recent(&ctx.desk).await.unwrap_err().to_string();
    assert!(none.contains("Signal gives me no messages"), "{none}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_phone_that_shows_nothing_is_not_said_to_have_nothing() {
    let Some(world) = World::start().await else {
        return;
    };
    let (_connection, kde) = kde(world.address()).await;
    let desk = world.ctx().desk;
    kde.now(|state| state.answers = false);
    let error = recent(&desk).await.unwrap_err();
    assert!(
        matches!(&error, ToolError::TellOthers(text) if text.starts_with("My Phone shows me no messages.")),
        "{error:?}"
    );
    kde.now(|state| (state.answers, state.gap) = (true, Duration::from_millis(300)));
    let all = recent(&desk).await.unwrap();
    assert!(all.silent.is_empty() && !all.cut);
    let shown: Vec<String> = all
        .messages
        .iter()
        .map(|message| format!("{:?} {:?} {}", message.going, message.unread, message.spoken(40)))
        .collect();
    assert_eq!(
        shown,
        [
            "Out false See you (with a video)",
            "In true On my way",
            "In false (a picture and a file)",
            "Failed false Lost"
        ]
    );
    // It was heard, and is silent now.
    kde.now(|state| state.answers = false);
    let all = recent(&desk).await.unwrap();
    assert_eq!(
        (all.messages.len(), &all.silent[..]),
        (4, &["My Phone".to_owned()][..])
    );
    // Another one fails, which loses nothing of the first.
    kde.now(|state| (state.answers, state.gap, state.other) = (true, Duration::ZERO, true));
    let all = recent(&desk).await.unwrap();
    assert_eq!(
        (all.messages.len(), &all.silent[..]),
        (4, &["Old Phone".to_owned()][..])
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn a_daemon_that_hangs_is_not_said_to_be_absent() {
    let Some(mut world) = World::start().await else {
        return;
    };
    world.bad("org.kde.kdeconnect", Manner::Hangs).await;
    world.desk().patience = Duration::from_secs(1);
    let error = ways(&world.ctx().desk, "", Some(Service::Sms)).await.unwrap_err();
    assert_eq!(error.to_string(), "KDE Connect does not answer.");
}

mod real;
