//! What only some kinds of arrays can do. An array that cannot do it implements the trait with nothing.

use strewn_volume::{SnapshotId, VolumeId};

use crate::driver::{Array, Driver, GroupMeasures, SpindleCommand};
use crate::log::LogSize;
use crate::payload::Payload;
use crate::snapshot::{SnapshotMeasures, SnapshotRefusal, VolumeMeasures};

/// An array that takes snapshots of volumes.
pub trait Snapshots<P: Payload> {
    /// The volumes that it takes snapshots of; none in an array without snapshots.
    fn snapshot_volumes(&self) -> Vec<VolumeId> {
        Vec::new()
    }

    /// Asks for a snapshot of each of `volumes` as acknowledged now. They are taken together with the next consistency
    /// point, which begins at once or as soon as the one in progress ends, and take effect with its commit. Two of a
    /// volume that are asked for before that are one.
    ///
    /// # Errors
    /// If the array simulates no snapshots, or with these what is reserved could not be overwritten in full. Then none
    /// is taken.
    fn begin_snapshots(
        &mut self,
        now_ns: u64,
        volumes: &[VolumeId],
        driver: &mut impl Driver<P>,
    ) -> Result<Vec<(VolumeId, SnapshotId)>, SnapshotRefusal> {
        let _ = (now_ns, volumes, driver);
        Err(SnapshotRefusal::NotSimulated)
    }

    /// Deletes a snapshot. It disappears at once, and the blocks that only it held become free in the background, some
    /// with each consistency point. False if there is no such snapshot, or it is not taken yet.
    fn expire_snapshot(&mut self, volume: VolumeId, snapshot: SnapshotId) -> bool {
        let _ = (volume, snapshot);
        false
    }

    /// What the array's snapshots hold; `None` in an array that never had any.
    fn snapshot_measures(&self) -> Option<SnapshotMeasures> {
        None
    }

    /// Each volume as it is now; none in an array that counts no reservations, since all its volumes are thick and none
    /// ever had a snapshot.
    fn volume_measures(&self) -> Vec<VolumeMeasures> {
        Vec::new()
    }
}

/// An array that may get further groups of spindles while it runs.
pub trait Growable<P: Payload> {
    /// The parity groups or disk groups of an array that has several, or will have; empty for any other array.
    fn groups(&self) -> Vec<GroupMeasures> {
        Vec::new()
    }

    /// Adds the next of the parity groups that the array was configured with and does not have yet. Returns whether
    /// there was one.
    fn add_group(&mut self, now_ns: u64, driver: &mut impl Driver<P>) -> bool {
        let _ = (now_ns, driver);
        false
    }
}

/// An array with a log, and blocks that may be damaged, as a live one has them.
pub trait Durable<P: Payload> {
    /// The log that the array needs; `None` for an array whose cache protects what it acknowledges.
    fn log_size(&self) -> Option<LogSize> {
        None
    }

    /// The commit requested by [`Durability::commit`](crate::Durability::commit) is durable.
    fn committed(&mut self, now_ns: u64, driver: &mut impl Driver<P>) {
        let _ = (now_ns, driver);
    }

    /// A read could not return all of its blocks, or some are not what was written. `bad` has one flag for each 4 KiB
    /// block of `command`. The array computes the bad blocks from the rest of their stripes and rewrites them. The
    /// command's payload holds the good blocks, if they are known.
    fn blocks_failed(
        &mut self,
        now_ns: u64,
        command: SpindleCommand<P>,
        bad: &[bool],
        driver: &mut impl Driver<P>,
    ) {
        let _ = (now_ns, command, bad, driver);
    }
}

/// An array with whatever it can do, as what drives arrays takes it.
pub trait AnyArray<P: Payload>: Array<P> + Snapshots<P> + Growable<P> + Durable<P> {}

impl<P: Payload, A: Array<P> + Snapshots<P> + Growable<P> + Durable<P>> AnyArray<P> for A {}
