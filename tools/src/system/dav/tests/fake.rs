//! A DAV server in memory with one calendar, whose line can be cut and whose habits can be chosen.

use std::{
    collections::BTreeMap,
    sync::{Mutex, MutexGuard},
};

use super::super::{NetError, Request, Response, Transport};

pub const ORIGIN: &str = "https://dav.test";
const CALENDAR: &str = "/u/cal/";

#[derive(Default)]
pub struct Fake(Mutex<State>);

#[derive(Default)]
struct State {
    items: BTreeMap<String, (u64, String)>,
    /// When each address last changed.
    log: BTreeMap<String, u64>,
    clock: u64,
    /// Tokens older than this are not known any more.
    oldest: u64,
    read_only: bool,
    no_sync: bool,
    rewriting: bool,
    requests: usize,
    /// Requests until the line breaks, and whether the last one is carried out.
    cut: Option<(usize, bool)>,
}

impl Fake {
    fn state(&self) -> MutexGuard<'_, State> {
        self.0.lock().unwrap()
    }

    pub fn put(&self, name: &str, text: &str) {
        self.state().put(name, text);
    }

    pub fn remove(&self, name: &str) {
        self.state().remove(name);
    }

    pub fn texts(&self) -> Vec<String> {
        self.state()
            .items
            .values()
            .map(|(_, text)| text.clone())
            .collect()
    }

    pub fn requests(&self) -> usize {
        self.state().requests
    }

    pub fn read_only(&self, yes: bool) {
        self.state().read_only = yes;
    }

    pub fn without_sync(&self, yes: bool) {
        self.state().no_sync = yes;
    }

    pub fn silent_and_rewriting(&self, yes: bool) {
        self.state().rewriting = yes;
    }

    pub fn forget_tokens(&self) {
        let mut state = self.state();
        state.oldest = state.clock + 1;
        state.clock += 1;
    }

    pub fn cut(&self, requests: usize, after: bool) {
        self.state().cut = Some((requests, after));
    }

    pub fn mend(&self) {
        self.state().cut = None;
    }
}

impl State {
    fn put(&mut self, name: &str, text: &str) -> u64 {
        self.clock += 1;
        self.items.insert(name.to_owned(), (self.clock, text.to_owned()));
        self.log.insert(name.to_owned(), self.clock);
        self.clock
    }

    fn remove(&mut self, name: &str) {
        self.clock += 1;
        self.items.remove(name);
        self.log.insert(name.to_owned(), self.clock);
    }
}

impl Transport for Fake {
    fn send(&self, request: &Request) -> Result<Response, NetError> {
        let mut state = self.state();
        state.requests += 1;
        let broken = || NetError::Unreachable {
            origin: ORIGIN.into(),
            why: "cut".into(),
        };
        let carry_out = match &mut state.cut {
            Some((0, after)) => Some(*after),
            Some((left, _)) => {
                *left -= 1;
                None
            }
            None => None,
        };
        match carry_out {
            Some(false) => Err(broken()),
            Some(true) => {
                // Only the one request: what comes after does not arrive.
                state.cut = Some((0, false));
                answer(&mut state, request);
                Err(broken())
            }
            None => Ok(answer(&mut state, request)),
        }
    }
}

