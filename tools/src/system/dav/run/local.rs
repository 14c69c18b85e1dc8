//! The folders of one collection: which they are, and what is in them.

use std::{
    collections::BTreeMap,
    fs,
    io::ErrorKind,
    path::{Path, PathBuf},
};

use super::extension;
use crate::{
    contract::Dirs,
    system::{
        dav::{
            Account, DavError, Kind, MAX_ITEM,
            client::Remote,
            item,
            memory::{Memory, Paired},
            names,
            plan::{File, Here, Known, Place},
        },
        store::{self, StoreError},
        vdir::MAX_FILES,
    },
};

/// Says whose folder it is, so that a folder of the person's own is never taken for ours and sent away.
const MARKER: &str = ".tiro-dav";

/// The folders of a collection: one, or for a calendar one in each store, of the same name.
pub struct Folders {
    places: Vec<(Place, PathBuf)>,
    marker: String,
    extension: &'static str,
}

/// What is in them.
pub struct Scan {
    /// Every file.
    pub here: BTreeMap<File, Here>,
    /// A folder that had items is not there.
    pub missing: bool,
    /// What was left alone.
    pub warnings: Vec<String>,
}

impl Folders {
    /// Finds the folders, or makes them. A collection that is remembered has the folder that is remembered; one that
    /// is not, but whose folder is marked as its own, gets that again.
    ///
    /// # Errors
    /// When the disk does not let us.
    pub fn of(
        account: &Account,
        dirs: &Dirs,
        memory: &Memory,
        remote: &Remote,
        known: Option<&Paired>,
    ) -> Result<(Paired, Folders), DavError> {
        let roots: Vec<(Place, &Path)> = match remote.kind {
            Kind::Calendar => vec![(Place::Events, &dirs.calendars), (Place::Todos, &dirs.reminders)],
            Kind::Contacts => vec![(Place::Cards, &dirs.contacts)],
        };
        let marker = format!("{}\n{}\n", account.name, remote.href);
        let folders = |folder: &str| Folders {
            places: roots
                .iter()
                .map(|(place, root)| (*place, root.join(folder)))
                .collect(),
            marker: marker.clone(),
            extension: extension(remote.kind),
        };
        if let Some(pair) = known {
            let folders = folders(&pair.folder);
            if memory.items(pair.id)?.is_empty() || account.force {
                folders.make(remote)?;
            }
            return Ok((pair.clone(), folders));
        }
        let folder = match marked(&roots, &marker) {
            Some(folder) => folder,
            None => free(account, &roots, memory, remote)?,
        };
        let folders = folders(&folder);
        folders.make(remote)?;
        Ok((memory.pair(remote.kind, &remote.href, &folder)?, folders))
    }

    /// The file's path.
    pub fn path(&self, file: &File) -> PathBuf {
        let folder = self.places.iter().find(|(place, _)| *place == file.place);
        folder.map_or_else(PathBuf::new, |(_, folder)| folder.join(&file.name))
    }

    /// Whether items of this place belong into this collection.
    pub fn takes(&self, place: Place) -> bool {
        self.places.iter().any(|(mine, _)| *mine == place)
    }

    /// Makes the folder of a place when it is not there yet: to-dos in a calendar of events get theirs with the first.
    ///
    /// # Errors
    /// When somebody else's folder stands there.
    pub fn ready(&self, place: Place) -> Result<(), DavError> {
        let Some((_, folder)) = self.places.iter().find(|(mine, _)| *mine == place) else {
            return Ok(());
        };
        match self.is_mine(folder) {
            true => Ok(()),
            false if folder.exists() => Err(StoreError::Exists(folder.clone()).into()),
            false => self.mark(folder),
        }
    }

    /// The folders that are there.
    pub fn mine(&self) -> Vec<&Path> {
        let paths = self.places.iter().map(|(_, folder)| folder.as_path());
        paths.filter(|folder| self.is_mine(folder)).collect()
    }

