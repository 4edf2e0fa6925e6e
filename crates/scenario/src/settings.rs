//! Every setting of a scenario by its name, with defaults filled in.

use std::fmt;

use strewn_transport::Transport;

use crate::array::{Array, Lun, SpindleChoice};
use crate::background::BackgroundScan;
use crate::client_raid::{self, ClientRaid};
use crate::digest;
use crate::disk_group::{DiskGroup, PROTECTION_WORDS};
use crate::failure::SpindleFailure;
use crate::fitted::Fitted;
use crate::fitted_rows::FittedRows;
use crate::format::{FORMAT, Format};
use crate::front_end::{
    CONTROLLER_PER_KIB, FORWARDINGS, FrontEnd, HOST_PER_KIB, HOST_RECEIVES, HostReceives, PerKib,
};
use crate::gateway::Gateway;
use crate::group::FurtherGroup;
use crate::host::Host;
use crate::in_place::InPlace;
use crate::layout::ArrayLayout;
use crate::machine::{LANE_RULES, Link, PER_SECOND, Pair};
use crate::overhead::OverheadConfiguration;
use crate::page_cache::{CacheWrites, PageCache, WAKE_UPS, WakeUps};
use crate::phase::Phase;
use crate::processor::{Processor, ProcessorWork, WORK_WORDS};
use crate::protocol;
use crate::quantity::{Bytes, Nanoseconds};
use crate::read_ahead::{READ_AHEAD, READ_CACHE};
use crate::relocation::{ReallocationScan, Relocation};
use crate::scenario::Scenario;
use crate::snapshots::SnapshotSchedule;
use crate::unknown::Unknown;
use crate::volume::Volume;
use crate::workload::{AccessSpecificationChoice, NamedWorkload, Workload};
use crate::write_anywhere::{
    CACHE_START_WORDS, CHUNKS_WORDS, OtherData, PARITY_WORDS, READ_THROUGH, RECLAIM_INTERVAL,
    WriteAnywhere,
};

/// The value of a setting, as a scenario's file writes it.
#[derive(Debug, Clone, PartialEq)]
pub enum SettingValue {
    /// `true` or `false`.
    Flag(bool),
    /// A whole number.
    Count(u64),
    /// A number.
    Number(f64),
    /// A word, a path, or a quantity with its unit, as in `64 MiB`.
    Text(String),
    /// A list of them.
    List(Vec<SettingValue>),
}

impl From<bool> for SettingValue {
    fn from(value: bool) -> Self {
        Self::Flag(value)
    }
}
impl From<u64> for SettingValue {
    fn from(value: u64) -> Self {
        Self::Count(value)
    }
}
impl From<u32> for SettingValue {
    fn from(value: u32) -> Self {
        Self::Count(value.into())
    }
}
impl From<u16> for SettingValue {
    fn from(value: u16) -> Self {
        Self::Count(value.into())
    }
}
impl From<u8> for SettingValue {
    fn from(value: u8) -> Self {
        Self::Count(value.into())
    }
}
impl From<f64> for SettingValue {
    fn from(value: f64) -> Self {
        Self::Number(value)
    }
}
impl From<&str> for SettingValue {
    fn from(value: &str) -> Self {
        Self::Text(value.to_owned())
    }
}
impl From<String> for SettingValue {
    fn from(value: String) -> Self {
        Self::Text(value)
    }
}

impl fmt::Display for SettingValue {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Flag(flag) => flag.fmt(formatter),
            Self::Count(count) => count.fmt(formatter),
            Self::Number(number) => number.fmt(formatter),
            Self::Text(text) => text.fmt(formatter),
            Self::List(values) => {
                let shown = |value: &Self| match value {
                    // Lists within a list, each by itself.
                    Self::List(_) => format!("[{value}]"),
                    value => value.to_string(),
                };
                let values: Vec<String> = values.iter().map(shown).collect();
                formatter.write_str(&values.join(", "))
            }
        }
    }
}

/// The settings found so far, below a common beginning of their names.
#[derive(Default)]
pub(crate) struct Settings {
    beginning: String,
    all: Vec<(String, SettingValue)>,
}

