//! Logs inside an engine. Native libraries write to standard error through `tracing`; their last error is kept,
//! because it says why a load failed while their return value does not. So is the GPU that whisper.cpp took, since
//! nothing but its log says which, or that there was none.

use std::{
    fmt::Debug,
    sync::{Mutex, PoisonError},
};

use tracing::{
    Event, Level, Subscriber,
    field::{Field, Visit},
};
use tracing_subscriber::{
    EnvFilter, Layer,
    layer::{Context, SubscriberExt},
    util::SubscriberInitExt,
};

use crate::machine;

static LAST_ERROR: Mutex<Option<String>> = Mutex::new(None);
static GPU: Mutex<Option<String>> = Mutex::new(None);

/// Starts logging. `TIRO_ENGINE_LOG` takes the usual directives ("debug", "warn,llama-cpp-2=debug").
pub fn install() {
    let filter = EnvFilter::try_from_env("TIRO_ENGINE_LOG").unwrap_or_else(|_| EnvFilter::new("error"));
    let stderr = tracing_subscriber::fmt::layer()
        .with_writer(std::io::stderr)
        .with_ansi(false)
        .without_time()
        .with_filter(filter);
    // A second start can only come from a test; the first one stays.
    drop(tracing_subscriber::registry().with(Keep).with(stderr).try_init());
}

/// The last error that a native library logged since this was asked before.
pub fn take_last_error() -> Option<String> {
    LAST_ERROR.lock().unwrap_or_else(PoisonError::into_inner).take()
}

/// The GPU that whisper.cpp took since this was asked before, by ggml's name for it ("Vulkan0").
pub fn take_gpu() -> Option<String> {
    GPU.lock().unwrap_or_else(PoisonError::into_inner).take()
}

struct Keep;

impl<S: Subscriber> Layer<S> for Keep {
    fn on_event(&self, event: &Event<'_>, _: Context<'_, S>) {
        let level = *event.metadata().level();
        if !matches!(level, Level::ERROR | Level::INFO) {
            return;
        }
        let mut message = Message(String::new());
        event.record(&mut message);
        let mut gpu = GPU.lock().unwrap_or_else(PoisonError::into_inner);
        *gpu = machine::gpu_after(gpu.take(), &message.0);
        if level == Level::ERROR {
            // "llama_model_load: error loading model: ..." starts with the name of a C function.
            let text = message.0.trim().trim_matches('"');
            let text = text.split_once(": ").map_or(text, |(_, rest)| rest);
            let mut last = LAST_ERROR.lock().unwrap_or_else(PoisonError::into_inner);
            // The first error of a cascade is the reason; those that follow only pass it on.
            last.get_or_insert_with(|| text.chars().take(300).collect());
        }
    }
}

struct Message(String);

impl Visit for Message {
    fn record_debug(&mut self, field: &Field, value: &dyn Debug) {
        if field.name() == "message" {
            self.0 = format!("{value:?}");
        }
    }

    fn record_str(&mut self, field: &Field, value: &str) {
        if field.name() == "message" {
            self.0 = value.to_owned();
        }
    }
}