    /// Reads every file. One that cannot be read is in the list without content, so that nobody takes it for deleted.
    ///
    /// # Errors
    /// When a folder cannot be listed, or holds more than a store may.
    pub fn scan(&self, known: &[Known]) -> Result<Scan, DavError> {
        let mut scan = Scan {
            here: BTreeMap::new(),
            missing: false,
            warnings: Vec::new(),
        };
        for (place, folder) in &self.places {
            if !self.is_mine(folder) {
                let had = |k: &Known| k.file.as_ref().is_some_and(|(file, _)| file.place == *place);
                scan.missing |= known.iter().any(had);
                continue;
            }
            for entry in fs::read_dir(folder).map_err(|e| StoreError::of(folder, e))? {
                let entry = entry.map_err(|e| StoreError::of(folder, e))?;
                let Some(name) = entry.file_name().to_str().map(str::to_owned) else {
                    continue;
                };
                let right = Path::new(&name)
                    .extension()
                    .is_some_and(|e| e.eq_ignore_ascii_case(self.extension));
                if !right || name.starts_with('.') {
                    continue;
                }
                if scan.here.len() >= MAX_FILES {
                    return Err(DavError::TooMany { max: MAX_FILES });
                }
                if let Some(here) = self.look(&entry, &mut scan.warnings) {
                    scan.here.insert(File { place: *place, name }, here);
                }
            }
        }
        Ok(scan)
    }

    fn look(&self, entry: &fs::DirEntry, warnings: &mut Vec<String>) -> Option<Here> {
        let path = entry.path();
        let is_file = entry.file_type().is_ok_and(|kind| kind.is_file());
        let read = match is_file {
            true => store::read_bounded(&path, MAX_ITEM),
            false => Err(StoreError::NotAFile(path)),
        };
        match read {
            Ok(bytes) => Some(Here {
                hash: Some(item::hash(&bytes)),
                uid: item::read(&bytes).ok().and_then(|item| item.uid),
            }),
            // Removed since it was listed.
            Err(StoreError::Missing(_)) => None,
            Err(error) => {
                warnings.push(format!("{error}, so it was left alone."));
                Some(Here {
                    hash: None,
                    uid: None,
                })
            }
        }
    }

    /// Makes the main folder: where the server says that a calendar takes to-dos only, that is the one for to-dos.
    fn make(&self, remote: &Remote) -> Result<(), DavError> {
        let todos = remote.components == ["VTODO"];
        let place = match remote.kind {
            Kind::Contacts => Place::Cards,
            Kind::Calendar if todos => Place::Todos,
            Kind::Calendar => Place::Events,
        };
        self.ready(place)
    }

    fn is_mine(&self, folder: &Path) -> bool {
        store::read_bounded(&folder.join(MARKER), 8192).is_ok_and(|bytes| bytes == self.marker.as_bytes())
    }

    fn mark(&self, folder: &Path) -> Result<(), DavError> {
        store::make_folder(folder)?;
        store::replace(&folder.join(MARKER), self.marker.as_bytes())?;
        Ok(())
    }
}

/// The folder that is marked as this collection's.
fn marked(roots: &[(Place, &Path)], marker: &str) -> Option<String> {
    roots.iter().find_map(|(_, root)| {
        let entries = fs::read_dir(root).ok()?;
        entries.filter_map(Result::ok).take(MAX_FILES).find_map(|entry| {
            let bytes = store::read_bounded(&entry.path().join(MARKER), 8192).ok()?;
            (bytes == marker.as_bytes()).then(|| entry.file_name().to_str().map(str::to_owned))?
        })
    })
}

/// A name that no folder has, neither here nor in memory.
fn free(
    account: &Account,
    roots: &[(Place, &Path)],
    memory: &Memory,
    remote: &Remote,
) -> Result<String, DavError> {
    let name = remote
        .name
        .as_deref()
        .or_else(|| remote.href.trim_end_matches('/').rsplit('/').next());
    let stem = names::slug(&format!("{}-{}", account.name, name.unwrap_or_default()), 100).to_lowercase();
    let taken: Vec<String> = memory
        .collections(remote.kind)?
        .into_iter()
        .map(|p| p.folder)
        .collect();
    for number in 1..=MAX_SAME {
        let candidate = match number {
            1 => stem.clone(),
            n => format!("{stem}-{n}"),
        };
        if !taken.contains(&candidate) && !stands(roots, &candidate)? {
            return Ok(candidate);
        }
    }
    Err(StoreError::Exists(PathBuf::from(stem)).into())
}

/// Folders of one name before giving up.
const MAX_SAME: usize = 1000;

/// Whether anything of that name is in one of the stores.
fn stands(roots: &[(Place, &Path)], name: &str) -> Result<bool, StoreError> {
    for (_, root) in roots {
        let path = root.join(name);
        match fs::symlink_metadata(&path) {
            Ok(_) => return Ok(true),
            Err(e) if e.kind() == ErrorKind::NotFound => {}
            Err(e) => return Err(StoreError::of(&path, e)),
        }
    }
    Ok(false)
}
