//! Limits of rate, and when they let the next operation pass.

use strewn_workload::ExponentialGaps;

/// The most of something in a second.
#[derive(Debug, Clone)]
pub enum Rate {
    /// Operations at equal distances.
    Operations(u64),
    /// Bytes: the more an operation moves, the longer until the next.
    Bytes(u64),
    /// Operations as a Poisson process, which these gaps are of.
    Poisson(ExponentialGaps),
}

/// When the operations of a limited rate may go.
///
/// The schedule is absolute, as fio's is: what was late is caught up with.
#[derive(Debug)]
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

    /// An operation has gone.
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
