//! The expected contents of an in-place array's blocks, whatever their drives return.
//!
//! On first access to a stripe, the engine cross-checks the metadata stored with its blocks: see [`cross_check`].
//! From then on each write records the expected contents of its blocks. If a drive reports a write as done and never
//! does it, the stale block is detected when it is read, whether the write was lost today or before the array was
//! started. This takes 4 bytes of memory for each block of a spindle.

use std::collections::BTreeMap;
use std::ops::Range;

use rustc_hash::FxHashMap;
use strewn_alloc::SummaryBitmap;
use strewn_array::in_place::LunLayout;
use strewn_array::{BlockContents, crc32c};
use strewn_base::BLOCK_SECTORS;
use strewn_raid::{Dbn, SpindleIndex, StripedLayout};

use crate::cross_check::{ExpectedBlock, WrittenBlock, cross_check, sum_of};
use crate::format::{BlockTag, StripeSum};
use crate::store::{BadBlock, BlockState, Store, Token};

/// Two values of the CRC are reserved. A block whose CRC happens to be one of them is not checked.
const ANYTHING: u32 = 0;
const NOTHING: u32 = u32::MAX;

/// Tokens from here on identify a stripe's check: the stripe, and in the lowest bits a member of it.
const STRIPE_CHECKS: Token = Token(1 << 62);
const MEMBER_BITS: u32 = 7;

/// The state known of an in-place array's blocks.
pub(super) struct ExpectedBlocks {
    layout: LunLayout,
    unit_blocks: u64,
    /// The expected CRC, by spindle and block.
    must_be: Vec<Vec<u32>>,
    /// Previous contents of blocks that are being written: a concurrent read may find either.
    replaced_contents: FxHashMap<u64, ExpectedBlock>,
    /// Reads in flight, by command.
    reading: FxHashMap<usize, ReadInFlight>,
    /// Stripes whose blocks have been checked against each other since the start.
    known: SummaryBitmap,
    checking: BTreeMap<u64, StripeCheck>,
    /// The record numbers of parity, by stripe and row, for blocks that are about to be written alone.
    parity_numbers: BTreeMap<u64, Vec<Option<u64>>>,
    /// Spindles that lack some writes, because they are lost or being rebuilt. Their blocks prove nothing.
    incomplete: Vec<bool>,
}

/// A check of a stripe in progress.
struct StripeCheck {
    left: usize,
    members: Vec<Option<Vec<BlockState>>>,
    /// Commands that wait for the check.
    waiting: Vec<usize>,
}

/// A read in flight.
struct ReadInFlight {
    spindle: SpindleIndex,
    blocks: Range<u64>,
    /// The possible contents of each block when the read was issued.
    may_be: Vec<[ExpectedBlock; 2]>,
    /// Whether one of its blocks was written since.
    is_overlapped: bool,
}

fn key(spindle: SpindleIndex, dbn: Dbn) -> u64 {
    u64::from(spindle.0) << 48 | dbn.0
}

impl ExpectedBlocks {
    pub(super) fn new(layout: LunLayout) -> Self {
        let segments = layout.segments_used(layout.lun_capacity_sectors());
        let blocks = (segments * layout.segment_sectors() / BLOCK_SECTORS) as usize;
        let spindles = usize::from(layout.spindles());
        Self {
            unit_blocks: layout.unit_sectors() / BLOCK_SECTORS,
            must_be: (0..spindles).map(|_| vec![ANYTHING; blocks]).collect(),
            replaced_contents: FxHashMap::default(),
            reading: FxHashMap::default(),
            known: SummaryBitmap::new(layout.stripes()),
            checking: BTreeMap::new(),
            parity_numbers: BTreeMap::new(),
            incomplete: vec![false; spindles],
            layout,
        }
    }

    /// Sets whether a spindle holds everything that was written to it.
    pub(super) fn set_complete(&mut self, spindle: SpindleIndex, is_complete: bool) {
        self.incomplete[spindle.index()] = !is_complete;
    }

