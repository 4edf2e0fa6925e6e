//! A store of files on six disks, RAID-DP: it survives a kill at any write, and the loss of two disks at any time. Its
//! files have lengths and attributes, its volume has a name.
//!
//! `docs/allocator.md` explains the order of writes. Stripes that hold other blocks in use are logged before they are
//! written, on every disk, because a crash between data and parity would harm those blocks. Full stripes are not: what
//! they overwrite is free, so nothing in use depends on them. Parity is always computed from the whole stripe, never
//! from old parity, because parity of free blocks may be wrong after a crash.
//!
//! A disk: two roots, written in turn; the log; the stripes. A store that lacks disks only reads.
//!
//! `cargo run --release -p strewn-volume --example persistent_store DIRECTORY`, again and again, killed at will

use std::collections::{BTreeMap, HashMap};
use std::error::Error;
use std::fs::File;
use std::io::{self, Read, Seek, SeekFrom, Write};

use strewn_alloc::{Aggregate, AggregateOptions, Tetris};
use strewn_raid::{
    BlockLocation, Dbn, Parity, ParityGroup, SpindleIndex, StripeCode, StripeCodec, UpdateMethod,
    Vbn,
};
use strewn_volume::{BlockName, BlockSource, FILE_ATTRIBUTE_BYTES, Fbn, FileId, Root, SnapshotId};
use strewn_volume::{VolumeId, Volumes};

/// Any error: here they are only printed.
pub(crate) type Result<T = ()> = std::result::Result<T, Box<dyn Error>>;
pub(crate) type Block = [u8; BLOCK];

pub(crate) const BLOCK: usize = 4_096;
pub(crate) const DISKS: usize = 6;
const DATA_DISKS: usize = 4;
const STRIPES: u64 = 1_024;
/// Block 0 and 1 of a disk hold roots, then come the blocks of the log: what it lists, and the contents.
const LOG: u64 = 2;
const LOG_BLOCKS: u64 = 505;
const FIRST_STRIPE: u64 = LOG + 1 + LOG_BLOCKS;
pub(crate) const DISK_BLOCKS: u64 = FIRST_STRIPE + STRIPES;
/// The name of the only volume.
const NAME: &str = "files";

/// What the store needs of a disk. Writes may be reordered or torn, except across a `sync`.
pub(crate) trait Disk {
    fn read(&self, block: u64, bytes: &mut Block) -> io::Result<()>;
    fn write(&mut self, block: u64, bytes: &Block) -> io::Result<()>;
    fn sync(&mut self) -> io::Result<()>;
}

impl Disk for File {
    fn read(&self, block: u64, bytes: &mut Block) -> io::Result<()> {
        let mut file = self;
        file.seek(SeekFrom::Start(block * BLOCK as u64))?;
        file.read_exact(bytes)
    }

    fn write(&mut self, block: u64, bytes: &Block) -> io::Result<()> {
        self.seek(SeekFrom::Start(block * BLOCK as u64))?;
        self.write_all(bytes)
    }

    fn sync(&mut self) -> io::Result<()> {
        self.sync_data()
    }
}

/// A block by disk and stripe.
type Place = (usize, u64);
type Blocks = Vec<(Place, Block)>;

struct Spindles<D> {
    /// `None` if it is missing.
    disks: Vec<Option<D>>,
    /// With disks missing: blocks of the log, in place of what stripes hold.
    logged: HashMap<Place, Block>,
    codec: StripeCodec,
}

