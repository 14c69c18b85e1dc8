//! The single steps: what each action does to one item.

use super::{Run, extension};
use crate::system::{
    dav::{
        DavError, MAX_ITEM, Step,
        client::{Changed, Fetched, Guard},
        item::{self, Item},
        names,
        plan::{Action, Changes, File, Hash, Known},
    },
    journal::JournalError,
    plain,
    store::{self, StoreError},
};

impl Run<'_> {
    /// Fetches what these actions need, and takes each.
    pub(super) fn take_batch(&mut self, actions: &[Action], changes: &Changes) -> Result<(), DavError> {
        (self.watch)(&Step::Ask)?;
        let hrefs: Vec<String> = actions.iter().filter_map(href).map(str::to_owned).collect();
        let mut fetched = self.client.get_many(self.remote, &hrefs)?;
        for action in actions {
            let Some(href) = href(action) else { continue };
            let listed = changes.present.get(href).cloned().unwrap_or_default();
            match fetched.remove(href) {
                Some(Fetched::Item { etag, bytes }) => {
                    let etag = if etag.is_empty() { listed } else { etag };
                    match item::read(&bytes) {
                        Ok(item) if self.folders.takes(item.place) => self.take(action, etag, &item)?,
                        Ok(_) => self.keep_away(href, etag, "does not belong into this collection")?,
                        Err(why) => self.keep_away(href, etag, why)?,
                    }
                }
                Some(Fetched::Bad(why)) => self.keep_away(href, listed, &why)?,
                // It was removed since the server listed it, and the next listing says so.
                Some(Fetched::Gone) | None => {}
            }
        }
        Ok(())
    }

    /// Does what needs nothing from the server first.
    pub(super) fn give(&mut self, action: Action) -> Result<(), DavError> {
        match action {
            Action::Push { file, href, etag } => self.push(&file, href, etag.as_deref()),
            Action::RemoveHere { href, file } => self.remove_here(&href, &file),
            Action::RemoveThere { href, file, etag } => self.remove_there(&href, &file, &etag),
            Action::Forget { href } => self.forget(&href),
            Action::Rename { href, file } => {
                let Some(mut known) = self.known.get(&href).cloned() else {
                    return Ok(());
                };
                known.file = known.file.map(|(_, hash)| (file, hash));
                self.know(known)
            }
            Action::Pull { .. } | Action::Reconcile { .. } => Ok(()),
        }
    }

    fn take(&mut self, action: &Action, etag: String, item: &Item) -> Result<(), DavError> {
        match action {
            Action::Pull { href, file: None } => {
                let same = item.uid.as_ref().and_then(|uid| self.new_by_uid.remove(uid));
                match same.filter(|file| file.place == item.place) {
                    Some(file) => self.reconcile(href, &file, etag, item),
                    None => self.create(href, etag, item),
                }
            }
            Action::Pull {
                href,
                file: Some(file),
            } => self.replace(href, file, etag, item),
            Action::Reconcile { href, file } => self.reconcile(href, file, etag, item),
            _ => Ok(()),
        }
    }

    /// A new item from the server.
    fn create(&mut self, href: &str, etag: String, item: &Item) -> Result<(), DavError> {
        self.folders.ready(item.place)?;
        let segment = names::inside(href, &self.remote.href).unwrap_or(href);
        let extension = extension(self.remote.kind);
        self.count()?;
        for name in [
            names::file(segment, extension).0,
            names::other_file(segment, extension),
        ] {
            let file = File {
                place: item.place,
                name,
            };
            let path = self.folders.path(&file);
            let mut hash = item::hash(item.text.as_bytes());
            match store::create_new(&path, item.text.as_bytes()) {
                Ok(()) => self.synced.pulled += 1,
                Err(StoreError::Exists(_)) => {
                    // Written by a run that was killed before it could remember, or somebody else's.
                    let owned = self
                        .known
                        .values()
                        .any(|k| k.file.as_ref().is_some_and(|(f, _)| *f == file));
                    match self.read(&file)? {
                        Some(there) if !owned && says_the_same(&there, item) => hash = item::hash(&there),
                        _ => continue,
                    }
                }
                Err(error) => return Err(error.into()),
            }
            return self.know_item(href, etag, file, hash, item);
        }
        self.keep_away(href, etag, "has a name that is taken here")
    }

    /// The server's version over the one that was last in step.
    fn replace(&mut self, href: &str, file: &File, etag: String, item: &Item) -> Result<(), DavError> {
        let path = self.folders.path(file);
        let hash = item::hash(item.text.as_bytes());
        self.count()?;
        let there = self.read(file)?;
        let was_here = there.is_some();
        match there {
            None => {
                self.folders.ready(file.place)?;
                match store::create_new(&path, item.text.as_bytes()) {
                    Err(StoreError::Exists(_)) => return self.look_again(),
                    other => other?,
                }
            }
            Some(there) if Some(item::hash(&there)) != self.last(href) => return self.look_again(),
            Some(there) if says_the_same(&there, item) => {
                return self.know_item(href, etag, file.clone(), item::hash(&there), item);
            }
            Some(there) => match self.step.replace(&path, &there, item.text.as_bytes()) {
                Err(JournalError::Store(StoreError::Changed(_))) => return self.look_again(),
                other => other?,
            },
        }
        self.replaced += usize::from(was_here);
        self.synced.pulled += 1;
        self.know_item(href, etag, file.clone(), hash, item)
    }

    /// Both sides changed it: the server's version stays what it is, ours becomes a copy, which the next round sends.
    fn reconcile(&mut self, href: &str, file: &File, etag: String, item: &Item) -> Result<(), DavError> {
        let Some(bytes) = self.read(file)? else {
            return self.look_again();
        };
        if says_the_same(&bytes, item) {
            return self.know_item(href, etag, file.clone(), item::hash(&bytes), item);
        }
        self.count()?;
        let path = self.folders.path(file);
        let ending = extension(self.remote.kind);
        let (name, text) = match item::read(&bytes) {
            Ok(ours) => {
                let (uid, copy) = ours.conflicted_copy();
                (format!("{uid}.{ending}"), copy.text.into_bytes())
            }
            // What is no item is not sent, but it is kept.
            Err(_) => (names::copy(&file.name, &bytes, ending), bytes.clone()),
        };
        let copy = File {
            place: file.place,
            name,
        };
        match store::create_new(&self.folders.path(&copy), &text) {
            // The name is made from the content: a run that was killed here left it.
            Ok(()) | Err(StoreError::Exists(_)) => {}
            Err(error) => return Err(error.into()),
        }
        (self.watch)(&Step::Remember)?;
        match self.step.replace(&path, &bytes, item.text.as_bytes()) {
            Err(JournalError::Store(StoreError::Changed(_))) => return self.look_again(),
            other => other?,
        }
        self.replaced += 1;
        self.synced.conflicts += 1;
        self.again = true;
        let title = plain::one_line(&item.title(), 80);
        self.synced.notes.push(format!(
            "\"{title}\" was changed here and on the server. The server's version kept its place, and what was here is \
             beside it as a conflicted copy."
        ));
        self.know_item(href, etag, file.clone(), item::hash(item.text.as_bytes()), item)
    }

    fn push(&mut self, file: &File, href: Option<String>, etag: Option<&str>) -> Result<(), DavError> {
        // An item that came in this round may have been the same as this new file.
        if href.is_none() && self.is_known(file) {
            return Ok(());
        }
        let path = self.folders.path(file);
        let bytes = match store::read_bounded(&path, MAX_ITEM) {
            Ok(bytes) => bytes,
            Err(StoreError::Missing(_)) => return self.look_again(),
            Err(error) => return Err(error.into()),
        };
        let hash = item::hash(&bytes);
        if !self.remote.writable {
            return self.withhold(file, &hash, "was changed here");
        }
        let ours = match item::read(&bytes) {
            Ok(ours) if self.folders.takes(ours.place) => ours,
            Ok(_) => return self.not_sent(file, "does not belong into this collection"),
            Err(why) => return self.not_sent(file, why),
        };
        let href = href.unwrap_or_else(|| self.address(&file.name));
        let guard = etag.map_or(Guard::New, Guard::Over);
        self.count()?;
        match self.client.put(&href, self.remote.kind, &bytes, guard)? {
            Changed::Done(etag) => {
                self.synced.pushed += 1;
                // A server that does not name the version may have written something else: the next round takes it.
                self.again |= etag.is_none();
                self.know_item(&href, etag.unwrap_or_default(), file.clone(), hash, &ours)
            }
            Changed::Overtaken => {
                self.overtaken = true;
                Ok(())
            }
            Changed::Refused(why) => self.refuse(&ours, "was not sent", &why),
        }
    }

    fn remove_there(&mut self, href: &str, file: &File, etag: &str) -> Result<(), DavError> {
        if !self.remote.writable {
            return self.withhold(file, b"gone", "was deleted here");
        }
        self.count()?;
        match self.client.delete(href, self.remote.kind, etag)? {
            Changed::Done(_) => {
                self.synced.removed_there += 1;
                self.forget(href)
            }
            Changed::Overtaken => {
                self.overtaken = true;
                Ok(())
            }
            Changed::Refused(why) => {
                let name = plain::one_line(&file.name, 80);
                self.refused
                    .push(format!("{name} was not deleted on the server: {why}."));
                Ok(())
            }
        }
    }

    fn remove_here(&mut self, href: &str, file: &File) -> Result<(), DavError> {
        match self.read(file)? {
            None => {}
            Some(there) if Some(item::hash(&there)) != self.last(href) => return self.look_again(),
            Some(there) => {
                self.count()?;
                match self.step.remove(&self.folders.path(file), &there) {
                    Err(JournalError::Store(StoreError::Changed(_))) => return self.look_again(),
                    other => other?,
                }
                self.synced.removed_here += 1;
            }
        }
        self.forget(href)
    }

    /// Keeps away what the server has and nobody can read. A file that was in step with an earlier version stays.
    fn keep_away(&mut self, href: &str, etag: String, why: &str) -> Result<(), DavError> {
        let old = self.known.get(href).cloned();
        self.know(Known {
            href: href.to_owned(),
            etag,
            file: old.as_ref().and_then(|k| k.file.clone()),
            uid: old.and_then(|k| k.uid),
            trouble: Some(why.to_owned()),
        })
    }

    /// A collection that may not be changed: what was changed here stays, is told once, and is not sent.
    fn withhold(&mut self, file: &File, state: &[u8], what: &str) -> Result<(), DavError> {
        (self.watch)(&Step::Remember)?;
        if self.memory.tell_once(self.pair.id, file, state)? {
            self.synced.notes.push(format!(
                "{} {what}, but this collection may not be changed on the server. It stays as it is here.",
                plain::one_line(&file.name, 80)
            ));
        }
        Ok(())
    }

    fn not_sent(&mut self, file: &File, why: &str) -> Result<(), DavError> {
        let name = plain::one_line(&file.name, 80);
        let note = format!("{name} {why}, so it was not sent.");
        if !self.synced.notes.contains(&note) {
            self.synced.notes.push(note);
        }
        Ok(())
    }

    fn refuse(&mut self, item: &Item, what: &str, why: &str) -> Result<(), DavError> {
        let title = plain::one_line(&item.title(), 80);
        self.refused.push(format!("\"{title}\" {what}: {why}."));
        Ok(())
    }

    /// The address of a new file.
    fn address(&self, name: &str) -> String {
        let own = format!("{}{}", self.remote.href, names::segment(name));
        match self.known.contains_key(&own) {
            false => own,
            true => format!(
                "{}{}",
                self.remote.href,
                names::other_segment(name, extension(self.remote.kind))
            ),
        }
    }

    /// A file's bytes; nothing when it is gone.
    fn read(&self, file: &File) -> Result<Option<Vec<u8>>, DavError> {
        match store::read_bounded(&self.folders.path(file), MAX_ITEM) {
            Ok(bytes) => Ok(Some(bytes)),
            Err(StoreError::Missing(_)) => Ok(None),
            Err(error) => Err(error.into()),
        }
    }

    /// The bytes that were last in step.
    fn last(&self, href: &str) -> Option<Hash> {
        Some(self.known.get(href)?.file.as_ref()?.1)
    }

    fn is_known(&self, file: &File) -> bool {
        let is = |k: &Known| k.file.as_ref().is_some_and(|(known, _)| known == file);
        self.known.values().any(is)
    }

    fn know_item(
        &mut self,
        href: &str,
        etag: String,
        file: File,
        hash: Hash,
        item: &Item,
    ) -> Result<(), DavError> {
        self.know(Known {
            href: href.to_owned(),
            etag,
            file: Some((file, hash)),
            uid: item.uid.clone(),
            trouble: None,
        })
    }

    fn know(&mut self, item: Known) -> Result<(), DavError> {
        (self.watch)(&Step::Remember)?;
        self.memory.know(self.pair.id, &item)?;
        self.known.insert(item.href.clone(), item);
        Ok(())
    }

    fn forget(&mut self, href: &str) -> Result<(), DavError> {
        (self.watch)(&Step::Remember)?;
        self.memory.forget(self.pair.id, href)?;
        self.known.remove(href);
        Ok(())
    }

    fn look_again(&mut self) -> Result<(), DavError> {
        self.again = true;
        Ok(())
    }

    /// Says that a change comes.
    fn count(&mut self) -> Result<(), DavError> {
        let (done, all) = self.progress;
        self.progress.0 += 1;
        (self.watch)(&Step::Change {
            collection: self.synced.name.clone(),
            done,
            all,
        })?;
        Ok(())
    }
}

fn says_the_same(bytes: &[u8], item: &Item) -> bool {
    item::read(bytes).is_ok_and(|there| there.says_the_same(item))
}

fn href(action: &Action) -> Option<&str> {
    match action {
        Action::Pull { href, .. } | Action::Reconcile { href, .. } => Some(href),
        _ => None,
    }
}
