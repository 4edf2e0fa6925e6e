//! Scaling a scenario down, for a quick run.

use std::fmt::Display;

use strewn_base::BLOCK_BYTES;

use crate::array::Array;
use crate::layout::ArrayLayout;
use crate::page_cache::CacheWrites;
use crate::quantity::{Bytes, Nanoseconds};
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
        let mut scale = Scale { by, changes: &mut changes };
        for workload in &mut scaled.workloads {
            let what = workload
                .named
                .as_ref()
                .map_or_else(|| "file".to_owned(), |named| format!("file of {}", named.name));
            let whole_bytes = workload.file_bytes;
            scale.size(&what, &mut workload.file_bytes);
            // An operation keeps its length, and must fit into each thread's part.
            let least = workload.longest_bytes().saturating_mul(workload.threads().into());
            let least = least.saturating_add(workload.offset_bytes);
            let least = least.next_multiple_of(BLOCK_BYTES).min(whole_bytes);
            workload.file_bytes = workload.file_bytes.max(least);
            if let Some(total) = &mut workload.total_bytes {
                scale.size(&format!("total, as {what}"), total);
            }
        }
        scale.time("segment", &mut scaled.segment_ns);
        for link in &mut scaled.links {
            let times = [("fails", &mut link.down_ns), ("is back", &mut link.up_ns)];
            for (what, at_ns) in times {
                if let Some(at_ns) = at_ns {
                    scale.time(&format!("link {} {what}", link.name), at_ns);
                }
            }
        }
        let fails = scaled.links.iter().any(|link| link.down_ns.is_some());
        for array in &mut scaled.arrays {
            scale.array(array);
        }
        if fails {
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

/// Divides sizes and times by `by`, and notes each change.
struct Scale<'c> {
    by: u32,
    changes: &'c mut Vec<String>,
}

