//! What other tools write to a device is recognized before it is written over.

use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use strewn_live::device::{DeviceFile, OpenDevice, Space, probe};
use strewn_testing::Missing;

const SIZE: u64 = 128 << 20;

/// Runs `tool` on an image, and asserts what is found on it.
fn known(
    (tool, package): (&str, &str),
    arguments: &[&str],
    input: &str,
    expected: &[&str],
) -> Result<(), Missing> {
    // The tools of an administrator are not on every user's search path.
    let paths = std::env::var_os("PATH").unwrap_or_default();
    let found = std::env::split_paths(&paths)
        .chain(["/sbin", "/usr/sbin"].map(PathBuf::from))
        .map(|directory| directory.join(tool))
        .find(|path| path.is_file());
    let Some(tool_path) = found else {
        let remedy = format!("apt-get install {package}");
        return Err(Missing::new(format!("no {tool} on this machine"), remedy));
    };
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("image");
    drop(DeviceFile::create(&path, SIZE, Space::Sparse).unwrap());
    let mut command = Command::new(tool_path);
    let command = command.args(arguments).arg(&path).stdin(Stdio::piped());
    let mut child = command.stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
    child.stdin.take().unwrap().write_all(input.as_bytes()).unwrap();
    assert!(child.wait().unwrap().success(), "{tool}");
    for direct in [true, false] {
        assert_eq!(findings(&path, direct), expected, "{tool}, direct: {direct}");
    }
    Ok(())
}

fn findings(path: &Path, direct: bool) -> Vec<String> {
    let device = OpenDevice::new().direct(direct).writable(false).open(path).unwrap();
    let findings = probe(&device, b"a label of ours").unwrap();
    findings.into_iter().map(|finding| finding.what).collect()
}

pub fn ext4_is_known() -> Result<(), Missing> {
    known(("mkfs.ext4", "e2fsprogs"), &["-q", "-F"], "", &["an ext4 file system"])
}

pub fn ext3_is_known() -> Result<(), Missing> {
    known(("mkfs.ext3", "e2fsprogs"), &["-q", "-F"], "", &["an ext3 file system"])
}

pub fn ext2_is_known() -> Result<(), Missing> {
    known(("mkfs.ext2", "e2fsprogs"), &["-q", "-F"], "", &["an ext2 file system"])
}

pub fn swap_space_is_known() -> Result<(), Missing> {
    known(("mkswap", "util-linux"), &[], "", &["swap space"])
}

pub fn btrfs_is_known() -> Result<(), Missing> {
    known(("mkfs.btrfs", "btrfs-progs"), &["-q", "-f"], "", &["a Btrfs file system"])
}

pub fn fat32_is_known() -> Result<(), Missing> {
    known(("mkfs.vfat", "dosfstools"), &["-F", "32"], "", &["a FAT32 file system"])
}

pub fn ntfs_is_known() -> Result<(), Missing> {
    known(("mkfs.ntfs", "ntfs-3g"), &["-q", "-F"], "", &["an NTFS file system"])
}

pub fn an_mbr_is_known() -> Result<(), Missing> {
    known(
        ("sfdisk", "fdisk"),
        &["-q"],
        "label: dos\n,8M\n,\n",
        &["an MBR partition table with 2 used"],
    )
}

pub fn a_gpt_is_known() -> Result<(), Missing> {
    known(
        ("sfdisk", "fdisk"),
        &["-q"],
        "label: gpt\n,8M\n",
        &[
            "an MBR partition table with 1 used",
            "a GPT partition table",
            "the second copy of a GPT partition table",
        ],
    )
}
