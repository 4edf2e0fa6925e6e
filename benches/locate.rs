//! What it costs to find a block, and to plan a stripe.

#![allow(missing_docs)]

use criterion::{Criterion, criterion_group, criterion_main};
use std::hint::black_box;
use strewn_raid::{
    Member, MemberSet, Parity, ParityGroup, SpindleSet, Vbn, VraidConfig, VraidLayout,
};

/// An odd stride visits addresses in no order that a cache or a predictor could learn.
const STRIDE: u64 = 0x9e37_79b9_7f4a_7c15;

fn scattered(bound: u64) -> impl FnMut() -> u64 {
    let mut state = 0_u64;
    move || {
        state = state.wrapping_add(STRIDE);
        ((u128::from(state) * u128::from(bound)) >> 64) as u64
    }
}

fn locate(criterion: &mut Criterion) {
    let group = ParityGroup::new(Parity::RaidDp, 18, 136_000 * 256).expect("a valid group");
    let mut vbn = scattered(group.total_blocks());
    criterion.bench_function("parity_group_locate", |bencher| {
        bencher.iter(|| group.locate(Vbn(black_box(vbn()))));
    });

    let config = VraidConfig::new(vec![10, 10]);
    let layout = VraidLayout::new(config, 286_749_488 * 512).expect("a valid layout");
    let mut lun_sector = scattered(layout.lun_capacity_sectors());
    criterion.bench_function("vraid_locate", |bencher| {
        bencher.iter(|| layout.locate(black_box(lun_sector())));
    });

    let mut bits = scattered(1 << 18);
    criterion.bench_function("plan_stripe", |bencher| {
        bencher.iter(|| group.plan_stripe(SpindleSet(black_box(bits()))));
    });

    let shape = group.stripe_shape();
    let lost = [Member(3), Member(9)].into_iter().collect();
    criterion.bench_function("plan_update_two_lost", |bencher| {
        bencher.iter(|| shape.plan_update(MemberSet(black_box(bits())), black_box(lost)));
    });
    criterion.bench_function("plan_read_two_lost", |bencher| {
        bencher.iter(|| shape.plan_read(MemberSet(black_box(bits())), black_box(lost)));
    });
}

criterion_group!(benches, locate);
criterion_main!(benches);
