//! Snapshots of a write-anywhere array: read, refused, scaled, warned of, and set by name.

use strewn_scenario::{NoFiles, Scenario, SnapshotSchedule};

use crate::common::{GOOD, NAME, changed, good, refusal};

const HOUR_NS: u64 = 3_600_000_000_000;

/// The good scenario with `snapshots` of its first array.
fn with(snapshots: &str) -> String {
    changed("tetrises_in_flight = 2", &format!("tetrises_in_flight = 2\nsnapshots = {snapshots}"))
}

fn schedule(scenario: &Scenario) -> Option<SnapshotSchedule> {
    let layout = scenario.arrays[0].layout.write_anywhere().unwrap();
    layout.snapshots
}

#[test]
fn a_schedule_is_read_and_scaled_with_the_segments() {
    assert_eq!(schedule(&good()), None);
    let scenario = Scenario::parse(&with("{ every = \"1 h\", keep = 6 }"), NAME).unwrap();
    assert_eq!(schedule(&scenario), Some(SnapshotSchedule { every_ns: HOUR_NS, keep: 6 }));
    let (smaller, what) = scenario.scaled_down(8);
    assert_eq!(schedule(&smaller), Some(SnapshotSchedule { every_ns: HOUR_NS / 8, keep: 6 }));
    let line = "snapshots of anywhere every 1 h -> 450 s";
    assert!(what.iter().any(|one| one == line), "{what:?}");
}

#[test]
fn a_schedule_that_cannot_be_is_refused_with_its_place_and_a_remedy() {
    let [zero, many, late, often, part, odd] = [
        "{ every = \"1 h\", keep = 0 }",
        "{ every = \"1 h\", keep = 256 }",
        "{ every = \"280 min\", keep = 6 }",
        "{ every = \"100 ms\", keep = 6 }",
        "{ every = \"1 h\" }",
        "{ every = \"1 h\", keep = 6, retain = 5 }",
    ]
    .map(|snapshots| {
        let refused = refusal(&with(snapshots));
        refused.split_once("snapshots").unwrap().1.to_owned()
    });
    assert_eq!(zero, ".keep: is zero; give 1 to 255, or leave `snapshots` out");
    assert_eq!(many, ".keep: is more than an array keeps; give 1 to 255");
    assert_eq!(
        late,
        ".every: is 280 min, and the run ends at 280 min; give less than 280 min, or more segments, or leave \
         `snapshots` out"
    );
    assert_eq!(
        often,
        ".every: 168000 snapshots in 280 min are too many; an array takes at most 65534 in a run: give a longer time, \
         or fewer segments"
    );
    assert_eq!(part, ".keep: is missing; add a line such as keep = 6");
    assert_eq!(odd, ".retain: unknown key; the keys here are every, keep");
}

#[test]
fn an_array_in_place_takes_none() {
    let text =
        changed("[array.in_place]", "[array.in_place]\nsnapshots = { every = \"1 h\", keep = 6 }");
    let refused = refusal(&text);
    assert!(refused.contains("array[inplace].in_place.snapshots"), "{refused}");
    assert!(refused.contains("give them to an array with [array.write_anywhere]"), "{refused}");
}

#[test]
fn snapshots_that_may_fill_the_aggregate_are_warned_of() {
    let warnings = |keep: u8| {
        let text = with(&format!("{{ every = \"1 h\", keep = {keep} }}"));
        Scenario::parse(&text, NAME).unwrap().warnings()
    };
    assert_eq!(warnings(6), [""; 0]);
    let [warning] = &warnings(40)[..] else { panic!("{:?}", warnings(40)) };
    assert!(warning.starts_with("array[anywhere].write_anywhere.snapshots can come to hold"));
}

#[test]
fn snapshots_are_set_by_name_also_where_the_file_has_none() {
    let settings = [("snapshots.keep", "3"), ("anywhere.snapshots.every", "2 h")]
        .map(|(name, value)| (name.to_owned(), value.to_owned()));
    let (scenario, text) = Scenario::parse_with(GOOD, NAME, &settings, &NoFiles).unwrap();
    assert_eq!(schedule(&scenario), Some(SnapshotSchedule { every_ns: 2 * HOUR_NS, keep: 3 }));
    assert_eq!(Scenario::parse(&text, NAME).unwrap(), scenario);
    let keep = [("keep".to_owned(), "4".to_owned())];
    let (scenario, _) = Scenario::parse_with(&text, NAME, &keep, &NoFiles).unwrap();
    assert_eq!(schedule(&scenario), Some(SnapshotSchedule { every_ns: 2 * HOUR_NS, keep: 4 }));
    let error = Scenario::parse_with(GOOD, NAME, &settings[..1], &NoFiles).unwrap_err();
    assert!(error.to_string().contains("every is missing"), "{error}");
}

/// As `--segments 1` has it.
#[test]
fn a_run_that_ends_before_the_first_snapshot_is_no_mistake() {
    let mut scenario = Scenario::parse(&with("{ every = \"1 h\", keep = 6 }"), NAME).unwrap();
    scenario.segments = 1;
    scenario.check().unwrap();
    assert_eq!(Scenario::parse(&good().to_toml().unwrap(), NAME).unwrap(), good());
}
