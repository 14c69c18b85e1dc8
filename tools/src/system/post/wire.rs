//! A connection to a mail server. It never waits longer than its patience, never reads more than it was allowed, and is
//! encrypted before a password crosses it.

use std::{
    fmt, io,
    net::SocketAddr,
    path::Path,
    pin::Pin,
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
    task::{Context, Poll, ready},
    time::Duration,
};

use lettre::transport::smtp::client::AsyncTokioStream;
use rustls::{
    CertificateError, ClientConfig,
    pki_types::{CertificateDer, ServerName, pem::PemObject as _},
};
use rustls_platform_verifier::Verifier;
use tokio::{
    io::{AsyncRead, AsyncReadExt as _, AsyncWrite, AsyncWriteExt as _, ReadBuf},
    net::TcpStream,
    time::{Instant, Sleep, sleep, timeout},
};
use tokio_rustls::{TlsConnector, client::TlsStream};

use super::{Access, PostError, Server};
use crate::system::{plain, store};

/// How long a server may take to be found and to accept.
const CONNECT: Duration = Duration::from_secs(15);
/// How long nothing may happen.
pub const STALL: Duration = Duration::from_secs(60);
/// What a connection may read before it is allowed more, in bytes.
const FIRST: u64 = 1 << 20;
/// The largest file with certificates, in bytes.
const MAX_PEM: u64 = 1 << 20;
/// The longest line of a server before it is encrypted, in bytes.
const MAX_LINE: usize = 4096;

/// A connection.
pub struct Wire {
    stream: Stream,
    /// Read before anything of the stream.
    again: Vec<u8>,
    /// What may still be read.
    left: u64,
    /// What was written, for whoever has to know how much may have arrived.
    written: Arc<AtomicU64>,
    patience: Duration,
    reading: Pin<Box<Sleep>>,
    writing: Pin<Box<Sleep>>,
}

enum Stream {
    Plain(TcpStream),
    Tls(Box<TlsStream<TcpStream>>),
}

impl Wire {
    /// Connects; with TLS at once where the server's address says so.
    ///
    /// # Errors
    /// `Unreachable`, `Certificate`, `Certificates`.
    pub async fn connect(access: &Access) -> Result<Wire, PostError> {
        let server = &access.server;
        let connecting = TcpStream::connect((server.host.as_str(), server.port));
        let tcp = timeout(CONNECT, connecting)
            .await
            .unwrap_or_else(|_| Err(io::ErrorKind::TimedOut.into()))
            .map_err(|e| unreachable(server, &e))?;
        // Small commands are answered one by one.
        let _ = tcp.set_nodelay(true);
        let wire = Wire {
            stream: Stream::Plain(tcp),
            again: Vec::new(),
            left: FIRST,
            written: Arc::default(),
            patience: STALL,
            reading: Box::pin(sleep(STALL)),
            writing: Box::pin(sleep(STALL)),
        };
        match server.tls {
            true => wire.encrypt(access).await,
            false => Ok(wire),
        }
    }

    /// Encrypts what was plain so far. Nothing that was read before is kept.
    ///
    /// # Errors
    /// `Unreachable`, `Certificate`, `Certificates`.
    pub async fn encrypt(self, access: &Access) -> Result<Wire, PostError> {
        let Stream::Plain(tcp) = self.stream else {
            return Ok(self);
        };
        let server = &access.server;
        let name = ServerName::try_from(server.host.clone()).map_err(|_| PostError::Unreachable {
            server: server.host.clone(),
            why: "that is no name of a server".to_owned(),
        })?;
        let connector = connector(server, access.certificates.as_deref())?;
        let tls = timeout(CONNECT, connector.connect(name, tcp))
            .await
            .unwrap_or_else(|_| Err(io::ErrorKind::TimedOut.into()))
            .map_err(|e| match (distrust(server, &e), e.kind()) {
                (Some(error), _) => error,
                (None, io::ErrorKind::InvalidData) => garbled(server, "no encryption begins there"),
                (None, _) => unreachable(server, &e),
            })?;
        Ok(Wire {
            stream: Stream::Tls(Box::new(tls)),
            again: Vec::new(),
            left: FIRST,
            ..self
        })
    }

