//! Whether a turn was right: the tool, its arguments, the world, and last the answer.

use std::collections::BTreeSet;

use serde::{Deserialize, Serialize};
use serde_json::Value;
use tools::{Effect, Entry, LoadPolicy};

use super::{scenario::Turn, stage::Person};
use crate::{
    agent::{Ending, toolbox::DISCOVER},
    report::{CallReport, Report, Times, Tokens},
};

/// A turn that was played.
pub struct Played<'a> {
    /// The scenario.
    pub id: &'a str,
    /// Its place in the scenario, from 0.
    pub turn: usize,
    /// When it was.
    pub now: &'a jiff::Zoned,
    /// What happened.
    pub report: Report,
    /// What was asked, and what the model evaluated.
    pub person: Person,
    /// Whether a file of the person changed.
    pub changed: bool,
    /// What the checks of the world complained about.
    pub state: Vec<String>,
}

/// One turn with its verdict.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Row {
    /// The scenario.
    pub id: String,
    /// Its place in the scenario, from 1.
    pub turn: usize,
    /// What was said, as it was recognised.
    pub say: String,
    /// The tools that are right.
    pub accept: BTreeSet<String>,
    /// The calls that were carried out, `tools.discover` aside.
    pub calls: Vec<Called>,
    /// The answer.
    pub reply: String,
    /// What the person was asked.
    pub asked: Vec<String>,
    /// How the turn ended.
    pub end: Ending,
    /// Whether the right tool was called, or none where none may act.
    pub tool: bool,
    /// Whether the arguments were right; `null` where nothing is said about them.
    pub arguments: Option<bool>,
    /// Times among the arguments: how many were right, of how many.
    pub times: (usize, usize),
    /// Whether the world is as it should be.
    pub state: bool,
    /// Whether everything was right.
    pub passed: bool,
    /// What was not.
    pub problems: Vec<String>,
    /// Whether the right tools are all deferred ones.
    pub deferred: bool,
    /// Whether a tool had to be looked for, or its schema fetched, after the model had begun.
    pub round_trip: bool,
    /// Generations.
    pub steps: u32,
    /// Whether the words alone decided what was called, without asking the model.
    #[serde(default)]
    pub reflex: bool,
    /// Tokens of all generations.
    pub tokens: Tokens,
    /// Prompt tokens that were evaluated and not cached, of all generations.
    pub evaluated: u32,
    /// Milliseconds.
    pub ms: Times,
}

/// A call in a row.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Called {
    /// `domain.verb`.
    pub name: String,
    /// An object.
    pub arguments: Value,
    /// `ok`, `told`, `broken`, `declined`, `unconfirmed`.
    pub status: String,
}

impl Called {
    /// Whether the tool was willing: it did its work, or would have if the person had agreed.
    fn came_through(&self) -> bool {
        matches!(self.status.as_str(), "ok" | "declined" | "unconfirmed")
    }

    fn writes(&self) -> bool {
        entry(&self.name).is_none_or(|entry| entry.effect != Effect::Read)
    }
}

/// Judges a turn.
pub fn judge(expected: &Turn, played: Played<'_>) -> Row {
    let Played { report, person, .. } = played;
    let searched = report.calls.iter().any(|call| call.name == DISCOVER);
    let calls: Vec<Called> = report.calls.into_iter().filter_map(called).collect();
    let mut problems = Vec::new();

    let tool = right_tool(expected, &calls);
    if !tool {
        problems.push(wrong_tool(expected, &calls));
    }
    let (arguments, times, wrong) = right_arguments(expected, &calls, played.now);
    problems.extend(wrong);
    let wrote = calls
        .iter()
        .any(|call| call.status == "ok" && call.writes() && expected.accept.contains(&call.name));
    let mut state = played.state;
    if played.changed && !wrote {
        state.push("the world changed, and nothing that should change it was done".to_owned());
    }
    let right_state = state.is_empty();
    problems.extend(state);
    problems.extend(expected.reply.problems("the answer", &report.reply));

    Row {
        id: played.id.to_owned(),
        turn: played.turn + 1,
        say: report.say,
        deferred: !expected.accept.is_empty() && expected.accept.iter().all(|name| is_deferred(name)),
        round_trip: searched || report.savings.is_some_and(|savings| savings.discovery > 0),
        accept: expected.accept.clone(),
        calls,
        reply: report.reply,
        asked: person.asked,
        end: report.end,
        tool,
        arguments,
        times,
        state: right_state,
        passed: problems.is_empty(),
        problems,
        steps: report.steps,
        reflex: report.reflex,
        tokens: report.tokens,
        evaluated: person.evaluated.iter().sum(),
        ms: report.ms,
    }
}

