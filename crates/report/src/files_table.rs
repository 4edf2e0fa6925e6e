//! Real files, their free space and their comparison as text, and files as CSV.

use crate::columns::{Columns, FileColumn, write_csv};
use crate::shown::shown_path;
use std::io::Write;
use strewn_results::words::{about, fixed, with_commas};
use strewn_results::{
    FileCost, FilePerformance, FileRecord, FileTotals, FreeSpaceRecord, ResultsError,
};

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

fn simulated(record: &FileRecord) -> Option<&strewn_results::FileSimulation> {
    record.cost.as_ref()?.simulated.as_ref()
}

/// Returns a row for each file, and a sentence for each that was simulated. The path comes last, since it may be long.
#[must_use]
pub fn files_table(files: &[FileRecord]) -> String {
    let any = |has: fn(&FileRecord) -> bool| files.iter().any(has);
    let any_cost = any(|file| file.cost.is_some());
    let mut text = layout_columns(files, true)
        .when(any_cost, |columns| {
            columns
                .number("commands\nper request\nnow", |file| {
                    cost(file, |cost| cost.commands_per_request)
                })
                .number("contig-\nuous", |file| {
                    cost(file, |cost| cost.contiguous_commands_per_request)
                })
        })
        .when(any(|file| simulated(file).is_some()), |columns| {
            // One says the other, and a terminal is narrow; --json and --csv have both.
            let scans = any(|file| file.cost.as_ref().is_some_and(|cost| cost.is_sequential));
            let of = move |performance: FilePerformance| match scans {
                true => performance.mb_per_s,
                false => performance.iops,
            };
            let now = move |file: &FileRecord| Some(figure_words(of(simulated(file)?.now)));
            columns
                .number(if scans { "MB/s\nnow" } else { "IOPS\nnow" }, now)
                .number("contig-\nuous", move |file| {
                    Some(figure_words(of(simulated(file)?.contiguous)))
                })
        })
        .when(files.len() > 1 && any_cost, |columns| {
            columns.number("extra\ncommands\na pass", |file| {
                cost(file, |cost| cost.extra_commands.max(0.0).round())
            })
        })
        .when(files.len() > 1 && any(|file| lost_by_scan_s(file).is_some()), |columns| {
            columns.number("a scan\nloses\ns", |file| lost_by_scan_s(file).map(figure_words))
        })
        .words("", |file| shown_path(&file.path))
        .render(files);
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

/// Seconds that reading all of a file once loses to the same file laid out contiguously.
fn lost_by_scan_s(file: &FileRecord) -> Option<f64> {
    simulated(file)?.scan_s.map(|(now, contiguous)| (now - contiguous).max(0.0))
}

fn cost(file: &FileRecord, of: fn(&FileCost) -> f64) -> Option<String> {
    file.cost.as_ref().map(of).map(figure_words)
}

/// Returns the columns of how files lie: on a terminal those for which there is room, and only if some file has them.
pub(crate) fn layout_columns<'a>(
    files: &[FileRecord],
    on_terminal: bool,
) -> Columns<'a, FileRecord> {
    let any = |has: fn(&FileRecord) -> bool| !on_terminal || files.iter().any(has);
    // A terminal says of a file without extents that it has no layout.
    let extents = move |file: &FileRecord, words: String| {
        (!on_terminal || file.layout.extents > 0).then_some(words)
    };
    let bytes = |bytes: u64| (bytes > 0).then(|| about(bytes as f64));
    Columns::<FileRecord>::new()
        .number("size", |file| about(file.bytes as f64))
        .number("extents", |file| with_commas(&file.layout.extents.to_string()))
        .number("layout\nscore", move |file| extents(file, score_words(file.layout.layout_score)))
        .number("extents\nper GiB", move |file| {
            extents(file, figure_words(file.layout.extents_per_gib))
        })
        .number("extents\nper MiB\nwindow", move |file| {
            let extents = file.layout.extents_per_mib_window;
            (!on_terminal || extents != 0.0).then(|| fixed(extents, 1))
        })
        .when(!on_terminal, |columns| {
            columns.number("span", |file| about(file.layout.span_bytes as f64))
        })
        .when(any(|file| file.layout.span.is_some()), |columns| {
            columns.number(("span\n%", "span, % of the device"), |file| {
                file.layout.span.map(share_percent)
            })
        })
        .when(any(|file| file.layout.shared_bytes > 0), |columns| {
            columns.number("shared\n%", move |file| {
                let is_shown = on_terminal || file.layout.shared_bytes > 0;
                is_shown.then(|| share_percent(file.layout.shared()))
            })
        })
        .when(any(|file| file.layout.holes > 0), |columns| {
            columns.number("holes", move |file| bytes(file.layout.hole_bytes))
        })
        .when(!on_terminal, |columns| {
            columns
                .number("unwritten", move |file| bytes(file.layout.unwritten_bytes))
                .number("compressed", move |file| bytes(file.layout.compressed_bytes))
                .number("in metadata", move |file| bytes(file.layout.inline_bytes))
                .number("place unknown", move |file| bytes(file.layout.unknown_bytes))
        })
}

