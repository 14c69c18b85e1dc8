//! Requests: one trait, so that tests can break the line where they want, and the real one over ureq.
//!
//! Why ureq and roxmltree, and not libdav (ISC, 0.11.2): libdav reads answers without a bound on their size or their
//! number of nodes, brings its own DNS and about sixty crates around hyper, and what it spares us are eight short
//! requests. ureq is in the tree already; roxmltree refuses a DTD, so that no entity can explode, and counts nodes.

use std::{io::Read as _, net::IpAddr, time::Duration};

use base64::{Engine as _, prelude::BASE64_STANDARD};
use ureq::{
    Agent, Body, Error,
    http::{Request as Wire, Response as Wired, header},
    tls::{RootCerts, TlsConfig},
};

use super::names;

/// A request.
#[derive(Debug, Clone)]
pub struct Request {
    /// GET, PUT, PROPFIND, ...
    pub method: &'static str,
    /// `https://host:port`.
    pub origin: String,
    /// The path, encoded.
    pub path: String,
    /// Headers, without the login.
    pub headers: Vec<(&'static str, String)>,
    /// What is sent.
    pub body: Vec<u8>,
    /// An answer of more bytes is refused.
    pub max: u64,
}

/// An answer.
#[derive(Debug, Clone, Default)]
pub struct Response {
    /// The status code.
    pub status: u16,
    /// `ETag`.
    pub etag: Option<String>,
    /// `Location`.
    pub location: Option<String>,
    /// What came.
    pub body: Vec<u8>,
}

/// Why there is no answer.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum NetError {
    /// No network, no such host, nobody listens, or it takes too long.
    #[error("{origin} cannot be reached ({why})")]
    Unreachable {
        /// Who.
        origin: String,
        /// What the system said.
        why: String,
    },
    /// The server is not who it says, as far as this machine knows.
    #[error("the certificate of {origin} is not trusted here ({why})")]
    Certificate {
        /// Who.
        origin: String,
        /// What is wrong with it.
        why: String,
    },
    /// More than anything real needs.
    #[error("{origin} sent more than {max} bytes")]
    TooBig {
        /// Who.
        origin: String,
        /// The bound.
        max: u64,
    },
    /// Something that is no HTTP.
    #[error("{origin} answered what cannot be read ({why})")]
    Garbled {
        /// Who.
        origin: String,
        /// What it was.
        why: String,
    },
}

/// Sends one request and does not follow where the answer points.
pub trait Transport: Send + Sync {
    /// Sends it.
    ///
    /// # Errors
    /// When there is no answer; an answer with an error status is an answer.
    fn send(&self, request: &Request) -> Result<Response, NetError>;
}

/// How somebody says who they are.
#[derive(Clone)]
pub enum Login {
    /// Name and password (RFC 7617).
    Basic {
        /// The name.
        user: String,
        /// The password.
        password: String,
    },
    /// A token (RFC 6750).
    Bearer(String),
}

impl std::fmt::Debug for Login {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Login::Basic { .. } => "Basic(..)",
            Login::Bearer(_) => "Bearer(..)",
        })
    }
}

/// How long a server may take.
#[derive(Debug, Clone, Copy)]
pub struct Patience {
    /// To be found and to accept.
    pub connect: Duration,
    /// To begin to answer, and between two pieces of it. A small server may have to read thousands of items first.
    pub stall: Duration,
    /// For one request with its answer.
    pub whole: Duration,
}

impl Default for Patience {
    fn default() -> Patience {
        Patience {
            connect: Duration::from_secs(15),
            stall: Duration::from_secs(180),
            whole: Duration::from_secs(600),
        }
    }
}

/// Whether what is sent there stays on this machine or the person's own network: loopback, private and link-local
/// addresses (RFC 1918, 3927, 4193 and 4291), names of one word, and those under `.local` (RFC 6762).
pub fn is_near(origin: &str) -> bool {
    let host = origin.split_once("://").map_or(origin, |(_, host)| host);
    let host = match host.strip_prefix('[') {
        Some(rest) => rest.split([']', '%']).next().unwrap_or_default(),
        None => host.rsplit_once(':').map_or(host, |(host, _)| host),
    };
    match host.parse::<IpAddr>().map(|ip| ip.to_canonical()) {
        Ok(IpAddr::V4(ip)) => ip.is_loopback() || ip.is_private() || ip.is_link_local(),
        Ok(IpAddr::V6(ip)) => ip.is_loopback() || ip.is_unique_local() || ip.is_unicast_link_local(),
        Err(_) => {
            let name = host.strip_suffix('.').unwrap_or(host).to_ascii_lowercase();
            let is_name = name
                .chars()
                .all(|c| c.is_ascii_alphanumeric() || "-_.".contains(c));
            // What begins with a digit may be an address in another notation: 134744072 is 8.8.8.8.
            let one_word = !name.contains('.') && name.starts_with(|c: char| c.is_ascii_alphabetic());
            is_name && (one_word || name.ends_with(".local") || name.ends_with(".localhost"))
        }
    }
}

