//! The agent: conversation and model output in, next step out. Pure: no async, no clock, no file, no engine.
//!
//! A turn is a sequence of steps. Each step is data that `turn.rs` carries out and answers with the next input,
//! so every dialogue can be tested in microseconds and replayed from a list of inputs.

mod ahead;
mod alone;
mod calls;
pub mod amend;
mod checked;
pub mod conversation;
mod figures;
mod follow;
mod later;
pub mod grammar;
pub mod ground;
mod loading;
mod names;
mod negation;
mod offer;
mod openers;
mod own;
mod refer;
pub mod rules;
mod schema;
mod senders;
mod settings;
mod settle;
mod step;
mod several;
mod spared;
mod switches;
mod reflex;
mod finding;
mod times;
mod unsure;
pub mod toolbox;
#[cfg(test)]
mod tests;

use std::collections::{BTreeMap, BTreeSet, HashSet};

use prompts::{Message, Parsed, Piece, Rendered, Renderer, Sections, words};

pub use ahead::Ahead;
use conversation::{Conversation, Exchange};
use follow::Changed;
use later::Untimed;
use negation::Wanted;
use rules::{Asked, Phase};
pub use settings::{Answer, CATALOG_TOKENS, IfUnsure, SPLIT_SCORE, Settings};
use settle::Settled;
pub use step::{Ask, Call, Ending, Input, Opening, Outcome, Reply, Step, Undo};
use toolbox::{Loaded, Toolbox};
use tools::discover::Match;

/// A call whose arguments do not fit, or that names no tool, may be repaired this often in a turn. More attempts
/// of a small model only repeat the mistake while the person waits.
const MAX_MISTAKES: usize = 2;

/// Characters of one tool result that the model sees.
const MAX_RESULT: usize = 1_600;
/// The same of a result that the person was told in the tool's words.
const MAX_SAID: usize = 1_000;

/// How well words that go on from others must fit a tool whose schema is there for no other schema to be loaded.
const SURE_AGAIN: f32 = 0.7;

/// What share of the usual score is enough to look at something of which the person said the name: such a request is hardly
/// about nothing that is here, and looking changes nothing.
const ABOUT_SOMETHING: f32 = 0.5;

/// The agent of one conversation.
#[derive(Clone)]
pub struct Agent {
    settings: Settings,
    renderer: Renderer,
    toolbox: Toolbox,
    talk: Conversation,
    turn: Turn,
    /// The last answer as it was heard; the conversation may keep less of it.
    last: Option<tools::Answered>,
    /// The tools that have told something in this conversation. It outlasts their messages, which may be trimmed: what they told
    /// may stand in other places, such as the last answer.
    sources: BTreeSet<String>,
    /// What was loaded before this conversation and is loaded again with its first words.
    kept: Vec<Loaded>,
    found: Found,
    /// The other requests of the sentence.
    rest: several::Rest,
    /// What was asked back about.
    unsure: Option<unsure::Unsure>,
    /// What the turn before came to.
    deed: Option<follow::Deed>,
    /// What the call that is being made replaces.
    replaced: Option<follow::Deed>,
    /// Whether this turn has called something.
    acted: bool,
    /// Whether this turn is a guest's.
    guest: bool,
    /// What needs no model.
    reflexes: tools::reflex::Reflexes,
    /// Whether the last turn needed none.
    by_reflex: bool,
}

/// What finding tools cost in a turn, in tokens of the prompt.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Found {
    /// Schemas loaded ahead, from the person's words.
    pub ahead: u32,
    /// Schemas loaded because the model asked for them.
    pub later: u32,
    /// Whether what the model wrote last was spent on finding a tool.
    pub searching: bool,
}

