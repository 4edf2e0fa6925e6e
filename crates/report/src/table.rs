//! Results as tables of plain text, for a terminal or for a log.
//!
//! A table has no escape sequences, and no letters outside ASCII except in names.

use crate::columns::Drawing;
use crate::controller_work::{CONTROLLER_WORK_HEADING, controller_work_lines};
use crate::failures_table::failures_table;
use crate::group_tables::{
    CLIENT_RAID_HEADING, PAGE_CACHE_HEADING, client_raid_table, page_cache_table,
};
use crate::groups_table::groups_table;
use crate::headline::headline;
use crate::loss_table::losses_and_others;
use crate::machine_table::{machine_heading, machine_table};
use crate::overhead_table::overhead_table;
use crate::phases_table::phases_table;
use crate::published_tables::{fitted_table, summary_table};
use crate::recorded_table::{RECORDED_HEADING, recorded_table};
use crate::rows_table::{ROWS_HEADING, rows_table};
use crate::segments_table::segments_table_of;
use crate::volumes_table::volumes_table;
use crate::workloads_table::workloads_table;
use strewn_results::words::{fixed, wrapped};
use strewn_results::{ArrayResults, Column, Finding, Results, Severity};

/// The width of tables for a terminal that does not tell its own, in characters.
pub const TABLE_COLUMNS: usize = 100;

/// Returns the finding of the run in a sentence ([`headline`](crate::headline())), and all tables, each under a line
/// that describes it, with what a reader must know about the run: as a [`Drawing`] says, or for a terminal of
/// [`TABLE_COLUMNS`].
#[must_use]
pub fn all_tables(results: &Results) -> String {
    all_tables_of(results, &[])
}

/// The same with these columns in the tables of segments, if there are any.
#[must_use]
pub fn all_tables_of(results: &Results, chosen: &[&'static Column]) -> String {
    match Drawing::now() {
        Some(_) => tables(results, chosen),
        None => Drawing::within(TABLE_COLUMNS).draw(|| tables(results, chosen)),
    }
}

fn tables(results: &Results, chosen: &[&'static Column]) -> String {
    let mut all = format!("{}\n", in_ascii(&headline(results)));
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
            all.push_str(&format!("\n{}\n\n{table}", Drawing::title(title)));
        }
    };
    // A published table has its rows in one; what each array did is in the files of the run.
    if !results.published_rows.is_empty() {
        section(ROWS_HEADING, &rows_table(results));
        section("What to make of it", &findings_lines(results));
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
            section(&title, &no_segment(results, array));
            continue;
        }
        section(&title, &segments_table_of(results, array, chosen));
        section(&format!("{}: by workload", array.name), &workloads_table(results, array));
        section(&format!("{}: by volume", array.name), &volumes_table(results, array));
    }
    section(RECORDED_HEADING, &recorded_table(results));
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
    section("What to make of it", &findings_lines(results));
    all
}

/// Says why an array has no segment, with its warm-up if it had one.
fn no_segment(results: &Results, array: &ArrayResults) -> String {
    let why = match (&array.data_loss, array.ended) {
        (None, true) => "No segment was complete: its load ended during the warm-up.\n",
        _ => "No segment was complete.\n",
    };
    match &array.warm_up {
        Some(_) => format!("{}\n{why}", segments_table_of(results, array, &[])),
        None => why.to_owned(),
    }
}

/// Returns the finding of the run in a sentence, a line for each array, and what to make of it.
#[must_use]
pub fn brief(results: &Results) -> String {
    let mut lines = vec![in_ascii(&headline(results))];
    lines.extend(results.arrays.iter().filter_map(|array| {
        let last = array.rated_segments().last()?;
        Some(format!(
            "{}: {} IOPS, {} MiB/s, {} ms on average, 99 in 100 within {} ms, in segment {}",
            array.name,
            fixed(last.iops, 0),
            fixed(last.mib_per_s, 1),
            fixed(last.response_ms.mean, 1),
            fixed(last.response_ms.p99, 1),
            last.index
        ))
    }));
    lines.extend(results.caveats());
    lines.join("\n") + "\n" + &findings_lines(results)
}

/// Returns a sentence for terminals and logs, whose text is ASCII; the page has the typographic signs.
fn in_ascii(sentence: &str) -> String {
    sentence
        .replace('\u{2019}', "'")
        .replace('\u{2212}', "-")
        .replace(['\u{201c}', '\u{201d}'], "\"")
}

/// Returns the findings of a run: what is wrong first.
fn findings_lines(results: &Results) -> String {
    let line = |finding: &Finding| {
        let line = match finding.severity {
            Severity::Note => format!("- {}", finding.text),
            severity => format!("- {}: {}", severity.as_str(), finding.text),
        };
        wrapped(&line, Drawing::width(), "  ") + "\n"
    };
    results.findings.iter().map(line).collect()
}
