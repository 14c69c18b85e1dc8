//! Messages against services of our own on a private bus.

use std::{
    sync::{Arc, Mutex},
    time::Duration,
};

use zbus::{Connection, OwnedVariant, Structure, Variant, connection::Builder};

use super::*;
use crate::{system::desktop::testing::World, testing::ctx};

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

struct Daemon;

#[zbus::interface(name = "org.kde.kdeconnect.daemon")]
impl Daemon {
    #[zbus(name = "deviceNames")]
    fn device_names(&self, reachable: bool, paired: bool) -> std::collections::HashMap<String, String> {
        assert!(reachable && paired);
        [("abc_1", "My Phone"), ("../evil", "Evil"), ("tablet", "Tablet")]
            .map(|(id, name)| (id.to_owned(), name.to_owned()))
            .into()
    }
}

struct Device(bool);

#[zbus::interface(name = "org.kde.kdeconnect.device")]
impl Device {
    #[zbus(name = "hasPlugin")]
    fn has_plugin(&self, name: String) -> bool {
        self.0 && name == "kdeconnect_sms"
    }
}

struct Sms(Sent);

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
            self.0.lock().unwrap().push((number.to_string(), text.clone()));
        }
    }
}

struct Conversations;

#[zbus::interface(name = "org.kde.kdeconnect.device.conversations")]
impl Conversations {
    #[zbus(name = "activeConversations")]
    fn active_conversations(&self) -> Vec<OwnedVariant> {
        let one = |text: &str, number: &str, at: i64, kind: i32, read: i32| {
            let addresses = vec![(number.to_owned(),)];
            let parts = (1i32, text.to_owned(), addresses, at, kind, read, 7i64, 8i32, 0i64);
            OwnedVariant::try_from(Variant::from(Structure::from(parts))).unwrap()
        };
        vec![
            one("On my way\u{202e}", "+491712345678", 1_795_420_800_000, 1, 0),
            OwnedVariant::try_from(Variant::from("no message")).unwrap(),
            one("See you", "0301234", 1_795_424_400_000, 2, 1),
            one("out of time", "0301234", i64::MAX, 1, 1),
        ]
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

/// KDE Connect with one phone on a bus.
pub async fn phone(address: &str) -> (Connection, Sent) {
    let sent = Sent::default();
    let connection = Builder::address(address)
        .serve_at("/modules/kdeconnect", Daemon)
        .serve_at("/modules/kdeconnect/devices/abc_1", Device(true))
        .serve_at("/modules/kdeconnect/devices/abc_1", Conversations)
        .serve_at("/modules/kdeconnect/devices/abc_1/sms", Sms(Arc::clone(&sent)))
        .serve_at("/modules/kdeconnect/devices/tablet", Device(false))
        .name("org.kde.kdeconnect")
        .build()
        .await
        .unwrap();
    (connection, sent)
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
        let result = match way(&ctx.desk, None, &to).await {
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
    let (bus, way) = way(&world.ctx().desk, None, &to).await.unwrap();
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
    let error = ways(&bare.desk, None).await.unwrap_err().to_string();
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
        let error = ways(&ctx.desk, wanted).await.unwrap_err().to_string();
        assert!(error.contains(expect), "{wanted:?}: {error}");
    }
    let (_service, _) = signal(world.address()).await;
    let error = recent(&ctx.desk).await.unwrap_err().to_string();
    assert!(error.contains("Signal gives me no messages"), "{error}");
}
