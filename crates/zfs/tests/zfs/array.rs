//! Arrays with a pool, as a host sees them.

use strewn_array::{Array, Direction, LunId};
use strewn_zfs::{Redundancy, Vdev, VolumeConfig, ZfsArray};

use crate::machine::{Machine, SECTORS_A_BLOCK, raid_z2};
use crate::volumes::SplitMix;

const MIB: u64 = 1 << 20;

#[test]
fn what_is_overwritten_counts_as_rewritten() {
    let mut config = raid_z2(8 * MIB);
    config.volumes[0].filled_bytes = 8 * MIB;
    let mut machine = Machine::new(config);
    let rewritten = |machine: &Machine| machine.array.layout().luns[0].rewritten;
    assert_eq!(rewritten(&machine), Some(0.0));
    for block in 0..256 {
        machine.issue(Direction::Write, block * SECTORS_A_BLOCK, SECTORS_A_BLOCK);
    }
    machine.run_until(|_| false);
    assert_eq!(rewritten(&machine), Some(0.25));
    assert_eq!(machine.drives.answered, 256);
}

/// A pool at rest has a transaction group at each of its times: what is written between two waits for the next, and
/// counts when it begins, in blocks of 4 KiB.
#[test]
fn transaction_groups_have_times_of_their_own() {
    let config = raid_z2(8 * MIB);
    let interval_ns = config.txg_interval_ns;
    let mut machine = Machine::new(config);
    machine.drives.now_ns = 3 * interval_ns + interval_ns / 4;
    machine.issue(Direction::Write, 0, SECTORS_A_BLOCK);
    machine.run_until(|machine| machine.array.counters().consistency_points > 0);
    assert_eq!(machine.drives.now_ns, 4 * interval_ns);
    // A block of 8 KiB, two copies of its indirect block and three of each block of the pool's objects.
    let blocks = machine.array.counters().consistency_point_blocks;
    assert!((2 + 2..400).contains(&blocks), "{blocks}");
}

/// Each block of 8 KiB is two sectors of data, two of parity, and two that are skipped, on five drives by turns.
/// Skipped sectors are written to join blocks: a transaction group in order is few commands.
#[test]
fn skipped_sectors_join_neighbours() {
    let mut config = raid_z2(8 * MIB);
    config.throttle_slots = None;
    config.vdevs[0].redundancy = Redundancy::RaidZ { drives: 5, parity: 2 };
    let mut machine = Machine::new(config);
    for block in 0..1_024 {
        machine.issue(Direction::Write, block * SECTORS_A_BLOCK, SECTORS_A_BLOCK);
    }
    machine.run_until(|_| false);
    println!("{} commands for 1,024 blocks", machine.drives.writes);
    assert!(machine.drives.writes < 300, "{} commands for 1,024 blocks", machine.drives.writes);
}

#[test]
fn a_read_of_raid_z_leaves_parity_alone_unless_a_drive_is_lost() {
    let mut config = raid_z2(8 * MIB);
    config.volumes[0].filled_bytes = 8 * MIB;
    let mut machine = Machine::new(config);
    machine.issue(Direction::Read, 0, SECTORS_A_BLOCK);
    machine.run_until(|_| false);
    // Two drives have the data of a block of 8 KiB; its indirect block is in memory.
    assert_eq!((machine.drives.reads, machine.drives.answered), (2, 1));
}

