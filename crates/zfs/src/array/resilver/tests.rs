use std::collections::HashMap;

use strewn_array::{
    Acknowledge, Array, DataLost, Direction, Driver, Durability, HostOperation, LogRecord, Logged,
    LunId, OperationId, ProcessorWork, SpindleCommand,
};
use strewn_base::Rng;
use strewn_base::state::{SavedState, StateReader, StateWriter};
use strewn_raid::SpindleIndex;

use super::*;
use crate::fragmentation::Version;
use crate::vdev::{LABEL_START_BYTES, Redundancy};
use crate::{Draid, VolumeConfig, ZfsConfig};

const BLOCK_BYTES: u32 = 16 << 10;

/// Drives that complete commands in a random order, and remember what was written since a spare came.
#[derive(Clone, Default)]
struct Drives {
    commands: Vec<SpindleCommand<()>>,
    timer_ns: Option<u64>,
    acknowledged: Vec<u32>,
    /// How often each sector of a new drive has been written.
    new: HashMap<u16, HashMap<u64, u32>>,
    /// How often each sector of any drive has been written since this was cleared.
    written: HashMap<(u16, u64), u32>,
    reads: u64,
    writes: u64,
}

impl Durability for Drives {}

impl Driver<()> for Drives {
    fn processor(&mut self, _: ProcessorWork, _: u64) {}

    fn command(&mut self, command: SpindleCommand<()>) {
        let (first, last) =
            (command.first_sector, command.first_sector + u64::from(command.sectors) - 1);
        match command.direction {
            Direction::Read => self.reads += 1,
            Direction::Write => self.writes += 1,
        }
        if command.direction == Direction::Write {
            for sector in first..=last {
                *self.written.entry((command.spindle.0, sector)).or_default() += 1;
            }
        }
        if let Some(written) = self.new.get_mut(&command.spindle.0) {
            match command.direction {
                Direction::Write => {
                    (first..=last).for_each(|sector| *written.entry(sector).or_default() += 1);
                }
                // Between them may be gaps, which are read and dropped.
                Direction::Read => assert!(
                    written.contains_key(&first) && written.contains_key(&last),
                    "{command:?} reads what is not there"
                ),
            }
        }
        self.commands.push(command);
    }

    fn acknowledge(&mut self, operation: OperationId, _: Acknowledge, _: ()) {
        self.acknowledged.push(operation.0);
    }

    fn set_timer(&mut self, at_ns: u64) {
        self.timer_ns = Some(at_ns);
    }

    fn take_spare(&mut self, spindle: SpindleIndex) {
        self.new.insert(spindle.0, HashMap::new());
    }

    fn log(&mut self, _: OperationId, record: LogRecord, _: &()) -> Logged {
        unreachable!("{record:?}")
    }

    fn consistency_point_begins(&mut self) {}

    fn consistency_point_ends(&mut self) {}
}

struct Harness {
    array: ZfsArray,
    drives: Drives,
    rng: Rng,
    now_ns: u64,
    operations: u32,
}

fn raid_z(drives: u8, parity: u8) -> Redundancy {
    Redundancy::RaidZ { drives, parity }
}

fn config(redundancy: Redundancy, vdevs: usize, spares: u16) -> ZfsConfig {
    // With rows of 1 MiB, blocks of dRAID are in many groups.
    let scale_down = if matches!(redundancy, Redundancy::Draid(_)) { 16 } else { 1 };
    let vdev = Vdev { redundancy, ashift: 12, drive_bytes: 256 << 20, scale_down };
    ZfsConfig {
        version: Version::default(),
        dirty_limit_bytes: 4 << 20,
        txg_interval_ns: 100_000_000,
        prefetch_bytes: 0,
        spares,
        seed: 1,
        ..ZfsConfig::new(
            vec![vdev; vdevs],
            vec![VolumeConfig::filled(32 << 20, BLOCK_BYTES)],
            8 << 20,
        )
    }
}

impl Harness {
    fn new(config: ZfsConfig, seed: u64) -> Self {
        let mut array = ZfsArray::new(config).unwrap();
        // So that a scan of few blocks takes several passes.
        array.resilver.scan_bytes = 256 << 10;
        Self { array, drives: Drives::default(), rng: Rng::new(seed), now_ns: 0, operations: 0 }
    }

