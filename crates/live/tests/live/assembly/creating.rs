//! Arrays that are made, and what is refused.

use std::fs;
use std::os::unix::fs::{PermissionsExt, symlink};

use strewn_live::assembly::{self, LogDevices, MembershipError, SpindleDevices, create};
use strewn_live::configuration::LayoutName;
use strewn_live::device::DeviceFile;
use strewn_live::format::checksum_block;

use super::common::{BLOCK, Folder, label, read, write};

/// Five devices for spindles.
fn given(folder: &Folder) -> Vec<std::path::PathBuf> {
    (0..5).map(|at| folder.device(&format!("d{at}"), 24 << 20)).collect()
}

#[test]
fn every_layout_is_made_and_found_again() {
    for layout in LayoutName::ALL {
        let folder = Folder::new();
        let mut options = folder.options();
        (options.spec.layout, options.spec.data_spindles) = (layout, 5);
        let created = create(&options).unwrap();
        assert_eq!(created.configuration.layout_name(), layout);
        let array = folder.open().unwrap();
        assert_eq!(array.spindles.len(), usize::from(created.configuration.spindles()));
    }
}

#[test]
fn regression_what_the_lun_holds_is_for_its_owner_alone() {
    let folder = Folder::new();
    let created = folder.create();
    for file in created.spindles.iter().chain(&created.logs) {
        let mode = fs::metadata(file).unwrap().permissions().mode();
        assert_eq!(mode & 0o777, 0o600, "{}", file.display());
    }
}

#[test]
fn given_devices_are_made_blank_where_it_matters() {
    let folder = Folder::new();
    let mut options = folder.options();
    let devices = given(&folder);
    for device in &devices {
        write(device, checksum_block(7) * BLOCK, &[7; 4096]);
        write(device, BLOCK, &[8; 4096]);
    }
    let larger = folder.device("larger", 64 << 20);
    let log = folder.device("nvram", 64 << 20);
    write(&log, 2 * BLOCK, &[9; 64]);
    let mut spindles = devices.clone();
    spindles[3] = larger.clone();
    options.spindles = SpindleDevices::Existing(spindles);
    options.log = LogDevices::Existing(log.clone());
    let error = create(&options).unwrap_err();
    assert!(matches!(error, MembershipError::HoldsData { .. }), "{error}");
    options.force = true;
    let created = create(&options).unwrap();
    assert_eq!(created.wasted.len(), 1);
    assert_eq!(created.wasted[0].0, larger);
    assert!(created.wasted[0].1 >= 40 << 20);
    for device in &devices[..3] {
        assert_eq!(read(device, checksum_block(7) * BLOCK, 4096), [0; 4096]);
        assert!(read(device, 2 * BLOCK, 4096) == [0; 4096], "the second superblock");
    }
    assert_eq!(read(&log, 2 * BLOCK, 64), [0; 64]);
    let array = folder.open().unwrap();
    assert_eq!(array.logs[0].as_ref().unwrap().path(), log);
    drop(array);
    // They are not ours to remove.
    let destroyed = assembly::destroy(&folder.path("array")).unwrap();
    assert_eq!((destroyed.removed.len(), destroyed.wiped.len()), (0, 6));
    assert!(devices[0].exists() && !folder.path("array").exists());
}

