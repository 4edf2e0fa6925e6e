//! A log over bytes in memory, with a model of what it must have; crashes that leave any part of what was not durable.

use std::collections::BTreeMap;

use strewn_array::{BlockContents, LogRecord, Logged, LunId};
use strewn_live::device::{BLOCK_BYTES, DeviceIndex, Io, IoCompletion, IoError, IoRequest};
use strewn_live::format::{BlockTag, Identity, LogLayout, RedoWrite, Superblock};
use strewn_live::log::{HostRecord, Log, LogStart, RecoveredLog, RedoToken, read_log};
use strewn_raid::{Dbn, SpindleIndex};

use super::rig::random_bytes;
use crate::engine::fresh;
use strewn_base::Rng;

pub const ARRAY: Identity = Identity([0x5a; 16]);
pub const DEVICE: DeviceIndex = DeviceIndex(3);

/// A log over bytes in memory, with what it must have.
pub struct Model {
    pub rng: Rng,
    pub layout: LogLayout,
    pub disk: Vec<u8>,
    pub log: Log,
    pub under_way: Vec<Io>,
    pub superblock: Superblock,
    /// Host records since the superblock, by number.
    host: BTreeMap<u64, HostRecord>,
    /// What a consistency point under way will cover.
    consistency_point: Option<u64>,
    redo: BTreeMap<u64, Redo>,
    flushing: Option<Vec<u64>>,
    pub durable: (u64, u64),
}

struct Redo {
    dbn: u64,
    bytes: Vec<u8>,
    written: bool,
    /// And flushed after that.
    safe: bool,
}

fn write_at(disk: &mut [u8], offset: u64, bytes: &[u8]) {
    disk[offset as usize..][..bytes.len()].copy_from_slice(bytes);
}

/// The record's number; `None` if there is no room for it.
pub fn append_write(log: &mut Log, first_sector: u64, data: &[u8]) -> Option<u64> {
    let sectors = (data.len() / 512) as u32;
    append(log, LogRecord::Write { lun: LunId(0), first_sector, sectors }, data)
}

/// The file of the LUN that the records are of.
const FILE: u32 = 5;

pub fn append_unmap(log: &mut Log, first_sector: u64, sectors: u32) -> Option<u64> {
    append(log, LogRecord::Unmap { lun: LunId(0), first_sector, sectors }, &[])
}

fn append(log: &mut Log, record: LogRecord, data: &[u8]) -> Option<u64> {
    (log.append(record, FILE, data) == Logged::Done).then(|| log.last_sequence())
}

pub fn recover(layout: &LogLayout, superblock: &Superblock, disk: &[u8]) -> RecoveredLog {
    let mut read = |_: DeviceIndex, offset: u64, bytes: usize| -> Result<Vec<u8>, IoError> {
        assert!(offset.is_multiple_of(4096) && bytes.is_multiple_of(4096));
        Ok(disk[offset as usize..][..bytes].to_vec())
    };
    read_log(layout, superblock, &[DEVICE], &mut read).unwrap()
}

impl Model {
    pub fn new(seed: u64) -> Self {
        println!("seed {seed}");
        let mut rng = Rng::new(seed);
        let layout = LogLayout::new(40_000 + rng.below(200_000), 1);
        // What another use of the device left.
        let disk = random_bytes(&mut rng, layout.device_blocks() as usize * BLOCK_BYTES);
        let log = Log::new(&[DEVICE], layout, ARRAY.tag(), LogStart::NEW);
        let superblock = first_superblock();
        Self {
            rng,
            layout,
            disk,
            log,
            under_way: Vec::new(),
            superblock,
            host: BTreeMap::new(),
            consistency_point: None,
            redo: BTreeMap::new(),
            flushing: None,
            durable: (0, 0),
        }
    }

    pub fn append(&mut self) {
        let first_sector = self.rng.below(1 << 30);
        let appended = if self.rng.one_in(6) {
            let sectors = self.rng.below(1 << 20);
            let punch =
                |sequence| HostRecord::Unmap { sequence, file: FILE, first_sector, sectors };
            append_unmap(&mut self.log, first_sector, sectors as u32)
                .map(|sequence| (sequence, punch(sequence)))
        } else {
            let most = if self.rng.one_in(8) { 40 } else { 9 };
            let sectors = 1 + self.rng.below(most);
            let data = random_bytes(&mut self.rng, sectors as usize * 512);
            let sequence = append_write(&mut self.log, first_sector, &data);
            sequence.map(|sequence| {
                (sequence, HostRecord::Write { sequence, file: FILE, first_sector, data })
            })
        };
        match appended {
            Some((sequence, record)) => assert!(self.host.insert(sequence, record).is_none()),
            None => self.begin_consistency_point(),
        }
    }

    pub fn begin_consistency_point(&mut self) {
        if self.consistency_point.is_none() {
            self.consistency_point = Some(self.log.next_sequence());
            self.log.switch_half();
        }
    }

    fn end_consistency_point(&mut self) {
        let Some(log_start) = self.consistency_point.take() else { return };
        self.superblock.consistency_point += 1;
        self.superblock.log_start = log_start;
        self.superblock.redo_start = self.log.redo_start();
        self.host = self.host.split_off(&log_start);
        self.redo = self.redo.split_off(&self.superblock.redo_start);
        self.log.release();
    }

