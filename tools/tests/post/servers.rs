//! A real Dovecot, a real aiosmtpd, and a line between that can be cut; each in a folder of its own, on a free port of
//! this machine, ended when dropped.

use std::{
    fs,
    io::{Read as _, Write as _},
    net::{Ipv4Addr, Shutdown, TcpListener, TcpStream},
    os::unix::{fs::PermissionsExt as _, process::CommandExt as _},
    path::{Path, PathBuf},
    process::{Child, Command, Stdio},
    sync::{
        Arc, Mutex,
        atomic::{AtomicU64, Ordering},
    },
    time::{Duration, Instant},
};

use tools::system::post::{Access, Login, Protocol, Secret, Server};

/// A loaded machine takes its time to start Python.
const START: Duration = Duration::from_secs(120);
/// The user of both servers.
pub const USER: &str = "ada";
/// Their password.
pub const PASSWORD: &str = "secret word";

/// The test authority's files.
pub fn own(name: &str) -> PathBuf {
    // The tests of the whole start these servers, too, from a room of their own.
    Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("../tools/tests/post")
        .join(name)
}

/// How a server is reached; the test authority is trusted.
pub fn access(url: &str, protocol: Protocol) -> Access {
    Access {
        server: Server::parse(url, protocol).unwrap(),
        login: Login {
            user: USER.to_owned(),
            secret: Secret::Password(PASSWORD.to_owned()),
        },
        allow_plain: false,
        certificates: Some(own("ca.pem")),
    }
}

fn free_port() -> u16 {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
    listener.local_addr().unwrap().port()
}

fn absent(what: &str) {
    let required = std::env::var_os("TIRO_REQUIRE_REAL").is_some();
    assert!(!required, "{what} is missing");
    println!("SKIPPED: {what} is missing; run `cargo xtask setup`");
}

fn await_port(port: u16, child: &mut Child, log: &Path) {
    let begun = Instant::now();
    let told = || fs::read_to_string(log).unwrap_or_default();
    while TcpStream::connect((Ipv4Addr::LOCALHOST, port)).is_err() {
        assert_eq!(child.try_wait().unwrap(), None, "{}", told());
        assert!(begun.elapsed() < START, "{}", told());
        std::thread::sleep(Duration::from_millis(10));
    }
}

/// An IMAP server.
pub struct Dovecot {
    folder: tempfile::TempDir,
    program: &'static str,
    child: Option<Child>,
    /// Its port without TLS.
    pub plain: u16,
    /// Its port with TLS.
    pub tls: u16,
}

impl Dovecot {
    /// Starts one with this certificate, or says aloud that it is not installed.
    pub fn start(certificate: &str) -> Option<Dovecot> {
        Dovecot::start_with(certificate, "", None)
    }

    /// Starts one that knows no encryption at all.
    pub fn without_tls() -> Option<Dovecot> {
        Dovecot::start_with("", "", None)
    }

