//! The processor of a controller.

use toml::de::DeValue;

use crate::section::Section;
use crate::value::{self, ValueError};

/// The processor of each of an array's controllers: what work costs it, and its cores.
#[derive(Debug, Clone, PartialEq)]
pub struct Processor {
    /// For a host operation, in nanoseconds.
    pub host_operation_ns: f64,
    /// For a command to a spindle, in nanoseconds.
    pub spindle_command_ns: f64,
    /// For each KiB moved between host and memory or memory and spindle, in nanoseconds.
    pub per_kib_ns: f64,
    /// The share that write-back has while host operations wait, in percent; 0 serves all work in order of arrival.
    pub write_back_percent: u8,
    /// Its cores.
    pub cores: u32,
    /// Work of which only one core at a time does any, by domains. With one core there is nothing to tell apart.
    pub serial_domains: Vec<Vec<ProcessorWork>>,
    /// For each block that a consistency point places, in nanoseconds.
    pub allocated_block_ns: f64,
    /// For each block that becomes free in the aggregate, in nanoseconds.
    pub freed_block_ns: f64,
    /// For each metadata block that a consistency point changes, in nanoseconds.
    pub metadata_block_ns: f64,
    /// For each KiB that is XORed into a parity, in nanoseconds.
    pub parity_per_kib_ns: f64,
    /// The part of a command's cost that is paid once for all commands that complete together, in nanoseconds.
    pub interrupt_ns: f64,
}

/// A kind of a processor's work.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ProcessorWork {
    /// Host operations, with the KiB that they move.
    Operations,
    /// Commands to spindles, with the KiB that they move.
    Commands,
    /// What a protocol costs.
    Network,
    /// Placing the blocks of a consistency point, and changing metadata.
    Allocation,
    /// Freeing blocks.
    Frees,
    /// Computing parity.
    Parity,
    /// Background scans.
    Scans,
}

/// The share of write-back where a scenario gives none: equal to the host's, as Data ONTAP weighs system operations
/// against a user's unless told otherwise.
const WRITE_BACK_PERCENT: u8 = 50;

/// Most cores of a controller.
const MOST_CORES: u32 = 1_024;

/// The kinds of work as scenarios write them.
pub(crate) const WORK_WORDS: [(&str, ProcessorWork); 7] = [
    ("operations", ProcessorWork::Operations),
    ("commands", ProcessorWork::Commands),
    ("network", ProcessorWork::Network),
    ("allocation", ProcessorWork::Allocation),
    ("frees", ProcessorWork::Frees),
    ("parity", ProcessorWork::Parity),
    ("scans", ProcessorWork::Scans),
];

const DOMAINS_EXAMPLE: &str =
    "write serial_domains = [[\"operations\", \"commands\"]], or [] if nothing is serialized";

impl Processor {
    /// The keys of costs that nothing is charged for unless they are given. The first three are of consistency points.
    pub(crate) const OPTIONAL_COSTS: [&str; 5] =
        ["allocated_block", "freed_block", "metadata_block", "parity_per_kib", "interrupt"];

