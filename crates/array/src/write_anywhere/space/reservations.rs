//! Reservations: what volumes may still claim of the free blocks, so that nothing else takes it.
//!
//! A thick volume is sure to find room for all blocks that its LUNs may have. It may claim one more block for each of
//! them that it does not own: one that was never written, and one that a snapshot holds as well, because overwriting
//! that one frees nothing. So a snapshot makes the claim as large as the volume again, and is refused unless there is
//! room for it. These are the rules of ZFS (`refreservation` in zfsprops(7); `dsl_dataset_snapshot_reserve_space` in
//! OpenZFS's `dsl_dataset.c`), and what Data ONTAP gives a volume with guarantee `volume` and a fractional reserve of
//! 100 % ("Logical Storage Management Guide").
//!
//! A thin volume may claim nothing for its data. Its writes get what is free beyond all claims. The metadata of both
//! kinds is claimed, because a consistency point cannot leave it out.
//!
//! All that is reserved, and all that volumes hold, their metadata included, is of the usable blocks: the file system's
//! reserve is for the array's own metadata and for what overwriting needs.
//!
//! Nothing is counted as long as all volumes are thick and none has ever had a snapshot: then each block that is
//! overwritten comes back.

use std::ops::RangeInclusive;

use strewn_alloc::SummaryBitmap;
use strewn_base::state::SavedValue;
use strewn_volume::VolumeId;

use crate::root::CATALOG_BLOCKS;
use crate::snapshot::VolumeMeasures;

use super::Space;
use super::config::VolumeConfig;

/// Blocks of data, and of metadata that snapshots may hold.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, SavedValue)]
pub(crate) struct Owned {
    pub(crate) data: u64,
    pub(crate) metadata: u64,
}

impl Owned {
    fn of(&mut self, is_metadata: bool) -> &mut u64 {
        if is_metadata { &mut self.metadata } else { &mut self.data }
    }
}

/// What one volume may claim.
#[derive(Debug, Clone, PartialEq, Eq, SavedValue)]
struct Reservation {
    /// Blocks of data that are sure to find room: none in a thin volume.
    blocks: u64,
    /// Its metadata blocks that snapshots may hold.
    metadata: u64,
    /// Blocks with a place, by birth.
    born: Vec<Owned>,
    /// It owns the blocks born from here on: no snapshot has them.
    own_from: u32,
    own: Owned,
}

impl Reservation {
    fn claim(&self) -> u64 {
        self.claim_if_owning(self.own)
    }

    fn claim_if_owning(&self, own: Owned) -> u64 {
        self.blocks.saturating_sub(own.data) + self.metadata - own.metadata
    }

    fn born(&mut self, birth: u32) -> &mut Owned {
        let birth = birth as usize;
        if birth >= self.born.len() {
            self.born.resize(birth + 1, Owned::default());
        }
        &mut self.born[birth]
    }

    fn add(&mut self, birth: u32, is_metadata: bool) {
        *self.born(birth).of(is_metadata) += 1;
        *self.own.of(is_metadata) += u64::from(birth >= self.own_from);
    }

    fn remove(&mut self, birth: u32, is_metadata: bool) {
        *self.born(birth).of(is_metadata) -= 1;
        *self.own.of(is_metadata) -= u64::from(birth >= self.own_from);
    }

    fn own_from(&mut self, birth: u32) {
        self.own_from = birth;
        let born = self.born.iter().skip(birth as usize);
        self.own = born.fold(Owned::default(), |sum, born| Owned {
            data: sum.data + born.data,
            metadata: sum.metadata + born.metadata,
        });
    }
}

/// What the volumes may claim together, kept up to date block by block.
#[derive(Debug, Clone, PartialEq, Eq, SavedValue)]
pub(crate) struct Reservations {
    volumes: Vec<Reservation>,
    /// Blocks of the other metadata that have no place yet.
    unplaced: u64,
    claims: u64,
    /// Dirty blocks of thin volumes that take a free block for good.
    growth: u64,
    /// Most that there may be.
    most_growth: u64,
    /// Blocks of each volume that may be dirty for the sake of its numbers.
    most_dirty: Vec<u64>,
}

