//! Job files: sections of options, resolved into jobs.

use std::fs::File;
use std::io::{BufRead, BufReader};
use std::path::Path;
use std::sync::Arc;

use crate::text::{
    ErrorKind, FormatError, Limits, Line, Lines, Place, did_you_mean, nearest, quoted, unsigned,
};

use super::duration::{Unitless, duration_us};
use super::option::{self, Treatment};
use super::size::{KbBase, percent};
use super::split::{block_sizes, distribution, distribution_name, zones};
use super::{
    BlockSizes, Distribution, Job, Pattern, PatternDirection, PerDirection, RateProcess, ThinkTime,
};

/// fio runs no more.
const MOST_JOBS: usize = 4096;
/// fio cuts longer ones.
const LONGEST_NAME_BYTES: usize = 255;

/// A job file.
///
/// Every option is in one of three places: in [`JobFile::jobs`], with its defaults and those of
/// the `[global]` sections resolved; among [`JobFile::ignored`], because it changes nothing that is
/// simulated; or among [`JobFile::refused`], because it would change the workload and is not
/// supported. An option that fio does not have is an error.
///
/// ```
/// use strewn_formats::fio::{BlockSizes, JobFile};
///
/// let text = "\
/// [global]
/// ioengine=libaio
/// direct=1
/// size=100g
/// iodepth=32
/// [mixed]
/// rw=randrw
/// rwmixread=80
/// bssplit=4k/60:8k/40
/// [log]
/// stonewall
/// rw=write
/// fsync=1
/// ";
/// let file = JobFile::parse(text, "mixed.fio")?;
/// assert_eq!(file.jobs[0].read_percent, 80);
/// assert_eq!(file.jobs[1].block_sizes.write, BlockSizes::Fixed(4096));
/// assert_eq!(file.groups().count(), 2);
/// // `direct` is ignored, `fsync` is not to be.
/// assert_eq!(file.ignored[0].name, "direct");
/// let error = file.refuse_unsupported().unwrap_err();
/// assert_eq!(error.problem(), "mixed.fio:13:1: `fsync` is not supported");
/// # Ok::<(), strewn_formats::FormatError>(())
/// ```
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct JobFile {
    /// In the order of the file.
    pub jobs: Vec<Job>,
    /// Options without effect on a simulation, in the order of the file.
    pub ignored: Vec<OptionNote>,
    /// Options that would change the workload and are not supported, in the order of the file.
    pub refused: Vec<OptionNote>,
}

/// An option that is not in a [`Job`].
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct OptionNote {
    /// The option.
    pub name: String,
    /// Its value, empty if it has none.
    pub value: String,
    /// The section that it is in.
    pub section: String,
    /// Where it is.
    pub place: Place,
    /// Why it is not in the job.
    pub reason: &'static str,
}

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

impl JobFile {
    /// Reads a job file in `text`, which errors call `name`.
    ///
    /// # Errors
    ///
    /// [`FormatError`] at the first thing that fio would not take, and at `include`.
    pub fn parse(text: &str, name: &str) -> Result<Self, FormatError> {
        Self::read(text.as_bytes(), Some(name))
    }

    /// Reads the job file at `path`.
    ///
    /// # Errors
    ///
    /// [`FormatError`] when it cannot be read, or as [`JobFile::parse`] has it.
    pub fn load(path: impl AsRef<Path>) -> Result<Self, FormatError> {
        let path = path.as_ref();
        let name = path.display().to_string();
        let file = File::open(path).map_err(|error| {
            let place = Place::new(Some(Arc::from(name.as_str())), 0, 0);
            let message = format!("cannot read: {error}");
            FormatError::new(ErrorKind::Io, place, message, "give the path of a job file of fio")
                .caused_by(error)
        })?;
        Self::read(BufReader::new(file), Some(&name))
    }

