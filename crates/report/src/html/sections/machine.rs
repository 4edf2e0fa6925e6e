//! What lay between hosts and arrays.

use crate::columns::{Columns, Figure, SegmentRow};
use crate::group_tables::group_rows;
use crate::html::block::Block;
use crate::machine_table::{
    event_columns, events_of, machine, machine_columns, time_of_requests_notes,
};
use strewn_results::{
    Column, ControllerFigures, Group, HostProcessor, LinkFigures, MachineFigures, Results,
};

/// More rows than this of links, controllers or hosts are hard to read. Then only the segments at both ends, and those
/// in which something happened, are shown.
const MOST_ROWS: usize = 60;

/// Returns where the time of operations went in each segment, and how busy everything in front of the arrays was. Empty
/// if nothing lay between hosts and arrays.
pub(super) fn in_front(results: &Results) -> Vec<Block> {
    let rows = group_rows(results, Group::Machine);
    let mut blocks: Vec<Block> = time_in(&rows).into_iter().collect();
    blocks.extend(time_of_requests_notes(results).into_iter().map(Block::note));
    blocks.extend(of_parts(&rows, "Outages of links and controllers", &event_columns(), events_of));
    blocks.extend(links(&rows));
    blocks.extend(controllers(&rows));
    blocks.extend(hosts(&rows));
    blocks
}

fn time_in(rows: &[SegmentRow<'_>]) -> Option<Block> {
    // Without a front end, hosts have nothing to do.
    let not_zero = |column: &'static Column| {
        move |row: &SegmentRow<'_>| row.figure(column).filter(|figure| figure.value > 0.0)
    };
    let out_of_service = |row: &SegmentRow<'_>| machine(row).map(|it| it.out_of_service.join("; "));
    let columns = machine_columns(rows)
        .number("host cores busy", not_zero(Column::declared("host_cores_busy")))
        .number("requests and answers lost", not_zero(Column::declared("requests_lost")))
        .words("out of service", out_of_service);
    let caption = match rows.iter().any(|row| row.segment.time_is_of_requests()) {
        true => {
            "Parts of an operation\u{2019}s time, milliseconds; shares of the time busy, 0 to 1"
        }
        false => "Parts of the mean response time, milliseconds; shares of the time busy, 0 to 1",
    };
    columns.block(caption, rows)
}

/// A part of the machine in a segment, with its position.
type PartRow<'a, Part> = (SegmentRow<'a>, usize, &'a Part);

