//! Where the time of operations went, and how busy links and controllers were, as text.

use crate::data::machine::MachineFigures;
use crate::data::number::fixed;
use crate::data::results::Results;
use crate::rendering::columns::Columns;

/// An array in a segment.
struct MachineRow {
    array: String,
    segment: u32,
    figures: MachineFigures,
}

/// Returns what lay between hosts and arrays in each segment. Empty if nothing did.
#[must_use]
pub fn machine_table(results: &Results) -> String {
    let mut rows = Vec::new();
    for array in &results.arrays {
        for segment in &array.segments {
            rows.extend(segment.machine.iter().map(|figures| MachineRow {
                array: array.name.clone(),
                segment: segment.index,
                figures: (**figures).clone(),
            }));
        }
    }
    if rows.is_empty() {
        return String::new();
    }
    let ms = |part: usize| move |row: &MachineRow| fixed(row.figures.time_in_ms.parts()[part].1, 2);
    // The busiest link, either way.
    let busiest = |row: &MachineRow| {
        let links = row.figures.links.iter();
        let both = links.flat_map(|link| [link.utilization_to_array, link.utilization_to_host]);
        both.reduce(f64::max).map_or_else(|| "-".to_owned(), |share| fixed(100.0 * share, 1))
    };
    let has_router = rows.iter().any(|row| row.figures.router_utilization.is_some());
    let router = |row: &MachineRow| {
        let busy = row.figures.router_utilization;
        busy.map_or_else(|| "-".to_owned(), |share| fixed(100.0 * share, 1))
    };
    let columns = Columns::<MachineRow>::new()
        .words("array", |row| row.array.clone())
        .number("segment", |row| row.segment.to_string())
        .number("host\nms", ms(0))
        .number("wire\nms", ms(1))
        .number("front\nend\nms", ms(2))
        .number("controller\nms", ms(3))
        .number("spindles\nms", ms(4))
        .number("outage\nms", ms(5))
        .number("busiest\nlink\n%", busiest);
    let columns = match has_router {
        true => columns.number("router\n%", router),
        false => columns,
    };
    let has_hosts = rows.iter().any(|row| !row.figures.hosts.is_empty());
    let columns = match has_hosts {
        true => columns.number("cores\nbusy at\neach host", |row| {
            each(row.figures.hosts.iter().map(|host| host.cores), 2)
        }),
        false => columns,
    };
    let has_cores =
        rows.iter().any(|row| row.figures.controllers.iter().any(|one| one.cores.is_some()));
    let columns = match has_cores {
        true => columns.number("cores\nbusy at each\ncontroller", |row| {
            let busy = row.figures.controllers.iter().map(|one| match &one.cores {
                Some(cores) => fixed(cores.busy, 2),
                None => fixed(one.utilization, 2),
            });
            busy.collect::<Vec<_>>().join(", ")
        }),
        false => columns,
    };
    columns
        .number("each\ncontroller\nbusy %", |row| {
            each(row.figures.controllers.iter().map(|one| 100.0 * one.utilization), 1)
        })
        .render(&rows)
}

/// More figures than this are given as a range.
const MOST_LISTED: usize = 4;

/// Lists figures, or says from which to which many are.
fn each(figures: impl Iterator<Item = f64>, digits: usize) -> String {
    let figures: Vec<f64> = figures.collect();
    if figures.len() > MOST_LISTED
        && let (Some(least), Some(most)) =
            (figures.iter().copied().reduce(f64::min), figures.iter().copied().reduce(f64::max))
    {
        return format!("{} to {}", fixed(least, digits), fixed(most, digits));
    }
    let listed = figures.into_iter().map(|figure| fixed(figure, digits));
    listed.collect::<Vec<_>>().join(", ")
}
