//! What a host's page cache did in a segment. The results of hosts without one have none of this.

use serde::{Deserialize, Serialize};

/// What a page cache did in a segment.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct PageCacheFigures {
    /// Share of the pages that applications read and the cache held, in percent; none if they read none.
    pub hit_percent: Option<f64>,
    /// MiB a second read from LUNs, for what applications read and for pages that they wrote a part of.
    pub filled_mib_per_s: f64,
    /// MiB a second written to LUNs.
    pub written_mib_per_s: f64,
    /// Mean size of a request that wrote, KiB; none if there were none.
    pub write_request_kib: Option<f64>,
    /// How long writes waited for dirty pages to become fewer, as a mean over all operations, milliseconds.
    pub throttled_ms: f64,
    /// MiB dirty or being written at the end of the segment.
    pub dirty_mib: f64,
}
