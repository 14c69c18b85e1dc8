//! The speaker with voices that follow a script.

use async_trait::async_trait;

use super::*;

/// What a voice does with its pieces.
#[derive(Clone)]
enum Script {
    /// Says them all.
    Speaks,
    /// Says so many, and then fails.
    Fails(usize, Trouble),
    /// Takes one and never ends.
    Hangs,
}

struct Scripted {
    script: Script,
    said: Arc<Mutex<Vec<String>>>,
    /// Whether it was dropped while it spoke.
    dropped: Arc<AtomicUsize>,
}

struct Talking(Arc<AtomicUsize>);

impl Drop for Talking {
    fn drop(&mut self) {
        self.0.fetch_add(1, std::sync::atomic::Ordering::AcqRel);
    }
}

#[async_trait]
impl Voice for Scripted {
    fn name(&self) -> &str {
        "scripted"
    }

    async fn there(&self) -> Result<String, Trouble> {
        Ok("Scripted.".to_owned())
    }

    async fn say(&self, pieces: &Pieces) -> Result<(), Trouble> {
        let _talking = Talking(Arc::clone(&self.dropped));
        let mut count = 0;
        while let Some(piece) = pieces.next().await {
            match &self.script {
                Script::Fails(after, trouble) if count == *after => return Err(trouble.clone()),
                Script::Hangs => std::future::pending::<()>().await,
                _ => {}
            }
            self.said.lock().unwrap().push(piece);
            pieces.spoken();
            count += 1;
        }
        Ok(())
    }
}

/// A speaker with these voices, and what each said.
fn speaker(scripts: impl IntoIterator<Item = Script>) -> (Speaker, Vec<Arc<Mutex<Vec<String>>>>) {
    let (mut voices, mut said) = (Vec::new(), Vec::new());
    for script in scripts {
        let voice = Scripted {
            script,
            said: Arc::default(),
            dropped: Arc::default(),
        };
        said.push(Arc::clone(&voice.said));
        voices.push(Arc::new(voice) as Arc<dyn Voice>);
    }
    (Speaker::with(Settings::default(), voices), said)
}

fn of(said: &Arc<Mutex<Vec<String>>>) -> Vec<String> {
    said.lock().unwrap().clone()
}

fn failed() -> Trouble {
    Trouble::Failed("It broke.".to_owned())
}

#[tokio::test]
async fn the_next_voice_goes_on_where_one_broke_and_the_broken_one_rests() {
    let (speaker, said) = speaker([Script::Fails(1, failed()), Script::Speaks]);
    speaker.say("One. Two is 2. Three.").await.unwrap();
    assert_eq!(of(&said[0]), ["One."]);
    assert_eq!(of(&said[1]), ["Two is two.", "Three."]);
    speaker.say("Four.").await.unwrap();
    assert_eq!(of(&said[0]).len(), 1, "it would only break again");
    assert_eq!(of(&said[1]).last().unwrap(), "Four.");
}

#[tokio::test]
async fn without_a_voice_it_is_said_what_to_install() {
    let absent = || Script::Fails(0, Trouble::Absent("It is not installed.".to_owned()));
    let (none, _) = speaker([absent(), absent()]);
    let trouble = none.say("Hello.").await.unwrap_err();
    assert!(
        trouble.to_string().contains("Install speech-dispatcher"),
        "{trouble}"
    );
    let (one, _) = speaker([absent()]);
    assert_eq!(
        one.say("Hello.").await.unwrap_err().to_string(),
        "It is not installed."
    );
    let (broken, _) = speaker([Script::Fails(0, failed()), absent()]);
    assert_eq!(
        broken.say("Hello.").await.unwrap_err(),
        failed(),
        "what could be mended is said"
    );
    assert_eq!(broken.say("").await, Ok(()), "there is nothing to say");
    assert_eq!(Speaker::off().say("Hello.").await, Ok(()));
}

#[tokio::test]
async fn who_was_silenced_says_nothing_more_and_nothing_is_wrong() {
    let (speaker, said) = speaker([Script::Fails(1, Trouble::Silenced), Script::Speaks]);
    speaker.say("One. Two.").await.unwrap();
    assert_eq!((of(&said[0]).len(), of(&said[1]).len()), (1, 0));
}