/// What a turn has used up so far.
#[derive(Clone, Default)]
struct Turn {
    mistakes: usize,
    seen: HashSet<String>,
    /// The tools of which one must be called next, with their scores; none when the model is free.
    must_call: Vec<(String, f32)>,
    /// What is shown of the tools that were found, where the model is asked about the request alone.
    alone: Option<Vec<prompts::Card>>,
    /// The times that the person named.
    times: Vec<String>,
    /// Whether all texts are to be copied from what was said, because one was made up.
    copies: bool,
    /// Whether the model tried to act and could not.
    stumbled: bool,
    /// Whether all texts of the last call were the person's own words.
    own_words: bool,
    /// Whether the words alone decided on it.
    reflex: bool,
    /// What the last call requires and nobody said.
    missing: Option<String>,
    /// What the last failed call told; the answer when the model only has words left.
    told: Option<Told>,
    /// The last thing that was really done.
    did: Option<String>,
    /// What came of all of it: what the model's own words are held against.
    proof: checked::Proof,
    /// Whether what is called now takes the place of what was done.
    instead: bool,
    /// Whether what is called now was to be so for a while only.
    lasting: bool,
}

/// What a failed call told.
#[derive(Clone)]
struct Told {
    text: String,
    /// Whether others wrote some of it.
    untrusted: bool,
}

impl Agent {
    /// An agent with an empty conversation.
    pub fn new(settings: Settings, renderer: Renderer, toolbox: Toolbox) -> Agent {
        let talk = Conversation::default();
        let reflexes = reflex::of(&settings, &toolbox);
        Agent {
            reflexes,
            by_reflex: false,
            settings,
            renderer,
            toolbox,
            talk,
            turn: Turn::default(),
            last: None,
            sources: BTreeSet::new(),
            kept: Vec::new(),
            found: Found::default(),
            rest: several::Rest::default(),
            unsure: None,
            deed: None,
            replaced: None,
            acted: false,
            guest: false,
        }
    }

    /// The next step.
    pub fn step(&mut self, input: Input) -> Step {
        let step = match input {
            Input::Said { text, context, asked } => return self.said_all(text, context, asked),
            Input::Generated(text) => self.generated(&text),
            Input::Did { call, outcome } => self.came_back(&call, outcome),
        };
        self.go_on(step)
    }

    /// Whether text that somebody else wrote is in the conversation. While it is, every write asks the person.
    pub fn tainted(&self) -> bool {
        self.talk.tainted()
    }

    /// What was last answered; somebody else's words may be in it when they are in the conversation.
    pub fn last(&self) -> Option<tools::Answered> {
        self.last.clone()
    }

    /// Everything that the person said in this conversation, newest last.
    pub fn said_words(&self) -> Vec<&str> {
        self.talk.said()
    }

    /// What finding tools has cost in this turn.
    pub fn found(&self) -> Found {
        self.found
    }

    /// What a tool that is found adds to the prompt, at most.
    pub fn adds(&self, mut card: prompts::Card) -> Vec<Piece> {
        card.calls.truncate(calls::OF_BEST);
        self.renderer.found(&[card])
    }

    /// Tells how many tokens the schemas take.
    pub fn counted(&mut self, tokens: &BTreeMap<String, u32>) {
        self.toolbox.counted(tokens);
    }

    /// Loads with the next words what was loaded before a restart.
    pub fn restore(&mut self, kept: Vec<Loaded>) {
        self.kept = kept;
    }

    /// What is loaded now, or will be with the next words.
    pub fn loaded(&self) -> Vec<Loaded> {
        let mut all = self.kept.clone();
        all.extend(self.toolbox.loaded().iter().cloned());
        all
    }

    /// The tools that this agent knows.
    pub fn toolbox(&self) -> &Toolbox {
        &self.toolbox
    }

    /// Forgets the conversation. What was discovered in it stays loaded for the next one where the person wants that.
    pub fn part(&mut self) {
        let kept = if self.toolbox.keeps() {
            self.loaded()
        } else {
            Vec::new()
        };
        self.forget();
        self.kept = kept;
    }

    /// Forgets the conversation and unloads what was discovered.
    pub fn forget(&mut self) {
        self.talk = Conversation::default();
        self.toolbox.unload_all();
        self.kept.clear();
        self.sources.clear();
        self.turn = Turn::default();
        self.last = None;
        self.unsure = None;
        self.deed = None;
    }

