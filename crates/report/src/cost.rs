//! What a scenario costs to simulate: rates, memory, and where the time goes.

use crate::table::{Columns, fixed};
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

/// The costs of arrays as tables: rates and memory, then where the time goes.
#[must_use]
pub fn cost_tables(costs: &[SimulationCost]) -> String {
    let rates = Columns::new()
        .words("array", |cost: &SimulationCost| cost.array.clone())
        .number("million host\noperations/s", |cost| fixed(cost.host_ops_per_second / 1e6, 2))
        .number("ns/host\noperation", |cost| fixed(cost.ns_per_host_op, 0))
        .number("million spindle\ncommands/s", |cost| {
            fixed(cost.spindle_commands_per_second / 1e6, 2)
        })
        .number("memory,\nMiB", |cost| fixed(cost.memory_bytes as f64 / f64::from(1 << 20), 0))
        .number("bytes/block\nof the file", |cost| fixed(cost.memory_bytes_per_block, 2))
        .number("to set\nup, s", |cost| fixed(cost.set_up_seconds, 1))
        .number("all segments,\nabout, s", |cost| fixed(cost.whole_seconds, 0))
        .render(costs);
    let rows: Vec<(String, PartShare)> = costs
        .iter()
        .flat_map(|cost| cost.parts.iter().map(|part| (cost.array.clone(), part.clone())))
        .collect();
    let parts = Columns::new()
        .words("array", |(array, _): &(String, PartShare)| array.clone())
        .words("part", |(_, part)| part.part.clone())
        .number("% of\nthe time", |(_, part)| fixed(part.percent, 1))
        .number("ns/host\noperation", |(_, part)| fixed(part.ns_per_host_op, 0))
        .render(&rows);
    format!("What it costs to simulate, one thread\n\n{rates}\nWhere the time goes\n\n{parts}")
}
