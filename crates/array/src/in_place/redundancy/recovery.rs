//! Recoveries: sectors computed from the rest of their stripe, because their spindle is lost or they are bad.
//!
//! The rest of the stripe must not change meanwhile. A recovery waits for a destage of its stripe, and no destage
//! begins there until the recovery ends. Only a destage's own reads go ahead: it changes nothing before it has them.
//!
//! Bad blocks are rewritten in place as soon as they are computed. Parity does not change, so power loss does no harm:
//! the block is either still bad or good.
//!
//! Time passes between the read that finds a block bad and the reads of the rest of its stripe. Another recovery or a
//! destage may rewrite the block meanwhile, and then another block of its row may go bad, or its spindle be lost: the
//! row lacks one block at a time, and never two. So before a block counts as gone it is read once more, where it is.

use std::ops::Range;

use strewn_alloc::GroupIndex;
use strewn_base::state::SavedValue;
use strewn_base::{BLOCK_SECTORS, Direction};
use strewn_raid::{Member, MemberSet, SpindleIndex, StripedLayout};

use crate::driver::{Driver, Tag};
use crate::payload::{BlockContents, Payload};

use super::super::context::{Context, Next};
use super::super::space::blocks::{self, BlockSet, blocks_touched, sectors_of_block};
use super::super::space::{DiskGroup, Run};
use super::super::tag::{Kind, TagFields};
use super::{GroupRedundancy, Redundancy};

/// The detail of a recovery's tag: the command reads the wanted sectors themselves, from where they are now.
pub(super) const DIRECT: u32 = 1;

/// A read of sectors that are lost or bad.
#[derive(SavedValue)]
pub(super) struct Recovery<P> {
    /// The tag of the read that waits; `None` if none does.
    requester: Option<Tag>,
    /// The sectors, by the layout.
    run: Run,
    pub(super) stripe: u64,
    member: Member,
    /// Commands in flight; none while it waits. The stripe is locked meanwhile.
    awaited: u32,
    /// A spindle failed meanwhile: it must read again.
    again: bool,
    /// Bad blocks are being written.
    writing: bool,
    /// Those blocks, by number on the layout's spindle.
    written: Vec<u64>,
    /// Bad blocks that cannot be computed are being read once more, or have been.
    is_second_look: bool,
    answer: P,
    /// Exclusive or of the data read from the rest of the stripe; empty without bytes.
    sum: Vec<u8>,
    gone: BlockSet,
    /// `None` if the sectors are lost.
    bad: Option<Box<BadRead<P>>>,
}

/// A read that found bad blocks.
#[derive(SavedValue)]
struct BadRead<P> {
    /// Its sectors by the layout. The recovery begins with its first bad block.
    run: Run,
    payload: P,
    bad: BlockSet,
    /// Blocks of the recovery that were good when they were read once more.
    good_again: BlockSet,
}

impl<P: Payload> Redundancy<P> {
    /// Reads lost sectors, which a read of this tag asked for.
    #[cold]
    pub(crate) fn recover(
        &mut self,
        fields: TagFields,
        run: Run,
        cx: &mut Context<'_, P, impl Driver<P>>,
    ) {
        cx.counters.degraded_reads += 1;
        self.add_recovery((fields.group, Some(fields.pack())), run, None, cx);
    }

    /// Computes the bad blocks of a read and rewrites them; `run` is what was read, by the layout.
    pub(crate) fn recover_blocks(
        &mut self,
        from: (GroupIndex, Option<Tag>),
        run: Run,
        payload: P,
        bad: BlockSet,
        cx: &mut Context<'_, P, impl Driver<P>>,
    ) {
        let Some(hull) = bad.hull() else { return };
        let first_bad = (run.first_sector / BLOCK_SECTORS + hull.start as u64) * BLOCK_SECTORS;
        let in_hull = (hull.len() as u64 * BLOCK_SECTORS) as u32;
        let bad = Box::new(BadRead { run, payload, bad, good_again: BlockSet::EMPTY });
        let run = Run { first_sector: first_bad, sectors: in_hull, ..run };
        self.add_recovery(from, run, Some(bad), cx);
    }

    fn add_recovery(
        &mut self,
        (id, requester): (GroupIndex, Option<Tag>),
        run: Run,
        bad: Option<Box<BadRead<P>>>,
        cx: &mut Context<'_, P, impl Driver<P>>,
    ) {
        let layout = &cx.space.groups[id].layout;
        let Some((stripe, member)) = layout.stripe_on(run.spindle, run.first_sector) else {
            unreachable!("{} has no sector {}", run.spindle, run.first_sector)
        };
        let slot = self.groups[id].recoveries.insert(Recovery {
            requester,
            run,
            stripe,
            member,
            awaited: 0,
            again: false,
            writing: false,
            written: Vec::new(),
            is_second_look: false,
            answer: P::default(),
            sum: Vec::new(),
            gone: BlockSet::EMPTY,
            bad,
        });
        self.begin_recovery(id, slot, cx);
    }

