//! The log, through crashes.

use proptest::prelude::*;
use strewn_live::device::{BLOCK_BYTES, DeviceIndex, Io, IoCompletion, IoError, IoRequest};
use strewn_live::format::{LogLayout, Superblock};
use strewn_live::log::{Log, LogStart, read_log};

use super::log_model::{ARRAY, DEVICE, Model, append_unmap, append_write, recover};

#[test]
fn what_was_durable_is_found_after_any_crash() {
    for seed in 0..150 {
        let mut model = Model::new(seed);
        for _ in 0..6 {
            let steps = model.rng.below(250);
            model.run(steps);
            model.crash();
        }
    }
}

/// Eight records that fill a block, and a ninth in the next. A crash leaves the first and the ninth.
#[test]
fn what_lies_behind_a_torn_record_is_never_found() {
    let mut model = Model::new(6);
    append_write(&mut model.log, 0, &[1; 512]).unwrap();
    model.submit();
    model.step();
    append_write(&mut model.log, 10, &[2; 512]).unwrap();
    append_write(&mut model.log, 20, &[3; 6 * 512]).unwrap();
    for first_sector in 30..37 {
        append_unmap(&mut model.log, first_sector, 1).unwrap();
    }
    model.submit();
    let IoRequest::Write { offset, from, .. } = model.under_way.remove(0).request else {
        panic!("a write")
    };
    assert_eq!(from.blocks(), 2);
    for block_tag in [0..1024, BLOCK_BYTES..2 * BLOCK_BYTES] {
        model.disk[offset as usize..][block_tag.clone()].copy_from_slice(&from.bytes()[block_tag]);
    }
    let found = recover(&model.layout, &model.superblock, &model.disk);
    let numbers = |found: &strewn_live::log::RecoveredLog| -> Vec<u64> {
        found.host.iter().map(|record| record.sequence()).collect()
    };
    assert_eq!(numbers(&found), [1, 2]);

    // Seven more, up to the ninth's place, and its number were they counted on from what was found.
    model.superblock.log_start = found.start.host.next;
    model.log = Log::new(&[DEVICE], model.layout, ARRAY.tag(), found.start);
    append_write(&mut model.log, 40, &[4; 8 * 512]).unwrap();
    for first_sector in 50..56 {
        append_unmap(&mut model.log, first_sector, 1).unwrap();
    }
    model.submit();
    model.step();
    let next = found.start.host.next;
    let found = recover(&model.layout, &model.superblock, &model.disk);
    assert_eq!(numbers(&found), (next..next + 7).collect::<Vec<_>>());
}

#[test]
fn records_gather_while_groups_are_written() {
    let mut model = Model::new(1);
    for _ in 0..10 {
        model.append();
        model.submit();
    }
    assert_eq!(model.under_way.len(), 8, "a record a group, and no more groups at once");
    // The second is done first, and counts when the first is.
    model.under_way.swap(0, 1);
    model.step_at(0);
    assert_eq!(model.durable.0, 0);
    let first = model.under_way.iter().position(|io| io.id.0 == 0).unwrap();
    model.step_at(first);
    assert_eq!(model.durable.0, 2);
    model.submit();
    assert_eq!(model.under_way.len(), 7, "the last two have gathered");
    while !model.under_way.is_empty() {
        model.step();
    }
    assert_eq!(model.durable.0, 10);
}

/// What the other half has follows the records of this one: it is not written before these are durable.
#[test]
fn a_half_is_not_begun_before_the_one_before_it_is_durable() {
    let mut model = Model::new(1);
    model.append();
    model.submit();
    model.begin_consistency_point();
    model.append();
    model.submit();
    assert_eq!(model.under_way.len(), 1);
    model.step();
    model.submit();
    assert_eq!((model.under_way.len(), model.durable.0), (1, 1));
}

#[test]
fn a_log_of_another_array_is_empty() {
    let mut model = Model::new(2);
    model.run(100);
    while !model.under_way.is_empty() {
        model.step();
    }
    let mut superblock = model.superblock;
    assert!(!recover(&model.layout, &superblock, &model.disk).host.is_empty());
    superblock.array.0[3] ^= 1;
    let found = recover(&model.layout, &superblock, &model.disk);
    assert!(found.host.is_empty() && found.redo.is_empty() && !found.breaks_off);
}

#[test]
#[should_panic(expected = "while another protects its half of the log")]
fn a_half_that_was_not_released_is_not_written() {
    let mut model = Model::new(3);
    model.log.switch_half();
    model.log.release();
    model.log.switch_half();
    model.log.switch_half();
}

#[test]
fn a_log_that_failed_makes_nothing_durable() {
    let mut model = Model::new(4);
    model.append();
    model.submit();
    let io = model.under_way.remove(0);
    let IoRequest::Write { from, .. } = io.request else { panic!("a write") };
    let gone = IoError::Gone("pulled".to_owned());
    let done =
        IoCompletion { id: io.id, device: io.device, buffer: from, result: Err(gone.clone()) };
    assert_eq!(model.log.done(done), Err(gone));
    assert!(model.log.failed().is_some());
    model.append();
    model.submit();
    assert!(model.under_way.is_empty());
}

