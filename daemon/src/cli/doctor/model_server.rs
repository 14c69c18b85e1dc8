//! The server that a model is on: whether it answers and has that model, and what it is told.

use std::time::Duration;

use models::llm::Llm as _;

use super::report::Section;
use crate::{config::Config, far};

/// Longest time for it to list its models.
const SERVER_TIME: Duration = Duration::from_secs(10);

/// Whether it answers.
pub async fn examine(section: &mut Section, config: &Config) {
    let server = match far::server(config) {
        Ok(server) => server,
        Err(error) => {
            return section.fail(
                "llm",
                format!("{error:#}."),
                "Complete [llm.server] in the config.",
            );
        }
    };
    let origin = server.server().unwrap_or_default().to_owned();
    let listed = tokio::time::timeout(SERVER_TIME, server.models()).await;
    let wanted = &*config.llm.server.model;
    match listed {
        Ok(Ok(models)) => match models.iter().find(|model| wanted.is_empty() || *model == wanted) {
            Some(model) => section.ok("llm", format!("The server {origin} answers and has {model}.")),
            None if models.is_empty() => {
                section.fail(
                    "llm",
                    format!("The server {origin} has no model."),
                    "Load one there.",
                );
            }
            None => {
                let few: Vec<&str> = models.iter().map(String::as_str).take(5).collect();
                section.fail(
                    "llm",
                    format!(
                        "The server {origin} has no model {wanted}. It has: {}.",
                        few.join(", ")
                    ),
                    "Correct llm.server.model.",
                );
            }
        },
        Ok(Err(error)) => {
            let says = sentence(&error.to_string());
            section.fail(
                "llm",
                says,
                "Start the server, or correct [llm.server] in the config.",
            );
        }
        Err(_) => section.fail(
            "llm",
            format!(
                "The server {origin} does not answer within {} s.",
                SERVER_TIME.as_secs()
            ),
            "Start the server, or correct llm.server.url.",
        ),
    }
}

/// Who hears what is said.
pub fn privacy(section: &mut Section, config: &Config) {
    let url = match config.llm.server.url.as_str() {
        "" => "nobody yet, since llm.server.url is empty",
        url => url,
    };
    section.info(
        "server",
        format!(
            "What you say, and what tools find for it (events, mail, notes), is told to {url}, where the model runs. \
             Your voice is not."
        ),
    );
}

/// An error of the client as a sentence of its own.
fn sentence(error: &str) -> String {
    let mut letters = error.chars();
    let first = letters.next().map(|c| c.to_uppercase().to_string());
    format!("{}{}.", first.unwrap_or_default(), letters.as_str())
}
