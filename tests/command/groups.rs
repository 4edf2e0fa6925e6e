//! Aggregates of several parity groups, one of them added during the run.

use serde_json::Value;
use strewn::report::Results;

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
    assert_eq!((spindles.data, spindles.parity, spindles.purchased), (7, 3, 10));
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
    assert!(quick.contains("addition of parity group 2 of anywhere 60 s -> 7.5 s"), "{quick}");
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
