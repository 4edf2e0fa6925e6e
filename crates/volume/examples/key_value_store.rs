//! A toy key-value store on a write-anywhere volume: a hash table in a file, a block a bucket.
//!
//! The library says where blocks go; the store reads and writes them, here in memory. Nothing is overwritten, so a
//! snapshot is free to take and old values can be read from it.
//!
//! `cargo run --release -p strewn-volume --example key_value_store`

use std::collections::BTreeMap;
use std::error::Error;
use std::hash::{DefaultHasher, Hash, Hasher};

use strewn_alloc::{Aggregate, AggregateOptions};
use strewn_raid::{Parity, ParityGroup, Vbn};
use strewn_volume::{
    BlockName, BlockSource, Fbn, FileId, Image, SnapshotId, VolumeId, VolumeSpace, Volumes,
};

type Block = [u8; 4096];

const DATA_SPINDLES: u16 = 4;
const BUCKETS: u64 = 512;

struct KeyValueStore {
    volumes: Volumes,
    volume: VolumeId,
    table: FileId,
    /// The data spindles; parity is left out.
    spindles: Vec<Vec<Block>>,
    /// Buckets changed since the last consistency point.
    dirty: BTreeMap<Fbn, Block>,
}

impl KeyValueStore {
    fn new() -> Result<Self, Box<dyn Error>> {
        let group = ParityGroup::new(Parity::RaidDp, DATA_SPINDLES, 1_024)?;
        let mut volumes = Volumes::new(Aggregate::new([group], AggregateOptions::default())?)?;
        let volume = volumes.create_volume(4_000)?;
        volumes.begin(0)?;
        let table = volumes.create_file(volume)?;
        volumes.commit()?;
        let spindles = vec![vec![[0; 4096]; 1_024]; usize::from(DATA_SPINDLES)];
        Ok(Self { volumes, volume, table, spindles, dirty: BTreeMap::new() })
    }

    fn put(&mut self, key: &str, value: &str) -> Result<(), Box<dyn Error>> {
        let bucket = bucket_of(key);
        let image = self.volumes.image(self.volume)?;
        let block = self.dirty.get(&bucket).copied();
        let mut pairs = pairs(&block.unwrap_or_else(|| self.read(&image, bucket)));
        pairs.insert(key.to_owned(), value.to_owned());
        let lines: String = pairs.iter().map(|(key, value)| format!("{key}\t{value}\n")).collect();
        let mut block = [0; 4096];
        block.get_mut(..lines.len()).ok_or("the bucket is full")?.copy_from_slice(lines.as_bytes());
        self.dirty.insert(bucket, block);
        Ok(())
    }

    /// A consistency point: changed buckets get new places, are written there, and only then count.
    fn commit(&mut self) -> Result<(), Box<dyn Error>> {
        self.volumes.begin(self.dirty.len() as u64)?;
        let buckets: Vec<Fbn> = self.dirty.keys().copied().collect();
        if let Err(error) = self.volumes.write_all(self.volume, self.table, &buckets) {
            self.volumes.abandon()?;
            return Err(error.into());
        }
        for tetris in self.volumes.finish()? {
            for run in tetris.runs() {
                let spindle = &mut self.spindles[run.spindle.index()];
                for (block, contents) in
                    spindle[run.first.0 as usize..].iter_mut().zip(run.contents)
                {
                    match contents {
                        BlockSource::Written(BlockName { fbn, .. }) => *block = self.dirty[fbn],
                        BlockSource::Moved(_) | BlockSource::Metadata(_) => {
                            unreachable!("nothing is moved, and maps are in memory")
                        }
                    }
                }
            }
        }
        self.volumes.commit()?;
        self.dirty.clear();
        Ok(())
    }

    /// The value of `key`: now, or as a snapshot has it.
    fn get(&self, key: &str, at: Option<SnapshotId>) -> Result<Option<String>, Box<dyn Error>> {
        let image = match at {
            Some(snapshot) => self.volumes.image_of(self.volume, snapshot)?,
            None => self.volumes.image(self.volume)?,
        };
        let bucket = bucket_of(key);
        let changed = self.dirty.get(&bucket).filter(|_| at.is_none());
        let block = changed.copied().unwrap_or_else(|| self.read(&image, bucket));
        Ok(pairs(&block).remove(key))
    }

    fn space(&self) -> Result<String, Box<dyn Error>> {
        let VolumeSpace { active, snapshots, free, .. } = self.volumes.space_of(self.volume)?;
        Ok(format!("{active} blocks in use, {snapshots} held by snapshots alone, {free} free"))
    }

    fn read(&self, image: &Image<'_>, bucket: Fbn) -> Block {
        let block_at = |vbn: Vbn| {
            let location = self.volumes.aggregate().locate(vbn)?.location;
            self.spindles.get(location.spindle.index())?.get(location.dbn.0 as usize).copied()
        };
        image.locate(self.table, bucket).and_then(block_at).unwrap_or([0; 4096])
    }
}

fn bucket_of(key: &str) -> Fbn {
    let mut hasher = DefaultHasher::new();
    key.hash(&mut hasher);
    Fbn(hasher.finish() % BUCKETS)
}

fn pairs(block: &Block) -> BTreeMap<String, String> {
    let text = String::from_utf8_lossy(block);
    let lines = text.lines().filter_map(|line| line.split_once('\t'));
    lines.map(|(key, value)| (key.to_owned(), value.to_owned())).collect()
}

fn main() -> Result<(), Box<dyn Error>> {
    let mut store = KeyValueStore::new()?;
    for number in 0..5_000 {
        store.put(&format!("key {number}"), "first")?;
    }
    store.commit()?;
    let yesterday = store.volumes.snapshot(store.volume)?;
    println!("5,000 keys, then a snapshot: {}", store.space()?);

    for number in (0..5_000).step_by(50) {
        store.put(&format!("key {number}"), "second")?;
    }
    store.commit()?;
    println!("100 of them changed:         {}", store.space()?);
    for key in ["key 100", "key 101"] {
        let (now, then) = (store.get(key, None)?, store.get(key, Some(yesterday))?);
        println!("{key}: {now:?} now, {then:?} in the snapshot");
    }

    store.volumes.delete_snapshot(store.volume, yesterday)?;
    while store.volumes.background_step(100)? > 0 {}
    store.commit()?;
    println!("without the snapshot:        {}", store.space()?);
    store.volumes.verify()?;
    Ok(())
}
