//! Results as tables of plain text, for a terminal of 160 columns or for a log.
//!
//! A table has no escape sequences, and no letters outside ASCII except in names.

use crate::band_words::{band_sentences, ends, range};
use crate::client_raid_table::{CLIENT_RAID_HEADING, client_raid_table};
use crate::columns::{
    Columns, optional, percent_of_one, response_decimals, segment_list, starving_note,
};
use crate::controller_work::{CONTROLLER_WORK_HEADING, controller_work_lines};
use crate::failures_table::failures_table;
use crate::groups_table::groups_table;
use crate::headline::headline;
use crate::loss_table::losses_and_others;
use crate::machine_table::{machine_heading, machine_table};
use crate::page_cache_table::{PAGE_CACHE_HEADING, page_cache_table};
use crate::phases_table::phases_table;
use crate::rows_table::{ROWS_HEADING, rows_table};
use strewn_results::words::{fixed, gib_of, kind_in_words, signed};
use strewn_results::{
    ArrayResults, Metric, OperationFigures, Origin, OverheadRow, Parameter, PublishedComparison,
    Ratio, Results, Segment, Snapshots, VolumeFigures, WorkloadFigures,
};

/// A segment with the published figures of its array beside it.
struct SegmentRow {
    segment: Segment,
    published: [Option<f64>; 3],
    origin: Origin,
    /// Utilization of the log's device, for real spindles.
    log: Option<f64>,
}

impl SegmentRow {
    fn published(&self, metric: Metric) -> Option<f64> {
        self.published[metric as usize]
    }

    fn error_percent(&self) -> Option<f64> {
        let published = self.published(Metric::Iops)?;
        Some(100.0 * (self.segment.iops - published) / published)
    }
}

/// Returns the segments of one array, with published figures beside simulated ones if there are
/// any.
#[must_use]
pub fn segments_table(results: &Results, array: &ArrayResults) -> String {
    let comparisons: Vec<&PublishedComparison> =
        results.published.iter().filter(|comparison| comparison.array == array.name).collect();
    let row = |segment: &Segment| SegmentRow {
        published: Metric::ALL.map(|metric| {
            let comparison = comparisons.iter().find(|comparison| comparison.metric == metric)?;
            let mut compared = comparison.segments.iter();
            Some(compared.find(|compared| compared.index == segment.index)?.published)
        }),
        origin: results.origin(array, segment.index),
        log: results
            .real_spindles
            .as_ref()
            .and_then(|real| Some(real.log_of(segment.index)?.1.utilization)),
        segment: segment.clone(),
    };
    let rows: Vec<SegmentRow> = array.segments.iter().map(row).collect();
    let writes_anywhere = array.segments.iter().any(|row| row.consistency_points.is_some());
    let is_real = results.real_spindles.is_some();
    let starves = results.drives_starve(array);
    let has_phases = !array.phases.is_empty();
    let mut columns = segment_columns(&SegmentTable {
        any_published: !comparisons.is_empty(),
        any_band: array.segments.iter().any(|segment| segment.band.is_some()),
        has_phases,
        writes_anywhere,
        is_real,
        drives_starve: starves,
    });
    if array.segments.iter().any(|segment| segment.redundancy.is_some()) {
        columns = redundancy_columns(columns);
    }
    if array.segments.iter().any(|segment| segment.snapshots.is_some()) {
        columns = snapshot_columns(columns);
    }
    if array.segments.iter().any(|segment| segment.relocation.is_some()) {
        columns = relocation_columns(columns);
    }
    let mut table = columns.render(&rows);
    if let Some(note) = array.short_segment_note() {
        table.push_str(&format!("\n{note}\n"));
    }
    if starves {
        table.push_str(&format!("\n{}\n", starving_note(array)));
    }
    let sentences = band_sentences(results, array);
    if !sentences.is_empty() {
        table.push_str(&format!("\n{}\n", sentences.join("\n")));
    }
    table
}

