//! Host operations, up to their answer: reads from caches and spindles, writes into the cache, reading ahead.

mod partial_writes;
mod read_ahead;
mod reads;
#[cfg(test)]
mod tests;
mod writes;

use std::ops::Range;

use strewn_alloc::GroupIndex;
use strewn_base::BLOCK_SECTORS;

use crate::driver::{Acknowledge, Driver, HostOperation};
use crate::payload::Payload;
use crate::processor::ProcessorWork;
use crate::read_ahead::Streams;
use crate::slots::Slots;

use super::context::Context;
use super::space::{Groups, Space};
use partial_writes::PartialWrites;
use reads::HostRead;

/// The host operations in progress, and what serves them.
pub(super) struct Host<P: Payload> {
    groups: Groups<GroupHost<P>>,
    /// The streams of each LUN; empty if the array does not read ahead.
    streams: Vec<Streams>,
}

/// The host operations on the LUNs of a disk group.
struct GroupHost<P> {
    reads: Slots<HostRead<P>>,
    partial_writes: PartialWrites<P>,
}

impl<P: Payload> Host<P> {
    pub(super) fn new(space: &Space) -> Self {
        let group =
            |_: &_| GroupHost { reads: Slots::new(), partial_writes: PartialWrites::default() };
        Self { groups: space.groups.map(group), streams: Vec::new() }
    }

    /// A host reads. Its sectors are numbered through the LUNs of its group.
    #[inline(always)]
    pub(super) fn on_read(
        &mut self,
        group: GroupIndex,
        operation: HostOperation<P>,
        cx: &mut Context<'_, P, impl Driver<P>>,
    ) {
        charge(&operation, cx);
        let ahead = self.note_read(&operation, cx.space);
        // Nearly every array has one group: with its number known, finding it costs nothing.
        if group == GroupIndex(0) {
            self.read_for(GroupIndex(0), operation, None, cx);
        } else {
            self.read_for(group, operation, None, cx);
        }
        if let Some(sectors) = ahead {
            self.read_ahead(group, sectors, &mut cx.reborrow());
        }
    }

    /// A host writes. Its sectors are numbered through the LUNs of its group.
    #[inline(always)]
    pub(super) fn on_write(
        &mut self,
        group: GroupIndex,
        operation: HostOperation<P>,
        cx: &mut Context<'_, P, impl Driver<P>>,
    ) {
        charge(&operation, cx);
        if cx.space.config.format.is_durable() {
            self.write_blocks(group, operation, &mut cx.reborrow());
        } else {
            self.write_or_wait(operation, Acknowledge::AfterProcessor, cx);
        }
    }

    /// Whether no write waits for others, or for parts of its blocks.
    pub(super) fn is_clean(&self) -> bool {
        self.groups.iter().all(|group| group.partial_writes.is_empty())
    }
}

#[inline(always)]
fn charge<P: Payload>(operation: &HostOperation<P>, cx: &mut Context<'_, P, impl Driver<P>>) {
    let cost_ns = cx.space.config.processor.of_operation(operation.sectors);
    cx.driver.processor(ProcessorWork::Operation, cost_ns);
}

fn range_of<P>(host: &HostOperation<P>) -> Range<u64> {
    host.first_sector..host.first_sector + u64::from(host.sectors)
}

/// The sectors of a block.
fn sectors_of(block: u32) -> Range<u64> {
    u64::from(block) * BLOCK_SECTORS..(u64::from(block) + 1) * BLOCK_SECTORS
}

strewn_base::saved_state! {
    impl for Host<()> {
        parts: groups;
        values: streams;
        built:;
    }
}

strewn_base::saved_state! {
    impl for GroupHost<()> {
        parts:;
        values: reads, partial_writes;
        built:;
    }
}
