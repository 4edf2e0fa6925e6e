//! The signatures of other formats, from their documentation and libblkid's table.

use super::contents::Contents;

/// Bytes at a place that identify a format.
pub(super) struct Mark {
    pub(super) offset: u64,
    /// Whether `offset` is counted back from the end.
    pub(super) from_end: bool,
    pub(super) magic: &'static [u8],
    pub(super) what: &'static str,
}

const fn at(offset: u64, magic: &'static [u8], what: &'static str) -> Mark {
    Mark { offset, from_end: false, magic, what }
}

const fn before_end(offset: u64, magic: &'static [u8], what: &'static str) -> Mark {
    Mark { offset, from_end: true, magic, what }
}

const GPT: &str = "a GPT partition table";
const GPT_COPY: &str = "the second copy of a GPT partition table";
const SWAP: &str = "swap space";
const LUKS: &str = "a LUKS encrypted volume";

pub(super) const MARKS: &[Mark] = &[
    // Partition tables: the header is in the second sector, of 512 or 4096 bytes, and its copy in the last.
    at(512, b"EFI PART", GPT),
    at(4096, b"EFI PART", GPT),
    before_end(512, b"EFI PART", GPT_COPY),
    before_end(4096, b"EFI PART", GPT_COPY),
    // File systems.
    at(0, b"XFSB", "an XFS file system"),
    at(65_536 + 64, b"_BHRfS_M", "a Btrfs file system"),
    at(3, b"NTFS    ", "an NTFS file system"),
    at(3, b"EXFAT   ", "an exFAT file system"),
    at(54, b"FAT12   ", "a FAT12 file system"),
    at(54, b"FAT16   ", "a FAT16 file system"),
    at(82, b"FAT32   ", "a FAT32 file system"),
    at(1024, &0xf2f5_2010_u32.to_le_bytes(), "an F2FS file system"),
    at(1024, &0xe0f5_e1e2_u32.to_le_bytes(), "an EROFS file system"),
    at(32_768, b"JFS1", "a JFS file system"),
    at(65_536 + 52, b"ReIsEr", "a ReiserFS file system"),
    at(32, b"NXSB", "an APFS container"),
    at(1024, b"H+", "an HFS+ file system"),
    at(0, b"hsqs", "a SquashFS file system"),
    at(0, b"sqsh", "a SquashFS file system"),
    at(32_769, b"CD001", "an ISO 9660 file system"),
    at(4096 + 24, &BCACHEFS, "a bcachefs file system"),
    // Formats that span several devices, or lie below a file system.
    at(4096 + 24, &BCACHE, "a bcache device"),
    at(0, b"LUKS\xba\xbe", LUKS),
    at(16_384, b"SKUL\xba\xbe", LUKS),
    at(0, b"bluestore block device", "a Ceph BlueStore device"),
    at(32, b"ORCLDISK", "an Oracle ASM disk"),
    before_end(1024, b"Intel Raid ISM Cfg Sig. ", "a member of an Intel array"),
    before_end(512, &0xde11_de11_u32.to_be_bytes(), "a member of a DDF array"),
    // Swap's signature is in the last bytes of a page, whose size is not 4 KiB on every machine.
    at(4096 - 10, b"SWAPSPACE2", SWAP),
    at(4096 - 10, b"SWAP-SPACE", SWAP),
    at(16_384 - 10, b"SWAPSPACE2", SWAP),
    at(65_536 - 10, b"SWAPSPACE2", SWAP),
];

const BCACHEFS: [u8; 16] = 0xc685_73f6_66ce_90a9_d96a_60cf_803d_f7ef_u128.to_be_bytes();
const BCACHE: [u8; 16] = 0xc685_73f6_4e1a_45ca_8265_f57f_48ba_6d81_u128.to_be_bytes();

/// Recognizes ext2, ext3 or ext4, by the features that only the later ones have.
pub(super) fn extended(contents: &Contents) -> Option<&'static str> {
    const SUPERBLOCK: u64 = 1024;
    if contents.number::<2>(SUPERBLOCK + 0x38)? != 0xef53 {
        return None;
    }
    let compatible = contents.number::<4>(SUPERBLOCK + 0x5c)?;
    let incompatible = contents.number::<4>(SUPERBLOCK + 0x60)?;
    let has_journal = compatible & 0x4 != 0;
    // Extents, 64-bit, flexible block groups.
    Some(if incompatible & (0x40 | 0x80 | 0x200) != 0 {
        "an ext4 file system"
    } else if has_journal {
        "an ext3 file system"
    } else {
        "an ext2 file system"
    })
}

/// Finds the superblock of an md array: version 0.90 in the last but one whole 64 KiB, in either byte order; 1.0 near
/// the end, 1.1 at the beginning, 1.2 4 KiB after the beginning.
pub(super) fn multiple_devices(contents: &Contents) -> Option<u64> {
    const MAGIC: u32 = 0xa92b_4efc;
    let end = contents.end();
    let old = (end & !0xffff).checked_sub(0x1_0000);
    let old = old.filter(|offset| {
        contents.holds(*offset, &MAGIC.to_le_bytes())
            || contents.holds(*offset, &MAGIC.to_be_bytes())
    });
    let near_end = (end & !511).checked_sub(8192).map(|offset| offset & !4095);
    let new = [Some(0), Some(4096), near_end].into_iter().flatten().find(|offset| {
        contents.holds(*offset, &MAGIC.to_le_bytes()) && contents.number::<4>(offset + 4) == Some(1)
    });
    new.or(old)
}

/// Finds the label of an LVM physical volume, in one of the first four sectors.
pub(super) fn physical_volume(contents: &Contents) -> Option<u64> {
    (0..4).map(|sector| sector * 512).find(|offset| {
        contents.holds(*offset, b"LABELONE") && contents.holds(offset + 24, b"LVM2 001")
    })
}

/// Finds a ZFS uberblock, in the second half of any of the four labels: two at the beginning, of which only the first
/// is read, and two before the end of the last whole label. Each slot has 1 KiB or more.
pub(super) fn uberblock(contents: &Contents) -> Option<u64> {
    const LABEL: u64 = 256 << 10;
    const MAGIC: u64 = 0x00ba_b10c;
    let end = contents.end() / LABEL * LABEL;
    let labels = [Some(0), end.checked_sub(2 * LABEL), end.checked_sub(LABEL)];
    labels.into_iter().flatten().find_map(|label| {
        (LABEL / 2..LABEL).step_by(1024).map(|offset| label + offset).find(|offset| {
            contents.holds(*offset, &MAGIC.to_le_bytes())
                || contents.holds(*offset, &MAGIC.to_be_bytes())
        })
    })
}

/// Returns the number of partitions in the table of the first sector, unless it is empty. The boot sector of a file
/// system ends in the same bytes, and has code in place of the table.
pub(super) fn partitions(contents: &Contents) -> Option<usize> {
    if !contents.holds(510, &[0x55, 0xaa]) {
        return None;
    }
    let table = contents.at(446, 64)?;
    let (entries, _) = table.as_chunks::<16>();
    if entries.iter().any(|entry| entry[0] & 0x7f != 0) {
        return None;
    }
    let used = |entry: &&[u8; 16]| entry[4] != 0 && entry[12..16] != [0; 4];
    Some(entries.iter().filter(used).count()).filter(|used| *used > 0)
}
