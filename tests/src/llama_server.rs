//! The model on a real server: llama.cpp's own, with the weights of the tests, asked by the built `tiro`.

use std::{
    net::{Ipv4Addr, TcpListener},
    os::unix::fs::PermissionsExt as _,
    path::{Path, PathBuf},
    process::{Child, Command, Stdio},
    sync::Arc,
    time::{Duration, Instant},
};

use async_trait::async_trait;
use daemon::{agent::Ending, report::Report};
use models::server::{Keys, ModelServer, ServerConfig};

use crate::{
    home::root,
    program::{Tiro, finish_within},
};

const KEY: &str = "sk-of-the-test";
const MODEL: &str = "qwen";

/// Longest time for it to load, on a loaded machine.
const START: Duration = Duration::from_secs(180);

/// llama.cpp's server as the package xllamacpp brings it, until its standard input ends.
const SERVE: &str = "\
import sys, xllamacpp
params = xllamacpp.CommonParams()
params.model.path, params.port, params.api_keys = sys.argv[1], int(sys.argv[2]), [sys.argv[3]]
params.model_alias = {sys.argv[4]}
params.hostnames = ['127.0.0.1']
params.n_ctx, params.n_parallel, params.use_jinja = 4096, 1, True
server = xllamacpp.Server(params)
sys.stdin.read()
";

/// The server; it ends when dropped.
struct LlamaServer {
    child: Child,
    origin: String,
}

struct Known(&'static str);

#[async_trait]
impl Keys for Known {
    async fn key(&self) -> Result<Option<String>, String> {
        Ok(Some(self.0.to_owned()))
    }
}

impl LlamaServer {
    /// Starts it with these weights and waits until they are loaded, or says aloud that it is not installed. `cargo xtask
    /// test` installs it and sets `TIRO_REQUIRE_REAL`, and then its absence fails.
    async fn start(weights: &Path) -> Option<LlamaServer> {
        let venv =
            std::env::var_os("TIRO_TEST_PYTHON").map_or(root().join("target/test-python"), PathBuf::from);
        let python = venv.join("bin/python");
        let there = Command::new(&python)
            .args(["-c", "import xllamacpp"])
            .stderr(Stdio::null())
            .status();
        if !there.is_ok_and(|status| status.success()) {
            let required = std::env::var_os("TIRO_REQUIRE_REAL").is_some();
            assert!(!required, "xllamacpp is not in {}", venv.display());
            println!(
                "SKIPPED: run `cargo xtask setup`, which installs xllamacpp into {}",
                venv.display()
            );
            return None;
        }
        // The port is free when asked for; whoever else asked gets another.
        let free = TcpListener::bind((Ipv4Addr::LOCALHOST, 0))
            .unwrap()
            .local_addr()
            .unwrap();
        let child = Command::new(&python)
            .args(["-c", SERVE])
            .arg(weights)
            .args([&free.port().to_string(), KEY, MODEL])
            // Its threads would wait for work by spinning, and there is other work on this machine.
            .env("OMP_WAIT_POLICY", "PASSIVE")
            .stdin(Stdio::piped())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        let mut server = LlamaServer {
            child,
            origin: format!("http://{free}"),
        };
        let config = ServerConfig {
            origin: server.origin.clone(),
            path: "/v1".into(),
            model: MODEL.into(),
            context: 4096,
            silence: Duration::from_secs(20),
            architecture: prompts::dialect::MESSAGES.into(),
        };
        let client = ModelServer::new(config, Arc::new(Known(KEY)));
        let begun = Instant::now();
        loop {
            match client.models().await {
                Ok(models) => {
                    assert_eq!(models, [MODEL]);
                    println!("llama-server is ready after {:?}", begun.elapsed());
                    return Some(server);
                }
                Err(error) => {
                    let ended = server.child.try_wait().unwrap();
                    assert!(ended.is_none() && begun.elapsed() < START, "{ended:?}: {error}");
                }
            }
            tokio::time::sleep(Duration::from_millis(100)).await;
        }
    }
}

impl Drop for LlamaServer {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn configure(tiro: &Tiro, server: &LlamaServer, key: &str) {
    let file = tiro.home().join("key");
    std::fs::write(&file, format!("{key}\n")).unwrap();
    std::fs::set_permissions(&file, std::fs::Permissions::from_mode(0o600)).unwrap();
    let config = format!(
        "[llm]\nbackend = \"server\"\ncontext = 4096\ntimeout = \"5m\"\n[llm.server]\nurl = {:?}\nmodel = {MODEL:?}\n\
         timeout = \"5m\"\nkey_file = {file:?}\n[agent]\nreflex = false\n",
        server.origin
    );
    std::fs::write(tiro.home().join("config.toml"), config).unwrap();
}

/// `tiro ask --json`. The server's build is not made for this machine, and its threads share it with whatever else runs.
fn ask(tiro: &Tiro, text: &str) -> Report {
    let ran = finish_within(2 * START, tiro.command(["ask", "--json", text]).spawn().unwrap());
    serde_json::from_str(&ran.out).unwrap_or_else(|e| panic!("{e}: {ran:?}"))
}

#[tokio::test]
async fn real_turns_through_llama_server() {
    let Some(tiro) = Tiro::in_the_demo_world() else {
        return;
    };
    let weights = tiro.models().join("qwen2.5-coder-1.5b-instruct-q4_k_m.gguf");
    let Some(server) = LlamaServer::start(&weights).await else {
        return;
    };
    configure(&tiro, &server, KEY);
    let report = ask(&tiro, "what do I have on my calendar tomorrow");
    println!("{report:?}");
    for event in ["Dentist", "Lunch with Anna", "Project review"] {
        assert!(report.reply.contains(event), "{event} is missing in {report:?}");
    }
    assert_eq!(
        (report.end, report.calls[0].name.as_str()),
        (Ending::Done, "calendar.query")
    );
    assert!(
        report.tokens.prompt > 0 && report.tokens.generated > 0,
        "{report:?}"
    );
    let timer = ask(&tiro, "set a timer for ten minutes");
    println!("{timer:?}");
    assert!(timer.reply.contains("10 minute"), "{timer:?}");

    let doctor = tiro.run(["doctor"]);
    doctor.says(&[
        &format!("The server {} answers and has {MODEL}.", server.origin),
        &format!("is told to {}", server.origin),
    ]);
    configure(&tiro, &server, "sk-wrong");
    let refused = tiro.run(["ask", "what do I have on my calendar tomorrow"]);
    refused
        .expect_code(1)
        .says(&["does not take this key", &server.origin]);
    assert!(!format!("{refused:?}").contains("sk-wrong"), "{refused:?}");
}
