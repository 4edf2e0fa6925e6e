//! Writing a configuration as Iometer does.

use std::fmt::Write as _;
use std::io;

use crate::text::{WriteError, quoted};

use super::{
    AccessSpecification, BarItem, Configuration, DefaultAssignment, Manager, ResultsDisplay,
    TargetSettings, TestSetup, Version, Worker, WorkerCount, WorkerKind,
};

/// Iometer reads lines into 200 bytes.
const LONGEST_LINE_BYTES: usize = 199;
/// Iometer pads columns to this many characters.
const COLUMN: usize = 11;

impl Configuration {
    /// Returns the configuration as text with Windows line ends, as Iometer writes it there. A
    /// configuration read from a version before 1998.05.21 is written as the current one.
    ///
    /// # Errors
    ///
    /// [`WriteError::NotRepresentable`] if a name contains a line end, begins with a quote, has
    /// spaces at an end, or makes a line longer than the 199 bytes that Iometer reads; and if the
    /// lines of an access specification do not sum to 100 % of accesses.
    pub fn to_icf(&self) -> Result<String, WriteError> {
        // Specifications are written with names, which files before that version lack.
        let is_new = self.version >= Version::NAMED_SPECIFICATIONS;
        let version = if is_new { self.version } else { Version::CURRENT };
        let mut text = Text(format!("Version {version}\n"));
        if let Some(setup) = &self.test_setup {
            text.test_setup(setup)?;
        }
        if let Some(display) = &self.results_display {
            text.results_display(display)?;
        }
        if let Some(specifications) = &self.access_specifications {
            text.section("ACCESS SPECIFICATIONS");
            for specification in specifications {
                text.specification(specification)?;
            }
            text.line("'END access specifications");
        }
        if let Some(managers) = &self.managers {
            text.section("MANAGER LIST");
            for manager in managers {
                text.manager(manager)?;
            }
            text.line("'END manager list");
        }
        text.line(format_args!("Version {version}"));
        if let Some(long) = text.0.lines().find(|line| line.len() > LONGEST_LINE_BYTES) {
            return Err(WriteError::not_representable(
                format!("the line {}", quoted(long)),
                format!("Iometer reads lines of up to {LONGEST_LINE_BYTES} bytes; shorten it"),
            ));
        }
        Ok(text.0.replace('\n', "\r\n"))
    }

    /// Writes the configuration in the form of [`Configuration::to_icf`].
    ///
    /// # Errors
    ///
    /// As for [`Configuration::to_icf`], and [`WriteError::Io`] if the output fails.
    pub fn write(&self, mut output: impl io::Write) -> Result<(), WriteError> {
        output.write_all(self.to_icf()?.as_bytes())?;
        Ok(())
    }
}

/// Checks that a name will be read back unchanged.
pub(super) fn name<'n>(what: &str, name: &'n str) -> Result<&'n str, WriteError> {
    let fits = name.trim() == name && !name.starts_with('\'') && !name.contains(['\n', '\r', '\0']);
    if fits {
        return Ok(name);
    }
    Err(WriteError::not_representable(
        format!("{what} {}", quoted(name)),
        "it has a line end in it, a quote at its beginning or spaces at an end; change it",
    ))
}

struct Text(String);

impl Text {
    fn line(&mut self, line: impl std::fmt::Display) {
        // Writing to a string does not fail.
        let _ = writeln!(self.0, "{line}");
    }

    fn section(&mut self, name: &str) {
        // 80 characters, as in Iometer.
        self.line(format_args!("{:=<80}", format!("'{name} ")));
    }

    /// Writes a key and its value.
    fn pair(&mut self, key: &str, value: impl std::fmt::Display) {
        self.line(format_args!("'{key}\n\t{value}"));
    }