    /// The same; beside passwords it offers these ways to show a token, and asks at this port whether one is good.
    pub fn start_with(certificate: &str, ways: &str, issuer: Option<u16>) -> Option<Dovecot> {
        let there: [&'static str; 2] = ["/usr/sbin/dovecot", "/usr/local/sbin/dovecot"];
        let Some(program) = there.into_iter().find(|path| Path::new(path).exists()) else {
            absent("Dovecot");
            return None;
        };
        let version = Command::new(program).arg("--version").output().unwrap().stdout;
        let version = String::from_utf8_lossy(&version).trim().to_owned();
        if !version.starts_with("2.3.") {
            // Its config is another language from 2.4 on.
            println!("SKIPPED: the tests speak to Dovecot 2.3, and here is {version}");
            return None;
        }
        // Dovecot's sockets are in it, so its path has to be short.
        let folder = tempfile::Builder::new().prefix("dc").tempdir().unwrap();
        fs::set_permissions(folder.path(), fs::Permissions::from_mode(0o755)).unwrap();
        let root = rustix::process::geteuid().is_root();
        // Mail may not belong to the super-user.
        let (uid, gid) = match root {
            true => (65534, 65534),
            false => (
                rustix::process::geteuid().as_raw(),
                rustix::process::getegid().as_raw(),
            ),
        };
        let at = |name: &str| folder.path().join(name).display().to_string();
        fs::write(
            at("users"),
            format!("{USER}:{{PLAIN}}{PASSWORD}:{uid}:{gid}::{}::\n", at("home")),
        )
        .unwrap();
        fs::create_dir(at("home")).unwrap();
        if root {
            rustix::fs::chown(
                folder.path().join("home"),
                Some(rustix::fs::Uid::from_raw(uid)),
                Some(rustix::fs::Gid::from_raw(gid)),
            )
            .unwrap();
        }
        let (plain, tls) = (free_port(), free_port());
        let me = match root {
            true => "default_internal_user = dovecot\ndefault_login_user = dovenull\n".to_owned(),
            false => {
                let name = std::env::var("USER").unwrap_or_else(|_| uid.to_string());
                format!(
                    "default_internal_user = {name}\ndefault_login_user = {name}\ndefault_internal_group =\n"
                )
            }
        };
        let chroot = match root {
            true => "",
            false => {
                "service anvil {\n  chroot =\n}\nservice imap-login {\n  chroot =\n}\nservice stats {\n  chroot =\n}\n"
            }
        };
        // What looks after passwords must not be shown tokens, nor the other way round.
        let tokens = match issuer {
            None => String::new(),
            Some(port) => {
                let settings = format!(
                    "introspection_url = http://127.0.0.1:{port}/introspect\nintrospection_mode = post\n\
                     force_introspection = yes\nusername_attribute = username\nactive_attribute = active\nactive_value = true\n"
                );
                fs::write(at("oauth2.conf"), settings).unwrap();
                format!(
                    "passdb {{\n  driver = oauth2\n  mechanisms = xoauth2 oauthbearer\n  args = {}\n}}\n",
                    at("oauth2.conf")
                )
            }
        };
        let (encryption, secure) = match certificate {
            "" => ("ssl = no\n".to_owned(), String::new()),
            name => (
                format!(
                    "ssl = yes\nssl_cert = <{}\nssl_key = <{}\n",
                    own(name).display(),
                    own("localhost.key").display()
                ),
                format!("  inet_listener imaps {{\n    port = {tls}\n    ssl = yes\n  }}\n"),
            ),
        };
        let config = format!(
            "base_dir = {base}\nstate_dir = {state}\nlog_path = {log}\nprotocols = imap\nlisten = 127.0.0.1\n{me}{chroot}\
             first_valid_uid = 1\nmail_location = maildir:~/Maildir\nmail_fsync = never\ndisable_plaintext_auth = no\n\
             auth_mechanisms = plain login {ways}\n{encryption}{tokens}\
             passdb {{\n  driver = passwd-file\n  mechanisms = plain login\n  args = scheme=PLAIN {users}\n}}\n\
             userdb {{\n  driver = passwd-file\n  args = {users}\n}}\n\
             service imap-login {{\n  inet_listener imap {{\n    port = {plain}\n  }}\n{secure}}}\n\
             namespace inbox {{\n  inbox = yes\n  separator = /\n\
             mailbox Drafts {{\n    special_use = \\Drafts\n    auto = create\n  }}\n\
             mailbox Gesendet {{\n    special_use = \\Sent\n    auto = create\n  }}\n\
             mailbox Archive {{\n    special_use = \\Archive\n    auto = create\n  }}\n\
             mailbox Trash {{\n    special_use = \\Trash\n    auto = create\n  }}\n\
             mailbox Spam {{\n    special_use = \\Junk\n    auto = create\n  }}\n}}\n",
            base = at("run"),
            state = at("state"),
            log = at("log"),
            users = at("users"),
        );
        fs::write(at("dovecot.conf"), config).unwrap();
        let mut server = Dovecot {
            folder,
            program,
            child: None,
            plain,
            tls,
        };
        server.up();
        Some(server)
    }

    /// Starts it once more, with the mail that it has.
    pub fn up(&mut self) {
        let at = |name: &str| self.folder.path().join(name);
        // One that was killed has left these.
        let _ = fs::remove_file(at("run").join("master.pid"));
        let mut child = Command::new(self.program)
            .arg("-F")
            .arg("-c")
            .arg(at("dovecot.conf"))
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(fs::File::create(at("stderr")).unwrap())
            // Its own group, so that all of it can be killed at once.
            .process_group(0)
            .spawn()
            .unwrap();
        await_port(self.plain, &mut child, &at("stderr"));
        self.child = Some(child);
    }

    /// Without TLS, which begins with STARTTLS.
    pub fn plain_access(&self) -> Access {
        access(&format!("imap://localhost:{}", self.plain), Protocol::Imap)
    }

    /// With TLS at once.
    pub fn tls_access(&self) -> Access {
        access(&format!("imaps://localhost:{}", self.tls), Protocol::Imap)
    }

    /// The files of a folder, "" for the inbox, as names with flags.
    pub fn files(&self, folder: &str) -> Vec<PathBuf> {
        let at = self.folder.path().join("home/Maildir").join(folder);
        ["cur", "new"]
            .iter()
            .filter_map(|part| fs::read_dir(at.join(part)).ok())
            .flatten()
            .map(|entry| entry.unwrap().path())
            .collect()
    }

    /// Another client in a session of its own: runs commands one after the other and returns what the server said.
    #[track_caller]
    pub fn other_client(&self, commands: &[&str]) -> String {
        let mut stream = TcpStream::connect((Ipv4Addr::LOCALHOST, self.plain)).unwrap();
        stream.set_read_timeout(Some(Duration::from_secs(60))).unwrap();
        let login = format!("LOGIN {USER} \"{PASSWORD}\"");
        let mut all = String::new();
        let mut said = Vec::new();
        for (n, command) in std::iter::once(login.as_str())
            .chain(commands.iter().copied())
            .enumerate()
        {
            stream
                .write_all(format!("t{n} {command}\r\n").as_bytes())
                .unwrap();
            let mut block = [0; 4096];
            while !String::from_utf8_lossy(&said).contains(&format!("t{n} ")) {
                let read = stream.read(&mut block).unwrap();
                assert!(read > 0, "{command}: {}", String::from_utf8_lossy(&said));
                said.extend_from_slice(&block[..read]);
            }
            let text = String::from_utf8_lossy(&said).into_owned();
            assert!(text.contains(&format!("t{n} OK")), "{command}: {text}");
            all.push_str(&text);
            said.clear();
        }
        all
    }

    /// Puts a message into a folder, as another client does.
    #[track_caller]
    pub fn add(&self, folder: &str, flags: &str, message: &str) {
        let text = message.replace('\n', "\r\n");
        let append = format!("APPEND {folder} ({flags}) {{{}+}}\r\n{text}", text.len());
        self.other_client(&[&append]);
    }

    /// Kills all of it, whatever it is at.
    pub fn kill(&mut self) {
        if let Some(mut child) = self.child.take() {
            if let Some(group) = rustix::process::Pid::from_raw(child.id() as i32) {
                let _ = rustix::process::kill_process_group(group, rustix::process::Signal::KILL);
            }
            let _ = child.wait();
        }
    }

    /// Ends it at once.
    pub fn down(&mut self) {
        if let Some(mut child) = self.child.take() {
            // Its own way to end takes its children along.
            if let Some(pid) = rustix::process::Pid::from_raw(child.id() as i32) {
                let _ = rustix::process::kill_process(pid, rustix::process::Signal::TERM);
            }
            let _ = child.wait();
        }
    }
}

impl Drop for Dovecot {
    fn drop(&mut self) {
        self.down();
    }
}

/// An SMTP server that keeps what it got.
pub struct Smtpd {
    folder: tempfile::TempDir,
    child: Child,
    /// Its port.
    pub port: u16,
}

const SMTPD: &str = r#"
import asyncio, base64, json, os, ssl, sys, uuid
from aiosmtpd.controller import Controller
from aiosmtpd.smtp import AuthResult
port, mode, cert, key, folder = int(sys.argv[1]), sys.argv[2], sys.argv[3], sys.argv[4], sys.argv[5]
def authenticate(server, session, envelope, mechanism, data):
    good = data.login == b"ada" and data.password == b"secret word"
    return AuthResult(success=good, handled=False)
class Handler:
    async def handle_RCPT(self, server, session, envelope, address, options):
        if address.startswith("nobody@"): return "550 5.1.1 No such person here"
        if address.startswith("later@"): return "450 4.2.1 Come back later"
        envelope.rcpt_tos.append(address)
        return "250 OK"
    async def handle_DATA(self, server, session, envelope):
        if b"Subject: refuse me" in envelope.content: return "554 5.7.1 Looks like junk"
        if b"Subject: defer me" in envelope.content: return "451 4.3.0 Try again"
        got = {"from": envelope.mail_from, "to": envelope.rcpt_tos, "content": envelope.content.decode("utf-8", "replace"), "tls": server.transport.get_extra_info("ssl_object") is not None}
        name = os.path.join(folder, uuid.uuid4().hex)
        with open(name + ".part", "w") as f: json.dump(got, f)
        os.rename(name + ".part", name + ".json")
        return "250 OK"
way = sys.argv[6]
def shown(begin):
    async def auth(self, server, args):
        with open(os.path.join(folder, "token")) as f: good = f.read()
        if base64.b64decode(args[1]).decode() == begin + "\x01auth=Bearer " + good + "\x01\x01":
            return AuthResult(success=True)
        # As the large providers do: why, for which the client has to thank, and only then the no.
        await server.challenge_auth('{"status":"401","schemes":"bearer"}')
        return AuthResult(success=False, handled=False)
    return auth
for name, begin in (("XOAUTH2", "user=ada"), ("OAUTHBEARER", "n,a=ada,")):
    if name == way: setattr(Handler, "auth_" + name, shown(begin))
context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
context.load_cert_chain(cert, key)
options = dict(authenticator=authenticate, data_size_limit=64000000)
if way: options["auth_exclude_mechanism"] = ["PLAIN", "LOGIN"]
if mode == "starttls": options.update(tls_context=context, require_starttls=True, auth_required=True)
elif mode == "tls": options.update(ssl_context=context, auth_require_tls=False, auth_required=True)
else: options.update(auth_require_tls=False, auth_required=True)
async def main():
    controller = Controller(Handler(), hostname="127.0.0.1", port=port, **options)
    controller.start()
    await asyncio.sleep(3600)
asyncio.run(main())
"#;

/// A message that arrived.
#[derive(Debug, serde::Deserialize)]
pub struct Got {
    /// The sender of the envelope.
    pub from: String,
    /// Its recipients.
    pub to: Vec<String>,
    /// The message.
    pub content: String,
    /// Whether it came over TLS.
    pub tls: bool,
}

impl Smtpd {
    /// Starts one: "starttls", "tls" or "plain"; or says aloud that it is not installed.
    pub fn start(mode: &str, certificate: &str) -> Option<Smtpd> {
        Smtpd::start_with(mode, certificate, "")
    }

