//! What Tiro says by itself, without a model: every fixed sentence, in one voice.

/// What the conversation keeps of an answer that holds other people's words; the person heard the answer itself.
pub fn read_out() -> String {
    "I read it out.".to_owned()
}

/// What Tiro said is the result that stands before this.
pub fn told() -> String {
    "I said so.".to_owned()
}

/// Something was done and then the model failed.
pub fn did_and_crashed(did: &str) -> String {
    format!("{did} Then something went wrong, and I had to start over.")
}

/// The model had no words and no tool.
pub fn no_answer() -> String {
    "Sorry, I have no answer to that.".to_owned()
}

/// The turn used up its tool calls.
pub fn too_many_calls() -> String {
    "Sorry, that took too many steps, so I stopped.".to_owned()
}

/// The model took what the person named only to be left alone.
pub fn spared(what: &str) -> String {
    format!("You said to leave {what} as it is. Which one do you mean?")
}

/// A call lacks what only the person can say; `argument` is its name in the schema.
pub fn missing(argument: &str) -> String {
    let argument = argument.replace('_', " ");
    match argument.as_str() {
        // No name of a thing.
        "to" | "from" | "with" | "about" | "in" | "by" => {
            "I did not catch all of that. What exactly?".to_owned()
        }
        several if several.ends_with('s') => format!("I did not catch the {several}. What are they?"),
        one => format!("I did not catch the {one}. What is it?"),
    }
}

/// A call lacks its time.
pub fn when() -> String {
    "When shall that be?".to_owned()
}

/// A call lacks the length of time that it is about.
pub fn how_long() -> String {
    "For how long?".to_owned()
}

/// The model has no call for what was said.
pub fn not_sure() -> String {
    "I am not sure what you mean. Please say it another way.".to_owned()
}

/// No tool surely fits; `summary` says what the likeliest one does.
pub fn do_you_mean(summary: &str) -> String {
    let mut letters = summary.chars();
    let first = letters.next().map(|first| first.to_lowercase().to_string());
    format!(
        "I am not sure what you mean. Is it this: {}{}?",
        first.unwrap_or_default(),
        letters.as_str()
    )
}

/// Something was wrong with what was done, and nobody has said what.
pub fn what_instead() -> String {
    "Sorry. What should be different? Say \"undo that\" to take it back.".to_owned()
}

/// Something was wrong with an answer, and nobody has said what; there is nothing to take back.
pub fn what_did_you_mean() -> String {
    "Sorry. What should be different?".to_owned()
}

/// A change could be meant for any of these arguments, by their names in the schema.
pub fn which_argument(arguments: &[String]) -> String {
    let names: Vec<String> = arguments
        .iter()
        .map(|name| format!("the {}", name.replace('_', " ")))
        .collect();
    match names.split_last() {
        Some((last, [])) => format!("I am not sure what to change. Is it {last}?"),
        Some((last, others)) => format!("I am not sure what to change: {} or {last}?", others.join(", ")),
        None => not_sure(),
    }
}

/// What was done cannot be taken back, and something about it was wrong.
pub fn cannot_take_back() -> String {
    "I cannot take that back. Shall I do it once more with the change?".to_owned()
}

/// Something was done in the place of something else; `say` is what it said.
pub fn instead(say: &str) -> String {
    format!("I took that back. {say}")
}

/// The question about something that is done in the place of something else; `say` is what that said.
pub fn undo_and(say: &str, action: &str) -> String {
    format!("Undo: {} Then: {action}", say.trim_end())
}

/// The person wanted something changed that was asked about, and it is not clear what.
pub fn not_changed() -> String {
    "I did not understand what to change, so I left it alone.".to_owned()
}

/// The person said no.
pub fn declined() -> String {
    "Okay, I left it alone.".to_owned()
}

/// The person said thank you.
pub fn welcome() -> String {
    "You're welcome.".to_owned()
}

/// The person wants nothing more, and something was done just before.
pub fn done_already() -> String {
    "Okay. What I did last is done; say undo, and I take it back.".to_owned()
}

/// The same, of what nothing takes back: a message that went out.
pub fn done_for_good() -> String {
    "Okay. What I did last is done, and I cannot take it back.".to_owned()
}

/// Several things of a kind were asked for in one sentence, and this one was done.
pub fn only_this_one(done: &str) -> String {
    format!("{done} I did only this one; please ask me for the other again.")
}

/// The person named a time, and what they want can be done at once only.
pub fn only_now() -> String {
    "I can only do that now. Shall I?".to_owned()
}

