//! Cleaning free space: allocation areas are emptied, so that consistency points find full stripes.
//!
//! The areas with the fewest blocks to move come first, as in the log-structured file system of Rosenblum and
//! Ousterhout (1991) and in the segment cleaning of WAFL (Kesavan, Curtis-Maury, Devadas and Mishra, FAST 2019). An
//! area that is being emptied is withheld from allocation. What leaves it is freed at once, not delayed.
//!
//! Who owns a block is found by one pass over the map for several areas at a time: their blocks are all that has to be
//! remembered. On a spindle, a block's checksum entry names its owner, so the reads that move it tell.

use std::collections::{BTreeMap, VecDeque};

use strewn_alloc::GroupIndex;
use strewn_base::state::SavedValue;
use strewn_raid::Vbn;

use super::super::super::space::Space;
use super::{Cause, Relocation};

/// Areas that a pass over the map finds the blocks of.
const MOST_AREAS: usize = 8;
/// Most blocks that it finds: four megabytes.
const MOST_BLOCKS: u64 = 1 << 20;
/// No further area is cleaned while those with hardly a block in use have room for so many consistency points.
const CONSISTENCY_POINTS_READY: u64 = 2;
/// Part of an area in use, in twentieths, up to which it is ready.
const READY_TWENTIETHS: u64 = 1;
/// Part of an area in use, in twentieths, above which emptying it costs too much: four moves for one free block.
const MOST_TWENTIETHS: u64 = 16;
/// Blocks that may be moved for each that hosts write: as many as emptying the fullest of those areas takes.
const MOVES_PER_BLOCK: u64 = 4;
/// Part of an area that cannot move, in twentieths, above which few stripes of it would come back.
const MOST_IMMOVABLE_TWENTIETHS: u64 = 2;
/// Part of the free blocks that may be withheld, as a divisor, unless a single area is more.
const WITHHELD_DIVISOR: u64 = 4;
/// Consistency points after which an area is released though some of its blocks could not move.
const RELEASED_AFTER: u64 = 8;
/// Consistency points after which areas are looked at again that had too much that cannot move.
const FORGET_AFTER: u64 = 64;
/// Blocks of a request.
const REQUEST_BLOCKS: usize = 512;
/// The map is passed with one bit for so many VBNs.
const COARSE_VBNS: u64 = 4_096;

#[derive(Debug, Default, SavedValue)]
pub(super) struct Cleaner {
    /// Areas being emptied, which are withheld from allocation.
    areas: VecDeque<CleanedArea>,
    /// Blocks of each area, of those that have been looked at, that have no key: other data, snapshots, delayed frees.
    immovable: BTreeMap<(GroupIndex, u32), u64>,
    forgotten_at: u64,
    /// Blocks that may still be asked for.
    allowed: u64,
    /// Blocks of data of the last consistency point.
    consistency_point_blocks: u64,
    /// Metadata blocks that the next consistency point moves.
    metadata: Vec<u32>,
}

#[derive(Debug, SavedValue)]
struct CleanedArea {
    group: GroupIndex,
    area: u32,
    /// Its blocks in the order of their places, and the first that has not been asked for.
    keys: Vec<u32>,
    next: usize,
    /// Commits when the last of them had been asked for.
    asked_at: Option<u64>,
}

impl Cleaner {
    /// A consistency point writes so many blocks of data, of which `relocated` are moved. It may clean for the others,
    /// at most `most` blocks: an array that nothing is written to cleans nothing.
    pub(super) fn allow(&mut self, blocks: u64, relocated: u64, most: u64) {
        self.consistency_point_blocks = blocks;
        let of_hosts = blocks.saturating_sub(relocated);
        self.allowed = most.min(self.allowed + MOVES_PER_BLOCK * of_hosts);
    }

