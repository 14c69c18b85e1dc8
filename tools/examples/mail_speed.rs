//! Prints how long mail takes to be asked, tool and all: 5,000 messages are indexed, then searched, the first time, warm, and
//! after a new one came. Run it with `--release`.

use std::{
    fs,
    io::{self, Write},
    path::Path,
    sync::Arc,
    time::{Duration, Instant},
};

use serde_json::{Value, json};
use tools::{Ctx, Dirs, Journal, Retention, discover::Index};

const MAILS: usize = 5_000;
const WORDS: usize = 250;
const LOOKS: usize = 15;

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let root = tempfile::tempdir()?;
    let dirs = Dirs::under(root.path());
    let cur = dirs.mail.join("cur");
    fs::create_dir_all(&cur)?;
    for n in 0..MAILS {
        fs::write(
            cur.join(format!("{}.M{n}.host:2,S", 1_700_000_000 + n * 600)),
            message(n),
        )?;
    }
    // What was written this moment is not trusted to be settled.
    std::thread::sleep(Duration::from_millis(300));
    let now = "2026-11-23T09:30[Europe/Berlin]".parse()?;
    let step = Journal::at(&dirs.state, Retention::default()).step("");
    let ctx = Ctx::new(now, dirs, Arc::new(Index::of(tools::ALL)), step);
    let begun = Instant::now();
    let (list, _) = ask(&ctx, "mail.recent", &json!({})).await?;
    writeln!(
        io::stdout(),
        "the first list of the newest of {MAILS}: {list:.1?}"
    )?;
    let mut questions = 1;
    while ask(&ctx, "mail.search", &json!({"words": "quinces"}))
        .await?
        .1
        .contains("not read all")
    {
        questions += 1;
    }
    writeln!(
        io::stdout(),
        "all texts indexed: {:.1?} in {questions} questions",
        begun.elapsed()
    )?;
    for (name, args) in [
        ("mail.recent", json!({})),
        ("mail.unread_count", json!({})),
        ("mail.search", json!({"words": "quinces compost"})),
        ("mail.search", json!({"words": "quinses"})),
        (
            "mail.search",
            json!({"from": "sender forty", "when": "last month"}),
        ),
        ("mail.search", json!({"words": "word17 word4"})),
        ("mail.read", json!({"about": "quinces"})),
    ] {
        measure(&ctx, name, &args, &cur).await?;
    }
    Ok(())
}

async fn ask(ctx: &Ctx, name: &str, args: &Value) -> Result<(Duration, String), Box<dyn std::error::Error>> {
    let tool = tools::find(name).ok_or("no such tool")?;
    let begun = Instant::now();
    let answer = tool.run(args.clone(), ctx).await?;
    Ok((begun.elapsed(), answer.say))
}

async fn measure(ctx: &Ctx, name: &str, args: &Value, cur: &Path) -> Result<(), Box<dyn std::error::Error>> {
    let (mut warm, mut changed) = (Vec::new(), Vec::new());
    let mut said = String::new();
    for _ in 0..LOOKS {
        let (time, say) = ask(ctx, name, args).await?;
        warm.push(time);
        said = say;
    }
    for n in 0..LOOKS {
        let file = cur.join(format!("1800000000.Q{n}.host:2,"));
        fs::write(&file, message(9_999))?;
        changed.push(ask(ctx, name, args).await?.0);
        fs::remove_file(file)?;
    }
    for times in [&mut warm, &mut changed] {
        times.sort();
    }
    writeln!(
        io::stdout(),
        "{name} {args}: warm {:.1?} (at most {:.1?}), after a new mail {:.1?}\n  {:.100}",
        warm[LOOKS / 2],
        warm[LOOKS - 1],
        changed[LOOKS / 2],
        said
    )?;
    Ok(())
}

fn message(n: usize) -> String {
    let mut text = format!(
        "From: Sender {} <sender{}@example.org>\nTo: me@example.org\nSubject: Mail number {n}\nMessage-ID: <{n}@example.org>\n\
         Date: Mon, {} Jun 2026 12:{:02}:00 +0000\nContent-Type: text/html; charset=utf-8\n\n<p>",
        n % 300,
        n % 300,
        1 + n % 28,
        n % 60
    );
    for w in 0..WORDS {
        // Few words are frequent and many are rare, as in any language.
        let draw = (n * 7919 + w * 104_729) % 9973;
        text.push_str(&format!("word{}", draw * draw / 9973));
        text.push_str(if w % 12 == 11 { "</p>\n<p>" } else { " " });
    }
    if n == 4_000 {
        text.push_str("The quinces go to the compost.");
    }
    text + "</p>\n"
}
