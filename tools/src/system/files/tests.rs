//! What no way may lead to: links, `..`, other places, and things that are no files.

use std::{
    fs,
    os::unix::{
        ffi::OsStrExt as _,
        fs::{PermissionsExt as _, symlink},
    },
    path::Path,
    time::Instant,
};

use proptest::prelude::*;
use serde_json::json;

use super::*;
use crate::{
    Ctx,
    testing::{ctx, run, said, told},
};

/// A folder beside the roots, and roots with all that tries to lead there.
fn trap(home: &Path) -> (Ctx, PathBuf) {
    let ctx = ctx(home);
    let root = home.join("files");
    let outside = home.join("outside");
    fs::create_dir_all(root.join("sub")).unwrap();
    fs::create_dir(&outside).unwrap();
    fs::write(outside.join("prey.txt"), "prey").unwrap();
    fs::write(root.join("mine.txt"), "mine").unwrap();
    symlink(&outside, root.join("way")).unwrap();
    symlink(outside.join("prey.txt"), root.join("link.txt")).unwrap();
    symlink("../../outside/prey.txt", root.join("sub/up.txt")).unwrap();
    symlink("/proc/self/root", root.join("sub/magic")).unwrap();
    (ctx, outside)
}

async fn every_tool(ctx: &Ctx, file: &str) -> Vec<String> {
    let mut answers = Vec::new();
    for (tool, args) in [
        ("files.read", json!({"file": file})),
        ("files.open", json!({"file": file})),
        ("files.reveal", json!({"file": file})),
        ("files.copy", json!({"file": file})),
        ("files.copy", json!({"file": "mine.txt", "to": file})),
        ("files.move", json!({"file": file, "to": "sub"})),
        ("files.move", json!({"file": "mine.txt", "to": file})),
        ("files.rename", json!({"file": file, "name": "x"})),
        ("files.create_folder", json!({"name": "x", "in": file})),
        ("files.trash", json!({"file": file})),
        ("files.search", json!({"folder": file})),
        ("files.recent", json!({"folder": file})),
    ] {
        match run(tool, args, ctx).await {
            Err(error) => answers.push(error.to_string()),
            Ok(output) => panic!("{tool} took {file}: {}", output.say),
        }
    }
    answers
}

#[tokio::test]
async fn no_link_and_no_path_leads_out() {
    let home = tempfile::tempdir().unwrap();
    let (ctx, outside) = trap(home.path());
    for file in [
        "way/prey.txt",
        "files/way/prey.txt",
        "way",
        "link.txt",
        "files/link.txt",
        "files/sub/up.txt",
        "files/sub/magic/etc/passwd",
        "../outside/prey.txt",
        "files/../outside/prey.txt",
        "files/sub/../../outside",
        "/etc/passwd",
        "/proc/self/environ",
        "~/../../etc/passwd",
        &outside.join("prey.txt").to_string_lossy(),
        &home.path().join("files/way/prey.txt").to_string_lossy(),
        "prey",
    ] {
        for answer in every_tool(&ctx, file).await {
            assert!(!answer.contains("root:"), "{file}: {answer}");
        }
        assert_eq!(
            fs::read_to_string(outside.join("prey.txt")).unwrap(),
            "prey",
            "{file}"
        );
        assert_eq!(
            fs::read_to_string(home.path().join("files/mine.txt")).unwrap(),
            "mine"
        );
    }
    // Not even opening leads there, for who knows the exact way.
    for below in [
        "way/prey.txt",
        "link.txt",
        "sub/up.txt",
        "sub/../mine.txt",
        "../outside/prey.txt",
        "sub",
    ] {
        let opened = below::open(&home.path().join("files"), Path::new(below));
        assert!(opened.is_err(), "{below}");
    }
    assert!(below::open(&home.path().join("files"), Path::new("mine.txt")).is_ok());
    let listed: Vec<String> = list(&ctx.dirs).unwrap().items.iter().map(Item::label).collect();
    assert!(
        listed
            .iter()
            .all(|label| ["files", "files/sub", "files/mine.txt"].contains(&&**label)),
        "{listed:?}"
    );
}

