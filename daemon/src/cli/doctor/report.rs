//! What was found, as data: sections, their checks, how grave each is and what to do.

use std::fmt::Write as _;

use serde::Serialize;

/// Everything that was found. `--json` prints
/// `{"ok","sections":[{"name","checks":[{"name","severity":"ok|info|warn|fail","says","todo"?}]}]}`.
#[derive(Debug, Serialize)]
pub struct Report {
    /// Whether no check failed.
    pub ok: bool,
    sections: Vec<Section>,
}

/// Checks that belong together.
#[derive(Debug, Serialize)]
pub struct Section {
    name: &'static str,
    checks: Vec<Check>,
}

#[derive(Debug, Serialize)]
struct Check {
    name: &'static str,
    severity: Severity,
    says: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    todo: Option<String>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
enum Severity {
    /// As it should be.
    Ok,
    /// Good to know.
    Info,
    /// Works, and could be better.
    Warn,
    /// Does not work.
    Fail,
}

impl Report {
    /// The report of these sections.
    pub fn of(sections: Vec<Section>) -> Report {
        let failed = sections
            .iter()
            .flat_map(|s| &s.checks)
            .any(|c| c.severity == Severity::Fail);
        Report {
            ok: !failed,
            sections,
        }
    }

    /// For people.
    pub fn text(&self) -> String {
        let mut text = String::new();
        for section in &self.sections {
            let _ = writeln!(text, "{}", section.name);
            for check in &section.checks {
                let mark = match check.severity {
                    Severity::Ok => "ok  ",
                    Severity::Info => "info",
                    Severity::Warn => "WARN",
                    Severity::Fail => "FAIL",
                };
                let says = check.says.replace('\n', "\n       ");
                let _ = writeln!(text, "  {mark} {}: {says}", check.name);
                if let Some(todo) = &check.todo {
                    let _ = writeln!(text, "       {todo}");
                }
            }
        }
        text
    }

    /// For programs, on one line.
    ///
    /// # Errors
    /// Never in practice: everything in it is text.
    pub fn json(&self) -> anyhow::Result<String> {
        Ok(serde_json::to_string(self)? + "\n")
    }
}

impl Section {
    /// A section without checks yet.
    pub fn new(name: &'static str) -> Section {
        Section {
            name,
            checks: Vec::new(),
        }
    }

    /// Something is as it should be.
    pub fn ok(&mut self, name: &'static str, says: impl Into<String>) {
        self.add(name, Severity::Ok, says.into(), None);
    }

    /// Something is good to know.
    pub fn info(&mut self, name: &'static str, says: impl Into<String>) {
        self.add(name, Severity::Info, says.into(), None);
    }

    /// Something works and could be better; says how.
    pub fn warn(&mut self, name: &'static str, says: impl Into<String>, todo: impl Into<String>) {
        self.add(name, Severity::Warn, says.into(), Some(todo.into()));
    }

    /// Something does not work; says what to do.
    pub fn fail(&mut self, name: &'static str, says: impl Into<String>, todo: impl Into<String>) {
        self.add(name, Severity::Fail, says.into(), Some(todo.into()));
    }

    fn add(&mut self, name: &'static str, severity: Severity, says: String, todo: Option<String>) {
        self.checks.push(Check {
            name,
            severity,
            says,
            todo,
        });
    }
}
