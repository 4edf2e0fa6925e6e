//! Where the time of operations went, and how busy links and controllers were, as text.

use crate::columns::{Columns, Figure, SegmentRow, declared};
use crate::group_tables::group_rows;
use strewn_results::words::fixed;
use strewn_results::{ArrayResults, Column, Group, MachineEvent, MachineFigures, Results};

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
    let rows = group_rows(results, Group::Machine);
    if rows.is_empty() {
        return String::new();
    }
    let any = |has: fn(&MachineFigures) -> bool| rows.iter().filter_map(machine).any(has);
    let mut table = machine_columns(&rows)
        .when(any(|machine| !machine.hosts.is_empty()), |columns| {
            columns.number("cores\nbusy at\neach host", |row| {
                each(machine(row)?.hosts.iter().map(|host| host.cores), 2)
            })
        })
        .when(any(|machine| machine.controllers.iter().any(|one| one.cores.is_some())), |columns| {
            columns.number("cores\nbusy at each\ncontroller", |row| {
                let busy = machine(row)?.controllers.iter().map(|one| match &one.cores {
                    Some(cores) => fixed(cores.busy, 2),
                    None => fixed(one.utilization, 2),
                });
                Some(busy.collect::<Vec<_>>().join(", "))
            })
        })
        .number("each\ncontroller\nbusy %", |row| {
            each(machine(row)?.controllers.iter().map(|one| 100.0 * one.utilization), 1)
        })
        .when(any(|machine| machine.lost > 0), |columns| columns.all(declared!["requests_lost"]))
        .render(&rows);
    for note in time_of_requests_notes(results) {
        table.push_str(&format!("\n{note}\n"));
    }
    let events: Vec<EventRow<'_>> = rows.iter().flat_map(events_of).collect();
    if !events.is_empty() {
        table.push_str(&format!("\n{}", event_columns().render(&events)));
    }
    table
}

/// Returns the columns that a terminal and a page have of what lay between hosts and arrays.
pub(crate) fn machine_columns<'a>(rows: &[SegmentRow<'a>]) -> Columns<'a, SegmentRow<'a>> {
    let has_router = |machine: &MachineFigures| machine.router_utilization.is_some();
    let any_router = rows.iter().filter_map(machine).any(has_router);
    let link_busy = |row: &SegmentRow<'_>| {
        let link = machine(row)?.busiest_link()?;
        let path = row.path(&format!("machine/links/{}/{}", link.position, link.field));
        Some(Figure::share(link.utilization).at(path))
    };
    Columns::new()
        .all(declared!["array", "segment"])
        .all(declared!["time_in_host_ms", "time_in_wire_ms", "time_in_front_end_ms"])
        .all(declared!["time_in_controller_ms", "time_in_spindles_ms", "time_in_outage_ms"])
        .declared_as(("longest\nresponse\nms", "longest response ms"), LONGEST)
        .number(("busiest\nlink\n%", "busiest link busy"), link_busy)
        .when(any_router, |columns| columns.all(declared!["router_utilization_0_to_1"]))
}

const LONGEST: &Column = Column::declared("response_max_ms");

pub(crate) fn machine<'a>(row: &SegmentRow<'a>) -> Option<&'a MachineFigures> {
    row.segment.machine.as_deref()
}

/// Something that went out of service in a segment or came back, with its position.
pub(crate) type EventRow<'a> = (SegmentRow<'a>, usize, &'a MachineEvent);

pub(crate) fn events_of<'a>(row: &SegmentRow<'a>) -> Vec<EventRow<'a>> {
    let events = machine(row).into_iter().flat_map(|machine| machine.events.iter().enumerate());
    events.map(|(position, event)| (*row, position, event)).collect()
}

pub(crate) fn event_columns<'a>() -> Columns<'a, EventRow<'a>> {
    Columns::new()
        .words("array", |(row, ..): &EventRow<'_>| row.array.name.clone())
        .number("segment", |(row, ..)| row.segment.index.to_string())
        .number(("at\ns", "seconds from the start of the run"), |(row, position, event)| {
            let path = row.path(&format!("machine/events/{position}/at_seconds"));
            Figure::new(event.at_seconds, 1).at(path)
        })
        .words("event", |(_, _, event)| event.what.clone())
}

/// More figures than this are given as a range.
const MOST_LISTED: usize = 4;

/// Lists figures, or says from which to which many are.
fn each(figures: impl Iterator<Item = f64>, digits: usize) -> Option<String> {
    let figures: Vec<f64> = figures.collect();
    if figures.len() > MOST_LISTED
        && let (Some(least), Some(most)) =
            (figures.iter().copied().reduce(f64::min), figures.iter().copied().reduce(f64::max))
    {
        return Some(format!("{} to {}", fixed(least, digits), fixed(most, digits)));
    }
    let listed = figures.into_iter().map(|figure| fixed(figure, digits));
    Some(listed.collect::<Vec<_>>().join(", "))
}
