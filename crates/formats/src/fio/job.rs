//! The contents of a fio job.

use super::PerDirection;
use super::engine::{self, EngineKind};

/// A job: a section of a job file with the options of the `[global]` sections above it. Options not
/// given have fio's defaults.
///
/// A simulation must check for what it does not honour, not pass over it: see the notes of
/// [`JobFile`](super::JobFile), and the fields here that are not at their defaults.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct Job {
    /// The name of the section, or the value of `name`.
    pub name: String,
    /// The line of the section, counted from 1.
    pub line: u64,
    /// `rw`: reads, writes or both, random or sequential.
    pub pattern: Pattern,
    /// `rwmixread`, or the rest of `rwmixwrite`: percentage of a mixed pattern's accesses that
    /// read. 50 unless given.
    pub read_percent: u8,
    /// `bs`, `bsrange` or `bssplit`. 4096 unless given.
    pub block_sizes: PerDirection<BlockSizes>,
    /// `blockalign`: alignment of random accesses; the smallest block size if none.
    pub alignment_bytes: PerDirection<Option<u64>>,
    /// `percentage_random`: percentage of a random pattern's accesses that are random. 100 unless
    /// given.
    pub random_percent: PerDirection<u8>,
    /// `random_distribution`: where random accesses go.
    pub distribution: PerDirection<Distribution>,
    /// No `norandommap`: a random pattern touches every block once before it touches one again. fio
    /// does so for the uniform distribution only.
    pub covers_every_block: bool,
    /// `iodepth`: accesses outstanding. See [`Job::outstanding`].
    pub io_depth: u32,
    /// `ioengine`, as given. It decides whether `iodepth` has an effect.
    pub io_engine: Option<String>,
    /// `filename`: the file that it accesses. Without one, each clone has a file of its own.
    pub file_name: Option<String>,
    /// `numjobs`: how many copies of this job run side by side.
    pub clones: u32,
    /// `size`: length of the region accessed; the whole device if none.
    pub size: Option<Extent>,
    /// `offset`: where the region begins.
    pub offset: Extent,
    /// `offset_increment`: distance from the start of one clone's region to that of the next.
    pub offset_increment: Extent,
    /// `io_size`: how much is transferred, if not `size`.
    pub io_size: Option<Extent>,
    /// `number_ios`: accesses after which a loop ends at the latest; without effect on a job that is `time_based`.
    pub number_ios: Option<u64>,
    /// `loops`: how often the job runs.
    pub loops: u64,
    /// `runtime`, in microseconds: when the job ends at the latest.
    pub runtime_us: Option<u64>,
    /// `time_based`: the job continues until its runtime is over, however much it has transferred.
    pub time_based: bool,
    /// `ramp_time`, in microseconds: how long the job runs before measurement begins.
    pub ramp_time_us: u64,
    /// `startdelay`, in microseconds: how long the job waits before it starts.
    pub start_delay_us: u64,
    /// `rate_iops`: limit on accesses per second.
    pub rate_iops: PerDirection<Option<u64>>,
    /// `rate`: limit on bytes per second.
    pub rate_bytes: PerDirection<Option<u64>>,
    /// `rate_process`: how rate-limited accesses arrive.
    pub rate_process: RateProcess,
    /// `thinktime` and `thinktime_blocks`: pauses between accesses.
    pub think_time: Option<ThinkTime>,
    /// `randseed`.
    pub seed: Option<u64>,
    /// `stonewall`: the job starts when all jobs above it are done.
    pub stonewall: bool,
}

impl Job {
    pub(super) fn defaults() -> Self {
        Self {
            name: String::new(),
            line: 0,
            pattern: Pattern { direction: PatternDirection::Read, random: false, modifier: None },
            read_percent: 50,
            block_sizes: PerDirection::same(BlockSizes::DEFAULT),
            alignment_bytes: PerDirection::same(None),
            random_percent: PerDirection::same(100),
            distribution: PerDirection::same(Distribution::Uniform),
            covers_every_block: true,
            io_depth: 1,
            io_engine: None,
            file_name: None,
            clones: 1,
            size: None,
            offset: Extent::Bytes(0),
            offset_increment: Extent::Bytes(0),
            io_size: None,
            number_ios: None,
            loops: 1,
            runtime_us: None,
            time_based: false,
            ramp_time_us: 0,
            start_delay_us: 0,
            rate_iops: PerDirection::same(None),
            rate_bytes: PerDirection::same(None),
            rate_process: RateProcess::Linear,
            think_time: None,
            seed: None,
            stonewall: false,
        }
    }

    /// Returns the accesses after which the job is done, however much they transfer.
    ///
    /// ```
    /// use strewn_formats::fio::JobFile;
    ///
    /// let file = JobFile::parse("[a]\nsize=10m\nnumber_ios=7\nloops=3\n", "a.fio")?;
    /// assert_eq!(file.jobs[0].accesses(), Some(21));
    /// # Ok::<(), strewn_formats::FileFormatError>(())
    /// ```
    #[must_use]
    pub fn accesses(&self) -> Option<u64> {
        self.number_ios
            .filter(|_| !self.time_based)
            .map(|of_loop| of_loop.saturating_mul(self.loops))
    }

