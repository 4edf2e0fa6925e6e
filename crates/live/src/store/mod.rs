//! The spindles of an array as verified blocks. Each block is stored with a CRC-32C, its address and a tag of its
//! contents.
//!
//! A [`Store`] does no I/O. It accepts reads, writes and flushes by token, issues the devices' I/Os through
//! [`Store::take_ios`], learns their outcome through [`Store::done`], and reports completed requests through
//! [`Store::take_events`]. Addresses are those of spindle commands: sectors of 512 bytes, on a spindle without its
//! checksum blocks.
//!
//! ```
//! use strewn_array::BlockContents;
//! use strewn_live::device::{Devices, SimulatedDevices};
//! use strewn_live::format::{BlockTag, Identity};
//! use strewn_live::store::{Store, StoreEvent, Token};
//! use strewn_raid::SpindleIndex;
//!
//! let mut devices = SimulatedDevices::zeroed(1, 2, 1 << 20);
//! let mut store = Store::new(Identity([7; 16]).tag(), 2, 1 << 20);
//! let tags = [BlockTag::from(BlockContents::lun(3))];
//! store.write(Token(1), SpindleIndex(1), 80, &[&[5; 4096]], &tags, 0);
//!
//! let (mut ios, mut events) = (Vec::new(), Vec::new());
//! while events.is_empty() {
//!     store.take_ios(&mut ios);
//!     ios.drain(..).for_each(|io| devices.submit(io));
//!     if let Some(done) = devices.step() {
//!         store.done(done);
//!     }
//!     store.take_events(&mut events);
//! }
//! assert!(matches!(events[0], StoreEvent::Write { token: Token(1), result: Ok(()) }));
//! ```

mod all_spindles;
mod api;
mod completion;
mod initialization;
mod operation;
mod pool;
mod reading;
mod rows;
mod writing;

pub use api::{BadBlock, BlockState, ReadOutcome, SpindleWriteError, StoreEvent, Token};

use rustc_hash::FxHashMap;
use slab::Slab;
use strewn_raid::{Dbn, SpindleIndex};

use crate::device::{BLOCK_BYTES, DeviceIndex, Io, IoId, IoRequest};
use crate::format::{ArrayTag, BlockTag, Superblock};
use initialization::Zones;
use operation::{Extent, IoPurpose, Operation, OperationKind, PartWork, RowPart, SECTOR, SentIo};
use pool::BufferPool;
use rows::{RowId, Rows};

/// The spindles of an array; device `n` is spindle `n`.
///
/// # How it works
/// An operation has a part in each row it touches. A row knows its parts and its checksum block. Whenever an I/O of
/// the row completes, each of its parts advances as far as it can. A read is sent when no write of its blocks is in
/// flight; if one began before the read completed, and the checksum does not match, the blocks are read again. A
/// write is sent at once. Its entries go into the checksum block in memory, which is written when the driver next
/// asks for I/Os: once for all writes of the row, and once more for those that arrive while that write is in flight.
#[derive(Debug)]
pub struct Store {
    tag: ArrayTag,
    present: Vec<bool>,
    rows: Rows,
    operations: Slab<Operation>,
    parts: Slab<RowPart>,
    /// I/Os that are not complete yet.
    sent: FxHashMap<IoId, SentIo>,
    /// I/Os that were not passed to the devices yet.
    ios: Vec<Io>,
    next_io: u64,
    /// Rows whose checksum blocks have changed.
    dirty: Vec<RowId>,
    /// Rows whose parts may be able to advance.
    ready_rows: Vec<RowId>,
    /// Partial writes whose edge blocks were read.
    merged: Vec<Operation>,
    finished: Vec<StoreEvent>,
    pool: BufferPool,
    /// The zones of each parity group, or of all spindles of an in-place array; none in an array without initialization
    /// maps.
    zones: Vec<Zones>,
    /// Whether a spindle was lost, and the labels may not say so yet. Its zones were perhaps not initialized: if the
    /// power failed, a restart would trust it and take what was never written there for erased.
    is_loss_unrecorded: bool,
}

impl Store {
    /// Returns the store of the array `tag` on `spindles` spindles, all present. It keeps up to `cache_bytes` of
    /// checksum blocks in memory beyond those in use.
    #[must_use]
    pub fn new(tag: ArrayTag, spindles: u16, cache_bytes: usize) -> Self {
        Self {
            tag,
            present: vec![true; usize::from(spindles)],
            rows: Rows::new(cache_bytes),
            operations: Slab::new(),
            parts: Slab::new(),
            sent: FxHashMap::default(),
            ios: Vec::new(),
            next_io: 0,
            dirty: Vec::new(),
            ready_rows: Vec::new(),
            merged: Vec::new(),
            finished: Vec::new(),
            pool: BufferPool::default(),
            zones: Vec::new(),
            is_loss_unrecorded: false,
        }
    }