    /// A host reads or writes some blocks.
    fn operate(&mut self) {
        let volume = self.array.config.volumes[0];
        let in_block = u64::from(BLOCK_BYTES) / SECTOR_BYTES;
        let blocks = volume.bytes / u64::from(BLOCK_BYTES);
        let first = self.rng.below(blocks - 4);
        let direction = if self.rng.below(2) == 0 { Direction::Read } else { Direction::Write };
        let operation = HostOperation {
            id: OperationId(self.operations),
            lun: LunId(self.rng.below(self.array.config.volumes.len() as u64) as u16),
            direction,
            first_sector: first * in_block + self.rng.below(2) * 8,
            sectors: (1 + self.rng.below(4)) as u32 * in_block as u32 - 8,
            payload: (),
        };
        self.operations += 1;
        self.array.host_operation(self.now_ns, operation, &mut self.drives);
    }

    /// A command is done, or the timer fires. Returns whether there was either.
    fn step(&mut self) -> bool {
        self.now_ns += 1 + self.rng.below(200_000);
        let is_timer = self.drives.timer_ns.is_some_and(|at_ns| at_ns <= self.now_ns);
        if !is_timer && !self.drives.commands.is_empty() {
            let at = self.rng.below(self.drives.commands.len() as u64) as usize;
            let command = self.drives.commands.swap_remove(at);
            self.array.command_completed(self.now_ns, command.tag, (), &mut self.drives);
        } else if let Some(at_ns) = self.drives.timer_ns.take() {
            self.now_ns = self.now_ns.max(at_ns);
            self.array.timer_fired(self.now_ns, &mut self.drives);
        } else {
            return false;
        }
        true
    }

    fn fail(&mut self, drive: u16) -> Result<(), DataLost> {
        let spindle = SpindleIndex(drive);
        self.drives.new.remove(&drive);
        let commands = std::mem::take(&mut self.drives.commands);
        let (failed, others) = commands.into_iter().partition(|command| command.spindle == spindle);
        self.drives.commands = others;
        self.array.spindle_failed(self.now_ns, spindle, &mut self.drives)?;
        for command in failed {
            self.array.command_failed(self.now_ns, command, &mut self.drives);
        }
        Ok(())
    }

    /// Runs, under a load if there is one, until nothing is resilvered or scrubbed.
    fn resilver(&mut self, load: bool) {
        for step in 0.. {
            assert!(step < 10_000_000, "it never ends");
            if load && self.operations as usize - self.drives.acknowledged.len() < 16 {
                self.operate();
            }
            self.step();
            if !self.array.is_scanning() {
                break;
            }
        }
    }

    fn finish(&mut self) {
        while self.step() {}
        assert_eq!(self.operations as usize, self.drives.acknowledged.len());
        assert!(self.array.resilver.pieces.is_empty());
    }

    fn age(&mut self, operations: u32) {
        for _ in 0..operations {
            self.operate();
            while self.operations as usize - self.drives.acknowledged.len() > 16 {
                assert!(self.step());
            }
        }
        self.finish();
    }

    /// Each block has its column on a new drive: written once by the resilver if it was there before, else by its
    /// transaction group.
    fn assert_on(&self, drive: u16, since_txg: u64, case: &str) {
        let written = &self.drives.new[&drive];
        let vdev = self.array.drives.vdev_of(drive);
        let in_vdev = drive - self.array.drives.first_of(vdev as u16);
        let shape = self.array.config.vdevs[vdev];
        let volumes = &self.array.space.volumes;
        let mut old = 0;
        let blocks =
            volumes.iter().flat_map(|of| of.blocks().iter().enumerate().map(move |at| (of, at)));
        for (volume, (number, block)) in blocks {
            let (of_vdev, offset) = block.place();
            if usize::from(of_vdev) != vdev {
                continue;
            }
            let is_old = u64::from(volume.birth(number as u32)) < since_txg;
            old += u32::from(is_old);
            let places = match shape.striped() {
                None => vec![(offset, u64::from(BLOCK_BYTES))],
                Some(striped) => {
                    let stripes = striped.stripes(offset, BLOCK_BYTES.into());
                    let columns = stripes.flat_map(|of| of.parity().chain(of.full_data()));
                    let here = columns.filter(|column| u16::from(column.drive) == in_vdev);
                    here.map(|column| (column.first_sector << 12, u64::from(column.sectors) << 12))
                        .collect()
                }
            };
            for (byte, bytes) in places {
                let first = (LABEL_START_BYTES + byte) / SECTOR_BYTES;
                for sector in first..first + bytes / SECTOR_BYTES {
                    let times = written.get(&sector).copied().unwrap_or(0);
                    let is_right = if is_old { times == 1 } else { times >= 1 };
                    assert!(is_right, "{case}: sector {sector} of block {number}: {times} times");
                }
            }
        }
        assert!(old > 0, "{case}: the test is about blocks that are resilvered");
    }
}

