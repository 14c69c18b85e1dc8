//! What a DAV server can do for us: find collections, say what changed, give, take and remove items.

use std::collections::{BTreeMap, BTreeSet};

use super::{
    DavError, Kind,
    http::{NetError, Request, Response, Transport},
    names,
    plan::Changes,
    xml::{self, Entry, Multistatus},
};
use crate::system::vdir::{MAX_FILE, MAX_FILES};

/// A listing of 50,000 items takes about 15 MB.
const MAX_LISTING: u64 = 64 * 1024 * 1024;
/// Any answer that nobody reads for its content.
const MAX_WORDS: u64 = 1024 * 1024;
/// As many pages as a listing may come in.
const MAX_PAGES: usize = 1000;
/// As many redirects as are followed.
const MAX_REDIRECTS: usize = 5;
/// As many collections as an account may have.
const MAX_COLLECTIONS: usize = 500;

/// A server, and who we are there.
pub struct Client<'t> {
    transport: &'t dyn Transport,
    origin: String,
}

/// A calendar or an address book on the server.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Remote {
    /// Its path, with a slash at the end.
    pub href: String,
    /// What it is.
    pub kind: Kind,
    /// What the person calls it.
    pub name: Option<String>,
    /// `#rrggbb` or `#rrggbbaa`.
    pub color: Option<String>,
    /// What a calendar may hold, in capitals; empty when the server does not say.
    pub components: Vec<String>,
    /// Whether we may change it.
    pub writable: bool,
}

/// What came for one address.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Fetched {
    /// The item and its version.
    Item {
        /// Its version; empty when the server did not say.
        etag: String,
        /// What it holds.
        bytes: Vec<u8>,
    },
    /// It is no longer there.
    Gone,
    /// The server has it and cannot give it, or it is too large: why, as the end of a sentence.
    Bad(String),
}

/// How a change ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Changed {
    /// It holds; the new version when the server named it.
    Done(Option<String>),
    /// Somebody else was there first.
    Overtaken,
    /// The server does not want it: why.
    Refused(String),
}

/// What a change may replace.
#[derive(Debug, Clone, Copy)]
pub enum Guard<'e> {
    /// Nothing may be there.
    New,
    /// Only this version.
    Over(&'e str),
}

