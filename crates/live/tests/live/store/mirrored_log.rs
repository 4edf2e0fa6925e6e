//! A log on two devices, through crashes that leave something else on each.

use strewn_array::BlockContents;
use strewn_base::Rng;
use strewn_live::device::{BLOCK_BYTES, Buffer, DeviceIndex, Io, IoCompletion, IoError, IoRequest};
use strewn_live::format::{BlockTag, LogLayout, RedoWrite, Superblock};
use strewn_live::log::{Log, LogReadError, LogStart, RecoveredLog, RedoToken, read_log};
use strewn_raid::{Dbn, SpindleIndex};

use super::log_model::{ARRAY, append_unmap, append_write, first_superblock};
use super::rig::random_bytes;

const LOGS: [DeviceIndex; 2] = [DeviceIndex(3), DeviceIndex(4)];

struct Mirror {
    rng: Rng,
    layout: LogLayout,
    disks: [Vec<u8>; 2],
    log: Log,
    under_way: Vec<Io>,
    superblock: Superblock,
}

impl Mirror {
    fn new(seed: u64) -> Self {
        println!("seed {seed}");
        let rng = Rng::new(seed);
        let layout = LogLayout::new(120_000, 1);
        let blank = vec![0; layout.device_blocks() as usize * BLOCK_BYTES];
        let superblock = first_superblock();
        let log = Log::new(&LOGS, layout, ARRAY.tag(), LogStart::NEW);
        let disks = [blank.clone(), blank];
        Self { rng, layout, disks, log, under_way: Vec::new(), superblock }
    }

    /// Appends a record, of either stream; returns false if there is no room.
    fn append(&mut self) -> bool {
        let at = self.rng.below(1 << 30);
        if self.rng.one_in(4) {
            let bytes = random_bytes(&mut self.rng, BLOCK_BYTES);
            let block_tags = [BlockTag::from(BlockContents::lun(at))];
            let first = Dbn(at);
            let spindle = SpindleIndex(0);
            let write = RedoWrite { spindle, first, block_tags: &block_tags, bytes: vec![&bytes] };
            self.log.append_redo(&[write]);
            return true;
        }
        let sectors = 1 + self.rng.below(12) as usize;
        let data = random_bytes(&mut self.rng, sectors * 512);
        append_write(&mut self.log, at, &data).is_some()
    }

    fn write(&mut self, io: &Io, result: &Result<(), IoError>, part: usize) {
        let IoRequest::Write { offset, from, .. } = &io.request else { panic!("a write") };
        if result.is_ok() {
            let disk = &mut self.disks[usize::from(io.device.0 - LOGS[0].0)];
            disk[*offset as usize..][..part].copy_from_slice(&from.bytes()[..part]);
        }
    }

    fn complete(&mut self, at: usize, result: Result<(), IoError>) {
        let io = self.under_way.swap_remove(at);
        self.write(&io, &result, io.extent().unwrap().1 as usize);
        let IoRequest::Write { from: buffer, .. } = io.request else { panic!("a write") };
        let done = IoCompletion { id: io.id, device: io.device, buffer, result };
        self.log.done(done).unwrap();
    }

    /// Every write in flight is there, in part or not, on each device by itself.
    fn crash(&mut self) {
        for io in std::mem::take(&mut self.under_way) {
            let bytes = io.extent().unwrap().1;
            let part = match self.rng.below(3) {
                0 => 0,
                1 => bytes as usize,
                _ => self.rng.below(bytes / 512 + 1) as usize * 512,
            };
            self.write(&io, &Ok(()), part);
        }
    }

    fn recover(&self, devices: &[DeviceIndex]) -> Result<RecoveredLog, LogReadError> {
        read_log(&self.layout, &self.superblock, devices, &mut |device, offset, bytes| {
            let disk = &self.disks[usize::from(device.0 - LOGS[0].0)];
            Ok(disk[offset as usize..][..bytes].to_vec())
        })
    }

    fn repair(&mut self, found: &RecoveredLog) {
        for repair in &found.repairs {
            let disk = &mut self.disks[usize::from(repair.device.0 - LOGS[0].0)];
            let bytes: &Buffer = &repair.bytes;
            disk[repair.offset as usize..][..bytes.bytes().len()].copy_from_slice(bytes.bytes());
        }
    }
}

fn is_durable(found: &RecoveredLog, durable: (u64, RedoToken)) -> bool {
    let host: Vec<u64> = found.host.iter().map(|record| record.sequence()).collect();
    let redo: Vec<u64> = found.redo.iter().map(|record| record.sequence).collect();
    (1..=durable.0).all(|number| host.contains(&number))
        && (1..=durable.1.0).all(|number| redo.contains(&number))
}

#[test]
fn what_was_durable_is_found_and_then_on_both() {
    for seed in 0..300 {
        let mut mirror = Mirror::new(seed);
        for _ in 0..mirror.rng.below(40) {
            if !mirror.append() {
                break;
            }
            mirror.log.take_ios(&mut mirror.under_way);
            while !mirror.under_way.is_empty() && mirror.rng.one_in(2) {
                let at = mirror.rng.below(mirror.under_way.len() as u64) as usize;
                mirror.complete(at, Ok(()));
                mirror.log.take_ios(&mut mirror.under_way);
            }
        }
        let durable = mirror.log.durable();
        mirror.crash();
        // One of them may have lost anything since.
        let spoiled = mirror.rng.below(3) as usize;
        if let Some(disk) = mirror.disks.get_mut(spoiled) {
            for _ in 0..1 + seed % 40 {
                let at = mirror.rng.below(disk.len() as u64) as usize;
                let end = (at + mirror.rng.below(5_000) as usize).min(disk.len());
                disk[at..end].fill(0x77);
            }
        }
        let found = mirror.recover(&LOGS).unwrap();
        assert!(!found.breaks_off && is_durable(&found, (durable.host, durable.redo)));
        mirror.repair(&found);
        let both = mirror.recover(&LOGS).unwrap();
        assert!(both.repairs.is_empty() && both.findings.is_empty());
        for log in LOGS {
            let alone = mirror.recover(&[log]).unwrap();
            assert_eq!((&alone.host, &alone.redo), (&found.host, &found.redo));
            assert_eq!(alone.start, found.start);
        }
    }
}

#[test]
fn a_record_is_durable_when_both_devices_have_it_or_one_is_known_to_have_failed() {
    let mut mirror = Mirror::new(1);
    append_unmap(&mut mirror.log, 0, 1).unwrap();
    mirror.log.take_ios(&mut mirror.under_way);
    assert_eq!(mirror.under_way.len(), 2);
    mirror.complete(0, Ok(()));
    assert_eq!(mirror.log.durable().host, 0);
    mirror.complete(0, Err(IoError::Gone("pulled".to_owned())));
    assert_eq!(mirror.log.durable().host, 0, "the labels do not say so yet");
    let failing = mirror.log.failing().unwrap();
    append_unmap(&mut mirror.log, 1, 1).unwrap();
    mirror.log.take_ios(&mut mirror.under_way);
    assert_eq!(mirror.under_way.len(), 1);
    assert_ne!(mirror.under_way[0].device, failing);
    mirror.complete(0, Ok(()));
    assert_eq!(mirror.log.durable().host, 0);
    assert_eq!(mirror.log.failure_recorded().host, 2);
    assert_eq!(mirror.log.failing(), None);
}
