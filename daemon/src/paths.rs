//! Where things lie on this machine: XDG folders on Linux, the Library folders on macOS, one folder under `TIRO_HOME`.

use std::{
    ffi::OsString,
    fs, io,
    os::unix::{
        ffi::OsStrExt as _,
        fs::{DirBuilderExt as _, MetadataExt as _, PermissionsExt as _},
    },
    path::{Path, PathBuf},
};

use anyhow::{Context as _, bail, ensure};

/// Longest path of a socket, without the closing NUL: `sun_path` has 108 bytes on Linux and 104 on macOS.
pub const SOCKET_PATH_MAX: usize = if cfg!(target_os = "macos") { 103 } else { 107 };

/// Every place that Tiro reads or writes by default; the config can move the person's own folders.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Paths {
    /// The config file; it need not exist.
    pub config: PathBuf,
    /// The person's data, unless the config names other folders.
    pub data: PathBuf,
    /// What can be made or fetched again.
    pub cache: PathBuf,
    /// Weights. `TIRO_MODELS` moves it, so that several homes can share them.
    pub models: PathBuf,
    /// Prefix snapshots of the language model.
    pub snapshots: PathBuf,
    /// What Tiro keeps for itself: journal, timers, traces.
    pub state: PathBuf,
    /// The folder of the socket; nobody else may enter it.
    pub run: PathBuf,
    /// Folders with installed applications, nearest first.
    pub applications: Vec<PathBuf>,
    /// The person's music.
    pub music: PathBuf,
    /// The person's pictures.
    pub pictures: PathBuf,
    /// The person's own folders with documents, pictures and so on.
    pub files: Vec<PathBuf>,
    /// The trash of the desktop.
    pub trash: PathBuf,
}

impl Paths {
    /// The places for this process, from its environment.
    ///
    /// # Errors
    /// When neither `TIRO_HOME` nor a home folder is known, or the working directory is gone.
    pub fn from_env() -> anyhow::Result<Paths> {
        Paths::resolve(&|name| std::env::var_os(name), std::env::home_dir())
    }

    /// Everything under one folder, as `TIRO_HOME` has it.
    pub fn under(home: &Path) -> Paths {
        Paths {
            config: home.join("config.toml"),
            data: home.join("data"),
            cache: home.join("cache"),
            models: home.join("cache/models"),
            snapshots: home.join("cache/snapshots"),
            state: home.join("state"),
            run: home.join("run"),
            applications: vec![home.join("data/applications")],
            music: home.join("music"),
            pictures: home.join("pictures"),
            files: vec![home.join("data/files")],
            trash: home.join("data/Trash"),
        }
    }

    /// The socket of the daemon.
    ///
    /// # Errors
    /// When the path is longer than the system takes.
    pub fn socket(&self) -> anyhow::Result<PathBuf> {
        let socket = self.run.join("tiro.sock");
        let length = socket.as_os_str().as_bytes().len();
        ensure!(
            length <= SOCKET_PATH_MAX,
            "The socket path {} has {length} bytes and this system takes at most {SOCKET_PATH_MAX}. \
             Use a shorter TIRO_HOME or XDG_RUNTIME_DIR.",
            socket.display(),
        );
        Ok(socket)
    }

