//! The main job at an eighth of full scale against its published figures: does the model still predict them?
//!
//! The bounds are for a quick run. At full scale the figures come closer: see `docs/results.md`.

use std::io::Write;
use std::sync::OnceLock;

use strewn::results::{Metric, Results};

use crate::common::{Folder, PROJECT};

/// Largest error of the write-anywhere array's predicted segments, as a root mean square.
const PREDICTED_RMS_PERCENT: f64 = 2.0;
/// Largest error of any segment of either array.
const WORST_PERCENT: f64 = 3.5;
/// Largest change of the in-place array from its first segment to its last.
const IN_PLACE_DRIFT_PERCENT: f64 = 1.5;
/// Largest error of the ratio of the two arrays, in percentage points.
const RATIO_POINTS: f64 = 2.0;

/// The only quick run of the main job in the tests. Its tables are printed even where output is captured.
fn quick_run() -> &'static Results {
    static RUN: OnceLock<Results> = OnceLock::new();
    RUN.get_or_init(|| {
        let scenario = format!("{PROJECT}/scenarios/making-sense-of-wafl-4.toml");
        let json = Folder::new().strewn(&["run", &scenario, "--quick", "--json"]).succeeded();
        let results = Results::from_json(&json).unwrap();
        let mut output = std::io::stdout().lock();
        writeln!(output, "{}", strewn::report::all_tables(&results)).unwrap();
        results
    })
}

fn iops(array: &str) -> Vec<f64> {
    let array = quick_run().array(array).unwrap();
    array.segments.iter().map(|segment| segment.iops).collect()
}

#[test]
fn the_quick_run_comes_near_the_published_iops() {
    let results = quick_run();
    assert!(!results.partial && results.scaled.is_some());
    // It is so near that nothing needs a word of its own.
    assert!(results.out_of_proportion().is_empty(), "{:?}", results.out_of_proportion());
    for array in ["FAS2050", "EVA4400"] {
        let compared = results
            .published
            .iter()
            .find(|compared| compared.array == array && compared.metric == Metric::Iops)
            .unwrap();
        assert_eq!(compared.segments.len(), 14);
        // The in-place array's one published figure is the one it was fitted to, so its level is not predicted.
        let rms_percent = compared.predicted_rms_error_percent.unwrap_or_default();
        assert_eq!(compared.predicted_rms_error_percent.is_none(), array == "EVA4400");
        assert!(
            rms_percent <= PREDICTED_RMS_PERCENT,
            "{array}: predicted IOPS are {rms_percent} % off"
        );
        let worst_percent = compared.worst_error_percent;
        assert!(
            worst_percent.abs() <= WORST_PERCENT,
            "{array}: the worst IOPS are {worst_percent} % off"
        );
        let bands = results.bands.as_ref().unwrap().array(array).unwrap();
        assert_eq!((bands.published.len(), &bands.published_outside[..]), (14, &[][..]));
        // The scatter that the scenario declares, at 95 %.
        assert_eq!(bands.published_percent, Some(0.588));
    }
}

#[test]
fn in_the_quick_run_the_write_anywhere_array_never_gains() {
    let falling = iops("FAS2050");
    assert!(falling.windows(2).all(|pair| pair[1] < pair[0] * 1.005), "{falling:?}");
}

#[test]
fn in_the_quick_run_the_in_place_array_keeps_its_speed() {
    let steady = iops("EVA4400");
    let drift_percent = 100.0 * (steady[13] / steady[0] - 1.0);
    assert!(drift_percent.abs() <= IN_PLACE_DRIFT_PERCENT, "EVA4400 drifts by {drift_percent} %");
}

#[test]
fn the_quick_run_comes_near_the_published_ratios() {
    let results = quick_run();
    assert_eq!(results.ratios.len(), 2);
    for ratio in &results.ratios {
        let points = ratio.simulated_percent - ratio.published_percent;
        assert!(points.abs() <= RATIO_POINTS, "{}: {points} points off", ratio.name);
    }
}

#[test]
fn the_quick_run_keeps_the_operational_laws() {
    for array in &quick_run().arrays {
        for segment in &array.segments {
            let checks = segment.checks;
            let worst = checks
                .littles_law_error_percent
                .abs()
                .max(checks.utilization_law_error_percent.abs());
            assert!(worst <= 0.1, "{} segment {}: {worst} % off a law", array.name, segment.index);
        }
    }
}
