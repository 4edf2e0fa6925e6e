//! Reading pages, and the trees of files on them.

use std::collections::HashMap;
use std::sync::Arc;

use strewn_alloc::SummaryBitmap;
use strewn_raid::Vbn;

use super::array::{ArrayRoot, PageArray};
use super::damage::{Damage, VolumesMountError};
use super::nodes::{NODE_WORDS, NODES_ON_PAGE, NodeIds, NodeKind, node_label, page_of_nodes};
use super::page::{FANOUT, METADATA_BYTES, Page, PageBytes, PageKind, PageName};
use crate::flexible::{Files, Inode};
use crate::names::{NodeId, Slot, StoredAs, VirtualVbn};
use crate::tree::{FANOUT as NODE_FANOUT, FANOUT_BITS, Node, Slots, Tree};

/// Levels of an array of 2^64 pages.
const MOST_LEVELS: u8 = 9;
/// Levels of a tree with 64-bit indexes.
const MOST_TREE_LEVELS: u64 = 11;

/// Reads pages, and knows which blocks are in use for what was read.
pub(super) struct Loader<F> {
    pub(super) read: F,
    pub(super) consistency_points: u64,
    pub(super) total_blocks: u64,
    pub(super) used: SummaryBitmap,
    /// Whether pages must match the checksums of their pointers. A test of what comes after does without.
    pub(super) checks: bool,
}

impl<E, F: FnMut(Vbn, &mut PageBytes) -> Result<(), E>> Loader<F> {
    /// Notes that a block is in use.
    pub(super) fn claim(&mut self, vbn: Vbn) -> Result<(), Damage> {
        if vbn.0 >= self.total_blocks {
            return Err(Damage::OutOfRange(vbn));
        }
        if self.used.insert(vbn.0) { Ok(()) } else { Err(Damage::UsedTwice(vbn)) }
    }

    /// Reads all pages of an array of at most `pages` pages, level by level, in the order in which they lie. Calls
    /// `found` with each page of the map.
    pub(super) fn array(
        &mut self,
        (kind, volume): (PageKind, u32),
        root: ArrayRoot,
        pages: u64,
        mut found: impl FnMut(u64, Page),
    ) -> Result<PageArray, VolumesMountError<E>> {
        let mut array = PageArray::with_levels(root.levels.min(MOST_LEVELS));
        let name = |level, index| PageName { kind, volume, level, index };
        if root.levels > MOST_LEVELS || (root.levels == 0) != root.top.is_none() {
            return Err(Damage::Contents(name(0, 0), "is missing").into());
        }
        let mut below: Vec<_> = root.top.into_iter().map(|pointer| (0, pointer)).collect();
        for level in (0..root.levels).rev() {
            let mut these = std::mem::take(&mut below);
            these.sort_unstable_by_key(|(_, pointer)| pointer.vbn);
            let most = pages.div_ceil(FANOUT.saturating_pow(level.into()));
            for (index, pointer) in these {
                let (name, vbn) = (name(level, index), pointer.vbn);
                if index >= most {
                    return Err(Damage::Contents(name, "is past the end").into());
                }
                self.claim(vbn)?;
                let mut bytes = [0; METADATA_BYTES];
                (self.read)(vbn, &mut bytes).map_err(|error| VolumesMountError::Read {
                    page: name,
                    vbn,
                    error,
                })?;
                let page = Page::from_bytes(&bytes);
                if self.checks && page.crc() != pointer.crc {
                    return Err(Damage::Checksum(name, vbn).into());
                }
                if !page.is(name, self.consistency_points) {
                    return Err(Damage::OtherPage(name, vbn).into());
                }
                array.set(level, index, Some(pointer));
                if level == 0 {
                    found(index, page);
                } else {
                    let children = (0..FANOUT).filter_map(|child| {
                        Some((
                            index.saturating_mul(FANOUT).saturating_add(child),
                            page.pointer(child)?,
                        ))
                    });
                    below.extend(children);
                }
            }
        }
        Ok(array)
    }
}

