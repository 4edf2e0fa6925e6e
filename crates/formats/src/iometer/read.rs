//! Reading a configuration from its lines.

use std::io::BufRead;
use std::path::Path;

use crate::text::{self, ErrorKind, FileFormatError, Line, did_you_mean, quoted};

use super::cursor::{Cursor, SECTIONS, begins, is_at_section};
use super::read_managers::managers;
use super::read_specifications::{specifications, unnamed_specifications};
use super::{
    BarChart, BarItem, Configuration, Cycling, QueueDepthCycling, RecordResults, ResultsDisplay,
    RunTime, StepType, TestSetup, TestType, UpdateType, Version, WorkerCount,
};

const BARS: u32 = 6;

impl Configuration {
    /// Reads a configuration in `text`. `name` names it in errors.
    ///
    /// # Errors
    ///
    /// [`FileFormatError`] at the first thing that Iometer would not read, or would misread (Iometer
    /// takes `4K` for 4 bytes).
    pub fn parse(text: &str, name: &str) -> Result<Self, FileFormatError> {
        Self::read(text.as_bytes(), Some(name))
    }

    /// Reads the configuration at `path`.
    ///
    /// ```no_run
    /// use strewn_formats::iometer::Configuration;
    ///
    /// let configuration = Configuration::load("file-server.icf")?;
    /// # Ok::<(), strewn_formats::FileFormatError>(())
    /// ```
    ///
    /// # Errors
    ///
    /// [`FileFormatError`] if it cannot be read, or as for [`Configuration::parse`].
    pub fn load(path: impl AsRef<Path>) -> Result<Self, FileFormatError> {
        let name = path.as_ref().display().to_string();
        let help = "give the path of an Iometer configuration, an .icf file";
        Self::read(text::open(path.as_ref(), &name, help)?, Some(&name))
    }

    /// Reads a configuration. `name` names it in errors.
    ///
    /// # Errors
    ///
    /// As for [`Configuration::parse`], and if the reader fails.
    pub fn read(reader: impl BufRead, name: Option<&str>) -> Result<Self, FileFormatError> {
        let mut cursor = Cursor::read(reader, name)?;
        let version = match cursor.next() {
            Some(line) => Version::of_line(&line)?,
            None => {
                return Err(FileFormatError::new(
                    ErrorKind::Missing,
                    cursor.position_of_last(),
                    "the file is empty",
                    "give an Iometer configuration, which begins with `Version 1.1.0`",
                ));
            }
        };
        let mut configuration = Self {
            version,
            test_setup: None,
            results_display: None,
            access_specifications: None,
            managers: None,
        };
        while let Some(line) = cursor.next() {
            let text = line.text.trim();
            let section = SECTIONS.iter().position(|section| begins(text, section));
            let twice = |is_there: bool| match is_there {
                false => Ok(()),
                true => Err(line.error(
                    ErrorKind::Syntax,
                    format!("there is a second section {}", section_name(text)),
                    "take one of the two out",
                )),
            };
            match section {
                Some(0) => {
                    twice(configuration.test_setup.is_some())?;
                    configuration.test_setup = Some(test_setup(&mut cursor)?);
                }
                Some(1) => {
                    twice(configuration.results_display.is_some())?;
                    configuration.results_display = Some(results_display(&mut cursor)?);
                }
                Some(2) => {
                    twice(configuration.access_specifications.is_some())?;
                    let specifications = if version < Version::NAMED_SPECIFICATIONS {
                        unnamed_specifications(&mut cursor)?
                    } else {
                        specifications(&mut cursor)?
                    };
                    configuration.access_specifications = Some(specifications);
                }
                Some(_) => {
                    twice(configuration.managers.is_some())?;
                    configuration.managers = Some(managers(&mut cursor)?);
                }
                None => outside_of_sections(&line)?,
            }
        }
        Ok(configuration)
    }
}

fn section_name(text: &str) -> &str {
    text.trim_start_matches('\'').trim_end_matches('=').trim()
}

/// Accepts comments and the version at the end, but neither a misspelt section nor values.
fn outside_of_sections(line: &Line<'_>) -> Result<(), FileFormatError> {
    let text = line.text.trim();
    if begins(text, "Version") || (text.starts_with('\'') && !text.ends_with("==")) {
        return Ok(());
    }
    let name = section_name(text);
    let known = SECTIONS.map(|section| section.trim_start_matches('\''));
    if text.starts_with('\'') {
        let message = format!("there is no section {}", quoted(name));
        let otherwise = format!("there are {}", known.join(", "));
        let help = did_you_mean(&name.to_ascii_uppercase(), known, &otherwise);
        return Err(line.error_of(text, ErrorKind::UnknownName, message, help));
    }
    Err(line.error_of(
        text,
        ErrorKind::Syntax,
        format!("{} stands outside of the sections", quoted(text)),
        format!("put it into one of {}, or a ' before it", known.join(", ")),
    ))
}