    /// Closes a turn that was interrupted, so that the next one starts from a well-formed conversation.
    /// What was done stays in it; a turn in which nothing was done leaves no trace.
    pub fn interrupt(&mut self) {
        self.rest = several::Rest::default();
        match self.turn.did.take() {
            Some(said) => self.talk.close(self.turn.proof.remembered(&said), false),
            None => self.talk.drop_open(),
        }
    }

    /// Brings the conversation into the state in which a new turn begins.
    pub fn settle(&mut self) {
        self.interrupt();
        self.forget_unshown();
    }

    /// Ends a turn whose words alone do not fit the window.
    pub fn too_long(&mut self) -> Step {
        self.talk.drop_open();
        self.go_on(Step::Reply(Reply {
            text: words::too_long(),
            end: Ending::CouldNot,
        }))
    }

    /// What the open turn has done so far, as the tools said it.
    pub fn did(&self) -> Option<String> {
        let done = self.rest.done().into_iter().chain(self.turn.did.as_deref());
        let done: Vec<&str> = done.collect();
        (!done.is_empty()).then(|| done.join(" "))
    }

    /// Drops the oldest finished turn and renders the prompt again; `None` when only the open turn is left in it.
    pub fn trim(&mut self) -> Option<Ask> {
        let shorter = self.alone().is_none() && self.shorten();
        shorter.then(|| self.ask())
    }

    /// Drops the oldest finished turn, if there is one. Schemas that were discovered there move to the next turn: trimming never takes a
    /// section away.
    pub fn shorten(&mut self) -> bool {
        let dropped = self.talk.drop_oldest();
        self.forget_unshown();
        dropped
    }

    /// The static prefix as it is now: what is prepared before anybody speaks.
    pub fn prefix(&self) -> Vec<Piece> {
        let rendered = self.renderer.render(&self.sections(), &[]);
        rendered.pieces.into_iter().take(rendered.static_len).collect()
    }

    /// The static prefix without its catalogue, to tell what section 2 costs.
    pub fn core_prefix(&self) -> Vec<Piece> {
        let sections = Sections {
            catalog: Vec::new(),
            ..self.sections()
        };
        let rendered = self.renderer.render(&sections, &[]);
        rendered.pieces.into_iter().take(rendered.static_len).collect()
    }

    /// The conversation so far, to be evaluated while nobody waits.
    pub fn transcript(&self) -> Rendered {
        self.renderer.render(&self.sections(), &self.talk.messages())
    }

