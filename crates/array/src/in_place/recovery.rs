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

use strewn_alloc::GroupIndex;
use strewn_base::state::SavedValue;
use strewn_base::{BLOCK_SECTORS, Direction};
use strewn_raid::{Member, MemberSet, SpindleIndex, StripedLayout};

use crate::driver::{Driver, SpindleCommand, Tag};
use crate::payload::{BlockContents, Payload};

use super::InPlace;
use super::blocks::{self, BlockSet, blocks_touched, sectors_of_block};
use super::group::DiskGroup;
use super::tag::{Kind, TagFields};

/// The detail of a recovery's tag: the command reads the wanted sectors themselves, from where they are now.
const DIRECT: u32 = 1;

/// A read of sectors that are lost or bad.
#[derive(SavedValue)]
pub(super) struct Recovery<P> {
    /// The tag of the read that waits; `None` if none does.
    requester: Option<Tag>,
    /// The sectors' place by the layout.
    spindle: SpindleIndex,
    first_sector: u64,
    sectors: u32,
    pub(super) stripe: u64,
    member: Member,
    /// Commands in flight; none while it waits.
    pub(super) awaited: u32,
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
    /// Its place by the layout. The recovery begins with its first bad block.
    first_sector: u64,
    sectors: u32,
    payload: P,
    bad: BlockSet,
    /// Blocks of the recovery that were good when they were read once more.
    good_again: BlockSet,
}

impl<P: Payload> InPlace<P> {
    /// Reads lost sectors; `command` has their place by the layout.
    #[cold]
    pub(super) fn recover(
        &mut self,
        group: GroupIndex,
        command: &SpindleCommand<P>,
        driver: &mut impl Driver<P>,
    ) {
        let at = (command.spindle, command.first_sector);
        self.counters.degraded_reads += 1;
        self.add_recovery(group, Some(command.tag), at, command.sectors, None, driver);
    }

    /// Computes the bad blocks of a read of `sectors` sectors and rewrites them; `at` is the read's place by the
    /// layout.
    pub(super) fn recover_blocks(
        &mut self,
        (group, requester): (GroupIndex, Option<Tag>),
        at: (SpindleIndex, u64),
        sectors: u32,
        payload: P,
        bad: BlockSet,
        driver: &mut impl Driver<P>,
    ) {
        let Some(hull) = bad.hull() else { return };
        let (spindle, first_sector) = at;
        let first_bad = (first_sector / BLOCK_SECTORS + hull.start as u64) * BLOCK_SECTORS;
        let in_hull = (hull.len() as u64 * BLOCK_SECTORS) as u32;
        let bad =
            Box::new(BadRead { first_sector, sectors, payload, bad, good_again: BlockSet::EMPTY });
        self.add_recovery(group, requester, (spindle, first_bad), in_hull, Some(bad), driver);
    }

