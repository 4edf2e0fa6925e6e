//! What an array is taken for by its labels.

use std::fs;

use strewn_live::assembly::{
    self, ArrayLocation, AssemblyError, Condition, DeviceProblemKind, OpenOptions, look,
};
use strewn_live::format::{
    DiskFormatError, INITIALIZATION_MAP_SLOTS, MemberState, SUPERBLOCK_SLOTS, Superblock,
};

use super::common::{BLOCK, Folder, kinds, label, put_label, take_label, write};

#[test]
fn a_new_array_is_whole_by_directory_and_by_devices() {
    let folder = Folder::new();
    let created = folder.create();
    let array = folder.open().unwrap();
    assert_eq!(array.label.array, created.array);
    assert_eq!(array.configuration, created.configuration);
    assert_eq!(array.spindles.len(), 5);
    assert!(array.problems.is_empty() && array.lost().is_empty());
    assert!(
        array
            .superblock
            .as_ref()
            .is_some_and(|one| one.consistency_point == 0 && one.root.block.is_none())
    );
    drop(array);
    let mut devices = created.spindles.clone();
    devices.insert(2, created.logs[0].clone());
    devices.swap(0, 5);
    let array = assembly::open(&ArrayLocation::Devices(devices), OpenOptions::default()).unwrap();
    for (position, spindle) in array.spindles.iter().enumerate() {
        assert_eq!(spindle.as_ref().unwrap().path(), created.spindles[position]);
    }
    assert_eq!(array.problems, []);
    // The labels are the truth: the directory's list may be lost.
    drop(array);
    fs::remove_file(folder.path("array/array.toml")).unwrap();
    folder.open().unwrap();
}

#[test]
fn spindles_under_each_others_names_are_found_by_their_labels() {
    let folder = Folder::new();
    folder.create();
    fs::rename(folder.spindle(1), folder.path("array/aside")).unwrap();
    fs::rename(folder.spindle(3), folder.spindle(1)).unwrap();
    fs::rename(folder.path("array/aside"), folder.spindle(3)).unwrap();
    let array = folder.open().unwrap();
    assert_eq!(array.spindles[1].as_ref().unwrap().path(), folder.spindle(3));
    let swapped = |position, named| (Some(position), DeviceProblemKind::Swapped { named });
    assert_eq!(kinds(&array.problems), [swapped(3, 1), swapped(1, 3)]);
}

