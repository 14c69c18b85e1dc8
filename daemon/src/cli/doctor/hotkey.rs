//! Which way the key to talk is reached. It is asked for and not taken: the daemon has it.

use super::Section;
use crate::{
    config::Config,
    hotkey::{Reach, Settings, Way, would_be},
};

/// How a key is bound where Tiro has none, or in its place.
const BIND: &str = "Bind a key to the command `tiro listen toggle` in your desktop's keyboard settings; in the config of sway, \
                    `bindsym --no-repeat Mod4+t exec tiro listen toggle`; of Hyprland, `bind = SUPER, T, exec, tiro listen toggle`.";

/// Which way is active; without a daemon, which it would take.
pub(super) async fn hotkey(section: &mut Section, active: Option<Reach>, config: &Config) {
    let reach = match (active, config.listen.key.key()) {
        (Some(reach), _) => reach,
        (None, Some(key)) => would_be(&Settings::here(key.clone())).await,
        (None, None) => Reach::off("None is wanted (listen.key)."),
    };
    match reach.way {
        Way::Portal | Way::X11 => section.ok("hotkey", reach.says),
        Way::Off => section.info("hotkey", reach.says),
        Way::None => return section.warn("hotkey", reach.says, BIND),
    }
    section.info("key binding", format!("Instead of that key: {}", lower(BIND)));
}

/// Within a sentence.
fn lower(text: &str) -> String {
    let (first, rest) = text.split_at(1);
    first.to_ascii_lowercase() + rest
}
