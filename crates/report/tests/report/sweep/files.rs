use super::fixture::{grid, grid_sweep, iops, numbers, row, sweep_of, words};
use strewn_report::{write_differences_csv, write_sweep_csv};
use strewn_results::Sweep;

/// A sweep whose names need care: markup, quotes, commas, an axis with the name of a column, a seed that is missing.
fn awkward() -> Sweep {
    let axes = vec![
        words("mean", &["<b>&\"", "a, b\nc"]),
        numbers("file", "GB", &[100.0, 0.5]),
        words("plain", &["only"]),
    ];
    let mut figures = iops();
    figures[1].by_segment = true;
    let all = grid(&axes);
    let mut sweep = sweep_of(axes, figures, &all, 3);
    let first = &sweep.rows[0];
    sweep.rows[0] = row(0, &first.at.clone(), 0, None, vec![Some(3.25), None, Some(3.75)]);
    sweep
}

fn text(sweep: &Sweep) -> Vec<u8> {
    let mut text = Vec::new();
    write_sweep_csv(sweep, &mut text).unwrap();
    text
}

#[test]
fn the_long_table_is_read_back() {
    let sweep = awkward();
    let bytes = text(&sweep);
    assert_eq!(bytes, text(&sweep), "the same sweep gives the same bytes");
    let mut csv = csv::Reader::from_reader(&bytes[..]);
    let names: Vec<String> = csv.headers().unwrap().iter().map(str::to_owned).collect();
    assert_eq!(
        names.join(" "),
        "axis_mean file file_number plain combination figure quantity array metric segment unit n mean low high seed_1 \
         seed_2 seed_3"
    );
    let rows: Vec<csv::StringRecord> = csv.records().map(Result::unwrap).collect();
    assert_eq!(rows.len(), sweep.rows.len());
    let of = |record: &csv::StringRecord, name: &str| {
        record[names.iter().position(|known| known == name).unwrap()].to_owned()
    };
    for (record, row) in rows.iter().zip(&sweep.rows) {
        assert_eq!(of(record, "axis_mean"), sweep.axes[0].values[row.at[0]].label);
        assert_eq!(of(record, "mean").parse::<f64>().unwrap(), row.mean.unwrap());
        assert_eq!(of(record, "segment"), row.segment.map(|it| it.to_string()).unwrap_or_default());
    }
    let first = &rows[0];
    assert_eq!((of(first, "file"), of(first, "file_number")), ("100 GB".into(), "100".into()));
    assert_eq!(
        (of(first, "n"), of(first, "mean"), of(first, "seed_2")),
        ("2".into(), "3.5".into(), "".into())
    );
    assert_eq!((of(first, "array"), of(first, "metric")), ("FAS2050".into(), "iops".into()));
}

#[test]
fn differences_are_read_back() {
    let sweep = awkward();
    let mut bytes = Vec::new();
    write_differences_csv(&sweep, &mut bytes).unwrap();
    let mut csv = csv::Reader::from_reader(&bytes[..]);
    let names: Vec<String> = csv.headers().unwrap().iter().map(str::to_owned).collect();
    assert_eq!(
        names.join(" "),
        "axis value first_value mean file plain combination first_combination figure quantity array metric unit \
         mean_difference low high percent larger_than_noise"
    );
    let rows: Vec<csv::StringRecord> = csv.records().map(Result::unwrap).collect();
    assert_eq!(rows.len(), sweep.differences.len());
    let last = rows.last().unwrap();
    assert_eq!([&last[0], &last[1], &last[2], &last[3]], ["file", "0.5 GB", "100 GB", "a, b\nc"]);
    assert_eq!(last[13].parse::<f64>().unwrap(), sweep.differences.last().unwrap().mean);
    assert!(rows.iter().all(|row| matches!(&row[17], "true" | "false")));
}

#[test]
fn a_sweep_without_rows_has_a_table_of_names() {
    let sweep = sweep_of(Vec::new(), Vec::new(), &[], 0);
    let table = String::from_utf8(text(&sweep)).unwrap();
    assert_eq!(table, "combination,figure,quantity,array,metric,segment,unit,n,mean,low,high\r\n");
}

#[test]
fn a_thousand_combinations_have_a_row_for_each_figure() {
    let tens: Vec<f64> = (0..10).map(f64::from).collect();
    let axes = ["a", "b", "c"].map(|name| numbers(name, "", &tens));
    let sweep = grid_sweep(axes.to_vec());
    assert_eq!(text(&sweep).iter().filter(|byte| **byte == b'\n').count(), 2001);
    assert_eq!(sweep.differences.len(), 2 * 3 * 900);
}

#[cfg(feature = "parquet")]
#[test]
fn parquet_has_the_same_table_with_types() {
    use parquet::file::reader::{FileReader, SerializedFileReader};
    use parquet::record::Field;
    use strewn_report::write_sweep_parquet;

    let sweep = awkward();
    let write = || {
        let mut bytes = Vec::new();
        write_sweep_parquet(&sweep, &mut bytes).unwrap();
        bytes
    };
    let bytes = write();
    assert_eq!(bytes, write(), "the same sweep gives the same bytes");
    let path = format!("{}/sweep.parquet", env!("CARGO_TARGET_TMPDIR"));
    std::fs::write(&path, bytes).unwrap();
    let reader = SerializedFileReader::new(std::fs::File::open(&path).unwrap()).unwrap();
    let rows: Vec<_> = reader.get_row_iter(None).unwrap().map(Result::unwrap).collect();
    let table = text(&sweep);
    let mut csv = csv::Reader::from_reader(&table[..]);
    let names = csv.headers().unwrap().clone();
    assert_eq!(rows.len(), sweep.rows.len());
    for (row, record) in rows.iter().zip(csv.records()) {
        let record = record.unwrap();
        for (((name, field), known), entry) in row.get_column_iter().zip(&names).zip(&record) {
            assert_eq!(name, known);
            match field {
                Field::Null => assert_eq!(entry, "", "{name}"),
                Field::Str(words) => assert_eq!(words, entry, "{name}"),
                Field::Double(number) => assert_eq!(*number, entry.parse::<f64>().unwrap()),
                other => panic!("{name} is {other:?}"),
            }
        }
    }
}