impl<'t> Client<'t> {
    /// Speaks to `origin` (`https://host:port`).
    pub fn new(transport: &'t dyn Transport, origin: &str) -> Client<'t> {
        Client {
            transport,
            origin: origin.to_owned(),
        }
    }

    /// The calendars or address books at and behind `path`: RFC 6764, section 6, then RFC 4791, section 6.2.1, and
    /// RFC 6352, section 7.1.1.
    ///
    /// # Errors
    /// When the server cannot be reached, does not know us, or has nothing of the kind.
    pub fn discover(&self, path: &str, kind: Kind) -> Result<Vec<Remote>, DavError> {
        let (home, well_known) = match kind {
            Kind::Calendar => ("c:calendar-home-set", "/.well-known/caldav"),
            Kind::Contacts => ("a:addressbook-home-set", "/.well-known/carddav"),
        };
        // A bare host says where to ask; a path is asked itself first, because somebody chose it.
        let starts = match path.trim_end_matches('/') {
            "" => [well_known, "/"],
            _ => [path, well_known],
        };
        let mut refused = None;
        for start in starts {
            let (path, entry) = match self.whoami(start, home) {
                Ok(found) => found,
                Err(e @ DavError::Answer { .. }) => {
                    refused.get_or_insert(e);
                    continue;
                }
                Err(e) => return Err(e),
            };
            if wanted(&entry, kind) {
                return Ok(self.collections(&path, 0, kind)?.0);
            }
            let mut homes = entry.homes;
            if let (true, Some(principal)) = (homes.is_empty(), entry.principal) {
                let principal = self.place(&principal, &path)?;
                homes = self.whoami(&principal, home)?.1.homes;
            }
            if homes.is_empty() && start == path.as_str() && path != "/" {
                // A folder of calendars that names no person.
                let (found, _) = self.collections(&path, 1, kind)?;
                if !found.is_empty() {
                    return Ok(found);
                }
            }
            let mut all = Vec::new();
            for home in &homes {
                all.extend(self.collections(&self.place(home, &path)?, 1, kind)?.0);
            }
            if !homes.is_empty() {
                all.truncate(MAX_COLLECTIONS);
                return Ok(all);
            }
        }
        match refused {
            Some(e @ DavError::Answer { status: 500.., .. }) => Err(e),
            _ => Ok(Vec::new()),
        }
    }

    /// What changed since the token; everything where there is none, or where the server does not take it any more.
    ///
    /// # Errors
    /// When the server cannot be reached or says what cannot be understood.
    pub fn changes(&self, collection: &str, token: Option<&str>) -> Result<Changes, DavError> {
        if let Some(token) = token
            && let Some(changes) = self.synced(collection, token)?
        {
            return Ok(changes);
        }
        if let Some(changes) = self.synced(collection, "")? {
            return Ok(changes);
        }
        let body = xml::propfind(&["d:getetag", "d:resourcetype"]);
        let list = self
            .multistatus("PROPFIND", collection, "1", body, MAX_LISTING)?
            .1;
        let mut changes = Changes {
            full: true,
            ..Changes::default()
        };
        self.take(collection, list, &mut changes)?;
        Ok(changes)
    }

    /// The content of these items, in one request; one by one where the server or its answer breaks on one of them.
    ///
    /// # Errors
    /// When the server cannot be reached.
    pub fn get_many(
        &self,
        collection: &Remote,
        hrefs: &[String],
    ) -> Result<BTreeMap<String, Fetched>, DavError> {
        let body = xml::multiget(
            collection.kind == Kind::Calendar,
            hrefs.iter().map(String::as_str),
        );
        let list = match self.multistatus("REPORT", &collection.href, "1", body, MAX_LISTING) {
            Ok((_, list)) => list,
            Err(
                DavError::Answer { .. } | DavError::Net(NetError::TooBig { .. }) | DavError::Garbled { .. },
            ) => Multistatus::default(),
            Err(e) => return Err(e),
        };
        let mut found = BTreeMap::new();
        for entry in list.entries {
            let Ok(href) = names::path(&entry.href, &self.origin, &collection.href) else {
                continue;
            };
            let fetched = match (entry.data, entry.status) {
                (Some(data), _) if data.len() as u64 > MAX_FILE => too_large(),
                (Some(data), _) => Fetched::Item {
                    etag: entry.etag.unwrap_or_default(),
                    bytes: data.into_bytes(),
                },
                (None, Some(404 | 410)) => Fetched::Gone,
                _ => continue,
            };
            found.insert(href, fetched);
        }
        found.retain(|href, _| hrefs.contains(href));
        for href in hrefs {
            if !found.contains_key(href) {
                found.insert(href.clone(), self.get(href)?);
            }
        }
        Ok(found)
    }

    /// One item.
    ///
    /// # Errors
    /// When the server cannot be reached.
    pub fn get(&self, href: &str) -> Result<Fetched, DavError> {
        let answer = match self.send("GET", href, Vec::new(), Vec::new(), MAX_FILE) {
            Ok(answer) => answer,
            Err(NetError::TooBig { .. }) => return Ok(too_large()),
            Err(e) => return Err(e.into()),
        };
        match answer.status {
            200..=299 => Ok(Fetched::Item {
                etag: answer.etag.unwrap_or_default(),
                bytes: answer.body,
            }),
            404 | 410 => Ok(Fetched::Gone),
            401 | 429 | 503 => Err(self.refusal(href, &answer)),
            status => Ok(Fetched::Bad(format!(
                "cannot be given by the server (status {status})"
            ))),
        }
    }

    /// Writes an item.
    ///
    /// # Errors
    /// When the server cannot be reached or does not know us any more.
    pub fn put(&self, href: &str, kind: Kind, bytes: &[u8], guard: Guard<'_>) -> Result<Changed, DavError> {
        let media = match kind {
            Kind::Calendar => "text/calendar; charset=utf-8",
            Kind::Contacts => "text/vcard; charset=utf-8",
        };
        let guard = match guard {
            Guard::New => ("If-None-Match", "*".to_owned()),
            Guard::Over(etag) => ("If-Match", etag.to_owned()),
        };
        let headers = vec![("Content-Type", media.to_owned()), guard];
        let answer = self.send("PUT", href, headers, bytes.to_vec(), MAX_WORDS)?;
        self.changed(href, answer)
    }

    /// Removes an item. Nobody is told by that: that an invitation leaves this calendar does not decline it.
    ///
    /// # Errors
    /// As `put`.
    pub fn delete(&self, href: &str, kind: Kind, etag: &str) -> Result<Changed, DavError> {
        let mut headers = vec![("If-Match", etag.to_owned())];
        if kind == Kind::Calendar {
            // RFC 6638, section 8.1; it has no meaning for an event that nobody or oneself organizes.
            headers.push(("Schedule-Reply", "F".to_owned()));
        }
        let answer = self.send("DELETE", href, headers, Vec::new(), MAX_WORDS)?;
        match answer.status {
            404 | 410 => Ok(Changed::Done(None)),
            _ => self.changed(href, answer),
        }
    }

    fn changed(&self, href: &str, answer: Response) -> Result<Changed, DavError> {
        match answer.status {
            200..=299 => Ok(Changed::Done(answer.etag)),
            404 | 410 | 412 => Ok(Changed::Overtaken),
            401 | 429 | 503 => Err(self.refusal(href, &answer)),
            status => Ok(Changed::Refused(match status {
                403 => "the server does not allow it (status 403)".to_owned(),
                409 => "it is in the way of another item there (status 409)".to_owned(),
                413 => "it is too large for the server (status 413)".to_owned(),
                507 => "there is no space left on the server (status 507)".to_owned(),
                _ => format!("the server answered with status {status}"),
            })),
        }
    }

    /// One sync-collection report with its pages; nothing where the server does not do it or refuses the token.
    fn synced(&self, collection: &str, token: &str) -> Result<Option<Changes>, DavError> {
        let mut changes = Changes {
            full: token.is_empty(),
            ..Changes::default()
        };
        let mut token = token.to_owned();
        for _ in 0..MAX_PAGES {
            let answer = self.multistatus("REPORT", collection, "0", xml::sync(&token), MAX_LISTING);
            let list = match answer {
                Ok((_, list)) => list,
                // Servers say "I do not know this token", "this report" and "this method" in all these ways. A
                // folder that is gone as a whole answers 404 here and once more when it is listed.
                Err(DavError::Answer {
                    status: 400..=499 | 501 | 507,
                    ..
                }) => return Ok(None),
                Err(e) => return Err(e),
            };
            let cut = list.entries.iter().any(|e| e.status == Some(507));
            let next = list.token.clone();
            self.take(collection, list, &mut changes)?;
            match next {
                Some(next) if cut && next != token => token = next,
                _ if cut => return Ok(None),
                next => {
                    changes.token = next;
                    return Ok(Some(changes));
                }
            }
        }
        Ok(None)
    }

    /// Sorts a listing into what is there and what is gone; addresses outside the collection do not count.
    fn take(&self, collection: &str, list: Multistatus, changes: &mut Changes) -> Result<(), DavError> {
        for entry in list.entries {
            let href = match names::path(&entry.href, &self.origin, collection) {
                Ok(href) if names::inside(&href, collection).is_some() => href,
                Ok(_) => continue,
                Err(why) => {
                    tracing::debug!(why, "an address was left out");
                    continue;
                }
            };
            match entry.status {
                Some(404 | 410) => {
                    changes.present.remove(&href);
                    changes.gone.insert(href);
                }
                Some(507) => {}
                _ if entry.collection => {}
                _ => {
                    changes.gone.remove(&href);
                    changes.present.insert(href, entry.etag.unwrap_or_default());
                }
            }
            // Half a listing would look like deletions, so none is better.
            if changes.present.len() + changes.gone.len() > MAX_FILES {
                return Err(DavError::TooMany { max: MAX_FILES });
            }
        }
        Ok(())
    }

    /// Who we are according to the resource at `path`, and where it led to.
    fn whoami(&self, path: &str, home: &str) -> Result<(String, Entry), DavError> {
        let body = xml::propfind(&["d:current-user-principal", "d:resourcetype", home]);
        let (path, list) = self.multistatus("PROPFIND", path, "0", body, MAX_WORDS)?;
        Ok((path, list.entries.into_iter().next().unwrap_or_default()))
    }

    fn collections(&self, path: &str, depth: usize, kind: Kind) -> Result<(Vec<Remote>, String), DavError> {
        let body = xml::propfind(&[
            "d:resourcetype",
            "d:displayname",
            "i:calendar-color",
            "c:supported-calendar-component-set",
            "d:current-user-privilege-set",
        ]);
        let depth = if depth == 0 { "0" } else { "1" };
        let (path, list) = self.multistatus("PROPFIND", path, depth, body, MAX_LISTING)?;
        let mut found: Vec<Remote> = Vec::new();
        for entry in list.entries.into_iter().filter(|e| wanted(e, kind)) {
            let mut href = self.place(&entry.href, &path)?;
            if !href.ends_with('/') {
                href.push('/');
            }
            if found.iter().all(|c| c.href != href) && found.len() < MAX_COLLECTIONS {
                found.push(Remote {
                    href,
                    kind,
                    name: entry.name,
                    color: entry.color,
                    components: entry.components,
                    writable: entry.writable.unwrap_or(true),
                });
            }
        }
        Ok((found, path))
    }

    fn place(&self, href: &str, base: &str) -> Result<String, DavError> {
        names::path(href, &self.origin, base).map_err(|why| DavError::Elsewhere {
            to: href.chars().filter(|c| !c.is_control()).take(200).collect(),
            why,
        })
    }

    /// Sends it, follows redirects on this server, and reads the list; gives where the answer came from.
    fn multistatus(
        &self,
        method: &'static str,
        path: &str,
        depth: &str,
        body: Vec<u8>,
        max: u64,
    ) -> Result<(String, Multistatus), DavError> {
        let mut path = path.to_owned();
        let mut seen = BTreeSet::new();
        for _ in 0..=MAX_REDIRECTS {
            let headers = vec![
                ("Content-Type", "application/xml; charset=utf-8".to_owned()),
                ("Depth", depth.to_owned()),
            ];
            let answer = self.send(method, &path, headers, body.clone(), max)?;
            match (answer.status, &answer.location) {
                (207, _) => {
                    let list = xml::multistatus(&answer.body).map_err(|why| DavError::Garbled { why })?;
                    return Ok((path, list));
                }
                (301 | 302 | 303 | 307 | 308, Some(location)) => {
                    let next = self.place(location, &path)?;
                    if !seen.insert(std::mem::replace(&mut path, next)) {
                        break;
                    }
                }
                _ => return Err(self.refusal(&path, &answer)),
            }
        }
        Err(DavError::Garbled {
            why: "it redirects in circles".to_owned(),
        })
    }

    fn send(
        &self,
        method: &'static str,
        path: &str,
        headers: Vec<(&'static str, String)>,
        body: Vec<u8>,
        max: u64,
    ) -> Result<Response, NetError> {
        self.transport.send(&Request {
            method,
            origin: self.origin.clone(),
            path: path.to_owned(),
            headers,
            body,
            max,
        })
    }

    fn refusal(&self, path: &str, answer: &Response) -> DavError {
        match answer.status {
            401 => DavError::Login,
            429 | 503 => DavError::Busy,
            status => DavError::Answer {
                status,
                path: path.to_owned(),
            },
        }
    }
}

fn wanted(entry: &Entry, kind: Kind) -> bool {
    match kind {
        Kind::Calendar => entry.calendar,
        Kind::Contacts => entry.addressbook,
    }
}

fn too_large() -> Fetched {
    Fetched::Bad(format!("has more than {} MB", MAX_FILE / 1024 / 1024))
}
