//! Where tests let this process die: between every two steps on the disk that matter to whether a mail is sent once. What is
//! handed out has nothing of it.

/// Stands before each step; in tests the process dies at the one that was asked for.
#[cfg(not(test))]
pub const fn point() {}

#[cfg(test)]
pub use armed::{arm, point};

#[cfg(test)]
mod armed {
    use std::sync::atomic::{AtomicUsize, Ordering};

    /// The point at which this process dies, counted from when that was asked for.
    static LEFT: AtomicUsize = AtomicUsize::new(usize::MAX);

    /// Lets this process die after so many more points, as if somebody killed it: nothing is unwound, dropped or closed.
    pub fn arm(left: usize) {
        LEFT.store(left, Ordering::SeqCst);
    }

    pub fn point() {
        let armed = LEFT.fetch_update(Ordering::SeqCst, Ordering::SeqCst, |left| match left {
            usize::MAX => None,
            left => Some(left.wrapping_sub(1)),
        });
        if armed == Ok(0) {
            let _ = rustix::process::kill_process(rustix::process::getpid(), rustix::process::Signal::KILL);
            // The signal may take a moment to arrive, and nothing may happen in it.
            loop {
                std::thread::park();
            }
        }
    }
}
