//! The wake word on recordings of people, with the real recogniser: how often it is heard, what else is taken for it, and
//! what listening costs. All recordings are played one after the other to one watch, as a microphone would deliver them.
//!
//! The threshold was chosen with the transcripts of both words and 19,773 written requests in view, so this shows what it does
//! and is no confirmation on words that nobody saw.

use std::{
    collections::BTreeMap,
    path::{Path, PathBuf},
    process::Command,
    time::{Duration, Instant},
};

use daemon::{
    listen::{
        wake::{Candidate, PATIENCE, Phrases, Watch, words_of},
        wav,
    },
    ring::sound::tones,
};
use models::{
    engine::{SttConfig, SttEngine},
    stt::{SAMPLE_RATE, Stt},
};

use crate::{
    home::{data, root},
    spoken::{Sound::Say, sounds},
};

const RATE: usize = SAMPLE_RATE as usize;
/// Phrases that are listened for beside those that somebody says.
const OTHERS: [&str; 4] = ["hey tiro", "alexa", "hey jarvis", "friday"];

/// All of them are expected whenever somebody speaks, so that each may be invented.
fn names() -> Vec<String> {
    let all = ["computer", "jarvis"].iter().chain(&OTHERS);
    let phrases = all.map(|phrase| phrase.parse().unwrap()).collect();
    Phrases::new(phrases, 0.5).names()
}

/// The recordings, or a loud line.
pub fn speech() -> Option<PathBuf> {
    data("speech")
}

/// The weights of the recogniser that people get.
pub const USUAL: &str = "ggml-base-q8_0.bin";

/// The recogniser with these weights, loaded; or a loud line.
pub async fn recogniser(weights: &str) -> Option<SttEngine> {
    let engines =
        std::env::var_os("TIRO_ENGINES").map_or_else(|| root().join("target/release"), PathBuf::from);
    let model = PathBuf::from(std::env::var_os("TIRO_MODELS").unwrap_or_default()).join(weights);
    if !engines.join("tiro-stt").is_file() || !model.is_file() {
        let required = std::env::var_os("TIRO_REQUIRE_REAL").is_some();
        assert!(!required, "tiro-stt or {} is missing", model.display());
        println!(
            "SKIPPED: {} with tiro-stt in {} is not there",
            model.display(),
            engines.display()
        );
        return None;
    }
    let mut config = SttConfig::new(model);
    config.engines_dir = Some(engines);
    let engine = SttEngine::new(config);
    engine.info().await.unwrap();
    Some(engine)
}

/// Every recording below a folder.
pub fn wavs(folder: &Path) -> Vec<PathBuf> {
    let entries = std::fs::read_dir(folder)
        .unwrap()
        .flatten()
        .map(|entry| entry.path());
    let mut found: Vec<_> = entries
        .filter(|path| path.extension().is_some_and(|e| e == "wav" || e == "riff"))
        .collect();
    found.sort();
    found
}

pub fn rms(samples: &[f32]) -> f32 {
    (samples.iter().map(|s| s * s).sum::<f32>() / samples.len().max(1) as f32).sqrt()
}

/// Soft noise, as a quiet room has it.
fn room(length: usize) -> Vec<f32> {
    let mut seed = 7u32;
    let mut next = || {
        seed = seed.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        ((seed >> 8) as f32 / 8_388_608.0 - 1.0) * 0.001
    };
    (0..length).map(|_| next()).collect()
}

fn kitchen(speech: &Path) -> Vec<f32> {
    wav::read(&speech.join("kitchen-noise.wav")).unwrap()
}