/// A synchronous write takes a log block; those that come meanwhile share the next.
#[test]
fn synchronous_writes_share_log_blocks() {
    let mut config = raid_z2(8 * MIB);
    (config.volumes[0].filled_bytes, config.is_synchronous) = (8 * MIB, true);
    let mut machine = Machine::new(config);
    for block in 0..8 {
        machine.issue(Direction::Write, block * SECTORS_A_BLOCK, SECTORS_A_BLOCK);
    }
    assert_eq!(machine.drives.answered, 0);
    machine.run_until(|machine| machine.drives.answered > 0);
    assert_eq!(machine.drives.answered, 1, "the first had a log block for itself");
    machine.run_until(|machine| machine.drives.answered > 1);
    assert_eq!(machine.drives.answered, 8, "the others had one");
    // Each is written to the drives of its sectors and parity, long before the transaction group.
    assert!(machine.drives.now_ns < 100_000_000, "{} ns", machine.drives.now_ns);
    let before = machine.drives.writes;
    machine.run_until(|_| false);
    assert!(machine.drives.writes > before, "the transaction group follows");
}

/// Without a log vdev, blocks of large synchronous writes are written once, where they stay, and the log has their
/// pointers; smaller writes are copied into the log. What is written again before the transaction group is not kept.
#[test]
fn large_synchronous_writes_are_written_once() {
    let (block_bytes, volume_mib) = (64 << 10, 64);
    let sectors = u64::from(block_bytes) / 512;
    let run = |indirect_from_bytes, writes: &[(u64, u64)]| {
        let mut config = raid_z2(volume_mib * MIB);
        config.volumes[0] = VolumeConfig::filled(volume_mib * MIB, block_bytes);
        let mirror = Redundancy::Mirror { drives: 2 };
        config.vdevs[0] = Vdev { redundancy: mirror, ..config.vdevs[0] };
        (config.is_synchronous, config.indirect_from_bytes) = (true, indirect_from_bytes);
        let mut machine = Machine::new(config);
        for (first_sector, sectors) in writes {
            machine.issue(Direction::Write, *first_sector, *sectors);
        }
        machine.run_until(|machine| machine.drives.answered == writes.len() as u64);
        let answered_ns = machine.drives.now_ns;
        machine.run_until(|_| false);
        (machine.drives.written_sectors, answered_ns, machine)
    };
    let in_place = Some(u64::from(block_bytes));
    let large: Vec<(u64, u64)> = (0..100).map(|at| (at * 7 * sectors, sectors)).collect();
    let (copied, ..) = run(None, &large);
    let (once, answered_ns, _) = run(in_place, &large);
    let data = 2 * 100 * sectors;
    assert!(copied > 2 * data, "{copied} sectors for {data} of data");
    assert!(once < data * 13 / 10, "{once} sectors for {data} of data");
    assert!(answered_ns < 5_000_000_000, "answered before the transaction group: {answered_ns}");
    // Writes that are smaller take the same either way, and the log has their bytes alone.
    let small: Vec<(u64, u64)> = large.iter().map(|(first, _)| (*first, sectors / 2)).collect();
    let halves = run(None, &small).0;
    assert_eq!(run(in_place, &small).0, halves);
    assert!(halves < copied - data / 3, "{halves} sectors, {copied} for whole blocks");
    // The last of several writes of a block is kept, in part or as a whole.
    let again: Vec<(u64, u64)> = large.iter().chain(&small).chain(&large).copied().collect();
    let free_after = |indirect_from_bytes| {
        let (_, _, mut machine) = run(indirect_from_bytes, &again);
        // What is freed comes back some transaction groups later.
        for _ in 0..4 {
            machine.issue(Direction::Write, 0, sectors);
            machine.run_until(|_| false);
        }
        machine.array.layout().free_space.unwrap().free_blocks
    };
    let free = [None, in_place].map(free_after);
    assert!(free[0].abs_diff(free[1]) < 50, "{free:?}");
}

