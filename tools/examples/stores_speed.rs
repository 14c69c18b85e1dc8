//! Prints how long the person's data takes to be asked, tool and all: a week of 10,000 events, one of 20,000 contacts, a word
//! in 10,000 notes; the first time, warm, and after another program changed one file. Run it with `--release`.

use std::{
    fs,
    io::{self, Write},
    path::Path,
    sync::Arc,
    time::{Duration, Instant},
};

use jiff::{ToSpan, civil::date};
use serde_json::{Value, json};
use tools::{Ctx, Dirs, Journal, Retention, discover::Index};

const EVENTS: i64 = 10_000;
const CARDS: usize = 20_000;
const NOTES: usize = 10_001;
const WORDS: usize = 250;
const LOOKS: usize = 15;

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let root = tempfile::tempdir()?;
    let dirs = Dirs::under(root.path());
    events(&dirs.calendars.join("home"))?;
    cards(&dirs.contacts.join("book"))?;
    notes(&dirs.notes)?;
    // What was written this moment is not trusted to be settled.
    std::thread::sleep(Duration::from_millis(300));
    let now = "2026-11-23T09:30[Europe/Berlin]".parse()?;
    let step = Journal::at(&dirs.state, Retention::default()).step("");
    let ctx = Ctx::new(now, dirs.clone(), Arc::new(Index::of(tools::ALL)), step);
    for (name, args, file) in [
        (
            "calendar.query",
            json!({"when": "this week"}),
            dirs.calendars.join("home/1.ics"),
        ),
        (
            "contacts.search",
            json!({"name": "wendolin brakmore"}),
            dirs.contacts.join("book/1.vcf"),
        ),
        (
            "notes.search",
            json!({"words": "quinces compost"}),
            dirs.notes.join("note 1.md"),
        ),
    ] {
        measure(&ctx, name, args, &file).await?;
    }
    Ok(())
}

async fn measure(ctx: &Ctx, name: &str, args: Value, file: &Path) -> Result<(), Box<dyn std::error::Error>> {
    let tool = tools::find(name).ok_or("no such tool")?;
    let ask = async || {
        let begun = Instant::now();
        tool.run(args.clone(), ctx)
            .await
            .map(|answer| (begun.elapsed(), answer.say))
    };
    let (first, say) = ask().await?;
    let (mut warm, mut changed) = (Vec::new(), Vec::new());
    for _ in 0..LOOKS {
        warm.push(ask().await?.0);
    }
    for _ in 0..LOOKS {
        let text = fs::read(file)?;
        fs::write(file, text)?;
        changed.push(ask().await?.0);
    }
    for times in [&mut warm, &mut changed] {
        times.sort();
    }
    writeln!(
        io::stdout(),
        "{name}: first {first:.1?}, warm {:.1?} (at most {:.1?}), after a change {:.1?}\n  {:.90}",
        warm[LOOKS / 2],
        warm[LOOKS - 1],
        changed[LOOKS / 2],
        say
    )?;
    Ok(())
}

fn events(folder: &Path) -> io::Result<()> {
    fs::create_dir_all(folder)?;
    for n in 0..EVENTS {
        let start = date(2017, 1, 1)
            .checked_add((n % 3900).days())
            .map_err(io::Error::other)?;
        // One in twenty repeats for ever, half of those each year.
        let rule = match n % 40 {
            0 => "\r\nRRULE:FREQ=WEEKLY",
            20 => "\r\nRRULE:FREQ=YEARLY",
            _ => "",
        };
        let text = format!(
            "BEGIN:VCALENDAR\r\nVERSION:2.0\r\nBEGIN:VEVENT\r\nUID:{n}@example.org\r\nSUMMARY:Meeting {n}\r\n\
             DTSTART;TZID=Europe/Berlin:{}T{:02}0000\r\nDURATION:PT1H{rule}\r\nEND:VEVENT\r\nEND:VCALENDAR\r\n",
            start.strftime("%Y%m%d"),
            8 + n % 10
        );
        fs::write(folder.join(format!("{n}.ics")), text)?;
    }
    Ok(())
}

fn cards(folder: &Path) -> io::Result<()> {
    fs::create_dir_all(folder)?;
    for n in 0..CARDS {
        let name = format!("{} {}", word(n % 141), word(1000 + n / 141));
        let name = if n == 7_000 {
            "Gwendolyn Brakemoore".to_owned()
        } else {
            name
        };
        let text = format!(
            "BEGIN:VCARD\r\nVERSION:3.0\r\nUID:{n}\r\nFN:{name}\r\nTEL;TYPE=CELL:0171 {n:07}\r\nEND:VCARD\r\n"
        );
        fs::write(folder.join(format!("{n}.vcf")), text)?;
    }
    Ok(())
}

fn notes(folder: &Path) -> io::Result<()> {
    fs::create_dir_all(folder)?;
    for n in 0..NOTES {
        let mut text = format!("# Note {n}\n\n");
        for w in 0..WORDS {
            // Few words are frequent and many are rare, as in any language.
            let draw = (n * 7919 + w * 104_729) % 9973;
            text.push_str(&word(draw * draw / 9973));
            text.push(if w % 12 == 11 { '\n' } else { ' ' });
        }
        if n == 4_000 {
            text.push_str("\nThe quinces go to the compost.\n");
        }
        fs::write(folder.join(format!("note {n}.md")), text)?;
    }
    Ok(())
}

/// A word of its own for each number.
fn word(mut n: usize) -> String {
    const SYLLABLES: [&str; 16] = [
        "ba", "de", "fi", "go", "hu", "ka", "le", "mi", "no", "pu", "ra", "se", "ti", "vo", "wu", "za",
    ];
    let mut word = String::new();
    for _ in 0..4 {
        word.push_str(SYLLABLES[n % 16]);
        n /= 16;
    }
    word
}
