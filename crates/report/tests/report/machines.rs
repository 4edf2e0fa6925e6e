//! What lay between hosts and arrays, in tables, charts, the page and the file for spreadsheets.

use crate::fixture;
use strewn_report::{
    ChartStyle, Report, ResultsChart, all_tables, machine_table, segments_table, write_segments_csv,
};
use strewn_results::{
    ClientRaidFigures, CoresFigures, HostProcessor, MachineEvent, PageCacheFigures, Results,
    Setting,
};

/// Returns results of one array of two segments behind a machine with everything; a link fails in the second.
pub fn results() -> Results {
    let mut results = fixture::results();
    results.arrays.truncate(1);
    results.published.clear();
    results.ratios.clear();
    results.overhead.clear();
    let array = &mut results.arrays[0];
    array.segments.truncate(2);
    for segment in &mut array.segments {
        let mut machine = fixture::machine();
        machine.links[0].mib_per_s_to_host = 41.375;
        machine.router_utilization = Some(0.2125);
        machine.host_cores = 0.375;
        machine.hosts = vec![HostProcessor { name: "client-1".to_owned(), cores: 0.375 }];
        machine.controllers[1].copied_mib_per_s = Some(6.625);
        machine.controllers[1].cores =
            Some(CoresFigures { busy: 1.25, network: 0.625, serial_domains: vec![0.5625] });
        segment.machine = Some(Box::new(machine));
        segment.response_ms.max = 3004.25;
    }
    array.segments[0].machine.as_mut().unwrap().time_in_ms.outage = 0.0;
    let machine = array.segments[1].machine.as_mut().unwrap();
    machine.lost = 30;
    machine.out_of_service = vec!["link gigabit".to_owned()];
    machine.events =
        vec![MachineEvent { at_seconds: 1800.5, what: "link gigabit goes down".to_owned() }];
    results
}

/// Gives the hosts of results page caches and, if they are clients of blades, parity to compute.
fn with_requests_of_their_own(mut results: Results, are_clients: bool) -> Results {
    for segment in &mut results.arrays[0].segments {
        segment.page_cache = Some(PageCacheFigures {
            hit_percent: Some(12.5),
            dirty_mib: 51.25,
            ..PageCacheFigures::default()
        });
        segment.client_raid = are_clients
            .then(|| ClientRaidFigures { writes_per_op: 1.375, ..ClientRaidFigures::default() });
    }
    results
}

fn page(results: &Results) -> String {
    Report { results, map: None, scenario: None }.to_html().unwrap()
}

#[test]
fn outages_and_the_longest_response_are_beside_the_time() {
    let table = machine_table(&results());
    let lines: Vec<Vec<&str>> =
        table.lines().map(|line| line.split_whitespace().collect()).collect();
    let starts = |cells: &[&str]| lines.iter().find(|line| line.starts_with(cells)).unwrap();
    assert_eq!(starts(&["FAS2050", "2", "0.10"])[8], "3004", "{table}");
    assert_eq!(starts(&["FAS2050", "2", "0.10"]).last(), Some(&"30"), "{table}");
    assert_eq!(starts(&["FAS2050", "2", "1800.5"])[3..].join(" "), "link gigabit goes down");
    let mut quiet = results();
    let machine = quiet.arrays[0].segments[1].machine.as_mut().unwrap();
    (machine.lost, machine.events) = (0, vec![]);
    let table = machine_table(&quiet);
    assert!(!table.contains("event") && !table.contains("lost"), "{table}");
}

#[test]
fn the_page_has_every_figure_of_the_console_and_says_where_it_is() {
    let html = page(&with_requests_of_their_own(results(), true));
    let of_segment = "data-path=\"arrays/0/segments/1/";
    for (path, value) in [
        ("response_ms/max", "3004.25"),
        ("machine/links/0/utilization_to_host", "0.36"),
        ("machine/links/0/mib_per_s_to_host", "41.375"),
        ("machine/router_utilization", "0.2125"),
        ("machine/host_cores", "0.375"),
        ("machine/hosts/0/cores", "0.375"),
        ("machine/lost", "30"),
        ("machine/events/0/at_seconds", "1800.5"),
        ("machine/controllers/0/utilization", "0.62"),
        ("machine/controllers/1/copied_mib_per_s", "6.625"),
        ("machine/controllers/1/cores/busy", "1.25"),
        ("machine/controllers/1/cores/network", "0.625"),
        ("machine/controllers/1/cores/serial_domains/0", "0.5625"),
        ("page_cache/hit_percent", "12.5"),
        ("page_cache/dirty_mib", "51.25"),
        ("client_raid/writes_per_op", "1.375"),
    ] {
        let cell = html.split(&format!("{of_segment}{path}\"")).nth(1);
        let cell = cell.and_then(|rest| rest.split('>').next());
        let cell = cell.unwrap_or_else(|| panic!("no {path}"));
        assert!(cell.contains(&format!("\"{value}\"")), "{path}: {cell}");
    }
    assert!(html.contains("link gigabit goes down"));
    assert!(html.contains("id=\"page-cache\"") && html.contains("id=\"client-raid\""));
    let without = page(&fixture::results());
    for id in ["time-in", "page-cache", "client-raid"] {
        assert!(!without.contains(&format!("id=\"{id}\"")), "{id}");
    }
}

