use crate::{fixture, machines, phases};
use parquet::file::reader::{FileReader, SerializedFileReader};
use parquet::record::Field;
use strewn_report::{write_segments_csv, write_segments_parquet};
use strewn_results::Results;

/// The same table as `segments.csv`, by the reader of the parquet crate: words, numbers, and null for an empty field.
#[test]
fn another_reader_finds_the_table_of_the_csv() {
    for (results, name) in
        [(fixture::results(), "plain"), (phases::results(), "phases"), (with_machine(), "machine")]
    {
        has_the_table_of_the_csv(&results, name);
    }
}

/// Two arrays, one of them behind a machine.
fn with_machine() -> Results {
    let mut results = fixture::results();
    let of_machine = machines::results();
    let segments = results.arrays[0].segments.iter_mut();
    for (segment, behind) in segments.zip(&of_machine.arrays[0].segments) {
        segment.machine.clone_from(&behind.machine);
    }
    results
}

fn has_the_table_of_the_csv(results: &Results, name: &str) {
    let path = format!("{}/{name}.parquet", env!("CARGO_TARGET_TMPDIR"));
    write_segments_parquet(results, &[], std::fs::File::create(&path).unwrap()).unwrap();
    let mut text = Vec::new();
    write_segments_csv(results, &[], &mut text).unwrap();

    let mut csv = csv::Reader::from_reader(&text[..]);
    let names = csv.headers().unwrap().clone();
    let reader = SerializedFileReader::new(std::fs::File::open(&path).unwrap()).unwrap();
    let rows: Vec<_> = reader.get_row_iter(None).unwrap().map(Result::unwrap).collect();
    assert_eq!(rows.len(), 28);
    let mut nulls = 0;
    for (row, record) in rows.iter().zip(csv.records()) {
        let record = record.unwrap();
        let columns: Vec<_> = row.get_column_iter().collect();
        assert_eq!(columns.len(), names.len());
        for (((name, field), expected_name), expected) in
            columns.into_iter().zip(&names).zip(&record)
        {
            assert_eq!(name, expected_name);
            match field {
                Field::Null => {
                    assert_eq!(expected, "", "{name}");
                    nulls += 1;
                }
                Field::Str(words) => assert_eq!(words, expected, "{name}"),
                Field::Double(number) => assert_eq!(*number, expected.parse::<f64>().unwrap()),
                other => panic!("{name} is {other:?}"),
            }
        }
    }
    assert!(nulls > 0, "an in-place array has no consistency points");
}
