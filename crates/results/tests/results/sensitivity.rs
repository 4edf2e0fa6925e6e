//! Sensitivities: the file is read, written and refused.

use strewn_results::{RowOutcome, Sensitivity, VariedKind};

const MEASURED: &str = "\
schema = 1
scenario = \"wafl\"
strewn = \"0.1.0\"
scale_down = 8

[[array]]
name = \"FAS2050\"
settings = \"1f3870be274f6c49\"
iops = [4873.0, 4511.0]

[[array.row]]
name = \"cache of 1 GiB\"
constant = \"FAS2050.write_anywhere.buffer_cache\"
kind = \"unknown\"
fitted = [67.7, 107.3]
iops = [4871.0, 4472.25]

[[array.row]]
name = \"chunk of 32 blocks\"
constant = \"FAS2050.write_anywhere.chunk_blocks\"
kind = \"unknown\"
no_fit = [-12.9, -15.1]

[[array.row]]
name = \"seed 2\"
constant = \"seed\"
kind = \"seed\"
fitted = []
iops = [4873.5, 4510.0]

[[array]]
name = \"EVA4400\"
settings = \"x\"
iops = [5983.0]
";

#[test]
fn a_file_is_read_and_written_again_as_it_was() {
    let read = Sensitivity::from_toml(MEASURED, "wafl.toml").unwrap();
    assert_eq!(read.scale_down, 8);
    let rows = &read.array("FAS2050").unwrap().rows;
    let fit = RowOutcome::Fit { fitted: vec![67.7, 107.3], iops: vec![4871.0, 4472.25] };
    assert_eq!((rows[0].kind, &rows[0].outcome), (VariedKind::Unknown, &fit));
    assert_eq!(rows[1].outcome, RowOutcome::NoFit { errors_percent: vec![-12.9, -15.1] });
    assert_eq!(rows[2].kind, VariedKind::Seed);
    assert_eq!(read.to_toml(), MEASURED);
}

/// Names may hold whatever TOML lets a string hold, and figures keep every bit.
#[test]
fn strange_names_and_figures_come_back() {
    let mut measured = Sensitivity::from_toml(MEASURED, "wafl.toml").unwrap();
    measured.arrays[0].name = "a \"b\" \\ 'c'\n[[array]] \u{e9}".to_owned();
    measured.arrays[0].rows[0].name = "''' \"\"\"".to_owned();
    measured.arrays[0].iops = vec![0.1 + 0.2, 1e-300];
    let text = measured.to_toml();
    assert_eq!(Sensitivity::from_toml(&text, "wafl.toml").unwrap(), measured, "{text}");
}

#[test]
fn errors_name_file_line_and_field() {
    let cases = [
        ("schema = 1", "schema = 2", "1: schema: schema 2 cannot be read, only schema 1"),
        ("schema = 1\n", "", "1: schema: missing field"),
        ("scale_down = 8", "scale_down = 0", "4: scale_down: is at least 1"),
        ("scale_down = 8", "scale_down = ", "4: scale_down: "),
        ("settings = \"x\"\n", "", "31: array.settings: missing field"),
        ("\"EVA4400\"", "\"FAS2050\"", "32: array.name: \"FAS2050\" is already there"),
        ("4873.0, 4511.0", "4873.0, 0.0", "9: array.iops: 0 is not a positive number"),
        ("[5983.0]", "[]", "34: array.iops: no figures"),
        ("\"seed 2\"", "\"cache of 1 GiB\"", "25: array.row.name: \"cache of 1 GiB\" is already"),
        ("4871.0, 4472.25", "4871.0", "16: array.row.iops: 1 segments, but the baseline has 2"),
        ("4871.0, 4472.25", "4871.0, nan", "16: array.row.iops: NaN is not a positive number"),
        ("[67.7, 107.3]", "[67.7, inf]", "15: array.row.fitted: inf is not a number"),
        ("no_fit = [-12.9, -15.1]", "", "19: array.row: has neither iops nor no_fit"),
        ("no_fit", "iops = [1.0, 1.0]\nno_fit", "23: array.row.no_fit: given beside iops"),
        ("no_fit", "fitted = [1.0]\nno_fit", "22: array.row.fitted: given beside no_fit"),
        ("\"seed\"\nfitted", "\"chance\"\nfitted", "27: array.row.kind: unknown variant"),
        (
            "\"seed\"\nkind",
            "\"FAS2050.write_anywhere.chunk_blocks\"\nkind",
            "26: array.row.constant: of kind \"seed\" here, and \"unknown\" in \"chunk of 32",
        ),
        ("scale_down", "scale", "4: scale: unknown field"),
    ];
    for (from, to, expected) in cases {
        assert!(MEASURED.contains(from), "{from}");
        let text = MEASURED.replacen(from, to, 1);
        let error = Sensitivity::from_toml(&text, "figures/wafl.toml").unwrap_err().to_string();
        let expected = format!("figures/wafl.toml:{expected}");
        assert!(error.starts_with(&expected), "{from:?} to {to:?}: {error}");
    }
}
