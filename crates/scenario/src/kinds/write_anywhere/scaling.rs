//! What a run of a write-anywhere array at a smaller scale does not have in proportion.

use strewn_alloc::REGION_BLOCKS;
use strewn_array::Counters;
use strewn_array::write_anywhere::POINTERS;
use strewn_base::BLOCK_BYTES;
use strewn_results::words::{fixed, grouped};

use super::WriteAnywhere;
use crate::kinds::{MATTERS, ScaledRun, percent_words};

/// What a consistency point places of the file, where it is not as at full scale.
pub(super) fn consistency_points(layout: &WriteAnywhere, run: &ScaledRun<'_>) -> Option<String> {
    let (by, root) = (f64::from(run.by), run.root());
    let points = run.sum(|counters| counters.consistency_points);
    let data = run.sum(|counters| counters.consistency_point_data_blocks) / points.max(1.0);
    if data < 1.0 {
        return None;
    }
    // The cache is divided by more than the log, so its dirty limit may come first here.
    let limit = layout.buffer_cache_bytes as f64 * layout.dirty_limit_percent / 100.0;
    let about = if data * BLOCK_BYTES as f64 > 0.9 * limit { "at least" } else { "about" };
    let (mut differs, mut shares) = (Vec::new(), [String::new(), String::new()]);
    if let Some((blocks, of_access)) = run.random_writes() {
        // Of so many blocks written at random, some were written twice.
        let written = -blocks * (-(data / blocks).min(0.999)).ln_1p();
        let here = placed_for_each(written, blocks, of_access);
        let full = placed_for_each(written * root, blocks * by, of_access);
        if (here / full - 1.0).abs() >= MATTERS {
            let fewer = fixed(100.0 * (1.0 - here / full), 0);
            differs.push(format!("blocks placed for each block written ({fewer} % fewer)"));
            let of_file = [(data / blocks, " of the file"), (data * root / blocks / by, "")];
            shares = of_file.map(|(share, of)| format!(" ({}{of})", percent_words(share)));
        }
    }
    let spindles: u64 = layout.groups().iter().map(|one| u64::from(one.data_spindles)).sum();
    let tetrises = data / (spindles * u64::from(layout.tetris_stripes)) as f64;
    let whole = run.sum(|counters| counters.full_stripes);
    let stripes = run.sum(|counters| counters.stripes_written);
    // Of a consistency point, at most a tetris' worth of stripes is not whole because it ends. If more are not,
    // holes take their share of these too, and it would not be less at full scale.
    let not_whole = 1.0 - whole / stripes.max(1.0);
    let at_end = not_whole.min(1.0 / tetrises);
    let had_no_holes = if at_end < not_whole { (1.0 - not_whole) / (1.0 - at_end) } else { 1.0 };
    if at_end * (1.0 - 1.0 / root) * had_no_holes >= MATTERS {
        differs.push("stripes written whole".to_owned());
    }
    if differs.is_empty() {
        return None;
    }
    let own = |counters: &Counters| {
        counters.spindle_writes() + counters.metadata_reads + counters.parity_update_reads
    };
    let all = run.sum(|counters| counters.spindle_writes() + counters.spindle_reads());
    if run.sum(own) >= MATTERS * all {
        differs.push(run.commands());
    }
    let what = format!(
        "a consistency point places {} blocks of data here{}, {about} {} at full scale{}: logs and intervals are {}",
        grouped(data, false),
        shares[0],
        grouped(data * root, false),
        shares[1],
        run.not_divided()
    );
    Some(run.sentence(&what, &differs.join(", ")))
}

/// Returns how many blocks a consistency point places for each of `written` blocks, written at random places of a file
/// of `blocks` blocks, in accesses of `of_access` blocks: the data, the indirect blocks above, and the blocks of two
/// bitmaps where the data were. The blocks of an access share these. Of n blocks, k random accesses find
/// n (1 - exp(-k / n)).
fn placed_for_each(written: f64, blocks: f64, of_access: f64) -> f64 {
    let found = |of: f64, accesses: f64| -of * (-accesses / of).exp_m1();
    let accesses = written / of_access;
    let data = found(blocks, written);
    let indirect = found(blocks / f64::from(POINTERS), accesses);
    let bitmaps = 2.0 * found(blocks / REGION_BLOCKS as f64, accesses);
    (data + indirect + bitmaps) / written
}
