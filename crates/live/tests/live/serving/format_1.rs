//! Stored arrays of format 1: read as they are, upgraded, and used.
//!
//! The Strewn of format 1 made them: blocks written in three rounds, with snapshots between, and killed after the last one,
//! so that the log has what the spindles lack.

use std::fs::{File, read};
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};

use flate2::read::GzDecoder;

use strewn_live::administration::{Change, Inventory};
use strewn_live::assembly::{ArrayLocation, AssemblyError, OpenOptions, open, open_to_upgrade};
use strewn_live::check::check_array;
use strewn_live::configuration::ArrayConfig;
use strewn_live::device::{IoBackend, open_devices};
use strewn_live::engine::{Answer, HostRequest, TargetId};
use strewn_live::format::{DeviceRole, Label, MemberState, Version};
use strewn_live::serving::Client;
use strewn_live::snapshots::read_image;
use strewn_live::starting::start;

const BLOCK: usize = 4096;
const LUN_BLOCKS: usize = 512;

/// A byte for each block, which fills it.
type Image = Vec<u8>;

fn fill(block: usize, round: usize) -> u8 {
    ((block * 7 + round * 31) % 251 + 1) as u8
}

/// The LUN after each of the three rounds.
fn images() -> [Image; 3] {
    let first: Image = (0..LUN_BLOCKS).map(|block| fill(block, 1)).collect();
    let mut second = first.clone();
    (0..LUN_BLOCKS).step_by(2).for_each(|block| second[block] = fill(block, 2));
    second[100..140].fill(0);
    let mut third = second.clone();
    (0..LUN_BLOCKS).step_by(3).for_each(|block| third[block] = fill(block, 3));
    third[300..310].fill(0);
    [first, second, third]
}

fn stored(name: &str, into: &Path) -> PathBuf {
    let archive = format!("{}/tests/data/format-1/{name}.tar.gz", env!("CARGO_MANIFEST_DIR"));
    let archive = GzDecoder::new(File::open(archive).unwrap());
    tar::Archive::new(archive).unpack(into).unwrap();
    into.join(name)
}

fn place(directory: &Path) -> ArrayLocation {
    ArrayLocation::Directory(directory.to_owned())
}

fn whole_block(bytes: &[u8]) -> u8 {
    assert!(bytes.iter().all(|byte| *byte == bytes[0]), "a block of one byte");
    bytes[0]
}

fn image_of(client: &Client, target: TargetId) -> Image {
    let (sender, receiver) = std::sync::mpsc::channel();
    let request = HostRequest::Read(0..LUN_BLOCKS as u64 * 8);
    client.submit(target, request, Box::new(move |answer| sender.send(answer).unwrap()));
    let Answer::Bytes(bytes) = receiver.recv().unwrap().unwrap() else { panic!("no bytes") };
    bytes.chunks(BLOCK).map(whole_block).collect()
}

fn files(directory: &Path) -> Vec<(PathBuf, Vec<u8>)> {
    let entries = std::fs::read_dir(directory).unwrap().map(|entry| entry.unwrap().path());
    let mut files: Vec<_> = entries.map(|path| (path.clone(), read(&path).unwrap())).collect();
    files.sort();
    files
}

/// Nothing is wrong with an array that is not in use.
fn assert_sound(directory: &Path) {
    let options = OpenOptions { degraded: false, read_only: true };
    let assembled = open(&place(directory), options).unwrap();
    let config = assembled.configuration.array().unwrap();
    let label = assembled.label_of(DeviceRole::Spindle(0));
    let mut devices = open_devices(assembled.into_devices(), IoBackend::Auto).unwrap();
    assert_eq!(check_array(&mut devices, &label, &config).findings, []);
}

/// The array has what was written to it, and its snapshots what they had.
fn assert_contents(client: &Client, inventory: &Inventory) {
    let [first, second, third] = images();
    assert!(image_of(client, TargetId::FIRST_LUN) == third);
    let snapshots = &inventory.volumes[0].snapshots;
    for (snapshot, expected) in snapshots.iter().zip([first, second]) {
        let target = snapshot.luns[0].target.unwrap();
        assert!(image_of(client, target) == expected, "{}", snapshot.name);
    }
}

fn upgraded(directory: &Path) {
    let assembled = open_to_upgrade(&place(directory), false).unwrap();
    start(assembled, IoBackend::Auto).unwrap().shut_down().unwrap();
}

