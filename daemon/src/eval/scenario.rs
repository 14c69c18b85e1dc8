//! Scenario files: JSONL, one scenario a line, every field known.
//!
//! `{"id", "say" | "wav", "now"?, "world"?, "accept": [tool names], "args"?: {tool: {argument: matcher}},
//! "confirm"?: answer | [answers]}` and, for what one turn cannot show, `"turns": [...]` with the fields of one turn each.
//! `docs/eval.md` describes every field.

use std::{
    collections::{BTreeMap, BTreeSet},
    path::{Path, PathBuf},
};

use anyhow::{Context as _, bail, ensure};
use serde::Deserialize;
use serde_json::{Map, Value};
use tools::{Entry, system::store};

use super::matching::Matcher;
use crate::{
    reply::{self, Confirmation},
    room::Clock,
    world::World,
};

/// No scenario file is larger.
const MAX_BYTES: u64 = 64 << 20;
/// How alike a field that is not known must be to a known one to be a slip of the pen.
const SLIP: f64 = 0.85;

/// One scenario.
#[derive(Debug, Clone)]
pub struct Scenario {
    /// Its name; no two in a run are the same.
    pub id: String,
    /// When it happens; the clock stands still. `None` is the clock of the run.
    pub now: Option<Clock>,
    /// What the person's folders hold; nothing when left out.
    pub world: Option<World>,
    /// Tools that run before anybody speaks, to set alarms and lists and the like.
    pub before: Vec<Prepare>,
    /// What is said, and what should come of it.
    pub turns: Vec<Turn>,
}

/// One turn.
#[derive(Debug, Clone)]
pub struct Turn {
    /// What is said.
    pub words: Words,
    /// The tools that are right; none when no tool may act.
    pub accept: BTreeSet<String>,
    /// The tools of which each must be called, in the order in which they are asked for; a sentence may hold several
    /// requests.
    pub all: Vec<String>,
    /// What the arguments of a tool should be, in its last call.
    pub args: BTreeMap<String, Arguments>,
    /// The same of every call, in order, of a tool that is asked for several times.
    pub each: BTreeMap<String, Vec<Arguments>>,
    /// What is answered when Tiro asks; left out there is nobody to ask.
    pub confirm: Option<Answers>,
    /// What the world must hold afterwards, found out by tools that only read.
    pub after: Vec<Check>,
    /// What the answer must and must not hold, besides.
    pub reply: Text,
}

/// What the arguments of one call should be.
pub type Arguments = BTreeMap<String, Matcher>;

/// What a turn begins with.
#[derive(Debug, Clone)]
pub enum Words {
    /// Text.
    Text(String),
    /// A recording.
    Wav(PathBuf),
}

/// A tool that runs before anybody speaks.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Prepare {
    /// `domain.verb`.
    pub tool: String,
    /// Its arguments.
    #[serde(default = "no_arguments")]
    pub arguments: Value,
}

/// A tool that looks at the world.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Check {
    /// `domain.verb`; it only reads.
    pub tool: String,
    /// Its arguments.
    #[serde(default = "no_arguments")]
    pub arguments: Value,
    /// What its answer holds.
    #[serde(default)]
    pub has: Vec<String>,
    /// What its answer does not hold.
    #[serde(default)]
    pub lacks: Vec<String>,
}

/// What a text must and must not hold, whatever its case.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Text {
    /// All of this.
    #[serde(default)]
    pub has: Vec<String>,
    /// None of this.
    #[serde(default)]
    pub lacks: Vec<String>,
}

impl Text {
    /// What is wrong with a text; nothing when it is as it should be.
    pub fn problems(&self, whose: &str, text: &str) -> Vec<String> {
        let text = text.to_lowercase();
        let holds = |part: &&String| text.contains(&part.to_lowercase());
        let missing = self.has.iter().filter(|part| !holds(part));
        let surplus = self.lacks.iter().filter(holds);
        let missing = missing.map(|part| format!("{whose} lacks \"{part}\""));
        missing
            .chain(surplus.map(|part| format!("{whose} holds \"{part}\"")))
            .collect()
    }
}

fn no_arguments() -> Value {
    Value::Object(Map::new())
}

/// A line as it is written.
#[derive(Deserialize)]
struct Line {
    id: String,
    now: Option<String>,
    world: Option<Value>,
    #[serde(default)]
    before: Vec<Prepare>,
    turns: Option<Vec<Map<String, Value>>>,
}

