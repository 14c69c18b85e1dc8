//! Whether anything changed in folders since they were last read, asked of the kernel, so that a question need not look at
//! every file. A folder that cannot be watched so is looked at as before: this only ever says "nothing changed".
//!
//! Why there is no race. The kernel puts an event into the queue before the system call that made the change returns, and
//! a query empties the queue itself, in its own thread, before it trusts what it knows. So a change that was finished
//! before the query began is seen by it; one that is made while it reads leaves an event for the next query. (A library
//! that reads events in a thread of its own, as `notify` does, would have to be waited for; that is why rustix is used
//! directly.) What events cannot show is not trusted: network file systems, files with several names or behind links,
//! a folder that another one has taken the place of, a queue that ran over. One thing remains: a file that gets a second
//! name elsewhere after it was read, and is then written under that name, gives no event here. So every ten minutes
//! everything is looked at all the same.

use std::{
    collections::{HashMap, HashSet},
    ffi::OsString,
    path::{Path, PathBuf},
    time::{Duration, Instant},
};

use super::store::Found;

/// How long events alone are relied on.
const MAX_TRUST: Duration = Duration::from_secs(600);

/// What happened in a folder.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum News {
    /// Only files of these names were touched; often none.
    Files(HashSet<OsString>),
    /// It is not known; the folder has to be read anew, and to be watched anew.
    Lost,
}

/// A watch over the entries of one folder, not of those below it.
#[derive(Debug)]
pub struct Watch {
    id: i32,
    /// Device and inode of what was watched.
    identity: (u64, u64),
    since: Instant,
}

impl Watch {
    /// Watches a folder from now on. Nothing where that cannot be done or cannot be trusted.
    pub fn on(folder: &Path) -> Option<Watch> {
        if !kernel::tells(folder) {
            return None;
        }
        let identity = identity(folder)?;
        let id = kernel::add(folder)?;
        // Made at once, so that it is taken off should the folder have been exchanged in between.
        let since = Instant::now();
        let watch = Watch { id, identity, since };
        (self::identity(folder)? == identity).then_some(watch)
    }

    /// What happened since the last time; `folder` is the path that it was made for.
    pub fn news(&self, folder: &Path) -> News {
        // The queue is emptied first: what takes the folder's place after this is a change made during the query.
        let news = kernel::news(self.id);
        if self.since.elapsed() < MAX_TRUST && identity(folder) == Some(self.identity) {
            news
        } else {
            News::Lost
        }
    }
}

impl Drop for Watch {
    fn drop(&mut self) {
        kernel::remove(self.id);
    }
}

/// Watches over a folder and those below it, for who reads all of them anew when anything happened.
#[derive(Debug, Default)]
pub struct Tree {
    watches: HashMap<PathBuf, Watch>,
    /// Whether all that was read is watched.
    whole: bool,
}

impl Tree {
    /// Whether nothing at all happened since [`Tree::walk`], for sure.
    pub fn is_quiet(&mut self) -> bool {
        // Every watch is asked, also when one has told enough already: each has to be emptied.
        let mut quiet = true;
        self.watches.retain(|folder, watch| match watch.news(folder) {
            News::Files(names) => {
                quiet &= names.is_empty();
                true
            }
            News::Lost => {
                quiet = false;
                false
            }
        });
        quiet && self.whole
    }

    /// Lists files by `walk` while every folder in which it does is watched already.
    ///
    /// # Errors
    /// Those of `walk`.
    pub fn walk<E>(&mut self, walk: impl Fn() -> Result<Found, E>) -> Result<Found, E> {
        self.whole = false;
        let mut found = walk()?;
        if !self.covers(&found.folders) {
            let folders: HashSet<&PathBuf> = found.folders.iter().collect();
            self.watches.retain(|folder, _| folders.contains(folder));
            for folder in folders {
                if !self.watches.contains_key(folder) {
                    match Watch::on(folder) {
                        Some(watch) => _ = self.watches.insert(folder.clone(), watch),
                        // One that is not watched makes the others worthless.
                        None => {
                            self.watches.clear();
                            return Ok(found);
                        }
                    }
                }
            }
            // Once more, because files may have come and gone before the watch was there.
            found = walk()?;
        }
        self.whole = !self.watches.is_empty() && self.covers(&found.folders);
        Ok(found)
    }

    /// Says that something was read that is not watched, so that nothing is taken for quiet.
    pub fn distrust(&mut self) {
        self.whole = false;
    }

    fn covers(&self, folders: &[PathBuf]) -> bool {
        self.watches.len() == folders.len() && folders.iter().all(|folder| self.watches.contains_key(folder))
    }
}

