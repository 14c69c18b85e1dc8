//! The weather against a small server: what it says, what it should not, nothing at all, too much, too slowly.

use std::{
    io::{BufRead as _, BufReader, Write as _},
    net::{TcpListener, TcpStream},
    sync::{Arc, Mutex},
    time::Instant,
};

use super::*;

/// A server that gives each request to a closure, and what was asked of it.
pub struct Server {
    pub url: String,
    pub asked: Arc<Mutex<Vec<String>>>,
}

/// Serves until the test ends.
pub fn serve(answer: impl Fn(&str, &mut TcpStream) + Send + 'static) -> Server {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}/v1/forecast", listener.local_addr().unwrap());
    let asked: Arc<Mutex<Vec<String>>> = Arc::default();
    let seen = Arc::clone(&asked);
    std::thread::spawn(move || {
        for stream in listener.incoming() {
            let mut stream = stream.unwrap();
            let mut lines = BufReader::new(stream.try_clone().unwrap()).lines();
            let first = lines.next().and_then(Result::ok).unwrap_or_default();
            for line in lines {
                if line.map_or(true, |line| line.is_empty()) {
                    break;
                }
            }
            seen.lock().unwrap().push(first.clone());
            answer(&first, &mut stream);
        }
    });
    Server { url, asked }
}

/// An answer with a body.
pub fn say(stream: &mut TcpStream, status: &str, body: &str) {
    let head = format!(
        "HTTP/1.1 {status}\r\nContent-Length: {}\r\nConnection: close\r\n\r\n",
        body.len()
    );
    // A client that has enough hangs up.
    let _ = stream.write_all(head.as_bytes());
    let _ = stream.write_all(body.as_bytes());
}

/// A forecast in the shape of the service, from Monday 23 November 2026 on.
pub fn body() -> String {
    let days: Vec<String> = (23..=30).map(|day| format!("\"2026-11-{day}\"")).collect();
    let hours: Vec<String> = (23..=30)
        .flat_map(|day| (0..24).map(move |hour| format!("\"2026-11-{day}T{hour:02}:00\"")))
        .collect();
    let each = |value: &str, count: usize| vec![value; count].join(",");
    format!(
        r#"{{"current":{{"time":"2026-11-23T09:30","temperature_2m":4.4,"weather_code":2,"wind_speed_10m":11.0}},
        "daily":{{"time":[{}],"weather_code":[61,{}],"temperature_2m_max":[7.6,{}],"temperature_2m_min":[-0.4,{}],
        "precipitation_probability_max":[80,{}],"wind_speed_10m_max":[20,{}]}},
        "hourly":{{"time":[{}],"weather_code":[{}],"temperature_2m":[{}],"precipitation_probability":[{}],"wind_speed_10m":[{}]}}}}"#,
        days.join(","),
        each("3", 7),
        each("10.2", 7),
        each("5.0", 7),
        each("10", 7),
        each("60", 7),
        hours.join(","),
        each("63", 192),
        each("6.0", 192),
        each("55", 192),
        each("9", 192),
    )
}

pub fn settings(server: &Server) -> Weather {
    Weather {
        enabled: true,
        url: server.url.clone(),
        places_url: server.url.replace("forecast", "search"),
        place: "Berlin".to_owned(),
        at: Some((52.52, 13.41)),
        imperial: false,
    }
}

fn now() -> Zoned {
    "2026-11-23T09:30:00[Europe/Berlin]".parse().unwrap()
}

fn home() -> Place {
    Place {
        name: "Berlin".to_owned(),
        latitude: 52.52,
        longitude: 13.41,
    }
}

#[test]
fn a_forecast_is_fetched_once_and_kept() {
    let cache = tempfile::tempdir().unwrap();
    let server = serve(|_, stream| say(stream, "200 OK", &body()));
    let settings = settings(&server);
    let get = |now: &Zoned| forecast(&settings, cache.path(), &home(), now).unwrap();
    let (first, old) = get(&now());
    assert!(!old);
    assert_eq!(
        (first.days.len(), first.days[0].high, first.days[0].low),
        (8, Some(7.6), Some(-0.4))
    );
    assert_eq!(first.now.as_ref().unwrap().temperature, Some(4.4));
    let (again, _) = get(&now());
    assert_eq!(again, first);
    assert_eq!(
        server.asked.lock().unwrap().len(),
        1,
        "the second time it is known"
    );
    get(&now().checked_add(jiff::Span::new().minutes(31)).unwrap());
    let asked = server.asked.lock().unwrap().clone();
    assert_eq!(asked.len(), 2);
    assert!(
        asked[0].starts_with("GET /v1/forecast?latitude=52.5200&longitude=13.4100&"),
        "{asked:?}"
    );
    assert!(asked[0].contains("forecast_days=16"), "{asked:?}");
}