    /// Reads a job file, which errors call `name`.
    ///
    /// # Errors
    ///
    /// As [`JobFile::parse`] has it, and when the reader fails.
    pub fn read(reader: impl BufRead, name: Option<&str>) -> Result<Self, FormatError> {
        let file: Option<Arc<str>> = name.map(Arc::from);
        let sections = sections(reader, &file)?;
        let mut result = Self { jobs: Vec::new(), ignored: Vec::new(), refused: Vec::new() };
        let mut global = Resolved { job: Job::defaults(), base: KbBase::Binary };
        for section in &sections {
            if section.is_global() {
                global = result.resolve(section, global, &file)?;
                continue;
            }
            let mut own = global.clone();
            own.job.name.clone_from(&section.name);
            own.job.line = section.number;
            let job = result.resolve(section, own, &file)?.job;
            result.jobs.push(job);
        }
        if result.jobs.is_empty() {
            return Err(FormatError::new(
                ErrorKind::Missing,
                Place::new(file, 0, 0),
                "there is no job",
                "begin one with its name in brackets, such as [random-reads]",
            ));
        }
        Ok(result)
    }

    /// An error that names the first option that is refused, if any is.
    ///
    /// # Errors
    ///
    /// [`FormatError`] of kind [`ErrorKind::Refused`] when there is one.
    pub fn refuse_unsupported(&self) -> Result<(), FormatError> {
        let Some(note) = self.refused.first() else { return Ok(()) };
        Err(FormatError::new(
            ErrorKind::Refused,
            note.place.clone(),
            format!("`{}` is not supported", note.name),
            format!("{}; take it out of the job to go without", note.reason),
        ))
    }

    /// The jobs that run side by side, group after group: a group ends before a job with
    /// `stonewall`.
    pub fn groups(&self) -> impl Iterator<Item = &[Job]> {
        self.jobs.chunk_by(|_, next| !next.stonewall)
    }

    /// A section's options upon those of the sections above it.
    fn resolve(
        &mut self,
        section: &Section,
        mut resolved: Resolved,
        file: &Option<Arc<str>>,
    ) -> Result<Resolved, FormatError> {
        // It holds for the whole section, wherever it stands in it, as in fio.
        for raw in &section.options {
            let line = Line::new(&raw.text, raw.number, file);
            let (name, value) = name_and_value(line.text);
            if let ("kb_base", Some(value)) = (name, value) {
                resolved.base = KbBase::parse(&line, value)?;
            }
        }
        for raw in &section.options {
            let line = Line::new(&raw.text, raw.number, file);
            self.apply(section, &mut resolved, &line)?;
        }
        let Job { think_time, alignment_bytes, .. } = &resolved.job;
        debug_assert!(think_time.is_none_or(|think_time| think_time.accesses > 0));
        debug_assert!(alignment_bytes.read != Some(0));
        Ok(resolved)
    }

    fn apply(
        &mut self,
        section: &Section,
        resolved: &mut Resolved,
        line: &Line<'_>,
    ) -> Result<(), FormatError> {
        let (name, value) = name_and_value(line.text);
        let Some(treatment) = option::treatment(name) else { return Err(unknown(line, name)) };
        let note = |reason| OptionNote {
            name: name.to_owned(),
            value: value.unwrap_or_default().to_owned(),
            section: section.name.clone(),
            place: line.place_of(name),
            reason,
        };
        match treatment {
            Treatment::Ignored(reason) => {
                // Several names are several files, and accesses go to each in turn.
                let several = name == "filename" && names_several_files(value.unwrap_or_default());
                if several {
                    self.refused.push(note("it names several files; a job accesses one LUN"));
                } else {
                    self.ignored.push(note(reason));
                }
            }
            Treatment::Refused(reason, off) => {
                if off.contains(&value.unwrap_or("1")) {
                    self.ignored.push(note("its value switches it off"));
                } else {
                    self.refused.push(note(reason));
                }
            }
            Treatment::Mapped(apply) => Setting { line, name, value }.set(apply, resolved)?,
        }
        Ok(())
    }
}

