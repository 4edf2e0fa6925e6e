//! A controller's processor.

mod batches;
mod cores;

use strewn_array::{ProcessorCosts, ProcessorWork};

use batches::Batches;
use cores::{SeveralCores, Work};

pub use cores::{CoresSegment, ProcessorCores};

/// The controller's processor: a queue served in order, in which write-back may overtake.
///
/// Write-back has its share of the processor while host operations wait, and all of it otherwise: generalized processor
/// sharing of two queues. What it overtakes keeps the departure time it was given. The delay falls on the work that
/// arrives next, so that in the long run the processor does no more than it can.
#[derive(Debug, Default)]
pub(crate) struct Processor {
    free_ns: u64,
    /// Work given since the beginning.
    given_ns: u64,
    /// When the write-back given so far is done, at its share.
    write_back_free_ns: u64,
    write_back_percent: u64,
    /// More than one core. What they are given is done at `free_ns` and `write_back_free_ns`; the rest is kept there.
    several: Option<Box<SeveralCores>>,
    /// How completions are taken together; `None` if taking them costs nothing.
    batches: Option<Box<Batches>>,
}

impl Processor {
    pub(crate) fn new(costs: &ProcessorCosts) -> Self {
        let write_back_percent = costs.write_back_percent.into();
        assert!(write_back_percent <= 100, "a share of {write_back_percent} %");
        let batches = (costs.interrupt_ns > 0).then(Box::default);
        Self { write_back_percent, batches, ..Self::default() }
    }

    /// Gives it so many cores. It has not worked yet.
    ///
    /// # Panics
    /// If there are none, or if a kind of work is in two serial domains.
    pub(crate) fn set_cores(&mut self, settings: &ProcessorCores) {
        assert!(settings.cores > 0, "a processor without cores");
        self.several = (settings.cores > 1).then(|| Box::new(SeveralCores::new(settings)));
    }

    /// Its cores, if there are several.
    pub(crate) fn several_cores(&self) -> Option<u64> {
        self.several.as_ref().map(|several| several.cores())
    }

    /// Adds work that arrives at `now_ns`.
    #[inline(always)]
    pub(crate) fn add(
        &mut self,
        work: ProcessorWork,
        now_ns: u64,
        cost_ns: u64,
        is_write_back: bool,
    ) {
        if self.several.is_some() {
            return self.add_to_cores(work, now_ns, cost_ns, is_write_back);
        }
        self.given_ns += cost_ns;
        self.free_ns = self.free_ns.max(now_ns) + cost_ns;
        if let Some(batches) = &mut self.batches {
            batches.work_ends_at(self.free_ns);
        }
        if is_write_back && self.write_back_percent > 0 {
            let at_its_share = cost_ns * 100 / self.write_back_percent;
            let alone = self.write_back_free_ns.max(now_ns) + at_its_share;
            self.write_back_free_ns = alone.min(self.free_ns);
        }
    }

    /// A command has completed at `now_ns`. Returns whether it is the first of a batch, which costs an interrupt. On
    /// several cores, each is.
    #[cold]
    pub(crate) fn begins_batch(&mut self, now_ns: u64) -> bool {
        self.batches.as_mut().is_some_and(|batches| batches.take(now_ns))
    }

    #[cold]
    fn add_to_cores(
        &mut self,
        kind: ProcessorWork,
        now_ns: u64,
        cost_ns: u64,
        is_write_back: bool,
    ) {
        let Some(several) = &mut self.several else { return };
        let overtakes = is_write_back && self.write_back_percent > 0;
        let share_percent = overtakes.then_some(self.write_back_percent);
        let done_ns = several.add(Work { kind, now_ns, cost_ns, share_percent, is_write_back });
        match overtakes {
            true => self.write_back_free_ns = done_ns,
            false => self.free_ns = done_ns,
        }
    }

    /// Adds network processing that is done beside the array's work, and returns when it is done; `None` if one core
    /// does everything.
    pub(crate) fn add_network(&mut self, now_ns: u64, cost_ns: u64) -> Option<u64> {
        let several = self.several.as_mut()?;
        let kind = ProcessorWork::Network;
        let work = Work { kind, now_ns, cost_ns, share_percent: None, is_write_back: false };
        Some(if cost_ns == 0 { now_ns } else { several.add(work) })
    }

    /// Measures several cores over the segment that ends at `end_ns`.
    pub(crate) fn end_segment(&mut self, end_ns: u64) -> Option<CoresSegment> {
        self.several.as_mut().map(|several| several.end_segment(end_ns))
    }

    /// Returns when the work given so far is done: all of it, or the write-back alone.
    #[inline(always)]
    pub(crate) fn done_ns(&self, now_ns: u64, is_write_back: bool) -> u64 {
        let overtakes = is_write_back && self.write_back_percent > 0;
        let free_ns = if overtakes { self.write_back_free_ns } else { self.free_ns };
        free_ns.max(now_ns)
    }

    /// The processor stops at `now_ns`. Returns the work queued, which is lost.
    pub(crate) fn halt(&mut self, now_ns: u64) -> u64 {
        let lost_ns = match &mut self.several {
            Some(several) => several.halt(now_ns),
            None => self.backlog_ns(now_ns),
        };
        self.given_ns = self.given_ns.saturating_sub(lost_ns);
        if let Some(batches) = &mut self.batches {
            **batches = Batches::default();
        }
        self.free_ns = self.free_ns.min(now_ns);
        self.write_back_free_ns = self.write_back_free_ns.min(now_ns);
        lost_ns
    }

    /// Returns the work queued and not done at `now_ns`.
    pub(crate) fn backlog_ns(&self, now_ns: u64) -> u64 {
        match &self.several {
            Some(several) => several.backlog_ns(now_ns),
            None => self.free_ns.saturating_sub(now_ns),
        }
    }

    /// Returns the busy time up to `now_ns`, summed over cores: the work given, less what is still queued.
    pub(crate) fn busy_ns(&self, now_ns: u64) -> u64 {
        match &self.several {
            Some(several) => several.busy_ns(now_ns),
            None => self.given_ns - self.backlog_ns(now_ns),
        }
    }
}

strewn_base::saved_state! {
    impl for Processor {
        parts: several;
        values: free_ns, given_ns, write_back_free_ns, batches;
        built: write_back_percent;
    }
}
