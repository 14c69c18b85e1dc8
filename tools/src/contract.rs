//! What a tool is: typed arguments, an effect, a policy, words, and `run`.

use std::{collections::BTreeSet, path::PathBuf, sync::Arc, time::Duration};

use futures_util::future::BoxFuture;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize, de::DeserializeOwned};
use serde_json::Value;

use crate::{
    discover::{Index, Lens},
    system::{desktop::Desk, journal::Step, known::Kind, progress::Progress},
};

/// One thing that Tiro can do. One implementation, one file in `catalog/`; everything else
/// (schema, grammar, catalogue row, search document, help) is derived from it.
pub trait Tool: 'static {
    /// Typed arguments. The JSON schema that the model sees is derived from this type, never written by hand:
    /// doc comments become descriptions, `Option` fields become optional. Field order is the order in the grammar.
    type Args: DeserializeOwned + JsonSchema + Send;

    /// `domain.verb`, from the table in DESIGN section 4. A contract: evaluation sets refer to it.
    const NAME: &'static str;
    /// What it does, at most 80 characters, in the person's words.
    const SUMMARY: &'static str;
    /// What running it does to the world. There is no default on purpose.
    const EFFECT: Effect;
    /// Whether its schema stands in the prompt from the start.
    const LOAD: LoadPolicy = LoadPolicy::Deferred;
    /// Whether the person is asked first. Deletes set this although they can be undone.
    const CONFIRM: bool = matches!(Self::EFFECT, Effect::Irreversible | Effect::Egress);
    /// Whether the result carries text that somebody else wrote; such a result taints the turn.
    const UNTRUSTED: bool = false;
    /// Whether a time in the request can only be its `when`. False where it may as well be among the words that are looked
    /// for: "the mail about friday's meeting".
    const TIMED: bool = false;
    /// Arguments that say more about the time that was named, such as its place, each with the one that is meant where no time
    /// was named.
    const OF_TIME: &'static [(&'static str, &'static str)] = &[];
    /// Arguments that the model may word by itself: a text that the person dictates, which may be whole sentences, or an
    /// address that is written otherwise than said. Every other required text is copied from the person's words.
    const WORDED: &'static [&'static str] = &[];
    /// Arguments that point at something which is there and has a name. Where such a name was said as a whole the model may
    /// write it as it is. None belongs here where the name may as well stand in another argument: in a text, or as where to. A
    /// list may, because nothing is put into one by itself.
    const NAMED: &'static [(&'static str, Kind)] = &[];
    /// Arguments that say something of time, as it was said, and what of it; the first one takes a time that was said once.
    const TIMES: &'static [(&'static str, TimeRole)] = &[];
    /// Whether it may only be filled from the person's own words: refused, not asked about, once somebody else's text
    /// is in the conversation.
    const OWN_WORDS: bool = false;
    /// How long `run` may take. What only reads is dropped then; of everything else the person hears that it takes too long,
    /// and it is finished, so what it waits for needs bounds of its own.
    const TIMEOUT: Duration = Duration::from_secs(10);
    /// What people say when they want this, at least three.
    const EXAMPLES: &'static [&'static str];
    /// Requests and the arguments that each is called with, as JSON: what a model goes by when it fills them. With a tool that is
    /// found it sees those that are worded most like the request that found it. Their texts stand in the request to the word.
    const CALLS: &'static [(&'static str, &'static str)] = &[];
    /// Wordings that are this call and can be nothing else, with typed slots: they are carried out without the model.
    /// How they are written stands in `reflex/pattern.rs`.
    const PATTERNS: &'static [&'static str] = &[];
    /// One sentence on when to choose this over its neighbours.
    const USE_WHEN: &'static str = "";
    /// One sentence on what it cannot do.
    const LIMITS: &'static str = "";

    /// Says in one line what `run` would do, with every argument resolved (times, names): the question
    /// that the person confirms. Must not change anything.
    ///
    /// # Errors
    /// The same as `run` for arguments that cannot be resolved.
    fn preview(_args: &Self::Args, _ctx: &Ctx) -> Result<String, ToolError> {
        Ok(Self::SUMMARY.to_owned())
    }

    /// Does it.
    fn run(args: Self::Args, ctx: &Ctx) -> impl Future<Output = Result<Output, ToolError>> + Send;
}

