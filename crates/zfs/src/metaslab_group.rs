//! The metaslabs of a top-level vdev, and which of them a block goes to.
//!
//! `metaslab.c` of OpenZFS: `metaslab_group_alloc`, `find_valid_metaslab`, `metaslab_compare`.

use std::cmp::Reverse;

use strewn_base::state::SavedValue;

use crate::changed::Changed;
use crate::fragmentation::Version;
use crate::metaslab::{Metaslab, Rank, Weight};
use crate::vdev::Vdev;

/// At most so many metaslabs are looked at for a block (`zfs_metaslab_find_max_tries`).
const MOST_TRIES: usize = 100;

/// What metaslabs are tried in the order of: inactive ones first, then the heaviest, then the lowest.
type Order = (Option<Rank>, Reverse<Weight>, u32);

/// The metaslabs of one top-level vdev that belong to the same class.
#[derive(Debug, Clone, SavedValue)]
pub struct MetaslabGroup {
    metaslabs: Vec<Metaslab>,
    /// Those of another class.
    excluded: Option<u32>,
    shift: u8,
    /// Metaslabs that first copies are allocated from, and second ones.
    active: [Option<u32>; 2],
    /// Those that the transaction group has changed since its last sync pass, and before.
    changed: Changed,
    synced: Changed,
}

/// A block in a group: its metaslab and its first sector there.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PlaceInGroup {
    /// The metaslab.
    pub metaslab: u32,
    /// The first sector, relative to the start of the metaslab.
    pub sector: u32,
}

impl MetaslabGroup {
    /// The metaslabs of a vdev, without the one of another class. `trims` is whether what is freed is trimmed.
    pub fn new(vdev: &Vdev, excluded: Option<u32>, trims: bool) -> Self {
        let size = vdev.metaslabs();
        let metaslab = |number| {
            let new = Metaslab::new(vdev.metaslab_sectors(number), vdev.ashift);
            if trims { new.that_trims() } else { new }
        };
        let mut changed = Changed::default();
        (0..size.count).for_each(|metaslab| changed.add(metaslab));
        Self {
            metaslabs: (0..size.count).map(metaslab).collect(),
            excluded,
            shift: size.shift - vdev.ashift,
            active: [None; 2],
            changed,
            synced: Changed::default(),
        }
    }

    /// Its metaslabs.
    pub fn metaslabs(&self) -> &[Metaslab] {
        &self.metaslabs
    }

    /// What is to be trimmed of a metaslab, in sectors of the vdev, in order.
    pub fn take_ranges_to_trim(&mut self, metaslab: u32) -> Vec<(u64, u64)> {
        let first = u64::from(metaslab) << self.shift;
        let ranges = self.metaslabs[metaslab as usize].take_ranges_to_trim();
        let of_vdev = |(start, end): (u32, u32)| (first + u64::from(start), first + u64::from(end));
        ranges.iter().map(of_vdev).collect()
    }

    fn order(&self, id: u32) -> Order {
        let metaslab = &self.metaslabs[id as usize];
        (metaslab.active_as, Reverse(metaslab.weight), id)
    }

    /// The first metaslab after `after` with room for a block that none of `unlike` is in. Returns its number.
    fn find(
        &self,
        sectors: u32,
        unlike: &[u32],
        is_first: bool,
        try_hard: bool,
        after: Option<Order>,
    ) -> Option<u32> {
        let ids = (0..self.metaslabs.len() as u32).filter(|id| Some(*id) != self.excluded);
        let orders = ids.map(|id| self.order(id));
        let orders = orders.filter(|order| after.is_none_or(|after| *order > after));
        let suits = |&(_, _, id): &Order| {
            let metaslab = &self.metaslabs[id as usize];
            metaslab.has_room(sectors)
                && (is_first || metaslab.active_as.is_some() || try_hard || !unlike.contains(&id))
        };
        // As a rule the first has room, and none need be sorted.
        let first = orders.clone().min()?;
        if suits(&first) {
            return Some(first.2);
        }
        let mut orders: Vec<Order> = orders.collect();
        orders.sort_unstable();
        let most = if try_hard { usize::MAX } else { MOST_TRIES + 1 };
        orders.into_iter().take(most).find(suits).map(|(_, _, id)| id)
    }

