//! `tiro config`: where the config is, what holds, and setting a key.

use std::{io::Write, process::ExitCode};

use clap::Subcommand;

use crate::{
    config::{read, set},
    paths::Paths,
    reply::say_aside,
};

/// The verbs of `tiro config`.
#[derive(Debug, Subcommand)]
pub enum ConfigVerb {
    /// Print where the config file is, or would be.
    Path,
    /// Print every key with its value and where that comes from. The output is a config file itself.
    Show {
        /// Say what each key does and what it may be.
        #[arg(long)]
        explain: bool,
    },
    /// Set a key in the config file, e.g. `tiro config set llm.context 8192`.
    Set {
        /// section.name, as `tiro config show` has it.
        key: String,
        /// The value; texts need no quotes.
        #[arg(allow_hyphen_values = true)]
        value: String,
    },
}

/// Runs one of them.
///
/// # Errors
/// When the config is wrong or cannot be read or written.
pub fn run(verb: ConfigVerb, out: &mut dyn Write) -> anyhow::Result<ExitCode> {
    let path = Paths::from_env()?.config;
    let answer = match verb {
        ConfigVerb::Path => format!("{}\n", path.display()),
        ConfigVerb::Show { explain } => read(&path)?.show(explain),
        ConfigVerb::Set { key, value } => {
            set(&path, &key, &value)?;
            say_aside(&format!(
                "{key} is set in {}. A running daemon takes it after a restart.",
                path.display()
            ));
            String::new()
        }
    };
    match out.write_all(answer.as_bytes()) {
        Err(e) if e.kind() != std::io::ErrorKind::BrokenPipe => Err(e.into()),
        _ => Ok(ExitCode::SUCCESS),
    }
}
