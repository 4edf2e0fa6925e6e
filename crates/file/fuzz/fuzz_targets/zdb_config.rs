//! Any bytes as the output of `zdb -C`: vdevs that are read have numbers of their own, and devices as their kind needs.
#![no_main]

use libfuzzer_sys::fuzz_target;
use strewn_file::{PoolLayout, VdevKind};

fuzz_target!(|bytes: &[u8]| {
    let Ok(pool) = PoolLayout::read(bytes, "fuzz") else { return };
    assert!(pool.vdevs.windows(2).all(|pair| pair[0].id < pair[1].id));
    for vdev in &pool.vdevs {
        assert_eq!(vdev.devices.len(), usize::from(vdev.shape.children));
        match vdev.shape.kind {
            VdevKind::Disk => assert_eq!(vdev.devices.len(), 1),
            VdevKind::Mirror => assert!(!vdev.devices.is_empty()),
            VdevKind::RaidZ { parity } => assert!(vdev.devices.len() > usize::from(parity)),
            VdevKind::Hole | VdevKind::Unsupported(_) => continue,
        }
        for stored in [0, 1, 512, 131_072, u64::MAX] {
            let allocated = vdev.shape.allocated_bytes(stored).expect("its kind is supported");
            assert!(allocated >= stored.min(1 << 60));
        }
    }
});
