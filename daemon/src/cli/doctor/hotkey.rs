//! Which way the key to talk is reached. It is looked for and not taken: nobody wants a doctor who keeps it.

use super::{super::daemon, App, BUS_TIME, Section};
use crate::hotkey::{Reach, Way, would_be};

/// How a key is bound where Tiro has none, or in its place.
const BIND: &str = match cfg!(target_os = "macos") {
    true => {
        "bind a key to the command `tiro listen toggle`; in the config of skhd, `ctrl + alt - space : tiro listen toggle`."
    }
    false => {
        "bind a key to the command `tiro listen toggle` in your desktop's keyboard settings; in the config of sway, \
         `bindsym --no-repeat Mod4+t exec tiro listen toggle`; of Hyprland, `bind = SUPER, T, exec, tiro listen toggle`."
    }
};

/// Which way is active; without a daemon, which it would take.
pub(super) async fn hotkey(section: &mut Section, active: Option<Reach>, app: &App) {
    let reach = match (active, daemon::key(app)) {
        (Some(reach), _) | (None, Err(reach)) => reach,
        (None, Ok(mut settings)) => {
            settings.patience = BUS_TIME;
            would_be(&settings).await
        }
    };
    tell(section, reach);
}

fn tell(section: &mut Section, reach: Reach) {
    match reach.way {
        Way::Portal | Way::X11 | Way::Mac => section.ok("hotkey", reach.says),
        Way::Off => section.info("hotkey", reach.says),
        Way::None => return section.warn("hotkey", reach.says, format!("Instead, {BIND}")),
    }
    section.info("key binding", format!("Instead of that key, {BIND}"));
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cli::doctor::Report;

    #[test]
    fn where_there_is_no_way_it_is_said_what_to_do() {
        #[track_caller]
        fn check(way: Way, expect: &str) {
            let mut section = Section::new("daemon");
            let says = "Why.".to_owned();
            tell(&mut section, Reach { way, says });
            let text = Report::of(vec![section]).text();
            assert!(text.contains(expect), "{text}");
            assert!(text.contains("`tiro listen toggle`"), "{text}");
        }
        check(Way::Portal, "ok   hotkey: Why.");
        check(Way::X11, "ok   hotkey: Why.");
        check(Way::Mac, "ok   hotkey: Why.");
        check(Way::Off, "info hotkey: Why.");
        check(Way::None, "WARN hotkey: Why.");
    }
}
