//! The label of one device, read and written.

use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;

use crate::device::{BLOCK_BYTES, Buffer, DeviceFile};
use strewn_array::Root;

use crate::format::{FormatError, Label, SUPERBLOCK_SLOTS, Superblock};
use crate::log::LogStart;

use super::{AssemblyError, DeviceProblemKind};

const BLOCK: u64 = BLOCK_BYTES as u64;

/// A device's label, and whether both copies of it are the same.
pub(super) struct Read {
    pub(super) label: Result<Label, DeviceProblemKind>,
    pub(super) copies_differ: bool,
}

/// Reads both copies. Where the second one lies is known from the first; if that is no help it is looked for in the last
/// block, and in those before which `ends` say a device ends, in blocks.
pub(super) fn read(file: &File, size_bytes: u64, ends: &[u64]) -> Read {
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
    // A block of anything else may lie where a copy was looked for.
    let second = copies.into_iter().find(|block| Label::decode(block.bytes()) != not_ours());
    let nothing = Buffer::zeroed(1);
    let bytes = |block: Option<&Buffer>| block.unwrap_or(&nothing).bytes().to_vec();
    let label =
        Label::of_copies(&bytes(first.as_ref().ok()), &bytes(second.as_ref())).map_err(|error| {
            match (error, first.as_ref().err()) {
                (FormatError::NotOurs { .. }, Some(unread)) => {
                    DeviceProblemKind::Unreadable(format!("its label cannot be read: {unread}"))
                }
                (FormatError::NotOurs { .. }, None) => DeviceProblemKind::NoLabel,
                (error, _) => DeviceProblemKind::BadLabel(error),
            }
        });
    let copies_differ = label.is_ok()
        && match (first_label, second.map(|block| Label::decode(block.bytes()))) {
            (Some(Ok(first)), Some(Ok(second))) => first != second,
            _ => true,
        };
    Read { label, copies_differ }
}

/// The good superblocks in the slots of a spindle.
pub(super) fn superblocks(file: &File) -> Vec<Superblock> {
    let slots = SUPERBLOCK_SLOTS.iter().filter_map(|slot| read_block(file, slot * BLOCK).ok());
    slots.filter_map(|block| Superblock::decode(block.bytes()).ok()).collect()
}

/// Writes both copies, durably: the second one first, so that one of them is whole at any moment.
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

/// Writes the superblock of an array that has nothing in it yet. Its label is written behind it.
pub(super) fn write_first_superblock(
    device: &DeviceFile,
    label: &Label,
) -> Result<(), AssemblyError> {
    let superblock = Superblock {
        array: label.array,
        checkpoint: 0,
        log_start: LogStart::NEW.host.next,
        redo_start: LogStart::NEW.redo.next,
        root: Root { held_back_blocks: 0, block: None },
        label_sequence: label.sequence,
        clean: true,
        snapshots: Vec::new(),
    };
    let offset = superblock.slot() * BLOCK;
    device
        .file()
        .write_all_at(superblock.encode().bytes(), offset)
        .map_err(AssemblyError::io(device.path(), "cannot write its superblock"))
}

fn not_ours() -> Result<Label, FormatError> {
    Label::decode(&[])
}

fn read_block(file: &File, offset: u64) -> io::Result<Buffer> {
    let mut block = Buffer::zeroed(1);
    file.read_exact_at(block.bytes_mut(), offset)?;
    Ok(block)
}