    /// Returns how many accesses the job keeps outstanding in fio: its depth, or 1 if its engine is
    /// synchronous, as fio's default on Linux (`psync`) is.
    ///
    /// A simulated host may take [`Job::io_depth`] literally; it then differs from fio on the same
    /// file.
    ///
    /// ```
    /// use strewn_formats::fio::JobFile;
    ///
    /// let file = JobFile::parse(
    ///     "[a]\niodepth=32\nsize=1m\n[b]\nioengine=libaio\niodepth=32\nsize=1m\n",
    ///     "a.fio",
    /// )?;
    /// assert_eq!((file.jobs[0].io_depth, file.jobs[0].outstanding()), (32, 1));
    /// assert_eq!((file.jobs[1].io_depth, file.jobs[1].outstanding()), (32, 32));
    /// # Ok::<(), strewn_formats::FileFormatError>(())
    /// ```
    #[must_use]
    pub fn outstanding(&self) -> u32 {
        let engine = self.io_engine.as_deref().and_then(engine::kind);
        if engine == Some(EngineKind::Asynchronous) { self.io_depth } else { 1 }
    }
}

/// `rw`: what accesses do and where they go.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Pattern {
    /// What they do.
    pub direction: PatternDirection,
    /// They go to random places, not sequentially.
    pub random: bool,
    /// The number after the colon. For a random pattern: how many accesses follow each other before
    /// the next goes to a random place. For a sequential one: how many bytes are skipped between
    /// accesses. A negative number goes back: `read:-8k` with accesses of 4 KiB reads a file
    /// backwards.
    pub modifier: Option<i64>,
}

/// What the accesses of a pattern do.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum PatternDirection {
    /// They read.
    Read,
    /// They write.
    Write,
    /// They discard.
    Trim,
    /// Some read and some write, by [`Job::read_percent`].
    ReadWrite,
    /// Each place is discarded and then written.
    TrimWrite,
}

/// The sizes of accesses.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum BlockSizes {
    /// All have this many bytes.
    Fixed(u64),
    /// Multiples of the least size up to the greatest, all equally frequent.
    Range {
        /// Bytes of the least.
        least_bytes: u64,
        /// Bytes of the greatest.
        most_bytes: u64,
    },
    /// These sizes with these shares, which sum to 100 %.
    Split(Vec<SizeShare>),
}

impl BlockSizes {
    /// fio's default.
    pub const DEFAULT: Self = Self::Fixed(4096);

    /// Returns the bytes of the smallest size.
    ///
    /// ```
    /// use strewn_formats::fio::BlockSizes;
    ///
    /// assert_eq!(BlockSizes::DEFAULT.least_bytes(), 4096);
    /// ```
    #[must_use]
    pub fn least_bytes(&self) -> u64 {
        match self {
            Self::Fixed(bytes) => *bytes,
            Self::Range { least_bytes, .. } => *least_bytes,
            Self::Split(shares) => shares.iter().map(|share| share.bytes).min().unwrap_or(0),
        }
    }
}

/// One size among several.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct SizeShare {
    /// Bytes of an access.
    pub bytes: u64,
    /// Percentage of accesses.
    pub percent: u8,
}

/// Where random accesses go.
#[derive(Clone, Debug, PartialEq)]
pub enum Distribution {
    /// Anywhere.
    Uniform,
    /// Zipf's law.
    Zipf {
        /// Its exponent; not 1.
        theta: f64,
        /// Where most accesses go, 0 to 1 of the region; random if not given.
        centre: Option<f64>,
    },
    /// Pareto's law.
    Pareto {
        /// Its power, between 0 and 1.
        power: f64,
        /// Where most accesses go, 0 to 1 of the region; random if not given.
        centre: Option<f64>,
    },
    /// A normal distribution.
    Normal {
        /// Its deviation in percent of the region.
        deviation_percent: f64,
        /// Where most accesses go, 0 to 1 of the region; the middle if not given.
        centre: Option<f64>,
    },
    /// The region is divided into consecutive zones, each accessed uniformly.
    Zoned(Vec<ZoneShare>),
}

/// A zone and its share of the accesses.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct ZoneShare {
    /// Percentage of accesses that go there.
    pub access_percent: u8,
    /// Its size.
    pub zone: Zone,
}

/// The size of a zone.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Zone {
    /// In percent of the region.
    Percent(u8),
    /// In bytes.
    Bytes(u64),
}

/// A place on the device, or a length of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Extent {
    /// In bytes.
    Bytes(u64),
    /// In percent of the device.
    Percent(u8),
}

impl Extent {
    /// Returns the extent in bytes on a device of `device_bytes`. A percentage is rounded down.
    ///
    /// ```
    /// use strewn_formats::fio::Extent;
    ///
    /// assert_eq!(Extent::Bytes(512).bytes_of(1_000_000), 512);
    /// assert_eq!(Extent::Percent(20).bytes_of(1_000_000), 200_000);
    /// ```
    #[must_use]
    pub fn bytes_of(self, device_bytes: u64) -> u64 {
        match self {
            Self::Bytes(bytes) => bytes,
            // Up to 255 %, so the result is capped to 64 bits.
            Self::Percent(percent) => {
                let bytes = u128::from(device_bytes) * u128::from(percent) / 100;
                u64::try_from(bytes).unwrap_or(u64::MAX)
            }
        }
    }
}

/// How rate-limited accesses arrive.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum RateProcess {
    /// At equal intervals.
    Linear,
    /// As a Poisson process.
    Poisson,
}

/// Pauses between accesses.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct ThinkTime {
    /// Length of a pause in microseconds.
    pub pause_us: u64,
    /// Accesses between pauses.
    pub accesses: u64,
}
