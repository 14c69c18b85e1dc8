//! Timers: one small file each, which every Tiro process shares, so that a timer outlives the process that set it and
//! every change to it can be undone.

use std::{
    path::{Path, PathBuf},
    time::Duration,
};

use jiff::{SignedDuration, Timestamp, Zoned};
use serde::{Deserialize, Serialize};

use crate::{
    contract::{Dirs, ToolError},
    system::{
        journal::{self, JournalError, Step},
        store::{self, Bounds, StoreError, Turn},
        which::{self, Kind},
    },
    when::{self, Hint, When},
};

/// At most this many timers run at once; more is a mistake, not a kitchen.
pub const MAX_TIMERS: usize = 50;

/// How timers are talked about.
pub const KIND: Kind = Kind {
    one: "timer",
    many: "timers",
};

/// Largest file that is read: a timer with the longest label is far smaller.
const MAX_BYTES: u64 = 64 * 1024;

/// A timer that runs or is paused.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Timer {
    /// Counts up; never used twice while a timer is there.
    pub id: u64,
    /// What it is for, if the person said so.
    pub label: Option<String>,
    /// How long it was set for, in seconds.
    pub seconds: u64,
    /// When it rings; what it would have been for one that is paused.
    pub rings: Timestamp,
    /// The seconds that are left of one that is paused.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub paused: Option<u64>,
}

impl Timer {
    /// The seconds that are left, the one that has begun counted; 0 for one that is due.
    pub fn left(&self, now: &Zoned) -> u64 {
        self.paused.unwrap_or_else(|| {
            let left = self.rings.duration_since(now.timestamp());
            u64::try_from(left.as_millis()).map_or(0, |ms| ms.div_ceil(1000))
        })
    }

    /// Whether its time is up.
    pub fn is_due(&self, now: &Zoned) -> bool {
        self.paused.is_none() && self.rings <= now.timestamp()
    }

    /// "the eggs timer", "the timer for 10 minutes".
    pub fn name(&self) -> String {
        match &self.label {
            Some(label) => format!("the {label} timer"),
            None => format!("the timer for {}", spoken(self.seconds)),
        }
    }
}

/// Starts a timer.
///
/// # Errors
/// `Tell` when too many are there, else what keeps the file from being written.
pub fn set(
    step: &Step,
    dirs: &Dirs,
    now: &Zoned,
    length: Duration,
    label: Option<String>,
) -> Result<Timer, ToolError> {
    const WHAT: &str = "set the timer";
    let too_long = || ToolError::tell("That is too long for a timer.");
    let length = SignedDuration::try_from(length).map_err(|_| too_long())?;
    let mut timer = Timer {
        id: 0,
        label,
        seconds: length.as_secs().unsigned_abs(),
        rings: now.timestamp().checked_add(length).map_err(|_| too_long())?,
        paused: None,
    };
    // Another process may take the same number at the same moment; then it is the next.
    for _ in 0..=MAX_TIMERS {
        let taken = files(dirs).map_err(|e| e.tool(WHAT))?;
        if taken.len() >= MAX_TIMERS {
            break;
        }
        timer.id = taken.iter().filter_map(|path| id_of(path)).max().unwrap_or(0) + 1;
        let bytes = bytes(&timer)?;
        match step.create(&file(dirs, timer.id), &bytes) {
            Ok(()) => return Ok(timer),
            Err(JournalError::Store(StoreError::Exists(_))) => {}
            Err(error) => return Err(error.tool(WHAT)),
        }
    }
    Err(ToolError::tell(format!(
        "{MAX_TIMERS} timers are running already."
    )))
}

/// The timers that are there, the next to ring first, paused ones last.
///
/// # Errors
/// When the folder cannot be read. A file in it that is no timer is left out.
pub fn all(dirs: &Dirs) -> Result<Vec<Timer>, StoreError> {
    migrate(dirs);
    let mut timers: Vec<Timer> = files(dirs)?.iter().filter_map(|path| read(path)).collect();
    timers.sort_by_key(|t| (t.paused.is_some(), t.rings, t.id));
    Ok(timers)
}

/// Replaces a timer by what `change` makes of it.
///
/// # Errors
/// `Tell` when it is gone; what keeps the file from being written.
pub fn change(
    step: &Step,
    dirs: &Dirs,
    timer: &Timer,
    what: &str,
    change: impl Fn(&mut Timer),
) -> Result<(), ToolError> {
    let path = file(dirs, timer.id);
    if read(&path).as_ref() != Some(timer) {
        return Err(gone(timer));
    }
    step.edit(&path, what, |before| {
        let mut timer: Timer = serde_json::from_slice(before).map_err(|_| gone(timer))?;
        change(&mut timer);
        bytes(&timer)
    })
}

