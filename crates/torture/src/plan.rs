//! The random plan of a schedule: the array, and its faults.

use crate::labels::identity;
use crate::labels::write_label;
use strewn_alloc::{AllocationShape, Chunks, GroupIndex, PolicyName};
use strewn_array::in_place::{DiskGroupConfig, InPlaceConfig, LunConfig, LunLayout, Raid5Layout};
use strewn_array::write_anywhere::{CacheStart, VolumeConfig, WriteAnywhere, WriteAnywhereConfig};
use strewn_array::{Format, LogSize, ProcessorCosts, Root};
use strewn_raid::{Parity, ParityGroup, StripedLayout, VraidConfig, VraidLayout};

use strewn_base::{BLOCK_SECTORS, Rng};

use crate::ScheduleKind;
use crate::growth::Growth;
use crate::rng::{SpreadDraws, stream};
use strewn_live::configuration::{ArrayConfig, LayoutName};
use strewn_live::data::Data;
use strewn_live::device::simulated::{FaultRates, Latency};
use strewn_live::device::{BLOCK_BYTES, DeviceIndex, Devices, SimulatedDevices, SimulatedDisk};
use strewn_live::format::{
    DeviceKind, FEATURE_INITIALIZATION_MAP, FEATURE_MIRRORED_LOG, FORMAT, InitializationMap, Label,
    LogLayout, MAXIMUM_GROUPS, Member, MemberState, RecordHeader, SUPERBLOCK_SLOTS, Superblock,
    device_blocks_for, redo_data_bytes, rows_of,
};

/// A schedule's array and the outline of its faults.
#[derive(Debug, Clone)]
pub(crate) struct Plan {
    pub(crate) kind: ScheduleKind,
    pub(crate) layout: LayoutName,
    pub(crate) config: ArrayConfig,
    pub(crate) label: Label,
    pub(crate) latency: Latency,
    pub(crate) incarnations: u64,
    pub(crate) operations: u64,
    pub(crate) depth: u64,
    pub(crate) most_sectors: u64,
    /// Spindles with silent faults.
    pub(crate) silent: Vec<u16>,
    pub(crate) rates: FaultRates,
    /// How many spindles may be lost and not yet rebuilt at a time.
    pub(crate) losses: usize,
    pub(crate) full: bool,
    /// Whether volumes, LUNs, snapshots and clones come and go.
    pub(crate) changes: bool,
    /// Rows of a zone that is initialized at once.
    pub(crate) zone_rows: u64,
    /// The parity groups that it gets.
    pub(crate) growth: Vec<Growth>,
}

impl Plan {
    pub(crate) fn draw(
        seed: u64,
        kind: ScheduleKind,
        layout: LayoutName,
        single_lun: bool,
    ) -> Self {
        let mut rng = stream(seed, 0);
        let mut of_changes = stream(seed, 4);
        let changes = layout.parity().is_some() && !single_lun && !of_changes.one_in(5);
        let of_changes = changes.then_some(&mut of_changes);
        let (config, log) = match layout.parity() {
            Some(parity) => {
                let config = write_anywhere(&mut rng, of_changes, parity);
                let log = LogLayout::new(config.log.half_bytes, config.single_group().spindles());
                (ArrayConfig::WriteAnywhere(config), log)
            }
            None => {
                let config = in_place(&mut rng, layout);
                let log = log_of_in_place(&mut rng, &config);
                (ArrayConfig::InPlace(InPlaceConfig { log: Some(log.size()), ..config }), log)
            }
        };
        let spindles = spindles_of(&config);
        let redundancy = usize::from(layout.redundancy());
        let is_silent = kind.is_silent();
        let losses = match kind {
            ScheduleKind::Losses | ScheduleKind::LossesAndCrashes => redundancy,
            ScheduleKind::Everything => redundancy - 1,
            _ => 0,
        };
        let mut silent = Vec::new();
        while is_silent && silent.len() < redundancy - losses {
            let spindle = rng.within(0..spindles.into()) as u16;
            if !silent.contains(&spindle) {
                silent.push(spindle);
            }
            // Usually one spindle has faults; two are the exception.
            if rng.one_in(2) {
                break;
            }
        }
        let rate = rng.spread(500..40_000) as u32;
        let write_rate = rng.spread(500..20_000) as u32;
        let mut rates = FaultRates::default();
        let all = kind == ScheduleKind::Everything;
        if all || kind == ScheduleKind::ReadErrors {
            rates.unreadable_per_million = rate;
        }
        if all || kind == ScheduleKind::Corruption {
            rates.corrupted_per_million = rate;
        }
        if all || kind == ScheduleKind::Erasures {
            rates.erased_per_million = write_rate;
        }
        if all || kind == ScheduleKind::MisdirectedWrites {
            rates.misdirected_per_million = write_rate;
        }
        if all || kind == ScheduleKind::LostWrites {
            rates.lost_per_million = write_rate;
            // A block and its checksum are written one after the other, and without this both would hardly ever be
            // lost.
            rates.lost_in_a_row = 5;
        }
        let label = label(seed, &config, &log, stream(seed, 3).one_in(2));
        let latency = *rng.pick(&[Latency::DISK, Latency::ANY_ORDER]);
        let incarnations = rng.within(2..5);
        Self {
            kind,
            layout,
            growth: Growth::draw(&mut stream(seed, 5), layout, &config, incarnations),
            label,
            latency,
            incarnations,
            operations: rng.spread(20..300),
            depth: rng.spread(1..24),
            most_sectors: rng.spread(8..512),
            silent,
            rates,
            losses,
            changes,
            full: kind == ScheduleKind::NoRoom,
            zone_rows: *rng.pick(&[1, 1, 2, 16]),
            config,
        }
    }

