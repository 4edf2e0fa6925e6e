//! The columns of tables with a row for each segment. Each is declared once, in [`COLUMNS`]: tables on the terminal, on
//! the page and in files, figures of sweeps and claims, and the glossary in `docs/report.md` follow from that.

mod builder;
mod declared;
mod glossary;

use crate::data::array::ArrayResults;
use crate::data::machine::CoresFigures;
use crate::data::segment::Segment;
use crate::data::workload::{OperationFigures, WorkloadFigures};

pub use declared::COLUMNS;
pub use glossary::glossary;

/// A column of tables with a row for each segment.
#[derive(Debug)]
pub struct Column {
    /// Its name in CSV, Parquet and `--columns`. It ends in the unit.
    pub key: &'static str,
    /// What its values are in.
    pub unit: Unit,
    /// Decimals of its values in tables for a reader; one more of response times of files and flash.
    pub decimals: usize,
    /// The parts of runs that have it.
    pub group: Group,
    /// The tables for readers that have it, if its group is there.
    pub tables: &'static [Table],
    /// Whether tables in files have it without being asked.
    pub is_in_files: bool,
    /// Which columns leave a table first that is too wide for a terminal: those with the largest number; 0 stays.
    pub yields: u8,
    /// Whether it is marked where drives may starve commands.
    pub may_starve: bool,
    meaning: &'static str,
    headings: Option<[&'static str; 2]>,
    source: Source,
    pub(crate) figure: Option<Figure>,
}

/// Where a value is in a segment.
#[derive(Debug)]
struct Source {
    /// The field as Rust reads it; empty if the value is computed.
    field: &'static str,
    value: Value,
    /// Whether each workload has one, at the same place.
    is_of_workloads: bool,
}

#[derive(Debug)]
enum Value {
    Words(fn(&Place<'_>) -> String),
    Number(fn(&Place<'_>) -> Option<f64>),
}

/// What a column is as a figure of sweeps, claims and published rows.
#[derive(Debug)]
pub(crate) struct Figure {
    pub(crate) name: &'static str,
    pub(crate) over_segments: OverSegments,
    pub(crate) scales: bool,
    /// What it is where the results have none.
    pub(crate) if_absent: Option<f64>,
}

/// How a figure of several segments follows from those of each.
#[derive(Clone, Copy, Debug)]
pub(crate) enum OverSegments {
    MeanOverTime,
    MeanOfOperations,
    /// The mean by these weights.
    Weighted(fn(&Place<'_>) -> f64),
    Longest,
    Sum,
}

/// What a value is taken from.
#[derive(Clone, Copy)]
pub struct Place<'a> {
    /// The array.
    pub array: &'a ArrayResults,
    /// The segment.
    pub segment: &'a Segment,
    /// The workload, if only its part is meant.
    pub workload: Option<&'a WorkloadFigures>,
}

/// What the values of a column are in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unit {
    /// Nothing: words and plain numbers.
    None,
    /// A score from 0 to 1.
    Score,
    /// Something for each host operation.
    PerOp,
    /// A number of things, which can be added up over segments.
    Count,
    /// Host operations per second.
    Iops,
    /// The same for each spindle to be bought.
    IopsPerSpindle,
    /// 1,000,000 bytes per second.
    MbPerS,
    /// 1,048,576 bytes per second.
    MibPerS,
    /// Milliseconds of a response.
    ResponseMs,
    /// Other milliseconds.
    Ms,
    /// Seconds.
    Seconds,
    /// Percent.
    Percent,
    /// A share from 0 to 1, which is percent on a terminal and as a figure.
    Share,
    /// Processor cores.
    Cores,
    /// Spindle commands.
    Commands,
    /// KiB.
    Kib,
    /// MiB.
    Mib,
    /// GiB.
    Gib,
}

/// A part of results that not every run has, in the order in which tables in files have it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Group {
    /// What every run has.
    Always,
    /// Spindles failed.
    Failures,
    /// Arrays have snapshots.
    Snapshots,
    /// Something lies between hosts and arrays.
    Machine,
    /// Hosts have page caches.
    PageCache,
    /// Clients compute parity.
    ClientRaid,
    /// Arrays read ahead.
    ReadAhead,
    /// The run has phases.
    Phases,
    /// Arrays relocate blocks.
    Relocation,
    /// A ZFS pool has its FRAG.
    Frag,
    /// Special vdevs of a ZFS pool are full.
    Spills,
    /// A ZFS pool has an L2ARC.
    L2arc,
    /// A ZFS pool trims what is freed.
    Trim,
    /// An array in place destages stripes together.
    StripeDestages,
    /// Figures have bands.
    Bands,
    /// Controllers' other work is counted.
    Housekeeping,
}

/// A table for readers with a row for each segment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Table {
    /// That of an array on the terminal.
    Terminal,
    /// The same, if not both published figures and bands take the room.
    TerminalUnlessFull,
    /// The same, if there are no published figures and the array has consistency points.
    TerminalIfRoom,
    /// What the host saw of an array, on the page.
    Host,
    /// What an array did, on the page.
    Array,
    /// The comparison of runs, beside IOPS and mean response time.
    Compare,
    /// One of its own, for all of its group, on the page and, if it is not of one array, on the terminal.
    OfGroup,
}

impl Column {
    /// Returns the column of this key, while the program is compiled: an undeclared key is an error then.
    #[must_use]
    pub const fn declared(key: &str) -> &'static Self {
        let mut position = 0;
        while position < COLUMNS.len() {
            if are_equal(COLUMNS[position].key.as_bytes(), key.as_bytes()) {
                return &COLUMNS[position];
            }
            position += 1;
        }
        panic!("no column of this key is declared")
    }

    /// Returns the column of this key, or of this name as a figure.
    #[must_use]
    pub fn named(name: &str) -> Option<&'static Self> {
        let is_it = |column: &&Self| column.key == name || column.figure_name() == Some(name);
        COLUMNS.iter().find(is_it)
    }

