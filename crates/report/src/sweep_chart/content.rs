//! The figures of a chart of a sweep, in panels and series.

use crate::sweep_chart::plan::{Along, ChartPlan, Panels, listed};
use crate::sweep_design::{DesignShape, SweepDesign};
use crate::sweep_words::{decimals, interval_words, missing_words, run_words};
use strewn_results::words::fixed;
use strewn_results::{Sweep, SweepChartKind, SweepFigure, SweepRow};

/// Panels, lines and rows beyond these are left out evenly; a subtitle says so.
const MOST_PANELS: usize = 9;
const MOST_LINES: usize = 7;
const MOST_ROWS: usize = 40;

/// A chart with its figures.
pub(super) struct Content<'a> {
    pub(super) plan: &'a ChartPlan,
    /// Name and unit of the figures.
    pub(super) quantity: String,
    pub(super) unit: String,
    pub(super) panels: Vec<Panel<'a>>,
    /// The names of the series, the same in all panels; a single one without a name.
    pub(super) series: Vec<String>,
    pub(super) subtitles: Vec<String>,
    /// Decimals of figures.
    pub(super) decimals: usize,
    /// What is along x, where that is no axis.
    pub(super) across: Option<AcrossLabel>,
    /// The axis that series differ by; empty if they differ by figure.
    pub(super) lines_name: String,
    /// Whether that axis is one of numbers.
    pub(super) lines_ascend: bool,
    /// Whether figures are in percent of another figure of their kind.
    pub(super) is_share: bool,
}

/// Name, unit and decimals of the figures along x.
pub(super) struct AcrossLabel {
    quantity: String,
    unit: String,
    decimals: usize,
}

impl AcrossLabel {
    fn of<'a>(
        sweep: &Sweep,
        quantity: &str,
        points: impl Iterator<Item = &'a Point<'a>> + Clone,
    ) -> Self {
        let figure = sweep.figures.iter().find(|figure| figure.quantity == quantity);
        let rows = points.filter_map(|point| Some(point.across?.row));
        Self {
            quantity: quantity.to_owned(),
            unit: figure.map_or_else(String::new, |figure| figure.unit.clone()),
            decimals: decimals(rows),
        }
    }

    pub(super) fn words(&self) -> String {
        labelled(&self.quantity, &self.unit)
    }
}

/// Returns a quantity with its unit, unless it says so itself.
fn labelled(quantity: &str, unit: &str) -> String {
    match (quantity, unit) {
        ("", unit) => unit.to_owned(),
        (quantity, unit) if unit.is_empty() || quantity.contains(unit) => quantity.to_owned(),
        (quantity, unit) => format!("{quantity} ({unit})"),
    }
}

/// Returns a figure with its unit and its interval.
fn figure_words(mean: f64, interval: Option<[f64; 2]>, unit: &str, decimals: usize) -> String {
    let range = interval
        .map(|[low, high]| format!(" ({} to {})", fixed(low, decimals), fixed(high, decimals)));
    let unit = if unit.is_empty() { String::new() } else { format!(" {unit}") };
    format!("{}{unit}{}", fixed(mean, decimals), range.unwrap_or_default())
}

/// A panel: its heading, what is along x, and the points of each series.
pub(super) struct Panel<'a> {
    pub(super) heading: String,
    pub(super) x: Places,
    pub(super) series: Vec<Vec<Point<'a>>>,
}

/// The values along an axis of a chart.
#[derive(Clone, Debug, Default)]
pub(super) struct Places {
    pub(super) name: String,
    pub(super) labels: Vec<String>,
    /// The numbers; none if they are words.
    pub(super) numbers: Option<Vec<f64>>,
    pub(super) is_logarithmic: bool,
}

/// A figure: its place along x, and its row.
#[derive(Clone, Copy)]
pub(super) struct Point<'a> {
    pub(super) place: usize,
    pub(super) row: &'a SweepRow,
    pub(super) mean: f64,
    /// The figure along x, where that is none of an axis.
    pub(super) across: Option<Across<'a>>,
}