impl Settings {
    pub(crate) fn add(&mut self, name: &str, value: impl Into<SettingValue>) {
        self.all.push((format!("{}{name}", self.beginning), value.into()));
    }

    fn size(&mut self, name: &str, bytes: u64) {
        self.add(name, Bytes(bytes).to_string());
    }

    fn time(&mut self, name: &str, ns: u64) {
        self.add(name, Nanoseconds(ns).to_string());
    }

    /// Adds a cost. A file has whole nanoseconds, and calibration tries no others.
    fn cost(&mut self, name: &str, ns: f64) {
        if ns >= 0.0 && ns.is_finite() {
            self.time(name, ns as u64);
        } else {
            self.add(name, format!("{ns} ns"));
        }
    }

    /// Adds what `add` adds under names that begin with `table`.
    fn within(&mut self, table: &str, add: impl FnOnce(&mut Self)) {
        let outer = self.beginning.len();
        self.beginning.push_str(table);
        self.beginning.push('.');
        add(self);
        self.beginning.truncate(outer);
    }
}

impl Scenario {
    /// Returns every setting by its name, defaults included, in the order of the file: `segment`, `workload.file`,
    /// `array.FAS2050.write_anywhere.policy`. The entries of lists of tables are numbered from 1, and arrays are named.
    ///
    /// A `format` of `modelled` is left out, because results record these settings, and so are the scatter of fitted
    /// rows and constants that are unknown: no figure of a run depends on them. [`every_setting`](Self::every_setting)
    /// has them.
    #[must_use]
    pub fn settings(&self) -> Vec<(String, SettingValue)> {
        let mut settings = self.every_setting();
        let default = SettingValue::from(Format::default().as_str());
        settings
            .retain(|(name, value)| *value != default || name.rsplit('.').next() != Some(FORMAT));
        settings.retain(|(name, _)| !digest::is_of_uncertainty(name));
        settings
    }

    /// Returns every setting as [`settings`](Self::settings) does, and also a `format` of `modelled`.
    #[must_use]
    pub fn every_setting(&self) -> Vec<(String, SettingValue)> {
        let mut found = Settings::default();
        let Self {
            name,
            title,
            seed,
            segments,
            segment_ns,
            spindle_stretch,
            published,
            workloads,
            phases,
            hosts,
            links,
            arrays,
            overhead,
            unknowns,
            fitted,
            text: _,
        } = self;
        let s = &mut found;
        s.add("name", name.as_str());
        s.add("title", title.as_str());
        s.add("seed", *seed);
        if phases.is_empty() {
            s.add("segments", *segments);
        }
        s.time("segment", *segment_ns);
        if *spindle_stretch > 1 {
            s.add("spindle_stretch", *spindle_stretch);
        }
        if let Some(path) = published {
            s.add("published", path.display().to_string());
        }
        for (number, workload) in (1..).zip(workloads) {
            match &workload.named {
                None => s.within("workload", |s| of_workload(s, workload)),
                Some(_) => s.within(&format!("workload.{number}"), |s| of_workload(s, workload)),
            }
        }
        for (number, Phase { name, segments, workloads }) in (1..).zip(phases) {
            s.within(&format!("phase.{number}"), |s| {
                s.add("name", name.as_str());
                s.add("segments", *segments);
                s.add("workloads", listed(workloads));
            });
        }
        for (number, Host { name, path, cores }) in (1..).zip(hosts) {
            s.within(&format!("host.{number}"), |s| {
                s.add("name", name.as_str());
                if !path.is_empty() {
                    s.add("path", listed(path));
                }
                s.add("cores", *cores);
            });
        }
        for (number, link) in (1..).zip(links) {
            s.within(&format!("link.{number}"), |s| of_link(s, link));
        }
        for array in arrays {
            s.within(&format!("array.{}", array.name), |s| {
                of_array(s, array, self);
            });
        }
        if let Some(overhead) = overhead {
            s.within("overhead", |s| {
                s.add("usd_per_spindle", overhead.usd_per_spindle);
                for (number, one) in (1..).zip(&overhead.configurations) {
                    s.within(&format!("configuration.{number}"), |s| of_configuration(s, one));
                }
            });
        }
        for (number, Unknown { constant, values }) in (1..).zip(unknowns) {
            s.within(&format!("{}.{number}", Unknown::KEY), |s| {
                s.add("constant", constant.as_str());
                s.add("values", listed(values));
            });
        }
        for (number, FittedRows { parameter, rows }) in (1..).zip(fitted) {
            s.within(&format!("{}.{number}", FittedRows::KEY), |s| {
                s.add("parameter", parameter.as_str());
                s.add("rows", listed(rows));
            });
        }
        found.all
    }
}

