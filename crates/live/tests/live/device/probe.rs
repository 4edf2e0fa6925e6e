//! What lies on a device is recognized before it is written over, by the bytes that the formats' documentation gives.
//! What the tools themselves write: `tests/outside/probe.rs`.

use std::fs::File;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};

use strewn_live::device::{DeviceFile, Finding, OpenDevice, Space, probe};
use tempfile::TempDir;

const SIZE: u64 = 128 << 20;
const LABEL: &[u8] = b"a label of ours";

fn image(size: u64) -> (TempDir, PathBuf) {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("image");
    drop(DeviceFile::create(&path, size, Space::Sparse).unwrap());
    (directory, path)
}

fn findings(path: &Path) -> Vec<Finding> {
    let both = [true, false].map(|direct| {
        let device = OpenDevice::new().direct(direct).writable(false).open(path).unwrap();
        probe(&device, LABEL).unwrap()
    });
    assert_eq!(both[0], both[1], "past the cache and through it");
    both[0].clone()
}

/// What is found of a device of zeros with these bytes.
fn of_bytes(size: u64, bytes: &[(u64, &[u8])]) -> Vec<(u64, String)> {
    let (_directory, path) = image(size);
    let file = File::options().write(true).open(&path).unwrap();
    for (offset, bytes) in bytes {
        file.write_all_at(bytes, *offset).unwrap();
    }
    findings(&path).into_iter().map(|finding| (finding.offset, finding.what)).collect()
}

fn found(offset: u64, what: &str) -> Vec<(u64, String)> {
    vec![(offset, what.to_owned())]
}

#[test]
fn zeros_are_nothing_and_other_bytes_are_something() {
    for size in [4096, 8192, 300 << 10, SIZE] {
        assert_eq!(of_bytes(size, &[]), []);
        assert_eq!(of_bytes(size, &[(size - 1, &[1])]), found(size - 1, "data that are not zeros"));
        assert_eq!(of_bytes(size, &[(777, &[1])]), found(777, "data that are not zeros"));
    }
    assert_eq!(of_bytes(SIZE, &[(SIZE / 2, &[1])]), [], "only the ends are looked at");
}

#[test]
fn a_label_of_ours_is_known_wherever_a_block_begins() {
    for offset in [0, 4096, 64 << 10, SIZE - 4096] {
        assert_eq!(of_bytes(SIZE, &[(offset, LABEL)]), found(offset, "a label of Strewn"));
    }
    assert_eq!(of_bytes(SIZE, &[(5, LABEL)]), found(5, "data that are not zeros"));
}

#[test]
fn marks_by_their_bytes() {
    let md = 0xa92b_4efc_u32.to_le_bytes();
    let md_1 = [md, [1, 0, 0, 0]].concat();
    let uberblock = 0x00ba_b10c_u64;
    let bcachefs = b"\xc6\x85\x73\xf6\x66\xce\x90\xa9\xd9\x6a\x60\xcf\x80\x3d\xf7\xef";
    let odd = SIZE + 20 * 4096;
    let cases: &[(u64, u64, &[u8], &str)] = &[
        (SIZE, 0, b"XFSB", "an XFS file system"),
        (SIZE, 3, b"NTFS    ", "an NTFS file system"),
        (SIZE, 82, b"FAT32   ", "a FAT32 file system"),
        (SIZE, 65_600, b"_BHRfS_M", "a Btrfs file system"),
        (SIZE, 0, b"hsqs", "a SquashFS file system"),
        (SIZE, 32_769, b"CD001", "an ISO 9660 file system"),
        (SIZE, 0, b"LUKS\xba\xbe\0\x02", "a LUKS encrypted volume"),
        (SIZE, 4120, bcachefs, "a bcachefs file system"),
        (SIZE, 512, b"EFI PART", "a GPT partition table"),
        (SIZE, SIZE - 512, b"EFI PART", "the second copy of a GPT partition table"),
        (SIZE, 0, &md_1, "a member of a Linux md array"),
        (SIZE, 4096, &md_1, "a member of a Linux md array"),
        (SIZE, SIZE - 8192, &md_1, "a member of a Linux md array"),
        (SIZE, SIZE - 65_536, &md, "a member of a Linux md array"),
        (odd, SIZE, &md, "a member of a Linux md array"),
        (SIZE, (128 << 10) + 5120, &uberblock.to_le_bytes(), "a member of a ZFS pool"),
        (SIZE, SIZE - (128 << 10), &uberblock.to_be_bytes(), "a member of a ZFS pool"),
        (odd, SIZE - (128 << 10), &uberblock.to_le_bytes(), "a member of a ZFS pool"),
    ];
    for (size, offset, bytes, what) in cases {
        // A mark may begin before what it is known by.
        assert_eq!(
            of_bytes(*size, &[(*offset, bytes)]),
            found(*offset, what),
            "{what} at {offset}"
        );
    }
    let volume: &[(u64, &[u8])] = &[(512, b"LABELONE"), (536, b"LVM2 001")];
    assert_eq!(of_bytes(SIZE, volume), found(512, "an LVM2 physical volume"));
}

#[test]
fn a_partition_table_is_one_only_with_partitions() {
    let entry = |kind: u8| [0x80, 0, 0, 0, kind, 0, 0, 0, 0, 8, 0, 0, 0, 8, 0, 0];
    let signature: (u64, &[u8]) = (510, &[0x55, 0xaa]);
    let empty = of_bytes(SIZE, &[signature]);
    assert_eq!(empty, found(510, "data that are not zeros"));
    let two = of_bytes(SIZE, &[(446, &entry(0x83)), (478, &entry(7)), signature]);
    assert_eq!(two, found(0, "an MBR partition table with 2 used"));
    let code = of_bytes(SIZE, &[(446, &[0x33; 64]), signature]);
    assert_eq!(code, found(446, "data that are not zeros"), "a boot sector's code");
}
