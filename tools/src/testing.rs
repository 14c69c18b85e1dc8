//! What tests of this room share: a context over a folder of its own, and the evaluation data.

use std::{
    fs,
    os::unix::fs::PermissionsExt as _,
    path::{Path, PathBuf},
    sync::Arc,
};

use serde_json::Value;

use crate::{
    Ctx, Dirs, Output, ToolError,
    contract::Reach,
    discover::Index,
    system::{
        desktop::Desk,
        journal::{Journal, Retention, Step},
    },
};

/// A context whose folders are under `root`, at a fixed moment.
pub fn ctx(root: &Path) -> Ctx {
    Ctx {
        now: "2026-11-23T09:30:00[Europe/Berlin]".parse().unwrap(),
        dirs: Dirs::under(root),
        index: Arc::new(Index::of(crate::ALL)),
        search: crate::Search::default(),
        daemon: true,
        work: crate::Work::default(),
        last: None,
        snooze: Ctx::SNOOZE,
        desk: Desk::nowhere(),
        mail: crate::Mail::default(),
        // No test reaches the desktop that it happens to run on.
        reach: Reach {
            opener: vec!["/nonexistent/opener".into()],
            ..Reach::default()
        },
        step: step(root),
        progress: crate::system::progress::Progress::default(),
    }
}

/// Writes with a journal under `root`.
pub fn step(root: &Path) -> Step {
    Journal::at(&root.join("state"), Retention::default()).step("test")
}

/// Runs one tool by name.
pub async fn run(name: &str, args: Value, ctx: &Ctx) -> Result<Output, ToolError> {
    crate::find(name).unwrap().run(args, ctx).await
}

/// Puts an event with these lines into a calendar, as another program would.
pub fn event(root: &Path, calendar: &str, name: &str, lines: &str) {
    let folder = root.join("calendars").join(calendar);
    fs::create_dir_all(&folder).unwrap();
    let text = format!(
        "BEGIN:VCALENDAR\nVERSION:2.0\nBEGIN:VEVENT\nUID:{name}\n{lines}\nEND:VEVENT\nEND:VCALENDAR\n"
    );
    fs::write(folder.join(format!("{name}.ics")), text).unwrap();
}

/// What it says when it works.
#[track_caller]
pub fn said(result: Result<Output, ToolError>) -> String {
    result.unwrap().say
}

/// What it tells when it does not.
#[track_caller]
pub fn told(result: Result<Output, ToolError>) -> String {
    match result {
        Err(ToolError::Tell(text) | ToolError::Misfit(text)) => text,
        other => panic!("expected to be told, got {other:?}"),
    }
}

/// Runs work as somebody whom permissions stop, also where the tests run as root. It is done on a thread of its own,
/// which gives up for good what lets root pass them; the threads that its runtime starts inherit that, and the threads
/// of other tests are not concerned. (Only Linux has such a thing; elsewhere root sees these tests fail.)
pub fn unprivileged<T: Send>(work: impl AsyncFnOnce() -> T + Send) -> T {
    let thread = || {
        #[cfg(target_os = "linux")]
        give_up_privileges();
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
        runtime.unwrap().block_on(work())
    };
    std::thread::scope(|scope| scope.spawn(thread).join())
        .unwrap_or_else(|panic| std::panic::resume_unwind(panic))
}

#[cfg(target_os = "linux")]
fn give_up_privileges() {
    use rustix::thread::{CapabilitySet, capabilities, set_capabilities};
    let given_up = CapabilitySet::DAC_OVERRIDE | CapabilitySet::DAC_READ_SEARCH | CapabilitySet::FOWNER;
    let mut sets = capabilities(None).unwrap();
    // access(2) looks at what is permitted, not at what is in effect, so both go.
    sets.permitted -= given_up;
    sets.effective -= given_up;
    sets.inheritable -= given_up;
    set_capabilities(None, sets).unwrap();
}

/// A folder that takes no writes, with all folders in it, until this is dropped.
pub struct ReadOnly(PathBuf);

impl ReadOnly {
    pub fn of(folder: &Path) -> ReadOnly {
        set_modes(folder, 0o500);
        ReadOnly(folder.to_owned())
    }
}

impl Drop for ReadOnly {
    fn drop(&mut self) {
        set_modes(&self.0, 0o700);
    }
}

/// The folder's own first: without it those in it cannot be listed.
fn set_modes(folder: &Path, mode: u32) {
    fs::set_permissions(folder, fs::Permissions::from_mode(mode)).unwrap();
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            set_modes(&path, mode);
        }
    }
}

