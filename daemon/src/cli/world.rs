//! `tiro world`: fills empty data folders from a world file, for the demo and for scenarios.

use std::{path::Path, process::ExitCode};

use super::app::App;
use crate::{
    reply::say_aside,
    world::{self, World},
};

/// Seeds the data folders.
pub fn run(app: &App, file: &Path) -> anyhow::Result<ExitCode> {
    let world = World::load(file)?;
    app.paths.create()?;
    let report = world::seed(&world, &app.config.dirs(&app.paths), &app.clock.now())?;
    say_aside(&report.to_string());
    Ok(ExitCode::SUCCESS)
}
