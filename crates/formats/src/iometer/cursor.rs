//! The lines of a configuration, with one line of lookahead.

use std::io::BufRead;
use std::sync::Arc;

use crate::text::{
    ErrorKind, FileFormatError, FilePosition, Limits, Line, Lines, did_you_mean, quoted,
    unsigned_up_to,
};

/// Keys that a file may have. This list tells them from headings.
pub(super) const KEYS: &[&str] = &[
    "'Test Description",
    "'Run Time",
    "'Ramp Up Time (s)",
    "'Default Workers to Spawn",
    "'Default Disk Workers to Spawn",
    "'Default Network Workers to Spawn",
    "'Record Results",
    "'Worker Cycling",
    "'Disk Cycling",
    "'Queue Depth Cycling",
    "'Test Type",
    "'END test setup",
    "'Record Last Update Results,Update Frequency,Update Type",
    "'Update Frequency,Update Type",
    "'Bar chart 1 statistic",
    "'END results display",
    "'Access specification name,default assignment",
    "'END access specifications",
    "'Manager ID, manager name",
    "'Manager network address",
    "'Worker",
    "'Worker type",
    "'Default target settings for worker",
    "'Number of outstanding IOs,test connection rate,transactions per connection",
    "'Number of outstanding IOs,test connection rate,transactions per connection,use fixed seed,fixed seed value",
    "'Disk maximum size,starting sector",
    "'Disk maximum size,starting sector,Data pattern",
    "'Local network interface",
    "'VI outstanding IOs",
    "'End default target settings for worker",
    "'Assigned access specs",
    "'End assigned access specs",
    "'Target assignments",
    "'Target",
    "'Target type",
    "'Target manager ID, manager name",
    "'End target",
    "'End target assignments",
    "'End worker",
    "'End manager",
    "'END manager list",
];

/// Sections, by the beginning of their first line.
pub(super) const SECTIONS: [&str; 4] =
    ["'TEST SETUP", "'RESULTS DISPLAY", "'ACCESS SPECIFICATIONS", "'MANAGER LIST"];

/// Returns whether `text` begins with `prefix`; case does not matter.
pub(super) fn begins(text: &str, prefix: &str) -> bool {
    text.get(..prefix.len()).is_some_and(|start| start.eq_ignore_ascii_case(prefix))
}

/// The lines of a file that are not empty.
pub(super) struct Cursor {
    lines: Vec<(u64, String)>,
    at: usize,
    file: Option<Arc<str>>,
}

impl Cursor {
    pub(super) fn read(reader: impl BufRead, name: Option<&str>) -> Result<Self, FileFormatError> {
        let file: Option<Arc<str>> = name.map(Arc::from);
        let mut lines = Lines::new(reader, file.clone(), Limits::CONFIGURATION)?;
        let mut kept = Vec::new();
        while let Some(line) = lines.next_line()? {
            if !line.text.trim().is_empty() {
                kept.push((line.number, line.text.to_owned()));
            }
        }
        Ok(Self { lines: kept, at: 0, file })
    }

    pub(super) fn peek(&self) -> Option<Line<'_>> {
        let (number, text) = self.lines.get(self.at)?;
        Some(Line::new(text, *number, &self.file))
    }

    pub(super) fn next(&mut self) -> Option<Line<'_>> {
        let (number, text) = self.lines.get(self.at)?;
        self.at += 1;
        Some(Line::new(text, *number, &self.file))
    }

    /// Moves past the line that [`Cursor::peek`] shows.
    pub(super) fn pass(&mut self) {
        self.at += 1;
    }

    /// Returns the line before the next one.
    fn last(&self) -> Option<Line<'_>> {
        let (number, text) = self.lines.get(self.at.checked_sub(1)?)?;
        Some(Line::new(text, *number, &self.file))
    }

    pub(super) fn position_of_last(&self) -> FilePosition {
        self.last()
            .map_or_else(|| FilePosition::new(self.file.clone(), 0, 0), |line| line.position())
    }

    /// Returns the error of a file that ends within a section.
    pub(super) fn ended_within(&self, section: &str, end: &str) -> FileFormatError {
        FileFormatError::new(
            ErrorKind::Missing,
            self.position_of_last(),
            format!("the file ends within {section}"),
            format!("it is cut short, or the line `{end}` is missing"),
        )
    }

    /// Returns the line with the value of the last key passed, after any headings; none if the value is empty or left
    /// out.
    pub(super) fn value(&mut self) -> Option<Value<'_>> {
        while let Some(line) = self.peek() {
            let text = line.text.trim();
            if !text.starts_with('\'') {
                break;
            }
            let is_known = KEYS.iter().any(|key| text.eq_ignore_ascii_case(key))
                || SECTIONS.iter().any(|section| begins(text, section))
                || begins(text, "'END")
                || begins(text, "'Bar chart")
                || begins(text, "'Ramp Up Time");
            if is_known {
                return None;
            }
            self.pass();
        }
        self.next().map(|line| Value { line, rest: line.text.trim() })
    }

    /// Returns the value as [`Cursor::value`] does. An empty one is an error.
    pub(super) fn value_of(&mut self, key: &str, help: &str) -> Result<Value<'_>, FileFormatError> {
        let position = self.position_of_last();
        self.value().ok_or_else(|| {
            let name = key.trim_start_matches('\'');
            FileFormatError::new(
                ErrorKind::Missing,
                position,
                format!("{name} is without a value"),
                help,
            )
        })
    }

    /// Returns the error of a last line that does not belong to `section`.
    pub(super) fn unexpected_last(&self, section: &str) -> FileFormatError {
        match self.last() {
            Some(line) => self.unexpected(&line, section),
            None => self.ended_within(section, "'END"),
        }
    }

    /// Returns the error of a line that a section does not have.
    pub(super) fn unexpected(&self, line: &Line<'_>, section: &str) -> FileFormatError {
        let text = line.text.trim();
        let otherwise = "Iometer reads no such line either: take it out";
        if text.starts_with('\'') {
            let message = format!("{section} has no key {}", quoted(text));
            let is_known = KEYS.iter().any(|key| text.eq_ignore_ascii_case(key));
            let help = if is_known {
                "its place is elsewhere: is the end of what stands before it missing?".to_owned()
            } else {
                did_you_mean(text, KEYS.iter().copied(), otherwise)
            };
            line.error_of(text, ErrorKind::UnknownName, message, help)
        } else {
            let message = format!("{} belongs to no key of {section}", quoted(text));
            line.error_of(text, ErrorKind::Syntax, message, otherwise)
        }
    }
}

