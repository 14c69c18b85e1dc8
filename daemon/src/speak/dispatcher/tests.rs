//! The client of speech-dispatcher against servers that hang, lie and go away. The real one is in the tests of the whole.

use std::time::Instant;

use tokio::{
    io::{AsyncBufReadExt as _, AsyncWriteExt as _, BufReader},
    net::UnixListener,
};

use super::*;

/// Somebody who answers like the real server, up to an order for which this says something else.
async fn server(
    listener: UnixListener,
    odd: impl Fn(&str) -> Option<Vec<u8>> + Send + 'static,
) -> Vec<String> {
    let (stream, _) = listener.accept().await.unwrap();
    let mut stream = BufReader::new(stream);
    let (mut orders, mut number, mut line) = (Vec::new(), 0, Vec::new());
    while {
        line.clear();
        stream.read_until(b'\n', &mut line).await.unwrap_or(0) > 0
    } {
        let order = String::from_utf8_lossy(&line).trim_end().to_owned();
        orders.push(order.clone());
        let answer = match odd(&order) {
            Some(odd) => odd,
            None => match order.as_str() {
                "SPEAK" => b"230 OK RECEIVING DATA\r\n".to_vec(),
                "LIST OUTPUT_MODULES" => {
                    b"250-espeak-ng\r\n250-dummy\r\n250 OK MODULE LIST SENT\r\n".to_vec()
                }
                "." => {
                    number += 1;
                    format!(
                        "225-{number}\r\n225 OK MESSAGE QUEUED\r\n701-{number}\r\n701-1\r\n701 BEGIN\r\n\
                         700-{number}\r\n700-1\r\n700-mark\r\n700 INDEX MARK\r\n702-99\r\n702-1\r\n702 END\r\n\
                         702-{number}\r\n702-1\r\n702 END\r\n"
                    )
                    .into_bytes()
                }
                order if order.starts_with("SET SELF RATE") => b"409 ERR RATE NOT IN RANGE\r\n".to_vec(),
                order if order.starts_with("SET ") => b"208 OK SET\r\n".to_vec(),
                _ => continue,
            },
        };
        if answer.is_empty() || stream.write_all(&answer).await.is_err() {
            break;
        }
    }
    orders
}

struct Bench {
    _folder: tempfile::TempDir,
    voice: Dispatcher,
    server: tokio::task::JoinHandle<Vec<String>>,
}

fn bench(odd: impl Fn(&str) -> Option<Vec<u8>> + Send + 'static) -> Bench {
    let settings = Settings {
        name: "en-gb\r\nQUIT".to_owned(),
        rate: 2.0,
        volume: 0.5,
        ..Settings::default()
    };
    bench_with(settings, odd)
}

fn bench_with(settings: Settings, odd: impl Fn(&str) -> Option<Vec<u8>> + Send + 'static) -> Bench {
    let folder = tempfile::tempdir().unwrap();
    let socket = folder.path().join("speechd.sock");
    let listener = UnixListener::bind(&socket).unwrap();
    let settings = Settings {
        socket: Some(socket),
        ..settings
    };
    Bench {
        _folder: folder,
        voice: Dispatcher::of(&settings),
        server: tokio::spawn(server(listener, odd)),
    }
}

#[tokio::test]
async fn each_piece_is_one_message_and_cannot_be_an_order() {
    let bench = bench(|_| None);
    let pieces = Pieces::of([".hidden", "Two.\r\nQUIT", "."]);
    bench.voice.say(&pieces).await.unwrap();
    let orders = bench.server.await.unwrap();
    let text: Vec<&str> = orders
        .iter()
        .skip_while(|order| *order != "SPEAK")
        .map(String::as_str)
        .collect();
    assert_eq!(
        text,
        [
            "SPEAK", "..hidden", ".", "SPEAK", "Two.", "QUIT", ".", "SPEAK", "..", ".", "QUIT"
        ]
    );
    for order in [
        "SET SELF SSML_MODE off",
        "SET SELF RATE 77",
        "SET SELF VOLUME 0",
        "SET SELF SYNTHESIS_VOICE en-gb QUIT",
    ] {
        assert!(
            orders.iter().any(|sent| sent == order),
            "no {order} in {orders:?}"
        );
    }
}

#[tokio::test]
async fn what_nobody_wished_for_is_left_to_the_desktop() {
    let bench = bench_with(Settings::default(), |_| None);
    bench.voice.say(&Pieces::of(["One."])).await.unwrap();
    let orders = bench.server.await.unwrap();
    assert!(
        orders.iter().any(|order| order == "SET SELF LANGUAGE en"),
        "{orders:?}"
    );
    for what in ["RATE", "VOLUME", "SYNTHESIS_VOICE"] {
        assert!(
            !orders.iter().any(|order| order.contains(what)),
            "{what} in {orders:?}"
        );
    }
}

