//! Looking at many files: which of them are listed, and the sums of all.

use std::cmp::Ordering;
use std::collections::{BinaryHeap, HashSet};
use std::fs::Metadata;
use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering as Memory};
use std::sync::{Mutex, PoisonError};

use strewn::file::Visitor;
use strewn::results::{FileRecord, FileTotals, NotLookedAt};

use crate::command::arguments::Sort;

/// Most reasons kept for a report; beyond these they are counted.
const MOST_REASONS: usize = 10_000;

/// Kinds of file systems whose files are made up as they are read.
const PSEUDO: [&str; 16] = [
    "proc",
    "sysfs",
    "devtmpfs",
    "devpts",
    "cgroup",
    "cgroup2",
    "debugfs",
    "tracefs",
    "securityfs",
    "pstore",
    "bpf",
    "configfs",
    "fusectl",
    "mqueue",
    "hugetlbfs",
    "binfmt_misc",
];

/// A file that may be listed, with what it is sorted by.
#[derive(Debug, Clone)]
pub(super) struct Candidate {
    key: f64,
    pub(super) path: PathBuf,
    /// What a quick look found.
    pub(super) record: FileRecord,
}

impl Candidate {
    pub(super) fn new(path: PathBuf, record: FileRecord, sort: Sort) -> Self {
        let cost = record.cost.as_ref();
        let key = match sort {
            Sort::Cost => cost.map_or(0.0, |cost| cost.extra_commands),
            Sort::Scan => lost_by_scan_s(&record),
            Sort::Extents => record.layout.extents as f64,
            Sort::Score => -record.layout.layout_score,
            Sort::Commands => cost.map_or(0.0, |cost| cost.commands_per_request),
            Sort::Size => record.bytes as f64,
            Sort::Path => 0.0,
        };
        Self { key, path, record }
    }
}

/// Seconds that a command takes which a contiguous file would not. Chosen: half a revolution and a short seek. It only
/// says which files are looked at closely.
const EXTRA_COMMAND_S: f64 = 0.006;

/// Returns the seconds that a scan of the file loses: simulated, or else by the pieces in its windows of 1 MiB.
fn lost_by_scan_s(record: &FileRecord) -> f64 {
    let simulated = record.cost.as_ref().and_then(|cost| cost.simulated.as_ref());
    if let Some((now, contiguous)) = simulated.and_then(|simulated| simulated.scan_s) {
        return (now - contiguous).max(0.0);
    }
    let windows = record.layout.placed_bytes as f64 / f64::from(1 << 20);
    (record.layout.extents_per_mib_window - 1.0).max(0.0) * windows * EXTRA_COMMAND_S
}

impl PartialEq for Candidate {
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other) == Ordering::Equal
    }
}

impl Eq for Candidate {}

impl PartialOrd for Candidate {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Candidate {
    /// What is listed first is the least.
    fn cmp(&self, other: &Self) -> Ordering {
        other.key.total_cmp(&self.key).then_with(|| self.path.cmp(&other.path))
    }
}

/// What was found so far.
#[derive(Debug, Default)]
pub(super) struct Found {
    /// The files that would be listed, of those found in directories; the one to be dropped first on top.
    top: BinaryHeap<Candidate>,
    pub(super) totals: FileTotals,
    pub(super) not_looked_at: Vec<NotLookedAt>,
    /// Those beyond the ones that are kept.
    pub(super) more_not_looked_at: u64,
    /// Links, pipes, sockets and devices.
    pub(super) others: u64,
    /// Directories of file systems without blocks.
    pub(super) pseudo: u64,
    /// Files with several names that were looked at under another one.
    pub(super) linked: u64,
    seen: HashSet<(u64, u64)>,
}

/// A scan: its threads add to what was found.
pub(super) struct Scan<'a> {
    found: Mutex<Found>,
    done: AtomicU64,
    options: ScanOptions<'a>,
}

/// A record and the bytes of a block, or why there is none.
pub(super) type QuickLook = Result<(FileRecord, u64), String>;

