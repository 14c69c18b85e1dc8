//! The whole prompt: three sections in a prefix that does not change, then the conversation.

use std::{collections::HashSet, ops::Range};

use crate::{
    Card, Dialect, Message, Piece, Placement, PromptError, Sections, Template, catalog,
    dialect::{OWN_TURN, defuse, flush, shield},
    template::Turn,
};

const SYSTEM: &str = include_str!("../wording/system.txt");
const CATALOG: &str = include_str!("../wording/catalog.txt");
const FOUND: &str = include_str!("../wording/found.txt");
/// Has no use once nothing is left to find.
const DISCOVER: &str = "tools.discover";

/// A prompt.
#[derive(Debug, Clone, PartialEq)]
pub struct Rendered {
    /// All of it, the header of the answer included.
    pub pieces: Vec<Piece>,
    /// How many leading pieces cannot change while the core tools and the catalogue stay: the static prefix.
    pub static_len: usize,
    /// The texts of tools that were found later, and of the calls to go by.
    pub found: Found,
    /// Why the model's own template could not be used for this prompt.
    pub warning: Option<PromptError>,
}

/// Where the tools that were found later stand in a prompt, and the calls behind each. A tool is the same in whatever conversation
/// shows it; which calls go with it depends on the request.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Found {
    /// The pieces of each tool and of each call.
    pub stretches: Vec<Range<usize>>,
    /// Whether the first stands where it does in every conversation that finds it first: behind the static prefix and what is the
    /// same for all tools, before anything that anybody said.
    pub begins: bool,
}

/// Renders prompts for one model.
#[derive(Clone)]
pub struct Renderer {
    template: Template,
    dialect: &'static dyn Dialect,
}

impl Renderer {
    /// A renderer for a model with this template and tool syntax.
    pub fn new(template: Template, dialect: &'static dyn Dialect) -> Renderer {
        Renderer { template, dialect }
    }

    /// The tool syntax in use.
    pub fn dialect(&self) -> &'static dyn Dialect {
        self.dialect
    }

    /// The prompt for these tools and this conversation: a pure function, the same bytes for the same input.
    pub fn render(&self, sections: &Sections, messages: &[Message]) -> Rendered {
        let (prefix, found) = self.system(sections, messages);
        let static_parts = prefix.len();
        let mut system = prefix;
        system.extend(found);
        let first = system.first().cloned();
        let mut turns = vec![Turn {
            role: "system",
            content: system,
        }];
        let mut shown = HashSet::new();
        turns.extend(
            messages
                .iter()
                .map(|message| self.turn(message, sections, &mut shown)),
        );
        if messages.is_empty() {
            // Some templates insist on somebody speaking; the prefix is the same either way.
            turns.push(Turn {
                role: "user",
                content: Vec::new(),
            });
        }
        let own_turn = self.dialect.result_role() == OWN_TURN;
        if own_turn {
            turns = in_one(turns);
        }
        let open = own_turn && matches!(messages.last(), Some(Message::Result { .. }));
        let (pieces, warning) = self.template.render(turns, open);
        let header = pieces.iter().position(|p| Some(p) == first.as_ref()).unwrap_or(0);
        let static_len = header + static_parts;
        let found = self.found_in(&pieces, static_len, sections, messages);
        Rendered {
            pieces,
            static_len,
            found,
            warning,
        }
    }

    /// Where the tools stand that the messages found; see [`Found`].
    fn found_in(
        &self,
        pieces: &[Piece],
        static_len: usize,
        sections: &Sections,
        messages: &[Message],
    ) -> Found {
        let mut found = Found::default();
        if sections.placement == Placement::System {
            return found;
        }
        let (mut shown, mut from) = (HashSet::new(), static_len);
        for (n, message) in messages.iter().enumerate() {
            let new = new(message, &mut shown);
            for stretch in self.dialect.found(&new).stretches {
                let behind = pieces.get(from..).unwrap_or_default();
                // A template may have taken it apart.
                let Some(at) = behind.windows(stretch.len()).position(|pieces| pieces == stretch) else {
                    continue;
                };
                let first = n == 0 && matches!(message, Message::User { .. });
                found.begins |= first && found.stretches.is_empty();
                let begin = from + at;
                from = begin + stretch.len();
                found.stretches.push(begin..from);
            }
        }
        found
    }

    /// The system message: what cannot change, and section 3 if it stands there.
    fn system(&self, sections: &Sections, messages: &[Message]) -> (Vec<Piece>, Vec<Piece>) {
        let all_found = all_found(sections, messages);
        let core: Vec<Card> = sections
            .core
            .iter()
            .filter(|card| !(all_found && card.name == DISCOVER))
            .cloned()
            .collect();
        let mut text = Text::default();
        text.control(SYSTEM.trim());
        if !core.is_empty() {
            text.control("\n\n").pieces(self.dialect.tools(&core));
        }
        if !all_found {
            text.control("\n\n").control(CATALOG.trim()).control("\n\n");
            text.words(&self.rows(sections));
        }
        let mut tail = Text::default();
        if sections.placement == Placement::System && !sections.discovered.is_empty() {
            tail.control("\n\n").pieces(self.found(&sections.discovered));
        }
        (text.into_pieces(), tail.into_pieces())
    }

    /// The system message without any schema, for who is given those apart.
    pub(crate) fn system_text(&self, sections: &Sections, messages: &[Message]) -> String {
        let mut text = SYSTEM.trim().to_owned();
        if !all_found(sections, messages) {
            text.push_str(&format!(
                "\n\n{}\n\n{}",
                CATALOG.trim(),
                shield(&self.rows(sections))
            ));
        }
        text
    }

    fn rows(&self, sections: &Sections) -> String {
        catalog::rows(
            &sections.catalog,
            sections.catalog_summaries,
            sections.catalog_tokens,
            self.dialect.tags(),
        )
    }

    fn turn(&self, message: &Message, sections: &Sections, shown: &mut HashSet<String>) -> Turn {
        let new = match sections.placement {
            Placement::System => Vec::new(),
            Placement::Tail => new(message, shown),
        };
        let mut text = Text::default();
        let role = match message {
            Message::User {
                text: said, context, ..
            } => {
                // The tools first: with what changes from turn to turn before them their state could not be used again.
                if !new.is_empty() {
                    text.pieces(self.found(&new)).control("\n");
                }
                if !context.trim().is_empty() {
                    text.words(&self.foreign(context)).words("\n");
                }
                text.words(&self.foreign(said));
                "user"
            }
            Message::Assistant(said) => {
                text.words(&self.foreign(said));
                "assistant"
            }
            Message::Call { name, arguments } => {
                text.pieces(self.dialect.call(name, arguments));
                "assistant"
            }
            Message::Result {
                name,
                content,
                untrusted,
                ..
            } => {
                let role = self.dialect.result_role();
                let answer = self.answer(content, *untrusted);
                if role == OWN_TURN {
                    // What stood behind the result would be what the model said, so the tools are a part of it.
                    let mut whole = Text::default();
                    whole.pieces(flush(answer));
                    if !new.is_empty() {
                        whole.words("\n").pieces(self.found(&new));
                    }
                    text.pieces(self.dialect.result(name, whole.into_pieces()));
                } else {
                    text.pieces(self.dialect.result(name, answer));
                    if !new.is_empty() {
                        text.words("\n\n").pieces(self.found(&new));
                    }
                }
                role
            }
        };
        Turn {
            role,
            content: text.into_pieces(),
        }
    }

    /// A tool's answer; what others wrote stands between marks that it cannot contain.
    fn answer(&self, content: &str, untrusted: bool) -> Vec<Piece> {
        let mut text = Text::default();
        let content = format!("{}\n", self.foreign(content));
        match untrusted {
            true => text
                .control("<untrusted>\n")
                .words(&content)
                .control("</untrusted>\n"),
            false => text.words(&content),
        };
        text.into_pieces()
    }

    /// Tools found later, as they stand in the message after which they were found.
    pub fn found(&self, cards: &[Card]) -> Vec<Piece> {
        let mut text = Text::default();
        text.control(FOUND.trim())
            .control("\n")
            .pieces(self.dialect.found(cards).into_pieces());
        text.into_pieces()
    }

    fn foreign(&self, text: &str) -> String {
        defuse(text.trim(), self.dialect.tags())
    }
}

