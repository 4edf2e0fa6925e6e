//! Service times of simulated devices.

use super::super::IoRequest;
use strewn_base::Rng;

/// The service times of a device, in simulated nanoseconds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Latency {
    /// Base time of a read, without its blocks.
    pub read_ns: u64,
    /// Base time of a write into the cache, without its blocks.
    pub write_ns: u64,
    /// Base time of a durable write, without its blocks.
    pub durable_ns: u64,
    /// Time of a flush.
    pub flush_ns: u64,
    /// Time per block of a read or write.
    pub block_ns: u64,
    /// Largest random addition, uniformly distributed from 0.
    pub jitter_ns: u64,
    /// One in this many takes ten times as long; none if zero.
    pub slow_one_in: u32,
    /// Operations served at a time, at least one; the others wait in order of arrival.
    pub at_once: u16,
}

impl Latency {
    /// Approximates a disk of 7,200 revolutions per minute that sorts its queue.
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

    /// Completes in arbitrary order: all operations are served at once, with random times.
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
        // At least 1 ns: time advances with every completion.
        let slow = self.slow_one_in > 0 && rng.below(u64::from(self.slow_one_in)) == 0;
        (if slow { mean * 10 } else { mean }).max(1)
    }
}

/// When the places where a device serves operations become free.
#[derive(Debug, Clone)]
pub(super) struct ServiceSlots {
    // Only the busy places. There are few, so a linear search finds the first to become free.
    busy_until_ns: Vec<u64>,
}

impl ServiceSlots {
    pub(super) fn new() -> Self {
        Self { busy_until_ns: Vec::new() }
    }

    /// Returns when an operation completes that arrives now and takes `service_ns`.
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

    /// Frees all places.
    pub(super) fn clear(&mut self) {
        self.busy_until_ns.clear();
    }
}