/// What was done was to be so for a while, and nobody ends it.
pub fn stays(done: &str) -> String {
    format!("{done} It stays so until you tell me: I cannot end it by the clock.")
}

/// Something needs a yes and nobody is there to give it.
pub fn needs_confirmation(question: &str) -> String {
    format!("I need your yes first: {}.", question.trim_end_matches('.'))
}

/// What the conversation keeps of a question that nobody was there to answer.
pub fn asked_first() -> String {
    "I need a yes for that first.".to_owned()
}

/// A change was taken back; `what` is what it had said.
pub fn undone(what: &str) -> String {
    format!("Undone: {what}")
}

/// A fact may only come from the person, and somebody else's text was read.
pub fn own_words_only() -> String {
    "I have read text that somebody else wrote in this conversation, so I do not remember anything new now. \
     Tell me again in a new conversation."
        .to_owned()
}

/// Nothing but silence was recorded.
pub fn nothing_heard() -> String {
    "I didn't hear anything.".to_owned()
}

/// The recogniser does not work, and the wake word needs it; `why` is no whole sentence, or one.
pub fn nobody_wakes_me(why: &str) -> String {
    format!("I cannot hear the wake word: {}.", why.trim_end_matches('.'))
}

/// The wake word is on, and there is none.
pub fn no_wake_phrase() -> String {
    "The wake word is on but has no phrase, so the microphone stays closed. Add one to wake.phrases in the config."
        .to_owned()
}

/// Nothing but silence comes from the microphone, because the desktop mutes it.
pub fn turned_off() -> String {
    "The microphone is muted or turned all the way down in the sound settings of your desktop, so I cannot hear you."
        .to_owned()
}

/// The person spoke on and on.
pub fn cut_off(seconds: u64) -> String {
    format!("I listen for {seconds} seconds at most, so I did not hear the end of that.")
}

/// No tool serves the request.
pub fn no_tool() -> String {
    "Sorry, I can't do that.".to_owned()
}

/// The person's own rules keep the tool from this request.
pub fn not_allowed() -> String {
    "Your rules do not allow that now.".to_owned()
}

/// An engine process died in the middle of a turn.
pub fn engine_crashed() -> String {
    "Sorry, something went wrong and I had to start over. Please say that again.".to_owned()
}

/// An engine does not start at all.
pub fn engine_missing(why: &str) -> String {
    format!("Sorry, I can't do that right now: {why}.")
}

/// An engine is well and would not do what it was asked; `why` is its own sentence.
pub fn refused(why: &str) -> String {
    format!("Sorry, that did not work. {why}")
}

/// A tool failed for a reason that nobody in the conversation can mend.
pub fn broken(what: &str) -> String {
    format!("Sorry, I couldn't {what}.")
}

/// A tool took longer than it may.
pub fn timed_out(what: &str) -> String {
    format!("Sorry, it took too long to {what}, so I stopped.")
}

/// A change takes longer than it should, and is better finished than left half done.
pub fn still_working() -> String {
    "That takes longer than it should. I am still at it; ask me in a moment what came of it.".to_owned()
}

/// Something that may not be done twice takes too long, or broke down in the middle: nobody knows how far it came.
pub fn perhaps_done(late: bool) -> String {
    let what = match late {
        true => "That takes longer than it should",
        false => "Something went wrong in the middle of that",
    };
    format!("{what}, and I do not know whether it was done. Please check before you ask me for it again.")
}

/// Not the person but a program on the bus asked for what would be done.
pub fn asked_by(program: &str) -> String {
    format!("The program \"{program}\" asks for this.")
}

/// What would be done changes faster than the person is asked about it.
pub fn keeps_changing() -> String {
    "What that would do keeps changing while I ask. Please try again in a moment.".to_owned()
}

/// The person wants to speak, and has muted the microphone.
pub fn muted() -> String {
    "The microphone is muted; `tiro listen unmute` opens it again.".to_owned()
}

/// The disk does not let us.
pub fn mute_not_kept() -> String {
    "I could not write down whether the microphone is muted, so after a restart it may be otherwise."
        .to_owned()
}

/// The person stopped the turn.
pub fn cancelled() -> String {
    "Okay, I stopped.".to_owned()
}

/// The person stopped the turn while something was being written, and a write that has begun is finished.
pub fn cancelled_after_write() -> String {
    "Okay, I stopped. What I had begun was finished.".to_owned()
}

/// What was said does not fit into the model's window.
pub fn too_long() -> String {
    "Sorry, that is too long for me.".to_owned()
}
