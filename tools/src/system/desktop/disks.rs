//! How full the disks are: every file system on a device that is mounted here, once.

use std::path::{Path, PathBuf};

use super::Desk;
use crate::{contract::ToolError, system::plain};

/// Largest table of mounts that is read, in bytes; machines with containers have long ones.
const MAX_TABLE: u64 = 4 << 20;
/// Most disks that are told.
const MAX_DISKS: usize = 64;
/// Kinds that hold the person's data without being on a device of this machine.
const REMOTE: [&str; 7] = ["nfs", "nfs4", "cifs", "smb3", "fuse.sshfs", "zfs", "9p"];

/// A disk, or a part of one.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Disk {
    /// Where it is mounted.
    pub place: PathBuf,
    /// What people call it: "system", or the last part of where it is mounted.
    pub name: String,
    /// In bytes.
    pub size: u64,
    /// What may still be written by the person, in bytes.
    pub free: u64,
}

/// The disks that are mounted, the system's first. Blocks while a disk wakes up.
///
/// # Errors
/// `Broken` when the system does not say which there are.
pub fn all(desk: &Desk) -> Result<Vec<Disk>, ToolError> {
    let mounts = match cfg!(target_os = "linux") {
        true => {
            let table = desk.root.join("proc/self/mountinfo");
            let bytes = read(&table).map_err(|e| ToolError::broken("look at your disks", e))?;
            mounted(&String::from_utf8_lossy(&bytes))
        }
        // Elsewhere the volume of the system holds everything but what was plugged in.
        false => vec![PathBuf::from("/")],
    };
    let mut disks: Vec<Disk> = mounts
        .into_iter()
        .take(MAX_DISKS)
        .filter_map(|place| {
            let stat = rustix::fs::statvfs(&place).ok()?;
            let size = stat.f_blocks.checked_mul(stat.f_frsize)?;
            (size > 0).then(|| Disk {
                name: name(&place),
                size,
                free: stat.f_bavail.saturating_mul(stat.f_frsize),
                place,
            })
        })
        .collect();
    disks.sort_by(|a, b| (a.name != SYSTEM, &a.place).cmp(&(b.name != SYSTEM, &b.place)));
    match disks.is_empty() {
        true => Err(ToolError::broken(
            "look at your disks",
            "no file system is on a device",
        )),
        false => Ok(disks),
    }
}

/// The name of the disk that the system is on.
pub const SYSTEM: &str = "system";

/// As people say it: "120 gigabytes", in powers of ten as disks are sold.
pub fn size(bytes: u64) -> String {
    let (amount, unit) = match bytes {
        0..1_000_000_000 => (bytes as f64 / 1e6, "megabytes"),
        1_000_000_000..1_000_000_000_000 => (bytes as f64 / 1e9, "gigabytes"),
        _ => (bytes as f64 / 1e12, "terabytes"),
    };
    match amount < 10.0 && amount.fract() >= 0.05 && unit != "megabytes" {
        true => format!("{amount:.1} {unit}"),
        false => format!("{amount:.0} {unit}"),
    }
}

fn read(path: &Path) -> std::io::Result<Vec<u8>> {
    use std::io::Read as _;
    let mut bytes = Vec::new();
    std::fs::File::open(path)?
        .take(MAX_TABLE)
        .read_to_end(&mut bytes)?;
    Ok(bytes)
}

fn name(place: &Path) -> String {
    match (place == Path::new("/"), place.file_name()) {
        (true, _) | (_, None) => SYSTEM.to_owned(),
        (false, Some(name)) => plain::one_line(&name.to_string_lossy(), 40),
    }
}

/// Where real file systems are mounted, each once where it is mounted first (proc_pid_mountinfo(5)).
fn mounted(table: &str) -> Vec<PathBuf> {
    let mut seen = Vec::new();
    let mut places = Vec::new();
    for line in table.lines() {
        let (Some((before, after)), fields) = (line.split_once(" - "), line.split(' ').collect::<Vec<_>>())
        else {
            continue;
        };
        let (Some(number), Some(place), Some(kind)) = (fields.get(2), fields.get(4), after.split(' ').next())
        else {
            continue;
        };
        let source = after.split(' ').nth(1).unwrap_or_default();
        let root = before.split(' ').nth(3) == Some("/") || *place == "/";
        let real = source.starts_with("/dev/") || REMOTE.contains(&kind) || *place == "/";
        // Snaps and images are read-only pictures of files, and full by nature.
        let picture = matches!(kind, "squashfs" | "iso9660" | "erofs");
        let boot = place.starts_with("/boot") || *place == "/efi";
        if !real || !root && kind != "btrfs" || picture || boot || seen.contains(&(*number).to_owned()) {
            continue;
        }
        // Subvolumes of one btrfs have numbers of their own and share its space.
        if kind == "btrfs" && seen.iter().any(|known| known == source) {
            continue;
        }
        seen.extend([(*number).to_owned(), source.to_owned()]);
        places.push(unescape(place));
    }
    places
}

/// `\040` is a blank.
fn unescape(text: &str) -> PathBuf {
    use std::os::unix::ffi::OsStringExt as _;
    let bytes = text.as_bytes();
    let mut plain = Vec::with_capacity(bytes.len());
    let mut at = 0;
    while at < bytes.len() {
        let code = bytes
            .get(at + 1..at + 4)
            .and_then(|code| std::str::from_utf8(code).ok());
        match (bytes[at], code.and_then(|code| u8::from_str_radix(code, 8).ok())) {
            (b'\\', Some(byte)) => {
                plain.push(byte);
                at += 4;
            }
            (byte, _) => {
                plain.push(byte);
                at += 1;
            }
        }
    }
    std::ffi::OsString::from_vec(plain).into()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_file_system_counts_once() {
        let table = "\
22 1 8:2 / / rw,relatime shared:1 - ext4 /dev/sda2 rw
23 22 0:21 / /proc rw - proc proc rw
24 22 0:5 / /dev rw - devtmpfs udev rw
25 22 8:1 / /boot/efi rw - vfat /dev/sda1 rw
26 22 8:3 / /home rw - ext4 /dev/sda3 rw
27 22 8:3 /ada /srv/ada rw - ext4 /dev/sda3 rw
28 22 7:1 / /snap/core/1 ro - squashfs /dev/loop1 ro
29 22 8:17 / /media/ada/MY\\040STICK rw - vfat /dev/sdb1 rw
30 22 0:44 /@a /a rw - btrfs /dev/sdc1 rw
31 22 0:45 /@b /b rw - btrfs /dev/sdc1 rw
32 22 0:50 / /mnt/nas rw - nfs4 nas:/export rw
garbage
 - 
1 2 3 - x";
        let places: Vec<String> = mounted(table).iter().map(|p| p.display().to_string()).collect();
        assert_eq!(places, ["/", "/home", "/media/ada/MY STICK", "/a", "/mnt/nas"]);
    }

    #[test]
    fn sizes_are_spoken() {
        for (bytes, expect) in [
            (0, "0 megabytes"),
            (512_000_000, "512 megabytes"),
            (1_500_000_000, "1.5 gigabytes"),
            (120_000_000_000, "120 gigabytes"),
            (4_000_000_000_000, "4 terabytes"),
        ] {
            assert_eq!(size(bytes), expect);
        }
    }

    #[test]
    fn this_machine_has_a_disk() {
        let disks = all(&Desk::here()).unwrap();
        assert!(disks[0].free <= disks[0].size, "{disks:?}");
    }

    proptest::proptest! {
        #[test]
        fn any_table_is_survived(table in "[ -~\n\\\\]{0,400}") {
            mounted(&table);
        }
    }
}
