//! What a scenario costs to simulate: rates, memory, and where the time goes.

use serde::{Deserialize, Serialize};

/// What one array of a scenario costs to simulate, measured on one thread.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct SimulationCost {
    /// The array.
    pub array: String,
    /// How long its setting up took, seconds.
    pub set_up_seconds: f64,
    /// How long it was simulated, seconds of wall time.
    pub wall_seconds: f64,
    /// How much virtual time passed, seconds.
    pub simulated_seconds: f64,
    /// Host operations answered.
    pub host_ops: u64,
    /// Host operations a second of wall time.
    pub host_ops_per_second: f64,
    /// Spindle commands a second of wall time.
    pub spindle_commands_per_second: f64,
    /// Nanoseconds of wall time a host operation.
    pub ns_per_host_op: f64,
    /// Memory it needs, bytes, by the sizes of its maps and caches.
    pub memory_bytes: u64,
    /// The same for each 4 KiB block of the file.
    pub memory_bytes_per_block: f64,
    /// About how long all segments of the scenario take, seconds of wall time.
    pub whole_seconds: f64,
    /// Shares of the time by part.
    pub parts: Vec<PartShare>,
}

/// The share of one part of the simulator in the time.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct PartShare {
    /// The part.
    pub part: String,
    /// Its share, percent.
    pub percent: f64,
    /// Nanoseconds of it a host operation.
    pub ns_per_host_op: f64,
}
