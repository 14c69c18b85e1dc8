//! `web.search`: a search in the person's browser, with the service that they chose.

use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::json;

use crate::{
    contract::{Ctx, Effect, Output, Tool, ToolError},
    system::{opener, plain, web},
};

/// Searches the web.
pub struct This;

/// What for.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Args {
    /// Words to search for
    words: String,
}

impl Tool for This {
    type Args = Args;
    const NAME: &'static str = "web.search";
    const SUMMARY: &'static str = "Search the web, internet or online for words, in the browser";
    /// As `web.open_url`.
    const EFFECT: Effect = Effect::Write;
    const EXAMPLES: &'static [&'static str] = &[
        "search the web for apple cake recipes",
        "google the opening hours of the zoo",
        "look up train strikes on the internet",
        "search online for a plumber near me",
        "find information about solar panels on the web",
        "web search cheap flights to lisbon",
        "look it up online",
        "search for the news about the election",
        "duckduckgo rust async traits",
    ];
    const CALLS: &'static [(&'static str, &'static str)] = &[
        (
            "google the opening hours of the zoo",
            r#"{"words": "opening hours of the zoo"}"#,
        ),
        (
            "look up train strikes on the internet",
            r#"{"words": "train strikes"}"#,
        ),
    ];
    const USE_WHEN: &'static str =
        "For what is on the web; files.search and mail.search look in your own things.";
    const LIMITS: &'static str = "Shows the results in the browser and does not read them.";

    fn preview(args: &Args, ctx: &Ctx) -> Result<String, ToolError> {
        let address = web::search(&ctx.reach.search_url, &args.words)?;
        Ok(format!(
            "Search {} for {}.",
            address.host,
            plain::one_line(&args.words, 200)
        ))
    }

    async fn run(args: Args, ctx: &Ctx) -> Result<Output, ToolError> {
        let address = web::search(&ctx.reach.search_url, &args.words)?;
        opener::open(ctx, &address.url, "The browser").await?;
        ctx.step.beyond();
        Ok(Output::new(
            format!("I searched the web for {}.", plain::one_line(&args.words, 80)),
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
    async fn words_are_searched_where_the_person_wants() {
        let home = tempfile::tempdir().unwrap();
        let mut ctx = ctx(home.path());
        let empty = told(run("web.search", json!({"words": " "}), &ctx).await);
        assert_eq!(empty, "What shall I search the web for?");
        let opened = opener(&mut ctx, home.path());
        ctx.reach.search_url = "https://find.example/s?q={}".to_owned();
        let said = said(run("web.search", json!({"words": "apple cake & tea"}), &ctx).await);
        assert_eq!(said, "I searched the web for apple cake & tea.");
        assert_eq!(opened(), "https://find.example/s?q=apple%20cake%20%26%20tea");
        let entry = crate::find("web.search").unwrap();
        assert_eq!(
            entry.preview(json!({"words": "apple cake"}), &ctx).unwrap(),
            "Search find.example for apple cake."
        );
        ctx.reach.search_url = "file:///{}".to_owned();
        assert!(told(run("web.search", json!({"words": "x"}), &ctx).await).contains("web.search_url"));
    }
}
