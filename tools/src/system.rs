//! What tools stand on: stores on open formats, each bounded and written atomically.

pub mod store;
