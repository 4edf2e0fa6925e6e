//! What recoveries and rebuilds are reading, and so may not be written.

use strewn_base::state::SavedValue;

/// Stripes, or rows of them, that are being read to compute lost blocks: each as often as it is read. They are few.
#[derive(Debug, Default, SavedValue)]
pub(crate) struct ReadLocks(Vec<u64>);

impl ReadLocks {
    /// `place` may not be written until it is unlocked as often as it was locked.
    pub(crate) fn lock(&mut self, place: u64) {
        self.0.push(place);
    }

    /// # Panics
    /// If `place` is not locked.
    pub(crate) fn unlock(&mut self, place: u64) {
        let position = self.0.iter().position(|locked| *locked == place);
        let position = position.unwrap_or_else(|| unreachable!("{place} is not locked"));
        self.0.swap_remove(position);
    }

    pub(crate) fn is_locked(&self, place: u64) -> bool {
        self.0.contains(&place)
    }
}