/// Says once what all files have in common: the access specification, the drive, the devices.
fn legend(files: &[FileRecord]) -> String {
    let mut lines: Vec<String> = Vec::new();
    let mut add = |line: String| {
        if !lines.contains(&line) {
            lines.push(line);
        }
    };
    let costs = || files.iter().filter_map(|file| file.cost.as_ref());
    let outstanding = costs().filter_map(|cost| Some(cost.simulated.as_ref()?.outstanding)).max();
    let mut accesses: Vec<&str> = costs().map(|cost| cost.access.as_str()).collect();
    accesses.dedup();
    let on = costs().find_map(|cost| Some(cost.simulated.as_ref()?.on.clone()));
    match (accesses.as_slice(), on, outstanding) {
        ([], ..) => {}
        (accesses, Some(on), Some(outstanding)) => add(format!(
            "Requests: {}, {}{outstanding} outstanding; IOPS and MB/s are simulated on {on}.",
            accesses.join(", "),
            if files.len() > 1 { "up to " } else { "" },
        )),
        (accesses, ..) => add(format!("Requests: {}.", accesses.join(", "))),
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

/// Says what a file lies on.
pub(crate) fn on_devices(file: &FileRecord) -> String {
    let device = |device: &strewn_results::FileDevice| match device.rotational {
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

fn prediction_words(file: &FileRecord, prediction: &strewn_results::FilePrediction) -> String {
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
    let count = |number: u64, what: &str| {
        let digits = with_commas(&number.to_string());
        format!("{digits} {what}{}", if number == 1 { "" } else { "s" })
    };
    let mut words = format!(
        "{}, {}: {}, layout score {}, {} contiguous. As many requests as have their bytes take {} more than if all were contiguous.",
        count(totals.files, "file"),
        about(totals.bytes as f64),
        count(totals.extents, "extent"),
        score_words(totals.layout_score()),
        count(totals.contiguous_files, "file"),
        count(totals.extra_commands.max(0.0).round() as u64, "command"),
    );
    if totals.shared_bytes > 0 {
        words.push_str(&format!(
            " {} are shared, and count in each file that has them.",
            about(totals.shared_bytes as f64)
        ));
    }
    if (listed as u64) < totals.files {
        words.push_str(&match listed {
            1 => " The first is listed; --top lists more.".to_owned(),
            listed => format!(" The first {listed} are listed; --top lists more."),
        });
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
        text.push_str(&format!("  {}\n\n", free_space_sentence(space)));
        text.push_str(&run_columns(space, true).render(&space.runs));
    }
    text
}

/// Returns the columns of runs of free space, for the terminal or for the page.
pub(crate) fn run_columns<'a>(
    space: &FreeSpaceRecord,
    on_terminal: bool,
) -> Columns<'a, (u64, u64)> {
    let all: u64 = space.runs.iter().map(|(_, runs)| runs).sum();
    let class = |(bytes, _): &(u64, u64)| {
        format!("{} to {}", about(*bytes as f64), about(2.0 * *bytes as f64))
    };
    let columns = match on_terminal {
        true => Columns::new().number("runs of", class),
        false => Columns::new().words("runs of", class),
    };
    columns.number("number", |(_, runs)| with_commas(&runs.to_string())).when(
        on_terminal,
        |columns| {
            columns.number("% of runs", move |(_, runs)| {
                share_percent(*runs as f64 / all.max(1) as f64)
            })
        },
    )
}

/// Says how the next write will lie.
pub(crate) fn free_space_sentence(space: &FreeSpaceRecord) -> String {
    let all: u64 = space.runs.iter().map(|(_, runs)| runs).sum();
    if all == 0 || space.free_bytes == 0 {
        return "Nothing is free.".to_owned();
    }
    let mean = space.free_bytes as f64 / all as f64;
    format!(
        "{} free in {} runs of {} in the mean; the longest has {} % of it. A file larger than that is written in pieces.",
        about(space.free_bytes as f64),
        with_commas(&all.to_string()),
        about(mean),
        share_percent(space.largest_run_bytes as f64 / space.free_bytes as f64),
    )
}

/// A figure of a file before and after.
pub(crate) struct Compared {
    path: String,
    name: String,
    before: String,
    after: String,
    change: String,
}

/// Finds for each file of `after` the same file in `before`: by path, else by an only name, else if both lists have one
/// file.
#[must_use]
pub fn earlier_files(before: &[FileRecord], after: &[FileRecord]) -> Vec<Option<usize>> {
    let name = |file: &FileRecord| file.path.rsplit('/').next().unwrap_or_default().to_owned();
    let of = |now: &FileRecord| {
        let by_path = before.iter().position(|old| old.path == now.path);
        let only_name =
            |files: &[FileRecord]| files.iter().filter(|file| name(file) == name(now)).count() == 1;
        let by_name = || {
            let is_only = only_name(before) && only_name(after);
            before.iter().position(|old| name(old) == name(now)).filter(|_| is_only)
        };
        let single = || (before.len() == 1 && after.len() == 1).then_some(0);
        by_path.or_else(by_name).or_else(single)
    };
    after.iter().map(of).collect()
}

/// Returns what changed of the files that are in both lists, and names the others.
#[must_use]
pub fn files_comparison(before: &[FileRecord], after: &[FileRecord]) -> String {
    let matched = earlier_files(before, after);
    let (mut rows, mut lines) = (Vec::new(), Vec::new());
    for (now, old) in after.iter().zip(&matched) {
        let path = shown_path(&now.path);
        let Some(old) = *old else {
            lines.push(format!("{path}: not in the earlier list"));
            continue;
        };
        let compared = compared(&before[old], now);
        if compared.iter().all(|row| row.change == SAME) {
            lines.push(format!("{path}: unchanged"));
        } else {
            rows.extend(compared);
        }
    }
    for (position, old) in before.iter().enumerate() {
        if !matched.contains(&Some(position)) {
            lines.push(format!("{}: only in the earlier list", shown_path(&old.path)));
        }
    }
    let mut text = compared_columns().render_any(&rows);
    lines.iter().for_each(|line| text.push_str(&format!("{line}\n")));
    text
}

/// Returns the rows of a comparison for a page, each with its path.
pub(crate) fn compared_rows(before: &[FileRecord], after: &[FileRecord]) -> Vec<Compared> {
    let matched = earlier_files(before, after);
    let pairs = after.iter().zip(matched).filter_map(|(now, old)| Some((now, &before[old?])));
    let rows = pairs.flat_map(|(now, old)| {
        compared(old, now).into_iter().map(|row| Compared { path: now.path.clone(), ..row })
    });
    rows.collect()
}

pub(crate) fn compared_columns<'a>() -> Columns<'a, Compared> {
    Columns::<Compared>::new()
        .words(("", "file"), |row| row.path.clone())
        .words(("", "figure"), |row| row.name.clone())
        .number("before", |row| row.before.clone())
        .number("after", |row| row.after.clone())
        .number("change", |row| row.change.clone())
}

const SAME: &str = "same";

fn compared(old: &FileRecord, now: &FileRecord) -> Vec<Compared> {
    let mut rows: Vec<Compared> = Vec::new();
    let mut add = |name: &str, before: f64, after: f64, words: fn(f64) -> String| {
        let change = match (before == after, before == 0.0) {
            (true, _) => SAME.to_owned(),
            (false, true) => "-".to_owned(),
            (false, false) => {
                format!("{} %", strewn_results::words::signed(100.0 * (after / before - 1.0), 1))
            }
        };
        let path = if rows.is_empty() { shown_path(&now.path) } else { String::new() };
        let (before, after) = (words(before), words(after));
        rows.push(Compared { path, name: name.to_owned(), before, after, change });
    };
    let whole = |value: f64| with_commas(&fixed(value, 0));
    add("size", old.bytes as f64, now.bytes as f64, about);
    add("extents", old.layout.extents as f64, now.layout.extents as f64, whole);
    add("layout score", old.layout.layout_score, now.layout.layout_score, score_words);
    let windows = [old, now].map(|file| file.layout.extents_per_mib_window);
    add("extents per MiB window", windows[0], windows[1], figure_words);
    if old.layout.shared_bytes + now.layout.shared_bytes > 0 {
        add("shared", old.layout.shared_bytes as f64, now.layout.shared_bytes as f64, about);
    }
    let (Some(then), Some(cost)) = (&old.cost, &now.cost) else { return rows };
    // Costs of other requests, or on another drive, would compare two things at once.
    if then.access == cost.access {
        add(
            &format!("{}: commands per request", cost.access),
            then.commands_per_request,
            cost.commands_per_request,
            figure_words,
        );
    }
    let (Some(then_simulated), Some(simulated)) = (&then.simulated, &cost.simulated) else {
        return rows;
    };
    if then_simulated.on != simulated.on {
        return rows;
    }
    let same_load =
        then.access == cost.access && then_simulated.outstanding == simulated.outstanding;
    let own = (&cost.access, cost.is_sequential, then_simulated.now, simulated.now);
    let own = same_load.then_some(own);
    let others = simulated.others.iter().filter_map(|now| {
        let then = then_simulated.others.iter().find(|then| then.access == now.access)?;
        Some((&now.access, now.is_sequential, then.now, now.now))
    });
    for (access, is_sequential, before, after) in own.into_iter().chain(others) {
        if is_sequential {
            add(&format!("{access}: MB/s"), before.mb_per_s, after.mb_per_s, figure_words);
        } else {
            add(&format!("{access}: IOPS"), before.iops, after.iops, figure_words);
        }
    }
    if let (Some((before, _)), Some((after, _))) = (then_simulated.scan_s, simulated.scan_s) {
        add("reading all of it once, s", before, after, figure_words);
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
fn file_columns(files: &[FileRecord]) -> Vec<FileColumn> {
    let words = |name: &str, of: &dyn Fn(&FileRecord) -> String| {
        FileColumn::words(name, files.iter().map(of))
    };
    let number = |name: &str, of: &dyn Fn(&FileRecord) -> Option<f64>| {
        FileColumn::numbers(name, files.iter().map(of))
    };
    let cost = |name: &str, of: fn(&FileCost) -> f64| {
        number(name, &|file: &FileRecord| file.cost.as_ref().map(of))
    };
    let performance = |name: &str, of: fn(&strewn_results::FileSimulation) -> f64| {
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
