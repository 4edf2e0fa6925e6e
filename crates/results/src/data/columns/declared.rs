//! The declarations of the columns.

use super::Group::{
    Bands, ClientRaid, Failures, Frag, L2arc, Machine, PageCache, Phases, ReadAhead, Relocation,
    Snapshots, Spills, StripeDestages, Trim,
};
use super::OverSegments::{Longest, MeanOfOperations, MeanOverTime, Sum, Weighted};
use super::Table::{Array, Compare, Host, OfGroup, Terminal, TerminalIfRoom, TerminalUnlessFull};
use super::builder::{
    Number, columns, computed, computed_of_workloads, count, field, mib_per_s, ms, number, per_op,
    percent, relocated, response, share, shared_field, words,
};
use super::{Column, Source, Unit, Value};
use crate::data::number::MB_PER_MIB;
use crate::data::snapshots::gib_of;

columns! {
    /// name of the array
    words("array", |at| at.array.name.clone());
    /// where the array writes an overwritten block
    words("layout", |at| at.array.layout.as_str().to_owned());
    /// host operations that all workloads together may have outstanding, in the phase that has most; 0 in an open loop
    count("outstanding_ops", computed(|at| at.array.outstanding.number()));
    /// number of the segment, from 1
    count("segment", computed(|at| at.segment.index.number())).on(&[Terminal, Host, Array]);
    /// phase that the segment is in
    words("phase", |at| at.segment.phase.clone().unwrap_or_default())
        .on(&[Terminal, Host, Array]).in_group(Phases);
    /// length, s
    number("length_s", Unit::Seconds, field!(seconds)).figure("seconds", Sum)
        .that_scales();
    /// host operations completed
    count("host_ops", field!(ops));
    /// host operations per second
    number("host_ops_per_s", Unit::Iops, shared_field!(iops)).headed("IOPS", "IOPS")
        .on(&[Terminal, Host]).figure("iops", MeanOverTime);
    /// host operations per second for each spindle to be bought
    number("iops_per_spindle", Unit::IopsPerSpindle, computed(|at| at.iops_per_spindle()))
        .unlisted().figure("iops_per_spindle", MeanOverTime);
    /// host data moved, MiB/s
    mib_per_s("throughput_mib_per_s", shared_field!(mib_per_s)).headed("MiB/s", "MiB/s").yielding(8)
        .on(&[Terminal, Host]).figure("mib_per_s", MeanOverTime);
    /// host data moved, MB/s
    number("throughput_mb_per_s", Unit::MbPerS, computed_of_workloads(|at| Some(at.mib_per_s() * MB_PER_MIB)))
        .unlisted().figure("mb_per_s", MeanOverTime);
    /// mean response time, ms
    response("response_mean_ms", shared_field!(response_ms.mean))
        .headed("response\nmean, ms", "response ms").on(&[Terminal, Host])
        .figure("response_ms", MeanOfOperations);
    /// response time of 50 in 100 operations, ms
    response("response_p50_ms", shared_field!(response_ms.p50)).headed("median\nms", "median")
        .on(&[Host]);
    /// response time of 95 in 100 operations, ms
    response("response_p95_ms", shared_field!(response_ms.p95)).headed("p95\nms", "p95").yielding(9)
        .on(&[Terminal, Host, Compare]).that_may_starve().figure("p95_ms", MeanOfOperations);
    /// response time of 99 in 100 operations, ms
    response("response_p99_ms", shared_field!(response_ms.p99)).headed("p99\nms", "p99")
        .on(&[Terminal, Host, Compare]).that_may_starve().figure("p99_ms", MeanOfOperations);
    /// longest response time, ms
    response("response_max_ms", shared_field!(response_ms.max))
        .headed("longest\nresponse\nms", "max").with_decimals(0).on(&[Host]).that_may_starve()
        .figure("longest_ms", Longest);
    /// mean response time of reads, ms, where workloads have names
    response("read_ms", computed_of_workloads(|at| at.mean_ms(|of| &of.reads)))
        .headed("reads\nmean, ms", "reads, mean ms").unlisted()
        .figure("read_ms", Weighted(|at| at.ops(|of| &of.reads)));
    /// mean response time of writes, ms, where workloads have names
    response("write_ms", computed_of_workloads(|at| at.mean_ms(|of| &of.writes)))
        .headed("writes\nmean, ms", "writes, mean ms").unlisted()
        .figure("write_ms", Weighted(|at| at.ops(|of| &of.writes)));
    /// spindle commands for each host operation
    number("spindle_commands_per_host_op", Unit::Commands, computed(|at| Some(at.segment.commands_per_host_op())))
        .headed("spindle\ncommands\nper op", "spindle commands per op").on(&[Terminal, Array, Compare])
        .unlisted().figure("commands_per_op", MeanOfOperations);
    /// read commands for host reads, for each host operation
    number("data_reads_per_host_op", Unit::Commands, computed(|at| at.per_op(at.segment.spindle_commands.data_reads)))
        .headed("for host\nreads", "commands for host reads per op").unlisted();
    /// spindle commands for parity for each host operation
    number("parity_commands_per_host_op", Unit::Commands, computed(|at| at.parity_commands_per_op()))
        .headed("of these\nparity", "parity commands per op").unlisted().on(&[Compare]);
    /// busy share of the controller, of a pair of the busier one, %
    share("controller_utilization_0_to_1", field!(utilization.controller))
        .headed("con-\ntroller\nbusy %", "controller busy").yielding(5).on(&[Terminal, Array, Compare])
        .figure("controller_percent", MeanOverTime);
    /// busy share of the data spindles, %
    share("spindle_utilization_0_to_1", field!(utilization.spindles))
        .headed("spindles\nbusy %", "data spindles busy").yielding(5).on(&[Terminal, Array, Compare])
        .figure("spindles_percent", MeanOverTime);
    /// busy share of the parity spindles, %
    share("parity_spindle_utilization_0_to_1", field!(utilization.parity_spindles))
        .headed("parity\nspindles\nbusy %", "parity spindles busy").on(&[Array, Compare]);
    /// busy cores of the controllers, where something lies between hosts and arrays
    number("cores_busy", Unit::Cores, computed(|at| at.cores_busy()))
        .unlisted().figure("cores_busy", MeanOverTime);
    /// read commands, all spindles
    count("spindle_reads", field!(spindle_commands.read));
    /// write commands, all spindles
    count("spindle_writes", field!(spindle_commands.write));
    /// read commands for host reads
    count("data_reads", field!(spindle_commands.data_reads));
    /// read commands for blocks that a host write covers in part
    count("edge_reads", field!(spindle_commands.edge_reads));
    /// read commands for indirect blocks, bitmaps and container maps
    count("metadata_reads", field!(spindle_commands.metadata_reads));
    /// read commands for old data and old parity, to update parity
    count("parity_update_reads", field!(spindle_commands.parity_update_reads));
    /// write commands of parity
    count("parity_writes", field!(spindle_commands.parity_writes));
    /// read commands for each host operation
    per_op("spindle_reads_per_host_op", field!(spindle_commands.reads_per_host_op));
    /// commands waiting or in service at a data spindle, mean
    number("spindle_queue_depth_mean", Unit::None, field!(spindle_commands.mean_queue_depth))
        .with_decimals(1).headed("commands\nat a spindle", "commands at a spindle");
    /// mean service time of a spindle command, ms
    ms("spindle_service_mean_ms", field!(spindle_commands.mean_service_ms))
        .headed("service\nms", "service ms");
    /// lookups that hit the controller's memory, metadata included, %
    percent("cache_hit_percent", field!(cache.hit_percent)).headed("cache\nhits %", "cache hits %");
    /// blocks of host reads found in the controller's memory, %
    percent("host_read_hit_percent", field!(cache.host_reads?.hit_percent))
        .headed("host reads\nfrom the\ncache %", "host reads from the cache %")
        .figure("hit_percent", Weighted(|at| at.blocks_of_host_reads()));
    /// host writes that waited for room in the log or the write cache
    count("stalled_writes", field!(cache.stalled_writes));
    /// layout score, 0 to 1
    number("layout_score_0_to_1", Unit::Score, field!(layout.score))
        .headed("layout\nscore", "layout score").on(&[Terminal, Array, Compare])
        .figure("layout_score", MeanOverTime);
    /// contiguous pieces of a GiB of the file
    number("extents_per_gib", Unit::None, field!(layout.extents_per_gib));
    /// part of a spindle's addresses that the data occupies, %
    percent("span_percent", field!(layout.span_percent)).headed("span\n%", "span %")
        .yielding(6).on(&[TerminalUnlessFull, Array]);
    /// part of the file's blocks that were rewritten, %, of a live array of the LUN's; none for an in-place array
    percent("rewritten_percent", field!(layout.rewritten_percent)).headed("re-\nwritten\n%", "rewritten %")
        .yielding(4).on(&[Terminal, Array]);
    /// free blocks that lie right behind another free block, 0 to 1
    number("free_space_score_0_to_1", Unit::Score, field!(free_space?.score)).with_decimals(4)
        .headed("free-space\nscore", "free-space score").on(&[Array]);
    /// FRAG of a ZFS pool, as `zpool list` prints it, %
    percent("frag_percent", field!(free_space?.frag_percent)).with_decimals(0)
        .headed("FRAG\n%", "FRAG %").in_group(Frag).yielding(3).on(&[Terminal, Array, Compare])
        .figure("frag_percent", MeanOverTime);
    /// longest run of free blocks on one spindle, of 4 KiB
    count("largest_free_run_blocks", field!(free_space?.largest_run_blocks));
    /// consistency points begun
    count("consistency_points", field!(consistency_points?.count));
    /// consistency points that began the moment the previous one ended
    count("back_to_back_consistency_points", field!(consistency_points?.back_to_back));
    /// consistency points that began the moment the previous one ended, % of all
    percent("back_to_back_percent", computed(|at| {
        let points = at.segment.consistency_points.filter(|points| points.count > 0)?;
        Some(100.0 * points.back_to_back as f64 / points.count as f64)
    }))
        .headed("back to\nback\nCPs %", "back-to-back CPs %").on(&[Array, Compare]).unlisted()
        .figure("back_to_back_percent", Weighted(|at| {
            at.segment.consistency_points.map_or(0.0, |points| points.count as f64)
        }));
    /// blocks of 4 KiB that a consistency point wrote, mean
    number("blocks_per_consistency_point", Unit::None, field!(consistency_points?.blocks_per_cp));
    /// stripes that consistency points wrote in full, %
    percent("full_stripe_percent", field!(consistency_points?.full_stripe_percent))
        .headed("full\nstripes\n%", "full stripes %").yielding(6).on(&[TerminalIfRoom, Array, Compare])
        .figure("full_stripe_percent", MeanOverTime);
    /// read commands to update parity, for each host operation
    per_op("parity_reads_per_host_op", computed(|at| at.per_op(at.segment.spindle_commands.parity_update_reads)))
        .headed("parity\nreads\nper op", "parity reads per op").yielding(7).on(&[TerminalIfRoom]).unlisted();
    /// time of consistency points that ended in the segment, % of its length; more than 100 if they began earlier
    percent("checkpoint_percent", computed(|at| at.percent_in_consistency_points()))
        .unlisted().figure("checkpoint_percent", MeanOverTime);
    /// error of Little's law, %
    percent("littles_law_error_percent", field!(checks.littles_law_error_percent));
    /// error of the utilization law, %
    percent("utilization_law_error_percent", field!(checks.utilization_law_error_percent));
    /// spindles not fully rebuilt when the segment ended
    count("lost_spindles", computed(|at| at.segment.redundancy.unwrap_or_default().lost_spindles.number()))
        .headed("spin-\ndles\nlost", "spindles lost").on(&[Terminal]).in_group(Failures);
    /// mean progress of rebuilds, %
    percent("rebuilt_percent", field!(redundancy?.rebuilt_percent))
        .headed("re-\nbuilt\n%", "rebuilt %").on(&[Terminal]).in_group(Failures);
    /// reads of lost blocks
    count("degraded_reads", computed(|at| at.segment.redundancy.unwrap_or_default().degraded_reads.number()))
        .in_group(Failures);
    /// read commands for the rest of their stripes instead
    count("recovery_reads", computed(|at| at.segment.redundancy.unwrap_or_default().recovery_reads.number()))
        .in_group(Failures);
    /// read commands of rebuilds
    count("rebuild_reads", computed(|at| at.segment.redundancy.unwrap_or_default().rebuild_reads.number()))
        .in_group(Failures);
    /// write commands of rebuilds
    count("rebuild_writes", computed(|at| at.segment.redundancy.unwrap_or_default().rebuild_writes.number()))
        .in_group(Failures);
    /// snapshots kept when the segment ended
    count("snapshots_kept", field!(snapshots?.kept)).headed("snap-\nshots", "snapshots kept")
        .on(&[Terminal, OfGroup]).in_group(Snapshots);
    /// snapshots taken
    count("snapshots_taken", field!(snapshots?.taken)).headed("snap-\nshots\ntaken", "taken")
        .in_table_of(Snapshots);
    /// snapshots refused for lack of space
    count("snapshots_refused", field!(snapshots?.refused))
        .headed("snap-\nshots\nrefused", "refused").in_table_of(Snapshots);
    /// blocks of 4 KiB that only snapshots held when the segment ended
    count("snapshot_held_blocks", field!(snapshots?.held_blocks))
        .headed("blocks\nheld by\nthem", "blocks that only they hold")
        .in_table_of(Snapshots);
    /// what only snapshots hold, GiB
    number("snapshots_gib", Unit::Gib, computed(|at| Some(at.segment.snapshots?.held_gib())))
        .headed("held by\nthem\nGiB", "GiB").on(&[Terminal, OfGroup]).in_group(Snapshots)
        .unlisted().figure("snapshots_gib", MeanOverTime).that_scales().zero_if_absent();
    /// blocks of 4 KiB freed that only deleted snapshots had held
    count("snapshot_freed_blocks", field!(snapshots?.freed_blocks))
        .headed("blocks\nfreed of\ndeleted", "blocks freed of deleted ones")
        .in_table_of(Snapshots);
    /// part of the aggregate's blocks in use when the segment ended, %
    percent("aggregate_used_percent", field!(snapshots?.aggregate_used_percent))
        .headed("aggre-\ngate\nused %", "aggregate used %").on(&[Terminal, OfGroup])
        .in_group(Snapshots);
    /// time waiting for the host's processor and on it, ms for each operation, of all its requests
    ms("time_in_host_ms", field!(machine.as_deref()?.time_in_ms.host))
        .headed("host\nms", "host ms").in_group(Machine);
    /// time on links, in switches and routers, ms for each operation, of all its requests
    ms("time_in_wire_ms", field!(machine.as_deref()?.time_in_ms.wire))
        .headed("wire\nms", "wire ms").in_group(Machine);
    /// time in the controller's network processing, ms for each operation, of all its requests
    ms("time_in_front_end_ms", field!(machine.as_deref()?.time_in_ms.front_end))
        .headed("front\nend\nms", "front end ms").in_group(Machine);
    /// time waiting for the controller's processor and on it, ms for each operation, of all its requests
    ms("time_in_controller_ms", field!(machine.as_deref()?.time_in_ms.controller))
        .headed("controller\nms", "controller ms").in_group(Machine);
    /// time on spindles, and waiting for room in the log, ms for each operation, of all its requests
    ms("time_in_spindles_ms", field!(machine.as_deref()?.time_in_ms.spindles))
        .headed("spindles\nms", "spindles ms").in_group(Machine);
    /// time waiting for a controller that had stopped, ms for each operation, of all its requests
    ms("time_in_outage_ms", field!(machine.as_deref()?.time_in_ms.outage))
        .headed("outage\nms", "outage ms").in_group(Machine);
    /// requests and answers lost on their way, except those that TCP sent again
    count("requests_lost", field!(machine.as_deref()?.lost))
        .headed("messages\nlost", "requests and answers lost").in_group(Machine);
    /// cores of all hosts that the front end kept busy
    number("host_cores_busy", Unit::Cores, field!(machine.as_deref()?.host_cores))
        .headed("host\ncores\nbusy", "host cores busy").in_group(Machine);
    /// busy share of the busiest link, either way, %
    share("busiest_link_utilization_0_to_1", computed(|at| at.busiest_link()))
        .headed("busiest\nlink\n%", "busiest link busy").in_group(Machine);
    /// busy share of the block router, %
    share("router_utilization_0_to_1", field!(machine.as_deref()?.router_utilization))
        .headed("router\n%", "router busy").in_group(Machine);
    /// pages that applications read and the page cache held, %
    percent("page_cache_hit_percent", field!(page_cache?.hit_percent)).headed("hits\n%", "hits %")
        .in_table_of(PageCache);
    /// data that page caches read from LUNs, MiB/s
    mib_per_s("page_cache_read_mib_per_s", field!(page_cache?.filled_mib_per_s))
        .headed("read\nMiB/s", "read MiB/s").in_table_of(PageCache);
    /// data that page caches wrote to LUNs, MiB/s
    mib_per_s("page_cache_written_mib_per_s", field!(page_cache?.written_mib_per_s))
        .headed("written\nMiB/s", "written MiB/s").in_table_of(PageCache);
    /// mean size of a request with which page caches wrote, KiB
    number("page_cache_write_request_kib", Unit::Kib, field!(page_cache?.write_request_kib))
        .headed("each\nwrite\nKiB", "each write KiB").in_table_of(PageCache);
    /// wait of writes for fewer dirty pages, ms for each operation
    ms("page_cache_throttled_ms", field!(page_cache?.throttled_ms))
        .headed("throttled\nms", "throttled, ms per operation").in_table_of(PageCache);
    /// dirty or being written when the segment ended, MiB
    number("page_cache_dirty_mib", Unit::Mib, field!(page_cache?.dirty_mib))
        .headed("dirty\nMiB", "dirty in the end MiB").in_table_of(PageCache);
    /// requests of clients to blades that read what was asked for, for each operation
    per_op("client_reads_per_op", field!(client_raid?.reads_per_op))
        .headed("reads\nper op", "reads per op").in_table_of(ClientRaid);
    /// requests of clients that read old contents for parity, for each operation
    per_op("client_parity_update_reads_per_op", field!(client_raid?.update_reads_per_op))
        .headed("for\nparity", "for parity").in_table_of(ClientRaid);
    /// requests of clients that wrote data or parity, for each operation
    per_op("client_writes_per_op", field!(client_raid?.writes_per_op))
        .headed("writes\nper op", "writes per op").in_table_of(ClientRaid);
    /// data that clients read as it was asked for, MiB/s
    mib_per_s("client_read_mib_per_s", field!(client_raid?.read_mib_per_s))
        .headed("read\nMiB/s", "read MiB/s").in_table_of(ClientRaid);
    /// data that clients read for parity, MiB/s
    mib_per_s("client_parity_update_read_mib_per_s", field!(client_raid?.update_read_mib_per_s))
        .headed("for\nparity\nMiB/s", "for parity MiB/s").in_table_of(ClientRaid);
    /// data and parity that clients wrote, MiB/s
    mib_per_s("client_written_mib_per_s", field!(client_raid?.written_mib_per_s))
        .headed("written\nMiB/s", "written MiB/s").in_table_of(ClientRaid);
    /// parity that clients wrote, MiB/s
    mib_per_s("client_parity_written_mib_per_s", field!(client_raid?.parity_mib_per_s))
        .headed("of\nparity\nMiB/s", "of parity MiB/s").in_table_of(ClientRaid);
    /// stripes that clients wrote in full, %
    percent("client_full_stripe_percent", field!(client_raid?.full_stripe_percent))
        .headed("full\nstripes\n%", "full stripes %").in_table_of(ClientRaid);
    /// data that clients computed because its blade is lost, MiB/s
    mib_per_s("client_reconstructed_mib_per_s", field!(client_raid?.reconstructed_mib_per_s))
        .headed("computed\nMiB/s", "computed for a lost blade MiB/s")
        .in_table_of(ClientRaid);
    /// wait for others on the same stripes, ms for each operation
    ms("client_stripe_wait_ms", field!(client_raid?.stripe_wait_ms))
        .headed("stripe\nwait ms", "wait for stripes ms").in_table_of(ClientRaid);
    /// cores of clients busy with parity
    number("client_parity_cores_busy", Unit::Cores, field!(client_raid?.parity_cores))
        .headed("cores for\nparity", "cores for parity").in_table_of(ClientRaid);
    /// blocks of 4 KiB read ahead of sequential streams
    count("read_ahead_blocks", field!(cache.read_ahead?.blocks))
        .headed("blocks\nread\nahead", "blocks read ahead").in_table_of(ReadAhead);
    /// blocks read ahead that host reads used
    count("read_ahead_used_blocks", field!(cache.read_ahead?.used))
        .headed("read\nahead\nand used", "read ahead and used").in_table_of(ReadAhead);
    /// blocks read ahead that left memory unused
    count("read_ahead_dropped_blocks", field!(cache.read_ahead?.dropped))
        .headed("read\nahead and\ndropped", "read ahead and dropped").in_table_of(ReadAhead);
    /// stripes destaged that were dirty as a whole
    count("full_stripe_destages", field!(stripe_destages?.full))
        .headed("full\nstripes\ndestaged", "full stripes destaged")
        .in_table_of(StripeDestages);
    /// stripes destaged after reading what was not dirty
    count("reconstruct_destages", field!(stripe_destages?.reconstructed))
        .headed("completed\nby\nreading", "stripes completed by reading")
        .in_table_of(StripeDestages);
    /// blocks of 4 KiB relocated after host reads in order
    count("read_reallocation_blocks", relocated!(after_reads.blocks))
        .headed("relocated\nafter\nreads", "blocks relocated after reads")
        .in_table_of(Relocation);
    /// read commands for these
    count("read_reallocation_reads", relocated!(after_reads.reads))
        .headed("spindle\nreads\nfor these", "spindle reads for these")
        .in_table_of(Relocation);
    /// blocks of 4 KiB relocated by reallocation scans
    count("reallocation_scan_blocks", relocated!(by_scans.blocks))
        .headed("relocated\nby scans", "blocks relocated by scans").in_table_of(Relocation);
    /// read commands of reallocation scans
    count("reallocation_scan_reads", relocated!(by_scans.reads))
        .headed("spindle\nreads\nof scans", "spindle reads of scans")
        .in_table_of(Relocation);
    /// blocks of 4 KiB read to be sent away, which moves nothing
    count("sent_blocks", relocated!(sent.blocks))
        .headed("read to\nbe sent", "blocks read to be sent").in_table_of(Relocation);
    /// read commands for these
    count("sent_reads", relocated!(sent.reads))
        .headed("spindle\nreads to\nsend", "spindle reads to send").in_table_of(Relocation);
    /// blocks of 4 KiB relocated to clean free space
    count("cleaning_blocks", relocated!(by_cleaning.blocks))
        .headed("relocated\nby\ncleaning", "blocks relocated by cleaning")
        .in_table_of(Relocation);
    /// read commands of cleaning
    count("cleaning_reads", relocated!(by_cleaning.reads))
        .headed("spindle\nreads of\ncleaning", "spindle reads of cleaning")
        .in_table_of(Relocation);
    /// data relocated for any cause, GiB
    number("relocated_gib", Unit::Gib, computed(|at| {
        let relocation = at.segment.relocation?;
        relocation.sent.is_none().then(|| gib_of(relocation.blocks()))
    }))
        .headed("relo-\ncated\nGiB", "relocated GiB").on(&[Terminal]).in_group(Relocation)
        .unlisted();
    /// data read to be sent away, GiB
    number("sent_gib", Unit::Gib, computed(|at| Some(gib_of(at.segment.relocation?.sent?.blocks))))
        .headed("sent\nGiB", "sent GiB").on(&[Terminal]).in_group(Relocation)
        .unlisted();
    /// read commands to relocate, for any cause
    count("relocation_reads", computed(|at| at.segment.relocation.map_or(0, |now| now.reads()).number()))
        .headed("reads\nfor it", "reads for it").on(&[Terminal]).in_group(Relocation)
        .unlisted();
    /// reallocation scans begun since the start
    number("reallocation_scans_begun", Unit::None, field!(relocation?.scan?.begun))
        .headed("scans\nbegun", "scans begun").in_table_of(Relocation).unlisted();
    /// part of the LUNs that the last reallocation scan had passed, %
    percent("reallocation_scan_passed_percent", field!(relocation?.scan?.passed_percent))
        .headed("scan\npassed\n%", "last scan passed %").in_group(Relocation)
        .on(&[Terminal, OfGroup]);
    /// when the last reallocation scan ended, s from the start
    number("reallocation_scan_ended_s", Unit::Seconds, field!(relocation?.scan?.ended_at_seconds))
        .headed("scan\nended\nat, s", "scan ended at, s").in_table_of(Relocation).unlisted();
    /// blocks of metadata that found a ZFS pool's special vdevs full, and went to normal ones
    count("spilled_metadata_blocks", field!(pool?.spilled_metadata_blocks))
        .headed("spilled\nmetadata", "blocks of metadata spilled from special vdevs").in_table_of(Spills);
    /// blocks of data meant for special vdevs that went to normal ones
    count("spilled_data_blocks", field!(pool?.spilled_data_blocks))
        .headed("spilled\ndata", "blocks of data spilled from special vdevs").in_table_of(Spills);
    /// blocks spilled from special vdevs since the pool was created, as its volumes were filled included
    number("spilled_in_all_blocks", Unit::None, field!(pool?.spilled_in_all_blocks))
        .headed("blocks\nspilled\nso far", "blocks spilled since the pool was created")
        .on(&[Terminal, OfGroup]).in_group(Spills).yielding(4);
    /// blocks that the ARC of a ZFS pool lacked and its L2ARC had, %
    percent("l2arc_hit_percent", field!(pool?.l2arc?.hit_percent))
        .headed("L2ARC\nhits %", "L2ARC hits %").yielding(3).on(&[Terminal, Array, Compare]).in_group(L2arc)
        .figure("l2arc_hit_percent", Weighted(|at| {
            at.segment.pool.and_then(|pool| pool.l2arc).map_or(0.0, |l2arc| l2arc.lookups as f64)
        }));
    /// blocks, data and metadata, that the ARC lacked and the L2ARC was asked for
    count("l2arc_lookups", field!(pool?.l2arc?.lookups))
        .headed("asked of\nthe L2ARC", "blocks asked of the L2ARC").in_table_of(L2arc);
    /// data written to the L2ARC, MiB/s
    mib_per_s("l2arc_written_mib_per_s", field!(pool?.l2arc?.written_mib_per_s))
        .headed("L2ARC\nwritten\nMiB/s", "written to the L2ARC MiB/s").in_table_of(L2arc);
    /// what the L2ARC held when the segment ended, GiB
    number("l2arc_held_gib", Unit::Gib, field!(pool?.l2arc?.held_gib))
        .headed("L2ARC\nheld\nGiB", "held by the L2ARC GiB").in_table_of(L2arc);
    /// memory of the ARC for the headers of what only the L2ARC held when the segment ended, MiB
    number("l2arc_header_mib", Unit::Mib, field!(pool?.l2arc?.header_mib))
        .headed("L2ARC\nheaders\nMiB", "headers of the L2ARC MiB").in_table_of(L2arc);
    /// ranges that a ZFS pool trimmed of its drives
    count("trimmed_ranges", field!(pool?.trimmed?.ranges))
        .headed("ranges\ntrimmed", "ranges trimmed").in_table_of(Trim);
    /// what they were, GiB of drives, mirrors and parity included
    number("trimmed_gib", Unit::Gib, field!(pool?.trimmed?.gib))
        .headed("trimmed\nGiB", "trimmed GiB").on(&[Terminal, OfGroup]).in_group(Trim).yielding(3)
        .figure("trimmed_gib", Sum).that_scales().zero_if_absent();
    /// what was freed in ranges too short to trim, GiB of drives
    number("trim_skipped_gib", Unit::Gib, field!(pool?.trimmed?.skipped_gib))
        .headed("too short\nto trim\nGiB", "too short to trim GiB").in_table_of(Trim);
    /// lower end of the band of the IOPS
    number("host_ops_per_s_low", Unit::Iops, field!(band.as_deref()?.iops.low))
        .in_group(Bands);
    /// upper end of the band of the IOPS
    number("host_ops_per_s_high", Unit::Iops, field!(band.as_deref()?.iops.high))
        .in_group(Bands);
    /// part of other seeds in that band, %
    percent("band_seeds_percent", field!(band.as_deref()?.iops.seeds_percent))
        .in_group(Bands);
    /// part of the scatter of fitted figures, downwards, %
    percent("band_fitted_rows_percent_down", field!(band.as_deref()?.iops.fitted_rows_percent_down))
        .in_group(Bands);
    /// part of the scatter of fitted figures, upwards, %
    percent("band_fitted_rows_percent_up", field!(band.as_deref()?.iops.fitted_rows_percent_up))
        .in_group(Bands);
    /// part of unpublished constants, downwards, %
    percent("band_unknowns_percent_down", field!(band.as_deref()?.iops.unknowns_percent_down))
        .in_group(Bands);
    /// part of unpublished constants, upwards, %
    percent("band_unknowns_percent_up", field!(band.as_deref()?.iops.unknowns_percent_up))
        .in_group(Bands);
    /// lower end of the band of the mean response time, ms
    response("response_mean_low_ms", field!(band.as_deref()?.response_ms?.low))
        .in_group(Bands);
    /// upper end of the band of the mean response time, ms
    response("response_mean_high_ms", field!(band.as_deref()?.response_ms?.high))
        .in_group(Bands);
    /// blocks placed, at a cost
    count("allocated_blocks", field!(housekeeping?.allocated_blocks))
        .housekeeping("blocks placed at a cost");
    /// blocks freed in the aggregate, at a cost
    count("freed_blocks", field!(housekeeping?.freed_blocks))
        .housekeeping("blocks freed at a cost");
    /// metadata blocks changed, at a cost
    count("changed_metadata_blocks", field!(housekeeping?.changed_metadata_blocks))
        .housekeeping("metadata blocks changed at a cost");
    /// KiB XORed into parities, at a cost
    count("parity_xor_kib", field!(housekeeping?.parity_kib))
        .housekeeping("KiB XORed at a cost");
    /// read commands for host reads that went on through gaps
    count("reads_through_holes", field!(housekeeping?.reads_through_holes))
        .housekeeping("reads through holes");
    /// blocks that these read and dropped
    count("hole_blocks", field!(housekeeping?.hole_blocks))
        .housekeeping("hole blocks read and dropped");
    /// regions whose freed blocks a paced scan reclaimed
    count("reclaimed_regions", field!(housekeeping?.reclaimed_regions))
        .housekeeping("regions reclaimed");
    /// map blocks that a background scan read
    count("map_scan_reads", field!(housekeeping?.map_scan_reads))
        .housekeeping("map blocks that scans read");
    /// map blocks that a background scan found in the cache
    count("map_scan_hits", field!(housekeeping?.map_scan_hits))
        .housekeeping("map blocks that scans found in memory");
    /// time of consistency points that ended in the segment, ms
    count("checkpoint_ms", field!(housekeeping?.checkpoint_ms))
        .housekeeping("ms in consistency points");
}
