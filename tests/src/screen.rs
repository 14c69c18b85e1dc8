//! A screen that nobody sees, with a keyboard that the test presses.

use std::{
    io::{BufRead as _, BufReader},
    process::{Child, Command, Stdio},
};

use x11rb::{connection::Connection as _, rust_connection::RustConnection};

use crate::desktop::skipped;

/// A private X server; ended when dropped.
pub struct Screen {
    server: Child,
    /// Its name.
    pub display: String,
}

impl Screen {
    /// `None` with a loud line where there is no Xvfb or no xdotool.
    pub fn start() -> Option<Screen> {
        let there = Command::new("xdotool").arg("version").output();
        if there.is_err() {
            skipped("xdotool");
            return None;
        }
        let started = Command::new("Xvfb")
            .args(["-displayfd", "1", "-screen", "0", "640x480x24"])
            .args(["-nolisten", "tcp", "-noreset"])
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn();
        let Ok(mut server) = started else {
            skipped("Xvfb");
            return None;
        };
        let mut number = String::new();
        let said = BufReader::new(server.stdout.take().unwrap()).read_line(&mut number);
        let display = format!(":{}", number.trim());
        let screen = Screen { server, display };
        said.unwrap();
        Some(screen)
    }

    /// Somebody else on it, and the window of the whole screen.
    pub fn client(&self) -> (RustConnection, u32) {
        let (connection, screen) = RustConnection::connect(Some(&self.display)).unwrap();
        let root = connection.setup().roots[screen].root;
        (connection, root)
    }

    /// Presses keys.
    #[track_caller]
    pub fn xdotool(&self, args: &[&str]) {
        let status = Command::new("xdotool")
            .args(args)
            .env("DISPLAY", &self.display)
            .status()
            .unwrap();
        assert!(status.success(), "xdotool {args:?}");
    }

    /// Lets it hang.
    pub fn pause(&self) {
        self.signal(rustix::process::Signal::STOP);
    }

    /// Lets it go on.
    pub fn resume(&self) {
        self.signal(rustix::process::Signal::CONT);
    }

    fn signal(&self, signal: rustix::process::Signal) {
        let pid = rustix::process::Pid::from_raw(self.server.id().try_into().unwrap()).unwrap();
        rustix::process::kill_process(pid, signal).unwrap();
    }

    /// Kills it.
    pub fn kill(&mut self) {
        let _ = self.server.kill();
        let _ = self.server.wait();
    }
}

impl Drop for Screen {
    fn drop(&mut self) {
        self.kill();
    }
}
