//! Members that fail, are replaced, and arrays that are given up.

use std::fs;

use strewn_live::assembly::{
    self, AssemblyError, DeviceProblemKind, MembershipError, NewLog, ReplacementDevice,
    mark_failed, open_to_replace, prepare_replacement, unused_path,
};
use strewn_live::device::Space;
use strewn_live::format::{DeviceRole, MemberState, Superblock};

use super::common::{Folder, kinds, label, put_label, read, write};

#[test]
fn spindles_are_marked_as_failed_as_far_as_redundancy_goes() {
    let folder = Folder::new();
    folder.create();
    let failed_before = folder.contents().remove(&folder.spindle(1));
    assert_eq!(mark_failed(&folder.place(), 1).unwrap().sequence, 2);
    assert_eq!(folder.contents().remove(&folder.spindle(1)), failed_before);
    assert_eq!(label(&folder.log()).members[1].state, MemberState::Failed);
    let before = folder.contents();
    let error = mark_failed(&folder.place(), 1).unwrap_err();
    assert!(matches!(error, MembershipError::FailedAlready { position: 1 }), "{error}");
    let error = mark_failed(&folder.place(), 5).unwrap_err();
    assert!(error.to_string().contains("spindles 0 to 4"), "{error}");
    assert_eq!(folder.contents(), before);
    mark_failed(&folder.place(), 0).unwrap();
    let before = folder.contents();
    let error = mark_failed(&folder.place(), 2).unwrap_err();
    let message = error.to_string();
    assert!(message.contains("raid-dp makes 2 lost spindles good"), "{message}");
    assert!(message.contains("spindles 0 and 1 are lost already"), "{message}");
    assert_eq!(folder.contents(), before);
    let array = folder.open_degraded().unwrap();
    assert_eq!(array.lost(), [0, 1]);
}

#[test]
fn a_replacement_is_a_member_that_is_being_rebuilt() {
    let folder = Folder::new();
    folder.create();
    fs::remove_file(folder.spindle(3)).unwrap();
    let mut array = folder.open_degraded().unwrap();
    let path = folder.path("array/spindle-03");
    let by = ReplacementDevice::NewFile { path: path.clone(), space: Space::Sparse };
    prepare_replacement(&folder.place(), &mut array, 3, &by).unwrap();
    assert_eq!(array.lost(), [3]);
    assert!(array.spindles[3].is_some());
    drop(array);
    // It is there: nobody has to allow that the array goes on with it.
    let mut array = folder.open().unwrap();
    assert_eq!(kinds(&array.problems), [(Some(3), DeviceProblemKind::Rebuilding)]);
    assert_eq!(array.spindles[3].as_ref().unwrap().path(), path);
    array.change_members(|members| members[3].state = MemberState::Present).unwrap();
    drop(array);
    assert_eq!(folder.open().unwrap().problems, []);
}

#[test]
fn a_device_elsewhere_takes_a_place_and_is_named() {
    let folder = Folder::new();
    folder.create();
    let given = |name: &str, force| ReplacementDevice::Existing { path: folder.path(name), force };
    folder.device("small", 1 << 20);
    folder.device("new", 64 << 20);
    let mut array = folder.open().unwrap();
    let before = folder.contents();
    let mut refused = |by: ReplacementDevice, position, fragment: &str| {
        let error = prepare_replacement(&folder.place(), &mut array, position, &by).unwrap_err();
        assert!(error.to_string().contains(fragment), "no {fragment:?} in {error}");
        assert_eq!(folder.contents(), before);
    };
    refused(given("small", true), 2, "small has 1 MiB");
    refused(given("array/spindle-04", true), 2, "is a device of this array already");
    refused(given("new", true), 5, "there is no spindle 5");
    refused(given("nothing", true), 2, "cannot open it");
    prepare_replacement(&folder.place(), &mut array, 2, &given("new", false)).unwrap();
    drop(array);
    let array = folder.open_degraded().unwrap();
    assert_eq!(array.spindles[2].as_ref().unwrap().path(), folder.path("new"));
    assert_eq!(kinds(&array.problems), [(Some(2), DeviceProblemKind::Rebuilding)]);
}

