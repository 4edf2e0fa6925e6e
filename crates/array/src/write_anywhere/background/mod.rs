//! What an array does beside its hosts: delayed frees reclaimed at a pace, scans that read map files, relocation.

pub(super) mod map_scan;
mod reclamation;
pub(super) mod relocation;
#[cfg(test)]
mod tests;

use crate::driver::Driver;
use crate::payload::Payload;
use crate::scan_progress::ScanProgress;

use super::context::{Context, Next, Requested, Taken};
use super::space::Space;
use super::tag::TagFields;
use map_scan::{BackgroundScan, MapScan};
use reclamation::Reclamation;
use relocation::{Relocation, RelocationConfig};

/// What an array is to do in the background.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct BackgroundWork {
    /// How long a scan takes that reclaims the delayed frees of one region after another, in nanoseconds; the next
    /// follows at once. 0: delayed frees are reclaimed only above their bound.
    pub reclaim_interval_ns: u64,
    /// A scan that reads map files.
    pub scan: Option<BackgroundScan>,
}

/// The state of what is done in the background; nothing in most arrays.
#[derive(Default)]
pub(super) struct Background {
    reclamation: Option<Reclamation>,
    map_scan: Option<MapScan>,
    relocation: Option<Box<Relocation>>,
}

impl Background {
    /// # Panics
    /// If a scan looks at no blocks.
    pub(super) fn set_work(&mut self, work: BackgroundWork) {
        self.reclamation = Reclamation::every(work.reclaim_interval_ns);
        self.map_scan = work.scan.map(MapScan::new);
    }

    pub(super) fn set_relocation(&mut self, config: RelocationConfig) {
        self.relocation = Relocation::new(config).map(Box::new);
    }

    pub(super) fn relocates(&self) -> bool {
        self.relocation.is_some()
    }

    /// The array has other volumes: relocation, whose keys are gone, ends.
    pub(super) fn end_relocation(&mut self) {
        self.relocation = None;
    }

    /// The array starts.
    pub(super) fn start(&mut self, now_ns: u64) {
        if let Some(relocation) = &mut self.relocation {
            relocation.start(now_ns);
        }
    }

    /// Whether anything here may set the timer.
    #[inline]
    pub(super) fn has_work(&self) -> bool {
        self.reclamation.is_some() || self.map_scan.is_some() || self.relocation.is_some()
    }

    /// When the next of it is due, if anything is.
    pub(super) fn due_ns(&self) -> Option<u64> {
        let of_scan = self.map_scan.as_ref().and_then(MapScan::due_ns);
        let of_relocation = self.relocation.as_ref().and_then(|relocation| relocation.due_ns());
        of_scan.into_iter().chain(of_relocation).min()
    }

    /// Does what is due.
    pub(super) fn on_timer<P: Payload>(&mut self, cx: &mut Context<'_, P, impl Driver<P>>) {
        if let Some(scan) = &mut self.map_scan {
            scan.look(cx);
        }
        if let Some(relocation) = &mut self.relocation {
            relocation.step_scan(cx);
            relocation.advance(cx);
        }
    }

    /// What is wanted of a consistency point that begins.
    pub(super) fn requests(&mut self, now_ns: u64, space: &Space) -> Requested {
        let (reclamation, relocation) = (&mut self.reclamation, &mut self.relocation);
        Requested {
            metadata: relocation
                .as_mut()
                .map(|relocation| relocation.metadata_to_clean(space))
                .unwrap_or_default(),
            empties_areas: relocation.as_ref().is_some_and(|one| one.empties_areas()),
            regions: reclamation
                .as_mut()
                .map(|scan| scan.due(now_ns, space.volumes.regions()))
                .unwrap_or_default(),
        }
    }

    /// A consistency point has begun.
    pub(super) fn on_consistency_point(&mut self, taken: &Taken) {
        if let Some(relocation) = &mut self.relocation {
            relocation.on_consistency_point(taken.data_blocks, taken.relocated);
        }
    }

    /// A consistency point has been committed.
    pub(super) fn on_commit<P: Payload>(&mut self, cx: &mut Context<'_, P, impl Driver<P>>) {
        if let Some(relocation) = &mut self.relocation {
            relocation.on_commit(cx);
        }
    }

    /// A host has read `blocks`, the first and the last one.
    pub(super) fn note_host_read<P: Payload>(
        &mut self,
        blocks: (u32, u32),
        cx: &mut Context<'_, P, impl Driver<P>>,
    ) {
        if let Some(relocation) = &mut self.relocation {
            relocation.note_host_read(blocks, cx);
        }
    }

    /// A read of the map scan has completed, or failed.
    #[cold]
    pub(super) fn on_scan_read_done(&mut self) {
        if let Some(scan) = &mut self.map_scan {
            scan.on_read_done();
        }
    }

    /// A read of a relocation has completed; without a payload its blocks are gone, and are left out.
    pub(super) fn on_relocation_read<P: Payload>(
        &mut self,
        fields: TagFields,
        payload: Option<&P>,
        cx: &mut Context<'_, P, impl Driver<P>>,
    ) {
        let may_wait = cx.memory.reads.came_back(fields.epoch_parity);
        let Some(relocation) = &mut self.relocation else {
            unreachable!("a read for a relocation has completed, and there is none")
        };
        relocation.on_read(fields, payload, cx);
        if may_wait {
            cx.then(Next::AdvanceConsistencyPoint);
        }
    }

    /// The keys of the blocks that a relocation's read asks for.
    pub(super) fn keys_of_read(&self, fields: TagFields) -> Option<Vec<u32>> {
        self.relocation.as_ref()?.keys_of_read(fields)
    }

    /// The reallocation scan; `None` in an array without one.
    pub(super) fn scan_progress(&self, data_blocks: u32) -> Option<ScanProgress> {
        self.relocation.as_ref()?.scan_progress(data_blocks)
    }

    /// Whether nothing is being relocated.
    pub(super) fn is_idle(&self) -> bool {
        self.relocation.as_ref().is_none_or(|one| one.is_idle())
    }
}

strewn_base::saved_state! {
    impl for Background {
        parts: relocation;
        values: reclamation, map_scan;
        built:;
    }
}