/// Each damage with the problem it makes, for spindle 2 of five with two of parity.
#[test]
fn a_spindle_that_cannot_be_relied_upon_is_done_without_if_that_is_allowed() {
    type Damage = fn(&Folder);
    type Expected = fn(&DeviceProblemKind) -> bool;
    let cases: &[(&str, Damage, Expected, &str)] = &[
        (
            "missing",
            |folder| fs::remove_file(folder.spindle(2)).unwrap(),
            |kind| *kind == DeviceProblemKind::Missing,
            "spindle 2",
        ),
        (
            "no label",
            |folder| take_label(&folder.spindle(2)),
            |kind| *kind == DeviceProblemKind::NoLabel,
            "it has no label",
        ),
        (
            "another array's",
            |folder| {
                let mut foreign = label(&folder.spindle(2));
                foreign.array.0[0] ^= 1;
                put_label(&folder.spindle(2), &foreign);
            },
            |kind| matches!(kind, DeviceProblemKind::Foreign { .. }),
            "another array",
        ),
        (
            "marked as failed",
            |folder| {
                for path in [0, 1, 3, 4].map(|at| folder.spindle(at)).iter().chain([&folder.log()])
                {
                    let mut label = label(path);
                    label.sequence += 1;
                    label.members[2].state = MemberState::Failed;
                    put_label(path, &label);
                }
            },
            |kind| *kind == DeviceProblemKind::Failed,
            "marked as failed",
        ),
        (
            "replaced",
            |folder| {
                for path in [0, 1, 3, 4].map(|at| folder.spindle(at)).iter().chain([&folder.log()])
                {
                    let mut label = label(path);
                    label.sequence += 1;
                    label.members[2].identity.0[3] ^= 1;
                    put_label(path, &label);
                }
            },
            |kind| *kind == DeviceProblemKind::Replaced,
            "another device has taken its place",
        ),
        (
            "two changes behind",
            |folder| {
                for path in [0, 1, 3, 4].map(|at| folder.spindle(at)).iter().chain([&folder.log()])
                {
                    let mut label = label(path);
                    label.sequence += 2;
                    put_label(path, &label);
                }
            },
            |kind| *kind == DeviceProblemKind::Older { sequence: 1, newest: 3 },
            "it is stale",
        ),
        (
            "cut short",
            |folder| {
                let file = fs::OpenOptions::new().write(true).open(folder.spindle(2)).unwrap();
                file.set_len(12 << 20).unwrap();
            },
            |kind| matches!(kind, DeviceProblemKind::TooSmall { size_bytes, .. } if *size_bytes == 12 << 20),
            "12 MiB",
        ),
        (
            "of no whole blocks",
            |folder| {
                let file = fs::OpenOptions::new().write(true).open(folder.spindle(2)).unwrap();
                file.set_len(1000).unwrap();
            },
            |kind| matches!(kind, DeviceProblemKind::Unreadable(_)),
            "whole blocks",
        ),
        (
            "a directory",
            |folder| {
                fs::remove_file(folder.spindle(2)).unwrap();
                fs::create_dir(folder.spindle(2)).unwrap();
            },
            |kind| matches!(kind, DeviceProblemKind::Unreadable(_)),
            "neither a file nor a block device",
        ),
        (
            "another version",
            |folder| {
                write(&folder.spindle(2), 8, &[3, 0]);
            },
            |kind| {
                matches!(kind, DeviceProblemKind::BadLabel(DiskFormatError::OtherVersion { .. }))
            },
            "the label is of format 3.0, and this program reads format 2.0",
        ),
        (
            "a copy of another",
            |folder| {
                fs::copy(folder.spindle(2), folder.path("copy")).unwrap();
                fs::copy(folder.spindle(1), folder.spindle(2)).unwrap();
            },
            |kind| matches!(kind, DeviceProblemKind::Duplicate { .. } | DeviceProblemKind::Missing),
            "the same label",
        ),
        (
            "the same as another",
            |folder| {
                fs::remove_file(folder.spindle(2)).unwrap();
                std::os::unix::fs::symlink(folder.spindle(1), folder.spindle(2)).unwrap();
            },
            |kind| {
                matches!(kind, DeviceProblemKind::SameDevice { .. } | DeviceProblemKind::Missing)
            },
            "the same device",
        ),
    ];
    for (name, damage, expected, fragment) in cases {
        let folder = Folder::new();
        folder.create();
        damage(&folder);
        let before = folder.contents();
        let error = folder.open().unwrap_err();
        assert!(matches!(error, AssemblyError::Degraded { .. }), "{name}: {error}");
        assert!(error.problems().iter().all(|problem| expected(&problem.kind)), "{name}: {error}");
        assert!(error.to_string().contains(fragment), "{name}: {error}");
        assert!(error.remedy().contains("degraded"), "{name}: {}", error.remedy());
        let status = look(&folder.place()).unwrap();
        assert_eq!(status.condition, Condition::Degraded, "{name}");
        assert_eq!(status.problems, error.problems(), "{name}");
        let read_only = OpenOptions { degraded: true, read_only: true };
        drop(assembly::open(&folder.place(), read_only).unwrap());
        assert_eq!(folder.contents(), before, "{name}");

        let array = folder.open_degraded().unwrap();
        assert!(array.spindles[2].is_none() && array.lost().contains(&2), "{name}");
        // What it starts without is marked as failed before it writes, and does not come back by itself.
        assert_eq!(array.label.members[2].state, MemberState::Failed, "{name}");
        drop(array);
        let after = folder.contents();
        assert_eq!(after.get(&folder.spindle(2)), before.get(&folder.spindle(2)), "{name}");
        assert_eq!(label(&folder.spindle(0)).members[2].state, MemberState::Failed, "{name}");
    }
}

