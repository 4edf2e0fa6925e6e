use std::io::Write;

use flate2::Compression;
use flate2::write::GzEncoder;
use proptest::prelude::*;
use strewn_formats::trace::{
    Beyond, BlkparseAction, Direction, Lun, OutOfOrder, Skipped, SpeedUp, TraceFormat,
    TraceOptions, TraceReader, TraceRecord, TraceWriter,
};

const MSR: &str = include_str!("../data/msr.csv");
const SPC: &str = include_str!("../data/spc.spc");
const DISKSIM: &str = include_str!("../data/disksim.trace");
/// Printed by blkparse 1.2.0.
const BLKPARSE: &str = include_str!("../data/blkparse.txt");
const COLUMNS: &str = include_str!("../data/columns.csv");
const IOLOG_2: &str = include_str!("../data/v2.log");
const IOLOG_3: &str = include_str!("../data/v3.log");

use Direction::{Read, Write as Writes};

fn read(trace: &str, options: TraceOptions) -> (Vec<TraceRecord>, TraceReader<&[u8]>) {
    let mut reader = TraceReader::new(trace.as_bytes(), options).unwrap();
    let records = reader.by_ref().collect::<Result<_, _>>().unwrap();
    (records, reader)
}

fn record(
    arrival_ns: u64,
    device: u32,
    offset: u64,
    length: u64,
    direction: Direction,
) -> TraceRecord {
    TraceRecord { arrival_ns, device, offset_bytes: offset, length_bytes: length, direction }
}

#[test]
fn every_format_is_recognised_and_read() {
    const SDA: u32 = 8 << 20;
    let cases = [
        (
            TraceFormat::Msr,
            MSR,
            vec![
                record(0, 0, 7_014_609_920, 24_576, Read),
                record(1_332_052_600, 1, 1_317_441_536, 8192, Writes),
                record(2_332_061_600, 0, 2_436_440_064, 4096, Writes),
            ],
            Skipped::default(),
        ),
        (
            TraceFormat::Spc,
            SPC,
            vec![
                record(0, 0, 303_567 * 512, 3584, Writes),
                record(26_214_000, 1, 55_590 * 512, 3072, Writes),
                record(26_682_000, 0, 303_574 * 512, 3584, Read),
            ],
            Skipped { empty: 1, ..Skipped::default() },
        ),
        (
            TraceFormat::DiskSim,
            DISKSIM,
            vec![
                record(0, 30, 0, 2560, Read),
                record(708_865, 30, 4096, 8192, Writes),
                record(808_866, 31, 1 << 41, 1024, Read),
            ],
            Skipped::default(),
        ),
        (
            TraceFormat::Blkparse,
            BLKPARSE,
            vec![
                record(0, SDA, 223_490 * 512, 4096, Writes),
                record(998_500, SDA, 4096, 8192, Read),
                record(2_997_500, (259 << 20) | 1, 51_200, 4096, Read),
            ],
            Skipped { other_actions: 6, trims: 1, no_data: 2, ..Skipped::default() },
        ),
        (
            TraceFormat::Columns,
            COLUMNS,
            vec![record(0, 0, 1 << 20, 4096, Read), record(1, 0, 0, 8192, Writes)],
            Skipped::default(),
        ),
        (
            TraceFormat::FioIolog,
            IOLOG_2,
            vec![record(0, 0, 4096, 8192, Read), record(5_000_000, 1, 0, 512, Writes)],
            Skipped { other_actions: 5, trims: 1, no_data: 2, ..Skipped::default() },
        ),
        (
            TraceFormat::FioIolog,
            IOLOG_3,
            vec![record(0, 0, 0, 8192, Writes), record(11_000, 0, 2_023_424, 8192, Read)],
            Skipped { other_actions: 3, trims: 1, no_data: 1, ..Skipped::default() },
        ),
    ];
    for (format, trace, expected, skipped) in cases {
        let (records, reader) = read(trace, TraceOptions::default());
        assert_eq!((reader.format(), &records), (format, &expected));
        assert_eq!(reader.skipped(), skipped, "{format}");
        assert_eq!(reader.records(), expected.len() as u64);
        // The reader stops before the summary that follows the trace in blkparse's output.
        if format != TraceFormat::Blkparse {
            assert_eq!(reader.bytes_read(), trace.len() as u64, "{format}");
            assert_eq!(reader.line(), trace.lines().count() as u64, "{format}");
        }
        let given = TraceOptions { format: Some(format), ..TraceOptions::default() };
        assert_eq!(read(trace, given).0, expected);
        // As on Windows, and with a byte order mark.
        let windows = format!("\u{feff}{}", trace.replace('\n', "\r\n"));
        assert_eq!(read(&windows, TraceOptions::default()).0, expected);
    }
}

