//! What volumes must look like from outside: plain maps of what each block holds.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use strewn_alloc::Tetris;
use strewn_raid::{BlockLocation, Dbn, Vbn};
use strewn_volume::{BlockName, BlockSource, FILE_ATTRIBUTE_BYTES, Fbn, FileId, Image, SnapshotId};
use strewn_volume::{VolumeId, Volumes};

/// What stands for the contents of a page of metadata.
const METADATA: u64 = u64::MAX;

/// A file: what its blocks hold, the number of the write, its length, and the byte that its attributes are.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct File {
    pub blocks: BTreeMap<Fbn, u64>,
    pub length: u64,
    pub attribute: u8,
}

pub type Files = BTreeMap<FileId, File>;

#[derive(Debug, Clone, Default)]
pub struct Volume {
    pub files: Files,
    pub snapshots: BTreeMap<SnapshotId, Files>,
    pub origin: Option<(VolumeId, SnapshotId)>,
    pub name: Option<String>,
    pub reserved: u64,
    /// Blocks written by the open consistency point that are still there.
    pub fresh: BTreeSet<(FileId, Fbn)>,
}

/// The volumes, and what lies on the spindles.
#[derive(Debug, Clone, Default)]
pub struct Model {
    pub volumes: BTreeMap<VolumeId, Volume>,
    pub next_version: u64,
    /// The last version written of each block in the open consistency point.
    pub written: HashMap<BlockName, u64>,
}

impl Model {
    pub fn write(&mut self, volume: VolumeId, file: FileId, fbn: Fbn) {
        self.next_version += 1;
        let of = self.volumes.get_mut(&volume).unwrap();
        of.files.get_mut(&file).unwrap().blocks.insert(fbn, self.next_version);
        of.fresh.insert((file, fbn));
        self.written.insert(BlockName { volume, file, fbn }, self.next_version);
    }

    pub fn is_origin(&self, volume: VolumeId, snapshot: SnapshotId) -> bool {
        self.volumes.values().any(|clone| clone.origin == Some((volume, snapshot)))
    }

    /// Writes to the spindles what the plan says, in its order.
    pub fn apply(
        &self,
        volumes: &Volumes,
        plan: &[Tetris<BlockSource>],
        spindles: &mut [Option<u64>],
    ) {
        // A plan may be written in any order: what moves is read before.
        let before = spindles.to_vec();
        for tetris in plan {
            for run in tetris.runs() {
                for (offset, contents) in run.contents.iter().enumerate() {
                    let dbn = Dbn(run.first.0 + offset as u64);
                    let location = BlockLocation { spindle: run.spindle, dbn };
                    let place = strewn_alloc::AggregateLocation { group: tetris.group, location };
                    let version = match contents {
                        BlockSource::Written(name) => self.written.get(name).copied(),
                        BlockSource::Moved(from) => before[from.0 as usize],
                        BlockSource::Metadata(_) => Some(METADATA),
                    };
                    assert!(version.is_some(), "{contents:?} has no contents");
                    spindles[volumes.aggregate().vbn(place).0 as usize] = version;
                }
            }
        }
    }
}

/// What `image` holds, read by way of its maps.
pub fn read(image: &Image<'_>, spindles: &[Option<u64>]) -> Files {
    let blocks = |file| image.blocks_from(file, Fbn(0));
    let held = |vbn: Vbn| spindles[vbn.0 as usize].unwrap_or(u64::MAX);
    let read_file = |file| {
        let attributes = image.attributes_of(file).unwrap();
        assert_eq!(attributes, &[attributes[0]; FILE_ATTRIBUTE_BYTES]);
        File {
            blocks: blocks(file).map(|(fbn, vbn)| (fbn, held(vbn))).collect(),
            length: image.length_of(file),
            attribute: attributes[0],
        }
    };
    image.files().map(|file| (file, read_file(file))).collect()
}

pub fn places(image: &Image<'_>) -> BTreeSet<Vbn> {
    let blocks = image.files().flat_map(|file| image.blocks_from(file, Fbn(0)));
    blocks.map(|(_, vbn)| vbn).collect()
}
