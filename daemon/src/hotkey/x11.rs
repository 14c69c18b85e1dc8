//! The key, grabbed on an X server.
//!
//! Whatever waits for the server runs on a thread of its own, because a server may hang.

use std::{
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    time::Duration,
};

use tokio::sync::{mpsc, oneshot};
use x11rb::{
    connection::Connection as _,
    errors::{ConnectError, ReplyError},
    protocol::{
        ErrorKind, Event,
        xkb::{self, ConnectionExt as _},
        xproto::{ConnectionExt as _, GrabMode, ModMask},
    },
    rust_connection::RustConnection,
};

use super::Key;

/// How long the server has for all that it is asked at once.
const PATIENCE: Duration = Duration::from_secs(5);

/// Keysyms of the keys that are held beside another, and of those that lock: keysymdef.h.
const ALT: [u32; 2] = [0xffe9, 0xffea];
const SUPER: [u32; 2] = [0xffeb, 0xffec];
const NUM_LOCK: [u32; 1] = [0xff7f];
const SCROLL_LOCK: [u32; 1] = [0xff14];

/// A key that is ours until this is dropped.
pub(super) struct Grab {
    connection: Arc<RustConnection>,
    said: mpsc::Receiver<Said>,
}

/// What the server says of it.
pub(super) enum Said {
    Pressed,
    /// By the clock of the server, which is right when this machine is too busy to tell us at once.
    Released(Duration),
    Over(Over),
}

/// Why a grab is over.
pub(super) enum Over {
    /// The keyboard has another layout: it is to be grabbed anew.
    Changed,
    /// The server went away.
    Gone,
}

/// What is grabbed: these keys of the keyboard, with each of these sets beside them.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Held {
    codes: Vec<u8>,
    beside: Vec<u16>,
}

impl Grab {
    /// Grabs the key.
    ///
    /// # Errors
    /// As a sentence: no server, one that does not answer, a keyboard without that key, or another program that has it.
    pub(super) async fn of(at: &str, key: &Key) -> Result<Grab, String> {
        let (place, wanted) = (at.to_owned(), key.clone());
        let (connection, held) = on_a_thread(move || {
            let (connection, root) = connect(&place)?;
            let held = look_up(&connection, &wanted)?;
            grab(&connection, root, &held, &wanted)?;
            Ok::<_, String>((Arc::new(connection), held))
        })
        .await??;
        let (tell, said) = mpsc::channel(16);
        let grab = Grab { connection, said };
        let (connection, key) = (Arc::clone(&grab.connection), key.clone());
        thread("hotkey", move || listen(&connection, &key, &held, &tell))?;
        Ok(grab)
    }

    /// What the server says next.
    pub(super) async fn next(&mut self) -> Said {
        self.said.recv().await.unwrap_or(Said::Over(Over::Gone))
    }
}

impl Drop for Grab {
    fn drop(&mut self) {
        // The thread that listens there hears that it is over; so does the server, and the key is free.
        let _ = rustix::net::shutdown(self.connection.stream(), rustix::net::Shutdown::Both);
    }
}

/// Says what happens to the key until it is over, or nobody wants to know. Whoever holds it hears one press, however often
/// the keyboard repeats it.
fn listen(connection: &RustConnection, key: &Key, held: &Held, tell: &mpsc::Sender<Said>) {
    let mut down = None::<u32>;
    loop {
        let said = match connection.wait_for_event() {
            Ok(Event::KeyPress(press)) if held.codes.contains(&press.detail) && down.is_none() => {
                down = Some(press.time);
                Said::Pressed
            }
            // While it is down we are told of all keys, so also of those beside it that come up before it.
            Ok(Event::KeyRelease(release))
                if held.codes.contains(&release.detail)
                    && let Some(since) = down.take() =>
            {
                // Milliseconds that begin anew every 49 days.
                Said::Released(Duration::from_millis(release.time.wrapping_sub(since).into()))
            }
            Ok(Event::MappingNotify(_) | Event::XkbMapNotify(_) | Event::XkbNewKeyboardNotify(_))
                if look_up(connection, key).as_ref() != Ok(held) =>
            {
                Said::Over(Over::Changed)
            }
            Ok(_) => continue,
            Err(error) => {
                tracing::debug!(%error, "the X server went away");
                Said::Over(Over::Gone)
            }
        };
        let over = matches!(said, Said::Over(_));
        if tell.blocking_send(said).is_err() || over {
            return;
        }
    }
}

