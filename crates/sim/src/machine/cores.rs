//! Processors that work side by side.

use strewn_base::state::SavedValue;

/// Equal cores that take work from one queue, in the order of its arrival.
#[derive(Debug, Clone, SavedValue)]
pub(crate) struct Cores {
    /// When each core is free.
    free_ns: Vec<u64>,
    /// Work taken since the beginning, in nanoseconds.
    given_ns: u64,
    given_before_ns: u64,
}

impl Cores {
    pub(crate) fn new(cores: u32) -> Self {
        Self { free_ns: vec![0; cores as usize], given_ns: 0, given_before_ns: 0 }
    }

    /// Takes work that arrives at `now_ns`, and returns when it is done.
    #[inline]
    pub(crate) fn serve(&mut self, now_ns: u64, cost_ns: u64) -> u64 {
        if cost_ns == 0 { now_ns } else { self.serve_work(now_ns, cost_ns) }
    }

    #[inline(never)]
    fn serve_work(&mut self, now_ns: u64, cost_ns: u64) -> u64 {
        self.given_ns += cost_ns;
        match self.free_ns.iter_mut().min() {
            Some(free_ns) => {
                *free_ns = now_ns.max(*free_ns) + cost_ns;
                *free_ns
            }
            None => now_ns + cost_ns,
        }
    }

    /// Time that the cores were busy in the segment that ends at `end_ns`, summed over them. Work that is still queued
    /// belongs to the next segment.
    pub(crate) fn end_segment(&mut self, end_ns: u64) -> u64 {
        let queued_ns: u64 =
            self.free_ns.iter().map(|free_ns| free_ns.saturating_sub(end_ns)).sum();
        let done_ns = self.given_ns - queued_ns;
        done_ns - std::mem::replace(&mut self.given_before_ns, done_ns)
    }
}
