//! Which transcripts wake Tiro, what is left of them, and that a recogniser which hangs is given up.

use models::scripted::{Reply, ScriptedStt};
use proptest::prelude::*;

use super::*;

fn phrases(all: &[&str], sensitivity: f32) -> Phrases {
    Phrases::new(all.iter().map(|p| p.parse().unwrap()).collect(), sensitivity)
}

#[test]
fn a_transcript_that_begins_with_a_phrase_is_spotted_and_what_follows_is_the_request() {
    #[track_caller]
    fn check(text: &str, expect: Option<(&str, &str)>) {
        let spotted = phrases(&["hey tiro", "computer"], 0.5).spot(text, None);
        let got = spotted.as_ref().map(|s| (s.phrase.as_str(), s.rest.as_str()));
        assert_eq!(got, expect, "{text}: {spotted:?}");
    }
    check("Computer.", Some(("computer", "")));
    check("computer what time is it", Some(("computer", "what time is it")));
    check(
        "Computer, what time is it?",
        Some(("computer", "what time is it?")),
    );
    check("Hey, computer! Stop.", Some(("computer", "Stop.")));
    check("Um, okay computer, stop", Some(("computer", "stop")));
    check("Combutu, set a timer", Some(("computer", "set a timer")));
    check("Com puter set a timer", Some(("computer", "set a timer")));
    check("Computer computer computer", Some(("computer", "")));
    check("Hey Tiro", Some(("hey tiro", "")));
    check(
        "Hey, Tyro, play some jazz.",
        Some(("hey tiro", "play some jazz.")),
    );
    check("Heytiro play some jazz.", Some(("hey tiro", "play some jazz.")));
    check("Hay Tiero play", Some(("hey tiro", "play")));

    check("", None);
    check("...", None);
    check("Buy a new computer", None);
    check("the computer is slow", None);
    check("Compose a new mail to Anna", None);
    check("Compare the prices", None);
    check("Hey Siri, mute the speakers", None);
    check("Hey, turn the volume up", None);
    check("Hey there", None);
    check("Tiro", None);
    check("Hey you computer", None);
}

#[test]
fn sensitivity_is_one_knob() {
    let spotted = |text: &str, sensitivity| phrases(&["jarvis"], sensitivity).spot(text, None).is_some();
    for sensitivity in [0.0, 0.25, 0.5, 0.75, 1.0, f32::NAN, 7.0, -7.0] {
        assert!(spotted("Jarvis, stop", sensitivity));
        assert!(!spotted("Can I have a coffee", sensitivity));
    }
    assert!(spotted("Jiveous", 1.0) && !spotted("Jiveous", 0.5));
    assert!(spotted("Javis", 0.5) && !spotted("Javis", 0.0));
}

#[test]
fn the_phrase_is_taken_from_the_final_transcript() {
    let phrases = phrases(&["jarvis", "hey tiro"], 0.5);
    #[track_caller]
    fn check(phrases: &Phrases, text: &str, expect: &str) {
        assert_eq!(phrases.strip(text), expect, "{text}");
    }
    check(&phrases, "Jarvis, what time is it?", "what time is it?");
    check(&phrases, "Jervis, what time is it?", "what time is it?");
    check(&phrases, "Hey Tiro: call Anna", "call Anna");
    check(&phrases, "Jarvis.", "");
    // It began later than the phrase, or is nothing at all.
    check(&phrases, "What time is it?", "What time is it?");
    check(&phrases, "Service the car tomorrow", "Service the car tomorrow");
    check(&phrases, "", "");
}

#[test]
fn what_tiro_says_itself_does_not_wake_it() {
    let phrases = phrases(&["hey tiro", "computer"], 0.5);
    let spot = |text: &str, speaking: &str| phrases.spot(text, Some(speaking)).map(|s| s.phrase);
    let said = "You have one reminder: buy a computer for Anna.";
    assert_eq!(spot("Computer for Anna", said), None);
    assert_eq!(spot("Computers", "Two new compooters came."), None);
    assert_eq!(spot("Hey Tiro, stop", said).as_deref(), Some("hey tiro"));
    assert_eq!(
        spot("Computer, stop", "It is nine o'clock.").as_deref(),
        Some("computer")
    );
    // What is only nearly one is more likely an echo.
    assert!(phrases.spot("Combutu", None).is_some());
    assert_eq!(spot("Combutu", "It is nine o'clock."), None);
}