    pub(crate) fn lun_sectors(&self) -> u64 {
        match &self.config {
            ArrayConfig::WriteAnywhere(config) => config.lun_blocks() * BLOCK_SECTORS,
            ArrayConfig::InPlace(config) => config.end_sector(GroupIndex(0)),
        }
    }

    pub(crate) fn spindles(&self) -> u16 {
        spindles_of(&self.config)
    }

    /// Describes the array in one line.
    pub(crate) fn describe(&self) -> String {
        let log_kib = self.label.log_half_blocks * 4;
        let mirror = if self.label.is_log_mirrored() { "mirrored " } else { "" };
        match &self.config {
            ArrayConfig::WriteAnywhere(config) => format!(
                "{}, LUN of {} blocks, cache of {}, {mirror}log halves of {log_kib} KiB, {}",
                describe_groups(&config.groups),
                config.lun_blocks(),
                config.cache_blocks,
                config.policy.as_str(),
            ),
            ArrayConfig::InPlace(config) => format!(
                "{} spindles of {} blocks, chunks of {}, segments of {}, LUN of {} blocks, cache of {}, {mirror}log halves of {log_kib} KiB, redo halves of {} KiB",
                config.single_group().layout.spindles(),
                config.spindle_sectors / BLOCK_SECTORS,
                config.single_group().layout.unit_sectors() / BLOCK_SECTORS,
                config.single_group().layout.segment_sectors() / BLOCK_SECTORS,
                config.end_sector(GroupIndex(0)) / BLOCK_SECTORS,
                config.write_cache_sectors / BLOCK_SECTORS,
                self.label.redo_half_blocks * 4,
            ),
        }
    }

    /// Creates the disks of a new array: labels and a superblock without a root.
    pub(crate) fn disks(&self) -> Vec<SimulatedDisk> {
        let superblock = Superblock {
            array: self.label.array,
            consistency_point: 0,
            log_start: 1,
            log_durable: 0,
            map_sequences: [0; MAXIMUM_GROUPS],
            redo_start: 1,
            root: Root::default(),
            label_sequence: self.label.sequence,
            clean: true,
        };
        let rows = rows_of(self.label.device_blocks);
        let map = InitializationMap::with_zones_of(self.label.array, rows, self.zone_rows);
        let devices = self.label.of_devices().into_iter().map(|(_, label)| {
            let mut disk = SimulatedDisk::zeroed(label.device_blocks * BLOCK_BYTES as u64);
            write_label(&mut disk, &label);
            if label.kind == DeviceKind::Spindle {
                let offset = SUPERBLOCK_SLOTS[0] * BLOCK_BYTES as u64;
                disk.write(offset, superblock.encode().bytes());
                disk.write(map.slot() * BLOCK_BYTES as u64, map.encode().bytes());
            }
            disk
        });
        devices.collect()
    }