impl Scenario {
    /// Returns whether its workloads have names.
    pub(crate) fn is_named(&self) -> bool {
        self.workloads.iter().any(|workload| workload.named.is_some())
    }
}

impl Array {
    /// Returns every setting of the array but its name, by its name below the array. The workloads of
    /// `scenario` may have names, and so the outstanding operations, and its hosts cores of their own.
    pub(crate) fn settings(&self, scenario: &Scenario) -> Vec<(String, SettingValue)> {
        let mut found = Settings::default();
        of_array(&mut found, self, scenario);
        found.all
    }
}

fn of_workload(s: &mut Settings, workload: &Workload) {
    let Workload {
        named,
        access_specification,
        alignment_bytes,
        file_bytes,
        offset_bytes,
        total_bytes,
    } = workload;
    if let Some(named) = named {
        let NamedWorkload { name, lun, arrays, host, outstanding, operations_per_second, threads } =
            named;
        s.add("name", name.as_str());
        s.add("lun", lun.as_str());
        if !arrays.is_empty() {
            s.add("arrays", listed(arrays));
        }
        if let Some(host) = host {
            s.add("host", host.as_str());
        }
        s.add("outstanding", *outstanding);
        if let Some(per_second) = operations_per_second {
            s.add("operations_per_second", *per_second);
        }
        if *threads > 1 {
            s.add("threads", *threads);
        }
    }
    match access_specification {
        AccessSpecificationChoice::Shipped(name) => s.add("access_specification", name.as_str()),
        AccessSpecificationChoice::Inline(lines) => {
            for (number, line) in (1..).zip(lines) {
                s.within(&format!("access.{number}"), |s| {
                    s.size("bytes", line.bytes.into());
                    s.add("percent", line.percent_of_accesses);
                    s.add("read_percent", line.read_percent);
                    s.add("random_percent", line.random_percent);
                });
            }
        }
    }
    s.size("alignment", (*alignment_bytes).into());
    s.size("file", *file_bytes);
    if *offset_bytes > 0 {
        s.size("offset", *offset_bytes);
    }
    if let Some(bytes) = total_bytes {
        s.size("total", *bytes);
    }
}

