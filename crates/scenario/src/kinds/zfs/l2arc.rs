//! The L2ARC of a pool, and its device.

use strewn_zfs::{L2arcConfig, L2arcOptions, Version};

use super::Zfs;
use crate::fields::{Around, Fields, Scales, Section, Table, Text, cost, flag, size, time};
use crate::quantity::Bytes;

/// `[array.zfs.l2arc]`.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct L2arc {
    /// Bytes of the device.
    pub bytes: u64,
    /// What a command takes beside its transfer, in nanoseconds.
    pub latency_ns: u64,
    /// Bytes that the device reads in a second.
    pub read_bytes_per_s: u64,
    /// Bytes that it writes in a second.
    pub write_bytes_per_s: u64,
    /// The most that is written to it at a time, in bytes; `None` for what the version of OpenZFS takes.
    pub write_max_bytes: Option<u64>,
    /// From one write to the next, in nanoseconds.
    pub feed_interval_ns: u64,
    /// Whether what is read ahead and not used is left out.
    pub leaves_out_prefetched: bool,
}

/// What is written at a time, and how many times as much is searched (`L2ARC_WRITE_SIZE`, `L2ARC_HEADROOM`).
fn write_max_and_headroom(version: Version) -> (u64, u64) {
    match version {
        Version::V2_2 => (8 << 20, 2),
        Version::V2_3 => (32 << 20, 8),
    }
}

/// Least bytes of a device (`SPA_MINDEVSIZE`).
const LEAST_BYTES: u64 = 64 << 20;

/// A run that is scaled down has so many sectors at least: a quarter of them is written at a time.
const LEAST_SECTORS: u64 = 64;

impl L2arc {
    pub(super) fn config(&self, zfs: &Zfs, scale_down: u32) -> L2arcConfig {
        let (write_max_bytes, headroom_writes) = write_max_and_headroom(zfs.version);
        // As one that is given is scaled: writes come as much sooner.
        let write_max_bytes = write_max_bytes / u64::from(scale_down).isqrt().max(1);
        let options = L2arcOptions {
            bytes: self.bytes.max(LEAST_SECTORS << zfs.ashift),
            scale_down,
            sector_bytes: 1 << zfs.ashift,
            write_max_bytes: self.write_max_bytes.unwrap_or(write_max_bytes),
            headroom_writes,
            caches_prefetched: !self.leaves_out_prefetched,
        };
        L2arcConfig {
            options,
            feed_interval_ns: self.feed_interval_ns,
            latency_ns: self.latency_ns,
            read_bytes_per_s: self.read_bytes_per_s,
            write_bytes_per_s: self.write_bytes_per_s,
        }
    }

    /// Bytes of memory of the run for what is on a device, in blocks of so many bytes.
    pub(super) fn memory_bytes(&self, block_bytes: u64) -> u64 {
        self.bytes / block_bytes * 64
    }
}

impl Table for L2arc {
    fn fields(&mut self, f: &mut Fields<'_>) {
        f.value(
            size("size", "Bytes of the device that blocks may have.")
                .required("\"400 GB\"")
                .scales(Scales::Whole, "L2ARC of {}"),
            &mut self.bytes,
        );
        f.value(
            cost("latency", "What each of its commands takes beside the transfer.")
                .chosen("\"100 us\""),
            &mut self.latency_ns,
        );
        f.value(
            size("read_per_second", "Data that it reads in a second.")
                .positive()
                .chosen("\"500 MB\""),
            &mut self.read_bytes_per_s,
        );
        f.value(
            size("write_per_second", "Data that it writes in a second; reads wait meanwhile.")
                .positive()
                .chosen("\"400 MB\""),
            &mut self.write_bytes_per_s,
        );
        f.value(
            size(
                "write_max",
                "The most that is written to it at a time (l2arc_write_max), and as much again until the ARC has evicted \
                 something. Unless given, 32 MiB, and 8 MiB with version = \"2.2\".",
            )
            .positive()
            .scales(Scales::Root, "writes to the L2ARC of {}"),
            &mut self.write_max_bytes,
        );
        f.value(
            time(
                "feed_interval",
                "From the start of one write to the next; a fifth of it if more than half of write_max was written.",
            )
            .positive()
            .default("\"1 s\"", "l2arc_feed_secs")
            .scales(Scales::Root, "writes to the L2ARC every {}"),
            &mut self.feed_interval_ns,
        );
        f.value(
            flag(
                "noprefetch",
                "Whether blocks that were read ahead, and not used since, are left out (l2arc_noprefetch).",
            )
            .default("true", "l2arc_noprefetch")
            .unless_default(),
            &mut self.leaves_out_prefetched,
        );
    }

    fn check(&self, s: &Section<'_>, _: &Around) {
        if s.is_right("size") && self.bytes < LEAST_BYTES {
            s.problem(
                "size",
                format!("{} is too small for a device", Bytes(self.bytes)),
                "give at least 64 MiB, as `zpool add` asks for".to_owned(),
            );
        }
    }
}
