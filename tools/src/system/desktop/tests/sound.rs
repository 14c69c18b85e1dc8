//! Volume and mute against a real PulseAudio.

use serde_json::json;

use crate::{
    system::desktop::{sound, testing::World},
    testing::{run, said, told},
};

#[tokio::test(flavor = "multi_thread")]
async fn the_volume_is_set_muted_and_taken_back() {
    let Some(mut world) = World::start().await else {
        return;
    };
    let Some(_speaker) = world.speaker() else { return };
    let ctx = world.ctx();
    let percent = async || sound::percent(sound::volume(&ctx.desk).await.unwrap());
    let set = async |args| said(run("system.set_volume", args, &ctx).await);
    assert_eq!(percent().await, 100);
    assert_eq!(set(json!({"percent": 30})).await, "The volume is at 30 percent.");
    assert_eq!(percent().await, 30);
    assert_eq!(
        set(json!({"direction": "up"})).await,
        "The volume is at 40 percent."
    );
    assert_eq!(
        set(json!({"direction": "down", "percent": 25})).await,
        "The volume is at 15 percent."
    );
    assert_eq!(
        set(json!({"direction": "down", "percent": 25})).await,
        "The volume is at 0 percent."
    );
    let undo = async || said(run("assistant.undo", json!({}), &ctx).await);
    assert_eq!(undo().await, "Undone: The volume is at 0 percent.");
    assert_eq!(percent().await, 15);
    assert_eq!(undo().await, "Undone: The volume is at 15 percent.");
    assert_eq!(percent().await, 40);

    assert_eq!(
        said(run("system.mute", json!({}), &ctx).await),
        "The sound is muted."
    );
    assert_eq!(
        said(run("system.mute", json!({}), &ctx).await),
        "The sound is muted already."
    );
    assert!(sound::muted(&ctx.desk).await.unwrap());
    // Louder means that something shall be heard; both changes are one step.
    assert_eq!(set(json!({"percent": 60})).await, "The volume is at 60 percent.");
    assert!(!sound::muted(&ctx.desk).await.unwrap());
    undo().await;
    assert!(sound::muted(&ctx.desk).await.unwrap());
    assert_eq!(percent().await, 40);
    assert_eq!(
        said(run("system.mute", json!({"on": false}), &ctx).await),
        "The sound is on again."
    );

    // Another process undoes it, too.
    set(json!({"percent": 50})).await;
    let later = world.ctx();
    said(run("assistant.undo", json!({}), &later).await);
    assert_eq!(percent().await, 40);

    // What somebody turned since is not turned back.
    set(json!({"percent": 20})).await;
    sound::set_volume(&ctx.desk, sound::of_percent(70)).await.unwrap();
    let refused = told(run("assistant.undo", json!({}), &ctx).await);
    assert!(refused.contains("volume was changed since"), "{refused}");
    assert_eq!(percent().await, 70);
    assert_eq!(ctx.step.journal().verify_invariants().unwrap(), [""; 0]);
}

#[tokio::test]
async fn levels_that_are_none_are_told() {
    let Some(mut world) = World::start().await else {
        return;
    };
    world
        .desk()
        .env
        .push(("PULSE_SERVER".to_owned(), "unix:/nonexistent".to_owned()));
    let ctx = world.ctx();
    for (args, part) in [
        (json!({"percent": 101}), "from 0 to 100 percent, not to 101"),
        (json!({}), "To how many percent"),
        (json!({"percent": 3}), "No sound server can be reached"),
    ] {
        let text = told(run("system.set_volume", args.clone(), &ctx).await);
        assert!(text.contains(part), "{args}: {text}");
    }
}

/// PipeWire without PulseAudio's programs.
#[tokio::test]
async fn wireplumber_is_spoken_to_where_it_is_alone() {
    let Some(mut world) = World::start().await else {
        return;
    };
    world.program("wpctl", "echo 'Volume: 0.40 [MUTED]'");
    let bin = world.folder().join("bin");
    world.desk().path = bin.into_os_string();
    let ctx = world.ctx();
    assert_eq!(sound::percent(sound::volume(&ctx.desk).await.unwrap()), 40);
    assert!(sound::muted(&ctx.desk).await.unwrap());
    said(run("system.set_volume", json!({"percent": 55}), &ctx).await);
    let calls = world.programs();
    assert!(
        calls.contains("set-volume @DEFAULT_AUDIO_SINK@ 0.5500"),
        "{calls}"
    );
    assert!(calls.contains("set-mute @DEFAULT_AUDIO_SINK@ 0"), "{calls}");
}

/// A program that hangs is ended and not waited for.
#[tokio::test]
async fn a_program_that_hangs_is_told() {
    let Some(mut world) = World::start().await else {
        return;
    };
    world.program("pactl", "exec sleep 600");
    world.desk().patience = std::time::Duration::from_millis(300);
    let text = told(run("system.mute", json!({}), &world.ctx()).await);
    assert_eq!(text, "The sound server does not answer.");
}
