//! A real Radicale in a folder of its own, on a free port of this machine; ended when dropped.

use std::{
    fs,
    net::{Ipv4Addr, TcpListener, TcpStream},
    path::{Path, PathBuf},
    process::{Child, Command, Stdio},
    time::{Duration, Instant},
};

use tools::system::dav::{Http, Login, Patience, Request, Response, Transport};

/// A loaded machine takes its time to start Python.
const START: Duration = Duration::from_secs(120);

/// The server.
pub struct Radicale {
    folder: tempfile::TempDir,
    python: PathBuf,
    port: u16,
    tls: bool,
    child: Option<Child>,
}

impl Radicale {
    /// Starts one, or says aloud that it is not installed. `cargo xtask test` installs it and sets
    /// `TIRO_REQUIRE_REAL`, and then its absence fails.
    pub fn start() -> Option<Radicale> {
        Radicale::start_with(false)
    }

    /// The same behind a certificate that nobody trusts.
    pub fn start_with(tls: bool) -> Option<Radicale> {
        let root = Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap();
        let venv =
            std::env::var_os("TIRO_TEST_PYTHON").map_or(root.join("target/test-python"), PathBuf::from);
        let python = venv.join("bin/python");
        if !python.exists() {
            let required = std::env::var_os("TIRO_REQUIRE_REAL").is_some();
            assert!(!required, "{} is missing", python.display());
            println!(
                "SKIPPED: run `cargo xtask setup`, which installs Radicale into {}",
                venv.display()
            );
            return None;
        }
        // In memory where that is possible: it syncs every small file of its own, and its disk is not what is tried.
        let memory = Path::new("/dev/shm");
        let folder = match memory.is_dir() {
            true => tempfile::tempdir_in(memory).unwrap(),
            false => tempfile::tempdir().unwrap(),
        };
        fs::write(folder.path().join("users"), "ada:secret\n").unwrap();
        let rights = "[own]\nuser: .+\ncollection: {user}(/(?!shared).*)?\npermissions: RrWw\n\
                      [shared]\nuser: .+\ncollection: {user}/shared.*\npermissions: Rr\n\
                      [root]\nuser: .+\ncollection:\npermissions: R\n";
        fs::write(folder.path().join("rights"), rights).unwrap();
        // The port is free when asked for; whoever else asked gets another.
        let port = TcpListener::bind((Ipv4Addr::LOCALHOST, 0))
            .unwrap()
            .local_addr()
            .unwrap()
            .port();
        let mut server = Radicale {
            folder,
            python,
            port,
            tls,
            child: None,
        };
        server.up();
        Some(server)
    }

    /// Starts it again where it was.
    pub fn up(&mut self) {
        let at = |name: &str| self.folder.path().join(name).display().to_string();
        let mut config = format!(
            "[server]\nhosts = 127.0.0.1:{}\n[auth]\ntype = htpasswd\nhtpasswd_filename = {}\nhtpasswd_encryption = plain\n\
             delay = 0\n[rights]\ntype = from_file\nfile = {}\n[storage]\nfilesystem_folder = {}\n[logging]\nlevel = warning\n",
            self.port,
            at("users"),
            at("rights"),
            at("data"),
        );
        if self.tls {
            let own = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/dav");
            let tls = format!(
                "[server]\nssl = True\ncertificate = {}\nkey = {}\n",
                own.join("localhost.pem").display(),
                own.join("localhost.key").display()
            );
            config = config.replacen("[server]\n", &tls, 1);
        }
        fs::write(self.folder.path().join("config"), config).unwrap();
        let log = fs::File::create(self.folder.path().join("log")).unwrap();
        let mut child = Command::new(&self.python)
            .args(["-m", "radicale", "--config", &at("config")])
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(log)
            .spawn()
            .unwrap();
        let begun = Instant::now();
        while TcpStream::connect((Ipv4Addr::LOCALHOST, self.port)).is_err() {
            let ended = child.try_wait().unwrap();
            assert_eq!(ended, None, "{}", fs::read_to_string(at("log")).unwrap());
            assert!(
                begun.elapsed() < START,
                "{}",
                fs::read_to_string(at("log")).unwrap()
            );
            std::thread::sleep(Duration::from_millis(20));
        }
        self.child = Some(child);
    }