/// Recordings one after the other with a second of room between them, and where each ends.
#[derive(Default)]
struct Tape {
    samples: Vec<f32>,
    /// What is said up to where.
    ends: Vec<(&'static str, usize)>,
}

impl Tape {
    /// All of these sets; with kitchen noise 10 dB below each recording, or in a quiet room.
    fn of(speech: &Path, sets: &[&'static str], noisy: bool) -> Tape {
        let noise = kitchen(speech);
        let mut tape = Tape::default();
        for set in sets {
            for path in wavs(&speech.join(set)) {
                tape.add(set, &wav::read(&path).unwrap(), noisy.then_some(&*noise));
            }
        }
        tape
    }

    /// One recording more.
    fn add(&mut self, set: &'static str, clean: &[f32], noise: Option<&[f32]>) {
        let from = self.samples.len();
        self.samples.extend(room(RATE));
        self.samples.extend(clean);
        self.samples.extend(room(RATE));
        if let Some(noise) = noise {
            let piece = || noise.iter().cycle().skip(from % noise.len());
            let level: Vec<f32> = piece().take(clean.len()).copied().collect();
            let gain = rms(clean) / rms(&level) * 10f32.powf(-10.0 / 20.0);
            let all = self.samples[from..].iter_mut().zip(piece());
            all.for_each(|(sample, noise)| *sample = (*sample + gain * noise).clamp(-1.0, 1.0));
        }
        self.ends.push((set, self.samples.len()));
    }

    fn seconds(&self) -> f64 {
        self.samples.len() as f64 / RATE as f64
    }

    /// What the recogniser makes of each clip that the watch hands out, with the number of the recording.
    async fn heard(&self, stt: &dyn Stt) -> Heard {
        self.heard_while(stt, false).await
    }

    /// The same while Tiro speaks, or not.
    async fn heard_while(&self, stt: &dyn Stt, speaks: bool) -> Heard {
        let mut watch = Watch::default();
        watch.over_own(speaks);
        let mut heard = Heard::default();
        for block in self.samples.chunks(RATE / 50) {
            let mut clips: Vec<Candidate> = Vec::new();
            let began = Instant::now();
            watch.hear(block, |clip| clips.push(clip));
            heard.watching += began.elapsed();
            for clip in clips {
                let engine = || stt.stats().pid.map_or(Duration::ZERO, processor);
                let before = engine();
                let text = words_of(stt, &clip, Some("en"), names(), PATIENCE * 6).await;
                let text = text.unwrap();
                heard.looking += engine().saturating_sub(before);
                if text.is_empty() && !clip.early {
                    watch.was_noise();
                }
                let speech = clip.at as usize + clip.onset;
                let which = self.ends.partition_point(|(_, end)| *end <= speech);
                heard.texts.push((which, text));
                heard.ends.push(clip.end() as usize);
            }
        }
        heard.dropped = watch.dropped();
        heard
    }
}

/// What came of it.
#[derive(Default)]
struct Heard {
    /// Which recording, and what the recogniser made of it.
    texts: Vec<(usize, String)>,
    /// Where each of these clips ends, samples.
    ends: Vec<usize>,
    /// Clips that were not looked at.
    dropped: u64,
    /// Time of the watch.
    watching: Duration,
    /// Time of all threads of the recogniser.
    looking: Duration,
}

impl Heard {
    /// How many recordings of this set are taken for the phrase, and which texts of others.
    fn spotted(&self, tape: &Tape, phrase: &str, set: &str, sensitivity: f32) -> (usize, Vec<&str>) {
        let (own, others) = self.first_spotted(tape, phrase, set, sensitivity, None);
        (own.len(), others)
    }

