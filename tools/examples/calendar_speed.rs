//! Prints how long a week of 10,000 events takes, in wall time and of the processor: the first look, and every later one.
//! Run it with `--release`.

use std::{
    fs,
    io::{self, Write},
    time::{Duration, Instant},
};

use jiff::{ToSpan, Zoned, civil::date};
use tools::system::calendar;

const EVENTS: i64 = 10_000;
const LOOKS: u32 = 20;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let root = tempfile::tempdir()?;
    let folder = root.path().join("home");
    fs::create_dir(&folder)?;
    for n in 0..EVENTS {
        let start = date(2017, 1, 1).checked_add((n % 3900).days())?;
        // One in twenty repeats for ever, half of those each year.
        let rule = match n % 40 {
            0 => "\r\nRRULE:FREQ=WEEKLY",
            20 => "\r\nRRULE:FREQ=YEARLY",
            _ => "",
        };
        let text = format!(
            "BEGIN:VCALENDAR\r\nVERSION:2.0\r\nPRODID:-//x//y\r\nBEGIN:VEVENT\r\nUID:{n}@example.org\r\nDTSTAMP:20200101T000000Z\r\n\
             SUMMARY:Meeting {n}\r\nLOCATION:Room {n}\r\nDESCRIPTION:What it is about\\, in a few words.\r\n\
             DTSTART;TZID=Europe/Berlin:{}T{:02}0000\r\nDURATION:PT1H{rule}\r\nEND:VEVENT\r\nEND:VCALENDAR\r\n",
            start.strftime("%Y%m%d"),
            8 + n % 10
        );
        fs::write(folder.join(format!("{n}.ics")), text)?;
    }
    // What was written this moment is not trusted to be settled.
    std::thread::sleep(Duration::from_millis(300));
    let from: Zoned = "2026-11-23T00:00[Europe/Berlin]".parse()?;
    let to = from.checked_add(7.days())?;
    let begun = Clock::now();
    let found = calendar::events(root.path(), &from, &to)?.items.len();
    let first = begun.elapsed();
    let mut looks = Vec::new();
    for _ in 0..LOOKS {
        let begun = Clock::now();
        calendar::events(root.path(), &from, &to)?;
        looks.push(begun.elapsed());
    }
    looks.sort();
    let bomb = bomb(&from, &to)?;
    writeln!(
        io::stdout(),
        "wall time and processor time\n{EVENTS} events, first look: {first:?}\na week of {found}, median: {:?}\nat most: {:?}\nthe worst bomb: {bomb:?}",
        looks[looks.len() / 2],
        looks[looks.len() - 1]
    )?;
    Ok(())
}

/// Wall time and, where Linux tells it, processor time: on a busy machine only the second says what the code costs.
struct Clock {
    wall: Instant,
    processor: Duration,
}

impl Clock {
    fn now() -> Clock {
        Clock {
            wall: Instant::now(),
            processor: processor(),
        }
    }

    fn elapsed(&self) -> (Duration, Duration) {
        (self.wall.elapsed(), processor().saturating_sub(self.processor))
    }
}

fn processor() -> Duration {
    let text = fs::read_to_string("/proc/thread-self/schedstat").unwrap_or_default();
    let nanos = text.split_whitespace().next().and_then(|n| n.parse().ok());
    Duration::from_nanos(nanos.unwrap_or(0))
}

/// The longest that one hostile rule takes.
fn bomb(from: &Zoned, to: &Zoned) -> Result<(Duration, Duration), Box<dyn std::error::Error>> {
    let times: Vec<String> = (0..24).map(|n| n.to_string()).collect();
    let mut worst = (Duration::ZERO, Duration::ZERO);
    for rule in [
        "FREQ=SECONDLY".to_owned(),
        "FREQ=SECONDLY;COUNT=1000;BYYEARDAY=366;BYHOUR=23".to_owned(),
        "FREQ=DAILY;COUNT=4000000000".to_owned(),
        "FREQ=YEARLY;COUNT=5;BYMONTH=2;BYMONTHDAY=30;BYDAY=MO".to_owned(),
        "FREQ=HOURLY;COUNT=4000000000;BYYEARDAY=366;BYMONTH=1".to_owned(),
        "FREQ=MONTHLY;BYDAY=MO;BYSETPOS=366;COUNT=9".to_owned(),
        format!(
            "FREQ=DAILY;COUNT=4000000000;BYHOUR={};BYMINUTE=0,30",
            times.join(",")
        ),
    ] {
        let root = tempfile::tempdir()?;
        let folder = root.path().join("home");
        fs::create_dir(&folder)?;
        let text = format!(
            "BEGIN:VCALENDAR\r\nBEGIN:VEVENT\r\nUID:1\r\nDTSTART:00010101T000000Z\r\nRRULE:{rule}\r\nEND:VEVENT\r\nEND:VCALENDAR\r\n"
        );
        fs::write(folder.join("1.ics"), text)?;
        let begun = Clock::now();
        calendar::events(root.path(), from, to)?;
        let took = begun.elapsed();
        if took.1 >= worst.1 {
            worst = took;
        }
    }
    Ok(worst)
}
