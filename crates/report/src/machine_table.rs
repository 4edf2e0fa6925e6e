//! Where the time of operations went, and how busy links and controllers were, as text.

use crate::columns::Columns;
use strewn_results::words::fixed;
use strewn_results::{ArrayResults, MachineEvent, MachineFigures, Results};

/// An array in a segment.
struct MachineRow {
    array: String,
    segment: u32,
    longest_ms: f64,
    figures: MachineFigures,
}

/// Returns the title of [`machine_table`].
pub(crate) fn machine_heading(results: &Results) -> String {
    let of_requests: Vec<String> = with_time_of_requests(results)
        .map(|array| format!("of {}: of its requests, per operation", array.name))
        .collect();
    match of_requests.as_slice() {
        [] => "Where the time of an operation went".to_owned(),
        some => format!("Where the time of an operation went ({})", some.join("; ")),
    }
}

/// Returns a sentence for each array whose parts of the time do not add up to its response time.
pub(crate) fn time_of_requests_notes(results: &Results) -> Vec<String> {
    let note = |array: &ArrayResults| {
        let cached = array.segments.iter().any(|segment| segment.page_cache.is_some());
        let whose = if cached { "its page cache" } else { "its clients to blades" };
        let name = &array.name;
        format!(
            "{name}: the parts are the time of the requests of {whose}, per operation. They do not add up to the response time."
        )
    };
    with_time_of_requests(results).map(note).collect()
}

fn with_time_of_requests(results: &Results) -> impl Iterator<Item = &ArrayResults> {
    let is_of_requests = |array: &&ArrayResults| {
        let mut segments = array.segments.iter();
        segments.any(|segment| segment.machine.is_some() && segment.time_is_of_requests())
    };
    results.arrays.iter().filter(is_of_requests)
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
                longest_ms: segment.response_ms.max,
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
        let link = row.figures.busiest_link();
        link.map_or_else(|| "-".to_owned(), |link| fixed(100.0 * link.utilization, 1))
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
        .number("longest\nresponse\nms", |row| fixed(row.longest_ms, 0))
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
    let columns = columns.number("each\ncontroller\nbusy %", |row| {
        each(row.figures.controllers.iter().map(|one| 100.0 * one.utilization), 1)
    });
    let columns = match rows.iter().any(|row| row.figures.lost > 0) {
        true => columns.number("messages\nlost", |row| row.figures.lost.to_string()),
        false => columns,
    };
    let mut table = columns.render(&rows);
    for note in time_of_requests_notes(results) {
        table.push_str(&format!("\n{note}\n"));
    }
    let events = events_table(&rows);
    if !events.is_empty() {
        table.push_str(&format!("\n{events}"));
    }
    table
}

/// Something that happened to an array in a segment.
struct EventRow {
    array: String,
    segment: u32,
    event: MachineEvent,
}

/// Returns what went out of service and came back. Empty if nothing did.
fn events_table(rows: &[MachineRow]) -> String {
    let of_row = |row: &MachineRow| {
        let (array, segment) = (row.array.clone(), row.segment);
        let events = row.figures.events.clone().into_iter();
        events.map(move |event| EventRow { array: array.clone(), segment, event })
    };
    let events: Vec<EventRow> = rows.iter().flat_map(of_row).collect();
    if events.is_empty() {
        return String::new();
    }
    Columns::<EventRow>::new()
        .words("array", |row| row.array.clone())
        .number("segment", |row| row.segment.to_string())
        .number("at\ns", |row| fixed(row.event.at_seconds, 1))
        .words("event", |row| row.event.what.clone())
        .render(&events)
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