/// All kinds of vdevs, with the drives of each that are to fail at once.
const KINDS: [(Redundancy, usize); 6] = [
    (Redundancy::Mirror { drives: 2 }, 2),
    (Redundancy::Mirror { drives: 3 }, 1),
    (Redundancy::RaidZ { drives: 4, parity: 1 }, 1),
    (Redundancy::RaidZ { drives: 6, parity: 2 }, 1),
    (Redundancy::RaidZ { drives: 9, parity: 2 }, 2),
    (Redundancy::RaidZ { drives: 7, parity: 3 }, 1),
];

fn draid(children: u8, data: u8, parity: u8, spares: u8) -> Redundancy {
    Redundancy::Draid(Draid { children, data, parity, spares })
}

impl Harness {
    /// Each column that was on a failed drive is where its distributed spares lead: written there once by the rebuild,
    /// or with its transaction group.
    fn assert_on_spare(&self, drive: u8, since_txg: u64, case: &str) {
        let (drives, volume) = (&self.array.drives, &self.array.space.volumes[0]);
        let striped = self.array.config.vdevs[0].striped().unwrap();
        let mut old = 0;
        for (number, block) in volume.blocks().iter().enumerate() {
            let (_, offset) = block.place();
            let is_old = u64::from(volume.birth(number as u32)) < since_txg;
            let stripes = striped.stripes(offset, BLOCK_BYTES.into());
            for column in stripes.flat_map(|of| of.parity().chain(of.full_data())) {
                if column.drive != drive {
                    continue;
                }
                old += u32::from(is_old);
                let on = drives.drive_of(0, &column);
                assert_ne!(on, drive.into(), "{case}");
                for sector in 0..u64::from(column.sectors) * 8 {
                    let sector =
                        (LABEL_START_BYTES / SECTOR_BYTES) + column.first_sector * 8 + sector;
                    let times = self.drives.written.get(&(on, sector)).copied().unwrap_or(0);
                    let is_right = if is_old { times == 1 } else { times >= 1 };
                    assert!(is_right, "{case}: drive {on}, sector {sector}: {times} times");
                }
            }
        }
        assert!(old > 0, "{case}: the test is about blocks that are rebuilt");
    }
}

/// One drive after the other fails: each takes the next spare, also if it stood in for the one before.
#[test]
fn a_distributed_spare_gets_each_column_of_the_failed_drive() {
    let kinds = [draid(11, 4, 2, 1), draid(20, 8, 1, 2), draid(12, 3, 3, 3), draid(7, 4, 1, 2)];
    for (seed, redundancy) in (0..16).zip(kinds.into_iter().cycle()) {
        let (case, load) = (format!("seed {seed}: {redundancy:?}"), seed % 8 >= 4);
        let mut harness = Harness::new(config(redundancy, 1, 0), seed);
        let operations = harness.rng.below(200) as u32;
        harness.age(operations);
        let Redundancy::Draid(Draid { children, spares, .. }) = redundancy else { unreachable!() };
        let mut failed = Vec::new();
        for spare in 0..spares {
            let drive = loop {
                let drive = harness.rng.below(children.into()) as u8;
                if !failed.contains(&drive) {
                    break drive;
                }
            };
            failed.push(drive);
            harness.drives.written.clear();
            harness.fail(drive.into()).unwrap();
            while !harness.array.drives.is_spared(drive.into()) {
                assert!(harness.step(), "{case}");
            }
            let since_txg = harness.array.space.pool.txg();
            while harness.array.failures()[usize::from(spare)].rebuilt_ns.is_none() {
                if load && harness.operations as usize - harness.drives.acknowledged.len() < 16 {
                    harness.operate();
                }
                assert!(harness.step(), "{case}");
            }
            // A scrub follows, which writes nothing.
            harness.resilver(false);
            harness.finish();
            harness.assert_on_spare(drive, since_txg, &case);
            let counters = harness.array.counters();
            assert!(counters.rebuild_writes > 0 && counters.rebuild_reads > 0, "{case}");
            assert_eq!(counters.spindle_reads(), harness.drives.reads, "{case}");
            assert_eq!(counters.spindle_writes(), harness.drives.writes, "{case}");
        }
        // No new drive has come.
        assert!(failed.iter().all(|drive| !harness.drives.new.contains_key(&u16::from(*drive))));
    }
}