    /// Those that an array has.
    pub(crate) fn optional_costs(is_in_place: bool) -> &'static [&'static str] {
        match is_in_place {
            true => &Self::OPTIONAL_COSTS[3..],
            false => &Self::OPTIONAL_COSTS,
        }
    }

    /// What these are, in their order.
    pub(crate) fn optional_costs_ns(&self) -> [f64; 5] {
        [
            self.allocated_block_ns,
            self.freed_block_ns,
            self.metadata_block_ns,
            self.parity_per_kib_ns,
            self.interrupt_ns,
        ]
    }

    /// Refuses what only consistency points cost, in an array that updates in place.
    pub(crate) fn refuse_in_place(section: &Section<'_>) {
        for key in &Self::OPTIONAL_COSTS[..3] {
            if section.gives(key) {
                section.problem(
                    key,
                    "an array that updates in place has no consistency points",
                    "leave it out: parity_per_kib and interrupt are what such an array may have",
                );
            }
        }
    }

    /// The serial domains where a scenario gives none: those of a filer, whose file system and RAID run on one core at
    /// a time, with the network beside.
    pub(crate) fn serial_domains_of_a_filer() -> Vec<Vec<ProcessorWork>> {
        vec![vec![ProcessorWork::Operations, ProcessorWork::Commands]]
    }

    pub(crate) fn read(mut section: Section<'_>, is_in_place: bool) -> Option<Self> {
        let host = section.required("host_operation", "\"76 us\"", value::cost_nanoseconds);
        let spindle = section.required("spindle_command", "\"110 us\"", value::cost_nanoseconds);
        let per_kib = section.required("per_kib", "\"0.5 us\"", value::cost_nanoseconds);
        let write_back_percent =
            section.optional_or("write_back_percent", WRITE_BACK_PERCENT, value::whole_percent);
        let cores = section.optional_or("cores", 1, cores);
        let domains = Self::serial_domains_of_a_filer();
        let serial_domains = section.optional_or("serial_domains", domains, serial_domains);
        if section.gives("serial_domains") && cores == Some(1) {
            section.problem(
                "serial_domains",
                "one core does one thing at a time in any case",
                "leave the key out, or give cores = 2 or more",
            );
        }
        let [allocated_block, freed_block, metadata_block, parity_per_kib, interrupt] =
            Self::OPTIONAL_COSTS.map(|key| section.optional_or(key, 0.0, value::cost_nanoseconds));
        if is_in_place {
            Self::refuse_in_place(&section);
        }
        if let (Some(interrupt), Some(spindle)) = (interrupt, spindle)
            && interrupt > spindle
        {
            section.problem(
                "interrupt",
                "is more than a whole command costs",
                "give at most spindle_command, of which it is a part",
            );
        }
        if let (Some(interrupt), Some(cores)) = (interrupt, cores)
            && interrupt > 0.0
            && cores > 1
        {
            section.problem(
                "interrupt",
                "completions are taken together on one core only",
                "leave the key out, or give cores = 1",
            );
        }
        section.finish();
        Some(Self {
            host_operation_ns: host?,
            spindle_command_ns: spindle?,
            per_kib_ns: per_kib?,
            write_back_percent: write_back_percent?,
            cores: cores?,
            serial_domains: serial_domains?,
            allocated_block_ns: allocated_block?,
            freed_block_ns: freed_block?,
            metadata_block_ns: metadata_block?,
            parity_per_kib_ns: parity_per_kib?,
            interrupt_ns: interrupt?,
        })
    }
}

fn cores(value: &DeValue<'_>) -> Result<u32, ValueError> {
    match value::positive_count(value)? {
        cores if cores > MOST_CORES => {
            value::refuse(format!("is {cores}"), format!("give at most {MOST_CORES}"))
        }
        cores => Ok(cores),
    }
}

fn serial_domains(value: &DeValue<'_>) -> Result<Vec<Vec<ProcessorWork>>, ValueError> {
    let Some(domains) = value.as_array() else {
        let message = format!("is {}, not an array of arrays", value::type_of(value));
        return value::refuse(message, DOMAINS_EXAMPLE);
    };
    let mut read: Vec<Vec<ProcessorWork>> = Vec::new();
    for domain in domains {
        let Some(words) = domain.get_ref().as_array().filter(|words| !words.is_empty()) else {
            return value::refuse("has a domain that is not an array of words", DOMAINS_EXAMPLE);
        };
        let mut kinds = Vec::new();
        for word in words {
            let kind = value::choice(word.get_ref(), &WORK_WORDS)?;
            if kinds.contains(&kind) || read.iter().any(|domain| domain.contains(&kind)) {
                let word = word.get_ref().as_str().unwrap_or_default();
                return value::refuse(
                    format!("has `{word}` twice"),
                    "give each kind of work to one domain",
                );
            }
            kinds.push(kind);
        }
        read.push(kinds);
    }
    Ok(read)
}
