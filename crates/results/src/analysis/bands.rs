//! Puts a band around every figure of a run that was predicted: IOPS and response time of each segment, the change from
//! the first segment to the last, the ratios of arrays. The rule is that of [`effects`](super::effects).
//!
//! Each of these figures has its own: what moves two segments alike leaves their quotient where it is, so the band of a
//! change is not that of its two segments.

use crate::analysis::comparison::{compare, fitted_segments_by_array};
use crate::analysis::effects::{Parts, effects_on, effects_on_quotient};
use crate::analysis::like::{LikePair, is_measure_of_array, like_pairs};
use crate::analysis::sweep::NORMAL_QUANTILE;
use crate::data::array::ArrayResults;
use crate::data::band::{
    ArrayBands, Bands, ChangeBand, ErrorsOverSeeds, ExcludedChange, FigureBand, FigureRange,
    SeedSource, SeedsAlone, SegmentBand, SensitivityUsed,
};
use crate::data::comparison::{ComparedRow, Metric, PublishedComparison, Ratio};
use crate::data::number::{SIGNIFICANT_DIGITS, rounded};
use crate::data::published::Published;
use crate::data::results::Results;
use crate::data::segment::Segment;
use crate::data::sensitivity::{ArraySensitivity, RowOutcome, Sensitivity, VariedKind};

/// Segments whose lengths differ by more than this share are not compared: the host was done in one of them.
const LENGTH_TOLERANCE: f64 = 0.01;
/// A figure may be lower by at most this share: the response time of an array that stands still has no upper end.
const MOST_DOWN: f64 = 0.99;

/// What the bands of a run are made from.
#[derive(Clone, Copy, Debug)]
pub struct BandSources<'a> {
    /// The arrays of each further run of the same scenario, which differ by their seed. Runs may be incomplete.
    pub replicates: &'a [Vec<ArrayResults>],
    /// Whether some of them were stopped.
    pub stopped: bool,
    /// The published figures that the run is compared with.
    pub published: Option<&'a Published>,
    /// What constants do to the IOPS of the arrays.
    pub sensitivity: Option<&'a Sensitivity>,
    /// The digest of the settings of each array of the run. Sensitivities of other settings are not used.
    pub settings: &'a [String],
    /// What the published figures of each array scatter by: one standard deviation, percent; 0 if that is not known.
    pub row_scatter_percent: &'a [f64],
}

/// Adds bands to the results of the first run. Without further runs and sensitivities, the results stay as they are.
pub fn add_bands(results: &mut Results, sources: &BandSources<'_>) {
    if sources.replicates.is_empty() && sources.sensitivity.is_none() {
        return;
    }
    let arrays: Vec<ArrayAndSources<'_>> = (0..results.arrays.len())
        .map(|index| ArrayAndSources::new(results, sources, index))
        .collect();
    let of_segments: Vec<Vec<Option<SegmentBand>>> =
        arrays.iter().map(|array| array.segment_bands(results)).collect();
    let of_arrays = arrays.iter().zip(&of_segments);
    let of_arrays = of_arrays.map(|(array, bands)| array.described(results, bands)).collect();
    let of_ratios: Vec<Option<FigureBand>> =
        results.ratios.iter().map(|ratio| ratio_band(&arrays, ratio)).collect();
    let over_seeds = errors_over_seeds(results, sources);
    for row in &mut results.published_rows {
        row.over_seeds = row_over_seeds(row, sources.replicates);
    }
    let is_used = arrays.iter().any(|array| array.measured.is_ok());
    for (array, bands) in results.arrays.iter_mut().zip(of_segments) {
        for (segment, band) in array.segments.iter_mut().zip(bands) {
            segment.band = band.map(Box::new);
        }
    }
    for (ratio, band) in results.ratios.iter_mut().zip(of_ratios) {
        ratio.band = band;
    }
    for (comparison, errors) in results.published.iter_mut().zip(over_seeds) {
        comparison.over_seeds = errors;
    }
    results.bands = Some(Bands {
        replicates: u32::try_from(1 + sources.replicates.len()).unwrap_or(u32::MAX),
        stopped: sources.stopped,
        sensitivity: sources.sensitivity.filter(|_| is_used).map(|used| SensitivityUsed {
            strewn: used.strewn.clone(),
            scale_down: used.scale_down,
        }),
        arrays: of_arrays,
    });
}

