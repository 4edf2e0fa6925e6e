//! Several LUNs behind one array: each is worked on, measured and laid out by itself.

use std::ops::ControlFlow;

use strewn_array::in_place::{DiskGroupConfig, InPlace, InPlaceConfig, LunConfig};
use strewn_array::write_anywhere::{VolumeConfig, WriteAnywhere, WriteAnywhereConfig};
use strewn_array::{AnyArray, LunId, LunLayoutMeasures, ProcessorCosts};
use strewn_raid::{Parity, ParityGroup, VraidConfig, VraidLayout};
use strewn_sim::{
    Accesses, AccessesError, Destination, Segment, Simulation, Spindles, TimedAccess, Worker,
    Workers,
};
use strewn_spindle::Scheduler;
use strewn_workload::{Access, AccessLine, AccessSpecification, Pattern, PatternStream};

use crate::failures::{config, drive};

/// Blocks of each LUN. None is a multiple of the pointers of an indirect block.
const LUN_BLOCKS: [u32; 3] = [5_000, 7_001, 3_003];

fn write_anywhere() -> WriteAnywhere<()> {
    let [first, second, third] = LUN_BLOCKS;
    WriteAnywhere::new(WriteAnywhereConfig {
        volumes: vec![
            VolumeConfig::new(60_000, vec![first, second]),
            VolumeConfig::of_one_lun(30_000, third),
        ],
        ..config(ParityGroup::new(Parity::RaidDp, 4, 32_768).unwrap())
    })
    .unwrap()
}

pub fn in_place() -> InPlace<()> {
    let spindle_sectors = drive().capacity_sectors();
    InPlace::new(InPlaceConfig {
        destage_low_sectors: 1_024,
        processor: ProcessorCosts { host_operation_ns: 20_000, ..ProcessorCosts::default() },
        ..InPlaceConfig::new(
            vec![DiskGroupConfig::new(
                VraidLayout::new(VraidConfig::new(vec![6]), spindle_sectors * 512).unwrap(),
                8,
            )],
            LUN_BLOCKS.map(|blocks| LunConfig::whole(u64::from(blocks) * 8)).to_vec(),
            spindle_sectors,
            4_096,
        )
    })
    .unwrap()
}

/// A worker with accesses of 8 KiB on the whole of a LUN.
pub fn worker(lun: u16, name: &str, read_percent: u8, random_percent: u8) -> Worker {
    let line = AccessLine { bytes: 8_192, percent_of_accesses: 100, read_percent, random_percent };
    let accesses = AccessSpecification::new(name, vec![line], 4_096).unwrap();
    let sectors = u64::from(LUN_BLOCKS[usize::from(lun)]) * 8;
    let stream = PatternStream::new(&Pattern::from(&accesses), 0, sectors, lun.into()).unwrap();
    let workload = Some(name.into());
    Worker { lun: LunId(lun), workload, ..Worker::closed_loop(Box::new(stream), 4) }
}

/// The first LUN is read, the second written at random, the third written in order.
fn run(array: impl AnyArray<()>) -> (Vec<LunLayoutMeasures>, Segment) {
    let before = array.layout().luns;
    let spindles = Spindles::new(drive(), Scheduler::Sptf, 8);
    let workers = vec![
        worker(0, "reads", 100, 100),
        worker(1, "random", 0, 100),
        worker(2, "in order", 0, 0),
    ];
    let mut simulation = Simulation::with_host(array, &spindles, Workers::new(workers)).unwrap();
    let mut look = |_| ControlFlow::Continue(());
    let segment = simulation.run_segment(30_000_000_000, &mut look).unwrap();
    assert!(segment.laws.hold(), "{:?}", segment.laws);
    (before, segment)
}

fn operations(segment: &Segment) -> Vec<(String, u64, u64)> {
    let counted = segment.by_workload.iter().map(|workload| {
        let [reads, writes] = &*workload.by_direction;
        (workload.name.to_string(), reads.answered.count, writes.answered.count)
    });
    counted.collect()
}

#[test]
fn a_write_anywhere_array_ages_only_the_luns_that_are_written() {
    let (before, segment) = run(write_anywhere());
    let blocks: Vec<u64> = before.iter().map(|lun| lun.file.blocks).collect();
    assert_eq!(blocks, LUN_BLOCKS.map(u64::from));
    let counted = operations(&segment);
    let sum: u64 = counted.iter().map(|(_, reads, writes)| reads + writes).sum();
    assert_eq!(sum, segment.operations);
    assert!(matches!(&counted[..], [(_, 1.., 0), (_, 0, 1..), (_, 0, 1..)]), "{counted:?}");
    let after = &segment.layout.luns;
    assert_eq!((after[0].file, after[0].rewritten), (before[0].file, Some(0.0)));
    assert!(after[1].rewritten > Some(0.9) && after[2].rewritten > Some(0.9), "{after:?}");
    assert!(after[1].file.score < before[1].file.score - 0.3, "{after:?}");
    assert!(after[2].file.score > after[1].file.score + 0.3, "{after:?}");
    let all = segment.layout.of_all_luns();
    assert_eq!(all.file.blocks, LUN_BLOCKS.iter().map(|blocks| u64::from(*blocks)).sum::<u64>());
    assert!(after[1].file.score < all.file.score && all.file.score < after[0].file.score);
}

