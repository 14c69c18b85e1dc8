//! `tiro completions`: what the shell offers behind `tiro`.

use std::io::Write;

use clap::CommandFactory as _;
use clap_complete::Shell;

use super::Cli;

/// Writes the completions for one shell, to be sourced by it.
///
/// # Errors
/// When they cannot be written.
pub fn run(shell: Shell, out: &mut dyn Write) -> anyhow::Result<()> {
    let mut script = Vec::new();
    // Into memory first: the generator panics where writing fails, and `tiro completions bash | head` is no bug.
    clap_complete::generate(shell, &mut Cli::command(), "tiro", &mut script);
    match out.write_all(&script) {
        Err(e) if e.kind() == std::io::ErrorKind::BrokenPipe => Ok(()),
        done => Ok(done?),
    }
}

#[cfg(test)]
mod tests {
    use clap::ValueEnum as _;

    use super::*;

    #[test]
    fn every_shell_offers_every_verb() {
        for shell in Shell::value_variants() {
            let mut out = Vec::new();
            run(*shell, &mut out).unwrap();
            let script = String::from_utf8(out).unwrap();
            for verb in Cli::command()
                .get_subcommands()
                .filter(|verb| !verb.is_hide_set())
            {
                assert!(
                    script.contains(verb.get_name()),
                    "{shell} lacks {}",
                    verb.get_name()
                );
            }
        }
    }
}
