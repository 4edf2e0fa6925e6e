//! Deleting snapshots and destroying volumes, a bounded step at a time.

use std::sync::Arc;

use strewn_raid::Vbn;

use super::container::Local;
use super::error::VolumeError;
use super::flexible::{Files, Inode};
use super::names::{Slot, SnapshotId, VolumeId};
use super::tree::Node;
use super::volumes::Volumes;

/// Something to be taken apart. Jobs are done one after the other.
#[derive(Debug)]
pub(crate) struct Job {
    volume: VolumeId,
    stage: Stage,
}

#[derive(Debug)]
enum Stage {
    /// Frees what is on the dead list of the image after the snapshot, from `next` on, and was held by the snapshot
    /// alone.
    FreeHeld { snapshot: SnapshotId, next: usize },
    /// Joins the snapshot's dead list to that of the image after it.
    JoinLists { snapshot: SnapshotId },
    /// Frees all that the volume's container map has, from `next` on.
    EmptyContainer { next: Local },
    /// Drops the nodes of trees that nothing else shares.
    DropTrees { roots: Vec<Root>, volume_goes: bool },
}

#[derive(Debug)]
enum Root {
    Files(Arc<Node<Arc<Inode>>>),
    File(Arc<Inode>),
    Blocks(Arc<Node<Slot>>),
}

impl Job {
    pub(crate) fn delete(volume: VolumeId, snapshot: SnapshotId) -> Self {
        Self { volume, stage: Stage::FreeHeld { snapshot, next: 0 } }
    }

    pub(crate) fn destroy(volume: VolumeId) -> Self {
        Self { volume, stage: Stage::EmptyContainer { next: 0 } }
    }
}

impl Volumes {
    /// Goes on with the deletion of snapshots and the destruction of volumes, by at most `most` entries of dead lists,
    /// slots of container maps and nodes of trees looked at. How many it were: 0 when there is nothing left to do.
    ///
    /// Blocks come back with the next commit.
    ///
    /// # Errors
    /// Amid a consistency point.
    pub fn background_step(&mut self, most: u64) -> Result<u64, VolumeError> {
        self.between_consistency_points()?;
        let mut left = most;
        while left > 0
            && let Some(mut job) = self.jobs.pop_front()
        {
            let (used, next) = self.advance(job.volume, job.stage, left);
            left -= used.min(left);
            if let Some(stage) = next {
                job.stage = stage;
                self.jobs.push_front(job);
            }
        }
        Ok(most - left)
    }

    /// Whether [`background_step`](Self::background_step) has anything to do.
    #[must_use]
    pub fn is_background_work_left(&self) -> bool {
        !self.jobs.is_empty()
    }

    /// Work done, and the stage that comes now; none when the job is done.
    fn advance(&mut self, volume: VolumeId, stage: Stage, most: u64) -> (u64, Option<Stage>) {
        match stage {
            Stage::FreeHeld { snapshot, next } => self.free_held(volume, snapshot, next, most),
            Stage::JoinLists { snapshot } => self.join_lists(volume, snapshot, most),
            Stage::EmptyContainer { next } => self.empty_container(volume, next, most),
            Stage::DropTrees { mut roots, volume_goes } => {
                let used = drop_nodes(&mut roots, most);
                if !roots.is_empty() {
                    return (used, Some(Stage::DropTrees { roots, volume_goes }));
                }
                if volume_goes {
                    self.forget(volume);
                }
                (used.max(1), None)
            }
        }
    }

    fn free_held(
        &mut self,
        id: VolumeId,
        snapshot: SnapshotId,
        mut next: usize,
        most: u64,
    ) -> (u64, Option<Stage>) {
        // The volume may have been destroyed meanwhile, and its container emptied as a whole.
        let Some(volume) = self.volumes.get_mut(&id).filter(|volume| !volume.is_destroyed) else {
            return (1, None);
        };
        let Some(index) = volume.index_of(snapshot) else { return (1, None) };
        let kept_before = volume.kept_before(index);
        let mut freed = Vec::new();
        let mut used = 0;
        while used < most {
            let Some(local) = volume.dead_list(index + 1).get(next).copied() else {
                self.release_between(id, &freed);
                return (used + 1, Some(Stage::JoinLists { snapshot }));
            };
            used += 1;
            let birth = volume.container.get(local).map_or(0, |entry| entry.birth());
            if birth > kept_before {
                volume.dead_list_mut(index + 1).swap_remove(next);
                volume.dead_blocks -= 1;
                freed.push(local);
            } else {
                next += 1;
            }
        }
        self.release_between(id, &freed);
        (used, Some(Stage::FreeHeld { snapshot, next }))
    }