/// Starts a table with several rows for a segment.
fn part_columns<'a, Part: 'a>() -> Columns<'a, PartRow<'a, Part>> {
    Columns::new()
        .words("array", |(row, ..): &PartRow<'_, Part>| row.array.name.clone())
        .number("segment", |(row, ..)| row.segment.index.to_string())
}

fn links(rows: &[SegmentRow<'_>]) -> Option<Block> {
    let figure = |(row, position, _): &PartRow<'_, LinkFigures>, figure: Figure, field: &str| {
        figure.at(row.path(&format!("machine/links/{position}/{field}")))
    };
    let columns = part_columns::<LinkFigures>()
        .words("link", |(_, _, link)| link.name.clone())
        .number("busy to the array", move |row| {
            figure(row, Figure::share(row.2.utilization_to_array), "utilization_to_array")
        })
        .number("busy to the host", move |row| {
            figure(row, Figure::share(row.2.utilization_to_host), "utilization_to_host")
        })
        .number("MiB/s to the array", move |row| {
            figure(row, Figure::new(row.2.mib_per_s_to_array, 1), "mib_per_s_to_array")
        })
        .number("MiB/s to the host", move |row| {
            figure(row, Figure::new(row.2.mib_per_s_to_host, 1), "mib_per_s_to_host")
        });
    let caption = "Links: share of the time busy, 0 to 1, and MiB/s";
    of_parts(rows, caption, &columns, |row| parts(row, |machine| &machine.links))
}

/// Returns how busy each controller was; none if each array has one with one core, whose utilization is in another
/// table.
fn controllers(rows: &[SegmentRow<'_>]) -> Option<Block> {
    let machines = || rows.iter().filter_map(machine);
    let all = || machines().flat_map(|machine| &machine.controllers);
    let any_cores = all().any(|one| one.cores.is_some());
    if machines().all(|machine| machine.controllers.len() <= 1) && !any_cores {
        return None;
    }
    let domains =
        |one: &ControllerFigures| one.cores.as_ref().map_or(0, |cores| cores.serial_domains.len());
    let most_domains = all().map(domains).max().unwrap_or_default();
    let caption = match any_cores {
        true => {
            "Controllers: share of the time busy, 0 to 1; of several cores, that of the busiest serial domain or their \
             mean, whichever is more"
        }
        false => "Controllers: share of the time busy, 0 to 1",
    };
    let are_blades = rows.iter().any(|row| row.segment.client_raid.is_some());
    let at = |(row, position, _): &PartRow<'_, ControllerFigures>, figure: Figure, field: &str| {
        figure.at(row.path(&format!("machine/controllers/{position}/{field}")))
    };
    let mut columns = part_columns::<ControllerFigures>()
        .number(if are_blades { "controller or blade" } else { "controller" }, |row| {
            (row.1 + 1).to_string()
        })
        .number("busy", move |row| at(row, Figure::share(row.2.utilization), "utilization"))
        .number("cores busy", move |row| {
            Some(at(row, Figure::new(row.2.cores.as_ref()?.busy, 2), "cores/busy"))
        })
        .number("with the network", move |row| {
            Some(at(row, Figure::new(row.2.cores.as_ref()?.network, 2), "cores/network"))
        })
        .number("MiB/s copied to the partner", move |row| {
            Some(at(row, Figure::new(row.2.copied_mib_per_s?, 1), "copied_mib_per_s"))
        });
    for domain in 0..most_domains {
        columns = columns.number(format!("serial domain {} busy", domain + 1), move |row| {
            let share = *row.2.cores.as_ref()?.serial_domains.get(domain)?;
            Some(at(row, Figure::share(share), &format!("cores/serial_domains/{domain}")))
        });
    }
    of_parts(rows, caption, &columns, |row| parts(row, |machine| &machine.controllers))
}

fn hosts(rows: &[SegmentRow<'_>]) -> Option<Block> {
    let columns = part_columns::<HostProcessor>()
        .words("host", |(_, _, host)| host.name.clone())
        .number("cores busy", |(row, position, host)| {
            Figure::new(host.cores, 2).at(row.path(&format!("machine/hosts/{position}/cores")))
        });
    of_parts(rows, "Hosts", &columns, |row| parts(row, |machine| &machine.hosts))
}

fn parts<'a, Part>(
    row: &SegmentRow<'a>,
    of: fn(&MachineFigures) -> &[Part],
) -> Vec<PartRow<'a, Part>> {
    let parts = machine(row).map_or(&[][..], of).iter().enumerate();
    parts.map(|(position, part)| (*row, position, part)).collect()
}

/// Returns a table with the parts of each segment or, if these are too many, of the first and the last one of each
/// array and of those in which something happened; none without a part.
fn of_parts<'a, Part>(
    rows: &[SegmentRow<'a>],
    caption: &str,
    columns: &Columns<'a, Part>,
    parts: impl Fn(&SegmentRow<'a>) -> Vec<Part>,
) -> Option<Block> {
    let all: Vec<Part> = rows.iter().flat_map(&parts).collect();
    if all.len() <= MOST_ROWS {
        return columns.block(caption, &all);
    }
    let is_notable = |row: &&SegmentRow<'_>| {
        let last = row.array.segments.len().saturating_sub(1);
        let is_end = row.number.is_none_or(|number| number == 0 || number == last);
        is_end || machine(row).is_some_and(|machine| !machine.events.is_empty())
    };
    let notable: Vec<Part> = rows.iter().filter(is_notable).flat_map(parts).collect();
    let which = "First and last segment, and those with outages; results.json has all";
    columns.block(format!("{caption}. {which}"), &notable)
}
