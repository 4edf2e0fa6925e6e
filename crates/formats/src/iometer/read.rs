//! A configuration from its lines.

use std::fs::File;
use std::io::{BufRead, BufReader};
use std::path::Path;
use std::sync::Arc;

use crate::text::{ErrorKind, FormatError, Line, Place, did_you_mean, quoted, unsigned_up_to};

use super::cursor::{Cursor, SECTIONS, Value, begins};
use super::read_managers::managers;
use super::{
    AccessLine, AccessSpecification, BarChart, BarItem, Configuration, Cycling, DefaultAssignment,
    QueueDepthCycling, RecordResults, ResultsDisplay, RunTime, StepType, TestSetup, TestType,
    UpdateType, Version, WorkerCount,
};

/// Iometer has no more lines in a specification.
const MOST_LINES: usize = 100;
const BARS: u32 = 6;
/// Many times what anyone keeps in a file; looking for names of which there are more takes long.
const MOST_SPECIFICATIONS: usize = 10_000;
const MOST_UNNAMED: usize = 1_000;
const LINE_HELP: &str = "write size,% of size,% reads,% random,delay,burst,align,reply, such as 4096,100,67,100,0,1,0,0";

impl Configuration {
    /// Reads a configuration in `text`, which errors call `name`.
    ///
    /// # Errors
    ///
    /// [`FormatError`] at the first thing that Iometer would not read, or would read as something
    /// else than what stands there (Iometer takes `4K` for 4 bytes).
    pub fn parse(text: &str, name: &str) -> Result<Self, FormatError> {
        Self::read(text.as_bytes(), Some(name))
    }

    /// Reads the configuration at `path`.
    ///
    /// # Errors
    ///
    /// [`FormatError`] when it cannot be read, or as [`Configuration::parse`] has it.
    pub fn load(path: impl AsRef<Path>) -> Result<Self, FormatError> {
        let path = path.as_ref();
        let name = path.display().to_string();
        let file = File::open(path).map_err(|error| {
            let place = Place::new(Some(Arc::from(name.as_str())), 0, 0);
            let message = format!("cannot read: {error}");
            let help = "give the path of an Iometer configuration, an .icf file";
            FormatError::new(ErrorKind::Io, place, message, help).caused_by(error)
        })?;
        Self::read(BufReader::new(file), Some(&name))
    }