fn identity(folder: &Path) -> Option<(u64, u64)> {
    use std::os::unix::fs::MetadataExt as _;
    let meta = std::fs::metadata(folder).ok()?;
    Some((meta.dev(), meta.ino()))
}

#[cfg(target_os = "linux")]
mod kernel {
    //! inotify(7): one queue for the whole process.

    use std::{
        collections::{HashMap, HashSet},
        ffi::{OsStr, OsString},
        mem::MaybeUninit,
        os::{fd::OwnedFd, unix::ffi::OsStrExt as _},
        path::Path,
        sync::{LazyLock, Mutex, MutexGuard, PoisonError},
    };

    use rustix::{
        fs::{
            inotify::{self, CreateFlags, ReadFlags, Reader, WatchFlags},
            statfs,
        },
        io::Errno,
    };

    use super::News;

    /// Names that one folder keeps; with more of them reading it anew is as cheap.
    const MAX_NAMES: usize = 1_000;
    /// Events that are read in one go. The kernel's queue holds fewer, so with more somebody writes faster than we read.
    const MAX_EVENTS: usize = 100_000;
    /// File systems of this machine, on which nobody else writes without our kernel knowing (linux/magic.h): ext2 to 4,
    /// XFS, Btrfs, F2FS, bcachefs, ZFS, tmpfs, overlay, eCryptfs, FAT, exFAT, NTFS3.
    const LOCAL: [u32; 12] = [
        0xEF53,
        0x5846_5342,
        0x9123_683E,
        0xF2F5_2010,
        0xCA45_1A4E,
        0x2FC1_2FC1,
        0x0102_1994,
        0x794C_7630,
        0xF15F,
        0x4D44,
        0x2011_BAB0,
        0x7366_746E,
    ];

    struct Queue {
        events: OwnedFd,
        news: HashMap<i32, News>,
    }

    /// Nothing where the system gives no queue.
    static QUEUE: LazyLock<Option<Mutex<Queue>>> = LazyLock::new(|| {
        let events = inotify::init(CreateFlags::NONBLOCK | CreateFlags::CLOEXEC)
            .inspect_err(|error| tracing::info!(%error, "folders are not watched"))
            .ok()?;
        let news = HashMap::new();
        Some(Mutex::new(Queue { events, news }))
    });

    fn queue() -> Option<MutexGuard<'static, Queue>> {
        Some(QUEUE.as_ref()?.lock().unwrap_or_else(PoisonError::into_inner))
    }

    pub fn tells(folder: &Path) -> bool {
        // The width of the field differs between machines; the numbers have 32 bits.
        statfs(folder).is_ok_and(|fs| {
            LOCAL
                .iter()
                .any(|known| i128::from(*known) == i128::from(fs.f_type))
        })
    }

    pub fn add(folder: &Path) -> Option<i32> {
        let what = WatchFlags::MODIFY
            | WatchFlags::ATTRIB
            | WatchFlags::CLOSE_WRITE
            | WatchFlags::MOVE
            | WatchFlags::CREATE
            | WatchFlags::DELETE
            | WatchFlags::DELETE_SELF
            | WatchFlags::MOVE_SELF
            | WatchFlags::ONLYDIR;
        let mut queue = queue()?;
        let id = inotify::add_watch(&queue.events, folder, what)
            .inspect_err(|error| tracing::info!(%error, "a folder is not watched"))
            .ok()?;
        // One folder has one number, also under another path; who came first keeps it.
        if queue.news.contains_key(&id) {
            return None;
        }
        queue.news.insert(id, News::Files(HashSet::new()));
        Some(id)
    }

    pub fn remove(id: i32) {
        if let Some(mut queue) = queue()
            && queue.news.remove(&id).is_some()
        {
            // Fails where the folder itself is gone, and its watch with it.
            let _ = inotify::remove_watch(&queue.events, id);
        }
    }

    pub fn news(id: i32) -> News {
        let Some(mut queue) = queue() else {
            return News::Lost;
        };
        if queue.drain().is_none() {
            queue.news.values_mut().for_each(|news| *news = News::Lost);
        }
        match queue.news.get_mut(&id) {
            // What is lost stays so: the watch has to be made anew.
            Some(News::Lost) | None => News::Lost,
            Some(News::Files(names)) => News::Files(std::mem::take(names)),
        }
    }

    impl Queue {
        /// Sorts all events into the folders that they are of; nothing when some are not known.
        fn drain(&mut self) -> Option<()> {
            let mut buffer = [MaybeUninit::uninit(); 16 * 1024];
            let mut reader = Reader::new(&self.events, &mut buffer);
            for _ in 0..MAX_EVENTS {
                let event = match reader.next() {
                    Ok(event) => event,
                    Err(Errno::AGAIN) => return Some(()),
                    Err(Errno::INTR) => continue,
                    Err(_) => return None,
                };
                let gone =
                    ReadFlags::DELETE_SELF | ReadFlags::MOVE_SELF | ReadFlags::UNMOUNT | ReadFlags::IGNORED;
                if event.events().contains(ReadFlags::QUEUE_OVERFLOW) {
                    return None;
                }
                // Late events of a watch that was taken off have no entry.
                let Some(news) = self.news.get_mut(&event.wd()) else {
                    continue;
                };
                let name = event.file_name().map(|name| OsStr::from_bytes(name.to_bytes()));
                match (&mut *news, name) {
                    _ if event.events().intersects(gone) => *news = News::Lost,
                    (News::Lost, _) => {}
                    (News::Files(names), Some(_)) if names.len() >= MAX_NAMES => *news = News::Lost,
                    (News::Files(names), Some(name)) if !names.contains(name) => {
                        names.insert(OsString::from(name));
                    }
                    // An event of the folder itself: its permissions, say.
                    (News::Files(_), None) => *news = News::Lost,
                    (News::Files(_), Some(_)) => {}
                }
            }
            None
        }
    }
}

