//! Kinds of value that TOML does not have: periods, folders, weights, names of accounts, addresses.

use std::{
    fmt,
    path::{Path, PathBuf},
    str::FromStr,
    time::Duration,
};

use jiff::civil::Weekday;
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Deserialize, Serialize};
use tools::system::{
    mail::outbox,
    post::{Protocol, Server},
};

use crate::{
    agent::rules,
    hotkey::{HOTKEY, Hotkey},
    listen::wake::phrases::{PHRASE, Phrase},
};

/// A length of time, written "90s", "10m", "2h", "90d" or together, "1h30m".
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct Period(Duration);

impl Period {
    const MAX: Duration = Duration::from_secs(100 * 365 * 86_400);

    /// So many seconds.
    pub const fn seconds(n: u64) -> Period {
        Period(Duration::from_secs(n))
    }

    /// So many minutes.
    pub const fn minutes(n: u64) -> Period {
        Period(Duration::from_secs(n * 60))
    }

    /// So many days of 24 hours.
    pub const fn days(n: u64) -> Period {
        Period(Duration::from_secs(n * 86_400))
    }

    /// The length itself.
    pub fn get(self) -> Duration {
        self.0
    }

    /// The length, or nothing for "0s" where that means never.
    pub fn unless_zero(self) -> Option<Duration> {
        (!self.0.is_zero()).then_some(self.0)
    }
}

impl FromStr for Period {
    type Err = String;

    fn from_str(text: &str) -> Result<Period, String> {
        let wrong = || format!("{text:?} is not {}", PERIOD);
        let span: jiff::Span = text.parse().map_err(|_| wrong())?;
        let length = span
            .to_duration(jiff::SpanRelativeTo::days_are_24_hours())
            .map_err(|_| wrong())?;
        let length = Duration::try_from(length).map_err(|_| wrong())?;
        if length > Period::MAX {
            Err(wrong())
        } else {
            Ok(Period(length))
        }
    }
}

impl fmt::Display for Period {
    /// The largest unit that says it exactly.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let ms = self.0.as_millis();
        let (unit, name) = [
            (86_400_000, "d"),
            (3_600_000, "h"),
            (60_000, "m"),
            (1000, "s"),
            (1, "ms"),
        ]
        .into_iter()
        .find(|(unit, _)| ms > 0 && ms.is_multiple_of(*unit))
        .unwrap_or((1000, "s"));
        write!(f, "{}{name}", ms / unit)
    }
}

/// A folder: an absolute path or one that starts with "~/"; empty means the usual place.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct Folder(String);

impl Folder {
    /// Where it is, if it was set.
    pub fn path(&self) -> Option<PathBuf> {
        (!self.0.is_empty()).then(|| expand(&self.0))
    }

    /// Where it is, else the usual place.
    pub fn or(&self, usual: PathBuf) -> PathBuf {
        self.path().unwrap_or(usual)
    }
}

impl FromStr for Folder {
    type Err = String;

    fn from_str(text: &str) -> Result<Folder, String> {
        if text.is_empty() || rooted(text) {
            Ok(Folder(text.to_owned()))
        } else {
            Err(format!("{text:?} is not {FOLDER}"))
        }
    }
}

impl fmt::Display for Folder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// A file: an absolute path or one that starts with "~/"; empty means none.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct FilePath(String);

impl FilePath {
    /// Where it is, if it was set.
    pub fn path(&self) -> Option<PathBuf> {
        (!self.0.is_empty()).then(|| expand(&self.0))
    }
}

impl FromStr for FilePath {
    type Err = String;

    fn from_str(text: &str) -> Result<FilePath, String> {
        if text.is_empty() || rooted(text) {
            Ok(FilePath(text.to_owned()))
        } else {
            Err(format!("{text:?} is not {FILE_PATH}"))
        }
    }
}

impl fmt::Display for FilePath {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// Which weights to load: an id that `models.toml` knows, or a file.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct Weights(String);

impl Weights {
    /// Weights by their id.
    pub(super) fn id(id: &str) -> Weights {
        Weights(id.to_owned())
    }

    /// As it was written.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// The file, when it was given as one; `None` for an id.
    pub fn file(&self) -> Option<PathBuf> {
        rooted(&self.0).then(|| expand(&self.0))
    }
}

impl FromStr for Weights {
    type Err = String;

