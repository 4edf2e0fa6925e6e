//! Failed drives, drives that replace them, and what is read and written instead.

use strewn_array::Direction;

use super::super::resilver::MissingBlocks;
use super::{BlockIo, Drives, PARITY, Purpose, mirror_place};
use crate::io_scheduler::Class;
use crate::raid_z::Column;
use crate::stripe::Stripe;
use crate::vdev::{Redundancy, Vdev};

/// What a drive of a mirror has of a block.
#[derive(Debug, PartialEq, Eq)]
pub enum Copy {
    /// It can be read.
    Held,
    /// It is resilvered, and trusted only if no other drive holds it.
    Resilvered,
    /// It is not there.
    Lost,
}

impl Drives {
    /// A drive fails: what waits for it is read from others, or not written.
    pub fn fail(&mut self, now_ns: u64, drive: u16) {
        self.failed[usize::from(drive)] = true;
        self.any_failed = true;
        self.missing[usize::from(drive)] = None;
        for request in self.queues[usize::from(drive)].take_waiting() {
            if !request.is_optional {
                self.request_failed(now_ns, request.owner, request.direction);
            }
        }
    }

    /// A spare replaces a failed drive, without the blocks of `missing`.
    pub fn replace(&mut self, drive: u16, missing: MissingBlocks) {
        self.failed[usize::from(drive)] = false;
        self.missing[usize::from(drive)] = Some(missing);
    }

    /// A distributed spare of its vdev replaces a failed drive: the drives that are left stand in for it.
    pub fn replace_by_spare(&mut self, drive: u16, spare: u8, missing: MissingBlocks) {
        self.spared[usize::from(drive)] = Some(spare);
        self.missing[usize::from(drive)] = Some(missing);
    }

    /// Whether a distributed spare replaces a drive.
    pub fn is_spared(&self, drive: u16) -> bool {
        self.spared[usize::from(drive)].is_some()
    }

    /// The drives that a column leads to: its own, the one that stands in for a distributed spare that replaces it, and
    /// so on. Returns the last, which has the column.
    fn follow(&self, vdev: u16, column: &Column, mut visit: impl FnMut(u16)) -> u16 {
        let first = self.first_of(vdev);
        let mut drive = first + u16::from(column.drive);
        visit(drive);
        if self.any_failed
            && let Some(layout) = self.vdevs[usize::from(vdev)].draid()
        {
            // It ends: each spare is of one drive, and no drive stands in for two at one place.
            while let Some(spare) = self.spared[usize::from(drive)] {
                drive = first + u16::from(layout.spare_drive(spare, column.first_sector));
                visit(drive);
            }
        }
        drive
    }

    /// The drive that has a column.
    #[inline]
    pub fn drive_of(&self, vdev: u16, column: &Column) -> u16 {
        self.follow(vdev, column, |_| {})
    }

    /// Whether a column is, or was, on a drive.
    fn is_column_on(&self, vdev: u16, column: &Column, drives: &[u16]) -> bool {
        let mut is_on = false;
        self.follow(vdev, column, |drive| is_on |= drives.contains(&drive));
        is_on
    }

    /// Whether a block of dRAID has a column that is, or was, on a drive, be it as a spare.
    pub fn is_block_on(&self, (vdev, offset): (u16, u64), bytes: u32, drive: u16) -> bool {
        let stripes = self.vdevs[usize::from(vdev)].striped().into_iter();
        let mut stripes = stripes.flat_map(|striped| striped.stripes(offset, bytes.into()));
        stripes.any(|stripe| {
            let mut columns = stripe.parity().chain(stripe.full_data());
            columns.any(|column| self.is_column_on(vdev, &column, &[drive]))
        })
    }

    /// Whether a column can be read: nothing is missing where it leads.
    pub(super) fn holds_column(
        &self,
        (vdev, offset): (u16, u64),
        column: &Column,
        trusts: bool,
    ) -> bool {
        let mut is_held = true;
        let last = self.follow(vdev, column, |drive| {
            is_held &= self.missing(drive).is_none_or(|missing| missing.holds(offset, trusts));
        });
        is_held && !self.failed[usize::from(last)]
    }

