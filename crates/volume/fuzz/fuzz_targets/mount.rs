//! Pages of metadata with any bytes changed: they are refused, or mounted and used without a panic. Fuzzed, a mount
//! does not compare checksums.
#![no_main]

use std::collections::BTreeMap;
use std::sync::LazyLock;

use libfuzzer_sys::fuzz_target;
use strewn_alloc::{Aggregate, AggregateOptions};
use strewn_volume::{BlockSource, Fbn, FileId, METADATA_BYTES, Root, VolumeId, Volumes};
use strewn_raid::{Parity, ParityGroup, Vbn};

type Pages = BTreeMap<Vbn, [u8; METADATA_BYTES]>;

static STORE: LazyLock<(Pages, [u8; Root::BYTES])> = LazyLock::new(store);

fn group() -> ParityGroup {
    ParityGroup::new(Parity::RaidDp, 4, 1_024).expect("a group")
}

fn options() -> AggregateOptions {
    AggregateOptions { delayed_frees: 20, ..Default::default() }
}

fn fbns(range: impl Iterator<Item = u64>) -> Vec<Fbn> {
    range.map(Fbn).collect()
}

/// Files, snapshots, a clone, and deletions under way.
fn store() -> (Pages, [u8; Root::BYTES]) {
    let aggregate = Aggregate::new([group()], options()).expect("an aggregate");
    let mut volumes = Volumes::persistent(aggregate).expect("volumes");
    let one = volumes.create_volume(3_000).expect("room");
    let mut pages = Pages::new();
    let mut root = [0; Root::BYTES];
    for turn in 0..5 {
        volumes.begin(300).expect("none is open");
        if turn == 0 {
            volumes.create_file(one).expect("it exists");
        }
        let blocks = fbns((0..700).step_by(1 + turn * 3));
        volumes.write_all(one, FileId(0), &blocks).expect("room");
        for tetris in volumes.finish().expect("room") {
            for (vbn, source) in volumes.aggregate().blocks_of(&tetris) {
                pages.remove(&vbn);
                if let BlockSource::Metadata(page) = source {
                    pages.insert(vbn, *volumes.metadata_page(page).expect("of this plan"));
                }
            }
        }
        root = volumes.root().expect("finished").to_bytes();
        volumes.commit().expect("finished");
        let snapshot = volumes.snapshot(one).expect("it exists");
        if turn == 2 {
            volumes.clone_volume(one, snapshot, 200).expect("it exists");
            let clone = volumes.clone_volume(one, snapshot, 100).expect("it exists");
            volumes.destroy_volume(clone).expect("it exists");
            let first = volumes.snapshots(one).expect("it exists").next().expect("there is one");
            volumes.delete_snapshot(one, first).expect("it has no clones");
        }
    }
    (pages, root)
}

/// Uses a store in every way: it may refuse, but not panic.
fn use_up(mut volumes: Volumes) {
    let ids: Vec<VolumeId> = volumes.ids().collect();
    let _ = volumes.begin(100);
    for id in &ids {
        let files: Vec<FileId> = volumes.image(*id).expect("listed").files().take(20).collect();
        for file in files {
            let _ = volumes.write_all(*id, file, &fbns((0..50).step_by(7)));
            let _ = volumes.punch(*id, file, Fbn(3)..Fbn(40));
        }
        let _ = volumes.create_file(*id);
    }
    if volumes.finish().is_ok() {
        let _ = volumes.commit();
    } else {
        let _ = volumes.abandon();
    }
    for id in ids {
        let snapshots: Vec<_> = volumes.snapshots(id).expect("listed").take(20).collect();
        for snapshot in snapshots {
            let _ = volumes.held_by_alone(id, snapshot);
            let _ = volumes.delete_snapshot(id, snapshot);
        }
    }
    while volumes.background_step(100_000).expect("none is open") > 0 {}
    let _ = volumes.space();
}

// Each change: two bytes of page, two of position, one of contents. Page 0 is the root.
fuzz_target!(|bytes: &[u8]| {
    let (pages, root) = &*STORE;
    let (mut pages, mut root) = (pages.clone(), *root);
    let vbns: Vec<Vbn> = pages.keys().copied().collect();
    for change in bytes.chunks_exact(5) {
        let page = usize::from(change[0]) | usize::from(change[1]) << 8;
        let at = usize::from(change[2]) | usize::from(change[3]) << 8;
        match page % (vbns.len() + 1) {
            0 => root[at % Root::BYTES] = change[4],
            page => {
                if let Some(bytes) = pages.get_mut(&vbns[page - 1]) {
                    bytes[at % METADATA_BYTES] = change[4];
                }
            }
        }
    }
    let Ok(root) = Root::from_bytes(&root) else { return };
    let mounted = Volumes::mount([group()], options(), &root, |vbn, bytes| {
        *bytes = *pages.get(&vbn).ok_or("never written")?;
        Ok::<(), &str>(())
    });
    match mounted {
        Ok(volumes) => {
            let _ = volumes.verify();
            use_up(volumes);
        }
        Err(error) => assert!(!error.to_string().is_empty()),
    }
});
