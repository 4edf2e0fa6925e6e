//! Full stripes: written with new parity, and nothing is read.
//!
//! Stripes that follow each other on every spindle go out as one command for each spindle. In VRAID-5 these are the
//! stripes of an RStore, in RAID-5 all stripes: each command is data and parity in turn. Without parity, it is chunks
//! that follow each other on a spindle.

use std::ops::Range;

use strewn_alloc::GroupIndex;
use strewn_base::{BLOCK_SECTORS, Direction};
use strewn_raid::{Member, SpindleIndex, StripedLayout};

use crate::driver::Driver;
use crate::format::Format;
use crate::payload::{BlockContents, Contents, Payload};

use super::super::context::Context;
use super::super::memory::{GroupMemory, WriteCache};
use super::super::space::blocks;
use super::super::space::{DiskGroup, LunLayout, Run};
use super::load::load_of;
use super::parity_costs::charge_full_rows;
use super::{Destaging, GroupDestaging, tag_of};

/// Sectors of the longest command that writes units of several stripes. Chosen.
const LONGEST_COMMAND_SECTORS: u64 = 2048;

/// Sectors of the longest command of full stripes in a format; 0 if it destages extents alone. What a durable array
/// writes to a stripe goes through one record of its log, and logs have room for the records of extents.
pub(super) fn longest_command_sectors(format: Format) -> u64 {
    if format.is_durable() { 0 } else { LONGEST_COMMAND_SECTORS }
}

/// Full stripes that go out together; without parity, chunks.
pub(super) struct FullStripes {
    stripes: Range<u64>,
    commands: Vec<RunCommand>,
}

/// A write of units that follow each other on a spindle, each of the next stripe that has one there.
struct RunCommand {
    spindle: SpindleIndex,
    first_sector: u64,
    units: Vec<(u64, Member)>,
}

impl FullStripes {
    pub(super) fn stripes(&self) -> Range<u64> {
        self.stripes.clone()
    }

    /// The commands of extents that it counts as.
    pub(super) fn load(&self, unit_sectors: u64) -> usize {
        self.load_with(0, unit_sectors)
    }

    fn load_with(&self, more_units: usize, unit_sectors: u64) -> usize {
        let units: usize = self.commands.iter().map(|command| command.units.len()).sum();
        load_of(self.commands.len(), (units + more_units) as u64 * unit_sectors)
    }
}

impl<P: Payload> Destaging<P> {
    /// Writes full stripes: data and parity.
    pub(super) fn send_full_stripes(
        &mut self,
        id: GroupIndex,
        slot: usize,
        full: FullStripes,
        cx: &mut Context<'_, P, impl Driver<P>>,
    ) {
        let layout = &cx.space.groups[id].layout;
        let unit_sectors = layout.unit_sectors();
        let destage = &mut self.groups[id].destages[slot];
        destage.writing = true;
        destage.awaited = full.commands.len() as u32;
        // Parity takes turns on the spindles of several stripes. Their commands count as those of one stripe.
        let is_parity = |(_, member): &(u64, Member)| layout.is_parity(*member);
        let has_parity = full.commands.iter().any(|command| command.units.iter().any(is_parity));
        cx.counters.parity_writes += u64::from(has_parity);
        cx.counters.data_writes += full.commands.len() as u64 - u64::from(has_parity);
        let stripes = full.stripes.end - full.stripes.start;
        charge_full_rows(id, stripes * unit_sectors, cx);
        for (index, command) in (0..).zip(&full.commands) {
            let run = Run {
                spindle: command.spindle,
                first_sector: command.first_sector,
                sectors: (command.units.len() as u64 * unit_sectors) as u32,
            };
            let layout = &cx.space.groups[id].layout;
            let payload = payload_of(command, layout, &cx.memory.groups[id]);
            cx.send(tag_of(id, slot, index), Direction::Write, run, payload);
        }
        cx.driver.all_or_none_ends();
    }
}

