//! Makes every file of `src/catalog/` a module and an entry, so that adding a file is all that adding a tool takes.

use std::{env, fmt::Write as _, fs, path::Path};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let folder = Path::new(&env::var("CARGO_MANIFEST_DIR")?).join("src/catalog");
    println!("cargo::rerun-if-changed={}", folder.display());
    let mut files = Vec::new();
    for entry in fs::read_dir(&folder)? {
        let path = entry?.path();
        if path.extension().is_some_and(|e| e == "rs") {
            files.push(path);
        }
    }
    files.sort();
    let mut code = String::new();
    let mut all = String::new();
    for path in &files {
        let stem = path
            .file_stem()
            .and_then(|s| s.to_str())
            .ok_or("a file name that is not UTF-8")?;
        writeln!(code, "#[path = {path:?}]\npub mod {stem};")?;
        write!(all, "Entry::of::<{stem}::This>(), ")?;
    }
    writeln!(
        code,
        "/// Every tool, sorted by file name.\npub static ALL: &[Entry] = &[{all}];"
    )?;
    fs::write(Path::new(&env::var("OUT_DIR")?).join("catalog.rs"), code)?;
    Ok(())
}
