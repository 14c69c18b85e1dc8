//! `tiro doctor`: checks everything that Tiro needs, says what is wrong and what to do.
//!
//! The checks are made once, as data; text and JSON are two prints of the same report, so they cannot disagree.
//! Nothing is changed and nothing is created: a doctor that mends hides what was wrong.

mod accounts;
mod engines;
mod hotkey;
mod icon;
mod microphone;
mod model_server;
mod report;
mod speech;
mod speech_server;

use std::{fs, io::Write, os::unix::fs::MetadataExt as _, path::Path, process::ExitCode, time::Duration};

use models::{
    machine, reader,
    registry::{Model, Registry, State},
};
use tools::system::{
    self, contacts,
    desktop::{Desk, capabilities},
    opener, shortcuts, store, weather,
};

use super::app::App;
use crate::{
    bus,
    config::{Config, Loaded, SttBackend, Weights, read},
    far,
    paths::Paths,
    ring::sound,
    room::Clock,
};
use report::{Report, Section};

/// Longest time for anything on a bus.
const BUS_TIME: Duration = Duration::from_secs(3);
/// Free space below which a download or a write is likely to fail.
const LITTLE_SPACE: u64 = 512 << 20;

/// Examines this machine and prints the report. Exit code 1 when any check failed.
///
/// # Errors
/// When the report cannot be written.
pub async fn run(json: bool, out: &mut dyn Write) -> anyhow::Result<ExitCode> {
    let report = match Paths::from_env() {
        Ok(paths) => examine(paths).await,
        Err(error) => {
            let mut section = Section::new("folders");
            section.fail("home", format!("{error:#}"), "Set HOME or TIRO_HOME.");
            Report::of(vec![section])
        }
    };
    let text = if json { report.json()? } else { report.text() };
    match out.write_all(text.as_bytes()) {
        Err(e) if e.kind() != std::io::ErrorKind::BrokenPipe => return Err(e.into()),
        _ => {}
    }
    Ok(if report.ok {
        ExitCode::SUCCESS
    } else {
        ExitCode::FAILURE
    })
}

async fn examine(paths: Paths) -> Report {
    let (config, settings) = config(&paths.config);
    let app = App {
        paths,
        config: settings,
        clock: Clock::Real,
        daemon: false,
        trace: false,
        now: None,
    };
    let weights = weights(&app);
    Report::of(vec![
        config,
        folders(&app.paths),
        stores(&app),
        accounts::accounts(&app).await,
        weights,
        memory(&app.config),
        engines::engines(&app).await,
        daemon(&app).await,
        microphone::microphone(&app.config).await,
        speech::speech(&app.config).await,
        ringing(&app.config),
        desktop(&app).await,
        privacy(&app.config),
    ])
}

/// The config file. The other checks go on with the defaults when it is wrong.
fn config(path: &Path) -> (Section, Config) {
    let mut section = Section::new("config");
    let loaded = match read(path) {
        Ok(loaded) => loaded,
        Err(error) => {
            section.fail(
                "file",
                format!("{error:#}"),
                "Mend the file, or move it away to use the defaults.",
            );
            return (section, Config::default());
        }
    };
    let Loaded {
        config,
        exists,
        lines,
        ..
    } = loaded;
    match exists {
        true => section.ok("file", format!("{} sets {} keys.", path.display(), lines.len())),
        false => section.info(
            "file",
            format!("There is no {}; every key has its default.", path.display()),
        ),
    }
    for name in config.tools.core.iter().chain(&config.tools.deferred) {
        if tools::find(name).is_none() {
            let todo = "`tiro tools` lists the tools. Correct tools.core or tools.deferred in the config.";
            section.warn("tools", format!("There is no tool {name}."), todo);
        }
    }
    (section, config)
}