/// Takes a timer away.
///
/// # Errors
/// `Tell` when it is gone; what keeps the file from being removed.
pub fn cancel(step: &Step, dirs: &Dirs, timer: &Timer) -> Result<(), ToolError> {
    let path = file(dirs, timer.id);
    match store::read_bounded(&path, MAX_BYTES) {
        Ok(before) if parse(&before).as_ref() == Some(timer) => step
            .remove(&path, &before)
            .map_err(|e| e.tool("cancel the timer")),
        _ => Err(gone(timer)),
    }
}

/// Takes out the timers that are due; who takes them rings them. Not a change of the person's, so not journalled.
/// The caller has the turn.
pub fn take_due(dirs: &Dirs, now: &Zoned, _turn: &Turn) -> Result<Vec<Timer>, StoreError> {
    let mut due = all(dirs)?;
    due.retain(|timer| timer.is_due(now));
    for timer in &due {
        let path = file(dirs, timer.id);
        let before = store::read_bounded(&path, MAX_BYTES)?;
        store::remove_known(&path, &before)?;
        if let Err(error) = journal::spend(&dirs.state, &path) {
            // It rings all the same; "undo that" refuses that step once then.
            tracing::warn!(%error, "the journal does not know that a timer rang");
        }
    }
    Ok(due)
}

/// Moves timers by as much as the clock of the wall was set: a timer is a length, and ten minutes stay ten minutes. Each
/// is named with the moment that it had; one that was changed since stays. Not a change of the person's, so not
/// journalled.
///
/// # Errors
/// What keeps a file from being written; the others are moved all the same.
pub fn shift(dirs: &Dirs, those: &[(u64, Timestamp)], by: SignedDuration) -> Result<(), StoreError> {
    let _turn = Turn::take(&dirs.state)?;
    let mut trouble = Ok(());
    for (id, rings) in those {
        let path = file(dirs, *id);
        let Ok(before) = store::read_bounded(&path, MAX_BYTES) else {
            continue;
        };
        let moved = parse(&before)
            .filter(|timer| timer.rings == *rings && timer.paused.is_none())
            .and_then(|timer| {
                let rings = timer.rings.checked_add(by).ok()?;
                serde_json::to_vec(&Timer { rings, ..timer }).ok()
            });
        if let Some(after) = moved
            && let Err(error) = store::replace_known(&path, &before, &after)
        {
            trouble = Err(error);
        }
    }
    trouble
}

/// Where a timer lies.
pub fn file(dirs: &Dirs, id: u64) -> PathBuf {
    folder(dirs).join(format!("{id}.json"))
}

/// The timers that somebody means: by name, by length ("the ten minute one"), all of them, or the only one.
///
/// # Errors
/// `Tell`: none is there, none is meant, or it asks which.
pub fn choose<'a>(said: Option<&str>, timers: &'a [Timer], now: &Zoned) -> Result<Vec<&'a Timer>, ToolError> {
    let said = said.unwrap_or_default();
    if timers.is_empty() {
        return Err(ToolError::tell("No timer is running."));
    }
    if which::is_all(said, KIND) {
        return Ok(timers.iter().collect());
    }
    let describe = |t: &Timer| format!("{}, {} left", t.name(), spoken(t.left(now)));
    let length = match when::resolve(&which::bare(said, KIND), now, Hint::Length).map(|r| r.value) {
        Ok(When::Duration { seconds, .. }) => u64::try_from(seconds).ok(),
        _ => None,
    };
    let long: Vec<&Timer> = timers.iter().filter(|t| Some(t.seconds) == length).collect();
    match long[..] {
        [one] => return Ok(vec![one]),
        [] => {}
        _ => {
            let names: Vec<String> = long.iter().map(|t| describe(t)).collect();
            let names = super::plain::listed(&names, "or");
            return Err(ToolError::tell(format!("Which timer: {names}?")));
        }
    }
    let name = |t: &Timer| t.label.clone().unwrap_or_else(|| spoken(t.seconds));
    let named: Vec<(String, &Timer)> = timers.iter().map(|t| (name(t), t)).collect();
    which::one(said, KIND, &named, |n| &n.0, |n| describe(n.1)).map(|n| vec![n.1])
}

/// The timers that a tool can do something with; `none` is told when there is no such timer.
///
/// # Errors
/// `Tell` when there is none, and when they cannot be read.
pub fn those(dirs: &Dirs, none: &str, can: impl Fn(&Timer) -> bool) -> Result<Vec<Timer>, ToolError> {
    let mut timers = all(dirs).map_err(|e| e.tool("read the timers"))?;
    timers.retain(can);
    match timers.is_empty() {
        true => Err(ToolError::tell(none)),
        false => Ok(timers),
    }
}

