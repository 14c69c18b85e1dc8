//! What is wrong beside the turns: said once when it is new, and shown by `tiro status` as long as it lasts.

use std::collections::BTreeMap;

use crate::ring::{Settings, desk::Desk};

/// New ones that are said one by one; the rest is counted.
const MAX_SAID: usize = 3;

/// Where something is wrong.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub enum Source {
    /// What rings.
    Rings,
    /// An account with calendars or contacts, by its name.
    Account(String),
    /// A mail account, by its name.
    Mail(String),
    /// Mail that has not gone out.
    Outbox,
    /// What Tiro hears with.
    Microphone,
    /// Whether that is muted, which is kept.
    Mute,
    /// Whether the desktop mutes the microphone that listens for the wake word.
    Silenced,
    /// What understands speech, where the wake word needs it.
    Recogniser,
    /// The wake word, as the config has it.
    Wake,
    /// What Tiro speaks with.
    Voice,
    /// Where Wyoming clients come in.
    Wyoming,
}

/// What is wrong now.
pub struct Notices {
    settings: Settings,
    /// Made at the first use, since it needs the runtime.
    desk: Option<Desk>,
    by_source: BTreeMap<Source, Vec<String>>,
}

impl Notices {
    /// Nothing is wrong yet.
    pub fn new(settings: Settings) -> Notices {
        Notices {
            settings,
            desk: None,
            by_source: BTreeMap::new(),
        }
    }

    /// Takes what is wrong at a source in place of what was. What is new is shown on the desktop and returned.
    pub fn now(&mut self, source: Source, texts: Vec<String>) -> Vec<String> {
        let before = self.by_source.remove(&source).unwrap_or_default();
        let mut new: Vec<String> = texts.iter().filter(|t| !before.contains(t)).cloned().collect();
        if new.len() > MAX_SAID {
            let more = new.len() - MAX_SAID + 1;
            new.truncate(MAX_SAID - 1);
            new.push(format!(
                "There are {more} more like this; `tiro status` shows them."
            ));
        }
        if !texts.is_empty() {
            self.by_source.insert(source, texts);
        }
        for text in &new {
            self.desk().notice(text);
        }
        new
    }

    /// Where notifications without buttons go.
    pub fn desk(&mut self) -> &Desk {
        self.desk
            .get_or_insert_with(|| Desk::start(self.settings.clone(), None))
    }

    /// Whether anything is.
    pub fn any(&self) -> bool {
        self.by_source.values().any(|texts| !texts.is_empty())
    }

    /// All that is wrong.
    pub fn all(&self) -> Vec<String> {
        self.by_source.values().flatten().cloned().collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn what_lasts_is_said_once_and_shown_until_it_is_over() {
        let settings = Settings {
            // Nobody is there.
            bus: Some("unix:path=/nowhere/at/all".to_owned()),
            ..Settings::default()
        };
        let mut notices = Notices::new(settings);
        let home = || Source::Account("home".to_owned());
        let texts = |texts: &[&str]| texts.iter().map(|t| (*t).to_owned()).collect::<Vec<_>>();
        assert_eq!(notices.now(home(), texts(&["no login"])), ["no login"]);
        assert_eq!(notices.now(home(), texts(&["no login"])), [""; 0]);
        assert_eq!(notices.now(Source::Rings, texts(&["full"])), ["full"]);
        assert_eq!(
            notices.now(home(), texts(&["no login", "conflict"])),
            ["conflict"]
        );
        assert_eq!(notices.all(), ["full", "no login", "conflict"]);
        assert_eq!(notices.now(home(), Vec::new()), [""; 0]);
        assert_eq!(notices.all(), ["full"]);
        assert_eq!(notices.now(home(), texts(&["no login"])), ["no login"], "again");
        let many: Vec<String> = (0..10).map(|n| n.to_string()).collect();
        assert_eq!(
            notices.now(home(), many),
            ["0", "1", "There are 8 more like this; `tiro status` shows them."]
        );
        assert_eq!(notices.all().len(), 11);
    }
}