/// Devices that have exchanged their names, as block devices may at a boot, keep their places when one is replaced.
#[test]
fn regression_a_replacement_names_the_others_where_they_were_found() {
    let folder = Folder::new();
    folder.create();
    let away = folder.path("away");
    fs::rename(folder.spindle(0), &away).unwrap();
    fs::rename(folder.spindle(1), folder.spindle(0)).unwrap();
    fs::rename(&away, folder.spindle(1)).unwrap();
    let replace = |position| {
        let mut array = open_to_replace(&folder.place(), position, true).unwrap();
        let path = unused_path(&folder.path("array"), DeviceRole::Spindle(position));
        let by = ReplacementDevice::NewFile { path, space: Space::Sparse };
        prepare_replacement(&folder.place(), &mut array, position, &by).unwrap();
        array.change_members(|members| members[usize::from(position)].state = MemberState::Present)
    };
    mark_failed(&folder.place(), 0).unwrap();
    replace(0).unwrap();
    assert_eq!(folder.open().unwrap().problems, []);

    // The name of a device that is missing is taken by another: the one that is left over is where it may return.
    fs::rename(folder.spindle(2), &away).unwrap();
    fs::rename(folder.spindle(3), folder.spindle(2)).unwrap();
    fs::remove_file(folder.spindle(4)).unwrap();
    replace(4).unwrap();
    let named = fs::read_to_string(folder.path("array/array.toml")).unwrap();
    let count = |name: &str| named.matches(&format!("\"{name}\"")).count();
    assert_eq!([count("spindle-02"), count("spindle-03")], [1, 1], "{named}");
    assert_eq!(folder.open_degraded().unwrap().lost(), [2]);
    replace(2).unwrap();
    assert_eq!(folder.open().unwrap().problems, []);
}

/// A log that is lost is replaced where it is not needed, and where what it had is given up.
#[test]
fn a_log_is_replaced() {
    let folder = Folder::new();
    folder.create();
    let directory = folder.path("array");
    let named = |accept_lost_writes| {
        let path = unused_path(&directory, DeviceRole::Log);
        let by = ReplacementDevice::NewFile { path: path.clone(), space: Space::Sparse };
        let new = NewLog::prepare(&folder.place(), DeviceRole::Log, &by, false)?;
        let lost = new.install(&folder.place(), accept_lost_writes)?;
        Ok::<_, MembershipError>((path, lost))
    };
    fs::remove_file(folder.log()).unwrap();
    let error = folder.open_degraded().unwrap_err();
    assert!(error.remedy().contains("replace DIR log"), "{}", error.remedy());
    assert_eq!(named(false).unwrap(), (folder.log(), false));
    folder.open().unwrap();

    // One that is only out of date, of an array that was not shut down.
    for position in 0..5 {
        let slot = read(&folder.spindle(position), 4096, 4096);
        let mut superblock = Superblock::decode(&slot).unwrap();
        superblock.clean = false;
        write(&folder.spindle(position), 4096, superblock.encode().bytes());
    }
    let before = folder.contents();
    let error = named(false).unwrap_err();
    assert!(matches!(error, MembershipError::LogNeeded { consistency_point: 0 }), "{error}");
    assert!(error.remedy().contains("--lose-writes"), "{}", error.remedy());
    assert_eq!(folder.contents(), before);
    assert_eq!(named(true).unwrap(), (folder.path("array/log-1"), true));
    let array = folder.open().unwrap();
    assert_eq!(array.logs[0].as_ref().unwrap().path(), folder.path("array/log-1"));
    drop(array);

    // What does not suit is refused before anything is done; so is to go on without a spindle that may come back.
    let before = folder.contents();
    let prepare = |name: &str, degraded| {
        let by = ReplacementDevice::Existing { path: folder.path(name), force: false };
        NewLog::prepare(&folder.place(), DeviceRole::Log, &by, degraded).map(|_| ())
    };
    folder.device("small", 1 << 20);
    let blank_devices = folder.contents();
    assert!(matches!(prepare("small", false), Err(MembershipError::TooSmall { .. })));
    assert!(matches!(prepare("array/log-1", false), Err(MembershipError::IsMember { .. })));
    assert_eq!(folder.contents(), blank_devices);
    fs::remove_file(folder.path("small")).unwrap();
    assert_eq!(folder.contents(), before);
    fs::rename(folder.spindle(3), folder.path("unplugged")).unwrap();
    let size = fs::metadata(folder.path("array/log-1")).unwrap().len();
    folder.device("large", size);
    let error = prepare("large", false).unwrap_err();
    assert!(matches!(error, MembershipError::Assembly(AssemblyError::Degraded { .. })), "{error}");
    prepare("large", true).unwrap();
    fs::rename(folder.path("unplugged"), folder.spindle(3)).unwrap();
    fs::remove_file(folder.path("large")).unwrap();
    assert_eq!(folder.contents(), before);

    // Nothing of either is left.
    assert_eq!(assembly::destroy(&directory).unwrap().left, [] as [std::path::PathBuf; 0]);
    assert!(!directory.exists());
}

