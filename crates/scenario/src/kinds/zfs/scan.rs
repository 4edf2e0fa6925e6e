//! Scans of a pool's volumes beside the load: rewriting, and sending.

use strewn_zfs::{ScanKind, VolumeScanConfig};

use crate::fields::{Around, Fields, Scales, Section, Table, size, time};
use crate::kinds::check_begins;

/// `[array.zfs.rewrite]` or `[array.zfs.send]`.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct VolumeScan {
    /// When it begins, in nanoseconds from the start of the run.
    pub begins_ns: u64,
    /// From one's beginning to the next, in nanoseconds; `None` for a single one.
    pub every_ns: Option<u64>,
    /// The most that it reads in a second, in bytes; `None` for as fast as it can.
    pub bytes_per_s: Option<u64>,
}

impl VolumeScan {
    pub(super) fn config(self, kind: ScanKind) -> VolumeScanConfig {
        let Self { begins_ns, every_ns, bytes_per_s } = self;
        VolumeScanConfig { kind, begins_ns, every_ns, bytes_per_s }
    }
}

impl Table for VolumeScan {
    fn fields(&mut self, f: &mut Fields<'_>) {
        f.value(
            time("begins", "When it begins, from the start of the run.")
                .required("\"2 h\"")
                .moment("scan of {} begins"),
            &mut self.begins_ns,
        );
        f.value(
            time(
                "every",
                "Time from one's beginning to the next, which waits for the end of the one before. Without it, there is \
                 one.",
            )
            .positive()
            .scales(Scales::Whole, "scan of {} every"),
            &mut self.every_ns,
        );
        f.value(
            size(
                "per_second",
                "Most data that it reads in a second. Without it, as fast as it can.",
            )
            .positive(),
            &mut self.bytes_per_s,
        );
    }

    fn check(&self, s: &Section<'_>, around: &Around) {
        check_begins(s, self.begins_ns, around);
    }
}