/// What an argument of a tool says of time.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TimeRole {
    /// When something shall be, once or again and again: a time that was named and stands nowhere else is this one.
    At,
    /// When something that is there shall be instead: as [`TimeRole::At`], and "thirty minutes" is so much later.
    Moved,
    /// When something is that is looked for; a time that was named may also be among the words that are looked for.
    Find,
    /// The end of what begins [`TimeRole::At`], or how long it takes.
    End,
    /// How long.
    Length,
    /// How long before the start to remind.
    Ahead,
    /// Until when, or how long from now.
    Until,
}

/// What running a tool does to the world.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Effect {
    /// Changes nothing.
    Read,
    /// Changes something that can be undone.
    Write,
    /// Changes something for good.
    Irreversible,
    /// Sends something off this machine.
    Egress,
}

/// Whether a tool's schema stands in the prompt from the start.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum LoadPolicy {
    /// Section 1 of the prompt: full schema, always.
    Core,
    /// Section 2: one row, until it is discovered.
    Deferred,
}

/// What a tool may use: the pinned clock, the folders, the index. Made anew for every call.
#[derive(Clone)]
pub struct Ctx {
    /// The moment of the turn in the local zone; `--now` pins it.
    pub now: jiff::Zoned,
    /// Where the person's data lives.
    pub dirs: Dirs,
    /// The discovery index over all tools, foreign ones too.
    pub index: Arc<Index>,
    /// How searches for tools are cut.
    pub search: Search,
    /// Whether a daemon runs that will ring what is set now.
    pub daemon: bool,
    /// When the person works.
    pub work: Work,
    /// What was last answered in this conversation.
    pub last: Option<Answered>,
    /// How long a snooze is when nobody says.
    pub snooze: Duration,
    /// The desktop of the person: its services, programs and settings.
    pub desk: Desk,
    /// Who the person is by mail.
    pub mail: Mail,
    /// Programs, the bus and the one server that tools reach beyond the folders.
    pub reach: Reach,
    /// What this call writes through, so that it can be undone; every call has one of its own.
    pub step: Step,
    /// How far a call is that takes its time, and whether it is still wanted.
    pub progress: Progress,
}

impl Ctx {
    /// Nine minutes, as clocks have had it since they had gears.
    pub const SNOOZE: Duration = Duration::from_secs(9 * 60);

    /// What a call needs at least; the rest as a process without a daemon, without a desktop and with the default
    /// config has it.
    pub fn new(now: jiff::Zoned, dirs: Dirs, index: Arc<Index>, step: Step) -> Ctx {
        Ctx {
            now,
            dirs,
            index,
            search: Search::default(),
            daemon: false,
            work: Work::default(),
            last: None,
            snooze: Ctx::SNOOZE,
            desk: Desk::nowhere(),
            mail: Mail::default(),
            reach: Reach::default(),
            step,
            progress: Progress::default(),
        }
    }

    /// Runs work on files away from the threads that everything else shares. `what` is what is being done, for the
    /// person, should it fail.
    ///
    /// # Errors
    /// Those of the work; `Broken` when it panics.
    pub async fn blocking<T: Send + 'static>(
        &self,
        what: &str,
        work: impl FnOnce(&Ctx) -> Result<T, ToolError> + Send + 'static,
    ) -> Result<T, ToolError> {
        let ctx = self.clone();
        tokio::task::spawn_blocking(move || work(&ctx))
            .await
            .map_err(|e| ToolError::broken(what, e))?
    }
}

/// What tools reach beyond the folders: other programs, the session bus, and a weather service where that is wanted.
#[derive(Debug, Clone, PartialEq)]
pub struct Reach {
    /// The command that opens a file or an address with its default program; empty means what this system has for it.
    pub opener: Vec<String>,
    /// `tiro` itself, to be started for work that may crash or that has to outlive this process (`system::helper`).
    /// Without it such work is done in this process.
    pub helper: Option<PathBuf>,
    /// Where the web is searched; `{}` stands for the words.
    pub search_url: String,
    /// The weather.
    pub weather: Weather,
    /// The number of the Signal account that sends, where signal-cli has several; empty takes the only one.
    pub signal: String,
}

