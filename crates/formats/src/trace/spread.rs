//! Records whose times are whole seconds, spread over them.

use std::collections::VecDeque;

use super::record::RawRecord;

const SECOND_NS: u128 = 1_000_000_000;
/// Records of a second that are kept: a busy cluster has a tenth as many.
pub(super) const MOST_IN_A_SECOND: usize = 1 << 22;

/// A record, and the number of its line.
pub(super) type Numbered = (RawRecord, u64);

/// The records of one second, and the first one after it.
#[derive(Debug, Default)]
pub(super) struct Spread {
    ready: VecDeque<Numbered>,
    next: Option<Numbered>,
}

impl Spread {
    pub(super) fn pop(&mut self) -> Option<Numbered> {
        self.ready.pop_front()
    }

    /// Adds a record. Returns whether it was the last that has to be known before the next can be had.
    pub(super) fn push(&mut self, numbered: Numbered) -> bool {
        let group = self.ready.front().map(|(raw, _)| raw.at_ns);
        if group.is_none_or(|at_ns| at_ns == numbered.0.at_ns) {
            self.ready.push_back(numbered);
            return false;
        }
        self.next = Some(numbered);
        true
    }

    /// Begins a second, with the record that ended the one before.
    pub(super) fn begin(&mut self) {
        self.ready.extend(self.next.take());
    }

    pub(super) fn len(&self) -> usize {
        self.ready.len()
    }

    /// Spreads the records of the second, in their order. Times that are not whole seconds stay.
    pub(super) fn finish(&mut self) {
        let count = self.ready.len() as u128;
        let whole = |at_ns: u128| at_ns.is_multiple_of(SECOND_NS);
        for (position, (raw, _)) in self.ready.iter_mut().enumerate() {
            if whole(raw.at_ns) {
                raw.at_ns += position as u128 * SECOND_NS / count;
            }
        }
    }
}
