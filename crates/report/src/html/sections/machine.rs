//! What lay between hosts and arrays.

use crate::html::block::Block;
use crate::html::table::{Cell, Table};
use crate::machine_table::time_of_requests_notes;
use strewn_results::{ControllerFigures, CoresFigures, MachineFigures, Results, Segment, TimeIn};

/// More rows than this of links, controllers or hosts are hard to read. Then only the segments at both ends, and those
/// in which something happened, are shown.
const MOST_ROWS: usize = 60;

/// The fields of [`TimeIn`] in `results.json`, in the order of [`TimeIn::parts`].
const TIME_IN_FIELDS: [&str; 6] = ["host", "wire", "front_end", "controller", "spindles", "outage"];

/// A segment of an array behind a machine, with its place in `results.json`.
struct Place<'a> {
    array: &'a str,
    segment: &'a Segment,
    machine: &'a MachineFigures,
    path: String,
    /// Whether it is the first or the last of its array, or something happened in it.
    is_notable: bool,
}

impl Place<'_> {
    /// Returns the cells that begin each of its rows.
    fn cells(&self) -> Vec<Cell> {
        vec![Cell::words(self.array), Cell::number(self.segment.index.to_string())]
    }

    fn path(&self, field: &str) -> String {
        format!("{}/machine/{field}", self.path)
    }
}

/// Returns where the time of operations went in each segment, and how busy everything in front of the arrays was. Empty
/// if nothing lay between hosts and arrays.
pub(super) fn machine(results: &Results) -> Vec<Block> {
    let places = places(results);
    if places.is_empty() {
        return Vec::new();
    }
    let mut blocks = vec![time_in(&places)];
    blocks.extend(time_of_requests_notes(results).into_iter().map(Block::note));
    blocks.extend(events(&places));
    blocks.extend(links(&places));
    blocks.extend(controllers(&places));
    blocks.extend(hosts(&places));
    blocks
}

fn places(results: &Results) -> Vec<Place<'_>> {
    let mut places = Vec::new();
    for (position, array) in results.arrays.iter().enumerate() {
        for (number, segment) in array.segments.iter().enumerate() {
            let Some(machine) = &segment.machine else { continue };
            let is_end = number == 0 || number + 1 == array.segments.len();
            places.push(Place {
                array: &array.name,
                segment,
                machine,
                path: format!("arrays/{position}/segments/{number}"),
                is_notable: is_end || !machine.events.is_empty(),
            });
        }
    }
    places
}

fn time_in(places: &[Place<'_>]) -> Block {
    let row = |place: &Place<'_>| {
        let machine = place.machine;
        let mut row = place.cells();
        let parts = machine.time_in_ms.parts().into_iter().zip(TIME_IN_FIELDS);
        row.extend(parts.map(|((_, part_ms), field)| {
            Cell::figure(part_ms, 2, place.path(&format!("time_in_ms/{field}")))
        }));
        let longest = place.segment.response_ms.max;
        row.push(Cell::figure(longest, 0, format!("{}/response_ms/max", place.path)));
        row.push(match machine.busiest_link() {
            Some(link) => {
                let path = place.path(&format!("links/{}/{}", link.position, link.field));
                Cell::figure(link.utilization, 3, path)
            }
            None => Cell::number(""),
        });
        row.push(Cell::optional(machine.router_utilization, 3, place.path("router_utilization")));
        // Without a front end, hosts have nothing to do.
        let host_cores = Some(machine.host_cores).filter(|cores| *cores > 0.0);
        row.push(Cell::optional(host_cores, 2, place.path("host_cores")));
        let lost = Some(machine.lost as f64).filter(|lost| *lost > 0.0);
        row.push(Cell::optional(lost, 0, place.path("lost")));
        row.push(Cell::words(machine.out_of_service.join("; ")));
        row
    };
    let names = TimeIn::default().parts().map(|(name, _)| format!("{name} ms"));
    let mut headers = vec!["array", "segment"];
    headers.extend(names.iter().map(String::as_str));
    headers.extend([
        "longest response ms",
        "busiest link busy",
        "router busy",
        "host cores busy",
        "requests and answers lost",
        "out of service",
    ]);
    let caption = match places.iter().any(|place| place.segment.time_is_of_requests()) {
        true => {
            "Parts of an operation\u{2019}s time, milliseconds; shares of the time busy, 0 to 1"
        }
        false => "Parts of the mean response time, milliseconds; shares of the time busy, 0 to 1",
    };
    Table { caption, headers: &headers, rows: places.iter().map(row).collect(), has_total: false }
        .block()
}