/// One that reads and takes no label any more is to be marked as failed without being written.
#[test]
fn regression_who_is_marked_as_failed_is_not_written() {
    let folder = Folder::new();
    folder.create();
    let before = label(&folder.spindle(3));
    drop(folder.open().unwrap());
    let mut behind = label(&folder.spindle(3));
    behind.sequence -= 1;
    put_label(&folder.spindle(3), &behind);
    mark_failed(&folder.place(), 3).unwrap();
    assert_eq!(label(&folder.spindle(3)), behind);
    assert_ne!(before, behind);
    assert_eq!(folder.open_degraded().unwrap().lost(), [3]);
}

#[test]
fn what_is_replaced_is_not_whole_and_nobody_else_is_given_up() {
    let folder = Folder::new();
    folder.create();
    fs::rename(folder.spindle(4), folder.path("unplugged")).unwrap();
    let before = folder.contents();
    let refused = |position, degraded| {
        let error = open_to_replace(&folder.place(), position, degraded).unwrap_err();
        assert_eq!(folder.contents(), before);
        error
    };
    assert!(matches!(refused(3, false), MembershipError::Whole { position: 3 }));
    assert!(matches!(refused(7, false), MembershipError::NoSuchSpindle { .. }));
    fs::rename(folder.spindle(3), folder.path("unplugged too")).unwrap();
    let before = folder.contents();
    let error = open_to_replace(&folder.place(), 3, false).unwrap_err();
    assert!(error.remedy().contains("--degraded"), "{error}: {}", error.remedy());
    assert_eq!(folder.contents(), before);
    assert_eq!(open_to_replace(&folder.place(), 3, true).unwrap().lost(), [3, 4]);
}

#[test]
fn regression_spindles_that_were_replaced_go_with_the_array() {
    let folder = Folder::new();
    folder.create();
    for _ in 0..2 {
        mark_failed(&folder.place(), 1).unwrap();
        let mut array = folder.open_degraded().unwrap();
        let path = unused_path(&folder.path("array"), DeviceRole::Spindle(1));
        let by = ReplacementDevice::NewFile { path: path.clone(), space: Space::Sparse };
        prepare_replacement(&folder.place(), &mut array, 1, &by).unwrap();
    }
    assert!(folder.path("array/spindle-01-2").exists());
    // Without the list they are found by their names.
    fs::rename(folder.path("array/array.toml"), folder.path("list")).unwrap();
    let array = folder.open().unwrap();
    assert_eq!(array.spindles[1].as_ref().unwrap().path(), folder.path("array/spindle-01-2"));
    drop(array);
    fs::rename(folder.path("list"), folder.path("array/array.toml")).unwrap();
    // One that only has such a name is somebody's.
    fs::write(folder.path("array/log-20261101"), "mine").unwrap();
    let destroyed = assembly::destroy(&folder.path("array")).unwrap();
    assert_eq!(destroyed.left, [folder.path("array/log-20261101")]);
    assert_eq!(destroyed.removed.len(), 8);
    assert_eq!(fs::read_dir(folder.path("array")).unwrap().count(), 1);
    // It does not keep an array from being made there, and stays.
    folder.create();
    assembly::create(&assembly::CreateOptions { force: true, ..folder.options() }).unwrap();
    assert_eq!(fs::read(folder.path("array/log-20261101")).unwrap(), b"mine");
}

#[test]
fn what_is_not_of_the_array_is_left_when_it_is_destroyed() {
    let folder = Folder::new();
    folder.create();
    fs::write(folder.path("array/notes"), "mine").unwrap();
    let mut foreign = label(&folder.spindle(1));
    foreign.array.0[0] ^= 1;
    super::common::put_label(&folder.spindle(1), &foreign);
    let destroyed = assembly::destroy(&folder.path("array")).unwrap();
    assert_eq!(destroyed.removed.len(), 5);
    assert_eq!(destroyed.left, [folder.spindle(1)]);
    assert_eq!(fs::read_to_string(folder.path("array/notes")).unwrap(), "mine");
    assert!(assembly::destroy(&folder.path("nowhere")).is_err());
}
