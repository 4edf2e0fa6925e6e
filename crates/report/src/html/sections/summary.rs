//! The summary: what was run, its beginning and its end.

use crate::columns::{Cell, Columns, Figure, SegmentRow};
use crate::headline::{percent_change, whole};
use crate::html::block::Block;
use crate::html::sections::behaviour::Ends;
use crate::segments_table::{cache_hits, cache_hits_heading};
use strewn_results::words::{about, fixed, subject};
use strewn_results::{
    ArrayResults, Cause, Column, FigureBand, LikePair, Loss, LossPart, Metric, Results, Severity,
    like_pairs,
};
use strewn_results::{busiest, loss_between, unaccounted_between};

/// The names of the first and the last segment. Real spindles may have been used before the first segment.
struct EndWords {
    first: &'static str,
    last: &'static str,
}

impl EndWords {
    const fn of(results: &Results) -> Self {
        match results.real_spindles {
            None => Self { first: "fresh", last: "in the end" },
            Some(_) => Self { first: "first segment", last: "last segment" },
        }
    }
}

/// Which segments are compared in a run with phases.
const ALIKE_IN_PHASES: &str = "Fresh and in the end are the first and the last segment of phases with the same workloads. Phases \
                               with other workloads are not compared.";

/// Why segments are missing from comparisons.
const NOT_ALIKE: &str = "Only like segments are compared: of full length, with the same mix of operations, and with the array, \
                         not its host, as the limit. First and last are the first and the last of these.";

pub(super) fn summary(results: &Results) -> Vec<Block> {
    let mut blocks = subject_of(results);
    let table = ends_table(results);
    let has_table = table.is_some();
    blocks.extend(table);
    let notes = results.findings.iter().filter(|finding| finding.severity == Severity::Note);
    let mut items: Vec<String> = notes.map(|finding| with_signs(&finding.text)).collect();
    for array in &results.arrays {
        let pairs = like_pairs(results.workload.as_ref(), array);
        items.extend(pairs.iter().filter_map(|pair| change_in_words(results, array, pair)));
    }
    for compared in results.published.iter().filter(|compared| compared.metric == Metric::Iops) {
        if let Some(rms) = compared.predicted_rms_error_percent {
            items.push(format!(
                "{}: predicted IOPS, in segments that no parameter was fitted to, are within {} % RMS of the published ones; \
                 the worst error of all segments is {} %, in segment {}.{}",
                compared.array,
                fixed(rms, 1),
                percent_change(compared.worst_error_percent),
                compared.worst_segment,
                published_and_band(results, &compared.array)
            ));
        }
    }
    if !items.is_empty() {
        blocks.push(Block::List { items });
    }
    let has_phases = results.arrays.iter().any(|array| !array.phases.is_empty());
    let is_compared = |array: &ArrayResults| {
        let pairs = like_pairs(results.workload.as_ref(), array);
        pairs.first().map(|pair| (pair.first.index, pair.last.index))
    };
    let ends = |array: &ArrayResults| {
        array
            .segments
            .first()
            .zip(array.segments.last())
            .map(|(one, other)| (one.index, other.index))
    };
    if has_table {
        if has_phases {
            blocks.push(Block::note(ALIKE_IN_PHASES));
        } else if results.real_spindles.is_none() {
            blocks.push(Block::note("Fresh is the first segment, the end the last."));
        }
    }
    if !has_phases && results.arrays.iter().any(|array| is_compared(array) != ends(array)) {
        blocks.push(Block::note(NOT_ALIKE));
    }
    blocks
}

/// Says how many published figures are in the bands of an array; nothing without bands.
fn published_and_band(results: &Results, array: &str) -> String {
    let of_array = results.bands.as_ref().and_then(|bands| bands.array(array));
    match of_array.filter(|of| !of.published.is_empty()) {
        Some(of) => format!(
            " Of {} published IOPS, {} are in the band, which \u{201c}Fitted and predicted\u{201d} explains.",
            of.published.len(),
            of.published.len() - of.published_outside.len()
        ),
        None => String::new(),
    }
}

