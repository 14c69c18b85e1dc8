//! Guests and the person want things at the same time: the person waits for nothing of a guest's but what they agreed to.

use daemon::{
    bus::Tiro1Proxy,
    reply::Confirmation,
    report::Report,
    run::{Asking, Event},
};
use models::scripted::{Reply, ScriptedLlm, ScriptedStt};
use tokio::sync::oneshot;

use crate::{
    daemon_loop::{Running, ask, asking_tools, call, note, test_tools},
    microphone::{Talk, alone_in},
};

/// A guest asks; what it is told.
async fn guest(running: &Running, client: u64, text: &str) -> oneshot::Receiver<Result<String, String>> {
    let (reply, told) = oneshot::channel();
    let asking = Asking {
        text: text.to_owned(),
        wav: None,
        speech: None,
        yes: false,
        interactive: false,
        notify: true,
        now: None,
        client,
        guest: Some("a satellite".to_owned()),
        connection: None,
        reply,
    };
    running.happens(Event::Ask(Box::new(asking))).await;
    told
}

async fn answer(told: oneshot::Receiver<Result<String, String>>) -> Report {
    serde_json::from_str(&told.await.unwrap().unwrap()).unwrap()
}

/// The question that is open.
async fn question(person: &Tiro1Proxy<'_>) -> u64 {
    let question: serde_json::Value = serde_json::from_str(&person.question().await.unwrap()).unwrap();
    question["id"].as_u64().unwrap()
}

const SATELLITE: u64 = 77;
const TOMORROW: &str = "what do I have tomorrow";