    fn said(&mut self, text: String, context: String, asked: Asked) -> Step {
        self.settle();
        self.found = Found::default();
        let guest = asked.guest;
        self.age_deed(guest);
        let stale = self.toolbox.ask(asked, self.tainted());
        self.unload(&stale);
        if self.toolbox.keeps() {
            // Only a rule can have made them go, and it need not hold the next time.
            self.kept.extend(stale);
        }
        if self.sources.iter().any(|tool| self.toolbox.holds_back(tool)) {
            tracing::info!("the conversation holds what a rule keeps back, so it is over");
            self.part();
            self.toolbox.taint(false);
        }
        let before = self.toolbox.loaded_tokens();
        let mut discovered = self.take_up(&text);
        let answer = self.answer_to(text, guest);
        let text = answer.text;
        if answer.no {
            self.open(text, context, discovered);
            return self.reply(words::declined(), Ending::Done);
        }
        if answer.tool.is_none() && !self.talk.asks() && negation::is_thanks(&text) {
            self.open(text, context, discovered);
            return self.reply(words::welcome(), Ending::Done);
        }
        let changed = match answer.call {
            Some(call) => Some(Changed::Call(call)),
            None if answer.tool.is_none() => self.changed(&text),
            None => None,
        };
        if let Some(changed) = changed {
            self.open(text, context, discovered);
            return match changed {
                Changed::Call(call) => self.calls(call, None),
                Changed::Instead(call, undo) => self.calls(call, Some(undo)),
                Changed::Ask(words) => self.reply(words, Ending::CouldNot),
                Changed::Nothing => {
                    let reply = self.left_alone();
                    self.reply(reply, Ending::Done)
                }
            };
        }
        let wanted = match negation::wanted(&text, &|word| self.toolbox.opens(word)) {
            // An answer to a question of Tiro's may begin as it likes.
            _ if self.talk.asks() && !negation::is_never_mind(&text) => Wanted::All,
            // "Don't wake me tomorrow" is how people ask for what undoes it.
            Wanted::Not(unwanted) if self.toolbox.is_undone(&text, unwanted) => Wanted::All,
            wanted => wanted,
        };
        let text = match wanted {
            Wanted::All => text,
            Wanted::Only(rest) => rest.to_owned(),
            Wanted::Not(_) | Wanted::Nothing => {
                let reply = self.left_alone();
                self.open(text, context, discovered);
                return self.reply(reply, Ending::Done);
            }
        };
        if answer.tool.is_none()
            && let Some(call) = self.reflex(&text)
        {
            return self.call_by_reflex(call, text, context, discovered);
        }
        if let Some(best) = self.toolbox.forbidden_best(&text)
            && best.score >= self.settings.act_score
        {
            tracing::info!(tool = best.name, "kept back by a rule");
            self.open(text, context, discovered);
            return self.reply(words::not_allowed(), Ending::CouldNot);
        }
        let fit = self.toolbox.rank(&text);
        let fit = match &answer.tool {
            Some(tool) => unsure::agreed(fit, tool),
            None => fit,
        };
        // Who says yes means what was asked about.
        let earlier = match answer.tool {
            Some(_) => None,
            None => self.talk.gone_on_from(&text, guest),
        };
        let scores = |fit: &[Match]| -> Vec<(String, f32)> {
            let scores = fit.iter().map(|hit| (hit.name.clone(), hit.score));
            scores.collect()
        };
        let (fit, scores) = match &earlier {
            Some(earlier) => {
                let (mut fit, scores) = self.rank_after(&text, earlier);
                // The schemas of its neighbours cost a hundred tokens each, and they are neighbours because it was called before.
                if let Some(best) = fit.first()
                    && best.score >= SURE_AGAIN
                    && self.toolbox.is_loaded(&best.name)
                {
                    fit.truncate(1);
                }
                (fit, scores)
            }
            None => {
                let scores = scores(&fit);
                (fit, scores)
            }
        };
        let sure = scores.first().is_some_and(|(tool, best)| {
            let enough = match self.settings.act_score {
                most if most < 1.0 && self.toolbox.is_about(tool, &text) => most * ABOUT_SOMETHING,
                most => most,
            };
            let tells = || {
                let examples = self.toolbox.find(tool).map_or(&[][..], |entry| entry.examples);
                negation::only_tells(&text, examples, &|word| self.toolbox.opens(word))
            };
            *best >= enough && !tells()
        });
        if !sure && earlier.is_none() && self.asks_back() {
            let best = fit.into_iter().next();
            self.open(text.clone(), context, discovered);
            return self.ask_back(text, best, guest);
        }
        let found = self.near(fit);
        discovered.extend(self.load(found.clone(), earlier.is_none().then_some(text.as_str())));
        self.found.ahead = self.toolbox.loaded_tokens().saturating_sub(before);
        let crowded = self.make_room();
        discovered.retain(|card| !crowded.iter().any(|gone| gone.name == card.name));
        // Only when the tool that fits best can be called now: else the model would have to take a wrong one.
        let callable = |(name, _): &(String, f32)| {
            self.toolbox.is_loaded(name) && !self.toolbox.forbids(Phase::Active, name)
        };
        let must_call = match scores.first() {
            Some(best) if sure && callable(best) => scores.into_iter().filter(callable).collect(),
            _ => Vec::new(),
        };
        let alone = match earlier {
            None => self.stands_alone(&must_call, &found, &text),
            Some(_) => None,
        };
        let context = match self.goes_without_time(&must_call) {
            true => String::new(),
            false => context,
        };
        self.open(text, context, discovered);
        self.turn.must_call = must_call;
        if let Some(shown) = alone {
            self.turn.show_alone(shown, &self.toolbox);
        }
        Step::Generate(self.ask())
    }

