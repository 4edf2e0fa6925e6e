//! Parity groups that are added, and additions that power loss interrupts.

use std::fs;
use std::path::PathBuf;

use strewn_live::assembly::{
    self, AddGroupOptions, ArrayLocation, AssemblyError, Condition, DeviceProblem,
    DeviceProblemKind, MembershipError, SpindleDevices, look, open_to_add_group,
};
use strewn_live::configuration::{ConfigurationError, LayoutName};
use strewn_live::device::IoBackend;
use strewn_live::format::{FEATURE_PARITY_GROUPS, Label};
use strewn_live::starting::start;

use super::common::{Folder, label, put_label};

fn add(folder: &Folder, options: &AddGroupOptions) -> Result<(), MembershipError> {
    let grown = open_to_add_group(&folder.place(), options)?;
    start(grown.array, IoBackend::Threads).unwrap().shut_down().unwrap();
    Ok(())
}

#[test]
fn a_group_is_like_the_first_unless_asked_and_is_in_the_labels_of_all() {
    let folder = Folder::new();
    folder.create();
    add(&folder, &AddGroupOptions::default()).unwrap();
    let with = |data_spindles, layout| AddGroupOptions {
        data_spindles: Some(data_spindles),
        layout: Some(layout),
        spindle_bytes: Some(40 << 20),
        ..AddGroupOptions::default()
    };
    add(&folder, &with(1, LayoutName::Raid4)).unwrap();
    let array = folder.open().unwrap();
    assert_eq!(array.problems, []);
    let groups = array.configuration.groups();
    let of_groups: Vec<_> =
        groups.iter().map(|group| (group.layout, group.spindles.clone())).collect();
    let (dp, raid_4) = (LayoutName::RaidDp, LayoutName::Raid4);
    assert_eq!(of_groups, [(dp, 0..5), (dp, 5..10), (raid_4, 10..12)]);
    assert_eq!(groups[0].blocks_per_spindle, groups[1].blocks_per_spindle);
    assert!(groups[2].blocks_per_spindle > groups[1].blocks_per_spindle);
    drop(array);
    for position in 0..12 {
        let label = label(&folder.spindle(position));
        assert_eq!(label.spindles_of_groups(), [0..5, 5..10, 10..12]);
        assert_eq!(label.device_blocks, label.device_blocks_of(position as u16));
    }
    let status = look(&folder.place()).unwrap();
    assert_eq!((status.condition, status.spindles.len()), (Condition::Whole, 12));
    assert_eq!(status.superblock.unwrap().groups(), 3);
}

#[test]
fn supplied_devices_make_a_group() {
    let folder = Folder::new();
    folder.create();
    let paths: Vec<PathBuf> = [30, 24, 26, 28]
        .map(|mebibytes| folder.device(&format!("disk-{mebibytes}"), mebibytes << 20))
        .to_vec();
    let by = AddGroupOptions {
        spindles: SpindleDevices::Existing(paths.clone()),
        ..AddGroupOptions::default()
    };
    let grown = open_to_add_group(&folder.place(), &by).unwrap();
    assert_eq!(grown.array.configuration.groups()[1].spindles, 5..9);
    assert_eq!(grown.wasted.len(), 3);
    start(grown.array, IoBackend::Threads).unwrap().shut_down().unwrap();
    // They are named, wherever they are.
    let array = folder.open().unwrap();
    assert_eq!(array.spindles[5].as_ref().unwrap().path(), paths[0]);
    drop(array);
    let destroyed = assembly::destroy(&folder.path("array")).unwrap();
    assert!(paths.iter().all(|path| path.exists()), "{destroyed:?}");
}

/// Stands for a power loss during an addition: labels as they would be then.
struct Interrupted {
    folder: Folder,
    /// The array's label before.
    before: Vec<(PathBuf, Label)>,
    /// Each device's label that lists the new members.
    after: Vec<(PathBuf, Label)>,
}

impl Interrupted {
    fn new() -> Self {
        let folder = Folder::new();
        folder.create();
        start(folder.open().unwrap(), IoBackend::Threads).unwrap().shut_down().unwrap();
        let old: Vec<PathBuf> =
            [folder.log()].into_iter().chain((0..5).map(|at| folder.spindle(at))).collect();
        let before: Vec<(PathBuf, Label)> =
            old.iter().map(|path| (path.clone(), label(path))).collect();
        drop(open_to_add_group(&folder.place(), &AddGroupOptions::default()).unwrap());
        let all = old.into_iter().chain((5..10).map(|at| folder.spindle(at)));
        let after = all.map(|path| (path.clone(), label(&path))).collect();
        Self { folder, before, after }
    }

    /// Has the first `told` devices have the label that makes the group the array's; the log is the first.
    fn after(&self, told: usize) {
        let sequence = self.before[0].1.sequence;
        for (path, label) in &self.before {
            put_label(path, label);
        }
        for (path, label) in &self.after[self.before.len()..] {
            put_label(path, &Label { sequence, ..label.clone() });
        }
        for (path, label) in &self.after[..told] {
            put_label(path, &Label { sequence: sequence + 1, ..label.clone() });
        }
    }
}

