//! Where things are: the workspace, what cargo builds, the weights.

use std::{
    env,
    path::{Path, PathBuf},
};

use anyhow::{Context, Result};

/// The workspace. Cargo says where it is when it runs this program; where it was compiled is another place once the clone was
/// moved or its target folder copied, and cargo need not build it again for that.
pub fn root() -> PathBuf {
    let compiled = || PathBuf::from(env!("CARGO_MANIFEST_DIR"));
    let manifest = env::var_os("CARGO_MANIFEST_DIR").map_or_else(compiled, PathBuf::from);
    manifest.parent().map_or_else(|| manifest.clone(), Path::to_owned)
}

/// Cargo's target folder, whatever set it: this program lies in `TARGET/debug/`.
pub fn target() -> Result<PathBuf> {
    let me = env::current_exe().context("finding the target folder")?;
    let target = me.ancestors().nth(2).context("finding the target folder")?;
    Ok(target.to_owned())
}

/// Where the engines and `tiro` lie after a release build.
pub fn release() -> Result<PathBuf> {
    Ok(target()?.join("release"))
}

/// The evaluation data, where it is.
pub fn data() -> Option<PathBuf> {
    let data = env::var_os("TIRO_DATA").map_or_else(|| root().join("../shared/data"), PathBuf::from);
    data.is_dir().then_some(data)
}

/// Python programs that the tests run against, in a place of their own.
pub fn python() -> Result<PathBuf> {
    match env::var_os("TIRO_TEST_PYTHON") {
        Some(folder) => Ok(std::path::absolute(folder)?),
        None => Ok(target()?.join("test-python")),
    }
}

/// The folder of the weights, shared by the demo, the tests and the person's own use, so that nothing is fetched twice.
pub fn models() -> Result<PathBuf> {
    if let Some(folder) = env::var_os("TIRO_MODELS") {
        return Ok(std::path::absolute(folder)?);
    }
    let (cache, own) = if cfg!(target_os = "macos") {
        ("Library/Caches", "Tiro")
    } else {
        (".cache", "tiro")
    };
    let cache = match env::var_os("XDG_CACHE_HOME").filter(|p| Path::new(p).is_absolute()) {
        Some(folder) if cfg!(target_os = "linux") => PathBuf::from(folder),
        _ => env::home_dir()
            .context("there is no home folder; set TIRO_MODELS")?
            .join(cache),
    };
    Ok(cache.join(own).join("models"))
}
