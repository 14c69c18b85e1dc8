//! Reading the config file: everything that is wrong with it, at once, with line, column and what is allowed.

use std::{
    collections::BTreeMap,
    fmt, fs,
    io::{ErrorKind, Read as _},
    ops::Range,
    path::{Path, PathBuf},
};

use anyhow::{Context as _, bail, ensure};
use serde::Deserialize as _;
use toml::de::{DeTable, DeValue};

use super::{
    Config, Key,
    keys::{self, keys},
};

/// A config larger than this is something else.
const MAX_BYTES: u64 = 1 << 20;
/// More problems than this are no help.
const MAX_PROBLEMS: usize = 20;

/// A config, and what the file said of it.
#[derive(Debug, Clone)]
pub struct Loaded {
    /// What holds.
    pub config: Config,
    /// The file.
    pub path: PathBuf,
    /// Whether the file is there.
    pub exists: bool,
    /// The line of every key that the file sets, by `section.name`.
    pub lines: BTreeMap<String, usize>,
}

/// Reads the file; without one, every key has its default.
///
/// # Errors
/// When it is there and cannot be read, or says something that it may not.
pub fn read(path: &Path) -> anyhow::Result<Loaded> {
    let Some(text) = text_of(path)? else {
        return Ok(Loaded {
            config: Config::default(),
            path: path.to_owned(),
            exists: false,
            lines: BTreeMap::new(),
        });
    };
    let (config, lines) = parse(&text).map_err(|problems| complaint(path, &problems))?;
    Ok(Loaded {
        config,
        path: path.to_owned(),
        exists: true,
        lines,
    })
}

impl Loaded {
    /// The whole config as a file, behind each value where it comes from; `words` adds what each key does.
    pub fn show(&self, words: bool) -> String {
        let now = serde_json::to_value(&self.config).unwrap_or_default();
        let file = self.path.file_name().unwrap_or_default().to_string_lossy();
        let entry = |key: &Key| {
            let origin = match self.lines.get(&key.path()) {
                Some(line) => format!("{file}, line {line}"),
                None => "default".to_owned(),
            };
            (keys::value(key.of(&now)), origin)
        };
        keys::render(entry, words)
    }
}

/// Something wrong in a config file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Problem {
    line: usize,
    column: usize,
    what: String,
}

impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "line {}, column {}: {}", self.line, self.column, self.what)
    }
}

/// All problems of one file as one error.
pub(super) fn complaint(path: &Path, problems: &[Problem]) -> anyhow::Error {
    let lines: Vec<String> = problems.iter().map(|p| format!("\n  {p}")).collect();
    anyhow::anyhow!("The config {} cannot be used:{}", path.display(), lines.concat())
}

/// The text of the file, or nothing when there is none.
pub(super) fn text_of(path: &Path) -> anyhow::Result<Option<String>> {
    let unreadable = || format!("The config {} cannot be read", path.display());
    let meta = match fs::metadata(path) {
        Ok(meta) => meta,
        Err(e) if e.kind() == ErrorKind::NotFound && !path.is_symlink() => return Ok(None),
        Err(e) => return Err(e).with_context(unreadable),
    };
    // Asked before opening: opening a named pipe would wait for somebody to write into it.
    ensure!(
        meta.is_file(),
        "The config {} is not a file. Move it away.",
        path.display()
    );
    let mut bytes = Vec::new();
    fs::File::open(path)
        .and_then(|file| file.take(MAX_BYTES + 1).read_to_end(&mut bytes))
        .with_context(unreadable)?;
    ensure!(
        bytes.len() as u64 <= MAX_BYTES,
        "The config {} is larger than 1 MiB, so it is not a config.",
        path.display()
    );
    match String::from_utf8(bytes) {
        Ok(text) => Ok(Some(text)),
        Err(e) => {
            let good = &e.as_bytes()[..e.utf8_error().valid_up_to()];
            let line = 1 + good.iter().filter(|b| **b == b'\n').count();
            bail!(
                "The config {} is not UTF-8 text: line {line} has a byte that cannot be read. Save it as UTF-8.",
                path.display()
            )
        }
    }
}

