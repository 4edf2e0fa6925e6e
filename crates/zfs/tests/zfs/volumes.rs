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

/// How a volume is aged. The fields are options of `real_pool`.
#[derive(Debug, Clone, Copy)]
pub struct Ageing {
    pub redundancy: Redundancy,
    pub vdevs: usize,
    pub ashift: u8,
    pub drive_mib: u64,
    pub volume_mib: u64,
    pub block_bytes: u32,
    pub writes_a_txg: usize,
    pub slots: Option<u32>,
    /// Transaction groups without writes after each.
    pub empty_groups: u32,
}

/// How a volume lies.
#[derive(Debug, Clone, Copy)]
pub struct Layout {
    /// Runs of blocks that lie one behind the other, of those of each MiB sorted by place.
    pub extents_a_mib: f64,
    /// Blocks that lie behind the one before.
    pub neighbours: usize,
}

/// What is measured after a pass.
#[derive(Debug, Clone, Copy)]
pub struct Measured {
    pub layout: Layout,
    pub frag: u64,
    pub metaslabs: usize,
}

/// Fills a volume in order, and overwrites it at random. Returns what is measured after each pass.
pub fn age(ageing: Ageing, passes: usize, seed: u64) -> Vec<Measured> {
    let Ageing { redundancy, ashift, drive_mib, block_bytes, .. } = ageing;
    let vdev = Vdev { redundancy, ashift, drive_bytes: drive_mib << 20, scale_down: 1 };
    let mut pool = Pool::new(&vec![vdev; ageing.vdevs], PoolOptions::default());
    let blocks = ((ageing.volume_mib << 20) / u64::from(block_bytes)) as u32;
    let mut volume = Volume::new(VolumeShape { blocks, block_bytes, stored_bytes: block_bytes });
    let mut objects = PoolObjects::new(ageing.vdevs * vdev.metaslabs().count as usize);
    let slots = ageing.slots.map(|slots| slots * ageing.vdevs as u32);
    let mut order = AllocationOrder::new(slots, seed);
    let mut random = SplitMix(seed);
    let mut measured = Vec::new();
    for pass in 0..=passes {
        let written: Vec<u32> = match pass {
            0 => (0..blocks).collect(),
            _ => (0..blocks).map(|_| (random.next() % u64::from(blocks)) as u32).collect(),
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
        let places: Vec<(u16, u64)> = volume.blocks().iter().map(|block| block.place()).collect();
        let layout = Layout::of(&places, vdev.allocated_bytes(block_bytes.into()), block_bytes);
        let metaslabs = pool.metaslabs_in_use().map(|(in_use, _)| in_use).sum();
        measured.push(Measured { layout, frag: pool.fragmentation(), metaslabs });
    }
    measured
}

impl Layout {
    /// That of blocks at these places, of which each takes `allocated` bytes.
    pub fn of(places: &[(u16, u64)], allocated: u64, block_bytes: u32) -> Self {
        let follows = |two: &[(u16, u64)]| two[0].0 == two[1].0 && two[0].1 + allocated == two[1].1;
        let windows = places.chunks(((1 << 20) / block_bytes) as usize);
        let count = windows.len();
        let extents = windows.map(|window| {
            let mut sorted = window.to_vec();
            sorted.sort_unstable();
            1 + sorted.windows(2).filter(|two| !follows(two)).count()
        });
        Self {
            extents_a_mib: extents.sum::<usize>() as f64 / count as f64,
            neighbours: places.windows(2).filter(|two| follows(two)).count(),
        }
    }
}
