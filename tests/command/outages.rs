//! Links and controllers that go out of service, from a scenario to results and the report.

use strewn::results::{Results, Segment};

use crate::common::Folder;

/// One array behind a link that fails in the second segment, and one whose first controller fails in the first segment
/// and has its array back in the third.
const SCENARIO: &str = r#"
schema = 1
name = "outages"
title = "What goes out of service"
seed = 3
segments = 4
segment = "10 s"

[workload]
access_specification = "file-server"
file = "1 GiB"

[[link]]
name = "gigabit"
kind = "ethernet-1g"
lanes = 2
lane_rule = "round-robin"
down = "12 s"
up = "25 s"

[[array]]
name = "behind"
controller = "fas2050"
outstanding = 8
lun = "10 GB"
[array.front_end]
protocol = "iscsi"
path = ["gigabit"]

[[array]]
name = "pair"
controller = "fas2050"
outstanding = 8
lun = "10 GB"
[array.pair]
takeover = "5 s"
detection = "2 s"
giveback = "20 s"
giveback_pause = "1 s"
"#;

/// What happened in a segment, and what was out of service.
fn happened(segment: &Segment) -> (Vec<(f64, &str)>, &[String]) {
    let machine = segment.machine.as_ref().unwrap();
    let events = machine.events.iter().map(|event| (event.at_seconds, &*event.what));
    (events.collect(), &machine.out_of_service)
}

#[test]
fn outages_are_in_the_segments_in_which_they_happen() {
    let folder = Folder::new();
    folder.write("outages.toml", SCENARIO);
    folder.strewn(&["run", "outages.toml", "--out", "out"]).succeeded();
    let results = Results::from_json(&folder.read("out/results.json")).unwrap();
    let [behind, pair] = &results.arrays[..] else { panic!() };

    let link = ["link gigabit, lane 1".to_owned()];
    let segments: Vec<_> = behind.segments.iter().map(happened).collect();
    assert_eq!(segments[0], (vec![], &[][..]));
    assert_eq!(segments[1], (vec![(12.0, "link gigabit, lane 1 goes down")], &link[..]));
    assert_eq!(segments[2], (vec![(25.0, "link gigabit, lane 1 is up again")], &link[..]));
    assert_eq!(segments[3], (vec![], &[][..]));

    let controller = ["controller 1".to_owned()];
    let segments: Vec<_> = pair.segments.iter().map(happened).collect();
    let taken_over =
        vec![(5.0, "controller 1 fails"), (7.0, "controller 2 takes over, and replays the log")];
    assert_eq!(segments[0], (taken_over, &controller[..]));
    assert_eq!(segments[1], (vec![], &controller[..]));
    let given_back = vec![
        (20.0, "the array of controller 1 stops, to be given back"),
        (21.0, "controller 1 has its array back"),
    ];
    assert_eq!(segments[2], (given_back, &controller[..]));
    assert_eq!(segments[3], (vec![], &[][..]));
    // The one that survives, and not the mean of both.
    let second = &pair.segments[1];
    let busy = second.machine.as_ref().unwrap().controllers[1].utilization;
    assert_eq!(second.utilization.controller, busy);

    let page = folder.read("out/report.html");
    assert!(page.contains("link gigabit, lane 1 goes down"));
    let header = folder.read("out/segments.csv");
    assert!(header.lines().next().unwrap().ends_with("router_utilization_0_to_1"), "{header}");
}
