//! The model's own chat template: the Jinja in its file, rendered around contents that it never sees.
//!
//! The template gets a sentinel in place of every content, and the output is split on the sentinels. What stands
//! between them is the template's and may hold control tokens; what replaces them may not. No content can pass for
//! template text, and no template can change a content.

use std::io;

use minijinja::{Environment, Error, ErrorKind, Value, context, syntax::SyntaxConfig, value::Serde};

use crate::{Piece, json};

/// Longest template that is accepted, bytes; the longest in use (Llama 4, gpt-oss) have 20 KiB.
const MAX_TEMPLATE: usize = 128 * 1024;
/// Longest rendering without contents, bytes.
const MAX_OUTPUT: u64 = 1024 * 1024;
/// Instructions one rendering may take: a thousand messages need about a tenth.
const FUEL: u64 = 1_000_000;
/// Sentinels are a number between two private-use characters.
const OPEN: char = '\u{F8F0}';
const CLOSE: char = '\u{F8F1}';

/// Why a chat template cannot be used.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum PromptError {
    /// The model file has none.
    #[error("the model file has no chat template; ChatML is used")]
    NoTemplate,
    /// It is too long to be one.
    #[error("the chat template has {0} bytes, more than {MAX_TEMPLATE}; ChatML is used")]
    TooLong(usize),
    /// It does not parse or render.
    #[error("the chat template does not work ({0}); ChatML is used")]
    Broken(String),
    /// It drops, repeats or reorders messages.
    #[error("the chat template does not keep every message once and in order; ChatML is used")]
    Reorders,
}

/// A message as templates know them.
#[derive(Debug, Clone, PartialEq)]
pub struct Turn {
    /// `system`, `user`, `assistant`, or the dialect's own role for results.
    pub role: &'static str,
    /// What it says.
    pub content: Vec<Piece>,
}

/// A chat template, ready to render.
#[derive(Clone)]
pub struct Template {
    form: Form,
    bos: String,
    eos: String,
}

#[derive(Clone)]
enum Form {
    ChatMl,
    Own {
        env: Box<Environment<'static>>,
        /// The template refuses a system message: it opens the first user message instead.
        fold_system: bool,
        /// The template refuses two messages of one role in a row: they become one.
        merge: bool,
    },
}

impl Template {
    /// A template from the model's file, with the text of its sequence tokens; `bos` is empty when the model adds none.
    ///
    /// # Errors
    /// When it cannot be used; `Template::chatml` is the way out, and `Template::load` takes it.
    pub fn new(jinja: &str, bos: &str, eos: &str) -> Result<Template, PromptError> {
        if jinja.len() > MAX_TEMPLATE {
            return Err(PromptError::TooLong(jinja.len()));
        }
        let env = environment(jinja).map_err(|e| PromptError::Broken(e.to_string()))?;
        let mut template = Template::chatml(bos, eos);
        template.form = Form::Own {
            env: Box::new(env),
            fold_system: false,
            merge: false,
        };
        template.probe()?;
        Ok(template)
    }

    /// The format that most models understand, for those whose own template is missing or broken.
    pub fn chatml(bos: &str, eos: &str) -> Template {
        Template {
            form: Form::ChatMl,
            bos: bos.to_owned(),
            eos: eos.to_owned(),
        }
    }

    /// The model's own template if it has one that works, else ChatML and why.
    pub fn load(jinja: Option<&str>, bos: &str, eos: &str) -> (Template, Option<PromptError>) {
        let own = match jinja {
            Some(jinja) => Template::new(jinja, bos, eos),
            None => Err(PromptError::NoTemplate),
        };
        match own {
            Ok(template) => (template, None),
            Err(error) => (Template::chatml(bos, eos), Some(error)),
        }
    }

    /// The prompt for these messages, with the header of the answer at its end, and why ChatML had to be used although
    /// the template had worked when it was loaded. `open` says that the last message is not over: the model goes on with it.
    pub fn render(&self, turns: Vec<Turn>, open: bool) -> (Vec<Piece>, Option<PromptError>) {
        let (pieces, warning) = match &self.form {
            Form::ChatMl => (chatml(turns, open), None),
            Form::Own {
                env,
                fold_system,
                merge,
            } => {
                let turns = adapt(turns, *fold_system, *merge);
                match self.own(env, &turns, open) {
                    Ok(pieces) => (pieces, None),
                    Err(error) => (chatml(turns, open), Some(error)),
                }
            }
        };
        (self.begun(pieces), warning)
    }

    /// Finds out what the template takes, with a conversation that has every shape.
    fn probe(&mut self) -> Result<(), PromptError> {
        let turn = |role| Turn {
            role,
            content: vec![Piece::text("x")],
        };
        let roles = ["system", "user", "assistant", "user", "user", "assistant", "user"];
        let mut failure = PromptError::Reorders;
        for (fold, merges) in [(false, false), (false, true), (true, false), (true, true)] {
            let Form::Own {
                env,
                fold_system,
                merge,
            } = &mut self.form
            else {
                return Ok(());
            };
            (*fold_system, *merge) = (fold, merges);
            let turns = adapt(roles.map(turn).into(), fold, merges);
            let env = env.clone();
            match self.own(&env, &turns, false) {
                Ok(_) => return Ok(()),
                Err(error) => failure = error,
            }
        }
        Err(failure)
    }