/// A record in the middle that decays: what is behind it in its half is lost, and the other half says that it is.
#[test]
fn a_log_that_breaks_off_says_so() {
    let mut model = Model::new(5);
    for round in 0..2 {
        for _ in 0..3 {
            model.append();
            model.submit();
            model.step();
        }
        if round == 0 {
            model.begin_consistency_point();
        }
    }
    let whole = recover(&model.layout, &model.superblock, &model.disk);
    assert_eq!((whole.host.len(), whole.breaks_off), (6, false));
    let at = model.layout.halves()[0] as usize + BLOCK_BYTES;
    model.disk[at + 20] ^= 1;
    let found = recover(&model.layout, &model.superblock, &model.disk);
    assert!(found.host.len() < 3 && found.breaks_off);
    // A block that cannot be read is as bad.
    model.disk[at + 20] ^= 1;
    let disk = &model.disk;
    let mut read = |_: DeviceIndex, offset: u64, bytes: usize| -> Result<Vec<u8>, IoError> {
        let range = offset as usize..offset as usize + bytes;
        if range.contains(&at) { Err(IoError::Unreadable) } else { Ok(disk[range].to_vec()) }
    };
    let found = read_log(&model.layout, &model.superblock, &[DEVICE], &mut read).unwrap();
    assert!(found.host.len() < 3 && found.breaks_off && found.unreadable);
}

/// A record that decays while all is in one half: whatever is behind it says that it was durable, but for the last.
#[test]
fn a_record_that_is_lost_amid_a_half_is_missed() {
    let mut model = Model::new(8);
    let mut groups = Vec::new();
    for _ in 0..6 {
        model.append();
        model.submit();
        groups.push(model.under_way[0].extent().unwrap().0);
        model.step();
    }
    for (at, offset) in groups.iter().enumerate() {
        let header = *offset as usize + 20;
        model.disk[header] ^= 1;
        let found = recover(&model.layout, &model.superblock, &model.disk);
        // Nobody knows of the last one that it was acknowledged.
        assert_eq!((found.host.len(), found.breaks_off), (at, at < 5));
        // What is covered is not needed.
        let covering = Superblock { log_start: 7, ..model.superblock.clone() };
        let found = recover(&model.layout, &covering, &model.disk);
        assert_eq!((found.host.len(), found.breaks_off), (0, false));
        model.disk[header] ^= 1;
    }
}

/// What a group says of the records before it is in each of its records.
#[test]
fn a_record_is_missed_by_what_any_record_of_a_later_group_says() {
    let mut model = Model::new(9);
    append_unmap(&mut model.log, 0, 1).unwrap();
    model.submit();
    // A group that is appended to before the first is durable, and after.
    append_unmap(&mut model.log, 1, 1).unwrap();
    let first = model.under_way[0].extent().unwrap().0 as usize;
    model.step();
    append_unmap(&mut model.log, 2, 1).unwrap();
    model.submit();
    model.step();
    model.disk[first + 20] ^= 1;
    let found = recover(&model.layout, &model.superblock, &model.disk);
    assert_eq!((found.host.len(), found.breaks_off), (0, true));
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 64, ..ProptestConfig::default() })]

    /// However the records fall into groups: the log asserts that a group fits.
    #[test]
    fn what_is_accounted_for_has_room(
        half in 10_000..300_000_u64,
        records in prop::collection::vec((0..20_usize, any::<bool>()), 400),
    ) {
        let layout = LogLayout::new(half, 1);
        prop_assert!(layout.half_bytes() >= half);
        let mut log = Log::new(&[DEVICE], layout, ARRAY.tag(), LogStart::NEW);
        let mut accounted = 0;
        for (sectors, goes_out) in records {
            let data = vec![0; sectors * 512];
            let needed = LogLayout::accounted_bytes(data.len() as u64);
            let room = accounted + needed <= half;
            accounted += needed;
            match append_write(&mut log, 0, &data) {
                None if room => prop_assert!(false, "no room for {} of {}", accounted, half),
                None => break,
                Some(_) if goes_out => {
                    let mut ios = Vec::new();
                    log.take_ios(&mut ios);
                    for Io { id, device, request } in ios {
                        let IoRequest::Write { from, .. } = request else { panic!("a write") };
                        log.done(IoCompletion { id, device, buffer: from, result: Ok(()) }).unwrap();
                    }
                }
                Some(_) => {}
            }
        }
    }
}

/// The half that was free when the flush began has records when it is done, none of them flushed.
#[test]
fn a_flush_releases_only_what_was_there_when_it_began() {
    let mut model = Model::new(7);
    model.log.flush_started();
    let half = model.layout.redo_half_blocks;
    let mut appended = 0;
    while appended < half + 64 {
        appended += model.append_redo() as u64;
        model.submit();
        model.step();
    }
    model.log.flush_finished();
    assert_eq!(model.log.redo_start(), 1);
    model.write_redo();
    assert_eq!(model.log.redo_start(), 2);
    model.run(2000);
    model.crash();
}
