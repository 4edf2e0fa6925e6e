//! What random writes are predicted to make of a file.
#![allow(clippy::unwrap_used)]

use strewn_file::{
    Address, AgingOptions, Extent, LayoutMeasures, LayoutPass, Place, Prediction, WritePolicy,
};

const MIB: u64 = 1 << 20;

fn contiguous(bytes: u64) -> Vec<Extent> {
    vec![Extent { offset: 0, bytes, place: Place::At(Address::new(1 << 40)), shared: false }]
}

fn measures(file_bytes: u64, extents: &[Extent]) -> LayoutMeasures {
    let mut pass = LayoutPass::new(file_bytes, 4096);
    extents.iter().for_each(|extent| pass.add(extent));
    pass.finish()
}

/// Extents per MiB window of 256 MiB of 8 KiB blocks, overwritten `times`.
fn windows(batch_writes: u64, times: u64) -> f64 {
    let prediction = Prediction { writes: 32_768 * times, write_bytes: 8192 };
    let options = AgingOptions { batch_writes, ..AgingOptions::new(WritePolicy::WriteAnywhere) };
    let aged = prediction.age(&contiguous(256 * MIB), 256 * MIB, &options);
    let end = aged.extents.iter().fold(0, |end, extent| {
        assert_eq!(extent.offset, end);
        extent.end()
    });
    assert_eq!(end, 256 * MIB);
    measures(256 * MIB, &aged.extents).extents_per_mib_window
}

fn is_within(share: f64, predicted: f64, real: f64) -> bool {
    (predicted / real - 1.0).abs() <= share
}

/// The real OpenZFS 2.3.2 (raidz2, 27 % full, 2,048 writes a transaction group, filled with 4 extents per window) comes
/// to 69 to 73 after one overwrite and 78 after two.
#[test]
fn batches_of_2048_are_like_a_quiet_zfs() {
    let (once, twice) = (windows(2048, 1), windows(2048, 2));
    assert!((61.0..62.0).contains(&once) && (69.0..70.0).contains(&twice), "{once} {twice}");
    assert!(is_within(0.15, once, 71.0) && is_within(0.15, twice, 78.0));
    // With 55 % full it comes to 91: its free space is in pieces, and the model's is not.
    assert!(!is_within(0.15, once, 91.0));
}

/// The real btrfs of kernel 6.18 (single) comes to 97 and 119: its writeback starts long before the commit, so far
/// fewer writes are laid down in the order of the file together.
#[test]
fn batches_of_128_are_like_btrfs_and_batches_of_2048_are_not() {
    assert!(!is_within(0.15, windows(2048, 1), 97.0));
    let (once, twice) = (windows(128, 1), windows(128, 2));
    assert!((99.0..100.0).contains(&once) && (112.0..113.0).contains(&twice), "{once} {twice}");
    assert!(is_within(0.15, once, 97.0) && is_within(0.15, twice, 119.0));
}

/// Without an order, as OpenZFS without its allocation throttle: 103.
#[test]
fn single_writes_are_the_worst_case() {
    let once = windows(1, 1);
    // Of 128 blocks a share of 1 - 1/e was written; each is a run, and so is what lies between them.
    let written = 128.0 * (1.0 - (-1.0f64).exp());
    assert!(is_within(0.01, once, written + written * (-1.0f64).exp()), "{once}");
    assert!(is_within(0.15, once, 103.0));
}

#[test]
fn in_place_nothing_moves() {
    let prediction = Prediction { writes: 10_000, write_bytes: 8192 };
    let options = AgingOptions::new(WritePolicy::InPlace);
    let file = contiguous(64 * MIB);
    assert_eq!(prediction.age(&file, 64 * MIB, &options).extents, file);
}

#[test]
fn in_place_holes_and_reserved_space_are_filled() {
    let prediction = Prediction { writes: 10_000, write_bytes: 8192 };
    let options = AgingOptions::new(WritePolicy::InPlace);
    let unwritten = Extent { place: Place::Unwritten(Address::new(1 << 40)), ..contiguous(MIB)[0] };
    let aged = prediction.age(&[unwritten], MIB, &options);
    assert_eq!(aged.extents, contiguous(MIB));
    let sparse = prediction.age(&[], MIB, &options);
    let after = measures(MIB, &sparse.extents);
    // One batch of 2,048 writes reaches all 128 blocks, in the order of the file.
    assert_eq!((after.holes, after.extents, sparse.behind_bytes), (0, 1, MIB));
    // A hole behind the last extent, within a write.
    let short = Extent { bytes: 4096, ..contiguous(MIB)[0] };
    let filled = prediction.age(&[short], 8192, &options);
    assert_eq!((filled.behind_bytes, measures(8192, &filled.extents).hole_bytes), (8192, 0));
    let shared = Extent { shared: true, ..contiguous(MIB)[0] };
    let moved = prediction.age(&[shared], MIB, &options);
    assert_eq!(measures(MIB, &moved.extents).shared_bytes, 0);
}

