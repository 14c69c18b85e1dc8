//! Which mail somebody means: by who wrote it and what it is about, by its place in what was listed last, or the one that
//! was read last.

use std::time::Duration;

use jiff::{Timestamp, Zoned};
use rusqlite::params;

use super::{
    folders::Role,
    index::{Depth, Entry, Index, Query, Who},
    message::MAX_TEXT,
};
use crate::{
    contract::{Ctx, ToolError},
    system::{contacts, memory, plain, speech},
    when::{self, Hint},
};

/// How long "the second one" means one of what was listed.
const REMEMBERED: i64 = 3600;
/// Most that are listed, and most that one call changes.
const MAX_LISTED: usize = 200;
/// Candidates that are read out in a question.
const MAX_ASKED: usize = 3;
/// How long a question may read mail that is not in the index yet.
pub const PATIENCE: Duration = Duration::from_secs(6);

/// What was said about a mail.
#[derive(Debug, Default, Clone, Copy)]
pub struct Asked<'a> {
    /// Who wrote it.
    pub from: Option<&'a str>,
    /// What it is about.
    pub about: Option<&'a str>,
    /// When it came.
    pub when: Option<&'a str>,
    /// "the second", "this", "latest", "all".
    pub which: Option<&'a str>,
    /// Only such that are unread, or that are read: what can be marked.
    pub unread: Option<bool>,
}

/// What is done where several fit.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Need {
    /// The newest is meant.
    Newest,
    /// The newest, if one person wrote all of them; else it is asked which.
    Sender,
    /// It is asked which, unless all were asked for.
    Clear,
}

/// The mails that are meant, at least one; more only where all were asked for.
///
/// # Errors
/// `Tell` when there is none, `TellOthers` to ask which of several.
pub fn choose(ctx: &Ctx, asked: Asked<'_>, need: Need) -> Result<(Index, Vec<Entry>), ToolError> {
    let place = Place::of(asked.which.unwrap_or_default());
    // Words that name no place are about the mail itself.
    let about = match &place {
        Place::Words(words) => [asked.about.unwrap_or_default(), words].join(" "),
        _ => asked.about.unwrap_or_default().to_owned(),
    };
    let about = about.trim();
    let from = asked.from.map(str::trim).filter(|from| !from.is_empty());
    let when = asked.when.map(str::trim).filter(|when| !when.is_empty());
    let depth = if about.is_empty() {
        Depth::Headers
    } else {
        Depth::Text
    };
    let index = Index::open(&ctx.dirs, depth, PATIENCE)?;
    // "Mark everything as read" means the inbox where nothing was listed.
    let inbox = place == Place::All && asked.unread.is_some() && shown(&index, &ctx.now).is_empty();
    if from.is_none() && when.is_none() && about.is_empty() && !inbox {
        let found = by_place(&index, &place, need, &ctx.now)?;
        return Ok((index, found));
    }
    let mut query = Query {
        from: from.map(|from| who(ctx, from)),
        words: about.to_owned(),
        in_subject: !about.is_empty(),
        inbox: true,
        unread: asked.unread,
        ..Query::default()
    };
    if let Some(when) = when {
        (query.since, query.before) = span(when, &ctx.now)?;
    }
    let (mut found, mut count) = likeliest(&index, &mut query)?;
    if found.is_empty()
        && let Some(from) = from
        && wrote_nothing(&index, &query)?
    {
        // "The Hamburg ticket": nobody is called so, but a mail may be about it.
        let mut about_it = Query {
            from: None,
            words: format!("{from} {about}").trim().to_owned(),
            ..query
        };
        (found, count) = likeliest(&index, &mut about_it)?;
    }
    if found.is_empty() {
        return Err(none(&index, from, about, when, asked.unread));
    }
    if place == Place::All && count > MAX_LISTED {
        return Err(ToolError::tell(format!(
            "That is {count} mails; I take at most {MAX_LISTED} at once. Say a day or a word of the subject, too."
        )));
    }
    let one = |at: usize| found.get(at).cloned();
    let chosen = match place {
        Place::All => Some(found.clone()),
        Place::Newest | Place::Last => one(0).map(|one| vec![one]),
        Place::Oldest => found.last().cloned().map(|one| vec![one]),
        Place::Number(number) => one(number.saturating_sub(1)).map(|one| vec![one]),
        _ => {
            let author = |entry: &Entry| entry.from.clone();
            let alike = found
                .iter()
                .all(|entry| author(entry).address == author(&found[0]).address);
            match need {
                Need::Newest => one(0).map(|one| vec![one]),
                Need::Sender if alike => one(0).map(|one| vec![one]),
                _ if found.len() == 1 => Some(found.clone()),
                _ => return Err(which(&found, &ctx.now)),
            }
        }
    };
    let chosen = chosen.ok_or_else(|| {
        ToolError::tell(format!(
            "There {} only {count} of them.",
            if count == 1 { "is" } else { "are" }
        ))
    })?;
    Ok((index, chosen))
}

