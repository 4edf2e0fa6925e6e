//! Members that fail, are replaced, and arrays that are given up.

use std::fs;

use strewn_live::assembly::{
    self, ChangeError, NewDevice, ProblemKind, mark_failed, prepare_replacement,
};
use strewn_live::device::Space;
use strewn_live::format::MemberState;

use crate::common::{Folder, kinds, label};

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
    assert!(matches!(error, ChangeError::FailedAlready { position: 1 }), "{error}");
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
    let by = NewDevice::Made { path: path.clone(), space: Space::Sparse };
    prepare_replacement(&mut array, 3, &by).unwrap();
    assert_eq!(array.lost(), [3]);
    assert!(array.spindles[3].is_some());
    drop(array);
    // It is there: nobody has to allow that the array goes on with it.
    let mut array = folder.open().unwrap();
    assert_eq!(kinds(&array.problems), [(Some(3), ProblemKind::Rebuilding)]);
    assert_eq!(array.spindles[3].as_ref().unwrap().path(), path);
    array.change_members(|members| members[3].state = MemberState::Present).unwrap();
    drop(array);
    assert_eq!(folder.open().unwrap().problems, []);
}

#[test]
fn a_device_elsewhere_takes_a_place_and_is_named() {
    let folder = Folder::new();
    folder.create();
    let given = |name: &str, force| NewDevice::Given { path: folder.path(name), force };
    folder.device("small", 1 << 20);
    folder.device("new", 64 << 20);
    let mut array = folder.open().unwrap();
    let before = folder.contents();
    let mut refused = |by: NewDevice, position, fragment: &str| {
        let error = prepare_replacement(&mut array, position, &by).unwrap_err();
        assert!(error.to_string().contains(fragment), "no {fragment:?} in {error}");
        assert_eq!(folder.contents(), before);
    };
    refused(given("small", true), 2, "small has 1 MiB");
    refused(given("array/spindle-04", true), 2, "are the same device");
    refused(given("new", true), 5, "there is no spindle 5");
    refused(given("nothing", true), 2, "cannot open it");
    prepare_replacement(&mut array, 2, &given("new", false)).unwrap();
    assembly::name_device(&folder.path("array"), 2, &folder.path("new")).unwrap();
    drop(array);
    let array = folder.open_degraded().unwrap();
    assert_eq!(array.spindles[2].as_ref().unwrap().path(), folder.path("new"));
    assert_eq!(kinds(&array.problems), [(Some(2), ProblemKind::Rebuilding)]);
}

#[test]
fn what_is_not_of_the_array_is_left_when_it_is_destroyed() {
    let folder = Folder::new();
    folder.create();
    fs::write(folder.path("array/notes"), "mine").unwrap();
    let mut foreign = label(&folder.spindle(1));
    foreign.array.0[0] ^= 1;
    crate::common::put_label(&folder.spindle(1), &foreign);
    let destroyed = assembly::destroy(&folder.path("array")).unwrap();
    assert_eq!(destroyed.removed.len(), 5);
    assert_eq!(destroyed.left, [folder.spindle(1)]);
    assert_eq!(fs::read_to_string(folder.path("array/notes")).unwrap(), "mine");
    assert!(assembly::destroy(&folder.path("nowhere")).is_err());
}
