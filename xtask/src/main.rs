//! The project's own commands: `cargo xtask setup`, `cargo xtask demo`, `cargo xtask test`, `cargo xtask dist`.
//! They only start other programs (package manager, cargo, tiro), show what those print, and stop at the first failure.

#![expect(
    clippy::print_stderr,
    reason = "saying what it does is this program's whole output"
)]

mod lint;
mod setup;
mod test;
mod demo;
mod dist;
mod idle;
mod beside;
mod place;
mod run;
mod voice;

use std::process::ExitCode;

use anyhow::{Result, bail};

const USAGE: &str = "\
Usage: cargo xtask COMMAND

  setup                     Install what the build, the tests and the demo need and this machine lacks.
  demo [--home DIR]         Build, fetch the models, fill a demo world, and ask it three spoken questions.
                            DIR defaults to $TIRO_HOME, else to demo-home in the target folder.
  test [--fast] [--no-pull] Everything that CI runs.
        --fast              Only formatting, lints and the tests that need no engine and no weights.
        --no-pull           Fetch no weights; those that are there are used, and a missing one fails its tests.
  dist [--from DIR] [--to DIR] [--try]
                            A tarball and a Debian package that run on other machines too, in dist of the target folder.
        --from DIR          Build nothing; pack the programs of this folder.
        --try               Run the programs on an emulated processor without AVX (qemu-user), and install the package in
                            an otherwise empty Debian (mmdebstrap), where the doctor and systemd look at it.
  idle [--program FILE] [--seconds N]
                            Measure what a daemon costs that nobody talks to; fails when it is too much.
  beside                    Ask Tiro and the plain pipeline (faster-whisper, all tools, llama.cpp) the same aloud, and print both times.

TIRO_MODELS names the folder of the weights; it defaults to the one that tiro itself uses.
";

fn main() -> ExitCode {
    match command(&std::env::args().skip(1).collect::<Vec<_>>()) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("\nStopped: {error:#}");
            ExitCode::FAILURE
        }
    }
}

fn command(args: &[String]) -> Result<()> {
    let args: Vec<&str> = args.iter().map(String::as_str).collect();
    match args.as_slice() {
        ["setup"] => setup::ensure(&[
            setup::Use::Daemon,
            setup::Use::Build,
            setup::Use::Voice,
            setup::Use::Run,
            setup::Use::Test,
        ]),
        ["idle", options @ ..] => idle::idle(options),
        ["beside"] => beside::beside(),
        ["dist", options @ ..] => dist::dist(options),
        ["demo", options @ ..] => demo::demo(options),
        ["test", options @ ..] => test::test(options),
        ["help" | "--help" | "-h"] => {
            eprint!("{USAGE}");
            Ok(())
        }
        [] => bail!("a command is missing.\n\n{USAGE}"),
        other => bail!("`{}` is not understood.\n\n{USAGE}", other.join(" ")),
    }
}
