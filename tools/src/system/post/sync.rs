//! One run of one IMAP account: both sides are brought together, folder by folder, one whole step after the other.
//!
//! What changed there is taken, what changed here is sent: flags, messages moved between folders, drafts and sent mail
//! that were written here. A run that is killed at any point is made up for by the next one: a file here carries the
//! number that it has there in its name, and what was given to the server is found again by its Message-ID.

use std::{
    collections::{BTreeMap, BTreeSet, VecDeque},
    path::{Path, PathBuf},
};

use jiff::Timestamp;
use mail_parser::MessageParser;
use sha2::{Digest as _, Sha256};

use super::{
    Access, PostError, Report, Synced, Watch,
    imap::{Imap, Role, Selected, bare},
    maildir::{self, Held},
    memory::{Known, Memory, Pair},
    names::{Mine, is_numbered, local_name, new_name, tag},
    plan::{Plan, Sides, There, plan},
};
use crate::system::{
    mail::outbox::{self, MAX_MESSAGE},
    store::{self, StoreError, Turn},
};

/// Most folders that are mirrored.
const MAX_FOLDERS: usize = 100;
/// Messages and bytes of one question.
const BATCH: (usize, u64) = (50, 8 << 20);
/// Messages of ours that are given to the server in one run.
const MAX_PUSHED: usize = 200;
/// Files whose content is compared in one run, to find out where a message went.
const MAX_COMPARED: usize = 2000;
/// Most of a header that is read for its Message-ID, in bytes.
const MAX_HEADER: usize = 64 * 1024;

/// An account that reads.
#[derive(Debug, Clone)]
pub struct Account {
    /// Its name.
    pub name: String,
    /// How its server is reached.
    pub access: Access,
    /// Its Maildir.
    pub maildir: PathBuf,
    /// The newest so many messages of each folder are mirrored.
    pub messages: u32,
    /// Larger messages stay there, in bytes.
    pub max_size: u64,
    /// Go on although much is gone on one side.
    pub force: bool,
}

/// One run. `unsure` are Message-IDs of mail of which nobody knows whether it went; those found among the sent mail are in
/// the report. What goes wrong is in the report, too. Blocks on files: not for threads that everything else shares.
pub async fn sync(account: &Account, state: &Path, unsure: &[String], watch: Watch<'_>) -> Report {
    let mut report = Report {
        account: account.name.clone(),
        ..Report::default()
    };
    if let Err(error) = run(account, state, unsure, watch, &mut report).await {
        report.offline = error.is_offline();
        report.error = Some(error.sentence(&account.name));
    }
    report.folders.retain(|folder| !folder.is_quiet());
    report
}

async fn run(
    account: &Account,
    state: &Path,
    unsure: &[String],
    watch: Watch<'_>,
    report: &mut Report,
) -> Result<(), PostError> {
    let memory = Memory::open(state, &account.name)?;
    watch()?;
    let imap = Imap::open(&account.access).await?;
    let mut run = Run {
        account,
        state,
        watch,
        memory,
        imap,
        folders: Vec::new(),
    };
    run.pair_folders().await?;
    run.find_moves()?;
    let mut order: VecDeque<usize> = (0..run.folders.len()).collect();
    let mut again: BTreeSet<usize> = BTreeSet::new();
    while let Some(at) = order.pop_front() {
        let mut synced = Synced {
            name: run.folders[at].pair.remote.clone(),
            ..Synced::default()
        };
        let done = run.folder(at, &mut synced).await;
        let broken = match done {
            Ok(()) => None,
            Err(error) if error.is_of_account() => Some(error),
            Err(error) => {
                synced.error = Some(error.sentence(&account.name));
                None
            }
        };
        report.folders.push(synced);
        // Where messages were moved to, their new numbers are asked for.
        again.extend(run.folders[at].moved.values());
        if order.is_empty() {
            order.extend(std::mem::take(&mut again));
            run.folders.iter_mut().for_each(|folder| folder.moved.clear());
        }
        if let Some(error) = broken {
            return Err(error);
        }
    }
    report.arrived = run.arrived(unsure).await?;
    run.imap.leave().await;
    Ok(())
}