/// The mails that fit, and how many there are: the inbox before the rest, subjects before texts.
fn likeliest(index: &Index, query: &mut Query) -> Result<(Vec<Entry>, usize), ToolError> {
    for (inbox, in_subject) in [(true, true), (true, false), (false, true), (false, false)] {
        if in_subject && query.words.is_empty() {
            continue;
        }
        (query.inbox, query.in_subject) = (inbox, in_subject);
        let answer = index.find(query, MAX_LISTED)?;
        if answer.count > 0 && !answer.loose {
            return Ok((answer.entries, answer.count));
        }
    }
    Ok((Vec::new(), 0))
}

/// Whether there is no mail at all from who is asked for.
fn wrote_nothing(index: &Index, query: &Query) -> Result<bool, ToolError> {
    let anything = Query {
        from: query.from.clone(),
        ..Query::default()
    };
    Ok(index.find(&anything, 1)?.count == 0)
}

/// Whether anybody of this name wrote a mail that is here.
///
/// # Errors
/// When the mail cannot be read.
pub fn has_written(ctx: &Ctx, name: &str) -> Result<bool, ToolError> {
    let index = Index::open(&ctx.dirs, Depth::Headers, PATIENCE)?;
    let query = Query {
        from: Some(who(ctx, name)),
        ..Query::default()
    };
    Ok(!wrote_nothing(&index, &query)?)
}

/// Remembers what was listed, so that "the second one" can be said next.
pub fn show(index: &Index, entries: &[Entry], now: &Zoned) {
    let remember = || -> rusqlite::Result<()> {
        let write = index.db.unchecked_transaction()?;
        write.execute("DELETE FROM shown", [])?;
        write.execute("DELETE FROM focus", [])?;
        for (entry, place) in entries.iter().take(MAX_LISTED).zip(1_i64..) {
            let sql = "INSERT INTO shown (place, base, at) VALUES (?1, ?2, ?3)";
            write.execute(sql, params![place, entry.base, now.timestamp().as_second()])?;
        }
        write.commit()
    };
    if let Err(error) = remember() {
        tracing::warn!(%error, "what was listed is not remembered");
    }
}

/// Remembers which mail is talked about, so that "it" and "the next" can be said.
pub fn focus(index: &Index, entry: &Entry, now: &Zoned) {
    let listed = shown(index, now);
    let place = listed.iter().position(|known| known.base == entry.base);
    let place = place.unwrap_or_else(|| {
        show(index, std::slice::from_ref(entry), now);
        0
    });
    let sql = "INSERT OR REPLACE INTO focus (one, place, at) VALUES (1, ?1, ?2)";
    let place = i64::try_from(place + 1).unwrap_or(1);
    if let Err(error) = index.db.execute(sql, params![place, now.timestamp().as_second()]) {
        tracing::warn!(%error, "which mail is talked about is not remembered");
    }
}

/// Somebody as they were named, with the addresses that contacts know.
pub fn who(ctx: &Ctx, said: &str) -> Who {
    let said = plain::one_line(said, MAX_TEXT);
    let mut who = Who {
        addresses: Vec::new(),
        said: contacts::spoken_mail(&said)
            .ok()
            .filter(|_| said.contains('@') || said.to_lowercase().contains(" dot "))
            .unwrap_or_else(|| said.clone()),
    };
    // Without contacts the names in the mails still are there.
    if let Ok(book) = contacts::read(&ctx.dirs.contacts) {
        let facts = memory::list(&ctx.dirs.memory).unwrap_or_default();
        let (_, found) = contacts::find(&book, &said, &facts);
        let mails = found.iter().flat_map(|contact| &contact.mails);
        who.addresses = mails.map(|mail| mail.value.to_lowercase()).collect();
    }
    who
}

/// From when to when mail is meant: "yesterday", "last week", "since monday".
///
/// # Errors
/// `Tell` for what is no time.
pub fn span(said: &str, now: &Zoned) -> Result<(Option<Timestamp>, Option<Timestamp>), ToolError> {
    let resolved = when::resolve(said, now, Hint::Past).map_err(|e| ToolError::tell(e.to_string()))?;
    let (start, end) = resolved.value.stretch(now).ok_or_else(|| {
        ToolError::tell(format!(
            "\"{}\" is no day that I know.",
            plain::one_line(said, 60)
        ))
    })?;
    // A moment stands for what came since: "nine o'clock", "an hour ago".
    let end = end.filter(|end| start.as_ref() != Some(end));
    Ok((start.map(|at| at.timestamp()), end.map(|at| at.timestamp())))
}

