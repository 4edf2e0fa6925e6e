//! What random writes would make of a file: a prediction, not a measurement.

use std::collections::HashMap;
use std::fmt;
use std::str::FromStr;

use strewn_base::Rng;

use super::workload::size_text;
use crate::{Address, Extent, FileError, Place};

/// How a predicted amount of writes is written.
const REMEDY: &str = "write a number or an amount of writes and their size, such as \"2 GiB of 8 KiB random writes\" or \
                      \"100000 4 KiB random writes\"";

/// Random writes to a file that have not happened.
///
/// ```
/// use strewn_file::Prediction;
///
/// let prediction: Prediction = "2 GiB of 8 KiB random writes".parse()?;
/// assert_eq!((prediction.writes, prediction.write_bytes), (262_144, 8192));
/// assert_eq!("100000 4 KiB random writes".parse::<Prediction>()?.writes, 100_000);
/// assert!("2 GiB of writes".parse::<Prediction>().unwrap_err().to_string().contains("such as"));
/// # Ok::<(), strewn_file::FileError>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Prediction {
    /// How many writes.
    pub writes: u64,
    /// Bytes of each. A write goes to a multiple of this.
    pub write_bytes: u64,
}

impl fmt::Display for Prediction {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let size = size_text(self.write_bytes);
        match self.writes.checked_mul(self.write_bytes) {
            Some(total) => write!(out, "{} of {size} random writes", size_text(total)),
            None => write!(out, "{} {size} random writes", self.writes),
        }
    }
}

impl FromStr for Prediction {
    type Err = FileError;

    fn from_str(text: &str) -> Result<Self, FileError> {
        let wrong = |what: &str| FileError::input(format!("prediction \"{text}\": {what}"), REMEDY);
        let words = text.trim().strip_suffix("random writes");
        let words = words.ok_or_else(|| wrong("does not end in \"random writes\""))?.trim();
        let (writes, write_bytes) = if let Some((amount, size)) = words.split_once(" of ") {
            let amount = size_of(amount).ok_or_else(|| wrong("the amount is no size"))?;
            let size = size_of(size).ok_or_else(|| wrong("the size of a write is no size"))?;
            if size == 0 {
                return Err(wrong("writes of 0 bytes write nothing"));
            }
            (amount / size, size)
        } else {
            let (number, size) = words.split_once(' ').ok_or_else(|| wrong("a size is missing"))?;
            let number = number.replace([',', '_'], "").parse();
            let number = number.map_err(|_| wrong("the number of writes is no number"))?;
            (number, size_of(size).ok_or_else(|| wrong("the size of a write is no size"))?)
        };
        if writes == 0 {
            return Err(wrong("there is no write in it"));
        }
        if write_bytes == 0 || !write_bytes.is_multiple_of(512) {
            return Err(wrong("the size of a write is not a positive multiple of 512 bytes"));
        }
        Ok(Self { writes, write_bytes })
    }
}

/// Bytes of a whole number and a unit.
fn size_of(text: &str) -> Option<u64> {
    let text = text.trim();
    let digits = text.find(|one: char| !one.is_ascii_digit())?;
    let number: u64 = text[..digits].parse().ok()?;
    let unit = match text[digits..].trim() {
        "B" => 1,
        "kB" => 1000,
        "MB" => 1_000_000,
        "GB" => 1_000_000_000,
        "TB" => 1_000_000_000_000,
        // As fio has them too.
        "KiB" | "k" | "K" => 1 << 10,
        "MiB" | "m" | "M" => 1 << 20,
        "GiB" | "g" | "G" => 1 << 30,
        "TiB" => 1 << 40,
        _ => return None,
    };
    number.checked_mul(unit)
}

/// What a file system does with a write to what exists.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum WritePolicy {
    /// It writes to where the block is, as ext4 and XFS do. Only holes, and what other files share, get new places;
    /// reserved space becomes written.
    InPlace,
    /// It writes to free space, and the old place becomes free, as WAFL, ZFS and btrfs do.
    WriteAnywhere,
}

/// The assumptions of a prediction.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AgingOptions {
    /// What the file system does with a write.
    pub policy: WritePolicy,
    /// Writes that are laid down together, in the order of the file: a consistency point of WAFL, a transaction group
    /// of ZFS. Of btrfs it is less than a commit, because writeback starts earlier.
    pub batch_writes: u64,
    /// Runs of free space, in the order in which the write point comes through them. Behind the last run, and without
    /// any, free space is endless and contiguous, behind the file's highest address.
    pub free: Vec<(Address, u64)>,
    /// In place, the unit in which shared bytes get room elsewhere when they are written to: [`XFS_COPIED_UNIT_BYTES`].
    /// `None` if each write gets its own.
    pub copied_unit_bytes: Option<u64>,
    /// What the places of writes follow from.
    pub seed: u64,
}

