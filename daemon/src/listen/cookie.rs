//! The cookie that a sound server asks every client for.
//!
//! PulseAudio, and PipeWire in its place, hang up on who shows none of 256 bytes, also where they would let anybody in. Every
//! program that uses libpulse makes the file when there is none; the client that is used here does not, and in a session
//! in which nobody made it yet the microphone could not be reached.

use std::{io::Read as _, path::Path};

use tools::system::store::{self, StoreError};

/// Length of a cookie: `PA_NATIVE_COOKIE_LENGTH` of PulseAudio's protocol.
const LENGTH: usize = 256;

/// Makes sure that there is one where the client looks. That it is not the server's own does no harm: a server of the
/// same person lets them in by their user id.
pub fn ensure() {
    if pulseaudio::cookie_path_from_env().is_some() {
        return;
    }
    let Some(home) = std::env::home_dir() else {
        return;
    };
    match make(&home) {
        // Somebody else made it in this moment.
        Ok(()) | Err(StoreError::Exists { .. }) => {}
        Err(error) => tracing::debug!(%error, "there is no cookie for the sound server"),
    }
}

fn make(home: &Path) -> Result<(), StoreError> {
    let folder = home.join(".config/pulse");
    let path = folder.join("cookie");
    let mut cookie = [0; LENGTH];
    let random = std::fs::File::open("/dev/urandom").and_then(|mut random| random.read_exact(&mut cookie));
    random.map_err(|error| StoreError::of(&path, error))?;
    store::make_folder(&folder)?;
    store::create_new(&path, &cookie)
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt as _;

    use super::*;

    #[test]
    fn a_cookie_is_made_once_and_for_the_person_only() {
        let home = tempfile::tempdir().unwrap();
        make(home.path()).unwrap();
        let path = home.path().join(".config/pulse/cookie");
        let first = std::fs::read(&path).unwrap();
        assert_eq!(first.len(), LENGTH);
        assert!(first.iter().any(|byte| *byte != first[0]), "it is random");
        let mode = path.metadata().unwrap().permissions().mode() & 0o777;
        assert_eq!(mode, 0o600);
        let again = make(home.path());
        assert!(matches!(again, Err(StoreError::Exists { .. })), "{again:?}");
        assert_eq!(std::fs::read(&path).unwrap(), first);
    }
}
