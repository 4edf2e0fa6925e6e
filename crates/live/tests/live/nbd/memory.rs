//! A LUN in memory that can be slow, fail and answer in any order.

use std::collections::VecDeque;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Condvar, Mutex};
use std::thread;
use std::time::{Duration, Instant};

use strewn_live::nbd::{
    Answer, Export, ExportEntry, ExportError, Exports, Extent, Features, Reply, Request,
};

pub const SECTOR: u64 = 512;

pub struct Memory {
    sectors: Mutex<Sectors>,
    /// Requests that wait for [`Memory::release`], if it holds them.
    held: Mutex<Option<VecDeque<(Request, Reply)>>>,
    arrived: Condvar,
    /// What the next requests are answered with instead.
    failure: Mutex<Option<ExportError>>,
    /// Flushes and durable requests.
    pub durable: AtomicU64,
    pub zeroes_without_holes: AtomicU64,
    fast_zeroes: bool,
}

struct Sectors {
    bytes: Vec<u8>,
    allocated: Vec<bool>,
}

impl Memory {
    pub fn new(bytes: u64) -> Arc<Self> {
        Arc::new(Self::with(bytes, false))
    }

    pub fn with(bytes: u64, fast_zeroes: bool) -> Self {
        let sectors = Sectors {
            bytes: vec![0; bytes as usize],
            allocated: vec![false; (bytes / SECTOR) as usize],
        };
        Self {
            sectors: Mutex::new(sectors),
            held: Mutex::new(None),
            arrived: Condvar::new(),
            failure: Mutex::new(None),
            durable: AtomicU64::new(0),
            zeroes_without_holes: AtomicU64::new(0),
            fast_zeroes,
        }
    }

    /// From now on requests wait.
    pub fn hold(&self) {
        *self.held.lock().unwrap() = Some(VecDeque::new());
    }

    pub fn held(&self) -> usize {
        self.held.lock().unwrap().as_ref().map_or(0, VecDeque::len)
    }

    /// Waits until so many requests are held.
    pub fn wait_for(&self, count: usize) {
        let begin = Instant::now();
        let mut held = self.held.lock().unwrap();
        while held.as_ref().map_or(0, VecDeque::len) < count {
            assert!(begin.elapsed() < Duration::from_secs(10), "waited for {count} requests");
            (held, _) = self.arrived.wait_timeout(held, Duration::from_millis(100)).unwrap();
        }
    }

    /// Does what was held, in the order that `order` makes of it, and holds no more.
    pub fn release(&self, order: impl FnOnce(&mut VecDeque<(Request, Reply)>)) {
        let mut held = self.held.lock().unwrap().take().unwrap_or_default();
        order(&mut held);
        for (request, reply) in held {
            self.answer(request, reply);
        }
    }

    pub fn fail(&self, error: Option<ExportError>) {
        *self.failure.lock().unwrap() = error;
    }

    fn answer(&self, request: Request, reply: Reply) {
        let failure = self.failure.lock().unwrap().clone();
        let outcome = failure.map_or_else(|| Ok(self.sectors.lock().unwrap().apply(&request)), Err);
        reply.send(outcome);
    }
}

impl Sectors {
    fn fill(&mut self, offset: u64, bytes: u64, allocated: bool) {
        self.bytes[offset as usize..][..bytes as usize].fill(0);
        self.allocated[(offset / SECTOR) as usize..][..(bytes / SECTOR) as usize].fill(allocated);
    }

    fn apply(&mut self, request: &Request) -> Answer {
        match *request {
            Request::Read { offset, bytes } => {
                return Answer::Data(self.bytes[offset as usize..][..bytes as usize].to_vec());
            }
            Request::Write { offset, ref data, .. } => {
                self.fill(offset, data.len() as u64, true);
                self.bytes[offset as usize..][..data.len()].copy_from_slice(data);
            }
            Request::Flush => {}
            Request::Trim { offset, bytes, .. } => self.fill(offset, bytes, false),
            Request::WriteZeroes { offset, bytes, may_trim, .. } => {
                self.fill(offset, bytes, !may_trim)
            }
            Request::Allocation { offset, bytes, .. } => {
                let sectors =
                    &self.allocated[(offset / SECTOR) as usize..][..(bytes / SECTOR) as usize];
                let extents = sectors.chunk_by(|a, b| a == b);
                let extent = |run: &[bool]| Extent {
                    bytes: run.len() as u64 * SECTOR,
                    allocated: run[0],
                    zero: !run[0],
                };
                return Answer::Allocation(extents.map(extent).collect());
            }
        }
        Answer::Done
    }
}

