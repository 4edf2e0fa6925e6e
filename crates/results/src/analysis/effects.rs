//! What is uncertain about a figure, in percent of it: other seeds, the scatter of fitted rows, unknown constants.
//!
//! - Each row of a sensitivity changes a figure by a factor. Rows of one constant are alternatives: the constant takes
//!   the figure as far up as its largest change up, and as far down as its largest change down.
//! - Constants are independent of each other, so their ups add in quadrature, and so do their downs.
//! - All parts are at one level, 95 %. A fitted row is moved by one standard deviation of what published rows scatter
//!   by, so its effect counts [`NORMAL_QUANTILE`] times. The values of an unknown constant are the ends of what it may
//!   be.
//! - Other seeds give other figures. 95 % of single runs are within `t s sqrt(1 + 1/n)` of the mean of `n` runs: the
//!   quantile of Student's t, the standard deviation of one run, and the two things that vary, which are the single run
//!   and the mean. If all that is known at the run's scale is the run itself, it is a mean of one.

use crate::analysis::sweep::NORMAL_QUANTILE;
use crate::data::band::FigureBand;
use crate::data::number::{SIGNIFICANT_DIGITS, rounded};
use crate::data::sensitivity::{ArraySensitivity, RowOutcome, SensitivityRow, VariedKind};
use crate::data::students_t::students_t;

/// Significant digits of the parts of a band.
const PART_DIGITS: usize = 3;

/// By what factor one change of a constant multiplies a figure.
pub(super) struct Effect<'a> {
    pub(super) constant: &'a str,
    /// Of a quotient, whether only the array below has the constant, and the one above may have another of its name.
    pub(super) is_below: bool,
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
        Some(Effect { constant: &row.constant, is_below: false, kind: row.kind, factor })
    };
    array.rows.iter().filter_map(effect).collect()
}

/// Returns the effects on the quotient of a figure of one array and of another. A row that both have is one change of
/// one constant, which moves both; it is excluded if either array cannot be fitted with it. A row that only one has
/// leaves the other as it is, and so does a fitted row: what was published of each array was measured by itself.
pub(super) fn effects_on_quotient<'a>(
    [of, over]: [&'a ArraySensitivity; 2],
    figure: &dyn Fn(&[f64]) -> Option<f64>,
) -> Vec<Effect<'a>> {
    let same = |array: &'a ArraySensitivity, row: &SensitivityRow| {
        let mut rows = array.rows.iter().filter(|_| row.kind != VariedKind::FittedRow);
        rows.find(|other| other.name == row.name && other.constant == row.constant)
    };
    let factor = |array: &ArraySensitivity, row: Option<&SensitivityRow>| {
        let Some(row) = row else { return Some(1.0) };
        let RowOutcome::Fit { iops, .. } = &row.outcome else { return None };
        Some(figure(iops)? / figure(&array.iops)?)
    };
    let above = of.rows.iter().map(|row| (row, false, [Some(row), same(over, row)]));
    let below = over.rows.iter().filter(|row| same(of, row).is_none());
    let below = below.map(|row| (row, true, [None, Some(row)]));
    let effect = |(row, is_below, [above, below]): (&'a SensitivityRow, bool, [Option<_>; 2])| {
        let factor = factor(of, above)? / factor(over, below)?;
        Some(Effect { constant: &row.constant, is_below, kind: row.kind, factor })
    };
    above.chain(below).filter_map(effect).collect()
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
    /// Returns the band of `figure`, which is that of the first run; none if nothing is known.
    pub(super) fn band(&self, figure: f64) -> Option<FigureBand> {
        let percent = |fraction: f64| rounded(100.0 * fraction, PART_DIGITS);
        // The seeds of these runs, or else those beside the constants, at another scale than the run.
        let (seeds, runs, centre) = match spread(&self.by_seed, self.by_seed.len()) {
            Some(spread) => {
                let mean_of_first = mean(&self.by_seed) / self.by_seed[0];
                (Some(spread), self.by_seed.len(), Some(figure * mean_of_first))
            }
            None => {
                let of_rows = self.effects.iter().filter(|effect| effect.kind == VariedKind::Seed);
                let by_seed: Vec<f64> =
                    std::iter::once(1.0).chain(of_rows.map(|effect| effect.factor)).collect();
                (spread(&by_seed, 1), by_seed.len(), None)
            }
        };
        let rows = quadrature(&self.effects, VariedKind::FittedRow)
            .map(|sides| sides.map(|side| NORMAL_QUANTILE * side));
        let unknowns = quadrature(&self.effects, VariedKind::Unknown);
        if seeds.is_none() && rows.is_none() && unknowns.is_none() {
            return None;
        }
        let band = FigureBand {
            centre: centre.map(|centre| rounded(centre, SIGNIFICANT_DIGITS)),
            seeds_percent: seeds.map(percent),
            seeds: seeds.map(|_| u32::try_from(runs).unwrap_or(u32::MAX)),
            fitted_rows_percent_down: rows.map(|[down, _]| percent(down)),
            fitted_rows_percent_up: rows.map(|[_, up]| percent(up)),
            unknowns_percent_down: unknowns.map(|[down, _]| percent(down)),
            unknowns_percent_up: unknowns.map(|[_, up]| percent(up)),
            ..FigureBand::default()
        };
        Some(band.around(centre.unwrap_or(figure)))
    }
}

