//! Snapshots of a simulated array: what they hold stays where it is and as it is, and comes back once they are deleted.

mod bytes;
mod reservations;
mod tight;

use std::collections::{BTreeMap, BTreeSet};

use strewn_alloc::BlockMap;
use strewn_array::write_anywhere::{BlockKeys, WriteAnywhere};
use strewn_array::{Array, Driver, Payload, SnapshotId, SnapshotRefusal};
use strewn_raid::Vbn;

/// Asks for a snapshot of all volumes, which have the same number.
fn ask<P: Payload>(
    array: &mut WriteAnywhere<P>,
    now_ns: u64,
    driver: &mut impl Driver<P>,
) -> Result<SnapshotId, SnapshotRefusal> {
    let volumes = array.snapshot_volumes();
    let asked = array.begin_snapshots(now_ns, &volumes, driver)?;
    let (_, first) = asked[0];
    assert!(asked.iter().map(|(_, snapshot)| *snapshot).eq(volumes.iter().map(|_| first)));
    Ok(first)
}

type Image = Vec<Option<Vbn>>;

/// Where each block of the file lies, its indirect blocks and inode included.
fn image_of(map: &BlockMap, keys: &BlockKeys) -> Image {
    (0..keys.indirect().end).map(|key| map.get(key)).collect()
}

/// The places that the snapshots kept hold, learned by watching where blocks lie between any two calls.
#[derive(Default)]
struct Images {
    before_call: Image,
    taken: u64,
    kept: BTreeMap<SnapshotId, Image>,
}

impl Images {
    fn new(now: Image) -> Self {
        Self { before_call: now, ..Self::default() }
    }

    /// After each call of the array. Returns the snapshot that the call has completed: it has the places from before
    /// the call, since another consistency point may have begun in it.
    fn look(&mut self, now: Image, taken: u64) -> Option<SnapshotId> {
        let before = std::mem::replace(&mut self.before_call, now);
        if taken == self.taken {
            return None;
        }
        assert_eq!(taken, self.taken + 1, "a call completes one snapshot at most");
        self.taken = taken;
        // They are numbered in order.
        let id = SnapshotId(taken as u32);
        self.kept.insert(id, before);
        Some(id)
    }

    /// Panics if one of `written` is held.
    fn check_writes(&self, written: &[Vbn]) {
        if written.is_empty() {
            return;
        }
        let held = self.held();
        let overwritten = written.iter().find(|vbn| held.contains(vbn));
        assert_eq!(overwritten, None, "a block is written that a snapshot holds");
    }

    fn held(&self) -> BTreeSet<Vbn> {
        self.kept.values().flatten().flatten().copied().collect()
    }

    /// Places held that the file does not have any more.
    fn beside_the_file(&self) -> usize {
        let file: BTreeSet<Vbn> = self.before_call.iter().flatten().copied().collect();
        self.held().difference(&file).count()
    }
}