#[test]
fn a_spindle_that_was_away_while_the_array_ran_is_not_taken_back() {
    let folder = Folder::new();
    folder.create();
    fs::rename(folder.spindle(4), folder.path("away")).unwrap();
    drop(folder.open_degraded().unwrap());
    fs::rename(folder.path("away"), folder.spindle(4)).unwrap();
    let error = folder.open().unwrap_err();
    assert_eq!(kinds(error.problems()), [(Some(4), DeviceProblemKind::Failed)]);
    assert!(folder.open_degraded().unwrap().spindles[4].is_none());
}

#[test]
fn too_much_is_not_started_even_degraded() {
    let folder = Folder::new();
    folder.create();
    for position in [0, 2, 3] {
        fs::remove_file(folder.spindle(position)).unwrap();
    }
    let before = folder.contents();
    let error = folder.open_degraded().unwrap_err();
    assert!(matches!(error, AssemblyError::Unusable { .. }), "{error}");
    assert_eq!(error.problems().len(), 3, "{error}");
    assert_eq!(look(&folder.place()).unwrap().condition, Condition::Unusable);
    assert_eq!(folder.contents(), before);
}

#[test]
fn without_its_log_no_array_starts() {
    let folder = Folder::new();
    folder.create();
    fs::rename(folder.log(), folder.path("elsewhere")).unwrap();
    let error = folder.open_degraded().unwrap_err();
    assert!(matches!(error, AssemblyError::Unusable { .. }), "{error}");
    assert!(error.to_string().contains("the log is missing"), "{error}");
    assert!(error.remedy().contains("safe"), "{}", error.remedy());
    fs::rename(folder.path("elsewhere"), folder.log()).unwrap();
    folder.open().unwrap();
}

#[test]
fn one_good_copy_of_a_label_is_enough_and_is_copied() {
    let folder = Folder::new();
    let created = folder.create();
    let last = created.configuration.device_blocks_of(0) - 1;
    write(&folder.spindle(0), 100, b"damage");
    write(&folder.spindle(1), last * BLOCK + 100, b"damage");
    write(&folder.log(), 0, &[0; 512]);
    let array = folder.open().unwrap();
    let differ = |position| (position, DeviceProblemKind::CopiesDiffer);
    assert_eq!(kinds(&array.problems), [differ(Some(0)), differ(Some(1)), differ(None)]);
    drop(array);
    assert_eq!(folder.open().unwrap().problems, []);
}

#[test]
fn a_change_of_membership_that_was_cut_off_is_completed() {
    for told in 0..5 {
        let folder = Folder::new();
        folder.create();
        let all = (0..5).map(|at| folder.spindle(at));
        let before: Vec<_> = all.clone().map(|path| label(&path)).collect();
        assembly::mark_failed(&folder.place(), 4).unwrap();
        // All behind the first `told` of them were not told yet.
        for (path, label) in all.zip(before).skip(told) {
            put_label(&path, &label);
        }
        let array = folder.open_degraded().unwrap();
        assert_eq!(array.label.members[4].state, MemberState::Failed, "{told}");
        assert!(array.spindles[..4].iter().all(Option::is_some) && array.spindles[4].is_none());
        drop(array);
        let sequences = [0, 1, 2, 3].map(|at| label(&folder.spindle(at)).sequence);
        // Raised by the change, and twice by the start.
        assert_eq!(sequences, [4; 4]);
    }
}

/// A copy of a device from before the array was started looks right by itself, and lacks what was written since.
#[test]
fn regression_a_copy_from_before_a_start_is_known() {
    let folder = Folder::new();
    folder.create();
    drop(folder.open().unwrap());
    for (path, position) in [(folder.spindle(2), Some(2)), (folder.log(), None)] {
        let copy = fs::read(&path).unwrap();
        drop(folder.open().unwrap());
        let present = fs::read(&path).unwrap();
        fs::write(&path, copy).unwrap();
        let before = folder.contents();
        let error = folder.open().unwrap_err();
        let is_older = |problem: &&assembly::DeviceProblem| {
            problem.position() == position
                && matches!(problem.kind, DeviceProblemKind::Older { .. })
        };
        assert!(error.problems().iter().any(|problem| is_older(&problem)), "{error}");
        assert_eq!(folder.contents(), before);
        match position {
            Some(_) => assert_eq!(look(&folder.place()).unwrap().condition, Condition::Degraded),
            None => assert!(folder.open_degraded().is_err()),
        }
        fs::write(&path, present).unwrap();
        folder.open().unwrap();
    }
}

