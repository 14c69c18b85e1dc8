//! Questions to the index: filters, words, people, conversations.

use std::{collections::HashSet, path::PathBuf};

use jiff::Timestamp;
use rusqlite::types::Value;
use serde_json::json;

use super::{super::folders::Role, ENTRY, Entry, Index, terms};
use crate::{
    contract::ToolError,
    discover::words,
    system::{
        heard::{Ear, HEARD},
        mail::message::topic,
    },
};

/// Most words that are looked for.
const MAX_ASKED: usize = 12;
/// Most messages of one conversation.
const MAX_CONVERSATION: usize = 100;
/// How long a subject without references stays one conversation, in seconds.
const SAME_TOPIC: i64 = 60 * 24 * 3600;
/// What people call mail; they do not look for the word.
const FILLING: [&str; 14] = [
    "mail",
    "mails",
    "email",
    "emails",
    "e",
    "message",
    "messages",
    "about",
    "regarding",
    "re",
    "anything",
    "something",
    "that",
    "the",
];

/// What is looked for. What is not set does not matter.
#[derive(Debug, Clone, Default)]
pub struct Query {
    /// Words of sender, subject, text or attachments.
    pub words: String,
    /// Whether they must be in the subject, all of them.
    pub in_subject: bool,
    /// The name or address of who wrote it.
    pub from: Option<Who>,
    /// The name or address of who got it.
    pub to: Option<Who>,
    /// From this moment on.
    pub since: Option<Timestamp>,
    /// Before this moment.
    pub before: Option<Timestamp>,
    /// Whether it is unread.
    pub unread: Option<bool>,
    /// Whether something is attached.
    pub attachments: Option<bool>,
    /// In these folders; else in all but trash, junk and drafts.
    pub folders: Option<Vec<PathBuf>>,
    /// In inboxes only.
    pub inbox: bool,
}

/// Somebody as they were named, and addresses that contacts know of them.
#[derive(Debug, Clone, Default)]
pub struct Who {
    /// As it was said.
    pub said: String,
    /// Addresses, lower-cased.
    pub addresses: Vec<String>,
}

/// What a question came to.
#[derive(Debug, Default)]
pub struct Found {
    /// The first ones: newest first, or best first where not all words fit.
    pub entries: Vec<Entry>,
    /// How many there are.
    pub count: usize,
    /// How many of them are unread.
    pub unread: usize,
    /// Whether nothing has all the words, so that these have some of them.
    pub loose: bool,
}

impl Index {
    /// Finds messages, at most `most`; of one that is in several folders the one in the inbox.
    ///
    /// # Errors
    /// `Broken` when the database cannot be read.
    pub fn find(&self, query: &Query, most: usize) -> Result<Found, ToolError> {
        self.search(query, most).map_err(|e| self.failed(e))
    }

    /// The messages of the conversation that one belongs to, the oldest first, itself among them.
    ///
    /// # Errors
    /// `Broken` when the database cannot be read.
    pub fn conversation(&self, of: &Entry) -> Result<Vec<Entry>, ToolError> {
        self.thread(of).map_err(|e| self.failed(e))
    }

    fn search(&self, query: &Query, most: usize) -> rusqlite::Result<Found> {
        let asked = asked(&query.words);
        if asked.is_empty() && !query.words.trim().is_empty() && words::split(&query.words).is_empty() {
            return Ok(Found::default());
        }
        let mut filter = self.filter(query)?;
        if asked.is_empty() {
            return self.filtered(&filter, None, most, false);
        }
        let groups: Vec<String> = asked
            .iter()
            .map(|word| terms::group(&self.db, word))
            .collect::<rusqlite::Result<_>>()?;
        filter
            .sql
            .push_str(" AND mail.id IN (SELECT rowid FROM words WHERE words MATCH ?)");
        let mut all = filter.clone();
        let every = groups.join(" AND ");
        all.values.push(Value::Text(match query.in_subject {
            true => format!("subject : ({every})"),
            false => every,
        }));
        let found = self.filtered(&all, None, most, false)?;
        if found.count > 0 || groups.len() == 1 || query.in_subject {
            return Ok(found);
        }
        let any = groups.join(" OR ");
        filter.values.push(Value::Text(any.clone()));
        self.filtered(&filter, Some(any), most, true)
    }

