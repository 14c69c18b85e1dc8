//! What is a secret among files: keys, lists of passwords and wallets, told by their names, and private keys in texts,
//! whatever their file is called. None of it is ever listed or read.
//!
//! Names are read word by word, so "bank password.odt" is as secret as "passwords.txt". What only speaks of secrets is not:
//! a policy, a novel, a game for Christmas. In doubt a name is taken for a secret, since what is hidden wrongly costs a
//! rename, and what is read wrongly is read.

use std::path::Path;

use super::kind::ending;

/// Endings of files that hold keys, passwords or wallets.
const SECRET_ENDINGS: [&str; 24] = [
    "key",
    "pem",
    "p12",
    "pfx",
    "p8",
    "der",
    "kdb",
    "kdbx",
    "gpg",
    "pgp",
    "ppk",
    "jks",
    "keystore",
    "keychain",
    "keychain-db",
    "agilekeychain",
    "opvault",
    "1pif",
    "1pux",
    "wallet",
    "env",
    "ovpn",
    "keytab",
    "htpasswd",
];

/// Names, without their endings, of files and folders that hold secrets without saying so in a word.
const SECRET_NAMES: [&str; 13] = [
    "id_rsa",
    "id_dsa",
    "id_ecdsa",
    "id_ed25519",
    "secret",
    "credential",
    "wallet",
    "key3",
    "key4",
    "cookies",
    "login data",
    "keychains",
    "keyrings",
];

/// Words that make a name one of a secret wherever they stand in it, without accents.
const ALWAYS: [&str; 26] = [
    "password",
    "passwords",
    "passwd",
    "passphrase",
    "passphrases",
    "passcode",
    "passcodes",
    "credentials",
    "keyring",
    "keystore",
    "passwort",
    "passworter",
    "passwoerter",
    "kennwort",
    "kennworter",
    "kennwoerter",
    "zugangsdaten",
    "contrasena",
    "contrasenas",
    "wachtwoord",
    "wachtwoorden",
    "senhas",
    "losenord",
    "adgangskoder",
    "motdepasse",
    "mnemonic",
];

/// Words that others are put before without a blank: "Bankpasswort", "wifipassword".
const COMPOUND: [&str; 7] = [
    "password",
    "passwords",
    "passwort",
    "passworter",
    "kennwort",
    "kennworter",
    "passphrase",
];

/// Words that count at the end of a name only: "aws secrets.md", but "secret santa.odt" and "user logins by month.csv".
const AT_THE_END: [&str; 3] = ["secret", "secrets", "logins"];

/// What stands before one of these makes it the name of something else.
const OF_OTHERS: [&str; 6] = ["trade", "top", "open", "s", "dirty", "family"];

/// Neighbours that make a secret together, such as "recovery codes", "api_key", "seed phrase".
const TOGETHER: [(&[&str], &[&str]); 8] = [
    (
        &["recovery"],
        &["code", "codes", "key", "keys", "phrase", "words"],
    ),
    // One backup code may be a backup of code.
    (&["backup"], &["codes", "phrase"]),
    (
        &["2fa", "mfa", "otp", "totp", "puk", "pin", "tan"],
        &["codes", "code", "list", "secret", "seed", "numbers", "number"],
    ),
    (&["bank", "card", "sim", "phone"], &["pin", "pins"]),
    (
        &[
            "private",
            "secret",
            "api",
            "ssh",
            "gpg",
            "pgp",
            "access",
            "signing",
            "encryption",
            "master",
        ],
        &["key", "keys"],
    ),
    (
        &["access", "api", "auth", "bearer", "refresh", "oauth", "github"],
        &["token", "tokens"],
    ),
    (&["seed"], &["phrase", "phrases", "words"]),
    (
        &["bitcoin", "crypto", "ethereum", "monero", "btc"],
        &["wallet", "wallets", "seed"],
    ),
];

/// Keepers of passwords, and what their files are called together with them.
const KEEPERS: [&str; 7] = [
    "bitwarden",
    "lastpass",
    "keepass",
    "keepassxc",
    "1password",
    "dashlane",
    "enpass",
];
const KEPT: [&str; 6] = ["export", "exports", "backup", "vault", "dump", "database"];

/// Words that say that a text is about secrets and holds none.
const ABOUT: [&str; 7] = [
    "policy",
    "policies",
    "guideline",
    "guidelines",
    "requirements",
    "richtlinie",
    "richtlinien",
];

/// Words that say nothing of what is in a file, at the end of its name.
const VERSIONS: [&str; 12] = [
    "copy", "old", "new", "backup", "bak", "final", "v", "draft", "txt", "kopie", "orig", "tmp",
];

/// Whether a file or folder is nobody's business: hidden, or by its name a key, a list of passwords, a wallet.
pub fn is_secret(path: &Path) -> bool {
    path.components().any(|part| {
        let written = part.as_os_str().to_string_lossy();
        let name = written.to_lowercase();
        let stem = name.split('.').next().unwrap_or(&name);
        let bare = name.rsplit_once('.').map_or(name.as_str(), |(stem, _)| stem);
        name.starts_with('.')
            || SECRET_ENDINGS.contains(&ending(Path::new(&name)).as_str())
            || [stem, bare, name.as_str()]
                .iter()
                .any(|name| SECRET_NAMES.contains(name))
            || says_secret(&words(&written))
            || (*written != *name && says_secret(&words(&name)))
    })
}