/// The real one. It says who we are to one server and to nobody else.
pub struct Http {
    agent: Agent,
    origin: String,
    authorization: String,
}

impl Http {
    /// For one server, `https://host:port`.
    pub fn new(origin: &str, login: &Login, patience: Patience) -> Http {
        let mut config = Agent::config_builder()
            .user_agent(concat!("tiro/", env!("CARGO_PKG_VERSION")))
            .accept_encoding("identity")
            .http_status_as_error(false)
            .allow_non_standard_methods(true)
            // Followed by the caller, who knows which hosts may hear the password.
            .max_redirects(0)
            .timeout_resolve(Some(patience.connect))
            .timeout_connect(Some(patience.connect))
            .timeout_recv_response(Some(patience.stall))
            .timeout_per_read(Some(patience.stall))
            .timeout_per_write(Some(patience.stall))
            .timeout_global(Some(patience.whole))
            // The system's own store: a server at home has a certificate that only its household trusts.
            .tls_config(
                TlsConfig::builder()
                    .root_certs(RootCerts::PlatformVerifier)
                    .build(),
            );
        if origin.starts_with("http://") {
            // A server without TLS is on this machine or network, where no proxy leads.
            config = config.proxy(None);
        }
        let authorization = match login {
            Login::Basic { user, password } => {
                format!("Basic {}", BASE64_STANDARD.encode(format!("{user}:{password}")))
            }
            Login::Bearer(token) => format!("Bearer {token}"),
        };
        Http {
            agent: config.build().into(),
            origin: origin.to_owned(),
            authorization,
        }
    }
}

impl Transport for Http {
    fn send(&self, request: &Request) -> Result<Response, NetError> {
        let mut wire = Wire::builder()
            .method(request.method)
            .uri(format!("{}{}", request.origin, request.path));
        if names::same_origin(&request.origin, &self.origin) {
            wire = wire.header(header::AUTHORIZATION, &self.authorization);
        }
        for (name, value) in &request.headers {
            wire = wire.header(*name, value);
        }
        let wire = wire.body(()).map_err(|e| NetError::Garbled {
            origin: request.origin.clone(),
            why: e.to_string(),
        })?;
        let answer = match request.body.is_empty() {
            true => self.agent.run(wire),
            false => self.agent.run(wire.map(|()| &request.body[..])),
        };
        let answer = answer.map_err(|e| trouble(&request.origin, &e))?;
        receive(answer, request)
    }
}

fn receive(answer: Wired<Body>, request: &Request) -> Result<Response, NetError> {
    let text = |name| {
        let value = answer.headers().get(name)?.to_str().ok()?;
        (value.len() <= MAX_HEADER).then(|| value.to_owned())
    };
    let mut response = Response {
        status: answer.status().as_u16(),
        etag: text(header::ETAG),
        location: text(header::LOCATION),
        body: Vec::new(),
    };
    answer
        .into_body()
        .into_with_config()
        .limit(u64::MAX)
        .reader()
        .take(request.max + 1)
        .read_to_end(&mut response.body)
        .map_err(|e| NetError::Unreachable {
            origin: request.origin.clone(),
            why: e.to_string(),
        })?;
    if response.body.len() as u64 > request.max {
        return Err(NetError::TooBig {
            origin: request.origin.clone(),
            max: request.max,
        });
    }
    Ok(response)
}

/// No version and no address is longer.
const MAX_HEADER: usize = 4096;

fn trouble(origin: &str, error: &Error) -> NetError {
    let (origin, why) = (origin.to_owned(), error.to_string());
    match error {
        // ureq passes what rustls says on as an error of the connection.
        Error::Io(_) | Error::Rustls(_) | Error::Tls(_) if why.contains("certificate") => {
            NetError::Certificate { origin, why }
        }
        Error::Io(_)
        | Error::Timeout(_)
        | Error::HostNotFound
        | Error::ConnectionFailed
        | Error::Rustls(_) => NetError::Unreachable { origin, why },
        _ => NetError::Garbled { origin, why },
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_login_is_not_printed() {
        let login = Login::Basic {
            user: "ada".into(),
            password: "secret".into(),
        };
        assert!(!format!("{login:?} {:?}", Login::Bearer("secret".into())).contains("secret"));
    }
}