    /// Reads a configuration, which errors call `name`.
    ///
    /// # Errors
    ///
    /// As [`Configuration::parse`] has it, and when the reader fails.
    pub fn read(reader: impl BufRead, name: Option<&str>) -> Result<Self, FormatError> {
        let mut cursor = Cursor::read(reader, name)?;
        let version = match cursor.next() {
            Some(line) => Version::of_line(&line)?,
            None => {
                return Err(FormatError::new(
                    ErrorKind::Missing,
                    Place::new(name.map(Arc::from), 0, 0),
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

/// Comments and the version at the end, but not a section that is misspelt, nor values.
fn outside_of_sections(line: &Line<'_>) -> Result<(), FormatError> {
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

/// Whether a section is over, which old files do not say of each.
fn is_at_section(line: &Line<'_>) -> bool {
    SECTIONS.iter().any(|section| begins(line.text.trim(), section))
}

fn test_setup(cursor: &mut Cursor) -> Result<TestSetup, FormatError> {
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
            // What is now said by a word was 0 before there were network workers.
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

fn worker_count(cursor: &mut Cursor, key: &str) -> Result<WorkerCount, FormatError> {
    let help = "write a number of workers, or NUMBER_OF_CPUS";
    let mut value = cursor.value_of(key, help)?;
    if value.rest.eq_ignore_ascii_case("NUMBER_OF_CPUS") {
        return Ok(WorkerCount::OnePerProcessor);
    }
    value.number_32("workers", help).map(WorkerCount::Fixed)
}

fn cycling(cursor: &mut Cursor, key: &str) -> Result<Cycling, FormatError> {
    let help = "write start, step and LINEAR or EXPONENTIAL, such as 1 1 LINEAR";
    let mut value = cursor.value_of(key, help)?;
    Ok(Cycling {
        start: value.number_32("start", help)?,
        step: value.number_32("step", help)?,
        step_type: value.one_of("step type", StepType::WORDS)?,
    })
}

fn results_display(cursor: &mut Cursor) -> Result<ResultsDisplay, FormatError> {
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
        } else if begins(&key, "'Record Last Update Results") {
            let help = "write, such as, DISABLED,1,LAST_UPDATE";
            let mut value = cursor.value_of(&key, help)?;
            display.record_last_update = value.is_enabled("record last update results")?;
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

fn bar_item(cursor: &mut Cursor, item: &str, key: &str) -> Result<Option<BarItem>, FormatError> {
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

fn specifications(cursor: &mut Cursor) -> Result<Vec<AccessSpecification>, FormatError> {
    const SECTION: &str = "ACCESS SPECIFICATIONS";
    let mut specifications: Vec<AccessSpecification> = Vec::new();
    loop {
        let Some(line) = cursor.peek() else {
            return Err(cursor.ended_within(SECTION, "'END access specifications"));
        };
        if is_at_section(&line) {
            return Ok(specifications);
        }
        let key = line.text.trim().to_owned();
        cursor.pass();
        if key.eq_ignore_ascii_case("'END access specifications") {
            return Ok(specifications);
        }
        if !key.eq_ignore_ascii_case("'Access specification name,default assignment") {
            return Err(cursor.unexpected_last(SECTION));
        }
        let help = "write its name and assignment, such as OLTP,NONE";
        let mut value = cursor.value_of(&key, help)?;
        let (name, default_assignment) = name_and_assignment(&mut value)?;
        let place = value.line.place_of(value.line.text.trim());
        let lines = lines_of_specification(cursor)?;
        check_sum(&name, &lines, place)?;
        let specification = AccessSpecification { name, default_assignment, lines };
        // As in Iometer, one of the same name replaces the one before.
        let before = specifications
            .iter()
            .position(|before| before.name.eq_ignore_ascii_case(&specification.name));
        match before {
            Some(before) => specifications[before] = specification,
            None if specifications.len() == MOST_SPECIFICATIONS => {
                return Err(too_many(cursor, MOST_SPECIFICATIONS));
            }
            None => specifications.push(specification),
        }
    }
}

fn too_many(cursor: &Cursor, most: usize) -> FormatError {
    let message = format!("there are more than {most} access specifications");
    let help = "split the file, or check that it is a configuration";
    FormatError::new(ErrorKind::Limit, cursor.place_of_last(), message, help)
}

/// Names may have commas in them, so that the last one counts.
pub(super) fn name_and_assignment(
    value: &mut Value<'_>,
) -> Result<(String, DefaultAssignment), FormatError> {
    let text = value.rest;
    let Some((name, assignment)) = text.rsplit_once(',') else {
        let message = format!("{} is without its default assignment", quoted(text));
        let help = format!("write `{text},NONE`");
        return Err(value.line.error_of(text, ErrorKind::Syntax, message, help));
    };
    value.rest = assignment.trim();
    let assignment = value.one_of("default assignment", &DefaultAssignment::WORDS)?;
    Ok((name.trim().to_owned(), assignment))
}

/// The lines up to the next key.
fn lines_of_specification(cursor: &mut Cursor) -> Result<Vec<AccessLine>, FormatError> {
    // The heading that names the columns.
    if let Some(line) = cursor.peek()
        && begins(line.text.trim(), "'size")
    {
        cursor.pass();
    }
    let mut lines = Vec::new();
    while let Some(line) = cursor.peek() {
        if line.text.trim_start().starts_with('\'') {
            break;
        }
        if lines.len() == MOST_LINES {
            let message = format!("the specification has more than {MOST_LINES} lines");
            return Err(line.error(ErrorKind::Limit, message, "leave some out, as Iometer would"));
        }
        lines.push(access_line(&line)?);
        cursor.pass();
    }
    Ok(lines)
}

/// A line with commas; one more at the end is overlooked, which results have.
pub(super) fn access_line(line: &Line<'_>) -> Result<AccessLine, FormatError> {
    let text = line.text.trim();
    let text = text.strip_suffix(',').unwrap_or(text);
    let fields: Vec<&str> = text.split(',').map(str::trim).collect();
    if fields.len() != 8 {
        let message = format!("{} fields, where a line of a specification has 8", fields.len());
        return Err(line.error_of(text, ErrorKind::Syntax, message, LINE_HELP));
    }
    let number = |at: usize, name: &str, help: &str| {
        unsigned_up_to(line, fields[at], name, u32::MAX.into(), help).map(|number| number as u32)
    };
    let percent = |at: usize, name: &str| {
        let help = "write a percentage, 0 to 100";
        unsigned_up_to(line, fields[at], name, 100, help).map(|percent| percent as u8)
    };
    Ok(AccessLine {
        bytes: number(0, "size", "write bytes without a unit, such as 4096")?,
        percent_of_accesses: percent(1, "% of size")?,
        read_percent: percent(2, "% reads")?,
        random_percent: percent(3, "% random")?,
        delay_ms: number(4, "delay", "write milliseconds between bursts, such as 0")?,
        burst_accesses: number(5, "burst", "write accesses in a burst, such as 1")?,
        alignment_bytes: number(6, "align", "write bytes without a unit, or 0 for sectors")?,
        reply_bytes: number(7, "reply", "write bytes without a unit, or 0 for none")?,
    })
}

fn check_sum(name: &str, lines: &[AccessLine], place: Place) -> Result<(), FormatError> {
    let percent: u32 = lines.iter().map(|line| u32::from(line.percent_of_accesses)).sum();
    if percent == 100 {
        return Ok(());
    }
    let name = quoted(name);
    let message = format!("the lines of access specification {name} take {percent} % of accesses");
    Err(FormatError::new(ErrorKind::Value, place, message, "make their `% of size` add up to 100"))
}

/// Specifications as they were before 1998.05.21: six numbers a line, with spaces, without names.
/// One ends where its lines add up to 100 %.
fn unnamed_specifications(cursor: &mut Cursor) -> Result<Vec<AccessSpecification>, FormatError> {
    let help = "write size % of size % reads % random delay burst, such as 2048 100 67 100 0 1";
    let mut specifications: Vec<AccessSpecification> = Vec::new();
    let mut lines: Vec<AccessLine> = Vec::new();
    let mut percent = 0;
    loop {
        let Some(line) = cursor.peek() else { break };
        let text = line.text.trim();
        if text.starts_with('\'') {
            if is_at_section(&line) {
                break;
            }
            let is_end = text.eq_ignore_ascii_case("'END access specifications");
            cursor.pass();
            if is_end {
                break;
            }
            continue;
        }
        let fields: Vec<&str> = text.split_ascii_whitespace().collect();
        if fields.len() != 6 {
            let message = format!("{} fields, where a line of that time has 6", fields.len());
            return Err(line.error_of(text, ErrorKind::Syntax, message, help));
        }
        let number = |at: usize, name: &str, most: u64| {
            unsigned_up_to(&line, fields[at], name, most, help).map(|number| number as u32)
        };
        let most = u64::from(u32::MAX);
        let access = AccessLine {
            bytes: number(0, "size", most)?,
            percent_of_accesses: number(1, "% of size", 100)? as u8,
            read_percent: number(2, "% reads", 100)? as u8,
            random_percent: number(3, "% random", 100)? as u8,
            delay_ms: number(4, "delay", most)?,
            burst_accesses: number(5, "burst", most)?,
            alignment_bytes: 0,
            reply_bytes: 0,
        };
        percent += u32::from(access.percent_of_accesses);
        // Iometer leaves out lines that never come up.
        if access.percent_of_accesses > 0 {
            lines.push(access);
        }
        if percent > 100 {
            let message = format!("the lines up to here take {percent} % of accesses");
            let help = "make the `% of size` of each specification add up to 100";
            return Err(line.error_of(text, ErrorKind::Value, message, help));
        }
        cursor.pass();
        if percent == 100 {
            if specifications.len() == MOST_UNNAMED {
                return Err(too_many(cursor, MOST_UNNAMED));
            }
            let name = name_for(&lines, &specifications);
            let default_assignment = DefaultAssignment::All;
            let lines = std::mem::take(&mut lines);
            specifications.push(AccessSpecification { name, default_assignment, lines });
            percent = 0;
        }
    }
    if !lines.is_empty() {
        return Err(FormatError::new(
            ErrorKind::Value,
            cursor.place_of_last(),
            format!("the lines of the last specification take {percent} % of accesses"),
            "make their `% of size` add up to 100",
        ));
    }
    Ok(specifications)
}

/// The name that Iometer gives a specification without one: by its only line, or by its number.
fn name_for(lines: &[AccessLine], others: &[AccessSpecification]) -> String {
    let is_free = |name: &str| others.iter().all(|other| !other.name.eq_ignore_ascii_case(name));
    let (base, first) = match lines {
        [line] => {
            let size = match line.bytes {
                512 => "512byte".to_owned(),
                1_048_576 => "1MB".to_owned(),
                bytes => format!("{}KB", bytes / 1024),
            };
            let share = |percent: u8, none: &str, all: &str, some: &str| match percent {
                0 => none.to_owned(),
                100 => all.to_owned(),
                percent => format!("{percent}% {some}"),
            };
            let random = share(line.random_percent, "sequential", "random", "random");
            let reads = share(line.read_percent, "writes", "reads", "reads");
            let name = format!("{size} {random} {reads}");
            if is_free(&name) {
                return name;
            }
            (name, 2)
        }
        _ => ("Untitled".to_owned(), 1),
    };
    let numbered = (first..).map(|number: u64| format!("{base} {number}"));
    // There are only so many others, so that one is free.
    numbered.into_iter().find(|name| is_free(name)).unwrap_or(base)
}
