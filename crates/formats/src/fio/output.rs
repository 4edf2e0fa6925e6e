//! Results in the shape of `fio --output-format=json` and `json+`.

use std::io;

use serde::{Deserialize, Serialize};

use super::distribution::DistributionPercent;
use super::json::FioFormatter;
use super::latency::{LatencyBins, LatencyStatistics};
use crate::text::WriteError;

/// Results of fio, or of another program in fio's form.
///
/// The fields are fio 3.33's, in its order and units. `disk_util` is left out, as fio does if there
/// is no disk of the host. [`Output::to_json`] writes them as fio does: `"key" : value`, numbers
/// with a fraction to six decimals. [`Output::load`] reads a file of fio's or of this crate's.
///
/// ```
/// use strewn_formats::fio::{DirectionResult, JobResult, LatencyBins, Output};
///
/// let mut latency = LatencyBins::default();
/// latency.record_many(5_000_000, 1000);
/// let mut job = JobResult::new("segment-1");
/// job.read = DirectionResult::new(1000, 4_096_000, 10_000).with_latency(&latency);
/// job.set_latency_distribution(&latency);
/// let output = Output::new("2026-11-21T09:54:02Z", 1_795_254_842_760, vec![job]);
///
/// let json = output.to_json()?;
/// assert!(json.contains("\"iops\" : 100.000000"));
/// assert_eq!(Output::parse(&json, "fio.json")?, output);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Output {
    /// Readers recognise the format by `fio-` and a number.
    #[serde(rename = "fio version")]
    pub fio_version: String,
    /// When the results were written, in seconds since 1970.
    pub timestamp: u64,
    /// The same in milliseconds.
    pub timestamp_ms: u64,
    /// The same, for people.
    pub time: String,
    /// Options that apply to all jobs.
    #[serde(
        rename = "global options",
        with = "super::json::pairs",
        skip_serializing_if = "Vec::is_empty"
    )]
    pub global_options: Vec<(String, String)>,
    /// The jobs, or, with `group_reporting`, their groups.
    pub jobs: Vec<JobResult>,
}

/// The results of a job.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct JobResult {
    /// Its name.
    pub jobname: String,
    /// Its reporting group, counted from 0.
    pub groupid: u32,
    /// The first error, 0 for none.
    pub error: i32,
    /// Seconds left, 0 when it is done.
    pub eta: u64,
    /// Elapsed seconds, rounded up.
    pub elapsed: u64,
    /// Its own options.
    #[serde(
        rename = "job options",
        with = "super::json::pairs",
        skip_serializing_if = "Vec::is_empty"
    )]
    pub job_options: Vec<(String, String)>,
    /// Its reads.
    pub read: DirectionResult,
    /// Its writes.
    pub write: DirectionResult,
    /// Its trims.
    pub trim: DirectionResult,
    /// Its flushes.
    pub sync: SyncResult,
    /// Run time in milliseconds.
    pub job_runtime: u64,
    /// Processor time in user mode, in percent.
    pub usr_cpu: f64,
    /// Processor time in system mode, in percent.
    pub sys_cpu: f64,
    /// Context switches.
    pub ctx: u64,
    /// Major page faults.
    pub majf: u64,
    /// Minor page faults.
    pub minf: u64,
    /// Percentage of time by accesses outstanding.
    pub iodepth_level: DistributionPercent,
    /// Percentage of submissions by accesses submitted together.
    pub iodepth_submit: DistributionPercent,
    /// Percentage of completions by accesses completed together.
    pub iodepth_complete: DistributionPercent,
    /// Latencies below a microsecond.
    pub latency_ns: DistributionPercent,
    /// Latencies from a microsecond to a millisecond.
    pub latency_us: DistributionPercent,
    /// Latencies of a millisecond and more.
    pub latency_ms: DistributionPercent,
    /// The queue depth that met the latency target; without a target, the depth of the job.
    pub latency_depth: u64,
    /// The latency target in microseconds, 0 for none.
    pub latency_target: u64,
    /// The percentage of accesses that must meet it.
    pub latency_percentile: f64,
    /// The window of the latency target, in microseconds.
    pub latency_window: u64,
}

