//! The command line: one file per verb. Answers on stdout, everything else on stderr;
//! exit 0 done, 1 could not, 2 usage, 3 needs a confirmation that was not given.

pub mod app;
pub mod log;
pub mod partner;
pub mod ask;
pub mod confirm;
pub mod listen;
pub mod wake;
pub mod chat;
pub mod daemon;
pub mod service;
pub mod transcribe;
pub mod say;
pub mod tools;
pub mod discover;
pub mod eval;
pub mod call;
pub mod undo;
pub mod models;
pub mod status;
pub mod outbox;
pub mod sync;
pub mod doctor;
pub mod config;
pub mod completions;
pub mod world;

use std::{io::Write as _, path::PathBuf, process::ExitCode};

use clap::{Args, Parser, Subcommand};

use crate::{act::finish_writes, agent::Ending, reply::say_aside};
use app::App;

/// A voice assistant that stays on this machine.
#[derive(Debug, Parser)]
#[command(name = "tiro", version, max_term_width = 100)]
pub struct Cli {
    /// Pretend that it is this moment, e.g. 2026-11-21T09:30 (local) or with a zone: 2026-11-21T09:30[Europe/Berlin].
    #[arg(long, global = true, value_name = "TIME")]
    pub now: Option<String>,
    /// Show each step and the times; twice also logs, three times logs everything.
    #[arg(short, long, global = true, action = clap::ArgAction::Count)]
    pub verbose: u8,
    /// What to do.
    #[command(subcommand)]
    pub verb: Verb,
}

/// The verbs.
#[derive(Debug, Subcommand)]
pub enum Verb {
    /// Run the daemon in the foreground.
    Daemon,
    /// Tiro as a service of the session: at login, and by the first call over the bus.
    Service {
        /// What to do.
        #[command(subcommand)]
        verb: service::ServiceVerb,
    },
    /// One turn by text, or by voice with --wav.
    Ask(AskArgs),
    /// Talk: the daemon opens the microphone. Bind this to a key.
    Listen {
        /// What to do.
        action: crate::run::Action,
        /// Stay until the answer is there, and print it.
        #[arg(long)]
        wait: bool,
    },
    /// The words that wake Tiro without a key.
    Wake {
        /// What to do.
        #[command(subcommand)]
        verb: wake::WakeVerb,
    },
    /// A conversation in the terminal. Ctrl-C stops an answer, Ctrl-D leaves.
    Chat,
    /// Turn a recording into text.
    Transcribe {
        /// A WAV file: any rate, any number of channels, PCM or float.
        file: PathBuf,
        /// Print {"text","segments","language","ms","rtf"}.
        #[arg(long)]
        json: bool,
    },
    /// Say something aloud; Ctrl-C stops it.
    Say {
        /// What; `-` says what stdin has.
        #[arg(required = true)]
        text: Vec<String>,
    },
    /// List the tools.
    Tools {
        /// Print schemas and token costs as JSON.
        #[arg(long)]
        json: bool,
        /// Count as if every tool stood in the prompt.
        #[arg(long)]
        eager: bool,
    },
    /// Rank tools for what somebody might say.
    Discover(DiscoverArgs),
    /// Play scenario files and say how much was right, how fast and at what cost.
    Eval(Box<eval::EvalArgs>),
    /// Run one tool directly, without a model.
    Call {
        /// `domain.verb`, e.g. calendar.query.
        tool: String,
        /// Its arguments as a JSON object.
        #[arg(default_value = "{}")]
        arguments: String,
        /// Print the tool's data as JSON.
        #[arg(long)]
        json: bool,
        /// Answer yes when the tool needs a confirmation.
        #[arg(long)]
        yes: bool,
    },
    /// Answer the question that is open in the daemon, or see it.
    Confirm {
        /// The answer. Left out, the question is shown and asked.
        answer: Option<confirm::Answer>,
        /// The number of the question, as it was shown.
        id: Option<u64>,
        /// Print {"id","question"}, or null, and answer nothing.
        #[arg(long, conflicts_with = "answer")]
        json: bool,
    },
    /// Take the last change back, or the one with this number.
    Undo {
        /// A number from `tiro history`.
        step: Option<i64>,
        /// Print {"id","at","tool","say","others","files"}.
        #[arg(long)]
        json: bool,
    },
    /// What was changed, newest first.
    History {
        /// Print {"steps":[...]}.
        #[arg(long)]
        json: bool,
        /// At most this many.
        #[arg(long, default_value_t = 20)]
        limit: usize,
    },
    /// The weights: what is there, get, check, remove.
    Models {
        /// What to do.
        #[command(subcommand)]
        verb: models::ModelsVerb,
    },
    /// Bring calendars, to-do lists, contacts and mail in step with the accounts in the config, and send what waits.
    Sync(SyncArgs),
    /// Mail that was confirmed and has not gone out: list it, or decide what to do with it.
    Outbox {
        /// What to do; lists it when left out.
        #[command(subcommand)]
        verb: Option<outbox::OutboxVerb>,
        /// Print {"mails":[{"id","account","from","to","message_id","subject","at","after","state","note"}]}.
        #[arg(long)]
        json: bool,
    },
    /// How the daemon is.
    Status {
        /// Print it as JSON.
        #[arg(long)]
        json: bool,
        /// Go on with what happens: states, what rings, what is noticed; one line each.
        #[arg(long)]
        follow: bool,
    },
    /// Check everything that Tiro needs.
    Doctor {
        /// Print it as JSON.
        #[arg(long)]
        json: bool,
    },
    /// The config file.
    Config {
        /// What to do.
        #[command(subcommand)]
        verb: config::ConfigVerb,
    },
    /// Print completions for a shell.
    Completions {
        /// The shell.
        shell: clap_complete::Shell,
    },
    /// Work that another `tiro` gives away, because it may crash or has to outlive it.
    #[command(hide = true)]
    Helper {
        /// What to do.
        work: String,
    },
    /// Fill empty data folders from a world file (demo and tests).
    #[command(hide = true)]
    World {
        /// The world as JSON.
        file: PathBuf,
    },
}