/// Returns the lowest and the highest figure of a row, in the run itself and the further ones.
fn row_over_seeds(row: &ComparedRow, replicates: &[Vec<ArrayResults>]) -> Option<[f64; 2]> {
    let further = replicates.iter().filter_map(|arrays| row.of.value(arrays));
    let own = row.simulated.filter(|_| !replicates.is_empty())?;
    let (low, high) =
        further.fold((own, own), |(low, high), value| (low.min(value), high.max(value)));
    Some([low, high].map(|value| rounded(value, SIGNIFICANT_DIGITS)))
}

/// One array of the run, and what is known about the uncertainty of its figures.
struct ArrayAndSources<'a> {
    /// The array in the first run, and in each further one.
    runs: Vec<ArrayResults>,
    /// What constants do to it, or why that is unknown.
    measured: Result<&'a ArraySensitivity, SeedsAlone>,
    /// How far a published figure of it may be off with 95 % probability, percent; none if that is not known.
    published_percent: Option<f64>,
}

impl<'a> ArrayAndSources<'a> {
    fn new(results: &Results, sources: &BandSources<'a>, index: usize) -> Self {
        let own = &results.arrays[index];
        let further = sources.replicates.iter().filter_map(|arrays| arrays.get(index));
        let measured = match sources.sensitivity {
            _ if results.workload.is_some() => Err(SeedsAlone::OtherWorkload),
            None => Err(SeedsAlone::NotMeasured),
            Some(all) => all
                .array(&own.name)
                .filter(|array| sources.settings.get(index) == Some(&array.settings))
                .ok_or(SeedsAlone::OtherSettings),
        };
        let scatter = sources.row_scatter_percent.get(index).filter(|scatter| **scatter > 0.0);
        Self {
            runs: std::iter::once(own).chain(further).cloned().collect(),
            measured,
            published_percent: scatter.map(|scatter| rounded(NORMAL_QUANTILE * scatter, 3)),
        }
    }

    fn own(&self) -> &ArrayResults {
        &self.runs[0]
    }

    /// Returns a segment as it was in every run that has it, the first run's first.
    fn in_runs(&self, segment: &Segment) -> Vec<&Segment> {
        let in_runs = self.runs.iter().filter_map(|run| run.segment(segment.index));
        in_runs.filter(|other| is_as_long(segment, other)).collect()
    }

