//! Bands around figures: what moves together stays together, and every output shows them.

use crate::fixture;
use strewn_report::{ResultsChart, all_tables, runs_tables, write_segments_csv};
use strewn_results::{
    ArrayResults, ArraySensitivity, BandSources, Metric, Results, RowOutcome, SeedSource,
    SeedsAlone, Sensitivity, SensitivityRow, VariedKind, add_bands, compare_runs,
};

const DIGESTS: [&str; 2] = ["of FAS2050", "of EVA4400"];

fn row(name: &str, constant: &str, kind: VariedKind, iops: Vec<f64>) -> SensitivityRow {
    let outcome = RowOutcome::Fit { fitted: Vec::new(), iops };
    SensitivityRow { name: name.to_owned(), constant: constant.to_owned(), kind, outcome }
}

/// Sensitivities of both arrays, with these rows; `file` makes both arrays slower by 4 %.
fn sensitivity(results: &Results, of_fas: Vec<SensitivityRow>) -> Sensitivity {
    let iops = |array: &ArrayResults, factor: f64| -> Vec<f64> {
        array.segments.iter().map(|segment| segment.iops * factor).collect()
    };
    let arrays = results.arrays.iter().zip(DIGESTS).map(|(array, settings)| {
        let slower = row("file of 100 GB", "workload.file", VariedKind::Unknown, iops(array, 0.96));
        let mut rows = vec![slower];
        if array.name == "FAS2050" {
            rows.extend(of_fas.clone());
        }
        ArraySensitivity {
            name: array.name.clone(),
            settings: settings.to_owned(),
            fitted: Vec::new(),
            iops: iops(array, 1.0),
            rows,
        }
    });
    Sensitivity {
        scenario: results.scenario.clone(),
        strewn: "0.1.0".to_owned(),
        scale_down: 8,
        arrays: arrays.collect(),
    }
}

/// The arrays in runs whose IOPS are these multiples of the first one's.
fn replicates(results: &Results, factors: &[f64]) -> Vec<Vec<ArrayResults>> {
    let run = |factor: &f64| {
        let mut arrays = results.arrays.clone();
        for segment in arrays.iter_mut().flat_map(|array| &mut array.segments) {
            segment.iops *= factor;
            segment.response_ms.mean /= factor;
        }
        arrays
    };
    factors.iter().map(run).collect()
}

fn banded(sensitivity: Option<&Sensitivity>, replicates: &[Vec<ArrayResults>]) -> Results {
    banded_with_scatter(sensitivity, replicates, 0.0)
}

/// The same, if published figures scatter by this much.
fn banded_with_scatter(
    sensitivity: Option<&Sensitivity>,
    replicates: &[Vec<ArrayResults>],
    percent: f64,
) -> Results {
    let mut results = fixture::results();
    let published = fixture::published();
    let settings = DIGESTS.map(str::to_owned);
    let sources = BandSources {
        replicates,
        stopped: false,
        published: Some(&published),
        sensitivity,
        settings: &settings,
        row_scatter_percent: &[percent; 2],
    };
    add_bands(&mut results, &sources);
    results
}

#[test]
fn without_sources_nothing_changes() {
    assert_eq!(banded(None, &[]), fixture::results());
}

/// A constant that moves all segments and both arrays alike moves no quotient of them.
#[test]
fn what_is_common_cancels_in_changes_and_ratios() {
    let plain = fixture::results();
    let results = banded(Some(&sensitivity(&plain, Vec::new())), &[]);
    let fas = &results.arrays[0];
    let band = fas.segments[13].band.as_ref().unwrap();
    assert_eq!(band.iops.unknowns_percent_down, Some(4.0));
    assert_eq!(band.iops.unknowns_percent_up, Some(0.0));
    assert_eq!((band.iops.low, band.iops.high), (3507.0 * 0.96, 3507.0));
    // In a closed loop operations outstanding are IOPS times response time.
    let response = band.response_ms.unwrap();
    assert!((response.high * band.iops.low / 1000.0 - 150.0).abs() < 0.01, "{response:?}");
    assert!((response.low * band.iops.high / 1000.0 - 150.0).abs() < 0.01, "{response:?}");
    let bands = results.bands.as_ref().unwrap();
    let change = &bands.arrays[0].changes[0];
    assert_eq!((change.from_segment, change.to_segment), (1, 14));
    assert_eq!((change.band.low, change.band.high), (change.percent, change.percent));
    let ratio = results.ratios[1].band.unwrap();
    assert_eq!(ratio.unknowns_percent_down, Some(0.0));
    // The figures themselves are those of the run.
    let mut without = results.clone();
    without.bands = None;
    without.arrays.iter_mut().flat_map(|array| &mut array.segments).for_each(|one| one.band = None);
    without.ratios.iter_mut().for_each(|ratio| ratio.band = None);
    assert_eq!(without, plain);
}

