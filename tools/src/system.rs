//! What tools stand on: stores on open formats, each bounded and written atomically.

pub mod store;
pub mod plain;
pub mod heard;
pub mod contacts;
pub mod mail;
pub mod notes;
pub mod apps;
pub mod sums;
