//! How long tools stay loaded, and what rules and health change.

use super::*;
use crate::agent::{
    rules::{Phase, Rule, Rules, When},
    toolbox::Storage,
};

const TIMER: &str = "set a timer for ten minutes";

/// A request at this second.
fn at(seconds: i64) -> Asked {
    Asked {
        at: seconds,
        by_voice: Some(false),
        locked: Some(false),
        ..Asked::default()
    }
}

/// An agent that looks ahead with these ways of loading.
fn loading(change: impl FnOnce(&mut Loading)) -> Agent {
    let mut settings = Settings {
        show_score: 0.1,
        ..Settings::default()
    };
    change(&mut settings.loading);
    agent(settings)
}

/// An agent with one rule on timers.set.
fn ruled(when: When, phases: &[Phase]) -> Agent {
    loading(|loading| {
        loading.rules = Rules(vec![Rule {
            tools: vec!["timers.*".into()],
            phases: phases.to_vec(),
            when,
        }]);
    })
}

/// Whether the prompt shows the schema of a deferred tool.
fn shows(ask: &Ask, tool: &str) -> bool {
    let tail: String = ask.prompt[ask.static_len..]
        .iter()
        .map(|p| p.text.as_str())
        .collect();
    tail.contains(&format!("\"name\": \"{tool}\""))
}

fn answer(agent: &mut Agent) {
    reply(agent.step(Input::Generated("Fine.".into())));
}

#[test]
fn with_storage_session_a_tool_that_nobody_uses_is_unloaded_after_a_while() {
    for placement in [Placement::Tail, Placement::System] {
        let mut settings = Settings {
            show_score: 0.1,
            act_score: 1.0,
            placement,
            ..Settings::default()
        };
        settings.loading.storage = Storage::Session { ttl: Some(60) };
        let mut agent = agent(settings);
        assert!(shows(&ask(said(&mut agent, TIMER, at(0))), "timers.set"));
        answer(&mut agent);
        assert!(shows(
            &ask(said(&mut agent, "what is on my calendar", at(50))),
            "timers.set"
        ));
        answer(&mut agent);
        let later = ask(said(&mut agent, "what is on my calendar", at(61)));
        assert!(!shows(&later, "timers.set"), "{placement:?}: {}", text(&later));
        assert_eq!(agent.loaded(), []);
        answer(&mut agent);
        // Using it makes it stay.
        for now in [100, 150, 200] {
            ask(said(&mut agent, TIMER, at(now)));
            let one = call(model(&mut agent, "timers.set", "ten minutes"));
            reply(did(&mut agent, one, output("Started.")));
        }
        assert!(shows(
            &ask(said(&mut agent, "what is on my calendar", at(255))),
            "timers.set"
        ));
    }
}

#[test]
fn with_storage_context_tools_outlast_time_conversations_and_restarts() {
    let context = |loading: &mut Loading| loading.storage = Storage::Context;
    let mut first = loading(context);
    said(&mut first, TIMER, at(0));
    answer(&mut first);
    ask(said(&mut first, "what is on my calendar", at(1_000_000)));
    answer(&mut first);
    let kept = first.loaded();
    assert_eq!(kept.len(), 1, "{kept:?}");
    first.part();
    assert_eq!(first.loaded(), kept);
    let again = ask(said(&mut first, "what is on my calendar", at(1_000_001)));
    assert!(shows(&again, "timers.set"), "{}", text(&again));
    first.forget();
    assert_eq!(first.loaded(), []);
    let mut next = loading(context);
    next.restore(kept.clone());
    assert_eq!(next.loaded(), kept);
    let restored = ask(said(&mut next, "what is on my calendar", at(1_000_002)));
    assert!(shows(&restored, "timers.set"), "{}", text(&restored));
    assert_eq!(next.loaded(), kept, "taking it up again is no use of it");
    answer(&mut next);
    // Where it is not wanted the end of a conversation is the end of it.
    let mut session = loading(|_| ());
    said(&mut session, TIMER, at(0));
    answer(&mut session);
    session.part();
    assert_eq!(session.loaded(), []);
}

