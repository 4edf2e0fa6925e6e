//! Which charts a sweep gets, and which axis goes where.

use crate::sweep_design::{DesignShape, SweepDesign};
use strewn_results::{
    FigureMetric, FigureOf, Sweep, SweepAxis, SweepChartKind, SweepChartSpec, SweepFigure,
};

/// Settings that say how much is asked of an array: response time against throughput is drawn over these.
const OF_LOAD: [&str; 2] = ["outstanding", "operations_per_second"];

/// Fewer values along either axis are lines, not a heat map.
const LEAST_OF_HEAT_MAP: usize = 4;

/// What lies along x.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Along {
    /// The values of an axis.
    Axis(usize),
    /// Segments.
    Segments,
    /// Nothing: there is one combination.
    Nothing,
}

/// What panels differ by.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Panels {
    /// There is one.
    One,
    /// By the value of an axis.
    Axis(usize),
    /// By figure.
    Figures,
    /// A panel for each axis, whose values are along x.
    EachAxis,
}

/// A chart: what it shows, and how.
#[derive(Clone, Debug)]
pub(super) struct ChartPlan {
    pub(super) title: String,
    /// For the name of the file.
    pub(super) name: String,
    /// All of one unit.
    pub(super) figures: Vec<usize>,
    pub(super) x: Along,
    /// The quantity that is along x, where points are joined along an axis; none if the axis itself is.
    pub(super) against: Option<String>,
    /// The axis that lines differ by, or that lies along y in a heat map.
    pub(super) lines: Option<usize>,
    pub(super) panels: Panels,
    pub(super) kind: SweepChartKind,
    /// Whether points are joined.
    pub(super) joined: bool,
    /// Axes that have no place in the chart, and the value at which it shows them.
    pub(super) fixed: Vec<(usize, usize)>,
}

/// Returns the charts of a sweep: those of the specifications, or, without any, one for each quantity.
pub(super) fn plans(
    sweep: &Sweep,
    design: &SweepDesign<'_>,
    specs: &[SweepChartSpec],
) -> Vec<ChartPlan> {
    if !specs.is_empty() {
        return specs.iter().flat_map(|spec| of_spec(sweep, design, spec)).collect();
    }
    let mut quantities: Vec<&str> = Vec::new();
    for figure in &sweep.figures {
        if !quantities.contains(&figure.quantity.as_str()) {
            quantities.push(&figure.quantity);
        }
    }
    let spec = |quantity: &str| SweepChartSpec {
        figures: vec![quantity.to_owned()],
        ..SweepChartSpec::default()
    };
    let against_load = against_load(sweep, design);
    let each = quantities.iter().map(|quantity| spec(quantity));
    against_load.into_iter().chain(each).flat_map(|spec| of_spec(sweep, design, &spec)).collect()
}

/// Returns the charts of response time against throughput: of each two figures of the same segments, if an axis says
/// how much is asked of the arrays.
fn against_load(sweep: &Sweep, design: &SweepDesign<'_>) -> Vec<SweepChartSpec> {
    let is_load = |axis: &&usize| {
        let axis = &sweep.axes[**axis];
        axis.is_numeric() && OF_LOAD.contains(&axis.setting.as_str())
    };
    let Some(axis) = design.varied.iter().find(is_load) else { return Vec::new() };
    let plain = |metric: FigureMetric| {
        let figures = sweep.figures.iter().filter(move |figure| figure.of.metric == metric);
        figures.filter(|figure| !figure.by_segment && !figure.of.is_percentage())
    };
    let mut specs: Vec<SweepChartSpec> = Vec::new();
    for response in plain(FigureMetric::RESPONSE_MS) {
        let is_like = |other: &&SweepFigure| {
            other.of == FigureOf { metric: FigureMetric::IOPS, ..response.of.clone() }
        };
        let Some(iops) = plain(FigureMetric::IOPS).find(is_like) else { continue };
        let spec = SweepChartSpec {
            figures: vec![response.quantity.clone()],
            against: Some(iops.quantity.clone()),
            x: Some(sweep.axes[*axis].name.clone()),
            ..SweepChartSpec::default()
        };
        // A quantity is of several arrays.
        if !specs.contains(&spec) {
            specs.push(spec);
        }
    }
    specs
}

/// Returns the charts of one specification: figures of unlike units, or by segment and not, get charts of their own.
fn of_spec(sweep: &Sweep, design: &SweepDesign<'_>, spec: &SweepChartSpec) -> Vec<ChartPlan> {
    let mut groups: Vec<Vec<usize>> = Vec::new();
    for (number, figure) in sweep.figures.iter().enumerate() {
        if !spec.figures.contains(&figure.quantity) {
            continue;
        }
        let is_like = |other: &usize| {
            let other = &sweep.figures[*other];
            other.unit == figure.unit && other.by_segment == figure.by_segment
        };
        match groups.iter_mut().find(|group| group.iter().all(is_like)) {
            Some(group) => group.push(number),
            None => groups.push(vec![number]),
        }
    }
    groups.into_iter().flat_map(|figures| placed(sweep, design, spec, figures)).collect()
}