/// Mails as a sentence names them: one by who wrote it and what it is about, several by their number.
pub fn named(chosen: &[Entry], now: &Zoned) -> String {
    match chosen {
        [one] => format!("the mail from {}", about(one, now)),
        several => speech::count(several.len(), "mail", "mails"),
    }
}

/// The mails that are meant and not in this folder yet, at least one. `folder` is what people call it.
///
/// # Errors
/// Those of [`choose`]; `Tell` when all are there already.
pub fn elsewhere(
    ctx: &Ctx,
    asked: Asked<'_>,
    role: Role,
    folder: &str,
) -> Result<(Index, Vec<Entry>), ToolError> {
    let (index, mut chosen) = choose(ctx, asked, Need::Clear)?;
    chosen.retain(|entry| !entry.is_in(role));
    match chosen.is_empty() {
        true => Err(ToolError::tell(format!("That is in the {folder} already."))),
        false => Ok((index, chosen)),
    }
}

/// "Anna Bell about Lunch, yesterday at 14:00".
pub fn about(entry: &Entry, now: &Zoned) -> String {
    let at = entry.date.to_zoned(now.time_zone().clone());
    let subject = match entry.subject.trim_end_matches(['.', '!', '?']) {
        "" => " without a subject".to_owned(),
        subject => format!(" about {subject}"),
    };
    format!("{}{subject}, {}", entry.from.shown(), speech::moment(&at, now))
}

/// What "the second one" and the like say.
#[derive(Debug, Clone, PartialEq, Eq)]
enum Place {
    Nothing,
    This,
    Next,
    Previous,
    Number(usize),
    /// The last of a list, the newest of a mailbox.
    Last,
    Newest,
    Oldest,
    All,
    Words(String),
}

impl Place {
    fn of(said: &str) -> Place {
        const FILLING: [&str; 14] = [
            "the", "mail", "mails", "email", "emails", "message", "messages", "one", "ones", "my", "of",
            "number", "most", "please",
        ];
        const NUMBERS: [(&str, &str); 10] = [
            ("first", "first"),
            ("second", "two"),
            ("third", "three"),
            ("fourth", "four"),
            ("fifth", "five"),
            ("sixth", "six"),
            ("seventh", "seven"),
            ("eighth", "eight"),
            ("ninth", "nine"),
            ("tenth", "ten"),
        ];
        let said = plain::one_line(said, 100).to_lowercase();
        // "the second one", but "number one".
        let said = said.replace("number one", "number first");
        let words: Vec<&str> = said
            .split(|c: char| !c.is_alphanumeric())
            .filter(|word| !word.is_empty() && !FILLING.contains(word))
            .collect();
        match words[..] {
            [] => Place::Nothing,
            ["this" | "it" | "that" | "same" | "current"] => Place::This,
            ["next"] => Place::Next,
            ["previous" | "before"] => Place::Previous,
            ["last"] if said.contains("one") => Place::Last,
            ["last" | "latest" | "newest" | "recent" | "new"] => Place::Newest,
            ["oldest" | "earliest"] => Place::Oldest,
            ["all" | "every" | "everything" | "both" | "them" | "these" | "those"]
            | ["all" | "both", "them" | "these" | "those"] => Place::All,
            [word] => {
                let digits = word.trim_end_matches(|c: char| c.is_ascii_alphabetic());
                let ordinal = NUMBERS
                    .iter()
                    .position(|(first, other)| *first == word || *other == word);
                match (digits.parse(), ordinal) {
                    (Ok(number), _) if number > 0 => Place::Number(number),
                    (_, Some(at)) => Place::Number(at + 1),
                    _ => Place::Words(word.to_owned()),
                }
            }
            _ => Place::Words(words.join(" ")),
        }
    }
}

