//! What is uncertain about a figure, in percent of it: other seeds, the scatter of fitted rows, unknown constants.
//!
//! - Each row of a sensitivity changes a figure by a factor. Rows of one constant are alternatives: the constant takes
//!   the figure as far up as its largest change up, and as far down as its largest change down.
//! - Constants are independent of each other, so their ups add in quadrature, and so do their downs.
//! - Other seeds give other figures. Their part is the 95 % quantile of Student's t times the standard deviation of the
//!   figure of one run.

use crate::analysis::sweep::students_t;
use crate::data::band::FigureBand;
use crate::data::number::rounded;
use crate::data::sensitivity::{ArraySensitivity, RowOutcome, SensitivityRow, VariedKind};

/// Significant digits of the parts of a band.
const PART_DIGITS: usize = 3;

/// By what factor one change of a constant multiplies a figure.
pub(super) struct Effect<'a> {
    pub(super) constant: &'a str,
    pub(super) kind: VariedKind,
    pub(super) factor: f64,
}

/// Returns the effects on a figure that follows from the IOPS of one array, by segment; none of a figure that its
/// segments do not give.
pub(super) fn effects_on<'a>(
    array: &'a ArraySensitivity,
    figure: &dyn Fn(&[f64]) -> Option<f64>,
) -> Vec<Effect<'a>> {
    let Some(baseline) = figure(&array.iops).filter(|baseline| *baseline > 0.0) else {
        return Vec::new();
    };
    let effect = |row: &'a SensitivityRow| {
        let RowOutcome::Fit { iops, .. } = &row.outcome else { return None };
        let factor = figure(iops)? / baseline;
        Some(Effect { constant: &row.constant, kind: row.kind, factor })
    };
    array.rows.iter().filter_map(effect).collect()
}

/// Returns the effects on the quotient of a figure of one array and of another. A row that both have is one change of
/// one constant, which moves both; it is excluded if either array cannot be fitted with it. A row that only one has
/// leaves the other as it is.
pub(super) fn effects_on_quotient<'a>(
    [of, over]: [&'a ArraySensitivity; 2],
    figure: &dyn Fn(&[f64]) -> Option<f64>,
) -> Vec<Effect<'a>> {
    let same = |array: &'a ArraySensitivity, row: &SensitivityRow| {
        let mut rows = array.rows.iter();
        rows.find(|other| other.name == row.name && other.constant == row.constant)
    };
    let factor = |array: &'a ArraySensitivity, row: &SensitivityRow| match same(array, row) {
        None => Some(1.0),
        Some(SensitivityRow { outcome: RowOutcome::NoFit { .. }, .. }) => None,
        Some(SensitivityRow { outcome: RowOutcome::Fit { iops, .. }, .. }) => {
            Some(figure(iops)? / figure(&array.iops)?)
        }
    };
    let effect = |row: &'a SensitivityRow| {
        let factor = factor(of, row)? / factor(over, row)?;
        Some(Effect { constant: &row.constant, kind: row.kind, factor })
    };
    let over_alone = over.rows.iter().filter(|row| same(of, row).is_none());
    of.rows.iter().chain(over_alone).filter_map(effect).collect()
}

/// What is known about a figure's uncertainty.
#[derive(Default)]
pub(super) struct Parts<'a> {
    /// The figure in each run, each with its own seed; the first is the run's own.
    pub(super) by_seed: Vec<f64>,
    /// The effects of constants.
    pub(super) effects: Vec<Effect<'a>>,
}

impl Parts<'_> {
    /// Returns the band around `figure`; none if nothing is known.
    pub(super) fn band(&self, figure: f64) -> Option<FigureBand> {
        let percent = |fraction: f64| rounded(100.0 * fraction, PART_DIGITS);
        // The seeds of these runs, or else those beside the constants.
        let (seeds, runs) = match spread(&self.by_seed) {
            Some(spread) => (Some(spread), self.by_seed.len()),
            None => {
                let of_rows = self.effects.iter().filter(|effect| effect.kind == VariedKind::Seed);
                let by_seed: Vec<f64> =
                    std::iter::once(1.0).chain(of_rows.map(|effect| effect.factor)).collect();
                (spread(&by_seed), by_seed.len())
            }
        };
        let rows = quadrature(&self.effects, VariedKind::FittedRow);
        let unknowns = quadrature(&self.effects, VariedKind::Unknown);
        if seeds.is_none() && rows.is_none() && unknowns.is_none() {
            return None;
        }
        let band = FigureBand {
            seeds_percent: seeds.map(percent),
            seeds: seeds.map(|_| u32::try_from(runs).unwrap_or(u32::MAX)),
            fitted_rows_percent_down: rows.map(|[down, _]| percent(down)),
            fitted_rows_percent_up: rows.map(|[_, up]| percent(up)),
            unknowns_percent_down: unknowns.map(|[down, _]| percent(down)),
            unknowns_percent_up: unknowns.map(|[_, up]| percent(up)),
            ..FigureBand::default()
        };
        Some(band.around(figure))
    }
}