impl<D: Disk> Spindles<D> {
    /// A block of a stripe, reconstructed if its disk is missing.
    fn read(&self, (disk, stripe): Place) -> Result<Block> {
        let mut block = [0; BLOCK];
        if let Some(logged) = self.logged.get(&(disk, stripe)) {
            return Ok(*logged);
        }
        if let Some(present) = &self.disks[disk] {
            present.read(FIRST_STRIPE + stripe, &mut block)?;
            return Ok(block);
        }
        let is_lost = |disk: &usize| {
            self.disks[*disk].is_none() && !self.logged.contains_key(&(*disk, stripe))
        };
        let lost: Vec<usize> = (0..DISKS).filter(is_lost).collect();
        let mut blocks = vec![[0; BLOCK]; DISKS];
        for other in (0..DISKS).filter(|disk| !lost.contains(disk)) {
            blocks[other] = self.read((other, stripe))?;
        }
        self.codec.reconstruct(&mut blocks, &lost)?;
        Ok(blocks[disk])
    }

    fn read_vbn(&self, vbn: Vbn) -> Result<Block> {
        let BlockLocation { spindle, dbn } = group()?.locate(vbn);
        self.read((spindle.index(), dbn.0))
    }

    /// Writes blocks to each disk and waits until they are durable.
    fn write(&mut self, blocks: impl IntoIterator<Item = (usize, u64, Block)>) -> Result {
        for (disk, block, bytes) in blocks {
            self.disks[disk].as_mut().ok_or("a disk is missing")?.write(block, &bytes)?;
        }
        self.disks.iter_mut().flatten().try_for_each(Disk::sync)?;
        Ok(())
    }

    fn write_root(&mut self, root: &Root) -> Result {
        let mut block = [0; BLOCK];
        block[..Root::BYTES].copy_from_slice(&root.to_bytes());
        let slot = root.consistency_points() % 2;
        self.write((0..DISKS).map(|disk| (disk, slot, block)))
    }

    /// Replaces the log, on every disk: the consistency point, the places of blocks, a checksum, the blocks.
    fn write_log(&mut self, consistency_point: u64, blocks: &[(Place, Block)]) -> Result {
        let places = blocks.iter().map(|((disk, stripe), _)| (*disk as u64) << 56 | stripe);
        let words = [consistency_point, blocks.len() as u64].into_iter().chain(places);
        let mut list = [0; BLOCK];
        list.chunks_exact_mut(8).zip(words).for_each(|(to, word)| {
            to.copy_from_slice(&word.to_le_bytes());
        });
        let checksum = checksum(&list, blocks.iter().map(|(_, block)| block));
        list[BLOCK - 8..].copy_from_slice(&checksum.to_le_bytes());
        let log: Vec<Block> =
            [list].into_iter().chain(blocks.iter().map(|(_, block)| *block)).collect();
        let on = |disk| (LOG..).zip(&log).map(move |(at, block)| (disk, at, *block));
        self.write((0..DISKS).flat_map(on))
    }

    /// The log of one disk, if it was completely written.
    fn read_log(disk: &D) -> Option<(u64, Blocks)> {
        let mut list = [0; BLOCK];
        disk.read(LOG, &mut list).ok()?;
        let word = |index: usize| Some(u64::from_le_bytes(list[index * 8..][..8].try_into().ok()?));
        let count = word(1)?.min(LOG_BLOCKS);
        let mut blocks = Vec::new();
        for index in 0..count {
            let (place, mut block) = (word(2 + index as usize)?, [0; BLOCK]);
            disk.read(LOG + 1 + index, &mut block).ok()?;
            blocks.push((((place >> 56) as usize, place << 8 >> 8), block));
        }
        let stored = word(BLOCK / 8 - 1)?;
        let mut unsealed = list;
        unsealed[BLOCK - 8..].fill(0);
        (checksum(&unsealed, blocks.iter().map(|(_, block)| block)) == stored)
            .then_some((word(0)?, blocks))
    }
}

/// FNV-1a, for brevity.
fn checksum<'a>(list: &'a Block, blocks: impl Iterator<Item = &'a Block>) -> u64 {
    let bytes = list.iter().chain(blocks.flatten());
    bytes.fold(0xcbf2_9ce4_8422_2325, |sum: u64, byte| {
        (sum ^ u64::from(*byte)).wrapping_mul(0x100_0000_01b3)
    })
}