/// Returns a sentence with the signs of print: a minus before a figure.
fn with_signs(text: &str) -> String {
    let mut signed = String::with_capacity(text.len());
    let mut before = ' ';
    for (at, letter) in text.char_indices() {
        let is_figure =
            text[at + letter.len_utf8()..].starts_with(|next: char| next.is_ascii_digit());
        let is_minus = letter == '-' && is_figure && matches!(before, ' ' | '(');
        signed.push(if is_minus { '\u{2212}' } else { letter });
        before = letter;
    }
    signed
}

/// Says what the experiment is, and under which load.
fn subject_of(results: &Results) -> Vec<Block> {
    let ended = |title: &String| match title.ends_with(['.', '?', '!']) {
        true => title.clone(),
        false => format!("{title}."),
    };
    let title = results.title.as_ref().map(ended);
    let load = results.load_words().map(|load| format!("Workload: {load}."));
    let words: Vec<String> = title.into_iter().chain(load).collect();
    if words.is_empty() { Vec::new() } else { vec![Block::paragraph(words.join(" "))] }
}

/// Describes the arrays, as far as the results say.
pub(super) fn what_was_run(results: &Results) -> Option<Block> {
    let EndWords { first, last } = EndWords::of(results);
    let hits = cache_hits_heading(results);
    let hits_of = |array: &ArrayResults, at: usize| {
        // The first segment and the last may be of unlike phases.
        let mut rows = SegmentRow::of(results, array).filter(|_| array.phases.is_empty());
        rows.nth(at).map_or_else(|| Cell::from(""), |row| cache_hits(&row).into())
    };
    let spindles = |(position, _): &(usize, &ArrayResults), count: u32, of: &str| {
        Figure::count(count.into()).at(format!("arrays/{position}/spindles/{of}"))
    };
    let bytes = |bytes: Option<f64>| bytes.map(about).unwrap_or_default();
    let columns = Columns::new()
        .words("array", |(_, array): &(usize, &ArrayResults)| array.name.clone())
        .words("layout", |(_, array)| array.layout.as_str())
        .number("data spindles", |row| spindles(row, row.1.spindles.data, "data"))
        .number("parity spindles", |row| {
            let parity = row.1.spindles.parity;
            (parity > 0).then(|| spindles(row, parity, "parity"))
        })
        .words("LUN", |(_, array)| bytes(array.lun_bytes.map(|bytes| bytes as f64)))
        .words("cache", |(_, array)| bytes(array.cache_bytes()))
        .words("host operations", |(_, array)| array.outstanding_words())
        .number(format!("{hits}, {first}"), |(_, array)| hits_of(array, 0))
        .number(format!("{hits}, {last}"), |(_, array)| {
            hits_of(array, array.segments.len().saturating_sub(1))
        });
    let arrays: Vec<(usize, &ArrayResults)> = results.arrays.iter().enumerate().collect();
    columns.block("What was run", &arrays)
}

/// Describes how an array's IOPS changed between two segments, and why if they fell; none if they are one.
fn change_in_words(results: &Results, array: &ArrayResults, pair: &LikePair<'_>) -> Option<String> {
    let LikePair { workloads, first, last } = *pair;
    if first.index == last.index || first.iops <= 0.0 {
        return None;
    }
    let percent = 100.0 * (last.iops - first.iops) / first.iops;
    let band = results.bands.as_ref().and_then(|bands| {
        let mut changes = bands.array(&array.name)?.changes.iter();
        let ends = (first.index, last.index);
        let found = changes.find(|change| (change.from_segment, change.to_segment) == ends)?;
        let FigureBand { low, high, .. } = found.band;
        Some(format!(", band {} to {} %", percent_change(low), percent_change(high)))
    });
    let change = format!(
        "{} goes from {} IOPS in segment {} to {} in segment {} ({} %{})",
        subject(&array.name, workloads),
        whole(first.iops),
        first.index,
        whole(last.iops),
        last.index,
        percent_change(percent),
        band.unwrap_or_default()
    );
    if let Some(unaccounted) = unaccounted_between(array, pair) {
        return Some(format!("{change}. {}", unaccounted.reason()));
    }
    match loss_between(results, array, pair) {
        // The results do not tell commands apart.
        None if results.real_spindles.is_none() => None,
        _ if percent >= 0.0 => Some(format!("{change}: nothing was lost.")),
        Some(loss) if loss.is_notable() => Some(format!("{change}. {}", causes_in_words(&loss))),
        Some(_) => Some(format!("{change}: nothing to explain.")),
        None => Some(format!(
            "{change}. Busiest at first: the {}; its time cannot be broken down.",
            busiest(results, first).as_str()
        )),
    }
}