    /// Releases the areas that are clean, or that cannot become so.
    fn release_clean_areas(&mut self, space: &mut Space) {
        let commits = space.aggregate.consistency_points();
        let areas = std::mem::take(&mut self.areas);
        let (clean, others): (Vec<_>, Vec<_>) = areas.into_iter().partition(|area| {
            area.asked_at.is_some_and(|at| {
                // Those asked for last are the last to go.
                let has_left = |key: &u32| !is_in_area(*key, area.group, area.area, space);
                commits >= at + RELEASED_AFTER || area.keys.iter().rev().all(has_left)
            })
        });
        for area in clean {
            space.aggregate.release_area(area.group, area.area);
        }
        self.areas = others.into();
    }

    /// Chooses the areas with the fewest blocks to move, and withholds them.
    fn choose_areas(&mut self, space: &mut Space) {
        let commits = space.aggregate.consistency_points();
        if commits >= self.forgotten_at + FORGET_AFTER {
            self.forgotten_at = commits;
            self.immovable.clear();
        }
        let (mut ready, mut withheld) = (0, 0);
        let mut candidates = Vec::new();
        for (index, map) in (0..).map(GroupIndex).zip(space.aggregate.free_maps()) {
            for area in 0..map.areas().count() {
                let stripes = map.stripes_of_area(area);
                let blocks = (stripes.end - stripes.start) * u64::from(map.group().data_spindles());
                let free = u64::from(map.areas().free_blocks_in(area));
                let used = blocks - free;
                if self.areas.iter().any(|one| (one.group, one.area) == (index, area)) {
                    withheld += free;
                    continue;
                }
                if used * 20 <= blocks * READY_TWENTIETHS {
                    ready += free;
                    continue;
                }
                let immovable = self.immovable.get(&(index, area)).copied().unwrap_or(0);
                let moves = used.saturating_sub(immovable);
                if moves > 0
                    && used * 20 <= blocks * MOST_TWENTIETHS
                    && immovable * 20 <= blocks * MOST_IMMOVABLE_TWENTIETHS
                {
                    candidates.push((moves, index, area, free));
                }
            }
        }
        if ready >= CONSISTENCY_POINTS_READY * self.consistency_point_blocks {
            return;
        }
        candidates.sort_unstable();
        let most_withheld = space.aggregate.free_blocks() / WITHHELD_DIVISOR;
        let (mut moves, mut chosen) = (0, Vec::new());
        for (blocks, group, area, free) in candidates.into_iter().take(MOST_AREAS) {
            (moves, withheld) = (moves + blocks, withheld + free);
            let is_first = chosen.is_empty() && self.areas.is_empty();
            if !is_first && (moves > MOST_BLOCKS || withheld > most_withheld) {
                break;
            }
            chosen.push((group, area));
        }
        if !chosen.is_empty() {
            self.find_blocks_of(&chosen, space);
        }
    }

    /// Finds the blocks of the areas by a pass over the map, and withholds those areas that have any.
    fn find_blocks_of(&mut self, chosen: &[(GroupIndex, u32)], space: &mut Space) {
        let mut found: BTreeMap<(GroupIndex, u32), Vec<(u64, u32)>> =
            chosen.iter().map(|area| (*area, Vec::new())).collect();
        let coarse = coarse_places(chosen, space);
        let entries = space.map.entries(0..space.map.len()).unwrap_or_default();
        for (key, vbn) in (0..).zip(entries) {
            let vbn = u64::from(*vbn);
            if !coarse.get((vbn / COARSE_VBNS) as usize).is_some_and(|may| *may) {
                continue;
            }
            let place = space.aggregate.place_of(Vbn(vbn));
            let area = space.aggregate.free_map(place.group).area_of(place.location.dbn.0);
            if let Some(blocks) = found.get_mut(&(place.group, area)) {
                blocks.push((vbn, key));
            }
        }
        for &(group, area) in chosen {
            let Some(mut blocks) = found.remove(&(group, area)) else { continue };
            let map = space.aggregate.free_map(group);
            let stripes = map.stripes_of_area(area);
            let all = (stripes.end - stripes.start) * u64::from(map.group().data_spindles());
            let used = all - u64::from(map.areas().free_blocks_in(area));
            let immovable = used.saturating_sub(blocks.len() as u64);
            self.immovable.insert((group, area), immovable);
            if blocks.is_empty() || immovable * 20 > all * MOST_IMMOVABLE_TWENTIETHS {
                continue;
            }
            blocks.sort_unstable();
            let keys = blocks.into_iter().map(|(_, key)| key).collect();
            space.aggregate.withhold_area(group, area);
            self.areas.push_back(CleanedArea { group, area, keys, next: 0, asked_at: None });
        }
    }

