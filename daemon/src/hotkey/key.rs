//! Keys as people write them, "Ctrl+Alt+space", and as the portal and the X server want them.

use std::{fmt, str::FromStr};

use serde::{Deserialize, Serialize};

/// What the config may say.
pub const HOTKEY: &str = "a key such as \"Ctrl+Alt+space\" or \"F9\": any of Ctrl, Alt, Shift and Super, and a letter, a digit, a \
                          function key or a name such as space, Return, Pause or comma; what types something needs Ctrl, \
                          Alt or Super; empty for none";

/// The key of push to talk, or none.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct Hotkey(Option<Key>);

impl Hotkey {
    /// Ctrl+Alt+space.
    ///
    /// It can be held with one hand, and neither GNOME, KDE, Xfce, Cinnamon, MATE, sway nor Hyprland has anything on it:
    /// they take Super+space, Alt+space and Ctrl+space for input methods, window menus and launchers. Of the programs that
    /// are widely used Emacs knows it (mark-sexp, which is on Ctrl+Alt+@ there, too).
    pub fn usual() -> Hotkey {
        Hotkey(Some(Key {
            ctrl: true,
            alt: true,
            shift: false,
            logo: false,
            name: "space".to_owned(),
            symbol: 0x20,
        }))
    }

    /// The key, unless there is to be none.
    pub fn key(&self) -> Option<&Key> {
        self.0.as_ref()
    }
}

impl FromStr for Hotkey {
    type Err = String;

    fn from_str(text: &str) -> Result<Hotkey, String> {
        match text {
            "" => Ok(Hotkey(None)),
            text => Ok(Hotkey(Some(text.parse()?))),
        }
    }
}

impl fmt::Display for Hotkey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.as_ref().map_or(Ok(()), |key| key.fmt(f))
    }
}

/// One key with those that are held beside it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Key {
    pub(super) ctrl: bool,
    pub(super) alt: bool,
    pub(super) shift: bool,
    /// Super, which the portal calls LOGO and KDE calls Meta.
    pub(super) logo: bool,
    /// As xkbcommon calls it.
    name: String,
    /// Its keysym on the X server.
    pub(super) symbol: u32,
}

impl Key {
    /// In the notation of the portals, that of the XDG shortcuts specification: "CTRL+ALT+space".
    pub fn trigger(&self) -> String {
        self.written(["CTRL", "ALT", "SHIFT", "LOGO"])
    }

    /// As xkbcommon calls it, without what is held beside it.
    #[cfg(any(target_os = "macos", test))]
    pub(super) fn name(&self) -> &str {
        &self.name
    }

    fn written(&self, [ctrl, alt, shift, logo]: [&str; 4]) -> String {
        let held = [
            (self.ctrl, ctrl),
            (self.alt, alt),
            (self.shift, shift),
            (self.logo, logo),
        ];
        let held = held.into_iter().filter(|(held, _)| *held);
        let mut text: String = held.flat_map(|(_, name)| [name, "+"]).collect();
        text.push_str(&self.name);
        text
    }
}

impl fmt::Display for Key {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.written(["Ctrl", "Alt", "Shift", "Super"]))
    }
}

impl FromStr for Key {
    type Err = String;

    fn from_str(text: &str) -> Result<Key, String> {
        let wrong = |what: String| format!("{text:?} is not {HOTKEY}. {what}");
        let mut parts: Vec<&str> = text.split('+').map(str::trim).collect();
        let last = parts.pop().unwrap_or_default();
        let (name, symbol, types) =
            named(last).ok_or_else(|| wrong(format!("There is no key called {last:?}.")))?;
        let mut key = Key {
            ctrl: false,
            alt: false,
            shift: false,
            logo: false,
            name,
            symbol,
        };
        for part in parts {
            let held = match part.to_ascii_lowercase().as_str() {
                "ctrl" | "control" => &mut key.ctrl,
                "alt" => &mut key.alt,
                "shift" => &mut key.shift,
                "super" | "logo" | "meta" | "win" | "cmd" => &mut key.logo,
                _ => return Err(wrong(format!("{part:?} is none of Ctrl, Alt, Shift and Super."))),
            };
            if std::mem::replace(held, true) {
                return Err(wrong(format!("{part:?} is there twice.")));
            }
        }
        if types && !(key.ctrl || key.alt || key.logo) {
            return Err(wrong(format!("{} alone could not be typed any more.", key.name)));
        }
        Ok(key)
    }
}

