//! Verifies the devices of an array that is not running.

mod in_place;
mod parity;
mod tree;

use std::collections::BTreeMap;
use std::fmt;
use std::ops::Range;

use strewn_array::BlockContents;
use strewn_array::in_place::InPlaceConfig;
use strewn_array::write_anywhere::WriteAnywhereConfig;
use strewn_raid::{ParityCheck, Vbn};

use crate::configuration::ArrayConfig;
use crate::device::{BLOCK_BYTES, DeviceIndex, Devices, IoError};
use crate::format::{DeviceRole, Label, MemberState, SUPERBLOCK_SLOTS, Superblock};
use crate::log::{LogDeviceFinding, RedoRecord};
use crate::offline::{OfflineArray, SpindleBlock};
use crate::restart::{log_of, newest_superblock, store_of, without_stale_spindles};
use strewn_raid::SpindleIndex;

/// The result of a check.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct CheckReport {
    /// Everything that is inconsistent.
    pub findings: Vec<Inconsistency>,
    /// What lacks the last label or superblock, whose writing was interrupted. Nothing is wrong with that: a start
    /// writes it everywhere.
    pub interrupted: Vec<Inconsistency>,
    /// Blocks reachable from the root and the snapshots. For an in-place array, all blocks written in the stripes of
    /// its LUN, parity included.
    pub blocks: u64,
    /// Blocks in use that could not be read because their spindles are missing.
    pub blocks_missing: u64,
    /// Stripes, of one block per spindle, whose parity was verified.
    pub stripes: u64,
    /// Blocks of redo records that count as written, because a restart would write them.
    pub redo_blocks: u64,
}

/// An inconsistency, with its place.
#[derive(Debug, Clone, PartialEq)]
pub enum Inconsistency {
    /// A label is damaged, or not the newest.
    Label {
        /// Device with the label.
        device: DeviceIndex,
        /// The block of the device.
        block: u64,
        /// What is wrong with it.
        why: String,
    },
    /// No spindle has a superblock.
    NoSuperblock,
    /// No spindle has an initialization map.
    NoInitializationMap,
    /// A spindle does not have the newest superblock.
    Superblock {
        /// Spindle without it.
        spindle: SpindleIndex,
        /// What is wrong with it.
        why: String,
    },
    /// The log lacks records.
    Log {
        /// What is wrong.
        why: String,
    },
    /// A device of a mirrored log lacks records that the other has, or does not answer.
    LogDevice {
        /// Device that lacks them.
        device: DeviceIndex,
        /// Which of the two devices it is.
        role: DeviceRole,
        /// What is wrong.
        why: String,
    },
    /// A block does not match its pointer or, in place, its address.
    Block {
        /// The contents expected there.
        holds: BlockContents,
        /// Where it lies.
        place: SpindleBlock,
        /// What is wrong with it.
        why: String,
    },
    /// The catalog cannot be read, and without it nothing else can.
    Catalog {
        /// What is wrong.
        why: String,
    },
    /// A block can be neither read nor recomputed from its stripe.
    Lost {
        /// The contents expected there.
        holds: BlockContents,
        /// Where it lies.
        place: SpindleBlock,
    },
    /// Two blocks have the same place.
    SharedPlace {
        /// Where both lie.
        vbn: Vbn,
        /// One block.
        one: BlockContents,
        /// The other block.
        other: BlockContents,
    },
    /// A pointer leads out of the aggregate.
    OutOfRange {
        /// The contents of the block.
        holds: BlockContents,
        /// Where the pointer leads.
        vbn: Vbn,
    },
    /// The aggregate's bitmap marks a block in use as free.
    MarkedFree {
        /// Where it lies.
        vbn: Vbn,
        /// What is stored there.
        holds: BlockContents,
    },
    /// The aggregate's bitmap counts a different number of blocks in use than there are.
    InUseCount {
        /// Blocks that the bitmap marks as in use.
        in_bitmap: u64,
        /// Blocks reachable from the root, and those of the superblock.
        reached: u64,
        /// Blocks whose frees are held back, according to the superblock.
        held_back: u64,
    },
    /// The parity of a stripe with blocks in use does not match its blocks.
    Parity {
        /// The spindles of its parity group.
        spindles: Range<u16>,
        /// Stripe within the group, counted from 0.
        stripe: u64,
        /// Which of the parities match.
        check: ParityCheck,
    },
    /// The parity of a stripe of an in-place array does not match its blocks. Each block is consistent in itself, and
    /// no metadata tells which one is stale.
    ParityInPlace {
        /// Where the parity block lies.
        parity: SpindleBlock,
        /// The LUN blocks that it covers.
        of: Vec<u64>,
    },
    /// An unused block in a stripe with blocks in use is bad, so the stripe's parity is unreliable.
    UnusedBlock {
        /// Where the block lies.
        place: SpindleBlock,
        /// What is wrong.
        why: String,
    },
}

