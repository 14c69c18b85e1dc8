//! The whole on real parts: the built `tiro`, the 1.5B model, whisper base, the demo world, recordings of people.

use std::{path::PathBuf, process::Command, time::Duration};

use daemon::agent::Ending;

use crate::{
    home::{data, root},
    program::{Tiro, finish, kill},
    spoken::{Sound::Say, sounds},
    wake::USUAL,
};

const QUESTION: &str = "what do I have on my calendar tomorrow";

/// Lets the model decide everything, for tests of what it does.
fn without_reflexes(tiro: &Tiro) {
    tiro.run(["config", "set", "agent.reflex", "false"])
        .expect_code(0);
}

#[test]
fn real_question_names_the_events_of_tomorrow() {
    let Some(tiro) = Tiro::in_the_demo_world() else {
        return;
    };
    without_reflexes(&tiro);
    let report = tiro.ask(&[QUESTION]);
    for event in ["Dentist", "Lunch with Anna", "Project review"] {
        assert!(report.reply.contains(event), "{event} is missing in {report:?}");
    }
    assert_eq!(
        (report.end, report.calls[0].name.as_str()),
        (Ending::Done, "calendar.query"),
        "{report:?}"
    );
    assert_eq!(report.calls[0].status, "ok");
    assert!(report.tokens.prompt > 0 && report.ms.total > 0.0, "{report:?}");
}