/// Whether there is a server; nothing is grabbed.
///
/// # Errors
/// When there is none, as a sentence.
pub(super) async fn is_there(at: &str) -> Result<(), String> {
    let at = at.to_owned();
    on_a_thread(move || connect(&at).map(drop)).await?
}

/// Runs what may wait for a server for ever. A thread that hangs is left behind, and no other one is until it is back.
async fn on_a_thread<T: Send + 'static>(work: impl FnOnce() -> T + Send + 'static) -> Result<T, String> {
    const SILENT: &str = "The X server does not answer.";
    static BUSY: AtomicBool = AtomicBool::new(false);
    struct Free;
    impl Drop for Free {
        fn drop(&mut self) {
            BUSY.store(false, Ordering::Release);
        }
    }
    if BUSY.swap(true, Ordering::AcqRel) {
        return Err(SILENT.to_owned());
    }
    let free = Free;
    let (tell, told) = oneshot::channel();
    thread("hotkey asks", move || {
        let done = work();
        drop(free);
        let _ = tell.send(done);
    })?;
    match tokio::time::timeout(PATIENCE, told).await {
        Ok(Ok(done)) => Ok(done),
        Ok(Err(_)) | Err(_) => Err(SILENT.to_owned()),
    }
}

fn thread(name: &str, work: impl FnOnce() + Send + 'static) -> Result<(), String> {
    let started = std::thread::Builder::new().name(name.to_owned()).spawn(work);
    started
        .map(drop)
        .map_err(|error| format!("The X server cannot be asked: {error}."))
}

/// Connects; the window of the whole screen, too.
fn connect(at: &str) -> Result<(RustConnection, u32), String> {
    let nobody = |error: ConnectError| {
        tracing::debug!(%error, at, "no X server");
        format!("The X server on {at} cannot be reached.")
    };
    let (connection, screen) = RustConnection::connect(Some(at)).map_err(nobody)?;
    let root = connection.setup().roots.get(screen).map(|screen| screen.root);
    let root = root.ok_or_else(|| format!("The X server on {at} has no such screen."))?;
    Ok((connection, root))
}

