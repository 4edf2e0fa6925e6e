//! Real files, their free space and their comparison as text, and files as CSV.

use crate::data::file::{FileCost, FileRecord, FileTotals, FreeSpaceRecord};
use crate::data::json::ResultsError;
use crate::data::number::{fixed, with_commas};
use crate::data::quantity::about;
use crate::rendering::columns::{Columns, optional};
use crate::rendering::table_column::{TableColumn, write_csv};
use std::io::Write;

/// A small share is not shown as none, nor a large one as all.
pub(crate) fn share_percent(share: f64) -> String {
    match share {
        0.0 => "0".to_owned(),
        share if share < 0.001 => "<0.1".to_owned(),
        share if share > 0.999 && share < 1.0 => ">99.9".to_owned(),
        share => fixed(100.0 * share, if share < 0.1 { 1 } else { 0 }),
    }
}

/// Four decimals, rounded towards a layout that is not perfect.
pub(crate) fn score_words(score: f64) -> String {
    if score < 1.0 { fixed(score.min(0.9999), 4) } else { "1".to_owned() }
}

/// Three significant digits or so.
pub(crate) fn figure_words(value: f64) -> String {
    let decimals = match value.abs() {
        magnitude if magnitude >= 100.0 || magnitude == 0.0 => 0,
        magnitude if magnitude >= 10.0 => 1,
        _ => 2,
    };
    let text = fixed(value, decimals);
    let (whole, rest) = text.split_at(text.find('.').unwrap_or(text.len()));
    with_commas(whole) + rest
}

/// A path for a terminal: control characters are escaped, so that a name takes one line and changes no colours.
#[must_use]
pub fn shown_path(path: &str) -> String {
    let mut shown = String::with_capacity(path.len());
    for letter in path.chars() {
        match letter.is_control() {
            true => shown.extend(letter.escape_default()),
            false => shown.push(letter),
        }
    }
    shown
}

fn simulated(record: &FileRecord) -> Option<&crate::data::file::FileSimulation> {
    record.cost.as_ref()?.simulated.as_ref()
}

/// Returns a row for each file, and a sentence for each that was simulated. The path comes last, since it may be long.
#[must_use]
pub fn files_table(files: &[FileRecord]) -> String {
    let rows: Vec<FileRecord> = files.to_vec();
    let any = |has: fn(&FileRecord) -> bool| rows.iter().any(has);
    let cost = |row: &FileRecord, of: fn(&FileCost) -> f64| {
        optional(row.cost.as_ref().map(of), figure_words)
    };
    let mut columns = Columns::<FileRecord>::new()
        .number("size", |row| about(row.bytes as f64))
        .number("extents", |row| with_commas(&row.layout.extents.to_string()))
        .number("layout\nscore", |row| score_words(row.layout.layout_score))
        .number("extents\nper GiB", |row| figure_words(row.layout.extents_per_gib))
        .number("extents\nper MiB\nwindow", |row| match row.layout.extents_per_mib_window {
            0.0 => "-".to_owned(),
            extents => fixed(extents, 1),
        });
    if any(|row| row.layout.span.is_some()) {
        columns = columns.number("span\n%", |row| optional(row.layout.span, share_percent));
    }
    if any(|row| row.layout.shared_bytes > 0) {
        columns = columns.number("shared\n%", |row| share_percent(row.layout.shared()));
    }
    if any(|row| row.layout.holes > 0) {
        columns = columns.number("holes", |row| match row.layout.hole_bytes {
            0 => "-".to_owned(),
            bytes => about(bytes as f64),
        });
    }
    if any(|row| row.cost.is_some()) {
        columns = columns
            .number("commands\nper request\nnow", move |row| {
                cost(row, |cost| cost.commands_per_request)
            })
            .number("contig-\nuous", move |row| {
                cost(row, |cost| cost.contiguous_commands_per_request)
            });
    }
    if any(|row| simulated(row).is_some()) {
        columns = columns
            .number("IOPS\nnow", |row| optional(simulated(row).map(|of| of.now.iops), figure_words))
            .number("contig-\nuous", |row| {
                optional(simulated(row).map(|of| of.contiguous.iops), figure_words)
            })
            .number("MB/s\nnow", |row| {
                optional(simulated(row).map(|of| of.now.mb_per_s), figure_words)
            })
            .number("contig-\nuous", |row| {
                optional(simulated(row).map(|of| of.contiguous.mb_per_s), figure_words)
            });
    }
    columns = columns.words("", |row| shown_path(&row.path));
    let mut text = columns.render(&rows);
    text.push_str(&legend(files));
    let several = files.len() > 1;
    for file in files {
        let mut sentences: Vec<String> =
            simulated(file).map(|of| of.verdict.clone()).into_iter().collect();
        if let Some(prediction) = &file.prediction {
            sentences.push(prediction_words(file, prediction));
        }
        sentences.extend(file.notes.iter().cloned());
        if sentences.is_empty() {
            continue;
        }
        text.push('\n');
        if several {
            text.push_str(&format!("{}\n", shown_path(&file.path)));
        }
        sentences.iter().for_each(|sentence| text.push_str(&format!("  {sentence}\n")));
    }
    text
}

