//! The processor of a controller.

use toml::de::DeValue;

use crate::fields::{
    Around, Field, Fields, Own, Section, Slot, Table, Text, Words, cost, count, own, whole_percent,
};
use crate::setting_value::SettingValue;
use crate::value::{self, Reading};

/// The processor of each of an array's controllers: what work costs it, and its cores.
#[derive(Debug, Clone, Default, PartialEq)]
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

/// Most cores of a controller.
pub(crate) const MOST_CORES: u64 = 1_024;

impl Words for ProcessorWork {
    const WORDS: &'static [(&'static str, Self)] = &[
        ("operations", Self::Operations),
        ("commands", Self::Commands),
        ("network", Self::Network),
        ("allocation", Self::Allocation),
        ("frees", Self::Frees),
        ("parity", Self::Parity),
        ("scans", Self::Scans),
    ];
}

const DOMAINS_EXAMPLE: &str =
    "write serial_domains = [[\"operations\", \"commands\"]], or [] if nothing is serialized";

impl Table for Processor {
    fn fields(&mut self, f: &mut Fields<'_>) {
        f.value(
            cost("host_operation", "Per host operation. Required unless the controller has it.")
                .required_unless("\"76 us\"")
                .fit(0),
            &mut self.host_operation_ns,
        );
        f.value(
            cost(
                "spindle_command",
                "Per command to a spindle. Required unless the controller has it.",
            )
            .required_unless("\"110 us\"")
            .fit(1),
            &mut self.spindle_command_ns,
        );
        f.value(
            cost(
                "per_kib",
                "Per KiB moved between host and memory, or between memory and spindle. Required unless the controller has \
                 it.",
            )
            .required_unless("\"0.5 us\"")
            .fit(2),
            &mut self.per_kib_ns,
        );
        f.value(
            whole_percent(
                "write_back_percent",
                "Share of the processor that write-back has while host operations wait for it too, a whole percentage; 0 \
                 serves all work in order of arrival.",
            )
            .default("50", "published: Data ONTAP weighs system operations against a user's equally"),
            &mut self.write_back_percent,
        );
        // Results of arrays with one core list what they always did.
        let has_several = self.cores > 1;
        f.value(
            count("cores", "Cores of each controller.")
                .at_most(MOST_CORES)
                .default("1", "that of the published arrays")
                .listed(has_several),
            &mut self.cores,
        );
        f.value(
            own(
                "serial_domains",
                "Work of which only one core at a time does any, by domains; work in none is done by any core. Without \
                 it, operations and commands are one domain. Allocation, frees, parity and scans are where commands are, \
                 unless a domain names them. Only with several cores.",
                &SERIAL_DOMAINS,
            )
            .default(
                "[[\"operations\", \"commands\"]]",
                "a filer's: its file system and RAID run on one core at a time, with the network beside",
            )
            .listed(has_several),
            &mut self.serial_domains,
        );
        if let Some((message, help)) = f.context.no_consistency_points {
            for key in ["allocated_block", "freed_block", "metadata_block"] {
                f.refuses(key, message, help);
            }
        } else {
            f.value(
                optional(
                    "allocated_block",
                    "Per block that a consistency point places. Nothing unless given. Only with consistency points.",
                )
                .fit(16),
                &mut self.allocated_block_ns,
            );
            f.value(
                optional(
                    "freed_block",
                    "Per block that becomes free in the aggregate. Nothing unless given. Only with consistency points.",
                )
                .fit(17),
                &mut self.freed_block_ns,
            );
            f.value(
                optional(
                    "metadata_block",
                    "Per metadata block that a consistency point changes. Nothing unless given. Only with consistency \
                     points.",
                )
                .fit(18),
                &mut self.metadata_block_ns,
            );
        }
        f.value(
            optional(
                "parity_per_kib",
                "Per KiB XORed into a parity: of n data blocks of a full stripe, n - 1 for each parity. Nothing unless \
                 given.",
            )
            .fit(4),
            &mut self.parity_per_kib_ns,
        );
        f.value(
            optional(
                "interrupt",
                "The part of spindle_command that is paid once for all commands that complete while the processor is at \
                 one piece of work. Nothing unless given. Only with one core.",
            )
            .fit(5),
            &mut self.interrupt_ns,
        );
    }

    fn check(&self, s: &Section<'_>, _: &Around) {
        if s.gives("serial_domains") && s.is_right("cores") && self.cores == 1 {
            s.problem(
                "serial_domains",
                "one core does one thing at a time in any case",
                "leave the key out, or give cores = 2 or more",
            );
        }
        if s.are_right(&["interrupt", "spindle_command"])
            && self.interrupt_ns > self.spindle_command_ns
        {
            s.problem(
                "interrupt",
                "is more than a whole command costs",
                "give at most spindle_command, of which it is a part",
            );
        }
        if s.are_right(&["interrupt", "cores"]) && self.interrupt_ns > 0.0 && self.cores > 1 {
            s.problem(
                "interrupt",
                "completions are taken together on one core only",
                "leave the key out, or give cores = 1",
            );
        }
    }
}

/// A cost of which nothing is charged unless it is given.
fn optional(key: &'static str, help: &'static str) -> Field {
    cost(key, help).default("\"0 s\"", "unknown: included in the fitted costs").unless_default()
}

static SERIAL_DOMAINS: Own = Own {
    read: serial_domains,
    schema: r#""type": "array", "items": { "type": "array", "minItems": 1, "items": { "enum": ["operations", "commands",
        "network", "allocation", "frees", "parity", "scans"] } }"#,
    takes: "lists of operations, commands, network, allocation, frees, parity, scans",
};

impl Slot for Vec<Vec<ProcessorWork>> {
    fn get(&self) -> Option<SettingValue> {
        let domain = |domain: &Vec<ProcessorWork>| {
            SettingValue::List(domain.iter().map(|work| work.word().into()).collect())
        };
        Some(SettingValue::List(self.iter().map(domain).collect()))
    }

    fn set(&mut self, value: SettingValue) {
        let SettingValue::List(domains) = value else { return };
        let of_word = |word: SettingValue| {
            let mut work = ProcessorWork::Operations;
            Slot::set(&mut work, word);
            work
        };
        let domains = domains.into_iter().map(|domain| match domain {
            SettingValue::List(words) => words.into_iter().map(of_word).collect(),
            _ => Vec::new(),
        });
        *self = domains.collect();
    }
}

fn serial_domains(value: &DeValue<'_>) -> Reading<SettingValue> {
    let Some(domains) = value.as_array() else {
        let message = format!("is {}, not an array of arrays", value::type_of(value));
        return value::refuse(message, DOMAINS_EXAMPLE);
    };
    let known: Vec<&str> = ProcessorWork::WORDS.iter().map(|(word, _)| *word).collect();
    let mut all: Vec<&str> = Vec::new();
    let mut read = Vec::new();
    for domain in domains {
        let Some(words) = domain.get_ref().as_array().filter(|words| !words.is_empty()) else {
            return value::refuse("has a domain that is not an array of words", DOMAINS_EXAMPLE);
        };
        let mut of_domain = Vec::new();
        for word in words {
            let word = value::word(word.get_ref(), &known)?;
            if all.contains(&word) {
                return value::refuse(
                    format!("has `{word}` twice"),
                    "give each kind of work to one domain",
                );
            }
            all.push(word);
            of_domain.push(word.into());
        }
        read.push(SettingValue::List(of_domain));
    }
    Ok(SettingValue::List(read))
}
