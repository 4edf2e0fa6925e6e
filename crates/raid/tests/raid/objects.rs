//! Files over objects: what plans read and write keeps parity true, byte by byte, and data readable with a blade lost.

use std::collections::BTreeSet;

use proptest::prelude::*;
use strewn_raid::{
    CarryOutError, Member, MemberSet, ObjectLayout, ObjectLayoutConfig, StripeBytes, StripeColumn,
    StripePlan, UpdateMethod,
};

const SECTOR: usize = 512;

fn layout(blades: u16, width: u16, depth: u64, unit_sectors: u64, stripes: u64) -> ObjectLayout {
    let config = ObjectLayoutConfig::new(blades, width)
        .with_unit_bytes(unit_sectors * 512)
        .with_depth(depth);
    let file_bytes = stripes * u64::from(width - 1) * unit_sectors * 512;
    ObjectLayout::new(config, 1, file_bytes).unwrap()
}

/// A file's objects, byte by byte.
struct Objects {
    layout: ObjectLayout,
    objects: Vec<Vec<u8>>,
    lost: Option<u16>,
    read_sectors: u64,
    written_sectors: u64,
}

impl Objects {
    /// All zeros, of which parity is zero too.
    fn new(layout: ObjectLayout) -> Self {
        let bytes = layout.object_sectors() as usize * SECTOR;
        let objects = vec![vec![0; bytes]; layout.blades().into()];
        Self { layout, objects, lost: None, read_sectors: 0, written_sectors: 0 }
    }

    /// The bytes of a member in a column.
    fn bytes(&mut self, column: &StripeColumn, member: Member) -> &mut [u8] {
        let unit = self.layout.unit(column.stripe, member);
        assert_ne!(Some(unit.blade), self.lost, "{column:?} uses the lost blade");
        let from = (unit.sector + column.offsets.start) as usize * SECTOR;
        let bytes = column.unit_sectors() as usize * SECTOR;
        &mut self.objects[usize::from(unit.blade)][from..from + bytes]
    }

    /// Where the bytes of a data member in a column are in the file.
    fn in_file(&self, column: &StripeColumn, member: Member) -> usize {
        let unit = u64::from(member.0) * self.layout.unit_sectors();
        let sector = column.stripe * self.layout.stripe_sectors() + unit + column.offsets.start;
        sector as usize * SECTOR
    }

    /// Carries a column's plan out. `file` has the new contents.
    fn carry_out(&mut self, column: &StripeColumn, file: &[u8]) -> StripeBytes {
        let bytes = column.unit_sectors() as usize * SECTOR;
        let mut stripe = StripeBytes::new(self.layout.shape(), bytes).unwrap();
        for member in column.plan.read.iter() {
            stripe.old_contents(member).copy_from_slice(self.bytes(column, member));
            self.read_sectors += column.unit_sectors();
        }
        for member in column.beyond.iter() {
            stripe.old_contents(member).fill(0);
        }
        for member in column.plan.changed.iter() {
            let from = self.in_file(column, member);
            stripe.new_contents(member).copy_from_slice(&file[from..from + bytes]);
        }
        stripe.carry_out(&column.plan).unwrap();
        for member in column.plan.write.iter() {
            let contents = stripe.block(member).unwrap().to_vec();
            self.bytes(column, member).copy_from_slice(&contents);
            self.written_sectors += column.unit_sectors();
        }
        stripe
    }

    fn write(&mut self, sectors: std::ops::Range<u64>, file: &[u8]) {
        for column in self.layout.plan_write(sectors, self.lost) {
            self.carry_out(&column, file);
        }
    }

    /// Reads sectors of the file, and compares them with what is in `file`.
    fn assert_reads(&mut self, sectors: std::ops::Range<u64>, file: &[u8]) {
        let mut seen = BTreeSet::new();
        for column in self.layout.plan_read(sectors.clone(), self.lost) {
            let stripe = self.carry_out(&column, file);
            let bytes = column.unit_sectors() as usize * SECTOR;
            for member in self.layout.shape().data().iter() {
                let from = self.in_file(&column, member);
                if let Some(contents) = stripe.block(member) {
                    assert_eq!(contents, &file[from..from + bytes], "{column:?}, {member}");
                    seen.extend((from / SECTOR) as u64..((from + bytes) / SECTOR) as u64);
                }
            }
        }
        assert!(sectors.clone().all(|sector| seen.contains(&sector)), "{seen:?} of {sectors:?}");
    }