/// Whether the words of a name, its ending among them, say that it holds a secret.
fn says_secret(words: &[String]) -> bool {
    let is = |all: &[&str], word: &String| all.contains(&word.as_str());
    let about = words.iter().any(|word| is(&ABOUT, word));
    let always = |word: &String| {
        is(&ALWAYS, word)
            || COMPOUND
                .iter()
                .any(|end| word.len() > end.len() && word.ends_with(end))
    };
    if words.iter().any(always) || words.join(" ").contains("de passe") {
        return !about;
    }
    let together = words.windows(2).any(|two| {
        TOGETHER
            .iter()
            .any(|(first, second)| is(first, &two[0]) && is(second, &two[1]))
    });
    let kept = words.iter().any(|word| is(&KEEPERS, word)) && words.iter().any(|word| is(&KEPT, word));
    if together || kept {
        return !about;
    }
    let number = |word: &String| word.chars().all(|c| c.is_ascii_digit());
    let last = |words: &[String]| {
        let at = words
            .iter()
            .rposition(|word| !number(word) && !is(&VERSIONS, word));
        at.is_some_and(|at| {
            let other = at
                .checked_sub(1)
                .is_some_and(|before| is(&OF_OTHERS, &words[before]));
            is(&AT_THE_END, &words[at]) && !other
        })
    };
    last(words) || words.split_last().is_some_and(|(_, stem)| last(stem))
}

/// The words of a name, in small letters without accents; a capital begins one: "BankPasswords", "client_secret".
fn words(name: &str) -> Vec<String> {
    let mut words = vec![String::new()];
    let mut small = false;
    for c in name.chars() {
        // What a letter was written with, where a name keeps it apart as macOS does.
        if matches!(c, '\u{300}'..='\u{36f}') {
            continue;
        }
        if !c.is_alphanumeric() || (c.is_uppercase() && small) {
            words.push(String::new());
        }
        small = c.is_lowercase();
        if let Some(word) = words.last_mut().filter(|_| c.is_alphanumeric()) {
            word.extend(c.to_lowercase().map(without_accent));
        }
    }
    words.retain(|word| !word.is_empty());
    words
}

fn without_accent(c: char) -> char {
    match c {
        'ä' | 'á' | 'à' | 'â' | 'å' => 'a',
        'ö' | 'ó' | 'ò' | 'ô' | 'ø' => 'o',
        'ü' | 'ú' | 'ù' | 'û' => 'u',
        'é' | 'è' | 'ê' | 'ë' => 'e',
        'ñ' => 'n',
        other => other,
    }
}

/// How other kinds of private keys begin: of PuTTY, of age, of minisign.
const BEGINNINGS: [&str; 3] = [
    "PuTTY-User-Key-File-",
    "AGE-SECRET-KEY-1",
    "minisign encrypted secret key",
];
/// As far behind what announces a key the key itself is looked for, in characters.
const NEAR: usize = 300;
/// So many letters and digits in a row are no word of a language.
const RUN: usize = 24;

/// Whether there is a private key anywhere in a text, whatever its file is called: as a file of its own, or inside another,
/// as in the JSON of a cloud. A text that only says how such keys begin is none.
pub fn is_key(text: &str) -> bool {
    let announced = text.match_indices("BEGIN ").any(|(at, begin)| {
        let (before, behind) = (&text[..at], &text[at + begin.len()..]);
        let Some((label, rest)) = behind
            .split_once("--")
            .filter(|_| before.trim_end().ends_with("--"))
        else {
            return false;
        };
        if label.len() > 60 || !label.contains("PRIVATE KEY") {
            return false;
        }
        let line = before.rsplit(['\n', '\r']).next().unwrap_or_default();
        line.trim_matches(|c: char| c == '-' || c.is_whitespace())
            .is_empty()
            || holds_run(rest)
    });
    announced
        || BEGINNINGS.iter().any(|begin| {
            text.match_indices(begin).any(|(at, begin)| {
                let line = text[..at].rsplit(['\n', '\r']).next().unwrap_or_default();
                line.trim().is_empty() || holds_run(&text[at + begin.len()..])
            })
        })
}

