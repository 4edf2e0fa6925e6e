//! An array on emulated drives: 8 ms for each command that does not follow the one before, 150 MB/s, first come, first
//! served.

use std::cmp::Reverse;
use std::collections::{BinaryHeap, HashMap};
use std::ops::Range;

use strewn_array::{
    Acknowledge, Array, Direction, Driver, Durability, HostOperation, LogRecord, Logged, LunId,
    OperationId, ProcessorWork, Refusal, SpindleCommand, Tag,
};
use strewn_raid::SpindleIndex;
use strewn_zfs::{Redundancy, Vdev, VolumeConfig, ZfsArray, ZfsConfig};

const MIB: u64 = 1 << 20;
const POSITIONING_NS: u64 = 8_000_000;
const BYTES_A_SECOND: u64 = 150_000_000;

/// Sectors of 512 bytes in a block of 8 KiB.
pub const SECTORS_A_BLOCK: u64 = 16;

/// RAID-Z2 of six drives of 512 MiB, with a volume in blocks of 8 KiB that is not filled.
pub fn raid_z2(volume_bytes: u64) -> ZfsConfig {
    let redundancy = Redundancy::RaidZ { drives: 6, parity: 2 };
    let volume = VolumeConfig::new(volume_bytes, 8_192);
    ZfsConfig {
        dirty_limit_bytes: 1_024 * MIB,
        seed: 1,
        ..ZfsConfig::new(
            vec![Vdev { redundancy, ashift: 12, drive_bytes: 512 * MIB, scale_down: 1 }],
            vec![volume],
            1_024 * MIB,
        )
    }
}

/// Drives with one arm, and a host that counts.
#[derive(Default, Clone)]
pub struct Drives {
    pub now_ns: u64,
    /// When each drive is done with all it has, and where its arm is then.
    drives: Vec<(u64, u64)>,
    events: BinaryHeap<Reverse<(u64, u64)>>,
    commands: HashMap<u64, SpindleCommand<()>>,
    timer_ns: Option<u64>,
    pub answered: u64,
    pub refused: u64,
    pub reads: u64,
    pub writes: u64,
    pub written_sectors: u64,
    /// Writes of each drive.
    writes_by_drive: HashMap<u16, u64>,
    /// What any command takes, besides positioning and transfer.
    pub command_ns: u64,
}

impl Durability for Drives {}

impl Drives {
    /// Write commands to some of the drives.
    pub fn writes_of(&self, drives: Range<u16>) -> u64 {
        drives.filter_map(|drive| self.writes_by_drive.get(&drive)).sum()
    }
}

impl Driver<()> for Drives {
    fn processor(&mut self, _: ProcessorWork, _: u64) {}

    fn command(&mut self, command: SpindleCommand<()>) {
        let (free_ns, at) = &mut self.drives[usize::from(command.spindle.0)];
        let transfer_ns = u64::from(command.sectors) * 512 * 1_000_000_000 / BYTES_A_SECOND;
        let positioning_ns = if *at == command.first_sector { 0 } else { POSITIONING_NS };
        *free_ns = self.now_ns.max(*free_ns) + self.command_ns + positioning_ns + transfer_ns;
        *at = command.first_sector + u64::from(command.sectors);
        self.events.push(Reverse((*free_ns, command.tag.number())));
        self.commands.insert(command.tag.number(), command.clone());
        match command.direction {
            Direction::Read => self.reads += 1,
            Direction::Write => {
                self.writes += 1;
                self.written_sectors += u64::from(command.sectors);
                *self.writes_by_drive.entry(command.spindle.0).or_default() += 1;
            }
        }
    }

    fn acknowledge(&mut self, _: OperationId, _: Acknowledge, _: ()) {
        self.answered += 1;
    }

    fn refuse(&mut self, _: OperationId, why: Refusal) {
        assert_eq!(why, Refusal::NoSpace);
        self.refused += 1;
    }

    fn set_timer(&mut self, at_ns: u64) {
        self.timer_ns = Some(at_ns);
    }

    fn log(&mut self, _: OperationId, _: LogRecord, _: &()) -> Logged {
        unreachable!("it has no log")
    }

    fn consistency_point_begins(&mut self) {}
    fn consistency_point_ends(&mut self) {}
}

pub struct Machine {
    pub array: ZfsArray,
    pub drives: Drives,
    pub issued: u32,
}

impl Machine {
    pub fn new(config: ZfsConfig) -> Self {
        let drives = config.vdevs.iter().map(|vdev| usize::from(vdev.drives())).sum();
        let drives = Drives { drives: vec![(0, 0); drives], ..Drives::default() };
        Self { array: ZfsArray::new(config).unwrap(), drives, issued: 0 }
    }

    pub fn issue(&mut self, direction: Direction, first_sector: u64, sectors: u64) {
        self.issue_to(LunId(0), direction, first_sector, sectors);
    }

    pub fn issue_to(&mut self, lun: LunId, direction: Direction, first_sector: u64, sectors: u64) {
        let id = OperationId(self.issued);
        self.issued += 1;
        let sectors = sectors as u32;
        let operation = HostOperation { id, lun, direction, first_sector, sectors, payload: () };
        self.array.host_operation(self.drives.now_ns, operation, &mut self.drives);
    }

    /// Blocks of 8 KiB of the volume.
    pub fn blocks(&self) -> u64 {
        self.array.layout().luns[0].file.blocks / 2
    }

    /// Whether no drive has anything to do.
    pub fn is_idle(&self) -> bool {
        self.drives.events.is_empty()
    }

    /// The same drives and host, with another array.
    pub fn with(&self, array: ZfsArray) -> Self {
        Self { array, drives: self.drives.clone(), issued: self.issued }
    }

    /// A drive fails, with what it was to do.
    pub fn fail(&mut self, drive: u16) {
        let spindle = SpindleIndex(drive);
        let now_ns = self.drives.now_ns;
        let all = std::mem::take(&mut self.drives.commands);
        let (failed, others) = all.into_iter().partition(|(_, command)| command.spindle == spindle);
        self.drives.commands = others;
        let failed: HashMap<u64, SpindleCommand<()>> = failed;
        self.drives.events.retain(|Reverse((_, tag))| !failed.contains_key(tag));
        self.array.spindle_failed(now_ns, spindle, &mut self.drives).unwrap();
        for command in failed.into_values() {
            self.array.command_failed(now_ns, command, &mut self.drives);
        }
    }

    /// Goes on until `is_done`, or until nothing is left to happen.
    pub fn run_until(&mut self, is_done: impl Fn(&Self) -> bool) {
        while !is_done(self) {
            let command = self.drives.events.peek().map(|Reverse((at_ns, _))| *at_ns);
            match (command, self.drives.timer_ns) {
                (Some(at_ns), timer) if timer.is_none_or(|timer| at_ns <= timer) => {
                    let Some(Reverse((at_ns, tag))) = self.drives.events.pop() else { return };
                    self.drives.now_ns = at_ns;
                    self.drives.commands.remove(&tag);
                    self.array.command_completed(at_ns, Tag::new(tag), (), &mut self.drives);
                }
                (_, Some(at_ns)) => {
                    self.drives.timer_ns = None;
                    self.drives.now_ns = at_ns;
                    self.array.timer_fired(at_ns, &mut self.drives);
                }
                _ => return,
            }
        }
    }
}
