//! Deleting snapshots and destroying volumes, a bounded step at a time.

use super::container::{Entry, Local, free_owned_block};
use super::error::VolumeError;
use super::flexible::Volume;
use super::names::VolumeId;
use super::teardown::{TeardownStage, drop_nodes, roots_of};
use super::volumes::Volumes;
use crate::dead_lists::SnapshotDeletion;

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
            TeardownStage::Delete(deletion) => self.delete(volume, deletion, most),
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

    fn delete(
        &mut self,
        id: VolumeId,
        mut deletion: SnapshotDeletion,
        most: u64,
    ) -> (u64, Option<TeardownStage>) {
        // If the volume has been destroyed since, its container is emptied as a whole.
        let Some(volume) = self.volumes.get_mut(&id).filter(|volume| !volume.is_destroyed) else {
            return (1, None);
        };
        let Volume { container, snapshots, .. } = volume;
        let birth_of = |local: &Local| container.get(*local).map_or(0, Entry::birth);
        let mut freed = Vec::new();
        let free = |local| freed.push(local);
        let (used, gone) = snapshots.delete_step(&mut deletion, most, birth_of, free);
        self.release_between(id, &freed);
        let Some(gone) = gone else { return (used, Some(TeardownStage::Delete(deletion))) };
        assert!(gone.clones == 0, "{id}: a snapshot with {} clones is deleted", gone.clones);
        if let Some(metadata) = &mut self.metadata {
            metadata.snapshot_changed(id, deletion.snapshot());
        }
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
        // The end of the map counts as a visit, so that an empty one is not taken for no work.
        let visited = volume.container.scannable(next).min(most).max(1);
        let (found, go_on) = volume.container.scan(next, most);
        let found: Vec<Local> = found.map(|(local, _)| local).collect();
        self.release_between(id, &found);
        if let Some(next) = go_on {
            return (visited, Some(TeardownStage::EmptyContainer { next }));
        }
        let Some(volume) = self.volumes.get_mut(&id) else { return (1, None) };
        let snapshots = std::mem::take(&mut volume.snapshots);
        let mut roots = roots_of(std::mem::take(&mut volume.files));
        roots.extend(snapshots.into_contents().flat_map(|snapshot| roots_of(snapshot.files)));
        (visited, Some(TeardownStage::DropTrees { roots, volume_goes: true }))
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
            && let Some(origin) = parent.snapshots.get_mut(snapshot)
        {
            assert!(origin.clones > 0, "{snapshot}: a clone ends that was not counted");
            origin.clones -= 1;
        }
    }
}
