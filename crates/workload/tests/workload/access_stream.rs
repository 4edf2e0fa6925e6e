//! What a stream of accesses promises: the mix asked for, inside the region, aligned, repeatable.

use proptest::prelude::*;
use strewn_workload::{
    Access, AccessLine, AccessSpecification, AccessStream, Direction, WorkloadError,
};

const FILE_SECTORS: u64 = 100 * (1 << 30) / 512;

fn file_server() -> AccessSpecification {
    AccessSpecification::shipped("file-server").unwrap()
}

fn one_line(
    bytes: u32,
    read_percent: u8,
    random_percent: u8,
    alignment: u32,
) -> AccessSpecification {
    let line = AccessLine { bytes, percent_of_accesses: 100, read_percent, random_percent };
    AccessSpecification::new("one line", vec![line], alignment).unwrap()
}

/// Pearson's chi-square of counts against expectations.
fn chi_square(counts: &[u64], expected: &[f64]) -> f64 {
    counts
        .iter()
        .zip(expected)
        .map(|(&count, expected)| (count as f64 - expected).powi(2) / expected)
        .sum()
}

type Plain = (u64, u32, Direction);

fn first_8(specification: &AccessSpecification, first_sector: u64, sectors: u64) -> [Plain; 8] {
    let mut stream = AccessStream::new(specification, first_sector, sectors, 1).unwrap();
    std::array::from_fn(|_| {
        let Access { sector, sectors, direction } = stream.next_access();
        (sector, sectors, direction)
    })
}

/// Streams are stable across versions: these accesses never change. They were computed by a second
/// implementation, written from the documentation of [`AccessStream`] in another language.
#[test]
fn seed_1_of_file_server_is_pinned() {
    use Direction::{Read, Write};
    assert_eq!(
        first_8(&file_server(), 0, FILE_SECTORS),
        [
            (21_003_167, 16, Read),
            (123_832_398, 8, Read),
            (20_258_872, 128, Read),
            (72_037_386, 2, Write),
            (18_768_866, 1, Read),
            (99_175_036, 4, Read),
            (55_360_023, 128, Read),
            (86_710_153, 8, Read),
        ]
    );
}

/// As above, with every kind of draw taken and skipped, an alignment, and a region elsewhere.
#[test]
fn seed_1_of_a_mixed_specification_is_pinned() {
    use Direction::{Read, Write};
    let line = |bytes, percent_of_accesses, read_percent, random_percent| AccessLine {
        bytes,
        percent_of_accesses,
        read_percent,
        random_percent,
    };
    let lines = vec![line(4096, 40, 0, 0), line(8192, 30, 100, 50), line(65_536, 30, 33, 75)];
    let mixed = AccessSpecification::new("mixed", lines, 4096).unwrap();
    assert_eq!(
        first_8(&mixed, 63, 1000),
        [
            (815, 128, Write),
            (943, 8, Write),
            (951, 16, Read),
            (199, 16, Read),
            (463, 128, Write),
            (591, 8, Write),
            (599, 8, Write),
            (1023, 16, Read),
        ]
    );
}

/// The bound is exceeded by one seed in a thousand: chi-square with 7 degrees of freedom. The
/// seeds are fixed, so that the test either holds or does not.
#[test]
fn sizes_come_in_their_shares() {
    let specification = file_server();
    let draws = 1_000_000;
    for seed in 1..=4 {
        let mut stream = AccessStream::new(&specification, 0, FILE_SECTORS, seed).unwrap();
        let mut counts = [0_u64; 8];
        for _ in 0..draws {
            let bytes = stream.next_access().sectors * 512;
            let line = specification.lines().iter().position(|line| line.bytes == bytes);
            counts[line.unwrap()] += 1;
        }
        let shares = specification.lines().iter().map(|line| f64::from(line.percent_of_accesses));
        let expected = shares.map(|percent| percent / 100.0 * f64::from(draws)).collect::<Vec<_>>();
        let statistic = chi_square(&counts, &expected);
        assert!(statistic < 24.3, "seed {seed}: {statistic}");
    }
}

/// Four standard deviations, overall and for each size: reads do not depend on the size.
#[test]
fn reads_come_in_their_share_whatever_the_size() {
    let mut stream = AccessStream::new(&file_server(), 0, FILE_SECTORS, 7).unwrap();
    let mut by_size = std::collections::BTreeMap::<u32, (f64, f64)>::new();
    for _ in 0..1_000_000 {
        let access = stream.next_access();
        let (accesses, reads) = by_size.entry(access.sectors).or_default();
        *accesses += 1.0;
        *reads += f64::from(u8::from(access.direction == Direction::Read));
    }
    for (sectors, (accesses, reads)) in by_size {
        let deviation = (accesses * 0.8 * 0.2).sqrt();
        assert!((reads - 0.8 * accesses).abs() < 4.0 * deviation, "{sectors} sectors: {reads}");
    }
}