/// A figure along x.
#[derive(Clone, Copy)]
pub(super) struct Across<'a> {
    pub(super) row: &'a SweepRow,
    pub(super) mean: f64,
}

/// Values of an axis in the order in which they are drawn, and their places.
struct Shown {
    values: Vec<usize>,
    places: Places,
}

impl<'a> Content<'a> {
    /// Collects the figures of a chart; none if there are none to draw.
    pub(super) fn of(
        sweep: &'a Sweep,
        design: &SweepDesign<'_>,
        plan: &'a ChartPlan,
    ) -> Option<Self> {
        let mut notes = Vec::new();
        let figures = &plan.figures;
        let lines = plan.lines.map(|axis| {
            let most = if plan.kind == SweepChartKind::HeatMap { MOST_ROWS } else { MOST_LINES };
            (axis, shown(sweep, design, axis, most, &mut notes))
        });
        let panel_figures: Vec<&[usize]> = match plan.panels {
            Panels::Figures => figures.chunks(1).collect(),
            _ => vec![figures],
        };
        let panel_values: Vec<Option<(usize, usize)>> = match plan.panels {
            Panels::Axis(axis) => {
                let of = shown(sweep, design, axis, MOST_PANELS, &mut notes);
                of.values.into_iter().map(|value| Some((axis, value))).collect()
            }
            _ => vec![None],
        };
        let xs: Vec<Along> = match plan.panels {
            Panels::EachAxis => {
                let axes = design.varied.iter().filter(|axis| plan.lines != Some(**axis));
                axes.take(MOST_PANELS).copied().map(Along::Axis).collect()
            }
            _ => vec![plan.x],
        };
        if plan.panels == Panels::EachAxis && design.varied.len() > MOST_PANELS {
            notes.push(format!("{MOST_PANELS} of {} axes are shown.", design.varied.len()));
        }
        let mut panels = Vec::new();
        for x in xs {
            for figures in &panel_figures {
                for value in &panel_values {
                    let mut at = plan.fixed.clone();
                    at.extend(*value);
                    if plan.panels == Panels::EachAxis && design.shape == DesignShape::OneAtATime {
                        // All other axes at their first value.
                        let others = design.varied.iter().filter(|axis| x != Along::Axis(**axis));
                        at.extend(others.map(|axis| (*axis, 0)));
                    }
                    let heading = heading(sweep, plan, x, figures, *value);
                    let one = Selection { sweep, design, figures, at, x };
                    let lines = lines.as_ref().map(|(axis, shown)| (*axis, shown));
                    panels.push(one.panel(heading, plan, lines, &mut notes));
                }
            }
        }
        let points = || panels.iter().flat_map(|panel| &panel.series).flatten();
        points().next()?;
        let first = &sweep.figures[*figures.first()?];
        let series = match &lines {
            Some((_, shown)) => shown.places.labels.clone(),
            None if plan.panels == Panels::Figures => vec![String::new()],
            None => figure_names(sweep, figures),
        };
        let decimals = decimals(points().map(|point| point.row));
        let across = plan.against.as_ref();
        let across = across.map(|quantity| AcrossLabel::of(sweep, quantity, points()));
        let quantities: Vec<&str> =
            figures.iter().map(|figure| sweep.figures[*figure].quantity.as_str()).collect();
        let is_one = quantities.windows(2).all(|pair| pair[0] == pair[1]);
        let quantity = if is_one { first.quantity.clone() } else { String::new() };
        if let Some(axis) = plan.lines.filter(|_| coincide(&panels)) {
            notes.push(format!("The figures are the same for every {}.", sweep.axes[axis].name));
        }
        let subtitles = subtitles(sweep, design, plan, notes);
        let lines_name = plan.lines.map(|axis| sweep.axes[axis].name.clone());
        Some(Self {
            plan,
            quantity,
            unit: first.unit.clone(),
            panels,
            series,
            subtitles,
            decimals,
            across,
            lines_ascend: plan.lines.is_none_or(|axis| sweep.axes[axis].is_numeric()),
            lines_name: lines_name.unwrap_or_default(),
            is_share: first.of.over.is_some() || first.of.over_segment.is_some(),
        })
    }