fn answer(state: &mut State, request: &Request) -> Response {
    let status = |status| Response {
        status,
        ..Response::default()
    };
    let header = |name: &str| {
        let found = request.headers.iter().find(|(n, _)| *n == name);
        found.map(|(_, value)| value.as_str())
    };
    let body = String::from_utf8_lossy(&request.body).into_owned();
    let item = request
        .path
        .strip_prefix(CALENDAR)
        .filter(|rest| !rest.is_empty());
    match (request.method, request.path.as_str(), item) {
        ("PROPFIND", "/.well-known/caldav", _) => Response {
            location: Some("/".into()),
            ..status(301)
        },
        ("PROPFIND", "/", _) => list(
            &[(
                "/",
                "<d:current-user-principal><d:href>/u/</d:href></d:current-user-principal>".into(),
            )],
            None,
        ),
        ("PROPFIND", "/u/", _) if header("Depth") == Some("0") => list(
            &[(
                "/u/",
                "<c:calendar-home-set><d:href>/u/</d:href></c:calendar-home-set>".into(),
            )],
            None,
        ),
        ("PROPFIND", "/u/", _) => {
            let privilege = if state.read_only { "read" } else { "all" };
            let calendar = format!(
                "<d:resourcetype><d:collection/><c:calendar/></d:resourcetype><d:displayname>Cal</d:displayname>\
                 <d:current-user-privilege-set><d:privilege><d:{privilege}/></d:privilege></d:current-user-privilege-set>"
            );
            list(
                &[
                    ("/u/", "<d:resourcetype><d:collection/></d:resourcetype>".into()),
                    (CALENDAR, calendar),
                ],
                None,
            )
        }
        ("PROPFIND", CALENDAR, _) => {
            let rows: Vec<(String, String)> = state
                .items
                .iter()
                .map(|(name, (etag, _))| row(name, *etag))
                .collect();
            list(
                &rows
                    .iter()
                    .map(|(h, p)| (h.as_str(), p.clone()))
                    .collect::<Vec<_>>(),
                None,
            )
        }
        ("REPORT", CALENDAR, _) if body.contains("sync-collection") => {
            let token = body
                .split("<d:sync-token>")
                .nth(1)
                .unwrap()
                .split('<')
                .next()
                .unwrap()
                .to_owned();
            let since: u64 = token.parse().unwrap_or(0);
            if state.no_sync || (!token.is_empty() && since < state.oldest) {
                return status(403);
            }
            let changed = state
                .log
                .iter()
                .filter(|(_, when)| token.is_empty() || **when > since);
            let rows: Vec<(String, String)> = changed
                .filter_map(|(name, _)| match state.items.get(name) {
                    Some((etag, _)) => Some(row(name, *etag)),
                    None if token.is_empty() => None,
                    None => Some((format!("{CALENDAR}{name}"), String::new())),
                })
                .collect();
            let rows: Vec<_> = rows.iter().map(|(h, p)| (h.as_str(), p.clone())).collect();
            list(&rows, Some(state.clock))
        }
        ("REPORT", CALENDAR, _) => {
            let wanted = body
                .split("<d:href>")
                .skip(1)
                .filter_map(|part| part.split('<').next());
            let rows: Vec<(String, String)> = wanted
                .map(|href| {
                    let name = href.strip_prefix(CALENDAR).unwrap();
                    match state.items.get(name) {
                        Some((etag, text)) => {
                            let text = text.replace('&', "&amp;").replace('<', "&lt;");
                            (
                                href.to_owned(),
                                format!("{}<c:calendar-data>{text}</c:calendar-data>", row(name, *etag).1),
                            )
                        }
                        None => (href.to_owned(), String::new()),
                    }
                })
                .collect();
            list(
                &rows
                    .iter()
                    .map(|(h, p)| (h.as_str(), p.clone()))
                    .collect::<Vec<_>>(),
                None,
            )
        }
        ("GET", _, Some(name)) => match state.items.get(name) {
            Some((etag, text)) => Response {
                etag: Some(format!("\"{etag}\"")),
                body: text.clone().into_bytes(),
                ..status(200)
            },
            None => status(404),
        },
        ("PUT" | "DELETE", _, Some(name)) => {
            let now = state.items.get(name).map(|(etag, _)| format!("\"{etag}\""));
            let allowed = match (header("If-Match"), header("If-None-Match")) {
                (Some(wanted), None) => now.as_deref() == Some(wanted),
                (None, Some("*")) => now.is_none(),
                _ => panic!("a change without a guard"),
            };
            match (allowed, state.read_only, request.method) {
                (_, true, _) => status(403),
                (false, _, "DELETE") if now.is_none() => status(404),
                (false, ..) => status(412),
                (true, _, "DELETE") => {
                    assert_eq!(
                        header("Schedule-Reply"),
                        Some("F"),
                        "the organizer would hear of it"
                    );
                    state.remove(name);
                    status(204)
                }
                (true, ..) => {
                    let text = match state.rewriting {
                        true => body.replace("-//Test//EN", "-//Server//EN"),
                        false => body,
                    };
                    let etag = state.put(name, &text);
                    Response {
                        etag: (!state.rewriting).then(|| format!("\"{etag}\"")),
                        ..status(201)
                    }
                }
            }
        }
        _ => status(404),
    }
}

fn row(name: &str, etag: u64) -> (String, String) {
    (
        format!("{CALENDAR}{name}"),
        format!("<d:getetag>\"{etag}\"</d:getetag>"),
    )
}

/// Rows of address and properties; without properties the address is gone.
fn list(rows: &[(&str, String)], token: Option<u64>) -> Response {
    let mut body = "<d:multistatus xmlns:d=\"DAV:\" xmlns:c=\"urn:ietf:params:xml:ns:caldav\">".to_owned();
    for (href, properties) in rows {
        let inner = match properties.is_empty() {
            true => "<d:status>HTTP/1.1 404 Not Found</d:status>".to_owned(),
            false => format!(
                "<d:propstat><d:prop>{properties}</d:prop><d:status>HTTP/1.1 200 OK</d:status></d:propstat>"
            ),
        };
        body.push_str(&format!(
            "<d:response><d:href>{href}</d:href>{inner}</d:response>"
        ));
    }
    if let Some(token) = token {
        body.push_str(&format!("<d:sync-token>{token}</d:sync-token>"));
    }
    body.push_str("</d:multistatus>");
    Response {
        status: 207,
        body: body.into_bytes(),
        ..Response::default()
    }
}
