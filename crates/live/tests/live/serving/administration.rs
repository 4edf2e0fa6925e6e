//! Volumes, LUNs and snapshots of an array that is served.

use std::path::Path;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::mpsc::channel;
use std::thread;
use std::time::{Duration, Instant};

use strewn_base::Rng;
use strewn_live::administration::{Change, ChangeError, Inventory, SnapshotName, VolumeName};
use strewn_live::assembly::{ArrayLocation, OpenOptions, open};
use strewn_live::configuration::{ArrayConfig, LayoutName};
use strewn_live::device::{IoBackend, open_devices};
use strewn_live::engine::{Answer, HostRequest, RequestError, TargetId};
use strewn_live::format::DeviceRole;
use strewn_live::nbd::{Limits, Server};
use strewn_live::serving::{Client, LunExports};
use strewn_live::snapshots::read_image;

use super::{MIB, answer, ask, made, started};
use crate::nbd::client::{ACK, Client as NbdClient, ERR_UNKNOWN, Random};

const BLOCK: usize = 4096;

/// Blocks that a writer writes at once, and those that it has.
const WRITE_BLOCKS: u64 = 16;
const WRITER_BLOCKS: u64 = 512;

fn snapshot(name: &str) -> SnapshotName {
    format!("volume@{name}").parse().unwrap()
}

fn take(client: &Client, name: &str) -> Result<Inventory, ChangeError> {
    let change = Change::TakeSnapshot { snapshot: snapshot(name), taken_unix_seconds: 1_000 };
    client.administer(change)
}

fn delete(client: &Client, name: &str) -> Result<Inventory, ChangeError> {
    client.administer(Change::DeleteSnapshot { snapshot: snapshot(name) })
}

fn names(inventory: &Inventory) -> Vec<&str> {
    inventory.volumes[0].snapshots.iter().map(|snapshot| snapshot.name.as_str()).collect()
}

/// A client that writes its blocks again and again, with a number that grows, in an order drawn from a seed.
struct Writer {
    first_block: u64,
    /// The last number written to each stretch of blocks, as far as that was answered.
    answered: Vec<AtomicU64>,
    /// The last number that was sent.
    sent: AtomicU64,
}

impl Writer {
    fn new(first_block: u64) -> Self {
        let answered = (0..WRITER_BLOCKS / WRITE_BLOCKS).map(|_| AtomicU64::new(0)).collect();
        Self { first_block, answered, sent: AtomicU64::new(0) }
    }

    fn run(&self, client: &Client, mut random: Random, ends: &AtomicBool) {
        while !ends.load(Ordering::Relaxed) {
            let stretch = random.below(self.answered.len() as u64);
            let number = self.sent.fetch_add(1, Ordering::SeqCst) + 1;
            let first_sector = (self.first_block + stretch * WRITE_BLOCKS) * 8;
            let data = number.to_le_bytes().repeat(WRITE_BLOCKS as usize * BLOCK / 8);
            assert_eq!(ask(client, HostRequest::Write { first_sector, data }), Answer::Done);
            self.answered[stretch as usize].store(number, Ordering::SeqCst);
        }
    }

    fn answered(&self) -> Vec<u64> {
        self.answered.iter().map(|number| number.load(Ordering::SeqCst)).collect()
    }
}

/// What a snapshot has to hold: for each writer the numbers that were answered before, and the last sent after.
struct Bounds {
    name: String,
    writers: Vec<(Vec<u64>, u64)>,
}