impl<P: Payload> GroupDestaging<P> {
    /// The stripes from a full one on that go out together; `None` if extents are as good.
    pub(super) fn full_stripes_from(
        &self,
        stripe: u64,
        group: &DiskGroup,
        memory: &GroupMemory<P>,
    ) -> Option<FullStripes> {
        let mut full = FullStripes { stripes: stripe..stripe, commands: Vec::new() };
        let mut next = stripe;
        while self.extend(&mut full, group) {
            next += 1;
            if !is_full(next, group, &memory.cache)
                || group.destaged_stripes.contains(next)
                || group.is_kept(next)
            {
                break;
            }
        }
        let is_joined = full.commands.iter().any(|command| command.units.len() > 1);
        (is_joined || group.layout.has_parity() && !full.commands.is_empty()).then_some(full)
    }

    /// Adds the next stripe if each of its units goes on where a command ends. The first stripe begins the commands;
    /// without parity, any does. Lost units are left out: the parity written with the others covers them.
    fn extend(&self, full: &mut FullStripes, group: &DiskGroup) -> bool {
        let unit_sectors = group.layout.unit_sectors();
        let stripe = full.stripes.end;
        let is_first = full.commands.is_empty();
        let mut units = Vec::new();
        for (member, unit) in group.layout.stripe(stripe).units() {
            let Some((spindle, sector)) = group.place_now(unit.spindle, unit.sector) else {
                continue;
            };
            let command = full.commands.iter().position(|command| command.spindle == spindle);
            let before = command.map(|at| &full.commands[at]);
            let sectors = before.map_or(0, |command| command.units.len() as u64 * unit_sectors);
            let fits = sectors + unit_sectors <= self.longest_command_sectors;
            let goes_on = match before {
                Some(command) => command.first_sector + sectors == sector,
                None => is_first || !group.layout.has_parity(),
            };
            if !fits || !goes_on {
                return false;
            }
            units.push((command, (spindle, sector), member));
        }
        let is_too_much = full.load_with(units.len(), unit_sectors) > self.most_commands;
        if is_too_much && !is_first {
            return false;
        }
        for (command, (spindle, first_sector), member) in units {
            let at = command.unwrap_or_else(|| {
                full.commands.push(RunCommand { spindle, first_sector, units: Vec::new() });
                full.commands.len() - 1
            });
            full.commands[at].units.push((stripe, member));
        }
        full.stripes.end += 1;
        true
    }
}

/// Whether all data of a stripe are dirty.
pub(super) fn is_full(stripe: u64, group: &DiskGroup, cache: &WriteCache) -> bool {
    let sectors = group.layout.sectors_of_stripe(stripe);
    sectors.end <= group.end_sector
        && cache.dirty_run_end(sectors.start, sectors.end) == sectors.end
}

/// What a command of full stripes writes.
fn payload_of<P: Payload>(command: &RunCommand, layout: &LunLayout, memory: &GroupMemory<P>) -> P {
    if !P::CARRIES_DATA {
        return P::default();
    }
    let units = command.units.iter();
    let bytes: Vec<Vec<u8>> =
        units.map(|(stripe, member)| unit_in_cache(*stripe, *member, layout, memory)).collect();
    let mut payload = P::from_bytes(bytes.concat());
    let unit_sectors = layout.unit_sectors();
    for (at, (stripe, member)) in (0..).zip(&command.units) {
        let first = layout.sectors_of_unit(*stripe, *member).start;
        for offset in (0..unit_sectors).step_by(BLOCK_SECTORS as usize) {
            let holds = match layout.is_parity(*member) {
                true => BlockContents::Parity,
                false => BlockContents::lun((first + offset) / BLOCK_SECTORS),
            };
            payload.describe((at * unit_sectors + offset) as u32, holds);
        }
    }
    payload
}

/// A unit of a stripe whose data are all in the cache: data, or their parity.
fn unit_in_cache<P: Payload>(
    stripe: u64,
    member: Member,
    layout: &LunLayout,
    memory: &GroupMemory<P>,
) -> Vec<u8> {
    let data = |member| {
        let first = layout.sectors_of_unit(stripe, member).start;
        memory.contents.load(first, layout.unit_sectors() as u32)
    };
    if !layout.is_parity(member) {
        return data(member).bytes().to_vec();
    }
    let mut sum = Vec::new();
    for member in layout.shape().data().iter() {
        blocks::add(&mut sum, data(member).bytes());
    }
    sum
}
