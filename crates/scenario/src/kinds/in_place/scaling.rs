//! What a run of an in-place array at a smaller scale does not have in proportion.

use strewn_base::BLOCK_BYTES;
use strewn_results::rounded;
use strewn_sim::Segment;

use super::{DiskGroup, InPlace, InPlaceLayout};
use crate::kinds::{MATTERS, ScaledRun, percent_words};

/// Fewer segments of a file than this to a spindle, and the load of the spindles is uneven: measured, IOPS of random
/// reads were 4 % lower with four, and 26 % with two.
const FEW_SEGMENTS: f64 = 4.0;

/// What an in-place array's write cache holds of the file, and how long it takes to fill.
pub(super) fn write_cache(layout: &InPlace, run: &ScaledRun<'_>) -> Option<String> {
    let (blocks, _) = run.random_writes()?;
    let more = f64::from(run.by) / run.root();
    let share = layout.write_cache_bytes as f64 / (blocks * BLOCK_BYTES as f64);
    // In proportion to what the cache holds of the file, and less of that as long as it is not full.
    let here = run.overwritten_in_cache(run.segments);
    let full = here * (share / more).min(1.0) / share.min(1.0);
    if here - full >= MATTERS {
        let what = format!(
            "the write cache holds {} of the file here, {} at full scale: it is {}, and more is overwritten in it",
            percent_words(share),
            percent_words(share / more),
            run.not_divided()
        );
        return Some(run.sentence(&what, &run.commands()));
    }
    if !run.scenario.phases.is_empty() {
        // Then it fills when a phase writes enough, at any scale.
        return None;
    }
    let is_full = |segment: &Segment| segment.counters.stalled_writes > 0;
    let when = match run.segments.iter().find(|segment| is_full(segment)) {
        Some(segment) if segment.index > 1 => {
            format!("not full before segment {}", segment.index)
        }
        Some(_) => return None,
        None => {
            // Random writes find as much of the file dirty as is.
            let last = run.segments.last().map_or(&[][..], std::slice::from_ref);
            let dirty = run.overwritten_in_cache(last) / share;
            let low = layout.destage_low_percent / 100.0;
            if (dirty - low) * more < 1.0 - low {
                return None;
            }
            "never full".to_owned()
        }
    };
    let what = format!(
        "the write cache is {}, so it takes {} times as much of the run to fill as at full scale, and here it is \
         {when}",
        run.not_divided(),
        rounded(more, 2)
    );
    Some(run.sentence(&what, &run.commands()))
}

/// A file in so few segments of VRAID that the spindles do not have equal parts of it.
pub(super) fn vraid(layout: &InPlace, run: &ScaledRun<'_>) -> Option<String> {
    let of_group = |(number, group): (u16, &DiskGroup)| {
        let luns = run.array.luns.iter().filter(|lun| lun.group == number);
        let bytes: u64 = luns.map(|lun| run.file_bytes(lun, |_| true)).sum();
        // The parity of four segments of data is in a fifth.
        let rstores = bytes as f64 / (4 * group.segment_bytes) as f64;
        let for_each = 5.0 * rstores.ceil() / f64::from(group.spindles);
        let is_few = bytes > 0 && for_each < FEW_SEGMENTS;
        let full = for_each * f64::from(run.by);
        (group.layout == InPlaceLayout::Vraid5 && is_few && full >= FEW_SEGMENTS).then(|| {
            let what = format!(
                "a spindle has {} segments of the file here, {} at full scale: segments keep their size, and the \
                 spindles have unequal parts of the load",
                rounded(for_each, 2),
                rounded(full, 2)
            );
            run.sentence(&what, &run.with_iops("response times"))
        })
    };
    (1..).zip(&layout.groups).find_map(of_group)
}