    fn add_recovery(
        &mut self,
        id: GroupIndex,
        requester: Option<Tag>,
        (spindle, first_sector): (SpindleIndex, u64),
        sectors: u32,
        bad: Option<Box<BadRead<P>>>,
        driver: &mut impl Driver<P>,
    ) {
        let group = &mut self.groups[id];
        let Some(degraded) = &mut group.degraded else { return };
        let Some((stripe, member)) = group.layout.stripe_on(spindle, first_sector) else {
            unreachable!("{spindle} has no sector {first_sector}")
        };
        let slot = degraded.recoveries.insert(Recovery {
            requester,
            spindle,
            first_sector,
            sectors,
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
        self.begin_recovery(id, slot, driver);
    }

    pub(super) fn begin_recovery(
        &mut self,
        id: GroupIndex,
        slot: usize,
        driver: &mut impl Driver<P>,
    ) {
        let group = &mut self.groups[id];
        let layout = &group.layout;
        let Some(degraded) = &group.degraded else { return };
        let recovery = &degraded.recoveries[slot];
        let (stripe, member) = (recovery.stripe, recovery.member);
        // Sectors that were rebuilt while it waited are read from where they are now.
        let direct = match recovery.bad {
            None => degraded.place(recovery.spindle, recovery.first_sector),
            Some(_) => None,
        };
        let offset = recovery.first_sector % layout.unit_sectors();
        let kind = recovery.requester.map(|tag| TagFields::of(tag).kind);
        let waits = kind != Some(Kind::Destage) && group.is_destaged(stripe..stripe + 1);
        let reads = if let Some(place) = direct {
            vec![place]
        } else if waits {
            Vec::new()
        } else {
            let lost = degraded.lost_of(layout, stripe).with(member);
            match layout.shape().plan_read(MemberSet::single(member), lost) {
                Ok(plan) => group.places_of(stripe, plan.read, offset),
                // A bad block in a stripe with a lost spindle.
                Err(_) => return self.nothing_to_read(id, slot, driver),
            }
        };
        let Some(degraded) = &mut group.degraded else { return };
        if reads.is_empty() {
            degraded.waiting.push_back(slot);
            return;
        }
        self.send_recovery_reads((id, slot), &reads, direct.is_some(), driver);
    }

    /// Reads a recovery's sectors at `places`: directly, or what they are computed from.
    fn send_recovery_reads(
        &mut self,
        (id, slot): (GroupIndex, usize),
        places: &[(SpindleIndex, u64)],
        directly: bool,
        driver: &mut impl Driver<P>,
    ) {
        let Some(degraded) = &mut self.groups[id].degraded else { return };
        let recovery = &mut degraded.recoveries[slot];
        recovery.awaited = places.len() as u32;
        let sectors = recovery.sectors;
        self.counters.recovery_reads += places.len() as u64;
        let detail = if directly { DIRECT } else { 0 };
        for &(spindle, first_sector) in places {
            let tag = TagFields { kind: Kind::Recovery, group: id, slot, detail }.pack();
            let payload = P::default();
            let direction = Direction::Read;
            let command = SpindleCommand {
                tag,
                spindle,
                direction,
                first_sector,
                sectors,
                payload,
                all_or_none: false,
            };
            self.send(id, command, driver);
        }
    }

    fn nothing_to_read(&mut self, id: GroupIndex, slot: usize, driver: &mut impl Driver<P>) {
        let Some(degraded) = &mut self.groups[id].degraded else { return };
        let recovery = &mut degraded.recoveries[slot];
        recovery.gone = BlockSet::all(blocks_touched(recovery.first_sector, recovery.sectors));
        if P::CARRIES_DATA {
            recovery.sum = vec![0; blocks::bytes_of(&(0..recovery.sectors)).len()];
        }
        if !self.reread_gone_blocks(id, slot, driver) {
            self.end_recovery(id, slot, driver);
        }
    }

    /// Reads bad blocks once more that cannot be computed. Returns false if there are none, or it has done so before.
    /// The stripe stays as it is until they have come.
    #[cold]
    fn reread_gone_blocks(
        &mut self,
        id: GroupIndex,
        slot: usize,
        driver: &mut impl Driver<P>,
    ) -> bool {
        let Some(degraded) = &mut self.groups[id].degraded else { return false };
        let recovery = &mut degraded.recoveries[slot];
        if recovery.is_second_look || recovery.bad.is_none() || recovery.gone.is_empty() {
            return false;
        }
        let at = (recovery.spindle, recovery.first_sector);
        let Some(place) = degraded.place(at.0, at.1) else { return false };
        degraded.recoveries[slot].is_second_look = true;
        self.send_recovery_reads((id, slot), &[place], true, driver);
        true
    }

    /// A command of a recovery has completed, with all but the blocks that are gone; or it failed.
    pub(super) fn on_recovery_command_done(
        &mut self,
        tag: TagFields,
        outcome: Option<(&P, &BlockSet)>,
        driver: &mut impl Driver<P>,
    ) {
        let TagFields { group: id, slot, detail, .. } = tag;
        let Some(degraded) = &mut self.groups[id].degraded else { return };
        let recovery = &mut degraded.recoveries[slot];
        assert!(recovery.awaited > 0, "a command has completed that its recovery did not wait for");
        recovery.awaited -= 1;
        if !recovery.writing {
            match outcome {
                Some((payload, gone)) => {
                    if recovery.is_second_look {
                        recovery.on_reread(payload, gone);
                    } else {
                        if detail == DIRECT {
                            recovery.answer.splice(0, payload);
                        } else if P::CARRIES_DATA {
                            blocks::add(&mut recovery.sum, payload.bytes());
                        }
                        recovery.gone.add(gone);
                    }
                }
                None => recovery.again = true,
            }
        }
        if recovery.awaited > 0 {
            return;
        }
        if std::mem::take(&mut recovery.again) {
            recovery.sum.clear();
            recovery.gone = BlockSet::EMPTY;
            recovery.is_second_look = false;
            self.begin_recovery(id, slot, driver);
        } else if recovery.writing
            || !(self.reread_gone_blocks(id, slot, driver)
                || self.write_back_computed(id, slot, driver))
        {
            self.end_recovery(id, slot, driver);
        }
    }

    /// Sends the computed blocks back to where they were found bad. Returns false if there are none.
    fn write_back_computed(
        &mut self,
        id: GroupIndex,
        slot: usize,
        driver: &mut impl Driver<P>,
    ) -> bool {
        let group = &mut self.groups[id];
        let Some(good) = group.blocks_to_repair(slot) else { return false };
        let writes = group.repairs_of((id, slot), &good);
        let Some(degraded) = &mut group.degraded else { return false };
        let recovery = &mut degraded.recoveries[slot];
        let first_block = recovery.first_sector / BLOCK_SECTORS;
        recovery.writing = true;
        recovery.written = good.iter().map(|block| first_block + block as u64).collect();
        recovery.awaited = writes.len() as u32;
        let count = if group.layout.is_parity(recovery.member) {
            &mut self.counters.parity_writes
        } else {
            &mut self.counters.data_writes
        };
        *count += writes.len() as u64;
        self.bad_blocks.repaired += good.len() as u64;
        let are_sent = !writes.is_empty();
        for command in writes {
            self.send(id, command, driver);
        }
        are_sent
    }

    /// Answers the read that waited with what there is.
    fn end_recovery(&mut self, id: GroupIndex, slot: usize, driver: &mut impl Driver<P>) {
        let Some(degraded) = &mut self.groups[id].degraded else { return };
        let Recovery { requester, mut answer, sum, mut gone, bad, .. } =
            degraded.recoveries.remove(slot);
        let computed = P::from_bytes(sum);
        if let Some(read) = bad {
            (answer, gone) = read.with(&computed, &gone);
        } else if !computed.bytes().is_empty() {
            answer = computed;
        }
        if let Some(tag) = requester.map(TagFields::of) {
            match tag.kind {
                Kind::HostRead => self.on_read_done(tag, &answer, &gone, driver),
                Kind::Destage => {
                    if self.on_destage_command_done(tag, Some((&answer, &gone)), driver) {
                        self.destage_ended(id, driver);
                    }
                }
                Kind::ReadAhead => self.on_read_ahead_done(tag, Some(&answer), &gone, driver),
                Kind::Recovery | Kind::Step => {
                    self.on_recovery_command_done(tag, Some((&answer, &gone)), driver);
                }
            }
        }
        self.on_stripes_free(id, driver);
    }
}

impl<P: Payload> DiskGroup<P> {
    /// The place by the layout of the sectors that this recovery's command reads directly; `None` if it reads the rest
    /// of the stripe, or what that rest could not give.
    pub(super) fn read_directly_by(&self, tag: TagFields) -> Option<(SpindleIndex, u64)> {
        let degraded = self.degraded.as_ref()?;
        let recovery = &degraded.recoveries[tag.slot];
        let is_direct = tag.detail == DIRECT && recovery.bad.is_none();
        is_direct.then_some((recovery.spindle, recovery.first_sector))
    }

    /// The bad blocks that a recovery has computed and no other one is writing; `None` if it was for lost sectors, or
    /// its spindle has been lost since.
    fn blocks_to_repair(&self, slot: usize) -> Option<BlockSet> {
        let degraded = self.degraded.as_ref()?;
        let recovery = &degraded.recoveries[slot];
        let read = recovery.bad.as_ref()?;
        degraded.place(recovery.spindle, recovery.first_sector)?;
        let skipped = read.bad.hull().map_or(0, |hull| hull.start);
        // If several recoveries found a block bad, one of them rewrites it.
        let is_written = |block: u64| {
            degraded.recoveries.iter().any(|(_, other)| {
                other.spindle == recovery.spindle && other.written.contains(&block)
            })
        };
        let first_block = recovery.first_sector / BLOCK_SECTORS;
        let mut good = BlockSet::EMPTY;
        for block in read.bad.iter().map(|block| block - skipped) {
            let is_computed = !recovery.gone.contains(block) && !read.good_again.contains(block);
            if is_computed && !is_written(first_block + block as u64) {
                good.insert(block);
            }
        }
        Some(good)
    }

    /// The writes of the blocks that a recovery has computed, one for each run.
    fn repairs_of(
        &self,
        (id, slot): (GroupIndex, usize),
        good: &BlockSet,
    ) -> Vec<SpindleCommand<P>> {
        let Some(degraded) = &self.degraded else { return Vec::new() };
        let recovery = &degraded.recoveries[slot];
        let Some((spindle, place)) = degraded.place(recovery.spindle, recovery.first_sector) else {
            return Vec::new();
        };
        let is_parity = self.layout.is_parity(recovery.member);
        let stripe_sectors = u64::from(self.layout.shape().data_blocks());
        let chunk_sectors = self.layout.unit_sectors();
        let lun_sector = (recovery.stripe * stripe_sectors + u64::from(recovery.member.0))
            * chunk_sectors
            + recovery.first_sector % chunk_sectors;
        let write = |run: std::ops::Range<usize>| {
            let from = run.start as u64 * BLOCK_SECTORS;
            let sectors = (run.len() as u64 * BLOCK_SECTORS) as u32;
            let bytes = blocks::bytes_of(&(from as u32..from as u32 + sectors));
            let mut payload = P::from_bytes(recovery.sum[bytes].to_vec());
            blocks::describe(&mut payload, place + from, sectors, |block| {
                let block = (lun_sector + from) / BLOCK_SECTORS + block as u64;
                if is_parity { BlockContents::Parity } else { BlockContents::lun(block) }
            });
            SpindleCommand {
                tag: TagFields { kind: Kind::Recovery, group: id, slot, detail: 0 }.pack(),
                spindle,
                direction: Direction::Write,
                first_sector: place + from,
                sectors,
                payload,
                all_or_none: false,
            }
        };
        good.runs().into_iter().map(write).collect()
    }
}

impl<P: Payload> Recovery<P> {
    /// What could not be computed has been read once more, all but the blocks that are `bad` still.
    fn on_reread(&mut self, payload: &P, bad: &BlockSet) {
        let Some(read) = &mut self.bad else { return };
        for block in std::mem::take(&mut self.gone).iter() {
            if bad.contains(block) {
                self.gone.insert(block);
                continue;
            }
            let sectors = sectors_of_block(self.first_sector, self.sectors, block);
            let bytes = blocks::bytes_of(&sectors);
            self.sum[bytes.clone()].copy_from_slice(&payload.bytes()[bytes]);
            read.good_again.insert(block);
        }
    }
}

impl<P: Payload> BadRead<P> {
    /// The read with its bad blocks as computed, and which of its blocks are gone.
    fn with(self, computed: &P, gone: &BlockSet) -> (P, BlockSet) {
        let Self { first_sector, sectors, mut payload, bad, .. } = self;
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
