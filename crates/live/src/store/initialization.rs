//! Initialization of zones before their first write, so that an erased checksum entry is not taken for one that was
//! never written.
//!
//! The first write to a zone waits until every checksum block of the zone is written on every spindle of its parity
//! group that is present, those are flushed, and the group's [map](InitializationMap) says so durably on all of them.
//! From then on each entry of the zone says of its block that it was never written, or what was; zeros are a fault.

use std::collections::BTreeMap;
use std::ops::Range;

use strewn_raid::SpindleIndex;

use super::Store;
use super::all_spindles::durable_write;
use super::api::{BadBlock, BlockState, SpindleWriteError, StoreEvent, Token};
use super::operation::{
    DeferredWrite, Extent, InitializationStep, IoPurpose, Operation, OperationKind, ZoneId,
};
use super::rows::RowKey;
use crate::device::{BLOCK_BYTES, Buffer, IoRequest};
use crate::format::{
    BlockAddress, BlockTag, ChecksumEntry, ENTRY_BYTES, InitializationMap, ROW_DATA_BLOCKS,
    checksum_block,
};

/// Nobody asks about the steps of an initialization.
const NO_TOKEN: Token = Token(0);

/// The zones of a parity group, or of an in-place array. Each has its own map, on its own spindles.
#[derive(Debug)]
pub(super) struct Zones {
    spindles: Range<u16>,
    /// As it is durable.
    map: InitializationMap,
    /// Zones that are being initialized, each with the operations that wait for it.
    in_progress: BTreeMap<u64, Vec<usize>>,
    /// Those whose checksum blocks are flushed: the next map has them.
    flushed: Vec<u64>,
    is_map_in_flight: bool,
    /// Whether a spindle lacks the map.
    is_map_missing: bool,
}

/// The zones that a spindle has a part of; `None` in an array without maps.
fn zones_of(zones: &[Zones], spindle: SpindleIndex) -> Option<usize> {
    zones.iter().position(|zones| zones.spindles.contains(&spindle.0))
}

/// Whether a row's checksum blocks hold what was written there, if anything was.
pub(super) fn is_initialized(zones: &[Zones], RowKey { spindle, row }: RowKey) -> bool {
    zones_of(zones, spindle).is_none_or(|of_spindle| {
        let map = &zones[of_spindle].map;
        map.is_initialized(map.zone_of(row))
    })
}

/// The state of a block of a row whose checksum entry is zeros.
pub(super) fn state_of_zeros(zones: &[Zones], row: RowKey) -> BlockState {
    // Without a map there are no entries but those of written blocks.
    match !zones.is_empty() && is_initialized(zones, row) {
        true => BlockState::Bad(BadBlock::Erased),
        false => BlockState::NeverWritten,
    }
}

impl Store {
    /// The store of an array of one parity group, with an initialization map, which every spindle that is present must
    /// have.
    #[must_use]
    pub fn with_initialization_map(self, map: InitializationMap) -> Self {
        // At most 64 spindles.
        let spindles = 0..self.present.len() as u16;
        self.with_initialization_maps([(spindles, map)])
    }

    /// The store of an array with an initialization map for each parity group: the group's spindles, and the map, which
    /// every one of them that is present must have.
    #[must_use]
    pub fn with_initialization_maps(
        self,
        maps: impl IntoIterator<Item = (Range<u16>, InitializationMap)>,
    ) -> Self {
        let zones = maps.into_iter().map(|(spindles, map)| Zones {
            spindles,
            map,
            in_progress: BTreeMap::new(),
            flushed: Vec::new(),
            is_map_in_flight: false,
            is_map_missing: false,
        });
        Self { zones: zones.collect(), ..self }
    }

