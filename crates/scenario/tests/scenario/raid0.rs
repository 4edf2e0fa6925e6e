//! RAID-0 in place: chunks over all spindles, without parity.

use crate::common::{GOOD, NAME, error_of, in_place, refusal};
use strewn_scenario::{InPlaceLayout, ProtectionLevel, Scenario};

/// Returns the good scenario with RAID-0 in place, and only what it needs.
fn raid0() -> String {
    let text = GOOD.split("[overhead]").next().unwrap();
    text.replace("layout = \"vraid-5\"", "layout = \"raid-0\"")
        .replace("redundancy_sets = [10, 10]\n", "")
        .replace("protection_level = \"single\"\n", "")
}

#[test]
fn it_needs_neither_redundancy_sets_nor_a_protection_level() {
    let scenario = Scenario::parse(&raid0(), NAME).unwrap();
    let [group] = &in_place(&scenario).groups[..] else { panic!("{scenario:?}") };
    assert_eq!((group.layout, group.spindles), (InPlaceLayout::Raid0, 20));
    assert_eq!(group.redundancy_sets, [20]);
    assert_eq!(group.protection_level, ProtectionLevel::None);
    assert_eq!(Scenario::parse(&scenario.to_toml().unwrap(), NAME).unwrap(), scenario);
}

#[test]
fn what_only_vraid_5_has_is_refused() {
    let text = raid0().replace(
        "spindles = 20",
        "spindles = 20\nredundancy_sets = [10, 10]\nprotection_level = \"double\"",
    );
    let error = error_of(&text);
    let problems: Vec<_> = error.problems().iter().map(ToString::to_string).collect();
    assert_eq!(
        problems,
        [
            "array[inplace].in_place.redundancy_sets: RAID-0 has one redundancy set, of all spindles",
            "array[inplace].in_place.protection_level: RAID-0 has no distributed reserve",
        ]
    );
}

#[test]
fn it_has_1_to_64_spindles_all_of_which_are_usable() {
    let one = raid0().replace("spindles = 20", "spindles = 1").replace("500 GB", "136 GiB");
    Scenario::parse(&one, NAME).unwrap();
    Scenario::parse(&raid0().replace("spindles = 20", "spindles = 64"), NAME).unwrap();
    let text = raid0().replace("spindles = 20", "spindles = 65");
    assert!(refusal(&text).ends_with("65 spindles are too many for RAID-0; give 1 to 64"));
    let refused = refusal(&raid0().replace("spindles = 20", "spindles = 2"));
    assert!(refused.contains("a larger array: it has 2 drives of 136.7 GiB"), "{refused}");
}

#[test]
fn its_configurations_have_no_protection_level() {
    let overhead = "[overhead]\nusd_per_spindle = 1000.0\n[[overhead.configuration]]\narray = \"inplace\"\n\
                    name = \"a\"\nsource = \"a test\"\nprotection_level = \"single\"\n";
    let refused = refusal(&format!("{}{overhead}", raid0()));
    assert!(refused.contains("inplace is a RAID-0 array, which has no protection"), "{refused}");
}
