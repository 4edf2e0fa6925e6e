//! Whole arrays under faults.

#![allow(clippy::unwrap_used)]

use strewn_live::torture::{Kind, Options, run};

fn all_hold(seeds: impl IntoIterator<Item = u64>) {
    let failures: Vec<String> = seeds
        .into_iter()
        .filter_map(|seed| run(seed, Options::default()).err())
        .map(|failure| failure.to_string())
        .collect();
    assert!(failures.is_empty(), "{}", failures.join("\n"));
}

#[test]
fn schedules_of_all_kinds_hold() {
    let count = |kind| (0..200).filter(|seed| Kind::of(*seed) == kind).count();
    assert!(Kind::ALL.into_iter().all(|kind| count(kind) >= 20));
    all_hold(0..200);
}

/// A start that finds more spindles lost than parity makes good, one of them rebuilding, is refused.
#[test]
fn regression_a_spindle_that_is_rebuilding_when_too_many_are_lost() {
    all_hold([5699]);
}

/// Blocks turn out bad while the others of their stripes are being read for a rebuild: what these do not suffice for any
/// more is read again, and not left out.
#[test]
fn regression_a_block_that_turns_out_bad_while_its_stripe_is_rebuilt() {
    all_hold([3356, 13418]);
}
