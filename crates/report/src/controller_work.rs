//! What the controllers did besides serving hosts: read-ahead, relocation, whole stripes written back, housekeeping.

use strewn_results::words::grouped;
use strewn_results::{
    ArrayResults, ReadAhead, Relocated, Relocation, Results, Segment, StripeDestages,
};

/// The title of the section.
pub(crate) const CONTROLLER_WORK_HEADING: &str = "What the controller did besides serving hosts";

/// A figure of what a controller did in a segment.
pub(crate) struct Work {
    pub(crate) name: &'static str,
    /// Its place below the segment in `results.json`.
    pub(crate) path: &'static str,
    pub(crate) decimals: usize,
    /// Whether those of all segments can be added.
    is_count: bool,
    value: fn(&Segment) -> Option<f64>,
}

impl Work {
    const fn count(
        name: &'static str,
        path: &'static str,
        value: fn(&Segment) -> Option<f64>,
    ) -> Self {
        Self { name, path, decimals: 0, is_count: true, value }
    }

    const fn state(
        name: &'static str,
        path: &'static str,
        decimals: usize,
        value: fn(&Segment) -> Option<f64>,
    ) -> Self {
        Self { name, path, decimals, is_count: false, value }
    }

    /// Returns its value in a segment; none if it is zero or the segment lacks it.
    pub(crate) fn in_segment(&self, segment: &Segment) -> Option<f64> {
        (self.value)(segment).filter(|value| *value != 0.0)
    }

    /// Returns the sum of an array's segments; none if it is zero, or no count.
    fn in_all(&self, array: &ArrayResults) -> Option<f64> {
        let counts = array.segments.iter().filter_map(self.value);
        self.is_count.then(|| counts.sum()).filter(|sum| *sum != 0.0)
    }
}

/// Returns the figures that are not zero in some segment of an array, in the order of [`ALL`].
pub(crate) fn works_of(array: &ArrayResults) -> Vec<&'static Work> {
    let any = |work: &&Work| array.segments.iter().any(|of| work.in_segment(of).is_some());
    ALL.iter().filter(any).collect()
}

/// Longest line of text, for a terminal and a log.
const LONGEST_LINE: usize = 118;

/// Returns lines for each array whose controller did any of this, with the sums over all segments. Empty if none did.
pub(crate) fn controller_work_lines(results: &Results) -> String {
    let mut text = String::new();
    for array in &results.arrays {
        let sums = ALL.iter().filter_map(|work| Some((work.name, work.in_all(array)?)));
        let mut line = format!(" {}:", array.name);
        for (name, sum) in sums {
            let words = format!(" {name} {};", grouped(sum, false));
            if line.len() + words.len() > LONGEST_LINE {
                text.push_str(&line);
                text.push('\n');
                line = "  ".to_owned();
            }
            line.push_str(&words);
        }
        if line.ends_with(';') {
            line.pop();
            text.push_str(&line);
            text.push('\n');
        }
    }
    text
}

macro_rules! housekeeping {
    ($name:literal, $field:ident) => {
        Work::count($name, concat!("housekeeping/", stringify!($field)), |segment| {
            Some(segment.housekeeping?.$field as f64)
        })
    };
}

/// Every figure, in the order in which they are shown.
static ALL: [Work; 24] = [
    Work::count("blocks read ahead", "cache/read_ahead/blocks", |segment| {
        read_ahead(segment, |now| now.blocks)
    }),
    Work::count("read ahead and used", "cache/read_ahead/used", |segment| {
        read_ahead(segment, |now| now.used)
    }),
    Work::count("read ahead and dropped", "cache/read_ahead/dropped", |segment| {
        read_ahead(segment, |now| now.dropped)
    }),
    Work::count("full stripes destaged", "stripe_destages/full", |segment| {
        destages(segment, |now| now.full)
    }),
    Work::count("stripes completed by reading", "stripe_destages/reconstructed", |segment| {
        destages(segment, |now| now.reconstructed)
    }),
    Work::count("blocks relocated after reads", "relocation/after_reads/blocks", |segment| {
        relocated(segment, |now| now.after_reads, |cause| cause.blocks)
    }),
    Work::count("spindle reads for these", "relocation/after_reads/reads", |segment| {
        relocated(segment, |now| now.after_reads, |cause| cause.reads)
    }),
    Work::count("blocks relocated by scans", "relocation/by_scans/blocks", |segment| {
        relocated(segment, |now| now.by_scans, |cause| cause.blocks)
    }),
    Work::count("spindle reads of scans", "relocation/by_scans/reads", |segment| {
        relocated(segment, |now| now.by_scans, |cause| cause.reads)
    }),
    Work::count("blocks relocated by cleaning", "relocation/by_cleaning/blocks", |segment| {
        relocated(segment, |now| now.by_cleaning, |cause| cause.blocks)
    }),
    Work::count("spindle reads of cleaning", "relocation/by_cleaning/reads", |segment| {
        relocated(segment, |now| now.by_cleaning, |cause| cause.reads)
    }),
    Work::state("scans begun", "relocation/scan/begun", 0, |segment| {
        Some(f64::from(segment.relocation?.scan?.begun))
    }),
    Work::state("last scan passed %", "relocation/scan/passed_percent", 1, |segment| {
        Some(segment.relocation?.scan?.passed_percent)
    }),
    Work::state("scan ended at, s", "relocation/scan/ended_at_seconds", 1, |segment| {
        segment.relocation?.scan?.ended_at_seconds
    }),
    housekeeping!("blocks placed at a cost", allocated_blocks),
    housekeeping!("blocks freed at a cost", freed_blocks),
    housekeeping!("metadata blocks changed at a cost", changed_metadata_blocks),
    housekeeping!("KiB XORed at a cost", parity_kib),
    housekeeping!("reads through holes", reads_through_holes),
    housekeeping!("hole blocks read and dropped", hole_blocks),
    housekeeping!("regions reclaimed", reclaimed_regions),
    housekeeping!("map blocks that scans read", map_scan_reads),
    housekeeping!("map blocks that scans found in memory", map_scan_hits),
    housekeeping!("ms in consistency points", checkpoint_ms),
];

fn read_ahead(segment: &Segment, figure: fn(&ReadAhead) -> u64) -> Option<f64> {
    segment.cache.read_ahead.as_ref().map(|now| figure(now) as f64)
}

fn destages(segment: &Segment, figure: fn(&StripeDestages) -> u64) -> Option<f64> {
    segment.stripe_destages.as_ref().map(|now| figure(now) as f64)
}

fn relocated(
    segment: &Segment,
    cause: fn(&Relocation) -> Option<Relocated>,
    figure: fn(&Relocated) -> u64,
) -> Option<f64> {
    cause(segment.relocation.as_ref()?).as_ref().map(|cause| figure(cause) as f64)
}
