//! Counters of an array.

use strewn_base::state::SavedValue;

/// Counts since the array was created. They only grow: subtract two to measure an interval.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, SavedValue)]
pub struct Counters {
    /// Spindle reads of data for host reads.
    pub data_reads: u64,
    /// Spindle reads of blocks that a host write covers in part.
    pub edge_reads: u64,
    /// Spindle reads of indirect blocks, bitmaps and container maps.
    pub metadata_reads: u64,
    /// Spindle reads of old data and old parity, for an update of parity.
    pub parity_update_reads: u64,
    /// Spindle writes of data and metadata.
    pub data_writes: u64,
    /// Spindle writes of parity.
    pub parity_writes: u64,
    /// Blocks (write-anywhere) or pieces of a host operation (in place) looked up in the cache.
    pub cache_lookups: u64,
    /// Lookups that hit.
    pub cache_hits: u64,
    /// Blocks of 4 KiB that host reads asked for.
    pub host_read_blocks: u64,
    /// Those of them that were in the cache when the read looked for them.
    pub host_read_hits: u64,
    /// Host writes that had to wait for room in the NVRAM log or the write cache.
    pub stalled_writes: u64,
    /// Host writes that were refused for lack of space.
    pub refused_writes: u64,
    /// Consistency points committed.
    pub consistency_points: u64,
    /// Consistency points that began the moment the previous one ended, because the log was full.
    pub back_to_back_consistency_points: u64,
    /// Blocks that committed consistency points wrote, metadata included.
    pub consistency_point_blocks: u64,
    /// Those of them that contain the file's data.
    pub consistency_point_data_blocks: u64,
    /// Stripes written, in full or in part.
    pub stripes_written: u64,
    /// Stripes written in full: every data block at once.
    pub full_stripes: u64,
    /// Destages from the write cache: of extents, or of stripes that go out together.
    pub destages: u64,
    /// Host sectors overwritten in the write cache before they were destaged.
    pub coalesced_sectors: u64,
    /// Reads of data, edges and metadata whose blocks were lost, and were computed from the rest of their stripes.
    pub degraded_reads: u64,
    /// Spindle reads issued in place of those.
    pub recovery_reads: u64,
    /// Spindle reads of a rebuild.
    pub rebuild_reads: u64,
    /// Spindle writes of a rebuild.
    pub rebuild_writes: u64,
    /// Blocks of working spindles that were unreadable or not what was written.
    pub bad_blocks: u64,
    /// Snapshots taken.
    pub snapshots_taken: u64,
    /// Snapshots refused.
    pub snapshots_refused: u64,
    /// Blocks that only deleted snapshots held, and whose frees began.
    pub snapshot_blocks_freed: u64,
    /// Bad blocks that were rewritten.
    pub repairs: u64,
    /// Blocks that could not be computed.
    pub blocks_gone: u64,
    /// Blocks whose placing the processor was charged for.
    pub allocated_blocks: u64,
    /// Blocks whose free the processor was charged for.
    pub freed_blocks: u64,
    /// Changed metadata blocks that the processor was charged for.
    pub changed_metadata_blocks: u64,
    /// Sectors XORed into parities that the processor was charged for.
    pub parity_sectors: u64,
    /// Of the data reads: those that aggregated several runs across gaps.
    pub aggregated_reads: u64,
    /// Blocks that these brought and nobody wanted.
    pub gap_blocks: u64,
    /// Regions whose delayed frees a paced scan reclaimed.
    pub paced_regions: u64,
    /// Map blocks that a background scan read from spindles.
    pub map_scan_reads: u64,
    /// Map blocks that it found in the cache.
    pub map_scan_hits: u64,
    /// Stripes destaged in full, with nothing read for their parity.
    pub full_stripe_destages: u64,
    /// Stripes destaged by reading what was not dirty of them.
    pub reconstruct_destages: u64,
    /// Blocks of 4 KiB asked of the spindles before a host read asked for them. The commands that read them count as
    /// reads of data.
    pub read_ahead_blocks: u64,
    /// Those of them that a host read has found in memory, or waited for.
    pub read_ahead_used: u64,
    /// Those of them that left memory unused.
    pub read_ahead_dropped: u64,
    /// Blocks relocated because a host had read them in order.
    pub read_reallocation_blocks: u64,
    /// Spindle reads for those, of blocks that had left the cache.
    pub read_reallocation_reads: u64,
    /// Blocks relocated by reallocation scans.
    pub scan_blocks: u64,
    /// Spindle reads for those.
    pub scan_reads: u64,
    /// Blocks relocated to clean free space, metadata included.
    pub cleaning_blocks: u64,
    /// Spindle reads for those, of data.
    pub cleaning_reads: u64,
    /// Nanoseconds from begin to commit of those consistency points that have committed.
    pub consistency_point_ns: u64,
    /// Blocks of metadata of a ZFS pool that found its special vdevs full, and went to normal ones.
    pub spilled_metadata_blocks: u64,
    /// Blocks of data that were meant for special vdevs and went to normal ones.
    pub spilled_data_blocks: u64,
    /// Blocks that a ZFS pool's ARC lacked and its L2ARC was asked for; none without one.
    pub l2arc_lookups: u64,
    /// Those of them that were read from there.
    pub l2arc_hits: u64,
    /// Bytes written to the L2ARC.
    pub l2arc_written_bytes: u64,
    /// Ranges of drives of a ZFS pool that were trimmed.
    pub trimmed_ranges: u64,
    /// Bytes of them.
    pub trimmed_bytes: u64,
    /// Bytes of drives that were to be trimmed, in ranges that are too short for it.
    pub trim_skipped_bytes: u64,
}

