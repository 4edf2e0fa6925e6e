//! In place of `saved_run` where no run is saved: there is no such run, and nothing that could be done with it.

use strewn_sim::Simulated;

use crate::array_run::ArrayRun;

/// A run that is saved; there is none without the feature `save`.
#[derive(Debug)]
pub enum SavedRun {}

/// Why a run cannot be saved; never, without the feature `save`.
#[derive(Debug, thiserror::Error)]
#[error("the feature `save` is off")]
pub enum SaveError {}

impl SavedRun {
    pub(crate) fn published(&self) -> Option<&str> {
        match *self {}
    }

    pub(crate) fn sensitivity(&self) -> Option<&str> {
        match *self {}
    }

    pub(crate) fn bytes(&self, _arrays: usize) -> u64 {
        match *self {}
    }

    pub(crate) fn save(
        &self,
        _index: usize,
        _run: &ArrayRun,
        _simulation: Option<&dyn Simulated>,
    ) -> Result<(), SaveError> {
        match *self {}
    }

    pub(crate) fn restore(
        &self,
        _index: usize,
        _simulation: &mut dyn Simulated,
        _check: impl FnOnce(&dyn Simulated),
    ) -> Result<Option<(ArrayRun, bool)>, SaveError> {
        match *self {}
    }
}
