//! What a client reads and writes of objects, for an access to a file.

use std::ops::Range;

use crate::{DataLoss, MemberSet, ObjectLayout, StripePlan};

/// A part of a stripe of which the same members change, or are wanted: the sectors `offsets` of each unit.
///
/// An access may begin and end within a unit. Its stripe then has up to three columns, each with a plan of its own, so
/// that no more of a unit is read or written than parity needs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StripeColumn {
    /// The stripe.
    pub stripe: u64,
    /// Sectors of each unit, from its first.
    pub offsets: Range<u64>,
    /// What to read, compute and write of these.
    pub plan: StripePlan,
    /// Units that lie beyond the end of the file there. They hold zeros, and are neither read nor written.
    pub beyond: MemberSet,
}

impl StripeColumn {
    /// Sectors of a unit in the column.
    pub fn unit_sectors(&self) -> u64 {
        self.offsets.end - self.offsets.start
    }
}

/// A request to a blade.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ObjectRequest {
    /// The blade.
    pub blade: u16,
    /// Its first sector in the file's object on that blade.
    pub first_sector: u64,
    /// Its sectors.
    pub sectors: u64,
}

impl ObjectLayout {
    /// Plans a read of the file's `sectors` while a blade may be `lost`.
    ///
    /// # Panics
    ///
    /// If `sectors` are not the file's.
    pub fn plan_read(&self, sectors: Range<u64>, lost: Option<u16>) -> Vec<StripeColumn> {
        self.plan(sectors, lost, |wanted, lost, _| self.shape().plan_read(wanted, lost))
    }

    /// Plans a write of the file's `sectors` while a blade may be `lost`. Each column is updated by the method that
    /// reads and writes least.
    ///
    /// # Panics
    ///
    /// If `sectors` are not the file's.
    pub fn plan_write(&self, sectors: Range<u64>, lost: Option<u16>) -> Vec<StripeColumn> {
        self.plan(sectors, lost, |changed, lost, beyond| {
            let plan = self.shape().plan_update(changed, lost)?;
            if beyond.is_empty() {
                return Ok(plan);
            }
            // What holds zeros may be taken as written with zeros.
            let with_zeros = self.shape().plan_update(changed.union(beyond), lost)?;
            let commands = |plan: &StripePlan| within_file(*plan, beyond).commands();
            Ok(if commands(&with_zeros) < commands(&plan) { with_zeros } else { plan })
        })
    }

    fn plan(
        &self,
        sectors: Range<u64>,
        lost: Option<u16>,
        plan: impl Fn(MemberSet, MemberSet, MemberSet) -> Result<StripePlan, DataLoss>,
    ) -> Vec<StripeColumn> {
        assert!(sectors.end <= self.file_sectors(), "{sectors:?} end past the file");
        let stripe_sectors = self.stripe_sectors();
        let mut columns = Vec::new();
        for stripe in self.stripes_of(&sectors) {
            let first = stripe * stripe_sectors;
            let start = sectors.start.max(first) - first;
            let end = sectors.end.min(first + stripe_sectors) - first;
            let lost = lost.map_or(MemberSet::EMPTY, |blade| self.members_on(stripe, blade));
            for (offsets, members) in self.columns_of(start..end) {
                // One lost blade is one lost member, which parity covers.
                let beyond = self.beyond(stripe, offsets.start);
                let plan = plan(members, lost, beyond);
                let plan = plan.unwrap_or_else(|loss| unreachable!("{loss}"));
                let plan = within_file(plan, beyond);
                columns.push(StripeColumn { stripe, offsets, plan, beyond });
            }
        }
        columns
    }

    /// The units of a stripe that lie beyond the end of the file from `offset` on.
    fn beyond(&self, stripe: u64, offset: u64) -> MemberSet {
        let left = self.file_sectors().saturating_sub(stripe * self.stripe_sectors() + offset);
        let units = left.div_ceil(self.unit_sectors()).min(self.shape().data_blocks().into());
        self.shape().data().difference(MemberSet::first(units as u16))
    }

    /// Divides a part of a stripe's data into ranges of offsets in a unit, each with the units that it touches.
    fn columns_of(&self, part: Range<u64>) -> impl Iterator<Item = (Range<u64>, MemberSet)> {
        let unit = self.unit_sectors();
        let (first_unit, last_unit) = (part.start / unit, (part.end - 1) / unit);
        let begins = part.start % unit;
        let ends = part.end - last_unit * unit;
        let bounds = [0, begins.min(ends), begins.max(ends), unit];
        bounds.into_iter().zip(bounds.into_iter().skip(1)).filter_map(move |(from, to)| {
            let is_in = |member: &u64| {
                (*member > first_unit || from >= begins) && (*member < last_unit || to <= ends)
            };
            let members = (first_unit..=last_unit).filter(is_in);
            let members: MemberSet = members.map(|member| crate::Member(member as u8)).collect();
            (from < to && !members.is_empty()).then_some((from..to, members))
        })
    }

    /// The requests for what `columns` read or write, as `members` chooses: neighbouring sectors of an object in one,
    /// of up to `largest_sectors`. They are in the order of blades, and of sectors in each.
    ///
    /// # Panics
    ///
    /// If `largest_sectors` is zero.
    pub fn requests(
        &self,
        columns: &[StripeColumn],
        members: impl Fn(&StripePlan) -> MemberSet,
        largest_sectors: u64,
    ) -> Vec<ObjectRequest> {
        assert!(largest_sectors > 0, "requests of no sectors");
        let mut pieces: Vec<ObjectRequest> = Vec::new();
        for column in columns {
            pieces.extend(members(&column.plan).iter().map(|member| {
                let unit = self.unit(column.stripe, member);
                ObjectRequest {
                    blade: unit.blade,
                    first_sector: unit.sector + column.offsets.start,
                    sectors: column.unit_sectors(),
                }
            }));
        }
        pieces.sort_unstable();
        let mut requests: Vec<ObjectRequest> = Vec::new();
        for mut piece in pieces {
            while piece.sectors > 0 {
                let room = requests.last_mut().filter(|last| {
                    last.blade == piece.blade
                        && last.first_sector + last.sectors == piece.first_sector
                        && last.sectors < largest_sectors
                });
                let taken = match room {
                    Some(last) => {
                        let taken = piece.sectors.min(largest_sectors - last.sectors);
                        last.sectors += taken;
                        taken
                    }
                    None => {
                        let taken = piece.sectors.min(largest_sectors);
                        requests.push(ObjectRequest { sectors: taken, ..piece });
                        taken
                    }
                };
                piece.first_sector += taken;
                piece.sectors -= taken;
            }
        }
        requests
    }
}

/// A plan without units that hold zeros.
fn within_file(plan: StripePlan, beyond: MemberSet) -> StripePlan {
    StripePlan {
        changed: plan.changed.difference(beyond),
        read: plan.read.difference(beyond),
        write: plan.write.difference(beyond),
        ..plan
    }
}