    /// The recordings of this set that are taken for the phrase while Tiro says this, each with the end of the first clip in which it
    /// is; and which texts of others are.
    fn first_spotted(
        &self,
        tape: &Tape,
        phrase: &str,
        set: &str,
        sensitivity: f32,
        speaking: Option<&str>,
    ) -> (BTreeMap<usize, usize>, Vec<&str>) {
        let phrases = Phrases::new(vec![phrase.parse().unwrap()], sensitivity);
        let said = |which: usize| tape.ends.get(which).is_some_and(|(name, _)| *name == set);
        let (mut own, mut others) = (BTreeMap::new(), Vec::new());
        for ((which, text), end) in self.texts.iter().zip(&self.ends) {
            if phrases.spot(text, speaking).is_some() {
                match said(*which) {
                    true => _ = own.entry(*which).or_insert(*end),
                    false => others.push(text.as_str()),
                }
            }
        }
        (own, others)
    }
}

/// Processor time of all threads of a process so far, as the scheduler counts it.
pub fn processor(pid: u32) -> Duration {
    let threads = std::fs::read_dir(format!("/proc/{pid}/task"))
        .into_iter()
        .flatten()
        .flatten();
    let nanos = threads.filter_map(|thread| {
        let text = std::fs::read_to_string(thread.path().join("schedstat")).ok()?;
        text.split(' ').next()?.parse::<u64>().ok()
    });
    Duration::from_nanos(nanos.sum())
}

/// All phrases on all recordings, in a quiet room and in the kitchen.
async fn measure(weights: &str, noisy: bool, least: [usize; 2]) {
    let Some(speech) = speech() else { return };
    let Some(stt) = recogniser(weights).await else {
        return;
    };
    let sets = ["wake/computer", "wake/jarvis", "commands", "read"];
    let place = if noisy { "kitchen noise at 10 dB" } else { "quiet" };
    let tape = Tape::of(&speech, &sets, noisy);
    let heard = tape.heard(&stt).await;
    let (looks, minutes) = (heard.texts.len(), tape.seconds() / 60.0);
    println!(
        "{weights}, {place}: {minutes:.1} minutes, {looks} clips ({:.1} a minute), {} dropped; watching {:.2} % of \
             a core, recogniser {:.0} ms a clip, {:.1} % of a core",
        looks as f64 / minutes,
        heard.dropped,
        heard.watching.as_secs_f64() / tape.seconds() * 100.0,
        heard.looking.as_secs_f64() * 1000.0 / looks.max(1) as f64,
        heard.looking.as_secs_f64() / tape.seconds() * 100.0,
    );
    for (phrase, least) in [("computer", least[0]), ("jarvis", least[1])] {
        let set = format!("wake/{phrase}");
        let all = tape.ends.iter().filter(|(name, _)| *name == set).count();
        let at = |sensitivity| heard.spotted(&tape, phrase, &set, sensitivity).0;
        let (own, others) = heard.spotted(&tape, phrase, &set, 0.5);
        println!(
            "  {phrase}: heard in {own} of {all} (sensitivity 0: {}, 1: {}), false accepts {others:?}",
            at(0.0),
            at(1.0)
        );
        assert!(
            own >= least,
            "{phrase}, {place}: {own} of {all}, at least {least}"
        );
        assert_eq!(others, Vec::<&str>::new(), "{phrase}, {place}");
    }
    for phrase in OTHERS {
        // Whoever says "Jarvis" to somebody who listens for "hey jarvis" may well mean that.
        let name = phrase.split(' ').next_back().unwrap_or_default();
        let (_, others) = heard.spotted(&tape, phrase, &format!("wake/{name}"), 0.5);
        assert_eq!(others, Vec::<&str>::new(), "{phrase}, {place}");
    }
    assert_eq!(heard.dropped, 0);
    let idle = heard.watching.as_secs_f64() / tape.seconds();
    assert!(idle < 0.02, "the watch alone takes {idle}");
}

/// At least so many of 40 times "computer" and "jarvis". The targets are 36 in a quiet room and 32 in the kitchen, and that
/// nothing else is ever taken for a phrase. With 8-bit weights base heard 39 and 36 in a quiet room, as with 16-bit ones.
const QUIET: [usize; 2] = [36, 36];
/// 37 and 32 were heard; 30 where the recogniser did not expect "jarvis", which it writes in so many ways in noise.
const KITCHEN: [usize; 2] = [35, 30];

#[tokio::test]
async fn real_wake_word_is_heard_by_base_in_a_quiet_room() {
    measure(USUAL, false, QUIET).await;
}

#[tokio::test]
async fn real_wake_word_is_heard_by_base_in_the_kitchen() {
    measure(USUAL, true, KITCHEN).await;
}

/// Somebody calls while a television talks on and on, softer than they by so many dB: what comes of it at least.
async fn calls_over_others(farther: f32, least: usize) {
    let Some(speech) = speech() else { return };
    // No pause is long enough to begin anew after it.
    let mut others = Vec::new();
    for path in wavs(&speech.join("read")) {
        let samples = wav::read(&path).unwrap();
        let voiced = daemon::listen::vad::speech(&samples).unwrap();
        others.extend(&samples[voiced.start + 4800..voiced.end - 4800]);
    }
    calls_over("a television", &others, None, farther, least).await;
}

/// Somebody calls while this is heard, softer than they by so many dB; `own` is what Tiro says in it, if it is Tiro.
async fn calls_over(what: &str, others: &[f32], own: Option<&str>, farther: f32, least: usize) {
    let Some(speech) = speech() else { return };
    let Some(stt) = recogniser(USUAL).await else {
        return;
    };
    let speaking = own;
    let computers = wavs(&speech.join("wake/computer"));
    let mut tape = Tape::default();
    // Where each call begins.
    let mut begins = BTreeMap::new();
    for (n, path) in computers.iter().step_by(2).enumerate() {
        let called = wav::read(path).unwrap();
        let voiced = daemon::listen::vad::speech(&called).unwrap();
        let called = &called[voiced];
        let from = tape.samples.len();
        let gain = rms(called) / rms(others) * 10f32.powf(-farther / 20.0);
        let background = others.iter().cycle().skip(n * 9 * RATE).map(|s| s * gain);
        tape.samples.extend(background.take(9 * RATE));
        let over = &mut tape.samples[from + 5 * RATE..];
        over.iter_mut()
            .zip(called)
            .for_each(|(sample, called)| *sample = (*sample + called).clamp(-1.0, 1.0));
        // A clip that began before is two seconds long at most.
        tape.ends.push(("others", from + 3 * RATE));
        // The detector leaves 300 ms of room before it.
        begins.insert(tape.ends.len(), from + 5 * RATE + 3 * RATE / 10);
        tape.ends.push(("wake/computer", from + 7 * RATE));
        tape.ends.push(("others", tape.samples.len()));
    }
    let heard = tape.heard_while(&stt, speaking.is_some()).await;
    let (own, others) = heard.first_spotted(&tape, "computer", "wake/computer", 0.5, speaking);
    let (minutes, looks) = (tape.seconds() / 60.0, heard.texts.len());
    let late = |(which, end): (&usize, &usize)| (*end as f64 - begins[which] as f64) / RATE as f64;
    let mut late: Vec<f64> = own.iter().map(late).collect();
    late.sort_unstable_by(f64::total_cmp);
    let (own, p50) = (own.len(), late.get(late.len() / 2).copied());
    println!(
        "{what} {farther} dB softer: \"computer\" is heard in {own} of {}, in clips that end {p50:.2?} s (p50) after it \
         began, {:.2?} s at most; false accepts {others:?}; {:.1} clips a minute, {} dropped",
        computers.len().div_ceil(2),
        late.last(),
        looks as f64 / minutes,
        heard.dropped,
    );
    assert_eq!(others, Vec::<&str>::new());
    assert!(own >= least, "{own}, at least {least}");
    if speaking.is_some() {
        // A whole clip ends 1.8 s after it. What the recogniser takes comes behind.
        assert!(p50.is_some_and(|p50| p50 < 1.5), "{late:?}");
    }
}

#[tokio::test]
async fn real_wake_word_is_heard_over_tiro_itself() {
    let says = "You have eight events this week: Dentist tomorrow at half past nine, Lunch with Anna at half past twelve, Project \
                review at three, Choir on Thursday evening, Parents on Saturday, and three more.";
    let folder = tempfile::tempdir().unwrap();
    let Some(file) = sounds(folder.path(), &[Say(says)]) else {
        return;
    };
    let spoken = wav::read(&file).unwrap();
    // 19, 18 and 13 were heard: a loudspeaker that is nearly as loud as the person hides them.
    calls_over("Tiro itself", &spoken, Some(says), 15.0, 16).await;
    calls_over("Tiro itself", &spoken, Some(says), 10.0, 15).await;
    calls_over("Tiro itself", &spoken, Some(says), 5.0, 10).await;
}

#[tokio::test]
async fn real_wake_word_is_heard_over_a_television() {
    // 19, 20 and 19 were heard; 1, 1 and none where only speech after a pause counts.
    calls_over_others(20.0, 17).await;
    calls_over_others(15.0, 18).await;
    calls_over_others(10.0, 16).await;
}

/// An alarm rings until somebody says that it should stop, and for that they have to be heard.
#[tokio::test]
async fn real_wake_word_is_heard_over_what_rings() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("ring.wav");
    std::fs::write(&file, tones(Duration::from_secs(12), 1.0)).unwrap();
    let ringing = wav::read(&file).unwrap();
    calls_over("an alarm", &ringing, None, 5.0, 15).await;
}

/// Nobody was recorded who says the phrase that Tiro has by itself, so synthetic voices do: accents, throats and speeds of
/// espeak-ng, as (voice, words a minute). They say "alexa", too, of which there is no recording either.
const VOICES: [(&str, &str); 12] = [
    ("en-us", "150"),
    ("en-us+f2", "160"),
    ("en-us+m3", "140"),
    ("en-gb", "150"),
    ("en-gb+f4", "170"),
    ("en-gb-x-rp", "150"),
    ("en-gb-x-rp+f3", "140"),
    ("en-gb-scotland", "150"),
    ("en-gb-scotland+f2", "160"),
    ("en-gb-x-gbclan", "140"),
    ("en-gb-x-gbcwmd+m4", "150"),
    ("en-029", "150"),
];

/// Requests that are listened to where nobody wants more, some four minutes.
const REQUESTS: usize = 50;
/// None was seen in 1.33 hours. With more than this something has changed; in a few minutes one is more.
const MOST_AN_HOUR: f64 = 2.0;

/// What one of them says, or a loud line.
fn synthetic(folder: &Path, voice: &str, speed: &str, words: &str) -> Option<Vec<f32>> {
    let file = folder.join("said.wav");
    let said = Command::new("espeak-ng")
        .args(["-v", voice, "-s", speed, "-w"])
        .arg(&file)
        .arg(words)
        .status();
    if !said.is_ok_and(|status| status.success()) {
        let required = std::env::var_os("TIRO_REQUIRE_REAL").is_some();
        assert!(!required, "espeak-ng is missing");
        println!("SKIPPED: there is no espeak-ng");
        return None;
    }
    Some(wav::read(&file).unwrap())
}

/// How often what people ask of assistants, with none of these words in it, is taken for a phrase in an hour; every other request
/// in a kitchen. `TIRO_REQUESTS` says how many; 1,000 are more than an hour.
#[tokio::test]
async fn real_requests_to_others_are_no_call() {
    let Some(train) = data("train") else { return };
    let Some(speech) = speech() else { return };
    let Some(stt) = recogniser(USUAL).await else {
        return;
    };
    let phrases = ["computer", "jarvis", "hey tiro", "alexa"];
    let lines = std::fs::read_to_string(train.join("utterances.jsonl")).unwrap();
    let lines = lines.lines().map(|line| -> String {
        let line: serde_json::Value = serde_json::from_str(line).unwrap();
        line["say"].as_str().unwrap().to_lowercase()
    });
    let names = phrases.iter().flat_map(|phrase| phrase.split(' '));
    let names: Vec<&str> = names.filter(|name| *name != "hey").collect();
    let lines: Vec<String> = lines
        .filter(|line| names.iter().all(|name| !line.contains(name)))
        .collect();
    let requests = std::env::var("TIRO_REQUESTS").map_or(REQUESTS, |count| count.parse().unwrap());
    let requests = requests.clamp(1, lines.len());
    let (folder, noise) = (tempfile::tempdir().unwrap(), kitchen(&speech));
    let mut tape = Tape::default();
    for (n, words) in lines.iter().step_by(lines.len() / requests).enumerate() {
        let (voice, speed) = VOICES[n % VOICES.len()];
        let Some(said) = synthetic(folder.path(), voice, speed, words) else {
            return;
        };
        tape.add("request", &said, (n % 2 == 1).then_some(&*noise));
    }
    let heard = tape.heard(&stt).await;
    let hours = tape.seconds() / 3600.0;
    let (looks, requests) = (heard.texts.len(), tape.ends.len());
    println!(
        "{hours:.2} hours, {requests} requests, {looks} clips, {} dropped",
        heard.dropped
    );
    for phrase in phrases {
        let (_, others) = heard.spotted(&tape, phrase, "nobody", 0.5);
        let rate = others.len() as f64 / hours;
        println!(
            "\"{phrase}\": {} false accepts, {rate:.1} an hour: {others:?}",
            others.len()
        );
        assert!(rate < MOST_AN_HOUR, "{phrase}: {others:?}");
    }
}

#[tokio::test]
async fn real_usual_phrase_is_heard_from_synthetic_voices() {
    let Some(speech) = speech() else { return };
    let Some(stt) = recogniser(USUAL).await else {
        return;
    };
    let (folder, noise) = (tempfile::tempdir().unwrap(), kitchen(&speech));
    for (place, noise, least) in [("quiet", None, 8), ("kitchen noise at 10 dB", Some(&*noise), 5)] {
        let mut tape = Tape::default();
        for (set, words) in [("phrase", "Hey Tiro."), ("alexa", "Alexa.")] {
            for (voice, speed) in VOICES {
                let Some(said) = synthetic(folder.path(), voice, speed, words) else {
                    return;
                };
                tape.add(set, &said, noise);
            }
        }
        let heard = tape.heard(&stt).await;
        let (own, others) = heard.spotted(&tape, "hey tiro", "phrase", 0.5);
        println!(
            "{place}: \"hey tiro\" of {own} of {} voices, false accepts {others:?}",
            VOICES.len()
        );
        let texts: Vec<&str> = heard.texts.iter().map(|(_, text)| text.as_str()).collect();
        println!("  {texts:?}");
        assert_eq!(others, Vec::<&str>::new());
        assert!(own >= least, "{own}, at least {least}");
        for phrase in ["computer", "jarvis"] {
            let (_, others) = heard.spotted(&tape, phrase, "nobody", 0.5);
            assert_eq!(others, Vec::<&str>::new(), "{phrase}");
        }
    }
}

/// Hours of noise and silence, and somebody who talks on and on: what is not meant for Tiro costs little.
#[tokio::test]
async fn real_wake_word_costs_little_when_nobody_wants_anything() {
    let Some(speech) = speech() else { return };
    let Some(stt) = recogniser(USUAL).await else {
        return;
    };
    let kitchen = wav::read(&speech.join("kitchen-noise.wav")).unwrap();
    let loud: Vec<f32> = kitchen.iter().map(|s| (s * 8.0).clamp(-1.0, 1.0)).collect();
    let music: Vec<f32> = (0..60 * RATE).map(tune).collect();
    // A radio: what people say without the pauses between recordings, with short ones as sentences have them.
    let mut radio = Vec::new();
    for set in ["commands", "read"] {
        for path in wavs(&speech.join(set)) {
            let samples = wav::read(&path).unwrap();
            let Some(voiced) = daemon::listen::vad::speech(&samples) else {
                continue;
            };
            let padding = 4800.min((voiced.end - voiced.start) / 4);
            radio.extend(&samples[voiced.start + padding..voiced.end - padding]);
            radio.extend(room(RATE * 2 / 5));
        }
    }
    let phrases: Vec<_> = ["computer", "jarvis"]
        .iter()
        .chain(&OTHERS)
        .map(|p| p.parse().unwrap())
        .collect();
    let phrases = Phrases::new(phrases[..4].to_vec(), 0.5);
    let mut hours = 0.0;
    for (what, samples, most) in [
        ("silence", vec![0.0; 120 * RATE], 0.0),
        ("a quiet room", room(120 * RATE), 0.0),
        ("kitchen", kitchen, 4.0),
        ("loud kitchen", loud, 15.0),
        ("music", music, 15.0),
        ("talk without end", radio, 15.0),
    ] {
        let tape = Tape {
            samples,
            ends: Vec::new(),
        };
        let heard = tape.heard(&stt).await;
        let (minutes, looks) = (tape.seconds() / 60.0, heard.texts.len() as f64);
        hours += minutes / 60.0;
        println!(
            "{what}, {minutes:.1} minutes: {looks} clips, {:.1} a minute, {} dropped; watching {:.2} % of a core, \
             recognising {:.1} %",
            looks / minutes,
            heard.dropped,
            heard.watching.as_secs_f64() / tape.seconds() * 100.0,
            heard.looking.as_secs_f64() / tape.seconds() * 100.0,
        );
        let woken: Vec<_> = heard
            .texts
            .iter()
            .filter(|(_, text)| phrases.spot(text, None).is_some())
            .collect();
        assert!(woken.is_empty(), "{what}: {woken:?}");
        assert!(
            // Six may come at once, and one is begun.
            looks <= most * minutes + if most > 4.0 { 7.0 } else { 0.0 },
            "{what}: {looks} clips in {minutes} minutes"
        );
        assert!(heard.watching.as_secs_f64() < 0.02 * tape.seconds());
    }
    println!(
        "0 false accepts of {} phrases in {hours:.2} hours",
        phrases.iter().count()
    );
}

/// Chords that change twice a second, with overtones.
fn tune(n: usize) -> f32 {
    let (time, chord) = (n as f32 / RATE as f32, n * 2 / RATE);
    let root = [220.0, 174.6, 196.0, 246.9][chord % 4];
    let tone = |hertz: f32| {
        (1..6)
            .map(|h| (time * hertz * h as f32 * std::f32::consts::TAU).sin() / h as f32)
            .sum::<f32>()
    };
    (tone(root) + tone(root * 1.25) + tone(root * 1.5)) * 0.1
}

/// Written requests of people, as a recogniser would deliver them: what begins like a phrase and is none.
#[test]
fn requests_of_people_do_not_begin_with_a_phrase() {
    let Some(speech) = speech() else { return };
    let data = speech.parent().unwrap();
    let mut texts = Vec::new();
    for file in ["train/utterances.jsonl", "slurp/commands.jsonl"] {
        for line in std::fs::read_to_string(data.join(file)).unwrap().lines() {
            let line: serde_json::Value = serde_json::from_str(line).unwrap();
            texts.extend(
                ["say", "asr"]
                    .iter()
                    .filter_map(|key| line[key].as_str().map(str::to_owned)),
            );
        }
    }
    assert!(texts.len() > 15_000, "only {}", texts.len());
    for phrase in ["computer", "jarvis"].iter().chain(&OTHERS) {
        let phrases = Phrases::new(vec![phrase.parse().unwrap()], 0.5);
        let name = phrase.split(' ').next_back().unwrap();
        let taken: Vec<_> = texts
            .iter()
            .filter(|text| phrases.spot(text, None).is_some() && !text.to_lowercase().contains(name))
            .collect();
        println!(
            "{phrase}: {} of {} requests are taken for it: {taken:?}",
            taken.len(),
            texts.len()
        );
        assert!(taken.is_empty(), "{phrase}: {taken:?}");
    }
}