impl Reservations {
    /// Of volumes without any block, with so many metadata blocks that snapshots may hold.
    fn new(volumes: &[VolumeConfig], metadata: &[u64]) -> Self {
        let reservation = |(volume, metadata): (&VolumeConfig, &u64)| Reservation {
            blocks: volume.reservation(),
            metadata: *metadata,
            born: Vec::new(),
            // What a clone has borrowed has no birth.
            own_from: u32::from(volume.is_clone),
            own: Owned::default(),
        };
        Self {
            volumes: volumes.iter().zip(metadata).map(reservation).collect(),
            unplaced: 0,
            claims: metadata.iter().sum::<u64>()
                + volumes.iter().map(VolumeConfig::reservation).sum::<u64>(),
            growth: 0,
            most_growth: u64::MAX,
            most_dirty: vec![u64::MAX; volumes.len()],
        }
    }

    /// Free blocks that volumes may claim.
    pub(crate) fn claims(&self) -> u64 {
        self.claims
    }

    fn change(&mut self, volume: VolumeId, change: impl FnOnce(&mut Reservation)) {
        let reservation = &mut self.volumes[volume.0 as usize];
        let before = reservation.claim();
        change(reservation);
        self.claims = self.claims - before + reservation.claim();
    }

    /// A block of `volume` gets a place, loses one, or gets another: its births then and now.
    #[inline]
    pub(crate) fn record_replacement(
        &mut self,
        volume: VolumeId,
        is_metadata: bool,
        before: Option<u32>,
        now: Option<u32>,
    ) {
        self.change(volume, |reservation| {
            if let Some(birth) = before {
                reservation.remove(birth, is_metadata);
            }
            if let Some(birth) = now {
                reservation.add(birth, is_metadata);
            }
        });
    }

    /// A block of the other metadata gets its first place.
    pub(crate) fn record_first_placement(&mut self) {
        self.unplaced -= 1;
        self.claims -= 1;
    }

    /// So many blocks of the other metadata have no place.
    fn set_unplaced(&mut self, unplaced: u64) {
        self.claims = self.claims - self.unplaced + unplaced;
        self.unplaced = unplaced;
    }

    /// Snapshots of `volume` have the blocks born before `birth`, and only those.
    pub(crate) fn own_from(&mut self, volume: VolumeId, birth: u32) {
        self.change(volume, |reservation| reservation.own_from(birth));
    }

    /// What may be claimed once these volumes own nothing: of each of them, and of all together.
    pub(crate) fn claims_with_snapshots<'v>(
        &'v self,
        of: &'v [VolumeId],
    ) -> (impl Iterator<Item = (VolumeId, u64)> + 'v, u64) {
        let reservation = |volume: &VolumeId| &self.volumes[volume.0 as usize];
        let without = of.iter().map(|volume| reservation(volume).claim()).sum::<u64>();
        let each = of
            .iter()
            .map(move |volume| (*volume, reservation(volume).claim_if_owning(Owned::default())));
        let with = each.clone().map(|(_, claim)| claim).sum::<u64>();
        (each, self.claims - without + with)
    }

    /// A consistency point takes all that is dirty: no growth is outstanding.
    pub(crate) fn reset_growth(&mut self) {
        self.growth = 0;
    }
}

impl Space {
    /// Counts what volumes may claim from now on, if there is a thin one, or a snapshot. O(all blocks), like
    /// [`count_reservations`](Self::count_reservations).
    pub(crate) fn begin_to_count(&mut self) {
        if self.config.volumes.iter().any(VolumeConfig::is_thin) {
            self.snapshots_mut();
        }
        self.count_again();
    }

    /// Counts again what has been counted.
    pub(crate) fn count_again(&mut self) {
        let reservations = self.snapshots.is_some().then(|| self.count_reservations());
        if let (Some(snapshots), Some(reservations)) = (&mut self.snapshots, reservations) {
            snapshots.reservations = reservations;
        }
        self.note_room();
    }

    /// What volumes may claim, counted block by block.
    pub(crate) fn count_reservations(&self) -> Reservations {
        let held = self.held_keys_end();
        let mut reservations =
            Reservations::new(&self.config.volumes, &self.held_metadata_of_volumes());
        let space = self.snapshots.as_ref().map(|snapshots| &snapshots.space);
        for key in (0..held).filter(|key| self.map.get(*key).is_some()) {
            let birth = space.map_or(0, |space| space.birth(key));
            let is_metadata = key >= self.keys.data().end;
            reservations.record_replacement(
                self.keys.volume_of(key),
                is_metadata,
                None,
                Some(birth),
            );
        }
        reservations.set_unplaced(self.unplaced_metadata());
        for volume in self.volume_ids() {
            reservations.own_from(volume, self.own_from(volume));
        }
        reservations
    }