    /// Writes headings and values, in columns.
    fn table(&mut self, key: &str, columns: &[(&str, &dyn std::fmt::Display)]) {
        self.line(format_args!("'{key}"));
        let last = columns.len().saturating_sub(1);
        let mut row = |cells: &mut dyn Iterator<Item = String>, start: &str| {
            let padded = cells.enumerate().map(|(at, cell)| match at == last {
                true => cell,
                false => format!("{cell:<COLUMN$}"),
            });
            self.line(format_args!("{start}{}", padded.collect::<String>()));
        };
        row(&mut columns.iter().map(|(heading, _)| (*heading).to_owned()), "'\t");
        row(&mut columns.iter().map(|(_, value)| value.to_string()), "\t");
    }

    fn test_setup(&mut self, setup: &TestSetup) -> Result<(), WriteError> {
        self.section("TEST SETUP");
        self.pair("Test Description", name("the test description", &setup.description)?);
        let time = setup.run_time;
        self.table(
            "Run Time",
            &[("hours", &time.hours), ("minutes", &time.minutes), ("seconds", &time.seconds)],
        );
        self.pair("Ramp Up Time (s)", setup.ramp_up_seconds);
        let count = |count| match count {
            WorkerCount::OnePerProcessor => "NUMBER_OF_CPUS".to_owned(),
            WorkerCount::Fixed(workers) => workers.to_string(),
        };
        self.pair("Default Disk Workers to Spawn", count(setup.disk_workers));
        self.pair("Default Network Workers to Spawn", count(setup.network_workers));
        self.pair("Record Results", setup.record_results.word());
        let cycles =
            [("Worker Cycling", setup.worker_cycling), ("Disk Cycling", setup.target_cycling)];
        for (key, cycling) in cycles {
            let step_type = cycling.step_type.word();
            self.table(
                key,
                &[("start", &cycling.start), ("step", &cycling.step), ("step type", &step_type)],
            );
        }
        let cycling = setup.queue_depth_cycling;
        self.table(
            "Queue Depth Cycling",
            &[
                ("start", &cycling.start),
                ("end", &cycling.end),
                ("step", &cycling.step),
                ("step type", &cycling.step_type.word()),
            ],
        );
        self.pair("Test Type", setup.test_type.word());
        self.line("'END test setup");
        Ok(())
    }

    fn results_display(&mut self, display: &ResultsDisplay) -> Result<(), WriteError> {
        self.section("RESULTS DISPLAY");
        let ResultsDisplay { record_last_update, update_frequency, update_type, .. } = display;
        self.pair(
            "Record Last Update Results,Update Frequency,Update Type",
            format_args!(
                "{},{update_frequency},{}",
                enabled(*record_last_update),
                update_type.word()
            ),
        );
        for bar in &display.bar_charts {
            let number = bar.number;
            match &bar.item {
                BarItem::Statistic(statistic) => self.pair(
                    &format!("Bar chart {number} statistic"),
                    name("the statistic", statistic)?,
                ),
                BarItem::Manager { id, name: manager } => self.pair(
                    &format!("Bar chart {number} manager ID, manager name"),
                    format_args!("{id},{}", name("the manager", manager)?),
                ),
                BarItem::Worker { id, name: worker } => self.pair(
                    &format!("Bar chart {number} worker ID, worker name"),
                    format_args!("{id},{}", name("the worker", worker)?),
                ),
            }
        }
        self.line("'END results display");
        Ok(())
    }

    fn specification(&mut self, specification: &AccessSpecification) -> Result<(), WriteError> {
        let lines = &specification.lines;
        let percent: u32 = lines.iter().map(|line| u32::from(line.percent_of_accesses)).sum();
        if percent != 100 {
            return Err(WriteError::not_representable(
                format!("the access specification {}", quoted(&specification.name)),
                format!("its lines take {percent} % of accesses, and Iometer reads 100 % only"),
            ));
        }
        let (_, assignment) = DefaultAssignment::WORDS[specification.default_assignment.number()];
        self.pair(
            "Access specification name,default assignment",
            format_args!("{},{assignment}", name("the specification", &specification.name)?),
        );
        self.line("'size,% of size,% reads,% random,delay,burst,align,reply");
        for line in lines {
            self.line(format_args!("\t{}", fields(line)));
        }
        Ok(())
    }