    /// Every stripe's parity is the exclusive or of its data, with the lost blade's contents as they should be.
    fn assert_parity(&self) {
        let unit = self.layout.unit_sectors() as usize * SECTOR;
        for stripe in 0..self.layout.stripes() {
            let mut sum = vec![0; unit];
            for member in self.layout.shape().members().iter() {
                let place = self.layout.unit(stripe, member);
                let from = place.sector as usize * SECTOR;
                let bytes = &self.objects[usize::from(place.blade)][from..from + unit];
                sum.iter_mut().zip(bytes).for_each(|(sum, byte)| *sum ^= byte);
            }
            assert!(sum.iter().all(|byte| *byte == 0), "parity of stripe {stripe}");
        }
    }
}

fn methods(columns: &[StripeColumn]) -> Vec<(std::ops::Range<u64>, u16, Option<UpdateMethod>)> {
    let one = |column: &StripeColumn| {
        (column.offsets.clone(), column.plan.changed.len(), column.plan.method)
    };
    columns.iter().map(one).collect()
}

#[test]
fn a_write_is_planned_column_by_column() {
    use UpdateMethod::{FullStripe, Recalculation, Subtraction};
    // Stripes of 8 + 1 units of 16 sectors.
    let layout = layout(10, 9, 1, 16, 20);
    let plan = |from: u64, to: u64| methods(&layout.plan_write(from..to, None));
    // Within a unit; of two units, overlapping; of two units, apart; all but a little; all; all and more.
    assert_eq!(plan(5, 9), [(5..9, 1, Some(Subtraction))]);
    assert_eq!(
        plan(4, 28),
        [
            (0..4, 1, Some(Subtraction)),
            (4..12, 2, Some(Subtraction)),
            (12..16, 1, Some(Subtraction))
        ]
    );
    assert_eq!(plan(12, 20), [(0..4, 1, Some(Subtraction)), (12..16, 1, Some(Subtraction))]);
    assert_eq!(plan(2, 128), [(0..2, 7, Some(Recalculation)), (2..16, 8, Some(FullStripe))]);
    assert_eq!(plan(128, 256), [(0..16, 8, Some(FullStripe))]);
    let two = plan(128, 256 + 16);
    assert_eq!(two, [(0..16, 8, Some(FullStripe)), (0..16, 1, Some(Subtraction))]);
}

#[test]
fn requests_join_what_is_adjacent_in_an_object() {
    let layout = layout(9, 9, 1, 16, 20);
    // Nine full stripes: nine units on each blade, parity among them, in one request.
    let columns = layout.plan_write(0..9 * 128, None);
    let written = |plan: &StripePlan| plan.write;
    let requests = layout.requests(&columns, written, 1_000);
    assert_eq!(requests.len(), 9);
    assert!(requests.iter().all(|one| (one.first_sector, one.sectors) == (0, 9 * 16)));
    // Cut to 64 sectors: 64, 64 and 16.
    let requests = layout.requests(&columns, written, 64);
    assert_eq!(requests[..3].iter().map(|one| one.sectors).collect::<Vec<_>>(), [64, 64, 16]);
    assert_eq!(requests.len(), 27);
    // A read leaves parity out, which divides it.
    let columns = layout.plan_read(0..9 * 128, None);
    let read = layout.requests(&columns, |plan| plan.read, 1_000);
    assert_eq!(read.iter().map(|one| one.sectors).sum::<u64>(), 9 * 128);
    assert!(read.len() > 9, "{read:?}");
}

#[test]
fn the_cost_of_full_stripes_and_small_writes() {
    let mut objects = Objects::new(layout(9, 9, 1, 16, 20));
    let file = vec![7; 20 * 128 * SECTOR];
    objects.write(0..1_280, &file);
    assert_eq!((objects.read_sectors, objects.written_sectors), (0, 1_280 * 9 / 8));
    (objects.read_sectors, objects.written_sectors) = (0, 0);
    // Old data and old parity; new data and new parity.
    objects.write(1_300..1_308, &file);
    assert_eq!((objects.read_sectors, objects.written_sectors), (16, 16));
}

