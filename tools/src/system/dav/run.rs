//! Carries a plan out, one collection after the other, so that it can end between any two steps.
//!
//! The order inside a step is always: the change itself, then what is remembered of it. Whoever is killed in between
//! finds the change done on both sides, sees that they say the same, and only remembers.

mod local;
mod step;

use std::collections::{BTreeMap, BTreeSet};

use local::Folders;

use super::{
    Account, DavError, Kind, Report, Step, Synced, Watch,
    client::{Client, Remote},
    http::{self, NetError, Transport},
    memory::{Memory, Paired},
    plan::{self, Action, Alarm, Bounds, Changes, File, Known},
};
use crate::{
    contract::Dirs,
    system::{
        journal::{self, Journal},
        plain, store,
    },
};

/// Items that are fetched with one request.
const BATCH: usize = 50;
/// As often as a collection is looked at anew because somebody else was faster.
const ROUNDS: usize = 5;
/// As many sentences of one kind as a report holds.
const MAX_NOTES: usize = 20;

/// Brings an account's collections and their folders in step. Blocks; `watch` may end it.
pub fn sync(account: &Account, dirs: &Dirs, transport: &dyn Transport, watch: Watch<'_>) -> Report {
    let mut report = Report {
        account: account.name.clone(),
        ..Report::default()
    };
    if let Err(error) = all(account, dirs, transport, watch, &mut report) {
        report.offline = matches!(error, DavError::Net(NetError::Unreachable { .. }));
        report.error = Some(sentence(&error, &account.name));
    }
    report
}

fn all(
    account: &Account,
    dirs: &Dirs,
    transport: &dyn Transport,
    watch: Watch<'_>,
    report: &mut Report,
) -> Result<(), DavError> {
    let clear = account.origin.starts_with("http://") && !account.allow_http;
    if clear && !http::is_near(&account.origin) {
        let origin = account.origin.clone();
        return Err(DavError::Clear { origin });
    }
    let memory = Memory::open(&dirs.state.join("dav"), &account.name)?;
    let client = Client::new(transport, &account.origin);
    let mut found = 0;
    for kind in &account.kinds {
        watch(&Step::Ask)?;
        let remotes = client.discover(&account.path, *kind)?;
        found += remotes.len();
        let paired = memory.collections(*kind)?;
        for gone in paired.iter().filter(|p| remotes.iter().all(|r| r.href != p.href)) {
            report.collections.push(vanished(gone));
        }
        for remote in remotes.iter().filter(|r| chosen(r, &account.collections)) {
            let known = paired.iter().find(|p| p.href == remote.href);
            let mut synced = Synced {
                name: name_of(remote),
                ..Synced::default()
            };
            let done = one(account, dirs, &client, &memory, watch, remote, known, &mut synced);
            if let Err(error) = &done
                && !error.is_of_account()
            {
                synced.error = Some(sentence(error, &account.name));
            }
            report.collections.push(synced);
            done.or_else(|error| if error.is_of_account() { Err(error) } else { Ok(()) })?;
        }
    }
    match found {
        0 => Err(DavError::Nothing),
        _ => Ok(()),
    }
}

#[expect(
    clippy::too_many_arguments,
    reason = "each is one part of the run, and they meet only here"
)]
fn one(
    account: &Account,
    dirs: &Dirs,
    client: &Client<'_>,
    memory: &Memory,
    watch: Watch<'_>,
    remote: &Remote,
    known: Option<&Paired>,
    synced: &mut Synced,
) -> Result<(), DavError> {
    watch(&Step::Remember)?;
    let (pair, folders) = Folders::of(account, dirs, memory, remote, known)?;
    synced.folder.clone_from(&pair.folder);
    let mut run = Run {
        client,
        memory,
        watch,
        remote,
        folders,
        force: account.force,
        pair,
        synced,
        known: BTreeMap::new(),
        new_by_uid: BTreeMap::new(),
        again: false,
        overtaken: false,
        refused: Vec::new(),
        progress: (0, 0),
        step: Journal::beside(&dirs.state).step(journal::SYNC),
        replaced: 0,
    };
    run.describe()?;
    let done = run.rounds();
    run.note();
    done
}

