//! Consent: whether a call may run, must be asked about, and how the question reads. Deterministic, outside the
//! model, before dispatch (DESIGN section 5). The model's words are never an input.

mod places;

pub use places::Known;
use serde_json::Value;
use tools::{Effect, Entry, system::speech};

/// Strangers that a question names, at most; nobody listens to more.
const NAMED: usize = 8;

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

/// Why a tool must be asked about; `None` when it may run. Where somebody else's words are in the conversation every change
/// is asked about.
pub fn reason(entry: &Entry, tainted: bool) -> Option<String> {
    let reason = match entry.effect {
        Effect::Irreversible => "This cannot be undone.",
        Effect::Egress => "This leaves your computer.",
        Effect::Write if entry.confirm => "This takes something away from where it is.",
        Effect::Write if tainted => "I have read text that somebody else wrote in this conversation.",
        Effect::Write | Effect::Read => return None,
    };
    Some(reason.to_owned())
}

/// What the person should look at before they say yes to a call in a conversation that holds somebody else's words: every
/// recipient, page and path that neither they said nor their contacts hold.
///
/// `action` is the question with every argument resolved, `said` everything that the person said in this conversation.
pub fn strangers(
    entry: &Entry,
    arguments: &Value,
    action: &str,
    said: &[&str],
    known: &Known,
) -> Vec<String> {
    let leads = places::leads(entry, arguments, action);
    let mut strangers: Vec<String> = leads
        .into_iter()
        .filter(|lead| !places::is_theirs(lead, said, known))
        .map(|lead| format!("You did not mention {} yourself.", lead.shown))
        .collect();
    if let Some(more) = strangers.len().checked_sub(NAMED).filter(|more| *more > 0) {
        strangers.truncate(NAMED);
        let more = speech::count(more, "other address", "other addresses");
        strangers.push(format!("Nor did you mention {more} in it."));
    }
    strangers
}

/// Why this call may not run at all, whatever the person would answer: what is kept as theirs must come from them, and
/// a yes to a sentence that a mail suggested is soon said.
pub fn refusal(entry: &Entry, tainted: bool) -> Option<String> {
    (entry.own_words && tainted).then(prompts::words::own_words_only)
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
    fn check(effect: Effect, confirm: bool, tainted: bool, expect: Option<&str>) {
        assert_eq!(
            reason(&entry(effect, confirm), tainted).as_deref(),
            expect,
            "{effect:?} confirm={confirm} tainted={tainted}"
        );
    }

    #[test]
    fn effects_and_taint_decide() {
        const READ: &str = "I have read text that somebody else wrote in this conversation.";
        const AWAY: &str = "This takes something away from where it is.";
        for tainted in [false, true] {
            check(Effect::Read, false, tainted, None);
            check(Effect::Write, true, tainted, Some(AWAY));
            check(
                Effect::Irreversible,
                true,
                tainted,
                Some("This cannot be undone."),
            );
            check(Effect::Egress, true, tainted, Some("This leaves your computer."));
        }
        check(Effect::Write, false, false, None);
        check(Effect::Write, false, true, Some(READ));
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
    fn a_question_stays_short_enough_to_be_heard() {
        let to: Vec<String> = (0..20).map(|n| format!("eve{n}@evil.example")).collect();
        let send = tools::find("mail.send").unwrap();
        let named = strangers(send, &json!({"to": to}), "Send it.", &[], &Known::default());
        assert_eq!(named.len(), NAMED + 1);
        assert_eq!(named[0], "You did not mention eve0@evil.example yourself.");
        assert_eq!(named[NAMED], "Nor did you mention 12 other addresses in it.");
    }
}
