//! Redundancy by itself: spindles fail while reads are recovered and segments are rebuilt.

use std::collections::{BTreeMap, BTreeSet};

use strewn_base::Rng;
use strewn_raid::{SpindleIndex, StripedLayout};

use super::super::context::Next;
use super::super::fixture::{GROUP, Surroundings, vraid_config};
use super::super::space::Run;
use super::super::space::blocks::BlockSet;
use super::super::tag::{Kind, TagFields};
use super::recovery::DIRECT;
use super::{GroupRedundancy, Redundancy};

/// An array of which only redundancy works. Some of its stripes are being destaged.
struct Harness {
    surroundings: Surroundings,
    redundancy: Redundancy<()>,
    /// How often each read has had its sectors, by its number.
    answers: BTreeMap<usize, u32>,
    destaged: Vec<u64>,
    /// How often destages were asked to begin, during an event.
    destages_asked: u32,
}

impl Harness {
    fn fail(&mut self, spindle: SpindleIndex) {
        let cx = &mut self.surroundings.context();
        self.redundancy.on_spindle_failed(spindle, cx).unwrap();
        self.carry_out();
        let commands = std::mem::take(&mut self.surroundings.driver.commands);
        let (failed, kept) = commands.into_iter().partition(|command| command.spindle == spindle);
        self.surroundings.driver.commands = kept;
        for command in failed {
            self.end(TagFields::of(command.tag), None);
        }
    }

    fn end(&mut self, tag: TagFields, outcome: Option<(&(), &BlockSet)>) {
        let cx = &mut self.surroundings.context();
        match tag.kind {
            Kind::Recovery => self.redundancy.on_recovery_command_done(tag, outcome, cx),
            Kind::Step => self.redundancy.on_rebuild_command_done(tag, outcome, cx),
            other => panic!("redundancy has sent a command of {other:?}"),
        }
        self.carry_out();
    }

    /// A command ends, if there is one. It is of a spindle that works.
    fn end_command(&mut self, rng: &mut Rng, context: &str) -> bool {
        let Some((tag, command)) = self.surroundings.driver.any_command(rng, TagFields::of) else {
            return false;
        };
        let losses = self.surroundings.space.groups[GROUP].losses.as_ref().unwrap();
        let lost = losses.lost.iter().find(|lost| lost.spindle == command.spindle);
        assert!(lost.is_none_or(|lost| lost.is_replaced), "{context}: to a failed spindle");
        let kept = self.kept();
        self.destages_asked = 0;
        self.end(tag, Some((&(), &BlockSet::EMPTY)));
        let is_unlocked = !kept.is_subset(&self.kept());
        assert!(!is_unlocked || self.destages_asked > 0, "{context}: destages are not told");
        true
    }

    /// The stripes that destages leave out.
    fn kept(&self) -> BTreeSet<u64> {
        let group = &self.surroundings.space.groups[GROUP];
        (0..group.layout.stripes()).filter(|stripe| group.is_kept(*stripe)).collect()
    }

    /// What lost sectors are computed from does not change while it is read.
    fn assert_is_sound(&self, context: &str) {
        let group = &self.surroundings.space.groups[GROUP];
        let GroupRedundancy { recoveries, steps, .. } = &self.redundancy.groups[GROUP];
        for command in &self.surroundings.driver.commands {
            let TagFields { kind, slot, detail, .. } = TagFields::of(command.tag);
            let stripes = match kind {
                Kind::Recovery if detail == DIRECT => continue,
                Kind::Recovery => recoveries[slot].stripe..recoveries[slot].stripe + 1,
                _ => steps[slot].segment.stripes.clone(),
            };
            assert!(!group.is_destaged(stripes), "{context}: reads what a destage is changing");
        }
    }

    /// A read of lost sectors.
    fn read(&mut self, number: usize, run: Run) {
        let fields = TagFields { kind: Kind::HostRead, group: GROUP, slot: number, detail: 0 };
        self.answers.insert(number, 0);
        self.redundancy.recover(fields, run, &mut self.surroundings.context());
        self.carry_out();
    }

    /// A destage begins in a stripe that none may leave out, or the oldest one ends.
    fn destage(&mut self, stripe: u64) {
        let group = &mut self.surroundings.space.groups[GROUP];
        if !group.is_destaged(stripe..stripe + 1) && !group.is_kept(stripe) {
            group.lock_for_destage(stripe..stripe + 1);
            self.destaged.push(stripe);
        } else if !self.destaged.is_empty() {
            let ended = self.destaged.remove(0);
            group.unlock_destaged(ended..ended + 1);
            self.redundancy.on_stripes_free(GROUP, &mut self.surroundings.context());
            self.carry_out();
        }
    }

