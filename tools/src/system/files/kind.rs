//! What a file is, by its name: its kind as people say it, and whether opening it would run it.

use std::path::Path;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Kinds of files as people tell them apart.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
#[expect(
    missing_docs,
    reason = "the names are the kinds; a doc comment would change the schema's shape"
)]
pub enum Kind {
    Document,
    Pdf,
    Spreadsheet,
    Presentation,
    Picture,
    Music,
    Video,
    Archive,
    Folder,
    Other,
}

use Kind::{Archive, Document, Folder, Music, Other, Pdf, Picture, Presentation, Spreadsheet, Video};

/// Endings of names, by kind.
const ENDINGS: [(Kind, &[&str]); 8] = [
    (Pdf, &["pdf"]),
    (
        Spreadsheet,
        &["ods", "xls", "xlsx", "xlsm", "csv", "tsv", "numbers", "gnumeric"],
    ),
    (Presentation, &["odp", "ppt", "pptx", "key-note", "keynote"]),
    (
        Document,
        &[
            "txt", "text", "md", "markdown", "odt", "doc", "docx", "rtf", "pages", "tex", "org", "rst",
            "epub", "html", "htm", "log", "xml", "json", "yaml", "yml", "toml", "ini", "ics", "vcf", "eml",
        ],
    ),
    (
        Picture,
        &[
            "jpg", "jpeg", "png", "gif", "webp", "heic", "heif", "avif", "bmp", "tif", "tiff", "svg", "raw",
            "cr2", "nef", "dng", "xcf", "psd",
        ],
    ),
    (
        Music,
        &[
            "mp3", "flac", "ogg", "oga", "opus", "m4a", "aac", "wav", "wma", "aiff", "mid",
        ],
    ),
    (
        Video,
        &[
            "mp4", "mkv", "webm", "avi", "mov", "m4v", "wmv", "mpg", "mpeg", "ogv", "flv",
        ],
    ),
    (
        Archive,
        &[
            "zip", "tar", "gz", "tgz", "xz", "bz2", "zst", "7z", "rar", "iso", "deb", "rpm",
        ],
    ),
];

/// Words for kinds, as they stand in what was said.
const WORDS: [(Kind, &[&str]); 9] = [
    (Pdf, &["pdf", "pdfs"]),
    (
        Spreadsheet,
        &["spreadsheet", "spreadsheets", "excel", "table", "csv"],
    ),
    (
        Presentation,
        &["presentation", "presentations", "slides", "powerpoint"],
    ),
    (Document, &["document", "documents", "doc", "docs", "text"]),
    (
        Picture,
        &["picture", "pictures", "photo", "photos", "image", "images", "pic"],
    ),
    (Music, &["song", "songs", "music", "recording", "track"]),
    (
        Video,
        &["video", "videos", "movie", "movies", "film", "films", "clip"],
    ),
    (Archive, &["archive", "zip", "download"]),
    (Folder, &["folder", "folders", "directory", "directories"]),
];

/// Endings of files that do something when they are opened.
const PROGRAMS: [&str; 20] = [
    "desktop", "sh", "bash", "zsh", "fish", "run", "bin", "appimage", "exe", "msi", "bat", "cmd", "com",
    "scr", "ps1", "vbs", "jar", "command", "app", "workflow",
];

impl Kind {
    /// By the name.
    pub fn of(path: &Path) -> Kind {
        let ending = ending(path);
        let known = ENDINGS
            .iter()
            .find(|(_, endings)| endings.contains(&ending.as_str()));
        known.map_or(Other, |(kind, _)| *kind)
    }

    /// As data.
    pub fn word(self) -> &'static str {
        match self {
            Document => "document",
            Pdf => "pdf",
            Spreadsheet => "spreadsheet",
            Presentation => "presentation",
            Picture => "picture",
            Music => "music",
            Video => "video",
            Archive => "archive",
            Folder => "folder",
            Other => "other",
        }
    }

    /// As several of them are called.
    pub fn words(self) -> &'static str {
        match self {
            Document => "documents",
            Pdf => "PDFs",
            Spreadsheet => "spreadsheets",
            Presentation => "presentations",
            Picture => "pictures",
            Music => "music files",
            Video => "videos",
            Archive => "archives",
            Folder => "folders",
            Other => "files",
        }
    }

    /// Whether who asks for this kind also means that one: a PDF and a spreadsheet are documents, too.
    pub fn takes(self, other: Kind) -> bool {
        self == other || (self == Document && matches!(other, Pdf | Spreadsheet | Presentation))
    }

    /// The kind that a word says.
    pub fn said(word: &str) -> Option<Kind> {
        let known = WORDS.iter().find(|(_, words)| words.contains(&word));
        known.map(|(kind, _)| *kind)
    }
}

/// Whether opening a file would run it.
pub fn is_program(path: &Path, head: &[u8]) -> bool {
    PROGRAMS.contains(&ending(path).as_str())
        || head.starts_with(b"#!")
        || head.starts_with(b"\x7fELF")
        || head.starts_with(b"MZ")
        || head.starts_with(b"[Desktop Entry]")
}

/// What stands behind the last dot, in small letters.
pub fn ending(path: &Path) -> String {
    path.extension()
        .map(|e| e.to_string_lossy().to_lowercase())
        .unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn kinds_are_told_by_names() {
        for (name, kind) in [
            ("a/Report.PDF", Pdf),
            ("budget.csv", Spreadsheet),
            ("letter.odt", Document),
            ("holiday.JPG", Picture),
            ("song.flac", Music),
            ("film.mkv", Video),
            ("backup.tar.gz", Archive),
            ("README", Other),
        ] {
            assert_eq!(Kind::of(Path::new(name)), kind, "{name}");
        }
        assert!(Document.takes(Pdf) && !Pdf.takes(Document) && !Picture.takes(Video));
        assert_eq!(Kind::said("photos"), Some(Picture));
        assert_eq!(Kind::said("garden"), None);
    }

    #[test]
    fn programs_are_told_by_name_and_content() {
        for (name, head) in [
            ("x.desktop", &b""[..]),
            ("x.sh", b""),
            ("notes.txt", b"#!/bin/sh\n"),
            ("photo.jpg", b"\x7fELF\x02"),
            ("photo.jpg", b"MZ\x90"),
        ] {
            assert!(is_program(Path::new(name), head), "{name}");
        }
        assert!(!is_program(Path::new("photo.jpg"), b"\xff\xd8\xff"));
    }
}