/// Says once what all files have in common: the access specification, the drive, the devices.
fn legend(files: &[FileRecord]) -> String {
    let mut lines: Vec<String> = Vec::new();
    let mut add = |line: String| {
        if !lines.contains(&line) {
            lines.push(line);
        }
    };
    for file in files {
        if let Some(cost) = &file.cost {
            match &cost.simulated {
                Some(simulated) => add(format!(
                    "{}, {} outstanding, simulated on {}.",
                    cost.access, simulated.outstanding, simulated.on
                )),
                None if files.iter().all(|file| simulated_is_absent(file)) => {
                    add(format!("{}.", cost.access));
                }
                None => {}
            }
        }
    }
    for file in files {
        add(on_devices(file));
    }
    // A tree may be on many devices; the files and the report have each.
    const MOST: usize = 6;
    if lines.len() > MOST {
        let more = lines.len() - MOST;
        lines.truncate(MOST);
        lines.push(format!("… and {more} more; --json has each file's devices."));
    }
    format!("\n{}\n", lines.join("\n"))
}

fn simulated_is_absent(file: &FileRecord) -> bool {
    file.cost.as_ref().is_none_or(|cost| cost.simulated.is_none())
}

/// Says what a file lies on.
pub(crate) fn on_devices(file: &FileRecord) -> String {
    let device = |device: &crate::data::file::FileDevice| match device.rotational {
        Some(true) => format!("{} (rotational)", device.name),
        Some(false) => format!("{} (not rotational)", device.name),
        None => device.name.clone(),
    };
    let devices: Vec<String> = file.devices.iter().map(device).collect();
    let addresses = if file.untranslated { ", by the file system's own addresses" } else { "" };
    match devices.as_slice() {
        [] => format!("On {}{addresses}.", file.file_system),
        _ => format!("On {}, {}{addresses}.", file.file_system, devices.join(", ")),
    }
}

fn prediction_words(file: &FileRecord, prediction: &crate::data::file::FilePrediction) -> String {
    let mut words = format!(
        "PREDICTION, after {}: extents {} -> {}, layout score {} -> {}",
        prediction.writes,
        with_commas(&file.layout.extents.to_string()),
        with_commas(&prediction.layout.extents.to_string()),
        score_words(file.layout.layout_score),
        score_words(prediction.layout.layout_score),
    );
    if let (Some(now), Some(then)) = (&file.cost, &prediction.cost) {
        words.push_str(&format!(
            ", commands per request {} -> {}",
            figure_words(now.commands_per_request),
            figure_words(then.commands_per_request)
        ));
        if let (Some(now), Some(then)) = (&now.simulated, &then.simulated) {
            words.push_str(&format!(
                ", IOPS {} -> {}",
                figure_words(now.now.iops),
                figure_words(then.now.iops)
            ));
        }
    }
    format!("{words} ({})", prediction.rules)
}

/// Returns the sums of all files in a sentence or two.
#[must_use]
pub fn file_totals_sentence(totals: &FileTotals, listed: usize) -> String {
    let count = |number: u64| with_commas(&number.to_string());
    let mut words = format!(
        "{} files, {}: {} extents, layout score {}, {} files contiguous; {} commands more than contiguous files would take.",
        count(totals.files),
        about(totals.bytes as f64),
        count(totals.extents),
        score_words(totals.layout_score()),
        count(totals.contiguous_files),
        figure_words(totals.extra_commands.max(0.0)),
    );
    if (listed as u64) < totals.files {
        words.push_str(&format!(" The {listed} first are listed; --top lists more."));
    }
    words + "\n"
}

