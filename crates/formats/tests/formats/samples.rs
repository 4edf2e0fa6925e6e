//! Samples of each format hold what a script counted that shares nothing with this crate.

use std::collections::{HashMap, HashSet};
use std::path::PathBuf;

use strewn_formats::trace::{Direction, TraceFormat, TraceOptions, TraceReader};

/// Written by `count_samples.py`.
const COUNTS: &str = include_str!("../data/traces/counts.tsv");

fn path(name: &str) -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/data/traces").join(name)
}

/// Returns what the script counted in each file, by column.
fn counts() -> Vec<(&'static str, HashMap<&'static str, u64>)> {
    let mut rows = COUNTS.lines().map(|line| line.split('\t'));
    let names: Vec<&str> = rows.next().unwrap().collect();
    let row = |mut cells: std::str::Split<'static, char>| {
        let name = cells.next().unwrap();
        let numbers = cells.map(|cell| cell.parse().unwrap());
        (name, names[1..].iter().copied().zip(numbers).collect())
    };
    rows.map(row).collect()
}

#[test]
fn every_sample_holds_what_a_script_counted() {
    let counts = counts();
    assert_eq!(counts.len(), 9);
    for (name, expected) in counts {
        let options = TraceOptions { responses: true, ..TraceOptions::default() };
        let mut reader = TraceReader::open(path(name), options).unwrap();
        let stem = name.split_once(['.', '-']).unwrap().0.trim_end_matches(char::is_numeric);
        let format = TraceFormat::ALL.into_iter().find(|format| format.name().ends_with(stem));
        assert_eq!(Some(reader.format()), format, "{name}");
        let (mut volumes, mut touched, mut written) =
            (HashSet::new(), HashSet::new(), HashSet::new());
        let mut found: HashMap<&str, u64> = expected.keys().map(|key| (*key, 0)).collect();
        let mut add = |key, amount| *found.get_mut(key).unwrap() += amount;
        let mut last_ns = 0;
        for record in reader.by_ref() {
            let record = record.unwrap_or_else(|error| panic!("{error}"));
            add("operations", 1);
            add("reads", u64::from(record.direction == Direction::Read));
            add("bytes", record.length_bytes);
            add("volumes", u64::from(volumes.insert(record.device)));
            for block in record.offset_bytes / 4096..record.end_bytes().div_ceil(4096) {
                let place = (record.device, block);
                add("footprint", u64::from(touched.insert(place)));
                if record.direction == Direction::Write {
                    add("rewritten", u64::from(!written.insert(place)));
                }
            }
            last_ns = record.arrival_ns;
        }
        let mut response_ns = 0;
        while let Some(response) = reader.next_response() {
            add("responses", 1);
            response_ns += response.response_ns;
        }
        add("response_us", response_ns / 1000);
        add("last_us", last_ns / 1000);
        add("trims", reader.skipped().trims);
        add("empty", reader.skipped().empty);
        assert_eq!(found, expected, "{name}");
    }
}

#[test]
fn the_records_of_a_second_are_spread_over_it_unless_asked_not_to() {
    let trace = "10,0,8,0,1\n10,8,8,1,1\n12,16,8,0,1\n12,24,0,0,1\n12,32,8,0,2\n12,40,8,0,1\n";
    let arrivals = |at_whole_seconds, devices| {
        let options = TraceOptions { at_whole_seconds, devices, ..TraceOptions::default() };
        let mut reader = TraceReader::new(trace.as_bytes(), options).unwrap();
        assert_eq!(reader.format(), TraceFormat::Tencent);
        let records = reader.by_ref().map(|record| record.unwrap().arrival_ns / 1_000_000);
        records.collect::<Vec<_>>()
    };
    assert_eq!(arrivals(false, vec![]), [0, 500, 2000, 2333, 2666]);
    assert_eq!(arrivals(false, vec![1]), [0, 500, 2000, 2500]);
    assert_eq!(arrivals(true, vec![]), [0, 0, 2000, 2000, 2000]);
    // A time that goes back is found at its line.
    let trace = "10,0,8,0,1\n12,8,8,1,1\n11,16,8,0,1\n";
    let mut reader = TraceReader::new(trace.as_bytes(), TraceOptions::default()).unwrap();
    let error = reader.find_map(Result::err).unwrap();
    assert_eq!(error.problem(), "line 3: the record arrives before the one ahead of it");
}

#[test]
fn a_completion_ends_every_request_merged_into_it() {
    let text = "8,0 0 1 1.0 1 Q R 100 + 8 [a]\n8,0 0 2 1.1 1 Q R 108 + 8 [a]\n\
                8,16 0 3 1.2 1 Q R 108 + 8 [a]\n8,0 0 4 1.3 1 D R 100 + 16 [a]\n\
                8,0 0 5 1.5 1 C R 100 + 16 [0]\n";
    let options = TraceOptions {
        blkparse_action: strewn_formats::trace::BlkparseAction::Queued,
        responses: true,
        ..TraceOptions::default()
    };
    let mut reader = TraceReader::new(text.as_bytes(), options).unwrap();
    assert_eq!(reader.by_ref().count(), 3);
    let responses = std::iter::from_fn(|| reader.next_response());
    let found: Vec<_> =
        responses.map(|of| (of.arrival_ns / 1_000_000, of.response_ns / 1_000_000)).collect();
    assert_eq!(found, [(0, 500), (100, 400)]);
}

#[test]
fn zstd_of_several_frames_is_read_directly() {
    let sample = std::fs::read(path("alibaba.csv.zst")).unwrap();
    let count = |bytes: &[u8]| {
        let mut reader = TraceReader::new(bytes, TraceOptions::default()).unwrap();
        let options = reader.by_ref().take_while(Result::is_ok).count();
        (options, reader.bytes_read())
    };
    assert_eq!(count(&sample), (2963, sample.len() as u64));
    // A frame that is skipped, and the same frame once more: its times go back.
    let mut twice = b"\x50\x2a\x4d\x18\x04\0\0\0skip".to_vec();
    twice.extend(&sample);
    twice.extend(&sample);
    assert_eq!(count(&twice).0, 2963);
    let options = || TraceOptions {
        name: Some("t".into()),
        out_of_order: strewn_formats::trace::OutOfOrder::HoldBack,
        ..TraceOptions::default()
    };
    assert_eq!(TraceReader::new(twice.as_slice(), options()).unwrap().count(), 2 * 2963);

    let error = |bytes: &[u8]| {
        let reader = TraceReader::new(bytes, options());
        reader.map_or_else(|error| error, |mut reader| reader.find_map(Result::err).unwrap())
    };
    let cut = error(&sample[..sample.len() / 2]).to_string();
    assert!(cut.contains("the zstd data ends too early; the file is cut short"), "{cut}");
    let mut damaged = sample.clone();
    let last = damaged.len() - 1;
    damaged[last] ^= 1;
    let damaged = error(&damaged).to_string();
    assert!(damaged.contains("cannot decompress: the checksum of a frame does not"), "{damaged}");
}