    /// The same; it takes no passwords but tokens, shown in this way.
    pub fn start_with(mode: &str, certificate: &str, way: &str) -> Option<Smtpd> {
        let root = Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap();
        let venv =
            std::env::var_os("TIRO_TEST_PYTHON").map_or(root.join("target/test-python"), PathBuf::from);
        let python = venv.join("bin/python");
        let has = Command::new(&python)
            .args(["-c", "import aiosmtpd"])
            .stderr(Stdio::null())
            .status();
        if !has.is_ok_and(|status| status.success()) {
            absent("aiosmtpd");
            return None;
        }
        let folder = tempfile::tempdir().unwrap();
        let port = free_port();
        let log = folder.path().join("log");
        let mut child = Command::new(&python)
            .args(["-c", SMTPD, &port.to_string(), mode])
            .args([own(certificate), own("localhost.key"), folder.path().to_owned()])
            .arg(way)
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(fs::File::create(&log).unwrap())
            .spawn()
            .unwrap();
        await_port(port, &mut child, &log);
        Some(Smtpd { folder, child, port })
    }

    /// Kills it, whatever it is at.
    pub fn kill(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }

    /// From now on this is the token that it takes.
    pub fn takes(&self, token: &str) {
        fs::write(self.folder.path().join("token"), token).unwrap();
    }

