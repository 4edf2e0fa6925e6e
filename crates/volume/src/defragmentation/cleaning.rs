//! Segment cleaning: empties allocation areas to make free space contiguous.

use std::cmp::Reverse;
use std::collections::HashSet;
use std::sync::Arc;

use strewn_alloc::{GroupIndex, OutOfSpace};

use super::Gain;
use crate::volumes::Withheld;
use crate::{Move, VolumeError, VolumeId, Volumes};

/// Slots of container maps visited for each block requested.
const SLOTS_A_BLOCK: u64 = 64;

/// The areas to empty: those with the fewest used blocks.
///
/// This is the greedy policy of Rosenblum and Ousterhout's log-structured file system (1991); WAFL's segment cleaning
/// picks the same way (Kesavan, Curtis-Maury, Devadas and Mishra, FAST 2019).
#[derive(Debug, Clone)]
pub struct CleaningPlan {
    areas: Vec<(GroupIndex, u32)>,
    gain: Gain,
}

impl CleaningPlan {
    /// Picks at most `areas` areas: those with the fewest used blocks, at least one each. O(areas log areas).
    #[must_use]
    pub fn new(volumes: &Volumes, areas: usize) -> Self {
        let mut candidates = Vec::new();
        for (index, map) in volumes.aggregate().free_maps().enumerate() {
            for area in 0..map.areas().count() {
                let stripes = map.stripes_of_area(area);
                let blocks = (stripes.end - stripes.start) * u64::from(map.group().data_spindles());
                let used = blocks - u64::from(map.areas().free_blocks_in(area));
                if used > 0 && used < blocks && !map.areas().is_withheld(area) {
                    candidates.push((used, Reverse(area), GroupIndex(index as u16)));
                }
            }
        }
        candidates.sort_unstable();
        candidates.truncate(areas);
        let gain = Gain {
            blocks_to_move: candidates.iter().map(|(used, ..)| used).sum(),
            areas_emptied: candidates.len() as u64,
            ..Gain::default()
        };
        let areas = candidates.into_iter().map(|(_, Reverse(area), group)| (group, area));
        Self { areas: areas.collect(), gain }
    }

    /// The expected gain: an upper bound, because an area may hold blocks of no volume or delayed frees.
    #[must_use]
    pub fn gain(&self) -> Gain {
        self.gain
    }

    /// Allocation areas to be emptied.
    #[must_use]
    pub fn areas(&self) -> &[(GroupIndex, u32)] {
        &self.areas
    }

    /// Starts the cleaning: withholds the areas from allocation.
    ///
    /// # Errors
    /// During a consistency point; [`VolumeError::OutOfSpace`] if the blocks to move exceed what is free elsewhere and
    /// not reserved.
    pub fn start(self, volumes: &mut Volumes) -> Result<SegmentCleaning, VolumeError> {
        volumes.between_consistency_points()?;
        volumes.release_abandoned_areas();
        let aggregate = &volumes.aggregate;
        let free_in = |(group, area): &(GroupIndex, u32)| {
            u64::from(aggregate.free_map(*group).areas().free_blocks_in(*area))
        };
        let withheld =
            volumes.withheld.iter().flat_map(|withheld| &withheld.areas).chain(&self.areas);
        let withheld: u64 = withheld.map(free_in).sum();
        let free = volumes.free_beyond(volumes.reserved).saturating_sub(withheld);
        let needed = self.gain.blocks_to_move;
        if needed > free {
            return Err(OutOfSpace { needed, free }.into());
        }
        for (group, area) in &self.areas {
            volumes.aggregate.withhold_area(*group, *area);
        }
        let token = Arc::new(());
        let areas = self.areas.clone();
        volumes.withheld.push(Withheld { token: Arc::downgrade(&token), areas });
        let areas = self.areas.into_iter().collect();
        Ok(SegmentCleaning { _token: token, areas, at: Some((VolumeId(0), 0)) })
    }
}

/// Areas being emptied. Dropping it, at the end or earlier, allows allocation from them again, from the next
/// consistency point on.
#[derive(Debug)]
pub struct SegmentCleaning {
    _token: Arc<()>,
    areas: HashSet<(GroupIndex, u32)>,
    /// The volume and the slot of its container map to visit next.
    at: Option<(VolumeId, u64)>,
}

impl SegmentCleaning {
    /// The next item: at most `most_blocks` blocks to move, found by visiting at most 64 times as many slots of
    /// container maps. It may be empty; `None` once all maps have been visited. If the caller abandons the consistency
    /// point in which it moves an item, it must move the item again.
    pub fn next_item(&mut self, volumes: &Volumes, most_blocks: u64) -> Option<Vec<Move>> {
        let most_blocks = most_blocks.max(1);
        let (mut id, mut slot) = self.at?;
        let mut slots = most_blocks.saturating_mul(SLOTS_A_BLOCK);
        let mut item = Vec::new();
        while slots > 0 && (item.len() as u64) < most_blocks {
            let Some((&volume_id, volume)) = volumes.volumes.range(id..).next() else {
                self.at = None;
                return (!item.is_empty()).then_some(item);
            };
            if volume_id != id {
                (id, slot) = (volume_id, 0);
            }
            // At most as many as the item has room for, in case all of them lie in the areas.
            let most = slots.min(most_blocks - item.len() as u64);
            slots -= most;
            let (found, next) = volume.container.scan(slot, most);
            let found = found.filter(|_| !volume.is_destroyed).filter(|(_, entry)| {
                volumes.aggregate.locate(entry.vbn()).is_some_and(|place| {
                    let map = volumes.aggregate.free_map(place.group);
                    self.areas.contains(&(place.group, map.area_of(place.location.dbn.0)))
                })
            });
            item.extend(found.map(|(local, entry)| Move {
                volume: id,
                number: volume.container.number(local),
                from: entry.vbn(),
            }));
            match next {
                Some(next) => slot = next,
                None => (id, slot) = (VolumeId(id.0.saturating_add(1)), 0),
            }
        }
        self.at = Some((id, slot));
        Some(item)
    }
}
