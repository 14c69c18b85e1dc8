//! tiro-stt: the recogniser engine; links whisper-rs and nothing else native.
fn main() {
    whisper_rs::install_logging_hooks();
}
