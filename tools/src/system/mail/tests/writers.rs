//! Who writes to the person, by name.

use super::*;

#[test]
fn who_wrote_last_is_named_first_and_spam_names_nobody() {
    let home = tempfile::tempdir().unwrap();
    for (file, from, date) in [
        (
            "cur/1.a:2,S",
            "IT Service <it@x.org>",
            "Mon, 16 Nov 2026 05:00:00 +0000",
        ),
        (
            "cur/2.a:2,S",
            "\"Lena Fischer\" <lena@x.org>",
            "Tue, 17 Nov 2026 05:00:00 +0000",
        ),
        ("cur/3.a:2,S", "nobody@x.org", "Wed, 18 Nov 2026 05:00:00 +0000"),
        (
            "new/4.a",
            "IT Service <it@x.org>",
            "Thu, 19 Nov 2026 05:00:00 +0000",
        ),
        (".Sent/cur/5.a:2,S", "Me Myself <me@x.org>", DATE),
        (".Junk/cur/6.a:2,", "Prize Office <win@x.org>", DATE),
    ] {
        deliver(home.path(), file, from, "Hello", date, "x");
    }
    let dirs = ctx(home.path()).dirs;
    let none: [&str; 0] = [];
    assert_eq!(writers(&dirs, 9).unwrap(), none, "nothing is read for this");
    assert!(!dirs.state.join("mail.db").exists());
    Index::open(&dirs, Depth::Headers, PATIENCE).unwrap();
    assert_eq!(writers(&dirs, 9).unwrap(), ["IT Service", "Lena Fischer"]);
    assert_eq!(writers(&dirs, 1).unwrap(), ["IT Service"]);
}
