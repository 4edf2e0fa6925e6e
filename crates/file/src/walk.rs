//! A tree of directories, by several threads.

use std::fs::{self, Metadata};
use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

/// What is done with what a walk finds. Its methods are called from several threads.
pub trait Visitor: Sync {
    /// Looks at a regular file.
    fn file(&self, path: PathBuf, metadata: &Metadata);

    /// Prepares for files of one directory, each of which [`file`](Self::file) is called for next.
    fn coming(&self, _paths: &[PathBuf]) {}

    /// Returns whether to go into a directory.
    fn enters(&self, _path: &Path, _metadata: &Metadata) -> bool {
        true
    }

    /// Notes something that is neither a directory nor a regular file: a link, a pipe, a socket, a device.
    fn other(&self, _path: PathBuf, _metadata: &Metadata) {}

    /// Notes what cannot be read.
    fn failed(&self, path: PathBuf, error: io::Error);

    /// Returns whether to stop. What is under way is finished.
    fn stops(&self) -> bool {
        false
    }
}

/// How a tree is walked.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct WalkOptions {
    /// Threads, from 1 to [`MOST_THREADS`].
    pub threads: usize,
    /// The share of its time, 0 to 1, that each thread is at work; it sleeps for the rest, so that others get at the
    /// device.
    pub busy: f64,
}

impl Default for WalkOptions {
    /// A thread for each processor, always at work.
    fn default() -> Self {
        let threads = std::thread::available_parallelism().map_or(1, usize::from);
        Self { threads, busy: 1.0 }
    }
}

/// More threads than this only wait for each other.
pub const MOST_THREADS: usize = 64;

/// Files of a directory that one thread looks at together.
const BATCH_FILES: usize = 128;
/// Pieces of work that may wait before the thread that finds more does them itself: a directory may have millions of
/// files.
const MOST_WAITING: usize = 4096;

enum Work {
    Directory(PathBuf),
    Files(Vec<PathBuf>),
}

struct Queue {
    state: Mutex<State>,
    changed: Condvar,
}

#[derive(Default)]
struct State {
    /// The last first, so that a deep tree does not pile up.
    waiting: Vec<Work>,
    working: usize,
}

impl Queue {
    fn lock(&self) -> MutexGuard<'_, State> {
        // A visitor that panics takes its thread with it; the list of what waits is whole.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn next(&self, stops: &dyn Fn() -> bool) -> Option<Work> {
        let mut state = self.lock();
        loop {
            if stops() {
                self.changed.notify_all();
                return None;
            }
            if let Some(work) = state.waiting.pop() {
                state.working += 1;
                return Some(work);
            }
            if state.working == 0 {
                self.changed.notify_all();
                return None;
            }
            // Woken when there is more, and now and then to see whether to stop.
            let waited = self.changed.wait_timeout(state, Duration::from_millis(100));
            state = waited.unwrap_or_else(PoisonError::into_inner).0;
        }
    }

    fn done(&self) {
        self.lock().working -= 1;
        self.changed.notify_all();
    }

    /// Adds work, or gives it back if enough is waiting.
    fn add(&self, work: Work) -> Option<Work> {
        let mut state = self.lock();
        if state.waiting.len() >= MOST_WAITING && matches!(work, Work::Files(_)) {
            return Some(work);
        }
        state.waiting.push(work);
        drop(state);
        self.changed.notify_one();
        None
    }
}

/// Visits every regular file below `root`, a directory, each once, in no particular order. Symbolic links are not
/// followed.
pub fn walk(root: &Path, options: WalkOptions, visitor: &impl Visitor) {
    let queue = Queue {
        state: Mutex::new(State { waiting: vec![Work::Directory(root.to_owned())], working: 0 }),
        changed: Condvar::new(),
    };
    std::thread::scope(|scope| {
        for _ in 0..options.threads.clamp(1, MOST_THREADS) {
            scope.spawn(|| {
                let walker = Walker { queue: &queue, busy: options.busy, visitor };
                while let Some(work) = queue.next(&|| visitor.stops()) {
                    walker.work(work);
                    queue.done();
                }
            });
        }
    });
}

struct Walker<'a, V> {
    queue: &'a Queue,
    busy: f64,
    visitor: &'a V,
}