#[test]
fn snapshots_are_taken_and_deleted_while_clients_write() {
    let directory = tempfile::tempdir().unwrap();
    let directory = directory.path().join("array");
    made(&directory, LayoutName::RaidDp, 4);
    let mut random = Random::new("snapshots while clients write");
    let serving = started(&directory, false).serve().unwrap();
    let writers: Vec<Writer> = (0..4).map(|number| Writer::new(number * WRITER_BLOCKS)).collect();
    let ends = AtomicBool::new(false);
    let mut kept: Vec<Bounds> = Vec::new();
    thread::scope(|scope| {
        for writer in &writers {
            let (client, random, ends) = (serving.client(), random.fork(), &ends);
            scope.spawn(move || writer.run(&client, random, ends));
        }
        let client = serving.client();
        for number in 0..25 {
            thread::sleep(Duration::from_millis(random.below(30)));
            if kept.len() >= 3 {
                let gone = kept.remove(random.below(kept.len() as u64) as usize);
                let inventory = delete(&client, &gone.name).unwrap();
                assert!(!names(&inventory).contains(&gone.name.as_str()));
                assert!(delete(&client, &gone.name).is_err());
            }
            let name = number.to_string();
            let before: Vec<_> = writers.iter().map(Writer::answered).collect();
            let inventory = take(&client, &name).unwrap();
            let after = writers.iter().map(|writer| writer.sent.load(Ordering::SeqCst));
            kept.push(Bounds { name, writers: before.into_iter().zip(after).collect() });
            let expected: Vec<_> = kept.iter().map(|bounds| bounds.name.as_str()).collect();
            assert_eq!(names(&inventory), expected);
            // A status look does not wait for the clients.
            assert_eq!(client.inventory().unwrap().volumes[0].snapshots.len(), kept.len());
        }
        ends.store(true, Ordering::Relaxed);
    });
    let sent: u64 = writers.iter().map(|writer| writer.sent.load(Ordering::SeqCst)).sum();
    assert!(sent > 100, "they wrote {sent} times");
    check_luns(&serving.client(), &writers);
    serving.shut_down().unwrap();

    for bounds in &kept {
        check_image(&directory, bounds);
    }
    let serving = started(&directory, false).serve().unwrap();
    check_luns(&serving.client(), &writers);
    assert_eq!(names(&serving.client().inventory().unwrap()).len(), 3);
    serving.shut_down().unwrap();
    let assembled =
        open(&ArrayLocation::Directory(directory.clone()), OpenOptions::default()).unwrap();
    let config = assembled.configuration.array().unwrap();
    let scrubbed = started_scrub(assembled, &config);
    assert!(scrubbed, "the scrub found something");
}

fn started_scrub(assembled: strewn_live::assembly::AssembledArray, config: &ArrayConfig) -> bool {
    let started = strewn_live::starting::start(assembled, IoBackend::Auto).unwrap();
    started.scrub(config, &mut |_, _| true).unwrap().is_clean()
}

/// What was answered last is there.
fn check_luns(client: &Client, writers: &[Writer]) {
    for writer in writers {
        for (stretch, number) in (0..).zip(writer.answered()) {
            let first = (writer.first_block + stretch * WRITE_BLOCKS) * 8;
            let read = ask(client, HostRequest::Read(first..first + WRITE_BLOCKS * 8));
            let expected = number.to_le_bytes().repeat(WRITE_BLOCKS as usize * BLOCK / 8);
            assert!(read == Answer::Bytes(expected), "stretch {stretch} lacks {number}");
        }
    }
}

/// The snapshot holds everything that was answered before it, and nothing that was sent after it.
fn check_image(directory: &Path, bounds: &Bounds) {
    let options = OpenOptions { degraded: false, read_only: true };
    let assembled = open(&ArrayLocation::Directory(directory.to_owned()), options).unwrap();
    let ArrayConfig::WriteAnywhere(config) = assembled.configuration.array().unwrap() else {
        panic!("an array with snapshots");
    };
    let label = assembled.label_of(DeviceRole::Spindle(0));
    let mut devices = open_devices(assembled.into_devices(), IoBackend::Auto).unwrap();
    let mut found = vec![0; bounds.writers.len() * WRITER_BLOCKS as usize];
    let name = SnapshotName::new(VolumeName::first(), &bounds.name).unwrap();
    let begin = |_| Ok(());
    read_image(&mut devices, &label, &config, (&name, "lun"), begin, |block, bytes| {
        let number = bytes[..8].to_vec();
        assert_eq!(bytes, number.repeat(BLOCK / 8));
        found[block as usize] = u64::from_le_bytes(number.try_into().unwrap());
        Ok(())
    })
    .unwrap();
    for (writer, (before, after)) in bounds.writers.iter().enumerate() {
        for (stretch, before) in before.iter().enumerate() {
            let at = writer * WRITER_BLOCKS as usize + stretch * WRITE_BLOCKS as usize;
            let numbers = &found[at..at + WRITE_BLOCKS as usize];
            assert!(numbers.iter().all(|number| *number == numbers[0]), "a torn write");
            let name = &bounds.name;
            assert!(
                (*before..=*after).contains(&numbers[0]),
                "{name}: {before} {numbers:?} {after}"
            );
        }
    }
}