/// Returns the figures of each job or access specification, if several were run. Empty otherwise.
#[must_use]
pub fn workloads_table(results: &Results, array: &ArrayResults) -> String {
    let of_segment = |segment: &Segment| {
        let index = segment.index;
        segment.by_workload.iter().map(move |figures| (index, figures.clone())).collect::<Vec<_>>()
    };
    let rows: Vec<(u32, WorkloadFigures)> = array
        .segments
        .iter()
        .flat_map(of_segment)
        .filter(|(_, figures)| figures.ops() > 0)
        .collect();
    if rows.is_empty() {
        return String::new();
    }
    let of_ms = response_decimals(results.real_spindles.is_some());
    let ms = move |figures: &OperationFigures, value: f64| {
        optional((figures.ops > 0).then_some(value), |value| fixed(value, of_ms))
    };
    let has_layout = rows.iter().any(|(_, figures)| figures.layout.is_some());
    let columns = Columns::<(u32, WorkloadFigures)>::new()
        .number("segment", |(index, _)| index.to_string())
        .words("workload", |(_, figures)| figures.name.clone())
        .number("IOPS", |(_, figures)| fixed(figures.iops, 0))
        .number("MiB/s", |(_, figures)| fixed(figures.mib_per_s, 1))
        .number("response\nmean, ms", move |(_, figures)| fixed(figures.response_ms.mean, of_ms))
        .number("p95\nms", move |(_, figures)| fixed(figures.response_ms.p95, of_ms))
        .number("p99\nms", move |(_, figures)| fixed(figures.response_ms.p99, of_ms))
        .number("reads\n%", |(_, figures)| {
            fixed(100.0 * figures.reads.ops as f64 / figures.ops() as f64, 1)
        })
        .number("reads\nmean, ms", move |(_, figures)| ms(&figures.reads, figures.reads.mean_ms))
        .number("writes\nmean, ms", move |(_, figures)| {
            ms(&figures.writes, figures.writes.mean_ms)
        });
    let columns = match has_layout {
        true => columns.number("layout\nscore", |(_, figures)| {
            optional(figures.layout.map(|layout| layout.score), |score| fixed(score, 3))
        }),
        false => columns,
    };
    let mut table = columns.render(&rows);
    for note in missed_rates(results, array) {
        table.push_str(&format!("\n{note}\n"));
    }
    table
}

/// Returns what each volume had when each segment ended. Empty if the scenario describes none.
#[must_use]
pub fn volumes_table(array: &ArrayResults) -> String {
    let of_segment = |segment: &Segment| {
        let index = segment.index;
        segment.volumes.iter().map(move |now| (index, now.clone())).collect::<Vec<_>>()
    };
    let rows: Vec<(u32, VolumeFigures)> = array.segments.iter().flat_map(of_segment).collect();
    if rows.is_empty() {
        return String::new();
    }
    let gib = |blocks: u64| fixed(gib_of(blocks), 1);
    Columns::<(u32, VolumeFigures)>::new()
        .number("segment", |(index, _)| index.to_string())
        .words("volume", |(_, now)| now.name.clone())
        .number("used\nGiB", move |(_, now)| gib(now.used_blocks))
        .number("reserved\nbeside it\nGiB", move |(_, now)| gib(now.reserved_blocks))
        .number("snap-\nshots", |(_, now)| now.snapshots.to_string())
        .number("held by\nthem\nGiB", move |(_, now)| gib(now.held_blocks))
        .render(&rows)
}

/// Returns a sentence for each named workload that stayed below its limit of operations a second by more than 2 %,
/// which too few outstanding operations do.
pub(crate) fn missed_rates(results: &Results, array: &ArrayResults) -> Vec<String> {
    let setting = |number: usize, key: &str| {
        results.settings.get(&format!("workload.{number}.{key}")).map(ToString::to_string)
    };
    let missed = |number: usize| {
        let name = setting(number, "name")?;
        let limit: f64 = setting(number, "operations_per_second")?.parse().ok()?;
        let of_workload = array.segments.iter().flat_map(|segment| &segment.by_workload);
        let own = of_workload.filter(|workload| workload.name == name);
        let least = own.map(|workload| workload.iops).reduce(f64::min)?;
        (least < 0.98 * limit).then(|| {
            format!(
                "{name}: {} operations a second at least, of at most {}. Each waits for one of its {} outstanding \
                 operations.",
                fixed(least, 0),
                fixed(limit, 0),
                setting(number, "outstanding").unwrap_or_default()
            )
        })
    };
    (1..=results.settings.len())
        .map_while(|number| setting(number, "name").map(|_| number))
        .filter_map(missed)
        .collect()
}

/// What decides which columns a table of segments has.
struct SegmentTable {
    any_published: bool,
    any_band: bool,
    has_phases: bool,
    writes_anywhere: bool,
    is_real: bool,
    drives_starve: bool,
}

