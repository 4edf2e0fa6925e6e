//! Reads both ends of a device.

use std::io::{self, Seek, SeekFrom};
use std::os::unix::fs::FileExt;

use super::super::{BLOCK_BYTES, Buffer, DeviceFile};

/// Blocks read at the beginning: up to the end of ZFS's first labels. All other signatures are nearer to the
/// beginning.
const HEAD_BLOCKS: usize = (256 << 10) / BLOCK_BYTES;
/// Blocks read at the end: ZFS's last two labels, and the remainder of the device after whole labels.
const TAIL_BLOCKS: usize = (768 << 10) / BLOCK_BYTES;

pub(super) struct Contents {
    head: Buffer,
    tail: Buffer,
    tail_offset: u64,
    end: u64,
}

impl Contents {
    pub(super) fn read(device: &DeviceFile) -> io::Result<Self> {
        let block = BLOCK_BYTES as u64;
        // The remainder of a block device after whole blocks counts too: a partition table may end there.
        let end = device.file().seek(SeekFrom::End(0))?;
        let tail_offset = end.next_multiple_of(block).saturating_sub(TAIL_BLOCKS as u64 * block);
        let mut contents = Self {
            head: Buffer::zeroed(HEAD_BLOCKS),
            tail: Buffer::zeroed(TAIL_BLOCKS),
            tail_offset,
            end,
        };
        read_up_to_end(device, &mut contents.head, 0)?;
        read_up_to_end(device, &mut contents.tail, tail_offset)?;
        Ok(contents)
    }

    /// Returns the size of the device in bytes.
    pub(super) fn end(&self) -> u64 {
        self.end
    }

    /// Returns bytes of the device, if they were read and are before its end.
    pub(super) fn at(&self, offset: u64, bytes: usize) -> Option<&[u8]> {
        if offset.checked_add(bytes as u64)? > self.end {
            return None;
        }
        let within = |buffer: &'_ Buffer, from: u64| -> Option<std::ops::Range<usize>> {
            let start = usize::try_from(offset.checked_sub(from)?).ok()?;
            let end = start.checked_add(bytes)?;
            (end <= buffer.bytes().len()).then_some(start..end)
        };
        match within(&self.head, 0) {
            Some(range) => Some(&self.head.bytes()[range]),
            None => Some(&self.tail.bytes()[within(&self.tail, self.tail_offset)?]),
        }
    }

    pub(super) fn holds(&self, offset: u64, magic: &[u8]) -> bool {
        self.at(offset, magic.len()) == Some(magic)
    }

    /// Returns a little-endian number.
    pub(super) fn number<const BYTES: usize>(&self, offset: u64) -> Option<u64> {
        let bytes = self.at(offset, BYTES)?;
        Some(bytes.iter().rev().fold(0, |number, byte| (number << 8) | u64::from(*byte)))
    }

    /// Returns the multiples of `step`, a divisor of a block, that were read.
    pub(super) fn offsets(&self, step: u64) -> impl Iterator<Item = u64> {
        let head = 0..self.head.bytes().len() as u64;
        let tail = self.tail_offset.max(head.end)..self.end.max(head.end);
        let both = head.step_by(step as usize).chain(tail.step_by(step as usize));
        both.filter(|offset| *offset < self.end)
    }

    pub(super) fn first_not_zero(&self) -> Option<u64> {
        let in_part = |buffer: &Buffer| buffer.bytes().iter().position(|byte| *byte != 0);
        let of_head = in_part(&self.head).map(|index| index as u64);
        of_head.or_else(|| in_part(&self.tail).map(|index| self.tail_offset + index as u64))
    }
}

/// Reads whole blocks, fewer at the end, so that the kernel's cache can be bypassed.
fn read_up_to_end(device: &DeviceFile, into: &mut Buffer, offset: u64) -> io::Result<()> {
    let mut done = 0;
    while done < into.bytes().len() {
        match device.file().read_at(&mut into.bytes_mut()[done..], offset + done as u64) {
            Ok(0) => break,
            Ok(bytes) => done += bytes,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
        if !done.is_multiple_of(BLOCK_BYTES) {
            // Only the end remains, and a read from the middle of a block would be refused.
            break;
        }
    }
    Ok(())
}
