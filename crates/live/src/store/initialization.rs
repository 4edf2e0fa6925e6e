//! Initialization of zones before their first write, so that an erased checksum entry is not taken for one that was
//! never written.
//!
//! The first write to a zone waits until every checksum block of the zone is written on every spindle that is present,
//! those are flushed, and the [map](InitializationMap) says so durably on all of them. From then on each entry of the
//! zone says of its block that it was never written, or what was; zeros are a fault.

use std::collections::BTreeMap;

use super::Store;
use super::all_spindles::durable_write;
use super::api::{BadBlock, BlockState, StoreError, StoreEvent, Token};
use super::operation::{
    DeferredWrite, Extent, InitializationStep, IoPurpose, Operation, OperationKind,
};
use super::rows::RowKey;
use crate::device::{BLOCK_BYTES, Buffer, IoRequest};
use crate::format::{
    BlockAddress, BlockTag, ChecksumEntry, ENTRY_BYTES, InitializationMap, ROW_DATA_BLOCKS,
    checksum_block,
};

/// Nobody asks about the steps of an initialization.
const NO_TOKEN: Token = Token(0);

/// The zones of an array.
#[derive(Debug)]
pub(super) struct Zones {
    /// As it is durable.
    map: InitializationMap,
    /// Zones that are being initialized, each with the operations that wait for it.
    in_progress: BTreeMap<u64, Vec<usize>>,
    /// Those whose checksum blocks are flushed: the next map has them.
    flushed: Vec<u64>,
    is_map_in_flight: bool,
    /// Whether a spindle lacks the map.
    is_map_missing: bool,
    /// Whether a spindle was lost, and the labels may not say so yet. Its zones were perhaps not initialized: if the
    /// power failed, a restart would trust it and take what was never written there for erased.
    is_loss_unrecorded: bool,
}

/// Whether a row's checksum blocks hold what was written there, if anything was.
pub(super) fn is_initialized(zones: Option<&Zones>, row: u64) -> bool {
    zones.is_none_or(|zones| zones.map.is_initialized(zones.map.zone_of(row)))
}

/// The state of a block of a row whose checksum entry is zeros.
pub(super) fn state_of_zeros(zones: Option<&Zones>, row: u64) -> BlockState {
    // Without a map there are no entries but those of written blocks.
    match zones.is_some() && is_initialized(zones, row) {
        true => BlockState::Bad(BadBlock::Erased),
        false => BlockState::NeverWritten,
    }
}

impl Store {
    /// The store of an array with an initialization map, which every spindle that is present must have.
    #[must_use]
    pub fn with_initialization_map(self, map: InitializationMap) -> Self {
        let zones = Zones {
            map,
            in_progress: BTreeMap::new(),
            flushed: Vec::new(),
            is_map_in_flight: false,
            is_map_missing: false,
            is_loss_unrecorded: false,
        };
        Self { zones: Some(zones), ..self }
    }

    /// Returns the sequence of the newest durable map; 0 without one.
    #[must_use]
    pub fn map_sequence(&self) -> u64 {
        self.zones.as_ref().map_or(0, |zones| zones.map.sequence)
    }

    /// Writes whole blocks, once their zones are initialized.
    pub(super) fn begin_write(
        &mut self,
        operation: usize,
        extent: Extent,
        bytes: &[&[u8]],
        block_tags: &[BlockTag],
        checkpoint: u64,
    ) {
        let blank = self.blank_zones(extent);
        if blank.is_empty() {
            self.write_blocks(operation, extent, bytes, block_tags, checkpoint);
            return;
        }
        self.operations[operation].kind = OperationKind::Deferred(DeferredWrite {
            extent,
            bytes: bytes.concat(),
            block_tags: block_tags.to_vec(),
            checkpoint,
        });
        for zone in blank {
            let Some(zones) = &mut self.zones else { return };
            let waiting = zones.in_progress.get_mut(&zone);
            match waiting {
                Some(waiting) => waiting.push(operation),
                None => {
                    zones.in_progress.insert(zone, vec![operation]);
                    self.initialize(zone);
                }
            }
        }
    }

    /// The zones of an extent that are not initialized.
    fn blank_zones(&self, extent: Extent) -> Vec<u64> {
        let Some(Zones { map, .. }) = &self.zones else { return Vec::new() };
        let first = extent.first_block().0 / ROW_DATA_BLOCKS;
        let last = (extent.first_block().0 + extent.blocks() as u64 - 1) / ROW_DATA_BLOCKS;
        let zones = map.zone_of(first)..=map.zone_of(last);
        zones.filter(|zone| !map.is_initialized(*zone)).collect()
    }

    /// Writes the checksum blocks of a zone.
    fn initialize(&mut self, zone: u64) {
        let Some(zones) = &self.zones else { return };
        let rows = zones.map.rows_of(zone);
        let spindles = self.spindles_present();
        let operation = self.operations.insert(Operation {
            token: NO_TOKEN,
            kind: OperationKind::Initialize(InitializationStep::WriteChecksums(zone)),
            remaining: spindles.len() * (rows.end - rows.start) as usize,
            failure: None,
        });
        for &spindle in &spindles {
            for row in rows.clone() {
                let from = self.never_written(RowKey { spindle, row });
                let offset = checksum_block(row) * BLOCK_BYTES as u64;
                let request = IoRequest::Write { offset, from, durable: false };
                self.send(spindle, IoPurpose::AllSpindles(operation), request);
            }
        }
        if spindles.is_empty() {
            self.finish(operation);
        }
    }

