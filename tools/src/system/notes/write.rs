//! Notes as they are changed: made, added to, removed; each through the journal.

use std::path::{Path, PathBuf};

use super::{MAX_NOTE, MAX_TITLE, Note};
use crate::{
    contract::ToolError,
    system::{
        journal::{JournalError, Step},
        plain,
        store::{self, StoreError},
    },
};

/// Longest file name without its number and extension, in bytes; file systems end at 255.
const MAX_NAME: usize = 80;
/// Notes of one name before giving up.
const MAX_SAME: usize = 1000;

/// Writes a new note and returns its file. Never overwrites: the second note of a name gets `-2`.
///
/// # Errors
/// `Tell` for an empty or oversized note and for a folder that takes no files.
pub fn create(step: &Step, folder: &Path, title: Option<&str>, text: &str) -> Result<PathBuf, ToolError> {
    let text = plain::lines(text);
    let text = text.trim();
    let title = title
        .map(|t| plain::one_line(t, MAX_TITLE))
        .filter(|t| !t.is_empty());
    if text.is_empty() && title.is_none() {
        return Err(ToolError::tell("The note is empty. Say what it should hold."));
    }
    if text.len() > MAX_NOTE {
        return Err(ToolError::tell("The note is too long. Split it into several."));
    }
    let name = file_name(title.as_deref().unwrap_or(text));
    let content = match &title {
        Some(title) if text.is_empty() => format!("# {title}\n"),
        Some(title) => format!("# {title}\n\n{text}\n"),
        None => format!("{text}\n"),
    };
    let what = "save the note";
    store::make_folder(folder).map_err(|e| e.tool(what))?;
    for number in 1..=MAX_SAME {
        let path = match number {
            1 => folder.join(format!("{name}.md")),
            n => folder.join(format!("{name}-{n}.md")),
        };
        match step.create(&path, content.as_bytes()) {
            Ok(()) => return Ok(path),
            Err(JournalError::Store(StoreError::Exists(_))) => {}
            Err(error) => return Err(error.tool(what)),
        }
    }
    Err(ToolError::tell(
        "There are too many notes of that name. Choose another title.",
    ))
}

/// Adds to the end of a note: as one more item where it ends with a list, else as a paragraph of its own.
///
/// # Errors
/// `Tell` when there is nothing to add or the note would grow too long; what [`Step::edit`] says.
pub fn append(step: &Step, note: &Note, text: &str) -> Result<(), ToolError> {
    let text = plain::lines(text);
    let text = text.trim();
    if text.is_empty() {
        return Err(ToolError::tell("Say what to add to the note."));
    }
    step.edit(&note.path, "add to the note", |before| {
        let after = appended(before, text);
        if after.len() > MAX_NOTE {
            return Err(ToolError::tell(format!(
                "The note \"{}\" is too long to add to. Make a new one.",
                note.title
            )));
        }
        Ok(after)
    })
}

/// Removes a note; the journal keeps it.
///
/// # Errors
/// When it is larger than what is kept, was changed meanwhile, or the folder takes no writes.
pub fn remove(step: &Step, note: &Note) -> Result<(), ToolError> {
    let what = "delete the note";
    let before = store::read_bounded(&note.path, store::MAX_GUARDED).map_err(|e| e.tool(what))?;
    step.remove(&note.path, &before).map_err(|e| e.tool(what))
}

fn appended(before: &[u8], text: &str) -> Vec<u8> {
    let crlf = before.windows(2).any(|pair| pair == b"\r\n");
    let end: &[u8] = if crlf { b"\r\n" } else { b"\n" };
    let mut after = before.to_vec();
    let written = String::from_utf8_lossy(before);
    let last = written.lines().rev().find(|line| !line.trim().is_empty());
    let list = last.and_then(item_marker);
    if !after.is_empty() && !after.ends_with(b"\n") {
        after.extend(end);
    }
    let ends_blank = written
        .lines()
        .next_back()
        .is_none_or(|line| line.trim().is_empty());
    if list.is_none() && !ends_blank {
        after.extend(end);
    }
    let mut marker = list.unwrap_or_default();
    for line in text.lines() {
        let line = format!("{marker}{line}");
        after.extend(line.as_bytes());
        after.extend(end);
        if !marker.is_empty() {
            marker = item_marker(&line).unwrap_or_default();
        }
    }
    after
}

/// How an item like this one begins: `- `, `* `, `- [ ] `, `4. ` after `3. `.
fn item_marker(line: &str) -> Option<String> {
    let indent = &line[..line.len() - line.trim_start().len()];
    let item = line.trim_start();
    for bullet in ["- ", "* ", "+ "] {
        if let Some(rest) = item.strip_prefix(bullet) {
            let task = ["[ ] ", "[x] ", "[X] "].iter().any(|t| rest.starts_with(t));
            return Some(format!("{indent}{bullet}{}", if task { "[ ] " } else { "" }));
        }
    }
    let (number, _) = item.split_once(". ")?;
    let number: u32 = number.parse().ok()?;
    Some(format!("{indent}{}. ", number.checked_add(1)?))
}