#[cfg(not(target_os = "linux"))]
mod kernel {
    //! Elsewhere events come late and in no order that could be relied on, so nothing is watched.

    use std::path::Path;

    use super::News;

    pub fn tells(_folder: &Path) -> bool {
        false
    }

    pub fn add(_folder: &Path) -> Option<i32> {
        None
    }

    pub fn remove(_id: i32) {}

    pub fn news(_id: i32) -> News {
        News::Lost
    }
}

#[cfg(test)]
#[cfg(target_os = "linux")]
mod tests {
    use std::{
        fs,
        sync::atomic::{AtomicUsize, Ordering},
    };

    use super::*;
    use crate::{
        system::{calendar, contacts, notes, store},
        testing::ctx,
    };

    fn names(news: News) -> Vec<String> {
        match news {
            News::Files(names) => {
                let mut names: Vec<String> = names.iter().map(|n| n.to_string_lossy().into_owned()).collect();
                names.sort();
                names
            }
            News::Lost => vec!["lost".to_owned()],
        }
    }

    #[test]
    fn what_was_touched_is_told_once() {
        let root = tempfile::tempdir().unwrap();
        let path = |name: &str| root.path().join(name);
        fs::write(path("old"), "1").unwrap();
        let watch = Watch::on(root.path()).unwrap();
        let news = || names(watch.news(root.path()));
        assert_eq!(news(), [""; 0]);
        fs::write(path("new"), "1").unwrap();
        fs::write(path("old"), "2").unwrap();
        assert_eq!(news(), ["new", "old"]);
        assert_eq!(news(), [""; 0]);
        fs::rename(path("new"), path("newer")).unwrap();
        fs::remove_file(path("old")).unwrap();
        fs::create_dir(path("folder")).unwrap();
        assert_eq!(news(), ["folder", "new", "newer", "old"]);
        fs::read(path("newer")).unwrap();
        assert_eq!(news(), [""; 0], "reading is no news");
        assert!(Watch::on(root.path()).is_none(), "who came first keeps it");
        drop(watch);
        assert!(Watch::on(root.path()).is_some());
    }

    #[test]
    fn a_folder_that_is_another_one_now_is_lost() {
        let root = tempfile::tempdir().unwrap();
        let path = |name: &str| root.path().join(name);
        fs::create_dir_all(path("above/folder")).unwrap();
        let folder = path("above/folder");
        let watch = Watch::on(&folder).unwrap();
        assert_eq!(watch.news(&folder), News::Files(HashSet::new()));
        // Not the folder itself is moved but one above it, of which it has no event.
        fs::rename(path("above"), path("aside")).unwrap();
        assert_eq!(watch.news(&folder), News::Lost);
        fs::create_dir_all(&folder).unwrap();
        assert_eq!(watch.news(&folder), News::Lost);
        drop(watch);
        let watch = Watch::on(&folder).unwrap();
        fs::remove_dir(&folder).unwrap();
        assert_eq!(watch.news(&folder), News::Lost);
        assert!(Watch::on(&path("none")).is_none());
    }