/// Whether something stands near that is written in the letters of keys.
fn holds_run(text: &str) -> bool {
    // Where a key is quoted, its line ends are quoted, too.
    let near: String = text.chars().take(NEAR).collect();
    let near = near.replace("\\n", "\n").replace("\\r", "\n");
    near.split(|c: char| !(c.is_ascii_alphanumeric() || "+/=".contains(c)))
        .any(|run| run.len() >= RUN)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn secrets_are_told_by_names() {
        for name in [
            ".env",
            "prod.env",
            ".ssh/id",
            "a/.git/config",
            "id_rsa",
            "id_ed25519.pub",
            "server.key",
            "cert.pem",
            "vault.kdbx",
            "mail.gpg",
            "keyrings/login",
            "logins.json",
            "cookies.sqlite",
            "wallet.dat",
            "Login Data",
            "password-store/web/shop",
            // With a word for it.
            "Passwords.txt",
            "my/passwords/list.txt",
            "bank password.odt",
            "Bank Passwords 2024.xlsx",
            "BankPasswords.txt",
            "passwords_backup.csv",
            "wifi-password.md",
            "wifipassword.txt",
            "all my passwords (copy).docx",
            "Chrome Passwords.csv",
            "password manager export.csv",
            "password reset.eml",
            "passwords.txt.bak",
            "credentials.json",
            "AWS credentials old.csv",
            "secret.txt",
            "secrets.md",
            "secrets.yaml",
            "aws secrets (2).md",
            "client_secret.json",
            "client-secret-2024.json",
            "api_key.txt",
            "API keys.md",
            "ssh key home.txt",
            "private_key.txt",
            "Access Tokens.txt",
            "github-token.txt",
            "Recovery Codes.txt",
            "recovery codes.pdf",
            "GitHub-recovery-codes-2.txt",
            "google backup codes.txt",
            "recovery key.pdf",
            "seed phrase.jpg",
            "bitcoin wallet.txt",
            "2FA codes.txt",
            "bank pin.txt",
            "tan list.pdf",
            "bitwarden_export_20240101.json",
            "Passwörter.ods",
            "Passwo\u{308}rter.ods",
            "Bankpasswort.odt",
            "WLAN-Kennwort.txt",
            "Zugangsdaten.docx",
            "contraseñas.txt",
            "mots de passe.odt",
        ] {
            assert!(is_secret(Path::new(name)), "{name}");
        }
        for name in [
            "keys to the house.txt",
            "secretary.odt",
            "environment.md",
            "a.b.txt",
            "monkey.jpg",
            "Secret Santa 2024.ods",
            "The Secret Garden.epub",
            "secret recipe.md",
            "trade secrets.pdf",
            "Victoria's Secret.pdf",
            "password policy.pdf",
            "Password guidelines 2024.md",
            "Passwordless login.md",
            "user logins by month.csv",
            "token ring.pdf",
            "code review.md",
            "backup code.zip",
            "PIN diode.pdf",
            "pinboard.md",
            "key figures.xlsx",
            "keyboard.md",
            "keynote.odp",
            "monkey keys.md",
            "seeds to buy.txt",
            "seed catalogue.pdf",
            "bank statement.pdf",
            "recovery after surgery.md",
            "recovery plan.odt",
            "compass.md",
            "passport scan.pdf",
            "passenger list.ods",
            "wallet and keys lost.md",
            "keepass manual.pdf",
            "public key cryptography.pdf",
            "authors.md",
        ] {
            assert!(!is_secret(Path::new(name)), "{name}");
        }
    }

    #[test]
    fn keys_are_found_wherever_they_stand() {
        let body = "MIIEvQIBADANBgkqhkiG9w0BAQEFAASCBKcwggSjAgEAAoIBAQC7";
        let far = "A line of other text.\n".repeat(4000);
        for text in [
            "x\n-----BEGIN OPENSSH PRIVATE KEY-----\n".to_owned(),
            format!("{far}-----BEGIN RSA PRIVATE KEY-----\n{body}\n"),
            format!("> quoted: -----BEGIN PRIVATE KEY-----\n> {body}"),
            format!("{{\"private_key\": \"-----BEGIN PRIVATE KEY-----\\n{body}\\n\"}}"),
            format!("key='-----BEGIN EC PRIVATE KEY-----\nProc-Type: 4,ENCRYPTED\n\n{body}'"),
            "-----BEGIN PGP PRIVATE KEY BLOCK-----\n".to_owned(),
            "---- BEGIN SSH2 ENCRYPTED PRIVATE KEY ----\n".to_owned(),
            "\u{feff}\nPuTTY-User-Key-File-3: ssh-ed25519\n".to_owned(),
            "# public key: age1\nAGE-SECRET-KEY-1QQQQQQQQQQQQQQQQQQQQQQQQQQQQQQQQ\n".to_owned(),
        ] {
            assert!(is_key(&text), "{}", &text[text.len().saturating_sub(120)..]);
        }
        for text in [
            "-----BEGIN CERTIFICATE-----\nMIIEvQIBADANBgkqhkiG9w0BAQEFAASCBKcwggSjAgEAAoIBAQC7",
            "-----BEGIN PGP PUBLIC KEY BLOCK-----",
            "Such a file begins with -----BEGIN RSA PRIVATE KEY----- and is not for others.",
            "A PRIVATE KEY is a key that is private. BEGIN with that.",
            "The first line says PuTTY-User-Key-File-3 and the kind of the key.",
            "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIJ8 ada@home",
        ] {
            assert!(!is_key(text), "{text}");
        }
    }
}
