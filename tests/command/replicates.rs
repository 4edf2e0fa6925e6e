//! `strewn run --replicates`, and sensitivities beside a scenario: a band around every figure.

use crate::common::Folder;
use strewn::results::{
    ArraySensitivity, Results, RowOutcome, SeedsAlone, Sensitivity, SensitivityRow, VariedKind,
};
use strewn::scenario::Scenario;

const FILE: &str = "small.sensitivity.toml";

fn run(folder: &Folder, words: &[&str]) -> Results {
    let words = [&["run", "small.toml", "--json"], words].concat();
    Results::from_json(&folder.strewn(&words).succeeded()).unwrap()
}

/// Results without anything that bands add.
fn without_bands(mut results: Results) -> Results {
    results.bands = None;
    results.published.iter_mut().for_each(|one| one.over_seeds = None);
    results.ratios.iter_mut().for_each(|ratio| ratio.band = None);
    let segments = results.arrays.iter_mut().flat_map(|array| &mut array.segments);
    segments.for_each(|segment| segment.band = None);
    results.without_wall_time()
}

/// Writes sensitivities of `small.toml` as it is: a constant that takes all figures up by 2 %, or down by 3 %.
fn write_sensitivity(folder: &Folder, results: &Results) {
    let scenario = Scenario::load(folder.path("small.toml")).unwrap();
    let array = |(index, array): (usize, &strewn::results::ArrayResults)| {
        let by = |factor: f64| array.segments.iter().map(|one| one.iops * factor).collect();
        let row = |name: &str, factor| SensitivityRow {
            name: name.to_owned(),
            constant: "per_kib".to_owned(),
            kind: VariedKind::Unknown,
            outcome: RowOutcome::Fit { fitted: vec![1.0], iops: by(factor) },
        };
        ArraySensitivity {
            name: array.name.clone(),
            settings: scenario.digest_of(&scenario.arrays[index]),
            fitted: Vec::new(),
            iops: by(1.0),
            rows: vec![row("nothing per KiB", 1.02), row("1 us per KiB", 0.97)],
        }
    };
    let measured = Sensitivity {
        scenario: "small".to_owned(),
        strewn: "0.1.0".to_owned(),
        scale_down: 8,
        arrays: results.arrays.iter().enumerate().map(array).collect(),
    };
    folder.write(FILE, &measured.to_toml());
}

#[test]
fn figures_are_those_of_the_first_seed_with_any_number_of_threads() {
    let folder = Folder::new();
    let plain = run(&folder, &[]);
    let one = run(&folder, &["--replicates", "3", "--jobs", "1"]);
    let many = run(&folder, &["--replicates", "3", "--jobs", "5"]);
    assert_eq!(one.without_wall_time(), many.without_wall_time());
    assert_eq!(without_bands(one.clone()), plain.without_wall_time());
    assert_eq!(run(&folder, &["--replicates", "1"]).without_wall_time(), plain.without_wall_time());
    // The seeds are the ones that follow the run's own.
    let own = |seed: &str| run(&folder, &["--seed", seed]).arrays[0].segments[2].iops;
    let by_seed = [own("7"), own("8"), own("9")];
    let mean = by_seed.iter().sum::<f64>() / 3.0;
    let variance = by_seed.iter().map(|iops| (iops - mean).powi(2)).sum::<f64>() / 2.0;
    // Student's t for two degrees of freedom; a single run varies, and so does the mean of three.
    let reach = 4.303 * (variance * (1.0 + 1.0 / 3.0)).sqrt();
    let band = one.arrays[0].segments[2].band.as_ref().unwrap().iops;
    assert_eq!(band.seeds, Some(3));
    for (found, expected) in [
        (band.centre.unwrap(), mean),
        (band.low, mean - reach),
        (band.high, mean + reach),
        (band.seeds_percent.unwrap() * mean / 100.0, reach),
    ] {
        assert!((found - expected).abs() < 0.01 * reach, "{band:?} {mean} +- {reach}");
    }
}