fn of_array(s: &mut Settings, array: &Array, scenario: &Scenario) {
    let Array {
        name: _,
        outstanding,
        luns,
        volumes,
        spindle,
        commands_per_spindle,
        scheduler,
        processor,
        fitted,
        layout,
        failures,
        rebuild_steps_in_flight,
        front_end,
        pair,
        page_cache,
        client_raid,
        gateway,
    } = array;
    if !scenario.is_named() {
        s.add("outstanding", *outstanding);
    }
    let has_groups = layout.in_place().is_some_and(|layout| layout.groups.len() > 1);
    for (number, lun) in (1..).zip(luns) {
        let Lun { name, bytes, volume, laid_out_bytes, group, controller } = lun;
        let Some(name) = name else {
            s.size("lun", *bytes);
            continue;
        };
        s.within(&format!("lun.{number}"), |s| {
            s.add("name", name.as_str());
            s.size("size", *bytes);
            if let Some(volume) = volume {
                s.add("volume", volume.as_str());
            }
            if has_groups {
                s.add("group", *group);
            }
            if pair.is_some() {
                s.add("controller", *controller);
            }
            if let Some(bytes) = laid_out_bytes {
                s.size("laid_out", *bytes);
            }
        });
    }
    for (number, Volume { name, bytes, thin, snapshots }) in (1..).zip(volumes) {
        s.within(&format!("{}.{number}", Volume::KEY), |s| {
            s.add("name", name.as_str());
            if let Some(bytes) = bytes {
                s.size("size", *bytes);
            }
            s.add("thin", *thin);
            of_snapshots(s, *snapshots);
        });
    }
    match spindle {
        SpindleChoice::Shipped(name) => s.add("spindle", name.as_str()),
        SpindleChoice::File(file) => s.add("spindle", file.path().display().to_string()),
    }
    s.add("commands_per_spindle", *commands_per_spindle);
    s.add("scheduler", scheduler.to_string());
    s.add("rebuild_steps_in_flight", *rebuild_steps_in_flight);
    s.within("processor", |s| of_processor(s, processor));
    if let Some(front_end) = front_end {
        s.within(FrontEnd::KEY, |s| of_front_end(s, front_end, scenario.hosts.is_empty()));
    }
    if let Some(pair) = pair {
        s.within(Pair::KEY, |s| of_pair(s, pair));
    }
    if let Some(page_cache) = page_cache {
        s.within(PageCache::KEY, |s| of_page_cache(s, page_cache));
    }
    if let Some(raid) = client_raid {
        s.within(ClientRaid::KEY, |s| client_raid::listed(raid, s));
    }
    if let Some(gateway) = gateway {
        s.within(Gateway::KEY, |s| {
            gateway.listed(s);
            of_front_end(s, &gateway.front_end, true);
        });
    }
    if let Some(Fitted { parameters, segments, row_scatter_percent }) = fitted {
        s.within("fitted", |s| {
            s.add("parameters", listed(parameters));
            s.add("segments", listed(segments));
            if *row_scatter_percent > 0.0 {
                s.add("row_scatter_percent", *row_scatter_percent);
            }
        });
    }
    match layout {
        ArrayLayout::WriteAnywhere(layout) => {
            s.within("write_anywhere", |s| of_write_anywhere(s, layout));
        }
        ArrayLayout::InPlace(layout) => s.within("in_place", |s| of_in_place(s, layout)),
    }
    for (number, SpindleFailure { at_ns, spindle }) in (1..).zip(failures) {
        s.within(&format!("failure.{number}"), |s| {
            s.time("at", *at_ns);
            s.add("spindle", *spindle);
        });
    }
}

fn of_link(s: &mut Settings, link: &Link) {
    let Link {
        name,
        kind,
        lanes,
        down_lanes,
        lane_rule,
        down_ns,
        up_ns,
        detection_ns,
        propagation_ns,
        buffer_credits,
        bytes_per_second,
    } = link;
    s.add("name", name.as_str());
    s.add("kind", kind.as_str());
    s.add("lanes", *lanes);
    s.add("lane_rule", word(&LANE_RULES, lane_rule));
    if let Some(at_ns) = down_ns {
        s.time("down", *at_ns);
        s.add("down_lanes", *down_lanes);
    }
    if let Some(at_ns) = up_ns {
        s.time("up", *at_ns);
    }
    s.time("detection", *detection_ns);
    if let Some(propagation_ns) = propagation_ns {
        s.time("propagation", *propagation_ns);
    }
    if let Some(credits) = buffer_credits {
        s.add("buffer_credits", *credits);
    }
    if let Some(bytes) = bytes_per_second {
        s.size(PER_SECOND, *bytes);
    }
}

fn of_processor(s: &mut Settings, processor: &Processor) {
    let Processor {
        host_operation_ns,
        spindle_command_ns,
        per_kib_ns,
        write_back_percent,
        cores,
        serial_domains,
        allocated_block_ns: _,
        freed_block_ns: _,
        metadata_block_ns: _,
        parity_per_kib_ns: _,
        interrupt_ns: _,
    } = processor;
    s.cost("host_operation", *host_operation_ns);
    s.cost("spindle_command", *spindle_command_ns);
    s.cost("per_kib", *per_kib_ns);
    s.add("write_back_percent", *write_back_percent);
    // Results of arrays with one core list what they always did.
    if *cores > 1 {
        s.add("cores", *cores);
        let words = |domain: &Vec<ProcessorWork>| {
            let words: Vec<&str> = domain.iter().map(|work| word(&WORK_WORDS, work)).collect();
            listed(&words)
        };
        s.add("serial_domains", SettingValue::List(serial_domains.iter().map(words).collect()));
    }
    for (key, ns) in Processor::OPTIONAL_COSTS.iter().zip(processor.optional_costs_ns()) {
        if ns != 0.0 {
            s.cost(key, ns);
        }
    }
}