    /// The answer to who wants nothing: what was done just before is done.
    fn left_alone(&self) -> String {
        match &self.deed {
            Some(deed) if deed.done && deed.undo.is_some() => words::done_already(),
            Some(deed) if deed.done && !self.only_read(deed) => words::done_for_good(),
            _ => words::declined(),
        }
    }

    /// Whether it left everything as it was.
    fn only_read(&self, deed: &follow::Deed) -> bool {
        let entry = self.toolbox.find(&deed.call.name);
        entry.is_some_and(|entry| entry.effect == tools::Effect::Read)
    }

    fn open(&mut self, text: String, context: String, discovered: Vec<prompts::Card>) {
        self.turn = Turn {
            times: match tools::when::asks_when(&text) {
                true => Vec::new(),
                false => tools::when::mentions(&text)
                    .into_iter()
                    .map(str::to_owned)
                    .collect(),
            },
            ..Turn::default()
        };
        let user = Message::User {
            text,
            context,
            discovered,
        };
        self.talk.open(Exchange::new(user, self.guest));
    }

    fn generated(&mut self, text: &str) -> Step {
        self.found.searching = false;
        match self.renderer.dialect().parse(text) {
            Ok(Parsed::Text(words)) => self.answered(&words),
            Ok(Parsed::Call { name, arguments }) => {
                let frame = self.renderer.dialect().frame();
                let known = prompts::dialect::restore_name(&frame, &name, self.toolbox.names());
                let name = known.map_or(name.clone(), str::to_owned);
                self.called(Call { name, arguments })
            }
            // The grammar lets nothing through that cannot be read, so this is a call that was cut off at the
            // token limit. Asked again, a model at temperature 0 writes the same again.
            Err(_) => self.give_up(),
        }
    }

    fn called(&mut self, mut call: Call) -> Step {
        let Some(entry) = self.toolbox.find(&call.name) else {
            let near = self.toolbox.nearest(&call.name).join(", ");
            let note = format!("There is no tool {}. Near it: {near}.", call.name);
            self.turn.stumbled = true;
            return self.mistake(call, note);
        };
        // Neither grammar lets such a name through; what decides is not left to a grammar, and a server may have none.
        let free = self.turn.must_call.is_empty() || entry.name == toolbox::DISCOVER;
        if !free && !self.turn.must_call.iter().any(|(name, _)| name == entry.name) {
            let note = format!("{} does not fit what the person asked for.", call.name);
            return self.mistake(call, note);
        }
        if self.toolbox.forbids(Phase::Active, entry.name) {
            tracing::info!(tool = entry.name, "kept back by a rule");
            return self.reply(words::not_allowed(), Ending::CouldNot);
        }
        if entry.name == toolbox::DISCOVER {
            self.found.searching = true;
            return self.discovers(call);
        }
        if !self.toolbox.is_loaded(entry.name) {
            return self.just_in_time(call);
        }
        let Settled { grounded, untimed } = self.settle_arguments(&mut call, entry);
        tracing::debug!(
            tool = entry.name,
            ?grounded,
            untimed,
            "arguments that somebody said"
        );
        if let Some(question) = self.spares(&mut call, entry) {
            return question;
        }
        // Where no time was said there is none to be copied.
        if (grounded.made_up || grounded.missing.is_some()) && untimed.is_none() && self.may_copy() {
            self.turn.must_call = vec![(entry.name.to_owned(), 1.0)];
            return Step::Generate(self.ask());
        }
        // Without it the tool takes no such call, so nothing comes of it; that it was meant is part of the turn.
        self.turn.missing = untimed.map(str::to_owned).or(grounded.missing);
        self.turn.own_words = grounded.own_words;
        if !self.turn.seen.insert(format!("{}{}", call.name, call.arguments)) {
            return self.give_up();
        }
        match self.untimed(&call, entry) {
            Some(Untimed::Later) => return self.asks_whether_now(call),
            lasting => self.turn.lasting = lasting.is_some(),
        }
        self.within_budget(call, None)
    }

