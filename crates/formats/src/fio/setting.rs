//! Options that set a field of a job.

use crate::text::{ErrorKind, FileFormatError, Line, did_you_mean, quoted, unsigned};

use super::duration::{Unitless, duration_us};
use super::engine;
use super::size::{KbBase, percent};
use super::split::{block_sizes, distribution, distribution_name, zones};
use super::{
    BlockSizes, Distribution, Job, Pattern, PatternDirection, PerDirection, RateProcess, ThinkTime,
};

/// The most jobs that fio runs.
pub(super) const MOST_JOBS: usize = 4096;

/// Which field of a job an option sets.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Apply {
    Pattern,
    ReadPercent,
    WritePercent,
    BlockSize,
    BlockSizeRange,
    BlockSizeSplit,
    Alignment,
    IoDepth,
    IoEngine,
    Clones,
    Size,
    Offset,
    OffsetIncrement,
    IoSize,
    NumberIos,
    Loops,
    Distribution,
    RandomPercent,
    NoRandomMap,
    Runtime,
    TimeBased,
    RampTime,
    StartDelay,
    Rate,
    RateIops,
    RateProcess,
    ThinkTime,
    ThinkTimeBlocks,
    Seed,
    Stonewall,
    KbBase,
    Name,
}

/// A job under construction.
#[derive(Clone)]
pub(super) struct Resolved {
    pub(super) job: Job,
    pub(super) base: KbBase,
}

/// An option that sets a field of a job.
pub(super) struct Setting<'l> {
    pub(super) line: &'l Line<'l>,
    pub(super) name: &'l str,
    pub(super) value: Option<&'l str>,
}

impl<'l> Setting<'l> {
    pub(super) fn set(&self, apply: Apply, resolved: &mut Resolved) -> Result<(), FileFormatError> {
        let base = resolved.base;
        let job = &mut resolved.job;
        match apply {
            Apply::KbBase => {
                self.text()?;
            }
            Apply::Name => job.name = self.text()?.to_owned(),
            Apply::IoEngine => {
                let name = self.text()?;
                if engine::kind(name).is_none() {
                    let otherwise = "write one that `fio --enghelp` lists";
                    return Err(self.unknown_name(name, engine::names(), otherwise));
                }
                job.io_engine = Some(name.to_owned());
            }
            Apply::Pattern => job.pattern = self.pattern(base)?,
            Apply::ReadPercent => job.read_percent = percent(self.line, self.text()?, self.name)?,
            Apply::WritePercent => {
                job.read_percent = 100 - percent(self.line, self.text()?, self.name)?;
            }
            Apply::BlockSize => {
                job.block_sizes = self.each(&BlockSizes::DEFAULT, |text| {
                    self.bytes(base, text).map(BlockSizes::Fixed)
                })?;
            }
            Apply::BlockSizeRange => {
                job.block_sizes =
                    self.each(&BlockSizes::DEFAULT, |text| self.block_size_range(base, text))?;
            }
            Apply::BlockSizeSplit => {
                job.block_sizes =
                    self.each(&BlockSizes::DEFAULT, |text| block_sizes(self.line, text, base))?;
            }
            Apply::Alignment => {
                job.alignment_bytes = self.each(&None, |text| self.bytes(base, text).map(Some))?;
            }
            Apply::RandomPercent => {
                job.random_percent = self.each(&100, |text| percent(self.line, text, self.name))?;
            }
            Apply::Distribution => job.distribution = self.distribution(base)?,
            Apply::RateIops => {
                job.rate_iops = self.each(&None, |text| self.limit(base, text))?;
            }
            Apply::Rate => job.rate_bytes = self.each(&None, |text| self.limit(base, text))?,
            Apply::RateProcess => {
                job.rate_process = match self.text()? {
                    "linear" => RateProcess::Linear,
                    "poisson" => RateProcess::Poisson,
                    other => return Err(self.not_one_of(other, &["linear", "poisson"])),
                };
            }
            Apply::IoDepth => job.io_depth = self.count(base, u32::MAX.into())? as u32,
            Apply::Clones => job.clones = self.count(base, MOST_JOBS as u64)? as u32,
            Apply::Loops => job.loops = self.count(base, u64::MAX)?,
            Apply::NumberIos => job.number_ios = Some(self.count(base, u64::MAX)?),
            Apply::Size => job.size = Some(base.extent(self.line, self.text()?, self.name)?),
            Apply::Offset => job.offset = base.extent(self.line, self.text()?, self.name)?,
            Apply::OffsetIncrement => {
                job.offset_increment = base.extent(self.line, self.text()?, self.name)?;
            }
            Apply::IoSize => job.io_size = Some(base.extent(self.line, self.text()?, self.name)?),
            Apply::Runtime => {
                let runtime_us = self.time_us(Unitless::Seconds)?;
                // In fio, 0 means none.
                job.runtime_us = (runtime_us > 0).then_some(runtime_us);
            }
            Apply::RampTime => job.ramp_time_us = self.time_us(Unitless::Seconds)?,
            Apply::StartDelay => job.start_delay_us = self.time_us(Unitless::Seconds)?,
            Apply::ThinkTime => {
                let pause_us = self.time_us(Unitless::Microseconds)?;
                let accesses = job.think_time.map_or(1, |think_time| think_time.accesses);
                job.think_time = Some(ThinkTime { pause_us, accesses });
            }
            Apply::ThinkTimeBlocks => {
                let accesses = self.count(base, u64::MAX)?;
                let pause_us = job.think_time.map_or(0, |think_time| think_time.pause_us);
                job.think_time = Some(ThinkTime { pause_us, accesses });
            }
            Apply::Seed => {
                let help = "write a whole number";
                job.seed = Some(unsigned(self.line, self.text()?, self.name, help)?);
            }
            Apply::NoRandomMap => job.covers_every_block = !self.flag()?,
            Apply::TimeBased => job.time_based = self.flag()?,
            Apply::Stonewall => job.stonewall = self.flag()?,
        }
        Ok(())
    }