/// Ten links over fourteen segments are too many rows to read.
#[test]
fn of_many_links_only_some_segments_are_on_the_page() {
    let mut results = fixture::results();
    for segment in &mut results.arrays[0].segments {
        let mut machine = fixture::machine();
        machine.links = vec![machine.links[0].clone(); 10];
        if segment.index == 5 {
            machine.events = vec![MachineEvent::default()];
        }
        segment.machine = Some(Box::new(machine));
    }
    let html = page(&results);
    let link = |segment: u32| {
        html.contains(&format!("segments/{segment}/machine/links/9/utilization_to_array"))
    };
    let shown: Vec<u32> = (0..14).filter(|segment| link(*segment)).collect();
    assert_eq!(shown, [0, 4, 13]);
    assert!(html.contains("First and last segment, and those with outages"));
}

#[test]
fn time_of_requests_is_not_called_response_time() {
    let draw = |results: &Results| {
        let style = ChartStyle::default();
        ResultsChart::TimeIn.draw(results, None, style).unwrap().unwrap()
    };
    let plain = results();
    // The parts of the second segment add up to 31.54, which its invented response time does not equal.
    let mean = format!("{:.1}", plain.arrays[0].segments[1].response_ms.mean);
    assert_ne!(mean, "31.5");
    let svg = draw(&plain);
    assert!(svg.contains(&format!(">\n{mean}\n<")) && svg.contains("mean response time (ms)"));
    for are_clients in [false, true] {
        let own = with_requests_of_their_own(results(), are_clients);
        let svg = draw(&own);
        assert!(svg.contains(">\n31.5\n<"), "{svg}");
        assert!(svg.contains("time of requests per operation (ms)"));
        assert!(!svg.contains("mean response time"));
        let note = "They do not add up to the response time.";
        assert!(svg.contains(note) && page(&own).contains(note));
        let tables = all_tables(&own);
        let heading = "Where the time of an operation went (of FAS2050: of its requests";
        assert!(tables.contains(heading) && tables.contains(note), "{tables}");
    }
}

#[test]
fn the_scheduler_is_not_blamed_for_an_outage() {
    let mut results = results();
    let scheduler = Setting::Text("sptf".to_owned());
    results.settings.insert("array.FAS2050.scheduler".to_owned(), scheduler);
    let outage = "In segment 2 an outage may be what the longest waited for.";
    assert!(segments_table(&results, &results.arrays[0]).contains(outage));
    assert!(page(&results).contains(outage));
    let machine = results.arrays[0].segments[1].machine.as_mut().unwrap();
    (machine.lost, machine.events) = (0, vec![]);
    machine.time_in_ms.outage = 0.0;
    assert!(!segments_table(&results, &results.arrays[0]).contains("an outage"));
}

#[test]
fn a_spreadsheet_has_the_figures_of_machines_only_if_there_are_some() {
    let header_and_last = |results: &Results| {
        let mut bytes = Vec::new();
        write_segments_csv(results, &[], &mut bytes).unwrap();
        let mut reader = csv::Reader::from_reader(&bytes[..]);
        (reader.headers().unwrap().clone(), reader.records().last().unwrap().unwrap())
    };
    let (plain, _) = header_and_last(&fixture::results());
    let (names, row) = header_and_last(&with_requests_of_their_own(results(), true));
    for (name, value) in [
        ("time_in_host_ms", "0.1"),
        ("time_in_wire_ms", "0.23"),
        ("time_in_front_end_ms", "0.01"),
        ("time_in_controller_ms", "21.5"),
        ("time_in_spindles_ms", "9.2"),
        ("time_in_outage_ms", "0.5"),
        ("requests_lost", "30"),
        ("host_cores_busy", "0.375"),
        ("busiest_link_utilization_0_to_1", "0.36"),
        ("router_utilization_0_to_1", "0.2125"),
        ("page_cache_hit_percent", "12.5"),
        ("page_cache_dirty_mib", "51.25"),
        ("client_writes_per_op", "1.375"),
    ] {
        let column = names.iter().position(|found| found == name);
        assert_eq!(column.map(|column| &row[column]), Some(value), "{name}");
        assert!(!plain.iter().any(|found| found == name), "{name}");
    }
}