    /// Allows so many more bytes to be read, whatever was left.
    pub fn allow(&mut self, bytes: u64) {
        self.left = bytes;
    }

    /// Waits so long when nothing happens.
    pub fn wait_for(&mut self, patience: Duration) {
        self.patience = patience;
        self.progress_of_reading();
        self.progress_of_writing();
    }

    /// Counts the bytes that were written, encryption excluded.
    pub fn counter(&self) -> Arc<AtomicU64> {
        Arc::clone(&self.written)
    }

    /// Gives these bytes to be read once more.
    pub fn unread(&mut self, bytes: &[u8]) {
        self.again.extend_from_slice(bytes);
    }

    /// One line of a server that is not encrypted yet, byte by byte: nothing behind it may be taken for trusted later.
    ///
    /// # Errors
    /// What reading says, and a line that does not end.
    pub async fn line(&mut self) -> io::Result<Vec<u8>> {
        let mut line = Vec::new();
        while line.last() != Some(&b'\n') {
            if line.len() >= MAX_LINE {
                return Err(io::ErrorKind::InvalidData.into());
            }
            line.push(self.read_u8().await?);
        }
        Ok(line)
    }

    /// Writes a command.
    ///
    /// # Errors
    /// What writing says.
    pub async fn say(&mut self, command: &str) -> io::Result<()> {
        self.write_all(command.as_bytes()).await?;
        self.flush().await
    }

    fn progress_of_reading(&mut self) {
        let patience = self.patience;
        self.reading.as_mut().reset(Instant::now() + patience);
    }

    fn progress_of_writing(&mut self) {
        let patience = self.patience;
        self.writing.as_mut().reset(Instant::now() + patience);
    }
}

impl AsyncRead for Wire {
    fn poll_read(self: Pin<&mut Self>, cx: &mut Context<'_>, buf: &mut ReadBuf<'_>) -> Poll<io::Result<()>> {
        let this = self.get_mut();
        if !this.again.is_empty() {
            let count = this.again.len().min(buf.remaining());
            buf.put_slice(&this.again[..count]);
            this.again.drain(..count);
            return Poll::Ready(Ok(()));
        }
        if this.left == 0 {
            let error = io::Error::new(io::ErrorKind::InvalidData, "the server sent too much");
            return Poll::Ready(Err(error));
        }
        let before = buf.filled().len();
        let polled = match &mut this.stream {
            Stream::Plain(stream) => Pin::new(stream).poll_read(cx, buf),
            Stream::Tls(stream) => Pin::new(stream).poll_read(cx, buf),
        };
        match polled {
            Poll::Ready(result) => {
                let read = (buf.filled().len() - before) as u64;
                this.left = this.left.saturating_sub(read);
                this.progress_of_reading();
                Poll::Ready(result)
            }
            Poll::Pending => {
                ready!(this.reading.as_mut().poll(cx));
                this.progress_of_reading();
                Poll::Ready(Err(io::ErrorKind::TimedOut.into()))
            }
        }
    }
}

impl Wire {
    /// What writing came to, or that nothing has happened for too long.
    fn written<T>(&mut self, cx: &mut Context<'_>, polled: Poll<io::Result<T>>) -> Poll<io::Result<T>> {
        match polled {
            Poll::Ready(result) => {
                self.progress_of_writing();
                // The answer is waited for from here on.
                self.progress_of_reading();
                Poll::Ready(result)
            }
            Poll::Pending => {
                ready!(self.writing.as_mut().poll(cx));
                self.progress_of_writing();
                Poll::Ready(Err(io::ErrorKind::TimedOut.into()))
            }
        }
    }
}

impl AsyncWrite for Wire {
    fn poll_write(self: Pin<&mut Self>, cx: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        let this = self.get_mut();
        let polled = match &mut this.stream {
            Stream::Plain(stream) => Pin::new(stream).poll_write(cx, bytes),
            Stream::Tls(stream) => Pin::new(stream).poll_write(cx, bytes),
        };
        if let Poll::Ready(Ok(count)) = &polled {
            this.written.fetch_add(*count as u64, Ordering::Relaxed);
        }
        this.written(cx, polled)
    }

