//! The label: identifies a device's array, and the array's members.

use std::cmp::Reverse;
use std::fmt;
use std::ops::Range;

use strewn_array::crc32c;
use strewn_array::write_anywhere::WriteAnywhereConfig;

use super::{
    DiskFormatError, FEATURE_MIRRORED_LOG, FEATURE_PARITY_GROUPS, FORMAT, Field, Identity,
    KNOWN_INCOMPATIBLE_FEATURES, LogLayout, Version, check_block,
};
use crate::device::{Buffer, DeviceIndex};

/// Most members in a label.
pub const MAXIMUM_MEMBERS: usize = 64;

/// Most parity groups in a label.
pub const MAXIMUM_GROUPS: usize = WriteAnywhereConfig::MOST_GROUPS;

/// The devices of a mirrored log.
pub const MIRRORED_LOGS: usize = 2;

/// Size of the space for the array's configuration in a label, in bytes.
pub const MAXIMUM_CONFIGURATION_BYTES: usize = 2048;

const WHAT: &str = "label";
const MAGIC_BYTES: &[u8; 8] = b"STREWNLB";

const MAGIC: Field = Field::new("magic", 0, 8);
const MAJOR: Field = Field::new("version, major", 8, 2);
const MINOR: Field = Field::new("version, minor", 10, 2);
const POSITION: Field = Field::new("position", 12, 2);
const KIND: Field = Field::new("kind", 14, 1);
const RESERVED_1: Field = Field::new("reserved 1", 15, 1);
const INCOMPATIBLE: Field = Field::new("incompatible features", 16, 8);
const COMPATIBLE: Field = Field::new("compatible features", 24, 8);
const ARRAY: Field = Field::new("array identity", 32, 16);
const OWN: Field = Field::new("own identity", 48, 16);
const LOG: Field = Field::new("log identity", 64, 16);
const SEQUENCE: Field = Field::new("label sequence", 80, 8);
const DEVICE_BLOCKS: Field = Field::new("device blocks", 88, 8);
const LOG_HALF: Field = Field::new("log half blocks", 96, 8);
const LOG_REDO: Field = Field::new("redo half blocks", 104, 8);
const MEMBERS: Field = Field::new("members", 112, 2);
const CONFIGURATION_LENGTH: Field = Field::new("configuration length", 114, 2);
const RESERVED_2: Field = Field::new("reserved 2", 116, 12);
const MEMBER_IDENTITIES: Field = Field::new("member identities", 128, 1024);
const MEMBER_STATES: Field = Field::new("member states", 1152, 64);
const SECOND_LOG: Field = Field::new("second log identity", 1216, 16);
const LOG_STATES: Field = Field::new("log states", 1232, 2);
const GROUPS: Field = Field::new("parity groups", 1234, 2);
const GROUP_SPINDLES: Field = Field::new("group spindles", 1236, MAXIMUM_GROUPS * 2);
const GROUP_DEVICE_BLOCKS: Field = Field::new("group device blocks", 1252, MAXIMUM_GROUPS * 8);
const RESERVED_3: Field = Field::new("reserved 3", 1316, 220);
const CONFIGURATION: Field = Field::new("configuration", 1536, MAXIMUM_CONFIGURATION_BYTES);
const RESERVED_4: Field = Field::new("reserved 4", 3584, 508);
const CRC: Field = Field::new("CRC-32C", 4092, 4);

pub(super) const FIELDS: &[Field] = &[
    MAGIC,
    MAJOR,
    MINOR,
    POSITION,
    KIND,
    RESERVED_1,
    INCOMPATIBLE,
    COMPATIBLE,
    ARRAY,
    OWN,
    LOG,
    SEQUENCE,
    DEVICE_BLOCKS,
    LOG_HALF,
    LOG_REDO,
    MEMBERS,
    CONFIGURATION_LENGTH,
    RESERVED_2,
    MEMBER_IDENTITIES,
    MEMBER_STATES,
    SECOND_LOG,
    LOG_STATES,
    GROUPS,
    GROUP_SPINDLES,
    GROUP_DEVICE_BLOCKS,
    RESERVED_3,
    CONFIGURATION,
    RESERVED_4,
    CRC,
];