    fn carry_out(&mut self) {
        let Self { redundancy, answers, destages_asked, .. } = self;
        self.surroundings.carry_out(|next, surroundings| {
            let cx = &mut surroundings.context();
            match next {
                Next::StripesFree(group) => redundancy.on_stripes_free(group, cx),
                Next::BeginRecovery(group, slot) => redundancy.begin_recovery(group, slot, cx),
                Next::AdvanceRebuild(group) => redundancy.advance_rebuild(group, cx),
                Next::EndLosses(group) => redundancy.end_losses(group, cx.space),
                Next::Recovered(fields, (), gone) => {
                    assert!(gone.is_empty());
                    *answers.get_mut(&fields.slot).unwrap() += 1;
                }
                Next::Destage => *destages_asked += 1,
                _ => panic!("redundancy asks for what has nothing to do with it"),
            }
        });
    }

    /// Whether parity and reserve make good the loss of `spindle` too.
    fn may_fail(&self, spindle: SpindleIndex) -> bool {
        let group = &self.surroundings.space.groups[GROUP];
        let lost = group.losses.as_ref().map_or(&[][..], |losses| &losses.lost);
        let known = lost.iter().find(|lost| lost.spindle == spindle);
        let has_reserve = known.map_or(lost.len() < 2, |lost| lost.is_replaced);
        has_reserve
            && (0..group.layout.stripes()).all(|stripe| {
                let stripe = group.layout.stripe(stripe);
                let members = stripe.units().filter(|(_, unit)| {
                    let place = group.place_now(unit.spindle, unit.sector);
                    place.is_none_or(|(other, _)| other == spindle)
                });
                members.count() <= 1
            })
    }

    fn is_whole(&self) -> bool {
        let losses = self.surroundings.space.groups[GROUP].losses.as_ref();
        losses.is_none_or(|losses| losses.lost.iter().all(|lost| lost.segments.are_whole()))
    }
}

#[test]
fn lost_sectors_are_recovered_once_and_lost_segments_rebuilt() {
    for seed in strewn_testing::seeds(60, 6_000) {
        let mut rng = Rng::new(seed);
        let surroundings = Surroundings::new(vraid_config(&mut rng));
        let redundancy = Redundancy::new(&surroundings.space);
        let (answers, destaged) = (BTreeMap::new(), Vec::new());
        let mut harness =
            Harness { surroundings, redundancy, answers, destaged, destages_asked: 0 };
        let lun_sectors = harness.surroundings.space.groups[GROUP].end_sector;
        let mut failed: Vec<SpindleIndex> = Vec::new();
        for step in 0..400 {
            let context = format!("seed {seed}, step {step}");
            let sector = rng.below(lun_sectors);
            match rng.below(10) {
                0 => {
                    let spindle = SpindleIndex(rng.below(9) as u16);
                    if harness.may_fail(spindle) {
                        harness.fail(spindle);
                        failed.push(spindle);
                    }
                }
                1 | 2 if harness.surroundings.place_now(sector).is_none() => {
                    let group = &harness.surroundings.space.groups[GROUP];
                    let (spindle, first_sector) = group.place_by_layout(sector);
                    harness.read(step, Run { spindle, first_sector, sectors: 1 });
                }
                3 => {
                    let stripe = harness.surroundings.space.groups[GROUP].stripe_of(sector).0;
                    harness.destage(stripe);
                }
                4 if rng.one_in(10) && !failed.is_empty() => {
                    let cx = &mut harness.surroundings.context();
                    harness.redundancy.on_replaced(*rng.pick(&failed), cx);
                    harness.carry_out();
                }
                _ => {
                    harness.end_command(&mut rng, &context);
                }
            }
            harness.assert_is_sound(&context);
        }
        let context = format!("seed {seed}, at the end");
        loop {
            if harness.end_command(&mut rng, &context) {
                continue;
            }
            let Some(stripe) = harness.destaged.first().copied() else { break };
            harness.destage(stripe);
        }
        assert!(harness.is_whole(), "{context}: a segment is not rebuilt");
        assert!(
            harness.answers.values().all(|count| *count == 1),
            "{context}: not one answer each"
        );
        assert!(harness.kept().is_empty(), "{context}: a stripe is still locked");
    }
}
