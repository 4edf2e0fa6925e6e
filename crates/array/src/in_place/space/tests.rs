//! Space by itself: spindles fail, are rebuilt and replaced in random order, against what must hold of all segments.

use std::collections::BTreeSet;

use strewn_base::Rng;
use strewn_raid::{SpindleIndex, StripedLayout};

use super::super::fixture::{GROUP, vraid_config};
use super::{DiskGroup, Rebuilding, Space};

/// A disk group, and what is being rebuilt.
struct Rebuild {
    group: DiskGroup,
    under_way: Vec<Rebuilding>,
    failures: usize,
}

impl Rebuild {
    fn fail(&mut self, spindle: SpindleIndex) {
        let used = self.group.layout.segments_used(self.group.end_sector);
        self.group.losses_or_new();
        let DiskGroup { layout, losses: Some(losses), .. } = &mut self.group else { return };
        for earlier in &mut losses.lost {
            earlier.segments.lose_those_on(spindle);
        }
        self.failures += usize::from(losses.lose(layout, spindle, self.failures, used).is_some());
        for segment in self.under_way.drain(..) {
            losses.give_up_rebuilding(&segment);
        }
    }

    fn failed(&self) -> usize {
        self.group.losses.as_ref().map_or(0, |losses| losses.lost.len())
    }

    fn has_failed(&self, spindle: SpindleIndex) -> bool {
        let losses = self.group.losses.as_ref();
        losses.is_some_and(|losses| losses.lost.iter().any(|lost| lost.spindle == spindle))
    }

    /// Rebuilds what can be rebuilt.
    fn finish_all(&mut self) {
        loop {
            while !self.under_way.is_empty() {
                self.finish(0);
            }
            let DiskGroup { layout, losses: Some(losses), .. } = &mut self.group else { return };
            let Some(segment) = losses.begin_next(layout) else { return };
            self.under_way.push(segment);
        }
    }

    fn finish(&mut self, at: usize) {
        let DiskGroup { layout, losses: Some(losses), end_sector, .. } = &mut self.group else {
            return;
        };
        let segment = self.under_way.swap_remove(at);
        losses.on_rebuilt(&segment);
        losses.drop_rebuilt_spindle(segment.spindle, || layout.spares(*end_sector));
    }

    fn assert_is_sound(&self, context: &str) {
        let DiskGroup { layout, losses: Some(losses), .. } = &self.group else { return };
        let segment_sectors = layout.segment_sectors();
        let used = layout.segments_used(self.group.end_sector);
        let mut places = BTreeSet::new();
        for spindle in (0..layout.spindles()).map(SpindleIndex) {
            for segment in 0..used {
                let Some(place) = losses.place(spindle, segment * segment_sectors) else {
                    continue;
                };
                assert!(places.insert(place), "{context}: {place:?} has two segments");
                let is_home = place == (spindle, segment * segment_sectors);
                let holder = losses.lost.iter().find(|lost| lost.spindle == place.0);
                assert!(
                    holder.is_none_or(|holder| holder.is_replaced && is_home),
                    "{context}: {place:?} is on a failed spindle"
                );
            }
        }
        for stripe in 0..layout.stripes() {
            let is_under_way = self.under_way.iter().any(|one| one.stripes.contains(&stripe));
            assert_eq!(losses.is_kept(stripe), is_under_way, "{context}: stripe {stripe}");
        }
        for lost in &losses.lost {
            let of_spindle = |segment| losses.place(lost.spindle, segment * segment_sectors);
            let rebuilt = (0..used).filter(|segment| of_spindle(*segment).is_some()).count();
            assert_eq!(lost.segments.rebuilt(), rebuilt as f64 / used as f64, "{context}");
        }
    }
}

#[test]
fn no_two_segments_share_a_place_and_none_is_on_a_failed_spindle() {
    for seed in strewn_testing::seeds(40, 4_000) {
        let mut rng = Rng::new(seed);
        let space = Space::new(vraid_config(&mut rng), false).unwrap();
        let group = DiskGroup::new(&space.config.groups[0], space.groups[GROUP].end_sector);
        let mut rebuild = Rebuild { group, under_way: Vec::new(), failures: 0 };
        for step in 0..150 {
            let spindle = SpindleIndex(rng.below(9) as u16);
            let under_way = rebuild.under_way.len() as u64;
            match rng.below(20) {
                // The reserve absorbs two failures.
                0 if rebuild.has_failed(spindle) || rebuild.failed() < 2 => rebuild.fail(spindle),
                1 => {
                    let Some(losses) = &mut rebuild.group.losses else { continue };
                    let lost = losses.lost.iter_mut().find(|lost| lost.spindle == spindle);
                    if let Some(lost) = lost {
                        (lost.is_replaced, lost.segments.next) = (true, 0);
                        // As for a rebuild whose steps have no command in flight.
                        let of_spindle = |one: &mut Rebuilding| one.spindle == spindle;
                        for segment in rebuild.under_way.extract_if(.., of_spindle) {
                            losses.give_up_rebuilding(&segment);
                        }
                    }
                }
                2..10 => {
                    let DiskGroup { layout, losses: Some(losses), .. } = &mut rebuild.group else {
                        continue;
                    };
                    rebuild.under_way.extend(losses.begin_next(layout));
                }
                _ if under_way > 0 => rebuild.finish(rng.below(under_way) as usize),
                _ => {}
            }
            rebuild.assert_is_sound(&format!("seed {seed}, step {step}"));
        }
        rebuild.finish_all();
        rebuild.assert_is_sound(&format!("seed {seed}"));
        let losses = rebuild.group.losses_or_new();
        let is_whole = losses.lost.iter().all(|lost| lost.segments.are_whole());
        assert!(is_whole, "seed {seed}: a segment that has room is not rebuilt");
    }
}

#[test]
fn a_group_with_reserve_is_whole_again() {
    for seed in strewn_testing::seeds(20, 1_000) {
        let mut rng = Rng::new(seed);
        let space = Space::new(vraid_config(&mut rng), false).unwrap();
        let group = DiskGroup::new(&space.config.groups[0], space.groups[GROUP].end_sector);
        let mut rebuild = Rebuild { group, under_way: Vec::new(), failures: 0 };
        for spindle in [rng.below(4), rng.within(4..9)] {
            rebuild.fail(SpindleIndex(spindle as u16));
            rebuild.finish_all();
            let losses = rebuild.group.losses_or_new();
            assert!(losses.lost.iter().all(|lost| lost.segments.are_whole()), "seed {seed}");
        }
        rebuild.assert_is_sound(&format!("seed {seed}"));
    }
}