    /// Gives the blocks that it has.
    pub fn append_redo(&mut self) -> usize {
        let most = if self.rng.one_in(3) { 64 } else { 5 };
        let blocks = 1 + self.rng.below(most) as usize;
        let (dbn, bytes) =
            (self.rng.below(1 << 30), random_bytes(&mut self.rng, blocks * BLOCK_BYTES));
        let block_tag = vec![BlockTag::from(BlockContents::lun(dbn)); blocks];
        let write = RedoWrite {
            spindle: SpindleIndex(0),
            first: Dbn(dbn),
            block_tags: &block_tag,
            bytes: vec![&bytes],
        };
        let RedoToken(number) = self.log.append_redo(&[write]);
        self.redo.insert(number, Redo { dbn, bytes, written: false, safe: false });
        blocks
    }

    fn flush(&mut self) {
        match self.flushing.take() {
            Some(safe) => {
                self.log.flush_finished();
                // They may be found nonetheless: applied again, they do no harm.
                for number in safe {
                    if let Some(redo) = self.redo.get_mut(&number) {
                        redo.safe = true;
                    }
                }
            }
            None if self.log.wants_flush() || self.rng.one_in(10) => {
                self.log.flush_started();
                let written = self.redo.iter().filter(|(_, redo)| redo.written);
                self.flushing = Some(written.map(|(number, _)| *number).collect());
            }
            None => {}
        }
    }

    /// The block writes of a redo record that is durable are done.
    pub fn write_redo(&mut self) {
        let durable = self.durable.1;
        let mut unwritten =
            self.redo.iter_mut().filter(|(at, redo)| **at <= durable && !redo.written);
        if let Some((number, redo)) = unwritten.next() {
            redo.written = true;
            self.log.redo_written(RedoToken(*number));
        }
    }

    pub fn submit(&mut self) {
        self.log.take_ios(&mut self.under_way);
        for io in &self.under_way {
            assert!(
                matches!(io.request, IoRequest::Write { durable: true, .. }) && io.device == DEVICE
            );
        }
    }

    pub fn step(&mut self) {
        if self.under_way.is_empty() {
            return;
        }
        let at = self.rng.below(self.under_way.len() as u64) as usize;
        self.step_at(at);
    }

    pub fn step_at(&mut self, at: usize) {
        let io = self.under_way.swap_remove(at);
        let IoRequest::Write { offset, from, .. } = io.request else { panic!("a write") };
        write_at(&mut self.disk, offset, from.bytes());
        let done = IoCompletion { id: io.id, device: io.device, buffer: from, result: Ok(()) };
        let durable = self.log.done(done).unwrap();
        assert!(durable.host >= self.durable.0 && durable.redo.0 >= self.durable.1);
        self.durable = (durable.host, durable.redo.0);
    }

    pub fn run(&mut self, steps: u64) {
        for _ in 0..steps {
            match self.rng.below(10) {
                0..4 => self.append(),
                4 => {
                    self.append_redo();
                }
                5 => self.flush(),
                6 => self.write_redo(),
                7 if self.rng.one_in(10) => self.begin_consistency_point(),
                7 | 8 if self.rng.one_in(5) => self.end_consistency_point(),
                _ => {
                    self.submit();
                    self.step();
                }
            }
        }
    }

    /// Of what is under way any sectors are there. What is found must be all that was durable, and nothing that was not
    /// appended. Then the log begins anew.
    pub fn crash(&mut self) {
        for io in std::mem::take(&mut self.under_way) {
            let IoRequest::Write { offset, from, .. } = io.request else { panic!("a write") };
            let kept_of_8 = self.rng.below(9);
            for (sector, bytes) in (0..).zip(from.bytes().chunks(512)) {
                if self.rng.below(8) < kept_of_8 {
                    write_at(&mut self.disk, offset + sector * 512, bytes);
                }
            }
        }
        let found = recover(&self.layout, &self.superblock, &self.disk);
        assert!(!found.breaks_off && !found.unreadable);

        let appended: Vec<&HostRecord> = self.host.values().collect();
        assert!(found.host.len() <= appended.len());
        for (found, appended) in found.host.iter().zip(&appended) {
            assert_eq!(&found, appended);
        }
        let durable = self.host.range(..=self.durable.0).count();
        assert!(found.host.len() >= durable, "{} of {durable} durable", found.host.len());

        let numbers: Vec<u64> = found.redo.iter().map(|redo| redo.sequence).collect();
        assert!(numbers.is_sorted());
        for record in &found.redo {
            let appended = &self.redo[&record.sequence];
            let bytes: Vec<u8> =
                record.blocks.iter().flat_map(|block| block.bytes.clone()).collect();
            assert_eq!((record.blocks[0].dbn, &bytes), (Dbn(appended.dbn), &appended.bytes));
        }
        for (number, _) in self.redo.range(..=self.durable.1).filter(|(_, redo)| !redo.safe) {
            assert!(numbers.contains(number), "redo record {number}");
        }

        // All of it is brought to the spindles, and a superblock says so.
        self.superblock.consistency_point += 1;
        self.superblock.log_start = found.start.host.next;
        self.superblock.redo_start = found.start.redo.next;
        self.log = Log::new(&[DEVICE], self.layout, ARRAY.tag(), found.start);
        self.host.clear();
        self.redo.clear();
        (self.consistency_point, self.flushing) = (None, None);
        self.durable = (found.start.host.last, found.start.redo.last);
        let nothing = recover(&self.layout, &self.superblock, &self.disk);
        assert!(nothing.host.is_empty() && nothing.redo.is_empty() && !nothing.breaks_off);
    }
}

/// The superblock of an array that was never shut down, with all of the log before it.
pub fn first_superblock() -> Superblock {
    Superblock { consistency_point: 1, clean: false, ..fresh::first_superblock(ARRAY) }
}