/// A job in the making.
#[derive(Clone)]
struct Resolved {
    job: Job,
    base: KbBase,
}

/// A section as it stands.
struct Section {
    name: String,
    number: u64,
    options: Vec<RawOption>,
}

impl Section {
    fn is_global(&self) -> bool {
        self.name == "global"
    }
}

struct RawOption {
    number: u64,
    text: String,
}

fn sections(reader: impl BufRead, file: &Option<Arc<str>>) -> Result<Vec<Section>, FormatError> {
    let mut lines = Lines::new(reader, file.clone(), Limits::CONFIGURATION)?;
    let mut sections: Vec<Section> = Vec::new();
    while let Some(line) = lines.next_line()? {
        let text = line.text.trim();
        if text.is_empty() || text.starts_with([';', '#']) {
            continue;
        }
        if let Some(rest) = text.strip_prefix('[') {
            let Some((name, rest)) = rest.rsplit_once(']') else {
                let help = "write the name of the job in brackets, such as [random-reads]";
                let message = "the bracket is not closed";
                return Err(line.error_of(text, ErrorKind::Syntax, message, help));
            };
            if !without_comment(rest).is_empty() || name.is_empty() {
                let message = "the section is not a name in brackets";
                let help = "write the name of the job in brackets, such as [random-reads]";
                return Err(line.error_of(text, ErrorKind::Syntax, message, help));
            }
            if sections.len() > MOST_JOBS {
                let message = format!("there are more than {MOST_JOBS} jobs");
                let help = "split the file; fio runs no more either";
                return Err(line.error(ErrorKind::Limit, message, help));
            }
            if name.len() > LONGEST_NAME_BYTES {
                let message = format!("the name is longer than {LONGEST_NAME_BYTES} bytes");
                return Err(line.error_of(name, ErrorKind::Limit, message, "shorten it"));
            }
            let (name, number) = (name.to_owned(), line.number);
            sections.push(Section { name, number, options: Vec::new() });
            continue;
        }
        if text.split_ascii_whitespace().next() == Some("include") {
            return Err(line.error_of(
                text,
                ErrorKind::Refused,
                "other files are not included",
                "put the lines of the other file in its place",
            ));
        }
        match sections.last_mut() {
            Some(section) => {
                section.options.push(RawOption { number: line.number, text: text_of(&line) });
            }
            None => {
                return Err(line.error_of(
                    text,
                    ErrorKind::Syntax,
                    "an option stands before the first section",
                    "begin the file with [global] or the name of a job in brackets",
                ));
            }
        }
    }
    Ok(sections)
}

/// With its indentation, by which columns are counted.
fn text_of(line: &Line<'_>) -> String {
    line.text.trim_end().to_owned()
}

/// The name before the first `=`, and what follows it up to a comment.
fn name_and_value(text: &str) -> (&str, Option<&str>) {
    match text.split_once('=') {
        Some((name, value)) => (name.trim(), Some(without_comment(value))),
        None => (without_comment(text), None),
    }
}

/// Comments are lines of their own, but fio overlooks one behind a value too.
fn without_comment(text: &str) -> &str {
    let comment = text.char_indices().find(|(at, c)| {
        let after_space = text[..*at].chars().next_back().is_none_or(char::is_whitespace);
        [';', '#'].contains(c) && after_space
    });
    comment.map_or(text, |(at, _)| &text[..at]).trim()
}

/// A colon parts names, unless a backslash stands before it.
fn names_several_files(value: &str) -> bool {
    value.replace("\\:", "").contains(':')
}