/// The results of a job's reads, writes or trims.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct DirectionResult {
    /// Bytes transferred.
    pub io_bytes: u64,
    /// The same in KiB.
    pub io_kbytes: u64,
    /// Bytes per second.
    pub bw_bytes: u64,
    /// KiB per second.
    pub bw: u64,
    /// Accesses per second.
    pub iops: f64,
    /// Milliseconds from the first access to the last.
    pub runtime: u64,
    /// Accesses.
    pub total_ios: u64,
    /// Accesses that transferred less than asked for.
    pub short_ios: u64,
    /// Accesses that were dropped.
    pub drop_ios: u64,
    /// Submission latency: from the creation of an access to its submission.
    pub slat_ns: LatencyStatistics,
    /// Completion latency: from submission to completion.
    pub clat_ns: LatencyStatistics,
    /// Total latency: from creation to completion.
    pub lat_ns: LatencyStatistics,
    /// Least of the samples, in KiB a second.
    pub bw_min: u64,
    /// Greatest of the samples, in KiB a second.
    pub bw_max: u64,
    /// Share of the group's bandwidth, in percent.
    pub bw_agg: f64,
    /// Mean of the samples, in KiB a second.
    pub bw_mean: f64,
    /// Their deviation.
    pub bw_dev: f64,
    /// Number of samples.
    pub bw_samples: u64,
    /// Least of the samples, in accesses a second.
    pub iops_min: u64,
    /// Greatest of the samples, in accesses a second.
    pub iops_max: u64,
    /// Mean of the samples, in accesses a second.
    pub iops_mean: f64,
    /// Their deviation.
    pub iops_stddev: f64,
    /// Number of samples.
    pub iops_samples: u64,
}

/// The results of a job's flushes.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct SyncResult {
    /// Number of flushes.
    pub total_ios: u64,
    /// Their latency.
    pub lat_ns: LatencyStatistics,
}

impl Output {
    /// The version of fio whose format is written.
    pub const SHAPE: &'static str = "fio-3.33";

    /// Creates results written at `time`, which is `timestamp_ms` milliseconds since 1970.
    #[must_use]
    pub fn new(time: impl Into<String>, timestamp_ms: u64, jobs: Vec<JobResult>) -> Self {
        Self {
            fio_version: Self::SHAPE.to_owned(),
            timestamp: timestamp_ms / 1000,
            timestamp_ms,
            time: time.into(),
            global_options: Vec::new(),
            jobs,
        }
    }

    /// Returns the JSON as fio writes it, with a line end.
    ///
    /// # Errors
    ///
    /// [`WriteError::NotRepresentable`] if a figure is not finite.
    pub fn to_json(&self) -> Result<String, WriteError> {
        let mut json = Vec::new();
        self.write_json(&mut json)?;
        Ok(String::from_utf8_lossy(&json).into_owned())
    }

    /// Writes it as fio does.
    ///
    /// # Errors
    ///
    /// [`WriteError::NotRepresentable`] if a figure is not finite, [`WriteError::Io`] if the output
    /// fails.
    pub fn write_json(&self, mut output: impl io::Write) -> Result<(), WriteError> {
        let formatter = FioFormatter::default();
        let mut serializer = serde_json::Serializer::with_formatter(&mut output, formatter);
        match self.serialize(&mut serializer).map_err(io::Error::from) {
            Err(error) if error.kind() == io::ErrorKind::InvalidData => {
                return Err(WriteError::not_representable(
                    "a figure that is not finite",
                    "JSON has no such numbers; leave the figure out",
                ));
            }
            written => written?,
        }
        output.write_all(b"\n")?;
        Ok(())
    }
}

impl JobResult {
    /// Creates a job of this name that did nothing, with one access outstanding.
    #[must_use]
    pub fn new(jobname: impl Into<String>) -> Self {
        let [latency_ns, latency_us, latency_ms] = LatencyBins::default().distribution();
        Self {
            jobname: jobname.into(),
            iodepth_level: DistributionPercent::outstanding(1),
            iodepth_submit: DistributionPercent::at_a_time(),
            iodepth_complete: DistributionPercent::at_a_time(),
            latency_ns,
            latency_us,
            latency_ms,
            latency_depth: 1,
            latency_percentile: 100.0,
            ..Self::default()
        }
    }