impl<V: Visitor> Walker<'_, V> {
    fn work(&self, work: Work) {
        match work {
            Work::Directory(path) => self.directory(path),
            Work::Files(paths) => self.files(paths),
        }
    }

    fn directory(&self, path: PathBuf) {
        let entries = match fs::read_dir(&path) {
            Ok(entries) => entries,
            Err(error) => return self.visitor.failed(path, error),
        };
        let mut batch = Vec::new();
        for entry in entries {
            if self.visitor.stops() {
                return;
            }
            let entry = match entry {
                Ok(entry) => entry,
                // What was read of the directory stands; the rest cannot be had.
                Err(error) => {
                    self.visitor.failed(path, error);
                    break;
                }
            };
            let found = entry.path();
            match entry.file_type() {
                Ok(kind) if kind.is_dir() => match fs::symlink_metadata(&found) {
                    Ok(metadata) if self.visitor.enters(&found, &metadata) => {
                        self.queue.add(Work::Directory(found));
                    }
                    Ok(_) => {}
                    Err(error) => self.visitor.failed(found, error),
                },
                Ok(kind) if kind.is_file() => batch.push(found),
                Ok(_) => match fs::symlink_metadata(&found) {
                    Ok(metadata) => self.visitor.other(found, &metadata),
                    Err(error) => self.visitor.failed(found, error),
                },
                Err(error) => self.visitor.failed(found, error),
            }
            if batch.len() >= BATCH_FILES {
                self.files_later(std::mem::take(&mut batch));
            }
        }
        self.files_later(batch);
    }

    fn files_later(&self, paths: Vec<PathBuf>) {
        if !paths.is_empty()
            && let Some(Work::Files(paths)) = self.queue.add(Work::Files(paths))
        {
            self.files(paths);
        }
    }

    fn files(&self, paths: Vec<PathBuf>) {
        if !self.visitor.stops() {
            self.visitor.coming(&paths);
        }
        for path in paths {
            if self.visitor.stops() {
                return;
            }
            let began = Instant::now();
            match fs::symlink_metadata(&path) {
                Ok(metadata) if metadata.is_file() => self.visitor.file(path, &metadata),
                Ok(metadata) => self.visitor.other(path, &metadata),
                Err(error) => self.visitor.failed(path, error),
            }
            if self.busy < 1.0 {
                std::thread::sleep(began.elapsed().mul_f64(1.0 / self.busy.max(0.001) - 1.0));
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    #[derive(Default)]
    struct Seen {
        files: Mutex<Vec<PathBuf>>,
        stop_after: Option<usize>,
    }

    impl Visitor for Seen {
        fn file(&self, path: PathBuf, metadata: &Metadata) {
            assert!(metadata.is_file());
            self.files.lock().unwrap().push(path);
        }

        fn failed(&self, path: PathBuf, error: io::Error) {
            panic!("{}: {error}", path.display());
        }

        fn stops(&self) -> bool {
            self.stop_after.is_some_and(|most| self.files.lock().unwrap().len() >= most)
        }
    }

    fn tree() -> (tempfile::TempDir, BTreeSet<PathBuf>) {
        let root = tempfile::tempdir().unwrap();
        let mut all = BTreeSet::new();
        for directory in ["", "a", "a/b", "c", "empty"] {
            let directory = root.path().join(directory);
            fs::create_dir_all(&directory).unwrap();
            if !directory.ends_with("empty") {
                for file in 0..300 {
                    let file = directory.join(format!("{file}.bin"));
                    fs::write(&file, "x").unwrap();
                    all.insert(file);
                }
            }
        }
        (root, all)
    }

    #[test]
    fn every_file_is_visited_once_by_any_number_of_threads() {
        let (root, all) = tree();
        for threads in [0, 1, 2, 8] {
            let seen = Seen::default();
            walk(root.path(), WalkOptions { threads, busy: 1.0 }, &seen);
            let files = seen.files.into_inner().unwrap();
            assert_eq!(files.len(), all.len());
            assert_eq!(files.into_iter().collect::<BTreeSet<_>>(), all);
        }
    }

    #[test]
    fn a_walk_stops_when_asked() {
        let (root, all) = tree();
        let seen = Seen { stop_after: Some(10), ..Seen::default() };
        walk(root.path(), WalkOptions { threads: 2, busy: 1.0 }, &seen);
        let found = seen.files.into_inner().unwrap().len();
        assert!((10..all.len()).contains(&found), "{found}");
    }
}
