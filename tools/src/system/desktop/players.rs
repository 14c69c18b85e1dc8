//! Media players, whichever they are: MPRIS 2.2.

mod volume;

use std::{collections::HashMap, time::Duration};

use futures_util::future::join_all;
use zbus::{OwnedObjectPath, OwnedVariant, Variant};

use super::{
    Desk,
    bus::{At, Bus, On, Properties, Trouble, take},
};
use crate::{
    contract::ToolError,
    system::{heard, plain},
};
pub use volume::Mixer;

const PREFIX: &str = "org.mpris.MediaPlayer2.";
const PATH: &str = "/org/mpris/MediaPlayer2";
const ROOT: &str = "org.mpris.MediaPlayer2";
const PLAYER: &str = "org.mpris.MediaPlayer2.Player";
const TRACKS: &str = "org.mpris.MediaPlayer2.TrackList";
/// Most players that are looked at.
const MAX_PLAYERS: usize = 32;
/// Most tracks of a player's list that are looked at.
const MAX_TRACKS: usize = 1000;

/// How long the bus, and then each player, has to say what players are called: nobody waits long for evidence.
const SOON: Duration = Duration::from_millis(25);

/// What a player does.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
#[expect(missing_docs, reason = "the words of the specification")]
pub enum Status {
    Playing,
    Paused,
    Stopped,
}

/// A piece of music or a film, as its player tells it. Somebody else's words.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Track {
    /// How it is called.
    pub title: String,
    /// Who made it; several with commas between.
    pub artist: String,
    /// What it is part of.
    pub album: String,
    /// In microseconds, where it is known.
    pub length: Option<i64>,
    id: Option<String>,
}

/// A player.
#[derive(Debug, Clone, PartialEq)]
pub struct Player {
    bus: String,
    /// As it calls itself: "Rhythmbox".
    pub name: String,
    desktop: String,
    /// What it does.
    pub status: Status,
    /// What it has loaded.
    pub track: Track,
    /// Whether it plays in random order, where it can.
    pub shuffle: Option<bool>,
    /// "None", "Track" or "Playlist", where it can repeat.
    pub repeat: Option<String>,
    /// Whether it shows its list of tracks.
    pub list: bool,
    /// Whether it plays files that it is given.
    pub opens: bool,
    can: Vec<&'static str>,
}

/// The players that run, over one connection.
pub struct Players {
    bus: Bus,
    desk: Desk,
    /// Playing ones first, then the one used last, then paused ones.
    pub all: Vec<Player>,
    silent: bool,
}

impl Players {
    /// Looks which players run. One that hangs is left out, and holds up no other.
    ///
    /// # Errors
    /// `Tell` where there is no desktop session.
    pub async fn here(desk: &Desk) -> Result<Players, ToolError> {
        let fail = |trouble: Trouble| trouble.tell("The desktop session");
        let bus = Bus::open(desk, On::Session).await.map_err(fail)?;
        let names = running(&bus).await.map_err(fail)?;
        let looks = names.iter().map(|name| look(&bus, name));
        let mut silent = false;
        let mut all = Vec::new();
        for found in join_all(looks).await {
            match found {
                Ok(player) => all.push(player),
                Err(Trouble::Silent) => silent = true,
                Err(trouble) => tracing::debug!(?trouble, "a player was left out"),
            }
        }
        let used = desk.used.lock().map(|used| used.clone()).unwrap_or_default();
        let rank = |player: &Player| {
            let used = used.as_deref() == Some(&*player.bus);
            (
                player.status != Status::Playing,
                !used,
                player.status,
                player.name.clone(),
            )
        };
        all.sort_by_key(rank);
        Ok(Players {
            bus,
            desk: desk.clone(),
            all,
            silent,
        })
    }

