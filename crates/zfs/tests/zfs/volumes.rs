//! Volumes that are aged as real ones were, and how their layout is measured.

use strewn_zfs::{
    AllocationOrder, Pool, PoolObjects, PoolOptions, Redundancy, Vdev, Volume, VolumeShape,
};

/// The generator of `real_pool`.
pub struct SplitMix(pub u64);

impl SplitMix {
    pub fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mixed = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        mixed ^ (mixed >> 31)
    }
}

/// How a volume is aged.
#[derive(Debug, Clone, Copy)]
pub struct Ageing {
    pub vdev_mib: u64,
    pub writes_a_txg: usize,
    pub slots: Option<u32>,
    /// Transaction groups without writes after each.
    pub empty_groups: u32,
}

/// What is measured after a pass.
#[derive(Debug, Clone, Copy)]
pub struct Measured {
    pub extents_a_mib: f64,
    pub neighbours: usize,
    pub frag: u64,
    pub metaslabs: usize,
}

const BLOCKS: u32 = 32_768;
const BYTES: u32 = 8_192;

/// Fills a volume of 256 MiB on RAID-Z2 of six drives in order, and overwrites it at random. Returns what is measured
/// after each pass.
pub fn age(ageing: Ageing, passes: usize, seed: u64) -> Vec<Measured> {
    let redundancy = Redundancy::RaidZ { drives: 6, parity: 2 };
    let vdev = Vdev { redundancy, ashift: 12, drive_bytes: ageing.vdev_mib << 20, scale_down: 1 };
    let mut pool = Pool::new(&[vdev], PoolOptions::default());
    let shape = VolumeShape { blocks: BLOCKS, block_bytes: BYTES, stored_bytes: BYTES };
    let mut volume = Volume::new(shape);
    let mut objects = PoolObjects::new(vdev.metaslabs().count as usize);
    let mut order = AllocationOrder::new(ageing.slots, seed);
    let mut random = SplitMix(seed);
    let mut measured = Vec::new();
    for pass in 0..=passes {
        let written: Vec<u32> = match pass {
            0 => (0..BLOCKS).collect(),
            _ => (0..BLOCKS).map(|_| (random.next() % u64::from(BLOCKS)) as u32).collect(),
        };
        for group in written.chunks(ageing.writes_a_txg) {
            let mut seen = std::collections::HashSet::new();
            let dirty: Vec<u32> =
                group.iter().copied().filter(|block| seen.insert(*block)).collect();
            let mut writes = Vec::new();
            let freed = dirty.len() as u64;
            volume.sync(&mut pool, dirty, &mut order, &mut writes).unwrap();
            objects.sync(&mut pool, freed, &mut writes).unwrap();
            (0..=ageing.empty_groups).for_each(|_| pool.sync_done());
        }
        measured.push(measure(&volume, &pool, vdev.allocated_bytes(BYTES.into())));
    }
    measured
}

fn measure(volume: &Volume, pool: &Pool, allocated: u64) -> Measured {
    let places: Vec<(u16, u64)> = volume.blocks().iter().map(|block| block.place()).collect();
    let follows = |two: &[(u16, u64)]| two[0].0 == two[1].0 && two[0].1 + allocated == two[1].1;
    let mut extents = 0;
    let windows = places.chunks(((1 << 20) / BYTES) as usize);
    let count = windows.len();
    for window in windows {
        let mut sorted = window.to_vec();
        sorted.sort_unstable();
        extents += 1 + sorted.windows(2).filter(|two| !follows(two)).count();
    }
    Measured {
        extents_a_mib: extents as f64 / count as f64,
        neighbours: places.windows(2).filter(|two| follows(two)).count(),
        frag: pool.fragmentation(),
        metaslabs: pool.metaslabs_in_use().map(|(in_use, _)| in_use).sum(),
    }
}
