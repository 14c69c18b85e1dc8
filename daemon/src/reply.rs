//! What the person sees and hears of a turn while it runs, and how they are asked.

use std::{io::Write, time::Duration};

use async_trait::async_trait;
use models::llm::{Prepared, Usage};
use rustix::event::{self, PollFd, PollFlags, Timespec};
use serde::{Deserialize, Serialize};
use serde_json::Value;
use tokio::sync::watch;
use tools::system::{plain, rings::Kind};

use crate::{agent::amend, consent::Question};

/// Something that happened in a turn. Closed on purpose: every front says what it does with each.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum Happening {
    /// The turn entered a state.
    State {
        /// The state.
        state: State,
    },
    /// What was recognised so far; the person still speaks, or has just paused.
    Hearing {
        /// The text.
        text: String,
    },
    /// Speech became text.
    Heard {
        /// The text.
        text: String,
        /// Seconds of audio.
        seconds: f32,
        /// Milliseconds to recognise it.
        ms: f32,
    },
    /// The static prefix came into the KV cache.
    Prepared {
        /// How.
        prepared: Prepared,
    },
    /// The model wrote something.
    Generated {
        /// The raw text.
        text: String,
        /// Tokens and times.
        usage: Usage,
    },
    /// A tool is about to run.
    Acting {
        /// `domain.verb`.
        tool: String,
        /// Its arguments.
        arguments: Value,
    },
    /// A tool that takes its time is so far; told now and then.
    Working {
        /// `domain.verb`.
        tool: String,
        /// How much of it is done, of a hundred.
        percent: u8,
    },
    /// A tool came to an end.
    Did {
        /// `domain.verb`.
        tool: String,
        /// `ok`, `told`, `broken`, `declined`, `unconfirmed`.
        status: String,
        /// What it answered.
        result: Value,
        /// Milliseconds.
        ms: f32,
    },
    /// A client of the daemon is asked, and answers with the id. A front that asks by itself has no use for this.
    Asked {
        /// Counts up; only the question that is open can be answered.
        id: u64,
        /// The question.
        question: Question,
    },
    /// The answer begins with this, whatever comes then; told bit by bit where it is said aloud.
    Saying {
        /// The next sentences, with the blanks behind them.
        text: String,
    },
    /// The answer.
    Replied {
        /// What is said.
        text: String,
    },
    /// A timer, an alarm, a reminder or an event rang; every client is told, whatever it asked.
    Rang {
        /// The same each time it rings.
        id: String,
        /// What it is.
        what: Kind,
        /// What is said.
        text: String,
        /// How many times it rang.
        times: u32,
        /// Whether it should have rung before.
        missed: bool,
    },
    /// The daemon noticed something that the person should know; every client is told.
    Noticed {
        /// What is said.
        text: String,
    },
}

/// Where a turn is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum State {
    /// Nothing is going on.
    Idle,
    /// The microphone is open.
    Listening,
    /// Speech is being recognised.
    Transcribing,
    /// The model is being prepared or asked.
    Thinking,
    /// The person is being asked.
    Confirming,
    /// A tool runs.
    Acting,
    /// An answer is spoken, and nothing else is going on but that its end may still be thought about.
    Speaking,
    /// Nothing is going on, and the person muted the microphone.
    Muted,
}

impl State {
    /// The word on the bus.
    pub fn name(self) -> &'static str {
        match self {
            State::Idle => "idle",
            State::Listening => "listening",
            State::Transcribing => "transcribing",
            State::Thinking => "thinking",
            State::Confirming => "confirming",
            State::Acting => "acting",
            State::Speaking => "speaking",
            State::Muted => "muted",
        }
    }
}

/// A state as a sentence, from its word on the bus.
pub fn state_words(state: &str) -> String {
    match state {
        "off" => "Tiro is not running.".to_owned(),
        "idle" => "Tiro is ready.".to_owned(),
        "muted" => "Tiro's microphone is muted.".to_owned(),
        "confirming" => "Tiro asks you something; `tiro confirm` shows it.".to_owned(),
        state => format!("Tiro is {state}."),
    }
}

/// Text that stays text where markup is read.
pub fn escape(text: &str) -> String {
    let mut escaped = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '&' => escaped.push_str("&amp;"),
            '<' => escaped.push_str("&lt;"),
            '>' => escaped.push_str("&gt;"),
            c => escaped.push(c),
        }
    }
    escaped
}

/// An answer to a question.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Confirmation {
    /// Do it.
    Yes,
    /// Do not.
    No,
    /// Do nothing yet; the answer is still to come.
    Wait,
    /// Do it otherwise: what was said.
    Change(String),
    /// There is nobody to ask.
    Nobody,
}