    /// The player that is meant: the named one; else the one that plays; else the one used last; else the only or a
    /// paused one.
    ///
    /// # Errors
    /// `Tell` when none runs, none has that name, or several play and none of them was used last.
    pub fn choose(&self, said: Option<&str>) -> Result<&Player, ToolError> {
        if let Some(said) = said.filter(|said| !said.trim().is_empty()) {
            return self.named(said);
        }
        let used = self.desk.used.lock().map(|used| used.clone()).unwrap_or_default();
        match &self.all[..] {
            [] if self.silent => Err(ToolError::tell("The media player does not answer.")),
            [] => Err(ToolError::tell("No media player is running.")),
            [first, second, ..]
                if second.status == Status::Playing && used.as_deref() != Some(&*first.bus) =>
            {
                let names: Vec<String> = self.playing().map(|player| player.name.clone()).collect();
                Err(ToolError::tell(format!(
                    "Which player: {}?",
                    plain::listed(&names, "or")
                )))
            }
            [first, ..] => Ok(first),
        }
    }

    /// Those that play.
    pub fn playing(&self) -> impl Iterator<Item = &Player> {
        self.all.iter().filter(|player| player.status == Status::Playing)
    }

    /// The player of this name, as it was heard.
    ///
    /// # Errors
    /// `Tell` when none or several fit.
    pub fn named(&self, said: &str) -> Result<&Player, ToolError> {
        let found = heard::pick(said, &self.all, |player| {
            vec![
                (&player.name, 1.0),
                (&player.desktop, 0.98),
                (short(&player.bus), 0.98),
            ]
        });
        match (heard::contenders(&found), found.first()) {
            (0, _) | (_, None) => Err(ToolError::tell(match self.all.is_empty() {
                true => "No media player is running.".to_owned(),
                false => {
                    let names: Vec<String> = self
                        .all
                        .iter()
                        .take(5)
                        .map(|player| player.name.clone())
                        .collect();
                    format!(
                        "No media player called \"{}\" is running. There is {}.",
                        plain::one_line(said, 40),
                        plain::listed(&names, "and")
                    )
                }
            })),
            (1, Some((_, player))) => Ok(player),
            (several, Some((_, first))) => {
                let names: Vec<String> = found[..several]
                    .iter()
                    .map(|(_, player)| player.name.clone())
                    .collect();
                match names.iter().all(|name| *name == first.name) {
                    // Windows of one browser: the one that plays comes first.
                    true => Ok(first),
                    false => Err(ToolError::tell(format!(
                        "Which player: {}?",
                        plain::listed(&names, "or")
                    ))),
                }
            }
        }
    }

    /// Tells a player to do something: "Play", "Pause", "Next", "Previous", "Stop".
    ///
    /// # Errors
    /// `Tell` when it cannot, and what it says.
    pub async fn tell(&self, player: &Player, verb: &'static str) -> Result<(), ToolError> {
        self.may(player, verb)?;
        self.done(player, self.bus.call(player.at(PLAYER), verb, &()).await)
    }

    /// Moves within what plays, by so many microseconds.
    ///
    /// # Errors
    /// As [`Players::tell`].
    pub async fn seek(&self, player: &Player, by: i64) -> Result<(), ToolError> {
        self.may(player, "Seek")?;
        self.done(player, self.bus.call(player.at(PLAYER), "Seek", &(by,)).await)
    }

    /// Moves to a place in what plays, in microseconds from its start.
    ///
    /// # Errors
    /// As [`Players::tell`].
    pub async fn go_to(&self, player: &Player, position: i64) -> Result<(), ToolError> {
        self.may(player, "Seek")?;
        let id = player
            .track
            .id
            .as_deref()
            .and_then(|id| OwnedObjectPath::try_from(id).ok());
        let moved = match id {
            Some(id) => {
                self.bus
                    .call(player.at(PLAYER), "SetPosition", &(id, position))
                    .await
            }
            // Players that give tracks no proper name can still be moved from where they are.
            None => match self.position(player).await {
                Some(now) => self.bus.call(player.at(PLAYER), "Seek", &(position - now,)).await,
                None => Err(Trouble::Unknown),
            },
        };
        self.done(player, moved)
    }

