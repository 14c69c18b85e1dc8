//! Which file or folder was meant: by its path, by its name as said or misheard, with the kind and the folder that were
//! said along.

use std::{
    path::{Path, PathBuf},
    time::{Duration, Instant},
};

use super::{Item, Kind, below, item, list, roots, secret, spoken};
use crate::{
    contract::{Dirs, ToolError},
    discover::words,
    system::{
        heard::{Ear, HEARD, Names, TOO_CLOSE},
        plain,
    },
};

/// Most candidates that a question names.
const MAX_ASKED: usize = 5;
/// Longest name that is looked for, in characters.
const MAX_SAID: usize = 400;
/// How long names are compared by sound, which costs far more than by letters.
const LISTEN: Duration = Duration::from_secs(2);

/// What can be meant.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Want {
    /// A file.
    File,
    /// A folder, the roots among them.
    Folder,
    /// Either.
    Any,
}

impl Want {
    fn takes(self, item: &Item) -> bool {
        match self {
            Want::File => !item.is_folder,
            Want::Folder => item.is_folder,
            Want::Any => true,
        }
    }

    fn word(self) -> &'static str {
        match self {
            Want::File | Want::Any => "file",
            Want::Folder => "folder",
        }
    }
}

/// The one that is meant.
///
/// # Errors
/// `Tell`: nothing was said, it is outside of the folders, there is none; `TellOthers`, which names files: several fit.
pub fn meant(dirs: &Dirs, said: &str, want: Want) -> Result<Item, ToolError> {
    let text = plain::one_line(said, MAX_SAID);
    if text.is_empty() {
        return Err(ToolError::tell(format!("Which {}? Say its name.", want.word())));
    }
    if let Some(item) = by_path(dirs, &text)? {
        return match want.takes(&item) {
            true => Ok(item),
            false => Err(ToolError::tell(format!(
                "{} is no {}.",
                plain::one_line(&item.name, 80),
                want.word()
            ))),
        };
    }
    let listing = list(dirs)?;
    let wanted = Wanted::of(&text, want);
    let candidates: Vec<&Item> = listing.items.iter().filter(|item| want.takes(item)).collect();
    let found = wanted.among(&candidates);
    match found[..] {
        [one] => Ok(one.clone()),
        [] => {
            let unfinished = if listing.partial {
                " I did not get through all of them."
            } else {
                ""
            };
            Err(ToolError::tell(format!(
                "I found no {} called \"{}\".{unfinished}",
                want.word(),
                plain::one_line(&text, 80)
            )))
        }
        ref several => {
            let names: Vec<String> = several.iter().take(MAX_ASKED).map(|item| spoken(item)).collect();
            let more = if several.len() > MAX_ASKED {
                ", among others"
            } else {
                ""
            };
            Err(ToolError::TellOthers(format!(
                "Which {}: {}{more}?",
                want.word(),
                plain::listed(&names, "or")
            )))
        }
    }
}

/// What a name is worth that was found only together with the folders that it is in.
const BY_PATH: f64 = 0.99;

/// Items whose name, with or without its ending, is like what was heard, by their place among them, the likest first;
/// folders may be named along with it ("hamburg itinerary"). It is not looked at them all where they are very many.
///
/// Why this is no fuzzy finder: nucleo-matcher 0.3.1 was measured beside it over 10,000 file names of two to four words, 59 of
/// which were asked for as they were said and as a real recogniser heard them (the worst recordings of slurp). Said right,
/// nucleo ranks the file first for 85 % and this for 92 %; misheard, 14 % and 24 %, and it has the file at all for 17 % and
/// 56 %: letters that are others, not letters that are left out, are what a recogniser gets wrong. It takes 0.6 ms instead of
/// 18 (release build), which nobody notices, and its licence is MPL (deny.toml).
pub fn alike<'a>(items: impl Iterator<Item = &'a Item>, said: &str) -> Vec<(f64, usize)> {
    let ears = [Ear::new(said), Ear::to_the_word(said)];
    let each: Vec<Ear> = telling(said).iter().map(|word| Ear::new(word)).collect();
    let spoken = words::split(said);
    let mut names = Names::default();
    let mut listen = |name: &str| {
        let name = names.name(name);
        let heard = ears.iter().map(|ear| ear.likeness_of(&name));
        heard.fold(0.0, f64::max)
    };
    let started = Instant::now();
    let mut found: Vec<(f64, usize)> = items
        .take_while(|_| started.elapsed() < LISTEN)
        .map(|item| {
            let (stem, ending) = item.name.rsplit_once('.').unwrap_or((&item.name, ""));
            let mut likeness = listen(stem);
            // Few say the ending, so few have to wait for it.
            if spoken.contains(&ending.to_lowercase()) || stem.is_empty() {
                likeness = likeness.max(listen(&item.name));
            }
            if likeness >= HEARD || each.len() < 2 || item.folder.is_empty() {
                return likeness;
            }
            // Else a folder's name alone would find all that is in it.
            let path = listen(&format!("{} {stem}", item.folder)) * BY_PATH;
            let named = path >= HEARD && each.iter().any(|word| word.likeness(stem) >= HEARD);
            if named { likeness.max(path) } else { likeness }
        })
        .enumerate()
        .map(|(at, likeness)| (likeness, at))
        .filter(|(likeness, _)| *likeness >= HEARD)
        .collect();
    found.sort_by(|a, b| b.0.total_cmp(&a.0));
    found
}

