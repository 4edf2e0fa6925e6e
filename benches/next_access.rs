//! What it costs to draw an access.

#![allow(missing_docs)]

use criterion::{Criterion, criterion_group, criterion_main};
use strewn_workload::{AccessSpecification, AccessStream};

fn next_access(criterion: &mut Criterion) {
    let file_server = AccessSpecification::shipped("file-server").expect("it is shipped");
    let mut stream =
        AccessStream::new(&file_server, 0, 100 * (1 << 30) / 512, 1).expect("a valid region");
    criterion.bench_function("file_server_next_access", |bencher| {
        bencher.iter(|| stream.next_access());
    });
}

criterion_group!(benches, next_access);
criterion_main!(benches);
