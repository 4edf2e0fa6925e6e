//! The main job at an eighth of the scale, beside its published figures: does the model still predict them?
//!
//! The bounds are those of a quick run. At full scale the figures come closer; see `docs/model.md`.

use crate::common::{Folder, PROJECT};
use strewn::report::{Metric, Results};

/// What the write-anywhere array's predicted segments may be off by, as a root mean square.
const PREDICTED_RMS_PERCENT: f64 = 2.0;
/// What any one segment of either array may be off by.
const WORST_PERCENT: f64 = 3.5;
/// What the in-place array may change by from its first segment to its last.
const IN_PLACE_DRIFT_PERCENT: f64 = 1.5;
/// What the ratio of the two arrays may be off by, in points.
const RATIO_POINTS: f64 = 2.0;

#[test]
fn a_quick_run_comes_near_the_published_figures() {
    let scenario = format!("{PROJECT}/scenarios/making-sense-of-wafl-4.toml");
    let json = Folder::new().strewn(&["run", &scenario, "--quick", "--json"]).succeeded();
    let results = Results::from_json(&json).unwrap();
    // Shown by `--nocapture`, and when something below does not hold.
    println!("{}", strewn::report::all_tables(&results));

    assert!(!results.partial && results.scaled.is_some());
    for array in ["FAS2050", "EVA4400"] {
        let compared = results
            .published
            .iter()
            .find(|compared| compared.array == array && compared.metric == Metric::Iops)
            .unwrap();
        assert_eq!(compared.segments.len(), 14);
        // The in-place array's one published figure was fitted to: nothing of its level is predicted.
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
    }
    let iops = |array: &str| -> Vec<f64> {
        results.array(array).unwrap().segments.iter().map(|segment| segment.iops).collect()
    };
    // The write-anywhere array never gains, and the in-place array stays where it is.
    let falling = iops("FAS2050");
    assert!(falling.windows(2).all(|pair| pair[1] < pair[0] * 1.005), "{falling:?}");
    let steady = iops("EVA4400");
    let drift_percent = 100.0 * (steady[13] / steady[0] - 1.0);
    assert!(drift_percent.abs() <= IN_PLACE_DRIFT_PERCENT, "EVA4400 drifts by {drift_percent} %");

    assert_eq!(results.ratios.len(), 2);
    for ratio in &results.ratios {
        let points = ratio.simulated_percent - ratio.published_percent;
        assert!(points.abs() <= RATIO_POINTS, "{}: {points} points off", ratio.name);
    }
    for array in &results.arrays {
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