impl Inconsistency {
    /// Returns the spindle that the inconsistency is on, or `None` if it spans several, or is on the log.
    #[must_use]
    pub fn spindle(&self) -> Option<SpindleIndex> {
        match self {
            Self::Superblock { spindle, .. } => Some(*spindle),
            Self::Block { place, .. }
            | Self::Lost { place, .. }
            | Self::UnusedBlock { place, .. } => Some(place.spindle),
            _ => None,
        }
    }
}

impl fmt::Display for Inconsistency {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let at = |place: &SpindleBlock| format!("spindle {}, DBN {}", place.spindle.0, place.dbn.0);
        match self {
            Self::Label { device, block, why } => {
                write!(formatter, "device {}, block {block}: label: {why}", device.0)
            }
            Self::NoSuperblock => formatter.write_str("no spindle has a superblock that is whole"),
            Self::NoInitializationMap => {
                formatter.write_str("no spindle has an initialization map that is whole")
            }
            Self::Superblock { spindle, why } => {
                write!(formatter, "spindle {}: superblock: {why}", spindle.0)
            }
            Self::Log { why } => write!(formatter, "the log: {why}"),
            Self::Catalog { why } => write!(formatter, "the catalog: {why}"),
            Self::LogDevice { role, why, .. } => {
                write!(formatter, "{role}: {why}")
            }
            Self::Block { holds, place, why } => {
                write!(formatter, "{}: {holds:?}: {why}", at(place))
            }
            Self::Lost { holds, place } => write!(
                formatter,
                "{}: {holds:?} can be neither read nor computed from its stripe",
                at(place)
            ),
            Self::SharedPlace { vbn, one, other } => {
                write!(formatter, "VBN {}: both {one:?} and {other:?} lie there", vbn.0)
            }
            Self::OutOfRange { holds, vbn } => {
                write!(
                    formatter,
                    "{holds:?} is said to lie at VBN {}, of which there is none",
                    vbn.0
                )
            }
            Self::MarkedFree { vbn, holds } => write!(
                formatter,
                "VBN {} has {holds:?}, and is free by the aggregate's bitmap",
                vbn.0
            ),
            Self::InUseCount { in_bitmap, reached, held_back } => write!(
                formatter,
                "the aggregate's bitmap has {in_bitmap} blocks in use; {reached} are, and {held_back} are held back"
            ),
            Self::Parity { spindles, stripe, check } => {
                let which = match (check.row_holds, check.diagonal_holds) {
                    (false, false) => "neither row nor diagonal parity agrees",
                    (false, true) => "row parity does not agree",
                    _ => "diagonal parity does not agree",
                };
                let (first, last) = (spindles.start, spindles.end - 1);
                write!(
                    formatter,
                    "stripe {stripe} of spindles {first} to {last}: {which} with its blocks"
                )
            }
            Self::ParityInPlace { parity, of } => write!(
                formatter,
                "{}: parity does not agree with blocks {of:?} of the LUN: one of them, or parity, lacks a write that its \
                 drive reported as done",
                at(parity)
            ),
            Self::UnusedBlock { place, why } => write!(formatter, "{}: {why}", at(place)),
        }
    }
}