fn segment_columns(of: &SegmentTable) -> Columns<SegmentRow> {
    let SegmentTable { any_published, has_phases, writes_anywhere, is_real, .. } = *of;
    // Files and flash answer within fractions of a millisecond.
    let of_ms = response_decimals(is_real);
    let published = |columns: Columns<SegmentRow>, metric: Metric, decimals: usize| {
        if !any_published {
            return columns;
        }
        columns.number("published", move |row| {
            optional(row.published(metric), |figure| fixed(figure, decimals))
        })
    };
    let mut columns =
        Columns::new().number("segment", |row: &SegmentRow| row.segment.index.to_string());
    if has_phases {
        columns = columns.words("phase", |row| row.segment.phase.clone().unwrap_or_default());
    }
    if any_published {
        columns = columns.words("", |row| row.origin.as_str().to_owned());
    }
    columns = columns.number("IOPS", |row| fixed(row.segment.iops, 0));
    if of.any_band {
        columns = columns.number("band", |row| {
            let band = row.segment.band.as_ref();
            band.map_or_else(|| "-".to_owned(), |band| ends(&band.iops, 0))
        });
    }
    columns = published(columns, Metric::Iops, 0);
    if any_published {
        columns = columns
            .number("error\n%", |row| optional(row.error_percent(), |error| signed(error, 1)));
    }
    columns = columns.number("MiB/s", |row| fixed(row.segment.mib_per_s, 1));
    columns = published(columns, Metric::MibPerS, 1);
    columns =
        columns.number("response\nmean, ms", move |row| fixed(row.segment.response_ms.mean, of_ms));
    columns = published(columns, Metric::ResponseMs, 1);
    let [p95, p99] = match of.drives_starve {
        true => ["p95*\nms", "p99*\nms"],
        false => ["p95\nms", "p99\nms"],
    };
    columns = columns
        .number(p95, move |row| fixed(row.segment.response_ms.p95, of_ms))
        .number(p99, move |row| fixed(row.segment.response_ms.p99, of_ms))
        .number("spindle\ncommands\nper op", |row| fixed(row.segment.commands_per_host_op(), 2))
        .number("con-\ntroller\nbusy %", |row| percent_of_one(row.segment.utilization.controller))
        .number("spindles\nbusy %", |row| percent_of_one(row.segment.utilization.spindles));
    if is_real {
        columns = columns.number("log\nbusy %", |row| optional(row.log, percent_of_one));
    }
    columns = columns.number("layout\nscore", |row| fixed(row.segment.layout.score, 3));
    // Beside published figures and bands a terminal of 160 columns has no room for it.
    if !(any_published && of.any_band) {
        columns = columns.number("span\n%", |row| fixed(row.segment.layout.span_percent, 1));
    }
    // With published figures a terminal has no room for more; `segments.csv` has everything.
    if any_published || !writes_anywhere {
        return columns;
    }
    columns
        .number("full\nstripes\n%", |row| {
            let points = row.segment.consistency_points;
            optional(points.and_then(|points| points.full_stripe_percent), |percent| {
                fixed(percent, 1)
            })
        })
        .number("parity\nreads\nper op", |row| {
            let reads = row.segment.spindle_commands.parity_update_reads as f64;
            fixed(reads / row.segment.ops.max(1) as f64, 2)
        })
}

/// Adds the columns shown once a spindle has failed.
fn redundancy_columns(columns: Columns<SegmentRow>) -> Columns<SegmentRow> {
    columns
        .number("spin-\ndles\nlost", |row| {
            row.segment.redundancy.map_or(0, |now| now.lost_spindles).to_string()
        })
        .number("re-\nbuilt\n%", |row| {
            optional(row.segment.redundancy.map(|now| now.rebuilt_percent), |share| fixed(share, 1))
        })
}

/// Adds the columns shown of an array with snapshots.
fn snapshot_columns(columns: Columns<SegmentRow>) -> Columns<SegmentRow> {
    let kept = |now: Snapshots| f64::from(now.kept);
    columns
        .number("snap-\nshots", move |row| {
            optional(row.segment.snapshots.map(kept), |kept| fixed(kept, 0))
        })
        .number("held by\nthem\nGiB", |row| {
            optional(row.segment.snapshots.map(|now| now.held_gib()), |gib| fixed(gib, 1))
        })
        .number("aggre-\ngate\nused %", |row| {
            let used = row.segment.snapshots.map(|now| now.aggregate_used_percent);
            optional(used, |percent| fixed(percent, 1))
        })
}

/// Adds the columns shown of an array that relocates blocks.
fn relocation_columns(columns: Columns<SegmentRow>) -> Columns<SegmentRow> {
    columns
        .number("relo-\ncated\nGiB", |row| {
            optional(row.segment.relocation.map(|now| gib_of(now.blocks())), |gib| fixed(gib, 1))
        })
        .number("reads\nfor it", |row| {
            row.segment.relocation.map_or(0, |now| now.reads()).to_string()
        })
        .number("scan\npassed\n%", |row| {
            let scan = row.segment.relocation.and_then(|now| now.scan);
            optional(scan.map(|scan| scan.passed_percent), |percent| fixed(percent, 0))
        })
}

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

fn comparison_columns(compared: &[PublishedComparison]) -> Columns<PublishedComparison> {
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

fn ratio_columns(ratios: &[Ratio]) -> Columns<Ratio> {
    let any_band = ratios.iter().any(|ratio| ratio.band.is_some());
    let columns = Columns::<Ratio>::new()
        .words("ratio of IOPS", |row| format!("{} over {}", row.of, row.over))
        .words("", |row| row.name.clone())
        .number("segment", |row| row.segment.to_string())
        .number("published %", |row| fixed(row.published_percent, 1))
        .number("simulated %", |row| fixed(row.simulated_percent, 1));
    let columns = match any_band {
        true => columns
            .number("band %", |row| row.band.map_or_else(|| "-".to_owned(), |band| ends(&band, 1))),
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

fn overhead_columns(has_phases: bool) -> Columns<OverheadRow> {
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
        section(&format!("{}: by volume", array.name), &volumes_table(array));
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
