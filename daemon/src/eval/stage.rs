//! A home of its own for every scenario: temporary folders, a clock that stands still, no desktop, nobody's mail account.

use std::{collections::BTreeSet, io::ErrorKind, path::Path, sync::Arc, time::Duration};

use anyhow::{Context as _, bail, ensure};
use async_trait::async_trait;
use serde_json::Value;
use tools::{
    Ctx, Dirs, Entry, Journal, MailAccount, Reach, Retention,
    discover::Index,
    system::{desktop::Desk, mail},
};

use super::{
    Player,
    scenario::{Answers, Check, Prepare, Scenario},
};
use crate::{
    consent::Question,
    reply::{Confirmation, Front, Happening, ask_line},
    ring,
    room::{Clock, Parts, Room},
    world,
};

/// How long the mail of a world is indexed.
const INDEXING: Duration = Duration::from_secs(5);

/// A scenario's home and the room in it.
pub struct Stage {
    /// What the turns run in.
    pub room: Room,
    /// When it is.
    pub now: jiff::Zoned,
    parts: Parts,
    index: Arc<Index>,
    folder: tempfile::TempDir,
}

impl Stage {
    /// Sets up what a scenario begins with.
    ///
    /// # Errors
    /// When its world cannot be written, or a tool that prepares it fails.
    pub async fn set(scenario: &Scenario, player: &Player) -> anyhow::Result<Stage> {
        let usual = &player.parts;
        let folder = tempfile::Builder::new().prefix("tiro-eval-").tempdir()?;
        let clock = Clock::Pinned(Box::new(scenario.now.as_ref().unwrap_or(&usual.clock).now()));
        let parts = parts(usual, folder.path(), clock);
        let now = parts.clock.now();
        if let Some(holds) = &scenario.world {
            world::seed(holds, &parts.dirs, &now)?;
        }
        let stage = Stage {
            room: Room::with_index(
                Arc::clone(&player.llm),
                Arc::clone(&player.stt),
                parts.clone(),
                Arc::clone(&player.index),
            ),
            index: Arc::clone(&player.index),
            now,
            parts,
            folder,
        };
        for Prepare { tool, arguments } in &scenario.before {
            stage
                .call(tool, arguments)
                .await
                .with_context(|| format!("preparing with {tool}"))?;
        }
        // The daemon that a scenario stands for has run for a while, and keeps the index of mail. A world may have no mail.
        let dirs = stage.parts.dirs.clone();
        let indexed = tokio::task::spawn_blocking(move || {
            mail::Index::open(&dirs, mail::Depth::Headers, INDEXING).map(drop)
        });
        if let Err(error) = indexed.await? {
            tracing::debug!(%error, "no mail is indexed");
        }
        Ok(stage)
    }

    /// Runs a tool without model and consent.
    async fn call(&self, tool: &str, arguments: &Value) -> anyhow::Result<tools::Output> {
        let found = self.parts.tools.iter().find(|entry| entry.name == tool);
        let entry: &Entry = found.with_context(|| format!("there is no tool {tool}"))?;
        let ctx: Ctx = self.parts.ctx(&self.index);
        let run = entry.run(arguments.clone(), &ctx);
        match tokio::time::timeout(entry.timeout, run).await {
            Ok(Ok(output)) => Ok(output),
            Ok(Err(error)) => bail!("{error}"),
            Err(_) => bail!("{tool} took longer than {:?}", entry.timeout),
        }
    }

    /// What is not as it should be in the world.
    pub async fn problems(&self, checks: &[Check]) -> Vec<String> {
        let mut problems = Vec::new();
        for check in checks {
            let told = match self.call(&check.tool, &check.arguments).await {
                Ok(output) => format!("{}\n{}", output.say, output.data),
                // That nothing is there is an answer, too.
                Err(error) => error.to_string(),
            };
            let text = super::scenario::Text {
                has: check.has.clone(),
                lacks: check.lacks.clone(),
            };
            problems.extend(text.problems(&check.tool, &told));
        }
        problems
    }

    /// What the person has: two of these tell what a turn changed.
    ///
    /// # Errors
    /// As `belongings`.
    pub fn files(&self) -> anyhow::Result<Belongings> {
        belongings(self.folder.path(), &self.parts.dirs)
    }
}

/// Files with their bytes, links with where they lead, and folders with none.
pub type Belongings = BTreeSet<(String, Vec<u8>)>;

/// As deep and as many are looked at; a home of a test has neither.
const DEEPEST: usize = 32;
const MOST: usize = 100_000;

