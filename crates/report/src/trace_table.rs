//! What is in a block trace, as text.

use crate::columns::Columns;
use crate::files_table::figure_words;
use strewn_results::words::{about, with_commas};
use strewn_results::{ResponseTime, TraceFigures, TraceSizeBin, TraceVolume};

/// A figure of a trace, and what it means.
struct Row {
    name: &'static str,
    value: String,
    note: String,
}

/// Returns the figures of a trace as tables, for a person.
#[must_use]
pub fn trace_text(trace: &TraceFigures) -> String {
    let TraceFigures { file, format, operations, .. } = trace;
    let mut text = format!(
        "{}: {} operations, format {format}\n\n",
        crate::shown_path(file),
        counted(*operations)
    );
    text.push_str(
        &Columns::<Row>::new()
            .words("trace", |row| row.name.to_owned())
            .number("value", |row| row.value.clone())
            .words("note", |row| row.note.clone())
            .render(&overview(trace)),
    );
    let mut section = |title: &str, table: String| {
        if !table.is_empty() {
            text.push_str(&format!("\n{title}\n\n{table}"));
        }
    };
    section("Sizes: operations up to so many bytes, and larger than half of it", sizes(trace));
    section("Recorded response times, ms", responses(trace));
    if trace.volumes > 1 {
        let title = match trace.volumes {
            volumes if volumes > trace.hottest.len() as u64 => {
                format!("The busiest of {} volumes", counted(volumes))
            }
            volumes => format!("{} volumes, the busiest first", counted(volumes)),
        };
        section(&title, volumes(&trace.hottest));
    }
    text
}

fn counted(count: u64) -> String {
    with_commas(&count.to_string())
}

fn percent(value: f64) -> String {
    format!("{} %", figure_words(value))
}

fn overview(trace: &TraceFigures) -> Vec<Row> {
    let TraceFigures { operations, reads, rates, sizes, footprint, order, skipped, .. } = trace;
    let mut rows = Vec::new();
    let mut row = |name, value: String, note: String| rows.push(Row { name, value, note });
    let bytes = trace.read_bytes + trace.written_bytes;
    row("volumes", counted(trace.volumes), String::new());
    row("duration", duration(trace.seconds), String::new());
    row(
        "reads",
        percent(100.0 * *reads as f64 / (*operations).max(1) as f64),
        format!("{} of {}", about(trace.read_bytes as f64), about(bytes as f64)),
    );
    row("mean rate", format!("{} IOPS", figure_words(rates.mean_iops)), mib(rates.mean_mib_per_s));
    row(
        "busiest second",
        format!("{} IOPS", figure_words(rates.peak_1s_iops)),
        format!("{} in the second with most bytes", mib(rates.peak_1s_mib_per_s)),
    );
    if let Some(peak) = rates.peak_60s_iops {
        row("busiest minute", format!("{} IOPS", figure_words(peak)), String::new());
    }
    if let Some(dispersion) = rates.dispersion_1s {
        let note = "variance of a second's operations by their mean: 1 at random, more in bursts";
        row("dispersion", figure_words(dispersion), note.to_owned());
    }
    if let Some(variation) = rates.gap_variation {
        let note = "standard deviation of gaps by their mean: 1 at random, more in bursts";
        row("gap variation", figure_words(variation), note.to_owned());
    }
    row("mean read", about(sizes.mean_read_bytes), String::new());
    row("mean write", about(sizes.mean_written_bytes), String::new());
    if let (Some(p50), Some(p95)) = (sizes.p50_bytes, sizes.p95_bytes) {
        let note = format!(
            "95 % up to {}, the largest {}",
            about(p95 as f64),
            about(sizes.max_bytes as f64)
        );
        row("median size", about(p50 as f64), note);
    }
    row("aligned", percent(sizes.aligned_percent), "begin and end at blocks of 4 KiB".to_owned());
    let streams = order.streams;
    row(
        "sequential reads",
        percent(order.sequential_reads_percent),
        format!("begin where one of the last {streams} operations of their volume ended"),
    );
    row("sequential writes", percent(order.sequential_writes_percent), String::new());
    let error = match footprint.error_percent {
        0.0 => "exact".to_owned(),
        error => format!("estimated, with a standard error of {} %", figure_words(error)),
    };
    let blocks = |blocks: u64| about(4096.0 * blocks as f64);
    row(
        "footprint",
        blocks(footprint.blocks),
        format!(
            "different blocks of 4 KiB, {error}, among {}",
            about(footprint.address_bytes as f64)
        ),
    );
    row("read footprint", blocks(footprint.read_blocks), String::new());
    row("write footprint", blocks(footprint.written_blocks), String::new());
    row(
        "reused",
        percent(footprint.reused_percent),
        "of accesses to blocks are to blocks accessed before".to_owned(),
    );
    row(
        "rewritten",
        percent(footprint.rewritten_percent),
        "of writes to blocks are to blocks written before".to_owned(),
    );
    for (name, count, note) in [
        ("times go back", trace.times_that_go_back, "operations; strewn run needs --hold-back"),
        ("discards", skipped.trims, "left out"),
        ("without bytes", skipped.empty, "operations, left out"),
        ("without data", skipped.no_data, "flushes and other commands, left out"),
        ("other events", skipped.other_actions, "other moments of an operation, opens and closes"),
        ("other volumes", skipped.other_volumes, "operations of volumes that were not chosen"),
    ] {
        if count > 0 {
            row(name, counted(count), note.to_owned());
        }
    }
    rows
}

