//! Changes to a running array.
//!
//! A change is made while no request is in flight and everything acknowledged is on the spindles. The array gets its
//! new volumes in memory; the consistency point that follows writes the catalog and all else that the change means, and
//! its superblock makes the change happen.

use strewn_alloc::REGION_BLOCKS;
use strewn_array::write_anywhere::{
    CatalogBlocks, Reconfiguration, ReconfigurationError, RestoreError, View, WriteAnywhere,
    WriteAnywhereConfig,
};
use strewn_array::{LunId, SnapshotRefusal};
use strewn_base::memory::available_bytes;
use strewn_volume::{SnapshotId, SpaceSnapshots, VolumeId};

use super::{
    Change, ChangeError, Inventory, LunInventory, LunName, SnapshotInventory, SnapshotLunInventory,
    SnapshotName, VolumeInventory, VolumeName,
};
use crate::catalog::{Catalog, CatalogLun, CatalogSnapshot, CatalogVolume};
use crate::configuration::Size;
use crate::data::Data;
use crate::device::{BLOCK_BYTES, Devices};
use crate::engine::{Controller, LiveArray, TargetId};
use crate::running::RunningArray;

/// Most volumes of an array.
const MAXIMUM_VOLUMES: usize = 64;

/// Most LUNs of an array.
const MAXIMUM_LUNS: usize = 256;

impl<D: Devices, A: LiveArray> RunningArray<D, A> {
    /// Carries out a change, and returns when it is durable. No request may be in flight.
    ///
    /// # Errors
    /// See [`ChangeError`]; the array goes on, unless it has stopped.
    pub fn administer(&mut self, change: Change) -> Result<(), ChangeError> {
        let Some(catalog) = self.engine().catalog().cloned() else {
            return Err(ChangeError::InPlace);
        };
        self.reach_spindles()?;
        let consistency_point = self.engine().superblock().consistency_point;
        let Some(array) = self.engine_mut().array_mut().volumes_mut() else {
            return Err(ChangeError::InPlace);
        };
        let mut plan = Plan { old: catalog.clone(), catalog, array, consistency_point };
        plan.make(change)?;
        let catalog = plan.catalog;
        self.engine_mut().change_catalog(catalog);
        self.reach_spindles()
    }

    /// Brings everything to the spindles, a change in memory included.
    fn reach_spindles(&mut self) -> Result<(), ChangeError> {
        self.catch_up().map_err(|why| match self.engine().stopped() {
            Some(_) => ChangeError::Stopped(why),
            None => ChangeError::NoSpace(why),
        })
    }

    /// Returns what the array has. Counts the blocks of LUNs and of free space, so it takes longer for a larger array.
    #[must_use]
    pub fn inventory(&self) -> Inventory {
        let engine = self.engine();
        let (Some(catalog), Controller::WriteAnywhere(array)) =
            (engine.catalog(), engine.array().controller())
        else {
            let sectors = engine.target_sectors(TargetId::FIRST_LUN).unwrap_or_default();
            return Inventory::in_place(sectors * strewn_base::SECTOR_BYTES);
        };
        let mut inventory = Inventory::at_rest(catalog);
        inventory.free_bytes = Some(bytes_of(array.aggregate().counts().free));
        inventory.claimed_bytes = Some(bytes_of(array.claimed_blocks()));
        let mut next = (0..).map(LunId);
        for ((volume, of), number) in
            inventory.volumes.iter_mut().zip(&catalog.volumes).zip((0..).map(VolumeId))
        {
            let mut used = array.held_blocks(number);
            for (lun, id) in volume.luns.iter_mut().zip(&mut next) {
                let blocks = array.allocated_blocks(id);
                used += blocks;
                lun.allocated_bytes = Some(bytes_of(blocks));
            }
            volume.used_bytes = Some(bytes_of(used));
            for (snapshot, of_snapshot) in volume.snapshots.iter_mut().zip(&of.snapshots) {
                let held = array.held_by_alone(number, SnapshotId(of_snapshot.number));
                snapshot.held_bytes = held.map(bytes_of);
                for (lun, CatalogLun { file, .. }) in
                    snapshot.luns.iter_mut().zip(&of_snapshot.luns)
                {
                    lun.target = engine.target_in_snapshot(of.number, of_snapshot.number, *file);
                }
            }
        }
        inventory
    }
}