fn of_per_kib(s: &mut Settings, [both, read, write]: [&str; 3], cost: &PerKib) {
    s.cost(both, cost.both_ns);
    for (key, ns) in [(read, cost.read_ns), (write, cost.write_ns)] {
        if let Some(ns) = ns {
            s.cost(key, ns);
        }
    }
}

fn of_front_end(s: &mut Settings, front_end: &FrontEnd, has_host_cores: bool) {
    let FrontEnd {
        protocol,
        transport,
        path,
        switch_latency_ns,
        switch_forwarding,
        router,
        connections,
        host_cores,
        host_pdu_ns,
        host_per_kib,
        controller_pdu_ns,
        controller_per_kib,
        host_interrupt_delay_ns,
        host_receives,
    } = front_end;
    let word_for_it = protocol::word_for(protocol);
    s.add("protocol", word_for_it);
    // Where each blade has a link, there may be none before it.
    if !path.is_empty() {
        s.add("path", listed(path));
    }
    s.time("switch_latency", *switch_latency_ns);
    s.add("switch_forwarding", word(&FORWARDINGS, switch_forwarding));
    s.add("connections", *connections);
    if has_host_cores {
        s.add("host_cores", *host_cores);
    }
    s.cost("host_pdu", *host_pdu_ns);
    of_per_kib(s, HOST_PER_KIB, host_per_kib);
    s.cost("controller_pdu", *controller_pdu_ns);
    of_per_kib(s, CONTROLLER_PER_KIB, controller_per_kib);
    // Where they are as they always were, results list what they always did.
    if *host_interrupt_delay_ns > 0 {
        s.time("host_interrupt_delay", *host_interrupt_delay_ns);
    }
    if *host_receives != HostReceives::WhenComplete {
        s.add("host_receives", word(&HOST_RECEIVES, host_receives));
    }
    let (mut protocol, mut transport) = (*protocol, *transport);
    s.within(word_for_it, |s| protocol::of_protocol(s, &mut protocol, &mut transport));
    if let Transport::Tcp(mut tcp) = transport {
        s.within(protocol::TCP, |s| protocol::of_tcp(s, &mut tcp));
    }
    if let Some(mut router) = *router {
        s.within(protocol::ROUTER, |s| protocol::of_router(s, &mut router));
    }
}

fn of_page_cache(s: &mut Settings, page_cache: &PageCache) {
    let PageCache { bytes, writes, largest_request_bytes, write_requests, copy_kib_ns } =
        page_cache;
    s.size("size", *bytes);
    match writes {
        CacheWrites::Through => s.add("writes", "through"),
        CacheWrites::Behind {
            dirty_percent,
            background_percent,
            wake_up_ns,
            expiry_ns,
            wake_ups,
        } => {
            s.add("writes", "behind");
            s.add("dirty_percent", *dirty_percent);
            s.add("dirty_background_percent", *background_percent);
            s.time("wake_up", *wake_up_ns);
            s.time("expiry", *expiry_ns);
            // Results list what they always did.
            if *wake_ups != WakeUps::Periodic {
                s.add(PageCache::WAKE_UPS, word(&WAKE_UPS, wake_ups));
            }
        }
    }
    s.size("largest_request", *largest_request_bytes);
    s.add("write_requests", *write_requests);
    s.time("copy_per_kib", *copy_kib_ns);
}