/// Chooses the place of each axis.
fn placed(
    sweep: &Sweep,
    design: &SweepDesign<'_>,
    spec: &SweepChartSpec,
    figures: Vec<usize>,
) -> Vec<ChartPlan> {
    let by_segment = figures.iter().any(|figure| sweep.figures[*figure].by_segment);
    let mut free = Free { sweep, design, axes: design.varied.clone() };
    let asks =
        spec.x.is_some() || spec.against.is_some() || spec.lines.is_some() || spec.panels.is_some();
    let scattered = design.shape == DesignShape::Scattered;
    if (scattered || design.shape == DesignShape::OneAtATime) && !asks && !by_segment {
        let plans = with_figures_placed(of_each_axis(sweep, design, spec, figures));
        return plans.into_iter().map(|(plan, split)| titled(sweep, spec, plan, split)).collect();
    }
    if design.shape == DesignShape::OneAtATime && !asks && by_segment && design.varied.len() > 1 {
        // Lines differ by one axis, whose values a legend names: each axis has a chart of its own.
        let of_axis = |axis: &usize| {
            let lines = Some(sweep.axes[*axis].name.clone());
            placed(sweep, design, &SweepChartSpec { lines, ..spec.clone() }, figures.clone())
        };
        return design.varied.iter().flat_map(of_axis).collect();
    }
    let asked_lines = free.take(spec.lines.as_deref());
    let asked_panels = free.take(spec.panels.as_deref());
    let x = match spec.x.as_deref() {
        _ if by_segment => Along::Segments,
        Some(name) if sweep.axes.iter().any(|axis| axis.name == name) => {
            free.take(Some(name)).or_else(|| free.best_x()).map_or(Along::Nothing, Along::Axis)
        }
        _ => free.best_x().map_or(Along::Nothing, Along::Axis),
    };
    if scattered || design.shape == DesignShape::InStep {
        // In step, a value of one axis says those of all others; scattered ones are all drawn.
        free.axes.clear();
    }
    let left = if design.shape == DesignShape::OneAtATime
        && (!by_segment || asked_lines.is_some() || asked_panels.is_some())
    {
        // Two axes never differ from their first values together.
        std::mem::take(&mut free.axes)
    } else {
        Vec::new()
    };
    let x_is_long = matches!(x, Along::Axis(axis) if free.is_long(axis));
    let is_field = x_is_long && spec.against.is_none();
    let field = free.axes.iter().copied().find(|axis| is_field && free.is_long(*axis));
    let kind = spec.kind.unwrap_or(match x {
        Along::Axis(_) if field.is_some() && asked_lines.is_none() => SweepChartKind::HeatMap,
        Along::Axis(axis) if sweep.axes[axis].is_numeric() => SweepChartKind::Lines,
        Along::Segments => SweepChartKind::Lines,
        Along::Axis(_) | Along::Nothing => SweepChartKind::Dots,
    });
    let lines = asked_lines.or_else(|| match (kind, field) {
        (SweepChartKind::HeatMap, Some(axis)) => free.take_axis(axis),
        _ => free.fewest(),
    });
    let panels = asked_panels.or_else(|| free.fewest());
    let kind = match kind {
        // A field has two axes, and a line has a length.
        SweepChartKind::HeatMap if lines.is_none() || x == Along::Nothing => SweepChartKind::Dots,
        SweepChartKind::Lines if x == Along::Nothing => SweepChartKind::Dots,
        kind => kind,
    };
    let fixed = free
        .axes
        .iter()
        .chain(&left)
        .filter_map(|axis| Some((*axis, *design.used(*axis).first()?)));
    let plan = ChartPlan {
        title: String::new(),
        name: String::new(),
        figures,
        x,
        against: spec.against.clone(),
        lines,
        panels: panels.map_or(Panels::One, Panels::Axis),
        kind,
        joined: !scattered,
        fixed: fixed.collect(),
    };
    with_figures_placed(plan)
        .into_iter()
        .map(|(plan, split)| titled(sweep, spec, plan, split))
        .collect()
}

/// Returns a chart with a panel for each axis: of scattered combinations all, otherwise those with the first values of
/// all other axes.
fn of_each_axis(
    sweep: &Sweep,
    design: &SweepDesign<'_>,
    spec: &SweepChartSpec,
    figures: Vec<usize>,
) -> ChartPlan {
    let scattered = design.shape == DesignShape::Scattered;
    // An axis of words that a hypercube is crossed with.
    let crossed =
        |axis: &&usize| scattered && !sweep.axes[**axis].is_numeric() && design.is_crossed(**axis);
    ChartPlan {
        title: String::new(),
        name: String::new(),
        figures,
        x: Along::Nothing,
        against: None,
        lines: design.varied.iter().find(crossed).copied(),
        panels: Panels::EachAxis,
        kind: match spec.kind {
            Some(SweepChartKind::Dots) => SweepChartKind::Dots,
            _ if scattered => SweepChartKind::Lines,
            _ => SweepChartKind::Dots,
        },
        joined: false,
        fixed: Vec::new(),
    }
}