    fn filtered(
        &self,
        filter: &Filter,
        rank: Option<String>,
        most: usize,
        loose: bool,
    ) -> rusqlite::Result<Found> {
        const ONE: &str = "CASE message_id WHEN '' THEN 'mail ' || mail.id ELSE message_id END";
        let sql = format!(
            "SELECT count(DISTINCT {ONE}), count(DISTINCT CASE WHEN unread THEN {ONE} END) FROM mail WHERE {}",
            filter.sql
        );
        let values = |values: &[Value]| -> Vec<Value> { values.to_vec() };
        let mut statement = self.db.prepare_cached(&sql)?;
        let (count, unread): (i64, i64) = statement
            .query_row(rusqlite::params_from_iter(values(&filter.values)), |row| {
                Ok((row.get(0)?, row.get(1)?))
            })?;
        let mut parameters = filter.values.clone();
        let (join, order) = match rank {
            Some(any) => {
                // Subject and sender say more than the text (column weights of bm25).
                parameters.insert(0, Value::Text(any));
                (
                    "JOIN (SELECT rowid AS hit, bm25(words, 4.0, 1.0, 6.0, 1.0, 2.0) AS rank FROM words WHERE words MATCH ?) ON hit = mail.id",
                    "rank, date DESC",
                )
            }
            None => ("", "date DESC, subject, mail.id"),
        };
        let sql = format!(
            "{ENTRY} {join} WHERE {} ORDER BY {order} LIMIT {}",
            filter.sql,
            most * 3 + 10
        );
        let mut statement = self.db.prepare_cached(&sql)?;
        let rows = statement.query_map(rusqlite::params_from_iter(parameters), |row| self.entry(row))?;
        let mut entries: Vec<Entry> = Vec::new();
        for entry in rows {
            let entry = entry?;
            let same = entries
                .iter_mut()
                .find(|known| !entry.message_id.is_empty() && known.message_id == entry.message_id);
            match same {
                Some(known) if entry.folder.role == Role::Inbox && known.folder.role != Role::Inbox => {
                    *known = entry
                }
                Some(_) => {}
                None => entries.push(entry),
            }
        }
        entries.truncate(most);
        Ok(Found {
            entries,
            count: usize::try_from(count).unwrap_or(0),
            unread: usize::try_from(unread).unwrap_or(0),
            loose,
        })
    }

    fn filter(&self, query: &Query) -> rusqlite::Result<Filter> {
        let mut filter = Filter {
            // What a mail program has marked for deletion is as good as gone, and a draft is no mail yet.
            sql: "instr(flags, 'T') = 0 AND instr(flags, 'D') = 0".to_owned(),
            values: Vec::new(),
        };
        if query.folders.is_some() {
            filter.sql = "1".to_owned();
        }
        let here = self.folders.iter().filter(|(_, folder)| match &query.folders {
            Some(paths) => paths.contains(&folder.path),
            None if query.inbox => folder.role == Role::Inbox,
            None => folder.role.is_searched(),
        });
        let here: Vec<i64> = here.map(|(id, _)| *id).collect();
        filter.add(
            "folder IN (SELECT value FROM json_each(?))",
            json!(here).to_string(),
        );
        if let Some(who) = &query.from {
            let addresses = self.senders(who)?;
            filter.add(
                "(address || char(10) || CASE address WHEN '' THEN name ELSE '' END) IN (SELECT value FROM json_each(?))",
                json!(addresses).to_string(),
            );
        }
        if let Some(who) = &query.to {
            let addresses = self.people("recipient", who)?;
            filter.add(
                "mail.id IN (SELECT mail FROM recipient WHERE (address || char(10) || CASE address WHEN '' THEN name ELSE '' END) IN (SELECT value FROM json_each(?)))",
                json!(addresses).to_string(),
            );
        }
        if let Some(since) = query.since {
            filter.add("date >= ?", since.as_second());
        }
        if let Some(before) = query.before {
            filter.add("date < ?", before.as_second());
        }
        if let Some(unread) = query.unread {
            filter.add("unread = ?", i64::from(unread));
        }
        if let Some(attachments) = query.attachments {
            filter.add("(coalesce(attachments, 0) > 0) = ?", i64::from(attachments));
        }
        Ok(filter)
    }

    /// Keys of the senders that are meant.
    fn senders(&self, who: &Who) -> rusqlite::Result<Vec<String>> {
        self.people("mail", who)
    }

    /// Keys of the people in a table that are meant: by address as said or as contacts know it, else by the name as
    /// heard.
    fn people(&self, table: &str, who: &Who) -> rusqlite::Result<Vec<String>> {
        let ear = Ear::of_person(&who.said, |_| Vec::new());
        let said = who.said.to_lowercase();
        let mut rows = self
            .db
            .prepare_cached(&format!("SELECT DISTINCT address, name FROM {table}"))?;
        let mut rows = rows.query([])?;
        let mut found = HashSet::new();
        while let Some(row) = rows.next()? {
            let (address, name): (String, String) = (row.get(0)?, row.get(1)?);
            let known = who.addresses.contains(&address);
            if known || is(&ear, &said, &address, &name) {
                let name = if address.is_empty() { name.as_str() } else { "" };
                found.insert(format!("{address}\n{name}"));
            }
        }
        Ok(found.into_iter().collect())
    }

