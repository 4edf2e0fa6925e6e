//! What a store has on its devices after the power was lost.

use strewn_live::store::BlockState;

use super::rig::{Block, Rig, Version, fits};

/// A block is what it was at the last flush or became since; or it is bad, if something was written since.
fn after_a_crash(state: &BlockState, _: &[Version], block: &Block, offset: usize, bytes: &[u8]) {
    if state.is_bad() {
        assert!(!block.since.is_empty(), "nothing was written to a block that is {state:?}");
        return;
    }
    let mut may_be = std::iter::once(&block.safe).chain(&block.since);
    assert!(may_be.any(|version| fits(state, version, offset, bytes)), "{state:?} never was");
}

#[test]
fn a_crash_takes_only_what_was_not_safe() {
    for seed in 0..150 {
        let mut rig = Rig::new(seed);
        let flushes_every = 2 + rig.rng.below(60);
        for _ in 0..30 + rig.rng.below(200) {
            rig.anything();
            if rig.rng.one_in(flushes_every) && !rig.is_flushing() {
                rig.flush();
            }
            rig.submit();
            for _ in 0..rig.rng.below(5) {
                rig.step();
            }
        }
        rig.crash();
        rig.judge = Box::new(after_a_crash);
        rig.read_everything();
    }
}
