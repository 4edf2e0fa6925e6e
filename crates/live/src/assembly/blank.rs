//! Devices without anything of an array on them.

use std::io;
use std::os::unix::fs::FileExt;

use crate::Configuration;
use crate::device::{BLOCK_BYTES, Buffer, DeviceFile};
use crate::format::{FIRST_ROW_BLOCK, Label, LogLayout, ROW_DATA_BLOCKS, checksum_block};

use super::AssemblyError;

const BLOCK: u64 = BLOCK_BYTES as u64;

/// Takes the labels off a device: what it belonged to is not found again. Durable when this returns.
pub(super) fn wipe_label(device: &DeviceFile) -> Result<(), AssemblyError> {
    let blocks = device.size_bytes() / BLOCK;
    let mut block = Buffer::zeroed(1);
    let first = device.file().read_exact_at(block.bytes_mut(), 0);
    let copy = first.ok().and_then(|()| Label::decode(block.bytes()).ok());
    let ends = [copy.map_or(blocks, |label| label.device_blocks), blocks];
    let copies = ends.iter().filter(|end| (1..=blocks).contains(*end)).map(|end| end - 1);
    // The second copy first: while the first is there, it says where the second one is.
    let places: Vec<u64> = copies.chain([0]).collect();
    blank(device, places.into_iter())
}

/// Takes labels and superblocks off a device, and what is reserved beside them.
pub(super) fn wipe_spindle(device: &DeviceFile) -> Result<(), AssemblyError> {
    wipe_label(device)?;
    let blocks = device.size_bytes() / BLOCK;
    blank(device, 0..FIRST_ROW_BLOCK.min(blocks))
}

/// Makes a device that may hold anything a blank spindle: all its blocks were never written.
pub(super) fn blank_spindle(
    device: &DeviceFile,
    configuration: &Configuration,
) -> Result<(), AssemblyError> {
    wipe_spindle(device)?;
    if device.is_block_device() && discard(device) {
        return Ok(());
    }
    let rows = configuration.blocks_per_spindle / ROW_DATA_BLOCKS;
    blank(device, (0..rows).map(checksum_block))
}

/// Makes a device that may hold anything a blank log: each part of it begins with no record.
pub(super) fn blank_log(device: &DeviceFile, layout: LogLayout) -> Result<(), AssemblyError> {
    wipe_label(device)?;
    let parts = layout.redo_halves().into_iter().chain(layout.halves());
    blank(device, [0, 1].into_iter().chain(parts.map(|byte| byte / BLOCK)))
}

/// Writes zeros over all of a log. Where a file system has only promised the space, or not even that, each group of records
/// would wait until its own log has where they lie.
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

/// Writes zeros over those of the blocks that are not zeros: a blank device is only read, a sparse file stays sparse.
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

/// Has a block device make all its blocks zeros by itself, if it can without writing them.
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
