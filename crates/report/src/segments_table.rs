//! The segments of an array: one table on the terminal, two on the page, which fit it.

use crate::band_words::band_sentences;
use crate::columns::{
    Cell, Columns, Figure, SegmentRow, left_out_line, starving_note, with_chosen,
};
use strewn_results::{ArrayResults, COLUMNS, Column, LogFigures, Metric, Origin, Results, Table};

/// Returns the segments of one array, with published figures beside simulated ones if there are any.
#[must_use]
pub fn segments_table(results: &Results, array: &ArrayResults) -> String {
    segments_table_of(results, array, &[])
}

/// The same with these columns instead, if there are any. Where not all have room, those that are left out are named
/// below.
pub(crate) fn segments_table_of(
    results: &Results,
    array: &ArrayResults,
    chosen: &[&'static Column],
) -> String {
    let rows: Vec<SegmentRow<'_>> = SegmentRow::with_warm_up(results, array).collect();
    let mut table = match chosen {
        [] => {
            let (table, left_out) = segment_columns(results, array, None).render_narrow(&rows);
            table + &left_out_line(&left_out)
        }
        chosen => {
            let is_not_said = |column: &&Column| column.key != "array";
            let columns = with_chosen(chosen).into_iter().filter(is_not_said).collect::<Vec<_>>();
            Columns::new().all(&columns).render(&rows)
        }
    };
    for note in [array.warm_up_note(), array.short_segment_note()].into_iter().flatten() {
        table.push_str(&format!("\n{note}\n"));
    }
    if results.drives_starve(array) {
        table.push_str(&format!("\n{}\n", starving_note(array)));
    }
    let sentences = band_sentences(results, array);
    if !sentences.is_empty() {
        table.push_str(&format!("\n{}\n", sentences.join("\n")));
    }
    table
}

/// Returns the columns of an array's segments: those of a table on the page, or of the one on the terminal.
pub(crate) fn segment_columns<'a>(
    results: &'a Results,
    array: &'a ArrayResults,
    on_page: Option<Table>,
) -> Columns<'a, SegmentRow<'a>> {
    let any_published = results.published.iter().any(|comparison| comparison.array == array.name);
    let any_band = array.segments.iter().any(|segment| segment.band.is_some());
    let writes_anywhere = array.segments.iter().any(|row| row.consistency_points.is_some());
    let is_in = |table: &Table| match (on_page, table) {
        (Some(of_page), table) => of_page == *table,
        (None, Table::Terminal) => true,
        // A terminal of 160 columns has no room for it; `segments.csv` has everything.
        (None, Table::TerminalUnlessFull) => !(any_published && any_band),
        (None, Table::TerminalIfRoom) => !any_published && writes_anywhere,
        (None, Table::Host | Table::Array | Table::Compare | Table::OfGroup) => false,
    };
    // What no segment has is no column.
    let has_any = |column: &Column| {
        column.is_words()
            || SegmentRow::with_warm_up(results, array).any(|row| row.figure(column).is_some())
    };
    let is_shown = |column: &&Column| {
        column.group.is_in(array) && column.tables.iter().any(is_in) && has_any(column)
    };
    let on_terminal = on_page.is_none();
    let with_real = |columns: Columns<'a, SegmentRow<'a>>| {
        let busy =
            |row: &SegmentRow<'a>| of_log(row, |log| Figure::share(log.utilization), "utilization");
        let moved = |row: &SegmentRow<'a>| {
            of_log(row, |log| Figure::new(log.written_mib_per_s, 1), "written_mib_per_s")
        };
        columns
            .number(("log\nbusy %", "log busy"), busy)
            .when(!on_terminal, |columns| columns.number("log MiB/s", moved))
    };
    let mut columns = Columns::new();
    for column in COLUMNS.iter().filter(is_shown) {
        let metric = Metric::ALL.into_iter().find(|of| column.figure_name() == Some(of.as_str()));
        columns = match (metric, column.key) {
            (Some(Metric::Iops), _) => {
                columns.when(any_published || !on_terminal, |columns| columns.words("", origin))
            }
            (_, "controller_utilization_0_to_1") if !on_terminal => {
                columns.number(cache_hits_heading(results), cache_hits)
            }
            (_, "layout_score_0_to_1") => columns.when(results.real_spindles.is_some(), with_real),
            _ => columns,
        };
        columns = match column.may_starve && results.drives_starve(array) {
            true => {
                let short = column.short_heading().replacen('\n', "*\n", 1);
                columns.declared_as((short, column.heading() + "*"), column)
            }
            false => columns.declared(column),
        };
        let Some(metric) = metric else { continue };
        let has_band = if on_terminal { metric == Metric::Iops && any_band } else { any_band };
        let band = move |row: &SegmentRow<'a>| band(row, metric, row.decimals(column));
        let beside = move |row: &SegmentRow<'a>| published(row, metric, column.decimals);
        columns = columns
            .when(has_band && metric != Metric::MibPerS, |columns| {
                columns.number("band", band).yielding(2)
            })
            .when(any_published && (on_terminal || metric != Metric::MibPerS), |columns| {
                let yields = if metric == Metric::Iops { 1 } else { 10 };
                let long = match metric {
                    Metric::Iops => "published",
                    Metric::MibPerS => "published MiB/s",
                    Metric::ResponseMs => "published response",
                };
                let heading = ("published", if on_terminal { long } else { "published" });
                columns.number(heading, beside).yielding(yields)
            })
            .when(any_published && on_terminal && metric == Metric::Iops, |columns| {
                columns.number("error\n%", error_percent).yielding(1)
            });
    }
    columns
}