/// A subtree: its root, the blocks or mapped blocks in it, and its last index.
#[derive(Debug)]
struct Subtree<V> {
    node: Arc<Node<V>>,
    level: u32,
    blocks: u64,
    last: u64,
}

impl<V> Clone for Subtree<V> {
    fn clone(&self) -> Self {
        Self { node: Arc::clone(&self.node), ..*self }
    }
}

/// Builds the trees of files. A node that several trees share is built once.
#[derive(Debug, Default)]
pub(super) struct TreeLoader {
    pub(super) pages: HashMap<u64, Page>,
    pub(super) ids: NodeIds,
    blocks: HashMap<NodeId, Subtree<Slot>>,
    inodes: HashMap<NodeId, Arc<Inode>>,
    files: HashMap<NodeId, Subtree<Arc<Inode>>>,
}

/// The files of an image.
#[derive(Debug, Default)]
pub(super) struct LoadedFiles {
    pub(super) files: Files,
    pub(super) mapped: u64,
    /// Number of the last file; `None` until one is loaded.
    pub(super) last: Option<u64>,
}

impl TreeLoader {
    /// The files whose tree has `levels` levels and the root `root`, less one.
    pub(super) fn files(&mut self, root: u64, levels: u64) -> Result<LoadedFiles, Damage> {
        let Some(id) = root.checked_sub(1).map(NodeId) else { return Ok(LoadedFiles::default()) };
        let level = level_of_root(id, levels)?;
        let Subtree { node, blocks, last, .. } = self.files_node(id, level)?;
        let files = Tree::from_root(node, level + 1);
        Ok(LoadedFiles { files, mapped: blocks, last: Some(last) })
    }

    fn files_node(&mut self, id: NodeId, level: u32) -> Result<Subtree<Arc<Inode>>, Damage> {
        if let Some(known) = self.files.get(&id) {
            return same_level(id, known, level);
        }
        let entries = self.entries(id, NodeKind::Files, level)?;
        let mut sum = Sum::default();
        let node = if level == 0 {
            let mut slots = [const { None }; NODE_FANOUT as usize];
            for (slot, file) in used(&entries) {
                let inode = self.file(file)?;
                sum.add(id, slot, level, inode.mapped, 0)?;
                slots[slot as usize] = Some(inode);
            }
            Node::Leaf(Slots::stored(id, slots))
        } else {
            let mut slots = [const { None }; NODE_FANOUT as usize];
            for (slot, child) in used(&entries) {
                let child = self.files_node(child, level - 1)?;
                sum.add(id, slot, level, child.blocks, child.last)?;
                slots[slot as usize] = Some(child.node);
            }
            Node::Inner(Slots::stored(id, slots))
        };
        let subtree = sum.subtree(id, node, level)?;
        self.ids.node_used(id);
        self.files.insert(id, subtree.clone());
        Ok(subtree)
    }

    fn file(&mut self, id: NodeId) -> Result<Arc<Inode>, Damage> {
        if let Some(known) = self.inodes.get(&id) {
            return Ok(Arc::clone(known));
        }
        let entries = self.entries(id, NodeKind::File, 0)?;
        let mut inode = Inode { stored_as: StoredAs::from(id), ..Inode::default() };
        inode.length = entries[2];
        for (bytes, word) in inode.attributes.chunks_exact_mut(8).zip(&entries[3..]) {
            bytes.copy_from_slice(&word.to_le_bytes());
        }
        if let Some(root) = entries[0].checked_sub(1).map(NodeId) {
            let level = level_of_root(root, entries[1])?;
            let subtree = self.blocks_node(root, level)?;
            inode.blocks = Tree::from_root(subtree.node, level + 1);
            inode.mapped = subtree.blocks;
        }
        let inode = Arc::new(inode);
        self.ids.node_used(id);
        self.inodes.insert(id, Arc::clone(&inode));
        Ok(inode)
    }

