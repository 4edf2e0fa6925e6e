//! What keeps data readable when spindles or blocks fail: recoveries of reads, repairs of bad blocks, the rebuild of
//! lost segments.
//!
//! What is lost and which stripes are locked is in [`space`](super::space). Here is what is done about it.

mod failing;
mod rebuild;
mod recovery;
mod slices;
mod steps;
#[cfg(test)]
mod tests;

use std::collections::VecDeque;

use strewn_alloc::GroupIndex;

use crate::driver::Driver;
use crate::failure::FailedSpindle;
use crate::payload::Payload;
use crate::slots::Slots;

use super::context::{Context, Next};
use super::space::{Groups, Space};
use recovery::Recovery;
use steps::Step;

/// Recoveries and rebuilds of an array. Each disk group has its own.
pub(super) struct Redundancy<P: Payload> {
    groups: Groups<GroupRedundancy<P>>,
    /// The spindles that have failed, in order of failure.
    failures: Vec<FailedSpindle>,
}

/// What is done for one disk group.
struct GroupRedundancy<P> {
    recoveries: Slots<Recovery<P>>,
    /// Recoveries that wait for a destage, in order.
    waiting: VecDeque<usize>,
    steps: Slots<Step>,
}

impl<P: Payload> Redundancy<P> {
    pub(super) fn new(space: &Space) -> Self {
        let group = |_: &_| GroupRedundancy {
            recoveries: Slots::new(),
            waiting: VecDeque::new(),
            steps: Slots::new(),
        };
        Self { groups: space.groups.map(group), failures: Vec::new() }
    }

    /// The spindles that have failed, in order of failure.
    pub(super) fn failures(&self) -> &[FailedSpindle] {
        &self.failures
    }

    /// Resumes what waited for a stripe: recoveries, then the rebuild, then destages.
    pub(super) fn on_stripes_free(
        &mut self,
        id: GroupIndex,
        cx: &mut Context<'_, P, impl Driver<P>>,
    ) {
        for slot in std::mem::take(&mut self.groups[id].waiting) {
            cx.then(Next::BeginRecovery(id, slot));
        }
        cx.then(Next::AdvanceRebuild(id));
        cx.then(Next::Destage);
        cx.then(Next::EndLosses(id));
    }

    /// Bad blocks that are repaired leave nothing behind.
    pub(super) fn end_losses(&mut self, id: GroupIndex, space: &mut Space) {
        let losses = &mut space.groups[id].losses;
        if losses.as_ref().is_some_and(|losses| !losses.has_failed)
            && self.groups[id].recoveries.is_empty()
        {
            *losses = None;
        }
    }
}

strewn_base::saved_state! {
    impl for Redundancy<()> {
        parts: groups;
        values: failures;
        built:;
    }
}

strewn_base::saved_state! {
    impl for GroupRedundancy<()> {
        parts:;
        values: recoveries, waiting, steps;
        built:;
    }
}
