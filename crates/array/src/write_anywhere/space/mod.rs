//! Where blocks lie: the aggregate and its volumes, the map, what snapshots and reservations need, and what is lost.
//!
//! Nothing here knows of operations, consistency points or recoveries. They ask for places and give them back.

pub(super) mod address;
pub(super) mod checksums;
pub(super) mod config;
mod groups;
mod held_blocks;
pub(super) mod history;
mod initial_layout;
pub(super) mod keys;
pub(super) mod losses;
pub mod metadata;
mod metadata_blocks;
pub(super) mod pending;
pub(super) mod reconfigure;
mod reservations;
mod restore;
pub(super) mod restore_error;
mod room;
mod run;
pub(super) mod snapshots;
#[cfg(test)]
mod tests;
pub(super) mod view;

use std::ops::Range;

use strewn_alloc::{Aggregate, AggregateOptions, BlockMap};
use strewn_base::memory::check_reservable;
use strewn_base::state::{SavedState, StateError, StateReader, StateWriter};
use strewn_raid::{Parity, ParityGroup, Vbn};
use strewn_volume::{Region, VirtualSpace, VolumeId};

use crate::error::ArrayConfigError;
use crate::first_spindles::FirstSpindles;
use crate::lun_id::LunId;
use crate::units::BLOCK_SECTORS;

use checksums::Checksums;
use config::WriteAnywhereConfig;
pub use groups::PlacedGroup;
use keys::BlockKeys;
use losses::Losses;
use pending::Pending;
pub(super) use run::{COMMAND_BLOCKS, Run};
use snapshots::Snapshots;

/// The superblock's key for the allocator. No other block has it.
pub(super) const SUPERBLOCK: u32 = u32::MAX;

/// The blocks of an array, and where they lie.
pub(super) struct Space {
    pub(super) config: WriteAnywhereConfig,
    pub(super) first_spindles: FirstSpindles,
    pub(super) keys: BlockKeys,
    /// The sectors of each LUN, numbered through as the keys of its blocks are.
    pub(super) lun_sectors: Vec<Range<u64>>,
    /// Blocks are identified by key.
    pub(super) aggregate: Aggregate<u32>,
    pub(super) volumes: VirtualSpace,
    /// Each block's VBN and region of its volume, by key: six bytes for each block.
    pub(super) map: BlockMap,
    pub(super) regions: Vec<Region>,
    pub(super) superblock: [Vbn; 2],
    /// `None` unless the array has bytes.
    pub(super) checksums: Option<Box<Checksums>>,
    /// What the next consistency point writes although no host has written it. Only in the durable format.
    pub(super) pending: Pending,
    /// `None` until a snapshot is asked for. An array without snapshots must not depend on it.
    pub(super) snapshots: Option<Box<Snapshots>>,
    /// `None` until something is lost. An array without failures must not depend on it.
    pub(super) losses: Option<Box<Losses>>,
    /// Most blocks that may be dirty when the next consistency point begins.
    pub(super) room_blocks: u64,
    /// The file system's reserve of the aggregate's blocks, in percent.
    reserve_percent: f64,
    /// Whether the operations are those of a log, which have been admitted before.
    pub(super) is_replaying: bool,
}