fn folders(paths: &Paths) -> Section {
    let mut section = Section::new("folders");
    for (name, folder) in paths.folders() {
        match fs::metadata(folder) {
            Ok(meta) if !meta.is_dir() => {
                section.fail(
                    name,
                    format!("{} is not a folder.", folder.display()),
                    "Move it away.",
                );
            }
            Ok(_)
                if rustix::fs::access(folder, rustix::fs::Access::WRITE_OK | rustix::fs::Access::EXEC_OK)
                    .is_err() =>
            {
                // Weights that somebody else provides need not be writable.
                let what = format!("{} cannot be written.", folder.display());
                match name {
                    "models" => section.info(name, what),
                    _ => section.fail(
                        name,
                        what,
                        "Make it yours with chown, or choose another with TIRO_HOME.",
                    ),
                }
            }
            Ok(meta) if meta.mode() & 0o007 != 0 && name != "models" => section.warn(
                name,
                format!(
                    "{} is open to others (mode {:o}).",
                    folder.display(),
                    meta.mode() & 0o777
                ),
                format!("Run `chmod 700 {}`.", folder.display()),
            ),
            Ok(_) => section.ok(name, format!("{}", folder.display())),
            Err(e) if e.kind() == std::io::ErrorKind::NotFound => {
                section.info(name, format!("{} is made when it is needed.", folder.display()));
            }
            Err(e) => section.fail(
                name,
                format!("{}: {e}", folder.display()),
                "Make it readable for you.",
            ),
        }
    }
    if let Err(error) = paths.socket() {
        section.fail("socket", format!("{error:#}"), "Use a shorter folder.");
    }
    let nearest = paths.models.ancestors().find(|folder| folder.exists());
    if let Some(space) = nearest.and_then(|folder| rustix::fs::statvfs(folder).ok()) {
        let free = space.f_bavail.saturating_mul(space.f_frsize);
        let says = format!("{} free for models.", mib(free));
        match free < LITTLE_SPACE {
            true => section.warn("space", says, "Make room before you pull models."),
            false => section.ok("space", says),
        }
    }
    section
}

/// The person's own data: whether it can be read, how much there is and how much of it is broken.
fn stores(app: &App) -> Section {
    let mut section = Section::new("data");
    let dirs = app.config.dirs(&app.paths);
    let counted: [(&str, &Path, anyhow::Result<Count>); 6] = [
        (
            "calendars",
            &dirs.calendars,
            files(&dirs.calendars, "ics", Some(b"BEGIN:VCALENDAR")),
        ),
        (
            "reminders",
            &dirs.reminders,
            files(&dirs.reminders, "ics", Some(b"BEGIN:VCALENDAR")),
        ),
        ("contacts", &dirs.contacts, cards(&dirs.contacts)),
        ("notes", &dirs.notes, files(&dirs.notes, "md", None)),
        ("memory", &dirs.memory, files(&dirs.memory, "md", None)),
        ("mail", &dirs.mail, mail(&dirs.mail)),
    ];
    for (name, folder, count) in counted {
        let place = folder.display();
        match count {
            Ok(Count { good: 0, broken: 0 }) => section.info(name, format!("Nothing in {place} yet.")),
            Ok(Count { good, broken: 0 }) => section.ok(name, format!("{good} in {place}.")),
            Ok(Count { good, broken }) => section.warn(
                name,
                format!("{good} in {place}, and {broken} that cannot be read."),
                "They are left out until they are mended. Run `tiro -vv` with a question about them to see which.",
            ),
            Err(error) => section.fail(name, format!("{error:#}"), "Make the folder readable for you."),
        }
    }
    own_things(&mut section, &dirs, &app.config.reach());
    section
}

/// The person's files and programs.
fn own_things(section: &mut Section, dirs: &tools::Dirs, reach: &tools::Reach) {
    let roots = system::files::roots(dirs).unwrap_or_default();
    let names: Vec<&str> = roots.iter().map(|root| root.name.as_str()).collect();
    match (&names[..], opener::program(reach)) {
        ([], _) => section.info("files", "None of the folders for files is there (files.dirs)."),
        (names, Some(program)) => {
            section.ok("files", format!("{}, opened with {program}.", names.join(", ")))
        }
        (names, None) => section.warn(
            "files",
            format!(
                "{}, and nothing here opens files with their programs.",
                names.join(", ")
            ),
            "Install xdg-utils, or set applications.opener.",
        ),
    }
    match shortcuts::list(&dirs.shortcuts) {
        Ok(shelf) if shelf.refused.is_empty() => section.info(
            "shortcuts",
            format!("{} in {}.", shelf.shortcuts.len(), dirs.shortcuts.display()),
        ),
        Ok(shelf) => section.warn(
            "shortcuts",
            shelf.refused.join(" "),
            "They are not run until only you can change them: chmod go-w.",
        ),
        Err(error) => section.warn(
            "shortcuts",
            error.to_string(),
            "Close the folder with chmod go-w.",
        ),
    }
}

struct Count {
    good: usize,
    broken: usize,
}

/// Files of one kind below a folder; those that lack the mark of their kind are broken.
fn files(folder: &Path, extension: &str, mark: Option<&[u8]>) -> anyhow::Result<Count> {
    let bounds = store::Bounds {
        depth: 2,
        entries: 100_000,
        file_links: true,
    };
    let mut count = Count { good: 0, broken: 0 };
    for path in store::walk(folder, bounds)?.files {
        if path
            .extension()
            .is_some_and(|e| e.eq_ignore_ascii_case(extension))
        {
            let good = store::read_bounded(&path, 16 << 20).is_ok_and(|bytes| {
                mark.is_none_or(|mark| bytes.windows(mark.len()).any(|w| w.eq_ignore_ascii_case(mark)))
            });
            *if good { &mut count.good } else { &mut count.broken } += 1;
        }
    }
    Ok(count)
}