/// What has the path that was said: an absolute one, one from the home folder, or one from a root.
///
/// # Errors
/// `Tell` for one that leads out of the roots, by whatever way, and for what is hidden or secret.
fn by_path(dirs: &Dirs, said: &str) -> Result<Option<Item>, ToolError> {
    let roots = roots(dirs)?;
    let home = std::env::home_dir();
    let full = match (said.strip_prefix("~/"), home) {
        (Some(rest), Some(home)) => home.join(rest),
        _ => PathBuf::from(said),
    };
    let outside = || {
        let names: Vec<String> = roots.iter().map(|root| root.name.clone()).collect();
        ToolError::tell(format!(
            "That is outside of the folders that I may use: {}.",
            plain::listed(&names, "and")
        ))
    };
    let rooted = full.is_absolute() || said.starts_with('~');
    let Some(full) = below::tidy(&full) else {
        return Err(outside());
    };
    for root in &roots {
        // "Documents/report.txt" and "report.txt" are both below Documents.
        let shown = Path::new(&root.name);
        let below = match rooted {
            true => full.strip_prefix(&root.path).ok().map(Path::to_owned),
            false if full == shown => Some(PathBuf::new()),
            false => full.strip_prefix(shown).ok().map(Path::to_owned),
        };
        // A bare name is looked for everywhere, since several may have it.
        let ways = [below, (!rooted && said.contains('/')).then(|| full.clone())];
        for below in ways.into_iter().flatten() {
            // Without its parts put together anew, a path to the root itself would end in a slash.
            let path = match below.as_os_str().is_empty() {
                true => root.path.clone(),
                false => root.path.join(&below),
            };
            let Ok(meta) = path.symlink_metadata() else {
                continue;
            };
            if !below::is_straight(&path).unwrap_or(false) {
                return Err(outside());
            }
            if secret::is_secret(&below) {
                return Err(ToolError::tell(
                    "That is hidden, or holds keys or passwords, so I leave it alone.",
                ));
            }
            return match item(root, &below, &meta) {
                Some(item) => Ok(Some(item)),
                None => Err(ToolError::tell("That is neither a file nor a folder.")),
            };
        }
    }
    match rooted && !roots.iter().any(|root| full.starts_with(&root.path)) {
        // A link on the way of the config's own path is no way out of it.
        true if dirs.files.iter().any(|folder| full.starts_with(folder)) => {
            let again = dirs.files.iter().find_map(|folder| {
                let below = full.strip_prefix(folder).ok()?;
                Some(folder.canonicalize().ok()?.join(below))
            });
            match again.filter(|again| *again != full) {
                Some(again) => by_path(dirs, &again.to_string_lossy()),
                None => Ok(None),
            }
        }
        true => Err(outside()),
        false => Ok(None),
    }
}

/// The words that tell names apart; all of them where there are no others.
fn telling(said: &str) -> Vec<String> {
    let mut words = words::split(said);
    if words.iter().any(|word| !words::is_stop_word(word)) {
        words.retain(|word| !words::is_stop_word(word));
    }
    words
}

/// What was said of a file: its name, the kind, the folder.
struct Wanted {
    /// The name in small letters, without the words around it.
    name: String,
    /// Its words.
    words: Vec<String>,
    kind: Option<Kind>,
    /// Where it is said to be.
    folder: Option<String>,
}