/// Where a turn is shown, and where the person can be asked.
#[async_trait]
pub trait Front: Send {
    /// Shows something. Must not block.
    fn show(&mut self, happening: &Happening);

    /// Whether somebody else than the person asked for the turn: then none of its words are theirs.
    fn is_for_guest(&self) -> bool {
        false
    }

    /// Whether the answer is said aloud, so that its beginning is wanted before the end is there.
    fn speaks(&self) -> bool {
        false
    }

    /// How many answers are being spoken at this moment: while the person answers, their time does not run out.
    fn speaking(&self) -> watch::Receiver<usize> {
        watch::channel(0).1
    }

    /// Shows the question and waits for the answer. The caller bounds the wait; silence is no. Dropping the future
    /// withdraws the question.
    async fn confirm(&mut self, question: &Question) -> Confirmation;
}

/// The terminal: the trace goes to stderr when `verbose`, questions are asked there when somebody can answer.
pub struct Terminal {
    /// Whether every step is shown.
    pub verbose: bool,
    /// Answer yes to every question; the person said so on the command line.
    pub yes: bool,
    /// Whether stdin is a terminal where a question can be answered.
    pub interactive: bool,
}

#[async_trait]
impl Front for Terminal {
    fn show(&mut self, happening: &Happening) {
        match happening {
            // Who waits in front of it sees that it goes on.
            Happening::Working { percent, .. } if self.interactive && !self.verbose => {
                say_aside(&format!("{percent} % done ..."));
            }
            _ => {
                if let (true, Some(line)) = (self.verbose, describe(happening)) {
                    say_aside(&line);
                }
            }
        }
    }

    async fn confirm(&mut self, question: &Question) -> Confirmation {
        if self.yes {
            return Confirmation::Yes;
        }
        if !self.interactive {
            return Confirmation::Nobody;
        }
        // What was typed before the question was there is no answer to it.
        let _ = rustix::termios::tcflush(std::io::stdin(), rustix::termios::QueueSelector::IFlush);
        say_aside(&ask_line(question));
        let line = line().await.unwrap_or_default();
        answer(&line).unwrap_or(Confirmation::No)
    }
}

/// How often the terminal is looked at for an answer.
const LOOK: Duration = Duration::from_millis(50);

/// One line from the terminal. Nothing is read before there is something to read, so that a dropped question leaves
/// nobody behind who would eat the next line; a person does not notice how often it is looked.
async fn line() -> rustix::io::Result<String> {
    let stdin = std::io::stdin();
    while event::poll(
        &mut [PollFd::new(&stdin, PollFlags::IN)],
        Some(&Timespec::default()),
    )? == 0
    {
        tokio::time::sleep(LOOK).await;
    }
    // A terminal gives one line at a time; a longer one than this is no yes.
    let mut line = [0; 256];
    let length = rustix::io::read(&stdin, &mut line)?;
    Ok(String::from_utf8_lossy(&line[..length]).into_owned())
}

/// The words of a line in lower case, without signs.
pub fn plain_words(line: &str) -> String {
    let letter = |c: char| c.is_alphanumeric() || c == '\'' || c == '\u{2019}';
    let words: Vec<String> = line
        .split(|c| !letter(c))
        .filter(|word| !word.is_empty())
        .map(|word| word.to_lowercase().replace('\u{2019}', "'"))
        .collect();
    words.join(" ")
}

/// What an answer means, typed or recognised; nothing when it means neither yes nor no.
pub fn yes_or_no(line: &str) -> Option<bool> {
    match plain_words(line).as_str() {
        "y" | "yes" | "yes please" | "yes do it" | "yeah" | "yep" | "do it" | "go ahead" | "ok" | "okay" => {
            Some(true)
        }
        "n" | "no" | "no thanks" | "no thank you" | "nope" | "don't" | "don't do it" | "do not"
        | "cancel" | "stop" => Some(false),
        _ => None,
    }
}

/// Who says one of these wants to be asked once more.
const WAITS: &[&str] = &[
    "wait",
    "hold on",
    "hang on",
    "one moment",
    "just a moment",
    "a moment",
    "moment",
    "one second",
    "just a second",
    "one sec",
    "just a sec",
    "one minute",
    "just a minute",
    "let me think",
    "let me see",
    "not yet",
    "wait a moment",
    "wait a second",
    "wait a sec",
    "wait a minute",
];

