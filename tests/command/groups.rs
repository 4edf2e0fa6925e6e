//! Aggregates of several parity groups, one of them added during the run; arrays in place of several disk groups.

use serde_json::Value;
use strewn::results::Results;

use crate::common::{Folder, Ran};

const SMALL: &str = include_str!("scenarios/small.toml");
const GROUP: &str =
    "[[array.write_anywhere.group]]\ndata_spindles = 3\nparity = \"raid-dp\"\nat = \"60 s\"\n\n";

/// What `strewn run` does with the small scenario and these tables after its write-anywhere array.
fn run_with(tables: &str, words: &[&str]) -> (Folder, Ran) {
    let text = SMALL.replace("published = \"small.published.toml\"\n", "");
    let (anywhere, in_place) = text.rsplit_once("[[array]]").unwrap();
    let folder = Folder::new();
    folder.write("groups.toml", &format!("{anywhere}{tables}[[array]]{in_place}"));
    let ran = folder.strewn(&[&["run", "groups.toml"], words].concat());
    (folder, ran)
}

#[test]
fn results_tables_charts_and_map_show_each_group() {
    let (folder, ran) = run_with(GROUP, &["--json", "--out", "out"]);
    let results = Results::from_json(&ran.succeeded()).unwrap();
    let [anywhere, in_place] = &results.arrays[..] else { panic!("two arrays") };
    let spindles = &anywhere.spindles;
    // One is a spare.
    assert_eq!((spindles.data, spindles.parity, spindles.purchased), (7, 3, 11));
    let [first, second] = anywhere.parity_groups[..] else { panic!("{anywhere:?}") };
    assert_eq!((first.first_spindle, first.data, first.parity), (0, 4, 1));
    assert_eq!((second.first_spindle, second.data, second.parity), (5, 3, 2));
    assert_eq!((first.added_at_seconds, second.added_at_seconds), (0.0, 60.0));
    let second = |segment| anywhere.segment(segment).unwrap().groups[1];
    assert_eq!((second(1).spindles, second(1).free_percent, second(1).writes), (None, None, 0));
    assert!(second(2).writes > 0 && second(2).spindles > Some(0.0), "{:?}", second(2));
    assert!(second(3).reads > second(2).reads, "more of the file lies there: {:?}", second(3));
    assert!(in_place.segments.iter().all(|segment| segment.groups.is_empty()));

    let map: Value = serde_json::from_str(&folder.read("out/map.json")).unwrap();
    let map = &map["arrays"][0];
    assert_eq!(map["parity_spindles"], serde_json::json!([4, 8, 9]));
    assert_eq!(map["first_parity_spindle"], Value::Null);
    let file_on = |snapshot: usize, spindle: usize| {
        map["snapshots"][snapshot]["spindles"][spindle]["file"].as_str().unwrap().to_owned()
    };
    let last = map["snapshots"].as_array().unwrap().len() - 1;
    assert_eq!(file_on(0, 5), "");
    assert_ne!(file_on(last, 5), "");

    let page = folder.read("out/report.html");
    assert!(page.contains("group 2 is spindles 5 to 9, added after 60 s"), "{}", page.len());
    assert!(folder.read("out/groups.svg").contains("anywhere: group 2"));
    let tables = run_with(GROUP, &[]).1.succeeded();
    assert!(tables.contains("Parity groups"), "{tables}");
    let quick = run_with(GROUP, &["--quick"]).1.succeeded();
    assert!(quick.contains("addition of parity group 2 of anywhere 1 min -> 7.5 s"), "{quick}");
}

#[test]
fn of_a_single_group_results_say_nothing() {
    let (folder, ran) = run_with("", &["--json", "--out", "out"]);
    let json = ran.succeeded();
    assert!(!json.contains("\"groups\"") && !json.contains("parity_groups"), "{json}");
    assert!(!folder.read("out/map.json").contains("parity_spindles"));
    assert!(!folder.path("out/groups.svg").exists());
}

#[test]
fn a_spindle_of_each_group_may_fail_and_two_of_raid_4_are_too_many() {
    let failing = |spindles: &[u16]| {
        let failures = spindles
            .iter()
            .map(|spindle| format!("[[array.failure]]\nat = \"60 s\"\nspindle = {spindle}\n\n"));
        format!("{GROUP}{}", failures.collect::<String>())
    };
    let (_, ran) = run_with(&failing(&[2, 5, 9]), &["--json"]);
    let results = Results::from_json(&ran.succeeded()).unwrap();
    assert_eq!(results.arrays[0].failures.len(), 3);
    assert_eq!(results.arrays[0].data_loss, None);
    let (_, ran) = run_with(&failing(&[5, 2, 4]), &["--json"]);
    assert_eq!(ran.code, Some(3), "{}", ran.stderr);
    let early = format!("{GROUP}[[array.failure]]\nat = \"59 s\"\nspindle = 5\n\n");
    let says = "spindle 5 is not there yet: parity group 2 is added at 1 min";
    run_with(&early, &[]).1.refused(&[says]);
}