impl Wanted {
    fn of(said: &str, want: Want) -> Wanted {
        let said = said.to_lowercase().replace(" dot ", ".").replace(" slash ", "/");
        // "the budget in the Hamburg folder": what stands behind is where to look.
        let (said, folder) = match said.split_once(" in the ").or_else(|| said.split_once(" in my ")) {
            Some((name, folder)) if want != Want::Folder => {
                let folder = folder.trim_end_matches(" folder").trim_end_matches(" directory");
                (name.to_owned(), Some(folder.trim().to_owned()))
            }
            _ => (said, None),
        };
        let mut words: Vec<&str> = said.split_whitespace().collect();
        const BEFORE: [&str; 13] = [
            "my", "the", "that", "this", "a", "an", "file", "called", "named", "for", "about", "of", "with",
        ];
        let mut kind = None;
        loop {
            match words[..] {
                [first, _, ..] if BEFORE.contains(&first) => drop(words.remove(0)),
                [.., _, "file" | "files"] => drop(words.pop()),
                [.., _, last] if kind.is_none() && Kind::said(last).is_some() => {
                    kind = Kind::said(last);
                    words.pop();
                }
                [first, _, ..] if kind.is_none() && Kind::said(first).is_some() => {
                    kind = Kind::said(first);
                    words.remove(0);
                }
                _ => break,
            }
        }
        let name = words.join(" ").trim_end_matches(['.', '!', '?']).to_owned();
        Wanted {
            words: telling(&name),
            name,
            kind,
            folder,
        }
    }

    /// Those that fit best: by their whole name, by their name without its ending, by all words, by all words with those of
    /// their folders, by sound. The kind and the folder narrow them down where they can.
    fn among<'a>(&self, items: &[&'a Item]) -> Vec<&'a Item> {
        let lower = |item: &Item| item.name.to_lowercase();
        let label = |item: &Item| item.label().to_lowercase();
        let stem = |item: &Item| {
            let name = lower(item);
            name.rsplit_once('.')
                .map_or(name.clone(), |(stem, _)| stem.to_owned())
        };
        let exact: Vec<&Item> = items
            .iter()
            .filter(|item| lower(item) == self.name || label(item).ends_with(&format!("/{}", self.name)))
            .copied()
            .collect();
        let named = |known: &dyn Fn(&Item) -> bool| -> Vec<&'a Item> {
            items.iter().filter(|item| known(item)).copied().collect()
        };
        let steps: [&dyn Fn() -> Vec<&'a Item>; 5] = [
            &|| exact.clone(),
            &|| named(&|item| words::split(&stem(item)).join(" ") == words::split(&self.name).join(" ")),
            &|| {
                named(&|item| {
                    let there = words::split(&item.name);
                    !self.words.is_empty() && self.words.iter().all(|word| there.contains(word))
                })
            },
            &|| {
                named(&|item| {
                    let (name, folder) = (words::split(&item.name), words::split(&item.folder));
                    // At least one of them must be its own.
                    self.words.iter().any(|word| name.contains(word))
                        && self
                            .words
                            .iter()
                            .all(|word| name.contains(word) || folder.contains(word))
                })
            },
            &|| self.by_sound(items),
        ];
        for step in steps {
            let found = self.narrowed(step());
            if !found.is_empty() {
                return found;
            }
        }
        Vec::new()
    }

    fn by_sound<'a>(&self, items: &[&'a Item]) -> Vec<&'a Item> {
        let found = alike(items.iter().copied(), &self.name);
        let best = found.first().map_or(0.0, |found| found.0);
        let close = found.iter().take_while(|found| best - found.0 < TOO_CLOSE);
        close.map(|found| items[found.1]).collect()
    }

    fn narrowed<'a>(&self, mut found: Vec<&'a Item>) -> Vec<&'a Item> {
        let mut keep = |fits: &dyn Fn(&Item) -> bool| {
            let some: Vec<&Item> = found.iter().filter(|item| fits(item)).copied().collect();
            if !some.is_empty() {
                found = some;
            }
        };
        if let Some(kind) = self.kind {
            keep(&|item| kind.takes(item.kind()));
        }
        if let Some(folder) = &self.folder {
            let ear = Ear::new(folder);
            keep(&|item| item.folder.split('/').any(|part| ear.likeness(part) >= HEARD));
        }
        found
    }
}
