//! Recognising the format of a trace by its first bytes or its first line.

use crate::fio;
use crate::text::{ErrorKind, FileFormatError, FilePosition, Line, quoted};

use super::binary::Records;
use super::blktrace::Order;
use super::format::TraceFormat;
use super::options::TraceOptions;
use super::vscsi::Version;
use super::{alibaba, blkparse, columns, disksim, msr, spc, tencent};

/// Bytes at the beginning of a trace that are examined: the header of a tar archive and no more.
pub(super) const HEAD_BYTES: usize = 512;
/// Where a tar archive says that it is one.
const TAR_MAGIC: (usize, &[u8]) = (257, b"ustar");

/// Files that are not traces, by their first bytes, and how to make traces of them.
const NO_TRACES: [(&[u8], &str, &str); 4] = [
    (b"\xfd7zXZ\0", "xz data", "decompress the file with `xz -d`; gzip and zstd are read directly"),
    (b"BZh", "bzip2 data", "decompress the file with `bunzip2`; gzip and zstd are read directly"),
    (b"PK\x03\x04", "a zip archive", "extract it with `unzip`, and give the file with the trace"),
    (b"PAR1", "a Parquet file", "convert it to CSV with columns arrival_ms, lba, sectors and rw"),
];

/// Returns the binary records that begin with these bytes, or none if they begin a text.
pub(super) fn binary(
    head: &[u8],
    options: &TraceOptions,
    whole: &FilePosition,
) -> Result<Option<Records>, FileFormatError> {
    let refuse = |what: &str, help: &str| {
        Err(FileFormatError::new(
            ErrorKind::Refused,
            whole.clone(),
            format!("this is {what}"),
            help,
        ))
    };
    let (at, magic) = TAR_MAGIC;
    if head.get(at..).is_some_and(|rest| rest.starts_with(magic)) {
        return refuse(
            "a tar archive",
            "extract it with `tar -xf`, and give the file with the trace; gzip and zstd are read directly",
        );
    }
    if let Some((_, what, help)) = NO_TRACES.iter().find(|(magic, ..)| head.starts_with(magic)) {
        return refuse(what, help);
    }
    let blktrace = Order::of(head).map(|order| Records::Blktrace(order, options.blkparse_action));
    let vscsi = Version::of(head).map(Records::Vscsi);
    let wrong = |what: &str| {
        Err(FileFormatError::new(
            ErrorKind::Syntax,
            whole.clone(),
            format!("the file does not begin as {what}"),
            "leave the format out to have it recognised, or give another file",
        ))
    };
    match options.format {
        Some(TraceFormat::Blktrace) if blktrace.is_none() => wrong("a trace of blktrace"),
        Some(TraceFormat::Vscsi) if vscsi.is_none() => wrong("a vscsi trace"),
        Some(TraceFormat::Blktrace) => Ok(blktrace),
        Some(TraceFormat::Vscsi) => Ok(vscsi),
        Some(_) => Ok(None),
        None => Ok(blktrace.or(vscsi)),
    }
}

/// Returns the one text format whose lines look like this. No line looks like those of two formats.
pub(super) fn detect(line: &Line<'_>) -> Result<TraceFormat, FileFormatError> {
    let text = line.text;
    if let Some(format) = of_line(text) {
        return Ok(format);
    }
    let message = format!("{} begins no trace that is known", quoted(text.trim()));
    // A spreadsheet may have written the fields with other separators.
    for (separator, name) in [(';', "semicolons"), ('\t', "tabs"), ('|', "bars"), (' ', "spaces")] {
        if let Some(format) = of_line(&text.trim().replace(separator, ",")) {
            let help = format!(
                "its fields are separated by {name}: a trace of format {format} has commas"
            );
            return Err(line.error(ErrorKind::Syntax, message, help));
        }
    }
    let names = TraceFormat::ALL.map(TraceFormat::name).join(", ");
    // Words without a number are names of columns.
    let is_header = text.contains([',', ';', '\t']) && !text.contains(|c: char| c.is_ascii_digit());
    let help = if is_header {
        format!(
            "if this line has the names of columns, call them arrival_ms, lba, sectors and rw, or remove it and say \
             which format it is, one of {names}"
        )
    } else {
        format!("say which format it is, one of {names}")
    };
    Err(line.error(ErrorKind::Syntax, message, help))
}

fn of_line(text: &str) -> Option<TraceFormat> {
    let recognised = [
        (TraceFormat::FioIolog, fio::is_iolog_header(text)),
        (TraceFormat::Columns, columns::recognises(text)),
        (TraceFormat::Msr, msr::recognises(text)),
        (TraceFormat::Spc, spc::recognises(text)),
        (TraceFormat::Alibaba, alibaba::recognises(text)),
        (TraceFormat::Tencent, tencent::recognises(text)),
        (TraceFormat::Blkparse, blkparse::recognises(text)),
        (TraceFormat::DiskSim, disksim::recognises(text)),
    ];
    recognised.iter().find(|(_, recognises)| *recognises).map(|(format, _)| *format)
}
