//! tiro-llm: the language model engine; links llama-cpp-2 and nothing that knows audio.
fn main() {}
