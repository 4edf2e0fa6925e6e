//! btrfs on its devices: superblock, chunk tree and extent tree, read without the kernel.
//!
//! FIEMAP tells addresses of btrfs's own address space, which the chunk tree maps to devices. The ioctl that reads a
//! tree needs unsafe code; the devices need read permission. What is read is the state of the last committed
//! transaction: sync first. Chunks change rarely, when the file system grows into unallocated space, and by balance.
//!
//! Any bytes give an error at worst. Memory grows with the number of chunks only, of which a file system has one per
//! GiB or so, and which has a limit.

mod chunk;
mod device;
mod fields;
mod superblock;
mod tree;

use std::collections::BTreeMap;
use std::io::{Read, Seek, SeekFrom};

pub use chunk::ChunkMap;
pub use device::DirectDevice;
pub use superblock::{SUPERBLOCK_BYTE, SUPERBLOCK_BYTES, Superblock};
use tree::Node;
pub(crate) use tree::{Key, TreeRoot};

use fields::u64_at;

/// Types of items (include/uapi/linux/btrfs_tree.h).
const ROOT_ITEM: u8 = 132;
pub(crate) const EXTENT_ITEM: u8 = 168;
pub(crate) const METADATA_ITEM: u8 = 169;
const CHUNK_ITEM: u8 = 228;

const EXTENT_TREE: u64 = 2;
const FIRST_CHUNK_TREE: u64 = 256;

/// A btrfs, read from its devices.
#[derive(Debug)]
pub struct Btrfs<D> {
    devices: Vec<D>,
    device_bytes: u64,
    superblock: Superblock,
    chunks: ChunkMap,
}

impl<D: Read + Seek> Btrfs<D> {
    /// Reads the superblocks of all devices that are there, in any order, and the chunk tree. A device may be missing
    /// as long as there is a copy of the chunk tree on another.
    ///
    /// # Errors
    /// What is wrong, in words: a device cannot be read or is of another file system, or a tree is damaged, or has
    /// changed in the meantime. In the last case it is worth trying again.
    pub fn open(mut devices: Vec<D>) -> Result<Self, String> {
        let mut newest: Option<Superblock> = None;
        let mut ids = BTreeMap::new();
        let mut device_bytes = 0u64;
        for (index, device) in devices.iter_mut().enumerate() {
            let mut bytes = [0; SUPERBLOCK_BYTES];
            read_at(device, SUPERBLOCK_BYTE, &mut bytes)
                .and_then(|()| Superblock::parse(&bytes))
                .and_then(|found| {
                    let index = u16::try_from(index).map_err(|_| "too many devices")?;
                    if ids.insert(found.device_id, index).is_some() {
                        return Err("two devices have the same number".to_owned());
                    }
                    device_bytes = device_bytes.saturating_add(found.device_bytes);
                    match &newest {
                        Some(other) if other.fsid != found.fsid => {
                            return Err("it is of another btrfs".to_owned());
                        }
                        Some(other) if other.generation >= found.generation => {}
                        _ => newest = Some(found),
                    }
                    Ok(())
                })
                .map_err(|what| format!("device {}: {what}", index + 1))?;
        }
        let superblock = newest.ok_or("no device")?;
        let device = |id| ids.get(&id).copied();
        let mut system = ChunkMap::default();
        for (key, item) in superblock.system_chunks()? {
            system.insert(key.offset, item, device)?;
        }
        let root = superblock.chunk_root;
        let mut btrfs = Self { devices, device_bytes, superblock, chunks: system };
        let mut chunks = ChunkMap::default();
        let from = Key::first_of(FIRST_CHUNK_TREE);
        btrfs.walk(root, from..=Key::LAST, &mut |key, item| match key.kind {
            CHUNK_ITEM => chunks.insert(key.offset, item, device),
            _ => Ok(()),
        })?;
        btrfs.chunks = chunks;
        Ok(btrfs)
    }

    /// The superblock of the last committed transaction.
    #[must_use]
    pub fn superblock(&self) -> &Superblock {
        &self.superblock
    }

    /// The chunks.
    #[must_use]
    pub fn chunks(&self) -> &ChunkMap {
        &self.chunks
    }

    /// The chunks, without the devices.
    #[must_use]
    pub(crate) fn into_chunks(self) -> ChunkMap {
        self.chunks
    }

    /// Bytes of all devices that are there.
    pub(crate) fn device_bytes(&self) -> u64 {
        self.device_bytes
    }