    fn own(&self, env: &Environment<'_>, turns: &[Turn], open: bool) -> Result<Vec<Piece>, PromptError> {
        let messages: Vec<Value> = (turns.iter().enumerate())
            .map(|(i, turn)| context! { role => turn.role, content => format!("{OPEN}{i}{CLOSE}") })
            .collect();
        let mut output = Limited { bytes: Vec::new() };
        let rendered = env.get_template(NAME).and_then(|template| {
            let context = context! {
                messages, add_generation_prompt => !open, bos_token => self.bos.as_str(), eos_token => self.eos.as_str(),
                // A voice assistant answers at once; templates of thinking models read this.
                enable_thinking => false,
            };
            template.render_captured_to(context, &mut output).map(drop)
        });
        rendered.map_err(|e| PromptError::Broken(e.to_string()))?;
        let text = String::from_utf8(output.bytes).map_err(|e| PromptError::Broken(e.to_string()))?;
        fill(&text, turns, open)
    }

    /// The model's first token stands at the start even when its template leaves it to the tokenizer.
    fn begun(&self, mut pieces: Vec<Piece>) -> Vec<Piece> {
        let has = pieces
            .first()
            .is_some_and(|p| p.special && p.text.starts_with(&self.bos));
        if !has && !self.bos.is_empty() {
            match pieces.first_mut().filter(|p| p.special) {
                Some(first) => first.text.insert_str(0, &self.bos),
                None => pieces.insert(0, Piece::control(&self.bos)),
            }
        }
        pieces
    }
}

const NAME: &str = "chat";

/// Jinja as transformers sets it up: blocks trimmed, loop controls, Python's string methods, its own `tojson`.
pub(crate) fn environment(jinja: &str) -> Result<Environment<'static>, Error> {
    let mut env = Environment::new();
    env.set_syntax(
        SyntaxConfig::builder()
            .trim_blocks(true)
            .lstrip_blocks(true)
            .build()?,
    );
    env.set_fuel(Some(FUEL));
    env.set_unknown_method_callback(minijinja_contrib::pycompat::unknown_method_callback);
    env.add_filter("tojson", |value: Serde<serde_json::Value>| json::spaced(&value.0));
    env.add_function("raise_exception", |text: String| -> Result<Value, Error> {
        Err(Error::new(ErrorKind::InvalidOperation, text))
    });
    // The prefix must not change from day to day, so a template that prints the date prints this instead.
    env.add_function("strftime_now", |_format: String| "given with each request");
    env.add_template_owned(NAME, jinja.to_owned())?;
    Ok(env)
}

/// Splits a rendering on its sentinels and puts the contents where they stood. Behind the last one stands what ends the message,
/// unless that is left open.
fn fill(rendered: &str, turns: &[Turn], open: bool) -> Result<Vec<Piece>, PromptError> {
    let mut pieces = Vec::new();
    let mut rest = rendered;
    for (i, turn) in turns.iter().enumerate() {
        let sentinel = format!("{OPEN}{i}{CLOSE}");
        let (before, after) = rest.split_once(&sentinel).ok_or(PromptError::Reorders)?;
        push_control(&mut pieces, before)?;
        pieces.extend(turn.content.iter().cloned());
        rest = after;
    }
    let end = pieces.len();
    push_control(&mut pieces, rest)?;
    if open {
        pieces.truncate(end);
    }
    Ok(pieces)
}

fn push_control(pieces: &mut Vec<Piece>, text: &str) -> Result<(), PromptError> {
    if text.contains([OPEN, CLOSE]) {
        return Err(PromptError::Reorders);
    }
    if !text.is_empty() {
        pieces.push(Piece::control(text));
    }
    Ok(())
}

fn chatml(turns: Vec<Turn>, open: bool) -> Vec<Piece> {
    let mut pieces = Vec::new();
    let mut before = String::new();
    for turn in turns {
        let role = if turn.role == "ipython" { "tool" } else { turn.role };
        pieces.push(Piece::control(format!("{before}<|im_start|>{role}\n")));
        pieces.extend(turn.content);
        before = "<|im_end|>\n".to_owned();
    }
    if !open {
        pieces.push(Piece::control(format!("{before}<|im_start|>assistant\n")));
    }
    pieces
}

/// The same messages in a shape that the template takes.
fn adapt(turns: Vec<Turn>, fold_system: bool, merge: bool) -> Vec<Turn> {
    let mut out: Vec<Turn> = Vec::with_capacity(turns.len());
    for mut turn in turns {
        match out.last_mut() {
            Some(last) if fold_system && last.role == "system" => {
                last.role = turn.role;
                join(last, turn.content);
            }
            Some(last) if merge && last.role == turn.role => join(last, std::mem::take(&mut turn.content)),
            _ => out.push(turn),
        }
    }
    out
}

fn join(turn: &mut Turn, content: Vec<Piece>) {
    turn.content.push(Piece::text("\n\n"));
    turn.content.extend(content);
}

/// Memory that refuses to grow past `MAX_OUTPUT`: fuel bounds instructions, not what each of them writes.
struct Limited {
    bytes: Vec<u8>,
}

impl io::Write for Limited {
    fn write(&mut self, buf: &[u8]) -> io::Result<usize> {
        if (self.bytes.len() + buf.len()) as u64 > MAX_OUTPUT {
            return Err(io::Error::other("it writes too much"));
        }
        self.bytes.extend_from_slice(buf);
        Ok(buf.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}
