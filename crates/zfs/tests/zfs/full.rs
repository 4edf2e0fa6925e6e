//! Pools that are nearly full, at random.

use strewn_array::{Array, Direction};
use strewn_raid::SpindleIndex;
use strewn_testing::seeds;
use strewn_zfs::{
    Pool, PoolOptions, Redundancy, ResilverKind, Vdev, VolumeConfig, ZfsArray, ZfsConfig,
};

use crate::machine::{Machine, raid_z2};
use crate::volumes::SplitMix;

const MIB: u64 = 1 << 20;

/// A pool whose volume takes so much of it, in percent.
fn pool(random: &mut SplitMix, percent: u64) -> ZfsConfig {
    let mut one_of = |all: &[u64]| all[(random.next() % all.len() as u64) as usize];
    let redundancy = match one_of(&[0, 1, 2]) {
        0 => Redundancy::Mirror { drives: 2 },
        1 => Redundancy::RaidZ { drives: 6, parity: 2 },
        _ => Redundancy::RaidZ { drives: 10, parity: 2 },
    };
    let block_bytes = one_of(&[8 << 10, 16 << 10, 64 << 10]) as u32;
    let scale_down = one_of(&[16, 120]) as u32;
    let drive_bytes = one_of(&[96, 160, 300]) * MIB;
    let vdev = Vdev { redundancy, ashift: 12, drive_bytes, scale_down };
    let vdevs = vec![vdev; one_of(&[1, 2, 3]) as usize];
    let in_all = vdev.bytes() * vdevs.len() as u64;
    let taken = vdev.allocated_bytes(block_bytes.into());
    let bytes = in_all * percent / 100 / taken * u64::from(block_bytes);
    let volume = VolumeConfig::filled(bytes, block_bytes);
    let mut config = raid_z2(bytes);
    (config.vdevs, config.volumes) = (vdevs, vec![volume]);
    config.dirty_limit_bytes = one_of(&[2, 8, 64]) * MIB;
    config.arc_bytes = one_of(&[4, 64]) * MIB;
    config.txg_interval_ns = one_of(&[100_000_000, 5_000_000_000]);
    config.is_synchronous = one_of(&[0, 1]) == 1;
    config.indirect_from_bytes = Some(block_bytes.into()).filter(|_| one_of(&[0, 1]) == 1);
    config.spares = one_of(&[0, 1]) as u16;
    config.seed = random.next();
    if redundancy == (Redundancy::Mirror { drives: 2 }) && random.next().is_multiple_of(2) {
        config.resilver = ResilverKind::Sequential;
    }
    config
}

#[test]
fn the_metaslab_of_the_intent_log_is_no_room_for_data() {
    let redundancy = Redundancy::Mirror { drives: 2 };
    let vdev = Vdev { redundancy, ashift: 12, drive_bytes: 147_000 * MIB, scale_down: 1 };
    let pool = Pool::new(&[vdev; 10], PoolOptions::default());
    assert_eq!(pool.allocatable(), pool.bytes());
}

/// Every write is answered, or refused for lack of room, whatever else the pool does.
#[test]
fn pools_that_are_nearly_full_go_on() {
    let (mut ran, mut refused) = (0, 0);
    for seed in seeds(60, 2_000) {
        let mut random = SplitMix(seed);
        let percent = 85 + random.next() % 13;
        let config = pool(&mut random, percent);
        let volume = config.volumes[0];
        let drives: u64 = config.vdevs.iter().map(|vdev| u64::from(vdev.drives())).sum();
        let spares = config.spares;
        println!("seed {seed}, {percent} %: {config:?}");
        // What does not fit is refused before the run.
        if ZfsArray::new(config.clone()).is_err() {
            continue;
        }
        ran += 1;
        let mut machine = Machine::new(config);
        let (blocks, sectors) =
            (volume.bytes / u64::from(volume.block_bytes), u64::from(volume.block_bytes) / 512);
        // Of some the same few blocks are written again and again, in some several at a time.
        let few = random.next().is_multiple_of(3);
        let at_once = if random.next().is_multiple_of(3) { 16.min(blocks) } else { 1 };
        let places = if few { 64.min(blocks / at_once) } else { blocks / at_once };
        let mut issued = 0;
        for burst in 0..40 {
            for _ in 0..1 + random.next() % 400 {
                let at = random.next() % places * at_once * sectors;
                machine.issue(Direction::Write, at, at_once * sectors);
                issued += 1;
            }
            if burst == 10 && spares > 0 {
                let spindle = SpindleIndex((random.next() % drives) as u16);
                let now_ns = machine.drives.now_ns;
                machine.array.spindle_failed(now_ns, spindle, &mut machine.drives).unwrap();
            }
            if random.next().is_multiple_of(2) {
                machine.run_until(|_| false);
            }
        }
        machine.run_until(|_| false);
        let answers = machine.drives.answered + machine.drives.refused;
        assert_eq!(answers, issued, "seed {seed}");
        refused += machine.drives.refused;
    }
    println!("{ran} pools, {refused} writes refused");
    assert!(ran > 0);
}
