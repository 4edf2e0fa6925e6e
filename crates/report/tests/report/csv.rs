use crate::fixture;
use strewn_report::write_segments_csv;
use strewn_results::Results;

fn written(results: &Results) -> String {
    let mut bytes = Vec::new();
    write_segments_csv(results, &[], &mut bytes).unwrap();
    String::from_utf8(bytes).unwrap()
}

#[test]
fn another_reader_finds_every_segment_under_its_column() {
    let mut results = fixture::results();
    results.arrays[0].name = "FAS2050, \"aged\"\nand full".to_owned();
    let text = written(&results);
    let mut reader = csv::Reader::from_reader(text.as_bytes());
    let names = reader.headers().unwrap().clone();
    let column = |name: &str| names.iter().position(|found| found == name).unwrap();
    let rows: Vec<csv::StringRecord> = reader.records().collect::<Result<_, _>>().unwrap();
    let segments = results
        .arrays
        .iter()
        .flat_map(|array| array.segments.iter().map(move |segment| (array, segment)));
    assert_eq!(rows.len(), 28);
    for (row, (array, segment)) in rows.iter().zip(segments) {
        let number = |name: &str| row[column(name)].parse::<f64>().unwrap();
        assert_eq!(row[column("array")], array.name);
        assert_eq!(row[column("layout")], *array.layout.as_str());
        assert_eq!(number("segment"), f64::from(segment.index));
        assert_eq!(number("host_ops_per_s"), segment.iops);
        assert_eq!(number("response_p99_ms"), segment.response_ms.p99);
        assert_eq!(number("layout_score_0_to_1"), segment.layout.score);
        assert_eq!(
            row[column("blocks_per_consistency_point")],
            segment
                .consistency_points
                .map(|points| points.blocks_per_cp.to_string())
                .unwrap_or_default()
        );
    }
}

#[test]
fn lines_end_as_rfc_4180_has_it() {
    let text = written(&fixture::results());
    assert_eq!(text.matches("\r\n").count(), 29);
    assert_eq!(text.matches('\n').count(), 29);
    assert!(text.starts_with("array,layout,outstanding_ops,segment,length_s,"));
}
