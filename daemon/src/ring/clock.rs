//! Two clocks beside each other: the one on the wall, which is set, and the machine's own, which nobody sets and which
//! goes on while the machine sleeps. Where they part the wall clock was set; where both leap the machine slept.

use std::time::Duration;

use jiff::{SignedDuration, Timestamp};
use rustix::time::{ClockId, clock_gettime};

use crate::room::Clock;

/// A smaller difference is a clock that is kept in step, or a machine that is busy.
const JUMP: SignedDuration = SignedDuration::from_secs(2);

/// What the clocks did since the last look.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Jump {
    /// They went on.
    None,
    /// Nobody looked for a while: the machine was suspended.
    Slept,
    /// The wall clock was set, forwards or backwards, by so much.
    Set(SignedDuration),
}

/// Watches both.
#[derive(Debug)]
pub struct Watch {
    own: Own,
    last: Option<(Timestamp, Duration)>,
}

#[derive(Debug)]
enum Own {
    Machine,
    /// Time stands still on purpose, so nothing can be said of it.
    Pinned,
    #[cfg(test)]
    At(Duration),
}

impl Watch {
    /// A watch beside that wall clock.
    pub fn of(wall: &Clock) -> Watch {
        let own = match wall {
            Clock::Real => Own::Machine,
            Clock::Pinned(_) => Own::Pinned,
        };
        Watch { own, last: None }
    }

    /// Looks at both.
    pub fn look(&mut self, wall: Timestamp) -> Jump {
        let own = match &self.own {
            Own::Machine => machine(),
            Own::Pinned => return Jump::None,
            #[cfg(test)]
            Own::At(own) => *own,
        };
        let Some((wall_before, own_before)) = self.last.replace((wall, own)) else {
            return Jump::None;
        };
        let passed = SignedDuration::try_from(own.saturating_sub(own_before)).unwrap_or_default();
        let set = wall.duration_since(wall_before).saturating_sub(passed);
        if set.abs() > JUMP {
            Jump::Set(set)
        } else if passed > JUMP {
            Jump::Slept
        } else {
            Jump::None
        }
    }

    /// Holds the machine's own clock in a test.
    #[cfg(test)]
    pub fn hold(&mut self, own: Duration) {
        self.own = Own::At(own);
    }
}

/// Since some moment in the past, sleep counted. Apple's monotonic clock counts it by itself.
fn machine() -> Duration {
    #[cfg(target_os = "linux")]
    const OWN: ClockId = ClockId::Boottime;
    #[cfg(not(target_os = "linux"))]
    const OWN: ClockId = ClockId::Monotonic;
    let now = clock_gettime(OWN);
    Duration::new(
        u64::try_from(now.tv_sec).unwrap_or_default(),
        u32::try_from(now.tv_nsec).unwrap_or_default(),
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_clock_that_is_set_is_told_from_a_machine_that_slept() {
        #[track_caller]
        fn check(wall: i64, own: u64, expect: Jump) {
            let mut watch = Watch::of(&Clock::Real);
            watch.hold(Duration::from_secs(1000));
            let at = |seconds| Timestamp::from_second(seconds).unwrap();
            assert_eq!(watch.look(at(50_000)), Jump::None, "the first look");
            watch.hold(Duration::from_secs(1000 + own));
            assert_eq!(watch.look(at(50_000 + wall)), expect);
            assert_eq!(watch.look(at(50_000 + wall)), Jump::None, "once");
        }
        check(0, 0, Jump::None);
        check(1, 1, Jump::None);
        check(2, 0, Jump::None);
        check(3600, 3600, Jump::Slept);
        check(3600, 0, Jump::Set(SignedDuration::from_hours(1)));
        check(-3600, 0, Jump::Set(SignedDuration::from_hours(-1)));
        // Slept for an hour, and came back with a clock that is two hours ahead.
        check(3 * 3600, 3600, Jump::Set(SignedDuration::from_hours(2)));
    }

    #[test]
    fn the_machines_own_clock_goes_on() {
        let before = machine();
        std::thread::sleep(Duration::from_millis(5));
        let passed = machine() - before;
        assert!(passed >= Duration::from_millis(5), "{passed:?}");
    }
}