    fn parts(&self, by_seed: Vec<f64>, figure: &dyn Fn(&[f64]) -> Option<f64>) -> Parts<'_> {
        let effects = self.measured.map(|array| effects_on(array, figure));
        Parts { by_seed, effects: effects.unwrap_or_default() }
    }

    fn segment_bands(&self, results: &Results) -> Vec<Option<SegmentBand>> {
        let of_segment = |segment: &Segment| {
            if segment.iops <= 0.0 {
                return None;
            }
            let in_runs = self.in_runs(segment);
            let by_seed = |metric: Metric| in_runs.iter().map(|one| metric.of(one)).collect();
            let iops = self.parts(by_seed(Metric::Iops), &|iops| iops_in(iops, segment.index));
            let iops = iops.band(segment.iops)?;
            let mean_ms = segment.response_ms.mean;
            let response_ms =
                match is_measure_of_array(results.workload.as_ref(), self.own(), segment) {
                    true => Some(inverse(&iops, segment.iops, mean_ms)),
                    // The host sets the pace, so response times follow from nothing but runs.
                    false => {
                        let by_seed = by_seed(Metric::ResponseMs);
                        Parts { by_seed, effects: Vec::new() }.band(mean_ms)
                    }
                };
            Some(SegmentBand { iops, response_ms })
        };
        self.own().segments.iter().map(of_segment).collect()
    }

    /// Describes what the bands contain.
    fn described(&self, results: &Results, bands: &[Option<SegmentBand>]) -> ArrayBands {
        let own = self.own();
        let of_kind = |kind: VariedKind| self.measured.map_or(0, |array| constants(array, kind));
        let replicated = own.segments.iter().any(|segment| self.in_runs(segment).len() > 1);
        let beside_constants = of_kind(VariedKind::Seed) > 0;
        let excluded = self.measured.map(excluded).unwrap_or_default();
        let with_band = own.segments.iter().zip(bands);
        let with_band: Vec<(&Segment, FigureBand)> =
            with_band.filter_map(|(segment, band)| Some((segment, band.as_ref()?.iops))).collect();
        let is_iops =
            |found: &&PublishedComparison| found.array == own.name && found.metric == Metric::Iops;
        let compared = results.published.iter().find(is_iops);
        let compared = compared.iter().flat_map(|found| &found.segments);
        let compared: Vec<(u32, bool)> = compared
            .filter_map(|one| {
                let (segment, band) =
                    with_band.iter().find(|(segment, _)| segment.index == one.index)?;
                let off = one.published * self.published_percent.unwrap_or_default() / 100.0;
                Some((one.index, band.agrees(segment.iops, one.published, off)))
            })
            .collect();
        let measured = self.measured.map_or(0, |array| array.iops.len());
        let last = own.segments.last().map_or(0, |segment| segment.index);
        ArrayBands {
            array: own.name.clone(),
            seeds: match (replicated, beside_constants) {
                (true, _) => Some(SeedSource::Replicates),
                (false, true) => Some(SeedSource::Sensitivity),
                (false, false) => None,
            },
            fitted_rows: of_kind(VariedKind::FittedRow),
            unknowns: of_kind(VariedKind::Unknown),
            seeds_alone: self.measured.err(),
            measured_segments: u32::try_from(measured)
                .ok()
                .filter(|measured| self.measured.is_ok() && *measured < last),
            excluded,
            changes: self.changes(results),
            published: compared.iter().map(|(index, _)| *index).collect(),
            published_percent: self.published_percent.filter(|_| !compared.is_empty()),
            published_outside: compared
                .iter()
                .filter(|(_, is_inside)| !is_inside)
                .map(|(index, _)| *index)
                .collect(),
        }
    }

    fn changes(&self, results: &Results) -> Vec<ChangeBand> {
        let pairs = like_pairs(results.workload.as_ref(), self.own()).into_iter();
        let change = |pair: LikePair<'_>| {
            let (first, last) = (pair.first, pair.last);
            if first.index == last.index || first.iops <= 0.0 {
                return None;
            }
            let in_run = |run: &ArrayResults| {
                let [first, last] = [first, last].map(|segment| {
                    run.segment(segment.index).filter(|other| is_as_long(segment, other))
                });
                Some(last?.iops / first.filter(|first| first.iops > 0.0)?.iops)
            };
            let by_seed = self.runs.iter().filter_map(in_run).collect();
            let quotient =
                |iops: &[f64]| Some(iops_in(iops, last.index)? / iops_in(iops, first.index)?);
            let percent = |quotient: f64| rounded(100.0 * (quotient - 1.0), SIGNIFICANT_DIGITS);
            let own = last.iops / first.iops;
            let band = self.parts(by_seed, &quotient).band(own)?;
            Some(ChangeBand {
                workloads: pair.workloads.to_vec(),
                from_segment: first.index,
                to_segment: last.index,
                percent: percent(own),
                band: FigureBand {
                    low: percent(band.low),
                    high: percent(band.high),
                    centre: band.centre.map(percent),
                    ..band
                },
            })
        };
        pairs.filter_map(change).collect()
    }
}

