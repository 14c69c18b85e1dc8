//! `files.read`: the text of one file.

use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::json;

use crate::{
    contract::{Ctx, Effect, Output, Tool, ToolError},
    system::{
        files::{find, text},
        known::Kind,
        plain, speech,
    },
};

/// Most bytes that are read of one file.
const MAX_BYTES: u64 = 1 << 20;
/// Most characters that are given as data, and that are spoken.
const MAX_DATA: usize = 6000;
const MAX_SPOKEN: usize = 700;

/// Reads files.
pub struct This;

/// Which one.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Args {
    /// Name or path of the file
    file: String,
    /// Part of a long text, from 1
    part: Option<usize>,
}

impl Tool for This {
    type Args = Args;
    const NAME: &'static str = "files.read";
    const SUMMARY: &'static str = "Read aloud the text of a file: document, PDF, Markdown";
    const EFFECT: Effect = Effect::Read;
    const UNTRUSTED: bool = true;
    const TIMEOUT: std::time::Duration = std::time::Duration::from_secs(20);
    const NAMED: &'static [(&'static str, Kind)] = &[("file", Kind::File)];
    const EXAMPLES: &'static [&'static str] = &[
        "read me the report",
        "what does the rental contract say",
        "read the file itinerary dot txt",
        "what is in the pdf about the heating",
        "read out the readme in my project folder",
        "tell me what my travel plan says",
        "read the next part of the report",
        "summarize the document called minutes",
    ];
    const CALLS: &'static [(&'static str, &'static str)] = &[
        ("what is in the pdf about the heating", r#"{"file": "heating"}"#),
        ("read part two of the report", r#"{"file": "report", "part": 2}"#),
    ];
    const USE_WHEN: &'static str =
        "For what a file says; files.open shows it on the screen, notes.read is for notes.";
    const LIMITS: &'static str = "Reads text, Markdown and PDFs, no pictures and no office formats.";

    async fn run(args: Args, ctx: &Ctx) -> Result<Output, ToolError> {
        ctx.blocking("read that file", move |ctx| {
            let item = find::meant(&ctx.dirs, &args.file, find::Want::File)?;
            let name = plain::one_line(&item.name, 80);
            let read = text::read(&item, MAX_BYTES, &ctx.reach).map_err(|e| e.tool(&item))?;
            let text = read.text.trim();
            if text.is_empty() {
                return Ok(Output::new(format!("{name} is empty."), json!({"file": item.label(), "text": ""})));
            }
            let length = text.chars().count();
            let parts = length.div_ceil(MAX_DATA);
            let part = args.part.unwrap_or(1).max(1);
            if part > parts {
                return Err(ToolError::tell(format!("{name} has only {}.", speech::count(parts, "part", "parts"))));
            }
            let shown: String = text.chars().skip((part - 1) * MAX_DATA).take(MAX_DATA).collect();
            let mut say = plain::one_line(&shown, MAX_SPOKEN);
            if part < parts || read.clipped || shown.chars().count() > MAX_SPOKEN {
                say.push_str(&format!(" There is more in {name}."));
            }
            let data = json!({"file": item.label(), "part": part, "parts": parts, "complete": parts == 1 && !read.clipped, "text": shown});
            Ok(Output::new(say, data))
        })
        .await
    }
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;
    use crate::testing::{ctx, run, said, told};

    /// A PDF with one page that shows a line.
    pub fn pdf(line: &str) -> Vec<u8> {
        let stream = format!("BT /F1 24 Tf 72 700 Td ({line}) Tj ET");
        let objects = [
            "<< /Type /Catalog /Pages 2 0 R >>".to_owned(),
            "<< /Type /Pages /Kids [3 0 R] /Count 1 >>".to_owned(),
            "<< /Type /Page /Parent 2 0 R /MediaBox [0 0 612 792] /Contents 4 0 R /Resources << /Font << /F1 5 0 R >> >> >>".to_owned(),
            format!("<< /Length {} >>\nstream\n{stream}\nendstream", stream.len()),
            "<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica /Encoding /WinAnsiEncoding >>".to_owned(),
        ];
        let mut file = "%PDF-1.4\n".to_owned();
        let mut places = Vec::new();
        for (number, object) in objects.iter().enumerate() {
            places.push(file.len());
            file.push_str(&format!("{} 0 obj\n{object}\nendobj\n", number + 1));
        }
        let start = file.len();
        file.push_str(&format!("xref\n0 {}\n0000000000 65535 f \n", objects.len() + 1));
        for place in places {
            file.push_str(&format!("{place:010} 00000 n \n"));
        }
        file.push_str(&format!(
            "trailer\n<< /Size {} /Root 1 0 R >>\nstartxref\n{start}\n%%EOF\n",
            objects.len() + 1
        ));
        file.into_bytes()
    }

    #[tokio::test]
    async fn texts_are_read_in_whatever_encoding() {
        let home = tempfile::tempdir().unwrap();
        let ctx = ctx(home.path());
        let root = home.path().join("files");
        fs::create_dir_all(root.join("Hamburg")).unwrap();
        fs::write(root.join("report.txt"), "Project report\n\nOn time.\n").unwrap();
        fs::write(root.join("old.txt"), b"Gr\xfc\xdfe").unwrap();
        fs::write(root.join("wide.txt"), b"\xff\xfeH\0i\0").unwrap();
        fs::write(root.join("empty.txt"), " \n").unwrap();
        fs::write(root.join("Hamburg/plan.pdf"), pdf("Platform seven")).unwrap();
        fs::write(root.join("Hamburg/itinerary.txt"), "08:04 departure").unwrap();
        fs::write(root.join("itinerary.txt"), "Elsewhere").unwrap();
        fs::write(root.join("long.md"), "word ".repeat(3000)).unwrap();
        let ask = async |file: &str| said(run("files.read", json!({"file": file}), &ctx).await);
        assert_eq!(ask("the report").await, "Project report On time.");
        assert_eq!(ask("report.txt").await, "Project report On time.");
        assert_eq!(ask("files/report.txt").await, "Project report On time.");
        assert_eq!(ask("report dot txt").await, "Project report On time.");
        assert_eq!(
            ask(&root.join("report.txt").to_string_lossy()).await,
            "Project report On time."
        );
        for name in [
            "hamburg itinerary",
            "the itinerary for Hamburg",
            "itinerary in Hamburg",
            "hamberg itinery",
            "my hamburg itinerary file",
        ] {
            assert_eq!(ask(name).await, "08:04 departure", "{name}");
        }
        assert!(
            told(run("files.read", json!({"file": "hamburg report"}), &ctx).await).contains("no file called")
        );
        assert_eq!(ask("old").await, "Grüße");
        assert_eq!(ask("wide").await, "Hi");
        assert_eq!(ask("empty").await, "empty.txt is empty.");
        assert_eq!(ask("the plan in the hamburg folder").await, "Platform seven");
        assert!(ask("long").await.ends_with("There is more in long.md."));
        let last = run("files.read", json!({"file": "long", "part": 3}), &ctx)
            .await
            .unwrap();
        assert_eq!(last.data["parts"], 3);
        assert!(
            told(run("files.read", json!({"file": "long", "part": 4}), &ctx).await)
                .contains("only three parts")
        );
    }

    #[tokio::test]
    async fn what_is_no_text_or_nobodys_business_is_refused() {
        let home = tempfile::tempdir().unwrap();
        let ctx = ctx(home.path());
        let root = home.path().join("files");
        fs::create_dir_all(root.join("sub")).unwrap();
        fs::write(root.join("photo.jpg"), b"\xff\xd8\xff\xe0\0\x10JFIF").unwrap();
        fs::write(root.join("letter.txt"), "-----BEGIN RSA PRIVATE KEY-----\nMIIE\n").unwrap();
        let late = "Dear Bob,\n".repeat(5000) + "-----BEGIN PRIVATE KEY-----\nMIIE\n";
        fs::write(root.join("late.txt"), late).unwrap();
        fs::write(root.join("printed.pdf"), pdf("-----BEGIN PRIVATE KEY-----")).unwrap();
        fs::write(root.join("bank password.odt"), "1234").unwrap();
        fs::write(root.join("recovery codes.pdf"), pdf("1234")).unwrap();
        fs::write(root.join("broken.pdf"), "%PDF-1.7\nnothing of that kind").unwrap();
        fs::write(root.join(".env"), "TOKEN=1").unwrap();
        fs::write(root.join("plan one.txt"), "1").unwrap();
        fs::write(root.join("plan two.txt"), "2").unwrap();
        let ask = async |file: &str| match run("files.read", json!({"file": file}), &ctx).await {
            Err(ToolError::Tell(text) | ToolError::TellOthers(text)) => text,
            other => panic!("{file}: {other:?}"),
        };
        for (file, expect) in [
            ("photo.jpg", "no text that I can read"),
            ("letter", "letter.txt holds a private key, so I do not read it."),
            ("late.txt", "late.txt holds a private key, so I do not read it."),
            ("printed", "printed.pdf holds a private key, so I do not read it."),
            ("bank password", "no file called"),
            ("files/bank password.odt", "hidden, or holds keys"),
            ("recovery codes", "no file called"),
            ("files/recovery codes.pdf", "hidden, or holds keys"),
            ("broken", "I cannot read the text of broken.pdf"),
            (".env", "no file called"),
            ("files/.env", "hidden, or holds keys"),
            ("plan", "Which file: plan "),
            ("zebra", "no file called \"zebra\""),
            ("files/sub", "sub is no file"),
            ("", "Which file? Say its name."),
            ("../../etc/passwd", "outside"),
            ("/etc/passwd", "outside"),
            ("~/.ssh/id_rsa", "outside"),
        ] {
            let text = ask(file).await;
            assert!(text.contains(expect), "{file:?}: {text}");
        }
    }
}
