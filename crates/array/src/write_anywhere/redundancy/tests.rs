//! Redundancy by itself: reads of lost and bad blocks, tetrises that lock rows, and a rebuild, completed in any order.

use std::collections::BTreeSet;

use strewn_alloc::{GroupIndex, Tetris};
use strewn_base::{ROW_STRIPES, Rng};
use strewn_raid::SpindleIndex;

use super::super::context::Next;
use super::super::fixture::{Surroundings, config};
use super::super::space::Run;
use super::super::space::checksums::BlocksRead;
use super::super::tag::{Owner, TagFields};
use super::Redundancy;
use crate::failure::Rebuild;

const GROUP: GroupIndex = GroupIndex(0);

/// What has been asked for: reads that are recovered, by their first key.
fn carry_out(redundancy: &mut Redundancy<()>, around: &mut Surroundings) -> Vec<u32> {
    let mut recovered = Vec::new();
    loop {
        let mut asked = around.asked();
        if asked.is_empty() && !redundancy.end_one(&mut around.context()) {
            return recovered;
        }
        while let Some(next) = asked.pop_front() {
            match next {
                Next::Recovered(fields, Some(())) => recovered.push(fields.first_key),
                Next::RowsFree(group) => redundancy.resume(group, &mut around.context()),
                Next::AdvanceConsistencyPoint => {}
                _ => panic!("redundancy has asked for what is not its own"),
            }
        }
    }
}

#[test]
fn each_read_is_recovered_once_and_never_while_its_rows_are_written() {
    for seed in 0..60 {
        let mut rng = Rng::new(seed);
        let mut around = Surroundings::new(config());
        let rebuild = Rebuild { spares: 1, steps_in_flight: 3 };
        let mut redundancy = Redundancy::new(1, rebuild);
        around.space.begin_losses([Vec::new()].into_iter());
        let failed = SpindleIndex(rng.below(4) as u16);
        redundancy.on_spindle_failed(failed, &mut around.context()).unwrap();
        let stripes = around.space.group(GROUP).stripes();
        let rows = stripes / ROW_STRIPES;
        let mut writing: Vec<Tetris<u32>> = Vec::new();
        let mut waiting = BTreeSet::new();
        let mut asked = 0;
        while redundancy.failures()[0].is_open() || !waiting.is_empty() || !writing.is_empty() {
            let context = format!("seed {seed}, {asked} reads");
            match rng.below(8) {
                0 if asked < 200 => {
                    let blocks = rng.within(1..100) as u32;
                    let dbn = rng.below(stripes - u64::from(blocks));
                    let run = Run { group: GROUP, spindle: failed, dbn, blocks };
                    let epoch_parity = around.memory.reads.sent();
                    let (owner, first_key) = (Owner::HostOperation, asked);
                    let fields = TagFields { owner, slot: 0, first_key, blocks, epoch_parity };
                    let read = BlocksRead::From(first_key);
                    redundancy.recover(fields, run, read, &mut around.context());
                    waiting.insert(asked);
                    asked += 1;
                }
                1 if writing.len() < 3 => {
                    let first_stripe = rng.below(rows) * ROW_STRIPES;
                    let tetris = Tetris {
                        group: GROUP,
                        first_stripe,
                        written: vec![0; 4],
                        contents: vec![],
                    };
                    let is_written = writing.iter().any(|one| one.first_stripe == first_stripe);
                    if !is_written && around.space.may_write(&tetris) {
                        let locked = around.driver.commands.iter().find(|command| {
                            let first = command.first_sector / 8;
                            let end = first + u64::from(command.sectors / 8);
                            first < first_stripe + ROW_STRIPES && end > first_stripe
                        });
                        assert!(locked.is_none(), "{context}: a row is written while {locked:?}");
                        writing.push(tetris);
                    }
                }
                2 if !writing.is_empty() => {
                    let tetris = writing.swap_remove(rng.below(writing.len() as u64) as usize);
                    around.space.on_tetris_written(&tetris);
                    redundancy.resume(GROUP, &mut around.context());
                }
                _ => {
                    let Some((fields, command)) =
                        around.driver.any_command(&mut rng, TagFields::unpack)
                    else {
                        continue;
                    };
                    let row = command.first_sector / 8 / ROW_STRIPES;
                    assert!(
                        writing.iter().all(|one| one.first_stripe / ROW_STRIPES != row),
                        "{context}: {command:?} was in flight while its row was written"
                    );
                    let cx = &mut around.context();
                    match fields.owner {
                        Owner::Recovery => {
                            redundancy.on_recovery_command_done(fields, Some(()), cx);
                        }
                        Owner::Rebuild => redundancy.on_rebuild_command_done(fields, Some(()), cx),
                        owner => panic!("{owner:?} has sent {command:?}"),
                    }
                }
            }
            for read in carry_out(&mut redundancy, &mut around) {
                assert!(waiting.remove(&read), "{context}: read {read} was recovered twice");
            }
        }
        let losses = around.space.losses_of(GROUP).unwrap();
        assert!(losses.lost.is_empty() && around.driver.commands.is_empty(), "seed {seed}");
        for first_stripe in (0..rows).map(|row| row * ROW_STRIPES) {
            let tetris =
                Tetris { group: GROUP, first_stripe, written: vec![0; 4], contents: vec![] };
            assert!(
                around.space.may_write(&tetris),
                "seed {seed}: row {first_stripe} stays locked"
            );
        }
    }
}

#[test]
fn a_third_loss_says_what_is_gone() {
    let mut around = Surroundings::new(config());
    let mut redundancy = Redundancy::<()>::new(1, Rebuild::default());
    around.space.begin_losses([Vec::new()].into_iter());
    for spindle in [0, 1] {
        redundancy.on_spindle_failed(SpindleIndex(spindle), &mut around.context()).unwrap();
    }
    let lost = redundancy.on_spindle_failed(SpindleIndex(5), &mut around.context()).unwrap_err();
    assert_eq!(lost.spindles, [0, 1, 5].map(SpindleIndex));
    assert_eq!(lost.stripes, lost.stripes_in_all);
    assert!(lost.lun_bytes > 0);
}