/// Clones and their origin have blocks in memory once, until one of them writes them; then the others keep theirs.
#[test]
fn clones_share_what_nobody_has_written() {
    let mut config = raid_z2(8 * MIB);
    let golden = VolumeConfig::filled(8 * MIB, 8 << 10);
    let clone = VolumeConfig { clone_of: Some(1), ..golden };
    config.volumes = vec![clone, golden, clone];
    let mut machine = Machine::new(config);
    let free = |machine: &Machine| machine.array.layout().free_space.unwrap().free_blocks;
    let at_start = free(&machine);
    let read = |machine: &mut Machine, lun: u16| {
        let before = machine.drives.reads;
        machine.issue_to(LunId(lun), Direction::Read, 0, SECTORS_A_BLOCK);
        machine.run_until(|_| false);
        machine.drives.reads - before
    };
    assert_eq!([0, 1, 2].map(|lun| read(&mut machine, lun)), [2, 0, 0]);
    let file = machine.array.layout().luns[0].file;
    assert_eq!(machine.array.layout().luns[2].file, file);
    // All of the first clone is written, and of the origin too: each has blocks of its own then.
    for (lun, copies) in [(0, 1), (1, 2)] {
        for block in 0..1_024 {
            let (first_sector, sectors) = (block * SECTORS_A_BLOCK, SECTORS_A_BLOCK);
            machine.issue_to(LunId(lun), Direction::Write, first_sector, sectors);
        }
        machine.run_until(|_| false);
        let taken = at_start - free(&machine);
        let one = 1_024 * 6;
        assert!((copies * one..copies * one + 1_000).contains(&taken), "{taken} for {copies}");
    }
    machine.array.forget_cache();
    // The same for each: data, and what leads to it.
    assert_eq!([0, 1, 2].map(|lun| read(&mut machine, lun)), [6, 6, 6]);
}

/// Of blocks below 4 KiB each may have its break: the score stays between 0 and 1.
#[test]
fn the_layout_score_of_small_blocks_is_a_share() {
    let mut config = raid_z2(4 * MIB);
    config.vdevs[0] =
        Vdev { redundancy: Redundancy::Mirror { drives: 2 }, ashift: 9, ..config.vdevs[0] };
    let volume = &mut config.volumes[0];
    (volume.block_bytes, volume.stored_bytes, volume.filled_bytes) = (512, 512, 4 * MIB);
    config.throttle_slots = None;
    let mut machine = Machine::new(config);
    let mut random = SplitMix(1);
    for _ in 0..20_000 {
        machine.issue(Direction::Write, random.next() % 8_192, 1);
    }
    machine.run_until(|_| false);
    let file = machine.array.layout().luns[0].file;
    assert_eq!(file.blocks, 1_024);
    assert!((0.0..0.5).contains(&file.score), "{}", file.score);
    assert!((1_024..=8_192).contains(&file.extents), "{}", file.extents);
}

/// dRAID with groups so wide that the least metaslabs hold no whole stripe is no vdev.
#[test]
fn a_vdev_has_whole_metaslabs() {
    let vdev = |data, drive_mib| {
        let redundancy =
            Redundancy::Draid(strewn_zfs::Draid { children: 254, data, parity: 2, spares: 0 });
        Vdev { redundancy, ashift: 16, drive_bytes: drive_mib * MIB, scale_down: 1 }
    };
    assert!(vdev(8, 10_000).has_metaslabs());
    assert!(!vdev(8, 16).has_metaslabs());
}

