//! `tiro status`: how the daemon is.

use std::{process::ExitCode, time::Duration};

use anyhow::Context as _;

use super::{app::App, say};
use crate::{
    bus::{self, Tiro1Proxy},
    status::Status,
};

/// Prints the state. Without a daemon that is an answer too, so it exits 0.
pub async fn run(app: &App, json: bool) -> anyhow::Result<ExitCode> {
    let status = match bus::client(&app.paths.socket()?).await? {
        None => Status::off(),
        Some(connection) => {
            let proxy = Tiro1Proxy::new(&connection).await?;
            let text = tokio::time::timeout(Duration::from_secs(5), proxy.status())
                .await
                .context("the daemon does not answer")??;
            serde_json::from_str(&text)
                .context("the daemon's answer cannot be read; are both of one version?")?
        }
    };
    match json {
        true => say(&serde_json::to_string(&status)?)?,
        false => say(&status.lines())?,
    }
    Ok(ExitCode::SUCCESS)
}
