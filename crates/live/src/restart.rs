//! Restart: an array starts from its newest superblock, its redo records and its log.

mod log_devices;

use std::ops::Range;

use strewn_alloc::GroupIndex;
use strewn_array::in_place::{InPlace, InPlaceConfig};
use strewn_array::write_anywhere::metadata::Pointer;
use strewn_array::write_anywhere::{
    BlockAddress, BlockKeys, CatalogBlocks, History, RestoreError, WriteAnywhere,
    WriteAnywhereConfig,
};
use strewn_array::{ArrayConfigError, BlockContents};
use strewn_base::BLOCK_SECTORS;
use strewn_raid::{SpindleIndex, StripedLayout};
use strewn_volume::VolumeId;

use crate::catalog::{Catalog, CatalogSnapshot};
use crate::data::Data;
use crate::device::{BLOCK_BYTES, Buffer, DeviceIndex, Devices, IoError};
use crate::engine::{HostRequest, LiveArray, LiveArrayEngine, RequestId, TargetId};
use crate::format::{
    DeviceKind, DiskFormatError, FEATURE_INITIALIZATION_MAP, INITIALIZATION_MAP_SLOTS,
    InitializationMap, Label, LogLayout, MAXIMUM_GROUPS, Member, MemberState, RecordHeader,
    SUPERBLOCK_SLOTS, Superblock, redo_data_bytes,
};
use crate::log::{HostRecord, Log, LogReadError, RecoveredLog};
use crate::offline::{OfflineArray, SpindleBlock};
use crate::running::RunningArray;
use crate::store::{SpindleWriteError, Store};

use log_devices::equalize_logs;
pub(crate) use log_devices::log_of;

/// Size of the cache of checksum blocks in a store, in bytes.
const CHECKSUM_CACHE_BYTES: usize = 64 << 20;