    /// Where it is, in microseconds from the start.
    pub async fn position(&self, player: &Player) -> Option<i64> {
        let value: OwnedVariant = self.bus.get(player.at(PLAYER), "Position").await.ok()?;
        number(&value)
    }

    /// Random order on or off.
    ///
    /// # Errors
    /// As [`Players::tell`].
    pub async fn set_shuffle(&self, player: &Player, on: bool) -> Result<(), ToolError> {
        if player.shuffle.is_none() {
            return Err(ToolError::tell(format!("{} cannot shuffle.", player.name)));
        }
        let set = self
            .bus
            .set(player.at(PLAYER), "Shuffle", Variant::from(on))
            .await;
        self.done(player, set)
    }

    /// What is repeated: "None", "Track" or "Playlist".
    ///
    /// # Errors
    /// As [`Players::tell`].
    pub async fn set_repeat(&self, player: &Player, mode: &str) -> Result<(), ToolError> {
        if player.repeat.is_none() {
            return Err(ToolError::tell(format!("{} cannot repeat.", player.name)));
        }
        let set = self
            .bus
            .set(player.at(PLAYER), "LoopStatus", Variant::from(mode))
            .await;
        self.done(player, set)
    }

    /// The track of the player's list that was meant, if it shows one and one fits.
    pub async fn find(&self, player: &Player, query: &str) -> Option<(String, Track)> {
        if !player.list {
            return None;
        }
        let at = player.at(TRACKS);
        let mut ids: Vec<OwnedObjectPath> = self.bus.get(at, "Tracks").await.ok()?;
        ids.truncate(MAX_TRACKS);
        let rows: Vec<HashMap<String, OwnedVariant>> =
            self.bus.call(at, "GetTracksMetadata", &(ids,)).await.ok()?;
        let tracks: Vec<Track> = rows.into_iter().take(MAX_TRACKS).map(track).collect();
        let found = heard::pick(query, &tracks, |track| {
            vec![(&track.title, 1.0), (&track.album, 0.98), (&track.artist, 0.97)]
        });
        let (_, best) = found.first()?;
        Some((best.id.clone()?, (*best).clone()))
    }

    /// Plays a track of the player's list.
    ///
    /// # Errors
    /// As [`Players::tell`].
    pub async fn play_track(&self, player: &Player, id: &str) -> Result<(), ToolError> {
        let gone = OwnedObjectPath::try_from(id).map_err(|_| Trouble::Garbage);
        let moved = match gone {
            Ok(id) => self.bus.call(player.at(TRACKS), "GoTo", &(id,)).await,
            Err(trouble) => Err(trouble),
        };
        self.done(player, moved)
    }

    /// Gives a player something to play in place of what it has: an address.
    ///
    /// # Errors
    /// As [`Players::tell`].
    pub async fn open(&self, player: &Player, uri: &str) -> Result<(), ToolError> {
        self.may(player, "OpenUri")?;
        let opened = self.bus.call(player.at(PLAYER), "OpenUri", &(uri,)).await;
        self.done(player, opened)
    }

    /// Pauses what plays on the others: two pieces at once are no music.
    pub async fn hush_others(&self, player: &Player) {
        for other in self.playing().filter(|other| other.bus != player.bus) {
            let paused: Result<(), Trouble> = self.bus.call(other.at(PLAYER), "Pause", &()).await;
            if let Err(trouble) = paused {
                tracing::debug!(?trouble, "a player goes on");
            }
        }
    }

    /// Asks a player to end. Nothing is said when it does not: its processes are looked at anyway.
    pub async fn quit(&self, player: &Player) -> bool {
        let root = player.at(ROOT);
        self.bus.get(root, "CanQuit").await == Ok(true)
            && self.bus.call::<_, ()>(root, "Quit", &()).await.is_ok()
    }