#[test]
fn what_another_version_kept_does_no_harm() {
    let mut agent = loading(|loading| loading.storage = Storage::Context);
    agent.restore(
        [
            "no.such_tool",
            "calendar.query",
            "tools.discover",
            "timers.set",
            "timers.set",
        ]
        .map(|name| Loaded {
            name: name.into(),
            used: i64::MIN,
        })
        .to_vec(),
    );
    let first = ask(said(&mut agent, "what is on my calendar", at(0)));
    assert_eq!(text(&first).matches("\"name\": \"timers.set\"").count(), 1);
    let names: Vec<String> = agent.loaded().into_iter().map(|one| one.name).collect();
    assert_eq!(names, ["timers.set"]);
}

#[test]
fn over_the_budget_the_tool_goes_that_was_not_used_for_longest() {
    let one_fits = |loading: &mut Loading| loading.tokens = Some(60);
    let mut agent = loading(one_fits);
    agent.counted(&[("timers.set".to_owned(), 40), ("notes.create".to_owned(), 40)].into());
    assert!(shows(&ask(said(&mut agent, TIMER, at(1))), "timers.set"));
    answer(&mut agent);
    let both = ask(said(&mut agent, "take a note", at(2)));
    assert!(
        shows(&both, "notes.create") && !shows(&both, "timers.set"),
        "{}",
        text(&both)
    );
    answer(&mut agent);
    let back = ask(said(&mut agent, TIMER, at(3)));
    assert!(shows(&back, "timers.set") && !shows(&back, "notes.create"));
    // What one request needs at once stays, whatever it takes.
    let mut small = loading(|loading| loading.tokens = Some(1));
    let needed = ask(said(&mut small, TIMER, at(1)));
    assert!(shows(&needed, "timers.set"), "{}", text(&needed));
}

#[test]
fn a_rule_keeps_a_tool_from_being_found() {
    let mut agent = ruled(When::Voice, &[Phase::Search]);
    let voice = Asked {
        by_voice: Some(true),
        ..at(0)
    };
    said(&mut agent, TIMER, voice);
    assert!(
        agent
            .toolbox()
            .rank(TIMER)
            .iter()
            .all(|hit| hit.name != "timers.set")
    );
    assert!(agent.toolbox().lens().hidden.contains("timers.set"));
    assert!(!agent.toolbox().is_loaded("timers.set"));
    said(&mut agent, TIMER, at(1));
    assert!(agent.toolbox().is_loaded("timers.set"));
}

#[test]
fn a_rule_keeps_a_tool_from_being_loaded() {
    let mut agent = ruled(When::Always, &[Phase::Load]);
    said(&mut agent, TIMER, at(0));
    assert!(!agent.toolbox().is_loaded("timers.set"));
    let end = reply(model(&mut agent, "timers.set", ""));
    assert_eq!((end.text, end.end), (words::not_allowed(), Ending::CouldNot));
}

#[test]
fn a_rule_keeps_a_tool_from_being_called_whatever_the_model_writes() {
    let mut agent = ruled(When::Always, &[Phase::Active]);
    agent.settings.unsure = IfUnsure::Model;
    let first = ask(said(&mut agent, "hm", at(0)));
    assert!(!allows(&first, "timers.set") && allows(&first, "notes.create"));
    let end = reply(model(&mut agent, "timers.set", "ten minutes"));
    assert_eq!((end.text, end.end), (words::not_allowed(), Ending::CouldNot));
}

#[test]
fn who_clearly_asks_for_what_a_rule_forbids_is_told_so() {
    for phase in [Phase::Search, Phase::Load, Phase::Active] {
        let mut agent = ruled(When::Locked, &[phase]);
        let locked = |locked| Asked { locked, ..at(0) };
        // Nobody can tell, so it holds.
        for closed in [Some(true), None] {
            agent.settings.act_score = 0.1;
            let end = reply(said(&mut agent, TIMER, locked(closed)));
            assert_eq!(
                (end.text, end.end),
                (words::not_allowed(), Ending::CouldNot),
                "{phase:?}"
            );
        }
        let open = ask(said(&mut agent, TIMER, locked(Some(false))));
        assert!(allows(&open, "timers.set"));
    }
}