impl Default for Reach {
    fn default() -> Reach {
        Reach {
            opener: Vec::new(),
            helper: None,
            search_url: "https://duckduckgo.com/?q={}".to_owned(),
            weather: Weather::default(),
            signal: String::new(),
        }
    }
}

/// Whether, where and for where the weather is asked for.
#[derive(Debug, Clone, PartialEq)]
pub struct Weather {
    /// Nothing is sent anywhere without this.
    pub enabled: bool,
    /// The forecast service, in the shape of Open-Meteo's `/v1/forecast`.
    pub url: String,
    /// Where a place is, in the shape of Open-Meteo's `/v1/search`.
    pub places_url: String,
    /// The person's own place.
    pub place: String,
    /// Where that is, in degrees north and east; without it the places service is asked.
    pub at: Option<(f64, f64)>,
    /// Whether degrees are Fahrenheit and speeds miles an hour.
    pub imperial: bool,
}

impl Default for Weather {
    fn default() -> Weather {
        Weather {
            enabled: false,
            url: "https://api.open-meteo.com/v1/forecast".to_owned(),
            places_url: "https://geocoding-api.open-meteo.com/v1/search".to_owned(),
            place: String::new(),
            at: None,
            imperial: false,
        }
    }
}

/// An answer that was given.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Answered {
    /// As the person heard it.
    pub text: String,
    /// Whether somebody else's words may be in it.
    pub untrusted: bool,
}

/// Working hours, in the local zone.
#[derive(Debug, Clone, PartialEq)]
pub struct Work {
    /// When a working day begins.
    pub from: jiff::civil::Time,
    /// When it is over; after `from`.
    pub to: jiff::civil::Time,
    /// Which days those are.
    pub days: Vec<jiff::civil::Weekday>,
}

impl Default for Work {
    /// Nine to five, Monday to Friday.
    fn default() -> Work {
        use jiff::civil::Weekday;
        Work {
            from: jiff::civil::time(9, 0, 0, 0),
            to: jiff::civil::time(17, 0, 0, 0),
            days: vec![
                Weekday::Monday,
                Weekday::Tuesday,
                Weekday::Wednesday,
                Weekday::Thursday,
                Weekday::Friday,
            ],
        }
    }
}

/// Who the person is by mail; from the config.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Mail {
    /// The accounts, the first of them the one that sends when nobody says which.
    pub accounts: Vec<MailAccount>,
    /// How long a mail that was confirmed waits in the outbox before it goes.
    pub recall: Duration,
}

impl Default for Mail {
    /// No account, and ten seconds.
    fn default() -> Mail {
        Mail {
            accounts: Vec::new(),
            recall: Duration::from_secs(10),
        }
    }
}

/// One of the person's mail accounts.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MailAccount {
    /// What the person calls it: lower-case letters, digits and `-`.
    pub name: String,
    /// The person's address there.
    pub address: String,
    /// The person's name as recipients see it; may be empty.
    pub sender: String,
    /// Its Maildir, with `.Sent`, `.Drafts`, `.Archive` and `.Trash` as Maildir++ folders. An account without an IMAP
    /// server has the person's own Maildir.
    pub maildir: PathBuf,
    /// Whether it can send.
    pub sends: bool,
}