/// Returns the band around a published ratio of arrays, percent.
fn ratio_band(arrays: &[ArrayAndSources<'_>], ratio: &Ratio) -> Option<FigureBand> {
    let named = |name: &str| arrays.iter().find(|array| array.own().name == name);
    let (of, over) = (named(&ratio.of)?, named(&ratio.over)?);
    let in_run = |(of, over): (&ArrayResults, &ArrayResults)| {
        let [of, over] = [of.segment(ratio.segment)?, over.segment(ratio.segment)?];
        (over.iops > 0.0).then(|| of.iops / over.iops)
    };
    let by_seed: Vec<f64> = of.runs.iter().zip(&over.runs).filter_map(in_run).collect();
    let effects = match (of.measured, over.measured) {
        (Ok(of), Ok(over)) => effects_on_quotient([of, over], &|iops| iops_in(iops, ratio.segment)),
        // The ratio is no surer than the array that nothing is known about.
        _ => Vec::new(),
    };
    Parts { by_seed, effects }.band(ratio.simulated_percent)
}

/// Returns the range of each comparison's errors over the runs that got as far as the first.
fn errors_over_seeds(results: &Results, sources: &BandSources<'_>) -> Vec<Option<ErrorsOverSeeds>> {
    let Some(published) = sources.published else { return Vec::new() };
    let fitted = fitted_segments_by_array(&results.arrays);
    let further = sources.replicates.iter().map(|arrays| compare(published, arrays, &fitted));
    let further: Vec<Vec<PublishedComparison>> = further.collect();
    let of_comparison = |own: &PublishedComparison| {
        let is_same = |other: &&PublishedComparison| {
            other.array == own.array
                && other.metric == own.metric
                && other.segments.len() == own.segments.len()
        };
        let others = further.iter().filter_map(|run| run.iter().find(is_same));
        let runs: Vec<&PublishedComparison> = std::iter::once(own).chain(others).collect();
        let rms = runs.iter().filter_map(|run| run.predicted_rms_error_percent);
        let worst = runs.iter().map(|run| run.worst_error_percent);
        (runs.len() > 1).then_some(ErrorsOverSeeds {
            seeds: u32::try_from(runs.len()).unwrap_or(u32::MAX),
            predicted_rms_error_percent: FigureRange::of(rms),
            worst_error_percent: FigureRange::of(worst)?,
        })
    };
    results.published.iter().map(of_comparison).collect()
}

/// Returns the band of the response time of a closed loop, in which operations outstanding are IOPS times response
/// time, from the band of the IOPS and the figures of the run.
fn inverse(iops: &FigureBand, own_iops: f64, mean_ms: f64) -> FigureBand {
    let slower = |down: f64| 1.0 / (1.0 - down.min(MOST_DOWN)) - 1.0;
    let faster = |up: f64| 1.0 - 1.0 / (1.0 + up);
    let percent = |part: Option<f64>, of: &dyn Fn(f64) -> f64| {
        part.map(|part| rounded(100.0 * of(part / 100.0), 3))
    };
    let [down, up] = iops.percent_down_and_up();
    let centre_ms = mean_ms * own_iops / iops.centre.unwrap_or(own_iops);
    FigureBand {
        low: rounded(centre_ms * (1.0 - faster(up / 100.0)), SIGNIFICANT_DIGITS),
        high: rounded(centre_ms * (1.0 + slower(down / 100.0)), SIGNIFICANT_DIGITS),
        centre: iops.centre.map(|_| rounded(centre_ms, SIGNIFICANT_DIGITS)),
        fitted_rows_percent_down: percent(iops.fitted_rows_percent_up, &faster),
        fitted_rows_percent_up: percent(iops.fitted_rows_percent_down, &slower),
        unknowns_percent_down: percent(iops.unknowns_percent_up, &faster),
        unknowns_percent_up: percent(iops.unknowns_percent_down, &slower),
        ..*iops
    }
}

/// Returns the number of constants of a kind with which the array can be fitted.
fn constants(array: &ArraySensitivity, kind: VariedKind) -> u32 {
    let fits = array
        .rows
        .iter()
        .filter(|row| row.kind == kind && matches!(row.outcome, RowOutcome::Fit { .. }));
    let mut names: Vec<&str> = fits.map(|row| row.constant.as_str()).collect();
    names.sort_unstable();
    names.dedup();
    u32::try_from(names.len()).unwrap_or(u32::MAX)
}

fn excluded(array: &ArraySensitivity) -> Vec<ExcludedChange> {
    let excluded = array.rows.iter().filter_map(|row| match &row.outcome {
        RowOutcome::Fit { .. } => None,
        RowOutcome::NoFit { errors_percent } => {
            Some(ExcludedChange { name: row.name.clone(), errors_percent: errors_percent.clone() })
        }
    });
    excluded.collect()
}

fn iops_in(iops: &[f64], segment: u32) -> Option<f64> {
    iops.get(usize::try_from(segment.checked_sub(1)?).ok()?).copied()
}

fn is_as_long(segment: &Segment, other: &Segment) -> bool {
    (segment.seconds - other.seconds).abs() <= LENGTH_TOLERANCE * segment.seconds
}