    /// Returns the expected contents of a block.
    fn at(&self, spindle: SpindleIndex, dbn: Dbn) -> ExpectedBlock {
        match self.must_be[spindle.index()].get(dbn.0 as usize) {
            None | Some(&ANYTHING) => ExpectedBlock::Unknown,
            Some(&NOTHING) => ExpectedBlock::Untrusted,
            Some(&crc) => ExpectedBlock::Crc(crc),
        }
    }

    fn set(&mut self, spindle: SpindleIndex, dbn: Dbn, must_be: ExpectedBlock) {
        if let Some(at) = self.must_be[spindle.index()].get_mut(dbn.0 as usize) {
            *at = match must_be {
                ExpectedBlock::Unknown | ExpectedBlock::Crc(ANYTHING | NOTHING) => ANYTHING,
                ExpectedBlock::Crc(crc) => crc,
                ExpectedBlock::Untrusted => NOTHING,
            };
        }
    }

    /// Registers a read by command `slot`. Each block must have its expected contents, or the previous ones if it is
    /// being written.
    pub(super) fn read(&mut self, slot: usize, spindle: SpindleIndex, blocks: Range<u64>) {
        let may_be = |dbn| {
            let now = self.at(spindle, dbn);
            [self.replaced_contents.get(&key(spindle, dbn)).copied().unwrap_or(now), now]
        };
        let may_be = blocks.clone().map(|dbn| may_be(Dbn(dbn))).collect();
        let is_overlapped = false;
        self.reading.insert(slot, ReadInFlight { spindle, blocks, may_be, is_overlapped });
    }

    /// Forgets a read that has ended, with or without data.
    pub(super) fn forget_read(&mut self, slot: usize) {
        self.reading.remove(&slot);
    }

    /// Starts the checks of those stripes of these blocks that are not checked, and returns the first of them.
    pub(super) fn ensure_checked(
        &mut self,
        store: &mut Store,
        spindle: SpindleIndex,
        blocks: Range<u64>,
    ) -> Option<u64> {
        self.ensure(store, spindle, blocks, |known, stripe| known.known.contains(stripe))
    }

    /// Starts the reads of the numbers of parity beside these blocks, which are written alone, and returns the
    /// first stripe whose numbers are not there. [`Self::number`] takes them.
    pub(super) fn ensure_numbered(
        &mut self,
        store: &mut Store,
        spindle: SpindleIndex,
        blocks: Range<u64>,
    ) -> Option<u64> {
        self.ensure(store, spindle, blocks, |known, stripe| {
            known.parity_numbers.contains_key(&stripe)
        })
    }

    fn ensure(
        &mut self,
        store: &mut Store,
        spindle: SpindleIndex,
        blocks: Range<u64>,
        is_there: impl Fn(&Self, u64) -> bool,
    ) -> Option<u64> {
        let units = self.units_of(&blocks);
        for unit in units.clone() {
            if let Some(stripe) = self.stripe_of(spindle, unit)
                && !is_there(self, stripe)
            {
                self.look(store, stripe);
            }
        }
        // If no member can be read, the check of a stripe finishes at once.
        let mut stripes = units.filter_map(|unit| self.stripe_of(spindle, unit));
        stripes.find(|stripe| !is_there(self, *stripe))
    }

    /// The stripe units of a spindle that these blocks are in.
    fn units_of(&self, blocks: &Range<u64>) -> Range<u64> {
        blocks.start / self.unit_blocks..blocks.end.div_ceil(self.unit_blocks)
    }

    fn stripe_of(&self, spindle: SpindleIndex, unit: u64) -> Option<u64> {
        let sector = unit * self.unit_blocks * BLOCK_SECTORS;
        self.layout.stripe_on(spindle, sector).map(|(stripe, _)| stripe)
    }