/// Arguments of `tiro ask`.
#[derive(Debug, Args)]
pub struct AskArgs {
    /// What you would say.
    #[arg(required_unless_present = "wav", conflicts_with = "wav")]
    pub text: Vec<String>,
    /// A recording of what you say.
    #[arg(long, value_name = "FILE")]
    pub wav: Option<PathBuf>,
    /// Print the whole turn as JSON.
    #[arg(long)]
    pub json: bool,
    /// Answer yes to every question.
    #[arg(long)]
    pub yes: bool,
    /// Ask questions on the desktop and show the answer there too; for key bindings.
    #[arg(long)]
    pub notify: bool,
    /// Begin a new conversation: forget what was said and which tools were found.
    #[arg(long)]
    pub new: bool,
}

/// Arguments of `tiro sync`.
#[derive(Debug, Args)]
pub struct SyncArgs {
    /// Only these accounts.
    pub accounts: Vec<String>,
    /// Go on with this account although much is gone on one side all at once, and take it away on the other.
    #[arg(long, value_name = "ACCOUNT")]
    pub force: Vec<String>,
    /// Print {"accounts":[{"account","collections","error","offline"}],"mail":[{"account","folders","error","offline"}],
    /// "outbox":{"sent","later","stuck"}}.
    #[arg(long)]
    pub json: bool,
}

/// Arguments of `tiro discover`.
#[derive(Debug, Args)]
pub struct DiscoverArgs {
    /// What somebody might say.
    #[arg(required_unless_present = "batch")]
    pub query: Option<String>,
    /// Read one query a line from stdin and write one JSON object a line.
    #[arg(long, conflicts_with = "query")]
    pub batch: bool,
    /// Print JSON.
    #[arg(long)]
    pub json: bool,
    /// Only this domain, e.g. calendar.
    #[arg(long)]
    pub domain: Option<String>,
    /// Say what each score rests on.
    #[arg(long)]
    pub explain: bool,
    /// At most this many.
    #[arg(long, default_value_t = 5, value_parser = clap::value_parser!(u16).range(1..=100))]
    pub top_k: u16,
}

/// Parses the command line and runs it.
pub fn main() -> ExitCode {
    let cli = Cli::parse();
    let runtime = match tokio::runtime::Builder::new_multi_thread()
        .worker_threads(2)
        .enable_all()
        .build()
    {
        Ok(runtime) => runtime,
        Err(error) => {
            say_aside(&format!("tiro: cannot start: {error}"));
            return ExitCode::FAILURE;
        }
    };
    let code = runtime.block_on(async {
        let code = match run(cli).await {
            Ok(code) => code,
            Err(error) => {
                say_aside(&format!("tiro: {error:#}"));
                ExitCode::FAILURE
            }
        };
        // One that takes longer than it should is not left half done.
        finish_writes().await;
        code
    });
    // A thread that still waits for a line of input would keep the process alive.
    runtime.shutdown_background();
    code
}