    /// Whether the model is asked again for texts that nobody said, this time in the person's own words; once in a turn, and
    /// only where a grammar holds it to them.
    fn may_copy(&mut self) -> bool {
        let may = !self.renderer.dialect().takes_messages();
        may && !std::mem::replace(&mut self.turn.copies, true)
    }

    /// A call that needs no model: what it is made of was said before, and what is new is the person's.
    fn calls(&mut self, call: Call, instead: Option<Undo>) -> Step {
        let forbids = |phase| self.toolbox.forbids(phase, &call.name);
        if forbids(Phase::Load) || forbids(Phase::Active) {
            tracing::info!(tool = call.name, "kept back by a rule");
            return self.reply(words::not_allowed(), Ending::CouldNot);
        }
        self.turn.own_words = true;
        self.within_budget(call, instead)
    }

    fn within_budget(&mut self, call: Call, instead: Option<Undo>) -> Step {
        if self.rest.calls >= self.settings.max_calls {
            let did = self.turn.did.take().map(|did| format!("{did} "));
            return self.reply(
                did.unwrap_or_default() + &words::too_many_calls(),
                Ending::CouldNot,
            );
        }
        self.rest.calls += 1;
        self.toolbox.touch(&call.name);
        // Until it comes back nobody knows what was done last.
        self.deed = None;
        match instead {
            Some(undo) => {
                self.turn.instead = true;
                Step::Instead(call, undo)
            }
            None => Step::Call(call),
        }
    }

    fn came_back(&mut self, call: &Call, outcome: Outcome) -> Step {
        self.keep_deed(call, &outcome);
        match outcome {
            Outcome::Done(output) => self.done(call, output),
            Outcome::Misfit(text) => {
                if let Some(missing) = self.turn.missing.take() {
                    return self.reply(self.asks_for(&call.name, &missing), Ending::CouldNot);
                }
                self.turn.stumbled = true;
                self.mistake(call.clone(), text)
            }
            // That a search found nothing is for the model; what it then says by itself may well be the answer.
            Outcome::Tell(text) if call.name == toolbox::DISCOVER => self.mistake(call.clone(), text),
            Outcome::Tell(text) => self.told(call, text, false),
            Outcome::TellOthers(text) => self.told(call, text, true),
            Outcome::TakenBack { text, untrusted } => self.could_not(Told { text, untrusted }),
            Outcome::Broken(sentence) => self.reply(sentence, Ending::CouldNot),
            Outcome::Declined => self.reply(words::declined(), Ending::NeedsConfirmation),
            Outcome::Unclear(sentence) => self.reply(sentence, Ending::NeedsConfirmation),
            // The question may name what others named; the conversation need not keep it.
            Outcome::NeedsConfirmation(question) => self.end(
                words::needs_confirmation(&question),
                words::asked_first(),
                Ending::NeedsConfirmation,
            ),
        }
    }

    fn done(&mut self, call: &Call, output: tools::Output) -> Step {
        let untrusted = output.untrusted || self.toolbox.find(&call.name).is_none_or(|e| e.untrusted);
        let cards = self.load_later(output.load.clone());
        let content = match self.settings.answer.unless(self.turn.reflex) {
            // What was found is for the model alone, and it goes on with it.
            _ if call.name == toolbox::DISCOVER => cap(&output.data.to_string(), MAX_RESULT),
            // The tool's own sentence is all that the person hears, so it is all that a later request can mean. The data
            // would be three times as many tokens.
            Answer::Tool => cap(&output.say, MAX_SAID),
            Answer::Model => cap(&output.data.to_string(), MAX_RESULT),
        };
        self.note(call.clone(), content, untrusted, cards);
        let data = output.data;
        self.turn.told = None;
        self.turn.frees();
        self.turn.stumbled = false;
        if call.name == toolbox::DISCOVER {
            return Step::Generate(self.ask());
        }
        let say = match std::mem::take(&mut self.turn.instead) {
            true => words::instead(&output.say),
            false => output.say,
        };
        let say = match std::mem::take(&mut self.turn.lasting) {
            true => words::stays(&say),
            false => say,
        };
        self.turn.did = Some(say.clone());
        self.prove(call, &say, &data, untrusted);
        // What needed no model need not wait for its words.
        match self.settings.answer.unless(self.turn.reflex) {
            // The model reads what the tool found in the delimited result. Repeated as Tiro's own words it would
            // stand outside the delimiters.
            Answer::Tool if untrusted => self.tells(say, words::read_out()),
            Answer::Tool => self.tells(say, words::told()),
            Answer::Model => Step::Generate(self.ask()),
        }
    }

