//! A mirrored log on real files: damaged, erased, missing, stale and replaced.

use std::fs::{self, OpenOptions};
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};

use strewn_live::assembly::{
    ArrayLocation, AssemblyError, Condition, DeviceProblemKind, MembershipError, NewLog,
    ReplacementDevice, log_to_replace, look, mark_failed, open, open_to_replace,
    prepare_replacement, unused_path,
};
use strewn_live::configuration::LayoutName;
use strewn_live::device::{IoBackend, Space};
use strewn_live::engine::{Answer, HostRequest};
use strewn_live::format::{DeviceRole, Label, MemberState};
use strewn_live::restart::RestartError;
use strewn_live::starting::{StartError, StartedArray, start};

use super::{LogDevices, ask, made_with, open_options};

const BLOCK: usize = 4096;
const WRITES: u64 = 40;

/// The byte that the last write consists of.
const LAST: u8 = 0xa5;

fn log(directory: &Path, name: &str) -> PathBuf {
    directory.join(format!("log-{name}"))
}

fn place(directory: &Path) -> ArrayLocation {
    ArrayLocation::Directory(directory.to_owned())
}

fn copy(from: &Path, to: &Path) {
    fs::create_dir(to).unwrap();
    for entry in fs::read_dir(from).unwrap() {
        let path = entry.unwrap().path();
        fs::copy(&path, to.join(path.file_name().unwrap())).unwrap();
    }
}

fn byte_of(block: u64) -> u8 {
    if block == WRITES { LAST } else { block as u8 + 1 }
}

/// Writes to a new array, and copies its devices while it is served: what a power loss leaves.
fn crashed(folder: &Path, layout: LayoutName) -> PathBuf {
    let (directory, left) = (folder.join("served"), folder.join("left"));
    made_with(&directory, layout, 4, LogDevices::MirroredNewFiles);
    let array = open(&place(&directory), open_options(false)).unwrap();
    let thread = start(array, IoBackend::Auto).unwrap().serve().unwrap();
    for block in 0..=WRITES {
        let data = vec![byte_of(block); BLOCK];
        let request = HostRequest::Write { first_sector: block * 8, data };
        assert_eq!(ask(&thread.client(), request), Answer::Done);
    }
    copy(&directory, &left);
    thread.shut_down().unwrap();
    left
}

fn check(array: StartedArray) {
    let thread = array.serve().unwrap();
    for block in 0..=WRITES {
        let answer = ask(&thread.client(), HostRequest::Read(block * 8..block * 8 + 8));
        assert!(answer == Answer::Bytes(vec![byte_of(block); BLOCK]), "block {block}");
    }
    thread.shut_down().unwrap();
}

fn label(path: &Path) -> Label {
    Label::decode(&fs::read(path).unwrap()[..BLOCK]).unwrap()
}

/// Everything but the labels.
fn erase(path: &Path) {
    let label = label(path);
    let file = OpenOptions::new().write(true).open(path).unwrap();
    file.write_all_at(&vec![0; (label.device_blocks - 2) as usize * BLOCK], BLOCK as u64).unwrap();
}

fn flip_last_record(path: &Path) {
    let bytes = fs::read(path).unwrap();
    let at = bytes.windows(BLOCK).position(|bytes| bytes.iter().all(|byte| *byte == LAST)).unwrap();
    let file = OpenOptions::new().write(true).open(path).unwrap();
    file.write_all_at(&[LAST ^ 4], at as u64 + 1_000).unwrap();
}

#[test]
fn damage_to_one_device_loses_nothing() {
    for layout in [LayoutName::RaidDp, LayoutName::Raid5] {
        let folder = tempfile::tempdir().unwrap();
        let left = crashed(folder.path(), layout);
        for name in ["a", "b"] {
            for is_erased in [false, true] {
                let directory = folder.path().join(format!("{name}-{is_erased}"));
                copy(&left, &directory);
                match is_erased {
                    true => erase(&log(&directory, name)),
                    false => flip_last_record(&log(&directory, name)),
                }
                let array = open(&place(&directory), open_options(false)).unwrap();
                assert_eq!(array.problems, []);
                let array = start(array, IoBackend::Auto).unwrap();
                let told = array.log_warnings().concat();
                assert_eq!(told.contains(&format!("log {name} had lost")), is_erased, "{told}");
                check(array);
                assert_eq!(look(&place(&directory)).unwrap().condition, Condition::Whole);
            }
        }
    }
}