    /// Sends a recovery's reads, or queues it behind a destage that is changing its stripe.
    pub(crate) fn begin_recovery(
        &mut self,
        id: GroupIndex,
        slot: usize,
        cx: &mut Context<'_, P, impl Driver<P>>,
    ) {
        let group = &cx.space.groups[id];
        let layout = &group.layout;
        let recovery = &self.groups[id].recoveries[slot];
        let (stripe, member) = (recovery.stripe, recovery.member);
        // Sectors that were rebuilt while it waited are read from where they are now.
        let direct = match recovery.bad {
            None => group.place_now(recovery.run.spindle, recovery.run.first_sector),
            Some(_) => None,
        };
        let kind = recovery.requester.map(|tag| TagFields::of(tag).kind);
        let waits = kind != Some(Kind::Destage) && group.is_destaged(stripe..stripe + 1);
        if let Some(place) = direct {
            self.send_recovery_reads((id, slot), &[place], true, cx);
        } else if waits {
            self.groups[id].waiting.push_back(slot);
        } else {
            let offset = recovery.run.first_sector % layout.unit_sectors();
            let lost = group.lost_of(stripe).with(member);
            match layout.shape().plan_read(MemberSet::single(member), lost) {
                Ok(plan) => {
                    let places = group.places_of(stripe, plan.read, offset);
                    self.send_recovery_reads((id, slot), &places, false, cx);
                }
                // A bad block in a stripe with a lost spindle.
                Err(_) => self.nothing_to_read(id, slot, cx),
            }
        }
    }

    /// Reads a recovery's sectors at `places`: directly, or what they are computed from.
    fn send_recovery_reads(
        &mut self,
        (group, slot): (GroupIndex, usize),
        places: &[(SpindleIndex, u64)],
        directly: bool,
        cx: &mut Context<'_, P, impl Driver<P>>,
    ) {
        let recovery = &mut self.groups[group].recoveries[slot];
        let sectors = recovery.run.sectors;
        recovery.lock_for(places.len(), &mut cx.space.groups[group]);
        cx.counters.recovery_reads += places.len() as u64;
        let detail = if directly { DIRECT } else { 0 };
        let fields = TagFields { kind: Kind::Recovery, group, slot, detail };
        for &(spindle, first_sector) in places {
            let run = Run { spindle, first_sector, sectors };
            cx.send(fields, Direction::Read, run, P::default());
        }
    }

    fn nothing_to_read(
        &mut self,
        id: GroupIndex,
        slot: usize,
        cx: &mut Context<'_, P, impl Driver<P>>,
    ) {
        let recovery = &mut self.groups[id].recoveries[slot];
        let Run { first_sector, sectors, .. } = recovery.run;
        recovery.gone = BlockSet::all(blocks_touched(first_sector, sectors));
        if P::CARRIES_DATA {
            recovery.sum = vec![0; blocks::bytes_of(&(0..sectors)).len()];
        }
        if !self.reread_gone_blocks(id, slot, cx) {
            self.end_recovery(id, slot, cx);
        }
    }

    /// Reads bad blocks once more that cannot be computed. Returns false if there are none, or it has done so before.
    /// The stripe stays as it is until they have come.
    #[cold]
    fn reread_gone_blocks(
        &mut self,
        id: GroupIndex,
        slot: usize,
        cx: &mut Context<'_, P, impl Driver<P>>,
    ) -> bool {
        let recovery = &mut self.groups[id].recoveries[slot];
        if recovery.is_second_look || recovery.bad.is_none() || recovery.gone.is_empty() {
            return false;
        }
        let Run { spindle, first_sector, .. } = recovery.run;
        let Some(place) = cx.space.groups[id].place_now(spindle, first_sector) else {
            return false;
        };
        recovery.is_second_look = true;
        self.send_recovery_reads((id, slot), &[place], true, cx);
        true
    }