    /// Returns the name of a column that is nearest to a word; none if none is near.
    #[must_use]
    pub fn nearest(word: &str) -> Option<&'static str> {
        let names = COLUMNS.iter().flat_map(|column| [Some(column.key), column.figure_name()]);
        strewn_base::nearest(&word.to_ascii_lowercase(), names.flatten())
    }

    /// Returns the columns of a table, in its order.
    pub fn of_table(table: Table) -> impl Iterator<Item = &'static Self> {
        COLUMNS.iter().filter(move |column| column.tables.contains(&table))
    }

    /// Returns its meaning, for a reader.
    #[must_use]
    pub fn meaning(&self) -> &'static str {
        self.meaning.trim_start()
    }

    /// Returns the number of columns of a table.
    pub(crate) const fn count_of(table: Table) -> usize {
        let (mut count, mut position) = (0, 0);
        while position < COLUMNS.len() {
            let mut tables = COLUMNS[position].tables;
            while let [first, rest @ ..] = tables {
                count += (*first as usize == table as usize) as usize;
                tables = rest;
            }
            position += 1;
        }
        count
    }

    /// Returns the heading on a terminal, in lines.
    #[must_use]
    pub fn short_heading(&self) -> String {
        self.headings.map_or_else(|| self.key.replace('_', "\n"), |[short, _]| short.to_owned())
    }

    /// Returns the heading on a page.
    #[must_use]
    pub fn heading(&self) -> String {
        self.headings.map_or_else(|| self.key.replace('_', " "), |[_, long]| long.to_owned())
    }

    /// Returns whether its values are words.
    #[must_use]
    pub const fn is_words(&self) -> bool {
        matches!(self.source.value, Value::Words(_))
    }

    /// Returns its words at a place; empty for a number.
    #[must_use]
    pub fn words(&self, at: &Place<'_>) -> String {
        match self.source.value {
            Value::Words(words) => words(at),
            Value::Number(_) => String::new(),
        }
    }

    /// Returns its number at a place, as `results.json` has it; none for words, and where there is none.
    #[must_use]
    pub fn number(&self, at: &Place<'_>) -> Option<f64> {
        match self.source.value {
            Value::Words(_) => None,
            Value::Number(number) => number(at),
        }
    }

    /// Returns its number at a place for a reader, who wants a share in percent.
    #[must_use]
    pub fn in_percent(&self, at: &Place<'_>) -> Option<f64> {
        let value = self.number(at)?;
        Some(if self.unit == Unit::Share { 100.0 * value } else { value })
    }

    /// Returns its entry in a table in a file, with all digits; empty where there is none.
    #[must_use]
    pub fn entry(&self, at: &Place<'_>) -> String {
        match self.source.value {
            Value::Words(words) => words(at),
            Value::Number(number) => number(at).map(|it| it.to_string()).unwrap_or_default(),
        }
    }

    /// Returns its place below the segment in `results.json`; none if it is computed.
    #[must_use]
    pub fn path(&self) -> Option<String> {
        let parts = self.source.field.split('.').map(|part| part.trim().trim_end_matches('?'));
        let parts: Vec<&str> = parts.filter(|part| !part.starts_with("as_deref")).collect();
        (!self.source.field.is_empty()).then(|| parts.join("/"))
    }

    /// Returns its name as a figure of sweeps, claims and published rows; none if it is no such figure.
    #[must_use]
    pub fn figure_name(&self) -> Option<&'static str> {
        self.figure.as_ref().map(|figure| figure.name)
    }

    /// Returns whether each workload has one.
    pub const fn is_of_workloads(&self) -> bool {
        self.source.is_of_workloads
    }
}

impl PartialEq for Column {
    fn eq(&self, other: &Self) -> bool {
        self.key == other.key
    }
}

impl Eq for Column {}

const fn are_equal(mut one: &[u8], mut other: &[u8]) -> bool {
    while let ([first, rest @ ..], [second, others @ ..]) = (one, other)
        && *first == *second
    {
        (one, other) = (rest, others);
    }
    one.is_empty() && other.is_empty()
}