#[test]
fn what_cannot_be_made_is_refused_and_nothing_is_written() {
    let folder = Folder::new();
    folder.create();
    let devices = given(&folder);
    let small = folder.device("small", 1 << 20);
    symlink(&devices[0], folder.path("link")).unwrap();
    let held = folder.device("held", 24 << 20);
    let holder = DeviceFile::open(&held).unwrap();
    let ext4 = folder.device("ext4", 24 << 20);
    write(&ext4, 1024 + 0x38, &0xef53_u16.to_le_bytes());
    fs::write(folder.path("file"), "").unwrap();
    let before = folder.contents();

    let other = |name: &str| {
        let mut options = folder.options();
        options.directory = folder.path(name);
        options
    };
    let with = |at: usize, device: &str| {
        let mut options = other("other");
        let mut spindles = devices.clone();
        spindles[at] = folder.path(device);
        options.spindles = SpindleDevices::Existing(spindles);
        options
    };
    let mut few = with(0, "d0");
    few.spec.data_spindles = 4;
    let mut large = other("other");
    large.spec.lun_bytes = 1 << 40;
    let mut small_log = with(0, "d0");
    small_log.log = LogDevices::Existing(small);
    let mut log_too = with(0, "d0");
    log_too.log = LogDevices::Existing(folder.path("d4"));
    let mut in_file = other("file");
    in_file.force = true;
    let cases = [
        (folder.options(), "already holds an array: array.toml"),
        (in_file, "file: "),
        (other("no/such"), "the directory above it is not there"),
        (with(1, "d0"), "are the same device"),
        (with(1, "link"), "are the same device"),
        (log_too, "are the same device"),
        (with(1, "missing"), "cannot open it"),
        (with(1, "held"), "held is in use by process"),
        (with(1, "ext4"), "an ext2 file system (at byte 1024)"),
        (with(1, "array/spindle-00"), "a label of Strewn (at byte 0)"),
        (with(1, "array"), "neither a file nor a block device"),
        (few, "5 devices were given for an array of 6 spindles"),
        (large, "a LUN of 1 TiB does not fit"),
        (small_log, "small has 1 MiB, and must have"),
    ];
    for (options, fragment) in cases {
        let error = create(&options).unwrap_err();
        assert!(error.to_string().contains(fragment), "no {fragment:?} in {error}");
        assert!(!error.remedy().is_empty());
        assert_eq!(folder.contents(), before, "{fragment}");
        assert!(!folder.path("other").exists());
    }
    let remedy = create(&with(1, "missing")).unwrap_err().remedy();
    assert!(remedy.contains("truncate --size"), "{remedy}");
    drop(holder);
}

#[test]
fn an_array_that_is_forced_over_another_takes_its_place_unless_that_is_in_use() {
    let folder = Folder::new();
    let first = folder.create();
    let mut options = folder.options();
    options.force = true;
    options.spec.data_spindles = 2;
    let open = folder.open().unwrap();
    let before = folder.contents();
    let error = create(&options).unwrap_err();
    assert!(error.to_string().contains("is in use"), "{error}");
    assert_eq!(folder.contents(), before);
    drop(open);
    let second = create(&options).unwrap();
    assert_ne!(second.array, first.array);
    assert!(!folder.spindle(4).exists());
    assert_eq!(folder.open().unwrap().label.array, second.array);
}

/// However far it came: the log's label is the last that is written.
#[test]
fn an_array_that_was_cut_off_as_it_was_made_does_not_open_and_can_be_destroyed() {
    for labelled in 0..=5 {
        let folder = Folder::new();
        folder.create();
        for position in labelled..5 {
            super::common::take_label(&folder.spindle(position));
        }
        super::common::take_label(&folder.log());
        folder.open_degraded().unwrap_err();
        let error = create(&folder.options()).unwrap_err();
        assert!(matches!(error, MembershipError::HoldsArray { .. }), "{error}");
        let destroyed = assembly::destroy(&folder.path("array")).unwrap();
        assert_eq!(destroyed.removed.len(), 6, "{labelled}");
        assert!(!folder.path("array").exists());
        folder.create();
    }
}

#[test]
fn identities_differ() {
    let folder = Folder::new();
    folder.create();
    let label = label(&folder.spindle(0));
    let mut all: Vec<_> = label.members.iter().map(|member| member.identity).collect();
    all.extend([label.array, label.logs[0].identity]);
    all.sort();
    all.dedup();
    assert_eq!(all.len(), 7);
}