/// The person's data, one folder a kind; each can be set in the config.
#[derive(Debug, Clone)]
pub struct Dirs {
    /// vdir collections holding VEVENTs: `calendars/<calendar>/<uid>.ics`.
    pub calendars: PathBuf,
    /// vdir collections holding VTODOs: `reminders/<list>/<uid>.ics`.
    pub reminders: PathBuf,
    /// vdir collections holding VTODOs without a time, for shopping and packing: `lists/<list>/<uid>.ics`. A root of their
    /// own, so that what is to be bought is not among what is to be done.
    pub lists: PathBuf,
    /// One vdir collection holding VEVENTs with VALARMs: `alarms/<uid>.ics`.
    pub alarms: PathBuf,
    /// vdir collections holding vCards: `contacts/<book>/<uid>.vcf`.
    pub contacts: PathBuf,
    /// Markdown files.
    pub notes: PathBuf,
    /// What the person told Tiro to remember, one Markdown file a fact.
    pub memory: PathBuf,
    /// Maildir, with `.Sent`, `.Drafts`, ... as Maildir++ subfolders. What is kept in step with an IMAP server is in
    /// Maildirs of its own below it, `accounts/<name>`.
    pub mail: PathBuf,
    /// Music, found by the names of files and folders.
    pub music: PathBuf,
    /// Where pictures of the screen go.
    pub pictures: PathBuf,
    /// The folders whose files may be found, read and moved, with everything below them: Documents, Downloads, ...
    pub files: Vec<PathBuf>,
    /// The trash of the desktop, as freedesktop.org specifies it.
    pub trash: PathBuf,
    /// The person's own programs that can be run by name.
    pub shortcuts: PathBuf,
    /// What Tiro keeps for itself: timers, journal.
    pub state: PathBuf,
    /// What can be made or fetched again: words of files, the last forecast.
    pub cache: PathBuf,
    /// Folders with desktop entries, nearest first (`$XDG_DATA_HOME/applications`, ...).
    pub applications: Vec<PathBuf>,
}

impl Dirs {
    /// All folders under one root, as `TIRO_HOME` and the tests want it.
    pub fn under(root: &std::path::Path) -> Dirs {
        Dirs {
            calendars: root.join("calendars"),
            reminders: root.join("reminders"),
            lists: root.join("lists"),
            alarms: root.join("alarms"),
            contacts: root.join("contacts"),
            notes: root.join("notes"),
            memory: root.join("memory"),
            mail: root.join("mail"),
            music: root.join("music"),
            pictures: root.join("pictures"),
            files: vec![root.join("files")],
            trash: root.join("Trash"),
            shortcuts: root.join("shortcuts"),
            state: root.join("state"),
            cache: root.join("cache"),
            applications: vec![root.join("applications")],
        }
    }
}

/// What a tool answers.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Output {
    /// The answer as the person hears it: short, plain, true by construction because the tool made it
    /// from what it read or did.
    pub say: String,
    /// The same as data, for the model and for `--json`.
    pub data: Value,
    /// Tools whose schemas are loaded by this result; only `tools.discover` fills it.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub load: Vec<String>,
    /// Whether somebody else wrote parts of this result although the tool's results usually are the person's own:
    /// an invitation in their calendar.
    #[serde(default)]
    pub untrusted: bool,
    /// The number under which the journal has what was written, so that it can be taken back.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub step: Option<i64>,
}

impl Output {
    /// An answer with its data.
    pub fn new(say: impl Into<String>, data: Value) -> Output {
        Output {
            say: say.into(),
            data,
            load: Vec::new(),
            untrusted: false,
            step: None,
        }
    }
}

/// How searches for tools are cut and what they see.
#[derive(Debug, Clone, PartialEq)]
pub struct Search {
    /// Tools that one search loads unless it asks for another number.
    pub top_k: usize,
    /// How well a tool must fit, 0 to 1.
    pub min_score: f32,
    /// Whether what a search finds is loaded at once. Else it is only named, and the name must be asked for.
    pub auto_load: bool,
    /// What this request sees.
    pub lens: Arc<Lens>,
    /// The tools that the model is shown from the start, where that is not what they say themselves.
    pub core: Option<Arc<BTreeSet<String>>>,
}

impl Search {
    /// Whether the model is shown this tool from the start.
    pub fn is_core(&self, name: &str) -> bool {
        match &self.core {
            Some(core) => core.contains(name),
            None => crate::find(name).is_some_and(|entry| entry.load == LoadPolicy::Core),
        }
    }
}

impl Default for Search {
    fn default() -> Search {
        Search {
            top_k: 3,
            min_score: crate::discover::MIN_SCORE,
            auto_load: true,
            lens: Arc::default(),
            core: None,
        }
    }
}

