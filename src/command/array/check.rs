//! `strewn array check`.

use std::collections::BTreeMap;

use clap::Args;
use serde_json::json;
use strewn::terminal::{self, Ending, Failure};
use strewn_live::assembly::OpenOptions;
use strewn_live::check::{CheckReport, Inconsistency, check_array};
use strewn_live::starting::REMEDY_OF_LOST_LOG;

use super::ArrayDirectory;
use super::opened::{Io, config_of, devices_at_rest, open_array};

/// `strewn array check`.
#[derive(Debug, Args)]
pub(crate) struct CheckArguments {
    #[command(flatten)]
    array: ArrayDirectory,
    /// Check degraded, without missing spindles
    #[arg(long)]
    degraded: bool,
    /// Print JSON instead of lines
    #[arg(long)]
    json: bool,
    /// I/O backend
    #[arg(long, value_enum, default_value_t)]
    io: Io,
}

/// Checks an array that is not in use.
pub(crate) fn check(arguments: &CheckArguments) -> Result<Ending, Failure> {
    let options = OpenOptions { degraded: arguments.degraded, read_only: true };
    let assembled = open_array(&arguments.array.directory, options)?;
    if assembled.superblock.as_ref().is_some_and(|superblock| !superblock.clean) {
        terminal::say(
            "warning: the array was not shut down: what the NVRAM log has beside redo records reaches the spindles when it is \
             started again",
        );
    }
    let config = config_of(&assembled)?;
    let (mut devices, label) = devices_at_rest(assembled, arguments.io)?;
    let report = check_array(&mut devices, &label, &config);
    let text = if arguments.json { json_of(&report) } else { lines(&report) };
    terminal::print(&text)?;
    if report.findings.is_empty() {
        Ok(Ending::Complete)
    } else {
        let of_log =
            report.findings.iter().any(|problem| matches!(problem, Inconsistency::Log { .. }));
        let of_log_devices = report
            .findings
            .iter()
            .all(|problem| matches!(problem, Inconsistency::LogDevice { .. }));
        let help = if of_log {
            REMEDY_OF_LOST_LOG
        } else if of_log_devices {
            "the next start repairs it: each device of the log gets from the other what it lacks"
        } else {
            "`strewn array scrub` repairs what parity makes good"
        };
        Err(Failure::failed(format!("{} things are not as they should be", report.findings.len()))
            .with_help(help))
    }
}

/// Most findings that are listed one by one.
const FINDINGS_SHOWN: usize = 100;

fn lines(report: &CheckReport) -> String {
    let mut text = String::new();
    for problem in report.findings.iter().take(FINDINGS_SHOWN) {
        text += &format!("{problem}\n");
    }
    if let Some(more @ 1..) = report.findings.len().checked_sub(FINDINGS_SHOWN) {
        text += &format!("and {more} more, which --json has\n");
    }
    let mut by_spindle: BTreeMap<u16, usize> = BTreeMap::new();
    for spindle in report.findings.iter().filter_map(Inconsistency::spindle) {
        *by_spindle.entry(spindle.0).or_default() += 1;
    }
    for (spindle, findings) in by_spindle {
        text += &format!("spindle {spindle}: {findings} findings\n");
    }
    for problem in &report.interrupted {
        text += &format!("{problem}\n");
    }
    if !report.interrupted.is_empty() {
        text += "the last label or superblock was being written when the array ended: a start writes it there\n";
    }
    if report.redo_blocks > 0 {
        text += &format!(
            "{} blocks of redo records were taken as written: a start writes them\n",
            report.redo_blocks
        );
    }
    if report.blocks_missing > 0 {
        text += &format!(
            "{} blocks in use could not be looked at, since their spindles are not there: they were computed from the rest\n",
            report.blocks_missing
        );
    }
    text += &format!(
        "{} blocks in use and the parity of {} stripes looked at: {} findings\n",
        report.blocks,
        report.stripes,
        report.findings.len()
    );
    text
}

fn json_of(report: &CheckReport) -> String {
    let texts = |of: &[Inconsistency]| of.iter().map(ToString::to_string).collect::<Vec<String>>();
    let value = json!({
        "findings": texts(&report.findings),
        "interrupted": texts(&report.interrupted),
        "blocks": report.blocks,
        "blocks_missing": report.blocks_missing,
        "stripes": report.stripes,
        "redo_blocks": report.redo_blocks,
    });
    format!("{value:#}\n")
}
