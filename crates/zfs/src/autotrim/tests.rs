use strewn_base::Rng;

use super::*;
use crate::vdev::Redundancy;

fn vdev(redundancy: Redundancy) -> Vdev {
    Vdev { redundancy, ashift: 12, drive_bytes: 1 << 30, scale_down: 1 }
}

/// Against a vector of sectors, at random.
#[test]
fn ranges_are_those_of_a_plain_map() {
    for seed in 0..50 {
        let mut rng = Rng::new(seed);
        let (mut ranges, mut plain) = (Ranges::default(), [false; 200]);
        for _ in 0..1_000 {
            let (start, sectors) = (rng.below(180) as usize, 1 + rng.below(20) as usize);
            if rng.below(2) == 0 {
                ranges.clear(start as u32, sectors as u32);
                plain[start..start + sectors].fill(false);
            } else if !plain[start..start + sectors].contains(&true) {
                ranges.add(start as u32, sectors as u32);
                plain[start..start + sectors].fill(true);
            }
            let mut expected: Vec<(u32, u32)> = Vec::new();
            for sector in (0..200).filter(|sector| plain[*sector as usize]) {
                match expected.last_mut() {
                    Some(last) if last.1 == sector => last.1 += 1,
                    _ => expected.push((sector, sector + 1)),
                }
            }
            assert_eq!(ranges.iter().collect::<Vec<_>>(), expected, "seed {seed}");
        }
    }
}

#[test]
fn short_ranges_are_skipped_and_long_ones_are_divided() {
    let mirror = vdev(Redundancy::Mirror { drives: 2 });
    let of = |ranges: &[(u64, u64)]| trim(&mirror, ranges.iter().copied(), |_| false);
    // Seven sectors are 28 KiB.
    assert_eq!(of(&[(10, 17)]), Trimmed { ranges: 0, bytes: 0, skipped_bytes: (2 * 28) << 10 });
    assert_eq!(of(&[(10, 18)]), Trimmed { ranges: 2, bytes: (2 * 32) << 10, skipped_bytes: 0 });
    let long = (128 << 20 >> 12) + 1;
    assert_eq!(of(&[(0, long)]).ranges, 4);
    let one_drive = trim(&mirror, [(0, 8)].into_iter(), |drive| drive == 1);
    assert_eq!(one_drive, Trimmed { ranges: 1, bytes: 32 << 10, skipped_bytes: 0 });
}

/// Each sector of a range is on one drive, at the row that `vdev_raidz_map_alloc` gives it.
#[test]
fn raid_z_has_each_sector_of_a_range_once() {
    let raid_z = vdev(Redundancy::RaidZ { drives: 5, parity: 1 });
    for (first, end) in [(0, 1), (3, 7), (4, 23), (10, 10), (12, 57)] {
        let mut found = Vec::new();
        for_each_part(&raid_z, (first, end), |drive, (row, after)| {
            found.extend((row..after).map(|row| row * 5 + u64::from(drive)));
        });
        found.sort_unstable();
        assert_eq!(found, (first..end).collect::<Vec<_>>());
    }
    // 40 sectors are 8 of each drive; 39 leave one drive a sector short of 32 KiB.
    let of = |end| trim(&raid_z, [(0, end)].into_iter(), |_| false);
    assert_eq!(of(40), Trimmed { ranges: 5, bytes: (5 * 32) << 10, skipped_bytes: 0 });
    assert_eq!(of(39), Trimmed { ranges: 4, bytes: (4 * 32) << 10, skipped_bytes: 28 << 10 });
    // Parts of two ranges lie side by side on drives 0 to 3: between them is a sector of drive 4 alone.
    let both = trim(&raid_z, [(0, 39), (40, 79)].into_iter(), |_| false);
    assert_eq!((both.ranges, both.skipped_bytes), (4, (2 * 28) << 10));
}

#[test]
fn draid_has_whole_columns() {
    let draid =
        vdev(Redundancy::Draid(crate::Draid { children: 7, data: 4, parity: 2, spares: 1 }));
    let mut parts = Vec::new();
    for_each_part(&draid, (0, 6 * 10), |drive, part| parts.push((drive, part)));
    parts.sort_unstable();
    let drives: Vec<u8> = parts.iter().map(|(drive, _)| *drive).collect();
    assert_eq!(drives.len(), 6, "a group of six drives: {drives:?}");
    assert!(parts.iter().all(|(_, (first, end))| end - first == 10));
}

#[test]
fn each_metaslab_has_a_turn_and_waits_for_its_transaction_groups() {
    let mut turn = TrimTurn::default();
    let mut trimmed = Vec::new();
    for txg in 0..200 {
        trimmed
            .extend(turn.next(40, |metaslab| [0, 32, 7].contains(&metaslab)).map(|of| (txg, of)));
    }
    // 0, then 32 five later, the end of the part five later; 7 parts are passed by then.
    assert_eq!(trimmed[..3], [(0, 0), (5, 32), (17, 7)]);
    // A round is 32 transaction groups and what was trimmed.
    assert_eq!(trimmed[3].1, 0);
}
