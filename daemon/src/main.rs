//! The `tiro` command.
fn main() {}
