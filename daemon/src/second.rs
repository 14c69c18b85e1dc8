//! The second opinion of the discovery index: `tools` asks for one, and `models` has it.

use models::reader::Reader;
use tools::discover::Reads;

/// Reads for the index.
pub struct Second(pub Reader);

impl Reads for Second {
    fn intents(&self) -> &[Vec<String>] {
        self.0.intents()
    }

    fn read(&self, words: &[String]) -> Option<Vec<f32>> {
        self.0.log_probabilities(words)
    }
}