    /// Returns the sequence of each group's newest durable map; none in an array without maps.
    pub fn map_sequences(&self) -> impl Iterator<Item = u64> + '_ {
        self.zones.iter().map(|zones| zones.map.sequence)
    }

    /// Writes whole blocks, once their zones are initialized.
    pub(super) fn begin_write(
        &mut self,
        operation: usize,
        extent: Extent,
        bytes: &[&[u8]],
        block_tags: &[BlockTag],
        consistency_point: u64,
    ) {
        let blank = self.blank_zones(extent);
        if blank.is_empty() {
            self.write_blocks(operation, extent, bytes, block_tags, consistency_point);
            return;
        }
        self.operations[operation].kind = OperationKind::Deferred(DeferredWrite {
            extent,
            bytes: bytes.concat(),
            block_tags: block_tags.to_vec(),
            consistency_point,
        });
        for zone in blank {
            let in_progress = &mut self.zones[zone.group].in_progress;
            match in_progress.get_mut(&zone.zone) {
                Some(waiting) => waiting.push(operation),
                None => {
                    in_progress.insert(zone.zone, vec![operation]);
                    self.initialize(zone);
                }
            }
        }
    }

    /// The zones of an extent that are not initialized.
    fn blank_zones(&self, extent: Extent) -> Vec<ZoneId> {
        let Some(group) = zones_of(&self.zones, extent.spindle) else { return Vec::new() };
        let map = &self.zones[group].map;
        let first = extent.first_block().0 / ROW_DATA_BLOCKS;
        let last = (extent.first_block().0 + extent.blocks() as u64 - 1) / ROW_DATA_BLOCKS;
        let zones = map.zone_of(first)..=map.zone_of(last);
        let blank = zones.filter(|zone| !map.is_initialized(*zone));
        blank.map(|zone| ZoneId { group, zone }).collect()
    }

    /// Writes the checksum blocks of a zone.
    fn initialize(&mut self, zone: ZoneId) {
        let rows = self.zones[zone.group].map.rows_of(zone.zone);
        let spindles = self.spindles_of(zone.group);
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

    /// The spindles of a group that are present.
    fn spindles_of(&self, group: usize) -> Vec<SpindleIndex> {
        let of_group = self.zones[group].spindles.clone().map(SpindleIndex);
        of_group.filter(|spindle| self.is_present(*spindle)).collect()
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

    /// A step is done on all spindles of a group that are present.
    pub(super) fn on_step_done(
        &mut self,
        step: InitializationStep,
        failure: Option<SpindleWriteError>,
    ) {
        match (step, failure) {
            (InitializationStep::WriteChecksums(zone), None) => {
                let flush = OperationKind::Initialize(InitializationStep::Flush(zone));
                let spindles = self.spindles_of(zone.group);
                self.send_to_all(&spindles, NO_TOKEN, flush, None, || IoRequest::Flush);
            }
            (InitializationStep::Flush(ZoneId { group, zone }), None) => {
                self.zones[group].flushed.push(zone);
                self.rewrite_map(group);
            }
            (InitializationStep::WriteMap(group, initialized), None) => {
                self.zones[group].is_map_in_flight = false;
                self.zones[group].map.sequence += 1;
                for zone in initialized {
                    self.on_zone_initialized(ZoneId { group, zone });
                }
                self.write_map(group);
            }
            (InitializationStep::WriteMap(group, failed), Some(failure)) => {
                self.zones[group].is_map_in_flight = false;
                for zone in failed {
                    self.initialization_failed(ZoneId { group, zone }, &failure);
                }
                self.write_map(group);
            }
            (
                InitializationStep::WriteChecksums(zone) | InitializationStep::Flush(zone),
                Some(failure),
            ) => self.initialization_failed(zone, &failure),
        }
    }

    /// Writes the map of a group once more: a spindle or a zone is not in it yet.
    fn rewrite_map(&mut self, group: usize) {
        self.zones[group].is_map_missing = true;
        self.write_map(group);
    }

    /// Gives a spindle the map of its group.
    pub(super) fn rewrite_map_on(&mut self, spindle: SpindleIndex) {
        if let Some(group) = zones_of(&self.zones, spindle) {
            self.rewrite_map(group);
        }
    }

    /// A spindle is lost: no map is written until [`on_losses_recorded`](Self::on_losses_recorded).
    pub(super) fn on_loss(&mut self) {
        self.is_loss_unrecorded = !self.zones.is_empty();
    }

    /// Returns whether first writes to zones may wait for [`on_losses_recorded`](Self::on_losses_recorded).
    #[must_use]
    pub fn waits_for_labels(&self) -> bool {
        self.is_loss_unrecorded
    }

    /// The labels of the other spindles say durably that every spindle which is not present has failed: zones can be
    /// initialized without it.
    pub fn on_losses_recorded(&mut self) {
        self.is_loss_unrecorded = false;
        for group in 0..self.zones.len() {
            self.write_map(group);
        }
    }

    /// Writes the map of a group to all its spindles that are present, if one lacks it and none is being written.
    fn write_map(&mut self, group: usize) {
        let zones = &mut self.zones[group];
        if !zones.is_map_missing || zones.is_map_in_flight || self.is_loss_unrecorded {
            return;
        }
        (zones.is_map_missing, zones.is_map_in_flight) = (false, true);
        let flushed = std::mem::take(&mut zones.flushed);
        // If this fails, the next one goes to the same slot: the other slot has the last whole map.
        let mut map = zones.map.clone();
        map.sequence += 1;
        flushed.iter().for_each(|zone| map.set_initialized(*zone));
        let write = OperationKind::Initialize(InitializationStep::WriteMap(group, flushed));
        let spindles = self.spindles_of(group);
        let request = || durable_write(map.slot(), map.encode());
        self.send_to_all(&spindles, NO_TOKEN, write, None, request);
    }

    /// The map durably has a zone as initialized: what waited for it goes on.
    fn on_zone_initialized(&mut self, ZoneId { group, zone }: ZoneId) {
        let zones = &mut self.zones[group];
        zones.map.set_initialized(zone);
        let rows = zones.map.rows_of(zone);
        let waiting = zones.in_progress.remove(&zone).unwrap_or_default();
        for spindle in self.spindles_of(group) {
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
                let DeferredWrite { extent, bytes, block_tags, consistency_point } = write;
                self.write_blocks(operation, extent, &[&bytes], &block_tags, consistency_point);
            }
        }
    }

    /// A zone could not be initialized: what waited for it fails.
    fn initialization_failed(
        &mut self,
        ZoneId { group, zone }: ZoneId,
        failure: &SpindleWriteError,
    ) {
        let waiting = self.zones[group].in_progress.remove(&zone);
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
