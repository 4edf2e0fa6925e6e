//! How long a simulated device takes.

use super::super::IoRequest;
use strewn_base::Rng;

/// The service times of a device, in nanoseconds of the simulation.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Latency {
    /// A read, before its blocks.
    pub read_ns: u64,
    /// A write into the cache, before its blocks.
    pub write_ns: u64,
    /// A durable write, before its blocks.
    pub durable_ns: u64,
    /// A flush.
    pub flush_ns: u64,
    /// Each block of a read or write.
    pub block_ns: u64,
    /// From nothing to this is added by chance, evenly.
    pub jitter_ns: u64,
    /// One in so many takes ten times as long; none if zero.
    pub slow_one_in: u32,
    /// How many the device works on at once, at least one; the others wait in the order they came.
    pub at_once: u16,
}

impl Latency {
    /// About a disk of 7,200 revolutions a minute that sorts its queue.
    pub const DISK: Self = Self {
        read_ns: 4_000_000,
        write_ns: 100_000,
        durable_ns: 6_000_000,
        flush_ns: 15_000_000,
        block_ns: 25_000,
        jitter_ns: 8_000_000,
        slow_one_in: 64,
        at_once: 4,
    };

    /// Completions in any order whatever: all are worked on at once, and chance decides.
    pub const ANY_ORDER: Self = Self {
        read_ns: 0,
        write_ns: 0,
        durable_ns: 0,
        flush_ns: 0,
        block_ns: 0,
        jitter_ns: 10_000_000,
        slow_one_in: 16,
        at_once: u16::MAX,
    };

    pub(super) fn draw(&self, request: &IoRequest, rng: &mut Rng) -> u64 {
        let (base, blocks) = match request {
            IoRequest::Read { into, .. } => (self.read_ns, into.blocks()),
            IoRequest::Write { from, durable: true, .. } => (self.durable_ns, from.blocks()),
            IoRequest::Write { from, .. } => (self.write_ns, from.blocks()),
            IoRequest::Flush => (self.flush_ns, 0),
        };
        let mean = base + self.block_ns * blocks as u64 + rng.below(self.jitter_ns + 1);
        // Never nothing: time goes on with every completion.
        let slow = self.slow_one_in > 0 && rng.below(u64::from(self.slow_one_in)) == 0;
        (if slow { mean * 10 } else { mean }).max(1)
    }
}

/// When the places that a device works at are free.
#[derive(Debug, Clone)]
pub(super) struct ServiceSlots {
    // Only those in use: the first to be free is found by looking at all, and few are.
    busy_until_ns: Vec<u64>,
}

impl ServiceSlots {
    pub(super) fn new() -> Self {
        Self { busy_until_ns: Vec::new() }
    }

    /// When something is done that comes now and takes `service_ns`.
    pub(super) fn occupy(&mut self, at_once: u16, now_ns: u64, service_ns: u64) -> u64 {
        self.busy_until_ns.retain(|until| *until > now_ns);
        if self.busy_until_ns.len() < usize::from(at_once.max(1)) {
            self.busy_until_ns.push(now_ns + service_ns);
            return now_ns + service_ns;
        }
        let mut first = 0;
        for place in 1..self.busy_until_ns.len() {
            if self.busy_until_ns[place] < self.busy_until_ns[first] {
                first = place;
            }
        }
        self.busy_until_ns[first] += service_ns;
        self.busy_until_ns[first]
    }

    /// Nothing is worked on any more.
    pub(super) fn clear(&mut self) {
        self.busy_until_ns.clear();
    }
}