fn bytes_of(blocks: u64) -> u64 {
    blocks * BLOCK_BYTES as u64
}

/// A change that is being made: the catalog as it will be, and the array as it was.
struct Plan<'a> {
    catalog: Catalog,
    old: Catalog,
    array: &'a mut WriteAnywhere<Data>,
    consistency_point: u64,
}

impl Plan<'_> {
    fn make(&mut self, change: Change) -> Result<(), ChangeError> {
        match change {
            Change::CreateVolume { volume, bytes, thin } => {
                let blocks = match bytes {
                    Some(bytes) => blocks_of(bytes)?,
                    None => self.free_blocks(),
                };
                self.new_volume(&volume, blocks, thin)?;
                self.reconfigure(vec![])?;
            }
            Change::ResizeVolume { volume, bytes } => {
                let blocks = blocks_of(bytes)?;
                let at = self.volume(&volume)?;
                let needed = lun_blocks(&self.catalog.volumes[at].luns);
                if blocks < needed {
                    return Err(ChangeError::SmallerThanLuns { lun_bytes: bytes_of(needed) });
                }
                self.catalog.volumes[at].blocks = blocks;
                self.catalog.volumes[at].numbers = self.numbers_for(blocks);
                self.reconfigure(vec![])?;
            }
            Change::DeleteVolume { volume } => {
                let at = self.volume(&volume)?;
                let CatalogVolume { luns, snapshots, .. } = &self.catalog.volumes[at];
                if !luns.is_empty() || !snapshots.is_empty() {
                    let (luns, snapshots) = (luns.len() as u64, snapshots.len() as u64);
                    return Err(ChangeError::NotEmpty { volume, luns, snapshots });
                }
                if self.catalog.volumes.len() == 1 {
                    return Err(ChangeError::Last("volume".to_owned()));
                }
                self.catalog.volumes.remove(at);
                self.reconfigure(vec![])?;
            }
            Change::CreateLun { lun, bytes } => {
                let blocks = lun_size(bytes)?;
                let at = self.volume(lun.volume())?;
                if self.lun(&lun).is_ok() {
                    return Err(ChangeError::Exists(format!("LUN {lun}")));
                }
                if self.catalog.luns().count() >= MAXIMUM_LUNS {
                    return Err(too_many("LUNs", MAXIMUM_LUNS));
                }
                let file = self.new_file();
                let name = lun.lun().to_owned();
                self.catalog.volumes[at].luns.push(CatalogLun { file, name, blocks });
                self.fits_volume(at, blocks)?;
                self.reconfigure(vec![])?;
            }
            Change::ResizeLun { lun, bytes } => {
                let blocks = lun_size(bytes)?;
                let (volume, at) = self.lun(&lun)?;
                let end = self.array.allocated_end(self.id_of(volume, at));
                if blocks < end {
                    let smallest_bytes = bytes_of(end.into());
                    return Err(ChangeError::WouldCutData { smallest_bytes });
                }
                self.catalog.volumes[volume].luns[at].blocks = blocks;
                self.fits_volume(volume, blocks)?;
                self.reconfigure(vec![])?;
            }
            Change::DeleteLun { lun } => {
                let (volume, at) = self.lun(&lun)?;
                if self.catalog.luns().count() == 1 {
                    return Err(ChangeError::Last("LUN".to_owned()));
                }
                self.catalog.volumes[volume].luns.remove(at);
                self.reconfigure(vec![])?;
            }
            Change::TakeSnapshot { snapshot, taken_unix_seconds } => {
                self.take_snapshot(&snapshot, taken_unix_seconds)?;
            }
            Change::DeleteSnapshot { snapshot } => {
                let (volume, at) = self.snapshot(&snapshot)?;
                let number = self.catalog.volumes[volume].snapshots[at].number;
                let origin = (self.catalog.volumes[volume].number, number);
                let clones = self.catalog.volumes.iter().filter(|one| one.origin == Some(origin));
                let clones: Vec<VolumeName> =
                    clones.map(|clone| stored_name(&clone.name)).collect();
                if !clones.is_empty() {
                    return Err(ChangeError::HasClones { snapshot, clones });
                }
                self.catalog.volumes[volume].snapshots.remove(at);
                let blocks = encoded(&self.catalog)?;
                self.array.delete_snapshot(VolumeId(volume as u32), SnapshotId(number));
                self.array.set_catalog(blocks);
            }
            Change::CreateClone { volume, of } => self.clone(&volume, &of)?,
        }
        Ok(())
    }

    fn take_snapshot(
        &mut self,
        snapshot: &SnapshotName,
        taken_unix_seconds: u64,
    ) -> Result<(), ChangeError> {
        let at = self.volume(snapshot.volume())?;
        if self.snapshot(snapshot).is_ok() {
            return Err(ChangeError::Exists(format!("snapshot {snapshot}")));
        }
        let (luns, consistency_point) =
            (self.catalog.volumes[at].luns.clone(), self.consistency_point);
        let inode = self.array.pointer(self.array.keys().inode_of(VolumeId(at as u32)));
        let entry = |number| {
            CatalogSnapshot::new(
                number,
                snapshot.snapshot().to_owned(),
                taken_unix_seconds,
                consistency_point,
                inode,
                luns.clone(),
            )
        };
        // Whether there is room for it in the catalog must be known before it is taken.
        let mut catalog = self.catalog.clone();
        catalog.volumes[at].snapshots.push(entry(u32::MAX));
        encoded(&catalog)?;
        let taken = self.array.take_snapshot(VolumeId(at as u32));
        let SnapshotId(number) = taken.map_err(|refusal| match refusal {
            SnapshotRefusal::NoSpace { lacking } => {
                ChangeError::NoRoom { lacking_bytes: bytes_of(lacking) }
            }
            SnapshotRefusal::TooMany | SnapshotRefusal::NotSimulated => {
                too_many("snapshots of the volume ever taken", SpaceSnapshots::MOST as usize)
            }
        })?;
        let entry = entry(number);
        self.catalog.volumes[at].snapshots.push(entry);
        self.array.set_catalog(encoded(&self.catalog)?);
        Ok(())
    }

    fn clone(&mut self, name: &VolumeName, of: &SnapshotName) -> Result<(), ChangeError> {
        let (origin, at) = self.snapshot(of)?;
        let CatalogVolume { number, blocks, snapshots, .. } = &self.catalog.volumes[origin];
        let (number, blocks) = (*number, *blocks);
        let CatalogSnapshot { number: snapshot, luns, .. } = snapshots[at].clone();
        let new = self.new_volume(name, blocks.max(lun_blocks(&luns)), true)?;
        self.catalog.volumes[new].origin = Some((number, snapshot));
        let mut clones = Vec::new();
        for lun in luns {
            let file = self.new_file();
            let view = View { file: lun.file, blocks: lun.blocks, snapshot: SnapshotId(snapshot) };
            clones.push((file, view));
            self.catalog.volumes[new].luns.push(CatalogLun { file, ..lun });
        }
        self.reconfigure(clones)
    }

    /// Gives the array the volumes of the catalog.
    fn reconfigure(&mut self, clones: Vec<(u32, View)>) -> Result<(), ChangeError> {
        let blocks = encoded(&self.catalog)?;
        let before = self.catalog.volumes.iter().map(|volume| self.old.index_of(volume.number));
        let to =
            Reconfiguration { volumes: self.catalog.volumes(), before: before.collect(), clones };
        let config = self.array.config();
        let next = WriteAnywhereConfig { volumes: to.volumes.clone(), ..config.clone() };
        // The maps are in memory twice for a while.
        if let Some(available) = available_bytes()
            && next.map_bytes() > available
        {
            let (needed, available) = (Size(next.map_bytes()), Size(available));
            let why = format!("its maps need {needed} of memory, and {available} are available");
            return Err(ChangeError::Impossible(why));
        }
        let wanted = next.needed_blocks();
        let impossible = |error: RestoreError| ChangeError::Impossible(error.to_string());
        let lacking = match wanted > config.needed_blocks() {
            true => self.array.lacking_for(&to).map_err(impossible)?,
            false => 0,
        };
        if lacking > 0 {
            let reserved = reservation_blocks(&self.catalog);
            if reserved <= reservation_blocks(&self.old) {
                let lacking = Size(bytes_of(lacking));
                let why = format!("{lacking} are lacking for the metadata of what it would have");
                return Err(ChangeError::Impossible(why));
            }
            return Err(ChangeError::VolumeTooLarge {
                bytes: bytes_of(reserved),
                free_bytes: bytes_of(reserved.saturating_sub(lacking)),
            });
        }
        self.array.reconfigure(&to).map_err(|error| match error {
            ReconfigurationError::NoRoom { lacking } => {
                ChangeError::NoRoom { lacking_bytes: bytes_of(lacking) }
            }
            ReconfigurationError::Restore(error) => impossible(error),
        })?;
        self.array.set_catalog(blocks);
        Ok(())
    }

    /// The size of a volume that reserves all that is free.
    fn free_blocks(&self) -> u64 {
        let free = self.array.blocks_to_reserve();
        // What the volume's own metadata may need.
        free.saturating_sub(free / 50 + 8 * REGION_BLOCKS / 64)
    }

    /// Adds a volume without LUNs to the catalog, and returns its index.
    fn new_volume(
        &mut self,
        name: &VolumeName,
        blocks: u64,
        thin: bool,
    ) -> Result<usize, ChangeError> {
        if self.volume(name).is_ok() {
            return Err(ChangeError::Exists(format!("volume {name}")));
        }
        if self.catalog.volumes.len() >= MAXIMUM_VOLUMES {
            return Err(too_many("volumes", MAXIMUM_VOLUMES));
        }
        let number = self.catalog.next_volume;
        self.catalog.next_volume += 1;
        self.catalog.volumes.push(CatalogVolume {
            number,
            name: name.as_str().to_owned(),
            blocks,
            thin,
            numbers: self.numbers_for(blocks),
            origin: None,
            luns: Vec::new(),
            snapshots: Vec::new(),
        });
        Ok(self.catalog.volumes.len() - 1)
    }

    fn new_file(&mut self) -> u32 {
        self.catalog.next_file += 1;
        self.catalog.next_file - 1
    }

    /// Numbers for the blocks of a volume whose LUNs have `blocks` together. It never uses more than the aggregate has.
    fn numbers_for(&self, blocks: u64) -> u64 {
        let config = self.array.config();
        let log_blocks = 2 * (config.log.half_bytes / BLOCK_BYTES as u64);
        let log_blocks = u32::try_from(log_blocks).unwrap_or(u32::MAX);
        let numbers = WriteAnywhereConfig::volume_blocks_for(
            blocks,
            config.delayed_free_blocks,
            config.cache_blocks.max(log_blocks),
        );
        numbers.min(2 * config.total_blocks() + REGION_BLOCKS)
    }

    /// Refuses LUNs that are larger than their volume.
    fn fits_volume(&self, volume: usize, blocks: u32) -> Result<(), ChangeError> {
        let CatalogVolume { blocks: of_volume, luns, .. } = &self.catalog.volumes[volume];
        let others = lun_blocks(luns) - u64::from(blocks);
        match others + u64::from(blocks) <= *of_volume {
            true => Ok(()),
            false => Err(ChangeError::LunTooLarge {
                lun_bytes: bytes_of(blocks.into()),
                volume_bytes: bytes_of(*of_volume),
                left_bytes: bytes_of(of_volume.saturating_sub(others)),
            }),
        }
    }

    fn volume(&self, name: &VolumeName) -> Result<usize, ChangeError> {
        self.catalog.find_volume(name).ok_or_else(|| ChangeError::NoSuchVolume(name.clone()))
    }

    /// The indices of a LUN and its volume.
    fn lun(&self, name: &LunName) -> Result<(usize, usize), ChangeError> {
        let volume = self.volume(name.volume())?;
        let luns = &self.catalog.volumes[volume].luns;
        let at = luns.iter().position(|lun| lun.name == name.lun());
        at.map(|at| (volume, at)).ok_or_else(|| ChangeError::NoSuchLun(name.clone()))
    }

    /// The indices of a snapshot and its volume.
    fn snapshot(&self, name: &SnapshotName) -> Result<(usize, usize), ChangeError> {
        self.volume(name.volume())?;
        self.catalog.find_snapshot(name).ok_or_else(|| ChangeError::NoSuchSnapshot(name.clone()))
    }

    /// A LUN, as the array knows it.
    fn id_of(&self, volume: usize, lun: usize) -> LunId {
        let before = self.old.volumes[..volume].iter().map(|volume| volume.luns.len());
        LunId((before.sum::<usize>() + lun) as u16)
    }
}

