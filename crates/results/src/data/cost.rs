//! The cost of simulating a scenario: rates, memory, and where the time goes.

use serde::{Deserialize, Serialize};

/// The cost of simulating one array of a scenario, measured on one thread.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct SimulationCost {
    /// The array.
    pub array: String,
    /// Time to set it up, seconds.
    pub set_up_seconds: f64,
    /// Time to simulate it, seconds of wall time.
    pub wall_seconds: f64,
    /// Virtual time that passed, seconds.
    pub simulated_seconds: f64,
    /// Host operations answered.
    pub host_ops: u64,
    /// Host operations per second of wall time.
    pub host_ops_per_second: f64,
    /// Spindle commands per second of wall time.
    pub spindle_commands_per_second: f64,
    /// Nanoseconds of wall time per host operation.
    pub ns_per_host_op: f64,
    /// Memory that it needs, bytes, from the sizes of its maps and caches.
    pub memory_bytes: u64,
    /// The same per 4 KiB block of the file.
    pub memory_bytes_per_block: f64,
    /// Estimated time for all segments of the scenario, seconds of wall time.
    pub whole_seconds: f64,
    /// Shares of the time by part of the simulator.
    pub parts: Vec<PartShare>,
}

/// The share of the time that one part of the simulator takes.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct PartShare {
    /// The part.
    pub part: String,
    /// Its share, percent.
    pub percent: f64,
    /// Its nanoseconds per host operation.
    pub ns_per_host_op: f64,
}
