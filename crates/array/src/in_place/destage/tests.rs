//! Destages by themselves: random sectors become dirty and commands end in random order.

use std::collections::{BTreeMap, BTreeSet};

use strewn_base::{Direction, Rng};

use super::super::context::Next;
use super::super::fixture::{GROUP, Surroundings, any_config};
use super::super::space::blocks::BlockSet;
use super::super::tag::TagFields;
use super::Destaging;

/// An array of which only destages work: it has dirty sectors, and spindles.
struct Harness {
    surroundings: Surroundings,
    destaging: Destaging<()>,
    /// Destages that have sent writes, by slot: they read nothing more.
    writing: BTreeSet<usize>,
}

impl Harness {
    fn begin(&mut self) {
        self.destaging.begin(&mut self.surroundings.context());
    }

    /// A command ends, if there is one. Returns whether there was.
    fn end_command(&mut self, rng: &mut Rng, context: &str) -> bool {
        for command in &self.surroundings.driver.commands {
            let TagFields { slot, .. } = TagFields::of(command.tag);
            if command.direction == Direction::Write {
                self.writing.insert(slot);
            } else {
                assert!(!self.writing.contains(&slot), "{context}: reads what it has written");
            }
        }
        let Some((tag, _)) = self.surroundings.driver.any_command(rng, TagFields::of) else {
            return false;
        };
        let outcome = Some((&(), &BlockSet::EMPTY));
        let cx = &mut self.surroundings.context();
        if self.destaging.on_command_done(tag, outcome, cx) {
            self.writing.remove(&tag.slot);
            self.begin();
            self.destaging.finish_log_drain(&mut self.surroundings.context());
        }
        self.settle(context);
        true
    }

    fn open_drain(&mut self, context: &str) {
        self.destaging.open_log_drain(&mut self.surroundings.context());
        self.begin();
        self.destaging.finish_log_drain(&mut self.surroundings.context());
        self.settle(context);
    }

    /// Carries out what was asked for, and commits what is to be committed.
    fn settle(&mut self, context: &str) {
        if std::mem::take(&mut self.surroundings.driver.commits) > 0 {
            self.destaging.on_committed(&mut self.surroundings.context());
        }
        let destaging = &mut self.destaging;
        self.surroundings.carry_out(|next, surroundings| match next {
            Next::Destage => destaging.begin(&mut surroundings.context()),
            Next::FinishLogDrain => destaging.finish_log_drain(&mut surroundings.context()),
            Next::AdmitWaiting => {}
            _ => panic!("{context}: a destage asks for what has nothing to do with it"),
        });
    }

    /// No stripe has two destages, and what is in flight is what they took.
    fn assert_is_sound(&self, context: &str) {
        let mut stripes = BTreeMap::new();
        let group = &self.surroundings.space.groups[GROUP];
        for (slot, destage) in self.destaging.groups[GROUP].destages.iter() {
            for sector in destage.taken().iter().flat_map(Clone::clone) {
                let other = stripes.insert(group.stripe_of(sector).0, slot);
                assert!(other.is_none_or(|other| other == slot), "{context}: two of one stripe");
            }
        }
        assert!(stripes.keys().all(|stripe| group.is_destaged(*stripe..stripe + 1)), "{context}");
        self.destaging.assert_invariants(&self.surroundings.memory);
    }
}

#[test]
fn a_drain_writes_all_that_was_dirty_and_stripes_have_one_destage_each() {
    for seed in strewn_testing::seeds(60, 6_000) {
        let mut rng = Rng::new(seed);
        let config = any_config(&mut rng);
        let config = if rng.one_in(3) { config.durable() } else { config };
        let surroundings = Surroundings::new(config);
        let destaging = Destaging::new(&surroundings.space);
        let mut harness = Harness { surroundings, destaging, writing: BTreeSet::new() };
        let lun_sectors = harness.surroundings.space.groups[GROUP].end_sector;
        // How often a sector had been written to its spindle when it was last made dirty.
        let mut written_before: BTreeMap<u64, u32> = BTreeMap::new();
        for step in 0..200 {
            let context = format!("seed {seed}, step {step}");
            if rng.one_in(3) {
                let start = rng.below(lun_sectors) / 8 * 8;
                let sectors = start..(start + 8 * rng.within(1..12)).min(lun_sectors);
                for sector in sectors.clone() {
                    let place = harness.surroundings.place_now(sector).unwrap();
                    let writes = harness.surroundings.driver.writes.get(&place);
                    written_before.insert(sector, writes.copied().unwrap_or(0));
                }
                harness.surroundings.memory.groups[GROUP].cache.write(sectors);
                harness.begin();
            } else if rng.one_in(30) && !harness.destaging.has_log_drain() {
                harness.open_drain(&context);
            } else {
                harness.end_command(&mut rng, &context);
            }
            harness.assert_is_sound(&context);
        }
        let context = format!("seed {seed}, in the last drain");
        while harness.destaging.has_log_drain() && harness.end_command(&mut rng, &context) {}
        let drains = harness.surroundings.counters.consistency_points;
        harness.open_drain(&context);
        while harness.end_command(&mut rng, &context) {}
        assert!(!harness.destaging.has_log_drain(), "seed {seed}: the drain has not ended");
        assert_eq!(harness.surroundings.counters.consistency_points, drains + 1, "seed {seed}");
        assert!(harness.surroundings.memory.is_clean(), "seed {seed}: sectors are still dirty");
        for (sector, before) in written_before {
            let place = harness.surroundings.place_now(sector).unwrap();
            let writes = harness.surroundings.driver.writes.get(&place).copied().unwrap_or(0);
            assert!(writes > before, "seed {seed}: sector {sector} was not written");
        }
    }
}