fn cards(folder: &Path) -> anyhow::Result<Count> {
    let book = contacts::read(folder)?;
    Ok(Count {
        good: book.contacts.len(),
        broken: book.problems.len(),
    })
}

/// A Maildir keeps each message as a file in `cur` or `new`, whatever it is called.
fn mail(folder: &Path) -> anyhow::Result<Count> {
    let bounds = store::Bounds {
        depth: 0,
        entries: 200_000,
        file_links: false,
    };
    let mut good = 0;
    for sub in ["cur", "new"] {
        good += store::walk(&folder.join(sub), bounds)?.files.len();
    }
    Ok(Count { good, broken: 0 })
}

/// The weights that the config asks for, by their size; `tiro models verify` reads every byte.
fn weights(app: &App) -> Section {
    let mut section = Section::new("models");
    for (name, chosen) in chosen(&app.config) {
        let (model, place) = (known(chosen), &app.paths.models);
        match (model, chosen.file()) {
            (Some(model), _) => {
                let (id, pull) = (&model.id, format!("Run `tiro models pull {}`.", model.id));
                match model.state(place) {
                    State::Installed => section.ok(
                        name,
                        format!("{id}, {}, is in {}.", mib(model.bytes), place.display()),
                    ),
                    State::Missing => {
                        section.fail(name, format!("{id} is not in {}.", place.display()), pull)
                    }
                    State::Partial { bytes } => {
                        section.fail(
                            name,
                            format!("{id} is not complete: {} of {}.", mib(bytes), mib(model.bytes)),
                            pull,
                        );
                    }
                    State::WrongSize { bytes } => section.fail(
                        name,
                        format!("{id} has {bytes} bytes and should have {}.", model.bytes),
                        format!("Run `tiro models remove {id}` and `tiro models pull {id}`."),
                    ),
                }
            }
            (None, Some(file)) => match fs::metadata(&file) {
                Ok(meta) if meta.len() == 0 => {
                    section.fail(
                        name,
                        format!("{} is empty.", file.display()),
                        "Copy the model again.",
                    );
                }
                Ok(meta) => section.ok(name, format!("{}, {}.", file.display(), mib(meta.len()))),
                Err(e) => section.fail(
                    name,
                    format!("{}: {e}", file.display()),
                    format!("Correct {name}.model in the config, or put the file there."),
                ),
            },
            (None, None) => section.fail(
                name,
                format!("There is no model called {}.", chosen.as_str()),
                format!("`tiro models list` shows all. Correct {name}.model in the config."),
            ),
        }
    }
    if app.config.tools.reader
        && let Ok(model) = Registry::builtin().find(reader::MODEL)
    {
        let (id, place) = (&model.id, app.paths.models.display());
        let mut lacks = |what: String| {
            section.warn(
                "reader",
                format!("{what} Tiro works without it, and finds the right tool a little less often."),
                format!("Run `tiro models pull {id}`, or set tools.reader = false."),
            );
        };
        match model.state(&app.paths.models) {
            State::Installed => section.ok("reader", format!("{id}, {}, is in {place}.", mib(model.bytes))),
            State::Missing => lacks(format!("{id} is not in {place}.")),
            State::Partial { bytes } | State::WrongSize { bytes } => {
                lacks(format!("{id} has {} of {}.", mib(bytes), mib(model.bytes)));
            }
        }
    }
    section
}

fn chosen(config: &Config) -> impl Iterator<Item = (&'static str, &Weights)> {
    let llm = (!far::is_chosen(config)).then_some(("llm", &config.llm.model));
    let stt = (config.stt.backend == SttBackend::Local).then_some(("stt", &config.stt.model));
    llm.into_iter().chain(stt)
}

fn known(weights: &Weights) -> Option<Model> {
    let registry = Registry::builtin();
    weights
        .file()
        .is_none()
        .then(|| registry.find(weights.as_str()).ok().cloned())
        .flatten()
}

fn memory(config: &Config) -> Section {
    let mut section = Section::new("memory");
    let needed: u64 = chosen(config)
        .map(|(_, weights)| match (known(weights), weights.file()) {
            (Some(model), _) => model.memory_mib << 20,
            (None, Some(file)) => fs::metadata(file).map_or(0, |meta| meta.len()),
            (None, None) => 0,
        })
        .sum();
    match machine::available_memory() {
        Some(free) => {
            let says = format!(
                "{} free, at least {} needed while all models are loaded.",
                mib(free),
                mib(needed)
            );
            match free < needed {
                true => section.warn("free", says, "Choose a smaller model, or a smaller llm.context."),
                false => section.ok("free", says),
            }
        }
        None => section.info(
            "free",
            format!(
                "At least {} needed; this system does not say what is free.",
                mib(needed)
            ),
        ),
    }
    section.info("cores", format!("{} to compute with.", machine::cores()));
    section
}