/// The fields of one turn.
#[derive(Deserialize)]
struct Said {
    wav: Option<PathBuf>,
    #[serde(default)]
    accept: BTreeSet<String>,
    #[serde(default)]
    all: Vec<String>,
    #[serde(default)]
    args: BTreeMap<String, OneOrEach>,
    confirm: Option<Confirm>,
    #[serde(default)]
    after: Vec<Check>,
    #[serde(default)]
    reply: Text,
}

/// Arguments of a tool, or of each of its calls.
#[derive(Deserialize)]
#[serde(untagged)]
enum OneOrEach {
    One(Arguments),
    Each(Vec<Arguments>),
}

/// What is answered to the questions of a turn.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Answers {
    /// The same to all of them.
    Always(Confirmation),
    /// One after the other, and nothing to those after them.
    Each(Vec<Confirmation>),
}

impl Answers {
    /// The answer to the next question; silence is no.
    pub fn answer(&mut self) -> Confirmation {
        match self {
            Answers::Always(answer) => answer.clone(),
            Answers::Each(answers) if answers.is_empty() => Confirmation::No,
            Answers::Each(answers) => answers.remove(0),
        }
    }

    fn read(confirm: Confirm) -> anyhow::Result<Answers> {
        let meant = |line: &String| {
            reply::answer(line)
                .with_context(|| format!("`confirm`: \"{line}\" answers no question; say \"yes\", \"no\", \"wait\" or \"change it to ...\""))
        };
        match confirm {
            Confirm::One(line) => Ok(match meant(&line)? {
                answer @ (Confirmation::Yes | Confirmation::No) => Answers::Always(answer),
                answer => Answers::Each(vec![answer]),
            }),
            Confirm::Each(lines) => Ok(Answers::Each(
                lines.iter().map(meant).collect::<anyhow::Result<_>>()?,
            )),
        }
    }
}

#[derive(Deserialize)]
#[serde(untagged)]
enum Confirm {
    One(String),
    Each(Vec<String>),
}

const OF_SCENARIO: [&str; 5] = ["id", "now", "world", "before", "turns"];
const OF_TURN: [&str; 9] = [
    "say", "wav", "accept", "all", "args", "confirm", "after", "reply", "note",
];

/// Reads scenario files, and keeps what the worlds of their lines are.
pub struct Reader<'a> {
    /// The field that holds what is said: `say`, or `asr` where a file has what a recogniser made of it.
    pub field: &'a str,
    /// The tools that there are.
    pub tools: &'static [Entry],
    /// Fields that other programs use and this one leaves out, for a note.
    pub left_out: BTreeSet<String>,
    worlds: BTreeMap<PathBuf, World>,
    ids: BTreeSet<String>,
}

