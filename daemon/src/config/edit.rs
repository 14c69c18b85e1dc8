//! Setting one key in the file, keeping everything else of it: order, comments, spacing.

use std::{
    fs,
    io::Write as _,
    path::{Path, PathBuf},
};

use anyhow::{Context as _, anyhow, ensure};
use toml_edit::{DocumentMut, InlineTable, Item, Table, Value};

use super::{Key, file, keys::keys};
use crate::paths::create_private;

/// Sets `section.name` to a value in the file, which is made when there is none. Nothing is written unless the
/// whole file is right afterwards.
///
/// # Errors
/// When there is no such key, the value is not allowed, the file is wrong elsewhere, or it cannot be written.
pub fn set(path: &Path, name: &str, value: &str) -> anyhow::Result<()> {
    let key = find(name)?;
    let old = file::text_of(path)?.unwrap_or_default();
    let mut document: DocumentMut = old.parse().map_err(|_| match file::parse(&old) {
        Err(problems) => file::complaint(path, &problems),
        Ok(_) => anyhow!("The config {} cannot be read as TOML.", path.display()),
    })?;
    let none = || anyhow!("{} is not a section in {}.", key.section, path.display());
    let mut item = document.as_item_mut();
    let mut parts = key.section.split('.').peekable();
    while let Some(part) = parts.next() {
        let mut table = Table::new();
        // A section that is only there for one inside it is not written by itself.
        table.set_implicit(parts.peek().is_some());
        let new = match item.is_inline_table() {
            true => Item::Value(InlineTable::new().into()),
            false => Item::Table(table),
        };
        let there = item.as_table_like_mut().ok_or_else(none)?;
        item = there.entry(part).or_insert(new);
    }
    let section = item.as_table_like_mut().ok_or_else(none)?;
    let mut new = typed(key, value);
    match section.get_mut(&key.name).and_then(Item::as_value_mut) {
        // The comment behind a value belongs to the key and stays.
        Some(there) => {
            *new.decor_mut() = there.decor().clone();
            *there = new;
        }
        None => {
            section.insert(&key.name, Item::Value(new));
        }
    }
    let text = document.to_string();
    file::parse(&text).map_err(|problems| file::complaint(path, &problems).context("Nothing was changed"))?;
    write(path, &text)
}

fn find(name: &str) -> anyhow::Result<&'static Key> {
    if let Some(key) = keys().iter().find(|key| key.path() == name) {
        return Ok(key);
    }
    let near = keys()
        .iter()
        .map(|key| {
            (
                strsim::jaro_winkler(name, &key.path()).max(strsim::jaro_winkler(name, &key.name)),
                key.path(),
            )
        })
        .max_by(|a, b| a.0.total_cmp(&b.0))
        .filter(|(score, _)| *score >= 0.8);
    Err(match near {
        Some((_, path)) => anyhow!("There is no key {name}. Did you mean {path}?"),
        None => anyhow!("There is no key {name}. `tiro config show` lists them all."),
    })
}

/// The value as TOML: what is not TOML of the key's own type is taken as text, so that quotes are not needed.
fn typed(key: &Key, text: &str) -> Value {
    let parsed: Option<Value> = text.parse().ok();
    match parsed {
        Some(mut value) if key.kind() != "string" || value.is_str() => {
            value.decor_mut().clear();
            value
        }
        _ => Value::from(text),
    }
}

