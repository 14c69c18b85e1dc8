//! From a world to files: RFC 5545 (events, to-dos), RFC 2426 (contacts), RFC 5322 in a Maildir, desktop entries.

use std::{fmt::Write as _, path::PathBuf};

use anyhow::{Context as _, ensure};
use jiff::{Zoned, civil};

use super::{
    File, Own, Place,
    data::{Address, Application, Contact, Event, Mail, Phone, Reminder, World},
};

/// Everything that a world becomes; nothing is written here.
pub(super) fn render(world: &World, now: &Zoned) -> anyhow::Result<Vec<File>> {
    let mut files = Files::default();
    for calendar in &world.calendars {
        files.collection(
            Place::Calendars,
            &calendar.id,
            &calendar.name,
            Some(&calendar.color),
        )?;
        for item in &calendar.events {
            let text =
                event(item, now).with_context(|| format!("The event {} of the world is wrong.", item.id))?;
            files.add(Place::Calendars, &[&calendar.id], &item.id, ".ics", text)?;
        }
    }
    if !world.contacts.is_empty() {
        files.collection(Place::Contacts, "people", "People", None)?;
    }
    for item in &world.contacts {
        files.add(Place::Contacts, &["people"], &item.id, ".vcf", contact(item))?;
    }
    for list in &world.reminders {
        files.collection(Place::Reminders, &list.id, &list.name, None)?;
        for item in &list.items {
            let text = reminder(item, now)
                .with_context(|| format!("The reminder {} of the world is wrong.", item.id))?;
            files.add(Place::Reminders, &[&list.id], &item.id, ".ics", text)?;
        }
    }
    for item in &world.mail {
        let text =
            mail(item, now).with_context(|| format!("The message {} of the world is wrong.", item.id))?;
        let (folder, flags) = if item.unread { ("new", "") } else { ("cur", ":2,S") };
        files.add(Place::Mail, &[folder], &item.id, flags, text)?;
    }
    for (place, texts) in [(Place::Notes, &world.notes), (Place::Files, &world.files)] {
        for item in texts {
            files.0.push(File {
                own: Own {
                    place,
                    path: item.path.clone(),
                },
                bytes: item.text.clone().into_bytes(),
            });
        }
    }
    for item in &world.applications {
        files.add(Place::Applications, &[], &item.id, ".desktop", application(item))?;
    }
    Ok(files.0)
}

#[derive(Default)]
struct Files(Vec<File>);

impl Files {
    fn add(
        &mut self,
        place: Place,
        folders: &[&str],
        id: &str,
        end: &str,
        text: String,
    ) -> anyhow::Result<()> {
        for name in folders.iter().chain([&id]) {
            let plain = |c: char| c.is_ascii_alphanumeric() || "-_.".contains(c);
            ensure!(
                (1..=100).contains(&name.len()) && name.chars().all(plain) && !name.starts_with('.'),
                "`{name}` in the world is not a plain name of letters, digits, dots and dashes."
            );
        }
        let mut path: PathBuf = folders.iter().collect();
        path.push(format!("{id}{end}"));
        self.0.push(File {
            own: Own { place, path },
            bytes: text.into_bytes(),
        });
        Ok(())
    }

    /// The metadata files of a vdir collection.
    fn collection(&mut self, place: Place, id: &str, name: &str, color: Option<&str>) -> anyhow::Result<()> {
        self.add(place, &[id], "displayname", "", name.to_owned())?;
        color.map_or(Ok(()), |color| {
            self.add(place, &[id], "color", "", color.to_owned())
        })
    }
}

