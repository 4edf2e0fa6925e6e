//! Recognising the format of a trace by its first line.

use crate::fio;
use crate::text::{ErrorKind, FileFormatError, Line, quoted};

use super::format::TraceFormat;
use super::{blkparse, columns, disksim, msr, spc};

/// Returns the one format whose lines look like this. No line looks like those of two formats.
pub(super) fn detect(line: &Line<'_>) -> Result<TraceFormat, FileFormatError> {
    let text = line.text;
    let recognised = [
        (TraceFormat::FioIolog, fio::is_iolog_header(text)),
        (TraceFormat::Columns, columns::recognises(text)),
        (TraceFormat::Msr, msr::recognises(text)),
        (TraceFormat::Spc, spc::recognises(text)),
        (TraceFormat::Blkparse, blkparse::recognises(text)),
        (TraceFormat::DiskSim, disksim::recognises(text)),
    ];
    let found = recognised.iter().find(|(_, recognises)| *recognises);
    found.map(|(format, _)| *format).ok_or_else(|| {
        let names = TraceFormat::ALL.map(TraceFormat::name).join(", ");
        line.error(
            ErrorKind::Syntax,
            format!("{} begins no trace that is known", quoted(text.trim())),
            format!("say which format it is, one of {names}"),
        )
    })
}
