//! The daemon and command line of Tiro, the only room that knows the machine and all other rooms.
//!
//! Read in this order: `turn` is the path of one request from speech to answer; `agent` decides and is pure;
//! `act` is the only door to a tool's effects; `run` is the loop that owns the microphone-independent daemon.

pub mod turn;
pub mod listen;
pub mod hotkey;
pub mod agent;
pub mod act;
pub mod consent;
pub mod reply;
pub mod report;
pub mod trace;
pub mod room;
pub mod second;
pub mod shelf;
pub mod run;
pub mod speak;
pub mod stop;
pub mod status;
pub mod listing;
pub mod ring;
pub mod secret;
pub mod dav;
pub mod far;
pub mod wyoming;
pub mod post;
pub mod bus;
pub mod supervisor;
pub mod eval;
pub mod cli;
pub mod config;
pub mod paths;
pub mod world;