    /// Blocks of metadata that no snapshot ever holds, and that have no place yet; those of groups that are yet to be
    /// added aside.
    fn unplaced_metadata(&self) -> u64 {
        let end = match self.keys.catalog() {
            catalog if catalog.is_empty() => self.keys.end(),
            catalog => catalog.start,
        };
        let later = self.keys.aggregate_bitmap_below(self.aggregate.total_blocks()).end
            ..self.keys.aggregate_bitmap().end;
        let unplaced = |key: &u32| !later.contains(key) && self.map.get(*key).is_none();
        (self.held_keys_end()..end).filter(unplaced).count() as u64
    }

    /// Blocks of metadata that no snapshot ever holds, and that have a place.
    pub(crate) fn placed_metadata_of_array(&self) -> u64 {
        let of_array = self.held_keys_end()..self.keys.end();
        of_array.filter(|key| self.map.get(*key).is_some()).count() as u64
    }

    /// A parity group has been added, with its part of the bitmap.
    pub(crate) fn count_added_group(&mut self) {
        let unplaced = self.unplaced_metadata();
        if let Some(snapshots) = &mut self.snapshots {
            snapshots.reservations.set_unplaced(unplaced);
        }
    }

    /// One more than the last key of a block that snapshots may hold.
    fn held_keys_end(&self) -> u32 {
        match self.is_durable() {
            true => self.keys.indirect().end,
            false => self.keys.of_volumes().end,
        }
    }

    /// For each volume, its metadata blocks that snapshots may hold.
    fn held_metadata_of_volumes(&self) -> Vec<u64> {
        let all = self.keys.metadata_of_volumes().into_iter().map(u64::from).zip(self.volume_ids());
        let bitmap = |volume| match self.is_durable() {
            true => self.keys.regions_of(volume).len() as u64,
            false => 0,
        };
        all.map(|(all, volume)| all - bitmap(volume)).collect()
    }

    /// The births from which on no snapshot of `volume` has a block, the one included that is about to be taken.
    pub(crate) fn own_from(&self, volume: VolumeId) -> u32 {
        let of_clone = u32::from(self.is_clone(volume));
        let Some(snapshots) = &self.snapshots else { return of_clone };
        let latest = snapshots.space.kept(volume).next_back().map_or(of_clone, |id| id.0 + 1);
        let is_coming = self.takes_snapshot(volume) || snapshots.asked.contains(&volume);
        let coming = snapshots.space.next(volume).filter(|_| is_coming);
        let behind = u32::from(self.takes_snapshot(volume) && snapshots.asked.contains(&volume));
        latest.max(coming.map_or(0, |next| next.0 + 1 + behind))
    }

    /// Blocks that are kept for overwriting what volumes own, beside all claims: the largest write, which half of the
    /// log bounds; the metadata of volumes, whose frees may be delayed; and the catalog.
    pub(crate) fn overwriting_reserve(&self) -> u64 {
        self.config.largest_write_blocks()
            + self.metadata_of_all_volumes()
            + u64::from(CATALOG_BLOCKS)
    }

    /// Blocks that are kept beside all claims and the places kept for metadata: for overwriting, and the rest of the
    /// file system's reserve, of which the array's own metadata is a part.
    pub(crate) fn kept_beside_claims(&self) -> u64 {
        let all = self.aggregate.total_blocks();
        let usable = (all as f64 * (1.0 - self.reserve_percent / 100.0)) as u64;
        let of_array = self.metadata_blocks().saturating_sub(self.metadata_of_all_volumes());
        let kept = of_array + self.kept_places(self.snapshots.is_some());
        self.overwriting_reserve().max((all - usable).saturating_sub(kept))
    }

    /// Has a file system's reserve of so many percent of all blocks, 0 to 100. Without one, volumes may fill whatever
    /// overwriting does not need.
    pub(crate) fn set_reserve(&mut self, percent: f64) {
        self.reserve_percent = percent;
        self.note_room();
    }