/// Why a tool could not, by audience.
#[derive(Debug, Clone, thiserror::Error)]
pub enum ToolError {
    /// The model may try again, or the person can answer: says what, and what to do.
    #[error("{0}")]
    Tell(String),
    /// The same with words of others in it, such as the title of an invitation: it taints the conversation.
    #[error("{0}")]
    TellOthers(String),
    /// The arguments do not have the shape that the schema asks for. Only the model can mend that, so only the model
    /// hears it.
    #[error("{0}")]
    Misfit(String),
    /// Nothing that the model or the person said can mend it. Logged; the person hears one plain sentence.
    #[error("{what}: {cause}")]
    Broken {
        /// What was being done, for the person: "read your calendar".
        what: String,
        /// The technical reason, for the log.
        cause: String,
    },
}

impl ToolError {
    /// An error for the model or the person.
    pub fn tell(text: impl Into<String>) -> ToolError {
        ToolError::Tell(text.into())
    }

    /// An error for the log.
    pub fn broken(what: impl Into<String>, cause: impl std::fmt::Display) -> ToolError {
        ToolError::Broken {
            what: what.into(),
            cause: cause.to_string(),
        }
    }
}

/// A tool with its types erased: what the rest of the program holds.
#[derive(Clone, Copy)]
pub struct Entry {
    /// `domain.verb`.
    pub name: &'static str,
    /// At most 80 characters.
    pub summary: &'static str,
    /// What it does to the world.
    pub effect: Effect,
    /// Core or deferred.
    pub load: LoadPolicy,
    /// Whether the person is asked first.
    pub confirm: bool,
    /// Whether its result taints the turn.
    pub untrusted: bool,
    /// As [`Tool::TIMED`].
    pub timed: bool,
    /// As [`Tool::OF_TIME`].
    pub of_time: &'static [(&'static str, &'static str)],
    /// As [`Tool::WORDED`].
    pub worded: &'static [&'static str],
    /// [`Tool::NAMED`].
    pub named: &'static [(&'static str, Kind)],
    /// [`Tool::TIMES`].
    pub times: &'static [(&'static str, TimeRole)],
    /// Whether a tainted conversation refuses it.
    pub own_words: bool,
    /// How long it may run.
    pub timeout: Duration,
    /// What people say when they want it.
    pub examples: &'static [&'static str],
    /// As [`Tool::CALLS`].
    pub calls: &'static [(&'static str, &'static str)],
    /// As [`Tool::PATTERNS`].
    pub patterns: &'static [&'static str],
    /// When to choose it.
    pub use_when: &'static str,
    /// What it cannot do.
    pub limits: &'static str,
    schema: fn() -> Value,
    preview: fn(Value, &Ctx) -> Result<String, ToolError>,
    run: for<'a> fn(Value, &'a Ctx) -> BoxFuture<'a, Result<Output, ToolError>>,
}

impl Entry {
    /// Erases the types of a tool.
    pub const fn of<T: Tool>() -> Entry {
        Entry {
            name: T::NAME,
            summary: T::SUMMARY,
            effect: T::EFFECT,
            load: T::LOAD,
            confirm: T::CONFIRM,
            untrusted: T::UNTRUSTED,
            timed: T::TIMED,
            of_time: T::OF_TIME,
            worded: T::WORDED,
            named: T::NAMED,
            times: T::TIMES,
            own_words: T::OWN_WORDS,
            timeout: T::TIMEOUT,
            examples: T::EXAMPLES,
            calls: T::CALLS,
            patterns: T::PATTERNS,
            use_when: T::USE_WHEN,
            limits: T::LIMITS,
            schema: schema_of::<T>,
            preview: preview_of::<T>,
            run: run_of::<T>,
        }
    }

    /// The part of the name before the dot.
    pub fn domain(&self) -> &'static str {
        self.name.split('.').next().unwrap_or(self.name)
    }

    /// JSON schema of the arguments: an object with `properties` in declaration order and `required`,
    /// every `$ref` inlined and every `title` dropped, since both cost tokens and grammars need neither.
    pub fn parameters(&self) -> Value {
        (self.schema)()
    }

    /// One line that says what `run` would do.
    ///
    /// # Errors
    /// `Tell` when the arguments do not fit or cannot be resolved.
    pub fn preview(&self, args: Value, ctx: &Ctx) -> Result<String, ToolError> {
        (self.preview)(args, ctx)
    }

    /// Parses the arguments and runs, as one step of the undo journal. It asks nobody: whatever the model, the person or
    /// another program wants done comes through `daemon/src/act.rs`, which asks for consent and watches the time. Besides,
    /// only the text-mode harness calls this (`daemon/src/eval/stage.rs`), to make and to look at a world that is nobody's.
    /// `tests/src/tidy.rs` looks for other callers.
    pub fn run<'a>(&self, args: Value, ctx: &'a Ctx) -> BoxFuture<'a, Result<Output, ToolError>> {
        (self.run)(args, ctx)
    }
}