/// A copy of a device from earlier in the same run has the newest label. A power loss leaves a superblock at most one
/// consistency point behind; two is an old copy.
#[test]
fn regression_a_copy_from_earlier_in_the_same_run_is_known() {
    for behind in 0..4 {
        let folder = Folder::new();
        folder.create();
        let superblock = folder.open().unwrap().superblock.unwrap();
        for position in 0..5 {
            let behind = if position == 2 { behind } else { 0 };
            for consistency_point in [6 - behind, 7 - behind] {
                let superblock = Superblock { consistency_point, ..superblock.clone() };
                let offset = superblock.slot() * BLOCK;
                write(&folder.spindle(position), offset, superblock.encode().bytes());
            }
        }
        let before = folder.contents();
        if behind < 2 {
            assert_eq!(look(&folder.place()).unwrap().condition, Condition::Whole);
            assert_eq!(folder.open().unwrap().problems, []);
            continue;
        }
        let error = folder.open().unwrap_err();
        assert!(matches!(error, AssemblyError::Degraded { usable: 4, .. }), "{error}");
        let stale = DeviceProblemKind::Behind { consistency_point: 7 - behind, newest: 7 };
        assert_eq!(kinds(error.problems()), [(Some(2), stale)]);
        assert!(error.to_string().contains("it is stale"), "{error}");
        let status = look(&folder.place()).unwrap();
        assert_eq!(
            (status.condition, &status.problems[..]),
            (Condition::Degraded, error.problems())
        );
        assert_eq!(folder.contents(), before);
        // From then on it is marked as failed, whatever its superblock says.
        assert_eq!(folder.open_degraded().unwrap().lost(), [2]);
        let newest = Superblock { consistency_point: 7, ..superblock };
        write(&folder.spindle(2), newest.slot() * BLOCK, newest.encode().bytes());
        let error = folder.open().unwrap_err();
        assert_eq!(kinds(error.problems()), [(Some(2), DeviceProblemKind::Failed)]);
    }
}

/// Three of five spindles are old copies: more than parity covers.
#[test]
fn more_old_copies_than_parity_covers_are_not_started() {
    let folder = Folder::new();
    folder.create();
    let superblock = folder.open().unwrap().superblock.unwrap();
    let superblock = Superblock { consistency_point: 2, ..superblock };
    for position in 0..2 {
        let offset = superblock.slot() * BLOCK;
        write(&folder.spindle(position), offset, superblock.encode().bytes());
    }
    let error = folder.open_degraded().unwrap_err();
    assert!(matches!(error, AssemblyError::Unusable { too_many_lost: true, .. }), "{error}");
    assert_eq!(error.problems().len(), 3, "{error}");
    assert_eq!(look(&folder.place()).unwrap().condition, Condition::Unusable);
}

#[test]
fn what_is_no_array_is_said_to_be_none() {
    let folder = Folder::new();
    let open = |place: &ArrayLocation| assembly::open(place, OpenOptions::default()).unwrap_err();
    let error = open(&folder.place());
    assert!(error.to_string().contains("array: "), "{error}");
    fs::create_dir(folder.path("array")).unwrap();
    let error = open(&folder.place());
    assert!(error.to_string().contains("holds no array"), "{error}");
    let blank = folder.device("blank", 1 << 20);
    let error = open(&ArrayLocation::Devices(vec![blank]));
    assert!(error.to_string().contains("blank: it has no label of Strewn"), "{error}");
    fs::write(folder.path("array/array.toml"), "nonsense = 3").unwrap();
    let error = open(&folder.place());
    assert!(error.to_string().contains("array.toml: "), "{error}");
}