#[test]
fn free_space_is_taken_run_by_run() {
    let prediction = Prediction { writes: 10_000, write_bytes: 8192 };
    let free = vec![
        (Address::new(0), 3 * 8192),
        (Address::new(1 << 20), 100),
        (Address::new(1 << 21), 8192),
    ];
    let options = AgingOptions { free, ..AgingOptions::new(WritePolicy::WriteAnywhere) };
    let few = Prediction { writes: 5, ..prediction };
    let aged = few.age(&contiguous(64 * MIB), 64 * MIB, &options);
    let mut places: Vec<u64> =
        aged.extents.iter().filter_map(|one| one.place.address()).map(|at| at.byte).collect();
    places.retain(|byte| *byte < 1 << 40 || *byte >= (1 << 40) + 64 * MIB);
    places.sort_unstable();
    assert_eq!(places, [0, 8192, 16_384, 1 << 21, (1 << 40) + 64 * MIB]);
    assert_eq!(aged.behind_bytes, 8192);
}

#[test]
fn the_last_block_of_a_file_keeps_its_length() {
    let prediction = Prediction { writes: 1000, write_bytes: 8192 };
    let options = AgingOptions::new(WritePolicy::WriteAnywhere);
    let aged = prediction.age(&contiguous(20_000), 20_000, &options);
    assert_eq!(aged.extents.last().unwrap().end(), 20_000);
    assert_eq!(measures(20_000, &aged.extents).placed_bytes, 20_000);
    assert!(prediction.age(&[], 0, &options).extents.is_empty());
}

#[test]
fn texts_that_are_no_prediction_say_what_to_write() {
    for (text, what) in [
        ("2 GiB of 8 KiB", "does not end in"),
        ("2 GB of 8 random writes", "the size of a write is no size"),
        ("two of 8 KiB random writes", "the amount is no size"),
        ("many 4 KiB random writes", "the number of writes is no number"),
        ("1 KiB of 8 KiB random writes", "there is no write in it"),
        ("10 100 B random writes", "multiple of 512"),
        ("1 GiB of 0 B random writes", "write nothing"),
        ("random writes", "a size is missing"),
    ] {
        let error = text.parse::<Prediction>().unwrap_err().to_string();
        assert!(error.contains(what) && error.contains("write a number or an amount"), "{error}");
    }
    let prediction: Prediction = "2GiB of 8KiB random writes".parse().unwrap();
    assert_eq!(prediction.to_string(), "2 GiB of 8 KiB random writes");
}

/// A reflinked copy on XFS of Linux 6.18, 41.8 MiB in one shared extent, and what fio's random writes made of it: 50
/// MiB of 8 KiB, 2,415 extents; 400 MiB, 335; 50 MiB of 64 KiB, 471; 400 MiB, 333.
#[test]
fn what_xfs_shares_moves_by_units_of_128_kib() {
    let bytes = (41.8 * f64::from(1 << 20)) as u64 / 4096 * 4096;
    let shared = Extent { offset: 0, bytes, place: Place::At(Address::new(1 << 30)), shared: true };
    let mut options = AgingOptions::new(WritePolicy::InPlace);
    options.copied_unit_bytes = Some(strewn_file::XFS_COPIED_UNIT_BYTES);
    // With direct I/O, each write gets its place at once.
    options.batch_writes = 1;
    for (writes, real) in [
        ("50 MiB of 8 KiB random writes", 2415.0),
        ("400 MiB of 8 KiB random writes", 335.0),
        ("50 MiB of 64 KiB random writes", 471.0),
        ("400 MiB of 64 KiB random writes", 333.0),
    ] {
        let prediction: Prediction = writes.parse().unwrap();
        let aged = prediction.age(&[shared], bytes, &options);
        let mut layout = LayoutPass::new(bytes, 4096);
        aged.extents.iter().for_each(|extent| layout.add(extent));
        let extents = layout.finish().extents as f64;
        // Without the unit there are 3,986, 4,364, 260 and 59.
        assert!((extents / real - 1.0).abs() < 0.1, "{writes}: {extents} instead of {real}");
    }
}