    fn manager(&mut self, manager: &Manager) -> Result<(), WriteError> {
        let Manager { id, network_address, workers, .. } = manager;
        let manager = name("the manager", &manager.name)?;
        self.pair("Manager ID, manager name", format_args!("{id},{manager}"));
        self.pair("Manager network address", name("the network address", network_address)?);
        for worker in workers {
            self.worker(worker)?;
        }
        self.line("'End manager");
        Ok(())
    }

    fn worker(&mut self, worker: &Worker) -> Result<(), WriteError> {
        self.pair("Worker", name("the worker", &worker.name)?);
        self.pair("Worker type", worker.kind.word());
        if let Some(settings) = &worker.settings {
            self.settings(settings, worker.kind)?;
        }
        if let Some(assigned) = &worker.assigned_specifications {
            self.line("'Assigned access specs");
            for specification in assigned {
                let specification = name("the specification", specification)?;
                if specification.is_empty() {
                    let why = "a specification without a name cannot be assigned; name it";
                    return Err(WriteError::not_representable("an empty name", why));
                }
                self.line(format_args!("\t{specification}"));
            }
            self.line("'End assigned access specs");
        }
        if let Some(targets) = &worker.targets {
            self.line("'Target assignments");
            for target in targets {
                self.pair("Target", name("the target", &target.name)?);
                self.pair("Target type", target.kind.word());
                if let Some((id, manager)) = &target.manager {
                    self.pair(
                        "Target manager ID, manager name",
                        format_args!("{id},{}", name("the manager", manager)?),
                    );
                }
                self.line("'End target");
            }
            self.line("'End target assignments");
        }
        self.line("'End worker");
        Ok(())
    }

    fn settings(&mut self, settings: &TargetSettings, kind: WorkerKind) -> Result<(), WriteError> {
        self.line("'Default target settings for worker");
        let transactions =
            settings.connection_rate.unwrap_or(settings.idle_transactions_per_connection);
        self.pair(
            "Number of outstanding IOs,test connection rate,transactions per connection,\
             use fixed seed,fixed seed value",
            format_args!(
                "{},{},{transactions},{},{}",
                settings.outstanding_ios,
                enabled(settings.connection_rate.is_some()),
                enabled(settings.fixed_seed.is_some()),
                settings.fixed_seed.unwrap_or(settings.idle_seed),
            ),
        );
        if kind == WorkerKind::Disk {
            let TargetSettings { maximum_size_sectors, starting_sector, data_pattern, .. } =
                settings;
            match data_pattern {
                Some(pattern) => self.pair(
                    "Disk maximum size,starting sector,Data pattern",
                    format_args!("{maximum_size_sectors},{starting_sector},{}", pattern.word()),
                ),
                None => self.pair(
                    "Disk maximum size,starting sector",
                    format_args!("{maximum_size_sectors},{starting_sector}"),
                ),
            }
        }
        if let Some(interface) = &settings.local_network_interface {
            self.pair("Local network interface", name("the network interface", interface)?);
        }
        if let Some(outstanding) = settings.vi_outstanding_ios {
            self.pair("VI outstanding IOs", outstanding);
        }
        self.line("'End default target settings for worker");
        Ok(())
    }
}

fn enabled(is_enabled: bool) -> &'static str {
    if is_enabled { "ENABLED" } else { "DISABLED" }
}

/// Returns the fields of a line of a specification.
pub(super) fn fields(line: &super::AccessLine) -> String {
    format!(
        "{},{},{},{},{},{},{},{}",
        line.bytes,
        line.percent_of_accesses,
        line.read_percent,
        line.random_percent,
        line.delay_ms,
        line.burst_accesses,
        line.alignment_bytes,
        line.reply_bytes
    )
}