    /// Where the extent tree begins.
    pub(crate) fn extent_root(&mut self) -> Result<TreeRoot, String> {
        let mut found = None;
        let first = Key { object: EXTENT_TREE, kind: ROOT_ITEM, offset: 0 };
        let last = Key { offset: u64::MAX, ..first };
        self.walk(self.superblock.root, first..=last, &mut |_, item| {
            // struct btrfs_root_item: an inode of 160 bytes, generation, directory, address, …, level.
            let root = || {
                Some(TreeRoot {
                    generation: u64_at(item, 160)?,
                    logical: u64_at(item, 176)?,
                    level: *item.get(238)?,
                })
            };
            found = Some(root().ok_or("the item of the extent tree's root is incomplete")?);
            Ok(())
        })?;
        found.ok_or_else(|| "there is no extent tree".to_owned())
    }

    /// Visits the items of a tree whose keys are in `range`, in order.
    ///
    /// It ends on any bytes: the level goes down by one from parent to child, the first key of a child is the one that
    /// its parent has for it, and all keys ascend. So no block is visited twice.
    pub(crate) fn walk(
        &mut self,
        root: TreeRoot,
        range: std::ops::RangeInclusive<Key>,
        visit: &mut impl FnMut(Key, &[u8]) -> Result<(), String>,
    ) -> Result<(), String> {
        let damaged = |root: TreeRoot| format!("tree block {}: an entry is damaged", root.logical);
        let mut last: Option<Key> = None;
        // Inner nodes on the way down, each with its next entry.
        let mut path = vec![(self.node(root, None)?, 0)];
        while let Some((node, next)) = path.last_mut() {
            let index = *next;
            *next += 1;
            if index >= node.len() {
                path.pop();
                continue;
            }
            let key = node.key(index).ok_or_else(|| damaged(root))?;
            if key > *range.end() {
                return Ok(());
            }
            if node.level == 0 {
                if last.is_some_and(|last| last >= key) {
                    return Err(format!("tree at {}: its keys are not in order", root.logical));
                }
                last = Some(key);
                if key >= *range.start() {
                    visit(key, node.item(index).ok_or_else(|| damaged(root))?)?;
                }
                continue;
            }
            // All of the child comes before the range if the next child begins at its start or before.
            if node.key(index + 1).is_some_and(|behind| behind <= *range.start()) {
                continue;
            }
            let child = node.child(index).ok_or_else(|| damaged(root))?;
            let child = self.node(child, Some(key))?;
            path.push((child, 0));
        }
        Ok(())
    }

    /// Reads a tree block from the first copy that is what it should be.
    fn node(&mut self, expected: TreeRoot, first_key: Option<Key>) -> Result<Node, String> {
        let bytes = self.superblock.node_bytes;
        let mut wrong = format!("tree block {}: no device has it", expected.logical);
        for copy in 0.. {
            let at = expected.logical;
            let Some(pieces) = self.chunks.copy(at, u64::from(bytes), copy) else { break };
            let node = self
                .read_pieces(&pieces, bytes as usize)
                .and_then(|block| Node::check(block, expected, &self.superblock.metadata_uuid));
            match node {
                Ok(node) if first_key.is_some() && node.key(0) != first_key => {
                    wrong = format!("tree block {at}: it begins with another key");
                }
                Ok(node) => return Ok(node),
                Err(what) => wrong = what,
            }
        }
        Err(wrong)
    }

    fn read_pieces(
        &mut self,
        pieces: &[crate::space::Piece],
        bytes: usize,
    ) -> Result<Vec<u8>, String> {
        let mut block = vec![0; bytes];
        let mut filled = 0;
        for piece in pieces {
            let part = block.get_mut(filled..filled + piece.bytes as usize);
            let device = self.devices.get_mut(usize::from(piece.device));
            let (Some(part), Some(device)) = (part, device) else { break };
            read_at(device, piece.byte, part)?;
            filled += piece.bytes as usize;
        }
        if filled == bytes { Ok(block) } else { Err("a device is missing".to_owned()) }
    }
}

fn read_at(device: &mut (impl Read + Seek), byte: u64, bytes: &mut [u8]) -> Result<(), String> {
    device
        .seek(SeekFrom::Start(byte))
        .and_then(|_| device.read_exact(bytes))
        .map_err(|error| format!("reading byte {byte}: {error}"))
}