#[test]
fn changes_that_cannot_be_are_refused_and_the_array_goes_on() {
    let directory = tempfile::tempdir().unwrap();
    let directory = directory.path().join("array");
    made(&directory, LayoutName::RaidDp, 4);
    let serving = started(&directory, false).serve().unwrap();
    let client = serving.client();
    let request = HostRequest::Write { first_sector: 8, data: vec![7; BLOCK] };
    assert_eq!(ask(&client, request), Answer::Done);
    take(&client, "one").unwrap();

    let named = |text: &str| ChangeError::Exists(text.to_owned());
    assert_eq!(take(&client, "one"), Err(named("snapshot volume@one")));
    assert_eq!(delete(&client, "two"), Err(ChangeError::NoSuchSnapshot(snapshot("two"))));
    let change = Change::DeleteSnapshot { snapshot: "other@one".parse().unwrap() };
    let refused = ChangeError::NoSuchVolume("other".parse().unwrap());
    assert_eq!(client.administer(change), Err(refused));
    let (volume, lun) = ("other".parse().unwrap(), "volume/lun".parse().unwrap());
    for (change, message, remedy) in [
        (
            Change::CreateVolume { volume, bytes: Some(1 << 50), thin: false },
            "would promise 1024.0 TiB",
            "--thin",
        ),
        (
            Change::CreateLun { lun: "volume/other".parse().unwrap(), bytes: MIB },
            "does not fit its volume",
            "volume resize",
        ),
        (Change::ResizeLun { lun, bytes: 4_096 }, "smallest possible size is 8 KiB", "unmap"),
        (
            Change::CreateClone { volume: "other".parse().unwrap(), of: snapshot("two") },
            "no snapshot volume@two",
            "snapshot list",
        ),
    ] {
        let refused = client.administer(change).unwrap_err();
        assert!(refused.to_string().contains(message), "{refused}");
        assert!(refused.remedy().contains(remedy), "{}", refused.remedy());
    }

    let inventory = client.inventory().unwrap();
    let volume = &inventory.volumes[0];
    assert_eq!((volume.name.as_str(), volume.bytes, volume.thin), ("volume", 48 * MIB, false));
    let lun = &volume.luns[0];
    assert_eq!((lun.name.as_str(), lun.target, lun.bytes), ("lun", TargetId::FIRST_LUN, 48 * MIB));
    assert_eq!(lun.allocated_bytes, Some(BLOCK as u64));
    assert_eq!(client.target_sectors(TargetId::FIRST_LUN), Some(48 * MIB / 512));
    assert_eq!((names(&inventory), volume.snapshots[0].taken_unix_seconds), (vec!["one"], 1_000));
    assert!(inventory.free_bytes.is_some_and(|free| free > 48 * MIB));
    assert_eq!(ask(&client, HostRequest::Read(8..16)), Answer::Bytes(vec![7; BLOCK]));
    serving.shut_down().unwrap();
    assert_eq!(client.inventory(), None);
    assert!(matches!(take(&client, "two"), Err(ChangeError::Stopped(_))));
}

#[test]
fn an_array_in_place_has_one_lun_and_says_so() {
    let directory = tempfile::tempdir().unwrap();
    let directory = directory.path().join("array");
    made(&directory, LayoutName::Raid5, 2);
    let serving = started(&directory, false).serve().unwrap();
    let client = serving.client();
    assert_eq!(take(&client, "one"), Err(ChangeError::InPlace));
    let inventory = client.inventory().unwrap();
    assert_eq!(inventory.volumes[0].luns[0].bytes, 48 * MIB);
    assert_eq!(inventory.free_bytes, None);
    serving.shut_down().unwrap();
}

#[test]
fn what_clients_have_open_is_neither_deleted_nor_resized() {
    let directory = tempfile::tempdir().unwrap();
    let directory = directory.path().join("array");
    made(&directory, LayoutName::Raid4, 4);
    let serving = started(&directory, false).serve().unwrap();
    let client = serving.client();
    let path = directory.join("lun.sock");
    let exports = LunExports::new(serving.client(), String::new());
    let server = Server::unix(&path, exports, Limits::default()).unwrap();
    let connect = |name: &str| {
        let mut client = NbdClient::connect(&path).greet(3);
        assert_eq!(client.go(name, &[]).last().unwrap().0, ACK, "{name}");
        client
    };
    let mut clients: Vec<_> = ["", "lun", "volume/lun"].into_iter().map(connect).collect();
    let mut looking = NbdClient::connect(&path).greet(3);
    assert_eq!(looking.go("other/lun", &[])[0].0, ERR_UNKNOWN);
    assert_eq!(looking.go("volume/lun@one", &[])[0].0, ERR_UNKNOWN);

    let delete = || client.administer(Change::DeleteLun { lun: "volume/lun".parse().unwrap() });
    for clients_left in [3, 2, 1] {
        let what = "volume/lun".to_owned();
        assert_eq!(delete(), Err(ChangeError::InUse { what, clients: clients_left }));
        // They go on.
        for client in &mut clients {
            client.write(0, &[7; 512]);
        }
        // One that leaves without a word counts no longer.
        drop(clients.pop());
        let begin = Instant::now();
        while matches!(delete(), Err(ChangeError::InUse { clients, .. }) if clients == clients_left)
        {
            assert!(begin.elapsed() < Duration::from_secs(10));
        }
    }
    // What was not deleted is offered still.
    assert_eq!(delete(), Err(ChangeError::Last("LUN".to_owned())));
    assert_eq!(connect("volume/lun").read(0, 512), [7; 512]);
    server.stop();
    serving.shut_down().unwrap();
}

