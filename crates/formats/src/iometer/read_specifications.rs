//! The section of access specifications.

use crate::text::{ErrorKind, FileFormatError, FilePosition, Line, quoted, unsigned_up_to};

use super::cursor::{Cursor, Value, begins, is_at_section};
use super::{AccessLine, AccessSpecification, DefaultAssignment};

/// Iometer allows no more lines in a specification.
const MOST_LINES: usize = 100;
/// Many times what anyone keeps in a file. With more, searching the names takes long.
const MOST_SPECIFICATIONS: usize = 10_000;
const MOST_UNNAMED: usize = 1_000;
const LINE_HELP: &str = "write size,% of size,% reads,% random,delay,burst,align,reply, such as 4096,100,67,100,0,1,0,0";

pub(super) fn specifications(
    cursor: &mut Cursor,
) -> Result<Vec<AccessSpecification>, FileFormatError> {
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
        let position = value.line.position_of(value.line.text.trim());
        let lines = lines_of_specification(cursor)?;
        check_sum(&name, &lines, position)?;
        let specification = AccessSpecification { name, default_assignment, lines };
        // As in Iometer, a specification replaces an earlier one of the same name.
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

fn too_many(cursor: &Cursor, most: usize) -> FileFormatError {
    let message = format!("there are more than {most} access specifications");
    let help = "split the file, or check that it is a configuration";
    FileFormatError::new(ErrorKind::Limit, cursor.position_of_last(), message, help)
}

/// Reads a name and its assignment. Names may contain commas, so the last comma counts.
pub(super) fn name_and_assignment(
    value: &mut Value<'_>,
) -> Result<(String, DefaultAssignment), FileFormatError> {
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

/// Reads the lines up to the next key.
fn lines_of_specification(cursor: &mut Cursor) -> Result<Vec<AccessLine>, FileFormatError> {
    // Skips the heading that names the columns.
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

/// Reads a line of values separated by commas. One more comma at the end, which results have, is
/// ignored.
pub(super) fn access_line(line: &Line<'_>) -> Result<AccessLine, FileFormatError> {
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

fn check_sum(
    name: &str,
    lines: &[AccessLine],
    position: FilePosition,
) -> Result<(), FileFormatError> {
    let percent: u32 = lines.iter().map(|line| u32::from(line.percent_of_accesses)).sum();
    if percent == 100 {
        return Ok(());
    }
    let name = quoted(name);
    let message = format!("the lines of access specification {name} take {percent} % of accesses");
    Err(FileFormatError::new(
        ErrorKind::Value,
        position,
        message,
        "make their `% of size` add up to 100",
    ))
}

/// Reads specifications as they were before 1998.05.21: six numbers a line, separated by spaces,
/// without names. A specification ends where its lines add up to 100 %.
pub(super) fn unnamed_specifications(
    cursor: &mut Cursor,
) -> Result<Vec<AccessSpecification>, FileFormatError> {
    let help = "write size % of size % reads % random delay burst, such as 2048 100 67 100 0 1";
    let mut specifications: Vec<AccessSpecification> = Vec::new();
    let mut lines: Vec<AccessLine> = Vec::new();
    let mut percent = 0;
    while let Some(line) = cursor.peek() {
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
        return Err(FileFormatError::new(
            ErrorKind::Value,
            cursor.position_of_last(),
            format!("the lines of the last specification take {percent} % of accesses"),
            "make their `% of size` add up to 100",
        ));
    }
    Ok(specifications)
}

/// Returns the name that Iometer gives a specification without one: by its only line, or by its
/// number.
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
    // The others are finite in number, so one of these names is free.
    numbered.into_iter().find(|name| is_free(name)).unwrap_or(base)
}
