//! The arguments of a call, put right before anything is done: each room knows one kind of mistake, and goes by what schemas and
//! tools say of themselves.

use prompts::words;
use tools::{Entry, TimeRole};

use super::{
    Agent, Call, figures,
    ground::{self, Grounded},
    names,
    own::Own,
    refer, senders, switches, times,
};

/// What became of the arguments of a call.
#[derive(Debug)]
pub(super) struct Settled {
    pub(super) grounded: Grounded,
    /// A required time for which the person said nothing.
    pub(super) untimed: Option<&'static str>,
}

impl Agent {
    /// Puts right what a model wrote, from what was said and what the call before was about; what nobody said goes last.
    pub(super) fn settle_arguments(&self, call: &mut Call, entry: &Entry) -> Settled {
        let schema = entry.parameters();
        let said = self.talk.said();
        let mut untimed = None;
        let told = self.last.as_ref().map_or("", |last| last.text.as_str());
        if let Some((said, before)) = said.split_last() {
            let known = [before, &[told]].concat();
            untimed = times::settle(&mut call.arguments, entry, said, &known);
            times::without_time(&mut call.arguments, entry);
            names::settle(&mut call.arguments, entry, &self.toolbox, said, told);
            senders::settle(&mut call.arguments, entry, &schema, &self.toolbox, said);
            figures::settle(&mut call.arguments, &schema, said);
            switches::settle(&mut call.arguments, entry.name, &schema, said);
            if let Some(before) = self.before() {
                let is_there = |argument: &str, text: &str| {
                    let kind = entry.named.iter().find(|(named, _)| *named == argument);
                    kind.is_some_and(|(_, kind)| self.toolbox.named_in(*kind, text).is_some())
                };
                refer::settle(
                    call,
                    entry,
                    said,
                    before,
                    &|word| self.toolbox.opens(word),
                    &is_there,
                );
            }
        }
        let names = said.last().map(|said| self.toolbox.named(entry, said));
        let grounded = ground::ground(
            &Own::of(entry, &schema),
            &mut call.arguments,
            &schema,
            &self.talk.heard(),
            &said,
            &names.unwrap_or_default(),
            entry.worded,
        );
        Settled { grounded, untimed }
    }

    /// The question for what a call of this tool lacks.
    pub(super) fn asks_for(&self, tool: &str, missing: &str) -> String {
        let times = self.toolbox.find(tool).map_or(&[][..], |entry| entry.times);
        match times.iter().find(|(name, _)| *name == missing) {
            Some((_, TimeRole::Length)) => words::how_long(),
            Some(_) => words::when(),
            None => words::missing(missing),
        }
    }
}
