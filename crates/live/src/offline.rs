//! Synchronous access to a store and its devices: for restarts, and for arrays that are not running.

use std::collections::BTreeMap;
use std::ops::Range;

use strewn_array::write_anywhere::PlacedGroup;
use strewn_array::write_anywhere::metadata::{Pointer, checksum};
use strewn_array::{BlockContents, crc32c};
use strewn_base::BLOCK_SECTORS;
use strewn_raid::{
    BlockLocation, Dbn, Member, MemberSet, SpindleIndex, SpindleSet, StripeBytes, Vbn,
};

use crate::device::{
    BLOCK_BYTES, Buffer, DeviceIndex, Devices, Io, IoCompletion, IoError, IoId, IoRequest,
};
use crate::format::BlockTag;
use crate::log::RedoRecord;
use crate::store::{
    BadBlock, BlockState, ReadOutcome, SpindleWriteError, Store, StoreEvent, Token,
};
use crate::stripe_compute::compute_missing;

/// Reads in flight at once.
const READS_AT_ONCE: usize = 64;

/// A store and the devices below it.
pub struct OfflineArray<'a, D> {
    devices: &'a mut D,
    store: Store,
    /// Blocks that read as if they were written.
    overlay: BTreeMap<SpindleBlock, (BlockState, Vec<u8>)>,
}

/// A block of a spindle.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct SpindleBlock {
    /// Spindle by its position, counted from 0.
    pub spindle: SpindleIndex,
    /// The block on it.
    pub dbn: Dbn,
}

impl SpindleBlock {
    /// The place of a block of a parity group.
    pub(crate) fn of(group: &PlacedGroup, vbn: Vbn) -> Self {
        let BlockLocation { spindle, dbn } = group.locate(vbn);
        Self { spindle, dbn }
    }
}

impl<'a, D: Devices> OfflineArray<'a, D> {
    /// Returns access to `store` on `devices`.
    pub fn new(devices: &'a mut D, store: Store) -> Self {
        Self { devices, store, overlay: BTreeMap::new() }
    }

    /// Makes the blocks of a redo record read as if they were written with consistency point
    /// `consistency_point`, as a restart would write them. Later records take precedence.
    pub fn overlay_redo(&mut self, record: RedoRecord, consistency_point: u64) {
        for block in record.blocks {
            let place = SpindleBlock { spindle: block.spindle, dbn: block.dbn };
            let (block_tag, crc) = (block.block_tag, crc32c(&block.bytes));
            let state = match block_tag.holds {
                BlockContents::Gone => BlockState::Bad(BadBlock::Gone),
                _ => BlockState::Good { block_tag, consistency_point, crc },
            };
            self.overlay.insert(place, (state, block.bytes));
        }
    }

    /// Returns the store in its present state.
    #[must_use]
    pub fn into_store(self) -> Store {
        self.store
    }

    /// Reads `bytes` bytes of a device from `offset` on, bypassing the store.
    ///
    /// # Errors
    /// The errors of the device.
    pub fn read_raw(
        devices: &mut D,
        device: DeviceIndex,
        offset: u64,
        bytes: usize,
    ) -> Result<Vec<u8>, IoError> {
        let into = Buffer::zeroed(bytes / BLOCK_BYTES);
        devices.submit(Io { id: IoId(0), device, request: IoRequest::Read { offset, into } });
        let done = wait_for_one(devices);
        done.result.map(|()| done.buffer.bytes().to_vec())
    }

    /// Writes a block of a device durably, bypassing the store.
    ///
    /// # Errors
    /// The errors of the device.
    pub fn write_raw(
        devices: &mut D,
        device: DeviceIndex,
        block: u64,
        from: Buffer,
    ) -> Result<(), IoError> {
        let offset = block * BLOCK_BYTES as u64;
        devices.submit(Io {
            id: IoId(0),
            device,
            request: IoRequest::Write { offset, from, durable: true },
        });
        wait_for_one(devices).result
    }