fn calendar() -> Reply {
    Reply::Text(call("calendar.query", r#"{"when": "tomorrow"}"#))
}

fn contacts() -> Reply {
    Reply::Text(call("contacts.search", r#"{"name": "Anna"}"#))
}

#[tokio::test]
async fn a_guest_that_only_thinks_gives_way_and_is_answered_after_the_person() {
    let script = [Reply::Hang("Once upon".into()), calendar(), contacts()];
    let running = Running::start(ScriptedLlm::replies(script)).await;
    let client = running.client().await;
    let told = guest(&running, SATELLITE, "what is Anna's number").await;
    running.until_asked(1).await;
    // The guest's turn would hang for ever.
    let own = ask(&client, TOMORROW).await.unwrap();
    assert!(own.reply.contains("Dentist"), "{}", own.reply);
    let theirs = answer(told).await;
    assert!(theirs.reply.contains("Anna"), "{}", theirs.reply);
    let prompts = running.llm.prompts();
    assert_eq!(prompts.len(), 3);
    assert!(
        !prompts[1].contains("Anna's number"),
        "nor is it in what the model reads for the person"
    );
    running.stop().await;
}

#[tokio::test]
async fn a_question_of_a_guest_is_put_again_when_the_person_has_what_they_want() {
    let script = [Reply::Text(note("milk")), calendar(), Reply::Text(note("milk"))];
    let running = Running::start_with(ScriptedLlm::replies(script), asking_tools).await;
    let (client, before) = (running.client().await, running.home.files());
    let told = guest(&running, SATELLITE, "note milk").await;
    running.until("asked", |s| s.state == "confirming").await;
    let person = Tiro1Proxy::new(&client).await.unwrap();
    let first = question(&person).await;
    let own = ask(&client, TOMORROW).await.unwrap();
    assert!(own.reply.contains("Dentist"), "{}", own.reply);
    running.until("asked again", |s| s.state == "confirming").await;
    assert!(
        !person.confirm(first, true).await.unwrap(),
        "the first question is over"
    );
    assert!(running.home.files() == before, "nobody agreed to anything");
    assert!(person.confirm(question(&person).await, true).await.unwrap());
    let theirs = answer(told).await;
    assert_eq!(theirs.calls.len(), 1, "{theirs:?}");
    assert!(running.home.files() != before);
    running.stop().await;
}

#[tokio::test]
async fn who_says_wait_has_not_agreed_and_is_not_kept_waiting() {
    let milk = || Reply::Text(note("milk"));
    let running = Running::start_with(ScriptedLlm::replies([milk(), calendar(), milk()]), asking_tools).await;
    let client = running.client().await;
    let told = guest(&running, SATELLITE, "note milk").await;
    running.until("asked", |s| s.state == "confirming").await;
    let person = Tiro1Proxy::new(&client).await.unwrap();
    let (id, (done, counted)) = (question(&person).await, oneshot::channel());
    let answer_wait = Event::Confirm {
        id,
        answer: Confirmation::Wait,
        done,
    };
    running.happens(answer_wait).await;
    assert!(counted.await.unwrap());
    let own = ask(&client, TOMORROW).await.unwrap();
    assert!(own.reply.contains("Dentist"), "{}", own.reply);
    running.until("asked again", |s| s.state == "confirming").await;
    assert!(person.confirm(question(&person).await, false).await.unwrap());
    assert_eq!(answer(told).await.calls[0].status, "declined");
    running.stop().await;
}

#[tokio::test]
async fn what_a_guest_has_begun_is_not_done_twice() {
    let script = [Reply::Text(call("test.slow", "{}")), calendar()];
    let running = Running::start_with(ScriptedLlm::replies(script), test_tools).await;
    let client = running.client().await;
    let told = guest(&running, SATELLITE, "write slowly").await;
    running.until("asked", |s| s.state == "confirming").await;
    let person = Tiro1Proxy::new(&client).await.unwrap();
    assert!(person.confirm(question(&person).await, true).await.unwrap());
    // From here on it is not put off, whether it has begun to write or is about to.
    let own = ask(&client, TOMORROW).await.unwrap();
    assert!(own.reply.contains("Dentist"), "{}", own.reply);
    assert_eq!(answer(told).await.reply, "Written.");
    assert_eq!(
        running.llm.prompts().len(),
        2,
        "the model was asked once for each"
    );
    running.stop().await;
}

#[tokio::test]
async fn the_person_goes_before_guests_and_guests_do_not_fill_their_places() {
    // The first turn is the person's, so nobody gives way.
    let script = std::iter::once(Reply::Hang("Once upon".into())).chain((0..9).map(|_| calendar()));
    let running = Running::start(ScriptedLlm::replies(script)).await;
    let (first, second, third) = (
        running.client().await,
        running.client().await,
        running.client().await,
    );
    let story = tokio::spawn(async move { ask(&first, "tell me a story").await });
    running.until_asked(1).await;
    let mut guests = Vec::new();
    for n in 0..9 {
        guests.push(guest(&running, SATELLITE + n, "what is up").await);
    }
    let ninth = guests.pop().unwrap().await.unwrap();
    assert_eq!(ninth, Err("8 requests are waiting already".to_owned()));
    let own = tokio::spawn(async move { ask(&second, TOMORROW).await });
    running.until("waiting", |s| s.waiting == 9).await;
    Tiro1Proxy::new(&third).await.unwrap().cancel().await.unwrap();
    assert!(story.await.unwrap().is_err());
    let own = own.await.unwrap().unwrap();
    assert!(own.reply.contains("Dentist"), "{}", own.reply);
    assert!(running.llm.prompts()[1].contains(TOMORROW), "before all guests");
    for told in guests {
        answer(told).await;
    }
    running.stop().await;
}

#[tokio::test]
async fn what_a_guest_has_only_read_does_not_keep_the_person_waiting() {
    let both = "show my calendar for tomorrow and make a note about milk";
    let milk = || Reply::Text(note("milk"));
    let script = [calendar(), milk(), contacts(), calendar(), milk()];
    let running = Running::start_with(ScriptedLlm::replies(script), asking_tools).await;
    let client = running.client().await;
    let told = guest(&running, SATELLITE, both).await;
    running.until("asked", |s| s.state == "confirming").await;
    let own = ask(&client, "what is Anna's number").await.unwrap();
    assert!(own.reply.contains("Anna"), "{}", own.reply);
    running.until("asked again", |s| s.state == "confirming").await;
    let person = Tiro1Proxy::new(&client).await.unwrap();
    assert!(person.confirm(question(&person).await, true).await.unwrap());
    let theirs = answer(told).await;
    assert!(
        theirs.reply.contains("Dentist") && theirs.reply.contains("note"),
        "{}",
        theirs.reply
    );
    running.stop().await;
}

#[tokio::test]
async fn a_guest_that_gave_way_can_still_withdraw() {
    let hangs = || Reply::Hang("Once upon".into());
    let running = Running::start(ScriptedLlm::replies([hangs(), hangs(), calendar()])).await;
    let (first, second) = (running.client().await, running.client().await);
    let told = guest(&running, SATELLITE, "what is Anna's number").await;
    running.until_asked(1).await;
    let own = tokio::spawn(async move { ask(&first, "tell me a story").await });
    running.until_asked(2).await;
    let cancel = Event::Cancel {
        client: SATELLITE,
        any: false,
        done: oneshot::channel().0,
    };
    running.happens(cancel).await;
    assert!(told.await.is_err(), "nobody is left who would answer");
    Tiro1Proxy::new(&second).await.unwrap().cancel().await.unwrap();
    assert!(own.await.unwrap().is_err());
    let next = ask(&second, TOMORROW).await.unwrap();
    assert!(next.reply.contains("Dentist"), "{}", next.reply);
    assert_eq!(running.llm.prompts().len(), 3, "the guest's is not begun again");
    running.stop().await;
}

#[test]
fn who_begins_to_speak_puts_a_guest_off_and_loses_nothing_of_theirs() {
    let name = "who_begins_to_speak_puts_a_guest_off_and_loses_nothing_of_theirs";
    alone_in("making_way", name, async |_, pulse| {
        let llm = ScriptedLlm::replies([Reply::Hang("Once upon".into()), contacts()]);
        let talk = Talk::with(llm, ScriptedStt::replies::<&str>([]), |_| ()).await;
        let told = guest(&talk.running, SATELLITE, "what is Anna's number").await;
        talk.running.until_asked(1).await;
        talk.open("start", &pulse).await;
        talk.running.until("put off", |s| s.waiting == 1).await;
        let asked = talk.running.llm.prompts().len();
        assert_eq!(asked, 1, "nothing begins while somebody may speak");
        let state = talk.listen("cancel").await;
        // The guest's turn may have begun before the state was read.
        assert!(["idle", "thinking"].contains(&&*state), "{state}");
        let theirs = answer(told).await;
        assert!(theirs.reply.contains("Anna"), "{}", theirs.reply);
    });
}
