//! Host operations by themselves: each is answered once, whatever it waits for.

use std::collections::BTreeMap;

use strewn_base::{Direction, Rng};

use crate::driver::{HostOperation, OperationId};
use crate::log::LogRecord;
use crate::lun_id::LunId;

use super::super::context::Next;
use super::super::fixture::{GROUP, Surroundings, any_config};
use super::super::space::blocks::BlockSet;
use super::super::tag::{Kind, TagFields};
use super::{Host, range_of};

/// An array of which only the host's part works. Its destages are done at once.
struct Harness {
    surroundings: Surroundings,
    host: Host<()>,
}

impl Harness {
    fn issue(&mut self, id: u32, direction: Direction, sectors: std::ops::Range<u64>) {
        let operation = HostOperation {
            id: OperationId(id),
            lun: LunId(0),
            direction,
            first_sector: sectors.start,
            sectors: (sectors.end - sectors.start) as u32,
            payload: (),
        };
        let cx = &mut self.surroundings.context();
        match direction {
            Direction::Read => self.host.on_read(GROUP, operation, cx),
            Direction::Write => self.host.on_write(GROUP, operation, cx),
        }
        self.carry_out();
    }

    fn end_command(&mut self, rng: &mut Rng) -> bool {
        let Some((tag, _)) = self.surroundings.driver.any_command(rng, TagFields::of) else {
            return false;
        };
        let cx = &mut self.surroundings.context();
        match tag.kind {
            Kind::HostRead => self.host.on_read_done(tag, &(), &BlockSet::EMPTY, cx),
            Kind::ReadAhead => {
                // Now and then its spindle is lost.
                let payload = (!rng.one_in(5)).then_some(&());
                self.host.on_read_ahead_done(tag, payload, &BlockSet::EMPTY, cx);
            }
            other => panic!("a host operation has sent a command of {other:?}"),
        }
        self.carry_out();
        true
    }

    /// Whether the first write that waits would find room in the cache and in the log.
    fn waits_in_vain(&self) -> bool {
        let Surroundings { space, memory, driver, .. } = &self.surroundings;
        let Some(first) = memory.waiting_for_room.front() else { return false };
        let HostOperation { lun, first_sector, sectors, .. } = *first;
        let record = LogRecord::Write { lun, first_sector, sectors };
        let log = space.config.log;
        memory.room_for(GROUP, range_of(first)).is_some()
            && log.is_none_or(|log| {
                driver.log.room_bytes() >= log.record_header_bytes + record.data_bytes()
            })
    }

    /// Writes some of what is dirty, and frees the full half of the log if that is all.
    fn destage(&mut self, rng: &mut Rng) {
        let cache = &mut self.surroundings.memory.groups[GROUP].cache;
        let runs: Vec<_> = cache.dirty_runs().collect();
        for run in runs.into_iter().filter(|_| !rng.one_in(3)) {
            cache.begin_destage(run.clone());
            cache.end_destage(run);
        }
        if cache.is_empty() && self.surroundings.log_is_draining {
            self.surroundings.log_is_draining = false;
            self.surroundings.driver.log.release();
        }
        self.host.admit_waiting(&mut self.surroundings.context());
        self.carry_out();
    }

    fn carry_out(&mut self) {
        let host = &mut self.host;
        self.surroundings.carry_out(|next, surroundings| match next {
            Next::Write(write, when) => {
                host.write_or_wait(write, when, &mut surroundings.context());
            }
            Next::CompleteWrite(group, write) => {
                host.complete_waiting(group, write, &mut surroundings.context());
            }
            Next::ReadAheadDone(group, read, blocks, payload) => {
                host.end_wait(group, read, blocks, payload, &mut surroundings.context());
            }
            Next::AdmitWaiting => host.admit_waiting(&mut surroundings.context()),
            Next::OpenLogDrain => {
                surroundings.log_is_draining = true;
                surroundings.driver.log.switch();
            }
            Next::Destage | Next::FinishLogDrain => {}
            _ => panic!("the host's part asks for what has nothing to do with it"),
        });
    }
}

#[test]
fn each_operation_is_answered_once() {
    for seed in strewn_testing::seeds(60, 6_000) {
        let mut rng = Rng::new(seed);
        let config = any_config(&mut rng);
        let config = if rng.one_in(2) { config.durable() } else { config };
        let surroundings = Surroundings::new(config);
        let host = Host::new(&surroundings.space);
        let mut harness = Harness { surroundings, host };
        if rng.one_in(2) {
            let (ahead, kept) = (rng.below(9) * 4_096, rng.below(9) * 4_096);
            let Surroundings { space, memory, .. } = &mut harness.surroundings;
            harness.host.set_read_cache(ahead, kept, space, memory);
        }
        let lun_sectors = harness.surroundings.space.groups[GROUP].end_sector;
        let (mut issued, mut stream, mut written) = (0, 0, Vec::new());
        for _ in 0..300 {
            match rng.below(5) {
                0 | 1 => {
                    let sectors = rng.within(1..30).min(lun_sectors);
                    // Half of the reads go on where the one before ended.
                    let direction = *rng.pick(&[Direction::Read, Direction::Write]);
                    let start = match rng.one_in(2) && stream + sectors <= lun_sectors {
                        true => stream,
                        false => rng.below(lun_sectors - sectors + 1),
                    };
                    match direction {
                        Direction::Read => stream = start + sectors,
                        Direction::Write => written.push(issued),
                    }
                    harness.issue(issued, direction, start..start + sectors);
                    issued += 1;
                }
                2 => harness.destage(&mut rng),
                _ => {
                    harness.end_command(&mut rng);
                }
            }
            harness.surroundings.memory.assert_invariants();
            assert!(!harness.waits_in_vain(), "seed {seed}: a write waits, and there is room");
        }
        for _ in 0..10_000 {
            harness.end_command(&mut rng);
            harness.destage(&mut rng);
        }
        if harness.surroundings.space.config.log.is_none() {
            let acknowledged = harness.surroundings.driver.acknowledged.iter();
            let writes: Vec<u32> =
                acknowledged.copied().filter(|id| written.contains(id)).collect();
            assert_eq!(writes, written, "seed {seed}: a write has overtaken another");
        }
        let mut answers: BTreeMap<u32, u32> = BTreeMap::new();
        for id in &harness.surroundings.driver.acknowledged {
            *answers.entry(*id).or_default() += 1;
        }
        assert!(answers.values().all(|count| *count == 1), "seed {seed}: answered twice");
        assert_eq!(answers.len() as u32, issued, "seed {seed}: an operation has no answer");
        assert!(harness.host.is_clean(), "seed {seed}: a write still owns its blocks");
        assert!(harness.host.groups[GROUP].reads.is_empty(), "seed {seed}: a read is left");
        assert!(harness.surroundings.memory.waiting_for_room.is_empty(), "seed {seed}");
    }
}
