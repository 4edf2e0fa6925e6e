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

use crate::payload::Payload;

use super::super::WriteAnywhere;
use super::{Cause, Relocation, blocks_of};

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
}

impl<P: Payload> WriteAnywhere<P> {
    /// A consistency point has been committed: ends what is clean, and chooses what to clean next.
    pub(super) fn plan_cleaning(&mut self, relocation: &mut Relocation) {
        if relocation.config.cleaned_blocks.is_none() {
            return;
        }
        self.release_clean_areas(relocation);
        let all_are_asked_for = relocation.cleaner.areas.iter().all(|area| area.asked_at.is_some());
        if all_are_asked_for && relocation.cleaner.allowed > 0 {
            self.choose_areas(&mut relocation.cleaner);
        }
    }

    fn release_clean_areas(&mut self, relocation: &mut Relocation) {
        let commits = self.aggregate.consistency_points();
        let areas = std::mem::take(&mut relocation.cleaner.areas);
        let (clean, others): (Vec<_>, Vec<_>) = areas.into_iter().partition(|area| {
            area.asked_at.is_some_and(|at| {
                // Those asked for last are the last to go.
                let has_left = |key: &u32| !self.is_in_area(*key, area.group, area.area);
                commits >= at + RELEASED_AFTER || area.keys.iter().rev().all(has_left)
            })
        });
        for area in clean {
            self.aggregate.release_area(area.group, area.area);
        }
        relocation.cleaner.areas = others.into();
    }

    /// Chooses the areas with the fewest blocks to move, and withholds them.
    fn choose_areas(&mut self, cleaner: &mut Cleaner) {
        let commits = self.aggregate.consistency_points();
        if commits >= cleaner.forgotten_at + FORGET_AFTER {
            cleaner.forgotten_at = commits;
            cleaner.immovable.clear();
        }
        let (mut ready, mut withheld) = (0, 0);
        let mut candidates = Vec::new();
        for (index, map) in (0..).map(GroupIndex).zip(self.aggregate.free_maps()) {
            for area in 0..map.areas().count() {
                let stripes = map.stripes_of_area(area);
                let blocks = (stripes.end - stripes.start) * u64::from(map.group().data_spindles());
                let free = u64::from(map.areas().free_blocks_in(area));
                let used = blocks - free;
                if cleaner.areas.iter().any(|one| (one.group, one.area) == (index, area)) {
                    withheld += free;
                    continue;
                }
                if used * 20 <= blocks * READY_TWENTIETHS {
                    ready += free;
                    continue;
                }
                let immovable = cleaner.immovable.get(&(index, area)).copied().unwrap_or(0);
                let moves = used.saturating_sub(immovable);
                if moves > 0
                    && used * 20 <= blocks * MOST_TWENTIETHS
                    && immovable * 20 <= blocks * MOST_IMMOVABLE_TWENTIETHS
                {
                    candidates.push((moves, index, area, free));
                }
            }
        }
        if ready >= CONSISTENCY_POINTS_READY * cleaner.consistency_point_blocks {
            return;
        }
        candidates.sort_unstable();
        let most_withheld = self.aggregate.free_blocks() / WITHHELD_DIVISOR;
        let (mut moves, mut chosen) = (0, Vec::new());
        for (blocks, group, area, free) in candidates.into_iter().take(MOST_AREAS) {
            (moves, withheld) = (moves + blocks, withheld + free);
            let is_first = chosen.is_empty() && cleaner.areas.is_empty();
            if !is_first && (moves > MOST_BLOCKS || withheld > most_withheld) {
                break;
            }
            chosen.push((group, area));
        }
        if !chosen.is_empty() {
            self.find_blocks_of(&chosen, cleaner);
        }
    }