#[test]
fn requests_that_come_during_a_change_wait_and_are_answered() {
    let directory = tempfile::tempdir().unwrap();
    let directory = directory.path().join("array");
    made(&directory, LayoutName::RaidDp, 4);
    let serving = started(&directory, false).serve().unwrap();
    let client = serving.client();
    // Several changes and a shutdown, with requests before, between and after them.
    let (sender, receiver) = channel();
    let mut seed = Rng::new(7);
    thread::scope(|scope| {
        for number in 0..4 {
            let client = &client;
            scope.spawn(move || take(client, &number.to_string()).unwrap());
            for _ in 0..50 {
                let sender = sender.clone();
                let first_sector = seed.below(1_000) * 8;
                let request = HostRequest::Write { first_sector, data: vec![number; BLOCK] };
                let reply = Box::new(move |answer| sender.send(answer).unwrap());
                client.submit(TargetId::FIRST_LUN, request, reply);
            }
        }
    });
    let refused = answer(&client, HostRequest::Read(0..u64::MAX));
    assert!(matches!(refused, Err(RequestError::OutOfRange { .. })));
    serving.shut_down().unwrap();
    drop(sender);
    let answers: Vec<_> = receiver.iter().collect();
    assert_eq!(answers.len(), 200);
    assert!(answers.iter().all(|answer| *answer == Ok(Answer::Done)));
}

/// The name of the variable that turns the test below into its own child.
const IN_A_PROCESS_OF_ITS_OWN: &str = "STREWN_TEST_LUNS_BEYOND_MEMORY";

/// Memory is limited by process, so the test has one of its own.
#[test]
fn regression_a_lun_whose_maps_do_not_fit_memory_is_refused_and_the_array_goes_on() {
    const TEST: &str = "serving::administration::regression_a_lun_whose_maps_do_not_fit_memory_is_refused_and_the_array_goes_on";
    if std::env::var_os(IN_A_PROCESS_OF_ITS_OWN).is_none() {
        let child = std::process::Command::new("sh")
            .args(["-c", "ulimit -v 3000000; exec \"$0\" \"$@\""])
            .arg(std::env::current_exe().unwrap())
            .args(["--exact", "--nocapture", "--test-threads", "1", TEST])
            .env(IN_A_PROCESS_OF_ITS_OWN, "1")
            .output()
            .unwrap();
        let said = String::from_utf8_lossy(&child.stdout) + String::from_utf8_lossy(&child.stderr);
        assert!(child.status.success() && said.contains("1 passed"), "{said}");
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let directory = folder.path().join("array");
    made(&directory, LayoutName::RaidDp, 4);
    let array = started(&directory, false).serve().unwrap();
    let client = array.client();
    let volume: VolumeName = "large".parse().unwrap();
    let lun = || "large/lun".parse().unwrap();
    let bytes = Some(15 << 40);
    client.administer(Change::CreateVolume { volume, bytes, thin: true }).unwrap();
    for bytes in [2 << 40, 15 << 40] {
        let begin = Instant::now();
        let refused = client.administer(Change::CreateLun { lun: lun(), bytes });
        assert!(matches!(refused, Err(ChangeError::Impossible(_))), "{refused:?}");
        assert!(begin.elapsed() < Duration::from_secs(5));
    }
    client.administer(Change::CreateLun { lun: lun(), bytes: 1 << 30 }).unwrap();
    let resized = client.administer(Change::ResizeLun { lun: lun(), bytes: 4 << 40 });
    assert!(matches!(resized, Err(ChangeError::Impossible(_))), "{resized:?}");
    assert_eq!(ask(&client, HostRequest::Flush), Answer::Done);
    array.shut_down().unwrap();
}