fn called(call: CallReport) -> Option<Called> {
    (call.name != DISCOVER).then_some(Called {
        name: call.name,
        arguments: call.arguments,
        status: call.status,
    })
}

/// Where no tool may act, none was called. Else a right tool was called, nothing else was written, and what came through
/// last, which is what the person was told, was right. That another tool looked something up before is no mistake.
fn right_tool(expected: &Turn, calls: &[Called]) -> bool {
    let right = |call: &Called| expected.accept.contains(&call.name);
    if expected.accept.is_empty() {
        return calls.is_empty();
    }
    // "Two timers" are two calls of one tool, and not three.
    let as_often = |name: &String| {
        let wanted = expected.all.iter().filter(|one| *one == name).count();
        let done = calls
            .iter()
            .filter(|call| call.name == *name && call.status == "ok" && call.writes());
        requests(name, calls).len() >= wanted && done.count() <= wanted
    };
    let last = calls.iter().rfind(|call| call.came_through());
    expected.all.iter().all(as_often)
        && calls.iter().any(right)
        && calls.iter().filter(|call| call.writes()).all(right)
        && last.is_none_or(right)
}

/// The calls of a tool that stand for a request each, in order: those that came through, and the last one even if it did not,
/// since what went before one that came through was mended by it.
fn requests<'a>(tool: &str, calls: &'a [Called]) -> Vec<&'a Called> {
    let of_tool: Vec<&Called> = calls.iter().filter(|call| call.name == tool).collect();
    let last = of_tool.len().saturating_sub(1);
    let stands = |(at, call): (usize, &'a Called)| (call.came_through() || at == last).then_some(call);
    of_tool.into_iter().enumerate().filter_map(stands).collect()
}

fn wrong_tool(expected: &Turn, calls: &[Called]) -> String {
    let names = |all: &mut dyn Iterator<Item = &str>| {
        let all: Vec<&str> = all.collect();
        match all.is_empty() {
            true => "nothing".to_owned(),
            false => all.join(", "),
        }
    };
    let wanted = match expected.all.is_empty() {
        true => names(&mut expected.accept.iter().map(String::as_str)),
        false => names(&mut expected.all.iter().map(String::as_str)),
    };
    let got = names(&mut calls.iter().map(|call| call.name.as_str()));
    format!("called {got} and not {wanted}")
}

/// Whether the arguments were right, how many of the times among them, and what was wrong.
fn right_arguments(
    expected: &Turn,
    calls: &[Called],
    now: &jiff::Zoned,
) -> (Option<bool>, (usize, usize), Vec<String>) {
    if expected.args.is_empty() {
        return (None, (0, 0), Vec::new());
    }
    let (mut met, mut times, mut problems) = (0, (0, 0), Vec::new());
    for (tool, args) in &expected.args {
        let each = expected
            .each
            .get(tool)
            .map_or(std::slice::from_ref(args), Vec::as_slice);
        let requests = requests(tool, calls);
        // Of more than are wanted the last ones count, and one that came through before one that did not.
        let through: Vec<&Called> = requests
            .iter()
            .copied()
            .filter(|call| call.came_through())
            .collect();
        let these = match through.len() >= each.len() {
            true => through,
            false => requests,
        };
        let Some(first) = these.len().checked_sub(each.len()) else {
            continue;
        };
        met += 1;
        for (call, args) in these[first..].iter().zip(each) {
            for (name, matcher) in args {
                let given = call.arguments.get(name);
                let right = matcher.matches(given, now);
                if matcher.is_time() {
                    times = (times.0 + usize::from(right), times.1 + 1);
                }
                if !right {
                    let given = given.map_or("nothing".to_owned(), Value::to_string);
                    problems.push(format!("{tool} got {given} as {name}"));
                }
            }
        }
    }
    // Without `all` one of the tools will do.
    let enough = match expected.all.is_empty() {
        true => met > 0,
        false => met == expected.args.len(),
    };
    (Some(enough && problems.is_empty()), times, problems)
}

fn is_deferred(name: &str) -> bool {
    entry(name).is_some_and(|entry| entry.load == LoadPolicy::Deferred)
}