#[test]
fn an_array_starts_without_one_device_and_gets_a_new_one() {
    let folder = tempfile::tempdir().unwrap();
    let left = crashed(folder.path(), LayoutName::RaidDp);
    for (position, name) in ["a", "b"].into_iter().enumerate() {
        let directory = folder.path().join(name);
        copy(&left, &directory);
        let away = folder.path().join(format!("away-{name}"));
        fs::rename(log(&directory, name), &away).unwrap();
        let array = open(&place(&directory), open_options(false)).unwrap();
        let told = array.problems[0].to_string();
        assert!(told.contains(&format!("log {name}")) && told.contains("missing"), "{told}");
        check(start(array, IoBackend::Auto).unwrap());
        let spindle = label(&directory.join("spindle-00"));
        assert_eq!(spindle.logs[position].state, MemberState::Failed);

        // It returns, and is not trusted.
        fs::rename(&away, log(&directory, name)).unwrap();
        let status = look(&place(&directory)).unwrap();
        assert_eq!(status.condition, Condition::Degraded);
        assert_eq!(status.logs[position].path, None);
        assert!(status.problems.iter().any(|one| one.kind == DeviceProblemKind::Failed));
        let array = open(&place(&directory), open_options(false)).unwrap();
        assert!(array.logs[position].is_none());
        drop(array);

        let role = log_to_replace(&place(&directory), None, false, false).unwrap();
        assert_eq!(role, DeviceRole::MirroredLog(position as u16));
        let path = unused_path(&directory, role);
        let by = ReplacementDevice::NewFile { path: path.clone(), space: Space::Sparse };
        let new = NewLog::prepare(&place(&directory), role, &by, false).unwrap();
        assert!(!new.install(&place(&directory), false).unwrap(), "nothing is lost");
        let array = open(&place(&directory), open_options(false)).unwrap();
        assert_eq!(array.problems, []);
        assert_eq!(array.logs[position].as_ref().unwrap().path(), path);
        check(start(array, IoBackend::Auto).unwrap());
        let error = log_to_replace(&place(&directory), None, false, false).unwrap_err();
        assert!(matches!(error, MembershipError::WhichLog), "{error}");
    }
}

/// An addition of spindles that was interrupted leaves names of more spindles than the array has.
#[test]
fn regression_a_missing_log_keeps_its_name_beside_names_of_no_members() {
    let folder = tempfile::tempdir().unwrap();
    let directory = crashed(folder.path(), LayoutName::RaidDp);
    let file = directory.join("array.toml");
    let named = fs::read_to_string(&file).unwrap();
    fs::write(&file, named.replacen("\"]", "\", \"spindle-99\"]", 1)).unwrap();
    fs::remove_file(log(&directory, "b")).unwrap();
    mark_failed(&place(&directory), 0).unwrap();
    let mut array = open_to_replace(&place(&directory), 0, true).unwrap();
    let path = unused_path(&directory, DeviceRole::Spindle(0));
    let by = ReplacementDevice::NewFile { path, space: Space::Sparse };
    prepare_replacement(&place(&directory), &mut array, 0, &by).unwrap();
    let named = fs::read_to_string(&file).unwrap();
    assert!(named.contains("log = [\"log-a\", \"log-b\"]"), "{named}");
    assert!(named.contains("spindles = [\"spindle-00-1\", \"spindle-01\""), "{named}");
}

#[test]
fn damage_to_both_devices_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    let left = crashed(folder.path(), LayoutName::RaidDp);
    for name in ["a", "b"] {
        erase(&log(&left, name));
    }
    let array = open(&place(&left), open_options(false)).unwrap();
    let error = start(array, IoBackend::Auto).err().unwrap();
    assert!(matches!(error, StartError::Restart(RestartError::LogBreaksOff(_))), "{error}");
    for name in ["a", "b"] {
        fs::remove_file(log(&left, name)).unwrap();
    }
    let error = open(&place(&left), open_options(true)).unwrap_err();
    assert!(matches!(error, AssemblyError::Unusable { .. }), "{error}");
}