    /// Kills it, as a power cut does.
    pub fn down(&mut self) {
        if let Some(mut child) = self.child.take() {
            let _ = child.kill();
            let _ = child.wait();
        }
    }

    /// `http://127.0.0.1:PORT`.
    pub fn origin(&self) -> String {
        let scheme = if self.tls { "https" } else { "http" };
        format!("{scheme}://127.0.0.1:{}", self.port)
    }

    /// Its files of a collection.
    pub fn storage(&self, collection: &str) -> PathBuf {
        self.folder
            .path()
            .join("data/collection-root/ada")
            .join(collection)
    }

    /// The line to it.
    pub fn http(&self) -> Http {
        let login = Login::Basic {
            user: "ada".into(),
            password: "secret".into(),
        };
        Http::new(&self.origin(), &login, Patience::default())
    }

    /// One request, as another client would make it.
    #[track_caller]
    pub fn ask(
        &self,
        method: &'static str,
        path: &str,
        headers: &[(&'static str, &str)],
        body: &str,
    ) -> Response {
        let request = Request {
            method,
            origin: self.origin(),
            path: path.to_owned(),
            headers: headers.iter().map(|(n, v)| (*n, (*v).to_owned())).collect(),
            body: body.as_bytes().to_vec(),
            max: 1 << 24,
        };
        self.http().send(&request).unwrap()
    }

    /// Has it read a collection, however long that takes.
    pub fn warm(&self, path: &str) {
        let login = Login::Basic {
            user: "ada".into(),
            password: "secret".into(),
        };
        let patience = Patience {
            stall: Duration::from_secs(900),
            whole: Duration::from_secs(900),
            ..Patience::default()
        };
        let request = Request {
            method: "PROPFIND",
            origin: self.origin(),
            path: path.to_owned(),
            headers: vec![("Depth", "1".into())],
            body: Vec::new(),
            max: 1 << 26,
        };
        let answer = Http::new(&self.origin(), &login, patience).send(&request);
        assert_eq!(answer.unwrap().status, 207);
    }

    /// Makes a calendar.
    #[track_caller]
    pub fn calendar(&self, name: &str) {
        let body = format!(
            "<c:mkcalendar xmlns:d=\"DAV:\" xmlns:c=\"urn:ietf:params:xml:ns:caldav\" xmlns:i=\"http://apple.com/ns/ical/\">\
             <d:set><d:prop><d:displayname>{name}</d:displayname><i:calendar-color>#ff8800ff</i:calendar-color>\
             </d:prop></d:set></c:mkcalendar>"
        );
        let path = format!("/ada/{}/", name.to_lowercase());
        assert_eq!(self.ask("MKCALENDAR", &path, &[], &body).status, 201);
    }

    /// Makes an address book.
    #[track_caller]
    pub fn book(&self, name: &str) {
        let body = format!(
            "<d:mkcol xmlns:d=\"DAV:\" xmlns:r=\"urn:ietf:params:xml:ns:carddav\"><d:set><d:prop><d:resourcetype>\
             <d:collection/><r:addressbook/></d:resourcetype><d:displayname>{name}</d:displayname></d:prop></d:set></d:mkcol>"
        );
        let path = format!("/ada/{}/", name.to_lowercase());
        assert_eq!(self.ask("MKCOL", &path, &[], &body).status, 201);
    }

    /// Writes an item, whatever was there.
    #[track_caller]
    pub fn put(&self, path: &str, text: &str) {
        let status = self.ask("PUT", path, &[], text).status;
        assert!(matches!(status, 201 | 204), "{status}");
    }

    /// What an item holds.
    pub fn get(&self, path: &str) -> Option<String> {
        let answer = self.ask("GET", path, &[], "");
        (answer.status == 200).then(|| String::from_utf8(answer.body).unwrap())
    }
}

impl Drop for Radicale {
    fn drop(&mut self) {
        self.down();
    }
}