fn entry(name: &str) -> Option<&'static Entry> {
    tools::ALL.iter().find(|entry| entry.name == name)
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use serde_json::json;

    use super::*;
    use crate::eval::scenario::Reader;

    const NOW: &str = "2026-11-20T09:00[Europe/Berlin]";

    fn expected(line: &Value) -> Turn {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("one.jsonl");
        std::fs::write(&file, line.to_string()).unwrap();
        let mut scenarios = Reader::new("say", tools::ALL).read(Path::new(&file)).unwrap();
        scenarios.remove(0).turns.remove(0)
    }

    fn judged(line: Value, calls: Value, changed: bool) -> Row {
        let calls: Vec<CallReport> = calls
            .as_array()
            .unwrap()
            .iter()
            .map(|call| CallReport {
                name: call[0].as_str().unwrap().to_owned(),
                arguments: call[1].clone(),
                result: Value::Null,
                status: call[2].as_str().unwrap().to_owned(),
            })
            .collect();
        let report = Report {
            calls,
            reply: "Done.".to_owned(),
            ..Report::default()
        };
        judge(
            &expected(&line),
            Played {
                id: "one",
                turn: 0,
                now: &NOW.parse().unwrap(),
                report,
                person: Person::default(),
                changed,
                state: Vec::new(),
            },
        )
    }

    #[test]
    fn tools_are_judged() {
        #[track_caller]
        fn check(accept: Value, calls: Value, expect: bool) {
            let line = json!({"id": "one", "say": "x", "accept": accept});
            let row = judged(line, calls.clone(), false);
            assert_eq!(row.tool, expect, "{calls} {:?}", row.problems);
            assert_eq!(row.passed, row.problems.is_empty());
        }
        let ok = |name: &str| json!([name, {}, "ok"]);
        let told = |name: &str| json!([name, {}, "told"]);
        check(json!([]), json!([]), true);
        check(json!([]), json!([ok("tools.discover")]), true);
        check(json!([]), json!([told("clock.now")]), false);
        check(json!(["clock.now"]), json!([]), false);
        check(json!(["clock.now"]), json!([ok("clock.now")]), true);
        // What it could not do is no fault of the choice.
        check(json!(["clock.now"]), json!([told("clock.now")]), true);
        check(
            json!(["timers.set"]),
            json!([["timers.set", {}, "declined"]]),
            true,
        );
        check(json!(["clock.now"]), json!([ok("calendar.query")]), false);
        // What was told last is what counts, and what was looked up before is no mistake.
        check(
            json!(["clock.now"]),
            json!([ok("clock.now"), ok("calendar.query")]),
            false,
        );
        check(
            json!(["mail.draft"]),
            json!([ok("contacts.search"), ok("mail.draft")]),
            true,
        );
        check(
            json!(["clock.now"]),
            json!([ok("timers.set"), ok("clock.now")]),
            false,
        );
        check(
            json!(["clock.now"]),
            json!([told("timers.set"), ok("clock.now")]),
            false,
        );
        check(
            json!(["clock.now", "clock.convert"]),
            json!([ok("clock.convert")]),
            true,
        );
    }

    #[test]
    fn every_request_of_a_sentence_counts() {
        let line = json!({"id": "one", "say": "x", "all": ["timers.set", "clock.now"]});
        let timer = json!(["timers.set", {}, "ok"]);
        assert!(!judged(line.clone(), json!([timer]), true).tool);
        let both = json!([timer, ["clock.now", {}, "ok"]]);
        assert!(judged(line, both, true).passed);
    }

    #[test]
    fn what_is_asked_for_twice_is_called_twice() {
        let line = json!({"id": "one", "say": "x", "all": ["timers.set", "timers.set"],
            "args": {"timers.set": [{"duration": {"time": "5 minutes"}}, {"duration": {"time": "10 minutes"}}]}});
        let set = |length: &str, status: &str| json!(["timers.set", {"duration": length}, status]);
        let (five, ten) = (set("5 minutes", "ok"), set("10 minutes", "ok"));
        #[track_caller]
        fn check(line: &Value, calls: Value, tool: bool, arguments: bool, times: (usize, usize)) {
            let row = judged(line.clone(), calls, true);
            assert_eq!(
                (row.tool, row.arguments, row.times),
                (tool, Some(arguments), times),
                "{:?}",
                row.problems
            );
            assert_eq!(row.passed, tool && arguments);
        }
        check(&line, json!([five, ten]), true, true, (2, 2));
        check(&line, json!([five]), false, false, (0, 0));
        check(&line, json!([ten, five]), true, false, (0, 2));
        check(&line, json!([five, five]), true, false, (1, 2));
        check(&line, json!([five, ten, ten]), false, false, (1, 2));
        // What was mended is one request, and what could not be done in the end is one, too.
        check(&line, json!([set("5 hours", "told"), five]), false, false, (0, 0));
        check(
            &line,
            json!([set("5 hours", "told"), five, ten]),
            true,
            true,
            (2, 2),
        );
        check(
            &line,
            json!([five, set("10 minutes", "told")]),
            true,
            true,
            (2, 2),
        );
        let row = judged(line, json!([five]), true);
        assert_eq!(
            row.problems[0],
            "called timers.set and not timers.set, timers.set"
        );
    }

    #[test]
    fn arguments_are_judged_by_the_last_call_that_came_through() {
        let line = json!({"id": "one", "say": "x", "accept": ["timers.set"],
            "args": {"timers.set": {"duration": {"time": "10 minutes"}, "label": null}}});
        let good = json!(["timers.set", {"duration": "ten minutes"}, "ok"]);
        let bad = json!(["timers.set", {"duration": "ten hours", "label": "x"}, "told"]);
        let row = judged(line.clone(), json!([bad, good]), true);
        assert_eq!((row.arguments, row.times, row.passed), (Some(true), (1, 1), true));
        let row = judged(line.clone(), json!([bad]), false);
        assert_eq!(
            (row.arguments, row.times, row.problems.len()),
            (Some(false), (0, 1), 2)
        );
        let row = judged(line, json!([]), false);
        assert_eq!((row.arguments, row.times, row.tool), (Some(false), (0, 0), false));
    }

    #[test]
    fn a_world_that_changes_by_itself_is_a_mistake() {
        let ask = json!({"id": "one", "say": "x", "accept": ["clock.now"]});
        assert!(!judged(ask, json!([["clock.now", {}, "ok"]]), true).state);
        let set = json!({"id": "one", "say": "x", "accept": ["timers.set"]});
        assert!(judged(set.clone(), json!([["timers.set", {}, "ok"]]), true).state);
        assert!(!judged(set, json!([["timers.set", {}, "declined"]]), true).state);
    }

    #[test]
    fn lines_that_are_no_scenario_are_refused_with_the_reason() {
        #[track_caller]
        fn check(line: &str, expect: &str) {
            let folder = tempfile::tempdir().unwrap();
            let file = folder.path().join("one.jsonl");
            std::fs::write(&file, line).unwrap();
            let error = Reader::new("say", tools::ALL).read(&file).unwrap_err();
            let error = format!("{error:#}");
            assert!(error.contains(expect) && error.contains("line 1"), "{error}");
        }
        check("{", "EOF");
        check(r#"{"id": "a", "say": "x"}"#, "there is no `accept`");
        check(r#"{"id": "a", "accept": []}"#, "neither `say` nor `wav`");
        check(r#"{"id": "a", "say": "x", "acept": []}"#, "do you mean `accept`");
        check(
            r#"{"id": "a", "say": "x", "accept": ["clock.no"]}"#,
            "there is no tool clock.no",
        );
        check(
            r#"{"id": "a", "say": "x", "accept": ["clock.now"], "args": {"timers.set": {"length": 1}}}"#,
            "timers.set has no argument `length`",
        );
        check(
            r#"{"id": "a", "say": "x", "all": ["timers.set", "timers.set"], "args": {"timers.set": [{}]}}"#,
            "`args` has 1 for timers.set, and `all` 2",
        );
        check(r#"{"id": "a", "say": "x", "accept": [], "now": "noon"}"#, "noon");
        check(
            r#"{"id": "a", "say": "x", "accept": [], "world": "nowhere.json"}"#,
            "nowhere.json",
        );
        check(
            r#"{"id": "a", "say": "x", "accept": [], "confirm": "perhaps"}"#,
            "perhaps",
        );
        check(r#"{"id": "a", "turns": []}"#, "`turns` is empty");
        check(
            r#"{"id": "a", "turns": [{"say": "x"}]}"#,
            "turn 1: there is no `accept`",
        );
        check(
            r#"{"id": "a", "say": "x", "accept": [], "after": [{"tool": "timers.set", "has": ["x"]}]}"#,
            "does not only read",
        );
        check(
            r#"{"id": "a", "say": "x", "accept": [], "after": [{"tool": "timers.list"}]}"#,
            "checks nothing",
        );
        let twice = "{\"id\": \"a\", \"say\": \"x\", \"accept\": []}\n".repeat(2);
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("one.jsonl");
        std::fs::write(&file, twice).unwrap();
        let error = Reader::new("say", tools::ALL).read(&file).unwrap_err();
        assert!(
            format!("{error:#}").contains("two scenarios with the id a"),
            "{error:#}"
        );
    }
}
