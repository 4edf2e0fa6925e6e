//! Reading LUNs as they are in snapshots.

use strewn_base::Direction;
use strewn_base::state::SavedValue;
use strewn_volume::SnapshotId;

use crate::driver::{Driver, HostOperation};
use crate::lun_id::LunId;
use crate::payload::Payload;
use crate::processor::ProcessorWork;

use super::WriteAnywhere;
use super::metadata::Pointer;
use super::tag::{Owner, TagFields};

/// A LUN as it is in a snapshot.
#[derive(Debug, Clone, Copy, PartialEq, Eq, SavedValue)]
pub struct View {
    /// The number of the LUN's file. The LUN itself may be gone.
    pub file: u32,
    /// Its blocks when the snapshot was taken.
    pub blocks: u32,
    /// The snapshot, of the LUN's volume.
    pub snapshot: SnapshotId,
}

impl<P: Payload> WriteAnywhere<P> {
    /// Opens a LUN as it is in a snapshot of its volume, for reading. Returns the number under which reads find it,
    /// behind those of the LUNs.
    ///
    /// # Panics
    /// If the payload carries no data.
    pub fn open_view(&mut self, view: View) -> LunId {
        assert!(P::CARRIES_DATA, "there is nothing to read");
        let slot = self.views.insert(view);
        LunId(self.keys.luns() + slot as u16)
    }

    /// The view with this number; `None` for a LUN.
    pub(super) fn view(&self, number: LunId) -> Option<View> {
        let slot = number.0.checked_sub(self.keys.luns())?;
        self.views.get(usize::from(slot)).copied()
    }

    /// Closes all views. No read of one may be in progress.
    pub fn close_views(&mut self) {
        self.views.clear();
    }

    /// A read of a view. It goes to the spindles: what the cache has are blocks of the active image.
    #[cold]
    pub(super) fn read_view(&mut self, host: HostOperation<P>, driver: &mut impl Driver<P>) {
        assert!(host.direction == Direction::Read, "a snapshot is only read");
        let view = self.views[usize::from(host.lun.0 - self.keys.luns())];
        driver.processor(ProcessorWork::Operation, self.processor().of_operation(host.sectors));
        let (slot, blocks) = self.begin_view_read(host);
        assert!(blocks.end <= view.blocks, "an operation ends behind its LUN");
        let mut block = blocks.start;
        while block < blocks.end {
            let Some(Pointer { vbn, .. }) = self.block_in_view(view, block) else {
                self.never_written(slot, block, true);
                block += 1;
                continue;
            };
            let run = self.longest_run(vbn, block..blocks.end, |next, behind| {
                self.block_in_view(view, next).is_some_and(|next| next.vbn == behind)
            });
            self.read_run_for(slot, block, run, driver);
            self.counters.data_reads += 1;
            block += run.blocks;
        }
        self.on_view_reads_sent(slot, driver);
    }

    /// Where a block of a LUN is in a snapshot; `None` if the LUN had none there.
    pub(super) fn block_in_view(&self, view: View, block: u32) -> Option<Pointer> {
        let View { file, snapshot: SnapshotId(snapshot), .. } = view;
        let held = &self.stored.as_ref()?.held;
        if let Some(version) = held.replaced_since((file, block), snapshot) {
            return version;
        }
        let keys = self.keys.blocks_of(self.keys.lun_with_file(file)?);
        let key = keys.start.checked_add(block).filter(|key| keys.contains(key))?;
        let birth = self.snapshots.as_ref()?.space.birth(key);
        if birth > snapshot { None } else { self.pointer(key) }
    }

    /// The view that a read is of, if it is of one.
    pub(super) fn view_of_read(&self, fields: TagFields) -> Option<View> {
        if fields.owner != Owner::HostOperation {
            return None;
        }
        self.view(self.view_read_by(fields.slot)?)
    }
}
