//! Who a program on the bus is: what it is called, and whether it could speak for the person anyway.
//!
//! Everybody of the same user is on a session bus, programs in a sandbox too. What tells them apart is what
//! `org.tiro.Tiro1` goes by as well: who has Tiro's socket before it has the person's own files before it, and whatever it
//! asks for over the bus it could do over the socket. So that is what is looked at, from outside: whether the socket is in
//! the program's file system. A sandbox has another one (Flatpak's proxy for the bus lives in one, too, with the mark of
//! the application), except for snaps, whose label says what they are.

use std::{path::Path, time::Duration};

use tools::system::plain;
use zbus::{
    fdo::{ConnectionCredentials, DBusProxy},
    names::{BusName, UniqueName},
};

/// How long the bus has to say whose connection it is.
const PATIENCE: Duration = Duration::from_secs(5);
/// Longest name of a program that is shown.
const MAX_NAME: usize = 60;

/// Whether a program has the person's files before it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Reach {
    /// It has.
    Yes,
    /// It is kept away from them.
    No,
    /// That cannot be told, for example of programs that the system guards from being looked at.
    Unknown,
}

/// Whether the program behind this name has this file or folder of the person's before it, such as the socket.
pub async fn reaches(bus: &DBusProxy<'_>, name: &UniqueName<'_>, path: &Path) -> Reach {
    let path = path.to_owned();
    match credentials(bus, name).await {
        // Where it lives may be slow to look at.
        Some(who) => tokio::task::spawn_blocking(move || system::reaches(&who, &path))
            .await
            .unwrap_or(Reach::Unknown),
        None => Reach::Unknown,
    }
}

/// What the program behind this name is called: an application's id or the name of a file. It may call itself what it
/// likes, so this is somebody else's text, and kept short.
pub async fn named(bus: &DBusProxy<'_>, name: &UniqueName<'_>) -> Option<String> {
    let who = credentials(bus, name).await?;
    let named = tokio::task::spawn_blocking(move || system::named(&who))
        .await
        .ok()??;
    Some(plain::one_line(&named, MAX_NAME)).filter(|name| !name.is_empty())
}

async fn credentials(bus: &DBusProxy<'_>, name: &UniqueName<'_>) -> Option<ConnectionCredentials> {
    let asked = bus.get_connection_credentials(BusName::from(name.as_ref()));
    tokio::time::timeout(PATIENCE, asked).await.ok()?.ok()
}

#[cfg(target_os = "linux")]
mod system {
    use std::{fs::File, io::Read as _, os::fd::OwnedFd, path::Path};

    use rustix::{
        event::{PollFd, PollFlags, Timespec, poll},
        fs::{Mode, OFlags, ResolveFlags, fstat, openat2},
    };
    use zbus::fdo::ConnectionCredentials;

    use super::Reach;

    pub fn reaches(who: &ConnectionCredentials, path: &Path) -> Reach {
        let user = rustix::process::getuid().as_raw();
        let label = who.linux_security_label().map(|label| plain(label));
        let label = label.unwrap_or_else(|| "unconfined".to_owned());
        if who.unix_user_id().is_some_and(|theirs| theirs != user) || label.starts_with("snap.") {
            return Reach::No;
        }
        let sees = who.process_id().and_then(|pid| sees(pid, path));
        match sees {
            // What is no longer there may have been looked at under another's number.
            _ if !lives(who) => Reach::Unknown,
            Some(true) if who.unix_user_id().is_some() && is_free(&label) => Reach::Yes,
            Some(false) => Reach::No,
            Some(true) | None => Reach::Unknown,
        }
    }

    /// More than what Flatpak says about any application.
    const MAX_INFO: u64 = 64 * 1024;

    pub fn named(who: &ConnectionCredentials) -> Option<String> {
        let pid = who.process_id()?;
        let program = || {
            let program = std::fs::read_link(format!("/proc/{pid}/exe")).ok()?;
            Some(program.file_name()?.to_string_lossy().into_owned())
        };
        application(pid).or_else(program)
    }

    /// The id of a Flatpak application, whose processes all have it at this place.
    fn application(pid: u32) -> Option<String> {
        // What stands there may be no file.
        let info = within(
            &root(pid)?,
            Path::new("/.flatpak-info"),
            OFlags::RDONLY | OFlags::NONBLOCK,
        )?;
        let mut text = String::new();
        File::from(info).take(MAX_INFO).read_to_string(&mut text).ok()?;
        id(&text)
    }

    /// The name in the section of the application.
    fn id(info: &str) -> Option<String> {
        let mut lines = info
            .lines()
            .skip_while(|line| line.trim() != "[Application]")
            .skip(1);
        let name = lines.find_map(|line| match line.strip_prefix("name=") {
            Some(name) => Some(Some(name)),
            None if line.starts_with('[') => Some(None),
            None => None,
        });
        name.flatten().map(|name| name.trim().to_owned())
    }

