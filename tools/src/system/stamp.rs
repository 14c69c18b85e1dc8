//! What a file looks like from outside, so that one that did not change is not read again.

use std::{
    fs::Metadata,
    os::unix::fs::MetadataExt as _,
    time::{Duration, SystemTime},
};

/// A file that was written this short a time ago may be written again within the same tick of its file system's clock.
const TICK: Duration = Duration::from_millis(100);
/// The same where a file system counts in (two) seconds.
const COARSE_TICK: Duration = Duration::from_secs(3);

/// What changes when a file does.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Stamp {
    device: u64,
    inode: u64,
    length: u64,
    written: (i64, i64),
    changed: (i64, i64),
}

impl Stamp {
    /// Of a file; to be taken before it is read, so that a write in between makes the next one another one.
    pub fn of(meta: &Metadata) -> Stamp {
        Stamp {
            device: meta.dev(),
            inode: meta.ino(),
            length: meta.len(),
            written: (meta.mtime(), meta.mtime_nsec()),
            changed: (meta.ctime(), meta.ctime_nsec()),
        }
    }

    /// The length of the file, in bytes.
    pub fn length(&self) -> u64 {
        self.length
    }

    /// Whether the next write will surely change it.
    pub fn is_settled(&self) -> bool {
        let tick = if self.changed.1 == 0 { COARSE_TICK } else { TICK };
        let changed = u64::try_from(self.changed.0)
            .ok()
            .zip(u32::try_from(self.changed.1).ok())
            .and_then(|(seconds, nanos)| SystemTime::UNIX_EPOCH.checked_add(Duration::new(seconds, nanos)));
        changed.is_some_and(|changed| {
            SystemTime::now()
                .duration_since(changed)
                .is_ok_and(|age| age > tick)
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_stamp_settles_after_a_tick_of_its_own_clock() {
        #[track_caller]
        fn check(age: Duration, whole_seconds: bool, expect: bool) {
            let changed = SystemTime::now() - age;
            let changed = changed.duration_since(SystemTime::UNIX_EPOCH).unwrap();
            let nanos = if whole_seconds {
                0
            } else {
                i64::from(changed.subsec_nanos().max(1))
            };
            let stamp = Stamp {
                device: 1,
                inode: 1,
                length: 1,
                written: (0, 0),
                changed: (i64::try_from(changed.as_secs()).unwrap(), nanos),
            };
            assert_eq!(stamp.is_settled(), expect, "{age:?}");
        }
        check(Duration::ZERO, false, false);
        check(Duration::from_secs(2), false, true);
        check(Duration::from_secs(1), true, false);
        check(Duration::from_secs(10), true, true);
    }
}
