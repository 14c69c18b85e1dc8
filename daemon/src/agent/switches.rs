//! "Off" that was heard as "of": the opposite of what was asked must not be done because of one letter.

use serde_json::{Value, json};

use super::names::words;

/// The argument of tools that switch one thing.
const SWITCH: &str = "on";
/// What switches a thing.
const VERBS: &[&str] = &["switch", "turn"];
/// What may stand behind "off" in a request, and begins nothing that something is a part of.
const AFTER: &[&str] = &[
    "again", "for", "in", "now", "please", "tonight", "until", "will", "would",
];

/// Switches off what shall be switched off by a misheard word; `tool` is what is switched, by its name.
pub fn settle(arguments: &mut Value, tool: &str, schema: &Value, said: &str) {
    let Some(given) = arguments.as_object_mut() else {
        return;
    };
    let said: Vec<String> = words(said).collect();
    // "Mute the sound of the film": only where the thing has a switch of its name.
    let thing = tool.split('.').nth(1).unwrap_or_default().replace('_', "");
    if !said.concat().contains(&thing) || !is_switched_of(&said) {
        return;
    }
    for (name, property) in schema["properties"].as_object().into_iter().flatten() {
        let positions = property["enum"].as_array();
        let has = |position: &str| positions.is_some_and(|all| all.contains(&json!(position)));
        match () {
            () if has("on") && has("off") => given.insert(name.clone(), "off".into()),
            () if name == SWITCH && positions.is_none() => given.insert(name.clone(), false.into()),
            () => None,
        };
    }
}

/// Whether something is switched "of": behind its verb, at the end or before what is no noun.
fn is_switched_of(said: &[String]) -> bool {
    let Some(verb) = said.iter().position(|word| VERBS.contains(&word.as_str())) else {
        return false;
    };
    let position = |word: &&String| ["off", "of", "on"].contains(&word.as_str());
    let mut positions = said[verb..].iter().filter(position);
    let (Some("of"), None) = (positions.next().map(String::as_str), positions.next()) else {
        return false;
    };
    let at = said.iter().rposition(|word| word == "of").unwrap_or_default();
    // "Turn of the wifi".
    let leads = at == verb + 1;
    let next = said.get(at + 1);
    leads || next.is_none_or(|next| AFTER.contains(&next.as_str()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(tool: &str, said: &str, given: Value, expect: Value) {
        let entry = tools::ALL.iter().find(|entry| entry.name == tool).unwrap();
        let mut settled = given.clone();
        settle(&mut settled, tool, &entry.parameters(), said);
        assert_eq!(settled, expect, "{tool} {said:?} {given}");
    }

    #[test]
    fn what_is_switched_of_is_switched_off() {
        for said in [
            "switch blue tooth of again please",
            "turn of the bluetooth",
            "turn bluetooth of",
        ] {
            check(
                "system.bluetooth",
                said,
                json!({"action": "on"}),
                json!({"action": "off"}),
            );
        }
        check(
            "system.dark_mode",
            "turn dark mode of",
            json!({"on": true}),
            json!({"on": false}),
        );
        check(
            "system.do_not_disturb",
            "would you turn of do not disturb",
            json!({}),
            json!({"on": false}),
        );
    }

    #[test]
    fn what_is_of_something_is_left_alone() {
        check(
            "system.bluetooth",
            "turn on the bluetooth of my laptop",
            json!({"action": "on"}),
            json!({"action": "on"}),
        );
        check(
            "system.bluetooth",
            "switch the bluetooth of my laptop on",
            json!({"action": "on"}),
            json!({"action": "on"}),
        );
        check(
            "system.bluetooth",
            "which devices of mine know bluetooth",
            json!({"action": "list"}),
            json!({"action": "list"}),
        );
        // Silence is what is switched on then.
        check(
            "system.mute",
            "turn the sound of",
            json!({"on": true}),
            json!({"on": true}),
        );
        check("timers.set", "turn it of", json!({}), json!({}));
    }
}