#[tokio::test]
async fn a_root_that_is_a_link_itself_is_the_persons_own_wish() {
    let home = tempfile::tempdir().unwrap();
    let real = home.path().join("disk/Documents");
    fs::create_dir_all(&real).unwrap();
    fs::write(real.join("a.txt"), "yes").unwrap();
    symlink(&real, home.path().join("files")).unwrap();
    let ctx = ctx(home.path());
    let link = home.path().join("files/a.txt");
    for file in ["a", "files/a.txt", &link.to_string_lossy()] {
        assert_eq!(
            said(run("files.read", json!({"file": file}), &ctx).await),
            "yes",
            "{file}"
        );
    }
}

#[tokio::test]
async fn what_is_no_file_is_refused_at_once() {
    let home = tempfile::tempdir().unwrap();
    let ctx = ctx(home.path());
    let root = home.path().join("files");
    fs::create_dir(&root).unwrap();
    rustix::fs::mkfifoat(
        rustix::fs::CWD,
        root.join("pipe.txt"),
        rustix::fs::Mode::from_raw_mode(0o600),
    )
    .unwrap();
    let _socket = std::os::unix::net::UnixListener::bind(root.join("socket.txt")).unwrap();
    let started = Instant::now();
    for file in ["files/pipe.txt", "files/socket.txt", "/dev/zero", "pipe"] {
        every_tool(&ctx, file).await;
    }
    assert!(below::open(&root, Path::new("pipe.txt")).is_err());
    assert!(started.elapsed() < Duration::from_secs(20), "something waited");
    // A device among the files: the roots could be a whole disk.
    assert!(below::open(Path::new("/dev"), Path::new("zero")).is_err());
}

#[tokio::test]
async fn huge_and_oddly_named_files_are_handled() {
    let home = tempfile::tempdir().unwrap();
    let ctx = ctx(home.path());
    let root = home.path().join("files");
    fs::create_dir(&root).unwrap();
    // A hole of a gigabyte, with text at its front.
    let file = fs::File::create(root.join("huge.txt")).unwrap();
    std::os::unix::fs::FileExt::write_at(&file, "word ".repeat(500_000).as_bytes(), 0).unwrap();
    file.set_len(1 << 30).unwrap();
    fs::write(root.join(std::ffi::OsStr::from_bytes(b"caf\xe9 \xff.txt")), "odd").unwrap();
    fs::write(root.join("line\nbreak \u{202e}txt.exe.txt"), "tricky").unwrap();
    let started = Instant::now();
    let huge = run("files.read", json!({"file": "huge"}), &ctx).await.unwrap();
    assert!(huge.say.ends_with("There is more in huge.txt."), "{}", huge.say);
    assert_eq!(huge.data["complete"], false);
    let found = said(run("files.search", json!({"words": "tricky"}), &ctx).await);
    assert!(found.contains("line break txt.exe.txt"), "{found}");
    assert!(started.elapsed() < Duration::from_secs(20));
    // No word says it, but it is listed, and its content finds it.
    let found = said(run("files.search", json!({"words": "odd"}), &ctx).await);
    assert!(found.contains("caf\u{fffd}"), "{found}");
    assert_eq!(
        said(run("files.trash", json!({"file": "line break"}), &ctx).await),
        "I moved line break txt.exe.txt to the trash."
    );
    ctx.step.journal().undo(None).unwrap();
    assert!(root.join("line\nbreak \u{202e}txt.exe.txt").exists());
}

/// What a program from the shelf makes of these words, or nothing, said aloud, where it is missing.
fn made(program: &str, args: &[&str], input: &str) -> Option<Vec<u8>> {
    use std::{
        io::Write as _,
        process::{Command, Stdio},
    };
    let started = Command::new(program)
        .args(args)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn();
    let Ok(mut child) = started else {
        assert!(
            std::env::var_os("TIRO_REQUIRE_REAL").is_none(),
            "{program} is missing"
        );
        println!("SKIPPED: {program} is missing; run `cargo xtask setup`");
        return None;
    };
    child.stdin.take().unwrap().write_all(input.as_bytes()).unwrap();
    let made = child.wait_with_output().unwrap();
    assert!(made.status.success());
    Some(made.stdout)
}