    /// Sets the constant number of accesses outstanding.
    ///
    /// ```
    /// use strewn_formats::fio::JobResult;
    ///
    /// let mut job = JobResult::new("segment-1");
    /// job.set_outstanding(150);
    /// assert_eq!((job.iodepth_level.percent(">=64"), job.latency_depth), (Some(100.0), 150));
    /// ```
    pub fn set_outstanding(&mut self, outstanding: u32) {
        self.iodepth_level = DistributionPercent::outstanding(outstanding);
        self.latency_depth = outstanding.into();
    }

    /// Sets the three coarse maps of latencies, which cover reads and writes together.
    pub fn set_latency_distribution(&mut self, latency: &LatencyBins) {
        [self.latency_ns, self.latency_us, self.latency_ms] = latency.distribution();
    }
}

impl DirectionResult {
    /// Creates a result of `total_ios` accesses that transferred `io_bytes` in `runtime_ms`, and
    /// computes the rates.
    #[must_use]
    pub fn new(total_ios: u64, io_bytes: u64, runtime_ms: u64) -> Self {
        let per_second = |amount: u64| {
            let rate = u128::from(amount) * 1000 / u128::from(runtime_ms.max(1));
            u64::try_from(rate).unwrap_or(u64::MAX)
        };
        let bw_bytes = per_second(io_bytes);
        Self {
            io_bytes,
            io_kbytes: io_bytes / 1024,
            bw_bytes,
            bw: bw_bytes / 1024,
            iops: total_ios as f64 * 1000.0 / runtime_ms.max(1) as f64,
            runtime: runtime_ms,
            total_ios,
            ..Self::default()
        }
    }

    /// Adds latencies, all of them from submission to completion: submission takes no time.
    /// Percentiles are of the completion latency, as in fio.
    #[must_use]
    pub fn with_latency(mut self, latency: &LatencyBins) -> Self {
        self.lat_ns = latency.statistics();
        self.clat_ns = latency.statistics().with_percentiles(latency);
        self.slat_ns = LatencyStatistics { n: latency.count(), ..LatencyStatistics::default() };
        self
    }

    /// Adds the bins of latencies, which makes it `json+`.
    ///
    /// ```
    /// use strewn_formats::fio::{DirectionResult, LatencyBins};
    ///
    /// let mut latency = LatencyBins::default();
    /// latency.record_many(131, 5);
    /// let reads = DirectionResult::new(5, 20_480, 1).with_latency(&latency).with_bins(&latency);
    /// assert_eq!(reads.clat_ns.bins.map(|bins| bins[&131]), Some(5));
    /// ```
    #[must_use]
    pub fn with_bins(mut self, latency: &LatencyBins) -> Self {
        self.clat_ns.bins = Some(latency.bins());
        self
    }

    /// Adds samples over equal lengths of time: KiB and accesses per second in each.
    ///
    /// ```
    /// use strewn_formats::fio::DirectionResult;
    ///
    /// let result = DirectionResult::new(300, 1_228_800, 2_000)
    ///     .with_samples(&[400.0, 800.0], &[100.0, 200.0]);
    /// assert_eq!((result.bw_min, result.iops_max, result.iops_mean), (400, 200, 150.0));
    /// ```
    #[must_use]
    pub fn with_samples(mut self, kib_per_second: &[f64], ios_per_second: &[f64]) -> Self {
        (self.bw_min, self.bw_max, self.bw_mean, self.bw_dev) = sampled(kib_per_second);
        (self.iops_min, self.iops_max, self.iops_mean, self.iops_stddev) = sampled(ios_per_second);
        self.bw_samples = kib_per_second.len() as u64;
        self.iops_samples = ios_per_second.len() as u64;
        self.bw_agg = if self.io_bytes > 0 { 100.0 } else { 0.0 };
        self
    }
}

/// Returns the minimum, maximum, mean and deviation.
fn sampled(samples: &[f64]) -> (u64, u64, f64, f64) {
    let count = samples.len() as f64;
    if samples.is_empty() {
        return (0, 0, 0.0, 0.0);
    }
    let least = samples.iter().copied().fold(f64::INFINITY, f64::min);
    let most = samples.iter().copied().fold(0.0, f64::max);
    let mean = samples.iter().sum::<f64>() / count;
    let squares: f64 = samples.iter().map(|sample| (sample - mean).powi(2)).sum();
    let deviation = (squares / (count - 1.0).max(1.0)).sqrt();
    (least.max(0.0).round() as u64, most.round() as u64, mean, deviation)
}