/// The role of a device.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum DeviceKind {
    /// It stores blocks of the array.
    Spindle,
    /// It stores the NVRAM log, or one copy of it.
    Log,
}

/// The state of a member.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum MemberState {
    /// It holds all of its data.
    Present,
    /// It failed or is missing. If it returns, it must not be read.
    Failed,
    /// It replaced a failed member, and holds only a part of its data.
    Rebuilding,
}

impl MemberState {
    fn encode(self) -> u8 {
        match self {
            Self::Present => 1,
            Self::Failed => 2,
            Self::Rebuilding => 3,
        }
    }

    /// Decodes a state; an unknown one is the error.
    fn decode(byte: u8) -> Result<Self, u8> {
        match byte {
            1 => Ok(Self::Present),
            2 => Ok(Self::Failed),
            3 => Ok(Self::Rebuilding),
            other => Err(other),
        }
    }
}

/// What a device of an array is, as a user names it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum DeviceRole {
    /// The spindle at this position.
    Spindle(u16),
    /// The log, on a single device.
    Log,
    /// A device of a mirrored log: 0 is log a, 1 is log b.
    MirroredLog(u16),
}

impl DeviceRole {
    /// Returns the index among the spindles, or among the devices of the log.
    #[must_use]
    pub fn index(self) -> usize {
        match self {
            Self::Spindle(position) | Self::MirroredLog(position) => usize::from(position),
            Self::Log => 0,
        }
    }

    /// Returns the position of a spindle.
    #[must_use]
    pub fn spindle(self) -> Option<u16> {
        match self {
            Self::Spindle(position) => Some(position),
            Self::Log | Self::MirroredLog(_) => None,
        }
    }
}

impl fmt::Display for DeviceRole {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Spindle(position) => write!(formatter, "spindle {position}"),
            Self::Log => formatter.write_str("the log"),
            Self::MirroredLog(0) => formatter.write_str("log a"),
            Self::MirroredLog(_) => formatter.write_str("log b"),
        }
    }
}

/// A spindle of the array, or a device of its log, as the label lists it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Member {
    /// The identity in the device's own label.
    pub identity: Identity,
    /// Whether the array relies on it.
    pub state: MemberState,
}

/// The spindles of a parity group, as the label lists them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct MemberGroup {
    /// How many of the members it has; groups follow each other.
    pub spindles: u16,
    /// Blocks of 4 KiB in use on each of its devices, as in [`Label::device_blocks`].
    pub device_blocks: u64,
}

/// A label. All devices of an array have the same label, except `own`, `position`, `kind` and `device_blocks`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Label {
    /// The version of the format that wrote it; encoding sets [`FORMAT`].
    pub version: Version,
    /// Features that a program must know to read the array, as bits.
    pub incompatible_features: u64,
    /// Features that a program may ignore, as bits.
    pub compatible_features: u64,
    /// Identity of the array.
    pub array: Identity,
    /// Identity of this device.
    pub own: Identity,
    /// The number of the spindle, or of the device of a mirrored log, from 0; 0 for a single log.
    pub position: u16,
    /// The role of the device.
    pub kind: DeviceKind,
    /// Raised by every change of membership: if labels differ, the one with the highest sequence is valid.
    pub sequence: u64,
    /// Blocks of 4 KiB in use on this device, including the label's second copy, which is the last of them.
    pub device_blocks: u64,
    /// Blocks of each half of the log; 0 without one.
    pub log_half_blocks: u64,
    /// Blocks of each half of the log's redo area; 0 without a log.
    pub redo_half_blocks: u64,
    /// The spindles by position; at most [`MAXIMUM_MEMBERS`].
    pub members: Vec<Member>,
    /// The parity groups, if there are several: at most [`MAXIMUM_GROUPS`]. Then the label has
    /// [`FEATURE_PARITY_GROUPS`](super::FEATURE_PARITY_GROUPS). Empty if all spindles are of one.
    pub groups: Vec<MemberGroup>,
    /// The devices of the log: none, one, or [`MIRRORED_LOGS`]. A single one is always present. With two, the label
    /// has [`FEATURE_MIRRORED_LOG`](super::FEATURE_MIRRORED_LOG).
    pub logs: Vec<Member>,
    /// The array's configuration, in TOML; at most [`MAXIMUM_CONFIGURATION_BYTES`]. Not parsed here.
    pub configuration: String,
}