/// One writes the fonts that every reader has, the other puts in pieces of its own with tables of what their letters are.
#[tokio::test]
async fn pdfs_that_real_programs_made_are_read_and_found_by_their_words() {
    const ROFF: &str =
        ".TL\nReport of the walrus\n.PP\nThe walrus counted forty-two seals in Gr\\[:u]n Harbour.\n";
    const SVG: &str = "<svg xmlns='http://www.w3.org/2000/svg' width='600' height='200'>\
        <text x='20' y='40'>The narwhal counted forty-two seals in Gr\u{fc}n Harbour.</text></svg>";
    let home = tempfile::tempdir().unwrap();
    let ctx = ctx(home.path());
    let root = home.path().join("files");
    fs::create_dir(&root).unwrap();
    for (name, program, args, input, animal) in [
        ("groff.pdf", "groff", &["-Tpdf", "-ms"][..], ROFF, "walrus"),
        ("cairo.pdf", "rsvg-convert", &["--format=pdf"][..], SVG, "narwhal"),
    ] {
        let Some(bytes) = made(program, args, input) else {
            return;
        };
        assert!(bytes.starts_with(b"%PDF-"), "{program}");
        fs::write(root.join(name), bytes).unwrap();
        let read = said(run("files.read", json!({"file": name}), &ctx).await);
        let sentence = format!("The {animal} counted forty-two seals in Gr\u{fc}n Harbour.");
        assert!(read.contains(&sentence), "{program}: {read}");
        let found = said(run("files.search", json!({"words": animal}), &ctx).await);
        assert!(found.contains(name), "{program}: {found}");
    }
}

/// A name of bytes that are no text cannot be said, but what is there can be found by what is in it or by the rest of its name,
/// and nothing else is ever taken for it.
#[tokio::test]
async fn names_that_are_no_text_are_opened_moved_and_trashed_like_others() {
    let home = tempfile::tempdir().unwrap();
    let mut ctx = ctx(home.path());
    let root = home.path().join("files");
    fs::create_dir_all(root.join("sub")).unwrap();
    let (program, out) = (home.path().join("opener"), home.path().join("opened"));
    let writes = format!(
        "#!/bin/sh\nprintf '%s' \"$1\" > {0}.new && mv {0}.new {0}\n",
        out.display()
    );
    fs::write(&program, writes).unwrap();
    fs::set_permissions(&program, fs::Permissions::from_mode(0o755)).unwrap();
    ctx.reach.opener = vec![program.to_string_lossy().into_owned()];
    let name = std::ffi::OsStr::from_bytes(b"caf\xe9 menu \xff.txt");
    let shown = "caf\u{fffd} menu \u{fffd}.txt";
    let (here, there) = (root.join(name), root.join("sub").join(name));
    fs::write(&here, "soup and bread").unwrap();
    let listed = list(&ctx.dirs).unwrap();
    assert!(listed.items.iter().any(|item| item.name == shown));
    for said_of_it in ["menu", "caf menu", shown, &format!("files/{shown}")] {
        let read = run("files.read", json!({"file": said_of_it}), &ctx).await;
        assert_eq!(said(read), "soup and bread", "{said_of_it}");
    }
    // As a whole path it is that of another file, which is not there.
    let path = here.to_string_lossy();
    let asked = told(run("files.read", json!({"file": path}), &ctx).await);
    assert!(asked.starts_with("I found no file called"), "{asked}");
    let found = said(run("files.search", json!({"words": "soup"}), &ctx).await);
    assert!(found.contains(shown), "{found}");
    said(run("files.open", json!({"file": "menu"}), &ctx).await);
    let begun = Instant::now();
    while !out.exists() {
        assert!(begun.elapsed() < Duration::from_secs(20), "nothing was opened");
        std::thread::sleep(Duration::from_millis(10));
    }
    let address = format!(
        "file://{}/caf%E9%20menu%20%FF.txt",
        root.canonicalize().unwrap().display()
    );
    let opened = fs::read_to_string(&out).unwrap();
    assert_eq!(
        opened, address,
        "the very file, byte by byte, in letters that any program takes"
    );
    let undo = || ctx.step.journal().undo(None).map(drop).unwrap();
    said(run("files.move", json!({"file": "menu", "to": "sub"}), &ctx).await);
    assert!(there.exists() && !here.exists());
    undo();
    assert!(here.exists() && !there.exists());
    said(run("files.copy", json!({"file": "menu", "to": "sub"}), &ctx).await);
    assert_eq!(fs::read_to_string(&there).unwrap(), "soup and bread");
    undo();
    assert!(here.exists() && !there.exists());
    said(
        run(
            "files.rename",
            json!({"file": "menu", "name": "Menu of today"}),
            &ctx,
        )
        .await,
    );
    assert!(root.join("Menu of today.txt").exists());
    undo();
    let trashed = said(run("files.trash", json!({"file": "menu"}), &ctx).await);
    assert_eq!(trashed, format!("I moved {shown} to the trash."));
    let kept: Vec<_> = fs::read_dir(home.path().join("Trash/files")).unwrap().collect();
    assert!(!here.exists() && kept.len() == 1);
    let info = fs::read_dir(home.path().join("Trash/info"))
        .unwrap()
        .next()
        .unwrap()
        .unwrap();
    let info = fs::read_to_string(info.path()).unwrap();
    assert!(
        info.contains("/files/caf%E9%20menu%20%FF.txt\n"),
        "other programs restore it: {info}"
    );
    undo();
    assert_eq!(fs::read_to_string(&here).unwrap(), "soup and bread");
    // Two of which the same is shown are asked about.
    fs::write(
        root.join(std::ffi::OsStr::from_bytes(b"caf\xe8 menu \xfe.txt")),
        "other",
    )
    .unwrap();
    let asked = run("files.trash", json!({"file": "menu"}), &ctx)
        .await
        .unwrap_err()
        .to_string();
    assert!(asked.contains("Which"), "{asked}");
    assert!(here.exists());
}