/// XFS reserves this much when it copies on write, unless `cowextsize` says otherwise (32 blocks of 4 KiB: xfs(5)). A
/// file that shares all its extents so ends, once all is written, in one extent a unit.
pub const XFS_COPIED_UNIT_BYTES: u64 = 128 << 10;

/// Whether other files share the byte at `offset`.
fn is_shared(extents: &[Extent], offset: u64) -> bool {
    let first = extents.partition_point(|extent| extent.end() <= offset);
    extents.get(first).is_some_and(|extent| extent.shared && extent.offset <= offset)
}

/// Writes beyond as many overwrites of the whole file are left out.
const MOST_OVERWRITES: u64 = 32;

/// Writes in a batch that make the model resemble btrfs of Linux 6.18 on an otherwise idle device: chosen so that one
/// overwrite matches; two are a check.
pub const BTRFS_BATCH_WRITES: u64 = 128;

impl AgingOptions {
    /// Endless free space, and batches of 2,048 writes.
    ///
    /// A file of 256 MiB in blocks of 8 KiB that was contiguous, overwritten once and twice, has this many extents per
    /// MiB window:
    ///
    /// | writes in a batch | once | twice | real |
    /// |---|---|---|---|
    /// | 2,048 | 61 | 69 | OpenZFS 2.3.2 in batches of 2,048, 27 % full: 69 to 73, and 78 (filled with 4); 55 % full: 91 and 104 |
    /// | [128](BTRFS_BATCH_WRITES) | 99 | 112 | btrfs of Linux 6.18: 97 and 119 |
    /// | 1 | 111 | 125 | OpenZFS without an order of allocation: 103 |
    #[must_use]
    pub fn new(policy: WritePolicy) -> Self {
        Self { policy, batch_writes: 2048, free: Vec::new(), copied_unit_bytes: None, seed: 1 }
    }
}

/// A file as it would lie after writes that have not happened. A prediction: no file lies like this.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PredictedLayout {
    /// The extents, in the order of the file.
    pub extents: Vec<Extent>,
    /// The writes.
    pub prediction: Prediction,
    /// Bytes for which the free space given did not suffice.
    pub behind_bytes: u64,
}

impl Prediction {
    /// The blocks of a file of `file_bytes` of which a prediction keeps account, at most: some 100 bytes of memory
    /// each.
    #[must_use]
    pub fn blocks(&self, file_bytes: u64) -> u64 {
        self.writes.min(file_bytes.div_ceil(self.write_bytes))
    }

    /// Predicts how a file of `file_bytes` with these extents, in the order of the file, would lie after the writes.
    ///
    /// Each write goes to a random multiple of its size. The model knows nothing of a file system's allocator but what
    /// [`AgingOptions`] states: space that the writes free is not used again, and the file system writes nothing else
    /// meanwhile. Memory follows the extents and the writes, or the blocks of the file if they are fewer:
    /// [`blocks`](Self::blocks) says how many. Writes beyond 32 overwrites of the whole file are left out: they change
    /// nothing any more.
    #[must_use]
    pub fn age(
        &self,
        extents: &[Extent],
        file_bytes: u64,
        options: &AgingOptions,
    ) -> PredictedLayout {
        let slots = file_bytes.div_ceil(self.write_bytes);
        let mut points = WritePoint::new(extents, options);
        // By slot, where it was written last; in place, which slots are written at all.
        let mut written: HashMap<u64, Address> = HashMap::new();
        let mut units: HashMap<u64, Address> = HashMap::new();
        let mut rng = Rng::new(options.seed);
        // What was written many times over lies no differently after more of it.
        let mut left = self.writes.min(slots.saturating_mul(MOST_OVERWRITES));
        let mut batch = Vec::new();
        while left > 0 {
            let writes = left.min(options.batch_writes.max(1));
            left -= writes;
            batch.clear();
            batch.extend((0..writes).map(|_| rng.below(slots)));
            batch.sort_unstable();
            batch.dedup();
            for &slot in &batch {
                if options.policy == WritePolicy::InPlace
                    && (written.contains_key(&slot) || self.stays(extents, slot, file_bytes))
                {
                    continue;
                }
                let offset = slot * self.write_bytes;
                let at = match options.copied_unit_bytes {
                    // What is shared moves into room for a whole unit, and its neighbours beside it as they are
                    // written.
                    Some(unit) if unit > self.write_bytes && is_shared(extents, offset) => {
                        let first =
                            *units.entry(offset / unit).or_insert_with(|| points.take(unit));
                        first.after(offset % unit)
                    }
                    _ => points.take(self.write_bytes),
                };
                written.insert(slot, at);
            }
        }
        let mut slots: Vec<(u64, Address)> = written.into_iter().collect();
        slots.sort_unstable_by_key(|(slot, _)| *slot);
        let mut extents = self.overwritten(extents, &slots, file_bytes);
        if options.policy == WritePolicy::InPlace {
            self.fill(&mut extents, options.seed, file_bytes);
        }
        PredictedLayout { extents, prediction: *self, behind_bytes: points.behind_bytes }
    }