impl Label {
    /// Encodes it as a block.
    ///
    /// # Errors
    /// If members or configuration do not fit.
    pub fn encode(&self) -> Result<Buffer, DiskFormatError> {
        let configuration = self.configuration.as_bytes();
        if configuration.len() > MAXIMUM_CONFIGURATION_BYTES {
            return Err(invalid(CONFIGURATION_LENGTH, configuration.len()));
        }
        if self.members.len() > MAXIMUM_MEMBERS {
            return Err(invalid(MEMBERS, self.members.len()));
        }
        let is_mirrored = self.logs.len() == MIRRORED_LOGS;
        let has_feature = self.incompatible_features & FEATURE_MIRRORED_LOG != 0;
        if self.logs.len() > MIRRORED_LOGS || is_mirrored != has_feature {
            return Err(invalid(SECOND_LOG, self.logs.len()));
        }
        let has_groups = self.incompatible_features & FEATURE_PARITY_GROUPS != 0;
        if !self.groups_are_right() || self.groups.is_empty() == has_groups {
            return Err(invalid(GROUPS, self.groups.len()));
        }
        let mut buffer = Buffer::zeroed(1);
        let block = buffer.bytes_mut();
        MAGIC.put(block, MAGIC_BYTES);
        MAJOR.put(block, &FORMAT.major.to_le_bytes());
        MINOR.put(block, &FORMAT.minor.to_le_bytes());
        POSITION.put(block, &self.position.to_le_bytes());
        KIND.put(
            block,
            &[match self.kind {
                DeviceKind::Spindle => 1,
                DeviceKind::Log => 2,
            }],
        );
        INCOMPATIBLE.put(block, &self.incompatible_features.to_le_bytes());
        COMPATIBLE.put(block, &self.compatible_features.to_le_bytes());
        ARRAY.put(block, &self.array.0);
        OWN.put(block, &self.own.0);
        for (field, log) in [LOG, SECOND_LOG].into_iter().zip(&self.logs) {
            field.put(block, &log.identity.0);
        }
        // Without a mirror these bytes are zeros, as they were before there were mirrored logs.
        if is_mirrored {
            for (into, log) in LOG_STATES.of_mut(block).iter_mut().zip(&self.logs) {
                *into = log.state.encode();
            }
        }
        GROUPS.put(block, &(self.groups.len() as u16).to_le_bytes());
        let (spindles, _) = GROUP_SPINDLES.of_mut(block).as_chunks_mut::<2>();
        for (into, group) in spindles.iter_mut().zip(&self.groups) {
            *into = group.spindles.to_le_bytes();
        }
        let (blocks, _) = GROUP_DEVICE_BLOCKS.of_mut(block).as_chunks_mut::<8>();
        for (into, group) in blocks.iter_mut().zip(&self.groups) {
            *into = group.device_blocks.to_le_bytes();
        }
        SEQUENCE.put(block, &self.sequence.to_le_bytes());
        DEVICE_BLOCKS.put(block, &self.device_blocks.to_le_bytes());
        LOG_HALF.put(block, &self.log_half_blocks.to_le_bytes());
        LOG_REDO.put(block, &self.redo_half_blocks.to_le_bytes());
        // Both lengths are within the limits checked above.
        MEMBERS.put(block, &(self.members.len() as u16).to_le_bytes());
        CONFIGURATION_LENGTH.put(block, &(configuration.len() as u16).to_le_bytes());
        let (identities, _) = MEMBER_IDENTITIES.of_mut(block).as_chunks_mut::<16>();
        for (into, member) in identities.iter_mut().zip(&self.members) {
            *into = member.identity.0;
        }
        for (into, member) in MEMBER_STATES.of_mut(block).iter_mut().zip(&self.members) {
            *into = member.state.encode();
        }
        CONFIGURATION.of_mut(block)[..configuration.len()].copy_from_slice(configuration);
        let crc = crc32c(&block[..CRC.offset]);
        CRC.put(block, &crc.to_le_bytes());
        Ok(buffer)
    }

