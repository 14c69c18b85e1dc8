//! Worlds for demos and tests: a small person's life as data, written as ordinary ics, vcf, Maildir and Markdown files.
//!
//! Days are relative to the moment of seeding, so that "tomorrow" always holds something. Seeding is idempotent and
//! keeps to its own: a list of what it wrote lies in the state folder, and a home with other data is refused.

mod data;
mod formats;

use std::{
    collections::BTreeSet,
    fmt, fs,
    path::{Component, Path, PathBuf},
};

use anyhow::{Context as _, bail, ensure};
use serde::{Deserialize, Serialize};
use tools::{Dirs, system::store};

pub use data::World;

/// The list of what seeding wrote, in the state folder.
const LIST: &str = "world.json";
/// No list or world file is larger.
const MAX_BYTES: u64 = 4 << 20;

/// What seeding did.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Report {
    /// Files written, new or again.
    pub written: usize,
    /// Files of an earlier seeding that this world no longer has.
    pub removed: usize,
    /// How many of what, in the order of the world file.
    pub counts: Vec<(&'static str, usize)>,
}

impl fmt::Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let counts: Vec<_> = self
            .counts
            .iter()
            .map(|(what, n)| format!("{n} {what}"))
            .collect();
        write!(f, "The world holds {}.", counts.join(", "))
    }
}

/// Writes the world into these folders. The second time it overwrites what it wrote the first time, and nothing else.
///
/// # Errors
/// When the world is not well-formed (nothing is written then), when the folders hold data that no seeding wrote,
/// or when a file cannot be written.
pub fn seed(world: &World, dirs: &Dirs, now: &jiff::Zoned) -> anyhow::Result<Report> {
    let new = formats::render(world, now)?;
    let names: BTreeSet<Own> = new.iter().map(|file| file.own.clone()).collect();
    ensure!(
        names.len() == new.len(),
        "Two things in the world have the same name."
    );
    let paths = new
        .iter()
        .map(|file| file.own.path(dirs))
        .collect::<anyhow::Result<Vec<_>>>()?;
    let listed = read_list(dirs)?;
    if listed.is_none() {
        refuse_foreign_data(dirs)?;
    }
    let old = listed.unwrap_or_default();
    let dropped: Vec<_> = old
        .difference(&names)
        .map(|own| own.path(dirs))
        .collect::<anyhow::Result<_>>()?;

    // The list is written before the files: whatever happens in between, everything of ours is on it.
    write_list(dirs, &old.union(&names).cloned().collect())?;
    for (path, file) in paths.iter().zip(&new) {
        if let Some(folder) = path.parent() {
            store::make_folder(folder)?;
        }
        store::replace(path, &file.bytes)?;
    }
    let mut removed = 0;
    for path in dropped {
        removed += usize::from(remove(&path)?);
    }
    remove_moved_mail(dirs, &names)?;
    write_list(dirs, &names)?;
    Ok(Report {
        written: new.len(),
        removed,
        counts: world.counts(),
    })
}

/// A file that seeding owns: a place and a path below it. Places and not absolute paths, because a home may move.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Own {
    place: Place,
    path: PathBuf,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
enum Place {
    Calendars,
    Contacts,
    Reminders,
    Mail,
    Notes,
    Files,
    Applications,
}

impl Place {
    const ALL: [Place; 7] = [
        Place::Calendars,
        Place::Contacts,
        Place::Reminders,
        Place::Mail,
        Place::Notes,
        Place::Files,
        Place::Applications,
    ];

    fn folder(self, dirs: &Dirs) -> anyhow::Result<PathBuf> {
        Ok(match self {
            Place::Calendars => dirs.calendars.clone(),
            Place::Contacts => dirs.contacts.clone(),
            Place::Reminders => dirs.reminders.clone(),
            Place::Mail => dirs.mail.clone(),
            Place::Notes => dirs.notes.clone(),
            Place::Files => dirs
                .files
                .first()
                .context("No folder for files is configured.")?
                .clone(),
            Place::Applications => dirs
                .applications
                .first()
                .context("No folder for applications is configured.")?
                .clone(),
        })
    }
}

impl Own {
    /// Where it lies. The list is a file like any other and may say anything, so its paths may not lead elsewhere.
    fn path(&self, dirs: &Dirs) -> anyhow::Result<PathBuf> {
        let plain = self
            .path
            .components()
            .all(|part| matches!(part, Component::Normal(_)));
        ensure!(
            plain && self.path.components().next().is_some(),
            "{} is not a path below a folder of the world.",
            self.path.display()
        );
        Ok(self.place.folder(dirs)?.join(&self.path))
    }
}

/// A file to write.
struct File {
    own: Own,
    bytes: Vec<u8>,
}

fn read_list(dirs: &Dirs) -> anyhow::Result<Option<BTreeSet<Own>>> {
    let path = dirs.state.join(LIST);
    match store::read_bounded(&path, MAX_BYTES) {
        Ok(bytes) => serde_json::from_slice(&bytes).map(Some).with_context(|| {
            format!(
                "{} should list what was seeded and cannot be read. Use another home.",
                path.display()
            )
        }),
        Err(store::StoreError::Missing(_)) => Ok(None),
        Err(error) => Err(error.into()),
    }
}

