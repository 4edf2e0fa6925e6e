//! The labels and first superblocks that make a device a member of an array: read, written and wiped.

use std::fs::File;
use std::io::{self, Read as _};
use std::os::unix::fs::FileExt;
use std::path::Path;

use strewn_array::Root;

use super::error::AssemblyError;
use super::problem::DeviceProblemKind;
use crate::device::{BLOCK_BYTES, Buffer, DeviceFile};
use crate::format::{
    DiskFormatError, FIRST_ROW_BLOCK, INITIALIZATION_MAP_SLOTS, Identity, InitializationMap, Label,
    LogLayout, MAXIMUM_GROUPS, ROW_DATA_BLOCKS, SUPERBLOCK_SLOTS, Superblock, checksum_block,
    rows_of,
};
use crate::log::LogStart;

const BLOCK: u64 = BLOCK_BYTES as u64;

/// A device's label, and whether its two copies differ.
pub(super) struct LabelRead {
    pub(super) label: Result<Label, DeviceProblemKind>,
    pub(super) copies_differ: bool,
}

/// Reads both copies. The first one locates the second. If the first is damaged, the second is searched in the last
/// block, and before each of `ends`, in blocks.
pub(super) fn read(file: &File, size_bytes: u64, ends: &[u64]) -> LabelRead {
    let first = read_block(file, 0);
    let first_label = first.as_ref().ok().map(|block| Label::decode(block.bytes()));
    let said = first_label.as_ref().and_then(|label| label.as_ref().ok());
    let blocks = size_bytes / BLOCK;
    let candidates: Vec<u64> = match said {
        Some(label) => vec![label.device_blocks],
        None => [blocks].iter().chain(ends).copied().collect(),
    };
    let within = candidates.iter().filter(|end| (2..=blocks).contains(*end));
    let copies = within.filter_map(|end| read_block(file, (end - 1) * BLOCK).ok());
    // A searched block may hold something else.
    let second = copies.into_iter().find(|block| Label::decode(block.bytes()) != not_ours());
    let nothing = Buffer::zeroed(1);
    let bytes = |block: Option<&Buffer>| block.unwrap_or(&nothing).bytes().to_vec();
    let label =
        Label::of_copies(&bytes(first.as_ref().ok()), &bytes(second.as_ref())).map_err(|error| {
            match (error, first.as_ref().err()) {
                (DiskFormatError::NotOurs { .. }, Some(unread)) => {
                    DeviceProblemKind::Unreadable(format!("its label cannot be read: {unread}"))
                }
                (DiskFormatError::NotOurs { .. }, None) => DeviceProblemKind::NoLabel,
                (error, _) => DeviceProblemKind::BadLabel(error),
            }
        });
    let copies_differ = label.is_ok()
        && match (first_label, second.map(|block| Label::decode(block.bytes()))) {
            (Some(Ok(first)), Some(Ok(second))) => first != second,
            _ => true,
        };
    LabelRead { label, copies_differ }
}

/// Returns the valid superblocks of a spindle.
pub(super) fn superblocks(file: &File) -> Vec<Superblock> {
    let slots = SUPERBLOCK_SLOTS.iter().filter_map(|slot| read_block(file, slot * BLOCK).ok());
    slots.filter_map(|block| Superblock::decode(block.bytes()).ok()).collect()
}

/// Returns the array of a spindle's initialization map, if it has a valid one.
pub(super) fn array_of_map(file: &File) -> Option<Identity> {
    let slots = INITIALIZATION_MAP_SLOTS.iter();
    let mut blocks = slots.filter_map(|slot| read_block(file, slot * BLOCK).ok());
    blocks.find_map(|block| Some(InitializationMap::decode(block.bytes()).ok()?.array))
}

/// Writes both copies durably, the second one first, so that at any moment one of them is valid.
pub(super) fn write(device: &DeviceFile, label: &Label) -> Result<(), AssemblyError> {
    let block = label.encode()?;
    for at in [label.device_blocks - 1, 0] {
        let written = device.file().write_all_at(block.bytes(), at * BLOCK);
        written
            .and_then(|()| device.file().sync_all())
            .map_err(AssemblyError::io(device.path(), "cannot write its label"))?;
    }
    Ok(())
}

/// Writes the superblock of an empty array. Its label must be written afterwards.
pub(super) fn write_first_superblock(
    device: &DeviceFile,
    label: &Label,
) -> Result<(), AssemblyError> {
    let superblock = Superblock {
        array: label.array,
        consistency_point: 0,
        log_start: LogStart::NEW.host.next,
        log_durable: LogStart::NEW.host.last,
        map_sequences: [0; MAXIMUM_GROUPS],
        redo_start: LogStart::NEW.redo.next,
        root: Root::default(),
        label_sequence: label.sequence,
        clean: true,
    };
    write_superblock(device, &superblock)
}

/// Writes a superblock. A label that makes it count must be written afterwards.
pub(super) fn write_superblock(
    device: &DeviceFile,
    superblock: &Superblock,
) -> Result<(), AssemblyError> {
    let offset = superblock.slot() * BLOCK;
    device
        .file()
        .write_all_at(superblock.encode().bytes(), offset)
        .map_err(AssemblyError::io(device.path(), "cannot write its superblock"))
}