/// Every file of the person below `root`, hidden ones too, and the folders that they see: one that is empty may have been
/// asked for.
///
/// # Errors
/// When a file cannot be read, and where there is too much to see all of it.
pub fn belongings(root: &Path, dirs: &Dirs) -> anyhow::Result<Belongings> {
    let name_of = |path: &Path| path.strip_prefix(root).unwrap_or(path).display().to_string();
    // What waits to be sent and what runs as a timer is the person's, too.
    let theirs = ["outbox", "timers"].map(|name| dirs.state.join(name));
    let is_own = |path: &Path| {
        let own = [&dirs.state, &dirs.cache].iter().any(|own| path.starts_with(own));
        own && !theirs.iter().any(|place| path.starts_with(place))
    };
    let mut all = BTreeSet::new();
    let mut folders = vec![(root.to_owned(), 0)];
    while let Some((folder, depth)) = folders.pop() {
        ensure!(
            depth <= DEEPEST && all.len() < MOST,
            "{} holds too much.",
            root.display()
        );
        let entries = match std::fs::read_dir(&folder) {
            Ok(entries) => entries,
            // Some come and go beside every turn.
            Err(error) if error.kind() == ErrorKind::NotFound => continue,
            Err(error) => return Err(error.into()),
        };
        for entry in entries {
            let path = entry?.path();
            let name = name_of(&path);
            let meta = match std::fs::symlink_metadata(&path) {
                Ok(meta) => meta,
                Err(error) if error.kind() == ErrorKind::NotFound => continue,
                Err(error) => return Err(error.into()),
            };
            if meta.is_dir() {
                if !is_own(&path)
                    && dirs
                        .files
                        .iter()
                        .any(|place| path.starts_with(place) && path != *place)
                {
                    all.insert((format!("{name}/"), Vec::new()));
                }
                folders.push((path, depth + 1));
                continue;
            }
            if is_own(&path) || name.ends_with(".lock") {
                continue;
            }
            let content = match meta.is_symlink() {
                true => std::fs::read_link(&path).map(|target| target.into_os_string().into_encoded_bytes()),
                false if meta.is_file() => std::fs::read(&path),
                false => continue,
            };
            match content {
                Ok(content) => _ = all.insert((name, content)),
                Err(error) if error.kind() == ErrorKind::NotFound => {}
                Err(error) => return Err(error).with_context(|| name),
            }
        }
    }
    Ok(all)
}

/// The parts of a room that sees nothing of this machine but the model.
fn parts(usual: &Parts, root: &Path, clock: Clock) -> Parts {
    let dirs = Dirs::under(root);
    let account = MailAccount {
        name: "home".to_owned(),
        address: "robin@example.com".to_owned(),
        sender: "Robin Miller".to_owned(),
        maildir: dirs.mail.clone(),
        sends: true,
    };
    Parts {
        journal: Journal::at(&dirs.state, Retention::default()),
        mail: tools::Mail {
            // Nobody takes it out of the outbox.
            accounts: vec![account],
            ..usual.mail.clone()
        },
        clock,
        // A tool that rings asks whether there is anybody to ring.
        daemon: true,
        ring: ring::Settings {
            sound: false,
            ..usual.ring.clone()
        },
        desk: Desk::nowhere(),
        reach: Reach {
            opener: vec!["true".to_owned()],
            helper: None,
            ..Reach::default()
        },
        trace: None,
        dirs,
        ..usual.clone()
    }
}

/// Answers questions as the scenario says, and keeps what was asked and how often the model wrote.
#[derive(Debug, Default)]
pub struct Person {
    /// The answers to the questions of this turn.
    pub answers: Option<Answers>,
    /// What was asked.
    pub asked: Vec<String>,
    /// Prompt tokens that were evaluated, of each generation.
    pub evaluated: Vec<u32>,
}

#[async_trait]
impl Front for Person {
    fn show(&mut self, happening: &Happening) {
        if let Happening::Generated { usage, .. } = happening {
            self.evaluated.push(usage.prompt.saturating_sub(usage.cached));
        }
    }

    async fn confirm(&mut self, question: &Question) -> Confirmation {
        self.asked.push(ask_line(question));
        match &mut self.answers {
            Some(answers) => answers.answer(),
            None => Confirmation::Nobody,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_empty_folder_and_a_changed_file_are_seen_and_what_tiro_keeps_for_itself_is_not() {
        let root = tempfile::tempdir().unwrap();
        let dirs = Dirs::under(root.path());
        let has = || belongings(root.path(), &dirs).unwrap();
        let documents = &dirs.files[0];
        std::fs::create_dir_all(documents).unwrap();
        std::fs::create_dir_all(dirs.state.join("timers")).unwrap();
        let mut before = has();
        let mut differs = || {
            let now = has();
            std::mem::replace(&mut before, now.clone()) != now
        };
        assert!(!differs());
        std::fs::create_dir(documents.join("Taxes")).unwrap();
        assert!(differs());
        std::fs::write(documents.join("a.txt"), "one").unwrap();
        assert!(differs());
        std::fs::write(documents.join("a.txt"), "two").unwrap();
        assert!(differs());
        std::fs::write(dirs.state.join("timers/1.json"), "{}").unwrap();
        assert!(differs());
        // A draft lies in a folder that a Maildir hides.
        let drafts = dirs.mail.join(".Drafts/cur");
        std::fs::create_dir_all(&drafts).unwrap();
        std::fs::write(drafts.join("1"), "Subject: hello").unwrap();
        assert!(differs());
        std::os::unix::fs::symlink("a.txt", documents.join("b.txt")).unwrap();
        assert!(differs());
        std::fs::write(dirs.state.join("journal"), "").unwrap();
        std::fs::create_dir_all(dirs.cache.join("words")).unwrap();
        assert!(!differs());
    }
}