/// Their names in a row: "the eggs timer and the pasta timer".
pub fn named(timers: &[&Timer]) -> String {
    let names: Vec<String> = timers.iter().map(|t| t.name()).collect();
    super::plain::listed(&names, "and")
}

/// What was done to them, and what is left when it is one: "I paused the eggs timer. It has 6 minutes left."
pub fn done(verb: &str, timers: &[&Timer], now: &Zoned) -> String {
    let left = match timers {
        [one] => format!(" It has {} left.", spoken(one.left(now))),
        _ => String::new(),
    };
    format!("I {verb} {}.{left}", named(timers))
}

/// A length as people say it: "1 hour 30 minutes".
pub fn spoken(seconds: u64) -> String {
    let parts = [
        (seconds / 3600, "hour"),
        (seconds / 60 % 60, "minute"),
        (seconds % 60, "second"),
    ];
    let said = parts.iter().filter(|(n, _)| *n > 0);
    let said: Vec<_> = said
        .map(|(n, unit)| format!("{n} {unit}{}", if *n == 1 { "" } else { "s" }))
        .collect();
    if said.is_empty() {
        return "0 seconds".to_owned();
    }
    said.join(" ")
}

fn folder(dirs: &Dirs) -> PathBuf {
    dirs.state.join("timers")
}

fn files(dirs: &Dirs) -> Result<Vec<PathBuf>, StoreError> {
    let bounds = Bounds {
        depth: 0,
        entries: 10 * MAX_TIMERS,
        file_links: false,
    };
    let mut found = store::walk(&folder(dirs), bounds)?.files;
    found.retain(|path| id_of(path).is_some());
    Ok(found)
}

fn id_of(path: &Path) -> Option<u64> {
    path.file_name()?.to_str()?.strip_suffix(".json")?.parse().ok()
}

fn read(path: &Path) -> Option<Timer> {
    match store::read_bounded(path, MAX_BYTES) {
        Ok(bytes) => {
            let timer = parse(&bytes).filter(|timer| Some(timer.id) == id_of(path));
            if timer.is_none() {
                tracing::warn!(path = %path.display(), "this file is no timer");
            }
            timer
        }
        // It rang meanwhile.
        Err(StoreError::Missing(_)) => None,
        Err(error) => {
            tracing::warn!(%error, "a timer cannot be read");
            None
        }
    }
}

fn parse(bytes: &[u8]) -> Option<Timer> {
    serde_json::from_slice(bytes).ok()
}

fn bytes(timer: &Timer) -> Result<Vec<u8>, ToolError> {
    serde_json::to_vec(timer).map_err(|e| ToolError::broken("save the timer", e))
}

fn gone(timer: &Timer) -> ToolError {
    let name = super::speech::sentence(&timer.name());
    ToolError::tell(format!("{name} is not running any more."))
}