    /// The checksum block of a row in which nothing was written yet.
    fn never_written(&mut self, key: RowKey) -> Buffer {
        let mut buffer = self.pool.take(1);
        let (entries, _) = buffer.bytes_mut().as_chunks_mut::<ENTRY_BYTES>();
        for (block, entry) in entries.iter_mut().enumerate() {
            let place = BlockAddress { tag: self.tag, spindle: key.spindle, dbn: key.dbn(block) };
            *entry = ChecksumEntry::never_written(place);
        }
        buffer
    }

    /// A step is done on all spindles that are present.
    pub(super) fn on_step_done(&mut self, step: InitializationStep, failure: Option<StoreError>) {
        let Some(zones) = &mut self.zones else { return };
        match (step, failure) {
            (InitializationStep::WriteChecksums(zone), None) => {
                let flush = OperationKind::Initialize(InitializationStep::Flush(zone));
                self.send_to_all(NO_TOKEN, flush, None, || IoRequest::Flush);
            }
            (InitializationStep::Flush(zone), None) => {
                zones.flushed.push(zone);
                self.map_is_missing();
            }
            (InitializationStep::WriteMap(initialized), None) => {
                zones.is_map_in_flight = false;
                zones.map.sequence += 1;
                initialized.into_iter().for_each(|zone| self.is_initialized_now(zone));
                self.write_map();
            }
            (InitializationStep::WriteMap(failed), Some(failure)) => {
                zones.is_map_in_flight = false;
                failed.into_iter().for_each(|zone| self.initialization_failed(zone, &failure));
                self.write_map();
            }
            (
                InitializationStep::WriteChecksums(zone) | InitializationStep::Flush(zone),
                Some(failure),
            ) => self.initialization_failed(zone, &failure),
        }
    }

    /// Writes the map once more: a spindle or a zone is not in it yet.
    pub(super) fn map_is_missing(&mut self) {
        if let Some(zones) = &mut self.zones {
            zones.is_map_missing = true;
        }
        self.write_map();
    }

    /// No map is written until [`losses_are_recorded`](Self::losses_are_recorded).
    pub(super) fn loss_is_unrecorded(&mut self) {
        if let Some(zones) = &mut self.zones {
            zones.is_loss_unrecorded = true;
        }
    }

    /// Returns whether first writes to zones may wait for [`losses_are_recorded`](Self::losses_are_recorded).
    #[must_use]
    pub fn waits_for_labels(&self) -> bool {
        self.zones.as_ref().is_some_and(|zones| zones.is_loss_unrecorded)
    }

    /// The labels of the other spindles say durably that every spindle which is not present has failed: zones can be
    /// initialized without it.
    pub fn losses_are_recorded(&mut self) {
        if let Some(zones) = &mut self.zones {
            zones.is_loss_unrecorded = false;
        }
        self.write_map();
    }

    /// Writes the map to all spindles that are present, if one lacks it and none is being written.
    fn write_map(&mut self) {
        let Some(zones) = &mut self.zones else { return };
        if !zones.is_map_missing || zones.is_map_in_flight || zones.is_loss_unrecorded {
            return;
        }
        (zones.is_map_missing, zones.is_map_in_flight) = (false, true);
        let flushed = std::mem::take(&mut zones.flushed);
        // If this fails, the next one goes to the same slot: the other slot has the last whole map.
        let mut map = zones.map.clone();
        map.sequence += 1;
        flushed.iter().for_each(|zone| map.set_initialized(*zone));
        let write = OperationKind::Initialize(InitializationStep::WriteMap(flushed));
        self.send_to_all(NO_TOKEN, write, None, || durable_write(map.slot(), map.encode()));
    }

    /// The map durably has a zone as initialized: what waited for it goes on.
    fn is_initialized_now(&mut self, zone: u64) {
        let Some(zones) = &mut self.zones else { return };
        zones.map.set_initialized(zone);
        let rows = zones.map.rows_of(zone);
        let waiting = zones.in_progress.remove(&zone).unwrap_or_default();
        for spindle in self.spindles_present() {
            for row in rows.clone() {
                let key = RowKey { spindle, row };
                let Some(id) = self.rows.find(key) else { continue };
                let entries = self.never_written(key);
                self.rows.get_mut(id).load(Some(entries.bytes()));
                self.pool.recycle(entries);
            }
        }
        for operation in waiting {
            // If it ended with its spindle, another operation may have its number.
            let Some(OperationKind::Deferred(DeferredWrite { extent, .. })) =
                self.operations.get(operation).map(|one| &one.kind)
            else {
                continue;
            };
            if !self.blank_zones(*extent).is_empty() {
                continue;
            }
            let write = OperationKind::Write { spindle: extent.spindle };
            let deferred = std::mem::replace(&mut self.operations[operation].kind, write);
            if let OperationKind::Deferred(write) = deferred {
                let DeferredWrite { extent, bytes, block_tags, checkpoint } = write;
                self.write_blocks(operation, extent, &[&bytes], &block_tags, checkpoint);
            }
        }
    }

    /// A zone could not be initialized: what waited for it fails.
    fn initialization_failed(&mut self, zone: u64, failure: &StoreError) {
        let waiting = self.zones.as_mut().and_then(|zones| zones.in_progress.remove(&zone));
        for id in waiting.unwrap_or_default() {
            let operation = self.operations.get(id);
            let is_deferred =
                operation.is_some_and(|one| matches!(one.kind, OperationKind::Deferred(_)));
            if is_deferred && let Some(operation) = self.operations.try_remove(id) {
                let (token, result) = (operation.token, Err(failure.clone()));
                self.finished.push(StoreEvent::Write { token, result });
            }
        }
    }
}
