//! The host by itself: random reads and writes whose commands complete in any order, with consistency points that only
//! empty what is dirty. Each operation is answered once, and writes that wait for the log are logged in order.

use std::collections::{BTreeSet, VecDeque};

use strewn_base::{Direction, Rng};

use super::super::context::{LogAttempt, Next};
use super::super::fixture::{LUN_BLOCKS, Surroundings, config};
use super::super::tag::TagFields;
use super::Host;
use crate::driver::{Acknowledge, Driver, HostOperation, OperationId, Refusal};
use crate::lun_id::LunId;

/// A consistency point of which nothing is written: the host only sees what is dirty, and the log.
#[derive(Default)]
struct Emptying {
    taken: Option<Vec<u32>>,
}

impl Emptying {
    fn begin(&mut self, around: &mut Surroundings) {
        if self.taken.is_some() || around.memory.is_clean() {
            return;
        }
        around.driver.consistency_point_begins();
        let taken = around.memory.dirty.take_dirty();
        taken.iter().for_each(|key| around.memory.cache.begin_flush(*key));
        self.taken = Some(taken);
        around.is_in_progress = true;
    }

    fn end(&mut self, around: &mut Surroundings) {
        let Some(taken) = self.taken.take() else { return };
        for key in taken {
            let evicted = around.memory.cache.end_flush(key);
            around.memory.forget(evicted, &mut around.counters);
        }
        around.driver.consistency_point_ends();
        around.is_in_progress = false;
    }
}

fn carry_out(host: &mut Host<()>, around: &mut Surroundings, emptying: &mut Emptying) {
    let mut asked = around.asked();
    while let Some(next) = asked.pop_front() {
        match next {
            Next::BeginConsistencyPoint => emptying.begin(around),
            Next::Log(when, attempt) => host.log_waiting(when, attempt, &mut around.context()),
            Next::AdvanceConsistencyPoint => {}
            _ => panic!("a host has asked for what is not its own"),
        }
        let mut more = around.asked();
        more.append(&mut asked);
        asked = more;
    }
}

#[test]
fn each_operation_is_answered_once_and_no_write_overtakes_another_in_the_log() {
    for seed in 0..40 {
        let mut rng = Rng::new(seed);
        let mut config = config();
        config.cache_start = super::super::CacheStart::Empty;
        config.log.half_bytes = 64 << 10;
        let mut around = Surroundings::new(config);
        around.memory.discard_clean(&mut around.counters);
        let (mut host, mut emptying) = (Host::new(), Emptying::default());
        let mut waiting: VecDeque<u32> = VecDeque::new();
        let mut answered = BTreeSet::new();
        let mut sent = 0;
        while answered.len() < 300 {
            let context = format!("seed {seed}, {sent} operations");
            let before = around.driver.acknowledged.len();
            match rng.below(8) {
                0..3 if sent < 300 => {
                    let sectors = rng.within(1..33);
                    let first_sector = rng.below(u64::from(LUN_BLOCKS) * 8 - sectors);
                    // Half of them lie within what the cache has.
                    let first_sector =
                        if rng.one_in(2) { first_sector % 1_000 } else { first_sector };
                    let direction = match rng.one_in(2) {
                        true => Direction::Write,
                        false => Direction::Read,
                    };
                    let operation = HostOperation {
                        id: OperationId(sent),
                        lun: LunId(0),
                        direction,
                        first_sector,
                        sectors: sectors as u32,
                        payload: (),
                    };
                    sent += 1;
                    host.admit(operation, false, &mut around.context());
                }
                7 => {
                    emptying.end(&mut around);
                    let cx = &mut around.context();
                    host.log_waiting(Acknowledge::Now, LogAttempt::First, cx);
                }
                _ => {
                    let Some((fields, _)) = around.driver.any_command(&mut rng, TagFields::unpack)
                    else {
                        continue;
                    };
                    host.on_command_done(fields, &(), &mut around.context());
                }
            }
            carry_out(&mut host, &mut around, &mut emptying);
            let ids: Vec<u32> = host
                .waiting_for_log
                .iter()
                .map(|slot| host.operations[*slot as usize].host.id.0)
                .collect();
            // Whatever left the queue left it from the front.
            let gone = waiting.iter().take_while(|id| !ids.contains(id)).count();
            assert!(ids.starts_with(&waiting.make_contiguous()[gone..]), "{context}: {ids:?}");
            waiting = ids.into();
            for id in &around.driver.acknowledged[before..] {
                assert!(answered.insert(*id), "{context}: operation {id} was answered twice");
            }
            assert!(
                emptying.taken.is_some() || waiting.is_empty(),
                "{context}: nothing frees the log"
            );
            around.memory.assert_invariants();
        }
        assert!(host.is_idle() && around.driver.refused.is_empty(), "seed {seed}");
    }
}

#[test]
fn a_write_without_room_is_refused_once_no_consistency_point_can_make_any() {
    let mut around = Surroundings::new(config());
    around.space.room_blocks = 3;
    let (mut host, mut emptying) = (Host::new(), Emptying::default());
    for (id, sectors) in [(0, 24), (1, 8), (2, 32)] {
        let operation = HostOperation {
            id: OperationId(id),
            lun: LunId(0),
            direction: Direction::Write,
            first_sector: u64::from(id) * 800,
            sectors,
            payload: (),
        };
        host.admit(operation, false, &mut around.context());
        carry_out(&mut host, &mut around, &mut emptying);
    }
    // The first fits exactly; the second waits for the consistency point that makes room, the third behind it.
    assert_eq!((around.driver.acknowledged.as_slice(), host.waiting_for_log.len()), (&[0][..], 2));
    emptying.end(&mut around);
    host.log_waiting(Acknowledge::Now, LogAttempt::First, &mut around.context());
    carry_out(&mut host, &mut around, &mut emptying);
    // The second has room now. The third never has: a consistency point was tried for it.
    emptying.end(&mut around);
    host.log_waiting(Acknowledge::Now, LogAttempt::First, &mut around.context());
    carry_out(&mut host, &mut around, &mut emptying);
    assert_eq!(around.driver.acknowledged, [0, 1]);
    assert_eq!(around.driver.refused, [(2, Refusal::NoSpace)]);
}
