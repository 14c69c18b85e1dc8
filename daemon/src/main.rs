//! The `tiro` command.

fn main() -> std::process::ExitCode {
    daemon::cli::main()
}