    /// Numbers blocks that are written alone, as a rebuild and a repair do. Data has the number of its parity: with a
    /// lower one, parity that lacks the last write of the data would look newer than the data. Parity, and data whose
    /// parity is unreadable and will be written anew, have that of the last record that is `durable`: what they cover
    /// was written with such records.
    pub(super) fn number(
        &mut self,
        spindle: SpindleIndex,
        blocks: Range<u64>,
        block_tags: &mut [BlockTag],
        durable: u64,
    ) {
        for (dbn, block_tag) in blocks.clone().zip(block_tags) {
            let Some(stripe) = self.stripe_of(spindle, dbn / self.unit_blocks) else { continue };
            let numbers = self.parity_numbers.get(&stripe);
            let number = numbers.and_then(|of_rows| of_rows[(dbn % self.unit_blocks) as usize]);
            let is_parity = block_tag.holds == BlockContents::Parity;
            block_tag.redo = number.filter(|_| !is_parity).unwrap_or(durable);
        }
        for unit in self.units_of(&blocks) {
            if let Some(stripe) = self.stripe_of(spindle, unit) {
                self.parity_numbers.remove(&stripe);
            }
        }
    }

    /// Reads the checksum entries of a stripe, or those of parity only if it is checked.
    fn look(&mut self, store: &mut Store, stripe: u64) {
        if self.checking.contains_key(&stripe) {
            return;
        }
        let units: Vec<_> = self.layout.stripe(stripe).units().map(|(_, unit)| unit).collect();
        let members = units.iter().map(|_| None).collect();
        let mut look = StripeCheck { left: 0, members, waiting: Vec::new() };
        let is_checked = self.known.contains(stripe);
        let parity = u64::from(self.layout.shape().data_blocks());
        for (member, unit) in (0..).zip(units) {
            if is_checked && member != parity {
                continue;
            }
            if self.incomplete[unit.spindle.index()] || !store.is_present(unit.spindle) {
                continue;
            }
            look.left += 1;
            let token = Token(STRIPE_CHECKS.0 | stripe << MEMBER_BITS | member);
            let first = Dbn(unit.sector / BLOCK_SECTORS);
            store.read_checksums(token, unit.spindle, first, self.unit_blocks as usize);
        }
        let is_done = look.left == 0;
        self.checking.insert(stripe, look);
        if is_done {
            self.finish_check(stripe);
        }
    }

    /// Makes a command wait for the check of a stripe.
    pub(super) fn wait(&mut self, stripe: u64, command: usize) {
        if let Some(look) = self.checking.get_mut(&stripe) {
            look.waiting.push(command);
        }
    }

    /// Handles the checksum entries of a member, or `None` if the member is gone. Returns the commands that can go
    /// on.
    pub(super) fn on_checksums_read(
        &mut self,
        token: Token,
        states: Option<Vec<BlockState>>,
    ) -> Vec<usize> {
        let stripe = (token.0 ^ STRIPE_CHECKS.0) >> MEMBER_BITS;
        let member = token.0 as usize % (1 << MEMBER_BITS);
        let Some(look) = self.checking.get_mut(&stripe) else { return Vec::new() };
        look.members[member] = states;
        look.left -= 1;
        if look.left > 0 { Vec::new() } else { self.finish_check(stripe) }
    }