struct Run<'r> {
    account: &'r Account,
    state: &'r Path,
    watch: Watch<'r>,
    memory: Memory,
    imap: Imap<'r>,
    folders: Vec<Mirrored>,
}

/// A folder on both sides.
struct Mirrored {
    pair: Pair,
    role: Role,
    path: PathBuf,
    /// Messages that went from here to another folder: where to.
    moved: BTreeMap<u32, usize>,
}

impl Run<'_> {
    /// Finds out which folder here is which there, and makes what only one side has.
    async fn pair_folders(&mut self) -> Result<(), PostError> {
        let remote = self.imap.folders().await?;
        let known = self.memory.folders()?;
        let mut taken: BTreeSet<String> = known.iter().map(|pair| pair.local.clone()).collect();
        let wanted = remote.iter().filter(|folder| folder.role != Role::Skipped);
        for folder in wanted.take(MAX_FOLDERS) {
            let pair = match known.iter().find(|pair| pair.remote == folder.name) {
                Some(pair) => pair.clone(),
                None => {
                    let local = local_name(folder, &taken);
                    taken.insert(local.clone());
                    (self.watch)()?;
                    self.memory.pair(&folder.name, &local)?
                }
            };
            self.mirror(pair, folder.role);
        }
        for role in [Role::Sent, Role::Drafts, Role::Archive, Role::Trash] {
            let Some(local) = role.folder() else { continue };
            let path = self.account.maildir.join(local);
            let is_there = self.folders.iter().any(|f| f.role == role);
            if is_there || known.iter().any(|pair| pair.local == local) {
                continue;
            }
            // Only once something is in it, or it would be made on servers that file elsewhere.
            if maildir::list(&path)?.is_none_or(|all| all.is_empty()) {
                continue;
            }
            let name = new_name(&local[1..], &remote);
            (self.watch)()?;
            self.imap.create(&name).await?;
            let pair = self.memory.pair(&name, local)?;
            self.mirror(pair, role);
        }
        Ok(())
    }

    fn mirror(&mut self, pair: Pair, role: Role) {
        let path = match pair.local.as_str() {
            "" => self.account.maildir.clone(),
            local => self.account.maildir.join(local),
        };
        self.folders.push(Mirrored {
            pair,
            role,
            path,
            moved: BTreeMap::new(),
        });
    }

    /// A message that is no longer where both sides had it, and whose file is in another folder, was moved there.
    fn find_moves(&mut self) -> Result<(), PostError> {
        let (mut missing, mut found) = (Vec::new(), Vec::new());
        for (at, folder) in self.folders.iter().enumerate() {
            let known = self.memory.known(folder.pair.id)?;
            let here = maildir::list(&folder.path)?.unwrap_or_default();
            let bases: BTreeSet<&str> = known.iter().map(|k| k.base.as_str()).collect();
            let new = here.iter().filter(|(base, _)| !bases.contains(base.as_str()));
            found.extend(new.map(|(base, held)| (at, base.clone(), held.clone(), None)));
            missing.extend(
                known
                    .iter()
                    .filter(|k| !here.contains_key(&k.base))
                    .map(|k| (at, k.clone())),
            );
        }
        found.truncate(MAX_COMPARED);
        for (from, known) in missing {
            let same_name = found
                .iter()
                .position(|(at, base, _, _)| *at != from && *base == known.base);
            let place = same_name.or_else(|| {
                // Whoever moved it gave it another name.
                found.iter_mut().position(|(at, _, held, hash)| {
                    let hash = hash.get_or_insert_with(|| hash_of(&held.path).unwrap_or_default());
                    *at != from && *hash == known.hash
                })
            });
            if let Some(place) = place {
                let (to, ..) = found.swap_remove(place);
                self.folders[from].moved.insert(known.uid, to);
            }
        }
        Ok(())
    }

    async fn folder(&mut self, at: usize, synced: &mut Synced) -> Result<(), PostError> {
        let (pair, path) = (self.folders[at].pair.clone(), self.folders[at].path.clone());
        let selected = self.imap.select(&pair.remote).await?;
        if pair.validity != Some(selected.validity) {
            (self.watch)()?;
            self.memory.renumber(pair.id, selected.validity)?;
            self.folders[at].moved.clear();
        }
        // What is given to the server in the first pass is found there in the second.
        for pass in 0..2 {
            let pushed = self.pass(at, &path, selected, synced).await?;
            if pushed == 0 || pass == 1 {
                break;
            }
        }
        Ok(())
    }

    /// Returns how many messages were given to the server.
    async fn pass(
        &mut self,
        at: usize,
        path: &Path,
        selected: Selected,
        synced: &mut Synced,
    ) -> Result<usize, PostError> {
        let (id, role) = (self.folders[at].pair.id, self.folders[at].role);
        // Opened again, because its number of messages is only told then.
        let selected = match synced.pushed {
            0 => selected,
            _ => self.imap.select(&self.folders[at].pair.remote.clone()).await?,
        };
        let (there, from) = self.imap.list(selected, self.account.messages).await?;
        let mut known = self.memory.known(id)?;
        let listed = maildir::list(path)?;
        if listed.is_none() && !known.is_empty() && !self.account.force {
            // Its disk may not be mounted.
            return Err(PostError::Lost {
                here: true,
                lost: known.len(),
                of: known.len(),
            });
        }
        if listed.is_none() {
            // So that whatever reads and writes here finds it.
            maildir::make(path)?;
        }
        let here = listed.unwrap_or_default();
        let mine = Mine {
            id,
            tag: tag(&self.folders[at].pair.remote),
            validity: selected.validity,
        };
        self.adopt(&mine, &mut known, &here, &there).await?;
        let sides = Sides {
            known: &known,
            here: &here,
            there: &there,
            from,
            max_size: self.account.max_size.min(MAX_MESSAGE),
            force: self.account.force,
        };
        let moved: BTreeSet<u32> = self.folders[at].moved.keys().copied().collect();
        let plan = plan(sides, &moved);
        self.flags(&mine, path, &plan, &here, &there, synced).await?;
        self.gone(at, &mine, role, &plan, &here, synced).await?;
        self.pull(&mine, path, &plan, &here, &there, synced).await?;
        let pushed = match role {
            Role::Sent | Role::Drafts => self.push(at, &mine, &plan, &here, synced).await?,
            _ => 0,
        };
        if plan.too_large > 0 {
            let mib = self.account.max_size >> 20;
            let count = plan.too_large;
            let note = format!("{count} messages are larger than {mib} MiB and stay on the server.");
            if !synced.notes.contains(&note) {
                synced.notes.push(note);
            }
        }
        let lost = |here, (lost, of)| PostError::Lost { here, lost, of };
        match (plan.lost_there, plan.lost_here) {
            (Some(counts), _) => Err(lost(false, counts)),
            (None, Some(counts)) => Err(lost(true, counts)),
            (None, None) => Ok(pushed),
        }
    }

    /// Finds pairs that were not remembered: a file that carries the server's number, and a message of ours that the server
    /// has by its Message-ID.
    async fn adopt(
        &mut self,
        mine: &Mine,
        known: &mut Vec<Known>,
        here: &BTreeMap<String, Held>,
        there: &BTreeMap<u32, There>,
    ) -> Result<(), PostError> {
        let bases: BTreeSet<String> = known.iter().map(|k| k.base.clone()).collect();
        let mut uids: BTreeSet<u32> = known.iter().map(|k| k.uid).collect();
        let mut alone: Vec<(&String, &Held)> =
            here.iter().filter(|(base, _)| !bases.contains(*base)).collect();
        let mut found = Vec::new();
        alone.retain(|(base, held)| {
            match mine
                .uid(base)
                .filter(|uid| there.contains_key(uid) && !uids.contains(uid))
            {
                Some(uid) => {
                    uids.insert(uid);
                    found.push((uid, (*base).clone(), (*held).clone()));
                    false
                }
                None => true,
            }
        });
        let strangers: Vec<u32> = there.keys().copied().filter(|uid| !uids.contains(uid)).collect();
        if !alone.is_empty() && !strangers.is_empty() {
            let ids = self.imap.message_ids(&strangers).await?;
            let mut by_id: BTreeMap<&str, Vec<u32>> = BTreeMap::new();
            for (uid, id) in &ids {
                by_id.entry(id).or_default().push(*uid);
            }
            for (base, held) in alone {
                let id = message_id_of(&held.path);
                let uids = id.as_deref().and_then(|id| by_id.get_mut(id));
                if let Some(uid) = uids.and_then(Vec::pop) {
                    found.push((uid, base.clone(), held.clone()));
                }
            }
        }
        for (uid, base, held) in found {
            let Ok(hash) = hash_of(&held.path) else { continue };
            (self.watch)()?;
            let pair = Known {
                uid,
                base,
                // Both sides may have changed it since; without anything agreed on, what either has is kept.
                flags: String::new(),
                hash,
            };
            self.memory.agree(mine.id, &pair)?;
            known.push(pair);
        }
        Ok(())
    }

    async fn flags(
        &mut self,
        mine: &Mine,
        path: &Path,
        plan: &Plan,
        here: &BTreeMap<String, Held>,
        there: &BTreeMap<u32, There>,
        synced: &mut Synced,
    ) -> Result<(), PostError> {
        for (known, flags) in &plan.flags {
            let (Some(held), Some(server)) = (here.get(&known.base), there.get(&known.uid)) else {
                continue;
            };
            (self.watch)()?;
            if server.flags != *flags {
                self.imap.set_flags(known.uid, &server.flags, flags).await?;
                (self.watch)()?;
            }
            if held.flags != *flags {
                let _turn = Turn::take(self.state)?;
                if !maildir::set_flags(path, &known.base, held, flags)? {
                    continue;
                }
            }
            (self.watch)()?;
            let agreed = Known {
                flags: flags.clone(),
                ..known.clone()
            };
            self.memory.agree(mine.id, &agreed)?;
            synced.flagged += usize::from(server.flags != *flags || held.flags != *flags);
        }
        Ok(())
    }

    /// What is gone on one side.
    async fn gone(
        &mut self,
        at: usize,
        mine: &Mine,
        role: Role,
        plan: &Plan,
        here: &BTreeMap<String, Held>,
        synced: &mut Synced,
    ) -> Result<(), PostError> {
        for known in &plan.remove_here {
            let Some(held) = here.get(&known.base) else {
                continue;
            };
            (self.watch)()?;
            {
                let _turn = Turn::take(self.state)?;
                match std::fs::remove_file(&held.path) {
                    // Moved or changed in this moment; the next run sees it anew.
                    Err(e) if e.kind() == std::io::ErrorKind::NotFound => {}
                    Err(e) => return Err(StoreError::of(&held.path, e).into()),
                    Ok(()) => synced.removed += 1,
                }
            }
            (self.watch)()?;
            self.memory.forget(mine.id, known.uid)?;
        }
        for uid in &plan.forget {
            self.memory.forget(mine.id, *uid)?;
        }
        let trash = self.folders.iter().position(|folder| folder.role == Role::Trash);
        for known in &plan.gone_here {
            let to = match self.folders[at].moved.get(&known.uid) {
                Some(to) => Some(*to),
                // Nothing is ever deleted there for good: what is gone here goes to the trash, and what was in the trash
                // stays.
                None if role == Role::Trash => None,
                None => trash,
            };
            let Some(to) = to else { continue };
            let to = self.folders[to].pair.remote.clone();
            (self.watch)()?;
            self.imap.move_to(known.uid, &to).await?;
            (self.watch)()?;
            self.memory.forget(mine.id, known.uid)?;
            synced.moved += 1;
        }
        Ok(())
    }

    async fn pull(
        &mut self,
        mine: &Mine,
        path: &Path,
        plan: &Plan,
        here: &BTreeMap<String, Held>,
        there: &BTreeMap<u32, There>,
        synced: &mut Synced,
    ) -> Result<(), PostError> {
        if plan.pull.is_empty() {
            return Ok(());
        }
        // Files of ours that are without a partner: a message without a Message-ID is known by its content.
        let mut alone: BTreeMap<Vec<u8>, String> = BTreeMap::new();
        for base in plan.new_here.iter().take(MAX_COMPARED) {
            if let Some(Ok(hash)) = here.get(base).map(|held| hash_of(&held.path)) {
                alone.insert(hash, base.clone());
            }
        }
        for (uids, bytes) in batches(&plan.pull, there) {
            (self.watch)()?;
            for body in self.imap.bodies(&uids, bytes).await? {
                (self.watch)()?;
                let hash = Sha256::digest(&body.bytes).to_vec();
                let (base, flags) = match alone.remove(&hash) {
                    Some(base) => (base, String::new()),
                    None => (mine.store(path, &body)?, body.flags.clone()),
                };
                (self.watch)()?;
                let known = Known {
                    uid: body.uid,
                    base,
                    flags,
                    hash,
                };
                self.memory.agree(mine.id, &known)?;
                synced.pulled += 1;
            }
        }
        Ok(())
    }

    /// Gives the server what was written here. Returns how many.
    async fn push(
        &mut self,
        at: usize,
        mine: &Mine,
        plan: &Plan,
        here: &BTreeMap<String, Held>,
        synced: &mut Synced,
    ) -> Result<usize, PostError> {
        let remote = self.folders[at].pair.remote.clone();
        let mut pushed = 0;
        // What came from a server once was not written here.
        let own = plan.new_here.iter().filter(|base| !is_numbered(base));
        for base in own.take(MAX_PUSHED) {
            let Some(held) = here.get(base).filter(|held| !held.flags.contains('T')) else {
                continue;
            };
            // Given before, and not found again: the server changed it, and a second copy would be no better.
            if self.memory.pushed(mine.id, base)? == Some(true) {
                continue;
            }
            let Ok(bytes) = store::read_bounded(&held.path, MAX_MESSAGE) else {
                continue;
            };
            if message_id(&bytes).is_none() {
                let note = "A message without a Message-ID was written here and stays here.".to_owned();
                if !synced.notes.contains(&note) {
                    synced.notes.push(note);
                }
                continue;
            }
            let when = std::fs::metadata(&held.path)
                .and_then(|meta| meta.modified())
                .ok();
            let when = when.and_then(|when| Timestamp::try_from(when).ok());
            (self.watch)()?;
            self.memory.push(mine.id, base, false)?;
            (self.watch)()?;
            self.imap
                .append(&remote, &held.flags, when, &outbox::crlf(&bytes))
                .await?;
            (self.watch)()?;
            self.memory.push(mine.id, base, true)?;
            synced.pushed += 1;
            pushed += 1;
        }
        Ok(pushed)
    }

    /// Which of these messages are among the sent mail there.
    async fn arrived(&mut self, unsure: &[String]) -> Result<Vec<String>, PostError> {
        let sent = self.folders.iter().find(|folder| folder.role == Role::Sent);
        let Some(remote) = sent
            .map(|folder| folder.pair.remote.clone())
            .filter(|_| !unsure.is_empty())
        else {
            return Ok(Vec::new());
        };
        self.imap.select(&remote).await?;
        let mut arrived = Vec::new();
        for id in unsure {
            if self.imap.has(id).await? {
                arrived.push(id.clone());
            }
        }
        Ok(arrived)
    }
}