/// Whether what rings can be heard.
fn ringing(config: &Config) -> Section {
    let mut section = Section::new("ringing");
    match (config.ring.sound, sound::player()) {
        (false, _) => section.info("sound", "Off; a notification is shown (ring.sound)."),
        (true, Some(player)) => section.ok("sound", format!("Played by {}.", player.display())),
        (true, None) => section.warn(
            "sound",
            "Nothing here can play a sound, so alarms only show a notification.",
            "Install pulseaudio-utils, pipewire-bin or alsa-utils.",
        ),
    }
    section
}

/// What the tools for the desktop find here. What is missing is no fault: a computer without a battery is whole.
async fn desktop(app: &App) -> Section {
    let mut section = Section::new("desktop");
    for capability in capabilities(&Desk::here(), &app.config.dirs(&app.paths)).await {
        match capability.state {
            Ok(there) => section.ok(capability.name, there),
            Err(missing) => section.info(capability.name, missing),
        }
    }
    section
}

async fn daemon(app: &App) -> Section {
    let paths = &app.paths;
    let mut section = Section::new("daemon");
    let (mut pid, mut reach) = (None, None);
    if let Ok(socket) = paths.socket() {
        match tokio::time::timeout(BUS_TIME, bus::client(&socket)).await {
            Ok(Ok(Some(connection))) => {
                let asked = tokio::time::timeout(BUS_TIME, super::status::ask(&connection)).await;
                let status = asked.ok().and_then(Result::ok);
                pid = status.as_ref().map(|status| status.pid);
                reach = status.map(|status| status.hotkey);
                section.ok("running", format!("It answers on {}.", socket.display()));
            }
            Ok(Ok(None)) => section.info(
                "running",
                "No; every command then does its work itself. `tiro daemon` starts it.",
            ),
            Ok(Err(error)) => section.warn("running", format!("{error:#}"), "Restart the daemon."),
            Err(_) => section.warn("running", "It does not answer.", "Restart the daemon."),
        }
    }
    match tokio::time::timeout(BUS_TIME, zbus::Connection::session()).await {
        Ok(Ok(session)) => match tokio::time::timeout(BUS_TIME, bus::owner(&session)).await {
            Ok(owner @ Some(_)) if owner == pid => {
                section.ok("session bus", format!("Tiro is on it, as {}.", bus::NAME));
            }
            Ok(Some(owner)) => section.info(
                "session bus",
                format!("{} belongs to another program, process {owner}.", bus::NAME),
            ),
            Ok(None) | Err(_) => section.ok("session bus", "There is one."),
        },
        Ok(Err(_)) | Err(_) => {
            section.info(
                "session bus",
                "There is none, so the daemon is reached by its socket only.",
            );
        }
    }
    icon::icon(&mut section, pid, &app.config).await;
    hotkey::hotkey(&mut section, reach, app).await;
    speech_server::served(&mut section, &app.config).await;
    section
}

fn privacy(config: &Config) -> Section {
    let mut section = Section::new("privacy");
    if far::is_chosen(config) {
        model_server::privacy(&mut section, config);
    }
    let accounts = accounts::privacy(&mut section, config);
    let servers = speech_server::privacy(&mut section, config) || far::is_chosen(config) || accounts;
    let weather = config.reach().weather;
    match weather.enabled {
        false if servers => section.ok(
            "network",
            "Nothing else leaves this machine. Only `tiro models pull` uses the network besides.",
        ),
        false => section.ok(
            "network",
            "Nothing leaves this machine. Only `tiro models pull` uses the network.",
        ),
        true => section.info(
            "network",
            format!(
                "Who asks for the weather tells {} for which place. Nothing else leaves this machine.",
                weather::host(&weather)
                    .unwrap_or_else(|| "nobody yet, since weather.url is no address,".to_owned())
            ),
        ),
    }
    match config.privacy.trace {
        true => section.info(
            "trace",
            format!(
                "Requests are kept with their words for {}.",
                config.privacy.retention
            ),
        ),
        false => section.ok("trace", "Off: no request is kept with its words."),
    }
    section
}

fn mib(bytes: u64) -> String {
    match bytes >> 20 {
        0..10_000 => format!("{} MiB", bytes.div_ceil(1 << 20)),
        mib => format!("{} GiB", mib >> 10),
    }
}

#[cfg(test)]
mod tests;