    /// Whether a write in place finds all its bytes in places of the file's own.
    fn stays(&self, extents: &[Extent], slot: u64, file_bytes: u64) -> bool {
        let mut offset = slot * self.write_bytes;
        let end = (offset + self.write_bytes).min(file_bytes);
        let first = extents.partition_point(|extent| extent.end() <= offset);
        for extent in &extents[first..] {
            let own = matches!(extent.place, Place::At(_) | Place::Unwritten(_)) && !extent.shared;
            if extent.offset > offset || offset >= end || !own {
                break;
            }
            offset = extent.end();
        }
        offset >= end
    }

    /// The extents with the slots at their new places.
    fn overwritten(
        &self,
        extents: &[Extent],
        slots: &[(u64, Address)],
        file_bytes: u64,
    ) -> Vec<Extent> {
        let mut aged = Vec::with_capacity(extents.len() + slots.len());
        let mut old = extents.iter().peekable();
        let mut offset = 0;
        let mut keep = |from: u64, to: u64, aged: &mut Vec<Extent>| {
            while let Some(extent) = old.peek() {
                if extent.offset >= to {
                    break;
                }
                aged.extend(extent.within(from..to));
                if extent.end() > to {
                    break;
                }
                old.next();
            }
        };
        for &(slot, at) in slots {
            let start = slot * self.write_bytes;
            keep(offset, start, &mut aged);
            offset = (start + self.write_bytes).min(file_bytes);
            let new = Extent {
                offset: start,
                bytes: offset - start,
                place: Place::At(at),
                shared: false,
            };
            match aged.last_mut() {
                Some(last) if last.goes_on_with(&new) => last.bytes += new.bytes,
                _ => aged.push(new),
            }
            // What was there is gone.
            keep(offset, offset, &mut Vec::new());
        }
        keep(offset, u64::MAX, &mut aged);
        aged
    }

    /// Turns reserved space that the writes reach into written space.
    fn fill(&self, extents: &mut Vec<Extent>, seed: u64, file_bytes: u64) {
        if !extents.iter().any(|extent| matches!(extent.place, Place::Unwritten(_))) {
            return;
        }
        let slots = file_bytes.div_ceil(self.write_bytes);
        let mut rng = Rng::new(seed);
        let mut reached: Vec<u64> = (0..self.writes).map(|_| rng.below(slots)).collect();
        reached.sort_unstable();
        reached.dedup();
        let mut filled: Vec<Extent> = Vec::with_capacity(extents.len());
        let mut push = |extent: Extent| match filled.last_mut() {
            Some(last) if last.goes_on_with(&extent) => last.bytes += extent.bytes,
            _ => filled.push(extent),
        };
        for extent in extents.iter() {
            let Place::Unwritten(_) = extent.place else {
                push(*extent);
                continue;
            };
            let mut offset = extent.offset;
            let first = reached.partition_point(|slot| (slot + 1) * self.write_bytes <= offset);
            for slot in &reached[first..] {
                let start = slot * self.write_bytes;
                if start >= extent.end() {
                    break;
                }
                extent.within(offset..start).into_iter().for_each(&mut push);
                if let Some(part) = extent.within(start..start + self.write_bytes)
                    && let Place::Unwritten(at) = part.place
                {
                    offset = part.end();
                    push(Extent { place: Place::At(at), ..part });
                }
            }
            extent.within(offset..u64::MAX).into_iter().for_each(&mut push);
        }
        *extents = filled;
    }
}

impl Extent {
    fn goes_on_with(&self, next: &Self) -> bool {
        let (Place::At(at), Place::At(next_at)) = (self.place, next.place) else { return false };
        self.end() == next.offset && at.after(self.bytes) == next_at && self.shared == next.shared
    }
}

/// The next free place.
struct WritePoint<'a> {
    free: std::slice::Iter<'a, (Address, u64)>,
    run: (Address, u64),
    behind: Address,
    behind_bytes: u64,
}

impl<'a> WritePoint<'a> {
    fn new(extents: &[Extent], options: &'a AgingOptions) -> Self {
        let end = |extent: &Extent| Some(extent.place.address()?.after(extent.allocated_bytes()));
        let free = options.free.iter().map(|(at, bytes)| at.after(*bytes));
        let behind = extents.iter().filter_map(end).chain(free).max();
        let behind = behind.unwrap_or(Address::new(0));
        Self { free: options.free.iter(), run: (behind, 0), behind, behind_bytes: 0 }
    }

    /// Takes `bytes` in one piece; a run of free space with less left is left.
    fn take(&mut self, bytes: u64) -> Address {
        loop {
            let (at, left) = self.run;
            if left >= bytes {
                self.run = (at.after(bytes), left - bytes);
                return at;
            }
            let Some(next) = self.free.next() else { break };
            self.run = *next;
        }
        let at = self.behind;
        self.behind = at.after(bytes);
        self.behind_bytes += bytes;
        at
    }
}
