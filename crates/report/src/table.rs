//! Results as tables of plain text, for a terminal of 160 columns or for a log.
//!
//! A table has no escape sequences, and no letters outside ASCII except in names.

use crate::band_words::range;
use crate::columns::{Cell, Columns, optional, segment_list};
use crate::controller_work::{CONTROLLER_WORK_HEADING, controller_work_lines};
use crate::failures_table::failures_table;
use crate::group_tables::{
    CLIENT_RAID_HEADING, PAGE_CACHE_HEADING, client_raid_table, page_cache_table,
};
use crate::groups_table::groups_table;
use crate::headline::headline;
use crate::loss_table::losses_and_others;
use crate::machine_table::{machine_heading, machine_table};
use crate::phases_table::phases_table;
use crate::rows_table::{ROWS_HEADING, rows_table};
use crate::segments_table::segments_table;
use crate::volumes_table::volumes_table;
use crate::workloads_table::workloads_table;
use strewn_results::words::{fixed, kind_in_words, signed};
use strewn_results::{Metric, Origin, OverheadRow, Parameter, PublishedComparison, Ratio, Results};

fn fitted_or_predicted(fitted: bool) -> String {
    if fitted { Origin::Fitted } else { Origin::Predicted }.as_str().to_owned()
}

/// Returns how close the simulated figures are to the published ones: errors by array and metric,
/// and the ratios of arrays. Empty if nothing is published.
#[must_use]
pub fn summary_table(results: &Results) -> String {
    let mut summary = String::new();
    if !results.published.is_empty() {
        summary.push_str(&comparison_columns(&results.published).render(&results.published));
    }
    if !results.ratios.is_empty() {
        if !summary.is_empty() {
            summary.push('\n');
        }
        summary.push_str(&ratio_columns(&results.ratios).render(&results.ratios));
    }
    summary
}

fn comparison_columns(compared: &[PublishedComparison]) -> Columns<'_, PublishedComparison> {
    let columns = Columns::<PublishedComparison>::new()
        .words("array", |row| row.array.clone())
        .words("metric", |row| {
            let name = match row.metric {
                Metric::Iops => "IOPS",
                Metric::MibPerS => "MiB/s",
                Metric::ResponseMs => "mean response, ms",
            };
            name.to_owned()
        })
        .words("fitted to\nsegments", |row| segment_list(&row.fitted_segments))
        .number("segments\ncompared", |row| row.segments.len().to_string())
        .number("segments\npredicted", |row| {
            row.segments.iter().filter(|segment| !segment.fitted).count().to_string()
        })
        .number("RMS error of\npredicted, %", |row| {
            optional(row.predicted_rms_error_percent, |error| fixed(error, 2))
        })
        .number("worst error\nof all, %", |row| signed(row.worst_error_percent, 2))
        .number("in\nsegment", |row| row.worst_segment.to_string());
    if compared.iter().all(|row| row.over_seeds.is_none()) {
        return columns;
    }
    columns
        .number("seeds", |row| row.over_seeds.map_or(1, |errors| errors.seeds).to_string())
        .number("RMS error\nover seeds, %", |row| {
            let errors = row.over_seeds.and_then(|errors| errors.predicted_rms_error_percent);
            errors.map_or_else(|| "-".to_owned(), |errors| range(&errors, false))
        })
        .number("worst error\nover seeds, %", |row| {
            let errors = row.over_seeds.map(|errors| errors.worst_error_percent);
            errors.map_or_else(|| "-".to_owned(), |errors| range(&errors, true))
        })
}

fn ratio_columns(ratios: &[Ratio]) -> Columns<'_, Ratio> {
    let any_band = ratios.iter().any(|ratio| ratio.band.is_some());
    let columns = Columns::<Ratio>::new()
        .words("ratio of IOPS", |row| format!("{} over {}", row.of, row.over))
        .words("", |row| row.name.clone())
        .number("segment", |row| row.segment.to_string())
        .number("published %", |row| fixed(row.published_percent, 1))
        .number("simulated %", |row| fixed(row.simulated_percent, 1));
    let columns = match any_band {
        true => columns.number("band %", |row| Some(Cell::band(row.band.as_ref()?, 1))),
        false => columns,
    };
    columns.words("", |row| fitted_or_predicted(row.fitted))
}

/// Returns the spindles to be bought for each array, and what each of them delivers. The
/// configuration that the other results use has an asterisk. Empty if there is no configuration.
#[must_use]
pub fn overhead_table(results: &Results) -> String {
    if results.overhead.is_empty() {
        return String::new();
    }
    let has_phases = results.overhead.iter().any(|row| !row.workloads.is_empty());
    let mut table = overhead_columns(has_phases).render(&results.overhead);
    table.push_str(match has_phases {
        true => "\nfresh, end: first and last segment of phases with these workloads.",
        false => "\nfresh: first segment; end: last segment.",
    });
    table.push_str(
        " % of in-place: IOPS per spindle, of the in-place \
         array's.\n* the configuration used in all other tables\n",
    );
    table
}