    /// Allocates `sectors` consecutive ones, in another metaslab than those of the block's other copies in this group.
    pub fn allocate(
        &mut self,
        sectors: u32,
        others: &[u32],
        first_pass: bool,
        try_hard: bool,
    ) -> Option<PlaceInGroup> {
        let rank = match others.len() {
            0 => Some(Rank::Primary),
            1 => Some(Rank::Secondary),
            _ => None,
        };
        let mut after = None;
        loop {
            let active = rank.and_then(|rank| self.active[rank as usize]);
            let id = match active {
                Some(id) => id,
                None => {
                    let is_first = rank == Some(Rank::Primary);
                    let id = self.find(sectors, others, is_first, try_hard, after)?;
                    // As it is now: a failure gives it another weight.
                    after = Some(self.order(id));
                    id
                }
            };
            let metaslab = &mut self.metaslabs[id as usize];
            if metaslab.weight.claimed && rank.is_some() {
                // It is found again where it belongs without the claim, which is later in the order.
                metaslab.passivate(Weight { claimed: false, ..metaslab.weight });
                continue;
            }
            let was_active = metaslab.is_active();
            if !metaslab.activate(rank) {
                continue;
            }
            if let Some(rank) = rank.filter(|_| !was_active) {
                self.active[rank as usize] = Some(id);
            }
            if metaslab.has_room(sectors)
                && let Some(sector) = metaslab.allocate(sectors)
            {
                self.changed.add(id);
                // Later passes write little, and would only dirty more space maps.
                if first_pass && metaslab.may_passivate() {
                    self.passivate(id);
                }
                return Some(PlaceInGroup { metaslab: id, sector });
            }
            self.passivate(id);
        }
    }

    fn passivate(&mut self, id: u32) {
        let metaslab = &mut self.metaslabs[id as usize];
        if let Some(rank) = metaslab.active_as {
            self.active[rank as usize] = None;
        }
        let weight = metaslab.weight_now();
        metaslab.passivate(weight);
    }

    /// Sectors that may be allocated now.
    pub fn allocatable(&self) -> u64 {
        let metaslabs = (0u32..).zip(&self.metaslabs).filter(|(id, _)| Some(*id) != self.excluded);
        metaslabs.map(|(_, metaslab)| u64::from(metaslab.free().free())).sum()
    }

    /// Frees sectors in the transaction group that is syncing.
    pub fn free(&mut self, sector: u64, sectors: u32) {
        let (id, within) = self.within(sector);
        self.metaslabs[id].free_at(within, sectors);
        self.changed.add(id as u32);
    }

    /// Takes back an allocation of the transaction group that is syncing.
    pub fn unallocate(&mut self, sector: u64, sectors: u32) {
        let (id, within) = self.within(sector);
        self.metaslabs[id].unallocate(within, sectors);
    }

    /// The metaslab of a sector, and the sector within it.
    fn within(&self, sector: u64) -> (usize, u32) {
        ((sector >> self.shift) as usize, (sector & ((1 << self.shift) - 1)) as u32)
    }

    /// Whether the transaction group has changed any since its last sync pass.
    pub fn is_changed(&self) -> bool {
        !self.changed.is_empty()
    }

    /// A sync pass is written.
    pub fn sync(&mut self) {
        while let Some(id) = self.changed.pop() {
            self.metaslabs[id as usize].sync();
            self.synced.add(id);
        }
    }

    /// The transaction group is synced. `defers` is told how many more sectors a metaslab has than before, and says
    /// whether the next one keeps back what was freed.
    pub fn sync_done(&mut self, txg: u64, version: Version, mut defers: impl FnMut(i64) -> bool) {
        let mut keeps_back = defers(0);
        while let Some(id) = self.synced.pop() {
            let metaslab = &mut self.metaslabs[id as usize];
            keeps_back = defers(metaslab.sync_done(txg, version, keeps_back));
            // Until all that was freed may be allocated.
            if metaslab.deferred() > 0 {
                self.changed.add(id);
            }
        }
    }

    /// Sectors that are freed and not to be allocated yet.
    pub fn deferred(&self) -> u64 {
        self.metaslabs.iter().map(|metaslab| u64::from(metaslab.deferred())).sum()
    }

    /// Sectors in use, and those that are freed but may not be allocated yet.
    pub fn allocated(&self) -> u64 {
        let of =
            |metaslab: &Metaslab| u64::from(metaslab.allocated()) + u64::from(metaslab.deferred());
        self.metaslabs.iter().map(of).sum()
    }

    /// Its FRAG, 0 to 100.
    pub fn fragmentation(&self, version: Version) -> u64 {
        let ids = (0..self.metaslabs.len() as u32).filter(|id| Some(*id) != self.excluded);
        let metaslabs = ids.map(|id| &self.metaslabs[id as usize]);
        match version {
            // The mean of all, however full.
            Version::V2_2 => {
                let count = metaslabs.clone().count() as u64;
                metaslabs.map(Metaslab::fragmentation).sum::<u64>() / count.max(1)
            }
            Version::V2_3 => {
                let free = |of: &Metaslab| u64::from(of.sectors().1 - of.allocated());
                let all: u64 = metaslabs.clone().map(free).sum();
                metaslabs.map(|of| of.fragmentation() * free(of)).sum::<u64>() / all.max(1)
            }
        }
    }
}
