//! Where a server of the protocol is, and the way there: only to the person's own network unless the config allows more,
//! whatever a name turns out to stand for.

use std::{fmt, net::SocketAddr, time::Duration};

use anyhow::{Context as _, bail, ensure};
use tokio::{
    net::{
        TcpStream,
        tcp::{OwnedReadHalf, OwnedWriteHalf},
    },
    time::timeout,
};
use tools::system::dav::is_near;

use super::line::{Reader, Writer};

/// Longest time to find a server and to be let in.
const CONNECT: Duration = Duration::from_secs(5);
/// Longest name of a host (RFC 1035).
const MAX_HOST: usize = 253;

/// `tcp://host:port`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Place {
    /// A name or an address, without brackets.
    host: String,
    port: u16,
}

impl Place {
    /// Reads `tcp://host:port`; an IPv6 address stands in brackets.
    pub fn parse(text: &str) -> Option<Place> {
        let rest = text.strip_prefix("tcp://")?;
        let rest = rest.strip_suffix('/').unwrap_or(rest);
        let (host, port) = match rest.strip_prefix('[') {
            Some(inside) => {
                let (host, port) = inside.split_once("]:")?;
                let ip = host.split('%').next().unwrap_or_default();
                ip.parse::<std::net::Ipv6Addr>().ok()?;
                (host, port)
            }
            None => {
                let (host, port) = rest.split_once(':')?;
                let fine = |c: char| c.is_ascii_alphanumeric() || "-_.".contains(c);
                if host.is_empty() || host.len() > MAX_HOST || !host.chars().all(fine) {
                    return None;
                }
                (host, port)
            }
        };
        let digits = !port.is_empty() && port.bytes().all(|b| b.is_ascii_digit());
        let port = port.parse().ok().filter(|port| digits && *port > 0)?;
        let host = host.to_owned();
        Some(Place { host, port })
    }

    /// Whether what is sent there stays on this machine or the person's own network, by the look of it.
    pub fn is_near(&self) -> bool {
        is_near(&self.to_string())
    }

    /// Whether only programs of this machine reach it, by the look of it.
    pub fn is_here(&self) -> bool {
        let ip = self.host.parse::<std::net::IpAddr>();
        self.host == "localhost" || ip.is_ok_and(|ip| ip.to_canonical().is_loopback())
    }

    /// The addresses that it stands for.
    ///
    /// # Errors
    /// When there are none, or nobody says.
    pub async fn addresses(&self) -> anyhow::Result<Vec<SocketAddr>> {
        let found = timeout(CONNECT, tokio::net::lookup_host((self.host.as_str(), self.port)))
            .await
            .with_context(|| format!("{self} is not found within {} s", CONNECT.as_secs()))?
            .with_context(|| format!("{self} is not found"))?;
        Ok(found.collect())
    }

    /// Connects. With `far` it may be anywhere; else a name that turns out to stand for an address on the internet is
    /// refused.
    ///
    /// # Errors
    /// Why there is no connection, in words that begin with the place.
    pub async fn connect(
        &self,
        far: bool,
    ) -> anyhow::Result<(Reader<OwnedReadHalf>, Writer<OwnedWriteHalf>)> {
        let addresses = self.addresses().await?;
        let (near, others): (Vec<_>, Vec<_>) = addresses
            .into_iter()
            .partition(|address| far || is_near(&format!("tcp://{address}")));
        ensure!(
            !near.is_empty() || others.is_empty(),
            "{self} is not on this machine or network"
        );
        let connecting = async {
            let mut last = None;
            for address in near {
                match TcpStream::connect(address).await {
                    Ok(stream) => return Ok(stream),
                    Err(error) => last = Some(error),
                }
            }
            match last {
                Some(error) => Err(error).with_context(|| format!("{self} cannot be reached")),
                None => bail!("{self} is not found"),
            }
        };
        let stream = timeout(CONNECT, connecting)
            .await
            .with_context(|| format!("{self} does not answer within {} s", CONNECT.as_secs()))??;
        // Events are small, and each is waited for.
        stream.set_nodelay(true)?;
        let (ears, mouth) = stream.into_split();
        Ok((Reader::new(ears), Writer::new(mouth)))
    }
}

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.host.contains(':') {
            true => write!(f, "tcp://[{}]:{}", self.host, self.port),
            false => write!(f, "tcp://{}:{}", self.host, self.port),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn places_are_read_and_written() {
        #[track_caller]
        fn check(text: &str, expect: Option<(bool, bool)>) {
            let place = Place::parse(text);
            assert_eq!(
                place.as_ref().map(|p| (p.is_here(), p.is_near())),
                expect,
                "{text}"
            );
            if let Some(place) = place {
                assert_eq!(Place::parse(&place.to_string()), Some(place));
            }
        }
        check("tcp://127.0.0.1:10300", Some((true, true)));
        check("tcp://localhost:10300/", Some((true, true)));
        check("tcp://[::1]:10300", Some((true, true)));
        check("tcp://192.168.1.20:10300", Some((false, true)));
        check("tcp://[fe80::1%eth0]:1", Some((false, true)));
        check("tcp://tower.local:65535", Some((false, true)));
        check("tcp://tower:1", Some((false, true)));
        check("tcp://0.0.0.0:10700", Some((false, false)));
        check("tcp://[::]:10700", Some((false, false)));
        check("tcp://8.8.8.8:1", Some((false, false)));
        check("tcp://134744072:1", Some((false, false)));
        check("tcp://stt.example.org:10300", Some((false, false)));
        for wrong in [
            "",
            "tcp://",
            "tcp://host",
            "tcp://host:",
            "tcp://host:0",
            "tcp://host:65536",
            "tcp://host:+1",
            "tcp://:1",
            "tcp://a b:1",
            "tcp://a@b:1",
            "tcp://a:1/path",
            "tcp://[::1]",
            "tcp://[x]:1",
            "tcp://::1:1",
            "http://host:1",
            "host:1",
            "unix:///run/x",
            "tcp://a:1:2",
            "tcp://h\u{e4}user:1",
        ] {
            check(wrong, None);
        }
        check(&format!("tcp://{}:1", "a".repeat(254)), None);
    }

    #[tokio::test]
    async fn nobody_is_connected_to_far_away_unless_it_is_allowed() {
        let far = Place::parse("tcp://198.51.100.7:9").unwrap();
        let refused = far.connect(false).await.unwrap_err().to_string();
        assert_eq!(refused, "tcp://198.51.100.7:9 is not on this machine or network");
        let nobody = Place::parse("tcp://127.0.0.1:1").unwrap();
        let refused = format!("{:#}", nobody.connect(false).await.unwrap_err());
        assert!(
            refused.starts_with("tcp://127.0.0.1:1 cannot be reached: "),
            "{refused}"
        );
    }
}