/// Reads of what a rebuilt drive had go to one drive for each column again.
#[test]
fn reads_of_a_rebuilt_drive_need_no_parity() {
    let mut harness = Harness::new(config(draid(11, 4, 2, 1), 1, 0), 3);
    harness.fail(4).unwrap();
    harness.age(200);
    let degraded = harness.array.counters().degraded_reads;
    assert!(degraded > 0);
    harness.resilver(false);
    harness.finish();
    let before = *harness.array.counters();
    harness.age(200);
    let since = harness.array.counters().since(&before);
    assert_eq!((since.degraded_reads, since.recovery_reads), (0, 0));
}

#[test]
fn draid_loses_data_beyond_parity_and_spares() {
    for seed in 0..8 {
        let case = format!("seed {seed}");
        let mut harness = Harness::new(config(draid(11, 4, 2, 1), 1, 0), seed);
        harness.age(50);
        harness.fail(0).unwrap();
        if seed % 2 == 0 {
            // One is on the spare, two more may fail.
            harness.resilver(true);
        }
        harness.fail(1).unwrap();
        let third = harness.fail(2);
        if seed % 2 == 0 {
            third.unwrap();
            let lost = harness.fail(3).unwrap_err();
            assert!(lost.stripes > 0 && lost.stripes < lost.stripes_in_all, "{case}: {lost:?}");
        } else {
            let lost = third.unwrap_err();
            assert!(lost.stripes > 0 && lost.stripes < lost.stripes_in_all, "{case}: {lost:?}");
        }
    }
}

/// Without a distributed spare, or with none left, a hot spare takes a drive's place.
#[test]
fn a_hot_spare_replaces_a_drive_of_draid() {
    for (seed, kind) in [(1, ResilverKind::Healing), (2, ResilverKind::Sequential)] {
        let pool = config(draid(11, 4, 2, 0), 1, 1);
        let mut harness = Harness::new(ZfsConfig { resilver: kind, ..pool }, seed);
        harness.age(100);
        harness.fail(5).unwrap();
        harness.resilver(false);
        harness.finish();
        harness.assert_on(5, u64::MAX, &format!("{kind:?}"));
    }
}

#[test]
fn a_new_drive_gets_each_column_once() {
    for (seed, (redundancy, vdevs)) in (0..24).zip(KINDS.into_iter().cycle()) {
        let case = format!("seed {seed}: {vdevs} of {redundancy:?}");
        let load = seed % 2 == 0;
        let mut config = config(redundancy, vdevs, 1);
        if seed % 3 == 2 {
            // A clone, whose number is before its origin's.
            config.volumes.insert(0, VolumeConfig { clone_of: Some(1), ..config.volumes[0] });
        }
        let mut harness = Harness::new(config, seed);
        let operations = harness.rng.below(300) as u32;
        harness.age(operations);
        for _ in 0..if load { harness.rng.below(200) } else { 0 } {
            harness.operate();
            harness.step();
        }
        let drives = u64::from(harness.array.spindles());
        let drive = harness.rng.below(drives) as u16;
        harness.fail(drive).unwrap();
        while !harness.drives.new.contains_key(&drive) {
            assert!(harness.step(), "{case}");
        }
        let since_txg = harness.array.space.pool.txg();
        harness.resilver(load);
        let counters = *harness.array.counters();
        assert!(counters.rebuild_writes > 0 && counters.rebuild_reads > 0, "{case}");
        let failure = harness.array.failures()[0];
        assert!(failure.rebuilt_ns.is_some() && failure.rebuilt == 1.0, "{case}: {failure:?}");
        harness.finish();
        harness.assert_on(drive, since_txg, &case);
        let counters = harness.array.counters();
        assert_eq!(counters.spindle_reads(), harness.drives.reads, "{case}");
        assert_eq!(counters.spindle_writes(), harness.drives.writes, "{case}");
    }
}