    fn from_str(text: &str) -> Result<Weights, String> {
        let id = !text.is_empty()
            && text.len() <= 100
            && !text.starts_with('.')
            && text
                .chars()
                .all(|c| c.is_ascii_alphanumeric() || "._-".contains(c));
        if id || rooted(text) {
            Ok(Weights(text.to_owned()))
        } else {
            Err(format!("{text:?} is not {WEIGHTS}"))
        }
    }
}

impl fmt::Display for Weights {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// Which language is spoken: its ISO 639 code, or "auto".
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct Language(String);

impl Language {
    /// By its code.
    pub(super) fn code(code: &str) -> Language {
        Language(code.to_owned())
    }

    /// Its code; `None` when it is to be recognised.
    pub fn known(&self) -> Option<&str> {
        (self.0 != "auto").then_some(&self.0)
    }
}

impl FromStr for Language {
    type Err = String;

    fn from_str(text: &str) -> Result<Language, String> {
        let code = matches!(text.len(), 2..=3) && text.bytes().all(|b| b.is_ascii_lowercase());
        if code || text == "auto" {
            Ok(Language(text.to_owned()))
        } else {
            Err(format!("{text:?} is not {LANGUAGE}"))
        }
    }
}

impl fmt::Display for Language {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// What the person calls an account: a part of names of files, so letters, digits and `-` only.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct AccountName(String);

impl AccountName {
    /// As it was written; empty when it was not.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl FromStr for AccountName {
    type Err = String;

    fn from_str(text: &str) -> Result<AccountName, String> {
        let fine = |b: u8| b.is_ascii_lowercase() || b.is_ascii_digit() || b == b'-';
        if (1..=32).contains(&text.len()) && text.bytes().all(fine) && !text.starts_with('-') {
            Ok(AccountName(text.to_owned()))
        } else {
            Err(format!("{text:?} is not {ACCOUNT_NAME}"))
        }
    }
}

impl fmt::Display for AccountName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// Where a server is.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct ServerUrl(String);

impl ServerUrl {
    /// One that is known to be right.
    pub(super) fn known(url: &str) -> ServerUrl {
        ServerUrl(url.to_owned())
    }

    /// As it was written; empty when it was not.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl FromStr for ServerUrl {
    type Err = String;

    fn from_str(text: &str) -> Result<ServerUrl, String> {
        match tools::system::dav::Account::place(text) {
            Ok(_) => Ok(ServerUrl(text.to_owned())),
            Err(_) => Err(format!("{text:?} is not {SERVER_URL}")),
        }
    }
}

impl fmt::Display for ServerUrl {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// Kinds of text that a check of the tools decides on; empty stands for none.
macro_rules! checked {
    ($($(#[$about:meta])* $kind:ident: $allowed:ident, $check:expr;)*) => {$(
        $(#[$about])*
        #[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
        #[serde(try_from = "String", into = "String")]
        pub struct $kind(String);

        impl $kind {
            /// As it was written; empty when it was not.
            pub fn as_str(&self) -> &str {
                &self.0
            }
        }

        impl FromStr for $kind {
            type Err = String;

            fn from_str(text: &str) -> Result<$kind, String> {
                let check: fn(&str) -> bool = $check;
                if text.is_empty() || check(text) {
                    Ok($kind(text.to_owned()))
                } else {
                    Err(format!("{text:?} is not {}", $allowed))
                }
            }
        }

        impl fmt::Display for $kind {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(&self.0)
            }
        }
    )*};
}

checked! {
    /// Somebody's mail address.
    MailAddress: MAIL_ADDRESS, outbox::is_address;
    /// Where a model server is.
    ModelUrl: MODEL_URL, |text| tools::system::dav::Account::place(text).is_ok();
    /// Where a server or we speak Wyoming.
    WyomingUrl: WYOMING_URL, |text| crate::wyoming::Place::parse(text).is_some();
    /// Where mail is read.
    ImapUrl: IMAP_URL, |text| Server::parse(text, Protocol::Imap).is_ok();
    /// Where mail is sent.
    SmtpUrl: SMTP_URL, |text| Server::parse(text, Protocol::Smtp).is_ok();
}

/// Where the web is searched: an address with `{}` where the words go.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct SearchUrl(String);

impl SearchUrl {
    /// As it was written.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl Default for SearchUrl {
    fn default() -> SearchUrl {
        SearchUrl(tools::Reach::default().search_url)
    }
}

impl FromStr for SearchUrl {
    type Err = String;

    fn from_str(text: &str) -> Result<SearchUrl, String> {
        match tools::system::web::is_template(text) {
            true => Ok(SearchUrl(text.to_owned())),
            false => Err(format!("{text:?} is not {SEARCH_URL}")),
        }
    }
}

impl fmt::Display for SearchUrl {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// A day of the week, its name or at least three letters of it: "monday", "Sat".
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct Day {
    written: String,
    day: Weekday,
}

impl Day {
    /// Which one it is.
    pub fn weekday(&self) -> Weekday {
        self.day
    }
}

impl FromStr for Day {
    type Err = String;

    fn from_str(text: &str) -> Result<Day, String> {
        let name = text.trim().to_lowercase();
        let mut named = DAYS
            .iter()
            .filter(|(day, _)| name.len() >= 3 && day.starts_with(&name));
        match named.next() {
            Some((_, day)) => Ok(Day {
                written: text.to_owned(),
                day: *day,
            }),
            None => Err(format!("{text:?} is not {DAY}")),
        }
    }
}

impl fmt::Display for Day {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.written)
    }
}

impl TryFrom<String> for Day {
    type Error = String;

