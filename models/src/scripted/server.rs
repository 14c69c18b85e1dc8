//! A model server that follows a script, well or badly behaved, on a port of this machine. It speaks as much HTTP as one
//! request a connection needs.

use std::{
    io::{self, BufRead as _, BufReader, Read as _, Write as _},
    net::{Ipv4Addr, SocketAddr, TcpListener, TcpStream},
    sync::{
        Arc, Mutex, MutexGuard, PoisonError,
        atomic::{AtomicBool, AtomicUsize, Ordering},
    },
    thread,
    time::Duration,
};

use serde_json::{Value, json};

/// Longest time for anything here, so that no test of a broken client goes on for ever.
const PATIENCE: Duration = Duration::from_secs(60);

/// A request as it came.
#[derive(Debug, Clone, Default)]
pub struct Heard {
    /// `POST /v1/chat/completions`.
    pub line: String,
    /// The headers, as they came.
    pub head: String,
    /// The body, if it is JSON.
    pub body: Value,
}

impl Heard {
    /// Names of the tools that were offered, in their order.
    pub fn tools(&self) -> Vec<&str> {
        let tools = self.body["tools"].as_array().into_iter().flatten();
        tools
            .filter_map(|tool| tool["function"]["name"].as_str())
            .collect()
    }

    /// The last message.
    pub fn last(&self) -> &Value {
        let messages = self.body["messages"].as_array();
        messages.and_then(|all| all.last()).unwrap_or(&Value::Null)
    }
}

/// What the server does with a request.
#[derive(Debug, Clone)]
pub enum Act {
    /// Answers with a status, headers (each with its line end) and a body, and closes.
    Answer(u16, String, Vec<u8>),
    /// Sends these bytes, each piece by itself, and closes.
    Raw(Vec<Vec<u8>>),
    /// Sends these bytes and then nothing more, until the client goes.
    Hang(Vec<u8>),
    /// Sends these bytes again and again, until the client goes.
    Flood(Vec<u8>, Vec<u8>),
}

/// The head of an answer that streams and has no end but that of the connection.
pub const STREAM: &str = "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nConnection: close\r\n\r\n";

impl Act {
    /// A JSON document with this status.
    pub fn json(code: u16, value: &Value) -> Act {
        let kind = "Content-Type: application/json\r\n".to_owned();
        Act::Answer(code, kind, value.to_string().into_bytes())
    }

    /// A well-behaved stream of these words.
    pub fn says(text: &str) -> Act {
        let pieces = text.split_inclusive(' ').map(|word| json!({"content": word}));
        Act::stream(pieces.collect(), "stop")
    }

    /// A well-behaved stream that calls a tool.
    pub fn calls(name: &str, arguments: &Value) -> Act {
        let arguments = arguments.to_string();
        let (begin, rest) = arguments.split_at(1);
        let piece = |function: Value| json!({"tool_calls": [{"index": 0, "function": function}]});
        let pieces = vec![
            json!({"role": "assistant", "content": null}),
            piece(json!({"name": name, "arguments": ""})),
            piece(json!({"arguments": begin})),
            piece(json!({"arguments": rest})),
        ];
        Act::stream(pieces, "tool_calls")
    }

    /// A well-behaved stream of these deltas.
    pub fn stream(deltas: Vec<Value>, end: &str) -> Act {
        let mut bytes = vec![STREAM.as_bytes().to_vec()];
        let choice = |delta: Value, end: Value| json!({"choices": [{"index": 0, "delta": delta, "finish_reason": end}]});
        let usage = json!({"choices": [], "usage": {"prompt_tokens": 50, "completion_tokens": 7}});
        let pieces = deltas.into_iter().map(|delta| choice(delta, Value::Null));
        for piece in pieces.chain([choice(json!({}), end.into()), usage]) {
            bytes.push(format!("data: {piece}\n\n").into_bytes());
        }
        bytes.push(b"data: [DONE]\n\n".to_vec());
        Act::Raw(bytes)
    }
}

/// A running server; it ends when dropped.
pub struct ScriptedServer {
    address: SocketAddr,
    shared: Arc<Shared>,
}

type Script = Box<dyn FnMut(&Heard) -> Act + Send>;

struct Shared {
    script: Mutex<Script>,
    heard: Mutex<Vec<Heard>>,
    left: AtomicUsize,
    over: AtomicBool,
}