/// Keys that have names: xkbcommon's name, the keysym, and whether it is needed for typing. From the X protocol's
/// keysymdef.h and XF86keysym.h.
const NAMED: [(&str, u32, bool); 32] = [
    ("space", 0x20, true),
    ("apostrophe", 0x27, true),
    ("comma", 0x2c, true),
    ("minus", 0x2d, true),
    ("period", 0x2e, true),
    ("slash", 0x2f, true),
    ("semicolon", 0x3b, true),
    ("equal", 0x3d, true),
    ("bracketleft", 0x5b, true),
    ("backslash", 0x5c, true),
    ("bracketright", 0x5d, true),
    ("grave", 0x60, true),
    ("BackSpace", 0xff08, true),
    ("Tab", 0xff09, true),
    ("Return", 0xff0d, true),
    ("Pause", 0xff13, false),
    ("Scroll_Lock", 0xff14, false),
    ("Escape", 0xff1b, true),
    ("Home", 0xff50, true),
    ("Left", 0xff51, true),
    ("Up", 0xff52, true),
    ("Right", 0xff53, true),
    ("Down", 0xff54, true),
    ("Page_Up", 0xff55, true),
    ("Page_Down", 0xff56, true),
    ("End", 0xff57, true),
    ("Print", 0xff61, false),
    ("Insert", 0xff63, true),
    ("Menu", 0xff67, false),
    ("Delete", 0xffff, true),
    ("XF86AudioMicMute", 0x1008_ffb2, false),
    // The key for an assistant, on the keyboards that have one.
    ("XF86Assistant", 0x1008_1247, false),
];

/// Other names that people use.
const ALSO: [(&str, &str); 6] = [
    ("enter", "Return"),
    ("esc", "Escape"),
    ("pageup", "Page_Up"),
    ("pagedown", "Page_Down"),
    ("del", "Delete"),
    ("ins", "Insert"),
];

/// The name of a key, its keysym, and whether it is needed for typing.
fn named(text: &str) -> Option<(String, u32, bool)> {
    if let [sign] = text.as_bytes()
        && sign.is_ascii_alphanumeric()
    {
        let sign = sign.to_ascii_lowercase();
        return Some((char::from(sign).to_string(), sign.into(), true));
    }
    let number = text.strip_prefix(['F', 'f']).and_then(|n| n.parse::<u32>().ok());
    if let Some(n @ 1..=24) = number
        && !text.contains('+')
    {
        return Some((format!("F{n}"), 0xffbd + n, false));
    }
    let also = ALSO.iter().find(|(also, _)| also.eq_ignore_ascii_case(text));
    let text = also.map_or(text, |(_, name)| name);
    let known = NAMED.iter().find(|(name, ..)| name.eq_ignore_ascii_case(text));
    known.map(|(name, symbol, types)| ((*name).to_owned(), *symbol, *types))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn keys_are_read_and_written() {
        #[track_caller]
        fn check(text: &str, shown: &str, trigger: &str, symbol: u32) {
            let key: Key = text.parse().unwrap();
            assert_eq!(
                (&*key.to_string(), &*key.trigger(), key.symbol),
                (shown, trigger, symbol)
            );
            assert_eq!(key.to_string().parse::<Key>().as_ref(), Ok(&key));
        }
        check("Ctrl+Alt+space", "Ctrl+Alt+space", "CTRL+ALT+space", 0x20);
        check("super + shift + T", "Shift+Super+t", "SHIFT+LOGO+t", 0x74);
        check("META+7", "Super+7", "LOGO+7", 0x37);
        check("F1", "F1", "F1", 0xffbe);
        check("f24", "F24", "F24", 0xffd5);
        check("Alt+Enter", "Alt+Return", "ALT+Return", 0xff0d);
        check("pause", "Pause", "Pause", 0xff13);
        check("Control+grave", "Ctrl+grave", "CTRL+grave", 0x60);
    }

    #[test]
    fn what_is_no_key_says_why() {
        #[track_caller]
        fn check(text: &str, why: &str) {
            let error = text.parse::<Hotkey>().unwrap_err();
            assert!(error.contains(why) && error.contains("is not a key"), "{error}");
        }
        check("Ctrl+", "no key called \"\"");
        check("Ctrl+Hyper+x", "\"Hyper\" is none of");
        check("Ctrl+Banana", "no key called \"Banana\"");
        check("Ctrl+ctrl+x", "twice");
        check("space", "could not be typed");
        check("Shift+a", "could not be typed");
        check("F25", "no key called");
        check("F+1", "\"F\" is none of");
        check("F0", "no key called");
        check(" ", "no key called");
    }

    #[test]
    fn none_and_the_usual_one() {
        assert_eq!("".parse::<Hotkey>().unwrap().key(), None);
        assert_eq!(Hotkey::default().to_string(), "");
        assert_eq!("Ctrl+Alt+space".parse(), Ok(Hotkey::usual()));
        assert_eq!(Hotkey::usual().to_string(), "Ctrl+Alt+space");
    }

    proptest! {
        #[test]
        fn whatever_is_written_is_read_as_itself_or_refused(text in "(ctrl|alt|shift|super|x|f[0-9]{1,3}|\\PC|\\+){0,6}") {
            if let Ok(hotkey) = text.parse::<Hotkey>() {
                prop_assert_eq!(hotkey.to_string().parse(), Ok(hotkey));
            }
        }
    }
}