async fn run(cli: Cli) -> anyhow::Result<ExitCode> {
    if let Verb::Helper { work } = &cli.verb {
        return Ok(helper(work));
    }
    app::log(cli.verbose);
    // These two work on a machine where nothing else does.
    if let Verb::Completions { shell } = cli.verb {
        completions::run(shell, &mut std::io::stdout())?;
        return Ok(ExitCode::SUCCESS);
    }
    if let Verb::Config { verb } = cli.verb {
        return config::run(verb, &mut std::io::stdout());
    }
    if let Verb::Doctor { json } = cli.verb {
        return doctor::run(json, &mut std::io::stdout()).await;
    }
    // A key was pressed: nothing that takes time.
    if let Verb::Listen { action, wait } = cli.verb {
        return listen::run(action, wait, cli.verbose > 0).await;
    }
    let mut app = App::load(cli.now.as_deref(), cli.verbose > 0)?;
    app.daemon = matches!(cli.verb, Verb::Daemon);
    match cli.verb {
        Verb::Daemon => daemon::run(&app).await,
        Verb::Service { verb } => service::run(&app, verb).await,
        Verb::Ask(args) => ask::run(&app, args).await,
        Verb::Wake { verb } => wake::run(&app, verb).await,
        Verb::Chat => chat::run(&app).await,
        Verb::Transcribe { file, json } => {
            transcribe::run(&file, json, app.stt()?, &app.config.stt, &mut std::io::stdout()).await?;
            Ok(ExitCode::SUCCESS)
        }
        Verb::Say { text } => say::run(&app, &text).await,
        Verb::Tools { json, eager } => tools::run(&app, json, eager).await,
        Verb::Discover(args) => discover::run(&app, &args),
        Verb::Eval(args) => eval::run(&app, &args).await,
        Verb::Call {
            tool,
            arguments,
            json,
            yes,
        } => call::run(&app, &tool, &arguments, json, yes).await,
        Verb::Confirm { answer, id, json } => confirm::run(&app, answer, id, json).await,
        Verb::Undo { step, json } => undo::undo(&app, step, json).await,
        Verb::History { json, limit } => undo::history(&app, limit, json).await,
        Verb::Models { verb } => models::run(verb, &app.paths.models, &app.config).await,
        Verb::Sync(args) => sync::run(&app, &args).await,
        Verb::Outbox { verb, json } => outbox::run(&app, verb, json).await,
        Verb::Status { json, follow } => status::run(&app, json, follow).await,
        Verb::World { file } => world::run(&app, &file),
        Verb::Helper { .. }
        | Verb::Listen { .. }
        | Verb::Config { .. }
        | Verb::Completions { .. }
        | Verb::Doctor { .. } => Ok(ExitCode::SUCCESS),
    }
}

/// Reads from stdin, works, and answers on stdout; what goes wrong is for whoever started it.
fn helper(work: &str) -> ExitCode {
    #[cfg(target_os = "macos")]
    if let Some(key) = work.strip_prefix(crate::hotkey::WORK) {
        let Err(why) = crate::hotkey::hold(key) else {
            return ExitCode::SUCCESS;
        };
        // Nobody may listen any more.
        let _ = write!(std::io::stdout().lock(), "{why}");
        return ExitCode::FAILURE;
    }
    match ::tools::system::helper::run(work, std::io::stdin().lock(), &mut std::io::stdout()) {
        true => ExitCode::SUCCESS,
        false => ExitCode::FAILURE,
    }
}

/// The exit code of a turn.
pub fn exit_code(end: Ending) -> ExitCode {
    match end {
        Ending::Done => ExitCode::SUCCESS,
        Ending::CouldNot => ExitCode::FAILURE,
        Ending::NeedsConfirmation => ExitCode::from(3),
    }
}

/// Writes a line to stdout: the answer. A closed pipe ends quietly, as `tiro tools | head` should.
pub fn say(line: &str) -> anyhow::Result<()> {
    match writeln!(std::io::stdout().lock(), "{line}") {
        Err(error) if error.kind() == std::io::ErrorKind::BrokenPipe => Ok(()),
        other => Ok(other?),
    }
}
