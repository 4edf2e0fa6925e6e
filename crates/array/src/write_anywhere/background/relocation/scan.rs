//! The reallocation scan: all LUNs in order, stretch by stretch, at a set pace.
//!
//! ONTAP's `reallocate` (its manual page, na_reallocate(1)): it measures, and moves only what is predicted to gain; a
//! threshold says how bad the layout must be; a full reallocation moves all but what would not gain. It runs in the
//! background, once or at an interval.

use strewn_base::BLOCK_BYTES;
use strewn_base::state::SavedValue;

use crate::driver::Driver;
use crate::payload::Payload;
use crate::scan_progress::ScanProgress;

use super::super::super::context::Context;
use super::super::super::space::Space;
use super::{Cause, Relocation};

/// Stretches whose layout is good that a step passes at most, so that a scan that moves nothing takes time too.
const STRETCHES_LOOKED_AT: u32 = 64;
const NS_PER_S: f64 = 1e9;

/// A scan that goes through all LUNs and relocates what lies scattered.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct ReallocationScan {
    /// When it begins, from the start of the array.
    pub begins_ns: u64,
    /// The time from one scan's beginning to the next; `None` if there is one scan.
    pub every_ns: Option<u64>,
    /// Most bytes that it relocates in a second.
    pub bytes_per_s: u64,
    /// Blocks that are judged and relocated together.
    pub stretch_blocks: u32,
    /// Runs of a stretch, as a multiple of those expected, above which it is relocated. 1 and less relocate all that is
    /// not as good as new.
    pub threshold: f64,
}

#[derive(Debug, Default, SavedValue)]
pub(super) struct Scan {
    /// When its next step, or the next scan, is due.
    due_ns: Option<u64>,
    /// When the last scan began, or the first will.
    began_ns: u64,
    is_running: bool,
    next: u32,
    /// Whether the indirect blocks of the next stretch have been read.
    has_looked_up: bool,
    begun: u32,
    ended_ns: Option<u64>,
}

impl Scan {
    pub(super) fn due_ns(&self) -> Option<u64> {
        self.due_ns
    }

    pub(super) fn starts(&mut self, at_ns: u64) {
        (self.due_ns, self.began_ns) = (Some(at_ns), at_ns);
    }

    pub(super) fn progress(&self, data_blocks: u32) -> ScanProgress {
        let passed = match self.is_running {
            true => f64::from(self.next) / f64::from(data_blocks.max(1)),
            false => f64::from(u8::from(self.begun > 0)),
        };
        ScanProgress { begun: self.begun, passed: passed.min(1.0), ended_ns: self.ended_ns }
    }

    fn begin(&mut self) {
        if !self.is_running {
            (self.is_running, self.next, self.has_looked_up) = (true, 0, false);
            self.begun += 1;
        }
    }

    /// It has passed everything. The next one begins at its time, or at once if that has passed.
    fn end(&mut self, now_ns: u64, every_ns: Option<u64>) {
        self.is_running = false;
        self.ended_ns = Some(now_ns);
        self.due_ns = every_ns.map(|every_ns| {
            self.began_ns = (self.began_ns + every_ns).max(now_ns + 1);
            self.began_ns
        });
    }

    fn pass(&mut self, end: u32) {
        (self.next, self.has_looked_up) = (end, false);
    }
}

impl Relocation {
    /// Does the step of the scan that is due by now.
    pub(in super::super) fn step_scan<P: Payload>(
        &mut self,
        cx: &mut Context<'_, P, impl Driver<P>>,
    ) {
        if let Some(scan) = self.config.scan
            && self.scan.due_ns.is_some_and(|due_ns| due_ns <= cx.now_ns)
        {
            self.scan.begin();
            self.scan_on(scan, cx);
        }
    }

    /// Asks for the next stretch that lies scattered to be relocated, and notes when the one after is due.
    fn scan_on<P: Payload>(
        &mut self,
        config: ReallocationScan,
        cx: &Context<'_, P, impl Driver<P>>,
    ) {
        let blocks_per_s = config.bytes_per_s as f64 / BLOCK_BYTES as f64;
        let step_ns = f64::from(config.stretch_blocks) / blocks_per_s * NS_PER_S;
        self.scan.due_ns = Some(cx.now_ns + (step_ns as u64).max(1));
        // It cannot keep its pace.
        if self.asked(Cause::Scan) > 1 {
            return;
        }
        let (space, cache) = (&*cx.space, &cx.memory.cache);
        for _ in 0..STRETCHES_LOOKED_AT {
            let first = self.scan.next;
            let Some(lun_end) = end_of_lun(first, space) else {
                self.scan.end(cx.now_ns, config.every_ns);
                return;
            };
            let end = first.saturating_add(config.stretch_blocks.max(1)).min(lun_end);
            if !self.scan.has_looked_up {
                self.scan.has_looked_up = true;
                let indirect = space.keys.indirect_of(first)..=space.keys.indirect_of(end - 1);
                let lacking =
                    indirect.filter(|key| !cache.contains(*key) && space.map.get(*key).is_some());
                let lacking: Vec<u32> = lacking.collect();
                if !lacking.is_empty() {
                    return self.ask(Cause::Scan, lacking, space);
                }
            }
            self.scan.pass(end);
            if self.is_scattered(first..end, config.threshold, space) {
                return self.ask(Cause::Scan, (first..end).collect(), space);
            }
        }
    }
}

/// The end of the LUN that has data block `key`, or of the next one; `None` behind the last.
fn end_of_lun(key: u32, space: &Space) -> Option<u32> {
    let luns = (0..space.keys.luns()).map(|lun| space.keys.blocks_of(crate::LunId(lun)));
    luns.map(|blocks| blocks.end).find(|end| *end > key)
}