#[test]
fn blkparse_counts_the_moment_asked_for() {
    for (action, expected) in [
        (BlkparseAction::Queued, vec![0, 1_000_000]),
        (BlkparseAction::Issued, vec![0, 998_500, 2_997_500]),
        (BlkparseAction::Completed, vec![0, 1_491_000]),
    ] {
        let options = TraceOptions { blkparse_action: action, ..TraceOptions::default() };
        let arrivals: Vec<u64> = read(BLKPARSE, options).0.iter().map(|r| r.arrival_ns).collect();
        assert_eq!(arrivals, expected, "{action:?}");
    }
}

#[test]
fn gzip_of_several_members_is_read_directly() {
    let mut file = Vec::new();
    for part in [&MSR[..70], &MSR[70..]] {
        let mut encoder = GzEncoder::new(file, Compression::default());
        encoder.write_all(part.as_bytes()).unwrap();
        file = encoder.finish().unwrap();
    }
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("web_0.csv.gz");
    std::fs::write(&path, &file).unwrap();
    let mut reader = TraceReader::open(&path, TraceOptions::default()).unwrap();
    let records: Vec<_> = reader.by_ref().map(Result::unwrap).collect();
    assert_eq!(records, read(MSR, TraceOptions::default()).0);
    assert_eq!(reader.bytes_read(), file.len() as u64);

    std::fs::write(&path, &file[..file.len() - 12]).unwrap();
    let mut reader = TraceReader::open(&path, TraceOptions::default()).unwrap();
    let error = reader.find_map(Result::err).unwrap();
    assert_eq!(error.message(), "the gzip data ends too early");
    assert!(error.position().to_string().ends_with("web_0.csv.gz:3"), "{error}");
    assert!(TraceReader::open(folder.path().join("none"), TraceOptions::default()).is_err());
}

#[test]
fn one_device_may_be_asked_for() {
    let options = TraceOptions { devices: vec![0], ..TraceOptions::default() };
    let (records, reader) = read(MSR, options);
    assert_eq!(records.len(), 2);
    assert_eq!(reader.skipped().other_devices, 1);
}

#[test]
fn records_out_of_order_are_refused_or_held_back() {
    let trace = "0,0,512,r,1.0\n0,8,512,r,3.0\n0,16,512,r,2.5\n0,24,512,r,0.5\n0,32,512,r,4.0\n";
    let mut reader = TraceReader::new(trace.as_bytes(), TraceOptions::default()).unwrap();
    let error = reader.find_map(Result::err).unwrap();
    assert_eq!(error.problem(), "line 3: the record arrives before the one ahead of it");
    assert!(reader.next().is_none(), "nothing comes after an error");

    let options = TraceOptions { out_of_order: OutOfOrder::HoldBack, ..TraceOptions::default() };
    let (records, reader) = read(trace, options);
    let arrivals: Vec<u64> = records.iter().map(|record| record.arrival_ns).collect();
    assert_eq!(arrivals, [0, 2_000_000_000, 2_000_000_000, 2_000_000_000, 3_000_000_000]);
    assert_eq!(reader.held_back(), 2);
}

#[test]
fn speed_is_exact() {
    for (factor, expected) in [(2.0, 666_026_300), (0.5, 2_664_105_200), (1.0, 1_332_052_600)] {
        let speed_up = SpeedUp::new(factor).unwrap();
        let (records, _) = read(MSR, TraceOptions { speed_up, ..TraceOptions::default() });
        assert_eq!(records[1].arrival_ns, expected);
    }
    for factor in [0.0, -1.0, f64::NAN, f64::INFINITY, 1e9] {
        assert!(SpeedUp::new(factor).is_err());
    }
}