    /// Reads `sectors` sectors of 512 bytes, at least one, of a spindle from `first_sector` on. Completes as
    /// [`StoreEvent::Read`].
    pub fn read(&mut self, token: Token, spindle: SpindleIndex, first_sector: u64, sectors: u32) {
        if !self.is_present(spindle) {
            self.finished
                .push(StoreEvent::Read { token, result: Err(SpindleWriteError::SpindleLost) });
            return;
        }
        let extent = Extent { spindle, first_sector, sectors: u64::from(sectors) };
        let operation = self.operations.insert(Operation {
            token,
            kind: OperationKind::Read {
                extent,
                bytes: vec![0; extent.bytes()],
                blocks: vec![BlockState::NeverWritten; extent.blocks()],
            },
            remaining: 0,
            failure: None,
        });
        self.read_blocks(operation, extent, 0, extent.blocks());
        self.run_to_quiescence();
    }

    /// Reads the checksum entries of `blocks` blocks, at least one, of a spindle from `first` on, without the blocks.
    /// No write to them may be in flight. Completes as [`StoreEvent::ChecksumsRead`].
    pub fn read_checksums(
        &mut self,
        token: Token,
        spindle: SpindleIndex,
        first: Dbn,
        blocks: usize,
    ) {
        if !self.is_present(spindle) {
            self.finished.push(StoreEvent::ChecksumsRead {
                token,
                result: Err(SpindleWriteError::SpindleLost),
            });
            return;
        }
        let kind = OperationKind::ReadChecksums {
            spindle,
            blocks: vec![BlockState::NeverWritten; blocks],
        };
        let operation =
            self.operations.insert(Operation { token, kind, remaining: 0, failure: None });
        self.read_checksums_of(operation, spindle, first, blocks);
        self.run_to_quiescence();
    }

    /// Writes `bytes`, 512 for each sector and at least one sector, to a spindle from `first_sector` on. The data may
    /// be in several parts: of whole blocks if the write is of whole blocks, otherwise of any size. A tag of
    /// `block_tag` and the `consistency_point` are stored with each block of 4 KiB that is touched. A partially written
    /// block is read first. Completes as [`StoreEvent::Write`].
    ///
    /// No other write that touches one of the blocks may be in flight. Reads may: they see each block as it was or as
    /// it will be.
    ///
    /// # Panics
    /// If `bytes` is not whole sectors, its parts are not whole blocks, or `block_tag` does not have one tag per block.
    pub fn write(
        &mut self,
        token: Token,
        spindle: SpindleIndex,
        first_sector: u64,
        bytes: &[&[u8]],
        block_tag: &[BlockTag],
        consistency_point: u64,
    ) {
        let length: usize = bytes.iter().map(|part| part.len()).sum();
        assert!(length.is_multiple_of(SECTOR), "a write has whole sectors");
        let extent = Extent { spindle, first_sector, sectors: (length / SECTOR) as u64 };
        assert_eq!(block_tag.len(), extent.blocks(), "a write says of each block what it holds");
        if !self.is_present(spindle) {
            self.finished
                .push(StoreEvent::Write { token, result: Err(SpindleWriteError::SpindleLost) });
            return;
        }
        let last = extent.blocks() - 1;
        let (first_whole, last_whole) = (extent.has_whole(0), extent.has_whole(last));
        let kind = OperationKind::Write { spindle };
        let operation =
            self.operations.insert(Operation { token, kind, remaining: 0, failure: None });
        if first_whole && last_whole {
            self.begin_write(operation, extent, bytes, block_tag, consistency_point);
        } else {
            let mut whole = vec![0; extent.blocks() * BLOCK_BYTES];
            whole[extent.lead()..][..length].copy_from_slice(&bytes.concat());
            let bad = vec![false; extent.blocks()];
            let block_tag = block_tag.to_vec();
            self.operations[operation].kind = OperationKind::ReadModifyWrite {
                extent,
                bytes: whole,
                block_tag,
                consistency_point,
                bad,
            };
            if !first_whole {
                self.read_blocks(operation, extent, 0, 1);
            }
            if !last_whole && (last > 0 || first_whole) {
                self.read_blocks(operation, extent, last, 1);
            }
        }
        self.run_to_quiescence();
    }

    /// Makes everything complete durable, on all spindles that are present. Completes as [`StoreEvent::Flush`].
    pub fn flush(&mut self, token: Token) {
        self.send_flushes(token);
    }

    /// Writes `superblock` to all spindles that are present. A flush that began after everything it leads to was
    /// written must be complete. Completes as [`StoreEvent::Superblock`]. Only one superblock may be in flight.
    pub fn write_superblock(&mut self, token: Token, superblock: &Superblock) {
        self.send_superblock(token, superblock);
    }

    /// Treats a spindle as lost: everything in flight on it fails, and so does every later request. Reports nothing.
    /// After this and after any [loss](StoreEvent::SpindleLost), first writes to zones wait for
    /// [`on_losses_recorded`](Self::on_losses_recorded).
    pub fn drop_spindle(&mut self, spindle: SpindleIndex) {
        self.fail_spindle(spindle);
        self.run_to_quiescence();
    }