/// A folder or file of the evaluation data: in the folder that `TIRO_DATA` names, which must have it, else beside the workspace.
pub fn data(name: &str) -> Option<PathBuf> {
    let named = std::env::var_os("TIRO_DATA").map(PathBuf::from);
    let required = named.is_some();
    let beside = || Path::new(env!("CARGO_MANIFEST_DIR")).join("../../shared/data");
    let path = named.unwrap_or_else(beside).join(name);
    if !path.exists() {
        assert!(!required, "TIRO_DATA has no {}", path.display());
        println!("SKIPPED: {} is not there; set TIRO_DATA.", path.display());
        return None;
    }
    Some(path)
}

/// Every file under a folder with its content, sorted.
pub fn files(folder: &Path) -> Vec<(PathBuf, Vec<u8>)> {
    let mut found = Vec::new();
    let mut pending = vec![folder.to_owned()];
    while let Some(folder) = pending.pop() {
        for entry in fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                pending.push(path);
            } else {
                let bytes = fs::read(&path).unwrap();
                found.push((path, bytes));
            }
        }
    }
    found.sort();
    assert!(!found.is_empty(), "{} holds no files", folder.display());
    found
}

/// Puts a message into the mail folder, as a mail server would.
pub fn deliver(root: &Path, file: &str, from: &str, subject: &str, date: &str, body: &str) {
    let path = root.join("mail").join(file);
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    fs::write(
        path,
        format!("From: {from}\nSubject: {subject}\nDate: {date}\n\n{body}\n"),
    )
    .unwrap();
}

/// A small mailbox: three mails in the inbox, of which one is unread, one that was sent, one in the trash.
pub fn mailbox(root: &Path) {
    let anna = "Anna Bell <anna@example.org>";
    let lunch = "Shall we meet at noon?\n\nAnna";
    deliver(
        root,
        "new/3.x",
        anna,
        "Lunch?",
        "Sun, 22 Nov 2026 11:00:00 +0000",
        lunch,
    );
    let bob = "Bob Stone <bob@acme.example>";
    deliver(
        root,
        "cur/2.x:2,S",
        bob,
        "Invoice 42",
        "Fri, 20 Nov 2026 09:00:00 +0000",
        "Please pay.",
    );
    let report = "--b\nContent-Type: text/html\n\n<p>The budget is fine.</p>\n--b\nContent-Type: application/pdf\n\
        Content-Disposition: attachment; filename=figures.pdf\n\nnot much here\n--b--\n";
    let subject = "Report\nMIME-Version: 1.0\nContent-Type: multipart/mixed; boundary=b";
    deliver(
        root,
        "cur/1.x:2,S",
        anna,
        subject,
        "Thu, 19 Nov 2026 08:00:00 +0000",
        report,
    );
    let plans = "Plans\nTo: Carl <carl@example.org>";
    deliver(
        root,
        ".Sent/cur/4.x:2,S",
        "me <me@example.org>",
        plans,
        "Tue, 17 Nov 2026 08:00:00 +0000",
        "Ours.",
    );
    deliver(
        root,
        ".Trash/cur/5.x:2,S",
        "Spammer <s@spam.example>",
        "Buy",
        "Tue, 17 Nov 2026 08:00:00 +0000",
        "Buy!",
    );
}

/// Contacts of whom mail is written: one with an address, one with two, two of one name, one with none.
pub fn cards(ctx: &Ctx) {
    fs::create_dir_all(ctx.dirs.contacts.join("book")).unwrap();
    let card = |name: &str, lines: &str| format!("BEGIN:VCARD\nVERSION:4.0\nFN:{name}\n{lines}END:VCARD\n");
    let cards = [
        card("Anna Bell", "EMAIL:anna@example.org\n"),
        card(
            "Catherine Stone",
            "EMAIL;TYPE=work:cs@acme.example\nEMAIL;TYPE=home:cat@home.example\n",
        ),
        card("Peter Parker", "EMAIL:peter@example.org\n"),
        card("Peter Pan", "EMAIL:pan@example.org\n"),
        card("Zoe Quiet", "TEL:123456\n"),
    ];
    fs::write(ctx.dirs.contacts.join("book/all.vcf"), cards.concat()).unwrap();
}

/// An account that sends.
pub fn account(ctx: &mut Ctx) {
    ctx.mail.accounts = vec![crate::MailAccount {
        name: "home".to_owned(),
        address: "me@example.org".to_owned(),
        sender: "Me".to_owned(),
        maildir: ctx.dirs.mail.clone(),
        sends: true,
    }];
}
