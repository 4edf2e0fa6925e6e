//! Allocation classes: which vdevs a block may go to, and whose turn it is.
//!
//! `metaslab_class` of OpenZFS. Each class has a ring of vdevs and a rotor of its own.

use strewn_base::state::SavedValue;

/// What a top-level vdev is for (`vdev_alloc_bias`).
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, SavedValue)]
pub enum AllocationClass {
    /// Data, and all that finds no room elsewhere.
    #[default]
    Normal,
    /// Metadata, and small blocks of data if the pool is set so.
    Special,
    /// Blocks of the intent log.
    Log,
}

impl AllocationClass {
    /// Classes.
    pub(crate) const COUNT: usize = 3;
}

/// What decides the class of a block.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Contents {
    /// Of a volume.
    Data,
    /// What leads to it, and the pool's own objects.
    Metadata,
}

/// Blocks that were meant for the special class and went to the normal one, each counted once for all its copies.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, SavedValue)]
pub struct Spilled {
    /// Of data: the rest of the class is kept for metadata.
    pub data: u64,
    /// Of metadata: the class is full.
    pub metadata: u64,
}

impl Spilled {
    /// Of both kinds.
    pub(crate) fn blocks(self) -> u64 {
        self.data + self.metadata
    }

    pub(crate) fn add(&mut self, contents: Contents) {
        match contents {
            Contents::Data => self.data += 1,
            Contents::Metadata => self.metadata += 1,
        }
    }
}

/// The vdevs of a class in the order of their turns.
#[derive(Debug, Clone, Default, SavedValue)]
pub struct ClassGroups {
    ring: Vec<usize>,
    /// The place in it whose turn it is.
    rotor: usize,
    /// Bytes allocated in this turn.
    turn: u64,
}

impl ClassGroups {
    /// A vdev joins the ring behind the one whose turn it is, and has the rest of its turn (`metaslab_group_activate`).
    pub fn activate(&mut self, vdev: usize) {
        self.rotor = if self.ring.is_empty() { 0 } else { self.rotor + 1 };
        self.ring.insert(self.rotor, vdev);
    }

    /// A vdev leaves the ring (`metaslab_group_passivate`).
    pub fn passivate(&mut self, vdev: usize) {
        let Some(place) = self.ring.iter().position(|other| *other == vdev) else { return };
        self.ring.remove(place);
        if place < self.rotor || self.rotor == self.ring.len() {
            self.rotor = self.rotor.saturating_sub(1);
        }
        self.turn = 0;
    }

    /// The vdevs.
    pub fn vdevs(&self) -> &[usize] {
        &self.ring
    }

    /// Bytes allocated in this turn.
    pub fn turn(&self) -> u64 {
        self.turn
    }

    /// The place that is tried first: the one behind that of the copy before, if it is of this class, or the one whose
    /// turn it is.
    pub fn first_for(&self, before: Option<usize>) -> usize {
        let place = before.and_then(|vdev| self.ring.iter().position(|other| *other == vdev));
        place.map_or(self.rotor, |place| (place + 1) % self.ring.len())
    }

    /// The place of a vdev, or the one whose turn it is if it is of another class.
    pub fn place_beside(&self, vdev: usize) -> usize {
        self.ring.iter().position(|other| *other == vdev).unwrap_or(self.rotor)
    }

    /// Bytes are allocated at a place, whose turn ends with so many.
    pub fn take(&mut self, place: usize, bytes: u64, most: i64) {
        self.turn += bytes;
        if self.turn as i64 >= most {
            self.end_turn_at(place);
        }
    }

    /// The place behind this one has its turn.
    pub fn end_turn_at(&mut self, place: usize) {
        self.rotor = (place + 1) % self.ring.len();
        self.turn = 0;
    }

    /// The same, given a vdev.
    pub fn end_turn_of(&mut self, vdev: usize) {
        if let Some(place) = self.ring.iter().position(|other| *other == vdev) {
            self.end_turn_at(place);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_late_vdev_stands_behind_the_one_whose_turn_it_is_and_goes_on_with_its_turn() {
        let mut groups = ClassGroups::default();
        (0..3).for_each(|vdev| groups.activate(vdev));
        groups.end_turn_at(2);
        groups.take(0, 512, 1_024);
        groups.activate(7);
        assert_eq!(
            (groups.vdevs(), groups.first_for(None), groups.turn()),
            (&[0, 7, 1, 2][..], 1, 512)
        );
        groups.take(1, 512, 1_024);
        assert_eq!((groups.first_for(None), groups.turn()), (2, 0));
        // A copy goes behind the one before it; one in another class says nothing.
        assert_eq!((groups.first_for(Some(2)), groups.first_for(Some(9))), (0, 2));
    }

    #[test]
    fn a_vdev_that_is_gone_has_no_more_turns() {
        let mut groups = ClassGroups::default();
        (0..3).for_each(|vdev| groups.activate(vdev));
        groups.passivate(2);
        assert_eq!((groups.vdevs(), groups.first_for(None)), (&[0, 1][..], 1));
        groups.passivate(0);
        assert_eq!((groups.vdevs(), groups.first_for(None)), (&[1][..], 0));
        groups.passivate(1);
        assert!(groups.vdevs().is_empty());
    }
}
