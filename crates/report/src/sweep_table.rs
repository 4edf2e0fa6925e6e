//! A sweep as text: its figures by combination, and what each value of an axis changes.

use crate::columns::{Cell, Columns, Drawing, Figure, TableForm};
use crate::rank_correlation::{RankCorrelation, RankCorrelations};
use crate::sweep_design::SweepDesign;
use crate::sweep_words::{decimals, interval_words, mean_words, missing_words, run_words};
use std::collections::BTreeMap;
use strewn_results::words::signed;
use strewn_results::{Sweep, SweepDifference, SweepRow, noise_sentence};

/// More combinations than this are not listed one by one.
const MOST_COMBINATIONS: usize = 40;
/// More rows of differences than this are not listed.
const MOST_CHANGES: usize = 40;
/// Figures side by side.
const MOST_FIGURES: usize = 6;
/// Widths to which headers of axes and of figures are broken, and labels cut.
const HEADER_LETTERS: usize = 16;
const LABEL_LETTERS: usize = 32;

/// Returns a sweep for a terminal: the mean of each figure with half the width of its interval, by combination; then
/// what each value of an axis changes beside the first one, and what is missing.
///
/// Of more than 40 combinations it has the lowest and the highest of each figure, and of more than 40 rows of
/// differences those with the largest effects. It says what it leaves out, and which file has it.
#[must_use]
pub fn sweep_table(sweep: &Sweep) -> String {
    let design = SweepDesign::of(sweep);
    let mut text = format!("{}\n{}\n", sweep.title, run_words(sweep));
    text.push_str(&figures(sweep, &design));
    text.push_str(&changes(sweep, &design));
    text.push_str(&what_matters(sweep, &design));
    let missing = missing_words(sweep);
    if !missing.is_empty() {
        text.push_str(&format!("\n{}\n", missing.join("\n")));
    }
    text
}

fn figures(sweep: &Sweep, design: &SweepDesign<'_>) -> String {
    let whole: Vec<usize> =
        (0..sweep.figures.len()).filter(|figure| !sweep.figures[*figure].by_segment).collect();
    let mut left_out = Vec::new();
    if whole.len() < sweep.figures.len() {
        left_out.push("Figures by segment are in sweep.csv.".to_owned());
    }
    let mut text = String::new();
    if whole.is_empty() || sweep.rows.is_empty() {
        return format!("\nNo figures.\n{}", left_out.join(" "));
    }
    if design.len() > MOST_COMBINATIONS {
        text.push_str(&format!("\n{}", extremes(sweep, design, &whole)));
        let count = design.len();
        left_out.push(format!("{count} combinations; sweep.csv has the figures of each."));
    } else {
        for shown in whole.chunks(MOST_FIGURES) {
            text.push_str(&format!("\n{}", by_combination(sweep, design, shown)));
        }
    }
    if let Some(words) = interval_words(sweep) {
        left_out.insert(0, format!("±: {words}."));
    }
    if !left_out.is_empty() {
        text.push_str(&format!("{}\n", left_out.join(" ")));
    }
    text
}

/// Returns a row for each combination, with the axes that vary and some figures.
fn by_combination(sweep: &Sweep, design: &SweepDesign<'_>, figures: &[usize]) -> String {
    let combinations: Vec<usize> = (0..design.len()).collect();
    figure_columns(sweep, design, figures, true).render(&combinations)
}

/// Returns the columns of a table with a row for each combination: the axes that vary, and figures.
pub(crate) fn figure_columns<'a>(
    sweep: &'a Sweep,
    design: &'a SweepDesign<'a>,
    figures: &[usize],
    on_terminal: bool,
) -> Columns<'a, usize> {
    let mut columns = Columns::new().when(!on_terminal, |columns| {
        columns.number("combination", |combination: &usize| Figure::count(*combination as u64))
    });
    for number in design.varied.iter().copied() {
        let axis = &sweep.axes[number];
        let heading = (broken(&axis.name), axis.name.clone());
        let label = move |combination: &usize| {
            let label = design.label(*combination, number);
            let value = design.at(*combination).get(number);
            match value.and_then(|value| axis.values.get(*value)?.number) {
                _ if on_terminal => Cell::from(cut(label)),
                Some(value) => Cell::Label(label.to_owned(), value),
                None => Cell::from(label),
            }
        };
        columns = match on_terminal || !axis.is_numeric() {
            true => columns.words(heading, label),
            false => columns.number(heading, label),
        };
    }
    for number in figures.iter().copied() {
        let figure = &sweep.figures[number];
        let is_named = figure.unit.is_empty() || figure.name.contains(&figure.unit);
        let unit = if is_named { String::new() } else { format!(" ({})", figure.unit) };
        let of_figure = sweep.rows.iter().filter(move |row| row.figure == number);
        let decimals = decimals(of_figure.clone());
        let rows: BTreeMap<usize, &SweepRow> =
            of_figure.map(|row| (row.combination, row)).collect();
        let heading = (figure_header(sweep, number), format!("{}{unit}", figure.name));
        columns = columns.number(heading, move |combination| {
            let row = rows.get(combination)?;
            Some(Figure::said(row.mean?, mean_words(row, decimals)))
        });
    }
    columns
}

