//! What tools stand on: stores on open formats, each bounded and written atomically.

pub mod store;
pub mod stamp;
pub mod watch;
pub mod journal;
pub mod plain;
pub mod speech;
pub mod heard;
pub mod lines;
pub mod which;
pub mod vdir;
pub mod dav;
pub mod calendar;
pub mod todos;
pub mod lists;
pub mod alarms;
pub mod contacts;
pub mod mail;
pub mod notes;
pub mod memory;
pub mod desktop;
pub mod apps;
pub mod sums;
pub mod units;
pub mod places;
pub mod timers;
pub mod rings;