fn group() -> Result<ParityGroup> {
    Ok(ParityGroup::new(Parity::RaidDp, DATA_DISKS as u16, STRIPES)?)
}

pub(crate) struct Store<D> {
    spindles: Spindles<D>,
    pub(crate) volumes: Volumes,
    pub(crate) volume: VolumeId,
    /// Blocks written since the last commit.
    dirty: BTreeMap<(FileId, Fbn), Block>,
    /// Lengths and attributes set since.
    described: BTreeMap<FileId, (u64, [u8; FILE_ATTRIBUTE_BYTES])>,
}

impl<D: Disk> Store<D> {
    /// Creates a store with `files` files on blank disks.
    pub(crate) fn create(disks: Vec<D>, files: usize) -> Result<Self> {
        let codec = StripeCodec::new(StripeCode::RowDiagonal, DATA_DISKS, BLOCK)?;
        let disks = disks.into_iter().map(Some).collect();
        let spindles = Spindles { disks, logged: HashMap::new(), codec };
        let aggregate = Aggregate::new([group()?], AggregateOptions::default())?;
        let mut volumes = Volumes::persistent(aggregate)?;
        let volume = volumes.create_volume(DATA_DISKS as u64 * STRIPES)?;
        volumes.set_volume_name(volume, Some(NAME))?;
        volumes.begin(0)?;
        for _ in 0..files {
            volumes.create_file(volume)?;
        }
        let mut store = Self::new(spindles, volumes, volume);
        store.write_and_commit()?;
        Ok(store)
    }

    /// Opens a store. With one or two disks missing, it can only be read.
    pub(crate) fn open(disks: Vec<Option<D>>) -> Result<Self> {
        let codec = StripeCodec::new(StripeCode::RowDiagonal, DATA_DISKS, BLOCK)?;
        let mut spindles = Spindles { disks, logged: HashMap::new(), codec };
        let mut roots = Vec::new();
        let mut logs = Vec::new();
        for disk in spindles.disks.iter().flatten() {
            for slot in 0..2 {
                let mut block = [0; BLOCK];
                disk.read(slot, &mut block)?;
                roots.extend(block.first_chunk().and_then(|bytes| Root::from_bytes(bytes).ok()));
            }
            logs.extend(Spindles::read_log(disk));
        }
        let root = roots.into_iter().max_by_key(Root::consistency_points).ok_or("no root")?;
        let current = root.consistency_points();
        // Of this commit or the next; an older log says what stripes no longer hold.
        let log = logs.into_iter().max_by_key(|(point, _)| *point);
        let log = log.filter(|(point, _)| *point >= current);
        let logged = log.into_iter().flat_map(|(_, blocks)| blocks);
        if spindles.disks.iter().all(Option::is_some) {
            let blocks = logged.map(|((disk, stripe), block)| (disk, FIRST_STRIPE + stripe, block));
            spindles.write(blocks)?;
            // Whatever follows must not be overwritten by this log, or undone by a disk that lacks this root.
            spindles.write_log(0, &[])?;
            spindles.write_root(&root)?;
        } else {
            spindles.logged = logged.collect();
        }
        let volumes =
            Volumes::mount([group()?], AggregateOptions::default(), &root, |vbn, bytes| {
                *bytes = spindles.read_vbn(vbn)?;
                Result::Ok(())
            });
        let volumes = volumes?;
        let volume = volumes.volume_named(NAME).ok_or("no volume of files")?;
        Ok(Self::new(spindles, volumes, volume))
    }

    fn new(spindles: Spindles<D>, volumes: Volumes, volume: VolumeId) -> Self {
        let (dirty, described) = (BTreeMap::new(), BTreeMap::new());
        Self { spindles, volumes, volume, dirty, described }
    }