#[tokio::test]
async fn it_is_known_what_is_said_and_dropping_it_ends_that() {
    let (speaker, _) = speaker([Script::Hangs]);
    let mut own = speaker.own();
    let saying = tokio::spawn({
        let speaker = speaker.clone();
        async move { speaker.say("Shall I send it? Say yes.").await }
    });
    own.wait_for(|own| own.text == "Shall I send it?").await.unwrap();
    assert!(speaker.speaking() && own.borrow().changed.is_some());
    saying.abort();
    own.wait_for(|own| !own.speaking).await.unwrap();
    assert_eq!(own.borrow().text, "Shall I send it?", "a room echoes");
    speaker.silent().await;
    assert!(!speaker.speaking());
}

/// A clip over the end of an answer may be judged when a question sounds already.
#[tokio::test]
async fn what_was_said_before_is_still_known_while_the_next_text_sounds() {
    let (speaker, _) = speaker([Script::Speaks]);
    speaker.say("Computer is the word.").await.unwrap();
    tokio::time::sleep(Duration::from_millis(30)).await;
    speaker.say("Shall I?").await.unwrap();
    let own = speaker.own().borrow().clone();
    assert_eq!(own.text, "Shall I?");
    let lately = |millis| own.lately(Duration::from_millis(millis));
    assert_eq!(lately(5000).unwrap(), "Computer is the word. Shall I?");
    // Only what the clip can have heard.
    assert_eq!(lately(15).unwrap(), "Shall I?");
    tokio::time::sleep(Duration::from_millis(30)).await;
    assert_eq!(lately(15), None);
}

#[test]
fn of_what_was_said_for_hours_the_last_minutes_are_known() {
    let mut own = Own::default();
    for _ in 0..100 {
        own.begins();
        for n in 0..1000 {
            own.says(&format!("Satz {n} hört auf."));
        }
        own.changed = Some(Instant::now());
    }
    let known = own.lately(Duration::from_secs(60)).unwrap();
    assert!(known.ends_with("Satz 999 hört auf."), "{known}");
    assert!(known.len() <= 2 * AUDIBLE + 1, "{}", known.len());
    own.changed = Instant::now().checked_sub(2 * JUDGED);
    own.begins();
    assert!(own.before.len() <= 1, "what is long over is forgotten");
}

#[tokio::test]
async fn two_texts_are_said_one_after_the_other() {
    let (speaker, said) = speaker([Script::Speaks]);
    let (one, two) = tokio::join!(speaker.say("One. Two."), speaker.say("Three. Four."));
    assert!(one.is_ok() && two.is_ok());
    let said = of(&said[0]).join(" ");
    assert!(
        said == "One. Two. Three. Four." || said == "Three. Four. One. Two.",
        "{said}"
    );
}

#[tokio::test]
async fn the_first_sentence_sounds_while_the_rest_is_being_written() {
    let (speaker, said) = speaker([Script::Speaks]);
    let (mut writing, speaking) = speaker.begin();
    let speaking = tokio::spawn(speaking);
    assert!(!speaker.speaking(), "nothing is said before there is something");
    writing.say("You have 2 events. ");
    let mut own = speaker.own();
    own.wait_for(|own| own.text.contains("events.")).await.unwrap();
    assert_eq!(of(&said[0]), ["You have two events."]);
    writing.say("The first is at 14:30");
    drop(writing);
    speaking.await.unwrap().unwrap();
    assert_eq!(of(&said[0])[1..], ["The first is at two thirty PM."]);
    assert!(!speaker.speaking());
}

#[test]
fn the_settings_choose_the_voices() {
    let names = |choice, command: &str| {
        let command = Ok(command.split_whitespace().map(str::to_owned).collect());
        let speaker = Speaker::of(Settings {
            choice,
            command,
            ..Settings::default()
        });
        speaker
            .voices()
            .iter()
            .map(|voice| voice.name().to_owned())
            .collect::<Vec<_>>()
    };
    let usual = if cfg!(target_os = "macos") {
        "say"
    } else {
        "speech-dispatcher"
    };
    assert_eq!(names(Choice::Auto, ""), [usual, "espeak-ng"]);
    assert_eq!(names(Choice::Auto, "piper -m x"), ["command", usual, "espeak-ng"]);
    assert_eq!(names(Choice::EspeakNg, "piper"), ["espeak-ng"]);
    assert_eq!(names(Choice::Off, "piper"), [""; 0]);
}