#[test]
fn what_ages_an_array_faster_widens_the_change() {
    let plain = fixture::results();
    let fas = &plain.arrays[0].segments;
    let iops = fas.iter().map(|one| one.iops * (1.0 - 0.002 * f64::from(one.index - 1)));
    let aging = row("chunk of 32", "chunk", VariedKind::Unknown, iops.collect());
    let results = banded(Some(&sensitivity(&plain, vec![aging])), &[]);
    let change = &results.bands.as_ref().unwrap().arrays[0].changes[0];
    assert_eq!(change.band.unknowns_percent_down, Some(2.6));
    assert!((change.percent - change.band.low - 2.6 * 3507.0 / 4940.0).abs() < 1e-3, "{change:?}");
    assert_eq!(change.band.high, change.percent);
}

#[test]
fn seeds_of_runs_make_a_band_and_ranges_of_errors() {
    let plain = fixture::results();
    let results = banded(None, &replicates(&plain, &[0.99, 1.01]));
    let bands = results.bands.as_ref().unwrap();
    assert_eq!(bands.replicates, 3);
    assert_eq!(bands.arrays[0].seeds, Some(SeedSource::Replicates));
    assert_eq!(bands.arrays[0].seeds_alone, Some(SeedsAlone::NotMeasured));
    let band = results.arrays[1].segments[0].band.as_ref().unwrap().iops;
    assert_eq!((band.seeds, band.seeds_percent), (Some(3), Some(4.97)));
    assert_eq!((band.unknowns_percent_up, band.fitted_rows_percent_up), (None, None));
    let iops = results.published.iter().find(|one| one.metric == Metric::Iops).unwrap();
    let errors = iops.over_seeds.unwrap();
    let rms = errors.predicted_rms_error_percent.unwrap();
    assert_eq!(errors.seeds, 3);
    let own = iops.predicted_rms_error_percent.unwrap();
    assert!(rms.low <= own && own < rms.high, "{rms:?} {own}");
    // Both arrays move alike in these runs, and so do all segments.
    assert!(results.ratios[0].band.unwrap().seeds_percent.unwrap() < 1e-9);
}

/// A run that was stopped has fewer segments; the band of a segment is of the runs that have it.
#[test]
fn a_band_is_of_the_runs_that_got_that_far() {
    let mut others = replicates(&fixture::results(), &[0.99, 1.01, 1.0]);
    others[1].iter_mut().for_each(|array| array.segments.truncate(2));
    others[2].iter_mut().for_each(|array| array.segments.clear());
    let results = banded(None, &others);
    let seeds =
        |segment: usize| results.arrays[0].segments[segment].band.as_ref().unwrap().iops.seeds;
    assert_eq!([seeds(0), seeds(1), seeds(2)], [Some(3), Some(3), Some(2)]);
}

#[test]
fn other_settings_are_said_and_not_used() {
    let plain = fixture::results();
    let mut measured = sensitivity(&plain, Vec::new());
    measured.arrays[0].settings = "of another".to_owned();
    let results = banded(Some(&measured), &replicates(&plain, &[1.001]));
    let bands = results.bands.as_ref().unwrap();
    assert_eq!(bands.arrays[0].seeds_alone, Some(SeedsAlone::OtherSettings));
    assert_eq!(bands.arrays[1].seeds_alone, None);
    assert_eq!(
        results.arrays[0].segments[0].band.as_ref().unwrap().iops.unknowns_percent_down,
        None
    );
    // A ratio is no surer than the array that nothing is known about.
    assert_eq!(results.ratios[0].band.unwrap().unknowns_percent_down, None);
    let text = all_tables(&results);
    let said = "Not in the band: constants that nobody published and the scatter of fitted figures, which were measured with other settings.";
    assert!(text.contains(said), "{text}");
}