    /// The folders that Tiro owns, with what each is for.
    pub fn folders(&self) -> [(&'static str, &Path); 6] {
        [
            ("data", &self.data),
            ("cache", &self.cache),
            ("models", &self.models),
            ("snapshots", &self.snapshots),
            ("state", &self.state),
            ("run", &self.run),
        ]
    }

    /// Creates what is missing, closed to everybody else. The folder of the socket is also closed when it was
    /// open, and refused when it belongs to somebody else: who can swap the socket can speak for the person.
    ///
    /// # Errors
    /// When a folder cannot be made, is something else, or the socket's folder is not this person's.
    pub fn create(&self) -> anyhow::Result<()> {
        for (_, folder) in self.folders() {
            create_private(folder)?;
        }
        let meta = fs::symlink_metadata(&self.run)
            .with_context(|| format!("Could not look at the folder {}", self.run.display()))?;
        let me = rustix::process::geteuid().as_raw();
        ensure!(
            meta.is_dir() && meta.uid() == me,
            "The folder {} is a link or belongs to somebody else, so the socket would not be safe there. Remove it.",
            self.run.display(),
        );
        if meta.mode() & 0o077 != 0 {
            fs::set_permissions(&self.run, fs::Permissions::from_mode(0o700))
                .with_context(|| format!("Could not close the folder {} to others", self.run.display()))?;
        }
        Ok(())
    }

    /// What the tools work on, where the config does not say otherwise.
    pub fn dirs(&self) -> tools::Dirs {
        tools::Dirs {
            state: self.state.clone(),
            cache: self.cache.clone(),
            applications: self.applications.clone(),
            music: self.music.clone(),
            pictures: self.pictures.clone(),
            files: self.files.clone(),
            trash: self.trash.clone(),
            // Beside the config file, because they are the person's own, as that is.
            shortcuts: self.config.with_file_name("shortcuts"),
            ..tools::Dirs::under(&self.data)
        }
    }

    fn resolve(env: &dyn Fn(&str) -> Option<OsString>, home: Option<PathBuf>) -> anyhow::Result<Paths> {
        let set = |name: &str| env(name).filter(|v| !v.is_empty()).map(PathBuf::from);
        // The XDG specification says that a relative path is to be ignored.
        let xdg = |name: &str| set(name).filter(|p| p.is_absolute());
        let absolute = |name: &str, path: PathBuf| {
            std::path::absolute(&path)
                .with_context(|| format!("{name} is {}, which leads nowhere", path.display()))
        };
        let mut paths = match (set("TIRO_HOME"), home.filter(|h| h.is_absolute())) {
            (Some(root), _) => Paths::under(&absolute("TIRO_HOME", root)?),
            (None, Some(home)) if cfg!(target_os = "macos") => macos(&home),
            (None, Some(home)) => linux(&xdg, env("XDG_DATA_DIRS"), &home),
            (None, None) => {
                bail!("No home folder is known. Set HOME, or TIRO_HOME to a folder for all of Tiro.")
            }
        };
        if let Some(models) = set("TIRO_MODELS") {
            paths.models = absolute("TIRO_MODELS", models)?;
        }
        Ok(paths)
    }
}

/// Creates a folder and what is missing above it with mode 0700.
///
/// # Errors
/// When it cannot be made, or something else stands there.
pub fn create_private(folder: &Path) -> anyhow::Result<()> {
    match fs::DirBuilder::new().recursive(true).mode(0o700).create(folder) {
        Ok(()) => Ok(()),
        Err(e) if e.kind() == io::ErrorKind::AlreadyExists => {
            bail!(
                "{} should be a folder and is not. Move it away.",
                folder.display()
            )
        }
        Err(e) => Err(e).with_context(|| format!("Could not create the folder {}", folder.display())),
    }
}

fn linux(xdg: &dyn Fn(&str) -> Option<PathBuf>, data_dirs: Option<OsString>, home: &Path) -> Paths {
    let folder = |name: &str, default: &str| xdg(name).unwrap_or_else(|| home.join(default));
    let data_home = folder("XDG_DATA_HOME", ".local/share");
    let cache = folder("XDG_CACHE_HOME", ".cache").join("tiro");
    let state = folder("XDG_STATE_HOME", ".local/state").join("tiro");
    let data_dirs = data_dirs
        .filter(|v| !v.is_empty())
        .unwrap_or_else(|| "/usr/local/share:/usr/share".into());
    let applications = std::iter::once(data_home.clone())
        .chain(std::env::split_paths(&data_dirs).filter(|p| p.is_absolute()))
        .map(|p| p.join("applications"))
        .collect();
    let config = folder("XDG_CONFIG_HOME", ".config");
    let named = fs::read_to_string(config.join("user-dirs.dirs")).unwrap_or_default();
    let own = |name: &str, usual: &str| own_dir(&named, name, usual, home);
    Paths {
        music: own("XDG_MUSIC_DIR", "Music"),
        pictures: own("XDG_PICTURES_DIR", "Pictures"),
        files: user_dirs(&named, home),
        trash: data_home.join("Trash"),
        config: config.join("tiro/config.toml"),
        data: data_home.join("tiro"),
        models: cache.join("models"),
        snapshots: cache.join("snapshots"),
        cache,
        // Without a runtime folder (a bare ssh or cron session) the socket goes where nobody else can write;
        // a name in /tmp could be taken by somebody else first.
        run: xdg("XDG_RUNTIME_DIR").map_or_else(|| state.join("run"), |run| run.join("tiro")),
        state,
        applications,
    }
}

/// A folder as `user-dirs.dirs` names it: `XDG_MUSIC_DIR="$HOME/Musik"`, or an absolute path (xdg-user-dirs).
fn user_dir(text: &str, name: &str, home: &Path) -> Option<PathBuf> {
    let line = text
        .lines()
        .filter_map(|line| line.trim().strip_prefix(name)?.strip_prefix('='))
        .next_back()?;
    let value = line.trim().strip_prefix('"')?.strip_suffix('"')?;
    let path = match value.strip_prefix("$HOME") {
        Some(below) => home.join(below.trim_start_matches('/')),
        None => PathBuf::from(value),
    };
    path.is_absolute().then_some(path)
}

/// The same, or the usual one where that file says that there is none, by naming the home folder itself.
fn own_dir(text: &str, name: &str, usual: &str, home: &Path) -> PathBuf {
    let said = user_dir(text, name, home).filter(|path| path != home);
    said.unwrap_or_else(|| home.join(usual))
}

/// The folders of a person, by what `user-dirs.dirs` says of them (xdg-user-dirs) and else by their usual names. One
/// that is the home folder itself is one that the person does not have.
fn user_dirs(named: &str, home: &Path) -> Vec<PathBuf> {
    let known = [
        ("XDG_DOCUMENTS_DIR", "Documents"),
        ("XDG_DOWNLOAD_DIR", "Downloads"),
        ("XDG_DESKTOP_DIR", "Desktop"),
        ("XDG_MUSIC_DIR", "Music"),
        ("XDG_PICTURES_DIR", "Pictures"),
        ("XDG_VIDEOS_DIR", "Videos"),
    ];
    known
        .map(|(name, usual)| user_dir(named, name, home).unwrap_or_else(|| home.join(usual)))
        .into_iter()
        .filter(|path| !home.starts_with(path))
        .collect()
}

fn macos(home: &Path) -> Paths {
    let support = home.join("Library/Application Support/Tiro");
    let cache = home.join("Library/Caches/Tiro");
    Paths {
        config: support.join("config.toml"),
        data: support.join("data"),
        models: cache.join("models"),
        snapshots: cache.join("snapshots"),
        cache,
        state: support.join("state"),
        run: support.join("run"),
        files: ["Documents", "Downloads", "Desktop", "Music", "Pictures", "Movies"]
            .map(|name| home.join(name))
            .to_vec(),
        trash: home.join(".Trash"),
        applications: vec![
            home.join("Applications"),
            PathBuf::from("/Applications"),
            PathBuf::from("/System/Applications"),
        ],
        music: home.join("Music"),
        pictures: home.join("Pictures"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Resolves with these variables, separated by spaces, and the home folder /home/ada.
    fn paths(env: &str) -> Paths {
        let env: Vec<(&str, &str)> = env.split_whitespace().filter_map(|v| v.split_once('=')).collect();
        let get = |name: &str| {
            env.iter()
                .find(|(n, _)| *n == name)
                .map(|(_, v)| OsString::from(v))
        };
        Paths::resolve(&get, Some(PathBuf::from("/home/ada"))).unwrap()
    }

    #[test]
    #[cfg(target_os = "linux")]
    fn xdg_folders() {
        #[track_caller]
        fn check(env: &str, pick: fn(&Paths) -> &Path, expect: &str) {
            assert_eq!(pick(&paths(env)), Path::new(expect));
        }
        check("", |p| &p.config, "/home/ada/.config/tiro/config.toml");
        check("XDG_CONFIG_HOME=/c", |p| &p.config, "/c/tiro/config.toml");
        check(
            "XDG_CONFIG_HOME=c",
            |p| &p.config,
            "/home/ada/.config/tiro/config.toml",
        );
        check(
            "XDG_CONFIG_HOME=",
            |p| &p.config,
            "/home/ada/.config/tiro/config.toml",
        );
        check("", |p| &p.data, "/home/ada/.local/share/tiro");
        check("XDG_DATA_HOME=/d", |p| &p.data, "/d/tiro");
        check("XDG_CACHE_HOME=/k", |p| &p.models, "/k/tiro/models");
        check("XDG_CACHE_HOME=/k", |p| &p.snapshots, "/k/tiro/snapshots");
        check("XDG_CACHE_HOME=/k TIRO_MODELS=/m", |p| &p.models, "/m");
        check("XDG_STATE_HOME=/s", |p| &p.state, "/s/tiro");
        check("XDG_RUNTIME_DIR=/run/user/7", |p| &p.run, "/run/user/7/tiro");
        check("", |p| &p.run, "/home/ada/.local/state/tiro/run");
        check("", |p| &p.applications[1], "/usr/local/share/applications");
        check(
            "XDG_DATA_HOME=/d XDG_DATA_DIRS=/e:f:/g",
            |p| &p.applications[0],
            "/d/applications",
        );
        check(
            "XDG_DATA_HOME=/d XDG_DATA_DIRS=/e:f:/g",
            |p| &p.applications[2],
            "/g/applications",
        );
    }

    #[test]
    fn folders_of_the_person_are_where_the_desktop_says() {
        #[track_caller]
        fn check(line: &str, expect: Option<&str>) {
            let found = user_dir(
                &format!("# comment\n{line}\n"),
                "XDG_MUSIC_DIR",
                Path::new("/home/ada"),
            );
            assert_eq!(found.as_deref(), expect.map(Path::new), "{line}");
        }
        check("XDG_MUSIC_DIR=\"$HOME/Musik\"", Some("/home/ada/Musik"));
        check("XDG_MUSIC_DIR=\"/data/music\"", Some("/data/music"));
        check("XDG_MUSIC_DIR=\"$HOME/\"", Some("/home/ada"));
        check("XDG_MUSIC_DIR=\"music\"", None);
        check("XDG_MUSIC_DIR=$HOME/Musik", None);
        check("XDG_PICTURES_DIR=\"$HOME/Bilder\"", None);
        let home = Path::new("/home/ada");
        for (line, expect) in [
            ("XDG_MUSIC_DIR=\"$HOME/\"", "/home/ada/Music"),
            ("XDG_MUSIC_DIR=\"$HOME\"", "/home/ada/Music"),
            ("XDG_MUSIC_DIR=\"$HOME/Musik\"", "/home/ada/Musik"),
            ("", "/home/ada/Music"),
        ] {
            assert_eq!(
                own_dir(line, "XDG_MUSIC_DIR", "Music", home),
                Path::new(expect),
                "{line}"
            );
        }
        #[cfg(target_os = "linux")]
        assert_eq!(paths("").music, Path::new("/home/ada/Music"));
    }

    #[test]
    fn one_folder_holds_everything() {
        let paths = paths("TIRO_HOME=/t XDG_DATA_HOME=/d XDG_RUNTIME_DIR=/r XDG_CONFIG_HOME=/c");
        for (what, folder) in paths.folders() {
            assert!(folder.starts_with("/t"), "{what}: {folder:?}");
        }
        assert_eq!(paths.config, Path::new("/t/config.toml"));
        assert_eq!(paths.socket().unwrap(), Path::new("/t/run/tiro.sock"));
        assert_eq!(paths.dirs().calendars, Path::new("/t/data/calendars"));
        assert_eq!(paths.dirs().state, Path::new("/t/state"));
        assert_eq!(paths.dirs().music, Path::new("/t/music"));
    }

    #[test]
    fn folders_of_the_person() {
        let home = Path::new("/home/ada");
        let usual = user_dirs("", home);
        assert_eq!(usual.len(), 6);
        assert_eq!(usual[0], Path::new("/home/ada/Documents"));
        let named = "# words\nXDG_DOCUMENTS_DIR=\"$HOME/Dokumente\"\nXDG_MUSIC_DIR=\"/media/music\"\n\
                     XDG_VIDEOS_DIR=\"$HOME/\"\nXDG_DESKTOP_DIR=\"relative\"\nXDG_PICTURES_DIR=\"/\"\n";
        let folders = user_dirs(named, home);
        let expect = [
            "/home/ada/Dokumente",
            "/home/ada/Downloads",
            "/home/ada/Desktop",
            "/media/music",
        ];
        assert_eq!(folders, expect.map(PathBuf::from));
        let tiro = paths("TIRO_HOME=/t").dirs();
        assert_eq!(tiro.files, [PathBuf::from("/t/data/files")]);
        assert_eq!(tiro.shortcuts, Path::new("/t/shortcuts"));
        assert_eq!(tiro.trash, Path::new("/t/data/Trash"));
    }

    #[test]
    fn a_relative_home_becomes_absolute() {
        assert!(paths("TIRO_HOME=here").data.is_absolute());
    }

    #[test]
    fn macos_folders() {
        let paths = macos(Path::new("/Users/ada"));
        assert_eq!(
            paths.config,
            Path::new("/Users/ada/Library/Application Support/Tiro/config.toml")
        );
        assert_eq!(paths.models, Path::new("/Users/ada/Library/Caches/Tiro/models"));
    }

    #[test]
    fn without_a_home_it_says_what_to_set() {
        let error = Paths::resolve(&|_| None, None).unwrap_err().to_string();
        assert!(error.contains("TIRO_HOME"), "{error}");
    }

    #[test]
    fn a_socket_path_that_is_too_long_is_refused() {
        let home = |n: usize| format!("TIRO_HOME=/{}", "h".repeat(n - "//run/tiro.sock".len()));
        assert!(paths(&home(SOCKET_PATH_MAX)).socket().is_ok());
        let error = paths(&home(SOCKET_PATH_MAX + 1))
            .socket()
            .unwrap_err()
            .to_string();
        assert!(error.contains("at most") && error.contains("shorter"), "{error}");
    }

    #[test]
    fn folders_are_private_and_a_foreign_socket_folder_is_refused() {
        let root = tempfile::tempdir().unwrap();
        let paths = Paths::under(&root.path().join("home"));
        paths.create().unwrap();
        paths.create().unwrap();
        for (what, folder) in paths.folders() {
            assert_eq!(fs::metadata(folder).unwrap().mode() & 0o777, 0o700, "{what}");
        }
        fs::set_permissions(&paths.run, fs::Permissions::from_mode(0o777)).unwrap();
        paths.create().unwrap();
        assert_eq!(fs::metadata(&paths.run).unwrap().mode() & 0o777, 0o700);

        fs::remove_dir(&paths.run).unwrap();
        std::os::unix::fs::symlink(root.path(), &paths.run).unwrap();
        assert!(paths.create().unwrap_err().to_string().contains("Remove it"));

        let file = root.path().join("file");
        fs::write(&file, "").unwrap();
        assert!(
            create_private(&file)
                .unwrap_err()
                .to_string()
                .contains("should be a folder")
        );
    }
}
