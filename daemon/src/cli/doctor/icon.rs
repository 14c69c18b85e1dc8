//! Whether the status icon is to be seen: who collects icons on the session bus, and whether Tiro's is among them.

use zbus::{Connection, fdo::DBusProxy, names::BusName};

use super::{BUS_TIME, Section};
use crate::{bus, config::Config};

const NAME: &str = "status icon";

/// Who brings icons and bars together (Status Notifier Item specification).
#[zbus::proxy(
    interface = "org.kde.StatusNotifierWatcher",
    default_service = "org.kde.StatusNotifierWatcher",
    default_path = "/StatusNotifierWatcher"
)]
trait Watcher {
    #[zbus(property)]
    fn is_status_notifier_host_registered(&self) -> zbus::Result<bool>;

    #[zbus(property)]
    fn registered_status_notifier_items(&self) -> zbus::Result<Vec<String>>;
}

/// What the icon is like here. Nothing of it is a fault: everything goes without.
#[derive(Debug, PartialEq)]
enum Seen {
    NoBus,
    NoWatcher,
    NoBar,
    Silent,
    /// There is a bar, and no daemon yet.
    Would,
    /// The daemon keeps off this bus, as one with a `TIRO_HOME` does.
    Apart,
    /// There is a bar, and it does not have the daemon's.
    Lacks,
    Shown,
}

/// Says whether it is shown. `pid` is the daemon's, where one runs.
pub(super) async fn icon(section: &mut Section, pid: Option<u32>, config: &Config) {
    if !config.desktop.icon {
        return section.info(NAME, "Off (desktop.icon).");
    }
    let seen = match tokio::time::timeout(BUS_TIME, Connection::session()).await {
        Ok(Ok(session)) => look(&session, pid).await,
        Ok(Err(_)) | Err(_) => Seen::NoBus,
    };
    tell(
        section,
        &seen,
        &std::env::var("XDG_CURRENT_DESKTOP").unwrap_or_default(),
    );
}

async fn look(session: &Connection, pid: Option<u32>) -> Seen {
    let looking = async {
        let bus = DBusProxy::new(session).await?;
        // It is not started for this.
        let watcher = BusName::try_from(bus::WATCHER)?;
        if !bus.name_has_owner(watcher).await? {
            return Ok(Seen::NoWatcher);
        }
        let watcher = WatcherProxy::new(session).await?;
        if !watcher.is_status_notifier_host_registered().await? {
            return Ok(Seen::NoBar);
        }
        let Some(pid) = pid else { return Ok(Seen::Would) };
        if bus::owner(session).await != Some(pid) {
            return Ok(Seen::Apart);
        }
        let name = bus::icon_name_of(pid);
        let items = watcher.registered_status_notifier_items().await?;
        // A bar may know it by the name of its connection instead.
        let owner = bus.get_name_owner(BusName::try_from(name.as_str())?).await;
        let owner = owner.map(|owner| owner.to_string()).unwrap_or_default();
        let ours = |item: &String| {
            let service = item.split('/').next().unwrap_or_default();
            service == name || (!owner.is_empty() && service == owner)
        };
        zbus::Result::Ok(match items.iter().any(ours) {
            true => Seen::Shown,
            false => Seen::Lacks,
        })
    };
    match tokio::time::timeout(BUS_TIME, looking).await {
        Ok(Ok(seen)) => seen,
        Ok(Err(error)) => {
            tracing::debug!(%error, "nobody says how the status icon is");
            Seen::Silent
        }
        Err(_) => Seen::Silent,
    }
}

fn tell(section: &mut Section, seen: &Seen, desktop: &str) {
    let gnome = desktop.split(':').any(|name| name.eq_ignore_ascii_case("gnome"));
    let bar = match gnome {
        true => "GNOME shows them with its extension AppIndicator (gnome-shell-extension-appindicator).",
        false => {
            "KDE, Xfce, Cinnamon and MATE show them by themselves; in Waybar, put \"tray\" among its modules."
        }
    };
    let without = "`tiro status --follow --json` feeds a bar without it.";
    match seen {
        Seen::NoBus => section.info(NAME, "None: there is no session bus."),
        Seen::NoWatcher => section.info(
            NAME,
            format!("None: nothing here shows status icons. {bar} {without}"),
        ),
        Seen::NoBar => section.info(
            NAME,
            format!("None: icons are collected, and no bar shows them. {bar} {without}"),
        ),
        Seen::Silent => section.warn(
            NAME,
            "What collects status icons gives no answer.",
            format!("Restart your bar. {without}"),
        ),
        Seen::Would => section.ok(NAME, "Your bar shows one while the daemon runs."),
        Seen::Apart => section.info(NAME, "None: the daemon is not on the session bus."),
        Seen::Lacks => section.warn(
            NAME,
            "Your bar does not have that of the daemon.",
            "Restart the daemon, or the bar.",
        ),
        Seen::Shown => section.ok(NAME, "Your bar has it; click it to listen."),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cli::doctor::Report;

    #[test]
    fn what_is_missing_is_said_with_what_to_do() {
        #[track_caller]
        fn check(seen: Seen, desktop: &str, expect: &[&str]) {
            let mut section = Section::new("daemon");
            tell(&mut section, &seen, desktop);
            let report = Report::of(vec![section]);
            assert!(report.ok);
            let text = report.text();
            assert!(expect.iter().all(|part| text.contains(part)), "{text}");
        }
        check(Seen::NoBus, "", &["info status icon: None"]);
        check(
            Seen::NoWatcher,
            "ubuntu:GNOME",
            &["info", "AppIndicator", "tiro status --follow"],
        );
        check(Seen::NoWatcher, "sway", &["info", "\"tray\""]);
        check(Seen::NoBar, "KDE", &["info", "no bar shows them"]);
        check(
            Seen::Silent,
            "KDE",
            &["WARN", "gives no answer", "Restart your bar"],
        );
        check(
            Seen::Would,
            "KDE",
            &["ok   status icon: Your bar shows one while"],
        );
        check(Seen::Apart, "KDE", &["info", "not on the session bus"]);
        check(Seen::Lacks, "KDE", &["WARN", "Restart the daemon"]);
        check(Seen::Shown, "KDE", &["ok   status icon: Your bar has it"]);
    }
}