    pub(super) fn points(&self) -> impl Iterator<Item = &Point<'a>> {
        self.panels.iter().flat_map(|panel| &panel.series).flatten()
    }

    /// Returns the label of the axis of figures.
    pub(super) fn label(&self) -> String {
        labelled(&self.quantity, &self.unit)
    }

    /// Returns what a mark says of a point.
    pub(super) fn words(&self, panel: &Panel<'_>, series: usize, point: &Point<'_>) -> String {
        let place = panel.x.labels.get(point.place).map(|label| match panel.x.name.as_str() {
            "" => label.clone(),
            name => format!("{name} {label}"),
        });
        let name = self.series.get(series).cloned().unwrap_or_default();
        let mut words: Vec<String> = vec![panel.heading.clone(), name];
        words.extend(place);
        words.retain(|word| !word.is_empty());
        let across = point.across.zip(self.across.as_ref()).map(|(at, label)| {
            figure_words(at.mean, at.row.interval, &label.unit, label.decimals) + ", "
        });
        format!(
            "{}: {}{}",
            words.join(", "),
            across.unwrap_or_default(),
            figure_words(point.mean, point.row.interval, &self.unit, self.decimals)
        )
    }
}

/// Returns whether all series of each panel are the same: then one covers the others.
fn coincide(panels: &[Panel<'_>]) -> bool {
    let is_same = |one: &[Point<'_>], other: &[Point<'_>]| {
        let pairs = one.iter().zip(other);
        one.len() == other.len()
            && pairs.into_iter().all(|(one, other)| {
                (one.place, one.mean, one.row.interval)
                    == (other.place, other.mean, other.row.interval)
            })
    };
    let are_same = |panel: &Panel<'_>| {
        panel.series.len() > 1 && panel.series.windows(2).all(|pair| is_same(&pair[0], &pair[1]))
    };
    panels.iter().all(are_same)
}

/// The rows of a panel: figures at values of axes.
struct Selection<'a, 'b> {
    sweep: &'a Sweep,
    design: &'b SweepDesign<'b>,
    figures: &'b [usize],
    at: Vec<(usize, usize)>,
    x: Along,
}

impl<'a> Selection<'a, '_> {
    fn panel(
        &self,
        heading: String,
        plan: &ChartPlan,
        lines: Option<(usize, &Shown)>,
        notes: &mut Vec<String>,
    ) -> Panel<'a> {
        let shown = match self.x {
            Along::Axis(axis) => {
                // Points that are not joined take no more room for being many.
                let most = if plan.kind == SweepChartKind::Dots { MOST_ROWS } else { usize::MAX };
                let mut shown = shown(self.sweep, self.design, axis, most, notes);
                if plan.kind == SweepChartKind::Dots {
                    // Rows of dots are words.
                    shown.places.numbers = None;
                }
                shown
            }
            Along::Segments => segments(self.sweep, self.figures),
            Along::Nothing => Shown { values: Vec::new(), places: Places::default() },
        };
        let count = lines.map_or(self.figures.len(), |(_, lines)| lines.values.len());
        let mut series: Vec<Vec<Point<'a>>> = vec![Vec::new(); count];
        for row in &self.sweep.rows {
            let Some(mean) = row.mean.filter(|mean| mean.is_finite()) else { continue };
            let Some(figure) = self.figures.iter().position(|figure| *figure == row.figure) else {
                continue;
            };
            if self.at.iter().any(|(axis, value)| row.at.get(*axis) != Some(value)) {
                continue;
            }
            let number = match lines {
                None => Some(figure),
                Some((axis, lines)) => {
                    lines.values.iter().position(|value| row.at.get(axis) == Some(value))
                }
            };
            let place = match self.x {
                Along::Axis(axis) => {
                    shown.values.iter().position(|value| row.at.get(axis) == Some(value))
                }
                Along::Segments => {
                    shown.values.iter().position(|value| row.segment == u32::try_from(*value).ok())
                }
                Along::Nothing => Some(0),
            };
            if let (Some(number), Some(place)) = (number, place)
                && let Some(series) = series.get_mut(number)
            {
                let across = plan.against.as_ref().map(|quantity| self.across(row, quantity));
                match across {
                    None => series.push(Point { place, row, mean, across: None }),
                    Some(Some(across)) => {
                        series.push(Point { place, row, mean, across: Some(across) });
                    }
                    Some(None) => {}
                }
            }
        }
        series.iter_mut().for_each(|points| points.sort_by_key(|point| point.place));
        Panel { heading, x: shown.places, series }
    }

    /// Returns the figure of this quantity of the same array and combination as a row has.
    fn across(&self, row: &SweepRow, quantity: &str) -> Option<Across<'a>> {
        let array = &self.sweep.figures[row.figure].of.array;
        let mut figures = self.sweep.figures.iter();
        let figure = figures.position(|one| one.quantity == quantity && one.of.array == *array)?;
        let rows = &self.sweep.rows;
        // They are in the order of combinations.
        let from = rows.partition_point(|other| other.combination < row.combination);
        let of_combination = rows[from..].iter().take_while(|it| it.combination == row.combination);
        let found = of_combination.into_iter().find(|other| other.figure == figure)?;
        let mean = found.mean.filter(|mean| mean.is_finite())?;
        Some(Across { row: found, mean })
    }
}

