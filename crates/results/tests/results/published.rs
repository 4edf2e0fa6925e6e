use crate::fixture::{self, PUBLISHED};
use strewn_results::{Metric, Published};

#[test]
fn figures_by_segment_and_steady_ones() {
    let published = fixture::published();
    assert_eq!((published.arrays.len(), published.ratios.len()), (2, 2));
    let fas = published.array("FAS2050").unwrap();
    assert_eq!(fas.figure(Metric::Iops, 1), Some(4864.0));
    assert_eq!(fas.figure(Metric::ResponseMs, 14), Some(43.5));
    assert_eq!(fas.figure(Metric::Iops, 0), None);
    assert_eq!(fas.figure(Metric::Iops, 15), None);
    let eva = published.array("EVA4400").unwrap();
    assert_eq!(eva.figure(Metric::MibPerS, 1), Some(64.0));
    assert_eq!(eva.figure(Metric::Iops, 14), Some(5983.0));
    assert_eq!(eva.steady_iops_range, Some([5968.0, 5998.0]));
    assert_eq!(published.array("EVA 4400"), None);
}

/// Every error in the file is reported with the file, the line and the field.
#[test]
fn errors_name_file_line_and_field() {
    let cases = [
        ("year = 2008\n", "", "1: year: missing field `year`"),
        ("year = 2008", "year = \"2008\"", "4: year: invalid type: string"),
        ("year = 2008", "year = ", "4: year: "),
        ("name = \"EVA4400\"", "name = \"FAS2050\"", "14: array.name: \"FAS2050\" is already"),
        ("steady_mib_per_s", "steady_mb_per_s", "17: array.steady_mb_per_s: unknown field"),
        ("4864, 4494", "4864, -4494", "9: array.iops: -4494 is not a positive number"),
        ("4864, 4494", "4864, nan", "9: array.iops: NaN is not a positive number"),
        ("52.7, 48.6, ", "", "10: array.mib_per_s: 12 segments, but iops has 14"),
        ("steady_iops = 5983", "steady_iops = 0", "15: array.steady_iops: 0 is not a positive"),
        (
            "steady_iops = 5983",
            "steady_iops = 6000",
            "16: array.steady_iops_range: steady_iops, 6000",
        ),
        ("steady_iops = 5983\n", "", "15: array.steady_iops_range: a range of steady_iops, which"),
        (
            "steady_iops = 5983",
            "steady_iops = 5983\niops = [1]",
            "16: array.iops: given both by segment and as steady",
        ),
        ("over = \"EVA4400\"", "over = \"EVA\"", "23: ratio.over: there is no array \"EVA\""),
        ("segment = 14", "segment = 0", "31: ratio.segment: segments are numbered from 1"),
        ("percent = 81.0", "percent = -81", "25: ratio.percent: -81 is not a positive number"),
        ("percent = 81.0\n", "", "20: ratio.percent: missing field `percent`"),
    ];
    for (from, to, expected) in cases {
        assert!(PUBLISHED.contains(from), "{from}");
        let text = PUBLISHED.replacen(from, to, 1);
        let error = Published::from_toml(&text, "figures/wafl.toml").unwrap_err().to_string();
        let expected = format!("figures/wafl.toml:{expected}");
        assert!(error.starts_with(&expected), "{from:?} to {to:?}: {error}");
    }
}
