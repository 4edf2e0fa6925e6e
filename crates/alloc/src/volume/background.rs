//! Deleting snapshots and destroying volumes, a bounded step at a time.

use super::container::{Local, free_owned_block};
use super::error::VolumeError;
use super::names::{SnapshotId, VolumeId};
use super::teardown::{TeardownStage, drop_nodes, roots_of};
use super::volumes::Volumes;

impl Volumes {
    /// Continues deleting snapshots and destroying volumes. Visits at most `most` entries of dead lists, slots of
    /// container maps and nodes of trees, and returns how many it visited: 0 if nothing is left to do.
    ///
    /// The blocks become free with the next commit.
    ///
    /// # Errors
    /// During a consistency point.
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

    /// Whether [`background_step`](Self::background_step) has anything left to do.
    #[must_use]
    pub fn is_background_work_left(&self) -> bool {
        !self.jobs.is_empty()
    }

    /// Returns the work done and the next stage, `None` once the job is done.
    fn advance(
        &mut self,
        volume: VolumeId,
        stage: TeardownStage,
        most: u64,
    ) -> (u64, Option<TeardownStage>) {
        match stage {
            TeardownStage::FreeHeld { snapshot, next } => {
                self.free_held(volume, snapshot, next, most)
            }
            TeardownStage::JoinLists { snapshot } => self.join_lists(volume, snapshot, most),
            TeardownStage::EmptyContainer { next } => self.empty_container(volume, next, most),
            TeardownStage::DropTrees { mut roots, volume_goes } => {
                let Self { metadata, .. } = self;
                let used = drop_nodes(&mut roots, most, |id| {
                    if let Some(metadata) = metadata {
                        metadata.node_dropped(id);
                    }
                });
                if !roots.is_empty() {
                    return (used, Some(TeardownStage::DropTrees { roots, volume_goes }));
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
    ) -> (u64, Option<TeardownStage>) {
        // If the volume has been destroyed since, its container is emptied as a whole.
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
                return (used + 1, Some(TeardownStage::JoinLists { snapshot }));
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
        (used, Some(TeardownStage::FreeHeld { snapshot, next }))
    }

    fn join_lists(
        &mut self,
        id: VolumeId,
        snapshot: SnapshotId,
        most: u64,
    ) -> (u64, Option<TeardownStage>) {
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
            return (used, Some(TeardownStage::JoinLists { snapshot }));
        }
        let gone = volume.snapshots.remove(index);
        if let Some(metadata) = &mut self.metadata {
            metadata.snapshot_changed(id, snapshot);
        }
        assert!(gone.clones == 0, "{id}, {snapshot}: deleted with {} clones", gone.clones);
        let roots = roots_of(gone.files);
        (used, Some(TeardownStage::DropTrees { roots, volume_goes: false }))
    }

    fn empty_container(
        &mut self,
        id: VolumeId,
        next: Local,
        most: u64,
    ) -> (u64, Option<TeardownStage>) {
        let Some(volume) = self.volumes.get_mut(&id) else { return (1, None) };
        let (found, go_on) = volume.container.scan(next, most);
        let found: Vec<Local> = found.map(|(local, _)| local).collect();
        self.release_between(id, &found);
        if let Some(next) = go_on {
            return (most, Some(TeardownStage::EmptyContainer { next }));
        }
        let Some(volume) = self.volumes.get_mut(&id) else { return (1, None) };
        (volume.dead, volume.dead_blocks) = (Vec::new(), 0);
        let snapshots = std::mem::take(&mut volume.snapshots);
        let mut roots = roots_of(std::mem::take(&mut volume.files));
        roots.extend(snapshots.into_iter().flat_map(|snapshot| roots_of(snapshot.files)));
        (most, Some(TeardownStage::DropTrees { roots, volume_goes: true }))
    }

    /// Frees owned blocks between consistency points. They become free with the next commit, even if a consistency
    /// point is abandoned before it.
    fn release_between(&mut self, id: VolumeId, locals: &[Local]) {
        let Some(volume) = self.volumes.get_mut(&id) else { return };
        for local in locals {
            let Some(entry) = volume.container.remove(*local) else { continue };
            volume.container.free_number(*local);
            free_owned_block(&mut self.aggregate, entry.vbn());
        }
    }

    /// Removes a volume that has been taken apart.
    fn forget(&mut self, id: VolumeId) {
        let Some(gone) = self.volumes.remove(&id) else { return };
        if let Some(metadata) = &mut self.metadata {
            metadata.volume_gone(id, &mut self.aggregate);
        }
        let Some((parent, snapshot)) = gone.origin else { return };
        // The parent cannot have been destroyed: it had a clone.
        if let Some(parent) = self.volumes.get_mut(&parent)
            && let Some(index) = parent.index_of(snapshot)
        {
            let clones = &mut parent.snapshots[index].clones;
            assert!(*clones > 0, "{snapshot}: a clone ends that was not counted");
            *clones -= 1;
        }
    }
}