/// Returns the columns of rank correlations, with names as they are shown.
pub(crate) fn correlation_columns<'a>(
    sweep: &'a Sweep,
    correlations: &'a RankCorrelations,
    shown: fn(&str) -> String,
) -> Columns<'a, &'a RankCorrelation> {
    Columns::<&RankCorrelation>::new()
        .words("axis", move |one| shown(&sweep.axes[one.axis].name))
        .words("figure", move |one| shown(&sweep.figures[one.figure].name))
        .number("rank\ncorrelation", |one| Figure::change(one.rho, 2))
        .words(
            "more than\nchance",
            |one| {
                if correlations.is_beyond_chance(one) { "yes" } else { "no" }
            },
        )
}

/// Returns the combinations in which each figure is lowest and highest.
fn extremes(sweep: &Sweep, design: &SweepDesign<'_>, figures: &[usize]) -> String {
    let mut rows = Vec::new();
    for figure in figures {
        let of_figure = || sweep.rows.iter().filter(|row| row.figure == *figure);
        let decimals = decimals(of_figure());
        let known = || of_figure().filter_map(|row| Some((row, row.mean?)));
        let by_mean = |one: &(&SweepRow, f64), other: &(&SweepRow, f64)| one.1.total_cmp(&other.1);
        let lowest = known().min_by(by_mean);
        let highest = known().max_by(by_mean);
        for (words, found) in [("lowest", lowest), ("highest", highest)] {
            let Some((row, _)) = found else { continue };
            let name = named(&sweep.figures[*figure].name, &sweep.figures[*figure].unit);
            let mut cells = vec![cut(&name), words.to_owned(), mean_words(row, decimals)];
            cells.extend(axis_cells(design, row.combination));
            rows.push(cells);
        }
    }
    let mut columns =
        Columns::new().words("figure", cell(0)).words("", cell(1)).number("mean", cell(2));
    for (column, axis) in design.varied.iter().enumerate() {
        columns = columns.words(broken(&sweep.axes[*axis].name), cell(3 + column));
    }
    columns.render(&rows)
}

fn axis_cells<'a>(
    design: &'a SweepDesign<'_>,
    combination: usize,
) -> impl Iterator<Item = String> + 'a {
    design.varied.iter().map(move |axis| cut(design.label(combination, *axis)))
}

/// What a value of an axis changes of a figure, in all combinations of the other axes.
struct Change<'a> {
    axis: usize,
    value: usize,
    figure: usize,
    /// Whether the figure is in percent.
    is_in_points: bool,
    all: Vec<&'a SweepDifference>,
}

impl<'a> Change<'a> {
    fn all(sweep: &'a Sweep, design: &SweepDesign<'_>) -> Vec<Self> {
        let mut changes: Vec<Self> = Vec::new();
        for one in &sweep.differences {
            let at = design.at(one.combinations[0]);
            let Some(value) = at.get(one.axis).copied() else { continue };
            let key = (one.axis, value, one.figure);
            match changes.iter_mut().find(|of| (of.axis, of.value, of.figure) == key) {
                Some(change) => change.all.push(one),
                None => {
                    let is_in_points =
                        sweep.figures.get(one.figure).is_some_and(|figure| figure.unit == "%");
                    let (axis, figure) = (one.axis, one.figure);
                    changes.push(Self { axis, value, figure, is_in_points, all: vec![one] });
                }
            }
        }
        changes.sort_by_key(|change| (change.axis, change.value, change.figure));
        changes
    }

    fn larger(&self) -> usize {
        self.all.iter().filter(|one| one.larger_than_noise == Some(true)).count()
    }

    /// Returns the changes: in points of a figure that is in percent itself, else in percent of the figure.
    fn sizes(&self) -> impl Iterator<Item = f64> + Clone {
        self.all
            .iter()
            .filter_map(|one| if self.is_in_points { Some(one.mean) } else { one.percent })
    }

    fn largest(&self) -> f64 {
        self.sizes().map(f64::abs).fold(0.0, f64::max)
    }

    /// Returns the change with its unit, or from the least to the greatest of several.
    fn words(&self) -> String {
        let least = self.sizes().fold(f64::INFINITY, f64::min);
        let greatest = self.sizes().fold(f64::NEG_INFINITY, f64::max);
        // A figure that was zero has no percentage.
        if least > greatest {
            return "-".to_owned();
        }
        let unit = if self.is_in_points { "points" } else { "%" };
        let [least, greatest] = [least, greatest].map(|size| signed(size, 2));
        let range = if least == greatest { least } else { format!("{least} to {greatest}") };
        format!("{range} {unit}")
    }
}

