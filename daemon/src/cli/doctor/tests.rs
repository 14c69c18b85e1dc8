//! Homes that are new, and homes where things are wrong.

use std::os::unix::fs::PermissionsExt as _;

use models::scripted::{Act, ScriptedServer};

use super::*;

/// The report on a home, as one line of `section.check severity` each, and its text.
async fn report(home: &Path) -> (Vec<String>, String) {
    let mut paths = Paths::under(home);
    // Never the engines of the machine that runs the tests.
    fs::create_dir_all(home.join("engines")).unwrap();
    if !paths.config.exists() {
        fs::write(
            &paths.config,
            format!("[engines]\ndir = {:?}\n", home.join("engines")),
        )
        .unwrap();
    }
    paths.models = home.join("models");
    let report = examine(paths).await;
    let json: serde_json::Value = serde_json::from_str(&report.json().unwrap()).unwrap();
    assert_eq!(json["ok"], report.ok);
    let mut lines = Vec::new();
    for section in json["sections"].as_array().unwrap() {
        for check in section["checks"].as_array().unwrap() {
            let (name, severity) = (
                check["name"].as_str().unwrap(),
                check["severity"].as_str().unwrap(),
            );
            lines.push(format!("{}.{name} {severity}", section["name"].as_str().unwrap()));
            assert!(!check["says"].as_str().unwrap().is_empty());
            assert_eq!(
                check.get("todo").is_some(),
                matches!(severity, "warn" | "fail"),
                "{check}"
            );
            assert!(report.text().contains(name));
        }
    }
    (lines, report.text())
}

#[tokio::test]
async fn a_new_home_lacks_models_and_nothing_else_is_wrong() {
    let home = tempfile::tempdir().unwrap();
    let (lines, text) = report(home.path()).await;
    for expect in [
        "config.file ok",
        "folders.data info",
        "data.calendars info",
        "models.llm fail",
        "models.stt fail",
        "daemon.running info",
        "privacy.network ok",
    ] {
        assert!(
            lines.iter().any(|line| line == expect),
            "no {expect} in {lines:?}"
        );
    }
    assert!(text.contains("tiro models pull whisper-base-q8_0"), "{text}");
    // Looking changes nothing.
    assert!(!home.path().join("data").exists() && !home.path().join("run").exists());
}

#[tokio::test]
async fn who_hears_of_the_weather_is_named() {
    let home = tempfile::tempdir().unwrap();
    let engines = home.path().join("engines");
    let config = format!(
        "[engines]\ndir = {engines:?}\n[weather]\nenabled = true\nurl = \"https://weather.example/v1\"\n"
    );
    fs::write(home.path().join("config.toml"), config).unwrap();
    let shortcuts = home.path().join("shortcuts");
    fs::create_dir(&shortcuts).unwrap();
    fs::set_permissions(&shortcuts, fs::Permissions::from_mode(0o700)).unwrap();
    fs::write(shortcuts.join("open"), "#!/bin/sh\n").unwrap();
    fs::set_permissions(shortcuts.join("open"), fs::Permissions::from_mode(0o777)).unwrap();
    fs::create_dir_all(home.path().join("data/files")).unwrap();
    let (lines, text) = report(home.path()).await;
    for expect in ["privacy.network info", "data.shortcuts warn"] {
        assert!(
            lines.iter().any(|line| line == expect),
            "no {expect} in {lines:?}"
        );
    }
    assert!(text.contains("tells weather.example for which place"), "{text}");
    assert!(text.contains("open can be changed by others."), "{text}");
}

#[tokio::test]
async fn servers_of_accounts_are_named_where_it_is_said_what_leaves_this_machine() {
    let home = tempfile::tempdir().unwrap();
    let engines = home.path().join("engines");
    let config = format!(
        "[engines]\ndir = {engines:?}\n[[accounts.mail]]\nname = \"work\"\naddress = \"ada@example.org\"\n\
         imap = \"imap://127.0.0.1:9\"\nsmtp = \"smtp://127.0.0.1:9\"\npassword_command = \"false\"\n"
    );
    fs::write(home.path().join("config.toml"), config).unwrap();
    let (lines, text) = report(home.path()).await;
    assert!(lines.contains(&"privacy.accounts info".to_owned()), "{lines:?}");
    assert!(
        text.contains("the servers of your accounts: imap://127.0.0.1:9, smtp://127.0.0.1:9."),
        "{text}"
    );
    assert!(!text.contains("Nothing leaves this machine"), "{text}");
    assert!(text.contains("Nothing else leaves this machine"), "{text}");
}