    fn thread(&self, of: &Entry) -> rusqlite::Result<Vec<Entry>> {
        let mut mails: HashSet<i64> = HashSet::from([of.id]);
        let mut ids: HashSet<String> = HashSet::new();
        let mut new: Vec<i64> = vec![of.id];
        while let Some(mail) = new.pop() {
            let mut fresh: Vec<String> = self
                .db
                .prepare_cached("SELECT id FROM link WHERE mail = ?1 UNION SELECT message_id FROM mail WHERE id = ?1 AND message_id <> ''")?
                .query_map([mail], |row| row.get(0))?
                .collect::<rusqlite::Result<_>>()?;
            fresh.retain(|id| ids.insert(id.clone()));
            for id in fresh {
                let sql =
                    "SELECT id FROM mail WHERE message_id = ?1 UNION SELECT mail FROM link WHERE id = ?1";
                let mut rows = self.db.prepare_cached(sql)?;
                for mail in rows.query_map([id], |row| row.get::<_, i64>(0))? {
                    let mail = mail?;
                    if mails.len() < MAX_CONVERSATION && mails.insert(mail) {
                        new.push(mail);
                    }
                }
            }
        }
        if mails.len() == 1 {
            self.same_topic(of, &mut mails)?;
        }
        let sql =
            format!("{ENTRY} WHERE mail.id IN (SELECT value FROM json_each(?1)) ORDER BY date, mail.id");
        let mut rows = self.db.prepare_cached(&sql)?;
        let rows = rows.query_map([json!(mails).to_string()], |row| self.entry(row))?;
        let mut found: Vec<Entry> = Vec::new();
        for entry in rows {
            let entry = entry?;
            let own = entry.id == of.id;
            let twin = found
                .iter_mut()
                .find(|known| !entry.message_id.is_empty() && known.message_id == entry.message_id);
            match twin {
                Some(known) if own => *known = entry,
                Some(_) => {}
                None if own || !matches!(entry.folder.role, Role::Drafts | Role::Trash | Role::Junk) => {
                    found.push(entry)
                }
                None => {}
            }
        }
        Ok(found)
    }

    /// Mail without references belongs together where it has the same subject, one of them is an answer, and the same
    /// people are in it.
    fn same_topic(&self, of: &Entry, mails: &mut HashSet<i64>) -> rusqlite::Result<()> {
        let subject = topic(&of.subject);
        if subject.is_empty() {
            return Ok(());
        }
        let sql = "SELECT other.id FROM mail AS other, mail AS this
             WHERE this.id = ?1 AND other.topic = this.topic AND other.id <> this.id
             AND (lower(other.subject) <> other.topic OR lower(this.subject) <> this.topic)
             AND abs(other.date - this.date) < ?2
             AND (other.address = this.address OR other.address IN (SELECT address FROM recipient WHERE mail = this.id)
                  OR this.address IN (SELECT address FROM recipient WHERE mail = other.id))
             ORDER BY abs(other.date - this.date) LIMIT ?3";
        let parameters = [of.id, SAME_TOPIC, MAX_CONVERSATION as i64];
        let mut rows = self.db.prepare_cached(sql)?;
        for mail in rows.query_map(parameters, |row| row.get::<_, i64>(0))? {
            mails.insert(mail?);
        }
        Ok(())
    }
}

/// Conditions of a query with the values of its question marks, in order.
#[derive(Clone)]
struct Filter {
    sql: String,
    values: Vec<Value>,
}

impl Filter {
    fn add(&mut self, condition: &str, value: impl Into<Value>) {
        self.sql.push_str(" AND ");
        self.sql.push_str(condition);
        self.values.push(value.into());
    }
}

/// By address as written, or by the name as heard, or by the host: "acme".
fn is(ear: &Ear, said: &str, address: &str, name: &str) -> bool {
    if said.contains('@') {
        return address == said;
    }
    let (user, host) = address.split_once('@').unwrap_or((address, ""));
    host.split('.').any(|part| part == said)
        || (!name.is_empty() && ear.likeness(name) >= HEARD)
        || ear.likeness(user) >= HEARD
}

/// The words to look for: without those that say nothing, unless there are no others.
fn asked(said: &str) -> Vec<String> {
    let all = words::split(said);
    let content = |word: &&String| !words::is_stop_word(word) && !FILLING.contains(&word.as_str());
    let mut asked: Vec<String> = all.iter().filter(content).cloned().collect();
    asked.retain(|word| word.chars().any(char::is_alphanumeric));
    asked.dedup();
    asked.truncate(MAX_ASKED);
    asked
}
