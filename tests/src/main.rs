//! One integration binary: every module is one topic.

mod home;
mod program;

mod daemon_loop;
mod dialogue;
mod real;
mod tidy;