fn write_list(dirs: &Dirs, list: &BTreeSet<Own>) -> anyhow::Result<()> {
    store::make_folder(&dirs.state)?;
    store::replace(&dirs.state.join(LIST), &serde_json::to_vec_pretty(list)?)?;
    Ok(())
}

fn refuse_foreign_data(dirs: &Dirs) -> anyhow::Result<()> {
    for place in Place::ALL {
        let folder = place.folder(dirs)?;
        let bounds = store::Bounds {
            depth: 4,
            entries: 1000,
            file_links: true,
        };
        if let Some(file) = store::walk(&folder, bounds)?.files.first() {
            bail!(
                "This home has data of its own ({}), so I did not put a demo world into it. \
                 Set TIRO_HOME to an empty folder.",
                file.display()
            );
        }
    }
    Ok(())
}

fn remove(path: &Path) -> anyhow::Result<bool> {
    match fs::remove_file(path) {
        Ok(()) => Ok(true),
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(false),
        Err(error) => Err(error).with_context(|| format!("Could not remove {}.", path.display())),
    }
}

/// A mail program moves a message from `new` to `cur` and adds flags to its name. Such a copy of a message that
/// was just written again is removed, else there would be two.
fn remove_moved_mail(dirs: &Dirs, names: &BTreeSet<Own>) -> anyhow::Result<()> {
    let unique = |name: &str| name.split(':').next().unwrap_or(name).to_owned();
    let mail = || names.iter().filter(|own| own.place == Place::Mail);
    let base = |path: &Path| path.file_name().map(|name| unique(&name.to_string_lossy()));
    let ours: BTreeSet<_> = mail().filter_map(|own| base(&own.path)).collect();
    let written: BTreeSet<_> = mail().map(|own| dirs.mail.join(&own.path)).collect();
    for folder in ["new", "cur"] {
        let bounds = store::Bounds {
            depth: 0,
            entries: 100_000,
            file_links: false,
        };
        for path in store::walk(&dirs.mail.join(folder), bounds)?.files {
            if base(&path).is_some_and(|name| ours.contains(&name)) && !written.contains(&path) {
                remove(&path)?;
            }
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    const NOW: &str = "2026-03-27T14:00[Europe/Berlin]";

    fn demo() -> World {
        let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../tests/worlds/demo.json");
        World::load(&path).unwrap()
    }

    fn world(json: &str) -> anyhow::Result<World> {
        Ok(serde_json::from_str(json)?)
    }

    /// Every file with its content.
    fn snapshot(root: &Path) -> Vec<(PathBuf, Vec<u8>)> {
        let bounds = store::Bounds {
            depth: 9,
            entries: 1000,
            file_links: true,
        };
        let files = store::walk(root, bounds).unwrap().files;
        files
            .into_iter()
            .map(|path| (path.clone(), fs::read(path).unwrap()))
            .collect()
    }

    #[test]
    fn the_demo_world_is_written_once() {
        let root = tempfile::tempdir().unwrap();
        let dirs = Dirs::under(root.path());
        let now: jiff::Zoned = NOW.parse().unwrap();
        let first = seed(&demo(), &dirs, &now).unwrap();
        let files = snapshot(root.path());
        assert_eq!(files.len(), first.written + 1, "every file, and the list");
        assert!(first.counts.iter().all(|(_, n)| *n > 0), "{first}");

        let again = seed(&demo(), &dirs, &now).unwrap();
        assert_eq!((again.written, again.removed), (first.written, 0));
        assert_eq!(snapshot(root.path()), files);
    }

    #[test]
    fn days_move_with_now() {
        #[track_caller]
        fn check(day: &str, expect: &str) {
            let json = format!(
                r#"{{"calendars": [{{"id": "c", "name": "C", "color": "red", "events": [
                {{"id": "e", "title": "A, b; c", "day": "{day}", "start": "09:30", "end": "10:00"}}]}}]}}"#
            );
            let files = formats::render(&world(&json).unwrap(), &NOW.parse().unwrap()).unwrap();
            let text = String::from_utf8_lossy(&files.last().unwrap().bytes).into_owned();
            assert!(
                text.contains(&format!("DTSTART:{expect}T093000\r\n")),
                "{day}: {text}"
            );
            assert!(text.contains("SUMMARY:A\\, b\\; c\r\n"), "{text}");
        }
        check("today", "20260327");
        check("tomorrow", "20260328");
        check("yesterday", "20260326");
        check("friday", "20260403"); // The 27th is a Friday itself.
        check("saturday", "20260328");
        check("+5", "20260401");
        check("-27", "20260228");
    }

    #[test]
    fn lines_are_folded_between_characters() {
        let json = format!(
            r#"{{"contacts": [{{"id": "p", "given": "{}"}}]}}"#,
            "Jürgen ".repeat(40).trim()
        );
        let files = formats::render(&world(&json).unwrap(), &NOW.parse().unwrap()).unwrap();
        let text = String::from_utf8(files.last().unwrap().bytes.clone()).unwrap();
        assert!(text.split("\r\n").all(|line| line.len() <= 75), "{text}");
        assert!(
            text.replace("\r\n ", "").contains(&"Jürgen ".repeat(39)),
            "{text}"
        );
    }

    #[test]
    fn mail_that_was_read_meanwhile_is_not_doubled() {
        let root = tempfile::tempdir().unwrap();
        let dirs = Dirs::under(root.path());
        let now: jiff::Zoned = NOW.parse().unwrap();
        seed(&demo(), &dirs, &now).unwrap();
        let (new, cur) = (
            dirs.mail.join("new/world-mail-anna"),
            dirs.mail.join("cur/world-mail-anna:2,S"),
        );
        assert!(
            String::from_utf8(fs::read(&new).unwrap())
                .unwrap()
                .contains("Date: Fri, 27 Mar 2026 12:00:00 +0100\r\n")
        );
        fs::rename(&new, &cur).unwrap();
        seed(&demo(), &dirs, &now).unwrap();
        assert!(new.exists() && !cur.exists());
    }

    #[test]
    fn what_the_person_added_stays_and_what_the_world_dropped_goes() {
        let root = tempfile::tempdir().unwrap();
        let dirs = Dirs::under(root.path());
        let now: jiff::Zoned = NOW.parse().unwrap();
        seed(&demo(), &dirs, &now).unwrap();
        let own = dirs.notes.join("mine.md");
        fs::write(&own, "mine").unwrap();
        let report = seed(&world("{}").unwrap(), &dirs, &now).unwrap();
        assert_eq!((report.written, fs::read(&own).unwrap()), (0, b"mine".to_vec()));
        assert_eq!(snapshot(root.path()).len(), 2, "the note and the list");
    }

    #[test]
    fn a_home_with_other_data_is_refused_and_left_alone() {
        let root = tempfile::tempdir().unwrap();
        let dirs = Dirs::under(root.path());
        fs::create_dir_all(dirs.contacts.join("book")).unwrap();
        fs::write(dirs.contacts.join("book/a.vcf"), "").unwrap();
        let error = seed(&demo(), &dirs, &NOW.parse().unwrap())
            .unwrap_err()
            .to_string();
        assert!(
            error.contains("data of its own") && error.contains("a.vcf"),
            "{error}"
        );
        assert_eq!(snapshot(root.path()).len(), 1);
    }

    #[test]
    fn a_wrong_world_writes_nothing() {
        #[track_caller]
        fn check(json: &str, expect: &str) {
            let root = tempfile::tempdir().unwrap();
            let done = world(json).and_then(|w| seed(&w, &Dirs::under(root.path()), &NOW.parse().unwrap()));
            let error = format!("{:#}", done.unwrap_err());
            assert!(error.contains(expect), "{error}");
            assert_eq!(snapshot(root.path()), []);
        }
        let event = |fields: &str| {
            format!(
                r#"{{"calendars": [{{"id": "c", "name": "C", "color": "", "events": [{{"title": "T", {fields}}}]}}]}}"#
            )
        };
        check(&event(r#""id": "e", "day": "someday""#), "`someday` is not a day");
        check(&event(r#""id": "e", "day": "+999999999""#), "event e");
        check(&event(r#""id": "../e", "day": "today""#), "not a plain name");
        check(
            &event(r#""id": "e", "day": "today", "start": "10:00", "end": "09:00""#),
            "ends before it starts",
        );
        check(
            &event(r#""id": "e", "day": "today", "start": "10:00""#),
            "both a start and an end",
        );
        check(
            &event(r#""id": "e", "day": "today", "repeat": "FREQ=DAILY\nX:1""#),
            "not a recurrence rule",
        );
        check(
            r#"{"notes": [{"path": "../../out.md", "text": ""}]}"#,
            "not a path below",
        );
        check(
            r#"{"notes": [{"path": "/out.md", "text": ""}]}"#,
            "not a path below",
        );
        check(
            r#"{"notes": [{"path": "a.md", "text": ""}, {"path": "a.md", "text": ""}]}"#,
            "the same name",
        );
        check(r#"{"pets": []}"#, "unknown field `pets`");
    }

    #[test]
    fn a_list_that_leads_elsewhere_is_refused() {
        let root = tempfile::tempdir().unwrap();
        let dirs = Dirs::under(&root.path().join("home"));
        let outside = root.path().join("outside");
        fs::write(&outside, "").unwrap();
        fs::create_dir_all(&dirs.state).unwrap();
        fs::write(
            dirs.state.join(LIST),
            r#"[{"place": "notes", "path": "../../outside"}]"#,
        )
        .unwrap();
        let error = seed(&demo(), &dirs, &NOW.parse().unwrap())
            .unwrap_err()
            .to_string();
        assert!(error.contains("not a path below"), "{error}");
        assert!(outside.exists());
    }
}
