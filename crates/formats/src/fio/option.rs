//! The options of fio, and how each is treated.

use super::setting::Apply;

/// The treatment of an option.
#[derive(Clone, Copy)]
pub(super) enum Treatment {
    /// It maps to a field of the job.
    Mapped(Apply),
    /// It has no effect on the workload.
    Ignored(&'static str),
    /// It would change the workload and is not supported, except with one of the values that switch it off.
    Refused(&'static str, &'static [&'static str]),
}

/// Returns the treatment of the option `name`; none if fio has no such option.
pub(super) fn treatment(name: &str) -> Option<Treatment> {
    if let Some((_, apply)) = MAPPED.iter().find(|(mapped, _)| *mapped == name) {
        return Some(Treatment::Mapped(*apply));
    }
    if let Some((_, reason)) = find(IGNORED, name) {
        return Some(Treatment::Ignored(reason));
    }
    let (_, reason, off) = REFUSED.iter().find(|(names, ..)| names.contains(&name))?;
    Some(Treatment::Refused(reason, off))
}

/// Returns the names of all options.
pub(super) fn names() -> impl Iterator<Item = &'static str> {
    let mapped = MAPPED.iter().map(|(name, _)| *name);
    let ignored = IGNORED.iter().flat_map(|(names, _)| names.iter().copied());
    let refused = REFUSED.iter().flat_map(|(names, ..)| names.iter().copied());
    mapped.chain(ignored).chain(refused)
}

fn find(
    table: &'static [(&'static [&'static str], &'static str)],
    name: &str,
) -> Option<&'static (&'static [&'static str], &'static str)> {
    table.iter().find(|(names, _)| names.contains(&name))
}

/// As `fio --cmdhelp=all` of 3.33 lists them, with their aliases.
const MAPPED: &[(&str, Apply)] = &[
    ("rw", Apply::Pattern),
    ("readwrite", Apply::Pattern),
    ("rwmixread", Apply::ReadPercent),
    ("rwmixwrite", Apply::WritePercent),
    ("bs", Apply::BlockSize),
    ("blocksize", Apply::BlockSize),
    ("bsrange", Apply::BlockSizeRange),
    ("blocksize_range", Apply::BlockSizeRange),
    ("bssplit", Apply::BlockSizeSplit),
    ("ba", Apply::Alignment),
    ("blockalign", Apply::Alignment),
    ("iodepth", Apply::IoDepth),
    ("ioengine", Apply::IoEngine),
    ("numjobs", Apply::Clones),
    ("size", Apply::Size),
    ("offset", Apply::Offset),
    ("fileoffset", Apply::Offset),
    ("offset_increment", Apply::OffsetIncrement),
    ("io_size", Apply::IoSize),
    ("io_limit", Apply::IoSize),
    ("number_ios", Apply::NumberIos),
    ("loops", Apply::Loops),
    ("random_distribution", Apply::Distribution),
    ("percentage_random", Apply::RandomPercent),
    ("norandommap", Apply::NoRandomMap),
    ("runtime", Apply::Runtime),
    ("timeout", Apply::Runtime),
    ("time_based", Apply::TimeBased),
    ("ramp_time", Apply::RampTime),
    ("startdelay", Apply::StartDelay),
    ("rate", Apply::Rate),
    ("rate_iops", Apply::RateIops),
    ("rate_process", Apply::RateProcess),
    ("thinktime", Apply::ThinkTime),
    ("thinktime_blocks", Apply::ThinkTimeBlocks),
    ("randseed", Apply::Seed),
    ("stonewall", Apply::Stonewall),
    ("wait_for_previous", Apply::Stonewall),
    ("kb_base", Apply::KbBase),
    ("name", Apply::Name),
];

const IGNORED: &[(&[&str], &str)] = &[
    (
        &[
            "direct",
            "buffered",
            "sync",
            "atomic",
            "iomem",
            "mem",
            "lockmem",
            "hugepage-size",
            "cpumask",
            "cpus_allowed",
            "cpus_allowed_policy",
            "numa_cpu_nodes",
            "numa_mem_policy",
            "nice",
            "prio",
            "prioclass",
            "ioscheduler",
            "cgroup",
            "cgroup_weight",
            "cgroup_nodelete",
            "uid",
            "gid",
            "thread",
            "threads",
            "invalidate",
            "pre_read",
            "fadvise_hint",
            "write_hint",
            "sync_file_range",
            "clocksource",
            "gtod_reduce",
            "gtod_cpu",
            "hipri",
            "hipri_percentage",
            "registerfiles",
            "fixedbufs",
            "sqthread_poll",
            "sqthread_poll_cpu",
            "nonvectored",
            "uncached",
            "nowait",
            "force_async",
            "userspace_reap",
            "busy_poll",
            "cmdprio",
            "cmdprio_percentage",
            "cmdprio_class",
            "cmdprio_bssplit",
            "cmd_type",
            "readfua",
            "stream_id",
            "thp",
            "skip_bad",
            "stat_type",
            "single-instance",
            "touch_objects",
            "donorname",
            "inplace",
            "cpuload",
            "cpumode",
            "cpuchunks",
            "exit_on_io_done",
            "std_redirect",
            "grace_time",
            "program",
            "arguments",
        ],
        "it is about the host's own software or hardware, which is not simulated",
    ),
    (
        &[
            "filename",
            "directory",
            "filename_format",
            "unique_filename",
            "lockfile",
            "allow_file_create",
            "allow_mounted_write",
            "fallocate",
            "create_serialize",
            "create_fsync",
            "create_on_open",
            "openfiles",
            "file_service_type",
            "overwrite",
            "unlink",
            "unlink_each_loop",
            "fsync_on_close",
            "uri",
            "hostname",
            "port",
            "listen",
            "pingpong",
            "protocol",
            "interface",
            "ttl",
            "nodelay",
            "window_size",
            "mss",
            "verb",
            "bindname",
            "clustername",
            "rbdname",
            "pool",
            "clientname",
            "conf",
            "volume",
            "brick",
        ],
        "a LUN stands in for what it names",
    ),
    (
        &[
            "zero_buffers",
            "refill_buffers",
            "scramble_buffers",
            "buffer_pattern",
            "buffer_compress_percentage",
            "buffer_compress_chunk",
            "dedupe_percentage",
            "dedupe_mode",
            "dedupe_working_set_percentage",
            "dedupe_global",
        ],
        "what blocks hold is not simulated",
    ),
    (
        &[
            "description",
            "group_reporting",
            "new_group",
            "unified_rw_reporting",
            "unit_base",
            "stats",
            "percentile_list",
            "significant_figures",
            "clat_percentiles",
            "lat_percentiles",
            "slat_percentiles",
            "block_error_percentiles",
            "disable_lat",
            "disable_clat",
            "disable_slat",
            "disable_bw",
            "disable_bw_measurement",
            "disk_util",
            "bwavgtime",
            "iopsavgtime",
            "write_bw_log",
            "write_lat_log",
            "write_iops_log",
            "write_hist_log",
            "write_iolog",
            "per_job_logs",
            "log_avg_msec",
            "log_hist_msec",
            "log_hist_coarseness",
            "log_max_value",
            "log_offset",
            "log_prio",
            "log_entries",
            "log_compression",
            "log_compression_cpus",
            "log_store_compressed",
            "log_unix_epoch",
            "log_alternate_epoch",
            "log_alternate_epoch_clock_id",
            "error_dump",
        ],
        "it is about fio's own reports and logs",
    ),
    (
        &[
            "max_latency",
            "rate_min",
            "ratemin",
            "rate_iops_min",
            "rate_cycle",
            "ratecycle",
            "continue_on_error",
            "ignore_error",
            "exitall_on_error",
            "exec_prerun",
            "exec_postrun",
        ],
        "it is about how fio itself runs and stops",
    ),
    (
        &["randrepeat", "allrandrepeat", "random_generator"],
        "a simulation is repeated by its own seed",
    ),
    (
        &[
            "verify_offset",
            "verify_interval",
            "verify_pattern",
            "verify_fatal",
            "verify_dump",
            "verify_async",
            "verify_async_cpus",
            "verify_state_save",
            "experimental_verify",
        ],
        "it says how `verify` is done, and does nothing without it",
    ),
];

const REFUSED: &[(&[&str], &str, &[&str])] = &[
    (&["io_submit_mode"], "it makes accesses at a rate whatever is still outstanding", &["inline"]),
    (
        &["fsync", "fdatasync", "end_fsync", "write_barrier"],
        "it makes the host wait for flushes, which are not simulated",
        &["0"],
    ),
    (
        &[
            "verify",
            "do_verify",
            "verify_only",
            "verify_backlog",
            "verify_backlog_batch",
            "verify_state_load",
            "verify_header_seed",
            "trim_verify_zero",
        ],
        "it makes the job read back what it wrote",
        &["0", "none", "null"],
    ),
    (&["sg_write_mode"], "it makes its writes verify, repeat or discard blocks", &["write"]),
    (
        &["trim_percentage", "trim_backlog", "trim_backlog_batch"],
        "it discards what was written",
        &["0"],
    ),
    (
        &[
            "zonemode",
            "zonesize",
            "zonecapacity",
            "zonerange",
            "zoneskip",
            "read_beyond_wp",
            "max_open_zones",
            "job_max_open_zones",
            "ignore_zone_limits",
            "zone_reset_threshold",
            "zone_reset_frequency",
        ],
        "zoned devices are not simulated",
        &["none", "0"],
    ),
    (
        &[
            "read_iolog",
            "read_iolog_chunked",
            "replay_no_stall",
            "replay_time_scale",
            "replay_redirect",
            "replay_align",
            "replay_scale",
            "replay_skip",
            "merge_blktrace_file",
            "merge_blktrace_scalars",
            "merge_blktrace_iters",
        ],
        "it replays a log instead of a pattern: read the log as a trace",
        &[],
    ),
    (
        &[
            "iodepth_batch",
            "iodepth_batch_submit",
            "iodepth_batch_complete",
            "iodepth_batch_complete_min",
            "iodepth_batch_complete_max",
            "iodepth_low",
            "serialize_overlap",
        ],
        "it changes how many accesses are outstanding at a time",
        &["1"],
    ),
    (
        &["wait_for", "exitall", "exit_what", "flow", "flow_id", "flow_sleep", "flow_watermark"],
        "it makes jobs wait for each other; `stonewall` can be used",
        &["0"],
    ),
    (
        &[
            "latency_target",
            "latency_window",
            "latency_percentile",
            "latency_run",
            "steadystate",
            "ss",
            "steadystate_duration",
            "ss_dur",
            "steadystate_ramp_time",
            "ss_ramp",
            "fill_device",
            "fill_fs",
            "create_only",
        ],
        "it ends the job by what is measured; `runtime`, `size` and `number_ios` can be used",
        &["0"],
    ),
    (
        &["nrfiles", "nr_files", "filesize", "file_append", "opendir"],
        "it spreads the accesses over several files; a job accesses one LUN",
        &["1"],
    ),
    (
        &[
            "rw_sequencer",
            "bs_unaligned",
            "blocksize_unaligned",
            "bs_is_seq_rand",
            "offset_align",
            "thinktime_spin",
            "thinktime_blocks_type",
            "thinktime_iotime",
            "rate_ignore_thinktime",
            "profile",
        ],
        "it changes which accesses are made in a way that is not supported",
        &["0"],
    ),
];

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::HashSet;

    #[test]
    fn no_option_is_listed_twice() {
        let mut seen = HashSet::new();
        for name in names() {
            assert!(seen.insert(name), "{name}");
            assert!(treatment(name).is_some(), "{name}");
        }
    }
}
