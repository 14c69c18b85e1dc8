//! What may be said before all of the answer is there: only what the whole answer holds.

use super::{timely::whole, *};

const BOTH: &str = "set a timer for ten minutes and tell me what is on my calendar tomorrow";

/// What is let out of these words of the model.
fn let_out(agent: &Agent, ask: &Ask, words: &str) -> Option<String> {
    agent.ahead(ask)?.push(words)
}

#[test]
fn the_models_words_are_said_as_they_come_where_they_are_the_answer() {
    let mut agent = plain();
    let first = say(&mut agent, "tell me about the tide");
    assert_eq!(
        let_out(&agent, &first, "It comes. It goes").as_deref(),
        Some("It comes. ")
    );
    let end = reply(agent.step(Input::Generated("It comes. It goes.".into())));
    assert_eq!(end.text, "It comes. It goes.");
}

#[test]
fn words_that_are_replaced_are_not_said() {
    // Where Tiro asks back, the model's own words are no answer until something was done.
    let mut asks = whole();
    asks.settings.answer = Answer::Model;
    let first = say(&mut asks, "what is on my calendar tomorrow");
    assert_eq!(
        let_out(&asks, &first, "One. Two. Three"),
        None,
        "a call must be made"
    );
    let text = json!({"name": "calendar.query", "arguments": {"when": "tomorrow"}});
    let done = call(asks.step(Input::Generated(format!("<tool_call>\n{text}\n</tool_call>"))));
    let then = ask(did(&mut asks, done, output("One event.")));
    assert_eq!(let_out(&asks, &then, "One. Two").as_deref(), Some("One. "));

    // After a call that failed they may claim what did not happen.
    let mut failed = plain();
    say(&mut failed, "what is on my calendar");
    let call = call(model(&mut failed, "calendar.query", "xx"));
    let again = ask(did(&mut failed, call, Outcome::Misfit("No.".into())));
    assert_eq!(let_out(&failed, &again, "One. Two. Three"), None);
}

#[test]
fn a_server_may_still_call_after_its_words() {
    let (template, _) = prompts::Template::load(None, "", "");
    let dialect = prompts::detect(None, prompts::dialect::MESSAGES);
    let settings = Settings {
        pre_discover: false,
        act_score: 1.0,
        ..Settings::default()
    };
    let toolbox = Toolbox::new(TOOLS, Arc::new(Index::of(TOOLS)), &settings.loading);
    let mut agent = Agent::new(settings, Renderer::new(template, dialect), toolbox);
    let ask = say(&mut agent, "tell me about the tide");
    assert!(ask.chat.is_some());
    assert_eq!(let_out(&agent, &ask, "One. Two. Three"), None);
}

#[test]
fn what_is_done_is_certain_while_the_rest_of_the_sentence_is_thought_about() {
    let mut agent = whole();
    say(&mut agent, BOTH);
    assert_eq!(agent.certain(), "");
    let text = json!({"name": "timers.set", "arguments": {"duration": "ten minutes"}});
    let first = call(agent.step(Input::Generated(format!("<tool_call>\n{text}\n</tool_call>"))));
    ask(did(&mut agent, first, output("The timer runs.")));
    assert_eq!(agent.certain(), "The timer runs. ");
    let text = json!({"name": "calendar.query", "arguments": {"when": "tomorrow"}});
    let second = call(agent.step(Input::Generated(format!("<tool_call>\n{text}\n</tool_call>"))));
    let mut end = reply(did(&mut agent, second, output("Nothing tomorrow.")));
    agent.begins_with("The timer runs. ", &mut end);
    assert_eq!(
        end.text, "The timer runs. Nothing tomorrow.",
        "it begins with that already"
    );
    assert_eq!(agent.certain(), "");
}

#[test]
fn what_was_said_stands_in_the_answer_and_is_said_again_on_request() {
    let mut agent = plain();
    say(&mut agent, "tell me about the tide");
    let mut end = reply(agent.step(Input::Generated("It comes. I use calendar.query.".into())));
    assert_eq!(end.text, words::no_tool());
    agent.begins_with("It comes. ", &mut end);
    assert_eq!(end.text, format!("It comes. {}", words::no_tool()));
    assert_eq!(agent.last().unwrap().text, end.text);
}
