//! Clients that compute parity over blades, from a scenario to results.

use strewn::results::{Results, Segment};

use crate::common::Folder;

/// One client writes whole stripes, another reads, over a link that is a tenth as fast; ten blades of two drives.
const SCENARIO: &str = r#"
schema = 1
name = "blades"
title = "Two clients of ten blades"
seed = 3
segments = 2
segment = "4 s"

[[host]]
name = "writer"
path = ["fast"]
cores = 8
[[host]]
name = "reader"
path = ["slow"]

[[link]]
name = "fast"
kind = "ethernet-1g"
[[link]]
name = "slow"
kind = "ethernet-100m"
[[link]]
name = "of blade"
kind = "ethernet-1g"

[[workload]]
name = "writes"
lun = "written"
host = "writer"
outstanding = 4
file = "1 GiB"
[[workload.access]]
bytes = "512 KiB"
percent = 100
read_percent = 0
random_percent = 0

[[workload]]
name = "reads"
lun = "read"
host = "reader"
outstanding = 4
file = "1 GiB"
[[workload.access]]
bytes = "64 KiB"
percent = 100
read_percent = 100
random_percent = 100

[[array]]
name = "shelf"
controller = "eva4400"
[[array.lun]]
name = "written"
size = "1 GiB"
[[array.lun]]
name = "read"
size = "1 GiB"

[array.in_place]
layout = "raid-0"
spindles = 2

[array.front_end]
protocol = "iscsi"

[array.client_raid]
blades = 10
parity_per_kib = "200 ns"
blade_link = "of blade"
"#;

fn results(folder: &Folder, text: &str) -> Results {
    folder.write("blades.toml", text);
    folder.strewn(&["run", "blades.toml", "--out", "out", "--force"]).succeeded();
    Results::from_json(&folder.read("out/results.json")).unwrap()
}

/// The last segment, and MiB/s of both workloads.
fn last(results: &Results) -> (&Segment, [f64; 2]) {
    let segment = results.arrays[0].segments.last().unwrap();
    (segment, [0, 1].map(|workload| segment.by_workload[workload].mib_per_s))
}

#[test]
fn parity_is_on_the_wire_of_its_client() {
    let folder = Folder::new();
    let results = results(&folder, SCENARIO);
    assert_eq!(results.arrays[0].spindles.data, 20);
    let (segment, [written, read]) = last(&results);
    let raid = segment.client_raid.unwrap();
    assert_eq!(raid.full_stripe_percent, Some(100.0));
    assert_eq!((raid.update_reads_per_op, raid.update_read_mib_per_s), (0.0, 0.0));
    let near = |one: f64, other: f64| (one / other - 1.0).abs() < 0.01;
    assert!(near(raid.parity_mib_per_s * 9.0, raid.written_mib_per_s), "{raid:?}");
    assert!(near(raid.written_mib_per_s, written * 9.0 / 8.0), "{raid:?} {written}");
    assert!(near(raid.read_mib_per_s, read), "{raid:?} {read}");
    // A core's time: 1,024 KiB/MiB, each with a ninth of it that parity is.
    assert!(near(raid.parity_cores, written * 1_024.0 * 200e-9), "{raid:?}");

    let machine = segment.machine.as_ref().unwrap();
    let names: Vec<&str> = machine.links.iter().map(|link| &*link.name).collect();
    assert_eq!(names.len(), 12);
    assert_eq!(names[..3], ["fast", "slow", "of blade, blade 1"]);
    // The wire has 6.9 % more: headers of iSCSI, TCP, IP and Ethernet.
    let links = &machine.links;
    assert!(
        near(links[0].mib_per_s_to_array, raid.written_mib_per_s * 1.069),
        "{links:?} {raid:?}"
    );
    assert!(links[0].utilization_to_array > 0.95, "{links:?}");
    assert!(links[1].utilization_to_host > 0.95, "{links:?}");
    assert_eq!(machine.controllers.len(), 10);

    // What the results say is in the file as it was, and in tables.
    let json = results.to_json_string().unwrap();
    assert_eq!(Results::from_json(&json).unwrap(), results);
    let table = strewn::report::all_tables(&results);
    assert!(table.contains("RAID of the clients over blades"), "{table}");
}

#[test]
fn a_page_cache_makes_full_stripes_of_small_writes() {
    let folder = Folder::new();
    let small = SCENARIO.replace("bytes = \"512 KiB\"", "bytes = \"48 KiB\"");
    let without = results(&folder, &small);
    let raid = last(&without).0.client_raid.unwrap();
    assert_eq!(raid.full_stripe_percent, Some(0.0));
    assert!(raid.update_read_mib_per_s > 1.0 && raid.stripe_wait_ms > 0.0, "{raid:?}");
    let cached = format!("{small}[array.page_cache]\nsize = \"128 MiB\"\n");
    let with = results(&folder, &cached);
    let raid = last(&with).0.client_raid.unwrap();
    assert!(raid.full_stripe_percent > Some(95.0), "{raid:?}");
    assert!(last(&with).1[0] > 2.0 * last(&without).1[0]);
}

#[test]
fn a_lost_blade_is_computed() {
    let folder = Folder::new();
    let lost = results(&folder, &format!("{SCENARIO}lost_blade = 2\nlost_at = \"4 s\"\n"));
    let [first, second] = &lost.arrays[0].segments[..] else { panic!() };
    let [first, second] = [first, second].map(|segment| segment.client_raid.unwrap());
    assert_eq!(first.reconstructed_mib_per_s, 0.0);
    assert!(second.reconstructed_mib_per_s > 0.0, "{second:?}");
    assert!(second.read_mib_per_s > last(&lost).1[1] * 1.3, "{second:?}");
    let links = &lost.arrays[0].segments[1].machine.as_ref().unwrap().links;
    let of_blade = |blade: usize| links[1 + blade].mib_per_s_to_array;
    assert!(of_blade(2) < of_blade(1) / 100.0, "{links:?}");
}

#[test]
fn settings_of_blades_are_explained_and_changed() {
    let folder = Folder::new();
    folder.write("blades.toml", SCENARIO);
    let explained = folder.strewn(&["run", "blades.toml", "--explain"]).succeeded();
    for setting in ["client_raid.width", "client_raid.stripe_unit", "client_raid.blade_link"] {
        assert!(explained.contains(setting), "{setting}: {explained}");
    }
    let words = ["run", "blades.toml", "--segments", "1", "--set", "client_raid.width=5"];
    folder.strewn(&[&words[..], &["--out", "out"]].concat()).succeeded();
    let narrow = Results::from_json(&folder.read("out/results.json")).unwrap();
    let (segment, [written, _]) = last(&narrow);
    let raid = segment.client_raid.unwrap();
    assert!((raid.written_mib_per_s / written / (5.0 / 4.0) - 1.0).abs() < 0.01, "{raid:?}");
    folder
        .strewn(&["run", "blades.toml", "--set", "client_raid.width=11"])
        .refused(&["a parity group of 11 objects needs as many blades, and there are 10"]);
}