    /// The next blocks of data of the areas being emptied, as many as may be moved before the next commit. Metadata
    /// waits for the next consistency point.
    fn next_keys(&mut self, space: &Space) -> Vec<u32> {
        let commits = space.aggregate.consistency_points();
        let mut keys = Vec::new();
        'areas: for area in &mut self.areas {
            while area.next < area.keys.len() {
                if self.allowed == 0 || keys.len() == REQUEST_BLOCKS {
                    break 'areas;
                }
                let key = area.keys[area.next];
                area.next += 1;
                // It may have left the area since.
                if !is_in_area(key, area.group, area.area, space) {
                    continue;
                }
                self.allowed -= 1;
                match space.keys.data().contains(&key) {
                    true => keys.push(key),
                    false => self.metadata.push(key),
                }
            }
            area.asked_at.get_or_insert(commits);
        }
        keys
    }
}

impl Relocation {
    /// A consistency point has been committed: ends what is clean, and chooses what to clean next.
    pub(super) fn plan_cleaning(&mut self, space: &mut Space) {
        if self.config.cleaned_blocks.is_none() {
            return;
        }
        self.cleaner.release_clean_areas(space);
        let all_are_asked_for = self.cleaner.areas.iter().all(|area| area.asked_at.is_some());
        if all_are_asked_for && self.cleaner.allowed > 0 {
            self.cleaner.choose_areas(space);
        }
    }

    /// Asks for the next blocks of the areas being emptied.
    pub(super) fn ask_for_cleaning(&mut self, space: &Space) {
        let keys = self.cleaner.next_keys(space);
        if !keys.is_empty() {
            self.ask(Cause::Cleaning, keys, space);
        }
    }

    /// Whether areas are being emptied. They are withheld from allocation.
    pub(in super::super) fn empties_areas(&self) -> bool {
        !self.cleaner.areas.is_empty()
    }

    /// The metadata blocks that the consistency point that begins moves, of those still in areas being emptied.
    pub(in super::super) fn metadata_to_clean(&mut self, space: &Space) -> Vec<u32> {
        let mut metadata = std::mem::take(&mut self.cleaner.metadata);
        let is_withheld =
            |key: &u32| space.map.get(*key).is_some_and(|vbn| space.aggregate.is_withheld(vbn));
        metadata.retain(is_withheld);
        metadata
    }
}

/// Which stretches of VBNs have blocks of these areas.
fn coarse_places(chosen: &[(GroupIndex, u32)], space: &Space) -> Vec<bool> {
    let stretches = space.aggregate.total_blocks().div_ceil(COARSE_VBNS);
    let mut coarse = vec![false; stretches as usize];
    for &(group, area) in chosen {
        let map = space.aggregate.free_map(group);
        let stripes = map.stripes_of_area(area);
        for spindle in (0..map.group().data_spindles()).map(strewn_raid::SpindleIndex) {
            let ends = [stripes.start, stripes.end - 1];
            let ends = ends.map(|dbn| space.vbn_at(group, spindle, dbn));
            if let [Some(first), Some(last)] = ends {
                let of = |vbn: Vbn| (vbn.0 / COARSE_VBNS) as usize;
                coarse[of(first)..=of(last)].fill(true);
            }
        }
    }
    coarse
}

fn is_in_area(key: u32, group: GroupIndex, area: u32, space: &Space) -> bool {
    space.map.get(key).is_some_and(|vbn| {
        let place = space.aggregate.place_of(vbn);
        place.group == group
            && space.aggregate.free_map(group).area_of(place.location.dbn.0) == area
    })
}