    /// Writes a block of a file, durable with the next commit.
    pub(crate) fn write(&mut self, file: FileId, fbn: Fbn, block: Block) {
        self.dirty.insert((file, fbn), block);
    }

    /// Sets the length of a file in bytes, and what else is known of it, durable with the next commit.
    pub(crate) fn describe(
        &mut self,
        file: FileId,
        length: u64,
        attributes: [u8; FILE_ATTRIBUTE_BYTES],
    ) {
        self.described.insert(file, (length, attributes));
    }

    /// A block of a file, as committed or as in a snapshot; `None` if it was never written.
    pub(crate) fn read(
        &self,
        file: FileId,
        fbn: Fbn,
        at: Option<SnapshotId>,
    ) -> Result<Option<Block>> {
        let image = match at {
            Some(snapshot) => self.volumes.image_of(self.volume, snapshot)?,
            None => self.volumes.image(self.volume)?,
        };
        image.locate(file, fbn).map(|vbn| self.spindles.read_vbn(vbn)).transpose()
    }

    /// Makes durable what was written, and snapshots taken and deleted, all or nothing. After an error of a disk, open
    /// the store again: whether the commit counts, only the roots know.
    pub(crate) fn commit(&mut self) -> Result {
        self.volumes.begin(self.dirty.len() as u64)?;
        self.write_and_commit()
    }

    fn write_and_commit(&mut self) -> Result {
        // 1. Places for data and metadata. Nothing is written yet.
        let (root, logged, all) = match self.plan() {
            Ok(plan) => plan,
            Err(refused) => {
                self.volumes.abandon()?;
                return Err(refused);
            }
        };
        // 2. The log, also if it is empty: the last one must not be replayed any more.
        self.spindles.write_log(root.consistency_points(), &logged)?;
        // 3. Data, metadata and parity.
        let on_disks = |((disk, stripe), block)| (disk, FIRST_STRIPE + stripe, block);
        self.spindles.write(all.into_iter().map(on_disks))?;
        // 4. The root. From here on the consistency point counts.
        self.spindles.write_root(&root)?;
        // 5. What the previous root needed may be overwritten.
        self.volumes.commit()?;
        self.dirty.clear();
        self.described.clear();
        Ok(())
    }

    /// The root, the blocks to log, and all blocks to write.
    fn plan(&mut self) -> Result<(Root, Blocks, Blocks)> {
        let mut by_file: BTreeMap<FileId, Vec<Fbn>> = BTreeMap::new();
        self.dirty.keys().for_each(|(file, fbn)| by_file.entry(*file).or_default().push(*fbn));
        for (file, fbns) in by_file {
            self.volumes.write_all(self.volume, file, &fbns)?;
        }
        for (file, (length, attributes)) in &self.described {
            self.volumes.set_length(self.volume, *file, *length)?;
            self.volumes.set_attributes(self.volume, *file, *attributes)?;
        }
        let plan = self.volumes.finish()?;
        let (logged, all) = self.blocks_to_write(&plan)?;
        if logged.len() as u64 > LOG_BLOCKS {
            return Err("too many stripes to log: write less at a time".into());
        }
        Ok((self.volumes.root().ok_or("finished")?.clone(), logged, all))
    }

    /// The blocks to log, and all blocks to write, parity included.
    fn blocks_to_write(&self, plan: &[Tetris<BlockSource>]) -> Result<(Blocks, Blocks)> {
        let (group, mut logged, mut all) = (group()?, Vec::new(), Vec::new());
        for tetris in plan {
            for write in tetris.stripes(&group) {
                let mut stripe = vec![[0; BLOCK]; DISKS];
                let mut changed = Vec::new();
                for (disk, block) in stripe.iter_mut().enumerate().take(DATA_DISKS) {
                    let source = tetris.contents_at(SpindleIndex(disk as u16), Dbn(write.stripe));
                    *block = match source {
                        Some(source) => self.contents(*source)?,
                        None => self.spindles.read((disk, write.stripe))?,
                    };
                    changed.extend(source.map(|_| disk));
                }
                let (data, parity) = stripe.split_at_mut(DATA_DISKS);
                self.spindles.codec.encode(data, parity)?;
                changed.extend(DATA_DISKS..DISKS);
                let blocks: Vec<_> =
                    changed.iter().map(|disk| ((*disk, write.stripe), stripe[*disk])).collect();
                if write.update.method != UpdateMethod::FullStripe {
                    logged.extend(blocks.iter().copied());
                }
                all.extend(blocks);
            }
        }
        Ok((logged, all))
    }

