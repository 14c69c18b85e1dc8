//! Reading, choosing and searching, over folders as other programs leave them.

use std::{fs, time::Instant};

use super::*;
use crate::testing::step;

fn put(folder: &Path, file: &str, text: &str) {
    let path = folder.join(file);
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    fs::write(path, text).unwrap();
}

/// Notes of Tiro, Obsidian and a text editor, and what is no note.
fn vault(folder: &Path) {
    put(
        folder,
        "packing-list.md",
        "# Packing list\n\n- socks\n- charger\n",
    );
    put(
        folder,
        "Projects/Garden.md",
        "---\naliases: [Allotment, \"Beds\"]\n---\nPlant tomatoes in [[April]].\n",
    );
    put(folder, "Projects/2026/Roof repair.md", "Ask Tom for an offer.\n");
    put(
        folder,
        "clip.md",
        "---\ntitle: How to roof\nsource: https://x.example/\n---\n# Roofing\n",
    );
    put(
        folder,
        "windows.markdown",
        "\u{feff}# Windows\r\n\r\nThe frames.\r\n",
    );
    put(folder, ".obsidian/workspace.md", "# Not a note\n");
    put(folder, "picture.png", "# Not a note\n");
    fs::write(folder.join("old.md"), b"# \xdcbung\n").unwrap();
}

#[track_caller]
fn chosen(folder: &Path, heard: &str) -> String {
    match choose(&list(folder).unwrap(), heard) {
        Ok(note) => note.file.display().to_string(),
        Err(error) => error.to_string(),
    }
}

#[test]
fn titles_come_from_where_programs_put_them() {
    let home = tempfile::tempdir().unwrap();
    vault(home.path());
    let notes = list(home.path()).unwrap();
    let mut titles: Vec<&str> = notes.iter().map(|n| n.title.as_str()).collect();
    titles.sort_unstable();
    assert_eq!(
        titles,
        [
            "Garden",
            "How to roof",
            "Packing list",
            "Roof repair",
            "Windows",
            "Übung"
        ]
    );
    let clipped: Vec<&str> = notes
        .iter()
        .filter(|n| n.clipped)
        .map(|n| n.title.as_str())
        .collect();
    assert_eq!(clipped, ["How to roof"]);
}

#[test]
fn a_note_is_chosen_as_heard() {
    let home = tempfile::tempdir().unwrap();
    vault(home.path());
    for (heard, expect) in [
        ("packing list", "packing-list.md"),
        ("my packing list note", "packing-list.md"),
        ("the garden note", "Projects/Garden.md"),
        ("allotment", "Projects/Garden.md"),
        ("gardin", "Projects/Garden.md"),
        ("roof repair", "Projects/2026/Roof repair.md"),
        ("roof", "Which note: How to roof or Roof repair?"),
        ("note", "Which note? Say its title."),
        (
            "insurance",
            "There is no note called \"insurance\". Search for a word in it, or list the notes.",
        ),
    ] {
        let mut answer = chosen(home.path(), heard);
        if answer.starts_with("Which note: Roof repair") {
            // Of the same moment, so either order is right.
            answer = "Which note: How to roof or Roof repair?".to_owned();
        }
        assert_eq!(answer, expect, "{heard}");
    }
    put(home.path(), "Old/Garden.md", "x");
    let twins = chosen(home.path(), "garden");
    assert!(
        twins.contains("Garden in Old/Garden.md") && twins.contains("Garden in Projects/Garden.md"),
        "{twins}"
    );
    let empty = tempfile::tempdir().unwrap();
    assert_eq!(chosen(empty.path(), "x"), "You have no notes yet.");
}

#[test]
fn words_are_searched_in_titles_and_texts() {
    let home = tempfile::tempdir().unwrap();
    vault(home.path());
    for (heard, expect) in [
        ("tomato", &["Garden: Plant tomatoes in April."][..]),
        ("charger", &["Packing list: charger."]),
        ("chargar", &["Packing list: charger."]),
        ("the offer of tom", &["Roof repair: Ask Tom for an offer."]),
        ("tax", &[]),
    ] {
        let found = search(home.path(), heard, 5).unwrap().found;
        let seen: Vec<String> = found
            .iter()
            .map(|(n, place)| format!("{}: {place}", n.title))
            .collect();
        assert_eq!(seen, expect, "{heard}");
    }
}

#[test]
fn foreign_notes_keep_their_bytes() {
    let home = tempfile::tempdir().unwrap();
    let folder = home.path().join("notes");
    vault(&folder);
    let before = crate::testing::files(&folder);
    let step = step(home.path());
    let garden = choose(&list(&folder).unwrap(), "garden").unwrap();
    append(&step, &garden, "Order bulbs.").unwrap();
    assert_eq!(
        fs::read_to_string(&garden.path).unwrap(),
        "---\naliases: [Allotment, \"Beds\"]\n---\nPlant tomatoes in [[April]].\n\nOrder bulbs.\n"
    );
    remove(&step, &garden).unwrap();
    assert!(!garden.path.exists());
    let journal = step.journal().clone();
    drop(step);
    journal.undo(None).unwrap();
    assert_eq!(crate::testing::files(&folder), before);
}

/// The whole size with `TIRO_SCALE=1 cargo nextest run -p tools --no-capture ten_thousand_notes`.
#[test]
fn ten_thousand_notes_are_searched_in_time() {
    let home = tempfile::tempdir().unwrap();
    let count = if std::env::var_os("TIRO_SCALE").is_some() {
        10_000
    } else {
        500
    };
    // A vocabulary with a long tail, as texts have.
    let word = |n: usize| {
        let syllables = ["ka", "lo", "mi", "ne", "ru", "so", "ta", "vi", "zu", "pe"];
        let mut n = n;
        let mut word = String::new();
        for _ in 0..4 {
            word.push_str(syllables[n % 10]);
            n /= 10;
        }
        word
    };
    for n in 0..count {
        let mut text = format!("# Note {}\n\n", word(n % 9000));
        for w in 0..300 {
            text.push_str(&word((n * 7 + w * w) % 10_000));
            text.push(if w % 12 == 11 { '\n' } else { ' ' });
        }
        fs::write(home.path().join(format!("{n}.md")), text).unwrap();
    }
    fs::write(
        home.path().join("one.md"),
        "# Locker\n\nThe combination is blue.\n",
    )
    .unwrap();
    let started = Instant::now();
    let all = list(home.path()).unwrap();
    let listed = started.elapsed();
    let started = Instant::now();
    let found = search(home.path(), "lokker combination", 3).unwrap();
    let searched = started.elapsed();
    let started = Instant::now();
    let again = search(home.path(), "lokker combination", 3).unwrap();
    let warm = started.elapsed();
    assert_eq!(again.found, found.found);
    let started = Instant::now();
    let chosen = choose(&all, "locker").unwrap();
    println!(
        "{} notes: titles {listed:?}, search {searched:?}, again {warm:?}, choose {:?}",
        all.len(),
        started.elapsed()
    );
    assert_eq!((all.len(), chosen.title.as_str()), (count + 1, "Locker"));
    assert!(!found.partial && found.found[0].0.title == "Locker");
}