/// Returns the values of an axis that are shown: numbers ascending, words in the order of the study.
fn shown(
    sweep: &Sweep,
    design: &SweepDesign<'_>,
    axis: usize,
    most: usize,
    notes: &mut Vec<String>,
) -> Shown {
    let of = &sweep.axes[axis];
    let mut values = design.used(axis);
    values.retain(|value| *value < of.values.len());
    if of.is_numeric() {
        let number = |value: &usize| of.values[*value].number.unwrap_or_default();
        values.sort_by(|one, other| number(one).total_cmp(&number(other)));
    }
    if values.len() > most {
        let note = format!("{most} of {} values of {} are shown.", values.len(), of.name);
        if !notes.contains(&note) {
            notes.push(note);
        }
        let last = values.len() - 1;
        values = (0..most).map(|at| values[at * last / (most - 1)]).collect();
    }
    let labels = values.iter().map(|value| of.values[*value].label.clone()).collect();
    let numbers: Option<Vec<f64>> = values.iter().map(|value| of.values[*value].number).collect();
    let is_logarithmic =
        numbers.as_ref().is_some_and(|numbers| of.is_logarithmic || are_by_factors(numbers));
    let places = Places { name: of.name.clone(), labels, numbers, is_logarithmic };
    Shown { values, places }
}

/// Returns whether ascending numbers are spaced by factors rather than by differences: if the smallest gap is a larger
/// share of the whole by logarithms.
fn are_by_factors(numbers: &[f64]) -> bool {
    let (Some(first), Some(last)) = (numbers.first(), numbers.last()) else { return false };
    if *first <= 0.0 || numbers.len() < 3 || last / first < 10.0 {
        return false;
    }
    let smallest = |of: fn(f64) -> f64| {
        let gaps = numbers.windows(2).map(|pair| of(pair[1]) - of(pair[0]));
        gaps.fold(f64::INFINITY, f64::min) / (of(*last) - of(*first))
    };
    smallest(f64::log10) > smallest(|number| number)
}

fn segments(sweep: &Sweep, figures: &[usize]) -> Shown {
    let of_figures = sweep.rows.iter().filter(|row| figures.contains(&row.figure));
    let mut all: Vec<u32> = of_figures.filter_map(|row| row.segment).collect();
    all.sort_unstable();
    all.dedup();
    let places = Places {
        name: "segment".to_owned(),
        labels: all.iter().map(u32::to_string).collect(),
        numbers: Some(all.iter().copied().map(f64::from).collect()),
        is_logarithmic: false,
    };
    Shown { values: all.into_iter().map(|segment| segment as usize).collect(), places }
}