#[test]
fn a_sequential_rebuild_copies_what_is_allocated_and_scrubs() {
    for seed in 0..6 {
        let case = format!("seed {seed}");
        let drives = 2 + (seed % 2) as u8;
        let sequential = ResilverKind::Sequential;
        let mirrors = config(Redundancy::Mirror { drives }, 2, 1);
        let mut harness = Harness::new(ZfsConfig { resilver: sequential, ..mirrors }, seed);
        harness.age(300);
        harness.fail(1).unwrap();
        let load = seed >= 3;
        harness.resilver(load);
        let failure = harness.array.failures()[0];
        assert!(failure.rebuilt_ns.is_some_and(|at_ns| at_ns < harness.now_ns), "{case}");
        let counters = *harness.array.counters();
        assert!(counters.rebuild_reads > counters.rebuild_writes, "{case}: a scrub follows");
        harness.finish();
        if !load {
            harness.assert_on(1, u64::MAX, &case);
        }
    }
}

#[test]
fn without_a_spare_the_pool_stays_degraded() {
    let mut harness = Harness::new(config(raid_z(6, 2), 1, 0), 1);
    harness.fail(3).unwrap();
    harness.age(500);
    let failure = harness.array.failures()[0];
    assert_eq!((failure.rebuild_began_ns, failure.rebuilt), (None, 0.0));
    let counters = harness.array.counters();
    assert!(counters.degraded_reads > 0 && counters.recovery_reads > 0);
    assert_eq!(counters.spindle_reads(), harness.drives.reads);
    assert_eq!(counters.rebuild_writes, 0);
}

fn commands_of_a_resilver(operations: u32) -> u64 {
    let mut harness = Harness::new(config(raid_z(6, 2), 1, 1), 7);
    harness.age(operations);
    harness.fail(2).unwrap();
    harness.resilver(false);
    harness.array.counters().rebuild_reads + harness.array.counters().rebuild_writes
}

#[test]
fn an_aged_pool_takes_more_commands() {
    let (fresh, aged) = (commands_of_a_resilver(0), commands_of_a_resilver(3_000));
    assert!(aged > 2 * fresh, "fresh {fresh}, aged {aged}");
}

/// Steps until about this share of the drive is resilvered.
fn resilver_until(harness: &mut Harness, share: f64, failure: usize) {
    while harness.array.failures()[failure].rebuilt < share {
        if harness.operations as usize - harness.drives.acknowledged.len() < 8 {
            harness.operate();
        }
        assert!(harness.step());
    }
}

#[test]
fn one_more_failure_during_a_resilver_loses_nothing_and_a_third_loses_what_is_left() {
    for seed in 0..20 {
        let case = format!("seed {seed}");
        let mut harness = Harness::new(config(raid_z(6, 2), 1, 3), seed);
        harness.age(200);
        harness.fail(0).unwrap();
        let share = harness.rng.below(100) as f64 / 125.0 + 0.01;
        resilver_until(&mut harness, share, 0);
        harness.fail(1).unwrap();
        if seed % 2 == 0 {
            harness.resilver(true);
            harness.finish();
            for failure in harness.array.failures() {
                assert!(failure.rebuilt_ns.is_some(), "{case}: {failure:?}");
            }
            // All is there again: two more may fail.
            harness.fail(4).unwrap();
            harness.fail(5).unwrap();
        } else {
            let lost = harness.fail(2).unwrap_err();
            assert_eq!(lost.spindles, [0, 1, 2].map(SpindleIndex), "{case}");
            // Blocks that are resilvered on the first drive, or written since, are not lost.
            let left = lost.stripes as f64 / lost.stripes_in_all as f64;
            assert!(left > 0.0 && left < 1.05 - share * 0.9, "{case}: {share} {lost:?}");
        }
    }
}

#[test]
fn a_drive_that_fails_again_begins_again() {
    for seed in 0..6 {
        let mut harness = Harness::new(config(raid_z(6, 2), 1, 2), seed);
        harness.age(100);
        harness.fail(0).unwrap();
        resilver_until(&mut harness, 0.5, 0);
        harness.fail(0).unwrap();
        while !harness.drives.new.contains_key(&0) {
            assert!(harness.step());
        }
        let since_txg = harness.array.space.pool.txg();
        harness.resilver(true);
        harness.finish();
        harness.assert_on(0, since_txg, &format!("seed {seed}"));
        assert!(harness.array.failures().iter().all(|failure| !failure.is_open()));
    }
}