#[tokio::test]
async fn a_server_is_asked_and_named() {
    let listed = serde_json::json!({"data": [{"id": "qwen"}, {"id": "other"}]});
    let server = ScriptedServer::start(move |_| Act::json(200, &listed)).unwrap();
    let origin = server.origin();
    for (model, expect, says) in [
        ("", "engines.llm ok", "answers and has qwen."),
        ("other", "engines.llm ok", "answers and has other."),
        (
            "missing",
            "engines.llm fail",
            "has no model missing. It has: qwen, other.",
        ),
    ] {
        let home = tempfile::tempdir().unwrap();
        let engines = home.path().join("engines");
        let config = format!(
            "[engines]\ndir = {engines:?}\n[llm]\nbackend = \"server\"\n[llm.server]\nurl = {origin:?}\nmodel = {model:?}\n"
        );
        fs::write(home.path().join("config.toml"), config).unwrap();
        let (lines, text) = report(home.path()).await;
        for expect in [expect, "privacy.server info", "models.stt fail"] {
            assert!(
                lines.iter().any(|line| line == expect),
                "no {expect} in {lines:?}"
            );
        }
        // The local model is not needed.
        assert!(
            !lines.iter().any(|line| line.starts_with("models.llm")),
            "{lines:?}"
        );
        for part in [says, &format!("is told to {origin}, where the model runs")] {
            assert!(text.contains(part), "{part} is not in {text}");
        }
        assert!(!text.contains("Nothing leaves this machine"), "{text}");
    }
    let gone = {
        let config = "[engines]\ndir = \"/nonexistent\"\n[llm]\nbackend = \"server\"\n[llm.server]\nurl = \"http://127.0.0.1:1\"\n";
        let home = tempfile::tempdir().unwrap();
        fs::write(home.path().join("config.toml"), config).unwrap();
        report(home.path()).await
    };
    assert!(gone.0.contains(&"engines.llm fail".to_owned()), "{gone:?}");
    assert!(
        gone.1
            .contains("The model server at http://127.0.0.1:1 cannot be reached"),
        "{}",
        gone.1
    );
}

#[tokio::test]
async fn what_is_wrong_is_found() {
    let home = tempfile::tempdir().unwrap();
    let at = |path: &str| home.path().join(path);
    for folder in ["data/contacts/a", "data/calendars/a", "state", "models"] {
        fs::create_dir_all(at(folder)).unwrap();
    }
    fs::write(
        at("data/contacts/a/good.vcf"),
        "BEGIN:VCARD\r\nVERSION:3.0\r\nFN:Ada\r\nN:;Ada;;;\r\nEND:VCARD\r\n",
    )
    .unwrap();
    fs::write(at("data/contacts/a/bad.vcf"), [0xff; 30]).unwrap();
    fs::write(at("data/calendars/a/bad.ics"), "nothing").unwrap();
    fs::set_permissions(at("state"), fs::Permissions::from_mode(0o755)).unwrap();
    fs::write(at("cache"), "").unwrap();
    fs::write(at("empty.gguf"), "").unwrap();
    let engines = at("engines");
    fs::write(
        at("config.toml"),
        format!("[llm]\nmodel = {:?}\n[stt]\nmodel = \"bse\"\n[tools]\ncore = [\"no.such\"]\n[engines]\ndir = {engines:?}\n", at("empty.gguf")),
    )
    .unwrap();
    let (lines, text) = report(home.path()).await;
    for expect in [
        "config.tools warn",
        "folders.state warn",
        "folders.cache fail",
        "data.contacts warn",
        "data.calendars warn",
        "models.llm fail",
        "models.stt fail",
        "engines.llm fail",
        "engines.stt fail",
    ] {
        assert!(
            lines.iter().any(|line| line == expect),
            "no {expect} in {lines:?}\n{text}"
        );
    }
    assert!(
        text.contains("1 in ") && text.contains("and 1 that cannot be read"),
        "{text}"
    );

    fs::write(at("config.toml"), "[llm]\nmodle = 1\n").unwrap();
    let (lines, text) = report(home.path()).await;
    assert!(lines.contains(&"config.file fail".to_owned()));
    assert!(text.contains("Did you mean model?"), "{text}");
}