fn overhead_columns(has_phases: bool) -> Columns<'static, OverheadRow> {
    let mut columns = Columns::<OverheadRow>::new().words("array", |row| row.array.clone());
    if has_phases {
        columns = columns.words("workloads", |row| kind_in_words(&row.workloads));
    }
    columns
        .words("spindles to buy", |row| {
            format!("{}{}", row.name, if row.used_by_results { " *" } else { "" })
        })
        .number("spin-\ndles", |row| row.purchased.to_string())
        .number("usable\nGiB", |row| fixed(row.usable_gib, 0))
        .number("% of\nraw", |row| fixed(row.usable_percent_of_raw, 1))
        .number("IOPS/\nspindle\nfresh", |row| fixed(row.iops_per_spindle_fresh, 1))
        .number("\n\nend", |row| fixed(row.iops_per_spindle_end, 1))
        .number("IOPS/\n1000 USD\nfresh", |row| fixed(row.iops_per_1000_usd_fresh, 1))
        .number("\n\nend", |row| fixed(row.iops_per_1000_usd_end, 1))
        .number("% of\nin-place\nfresh", |row| {
            optional(row.percent_of_in_place_fresh, |percent| fixed(percent, 1))
        })
        .number("\n\nend", |row| optional(row.percent_of_in_place_end, |percent| fixed(percent, 1)))
}

/// Returns the numbers that were fitted to published segments. Empty if none was.
#[must_use]
pub fn fitted_table(results: &Results) -> String {
    let fitted: Vec<(String, Parameter)> = results
        .arrays
        .iter()
        .flat_map(|array| {
            let fitted = array.parameters.iter();
            let fitted = fitted.filter(|parameter| !parameter.fitted_to_segments.is_empty());
            fitted.map(|parameter| (array.name.clone(), parameter.clone()))
        })
        .collect();
    if fitted.is_empty() {
        return String::new();
    }
    Columns::<(String, Parameter)>::new()
        .words("array", |(array, _)| array.clone())
        .words("fitted parameter", |(_, parameter)| parameter.name.clone())
        .number("value", |(_, parameter)| parameter.value.to_string())
        .words("unit", |(_, parameter)| parameter.unit.clone())
        .words("to published\nsegments", |(_, parameter)| {
            segment_list(&parameter.fitted_to_segments)
        })
        .render(&fitted)
}

/// Returns the finding of the run in a sentence ([`headline`](crate::headline())), and all tables, each under a line
/// that describes it, with what a reader must know about the run.
#[must_use]
pub fn all_tables(results: &Results) -> String {
    // Text for terminals and logs is ASCII; the page has the typographic signs.
    let finding = headline(results).replace('\u{2019}', "'").replace('\u{2212}', "-");
    let finding = finding.replace(['\u{201c}', '\u{201d}'], "\"");
    let mut all = format!("{finding}\n");
    for caveat in results.caveats() {
        all.push_str(&caveat);
        all.push('\n');
    }
    for change in results.scaled.iter().flat_map(|scaled| &scaled.what) {
        all.push_str(&format!("  {change}\n"));
    }
    all.push_str(&format!(
        "\n{}: seed {}, strewn {}, {} host operations\n",
        results.scenario, results.seed, results.strewn, results.host_ops
    ));
    if let Some(title) = &results.title {
        all.push_str(&format!("{title}\n"));
    }
    if let Some(load) = results.load_words() {
        all.push_str(&format!("Workload: {load}\n"));
    }
    let mut section = |title: &str, table: &str| {
        if !table.is_empty() {
            all.push_str(&format!("\n{title}\n\n{table}"));
        }
    };
    // A published table has its rows in one; what each array did is in the files of the run.
    if !results.published_rows.is_empty() {
        section(ROWS_HEADING, &rows_table(results));
        all.push_str("\nWhat each array did, by segment: --out DIR.\n");
        return all;
    }
    for array in &results.arrays {
        let spindles = match &results.real_spindles {
            // The spindles exist already: none to buy.
            Some(_) => array.working_spindles(),
            None => format!(
                "{} working spindles of {} to buy",
                array.spindles.data + array.spindles.parity,
                array.spindles.purchased
            ),
        };
        let (layout, load) = (array.layout.as_str(), array.outstanding_words());
        let title = format!("{}: {layout}, {load}, {spindles}", array.name);
        if array.segments.is_empty() {
            section(&title, "No segment was complete.\n");
            continue;
        }
        section(&title, &segments_table(results, array));
        section(&format!("{}: by workload", array.name), &workloads_table(results, array));
        section(&format!("{}: by volume", array.name), &volumes_table(results, array));
    }
    section("Phases", &phases_table(results));
    section(CONTROLLER_WORK_HEADING, &controller_work_lines(results));
    section(&machine_heading(results), &machine_table(results));
    section(PAGE_CACHE_HEADING, &page_cache_table(results));
    section(CLIENT_RAID_HEADING, &client_raid_table(results));
    section(results.group_words().heading, &groups_table(results));
    section("Spindles that failed", &failures_table(results));
    let [losses, others] = losses_and_others(results);
    section("Where the loss came from", &losses);
    section("No loss", &others);
    section("Simulated beside published", &summary_table(results));
    section(
        "Fitted to published figures; every other number is the scenario's",
        &fitted_table(results),
    );
    section("Spindles to buy", &overhead_table(results));
    all
}