/// How a file of a scan is looked at.
pub(super) struct ScanOptions<'a> {
    /// Takes a quick look; or says why there is none.
    pub(super) look: &'a (dyn Fn(&Path) -> QuickLook + Sync),
    /// Prepares for files of one directory.
    pub(super) coming: &'a (dyn Fn(&[PathBuf]) + Sync),
    /// The kind of file system a directory is on.
    pub(super) kind: &'a (dyn Fn(&Path, &Metadata) -> Option<String> + Sync),
    pub(super) stops: fn() -> bool,
    /// Told after every file how many there were.
    pub(super) progress: &'a (dyn Fn(u64) + Sync),
    pub(super) top: usize,
    pub(super) sort: Sort,
    pub(super) one_file_system: bool,
    /// The device of the directory that the walk began at.
    pub(super) root_device: Option<u64>,
}

impl<'a> Scan<'a> {
    /// A scan that adds to what was found before.
    pub(super) fn new(found: Found, options: ScanOptions<'a>) -> Self {
        let done = AtomicU64::new(found.totals.files);
        Self { found: Mutex::new(found), done, options }
    }

    fn found(&self) -> std::sync::MutexGuard<'_, Found> {
        self.found.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) fn into_found(self) -> Found {
        self.found.into_inner().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Found {
    /// Notes a file by its numbers. Returns whether it is new.
    pub(super) fn record_seen(&mut self, metadata: &Metadata) -> bool {
        self.seen.insert((metadata.dev(), metadata.ino()))
    }

    pub(super) fn refuse(&mut self, path: &Path, reason: String) {
        if self.not_looked_at.len() < MOST_REASONS {
            let path = super::subject::path_text(path);
            self.not_looked_at.push(NotLookedAt { path, reason });
        } else {
            self.more_not_looked_at += 1;
        }
    }

    /// Takes a file into the sums.
    pub(super) fn add(&mut self, record: &FileRecord, block_bytes: u64) {
        self.totals.add(record, block_bytes);
    }

    fn offer(&mut self, candidate: Candidate, top: usize) {
        self.top.push(candidate);
        if self.top.len() > top {
            self.top.pop();
        }
    }

    /// Returns the files to list, in order.
    pub(super) fn take_top(&mut self) -> Vec<Candidate> {
        std::mem::take(&mut self.top).into_sorted_vec()
    }

    /// Returns how many were not looked at.
    pub(super) fn failures(&self) -> u64 {
        self.not_looked_at.len() as u64 + self.more_not_looked_at
    }

    /// Puts what threads found in any order into one.
    pub(super) fn sort(&mut self) {
        self.not_looked_at.sort_by(|one, other| one.path.cmp(&other.path));
    }
}

impl Visitor for Scan<'_> {
    fn file(&self, path: PathBuf, metadata: &Metadata) {
        // A file of one name is found once.
        if !self.found_anew(metadata) {
            self.found().linked += 1;
            return;
        }
        match (self.options.look)(&path) {
            Ok((record, block_bytes)) => {
                let candidate = Candidate::new(path, record, self.options.sort);
                let mut found = self.found();
                found.add(&candidate.record, block_bytes);
                found.offer(candidate, self.options.top);
            }
            Err(reason) => self.found().refuse(&path, reason),
        }
        (self.options.progress)(self.done.fetch_add(1, Memory::Relaxed) + 1);
    }

    fn coming(&self, paths: &[PathBuf]) {
        (self.options.coming)(paths);
    }

    fn enters(&self, path: &Path, metadata: &Metadata) -> bool {
        if self.options.one_file_system && Some(metadata.dev()) != self.options.root_device {
            return false;
        }
        let kind = (self.options.kind)(path, metadata);
        let is_pseudo = kind.is_some_and(|kind| PSEUDO.contains(&kind.as_str()));
        if is_pseudo {
            self.found().pseudo += 1;
        }
        !is_pseudo
    }

    fn other(&self, _path: PathBuf, _metadata: &Metadata) {
        self.found().others += 1;
    }

    fn failed(&self, path: PathBuf, error: io::Error) {
        self.found().refuse(&path, super::reason_of_io(&error));
    }

    fn stops(&self) -> bool {
        (self.options.stops)()
    }
}

impl Scan<'_> {
    fn found_anew(&self, metadata: &Metadata) -> bool {
        let mut found = self.found();
        // Most files have one name, and need no entry; but one that was named on the command line has one.
        if metadata.nlink() == 1 {
            !found.seen.contains(&(metadata.dev(), metadata.ino()))
        } else {
            found.record_seen(metadata)
        }
    }
}