    /// Admits the replacement of a spindle. It must be blank: its checksum blocks zeros, or another array's. It gets
    /// its group's initialization map. Blocks that are not written while it is rebuilt are bad, if their zones are
    /// initialized.
    pub fn admit_spindle(&mut self, spindle: SpindleIndex) {
        self.drop_spindle(spindle);
        if let Some(present) = self.present.get_mut(spindle.index()) {
            *present = true;
        }
        self.rewrite_map_on(spindle);
    }

    /// Returns whether a spindle is present.
    #[must_use]
    pub fn is_present(&self, spindle: SpindleIndex) -> bool {
        self.present.get(spindle.index()).is_some_and(|present| *present)
    }

    /// Appends the I/Os that the devices must do now to `ios`. Writes since the last call share the writes of their
    /// checksum blocks.
    pub fn take_ios(&mut self, ios: &mut Vec<Io>) {
        self.write_checksums();
        ios.append(&mut self.ios);
    }

    /// Appends the completed requests to `finished`.
    pub fn take_events(&mut self, finished: &mut Vec<StoreEvent>) {
        finished.append(&mut self.finished);
    }

    fn spindles_present(&self) -> Vec<SpindleIndex> {
        (0..)
            .map(SpindleIndex)
            .zip(&self.present)
            .filter_map(|(spindle, present)| present.then_some(spindle))
            .collect()
    }

    fn send(&mut self, spindle: SpindleIndex, purpose: IoPurpose, request: IoRequest) {
        let id = IoId(self.next_io);
        self.next_io += 1;
        self.sent.insert(id, SentIo { spindle, purpose });
        self.ios.push(Io { id, device: DeviceIndex(spindle.0), request });
    }

    /// Advances everything that can advance.
    fn run_to_quiescence(&mut self) {
        loop {
            if let Some(row) = self.ready_rows.pop() {
                self.advance(row);
            } else if let Some(operation) = self.merged.pop() {
                self.write_merged(operation);
            } else {
                return;
            }
        }
    }

    fn advance(&mut self, row: RowId) {
        // A row may be listed twice, and may have been dropped meanwhile.
        if !self.rows.contains(row) {
            return;
        }
        let mut parts = std::mem::take(&mut self.rows.get_mut(row).parts);
        parts.retain(|&part| match self.parts[part].work {
            PartWork::Read(_) => !self.advance_read(part),
            PartWork::Write(_) => !self.advance_write(part),
            PartWork::ReadChecksums(_) => !self.advance_checksums(part),
        });
        assert!(self.rows.get(row).parts.is_empty(), "parts go on, and make no others");
        self.rows.get_mut(row).parts = parts;
        self.rows.drop_if_suspect(row);
    }

    fn write_merged(&mut self, operation: Operation) {
        let Operation { token, kind, .. } = operation;
        let OperationKind::ReadModifyWrite { extent, bytes, block_tag, consistency_point, .. } =
            kind
        else {
            return;
        };
        let kind = OperationKind::Write { spindle: extent.spindle };
        let operation =
            self.operations.insert(Operation { token, kind, remaining: 0, failure: None });
        self.begin_write(operation, extent, &[&bytes], &block_tag, consistency_point);
    }

    /// Handles the end of a part, or of an I/O of an operation without parts.
    fn part_done(&mut self, operation: usize) {
        let remaining = &mut self.operations[operation].remaining;
        assert!(*remaining > 0, "an operation has no more parts than were added");
        *remaining -= 1;
        if self.operations[operation].remaining == 0 {
            self.finish(operation);
        }
    }

    fn finish(&mut self, id: usize) {
        let Some(operation) = self.operations.try_remove(id) else { return };
        let token = operation.token;
        let result = operation.failure.clone().map_or(Ok(()), Err);
        match operation.kind {
            OperationKind::Read { bytes, blocks, .. } => {
                let result = result.map(|()| ReadOutcome { bytes, blocks });
                self.finished.push(StoreEvent::Read { token, result });
            }
            OperationKind::ReadModifyWrite { bad, .. } if bad.contains(&true) => {
                let result = Err(SpindleWriteError::BadBlocks { bad });
                self.finished.push(StoreEvent::Write { token, result });
            }
            OperationKind::ReadModifyWrite { .. } => self.merged.push(operation),
            OperationKind::Deferred(_) => unreachable!("a deferred write has no parts"),
            OperationKind::Initialize(step) => self.on_step_done(step, operation.failure),
            OperationKind::Write { .. } => self.finished.push(StoreEvent::Write { token, result }),
            OperationKind::ReadChecksums { blocks, .. } => {
                let result = result.map(|()| blocks);
                self.finished.push(StoreEvent::ChecksumsRead { token, result });
            }
            OperationKind::Flush => self.finished.push(StoreEvent::Flush { token, result }),
            OperationKind::Superblock { written } => {
                let result = if written == 0 {
                    result.and(Err(SpindleWriteError::SpindleLost))
                } else {
                    result
                };
                self.finished.push(StoreEvent::Superblock { token, result });
            }
        }
    }
}
