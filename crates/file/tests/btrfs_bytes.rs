//! Bytes that are no btrfs, or almost one: an error at worst.
#![allow(clippy::unwrap_used)]

use std::path::Path;

use proptest::prelude::*;
use strewn_file::BtrfsFreeSpace;
use strewn_file::btrfs::Btrfs;

#[path = "support/sparse_device.rs"]
mod sparse_device;

use sparse_device::SparseDevice;

const RECORD_BYTES: usize = 4 + 4096;

/// The superblock and the root, chunk and extent trees of a file system of `mkfs.btrfs -n 4096`, which has 120 or 24
/// files, every third of which is deleted.
fn sample(name: &str) -> Vec<u8> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("fuzz/corpus/btrfs");
    std::fs::read(folder.join(name)).unwrap()
}

fn read(record: &[u8]) -> Result<BtrfsFreeSpace, String> {
    Btrfs::open(vec![SparseDevice::new(record)])?.free_space()
}

#[test]
fn a_file_system_is_read_from_its_pages() {
    // What was deleted, and the rest of the chunk.
    for (name, runs) in [("single", 120 / 3 + 1), ("dup", 24 / 3 + 1)] {
        let found = read(&sample(name)).unwrap();
        assert_eq!(found.data.runs.runs(), runs, "{name}: {found:?}");
    }
}

#[test]
fn the_other_copy_stands_in_for_a_damaged_one() {
    let record = sample("dup");
    let whole = read(&record).unwrap();
    let mut damaged = 0;
    for page in 1..record.len() / RECORD_BYTES {
        let mut record = record.clone();
        record[page * RECORD_BYTES + 4..(page + 1) * RECORD_BYTES].fill(0xff);
        assert_eq!(read(&record).unwrap(), whole, "page {page}");
        damaged += 1;
    }
    assert!(damaged > 4);
}

#[test]
fn a_page_that_is_gone_is_an_error() {
    let record = sample("single");
    for page in 0..record.len() / RECORD_BYTES {
        let mut record = record.clone();
        record.drain(page * RECORD_BYTES..(page + 1) * RECORD_BYTES);
        let error = read(&record).unwrap_err();
        assert!(error.contains("tree block") || error.contains("no btrfs"), "{error}");
    }
}

proptest! {
    #[test]
    fn any_change_is_an_error_at_worst(
        name in prop::sample::select(vec!["single", "dup"]),
        changes in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 1..40),
    ) {
        let mut record = sample(name);
        for (at, byte) in changes {
            let at = at.index(record.len());
            record[at] = byte;
        }
        let _ = read(&record);
    }

    /// Changes where headers and keys are, which decide most.
    #[test]
    fn any_change_of_a_header_is_an_error_at_worst(
        page in any::<prop::sample::Index>(),
        changes in prop::collection::vec((0..400_usize, any::<u8>()), 1..8),
    ) {
        let mut record = sample("single");
        let page = page.index(record.len() / RECORD_BYTES);
        for (at, byte) in changes {
            record[page * RECORD_BYTES + 4 + at] = byte;
        }
        let _ = read(&record);
    }

    #[test]
    fn any_bytes_are_an_error(bytes in prop::collection::vec(any::<u8>(), 0..9000)) {
        prop_assert!(read(&bytes).is_err());
    }
}
