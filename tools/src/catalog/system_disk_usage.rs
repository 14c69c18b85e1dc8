//! `system.disk_usage`: how full the disks are.

use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::json;

use crate::{
    contract::{Ctx, Effect, Output, Tool, ToolError},
    system::{
        desktop::disks::{self, Disk},
        which::{self, Kind},
    },
};

/// Tells how full the disks are.
pub struct This;

/// Which.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Args {
    /// Which disk, if the person named one: "usb stick"
    disk: Option<String>,
}

impl Tool for This {
    type Args = Args;
    const NAME: &'static str = "system.disk_usage";
    const SUMMARY: &'static str = "How much space is free on the disk, and how full it is";
    const EFFECT: Effect = Effect::Read;
    const EXAMPLES: &'static [&'static str] = &[
        "how much disk space is left",
        "is my disk full",
        "how much storage do I have",
        "free space on the drive",
        "how full is the hard drive",
        "is there room on the usb stick",
        "disk usage",
        "how many gigabytes are free",
    ];
    const CALLS: &'static [(&'static str, &'static str)] = &[
        ("is there room on the usb stick", r#"{"disk": "usb stick"}"#),
        ("how full is the hard drive", "{}"),
    ];
    const PATTERNS: &'static [&'static str] = &[
        "how much (disk space|storage|storage space) is left",
        "how much (disk space|storage|storage space) do i have [left]",
        "how full is (my|the) (disk|hard drive)",
        "disk usage",
    ];
    const USE_WHEN: &'static str = "For free space; it opens no files and looks into no folders.";

    async fn run(args: Args, ctx: &Ctx) -> Result<Output, ToolError> {
        let disks = ctx
            .blocking("look at your disks", |ctx| disks::all(&ctx.desk))
            .await?;
        let said = args
            .disk
            .as_deref()
            .map(|said| which::bare(said, KIND))
            .unwrap_or_default();
        let shown: Vec<&Disk> = match said.is_empty() || OWN.contains(&said.as_str()) {
            true => disks.iter().take(MOST).collect(),
            false => vec![which::one(
                &said,
                KIND,
                &disks,
                |disk| &disk.name,
                |disk| disk.name.clone(),
            )?],
        };
        let say: Vec<String> = shown
            .iter()
            .map(|disk| sentence(disk, shown.len() == 1))
            .collect();
        let rows: Vec<_> = shown
            .iter()
            .map(|disk| json!({"name": disk.name, "place": disk.place.to_string_lossy(), "size": disk.size, "free": disk.free}))
            .collect();
        let mut output = Output::new(say.join(" "), json!({ "disks": rows }));
        // A stick is called what its owner liked.
        output.untrusted = shown.iter().any(|disk| disk.name != disks::SYSTEM);
        Ok(output)
    }
}

const KIND: Kind = Kind {
    one: "disk",
    many: "disks",
};
/// What people call the disk that the system is on.
const OWN: [&str; 8] = [
    "drive",
    "hard drive",
    "computer",
    "laptop",
    "storage",
    "space",
    "ssd",
    "main disk",
];
/// Most disks that are told at once.
const MOST: usize = 4;

fn sentence(disk: &Disk, alone: bool) -> String {
    let percent = (u128::from(disk.size - disk.free.min(disk.size)) * 100) / u128::from(disk.size.max(1));
    let (free, size) = (disks::size(disk.free), disks::size(disk.size));
    match alone && disk.name == disks::SYSTEM {
        true => format!("{free} of {size} are free; the disk is {percent} percent full."),
        false => format!(
            "{}: {free} of {size} are free.",
            crate::system::speech::sentence(&disk.name).trim_end_matches('.')
        ),
    }
}