/// What an answer to a question of consent means, typed or recognised; nothing when it means none of all that, and then it
/// is no yes.
pub fn answer(line: &str) -> Option<Confirmation> {
    match yes_or_no(line) {
        Some(true) => return Some(Confirmation::Yes),
        Some(false) => return Some(Confirmation::No),
        None => {}
    }
    if WAITS.contains(&plain_words(line).trim_end_matches(" please")) {
        return Some(Confirmation::Wait);
    }
    let change = amend::change(line).filter(|change| change.corrects && !change.is_bare());
    change.map(|_| Confirmation::Change(line.trim().to_owned()))
}

/// The question for somebody who answers it by speaking.
pub fn ask_aloud(question: &Question) -> String {
    let action = question.action.trim_end_matches('.');
    format!("{action}. {} Shall I? Say yes or no.", question.because.join(" "))
}

/// The question as one stretch of text.
pub fn ask_line(question: &Question) -> String {
    let action = question.action.trim_end_matches('.');
    format!("{action}. {} Shall I? [yes/no]", question.because.join(" "))
}

/// One line of trace for people, or nothing for what needs no line.
pub fn describe(happening: &Happening) -> Option<String> {
    Some(match happening {
        // What rings and what is noticed is no part of a turn; who wants it listens for it.
        Happening::State { .. }
        | Happening::Asked { .. }
        | Happening::Saying { .. }
        | Happening::Rang { .. }
        | Happening::Noticed { .. } => return None,
        Happening::Hearing { text } => format!("hearing  \"{text}\""),
        Happening::Heard { text, seconds, ms } => {
            format!("heard    \"{text}\"  ({seconds:.1} s of audio in {ms:.0} ms)")
        }
        // With a server there is nothing to prepare.
        Happening::Prepared { prepared } if prepared.tokens == 0 => return None,
        Happening::Prepared { prepared } => match prepared.restored {
            true => format!(
                "prefix   {} tokens from the snapshot in {:.0} ms",
                prepared.tokens, prepared.ms
            ),
            false => {
                format!(
                    "prefix   {} tokens, {} evaluated in {:.0} ms",
                    prepared.tokens, prepared.prefilled, prepared.ms
                )
            }
        },
        Happening::Generated { text, usage } => format!(
            "decided  {}  ({} new of {} prompt tokens in {:.0} ms, {} written in {:.0} ms)",
            text.split_whitespace().collect::<Vec<_>>().join(" "),
            usage.prompt - usage.cached,
            usage.prompt,
            usage.prefill_ms,
            usage.generated,
            usage.decode_ms
        ),
        Happening::Acting { tool, arguments } => format!("calling  {tool} {arguments}"),
        Happening::Working { tool, percent } => format!("working  {tool}: {percent} %"),
        Happening::Did {
            tool,
            status,
            result,
            ms,
        } => format!("result   {tool}: {status} {result}  ({ms:.0} ms)"),
        Happening::Replied { text } => format!("reply    {text}"),
    })
}

/// Writes a line to stderr: everything that is not the answer.
pub fn say_aside(line: &str) {
    // Others may have worded it: what they wrote must not steer the terminal. A closed stderr is no reason to end a turn.
    let _ = writeln!(std::io::stderr().lock(), "{}", plain::lines(line));
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_plain_yes_is_a_yes() {
        #[track_caller]
        fn check(line: &str, expect: Option<bool>) {
            assert_eq!(yes_or_no(line), expect, "{line:?}");
        }
        for yes in ["y\n", "Yes.", " Yes, please. ", "OK!", "Okay", "do it", "Yeah."] {
            check(yes, Some(true));
        }
        for no in ["n", "No.", "No, thanks.", "Don\u{2019}t.", "don't do it", "Stop!"] {
            check(no, Some(false));
        }
        for neither in [
            "",
            "what",
            "yes and no",
            "yesterday",
            "[BLANK_AUDIO]",
            "is that a yes",
        ] {
            check(neither, None);
        }
    }

    #[test]
    fn who_wants_time_or_a_change_has_not_said_no() {
        for line in ["Wait.", "hold on", "Just a second, please.", "Wait a minute!"] {
            assert_eq!(answer(line), Some(Confirmation::Wait), "{line:?}");
        }
        for line in [
            "change it to Friday",
            "no, at four",
            "make that Friday instead",
            "not Anna, Hanna",
        ] {
            assert_eq!(answer(line), Some(Confirmation::Change(line.into())), "{line:?}");
        }
        for (line, expect) in [
            ("Yes.", Some(Confirmation::Yes)),
            ("no", Some(Confirmation::No)),
            ("what", None),
            ("", None),
        ] {
            assert_eq!(answer(line), expect, "{line:?}");
        }
    }
}