/// Returns the free space of file systems: score, longest run, and runs by length.
#[must_use]
pub fn free_space_table(spaces: &[FreeSpaceRecord]) -> String {
    let mut text = String::new();
    for space in spaces {
        text.push_str(&format!(
            "\nFree space of {} at {}: {} free, score {}, longest run {}.\n  {}\n\n",
            space.file_system,
            space.mount,
            about(space.free_bytes as f64),
            score_words(space.score),
            about(space.largest_run_bytes as f64),
            space.source,
        ));
        let all: u64 = space.runs.iter().map(|(_, runs)| runs).sum();
        let rows: Vec<(u64, u64, u64)> =
            space.runs.iter().map(|(bytes, runs)| (*bytes, *runs, all)).collect();
        text.push_str(
            &Columns::<(u64, u64, u64)>::new()
                .number("runs of", |row| {
                    format!("{} to {}", about(row.0 as f64), about(2.0 * row.0 as f64))
                })
                .number("number", |row| with_commas(&row.1.to_string()))
                .number("% of runs", |row| share_percent(row.1 as f64 / row.2.max(1) as f64))
                .render(&rows),
        );
    }
    text
}

/// A figure of a file before and after.
struct Compared {
    path: String,
    name: &'static str,
    before: String,
    after: String,
    change: String,
}

/// Returns what changed of the files that are in both lists, by path; and names the others.
#[must_use]
pub fn files_comparison(before: &[FileRecord], after: &[FileRecord]) -> String {
    let mut rows = Vec::new();
    let mut unmatched = Vec::new();
    for now in after {
        // A list of one file each is about the same file, under whatever name.
        let matched = before.iter().find(|old| old.path == now.path);
        let only = (before.len() == 1 && after.len() == 1).then(|| &before[0]);
        match matched.or(only) {
            Some(old) => rows.extend(compared(old, now)),
            None => unmatched.push(format!("{}: not in the earlier list", shown_path(&now.path))),
        }
    }
    for old in before {
        if !(after.iter().any(|now| now.path == old.path) || before.len() == 1 && after.len() == 1)
        {
            unmatched.push(format!("{}: only in the earlier list", shown_path(&old.path)));
        }
    }
    let mut text = Columns::<Compared>::new()
        .words("", |row| row.path.clone())
        .words("", |row| row.name.to_owned())
        .number("before", |row| row.before.clone())
        .number("after", |row| row.after.clone())
        .number("change", |row| row.change.clone())
        .render(&rows);
    if rows.is_empty() {
        text = String::new();
    }
    unmatched.iter().for_each(|line| text.push_str(&format!("{line}\n")));
    text
}

