//! Bands in words: what they contain, what they do not, and which published figures are outside.

use crate::columns::segment_list;
use strewn_results::words::{fixed, signed};
use strewn_results::{
    ArrayBands, ArrayResults, Bands, ChangeBand, FigureRange, Results, SeedSource, SeedsAlone,
};

/// Returns what a reader of the bands of `array` must know, in sentences of ASCII; none without bands.
pub(crate) fn band_sentences(results: &Results, array: &ArrayResults) -> Vec<String> {
    let Some(bands) = &results.bands else { return Vec::new() };
    let Some(own) = bands.array(&array.name) else { return Vec::new() };
    let mut sentences: Vec<String> = contents(bands, own, array).into_iter().collect();
    sentences.extend(missing(own, !array.fitted_segments().is_empty()));
    if let Some(scaled) = results.scaled.as_ref().filter(|_| own.is_any()) {
        let by = scaled.by;
        sentences.push(format!("Not in the band: how far a run at 1/{by} is from full scale."));
    }
    if let Some(measured) = own.measured_segments {
        sentences.push(format!("After segment {measured} the band has the seeds alone."));
    }
    if bands.stopped {
        sentences.push("Runs with other seeds were stopped before their last segment.".to_owned());
    }
    sentences.extend(excluded(own));
    if !own.published.is_empty() {
        let (all, outside) = (own.published.len(), own.published_outside.as_slice());
        let off = own.published_percent.map_or_else(String::new, |percent| {
            format!(", if each may itself be off by {} %", fixed(percent, 1))
        });
        sentences.push(match outside {
            [] => format!("Inside the band{off}: the published IOPS of all {all} segments."),
            [only] => {
                format!("Outside the band{off}: the published IOPS of segment {only}, of {all}.")
            }
            several => format!(
                "Outside the band{off}: the published IOPS of segments {}; {} of {all}.",
                segment_list(several),
                several.len()
            ),
        });
    }
    sentences.extend(own.changes.iter().map(|change| {
        format!(
            "From segment {} to {} IOPS change by {} %, band {} %.",
            change.from_segment,
            change.to_segment,
            signed(change.percent, 1),
            change_band(change)
        )
    }));
    sentences
}

/// Returns what is in the bands of an array; none if nothing is.
fn contents(bands: &Bands, own: &ArrayBands, array: &ArrayResults) -> Option<String> {
    let scale = match bands.sensitivity.as_ref().map_or(1, |used| used.scale_down) {
        1 => String::new(),
        by => format!(" at 1/{by} of full scale"),
    };
    let of_segments = array.segments.iter().filter_map(|segment| segment.band.as_ref()?.iops.seeds);
    let runs = of_segments.max().unwrap_or_default();
    let mut parts = Vec::new();
    if let Some(source) = own.seeds {
        parts.push(match source {
            SeedSource::Replicates => {
                format!("other seeds ({runs} runs; single runs around their mean)")
            }
            SeedSource::Sensitivity => {
                format!("other seeds ({runs} runs{scale}; single runs around this one)")
            }
        });
    }
    match own.fitted_rows {
        0 => {}
        1 => parts.push("the scatter of the published figure that was fitted".to_owned()),
        rows => parts.push(format!("the scatter of the {rows} published figures that were fitted")),
    }
    let changed = format!("changed alone and fitted again{scale}");
    match own.unknowns {
        0 => {}
        1 => parts.push(format!("a constant that nobody published, {changed}")),
        several => {
            parts.push(format!("{several} constants that nobody published, each {changed}"));
        }
    }
    let listed = match parts.as_slice() {
        [] => return None,
        [only] => return Some(format!("Band of 95 %: {only}.")),
        [first @ .., last] => format!("{}; and {last}", first.join("; ")),
    };
    Some(format!("Band of 95 %: {listed}; added in quadrature."))
}

/// Returns what is not in the bands of an array, and why.
fn missing(own: &ArrayBands, is_fitted: bool) -> Option<String> {
    let why = own.seeds_alone.map(|why| match why {
        SeedsAlone::NotMeasured => "which have not been measured",
        SeedsAlone::OtherSettings => "which were measured with other settings",
        SeedsAlone::OtherWorkload => "which are unknown for another workload than the scenario's",
    });
    let constants = match is_fitted {
        true => "constants that nobody published and the scatter of fitted figures",
        false => "constants that nobody published",
    };
    match (own.seeds, why) {
        (Some(_), None) => None,
        (Some(_), Some(why)) => Some(format!("Not in the band: {constants}, {why}.")),
        (None, None) => Some("Not in the band: other seeds; see --replicates.".to_owned()),
        (None, Some(why)) => Some(format!(
            "There is no band: nothing is known of other seeds (see --replicates), nor of {constants}, {why}."
        )),
    }
}

fn excluded(own: &ArrayBands) -> Option<String> {
    let errors = |errors: &[f64]| {
        errors.iter().map(|error| signed(*error, 1)).collect::<Vec<_>>().join(" and ")
    };
    let listed = own.excluded.iter().map(|change| match change.errors_percent.as_slice() {
        [] => change.name.clone(),
        off => format!("{} (off by {} %)", change.name, errors(off)),
    });
    let listed: Vec<String> = listed.collect();
    (!listed.is_empty()).then(|| {
        format!("Excluded, because they cannot reproduce the fitted rows: {}.", listed.join("; "))
    })
}

/// Returns the ends of the band of a change, percent: `-30.0 to -28.2`.
pub(crate) fn change_band(change: &ChangeBand) -> String {
    format!("{} to {}", signed(change.band.low, 1), signed(change.band.high, 1))
}

/// Returns a range of errors, which may be negative.
pub(crate) fn range(range: &FigureRange, is_signed: bool) -> String {
    let show = |figure| if is_signed { signed(figure, 2) } else { fixed(figure, 2) };
    format!("{} to {}", show(range.low), show(range.high))
}
