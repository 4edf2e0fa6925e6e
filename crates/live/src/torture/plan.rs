//! What is drawn for a schedule: the array, and what is done to it.

use strewn_alloc::{AllocationShape, PolicyName};
use strewn_array::write_anywhere::{CacheStart, WriteAnywhere, WriteAnywhereConfig};
use strewn_array::{ProcessorCosts, Root};
use strewn_raid::{Parity, ParityGroup};

use super::Kind;
use super::draw::Draw;
use crate::data::Data;
use crate::device::simulated::{FaultRates, Latency};
use crate::device::{BLOCK_BYTES, DeviceIndex, SimulatedDevices, SimulatedDisk};
use crate::format::{
    DeviceKind, FORMAT, Identity, Label, LogLayout, Member, MemberState, SUPERBLOCK_SLOTS,
    Superblock, device_blocks_for,
};

/// A schedule's array, and its fate in outline.
#[derive(Debug, Clone)]
pub(super) struct Plan {
    pub(super) kind: Kind,
    pub(super) config: WriteAnywhereConfig,
    pub(super) label: Label,
    pub(super) log_device_blocks: u64,
    pub(super) latency: Latency,
    pub(super) lives: u64,
    pub(super) operations: u64,
    pub(super) depth: u64,
    pub(super) most_sectors: u64,
    /// Spindles that do wrong silently, and how often.
    pub(super) silent: Vec<u16>,
    pub(super) rates: FaultRates,
    /// Spindles that may be lost and not yet rebuilt at once.
    pub(super) losses: usize,
    pub(super) full: bool,
}

impl Plan {
    pub(super) fn draw(seed: u64, kind: Kind, parity: Option<Parity>) -> Self {
        let mut draw = Draw::new(seed, 0);
        let parity = parity.unwrap_or(*draw.of(&[Parity::Raid4, Parity::RaidDp]));
        let config = config(&mut draw, parity);
        let spindles = config.group.spindles();
        let layout = LogLayout::new(config.log_half_bytes, spindles);
        let redundancy = usize::from(parity.spindles());
        let is_silent = kind.is_silent();
        let losses = match kind {
            Kind::Losses | Kind::LossesAndCrashes => redundancy,
            Kind::Everything => redundancy - 1,
            _ => 0,
        };
        let mut silent = Vec::new();
        while is_silent && silent.len() < redundancy - losses {
            let spindle = draw.from(0..spindles.into()) as u16;
            if !silent.contains(&spindle) {
                silent.push(spindle);
            }
            // Two at once is the exception.
            if draw.one_in(2) {
                break;
            }
        }
        let rate = draw.spread(500..40_000) as u32;
        let write_rate = draw.spread(500..20_000) as u32;
        let mut rates = FaultRates::default();
        let all = kind == Kind::Everything;
        if all || kind == Kind::ReadErrors {
            rates.unreadable_per_million = rate;
        }
        if all || kind == Kind::Corruption {
            rates.corrupted_per_million = rate;
        }
        if all || kind == Kind::MisdirectedWrites {
            rates.misdirected_per_million = write_rate;
        }
        if all || kind == Kind::LostWrites {
            rates.lost_per_million = write_rate;
        }
        Self {
            kind,
            label: label(seed, &config, &layout),
            log_device_blocks: layout.device_blocks(),
            latency: *draw.of(&[Latency::DISK, Latency::ANY_ORDER]),
            lives: draw.from(2..5),
            operations: draw.spread(20..300),
            depth: draw.spread(1..24),
            most_sectors: draw.spread(8..512),
            silent,
            rates,
            losses,
            full: kind == Kind::NoRoom,
            config,
        }
    }

    pub(super) fn lun_sectors(&self) -> u64 {
        u64::from(self.config.file_blocks) * 8
    }

    /// The disks of an array that was just made: labels and a superblock without a root, and nothing else.
    pub(super) fn disks(&self) -> Vec<SimulatedDisk> {
        let superblock = Superblock {
            array: self.label.array,
            checkpoint: 0,
            log_start: 1,
            redo_start: 1,
            root: Root { held_back_blocks: 0, block: None },
            label_sequence: self.label.sequence,
            clean: true,
        };
        let spindles = self.config.group.spindles();
        let devices = (0..=spindles).map(|position| {
            let is_log = position == spindles;
            let (kind, position, own, device_blocks) = match is_log {
                true => (DeviceKind::Log, 0, self.label.log, self.log_device_blocks),
                false => {
                    let identity = self.label.members[usize::from(position)].identity;
                    (DeviceKind::Spindle, position, Some(identity), self.label.device_blocks)
                }
            };
            let own = own.unwrap_or(self.label.own);
            let label = Label { kind, position, own, device_blocks, ..self.label.clone() };
            let mut disk = SimulatedDisk::zeroed(device_blocks * BLOCK_BYTES as u64);
            if let Ok(encoded) = label.encode() {
                for block in [0, device_blocks - 1] {
                    disk.write(block * BLOCK_BYTES as u64, encoded.bytes());
                }
            }
            if !is_log {
                let offset = SUPERBLOCK_SLOTS[0] * BLOCK_BYTES as u64;
                disk.write(offset, superblock.encode().bytes());
            }
            disk
        });
        devices.collect()
    }

