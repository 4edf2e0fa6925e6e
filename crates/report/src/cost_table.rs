//! The cost of simulating a scenario, as text.

use crate::columns::Columns;
use strewn_results::words::fixed;
use strewn_results::{PartShare, SimulationCost};

/// Returns the costs of arrays as tables: rates and memory, then where the time goes.
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