    fn try_from(text: String) -> Result<Day, String> {
        text.parse()
    }
}

impl From<Day> for String {
    fn from(day: Day) -> String {
        day.written
    }
}

impl JsonSchema for Day {
    fn schema_name() -> std::borrow::Cow<'static, str> {
        "Day".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({"type": "string", "allowed": DAY, "such_as": DAYS.map(|(name, _)| name)})
    }
}

/// Tools that a rule means: one by its name, a domain as "mail.*", all as "*". What means no tool is refused: a rule with a
/// slip of the pen would protect nothing.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct ToolPattern(String);

impl ToolPattern {
    /// As it was written.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl FromStr for ToolPattern {
    type Err = String;

    fn from_str(text: &str) -> Result<ToolPattern, String> {
        match tools::ALL.iter().any(|entry| rules::names(text, entry.name)) {
            true => Ok(ToolPattern(text.to_owned())),
            false => Err(format!("{text:?} is not {TOOL_PATTERN}")),
        }
    }
}

impl fmt::Display for ToolPattern {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

const TOOL_PATTERN: &str = r#"a name from `tiro tools`, a domain such as "mail.*", or "*""#;
const DAY: &str = r#"a day such as "monday""#;
const DAYS: [(&str, Weekday); 7] = [
    ("monday", Weekday::Monday),
    ("tuesday", Weekday::Tuesday),
    ("wednesday", Weekday::Wednesday),
    ("thursday", Weekday::Thursday),
    ("friday", Weekday::Friday),
    ("saturday", Weekday::Saturday),
    ("sunday", Weekday::Sunday),
];
const ACCOUNT_NAME: &str = r#"up to 32 lower-case letters, digits and "-""#;
const SERVER_URL: &str =
    r#"an address such as "https://dav.example.com/", without user name and password in it"#;
const MODEL_URL: &str =
    r#"an address such as "http://192.168.1.20:8080", without user name and password in it"#;
const WYOMING_URL: &str = r#"an address such as "tcp://192.168.1.20:10300""#;
const MAIL_ADDRESS: &str = r#"an address such as "ada@example.org""#;
const IMAP_URL: &str = r#"an address such as "imaps://imap.example.org", or "imap://localhost:143" where encryption begins later"#;
const SMTP_URL: &str = r#"an address such as "smtps://smtp.example.org", or "smtp://smtp.example.org" where encryption begins later"#;
const SEARCH_URL: &str =
    r#"a web address with {} where the words go, such as "https://duckduckgo.com/?q={}""#;
const PERIOD: &str = r#"a length of time such as "90s", "10m", "2h" or "90d""#;
const FOLDER: &str = r#"a folder that starts with "/" or "~/", or "" for the usual place"#;
const FILE_PATH: &str = r#"a file that starts with "/" or "~/", or "" for none"#;
const WEIGHTS: &str = r#"an id from `tiro models list`, or a file that starts with "/" or "~/""#;

const LANGUAGE: &str = r#"a language code such as "en", or "auto""#;

/// Conversions that serde asks for, and a schema that says in words what is allowed.
macro_rules! text_value {
    ($($kind:ident: $allowed:expr;)*) => {$(
        impl TryFrom<String> for $kind {
            type Error = String;

            fn try_from(text: String) -> Result<$kind, String> {
                text.parse()
            }
        }

        impl From<$kind> for String {
            fn from(value: $kind) -> String {
                value.to_string()
            }
        }

        impl JsonSchema for $kind {
            fn schema_name() -> std::borrow::Cow<'static, str> {
                stringify!($kind).into()
            }

            fn json_schema(_: &mut SchemaGenerator) -> Schema {
                json_schema!({"type": "string", "allowed": $allowed})
            }
        }
    )*};
}

text_value! {
    Period: PERIOD;
    Folder: FOLDER;
    Weights: WEIGHTS;
    Language: LANGUAGE;
    FilePath: FILE_PATH;
    AccountName: ACCOUNT_NAME;
    ServerUrl: SERVER_URL;
    MailAddress: MAIL_ADDRESS;
    ModelUrl: MODEL_URL;
    WyomingUrl: WYOMING_URL;
    ImapUrl: IMAP_URL;
    SmtpUrl: SMTP_URL;
    SearchUrl: SEARCH_URL;
    ToolPattern: TOOL_PATTERN;
    Hotkey: HOTKEY;
    Phrase: PHRASE;
}

/// Whether a path leads to the same place from every working directory.
fn rooted(text: &str) -> bool {
    (Path::new(text).is_absolute() || text.starts_with("~/")) && !text.contains('\0')
}

fn expand(text: &str) -> PathBuf {
    match (text.strip_prefix("~/"), std::env::home_dir()) {
        (Some(rest), Some(home)) => home.join(rest),
        _ => PathBuf::from(text),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn periods() {
        #[track_caller]
        fn check(text: &str, expect: Result<(u64, &str), ()>) {
            let got = text.parse::<Period>();
            match expect {
                Ok((seconds, shown)) => {
                    let period = got.unwrap();
                    assert_eq!(period.get(), Duration::from_secs(seconds), "{text}");
                    assert_eq!(period.to_string(), shown);
                    assert_eq!(period.to_string().parse::<Period>(), Ok(period));
                }
                Err(()) => assert!(got.unwrap_err().contains("\"10m\""), "{text}"),
            }
        }
        check("10m", Ok((600, "10m")));
        check("90s", Ok((90, "90s")));
        check("120s", Ok((120, "2m")));
        check("1h30m", Ok((5400, "90m")));
        check("90d", Ok((90 * 86_400, "90d")));
        check("2 weeks", Ok((14 * 86_400, "14d")));
        check("0s", Ok((0, "0s")));
        check("10", Err(()));
        check("", Err(()));
        check("ten minutes", Err(()));
        check("-10m", Err(()));
        check("10m ago", Err(()));
        check("1y", Err(()));
        check("400000d", Err(()));
    }

    #[test]
    fn a_search_has_a_place_for_its_words() {
        let parse = |text: &str| text.parse::<SearchUrl>();
        assert_eq!(
            parse("https://find.example/?q={}").unwrap().as_str(),
            "https://find.example/?q={}"
        );
        for wrong in ["https://find.example/", "file:///{}", "javascript:{}", "{}", ""] {
            assert!(
                parse(wrong).unwrap_err().contains("where the words go"),
                "{wrong}"
            );
        }
        assert_eq!(parse(SearchUrl::default().as_str()), Ok(SearchUrl::default()));
    }

    #[test]
    fn folders_and_weights_are_rooted() {
        assert_eq!(
            "/a/b".parse::<Folder>().unwrap().path(),
            Some(PathBuf::from("/a/b"))
        );
        assert_eq!("".parse::<Folder>().unwrap().path(), None);
        assert!("a/b".parse::<Folder>().is_err());
        assert!("~/b".parse::<Folder>().unwrap().path().unwrap().is_absolute());
        assert_eq!("base".parse::<Weights>().unwrap().file(), None);
        assert_eq!(
            "/a/b.gguf".parse::<Weights>().unwrap().file(),
            Some(PathBuf::from("/a/b.gguf"))
        );
        assert!("a/b.gguf".parse::<Weights>().is_err());
        assert!("..".parse::<Weights>().is_err());
        assert!("".parse::<Weights>().is_err());
    }
}