macro_rules! counters_of {
    ($left:ident, $right:ident, $op:tt; $($field:ident),* $(,)?) => {
        Counters { $($field: $left.$field $op $right.$field),* }
    };
}

macro_rules! each_count {
    ($left:ident, $right:ident, $op:tt) => {
        counters_of!($left, $right, $op;
            data_reads, edge_reads, metadata_reads, parity_update_reads, data_writes, parity_writes,
            cache_lookups, cache_hits, host_read_blocks, host_read_hits, stalled_writes, refused_writes,
            consistency_points, back_to_back_consistency_points, consistency_point_blocks,
            consistency_point_data_blocks, stripes_written, full_stripes, destages,
            coalesced_sectors, degraded_reads, recovery_reads, rebuild_reads, rebuild_writes,
            snapshots_taken, snapshots_refused, snapshot_blocks_freed, bad_blocks, repairs,
            blocks_gone, allocated_blocks, freed_blocks, changed_metadata_blocks, parity_sectors,
            aggregated_reads, gap_blocks, paced_regions, map_scan_reads, map_scan_hits,
            full_stripe_destages, reconstruct_destages,
            read_ahead_blocks, read_ahead_used, read_ahead_dropped,
            read_reallocation_blocks, read_reallocation_reads, scan_blocks, scan_reads,
            cleaning_blocks, cleaning_reads, consistency_point_ns,
            spilled_metadata_blocks, spilled_data_blocks,
            l2arc_lookups, l2arc_hits, l2arc_written_bytes,
            trimmed_ranges, trimmed_bytes, trim_skipped_bytes,
        )
    };
}

impl Counters {
    /// The counts between `earlier` and now.
    #[must_use]
    pub fn since(&self, earlier: &Counters) -> Counters {
        each_count!(self, earlier, -)
    }

    /// The counts of two arrays together.
    #[must_use]
    pub fn plus(&self, other: &Counters) -> Counters {
        each_count!(self, other, +)
    }

    /// Spindle reads of any kind.
    #[must_use]
    pub fn spindle_reads(&self) -> u64 {
        let asked_for =
            self.data_reads + self.edge_reads + self.metadata_reads + self.parity_update_reads;
        // A degraded read counts as its recovery reads only.
        asked_for + self.relocation_reads() + self.map_scan_reads - self.degraded_reads
            + self.recovery_reads
            + self.rebuild_reads
    }

    /// Spindle reads of blocks to relocate.
    #[must_use]
    pub fn relocation_reads(&self) -> u64 {
        self.read_reallocation_reads + self.scan_reads + self.cleaning_reads
    }

    /// Spindle writes of any kind.
    #[must_use]
    pub fn spindle_writes(&self) -> u64 {
        self.data_writes + self.parity_writes + self.rebuild_writes
    }
}