/// Numbers in portions of a bounded size, with the bytes of each.
fn batches(uids: &[u32], there: &BTreeMap<u32, There>) -> Vec<(Vec<u32>, u64)> {
    let mut all: Vec<(Vec<u32>, u64)> = Vec::new();
    for uid in uids {
        let size = there.get(uid).map_or(0, |there| there.size);
        match all.last_mut() {
            Some((uids, bytes)) if uids.len() < BATCH.0 && *bytes + size <= BATCH.1 => {
                uids.push(*uid);
                *bytes += size;
            }
            _ => all.push((vec![*uid], size)),
        }
    }
    all
}

fn hash_of(path: &Path) -> Result<Vec<u8>, StoreError> {
    Ok(Sha256::digest(store::read_bounded(path, 2 * MAX_MESSAGE)?).to_vec())
}

fn message_id_of(path: &Path) -> Option<String> {
    use std::io::Read as _;
    let mut header = Vec::new();
    let file = std::fs::File::open(path).ok()?;
    file.take(MAX_HEADER as u64).read_to_end(&mut header).ok()?;
    message_id(&header)
}

fn message_id(message: &[u8]) -> Option<String> {
    let header = MessageParser::default().parse_headers(&message[..message.len().min(MAX_HEADER)])?;
    Some(bare(header.message_id()?).to_owned())
}