/// One of those that were listed, or the one that is talked about.
fn by_place(index: &Index, place: &Place, need: Need, now: &Zoned) -> Result<Vec<Entry>, ToolError> {
    let listed = shown(index, now);
    let focused = focused(index, now);
    let newest = |unread: Option<bool>| -> Result<Vec<Entry>, ToolError> {
        let query = Query {
            inbox: true,
            unread,
            ..Query::default()
        };
        Ok(index.find(&query, 1)?.entries)
    };
    let unsaid = || ToolError::tell("Which mail? Say who wrote it, or what it is about.");
    let of_list = |at: Option<usize>| -> Result<Vec<Entry>, ToolError> {
        if listed.is_empty() {
            return Err(unsaid());
        }
        let one = at.and_then(|at| listed.get(at)).cloned();
        let one = one.ok_or_else(|| match place {
            Place::Next => ToolError::tell("That was the last one."),
            Place::Previous => ToolError::tell("That was the first one."),
            _ => ToolError::tell(format!(
                "I listed only {}.",
                speech::count(listed.len(), "mail", "mails")
            )),
        })?;
        Ok(vec![one])
    };
    let found = match place {
        Place::This | Place::Nothing if focused.is_some() => of_list(focused)?,
        Place::This | Place::Nothing if listed.len() == 1 => listed.clone(),
        Place::Nothing if need == Need::Newest => match newest(Some(true))? {
            none if none.is_empty() => newest(None)?,
            found => found,
        },
        Place::This | Place::Nothing | Place::Words(_) => return Err(unsaid()),
        Place::Next => of_list(Some(focused.map_or(0, |at| at + 1)))?,
        Place::Previous => of_list(focused.and_then(|at| at.checked_sub(1)))?,
        Place::Number(number) => of_list(number.checked_sub(1))?,
        Place::Last if !listed.is_empty() => of_list(listed.len().checked_sub(1))?,
        Place::Last | Place::Newest => newest(None)?,
        Place::Oldest => return Err(unsaid()),
        Place::All if listed.is_empty() => return Err(unsaid()),
        Place::All => listed.clone(),
    };
    match found.is_empty() {
        true => Err(ToolError::tell("You have no mail.")),
        false => Ok(found),
    }
}

/// What was listed last, as far as it is still there.
fn shown(index: &Index, now: &Zoned) -> Vec<Entry> {
    let read = || -> rusqlite::Result<Vec<String>> {
        let sql = "SELECT base FROM shown WHERE abs(at - ?1) < ?2 ORDER BY place";
        let mut rows = index.db.prepare_cached(sql)?;
        rows.query_map([now.timestamp().as_second(), REMEMBERED], |row| row.get(0))?
            .collect()
    };
    let bases = read().unwrap_or_default();
    bases.iter().filter_map(|base| index.by_base(base)).collect()
}

/// The place, from 0, of the mail that is talked about.
fn focused(index: &Index, now: &Zoned) -> Option<usize> {
    let sql = "SELECT place FROM focus WHERE abs(at - ?1) < ?2";
    let place = index
        .db
        .query_row(sql, [now.timestamp().as_second(), REMEMBERED], |row| {
            row.get::<_, i64>(0)
        });
    usize::try_from(place.ok()?).ok()?.checked_sub(1)
}

fn which(found: &[Entry], now: &Zoned) -> ToolError {
    let named: Vec<String> = found
        .iter()
        .take(MAX_ASKED)
        .map(|entry| about(entry, now))
        .collect();
    let more = match found.len() - named.len() {
        0 => String::new(),
        n => format!(", or one of {n} more"),
    };
    ToolError::TellOthers(format!("Which mail: {}{more}?", named.join("; or ")))
}

fn none(
    index: &Index,
    from: Option<&str>,
    about: &str,
    when: Option<&str>,
    unread: Option<bool>,
) -> ToolError {
    let kind = match unread {
        None => "mail",
        Some(true) => "unread mail",
        Some(false) => "mail that is read",
    };
    let mut what = String::new();
    if let Some(from) = from {
        what.push_str(&format!(" from {}", plain::one_line(from, 60)));
    }
    if !about.is_empty() {
        what.push_str(&format!(" about \"{}\"", plain::one_line(about, 60)));
    }
    if let Some(when) = when {
        what.push_str(&format!(" of {}", plain::one_line(when, 40)));
    }
    let left = match index.left {
        0 => "",
        _ => " I have not read all of your mail yet; ask again in a moment.",
    };
    ToolError::tell(format!("I found no {kind}{what}.{left}"))
}

impl Entry {
    /// Whether it is where deleting has no further to go.
    pub fn is_in(&self, role: Role) -> bool {
        self.folder.role == role
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn places_are_heard() {
        for (said, expect) in [
            ("", Place::Nothing),
            ("the mail", Place::Nothing),
            ("that one", Place::This),
            ("the second one", Place::Number(2)),
            ("number three", Place::Number(3)),
            ("2nd", Place::Number(2)),
            ("4", Place::Number(4)),
            ("number one", Place::Number(1)),
            ("the last one", Place::Last),
            ("latest", Place::Newest),
            ("most recent email", Place::Newest),
            ("all of them", Place::All),
            ("the next", Place::Next),
            ("the invoice one", Place::Words("invoice".to_owned())),
            ("0", Place::Words("0".to_owned())),
        ] {
            assert_eq!(Place::of(said), expect, "{said:?}");
        }
    }
}