#[test]
fn what_lies_beyond_the_end_of_a_file_is_neither_read_nor_written() {
    let config = ObjectLayoutConfig { blades: 10, width: 9, unit_bytes: 64 << 10, depth: 1 };
    let (unit, unit_bytes) = (128, 64 << 10);
    let commands = |units: u64, sectors: std::ops::Range<u64>| {
        let layout = ObjectLayout::new(config, 0, units * unit_bytes).unwrap();
        let columns = layout.plan_write(sectors, None);
        let plan = columns[0].plan;
        assert_eq!(columns.len(), 1);
        (plan.read.len(), plan.write.len())
    };
    // Files of one, four and seven units, written in whole.
    for units in [1, 4, 7] {
        assert_eq!(commands(units, 0..units * unit), (0, units as u16 + 1), "{units} units");
    }
    // One unit of four: old data and old parity, or three others. Three of four: the fourth.
    assert_eq!(commands(4, 0..unit), (2, 2));
    assert_eq!(commands(4, 0..3 * unit), (1, 4));
    // With its blade lost, a file of one unit is what its parity says.
    let layout = ObjectLayout::new(config, 0, unit_bytes).unwrap();
    assert_eq!(layout.plan_read(0..unit, Some(0))[0].plan.read.len(), 1);
    // Bytes do not know those zeros unless they are given.
    let column = layout.plan_write(0..unit, None).remove(0);
    let mut bytes = StripeBytes::new(layout.shape(), unit_bytes as usize).unwrap();
    column.plan.changed.iter().for_each(|member| bytes.new_contents(member).fill(1));
    let missing =
        CarryOutError::MissingBlocks { not_read: column.beyond, not_given: MemberSet::EMPTY };
    assert_eq!((bytes.carry_out(&column.plan), column.beyond.len()), (Err(missing), 7));
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(96))]

    #[test]
    fn parity_stays_true_and_data_stay_readable_with_a_blade_lost(
        width in 3..=9_u16,
        more in 0..3_u16,
        depth in 1..4_u64,
        unit in 1..6_u64,
        writes in prop::collection::vec((0..10_000_u64, 1..60_u64, any::<u8>()), 1..40),
        lose_after in 0..40_usize,
        short: u64,
        lost: u16,
    ) {
        let blades = width + more;
        let whole = layout(blades, width, depth, unit, 14);
        let unit_bytes = unit * SECTOR as u64;
        let config = ObjectLayoutConfig { blades, width, unit_bytes, depth };
        // The last stripe may have a part of its data alone.
        let missing = short % whole.stripe_sectors();
        let file_bytes = (whole.file_sectors() - missing) * SECTOR as u64;
        let layout = ObjectLayout::new(config, 1, file_bytes).unwrap();
        let sectors = layout.file_sectors();
        let mut file = vec![0; (sectors + missing) as usize * SECTOR];
        let mut objects = Objects::new(layout);
        for (number, (at, length, fill)) in writes.into_iter().enumerate() {
            if number == lose_after {
                let blade = lost % blades;
                // What the blade held is gone.
                objects.objects[usize::from(blade)].fill(0xa5);
                objects.lost = Some(blade);
            }
            let from = at % sectors;
            let to = (from + length).min(sectors);
            for (place, byte) in (0..=255_u8).cycle().zip(&mut file[from as usize * SECTOR..to as usize * SECTOR]) {
                *byte = fill.wrapping_add(place);
            }
            objects.write(from..to, &file);
            objects.assert_reads(from.saturating_sub(3)..(to + 3).min(sectors), &file);
            if objects.lost.is_none() {
                objects.assert_parity();
            }
        }
        for from in (0..sectors).step_by(11) {
            objects.assert_reads(from..(from + 11).min(sectors), &file);
        }
    }

    #[test]
    fn requests_cover_what_plans_say_once(
        blades in 3..12_u16, at in 0..2_000_u64, length in 1..900_u64, largest in 1..200_u64,
        lost: Option<u16>,
    ) {
        let layout = layout(blades, blades, 2, 8, 60);
        let sectors = layout.file_sectors();
        let (from, to) = (at % sectors, (at % sectors + length).min(sectors));
        let columns = layout.plan_write(from..to, lost.map(|lost| lost % blades));
        for members in [|plan: &StripePlan| plan.read, |plan: &StripePlan| plan.write] {
            let requests = layout.requests(&columns, members, largest);
            let planned = columns.iter().map(|one| u64::from(members(&one.plan).len()) * one.unit_sectors());
            prop_assert_eq!(requests.iter().map(|one| one.sectors).sum::<u64>(), planned.sum::<u64>());
            for two in requests.windows(2) {
                let is_after = two[0].blade < two[1].blade
                    || two[0].first_sector + two[0].sectors <= two[1].first_sector;
                prop_assert!(is_after && two[0].sectors <= largest, "{:?}", two);
            }
        }
        prop_assert!(columns.iter().all(|one| one.plan.write.intersection(MemberSet::first(blades)) == one.plan.write));
    }
}
