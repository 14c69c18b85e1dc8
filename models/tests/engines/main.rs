//! The engines on real weights. Every test here starts child processes and is named `real_...`, but for those whose engine is
//! a double, which need no weights.
//!
//! Programs come from `TIRO_ENGINES` or the workspace's `target/release`, weights from `TIRO_MODELS`. Without them a
//! test says so and passes, except where `CI=true` or `TIRO_REQUIRE_REAL=1` asks for the real thing.

#![expect(
    clippy::unwrap_used,
    clippy::print_stderr,
    reason = "helpers of tests are tests too"
)]

mod failure;
mod llm;
mod stt;
mod wedged;

use std::{
    env,
    path::{Path, PathBuf},
    time::Duration,
};

use models::{
    engine::{Limits, LlmConfig, SttConfig},
    llm::{Generate, Piece},
};

const SMALL: &str = "qwen2.5-coder-0.5b-instruct-q4_k_m.gguf";
const TINY: &str = "smollm2-135m-instruct-q4_1.gguf";
const WHISPER: &str = "ggml-tiny.en.bin";

/// The folder of the engines and a model in the folder of the weights.
fn real(engine: &str, model: &str) -> Option<(PathBuf, PathBuf)> {
    let workspace = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    let engines = env::var_os("TIRO_ENGINES").map_or_else(|| workspace.join("target/release"), PathBuf::from);
    let model = PathBuf::from(env::var_os("TIRO_MODELS").unwrap_or_default()).join(model);
    if engines.join(engine).is_file() && model.is_file() {
        return Some((engines, model));
    }
    let what = format!(
        "{engine} in {} or the weights {} are not there",
        engines.display(),
        model.display()
    );
    let required = ["CI", "TIRO_REQUIRE_REAL"].map(|name| env::var(name).unwrap_or_default());
    assert!(
        !(required[0] == "true" || required[1] == "1"),
        "required, but {what}"
    );
    eprintln!("SKIPPED: {what}");
    None
}

fn llm(model: &str) -> Option<LlmConfig> {
    let (engines, model) = real("tiro-llm", model)?;
    let mut config = LlmConfig::new(model);
    config.engines_dir = Some(engines);
    config.context = 2048;
    Some(config)
}

fn stt(model: &str) -> Option<SttConfig> {
    let (engines, model) = real("tiro-stt", model)?;
    let mut config = SttConfig::new(model);
    config.engines_dir = Some(engines);
    Some(config)
}

fn patient() -> Limits {
    Limits {
        start: Duration::from_secs(60),
        hang: Duration::from_secs(60),
        ..Limits::default()
    }
}

fn markup(text: &str) -> Piece {
    Piece {
        text: text.into(),
        special: true,
    }
}

fn plain(text: &str) -> Piece {
    Piece {
        text: text.into(),
        special: false,
    }
}

fn ask(prompt: Vec<Piece>, max_tokens: u32) -> Generate {
    Generate {
        prompt,
        max_tokens,
        ..Generate::default()
    }
}

fn question(text: &str) -> Vec<Piece> {
    vec![
        markup("<|im_start|>system\nYou answer briefly.<|im_end|>\n<|im_start|>user\n"),
        plain(text),
        markup("<|im_end|>\n<|im_start|>assistant\n"),
    ]
}