    fn contents(&self, source: BlockSource) -> Result<Block> {
        match source {
            BlockSource::Written(BlockName { file, fbn, .. }) => Ok(self.dirty[&(file, fbn)]),
            BlockSource::Moved(from) => self.spindles.read_vbn(from),
            BlockSource::Metadata(page) => {
                Ok(*self.volumes.metadata_page(page).ok_or("a page of another plan")?)
            }
        }
    }

    /// Takes a snapshot, durable with the next commit.
    pub(crate) fn snapshot(&mut self) -> Result<SnapshotId> {
        Ok(self.volumes.snapshot(self.volume)?)
    }

    /// Deletes a snapshot, durable with the next commit.
    pub(crate) fn delete_snapshot(&mut self, snapshot: SnapshotId) -> Result {
        self.volumes.delete_snapshot(self.volume, snapshot)?;
        while self.volumes.background_step(1_000)? > 0 {}
        Ok(())
    }
}

/// Opens the store in `directory`, or creates it. Files that are missing are missing disks.
pub(crate) fn open_or_create(directory: &std::path::Path) -> Result<Store<File>> {
    let path = |disk| directory.join(format!("disk-{disk}"));
    let open = |disk| File::options().read(true).write(true).open(path(disk)).ok();
    let disks: Vec<Option<File>> = (0..DISKS).map(open).collect();
    if disks.iter().any(Option::is_some) {
        return Store::open(disks);
    }
    std::fs::create_dir_all(directory)?;
    let create = |disk| {
        let file = File::options().read(true).write(true).create_new(true).open(path(disk))?;
        file.set_len(DISK_BLOCKS * BLOCK as u64)?;
        Ok(file)
    };
    Store::create((0..DISKS).map(create).collect::<io::Result<_>>()?, 3)
}

/// Adds 1 to a counter in each of 100 blocks with each commit, and keeps three snapshots; `told` learns of each commit.
pub(crate) fn count(
    directory: &std::path::Path,
    commits: u64,
    mut told: impl FnMut(u64),
) -> Result {
    let mut store = open_or_create(directory)?;
    let files: Vec<FileId> = store.volumes.image(store.volume)?.files().collect();
    let last = store.read(files[0], Fbn(0), None)?;
    let last = last.map_or(0, |block| u64::from(block[0]) | u64::from(block[1]) << 8);
    for count in last + 1..=last + commits {
        let mut block = [count as u8; BLOCK];
        block[..2].copy_from_slice(&[count as u8, (count >> 8) as u8]);
        for fbn in 0..100 {
            store.write(files[fbn as usize % files.len()], Fbn(fbn), block);
        }
        for file in &files {
            store.describe(*file, count, [count as u8; FILE_ATTRIBUTE_BYTES]);
        }
        store.snapshot()?;
        let snapshots: Vec<SnapshotId> = store.volumes.snapshots(store.volume)?.collect();
        for old in snapshots.iter().rev().skip(3) {
            store.delete_snapshot(*old)?;
        }
        store.commit()?;
        told(count);
    }
    Ok(())
}

#[allow(dead_code, reason = "a test takes this file as a module")]
fn main() -> Result {
    let directory = std::env::args().nth(1).ok_or("name a directory")?;
    count(directory.as_ref(), 100, |count| println!("commit {count} is durable"))
}