fn causes_in_words(loss: &Loss) -> String {
    let difference = loss.to_iops - loss.from_iops;
    let percent = |part: &LossPart| 100.0 * part.iops / difference;
    let listed = |sign: f64| {
        // Parity spindles that wait while the limit is busy cause no loss.
        let parts = loss.parts.iter().filter(|part| part.cause != Cause::ParityWaiting);
        let parts = parts.map(|part| (sign * percent(part), part.cause));
        let mut parts: Vec<_> = parts.filter(|(percent, _)| *percent >= 10.0).collect();
        parts.sort_by(|one, other| other.0.total_cmp(&one.0));
        let words = |(percent, cause): &(f64, Cause)| {
            format!("{} % {}", fixed(*percent, 0), cause.words(loss.limit))
        };
        parts.iter().map(words).collect::<Vec<_>>().join(", ")
    };
    // The causes can exceed the loss, if others made up for part of it.
    let given_back = match listed(-1.0) {
        none if none.is_empty() => none,
        parts => format!("; given back: {parts}"),
    };
    let of = loss.limit.as_str();
    format!("Limited at first by the {of}. Shares of the difference: {}{given_back}.", listed(1.0))
}

/// Returns a row for each kind of phase of each array; none if nothing may be compared.
fn ends_table(results: &Results) -> Option<Block> {
    let EndWords { first, last } = EndWords::of(results);
    let caption = match results.real_spindles {
        None => "Fresh, and in the end",
        Some(_) => "The first segment and the last",
    };
    const IOPS: &Column = Column::declared("host_ops_per_s");
    const RESPONSE: &Column = Column::declared("response_mean_ms");
    const COMMANDS: &Column = Column::declared("spindle_commands_per_host_op");
    const SCORE: &Column = Column::declared("layout_score_0_to_1");
    let columns = Columns::new()
        .words("array", Ends::subject)
        .words("IOPS by segment", |ends: &Ends<'_>| {
            let array = ends.first.array;
            Cell::Sparkline(sparkline(array, array.kind_of(ends.first.segment)))
        })
        .number(format!("IOPS, {first}"), |ends| ends.first.figure(IOPS))
        .number(format!("IOPS, {last}"), |ends| ends.last.figure(IOPS))
        .number("change %", |ends| {
            let [from, to] = [&ends.first, &ends.last].map(|row| row.segment.iops);
            Figure::change(100.0 * (to - from) / from.max(f64::MIN_POSITIVE), 1)
        })
        .number(format!("response ms, {first}"), |ends| ends.first.figure(RESPONSE))
        .number(format!("response ms, {last}"), |ends| ends.last.figure(RESPONSE))
        .number(format!("spindle commands per op, {first}"), |ends| ends.first.figure(COMMANDS))
        .number(format!("spindle commands per op, {last}"), |ends| ends.last.figure(COMMANDS))
        .number(format!("layout score, {last}"), |ends| ends.last.figure(SCORE));
    columns.block(caption, &Ends::all(results))
}

/// Returns IOPS by segment, of one kind of phase, as the corners of a line the height of a word, from zero.
fn sparkline(array: &ArrayResults, kind: &[String]) -> String {
    let of_kind = || array.segments.iter().filter(|segment| array.kind_of(segment) == kind);
    let highest = of_kind().map(|segment| segment.iops).fold(0.0, f64::max);
    let step = 116.0 / (of_kind().count().max(2) - 1) as f64;
    let points: Vec<String> = of_kind()
        .enumerate()
        .map(|(position, segment)| {
            let down = 22.0 - 20.0 * segment.iops / highest.max(f64::MIN_POSITIVE);
            format!("{:.1},{down:.1}", 2.0 + step * position as f64)
        })
        .collect();
    points.join(" ")
}