/// The blocks that volumes which are not thin reserve together.
fn reservation_blocks(catalog: &Catalog) -> u64 {
    let thick = catalog.volumes.iter().filter(|volume| !volume.thin);
    thick.map(|volume| volume.blocks).sum()
}

fn lun_blocks(luns: &[CatalogLun]) -> u64 {
    luns.iter().map(|lun| u64::from(lun.blocks)).sum()
}

fn blocks_of(bytes: u64) -> Result<u64, ChangeError> {
    match bytes.is_multiple_of(BLOCK_BYTES as u64) && bytes > 0 {
        true => Ok(bytes / BLOCK_BYTES as u64),
        false => Err(ChangeError::BadSize { bytes }),
    }
}

fn lun_size(bytes: u64) -> Result<u32, ChangeError> {
    u32::try_from(blocks_of(bytes)?)
        .map_err(|_| ChangeError::Impossible("a LUN has less than 16 TiB".to_owned()))
}

fn encoded(catalog: &Catalog) -> Result<CatalogBlocks, ChangeError> {
    let blocks = catalog.encode().ok_or(ChangeError::CatalogFull)?;
    // With a catalog that cannot be read back, no start would succeed again.
    match Catalog::decode(&blocks) {
        Ok(read) if read == *catalog => Ok(blocks),
        _ => {
            let why = "its catalog has no numbers of 2^63 and more";
            Err(ChangeError::Impossible(why.to_owned()))
        }
    }
}