    /// A command of a recovery has completed, with all but the blocks that are gone; or it failed.
    pub(crate) fn on_recovery_command_done(
        &mut self,
        tag: TagFields,
        outcome: Option<(&P, &BlockSet)>,
        cx: &mut Context<'_, P, impl Driver<P>>,
    ) {
        let TagFields { group: id, slot, detail, .. } = tag;
        let recovery = &mut self.groups[id].recoveries[slot];
        assert!(recovery.awaited > 0, "a command has completed that its recovery did not wait for");
        recovery.awaited -= 1;
        if !recovery.writing {
            match outcome {
                Some((payload, gone)) => recovery.on_read(detail, payload, gone),
                None => recovery.again = true,
            }
        }
        if recovery.awaited > 0 {
            return;
        }
        if let Some(losses) = &mut cx.space.groups[id].losses {
            losses.unlock(recovery.stripe);
        }
        if std::mem::take(&mut recovery.again) {
            recovery.sum.clear();
            recovery.gone = BlockSet::EMPTY;
            recovery.is_second_look = false;
            self.begin_recovery(id, slot, cx);
        } else if recovery.writing
            || !(self.reread_gone_blocks(id, slot, cx) || self.write_back_computed(id, slot, cx))
        {
            self.end_recovery(id, slot, cx);
        }
    }

    /// Sends the computed blocks back to where they were found bad. Returns false if there are none.
    fn write_back_computed(
        &mut self,
        id: GroupIndex,
        slot: usize,
        cx: &mut Context<'_, P, impl Driver<P>>,
    ) -> bool {
        let group = &mut cx.space.groups[id];
        let recovery = &self.groups[id].recoveries[slot];
        let place = group.place_now(recovery.run.spindle, recovery.run.first_sector);
        let (Some(place), Some(good)) = (place, self.groups[id].blocks_to_repair(slot)) else {
            return false;
        };
        let writes = recovery.repairs_of(&good, place, group);
        let first_block = recovery.run.first_sector / BLOCK_SECTORS;
        let recovery = &mut self.groups[id].recoveries[slot];
        recovery.writing = true;
        recovery.written = good.iter().map(|block| first_block + block as u64).collect();
        let are_sent = !writes.is_empty();
        if are_sent {
            recovery.lock_for(writes.len(), group);
        }
        let count = if group.layout.is_parity(recovery.member) {
            &mut cx.counters.parity_writes
        } else {
            &mut cx.counters.data_writes
        };
        *count += writes.len() as u64;
        cx.space.bad_blocks.repaired += good.len() as u64;
        let fields = TagFields { kind: Kind::Recovery, group: id, slot, detail: 0 };
        for (run, payload) in writes {
            cx.send(fields, Direction::Write, run, payload);
        }
        are_sent
    }

    /// Answers the read that waited with what there is.
    fn end_recovery(
        &mut self,
        id: GroupIndex,
        slot: usize,
        cx: &mut Context<'_, P, impl Driver<P>>,
    ) {
        let recovery = self.groups[id].recoveries.remove(slot);
        let Recovery { requester, mut answer, sum, mut gone, bad, .. } = recovery;
        let computed = P::from_bytes(sum);
        if let Some(read) = bad {
            (answer, gone) = read.with(&computed, &gone);
        } else if !computed.bytes().is_empty() {
            answer = computed;
        }
        if let Some(tag) = requester {
            cx.then(Next::Recovered(TagFields::of(tag), answer, gone));
        }
        cx.then(Next::StripesFree(id));
    }

    /// The place by the layout of the sectors that this recovery's command reads directly; `None` if it reads the rest
    /// of the stripe, or what that rest could not give.
    pub(crate) fn read_directly_by(&self, tag: TagFields) -> Option<(SpindleIndex, u64)> {
        let recovery = &self.groups[tag.group].recoveries[tag.slot];
        let is_direct = tag.detail == DIRECT && recovery.bad.is_none();
        is_direct.then_some((recovery.run.spindle, recovery.run.first_sector))
    }

    /// Computes parity that a destage has marked as gone, if all data of the stripe can be read. `first` is a sector of
    /// the first row whose parity the destage wrote.
    pub(crate) fn mend_parity(
        &mut self,
        id: GroupIndex,
        first: u64,
        gone: BlockSet,
        cx: &mut Context<'_, P, impl Driver<P>>,
    ) {
        let group = &mut cx.space.groups[id];
        group.losses_or_new();
        let (stripe, _) = group.stripe_of(first);
        let layout = &group.layout;
        let (Some(hull), true) = (gone.hull(), group.lost_of(stripe).is_empty()) else { return };
        let unit = layout.stripe(stripe).unit(layout.shape().row_parity());
        let offset = first % layout.unit_sectors() / BLOCK_SECTORS * BLOCK_SECTORS;
        let run = Run {
            spindle: unit.spindle,
            first_sector: unit.sector + offset,
            sectors: hull.end as u32 * BLOCK_SECTORS as u32,
        };
        self.recover_blocks((id, None), run, P::default(), gone, cx);
    }
}

