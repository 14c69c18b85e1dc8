//! The engine locks itself in before it reads a model: native code that parses foreign files needs the model,
//! the snapshots and the machine's libraries, and nothing else.

use std::path::PathBuf;

/// What an engine may touch.
#[derive(Debug, Clone, Default)]
pub struct Room {
    /// Files and folders to read, besides the system's own.
    pub read: Vec<PathBuf>,
    /// Folders to write.
    pub write: Vec<PathBuf>,
}

/// Confines this thread, and the threads it starts from now on, as far as the kernel can. Gives what to tell in
/// `doctor`: "landlock ABI 7", or "none" with the reason.
#[cfg(target_os = "linux")]
pub fn confine(room: &Room) -> String {
    use landlock::{LandlockStatus, RulesetStatus};
    match linux::restrict(room) {
        Ok(status) => match (status.ruleset, status.landlock) {
            (RulesetStatus::NotEnforced, _) => "none: this kernel has no landlock".into(),
            (_, LandlockStatus::Available { effective_abi, .. }) => {
                format!("landlock ABI {}", effective_abi as i32)
            }
            (_, LandlockStatus::NotEnabled | LandlockStatus::NotImplemented) => "none".into(),
        },
        Err(error) => format!("none: {error}"),
    }
}

/// There is no such thing here yet.
#[cfg(not(target_os = "linux"))]
pub fn confine(_room: &Room) -> String {
    "none".into()
}

#[cfg(target_os = "linux")]
mod linux {
    use landlock::{
        ABI, Access, AccessFs, AccessNet, CompatLevel, Compatible, RestrictionStatus, Ruleset, RulesetAttr,
        RulesetCreatedAttr, RulesetError, Scope, path_beneath_rules,
    };

    use super::Room;

    /// The newest rules that were tested; an older kernel enforces what it knows.
    const RULES: ABI = ABI::V6;

    /// Libraries and what they ask about the machine (cores, memory, GPU drivers).
    const SYSTEM: &[&str] = &[
        "/usr",
        "/lib",
        "/lib64",
        "/etc",
        "/opt",
        "/proc",
        "/sys",
        "/dev/null",
        "/dev/urandom",
        "/nix/store",
    ];

    /// Folders of GPU devices; NVIDIA's are single nodes.
    const GPUS: &[&str] = &["/dev/dri", "/dev/kfd", "/dev/nvidia-caps"];

    pub(super) fn restrict(room: &Room) -> Result<RestrictionStatus, RulesetError> {
        let nvidia = std::fs::read_dir("/dev").into_iter().flatten().flatten();
        let nvidia = nvidia
            .map(|entry| entry.path())
            .filter(|path| path.to_string_lossy().starts_with("/dev/nvidia"));
        let read = AccessFs::from_read(RULES);
        let all = AccessFs::from_all(RULES);
        Ruleset::default()
            .set_compatibility(CompatLevel::BestEffort)
            .handle_access(all)?
            // TCP is denied by being handled without any rule that allows it.
            .handle_access(AccessNet::from_all(RULES))?
            .scope(Scope::from_all(RULES))?
            .create()?
            .add_rules(path_beneath_rules(SYSTEM, read))?
            .add_rules(path_beneath_rules(&room.read, read & !AccessFs::Execute))?
            .add_rules(path_beneath_rules(&room.write, all & !AccessFs::Execute))?
            .add_rules(path_beneath_rules(GPUS, all & !AccessFs::Execute))?
            .add_rules(path_beneath_rules(nvidia, all & !AccessFs::Execute))?
            .restrict_self()
    }
}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use super::*;

    /// Landlock holds for a thread and its children, so a thread of its own is enough to test it.
    #[test]
    fn only_the_room_is_open() {
        let inside = tempfile::tempdir().unwrap();
        let snapshots = tempfile::tempdir().unwrap();
        let outside = tempfile::tempdir().unwrap();
        std::fs::write(inside.path().join("model"), "weights").unwrap();
        std::fs::write(outside.path().join("secret"), "secret").unwrap();
        let room = Room {
            read: vec![inside.path().into()],
            write: vec![snapshots.path().into()],
        };
        let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        std::thread::scope(|scope| {
            scope.spawn(|| {
                let said = confine(&room);
                if !said.starts_with("landlock ABI") {
                    eprintln!("SKIPPED: this kernel cannot confine: {said}");
                    return;
                }
                let read = std::fs::read_to_string(inside.path().join("model"));
                assert_eq!(read.unwrap(), "weights");
                assert!(std::fs::write(inside.path().join("model"), "other").is_err());
                std::fs::write(snapshots.path().join("a"), "state").unwrap();
                std::fs::rename(snapshots.path().join("a"), snapshots.path().join("b")).unwrap();
                assert!(std::fs::read(outside.path().join("secret")).is_err());
                assert!(std::fs::write(outside.path().join("new"), "x").is_err());
                let abi: u32 = said.trim_start_matches("landlock ABI ").parse().unwrap();
                if abi >= 4 {
                    assert!(std::net::TcpStream::connect(address).is_err());
                }
            });
        });
    }
}