/// The config that a text says, and the line of each key, or everything that is wrong.
pub(super) fn parse(text: &str) -> Result<(Config, BTreeMap<String, usize>), Vec<Problem>> {
    let mut check = Check {
        text,
        problems: Vec::new(),
        lines: BTreeMap::new(),
    };
    let (document, errors) = DeTable::parse_recoverable(text);
    for error in &errors {
        check.problem(error.span().unwrap_or(0..0), sentence(error.message()));
    }
    if errors.is_empty() {
        check.document(document.get_ref());
    }
    if check.problems.is_empty() {
        match toml::from_str(text) {
            Ok(config) => return Ok((config, check.lines)),
            Err(e) => check.problem(e.span().unwrap_or(0..0), sentence(e.message())),
        }
    }
    check.problems.sort_by_key(|p| (p.line, p.column));
    check.problems.truncate(MAX_PROBLEMS);
    Err(check.problems)
}

struct Check<'t> {
    text: &'t str,
    problems: Vec<Problem>,
    lines: BTreeMap<String, usize>,
}

impl Check<'_> {
    fn document(&mut self, document: &DeTable<'_>) {
        for (section, value) in document {
            let name = section.get_ref().as_ref();
            let known: Vec<&Key> = keys().iter().filter(|key| key.section == name).collect();
            match value.get_ref() {
                _ if known.is_empty() => self.unknown_section(name, section.span()),
                DeValue::Table(entries) => self.section(name, &known, entries),
                _ => self.problem(
                    section.span(),
                    format!("{name} is a section: write [{name}] and its keys below it."),
                ),
            }
        }
    }

    fn section(&mut self, section: &str, known: &[&Key], entries: &DeTable<'_>) {
        for (name, value) in entries {
            let inner = format!("{section}.{}", name.get_ref());
            let keys: Vec<&Key> = keys().iter().filter(|key| key.section == inner).collect();
            match value.get_ref() {
                _ if keys.is_empty() => {}
                DeValue::Table(entries) => {
                    self.section(&inner, &keys, entries);
                    continue;
                }
                _ => {
                    let what = format!("{inner} is a section: write [{inner}] and its keys below it.");
                    self.problem(name.span(), what);
                    continue;
                }
            }
            let Some(key) = known.iter().find(|key| key.name == name.get_ref().as_ref()) else {
                let names = known.iter().map(|key| key.name.as_str());
                let hint =
                    hint(name.get_ref(), names, |n| format!("Did you mean {n}?")).unwrap_or_else(|| {
                        let names: Vec<&str> = known.iter().map(|key| key.name.as_str()).collect();
                        format!("It has: {}.", names.join(", "))
                    });
                self.problem(
                    name.span(),
                    format!("[{section}] has no key {}. {hint}", name.get_ref()),
                );
                continue;
            };
            let (line, _) = self.place(name.span().start);
            self.lines.insert(key.path(), line);
            if let (fields @ [_, ..], DeValue::Array(tables)) = (&key.fields()[..], value.get_ref()) {
                let before = self.problems.len();
                for table in tables.iter() {
                    match table.get_ref() {
                        DeValue::Table(entries) => self.table(key, fields, entries),
                        _ => self.problem(table.span(), format!("{} takes {}.", key.path(), key.allowed())),
                    }
                }
                // What is wrong inside was said; what is left is their number.
                if self.problems.len() > before {
                    continue;
                }
            }
            if let (Some((allowed, names)), DeValue::Array(entries)) = (key.entry(), value.get_ref()) {
                let before = self.problems.len();
                for entry in entries.iter() {
                    self.entry(key, allowed, &names, entry);
                }
                if self.problems.len() > before {
                    continue;
                }
            }
            if !fits(key, value.get_ref()) {
                let given = excerpt(self.text.get(value.span()).unwrap_or_default());
                self.problem(
                    value.span(),
                    format!("{} is {given}, and should be {}.", key.path(), key.allowed()),
                );
            }
        }
    }

    /// One entry of a list of names.
    fn entry(&mut self, key: &Key, allowed: &str, names: &[&str], entry: &toml::Spanned<DeValue<'_>>) {
        let alone = key.alone(serde_json::json!([json(entry.get_ref())]));
        if Config::deserialize(alone).is_err() {
            let given = excerpt(self.text.get(entry.span()).unwrap_or_default());
            let name = entry.get_ref().as_str().unwrap_or_default();
            let hint = hint(name, names.iter().copied(), |n| format!(". Did you mean {n}?"))
                .unwrap_or_else(|| format!(", and each should be {allowed}."));
            self.problem(entry.span(), format!("{} has {given}{hint}", key.path()));
        }
    }

    /// One table of a key that takes several, such as an account.
    fn table(&mut self, key: &Key, fields: &[Key], entries: &DeTable<'_>) {
        for (name, value) in entries {
            let Some(field) = fields.iter().find(|field| field.name == name.get_ref().as_ref()) else {
                let names = fields.iter().map(|field| field.name.as_str());
                let hint =
                    hint(name.get_ref(), names, |n| format!("Did you mean {n}?")).unwrap_or_else(|| {
                        let names: Vec<&str> = fields.iter().map(|field| field.name.as_str()).collect();
                        format!("It has: {}.", names.join(", "))
                    });
                self.problem(
                    name.span(),
                    format!("[[{}]] has no key {}. {hint}", key.path(), name.get_ref()),
                );
                continue;
            };
            let Some(json) = json(value.get_ref()) else {
                continue;
            };
            let alone = key.alone(serde_json::json!([{ &field.name: &json }]));
            if !field.within_bounds(&json) || Config::deserialize(alone).is_err() {
                let given = excerpt(self.text.get(value.span()).unwrap_or_default());
                self.problem(
                    value.span(),
                    format!("{} is {given}, and should be {}.", field.path(), field.allowed()),
                );
            }
        }
    }

    fn unknown_section(&mut self, name: &str, span: Range<usize>) {
        let homes: Vec<String> = keys()
            .iter()
            .filter(|key| key.name == name)
            .map(|key| format!("[{}]", key.section))
            .collect();
        let mut sections: Vec<&str> = keys().iter().map(|key| key.section.as_str()).collect();
        sections.dedup();
        let hint = if homes.is_empty() {
            hint(name, sections.iter().copied(), |n| format!("Did you mean [{n}]?"))
                .unwrap_or_else(|| format!("There are: {}.", sections.join(", ")))
        } else {
            format!("{name} belongs below {}.", homes.join(" or "))
        };
        self.problem(span, format!("There is no section {name}. {hint}"));
    }

    fn problem(&mut self, span: Range<usize>, what: String) {
        let (line, column) = self.place(span.start);
        self.problems.push(Problem { line, column, what });
    }

    /// Line and column, both from 1, columns in characters.
    fn place(&self, offset: usize) -> (usize, usize) {
        let before = self.text.get(..offset).unwrap_or(self.text);
        let start = before.rfind('\n').map_or(0, |n| n + 1);
        (
            before.matches('\n').count() + 1,
            before[start..].chars().count() + 1,
        )
    }
}

