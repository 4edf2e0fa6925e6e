//! A served array on a file system that is full for a while.

use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::mpsc::channel;
use std::thread;
use std::time::{Duration, Instant};

use strewn_live::administration::{Change, ChangeError, SnapshotName};
use strewn_live::assembly::{
    ArrayLocation, CreateOptions, LogDevices, OpenOptions, SpindleDevices, create, open,
};
use strewn_live::configuration::{ArraySpec, LayoutName};
use strewn_live::device::{IoBackend, Space};
use strewn_live::engine::{Answer, HostRequest, RequestError, TargetId};
use strewn_live::serving::Client;
use strewn_live::starting::{StartedArray, start};
use strewn_testing::Missing;

const MIB: u64 = 1 << 20;
const LUN_MIB: u64 = 48;

fn mount(options: &str, at: &Path) -> bool {
    let mounted = Command::new("mount")
        .args(["-t", "tmpfs", "-o", options, "none"])
        .arg(at)
        .stderr(Stdio::null())
        .status();
    mounted.is_ok_and(|status| status.success())
}

fn started(directory: &Path) -> StartedArray {
    let location = ArrayLocation::Directory(directory.to_owned());
    start(open(&location, OpenOptions::default()).unwrap(), IoBackend::Auto).unwrap()
}

fn ask(client: &Client, request: HostRequest) -> Result<Answer, RequestError> {
    let (sender, receiver) = channel();
    client.submit(
        TargetId::FIRST_LUN,
        request,
        Box::new(move |answer| sender.send(answer).unwrap()),
    );
    receiver.recv_timeout(Duration::from_secs(20)).expect("an answer, whatever the devices do")
}

fn bytes(index: u64, round: u64) -> Vec<u8> {
    (0..MIB / 8).flat_map(|word| (word ^ index << 40 ^ round << 56).to_le_bytes()).collect()
}

fn write(client: &Client, index: u64, round: u64) -> Result<Answer, RequestError> {
    ask(client, HostRequest::Write { first_sector: index * 2048, data: bytes(index, round) })
}

fn read(client: &Client, index: u64) -> Vec<u8> {
    match ask(client, HostRequest::Read(index * 2048..(index + 1) * 2048)).unwrap() {
        Answer::Bytes(bytes) => bytes,
        other => panic!("{other:?}"),
    }
}

fn fill_up(mounted: &Path, layout: LayoutName) {
    let directory = mounted.join("array");
    let spec = ArraySpec {
        layout,
        data_spindles: 4,
        spindle_bytes: 32 * MIB,
        lun_bytes: LUN_MIB * MIB,
        log_half_bytes: Some(4 * MIB),
        cache_bytes: Some(8 * MIB),
    };
    let options = CreateOptions {
        directory: directory.clone(),
        spec,
        spindles: SpindleDevices::NewFiles,
        log: LogDevices::NewFile,
        space: Space::Sparse,
        force: false,
    };
    create(&options).unwrap();
    let array = started(&directory).serve().unwrap();
    let client = array.client();
    let mut written = 0;
    let refused = loop {
        match write(&client, written, 1) {
            Ok(_) => written += 1,
            Err(error) => break error,
        }
    };
    assert_eq!(refused, RequestError::NoSpace);
    assert!(written > 0 && written < LUN_MIB);
    assert!(!client.look().unwrap().out_of_space.is_empty());
    // A snapshot needs space, and must not keep clients from reading.
    let snapshot: SnapshotName = "volume@one".parse().unwrap();
    let take = Change::TakeSnapshot { snapshot: snapshot.clone(), taken_unix_seconds: 0 };
    let has_snapshots = layout == LayoutName::RaidDp;
    let refused = client.administer(take.clone()).unwrap_err();
    match has_snapshots {
        true => assert!(matches!(refused, ChangeError::NoSpace(_)), "{refused:?}"),
        false => assert_eq!(refused, ChangeError::InPlace),
    }
    (0..written).for_each(|index| assert!(read(&client, index) == bytes(index, 1)));

    assert!(mount("remount,size=400m", mounted));
    let begin = Instant::now();
    while write(&client, written, 1) == Err(RequestError::NoSpace) {
        assert!(begin.elapsed() < Duration::from_secs(10), "it does not go on");
        thread::sleep(Duration::from_millis(20));
    }
    if has_snapshots {
        client.administer(take).unwrap();
        client.administer(Change::DeleteSnapshot { snapshot }).unwrap();
    }
    (0..LUN_MIB).for_each(|index| assert_eq!(write(&client, index, 2), Ok(Answer::Done)));
    assert!(client.look().unwrap().out_of_space.is_empty());
    array.shut_down().unwrap();
    let array = started(&directory).serve().unwrap();
    (0..LUN_MIB).for_each(|index| assert!(read(&array.client(), index) == bytes(index, 2)));
    array.shut_down().unwrap();
}

pub fn a_served_array_is_read_without_space_and_written_when_there_is_some() -> Result<(), Missing>
{
    for layout in [LayoutName::RaidDp, LayoutName::Raid5] {
        let directory = tempfile::tempdir().unwrap();
        if !mount("size=40m", directory.path()) {
            return Err(Missing::new("no permission to mount a tmpfs", "run as root"));
        }
        let outcome = std::panic::catch_unwind(|| fill_up(directory.path(), layout));
        assert!(Command::new("umount").arg(directory.path()).status().unwrap().success());
        outcome.unwrap();
    }
    Ok(())
}