/// Pieces under construction; neighbours of one kind become one, so that the tokenizer sees whole stretches.
#[derive(Debug, Default)]
pub struct Text(Vec<Piece>);

impl Text {
    /// Adds text of ours, whose tags count.
    pub fn control(&mut self, text: &str) -> &mut Text {
        self.add(text, true)
    }

    /// Adds text of anybody else.
    pub fn words(&mut self, text: &str) -> &mut Text {
        self.add(text, false)
    }

    /// Adds a mark of ours that never becomes one with another, so that what others write between two changes neither.
    pub fn mark(&mut self, text: &str) -> &mut Text {
        self.0.push(Piece::control(text));
        self
    }

    /// Adds what another builder made; only its first stretch may become one with what stands before it.
    pub fn pieces(&mut self, pieces: Vec<Piece>) -> &mut Text {
        let mut pieces = pieces.into_iter();
        if let Some(first) = pieces.next() {
            self.add(&first.text, first.special);
        }
        self.0.extend(pieces);
        self
    }

    /// The finished pieces; none is empty.
    pub fn into_pieces(self) -> Vec<Piece> {
        self.0
    }

    fn add(&mut self, text: &str, special: bool) -> &mut Text {
        match self.0.last_mut() {
            _ if text.is_empty() => {}
            Some(last) if last.special == special => last.text.push_str(text),
            _ => self.0.push(Piece {
                text: text.to_owned(),
                special,
            }),
        }
        self
    }
}

/// The same turns where calls, results and what the model says to them are one turn of the model.
fn in_one(turns: Vec<Turn>) -> Vec<Turn> {
    let mut out: Vec<Turn> = Vec::with_capacity(turns.len());
    for turn in turns {
        match out.last_mut() {
            Some(last) if last.role == OWN_TURN && turn.role == OWN_TURN => last.content.extend(turn.content),
            _ => out.push(turn),
        }
    }
    out
}

/// What a message found that was not shown before.
fn new(message: &Message, shown: &mut HashSet<String>) -> Vec<Card> {
    let new = discovered(message).iter();
    new.filter(|card| shown.insert(card.name.clone()))
        .cloned()
        .collect()
}

/// Whether every schema of the catalogue is shown, so that the catalogue has no use.
fn all_found(sections: &Sections, messages: &[Message]) -> bool {
    let found: HashSet<&str> = sections
        .discovered
        .iter()
        .chain(messages.iter().flat_map(discovered))
        .map(|card| card.name.as_str())
        .collect();
    let mut catalog = sections.catalog.iter();
    catalog.all(|card| found.contains(card.name.as_str()))
}

/// What a message loaded.
fn discovered(message: &Message) -> &[Card] {
    match message {
        Message::User { discovered, .. } | Message::Result { discovered, .. } => discovered,
        Message::Assistant(_) | Message::Call { .. } => &[],
    }
}