/// Gives figures a place: as lines, else as panels, else as charts of their own.
fn with_figures_placed(plan: ChartPlan) -> Vec<(ChartPlan, bool)> {
    let are_lines = plan.lines.is_none() && plan.kind != SweepChartKind::HeatMap;
    if plan.figures.len() < 2 || are_lines {
        return vec![(plan, false)];
    }
    if plan.panels == Panels::One {
        return vec![(ChartPlan { panels: Panels::Figures, ..plan }, false)];
    }
    let of = |figure: &usize| (ChartPlan { figures: vec![*figure], ..plan.clone() }, true);
    plan.figures.iter().map(of).collect()
}

/// Gives a chart its title and its name: those of the specification, or what it shows by what.
fn titled(sweep: &Sweep, spec: &SweepChartSpec, plan: ChartPlan, split: bool) -> ChartPlan {
    let axis = |axis: usize| sweep.axes[axis].name.as_str();
    let mut quantities: Vec<&str> = Vec::new();
    for figure in &plan.figures {
        let figure = &sweep.figures[*figure];
        let words = if split { &figure.name } else { &figure.quantity };
        if !quantities.contains(&words.as_str()) {
            quantities.push(words);
        }
    }
    let shown = quantities.join("; ");
    let mut by: Vec<&str> = Vec::new();
    match plan.x {
        Along::Axis(number) => by.push(axis(number)),
        // The name of a figure often says so itself.
        Along::Segments if shown.contains("by segment") => {}
        Along::Segments => by.push("segment"),
        Along::Nothing => {}
    }
    by.extend(plan.lines.map(axis));
    if let Panels::Axis(number) = plan.panels {
        by.push(axis(number));
    }
    let shown = match &plan.against {
        Some(against) => format!("{shown} against {against}"),
        None => shown,
    };
    let automatic = match (plan.panels, by.as_slice()) {
        (Panels::EachAxis, _) => format!("{shown}, by each axis"),
        (_, []) => shown.clone(),
        (_, by) => format!("{shown}, by {}", listed(by)),
    };
    let array = plan.figures.first().map_or("", |figure| &sweep.figures[*figure].of.array);
    let title = match &spec.title {
        Some(title) if split => format!("{title}: {array}"),
        Some(title) => title.clone(),
        None => automatic,
    };
    let name = spec.title.as_ref().map_or(shown, |_| title.clone());
    ChartPlan { title, name, ..plan }
}

/// Returns words joined by commas and `and`.
pub(super) fn listed(words: &[&str]) -> String {
    match words {
        [] => String::new(),
        [only] => (*only).to_owned(),
        [first @ .., last] => format!("{} and {last}", first.join(", ")),
    }
}

/// The axes that have no place yet.
struct Free<'a> {
    sweep: &'a Sweep,
    design: &'a SweepDesign<'a>,
    axes: Vec<usize>,
}

impl Free<'_> {
    fn axis(&self, axis: usize) -> &SweepAxis {
        &self.sweep.axes[axis]
    }

    fn count(&self, axis: usize) -> usize {
        self.design.used(axis).len()
    }

    fn is_long(&self, axis: usize) -> bool {
        self.axis(axis).is_numeric() && self.count(axis) >= LEAST_OF_HEAT_MAP
    }

    fn take_axis(&mut self, axis: usize) -> Option<usize> {
        let position = self.axes.iter().position(|other| *other == axis)?;
        Some(self.axes.remove(position))
    }

    /// Takes the axis of this name; none if it has one value only.
    fn take(&mut self, name: Option<&str>) -> Option<usize> {
        let name = name?;
        let axis = self.axes.iter().copied().find(|axis| self.axis(*axis).name == name)?;
        self.take_axis(axis)
    }

    /// Takes the numeric axis with the most values, or the first other one with the most.
    fn best_x(&mut self) -> Option<usize> {
        let rank = |axis: &usize| (self.axis(*axis).is_numeric(), self.count(*axis));
        // The last of equals would win.
        let best = self.axes.iter().copied().rev().max_by_key(rank)?;
        self.take_axis(best)
    }

    /// Takes an axis of words, or the numeric one with the fewest values.
    fn fewest(&mut self) -> Option<usize> {
        let rank = |axis: &usize| (self.axis(*axis).is_numeric(), self.count(*axis));
        let fewest = self.axes.iter().copied().min_by_key(rank)?;
        self.take_axis(fewest)
    }
}
