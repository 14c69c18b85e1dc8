//! Engines as the daemon holds them: child processes that start when they are needed, are watched while they
//! work, come back after a crash and leave when nobody needed them for a while.

mod llm;
mod process;
mod stt;
mod supervisor;

pub use llm::{LlmConfig, LlmEngine};
pub use stt::{SttConfig, SttEngine};
pub use supervisor::Limits;

use std::path::{Path, PathBuf};

use crate::EngineError;

/// Finds an engine program: in the folder that was configured, else in `$TIRO_ENGINES`, beside this program,
/// and on the search path. In a folder that holds one for newer processors as well, as what is handed out does, that one
/// is chosen where this processor can run it.
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
    let files = programs(engine, newer_processor());
    match looked
        .iter()
        .flat_map(|folder| files.iter().map(|file| folder.join(file)))
        .find(|p| p.is_file())
    {
        Some(program) => Ok(program),
        None => Err(EngineError::NoEngine {
            engine: engine.into(),
            looked,
        }),
    }
}

/// The file names of an engine, the best one first.
fn programs(engine: &str, newer: bool) -> Vec<String> {
    let suffix = std::env::consts::EXE_SUFFIX;
    let variants = [newer.then_some("-v3"), Some("")];
    let variants = variants.into_iter().flatten();
    variants
        .map(|variant| format!("{engine}{variant}{suffix}"))
        .collect()
}

/// Whether this processor has everything of x86-64-v3 (x86-64 psABI, "Micro-Architecture Levels").
fn newer_processor() -> bool {
    #[cfg(target_arch = "x86_64")]
    {
        use std::arch::is_x86_feature_detected as has;
        has!("avx2")
            && has!("bmi1")
            && has!("bmi2")
            && has!("f16c")
            && has!("fma")
            && has!("lzcnt")
            && has!("movbe")
            && has!("popcnt")
            && has!("sse4.2")
    }
    #[cfg(not(target_arch = "x86_64"))]
    false
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
    fn the_engine_for_this_processor_is_chosen() {
        assert_eq!(programs("tiro-llm", true), ["tiro-llm-v3", "tiro-llm"]);
        assert_eq!(programs("tiro-llm", false), ["tiro-llm"]);
        let folder = tempfile::tempdir().unwrap();
        for file in ["tiro-stt", "tiro-stt-v3"] {
            std::fs::write(folder.path().join(file), "").unwrap();
        }
        let expect = match newer_processor() {
            true => "tiro-stt-v3",
            false => "tiro-stt",
        };
        let found = find_program("tiro-stt", Some(folder.path())).unwrap();
        assert_eq!(found, folder.path().join(expect));
    }

    #[test]
    #[cfg(target_os = "linux")]
    fn our_own_memory_is_known() {
        let (now, peak) = memory_of(std::process::id());
        assert!(now > 1 << 20 && peak >= now, "{now} {peak}");
        assert_eq!(memory_of(u32::MAX), (0, 0));
    }
}