    /// Devices with these disks, sound but for what goes wrong by itself.
    pub(super) fn devices(&self, seed: u64, disks: Vec<SimulatedDisk>) -> SimulatedDevices {
        let mut devices = SimulatedDevices::new(seed, disks);
        for device in 0..=self.config.group.spindles() {
            devices.set_latency(DeviceIndex(device), self.latency);
        }
        for &device in &self.silent {
            devices.set_fault_rates(DeviceIndex(device), self.rates);
        }
        devices
    }

    /// A disk to take the place of one that is lost.
    pub(super) fn blank(&self) -> SimulatedDisk {
        SimulatedDisk::zeroed(self.label.device_blocks * BLOCK_BYTES as u64)
    }
}

fn config(draw: &mut Draw, parity: Parity) -> WriteAnywhereConfig {
    let data_spindles = draw.from(2..7) as u16;
    let file_blocks = draw.spread(256..2_000) as u32;
    let cache_blocks = draw.spread(32..500) as u32;
    let log_half_bytes = draw.spread(64 << 10..1 << 20) / 4096 * 4096;
    let delayed_free_blocks = draw.from(0..200);
    let area_stripes = *draw.of(&[64, 64, 128, 256]);
    let tetris_stripes = *draw.of(&[64, 64, 16, 4]);
    let chunk_blocks = *draw.of(&[64, 16, 4, 1]).min(&tetris_stripes);
    let policy = *draw.of(&PolicyName::ALL);
    let dirty_limit_blocks = draw.spread(4..u64::from(cache_blocks)) as u32;
    let slack = draw.from(0..3) * draw.from(0..400);
    let volume_slack = draw.from(0..2) * 1_000;
    let tetrises_in_flight = draw.from(1..4) as u32;
    let group = |blocks| ParityGroup::new(parity, data_spindles, blocks);
    let of_blocks = |group| WriteAnywhereConfig {
        group,
        shape: AllocationShape { area_stripes, tetris_stripes, chunk_blocks },
        policy,
        other_data: None,
        volume_blocks: WriteAnywhereConfig::volume_blocks_for(
            file_blocks.into(),
            delayed_free_blocks,
            cache_blocks,
        ) + volume_slack,
        file_blocks,
        log_half_bytes,
        log_record_header_bytes: LogLayout::ACCOUNTED_RECORD_BYTES,
        checkpoint_interval_ns: 10_000_000_000,
        cache_blocks,
        protected_blocks: cache_blocks / 2,
        dirty_limit_blocks,
        tetrises_in_flight,
        delayed_free_blocks,
        cache_start: CacheStart::Empty,
        processor: ProcessorCosts::default(),
    };
    // The fewest areas that take it, and a few more.
    let mut blocks = area_stripes.max(64);
    loop {
        let config = of_blocks(group(blocks).expect("a small group can be made"));
        if WriteAnywhere::<Data>::empty(config.clone()).is_ok() {
            let more = slack / area_stripes * area_stripes;
            return of_blocks(group(blocks + more).unwrap_or(config.group));
        }
        blocks += area_stripes;
    }
}

fn label(seed: u64, config: &WriteAnywhereConfig, layout: &LogLayout) -> Label {
    let identity = |number: u64| {
        let mut bytes = [0; 16];
        bytes[..8].copy_from_slice(&(seed + 1).to_le_bytes());
        bytes[8..].copy_from_slice(&number.to_le_bytes());
        Identity(bytes)
    };
    let members = (0..config.group.spindles()).map(|one| Member {
        identity: identity(100 + u64::from(one)),
        state: MemberState::Present,
    });
    Label {
        version: FORMAT,
        incompatible_features: 0,
        compatible_features: 0,
        array: identity(1),
        own: identity(100),
        position: 0,
        kind: DeviceKind::Spindle,
        sequence: 1,
        device_blocks: device_blocks_for(config.group.blocks_per_spindle()),
        log_half_blocks: layout.half_blocks,
        redo_half_blocks: layout.redo_half_blocks,
        members: members.collect(),
        log: Some(identity(99)),
        configuration: String::new(),
    }
}
