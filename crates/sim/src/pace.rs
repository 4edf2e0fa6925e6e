//! Rate limits, and when the next operation may be issued.

use strewn_base::state::SavedValue;
use strewn_workload::ExponentialGaps;

/// A limit per second.
#[derive(Debug, Clone, SavedValue)]
pub enum Rate {
    /// Operations at equal intervals.
    Operations(u64),
    /// Bytes: a longer operation delays the next one more.
    Bytes(u64),
    /// Operations as a Poisson process with these gaps.
    Poisson(ExponentialGaps),
}

/// When operations under a rate limit may be issued.
///
/// The schedule is absolute, like fio's: late operations catch up.
#[derive(Debug, SavedValue)]
pub(crate) struct Schedule {
    rate: Rate,
    start_ns: u64,
    passed: u128,
    next_ns: u64,
}

impl Schedule {
    pub(crate) fn new(rate: Rate, start_ns: u64) -> Self {
        Self { rate, start_ns, passed: 0, next_ns: start_ns }
    }

    pub(crate) fn next_ns(&self) -> u64 {
        self.next_ns
    }

    /// Records that an operation of `bytes` was issued.
    pub(crate) fn passed(&mut self, bytes: u64) {
        let (amount, per_second) = match &mut self.rate {
            Rate::Operations(per_second) => (1, *per_second),
            Rate::Bytes(per_second) => (bytes, *per_second),
            Rate::Poisson(gaps) => {
                self.next_ns = self.next_ns.saturating_add(gaps.next_ns());
                return;
            }
        };
        self.passed += u128::from(amount);
        let since_ns = self.passed * 1_000_000_000 / u128::from(per_second.max(1));
        self.next_ns = self.start_ns.saturating_add(u64::try_from(since_ns).unwrap_or(u64::MAX));
    }
}
