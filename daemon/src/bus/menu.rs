//! The menu of the status icon: `com.canonical.dbusmenu`, which no specification but the code of Ubuntu and KDE describes.
//! Its signals go to everybody on the bus, so the only one that is sent says that there is something to fetch.

use std::collections::HashMap;

use tools::system::plain;
use zbus::{
    Connection, OwnedVariant, Variant, fdo, interface, message::Header, object_server::SignalEmitter,
};

use super::icon::{Icon, Press, headline};
use crate::{reply::State, run::Look};

/// Where the menu is.
pub(super) const PATH: &str = "/MenuBar";
/// The row above all rows.
const ROOT: i32 = 0;
/// Longest row with an answer.
const MAX_ANSWER: usize = 60;
/// At most so many things happen to a menu at once; a person makes one.
const MAX_EVENTS: usize = 16;

/// One row; without a label it is a line between others.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Row {
    id: i32,
    label: String,
    /// A check mark, or none.
    checked: Option<bool>,
    press: Option<Press>,
}

/// The rows. Who may not read answers is not shown any.
pub(super) fn rows(look: &Look, near: bool) -> Vec<Row> {
    let row = |id, label: &str, press| Row {
        id,
        label: label.to_owned(),
        checked: None,
        press,
    };
    let listen = match look.state {
        State::Listening => "Stop listening",
        _ => "Listen",
    };
    let answer = plain::one_line(&look.answer, MAX_ANSWER);
    let mut rows = vec![row(1, &headline(look), None)];
    if near && !answer.is_empty() {
        rows.push(row(2, &answer, None));
    }
    rows.extend([
        row(3, "", None),
        row(4, listen, (!look.muted).then_some(Press::Listen)),
        Row {
            checked: Some(look.muted),
            ..row(5, "Mute microphone", Some(Press::Mute))
        },
        row(6, "Cancel", look.busy.then_some(Press::Cancel)),
        row(7, "", None),
        row(8, "Quit Tiro", Some(Press::Quit)),
    ]);
    rows
}

/// Tells bars to fetch the menu.
pub(super) async fn changed(connection: &Connection, revision: u32) -> zbus::Result<()> {
    Menu::layout_updated(&SignalEmitter::new(connection, PATH)?, revision, ROOT).await
}

type Properties = HashMap<&'static str, Variant<'static>>;

impl Row {
    /// Its properties of these names, or all of them; what is as usual is left out.
    fn properties(&self, names: &[String]) -> Properties {
        let mut all = Properties::new();
        if self.label.is_empty() {
            all.insert("type", Variant::from("separator"));
        } else {
            // One underscore would mark the next letter as a key.
            all.insert("label", Variant::from(self.label.replace('_', "__")));
            if self.press.is_none() {
                all.insert("enabled", Variant::from(false));
            }
        }
        if let Some(checked) = self.checked {
            all.insert("toggle-type", Variant::from("checkmark"));
            all.insert("toggle-state", Variant::from(i32::from(checked)));
        }
        only(all, names)
    }
}

fn only(mut all: Properties, names: &[String]) -> Properties {
    all.retain(|name, _| names.is_empty() || names.iter().any(|n| n == name));
    all
}

fn root(names: &[String]) -> Properties {
    only(
        Properties::from([("children-display", Variant::from("submenu"))]),
        names,
    )
}

/// The menu.
pub(super) struct Menu(pub(super) Icon);

impl Menu {
    async fn rows(&self, header: &Header<'_>, connection: &Connection) -> Vec<Row> {
        rows(&self.0.look(), self.0.is_near(header, connection).await)
    }

    /// What happens to a row; only a click on one that can be pressed does something.
    async fn happened(
        &self,
        id: i32,
        what: &str,
        header: &Header<'_>,
        connection: &Connection,
    ) -> fdo::Result<()> {
        let rows = rows(&self.0.look(), true);
        if id != ROOT && !rows.iter().any(|row| row.id == id) {
            return Err(no_row(id));
        }
        let pressed = rows.iter().find(|row| row.id == id && what == "clicked");
        match pressed.and_then(|row| row.press) {
            Some(press) => self.0.press(press, header, connection).await,
            None => Ok(()),
        }
    }
}

fn no_row(id: i32) -> fdo::Error {
    fdo::Error::InvalidArgs(format!("the menu has no row {id}"))
}