fn of_pair(s: &mut Settings, pair: &Pair) {
    let Pair {
        interconnect_bytes_per_second,
        interconnect_latency_ns,
        failing,
        takeover_ns,
        giveback_ns,
        detection_ns,
        giveback_pause_ns,
    } = pair;
    s.size("interconnect_per_second", *interconnect_bytes_per_second);
    s.time("interconnect_latency", *interconnect_latency_ns);
    if let Some(at_ns) = takeover_ns {
        s.add("failing", *failing);
        s.time("takeover", *at_ns);
    }
    if let Some(at_ns) = giveback_ns {
        s.time("giveback", *at_ns);
    }
    s.time("detection", *detection_ns);
    s.time("giveback_pause", *giveback_pause_ns);
}

fn of_write_anywhere(s: &mut Settings, layout: &WriteAnywhere) {
    let WriteAnywhere {
        format,
        parity,
        data_spindles,
        further_groups,
        right_sized_bytes,
        reserve_percent,
        policy,
        other_data,
        area_stripes,
        tetris_stripes,
        chunk_blocks,
        tetrises_in_flight,
        log_half_bytes,
        log_record_header_bytes,
        checkpoint_interval_ns,
        buffer_cache_bytes,
        protected_percent,
        dirty_limit_percent,
        delayed_free_percent,
        cache_start,
        chunks,
        spares,
        snapshots,
        read_through_blocks,
        reclaim_interval_ns,
        background_scan,
        read_ahead_bytes,
        relocation,
    } = layout;
    s.add(FORMAT, format.as_str());
    s.add("parity", word(&PARITY_WORDS, parity));
    s.add("data_spindles", *data_spindles);
    s.size("right_sized", *right_sized_bytes);
    s.add("reserve_percent", *reserve_percent);
    s.add("policy", policy.as_str());
    s.add("area_stripes", *area_stripes);
    s.add("tetris_stripes", *tetris_stripes);
    s.add("chunk_blocks", *chunk_blocks);
    s.add("tetrises_in_flight", *tetrises_in_flight);
    s.size("log_half", *log_half_bytes);
    s.size("log_record_header", *log_record_header_bytes);
    s.time("checkpoint_interval", *checkpoint_interval_ns);
    s.size("buffer_cache", *buffer_cache_bytes);
    s.add("protected_percent", *protected_percent);
    s.add("dirty_limit_percent", *dirty_limit_percent);
    s.add("delayed_free_percent", *delayed_free_percent);
    s.add("cache_start", word(&CACHE_START_WORDS, cache_start));
    s.add("chunks", word(&CHUNKS_WORDS, chunks));
    s.add("spares", *spares);
    s.size(READ_AHEAD, *read_ahead_bytes);
    for (number, FurtherGroup { parity, data_spindles, at_ns }) in (1..).zip(further_groups) {
        s.within(&format!("group.{number}"), |s| {
            s.add("parity", word(&PARITY_WORDS, parity));
            s.add("data_spindles", *data_spindles);
            if let Some(at_ns) = at_ns {
                s.time("at", *at_ns);
            }
        });
    }
    if let Some(OtherData { full_percent, run_blocks }) = other_data {
        s.within("other_data", |s| {
            s.add("full_percent", *full_percent);
            s.add("run_blocks", *run_blocks);
        });
    }
    of_snapshots(s, *snapshots);
    if *read_through_blocks > 0 {
        s.add(READ_THROUGH, *read_through_blocks);
    }
    if let Some(interval_ns) = reclaim_interval_ns {
        s.time(RECLAIM_INTERVAL, *interval_ns);
    }
    if let Some(BackgroundScan { blocks_per_second, begins_ns, ends_ns }) = background_scan {
        let [blocks_key, begins_key, ends_key] = BackgroundScan::KEYS;
        s.within(BackgroundScan::KEY, |s| {
            s.add(blocks_key, *blocks_per_second);
            s.time(begins_key, *begins_ns);
            if let Some(ends_ns) = ends_ns {
                s.time(ends_key, *ends_ns);
            }
        });
    }
    of_relocation(s, relocation);
}

