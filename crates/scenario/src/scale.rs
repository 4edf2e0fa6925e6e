//! Scaling a scenario down, for a quick run.

use strewn_base::BLOCK_BYTES;

use crate::fields::{change, divided_size, scale};
use crate::quantity::Bytes;
use crate::scenario::Scenario;

impl Scenario {
    /// Returns the scenario at 1/`by` of its size, and a line for each value that changes.
    ///
    /// The file, LUNs, volumes, segments, buffer, page and read caches, times of failures, of added parity groups and
    /// of reallocation scans, times between snapshots, and those of background work are divided by `by`. Spindles have
    /// `by` times fewer blocks, so a rebuild is shorter by the same factor.
    ///
    /// Log halves, checkpoint intervals, blocks cleaned per checkpoint and write caches are divided by the whole part
    /// of the square root of `by`. A consistency point must end before the other half of the log is full, and the time
    /// of its spindle commands does not scale; but it must also write little compared with the buffer cache. A destage
    /// elevator needs enough dirty extents to choose from, but the cache must fill in less than a segment.
    ///
    /// So a consistency point covers, and a write cache holds, about the square root of `by` times as much of the file.
    /// A run says where that matters.
    ///
    /// A spindle's blocks are spread `by` times as far apart
    /// ([`spindle_stretch`](Self::spindle_stretch)), so seeks keep their lengths. Rates, queues and
    /// costs stay the same. Sizes are rounded down to whole blocks of 4 KiB, and nothing becomes
    /// zero unless it was. A `by` of 0 or 1 changes nothing.
    #[must_use]
    pub fn scaled_down(&self, by: u32) -> (Self, Vec<String>) {
        let by = by.max(1);
        let mut scaled = self.clone();
        let mut changes = Vec::new();
        if by == 1 {
            return (scaled, changes);
        }
        for workload in &mut scaled.workloads {
            let what = workload
                .named
                .as_ref()
                .map_or_else(|| "file".to_owned(), |named| format!("file of {}", named.name));
            let whole_bytes = workload.file_bytes;
            let mut divide = |what: &str, bytes: &mut u64| {
                let before = *bytes;
                *bytes = divided_size(before, by);
                let words = [before, *bytes].map(|bytes| Bytes(bytes).approximately());
                changes
                    .extend(change(&words[0], &words[1]).map(|change| format!("{what} {change}")));
            };
            divide(&what, &mut workload.file_bytes);
            if let Some(total) = &mut workload.total_bytes {
                divide(&format!("total, as {what}"), total);
            }
            // An operation keeps its length, and must fit into each thread's part.
            let least = workload.longest_bytes().saturating_mul(workload.threads().into());
            let least = least.saturating_add(workload.offset_bytes);
            let least = least.next_multiple_of(BLOCK_BYTES).min(whole_bytes);
            workload.file_bytes = workload.file_bytes.max(least);
        }
        changes.extend(scale(&mut scaled, by));
        if scaled.links.iter().any(|link| link.down_ns.is_some()) {
            changes.push(
                "timers of links, TCP and Fibre Channel stay as they are, so outages weigh more"
                    .to_owned(),
            );
        }
        // Rounding must not leave a file larger than a LUN it filled.
        for workload in &mut scaled.workloads {
            let luns = scaled
                .arrays
                .iter()
                .flat_map(|array| array.luns.iter().filter(|lun| workload.is_on(&array.name, lun)));
            let smallest = luns.map(|lun| lun.bytes).min().unwrap_or(u64::MAX);
            workload.file_bytes = workload.file_bytes.min(smallest);
        }
        scaled.spindle_stretch = scaled.spindle_stretch.saturating_mul(by);
        changes.push(format!(
            "blocks of a spindle {} times as far apart, so that seeks keep their lengths",
            scaled.spindle_stretch
        ));
        (scaled, changes)
    }
}