/// Letters and digits of the first words, joined by hyphens: nothing in it can leave the folder, hide the file or
/// mean something to a shell.
pub(in crate::system) fn file_name(text: &str) -> String {
    let mut name = String::new();
    let words = text
        .split(|c: char| !c.is_alphanumeric())
        .filter(|w| !w.is_empty());
    for word in words.take(8) {
        let word = word.to_lowercase();
        if name.is_empty() {
            name.push_str(&word[..word.floor_char_boundary(MAX_NAME)]);
        } else if name.len() + word.len() < MAX_NAME {
            name.push('-');
            name.push_str(&word);
        } else {
            break;
        }
    }
    if name.is_empty() { "note".to_owned() } else { name }
}

#[cfg(test)]
mod tests {
    use std::fs;

    use crate::testing::step;

    use proptest::prelude::*;

    use super::*;

    #[track_caller]
    fn check(title: Option<&str>, text: &str, name: &str, content: &str) {
        let home = tempfile::tempdir().unwrap();
        let folder = home.path().join("notes");
        let path = create(&step(home.path()), &folder, title, text).unwrap();
        assert_eq!(path, folder.join(name));
        assert_eq!(fs::read_to_string(path).unwrap(), content);
    }

    #[test]
    fn a_note_is_a_markdown_file() {
        check(
            Some("Shopping List"),
            "milk\neggs",
            "shopping-list.md",
            "# Shopping List\n\nmilk\neggs\n",
        );
        check(
            None,
            "The plumber comes on Tuesday.",
            "the-plumber-comes-on-tuesday.md",
            "The plumber comes on Tuesday.\n",
        );
        check(
            Some("Ideen für später"),
            "",
            "ideen-für-später.md",
            "# Ideen für später\n",
        );
    }

    #[test]
    fn hostile_titles_stay_in_the_folder() {
        check(
            Some("../../etc/passwd"),
            "x",
            "etc-passwd.md",
            "# ../../etc/passwd\n\nx\n",
        );
        check(Some("/"), "x", "note.md", "# /\n\nx\n");
        check(
            Some(".bashrc\0\n$(rm)"),
            "x\0\u{202e}y",
            "bashrc-rm.md",
            "# .bashrc $(rm)\n\nxy\n",
        );
        check(None, "...", "note.md", "...\n");
    }

    #[test]
    fn a_name_that_is_taken_gets_a_number() {
        let home = tempfile::tempdir().unwrap();
        for expect in ["a.md", "a-2.md", "a-3.md"] {
            let path = create(&step(home.path()), home.path(), Some("A"), expect).unwrap();
            assert_eq!(path.file_name().unwrap(), expect);
            assert!(fs::read_to_string(&path).unwrap().contains(expect));
        }
    }

    #[test]
    fn nothing_and_too_much_are_refused() {
        let home = tempfile::tempdir().unwrap();
        for (title, text) in [
            (None, " \n"),
            (Some(" "), ""),
            (None, "x".repeat(MAX_NOTE + 1).as_str()),
        ] {
            assert!(matches!(
                create(&step(home.path()), home.path(), title, text),
                Err(ToolError::Tell(_))
            ));
        }
        assert_eq!(fs::read_dir(home.path()).unwrap().count(), 0);
    }

    #[test]
    fn a_folder_that_takes_nothing_is_told() {
        let home = tempfile::tempdir().unwrap();
        let file = home.path().join("file");
        fs::write(&file, "").unwrap();
        assert!(create(&step(home.path()), &file, None, "x").is_err());
        assert!(create(&step(home.path()), &file.join("below"), None, "x").is_err());
        assert_eq!(fs::read(&file).unwrap(), b"");
    }

    #[test]
    fn what_is_added_goes_on_as_the_note_ends() {
        #[track_caller]
        fn check(before: &str, text: &str, expect: &str) {
            assert_eq!(
                String::from_utf8(appended(before.as_bytes(), text)).unwrap(),
                expect
            );
        }
        check("", "a", "a\n");
        check("# T\n", "a", "# T\n\na\n");
        check("# T\n\nend", "a\nb", "# T\n\nend\n\na\nb\n");
        check("- milk\n", "eggs\nbread", "- milk\n- eggs\n- bread\n");
        check("  * milk", "eggs", "  * milk\n  * eggs\n");
        check("- [x] done\n", "next", "- [x] done\n- [ ] next\n");
        check("3. three\n", "four\nfive", "3. three\n4. four\n5. five\n");
        check("a\r\n", "b", "a\r\n\r\nb\r\n");
        check("a\n\n", "b", "a\n\nb\n");
    }

    proptest! {
        #[test]
        fn what_was_there_stays_in_front(before in proptest::collection::vec(any::<u8>(), 0..200), text in "[a-z\n]{1,60}") {
            let after = appended(&before, &text);
            prop_assert!(after.starts_with(&before) && after.len() > before.len());
        }

        #[test]
        fn names_are_plain(text in ".{0,300}") {
            let name = file_name(&text);
            prop_assert!(!name.is_empty() && name.len() <= MAX_NAME && !name.starts_with('-'));
            prop_assert!(name.chars().all(|c| c.is_alphanumeric() || c == '-' || !c.is_ascii()), "{name}");
        }
    }
}
