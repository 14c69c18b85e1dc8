//! One file over HTTP: resumed with Range, bounded by the size that is expected, never waiting long.

use std::io::{self, Read};

use ureq::{
    Agent, Body, Error,
    http::{Response, StatusCode, header},
};

use crate::{
    disk::{self, CHUNK, Part},
    progress::Phase,
    pull::{Failure, Job},
    registry::Hub,
};

/// Fetches the file, going on where an earlier attempt stopped. A connection that breaks is taken up again as long as
/// each attempt brings something.
pub(crate) fn download(job: &Job<'_>, hub: &Hub) -> Result<Part, Failure> {
    let total = job.model.bytes;
    let mut part = Part::open(
        &job.model.part(job.dir),
        |there| if there > total { 0 } else { there },
    )?;
    disk::require(job.dir, total - part.length())?;
    let agent = agent(job);
    let url = format!("{}/{}/resolve/main/{}", job.options.hub, hub.repo, hub.file);
    while part.length() < total {
        let before = part.length();
        match attempt(job, &agent, &url, &mut part) {
            Ok(()) => {}
            Err(Broken::Ended(why)) if part.length() > before => {
                job.progress
                    .note(&format!("The connection broke ({why}); going on from there."));
            }
            Err(Broken::BadRange) if before > 0 => part.restart()?,
            Err(Broken::BadRange) => return Err(Failure::Next("it answered 416 to a plain request.".into())),
            Err(Broken::Ended(why) | Broken::Refused(why)) => return Err(Failure::Next(format!("{why}."))),
            Err(Broken::Stop(failure)) => return Err(failure),
        }
    }
    job.progress.finish();
    Ok(part)
}

/// How one request ended badly.
enum Broken {
    /// Somewhere on the way; asking again may help.
    Ended(String),
    /// The server will not give it.
    Refused(String),
    /// The server cannot go on from where we are.
    BadRange,
    /// Not the server's doing: cancelled, disk full.
    Stop(Failure),
}

impl<E: Into<Failure>> From<E> for Broken {
    fn from(error: E) -> Broken {
        Broken::Stop(error.into())
    }
}

fn agent(job: &Job<'_>) -> Agent {
    let options = job.options;
    let plain = options.hub.starts_with("http://");
    let mut config = Agent::config_builder()
        .user_agent(concat!("tiro/", env!("CARGO_PKG_VERSION")))
        .accept_encoding("identity")
        .http_status_as_error(false)
        .https_only(!plain)
        .timeout_resolve(Some(options.connect_timeout))
        .timeout_connect(Some(options.connect_timeout))
        .timeout_recv_response(Some(options.stall_timeout))
        .timeout_per_read(Some(options.stall_timeout));
    if plain {
        // A mirror without TLS is on this machine or network, where no proxy leads.
        config = config.proxy(None);
    }
    config.build().into()
}

fn attempt(job: &Job<'_>, agent: &Agent, url: &str, part: &mut Part) -> Result<(), Broken> {
    job.check()?;
    let mut request = agent.get(url);
    if part.length() > 0 {
        request = request.header(header::RANGE, format!("bytes={}-", part.length()));
    }
    let response = request
        .call()
        .map_err(|error| Broken::Refused(unreachable(&job.options.hub, &error)))?;
    accept(&response, job.model.bytes, part)?;
    job.progress
        .start(Phase::Download, &job.model.id, job.model.bytes);
    job.progress.advance(part.length());
    receive(job, response, part)
}

/// Whether this answer is (the rest of) the file.
fn accept(response: &Response<Body>, total: u64, part: &mut Part) -> Result<(), Broken> {
    let text = |name| response.headers().get(name).and_then(|value| value.to_str().ok());
    match response.status() {
        StatusCode::OK => part.restart()?,
        StatusCode::PARTIAL_CONTENT => {
            let expected = format!("bytes {}-{}/{total}", part.length(), total - 1);
            let range = text(header::CONTENT_RANGE).unwrap_or_default();
            if range != expected {
                return Err(Broken::Refused(format!(
                    "it sent the range {range:?} instead of {expected:?}"
                )));
            }
        }
        StatusCode::RANGE_NOT_SATISFIABLE => return Err(Broken::BadRange),
        StatusCode::NOT_FOUND => {
            return Err(Broken::Refused("it answered 404, there is no such file".into()));
        }
        status => return Err(Broken::Refused(format!("it answered {status}"))),
    }
    let rest = total - part.length();
    match text(header::CONTENT_LENGTH).and_then(|length| length.parse::<u64>().ok()) {
        Some(length) if length != rest => Err(Broken::Refused(format!(
            "it offers {length} bytes instead of {rest}; it is another file"
        ))),
        _ => Ok(()),
    }
}

fn receive(job: &Job<'_>, response: Response<Body>, part: &mut Part) -> Result<(), Broken> {
    let total = job.model.bytes;
    let mut body = response.into_body().into_with_config().limit(u64::MAX).reader();
    let mut buffer = vec![0; CHUNK];
    loop {
        job.check()?;
        match body.read(&mut buffer) {
            Ok(0) if part.length() == total => return Ok(()),
            Ok(0) => {
                return Err(Broken::Ended(format!(
                    "it ended after {} of {total} bytes",
                    part.length()
                )));
            }
            Ok(count) if part.length() + count as u64 > total => {
                return Err(Broken::Refused(format!(
                    "it sends more than {total} bytes; it is another file"
                )));
            }
            Ok(count) => {
                part.append(&buffer[..count], total)?;
                job.progress.advance(count as u64);
            }
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => {
                return Err(Broken::Ended(format!(
                    "it broke after {} of {total} bytes: {error}",
                    part.length()
                )));
            }
        }
    }
}

fn unreachable(hub: &str, error: &Error) -> String {
    match error {
        Error::HostNotFound | Error::ConnectionFailed | Error::Io(_) | Error::Timeout(_) => {
            format!("cannot reach {hub} ({error})")
        }
        other => format!("{hub}: {other}"),
    }
}
