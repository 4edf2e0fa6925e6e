//! What clients that compute parity did in a segment. The results of other hosts have none of this.

use serde::{Deserialize, Serialize};

/// What the clients of blades did in a segment, all together. Their operations are those of applications or, with a
/// page cache, its requests; figures per operation are per operation of applications.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct ClientRaidFigures {
    /// Requests to blades that read what was asked for, for each operation.
    pub reads_per_op: f64,
    /// Requests that read old contents, for parity, for each operation.
    pub update_reads_per_op: f64,
    /// Requests that wrote, data and parity, for each operation.
    pub writes_per_op: f64,
    /// MiB a second read by the former.
    pub read_mib_per_s: f64,
    /// MiB a second read for parity.
    pub update_read_mib_per_s: f64,
    /// MiB a second written, data and parity.
    pub written_mib_per_s: f64,
    /// MiB a second of parity among these.
    pub parity_mib_per_s: f64,
    /// Share of the stripes written that were written in whole, in percent; none if none was written.
    pub full_stripe_percent: Option<f64>,
    /// MiB a second computed because their blade is lost.
    pub reconstructed_mib_per_s: f64,
    /// How long operations waited for others on the same stripes, as a mean over all operations, milliseconds.
    pub stripe_wait_ms: f64,
    /// Cores of clients that were busy with parity.
    pub parity_cores: f64,
}
