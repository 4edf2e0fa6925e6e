//! An array on real files that is full, gets another parity group, and uses it.

use std::path::{Path, PathBuf};
use std::sync::mpsc::channel;

use strewn_live::administration::{Change, ChangeError};
use strewn_live::assembly::{
    AddGroupOptions, ArrayLocation, GrownArray, ReplacementDevice, SpindleDevices, open,
    open_to_add_group, open_to_replace, prepare_replacement,
};
use strewn_live::check::check_array;
use strewn_live::configuration::LayoutName;
use strewn_live::device::{IoBackend, Space, open_devices};
use strewn_live::engine::{Answer, HostRequest, TargetId};
use strewn_live::format::DeviceRole;
use strewn_live::serving::Client;
use strewn_live::starting::start;

use super::{MIB, check_all, made, megabyte, open_options, started, write_all};

/// Size of the LUN in the new room, in MiB.
const NEW_LUN: u64 = 60;

fn place(directory: &Path) -> ArrayLocation {
    ArrayLocation::Directory(directory.to_owned())
}

/// RAID-4 of four spindles that are larger than the array's.
fn four_larger_spindles() -> AddGroupOptions {
    AddGroupOptions {
        layout: Some(LayoutName::Raid4),
        data_spindles: Some(3),
        spindle_bytes: Some(40 * MIB),
        spindles: SpindleDevices::NewFiles,
        space: Space::Sparse,
        force: false,
        degraded: false,
    }
}

fn create_new_lun(client: &Client) -> Result<TargetId, ChangeError> {
    let volume = "new".parse().unwrap();
    client.administer(Change::CreateVolume { volume, bytes: Some(NEW_LUN * MIB), thin: false })?;
    let lun = Change::CreateLun { lun: "new/lun".parse().unwrap(), bytes: NEW_LUN * MIB };
    let inventory = client.administer(lun)?;
    Ok(inventory.volumes.last().unwrap().luns[0].target)
}

fn ask(client: &Client, target: TargetId, request: HostRequest) -> Answer {
    let (sender, receiver) = channel();
    client.submit(target, request, Box::new(move |answer| sender.send(answer).unwrap()));
    receiver.recv().unwrap().unwrap()
}

fn write_new(client: &Client, target: TargetId) {
    for index in 0..NEW_LUN {
        let data = megabyte(index, 7);
        let request = HostRequest::Write { first_sector: index * 2_048, data };
        assert_eq!(ask(client, target, request), Answer::Done);
    }
}

fn check_new(client: &Client, target: TargetId) {
    for index in 0..NEW_LUN {
        let request = HostRequest::Read(index * 2_048..(index + 1) * 2_048);
        let answer = ask(client, target, request);
        assert!(answer == Answer::Bytes(megabyte(index, 7)), "megabyte {index}");
    }
}

fn assert_checks_clean(directory: &Path) {
    let options = strewn_live::assembly::OpenOptions { degraded: true, read_only: true };
    let assembled = open(&place(directory), options).unwrap();
    let config = assembled.configuration.array().unwrap();
    let label = assembled.label_of(DeviceRole::Spindle(0));
    let mut devices = open_devices(assembled.into_devices(), IoBackend::Threads).unwrap();
    let report = check_array(&mut devices, &label, &config);
    assert!(report.findings.is_empty(), "{:?}", report.findings);
}

fn spindle(directory: &Path, position: u16) -> PathBuf {
    directory.join(format!("spindle-{position:02}"))
}

#[test]
fn a_full_array_gets_a_group_each_group_loses_spindles_and_is_rebuilt() {
    let directory = tempfile::tempdir().unwrap();
    let directory = directory.path().join("array");
    made(&directory, LayoutName::RaidDp, 3);
    let serving = started(&directory, false).serve().unwrap();
    let client = serving.client();
    write_all(&client, 1);
    let refused = create_new_lun(&client).unwrap_err();
    assert!(matches!(refused, ChangeError::VolumeTooLarge { .. }), "{refused}");
    serving.shut_down().unwrap();

    let GrownArray { array, .. } =
        open_to_add_group(&place(&directory), &four_larger_spindles()).unwrap();
    assert_eq!((array.label.members.len(), array.configuration.spindles()), (9, 9));
    let serving = start(array, IoBackend::Auto).unwrap().serve().unwrap();
    let client = serving.client();
    check_all(&client, 1);
    let new = create_new_lun(&client).unwrap();
    write_new(&client, new);
    write_all(&client, 2);
    serving.shut_down().unwrap();
    assert_checks_clean(&directory);
    // The group holds data: blocks of its spindles are written.
    let written = std::fs::read(spindle(&directory, 5)).unwrap();
    assert!(written[17 * 4096..].iter().any(|byte| *byte != 0));

    // Three spindles are lost, as many as both groups can lose between them.
    for lost in [0, 3, 6] {
        std::fs::remove_file(spindle(&directory, lost)).unwrap();
    }
    let refused = open(&place(&directory), open_options(false)).unwrap_err();
    assert!(refused.to_string().contains("only 6 of its spindles"), "{refused}");
    let serving = started(&directory, true).serve().unwrap();
    let client = serving.client();
    check_all(&client, 2);
    check_new(&client, new);
    write_all(&client, 3);
    serving.shut_down().unwrap();

    // A fourth one would be one too many for the group that has lost one.
    let refused = open_to_replace(&place(&directory), 7, true).unwrap_err();
    assert!(refused.to_string().contains("raid-4 makes 1 lost spindle good"), "{refused}");
    for lost in [6, 0, 3] {
        let mut assembled = open_to_replace(&place(&directory), lost, true).unwrap();
        let path = spindle(&directory, lost);
        let by = ReplacementDevice::NewFile { path, space: Space::Sparse };
        prepare_replacement(&place(&directory), &mut assembled, lost, &by).unwrap();
        let size = std::fs::metadata(spindle(&directory, lost)).unwrap().len() / MIB;
        assert_eq!(size, if lost == 6 { 39 } else { 31 }, "of the size of its group");
        assert!(start(assembled, IoBackend::Auto).unwrap().rebuild(&mut |_| true).unwrap());
    }
    let assembled = open(&place(&directory), open_options(false)).unwrap();
    assert_eq!(assembled.problems, []);
    let config = assembled.configuration.array().unwrap();
    let scrubbed =
        start(assembled, IoBackend::Auto).unwrap().scrub(&config, &mut |_, _| true).unwrap();
    assert!(scrubbed.is_clean() && scrubbed.stripes > 1_000, "{scrubbed:?}");
    assert_checks_clean(&directory);
    let serving = started(&directory, false).serve().unwrap();
    check_all(&serving.client(), 3);
    check_new(&serving.client(), new);
    serving.shut_down().unwrap();
}
