//! Without the throttle, blocks of a transaction group are placed in an order that is known: that of the real pool.

use strewn_zfs::{AllocationOrder, POINTERS};

use crate::recording::{Event, whole};
use crate::volumes::SplitMix;

/// Writes of a transaction group.
const WRITES: usize = 512;

#[test]
fn blocks_of_a_transaction_group_are_placed_in_the_order_of_the_real_pool() {
    for recording in whole() {
        // The blocks of the volume, by transaction group, as they were placed.
        let mut placed: Vec<(u64, Vec<u32>)> = Vec::new();
        for event in recording.events() {
            let Event::Allocate { at, block, .. } = event else { continue };
            if block.objset == 0 || block.object != 1 || block.level != 0 {
                continue;
            }
            match placed.last_mut().filter(|(txg, _)| *txg == at.0) {
                Some((_, blocks)) => blocks.push(block.number as u32),
                None => placed.push((at.0, vec![block.number as u32])),
            }
        }
        let blocks = (recording.volume_mib << 20) / 8_192;
        let mut random = SplitMix(1);
        let overwrites = (0..2 * blocks).map(|_| (random.next() % blocks) as u32);
        let writes: Vec<u32> = (0..blocks as u32).chain(overwrites).collect();
        assert_eq!(placed.len(), writes.chunks(WRITES).count(), "{}", recording.name);
        for ((txg, placed), written) in placed.iter().zip(writes.chunks(WRITES)) {
            let mut expected: Vec<u32> = Vec::new();
            let mut seen = std::collections::HashSet::new();
            expected.extend(written.iter().filter(|block| seen.insert(**block)));
            AllocationOrder::new(None, 0).apply(&mut expected, POINTERS);
            assert_eq!(*placed, expected, "{}, transaction group {txg}", recording.name);
        }
    }
}