    /// Whether the groups have all members between them.
    fn groups_are_right(&self) -> bool {
        let spindles: usize = self.groups.iter().map(|group| usize::from(group.spindles)).sum();
        let count = self.groups.len();
        count == 0 || ((2..=MAXIMUM_GROUPS).contains(&count) && spindles == self.members.len())
    }

    /// Returns the spindles of each parity group; all of them for an array with one, or one that updates in place.
    #[must_use]
    pub fn spindles_of_groups(&self) -> Vec<Range<u16>> {
        if self.groups.is_empty() {
            // At most 64 members.
            return std::iter::once(0..self.members.len() as u16).collect();
        }
        let mut first = 0;
        let range = |group: &MemberGroup| {
            let spindles = first..first + group.spindles;
            first = spindles.end;
            spindles
        };
        self.groups.iter().map(range).collect()
    }

    /// Returns the blocks in use on the device of the spindle at `position`. Unless the label has groups, it must be a
    /// spindle's.
    #[must_use]
    pub fn device_blocks_of(&self, position: u16) -> u64 {
        let of_groups = self.spindles_of_groups();
        let mut groups = of_groups.iter().zip(&self.groups);
        let group = groups.find(|(spindles, _)| spindles.contains(&position));
        group.map_or(self.device_blocks, |(_, group)| group.device_blocks)
    }

    /// Returns the layout of the log device.
    #[must_use]
    pub fn log_layout(&self) -> LogLayout {
        LogLayout { redo_half_blocks: self.redo_half_blocks, half_blocks: self.log_half_blocks }
    }

    /// Returns whether the log is on two devices.
    #[must_use]
    pub fn is_log_mirrored(&self) -> bool {
        self.logs.len() == MIRRORED_LOGS
    }

    /// Returns the role of the log's device at `position`.
    #[must_use]
    pub fn log_role(&self, position: u16) -> DeviceRole {
        if self.is_log_mirrored() { DeviceRole::MirroredLog(position) } else { DeviceRole::Log }
    }

    /// Returns the roles of the log's devices.
    pub fn log_roles(&self) -> impl Iterator<Item = DeviceRole> {
        (0..self.logs.len() as u16).map(|position| self.log_role(position))
    }

    /// Returns the role of the device that has this label.
    #[must_use]
    pub fn role(&self) -> DeviceRole {
        match self.kind {
            DeviceKind::Spindle => DeviceRole::Spindle(self.position),
            DeviceKind::Log => self.log_role(self.position),
        }
    }

    /// Returns the device of a role: the spindles come first, by position, then the devices of the log.
    #[must_use]
    pub fn device(&self, role: DeviceRole) -> DeviceIndex {
        match role {
            DeviceRole::Spindle(position) => DeviceIndex(position),
            // At most 64 members.
            role => DeviceIndex(self.members.len() as u16 + role.index() as u16),
        }
    }

    /// Returns the role of a device: the inverse of [`device`](Self::device).
    #[must_use]
    pub fn role_of(&self, device: DeviceIndex) -> DeviceRole {
        // At most 64 members.
        match device.0.checked_sub(self.members.len() as u16) {
            None => DeviceRole::Spindle(device.0),
            Some(position) => self.log_role(position),
        }
    }