    /// The process of a player.
    pub async fn process(&self, player: &Player) -> Option<u32> {
        let at = At {
            name: "org.freedesktop.DBus",
            path: "/org/freedesktop/DBus",
            interface: "org.freedesktop.DBus",
        };
        let body = (player.bus.as_str(),);
        self.bus.call(at, "GetConnectionUnixProcessID", &body).await.ok()
    }

    fn may(&self, player: &Player, verb: &'static str) -> Result<(), ToolError> {
        let needed = match verb {
            "Play" => "CanPlay",
            "Pause" => "CanPause",
            "Next" => "CanGoNext",
            "Previous" => "CanGoPrevious",
            "Seek" => "CanSeek",
            _ => "CanControl",
        };
        if player.can.contains(&needed) && (verb != "OpenUri" || player.opens) {
            return Ok(());
        }
        let name = &player.name;
        Err(ToolError::tell(match verb {
            "Play" => format!("{name} has nothing to play."),
            "Pause" => format!("{name} cannot pause this."),
            "Next" => format!("{name} has no next track."),
            "Previous" => format!("{name} has no previous track."),
            "Seek" => format!("{name} cannot move within this."),
            "OpenUri" => format!("{name} takes no files from me."),
            _ => format!("{name} cannot be controlled."),
        }))
    }

    fn done(&self, player: &Player, result: Result<(), Trouble>) -> Result<(), ToolError> {
        result.map_err(|trouble| trouble.tell(&player.name))?;
        if let Ok(mut used) = self.desk.used.lock() {
            *used = Some(player.bus.clone());
        }
        Ok(())
    }
}

impl Player {
    fn at<'a>(&'a self, interface: &'a str) -> At<'a> {
        At {
            name: &self.bus,
            path: PATH,
            interface,
        }
    }

    /// Whether it is a program of this name.
    pub fn is(&self, program: &str) -> bool {
        short(&self.bus) == program
    }
}

/// What the players that run are called, each once: as they call themselves, and as their programs are called. One that takes
/// its time has the second name only, which the bus itself tells. None where there is no desktop session.
pub async fn names(desk: &Desk) -> Vec<String> {
    if cfg!(target_os = "macos") {
        return Vec::new();
    }
    let desk = Desk {
        patience: SOON.min(desk.patience),
        ..desk.clone()
    };
    let Ok(bus) = Bus::open(&desk, On::Session).await else {
        return Vec::new();
    };
    let Ok(running) = running(&bus).await else {
        return Vec::new();
    };
    let called = async |name: &str| {
        let at = At {
            name,
            path: PATH,
            interface: ROOT,
        };
        let called: String = bus.get(at, "Identity").await.unwrap_or_default();
        [called, short(name).to_owned()].map(|name| plain::one_line(&name, 60))
    };
    let mut names: Vec<String> = Vec::new();
    for name in join_all(running.iter().map(|name| called(name))).await.concat() {
        let is_known = |known: &String| known.to_lowercase() == name.to_lowercase();
        if !name.is_empty() && !names.iter().any(is_known) {
            names.push(name);
        }
    }
    names
}

/// What there is, for `tiro doctor`.
pub async fn describe(desk: &Desk) -> Result<String, ToolError> {
    if cfg!(target_os = "macos") {
        return Ok("Music.".to_owned());
    }
    let players = Players::here(desk).await?;
    let names: Vec<String> = players.all.iter().map(|player| player.name.clone()).collect();
    match names.is_empty() {
        true => Ok("None is running.".to_owned()),
        false => Ok(format!("{}.", plain::listed(&names, "and"))),
    }
}

/// The part of a name on the bus that says which program it is: `org.mpris.MediaPlayer2.vlc.instance7` is "vlc".
fn short(bus: &str) -> &str {
    let rest = bus.strip_prefix(PREFIX).unwrap_or(bus);
    rest.split('.').next().unwrap_or(rest)
}

