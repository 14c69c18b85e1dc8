//! The person's own music: found by the names of files and folders (`Artist/Album/01 - Title.flac`), played with mpv.

mod elsewhere;

use std::path::{Path, PathBuf};

use super::{Desk, child, players::Players};
use crate::{
    contract::{Dirs, ToolError},
    system::{
        heard::{self, HEARD},
        plain, store,
    },
};
pub use elsewhere::play_on;

/// Most pieces that are given to the player at once.
const MAX_PLAYED: usize = 500;
const BOUNDS: store::Bounds = store::Bounds {
    depth: 8,
    entries: 100_000,
    file_links: true,
};
const KINDS: [&str; 11] = [
    "mp3", "flac", "ogg", "oga", "opus", "m4a", "aac", "wav", "wma", "aiff", "ape",
];
/// By this the player is known for ours, so that it can be ended when other music begins.
const OURS: &str = "--title=Tiro";

/// A piece of music.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Piece {
    /// Where it is.
    pub path: PathBuf,
    title: String,
    /// The whole name of the file.
    stem: String,
    album: String,
    artist: String,
}

/// What was meant.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Selection {
    /// As it is called: "Kind of Blue by Miles Davis".
    pub name: String,
    /// In the order in which they are played.
    pub pieces: Vec<PathBuf>,
}

/// The pieces in the music folder, by folder and name. Blocks.
///
/// # Errors
/// When the folder cannot be read.
pub fn library(dirs: &Dirs) -> Result<Vec<Piece>, ToolError> {
    let found = store::walk(&dirs.music, BOUNDS).map_err(|e| e.tool("look through your music"))?;
    let mut pieces: Vec<Piece> = found
        .files
        .into_iter()
        .filter_map(|path| piece(&dirs.music, path))
        .collect();
    pieces.sort_by(|a, b| a.path.cmp(&b.path));
    Ok(pieces)
}

/// What was meant by a name: an artist, an album or a piece; everything by "music".
///
/// # Errors
/// `Tell` when nothing fits, or several things equally well.
pub fn select(query: &str, pieces: &[Piece]) -> Result<Selection, ToolError> {
    if pieces.is_empty() {
        return Err(ToolError::tell("There is no music in your music folder."));
    }
    let asked = bare(query);
    if asked.is_empty() {
        return Ok(Selection {
            name: "your music".to_owned(),
            pieces: pieces.iter().map(|piece| piece.path.clone()).collect(),
        });
    }
    let groups = groups(pieces);
    let mut found = heard::pick(&asked, &groups, |group| {
        vec![(&group.name, 1.0), (&group.also, 0.99)]
    });
    if found.is_empty() {
        // "blue in green by miles davis" names two things at once.
        found = heard::pick(&asked, &groups, |group| vec![(&group.whole, 1.0)]);
    }
    let best = found.first().map_or(0.0, |(likeness, _)| *likeness);
    if best < HEARD {
        return Err(ToolError::tell(format!(
            "I found no music called \"{}\" in your music folder.",
            plain::one_line(query, 60)
        )));
    }
    // What is called just so is meant, however many others have the word in their names.
    let exact = found
        .iter()
        .take_while(|(likeness, _)| *likeness >= 0.999)
        .count();
    let several = &found[..if exact > 0 {
        exact
    } else {
        heard::contenders(&found)
    }];
    // An artist is more than one of their albums, and that more than a piece of the same name.
    let kind = several.iter().map(|(_, group)| group.kind).min();
    let several: Vec<&Group> = several
        .iter()
        .map(|(_, group)| *group)
        .filter(|group| Some(group.kind) == kind)
        .collect();
    match several[..] {
        [one] => Ok(Selection {
            name: one.called(),
            pieces: one.pieces.iter().map(|at| pieces[*at].path.clone()).collect(),
        }),
        _ => {
            let names: Vec<String> = several.iter().take(5).map(|group| group.called()).collect();
            Err(ToolError::TellOthers(format!(
                "Which do you mean: {}?",
                plain::listed(&names, "or")
            )))
        }
    }
}

/// Whether this means no music in particular: "some music".
pub fn is_any(query: &str) -> bool {
    bare(query).is_empty()
}