    /// Whether the file at this path is the same for the process as for us; nothing where it cannot be looked at.
    fn sees(pid: u32, path: &Path) -> Option<bool> {
        let ours = rustix::fs::stat(path).ok()?;
        let root = root(pid)?;
        let theirs = within(&root, path, OFlags::PATH).and_then(|file| fstat(file).ok());
        Some(theirs.is_some_and(|theirs| (theirs.st_dev, theirs.st_ino) == (ours.st_dev, ours.st_ino)))
    }

    /// The file system of a process.
    fn root(pid: u32) -> Option<File> {
        File::open(format!("/proc/{pid}/root")).ok()
    }

    /// Opens a file as a process with this file system sees it. Links are followed inside of that only: one that the process
    /// made must not lead back into ours.
    fn within(root: &File, path: &Path, flags: OFlags) -> Option<OwnedFd> {
        let inside = path.strip_prefix("/").ok()?;
        let flags = flags | OFlags::CLOEXEC;
        openat2(root, inside, flags, Mode::empty(), ResolveFlags::IN_ROOT).ok()
    }

    /// Whether the process that connected is still there; then its number was its own all the time. Buses that do not hand
    /// the process out (dbus-daemon before 1.16) leave a gap there: a program would have to connect, end, pass its connection
    /// on, and have its number taken by a program of the person's.
    fn lives(who: &ConnectionCredentials) -> bool {
        let Some(process) = who.process_fd() else {
            return true;
        };
        // It becomes readable when the process ends.
        let mut ended = [PollFd::new(process, PollFlags::IN)];
        matches!(poll(&mut ended, Some(&Timespec::default())), Ok(0))
    }

    /// Whether no policy of the system confines a process with this label (AppArmor's, SELinux's), or none that does not
    /// confine us.
    fn is_free(label: &str) -> bool {
        let own = || std::fs::read("/proc/self/attr/current").map(|own| plain(&own));
        label == "unconfined"
            || label.ends_with(" (unconfined)")
            || label.ends_with(" (complain)")
            || own().is_ok_and(|own| own == label)
    }

    fn plain(label: &[u8]) -> String {
        let label = String::from_utf8_lossy(label);
        label.trim_matches(['\0', '\n']).to_owned()
    }

    #[cfg(test)]
    mod tests {
        use super::*;

        #[test]
        fn labels_that_confine_are_told_from_those_that_do_not() {
            #[track_caller]
            fn check(label: &[u8], expect: bool) {
                assert_eq!(is_free(&plain(label)), expect, "{}", plain(label));
            }
            check(b"unconfined\0", true);
            check(b"plasmashell (unconfined)\0", true);
            check(b"something (complain)\0", true);
            check(b"snap.firefox.firefox (enforce)\0", false);
            check(b"unconfined (enforce)\0", false);
            check(b"unconfined_u:unconfined_r:chrome_sandbox_t:s0\0", false);
            check(b"", false);
        }

        #[test]
        fn an_application_is_called_by_its_id() {
            #[track_caller]
            fn check(info: &str, expect: Option<&str>) {
                assert_eq!(id(info).as_deref(), expect, "{info:?}");
            }
            let usual = "[Application]\nname=org.example.App\nruntime=x\n\n[Instance]\nname=no\n";
            check(usual, Some("org.example.App"));
            check("[Instance]\nname=no\n[Application]\nruntime=x\n", None);
            check("[Application]\nruntime=x\n[Instance]\nname=no\n", None);
            check("", None);
        }

        #[test]
        fn who_has_the_same_file_at_the_same_place_sees_it() {
            let home = tempfile::tempdir().unwrap();
            let file = home.path().join("socket");
            let own = std::process::id();
            assert_eq!(sees(own, &file), None, "there is none");
            std::fs::write(&file, "").unwrap();
            assert_eq!(sees(own, &file), Some(true));
            assert_eq!((sees(0, &file), sees(u32::MAX, &file)), (None, None));
        }

        #[test]
        fn a_link_in_a_sandbox_does_not_lead_out_of_it() {
            let home = tempfile::tempdir().unwrap();
            let (file, sandbox) = (home.path().join("socket"), home.path().join("sandbox"));
            std::fs::write(&file, "").unwrap();
            std::fs::create_dir(&sandbox).unwrap();
            std::os::unix::fs::symlink(&file, sandbox.join("link")).unwrap();
            let root = File::open(&sandbox).unwrap();
            for path in ["/link", "/../socket", "/../../../etc/passwd"] {
                assert!(within(&root, Path::new(path), OFlags::PATH).is_none(), "{path}");
            }
            let outside = File::open(home.path()).unwrap();
            assert!(within(&outside, Path::new("/socket"), OFlags::PATH).is_some());
        }
    }
}

#[cfg(not(target_os = "linux"))]
mod system {
    use std::path::Path;

    use zbus::fdo::ConnectionCredentials;

    use super::Reach;

    pub fn named(_: &ConnectionCredentials) -> Option<String> {
        None
    }

    /// There is no session bus to be careful on.
    pub fn reaches(_: &ConnectionCredentials, _: &Path) -> Reach {
        Reach::Unknown
    }
}