#[tokio::test]
async fn an_open_microphone_is_named_with_what_it_listens_for() {
    let home = tempfile::tempdir().unwrap();
    let engines = home.path().join("engines");
    let config = |wake: &str| {
        let text = format!("[engines]\ndir = {engines:?}\n[wake]\n{wake}\n");
        fs::write(home.path().join("config.toml"), text).unwrap();
    };
    config("enabled = true\nphrases = [\"hey tiro\", \"computer\"]");
    let (lines, text) = report(home.path()).await;
    assert!(
        lines.contains(&"microphone.wake word info".to_owned()),
        "{lines:?}"
    );
    assert!(
        text.contains("all the time for \"hey tiro\" and \"computer\""),
        "{text}"
    );
    config("enabled = true\nphrases = []");
    let (lines, _) = report(home.path()).await;
    assert!(
        lines.contains(&"microphone.wake word warn".to_owned()),
        "{lines:?}"
    );
    config("enabled = false");
    let (lines, _) = report(home.path()).await;
    assert!(!lines.iter().any(|line| line.contains("wake")), "{lines:?}");
    config("enabled = true\nphrases = [\"hi\"]");
    let (lines, text) = report(home.path()).await;
    assert!(lines.contains(&"config.file fail".to_owned()), "{lines:?}");
    assert!(
        text.contains("wake.phrases is [\"hi\"]") && text.contains("one to four words"),
        "{text}"
    );
}

#[tokio::test]
async fn who_hears_the_voice_and_who_may_ask_is_named() {
    let home = tempfile::tempdir().unwrap();
    let with = |rest: &str| {
        let config = format!("[engines]\ndir = \"/nonexistent\"\n{rest}");
        fs::write(home.path().join("config.toml"), config).unwrap();
    };
    with(
        "[stt]\nbackend = \"wyoming\"\n[stt.server]\nurl = \"tcp://127.0.0.1:1\"\n\
         [speech]\nvoice = \"wyoming\"\n[speech.server]\nurl = \"tcp://127.0.0.1:2\"\n",
    );
    let (lines, text) = report(home.path()).await;
    for expect in [
        "engines.stt fail",
        "privacy.recogniser info",
        "daemon.wyoming info",
    ] {
        assert!(
            lines.iter().any(|line| line == expect),
            "no {expect} in {lines:?}"
        );
    }
    // The local model is not needed.
    assert!(
        !lines.iter().any(|line| line.starts_with("models.stt")),
        "{lines:?}"
    );
    for part in [
        "The recogniser at tcp://127.0.0.1:1 cannot be reached",
        "goes unencrypted to tcp://127.0.0.1:1",
        "What Tiro says aloud goes unencrypted to tcp://127.0.0.1:2",
        "Nothing else leaves this machine",
        "nobody is served",
    ] {
        assert!(text.contains(part), "{part} is not in {text}");
    }
    with("[stt]\nbackend = \"wyoming\"\n[stt.server]\nurl = \"tcp://127.0.0.1:1\"\n[wake]\nenabled = true\n");
    let (lines, text) = report(home.path()).await;
    assert!(lines.contains(&"privacy.recogniser warn".to_owned()), "{lines:?}");
    assert!(
        text.contains("whatever is said near the microphone goes unencrypted to tcp://127.0.0.1:1"),
        "{text}"
    );
    for (listen, expect, says) in [
        (
            "listen = \"tcp://127.0.0.1:10700\"",
            "info",
            "Every program and user of this machine that reaches tcp://127.0.0.1:10700 may ask",
        ),
        (
            "listen = \"tcp://0.0.0.0:10700\"",
            "fail",
            "Set wyoming.allow_others = true",
        ),
        (
            "listen = \"tcp://0.0.0.0:10700\"\nallow_others = true",
            "warn",
            "Everybody who reaches tcp://0.0.0.0:10700 over the network may ask Tiro without a password",
        ),
        (
            "listen = \"tcp://0.0.0.0:10700\"\nallow_others = true\nconversation = false",
            "warn",
            "over the network may use the recogniser and the voice",
        ),
    ] {
        with(&format!("[wyoming]\n{listen}\n"));
        let (lines, text) = report(home.path()).await;
        let expect = format!("daemon.wyoming {expect}");
        assert!(lines.contains(&expect), "no {expect} in {lines:?}");
        assert!(text.contains(says), "{says} is not in {text}");
    }
}
