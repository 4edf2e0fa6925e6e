//! Any bytes as the pages of a device: an error at worst, and pieces that add up.
#![no_main]

use libfuzzer_sys::fuzz_target;
use strewn_file::btrfs::Btrfs;

#[path = "../../tests/support/sparse_device.rs"]
mod sparse_device;

use sparse_device::SparseDevice;

fuzz_target!(|bytes: &[u8]| {
    let Ok(mut btrfs) = Btrfs::open(vec![SparseDevice::new(bytes)]) else { return };
    if let Ok(space) = btrfs.free_space() {
        assert!(space.data.largest_run_blocks <= space.data.free_blocks);
        assert!((0.0..=1.0).contains(&space.data.score));
    }
});