fn heading(
    sweep: &Sweep,
    plan: &ChartPlan,
    x: Along,
    figures: &[usize],
    value: Option<(usize, usize)>,
) -> String {
    match (plan.panels, x, value) {
        (Panels::EachAxis, Along::Axis(axis), _) => sweep.axes[axis].name.clone(),
        (Panels::Figures, ..) => {
            let named = figure_names(sweep, &plan.figures);
            let position = figures
                .first()
                .and_then(|figure| plan.figures.iter().position(|other| other == figure));
            position.and_then(|at| named.get(at).cloned()).unwrap_or_default()
        }
        (_, _, Some((axis, value))) => {
            let of = &sweep.axes[axis];
            format!("{}: {}", of.name, of.values[value].label)
        }
        _ => String::new(),
    }
}

/// Returns what tells figures apart: their arrays, their quantities, or both.
fn figure_names(sweep: &Sweep, figures: &[usize]) -> Vec<String> {
    let of = || figures.iter().map(|figure| &sweep.figures[*figure]);
    let differ = |words: &[&str]| words.windows(2).any(|pair| pair[0] != pair[1]);
    let quantities: Vec<&str> = of().map(|figure| figure.quantity.as_str()).collect();
    let arrays: Vec<&str> = of().map(|figure| figure.of.array.as_str()).collect();
    let name = |figure: &SweepFigure| match (differ(&quantities), differ(&arrays)) {
        (false, _) => figure.of.array.clone(),
        (true, false) => figure.quantity.clone(),
        (true, true) => figure.name.clone(),
    };
    of().map(name).collect()
}

fn subtitles(
    sweep: &Sweep,
    design: &SweepDesign<'_>,
    plan: &ChartPlan,
    notes: Vec<String>,
) -> Vec<String> {
    let mut subtitles = vec![format!("{}.", run_words(sweep))];
    let mut words = Vec::new();
    if let (Some(_), [figure]) = (plan.lines, plan.figures.as_slice()) {
        words.push(format!("{}.", sweep.figures[*figure].of.array));
    }
    if let Some(interval) = interval_words(sweep) {
        match plan.kind {
            _ if plan.against.is_some() => {
                words.push(format!("Bars: {interval}, of both figures."))
            }
            SweepChartKind::Lines if plan.joined => words.push(format!("Shaded: {interval}.")),
            SweepChartKind::Lines | SweepChartKind::Dots => {
                words.push(format!("Bars: {interval}."))
            }
            SweepChartKind::HeatMap => words.push("Means over all seeds.".to_owned()),
        }
    }
    if design.shape == DesignShape::InStep {
        let names: Vec<&str> =
            design.varied.iter().map(|axis| sweep.axes[*axis].name.as_str()).collect();
        words.push(format!("{} advance together.", listed(&names)));
    }
    if plan.panels == Panels::EachAxis && design.shape == DesignShape::OneAtATime {
        words.push("All other axes are at their first value.".to_owned());
    }
    let is_beside_the_first =
        design.shape == DesignShape::OneAtATime && plan.fixed.iter().all(|(_, value)| *value == 0);
    if is_beside_the_first && plan.x == Along::Segments {
        words.push("All other axes are at their first value.".to_owned());
    } else if !plan.fixed.is_empty() {
        let fixed = plan.fixed.iter().map(|(axis, value)| {
            format!("{} {}", sweep.axes[*axis].name, sweep.axes[*axis].values[*value].label)
        });
        let fixed: Vec<String> = fixed.collect();
        let fixed: Vec<&str> = fixed.iter().map(String::as_str).collect();
        words.push(format!("Here: {}; report.html has the others.", listed(&fixed)));
    }
    words.extend(notes);
    words.extend(missing_words(sweep).into_iter().next());
    if !words.is_empty() {
        subtitles.push(words.join(" "));
    }
    subtitles
}
