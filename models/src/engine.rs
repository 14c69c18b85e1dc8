//! Engines as the daemon holds them: child processes that start when they are needed, are watched while they
//! work, come back after a crash and leave when nobody needed them for a while.

mod llm;
mod process;
mod snapshot;
mod stt;
mod supervisor;

pub use llm::{LlmConfig, LlmEngine};
pub use stt::{SttConfig, SttEngine};
pub use supervisor::Limits;

use std::path::{Path, PathBuf};

use crate::EngineError;

/// Finds an engine program: in the folder that was configured, else in `$TIRO_ENGINES`, beside this program,
/// and on the search path.
///
/// # Errors
/// `NoEngine`, naming the folders.
pub fn find_program(engine: &str, configured: Option<&Path>) -> Result<PathBuf, EngineError> {
    let looked: Vec<PathBuf> = match configured {
        Some(folder) => vec![folder.to_owned()],
        None => {
            let named = std::env::var_os("TIRO_ENGINES").map(PathBuf::from);
            let beside = std::env::current_exe()
                .ok()
                .and_then(|p| Some(p.parent()?.to_owned()));
            let path = std::env::var_os("PATH").unwrap_or_default();
            named
                .into_iter()
                .chain(beside)
                .chain(std::env::split_paths(&path))
                .collect()
        }
    };
    let file = format!("{engine}{}", std::env::consts::EXE_SUFFIX);
    match looked
        .iter()
        .map(|folder| folder.join(&file))
        .find(|p| p.is_file())
    {
        Some(program) => Ok(program),
        None => Err(EngineError::NoEngine {
            engine: engine.into(),
            looked,
        }),
    }
}

/// What `/proc` says of a process: resident and peak memory in bytes. Zeros where there is no `/proc`.
fn memory_of(pid: u32) -> (u64, u64) {
    let status = std::fs::read_to_string(format!("/proc/{pid}/status")).unwrap_or_default();
    let field = |name: &str| {
        let line = status.lines().find_map(|line| line.strip_prefix(name));
        let kib = line.and_then(|l| l.split_whitespace().next()?.parse::<u64>().ok());
        kib.unwrap_or(0) * 1024
    };
    (field("VmRSS:"), field("VmHWM:"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_missing_engine_names_where_it_was_looked_for() {
        let folder = tempfile::tempdir().unwrap();
        let error = find_program("tiro-llm", Some(folder.path())).unwrap_err();
        let text = error.to_string();
        assert!(
            text.contains("tiro-llm") && text.contains("xtask setup"),
            "{text}"
        );
        assert!(text.contains(&*folder.path().to_string_lossy()), "{text}");
        std::fs::write(folder.path().join("tiro-llm"), "").unwrap();
        assert_eq!(
            find_program("tiro-llm", Some(folder.path())).unwrap(),
            folder.path().join("tiro-llm")
        );
    }

    #[test]
    #[cfg(target_os = "linux")]
    fn our_own_memory_is_known() {
        let (now, peak) = memory_of(std::process::id());
        assert!(now > 1 << 20 && peak >= now, "{now} {peak}");
        assert_eq!(memory_of(u32::MAX), (0, 0));
    }
}
