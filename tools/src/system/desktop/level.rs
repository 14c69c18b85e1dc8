//! Levels in percent as people set them: to a value, or up and down from where it is.

use schemars::JsonSchema;
use serde::Deserialize;

use crate::contract::ToolError;

/// How far "a bit louder" goes, in percent.
const STEP: u32 = 10;

/// Up or down from where it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
#[expect(missing_docs, reason = "the two words say it")]
pub enum Direction {
    Up,
    Down,
}

/// Where a level shall be.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Level {
    /// At so many percent.
    To(u32),
    /// So many percent above what it is.
    Up(u32),
    /// So many percent below what it is.
    Down(u32),
}

impl Level {
    /// What the arguments say. `what` is what is set: "the volume".
    ///
    /// # Errors
    /// `Tell` when they say nothing, or more than there is.
    pub fn of(percent: Option<u32>, direction: Option<Direction>, what: &str) -> Result<Level, ToolError> {
        match (percent, direction) {
            (Some(percent @ 101..), _) => Err(ToolError::tell(format!(
                "I can set {what} from 0 to 100 percent, not to {percent}."
            ))),
            (Some(percent), None) => Ok(Level::To(percent)),
            (percent, Some(Direction::Up)) => Ok(Level::Up(percent.unwrap_or(STEP))),
            (percent, Some(Direction::Down)) => Ok(Level::Down(percent.unwrap_or(STEP))),
            (None, None) => Err(ToolError::tell(format!(
                "To how many percent shall I set {what}?"
            ))),
        }
    }

    /// Where that is from here, in percent.
    pub fn from(self, now: u32) -> u32 {
        match self {
            Level::To(percent) => percent,
            // What is louder than full is not made quieter by "louder".
            Level::Up(by) => now.saturating_add(by).min(100).max(now),
            Level::Down(by) => now.saturating_sub(by),
        }
    }

    /// As the question before it: "to 30 percent".
    pub fn words(self) -> String {
        match self {
            Level::To(percent) => format!("to {percent} percent"),
            Level::Up(by) => format!("up by {by} percent"),
            Level::Down(by) => format!("down by {by} percent"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(percent: Option<u32>, direction: Option<Direction>, now: u32, expect: Option<u32>) {
        let level = Level::of(percent, direction, "the volume");
        assert_eq!(
            level.ok().map(|level| level.from(now)),
            expect,
            "{percent:?} {direction:?} {now}"
        );
    }

    #[test]
    fn levels_stay_within_bounds() {
        use Direction::{Down, Up};
        check(Some(30), None, 80, Some(30));
        check(Some(0), None, 80, Some(0));
        check(None, Some(Up), 80, Some(90));
        check(None, Some(Up), 95, Some(100));
        check(None, Some(Up), 140, Some(140));
        check(None, Some(Down), 5, Some(0));
        check(Some(25), Some(Down), 80, Some(55));
        check(None, None, 80, None);
        check(Some(101), None, 80, None);
        check(Some(4_000_000_000), Some(Up), 80, None);
    }
}