fn unknown(line: &Line<'_>, name: &str) -> FormatError {
    let message = format!("{} is not an option of fio", quoted(name));
    let lower = name.to_ascii_lowercase();
    let help = if option::treatment(&lower).is_some() {
        format!("options are in small letters: write `{lower}`")
    } else if let Some(near) = nearest(&lower, option::names()) {
        format!("did you mean `{near}`?")
    } else {
        "check it against `fio --cmdhelp=all`, or take the line out".to_owned()
    };
    line.error_of(name, ErrorKind::UnknownName, message, help)
}

/// An option that sets a field of a job.
struct Setting<'l> {
    line: &'l Line<'l>,
    name: &'l str,
    value: Option<&'l str>,
}

impl<'l> Setting<'l> {
    fn set(&self, apply: Apply, resolved: &mut Resolved) -> Result<(), FormatError> {
        let base = resolved.base;
        let job = &mut resolved.job;
        match apply {
            Apply::KbBase => {
                self.text()?;
            }
            Apply::Name => job.name = self.text()?.to_owned(),
            Apply::IoEngine => job.io_engine = Some(self.text()?.to_owned()),
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
                // fio takes 0 for none.
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

    /// The value, which must be there.
    fn text(&self) -> Result<&'l str, FormatError> {
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

    /// Of an option that may stand without a value.
    fn flag(&self) -> Result<bool, FormatError> {
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

    /// Values for reads, writes and trims.
    fn each<T: Clone>(
        &self,
        default: &T,
        parse: impl Fn(&'l str) -> Result<T, FormatError>,
    ) -> Result<PerDirection<T>, FormatError> {
        PerDirection::parse(self.line, self.text()?, default, parse)
    }

    /// 1 or more bytes.
    fn bytes(&self, base: KbBase, text: &str) -> Result<u64, FormatError> {
        base.number_within(self.line, text, self.name, 1, u32::MAX.into())
    }

    /// A rate; 0 is none.
    fn limit(&self, base: KbBase, text: &str) -> Result<Option<u64>, FormatError> {
        let number = base.number(self.line, text, self.name)?;
        Ok((number > 0).then_some(number))
    }

    fn count(&self, base: KbBase, most: u64) -> Result<u64, FormatError> {
        base.number_within(self.line, self.text()?, self.name, 1, most)
    }

    fn time_us(&self, unitless: Unitless) -> Result<u64, FormatError> {
        duration_us(self.line, self.text()?, self.name, unitless)
    }

    fn block_size_range(&self, base: KbBase, text: &str) -> Result<BlockSizes, FormatError> {
        let Some((one, other)) = text.split_once(['-', ':']) else {
            let message = format!("{}: {} is not a range", self.name, quoted(text));
            let help = "write the least and the greatest size, such as 4k-64k";
            return Err(self.line.error_of(text, ErrorKind::Syntax, message, help));
        };
        let (one, other) = (self.bytes(base, one)?, self.bytes(base, other)?);
        // fio takes them either way round.
        Ok(BlockSizes::Range { least_bytes: one.min(other), most_bytes: one.max(other) })
    }

    fn pattern(&self, base: KbBase) -> Result<Pattern, FormatError> {
        let text = self.text()?;
        let (word, modifier) = match text.split_once(':') {
            Some((word, modifier)) => {
                let most = u64::MAX;
                (word, Some(base.number_within(self.line, modifier, self.name, 1, most)?))
            }
            None => (text, None),
        };
        let known = PATTERNS.iter().find(|(name, ..)| *name == word);
        let Some((_, direction, random)) = known else {
            return Err(self.not_one_of(word, &PATTERNS.map(|(name, ..)| name)));
        };
        Ok(Pattern { direction: *direction, random: *random, modifier })
    }

    fn distribution(&self, base: KbBase) -> Result<PerDirection<Distribution>, FormatError> {
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

    fn not_one_of(&self, word: &str, known: &[&str]) -> FormatError {
        let message = format!("{}: {} is not one of its values", self.name, quoted(word));
        let otherwise = format!("write one of {}", known.join(", "));
        let help = did_you_mean(word, known.iter().copied(), &otherwise);
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
