//! What it costs to save the maps of volumes, and to mount them: a file of 1,048,576 blocks, 1,000 of which are
//! overwritten at random in each consistency point. The same without saving shows the difference.

use std::collections::HashMap;

use criterion::{Criterion, Throughput};
use strewn_alloc::{Aggregate, AggregateOptions};
use strewn_base::Rng;
use strewn_raid::{Parity, ParityGroup, Vbn};
use strewn_volume::{BlockSource, Fbn, FileId, METADATA_BYTES, Root, VolumeId, Volumes};

const BLOCKS: u64 = 1 << 20;
const BLOCKS_PER_CP: u64 = 1_000;
const VOLUME: VolumeId = VolumeId(0);
const FILE: FileId = FileId(0);

type Pages = HashMap<Vbn, [u8; METADATA_BYTES]>;

fn expected<T, E: std::fmt::Display>(result: Result<T, E>) -> T {
    result.unwrap_or_else(|error| panic!("{error}"))
}

fn group() -> ParityGroup {
    expected(ParityGroup::new(Parity::RaidDp, 18, 131_072))
}

fn aggregate() -> Aggregate<BlockSource> {
    expected(Aggregate::new([group()], AggregateOptions::default()))
}

/// Finishes and commits. Returns the pages of metadata.
fn commit(volumes: &mut Volumes, pages: Option<&mut Pages>) -> u64 {
    let plan = expected(volumes.finish());
    let count = volumes.metadata_pages();
    if let Some(pages) = pages {
        for (vbn, source) in plan.iter().flat_map(|tetris| volumes.aggregate().blocks_of(tetris)) {
            if let BlockSource::Metadata(page) = source
                && let Some(bytes) = volumes.metadata_page(page)
            {
                pages.insert(vbn, *bytes);
            }
        }
    }
    expected(volumes.commit());
    count
}

/// Writes `fbns` in a consistency point. Returns the pages of metadata.
fn consistency_point(volumes: &mut Volumes, fbns: &[Fbn], pages: Option<&mut Pages>) -> u64 {
    expected(volumes.begin(fbns.len() as u64));
    expected(volumes.write_all(VOLUME, FILE, fbns));
    commit(volumes, pages)
}

fn filled(mut volumes: Volumes, pages: &mut Pages) -> Volumes {
    expected(volumes.create_volume(2 * BLOCKS));
    expected(volumes.begin(BLOCKS));
    expected(volumes.create_file(VOLUME));
    let all: Vec<Fbn> = (0..BLOCKS).map(Fbn).collect();
    expected(volumes.write_all(VOLUME, FILE, &all));
    println!("{BLOCKS} blocks written: {} pages of metadata", commit(&mut volumes, Some(pages)));
    volumes
}

fn random_blocks(rng: &mut Rng) -> Vec<Fbn> {
    (0..BLOCKS_PER_CP).map(|_| Fbn(rng.below(BLOCKS))).collect()
}

fn main() {
    let mut criterion = Criterion::default().configure_from_args().sample_size(30);
    let mut pages = Pages::new();
    let in_memory = filled(expected(Volumes::new(aggregate())), &mut pages);
    let persistent = filled(expected(Volumes::persistent(aggregate())), &mut pages);

    let mut group_of = criterion.benchmark_group("consistency_point");
    group_of.throughput(Throughput::Elements(BLOCKS_PER_CP));
    let mut stores = [("in_memory", in_memory), ("persistent", persistent)];
    for (name, volumes) in &mut stores {
        let (mut rng, mut points, mut written) = (Rng::new(1), 0, 0);
        group_of.bench_function(*name, |bencher| {
            bencher.iter(|| {
                written += consistency_point(volumes, &random_blocks(&mut rng), None);
                points += 1;
            });
        });
        println!("{name}: {} pages a consistency point", written / points.max(1));
    }
    group_of.finish();

    // A store as it was filled, and 100 consistency points later.
    let mut pages = Pages::new();
    let mut volumes = filled(expected(Volumes::persistent(aggregate())), &mut pages);
    let mut group_of = criterion.benchmark_group("mount");
    group_of.throughput(Throughput::Elements(BLOCKS));
    for points in [0, 100] {
        let mut rng = Rng::new(2);
        for _ in 0..points {
            consistency_point(&mut volumes, &random_blocks(&mut rng), Some(&mut pages));
        }
        let Some(root) = volumes.root().map(Root::to_bytes) else { return };
        let root = expected(Root::from_bytes(&root));
        println!("{} pages", volumes.space().metadata);
        group_of.bench_function(format!("after_{points}_consistency_points"), |bencher| {
            bencher.iter(|| {
                let read = |vbn: Vbn, bytes: &mut [u8; METADATA_BYTES]| {
                    *bytes = *pages.get(&vbn).ok_or("never written")?;
                    Ok::<(), &str>(())
                };
                expected(Volumes::mount([group()], AggregateOptions::default(), &root, read))
            });
        });
    }
    group_of.finish();
    criterion.final_summary();
}
