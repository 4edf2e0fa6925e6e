//! Background jobs that delete snapshots and destroy volumes.

use std::sync::Arc;

use super::container::Local;
use super::flexible::{Files, Inode};
use super::names::{NodeId, Slot, VolumeId};
use super::tree::Node;
use crate::dead_lists::SnapshotDeletion;

/// The deletion of a snapshot or the destruction of a volume. Jobs run one after the other.
#[derive(Debug)]
pub(crate) struct TeardownJob {
    pub(crate) volume: VolumeId,
    pub(crate) stage: TeardownStage,
}

#[derive(Debug)]
pub(crate) enum TeardownStage {
    /// Frees the blocks that only the snapshot held.
    Delete(SnapshotDeletion),
    /// Frees all blocks in the container map of the volume, from `next` on.
    EmptyContainer { next: Local },
    /// Drops the tree nodes that nothing else shares.
    DropTrees { roots: Vec<TreeRoot>, volume_goes: bool },
}

#[derive(Debug)]
pub(crate) enum TreeRoot {
    Files(Arc<Node<Arc<Inode>>>),
    File(Arc<Inode>),
    Blocks(Arc<Node<Slot>>),
}

impl TeardownJob {
    pub(crate) fn delete(volume: VolumeId, deletion: SnapshotDeletion) -> Self {
        Self { volume, stage: TeardownStage::Delete(deletion) }
    }

    pub(crate) fn destroy(volume: VolumeId) -> Self {
        Self { volume, stage: TeardownStage::EmptyContainer { next: 0 } }
    }
}

pub(crate) fn roots_of(files: Files) -> Vec<TreeRoot> {
    files.into_root().map(TreeRoot::Files).into_iter().collect()
}

/// Drops at most `most` nodes, and calls `dropped` with those that were stored. Nodes shared with another tree stay in
/// that tree.
pub(crate) fn drop_nodes(
    roots: &mut Vec<TreeRoot>,
    most: u64,
    mut dropped: impl FnMut(NodeId),
) -> u64 {
    let mut used = 0;
    while used < most
        && let Some(root) = roots.pop()
    {
        used += 1;
        let stored_as = match root {
            TreeRoot::Files(node) => Arc::into_inner(node).and_then(|node| {
                let stored_as = node.stored_as().get();
                match node {
                    Node::Inner(inner) => roots.extend(inner.into_values().map(TreeRoot::Files)),
                    Node::Leaf(leaf) => roots.extend(leaf.into_values().map(TreeRoot::File)),
                }
                stored_as
            }),
            TreeRoot::File(inode) => Arc::into_inner(inode).and_then(|inode| {
                roots.extend(inode.blocks.into_root().map(TreeRoot::Blocks));
                inode.stored_as.get()
            }),
            TreeRoot::Blocks(node) => Arc::into_inner(node).and_then(|node| {
                let stored_as = node.stored_as().get();
                if let Node::Inner(inner) = node {
                    roots.extend(inner.into_values().map(TreeRoot::Blocks));
                }
                stored_as
            }),
        };
        stored_as.into_iter().for_each(&mut dropped);
    }
    used
}
