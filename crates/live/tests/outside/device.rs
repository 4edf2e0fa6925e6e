//! Devices on a file system that runs full, under a lock that a dead process left, and on a loop device.

use std::io::Read;
use std::os::unix::fs::FileExt;
use std::process::{Command, Stdio};

use strewn_live::device::{
    DeviceFile, IoBackend, IoError, IoRequest, RealDevices, Space, open_devices,
};
use strewn_testing::{Missing, program};

use crate::support::*;

/// Threads, and io_uring where the kernel allows it.
fn backends() -> Vec<IoBackend> {
    let devices: RealDevices = open_devices(Vec::<DeviceFile>::new(), IoBackend::Auto).unwrap();
    match devices.backend() {
        IoBackend::Uring => vec![IoBackend::Uring, IoBackend::Threads],
        _ => vec![IoBackend::Threads],
    }
}

pub fn a_full_file_system_is_no_space() -> Result<(), Missing> {
    let directory = tempfile::tempdir().unwrap();
    let mount = directory.path().join("full");
    std::fs::create_dir(&mount).unwrap();
    let mounted = Command::new("mount")
        .args(["-t", "tmpfs", "-o", "size=1m", "none"])
        .arg(&mount)
        .stderr(Stdio::null())
        .status();
    if !mounted.is_ok_and(|status| status.success()) {
        return Err(Missing::new("no permission to mount a tmpfs", "run as root"));
    }
    let outcome = std::panic::catch_unwind(|| {
        for backend in backends() {
            let path = mount.join("device");
            let file = DeviceFile::create(&path, 1024 * BLOCK, Space::Sparse).unwrap();
            let mut devices = open_devices(vec![file], backend).unwrap();
            let result = ask(&mut devices, 0, write(0, filled(512, 1))).result;
            assert_eq!(result, Err(IoError::NoSpace), "{backend:?}");
            assert_eq!(ask(&mut devices, 0, read(600, 1)).result, Ok(()));
            drop(devices);
            std::fs::remove_file(&path).unwrap();
            let refused = DeviceFile::create(&path, 1024 * BLOCK, Space::Preallocated).unwrap_err();
            assert!(refused.to_string().contains("allocate the space"), "{refused}");
            assert!(!path.exists(), "nothing is left behind");
        }
    });
    assert!(Command::new("umount").arg(&mount).status().unwrap().success());
    outcome.unwrap();
    Ok(())
}

/// The kernel lets go of what a killed process had a little after that has ended.
pub fn what_only_the_dead_have_is_waited_for() -> Result<(), Missing> {
    program(&["flock"], "apt-get install util-linux")?;
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("disk-4");
    drop(DeviceFile::create(&path, 4 * BLOCK, Space::Sparse).unwrap());
    // The lock is that of `flock`, which has ended, and lasts as long as the open file.
    let mut child = Command::new("sh")
        .args(["-c", "exec 9<>\"$0\"; flock 9; echo locked; exec sleep 0.3 >&-"])
        .arg(&path)
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut said = [0; 7];
    child.stdout.take().unwrap().read_exact(&mut said).unwrap();
    assert!(DeviceFile::open(&path).is_ok());
    child.wait().unwrap();
    Ok(())
}

/// A loop device over a file, where this process may make one.
pub fn a_block_device_is_ours_alone() -> Result<(), Missing> {
    let directory = tempfile::tempdir().unwrap();
    let image = directory.path().join("image");
    std::fs::write(&image, vec![0; (5 * BLOCK + 512) as usize]).unwrap();
    let losetup = program(&["losetup"], "apt-get install mount")?;
    let made = Command::new(losetup).args(["--find", "--show"]).arg(&image).output().unwrap();
    if !made.status.success() {
        return Err(Missing::new(
            "no permission to make a loop device",
            "run as root, with the module loop",
        ));
    }
    let name = String::from_utf8(made.stdout).unwrap().trim().to_owned();
    let outcome = std::panic::catch_unwind(|| {
        let file = DeviceFile::open(&name).unwrap();
        assert!(file.is_block_device());
        assert_eq!(file.size_bytes(), 5 * BLOCK, "whole blocks");
        let refused = DeviceFile::open(&name).unwrap_err();
        assert!(refused.to_string().starts_with(&format!("{name} is in use")), "{refused}");
        let mut devices = open_devices(vec![file], IoBackend::Auto).unwrap();
        assert_eq!(ask(&mut devices, 0, write_durably(4, filled(1, 3))).result, Ok(()));
        assert_eq!(ask(&mut devices, 0, IoRequest::Flush).result, Ok(()));
        let mut byte = [0];
        std::fs::File::open(&image).unwrap().read_exact_at(&mut byte, 4 * BLOCK).unwrap();
        assert_eq!(byte, [3]);
    });
    assert!(Command::new("losetup").args(["--detach", &name]).status().unwrap().success());
    outcome.unwrap();
    Ok(())
}