/// Times are floating: they mean local time wherever the file is read, and a repeated event keeps its hour over DST.
fn event(event: &Event, now: &Zoned) -> anyhow::Result<String> {
    let day = event.day.date(now.date())?;
    let mut body = Lines::default();
    match (event.start, event.end) {
        (None, None) => {
            body.raw("DTSTART;VALUE=DATE", &date(day));
            body.raw("DTEND;VALUE=DATE", &date(day.tomorrow()?));
        }
        (Some(start), Some(end)) => {
            ensure!(start < end, "It ends before it starts.");
            body.raw("DTSTART", &datetime(day.to_datetime(start)));
            body.raw("DTEND", &datetime(day.to_datetime(end)));
        }
        _ => anyhow::bail!("It needs both a start and an end, or neither."),
    }
    if let Some(rule) = &event.repeat {
        let known = |c: char| c.is_ascii_alphanumeric() || "=;,+-".contains(c);
        ensure!(
            rule.starts_with("FREQ=") && rule.chars().all(known),
            "`{rule}` is not a recurrence rule."
        );
        body.raw("RRULE", rule);
    }
    body.text("SUMMARY", &event.title);
    body.some("LOCATION", event.location.as_ref());
    body.some("DESCRIPTION", event.notes.as_ref());
    Ok(component("VEVENT", &event.id, now, &body))
}

fn reminder(reminder: &Reminder, now: &Zoned) -> anyhow::Result<String> {
    let mut body = Lines::default();
    body.text("SUMMARY", &reminder.text);
    match (reminder.day, reminder.time) {
        (Some(day), Some(time)) => body.raw("DUE", &datetime(day.date(now.date())?.to_datetime(time))),
        (Some(day), None) => body.raw("DUE;VALUE=DATE", &date(day.date(now.date())?)),
        (None, None) => {}
        (None, Some(_)) => anyhow::bail!("It has a time and no day."),
    }
    if reminder.done {
        body.raw("STATUS", "COMPLETED");
        body.raw("COMPLETED", &stamp(now));
        body.raw("PERCENT-COMPLETE", "100");
    } else {
        body.raw("STATUS", "NEEDS-ACTION");
    }
    Ok(component("VTODO", &reminder.id, now, &body))
}

fn component(name: &str, id: &str, now: &Zoned, body: &Lines) -> String {
    let mut lines = Lines::default();
    lines.raw("BEGIN", "VCALENDAR");
    lines.raw("VERSION", "2.0");
    lines.raw("PRODID", "-//Tiro//World//EN");
    lines.raw("BEGIN", name);
    lines.raw("UID", id);
    lines.raw("DTSTAMP", &stamp(now));
    lines.0 += &body.0;
    lines.raw("END", name);
    lines.raw("END", "VCALENDAR");
    lines.0
}

fn contact(contact: &Contact) -> String {
    let full = format!("{} {}", contact.given, contact.family);
    let mut lines = Lines::default();
    lines.raw("BEGIN", "VCARD");
    lines.raw("VERSION", "3.0");
    lines.raw("UID", &contact.id);
    lines.text("FN", full.trim());
    lines.raw(
        "N",
        &format!("{};{};;;", escaped(&contact.family), escaped(&contact.given)),
    );
    if !contact.nicknames.is_empty() {
        let names: Vec<_> = contact.nicknames.iter().map(|name| escaped(name)).collect();
        lines.raw("NICKNAME", &names.join(","));
    }
    for phone in &contact.phones {
        match phone {
            Phone::Cell(number) => lines.text("TEL;TYPE=CELL", number),
            Phone::Home(number) => lines.text("TEL;TYPE=HOME", number),
            Phone::Work(number) => lines.text("TEL;TYPE=WORK", number),
        }
    }
    for email in &contact.emails {
        lines.text("EMAIL;TYPE=INTERNET", email);
    }
    if let Some(birthday) = contact.birthday {
        lines.raw("BDAY", &birthday.to_string());
    }
    lines.some("ORG", contact.company.as_ref());
    lines.some("NOTE", contact.notes.as_ref());
    lines.raw("END", "VCARD");
    lines.0
}

/// One message with plain text. Its name is the same in every seeding, so that it is never there twice.
fn mail(mail: &Mail, now: &Zoned) -> anyhow::Result<String> {
    let sent = now.checked_sub(jiff::Span::new().try_hours(mail.hours_ago)?)?;
    let mut text = String::new();
    for (name, value) in [
        ("From", mailbox(&mail.from)?),
        ("To", mailbox(&mail.to)?),
        ("Subject", header(&mail.subject)?),
        ("Date", jiff::fmt::rfc2822::to_string(&sent)?),
        ("Message-ID", format!("<{}@world.example>", mail.id)),
        ("MIME-Version", "1.0".to_owned()),
        ("Content-Type", "text/plain; charset=utf-8".to_owned()),
        ("Content-Transfer-Encoding", "8bit".to_owned()),
    ] {
        write!(text, "{name}: {value}\r\n")?;
    }
    text += "\r\n";
    for line in mail.text.lines() {
        text += line;
        text += "\r\n";
    }
    Ok(text)
}

