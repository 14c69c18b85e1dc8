//! What the rest of Tiro takes from the config: folders, rules and settings, made of the keys.

use super::{Calendar, Config, Day, Folder, Listen, MailAccount, RulePhase, RuleWhen, ToolRule, Tools, Wake};
use crate::{
    agent::rules,
    listen::{hearing, wake::Phrases},
    run::WakeSettings,
};

impl Config {
    /// What the tools work on: the folders that the config names, else those of `paths`.
    pub fn dirs(&self, paths: &crate::paths::Paths) -> tools::Dirs {
        let default = paths.dirs();
        tools::Dirs {
            calendars: self.calendar.dir.or(default.calendars),
            reminders: self.reminders.dir.or(default.reminders),
            lists: self.lists.dir.or(default.lists),
            alarms: self.alarms.dir.or(default.alarms),
            contacts: self.contacts.dir.or(default.contacts),
            notes: self.notes.dir.or(default.notes),
            memory: self.memory.dir.or(default.memory),
            mail: self.mail.dir.or(default.mail),
            music: self.media.music.or(default.music),
            pictures: self.media.pictures.or(default.pictures),
            state: default.state,
            cache: default.cache,
            files: match &self.files.dirs[..] {
                [] => default.files,
                dirs => dirs.iter().filter_map(Folder::path).collect(),
            },
            trash: default.trash,
            shortcuts: self.shortcuts.dir.or(default.shortcuts),
            applications: match &self.applications.dirs[..] {
                [] => default.applications,
                dirs => dirs.iter().filter_map(Folder::path).collect(),
            },
        }
    }

    /// Who the person is by mail.
    pub fn mail(&self, paths: &crate::paths::Paths) -> tools::Mail {
        let own = self.dirs(paths).mail;
        let account = |account: &MailAccount| tools::MailAccount {
            name: account.name.as_str().to_owned(),
            address: account.address.as_str().to_owned(),
            sender: account.sender.clone(),
            maildir: match account.imap.as_str() {
                "" => own.clone(),
                _ => own.join("accounts").join(account.name.as_str()),
            },
            sends: !account.smtp.as_str().is_empty(),
        };
        let mut accounts: Vec<tools::MailAccount> = self.accounts.mail.iter().map(account).collect();
        // The first is the one that sends.
        accounts.sort_by_key(|account| !account.sends);
        tools::Mail {
            accounts,
            recall: self.mail.recall.get(),
        }
    }

    /// What tools reach beyond the folders.
    pub fn reach(&self) -> tools::Reach {
        let weather = &self.weather;
        let opener = &self.applications.opener;
        tools::Reach {
            opener: tools::system::opener::words(opener).unwrap_or_else(|| {
                tracing::warn!(
                    opener,
                    "applications.opener is no command; the usual one is taken"
                );
                Vec::new()
            }),
            // Where this program is not known by its path, or is a test, it does such work itself.
            helper: std::env::current_exe()
                .ok()
                .filter(|program| program.file_name().is_some_and(|name| name == "tiro")),
            search_url: self.web.search_url.as_str().to_owned(),
            weather: tools::Weather {
                enabled: weather.enabled,
                url: weather.url.as_str().to_owned(),
                places_url: weather.places_url.as_str().to_owned(),
                place: weather.place.clone(),
                at: (weather.latitude != 0.0 || weather.longitude != 0.0)
                    .then_some((weather.latitude, weather.longitude)),
                imperial: weather.imperial,
            },
            signal: self.messages.signal.clone(),
        }
    }
}

impl Listen {
    /// How it is listened.
    pub fn settings(&self) -> hearing::Settings {
        use std::time::Duration;
        hearing::Settings {
            device: self.device.clone(),
            silence: Duration::from_millis(self.silence_ms.into()),
            patience: Duration::from_secs(self.patience_seconds.into()),
            longest: Duration::from_secs(self.max_seconds.into()),
            early: self.early,
            answer: false,
        }
    }
}

impl Wake {
    /// Whether it is on and there is nothing to listen for.
    pub fn has_no_phrase(&self) -> bool {
        self.enabled && self.phrases.is_empty()
    }

    /// What wakes Tiro, if anything does.
    pub fn settings(&self) -> Option<WakeSettings> {
        use std::time::Duration;
        // Without a phrase the microphone would be open for nothing.
        let wanted = self.enabled && !self.has_no_phrase();
        wanted.then(|| WakeSettings {
            phrases: Phrases::new(self.phrases.clone(), self.sensitivity as f32).into(),
            refractory: Duration::from_secs_f64(self.refractory_seconds),
            follow_up: Duration::from_secs(self.follow_up_seconds.into()),
        })
    }
}

impl Calendar {
    /// When the person works; hours that make no sense are as if they were not there.
    pub fn work(&self) -> tools::Work {
        use jiff::civil::{Time, Weekday};
        let usual = tools::Work::default();
        let hour = |hour: u32| match hour {
            24 => Time::new(23, 59, 0, 0).ok(),
            hour => Time::new(i8::try_from(hour).ok()?, 0, 0, 0).ok(),
        };
        let hours = hour(self.work_from)
            .zip(hour(self.work_to))
            .filter(|(from, to)| from < to);
        let days: Vec<Weekday> = self.work_days.iter().map(Day::weekday).collect();
        let (from, to) = hours.unwrap_or((usual.from, usual.to));
        tools::Work {
            from,
            to,
            days: if days.is_empty() { usual.days } else { days },
        }
    }
}

impl Tools {
    /// The rules, as the agent takes them.
    pub fn rules(&self) -> rules::Rules {
        let phase = |phase: &RulePhase| match phase {
            RulePhase::Search => rules::Phase::Search,
            RulePhase::Load => rules::Phase::Load,
            RulePhase::Active => rules::Phase::Active,
        };
        let rule = |rule: &ToolRule| rules::Rule {
            tools: rule.deny.iter().map(|tool| tool.as_str().to_owned()).collect(),
            phases: match &rule.phases[..] {
                [] => vec![rules::Phase::Search, rules::Phase::Load, rules::Phase::Active],
                phases => phases.iter().map(phase).collect(),
            },
            when: match rule.when {
                RuleWhen::Always => rules::When::Always,
                RuleWhen::Voice => rules::When::Voice,
                RuleWhen::Typed => rules::When::Typed,
                RuleWhen::Tainted => rules::When::Tainted,
                RuleWhen::Locked => rules::When::Locked,
                RuleWhen::Guest => rules::When::Guest,
            },
        };
        rules::Rules(self.rules.iter().map(rule).collect())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_wake_word_without_a_phrase_is_off() {
        let mut wake = Wake {
            enabled: true,
            ..Wake::default()
        };
        assert!(wake.settings().is_some() && !wake.has_no_phrase());
        wake.phrases.clear();
        assert!(wake.settings().is_none() && wake.has_no_phrase());
        wake.enabled = false;
        assert!(wake.settings().is_none() && !wake.has_no_phrase());
    }
}
