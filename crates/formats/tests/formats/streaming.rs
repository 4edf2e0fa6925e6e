//! However long a file is, little of it is in memory.

use std::io::{BufReader, Read};

use strewn_formats::ErrorKind;
use strewn_formats::fio::JobFile;
use strewn_formats::iometer::{Configuration, Results};
use strewn_formats::trace::{TraceOptions, TraceReader};

/// The same bytes repeated a given number of times.
struct Repeated {
    bytes: &'static [u8],
    left: u64,
    at: usize,
}

impl Repeated {
    fn new(bytes: &'static [u8], times: u64) -> BufReader<Self> {
        BufReader::new(Self { bytes, left: times * bytes.len() as u64, at: 0 })
    }
}

impl Read for Repeated {
    fn read(&mut self, buffer: &mut [u8]) -> std::io::Result<usize> {
        let count = buffer.len().min(usize::try_from(self.left).unwrap_or(usize::MAX));
        for byte in &mut buffer[..count] {
            *byte = self.bytes[self.at];
            self.at = (self.at + 1) % self.bytes.len();
        }
        self.left -= count as u64;
        Ok(count)
    }
}

#[test]
fn a_long_trace_is_read_record_by_record() {
    let line = b"0,303567,3584,w,0.5\n";
    let mut reader =
        TraceReader::new(Repeated::new(line, 1_000_000), TraceOptions::default()).unwrap();
    assert!(reader.by_ref().all(|record| record.unwrap().length_bytes == 3584));
    assert_eq!((reader.records(), reader.line()), (1_000_000, 1_000_000));
    assert_eq!(reader.bytes_read(), 1_000_000 * line.len() as u64);
}

/// 16 TiB without a line end are not read.
#[test]
fn an_endless_line_is_not_read_to_its_end() {
    let endless = || Repeated::new(b"0123456789abcdef", 1 << 40);
    let kinds = [
        TraceReader::new(endless(), TraceOptions::default()).map(drop).unwrap_err().kind(),
        JobFile::read(endless(), None).map(drop).unwrap_err().kind(),
        Configuration::read(endless(), None).map(drop).unwrap_err().kind(),
        Results::read(endless(), None).map(drop).unwrap_err().kind(),
    ];
    assert_eq!(kinds, [ErrorKind::Limit; 4]);
}

#[test]
fn an_endless_file_is_refused_where_it_would_be_kept() {
    let options = || Repeated::new(b"[a]\nbs=4k\n", 1 << 40);
    assert_eq!(JobFile::read(options(), None).unwrap_err().kind(), ErrorKind::Limit);
    let configuration = Repeated::new(b"Version 1.1.0\n'TEST SETUP\n", 1 << 40);
    let error = Configuration::read(configuration, None).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Limit);
    let results = Repeated::new(b"'Test Type,Test Description\n0,\n", 1 << 40);
    assert_eq!(Results::read(results, None).unwrap_err().kind(), ErrorKind::Limit);
}