/// Adds what is not as in an array that relocates nothing.
fn of_relocation(s: &mut Settings, relocation: &Relocation) {
    let Relocation { read_reallocation, reads_in_flight, scan, cleaned_blocks } = relocation;
    if *read_reallocation {
        s.add(Relocation::READ_KEY, true);
    }
    if *reads_in_flight != Relocation::NONE.reads_in_flight {
        s.add(Relocation::IN_FLIGHT_KEY, *reads_in_flight);
    }
    if let Some(scan) = scan {
        let ReallocationScan { begins_ns, every_ns, bytes_per_s, stretch_blocks, threshold } = scan;
        let [begins_key, every_key, rate_key, stretch_key, threshold_key] = Relocation::SCAN_KEYS;
        s.within(Relocation::SCAN_KEY, |s| {
            s.time(begins_key, *begins_ns);
            if let Some(every_ns) = every_ns {
                s.time(every_key, *every_ns);
            }
            s.size(rate_key, *bytes_per_s);
            s.add(stretch_key, *stretch_blocks);
            s.add(threshold_key, *threshold);
        });
    }
    if let Some(blocks) = cleaned_blocks {
        s.within(Relocation::CLEANING_KEY, |s| s.add(Relocation::CLEANED_KEY, *blocks));
    }
}

fn of_snapshots(s: &mut Settings, snapshots: Option<SnapshotSchedule>) {
    if let Some(SnapshotSchedule { every_ns, keep }) = snapshots {
        let [every_key, keep_key] = SnapshotSchedule::KEYS;
        s.within(SnapshotSchedule::KEY, |s| {
            s.time(every_key, every_ns);
            s.add(keep_key, keep);
        });
    }
}

fn of_in_place(s: &mut Settings, layout: &InPlace) {
    let InPlace {
        groups,
        format,
        write_cache_bytes,
        log_half_bytes,
        log_record_header_bytes,
        destage_low_percent,
        destages_per_spindle,
        full_stripe_destage,
        read_ahead_bytes,
        read_cache_bytes,
    } = layout;
    let Some((first, further)) = groups.split_first() else { return };
    s.add("layout", first.layout.as_str());
    s.add(FORMAT, format.as_str());
    of_disk_group(s, first);
    s.size("write_cache", *write_cache_bytes);
    if format.is_durable() {
        s.size("log_half", *log_half_bytes);
        s.size("log_record_header", *log_record_header_bytes);
    }
    s.add("destage_low_percent", *destage_low_percent);
    s.add("destages_per_spindle", *destages_per_spindle);
    s.add("full_stripe_destage", *full_stripe_destage);
    s.size(READ_AHEAD, *read_ahead_bytes);
    s.size(READ_CACHE, *read_cache_bytes);
    for (number, group) in (1..).zip(further) {
        s.within(&format!("group.{number}"), |s| {
            s.add("layout", group.layout.as_str());
            of_disk_group(s, group);
        });
    }
}

/// Adds the settings of a disk group but its layout.
fn of_disk_group(s: &mut Settings, group: &DiskGroup) {
    let DiskGroup {
        layout: _,
        spindles,
        redundancy_sets,
        chunk_bytes,
        segment_bytes,
        protection_level,
    } = group;
    s.add("spindles", *spindles);
    s.add("redundancy_sets", listed(redundancy_sets));
    s.size("chunk", *chunk_bytes);
    s.size("segment", *segment_bytes);
    s.add("protection_level", word(&PROTECTION_WORDS, protection_level));
}

fn of_configuration(s: &mut Settings, configuration: &OverheadConfiguration) {
    let OverheadConfiguration {
        array,
        name,
        source,
        spare,
        root,
        protection_level,
        used_by_results,
    } = configuration;
    s.add("array", array.as_str());
    s.add("name", name.as_str());
    s.add("source", source.as_str());
    s.add("spare", *spare);
    s.add("root", *root);
    if let Some(level) = protection_level {
        s.add("protection_level", word(&PROTECTION_WORDS, level));
    }
    s.add("used_by_results", *used_by_results);
}

pub(crate) fn word<T: PartialEq>(words: &[(&'static str, T)], value: &T) -> &'static str {
    words.iter().find(|(_, meaning)| meaning == value).map_or("", |(word, _)| word)
}

fn listed<T: Clone + Into<SettingValue>>(values: &[T]) -> SettingValue {
    SettingValue::List(values.iter().cloned().map(T::into).collect())
}