#[tokio::test]
async fn what_moves_to_another_disk_is_copied_and_trashed_here() {
    let home = tempfile::tempdir().unwrap();
    let (here, there) = (home.path().join("files"), tempfile::tempdir_in("/dev/shm"));
    fs::create_dir(&here).unwrap();
    let device = |path: &Path| std::os::unix::fs::MetadataExt::dev(&fs::metadata(path).unwrap());
    let Some(there) = there.ok().filter(|there| device(there.path()) != device(&here)) else {
        println!("SKIPPED: there is no second disk at /dev/shm");
        return;
    };
    let mut ctx = ctx(home.path());
    let other = there.path().join("Stick");
    fs::create_dir(&other).unwrap();
    ctx.dirs.files.push(other.clone());
    fs::create_dir_all(here.join("Trip/sub")).unwrap();
    fs::write(here.join("Trip/sub/a.txt"), "a").unwrap();
    let args = json!({"file": "trip folder", "to": "stick"});
    assert_eq!(
        said(run("files.move", args, &ctx).await),
        "I moved Trip to Stick/Trip."
    );
    assert_eq!(fs::read_to_string(other.join("Trip/sub/a.txt")).unwrap(), "a");
    assert!(!here.join("Trip").exists() && home.path().join("Trash/files/Trip/sub/a.txt").exists());
    ctx.step.journal().undo(None).unwrap();
    assert!(!other.join("Trip").exists());
    assert_eq!(fs::read_to_string(here.join("Trip/sub/a.txt")).unwrap(), "a");
    assert_eq!(fs::read_dir(home.path().join("Trash/info")).unwrap().count(), 0);
}

#[test]
fn names_in_use_get_numbers() {
    let home = tempfile::tempdir().unwrap();
    let free = |name: &str| {
        change::free(home.path(), name.as_ref()).map(|path| path.file_name().unwrap().to_owned())
    };
    for expect in ["a.txt", "a (2).txt", "a (3).txt"] {
        assert_eq!(free("a.txt").unwrap(), expect);
        fs::write(home.path().join(expect), "").unwrap();
    }
    for number in 4..=99 {
        fs::write(home.path().join(format!("a ({number}).txt")), "").unwrap();
    }
    assert!(free("a.txt").unwrap_err().to_string().contains("too many"));
}

