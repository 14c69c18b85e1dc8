//! Pictures of the screen: through the portal, which every desktop is to have; else with a program that takes them.

use std::{collections::HashMap, path::PathBuf, time::Duration};

use futures_util::StreamExt as _;
use zbus::{MatchRule, MessageStream, OwnedObjectPath, OwnedVariant, Variant, message};

use super::{
    Desk,
    bus::{At, Bus, On, Trouble, take},
    child::{Failure, output_within},
    mac,
};
use crate::{
    contract::ToolError,
    system::store::{self, MAX_GUARDED},
};

const CALLED: &str = "The service that takes pictures of the screen";
const PORTAL: At = At {
    name: "org.freedesktop.portal.Desktop",
    path: "/org/freedesktop/portal/desktop",
    interface: "org.freedesktop.portal.Screenshot",
};
/// Where programs say who they are, since version 1.19 of the portal.
const REGISTRY: At = At {
    interface: "org.freedesktop.host.portal.Registry",
    ..PORTAL
};
/// The name of our desktop entry, by which the desktop asks the person and remembers what they said.
const APP: &str = "org.tiro.Tiro";
/// How long the person has for the question that the desktop may ask.
const ASKED: Duration = Duration::from_secs(25);
/// How long a program may take.
const TAKING: Duration = Duration::from_secs(8);
/// Programs that take the whole screen without asking, with what stands before the file's name, and the display that
/// each needs. In the order in which they know best.
const PROGRAMS: [(&str, &[&str], &str); 7] = [
    ("grim", &[], "WAYLAND_DISPLAY"),
    ("gnome-screenshot", &["-f"], ""),
    ("spectacle", &["-b", "-n", "-f", "-o"], ""),
    ("xfce4-screenshooter", &["-f", "-s"], "DISPLAY"),
    ("maim", &[], "DISPLAY"),
    ("scrot", &["-o"], "DISPLAY"),
    ("import", &["-window", "root"], "DISPLAY"),
];

/// A picture that was taken.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Taken {
    /// The desktop has put it there itself.
    Saved(PathBuf),
    /// It is to be saved: a PNG.
    Bytes(Vec<u8>),
}

/// Takes one of the whole screen.
///
/// # Errors
/// `Tell` where nothing can, and when the person says no to the desktop's question.
pub async fn take_one(desk: &Desk) -> Result<Taken, ToolError> {
    if cfg!(target_os = "macos") {
        let folder = folder()?;
        let file = folder.path().join("screen.png");
        mac::screenshot(desk, &file.to_string_lossy()).await?;
        return read(file);
    }
    let portal = match portal(desk).await {
        Ok(path) => return Ok(Taken::Saved(path)),
        Err(Asked::No) => return Err(ToolError::tell("No picture was taken: the desktop was told no.")),
        Err(Asked::Trouble(trouble)) => trouble,
    };
    let Some((program, before, _)) = here(desk) else {
        return Err(match portal {
            Trouble::Absent | Trouble::NoBus(_) | Trouble::Unknown => {
                ToolError::tell("Nothing here can take a picture of the screen.")
            }
            trouble => trouble.tell(CALLED),
        });
    };
    let folder = folder()?;
    let file = folder.path().join("screen.png");
    let name = file.to_string_lossy();
    let arguments: Vec<&str> = before.iter().copied().chain([&*name]).collect();
    match output_within(desk, program, &arguments, TAKING).await {
        Ok(_) => read(file),
        Err(Failure::Silent) => Err(ToolError::tell(format!("{program} does not come to an end."))),
        Err(_) => Err(ToolError::tell(format!(
            "{program} could not take a picture of the screen."
        ))),
    }
}

/// What there is, for `tiro doctor`.
pub async fn describe(desk: &Desk) -> Result<String, ToolError> {
    if let Ok(bus) = Bus::open(desk, On::Session).await
        && bus.get::<u32>(PORTAL, "version").await.is_ok()
    {
        return Ok("Taken by the desktop's portal.".to_owned());
    }
    match here(desk) {
        Some((program, ..)) => Ok(format!("Taken by {program}.")),
        None => Err(ToolError::tell("Nothing here can take a picture of the screen.")),
    }
}

