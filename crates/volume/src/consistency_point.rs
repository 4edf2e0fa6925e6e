//! Changing files in consistency points.

use std::collections::HashSet;
use std::ops::Range;
use std::sync::Arc;

use strewn_alloc::{AllocateError, OutOfSpace, Tetris, WriteLifetime};
use strewn_raid::Vbn;

use super::container::{Entry, Local, free_owned_block};
use super::error::VolumeError;
use super::flexible::{Files, Inode, Volume};
use super::names::{BlockName, BlockSource, Fbn, FileId, Move, VirtualVbn, VolumeId};
use super::volumes::{Phase, Volumes};

impl Volumes {
    /// Begins a consistency point that will write about `expected_blocks`: see
    /// [`Aggregate::begin`](strewn_alloc::Aggregate::begin).
    ///
    /// # Errors
    /// If one is open.
    pub fn begin(&mut self, expected_blocks: u64) -> Result<(), VolumeError> {
        self.between_consistency_points()?;
        self.release_abandoned_areas();
        self.aggregate.begin(expected_blocks)?;
        self.begin_metadata();
        self.phase = Phase::Open;
        Ok(())
    }

    /// Creates an empty file.
    ///
    /// # Errors
    /// Outside a consistency point; if there is no such volume.
    pub fn create_file(&mut self, id: VolumeId) -> Result<FileId, VolumeError> {
        self.in_consistency_point()?;
        let volume = self.volume_mut(id)?;
        volume.touch();
        let file = volume.next_file;
        volume.next_file += 1;
        volume.files.replace(file, Arc::default());
        Ok(FileId(file))
    }

    /// Deletes a file. Blocks that no snapshot holds become free with the commit. O(blocks of the file):
    /// [`delete_file_step`](Self::delete_file_step) bounds the work.
    ///
    /// # Errors
    /// Outside a consistency point; if there is no such file.
    pub fn delete_file(&mut self, id: VolumeId, file: FileId) -> Result<(), VolumeError> {
        self.punch(id, file, Fbn(0)..Fbn(u64::MAX))?;
        self.punch_one(id, file, Fbn(u64::MAX))?;
        self.volume_mut(id)?.files.remove(file.0);
        Ok(())
    }

    /// Deletes a file step by step: unmaps at most `most` of its blocks, the first ones. Returns whether the file is
    /// gone, which it is with the step that leaves none. Steps may be in different consistency points; until the last,
    /// the file exists, with the blocks that are left.
    ///
    /// ```
    /// # use strewn_alloc::{Aggregate, AggregateOptions};
    /// # use strewn_raid::{Parity, ParityGroup};
    /// # use strewn_volume::{Fbn, Volumes};
    /// # let group = ParityGroup::new(Parity::RaidDp, 4, 65_536)?;
    /// # let mut volumes = Volumes::new(Aggregate::new([group], AggregateOptions::default())?)?;
    /// # let volume = volumes.create_volume(100_000)?;
    /// # volumes.begin(10_000)?;
    /// # let file = volumes.create_file(volume)?;
    /// # volumes.write_all(volume, file, &Vec::from_iter((0..10_000).map(Fbn)))?;
    /// # volumes.discard_plan();
    /// # volumes.commit()?;
    /// let mut is_gone = false;
    /// while !is_gone {
    ///     volumes.begin(0)?;
    ///     is_gone = volumes.delete_file_step(volume, file, 4_096)?;
    ///     // A store writes what `finish` returns, and then commits. Nothing is written here.
    ///     volumes.discard_plan();
    ///     volumes.commit()?;
    /// }
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// Outside a consistency point; if there is no such file.
    pub fn delete_file_step(
        &mut self,
        id: VolumeId,
        file: FileId,
        most: u64,
    ) -> Result<bool, VolumeError> {
        self.in_consistency_point()?;
        let image = self.image(id)?;
        if !image.has_file(file) {
            return Err(VolumeError::NoSuchFile(id, file));
        }
        if image.blocks_of(file) <= most {
            self.delete_file(id, file)?;
            return Ok(true);
        }
        // The first block that stays.
        let stays = image.numbers_from(file, Fbn(0)).nth(most.try_into().unwrap_or(usize::MAX));
        if let Some((stays, _)) = stays {
            self.punch(id, file, Fbn(0)..stays)?;
        }
        Ok(false)
    }