    fn poll_flush(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        let this = self.get_mut();
        let polled = match &mut this.stream {
            Stream::Plain(stream) => Pin::new(stream).poll_flush(cx),
            Stream::Tls(stream) => Pin::new(stream).poll_flush(cx),
        };
        this.written(cx, polled)
    }

    fn poll_shutdown(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        let this = self.get_mut();
        let polled = match &mut this.stream {
            Stream::Plain(stream) => Pin::new(stream).poll_shutdown(cx),
            Stream::Tls(stream) => Pin::new(stream).poll_shutdown(cx),
        };
        this.written(cx, polled)
    }
}

impl AsyncTokioStream for Wire {
    fn peer_addr(&self) -> io::Result<SocketAddr> {
        match &self.stream {
            Stream::Plain(stream) => stream.peer_addr(),
            Stream::Tls(stream) => stream.get_ref().0.peer_addr(),
        }
    }
}

impl fmt::Debug for Wire {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Wire(..)")
    }
}

/// What a failed connection means.
pub fn unreachable(server: &Server, error: &io::Error) -> PostError {
    let why = match error.kind() {
        io::ErrorKind::TimedOut => "it does not answer".to_owned(),
        io::ErrorKind::ConnectionRefused => "nothing listens there".to_owned(),
        io::ErrorKind::UnexpectedEof | io::ErrorKind::ConnectionReset | io::ErrorKind::BrokenPipe => {
            "it ended the connection".to_owned()
        }
        io::ErrorKind::InvalidData => return garbled(server, &error.to_string()),
        _ => plain::one_line(&error.to_string(), 120),
    };
    PostError::Unreachable {
        server: server.host.clone(),
        why,
    }
}

/// What an answer means that is none.
pub fn garbled(server: &Server, why: &str) -> PostError {
    PostError::Garbled {
        server: server.host.clone(),
        why: plain::one_line(why, 120),
    }
}

/// What is wrong with the server's certificate, if that is what went wrong.
fn distrust(server: &Server, error: &io::Error) -> Option<PostError> {
    let cause = error.get_ref()?.downcast_ref::<rustls::Error>()?;
    let rustls::Error::InvalidCertificate(cause) = cause else {
        return None;
    };
    let why = match cause {
        CertificateError::Expired | CertificateError::ExpiredContext { .. } => "has expired",
        CertificateError::NotValidYet | CertificateError::NotValidYetContext { .. } => "is not valid yet",
        CertificateError::NotValidForName | CertificateError::NotValidForNameContext { .. } => {
            "is for another server"
        }
        CertificateError::UnknownIssuer => "comes from an authority that is not trusted here",
        CertificateError::Revoked => "was revoked",
        _ => "is not trusted here",
    };
    Some(PostError::Certificate {
        server: server.host.clone(),
        why: why.to_owned(),
    })
}

/// TLS as the rest of Tiro speaks it: ring, and the trust of the system.
fn connector(server: &Server, certificates: Option<&Path>) -> Result<TlsConnector, PostError> {
    let extra = match certificates {
        Some(path) => extra_roots(path)?,
        None => Vec::new(),
    };
    let fail = |error: rustls::Error| garbled(server, &error.to_string());
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let verifier = Verifier::new_with_extra_roots(extra, Arc::clone(&provider)).map_err(fail)?;
    let config = ClientConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .map_err(fail)?
        // The system's own verifier; "dangerous" is the door for any that is not built in.
        .dangerous()
        .with_custom_certificate_verifier(Arc::new(verifier))
        .with_no_client_auth();
    Ok(TlsConnector::from(Arc::new(config)))
}

fn extra_roots(path: &Path) -> Result<Vec<CertificateDer<'static>>, PostError> {
    let unusable = |why: String| PostError::Certificates {
        path: path.to_owned(),
        why,
    };
    let bytes = store::read_bounded(path, MAX_PEM).map_err(|e| unusable(e.to_string()))?;
    let all: Result<Vec<_>, _> = CertificateDer::pem_slice_iter(&bytes).collect();
    match all {
        Ok(all) if !all.is_empty() => Ok(all),
        Ok(_) => Err(unusable("it holds none".to_owned())),
        Err(error) => Err(unusable(error.to_string())),
    }
}
