//! The state of an array, inspected without opening it for use.

use std::fs::File;
use std::io::{Seek, SeekFrom};
use std::os::unix::fs::{FileExt, FileTypeExt};
use std::path::{Path, PathBuf};

use strewn_array::write_anywhere::PlacedGroup;
use strewn_array::write_anywhere::metadata::{Pointer, checksum};
use strewn_raid::{Dbn, SpindleIndex, SpindleSet, StripeBytes};

use super::diagnosis::{Diagnosis, has_initialization_map, newest_label, newest_superblock};
use super::error::AssemblyError;
use super::location::ArrayLocation;
use super::probe::{ProbeResult, probe_all};
use super::problem::{DeviceProblem, DeviceProblemKind};
use crate::Configuration;
use crate::administration::Inventory;
use crate::catalog::Catalog;
use crate::configuration::{ArrayConfig, ArrayLayout};
use crate::device::{BLOCK_BYTES, OpenDevice, OpenDeviceError, is_whole_blocks, remedy_of_system};
use crate::format::{Label, Member, MemberState, Superblock, device_block};
use crate::stripe_compute::compute_missing;

/// The state of an array, from its devices.
#[derive(Debug, Clone)]
pub struct Status {
    /// The label with the highest sequence.
    pub label: Label,
    /// The configuration of the array.
    pub configuration: Configuration,
    /// Whether it can start.
    pub condition: Condition,
    /// Its spindles by position.
    pub spindles: Vec<MemberStatus>,
    /// The devices of its log: one, or two if it is mirrored.
    pub logs: Vec<MemberStatus>,
    /// The newest valid superblock; number 0 if the array was never started. `None` if all are damaged.
    pub superblock: Option<Superblock>,
    /// What the volumes, LUNs and snapshots are; `None` for an in-place array, or if it cannot be read.
    pub catalog: Option<Catalog>,
    /// Whether a spindle has a valid initialization map, or the array has none.
    pub has_initialization_map: bool,
    /// Everything that is wrong.
    pub problems: Vec<DeviceProblem>,
    /// If another process has the array open: the refused device, and the process if it is known.
    pub in_use: Option<(PathBuf, Option<u32>)>,
}

impl Status {
    /// Returns the volumes, LUNs and snapshots, without what only a running array knows. `None` if no spindle has a
    /// valid superblock, or the catalog cannot be read from the spindles that are there.
    #[must_use]
    pub fn inventory(&self) -> Option<Inventory> {
        match &self.catalog {
            Some(catalog) => Some(Inventory::at_rest(catalog)),
            None if matches!(self.configuration.layout, ArrayLayout::InPlace(_)) => {
                Some(Inventory::in_place(self.configuration.lun_bytes()))
            }
            None => None,
        }
    }
}

/// Whether an array can start.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Condition {
    /// Nothing is missing.
    Whole,
    /// Redundancy covers what is missing.
    Degraded,
    /// Too much is missing, or no spindle says where its data is.
    Unusable,
}

/// A spindle of an array, or a device of its log.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MemberStatus {
    /// Its device, if one was found that is reliable or being rebuilt.
    pub path: Option<PathBuf>,
    /// Its state in the newest label.
    pub state: MemberState,
}

/// Inspects the array at a location. Nothing is written, and no lock is held except briefly, to tell whether the
/// array is in use. If another process is changing the array, the result may mix old and new.
///
/// # Errors
/// If there is no array, or its label cannot be understood.
pub fn look(place: &ArrayLocation) -> Result<Status, AssemblyError> {
    let named = place.named()?;
    let open = |path: &Path| open_to_read(path);
    let ProbeResult { probed, problems, devices } = probe_all(&named, open, |file: &File| file)?;
    let mut diagnosis = Diagnosis::of(&probed, problems)
        .map_err(|problems| AssemblyError::NoArray { place: place.display(), problems })?;
    let label = newest_label(&probed, &diagnosis, place)?;
    let mut ours = diagnosis.spindles.iter().chain(&diagnosis.logs).flatten();
    let in_use = ours.find_map(|at| user_of(&probed[*at].path));
    if in_use.is_none() {
        diagnosis.leave_out_stale(&probed, &label);
    }
    let configuration = Configuration::from_toml(&label.configuration).map_err(|source| {
        AssemblyError::Configuration { path: probed[diagnosis.newest].path.clone(), source }
    })?;
    let lost = diagnosis.lost(&label);
    let superblock = newest_superblock(&probed, &diagnosis.spindles, &label);
    let spindle_files: Vec<Option<&File>> =
        diagnosis.spindles.iter().map(|at| at.map(|at| &devices[at])).collect();
    let has_map = has_initialization_map(&probed, &diagnosis.spindles, &label);
    let condition = match lost.len() {
        _ if superblock.is_none() || !has_map => Condition::Unusable,
        _ if diagnosis.logs.iter().all(Option::is_none) || !configuration.survives(&lost) => {
            Condition::Unusable
        }
        0 if !diagnosis.logs.contains(&None) => Condition::Whole,
        _ => Condition::Degraded,
    };
    let path = |at: usize| probed[at].path.clone();
    let status_of = |found: &[Option<usize>], members: &[Member]| -> Vec<MemberStatus> {
        let status = |(at, member): (&Option<usize>, &Member)| MemberStatus {
            path: at.map(path),
            state: member.state,
        };
        found.iter().zip(members).map(status).collect()
    };
    Ok(Status {
        condition,
        spindles: status_of(&diagnosis.spindles, &label.members),
        logs: status_of(&diagnosis.logs, &label.logs),
        catalog: superblock
            .as_ref()
            .and_then(|superblock| catalog_of(&configuration, superblock, &spindle_files)),
        superblock,
        has_initialization_map: has_map,
        in_use,
        label,
        configuration,
        problems: diagnosis.problems,
    })
}