    /// Writes one block, as [`write_all`](Self::write_all) does. Returns its VBN.
    ///
    /// # Errors
    /// As [`write_all`](Self::write_all).
    pub fn write(&mut self, id: VolumeId, file: FileId, fbn: Fbn) -> Result<Vbn, VolumeError> {
        self.write_all(id, file, &[fbn])?;
        let inode = self.volume(id)?.files.get(file.0);
        let number = inode.and_then(|inode| inode.blocks.get(fbn.0));
        let found = number.and_then(|slot| self.resolve(id, (*slot).into()));
        found.map(|(_, _, entry)| entry.vbn()).ok_or(VolumeError::NoSuchFile(id, file))
    }

    /// Writes blocks of a file, and lays them out in the order given. A block that the same consistency point has
    /// already written keeps its place.
    ///
    /// O(log₆₄) a block. The first change of a node of the file's tree (64 entries, 512 bytes) in a consistency point
    /// copies the node.
    ///
    /// # Errors
    /// With nothing changed: outside a consistency point; if there is no such file; [`VolumeError::VolumeFull`];
    /// [`VolumeError::OutOfSpace`] if fewer blocks are free and not reserved for other volumes.
    pub fn write_all(
        &mut self,
        id: VolumeId,
        file: FileId,
        fbns: &[Fbn],
    ) -> Result<(), VolumeError> {
        self.write_all_with(id, file, fbns, WriteLifetime::NotSet)
    }

    /// Writes blocks as [`write_all`](Self::write_all) does, and says how long they will live: for a policy that keeps
    /// such blocks apart ([`set_policy`](Self::set_policy)).
    ///
    /// ```
    /// # use strewn_alloc::{Aggregate, AggregateOptions, Areas, GroupIndex, Policy, StreamIndex, WriteLifetime};
    /// # use strewn_raid::{Parity, ParityGroup};
    /// # use strewn_volume::{Fbn, Volumes};
    /// /// Hot blocks go to areas of their own, always the emptiest.
    /// #[derive(Debug)]
    /// struct HotAndCold;
    ///
    /// impl Policy for HotAndCold {
    ///     fn next_area(&mut self, areas: &mut Areas) -> Option<u32> {
    ///         areas.emptiest().map(|(area, _)| area)
    ///     }
    ///
    ///     fn stream(&self, lifetime: WriteLifetime) -> StreamIndex {
    ///         StreamIndex(u16::from(lifetime == WriteLifetime::Short))
    ///     }
    /// }
    ///
    /// let group = ParityGroup::new(Parity::RaidDp, 4, 65_536)?;
    /// let mut volumes = Volumes::new(Aggregate::new([group], AggregateOptions::default())?)?;
    /// volumes.set_policy(GroupIndex(0), Box::new(HotAndCold))?;
    /// let volume = volumes.create_volume(100_000)?;
    /// volumes.begin(2)?;
    /// let (journal, photo) = (volumes.create_file(volume)?, volumes.create_file(volume)?);
    /// volumes.write_all_with(volume, photo, &[Fbn(0)], WriteLifetime::Long)?;
    /// volumes.write_all_with(volume, journal, &[Fbn(0)], WriteLifetime::Short)?;
    /// let image = volumes.image(volume)?;
    /// let places = [photo, journal].map(|file| image.locate(file, Fbn(0)).map(|vbn| vbn.0));
    /// assert_eq!(places, [Some(0), Some(4_096)], "the first block of two areas");
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// As [`write_all`](Self::write_all).
    pub fn write_all_with(
        &mut self,
        id: VolumeId,
        file: FileId,
        fbns: &[Fbn],
        lifetime: WriteLifetime,
    ) -> Result<(), VolumeError> {
        self.in_consistency_point()?;
        let new = self.not_yet_written(id, file, fbns)?;
        let needed = new.len() as u64;
        let volume = self.volume(id)?;
        let room = volume.container.numbers().free_blocks();
        if needed > room {
            return Err(VolumeError::VolumeFull { volume: id, needed, free: room });
        }
        let free = self.free_beyond(self.reserved - volume.reserved);
        if needed > free {
            return Err(OutOfSpace { needed, free }.into());
        }
        let places = self.places(id, file, &new, lifetime)?;

        let Self { aggregate, volumes, reserved, .. } = self;
        let volume = volumes.get_mut(&id).ok_or(VolumeError::NoSuchVolume(id))?;
        let mut locals: Vec<Local> = Vec::with_capacity(new.len());
        volume.touch();
        volume.container.take_numbers(new.len(), |local| locals.push(local))?;
        let own_reservation = volume.reserved.min(needed);
        volume.reserved -= own_reservation;
        *reserved -= own_reservation;
        for ((fbn, vbn), local) in new.iter().zip(places).zip(locals) {
            volume.container.put(local, Entry::written(vbn, volume.snapshots.time()));
            volume.touch().written.push(local);
            let number = volume.container.number(local);
            let inode = volume.files.get_mut(file.0).map(Arc::make_mut);
            let inode = inode.ok_or(VolumeError::NoSuchFile(id, file))?;
            match inode.blocks.replace(fbn.0, number.into()) {
                None => {
                    inode.mapped += 1;
                    volume.mapped += 1;
                }
                Some(before) => {
                    if let Some(vbn) = volume.block_dies(before.into()) {
                        free_owned_block(aggregate, vbn);
                    }
                }
            }
        }
        Ok(())
    }