#[test]
fn an_array_in_place_leaves_every_lun_where_it_is() {
    let (before, segment) = run(in_place());
    assert_eq!(segment.layout.luns, before);
    let counted = operations(&segment);
    assert!(matches!(&counted[..], [(_, 1.., 0), (_, 0, 1..), (_, 0, 1..)]), "{counted:?}");
}

#[test]
#[should_panic(expected = "an operation ends behind its LUN")]
fn no_operation_reaches_into_the_next_lun() {
    let mut reaching = worker(1, "reaching", 100, 0);
    reaching.lun = LunId(0);
    let spindles = Spindles::new(drive(), Scheduler::Fcfs, 8);
    let host = Workers::new(vec![reaching]);
    let mut simulation = Simulation::with_host(write_anywhere(), &spindles, host).unwrap();
    let _ = simulation.run_segment(60_000_000_000, &mut |_| ControlFlow::Continue(()));
}

/// One source of accesses to all LUNs does what a worker for each does, and keeps nothing of one LUN while it serves
/// another.
#[test]
fn one_source_serves_several_luns_in_the_order_of_time() {
    use strewn_array::Direction;
    use strewn_sim::Outstanding;

    /// Accesses with their LUN.
    struct Listed(std::vec::IntoIter<(usize, TimedAccess)>, usize);
    impl Accesses for Listed {
        fn next_access(&mut self) -> Result<Option<TimedAccess>, AccessesError> {
            let Some((destination, access)) = self.0.next() else { return Ok(None) };
            self.1 = destination;
            Ok(Some(access))
        }

        fn destination(&self) -> usize {
            self.1
        }
    }

    let mut rng = strewn_base::Rng::new(11);
    let list: Vec<(usize, TimedAccess)> = (0..600_u64)
        .map(|number| {
            let lun = rng.below(3) as usize;
            let sector = rng.below(u64::from(LUN_BLOCKS[lun]) - 2) * 8;
            let direction = if rng.below(3) == 0 { Direction::Write } else { Direction::Read };
            let access = Access { sector, sectors: 8, direction };
            (lun, TimedAccess { access, not_before_ns: number * 10_000_000, delay_ns: 0 })
        })
        .collect();
    let open = |worker: Worker| Worker { outstanding: Outstanding::Open { most: 1000 }, ..worker };
    let names = ["first", "second", "third"];
    let apart = (0..3).map(|lun| {
        let own = list.iter().filter(|(of, _)| *of == lun).copied().collect::<Vec<_>>();
        let accesses = Listed(own.into_iter(), 0);
        open(Worker {
            lun: LunId(lun as u16),
            workload: Some(names[lun].into()),
            ..Worker::closed_loop(Box::new(accesses), 1)
        })
    });
    let apart = Workers::new(apart.collect());
    let destinations = names
        .iter()
        .enumerate()
        .map(|(lun, name)| Destination { lun: LunId(lun as u16), workload: (*name).into() });
    let together = Workers::new(vec![open(Worker {
        destinations: destinations.collect(),
        ..Worker::closed_loop(Box::new(Listed(list.into_iter(), 0)), 1)
    })]);
    let measured = [apart, together].map(|host| {
        let spindles = Spindles::new(drive(), Scheduler::Sptf, 8);
        let mut simulation = Simulation::with_host(in_place(), &spindles, host).unwrap();
        simulation.run_segment(60_000_000_000, &mut |_| ControlFlow::Continue(())).unwrap()
    });
    let of = |segment: &Segment| {
        let one = |workload: &strewn_sim::WorkloadMeasures| {
            let both = workload.by_direction.each_ref().map(|of| (of.answered, of.response_sum_ns));
            (workload.name.to_string(), both)
        };
        let mut all: Vec<_> = segment.by_workload.iter().map(one).collect();
        all.sort_by(|one, other| one.0.cmp(&other.0));
        all
    };
    assert_eq!(of(&measured[0]), of(&measured[1]));
    assert_eq!(measured[1].operations, 600);
    assert!(of(&measured[1]).iter().all(|(_, both)| both[0].0.count > 100));
}