    /// Runs until nothing is in flight, and returns the completed requests.
    fn run_to_quiescence(&mut self) -> Vec<StoreEvent> {
        let mut finished = Vec::new();
        let mut under_way = 0usize;
        let mut done = Vec::new();
        loop {
            let mut ios = Vec::new();
            self.store.take_ios(&mut ios);
            under_way += ios.len();
            for io in ios {
                self.devices.submit(io);
            }
            self.store.take_events(&mut finished);
            if under_way == 0 {
                return finished;
            }
            self.devices.wait(None, &mut done);
            for done in done.drain(..) {
                under_way -= 1;
                self.store.done(done);
            }
        }
    }

    /// Reads blocks; returns `None` for each that is bad or on a lost spindle.
    pub fn read_blocks(&mut self, places: &[SpindleBlock]) -> Vec<Option<Vec<u8>>> {
        self.read_states(places)
            .into_iter()
            .map(|(bytes, state)| state.is_some_and(|state| !state.is_bad()).then_some(bytes))
            .collect()
    }

    /// Reads blocks, with the state of each; the state is `None` on a lost spindle.
    pub fn read_states(&mut self, places: &[SpindleBlock]) -> Vec<(Vec<u8>, Option<BlockState>)> {
        let mut all = vec![(Vec::new(), None); places.len()];
        for (chunk, all) in places.chunks(READS_AT_ONCE).zip(all.chunks_mut(READS_AT_ONCE)) {
            let runs: Vec<_> =
                chunk.iter().map(|place| (place.spindle, place.dbn.0..place.dbn.0 + 1)).collect();
            for (read, (bytes, states)) in all.iter_mut().zip(self.read_runs(&runs)) {
                *read = (bytes, states.first().copied());
            }
        }
        all
    }

    /// Reads runs of blocks, all at once: they must be few and short. Returns the bytes of each run and the state of
    /// each block; nothing from a lost spindle.
    pub fn read_runs(
        &mut self,
        runs: &[(SpindleIndex, Range<u64>)],
    ) -> Vec<(Vec<u8>, Vec<BlockState>)> {
        let mut all = vec![(Vec::new(), Vec::new()); runs.len()];
        for ((spindle, blocks), token) in runs.iter().zip(0..) {
            let sectors = ((blocks.end - blocks.start) * BLOCK_SECTORS) as u32;
            self.store.read(Token(token), *spindle, blocks.start * BLOCK_SECTORS, sectors);
        }
        for finished in self.run_to_quiescence() {
            if let StoreEvent::Read { token, result: Ok(outcome) } = finished {
                let (spindle, blocks) = &runs[token.0 as usize];
                let ReadOutcome { mut bytes, blocks: mut states } = outcome;
                for ((dbn, bytes), state) in
                    blocks.clone().zip(bytes.chunks_exact_mut(BLOCK_BYTES)).zip(&mut states)
                {
                    let place = SpindleBlock { spindle: *spindle, dbn: Dbn(dbn) };
                    if let Some((over, written)) = self.overlay.get(&place) {
                        *state = *over;
                        bytes.copy_from_slice(written);
                    }
                }
                all[token.0 as usize] = (bytes, states);
            }
        }
        all
    }

    /// Writes blocks one after the other and makes them durable. Blocks of lost spindles are left out.
    ///
    /// # Errors
    /// If a spindle that is present refuses a write. [`SpindleWriteError::SpindleLost`] if a write waits until the loss
    /// of another spindle is recorded: see [`Store::on_losses_recorded`].
    pub fn write_blocks(
        &mut self,
        blocks: &[(SpindleBlock, BlockTag, Vec<u8>)],
        consistency_point: u64,
    ) -> Result<(), SpindleWriteError> {
        for (place, block_tag, bytes) in blocks {
            if !self.store.is_present(place.spindle) {
                continue;
            }
            let first_sector = place.dbn.0 * BLOCK_SECTORS;
            self.store.write(
                Token(0),
                place.spindle,
                first_sector,
                &[bytes],
                &[*block_tag],
                consistency_point,
            );
            let mut is_done = false;
            for finished in self.run_to_quiescence() {
                let StoreEvent::Write { result, .. } = finished else { continue };
                is_done = true;
                if let Err(failure) = result
                    && failure != SpindleWriteError::SpindleLost
                {
                    return Err(failure);
                }
            }
            if !is_done {
                return Err(SpindleWriteError::SpindleLost);
            }
        }
        self.store.flush(Token(0));
        for finished in self.run_to_quiescence() {
            if let StoreEvent::Flush { result: Err(failure), .. } = finished {
                return Err(failure);
            }
        }
        Ok(())
    }