/// A line of values, which are taken one by one.
pub(super) struct Value<'c> {
    pub(super) line: Line<'c>,
    /// The values not taken yet.
    pub(super) rest: &'c str,
}

impl<'c> Value<'c> {
    /// Takes the rest of the line.
    pub(super) fn text(&self) -> String {
        self.rest.to_owned()
    }

    /// Takes the next word, up to a comma or a space; empty at the end.
    pub(super) fn word(&mut self) -> &'c str {
        let separator = |c: char| c == ',' || c.is_whitespace();
        let end = self.rest.find(separator).unwrap_or(self.rest.len());
        let (word, rest) = self.rest.split_at(end);
        let rest = rest.trim_start();
        self.rest = rest.strip_prefix(',').unwrap_or(rest).trim_start();
        word
    }

    /// Takes the next word as a number.
    pub(super) fn number(
        &mut self,
        name: &str,
        most: u64,
        help: &str,
    ) -> Result<u64, FileFormatError> {
        let word = self.word();
        unsigned_up_to(&self.line, word, name, most, help)
    }

    pub(super) fn number_32(&mut self, name: &str, help: &str) -> Result<u32, FileFormatError> {
        self.number(name, u32::MAX.into(), help).map(|number| number as u32)
    }

    /// Takes the rest as one of `words`, or as a position among them, which old files have.
    pub(super) fn one_of<T: Copy>(
        &mut self,
        name: &str,
        words: &[(T, &'static str)],
    ) -> Result<T, FileFormatError> {
        let text = self.rest;
        self.rest = "";
        let found = words.iter().find(|(_, word)| text.eq_ignore_ascii_case(word));
        let by_position = || text.parse::<usize>().ok().and_then(|position| words.get(position));
        if let Some((value, _)) = found.or_else(by_position) {
            return Ok(*value);
        }
        let message = format!("{name}: {} is not one of its values", quoted(text));
        let all = words.iter().map(|(_, word)| *word);
        let otherwise = format!("write one of {}", all.clone().collect::<Vec<_>>().join(", "));
        let help = did_you_mean(&text.to_ascii_uppercase(), all, &otherwise);
        Err(self.line.error_of(text, ErrorKind::UnknownName, message, help))
    }

    /// Takes `ENABLED` or `DISABLED`.
    pub(super) fn enabled_or_disabled(&mut self, name: &str) -> Result<bool, FileFormatError> {
        let word = self.word();
        match word {
            _ if word.eq_ignore_ascii_case("ENABLED") => Ok(true),
            _ if word.eq_ignore_ascii_case("DISABLED") => Ok(false),
            _ => {
                let message = format!("{name}: {} is neither ENABLED nor DISABLED", quoted(word));
                let help = "write ENABLED or DISABLED";
                Err(self.line.error_of(word, ErrorKind::Value, message, help))
            }
        }
    }
}

/// Returns whether a line starts a section, which ends the section before it: old files do not end every section.
pub(super) fn is_at_section(line: &Line<'_>) -> bool {
    SECTIONS.iter().any(|section| begins(line.text.trim(), section))
}