    fn blocks_node(&mut self, id: NodeId, level: u32) -> Result<Subtree<Slot>, Damage> {
        if let Some(known) = self.blocks.get(&id) {
            return same_level(id, known, level);
        }
        let entries = self.entries(id, NodeKind::Blocks, level)?;
        let mut sum = Sum::default();
        let node = if level == 0 {
            let mut slots = [None; NODE_FANOUT as usize];
            for (slot, number) in used(&entries) {
                sum.add(id, slot, level, 1, 0)?;
                slots[slot as usize] = Some(VirtualVbn(number.0).into());
            }
            Node::Leaf(Slots::stored(id, slots))
        } else {
            let mut slots = [const { None }; NODE_FANOUT as usize];
            for (slot, child) in used(&entries) {
                let child = self.blocks_node(child, level - 1)?;
                sum.add(id, slot, level, child.blocks, child.last)?;
                slots[slot as usize] = Some(child.node);
            }
            Node::Inner(Slots::stored(id, slots))
        };
        let subtree = sum.subtree(id, node, level)?;
        self.ids.node_used(id);
        self.blocks.insert(id, subtree.clone());
        Ok(subtree)
    }

    /// The entries of node `id`.
    fn entries(&self, id: NodeId, kind: NodeKind, level: u32) -> Result<Vec<u64>, Damage> {
        let (page, place) = (id.0 / NODES_ON_PAGE, id.0 % NODES_ON_PAGE);
        let missing = "does not exist, but files have nodes on it";
        let page = self.pages.get(&page).ok_or(Damage::Contents(page_of_nodes(page), missing))?;
        let first = place * NODE_WORDS;
        if page.word(first) != node_label(kind, level) {
            return Err(damaged(id, "has another node than a file says"));
        }
        Ok((first + 1..first + NODE_WORDS).map(|word| page.word(word)).collect())
    }
}

/// The entries that lead to something, each with its slot.
fn used(entries: &[u64]) -> impl Iterator<Item = (u64, NodeId)> + '_ {
    let entries = (0..).zip(entries);
    entries.filter_map(|(slot, entry)| Some((slot, NodeId(entry.checked_sub(1)?))))
}

fn damaged(id: NodeId, what: &'static str) -> Damage {
    Damage::Contents(page_of_nodes(id.0 / NODES_ON_PAGE), what)
}

fn level_of_root(id: NodeId, levels: u64) -> Result<u32, Damage> {
    match levels {
        1..=MOST_TREE_LEVELS => Ok(levels as u32 - 1),
        _ => Err(damaged(id, "has the root of a tree that cannot be as high")),
    }
}

fn same_level<V>(id: NodeId, known: &Subtree<V>, level: u32) -> Result<Subtree<V>, Damage> {
    if known.level != level {
        return Err(damaged(id, "has a node on two levels"));
    }
    Ok(known.clone())
}

/// Blocks and the last index of a node's children.
#[derive(Default)]
struct Sum {
    blocks: u64,
    last: Option<u64>,
}

impl Sum {
    fn add(
        &mut self,
        id: NodeId,
        slot: u64,
        level: u32,
        blocks: u64,
        last: u64,
    ) -> Result<(), Damage> {
        let bits = FANOUT_BITS * level;
        if slot << bits >> bits != slot {
            return Err(damaged(id, "has an index of more than 64 bits"));
        }
        self.last = Some(slot << bits | last);
        let sum = self.blocks.checked_add(blocks);
        self.blocks = sum.ok_or(damaged(id, "has more blocks than can be"))?;
        Ok(())
    }

    fn subtree<V>(self, id: NodeId, node: Node<V>, level: u32) -> Result<Subtree<V>, Damage> {
        let last = self.last.ok_or(damaged(id, "has a node without entries"))?;
        Ok(Subtree { node: Arc::new(node), level, blocks: self.blocks, last })
    }
}
