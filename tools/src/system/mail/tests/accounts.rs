//! Two accounts: which of them answers, which one sends, and how the person says so.

use std::path::PathBuf;

use serde_json::{Value, json};

use super::*;
use crate::{
    system::mail::outbox::Outbox,
    testing::{cards, run, said, told},
};

/// "home", which sends where nobody says which, and "office" with a Maildir of its own.
fn two(home: &Path) -> crate::Ctx {
    let mut ctx = ctx(home);
    cards(&ctx);
    let account = |name: &str, address: &str, maildir: PathBuf| crate::MailAccount {
        name: name.to_owned(),
        address: address.to_owned(),
        sender: "Me".to_owned(),
        maildir,
        sends: true,
    };
    ctx.mail.accounts = vec![
        account("home", "me@example.org", ctx.dirs.mail.clone()),
        account("office", "me@acme.example", ctx.dirs.mail.join("accounts/office")),
    ];
    for (file, from, subject, to) in [
        (
            "new/1.a",
            "Anna Bell <anna@example.org>",
            "Lunch",
            "me@example.org",
        ),
        (
            "accounts/office/new/2.a",
            "Bob Stone <bob@acme.example>",
            "Invoice",
            "me@acme.example",
        ),
        // One that was addressed to the other account and came to this one, and one to both.
        (
            "accounts/office/cur/3.a:2,S",
            "Carl Zeiss <carl@acme.example>",
            "Lenses",
            "me@example.org",
        ),
        (
            "accounts/office/cur/4.a:2,S",
            "Dora Maar <dora@acme.example>",
            "Photos",
            "me@example.org, me@acme.example",
        ),
        // The other way round.
        (
            "cur/5.a:2,S",
            "Eve Online <eve@acme.example>",
            "Game",
            "me@acme.example",
        ),
    ] {
        deliver(home, file, from, &format!("{subject}\nTo: {to}"), DATE, "walrus");
    }
    ctx
}

/// The account and the address that the last mail in the outbox is from, and the sender in the mail itself.
fn last(ctx: &crate::Ctx) -> (String, String, String) {
    let outbox = Outbox::at(&ctx.dirs.state);
    let ticket = outbox.entries().unwrap().pop().unwrap().ticket;
    let letter = Letter::read(&outbox.message(&ticket.id).unwrap(), i64::MAX / 2).unwrap();
    outbox.discard(&ticket.id).unwrap();
    (ticket.account, ticket.from, letter.head.from.address)
}

#[tokio::test]
async fn each_mail_goes_from_the_account_that_it_belongs_to() {
    let home = tempfile::tempdir().unwrap();
    let ctx = two(home.path());
    for (tool, args, account) in [
        ("mail.reply", json!({"from": "anna", "text": "yes"}), "home"),
        ("mail.reply", json!({"from": "bob", "text": "yes"}), "office"),
        ("mail.reply", json!({"from": "carl", "text": "yes"}), "office"),
        ("mail.reply", json!({"from": "dora", "text": "yes"}), "office"),
        ("mail.reply", json!({"from": "eve", "text": "yes"}), "home"),
        ("mail.forward", json!({"from": "bob", "to": ["anna"]}), "office"),
        ("mail.forward", json!({"from": "anna", "to": ["anna"]}), "home"),
        ("mail.send", json!({"to": ["anna"], "text": "hi"}), "home"),
        (
            "mail.send",
            json!({"to": ["anna"], "text": "hi", "account": "office"}),
            "office",
        ),
        (
            "mail.send",
            json!({"to": ["anna"], "text": "hi", "account": "my office account"}),
            "office",
        ),
        (
            "mail.send",
            json!({"to": ["anna"], "text": "hi", "account": "me@acme.example"}),
            "office",
        ),
        (
            "mail.send",
            json!({"to": ["anna"], "text": "hi", "account": "Home"}),
            "home",
        ),
    ] {
        // The question says which, and so it was.
        let asked = crate::find(tool).unwrap().preview(args.clone(), &ctx).unwrap();
        assert!(
            asked.contains(&format!(" from your account {account}")),
            "{args}: {asked}"
        );
        said(run(tool, args.clone(), &ctx).await);
        let address = match account {
            "home" => "me@example.org",
            _ => "me@acme.example",
        };
        assert_eq!(
            last(&ctx),
            (account.to_owned(), address.to_owned(), address.to_owned()),
            "{tool} {args}"
        );
    }
    assert_eq!(
        told(
            run(
                "mail.send",
                json!({"to": ["anna"], "text": "hi", "account": "moon"}),
                &ctx
            )
            .await
        ),
        "There is no mail account called \"moon\". There is home and office."
    );
}

#[tokio::test]
async fn an_account_is_named_when_mail_is_looked_for_and_kept_apart_when_it_is_written() {
    let home = tempfile::tempdir().unwrap();
    let mut ctx = two(home.path());
    // The newest are said, and all of them are in the data.
    let ask = async |tool: &str, args: Value| {
        let output = run(tool, args, &ctx).await.unwrap();
        format!("{} {}", output.say, output.data)
    };
    let all = ask("mail.search", json!({"words": "walrus"})).await;
    assert!(
        ["Anna", "Bob", "Carl", "Dora", "Eve"]
            .iter()
            .all(|name| all.contains(name)),
        "{}",
        all
    );
    let office = ask("mail.search", json!({"words": "walrus", "folder": "office"})).await;
    assert!(
        ["Bob", "Carl", "Dora"].iter().all(|name| office.contains(name)),
        "{}",
        office
    );
    assert!(!office.contains("Anna") && !office.contains("Eve"), "{}", office);
    let count = ask("mail.unread_count", json!({"folder": "office"})).await;
    assert!(count.contains("one unread"), "{}", count);
    let args = json!({"to": ["anna"], "text": "hi", "account": "office"});
    ask("mail.draft", args).await;
    let drafts = ctx.dirs.mail.join("accounts/office/.Drafts/cur");
    assert_eq!(fs::read_dir(drafts).unwrap().count(), 1);
    assert!(!ctx.dirs.mail.join(".Drafts").exists());
    // One that cannot send is answered from the other, and the question says so.
    ctx.mail.accounts[1].sends = false;
    let args = json!({"from": "bob", "text": "yes"});
    let asked = crate::find("mail.reply").unwrap().preview(args, &ctx).unwrap();
    assert!(asked.contains(" from your account home"), "{asked}");
    let args = json!({"to": ["anna"], "text": "hi", "account": "office"});
    assert_eq!(
        told(run("mail.send", args, &ctx).await),
        "The mail account office has no server for sending. Add smtp to it in the config."
    );
}