    fn join_lists(
        &mut self,
        id: VolumeId,
        snapshot: SnapshotId,
        most: u64,
    ) -> (u64, Option<Stage>) {
        let Some(volume) = self.volumes.get_mut(&id).filter(|volume| !volume.is_destroyed) else {
            return (1, None);
        };
        let Some(index) = volume.index_of(snapshot) else { return (1, None) };
        let list = volume.dead_list_mut(index);
        let keep = list.len().saturating_sub(most as usize);
        let joined = list.split_off(keep);
        let used = joined.len() as u64 + 1;
        volume.dead_list_mut(index + 1).extend(joined);
        if keep > 0 {
            return (used, Some(Stage::JoinLists { snapshot }));
        }
        let gone = volume.snapshots.remove(index);
        let roots = roots_of(gone.files);
        (used, Some(Stage::DropTrees { roots, volume_goes: false }))
    }

    fn empty_container(&mut self, id: VolumeId, next: Local, most: u64) -> (u64, Option<Stage>) {
        let Some(volume) = self.volumes.get_mut(&id) else { return (1, None) };
        let (found, go_on) = volume.container.scan(next, most);
        let found: Vec<Local> = found.map(|(local, _)| local).collect();
        self.release_between(id, &found);
        if let Some(next) = go_on {
            return (most, Some(Stage::EmptyContainer { next }));
        }
        let Some(volume) = self.volumes.get_mut(&id) else { return (1, None) };
        (volume.dead, volume.dead_blocks) = (Vec::new(), 0);
        let snapshots = std::mem::take(&mut volume.snapshots);
        let mut roots = roots_of(std::mem::take(&mut volume.files));
        roots.extend(snapshots.into_iter().flat_map(|snapshot| roots_of(snapshot.files)));
        (most, Some(Stage::DropTrees { roots, volume_goes: true }))
    }

    /// Takes owned blocks out of the container map between consistency points; they are free with the next commit,
    /// whatever is abandoned before.
    fn release_between(&mut self, id: VolumeId, locals: &[Local]) {
        let Some(volume) = self.volumes.get_mut(&id) else { return };
        for local in locals {
            let Some(entry) = volume.container.remove(*local) else { continue };
            volume.container.give_number_back(*local);
            volume.given_back.push(*local);
            self.given_back.push(entry.vbn());
            give_back(&mut self.aggregate, entry.vbn());
        }
    }

    /// Removes a volume that has been taken apart.
    fn forget(&mut self, id: VolumeId) {
        let Some(gone) = self.volumes.remove(&id) else { return };
        let Some((parent, snapshot)) = gone.origin else { return };
        // The parent cannot have been destroyed: it had a clone.
        if let Some(parent) = self.volumes.get_mut(&parent)
            && let Some(index) = parent.index_of(snapshot)
        {
            parent.snapshots[index].clones -= 1;
        }
    }
}

/// Gives back a block that a container map has just lost.
pub(crate) fn give_back<T: Copy>(aggregate: &mut crate::Aggregate<T>, vbn: Vbn) {
    let given = aggregate.free_at_commit(vbn);
    debug_assert!(given.is_ok(), "{given:?}");
}

fn roots_of(files: Files) -> Vec<Root> {
    files.into_root().map(Root::Files).into_iter().collect()
}

/// Drops at most `most` nodes; those that something else shares stay with that.
fn drop_nodes(roots: &mut Vec<Root>, most: u64) -> u64 {
    let mut used = 0;
    while used < most
        && let Some(root) = roots.pop()
    {
        used += 1;
        match root {
            Root::Files(node) => match Arc::into_inner(node) {
                Some(Node::Inner(inner)) => roots.extend(inner.into_values().map(Root::Files)),
                Some(Node::Leaf(leaf)) => roots.extend(leaf.into_values().map(Root::File)),
                None => {}
            },
            Root::File(inode) => {
                let blocks = Arc::into_inner(inode).and_then(|inode| inode.blocks.into_root());
                roots.extend(blocks.map(Root::Blocks));
            }
            Root::Blocks(node) => match Arc::into_inner(node) {
                Some(Node::Inner(inner)) => roots.extend(inner.into_values().map(Root::Blocks)),
                Some(Node::Leaf(_)) | None => {}
            },
        }
    }
    used
}