/// Replaces the file in one step, so that it is the old or the new one, whatever happens in between.
fn write(path: &Path, text: &str) -> anyhow::Result<()> {
    let failed = || format!("The config {} could not be written", path.display());
    // A config that is a link (into a folder of dotfiles) stays one.
    let target: PathBuf = if path.is_symlink() {
        fs::canonicalize(path).with_context(failed)?
    } else {
        path.to_owned()
    };
    let folder = target
        .parent()
        .filter(|p| !p.as_os_str().is_empty())
        .unwrap_or(Path::new("."));
    create_private(folder)?;
    let mut file = tempfile::NamedTempFile::new_in(folder).with_context(failed)?;
    file.write_all(text.as_bytes()).with_context(failed)?;
    if let Ok(meta) = fs::metadata(&target) {
        ensure!(
            !meta.permissions().readonly(),
            "The config {} is read-only.",
            path.display()
        );
        file.as_file()
            .set_permissions(meta.permissions())
            .with_context(failed)?;
    }
    file.as_file().sync_all().with_context(failed)?;
    file.persist(&target).map_err(|e| e.error).with_context(failed)?;
    fs::File::open(folder)
        .and_then(|f| f.sync_all())
        .with_context(failed)
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt as _;

    use super::*;

    #[test]
    fn the_rest_of_the_file_stays_as_it_was() {
        #[track_caller]
        fn check(before: &str, name: &str, value: &str, after: &str) {
            let folder = tempfile::tempdir().unwrap();
            let path = folder.path().join("deep/config.toml");
            if !before.is_empty() {
                create_private(path.parent().unwrap()).unwrap();
                fs::write(&path, before).unwrap();
            }
            set(&path, name, value).unwrap();
            assert_eq!(fs::read_to_string(&path).unwrap(), after);
            let names: Vec<_> = fs::read_dir(path.parent().unwrap())
                .unwrap()
                .map(|e| e.unwrap().file_name())
                .collect();
            assert_eq!(names, ["config.toml"], "something was left behind");
        }
        check("", "llm.context", "4096", "[llm]\ncontext = 4096\n");
        check("", "stt.language", "de", "[stt]\nlanguage = \"de\"\n");
        check("", "stt.language", "\"de\"", "[stt]\nlanguage = \"de\"\n");
        check("", "stt.prompt", "12", "[stt]\nprompt = \"12\"\n");
        check(
            "",
            "tools.core",
            r#"["media.pause"]"#,
            "[tools]\ncore = [\"media.pause\"]\n",
        );
        check("", "privacy.trace", "true", "[privacy]\ntrace = true\n");
        check("", "llm.temperature", "0", "[llm]\ntemperature = 0\n");
        check(
            "# mine\n[llm] # here\n# why\ncontext = 4096   # small\nkv = 'f16'\n\n[stt]\n",
            "llm.context",
            "8192",
            "# mine\n[llm] # here\n# why\ncontext = 8192   # small\nkv = 'f16'\n\n[stt]\n",
        );
        check(
            "llm.kv = 'f16'\n",
            "llm.context",
            "8192",
            "llm.kv = 'f16'\nllm.context = 8192\n",
        );
        check(
            "llm = { kv = 'f16' } # x\n",
            "llm.context",
            "8192",
            "llm = { kv = 'f16' , context = 8192 } # x\n",
        );
        check(
            "",
            "llm.server.url",
            "http://tower:8080",
            "[llm.server]\nurl = \"http://tower:8080\"\n",
        );
        check(
            "[llm]\nkv = 'f16'\n\n[llm.server] # here\nmodel = 'm'\n",
            "llm.server.keyring",
            "true",
            "[llm]\nkv = 'f16'\n\n[llm.server] # here\nmodel = 'm'\nkeyring = true\n",
        );
        check(
            "llm = { kv = 'f16' }\n",
            "llm.server.url",
            "http://tower",
            "llm = { kv = 'f16' , server = { url = \"http://tower\" } }\n",
        );
        check(
            "llm.kv = 'f16'\n",
            "llm.server.url",
            "http://tower",
            "llm.kv = 'f16'\n\n[llm.server]\nurl = \"http://tower\"\n",
        );
        check("[llm]\nkv = 'bad'\n", "llm.kv", "q8_0", "[llm]\nkv = \"q8_0\"\n");
    }

    #[test]
    fn what_is_not_right_is_not_written() {
        #[track_caller]
        fn check(before: &str, name: &str, value: &str, expect: &str) {
            let folder = tempfile::tempdir().unwrap();
            let path = folder.path().join("config.toml");
            fs::write(&path, before).unwrap();
            let error = format!("{:#}", set(&path, name, value).unwrap_err());
            assert!(error.contains(expect), "{error}");
            assert_eq!(fs::read_to_string(&path).unwrap(), before);
        }
        check("", "llm.contxt", "1", "Did you mean llm.context?");
        check("", "context", "1", "Did you mean llm.context?");
        check("", "zzz", "1", "tiro config show");
        check("", "llm.context", "many", "should be a whole number");
        check("", "llm.context", "1\n[x]", "should be a whole number");
        check("", "llm.idle_unload", "10", "should be a length of time");
        check(
            "[stt]\nlanguage = 1\n",
            "llm.context",
            "4096",
            "line 2, column 12: stt.language",
        );
        check("[stt\n", "llm.context", "4096", "line 1");
        check("llm = 1\n", "llm.context", "4096", "llm is not a section");
    }

    #[test]
    fn links_and_permissions_stay() {
        let folder = tempfile::tempdir().unwrap();
        let real = folder.path().join("real.toml");
        let link = folder.path().join("config.toml");
        fs::write(&real, "").unwrap();
        fs::set_permissions(&real, fs::Permissions::from_mode(0o640)).unwrap();
        std::os::unix::fs::symlink("real.toml", &link).unwrap();
        set(&link, "llm.kv", "q8_0").unwrap();
        assert!(link.is_symlink());
        assert_eq!(fs::read_to_string(&real).unwrap(), "[llm]\nkv = \"q8_0\"\n");
        assert_eq!(fs::metadata(&real).unwrap().permissions().mode() & 0o777, 0o640);
    }
}
