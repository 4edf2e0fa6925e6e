//! Host operations, up to their answer: reads, writes up to the NVRAM log, unmaps, reads of snapshots, reading ahead.

mod operations;
mod read_ahead;
mod read_gaps;
mod reads;
#[cfg(test)]
mod tests;
mod unmap;
mod views;

use std::collections::VecDeque;

use crate::payload::Payload;
use crate::slots::Slots;

use super::space::view::View;
use operations::PendingOperation;
use read_ahead::ReadAhead;
use read_gaps::ReadGaps;

/// The host operations in progress, and what serves them.
pub(super) struct Host<P: Payload> {
    operations: Slots<PendingOperation<P>>,
    /// Writes that have all that they need but a record in the log, in order.
    waiting_for_log: VecDeque<u32>,
    /// `None` if the array does not read ahead.
    read_ahead: Option<Box<ReadAhead>>,
    /// `None` unless host reads are aggregated across gaps.
    read_gaps: Option<Box<ReadGaps>>,
    /// LUNs as they are in snapshots, open for reading.
    views: Slots<View>,
    /// Whether relocation wants to know what hosts have read.
    pub(super) reports_reads: bool,
}

impl<P: Payload> Host<P> {
    pub(super) fn new() -> Self {
        Self {
            operations: Slots::new(),
            waiting_for_log: VecDeque::new(),
            read_ahead: None,
            read_gaps: None,
            views: Slots::new(),
            reports_reads: false,
        }
    }

    /// Aggregates reads as another array's host did.
    pub(super) fn take_settings(&mut self, before: &mut Self) {
        self.read_gaps = before.read_gaps.take();
    }

    /// Whether no operation is in progress, and nothing is being read ahead.
    pub(super) fn is_idle(&self) -> bool {
        self.operations.is_empty() && !self.is_reading_ahead()
    }

    pub(super) fn is_waiting_for_log(&self) -> bool {
        !self.waiting_for_log.is_empty()
    }
}

strewn_base::saved_state! {
    impl for Host<()> {
        parts: read_ahead;
        values: operations, waiting_for_log, read_gaps, views;
        built: reports_reads;
    }
}
