//! A persistent store under the random histories: what was written is mounted, and answers as what was written it.

use std::collections::HashMap;

use proptest::prelude::*;
use strewn_alloc::{AggregateOptions, BlockSource, Fbn, METADATA_BYTES, Root, Tetris, Volumes};
use strewn_raid::{ParityGroup, Vbn};

/// Blocks of metadata, and the root.
pub struct Storage {
    /// Groups added last may be unknown to the root.
    pub groups: Vec<ParityGroup>,
    options: AggregateOptions,
    pub blocks: HashMap<Vbn, [u8; METADATA_BYTES]>,
    pub root: Option<[u8; Root::BYTES]>,
}

impl Storage {
    pub fn new(groups: Vec<ParityGroup>, options: AggregateOptions) -> Self {
        Self { groups, options, blocks: HashMap::new(), root: None }
    }

    /// Writes the pages of a plan. Other blocks of the plan overwrite pages that are no longer needed.
    pub fn write(&mut self, volumes: &Volumes, plan: &[Tetris<BlockSource>]) {
        let mut pages = 0;
        for (vbn, source) in plan.iter().flat_map(|tetris| volumes.aggregate().blocks_of(tetris)) {
            self.blocks.remove(&vbn);
            if let BlockSource::Metadata(page) = source {
                self.blocks.insert(vbn, *volumes.metadata_page(page).unwrap());
                pages += 1;
            }
        }
        assert_eq!(pages, volumes.metadata_pages());
    }

    pub fn write_root(&mut self, volumes: &Volumes) {
        self.root = Some(volumes.root().unwrap().to_bytes());
    }

    pub fn mount(&self) -> Result<Volumes, TestCaseError> {
        let root = Root::from_bytes(&self.root.unwrap()).unwrap();
        let read = |vbn: Vbn, bytes: &mut [u8; METADATA_BYTES]| match self.blocks.get(&vbn) {
            Some(block) => {
                *bytes = *block;
                Ok(())
            }
            None => Err("was never written, or overwritten"),
        };
        let mounted = Volumes::mount(self.groups.clone(), self.options, &root, read);
        mounted.map_err(|error| TestCaseError::fail(error.to_string()))
    }
}

/// Whether `mounted` answers as `volumes` does.
pub fn check_same(mounted: &Volumes, volumes: &Volumes) -> Result<(), TestCaseError> {
    prop_assert_eq!(mounted.verify(), Ok(()));
    prop_assert_eq!(mounted.root(), volumes.root());
    prop_assert_eq!(mounted.space(), volumes.space());
    let (ours, theirs) = (mounted.aggregate(), volumes.aggregate());
    prop_assert_eq!(ours.consistency_points(), theirs.consistency_points());
    prop_assert_eq!(ours.counts(), theirs.counts());
    let words = |volumes: &Volumes| {
        let maps = volumes.aggregate().free_maps();
        maps.map(|map| map.words().to_vec()).collect::<Vec<_>>()
    };
    prop_assert_eq!(words(mounted), words(volumes));
    prop_assert_eq!(ours.scores(), theirs.scores());
    let delayed = |volumes: &Volumes| {
        let mut delayed: Vec<Vbn> = volumes.aggregate().delayed_frees().collect();
        delayed.sort_unstable();
        delayed
    };
    prop_assert_eq!(delayed(mounted), delayed(volumes));
    prop_assert!(mounted.ids().eq(volumes.ids()));
    for id in volumes.ids() {
        prop_assert_eq!(mounted.space_of(id), volumes.space_of(id));
        prop_assert_eq!(mounted.origin(id), volumes.origin(id));
        let snapshots: Vec<_> = volumes.snapshots(id).unwrap().collect();
        prop_assert!(mounted.snapshots(id).unwrap().eq(snapshots.iter().copied()));
        let mut images = vec![(mounted.image(id).unwrap(), volumes.image(id).unwrap())];
        for snapshot in snapshots {
            images.push((
                mounted.image_of(id, snapshot).unwrap(),
                volumes.image_of(id, snapshot).unwrap(),
            ));
            prop_assert_eq!(
                mounted.held_by_alone(id, snapshot),
                volumes.held_by_alone(id, snapshot)
            );
        }
        for (ours, theirs) in images {
            prop_assert_eq!(ours.mapped_blocks(), theirs.mapped_blocks());
            prop_assert!(ours.files().eq(theirs.files()));
            for file in theirs.files() {
                prop_assert_eq!(ours.blocks_of(file), theirs.blocks_of(file));
                let blocks = theirs.blocks_from(file, Fbn(0));
                prop_assert!(ours.blocks_from(file, Fbn(0)).eq(blocks));
                for (fbn, _) in theirs.blocks_from(file, Fbn(0)) {
                    prop_assert_eq!(ours.number(file, fbn), theirs.number(file, fbn));
                }
            }
        }
    }
    Ok(())
}
