//! The store of `examples/persistent_store.rs`, killed at random writes and opened again, with all disks and with two
//! of them missing.
//!
//! `STREWN_KILLS=5000 cargo test --release -p strewn-volume --test volume persistent_store::` kills it that often; 60
//! times without it. A failure prints the seed that repeats it: `STREWN_SEED`.

#[path = "../../examples/persistent_store.rs"]
mod store;

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::io;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::rc::Rc;

use store::{BLOCK, Block, DISK_BLOCKS, DISKS, Disk, Store};
use strewn_base::Rng;
use strewn_volume::{FILE_ATTRIBUTE_BYTES, Fbn, FileId, SnapshotId, VolumeId};

const VOLUME: VolumeId = VolumeId(0);

/// The power supply of all disks: writes and syncs until it fails.
#[derive(Debug)]
struct Power {
    operations_left: u64,
}

/// A disk that forgets, when power fails, some of what was written since its last sync. What it still writes then comes
/// in any order, and the write under way is torn between sectors.
struct CrashDisk {
    durable: Rc<RefCell<Vec<Block>>>,
    /// Since the last sync.
    written: Vec<(u64, Block)>,
    power: Rc<RefCell<Power>>,
    rng: Rng,
}

impl CrashDisk {
    fn use_power(&mut self) -> io::Result<()> {
        let mut power = self.power.borrow_mut();
        if power.operations_left == 0 {
            return Err(io::Error::other("power failed"));
        }
        power.operations_left -= 1;
        Ok(())
    }
}

impl Disk for CrashDisk {
    fn read(&self, block: u64, bytes: &mut Block) -> io::Result<()> {
        let cached = self.written.iter().rev().find(|(at, _)| *at == block);
        *bytes = cached.map_or_else(|| self.durable.borrow()[block as usize], |(_, bytes)| *bytes);
        Ok(())
    }

    fn write(&mut self, block: u64, bytes: &Block) -> io::Result<()> {
        self.use_power()?;
        self.written.push((block, *bytes));
        Ok(())
    }

    fn sync(&mut self) -> io::Result<()> {
        self.use_power()?;
        for (block, bytes) in self.written.drain(..) {
            self.durable.borrow_mut()[block as usize] = bytes;
        }
        Ok(())
    }
}

impl Drop for CrashDisk {
    /// Power is off.
    fn drop(&mut self) {
        let mut written = std::mem::take(&mut self.written);
        while !written.is_empty() {
            let at = self.rng.below(written.len() as u64) as usize;
            let (block, bytes) = written.swap_remove(at);
            let sectors = match self.rng.below(4) {
                0 => 0,
                1 => self.rng.below(9) as usize,
                _ => 8,
            };
            let bytes = &bytes[..sectors * 512];
            self.durable.borrow_mut()[block as usize][..bytes.len()].copy_from_slice(bytes);
        }
    }
}

/// Blocks by file, each with the number of its write, and the lengths of files that have one.
#[derive(Debug, Clone, Default, PartialEq)]
struct Files {
    blocks: BTreeMap<(FileId, Fbn), u64>,
    lengths: BTreeMap<FileId, u64>,
}

/// What a commit leaves: the files, and those of each snapshot.

#[derive(Debug, Clone, Default, PartialEq)]
struct Model {
    files: Files,
    snapshots: BTreeMap<SnapshotId, Files>,
}

/// The attributes that go with a length: a kill must not part them.
fn attributes(length: u64) -> [u8; FILE_ATTRIBUTE_BYTES] {
    [length as u8; FILE_ATTRIBUTE_BYTES]
}

fn contents(version: u64) -> Block {
    let mut block = [0; BLOCK];
    Rng::new(version).fill(&mut block);
    block
}

struct Harness {
    disks: Vec<Rc<RefCell<Vec<Block>>>>,
    rng: Rng,
    versions: u64,
}

impl Harness {
    fn power_on(&mut self, operations: u64) -> Vec<CrashDisk> {
        let power = Rc::new(RefCell::new(Power { operations_left: operations }));
        let disk = |durable: &Rc<RefCell<Vec<Block>>>| CrashDisk {
            durable: Rc::clone(durable),
            written: Vec::new(),
            power: Rc::clone(&power),
            rng: Rng::new(self.rng.bits()),
        };
        self.disks.iter().map(disk).collect()
    }

    /// What the store holds; every block must be one that was written.
    fn read(store: &Store<CrashDisk>, versions: u64) -> Model {
        let known: BTreeMap<[u8; 8], u64> = (0..=versions)
            .map(|version| (contents(version)[..8].try_into().unwrap(), version))
            .collect();
        let files = |at: Option<SnapshotId>| {
            let image = match at {
                Some(snapshot) => store.volumes.image_of(VOLUME, snapshot).unwrap(),
                None => store.volumes.image(VOLUME).unwrap(),
            };
            let places = image
                .files()
                .flat_map(|file| image.blocks_from(file, Fbn(0)).map(move |(fbn, _)| (file, fbn)));
            let length = |file| {
                let length = image.length_of(file);
                assert_eq!(image.attributes_of(file), Some(&attributes(length)), "{file}");
                (length > 0).then_some((file, length))
            };
            let blocks = places
                .map(|(file, fbn)| {
                    let block = store.read(file, fbn, at).unwrap().unwrap();
                    let version = known.get(&block[..8]);
                    let version = *version.unwrap_or_else(|| panic!("{file}, {fbn}: not written"));
                    assert_eq!(block, contents(version), "{file}, {fbn}");
                    ((file, fbn), version)
                })
                .collect();
            Files { blocks, lengths: image.files().filter_map(length).collect() }
        };
        let snapshots = store.volumes.snapshots(VOLUME).unwrap();
        Model {
            files: files(None),
            snapshots: snapshots.map(|snapshot| (snapshot, files(Some(snapshot)))).collect(),
        }
    }