    /// The blocks among `fbns` that need a new place, each once, in order.
    fn not_yet_written(
        &self,
        id: VolumeId,
        file: FileId,
        fbns: &[Fbn],
    ) -> Result<Vec<Fbn>, VolumeError> {
        let volume = self.volume(id)?;
        let inode = volume.files.get(file.0).ok_or(VolumeError::NoSuchFile(id, file))?;
        let is_written_now = |fbn: &Fbn| {
            let number = inode.blocks.get(fbn.0).map(|slot| VirtualVbn::from(*slot));
            let local = number.and_then(|number| volume.container.local(number));
            let entry = local.and_then(|local| volume.container.get(local));
            entry.is_some_and(Entry::is_written_now)
        };
        let mut new: Vec<Fbn> = fbns.iter().copied().filter(|fbn| !is_written_now(fbn)).collect();
        if !new.is_sorted_by(|before, after| before < after) {
            let mut seen = HashSet::new();
            new.retain(|fbn| seen.insert(*fbn));
        }
        Ok(new)
    }

    /// Allocates a block of the aggregate for each of `fbns`.
    fn places(
        &mut self,
        id: VolumeId,
        file: FileId,
        fbns: &[Fbn],
        lifetime: WriteLifetime,
    ) -> Result<Vec<Vbn>, VolumeError> {
        let name = |fbn| BlockSource::Written(BlockName { volume: id, file, fbn });
        if !self.aggregate.keeps_near() {
            let contents: Vec<BlockSource> = fbns.iter().map(|fbn| name(*fbn)).collect();
            let mut places = Vec::with_capacity(fbns.len());
            let placed = |_, vbn| places.push(vbn);
            self.aggregate.allocate_all_with(&contents, lifetime, placed)?;
            return Ok(places);
        }
        let mut places: Vec<Vbn> = Vec::with_capacity(fbns.len());
        for (index, fbn) in fbns.iter().enumerate() {
            let follows_last = index > 0 && fbns[index - 1].0.checked_add(1) == Some(fbn.0);
            let neighbour = match (follows_last, fbn.0.checked_sub(1)) {
                (true, _) => places.last().copied(),
                (false, Some(before)) => self.place_of(id, file, Fbn(before)),
                (false, None) => None,
            };
            self.place_behind(name(*fbn), neighbour, lifetime, &mut places)?;
        }
        Ok(places)
    }

    fn place_of(&self, id: VolumeId, file: FileId, fbn: Fbn) -> Option<Vbn> {
        let inode = self.volumes.get(&id)?.files.get(file.0)?;
        let (_, _, entry) = self.resolve(id, (*inode.blocks.get(fbn.0)?).into())?;
        Some(entry.vbn())
    }

    /// Allocates one more place. If there is none, frees those allocated before.
    fn place_behind(
        &mut self,
        contents: BlockSource,
        neighbour: Option<Vbn>,
        lifetime: WriteLifetime,
        places: &mut Vec<Vbn>,
    ) -> Result<(), AllocateError> {
        match self.aggregate.allocate_behind_with(contents, neighbour, lifetime) {
            Ok(vbn) => {
                places.push(vbn);
                Ok(())
            }
            Err(refused) => {
                places.drain(..).for_each(|vbn| free_owned_block(&mut self.aggregate, vbn));
                Err(refused)
            }
        }
    }

