//! Tree nodes in storage: seven on a page, written once.
//!
//! A changed node is another node, because the last commit and snapshots still need the old one. So the nodes that a
//! consistency point changes go together on new pages, and a page is freed when none of its nodes is left. If nodes are
//! changed at random, 2.7 of 7 are on average: a page lives as long as the last of them, 1 + 1/2 + ... + 1/7 = 2.6
//! times as long as one does.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use super::page::{Page, PageKind, PageName, words_of};
use crate::flexible::{Files, Inode};
use crate::names::{NodeId, Slot, StoredAs, VirtualVbn};
use crate::tree::{FANOUT, Node};

pub(crate) const NODES_ON_PAGE: u64 = 7;
/// What the node is, and its entries.
pub(crate) const NODE_WORDS: u64 = 1 + FANOUT;

/// What a stored node is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u8)]
pub(crate) enum NodeKind {
    /// A node of the tree of a file. Entries of leaves are block numbers plus one, of others nodes plus one.
    Blocks = 1,
    /// A node of the tree of all files. Entries are nodes plus one.
    Files = 2,
    /// A file: the root of its tree plus one, the levels of the tree, the length in bytes, the attributes.
    File = 3,
}

/// The first word of a stored node.
pub(crate) fn node_label(kind: NodeKind, level: u32) -> u64 {
    kind as u64 | u64::from(level) << 8
}

pub(crate) fn page_of_nodes(index: u64) -> PageName {
    PageName { kind: PageKind::Nodes, volume: 0, level: 0, index }
}

/// How many nodes of each page are in use.
#[derive(Debug, Default)]
pub(crate) struct NodeIds {
    used: Vec<u8>,
    /// Pages without a node in use.
    empty: BTreeSet<u64>,
}

impl NodeIds {
    pub(crate) fn is_used(&self, page: u64) -> bool {
        self.used.get(page as usize).is_some_and(|used| *used > 0)
    }

    /// A page that had no node in use.
    fn take_page(&mut self) -> u64 {
        self.empty.pop_first().unwrap_or(self.used.len() as u64)
    }

    /// A node is in use: written now, or found in storage.
    pub(crate) fn node_used(&mut self, id: NodeId) {
        let page = id.0 / NODES_ON_PAGE;
        let pages = self.used.len() as u64;
        if page >= pages {
            self.empty.extend(pages..page);
            self.used.resize(page as usize + 1, 0);
        }
        self.empty.remove(&page);
        self.used[page as usize] += 1;
    }

    /// A node is dropped. Returns its page if that has no other.
    pub(crate) fn node_dropped(&mut self, id: NodeId) -> Option<u64> {
        let page = id.0 / NODES_ON_PAGE;
        let used = &mut self.used[page as usize];
        *used -= 1;
        (*used == 0).then(|| {
            self.empty.insert(page);
            page
        })
    }
}

/// Writes the nodes that are not stored yet to new pages.
pub(crate) struct NodeWriter<'a> {
    pub(crate) ids: &'a mut NodeIds,
    pub(crate) consistency_point: u64,
    pub(crate) pages: &'a mut BTreeMap<u64, Page>,
    /// The page being filled, and the nodes on it.
    pub(crate) filling: Option<(u64, u64)>,
}

impl NodeWriter<'_> {
    pub(crate) fn write_files(&mut self, files: &Files) {
        if let Some(root) = files.root() {
            self.files_node(root, files.levels() - 1);
        }
    }

    fn files_node(&mut self, node: &Node<Arc<Inode>>, level: u32) -> NodeId {
        if let Some(id) = node.stored_as().get() {
            return id;
        }
        let entries = match node {
            Node::Leaf(leaf) => {
                leaf.slots.each_ref().map(|slot| slot.as_ref().map(|inode| self.file(inode)))
            }
            Node::Inner(inner) => inner
                .slots
                .each_ref()
                .map(|slot| slot.as_ref().map(|child| self.files_node(child, level - 1))),
        };
        let entries = entries.map(|entry| entry.map_or(0, |id| id.0 + 1));
        self.write(NodeKind::Files, level, &entries, node.stored_as())
    }

    fn file(&mut self, inode: &Inode) -> NodeId {
        if let Some(id) = inode.stored_as.get() {
            return id;
        }
        let levels = inode.blocks.levels();
        let root = inode.blocks.root().map(|root| self.blocks_node(root, levels - 1));
        let mut entries = vec![root.map_or(0, |id| id.0 + 1), u64::from(levels), inode.length];
        entries.extend(words_of(&inode.attributes));
        self.write(NodeKind::File, 0, &entries, &inode.stored_as)
    }

    fn blocks_node(&mut self, node: &Node<Slot>, level: u32) -> NodeId {
        if let Some(id) = node.stored_as().get() {
            return id;
        }
        let entries = match node {
            Node::Leaf(leaf) => {
                leaf.slots.map(|slot| slot.map_or(0, |slot| VirtualVbn::from(slot).0 + 1))
            }
            Node::Inner(inner) => inner.slots.each_ref().map(|slot| {
                slot.as_ref().map_or(0, |child| self.blocks_node(child, level - 1).0 + 1)
            }),
        };
        self.write(NodeKind::Blocks, level, &entries, node.stored_as())
    }

    fn write(
        &mut self,
        kind: NodeKind,
        level: u32,
        entries: &[u64],
        stored_as: &StoredAs,
    ) -> NodeId {
        let (index, place) = match self.filling {
            Some((page, nodes)) if nodes < NODES_ON_PAGE => (page, nodes),
            _ => (self.ids.take_page(), 0),
        };
        self.filling = Some((index, place + 1));
        let consistency_point = self.consistency_point;
        let page = self.pages.entry(index);
        let page = page.or_insert_with(|| Page::new(page_of_nodes(index), consistency_point));
        let first = place * NODE_WORDS;
        page.set_word(first, node_label(kind, level));
        for (word, entry) in (first + 1..).zip(entries) {
            page.set_word(word, *entry);
        }
        let id = NodeId(index * NODES_ON_PAGE + place);
        self.ids.node_used(id);
        stored_as.set(id);
        id
    }
}