    /// Changes the store and the model at random, and commits both. Returns what the commit would have left if power
    /// failed.
    fn run(&mut self, store: &mut Store<CrashDisk>, committed: &mut Model) -> Model {
        let files: Vec<FileId> = store.volumes.image(VOLUME).unwrap().files().collect();
        loop {
            let mut next = committed.clone();
            if self.rng.below(3) == 0 {
                let snapshot = store.snapshot().unwrap();
                next.snapshots.insert(snapshot, committed.files.clone());
            }
            if next.snapshots.len() > 3 || self.rng.below(8) == 0 {
                let index = self.rng.below(next.snapshots.len().max(1) as u64) as usize;
                if let Some(doomed) = next.snapshots.keys().nth(index).copied() {
                    store.delete_snapshot(doomed).unwrap();
                    next.snapshots.remove(&doomed);
                }
            }
            for _ in 0..self.rng.below(60) {
                let file = files[self.rng.below(files.len() as u64) as usize];
                let fbn = Fbn(self.rng.below(120));
                self.versions += 1;
                store.write(file, fbn, contents(self.versions));
                next.files.blocks.insert((file, fbn), self.versions);
            }
            for file in &files {
                if self.rng.below(3) == 0 {
                    let length = self.rng.bits().max(1);
                    store.describe(*file, length, attributes(length));
                    next.files.lengths.insert(*file, length);
                }
            }
            match store.commit() {
                Ok(()) => *committed = next,
                Err(_) => return next,
            }
        }
    }
}

fn kill_again_and_again(seed: u64, kills: u64) {
    println!("STREWN_SEED={seed}");
    let blank = || Rc::new(RefCell::new(vec![[0; BLOCK]; DISK_BLOCKS as usize]));
    let disks = (0..DISKS).map(|_| blank()).collect();
    let mut harness = Harness { disks, rng: Rng::new(seed), versions: 0 };
    drop(Store::create(harness.power_on(u64::MAX), 3).unwrap());
    let mut committed = Model::default();
    for _ in 0..kills {
        let operations = harness.rng.below(4_000);
        let attempted =
            match Store::open(harness.power_on(operations).into_iter().map(Some).collect()) {
                Ok(mut store) => harness.run(&mut store, &mut committed),
                // Killed while it replayed the log.
                Err(_) => committed.clone(),
            };
        let mut disks: Vec<_> = harness.power_on(0).into_iter().map(Some).collect();
        for _ in 0..harness.rng.below(3) {
            disks[harness.rng.below(DISKS as u64) as usize] = None;
        }
        let is_degraded = disks.iter().any(Option::is_none);
        let is_advanced = is_degraded && {
            let degraded = Store::open(disks).unwrap();
            let found = Harness::read(&degraded, harness.versions);
            assert!(found == committed || found == attempted, "degraded: neither state");
            found == attempted
        };
        let all = harness.power_on(u64::MAX).into_iter().map(Some).collect();
        let store = Store::open(all).unwrap();
        store.volumes.verify().unwrap();
        let found = Harness::read(&store, harness.versions);
        assert!(found == attempted || found == committed && !is_advanced, "neither state");
        committed = found;
        drop(store);
    }
}

#[test]
fn killed_at_any_write_it_has_the_last_commit_or_the_next_also_without_two_disks() {
    let number = |name| std::env::var(name).ok().and_then(|value| value.parse::<u64>().ok());
    if let Some(seed) = number("STREWN_SEED") {
        return kill_again_and_again(seed, 12);
    }
    let time = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap();
    let first = time.as_nanos() as u64 >> 10;
    (0..number("STREWN_KILLS").unwrap_or(60).div_ceil(12))
        .for_each(|run| kill_again_and_again(first.wrapping_add(run), 12));
}

/// The program of the next test.
#[test]
fn child_that_is_killed() {
    let Ok(directory) = std::env::var("STREWN_STORE_DIRECTORY") else { return };
    store::count(Path::new(&directory), u64::MAX >> 1, |count| {
        std::fs::write(Path::new(&directory).join("told"), count.to_string()).unwrap();
    })
    .unwrap();
}

struct Directory(PathBuf);

impl Drop for Directory {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

#[test]
fn a_killed_program_leaves_a_store_that_has_every_commit_it_told() {
    let path = std::env::temp_dir().join(format!("strewn-volume-{}", std::process::id()));
    let directory = Directory(path);
    let store_path = &directory.0;
    store::count(store_path, 1, |_| ()).unwrap();
    for kill in 0..4 {
        let name = "persistent_store::child_that_is_killed";
        let mut child = Command::new(std::env::current_exe().unwrap())
            .args(["--exact", name])
            .env("STREWN_STORE_DIRECTORY", store_path)
            .stdout(Stdio::null())
            .spawn()
            .unwrap();
        std::thread::sleep(std::time::Duration::from_millis(150 + 37 * kill));
        child.kill().unwrap();
        child.wait().unwrap();
        let told = std::fs::read_to_string(store_path.join("told")).unwrap_or_default();
        let told: u64 = told.parse().unwrap_or(1);
        let store = store::open_or_create(store_path).unwrap();
        store.volumes.verify().unwrap();
        let file = store.volumes.image(VOLUME).unwrap().files().next().unwrap();
        let block = store.read(file, Fbn(0), None).unwrap().unwrap();
        let found = u64::from(block[0]) | u64::from(block[1]) << 8;
        assert!(found >= told, "commit {told} was durable, the store has {found}");
    }
}