/// The run of one collection.
struct Run<'r> {
    client: &'r Client<'r>,
    memory: &'r Memory,
    watch: Watch<'r>,
    remote: &'r Remote,
    folders: Folders,
    force: bool,
    pair: Paired,
    synced: &'r mut Synced,
    /// What is remembered, by address.
    known: BTreeMap<String, Known>,
    /// Files that nobody remembers, by UID: the same item may come from the server.
    new_by_uid: BTreeMap<String, File>,
    /// Something is to be looked at anew.
    again: bool,
    /// The server has something else than it listed.
    overtaken: bool,
    /// What the server did not want, as sentences.
    refused: Vec<String>,
    progress: (usize, usize),
    /// Keeps what is taken away or replaced here.
    step: journal::Step,
    /// How many items were replaced here.
    replaced: usize,
}

impl Run<'_> {
    fn rounds(&mut self) -> Result<(), DavError> {
        let mut done = false;
        for round in 0..ROUNDS {
            if self.round(round)? {
                done = true;
                break;
            }
        }
        self.warn()?;
        if !self.refused.is_empty() {
            let refused = std::mem::take(&mut self.refused);
            self.synced.error = Some(limited(refused).join(" "));
        } else if !done {
            self.synced.error = Some(
                "It kept changing while it was synchronised. The next run goes on from there.".to_owned(),
            );
        }
        Ok(())
    }

    /// Looks at both sides, and does what is to be done. Gives whether nothing is left to look at anew.
    fn round(&mut self, round: usize) -> Result<bool, DavError> {
        self.known = self
            .memory
            .items(self.pair.id)?
            .into_iter()
            .map(|item| (item.href.clone(), item))
            .collect();
        self.refused.clear();
        (self.watch)(&Step::Ask)?;
        let token = self.pair.token.as_deref().filter(|_| !self.overtaken);
        let changes = self.client.changes(&self.remote.href, token)?;
        (self.again, self.overtaken) = (false, false);
        // After the server was asked: what changes here from now on is seen in the next run.
        let known: Vec<Known> = self.known.values().cloned().collect();
        let scan = self.folders.scan(&known)?;
        if round == 0 {
            self.synced.notes.extend(limited(scan.warnings));
        }
        let bounds = Bounds {
            force: self.force,
            folder_missing: scan.missing,
        };
        let actions = plan::plan(&known, &scan.here, &changes, bounds).map_err(|alarm| match alarm {
            Alarm::EmptyHere(items) => DavError::Empty { here: true, items },
            Alarm::EmptyThere(items) => DavError::Empty { here: false, items },
            Alarm::LostThere(lost, items) => DavError::Lost { lost, items },
        })?;
        let remembered: BTreeSet<&File> = known.iter().filter_map(|k| Some(&k.file.as_ref()?.0)).collect();
        self.new_by_uid = scan
            .here
            .iter()
            .filter(|(file, now)| now.hash.is_some() && !remembered.contains(file))
            .filter_map(|(file, now)| Some((now.uid.clone()?, file.clone())))
            .collect();
        self.progress = (0, actions.len());
        self.act(actions, &changes)?;
        if self.again || self.overtaken {
            return Ok(false);
        }
        (self.watch)(&Step::Remember)?;
        if changes.token != self.pair.token {
            self.memory.set_token(self.pair.id, changes.token.as_deref())?;
            self.pair.token = changes.token;
        }
        Ok(true)
    }

    fn act(&mut self, actions: Vec<Action>, changes: &Changes) -> Result<(), DavError> {
        let (takes, others): (Vec<Action>, Vec<Action>) = actions
            .into_iter()
            .partition(|a| matches!(a, Action::Pull { .. } | Action::Reconcile { .. }));
        let (names, others): (Vec<Action>, Vec<Action>) = others
            .into_iter()
            .partition(|a| matches!(a, Action::Rename { .. }));
        for action in names {
            self.give(action)?;
        }
        for batch in takes.chunks(BATCH) {
            self.take_batch(batch, changes)?;
        }
        for action in others {
            self.give(action)?;
        }
        Ok(())
    }

    /// Says in the journal what this run took away or replaced here, however it ended.
    fn note(&self) {
        let count = |n: usize, what: &str| match n {
            0 => None,
            1 => Some(format!("1 item {what}")),
            n => Some(format!("{n} items {what}")),
        };
        let parts = [
            count(self.replaced, "replaced"),
            count(self.synced.removed_here, "deleted"),
        ];
        let parts: Vec<String> = parts.into_iter().flatten().collect();
        // The name is the server's.
        self.step.did(
            &format!(
                "Synchronised {}: {} here.",
                self.synced.name,
                plain::listed(&parts, "and")
            ),
            true,
        );
    }

    /// Name and colour, where the server has other ones than the last time.
    fn describe(&mut self) -> Result<(), DavError> {
        let color = self.remote.color.as_deref().and_then(|c| c.get(..7));
        let (name, color) = (self.remote.name.as_deref(), color);
        if (self.pair.name.as_deref(), self.pair.color.as_deref()) == (name, color) {
            return Ok(());
        }
        (self.watch)(&Step::Remember)?;
        for folder in self.folders.mine() {
            for (file, old, new) in [
                ("displayname", &self.pair.name, name),
                ("color", &self.pair.color, color),
            ] {
                if let (true, Some(new)) = (old.as_deref() != new, new) {
                    store::replace(&folder.join(file), plain::one_line(new, 60).as_bytes())?;
                }
            }
        }
        self.memory.describe(self.pair.id, name, color)
    }

    /// Says what was kept away, in every run, until it is mended.
    fn warn(&mut self) -> Result<(), DavError> {
        let items = self.memory.items(self.pair.id)?;
        let kept = items.iter().filter_map(|item| {
            let why = item.trouble.as_ref()?;
            let segment = item.href.rsplit('/').next().unwrap_or_default();
            Some(format!(
                "The item {} on the server {why}, so it was left out.",
                plain::one_line(segment, 80)
            ))
        });
        self.synced.notes.extend(limited(kept.collect()));
        Ok(())
    }
}