    /// The same for what is no block, but a part of a sequential rebuild: it is held where nothing at all is missing.
    pub(super) fn is_column_whole(&self, vdev: u16, column: &Column) -> bool {
        let mut is_whole = true;
        let last = self.follow(vdev, column, |drive| is_whole &= self.missing(drive).is_none());
        is_whole && !self.failed[usize::from(last)]
    }

    /// What a drive that has replaced a failed one does not hold yet.
    pub fn missing_mut(&mut self, drive: u16) -> Option<&mut MissingBlocks> {
        self.missing[usize::from(drive)].as_mut()
    }

    /// The same, to look at.
    pub fn missing(&self, drive: u16) -> Option<&MissingBlocks> {
        self.missing[usize::from(drive)].as_ref()
    }

    /// A drive holds all of its blocks again.
    pub fn make_whole(&mut self, drive: u16) {
        self.missing[usize::from(drive)] = None;
    }

    /// A block is going to be written where one may be missing: the new drive gets it with the others.
    pub fn on_placed(&mut self, (vdev, offset): (u16, u64)) {
        for drive in self.of_vdev(vdev) {
            if let Some(missing) = self.missing_mut(drive) {
                missing.on_placed(offset);
            }
        }
    }

    /// Whether no drive of the vdev fails or lacks a block.
    pub fn is_whole(&self, vdev: u16) -> bool {
        self.of_vdev(vdev).all(|drive| self.is_drive_whole(drive))
    }

    fn is_drive_whole(&self, drive: u16) -> bool {
        !self.failed[usize::from(drive)] && self.missing(drive).is_none()
    }

    /// Whether more drives of the vdev have failed than its redundancy makes up for.
    pub fn is_gone(&self, vdev: u16) -> bool {
        let is_out = |drive: &u16| self.failed[usize::from(*drive)] && !self.is_spared(*drive);
        let failed = self.of_vdev(vdev).filter(is_out).count();
        failed > most_lost(&self.vdevs[usize::from(vdev)])
    }

    /// Whether a block has lost more than its redundancy makes up for.
    pub fn is_lost(&self, (vdev_number, offset): (u16, u64), bytes: u32) -> bool {
        let vdev = &self.vdevs[usize::from(vdev_number)];
        let at = (vdev_number, offset);
        match vdev.striped() {
            Some(striped) => {
                let mut stripes = striped.stripes(offset, bytes.into());
                stripes.any(|stripe| self.lost_in(at, &stripe, true) > most_lost(vdev))
            }
            None => {
                let mut drives = self.of_vdev(vdev_number);
                drives.all(|drive| !self.holds(drive, offset, true))
            }
        }
    }

    /// Whether a block at `offset` of its vdev can be read from a drive (`vdev_dtl_contains`). As in OpenZFS, what is
    /// resilvered is trusted only if nothing else is left, until the resilver is over.
    pub(super) fn holds(&self, drive: u16, offset: u64, trusts_resilvered: bool) -> bool {
        !self.failed[usize::from(drive)]
            && self.missing(drive).is_none_or(|missing| missing.holds(offset, trusts_resilvered))
    }

    /// What a drive of a mirror has of a block.
    pub(super) fn copy_on(&self, drive: u16, offset: u64, class: Class) -> Copy {
        if !self.any_failed {
            return Copy::Held;
        }
        if class == Class::Rebuild {
            return if self.is_drive_whole(drive) { Copy::Held } else { Copy::Lost };
        }
        match (self.holds(drive, offset, false), self.holds(drive, offset, true)) {
            (true, _) => Copy::Held,
            (_, true) => Copy::Resilvered,
            _ => Copy::Lost,
        }
    }