    /// Returns the roles of devices in words, such as "spindle 2, log a".
    #[must_use]
    pub fn names_of(&self, devices: &[DeviceIndex]) -> String {
        let names: Vec<String> = devices.iter().map(|one| self.role_of(*one).to_string()).collect();
        names.join(", ")
    }

    /// Returns the devices of the log that did not fail, with their positions.
    pub fn present_logs(&self) -> impl Iterator<Item = (u16, DeviceIndex)> {
        let logs = (0u16..).zip(&self.logs);
        let present = logs.filter(|(_, log)| log.state != MemberState::Failed);
        present.map(|(position, _)| (position, self.device(self.log_role(position))))
    }

    /// Returns the label as the log's device at `position` has it.
    #[must_use]
    pub fn of_log(&self, position: u16) -> Self {
        let own = self.logs.get(usize::from(position)).map_or(self.own, |log| log.identity);
        let device_blocks = self.log_layout().device_blocks();
        Self { kind: DeviceKind::Log, position, own, device_blocks, ..self.clone() }
    }

    /// Returns the label as the spindle at `position` has it. Unless it has groups, it must be a spindle's.
    #[must_use]
    pub fn of_spindle(&self, position: u16, own: Identity) -> Self {
        let device_blocks = self.device_blocks_of(position);
        Self { kind: DeviceKind::Spindle, position, own, device_blocks, ..self.clone() }
    }

    /// Returns the label of each device that is present: the spindles that did not fail, by position, then the devices
    /// of the log. This label must be a spindle's, because its size is that of all spindles of an array with one group.
    #[must_use]
    pub fn of_devices(&self) -> Vec<(DeviceIndex, Self)> {
        let mut all = Vec::new();
        for (position, member) in (0..).zip(&self.members) {
            if member.state != MemberState::Failed {
                all.push((DeviceIndex(position), self.of_spindle(position, member.identity)));
            }
        }
        all.extend(self.present_logs().map(|(position, device)| (device, self.of_log(position))));
        all
    }

    /// Decodes the label in a block of 4 KiB.
    ///
    /// # Errors
    /// If there is no label, or this program cannot read it: see [`DiskFormatError`].
    pub fn decode(block: &[u8]) -> Result<Self, DiskFormatError> {
        let version = check_block(WHAT, block, (MAGIC, MAGIC_BYTES), (MAJOR, MINOR), CRC)?;
        let unknown = INCOMPATIBLE.u64(block) & !KNOWN_INCOMPATIBLE_FEATURES;
        if unknown != 0 {
            return Err(DiskFormatError::UnknownFeatures { what: WHAT, unknown });
        }
        let kind = match KIND.u8(block) {
            1 => DeviceKind::Spindle,
            2 => DeviceKind::Log,
            other => return Err(invalid(KIND, other)),
        };
        let count = usize::from(MEMBERS.u16(block));
        if count > MAXIMUM_MEMBERS {
            return Err(invalid(MEMBERS, count));
        }
        let (identities, _) = MEMBER_IDENTITIES.of(block).as_chunks::<16>();
        let members =
            identities[..count].iter().zip(MEMBER_STATES.of(block)).map(|(identity, state)| {
                let state = MemberState::decode(*state);
                let state = state.map_err(|other| invalid(MEMBER_STATES, other))?;
                Ok(Member { identity: Identity(*identity), state })
            });
        let members = members.collect::<Result<Vec<_>, _>>()?;
        let logs = decode_logs(block)?;
        let groups = decode_groups(block)?;
        let length = usize::from(CONFIGURATION_LENGTH.u16(block));
        let configuration = CONFIGURATION.of(block).get(..length);
        let configuration = configuration.ok_or_else(|| invalid(CONFIGURATION_LENGTH, length))?;
        let configuration = String::from_utf8(configuration.to_vec());
        let label = Self {
            version,
            incompatible_features: INCOMPATIBLE.u64(block),
            compatible_features: COMPATIBLE.u64(block),
            array: Identity(ARRAY.array(block)),
            own: Identity(OWN.array(block)),
            position: POSITION.u16(block),
            kind,
            sequence: SEQUENCE.u64(block),
            device_blocks: DEVICE_BLOCKS.u64(block),
            log_half_blocks: LOG_HALF.u64(block),
            redo_half_blocks: LOG_REDO.u64(block),
            members,
            groups,
            logs,
            configuration: configuration.map_err(|error| invalid(CONFIGURATION, error))?,
        };
        match label.groups_are_right() {
            true => Ok(label),
            false => Err(invalid(GROUPS, label.groups.len())),
        }
    }

