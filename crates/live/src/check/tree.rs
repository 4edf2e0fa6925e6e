//! Walks from the root, and from the inode of each snapshot, to every block.

use strewn_alloc::REGION_BLOCKS;
use strewn_array::write_anywhere::metadata::Pointer;
use strewn_array::write_anywhere::{BlockKeys, PlacedGroup, WriteAnywhereConfig};
use strewn_volume::VolumeId;

use crate::restart::read_catalog;

use super::{CheckReport, Inconsistency, Reach, Reached};
use crate::device::Devices;
use crate::format::Superblock;
use crate::offline::{OfflineArray, SpindleBlock};
use crate::stripe_read::problem_of;

/// Checks the tree level by level, and returns the blocks reached.
pub(super) fn check<D: Devices>(
    offline: &mut OfflineArray<'_, D>,
    config: &WriteAnywhereConfig,
    superblock: &Superblock,
    report: &mut CheckReport,
) -> Reached {
    let catalog = match read_catalog(offline, config, superblock) {
        Ok((catalog, _)) => catalog,
        Err(error) => {
            report.findings.push(Inconsistency::Catalog { why: error.to_string() });
            return Reached::new();
        }
    };
    let config = &catalog.config(config).with_first_groups(superblock.groups());
    let keys = config.block_keys();
    let bitmap = vec![None; keys.aggregate_bitmap().len()];
    let root = keys.root().zip(superblock.root_pointer());
    let catalog_blocks: Vec<_> = keys.catalog().zip(superblock.catalog_pointers()).collect();
    let has_clones = catalog.volumes.iter().any(|volume| volume.origin.is_some());
    let (groups, reached) = (config.placed_groups(), Reached::new());
    let mut walk = Walk { config, groups, keys, superblock, reached, bitmap, has_clones };
    walk.below(offline, catalog_blocks, report);
    walk.below(offline, root.into_iter().collect(), report);
    for (_, snapshot) in catalog.snapshots() {
        walk.keys = snapshot.keys(config);
        let inode = snapshot.inode().map(|pointer| (walk.keys.inode_of(VolumeId(0)), pointer));
        walk.below(offline, inode.into_iter().collect(), report);
    }
    if superblock.root.block.is_some() {
        check_bitmap(&walk.bitmap, config, superblock, &walk.reached, report);
    }
    walk.reached
}

/// The state of the walk.
struct Walk<'a> {
    config: &'a WriteAnywhereConfig,
    groups: Vec<PlacedGroup>,
    keys: BlockKeys,
    superblock: &'a Superblock,
    reached: Reached,
    bitmap: Vec<Option<Vec<u8>>>,
    has_clones: bool,
}

impl Walk<'_> {
    /// Walks from a block to everything below it; subtrees that several trees share are walked once.
    fn below<D: Devices>(
        &mut self,
        offline: &mut OfflineArray<'_, D>,
        mut level: Vec<(u32, Pointer)>,
        report: &mut CheckReport,
    ) {
        while !level.is_empty() {
            level = self.level(offline, level, report);
        }
    }

    /// Records that a block is reached. Returns whether what it references is to be walked: it is reached for the first
    /// time, or as something else.
    fn record_reach(&mut self, key: u32, pointer: Pointer, report: &mut CheckReport) -> bool {
        let Pointer { vbn, checksum } = pointer;
        let reach = Reach { holds: self.keys.holds(key), checksum };
        let holds = reach.holds;
        if vbn.0 >= self.config.total_blocks() {
            report.findings.push(Inconsistency::OutOfRange { holds, vbn });
            return false;
        }
        match self.reached.insert(vbn, reach) {
            None => true,
            Some(before) if before.is_same(&reach, self.has_clones) => false,
            Some(Reach { holds: one, .. }) => {
                report.findings.push(Inconsistency::SharedPlace { vbn, one, other: holds });
                true
            }
        }
    }

    /// Checks the blocks of a level, and returns those that they reference.
    fn level<D: Devices>(
        &mut self,
        offline: &mut OfflineArray<'_, D>,
        mut level: Vec<(u32, Pointer)>,
        report: &mut CheckReport,
    ) -> Vec<(u32, Pointer)> {
        level.retain(|(key, pointer)| self.record_reach(*key, *pointer, report));
        let Self { groups, keys, superblock, bitmap, .. } = self;
        // A pointer behind the last group was found to be wrong.
        let placed: Vec<(&PlacedGroup, SpindleBlock)> = level
            .iter()
            .filter_map(|(_, one)| {
                let group = PlacedGroup::with_block(groups, one.vbn)?;
                Some((group, SpindleBlock::of(group, one.vbn)))
            })
            .collect();
        let places: Vec<SpindleBlock> = placed.iter().map(|(_, place)| *place).collect();
        let read = offline.read_states(&places);
        let mut next = Vec::new();
        for (((key, pointer), (group, place)), (bytes, state)) in level.iter().zip(placed).zip(read)
        {
            report.blocks += 1;
            let holds = keys.holds(*key);
            let why = match state {
                Some(state) => {
                    problem_of(&state, holds, Some(pointer.checksum), superblock.consistency_point)
                }
                None => {
                    report.blocks_missing += 1;
                    None
                }
            };
            let is_right = why.is_none() && state.is_some();
            if let Some(why) = why {
                report.findings.push(Inconsistency::Block { holds, place, why });
            }
            let bytes = match is_right {
                true => bytes,
                false => match offline.compute(group, place, pointer.checksum) {
                    Some(bytes) => bytes,
                    None => {
                        report.findings.push(Inconsistency::Lost { holds, place });
                        continue;
                    }
                },
            };
            if let Some(slot) = key.checked_sub(keys.aggregate_bitmap().start)
                && let Some(slot) = bitmap.get_mut(slot as usize)
            {
                *slot = Some(bytes);
            } else if keys.has_pointers(*key) {
                match keys.children_in(*key, &bytes) {
                    Ok(children) => {
                        next.extend(
                            children.into_iter().filter_map(|(key, one)| Some((key, one?))),
                        );
                    }
                    Err(error) => {
                        let why = error.to_string();
                        report.findings.push(Inconsistency::Block { holds, place, why });
                    }
                }
            }
        }
        next
    }
}

fn check_bitmap(
    bitmap: &[Option<Vec<u8>>],
    config: &WriteAnywhereConfig,
    superblock: &Superblock,
    reached: &Reached,
    report: &mut CheckReport,
) {
    let in_use = |vbn: u64| {
        let block = bitmap.get((vbn / REGION_BLOCKS) as usize)?.as_ref()?;
        let bit = (vbn % REGION_BLOCKS) as usize;
        Some(block[bit / 8] >> (bit % 8) & 1 == 1)
    };
    for (&vbn, &Reach { holds, .. }) in reached {
        if in_use(vbn.0) == Some(false) {
            report.findings.push(Inconsistency::MarkedFree { vbn, holds });
        }
    }
    // A bitmap block that was not read says nothing about its blocks.
    if bitmap.iter().any(Option::is_none) {
        return;
    }
    let total = config.total_blocks();
    let in_bitmap = (0..total).filter(|vbn| in_use(*vbn) == Some(true)).count() as u64;
    let for_superblock = WriteAnywhereConfig::SUPERBLOCK_BLOCKS;
    let (reached, held_back) =
        (reached.len() as u64 + for_superblock, superblock.root.held_back_blocks);
    if in_bitmap != reached + held_back {
        report.findings.push(Inconsistency::InUseCount { in_bitmap, reached, held_back });
    }
}
