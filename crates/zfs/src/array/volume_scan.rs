//! Scans that go through all volumes in the order of their blocks while hosts go on: rewriting, and sending.
//!
//! **Rewriting** is `zfs_rewrite` of OpenZFS 2.4: up to half of `DMU_MAX_ACCESS` at a time is read and made dirty as it
//! is, holes left out, so a transaction group gives it new places. It waits as writes of hosts do (`dmu_tx_assign`),
//! but nothing goes to the intent log. If the pool has no room, it ends.
//!
//! **Sending** is `zfs send`: blocks are read in order, with a queue of them under way (`dmu_send_impl`), and go to a
//! pool that is not here. It reads the volume as it is, where OpenZFS reads a snapshot.
//!
//! What is left out: `zfs rewrite` locks the range that it is given against all others (`zfs_rangelock_enter`), the
//! whole file unless told otherwise. This is one that is given short ranges. OpenZFS 2.4 also drops what it has read
//! from the ARC (`DMU_UNCACHEDIO`); here it stays as what a host has read does.

use std::ops::Range;

use strewn_array::{Driver, ScanProgress};
use strewn_base::BLOCK_BYTES;
use strewn_base::state::SavedValue;

use super::ZfsArray;

/// What is rewritten at a time (half of `DMU_MAX_ACCESS`), in bytes.
const REWRITE_BYTES: u64 = 32 << 20;

/// It is at most this part of the dirty limit here, so that it does not fill that of a scaled run (chosen). It is as
/// large as that allows, since all of its blocks are read at once.
const DIRTY_LIMIT_PART: u64 = 8;

/// What a reader of `zfs send` has under way, in bytes: twice the largest record (`zfs_max_recordsize`), which is more
/// than `zfs_send_queue_length`,
const SEND_BYTES: u64 = 32 << 20;

/// here in so many parts.
const SEND_PARTS: u64 = 32;

/// What a scan does with the blocks that it reads.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ScanKind {
    /// They are written again, elsewhere.
    Rewrite,
    /// They are sent away.
    Send,
}

/// A scan of all volumes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct VolumeScanConfig {
    /// What for.
    pub kind: ScanKind,
    /// When the first begins, in nanoseconds.
    pub begins_ns: u64,
    /// From one's beginning to the next, in nanoseconds; `None` for a single one.
    pub every_ns: Option<u64>,
    /// The most that it reads in a second, in bytes; `None` for as fast as it can.
    pub bytes_per_s: Option<u64>,
}

/// How far scans are.
#[derive(Debug, Clone, Default, SavedValue)]
pub struct VolumeScan {
    /// When the next begins; `None` without one.
    begins_ns: Option<u64>,
    /// The volume and block that come next; `None` while none runs.
    next: Option<(u8, u32)>,
    /// When the limit lets it go on.
    paced_ns: u64,
    /// Chunks that are read, or wait to be dirty.
    under_way: u64,
    begun: u32,
    passed_blocks: u64,
    ended_ns: Option<u64>,
}

impl VolumeScan {
    pub fn new(config: Option<VolumeScanConfig>) -> Self {
        Self { begins_ns: config.map(|config| config.begins_ns), ..Self::default() }
    }

    fn is_over(&self) -> bool {
        self.next.is_none() && self.under_way == 0
    }
}

impl VolumeScanConfig {
    /// A single one, from the beginning, as fast as it can.
    #[must_use]
    pub fn new(kind: ScanKind) -> Self {
        Self { kind, begins_ns: 0, every_ns: None, bytes_per_s: None }
    }

    /// Bytes that are asked for together, and how many such chunks may be under way.
    fn chunks(&self, dirty_limit_bytes: u64) -> (u64, u64) {
        match self.kind {
            // A limit is kept within each second.
            ScanKind::Rewrite => {
                let most = self.bytes_per_s.unwrap_or(REWRITE_BYTES).min(REWRITE_BYTES);
                (most.min(dirty_limit_bytes / DIRTY_LIMIT_PART), 1)
            }
            ScanKind::Send => (SEND_BYTES / SEND_PARTS, SEND_PARTS),
        }
    }
}