    /// Unmaps a range of blocks of a file (trim, hole punching). Returns how many were mapped. O(log₆₄) for each of
    /// them.
    ///
    /// # Errors
    /// Outside a consistency point; if there is no such file.
    pub fn punch(
        &mut self,
        id: VolumeId,
        file: FileId,
        fbns: Range<Fbn>,
    ) -> Result<u64, VolumeError> {
        self.in_consistency_point()?;
        let Self { aggregate, volumes, .. } = self;
        let volume = open_volume(volumes.get_mut(&id), id)?;
        if volume.files.get(file.0).is_none() {
            return Err(VolumeError::NoSuchFile(id, file));
        }
        volume.touch();
        let mut from = fbns.start.0;
        let mut punched = 0;
        while let Some((fbn, slot)) = volume.files.get(file.0).and_then(|inode| {
            let (fbn, slot) = inode.blocks.next_from(from)?;
            (fbn < fbns.end.0).then_some((fbn, *slot))
        }) {
            if let Some(inode) = volume.files.get_mut(file.0).map(Arc::make_mut) {
                remove_block(inode, fbn);
            }
            volume.mapped -= 1;
            punched += 1;
            from = fbn + 1;
            if let Some(vbn) = volume.block_dies(slot.into()) {
                free_owned_block(aggregate, vbn);
            }
        }
        Ok(punched)
    }

    /// The same for a single block: a range cannot include the last possible one.
    fn punch_one(&mut self, id: VolumeId, file: FileId, fbn: Fbn) -> Result<(), VolumeError> {
        let Self { aggregate, volumes, .. } = self;
        let volume = open_volume(volumes.get_mut(&id), id)?;
        let inode = volume.files.get(file.0).ok_or(VolumeError::NoSuchFile(id, file))?;
        let Some(slot) = inode.blocks.get(fbn.0).copied() else { return Ok(()) };
        if let Some(inode) = volume.files.get_mut(file.0).map(Arc::make_mut) {
            remove_block(inode, fbn.0);
        }
        volume.mapped -= 1;
        if let Some(vbn) = volume.block_dies(slot.into()) {
            free_owned_block(aggregate, vbn);
        }
        Ok(())
    }

    /// Truncates a file: unmaps `fbn` and all blocks after it. Returns how many were mapped.
    ///
    /// # Errors
    /// Outside a consistency point; if there is no such file.
    pub fn truncate(&mut self, id: VolumeId, file: FileId, fbn: Fbn) -> Result<u64, VolumeError> {
        let before = self.image(id)?.blocks_of(file);
        self.punch(id, file, fbn..Fbn(u64::MAX))?;
        self.punch_one(id, file, Fbn(u64::MAX))?;
        Ok(before - self.image(id)?.blocks_of(file))
    }

    /// Moves blocks to new places, in the order given, for their files and for all snapshots and clones that have them.
    /// Skips blocks that no longer lie where the move says, and blocks that the same consistency point has written or
    /// moved. Returns how many were moved. O(1) a block.
    ///
    /// # Errors
    /// With nothing changed: outside a consistency point; [`VolumeError::OutOfSpace`] if fewer blocks are free and not
    /// reserved.
    pub fn relocate(&mut self, moves: &[Move]) -> Result<u64, VolumeError> {
        self.in_consistency_point()?;
        let mut seen = HashSet::new();
        let still_there = |one: &&Move| {
            let container = &self.volume(one.volume).ok()?.container;
            let entry = container.get(container.local(one.number)?)?;
            Some(entry.vbn() == one.from && entry.is_committed())
        };
        let moves: Vec<Move> = moves
            .iter()
            .filter(|one| still_there(one) == Some(true) && seen.insert(one.from))
            .copied()
            .collect();
        let (needed, free) = (moves.len() as u64, self.free_beyond(self.reserved));
        if needed > free {
            return Err(OutOfSpace { needed, free }.into());
        }
        let contents: Vec<BlockSource> =
            moves.iter().map(|one| BlockSource::Moved(one.from)).collect();
        let mut places = Vec::with_capacity(moves.len());
        // Under every policy: free space behind a neighbour is rarely contiguous, in the emptiest areas it is.
        self.aggregate.allocate_all(&contents, |_, vbn| places.push(vbn))?;
        for (one, vbn) in moves.iter().zip(places) {
            let volume = open_volume(self.volumes.get_mut(&one.volume), one.volume)?;
            let Some(local) = volume.container.local(one.number) else { continue };
            let Some(entry) = volume.container.get(local) else { continue };
            volume.touch().moved.push((local, one.from));
            volume.container.put(local, entry.moved_to(vbn));
            free_owned_block(&mut self.aggregate, one.from);
        }
        Ok(needed)
    }