/// Returns how far the constants of a kind take a figure down and up together, as fractions; none if there is none.
fn quadrature(effects: &[Effect<'_>], kind: VariedKind) -> Option<[f64; 2]> {
    let of_kind = || effects.iter().filter(move |effect| effect.kind == kind);
    let mut constants: Vec<&str> = of_kind().map(|effect| effect.constant).collect();
    constants.sort_unstable();
    constants.dedup();
    if constants.is_empty() {
        return None;
    }
    let mut squares = [0.0; 2];
    for constant in constants {
        let mut farthest = [0.0_f64; 2];
        for effect in of_kind().filter(|effect| effect.constant == constant) {
            let change = effect.factor - 1.0;
            farthest = [farthest[0].max(-change), farthest[1].max(change)];
        }
        squares = [squares[0] + farthest[0] * farthest[0], squares[1] + farthest[1] * farthest[1]];
    }
    Some(squares.map(f64::sqrt))
}

/// Returns the seeds' part, as a fraction of the first figure; none of fewer than two figures.
fn spread(by_seed: &[f64]) -> Option<f64> {
    let count = by_seed.len();
    let first = *by_seed.first().filter(|first| count > 1 && **first > 0.0)?;
    let mean = by_seed.iter().sum::<f64>() / count as f64;
    let squares: f64 = by_seed.iter().map(|figure| (figure - mean) * (figure - mean)).sum();
    let deviation = (squares / (count - 1) as f64).sqrt();
    // Three decimals, as in printed tables.
    let quantile = (students_t(count - 1)? * 1000.0).round() / 1000.0;
    Some(quantile * deviation / first)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn effect(constant: &str, kind: VariedKind, factor: f64) -> Effect<'_> {
        Effect { constant, kind, factor }
    }

    #[test]
    fn alternatives_compete_and_constants_add_in_quadrature() {
        let unknown = VariedKind::Unknown;
        let effects = vec![
            effect("cache", unknown, 1.03),
            effect("chunk", unknown, 0.99),
            effect("cache", unknown, 1.01),
            effect("log", unknown, 1.04),
            effect("row", VariedKind::FittedRow, 0.998),
        ];
        let band = Parts { by_seed: vec![1000.0], effects }.band(1000.0).unwrap();
        assert_eq!(band.unknowns_percent_up, Some(5.0));
        assert_eq!(band.unknowns_percent_down, Some(1.0));
        assert_eq!(band.fitted_rows_percent_down, Some(0.2));
        assert_eq!(band.fitted_rows_percent_up, Some(0.0));
        assert_eq!(band.seeds_percent, None);
        assert_eq!(band.high, 1050.0);
        assert_eq!(band.low, rounded(1000.0 * (1.0 - (1.0_f64 + 0.04).sqrt() / 100.0), 6));
    }

    #[test]
    fn the_seeds_part_is_that_of_one_run() {
        // Standard deviation 10, two degrees of freedom.
        let parts = Parts { by_seed: vec![1000.0, 990.0, 1010.0], effects: Vec::new() };
        let band = parts.band(1000.0).unwrap();
        assert_eq!((band.seeds_percent, band.seeds), (Some(4.3), Some(3)));
        assert_eq!((band.low, band.high), (957.0, 1043.0));
        assert!(Parts { by_seed: vec![1000.0], effects: Vec::new() }.band(1000.0).is_none());
    }

    #[test]
    fn seeds_beside_the_constants_stand_in_for_runs() {
        let seed = |factor| effect("seed", VariedKind::Seed, factor);
        let parts = Parts { by_seed: vec![500.0], effects: vec![seed(0.99), seed(1.01)] };
        assert_eq!(parts.band(500.0).unwrap().seeds_percent, Some(4.3));
        let own = Parts { by_seed: vec![500.0, 500.0], effects: vec![seed(0.99), seed(1.01)] };
        assert_eq!(own.band(500.0).unwrap().seeds_percent, Some(0.0));
    }

    #[test]
    fn a_change_of_two_arrays_is_one_and_excluded_if_either_has_no_fit() {
        let fit = |iops: f64| RowOutcome::Fit { fitted: Vec::new(), iops: vec![iops] };
        let row = |name: &str, outcome| SensitivityRow {
            name: name.to_owned(),
            constant: name.to_owned(),
            kind: VariedKind::Unknown,
            outcome,
        };
        let array = |rows| ArraySensitivity {
            name: String::new(),
            settings: String::new(),
            fitted: Vec::new(),
            iops: vec![100.0],
            rows,
        };
        let off = RowOutcome::NoFit { errors_percent: vec![9.0] };
        let of =
            array(vec![row("file", fit(90.0)), row("cache", fit(80.0)), row("log", fit(70.0))]);
        let over = array(vec![row("file", fit(90.0)), row("log", off), row("chunk", fit(50.0))]);
        let effects = effects_on_quotient([&of, &over], &|iops| iops.first().copied());
        let found: Vec<(&str, f64)> =
            effects.iter().map(|effect| (effect.constant, effect.factor)).collect();
        assert_eq!(found, [("file", 1.0), ("cache", 0.8), ("chunk", 2.0)]);
    }
}
