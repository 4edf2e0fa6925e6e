//! RAID-5 in place: one group over all spindles, without a reserve.

use crate::common::{GOOD, NAME, error_of, in_place, refusal};
use strewn_scenario::{InPlaceLayout, ProtectionLevel, Scenario};

/// Returns the good scenario with RAID-5 in place, and only what it needs.
fn raid5() -> String {
    let text = GOOD.split("[overhead]").next().unwrap();
    text.replace("layout = \"vraid-5\"", "layout = \"raid-5\"")
        .replace("redundancy_sets = [10, 10]\n", "")
        .replace("protection_level = \"single\"\n", "")
}

#[test]
fn it_needs_neither_redundancy_sets_nor_a_protection_level() {
    let scenario = Scenario::parse(&raid5(), NAME).unwrap();
    let [group] = &in_place(&scenario).groups[..] else { panic!("{scenario:?}") };
    assert_eq!((group.layout, group.spindles), (InPlaceLayout::Raid5, 20));
    assert_eq!(group.redundancy_sets, [20]);
    assert_eq!(group.protection_level, ProtectionLevel::None);
    assert_eq!(Scenario::parse(&scenario.to_toml().unwrap(), NAME).unwrap(), scenario);

    let given = "spindles = 20\nredundancy_sets = [20]\nprotection_level = \"none\"";
    let given = raid5().replace("spindles = 20", given);
    assert_eq!(Scenario::parse(&given, NAME).unwrap(), scenario);
}

/// The sets and the reserve of a controller are those of its VRAID-5.
#[test]
fn the_spindles_of_a_controller_can_be_one_group() {
    let head = GOOD.split("[[array]]").next().unwrap();
    let text = format!(
        "{head}[[array]]\nname = \"eva\"\ncontroller = \"eva4400\"\noutstanding = 8\nlun = \"500 GB\"\n\
         [array.in_place]\nlayout = \"raid-5\"\n"
    );
    let scenario = Scenario::parse(&text, NAME).unwrap();
    let layout = scenario.arrays[0].layout.in_place().unwrap();
    assert_eq!(layout.groups[0].redundancy_sets, [20]);
    assert_eq!(layout.groups[0].protection_level, ProtectionLevel::None);
}

#[test]
fn what_only_vraid_5_has_is_refused() {
    let text = raid5().replace(
        "spindles = 20",
        "spindles = 20\nredundancy_sets = [10, 10]\nprotection_level = \"double\"",
    );
    let error = error_of(&text);
    let problems: Vec<_> = error
        .problems()
        .iter()
        .map(|one| format!("{} {one}; {}", one.line(), one.help()))
        .collect();
    assert_eq!(
        problems,
        [
            "70 array[inplace].in_place.redundancy_sets: RAID-5 has one redundancy set, of all spindles; leave it out, or \
             give [20]; vraid-5 divides spindles into several sets",
            "71 array[inplace].in_place.protection_level: RAID-5 has no distributed reserve; leave it out, or give \
             \"none\"; vraid-5 has a reserve",
        ]
    );
}

#[test]
fn it_has_3_to_64_spindles() {
    for (spindles, amount) in [(2, "few"), (65, "many")] {
        // A LUN that fits two spindles.
        let text = raid5()
            .replace("spindles = 20", &format!("spindles = {spindles}"))
            .replace("lun = \"500 GB\"", "lun = \"120 GB\"");
        assert_eq!(
            refusal(&text),
            format!(
                "69 array[inplace].in_place.spindles: {spindles} spindles are too {amount} for RAID-5; give 3 to 64"
            )
        );
    }
    Scenario::parse(&raid5().replace("spindles = 20", "spindles = 64"), NAME).unwrap();
}

#[test]
fn all_spindles_but_one_are_usable() {
    let text = raid5().replace("spindles = 20", "spindles = 4");
    Scenario::parse(&text.replace("500 GB", "410 GiB"), NAME).unwrap();
    let refused = refusal(&text);
    assert!(
        refused.ends_with(
            "a LUN of 500 GB is larger than the array's usable 410.2 GiB; give at most 410 GiB, or a larger array: it \
             has 3/4 of 4 drives of 136.7 GiB"
        ),
        "{refused}"
    );
}

#[test]
fn its_configurations_have_no_protection_level() {
    let overhead = "[overhead]\nusd_per_spindle = 1000.0\n[[overhead.configuration]]\narray = \"inplace\"\n\
                    name = \"a\"\nsource = \"a test\"\nprotection_level = \"single\"\n";
    let refused = refusal(&format!("{}{overhead}", raid5()));
    assert!(refused.contains("inplace is a RAID-5 array, which has no protection"), "{refused}");
}

#[test]
fn a_layout_that_is_unknown_is_the_only_problem() {
    let text = raid5().replace("raid-5", "raid5");
    assert!(
        refusal(&text).ends_with("known are `vraid-5`, `raid-5`, `raid-0`"),
        "{}",
        refusal(&text)
    );
}