#[test]
fn a_mirror_loses_what_is_not_resilvered() {
    for kind in [ResilverKind::Healing, ResilverKind::Sequential] {
        let mirror = config(Redundancy::Mirror { drives: 2 }, 1, 1);
        let mut harness = Harness::new(ZfsConfig { resilver: kind, ..mirror }, 3);
        harness.fail(0).unwrap();
        resilver_until(&mut harness, 0.5, 0);
        let lost = harness.fail(1).unwrap_err();
        let left = lost.stripes as f64 / lost.stripes_in_all as f64;
        assert!((0.2..0.6).contains(&left), "{kind:?}: {lost:?}");
    }
}

#[test]
fn a_scrub_reads_everything_and_writes_nothing() {
    for (redundancy, copies) in [(raid_z(6, 2), 1), (Redundancy::Mirror { drives: 2 }, 2)] {
        let mut harness = Harness::new(config(redundancy, 1, 0), 5);
        harness.age(100);
        let reads = harness.drives.reads;
        assert!(harness.array.begin_scrub(harness.now_ns, &mut harness.drives));
        assert!(!harness.array.begin_scrub(harness.now_ns, &mut harness.drives));
        harness.resilver(false);
        harness.finish();
        let counters = harness.array.counters();
        assert_eq!(counters.rebuild_writes, 0);
        assert_eq!(counters.rebuild_reads, harness.drives.reads - reads);
        assert!(counters.rebuild_reads >= copies);
    }
}

/// A run that is saved at any time goes on as if it had not been.
#[test]
fn resilvers_are_saved() {
    let mirrors = config(Redundancy::Mirror { drives: 2 }, 2, 2);
    for (seed, kind, pool) in [
        (1, ResilverKind::Healing, mirrors.clone()),
        (2, ResilverKind::Sequential, mirrors),
        (3, ResilverKind::Healing, config(draid(11, 4, 2, 2), 1, 0)),
    ] {
        let config = ZfsConfig { resilver: kind, ..pool };
        let mut harness = Harness::new(config.clone(), seed);
        harness.age(100);
        harness.fail(0).unwrap();
        resilver_until(&mut harness, 0.3, 0);
        harness.fail(2).unwrap();
        (0..50).for_each(|_| assert!(harness.step()));
        let mut bytes = Vec::new();
        let mut writer = StateWriter::new(&mut bytes);
        harness.array.save(&mut writer).unwrap();
        writer.finish().unwrap();
        let mut array = ZfsArray::new(config).unwrap();
        let mut reader = StateReader::new(&bytes);
        array.restore(&mut reader).unwrap();
        reader.finish().unwrap();
        let (drives, rng) = (harness.drives.clone(), harness.rng.clone());
        let Harness { now_ns, operations, .. } = harness;
        let mut other = Harness { array, drives, rng, now_ns, operations };
        for harness in [&mut harness, &mut other] {
            harness.resilver(true);
            harness.finish();
        }
        assert_eq!(harness.now_ns, other.now_ns);
        assert_eq!(harness.array.counters(), other.array.counters());
        assert_eq!(harness.array.failures(), other.array.failures());
    }
}

#[test]
fn a_drive_holds_what_is_written_since_and_what_is_resilvered_in_need() {
    let blocks = [8, 16, 64].map(|offset| ListedBlock { offset, key: 0 });
    let mut missing = MissingBlocks::new(1, blocks.to_vec(), false);
    assert!(missing.holds(24, false));
    assert!(!missing.holds(16, true));
    missing.on_resilvered(1);
    assert!(missing.holds(16, true) && !missing.holds(16, false));
    missing.on_placed(64);
    assert!(missing.holds(64, false) && !missing.holds(8, true));
}

/// A scan has at least its time in each transaction group.
#[test]
fn transaction_groups_wait_for_scans() {
    let config = ZfsConfig { txg_interval_ns: 300_000_000, ..config(raid_z(6, 2), 1, 1) };
    let mut harness = Harness::new(config, 1);
    harness.age(1_000);
    let group_ns = |harness: &Harness, since: &strewn_array::Counters| {
        let counters = harness.array.counters().since(since);
        counters.consistency_point_ns / counters.consistency_points
    };
    let least_ns = harness.array.config.txg_interval_ns * RESILVER_PASS_PERCENT / 100;
    let group_before_ns = group_ns(&harness, &strewn_array::Counters::default());
    let before = *harness.array.counters();
    harness.fail(0).unwrap();
    resilver_until(&mut harness, 0.9, 0);
    assert!(group_ns(&harness, &before) >= least_ns.max(group_before_ns));
}
