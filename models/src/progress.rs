//! How far a pull is, for whoever shows it.

/// What is being done.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Phase {
    /// Bytes come from somewhere else.
    Download,
    /// One file becomes another.
    Convert,
    /// A file is read and hashed.
    Verify,
}

/// Is told how far things are. Called from the thread that pulls.
pub trait Progress: Sync {
    /// A phase begins, or begins anew; `total` in bytes.
    fn start(&self, phase: Phase, label: &str, total: u64);
    /// So many more bytes of it are done.
    fn advance(&self, bytes: u64);
    /// The phase is over.
    fn finish(&self);
    /// Something worth knowing: a source that failed, a resumed download. One sentence.
    fn note(&self, _text: &str) {}
}

/// Shows nothing.
#[derive(Debug, Clone, Copy, Default)]
pub struct Quiet;

impl Progress for Quiet {
    fn start(&self, _phase: Phase, _label: &str, _total: u64) {}
    fn advance(&self, _bytes: u64) {}
    fn finish(&self) {}
}