#[test]
fn a_phrase_that_cannot_work_is_refused_with_the_reason() {
    #[track_caller]
    fn check(text: &str, expect: &str) {
        let error = text.parse::<Phrase>().unwrap_err();
        assert!(
            error.contains(expect) && error.contains("hey tiro"),
            "{text}: {error}"
        );
    }
    check("", "0 letters");
    check("hi", "2 letters");
    check("a b c d e", "5 words");
    check("hal 9000", "'9' is no letter");
    check("computer!", "'!' is no letter");
    check("[BLANK]", "'[' is no letter");
    check(&"a".repeat(41), "41 letters");
    check(&"a".repeat(100_000), "100000 bytes");
    for good in [
        "computer",
        "hey tiro",
        "O'Brien",
        "guten Tag Tiro",
        "тиро слушай",
        "ok-computer",
        " hey  tiro ",
    ] {
        let phrase: Phrase = good.parse().unwrap();
        let shown = phrase.to_string();
        assert_eq!(shown.parse::<Phrase>().unwrap(), phrase);
        let all = Phrases::new(vec![phrase], 0.0);
        let spotted = all.spot(&format!("{shown}, stop"), None).unwrap();
        assert_eq!((spotted.score, spotted.rest.as_str()), (1.0, "stop"), "{good}");
    }
}

fn clip() -> Candidate {
    Candidate {
        at: 16_000,
        onset: 8000,
        samples: vec![0.1; 32_000],
        early: false,
    }
}

#[tokio::test]
async fn a_clip_is_recognised_once_without_being_told_the_phrase() {
    let stt = ScriptedStt::replies(["Computer, stop", "Buy milk", ""]);
    let phrases = phrases(&["computer"], 0.5);
    let (clip, patience) = (clip(), PATIENCE);
    let look = || look(&stt, &clip, Some("en"), &phrases, None, patience);
    assert!(matches!(look().await.unwrap(), Looked::Phrase(s) if s.rest == "stop"));
    assert_eq!(look().await.unwrap(), Looked::Speech);
    assert_eq!(look().await.unwrap(), Looked::Noise);
    let request = &stt.requests()[0];
    assert_eq!((request.prompt.as_deref(), request.audio_ctx), (None, Some(368)));
}

#[tokio::test]
async fn a_recogniser_that_hangs_is_given_up() {
    let stt = ScriptedStt::replies([Reply::Hang(String::new())]);
    let phrases = phrases(&["computer"], 0.5);
    let patience = Duration::from_millis(50);
    let given_up = look(&stt, &clip(), None, &phrases, None, patience).await;
    assert_eq!(given_up, Err(EngineError::TimedOut(patience)));
}

proptest! {
    #[test]
    fn any_transcript_is_fine(text in "(\\PC|[\n\r\t]){0,80}", speaking in "\\PC{0,40}", sensitivity in 0f32..1.0) {
        let phrases = phrases(&["hey tiro", "computer"], sensitivity);
        for spotted in [phrases.spot(&text, None), phrases.spot(&text, Some(&speaking)), phrases.closest(&text)].into_iter().flatten() {
            prop_assert!((0.0..=1.0).contains(&spotted.score));
            prop_assert!(spotted.end <= text.len() && text.is_char_boundary(spotted.end));
            prop_assert!(text[spotted.end..].contains(&spotted.rest));
        }
        prop_assert!(text.ends_with(phrases.strip(&text)));
    }

    #[test]
    fn any_phrase_is_parsed_or_refused(text in "\\PC{0,60}") {
        match text.parse::<Phrase>() {
            Ok(phrase) => prop_assert_eq!(phrase.to_string().parse::<Phrase>(), Ok(phrase)),
            Err(error) => prop_assert!(error.contains("is not one to four words")),
        }
    }
}

#[test]
fn a_long_transcript_costs_little() {
    let long = "computer ".repeat(100_000);
    let began = std::time::Instant::now();
    assert!(
        phrases(&["computer"; 8], 0.5)
            .spot(&long, Some(&"nothing of that ".repeat(100)))
            .is_some()
    );
    assert!(began.elapsed() < Duration::from_secs(2), "{:?}", began.elapsed());
}