/// Timers were once kept in one file together; what it holds is moved, once.
fn migrate(dirs: &Dirs) {
    let old = dirs.state.join("timers.json");
    let Ok(before) = store::read_bounded(&old, MAX_BYTES) else {
        return;
    };
    let timers: Vec<Timer> = serde_json::from_slice(&before).unwrap_or_default();
    let moved = Turn::take(&dirs.state).and_then(|_turn| {
        store::make_folder(&folder(dirs))?;
        for timer in &timers {
            let bytes = serde_json::to_vec(timer).unwrap_or_default();
            match store::create_new(&file(dirs, timer.id), &bytes) {
                Ok(()) | Err(StoreError::Exists(_)) => {}
                Err(error) => return Err(error),
            }
        }
        store::remove_known(&old, &before)
    });
    if let Err(error) = moved {
        tracing::debug!(%error, "the old file of timers stays");
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{ctx, step};

    fn minutes(n: u64) -> Duration {
        Duration::from_secs(n * 60)
    }

    fn due(ctx: &crate::Ctx, after: u64) -> Vec<Timer> {
        let turn = Turn::take(&ctx.dirs.state).unwrap();
        take_due(&ctx.dirs, &ctx.now.checked_add(minutes(after)).unwrap(), &turn).unwrap()
    }

    #[test]
    fn a_timer_is_taken_once_when_it_is_due_and_not_while_it_is_paused() {
        let root = tempfile::tempdir().unwrap();
        let ctx = ctx(root.path());
        let set =
            |n, label: &str| set(&ctx.step, &ctx.dirs, &ctx.now, minutes(n), Some(label.into())).unwrap();
        let (long, short, paused) = (set(10, "long"), set(5, "short"), set(1, "paused"));
        change(&ctx.step, &ctx.dirs, &paused, "pause", |t| t.paused = Some(60)).unwrap();
        let ids = |timers: &[Timer]| timers.iter().map(|t| t.id).collect::<Vec<_>>();
        assert_eq!(ids(&all(&ctx.dirs).unwrap()), [short.id, long.id, paused.id]);
        assert_eq!(due(&ctx, 4), []);
        assert_eq!(due(&ctx, 5), [short]);
        assert_eq!(due(&ctx, 5), []);
        assert_eq!(due(&ctx, 60), [long]);
        assert_eq!(ids(&all(&ctx.dirs).unwrap()), [paused.id]);
    }

    #[test]
    fn undo_goes_past_a_timer_that_rang() {
        let root = tempfile::tempdir().unwrap();
        let ctx = ctx(root.path());
        let path = root.path().join("note.md");
        let journal = step(root.path()).journal().clone();
        journal.step("notes.create").create(&path, b"x").unwrap();
        let set = |n| set(&journal.step("timers.set"), &ctx.dirs, &ctx.now, minutes(n), None).unwrap();
        // The second takes the number of the first, which was cancelled: that can still be taken back.
        let first = set(5);
        cancel(&journal.step("timers.cancel"), &ctx.dirs, &first).unwrap();
        let second = set(1);
        assert_eq!(first.id, second.id);
        let pause = |to| {
            let step = journal.step("timers.pause");
            let timer = all(&ctx.dirs).unwrap().remove(0);
            change(&step, &ctx.dirs, &timer, "pause", |t| t.paused = to).unwrap();
        };
        pause(Some(60));
        pause(None);
        assert_eq!(due(&ctx, 2), [second]);
        assert_eq!(journal.undo(None).unwrap().tool, "timers.cancel");
        assert_eq!(journal.undo(None).unwrap().tool, "timers.set");
        assert_eq!(journal.undo(None).unwrap().tool, "notes.create");
        assert!(!path.exists());
        assert_eq!(journal.verify_invariants().unwrap(), [""; 0]);
    }

    #[test]
    fn threads_that_set_timers_at_once_lose_none() {
        let root = tempfile::tempdir().unwrap();
        let ctx = ctx(root.path());
        std::thread::scope(|scope| {
            for _ in 0..10 {
                scope.spawn(|| {
                    let step = step(root.path());
                    set(&step, &ctx.dirs, &ctx.now, minutes(1), None).unwrap()
                });
            }
        });
        let mut ids: Vec<_> = all(&ctx.dirs).unwrap().iter().map(|t| t.id).collect();
        ids.sort();
        assert_eq!(ids, (1..=10).collect::<Vec<_>>());
    }

    #[test]
    fn a_broken_file_hides_no_other_and_too_many_are_refused() {
        let root = tempfile::tempdir().unwrap();
        let ctx = ctx(root.path());
        std::fs::create_dir_all(folder(&ctx.dirs)).unwrap();
        std::fs::write(file(&ctx.dirs, 1), b"{\"id\": 1").unwrap();
        let set = || set(&ctx.step, &ctx.dirs, &ctx.now, minutes(1), None);
        assert_eq!(set().unwrap().id, 2);
        assert_eq!(all(&ctx.dirs).unwrap().len(), 1);
        for _ in 2..MAX_TIMERS {
            set().unwrap();
        }
        assert!(matches!(set(), Err(ToolError::Tell(_))));
    }

    #[test]
    fn the_timers_of_earlier_versions_are_moved() {
        let root = tempfile::tempdir().unwrap();
        let ctx = ctx(root.path());
        std::fs::create_dir_all(&ctx.dirs.state).unwrap();
        let old = r#"[{"id":3,"label":"eggs","seconds":360,"rings":"2026-11-23T08:36:00Z"}]"#;
        std::fs::write(ctx.dirs.state.join("timers.json"), old).unwrap();
        let timers = all(&ctx.dirs).unwrap();
        assert_eq!((timers[0].id, timers[0].label.as_deref()), (3, Some("eggs")));
        assert!(!ctx.dirs.state.join("timers.json").exists());
        assert_eq!(all(&ctx.dirs).unwrap(), timers);
    }

    #[test]
    fn lengths_are_said_as_people_do() {
        #[track_caller]
        fn check(seconds: u64, expect: &str) {
            assert_eq!(spoken(seconds), expect);
        }
        check(600, "10 minutes");
        check(5400, "1 hour 30 minutes");
        check(61, "1 minute 1 second");
        check(7200, "2 hours");
        check(0, "0 seconds");
    }
}