    /// Returns the devices.
    pub(crate) fn devices_mut(&mut self) -> &mut D {
        self.devices
    }

    /// Returns whether a spindle is present.
    pub(crate) fn is_present(&self, spindle: SpindleIndex) -> bool {
        self.store.is_present(spindle)
    }

    /// Returns whether writes may wait until the loss of a spindle is recorded in the labels.
    pub(crate) fn waits_for_labels(&self) -> bool {
        self.store.waits_for_labels()
    }

    /// Goes on with writes that waited until all losses were recorded in the labels.
    pub(crate) fn on_losses_recorded(&mut self) {
        self.store.on_losses_recorded();
        self.run_to_quiescence();
    }

    /// Reads the blocks of an aggregate of `groups` that `pointers` lead to, as they were written; recomputes those
    /// from their stripes that are unreadable or do not match.
    pub fn read_pointed(
        &mut self,
        groups: &[PlacedGroup],
        pointers: &[Pointer],
    ) -> Vec<Option<Vec<u8>>> {
        let placed: Vec<Option<(&PlacedGroup, SpindleBlock)>> = pointers
            .iter()
            .map(|pointer| {
                let group = PlacedGroup::with_block(groups, pointer.vbn)?;
                Some((group, SpindleBlock::of(group, pointer.vbn)))
            })
            .collect();
        let places: Vec<SpindleBlock> = placed.iter().flatten().map(|(_, place)| *place).collect();
        let mut read = self.read_blocks(&places).into_iter();
        let mut all = Vec::with_capacity(pointers.len());
        for (placed, pointer) in placed.into_iter().zip(pointers) {
            // A pointer behind the last group leads nowhere.
            let Some((group, place)) = placed else {
                all.push(None);
                continue;
            };
            let is_right = |bytes: &Vec<u8>| checksum(bytes) == pointer.checksum;
            let right = read.next().flatten().filter(is_right);
            all.push(right.or_else(|| self.compute(group, place, pointer.checksum)));
        }
        all
    }

    /// Recomputes a block from the rest of its stripe; returns `None` unless the result has the checksum `expected`.
    pub fn compute(
        &mut self,
        placed: &PlacedGroup,
        place: SpindleBlock,
        expected: u32,
    ) -> Option<Vec<u8>> {
        let group = &placed.group;
        let shape = group.stripe_shape();
        let places: Vec<SpindleBlock> = placed
            .spindles()
            .map(|spindle| SpindleBlock { spindle: SpindleIndex(spindle), dbn: place.dbn })
            .collect();
        let read = self.read_blocks(&places);
        let own = SpindleIndex(place.spindle.0 - placed.first_spindle);
        let wanted = group.members_on(SpindleSet::single(own));
        let bad: MemberSet = (0..group.spindles() as u8)
            .map(Member)
            .filter(|member| read[member.index()].is_none())
            .collect::<MemberSet>()
            .union(wanted);
        let member = Member(own.0 as u8);
        let block_of = |member: Member| read[member.index()].as_deref();
        let is_right = |stripe: &StripeBytes| {
            stripe.block(member).is_some_and(|bytes| checksum(bytes) == expected)
        };
        let (_, stripe) = compute_missing(shape, wanted, bad, block_of, is_right)?;
        stripe.block(member).map(<[u8]>::to_vec)
    }
}

/// Waits for the only I/O in flight.
fn wait_for_one<D: Devices>(devices: &mut D) -> IoCompletion {
    let mut done = Vec::new();
    loop {
        devices.wait(None, &mut done);
        if let Some(done) = done.pop() {
            return done;
        }
    }
}
