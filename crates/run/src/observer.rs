//! Who is told how far a run is.

use strewn_sim::{Progress, Segment};

use crate::ArrayRun;
/// Watches a run and may stop it. Called from several threads.
pub trait Observer: Sync {
    /// The array with index `array` has reached `progress`.
    fn progress(&self, array: usize, progress: Progress) {
        let _ = (array, progress);
    }

    /// The file of the array with index `array` is being filled: `written_bytes` of `bytes` are written. Happens before
    /// the first segment, on real spindles only.
    fn filling(&self, array: usize, written_bytes: u64, bytes: u64) {
        let _ = (array, written_bytes, bytes);
    }

    /// The array with index `array` has completed a segment. The response times of single reads and writes are dropped
    /// after this call ([`Segment::forget_responses`]).
    fn segment(&self, array: usize, segment: &Segment) {
        let _ = (array, segment);
    }

    /// What the array with index `array` has done so far, after each of its segments, for whoever puts the results
    /// together before the run has ended ([`RunInParts`](crate::RunInParts)).
    fn so_far(&self, array: usize, done: &ArrayRun) {
        let _ = (array, done);
    }

    /// A device of the array's log is not as it should be, and the array goes on. On real spindles only.
    fn warning(&self, text: &str) {
        let _ = text;
    }

    /// Of the simulations of arrays with further seeds ([`RunOptions::replicates`](crate::RunOptions::replicates)),
    /// `done` of `all` are done.
    fn replicates(&self, done: usize, all: usize) {
        let _ = (done, all);
    }

    /// Returns whether to stop. Complete segments are kept.
    fn stop(&self) -> bool {
        false
    }
}

/// Watches nothing and never stops.
impl Observer for () {}
