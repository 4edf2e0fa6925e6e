//! One thing at a time: which I/Os a store makes, and what it says when they fail.

use strewn_array::{BlockContents, Root};
use strewn_live::device::{
    BLOCK_BYTES, DeviceIndex, Devices, Io, IoCompletion, IoError, IoRequest,
};
use strewn_live::format::{
    BlockTag, Identity, MAXIMUM_GROUPS, Superblock, checksum_block, device_block,
};
use strewn_live::store::{BlockState, ReadOutcome, SpindleWriteError, StoreEvent, Token};
use strewn_raid::{Dbn, SpindleIndex};

use super::rig::{Rig, SPINDLES};

impl Rig {
    pub fn random_sector(&mut self) -> u64 {
        self.rng.below(8)
    }

    /// Does what there is to do in the order in which it was asked for.
    pub fn submit_in_order(&mut self) {
        loop {
            let mut ios = Vec::new();
            self.store.take_ios(&mut ios);
            if ios.is_empty() {
                break;
            }
            for io in ios {
                let id = io.id;
                self.devices.submit(io);
                let done = self.devices.complete(id).unwrap();
                self.store.done(done);
            }
        }
        self.collect();
    }

    pub fn finish_all(&mut self) -> Vec<StoreEvent> {
        let mut finished = Vec::new();
        loop {
            self.submit();
            let before = finished.len();
            self.store.take_events(&mut finished);
            if finished[before..].iter().any(|one| matches!(one, StoreEvent::SpindleLost(_))) {
                self.store.on_losses_recorded();
                continue;
            }
            let Some(done) = self.devices.step() else { break };
            self.store.done(done);
        }
        self.store.take_events(&mut finished);
        finished
    }

    pub fn read_now(
        &mut self,
        spindle: u16,
        first: u64,
        sectors: u32,
    ) -> Result<ReadOutcome, SpindleWriteError> {
        self.store.read(Token(0), SpindleIndex(spindle), first, sectors);
        match self.finish_all().pop() {
            Some(StoreEvent::Read { result, .. }) => result,
            other => panic!("{other:?}"),
        }
    }

    fn ios(&mut self) -> Vec<Io> {
        let mut ios = Vec::new();
        self.store.take_ios(&mut ios);
        ios
    }
}

/// Device block and blocks of each I/O.
fn extents(ios: &[Io]) -> Vec<(u64, usize, bool)> {
    let mut extents: Vec<_> = ios
        .iter()
        .map(|io| match &io.request {
            IoRequest::Read { offset, into } => (offset / BLOCK_BYTES as u64, into.blocks(), false),
            IoRequest::Write { offset, from, .. } => {
                (offset / BLOCK_BYTES as u64, from.blocks(), true)
            }
            IoRequest::Flush => (0, 0, true),
        })
        .collect();
    extents.sort_unstable();
    extents
}

fn write(rig: &mut Rig, token: u64, block: u64, blocks: usize) {
    let bytes = vec![token as u8; blocks * BLOCK_BYTES];
    let block_tag = vec![BlockTag::from(BlockContents::Parity); blocks];
    rig.store.write(Token(token), SpindleIndex(0), block * 8, &[&bytes], &block_tag, 1);
}

#[test]
fn whole_rows_go_out_with_their_checksums() {
    let mut rig = Rig::plain(0);
    write(&mut rig, 1, 0, 5 * 64);
    assert_eq!(extents(&rig.ios()), [(16, 4 * 65, true), (16 + 4 * 65, 65, true)]);
}

#[test]
fn writes_of_a_row_share_its_checksum_block() {
    let mut rig = Rig::plain(0);
    write(&mut rig, 1, 0, 64);
    rig.finish_all();
    for (token, block) in [(2, 3), (3, 10), (4, 20)] {
        write(&mut rig, token, block, 2);
    }
    let ios = rig.ios();
    assert_eq!(
        extents(&ios),
        [(19, 2, true), (26, 2, true), (36, 2, true), (checksum_block(0), 1, true)]
    );
    // While it is in flight, others wait for it, and share the next.
    write(&mut rig, 5, 30, 1);
    write(&mut rig, 6, 40, 1);
    let more = rig.ios();
    assert_eq!(extents(&more), [(46, 1, true), (56, 1, true)]);
    for io in ios.into_iter().chain(more) {
        rig.devices.submit(io);
    }
    while let Some(done) = rig.devices.step() {
        rig.store.done(done);
    }
    assert_eq!(extents(&rig.ios()), [(checksum_block(0), 1, true)]);
}

