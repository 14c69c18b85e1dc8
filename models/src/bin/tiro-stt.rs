//! tiro-stt: the recogniser engine; links whisper-rs and nothing else native.
fn main() {}