    /// A call could not be done for a reason that the model or the person can mend.
    fn told(&mut self, call: &Call, text: String, untrusted: bool) -> Step {
        let told = Told {
            text: text.clone(),
            untrusted,
        };
        // What the model got from the person to the word it cannot mend. Seen: of 46 such calls none was mended, and
        // each attempt cost a second.
        if self.turn.own_words {
            self.note(call.clone(), text, untrusted, Vec::new());
            return self.could_not(told);
        }
        self.turn.told = Some(told);
        self.try_again(call.clone(), text, untrusted)
    }

    /// Tells the model what was wrong and lets it try again, a few times.
    fn mistake(&mut self, call: Call, note: String) -> Step {
        self.try_again(call, note, false)
    }

    fn try_again(&mut self, call: Call, note: String, untrusted: bool) -> Step {
        self.turn.frees();
        if !self.may_go_on() {
            return self.give_up();
        }
        self.note(call, note, untrusted, Vec::new());
        Step::Generate(self.ask())
    }

    /// Counts a mistake of the model, and says whether it may make another attempt; a sentence has so many for all of its
    /// requests.
    fn may_go_on(&mut self) -> bool {
        self.turn.mistakes += 1;
        self.rest.mistakes += 1;
        self.rest.mistakes <= MAX_MISTAKES
    }

    /// Ends a turn with what a failed call told.
    fn could_not(&mut self, told: Told) -> Step {
        let remembered = match told.untrusted {
            true => words::read_out(),
            false => told.text.clone(),
        };
        self.end(told.text, remembered, Ending::CouldNot)
    }

    /// Ends a turn with what a tool answered. It may end like a question, but it is none of Tiro's.
    fn tells(&mut self, text: String, remembered: String) -> Step {
        self.end_with(text, remembered, Ending::Done, false)
    }

    fn reply(&mut self, text: String, end: Ending) -> Step {
        let remembered = text.clone();
        self.end(text, remembered, end)
    }

    /// Ends the turn with words of Tiro's; `remembered` is what the conversation keeps as the answer.
    fn end(&mut self, text: String, remembered: String, end: Ending) -> Step {
        let asks = text.trim_end().ends_with('?');
        self.end_with(text, remembered, end, asks)
    }

    fn end_with(&mut self, text: String, remembered: String, end: Ending, asks: bool) -> Step {
        self.last = Some(tools::Answered {
            text: text.clone(),
            // What is not kept as it was said holds words of others, unless a trusted result before it holds it.
            untrusted: self.tainted() || (text != remembered && remembered != words::told()),
        });
        self.talk.close(remembered, asks);
        self.turn = Turn::default();
        Step::Reply(Reply { text, end })
    }

    /// Adds a call and its result to the open turn.
    fn note(&mut self, call: Call, content: String, untrusted: bool, discovered: Vec<prompts::Card>) {
        self.sources.insert(call.name.clone());
        self.talk.add(Message::Call {
            name: call.name.clone(),
            arguments: call.arguments,
        });
        self.talk.add(Message::Result {
            name: call.name,
            content,
            untrusted,
            discovered,
        });
        if untrusted {
            // Rules may hold only from now on.
            self.toolbox.taint(true);
        }
    }
}

/// Cuts at a character boundary and says so, because a model that sees half a list should know.
fn cap(text: &str, max: usize) -> String {
    match text.char_indices().nth(max) {
        None => text.to_owned(),
        Some((end, _)) => format!("{} [cut]", &text[..end]),
    }
}