/// Returns how far the constants of a kind take a figure down and up together, as fractions; none if there is none.
fn quadrature(effects: &[Effect<'_>], kind: VariedKind) -> Option<[f64; 2]> {
    let of_kind = || effects.iter().filter(move |effect| effect.kind == kind);
    fn constant_of<'a>(effect: &Effect<'a>) -> (bool, &'a str) {
        (effect.is_below, effect.constant)
    }
    let mut constants: Vec<_> = of_kind().map(constant_of).collect();
    constants.sort_unstable();
    constants.dedup();
    if constants.is_empty() {
        return None;
    }
    let mut squares = [0.0; 2];
    for constant in constants {
        let mut farthest = [0.0_f64; 2];
        for effect in of_kind().filter(|effect| constant_of(effect) == constant) {
            let change = effect.factor - 1.0;
            farthest = [farthest[0].max(-change), farthest[1].max(change)];
        }
        squares = [squares[0] + farthest[0] * farthest[0], squares[1] + farthest[1] * farthest[1]];
    }
    Some(squares.map(f64::sqrt))
}

fn mean(figures: &[f64]) -> f64 {
    figures.iter().sum::<f64>() / figures.len() as f64
}

/// Returns the seeds' part of a band around the mean of `averaged` runs, as a fraction of the mean; none of fewer than
/// two figures.
fn spread(by_seed: &[f64], averaged: usize) -> Option<f64> {
    let count = by_seed.len();
    // The first is what the others are compared with.
    by_seed.first().filter(|first| count > 1 && **first > 0.0)?;
    let mean = mean(by_seed);
    let squares: f64 = by_seed.iter().map(|figure| (figure - mean) * (figure - mean)).sum();
    let deviation = (squares / (count - 1) as f64).sqrt();
    let of_mean_and_run = (1.0 + 1.0 / averaged as f64).sqrt();
    Some(students_t(count - 1)? * deviation * of_mean_and_run / mean)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn effect(constant: &str, kind: VariedKind, factor: f64) -> Effect<'_> {
        Effect { constant, is_below: false, kind, factor }
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
        // A row is moved by one standard deviation; 95 % is 1.96 of them.
        assert_eq!(band.fitted_rows_percent_down, Some(0.392));
        assert_eq!(band.fitted_rows_percent_up, Some(0.0));
        assert_eq!((band.seeds_percent, band.centre), (None, None));
        assert_eq!(band.high, 1050.0);
        assert_eq!(band.low, rounded(1000.0 * (1.0 - 1.0_f64.hypot(0.392) / 100.0), 6));
    }

    #[test]
    fn the_seeds_part_is_that_of_one_run_around_the_mean() {
        // Mean 1000, standard deviation 10, two degrees of freedom: 4.303 x 10 x sqrt(4/3).
        let parts = Parts { by_seed: vec![990.0, 1000.0, 1010.0], effects: Vec::new() };
        let band = parts.band(990.0).unwrap();
        assert_eq!((band.seeds_percent, band.seeds), (Some(4.97), Some(3)));
        assert_eq!((band.low, band.centre, band.high), (950.3, Some(1000.0), 1049.7));
        assert!(Parts { by_seed: vec![1000.0], effects: Vec::new() }.band(1000.0).is_none());
        // The figure may be in another unit than the figures by seed, as a ratio in percent is.
        assert_eq!(parts.band(99.0).unwrap().centre, Some(100.0));
    }

    #[test]
    fn seeds_beside_the_constants_stand_in_for_runs() {
        let seed = |factor| effect("seed", VariedKind::Seed, factor);
        let parts = Parts { by_seed: vec![500.0], effects: vec![seed(0.99), seed(1.01)] };
        let band = parts.band(500.0).unwrap();
        // Both the run and another one vary: 4.303 x sqrt(2) percent, around the run.
        assert_eq!((band.seeds_percent, band.seeds, band.centre), (Some(6.08), Some(3), None));
        let own = Parts { by_seed: vec![500.0, 500.0], effects: vec![seed(0.99), seed(1.01)] };
        assert_eq!(own.band(500.0).unwrap().seeds_percent, Some(0.0));
    }

    /// Draws figures of runs: mean 1000, standard deviation 10, normally distributed.
    struct Runs(u64);

    impl Runs {
        fn uniform(&mut self) -> f64 {
            // SplitMix64.
            self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
            let mut bits = self.0;
            bits = (bits ^ (bits >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
            bits = (bits ^ (bits >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
            ((bits ^ (bits >> 31)) >> 11) as f64 / (1u64 << 53) as f64
        }

        fn figure(&mut self) -> f64 {
            // Box and Muller.
            let (radius, turn) = (1.0 - self.uniform(), self.uniform());
            1000.0 + 10.0 * (-2.0 * radius.ln()).sqrt() * (2.0 * std::f64::consts::PI * turn).cos()
        }
    }

    /// Whether the seeds are those of runs, or beside the constants, 95 % of single new runs are in the band.
    #[test]
    fn the_band_of_seeds_covers_95_percent_of_single_runs() {
        const BANDS: u32 = 20_000;
        for count in [2, 3, 5, 8, 20] {
            let seed = 20_081_208 + count as u64;
            let mut runs = Runs(seed);
            let mut covered = [0; 2];
            for _ in 0..BANDS {
                let by_seed: Vec<f64> = (0..count).map(|_| runs.figure()).collect();
                let (own, new) = (runs.figure(), runs.figure());
                let of_seed = |figure: &f64| effect("seed", VariedKind::Seed, figure / by_seed[0]);
                let effects = by_seed[1..].iter().map(of_seed).collect();
                let of_rows = Parts { by_seed: vec![own], effects }.band(own).unwrap();
                let first = by_seed[0];
                let of_runs = Parts { by_seed, effects: Vec::new() }.band(first).unwrap();
                for (covered, band) in covered.iter_mut().zip([of_runs, of_rows]) {
                    *covered += u32::from((band.low..=band.high).contains(&new));
                }
            }
            for (from, covered) in ["runs", "rows"].into_iter().zip(covered) {
                let percent = 100.0 * f64::from(covered) / f64::from(BANDS);
                println!("{count} {from}: {percent:.2} % (seed {seed})");
                assert!(
                    (percent - 95.0).abs() < 0.5,
                    "{count} {from} cover {percent} % (seed {seed})"
                );
            }
        }
    }

    #[test]
    fn a_change_of_two_arrays_is_one_and_excluded_if_either_has_no_fit() {
        let fit = |iops: f64| RowOutcome::Fit { fitted: Vec::new(), iops: vec![iops] };
        let row_of = |kind, name: &str, outcome| SensitivityRow {
            name: name.to_owned(),
            constant: name.to_owned(),
            kind,
            outcome,
        };
        let row = |name: &str, outcome| row_of(VariedKind::Unknown, name, outcome);
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

        // What was published of segment 1 of each array was measured by itself.
        let fitted = |iops| row_of(VariedKind::FittedRow, "published segment 1", fit(iops));
        let (of, over) = (array(vec![fitted(103.0)]), array(vec![fitted(104.0), fitted(96.0)]));
        let effects = effects_on_quotient([&of, &over], &|iops| iops.first().copied());
        let band = Parts { by_seed: Vec::new(), effects }.band(100.0).unwrap();
        let part = |percent: f64| Some(rounded(NORMAL_QUANTILE * percent, PART_DIGITS));
        let down = 100.0 * (1.0 - 1.0 / 1.04);
        assert_eq!(band.fitted_rows_percent_down, part(down));
        assert_eq!(band.fitted_rows_percent_up, part(3.0_f64.hypot(100.0 / 0.96 - 100.0)));
    }
}