fn chosen(remote: &Remote, wanted: &[String]) -> bool {
    let segment = remote.href.trim_end_matches('/').rsplit('/').next();
    let names = [remote.name.as_deref(), segment];
    let is = |wanted: &String| {
        names
            .iter()
            .flatten()
            .any(|name| name.eq_ignore_ascii_case(wanted))
    };
    wanted.is_empty() || wanted.iter().any(is)
}

fn name_of(remote: &Remote) -> String {
    let segment = remote
        .href
        .trim_end_matches('/')
        .rsplit('/')
        .next()
        .unwrap_or_default();
    plain::one_line(remote.name.as_deref().unwrap_or(segment), 60)
}

fn vanished(pair: &Paired) -> Synced {
    Synced {
        name: pair.name.clone().unwrap_or_else(|| pair.folder.clone()),
        folder: pair.folder.clone(),
        notes: vec![format!(
            "It is no longer on the server. The folder {} stays as it is and is not synchronised.",
            pair.folder
        )],
        ..Synced::default()
    }
}

/// An error with what can be done, as sentences.
pub(super) fn sentence(error: &DavError, account: &str) -> String {
    let what = error.to_string();
    let mut chars = what.chars();
    let first: String = chars
        .next()
        .map_or_else(String::new, |c| match what.starts_with("http") {
            true => c.to_string(),
            false => c.to_uppercase().collect(),
        });
    format!(
        "{first}{}. {}",
        chars.as_str().trim_end_matches('.'),
        error.advice(account)
    )
}

fn limited(mut notes: Vec<String>) -> Vec<String> {
    if notes.len() > MAX_NOTES {
        let more = notes.len() - MAX_NOTES;
        notes.truncate(MAX_NOTES);
        notes.push(format!("There are {more} more like this."));
    }
    notes
}

/// The extension of a kind's files.
fn extension(kind: Kind) -> &'static str {
    match kind {
        Kind::Calendar => "ics",
        Kind::Contacts => "vcf",
    }
}
