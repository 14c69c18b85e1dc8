//! How long mail takes to be asked, tool and all: `cargo bench -p tools --bench mail`.
//!
//! 5,000 messages are indexed, then searched: warm, right after a mail came to `new` as servers and most programs deliver
//! it, right after one came to `cur`, and right after one was marked as read. It ends with 1 when a target is missed: 30 s for
//! all of the index, 50 ms for any search.

use std::{
    fs,
    io::{self, Write},
    path::Path,
    process::ExitCode,
    sync::Arc,
    time::{Duration, Instant},
};

use serde_json::{Value, json};
use tools::{Ctx, Dirs, Journal, Retention, discover::Index};

const MAILS: usize = 5_000;
const WORDS: usize = 250;
const LOOKS: usize = 15;
/// The targets.
const INDEX: Duration = Duration::from_secs(30);
const SEARCH: Duration = Duration::from_millis(50);

type Outcome<T> = Result<T, Box<dyn std::error::Error>>;

#[tokio::main(flavor = "current_thread")]
async fn main() -> Outcome<ExitCode> {
    let root = tempfile::tempdir()?;
    let dirs = Dirs::under(root.path());
    let (cur, new) = (dirs.mail.join("cur"), dirs.mail.join("new"));
    fs::create_dir_all(&cur)?;
    fs::create_dir_all(&new)?;
    for n in 0..MAILS {
        fs::write(
            cur.join(format!("{}.M{n}.host:2,S", 1_700_000_000 + n * 600)),
            message(n),
        )?;
    }
    // What was written this moment is not trusted to be settled.
    settle();
    let now = "2026-11-23T09:30[Europe/Berlin]".parse()?;
    let step = Journal::at(&dirs.state, Retention::default()).step("");
    let ctx = Ctx::new(now, dirs.clone(), Arc::new(Index::of(tools::ALL)), step);
    let mut missed = Vec::new();
    let mut out = io::stdout();

    let begun = Instant::now();
    let (list, _) = ask(&ctx, "mail.recent", &json!({})).await?;
    writeln!(out, "the first list of the newest of {MAILS}: {list:.1?}")?;
    let mut questions = 1;
    while ask(&ctx, "mail.search", &json!({"words": "quinces"}))
        .await?
        .1
        .contains("not read all")
    {
        questions += 1;
    }
    let indexed = begun.elapsed();
    writeln!(out, "all texts indexed: {indexed:.1?} in {questions} questions")?;
    if indexed > INDEX {
        missed.push(format!("the index took {indexed:.1?}"));
    }
    for (name, args) in [
        ("mail.search", json!({"words": "quinces compost"})),
        ("mail.search", json!({"words": "quinses"})),
        ("mail.search", json!({"words": "word17 word4"})),
        ("mail.search", json!({"words": "wort9999"})),
        (
            "mail.search",
            json!({"from": "sender forty", "when": "last month"}),
        ),
        ("mail.recent", json!({})),
        ("mail.unread_count", json!({})),
        ("mail.read", json!({"about": "quinces"})),
    ] {
        let mut line = format!("{name} {args}:");
        let mut said = String::new();
        for (how, change) in WAYS {
            settle();
            ask(&ctx, name, &args).await?;
            let mut times = Vec::new();
            for n in 0..LOOKS {
                let undo = change(&cur, &new, n)?;
                let (time, say) = ask(&ctx, name, &args).await?;
                times.push(time);
                said = say;
                if let Some((from, to)) = undo {
                    match to {
                        Some(to) => fs::rename(from, to)?,
                        None => fs::remove_file(from)?,
                    }
                }
                if how != &"warm" {
                    settle();
                    ask(&ctx, name, &args).await?;
                    settle();
                }
            }
            times.sort();
            let (median, worst) = (times[LOOKS / 2], times[LOOKS - 1]);
            line.push_str(&format!(" {how} {median:.1?} (at most {worst:.1?});"));
            if name == "mail.search" && median > SEARCH {
                missed.push(format!("{name} {args}, {how}: {median:.1?}"));
            }
        }
        writeln!(out, "{line}\n  {said:.100}")?;
    }
    for miss in &missed {
        writeln!(out, "MISSED: {miss}")?;
    }
    Ok(match missed.is_empty() {
        true => ExitCode::SUCCESS,
        false => ExitCode::FAILURE,
    })
}

/// What is taken back afterwards: from where, and to where if not for good.
type Undo = Option<(std::path::PathBuf, Option<std::path::PathBuf>)>;

/// Changes something in `cur` or `new`, each time something else.
type Change = fn(&Path, &Path, usize) -> io::Result<Undo>;

/// What happens right before a question.
const WAYS: &[(&str, Change)] = &[
    ("warm", |_, _, _| Ok(None)),
    ("after one in new", |_, new, n| {
        let file = new.join(format!("1800000000.Q{n}.host"));
        fs::write(&file, message(9_999))?;
        Ok(Some((file, None)))
    }),
    ("after one in cur", |cur, _, n| {
        let file = cur.join(format!("1800000000.Q{n}.host:2,"));
        fs::write(&file, message(9_999))?;
        Ok(Some((file, None)))
    }),
    ("after a mark", |cur, _, n| {
        let name = format!("{}.M{n}.host:2,", 1_700_000_000 + n * 600);
        let (before, after) = (cur.join(format!("{name}S")), cur.join(format!("{name}FS")));
        fs::rename(&before, &after)?;
        Ok(Some((after, Some(before))))
    }),
];

/// Longer than the clock of a file system ticks.
fn settle() {
    std::thread::sleep(Duration::from_millis(150));
}

async fn ask(ctx: &Ctx, name: &str, args: &Value) -> Outcome<(Duration, String)> {
    let tool = tools::find(name).ok_or("no such tool")?;
    let begun = Instant::now();
    let answer = tool.run(args.clone(), ctx).await?;
    Ok((begun.elapsed(), answer.say))
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