fn too_many(what: &str, most: usize) -> ChangeError {
    ChangeError::TooMany { what: what.to_owned(), most: most as u64 }
}

/// A name in the catalog, which was checked when it was given.
fn stored_name(name: &str) -> VolumeName {
    name.parse().unwrap_or_else(|_| VolumeName::first())
}

impl Inventory {
    /// Returns what an array with this catalog has, at rest.
    pub fn at_rest(catalog: &Catalog) -> Self {
        let bytes = |blocks: u32| bytes_of(blocks.into());
        let lun = |lun: &CatalogLun| LunInventory {
            name: lun.name.clone(),
            target: TargetId(lun.file),
            bytes: bytes(lun.blocks),
            allocated_bytes: None,
        };
        let in_snapshot = |lun: &CatalogLun| SnapshotLunInventory {
            name: lun.name.clone(),
            target: None,
            bytes: bytes(lun.blocks),
        };
        let snapshot = |snapshot: &CatalogSnapshot| SnapshotInventory {
            name: snapshot.name.clone(),
            taken_unix_seconds: snapshot.taken_unix_seconds,
            consistency_point: Some(snapshot.consistency_point),
            held_bytes: None,
            luns: snapshot.luns.iter().map(in_snapshot).collect(),
        };
        let origin = |(volume, number): (u32, u32)| {
            let volume = &catalog.volumes[catalog.index_of(volume)?.0 as usize];
            let snapshot = volume.snapshots.iter().find(|snapshot| snapshot.number == number)?;
            SnapshotName::new(stored_name(&volume.name), &snapshot.name).ok()
        };
        let volume = |volume: &CatalogVolume| VolumeInventory {
            name: stored_name(&volume.name),
            bytes: bytes_of(volume.blocks),
            thin: volume.thin,
            used_bytes: None,
            origin: volume.origin.and_then(origin),
            luns: volume.luns.iter().map(lun).collect(),
            snapshots: volume.snapshots.iter().map(snapshot).collect(),
        };
        let volumes = catalog.volumes.iter().map(volume).collect();
        Self { volumes, ..Self::default() }
    }

    /// Returns what an in-place array has, whose LUN has so many bytes.
    pub(crate) fn in_place(bytes: u64) -> Self {
        let lun = LunInventory {
            name: super::FIRST_LUN_NAME.to_owned(),
            target: TargetId::FIRST_LUN,
            bytes,
            allocated_bytes: None,
        };
        let volume = VolumeInventory {
            name: VolumeName::first(),
            bytes,
            thin: false,
            used_bytes: None,
            origin: None,
            luns: vec![lun],
            snapshots: Vec::new(),
        };
        Self { volumes: vec![volume], ..Self::default() }
    }
}
