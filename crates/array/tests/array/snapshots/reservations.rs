//! Thick and thin volumes with snapshots of their own in one aggregate: whatever thin volumes and snapshots take, a
//! write to a thick volume finds room.

use strewn_alloc::AllocationShape;
use strewn_array::write_anywhere::{VolumeConfig, WriteAnywhere, WriteAnywhereConfig};
use strewn_array::{
    Acknowledge, Array, Direction, Driver, Durability, Durable, Format, HostOperation, LogLedger,
    LogRecord, LogSize, Logged, LunId, OperationId, ProcessorWork, Refusal, Root, SnapshotId,
    SnapshotRefusal, Snapshots, SpindleCommand, Tag, VolumeId,
};
use strewn_base::Rng;
use strewn_raid::{Parity, ParityGroup};

const LUN_BLOCKS: u32 = 400;

/// What each thick volume reserves, in blocks.
const RESERVED: u64 = 500;

/// How many of a LUN's blocks are laid out.
const LAID_OUT: u32 = 150;

struct Spindles {
    commands: Vec<Tag>,
    log: LogLedger,
    must_commit: bool,
    /// The LUN of each operation.
    luns: Vec<u16>,
    answered: u32,
    /// By LUN.
    refused: Vec<u32>,
}

impl Durability for Spindles {
    fn commit(&mut self, _root: Root) {
        self.must_commit = true;
    }
}

impl Driver<()> for Spindles {
    fn processor(&mut self, _work: ProcessorWork, _cost_ns: u64) {}
    fn command(&mut self, command: SpindleCommand<()>) {
        self.commands.push(command.tag);
    }
    fn acknowledge(&mut self, _operation: OperationId, _when: Acknowledge, _payload: ()) {
        self.answered += 1;
    }
    fn refuse(&mut self, operation: OperationId, why: Refusal) {
        assert_eq!(why, Refusal::NoSpace);
        self.refused[usize::from(self.luns[operation.0 as usize])] += 1;
        self.answered += 1;
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
    are_thick: Vec<bool>,
    snapshots: Vec<(VolumeId, SnapshotId)>,
    now_ns: u64,
}

impl Bench {
    /// A volume with one LUN for each of `are_thick`.
    fn new(format: Format, stripes: u64, delayed_free_blocks: u64, are_thick: &[bool]) -> Self {
        let log = LogSize { half_bytes: 1 << 18, record_header_bytes: 160 };
        let volume = |is_thick: &bool| VolumeConfig {
            reservation_blocks: Some(if *is_thick { RESERVED } else { 0 }),
            laid_out: vec![LAID_OUT],
            ..VolumeConfig::of_one_lun(64_000, LUN_BLOCKS)
        };
        let array = WriteAnywhere::new(WriteAnywhereConfig {
            shape: AllocationShape { area_stripes: 64, tetris_stripes: 64, chunk_blocks: 8 },
            format,
            consistency_point_interval_ns: 1_000_000_000,
            protected_blocks: 100,
            dirty_limit_blocks: 100,
            delayed_free_blocks,
            ..WriteAnywhereConfig::new(
                vec![ParityGroup::new(Parity::RaidDp, 4, stripes).unwrap()],
                are_thick.iter().map(volume).collect(),
                log,
                500,
            )
        });
        let mut spindles = Spindles {
            commands: Vec::new(),
            log: LogLedger::new(log),
            must_commit: false,
            luns: Vec::new(),
            answered: 0,
            refused: vec![0; are_thick.len()],
        };
        let mut array = array.unwrap();
        array.start(0, &mut spindles);
        array.assert_invariants();
        let (are_thick, snapshots) = (are_thick.to_vec(), Vec::new());
        Self { array, spindles, are_thick, snapshots, now_ns: 0 }
    }

    fn write(&mut self, lun: u16, first: u32, blocks: u32) {
        let operation = HostOperation {
            id: self.operation(lun),
            lun: LunId(lun),
            direction: Direction::Write,
            first_sector: u64::from(first) * 8,
            sectors: blocks * 8,
            payload: (),
        };
        self.array.host_operation(self.now_ns, operation, &mut self.spindles);
        self.array.assert_invariants();
    }

    fn operation(&mut self, lun: u16) -> OperationId {
        self.spindles.luns.push(lun);
        OperationId(self.spindles.luns.len() as u32 - 1)
    }

    fn unmap(&mut self, lun: u16, first: u32, blocks: u32) {
        let id = self.operation(lun);
        let blocks = first..first + blocks;
        self.array.unmap(self.now_ns, id, LunId(lun), blocks, &mut self.spindles);
        self.array.assert_invariants();
    }

    fn snapshot(&mut self, volumes: &[VolumeId]) -> Result<(), SnapshotRefusal> {
        let taken = self.array.begin_snapshots(self.now_ns, volumes, &mut self.spindles)?;
        for one in taken {
            if !self.snapshots.contains(&one) {
                self.snapshots.push(one);
            }
        }
        self.array.assert_invariants();
        Ok(())
    }

