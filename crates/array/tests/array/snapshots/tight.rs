//! Snapshots in an aggregate with hardly any room, in both formats: refused or not, nothing breaks, and deleting them
//! makes room again.

use strewn_alloc::AllocationShape;
use strewn_array::write_anywhere::{VolumeConfig, WriteAnywhere, WriteAnywhereConfig};
use strewn_array::{
    Acknowledge, Array, Direction, Driver, Durability, Durable, Format, HostOperation, LogLedger,
    LogRecord, LogSize, Logged, LunId, OperationId, ProcessorWork, Refusal, Root, SnapshotRefusal,
    Snapshots, SpindleCommand, Tag,
};
use strewn_base::Rng;
use strewn_raid::{Parity, ParityGroup, Vbn};

use super::{Images, ask, image_of};

const FILE_BLOCKS: u32 = 700;

struct Spindles {
    group: ParityGroup,
    commands: Vec<Tag>,
    writes: Vec<Vbn>,
    log: LogLedger,
    must_commit: bool,
    acknowledged: u32,
    refused: u32,
}

impl Durability for Spindles {
    fn commit(&mut self, _root: Root) {
        assert!(!std::mem::replace(&mut self.must_commit, true), "two commits at once");
    }
}

impl Driver<()> for Spindles {
    fn processor(&mut self, _work: ProcessorWork, _cost_ns: u64) {}
    fn command(&mut self, command: SpindleCommand<()>) {
        let is_data = command.spindle.0 < self.group.data_spindles();
        if command.direction == Direction::Write && is_data {
            let first = command.first_sector / 8;
            let dbns = first..first + u64::from(command.sectors) / 8;
            let vbn = |dbn| self.group.vbn(command.spindle, strewn_raid::Dbn(dbn));
            self.writes.extend(dbns.map(vbn));
        }
        self.commands.push(command.tag);
    }
    fn acknowledge(&mut self, _operation: OperationId, _when: Acknowledge, _payload: ()) {
        self.acknowledged += 1;
    }
    fn refuse(&mut self, _operation: OperationId, why: Refusal) {
        assert_eq!(why, Refusal::NoSpace);
        self.refused += 1;
    }
    fn set_timer(&mut self, _at_ns: u64) {}
    fn log(&mut self, _operation: OperationId, record: LogRecord, _data: &()) -> Logged {
        self.log.append(&record)
    }
    fn consistency_point_begins(&mut self) {
        self.log.switch();
    }
    fn consistency_point_ends(&mut self) {
        self.log.release();
    }
}

struct Bench {
    array: WriteAnywhere<()>,
    spindles: Spindles,
    images: Images,
    lun_blocks: u64,
    now_ns: u64,
    operations: u32,
}

impl Bench {
    /// An array whose aggregate has `stripes` stripes, and `luns` volumes with one LUN each.
    fn new(
        format: Format,
        stripes: u64,
        delayed_free_blocks: u64,
        luns: u16,
        are_thin: bool,
    ) -> Self {
        let lun_blocks = FILE_BLOCKS / u32::from(luns);
        let volume = VolumeConfig {
            reservation_blocks: are_thin.then_some(0),
            ..VolumeConfig::of_one_lun(32_000, lun_blocks)
        };
        let log = LogSize { half_bytes: 1 << 20, record_header_bytes: 160 };
        let group = ParityGroup::new(Parity::RaidDp, 4, stripes).unwrap();
        let array = WriteAnywhere::new(WriteAnywhereConfig {
            shape: AllocationShape { area_stripes: 64, tetris_stripes: 64, chunk_blocks: 8 },
            format,
            consistency_point_interval_ns: 1_000_000_000,
            protected_blocks: 100,
            dirty_limit_blocks: 100,
            delayed_free_blocks,
            ..WriteAnywhereConfig::new(vec![group], vec![volume; luns.into()], log, 500)
        });
        let mut array = array.unwrap();
        let mut spindles = Spindles {
            group,
            commands: Vec::new(),
            writes: Vec::new(),
            log: LogLedger::new(log),
            must_commit: false,
            acknowledged: 0,
            refused: 0,
        };
        array.start(0, &mut spindles);
        let images = Images::new(image_of(array.block_map(), array.keys()));
        Self { array, spindles, images, lun_blocks: lun_blocks.into(), now_ns: 0, operations: 0 }
    }

    fn look(&mut self) {
        self.array.assert_invariants();
        self.images.check_writes(&std::mem::take(&mut self.spindles.writes));
        let now = image_of(self.array.block_map(), self.array.keys());
        let taken = self.array.counters().snapshots_taken;
        self.images.look(now, taken / self.array.snapshot_volumes().len() as u64);
    }

    /// Writes blocks counted over all LUNs, as far as the first one's LUN goes.
    fn write(&mut self, first: u64, blocks: u64) {
        let (lun, first) = (first / self.lun_blocks, first % self.lun_blocks);
        let blocks = blocks.min(self.lun_blocks - first);
        let operation = HostOperation {
            id: OperationId(self.operations),
            lun: LunId(lun as u16),
            direction: Direction::Write,
            first_sector: first * 8,
            sectors: blocks as u32 * 8,
            payload: (),
        };
        self.operations += 1;
        self.array.host_operation(self.now_ns, operation, &mut self.spindles);
        self.look();
    }