    /// Returns the value, which must be there.
    fn text(&self) -> Result<&'l str, FileFormatError> {
        let value = self.value.unwrap_or_default();
        if value.is_empty() {
            let message = format!("`{}` is without a value", self.name);
            let help = format!("write `{}=` and the value", self.name);
            return Err(self.line.error_of(self.name, ErrorKind::Missing, message, help));
        }
        if value.contains("${") {
            let message = format!("{}: {} takes a value from elsewhere", self.name, quoted(value));
            let help = "variables of the environment are not looked at: write the value";
            return Err(self.line.error_of(value, ErrorKind::Refused, message, help));
        }
        Ok(value)
    }

    /// Reads an option that may stand without a value.
    fn flag(&self) -> Result<bool, FileFormatError> {
        match self.value {
            None | Some("1") => Ok(true),
            Some("0") => Ok(false),
            Some(other) => {
                let message = format!("{}: {} is neither 0 nor 1", self.name, quoted(other));
                let help = format!("write `{}` alone, or with 0 or 1", self.name);
                Err(self.line.error_of(other, ErrorKind::Value, message, help))
            }
        }
    }

    /// Reads values for reads, writes and trims.
    fn each<T: Clone>(
        &self,
        default: &T,
        parse: impl Fn(&'l str) -> Result<T, FileFormatError>,
    ) -> Result<PerDirection<T>, FileFormatError> {
        PerDirection::parse(self.line, self.text()?, default, parse)
    }

    /// Reads a number of bytes, 1 or more.
    fn bytes(&self, base: KbBase, text: &str) -> Result<u64, FileFormatError> {
        base.number_within(self.line, text, self.name, 1, u32::MAX.into())
    }

    /// Reads a rate; 0 means none.
    fn limit(&self, base: KbBase, text: &str) -> Result<Option<u64>, FileFormatError> {
        let number = base.number(self.line, text, self.name)?;
        Ok((number > 0).then_some(number))
    }

    fn count(&self, base: KbBase, most: u64) -> Result<u64, FileFormatError> {
        base.number_within(self.line, self.text()?, self.name, 1, most)
    }

    fn time_us(&self, unitless: Unitless) -> Result<u64, FileFormatError> {
        duration_us(self.line, self.text()?, self.name, unitless)
    }

    fn block_size_range(&self, base: KbBase, text: &str) -> Result<BlockSizes, FileFormatError> {
        let Some((one, other)) = text.split_once(['-', ':']) else {
            let message = format!("{}: {} is not a range", self.name, quoted(text));
            let help = "write the least and the greatest size, such as 4k-64k";
            return Err(self.line.error_of(text, ErrorKind::Syntax, message, help));
        };
        let (one, other) = (self.bytes(base, one)?, self.bytes(base, other)?);
        // fio accepts them in either order.
        Ok(BlockSizes::Range { least_bytes: one.min(other), most_bytes: one.max(other) })
    }

    fn pattern(&self, base: KbBase) -> Result<Pattern, FileFormatError> {
        let text = self.text()?;
        let (word, modifier) = match text.split_once(':') {
            Some((word, modifier)) => (word, Some(self.modifier(base, modifier)?)),
            None => (text, None),
        };
        let known = PATTERNS.iter().find(|(name, ..)| *name == word);
        let Some((_, direction, random)) = known else {
            return Err(self.not_one_of(word, &PATTERNS.map(|(name, ..)| name)));
        };
        Ok(Pattern { direction: *direction, random: *random, modifier })
    }

    /// Reads what follows the colon of a pattern; negative means backwards.
    fn modifier(&self, base: KbBase, text: &str) -> Result<i64, FileFormatError> {
        let (backwards, digits) = match text.strip_prefix('-') {
            Some(digits) => (true, digits),
            None => (false, text),
        };
        let most = i64::MAX as u64;
        let number = base.number_within(self.line, digits, self.name, 1, most)? as i64;
        Ok(if backwards { -number } else { number })
    }

    fn distribution(&self, base: KbBase) -> Result<PerDirection<Distribution>, FileFormatError> {
        let text = self.text()?;
        let (name, rest) = distribution_name(text);
        match (name, rest) {
            ("zoned" | "zoned_abs", Some(rest)) => {
                let absolute = name == "zoned_abs";
                let parse = |text| zones(self.line, text, absolute, base);
                PerDirection::parse(self.line, rest, &Distribution::Uniform, parse)
            }
            ("zoned" | "zoned_abs", None) => {
                let message = format!("random_distribution: {name} is without its zones");
                let help =
                    format!("write shares of accesses and sizes, such as {name}:60/10:40/90");
                Err(self.line.error_of(text, ErrorKind::Missing, message, help))
            }
            _ => distribution(self.line, text).map(PerDirection::same),
        }
    }

    fn not_one_of(&self, word: &str, known: &[&'static str]) -> FileFormatError {
        let otherwise = format!("write one of {}", known.join(", "));
        self.unknown_name(word, known.iter().copied(), &otherwise)
    }

    /// Returns the error for a value that is not among `known`. `otherwise` is the remedy if none of them is near.
    fn unknown_name(
        &self,
        word: &str,
        known: impl IntoIterator<Item = &'static str>,
        otherwise: &str,
    ) -> FileFormatError {
        let message = format!("{}: {} is not one of its values", self.name, quoted(word));
        let help = did_you_mean(word, known, otherwise);
        self.line.error_of(word, ErrorKind::UnknownName, message, help)
    }
}

const PATTERNS: [(&str, PatternDirection, bool); 11] = [
    ("read", PatternDirection::Read, false),
    ("write", PatternDirection::Write, false),
    ("trim", PatternDirection::Trim, false),
    ("randread", PatternDirection::Read, true),
    ("randwrite", PatternDirection::Write, true),
    ("randtrim", PatternDirection::Trim, true),
    ("rw", PatternDirection::ReadWrite, false),
    ("readwrite", PatternDirection::ReadWrite, false),
    ("randrw", PatternDirection::ReadWrite, true),
    ("trimwrite", PatternDirection::TrimWrite, false),
    ("randtrimwrite", PatternDirection::TrimWrite, true),
];
