//! What a run of a pool at a smaller scale does not have in proportion.

use strewn_base::BLOCK_BYTES;
use strewn_results::rounded;

use super::Zfs;
use crate::kinds::{MATTERS, ScaledRun, percent_words};

/// What a transaction group writes of the file, and of how many metaslabs.
pub(super) fn transaction_groups(zfs: &Zfs, run: &ScaledRun<'_>) -> Option<String> {
    let (blocks, _) = run.random_writes()?;
    let groups = run.sum(|counters| counters.consistency_points);
    let placed = run.sum(|counters| counters.consistency_point_data_blocks) / groups.max(1.0);
    let here = placed * zfs.block_bytes() as f64 / (blocks * BLOCK_BYTES as f64);
    let full = here * run.root() / f64::from(run.by);
    (here - full >= MATTERS / 10.0).then(|| {
        let what = format!(
            "a transaction group writes {} of the file here, {} at full scale: it is {}, so blocks that are written \
             together lie {} times as close, and fewer indirect blocks are written for each",
            percent_words(here),
            percent_words(full),
            run.not_divided(),
            rounded(f64::from(run.by) / run.root(), 2)
        );
        run.sentence(&what, &run.commands())
    })
}