/// Why an array cannot start.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum RestartError {
    /// No spindle has a superblock of the array.
    #[error("no spindle has a superblock that is whole")]
    NoSuperblock,
    /// No spindle has a valid initialization map that is as new as the superblock says.
    #[error("no spindle has an initialization map that is whole and not older than the superblock")]
    NoInitializationMap,
    /// The newest label is the log's, and no spindle has one, so the size of spindles is unknown.
    #[error("no spindle has a label of the array")]
    NoLabel,
    /// The log cannot be read.
    #[error("the NVRAM log cannot be read: {0}")]
    Log(LogReadError),
    /// The log lacks records that were durable.
    #[error("the NVRAM log has lost records that were acknowledged, behind record {0}")]
    LogBreaksOff(u64),
    /// A redo record cannot be applied.
    #[error("a redo record cannot be carried out: {0}")]
    Redo(SpindleWriteError),
    /// More spindles are lost or stale than parity covers.
    #[error("{0} are stale, which is more than parity covers: they were away, or are old copies")]
    Stale(String),
    /// A metadata block can be neither read nor recomputed.
    #[error("block {0} of metadata can be neither read nor computed from the rest of its stripe")]
    MetadataGone(BlockAddress),
    /// A block of the catalog can be neither read nor recomputed.
    #[error("a block of the catalog can be neither read nor computed from the rest of its stripe")]
    CatalogGone,
    /// The catalog does not have its expected contents.
    #[error(transparent)]
    Catalog(#[from] DiskFormatError),
    /// The array cannot be restored from what was read.
    #[error(transparent)]
    Restore(#[from] RestoreError),
    /// The configuration does not fit an in-place array.
    #[error(transparent)]
    InPlace(#[from] ArrayConfigError),
    /// The LUN of an in-place array is not a whole number of 4 KiB blocks.
    #[error("a LUN of {0} sectors: in place it must be of whole blocks, which have 8")]
    LunOfParts(u64),
    /// A half of the log is too small for the largest record.
    #[error("a half of the NVRAM log's {what} has {half_bytes} bytes, and needs at least {needed}")]
    LogTooSmall {
        /// The kind of halves.
        what: &'static str,
        /// Size of a half, in bytes.
        half_bytes: u64,
        /// Size needed, in bytes.
        needed: u64,
    },
    /// The array stopped while it replayed its log.
    #[error("the array stopped while it caught up with its log: {0}")]
    Stopped(String),
}

impl RestartError {
    /// Returns whether the restart was refused because of what the devices hold, before anything was written.
    #[must_use]
    pub fn is_refusal(&self) -> bool {
        match self {
            Self::NoSuperblock
            | Self::NoInitializationMap
            | Self::NoLabel
            | Self::LogBreaksOff(_)
            | Self::Stale(_)
            | Self::Log(LogReadError::Differ(_))
            | Self::LunOfParts(_)
            | Self::LogTooSmall { .. } => true,
            Self::Log(LogReadError::Device(_))
            | Self::Redo(_)
            | Self::MetadataGone(_)
            | Self::CatalogGone
            | Self::Catalog(_)
            | Self::Restore(_)
            | Self::InPlace(_)
            | Self::Stopped(_) => false,
        }
    }
}

/// Returns the newest superblock of the array of `label`, over all its spindles.
pub fn newest_superblock<D: Devices>(devices: &mut D, label: &Label) -> Option<Superblock> {
    // At most 64 members.
    let all = 0..label.members.len() as u16;
    let slots = blocks_of_spindles(devices, label, all, SUPERBLOCK_SLOTS);
    Superblock::newest(slots.iter().map(Vec::as_slice), label.array)
}

/// Returns the spindles that `label` marks as present and that are [stale](Superblock::is_stale_beside) beside
/// `newest`, the newest superblock. A spindle without a valid superblock is not among them.
pub fn stale_spindles<D: Devices>(
    devices: &mut D,
    label: &Label,
    newest: &Superblock,
) -> Vec<SpindleIndex> {
    // At most 64 members.
    let all = 0..label.members.len() as u16;
    let is_stale = |position: &u16| {
        let own = *position..*position + 1;
        let slots = blocks_of_spindles(devices, label, own, SUPERBLOCK_SLOTS);
        let own = Superblock::newest(slots.iter().map(Vec::as_slice), label.array);
        own.is_some_and(|own| own.is_stale_beside(newest))
    };
    all.filter(is_stale).map(SpindleIndex).collect()
}

/// Returns `label` with these spindles marked as failed.
fn without_spindles(label: &Label, spindles: &[SpindleIndex]) -> Label {
    let mut label = label.clone();
    for spindle in spindles {
        label.members[spindle.index()].state = MemberState::Failed;
    }
    label
}

/// Returns `label` as the next start makes it: with stale spindles marked as failed.
pub(crate) fn without_stale_spindles<D: Devices>(
    devices: &mut D,
    label: &Label,
    newest: &Superblock,
) -> Label {
    without_spindles(label, &stale_spindles(devices, label, newest))
}

/// The spindles of a parity group, and its initialization map.
type MapOfGroup = (Range<u16>, InitializationMap);

/// The initialization map of each parity group of the array of `label`, from all its spindles, with the positions of
/// those; none if the array has none. An in-place array has one map.
///
/// # Errors
/// [`RestartError::NoInitializationMap`] if every copy of one is gone, or every copy that is as new as the newest
/// superblock says.
pub fn initialization_maps_of<D: Devices>(
    devices: &mut D,
    label: &Label,
) -> Result<Vec<MapOfGroup>, RestartError> {
    if label.incompatible_features & FEATURE_INITIALIZATION_MAP == 0 {
        return Ok(Vec::new());
    }
    let superblock = newest_superblock(devices, label);
    let named = superblock.map_or([0; MAXIMUM_GROUPS], |superblock| superblock.map_sequences);
    let groups = label.spindles_of_groups().into_iter().zip(named);
    let map = |(spindles, named): (Range<u16>, u64)| {
        let slots = blocks_of_spindles(devices, label, spindles.clone(), INITIALIZATION_MAP_SLOTS);
        let map = InitializationMap::union(slots.iter().map(Vec::as_slice), label.array);
        // An older map would take zones for blank that hold data.
        let map = map.filter(|map| map.sequence >= named);
        Ok((spindles, map.ok_or(RestartError::NoInitializationMap)?))
    };
    groups.map(map).collect()
}

/// These blocks of those of the spindles that are present, if they can be read.
fn blocks_of_spindles<D: Devices>(
    devices: &mut D,
    label: &Label,
    spindles: Range<u16>,
    blocks: [u64; 2],
) -> Vec<Vec<u8>> {
    let mut read = Vec::new();
    for position in spindles {
        if label.members[usize::from(position)].state != MemberState::Present {
            continue;
        }
        for block in blocks {
            let offset = block * BLOCK_BYTES as u64;
            let device = DeviceIndex(position);
            read.extend(OfflineArray::read_raw(devices, device, offset, BLOCK_BYTES).ok());
        }
    }
    read
}

/// Returns `label` as a spindle has it. The newest label may be the log's, which has a different device size; the
/// place of a second label copy follows from the size.
fn label_of_spindles<D: Devices>(devices: &mut D, label: &Label) -> Option<Label> {
    if label.kind == DeviceKind::Spindle {
        return Some(label.clone());
    }
    let mut labels = (0..label.members.len() as u16).filter_map(|position| {
        let block = OfflineArray::read_raw(devices, DeviceIndex(position), 0, BLOCK_BYTES).ok()?;
        Label::decode(&block).ok()
    });
    let of_array = |own: &Label| own.array == label.array && own.kind == DeviceKind::Spindle;
    let Label { own, position, kind, device_blocks, .. } = labels.find(of_array)?;
    Some(Label { own, position, kind, device_blocks, ..label.clone() })
}

/// Returns whether a spindle does not answer.
fn is_gone<D: Devices>(devices: &mut D, spindle: SpindleIndex) -> bool {
    let offset = SUPERBLOCK_SLOTS[0] * BLOCK_BYTES as u64;
    let read = OfflineArray::read_raw(devices, DeviceIndex(spindle.0), offset, BLOCK_BYTES);
    matches!(read, Err(IoError::Gone(_)))
}

/// Writes a block to a device that lacks it.
fn write_missing<D: Devices>(
    devices: &mut D,
    device: DeviceIndex,
    block: u64,
    wanted: Buffer,
) -> Result<(), RestartError> {
    let offset = block * BLOCK_BYTES as u64;
    if OfflineArray::read_raw(devices, device, offset, BLOCK_BYTES)
        .is_ok_and(|bytes| bytes == wanted.bytes())
    {
        return Ok(());
    }
    match OfflineArray::write_raw(devices, device, block, wanted) {
        // A missing device is noticed by the first operation that needs it.
        Ok(()) | Err(IoError::Gone(_) | IoError::Unreadable) => Ok(()),
        Err(IoError::NoSpace) => Err(RestartError::Redo(SpindleWriteError::NoSpace)),
    }
}

/// Writes the label to every device that lacks it.
fn propagate_labels<D: Devices>(devices: &mut D, label: &Label) -> Result<(), RestartError> {
    for (device, label) in label.of_devices() {
        // A label that cannot be encoded could not have been created.
        let Ok(wanted) = label.encode() else { continue };
        for block in [0, label.device_blocks - 1] {
            write_missing(devices, device, block, wanted.clone())?;
        }
    }
    Ok(())
}

/// Marks the spindles that do not answer as failed in `label`, durably, unless the array cannot do without them.
fn record_losses<D: Devices>(
    offline: &mut OfflineArray<'_, D>,
    label: &mut Label,
    survives: &dyn Fn(&[SpindleIndex]) -> bool,
) -> Result<(), RestartError> {
    // Another one may be lost meanwhile.
    while offline.waits_for_labels() {
        let spindles = (0..label.members.len() as u16).map(SpindleIndex);
        let lost: Vec<SpindleIndex> = spindles.filter(|one| !offline.is_present(*one)).collect();
        if !survives(&lost) {
            let devices: Vec<DeviceIndex> = lost.iter().map(|one| DeviceIndex(one.0)).collect();
            return Err(RestartError::Stopped(format!(
                "{} are lost together, which is more than parity covers",
                label.names_of(&devices)
            )));
        }
        for spindle in lost {
            let member = &mut label.members[spindle.index()];
            if member.state == MemberState::Present {
                member.state = MemberState::Failed;
            }
        }
        label.sequence += 1;
        propagate_labels(offline.devices_mut(), label)?;
        offline.on_losses_recorded();
    }
    Ok(())
}

/// Marks stale spindles as failed in `label`, durably, before a newer superblock hides that they are stale.
fn record_stale<D: Devices>(
    devices: &mut D,
    label: &mut Label,
    newest: &Superblock,
    survives: &dyn Fn(&[SpindleIndex]) -> bool,
) -> Result<(), RestartError> {
    let stale = stale_spindles(devices, label, newest);
    if stale.is_empty() {
        return Ok(());
    }
    let marked = without_spindles(label, &stale);
    let members = (0..).map(SpindleIndex).zip(&marked.members);
    let is_lost = |(spindle, member): (SpindleIndex, &Member)| {
        (member.state != MemberState::Present || is_gone(devices, spindle)).then_some(spindle)
    };
    if !survives(&members.filter_map(is_lost).collect::<Vec<_>>()) {
        let stale: Vec<DeviceIndex> = stale.iter().map(|one| DeviceIndex(one.0)).collect();
        return Err(RestartError::Stale(label.names_of(&stale)));
    }
    *label = Label { sequence: label.sequence + 1, ..marked };
    propagate_labels(devices, label)
}

/// Writes the newest label, the newest superblock and the initialization map to every device that lacks them. When the
/// power failed, they may have been on some devices only, and those may be lost next; but from now on, blocks that only
/// older ones need are overwritten.
fn propagate_newest<D: Devices>(
    devices: &mut D,
    label: &Label,
    superblock: &Superblock,
    maps: &[MapOfGroup],
) -> Result<(), RestartError> {
    propagate_labels(devices, label)?;
    for (position, member) in (0..).zip(&label.members) {
        if member.state == MemberState::Present {
            let device = DeviceIndex(position);
            write_missing(devices, device, superblock.slot(), superblock.encode())?;
            let of_group = maps.iter().find(|(spindles, _)| spindles.contains(&position));
            if let Some((_, map)) = of_group {
                write_missing(devices, device, map.slot(), map.encode())?;
            }
        }
    }
    Ok(())
}

impl<'a, D: Devices> OfflineArray<'a, D> {
    /// Returns the devices of an array that is not running, as a restart would see them: with the redo records that
    /// the newest superblock may not cover, and that superblock. Devices are the spindles by position, closed if
    /// missing, then those of the log; `label` is the newest label, as a spindle has it. Nothing is written.
    ///
    /// # Errors
    /// If there is no superblock, or the log cannot be read.
    pub fn as_restarted(
        devices: &'a mut D,
        label: &Label,
    ) -> Result<(Self, Superblock), RestartError> {
        let superblock = newest_superblock(devices, label).ok_or(RestartError::NoSuperblock)?;
        let label = &without_stale_spindles(devices, label, &superblock);
        let redo = log_of(devices, label, &superblock).map_err(RestartError::Log)?.redo;
        let store = store_of(devices, label)?;
        let mut offline = Self::new(devices, store);
        for record in redo {
            offline.overlay_redo(record, superblock.consistency_point + 1);
        }
        Ok((offline, superblock))
    }
}

/// What the superblock of a write-anywhere array leads to.
pub struct ArrayTree {
    /// What its volumes, LUNs and snapshots are.
    pub catalog: Catalog,
    /// The configuration that it has with them, and with the parity groups that it had then.
    pub config: WriteAnywhereConfig,
    /// The blocks of the catalog.
    pub catalog_blocks: CatalogBlocks,
    /// The blocks that the root leads to, and those of the catalog, by key.
    pub blocks: Vec<(u32, Pointer)>,
    /// For each volume, which snapshots hold which blocks; `None` without snapshots.
    pub histories: Vec<Option<History>>,
}

impl ArrayTree {
    /// Every block in use, with its contents as its checksum entry has them. A block that clones share comes several
    /// times.
    pub fn in_use(&self) -> impl Iterator<Item = (BlockContents, Pointer)> {
        let keys = self.config.block_keys();
        let dead = self.histories.iter().flatten().flat_map(History::dead);
        let active = self.blocks.iter().map(move |(key, pointer)| (keys.holds(*key), *pointer));
        active.chain(dead.map(|dead| (dead.address.holds(), dead.pointer)))
    }
}

/// Reads the catalog of a write-anywhere array; `config` is that which it was created with, and has the parity groups
/// that were added since. Returns the catalog's blocks, too.
///
/// # Errors
/// If a block of it is missing, or does not have its expected contents.
pub fn read_catalog<D: Devices>(
    offline: &mut OfflineArray<'_, D>,
    config: &WriteAnywhereConfig,
    superblock: &Superblock,
) -> Result<(Catalog, CatalogBlocks), RestartError> {
    let pointers = superblock.catalog_pointers();
    if pointers.is_empty() {
        return Ok((Catalog::first(config), Vec::new()));
    }
    let read = offline.read_pointed(&config.placed_groups(), &pointers);
    let whole = read.into_iter().map(|bytes| bytes.map(Vec::into_boxed_slice));
    let blocks = whole.collect::<Option<Vec<_>>>().ok_or(RestartError::CatalogGone)?;
    Ok((Catalog::decode(&blocks)?, blocks))
}

/// Reads every block that the root and the snapshots of a write-anywhere array lead to. What several of them share is
/// read once. `config` is as in [`read_catalog`].
///
/// # Errors
/// If a metadata block is missing, or does not have its expected contents.
pub fn read_tree<D: Devices>(
    offline: &mut OfflineArray<'_, D>,
    config: &WriteAnywhereConfig,
    superblock: &Superblock,
) -> Result<ArrayTree, RestartError> {
    let (catalog, catalog_blocks) = read_catalog(offline, config, superblock)?;
    let config = catalog.config(config).with_first_groups(superblock.groups());
    let keys = config.block_keys();
    let mut histories = Vec::new();
    for (number, volume) in (0..).map(VolumeId).zip(&catalog.volumes) {
        let mut history = History::default();
        for snapshot in &volume.snapshots {
            history.begin_image(snapshot.number);
            // They are those of an array with this volume alone.
            let keys = snapshot.keys(&config);
            history.keep(|address| keys.key_of(VolumeId(0), address).is_some());
            let inode = keys.inode_of(VolumeId(0));
            if history.tell(BlockAddress::inode(), snapshot.inode())
                && let Some(pointer) = snapshot.inode()
            {
                read_below(offline, &config, &keys, (inode, pointer), &mut |key, pointer| {
                    let address = keys.address_of(key);
                    address.is_some_and(|address| history.tell(address, pointer))
                })?;
            } else if snapshot.inode().is_none() {
                history.keep(|_| false);
            }
        }
        histories.push(volume.snapshots.last().map(|last| {
            history.begin_image(last.number + 1);
            history.keep(|address| keys.key_of(number, address).is_some());
            history
        }));
    }
    let mut blocks: Vec<_> = keys.catalog().zip(superblock.catalog_pointers()).collect();
    let mut seen = vec![false; catalog.volumes.len()];
    if let Some(root) = keys.root().zip(superblock.root_pointer()) {
        blocks.push(root);
        read_below(offline, &config, &keys, root, &mut |key, pointer| {
            if key < keys.indirect().end
                && let volume = keys.volume_of(key)
                && let Some(history) = &mut histories[volume.0 as usize]
                && let Some(address) = keys.address_of(key)
            {
                seen[volume.0 as usize] |= address == BlockAddress::inode() && pointer.is_some();
                return history.tell(address, pointer);
            }
            blocks.extend(pointer.map(|pointer| (key, pointer)));
            pointer.is_some()
        })?;
    }
    for ((volume, history), seen) in (0..).map(VolumeId).zip(&mut histories).zip(seen) {
        let Some(history) = history else { continue };
        if !seen {
            history.keep(|_| false);
        }
        let of_history = history
            .blocks()
            .filter_map(|(address, pointer, _)| Some((keys.key_of(volume, address)?, pointer)));
        blocks.extend(of_history);
    }
    // The volumes' numbers are assigned in the order of the files.
    blocks.sort_unstable_by_key(|(key, _)| *key);
    Ok(ArrayTree { catalog, config, catalog_blocks, blocks, histories })
}

/// Reads every block that a snapshot references, by its address. `config` is that of the array.
///
/// # Errors
/// If a metadata block is missing, or does not have its expected contents.
pub fn read_snapshot<D: Devices>(
    offline: &mut OfflineArray<'_, D>,
    config: &WriteAnywhereConfig,
    snapshot: &CatalogSnapshot,
) -> Result<Vec<(BlockAddress, Pointer)>, RestartError> {
    let mut blocks = Vec::new();
    if let Some(inode) = snapshot.inode() {
        let keys = snapshot.keys(config);
        blocks.push((BlockAddress::inode(), inode));
        read_below(
            offline,
            config,
            &keys,
            (keys.inode_of(VolumeId(0)), inode),
            &mut |key, pointer| {
                blocks.extend(keys.address_of(key).zip(pointer));
                true
            },
        )?;
    }
    Ok(blocks)
}

/// Reads the pointer blocks from `top` on, level by level. `tell` is called with each key that they have a pointer for,
/// or none, and returns whether to read below it.
fn read_below<D: Devices>(
    offline: &mut OfflineArray<'_, D>,
    config: &WriteAnywhereConfig,
    keys: &BlockKeys,
    top: (u32, Pointer),
    tell: &mut dyn FnMut(u32, Option<Pointer>) -> bool,
) -> Result<(), RestartError> {
    let mut level = vec![top];
    while !level.is_empty() {
        let pointers: Vec<Pointer> = level.iter().map(|(_, pointer)| *pointer).collect();
        let read = offline.read_pointed(&config.placed_groups(), &pointers);
        let mut next = Vec::new();
        for ((key, _), bytes) in level.iter().zip(read) {
            let address = keys.pointer_address(*key);
            let bytes = bytes.ok_or(RestartError::MetadataGone(address))?;
            for (child, pointer) in keys.children_in(*key, &bytes)? {
                let goes_on = tell(child, pointer) && keys.has_pointers(child);
                next.extend(pointer.filter(|_| goes_on).map(|pointer| (child, pointer)));
            }
        }
        level = next;
    }
    Ok(())
}

/// Returns the store of the array of `label`. Spindles that failed or are being rebuilt are not present in it.
///
/// # Errors
/// [`RestartError::NoInitializationMap`].
pub fn store_of<D: Devices>(devices: &mut D, label: &Label) -> Result<Store, RestartError> {
    Ok(store_with(label, initialization_maps_of(devices, label)?))
}

fn store_with(label: &Label, maps: Vec<MapOfGroup>) -> Store {
    let store = Store::new(label.array.tag(), label.members.len() as u16, CHECKSUM_CACHE_BYTES);
    let mut store = store.with_initialization_maps(maps);
    for (position, member) in (0..).map(SpindleIndex).zip(&label.members) {
        if member.state != MemberState::Present {
            store.drop_spindle(position);
        }
    }
    store.on_losses_recorded();
    store
}

/// The parameters of a restart.
pub struct RestartOptions {
    /// The label with the highest sequence.
    pub label: Label,
    /// Size of the LUN, in sectors.
    pub lun_sectors: u64,
    /// Whether to start even if the log has lost durable records, with the records before them.
    pub accept_lost_writes: bool,
}

impl RestartOptions {
    /// A restart of the array of this label that loses no durable record.
    #[must_use]
    pub fn new(label: Label, lun_sectors: u64) -> Self {
        Self { label, lun_sectors, accept_lost_writes: false }
    }
}

/// Starts a write-anywhere array and replays its log. Devices are the spindles by position, then those of the log;
/// closed if missing. A new array has a superblock without a root.
///
/// # Errors
/// If the array cannot run; no data is lost then.
pub fn restart_write_anywhere<D: Devices>(
    devices: D,
    beginning: &RestartOptions,
    config: &WriteAnywhereConfig,
) -> Result<RunningArray<D, WriteAnywhere<Data>>, RestartError> {
    let groups = config.placed_groups();
    restart(devices, beginning, &|lost| config.survives(lost), |offline, superblock| {
        let tree = read_tree(offline, config, superblock)?;
        let ArrayTree { catalog, config: before, catalog_blocks, blocks, histories } = tree;
        let keys = before.block_keys();
        let bitmap: Vec<(u32, Pointer)> = blocks
            .iter()
            .filter(|(key, _)| keys.aggregate_bitmap().contains(key))
            .copied()
            .collect();
        let mut array = if before.groups.len() == config.groups.len() {
            WriteAnywhere::restored(before, blocks, catalog_blocks, &histories)?
        } else {
            let config = catalog.config(config);
            WriteAnywhere::restored_with_added_groups(
                config,
                &keys,
                blocks,
                catalog_blocks,
                &histories,
            )?
        };
        // Held-back blocks are free now, but the bitmap on the spindles marks them as in use.
        if superblock.root.held_back_blocks > 0 {
            let pointers: Vec<Pointer> = bitmap.iter().map(|(_, pointer)| *pointer).collect();
            let read = offline.read_pointed(&groups, &pointers);
            for ((key, _), bytes) in bitmap.iter().zip(read) {
                array.bitmap_is(*key, bytes.as_deref());
            }
        }
        Ok((array, Some(catalog)))
    })
}

/// Starts an in-place array and replays its log. Devices are those of [`restart_write_anywhere`]. The log's halves
/// are those of the log device.
///
/// The layout gives every block its place, so the superblock has no root: it records where the log begins. Data and
/// parity of a stripe go to their spindles under a redo record, which a restart applies again. A lost spindle stays
/// lost until it is replaced: the distributed reserve is not used, because no metadata on the spindles would record
/// its contents.
///
/// No pointer tells what a block must contain. Its stripe does: the tag of parity holds the
/// [sum](crate::format::StripeSum) of the data's checksums and the number of the redo record of the write. A write
/// that a drive reported as done and never did is therefore detected when the block is read, however long ago that
/// was.
///
/// # Errors
/// If the array cannot run; no data is lost then.
pub fn restart_in_place<D: Devices>(
    devices: D,
    beginning: &RestartOptions,
    config: &InPlaceConfig,
) -> Result<RunningArray<D, InPlace<Data>>, RestartError> {
    let label = &beginning.label;
    let end_sector = config.end_sector(GroupIndex(0));
    if !end_sector.is_multiple_of(BLOCK_SECTORS) {
        return Err(RestartError::LunOfParts(end_sector));
    }
    // An extent lies within one chunk, and its parity is as long.
    let chunk_blocks = config.single_group().layout.unit_sectors().div_ceil(BLOCK_SECTORS) as usize;
    let needed = RecordHeader::record_bytes(redo_data_bytes(2 * chunk_blocks)) as u64;
    let half_bytes = label.redo_half_blocks * BLOCK_BYTES as u64;
    if half_bytes < needed {
        return Err(RestartError::LogTooSmall { what: "redo records", half_bytes, needed });
    }
    restart(devices, beginning, &|lost| config.survives(lost), |_, _| {
        let log = Some(label.log_layout().size());
        Ok((InPlace::new(InPlaceConfig { log, ..config.clone() })?, None))
    })
}

/// Starts the array that `make` builds from the contents of a superblock, like [`restart_write_anywhere`]. `survives`
/// tells whether the array has all data without these spindles.
fn restart<D: Devices, A: LiveArray>(
    mut devices: D,
    beginning: &RestartOptions,
    survives: &dyn Fn(&[SpindleIndex]) -> bool,
    make: impl FnOnce(
        &mut OfflineArray<'_, D>,
        &Superblock,
    ) -> Result<(A, Option<Catalog>), RestartError>,
) -> Result<RunningArray<D, A>, RestartError> {
    let RestartOptions { label, lun_sectors, accept_lost_writes } = beginning;
    let label = &mut label_of_spindles(&mut devices, label).ok_or(RestartError::NoLabel)?;
    let layout = label.log_layout();
    let (half_bytes, needed) =
        (layout.half_bytes(), LogLayout::accounted_bytes(BLOCK_BYTES as u64));
    if half_bytes < needed {
        return Err(RestartError::LogTooSmall { what: "host records", half_bytes, needed });
    }
    let superblock = newest_superblock(&mut devices, label).ok_or(RestartError::NoSuperblock)?;
    let RecoveredLog { redo, host, start, breaks_off, repairs, mut findings, .. } =
        log_of(&mut devices, label, &superblock).map_err(RestartError::Log)?;
    if breaks_off && !accept_lost_writes {
        let covered = superblock.log_start.saturating_sub(1);
        let last = host.last().map_or(covered, HostRecord::sequence);
        return Err(RestartError::LogBreaksOff(last));
    }

    let maps = initialization_maps_of(&mut devices, label)?;
    record_stale(&mut devices, label, &superblock, survives)?;
    propagate_newest(&mut devices, label, &superblock, &maps)?;
    equalize_logs(&mut devices, label, repairs, &mut findings)?;
    let tag = label.array.tag();
    let mut store = store_with(label, maps);
    for (position, member) in (0..).map(SpindleIndex).zip(&label.members) {
        // A device may be closed although the labels mark it as present.
        if member.state == MemberState::Present && is_gone(&mut devices, position) {
            store.drop_spindle(position);
        }
    }
    let mut offline = OfflineArray::new(&mut devices, store);
    let any_redo = !redo.is_empty();
    for record in redo {
        let blocks: Vec<_> = record
            .blocks
            .into_iter()
            .map(|block| {
                let place = SpindleBlock { spindle: block.spindle, dbn: block.dbn };
                (place, block.block_tag, block.bytes)
            })
            .collect();
        let consistency_point = superblock.consistency_point + 1;
        let mut written = offline.write_blocks(&blocks, consistency_point);
        while written == Err(SpindleWriteError::SpindleLost) && offline.waits_for_labels() {
            record_losses(&mut offline, label, survives)?;
            written = offline.write_blocks(&blocks, consistency_point);
        }
        written.map_err(RestartError::Redo)?;
    }
    let (array, catalog) = make(&mut offline, &superblock)?;
    let mut store = offline.into_store();
    for (position, member) in (0..).map(SpindleIndex).zip(&label.members) {
        if member.state == MemberState::Rebuilding {
            store.admit_spindle(position);
        }
    }

    let logs: Vec<DeviceIndex> = label.present_logs().map(|(_, device)| device).collect();
    let log = Log::new(&logs, layout, tag, start);
    let now_ns = devices.now_ns();
    let mut engine =
        LiveArrayEngine::new(array, store, log, label.clone(), superblock, *lun_sectors, now_ns);
    if let Some(catalog) = catalog {
        engine.set_catalog(catalog);
    }
    engine.set_replaying(true);
    let mut running = RunningArray::new(devices, engine).with_log_findings(findings);
    if any_redo {
        // New records overwrite the old ones, and may be torn where those were whole. If only some of the old records
        // were then applied again, stripes would be left in a state that they never had.
        running.rewrite_superblock().map_err(RestartError::Stopped)?;
    }
    for record in host {
        let (file, request) = match record {
            HostRecord::Write { file, first_sector, data, .. } => {
                (file, HostRequest::Write { first_sector, data })
            }
            HostRecord::Unmap { file, first_sector, sectors, .. } => {
                (file, HostRequest::Zero(first_sector..first_sector + sectors))
            }
        };
        running
            .ask(RequestId(0), TargetId(file), request)
            .map_err(|error| RestartError::Stopped(error.to_string()))?;
    }
    running.catch_up().map_err(RestartError::Stopped)?;
    running.engine_mut().set_replaying(false);
    running.seal(false).map_err(RestartError::Stopped)?;
    Ok(running)
}