    #[test]
    fn more_than_is_kept_is_lost() {
        let root = tempfile::tempdir().unwrap();
        let watch = Watch::on(root.path()).unwrap();
        for n in 0..1_100 {
            fs::write(root.path().join(n.to_string()), "").unwrap();
        }
        assert_eq!(watch.news(root.path()), News::Lost);
    }

    /// How another program saves a file.
    #[derive(Debug, Clone, Copy)]
    enum Save {
        /// Over the old content.
        InPlace,
        /// Beside it, then by rename.
        ByRename,
        /// As a new file, the old one removed.
        Anew,
    }

    /// Another program writes versions as fast as it can. Whatever version was finished before we ask must be in the
    /// answer, or a later one.
    #[track_caller]
    fn never_missed(
        folder: &Path,
        file: &str,
        content: fn(usize) -> String,
        ask: &dyn Fn() -> Option<usize>,
    ) {
        const VERSIONS: usize = 300;
        for save in [Save::InPlace, Save::ByRename, Save::Anew] {
            let written = AtomicUsize::new(0);
            let path = folder.join(file);
            store::make_folder(folder).unwrap();
            fs::write(&path, content(0)).unwrap();
            let mut asked = 0;
            std::thread::scope(|scope| {
                let other = scope.spawn(|| {
                    for n in 1..=VERSIONS {
                        match save {
                            Save::InPlace => fs::write(&path, content(n)).unwrap(),
                            Save::ByRename => store::replace(&path, content(n).as_bytes()).unwrap(),
                            Save::Anew => {
                                fs::remove_file(&path).unwrap();
                                fs::write(&path, content(n)).unwrap();
                            }
                        }
                        written.store(n, Ordering::SeqCst);
                        if n % 3 == 0 {
                            std::thread::yield_now();
                        }
                    }
                });
                while !other.is_finished() {
                    let finished = written.load(Ordering::SeqCst);
                    let seen = ask();
                    // A file in the middle of being written is not there, or not whole; then nothing can be said.
                    assert!(
                        seen.is_none_or(|seen| seen >= finished),
                        "{save:?}: {seen:?} after {finished}"
                    );
                    asked += 1;
                }
            });
            assert_eq!(
                ask(),
                Some(VERSIONS),
                "{save:?}, the last one after {asked} questions"
            );
            for n in [VERSIONS + 1, VERSIONS + 2, VERSIONS + 3] {
                fs::write(&path, content(n)).unwrap();
                assert_eq!(ask(), Some(n), "{save:?}");
                assert_eq!(ask(), Some(n), "{save:?}, when nothing changed");
            }
            fs::remove_file(&path).unwrap();
            assert_eq!(ask(), None, "{save:?}, removed");
        }
    }

    fn number(text: &str) -> Option<usize> {
        text.rsplit(' ').next()?.parse().ok()
    }

    #[test]
    fn no_event_of_another_program_is_missed() {
        let root = tempfile::tempdir().unwrap();
        let ctx = ctx(root.path());
        let to = ctx.now.checked_add(jiff::ToSpan::days(7)).unwrap();
        let ask = || {
            let events = calendar::events(&ctx.dirs.calendars, &ctx.now, &to)
                .unwrap()
                .items;
            number(&events.first()?.title)
        };
        let content = |n| {
            format!(
                "BEGIN:VCALENDAR\nBEGIN:VEVENT\nUID:1\nDTSTART:20261124T100000Z\nSUMMARY:Version {n}\nEND:VEVENT\nEND:VCALENDAR\n"
            )
        };
        never_missed(&ctx.dirs.calendars.join("work"), "1.ics", content, &ask);
    }

    #[test]
    fn no_contact_of_another_program_is_missed() {
        let root = tempfile::tempdir().unwrap();
        let ctx = ctx(root.path());
        let ask = || number(&contacts::read(&ctx.dirs.contacts).unwrap().contacts.first()?.name);
        let content = |n| format!("BEGIN:VCARD\nVERSION:3.0\nUID:1\nFN:Version {n}\nEND:VCARD\n");
        never_missed(&ctx.dirs.contacts.join("book"), "1.vcf", content, &ask);
    }

    #[test]
    fn no_note_of_another_program_is_missed() {
        let root = tempfile::tempdir().unwrap();
        let ctx = ctx(root.path());
        let ask = || {
            let found = notes::search(&ctx.dirs.notes, "quince", 1).unwrap().found;
            number(&found.first()?.0.title)
        };
        let content = |n| format!("# Version {n}\n\nA quince.\n");
        never_missed(&ctx.dirs.notes.join("garden"), "one.md", content, &ask);
    }
}