impl Unit {
    /// Returns the unit for a reader; empty if there is none.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::None | Self::Score | Self::PerOp | Self::Count => "",
            Self::Iops => "IOPS",
            Self::IopsPerSpindle => "IOPS a spindle",
            Self::MbPerS => "MB/s",
            Self::MibPerS => "MiB/s",
            Self::ResponseMs | Self::Ms => "ms",
            Self::Seconds => "s",
            Self::Percent | Self::Share => "%",
            Self::Cores => "cores",
            Self::Commands => "commands",
            Self::Kib => "KiB",
            Self::Mib => "MiB",
            Self::Gib => "GiB",
        }
    }

    const fn decimals(self) -> usize {
        match self {
            Self::None | Self::Count | Self::Iops => 0,
            Self::Score | Self::Share => 3,
            Self::PerOp | Self::Commands | Self::Cores | Self::Ms => 2,
            _ => 1,
        }
    }
}

impl Group {
    /// Returns whether an array's results have it.
    #[must_use]
    pub fn is_in(self, array: &ArrayResults) -> bool {
        match self {
            Self::Failures => !array.failures.is_empty(),
            Self::Phases => !array.phases.is_empty(),
            group => array.segments.iter().any(|segment| group.is_of(segment)),
        }
    }

    /// Returns whether a segment has it.
    #[must_use]
    pub fn is_of(self, segment: &Segment) -> bool {
        match self {
            Self::Always => true,
            Self::Failures => segment.redundancy.is_some(),
            Self::Snapshots => segment.snapshots.is_some(),
            Self::Machine => segment.machine.is_some(),
            Self::PageCache => segment.page_cache.is_some(),
            Self::ClientRaid => segment.client_raid.is_some(),
            Self::ReadAhead => segment.cache.read_ahead.is_some(),
            Self::Phases => segment.phase.is_some(),
            Self::Relocation => segment.relocation.is_some(),
            Self::Frag => segment.free_space.is_some_and(|space| space.frag_percent.is_some()),
            Self::Spills => segment.pool.is_some_and(|pool| pool.has_spilled()),
            Self::L2arc => segment.pool.is_some_and(|pool| pool.l2arc.is_some()),
            Self::Trim => segment.pool.is_some_and(|pool| pool.trimmed.is_some()),
            Self::StripeDestages => segment.stripe_destages.is_some(),
            Self::Bands => segment.band.is_some(),
            Self::Housekeeping => segment.housekeeping.is_some(),
        }
    }
}

impl Place<'_> {
    fn workloads(&self) -> impl Iterator<Item = &WorkloadFigures> {
        let all = if self.workload.is_some() { &[][..] } else { &self.segment.by_workload };
        self.workload.into_iter().chain(all)
    }

    /// Returns the operations of one direction.
    fn ops(&self, side: fn(&WorkloadFigures) -> &OperationFigures) -> f64 {
        self.workloads().map(|one| side(one).ops).sum::<u64>() as f64
    }

    /// Returns the mean response time of one direction; none if the results do not tell it apart, or it has no
    /// operation.
    fn mean_ms(&self, side: fn(&WorkloadFigures) -> &OperationFigures) -> Option<f64> {
        let sum: f64 = self.workloads().map(side).map(|one| one.ops as f64 * one.mean_ms).sum();
        let ops = self.ops(side);
        (ops > 0.0).then(|| sum / ops)
    }

    fn mib_per_s(&self) -> f64 {
        self.workload.map_or(self.segment.mib_per_s, |of| of.mib_per_s)
    }

    fn iops_per_spindle(&self) -> Option<f64> {
        let purchased = self.array.spindles.purchased;
        let iops = self.workload.map_or(self.segment.iops, |of| of.iops);
        (purchased > 0).then(|| iops / f64::from(purchased))
    }

    fn parity_commands_per_op(&self) -> Option<f64> {
        let commands = &self.segment.spindle_commands;
        self.per_op(commands.parity_update_reads + commands.parity_writes)
    }

    fn cores_busy(&self) -> Option<f64> {
        let controllers = self.segment.machine.as_ref()?.controllers.iter();
        let busy = |cores: Option<&CoresFigures>, share| cores.map_or(share, |cores| cores.busy);
        Some(controllers.map(|one| busy(one.cores.as_ref(), one.utilization)).sum())
    }

    fn busiest_link(&self) -> Option<f64> {
        Some(self.segment.machine.as_ref()?.busiest_link()?.utilization)
    }

    fn blocks_of_host_reads(&self) -> f64 {
        self.segment.cache.host_reads.map_or(0.0, |reads| reads.blocks as f64)
    }

    fn percent_in_consistency_points(&self) -> Option<f64> {
        let ms = self.segment.housekeeping?.checkpoint_ms;
        Some(ms as f64 / (10.0 * self.segment.seconds))
    }

    fn per_op(&self, commands: u64) -> Option<f64> {
        Some(commands as f64 / self.segment.ops.max(1) as f64)
    }
}