#[test]
fn sensitivities_are_read_if_they_are_there_and_of_the_same_settings() {
    let folder = Folder::new();
    let plain = run(&folder, &[]);
    write_sensitivity(&folder, &plain);
    let with = run(&folder, &[]);
    assert_eq!(without_bands(with.clone()), plain.without_wall_time());
    let band = with.arrays[1].segments[0].band.as_ref().unwrap().iops;
    assert_eq!((band.unknowns_percent_down, band.unknowns_percent_up), (Some(3.0), Some(2.0)));
    assert_eq!(band.seeds_percent, None);
    // Seed, scale and number of segments are not settings of an array.
    let smaller = run(&folder, &["--quick", "--seed", "4", "--segments", "2", "--replicates", "2"]);
    let band = smaller.arrays[0].segments[1].band.as_ref().unwrap().iops;
    assert_eq!(band.unknowns_percent_down, Some(3.0));
    assert!(band.seeds_percent.unwrap() > 0.0);
    let set = run(&folder, &["--set", "anywhere.write_anywhere.policy=first-fit"]);
    let of = |array: usize| set.bands.as_ref().unwrap().arrays[array].seeds_alone;
    assert_eq!((of(0), of(1)), (Some(SeedsAlone::OtherSettings), None));
    let longer = folder.strewn(&["run", "small.toml", "--segments", "4"]).succeeded();
    assert!(longer.contains("After segment 3 the band has the seeds alone."), "{longer}");
    assert!(longer.contains("Not in the band: other seeds; see --replicates."), "{longer}");
}

#[test]
fn a_saved_run_keeps_the_sensitivities_that_it_began_with() {
    let folder = Folder::new();
    write_sensitivity(&folder, &run(&folder, &[]));
    let whole = run(&folder, &[]);
    assert_eq!(run(&folder, &["--save", "saved"]).without_wall_time(), whole.without_wall_time());
    std::fs::remove_file(folder.path(FILE)).unwrap();
    let resumed = folder.strewn(&["run", "--resume", "saved", "--json"]).succeeded();
    let resumed = Results::from_json(&resumed).unwrap();
    assert_eq!(resumed.without_wall_time(), whole.without_wall_time());
}

#[test]
fn files_have_the_band_and_other_formats_the_first_run() {
    let folder = Folder::new();
    let words = ["--replicates", "2", "--out", "out", "--also", "fio", "--record-iolog", "log"];
    run(&folder, &words);
    let csv = folder.read("out/segments.csv");
    assert!(csv.lines().next().unwrap().contains(",host_ops_per_s_low,host_ops_per_s_high,"));
    assert!(folder.read("out/iops.svg").contains("<polygon opacity=\"0.3\""));
    let page = folder.read("out/report.html");
    assert!(page.contains("Band of 95 %: other seeds (2 runs; single runs around their mean)"));
    let alone = Folder::new();
    run(&alone, &["--out", "out", "--also", "fio", "--record-iolog", "log"]);
    for name in ["out/fio.json", "log-anywhere"] {
        let there = |folder: &Folder| std::fs::read(folder.path(name)).ok();
        assert_eq!(there(&folder), there(&alone), "{name}");
    }
}

#[test]
fn what_cannot_be_combined_or_makes_no_sense_is_refused() {
    let folder = Folder::new();
    for (count, says) in [
        ("0", "zero runs measure nothing"),
        ("1000000000", "from 1 to 1000"),
        ("-1", "from 1 to 1000"),
        ("two", "from 1 to 1000"),
    ] {
        folder.strewn(&["run", "small.toml", "--replicates", count]).refused(&[says]);
    }
    for other in [&["--save", "saved"][..], &["--explain"]] {
        let words = [&["run", "small.toml", "--replicates", "2"], other].concat();
        folder.strewn(&words).refused(&["--replicates", other[0]]);
    }
    folder.strewn(&["run", "--resume", "saved", "--replicates", "2"]).refused(&["--resume"]);
    folder.write(FILE, "schema = 1\n");
    folder.strewn(&["run", "small.toml"]).refused(&[FILE, "missing field", "remove the file"]);
    folder.strewn(&["run", FILE]).refused(&["has sensitivities", "perhaps small.toml"]);
}