fn here(desk: &Desk) -> Option<(&'static str, &'static [&'static str], &'static str)> {
    PROGRAMS.into_iter().find(|(program, _, display)| {
        (display.is_empty() || desk.var(display).is_some()) && desk.program(program).is_some()
    })
}

enum Asked {
    No,
    Trouble(Trouble),
}

impl From<Trouble> for Asked {
    fn from(trouble: Trouble) -> Asked {
        Asked::Trouble(trouble)
    }
}

/// Asks the portal and waits for what it and the person say (org.freedesktop.portal.Request).
async fn portal(desk: &Desk) -> Result<PathBuf, Asked> {
    let bus = Bus::open(desk, On::Session).await?;
    // Who we are comes before all else on a connection; an older portal goes by the process and knows nothing of this.
    let none = HashMap::<&str, Variant<'_>>::new();
    let named: Result<(), Trouble> = bus.call(REGISTRY, "Register", &(APP, none)).await;
    match named {
        Err(trouble @ (Trouble::Absent | Trouble::Silent | Trouble::Gone)) => return Err(trouble.into()),
        Err(trouble) => tracing::debug!(?trouble, "the portal takes no name"),
        Ok(()) => {}
    }
    // The answer is a signal of an object whose path is known before the call, so it cannot come before we listen.
    let sender = bus
        .connection()
        .unique_name()
        .map(|name| name.trim_start_matches(':').replace('.', "_"));
    let token = "tiro";
    let path = format!(
        "/org/freedesktop/portal/desktop/request/{}/{token}",
        sender.unwrap_or_default()
    );
    let rule = MatchRule::builder()
        .msg_type(message::Type::Signal)
        .interface("org.freedesktop.portal.Request")
        .member("Response")
        .path(path)
        .build()
        .map_err(|_| Trouble::Garbage)?;
    let listening = MessageStream::for_match_rule(rule, bus.connection(), None);
    let mut answers = tokio::time::timeout(desk.patience, listening)
        .await
        .map_err(|_| Trouble::Silent)?
        .map_err(|_| Trouble::Gone)?;
    let options = HashMap::from([
        ("handle_token", Variant::from(token)),
        ("interactive", Variant::from(false)),
    ]);
    let _request: OwnedObjectPath = bus.call(PORTAL, "Screenshot", &("", options)).await?;
    let answer = tokio::time::timeout(ASKED, answers.next())
        .await
        .map_err(|_| Trouble::Silent)?
        .and_then(Result::ok)
        .ok_or(Trouble::Gone)?;
    let (said, mut results): (u32, HashMap<String, OwnedVariant>) =
        answer.body().deserialize().map_err(|_| Trouble::Garbage)?;
    match said {
        0 => {}
        1 => return Err(Asked::No),
        _ => return Err(Trouble::Unknown.into()),
    }
    let uri: String = take(&mut results, "uri").ok_or(Trouble::Garbage)?;
    let path = file_of(&uri)
        .filter(|path| path.is_file())
        .ok_or(Trouble::Garbage)?;
    Ok(path)
}

/// The path of a `file:` address.
fn file_of(uri: &str) -> Option<PathBuf> {
    use std::os::unix::ffi::OsStringExt as _;
    let rest = uri.strip_prefix("file://")?;
    let rest = rest.strip_prefix("localhost").unwrap_or(rest);
    let mut bytes = Vec::with_capacity(rest.len());
    let mut left = rest.bytes();
    while let Some(byte) = left.next() {
        match byte {
            b'%' => {
                let code = [left.next()?, left.next()?];
                bytes.push(u8::from_str_radix(std::str::from_utf8(&code).ok()?, 16).ok()?);
            }
            byte => bytes.push(byte),
        }
    }
    let path = PathBuf::from(std::ffi::OsString::from_vec(bytes));
    path.is_absolute().then_some(path)
}

fn folder() -> Result<tempfile::TempDir, ToolError> {
    tempfile::tempdir().map_err(|e| ToolError::broken("take a picture of the screen", e))
}

fn read(file: PathBuf) -> Result<Taken, ToolError> {
    let bytes =
        store::read_bounded(&file, MAX_GUARDED).map_err(|e| e.tool("take a picture of the screen"))?;
    match bytes.starts_with(b"\x89PNG") {
        true => Ok(Taken::Bytes(bytes)),
        false => Err(ToolError::tell("What came back is no picture.")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_of_files_are_read() {
        let file = |uri| file_of(uri).map(|path| path.display().to_string());
        assert_eq!(
            file("file:///home/a/My%20Shot.png").as_deref(),
            Some("/home/a/My Shot.png")
        );
        assert_eq!(file("file://localhost/a").as_deref(), Some("/a"));
        for wrong in [
            "",
            "http://x/a",
            "file://host/a",
            "file:///a%",
            "file:///a%zz",
            "/a",
        ] {
            assert_eq!(file(wrong), None, "{wrong}");
        }
    }
}