/// Plays pieces from now on, in place of what played before. The player is a process of its own session, so it outlives
/// who started it, and is reaped when it ends.
///
/// # Errors
/// `Tell` when mpv is not there or ends at once.
pub async fn play(desk: &Desk, pieces: &[PathBuf], shuffle: bool) -> Result<(), ToolError> {
    let mpv = desk
        .program("mpv")
        .ok_or_else(|| ToolError::tell("To play your own music I need mpv, which is not installed."))?;
    make_room(desk).await;
    let mut arguments = vec!["--no-video", "--no-terminal", "--force-window=no", OURS];
    if shuffle {
        arguments.push("--shuffle");
    }
    // Whatever a file is called, it is no option.
    arguments.push("--");
    let mut command = match desk.program("setsid") {
        Some(setsid) => {
            let mut command = child::command(desk, &setsid, &[]);
            command.arg(&mpv);
            command
        }
        None => {
            let mut command = child::command(desk, &mpv, &[]);
            command.process_group(0);
            command
        }
    };
    command
        .args(arguments)
        .args(pieces.iter().take(MAX_PLAYED))
        .stdout(std::process::Stdio::null())
        .stderr(std::process::Stdio::null());
    let failed = |why: String| ToolError::tell(format!("mpv did not start: {why}."));
    let mut child = command.spawn().map_err(|e| failed(e.to_string()))?;
    match tokio::time::timeout(super::super::apps::SETTLE, child.wait()).await {
        Ok(Ok(status)) if !status.success() => Err(failed(format!("it ended at once ({status})"))),
        Ok(Ok(_)) => Ok(()),
        Ok(Err(error)) => Err(failed(error.to_string())),
        Err(_) => {
            tokio::spawn(async move { child.wait().await });
            Ok(())
        }
    }
}

/// Whether [`play`] has what it needs.
pub fn has_player(desk: &Desk) -> bool {
    desk.program("mpv").is_some()
}

/// What there is, for `tiro doctor`.
pub async fn describe(desk: &Desk, dirs: &Dirs) -> Result<String, ToolError> {
    if !has_player(desk) {
        return Err(ToolError::tell(
            "mpv is not installed, so I play your own music only on a player that is open and takes files.",
        ));
    }
    let dirs = dirs.clone();
    let found = tokio::task::spawn_blocking(move || library(&dirs).map(|pieces| pieces.len())).await;
    let count = found.map_err(|e| ToolError::broken("look through your music", e))??;
    let one = if count == 1 { "piece" } else { "pieces" };
    Ok(format!(
        "{count} {one}, played with mpv; mpv-mpris lets them be paused."
    ))
}

/// Ends the player that we started before and pauses all others: two pieces at once are no music.
async fn make_room(desk: &Desk) {
    let Ok(players) = Players::here(desk).await else {
        return;
    };
    for player in &players.all {
        let own = match player.is("mpv") {
            true => players
                .process(player)
                .await
                .is_some_and(|pid| is_ours(desk, pid)),
            false => false,
        };
        if own {
            players.quit(player).await;
        } else if player.status == super::players::Status::Playing
            && let Err(error) = players.tell(player, "Pause").await
        {
            tracing::debug!(%error, "a player goes on");
        }
    }
}

fn is_ours(desk: &Desk, pid: u32) -> bool {
    let line = desk.root.join("proc").join(pid.to_string()).join("cmdline");
    store::read_bounded(&line, 4 << 20)
        .is_ok_and(|line| line.split(|b| *b == 0).any(|arg| arg == OURS.as_bytes()))
}

/// Things that music is called by.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
enum Kind {
    Artist,
    Album,
    Piece,
}

struct Group {
    kind: Kind,
    name: String,
    by: String,
    /// Another name of it.
    also: String,
    /// Name and maker together.
    whole: String,
    pieces: Vec<usize>,
}

impl Group {
    fn called(&self) -> String {
        match self.by.is_empty() {
            true => self.name.clone(),
            false => format!("{} by {}", self.name, self.by),
        }
    }
}

fn groups(pieces: &[Piece]) -> Vec<Group> {
    let mut groups: Vec<Group> = Vec::new();
    let mut known = std::collections::HashMap::new();
    let mut add = |kind: Kind, name: &str, also: &str, by: &str, at: usize| {
        if name.is_empty() {
            return;
        }
        let key = (kind, name.to_lowercase(), by.to_lowercase());
        let index = *known.entry(key).or_insert_with(|| {
            groups.push(Group {
                kind,
                name: name.to_owned(),
                by: by.to_owned(),
                also: also.to_owned(),
                whole: format!("{name} {by}"),
                pieces: Vec::new(),
            });
            groups.len() - 1
        });
        groups[index].pieces.push(at);
    };
    for (at, piece) in pieces.iter().enumerate() {
        add(Kind::Artist, &piece.artist, "", "", at);
        add(Kind::Album, &piece.album, "", &piece.artist, at);
        add(Kind::Piece, &piece.title, &piece.stem, &piece.artist, at);
    }
    groups
}