fn compared(old: &FileRecord, now: &FileRecord) -> Vec<Compared> {
    type Figure = (&'static str, fn(&FileRecord) -> Option<f64>, fn(f64) -> String);
    let figures: [Figure; 9] = [
        ("size", |file| Some(file.bytes as f64), about),
        ("extents", |file| Some(file.layout.extents as f64), |value| with_commas(&fixed(value, 0))),
        ("layout score", |file| Some(file.layout.layout_score), score_words),
        ("extents per MiB window", |file| Some(file.layout.extents_per_mib_window), figure_words),
        ("shared bytes", |file| Some(file.layout.shared_bytes as f64), about),
        (
            "commands per request",
            |file| Some(file.cost.as_ref()?.commands_per_request),
            figure_words,
        ),
        ("IOPS", |file| Some(simulated(file)?.now.iops), figure_words),
        ("response ms", |file| Some(simulated(file)?.now.response_ms), figure_words),
        ("MB/s", |file| Some(simulated(file)?.now.mb_per_s), figure_words),
    ];
    let same_load = match (&old.cost, &now.cost) {
        (Some(old), Some(now)) => {
            old.access == now.access
                && old.simulated.as_ref().map(|of| (&of.on, of.outstanding))
                    == now.simulated.as_ref().map(|of| (&of.on, of.outstanding))
        }
        _ => false,
    };
    let row = |(position, (name, of, words)): (usize, &Figure)| {
        // Costs of other requests, or on another drive, compare two things at once.
        if position >= 5 && !same_load {
            return None;
        }
        let (before, after) = (of(old)?, of(now)?);
        if name == &"shared bytes" && before == 0.0 && after == 0.0 {
            return None;
        }
        let change = match (before == after, before == 0.0) {
            (true, _) => "same".to_owned(),
            (false, true) => "-".to_owned(),
            (false, false) => {
                format!("{} %", crate::data::number::signed(100.0 * (after / before - 1.0), 1))
            }
        };
        let path = if position == 0 { shown_path(&now.path) } else { String::new() };
        Some(Compared { path, name, before: words(before), after: words(after), change })
    };
    let mut rows: Vec<Compared> = figures.iter().enumerate().filter_map(row).collect();
    if !same_load && old.cost.is_some() && now.cost.is_some() {
        rows.push(Compared {
            path: String::new(),
            name: "costs: measured with other requests or on another drive",
            before: "-".to_owned(),
            after: "-".to_owned(),
            change: "-".to_owned(),
        });
    }
    rows
}

/// Writes a row for each file, as [`write_segments_csv`](crate::write_segments_csv) writes segments.
///
/// # Errors
///
/// [`ResultsError::Write`] if `writer` fails.
pub fn write_files_csv(files: &[FileRecord], writer: impl Write) -> Result<(), ResultsError> {
    write_csv(&file_columns(files), writer)
}

/// Returns the columns of files.
fn file_columns(files: &[FileRecord]) -> Vec<TableColumn> {
    let words = |name: &str, of: &dyn Fn(&FileRecord) -> String| {
        TableColumn::words(name, files.iter().map(of))
    };
    let number = |name: &str, of: &dyn Fn(&FileRecord) -> Option<f64>| {
        TableColumn::numbers(name, files.iter().map(of))
    };
    let cost = |name: &str, of: fn(&FileCost) -> f64| {
        number(name, &|file: &FileRecord| file.cost.as_ref().map(of))
    };
    let performance = |name: &str, of: fn(&crate::data::file::FileSimulation) -> f64| {
        number(name, &|file: &FileRecord| simulated(file).map(of))
    };
    let devices = |file: &FileRecord| {
        file.devices.iter().map(|device| device.name.clone()).collect::<Vec<_>>().join("; ")
    };
    vec![
        words("path", &|file| file.path.clone()),
        number("bytes", &|file| Some(file.bytes as f64)),
        number("allocated_bytes", &|file| file.allocated_bytes.map(|bytes| bytes as f64)),
        words("file_system", &|file| file.file_system.clone()),
        words("devices", &devices),
        words("source", &|file| file.source.clone()),
        words("untranslated", &|file| file.untranslated.to_string()),
        number("extents", &|file| Some(file.layout.extents as f64)),
        number("layout_score_0_to_1", &|file| Some(file.layout.layout_score)),
        number("extents_per_gib", &|file| Some(file.layout.extents_per_gib)),
        number("extents_per_mib_window", &|file| Some(file.layout.extents_per_mib_window)),
        number("span_bytes", &|file| Some(file.layout.span_bytes as f64)),
        number("span_0_to_1", &|file| file.layout.span),
        number("placed_bytes", &|file| Some(file.layout.placed_bytes as f64)),
        number("shared_bytes", &|file| Some(file.layout.shared_bytes as f64)),
        number("unwritten_bytes", &|file| Some(file.layout.unwritten_bytes as f64)),
        number("compressed_bytes", &|file| Some(file.layout.compressed_bytes as f64)),
        number("inline_bytes", &|file| Some(file.layout.inline_bytes as f64)),
        number("unknown_bytes", &|file| Some(file.layout.unknown_bytes as f64)),
        number("holes", &|file| Some(file.layout.holes as f64)),
        number("hole_bytes", &|file| Some(file.layout.hole_bytes as f64)),
        words("access", &|file| {
            file.cost.as_ref().map(|cost| cost.access.clone()).unwrap_or_default()
        }),
        cost("commands_per_request", |cost| cost.commands_per_request),
        cost("commands_per_request_error", |cost| cost.commands_per_request_error),
        cost("contiguous_commands_per_request", |cost| cost.contiguous_commands_per_request),
        cost("extra_commands", |cost| cost.extra_commands),
        words("simulated_on", &|file| {
            simulated(file).map(|simulated| simulated.on.clone()).unwrap_or_default()
        }),
        performance("iops", |of| of.now.iops),
        performance("contiguous_iops", |of| of.contiguous.iops),
        performance("response_mean_ms", |of| of.now.response_ms),
        performance("contiguous_response_mean_ms", |of| of.contiguous.response_ms),
        performance("throughput_mb_per_s", |of| of.now.mb_per_s),
        performance("contiguous_throughput_mb_per_s", |of| of.contiguous.mb_per_s),
    ]
}
