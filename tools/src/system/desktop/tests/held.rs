//! A Tiro that is held has the service manager start what is the person's; one that behaves badly costs a sentence, and
//! never starts anything twice.

use std::{
    fs,
    os::unix::fs::PermissionsExt as _,
    path::PathBuf,
    time::{Duration, Instant},
};

use serde_json::json;

use crate::{
    system::desktop::testing::{Manner, PATIENCE, World},
    testing::{run, told},
};

const MANAGER: &str = "org.freedesktop.systemd1";

/// An app that leaves a line for each time that it is started.
fn install(world: &World) -> PathBuf {
    let (apps, program) = (
        world.folder().join("applications"),
        world.folder().join("planner"),
    );
    let started = world.folder().join("started");
    fs::create_dir_all(&apps).unwrap();
    fs::write(
        &program,
        format!("#!/bin/sh\necho x >> {}\nsleep 1\n", started.display()),
    )
    .unwrap();
    fs::set_permissions(&program, fs::Permissions::from_mode(0o755)).unwrap();
    let entry = format!(
        "[Desktop Entry]\nType=Application\nName=Garden Planner\nExec={}\n",
        program.display()
    );
    fs::write(apps.join("planner.desktop"), entry).unwrap();
    started
}

/// Opens the app with such a manager: what comes of it, and how often the app was started.
async fn opens(manner: Option<Manner>, expect: Result<(), &str>, times: usize) {
    let Some(mut world) = World::start().await else {
        return;
    };
    world.desk().held = true;
    world.desk().patience = Duration::from_secs(2);
    let started = install(&world);
    if let Some(manner) = manner {
        world.bad(MANAGER, manner).await;
    }
    let ctx = world.ctx();
    let began = Instant::now();
    let answer = run("system.open_app", json!({"name": "garden planner"}), &ctx).await;
    assert!(began.elapsed() < PATIENCE);
    match (answer, expect) {
        (Ok(_), Ok(())) => {}
        (answer, Err(why)) => assert_eq!(told(answer), why),
        (Err(error), Ok(())) => panic!("{error}"),
    }
    // What was started is there by now: a start is watched before it is answered for.
    let started = fs::read_to_string(&started).unwrap_or_default();
    assert_eq!(started.lines().count(), times);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_manager_that_is_absent_or_says_no_leaves_it_to_tiro() {
    opens(None, Ok(()), 1).await;
    opens(Some(Manner::Denies), Ok(()), 1).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_manager_that_may_have_begun_is_not_helped() {
    let silent = "Garden Planner did not start: systemd does not answer.";
    opens(Some(Manner::Hangs), Err(silent), 0).await;
    opens(Some(Manner::Vanishes), Err(silent), 0).await;
    let nonsense = "Garden Planner did not start: systemd gave an answer that I do not understand.";
    opens(Some(Manner::Garbage), Err(nonsense), 0).await;
}