fn changes(sweep: &Sweep, design: &SweepDesign<'_>) -> String {
    let mut changes = Change::all(sweep, design);
    if changes.is_empty() {
        return String::new();
    }
    let judged = sweep.differences.iter().any(|one| one.larger_than_noise.is_some());
    let all = changes.len();
    if judged {
        changes.retain(|change| change.larger() > 0);
    }
    let beyond_noise = changes.len();
    if changes.len() > MOST_CHANGES {
        changes.sort_by(|one, other| other.largest().total_cmp(&one.largest()));
        changes.truncate(MOST_CHANGES);
        changes.sort_by_key(|change| (change.axis, change.value, change.figure));
    }
    let mut text = String::new();
    if !changes.is_empty() {
        text.push_str(&format!("\n{}", changes_table(sweep, &changes, judged)));
    }
    let mut notes: Vec<String> = noise_sentence(sweep).into_iter().collect();
    if all > changes.len() {
        let hidden = all - changes.len();
        let which = match (judged, beyond_noise > changes.len()) {
            (true, false) => "within noise",
            (true, true) => "smaller or within noise",
            (false, _) => "smaller",
        };
        notes
            .push(format!("{hidden} rows that are {which} are left out; differences.csv has all."));
    }
    if !judged {
        notes.push("With one seed nothing says which of these are larger than noise.".to_owned());
    }
    text + &format!("{}{}\n", if changes.is_empty() { "\n" } else { "" }, notes.join(" "))
}

/// Returns the rank correlations of scattered combinations.
fn what_matters(sweep: &Sweep, design: &SweepDesign<'_>) -> String {
    let Some(correlations) = RankCorrelations::of(sweep, design) else { return String::new() };
    let mut shown: Vec<&RankCorrelation> = correlations.all.iter().collect();
    shown.sort_by(|one, other| other.rho.abs().total_cmp(&one.rho.abs()));
    let left_out = shown.len().saturating_sub(MOST_CHANGES);
    shown.truncate(MOST_CHANGES);
    let table = correlation_columns(sweep, &correlations, cut).render(&shown);
    let hidden = match left_out {
        0 => String::new(),
        count => format!(" {count} smaller ones are left out; report.html has all."),
    };
    format!("\nWhat matters\n{table}{}{hidden}\n", correlations.sentence())
}

fn changes_table(sweep: &Sweep, changes: &[Change<'_>], judged: bool) -> String {
    let label = |axis: usize, value: usize| {
        let value = sweep.axes.get(axis).and_then(|axis| axis.values.get(value));
        cut(value.map_or("", |value| &value.label))
    };
    let row = |change: &Change<'_>| {
        let axis = sweep.axes.get(change.axis).map_or("", |axis| &axis.name);
        let figure = sweep.figures.get(change.figure).map_or("", |figure| &figure.name);
        let count = change.all.len();
        vec![
            cut(axis),
            label(change.axis, change.value),
            label(change.axis, 0),
            cut(figure),
            change.words(),
            if judged { format!("{} of {count}", change.larger()) } else { count.to_string() },
        ]
    };
    let rows: Vec<Vec<String>> = changes.iter().map(row).collect();
    let last = if judged { "larger than\nnoise" } else { "pairs" };
    Columns::new()
        .words("axis", cell(0))
        .words("value", cell(1))
        .words("beside", cell(2))
        .words("figure", cell(3))
        .number("change", cell(4))
        .number(last, cell(5))
        .render(&rows)
}

fn cell(column: usize) -> impl Fn(&Vec<String>) -> String {
    move |row| row.get(column).cloned().unwrap_or_default()
}

fn named(name: &str, unit: &str) -> String {
    if unit.is_empty() || name.contains(unit) { name.to_owned() } else { format!("{name}, {unit}") }
}

fn figure_header(sweep: &Sweep, figure: usize) -> String {
    let figure = &sweep.figures[figure];
    broken(&named(&figure.name, &figure.unit))
}

/// Breaks a header into lines of a few words.
fn broken(header: &str) -> String {
    let mut lines: Vec<String> = Vec::new();
    for word in header.split_whitespace() {
        match lines.last_mut() {
            Some(line) if line.chars().count() + word.chars().count() < HEADER_LETTERS => {
                line.push(' ');
                line.push_str(word);
            }
            _ => lines.push(word.to_owned()),
        }
    }
    lines.join("\n")
}

/// Cuts a label to one line of a table on a terminal. Others have room for it, and may be searched for it.
fn cut(label: &str) -> String {
    let label = label.split_whitespace().collect::<Vec<_>>().join(" ");
    if Drawing::form() != TableForm::Plain || label.chars().count() <= LABEL_LETTERS {
        return label;
    }
    label.chars().take(LABEL_LETTERS - 1).chain(['…']).collect()
}
