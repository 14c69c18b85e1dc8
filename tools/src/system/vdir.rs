//! vdir: a folder of collections, each a folder of small files, one item each, as khal, vdirsyncer and pimsync keep
//! them. <https://vdirsyncer.pimutils.org/en/stable/vdir.html>

use std::path::{Path, PathBuf};

use super::{
    heard, plain,
    store::{self, Bounds, StoreError},
};

/// No real item comes near this; what does is not read.
pub const MAX_FILE: u64 = 10 * 1024 * 1024;
/// As many files as a store may hold; the rest is left out with a warning.
pub const MAX_FILES: usize = 50_000;

/// One collection: a calendar, a list, an address book.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Collection {
    /// What the person calls it: the `displayname` file, else the folder's name.
    pub name: String,
    /// `#rrggbb` from the `color` file.
    pub color: Option<String>,
    /// Its folder.
    pub path: PathBuf,
}

impl Collection {
    /// Whether nothing can be written into it: by its permissions, or those of its disk.
    pub fn is_read_only(&self) -> bool {
        is_read_only(&self.path)
    }
}

/// Whether nothing can be written into a folder that is there.
pub fn is_read_only(folder: &Path) -> bool {
    use rustix::{
        fs::{Access, access},
        io::Errno,
    };
    matches!(
        access(folder, Access::WRITE_OK),
        Err(Errno::ACCESS | Errno::ROFS | Errno::PERM)
    )
}

/// The collections of a store, by folder name. A store that is not there has none.
///
/// # Errors
/// When the store itself cannot be read.
pub fn collections(root: &Path) -> Result<Vec<Collection>, StoreError> {
    let folders = match std::fs::read_dir(root) {
        Ok(folders) => folders,
        Err(e) if e.kind() == std::io::ErrorKind::NotFound => return Ok(Vec::new()),
        Err(e) => return Err(StoreError::of(root, e)),
    };
    let mut paths: Vec<PathBuf> = folders
        .filter_map(Result::ok)
        .take(MAX_FILES)
        .filter(|entry| entry.file_type().is_ok_and(|kind| kind.is_dir()))
        .map(|entry| entry.path())
        .filter(|path| !is_hidden(path))
        .collect();
    paths.sort();
    Ok(paths.into_iter().map(collection).collect())
}

/// The items of a collection with this extension, sorted, and what was left out.
///
/// # Errors
/// When the collection's folder cannot be read.
pub fn items(collection: &Collection, extension: &str) -> Result<store::Found, StoreError> {
    let bounds = Bounds {
        depth: 0,
        entries: MAX_FILES,
        file_links: false,
    };
    let mut found = store::walk(&collection.path, bounds)?;
    found.files.retain(|path| {
        path.extension()
            .is_some_and(|e| e.eq_ignore_ascii_case(extension))
    });
    Ok(found)
}

/// The collection that somebody named, also when it was misheard.
///
/// # Errors
/// What to say when there is none or more than one such.
pub fn choose<'a>(heard: &str, kind: &str, all: &'a [Collection]) -> Result<&'a Collection, String> {
    let wanted = plain::one_line(heard, 60);
    if let Some(exact) = all.iter().find(|c| c.name.eq_ignore_ascii_case(&wanted)) {
        return Ok(exact);
    }
    // "my work calendar" is the one called Work.
    let name = wanted.to_lowercase();
    let name = name.strip_suffix(kind).map_or(name.as_str(), str::trim);
    let found = heard::pick(name, all, |c| vec![(c.name.as_str(), 1.0)]);
    if let (1, Some((_, one))) = (heard::contenders(&found), found.first()) {
        return Ok(one);
    }
    let names: Vec<String> = if found.is_empty() {
        all.iter().map(|c| c.name.clone()).collect()
    } else {
        found.iter().map(|(_, c)| c.name.clone()).collect()
    };
    Err(match (found.is_empty(), names.is_empty()) {
        (true, true) => format!("There is no {kind} yet."),
        (true, false) => format!(
            "There is no {kind} called \"{wanted}\". There is {}.",
            plain::listed(&names, "and")
        ),
        (false, _) => format!("Which {kind}: {}?", plain::listed(&names, "or")),
    })
}

fn collection(path: PathBuf) -> Collection {
    let line = |file: &str| {
        let bytes = store::read_bounded(&path.join(file), 1024).ok()?;
        let text = plain::one_line(&String::from_utf8_lossy(&bytes), 60);
        (!text.is_empty()).then_some(text)
    };
    let folder = path
        .file_name()
        .map_or_else(String::new, |n| n.to_string_lossy().into_owned());
    let hex =
        |c: &String| c.len() <= 9 && c.starts_with('#') && c[1..].chars().all(|d| d.is_ascii_hexdigit());
    Collection {
        name: line("displayname").unwrap_or_else(|| plain::one_line(&folder, 60)),
        color: line("color").filter(hex),
        path,
    }
}

fn is_hidden(path: &Path) -> bool {
    path.file_name()
        .is_some_and(|name| name.as_encoded_bytes().starts_with(b"."))
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    #[test]
    fn collections_have_names_and_colours() {
        let root = tempfile::tempdir().unwrap();
        for folder in ["work", "home", ".git"] {
            fs::create_dir(root.path().join(folder)).unwrap();
        }
        fs::write(root.path().join("home/displayname"), "Family \u{202e}plans\n").unwrap();
        fs::write(root.path().join("home/color"), "#00ff7f\n").unwrap();
        fs::write(root.path().join("work/color"), "red; rm -rf").unwrap();
        fs::write(root.path().join("home/b.ics"), "").unwrap();
        fs::write(root.path().join("home/a.ICS"), "").unwrap();
        fs::write(root.path().join("home/note.txt"), "").unwrap();
        let all = collections(root.path()).unwrap();
        let seen: Vec<_> = all
            .iter()
            .map(|c| (c.name.as_str(), c.color.as_deref()))
            .collect();
        assert_eq!(seen, [("Family plans", Some("#00ff7f")), ("work", None)]);
        assert_eq!(items(&all[0], "ics").unwrap().files.len(), 2);
        assert!(collections(&root.path().join("none")).unwrap().is_empty());
    }

    #[test]
    fn a_name_may_be_misheard_but_not_guessed() {
        let all: Vec<Collection> = ["Work", "Family", "Family trips"]
            .map(|name| Collection {
                name: name.into(),
                color: None,
                path: PathBuf::new(),
            })
            .into();
        assert_eq!(choose("work", "calendar", &all).unwrap().name, "Work");
        assert_eq!(
            choose("my wurk calendar", "calendar", &all[..1]).map(|c| c.name.as_str()),
            Ok("Work")
        );
        assert_eq!(choose("family", "calendar", &all).unwrap().name, "Family");
        assert_eq!(
            choose("garden", "calendar", &all).unwrap_err(),
            "There is no calendar called \"garden\". There is Work, Family and Family trips."
        );
        assert_eq!(
            choose("garden", "list", &[]).unwrap_err(),
            "There is no list yet."
        );
    }
}
