//! Any bytes as the output of `qemu-img map --output=json`, composed with an image file of some extents: the guest's
//! extents are in order and do not overlap.
#![no_main]

use libfuzzer_sys::fuzz_target;
use strewn_file::{Address, Extent, LayerExtents, MapReader, Place, compose};

fuzz_target!(|bytes: &[u8]| {
    let extent = |number: u64| {
        let at = Address::new((8 - number) << 20);
        let place = match number {
            1 => Place::Unwritten(at),
            2 => Place::Encoded { at, stored_bytes: None },
            3 => Place::Inline,
            _ => Place::At(at),
        };
        Extent { offset: number * 100_000, bytes: 90_000 + number * 2000, place, shared: false }
    };
    let layer = Some((0..8).map(extent).collect::<LayerExtents>());
    let mut end = 0;
    for extent in compose(MapReader::new(bytes, "fuzz"), vec![layer, None]) {
        let Ok(extent) = extent else { return };
        assert!(extent.offset >= end && extent.bytes > 0);
        end = extent.offset.checked_add(extent.bytes).expect("the end is within 2^64");
    }
});