/// Synchronous writes that overwrite the same few blocks take log blocks without end and dirty nothing more: those of a
/// pool without a metaslab for the log lie among the data, and leave the transaction group its room.
#[test]
fn log_blocks_leave_transaction_groups_their_room() {
    let mirror = Redundancy::Mirror { drives: 2 };
    let raid_z = |drives, parity| Redundancy::RaidZ { drives, parity };
    // Redundancy, ashift, KiB of a block, MiB of the volume and of what is overwritten, KiB of a write, writes at a
    // time, MiB that may be dirty.
    let pools = [
        (mirror, 16, 64, 19, 1, 256, 500, 4),
        (raid_z(3, 2), 12, 16, 19, 9, 256, 64, 16),
        (raid_z(5, 3), 12, 64, 287, 28, 1_024, 500, 64),
    ];
    for (redundancy, ashift, block_kib, volume_mib, file_mib, write_kib, at_once, dirty_mib) in
        pools
    {
        let mut config = raid_z2(volume_mib * MIB);
        config.vdevs[0] = Vdev { redundancy, ashift, ..config.vdevs[0] };
        let block_bytes = block_kib << 10;
        let volume = &mut config.volumes[0];
        (volume.block_bytes, volume.stored_bytes) = (block_bytes, block_bytes);
        volume.filled_bytes = file_mib * MIB;
        (config.dirty_limit_bytes, config.is_synchronous) = (dirty_mib * MIB, true);
        let mut machine = Machine::new(config);
        let mut random = SplitMix(1);
        let (places, sectors) = ((file_mib << 10) / write_kib, write_kib * 2);
        let mut issued = 0;
        while issued < 4_000 {
            while issued < machine.drives.answered + at_once {
                machine.issue(Direction::Write, random.next() % places * sectors, sectors);
                issued += 1;
            }
            let before = machine.drives.answered;
            machine.run_until(|machine| machine.drives.answered > before);
        }
        machine.run_until(|_| false);
        assert_eq!(
            (machine.drives.answered, machine.drives.refused),
            (issued, 0),
            "{redundancy:?}"
        );
    }
}

/// Pools that are filled to the last block of their volumes go on, in pieces if need be, or refuse writes.
#[test]
fn full_pools_go_on() {
    let kinds = [
        (Redundancy::Mirror { drives: 1 }, 4 << 10),
        (Redundancy::Mirror { drives: 2 }, 128 << 10),
        (Redundancy::RaidZ { drives: 3, parity: 1 }, 16 << 10),
        (Redundancy::RaidZ { drives: 6, parity: 2 }, 4 << 10),
        (Redundancy::RaidZ { drives: 11, parity: 3 }, 128 << 10),
    ];
    let (mut answered, mut refused) = (0, 0);
    for (redundancy, block_bytes) in kinds {
        for seed in 1..=3 {
            println!("{redundancy:?}, blocks of {block_bytes}, seed {seed}");
            let (mut machine, blocks) = fullest(redundancy, block_bytes);
            let mut random = SplitMix(seed);
            let sectors = u64::from(block_bytes) / 512;
            let before = (machine.drives.answered, machine.drives.refused);
            for _ in 0..40 {
                for _ in 0..100 {
                    machine.issue(Direction::Write, random.next() % blocks * sectors, sectors);
                }
                machine.run_until(|_| false);
            }
            let answers = machine.drives.answered - before.0;
            let refusals = machine.drives.refused - before.1;
            assert_eq!(answers + refusals, 4_000, "{redundancy:?} {block_bytes} seed {seed}");
            answered += answers;
            refused += refusals;
        }
    }
    println!("{answered} writes answered, {refused} refused for lack of room");
    assert!(answered > 10 * refused);
}

/// A pool with the largest volume that it takes, filled, and the volume's blocks.
fn fullest(redundancy: Redundancy, block_bytes: u32) -> (Machine, u64) {
    let vdev = Vdev { redundancy, ashift: 12, drive_bytes: 160 * MIB, scale_down: 64 };
    let with = |blocks: u64| {
        let bytes = blocks * u64::from(block_bytes);
        let volume = VolumeConfig::filled(bytes, block_bytes);
        let mut config = raid_z2(bytes);
        (config.vdevs, config.volumes) = (vec![vdev], vec![volume]);
        config.dirty_limit_bytes = 64 * MIB;
        config
    };
    let (mut least, mut most) = (1, vdev.bytes() / u64::from(block_bytes));
    while most - least > 1 {
        let middle = u64::midpoint(least, most);
        match ZfsArray::new(with(middle)) {
            Ok(_) => least = middle,
            Err(_) => most = middle,
        }
    }
    (Machine::new(with(least)), least)
}