#[test]
fn an_addition_that_was_interrupted_is_undone_or_completed() {
    for told in 0..=11 {
        let interrupted = Interrupted::new();
        interrupted.after(told);
        let folder = &interrupted.folder;
        let array = folder.open().unwrap();
        let is_member = |label: &Label| label.incompatible_features & FEATURE_PARITY_GROUPS != 0;
        assert_eq!(is_member(&array.label), told > 0, "{told}");
        assert_eq!(array.label.members.len(), if told > 0 { 10 } else { 5 });
        let problems = array.problems.len();
        match told {
            // The new devices are named, and no members.
            0 => {
                assert_eq!(problems, 5);
                let not_added = |one: &DeviceProblem| one.kind == DeviceProblemKind::NotAdded;
                assert!(array.problems.iter().all(not_added), "{:?}", array.problems);
            }
            11 => assert_eq!(problems, 0),
            // Those that lack the label.
            told => assert_eq!(problems, 11 - told, "{:?}", array.problems),
        }
        start(array, IoBackend::Threads).unwrap().shut_down().unwrap();
        let status = look(&folder.place()).unwrap();
        assert_eq!(status.condition, Condition::Whole);
        if told == 0 {
            add(folder, &AddGroupOptions::default()).unwrap();
        }
        let array = folder.open().unwrap();
        assert_eq!((array.label.members.len(), array.problems.len()), (10, 0), "{told}");
        // What was left over is gone.
        let names = fs::read_dir(folder.path("array")).unwrap();
        assert_eq!(names.count(), 12, "{told}");
    }
}

/// Without `array.toml`, the files' names must do, and the new files have the array's labels already.
#[test]
fn new_devices_that_are_no_members_yet_do_not_count() {
    let interrupted = Interrupted::new();
    interrupted.after(0);
    let folder = &interrupted.folder;
    fs::remove_file(folder.path("array/array.toml")).unwrap();
    let mut names: Vec<PathBuf> = (0..10).map(|at| folder.spindle(at)).collect();
    names.push(folder.log());
    names.reverse();
    for place in [folder.place(), ArrayLocation::Devices(names)] {
        let status = look(&place).unwrap();
        assert_eq!((status.label.members.len(), status.condition), (5, Condition::Whole));
    }
}

#[test]
fn what_cannot_be_added_is_refused_and_nothing_is_written() {
    let folder = Folder::new();
    folder.create();
    let held = folder.device("held", 24 << 20);
    super::common::write(&held, 0, b"XFSB");
    let small = folder.device("small", 64 << 10);
    let twice = folder.device("twice", 24 << 20);
    let before = folder.contents();
    let of = |paths: &[&PathBuf]| AddGroupOptions {
        spindles: SpindleDevices::Existing(paths.iter().map(|path| (*path).clone()).collect()),
        ..AddGroupOptions::default()
    };
    let sized = |data_spindles, bytes| AddGroupOptions {
        data_spindles: Some(data_spindles),
        spindle_bytes: Some(bytes),
        ..AddGroupOptions::default()
    };
    let cases = [
        (of(&[&held, &twice, &small]), "held"),
        (of(&[&twice, &twice, &twice]), "twice"),
        (of(&[&folder.spindle(1), &twice, &small]), "spindle-01"),
        (of(&[&twice]), "1"),
        (AddGroupOptions { data_spindles: Some(2), ..of(&[&twice]) }, "4"),
        (
            AddGroupOptions { layout: Some(LayoutName::Vraid5), ..AddGroupOptions::default() },
            "vraid-5 is no layout",
        ),
        (sized(0, 24 << 20), "raid-dp array cannot have 2 spindles"),
        (sized(30, 24 << 20), "cannot have 32 spindles"),
        (sized(19, 24 << 20), "a parity group of 21 spindles: the log of this array has room"),
        (sized(3, 64 << 10), "too small"),
        (sized(3, 1 << 50), "16 TiB"),
    ];
    for (options, fragment) in &cases {
        let error = open_to_add_group(&folder.place(), options).unwrap_err();
        assert!(error.to_string().contains(fragment), "{error}");
        assert!(!error.remedy().is_empty(), "{error}");
        assert_eq!(folder.contents(), before, "{error}");
    }
    // Up to eight.
    for _ in 0..7 {
        add(&folder, &sized(1, 2 << 20)).unwrap();
    }
    let error = open_to_add_group(&folder.place(), &sized(1, 2 << 20)).unwrap_err();
    let too_many = ConfigurationError::TooManyGroups { most: 8 };
    assert!(
        matches!(&error, MembershipError::Configuration(found) if *found == too_many),
        "{error}"
    );
}

#[test]
fn a_degraded_array_gets_a_group_if_that_is_allowed_and_an_array_in_place_none() {
    let folder = Folder::new();
    folder.create();
    fs::remove_file(folder.spindle(2)).unwrap();
    let error = open_to_add_group(&folder.place(), &AddGroupOptions::default()).unwrap_err();
    assert!(matches!(error, MembershipError::Assembly(AssemblyError::Degraded { .. })), "{error}");
    add(&folder, &AddGroupOptions { degraded: true, ..AddGroupOptions::default() }).unwrap();
    let array = folder.open_degraded().unwrap();
    assert_eq!((array.lost(), array.label.members.len()), (vec![2], 10));

    let in_place = Folder::new();
    let mut options_in_place = in_place.options();
    options_in_place.spec.layout = LayoutName::Raid5;
    assembly::create(&options_in_place).unwrap();
    let error = open_to_add_group(&in_place.place(), &AddGroupOptions::default()).unwrap_err();
    assert!(matches!(error, MembershipError::InPlaceGroup), "{error}");
}