#[test]
fn every_output_shows_the_band_and_what_is_outside() {
    let plain = fixture::results();
    let fas = &plain.arrays[0].segments;
    let by = |factor: f64| fas.iter().map(|one| one.iops * factor).collect::<Vec<f64>>();
    let mut rows = vec![
        row("segment 1 up", "segment 1", VariedKind::FittedRow, by(1.001)),
        row("segment 1 down", "segment 1", VariedKind::FittedRow, by(0.999)),
    ];
    rows.push(SensitivityRow {
        outcome: RowOutcome::NoFit { errors_percent: vec![-12.9, -15.1] },
        ..row("first come, first served", "scheduler", VariedKind::Unknown, Vec::new())
    });
    let (measured, others) = (sensitivity(&plain, rows), replicates(&plain, &[0.9998]));
    let results = banded(Some(&measured), &others);
    let own = &results.bands.as_ref().unwrap().arrays[0];
    assert_eq!((own.fitted_rows, own.unknowns), (1, 1));
    assert_eq!(own.published.len(), 14);
    // Simulated figures may be 4 % too high, and hardly too low.
    assert_eq!((own.published_percent, &own.published_outside[..]), (None, &[4, 5, 6, 7][..]));
    let text = all_tables(&results);
    for part in [
        "4741-4954",
        "Band of 95 %: other seeds (2 runs; single runs around their mean)",
        "the scatter of the published figure that was fitted",
        "a constant that nobody published, changed alone and fitted again at 1/8 of full scale",
        "cannot reproduce the fitted rows: first come, first served (off by -12.9 and -15.1 %).",
        "Outside the band: the published IOPS of segments 4, 5, 6, 7; 4 of 14.",
        "over seeds, %",
        "band %",
    ] {
        assert!(text.contains(part), "no {part:?} in\n{text}");
    }
    assert!(text.is_ascii());
    assert!(text.lines().filter(|line| line.contains("predicted")).all(|line| line.len() <= 160));
    let mut csv = Vec::new();
    write_segments_csv(&results, &[], &mut csv).unwrap();
    let mut reader = csv::Reader::from_reader(&csv[..]);
    let at = reader.headers().unwrap().iter().position(|name| name == "host_ops_per_s_low");
    let low = results.arrays[0].segments[0].band.as_ref().unwrap().iops.low;
    let first = reader.records().next().unwrap().unwrap();
    assert_eq!(first[at.unwrap()].parse::<f64>().unwrap(), low);
    let json = results.to_json_string().unwrap();
    assert_eq!(Results::from_json(&json).unwrap(), results);
    let svg = ResultsChart::Iops.draw(&results, None, Default::default()).unwrap().unwrap();
    let document = roxmltree::Document::parse(&svg).unwrap();
    let shades = document.descendants().filter(|node| {
        node.has_tag_name("polygon")
            && node.attribute("opacity").is_some_and(|share| share == "0.3")
    });
    // An area and a sample in the legend for each array.
    assert_eq!(shades.count(), 4);
    assert!(svg.contains("4,940 IOPS, band 4,741 to 4,954"), "{svg}");
}

/// A published figure is a single measurement: 95 % of its own scatter, in quadrature, belongs in the verdict on it.
#[test]
fn a_published_figure_may_itself_be_off() {
    let plain = fixture::results();
    let fas = &plain.arrays[0].segments;
    let by = |factor: f64| fas.iter().map(|one| one.iops * factor).collect::<Vec<f64>>();
    let rows = vec![row("segment 1 up", "segment 1", VariedKind::FittedRow, by(1.0015))];
    let measured = sensitivity(&plain, rows);
    let alone = banded(Some(&measured), &[]);
    let with = banded_with_scatter(Some(&measured), &[], 0.3);
    let of = |results: &Results| results.bands.as_ref().unwrap().arrays[0].clone();
    assert_eq!(of(&alone).published_outside, [4, 5, 6, 7]);
    // 0.3 x 1.96 % of 4014 are 23.6 IOPS, and the band reaches 11.7 up: 26.3 in quadrature. The figure is 35 higher.
    assert_eq!(of(&with).published_percent, Some(0.588));
    assert_eq!(of(&with).published_outside, [5]);
    // The band is that of the simulated figure, and stays as it is.
    assert_eq!(with.arrays, alone.arrays);
    let said = "Outside the band, if each may itself be off by 0.6 %: the published IOPS of segment 5, of 14.";
    assert!(all_tables(&with).contains(said), "{}", all_tables(&with));
}

/// Seeds alone tell runs of one scenario apart; whole bands tell others apart.
#[test]
fn runs_of_one_scenario_share_all_but_their_seeds() {
    let plain = fixture::results();
    let one =
        banded(Some(&sensitivity(&plain, Vec::new())), &replicates(&plain, &[0.9995, 1.0005]));
    let mut other = one.clone();
    for segment in &mut other.arrays[0].segments {
        segment.iops *= 0.98;
    }
    let beyond = |one: &Results, other: &Results| {
        let runs = [("one".to_owned(), one), ("other".to_owned(), other)];
        let compared = compare_runs(&runs).unwrap();
        let beyond = compared.arrays[0].segments[13].figures[1].unwrap().iops_beyond_bands;
        (beyond, compared.arrays[0].verdicts[0].clone(), runs_tables(&compared))
    };
    let (is_beyond, verdict, tables) = beyond(&one, &other);
    assert_eq!(is_beyond, Some(true));
    assert!(
        verdict.contains("2.0 % slower than one, more than other seeds make (0.3"),
        "{verdict}"
    );
    assert!(tables.contains("-2.0*") && tables.contains("only their seeds count"), "{tables}");
    other.scenario = "another".to_owned();
    let (is_beyond, verdict, _) = beyond(&one, &other);
    assert_eq!(is_beyond, Some(false));
    assert!(verdict.contains("no more than their bands explain (4."), "{verdict}");
    let (is_beyond, _, tables) = beyond(&plain, &one);
    assert_eq!(is_beyond, None);
    assert!(tables.contains("Without bands, so that it is unknown"), "{tables}");
    let (_, _, tables) = beyond(&plain, &plain);
    assert_eq!(tables.matches("No run has bands").count(), 1, "{tables}");
    assert!(tables.contains("--replicates"), "{tables}");
    // Real spindles have no such option.
    let mut real = plain.clone();
    real.real_spindles = Some(fixture::real_spindles());
    let (_, _, tables) = beyond(&real, &real);
    assert!(tables.contains("which differences are chance.\n"), "{tables}");
    assert!(!tables.contains("--replicates"), "{tables}");
}