fn mailbox(who: &Address) -> anyhow::Result<String> {
    let plain = |c: char| c.is_ascii_alphanumeric() || "@.-_+".contains(c);
    ensure!(
        who.address.contains('@') && who.address.chars().all(plain),
        "`{}` is not an address.",
        who.address
    );
    let name = if who.name.is_ascii() {
        format!(
            "\"{}\"",
            header(&who.name)?.replace('\\', r"\\").replace('"', "\\\"")
        )
    } else {
        header(&who.name)?
    };
    Ok(format!("{name} <{}>", who.address))
}

/// A header's value: as it is when it is ASCII, else as RFC 2047 encoded words, cut so that none is longer than 75.
fn header(text: &str) -> anyhow::Result<String> {
    ensure!(
        !text.contains(char::is_control),
        "A header of a message has a control character."
    );
    if text.is_ascii() {
        return Ok(text.to_owned());
    }
    let mut words = vec![String::new()];
    for character in text.chars() {
        let mut bytes = [0; 4];
        let code: String = match character {
            ' ' => "_".to_owned(),
            c if c.is_ascii_alphanumeric() => c.to_string(),
            c => c
                .encode_utf8(&mut bytes)
                .bytes()
                .map(|byte| format!("={byte:02X}"))
                .collect(),
        };
        if words.last().is_some_and(|word| word.len() + code.len() > 60) {
            words.push(String::new());
        }
        if let Some(word) = words.last_mut() {
            *word += &code;
        }
    }
    let words: Vec<_> = words.iter().map(|word| format!("=?utf-8?Q?{word}?=")).collect();
    Ok(words.join("\r\n "))
}

fn application(app: &Application) -> String {
    // Values of a desktop entry escape the backslash and the end of the line; `;` separates keywords.
    let value = |text: &str| text.replace('\\', r"\\").replace('\n', r"\n").replace('\r', "");
    let keywords: String = app
        .keywords
        .iter()
        .map(|word| value(word).replace(';', r"\;") + ";")
        .collect();
    format!(
        "[Desktop Entry]\nType=Application\nVersion=1.0\nName={}\nComment={}\nExec={}\nKeywords={keywords}\n",
        value(&app.name),
        value(&app.about),
        value(&app.exec),
    )
}

/// Content lines of iCalendar and vCard: CRLF, folded at 75 octets (RFC 5545 section 3.1).
#[derive(Default)]
struct Lines(String);

impl Lines {
    /// A value that is written as it is.
    fn raw(&mut self, name: &str, value: &str) {
        let mut left = 75;
        for character in format!("{name}:{value}").chars() {
            if character.len_utf8() > left {
                self.0 += "\r\n ";
                left = 74;
            }
            left -= character.len_utf8();
            self.0.push(character);
        }
        self.0 += "\r\n";
    }

    /// A value of type TEXT.
    fn text(&mut self, name: &str, value: &str) {
        self.raw(name, &escaped(value));
    }

    fn some(&mut self, name: &str, value: Option<&String>) {
        if let Some(value) = value {
            self.text(name, value);
        }
    }
}

/// RFC 5545 section 3.3.11; vCard has the same rule.
fn escaped(text: &str) -> String {
    let text = text
        .replace("\r\n", "\n")
        .replace('\\', r"\\")
        .replace(';', r"\;")
        .replace(',', r"\,");
    text.replace(['\n', '\r'], r"\n")
}

fn date(date: civil::Date) -> String {
    date.strftime("%Y%m%d").to_string()
}

fn datetime(datetime: civil::DateTime) -> String {
    datetime.strftime("%Y%m%dT%H%M%S").to_string()
}

fn stamp(now: &Zoned) -> String {
    now.timestamp().strftime("%Y%m%dT%H%M%SZ").to_string()
}
