//! Hosts on unlike wires, links with a rate of their own, workloads with an end, and costs of one direction, in whole
//! runs.

use crate::common::Folder;
use strewn::results::{ArrayResults, Results};

/// A filer that reads from its cache over gigabit Ethernet, and one over Fibre Channel, each with a host of its own.
const TWO_WIRES: &str = r#"
schema = 1
name = "wires"
title = "Two wires"
seed = 1
segments = 20
segment = "1 s"

[[link]]
name = "gigabit"
kind = "ethernet-1g"

[[link]]
name = "to the filer"
kind = "ethernet-1g"

[[link]]
name = "fibre channel"
kind = "fc-4g"

[[link]]
name = "adapter"
kind = "fc-4g"
per_second = "150 MB"

[[host]]
name = "on Ethernet"
path = ["gigabit"]

[[host]]
name = "on Fibre Channel"
path = ["fibre channel"]

[[workload]]
name = "reads by iSCSI"
host = "on Ethernet"
arrays = ["iSCSI"]
lun = "cached"
file = "4 MiB"
total = "500 MiB"
outstanding = 8
[[workload.access]]
bytes = "64 KiB"
percent = 100
read_percent = 100
random_percent = 0

[[workload]]
name = "reads by FCP"
host = "on Fibre Channel"
arrays = ["FCP"]
lun = "cached"
file = "4 MiB"
outstanding = 8
[[workload.access]]
bytes = "64 KiB"
percent = 100
read_percent = 100
random_percent = 0

[[array]]
name = "iSCSI"
controller = "fas2050"
[array.processor]
host_operation = "1 us"
[[array.lun]]
name = "cached"
size = "1 GiB"
[array.front_end]
protocol = "iscsi"
path = ["to the filer"]

[[array]]
name = "FCP"
controller = "fas2050"
[array.processor]
host_operation = "1 us"
[[array.lun]]
name = "cached"
size = "1 GiB"
[array.front_end]
protocol = "fcp"
path = ["adapter"]
"#;

/// The line of the filer's way on Ethernet.
const PATH: &str = "path = [\"to the filer\"]";

fn run(text: &str) -> Results {
    let folder = Folder::new();
    folder.write("wires.toml", text);
    Results::from_json(&folder.strewn(&["run", "wires.toml", "--json"]).succeeded()).unwrap()
}

fn mib(array: &ArrayResults) -> f64 {
    array.segments.iter().map(|one| one.mib_per_s * one.seconds).sum()
}

fn seconds(array: &ArrayResults) -> f64 {
    array.segments.iter().map(|one| one.seconds).sum()
}

#[test]
fn each_host_is_on_its_own_wire_and_a_link_passes_no_more_than_its_rate() {
    let results = run(TWO_WIRES);
    let [iscsi, fcp] = results.arrays.as_slice() else { panic!("{}", results.arrays.len()) };
    let names = |array: &ArrayResults| -> (Vec<String>, Vec<String>) {
        let machine = array.segments[0].machine.as_ref().unwrap();
        let links = machine.links.iter().map(|link| link.name.clone());
        (links.collect(), machine.hosts.iter().map(|host| host.name.clone()).collect())
    };
    let ethernet = vec!["gigabit".to_owned(), "to the filer".to_owned()];
    assert_eq!(names(iscsi), (ethernet, vec!["on Ethernet".to_owned()]));
    let both = vec!["fibre channel".to_owned(), "adapter".to_owned()];
    assert_eq!(names(fcp), (both, vec!["on Fibre Channel".to_owned()]));
    // 150 MB/s on the wire, of which 2,048 of each 2,108 bytes are data.
    let mb_per_s = mib(fcp) * 1.048_576 / seconds(fcp);
    assert!((mb_per_s - 150.0 * 2048.0 / 2108.0).abs() < 1.5, "{mb_per_s} MB/s");
}

#[test]
fn a_workload_ends_after_its_total_and_the_run_with_it() {
    let results = run(TWO_WIRES);
    let iscsi = &results.arrays[0];
    assert!((mib(iscsi) - 500.0).abs() < 0.1, "{} MiB", mib(iscsi));
    // 118.7 MB/s less iSCSI's headers: some four and a half seconds.
    assert!((4.3..4.7).contains(&seconds(iscsi)), "{} s", seconds(iscsi));
    assert!(!results.partial && results.arrays[1].segments.len() == 20);
}

#[test]
fn a_cost_of_writes_is_no_cost_of_reads() {
    let with = |cost: &str| {
        let costly = TWO_WIRES.replace(PATH, &format!("{PATH}\n{cost} = \"20 us\""));
        seconds(&run(&costly).arrays[0])
    };
    let free = seconds(&run(TWO_WIRES).arrays[0]);
    assert_eq!(with("controller_write_per_kib"), free);
    assert_eq!(with("host_write_per_kib"), free);
    // 500 MiB at 20 us a KiB; the controller spends 0.5 us a KiB besides.
    let (of_controller, of_host) = (with("controller_read_per_kib"), with("host_read_per_kib"));
    assert!((of_controller - 10.5).abs() < 0.1, "{of_controller} s");
    assert!((of_host - 10.25).abs() < 0.1, "{of_host} s");
    assert_eq!(with("controller_per_kib"), with("controller_read_per_kib"));
}

#[test]
fn a_wire_that_does_not_carry_its_protocol_is_refused() {
    let folder = Folder::new();
    for (from, to, says) in [
        (
            "protocol = \"iscsi\"",
            "protocol = \"fcp\"",
            [
                "array[iSCSI].front_end.path",
                "a link of kind ethernet-1g from host `on Ethernet` does not carry",
            ],
        ),
        (
            "protocol = \"fcp\"",
            "protocol = \"nfs\"",
            [
                "array[FCP].front_end.path",
                "a link of kind fc-4g from host `on Fibre Channel` does not carry",
            ],
        ),
        (
            "path = [\"gigabit\"]",
            "path = [\"gigabyte\"]",
            ["host[on Ethernet].path", "there is no link `gigabyte`"],
        ),
        (
            PATH,
            "path = [\"to the filer\"]\ntcp = { window = \"0 B\" }",
            ["array[iSCSI].front_end.tcp.window", "1 KiB"],
        ),
        ("total = \"500 MiB\"", "total = \"0 MiB\"", ["workload[reads by iSCSI].total", "is zero"]),
    ] {
        assert!(TWO_WIRES.contains(from));
        folder.write("wires.toml", &TWO_WIRES.replacen(from, to, 1));
        folder.strewn(&["run", "wires.toml"]).refused(&says);
    }
}

const ROW: &str = r#"
title = "Wires"
author = "Nobody"
year = 2026
[[row]]
name = "reads"
array = "iSCSI"
workload = "reads by FCP"
metric = "iops"
"#;

/// Such a row showed the figures of all of the array's workloads, or nothing.
#[test]
fn regression_a_row_of_a_workload_that_is_elsewhere_is_refused() {
    let folder = Folder::new();
    folder.write("wires.published.toml", ROW);
    let text = TWO_WIRES.replace("seed = 1", "seed = 1\npublished = \"wires.published.toml\"");
    folder.write("wires.toml", &text);
    folder.strewn(&["run", "wires.toml"]).refused(&[
        "figures of workload `reads by FCP` on array `iSCSI`, where it does not run",
        "these do: reads by iSCSI",
    ]);
}