    /// Everything that arrived.
    pub fn got(&self) -> Vec<Got> {
        fs::read_dir(self.folder.path())
            .unwrap()
            .map(|entry| entry.unwrap().path())
            .filter(|path| path.extension().is_some_and(|e| e == "json"))
            .map(|path| serde_json::from_slice(&fs::read(path).unwrap()).unwrap())
            .collect()
    }
}

impl Drop for Smtpd {
    fn drop(&mut self) {
        self.kill();
    }
}

/// A line to a port that is cut after so many bytes in one direction.
pub struct Line {
    /// Where to connect instead.
    pub port: u16,
    /// Bytes that still go to the server before everything is cut.
    pub up: Arc<AtomicU64>,
    /// Bytes that still come from it.
    pub down: Arc<AtomicU64>,
    /// Microseconds that every 4 KiB take in either direction.
    pub pace: Arc<AtomicU64>,
    /// All that went to the server, as whoever listens on the way reads it.
    pub heard: Arc<Mutex<Vec<u8>>>,
}

impl Line {
    /// A line that carries everything, to begin with.
    pub fn to(port: u16) -> Line {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
        let line = Line {
            port: listener.local_addr().unwrap().port(),
            up: Arc::new(AtomicU64::new(u64::MAX)),
            down: Arc::new(AtomicU64::new(u64::MAX)),
            pace: Arc::default(),
            heard: Arc::default(),
        };
        let (up, down, pace) = (
            Arc::clone(&line.up),
            Arc::clone(&line.down),
            Arc::clone(&line.pace),
        );
        let heard = Arc::clone(&line.heard);
        std::thread::spawn(move || {
            for client in listener.incoming().map_while(Result::ok) {
                let Ok(server) = TcpStream::connect((Ipv4Addr::LOCALHOST, port)) else {
                    continue;
                };
                carry(
                    client.try_clone().unwrap(),
                    server.try_clone().unwrap(),
                    Arc::clone(&up),
                    Arc::clone(&pace),
                    Some(Arc::clone(&heard)),
                );
                carry(server, client, Arc::clone(&down), Arc::clone(&pace), None);
            }
        });
        line
    }

    /// What was said to the server so far.
    pub fn heard(&self) -> String {
        String::from_utf8_lossy(&self.heard.lock().unwrap()).into_owned()
    }
}

fn carry(
    mut from: TcpStream,
    mut to: TcpStream,
    left: Arc<AtomicU64>,
    pace: Arc<AtomicU64>,
    heard: Option<Arc<Mutex<Vec<u8>>>>,
) {
    std::thread::spawn(move || {
        let mut block = [0; 4096];
        while let Ok(read @ 1..) = from.read(&mut block) {
            std::thread::sleep(Duration::from_micros(pace.load(Ordering::SeqCst)));
            let may = left.load(Ordering::SeqCst);
            let part = (read as u64).min(may);
            if let Some(heard) = &heard {
                heard.lock().unwrap().extend_from_slice(&block[..read]);
            }
            if to.write_all(&block[..part as usize]).is_err() {
                break;
            }
            if may != u64::MAX {
                left.store(may - part, Ordering::SeqCst);
            }
            if part < read as u64 || may == 0 {
                break;
            }
        }
        let _ = from.shutdown(Shutdown::Both);
        let _ = to.shutdown(Shutdown::Both);
    });
}