/// `None` for what is no music, and for names that would not survive being shown.
fn piece(root: &Path, path: PathBuf) -> Option<Piece> {
    let kind = path.extension()?.to_str()?.to_lowercase();
    if !KINDS.contains(&kind.as_str()) {
        return None;
    }
    let below = path.strip_prefix(root).ok()?;
    let folders: Vec<String> = below
        .parent()?
        .iter()
        .map(|part| plain::one_line(&part.to_string_lossy(), 80))
        .collect();
    let stem = plain::one_line(&path.file_stem()?.to_string_lossy(), 120);
    let title = numberless(&stem);
    let (mut artist, album) = match &folders[..] {
        [] => (String::new(), String::new()),
        [only] => (only.clone(), String::new()),
        [.., artist, album] => (artist.clone(), album.clone()),
    };
    let mut title = title.to_owned();
    if let Some((by, name)) = title.clone().split_once(" - ") {
        // Files that lie about by themselves carry both in their names.
        if artist.is_empty() {
            artist = by.trim().to_owned();
            title = name.trim().to_owned();
        } else if by.trim().eq_ignore_ascii_case(&artist) {
            title = name.trim().to_owned();
        }
    }
    Some(Piece {
        path,
        title,
        stem,
        album,
        artist,
    })
}

/// A name without the number of the track: "01 - So What", "1-03. So What".
fn numberless(stem: &str) -> &str {
    let rest = stem.trim_start_matches(|c: char| c.is_ascii_digit() || c == '-');
    let digits = stem.len() - rest.len();
    let after = rest.trim_start_matches(['.', ' ', '_', '-', ')']);
    match digits > 0 && digits <= 5 && after.len() < rest.len() && !after.is_empty() {
        true => after,
        false => stem,
    }
}

/// What is left of "some music by Miles Davis please".
fn bare(query: &str) -> String {
    const FILLING: [&str; 22] = [
        "some",
        "any",
        "the",
        "a",
        "my",
        "me",
        "music",
        "song",
        "songs",
        "album",
        "track",
        "tracks",
        "record",
        "piece",
        "called",
        "named",
        "please",
        "by",
        "from",
        "of",
        "something",
        "tunes",
    ];
    let query = plain::one_line(query, 120).to_lowercase();
    let words: Vec<&str> = query
        .split_whitespace()
        .map(|word| word.trim_matches(|c: char| !c.is_alphanumeric()))
        .filter(|word| !word.is_empty())
        .collect();
    let telling = words.iter().filter(|word| !FILLING.contains(word)).count();
    // "Something" by the Beatles is not nothing, but "play something" is.
    let kept = words
        .iter()
        .filter(|word| !FILLING.contains(word) || telling == 0 && words.len() > 3);
    kept.copied().collect::<Vec<_>>().join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn library() -> Vec<Piece> {
        [
            "Miles Davis/Kind of Blue/01 - So What.flac",
            "Miles Davis/Kind of Blue/03 - Blue in Green.flac",
            "Miles Davis/Sketches of Spain/1-01. Concierto de Aranjuez.ogg",
            "Joni Mitchell/Blue/02 My Old Man.mp3",
            "Nina Simone - Feeling Good.mp3",
            "Queen/Radio Ga Ga.opus",
            "99 Luftballons.mp3",
            "cover.jpg",
        ]
        .into_iter()
        .filter_map(|path| piece(Path::new("/music"), Path::new("/music").join(path)))
        .collect()
    }

    #[track_caller]
    fn check(query: &str, expect: Result<(&str, usize), &str>) {
        let found = select(query, &library());
        match expect {
            Ok((name, count)) => {
                let found = found.unwrap();
                assert_eq!(
                    (found.name.as_str(), found.pieces.len()),
                    (name, count),
                    "{query}"
                );
            }
            Err(part) => {
                let told = found.unwrap_err().to_string();
                assert!(told.contains(part), "{query}: {told}");
            }
        }
    }

    #[test]
    fn music_is_found_by_any_of_its_names() {
        check("some miles davis", Ok(("Miles Davis", 3)));
        check("music by Myles Davies", Ok(("Miles Davis", 3)));
        check("the album kind of blue", Ok(("Kind of Blue by Miles Davis", 2)));
        check("so what", Ok(("So What by Miles Davis", 1)));
        check(
            "blue in green by miles davis",
            Ok(("Blue in Green by Miles Davis", 1)),
        );
        check("feeling good", Ok(("Feeling Good by Nina Simone", 1)));
        check("radio gaga", Ok(("Radio Ga Ga by Queen", 1)));
        check("ninety nine luftballons", Err("no music called"));
        check("99 luftballons", Ok(("Luftballons", 1)));
        check("blue", Ok(("Blue by Joni Mitchell", 1)));
        check("some music", Ok(("your music", 7)));
        check("", Ok(("your music", 7)));
        check("wagner", Err("no music called \"wagner\""));
    }

    #[test]
    fn an_empty_folder_is_said() {
        assert!(
            select("x", &[])
                .unwrap_err()
                .to_string()
                .contains("no music in your music folder")
        );
    }

    #[test]
    fn numbers_of_tracks_are_no_titles() {
        for (stem, expect) in [
            ("01 - So What", "So What"),
            ("1-03. So What", "So What"),
            ("02_So What", "So What"),
            ("99 Luftballons", "Luftballons"),
            ("1999", "1999"),
            ("7", "7"),
            ("", ""),
        ] {
            assert_eq!(numberless(stem), expect, "{stem}");
        }
    }
}