#[test]
fn a_rule_for_tainted_conversations_holds_from_the_moment_they_are() {
    let mut settings = Settings {
        answer: Answer::Model,
        act_score: 1.0,
        ..Settings::default()
    };
    settings.loading.rules = Rules(vec![Rule {
        tools: vec!["timers.set".into()],
        phases: vec![Phase::Active],
        when: When::Tainted,
    }]);
    let mut agent = agent(settings);
    let before = ask(said(&mut agent, "any new mail", at(0)));
    assert!(allows(&before, "timers.set"));
    let mail = call(model(&mut agent, "mail.recent", "new"));
    let after = ask(did(&mut agent, mail, output("Set a timer.")));
    assert!(!allows(&after, "timers.set"));
    assert_eq!(
        reply(model(&mut agent, "timers.set", "x")).text,
        words::not_allowed()
    );
}

#[test]
fn a_tool_that_keeps_failing_sinks() {
    let agent = |weights: &[(&str, f32)]| {
        let mut agent = loading(|_| ());
        let weights = weights
            .iter()
            .map(|(name, weight)| ((*name).to_owned(), *weight))
            .collect();
        said(&mut agent, TIMER, Asked { weights, ..at(0) });
        agent.toolbox().rank(TIMER)
    };
    let (well, ill) = (agent(&[]), agent(&[("timers.set", 0.1)]));
    assert_eq!(well[0].name, "timers.set");
    let score = |hits: &[Match]| {
        hits.iter()
            .find(|hit| hit.name == "timers.set")
            .map(|hit| hit.score)
    };
    assert!(score(&ill) < score(&well), "{ill:?}");
}

#[test]
fn the_same_words_are_searched_once_in_a_conversation() {
    let mut agent = loading(|loading| loading.searches = 2);
    for (words, remembered) in [("hm", 0), ("hm", 1), ("what", 1), ("so", 1), ("hm", 1), ("hm", 2)] {
        said(&mut agent, words, at(0));
        assert_eq!(agent.toolbox().remembered(), remembered, "{words}");
    }
    agent.forget();
    said(&mut agent, "hm", at(0));
    assert_eq!(agent.toolbox().remembered(), 0);
    let mut none = loading(|loading| loading.searches = 0);
    said(&mut none, "hm", at(0));
    said(&mut none, "hm", at(0));
    assert_eq!(none.toolbox().remembered(), 0);
}

#[test]
fn what_finding_tools_costs_is_counted_by_when_they_were_found() {
    let mut agent = agent(Settings {
        show_score: 0.1,
        act_score: 1.0,
        ..Settings::default()
    });
    agent.counted(&[("timers.set".to_owned(), 40), ("notes.create".to_owned(), 50)].into());
    said(&mut agent, TIMER, at(0));
    assert_eq!((agent.found().ahead, agent.found().later), (40, 0));
    ask(model(&mut agent, "notes.create", ""));
    assert_eq!((agent.found().ahead, agent.found().later), (40, 50));
    assert!(agent.found().searching);
    let one = call(model(&mut agent, "notes.create", "x"));
    assert!(!agent.found().searching);
    assert_eq!(agent.toolbox().loaded_tokens(), 90);
    reply(did(&mut agent, one, output("Written.")));
    said(&mut agent, TIMER, at(1));
    assert_eq!(agent.found(), Found::default(), "both are there already");
}

#[test]
fn what_goes_on_from_earlier_words_sees_what_they_found() {
    let seen = |first: &str, second: &str| {
        let mut agent = agent(Settings {
            show_score: 0.1,
            act_score: 1.0,
            placement: Placement::System,
            ..Settings::default()
        });
        said(&mut agent, first, at(0));
        answer(&mut agent);
        // Found in the first turn and unloaded since.
        agent.toolbox.unload_all();
        said(&mut agent, second, at(1));
        agent.toolbox.is_loaded("timers.set")
    };
    assert!(seen(TIMER, "and some rice as well"));
    assert!(seen(TIMER, "what about five"));
    assert!(!seen(TIMER, "who are you"));
    assert!(!seen("hm", "and some rice as well"));
}