/// Checks a write-anywhere array that is not running: labels, superblocks, every block reachable from the root, the
/// aggregate's bitmap, and the parity of every stripe with such a block. Devices are the spindles by position, then
/// those of the log, closed if missing; `label` is the newest label. Writes of redo records that the newest superblock
/// may not cover count as done, because a restart would apply them.
pub fn check_write_anywhere<D: Devices>(
    devices: &mut D,
    label: &Label,
    config: &WriteAnywhereConfig,
) -> CheckReport {
    check(devices, label, |offline, superblock, report| {
        let reached = tree::check(offline, config, superblock, report);
        parity::check(offline, config, &reached, report);
    })
}

/// Checks an in-place array that is not running: labels, superblocks, every block of the stripes of its LUN, and
/// their parity. Otherwise like [`check_write_anywhere`].
///
/// Parity that does not match reveals a write that a drive reported as done but never did, except in a stripe that
/// has lost a spindle.
pub fn check_in_place<D: Devices>(
    devices: &mut D,
    label: &Label,
    config: &InPlaceConfig,
) -> CheckReport {
    check(devices, label, |offline, superblock, report| {
        in_place::check(offline, config, superblock, report);
    })
}

/// Checks an array of either kind: [`check_write_anywhere`] or [`check_in_place`].
pub fn check_array<D: Devices>(
    devices: &mut D,
    label: &Label,
    config: &ArrayConfig,
) -> CheckReport {
    match config {
        ArrayConfig::WriteAnywhere(config) => check_write_anywhere(devices, label, config),
        ArrayConfig::InPlace(config) => check_in_place(devices, label, config),
    }
}