impl std::fmt::Debug for Entry {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Entry")
            .field("name", &self.name)
            .field("effect", &self.effect)
            .finish_non_exhaustive()
    }
}

fn schema_of<T: Tool>() -> Value {
    let settings = schemars::generate::SchemaSettings::draft2020_12().with(|s| {
        s.inline_subschemas = true;
        s.meta_schema = None;
    });
    let mut schema = settings
        .into_generator()
        .into_root_schema_for::<T::Args>()
        .to_value();
    tidy_schema(&mut schema);
    if let Some(object) = schema.as_object_mut() {
        // What the type itself is documented as is for readers of the code; the model has the summary.
        object.shift_remove("description");
        // Every tool refuses what it does not know; saying so in each schema costs tokens and tells a model nothing.
        object.shift_remove("additionalProperties");
        object
            .entry("properties")
            .or_insert_with(|| Value::Object(serde_json::Map::new()));
    }
    schema
}

/// Drops what the model does not need: titles, number formats, and the `null` half of optional fields
/// (an optional argument is left out, not null).
fn tidy_schema(schema: &mut Value) {
    match schema {
        Value::Object(object) => {
            if object.get("title").is_some_and(Value::is_string) {
                object.shift_remove("title");
            }
            object.shift_remove("format");
            if object.get("default").is_some_and(Value::is_null) {
                object.shift_remove("default");
            }
            if let Some(Value::Array(types)) = object.get_mut("type") {
                types.retain(|t| t != "null");
                if types.len() == 1 {
                    let only = types.remove(0);
                    object.insert("type".into(), only);
                }
            }
            if let Some(Value::Array(any)) = object.get_mut("anyOf") {
                any.retain(|s| s.get("type").is_none_or(|t| t != "null"));
                if any.len() == 1
                    && let Value::Object(only) = any.remove(0)
                {
                    object.shift_remove("anyOf");
                    for (key, value) in only {
                        object.entry(key).or_insert(value);
                    }
                }
            }
            if let Some(Value::Array(values)) = object.get_mut("enum") {
                values.retain(|v| !v.is_null());
            }
            object.values_mut().for_each(tidy_schema);
        }
        Value::Array(items) => items.iter_mut().for_each(tidy_schema),
        _ => {}
    }
}

fn parse<T: Tool>(args: Value) -> Result<T::Args, ToolError> {
    serde_json::from_value(args)
        .map_err(|e| ToolError::Misfit(format!("The arguments of {} do not fit: {e}.", T::NAME)))
}

fn preview_of<T: Tool>(args: Value, ctx: &Ctx) -> Result<String, ToolError> {
    T::preview(&parse::<T>(args)?, ctx)
}

fn run_of<T: Tool>(args: Value, ctx: &Ctx) -> BoxFuture<'_, Result<Output, ToolError>> {
    let args = match parse::<T>(args) {
        Ok(args) => args,
        Err(error) => return Box::pin(std::future::ready(Err(error))),
    };
    let ctx = Ctx {
        step: ctx.step.journal().step(T::NAME),
        ..ctx.clone()
    };
    Box::pin(async move {
        let mut result = T::run(args, &ctx).await;
        match &mut result {
            Ok(output) => {
                ctx.step.did(&output.say, T::UNTRUSTED || output.untrusted);
                output.step = ctx.step.number();
            }
            Err(_) if ctx.step.wrote() => {
                ctx.blocking(T::NAME, |ctx| ctx.step.take_back().map_err(|e| e.tool(T::NAME)))
                    .await
                    .unwrap_or_else(|error| tracing::warn!(%error, "half of a failed call stays"));
            }
            Err(_) => {}
        }
        result
    })
}
