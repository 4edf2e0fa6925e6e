//! `strewn sensitivity`: what it prints, what it writes, and what it refuses.

use strewn::results::{Published, RowOutcome, Sensitivity, VariedKind};
use strewn::scenario::Scenario;

use crate::common::{Folder, SMALL};

const FITTED: &str = "parameters = [\"processor.host_operation\"]\nsegments = [1]\n";

/// The small scenario, with things that are uncertain about its first array.
fn uncertain() -> String {
    let text = SMALL.replace(FITTED, &format!("{FITTED}row_scatter_percent = 0.3\n"));
    assert_ne!(text, SMALL);
    text + "\n[[unknown]]\nconstant = \"anywhere.chunk_blocks\"\nvalues = [\"16\", \"32\"]\n"
}

#[test]
fn every_row_is_fitted_again_printed_and_written_beside_the_scenario() {
    let folder = Folder::new();
    folder.write("uncertain.toml", &uncertain());
    let printed = folder.strewn(&["sensitivity", "uncertain.toml"]).succeeded();
    let rows = ["nothing", "seed 8", "published segment 1 -0.3 %", "anywhere.chunk_blocks = 16"];
    for part in rows.into_iter().chain(["Written to uncertain.sensitivity.toml"]) {
        assert!(printed.contains(part), "no {part:?} in\n{printed}");
    }
    let text = folder.read("uncertain.sensitivity.toml");
    let measured = Sensitivity::from_toml(&text, "uncertain.sensitivity.toml").unwrap();
    let [array] = &measured.arrays[..] else { panic!("{measured:?}") };
    assert_eq!(array.rows.len(), 2 + 2 + 2, "seeds, the fitted segment down and up, two values");
    // A row that is fitted to a figure 0.3 % higher is 0.3 % higher there.
    let higher = array.rows.iter().find(|row| row.name.ends_with("+0.3 %")).unwrap();
    assert_eq!(higher.kind, VariedKind::FittedRow);
    let RowOutcome::Fit { iops, .. } = &higher.outcome else { panic!("{higher:?}") };
    let moved_percent = 100.0 * (iops[0] / array.iops[0] - 1.0);
    assert!((moved_percent - 0.3).abs() < 0.12, "{moved_percent} %");
    // The digest is that of the scenario, and of no other.
    let scenario = Scenario::parse(&uncertain(), folder.path("uncertain.toml")).unwrap();
    let digest = |scenario: &Scenario| scenario.digest_of(&scenario.arrays[0]);
    assert_eq!(array.settings, digest(&scenario));
    let other = uncertain().replace("chunk_blocks = ", "tetrises_in_flight = 3\nchunk_blocks = ");
    if let Ok(other) = Scenario::parse(&other, folder.path("other.toml")) {
        assert_ne!(array.settings, digest(&other));
    }
    let same = Scenario { seed: 7, segments: 1, ..scenario };
    assert_eq!(array.settings, digest(&same));
}

#[test]
fn the_figures_do_not_depend_on_the_number_of_threads() {
    let folder = Folder::new();
    folder.write("uncertain.toml", &uncertain());
    let written = ["1", "3"].map(|jobs| {
        folder.strewn(&["sensitivity", "uncertain.toml", "--jobs", jobs]).succeeded();
        folder.read("uncertain.sensitivity.toml")
    });
    assert_eq!(written[0], written[1]);
}

#[test]
fn a_dry_run_writes_nothing() {
    let folder = Folder::new();
    folder.write("uncertain.toml", &uncertain());
    let before = folder.contents();
    folder.strewn(&["sensitivity", "uncertain.toml", "--dry-run"]).succeeded();
    assert_eq!(folder.contents(), before);
}

#[test]
fn what_cannot_be_measured_is_refused_before_the_first_simulation() {
    let folder = Folder::new();
    for (from, to, says) in [
        ("anywhere.chunk_blocks", "anywhere.chunk_block", "there is no setting"),
        ("anywhere.chunk_blocks", "chunk_blocks_of_it", "there is no setting"),
        ("\"16\"", "\"17\"", "it takes a power of two"),
        ("\"16\"", "17", "a string"),
        ("values = [\"16\", \"32\"]", "values = []", "values"),
        ("row_scatter_percent = 0.3", "row_scatter_percent = 20", "20 %"),
        ("anywhere.chunk_blocks", "segments", "no constant of the experiment"),
        ("published = \"small.published.toml\"\n", "", "names no published figures"),
        (FITTED, "", "nothing to fit"),
    ] {
        let mut text = uncertain().replace(from, to);
        if to.is_empty() && from == FITTED {
            text = text.replace("[array.fitted]\nrow_scatter_percent = 0.3\n", "");
        }
        assert_ne!(text, uncertain());
        folder.write("bad.toml", &text);
        let before = folder.contents();
        folder.strewn(&["sensitivity", "bad.toml"]).refused(&[says, "help: "]);
        assert_eq!(folder.contents(), before);
    }
    folder.strewn(&["sensitivity", "-"]).refused(&["standard input", "--dry-run"]);
}

/// What the published rows scatter by around any smooth curve: their fourth differences have none of the curve left.
#[test]
fn the_scatter_that_the_shipped_scenario_declares_is_that_of_the_published_rows() {
    let path = format!("{}/scenarios/making-sense-of-wafl-4.toml", crate::common::PROJECT);
    let scenario = Scenario::load(&path).unwrap();
    let published = scenario.published.as_ref().unwrap();
    let text = std::fs::read_to_string(published).unwrap();
    let published = Published::from_toml(&text, published).unwrap();
    let iops = &published.array("FAS2050").unwrap().iops;
    let mut rows: Vec<f64> = iops.iter().map(|iops| iops.ln()).collect();
    for _ in 0..4 {
        rows = rows.windows(2).map(|pair| pair[1] - pair[0]).collect();
    }
    // The squares of 1, 4, 6, 4 and 1 add up to 70.
    let variance = rows.iter().map(|row| row * row).sum::<f64>() / (70.0 * rows.len() as f64);
    let percent = 100.0 * variance.sqrt();
    let declared = scenario.arrays[0].fitted.as_ref().unwrap().row_scatter_percent;
    assert!((percent - declared).abs() < 0.05, "{percent} %, but {declared} % are declared");
}

/// A change of the shipped scenario, or a setting that is new, needs its table measured again.
#[test]
fn the_shipped_table_is_of_the_shipped_scenario() {
    let path = format!("{}/scenarios/making-sense-of-wafl-4", crate::common::PROJECT);
    let scenario = Scenario::load(format!("{path}.toml")).unwrap();
    let table = format!("{path}.sensitivity.toml");
    let text = std::fs::read_to_string(&table).unwrap();
    let measured = Sensitivity::from_toml(&text, &table).unwrap();
    for array in &scenario.arrays {
        let of_array = measured.array(&array.name).unwrap();
        let now = scenario.digest_of(array);
        assert_eq!(of_array.settings, now, "{}: run `strewn sensitivity` again", array.name);
        for unknown in &scenario.unknowns {
            let is_of_array = unknown.constant.starts_with(&format!("{}.", array.name));
            let has_row = of_array.rows.iter().any(|row| row.constant == unknown.constant);
            assert!(has_row || !is_of_array, "no row of {}", unknown.constant);
        }
    }
}