impl Space {
    /// A space without any blocks, superblocks included. With `bytes`, it keeps their checksums.
    ///
    /// # Errors
    /// If a size is zero or the LUNs do not fit.
    pub(super) fn bare(config: WriteAnywhereConfig, bytes: bool) -> Result<Self, ArrayConfigError> {
        let smallest = config.volumes.iter().flat_map(|volume| &volume.luns).min();
        // The durable format has volumes that are to get LUNs later.
        if smallest.is_none() && !config.format.is_durable() {
            return Err(ArrayConfigError::NoLun);
        }
        let nonzero = [
            (smallest.map_or(1, |blocks| (*blocks).into()), "a LUN"),
            (config.log.half_bytes, "half of the NVRAM log"),
            (config.consistency_point_interval_ns, "the interval of consistency points"),
            (config.cache_blocks.into(), "the buffer cache"),
            (config.dirty_limit_blocks.into(), "the limit of dirty blocks"),
            (config.tetrises_in_flight.into(), "the number of tetrises in flight"),
        ];
        if let Some((_, what)) = nonzero.iter().find(|(size, _)| *size == 0) {
            return Err(ArrayConfigError::Zero(what));
        }
        let (groups, at_start) = (config.groups.len(), config.groups_at_start);
        if !(1..=groups).contains(&at_start) || groups > WriteAnywhereConfig::MOST_GROUPS {
            return Err(ArrayConfigError::GroupCount { groups, at_start });
        }
        if config.groups.iter().any(|group| group.parity() == Parity::None) {
            return Err(ArrayConfigError::NoParity);
        }
        for (volume, of) in (0..).zip(&config.volumes) {
            let (luns, most) = (of.luns.len(), BlockKeys::MOST_LUNS_OF_VOLUME);
            if luns > most {
                return Err(ArrayConfigError::TooManyLuns { volume, luns, most });
            }
        }
        let options = AggregateOptions {
            chunks: config.chunks,
            shape: config.shape,
            policy: config.policy,
            ..AggregateOptions::default()
        };
        let mut aggregate = Aggregate::new(config.groups.iter().copied(), options)?;
        if at_start < groups {
            // All groups fit together, so that adding those of later cannot fail.
            aggregate = Aggregate::new(config.groups[..at_start].iter().copied(), options)?;
        }
        let volumes = VirtualSpace::new(config.volumes.iter().map(|volume| volume.blocks))?;
        let keys = config.block_keys();
        if keys.end() == u32::MAX {
            return Err(ArrayConfigError::TooManyKeys(config.lun_blocks()));
        }
        check_reservable(config.map_bytes())?;
        let map = BlockMap::new(keys.end().into(), config.total_blocks())?;
        let lun_sectors = (0..keys.luns()).map(|lun| {
            let Range { start, end } = keys.blocks_of(LunId(lun));
            let sector = |key| u64::from(key) * u64::from(BLOCK_SECTORS);
            sector(start)..sector(end)
        });
        Ok(Self {
            lun_sectors: lun_sectors.collect(),
            first_spindles: FirstSpindles::of(config.groups.iter().map(ParityGroup::spindles)),
            aggregate,
            volumes,
            map,
            regions: strewn_base::memory::filled(Region(0), keys.of_volumes().len()),
            superblock: [Vbn(0); 2],
            checksums: bytes.then(|| Box::new(Checksums::new(keys.end(), config.total_blocks()))),
            pending: Pending::default(),
            snapshots: None,
            losses: None,
            room_blocks: 0,
            reserve_percent: 0.0,
            is_replaying: false,
            keys,
            config,
        })
    }

    /// Whether the on-disk format is Strewn's own, which survives a crash.
    #[inline]
    pub(super) fn is_durable(&self) -> bool {
        self.config.format.is_durable()
    }

    pub(super) fn does_not_fit(&self, full: &NoRoom) -> ArrayConfigError {
        match full {
            NoRoom::Aggregate(_) | NoRoom::ConsistencyPoint(_) => ArrayConfigError::LunsDoNotFit {
                lun_blocks: self.config.lun_blocks(),
                aggregate_blocks: self.config.blocks_at_start(),
            },
            NoRoom::Volume(volume, _) => {
                let config = &self.config.volumes[volume.0 as usize];
                ArrayConfigError::VolumeTooSmall {
                    volume: volume.0,
                    volume_blocks: config.blocks,
                    lun_blocks: config.luns.iter().map(|blocks| u64::from(*blocks)).sum(),
                }
            }
        }
    }

    pub(super) fn volume_ids(&self) -> impl Iterator<Item = VolumeId> + use<> {
        (0..self.config.volumes.len() as u32).map(VolumeId)
    }

    /// The first sector of `lun` if the sectors of all LUNs are numbered through.
    #[inline(always)]
    pub(super) fn first_sector_of(&self, lun: LunId) -> u64 {
        self.lun_sectors[usize::from(lun.0)].start
    }