/// 128 bins, the bound of one seed in a thousand: chi-square with 127 degrees of freedom.
#[test]
fn offsets_are_uniform() {
    let draws = 1_000_000;
    for seed in 1..=4 {
        let mut stream = AccessStream::new(&file_server(), 0, FILE_SECTORS, seed).unwrap();
        let mut counts = [0_u64; 128];
        for _ in 0..draws {
            counts[(stream.next_access().sector * 128 / FILE_SECTORS) as usize] += 1;
        }
        let statistic = chi_square(&counts, &[f64::from(draws) / 128.0; 128]);
        assert!(statistic < 181.0, "seed {seed}: {statistic}");
    }
}

/// An access of eight sectors can start at three of ten; the seven others fall back to the first.
#[test]
fn accesses_past_the_end_go_to_the_beginning() {
    let specification = one_line(4096, 100, 100, 512);
    let mut stream = AccessStream::new(&specification, 0, 10, 1).unwrap();
    let draws = 1_000_000;
    let mut counts = [0_u64; 3];
    for _ in 0..draws {
        counts[stream.next_access().sector as usize] += 1;
    }
    let expected = [0.8, 0.1, 0.1].map(|share: f64| share * f64::from(draws));
    let statistic = chi_square(&counts, &expected);
    assert!(statistic < 13.8, "{counts:?}: {statistic}");
}

#[test]
fn sequential_accesses_follow_each_other_and_wrap() {
    let specification = one_line(4096, 0, 0, 512);
    let mut stream = AccessStream::new(&specification, 100, 20, 1).unwrap();
    let sectors = std::array::from_fn::<_, 5, _>(|_| stream.next_access());
    let expected = [100, 108, 100, 108, 100].map(|sector| Access {
        sector,
        sectors: 8,
        direction: Direction::Write,
    });
    assert_eq!(sectors, expected);
}

#[test]
fn sequential_accesses_keep_their_alignment() {
    let specification = one_line(512, 100, 0, 1536);
    let mut stream = AccessStream::new(&specification, 63, 8, 1).unwrap();
    let sectors = std::array::from_fn::<_, 4, _>(|_| stream.next_access().sector);
    assert_eq!(sectors, [63, 66, 69, 63]);
}

#[test]
fn random_percent_mixes_both_kinds() {
    let specification = one_line(512, 100, 25, 512);
    let mut stream = AccessStream::new(&specification, 0, FILE_SECTORS, 3).unwrap();
    let mut previous = stream.next_access();
    let mut followed = 0;
    for _ in 0..100_000 {
        let access = stream.next_access();
        followed += u32::from(access.sector == previous.sector + 1);
        previous = access;
    }
    assert!((74_400..75_600).contains(&followed), "{followed}");
}

#[test]
fn regions_that_do_not_fit_say_why() {
    let message =
        |first, sectors| AccessStream::new(&file_server(), first, sectors, 1).unwrap_err();
    assert_eq!(
        message(0, 127).to_string(),
        "access specification \"file-server\" has accesses of 128 sectors; a region of 127 sectors \
         cannot hold them"
    );
    assert!(AccessStream::new(&file_server(), 0, 128, 1).is_ok());
    assert!(matches!(message(1 << 55, 128), WorkloadError::RegionTooLarge { .. }));
    assert!(matches!(message(u64::MAX, u64::MAX), WorkloadError::RegionTooLarge { .. }));
}

fn any_lines() -> impl Strategy<Value = Vec<AccessLine>> {
    let line = (1..300_u32, 0..=100_u8, 0..=100_u8);
    (proptest::collection::vec(line, 2), 0..=100_u8).prop_map(|(lines, first_percent)| {
        let shares = [first_percent, 100 - first_percent];
        let lines = lines.into_iter().zip(shares);
        lines
            .map(|((sectors, read_percent, random_percent), percent_of_accesses)| AccessLine {
                bytes: sectors * 512,
                percent_of_accesses,
                read_percent,
                random_percent,
            })
            .collect()
    })
}

proptest! {
    // A failure prints the seed of the stream with the other inputs.
    #[test]
    fn accesses_stay_inside_and_aligned(
        lines in any_lines(),
        alignment_sectors in 1..40_u32,
        region_first_sector in 0..1_u64 << 54,
        spare_sectors in prop_oneof![0..1000_u64, 0..1_u64 << 50],
        seed: u64,
    ) {
        let specification =
            AccessSpecification::new("any", lines, alignment_sectors * 512).unwrap();
        let region_sectors = u64::from(specification.largest_bytes() / 512) + spare_sectors;
        let mut stream =
            AccessStream::new(&specification, region_first_sector, region_sectors, seed).unwrap();
        let mut again = stream.clone();
        for _ in 0..200 {
            let access = stream.next_access();
            prop_assert_eq!(access, again.next_access());
            prop_assert!(access.sectors >= 1 && access.sector >= region_first_sector);
            let sector_in_region = access.sector - region_first_sector;
            prop_assert!(sector_in_region + u64::from(access.sectors) <= region_sectors);
            prop_assert_eq!(sector_in_region % u64::from(alignment_sectors), 0);
        }
    }
}