/// Writes the initialization map of an array in which nothing was written. Its label is written after it.
pub(super) fn write_first_map(device: &DeviceFile, label: &Label) -> Result<(), AssemblyError> {
    let map = InitializationMap::new(label.array, rows_of(label.device_blocks));
    device
        .file()
        .write_all_at(map.encode().bytes(), map.slot() * BLOCK)
        .map_err(AssemblyError::io(device.path(), "cannot write its initialization map"))
}

fn not_ours() -> Result<Label, DiskFormatError> {
    Label::decode(&[])
}

fn read_block(file: &File, offset: u64) -> io::Result<Buffer> {
    let mut block = Buffer::zeroed(1);
    file.read_exact_at(block.bytes_mut(), offset)?;
    Ok(block)
}

/// Draws a new identity from the system's random numbers.
pub(super) fn new_identity() -> Result<Identity, AssemblyError> {
    let source = Path::new("/dev/urandom");
    let mut bytes = [0; 16];
    File::open(source)
        .and_then(|mut file| file.read_exact(&mut bytes))
        .map_err(AssemblyError::io(source, "cannot draw an identity"))?;
    Ok(Identity::from_random(bytes))
}

/// Removes the labels of a device, durably.
pub(super) fn wipe_label(device: &DeviceFile) -> Result<(), AssemblyError> {
    let blocks = device.size_bytes() / BLOCK;
    let mut block = Buffer::zeroed(1);
    let first = device.file().read_exact_at(block.bytes_mut(), 0);
    let copy = first.ok().and_then(|()| Label::decode(block.bytes()).ok());
    let ends = [copy.map_or(blocks, |label| label.device_blocks), blocks];
    let copies = ends.iter().filter(|end| (1..=blocks).contains(*end)).map(|end| end - 1);
    // The second copy goes first: while the first exists, it locates the second.
    let places: Vec<u64> = copies.chain([0]).collect();
    blank(device, places.into_iter())
}

/// Removes the labels and superblocks of a device, and everything in the blocks reserved beside them.
pub(super) fn wipe_spindle(device: &DeviceFile) -> Result<(), AssemblyError> {
    wipe_label(device)?;
    let blocks = device.size_bytes() / BLOCK;
    blank(device, 0..FIRST_ROW_BLOCK.min(blocks))
}

/// Makes a device with arbitrary contents a blank spindle of so many blocks: none of its blocks was ever written.
pub(super) fn blank_spindle(device: &DeviceFile, blocks: u64) -> Result<(), AssemblyError> {
    wipe_spindle(device)?;
    if device.is_block_device() && discard(device) {
        return Ok(());
    }
    let rows = blocks / ROW_DATA_BLOCKS;
    blank(device, (0..rows).map(checksum_block))
}

/// Makes a device with arbitrary contents a blank log: no half of it begins with a record.
pub(super) fn blank_log(device: &DeviceFile, layout: LogLayout) -> Result<(), AssemblyError> {
    wipe_label(device)?;
    let parts = layout.redo_halves().into_iter().chain(layout.halves());
    blank(device, [0, 1].into_iter().chain(parts.map(|byte| byte / BLOCK)))
}

/// Writes zeros to the whole log. Otherwise, with space only reserved or not even that, each group of records would
/// wait until the file system's own journal has recorded its place.
pub(super) fn write_log(device: &DeviceFile, blocks: u64) -> Result<(), AssemblyError> {
    let all = || -> io::Result<()> {
        let zeros = Buffer::zeroed(256);
        for at in (0..blocks).step_by(zeros.blocks()) {
            let bytes = ((blocks - at) * BLOCK).min(zeros.bytes().len() as u64) as usize;
            device.file().write_all_at(&zeros.bytes()[..bytes], at * BLOCK)?;
        }
        device.file().sync_all()
    };
    all().map_err(AssemblyError::io(device.path(), "cannot write zeros to it"))
}

/// Writes zeros to those of the blocks that are not zeros. A blank device is only read, and a sparse file stays
/// sparse.
fn blank(device: &DeviceFile, blocks: impl Iterator<Item = u64>) -> Result<(), AssemblyError> {
    let zeros = Buffer::zeroed(1);
    let mut block = Buffer::zeroed(1);
    let all = || -> io::Result<()> {
        for at in blocks {
            let read = device.file().read_exact_at(block.bytes_mut(), at * BLOCK);
            if read.is_err() || block.bytes() != zeros.bytes() {
                device.file().write_all_at(zeros.bytes(), at * BLOCK)?;
            }
        }
        device.file().sync_all()
    };
    all().map_err(AssemblyError::io(device.path(), "cannot write zeros to it"))
}

/// Makes a block device zero all its blocks by itself, if it can do so without writing them.
#[cfg(target_os = "linux")]
fn discard(device: &DeviceFile) -> bool {
    use rustix::fs::{FallocateFlags, fallocate};

    let flags = FallocateFlags::PUNCH_HOLE | FallocateFlags::KEEP_SIZE;
    fallocate(device.file(), flags, 0, device.size_bytes()).is_ok()
        && device.file().sync_all().is_ok()
}

#[cfg(not(target_os = "linux"))]
fn discard(_: &DeviceFile) -> bool {
    false
}