#[test]
fn a_lun_bounds_or_wraps_a_trace() {
    let lun = |bytes, beyond| TraceOptions {
        lun: Some(Lun { bytes, beyond }),
        name: Some("web.csv".into()),
        ..TraceOptions::default()
    };
    let mut reader = TraceReader::new(MSR.as_bytes(), lun(2 << 30, Beyond::Refuse)).unwrap();
    let error = reader.find_map(Result::err).unwrap();
    assert_eq!(
        error.to_string(),
        "web.csv:1: 24576 bytes from byte 7014609920 do not lie on a LUN of 2147483648 bytes; give \
         a larger LUN, or let records beyond it be wrapped"
    );
    let (records, _) = read(MSR, lun(2 << 30, Beyond::Wrap));
    let offsets: Vec<u64> = records.iter().map(|record| record.offset_bytes).collect();
    assert_eq!(offsets, [7_014_609_920 % (2 << 30), 1_317_441_536, 2_436_440_064 - (2 << 30)]);
    // A record longer than the LUN cannot be wrapped.
    let mut reader = TraceReader::new(MSR.as_bytes(), lun(16_384, Beyond::Wrap)).unwrap();
    let error = reader.find_map(Result::err).unwrap();
    assert_eq!(error.help(), "give a LUN that can hold it");
}

#[test]
fn ids_of_named_columns_are_at_hand() {
    let mut reader = TraceReader::new(COLUMNS.as_bytes(), TraceOptions::default()).unwrap();
    let mut ids = Vec::new();
    while let Some(record) = reader.next() {
        record.unwrap();
        ids.push(reader.id().unwrap().to_owned());
    }
    assert_eq!(ids, ["first", "second"]);
}

#[test]
fn sectors_are_not_split_in_writing() {
    for format in
        [TraceFormat::Spc, TraceFormat::DiskSim, TraceFormat::Blkparse, TraceFormat::Columns]
    {
        let mut writer = TraceWriter::new(Vec::new(), format).unwrap();
        let error = writer.write(&record(0, 0, 100, 512, Read)).unwrap_err().to_string();
        assert!(error.starts_with("the offset of 100 bytes cannot be written"), "{error}");
    }
}

prop_compose! {
    fn records()(
        parts in prop::collection::vec(
            (0..u64::from(u32::MAX), 0..3_u32, 0..1_u64 << 40, 1..1_u64 << 16, any::<bool>()),
            1..40,
        )
    ) -> Vec<TraceRecord> {
        let mut arrival_ns = 0;
        parts.into_iter().enumerate().map(|(at, (after_ns, device, sector, sectors, reads))| {
            // Time begins at the first record; 1 us is the coarsest unit of any format.
            arrival_ns += if at == 0 { 0 } else { after_ns * 1000 };
            let direction = if reads { Read } else { Writes };
            record(arrival_ns, device, sector * 512, sectors * 512, direction)
        }).collect()
    }
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn what_is_written_reads_back(records in records(), recognise in any::<bool>()) {
        // Tencent's times are whole seconds; they have a test of their own.
        for format in TraceFormat::ALL.into_iter().filter(|format| *format != TraceFormat::Tencent) {
            let mut writer = TraceWriter::new(Vec::new(), format).unwrap();
            for record in &records {
                writer.write(record).unwrap();
            }
            let written = writer.finish().unwrap();
            let given = (!recognise).then_some(format);
            let options = TraceOptions { format: given, ..TraceOptions::default() };
            let reader = TraceReader::new(written.as_slice(), options).unwrap();
            prop_assert_eq!(reader.format(), format);
            let mut again: Vec<TraceRecord> = reader.map(Result::unwrap).collect();
            // Named columns have no device, and an iolog numbers files by first use.
            for (again, record) in again.iter_mut().zip(&records) {
                if matches!(
                    format,
                    TraceFormat::Columns | TraceFormat::FioIolog | TraceFormat::Vscsi
                ) {
                    again.device = record.device;
                }
            }
            prop_assert_eq!(&again, &records, "{}", format);
        }
    }
}
