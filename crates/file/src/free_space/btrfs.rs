//! Free space of btrfs: the gaps between extents in data chunks.

use std::io::{Read, Seek};
use std::ops::Range;

use strewn_alloc::{FreeRunCounter, FreeSpace};

use super::FreeSpaceReport;
use crate::error::FileError;
use crate::space::btrfs::{Btrfs, EXTENT_ITEM, Key, METADATA_ITEM};
use crate::space::{Mount, System, btrfs_error, retried};

pub(super) fn free_space(system: &System, mount: &Mount) -> Result<FreeSpaceReport, FileError> {
    let (found, block_bytes) = retried(|| {
        let mut btrfs = system.open_btrfs(mount)?;
        let found = btrfs.free_space().map_err(|what| btrfs_error(mount, &what))?;
        Ok((found, u64::from(btrfs.superblock().sector_bytes)))
    })?;
    let caveats = [
        "the last committed transaction: what came later is not in it",
        "data chunks only, each by itself; unallocated bytes, of devices, can become chunks of any kind",
    ];
    let mut report = FreeSpaceReport::new("btrfs extent tree", &caveats, block_bytes, &found.data);
    report.unallocated_bytes = Some(found.unallocated_bytes);
    Ok(report)
}

/// The free space of a btrfs.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct BtrfsFreeSpace {
    /// Free runs in data chunks, and in chunks of data and metadata, in blocks of [`Superblock::sector_bytes`]. A run
    /// ends with its chunk, because no extent crosses.
    ///
    /// [`Superblock::sector_bytes`]: crate::btrfs::Superblock::sector_bytes
    pub data: FreeSpace,
    /// Bytes of the devices that are in no chunk.
    pub unallocated_bytes: u64,
}

impl<D: Read + Seek> Btrfs<D> {
    /// Measures free space by the gaps between the extents in data chunks. Memory does not depend on their number.
    ///
    /// # Errors
    /// What is wrong, in words, if the trees are damaged or change meanwhile.
    pub fn free_space(&mut self) -> Result<BtrfsFreeSpace, String> {
        let root = self.extent_root()?;
        let block_bytes = u64::from(self.superblock().sector_bytes);
        let node_bytes = self.superblock().node_bytes();
        let chunks: Vec<Range<u64>> = self.chunks().data_chunks().collect();
        let mut counter = FreeRunCounter::default();
        for chunk in chunks {
            let last = Key { object: chunk.end - 1, ..Key::LAST };
            let mut gaps = Gaps {
                position: chunk.start,
                superblocks: self.chunks().superblocks(chunk.start),
                block_bytes,
                counter: &mut counter,
            };
            self.walk(root, Key::first_of(chunk.start)..=last, &mut |key, _| {
                let bytes = match key.kind {
                    EXTENT_ITEM => key.offset,
                    METADATA_ITEM => node_bytes,
                    _ => return Ok(()),
                };
                match key.object.checked_add(bytes) {
                    Some(end) if end <= chunk.end => {
                        gaps.used(key.object..end);
                        Ok(())
                    }
                    _ => Err(format!("extent {} ends beyond its chunk", key.object)),
                }
            })?;
            gaps.used(chunk.end..chunk.end);
        }
        let unallocated_bytes = self.device_bytes().saturating_sub(self.chunks().allocated_bytes());
        Ok(BtrfsFreeSpace { data: counter.free_space(), unallocated_bytes })
    }
}

/// The gaps between used ranges of a chunk, which come in order.
struct Gaps<'a> {
    /// All before is told.
    position: u64,
    /// What is left of ranges that hold a superblock.
    superblocks: Vec<Range<u64>>,
    block_bytes: u64,
    counter: &'a mut FreeRunCounter,
}

impl Gaps<'_> {
    fn used(&mut self, range: Range<u64>) {
        while let Some(first) = self.superblocks.first().cloned().filter(|s| s.start < range.start)
        {
            self.superblocks.remove(0);
            self.take(first);
        }
        self.take(range);
    }

    fn take(&mut self, range: Range<u64>) {
        self.counter.add(range.start.saturating_sub(self.position) / self.block_bytes);
        self.position = self.position.max(range.end);
    }
}