#[test]
fn an_old_forecast_is_better_than_none_for_a_day() {
    let cache = tempfile::tempdir().unwrap();
    let up = Arc::new(std::sync::atomic::AtomicBool::new(true));
    let here = Arc::clone(&up);
    let server = serve(
        move |_, stream| match here.load(std::sync::atomic::Ordering::Acquire) {
            true => say(stream, "200 OK", &body()),
            false => say(stream, "503 Down", ""),
        },
    );
    let settings = settings(&server);
    forecast(&settings, cache.path(), &home(), &now()).unwrap();
    up.store(false, std::sync::atomic::Ordering::Release);
    let later = |hours: i64| now().checked_add(jiff::Span::new().hours(hours)).unwrap();
    let (_, old) = forecast(&settings, cache.path(), &home(), &later(5)).unwrap();
    assert!(old);
    let error = forecast(&settings, cache.path(), &home(), &later(30))
        .unwrap_err()
        .to_string();
    assert_eq!(
        error,
        "The weather service answered with status 503. Try again later."
    );
}

#[test]
fn whatever_it_sends_is_survived() {
    let bodies: [(&str, String); 9] = [
        ("", String::new()),
        ("text", "It will rain.".to_owned()),
        ("html", "<html>".repeat(1000)),
        ("null", "null".to_owned()),
        ("empty", r#"{"daily":{"time":[]}}"#.to_owned()),
        ("shape", r#"{"daily":{"time":[1,2,3]}}"#.to_owned()),
        (
            "absurd",
            r#"{"daily":{"time":["2026-11-23"],"temperature_2m_max":[1e300]}}"#.to_owned(),
        ),
        ("deep", "[".repeat(100_000)),
        ("huge", "x".repeat(3 << 20)),
    ];
    for (name, text) in bodies {
        let cache = tempfile::tempdir().unwrap();
        let server = serve(move |_, stream| say(stream, "200 OK", &text));
        let error = forecast(&settings(&server), cache.path(), &home(), &now())
            .unwrap_err()
            .to_string();
        assert!(error.contains("what is no forecast"), "{name}: {error}");
    }
    // One that points elsewhere is not followed: the place would be told to whoever it names.
    let cache = tempfile::tempdir().unwrap();
    let server = serve(|_, stream| {
        let _ = stream
            .write_all(b"HTTP/1.1 302 Found\r\nLocation: http://127.0.0.1:1/\r\nContent-Length: 0\r\n\r\n");
    });
    let error = forecast(&settings(&server), cache.path(), &home(), &now())
        .unwrap_err()
        .to_string();
    assert!(error.contains("status 302"), "{error}");
}

#[test]
fn one_that_never_ends_is_left() {
    let cache = tempfile::tempdir().unwrap();
    let server = serve(|_, stream| {
        let _ = stream.write_all(b"HTTP/1.1 200 OK\r\nContent-Length: 900000\r\n\r\n");
        while stream.write_all(b" ").is_ok() {
            std::thread::sleep(Duration::from_millis(50));
        }
    });
    let started = Instant::now();
    let error = forecast(&settings(&server), cache.path(), &home(), &now())
        .unwrap_err()
        .to_string();
    assert!(error.contains("cannot be reached"), "{error}");
    assert!(started.elapsed() < PATIENCE * 4, "{:?}", started.elapsed());
}

#[test]
fn nothing_is_sent_where_it_should_not_be() {
    let cache = tempfile::tempdir().unwrap();
    let server = serve(|_, stream| say(stream, "200 OK", &body()));
    let off = Weather {
        enabled: false,
        ..settings(&server)
    };
    let error = place(&off, cache.path(), None).unwrap_err().to_string();
    assert!(error.contains("weather.enabled"), "{error}");
    assert!(server.asked.lock().unwrap().is_empty());
    for url in ["http://weather.example/v1", "file:///etc/passwd", "", "weather"] {
        let odd = Weather {
            url: url.to_owned(),
            ..settings(&server)
        };
        let error = forecast(&odd, cache.path(), &home(), &now())
            .unwrap_err()
            .to_string();
        assert!(error.contains("in the config is none"), "{url}: {error}");
    }
}

#[test]
fn places_are_looked_up_once_and_only_where_they_are_not_known() {
    let cache = tempfile::tempdir().unwrap();
    let server = serve(|line, stream| match line.contains("name=Paris") {
        true => say(
            stream,
            "200 OK",
            r#"{"results":[{"name":"Paris","latitude":48.85,"longitude":2.35}]}"#,
        ),
        false => say(stream, "200 OK", "{}"),
    });
    let settings = settings(&server);
    let find = |said: Option<&str>| place(&settings, cache.path(), said).map(|place| place.name);
    assert_eq!(find(None).unwrap(), "Berlin");
    assert_eq!(find(Some("berlin")).unwrap(), "Berlin");
    assert_eq!(find(Some("here")).unwrap(), "Berlin");
    assert!(
        server.asked.lock().unwrap().is_empty(),
        "the own place is in the config"
    );
    assert_eq!(find(Some("Paris")).unwrap(), "Paris");
    assert_eq!(find(Some("paris")).unwrap(), "Paris");
    assert_eq!(server.asked.lock().unwrap().len(), 1);
    assert!(
        find(Some("Atlantis"))
            .unwrap_err()
            .to_string()
            .contains("knows no place called Atlantis")
    );
    let nowhere = Weather {
        place: String::new(),
        at: None,
        ..settings.clone()
    };
    assert!(
        place(&nowhere, cache.path(), None)
            .unwrap_err()
            .to_string()
            .contains("weather.place")
    );
}