    /// Gives block `key` a new place in the aggregate, and a new number in its volume if it belongs to one.
    #[inline(always)]
    pub(super) fn place(&mut self, key: u32) -> Result<Placed, NoRoom> {
        let is_of_volume = self.keys.of_volumes().contains(&key);
        let volume = is_of_volume.then(|| self.keys.volume_of(key));
        self.place_in_volume(key, volume)
    }

    /// The same for a block of `volume`, or of none.
    #[inline(always)]
    fn place_in_volume(&mut self, key: u32, volume: Option<VolumeId>) -> Result<Placed, NoRoom> {
        let vbn = if self.aggregate.keeps_near() {
            let neighbour = key.checked_sub(1).and_then(|before| self.map.get(before));
            self.aggregate.allocate_behind(key, neighbour)?
        } else {
            self.aggregate.allocate(key)?
        };
        let before = self.map.replace(key, vbn);
        if let Some(checksums) = &mut self.checksums {
            checksums.record_placement(key, vbn);
        }
        let number = if let Some(volume) = volume {
            let allocated = self.volumes.allocate(volume);
            let (region, position) = allocated.map_err(|full| NoRoom::Volume(volume, full))?;
            let before = std::mem::replace(&mut self.regions[key as usize], region);
            Some(Number { region, position, before })
        } else {
            None
        };
        Ok(Placed { vbn, before, number })
    }

    /// The superblock's two copies, as a tetris of one stripe.
    pub(super) fn superblock_tetris(&self) -> strewn_alloc::Tetris<u32> {
        let Run { group, dbn: first_stripe, .. } = self.run_at(self.superblock[0]);
        let mut written = vec![0; self.group(group).data_spindles().into()];
        for block in self.superblock {
            let run = self.run_at(block);
            written[run.spindle.index()] |= 1 << (run.dbn - first_stripe);
        }
        let contents = vec![SUPERBLOCK; self.superblock.len()];
        strewn_alloc::Tetris { group, first_stripe, written, contents }
    }
}

/// The result of placing a block.
pub(super) struct Placed {
    pub(super) vbn: Vbn,
    pub(super) before: Option<Vbn>,
    /// For a block of a volume.
    pub(super) number: Option<Number>,
}

/// The new number of a block in its volume: its region and its position there, and the region of its old number.
pub(super) struct Number {
    pub(super) region: Region,
    pub(super) position: u32,
    pub(super) before: Region,
}

/// The aggregate has no free block, or a volume no free number.
#[derive(Debug, thiserror::Error)]
pub(super) enum NoRoom {
    #[error(transparent)]
    Aggregate(#[from] strewn_alloc::AllocateError),
    #[error(transparent)]
    ConsistencyPoint(#[from] strewn_alloc::ConsistencyPointError),
    #[error("{0}: {1}")]
    Volume(VolumeId, strewn_volume::VolumeFull),
}

impl Space {
    strewn_base::saved_state! {
        fns save_fields, restore_fields {
            parts: aggregate, volumes, map, regions, pending, snapshots;
            values: superblock, losses, room_blocks, is_replaying;
            built: config, first_spindles, keys, lun_sectors, checksums, reserve_percent;
        }
    }
}

impl SavedState for Space {
    fn save(&self, to: &mut StateWriter<'_>) -> Result<(), StateError> {
        to.value(&self.aggregate.groups())?;
        to.value(&self.snapshots.is_some())?;
        self.save_fields(to)
    }

    /// The array comes to have the groups that had been added, and room for snapshots if any had been asked for.
    fn restore(&mut self, from: &mut StateReader<'_>) -> Result<(), StateError> {
        let groups: usize = from.value()?;
        let later = self.config.groups.get(self.aggregate.groups()..groups);
        let problem = || StateError::inconsistent(format!("{groups} parity groups were saved"));
        for group in later.ok_or_else(problem)? {
            self.aggregate.add_group(*group).map_err(|_| problem())?;
        }
        if from.value()? {
            self.snapshots_mut();
        }
        self.restore_fields(from)
    }
}