    /// Finds the blocks of the areas by a pass over the map, and withholds those areas that have any.
    fn find_blocks_of(&mut self, chosen: &[(GroupIndex, u32)], cleaner: &mut Cleaner) {
        let mut found: BTreeMap<(GroupIndex, u32), Vec<(u64, u32)>> =
            chosen.iter().map(|area| (*area, Vec::new())).collect();
        let coarse = self.coarse_places(chosen);
        let entries = self.map.entries(0..self.map.len()).unwrap_or_default();
        for (key, vbn) in (0..).zip(entries) {
            let vbn = u64::from(*vbn);
            if !coarse.get((vbn / COARSE_VBNS) as usize).is_some_and(|may| *may) {
                continue;
            }
            let place = self.aggregate.place_of(Vbn(vbn));
            let area = self.aggregate.free_map(place.group).area_of(place.location.dbn.0);
            if let Some(blocks) = found.get_mut(&(place.group, area)) {
                blocks.push((vbn, key));
            }
        }
        for &(group, area) in chosen {
            let Some(mut blocks) = found.remove(&(group, area)) else { continue };
            let map = self.aggregate.free_map(group);
            let stripes = map.stripes_of_area(area);
            let all = (stripes.end - stripes.start) * u64::from(map.group().data_spindles());
            let used = all - u64::from(map.areas().free_blocks_in(area));
            let immovable = used.saturating_sub(blocks.len() as u64);
            cleaner.immovable.insert((group, area), immovable);
            if blocks.is_empty() || immovable * 20 > all * MOST_IMMOVABLE_TWENTIETHS {
                continue;
            }
            blocks.sort_unstable();
            let keys = blocks.into_iter().map(|(_, key)| key).collect();
            self.aggregate.withhold_area(group, area);
            cleaner.areas.push_back(CleanedArea { group, area, keys, next: 0, asked_at: None });
        }
    }

    /// Which stretches of VBNs have blocks of these areas.
    fn coarse_places(&self, chosen: &[(GroupIndex, u32)]) -> Vec<bool> {
        let stretches = self.aggregate.total_blocks().div_ceil(COARSE_VBNS);
        let mut coarse = vec![false; stretches as usize];
        for &(group, area) in chosen {
            let map = self.aggregate.free_map(group);
            let stripes = map.stripes_of_area(area);
            for spindle in (0..map.group().data_spindles()).map(strewn_raid::SpindleIndex) {
                let ends = [stripes.start, stripes.end - 1];
                let ends = ends.map(|dbn| self.vbn_at(group, spindle, dbn));
                if let [Some(first), Some(last)] = ends {
                    let of = |vbn: Vbn| (vbn.0 / COARSE_VBNS) as usize;
                    coarse[of(first)..=of(last)].fill(true);
                }
            }
        }
        coarse
    }

    /// Asks for the next blocks of the areas being emptied, as many as may be moved before the next commit.
    pub(super) fn ask_for_cleaning(&self, relocation: &mut Relocation) {
        let cleaner = &mut relocation.cleaner;
        let commits = self.aggregate.consistency_points();
        let mut keys = Vec::new();
        'areas: for area in &mut cleaner.areas {
            while area.next < area.keys.len() {
                if cleaner.allowed == 0 || keys.len() == REQUEST_BLOCKS {
                    break 'areas;
                }
                let key = area.keys[area.next];
                area.next += 1;
                // It may have left the area since.
                if !self.is_in_area(key, area.group, area.area) {
                    continue;
                }
                cleaner.allowed -= 1;
                match self.keys.data().contains(&key) {
                    true => keys.push(key),
                    false => cleaner.metadata.push(key),
                }
            }
            area.asked_at.get_or_insert(commits);
        }
        if !keys.is_empty() {
            self.ask(relocation, Cause::Cleaning, keys);
        }
    }

    fn is_in_area(&self, key: u32, group: GroupIndex, area: u32) -> bool {
        self.map.get(key).is_some_and(|vbn| {
            let place = self.aggregate.place_of(vbn);
            place.group == group
                && self.aggregate.free_map(group).area_of(place.location.dbn.0) == area
        })
    }

    /// Whether the area of `vbn` is being emptied, so that what leaves it is freed at once.
    #[inline(never)]
    pub(in super::super) fn is_being_emptied(&self, vbn: Vbn) -> bool {
        let Some(relocation) = &self.relocation else { return false };
        !relocation.cleaner.areas.is_empty() && self.aggregate.is_withheld(vbn)
    }

    /// The metadata blocks that the consistency point that begins moves, of those still in areas being emptied.
    pub(in super::super) fn metadata_to_clean(&mut self) -> Vec<u32> {
        let Some(relocation) = &mut self.relocation else { return Vec::new() };
        let mut metadata = std::mem::take(&mut relocation.cleaner.metadata);
        metadata
            .retain(|key| self.map.get(*key).is_some_and(|vbn| self.aggregate.is_withheld(vbn)));
        *blocks_of(&mut self.counters, Cause::Cleaning) += metadata.len() as u64;
        metadata
    }
}