fn origin(row: &SegmentRow<'_>) -> &'static str {
    if row.number.is_none() {
        return "warm-up";
    }
    match row.results.origin(row.array, row.segment.index) {
        // In a run on real spindles everything is measured, which the page says above.
        Origin::Measured => "",
        origin => origin.as_str(),
    }
}

fn band(row: &SegmentRow<'_>, metric: Metric, decimals: usize) -> Option<Cell> {
    let band = row.segment.band.as_ref()?;
    let band = match metric {
        Metric::Iops => band.iops,
        Metric::MibPerS => return None,
        Metric::ResponseMs => band.response_ms?,
    };
    Some(Cell::band(&band, decimals))
}

/// Returns the figure that is published for a segment; none if none is.
fn published(row: &SegmentRow<'_>, metric: Metric, decimals: usize) -> Option<Figure> {
    let mut compared = row.results.published.iter().enumerate();
    let (at, found) =
        compared.find(|(_, found)| found.array == row.array.name && found.metric == metric)?;
    let place = found.segments.iter().position(|one| one.index == row.segment.index)?;
    let path = format!("published/{at}/segments/{place}/published");
    Some(Figure::new(found.segments[place].published, decimals).at(path))
}

fn error_percent(row: &SegmentRow<'_>) -> Option<Figure> {
    let published = published(row, Metric::Iops, 0)?.value;
    Some(Figure::change(100.0 * (row.segment.iops - published) / published, 1))
}

fn of_log(row: &SegmentRow<'_>, figure: fn(&LogFigures) -> Figure, field: &str) -> Option<Figure> {
    let (at, log) = row.results.real_spindles.as_ref()?.log_of(row.segment.index)?;
    Some(figure(log).at(format!("real_spindles/log/{at}/{field}")))
}

/// The heading of [`cache_hits`], for these results.
pub(crate) fn cache_hits_heading(results: &Results) -> &'static str {
    let mut segments = results.arrays.iter().flat_map(|array| &array.segments);
    match segments.any(|segment| segment.cache.host_reads.is_some()) {
        true => "host reads from the cache %",
        // Older versions counted metadata in.
        false => "cache hits %",
    }
}

/// Returns the share of the blocks of host reads that were in the cache.
pub(crate) fn cache_hits(row: &SegmentRow<'_>) -> Option<Figure> {
    row.figure(match row.segment.cache.host_reads {
        Some(_) => const { Column::declared("host_read_hit_percent") },
        None => const { Column::declared("cache_hit_percent") },
    })
}
