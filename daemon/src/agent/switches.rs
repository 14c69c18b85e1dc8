//! "Off" that was heard as "of": the opposite of what was asked must not be done because of one letter.

use serde_json::{Value, json};
use tools::discover::words::asks;

use super::names::words;

/// The argument of tools that switch one thing.
pub(super) const SWITCH: &str = "on";
/// What switches a thing.
const VERBS: &[&str] = &["switch", "turn"];
/// What may stand behind "off" in a request, and begins nothing that something is a part of.
const AFTER: &[&str] = &[
    "again", "for", "in", "now", "please", "tonight", "until", "will", "would",
];

/// Switches off what shall be switched off, by a misheard word or by what begins with "un"; `tool` is what is switched, by its name.
pub fn settle(arguments: &mut Value, tool: &str, schema: &Value, said: &str) {
    let Some(given) = arguments.as_object_mut() else {
        return;
    };
    let said: Vec<String> = words(said).collect();
    let thing = tool.split('.').nth(1).unwrap_or_default().replace('_', "");
    // "Is bluetooth switched of" asks. What has another name is another thing: silence is what is switched on with "turn the sound off".
    let is_off = || is_switched_of(&said, &thing) || is_undone(&said, &thing);
    if said.first().is_none_or(|first| asks(first)) || !is_off() {
        return;
    }
    for (name, property) in schema["properties"].as_object().into_iter().flatten() {
        let positions = property["enum"].as_array();
        let has = |position: &str| positions.is_some_and(|all| all.contains(&json!(position)));
        let off = match () {
            () if has("on") && has("off") => json!("off"),
            () if name == SWITCH && positions.is_none() => json!(false),
            () => continue,
        };
        // Who connects something switches nothing.
        if given
            .get(name)
            .is_none_or(|value| *value == json!("on") || *value == json!(true))
        {
            given.insert(name.clone(), off);
        }
    }
}

/// Whether it is what is undone: "unmute", "un mute the laptop". Not where it is to be done first: "mute it until I unmute it".
fn is_undone(said: &[String], thing: &str) -> bool {
    let undone = |word: &String| word.strip_prefix("un") == Some(thing);
    let apart = |at: usize| at > 0 && said[at - 1] == "un";
    let whole: Vec<usize> = (0..said.len()).filter(|at| said[*at] == thing).collect();
    whole.iter().all(|at| apart(*at)) && (!whole.is_empty() || said.iter().any(undone))
}

/// Whether this thing is switched "of": "turn bluetooth of", "turn of the bluetooth".
fn is_switched_of(said: &[String], thing: &str) -> bool {
    let names = |words: &[String]| {
        let words = words
            .iter()
            .filter(|word| !["my", "the"].contains(&word.as_str()));
        words.map(String::as_str).collect::<String>()
    };
    let verbs = said
        .iter()
        .enumerate()
        .filter(|(_, word)| VERBS.contains(&word.as_str()));
    verbs.map(|(at, _)| &said[at + 1..]).any(|behind| {
        let Some(of) = behind.iter().position(|word| word == "of") else {
            return false;
        };
        let (before, after) = (names(&behind[..of]), &behind[of + 1..]);
        let over = after.first().is_none_or(|next| AFTER.contains(&next.as_str()));
        (before == thing && over) || (before.is_empty() && names(after).starts_with(thing))
    })
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
    fn what_is_undone_is_switched_off() {
        for said in ["unmute", "un mute the laptop please", "please unmute it"] {
            check("system.mute", said, json!({"on": true}), json!({"on": false}));
        }
        for said in ["mute the laptop", "mute the laptop until I unmute it"] {
            check("system.mute", said, json!({"on": true}), json!({"on": true}));
        }
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
        let on = json!({"action": "on"});
        check(
            "system.bluetooth",
            "turn of the wifi and enable bluetooth",
            on.clone(),
            on,
        );
        let status = json!({"action": "status"});
        check(
            "system.bluetooth",
            "did you turn bluetooth of",
            status.clone(),
            status.clone(),
        );
        check("system.bluetooth", "turn bluetooth of", status.clone(), status);
    }
}
