//! `web.open_url`: a web page in the person's browser.

use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::json;

use crate::{
    contract::{Ctx, Effect, Output, Tool, ToolError},
    system::{opener, plain, web},
};

/// Opens web pages.
pub struct This;

/// Which.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Args {
    /// Web address, as said or written
    url: String,
}

impl Tool for This {
    type Args = Args;
    const NAME: &'static str = "web.open_url";
    const SUMMARY: &'static str = "Open a web page by its address in the browser";
    /// As with a program that is opened: the person sees it and can close it. It asks nobody where the person said the
    /// address; once somebody else's text was read every write asks, and names the address (`daemon/src/consent.rs`).
    const EFFECT: Effect = Effect::Write;
    const WORDED: &'static [&'static str] = &["url"];
    const EXAMPLES: &'static [&'static str] = &[
        "open wikipedia dot org",
        "go to www.example.com",
        "open the web site bbc dot co dot uk",
        "browse to example.org/news",
        "visit rust-lang dot org",
        "open the page https://example.org/help",
        "take me to archive dot org",
        "load the website weather dot gov",
    ];
    const CALLS: &'static [(&'static str, &'static str)] =
        &[("take me to archive dot org", r#"{"url": "archive dot org"}"#)];
    const USE_WHEN: &'static str =
        "For an address that was said; web.search looks for words, system.open_app starts programs.";

    fn preview(args: &Args, _ctx: &Ctx) -> Result<String, ToolError> {
        let address = web::address(&args.url)?;
        Ok(format!(
            "Open {} ({}).",
            address.host,
            plain::one_line(&address.url, 200)
        ))
    }

    async fn run(args: Args, ctx: &Ctx) -> Result<Output, ToolError> {
        let address = web::address(&args.url)?;
        opener::open(ctx, &address.url, "The browser").await?;
        ctx.step.beyond();
        Ok(Output::new(
            format!("I opened {}.", address.host),
            json!({"opened": address.url, "host": address.host}),
        ))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        catalog::files_open::tests::opener,
        testing::{ctx, run, said, told},
    };

    #[tokio::test(flavor = "multi_thread")]
    async fn an_address_goes_to_the_browser_as_it_was_shown() {
        let home = tempfile::tempdir().unwrap();
        let mut ctx = ctx(home.path());
        let refused = told(run("web.open_url", json!({"url": "file:///etc/passwd"}), &ctx).await);
        assert!(refused.contains("no file addresses"), "{refused}");
        let absent = told(run("web.open_url", json!({"url": "example.org"}), &ctx).await);
        assert!(absent.contains("The browser did not start"), "{absent}");
        let opened = opener(&mut ctx, home.path());
        let said = said(run("web.open_url", json!({"url": "example dot org slash a;b"}), &ctx).await);
        assert_eq!(said, "I opened example.org.");
        assert_eq!(opened(), "https://example.org/a;b");
        let entry = crate::find("web.open_url").unwrap();
        assert_eq!(
            entry.preview(json!({"url": "example.org/x"}), &ctx).unwrap(),
            "Open example.org (https://example.org/x)."
        );
        assert!(
            ctx.step
                .journal()
                .undo(None)
                .unwrap_err()
                .to_string()
                .contains("nothing that I can undo")
        );
    }
}