#[test]
fn a_read_to_the_end_of_a_row_takes_the_checksums_along() {
    let mut rig = Rig::plain(0);
    rig.store.read(Token(1), SpindleIndex(0), 60 * 8, 4 * 8);
    assert_eq!(extents(&rig.ios()), [(76, 5, false)]);
    rig.restart();
    rig.store.read(Token(1), SpindleIndex(0), 60 * 8, 3 * 8);
    assert_eq!(extents(&rig.ios()), [(76, 3, false), (checksum_block(0), 1, false)]);
}

#[test]
fn a_part_of_a_bad_block_is_not_written() {
    let mut rig = Rig::plain(0);
    write(&mut rig, 1, 0, 3);
    rig.finish_all();
    rig.devices.corrupt(DeviceIndex(0), device_block(Dbn(2)) * BLOCK_BYTES as u64, 1);
    rig.store.write(
        Token(2),
        SpindleIndex(0),
        9,
        &[&[7; 12 * 512]],
        &[BlockTag::from(BlockContents::Nothing); 2],
        1,
    );
    match &rig.finish_all()[..] {
        [StoreEvent::Write { result: Err(SpindleWriteError::BadBlocks { bad }), .. }] => {
            assert_eq!(bad, &[false, true]);
        }
        other => panic!("{other:?}"),
    }
    // As a whole it is.
    write(&mut rig, 3, 2, 1);
    assert!(matches!(rig.finish_all()[..], [StoreEvent::Write { result: Ok(()), .. }]));
    assert!(!rig.read_now(0, 0, 24).unwrap().any_bad());
}

#[test]
fn a_write_heals_its_entry_of_an_unreadable_checksum_block() {
    let mut rig = Rig::plain(0);
    write(&mut rig, 1, 0, 3);
    rig.finish_all();
    rig.restart();
    rig.devices.make_unreadable(DeviceIndex(0), checksum_block(0) * BLOCK_BYTES as u64, 512);
    write(&mut rig, 2, 1, 1);
    rig.finish_all();
    rig.restart();
    assert_eq!(rig.read_now(0, 0, 24).unwrap().bad(), [true, false, true]);
}

#[test]
fn no_space_fails_the_write_alone() {
    let mut rig = Rig::plain(0);
    write(&mut rig, 1, 0, 3);
    rig.finish_all();
    rig.devices.set_full(DeviceIndex(0), true);
    write(&mut rig, 2, 1, 1);
    write(&mut rig, 3, 64, 64);
    let finished = rig.finish_all();
    assert_eq!(finished.len(), 2);
    for finished in finished {
        assert!(matches!(
            finished,
            StoreEvent::Write { result: Err(SpindleWriteError::NoSpace), .. }
        ));
    }
    rig.devices.set_full(DeviceIndex(0), false);
    // Nothing of it was done: the entries in memory were dropped, and those of the device are good.
    assert_eq!(rig.read_now(0, 0, 24).unwrap().bad(), [false; 3]);
    assert_eq!(rig.read_now(0, 64 * 8, 8).unwrap().bad(), [false]);
}

#[test]
fn a_lost_spindle_is_reported_once() {
    let mut rig = Rig::plain(0);
    write(&mut rig, 1, 0, 30);
    rig.store.read(Token(2), SpindleIndex(0), 64 * 8, 16);
    rig.store.flush(Token(3));
    rig.store.read(Token(4), SpindleIndex(1), 0, 16);
    rig.submit();
    rig.devices.lose_device(DeviceIndex(0), "pulled");
    let finished = rig.finish_all();
    let lost =
        finished.iter().filter(|of| matches!(of, StoreEvent::SpindleLost(SpindleIndex(0)))).count();
    assert_eq!((lost, finished.len()), (1, 5), "{finished:?}");
    for finished in &finished {
        match finished {
            StoreEvent::SpindleLost(_) => {}
            StoreEvent::Write { token: Token(1), result } => {
                assert_eq!(result, &Err(SpindleWriteError::SpindleLost))
            }
            StoreEvent::Read { token: Token(2), result } => {
                assert_eq!(result, &Err(SpindleWriteError::SpindleLost))
            }
            StoreEvent::Flush { token: Token(3), result } => assert_eq!(result, &Ok(())),
            StoreEvent::Read { token: Token(4), result } => assert!(result.is_ok()),
            other => panic!("{other:?}"),
        }
    }
    assert_eq!(rig.read_now(0, 0, 8), Err(SpindleWriteError::SpindleLost));
    let blank = strewn_live::device::SimulatedDisk::zeroed(rig.size());
    rig.devices.replace(DeviceIndex(0), blank);
    rig.store.admit_spindle(SpindleIndex(0));
    assert!(!rig.read_now(0, 0, 8).unwrap().any_bad());
}

