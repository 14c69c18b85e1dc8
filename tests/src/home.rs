//! A home of its own for every test: the demo world in a temporary folder, a pinned clock, scripted engines.

use std::{
    hash::{DefaultHasher, Hash as _, Hasher as _},
    path::{Path, PathBuf},
    sync::Arc,
};

use daemon::{
    agent::Settings,
    eval::stage::belongings,
    room::{Clock, Expecting, Limits, Parts, Room},
    world,
};
use models::{llm::Llm, scripted::ScriptedStt, stt::Stt};
use tools::Dirs;

/// A temporary home; gone when dropped.
pub struct Home {
    folder: tempfile::TempDir,
    now: jiff::Zoned,
}

impl Home {
    /// The demo world as it is at this moment.
    pub fn seeded(now: &str) -> Home {
        let home = Home::empty(now);
        let world = std::fs::read_to_string(root().join("tests/worlds/demo.json")).unwrap();
        world::seed(&serde_json::from_str(&world).unwrap(), &home.dirs(), &home.now).unwrap();
        home
    }

    /// Nothing but empty folders.
    pub fn empty(now: &str) -> Home {
        Home {
            folder: tempfile::tempdir().unwrap(),
            now: now.parse().unwrap(),
        }
    }

    /// The folder.
    pub fn path(&self) -> &Path {
        self.folder.path()
    }

    /// The moment at which its clock stands.
    pub fn now(&self) -> &jiff::Zoned {
        &self.now
    }

    /// Where the tools look.
    pub fn dirs(&self) -> Dirs {
        Dirs::under(self.folder.path())
    }

    /// A room with this model and a recogniser that hears nothing.
    pub fn room(&self, llm: Arc<dyn Llm>, settings: Settings) -> Room {
        self.room_with(llm, Arc::new(ScriptedStt::replies::<&str>([])), settings)
    }

    /// A room with these engines.
    pub fn room_with(&self, llm: Arc<dyn Llm>, stt: Arc<dyn Stt>, settings: Settings) -> Room {
        Room::new(llm, stt, self.parts(settings))
    }

    /// What a room is made of.
    pub fn parts(&self, settings: Settings) -> Parts {
        let patience = std::time::Duration::from_secs(5);
        Parts {
            tools: tools::ALL,
            reader: None,
            dirs: self.dirs(),
            clock: Clock::Pinned(Box::new(self.now.clone())),
            settings,
            search: tools::Search::default(),
            work: tools::Work::default(),
            daemon: true,
            // The tests of sounds and notifications ask for them.
            ring: daemon::ring::Settings {
                sound: false,
                ..daemon::ring::Settings::default()
            },
            // The scripted recogniser has one answer for each utterance; `early` has tests of its own.
            wake: None,
            listen: daemon::listen::hearing::Settings {
                early: false,
                answer: false,
                ..Default::default()
            },
            speak: daemon::speak::Speaker::off(),
            desk: tools::system::desktop::Desk::nowhere(),
            // No test reaches the desktop that it happens to run on.
            reach: tools::Reach {
                opener: vec!["/nonexistent/opener".to_owned()],
                ..tools::Reach::default()
            },
            journal: tools::Journal::at(&self.dirs().state, tools::Retention::default()),
            mail: tools::Mail::default(),
            trace: None,
            limits: Limits {
                budget: 32_768,
                max_tokens: 256,
                temperature: 0.0,
                generate: patience,
                transcribe: patience,
                patience,
                language: Some("en".into()),
                bias: None,
                names: Expecting::none(),
                read_ahead: None,
            },
        }
    }

    /// What the person has, each with a number that is another one when its content is: two lists tell what a turn changed.
    pub fn files(&self) -> Vec<(String, u64)> {
        let all = belongings(self.folder.path(), &self.dirs()).unwrap();
        let number = |bytes: Vec<u8>| {
            let mut hasher = DefaultHasher::new();
            bytes.hash(&mut hasher);
            hasher.finish()
        };
        all.into_iter()
            .map(|(name, bytes)| (name, number(bytes)))
            .collect()
    }
}

/// A folder or file of the evaluation data: in the folder that `TIRO_DATA` names, else beside the workspace. A loud line where it is
/// missing; where a folder was named, a failure, since it is wanted then (`cargo xtask test` names the one that it finds).
pub fn data(name: &str) -> Option<PathBuf> {
    let named = std::env::var_os("TIRO_DATA").map(PathBuf::from);
    let required = named.is_some();
    let path = named.unwrap_or_else(|| root().join("../shared/data")).join(name);
    if path.exists() {
        return Some(path);
    }
    assert!(!required, "TIRO_DATA has no {}", path.display());
    println!("SKIPPED: there is no {}; set TIRO_DATA", path.display());
    None
}

/// The root of the repository.
pub fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap()
}