#[tokio::test]
async fn who_stops_listening_stops_the_server_too() {
    let bench = bench(|order| {
        (order == ".").then(|| b"225-1\r\n225 OK MESSAGE QUEUED\r\n701-1\r\n701-1\r\n701 BEGIN\r\n".to_vec())
    });
    let pieces = Pieces::of(["A long text."]);
    let saying = timeout(Duration::from_millis(300), bench.voice.say(&pieces)).await;
    assert!(saying.is_err(), "it was spoken: {saying:?}");
    let orders = bench.server.await.unwrap();
    assert_eq!(orders.last().unwrap(), "CANCEL SELF", "{orders:?}");
}

#[tokio::test]
async fn whatever_the_server_does_is_a_sentence_and_soon() {
    async fn trouble(odd: impl Fn(&str) -> Option<Vec<u8>> + Send + 'static) -> Trouble {
        let bench = bench(odd);
        let began = Instant::now();
        let trouble = bench.voice.say(&Pieces::of(["Hello."])).await.unwrap_err();
        assert!(began.elapsed() < Duration::from_secs(20), "{:?}", began.elapsed());
        trouble
    }
    #[track_caller]
    fn told(trouble: Trouble, expect: &str) {
        assert!(
            matches!(&trouble, Trouble::Failed(text) if text.contains(expect)),
            "{expect}: {trouble:?}"
        );
    }
    told(trouble(|_| Some(Vec::new())).await, "went away");
    told(
        trouble(|_| Some(b"\xff\xfe\0\n".to_vec())).await,
        "do not understand",
    );
    told(trouble(|_| Some(vec![b'x'; 100_000])).await, "no end");
    told(trouble(|_| Some(b"250-x\r\n".repeat(5000))).await, "no end");
    told(
        trouble(|order| (order == "SPEAK").then(|| b"300 ERR INTERNAL\r\n".to_vec())).await,
        "err internal",
    );
    told(
        trouble(|order| (order == ".").then(|| b"225 OK\r\n".to_vec())).await,
        "number",
    );
    told(
        trouble(|order| {
            (order == ".").then(|| b"225-1\r\n225 OK\r\n701-1\r\n701-1\r\n701 BEGIN\r\nwhat\r\n".to_vec())
        })
        .await,
        "do not understand",
    );
    let none =
        trouble(|order| (order == "LIST OUTPUT_MODULES").then(|| b"250-dummy\r\n250 OK\r\n".to_vec())).await;
    assert!(
        matches!(&none, Trouble::Absent(text) if text.contains("espeak-ng module")),
        "{none:?}"
    );
    let other = trouble(|order| {
        (order == ".").then(|| {
            b"225-1\r\n225 OK\r\n701-1\r\n701-1\r\n701 BEGIN\r\n703-1\r\n703-1\r\n703 CANCELED\r\n".to_vec()
        })
    })
    .await;
    assert_eq!(
        other,
        Trouble::Silenced,
        "the person pressed the key of their screen reader"
    );
}

#[tokio::test]
async fn a_server_that_hangs_is_given_up() {
    let folder = tempfile::tempdir().unwrap();
    let socket = folder.path().join("speechd.sock");
    // It takes the connection and never says anything.
    let _listener = UnixListener::bind(&socket).unwrap();
    let voice = Dispatcher::of(&Settings {
        socket: Some(socket.clone()),
        ..Settings::default()
    });
    let began = Instant::now();
    let trouble = voice.say(&Pieces::of(["Hello."])).await.unwrap_err();
    assert!(trouble.to_string().contains("does not answer"), "{trouble}");
    assert!(began.elapsed() < 2 * ANSWER, "{:?}", began.elapsed());
    let gone = Dispatcher::of(&Settings {
        socket: Some(folder.path().join("none")),
        ..Settings::default()
    });
    assert!(gone.there().await.is_err());
}

#[test]
fn the_address_is_the_environments() {
    let usual = || Some(PathBuf::from("/run/user/1"));
    let at = |given: &str| place(given.as_bytes(), usual(), || None).map(|path| path.display().to_string());
    let default = "/run/user/1/speech-dispatcher/speechd.sock";
    assert_eq!(at("").unwrap(), default);
    assert_eq!(at("unix_socket").unwrap(), default);
    assert_eq!(at("unix_socket:/a/b.sock").unwrap(), "/a/b.sock");
    for odd in ["inet_socket:evil.example:1", "unix_socket:relative", "x\ny"] {
        assert!(at(odd).is_err(), "{odd}");
    }
    assert!(place(b"", None, || None).is_err());
    assert_eq!(
        place(b"", None, || Some("/home/a/.cache".into())).unwrap(),
        PathBuf::from("/home/a/.cache/speech-dispatcher/speechd.sock")
    );
}

#[test]
fn speed_keeps_to_the_servers_bounds() {
    for (factor, expect) in [(1.0, 0), (0.5, -95), (0.1, -100), (2.0, 77), (9.0, 100)] {
        assert_eq!(rate(factor), expect);
    }
}
