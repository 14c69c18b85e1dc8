//! What another program wants said, as `tiro say` does: the daemon says it, so that it knows these words as its own.

use daemon::bus::MAX_SAID;
use futures_util::{StreamExt as _, stream::FuturesUnordered};
use rustix::process::{Pid, Signal, kill_process};
use zbus::{Connection, fdo};

use super::*;
use crate::program::{Tiro, finish};

fn nothing() -> ScriptedLlm {
    ScriptedLlm::replies([""; 0])
}

/// This client wants it said; what came of that.
fn says(client: &Connection, text: &str) -> tokio::task::JoinHandle<fdo::Result<()>> {
    let (client, text) = (client.clone(), text.to_owned());
    tokio::spawn(async move { Tiro1Proxy::new(&client).await.unwrap().say(text).await })
}

fn why(said: fdo::Result<()>) -> String {
    match said {
        Err(fdo::Error::Failed(why) | fdo::Error::LimitsExceeded(why)) => why,
        other => panic!("{other:?}"),
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn the_daemon_says_what_a_client_wants_said_and_knows_it_as_its_own() {
    let puppet = Puppet::that_says(0);
    let speaker = puppet.speaker(false);
    let own = speaker.own();
    let running = Running::start_with(nothing(), |parts| parts.speak = speaker).await;
    let saying = says(&running.client().await, "Computer, it is 14:30.");
    puppet.until_given(1).await;
    running.until("speaking", |s| s.state == "speaking").await;
    let said = own.borrow().lately(Duration::ZERO).unwrap();
    assert_eq!(said, "Computer, it is two thirty PM.", "as answers are said");
    assert!(!saying.is_finished(), "it is not over");
    puppet.may.add_permits(1);
    saying.await.unwrap().unwrap();
    running.until("idle", |s| s.state == "idle").await;
    running.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn it_is_said_after_what_is_said_already_and_until_somebody_wants_quiet() {
    let puppet = Puppet::that_says(0);
    let running = Running::start_with(ScriptedLlm::replies([tomorrow()]), speaks(&puppet, true)).await;
    let (one, two) = (running.client().await, running.client().await);
    ask(&one, "what is on tomorrow").await.unwrap();
    puppet.until_given(1).await;
    let first = says(&one, "The first.");
    puppet.may.add_permits(100);
    first.await.unwrap().unwrap();
    assert_eq!(puppet.said().last().unwrap(), "The first.");
    assert_eq!(puppet.stopped(), 0, "the answer was said before");
    running.until("idle", |s| s.state == "idle").await;

    // One is said, eight wait, and the ninth may not.
    puppet.may.forget_permits(100);
    let given = puppet.given().len();
    let second = says(&one, "The second.");
    puppet.until_given(given + 1).await;
    let mut many: FuturesUnordered<_> = (0..9).map(|_| says(&two, "Too much.")).collect();
    let refused = why(many.next().await.unwrap().unwrap());
    assert!(refused.contains("8 texts are waiting"), "{refused}");
    // Who withdraws what they wanted said stops nothing else.
    Tiro1Proxy::new(&two).await.unwrap().cancel().await.unwrap();
    while let Some(said) = many.next().await {
        assert!(why(said.unwrap()).contains("stopped"));
    }
    assert_eq!((puppet.stopped(), puppet.given().len()), (0, given + 1));
    // A key that is bound to `tiro listen cancel`.
    let key = running.client().await;
    Tiro1Proxy::new(&key)
        .await
        .unwrap()
        .listen("cancel")
        .await
        .unwrap();
    assert!(why(second.await.unwrap()).contains("stopped"));
    puppet.until_stopped(1).await;

    // Who leaves does not want it any more, and the next one has its turn.
    let third = says(&one, "The third.");
    puppet.until_given(given + 2).await;
    let fourth = says(&two, "The fourth.");
    one.close().await.unwrap();
    puppet.until_stopped(2).await;
    puppet.until_given(given + 3).await;
    puppet.may.add_permits(1);
    fourth.await.unwrap().unwrap();
    assert!(third.await.unwrap().is_err());
    running.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn why_it_is_not_said_is_told_to_who_wanted_it() {
    let puppet = Puppet::that_says(0);
    *puppet.trouble.lock().unwrap() = Some(Trouble::Absent("There is no voice. Install one.".to_owned()));
    let running = Running::start_with(nothing(), speaks(&puppet, false)).await;
    let client = running.client().await;
    let told = why(says(&client, "Hello.").await.unwrap());
    assert_eq!(
        told,
        "There is no voice. Install one. `tiro doctor` shows what there is."
    );
    let long = why(says(&client, &"a".repeat(MAX_SAID + 1)).await.unwrap());
    assert!(long.contains("1 MiB"), "{long}");
    says(&client, "").await.unwrap().unwrap();
    let status = running.status().await;
    assert_eq!((status.state.as_str(), status.problems), ("idle", Vec::new()));
    running.stop().await;

    let running = Running::start_with(nothing(), |parts| parts.speak = Speaker::off()).await;
    let told = why(says(&running.client().await, "Hello.").await.unwrap());
    assert!(told.contains("speech.voice"), "{told}");
    running.stop().await;
}

/// The same answers and exit codes as without a daemon.
#[tokio::test(flavor = "multi_thread")]
async fn real_say_leaves_it_to_a_daemon_that_runs() {
    let Some(tiro) = Tiro::find() else { return };
    let puppet = Puppet::that_says(1);
    let running = Running::start_with(nothing(), speaks(&puppet, false)).await;
    let say = |text: &str| {
        let mut command = tiro.command(["say", text]);
        command.env("TIRO_HOME", running.home.path()).spawn().unwrap()
    };
    let ends = async |child| tokio::task::spawn_blocking(move || finish(child)).await.unwrap();
    ends(say("Hello there.")).await.expect_code(0);
    assert_eq!(puppet.said(), ["Hello there."]);
    // Ctrl-C
    let child = say("Hello.");
    puppet.until_given(2).await;
    kill_process(
        Pid::from_raw(child.id().try_into().unwrap()).unwrap(),
        Signal::INT,
    )
    .unwrap();
    ends(child).await.expect_code(1);
    puppet.until_stopped(1).await;
    *puppet.trouble.lock().unwrap() = Some(Trouble::Absent("There is no voice.".to_owned()));
    ends(say("Hello."))
        .await
        .expect_code(1)
        .says(&["There is no voice. `tiro doctor`"]);
    running.stop().await;
}
