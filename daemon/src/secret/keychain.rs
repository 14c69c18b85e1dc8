//! The keychain of macOS, asked through its own command `security`. It was compiled and tried against a double on Linux and has
//! never run on a Mac: what is known of its answers is its manual page and Apple's published source.

use std::{ffi::OsStr, process::Stdio};

use anyhow::{Context as _, bail, ensure};
use tokio::process::Command;

use super::{MAX, first_line};

/// Comes with the system.
#[cfg(target_os = "macos")]
pub const PROGRAM: &str = "/usr/bin/security";

/// The exit code for "The specified item could not be found in the keychain" (errSecItemNotFound, -25300, as a byte).
const NOT_FOUND: i32 = 44;
/// The same for errSecInteractionNotAllowed, -25308: the keychain is locked, and nobody can be asked.
const LOCKED: i32 = 36;

/// The password of an account: the item with service "tiro" and the account's name. The system may ask the person whether
/// this program may have it. One with other characters than those of ASCII is printed as digits, so it has to come from a
/// command or a file.
///
/// # Errors
/// When there is none, when the keychain is locked, and when the person says no.
pub async fn ask(program: impl AsRef<OsStr>, account: &str) -> anyhow::Result<String> {
    let asked = Command::new(program)
        .args(["find-generic-password", "-s", "tiro", "-a", account, "-w"])
        .stdin(Stdio::null())
        .stderr(Stdio::null())
        .kill_on_drop(true)
        .output()
        .await
        .context("the keychain cannot be asked")?;
    match asked.status.code() {
        Some(0) => {}
        Some(NOT_FOUND) => bail!(
            "the keychain has none. Store it with: security add-generic-password -s tiro -a {account} -w"
        ),
        Some(LOCKED) => bail!("the keychain that holds it is locked. Unlock it, then try again"),
        _ => bail!("the keychain did not give it ({})", asked.status),
    }
    ensure!(
        asked.stdout.len() as u64 <= MAX,
        "what the keychain has is no password"
    );
    first_line(asked.stdout).context("what the keychain has is no password")
}

#[cfg(test)]
mod tests {
    use std::{fs, os::unix::fs::PermissionsExt as _};

    use super::*;

    /// Stands in for `security`: as its manual page says, and with its exit codes.
    const DOUBLE: &str = "#!/bin/sh\n\
        [ \"$1 $2 $3 $4 $6 $#\" = 'find-generic-password -s tiro -a -w 6' ] || exit 2\n\
        case \"$5\" in\n\
        home) printf 'a b\"c\\n' ;;\n\
        locked) exit 36 ;;\n\
        refused) exit 128 ;;\n\
        empty) echo ;;\n\
        *) echo 'security: SecKeychainSearchCopyNext: The specified item could not be found in the keychain.' >&2; exit 44 ;;\n\
        esac\n";

    #[tokio::test]
    async fn the_keychain_is_asked_as_its_manual_says() {
        let home = tempfile::tempdir().unwrap();
        let program = home.path().join("security");
        fs::write(&program, DOUBLE).unwrap();
        fs::set_permissions(&program, fs::Permissions::from_mode(0o700)).unwrap();
        assert_eq!(ask(&program, "home").await.unwrap(), "a b\"c");
        for (account, expect) in [
            (
                "other; id",
                "security add-generic-password -s tiro -a other; id -w",
            ),
            ("locked", "is locked"),
            ("refused", "did not give it"),
            ("empty", "is no password"),
        ] {
            let error = format!("{:#}", ask(&program, account).await.unwrap_err());
            assert!(error.contains(expect), "{error}");
        }
        let error = ask(home.path().join("nothing"), "home").await.unwrap_err();
        assert!(error.to_string().contains("cannot be asked"), "{error}");
    }
}