/// Reads the catalog of a write-anywhere array. Blocks that are missing are computed from the rest of their stripes.
fn catalog_of(
    configuration: &Configuration,
    superblock: &Superblock,
    spindles: &[Option<&File>],
) -> Option<Catalog> {
    let Ok(ArrayConfig::WriteAnywhere(config)) = configuration.array() else { return None };
    let pointers = superblock.catalog_pointers();
    if pointers.is_empty() {
        return Some(Catalog::first(&config));
    }
    let groups = config.placed_groups();
    let read_at = |spindle: SpindleIndex, dbn: Dbn| {
        let file = (*spindles.get(spindle.index())?)?;
        let mut bytes = vec![0; BLOCK_BYTES];
        file.read_exact_at(&mut bytes, device_block(dbn) * BLOCK_BYTES as u64).ok()?;
        Some(bytes)
    };
    let read = |pointer: &Pointer| {
        let placed = PlacedGroup::with_block(&groups, pointer.vbn)?;
        let place = placed.locate(pointer.vbn);
        let is_right = |bytes: &Vec<u8>| checksum(bytes) == pointer.checksum;
        let there = read_at(place.spindle, place.dbn).filter(is_right);
        let computed = || {
            let read_other = |spindle| {
                let other = SpindleIndex(spindle);
                read_at(Some(other).filter(|other| *other != place.spindle)?, place.dbn)
            };
            let stripe: Vec<Option<Vec<u8>>> = placed.spindles().map(read_other).collect();
            let lost = (0..).zip(&stripe).filter(|(_, block)| block.is_none());
            let lost = lost.fold(SpindleSet::EMPTY, |lost, (spindle, _)| {
                lost.union(SpindleSet::single(SpindleIndex(spindle)))
            });
            let group = &placed.group;
            let own = SpindleIndex(place.spindle.0 - placed.first_spindle);
            let (wanted, shape) = (SpindleSet::single(own), group.stripe_shape());
            let member = strewn_raid::Member(own.0 as u8);
            let block_of = |member: strewn_raid::Member| stripe.get(member.index())?.as_deref();
            let is_right = |computed: &StripeBytes| {
                computed.block(member).is_some_and(|bytes| checksum(bytes) == pointer.checksum)
            };
            let (wanted, lost) = (group.members_on(wanted), group.members_on(lost));
            let (_, computed) = compute_missing(shape, wanted, lost, block_of, is_right)?;
            computed.block(member).map(<[u8]>::to_vec)
        };
        there.or_else(computed).map(Vec::into_boxed_slice)
    };
    let blocks = pointers.iter().map(read).collect::<Option<Vec<_>>>()?;
    Catalog::decode(&blocks).ok()
}

/// Opens a device to read it; a problem of this device alone is returned as such.
///
/// # Errors
/// If this process has no descriptor left, or the machine no memory. A device without permission has a problem: the
/// others can be looked at.
fn open_to_read(path: &Path) -> Result<Result<File, DeviceProblemKind>, OpenDeviceError> {
    let open = || {
        let kind = std::fs::metadata(path)?.file_type();
        // Opening a pipe would wait for its writer.
        if !kind.is_file() && !kind.is_block_device() {
            return Ok(Err(DeviceProblemKind::not_storage()));
        }
        let mut file = File::open(path)?;
        Ok(match file.seek(SeekFrom::End(0))? {
            // As an array that starts has it.
            bytes if !is_whole_blocks(bytes, kind.is_block_device()) => {
                Err(DeviceProblemKind::not_blocks(bytes))
            }
            _ => Ok(file),
        })
    };
    open().or_else(|source: std::io::Error| {
        Ok(Err(match source.kind() {
            std::io::ErrorKind::NotFound => DeviceProblemKind::Missing,
            kind if kind != std::io::ErrorKind::PermissionDenied
                && remedy_of_system(&source).is_some() =>
            {
                let path = path.to_owned();
                return Err(OpenDeviceError::System { path, action: "open", source });
            }
            _ => DeviceProblemKind::Unreadable(format!("cannot open it: {source}")),
        }))
    })
}

/// Returns the device and process if another process has the device open.
fn user_of(path: &Path) -> Option<(PathBuf, Option<u32>)> {
    match OpenDevice::new().writable(false).open(path) {
        Err(OpenDeviceError::InUse { path, holder }) => Some((path, holder)),
        _ => None,
    }
}