/// The names on the bus of the players that run.
async fn running(bus: &Bus) -> Result<Vec<String>, Trouble> {
    let names = bus.names().await?.into_iter().filter(|name| {
        // playerctl's daemon shows what another player does a second time.
        name.starts_with(PREFIX) && name != "org.mpris.MediaPlayer2.playerctld"
    });
    Ok(names.take(MAX_PLAYERS).collect())
}

async fn look(bus: &Bus, name: &str) -> Result<Player, Trouble> {
    let at = |interface| At {
        name,
        path: PATH,
        interface,
    };
    let (root, player) = tokio::join!(bus.all(at(ROOT)), bus.all(at(PLAYER)));
    let (mut root, mut player) = (root?, player?);
    let text = |from: &mut Properties, name: &str| {
        let text: String = take(from, name).unwrap_or_default();
        plain::one_line(&text, 60)
    };
    let called = text(&mut root, "Identity");
    let can = [
        "CanPlay",
        "CanPause",
        "CanGoNext",
        "CanGoPrevious",
        "CanSeek",
        "CanControl",
    ];
    Ok(Player {
        name: match called.is_empty() {
            true => plain::one_line(short(name), 40),
            false => called,
        },
        desktop: text(&mut root, "DesktopEntry"),
        list: take(&mut root, "HasTrackList").unwrap_or(false),
        // mpv-mpris 0.7 takes files and forgets to say so.
        opens: short(name) == "mpv"
            || take::<Vec<String>>(&mut root, "SupportedUriSchemes")
                .is_some_and(|schemes| schemes.iter().any(|scheme| scheme == "file")),
        status: match text(&mut player, "PlaybackStatus").as_str() {
            "Playing" => Status::Playing,
            "Paused" => Status::Paused,
            _ => Status::Stopped,
        },
        track: take::<HashMap<String, OwnedVariant>>(&mut player, "Metadata")
            .map(track)
            .unwrap_or_default(),
        shuffle: take(&mut player, "Shuffle"),
        repeat: take(&mut player, "LoopStatus"),
        can: can
            .into_iter()
            .filter(|name| take::<bool>(&mut player, name) == Some(true))
            .collect(),
        bus: name.to_owned(),
    })
}

fn track(mut metadata: Properties) -> Track {
    let text = |from: &mut Properties, name: &str| {
        let text: String = take(from, name).unwrap_or_default();
        plain::one_line(&text, 120)
    };
    let artists = match metadata.remove("xesam:artist") {
        Some(value) => match Vec::<String>::try_from(value.clone()) {
            Ok(artists) => artists,
            // Some say one artist where the specification asks for a list.
            Err(_) => String::try_from(value).into_iter().collect(),
        },
        None => Vec::new(),
    };
    let id = metadata.remove("mpris:trackid").and_then(|value| match &*value {
        Variant::ObjectPath(path) => Some(path.as_str().to_owned()),
        Variant::Str(path) => Some(path.as_str().to_owned()),
        _ => None,
    });
    Track {
        title: text(&mut metadata, "xesam:title"),
        artist: plain::one_line(&artists.join(", "), 120),
        album: text(&mut metadata, "xesam:album"),
        length: metadata
            .get("mpris:length")
            .and_then(|value| number(value))
            .filter(|length| *length > 0),
        id: id.filter(|id| !id.ends_with("/NoTrack")),
    }
}

/// Times come as any kind of number from one player or the other.
fn number(value: &Variant<'_>) -> Option<i64> {
    match value {
        Variant::I64(number) => Some(*number),
        Variant::U64(number) => i64::try_from(*number).ok(),
        Variant::I32(number) => Some(i64::from(*number)),
        Variant::U32(number) => Some(i64::from(*number)),
        Variant::F64(number) if number.abs() < 1e15 => Some(*number as i64),
        Variant::Variant(inner) => number(inner),
        _ => None,
    }
}
