//! Scenarios of several workloads on several LUNs.

use strewn::results::Results;

use crate::common::Folder;

/// Two LUNs in volumes of their own beside the same in place, and a workload that only one array has.
const SCENARIO: &str = r#"
schema = 1
name = "shared"
title = "Two LUNs"
seed = 3
segments = 2
segment = "20 s"

[[workload]]
name = "mail"
lun = "mail"
access_specification = "file-server"
file = "64 MiB"
outstanding = 8

[[workload]]
name = "log"
lun = "log"
arrays = ["filer"]
file = "16 MiB"
outstanding = 1
operations_per_second = 50
[[workload.access]]
bytes = "64 KiB"
percent = 100
read_percent = 0
random_percent = 0

[[array]]
name = "filer"
controller = "fas2050"
[array.write_anywhere]
buffer_cache = "16 MiB"
log_half = "4 MiB"
[[array.lun]]
name = "mail"
size = "1 GB"
volume = "mail"
[[array.lun]]
name = "log"
size = "1 GB"

[[array]]
name = "in place"
controller = "eva4400"
[[array.lun]]
name = "mail"
size = "1 GB"
"#;

/// Two hosts, of which the second one's link fails.
const HOSTS: &str = r#"
schema = 1
name = "hosts"
title = "Two hosts"
seed = 3
segments = 2
segment = "10 s"

[[host]]
name = "fast"
path = ["fast"]
cores = 2
[[host]]
name = "cut off"
path = ["cut off"]

[[link]]
name = "fast"
kind = "ethernet-1g"
[[link]]
name = "cut off"
kind = "ethernet-1g"
down = "10 s"
[[link]]
name = "array"
kind = "ethernet-1g"

[[workload]]
name = "first"
host = "fast"
lun = "data"
access_specification = "file-server"
file = "64 MiB"
outstanding = 4
[[workload]]
name = "second"
host = "cut off"
lun = "data"
access_specification = "file-server"
file = "64 MiB"
outstanding = 4

[[array]]
name = "EVA4400"
controller = "eva4400"
[[array.lun]]
name = "data"
size = "1 GB"
[array.front_end]
protocol = "iscsi"
path = ["array"]
host_pdu = "20 us"
"#;

#[test]
fn hosts_share_a_lun_and_the_links_to_it() {
    let folder = Folder::new();
    folder.write("hosts.toml", HOSTS);
    let arguments = ["run", "hosts.toml", "--out", "out", "--record-iolog", "run.log"];
    let out = folder.strewn(&arguments).succeeded();
    assert!(out.contains("each host"), "{out}");
    let results = Results::from_json(&folder.read("out/results.json")).unwrap();
    let segments = &results.arrays[0].segments;
    let machine = |segment: usize| segments[segment].machine.as_ref().unwrap();
    let names: Vec<_> = machine(0).links.iter().map(|link| &*link.name).collect();
    assert_eq!(names, ["fast", "cut off", "array"]);
    let hosts: Vec<_> = machine(0).hosts.iter().map(|host| (&*host.name, host.cores)).collect();
    assert_eq!((hosts[0].0, hosts[1].0), ("fast", "cut off"));
    // Two hosts with equal loads in the first segment; in the second one, only the first gets through.
    let ratio = hosts[0].1 / hosts[1].1;
    assert!((0.8..1.25).contains(&ratio), "{hosts:?}");
    assert!(machine(1).hosts[1].cores < hosts[1].1 / 10.0, "{:?}", machine(1).hosts);
    let answered = |segment: usize| &segments[segment].by_workload;
    assert!(answered(1)[0].iops > answered(0)[0].iops, "{:?}", answered(1));
    assert!(answered(1)[1].iops < answered(0)[1].iops / 10.0, "{:?}", answered(1));
    // Both work on the same LUN, whatever number each has for it.
    let log = folder.read("run.log");
    assert!(log.lines().filter(|line| line.contains(" add")).count() == 1, "{log:.400}");
}

fn run(arguments: &[&str]) -> String {
    let folder = Folder::new();
    folder.write("shared.toml", SCENARIO);
    folder.strewn(&[&["run", "shared.toml"], arguments].concat()).succeeded()
}

#[test]
fn each_workload_is_measured_by_itself_and_all_together() {
    let results = Results::from_json(&run(&["--json"])).unwrap();
    let [filer, in_place] = results.arrays.as_slice() else { panic!("two arrays") };
    assert_eq!((filer.outstanding, in_place.outstanding), (9, 8));
    for segment in &filer.segments {
        let [mail, log] = segment.by_workload.as_slice() else { panic!("two workloads") };
        assert_eq!((mail.name.as_str(), log.name.as_str()), ("mail", "log"));
        assert!((log.iops - 50.0).abs() < 0.2 && log.reads.ops == 0, "{log:?}");
        assert!((mail.iops + log.iops - segment.iops).abs() < 0.01, "{segment:?}");
        // The log is rewritten in order, so it stays together; the mail is strewn.
        let (mail, log) = (mail.layout.unwrap(), log.layout.unwrap());
        assert!(log.score > 0.9 && mail.score < log.score - 0.2, "{mail:?} {log:?}");
    }
    // An only workload is what the segment gives.
    assert!(in_place.segments.iter().all(|segment| segment.by_workload.is_empty()));
}

#[test]
fn tables_name_the_workloads_and_the_layout_of_their_luns() {
    let tables = run(&[]);
    let heading = tables.lines().position(|line| line == "filer: by workload").unwrap();
    let table: Vec<&str> = tables.lines().skip(heading).take(10).collect();
    assert!(table.iter().any(|line| line.contains("layout")), "{table:#?}");
    assert!(table.iter().any(|line| line.trim_start().starts_with("1   mail")), "{table:#?}");
}

#[test]
fn a_log_of_operations_tells_the_luns_apart() {
    let folder = Folder::new();
    folder.write("shared.toml", SCENARIO);
    folder.strewn(&["run", "shared.toml", "--record-iolog", "log"]).succeeded();
    let of_filer = folder.read("log.filer");
    for lun in [" lun-1-mail write ", " lun-2-log write "] {
        assert!(of_filer.contains(lun), "no {lun:?}");
    }
    assert!(!of_filer.contains("lun-2-log read"));
    assert!(folder.read("log.in place").contains(" lun write "));
}

#[test]
fn a_workload_that_stays_below_its_limit_is_named() {
    let folder = Folder::new();
    let text = SCENARIO.replace("operations_per_second = 50", "operations_per_second = 50000");
    folder.write("shared.toml", &text);
    let tables = folder.strewn(&["run", "shared.toml"]).succeeded();
    assert!(tables.contains("filer: log does ") && tables.contains("50,000"), "{tables}");
    assert!(!run(&[]).contains("filer: log does "));
}

#[test]
fn a_file_of_another_tool_replaces_an_only_workload() {
    let folder = Folder::new();
    folder.write("shared.toml", SCENARIO);
    folder.write("job.fio", "[a]\nrw=randread\nbs=4k\nsize=8m\n");
    let refused = folder.strewn(&["run", "shared.toml", "--fio-job", "job.fio"]);
    assert_ne!(refused.code, Some(0));
    for part in ["the scenario has 2 workloads", "a file replaces an only workload"] {
        assert!(refused.stderr.contains(part), "{}", refused.stderr);
    }
}