#[test]
fn a_superblock_follows_a_flush_to_every_spindle() {
    let mut rig = Rig::plain(0);
    let root = Root { held_back_blocks: 3, ..Root::default() };
    let superblock = Superblock {
        array: Identity([7; 16]),
        consistency_point: 5,
        log_start: 9,
        log_durable: 0,
        map_sequences: [0; MAXIMUM_GROUPS],
        redo_start: 2,
        root,
        label_sequence: 1,
        clean: false,
    };
    rig.store.drop_spindle(SpindleIndex(1));
    rig.store.flush(Token(1));
    let flushes = rig.ios();
    assert_eq!(flushes.len(), 2);
    assert!(flushes.iter().all(|io| matches!(io.request, IoRequest::Flush)));
    for io in flushes {
        rig.devices.submit(io);
    }
    match &rig.finish_all()[..] {
        [StoreEvent::Flush { token: Token(1), result: Ok(()) }] => {}
        other => panic!("{other:?}"),
    }
    rig.store.write_superblock(Token(2), &superblock);
    match &rig.finish_all()[..] {
        [StoreEvent::Superblock { token: Token(2), result: Ok(()) }] => {}
        other => panic!("{other:?}"),
    }
    rig.devices.crash();
    for spindle in 0..SPINDLES {
        let mut block = vec![0; BLOCK_BYTES];
        rig.devices.disk(DeviceIndex(spindle)).read(2 * BLOCK_BYTES as u64, &mut block).unwrap();
        let found = Superblock::newest([&block[..]], Identity([7; 16]));
        assert_eq!(found, (spindle != 1).then(|| superblock.clone()));
    }
}

/// What the one before it was asked comes back late, and is of no interest.
#[test]
fn a_replacement_answers_for_itself_alone() {
    let mut rig = Rig::plain(0);
    write(&mut rig, 1, 0, 30);
    rig.store.read(Token(2), SpindleIndex(0), 64 * 8, 16);
    rig.submit();
    rig.store.drop_spindle(SpindleIndex(0));
    let mut finished = Vec::new();
    rig.store.take_events(&mut finished);
    assert_eq!(finished.len(), 2);
    let blank = strewn_live::device::SimulatedDisk::zeroed(rig.size());
    rig.devices.replace(DeviceIndex(0), blank);
    rig.store.admit_spindle(SpindleIndex(0));
    write(&mut rig, 3, 10, 3);
    match &rig.finish_all()[..] {
        [StoreEvent::Write { token: Token(3), result: Ok(()) }] => {}
        other => panic!("{other:?}"),
    }
    let outcome = rig.read_now(0, 9 * 8, 5 * 8).unwrap();
    let written: Vec<bool> =
        outcome.blocks.iter().map(|of| of != &BlockState::NeverWritten).collect();
    assert_eq!(written, [false, true, true, true, false]);
    assert!(!outcome.any_bad());
}

/// A read of blocks whose writes found no space waited for space.
#[test]
fn regression_reads_do_not_wait_for_writes_without_space() {
    for rows in [1, 64, 200] {
        let mut rig = Rig::plain(0);
        write(&mut rig, 1, 0, 200);
        assert!(rig.finish_all().len() == 1);
        rig.devices.set_full(DeviceIndex(0), true);
        let bytes = vec![9; rows * BLOCK_BYTES];
        let tags = vec![BlockTag::from(BlockContents::Parity); rows];
        rig.store.write(Token(2), SpindleIndex(0), 0, &[&bytes], &tags, 2);
        // As the engine does: it sends them again later.
        let mut refused = Vec::new();
        for _ in 0..2 {
            rig.submit();
            while let Some(done) = rig.devices.step() {
                if done.result == Err(IoError::NoSpace) {
                    rig.store.refused(done.id, &done.buffer);
                    refused.push(done);
                } else {
                    rig.store.done(done);
                }
            }
        }
        assert!(!refused.is_empty());
        let read = rig.read_now(0, 0, 200 * 8).unwrap();
        assert!(!read.any_bad());
        assert!(read.bytes[..rows * BLOCK_BYTES].iter().all(|byte| *byte == 9), "as it will be");
        assert!(read.bytes[rows * BLOCK_BYTES..].iter().all(|byte| *byte == 1), "as it was");
        rig.devices.set_full(DeviceIndex(0), false);
        for done in refused {
            rig.store.done(IoCompletion { result: Ok(()), ..done });
        }
        let written = rig.finish_all();
        assert!(matches!(written[..], [StoreEvent::Write { token: Token(2), result: Ok(()) }]));
    }
}
