//! A line of results from its cells.

use crate::text::{ErrorKind, FileFormatError, Line, quoted};

use super::result_columns::FIRST_BIN;
use super::{
    LATENCY_BIN_COUNT, LoadFigures, Measured, RESULT_COLUMNS, RawFigures, ResponseTimes, ResultRow,
    RowKind, Throughput,
};

impl ResultRow {
    /// Reads a line from its cells, in the order of [`RESULT_COLUMNS`] and empty where there are
    /// none.
    pub(super) fn from_cells(
        line: &Line<'_>,
        cells: &[&str; RESULT_COLUMNS.len()],
    ) -> Result<Self, FileFormatError> {
        let word = cells[0];
        let found = RowKind::WORDS.iter().find(|(_, known)| word.eq_ignore_ascii_case(known));
        let Some((kind, _)) = found else {
            let message = format!("Target Type: {} is not one of its values", quoted(word));
            let all = RowKind::WORDS.map(|(_, known)| known).join(", ");
            let help = format!("write one of {all}");
            return Err(line.error_of(word, ErrorKind::UnknownName, message, help));
        };
        let mut cells = Cells { line, cells, at: 3 };
        let mut row = Self::new(*kind, cells.cells[1]);
        row.access_specification = cells.cells[2].to_owned();
        row.managers = cells.optional()?;
        row.workers = cells.optional()?;
        row.disks = cells.optional()?;
        row.measured = cells.group(6..36, Cells::measured)?;
        row.raw = cells.group(36..45, Cells::raw)?;
        cells.at = 45;
        row.starting_sector = cells.optional()?;
        row.maximum_size_sectors = cells.optional()?;
        row.queue_depth = cells.optional()?;
        row.load = LoadFigures {
            utilization_percent: cells.optional()?,
            user_percent: cells.optional()?,
            privileged_percent: cells.optional()?,
            deferred_percent: cells.optional()?,
            interrupt_percent: cells.optional()?,
            processor_speed: cells.optional()?,
            interrupts_per_second: cells.optional()?,
            effectiveness: cells.optional()?,
            packets_per_second: cells.optional()?,
            packet_errors: cells.optional()?,
            segments_retransmitted_per_second: cells.optional()?,
        };
        row.latency_bins = cells.group(FIRST_BIN..RESULT_COLUMNS.len(), Cells::bins)?;
        Ok(row)
    }
}

/// A number in a cell.
trait Number: Sized {
    fn of_cell(text: &str) -> Option<Self>;
}

macro_rules! whole_number {
    ($($type:ty),*) => {
        $(impl Number for $type {
            fn of_cell(text: &str) -> Option<Self> {
                // Some versions print counts with decimals.
                let whole = match text.split_once('.') {
                    Some((whole, zeros)) if zeros.bytes().all(|byte| byte == b'0') => whole,
                    _ => text,
                };
                whole.parse().ok()
            }
        })*
    };
}
whole_number!(u32, u64, i64);

impl Number for f64 {
    fn of_cell(text: &str) -> Option<Self> {
        text.parse().ok().filter(|number: &f64| number.is_finite())
    }
}

/// Takes cells one by one.
struct Cells<'l, 'c> {
    line: &'l Line<'l>,
    cells: &'c [&'l str; RESULT_COLUMNS.len()],
    at: usize,
}

impl Cells<'_, '_> {
    fn optional<T: Number>(&mut self) -> Result<Option<T>, FileFormatError> {
        let (text, name) = (self.cells[self.at], RESULT_COLUMNS[self.at]);
        self.at += 1;
        if text.is_empty() {
            return Ok(None);
        }
        T::of_cell(text).map(Some).ok_or_else(|| {
            let message = format!("{}: {} is not a number in range", name.trim(), quoted(text));
            let help = "write a number, or nothing";
            self.line.error_of(text, ErrorKind::Value, message, help)
        })
    }

    /// Takes a number. A column that a version may lack counts as 0.
    fn number<T: Number + Default>(&mut self) -> Result<T, FileFormatError> {
        self.optional().map(Option::unwrap_or_default)
    }

    /// Takes these columns as a group, or none if all of them are empty.
    fn group<T>(
        &mut self,
        columns: std::ops::Range<usize>,
        read: impl Fn(&mut Self) -> Result<T, FileFormatError>,
    ) -> Result<Option<T>, FileFormatError> {
        self.at = columns.start;
        if self.cells[columns].iter().all(|text| text.is_empty()) {
            return Ok(None);
        }
        read(self).map(Some)
    }

    fn throughput(&mut self) -> Result<Throughput, FileFormatError> {
        Ok(Throughput { total: self.number()?, read: self.number()?, write: self.number()? })
    }

    fn times(&mut self) -> Result<ResponseTimes, FileFormatError> {
        Ok(ResponseTimes {
            total: self.number()?,
            read: self.number()?,
            write: self.number()?,
            transaction: self.number()?,
            connection: self.number()?,
        })
    }

    fn measured(&mut self) -> Result<Measured, FileFormatError> {
        Ok(Measured {
            iops: self.throughput()?,
            mib_per_second: self.throughput()?,
            mb_per_second: self.throughput()?,
            transactions_per_second: self.number()?,
            connections_per_second: self.number()?,
            average_ms: self.times()?,
            maximum_ms: self.times()?,
            errors: self.number()?,
            read_errors: self.number()?,
            write_errors: self.number()?,
            bytes_read: self.number()?,
            bytes_written: self.number()?,
            reads: self.number()?,
            writes: self.number()?,
            connections: self.number()?,
            transactions_per_connection: self.number()?,
        })
    }

    fn raw(&mut self) -> Result<RawFigures, FileFormatError> {
        Ok(RawFigures {
            total_read: self.number()?,
            total_write: self.number()?,
            total_transaction: self.number()?,
            total_connection: self.number()?,
            maximum_read: self.number()?,
            maximum_write: self.number()?,
            maximum_transaction: self.number()?,
            maximum_connection: self.number()?,
            run_time: self.number()?,
        })
    }

    fn bins(&mut self) -> Result<[u64; LATENCY_BIN_COUNT], FileFormatError> {
        let mut bins = [0; LATENCY_BIN_COUNT];
        for bin in &mut bins {
            *bin = self.number()?;
        }
        Ok(bins)
    }
}
