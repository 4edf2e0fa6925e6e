//! What a part of an array sees besides itself while it handles an event, and how it asks for what others do.

use std::ops::Range;

use strewn_alloc::GroupIndex;
use strewn_base::Direction;
use strewn_volume::Region;

use crate::counters::Counters;
use crate::driver::{Acknowledge, Driver, SpindleCommand, Work};
use crate::lun_id::LunId;
use crate::payload::Payload;
use crate::processor::{ProcessorCosts, ProcessorWork};
use crate::requests::Requests;
use crate::units::BLOCK_SECTORS;

use super::memory::Memory;
use super::space::{Run, Space};
use super::tag::TagFields;

/// What a part of an array sees besides itself while it handles an event.
pub(super) struct Context<'a, P: Payload, D> {
    pub(super) now_ns: u64,
    pub(super) driver: &'a mut D,
    pub(super) space: &'a mut Space,
    pub(super) memory: &'a mut Memory<P>,
    pub(super) counters: &'a mut Counters,
    /// Whether a consistency point was in progress when the part was called.
    pub(super) is_in_progress: bool,
    pub(super) next: &'a mut Requests<Next<P>>,
}

/// What a part wants done elsewhere. What it asks for is carried out in order, once it has returned, each with all that
/// follows from it before the next.
pub(super) enum Next<P> {
    /// A read of blocks some of which may be lost or bad: it is sent, or recovered.
    Read(TagFields, Run),
    /// A read that has failed is recovered.
    Recover(TagFields, Run),
    /// One of the runs of an aggregated read has been read.
    Arrived(TagFields, P),
    /// A recovered read has its blocks; `None` if they can be neither read nor computed.
    Recovered(TagFields, Option<P>),
    /// The row of a parity group that a tetris or a recovery waits for may be free now.
    RowsFree(GroupIndex),
    /// Recoveries and the rebuild of a parity group go on.
    ResumeRedundancy(GroupIndex),
    /// Blocks of a LUN are read ahead.
    ReadAhead(LunId, Range<u32>),
    /// Writes that wait for the log are logged, the first one as it says.
    Log(Acknowledge, LogAttempt),
    /// A host has read these blocks, the first and the last one.
    NoteHostRead(u32, u32),
    /// A consistency point begins, unless one is in progress.
    BeginConsistencyPoint,
    /// The consistency point in progress goes on.
    AdvanceConsistencyPoint,
    /// A consistency point has been committed, and what waited for it was served.
    AfterCommit,
    /// Relocation goes on after a commit.
    RelocateAfterCommit,
    /// Relocation has done what it can; `true` if it waits for room that a consistency point makes.
    AfterRelocation(bool),
    /// The work that the timer expired for in the background is done.
    AfterTimer,
    /// The timer, which has expired, is set again.
    SetTimer,
    /// The processor turns to another kind of work.
    TurnTo(Work),
}

/// What the background wants of a consistency point that begins.
pub(super) struct Requested {
    /// Metadata blocks that are to get new places, so that areas get empty.
    pub(super) metadata: Vec<u32>,
    /// Whether areas are being emptied.
    pub(super) empties_areas: bool,
    /// Regions whose delayed frees are due.
    pub(super) regions: Vec<Region>,
}

/// What a consistency point that has begun took.
pub(super) struct Taken {
    /// Blocks of data.
    pub(super) data_blocks: u64,
    /// Those of them that are only relocated.
    pub(super) relocated: u64,
}

/// Which attempt to log a write this is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum LogAttempt {
    First,
    /// After a consistency point has begun because half of the log was full.
    HalfWasFull,
    /// After a consistency point was to make room for it.
    HadNoRoom,
}

impl<P: Payload, D: Driver<P>> Context<'_, P, D> {
    /// Asks for something to be done elsewhere.
    #[inline]
    pub(super) fn then(&mut self, next: Next<P>) {
        self.next.push(next);
    }

    #[inline(always)]
    pub(super) fn costs(&self) -> &ProcessorCosts {
        &self.space.config.processor
    }

    /// Sends a command for blocks of one spindle and charges the processor for it.
    #[inline(always)]
    pub(super) fn send(&mut self, fields: TagFields, direction: Direction, run: Run, payload: P) {
        self.send_with(fields, direction, run, payload, false);
    }

    /// As [`send`](Self::send), with [`SpindleCommand::all_or_none`].
    #[inline(always)]
    pub(super) fn send_with(
        &mut self,
        fields: TagFields,
        direction: Direction,
        run: Run,
        payload: P,
        all_or_none: bool,
    ) {
        let sectors = run.blocks * BLOCK_SECTORS;
        self.driver.processor(ProcessorWork::Command, self.costs().of_command(sectors));
        self.driver.command(SpindleCommand {
            tag: fields.pack(),
            spindle: self.space.first_spindles.in_array(run.group, run.spindle),
            direction,
            first_sector: run.dbn * u64::from(BLOCK_SECTORS),
            sectors,
            payload,
            all_or_none,
        });
    }

    /// Sends a read, or asks for it if some of its blocks may be lost or bad.
    #[inline(always)]
    pub(super) fn send_read(&mut self, fields: TagFields, run: Run) {
        if self.space.losses.is_some() {
            self.then(Next::Read(fields, run));
        } else {
            self.send(fields, Direction::Read, run, P::default());
        }
    }
}