impl ZfsArray {
    /// When the scan has to be looked at again; `None` if it waits for something else.
    pub(super) fn next_scan_ns(&self) -> Option<u64> {
        let (config, scan) = (self.config.scan?, &self.scan);
        let (_, most) = config.chunks(self.config.dirty_limit_bytes);
        match scan.next {
            Some(_) => (scan.under_way < most).then_some(scan.paced_ns),
            None => scan.begins_ns.filter(|_| scan.is_over()),
        }
    }

    /// Begins a scan if it is time, and asks for the next blocks.
    pub(super) fn go_on_with_scan_of_volumes(&mut self, now_ns: u64, driver: &mut impl Driver<()>) {
        let Some(config) = self.config.scan else { return };
        let scan = &mut self.scan;
        if let Some(at_ns) = scan.begins_ns.filter(|at_ns| now_ns >= *at_ns && scan.is_over()) {
            // One that is due while another runs begins when that ends.
            scan.begins_ns = config
                .every_ns
                .map(|every_ns| at_ns + ((now_ns - at_ns) / every_ns + 1) * every_ns);
            (scan.next, scan.paced_ns, scan.passed_blocks) = (Some((0, 0)), now_ns, 0);
            scan.begun += 1;
        }
        let (chunk_bytes, most) = config.chunks(self.config.dirty_limit_bytes);
        while let Some((volume, first)) = self.scan.next
            && self.scan.under_way < most
            && now_ns >= self.scan.paced_ns
        {
            let shape = self.space.volumes[usize::from(volume)].shape();
            let block_bytes = u64::from(shape.block_bytes);
            let count = (chunk_bytes / block_bytes).max(1) as u32;
            let end = shape.blocks.min(first.saturating_add(count));
            self.scan.next = match end < shape.blocks {
                true => Some((volume, end)),
                false => Some((volume + 1, 0))
                    .filter(|(next, _)| usize::from(*next) < self.space.volumes.len()),
            };
            if let Some(bytes_per_s) = config.bytes_per_s {
                let bytes = u128::from(end - first) * u128::from(block_bytes);
                self.scan.paced_ns += (bytes * 1_000_000_000 / u128::from(bytes_per_s)) as u64;
            } else {
                self.scan.paced_ns = now_ns;
            }
            self.scan.under_way += 1;
            self.read_for_scan(now_ns, volume, first..end, driver);
        }
    }

    /// Blocks of a chunk are in memory, and dirty if they are to be.
    pub(super) fn on_scanned(&mut self, now_ns: u64, volume: u8, blocks: &Range<u32>) {
        let bytes = self.space.volumes[usize::from(volume)].shape().block_bytes;
        self.scan.under_way -= 1;
        self.scan.passed_blocks += blocks.len() as u64;
        self.counters.scan_blocks += blocks.len() as u64 * u64::from(bytes) / BLOCK_BYTES;
        if self.scan.is_over() {
            self.scan.ended_ns = Some(now_ns);
        }
    }

    /// The pool has no room for what is to be rewritten: the scan ends where it is.
    pub(super) fn give_up_scanning(&mut self) {
        self.scan.under_way -= 1;
        self.scan.next = None;
    }

    pub(super) fn scan_rewrites(&self) -> bool {
        self.config.scan.is_some_and(|scan| scan.kind == ScanKind::Rewrite)
    }

    pub(super) fn measure_scan(&self) -> Option<ScanProgress> {
        self.config.scan?;
        let blocks: u64 =
            self.space.volumes.iter().map(|volume| u64::from(volume.shape().blocks)).sum();
        let passed = self.scan.passed_blocks as f64 / blocks as f64;
        Some(ScanProgress { begun: self.scan.begun, passed, ended_ns: self.scan.ended_ns })
    }
}