impl Export for Memory {
    fn size_bytes(&self) -> u64 {
        self.sectors.lock().unwrap().bytes.len() as u64
    }

    fn description(&self) -> &str {
        "memory of a test"
    }

    fn features(&self) -> Features {
        Features { fast_zeroes: self.fast_zeroes, ..Features::default() }
    }

    fn submit(&self, request: Request, reply: Reply) {
        let durable = match request {
            Request::Flush => true,
            Request::Write { durable, .. }
            | Request::Trim { durable, .. }
            | Request::WriteZeroes { durable, .. } => durable,
            Request::Read { .. } | Request::Allocation { .. } => false,
        };
        self.durable.fetch_add(durable.into(), Ordering::Relaxed);
        if let Request::WriteZeroes { offset, may_trim, fast_only, .. } = request {
            if fast_only && offset == 0 {
                // The first block is one that is only written slowly.
                return reply.send(Err(ExportError::NotSupported));
            }
            self.zeroes_without_holes.fetch_add((!may_trim).into(), Ordering::Relaxed);
        }
        if let Some(held) = self.held.lock().unwrap().as_mut() {
            held.push_back((request, reply));
            self.arrived.notify_all();
            return;
        }
        self.answer(request, reply);
    }
}

/// The same, answered by other threads, in an order that nobody knows.
pub struct Threads {
    memory: Arc<Memory>,
    requests: Vec<Mutex<std::sync::mpsc::Sender<(Request, Reply)>>>,
    next: AtomicU64,
}

impl Threads {
    pub fn new(memory: Arc<Memory>, threads: usize) -> Self {
        let requests = (0..threads)
            .map(|number| {
                let (sender, receiver) = std::sync::mpsc::channel::<(Request, Reply)>();
                let memory = Arc::clone(&memory);
                thread::spawn(move || {
                    for (count, (request, reply)) in receiver.into_iter().enumerate() {
                        if (count + number) % 7 == 0 {
                            thread::sleep(Duration::from_micros(100));
                        }
                        memory.answer(request, reply);
                    }
                });
                Mutex::new(sender)
            })
            .collect();
        Self { memory, requests, next: AtomicU64::new(0) }
    }
}

impl Export for Threads {
    fn size_bytes(&self) -> u64 {
        self.memory.size_bytes()
    }

    fn submit(&self, request: Request, reply: Reply) {
        let number = self.next.fetch_add(1, Ordering::Relaxed) as usize % self.requests.len();
        self.requests[number].lock().unwrap().send((request, reply)).unwrap();
    }
}

/// A memory under a name, which may be read-only.
pub struct Named {
    pub name: String,
    pub is_read_only: bool,
    pub memory: Arc<Memory>,
}

impl Named {
    pub fn new(name: &str, bytes: u64, is_read_only: bool) -> Arc<Self> {
        Arc::new(Self { name: name.to_owned(), is_read_only, memory: Memory::new(bytes) })
    }
}

impl Export for Named {
    fn size_bytes(&self) -> u64 {
        self.memory.size_bytes()
    }

    fn submit(&self, request: Request, reply: Reply) {
        self.memory.submit(request, reply);
    }

    fn name(&self) -> &str {
        &self.name
    }

    fn is_read_only(&self) -> bool {
        self.is_read_only
    }
}

/// Exports that come and go.
#[derive(Default)]
pub struct Several(pub Mutex<Vec<Arc<Named>>>);

impl Several {
    pub fn new(exports: Vec<Arc<Named>>) -> Arc<Self> {
        Arc::new(Self(Mutex::new(exports)))
    }
}

impl Exports for Several {
    fn list(&self) -> Vec<ExportEntry> {
        let exports = self.0.lock().unwrap();
        let entry = |one: &Arc<Named>| ExportEntry {
            name: one.name.clone(),
            description: format!("memory {}", one.name),
        };
        exports.iter().map(entry).collect()
    }

    fn find(&self, name: &str) -> Option<Arc<dyn Export>> {
        let exports = self.0.lock().unwrap();
        let found = exports.iter().find(|one| name.is_empty() || one.name == name)?;
        Some(Arc::clone(found) as _)
    }
}
