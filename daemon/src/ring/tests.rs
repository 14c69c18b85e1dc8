//! The loop that rings, on files and a clock of the tests'.

use tools::{Journal, Retention, system::rings::Open};

use super::*;

/// A ringer over a folder, and what it tells.
struct Bench {
    root: tempfile::TempDir,
    ringer: Ringer,
    told: mpsc::Receiver<Event>,
}

impl Bench {
    fn new() -> Bench {
        let root = tempfile::tempdir().unwrap();
        let (events, told) = mpsc::channel(64);
        let parts = Parts {
            tools: &[],
            dirs: Dirs::under(root.path()),
            clock: Clock::Real,
            ring: Settings {
                sound: false,
                // Nobody is there.
                bus: Some("unix:path=/nowhere/at/all".to_owned()),
                ..Settings::default()
            },
            settings: crate::agent::Settings::default(),
            search: tools::Search::default(),
            daemon: true,
            work: tools::Work::default(),
            journal: Journal::at(&root.path().join("state"), Retention::default()),
            trace: None,
            limits: crate::room::Limits {
                budget: 0,
                max_tokens: 0,
                temperature: 0.0,
                generate: TICK,
                transcribe: TICK,
                patience: TICK,
                language: None,
                bias: None,
            },
        };
        let (pressed, _) = mpsc::channel(1);
        let ringer = Ringer::new(parts, Arc::new(Index::of(&[])), events, pressed);
        Bench { root, ringer, told }
    }

    /// Pins the clock of the ringer.
    fn at(&mut self, time: &str) -> Ctx {
        let now = format!("2026-11-23T{time}[Europe/Berlin]").parse().unwrap();
        self.ringer.parts.clock = Clock::Pinned(Box::new(now));
        self.ringer.parts.ctx(&self.ringer.index)
    }

    /// What is told when it is looked at that time.
    async fn look(&mut self, time: &str) -> Vec<String> {
        self.at(time);
        self.ringer.taken = None;
        self.ringer.look().await;
        let mut texts = Vec::new();
        while let Ok(event) = self.told.try_recv() {
            if let Event::Rang(Happening::Rang { text, .. }) = event {
                texts.push(text);
            }
        }
        texts
    }

    fn reminder(&self, name: &str, due: &str) {
        let folder = self.root.path().join("reminders/home");
        std::fs::create_dir_all(&folder).unwrap();
        let text = format!(
            "BEGIN:VCALENDAR\nBEGIN:VTODO\nUID:{name}\nSUMMARY:{name}\nDUE:20261123T{due}\nEND:VTODO\nEND:VCALENDAR\n"
        );
        std::fs::write(folder.join(format!("{name}.ics")), text).unwrap();
    }

    fn open(&self) -> Vec<Open> {
        rings::open(&self.ringer.parts.dirs)
    }
}

#[tokio::test]
async fn what_another_program_writes_is_seen_and_rings_once() {
    let mut bench = Bench::new();
    assert_eq!(bench.look("09:00:00").await, [""; 0]);
    bench.reminder("Call mum", "090005");
    assert_eq!(bench.look("09:00:01").await, [""; 0]);
    assert_eq!(bench.look("09:00:05").await, ["Reminder: Call mum."]);
    assert_eq!(bench.look("09:00:06").await, [""; 0]);
    bench.reminder("Call dad", "090010");
    std::fs::remove_file(bench.root.path().join("reminders/home/Call dad.ics")).unwrap();
    assert_eq!(bench.look("09:00:11").await, [""; 0]);
}

#[tokio::test]
async fn many_that_were_missed_are_told_together() {
    let mut bench = Bench::new();
    assert_eq!(bench.look("08:00:00").await, [""; 0]);
    for n in 0..8 {
        bench.reminder(&format!("thing {n}"), &format!("08{:02}00", 10 + n));
    }
    bench.ringer.since = None;
    let told = bench.look("10:00:00").await;
    assert_eq!(told.len(), 1 + MAX_MISSED, "{told:?}");
    assert_eq!(told[0], "Before that there was thing 0, thing 1 and thing 2.");
    assert_eq!(
        told[MAX_MISSED],
        "\"thing 7\" was due 1 hour 43 minutes ago, while I was not running."
    );
    assert_eq!(bench.open(), []);
}

#[tokio::test]
async fn buttons_snooze_and_stop_and_a_snooze_can_be_undone() {
    let mut bench = Bench::new();
    bench.look("09:00:00").await;
    bench.reminder("Call mum", "090005");
    bench.look("09:00:05").await;
    let key = bench.open()[0].ring.key();
    let pressed = Pressed::Snooze;
    bench.ringer.answer(Answer { key, pressed }).await;
    assert_eq!(bench.open(), []);
    assert_eq!(bench.look("09:09:04").await, [""; 0]);
    assert_eq!(bench.look("09:09:05").await, ["Reminder: Call mum."]);
    let key = bench.open()[0].ring.key();
    let pressed = Pressed::Stop;
    bench.ringer.answer(Answer { key, pressed }).await;
    assert_eq!(bench.open(), []);
    let path = bench.root.path().join("reminders/home/Call mum.ics");
    assert!(std::fs::read_to_string(&path).unwrap().contains("RELTYPE=SNOOZE"));
    bench.ringer.parts.journal.undo(None).unwrap();
    assert!(!std::fs::read_to_string(&path).unwrap().contains("SNOOZE"));
}

#[tokio::test]
async fn what_is_stopped_elsewhere_is_silent_here() {
    let mut bench = Bench::new();
    bench.look("09:00:00").await;
    bench.reminder("Call mum", "090005");
    bench.look("09:00:05").await;
    assert_eq!(bench.ringer.ringing.len(), 1);
    rings::stop(&bench.ringer.parts.dirs, |_| true).unwrap();
    bench.look("09:00:06").await;
    assert_eq!(bench.ringer.ringing.len(), 0);
}

#[tokio::test]
async fn a_state_that_cannot_be_written_rings_all_the_same_and_once() {
    let mut bench = Bench::new();
    bench.look("09:00:00").await;
    bench.reminder("Call mum", "090005");
    let state = bench.root.path().join("state");
    std::fs::remove_dir_all(&state).unwrap();
    // A file in place of the folder keeps the super-user out as well.
    std::fs::write(&state, "").unwrap();
    assert_eq!(bench.look("09:00:05").await, ["Reminder: Call mum."]);
    assert_eq!(bench.look("09:00:06").await, [""; 0]);
}