    /// Finishes the check of a stripe whose members were all read.
    fn finish_check(&mut self, stripe: u64) -> Vec<usize> {
        let Some(StripeCheck { members, waiting, .. }) = self.checking.remove(&stripe) else {
            return Vec::new();
        };
        let was_known = !self.known.insert(stripe);
        let units: Vec<_> = self.layout.stripe(stripe).units().map(|(_, unit)| unit).collect();
        let mut numbers = Vec::new();
        for row in 0..self.unit_blocks {
            let state = |of: &Option<Vec<BlockState>>| of.as_ref().map(|of| of[row as usize]);
            let written: Vec<Option<WrittenBlock>> =
                members.iter().map(|of| WrittenBlock::of(&state(of)?)).collect();
            let Some((parity, data)) = written.split_last() else { continue };
            numbers.push(parity.map(|parity| parity.redo));
            if was_known {
                continue;
            }
            for (unit, must_be) in units.iter().zip(cross_check(data, *parity)) {
                self.set(unit.spindle, Dbn(unit.sector / BLOCK_SECTORS + row), must_be);
            }
        }
        if was_known {
            self.parity_numbers.insert(stripe, numbers);
        }
        waiting
    }

    /// Records the new contents of a block that is about to be written, and returns its tag. Data written together
    /// with parity must be recorded before the parity.
    pub(super) fn write(
        &mut self,
        spindle: SpindleIndex,
        dbn: Dbn,
        block_tag: BlockTag,
        bytes: &[u8],
    ) -> BlockTag {
        let crc = (block_tag.holds != BlockContents::Gone).then(|| crc32c(bytes));
        self.replaced_contents.insert(key(spindle, dbn), self.at(spindle, dbn));
        for reading in self.reading.values_mut() {
            reading.is_overlapped |= reading.spindle == spindle && reading.blocks.contains(&dbn.0);
        }
        self.set(spindle, dbn, crc.into());
        match (block_tag.holds, crc) {
            (BlockContents::Parity, Some(crc)) => {
                BlockTag { stripe_sum: self.stripe_sum(spindle, dbn, crc), ..block_tag }
            }
            _ => block_tag,
        }
    }

    /// Handles the end of a write to blocks, whether or not it succeeded.
    pub(super) fn on_written(&mut self, spindle: SpindleIndex, blocks: Range<u64>) {
        for dbn in blocks {
            self.replaced_contents.remove(&key(spindle, Dbn(dbn)));
        }
    }

    /// Returns the stripe sum of a row whose parity has this CRC from now on.
    fn stripe_sum(&mut self, spindle: SpindleIndex, dbn: Dbn, crc: u32) -> Option<StripeSum> {
        let (stripe, _) = self.layout.stripe_on(spindle, dbn.0 * BLOCK_SECTORS)?;
        let row = dbn.0 % self.unit_blocks;
        let units = self.layout.stripe(stripe);
        let data_blocks = usize::from(self.layout.shape().data_blocks());
        let places: Vec<_> = units
            .units()
            .take(data_blocks)
            .map(|(_, unit)| (unit.spindle, Dbn(unit.sector / BLOCK_SECTORS + row)))
            .collect();
        let mut data: Vec<ExpectedBlock> =
            places.iter().map(|(at, dbn)| self.at(*at, *dbn)).collect();
        let sum = sum_of(&mut data, crc, |member| self.incomplete[places[member].0.index()]);
        for ((spindle, dbn), must_be) in places.into_iter().zip(data) {
            self.set(spindle, dbn, must_be);
        }
        sum
    }

    /// Marks blocks of a read as bad if their contents are impossible. Returns false if a block may hold contents
    /// that were written, and overwritten again, since the read was issued: then the read proves nothing.
    pub(super) fn flag_stale(&mut self, slot: usize, states: &mut [BlockState]) -> bool {
        let Some(ReadInFlight { spindle, blocks, may_be, is_overlapped }) =
            self.reading.remove(&slot)
        else {
            return true;
        };
        for ((dbn, may_be), state) in blocks.zip(may_be).zip(states) {
            let Some(WrittenBlock { crc: found, .. }) = WrittenBlock::of(state) else { continue };
            let now = self.at(spindle, Dbn(dbn));
            if now.allows(found) || may_be.iter().any(|one| one.allows(found)) {
                continue;
            }
            if is_overlapped {
                return false;
            }
            *state = BlockState::Bad(BadBlock::Stale { found });
        }
        true
    }
}
