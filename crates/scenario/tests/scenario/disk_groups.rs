//! In-place arrays of several disk groups: what a scenario may say of them, and what is refused.

use strewn_scenario::{InPlace, InPlaceLayout, NoFiles, ProtectionLevel, Scenario};

use crate::common::{error_of, refusal};

const CONSOLIDATION: &str = include_str!("../../../../scenarios/consolidation.toml");

/// The LUN of the log as the in-place array has it, and its place in disk group 2.
const LOG: &str = "name = \"log\"\nsize = \"20 GB\"\n";
const LOG_IN_2: &str = "name = \"log\"\nsize = \"20 GB\"\ngroup = 2\n";
const GROUP: &str = "\n[[array.in_place.group]]\nspindles = 5\nredundancy_sets = [5]\nprotection_level = \"none\"\n";

/// The shipped scenario with the log of its in-place array as `log` says, and with `tables` at its end.
fn text(log: &str, tables: &str) -> String {
    let (before, array) = CONSOLIDATION.rsplit_once("[[array]]").unwrap();
    assert!(array.contains(LOG), "{array}");
    format!("{before}[[array]]{}{tables}", array.replace(LOG, log))
}

fn layout_of(scenario: &Scenario) -> &InPlace {
    (scenario.arrays[1].layout.in_place().unwrap()) as _
}

#[test]
fn a_lun_may_lie_in_a_disk_group_of_its_own() {
    let raid_5 =
        "[[array.in_place.group]]\nlayout = \"raid-5\"\nspindles = 4\nchunk = \"64 KiB\"\n";
    let text = text(LOG_IN_2, &format!("{GROUP}{raid_5}"));
    let scenario = Scenario::parse(&text, "groups.toml").unwrap();
    let layout = layout_of(&scenario);
    let placed: Vec<_> = layout.placed_groups().map(|(first, one)| (first, one.spindles)).collect();
    assert_eq!(placed, [(0, 20), (20, 5), (25, 4)]);
    let [first, second, third] = &layout.groups[..] else { panic!("{layout:?}") };
    assert_eq!((second.layout, second.segment_bytes), (first.layout, first.segment_bytes));
    assert_eq!(second.protection_level, ProtectionLevel::None);
    assert_eq!((third.layout, third.chunk_bytes), (InPlaceLayout::Raid5, 64 << 10));
    assert_eq!(third.redundancy_sets, [4]);
    let of_luns: Vec<_> = scenario.arrays[1].luns.iter().map(|lun| lun.group).collect();
    assert_eq!(of_luns, [1, 1, 2]);

    assert_eq!(Scenario::parse(&scenario.to_toml().unwrap(), "again").unwrap(), scenario);
    scenario.check().unwrap();
    let (scaled, _) = scenario.scaled_down(8);
    assert_eq!(layout_of(&scaled).groups, layout.groups);
    let warnings = scenario.warnings();
    let [idle] = &warnings[..] else { panic!("{warnings:?}") };
    assert!(idle.contains("no LUN in disk group 3, whose spindles are then idle"), "{idle}");
}

#[test]
fn settings_of_a_group_can_be_changed_by_name() {
    let set = [
        ("EVA4400.group.1.spindles".to_owned(), "6".to_owned()),
        ("group.1.redundancy_sets".to_owned(), "[6]".to_owned()),
    ];
    let text = text(LOG_IN_2, GROUP);
    let (changed, _) = Scenario::parse_with(&text, "groups.toml", &set, &NoFiles)
        .unwrap_or_else(|error| panic!("{error}"));
    assert_eq!(layout_of(&changed).groups[1].spindles, 6);
    let back = [("EVA4400.lun.3.group".to_owned(), "1".to_owned())];
    let (changed, _) = Scenario::parse_with(&text, "groups.toml", &back, &NoFiles).unwrap();
    assert_eq!(changed.arrays[1].luns[2].group, 1);
}

#[test]
fn a_single_group_is_not_listed_as_one() {
    let scenario = Scenario::parse(CONSOLIDATION, "c.toml").unwrap();
    assert!(scenario.settings().iter().all(|(name, _)| !name.contains("group")));
}