#[interface(name = "com.canonical.dbusmenu")]
impl Menu {
    /// The menu below a row, so many levels deep (there is one), with these properties or all.
    async fn get_layout(
        &self,
        parent_id: i32,
        recursion_depth: i32,
        property_names: Vec<String>,
        #[zbus(header)] header: Header<'_>,
        #[zbus(connection)] connection: &Connection,
    ) -> fdo::Result<(u32, (i32, Properties, Vec<Variant<'static>>))> {
        // Before the rows: what changes in between is fetched again.
        let revision = self.0.revision();
        let rows = self.rows(&header, connection).await;
        let (names, none) = (&property_names, Vec::new());
        if parent_id != ROOT {
            let row = rows.iter().find(|row| row.id == parent_id);
            let row = row.ok_or_else(|| no_row(parent_id))?;
            return Ok((revision, (parent_id, row.properties(names), none)));
        }
        let children = match recursion_depth {
            0 => none,
            _ => {
                let child = |row: &Row| {
                    let below: Vec<Variant<'static>> = Vec::new();
                    Variant::from((row.id, row.properties(names), below))
                };
                rows.iter().map(child).collect()
            }
        };
        Ok((revision, (ROOT, root(names), children)))
    }

    /// The properties of these rows, or of all.
    async fn get_group_properties(
        &self,
        ids: Vec<i32>,
        property_names: Vec<String>,
        #[zbus(header)] header: Header<'_>,
        #[zbus(connection)] connection: &Connection,
    ) -> Vec<(i32, Properties)> {
        let wanted = |id| ids.is_empty() || ids.contains(&id);
        let rows = self.rows(&header, connection).await;
        let mut found = Vec::new();
        if wanted(ROOT) {
            found.push((ROOT, root(&property_names)));
        }
        let rows = rows.iter().filter(|row| wanted(row.id));
        found.extend(rows.map(|row| (row.id, row.properties(&property_names))));
        found
    }

    /// One property of a row.
    async fn get_property(
        &self,
        id: i32,
        name: String,
        #[zbus(header)] header: Header<'_>,
        #[zbus(connection)] connection: &Connection,
    ) -> fdo::Result<Variant<'static>> {
        let rows = self.rows(&header, connection).await;
        let row = rows.iter().find(|row| row.id == id).ok_or_else(|| no_row(id))?;
        let mut properties = row.properties(&[]);
        properties
            .remove(name.as_str())
            .ok_or_else(|| fdo::Error::InvalidArgs("the row has no such property".to_owned()))
    }

    /// Something happened to a row: `clicked`, `hovered`, `opened`, `closed`.
    async fn event(
        &self,
        id: i32,
        event_id: String,
        _data: OwnedVariant,
        _timestamp: u32,
        #[zbus(header)] header: Header<'_>,
        #[zbus(connection)] connection: &Connection,
    ) -> fdo::Result<()> {
        self.happened(id, &event_id, &header, connection).await
    }

    /// Several at once; returns the rows that there are not.
    async fn event_group(
        &self,
        events: Vec<(i32, String, OwnedVariant, u32)>,
        #[zbus(header)] header: Header<'_>,
        #[zbus(connection)] connection: &Connection,
    ) -> fdo::Result<Vec<i32>> {
        if events.len() > MAX_EVENTS {
            return Err(fdo::Error::LimitsExceeded(format!(
                "at most {MAX_EVENTS} events at once"
            )));
        }
        let mut wrong = Vec::new();
        for (id, event, _, _) in events {
            match self.happened(id, &event, &header, connection).await {
                Err(fdo::Error::InvalidArgs(_)) => wrong.push(id),
                other => other?,
            }
        }
        Ok(wrong)
    }

    /// Whether the menu has to be fetched again before it is shown: changes are told when they happen.
    fn about_to_show(&self, _id: i32) -> bool {
        false
    }

    /// The same for several: those to be fetched again, and those that there are not.
    fn about_to_show_group(&self, _ids: Vec<i32>) -> (Vec<i32>, Vec<i32>) {
        (Vec::new(), Vec::new())
    }

    #[zbus(property(emits_changed_signal = "const"))]
    fn version(&self) -> u32 {
        3
    }

    #[zbus(property(emits_changed_signal = "const"))]
    fn text_direction(&self) -> &str {
        "ltr"
    }

    #[zbus(property(emits_changed_signal = "false"))]
    fn status(&self) -> &str {
        match self.0.look().asks {
            true => "notice",
            false => "normal",
        }
    }

    #[zbus(property(emits_changed_signal = "const"))]
    fn icon_theme_path(&self) -> Vec<String> {
        Vec::new()
    }

    #[zbus(signal)]
    async fn layout_updated(emitter: &SignalEmitter<'_>, revision: u32, parent: i32) -> zbus::Result<()>;
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Labels of rows, `*` before those that can be pressed, `-` for lines.
    fn seen(look: &Look, near: bool) -> Vec<String> {
        let mark = |row: &Row| match (&row.press, row.label.as_str()) {
            (_, "") => "-".to_owned(),
            (Some(_), label) => format!("*{label}"),
            (None, label) => label.to_owned(),
        };
        rows(look, near).iter().map(mark).collect()
    }

    #[test]
    fn the_rows_say_what_can_be_done_now() {
        let mut look = Look::default();
        let usual = ["-", "*Listen", "*Mute microphone", "Cancel", "-", "*Quit Tiro"];
        let mut expect = vec!["Tiro is ready."];
        expect.extend(usual);
        assert_eq!(seen(&look, true), expect);
        look.answer = "You have <b>one</b> event_today, ".repeat(3);
        assert_eq!(seen(&look, false), expect, "what was answered is nobody else's");
        let near = seen(&look, true);
        assert!(
            near[1].ends_with('…') && near[1].chars().count() <= 61,
            "{}",
            near[1]
        );
        look = Look {
            state: State::Muted,
            muted: true,
            busy: true,
            ..Look::default()
        };
        let muted = ["Listen", "*Mute microphone", "*Cancel"];
        assert_eq!(seen(&look, true)[2..5], muted);
        look.state = State::Listening;
        assert_eq!(seen(&look, true)[2], "Stop listening");
    }

    #[test]
    fn a_row_has_the_properties_that_were_asked_for() {
        let look = Look {
            answer: "snake_case".to_owned(),
            ..Look::default()
        };
        let rows = rows(&look, true);
        let answer = rows[1].properties(&[]);
        assert_eq!(answer["label"], Variant::from("snake__case"));
        assert_eq!(answer["enabled"], Variant::from(false));
        let names = ["toggle-state".to_owned(), "nothing".to_owned()];
        let mute = rows[4].properties(&names);
        assert_eq!(mute, Properties::from([("toggle-state", Variant::from(0_i32))]));
    }
}