impl<P: Payload> GroupRedundancy<P> {
    /// The bad blocks that a recovery has computed and no other one is writing; `None` if it was for lost sectors.
    fn blocks_to_repair(&self, slot: usize) -> Option<BlockSet> {
        let recovery = &self.recoveries[slot];
        let read = recovery.bad.as_ref()?;
        let skipped = read.bad.hull().map_or(0, |hull| hull.start);
        // If several recoveries found a block bad, one of them rewrites it.
        let is_written = |block: u64| {
            self.recoveries.iter().any(|(_, other)| {
                other.run.spindle == recovery.run.spindle && other.written.contains(&block)
            })
        };
        let first_block = recovery.run.first_sector / BLOCK_SECTORS;
        let mut good = BlockSet::EMPTY;
        for block in read.bad.iter().map(|block| block - skipped) {
            let is_computed = !recovery.gone.contains(block) && !read.good_again.contains(block);
            if is_computed && !is_written(first_block + block as u64) {
                good.insert(block);
            }
        }
        Some(good)
    }
}

impl<P: Payload> Recovery<P> {
    /// It waits for so many commands, and locks its stripe.
    fn lock_for(&mut self, commands: usize, group: &mut DiskGroup) {
        self.awaited = commands as u32;
        group.losses_or_new().lock_for_reading(self.stripe);
    }

    /// A read has come, all but the blocks that are gone.
    fn on_read(&mut self, detail: u32, payload: &P, gone: &BlockSet) {
        if self.is_second_look {
            return self.on_reread(payload, gone);
        }
        if detail == DIRECT {
            self.answer.splice(0, payload);
        } else if P::CARRIES_DATA {
            blocks::add(&mut self.sum, payload.bytes());
        }
        self.gone.add(gone);
    }

    /// The writes of the blocks that have been computed, one for each run. `place` is where the recovery's sectors are
    /// now.
    fn repairs_of(
        &self,
        good: &BlockSet,
        (spindle, place): (SpindleIndex, u64),
        group: &DiskGroup,
    ) -> Vec<(Run, P)> {
        let layout = &group.layout;
        let is_parity = layout.is_parity(self.member);
        let in_unit = self.run.first_sector % layout.unit_sectors();
        let lun_sector = layout.sectors_of_unit(self.stripe, self.member).start + in_unit;
        let write = |run: Range<usize>| {
            let from = run.start as u64 * BLOCK_SECTORS;
            let sectors = (run.len() as u64 * BLOCK_SECTORS) as u32;
            let bytes = blocks::bytes_of(&(from as u32..from as u32 + sectors));
            let mut payload = P::from_bytes(self.sum[bytes].to_vec());
            blocks::describe(&mut payload, place + from, sectors, |block| {
                let block = (lun_sector + from) / BLOCK_SECTORS + block as u64;
                if is_parity { BlockContents::Parity } else { BlockContents::lun(block) }
            });
            (Run { spindle, first_sector: place + from, sectors }, payload)
        };
        good.runs().into_iter().map(write).collect()
    }

    /// What could not be computed has been read once more, all but the blocks that are `bad` still.
    fn on_reread(&mut self, payload: &P, bad: &BlockSet) {
        let Some(read) = &mut self.bad else { return };
        for block in std::mem::take(&mut self.gone).iter() {
            if bad.contains(block) {
                self.gone.insert(block);
                continue;
            }
            let sectors = sectors_of_block(self.run.first_sector, self.run.sectors, block);
            let bytes = blocks::bytes_of(&sectors);
            self.sum[bytes.clone()].copy_from_slice(&payload.bytes()[bytes]);
            read.good_again.insert(block);
        }
    }
}

impl<P: Payload> BadRead<P> {
    /// The read with its bad blocks as computed, and which of its blocks are gone.
    fn with(self, computed: &P, gone: &BlockSet) -> (P, BlockSet) {
        let Self { run: Run { first_sector, sectors, .. }, mut payload, bad, .. } = self;
        let skipped = bad.hull().map_or(0, |hull| hull.start);
        let before_hull = skipped as u64 * BLOCK_SECTORS;
        let mut gone_of_read = BlockSet::EMPTY;
        for block in bad.iter() {
            if gone.contains(block - skipped) {
                gone_of_read.insert(block);
                continue;
            }
            let wanted = sectors_of_block(first_sector, sectors, block);
            let in_hull = first_sector % BLOCK_SECTORS + u64::from(wanted.start) - before_hull;
            let part = computed.slice(in_hull as u32, wanted.end - wanted.start);
            payload.splice(wanted.start, &part);
        }
        (payload, gone_of_read)
    }
}
