//! Which reads a consistency point must wait for before it frees what it moved.

use strewn_base::state::SavedValue;

/// Reads of host operations that are on their way, by the epoch they were sent in: a consistency point that begins
/// begins an epoch.
///
/// A read sent before a block moved goes to its old place, and may come back late. Until it does, the place must not
/// be written again, and the block must not leave the cache, or the late read would bring back what was there before.
/// A commit allows both, so it waits for the reads of the epoch before. (The reads of the one before that were waited
/// for by the commit before: two epochs are all there can be.)
#[derive(Debug, Default, SavedValue)]
pub(crate) struct ReadEpochs {
    /// Whether the present epoch is odd.
    epoch_parity: bool,
    /// Reads in flight from even epochs, and from odd ones.
    out: [u32; 2],
}

impl ReadEpochs {
    /// The parity of the present epoch: true if odd.
    pub(crate) fn epoch_parity(&self) -> bool {
        self.epoch_parity
    }

    /// Counts a read sent now, and returns the epoch's parity.
    pub(crate) fn sent(&mut self) -> bool {
        self.out[usize::from(self.epoch_parity)] += 1;
        self.epoch_parity
    }

    /// Counts a repair that must be waited for like the read that it follows.
    pub(crate) fn sent_with(&mut self, epoch_parity: bool) {
        self.out[usize::from(epoch_parity)] += 1;
    }

    /// A read has come back. Returns whether it was the last that a consistency point may be waiting for.
    #[inline]
    pub(crate) fn came_back(&mut self, epoch_parity: bool) -> bool {
        let out = &mut self.out[usize::from(epoch_parity)];
        assert!(*out > 0, "a read has come back that was not on its way");
        *out -= 1;
        *out == 0 && epoch_parity != self.epoch_parity
    }

    /// A consistency point begins a new epoch.
    pub(crate) fn begin_epoch(&mut self) {
        assert!(self.are_back(), "the epoch before last is not over");
        self.epoch_parity = !self.epoch_parity;
    }

    /// Whether all reads sent before the last consistency point began have come back.
    pub(crate) fn are_back(&self) -> bool {
        self.out[usize::from(!self.epoch_parity)] == 0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    #[should_panic(expected = "a read has come back that was not on its way")]
    fn a_read_comes_back_once() {
        let mut reads = ReadEpochs::default();
        let epoch = reads.sent();
        reads.came_back(epoch);
        reads.came_back(epoch);
    }

    #[test]
    fn reads_sent_before_an_epoch_are_waited_for_and_those_of_it_are_not() {
        let mut reads = ReadEpochs::default();
        let before = [reads.sent(), reads.sent()];
        reads.begin_epoch();
        let within = reads.sent();
        assert!(!reads.came_back(before[0]) && !reads.are_back());
        assert!(reads.came_back(before[1]) && reads.are_back());
        reads.begin_epoch();
        assert!(!reads.are_back());
        assert!(reads.came_back(within) && reads.are_back());
    }
}