    /// Orders labels of one array: the greatest is valid. That is the one with the highest sequence. Spindles that an
    /// interrupted addition of a parity group has labelled are not members yet, so of two labels with one sequence, the
    /// one with fewer members counts.
    #[must_use]
    pub fn precedence(&self) -> impl Ord + use<> {
        (self.sequence, Reverse(self.members.len()))
    }

    /// Returns the label of a device from its two copies: the one with the higher sequence, if both are valid.
    ///
    /// # Errors
    /// If neither is valid: the problem of the first copy. But a copy of another version or with unknown features is
    /// never ignored.
    pub fn of_copies(first: &[u8], second: &[u8]) -> Result<Self, DiskFormatError> {
        match (Self::decode(first), Self::decode(second)) {
            (Ok(first), Ok(second)) if second.sequence > first.sequence => Ok(second),
            (Ok(first), Ok(_)) => Ok(first),
            (Ok(good), Err(error)) | (Err(error), Ok(good)) => match error {
                DiskFormatError::NotOurs { .. } | DiskFormatError::Damaged { .. } => Ok(good),
                _ => Err(error),
            },
            (
                Err(DiskFormatError::NotOurs { .. } | DiskFormatError::Damaged { .. }),
                Err(error),
            ) if !matches!(error, DiskFormatError::NotOurs { .. }) => Err(error),
            (Err(error), Err(_)) => Err(error),
        }
    }
}

fn decode_groups(block: &[u8]) -> Result<Vec<MemberGroup>, DiskFormatError> {
    if INCOMPATIBLE.u64(block) & FEATURE_PARITY_GROUPS == 0 {
        return Ok(Vec::new());
    }
    let count = usize::from(GROUPS.u16(block));
    if !(2..=MAXIMUM_GROUPS).contains(&count) {
        return Err(invalid(GROUPS, count));
    }
    let (spindles, _) = GROUP_SPINDLES.of(block).as_chunks::<2>();
    let (blocks, _) = GROUP_DEVICE_BLOCKS.of(block).as_chunks::<8>();
    let groups = spindles.iter().zip(blocks).take(count).map(|(spindles, blocks)| MemberGroup {
        spindles: u16::from_le_bytes(*spindles),
        device_blocks: u64::from_le_bytes(*blocks),
    });
    Ok(groups.collect())
}

fn decode_logs(block: &[u8]) -> Result<Vec<Member>, DiskFormatError> {
    let identity = Identity(LOG.array(block));
    if INCOMPATIBLE.u64(block) & FEATURE_MIRRORED_LOG == 0 {
        let log = Member { identity, state: MemberState::Present };
        return Ok((identity.0 != [0; 16]).then_some(log).into_iter().collect());
    }
    let identities = [identity, Identity(SECOND_LOG.array(block))];
    let logs = identities.into_iter().zip(LOG_STATES.of(block)).map(|(identity, state)| {
        match MemberState::decode(*state) {
            Ok(state @ (MemberState::Present | MemberState::Failed)) => {
                Ok(Member { identity, state })
            }
            _ => Err(invalid(LOG_STATES, state)),
        }
    });
    logs.collect()
}

fn invalid(field: Field, value: impl ToString) -> DiskFormatError {
    DiskFormatError::Invalid { what: WHAT, field: field.name, value: value.to_string() }
}
