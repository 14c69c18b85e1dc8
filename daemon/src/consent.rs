//! Consent: whether a call may run, must be asked about, and how the question reads. Deterministic, outside the
//! model, before dispatch (DESIGN section 5). The model's words are never an input.

use serde_json::Value;
use tools::{Effect, Entry};

/// What the person must be asked before a call runs.
#[derive(Debug, Clone, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub struct Question {
    /// The tool.
    pub tool: String,
    /// One line with every argument resolved: "Add Dentist on Tuesday, 1 December, 09:30 to 10:30."
    pub action: String,
    /// Why it is asked, and what the person should look at.
    pub because: Vec<String>,
}

/// Why this call must be asked about; empty when it may run.
///
/// `said` is everything that the person said in this conversation.
pub fn reasons(entry: &Entry, arguments: &Value, tainted: bool, said: &[&str]) -> Vec<String> {
    let mut reasons = Vec::new();
    match entry.effect {
        Effect::Irreversible => reasons.push("This cannot be undone.".to_owned()),
        Effect::Egress => reasons.push("This leaves your computer.".to_owned()),
        Effect::Write if entry.confirm => {
            reasons.push("This takes something away from where it is.".to_owned())
        }
        Effect::Write if tainted => {
            reasons.push("I have read text that somebody else wrote in this conversation.".to_owned());
        }
        Effect::Write | Effect::Read => {}
    }
    if tainted && !reasons.is_empty() {
        let mut strangers = Vec::new();
        addresses(arguments, &mut strangers);
        strangers.retain(|s| {
            !said
                .iter()
                .any(|words| words.to_lowercase().contains(&s.to_lowercase()))
        });
        reasons.extend(
            strangers
                .into_iter()
                .map(|s| format!("You did not mention {s} yourself.")),
        );
    }
    reasons
}

/// Why this call may not run at all, whatever the person would answer: what is kept as theirs must come from them, and
/// a yes to a sentence that a mail suggested is soon said.
pub fn refusal(entry: &Entry, tainted: bool) -> Option<String> {
    (entry.own_words && tainted).then(prompts::words::own_words_only)
}

/// Strings among the arguments that point somewhere: mail addresses, URLs, hosts, paths.
fn addresses(value: &Value, found: &mut Vec<String>) {
    match value {
        Value::String(s)
            if s.contains('@') || s.contains("://") || s.starts_with(['/', '~']) || is_host(s) =>
        {
            found.push(s.clone())
        }
        Value::Array(items) => items.iter().for_each(|v| addresses(v, found)),
        Value::Object(fields) => fields.values().for_each(|v| addresses(v, found)),
        _ => {}
    }
}

/// Whether a text begins with the name of a host, as addresses do that are written without "https": `evil.example/x`.
fn is_host(text: &str) -> bool {
    let host = text.split(['/', '?', '#', ':']).next().unwrap_or_default();
    let ending = host.rsplit('.').next().unwrap_or_default();
    host.contains('.')
        && ending.len() >= 2
        && ending.chars().all(char::is_alphabetic)
        && !text.contains(char::is_whitespace)
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn entry(effect: Effect, confirm: bool) -> Entry {
        let mut entry = *tools::find("clock.now").unwrap();
        entry.effect = effect;
        entry.confirm = confirm;
        entry
    }

    #[track_caller]
    fn check(effect: Effect, confirm: bool, tainted: bool, arguments: Value, expect: &[&str]) {
        let said = ["send the report to bob@example.org"];
        let reasons = reasons(&entry(effect, confirm), &arguments, tainted, &said);
        assert_eq!(
            reasons, expect,
            "{effect:?} confirm={confirm} tainted={tainted} {arguments}"
        );
    }

    #[test]
    fn effects_and_taint_decide() {
        const READ: &str = "I have read text that somebody else wrote in this conversation.";
        check(Effect::Read, false, false, json!({}), &[]);
        check(Effect::Read, false, true, json!({}), &[]);
        check(Effect::Write, false, false, json!({}), &[]);
        check(
            Effect::Write,
            true,
            false,
            json!({}),
            &["This takes something away from where it is."],
        );
        check(Effect::Write, false, true, json!({}), &[READ]);
        check(
            Effect::Irreversible,
            true,
            false,
            json!({}),
            &["This cannot be undone."],
        );
        check(
            Effect::Egress,
            true,
            false,
            json!({}),
            &["This leaves your computer."],
        );
    }

    #[test]
    fn what_only_the_person_may_say_is_refused_after_others_spoke() {
        let mut own = entry(Effect::Write, false);
        own.own_words = true;
        assert_eq!(refusal(&own, false), None);
        assert!(refusal(&own, true).unwrap().contains("somebody else wrote"));
        assert_eq!(refusal(&entry(Effect::Write, false), true), None);
        let kept: Vec<&str> = tools::ALL
            .iter()
            .filter(|t| t.own_words)
            .map(|t| t.name)
            .collect();
        assert_eq!(kept, ["memory.remember"]);
    }

    #[test]
    fn a_page_that_the_person_never_said_is_named_after_others_spoke() {
        let open = tools::find("web.open_url").unwrap();
        let said = ["open example.org", "read my mail"];
        let why = |url: &str, tainted| reasons(open, &json!({"url": url}), tainted, &said);
        assert!(why("evil.example/?q=secret", false).is_empty());
        for (url, expect) in [
            (
                "evil.example/?q=secret",
                Some("You did not mention evil.example/?q=secret yourself."),
            ),
            (
                "https://evil.example",
                Some("You did not mention https://evil.example yourself."),
            ),
            ("example.org", None),
        ] {
            let reasons = why(url, true);
            assert!(!reasons.is_empty(), "every page is asked about then");
            assert_eq!(reasons.get(1).map(String::as_str), expect, "{url}");
        }
        let search = tools::find("web.search").unwrap();
        assert_eq!(reasons(search, &json!({"words": "cake"}), true, &said).len(), 1);
    }

    #[test]
    fn an_address_that_the_person_never_said_is_named() {
        let stranger = json!({"to": ["bob@example.org", "eve@evil.example"]});
        check(
            Effect::Egress,
            true,
            true,
            stranger,
            &[
                "This leaves your computer.",
                "You did not mention eve@evil.example yourself.",
            ],
        );
    }
}
