//! What keeps data readable when spindles or blocks fail: recoveries of reads, repairs of bad blocks, the rebuild onto
//! spares.
//!
//! What is lost and which rows are locked is in [`losses`](super::space::losses). Here is what is done about it.

mod failing;
mod rebuild;
mod rebuild_bytes;
mod recovery;
mod repair;
mod steps;
#[cfg(test)]
mod tests;

use std::collections::VecDeque;

use strewn_alloc::GroupIndex;
use strewn_base::state::SavedValue;
use strewn_raid::SpindleIndex;

use crate::driver::Driver;
use crate::failure::{FailedSpindle, Rebuild};
use crate::payload::Payload;
use crate::slots::Slots;

use super::context::Context;
use recovery::Recovery;
use steps::Steps;

/// Recoveries, repairs and the rebuild of an array. Each parity group has its own rebuild; they share the spares.
pub(super) struct Redundancy<P> {
    rebuild: Rebuild,
    failures: Vec<FailedSpindle>,
    /// Spares that are left.
    spares: u16,
    recoveries: Slots<Recovery<P>>,
    /// Recoveries that ended without any command.
    ended: Vec<u32>,
    /// Bad blocks that are being rewritten.
    repairs: Slots<(GroupIndex, u64, SpindleIndex)>,
    groups: Vec<GroupRedundancy<P>>,
}

/// What is done for one parity group.
#[derive(SavedValue)]
struct GroupRedundancy<P> {
    /// Recoveries that wait for a tetris to unlock their row, in order.
    waiting: VecDeque<u32>,
    steps: Steps<P>,
}

impl<P: Payload> Redundancy<P> {
    pub(super) fn new(groups: usize, rebuild: Rebuild) -> Self {
        let group = |_| GroupRedundancy { waiting: VecDeque::new(), steps: Steps::default() };
        Self {
            spares: rebuild.spares,
            rebuild,
            failures: Vec::new(),
            recoveries: Slots::new(),
            ended: Vec::new(),
            repairs: Slots::new(),
            groups: (0..groups).map(group).collect(),
        }
    }

    /// The spindles that have failed, in order of failure.
    pub(super) fn failures(&self) -> &[FailedSpindle] {
        &self.failures
    }

    /// Recoveries and the rebuild of `group` go on: tetrises have unlocked rows.
    pub(super) fn resume(&mut self, group: GroupIndex, cx: &mut Context<'_, P, impl Driver<P>>) {
        for slot in std::mem::take(&mut self.groups[group.index()].waiting) {
            self.begin_recovery(slot, cx);
        }
        self.advance_rebuild(group, cx);
    }
}

strewn_base::saved_state! {
    impl for Redundancy<()> {
        parts:;
        values: failures, spares, recoveries, ended, repairs, groups;
        built: rebuild;
    }
}