    fn snapshot(&mut self) -> Result<(), SnapshotRefusal> {
        let asked = ask(&mut self.array, self.now_ns, &mut self.spindles);
        self.look();
        asked.map(drop)
    }

    fn expire_oldest(&mut self) {
        if let Some((oldest, _)) = self.images.kept.pop_first() {
            for volume in self.array.snapshot_volumes() {
                assert!(self.array.expire_snapshot(volume, oldest));
            }
        }
    }

    /// Completes at most `most` commands, the latest first.
    fn complete(&mut self, most: u64) {
        for _ in 0..most {
            self.now_ns += 1_000;
            if let Some(tag) = self.spindles.commands.pop() {
                self.array.command_completed(self.now_ns, tag, (), &mut self.spindles);
            } else if std::mem::take(&mut self.spindles.must_commit) {
                self.array.committed(self.now_ns, &mut self.spindles);
            } else {
                return;
            }
            self.look();
        }
    }

    fn fire_timer(&mut self) {
        self.now_ns += 1_000_000_000;
        self.array.timer_fired(self.now_ns, &mut self.spindles);
        self.look();
    }

    /// Lets time pass until nothing is left to do.
    fn rest(&mut self) {
        for _ in 0..40 {
            self.complete(u64::MAX);
            self.fire_timer();
        }
        self.complete(u64::MAX);
        assert_eq!(self.spindles.acknowledged + self.spindles.refused, self.operations);
        self.array.aggregate().verify().unwrap();
    }
}

#[test]
fn an_aggregate_that_snapshots_fill_refuses_and_nothing_breaks() {
    let (mut refused_writes, mut refused_snapshots, mut taken) = (0, 0, 0);
    for seed in 0..30 {
        println!("seed {seed}");
        let mut rng = Rng::new(seed);
        let format = *rng.pick(&[Format::Modelled, Format::Durable]);
        // From too little for any snapshot to room for two or three.
        let stripes = rng.within(270..900);
        let delayed = *rng.pick(&[0, 100]);
        let luns = *rng.pick(&[1, 2]);
        let are_thin = rng.one_in(2);
        let mut bench = Bench::new(format, stripes, delayed, luns, are_thin);
        for _ in 0..250 {
            match rng.below(14) {
                0 | 1 => refused_snapshots += u32::from(bench.snapshot().is_err()),
                2 if rng.one_in(3) => bench.expire_oldest(),
                3 => bench.fire_timer(),
                4..7 => bench.complete(rng.below(80)),
                7 if format == Format::Durable => {
                    let first = rng.below(bench.lun_blocks) as u32;
                    let blocks = first..(first + 30).min(bench.lun_blocks as u32);
                    let id = OperationId(bench.operations);
                    bench.operations += 1;
                    bench.array.unmap(bench.now_ns, id, LunId(0), blocks, &mut bench.spindles);
                    bench.look();
                }
                _ => {
                    let first = rng.below(FILE_BLOCKS.into());
                    let blocks = rng.within(1..60).min(u64::from(FILE_BLOCKS) - first);
                    bench.write(first, blocks);
                }
            }
        }
        bench.rest();
        assert!(are_thin || bench.spindles.refused == 0, "a write to a thick volume is refused");
        refused_writes += bench.spindles.refused;
        taken += bench.array.counters().snapshots_taken;

        // Without snapshots, all of the file can be written again.
        while !bench.images.kept.is_empty() {
            bench.expire_oldest();
        }
        bench.rest();
        let held = bench.array.snapshot_measures().map_or(0, |measures| measures.blocks);
        assert_eq!(held, 0, "of deleted snapshots");
        let refused = bench.spindles.refused;
        for first in (0..u64::from(FILE_BLOCKS)).step_by(20) {
            bench.write(first, 20);
            bench.complete(u64::MAX);
        }
        bench.rest();
        assert_eq!(bench.spindles.refused, refused, "a write is refused without snapshots");
    }
    // The cases that this is about have occurred.
    assert!(refused_writes > 50 && refused_snapshots > 50 && taken > 50);
}

#[test]
fn a_snapshot_without_room_is_refused_and_writes_keep_theirs() {
    let mut bench = Bench::new(Format::Modelled, 204, 0, 1, false);
    let free = bench.array.aggregate().free_blocks();
    let refused = bench.snapshot();
    assert!(matches!(refused, Err(SnapshotRefusal::NoSpace { lacking: 1.. })), "{refused:?}");
    for first in 0..35 {
        bench.write(first * 20, 20);
        bench.complete(u64::MAX);
    }
    bench.rest();
    assert_eq!((bench.spindles.refused, bench.array.counters().snapshots_refused), (0, 1));
    assert!(bench.array.aggregate().free_blocks().abs_diff(free) < 20);
}