/// Whether a value may stand at a key: a config that says nothing else must take it, inside the key's bounds.
fn fits(key: &Key, value: &DeValue<'_>) -> bool {
    let Some(value) = json(value) else { return false };
    key.within_bounds(&value) && Config::deserialize(key.alone(value)).is_ok()
}

fn json(value: &DeValue<'_>) -> Option<serde_json::Value> {
    let spanned = toml::Spanned::new(0..0, value.clone());
    serde_json::Value::deserialize(toml::de::ValueDeserializer::from(spanned)).ok()
}

fn hint<'n>(
    name: &str,
    names: impl Iterator<Item = &'n str>,
    say: impl Fn(&str) -> String,
) -> Option<String> {
    names
        .map(|n| (strsim::jaro_winkler(&name.to_lowercase(), n), n))
        .filter(|(score, _)| *score >= 0.8)
        .max_by(|a, b| a.0.total_cmp(&b.0))
        .map(|(_, n)| say(n))
}

/// A value as it stands in the file, on one line and not too long.
fn excerpt(text: &str) -> String {
    let line: String = text.split_whitespace().collect::<Vec<_>>().join(" ");
    match line.char_indices().nth(60) {
        Some((end, _)) => format!("{}...", &line[..end]),
        None => line,
    }
}

/// A message of the parser as a sentence of ours.
fn sentence(message: &str) -> String {
    let mut chars = message.trim().chars();
    let first = chars
        .next()
        .map_or_else(String::new, |c| c.to_uppercase().collect());
    let text = format!("{first}{}", chars.as_str());
    if text.ends_with('.') {
        text
    } else {
        format!("{text}.")
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt as _;

    use proptest::prelude::*;

    use super::*;

    /// Problems of a text, one a line, or "fine".
    fn problems(text: &str) -> String {
        match parse(text) {
            Ok(_) => "fine".to_owned(),
            Err(problems) => problems
                .iter()
                .map(ToString::to_string)
                .collect::<Vec<_>>()
                .join("\n"),
        }
    }

    #[test]
    fn what_is_wrong_is_said_with_its_place_and_what_is_allowed() {
        #[track_caller]
        fn check(text: &str, expect: &[&str]) {
            assert_eq!(problems(text), expect.join("\n"), "for {text:?}");
        }
        check("", &["fine"]);
        check("# only words\n", &["fine"]);
        check("[llm]\nmodel = \"~/m.gguf\"\ncontext = 4_096\n", &["fine"]);
        check("llm.context = 4096\ntools = { loading = 'eager' }\n", &["fine"]);
        check("\u{feff}[llm]\ncontext = 4096\n", &["fine"]);
        check("[llm]\r\nkv = \"q8_0\"\r\n", &["fine"]);
        check(
            "[llm]\nmodle = \"x\"\n",
            &["line 2, column 1: [llm] has no key modle. Did you mean model?"],
        );
        check(
            "[consent]\n\n  zzz = 1",
            &["line 3, column 3: [consent] has no key zzz. It has: timeout."],
        );
        check("[llm.server]\nurl = \"http://tower:8080\"\n", &["fine"]);
        check(
            "[llm]\nserver = 3\n",
            &["line 2, column 1: llm.server is a section: write [llm.server] and its keys below it."],
        );
        check(
            "[llm.server]\n\nmodle = \"x\"\nkeyring = 1\n",
            &[
                "line 3, column 1: [llm.server] has no key modle. Did you mean model?",
                "line 4, column 11: llm.server.keyring is 1, and should be true or false.",
            ],
        );
        check(
            "[llmm]\n",
            &["line 1, column 2: There is no section llmm. Did you mean [llm]?"],
        );
        check(
            "context = 3",
            &["line 1, column 1: There is no section context. context belongs below [llm]."],
        );
        check(
            "llm = 3",
            &["line 1, column 1: llm is a section: write [llm] and its keys below it."],
        );
        check(
            "[[llm]]\ncontext = 4096",
            &["line 1, column 3: llm is a section: write [llm] and its keys below it."],
        );
        check(
            "[llm]\nkv = \"q4_0\"",
            &[r#"line 2, column 6: llm.kv is "q4_0", and should be "f16" or "q8_0"."#],
        );
        check("[listen]\nkey = \"\"\n", &["fine"]);
        check(
            "[listen]\nkey = \"Ctrl+Banana\"",
            &[&format!(
                "line 2, column 7: listen.key is \"Ctrl+Banana\", and should be {}.",
                crate::hotkey::HOTKEY
            )],
        );
        check(
            "[llm]\ncontext = 12",
            &["line 2, column 11: llm.context is 12, and should be a whole number from 1024 to 1048576."],
        );
        check(
            "[llm]\ncontext = 99999999999999999999",
            &[
                "line 2, column 11: llm.context is 99999999999999999999, and should be a whole number from 1024 to 1048576.",
            ],
        );
        check(
            "[llm]\ntemperature = nan",
            &["line 2, column 15: llm.temperature is nan, and should be a number from 0.0 to 2.0."],
        );
        check(
            "[llm]\nidle_unload = 10",
            &[
                r#"line 2, column 15: llm.idle_unload is 10, and should be a length of time such as "90s", "10m", "2h" or "90d"."#,
            ],
        );
        check(
            "[mail]\ndir = \"Mail\"",
            &[
                r#"line 2, column 7: mail.dir is "Mail", and should be a folder that starts with "/" or "~/", or "" for the usual place."#,
            ],
        );
        check(
            "[privacy]\ntrace = 'yes'",
            &["line 2, column 9: privacy.trace is 'yes', and should be true or false."],
        );
        check(
            "[calendar]\nwork_days = [\"monday\", \"Wendesday\", \"Sat\",\n \"purple\", 5]",
            &[
                "line 2, column 24: calendar.work_days has \"Wendesday\". Did you mean wednesday?",
                "line 3, column 2: calendar.work_days has \"purple\", and each should be a day such as \"monday\".",
                "line 3, column 12: calendar.work_days has 5, and each should be a day such as \"monday\".",
            ],
        );
        check(
            "[calendar]\nwork_days = \"monday\"",
            &[
                r#"line 2, column 13: calendar.work_days is "monday", and should be a list of at most 7, each a day such as "monday"."#,
            ],
        );
        check(
            "[tools]\ncore = [1,\n 2]",
            &[
                r#"line 2, column 8: tools.core is [1, 2], and should be a list such as ["..."] of at most 200."#,
            ],
        );
        check(
            "[stt]\nlanguage = 1979-05-27",
            &[
                r#"line 2, column 12: stt.language is 1979-05-27, and should be a language code such as "en", or "auto"."#,
            ],
        );
        check(
            "[tools]\ntop_k = 0\n[llm]\nkv = 1\nx = 2",
            &[
                "line 2, column 9: tools.top_k is 0, and should be a whole number from 1 to 20.",
                r#"line 4, column 6: llm.kv is 1, and should be "f16" or "q8_0"."#,
                "line 5, column 1: [llm] has no key x. It has: backend, model, context, threads, gpu_layers, kv, \
                 idle_unload, read_ahead, temperature, max_tokens, timeout.",
            ],
        );
    }

    #[test]
    fn broken_toml_is_said_with_its_line() {
        #[track_caller]
        fn check(text: &str, place: &str) {
            let problems = problems(text);
            assert!(
                problems.starts_with(place) && problems.ends_with('.'),
                "{problems}"
            );
        }
        check("[llm]\nmodel = \"x", "line 2, column ");
        check("[llm]\ncontext = 4096\ncontext = 4096", "line 3, column 1");
        check("[llm\n", "line 1, column 5");
        check("a b c", "line 1, column ");
    }

    #[test]
    fn every_problem_is_listed_up_to_a_bound() {
        let text: String = std::iter::once("[llm]\n".to_owned())
            .chain((0..100).map(|i| format!("k{i} = 1\n")))
            .collect();
        assert_eq!(problems(&text).lines().count(), MAX_PROBLEMS);
    }

    #[test]
    fn rules_on_tools_are_read_and_slips_of_the_pen_refused() {
        use crate::agent::rules::{Phase, Rule, When};
        let (config, _) = parse(
            "[[tools.rules]]\ndeny = [\"mail.*\", \"notes.read\"]\nwhen = \"locked\"\n\
             [[tools.rules]]\ndeny = [\"*\"]\nphases = [\"search\", \"load\"]\n",
        )
        .unwrap();
        let rule = |tools: &[&str], phases: &[Phase], when| Rule {
            tools: tools.iter().map(|tool| (*tool).to_owned()).collect(),
            phases: phases.to_vec(),
            when,
        };
        assert_eq!(
            config.tools.rules().0,
            [
                rule(
                    &["mail.*", "notes.read"],
                    &[Phase::Search, Phase::Load, Phase::Active],
                    When::Locked
                ),
                rule(&["*"], &[Phase::Search, Phase::Load], When::Always),
            ]
        );
        for (wrong, line) in [
            ("deny = [\"mial.*\"]", 2),
            ("deny = [\"mail.sned\"]", 2),
            ("deny = [\"\"]", 2),
            ("when = \"lokced\"", 2),
            ("phases = [\"searching\"]", 2),
            ("forbid = []", 2),
        ] {
            let problems = problems(&format!("[[tools.rules]]\n{wrong}\n"));
            assert!(
                problems.starts_with(&format!("line {line}")),
                "{wrong}: {problems}"
            );
        }
    }

    #[test]
    fn what_the_readme_shows_is_a_config() {
        let readme = include_str!("../../../README.md");
        let blocks: Vec<String> = readme
            .split("```toml\n")
            .skip(1)
            .filter_map(|rest| rest.split_once("```"))
            .map(|(block, _)| block.lines().map(str::trim_start).collect::<Vec<_>>().join("\n"))
            .collect();
        assert!(!blocks.is_empty());
        for block in blocks {
            assert_eq!(problems(&block), "fine", "{block}");
            assert_ne!(
                parse(&block).unwrap().0,
                Config::default(),
                "{block} says nothing"
            );
        }
    }

    #[test]
    fn files_that_cannot_be_read() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("config.toml");
        let error = || format!("{:#}", read(&path).unwrap_err());
        assert_eq!(read(&path).unwrap().config, Config::default());

        fs::create_dir(&path).unwrap();
        assert!(error().contains("is not a file"), "{}", error());
        fs::remove_dir(&path).unwrap();

        std::os::unix::fs::symlink("nowhere", &path).unwrap();
        assert!(error().contains("cannot be read"), "{}", error());
        fs::remove_file(&path).unwrap();

        fs::write(&path, b"# fine\n# \xff\n").unwrap();
        assert!(error().contains("not UTF-8 text: line 2"), "{}", error());

        fs::write(&path, "#".repeat(1 + (1 << 20))).unwrap();
        assert!(error().contains("larger than 1 MiB"), "{}", error());

        fs::write(&path, "[llm]\nkv = 1\n[x]").unwrap();
        assert_eq!(error().lines().count(), 3, "{}", error());
        assert!(error().contains(&path.display().to_string()));

        fs::set_permissions(&path, fs::Permissions::from_mode(0o000)).unwrap();
        // The super-user reads everything, so there is nothing to see there.
        if fs::File::open(&path).is_err() {
            assert!(error().contains("Permission denied"), "{}", error());
        }
    }

    #[test]
    fn show_says_where_each_value_comes_from_and_is_a_config_itself() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("config.toml");
        fs::write(&path, "[agent]\n\nanswer = 'model'\n").unwrap();
        let loaded = read(&path).unwrap();
        let shown = loaded.show(false);
        assert!(
            shown.contains("answer = \"model\"  # config.toml, line 3\n"),
            "{shown}"
        );
        assert!(shown.contains("kv = \"f16\"  # default\n"), "{shown}");
        assert_eq!(parse(&shown).unwrap().0, loaded.config);
        assert_eq!(parse(&loaded.show(true)).unwrap().0, loaded.config);
    }

    proptest! {
        #[test]
        fn any_text_is_a_config_or_has_problems_inside_it(text in r#"(\[?(llm|tools|stt|x)\]?|[a-z_]{1,8} = ("[^"]{0,5}"|-?[0-9]{1,25}|\[1\]|nan|\{a=1\}|é)|.){0,6}\n?"#) {
            if let Err(problems) = parse(&text) {
                prop_assert!(!problems.is_empty());
                for problem in problems {
                    prop_assert!(problem.line >= 1 && problem.line <= text.matches('\n').count() + 1);
                    prop_assert!(problem.column >= 1);
                }
            }
        }
    }
}