/// Checks what all arrays have in common, then the rest with `blocks`.
fn check<D: Devices>(
    devices: &mut D,
    label: &Label,
    blocks: impl FnOnce(&mut OfflineArray<'_, D>, &Superblock, &mut CheckReport),
) -> CheckReport {
    let mut report = CheckReport::default();
    check_labels(devices, label, &mut report);
    let Some(superblock) = newest_superblock(devices, label) else {
        report.findings.push(Inconsistency::NoSuperblock);
        return report;
    };
    check_superblocks(devices, label, &superblock, &mut report);
    let label = &without_stale_spindles(devices, label, &superblock);
    let redo = check_log(devices, label, &superblock, &mut report);
    let store = match store_of(devices, label) {
        Ok(store) => store,
        Err(_) => {
            report.findings.push(Inconsistency::NoInitializationMap);
            return report;
        }
    };
    let mut offline = OfflineArray::new(devices, store);
    for record in redo {
        report.redo_blocks += record.blocks.len() as u64;
        offline.overlay_redo(record, superblock.consistency_point + 1);
    }
    blocks(&mut offline, &superblock, &mut report);
    report
}

/// Reads the log, and returns the redo records that a restart would apply.
fn check_log<D: Devices>(
    devices: &mut D,
    label: &Label,
    superblock: &Superblock,
    report: &mut CheckReport,
) -> Vec<RedoRecord> {
    let log = log_of(devices, label, superblock);
    let why = match &log {
        Err(error) => Some(format!("it cannot be read: {error}")),
        Ok(log) if log.breaks_off => Some("it has lost records that were acknowledged".to_owned()),
        Ok(_) => None,
    };
    report.findings.extend(why.map(|why| Inconsistency::Log { why }));
    for finding in log.iter().flat_map(|log| &log.findings) {
        let (device, why) = match finding {
            // The array was opened without it, which was said then. Nothing is known to be wrong.
            LogDeviceFinding::Failed { error: IoError::Gone(_), .. } => continue,
            LogDeviceFinding::Failed { device, error } => (*device, error.to_string()),
            LogDeviceFinding::Lacks { device, records } => {
                (*device, format!("lacks {records} records that the other device has"))
            }
        };
        let mut roles = label.of_devices().into_iter();
        let role = roles.find(|(one, _)| *one == device).map(|(_, label)| label.role());
        let role = role.unwrap_or(DeviceRole::Log);
        report.findings.push(Inconsistency::LogDevice { device, role, why });
    }
    log.map(|log| log.redo).unwrap_or_default()
}

fn check_labels<D: Devices>(devices: &mut D, newest: &Label, report: &mut CheckReport) {
    for (device, label) in newest.of_devices() {
        // A missing device is counted as missing where it is needed.
        let may_be_missing = label.role() != DeviceRole::Log;
        for block in [0, label.device_blocks - 1] {
            let offset = block * BLOCK_BYTES as u64;
            let read = OfflineArray::read_raw(devices, device, offset, BLOCK_BYTES);
            if matches!(read, Err(IoError::Gone(_))) && may_be_missing {
                continue;
            }
            let found = read
                .map_err(|error| error.to_string())
                .and_then(|bytes| Label::decode(&bytes).map_err(|error| error.to_string()));
            let why = match found {
                Err(why) => why,
                // A device that missed more than the last change was not opened.
                Ok(label) if label.sequence != newest.sequence => {
                    let why = format!(
                        "is number {}, and the newest is {}",
                        label.sequence, newest.sequence
                    );
                    report.interrupted.push(Inconsistency::Label { device, block, why });
                    continue;
                }
                Ok(label) if (&label.members, &label.logs) != (&newest.members, &newest.logs) => {
                    "has other members than the newest".to_owned()
                }
                Ok(_) => continue,
            };
            report.findings.push(Inconsistency::Label { device, block, why });
        }
    }
}

fn check_superblocks<D: Devices>(
    devices: &mut D,
    label: &Label,
    newest: &Superblock,
    report: &mut CheckReport,
) {
    for (position, member) in (0u16..).zip(&label.members) {
        if member.state != MemberState::Present {
            continue;
        }
        let mut read = |slot: u64| {
            let offset = slot * BLOCK_BYTES as u64;
            OfflineArray::read_raw(devices, DeviceIndex(position), offset, BLOCK_BYTES)
        };
        let spindle = SpindleIndex(position);
        let found = match read(newest.slot()) {
            Err(IoError::Gone(_)) => continue,
            Err(error) => {
                let why = error.to_string();
                report.findings.push(Inconsistency::Superblock { spindle, why });
                continue;
            }
            Ok(bytes) => Superblock::decode(&bytes),
        };
        if found.as_ref().is_ok_and(|found| found == newest) {
            continue;
        }
        let slots = SUPERBLOCK_SLOTS.map(|slot| read(slot).unwrap_or_default());
        let there = Superblock::newest(slots.iter().map(Vec::as_slice), newest.array);
        let before = there.map(|one| one.consistency_point);
        let why = match (found, before) {
            (Err(error), _) => error.to_string(),
            (Ok(_), Some(before)) => format!(
                "the newest is that of consistency point {before}, not {}",
                newest.consistency_point
            ),
            (Ok(_), None) => {
                format!("that of consistency point {} is not there", newest.consistency_point)
            }
        };
        // The newest was being written to all spindles, and may be torn. Once an array is shut down, all have it.
        let is_interrupted =
            !newest.clean && before.is_some_and(|before| before + 1 == newest.consistency_point);
        let found = Inconsistency::Superblock { spindle, why };
        match is_interrupted {
            true => report.interrupted.push(found),
            false => report.findings.push(found),
        }
    }
}

/// A block that a pointer references.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Reach {
    holds: BlockContents,
    checksum: u32,
}

impl Reach {
    /// Whether two pointers may lead to one place.
    fn is_same(&self, other: &Self, has_clones: bool) -> bool {
        let is_same = match (self.holds, other.holds) {
            (BlockContents::Lun { .. }, _) if !has_clones => self.holds == other.holds,
            _ => self.holds.may_be(other.holds),
        };
        is_same && self.checksum == other.checksum
    }
}

/// The blocks reachable from the root and the snapshots, by place.
type Reached = BTreeMap<Vbn, Reach>;