    /// Creates devices with these disks, without faults except silent ones.
    pub(crate) fn devices(&self, seed: u64, disks: Vec<SimulatedDisk>) -> SimulatedDevices {
        let mut devices = SimulatedDevices::new(seed, disks);
        for device in 0..devices.count() {
            devices.set_latency(DeviceIndex(device), self.latency);
        }
        for &device in &self.silent {
            devices.set_fault_rates(DeviceIndex(device), self.rates);
        }
        devices
    }

    /// Creates a blank disk to replace a lost one.
    pub(crate) fn blank(&self, position: u16) -> SimulatedDisk {
        SimulatedDisk::zeroed(self.label.device_blocks_of(position) * BLOCK_BYTES as u64)
    }
}

fn describe_groups(groups: &[ParityGroup]) -> String {
    let describe = |group: &ParityGroup| {
        let (parity, data, blocks) =
            (group.parity(), group.data_spindles(), group.blocks_per_spindle());
        format!("{parity:?}, {data} data spindles of {blocks} blocks")
    };
    groups.iter().map(describe).collect::<Vec<_>>().join("; ")
}

fn spindles_of(config: &ArrayConfig) -> u16 {
    match config {
        ArrayConfig::WriteAnywhere(config) => config.groups.iter().map(ParityGroup::spindles).sum(),
        ArrayConfig::InPlace(config) => config.single_group().layout.spindles(),
    }
}

fn blocks_per_spindle(config: &ArrayConfig) -> u64 {
    match config {
        ArrayConfig::WriteAnywhere(config) => config.single_group().blocks_per_spindle(),
        ArrayConfig::InPlace(config) => config.spindle_sectors / BLOCK_SECTORS,
    }
}

fn in_place(rng: &mut Rng, layout: LayoutName) -> InPlaceConfig {
    let redundancy_sets = rng.pick(&[vec![5], vec![6], vec![8], vec![6, 7], vec![5, 5]]).clone();
    let chunk_blocks = *rng.pick(&[1, 2, 2, 4, 16, 64]);
    let segment_blocks = chunk_blocks * *rng.pick(&[1, 2, 4, 8]);
    // Segments are distributed in rounds of five per spindle; some may be left over.
    let rounds = 1 + rng.within(0..160 / segment_blocks);
    let spindle_blocks = 5 * rounds * segment_blocks + rng.within(0..40);
    let [chunk_bytes, segment_bytes, spindle_bytes] =
        [chunk_blocks, segment_blocks, spindle_blocks].map(|blocks| blocks * BLOCK_BYTES as u64);
    let layout: LunLayout = match layout {
        LayoutName::Raid5 => {
            let spindles = rng.within(3..10) as u16;
            Raid5Layout::new(spindles, chunk_bytes, segment_bytes, spindle_bytes)
                .expect("a small group can be made")
                .into()
        }
        _ => {
            let vraid = VraidConfig { redundancy_sets, chunk_bytes, segment_bytes };
            VraidLayout::new(vraid, spindle_bytes).expect("a small disk group can be made").into()
        }
    };
    let most_blocks = layout.lun_capacity_sectors() / BLOCK_SECTORS;
    let lun_blocks = match rng.one_in(3) {
        true => most_blocks,
        false => rng.spread(1..most_blocks.min(1_500) + 1),
    };
    let write_cache_sectors = rng.spread(40..4_000);
    let destage_low_sectors = rng.within(0..write_cache_sectors / 2);
    let destages_in_flight = rng.within(1..9) as u32;
    InPlaceConfig {
        groups: vec![DiskGroupConfig::new(layout, destages_in_flight)],
        luns: vec![LunConfig::whole(lun_blocks * BLOCK_SECTORS)],
        spindle_sectors: spindle_blocks * BLOCK_SECTORS,
        write_cache_sectors,
        destage_low_sectors,
        format: Format::Durable,
        log: None,
        processor: ProcessorCosts::default(),
    }
}

/// Draws a log whose halves are the smallest that suffice, or up to 1 MiB larger.
fn log_of_in_place(rng: &mut Rng, config: &InPlaceConfig) -> LogLayout {
    let chunk_blocks =
        config.single_group().layout.unit_sectors() as usize / BLOCK_SECTORS as usize;
    let record_bytes = RecordHeader::record_bytes(redo_data_bytes(2 * chunk_blocks));
    let least_redo = record_bytes.div_ceil(BLOCK_BYTES) as u64;
    LogLayout {
        half_blocks: rng.spread(3..256),
        redo_half_blocks: least_redo + rng.spread(1..256) - 1,
    }
}