#[test]
fn an_array_of_format_1_is_only_read_until_it_is_upgraded() {
    for name in ["raid-dp", "raid-4", "raid-5", "vraid-5"] {
        let directory = tempfile::tempdir().unwrap();
        let directory = stored(name, directory.path());
        let before = files(&directory);
        let writable = OpenOptions { degraded: false, read_only: false };
        let refused = open(&place(&directory), writable).unwrap_err();
        assert!(matches!(refused, AssemblyError::OldFormat { .. }), "{refused}");
        assert!(refused.remedy().contains("strewn array upgrade"), "{}", refused.remedy());
        assert_sound(&directory);
        let options = OpenOptions { degraded: false, read_only: true };
        let assembled = open(&place(&directory), options).unwrap();
        assert_eq!(assembled.label.version, Version { major: 1, minor: 0 });
        let has_snapshots = match assembled.configuration.array().unwrap() {
            ArrayConfig::InPlace(_) => {
                drop(assembled);
                false
            }
            ArrayConfig::WriteAnywhere(config) => {
                let label = assembled.label_of(DeviceRole::Spindle(0));
                let mut devices = open_devices(assembled.into_devices(), IoBackend::Auto).unwrap();
                for (snapshot, expected) in ["volume@monday", "volume@a/b@c"].iter().zip(images()) {
                    let snapshot = (&snapshot.parse().unwrap(), "lun");
                    let mut image = vec![0; LUN_BLOCKS];
                    let begin = |bytes| {
                        assert_eq!(bytes, (LUN_BLOCKS * BLOCK) as u64);
                        Ok(())
                    };
                    read_image(&mut devices, &label, &config, snapshot, begin, |block, bytes| {
                        image[block as usize] = whole_block(bytes);
                        Ok(())
                    })
                    .unwrap();
                    assert!(image == expected);
                }
                true
            }
        };
        assert!(files(&directory) == before, "an array that is only read is written");

        upgraded(&directory);
        let again = open_to_upgrade(&place(&directory), false).unwrap_err();
        assert!(matches!(again, AssemblyError::NotOld { .. }), "{again}");
        assert_sound(&directory);
        let serving = super::started(&directory, false).serve().unwrap();
        let client = serving.client();
        assert_contents(&client, &client.inventory().unwrap());
        if has_snapshots {
            assert_eq!(client.inventory().unwrap().volumes[0].snapshots.len(), 2);
            // It takes what only format 2 has, and keeps what it had.
            let volume = "volume".parse().unwrap();
            client.administer(Change::ResizeVolume { volume, bytes: 3 << 20 }).unwrap();
            let (lun, bytes) = ("volume/new".parse().unwrap(), 1 << 20);
            client.administer(Change::CreateLun { lun, bytes }).unwrap();
            assert_contents(&client, &client.inventory().unwrap());
        }
        drop(client);
        serving.shut_down().unwrap();
        assert_sound(&directory);
        let serving = super::started(&directory, false).serve().unwrap();
        assert_contents(&serving.client(), &serving.client().inventory().unwrap());
        serving.shut_down().unwrap();
    }
}

/// The labels of an array's devices, in the order in which a change of labels writes them.
fn labels(directory: &Path) -> Vec<(PathBuf, Label)> {
    let names = |path: &Path| {
        let name = path.file_name().unwrap().to_string_lossy().into_owned();
        name.starts_with("spindle") || name.starts_with("log")
    };
    let paths = files(directory).into_iter().filter(|(path, _)| names(path));
    paths.map(|(path, bytes)| (path, Label::decode(&bytes[..BLOCK]).unwrap())).collect()
}

#[test]
fn an_upgrade_that_is_interrupted_is_done_again() {
    for name in ["raid-dp", "raid-4", "vraid-5"] {
        let directory = tempfile::tempdir().unwrap();
        let original = labels(&stored(name, directory.path()));
        // All second copies are written, then all first ones.
        for written in 1..2 * original.len() {
            let directory = tempfile::tempdir().unwrap();
            let directory = stored(name, directory.path());
            for (at, (path, label)) in labels(&directory).into_iter().enumerate() {
                let newer = Label { sequence: label.sequence + 1, ..label.clone() };
                let newer = newer.encode().unwrap();
                let device = File::options().write(true).open(path).unwrap();
                let copies = [(at, label.device_blocks - 1), (original.len() + at, 0)];
                for (order, block) in copies {
                    if order < written {
                        device.write_all_at(newer.bytes(), block * BLOCK as u64).unwrap();
                    }
                }
            }
            // It opens as one of either format.
            match open_to_upgrade(&place(&directory), false) {
                Ok(assembled) => start(assembled, IoBackend::Auto).unwrap().shut_down().unwrap(),
                Err(AssemblyError::NotOld { .. }) => {}
                Err(error) => panic!("{name}, {written} writes: {error}"),
            }
            let serving = super::started(&directory, false).serve().unwrap();
            let client = serving.client();
            assert_contents(&client, &client.inventory().unwrap());
            let label = client.look().unwrap().label;
            assert!(label.members.iter().all(|member| member.state == MemberState::Present));
            drop(client);
            serving.shut_down().unwrap();
            assert_sound(&directory);
            assert!(labels(&directory).iter().all(|(_, label)| label.version.major == 2));
        }
    }
}
