//! The person's own music on a player that is open: one piece is given to it as it is, several as a list (M3U, in UTF-8),
//! which every player reads that reads files, while few let their list of tracks be changed.

use std::path::PathBuf;

use super::MAX_PLAYED;
use crate::{
    contract::{Ctx, ToolError},
    system::{
        desktop::players::{Player, Players},
        opener, store,
    },
};

/// The file of the list; the next one takes its place.
const LIST: &str = "playing.m3u8";

/// Plays pieces on this player in place of what it has, and pauses the others.
///
/// # Errors
/// `Tell` when it takes no files, and what it says.
pub async fn play_on(
    ctx: &Ctx,
    players: &Players,
    player: &Player,
    pieces: &[PathBuf],
) -> Result<(), ToolError> {
    if !player.opens {
        return Err(ToolError::tell(format!(
            "{} takes no files from me, so I cannot play your own music on it.",
            player.name
        )));
    }
    let address = match pieces {
        [one] => opener::uri(one),
        several => {
            let text = list(several);
            let write = move |ctx: &Ctx| {
                let path = ctx.dirs.cache.join(LIST);
                std::fs::create_dir_all(&ctx.dirs.cache)
                    .map_err(|e| ToolError::broken("make a list of that music", e))?;
                store::replace(&path, text.as_bytes()).map_err(|e| e.tool("make a list of that music"))?;
                Ok(opener::uri(&path))
            };
            ctx.blocking("make a list of that music", write).await?
        }
    };
    players.hush_others(player).await;
    players.open(player, &address).await
}

/// As addresses: what a file is called can be no comment of the list and no line of its own.
fn list(pieces: &[PathBuf]) -> String {
    let lines = pieces.iter().take(MAX_PLAYED).map(|piece| opener::uri(piece));
    std::iter::once("#EXTM3U".to_owned())
        .chain(lines)
        .map(|line| line + "\n")
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_name_of_a_file_leaves_its_line() {
        let pieces = ["/music/a b.ogg", "/music/x\n#EXT\nfile:///etc/passwd.ogg"].map(PathBuf::from);
        assert_eq!(
            list(&pieces),
            "#EXTM3U\nfile:///music/a%20b.ogg\nfile:///music/x%0A%23EXT%0Afile%3A///etc/passwd.ogg\n"
        );
    }
}
