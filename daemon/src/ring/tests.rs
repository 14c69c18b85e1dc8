//! The loop that rings, on files and a clock of the tests'.

use tools::{Journal, Retention, system::rings::Open};

use super::*;
use crate::room::Clock;

/// A ringer over a folder, and what it tells.
struct Bench {
    root: tempfile::TempDir,
    ringer: Ringer,
    told: mpsc::Receiver<Event>,
    /// What was said to be wrong.
    noticed: Vec<Vec<String>>,
}

impl Bench {
    fn new() -> Bench {
        Bench::over(tempfile::tempdir().unwrap())
    }

    /// A ringer that starts over what an earlier one left.
    fn over(root: tempfile::TempDir) -> Bench {
        let (events, told) = mpsc::channel(64);
        let parts = Parts {
            tools: &[],
            reader: None,
            dirs: Dirs::under(root.path()),
            clock: Clock::Pinned(Box::default()),
            ring: Settings {
                sound: false,
                // Nobody is there.
                bus: Some("unix:path=/nowhere/at/all".to_owned()),
                ..Settings::default()
            },
            wake: None,
            listen: crate::listen::hearing::Settings::default(),
            speak: crate::speak::Speaker::off(),
            reach: tools::Reach::default(),
            settings: crate::agent::Settings::default(),
            search: tools::Search::default(),
            daemon: true,
            work: tools::Work::default(),
            desk: tools::system::desktop::Desk::nowhere(),
            journal: Journal::at(&root.path().join("state"), Retention::default()),
            mail: tools::Mail::default(),
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
                names: crate::room::Expecting::none(),
                read_ahead: None,
            },
        };
        let (pressed, _) = mpsc::channel(1);
        let ringer = Ringer::new(parts, Arc::new(Index::of(&[])), events, pressed);
        Bench {
            root,
            ringer,
            told,
            noticed: Vec::new(),
        }
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
            match event {
                Event::Rang(Happening::Rang { text, .. }) => texts.push(text),
                Event::Noticed { texts, .. } => self.noticed.push(texts),
                _ => {}
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

    fn timer(&mut self, set: &str, minutes: u64) {
        let ctx = self.at(set);
        let length = Duration::from_secs(minutes * 60);
        timers::set(&ctx.step, &ctx.dirs, &ctx.now, length, None).unwrap();
    }

    /// Writes an event that another program made, with an alarm so many minutes before.
    fn event(&self, name: &str, start: &str, lines: &str, before: u32) -> std::path::PathBuf {
        let folder = self.root.path().join("calendars/work");
        std::fs::create_dir_all(&folder).unwrap();
        let path = folder.join(format!("{name}.ics"));
        let text = format!(
            "BEGIN:VCALENDAR\nBEGIN:VEVENT\nUID:{name}\nSUMMARY:{name}\nDTSTART:{start}\n{lines}BEGIN:VALARM\n\
             ACTION:AUDIO\nTRIGGER:-PT{before}M\nEND:VALARM\nEND:VEVENT\nEND:VCALENDAR\n"
        );
        std::fs::write(&path, text).unwrap();
        path
    }

    /// Moves the machine's own clock to so many seconds.
    fn own(&mut self, seconds: u64) {
        self.ringer.clock.hold(Duration::from_secs(seconds));
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
    let ctx = bench.at("09:00:06");
    rings::stop(&ctx.step, &ctx.dirs, &ctx.now, |_| true).unwrap();
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

#[tokio::test]
async fn a_timer_rings_once_although_nothing_can_be_written_and_that_is_said_once() {
    let mut bench = Bench::new();
    bench.look("09:00:00").await;
    bench.timer("09:00:00", 5);
    bench.look("09:00:01").await;
    // As on a disk that is full or read-only: nothing can be made in place of the file, not even by the super-user.
    let state = bench.root.path().join("state");
    let rings = state.join("rings.json");
    std::fs::remove_file(&rings).unwrap();
    std::fs::create_dir_all(rings.join("in the way")).unwrap();
    assert_eq!(bench.look("09:05:00").await, ["Your timer for 5 minutes is up."]);
    assert_eq!(bench.look("09:05:01").await, [""; 0]);
    assert_eq!(bench.look("09:06:30").await, [""; 0], "not as missed either");
    assert_eq!(bench.noticed.len(), 1, "{:?}", bench.noticed);
    assert!(
        bench.noticed[0][0].starts_with("I cannot write down what rang"),
        "{:?}",
        bench.noticed
    );
    // There is room again.
    std::fs::remove_dir_all(&rings).unwrap();
    assert_eq!(bench.look("09:06:31").await, [""; 0]);
    assert_eq!(bench.noticed.len(), 2);
    assert_eq!(bench.noticed[1], [""; 0], "all is well");
    assert_eq!(timers::all(&bench.ringer.parts.dirs).unwrap(), []);
    bench.timer("09:07:00", 1);
    assert_eq!(bench.look("09:08:00").await, ["Your timer for 1 minute is up."]);
}

#[tokio::test]
async fn events_of_calendars_ring_snooze_and_stop_also_in_the_next_daemon() {
    let mut bench = Bench::new();
    bench.look("09:00:00").await;
    let path = bench.event("Standup", "20261123T100000", "RRULE:FREQ=DAILY\n", 15);
    let written = std::fs::read(&path).unwrap();
    assert_eq!(bench.look("09:44:59").await, [""; 0]);
    assert_eq!(
        bench.look("09:45:00").await,
        ["Standup begins in 15 minutes, at 10:00."]
    );
    let answer = async |bench: &mut Bench, pressed| {
        let key = bench.open()[0].ring.key();
        bench.ringer.answer(Answer { key, pressed }).await;
        assert_eq!(bench.open(), []);
    };
    answer(&mut bench, Pressed::Snooze).await;
    assert_eq!(bench.look("09:53:59").await, [""; 0]);
    assert_eq!(
        bench.look("09:54:00").await,
        ["Standup begins in 6 minutes, at 10:00."]
    );
    answer(&mut bench, Pressed::Stop).await;
    assert_eq!(
        std::fs::read(&path).unwrap(),
        written,
        "the calendar is as it was"
    );
    // Another program moves it; a daemon that starts anew knows what rang, and what was stopped stays silent.
    bench.event("Standup", "20261123T110000", "RRULE:FREQ=DAILY\n", 15);
    bench.event("Lunch", "20261123T123000", "", 10);
    let Bench { root, .. } = bench;
    let mut bench = Bench::over(root);
    assert_eq!(bench.look("09:54:30").await, [""; 0]);
    assert_eq!(
        bench.look("10:45:00").await,
        ["Standup begins in 15 minutes, at 11:00."]
    );
    // It is off over lunch; of what it missed the event that began is told, and once.
    let Bench { root, .. } = bench;
    let mut bench = Bench::over(root);
    assert_eq!(
        bench.look("13:00:00").await,
        ["Lunch began today at 12:30, while I was not running."]
    );
    assert_eq!(bench.look("13:00:01").await, [""; 0]);
    // One that somebody writes after it began is no news.
    assert_eq!(bench.look("13:29:59").await, [""; 0]);
    bench.event("Late", "20261123T132500", "", 10);
    assert_eq!(bench.look("13:30:00").await, [""; 0]);
    // A file that goes takes its alarm along.
    let path = bench.event("Tea", "20261123T150000", "", 10);
    assert_eq!(bench.look("13:30:03").await, [""; 0]);
    std::fs::remove_file(path).unwrap();
    assert_eq!(bench.look("14:50:00").await, [""; 0]);
}

#[tokio::test]
async fn a_machine_that_sleeps_rings_when_it_wakes() {
    let mut bench = Bench::new();
    bench.own(1000);
    bench.look("09:00:00").await;
    bench.timer("09:00:00", 10);
    bench.reminder("Call mum", "092000");
    bench.own(1001);
    assert_eq!(bench.look("09:00:01").await, [""; 0]);
    // Both clocks go on while it sleeps; it wakes just in time for one, and too late for the other.
    bench.own(1000 + 20 * 60);
    assert_eq!(
        bench.look("09:20:00").await,
        [
            "Reminder: Call mum.",
            "Your timer for 10 minutes was due 10 minutes ago, while I was not running.",
        ]
    );
    bench.own(1001 + 20 * 60);
    assert_eq!(bench.look("09:20:01").await, [""; 0]);
}

#[tokio::test]
async fn a_clock_that_is_set_changes_when_alarms_ring_and_not_how_long_timers_run() {
    let mut bench = Bench::new();
    // Nobody answers, and nothing rings again.
    bench.ringer.parts.ring.times = 1;
    // Set before anybody looked: by which clock, nobody knows.
    bench.timer("08:59:00", 90);
    bench.own(1000);
    bench.look("09:00:00").await;
    bench.timer("09:00:00", 10);
    bench.reminder("Call mum", "093000");
    bench.own(1001);
    assert_eq!(bench.look("09:00:01").await, [""; 0]);
    // Forwards by half an hour: the reminder is due, the timer is not.
    bench.own(1002);
    assert_eq!(bench.look("09:30:02").await, ["Reminder: Call mum."]);
    // Another, under the new clock.
    bench.timer("09:30:02", 20);
    bench.own(1003);
    assert_eq!(bench.look("09:30:03").await, [""; 0]);
    // Backwards by an hour: nothing rings twice, both timers have run for as long as they have.
    bench.own(1004);
    assert_eq!(bench.look("08:30:04").await, [""; 0]);
    bench.own(1599);
    assert_eq!(bench.look("08:39:59").await, [""; 0]);
    bench.own(1600);
    assert_eq!(bench.look("08:40:00").await, ["Your timer for 10 minutes is up."]);
    bench.own(2202);
    assert_eq!(bench.look("08:50:02").await, ["Your timer for 20 minutes is up."]);
    // And forwards again, past what rang.
    bench.own(2203);
    assert_eq!(bench.look("09:50:03").await, [""; 0]);
    bench.own(2203 + 39 * 60);
    assert_eq!(
        bench.look("10:29:03").await,
        ["Your timer for 1 hour 30 minutes is up."]
    );
}

#[tokio::test]
async fn an_alarm_that_was_stopped_by_its_button_is_gone_and_comes_back_with_undo() {
    let mut bench = Bench::new();
    let ctx = bench.at("09:00:00");
    let new = tools::system::alarms::NewAlarm {
        at: "2026-11-23T09:30[Europe/Berlin]".parse().unwrap(),
        rrule: None,
        label: Some("tea".into()),
    };
    tools::system::alarms::set(&ctx.step, &ctx.dirs, &new, &ctx.now).unwrap();
    bench.look("09:00:01").await;
    assert_eq!(bench.look("09:30:00").await, ["It is 09:30: tea."]);
    let key = bench.open()[0].ring.key();
    let pressed = Pressed::Stop;
    bench.ringer.answer(Answer { key, pressed }).await;
    let files = || std::fs::read_dir(&ctx.dirs.alarms).unwrap().count();
    assert_eq!(files(), 0);
    let journal = &bench.ringer.parts.journal;
    assert_eq!(
        journal.history(1).unwrap()[0].say.as_deref(),
        Some("I stopped your tea alarm.")
    );
    journal.undo(None).unwrap();
    assert_eq!(files(), 1);
    assert_eq!(bench.look("09:30:02").await, [""; 0], "it rang already");
}
