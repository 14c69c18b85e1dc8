//! Which tools a request may find, load and call, by the person's own rules. Whatever a rule asks and nobody knows counts as
//! so: a rule that cannot be decided forbids.

use std::{collections::BTreeMap, sync::Arc};

use tools::system::known::Known;

/// A step on the way to a call.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Phase {
    /// Being found by a search.
    Search,
    /// Being shown to the model.
    Load,
    /// Being called.
    Active,
}

/// When a rule holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum When {
    /// Always.
    Always,
    /// The request was spoken.
    Voice,
    /// The request was typed.
    Typed,
    /// Words of others are in the conversation.
    Tainted,
    /// The screen is locked.
    Locked,
    /// A program asks that need not be the person, or somebody over the network.
    Guest,
}

/// Keeps some tools from some requests.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Rule {
    /// `domain.verb`, `domain.*` or `*`.
    pub tools: Vec<String>,
    /// Where it holds.
    pub phases: Vec<Phase>,
    /// When it holds.
    pub when: When,
}

/// What is known about a request besides its words. Nothing unless somebody looked.
#[derive(Debug, Clone, Default)]
pub struct Asked {
    /// Seconds since 1970.
    pub at: i64,
    /// Whether it was spoken.
    pub by_voice: Option<bool>,
    /// Whether the screen is locked.
    pub locked: Option<bool>,
    /// Whether a program asks that need not be the person.
    pub guest: bool,
    /// How much less tools count that keep failing, by name.
    pub weights: BTreeMap<String, f32>,
    /// The names of what the person has. Each part of a sentence is looked through for them by itself.
    pub known: Arc<Known>,
}

/// The person's rules.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Rules(pub Vec<Rule>);

impl Rules {
    /// Whether this tool is kept from this request at this step.
    pub fn forbid(&self, phase: Phase, tool: &str, asked: &Asked, tainted: bool) -> bool {
        self.0.iter().any(|rule| {
            rule.phases.contains(&phase)
                && rule.tools.iter().any(|pattern| names(pattern, tool))
                && rule.when.holds(asked, tainted).unwrap_or(true)
        })
    }

    /// Whether some rule asks whether the screen is locked, so that somebody has to look.
    pub fn ask_for_the_lock(&self) -> bool {
        self.0.iter().any(|rule| rule.when == When::Locked)
    }
}

impl When {
    fn holds(self, asked: &Asked, tainted: bool) -> Option<bool> {
        match self {
            When::Always => Some(true),
            When::Voice => asked.by_voice,
            When::Typed => asked.by_voice.map(|voice| !voice),
            When::Tainted => Some(tainted),
            When::Locked => asked.locked,
            When::Guest => Some(asked.guest),
        }
    }
}

/// Whether a pattern of a rule means this tool.
pub fn names(pattern: &str, tool: &str) -> bool {
    match pattern.strip_suffix('*') {
        None => pattern == tool,
        Some(start) => tool.starts_with(start) && (start.is_empty() || start.ends_with('.')),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(tools: &str, when: When, asked: &Asked, tainted: bool, tool: &str, expect: bool) {
        let rules = Rules(vec![Rule {
            tools: vec![tools.to_owned()],
            phases: vec![Phase::Search],
            when,
        }]);
        let forbidden = rules.forbid(Phase::Search, tool, asked, tainted);
        assert_eq!(forbidden, expect, "{tools} {when:?} {asked:?} {tainted} {tool}");
        assert!(
            !rules.forbid(Phase::Active, tool, asked, tainted),
            "another phase"
        );
    }

    #[test]
    fn rules_hold_where_they_say_and_where_nobody_knows() {
        let nothing = Asked::default();
        let known = |voice, locked| Asked {
            by_voice: Some(voice),
            locked: Some(locked),
            ..Asked::default()
        };
        let guest = Asked {
            guest: true,
            ..Asked::default()
        };
        for (pattern, tool, meant) in [
            ("mail.send", "mail.send", true),
            ("mail.send", "mail.sender", false),
            ("mail.*", "mail.send", true),
            ("mail.*", "mailbox.send", false),
            ("*", "mail.send", true),
            ("mail*", "mail.send", false),
            ("", "mail.send", false),
        ] {
            check(pattern, When::Always, &nothing, false, tool, meant);
        }
        for (when, asked, tainted, expect) in [
            (When::Voice, &known(true, false), false, true),
            (When::Voice, &known(false, false), false, false),
            (When::Typed, &known(true, false), false, false),
            (When::Typed, &known(false, false), false, true),
            (When::Tainted, &nothing, true, true),
            (When::Tainted, &nothing, false, false),
            (When::Locked, &known(true, true), false, true),
            (When::Locked, &known(true, false), false, false),
            (When::Guest, &guest, false, true),
            (When::Guest, &known(true, true), true, false),
            // Nobody looked, or nobody could tell.
            (When::Voice, &nothing, false, true),
            (When::Typed, &nothing, false, true),
            (When::Locked, &nothing, false, true),
        ] {
            check("mail.*", when, asked, tainted, "mail.send", expect);
        }
    }
}
