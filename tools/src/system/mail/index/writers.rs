//! Who writes to the person, by name, as far as the index knows them already.
//!
//! Names are evidence that every turn waits for, so this brings nothing up to date, writes nothing and waits for nobody: the
//! daemon keeps the index, and every question about mail does.

use std::collections::HashMap;

use rusqlite::{Connection, OpenFlags, params};

use super::{database, folders, folders::Role};
use crate::contract::{Dirs, ToolError};

/// Messages of a folder whose senders' names are told.
const NEWEST: u32 = 500;

/// The names of who wrote to the person, who wrote last first, from the newest messages of each folder. What was sent, begun,
/// thrown away or taken for spam names nobody. Nothing where there is no index yet.
///
/// # Errors
/// `Tell` when there is no mailbox; `Broken` when the database cannot be read now.
pub fn writers(dirs: &Dirs, most: usize) -> Result<Vec<String>, ToolError> {
    let file = dirs.state.join(database::FILE);
    if !file.exists() {
        return Ok(Vec::new());
    }
    let all = folders::folders(&dirs.mail)?;
    let read = || -> rusqlite::Result<Vec<String>> {
        let db = Connection::open_with_flags(
            &file,
            OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_NO_MUTEX,
        )?;
        if db.pragma_query_value(None, "user_version", |row| row.get::<_, i64>(0))? != database::VERSION {
            return Ok(Vec::new());
        }
        let mut last: HashMap<String, i64> = HashMap::new();
        let mut rows = db.prepare(
            "SELECT name, date FROM mail WHERE folder = (SELECT id FROM folder WHERE path = ?1) ORDER BY date DESC LIMIT ?2",
        )?;
        for folder in &all {
            if matches!(folder.role, Role::Sent | Role::Drafts | Role::Trash | Role::Junk) {
                continue;
            }
            let Some(path) = folder.path.to_str() else {
                continue;
            };
            for row in rows.query_map(params![path, NEWEST], |row| Ok((row.get(0)?, row.get(1)?)))? {
                let (name, date): (String, i64) = row?;
                let newest = last.entry(name).or_insert(date);
                *newest = date.max(*newest);
            }
        }
        last.remove("");
        let mut named: Vec<(String, i64)> = last.into_iter().collect();
        named.sort_by(|a, b| b.1.cmp(&a.1).then_with(|| a.0.cmp(&b.0)));
        Ok(named.into_iter().take(most).map(|(name, _)| name).collect())
    };
    read().map_err(|error| ToolError::broken(super::WHAT, error))
}