#[test]
fn an_array_that_is_open_is_nobody_elses() {
    let folder = Folder::new();
    folder.create();
    let array = folder.open().unwrap();
    let error = folder.open().unwrap_err();
    let named = folder.spindle(0).display().to_string();
    assert!(error.to_string().contains(&format!("{named} is in use")), "{error}");
    let status = look(&folder.place()).unwrap();
    assert_eq!(status.condition, Condition::Whole);
    assert_eq!(status.in_use.unwrap().0, folder.spindle(0));
    assembly::mark_failed(&folder.place(), 1).unwrap_err();
    assembly::destroy(&folder.path("array")).unwrap_err();
    drop(array);
    let read_only = OpenOptions { degraded: false, read_only: true };
    let one = assembly::open(&folder.place(), read_only).unwrap();
    let other = assembly::open(&folder.place(), read_only).unwrap();
    folder.open().unwrap_err();
    drop((one, other));
    assert_eq!(look(&folder.place()).unwrap().in_use, None);
}

/// An array of which nothing says where its data is, or what of it was written, is not whole.
#[test]
fn regression_an_array_without_a_superblock_or_a_map_is_unusable() {
    for (slots, has_map) in [(SUPERBLOCK_SLOTS, true), (INITIALIZATION_MAP_SLOTS, false)] {
        let folder = Folder::new();
        let created = folder.create();
        for (gone, spindle) in created.spindles.iter().enumerate() {
            let status = look(&folder.place()).unwrap();
            assert_eq!(status.condition, Condition::Whole, "{gone} spindles have lost theirs");
            slots.iter().for_each(|slot| write(spindle, slot * BLOCK, &[7; BLOCK as usize]));
        }
        let status = look(&folder.place()).unwrap();
        assert_eq!(status.condition, Condition::Unusable);
        assert_eq!(
            (status.superblock.is_some(), status.has_initialization_map),
            (!has_map, has_map)
        );
    }
}

#[test]
fn an_array_of_another_version_is_refused_with_the_way_out() {
    let folder = Folder::new();
    folder.create();
    for path in (0..5).map(|at| folder.spindle(at)).chain([folder.log()]) {
        write(&path, 8, &[1, 0]);
    }
    let before = folder.contents();
    let error = folder.open().unwrap_err();
    assert!(matches!(error, AssemblyError::NoArray { .. }), "{error}");
    assert!(error.to_string().contains("the label is of format 1.0"), "{error}");
    assert!(error.remedy().contains("the version of Strewn that made the array"), "{error}");
    assert_eq!(folder.contents(), before);
}

#[test]
fn regression_a_pipe_in_place_of_the_list_of_devices_is_an_error_and_is_not_waited_for() {
    let folder = Folder::new();
    folder.create();
    let list = folder.path("array/array.toml");
    fs::remove_file(&list).unwrap();
    let made = std::process::Command::new("mkfifo").arg(&list).status().unwrap();
    assert!(made.success());
    let (sender, receiver) = std::sync::mpsc::channel();
    let place = folder.place();
    std::thread::spawn(move || {
        let opened = assembly::open(&place, OpenOptions::default()).map(|_| ());
        sender.send((opened.unwrap_err(), look(&place).map(|_| ()).unwrap_err())).unwrap();
    });
    let errors = receiver.recv_timeout(std::time::Duration::from_secs(10)).unwrap();
    for error in [errors.0, errors.1] {
        assert!(matches!(error, AssemblyError::ArrayFileUnreadable { .. }), "{error}");
        assert!(error.to_string().ends_with("array.toml: it is not a file"), "{error}");
    }
}

#[test]
fn regression_a_device_that_does_not_start_is_not_whole_either() {
    let folder = Folder::new();
    let created = folder.create();
    assert_eq!(look(&folder.place()).unwrap().condition, Condition::Whole);
    for path in &created.spindles {
        let bytes = fs::metadata(path).unwrap().len();
        fs::OpenOptions::new().write(true).open(path).unwrap().set_len(bytes + 1).unwrap();
    }
    assert!(folder.open().is_err());
    match look(&folder.place()) {
        Ok(report) => assert_ne!(report.condition, Condition::Whole),
        Err(error) => assert!(error.to_string().contains("not whole blocks"), "{error}"),
    }
}
