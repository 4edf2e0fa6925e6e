//! The sections of a report.

mod behaviour;
mod controller_work;
mod groups;
mod loss;
mod machine;
mod map;
mod prediction;
mod scenario;
mod segments;
mod summary;

use crate::beside::Beside;
use crate::chart::ChartError;
use crate::controller_work::CONTROLLER_WORK_HEADING;
use crate::failures_table::{failure_columns, failure_notes, failure_rows};
use crate::group_tables::{CLIENT_RAID_HEADING, PAGE_CACHE_HEADING, group_columns, group_rows};
use crate::html::block::{Block, Section};
use crate::overhead_table::{overhead_columns, overhead_rows};
use crate::phases_table::{LIKE_PHASES, phase_columns};
use crate::results_chart::ResultsChart;
use crate::rows_table::{ROWS_HEADING, row_columns, row_rows, row_sentences};
use strewn_results::{Group, LayoutMap, Results, phase_figures};

/// Returns a table and the note below it; nothing without the table.
fn with_note(table: Option<Block>, note: Option<&str>) -> Vec<Block> {
    with_notes(table, note)
}

fn with_notes<N: Into<String>>(
    table: Option<Block>,
    notes: impl IntoIterator<Item = N>,
) -> Vec<Block> {
    let Some(table) = table else { return Vec::new() };
    [table].into_iter().chain(notes.into_iter().map(Block::note)).collect()
}

/// Returns the sections for which these results have something to show.
pub(super) fn all(
    results: &Results,
    map: Option<&LayoutMap>,
    scenario: Option<&str>,
    beside: &Beside<'_>,
) -> Result<Vec<Section>, ChartError> {
    let section = |id, title, blocks| Section { id, title, blocks };
    let chart = |chart, has_rows| Block::chart(results, map, beside, chart, has_rows);
    let mut losses = loss::account(results);
    if !losses.is_empty() {
        losses.splice(1..1, chart(ResultsChart::Loss, true)?);
    }
    let caption = "What has to be bought, and what a spindle of it gives";
    let price = overhead_columns(results, false).block(caption, &overhead_rows(results));
    let mut price = with_note(price, Some("* Configuration used for all other figures."));
    if !price.is_empty() {
        price.splice(0..0, chart(ResultsChart::PerSpindle, true)?);
    }
    let rows_table = row_columns(results).block(ROWS_HEADING, &row_rows(results));
    let mut rows: Vec<Block> = rows_table.into_iter().collect();
    rows.extend(row_sentences(results).into_iter().map(Block::note));
    for shown in [
        ResultsChart::Rows,
        ResultsChart::RowsIops,
        ResultsChart::RowsResponse,
        ResultsChart::RowsSeconds,
        ResultsChart::RowsPercent,
    ] {
        rows.extend(chart(shown, true)?);
    }
    rows.extend(chart(ResultsChart::Throughput, true)?);
    let mut summary = summary::summary(results);
    for shown in [ResultsChart::Iops, ResultsChart::Response] {
        summary.extend(chart(shown, false)?);
    }
    summary.extend(summary::what_was_run(results));
    let mut behaviour = Vec::new();
    for shown in [
        ResultsChart::Commands,
        ResultsChart::Utilization,
        ResultsChart::Percentiles,
        ResultsChart::Workloads,
        ResultsChart::Scores,
    ] {
        behaviour.extend(chart(shown, false)?);
    }
    behaviour.extend(behaviour::spindles(results));
    let mut machine = machine::in_front(results);
    if !machine.is_empty() {
        machine.splice(0..0, chart(ResultsChart::TimeIn, true)?);
    }
    let mut groups = groups::groups(results);
    if !groups.is_empty() {
        groups.splice(0..0, chart(ResultsChart::Groups, true)?);
    }
    let mut pictures = Vec::new();
    if let Some((map, last_segment)) = map.and_then(|map| Some((map, map::last_segment(map)?))) {
        pictures.push(Block::paragraph(
            "One row per spindle, first address at the left. Height: the share of that column that holds the file. Colour: the \
             distance of those blocks from their predecessors in the file.",
        ));
        pictures.extend(chart(ResultsChart::Map, true)?);
        pictures.push(map::by_spindle(map, last_segment));
    }
    let of_group = |group: Group, caption: &str| {
        group_columns(group).block(caption, &group_rows(results, group)).into_iter().collect()
    };
    let configured = match results.real_spindles {
        Some(_) => "The array",
        None => "The scenario",
    };
    let sections = [
        section("rows", ROWS_HEADING, rows),
        section("summary", "Summary", summary),
        section(
            "phases",
            "Phases",
            with_note(
                phase_columns(results)
                    .block("Each phase, over all its segments", &phase_figures(results)),
                Some(LIKE_PHASES),
            ),
        ),
        section("loss", "Where the loss came from", losses),
        section("map", "The map", pictures),
        section("behaviour", "What the arrays did", behaviour),
        section(
            "controller-work",
            CONTROLLER_WORK_HEADING,
            controller_work::controller_work(results),
        ),
        section("time-in", "Where the time of an operation went", machine),
        section(
            "page-cache",
            PAGE_CACHE_HEADING,
            of_group(Group::PageCache, "What the caches read from LUNs and wrote to them"),
        ),
        section(
            "client-raid",
            CLIENT_RAID_HEADING,
            of_group(
                Group::ClientRaid,
                "Requests of clients to blades for each operation, and MiB/s",
            ),
        ),
        section("groups", results.group_words().heading, groups),
        section(
            "failures",
            "Spindles that failed",
            with_notes(
                failure_columns(results).block("Failures and rebuilds", &failure_rows(results)),
                failure_notes(results),
            ),
        ),
        section("prediction", "Fitted and predicted", prediction::prediction(results)),
        section("price", "Spindles to buy", price),
        section("segments", "All segments", segments::segments(results)),
        section("scenario", configured, scenario::scenario(results, scenario)),
    ];
    Ok(sections.into_iter().filter(|section| !section.blocks.is_empty()).collect())
}