/// Returns what went out of service and came back; none if nothing did.
fn events(places: &[Place<'_>]) -> Option<Block> {
    let rows = rows_of(places, "Outages of links and controllers", |place| {
        let events = place.machine.events.iter().enumerate();
        let row = events.map(|(number, event)| {
            let path = place.path(&format!("events/{number}/at_seconds"));
            vec![Cell::figure(event.at_seconds, 1, path), Cell::words(&event.what)]
        });
        row.collect()
    });
    rows.block(&["seconds from the start of the run", "event"])
}

fn links(places: &[Place<'_>]) -> Option<Block> {
    let rows = rows_of(places, "Links: share of the time busy, 0 to 1, and MiB/s", |place| {
        let links = place.machine.links.iter().enumerate();
        let row = links.map(|(number, link)| {
            let path = |field: &str| place.path(&format!("links/{number}/{field}"));
            vec![
                Cell::words(&link.name),
                Cell::figure(link.utilization_to_array, 3, path("utilization_to_array")),
                Cell::figure(link.utilization_to_host, 3, path("utilization_to_host")),
                Cell::figure(link.mib_per_s_to_array, 1, path("mib_per_s_to_array")),
                Cell::figure(link.mib_per_s_to_host, 1, path("mib_per_s_to_host")),
            ]
        });
        row.collect()
    });
    rows.block(&[
        "link",
        "busy to the array",
        "busy to the host",
        "MiB/s to the array",
        "MiB/s to the host",
    ])
}

/// Returns how busy each controller was; none if each array has one with one core, whose utilization is in another
/// table.
fn controllers(places: &[Place<'_>]) -> Option<Block> {
    let of_place = |place: &Place<'_>| place.machine.controllers.len();
    let any_cores =
        |place: &Place<'_>| place.machine.controllers.iter().any(|one| one.cores.is_some());
    if places.iter().all(|place| of_place(place) <= 1 && !any_cores(place)) {
        return None;
    }
    let all = places.iter().flat_map(|place| &place.machine.controllers);
    let domains =
        |one: &ControllerFigures| one.cores.as_ref().map_or(0, |cores| cores.serial_domains.len());
    let most_domains = all.map(domains).max().unwrap_or_default();
    let caption = match places.iter().any(any_cores) {
        true => {
            "Controllers: share of the time busy, 0 to 1; of several cores, that of the busiest serial domain or their \
             mean, whichever is more"
        }
        false => "Controllers: share of the time busy, 0 to 1",
    };
    let rows = rows_of(places, caption, |place| {
        let controllers = place.machine.controllers.iter().enumerate();
        let row = controllers.map(|(number, one)| {
            let path = |field: &str| place.path(&format!("controllers/{number}/{field}"));
            let of_cores = |figure: fn(&CoresFigures) -> f64, field: &str| {
                Cell::optional(one.cores.as_ref().map(figure), 2, path(&format!("cores/{field}")))
            };
            let mut row = vec![
                Cell::number((number + 1).to_string()),
                Cell::figure(one.utilization, 3, path("utilization")),
                of_cores(|cores| cores.busy, "busy"),
                of_cores(|cores| cores.network, "network"),
                Cell::optional(one.copied_mib_per_s, 1, path("copied_mib_per_s")),
            ];
            row.extend((0..most_domains).map(|domain| {
                let domains = one.cores.as_ref().map(|cores| &cores.serial_domains);
                let share = domains.and_then(|domains| domains.get(domain)).copied();
                Cell::optional(share, 3, path(&format!("cores/serial_domains/{domain}")))
            }));
            row
        });
        row.collect()
    });
    let numbered: Vec<String> =
        (1..=most_domains).map(|domain| format!("serial domain {domain} busy")).collect();
    let are_blades = places.iter().any(|place| place.segment.client_raid.is_some());
    let mut headers = vec![
        if are_blades { "controller or blade" } else { "controller" },
        "busy",
        "cores busy",
        "with the network",
        "MiB/s copied to the partner",
    ];
    headers.extend(numbered.iter().map(String::as_str));
    rows.block(&headers)
}

fn hosts(places: &[Place<'_>]) -> Option<Block> {
    let rows = rows_of(places, "Hosts", |place| {
        let hosts = place.machine.hosts.iter().enumerate();
        let row = hosts.map(|(number, host)| {
            let path = place.path(&format!("hosts/{number}/cores"));
            vec![Cell::words(&host.name), Cell::figure(host.cores, 2, path)]
        });
        row.collect()
    });
    rows.block(&["host", "cores busy"])
}

/// The rows of a table that has several for a segment.
struct Rows {
    caption: String,
    rows: Vec<Vec<Cell>>,
}

/// Returns the rows that `of_segment` gives, each after its array and segment, of all segments or, if these are too
/// many, of those that are notable.
fn rows_of(
    places: &[Place<'_>],
    caption: &str,
    of_segment: impl Fn(&Place<'_>) -> Vec<Vec<Cell>>,
) -> Rows {
    let mut of_places: Vec<_> = places.iter().map(|place| (place, of_segment(place))).collect();
    let mut caption = caption.to_owned();
    if of_places.iter().map(|(_, rows)| rows.len()).sum::<usize>() > MOST_ROWS {
        of_places.retain(|(place, _)| place.is_notable);
        caption.push_str(". First and last segment, and those with outages; results.json has all");
    }
    let rows = of_places.into_iter().flat_map(|(place, rows)| {
        rows.into_iter().map(move |row| place.cells().into_iter().chain(row).collect())
    });
    Rows { caption, rows: rows.collect() }
}

impl Rows {
    /// Returns the table; none without a row.
    fn block(self, headers: &[&str]) -> Option<Block> {
        let headers: Vec<&str> =
            ["array", "segment"].into_iter().chain(headers.iter().copied()).collect();
        let Self { caption, rows } = self;
        (!rows.is_empty())
            .then(|| Table { caption: &caption, headers: &headers, rows, has_total: false }.block())
    }
}