    /// Ends the changes of the consistency point and returns its write plan: the tetrises, in the order in which they
    /// were filled. A block written twice occurs once, with what was written last. The plan of a persistent store
    /// includes the pages of its maps that change ([`BlockSource::Metadata`]); [`root`](Self::root) leads to them.
    ///
    /// # Errors
    /// Outside a consistency point; if it is finished already; [`VolumeError::OutOfSpace`] if there is no room for
    /// changed pages, or too little would be left to free blocks, where those that are freed count as free: then the
    /// consistency point can only be abandoned.
    pub fn finish(&mut self) -> Result<Vec<Tetris<BlockSource>>, VolumeError> {
        self.in_consistency_point()?;
        self.phase = Phase::Finished;
        self.place_metadata()?;
        self.aggregate.finish();
        self.encode_metadata();
        Ok(std::iter::from_fn(|| self.aggregate.next_tetris()).collect())
    }

    /// Drops the write plan of the consistency point, for a caller that writes nothing, such as a simulation.
    pub fn discard_plan(&mut self) {
        self.aggregate.discard_plan();
    }

    /// Commits the consistency point, whose tetrises must be durable. Returns how many blocks became free.
    ///
    /// # Errors
    /// With nothing changed: if none is open; [`VolumeError::PlanLeft`] if its write plan was not taken
    /// ([`finish`](Self::finish)); [`VolumeError::NotFinished`] if a persistent store has not finished it.
    pub fn commit(&mut self) -> Result<u64, VolumeError> {
        if self.phase == Phase::Closed {
            return Err(VolumeError::NoConsistencyPoint);
        }
        if self.metadata.as_ref().is_some_and(|metadata| !metadata.is_placed()) {
            return Err(VolumeError::NotFinished);
        }
        let freed = self.aggregate.commit()?;
        let files = self.volumes.values_mut().map(Volume::commit).collect();
        self.commit_metadata(files);
        self.phase = Phase::Closed;
        self.assert_counts_agree();
        Ok(freed)
    }

    /// Abandons the consistency point: everything is as it was before it began.
    ///
    /// # Errors
    /// If none is open.
    pub fn abandon(&mut self) -> Result<(), VolumeError> {
        if self.phase == Phase::Closed {
            return Err(VolumeError::NoConsistencyPoint);
        }
        self.aggregate.abandon()?;
        let volumes = self.volumes.values_mut().map(Volume::abandon);
        let (reserved, files): (Vec<u64>, Vec<Files>) = volumes.unzip();
        self.reserved += reserved.into_iter().sum::<u64>();
        self.abandon_metadata(files);
        self.phase = Phase::Closed;
        self.assert_counts_agree();
        Ok(())
    }

    /// Asserts what every consistency point must leave behind: volumes own no more blocks than are in use, dead lists
    /// have no more than their volume unless it is being destroyed; reservations add up and can be kept. O(volumes).
    fn assert_counts_agree(&self) {
        let (mut owned, mut reserved) = (0, 0);
        for (id, volume) in &self.volumes {
            let (dead, blocks) = (volume.snapshots.blocks(), volume.container.blocks());
            // A destroyed volume's container is emptied before its lists are dropped.
            let agrees = dead <= blocks || volume.is_destroyed;
            assert!(agrees, "{id}: {dead} blocks on dead lists, {blocks} in all");
            owned += blocks;
            reserved += volume.reserved;
        }
        let counts = self.aggregate.counts();
        assert!(owned <= counts.used, "volumes own {owned} blocks, {} are in use", counts.used);
        assert!(reserved == self.reserved, "{reserved} blocks reserved, {} counted", self.reserved);
        assert!(reserved <= counts.free, "{reserved} blocks reserved, {} are free", counts.free);
    }

    /// Blocks that can be written: free, not among `reserved`, and not kept for metadata.
    pub(crate) fn free_beyond(&self, reserved: u64) -> u64 {
        self.aggregate
            .free_blocks()
            .saturating_sub(reserved)
            .saturating_sub(self.metadata_reserve())
    }

    pub(crate) fn in_consistency_point(&self) -> Result<(), VolumeError> {
        match self.phase {
            Phase::Open => Ok(()),
            Phase::Closed => Err(VolumeError::NoConsistencyPoint),
            Phase::Finished => Err(VolumeError::Finished),
        }
    }
}

fn open_volume(volume: Option<&mut Volume>, id: VolumeId) -> Result<&mut Volume, VolumeError> {
    volume.filter(|volume| !volume.is_destroyed).ok_or(VolumeError::NoSuchVolume(id))
}

fn remove_block(inode: &mut Inode, fbn: u64) {
    if inode.blocks.remove(fbn).is_some() {
        inode.mapped -= 1;
    }
}