impl ScriptedServer {
    /// Answers by the request.
    ///
    /// # Errors
    /// When there is no port.
    pub fn start(script: impl FnMut(&Heard) -> Act + Send + 'static) -> io::Result<ScriptedServer> {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0))?;
        let address = listener.local_addr()?;
        let shared = Arc::new(Shared {
            script: Mutex::new(Box::new(script)),
            heard: Mutex::default(),
            left: AtomicUsize::new(0),
            over: AtomicBool::new(false),
        });
        let serving = Arc::clone(&shared);
        thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                if serving.over.load(Ordering::SeqCst) {
                    return;
                }
                let shared = Arc::clone(&serving);
                thread::spawn(move || shared.serve(&stream));
            }
        });
        Ok(ScriptedServer { address, shared })
    }

    /// Does these things one after the other, and then says that the script is at its end.
    ///
    /// # Errors
    /// When there is no port.
    pub fn acts(acts: impl IntoIterator<Item = Act>) -> io::Result<ScriptedServer> {
        let mut acts: std::collections::VecDeque<Act> = acts.into_iter().collect();
        ScriptedServer::start(move |_| {
            let over = json!({"error": {"message": "the script is at its end"}});
            acts.pop_front().unwrap_or_else(|| Act::json(500, &over))
        })
    }

    /// `http://127.0.0.1:PORT`.
    pub fn origin(&self) -> String {
        format!("http://{}", self.address)
    }

    /// Every request so far, oldest first.
    pub fn heard(&self) -> Vec<Heard> {
        lock(&self.shared.heard).clone()
    }

    /// How many clients left before an answer was over.
    pub fn left(&self) -> usize {
        self.shared.left.load(Ordering::SeqCst)
    }
}

impl Drop for ScriptedServer {
    fn drop(&mut self) {
        self.shared.over.store(true, Ordering::SeqCst);
        // Wakes the loop, so that it sees that it is over.
        let _ = TcpStream::connect(self.address);
    }
}

impl Shared {
    fn serve(&self, stream: &TcpStream) {
        let _ = stream.set_read_timeout(Some(PATIENCE));
        let _ = stream.set_write_timeout(Some(PATIENCE));
        let _ = stream.set_nodelay(true);
        let Ok(heard) = read(stream) else { return };
        let act = (lock(&self.script))(&heard);
        lock(&self.heard).push(heard);
        let mut to = stream;
        let sent = match act {
            Act::Answer(code, headers, body) => {
                let head = format!(
                    "HTTP/1.1 {code} X\r\n{headers}Content-Length: {}\r\nConnection: close\r\n\r\n",
                    body.len()
                );
                to.write_all(head.as_bytes()).and_then(|()| to.write_all(&body))
            }
            Act::Raw(pieces) => pieces.iter().try_for_each(|piece| to.write_all(piece)),
            Act::Hang(begin) => to.write_all(&begin).and_then(|()| {
                // Returns when the client closes its side.
                let _ = to.read(&mut [0]);
                Err(io::ErrorKind::ConnectionReset.into())
            }),
            Act::Flood(begin, again) => to.write_all(&begin).and_then(|()| {
                loop {
                    if let Err(error) = to.write_all(&again) {
                        break Err(error);
                    }
                }
            }),
        };
        if sent.is_err() {
            self.left.fetch_add(1, Ordering::SeqCst);
        }
    }
}

fn read(stream: &TcpStream) -> io::Result<Heard> {
    let mut from = BufReader::new(stream);
    let (mut line, mut head) = (String::new(), String::new());
    from.read_line(&mut line)?;
    loop {
        let mut header = String::new();
        if from.read_line(&mut header)? == 0 || header.trim().is_empty() {
            break;
        }
        head.push_str(&header);
    }
    let length = head.lines().find_map(|line| {
        let (name, value) = line.split_once(':')?;
        let length = value.trim().parse().ok()?;
        name.eq_ignore_ascii_case("content-length").then_some(length)
    });
    let mut body = vec![0; usize::min(length.unwrap_or(0), 64 << 20)];
    from.read_exact(&mut body)?;
    let line = line.trim_end().trim_end_matches(" HTTP/1.1").to_owned();
    Ok(Heard {
        line,
        head,
        body: serde_json::from_slice(&body).unwrap_or_default(),
    })
}

fn lock<T: ?Sized>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