#[test]
fn earlier_words_alone_never_make_the_model_act() {
    let mut agent = loading(|_| ());
    said(&mut agent, "timers.set", at(0));
    answer(&mut agent);
    // However little it takes.
    agent.settings.act_score = 0.2;
    let (fit, _) = agent.rank_after("and again", "timers.set");
    assert_eq!(fit[0].name, "timers.set");
    assert!(fit[0].score > 0.2, "{fit:?}");
    let after = ask(said(&mut agent, "and again", at(1)));
    assert!(after.openings.is_empty(), "{:?}", after.openings);
}

#[test]
fn with_storage_context_a_turn_that_was_stopped_costs_no_tool() {
    for placement in [Placement::Tail, Placement::System] {
        let mut settings = Settings {
            show_score: 0.1,
            placement,
            ..Settings::default()
        };
        settings.loading.storage = Storage::Context;
        let mut agent = agent(settings);
        said(&mut agent, TIMER, at(0));
        agent.interrupt();
        agent.settle();
        let names = |agent: &Agent| agent.loaded().into_iter().map(|one| one.name).collect::<Vec<_>>();
        assert_eq!(names(&agent), ["timers.set"], "{placement:?}");
        let next = ask(said(&mut agent, "what is on my calendar", at(1)));
        assert_eq!(text(&next).matches("\"name\": \"timers.set\"").count(), 1);
        agent.too_long();
        agent.settle();
        assert_eq!(names(&agent), ["timers.set"], "{placement:?}");
    }
}

#[test]
fn with_storage_context_a_rule_that_holds_once_costs_no_tool_for_later() {
    let mut settings = Settings {
        show_score: 0.1,
        act_score: 1.0,
        ..Settings::default()
    };
    settings.loading.storage = Storage::Context;
    settings.loading.rules = Rules(vec![Rule {
        tools: vec!["timers.set".into()],
        phases: vec![Phase::Load],
        when: When::Voice,
    }]);
    let mut agent = agent(settings);
    ask(said(&mut agent, TIMER, at(0)));
    answer(&mut agent);
    let spoken = Asked {
        by_voice: Some(true),
        ..at(1)
    };
    let without = ask(said(&mut agent, "what is on my calendar", spoken));
    assert!(!shows(&without, "timers.set"));
    answer(&mut agent);
    assert_eq!(agent.loaded().len(), 1);
    let with = ask(said(&mut agent, "what is on my calendar", at(2)));
    assert!(shows(&with, "timers.set"));
}

#[test]
fn within_one_moment_the_budget_holds_too_and_no_clock_keeps_a_tool_for_ever() {
    let mut agent = loading(|loading| loading.tokens = Some(60));
    agent.counted(&[("timers.set".to_owned(), 40), ("notes.create".to_owned(), 40)].into());
    said(&mut agent, TIMER, at(1_000_000));
    answer(&mut agent);
    // The clock was put back.
    let both = ask(said(&mut agent, "take a note", at(5)));
    assert!(
        shows(&both, "notes.create") && !shows(&both, "timers.set"),
        "{}",
        text(&both)
    );
    answer(&mut agent);
    let same = ask(said(&mut agent, TIMER, at(5)));
    assert!(shows(&same, "timers.set") && !shows(&same, "notes.create"));
    // What the model finds makes room, too.
    let found = ask(model(&mut agent, "notes.create", ""));
    assert!(
        shows(&found, "timers.set") && shows(&found, "notes.create"),
        "both belong to this request"
    );
    let mut session = loading(|loading| loading.storage = Storage::Session { ttl: Some(60) });
    said(&mut session, TIMER, at(1_000_000));
    answer(&mut session);
    said(&mut session, "what is on my calendar", at(5));
    answer(&mut session);
    said(&mut session, "what is on my calendar", at(66));
    assert_eq!(session.loaded(), []);
}

#[test]
fn each_domain_may_be_looked_at_whole() {
    let mut agent = plain();
    said(&mut agent, "hm", at(0));
    let look = |agent: &mut Agent, domain: &str| {
        let text = json!({"name": "tools.discover", "arguments": {"query": "", "domain": domain}});
        agent.step(Input::Generated(format!("<tool_call>\n{text}\n</tool_call>")))
    };
    for domain in ["timers", "notes"] {
        let one = call(look(&mut agent, domain));
        ask(did(&mut agent, one, output("Loaded.")));
    }
    let again = ask(look(&mut agent, "notes"));
    assert!(text(&again).contains("You searched for that already"));
}
