//! Completions that a processor takes together.

use std::collections::VecDeque;

use strewn_base::state::SavedValue;

/// Which completions a processor takes with one interrupt.
///
/// The processor looks for completions when it ends a piece of work, and takes all that there are: those since it
/// looked last. An idle processor takes each at once. So the first one that comes while a piece of work is done costs
/// an interrupt, and the others until that piece ends come with it.
///
/// Taking them delays what has not been given yet, like all that overtakes here: departure times that are known stay.
#[derive(Debug, Default, SavedValue)]
pub(super) struct Batches {
    /// When the pieces of work given so far end, from the one in progress on.
    ends_ns: VecDeque<u64>,
    /// When the batch that came last is taken.
    taken_ns: u64,
}

impl Batches {
    /// A piece of work has been given, and ends after those before it.
    #[cold]
    pub(super) fn work_ends_at(&mut self, end_ns: u64) {
        self.ends_ns.push_back(end_ns);
    }

    /// A command completes. Returns whether it begins a batch.
    pub(super) fn take(&mut self, now_ns: u64) -> bool {
        while self.ends_ns.front().is_some_and(|end_ns| *end_ns <= now_ns) {
            self.ends_ns.pop_front();
        }
        if now_ns < self.taken_ns {
            return false;
        }
        self.taken_ns = self.ends_ns.front().copied().unwrap_or(now_ns);
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn those_that_come_during_one_piece_of_work_are_taken_together() {
        let mut batches = Batches::default();
        batches.work_ends_at(100);
        batches.work_ends_at(250);
        let begins: Vec<bool> = [10, 20, 99, 100, 249, 250, 251, 251]
            .into_iter()
            .map(|now_ns| batches.take(now_ns))
            .collect();
        // Two come with the first, one with that at 100; when the processor is idle, each is taken at once.
        assert_eq!(begins, [true, false, false, true, false, true, true, true]);
    }
}