const FILES_AND_LOG: &str = r#"
schema = 1
name = "disk-groups"
title = "Files and a log on disk groups of their own"
seed = 1
segments = 2
segment = "20 s"

[[workload]]
name = "files"
lun = "files"
access_specification = "file-server"
file = "1 GiB"
outstanding = 16

[[workload]]
name = "log"
lun = "log"
file = "256 MiB"
outstanding = 1
[[workload.access]]
bytes = "64 KiB"
percent = 100
read_percent = 50
random_percent = 0

[[array]]
name = "eva"
controller = "eva4400"

[[array.lun]]
name = "files"
size = "2 GiB"

[[array.lun]]
name = "log"
size = "1 GiB"
group = 2

[array.in_place]
spindles = 8
redundancy_sets = [8]

[[array.in_place.group]]
layout = "raid-5"
spindles = 4
"#;

fn run_disk_groups(tables: &str, words: &[&str]) -> (Folder, Ran) {
    let folder = Folder::new();
    folder.write("groups.toml", &format!("{FILES_AND_LOG}{tables}"));
    let ran = folder.strewn(&[&["run", "groups.toml"], words].concat());
    (folder, ran)
}

#[test]
fn results_tables_and_charts_show_each_disk_group() {
    let price = "[overhead]\nusd_per_spindle = 1000.0\n[[overhead.configuration]]\narray = \"eva\"\n\
                 name = \"single\"\nsource = \"a test\"\nprotection_level = \"single\"\n";
    let (folder, ran) = run_disk_groups(price, &["--json", "--out", "out"]);
    let results = Results::from_json(&ran.succeeded()).unwrap();
    let [array] = &results.arrays[..] else { panic!("one array") };
    assert_eq!((array.spindles.data, array.spindles.purchased), (12, 12));
    let [first, second] = array.parity_groups[..] else { panic!("{array:?}") };
    assert_eq!((first.first_spindle, first.data, first.parity), (0, 8, 0));
    assert_eq!((second.first_spindle, second.data, second.parity), (8, 4, 0));
    for segment in &array.segments {
        let [files, log] = segment.groups[..] else { panic!("{segment:?}") };
        assert!(files.reads > log.reads && log.reads > 0 && log.writes > 0, "{segment:?}");
        assert!(files.spindles > log.spindles && files.parity_spindles.is_none(), "{files:?}");
    }
    // 4/5 of six of eight drives, and three of four.
    let drive_gib = 136.7;
    let usable = results.overhead[0].usable_gib;
    assert!((usable / drive_gib - 0.8 * 6.0 - 3.0).abs() < 0.02, "{usable}");

    let map: Value = serde_json::from_str(&folder.read("out/map.json")).unwrap();
    let spindles = map["arrays"][0]["snapshots"][0]["spindles"].as_array().unwrap().len();
    assert_eq!(spindles, 12);
    let page = folder.read("out/report.html");
    assert!(page.contains("group 2 is spindles 8 to 11, from the start"), "{}", page.len());
    assert!(page.contains("Each disk group, by segment"));
    assert!(folder.read("out/groups.svg").contains("eva: group 2"));
    let tables = run_disk_groups("", &["--quick"]).1.succeeded();
    assert!(tables.contains("Disk groups"), "{tables}");
}

#[test]
fn a_spindle_of_each_disk_group_may_fail_and_two_of_the_second_are_too_many() {
    let failing = |spindles: &[u16]| {
        let failures = spindles
            .iter()
            .map(|spindle| format!("[[array.failure]]\nat = \"5 s\"\nspindle = {spindle}\n\n"));
        failures.collect::<String>()
    };
    let (_, ran) = run_disk_groups(&failing(&[9, 3]), &["--json"]);
    let results = Results::from_json(&ran.succeeded()).unwrap();
    let [second, first] = &results.arrays[0].failures[..] else { panic!("{results:?}") };
    assert_eq!((second.spindle, second.rebuild_began_at_seconds), (9, None), "RAID-5");
    assert_eq!((first.spindle, first.rebuild_began_at_seconds), (3, Some(5.0)));
    let (_, ran) = run_disk_groups(&failing(&[3, 9, 11]), &["--json"]);
    assert_eq!(ran.code, Some(3), "{}", ran.stderr);
    assert!(ran.stderr.contains("spindles 9, 11"), "{}", ran.stderr);
    run_disk_groups(&failing(&[12]), &[]).1.refused(&["spindles 0 to 11 in 2 disk groups"]);
}

#[test]
fn a_disk_group_without_a_lun_is_warned_of() {
    let idle = "[[array.in_place.group]]\nlayout = \"raid-5\"\nspindles = 3\n";
    let (_, ran) = run_disk_groups(idle, &["--quick"]);
    assert!(ran.stderr.contains("no LUN in disk group 3"), "{}", ran.stderr);
    assert_eq!(ran.code, Some(0));
}