impl<'a> Reader<'a> {
    /// A reader that has read nothing.
    pub fn new(field: &'a str, tools: &'static [Entry]) -> Reader<'a> {
        Reader {
            field,
            tools,
            left_out: BTreeSet::new(),
            worlds: BTreeMap::new(),
            ids: BTreeSet::new(),
        }
    }

    /// Every scenario of a file.
    ///
    /// # Errors
    /// When the file cannot be read, or a line of it is no scenario: which line, and why.
    pub fn read(&mut self, file: &Path) -> anyhow::Result<Vec<Scenario>> {
        let bytes = store::read_bounded(file, MAX_BYTES)?;
        let text = String::from_utf8(bytes).with_context(|| format!("{} is not UTF-8", file.display()))?;
        let folder = file.parent().unwrap_or(Path::new("."));
        let lines = text.lines().enumerate();
        lines
            .filter(|(_, line)| !line.trim().is_empty())
            .map(|(at, line)| {
                self.line(line, folder)
                    .with_context(|| format!("{}, line {}", file.display(), at + 1))
            })
            .collect()
    }

    fn line(&mut self, line: &str, folder: &Path) -> anyhow::Result<Scenario> {
        let fields: Map<String, Value> = serde_json::from_str(line)?;
        let of_one_turn = !fields.contains_key("turns");
        let known = |name: &str| OF_SCENARIO.contains(&name) || of_one_turn && self.of_turn(name);
        let mut left_out = BTreeSet::new();
        for name in fields.keys().filter(|name| !known(name)) {
            let near = |other: &&&str| strsim::jaro_winkler(name, other) >= SLIP;
            if let Some(meant) = OF_SCENARIO.iter().chain(&OF_TURN).find(near) {
                bail!("there is no field `{name}`; do you mean `{meant}`?");
            }
            left_out.insert(name.clone());
        }
        self.left_out.extend(left_out);
        let head: Line = serde_json::from_value(Value::Object(fields.clone()))?;
        ensure!(
            self.ids.insert(head.id.clone()),
            "there are two scenarios with the id {}",
            head.id
        );
        let turns = match head.turns {
            None => vec![self.turn(fields, folder)?],
            Some(turns) => {
                ensure!(!turns.is_empty(), "`turns` is empty");
                let numbered = turns.into_iter().enumerate();
                numbered
                    .map(|(at, turn)| {
                        if let Some(name) = turn.keys().find(|name| !self.of_turn(name)) {
                            bail!("turn {}: there is no field `{name}` in a turn", at + 1);
                        }
                        self.turn(turn, folder)
                            .with_context(|| format!("turn {}", at + 1))
                    })
                    .collect::<anyhow::Result<_>>()?
            }
        };
        for prepare in &head.before {
            self.tool(&prepare.tool)?;
        }
        Ok(Scenario {
            id: head.id,
            now: head.now.as_deref().map(Clock::pinned).transpose()?,
            world: head.world.map(|world| self.world(world, folder)).transpose()?,
            before: head.before,
            turns,
        })
    }

    fn of_turn(&self, name: &str) -> bool {
        OF_TURN.contains(&name) || name == self.field
    }

    fn turn(&self, fields: Map<String, Value>, folder: &Path) -> anyhow::Result<Turn> {
        let said: Said = serde_json::from_value(Value::Object(fields.clone()))?;
        let words = match (fields.get(self.field), said.wav) {
            // A file that gives both is heard, as long as nobody asks for another field.
            (_, Some(wav)) if self.field == "say" => Words::Wav(folder.join(wav)),
            (Some(Value::String(text)), _) => Words::Text(text.clone()),
            (Some(_), _) => bail!("`{}` is not a text", self.field),
            (None, _) => bail!("there is neither `{}` nor `wav`", self.field),
        };
        ensure!(
            fields.contains_key("accept") || fields.contains_key("all"),
            "there is no `accept`; write [] when no tool may act"
        );
        let named = said.accept.iter().chain(&said.all).chain(said.args.keys());
        for name in named {
            self.tool(name)?;
        }
        let (mut args, mut each) = (BTreeMap::new(), BTreeMap::new());
        for (tool, given) in said.args {
            let calls = match given {
                OneOrEach::One(one) => vec![one],
                OneOrEach::Each(calls) => {
                    let wanted = said.all.iter().filter(|name| **name == tool).count();
                    ensure!(
                        calls.len() == wanted,
                        "`args` has {} for {tool}, and `all` {wanted}",
                        calls.len()
                    );
                    each.insert(tool.clone(), calls.clone());
                    calls
                }
            };
            let known = self.tool(&tool)?.parameters();
            for name in calls.iter().flat_map(BTreeMap::keys) {
                ensure!(
                    known["properties"].get(name).is_some(),
                    "{tool} has no argument `{name}`"
                );
            }
            args.extend(calls.into_iter().last().map(|last| (tool, last)));
        }
        for check in &said.after {
            let reads = self.tool(&check.tool)?.effect == tools::Effect::Read;
            ensure!(reads, "{} does not only read, so it cannot check", check.tool);
            ensure!(
                !(check.has.is_empty() && check.lacks.is_empty()),
                "the check by {} checks nothing: give it `has` or `lacks`",
                check.tool
            );
        }
        let mut accept = said.accept;
        accept.extend(said.all.iter().cloned());
        Ok(Turn {
            words,
            accept,
            all: said.all,
            args,
            each,
            confirm: said.confirm.map(Answers::read).transpose()?,
            after: said.after,
            reply: said.reply,
        })
    }

    fn tool(&self, name: &str) -> anyhow::Result<&'static Entry> {
        let found = self.tools.iter().find(|tool| tool.name == name);
        found.with_context(|| format!("there is no tool {name}"))
    }

    /// A world: an object as it stands in the line, or a file beside the scenarios.
    fn world(&mut self, world: Value, folder: &Path) -> anyhow::Result<World> {
        match world {
            Value::String(file) => {
                let file = folder.join(file);
                if let Some(known) = self.worlds.get(&file) {
                    return Ok(known.clone());
                }
                let world = World::load(&file)?;
                self.worlds.insert(file, world.clone());
                Ok(world)
            }
            object => serde_json::from_value(object).context("`world` is neither a file nor a world"),
        }
    }
}