/// Where the key is on this keyboard, and what is held with it.
fn look_up(connection: &RustConnection, key: &Key) -> Result<Held, String> {
    let keyboard = || -> Result<_, ReplyError> {
        let setup = connection.setup();
        let count = setup.max_keycode.saturating_sub(setup.min_keycode) + 1;
        let symbols = connection.get_keyboard_mapping(setup.min_keycode, count)?;
        let modifiers = connection.get_modifier_mapping()?;
        Ok((symbols.reply()?, modifiers.reply()?))
    };
    let (symbols, modifiers) = keyboard().map_err(|error| {
        tracing::debug!(%error, "no keyboard");
        "The X server does not say what keyboard there is.".to_owned()
    })?;
    let width = usize::from(symbols.keysyms_per_keycode).max(1);
    // In columns: the first layout without and with Shift, then the second. What Shift is needed for is another key.
    let codes_of = |wanted: &[u32]| -> Vec<u8> {
        let column = |column: usize| -> Vec<u8> {
            let rows = (connection.setup().min_keycode..=u8::MAX).zip(symbols.keysyms.chunks(width));
            let has = |row: &[u32]| row.get(column).is_some_and(|symbol| wanted.contains(symbol));
            rows.filter(|(_, row)| has(row)).map(|(code, _)| code).collect()
        };
        let codes = [0, 2].map(column).into_iter();
        codes
            .into_iter()
            .find(|codes| !codes.is_empty())
            .unwrap_or_default()
    };
    let codes = codes_of(&[key.symbol]);
    if codes.is_empty() {
        return Err(format!("This keyboard has no key for {key}."));
    }
    let width = usize::from(modifiers.keycodes_per_modifier()).max(1);
    let mask_of = |wanted: &[u32]| -> u16 {
        let wanted = codes_of(wanted);
        let rows = (0..8).zip(modifiers.keycodes.chunks(width));
        let has = |row: &[u8]| row.iter().any(|code| *code != 0 && wanted.contains(code));
        rows.filter(|(_, row)| has(row))
            .fold(0, |mask, (bit, _)| mask | 1 << bit)
    };
    let or = |mask: u16, usual: ModMask| if mask == 0 { usual.into() } else { mask };
    let beside = [
        (key.shift, ModMask::SHIFT.into()),
        (key.ctrl, ModMask::CONTROL.into()),
        (key.alt, or(mask_of(&ALT), ModMask::M1)),
        (key.logo, or(mask_of(&SUPER), ModMask::M4)),
    ];
    let beside: u16 = beside
        .iter()
        .filter(|(held, _)| *held)
        .fold(0, |all, (_, mask)| all | mask);
    // A grab is for one exact state, and what locks is part of the state.
    let locks = u16::from(ModMask::LOCK) | mask_of(&NUM_LOCK) | mask_of(&SCROLL_LOCK);
    let locks = locks & !beside;
    let subsets = (0..=locks).filter(|set| set & !locks == 0);
    Ok(Held {
        codes,
        beside: subsets.map(|set| set | beside).collect(),
    })
}

/// Grabs all of it or nothing.
fn grab(connection: &RustConnection, root: u32, held: &Held, key: &Key) -> Result<(), String> {
    let failed = |error: &dyn std::fmt::Display| {
        tracing::debug!(%error, "no grab");
        format!("The X server does not give {key} to Tiro.")
    };
    let extended = || -> Result<_, ReplyError> {
        connection.xkb_use_extension(1, 0)?.reply()?;
        let keyboard = xkb::ID::USE_CORE_KBD.into();
        // Who knows the extension hears of another layout only in its words.
        let layouts = xkb::EventType::MAP_NOTIFY | xkb::EventType::NEW_KEYBOARD_NOTIFY;
        let parts = xkb::MapPart::KEY_SYMS | xkb::MapPart::MODIFIER_MAP;
        let (none, all) = (xkb::EventType::default(), xkb::SelectEventsAux::default());
        connection
            .xkb_select_events(keyboard, none, layouts, parts, parts, &all)?
            .check()?;
        // A key that is held sends presses only, and one release at its end.
        let detectable = xkb::PerClientFlag::DETECTABLE_AUTO_REPEAT;
        let none = xkb::BoolCtrl::default();
        connection
            .xkb_per_client_flags(keyboard, detectable, detectable, none, none, none)?
            .reply()
    };
    let flags = extended().map_err(|error| failed(&error))?;
    if u32::from(flags.value) & u32::from(xkb::PerClientFlag::DETECTABLE_AUTO_REPEAT) == 0 {
        return Err(failed(
            &"without detectable auto-repeat a held key looks like many taps",
        ));
    }
    let mode = GrabMode::ASYNC;
    let mut asked = Vec::new();
    for code in &held.codes {
        for beside in &held.beside {
            let grabbed = connection.grab_key(false, root, (*beside).into(), *code, mode, mode);
            asked.push(grabbed.map_err(|error| failed(&error))?);
        }
    }
    // All are asked for before the first is waited for. Who fails drops the connection, and with it what it had.
    for grabbed in asked {
        match grabbed.check() {
            Ok(()) => {}
            Err(ReplyError::X11Error(error)) if error.error_kind == ErrorKind::Access => {
                return Err(format!("Another program has {key} already."));
            }
            Err(error) => return Err(failed(&error)),
        }
    }
    Ok(())
}
