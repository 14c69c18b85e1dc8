//! The language model on another machine: which server, with which key, and whether what is said may go there.

use std::sync::Arc;

use anyhow::ensure;
use async_trait::async_trait;
use models::server::{Keys, ModelServer, ServerConfig};
use tools::system::dav::{Account, is_near};

use crate::{
    config::{Backend, Config, FilePath},
    secret,
};

/// The account by which the Secret Service knows the key.
const ACCOUNT: &str = "llm";

/// Whether the model is on a server.
pub fn is_chosen(config: &Config) -> bool {
    config.llm.backend == Backend::Server
}

/// The configured server. Nothing is asked yet.
///
/// # Errors
/// What the config lacks, or why nothing may be sent there.
pub fn server(config: &Config) -> anyhow::Result<ModelServer> {
    let server = &config.llm.server;
    ensure!(
        !server.url.as_str().is_empty(),
        "llm.backend is \"server\" and llm.server.url is empty: write the server's address there, such as \
         \"http://192.168.1.20:8080\""
    );
    let (origin, path) = Account::place(server.url.as_str()).map_err(anyhow::Error::msg)?;
    ensure!(
        origin.starts_with("https://") || server.allow_http || is_near(&origin),
        "{origin} is not on this machine or network, and everybody on the way there could read what you say. \
         Use https:// in llm.server.url, or set llm.server.allow_http = true if the way is safe"
    );
    let ways = [
        !server.key_command.is_empty(),
        server.key_file.path().is_some(),
        server.keyring,
    ];
    ensure!(
        ways.iter().filter(|way| **way).count() <= 1,
        "[llm.server] may have one of key_command, key_file and keyring"
    );
    ensure!(
        !server.timeout.get().is_zero(),
        "llm.server.timeout is 0s, so no server could answer in time"
    );
    let keys = Kept {
        command: server.key_command.clone(),
        file: server.key_file.clone(),
        keyring: server.keyring,
    };
    let config = ServerConfig {
        origin,
        path,
        model: server.model.clone(),
        context: config.llm.context,
        silence: server.timeout.get(),
        architecture: prompts::dialect::MESSAGES.to_owned(),
    };
    Ok(ModelServer::new(config, Arc::new(keys)))
}

/// Where the config says that the key is.
struct Kept {
    command: String,
    file: FilePath,
    keyring: bool,
}

#[async_trait]
impl Keys for Kept {
    async fn key(&self) -> Result<Option<String>, String> {
        let account = self.keyring.then_some(ACCOUNT);
        let key = secret::key(&self.command, &self.file, account).await;
        key.map_err(|error| format!("{error:#}"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::PermissionsExt as _;

    fn configured(server: &str) -> Config {
        toml::from_str(&format!("[llm]\nbackend = \"server\"\n[llm.server]\n{server}")).unwrap()
    }

    #[test]
    fn a_server_is_off_until_it_is_chosen_and_complete() {
        #[track_caller]
        fn check(server: &str, expect: Result<(), &str>) {
            match (super::server(&configured(server)), expect) {
                (Ok(_), Ok(())) => {}
                (Err(error), Err(part)) => assert!(format!("{error:#}").contains(part), "{error:#}"),
                (got, expect) => panic!("{server}: {:?} instead of {expect:?}", got.map(|_| ())),
            }
        }
        assert!(!is_chosen(&Config::default()));
        assert!(is_chosen(&configured("")));
        check("", Err("llm.server.url is empty"));
        for near in [
            "http://localhost:8080",
            "http://192.168.1.20:8080/v1",
            "http://tower",
            "http://[::1]:1",
        ] {
            check(&format!("url = \"{near}\""), Ok(()));
        }
        check("url = \"https://llm.example.org/v1\"", Ok(()));
        check("url = \"http://llm.example.org\"", Err("could read what you say"));
        check("url = \"http://llm.example.org\"\nallow_http = true", Ok(()));
        check(
            "url = \"http://tower\"\nkey_command = \"x\"\nkeyring = true",
            Err("one of key_command, key_file and keyring"),
        );
        check("url = \"http://tower\"\ntimeout = \"0s\"", Err("0s"));
    }

    #[tokio::test]
    async fn keys_come_from_where_the_config_says() {
        let kept = |command: &str, file: FilePath| Kept {
            command: command.into(),
            file,
            keyring: false,
        };
        assert_eq!(kept("", FilePath::default()).key().await, Ok(None));
        assert_eq!(
            kept("printf abc", FilePath::default()).key().await,
            Ok(Some("abc".into()))
        );
        let error = kept("false", FilePath::default()).key().await.unwrap_err();
        assert!(error.contains("llm.server.key_command did not work"), "{error}");
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("key");
        std::fs::write(&path, "from a file\n").unwrap();
        let file: FilePath = path.to_str().unwrap().parse().unwrap();
        std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o644)).unwrap();
        let error = kept("", file.clone()).key().await.unwrap_err();
        assert!(error.contains("can be read by others"), "{error}");
        std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o600)).unwrap();
        assert_eq!(kept("", file).key().await, Ok(Some("from a file".into())));
    }
}