/// One missing, the other damaged: the missing one must not be given up for that.
#[test]
fn a_missing_device_that_is_needed_is_not_marked_as_failed() {
    let folder = tempfile::tempdir().unwrap();
    let left = crashed(folder.path(), LayoutName::RaidDp);
    let away = folder.path().join("away");
    fs::rename(log(&left, "a"), &away).unwrap();
    erase(&log(&left, "b"));
    let error = open(&place(&left), open_options(false)).unwrap_err();
    assert!(matches!(error, AssemblyError::LogNeeded { .. }), "{error}");
    assert!(error.to_string().contains("log a"), "{error}");
    fs::rename(&away, log(&left, "a")).unwrap();
    check(start(open(&place(&left), open_options(false)).unwrap(), IoBackend::Auto).unwrap());
}

/// A copy of a device from before the last start.
#[test]
fn a_stale_device_is_not_used() {
    let folder = tempfile::tempdir().unwrap();
    let directory = folder.path().join("array");
    made_with(&directory, LayoutName::RaidDp, 4, LogDevices::MirroredNewFiles);
    let copy = fs::read(log(&directory, "a")).unwrap();
    drop(open(&place(&directory), open_options(false)).unwrap());
    fs::write(log(&directory, "a"), copy).unwrap();
    let array = open(&place(&directory), open_options(false)).unwrap();
    assert!(array.logs[0].is_none() && array.logs[1].is_some());
    assert!(matches!(array.problems[0].kind, DeviceProblemKind::Older { .. }));
}

/// The label of a single log has nothing of a mirrored one.
#[test]
fn a_single_log_is_labelled_as_ever() {
    let folder = tempfile::tempdir().unwrap();
    let directory = folder.path().join("array");
    made_with(&directory, LayoutName::RaidDp, 4, LogDevices::NewFile);
    let bytes = fs::read(directory.join("log")).unwrap();
    assert_eq!(bytes[16..24], 2_u64.to_le_bytes());
    assert!(bytes[1216..1536].iter().all(|byte| *byte == 0));
    let text = fs::read_to_string(directory.join("array.toml")).unwrap();
    assert!(text.contains("log = \"log\""), "{text}");
    let error = log_to_replace(&place(&directory), Some(DeviceRole::MirroredLog(1)), false, false);
    assert!(matches!(error, Err(MembershipError::NotMirrored)));
}

/// A copy in the place of the other device leaves a whole log, which nobody must be led to give up.
#[test]
fn regression_a_log_is_not_replaced_while_one_device_is_a_copy_of_the_other() {
    let folder = tempfile::tempdir().unwrap();
    let directory = crashed(folder.path(), LayoutName::Raid4);
    fs::copy(log(&directory, "a"), log(&directory, "b")).unwrap();
    for named in [None, Some(DeviceRole::MirroredLog(0)), Some(DeviceRole::MirroredLog(1))] {
        let error = log_to_replace(&place(&directory), named, false, true).unwrap_err();
        assert!(matches!(error, MembershipError::CopyOfLog { .. }), "{error}");
    }
    fs::remove_file(log(&directory, "b")).unwrap();
    let array = open(&place(&directory), open_options(false)).unwrap();
    check(start(array, IoBackend::Auto).unwrap());
}

/// Where both lack the same records, the command that the refusal names works without naming one of them.
#[test]
fn regression_either_device_is_replaced_if_both_lack_records() {
    let folder = tempfile::tempdir().unwrap();
    let directory = crashed(folder.path(), LayoutName::RaidDp);
    for name in ["a", "b"] {
        erase(&log(&directory, name));
    }
    let role = log_to_replace(&place(&directory), None, false, true).unwrap();
    assert_eq!(role, DeviceRole::MirroredLog(0));
}