impl Scale<'_> {
    fn array(&mut self, array: &mut Array) {
        let name = &array.name;
        for lun in &mut array.luns {
            let what = match &lun.name {
                Some(lun) => format!("LUN {lun} of {name}"),
                None => format!("LUN of {name}"),
            };
            self.size(&what, &mut lun.bytes);
            if let Some(laid_out) = lun.laid_out_bytes.as_mut().filter(|bytes| **bytes > 0) {
                self.size(&format!("laid out of {what}"), laid_out);
            }
        }
        for volume in &mut array.volumes {
            let what = format!("volume {} of {name}", volume.name);
            if let Some(bytes) = &mut volume.bytes {
                self.size(&what, bytes);
            }
            if let Some(schedule) = &mut volume.snapshots {
                self.time(&format!("snapshots of {what} every"), &mut schedule.every_ns);
            }
        }
        if let ArrayLayout::WriteAnywhere(layout) = &mut array.layout {
            self.size(&format!("buffer cache of {name}"), &mut layout.buffer_cache_bytes);
        }
        if let ArrayLayout::WriteAnywhere(layout) = &mut array.layout {
            for (number, group) in (2..).zip(&mut layout.further_groups) {
                if let Some(at_ns) = &mut group.at_ns {
                    self.time(&format!("addition of parity group {number} of {name}"), at_ns);
                }
            }
        }
        if let Some(page_cache) = &mut array.page_cache {
            self.size(&format!("page cache of the hosts of {name}"), &mut page_cache.bytes);
            if let CacheWrites::Behind { wake_up_ns, expiry_ns, .. } = &mut page_cache.writes {
                let what = format!("wake-up of the page cache of the hosts of {name}");
                self.time(&what, wake_up_ns);
                let what = format!("expiry in the page cache of the hosts of {name}");
                self.time(&what, expiry_ns);
            }
        }
        if let Some(pair) = &mut array.pair {
            let times = [("takeover", &mut pair.takeover_ns), ("giveback", &mut pair.giveback_ns)];
            for (what, at_ns) in times {
                if let Some(at_ns) = at_ns {
                    self.time(&format!("{what} of {name}"), at_ns);
                }
            }
            self.time(
                &format!("detection of a failed controller of {name}"),
                &mut pair.detection_ns,
            );
            self.time(&format!("pause of a giveback of {name}"), &mut pair.giveback_pause_ns);
        }
        if let Some(lost) = array.client_raid.as_mut().and_then(|raid| raid.lost.as_mut()) {
            self.time(&format!("loss of blade {} of {name}", lost.blade), &mut lost.at_ns);
        }
        for failure in &mut array.failures {
            let what = format!("failure of spindle {} of {name}", failure.spindle);
            self.time(&what, &mut failure.at_ns);
        }
        if let ArrayLayout::WriteAnywhere(layout) = &mut array.layout
            && let Some(schedule) = &mut layout.snapshots
        {
            self.time(&format!("snapshots of {name} every"), &mut schedule.every_ns);
        }
        if let ArrayLayout::WriteAnywhere(layout) = &mut array.layout {
            if let Some(interval_ns) = &mut layout.reclaim_interval_ns {
                self.time(&format!("interval of reclamation of {name}"), interval_ns);
            }
            if let Some(scan) = &mut layout.background_scan {
                self.time(
                    &format!("beginning of the background scan of {name}"),
                    &mut scan.begins_ns,
                );
                if let Some(ends_ns) = &mut scan.ends_ns {
                    self.time(&format!("end of the background scan of {name}"), ends_ns);
                }
            }
            if let Some(scan) = &mut layout.relocation.scan {
                self.time(&format!("reallocation scan of {name} begins"), &mut scan.begins_ns);
                if let Some(every_ns) = &mut scan.every_ns {
                    self.time(&format!("reallocation scan of {name} every"), every_ns);
                }
            }
        }
        let mut root = Scale { by: self.by.isqrt().max(1), changes: &mut *self.changes };
        match &mut array.layout {
            ArrayLayout::WriteAnywhere(layout) => {
                root.size(&format!("log half of {name}"), &mut layout.log_half_bytes);
                let interval = &mut layout.checkpoint_interval_ns;
                root.time(&format!("checkpoint interval of {name}"), interval);
                if let Some(blocks) = &mut layout.relocation.cleaned_blocks {
                    root.count(&format!("blocks cleaned per checkpoint of {name}"), blocks);
                }
            }
            ArrayLayout::InPlace(layout) => {
                root.size(&format!("write cache of {name}"), &mut layout.write_cache_bytes);
                if layout.read_cache_bytes > 0 {
                    let what = format!("read cache of {name}");
                    let by = self.by;
                    Scale { by, changes: &mut *root.changes }
                        .size(&what, &mut layout.read_cache_bytes);
                }
                if layout.format.is_durable() {
                    root.size(&format!("log half of {name}"), &mut layout.log_half_bytes);
                }
            }
        }
    }

    fn size(&mut self, what: &str, bytes: &mut u64) {
        let before = *bytes;
        let divided = before / u64::from(self.by);
        let whole = divided - divided % BLOCK_BYTES;
        *bytes = whole.max(BLOCK_BYTES.min(before));
        self.changed(what, &Bytes(before).approximately(), &Bytes(*bytes).approximately());
    }

    fn count(&mut self, what: &str, count: &mut u32) {
        let before = *count;
        *count = (before / self.by).max(before.min(1));
        self.changed(what, &before, count);
    }

    fn time(&mut self, what: &str, time_ns: &mut u64) {
        let before = *time_ns;
        *time_ns = (before / u64::from(self.by)).max(before.min(1));
        self.changed(what, &Nanoseconds(before), &Nanoseconds(*time_ns));
    }

    /// Notes a change that can be seen.
    fn changed(&mut self, what: &str, before: &impl Display, after: &impl Display) {
        let (before, after) = (before.to_string(), after.to_string());
        if before != after {
            self.changes.push(format!("{what} {before} -> {after}"));
        }
    }
}