    fn expire(&mut self, at: usize) {
        let (volume, snapshot) = self.snapshots[at];
        // One that is not taken yet cannot be.
        if self.array.expire_snapshot(volume, snapshot) {
            self.snapshots.remove(at);
        }
        self.array.assert_invariants();
    }

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
            self.array.assert_invariants();
        }
    }

    fn fire_timer(&mut self) {
        self.now_ns += 1_000_000_000;
        self.array.timer_fired(self.now_ns, &mut self.spindles);
        self.array.assert_invariants();
    }

    fn rest(&mut self) {
        for _ in 0..4 {
            self.complete(u64::MAX);
            self.fire_timer();
        }
        self.complete(u64::MAX);
        assert_eq!(self.spindles.answered as usize, self.spindles.luns.len());
        self.array.aggregate().verify().unwrap();
    }

    fn refused(&self, thick: bool) -> u32 {
        let refused = self.spindles.refused.iter().zip(&self.are_thick);
        refused.filter(|(_, is_thick)| **is_thick == thick).map(|(refused, _)| refused).sum()
    }
}

#[test]
fn a_write_to_a_thick_volume_finds_room_whatever_thin_volumes_and_snapshots_take() {
    let (mut refused, mut refused_snapshots, mut of_thick) = (0, 0, 0);
    for seed in 0..40 {
        println!("seed {seed}");
        let mut rng = Rng::new(seed);
        let format = *rng.pick(&[Format::Modelled, Format::Durable]);
        let are_thick: Vec<bool> = (0..rng.within(2..5)).map(|_| rng.one_in(2)).collect();
        let thick = are_thick.iter().filter(|is_thick| **is_thick).count() as u64;
        // From what is reserved and hardly more to room for some snapshots.
        let stripes = rng.within(340 + thick * 130..900 + thick * 130);
        let mut bench = Bench::new(format, stripes, *rng.pick(&[0, 100]), &are_thick);
        let volumes = bench.array.snapshot_volumes();
        for _ in 0..300 {
            let lun = rng.below(are_thick.len() as u64) as u16;
            let first = rng.below(LUN_BLOCKS.into()) as u32;
            let blocks = (rng.within(1..60) as u32).min(LUN_BLOCKS - first);
            match rng.below(16) {
                0 | 1 => {
                    let asked: Vec<_> = volumes.iter().copied().filter(|_| rng.one_in(2)).collect();
                    match bench.snapshot(&asked) {
                        Err(_) => refused_snapshots += 1,
                        Ok(()) => {
                            let thick = |one: &&VolumeId| are_thick[one.0 as usize];
                            of_thick += asked.iter().filter(thick).count();
                        }
                    }
                }
                2 if !bench.snapshots.is_empty() && rng.one_in(2) => {
                    bench.expire(rng.below(bench.snapshots.len() as u64) as usize);
                }
                3 => bench.fire_timer(),
                4..8 => bench.complete(rng.below(80)),
                8 if format == Format::Durable => bench.unmap(lun, first, blocks),
                _ => bench.write(lun, first, blocks),
            }
        }
        bench.rest();
        // All that thick LUNs may have, in the largest writes that there are.
        for lun in (0..).zip(&are_thick).filter(|(_, is_thick)| **is_thick).map(|(lun, _)| lun) {
            for first in (0..LUN_BLOCKS).step_by(50) {
                bench.write(lun, first, 50);
            }
        }
        bench.rest();
        assert_eq!(bench.refused(true), 0, "writes to thick volumes");
        refused += bench.refused(false);
    }
    // The cases that this is about have occurred.
    println!(
        "{refused} writes, {refused_snapshots} snapshots refused, {of_thick} of thick volumes"
    );
    assert!(refused > 100 && refused_snapshots > 100 && of_thick > 100);
}

#[test]
fn a_snapshot_of_a_thick_volume_needs_room_to_overwrite_it_and_one_of_a_thin_volume_does_not() {
    let (thick, thin) = (VolumeId(0), VolumeId(1));
    let mut bench = Bench::new(Format::Modelled, 330, 0, &[true, false]);
    let claimed = bench.array.claimed_blocks();
    assert!(claimed >= RESERVED - u64::from(LAID_OUT), "{claimed} blocks are claimed");
    bench.snapshot(&[thin]).unwrap();
    bench.rest();
    let refused = bench.snapshot(&[thick]);
    assert!(matches!(refused, Err(SnapshotRefusal::NoSpace { lacking: 1.. })), "{refused:?}");
    assert_eq!(bench.array.counters().snapshots_refused, 1);

    let mut bench = Bench::new(Format::Modelled, 600, 0, &[true, false]);
    let claimed = bench.array.claimed_blocks();
    bench.snapshot(&[thick]).unwrap();
    let with_snapshot = bench.array.claimed_blocks();
    assert!(with_snapshot >= claimed + u64::from(LAID_OUT), "all of it may be overwritten");
    bench.rest();
    bench.expire(0);
    assert!(bench.array.claimed_blocks() <= claimed, "and comes back with the snapshot");
}