fn test_setup(cursor: &mut Cursor) -> Result<TestSetup, FileFormatError> {
    const SECTION: &str = "TEST SETUP";
    let mut setup = TestSetup::default();
    loop {
        let Some(line) = cursor.peek() else {
            return Err(cursor.ended_within(SECTION, "'END test setup"));
        };
        if is_at_section(&line) {
            return Ok(setup);
        }
        let key = line.text.trim().to_owned();
        let is = |known: &str| key.eq_ignore_ascii_case(known);
        cursor.pass();
        if is("'END test setup") {
            return Ok(setup);
        } else if is("'Test Description") {
            setup.description = cursor.value().map(|value| value.text()).unwrap_or_default();
        } else if is("'Run Time") {
            let help = "write hours, minutes and seconds, such as 0 20 0";
            let mut value = cursor.value_of(&key, help)?;
            setup.run_time = RunTime {
                hours: value.number_32("hours", help)?,
                minutes: value.number_32("minutes", help)?,
                seconds: value.number_32("seconds", help)?,
            };
        } else if begins(&key, "'Ramp Up Time") {
            let help = "write seconds, such as 30";
            setup.ramp_up_seconds = cursor.value_of(&key, help)?.number_32("ramp up time", help)?;
        } else if is("'Default Disk Workers to Spawn") || is("'Default Workers to Spawn") {
            setup.disk_workers = worker_count(cursor, &key)?;
            // Before there were network workers, 0 stood for what is now a word.
            if is("'Default Workers to Spawn") && setup.disk_workers == WorkerCount::Fixed(0) {
                setup.disk_workers = WorkerCount::OnePerProcessor;
            }
        } else if is("'Default Network Workers to Spawn") {
            setup.network_workers = worker_count(cursor, &key)?;
        } else if is("'Record Results") {
            let mut value = cursor.value_of(&key, "write ALL")?;
            setup.record_results = value.one_of("record results", RecordResults::WORDS)?;
        } else if is("'Worker Cycling") {
            setup.worker_cycling = cycling(cursor, &key)?;
        } else if is("'Disk Cycling") {
            setup.target_cycling = cycling(cursor, &key)?;
        } else if is("'Queue Depth Cycling") {
            let help =
                "write start, end, step and LINEAR or EXPONENTIAL, such as 1 32 2 EXPONENTIAL";
            let mut value = cursor.value_of(&key, help)?;
            setup.queue_depth_cycling = QueueDepthCycling {
                start: value.number_32("start", help)?,
                end: value.number_32("end", help)?,
                step: value.number_32("step", help)?,
                step_type: value.one_of("step type", StepType::WORDS)?,
            };
        } else if is("'Test Type") {
            let mut value = cursor.value_of(&key, "write NORMAL")?;
            setup.test_type = value.one_of("test type", TestType::WORDS)?;
        } else {
            return Err(cursor.unexpected_last(SECTION));
        }
    }
}

fn worker_count(cursor: &mut Cursor, key: &str) -> Result<WorkerCount, FileFormatError> {
    let help = "write a number of workers, or NUMBER_OF_CPUS";
    let mut value = cursor.value_of(key, help)?;
    if value.rest.eq_ignore_ascii_case("NUMBER_OF_CPUS") {
        return Ok(WorkerCount::OnePerProcessor);
    }
    value.number_32("workers", help).map(WorkerCount::Fixed)
}

fn cycling(cursor: &mut Cursor, key: &str) -> Result<Cycling, FileFormatError> {
    let help = "write start, step and LINEAR or EXPONENTIAL, such as 1 1 LINEAR";
    let mut value = cursor.value_of(key, help)?;
    Ok(Cycling {
        start: value.number_32("start", help)?,
        step: value.number_32("step", help)?,
        step_type: value.one_of("step type", StepType::WORDS)?,
    })
}

fn results_display(cursor: &mut Cursor) -> Result<ResultsDisplay, FileFormatError> {
    const SECTION: &str = "RESULTS DISPLAY";
    let mut display = ResultsDisplay {
        record_last_update: false,
        update_frequency: 0,
        update_type: UpdateType::WholeTest,
        bar_charts: Vec::new(),
    };
    loop {
        let Some(line) = cursor.peek() else {
            return Err(cursor.ended_within(SECTION, "'END results display"));
        };
        if is_at_section(&line) {
            return Ok(display);
        }
        let key = line.text.trim().to_owned();
        cursor.pass();
        if key.eq_ignore_ascii_case("'END results display") {
            return Ok(display);
        } else if begins(&key, "'Record Last Update Results") || begins(&key, "'Update Frequency") {
            // Before 1.1.0 without the first field.
            let has_record = begins(&key, "'Record");
            let help = match has_record {
                true => "write, such as, DISABLED,1,LAST_UPDATE",
                false => "write, such as, 1,LAST_UPDATE",
            };
            let mut value = cursor.value_of(&key, help)?;
            if has_record {
                display.record_last_update =
                    value.enabled_or_disabled("record last update results")?;
            }
            display.update_frequency = value.number_32("update frequency", help)?;
            display.update_type = value.one_of("update type", UpdateType::WORDS)?;
        } else if begins(&key, "'Bar chart") {
            let rest = key["'Bar chart".len()..].trim();
            let (number, item) = rest.split_once(' ').unwrap_or((rest, ""));
            let number = number.parse().ok().filter(|number| (1..=BARS).contains(number));
            let Some(number) = number else { return Err(cursor.unexpected_last(SECTION)) };
            let Some(item) = bar_item(cursor, item.trim(), &key)? else {
                return Err(cursor.unexpected_last(SECTION));
            };
            display.bar_charts.push(BarChart { number, item });
        } else {
            return Err(cursor.unexpected_last(SECTION));
        }
    }
}

fn bar_item(
    cursor: &mut Cursor,
    item: &str,
    key: &str,
) -> Result<Option<BarItem>, FileFormatError> {
    if item.eq_ignore_ascii_case("statistic") {
        let statistic = cursor.value().map(|value| value.text()).unwrap_or_default();
        return Ok(Some(BarItem::Statistic(statistic)));
    }
    let help = "write a number and a name, such as 1,HOST";
    let is_manager = item.eq_ignore_ascii_case("manager ID, manager name");
    if !is_manager && !item.eq_ignore_ascii_case("worker ID, worker name") {
        return Ok(None);
    }
    let mut value = cursor.value_of(key, help)?;
    let (id, name) = (value.number_32("ID", help)?, value.text());
    Ok(Some(if is_manager { BarItem::Manager { id, name } } else { BarItem::Worker { id, name } }))
}