/// The name is one that the recogniser writes otherwise where it does not know it.
#[test]
fn real_names_of_contacts_are_heard_as_they_are_written() {
    let Some(tiro) = Tiro::find() else { return };
    tiro.run(["call", "contacts.create", r#"{"name":"Femke Dahl"}"#])
        .expect_code(0);
    let question = [Say("What is the phone number of Femke Dahl?")];
    let Some(wav) = sounds(tiro.home(), &question) else {
        return;
    };
    let heard = || tiro.ask(&["--wav", wav.to_str().unwrap()]).say;
    let known = heard();
    tiro.run(["config", "set", "stt.names", "false"]).expect_code(0);
    let unknown = heard();
    println!("{known:?}, without names {unknown:?}");
    assert!(
        known.contains("Femke") && !unknown.contains("Femke"),
        "{known:?} {unknown:?}"
    );
}

#[test]
fn real_deferred_tool_is_found_and_called() {
    let Some(tiro) = Tiro::in_the_demo_world() else {
        return;
    };
    without_reflexes(&tiro);
    let report = tiro.ask(&["set a timer for ten minutes"]);
    assert!(report.steps > 0 && !report.reflex, "{report:?}");
    assert!(
        report
            .calls
            .iter()
            .any(|c| c.name == "timers.set" && c.status == "ok"),
        "{report:?}"
    );
    assert!(report.reply.contains("10 minute"), "{report:?}");
}

#[test]
fn real_daemon_caches_the_conversation_restores_its_prefix_and_survives_a_killed_engine() {
    let Some(tiro) = Tiro::in_the_demo_world().map(Tiro::knowing_nothing) else {
        return;
    };
    without_reflexes(&tiro);
    let (daemon, cold) = tiro.daemon();
    let first = tiro.ask(&[QUESTION]);
    assert!(first.reply.contains("Dentist"), "{first:?}");
    // The daemon evaluates what was said in the pause that a person leaves, however long that takes on this machine.
    daemon.until("warm", |status| status.warm);
    let second = tiro.ask(&["and what is on the day after tomorrow"]);
    println!(
        "second turn: {} of {} prompt tokens cached",
        second.tokens.cached, second.tokens.prompt
    );
    assert!(
        second.tokens.cached * 10 >= second.tokens.prompt * 9,
        "{second:?}"
    );

    let engine = daemon.status().llm.pid.expect("a running engine");
    let asking = tiro
        .command(["ask", "--json", "what mail came in today"])
        .spawn()
        .unwrap();
    std::thread::sleep(Duration::from_millis(250));
    kill(engine);
    let lost = finish(asking);
    // On a fast machine the turn may have ended before the engine did; then there is nothing to apologise for.
    let apologised = lost.out.contains(&prompts::words::engine_crashed());
    println!(
        "the killed turn {}",
        if apologised {
            "apologised"
        } else {
            "was quicker than the kill"
        }
    );
    assert!(apologised || lost.code == Some(0), "{lost:?}");
    let after = tiro.ask(&[QUESTION]);
    assert!(after.reply.contains("Dentist"), "{after:?}");
    let status = daemon.status();
    assert!(status.llm.pid.is_some_and(|pid| pid != engine), "{status:?}");

    // Spoken, so that both engines are there.
    tiro.ask(&[
        "--wav",
        root().join("tests/audio/set-timer.wav").to_str().unwrap(),
    ]);
    let (status, size) = (daemon.status(), |file: &str| {
        std::fs::metadata(tiro.models().join(file)).unwrap().len()
    });
    println!("daemon {} MiB", status.rss >> 20);
    for (name, engine, file) in [
        ("llm", &status.llm, "qwen2.5-coder-1.5b-instruct-q4_k_m.gguf"),
        ("stt", &status.stt, USUAL),
    ] {
        let (peak, weights) = (engine.peak_rss >> 20, size(file) >> 20);
        println!("{name} {peak} MiB at most, for a model of {weights} MiB");
        // llama.cpp keeps most weights a second time, in the order that this processor likes; the first are pages of the file, which
        // the system takes back when it is short of memory. Buffers and cache stand beside them.
        assert!(peak > weights / 2 && peak < weights * 2 + 256, "{status:?}");
    }
    // More than half of it are pages of its own file, which the system takes back when it is short of memory.
    let held = std::fs::read_to_string(format!("/proc/{}/status", status.pid)).unwrap();
    let held = held.lines().find_map(|line| line.strip_prefix("RssAnon:"));
    let held: u64 = held.unwrap().trim_end_matches("kB").trim().parse().unwrap();
    println!("of which {} MiB are no pages of its file", held >> 10);
    assert!(held < 32 << 10, "the daemon alone holds {held} KiB");
    assert!(
        status.rss < 60 << 20,
        "the daemon alone holds {} bytes",
        status.rss
    );
    assert_eq!(daemon.stop(), Some(0));

    let (daemon, warm) = tiro.daemon();
    let prefix = daemon.status().prefix.unwrap();
    println!("ready in {cold:?} cold, {warm:?} with the snapshot: {prefix:?}");
    assert!(
        prefix.restored && prefix.prefilled * 20 < prefix.tokens,
        "{prefix:?}"
    );
    let restored = tiro.ask(&[QUESTION]);
    assert!(restored.reply.contains("Dentist"), "{restored:?}");
}

/// Two copies of ggml in one program corrupt its memory, and all three are built in one go.
#[test]
fn real_each_native_library_is_in_one_program() {
    let Some(tiro) = Tiro::find() else { return };
    let holds = |name: &str, symbol: &str| {
        let file = tiro.program().with_file_name(name);
        let found = Command::new("grep").args(["-qaF", symbol]).arg(file).status();
        found.unwrap().success()
    };
    for (symbol, owners) in [
        ("ggml_graph_compute", &["tiro-llm", "tiro-stt"][..]),
        ("llama_decode", &["tiro-llm"]),
        ("whisper_full_with_state", &["tiro-stt"]),
    ] {
        for name in ["tiro", "tiro-llm", "tiro-stt"] {
            assert_eq!(holds(name, symbol), owners.contains(&name), "{symbol} in {name}");
        }
    }
}

#[test]
fn real_people_are_heard_and_answered() {
    let Some(tiro) = Tiro::in_the_demo_world() else {
        return;
    };
    let Some(read) = data("speech/read") else { return };
    let heard = tiro.ask(&["--wav", read.join("81e4d2-what_time_is_it.wav").to_str().unwrap()]);
    assert_eq!(words(&heard.say), "what time is it", "{heard:?}");
    assert!(
        heard
            .calls
            .iter()
            .any(|c| c.name == "clock.now" && c.status == "ok"),
        "{heard:?}"
    );
    let launch = tiro.ask(&["--wav", read.join("e40289-launch_firefox.wav").to_str().unwrap()]);
    assert_eq!(words(&launch.say), "launch firefox", "{launch:?}");
}

#[test]
fn real_silence_is_not_speech() {
    let Some(tiro) = Tiro::in_the_demo_world() else {
        return;
    };
    let file = tiro.home().join("silence.wav");
    write_wav(&file, 16_000, 2, &vec![0i16; 64_000]);
    let report = tiro.ask(&["--wav", file.to_str().unwrap()]);
    assert_eq!(
        (report.reply, report.end),
        (prompts::words::nothing_heard(), Ending::CouldNot)
    );
}

#[test]
fn real_bad_files_get_a_clear_error() {
    let Some(tiro) = Tiro::in_the_demo_world() else {
        return;
    };
    let path = |name: &str| tiro.home().join(name);
    let text = |name: &str| path(name).to_str().unwrap().to_owned();
    let wav = |name: &str| tiro.run(["ask", "--wav", &text(name)]);

    std::fs::write(path("empty.wav"), b"").unwrap();
    wav("empty.wav").expect_code(1).says(&["empty.wav", "empty"]);
    write_wav(&path("whole.wav"), 44_100, 2, &vec![1000i16; 200_000]);
    let whole = std::fs::read(path("whole.wav")).unwrap();
    std::fs::write(path("cut.wav"), &whole[..whole.len() / 2]).unwrap();
    wav("cut.wav").expect_code(1).says(&["cut.wav"]);
    wav("nowhere.wav").expect_code(1).says(&["nowhere.wav"]);
    std::fs::write(path("song.wav"), b"ID3\x04\0\0\0\0\0\0 not a wav at all").unwrap();
    wav("song.wav").expect_code(1).says(&["song.wav"]);

    without_reflexes(&tiro);
    let model = |name: &str| {
        tiro.run(["config", "set", "llm.model", &text(name)])
            .expect_code(0);
        tiro.run(["ask", QUESTION])
    };
    std::fs::write(path("zero.gguf"), b"").unwrap();
    model("zero.gguf").expect_code(1).says(&["zero.gguf", "empty"]);
    std::fs::write(path("page.gguf"), "<!DOCTYPE html><html>Sign in</html>").unwrap();
    model("page.gguf").expect_code(1).says(&["page.gguf"]);
    let small = tiro.models().join("smollm2-135m-instruct-q4_1.gguf");
    let bytes = std::fs::read(small).unwrap();
    std::fs::write(path("cut.gguf"), &bytes[..bytes.len() / 3]).unwrap();
    model("cut.gguf").expect_code(1).says(&["cut.gguf"]);
    let mut mangled = bytes[..bytes.len()].to_vec();
    mangled[8..2048].fill(0xA5);
    std::fs::write(path("mangled.gguf"), &mangled).unwrap();
    model("mangled.gguf").expect_code(1).says(&["mangled.gguf"]);
    model("missing.gguf").expect_code(1).says(&["missing.gguf"]);

    let config = PathBuf::from(tiro.run(["config", "path"]).out.trim());
    std::fs::write(&config, "[llm]\nmodle = \"x\"\n").unwrap();
    tiro.run(["ask", "hello"])
        .expect_code(1)
        .says(&["modle", "model", "2"]);
    std::fs::remove_file(&config).unwrap();
    std::fs::create_dir(&config).unwrap();
    tiro.run(["ask", "hello"]).expect_code(1).says(&["config"]);
}

/// A file that no registry knows is as good a model as one that Tiro fetched.
#[test]
fn real_files_of_the_persons_own_are_models() {
    let Some(tiro) = Tiro::in_the_demo_world() else {
        return;
    };
    for (key, weights, own) in [
        (
            "llm.model",
            "qwen2.5-coder-0.5b-instruct-q4_k_m.gguf",
            "my own.gguf",
        ),
        ("stt.model", "ggml-tiny.en.bin", "ears.bin"),
    ] {
        let own = tiro.home().join(own);
        std::os::unix::fs::symlink(tiro.models().join(weights), &own).unwrap();
        tiro.run(["config", "set", key, own.to_str().unwrap()])
            .expect_code(0);
    }
    // Not a single file that Tiro would fetch is there.
    let nothing = tempfile::tempdir().unwrap();
    let run = |args: &[&str]| {
        let mut command = tiro.command(args);
        finish(command.env("TIRO_MODELS", nothing.path()).spawn().unwrap())
    };
    let recording = root().join("tests/audio/calendar-tomorrow.wav");
    let heard = run(&["transcribe", recording.to_str().unwrap()]);
    assert!(
        words(&heard.expect_code(0).out).contains("calendar tomorrow"),
        "{heard:?}"
    );
    without_reflexes(&tiro);
    let asked = run(&["ask", "--json", QUESTION]);
    let report: daemon::report::Report = serde_json::from_str(&asked.expect_code(0).out).unwrap();
    assert!(report.tokens.generated > 0 && !report.reflex, "{report:?}");
    assert!(
        report.calls.iter().any(|c| c.name == "calendar.query"),
        "{report:?}"
    );
    let listed: serde_json::Value = serde_json::from_str(&run(&["tools", "--json"]).out).unwrap();
    assert!(
        listed["totals"]["core"].as_u64() > Some(100),
        "{}",
        listed["totals"]
    );
}

#[test]
fn real_changes_are_undone_by_another_process() {
    let Some(tiro) = Tiro::in_the_demo_world() else {
        return;
    };
    tiro.run(["undo"]).expect_code(1).says(&["nothing to undo"]);
    assert!(
        tiro.run(["history"])
            .expect_code(0)
            .out
            .contains("Nothing was changed")
    );
    let event = r#"{"title": "Kiln visit", "start": "tomorrow at six"}"#;
    tiro.run(["call", "calendar.create_event", event]).expect_code(0);
    tiro.run(["call", "notes.create", r#"{"text": "clay"}"#])
        .expect_code(0);
    let history: serde_json::Value = serde_json::from_str(&tiro.run(["history", "--json"]).out).unwrap();
    let steps = history["steps"].as_array().unwrap();
    assert_eq!(
        (steps[0]["tool"].as_str(), steps[1]["tool"].as_str()),
        (Some("notes.create"), Some("calendar.create_event"))
    );
    let find = || tiro.run(["call", "calendar.query", r#"{"text": "kiln"}"#]).out;
    assert!(find().contains("Kiln visit"));
    // The event, although the note came after it.
    tiro.run(["undo", &steps[1]["id"].to_string()]).expect_code(0);
    assert!(!find().contains("Kiln visit"));
    let rest = tiro.run(["undo", "--json"]);
    assert!(rest.expect_code(0).out.contains("notes.create"));
    tiro.run(["undo"]).expect_code(1);
}

#[test]
fn real_usage_errors_exit_with_2() {
    let Some(tiro) = Tiro::find() else { return };
    tiro.run(["ask"]).expect_code(2);
    tiro.run(["frobnicate"]).expect_code(2);
    tiro.run(["ask", "--wav", "a.wav", "and words"]).expect_code(2);
    tiro.run(["call", "timers.sat"])
        .expect_code(1)
        .says(&["timers.set"]);
}

/// The shape that DESIGN section 6 promises, through the program's own door.
#[test]
fn real_call_prints_what_a_time_means_as_json() {
    let Some(tiro) = Tiro::find() else { return };
    for (text, expect) in [
        (
            "every monday at nine am",
            r#"{"kind":"recurrence","start":"2026-10-05T09:00:00","rrule":"FREQ=WEEKLY;BYDAY=MO","alternatives":[]}"#,
        ),
        (
            "next week",
            r#"{"kind":"range","start":"2026-10-05","end":"2026-10-12","alternatives":[]}"#,
        ),
    ] {
        let arguments = serde_json::json!({ "text": text }).to_string();
        let now = "2026-10-02T10:20:00";
        let ran = tiro.run(["call", "clock.resolve", &arguments, "--json", "--now", now]);
        assert_eq!(ran.expect_code(0).out.trim(), expect);
    }
    tiro.run(["call", "clock.resolve", r#"{"text": "my dentist"}"#, "--json"])
        .expect_code(1)
        .says(&["do not understand"]);
}

fn words(text: &str) -> String {
    let kept = text.to_lowercase().replace(|c: char| !c.is_alphanumeric(), " ");
    kept.split_whitespace().collect::<Vec<_>>().join(" ")
}

fn write_wav(path: &std::path::Path, rate: u32, channels: u16, samples: &[i16]) {
    let spec = hound::WavSpec {
        channels,
        sample_rate: rate,
        bits_per_sample: 16,
        sample_format: hound::SampleFormat::Int,
    };
    let mut wav = hound::WavWriter::create(path, spec).unwrap();
    samples.iter().for_each(|s| wav.write_sample(*s).unwrap());
    wav.finalize().unwrap();
}
