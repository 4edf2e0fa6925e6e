//! Scenarios written as text and read again, and scenarios that code has changed.

use strewn_raid::Parity;
use strewn_scenario::{
    ArrayLayout, DiskGroup, FurtherGroup, InPlaceLayout, OtherData, ProtectionLevel, Scenario,
    SnapshotSchedule, SpindleFailure, Template,
};

use crate::common::good;
use crate::good_scenarios::shipped;

fn every_scenario() -> Vec<Scenario> {
    let templates = [Template::Both, Template::Fas2050, Template::Eva4400];
    let templates = templates.map(|one| Scenario::parse(&one.scenario("new"), "new.toml").unwrap());
    let mut full = good();
    let ArrayLayout::WriteAnywhere(layout) = &mut full.arrays[0].layout else { panic!() };
    layout.other_data = Some(OtherData { full_percent: 33.25, run_blocks: 16 });
    layout.spares = 2;
    layout.further_groups = vec![
        FurtherGroup { parity: Parity::Raid4, data_spindles: 7, at_ns: None },
        FurtherGroup { parity: Parity::RaidDp, data_spindles: 3, at_ns: Some(1_000_000_001) },
    ];
    layout.snapshots = Some(SnapshotSchedule { every_ns: 7_000_000_001, keep: 255 });
    full.arrays[0].name = "with.dots \"and\" quotes".to_owned();
    full.arrays[0].failures =
        [1, 3].map(|at| SpindleFailure { at_ns: at, spindle: at as u16 }).to_vec();
    full.overhead.as_mut().unwrap().configurations[0].array = full.arrays[0].name.clone();
    full.segment_ns = 1_234_567_891;
    let ArrayLayout::InPlace(layout) = &mut full.arrays[1].layout else { panic!() };
    layout.groups.push(DiskGroup {
        layout: InPlaceLayout::Raid5,
        spindles: 7,
        redundancy_sets: vec![7],
        chunk_bytes: 64 << 10,
        segment_bytes: 1 << 20,
        protection_level: ProtectionLevel::None,
    });
    layout.groups.push(DiskGroup {
        spindles: 9,
        redundancy_sets: vec![9],
        protection_level: ProtectionLevel::Double,
        ..layout.groups[0].clone()
    });
    shipped().into_iter().chain(templates).chain([full, Scenario::default()]).collect()
}

#[test]
fn a_scenario_that_is_written_reads_back_as_itself() {
    for scenario in every_scenario() {
        let text = scenario.to_toml().unwrap();
        assert_eq!(Scenario::parse(&text, "copy").unwrap(), scenario, "{text}");
        scenario.check().unwrap();
        let json = serde_json::to_string(&scenario).unwrap();
        assert_eq!(serde_json::from_str::<Scenario>(&json).unwrap(), scenario, "{json}");
    }
    let smaller = good().scaled_down(8).0;
    assert_eq!(smaller.to_toml(), None);
    assert!(serde_json::to_string(&smaller).unwrap_err().to_string().contains("scaled down"));
}

/// As `--segments 1` has it.
#[test]
fn a_run_of_fewer_segments_is_no_mistake() {
    let mut scenario = good();
    scenario.arrays[0].failures =
        vec![SpindleFailure { at_ns: 5 * scenario.segment_ns, spindle: 0 }];
    scenario.check().unwrap();
    scenario.segments = 1;
    scenario.check().unwrap();
}

#[test]
fn what_code_sets_is_checked_as_a_text_is() {
    let problem = |change: fn(&mut Scenario)| {
        let mut scenario = good();
        change(&mut scenario);
        scenario.check().unwrap_err().problems()[0].to_string()
    };
    let cost = problem(|scenario| scenario.arrays[0].processor.host_operation_ns = f64::NAN);
    assert!(cost.contains("array[anywhere].processor.host_operation"), "{cost}");
    let cost = problem(|scenario| scenario.arrays[1].processor.per_kib_ns = -1.0);
    assert!(cost.contains("array[inplace].processor.per_kib"), "{cost}");
    let lun = problem(|scenario| scenario.arrays[0].luns[0].bytes = 1 << 50);
    assert!(lun.contains("array[anywhere].lun"), "{lun}");
    let segments = problem(|scenario| scenario.segments = 0);
    assert!(segments.contains("segments"), "{segments}");
    let name = problem(|scenario| scenario.arrays[0].name = "inplace".to_owned());
    assert!(name.contains("another array"), "{name}");
    let json = serde_json::to_string(&good()).unwrap().replace("\"sptf\"", "\"stpf\"");
    let error = serde_json::from_str::<Scenario>(&json).unwrap_err().to_string();
    assert!(
        error.contains("there is no scheduler `stpf`") || error.contains("problems"),
        "{error}"
    );
}