#[test]
fn what_cannot_be_is_refused_with_a_remedy() {
    let eight = GROUP.repeat(8);
    let group = |keys: &str| format!("\n[[array.in_place.group]]\n{keys}\n");
    let vraid = "spindles = 5\nredundancy_sets = [5]\n";
    let log = |size: &str| format!("name = \"log\"\nsize = \"{size}\"\ngroup = 2\n");
    let at = "array[EVA4400]";
    let cases: Vec<(String, String, String)> = [
        (text(LOG_IN_2, ""), "lun[log].group: there is no disk group 2: the array has a single disk group; add \
            [[array.in_place.group]]"),
        (text(&LOG_IN_2.replace('2', "3").replace("30", "20"), GROUP), "lun[log].group: there is no disk group 3: the \
            array has 2 disk groups; give 1 to 2, the first being [array.in_place] itself"),
        (text(&LOG_IN_2.replace("= 2", "= 0"), GROUP), "lun[3].group: is zero; disk groups have numbers: 1 is"),
        (text(&LOG_IN_2.replace("= 2", "= \"fast\""), GROUP), "lun[3].group: is a string, not a whole number; write \
            a whole number, without quotes"),
        (text(&log("600 GB"), GROUP), "lun: a LUN of 600 GB is larger than disk group 2's usable 546.9 GiB; give at most \
            546 GiB, or another or a larger disk group: this one has 4/5 of 5 drives"),
        (text(LOG_IN_2, &eight), "in_place.group: 9 disk groups are too many; an array has at most 8, the first included: \
            keep 7"),
        (text(LOG_IN_2, &group("redundancy_sets = [5]")), "in_place.group[1].spindles: is missing; add a line such as"),
        (text(LOG_IN_2, &group("spindles = 5")), "in_place.group[1].redundancy_sets: is missing; add a line such as"),
        (text(LOG_IN_2, &group("spindles = 8\nredundancy_sets = [5]")), "in_place.group[1].redundancy_sets: the sets \
            have 5 spindles, the group 8"),
        (text(LOG_IN_2, &group("layout = \"raid-5\"\nspindles = 2")), "in_place.group[1].spindles: 2 spindles are too \
            few for RAID-5; give 3 to 64"),
        (text(LOG_IN_2, &group("layout = \"raid-6\"\nspindles = 5")), "in_place.group[1].layout: `raid-6` is not known \
            here"),
        (text(LOG_IN_2, &group(&format!("{vraid}protection_level = \"double\"\nat = \"1 h\""))), "in_place.group[1].at: \
            the disk groups of an array in place are there from the start; leave it out"),
        (text(LOG_IN_2, &group(&format!("{vraid}data_spindles = 4"))), "in_place.group[1].data_spindles: parity rotates \
            over all spindles of a disk group; give `spindles`"),
        (text(LOG_IN_2, &group(&format!("{vraid}write_cache = \"1 GiB\""))), "in_place.group[1].write_cache: all disk \
            groups share the write cache; leave it out here, and give it in [array.in_place]"),
        (text(LOG_IN_2, &GROUP.replace("[[array.in_place.group]]", "[array.in_place.group]")), "in_place.group: is not a \
            list of tables; write [[array.in_place.group]] before the keys of each"),
        (text(LOG_IN_2, &GROUP.replace("in_place.group", "group")), "group: unknown key; "),
        (text(LOG_IN_2, &format!("{GROUP}[[array.failure]]\nat = \"10 min\"\nspindle = 25\n")), "failure[1].spindle: \
            there is no spindle 25; the array has spindles 0 to 24 in 2 disk groups"),
    ]
    .map(|(text, says)| (text, format!("{at}.{says}"), "EVA4400".to_owned()))
    .into_iter()
    .collect();
    for (text, says, _) in cases {
        let error = error_of(&text);
        let found: Vec<String> = error
            .problems()
            .iter()
            .map(|problem| format!("{problem}; {}", problem.help()))
            .collect();
        assert!(found.iter().any(|one| one.starts_with(&says)), "{says}\n{found:#?}");
    }
}

#[test]
fn disk_groups_are_those_of_an_array_in_place() {
    let of_write_anywhere =
        CONSOLIDATION.replacen("volume = \"files\"\n", "volume = \"files\"\ngroup = 2\n", 1);
    let refused = refusal(&of_write_anywhere);
    assert!(refused.contains("lun[1].group: only an array in place has disk groups"), "{refused}");
    assert!(refused.contains("lie on all of its parity groups"), "{refused}");
}

#[test]
fn a_spindle_of_a_further_group_may_fail() {
    let failure = "[[array.failure]]\nat = \"10 min\"\nspindle = 24\n";
    let scenario =
        Scenario::parse(&text(LOG_IN_2, &format!("{GROUP}{failure}")), "g.toml").unwrap();
    assert_eq!(scenario.arrays[1].failures[0].spindle, 24);
}
