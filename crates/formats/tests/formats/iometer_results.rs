use proptest::prelude::*;
use strewn_formats::iometer::{
    AccessLine, AccessSpecification, DefaultAssignment, LATENCY_BIN_COUNT, LoadFigures, Measured,
    RESULT_COLUMNS, RawFigures, ResultRow, Results, RowKind, TestResults, TestType, latency_bin,
};

const GOLDEN: &str = include_str!("../data/results.csv");

/// Creates a test of the same form as Iometer's own.
fn results() -> Results {
    let mut measured =
        Measured::from_counts(1200.0, 4_669_440, 1_167_360, 52_973_182_000, 13_243_295_000);
    measured.average_ms.total = 30.8;
    measured.average_ms.read = 31.25;
    measured.maximum_ms.total = 412.5;
    let mut bins = [0; LATENCY_BIN_COUNT];
    bins[latency_bin(30_800_000)] = 5_836_800;
    let load = LoadFigures {
        utilization_percent: Some(99.25),
        effectiveness: Some(49.0),
        ..LoadFigures::default()
    };
    let all = ResultRow {
        access_specification: "File Server".into(),
        managers: Some(1),
        workers: Some(1),
        disks: Some(1),
        measured: Some(measured),
        starting_sector: Some(0),
        maximum_size_sectors: Some(209_715_200),
        queue_depth: Some(150),
        load,
        latency_bins: Some(bins),
        ..ResultRow::new(RowKind::All, "All")
    };
    let processor = ResultRow {
        load: LoadFigures { utilization_percent: Some(99.25), ..LoadFigures::default() },
        ..ResultRow::new(RowKind::Processor, "CPU 0")
    };
    let disk = ResultRow {
        measured: Some(measured),
        raw: Some(RawFigures {
            total_read: 179_773_440,
            run_time: 1_200_000_000,
            ..RawFigures::default()
        }),
        queue_depth: Some(150),
        ..ResultRow::new(RowKind::Disk, "FAS2050")
    };
    let specification = AccessSpecification {
        name: "File Server".into(),
        default_assignment: DefaultAssignment::Disk,
        lines: vec![AccessLine { read_percent: 80, ..AccessLine::of_bytes(4096) }],
    };
    Results {
        test_type: TestType::Normal,
        description: "segment 1".into(),
        version: "1.1.0".into(),
        started: "2026-11-21 09:54:02:760".into(),
        tests: vec![TestResults {
            access_specifications: vec![specification],
            rows: vec![all, processor, disk],
            finished: "2026-11-21 10:14:02:760".into(),
        }],
    }
}

/// Returns the series as text. Rates are written to six decimals, so series with rates are compared
/// as text.
fn written(series: &[Results]) -> String {
    let mut file = Vec::new();
    series.iter().for_each(|results| results.write(&mut file).unwrap());
    String::from_utf8(file).unwrap()
}

/// Other programs read the file: its columns and their order must not change unnoticed.
#[test]
fn golden_results() {
    let written = written(&[results()]);
    assert_eq!(written, GOLDEN, "written:\n{written}");
    let read = Results::read(GOLDEN.as_bytes(), None).unwrap();
    assert_eq!(self::written(&read), GOLDEN);
    assert_eq!(read[0].tests[0].rows[2].raw, results().tests[0].rows[2].raw);
    let header = GOLDEN.lines().find(|line| line.starts_with("'Target Type")).unwrap();
    assert_eq!(header.split(',').count(), 80);
}

#[test]
fn columns_go_by_name() {
    // As in 2006: megabytes of unstated size, no latency bins; and a column of another program.
    let text = "'Test Type,Test Description\n0,\n'Version\n2006.07.27\n'Time Stamp\nnow\n\
        'Access specifications\n'End access specifications\n'Results\n\
        'Target Type,Target Name,Colour,IOps,MBps,Read MBps,Queue Depth\n\
        ALL,All,green,100.5,12.25,6,-1\n\
        'Time Stamp\nlater\n";
    let results = Results::read(text.as_bytes(), Some("old.csv")).unwrap();
    let row = &results[0].tests[0].rows[0];
    let measured = row.measured.unwrap();
    assert_eq!((measured.iops.total, measured.mib_per_second.total), (100.5, 12.25));
    assert_eq!((measured.mib_per_second.read, measured.mb_per_second.total), (6.0, 0.0));
    assert_eq!((row.queue_depth, row.latency_bins), (Some(-1), None));
}

#[test]
fn a_file_holds_several_series() {
    let file = written(&[results(), results()]);
    assert_eq!(file, GOLDEN.repeat(2));
    let read = Results::read(file.as_bytes(), None).unwrap();
    assert_eq!((read.len(), written(&read)), (2, file));
}

#[test]
fn what_would_break_the_table_is_not_written() {
    let mut results = results();
    results.description = "a, b".into();
    results.tests[0].rows[0].name = "D: \"a, b\"".into();
    let mut written = Vec::new();
    results.write(&mut written).unwrap();
    let read = Results::read(written.as_slice(), None).unwrap();
    assert_eq!(read[0].description, "a- b");
    assert_eq!(read[0].tests[0].rows[0].name, "D: \"a  b\"");
    for figure in [f64::NAN, f64::INFINITY] {
        results.tests[0].rows[0].measured.as_mut().unwrap().iops.total = figure;
        assert!(results.write(Vec::new()).is_err());
    }
}

fn row() -> impl Strategy<Value = ResultRow> {
    let counts = any::<Option<[u64; 4]>>();
    let bins = any::<Option<[u64; LATENCY_BIN_COUNT]>>();
    (counts, bins, any::<Option<u32>>(), any::<Option<i64>>(), any::<Option<[u64; 3]>>()).prop_map(
        |(counts, latency_bins, disks, queue_depth, raw)| ResultRow {
            measured: counts.map(|[reads, writes, bytes_read, bytes_written]| Measured {
                // Rates are written to six decimals.
                iops: Default::default(),
                mib_per_second: Default::default(),
                mb_per_second: Default::default(),
                ..Measured::from_counts(1.0, reads, writes, bytes_read, bytes_written)
            }),
            raw: raw.map(|[total_read, maximum_write, run_time]| RawFigures {
                total_read,
                maximum_write,
                run_time,
                ..RawFigures::default()
            }),
            disks,
            queue_depth,
            latency_bins,
            ..ResultRow::new(RowKind::Worker, "Worker 1")
        },
    )
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn what_is_written_reads_back(rows in prop::collection::vec(row(), 0..5)) {
        let mut results = results();
        results.tests[0].rows = rows;
        let mut written = Vec::new();
        results.write(&mut written).unwrap();
        prop_assert_eq!(Results::read(written.as_slice(), None).unwrap(), vec![results]);
    }
}

#[test]
fn columns_have_names_of_their_own() {
    for (at, column) in RESULT_COLUMNS.iter().enumerate() {
        assert!(!RESULT_COLUMNS[..at].contains(column), "{column}");
    }
}