    /// Columns that cannot be read from their drives.
    pub(super) fn lost_in(&self, at: (u16, u64), stripe: &Stripe, trusts: bool) -> usize {
        let in_use = stripe.parity().chain(stripe.full_data());
        in_use.filter(|column| !self.holds_column(at, column, trusts)).count()
    }

    /// Reads all columns of a block for a resilver or scrub; in a mirror, one copy, or all.
    pub fn scan(
        &mut self,
        now_ns: u64,
        key: u64,
        class: Class,
        at: (u16, u64),
        bytes: u32,
        all: bool,
    ) {
        let io = BlockIo {
            reads_parity: true,
            ..BlockIo::new(key, Purpose::Resilver, class, at, bytes)
        };
        let id = self.blocks.insert(io) as u32;
        let vdev = self.vdevs[usize::from(at.0)];
        if all && vdev.striped().is_none() {
            let place = mirror_place(&vdev, at.1, bytes);
            for drive in self.of_vdev(at.0) {
                if self.holds(drive, at.1, false) {
                    self.push(now_ns, drive, id, Direction::Read, class, place, false);
                }
            }
        } else {
            self.push_read(now_ns, id, at, bytes);
        }
        self.finish_if_done(id);
    }

    /// Writes what `drives` have of a block.
    pub fn repair(
        &mut self,
        now_ns: u64,
        key: u64,
        class: Class,
        at: (u16, u64),
        bytes: u32,
        drives: &[u16],
    ) {
        let id = self.blocks.insert(BlockIo::new(key, Purpose::Resilver, class, at, bytes)) as u32;
        let vdev = self.vdevs[usize::from(at.0)];
        match vdev.striped() {
            None => {
                let place = mirror_place(&vdev, at.1, bytes);
                for drive in drives {
                    self.push(now_ns, *drive, id, Direction::Write, class, place, false);
                }
            }
            Some(striped) => {
                let direction = Direction::Write;
                for stripe in striped.stripes(at.1, bytes.into()) {
                    for column in stripe.parity().chain(stripe.full_data()) {
                        if self.is_column_on(at.0, &column, drives) {
                            self.push_column(now_ns, at.0, column, id, direction, class, false);
                        }
                    }
                }
            }
        }
        self.finish_if_done(id);
    }

    /// Reads what makes up for a drive that has failed meanwhile: in a mirror, another drive; in RAID-Z, parity, unless
    /// it is read already (`vdev_raidz_read_all`).
    fn push_rest(&mut self, now_ns: u64, id: u32) {
        let BlockIo { class, vdev: vdev_number, offset, bytes, reads_parity, .. } = *self.block(id);
        let at = (vdev_number, offset);
        let vdev = self.vdevs[usize::from(vdev_number)];
        let Some(striped) = vdev.striped() else { return self.push_read(now_ns, id, at, bytes) };
        if reads_parity {
            return;
        }
        self.block_mut(id).reads_parity = true;
        let (owner, direction) = (id | PARITY, Direction::Read);
        for stripe in striped.stripes(offset, bytes.into()) {
            for column in stripe.parity() {
                if self.holds_column(at, &column, false) {
                    self.push_column(now_ns, vdev_number, column, owner, direction, class, false);
                }
            }
        }
    }

    /// A request to a drive that has failed is not done: what it was to read is read from others.
    pub(super) fn request_failed(&mut self, now_ns: u64, owner: u32, direction: Direction) {
        let id = owner & !PARITY;
        if direction == Direction::Read {
            self.push_rest(now_ns, id);
        }
        self.block_mut(id).left -= 1;
        self.finish_if_done(id);
    }
}

/// Drives of a vdev that may lack a block.
fn most_lost(vdev: &Vdev) -> usize {
    match vdev.redundancy {
        Redundancy::Mirror { drives } => usize::from(drives) - 1,
        Redundancy::RaidZ { parity, .. } => usize::from(parity),
        Redundancy::Draid(draid) => usize::from(draid.parity),
    }
}