/// Draws an array. If its LUNs change, `of_changes` makes the first one smaller and the aggregate larger.
fn write_anywhere(
    rng: &mut Rng,
    of_changes: Option<&mut Rng>,
    parity: Parity,
) -> WriteAnywhereConfig {
    let data_spindles = rng.within(2..7) as u16;
    let mut lun_blocks = rng.spread(256..2_000) as u32;
    let cache_blocks = rng.spread(32..500) as u32;
    let log_half_bytes = rng.spread(64 << 10..1 << 20) / 4096 * 4096;
    let delayed_free_blocks = rng.within(0..200);
    let area_stripes = *rng.pick(&[64, 64, 128, 256]);
    let tetris_stripes = *rng.pick(&[64, 64, 16, 4]);
    let chunk_blocks = *rng.pick(&[64, 16, 4, 1]).min(&tetris_stripes);
    let policy = *rng.pick(&PolicyName::ALL);
    let dirty_limit_blocks = rng.spread(4..u64::from(cache_blocks)) as u32;
    let mut slack = rng.within(0..3) * rng.within(0..400);
    if let Some(rng) = of_changes {
        lun_blocks /= 4;
        slack += rng.within(0..3) * rng.within(0..2_000) / u64::from(data_spindles);
    }
    let volume_slack = rng.within(0..2) * 1_000;
    let tetrises_in_flight = rng.within(1..4) as u32;
    let group = |blocks| ParityGroup::new(parity, data_spindles, blocks);
    let of_blocks = |group| WriteAnywhereConfig {
        groups: vec![group],
        groups_at_start: 1,
        shape: AllocationShape { area_stripes, tetris_stripes, chunk_blocks },
        policy,
        other_data: None,
        volumes: vec![VolumeConfig::of_one_lun(
            WriteAnywhereConfig::volume_blocks_for(
                lun_blocks.into(),
                delayed_free_blocks,
                cache_blocks,
            ) + volume_slack,
            lun_blocks,
        )],
        format: Format::Durable,
        log: LogSize {
            half_bytes: log_half_bytes,
            record_header_bytes: LogLayout::ACCOUNTED_RECORD_BYTES,
        },
        consistency_point_interval_ns: 10_000_000_000,
        cache_blocks,
        protected_blocks: cache_blocks / 2,
        dirty_limit_blocks,
        tetrises_in_flight,
        delayed_free_blocks,
        cache_start: CacheStart::Empty,
        chunks: Chunks::Aligned,
        processor: ProcessorCosts::default(),
    };
    // Start from the fewest areas that suffice, and add a few.
    let mut blocks = area_stripes.max(64);
    loop {
        let config = of_blocks(group(blocks).expect("a small group can be made"));
        if WriteAnywhere::<Data>::empty(config.clone()).is_ok() {
            let more = slack / area_stripes * area_stripes;
            return of_blocks(group(blocks + more).unwrap_or(*config.single_group()));
        }
        blocks += area_stripes;
    }
}

fn label(seed: u64, config: &ArrayConfig, layout: &LogLayout, is_log_mirrored: bool) -> Label {
    let identity = |number: u64| identity(seed, number);
    let member = |number| Member { identity: identity(number), state: MemberState::Present };
    let members = (0..spindles_of(config)).map(|one| member(100 + u64::from(one)));
    let (logs, feature) = match is_log_mirrored {
        true => (vec![member(98), member(99)], FEATURE_MIRRORED_LOG),
        false => (vec![member(99)], 0),
    };
    Label {
        version: FORMAT,
        incompatible_features: FEATURE_INITIALIZATION_MAP | feature,
        compatible_features: 0,
        array: identity(1),
        own: identity(100),
        position: 0,
        kind: DeviceKind::Spindle,
        sequence: 1,
        device_blocks: device_blocks_for(blocks_per_spindle(config)),
        log_half_blocks: layout.half_blocks,
        redo_half_blocks: layout.redo_half_blocks,
        members: members.collect(),
        groups: Vec::new(),
        logs,
        configuration: String::new(),
    }
}