fn mib(mib_per_s: f64) -> String {
    format!("{} MiB/s", figure_words(mib_per_s))
}

fn duration(seconds: f64) -> String {
    match seconds {
        seconds if seconds >= 2.0 * 86_400.0 => {
            format!("{} days", figure_words(seconds / 86_400.0))
        }
        seconds if seconds >= 7_200.0 => format!("{} h", figure_words(seconds / 3_600.0)),
        seconds if seconds >= 120.0 => format!("{} min", figure_words(seconds / 60.0)),
        seconds => format!("{} s", figure_words(seconds)),
    }
}

fn sizes(trace: &TraceFigures) -> String {
    let all = trace.operations.max(1) as f64;
    Columns::<TraceSizeBin>::new()
        .words("up to", |bin| about(bin.up_to_bytes as f64))
        .number("reads", |bin| counted(bin.reads))
        .number("writes", |bin| counted(bin.writes))
        .number("of all\n%", move |bin| figure_words(100.0 * (bin.reads + bin.writes) as f64 / all))
        .render_any(&trace.sizes.bins)
}

fn responses(trace: &TraceFigures) -> String {
    let Some(responses) = &trace.responses else { return String::new() };
    let rows = [
        ("all", &responses.all_ms),
        ("reads", &responses.reads_ms),
        ("writes", &responses.writes_ms),
    ];
    Columns::<(&str, &ResponseTime)>::new()
        .words("", |row| row.0.to_owned())
        .number("mean", |row| figure_words(row.1.mean))
        .number("p50", |row| figure_words(row.1.p50))
        .number("p95", |row| figure_words(row.1.p95))
        .number("p99", |row| figure_words(row.1.p99))
        .number("max", |row| figure_words(row.1.max))
        .render(&rows)
}

fn volumes(hottest: &[TraceVolume]) -> String {
    Columns::<TraceVolume>::new()
        .words("volume", |volume| volume.volume.to_string())
        .number("operations", |volume| counted(volume.operations))
        .number("reads\n%", |volume| {
            figure_words(100.0 * volume.reads as f64 / volume.operations.max(1) as f64)
        })
        .number("moved", |volume| about(volume.bytes as f64))
        .number("highest\naddress", |volume| about(volume.end_bytes as f64))
        .render(hottest)
}