    /// Whether what is reserved leaves room for a write of `blocks`, with `dirty_blocks` dirty then: for the
    /// numbers of its volume, and of a thin volume for what it takes for good.
    #[inline(never)]
    pub(crate) fn reservations_leave_room(
        &self,
        blocks: RangeInclusive<u32>,
        dirty: &SummaryBitmap,
        dirty_blocks: u64,
    ) -> bool {
        let Some(snapshots) = &self.snapshots else { return true };
        let volume = self.keys.volume_of(*blocks.start());
        let reservations = &snapshots.reservations;
        let is_thin = self.config.volumes[volume.0 as usize].is_thin();
        dirty_blocks <= reservations.most_dirty[volume.0 as usize]
            && (!is_thin
                // What is replayed has been admitted.
                || self.is_replaying
                || reservations.growth + self.growth_of(volume, blocks, dirty) <= reservations.most_growth)
    }

    /// How many of `blocks`, which are of `volume`, take a free block for good once they are written.
    fn growth_of(
        &self,
        volume: VolumeId,
        blocks: RangeInclusive<u32>,
        dirty: &SummaryBitmap,
    ) -> u64 {
        let Some(snapshots) = &self.snapshots else { return 0 };
        let own_from = snapshots.reservations.volumes[volume.0 as usize].own_from;
        let is_own = |key| self.map.get(key).is_some() && snapshots.space.birth(key) >= own_from;
        blocks.filter(|key| !dirty.contains((*key).into()) && !is_own(*key)).count() as u64
    }

    /// `blocks`, which are of one LUN, are written from now on.
    #[inline(never)]
    pub(crate) fn note_growth(&mut self, blocks: RangeInclusive<u32>, dirty: &SummaryBitmap) {
        let volume = self.keys.volume_of(*blocks.start());
        if self.config.volumes[volume.0 as usize].is_thin() {
            let growth = self.growth_of(volume, blocks, dirty);
            if let Some(snapshots) = &mut self.snapshots {
                snapshots.reservations.growth += growth;
            }
        }
    }

    /// Notes what reservations leave of `places`, those that what is dirty may take.
    pub(crate) fn note_reservations(&mut self, places: u64) {
        let numbers = self.volume_ids().zip(self.keys.metadata_of_volumes());
        let numbers: Vec<u64> = numbers
            .map(|(volume, metadata)| self.numbers_for_dirty(volume, metadata.into()))
            .collect();
        let reserve = self.kept_beside_claims();
        if let Some(snapshots) = &mut self.snapshots {
            let reservations = &mut snapshots.reservations;
            reservations.most_growth = places.saturating_sub(reservations.claims + reserve);
            reservations.most_dirty = numbers;
        }
    }

    /// Free blocks that thick volumes, and the metadata of all, may claim; 0 as long as nothing has to be counted.
    #[must_use]
    pub(crate) fn claimed_blocks(&self) -> u64 {
        self.snapshots.as_ref().map_or(0, |snapshots| snapshots.reservations.claims)
    }

    /// What `volume` has and may claim; `None` as long as nothing has to be counted.
    pub(crate) fn measure_volume(&self, volume: VolumeId) -> Option<VolumeMeasures> {
        let snapshots = self.snapshots.as_ref()?;
        let reservation = &snapshots.reservations.volumes[volume.0 as usize];
        Some(VolumeMeasures {
            blocks: reservation.born.iter().map(|born| born.data + born.metadata).sum(),
            claimed: reservation.claim(),
            snapshots: snapshots.space.kept(volume).count() as u32,
            held: snapshots.space.blocks_of(volume),
        })
    }

    /// The blocks of each volume that no snapshot has as well.
    pub(crate) fn owned(&self) -> Vec<Owned> {
        let counted = match &self.snapshots {
            Some(snapshots) => snapshots.reservations.clone(),
            None => self.count_reservations(),
        };
        counted.volumes.iter().map(|reservation| reservation.own).collect()
    }

    /// What has been counted is what there is.
    pub(crate) fn assert_reservations_agree(&self) {
        let Some(snapshots) = &self.snapshots else { return };
        let (counted, known) = (self.count_reservations(), &snapshots.reservations);
        assert_eq!(
            (known.claims, known.unplaced),
            (counted.claims, counted.unplaced),
            "blocks that volumes may claim, and metadata without a place"
        );
        for (volume, (known, counted)) in known.volumes.iter().zip(&counted.volumes).enumerate() {
            assert_eq!(
                (known.own, known.own_from),
                (counted.own, counted.own_from),
                "what volume {volume} owns, and the births from which on it does"
            );
        }
    }
}