#[test]
fn sizes_and_ages_are_said_plainly() {
    for (bytes, expect) in [
        (0, "no bytes"),
        (1, "one byte"),
        (999, "999 bytes"),
        (2000, "2 kilobytes"),
        (3_450_000, "3.5 megabytes"),
        (12_000_000_000, "12 gigabytes"),
    ] {
        assert_eq!(size(bytes), expect);
    }
    let now: Zoned = "2026-11-23T09:30:00[Europe/Berlin]".parse().unwrap();
    let at = |text: &str| {
        text.parse::<jiff::civil::DateTime>()
            .unwrap()
            .to_zoned(now.time_zone().clone())
            .unwrap()
            .timestamp()
    };
    for (said, from, to) in [
        ("yesterday", "2026-11-22T00:00", "2026-11-23T00:00"),
        ("last week", "2026-11-16T00:00", "2026-11-23T00:00"),
        ("in october", "2026-10-01T00:00", "2026-11-01T00:00"),
        ("today", "2026-11-23T00:00", "2026-11-24T00:00"),
    ] {
        assert_eq!(changed(said, &now).unwrap(), (at(from), at(to)), "{said}");
    }
    let (from, to) = changed("the last two hours", &now).unwrap();
    assert_eq!((from, to), (at("2026-11-23T07:30"), at("2026-11-23T09:30")));
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]

    /// Whatever is said, what is found is below the roots, no link, and nothing secret.
    #[test]
    fn what_is_meant_is_always_inside(
        said in prop_oneof![
            ".{0,40}",
            prop::collection::vec(prop_oneof!["\\.\\.", "\\.", "files", "sub", "way", "link.txt", "mine.txt", "outside", "prey.txt", "~", ""], 1..6)
                .prop_map(|parts| parts.join("/")),
        ]
    ) {
        let home = tempfile::tempdir().unwrap();
        let (ctx, _) = trap(home.path());
        if let Ok(item) = find::meant(&ctx.dirs, &said, find::Want::Any) {
            let root = home.path().join("files").canonicalize().unwrap();
            prop_assert!(item.path().starts_with(&root));
            prop_assert_eq!(item.path().canonicalize().unwrap(), item.path());
            prop_assert!(!secret::is_secret(&item.below));
        }
    }
}

/// Names of three words each, and a few that are asked for.
#[test]
fn names_are_found_among_a_thousand_as_said_and_as_misheard() {
    const WORDS: [&str; 22] = [
        "report", "invoice", "garden", "travel", "minutes", "photo", "winter", "summer", "plan", "order",
        "owed", "budget", "letter", "school", "music", "recipe", "tax", "house", "club", "draft", "hamper",
        "itemised",
    ];
    let asked = [
        "what i owe.odt",
        "Hamburg itinerary.pdf",
        "Aunt May's recipes.md",
        "the order.txt",
    ];
    let item = |name: String| Item {
        root: "/nowhere".into(),
        below: name.clone().into(),
        name,
        folder: "files".to_owned(),
        is_folder: false,
        size: 0,
        modified: Timestamp::UNIX_EPOCH,
    };
    let three = |n: usize| [n % 22, n / 22 % 22, n / 484].map(|at| WORDS[at]).join("_");
    let mut items: Vec<Item> = (0..1_000).map(|n| item(format!("{}.pdf", three(n)))).collect();
    for (n, name) in asked.iter().enumerate() {
        items[n * 250 + 7] = item((*name).to_owned());
    }
    for (said, expect) in [
        ("what i owe", asked[0]),
        ("hamburg itinerary", asked[1]),
        ("hamberg itinary", asked[1]),
        ("ant mays recipes", asked[2]),
        ("the order", asked[3]),
        ("winter_tax_invoice pdf", "winter_tax_invoice.pdf"),
    ] {
        let begun = Instant::now();
        let found = find::alike(items.iter(), said);
        let took = begun.elapsed();
        let first = found.first().map(|(_, at)| items[*at].name.as_str());
        assert_eq!(first, Some(expect), "{said}");
        println!("{said}: {} of {} in {took:?}", found.len(), items.len());
    }
}
