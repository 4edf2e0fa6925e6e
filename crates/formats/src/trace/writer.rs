//! Writing records as a trace.

use std::io::Write;

use strewn_base::{Direction, SECTOR_BYTES};

use crate::fio::{IologAction, IologVersion, IologWriter};
use crate::text::WriteError;

use super::blkparse::major_and_minor;
use super::blktrace;
use super::format::TraceFormat;
use super::options::BlkparseAction;
use super::record::TraceRecord;

/// The Windows file time in 2007 from which the records of an MSR trace are counted.
const MSR_START_TICKS: u128 = 128_166_372_000_000_000;

/// Writes records as a trace of any format.
///
/// Times are rounded down to the format's unit: 100 ns in an MSR trace, 1 µs in an iolog, an Alibaba
/// or a vscsi trace, 1 ns in the others. A Tencent trace has whole seconds; other times cannot be
/// written to it. Blocks and sectors are 512 bytes. blkparse's lines are issued requests (`D`) unless
/// [`TraceWriter::blkparse`] says otherwise. blktrace's events are issued requests in little endian.
/// A vscsi trace is of version 1. An iolog is of version 3 and calls its files `device0`, `device1`,
/// and so on.
///
/// ```
/// use strewn_formats::trace::{Direction, TraceFormat, TraceRecord, TraceWriter};
///
/// let mut writer = TraceWriter::new(Vec::new(), TraceFormat::Spc)?;
/// writer.write(&TraceRecord {
///     arrival_ns: 26_214_000,
///     device: 1,
///     offset_bytes: 512 * 55_590,
///     length_bytes: 3072,
///     direction: Direction::Write,
/// })?;
/// assert_eq!(writer.finish()?, b"1,55590,3072,w,0.026214000\n");
/// # Ok::<(), strewn_formats::WriteError>(())
/// ```
#[derive(Debug)]
pub struct TraceWriter<W: Write> {
    output: Output<W>,
    records: u64,
}

#[derive(Debug)]
enum Output<W: Write> {
    Msr(W),
    Spc(W),
    Blkparse(W, BlkparseAction),
    DiskSim(W),
    Columns(W),
    FioIolog(IologWriter<W>),
    Alibaba(W),
    Tencent(W),
    Vscsi(W),
    Blktrace(W),
}

impl<W: Write> TraceWriter<W> {
    /// Creates a trace in `format` and writes its header.
    ///
    /// # Errors
    ///
    /// [`WriteError::Io`] if the output fails.
    pub fn new(mut output: W, format: TraceFormat) -> Result<Self, WriteError> {
        let output = match format {
            TraceFormat::Msr => Output::Msr(output),
            TraceFormat::Spc => Output::Spc(output),
            TraceFormat::Blkparse => Output::Blkparse(output, BlkparseAction::default()),
            TraceFormat::DiskSim => Output::DiskSim(output),
            TraceFormat::Columns => {
                writeln!(output, "id,arrival_ms,lba,sectors,rw")?;
                Output::Columns(output)
            }
            TraceFormat::FioIolog => Output::FioIolog(IologWriter::new(output, IologVersion::V3)?),
            TraceFormat::Alibaba => Output::Alibaba(output),
            TraceFormat::Tencent => Output::Tencent(output),
            TraceFormat::Vscsi => Output::Vscsi(output),
            TraceFormat::Blktrace => Output::Blktrace(output),
        };
        Ok(Self { output, records: 0 })
    }

    /// Creates a trace as blkparse prints it, of requests at the moment given by `action`.
    ///
    /// ```
    /// use strewn_formats::trace::{BlkparseAction, Direction, TraceRecord, TraceWriter};
    ///
    /// let mut writer = TraceWriter::blkparse(Vec::new(), BlkparseAction::Queued);
    /// writer.write(&TraceRecord {
    ///     arrival_ns: 1_000,
    ///     device: 8 << 20,
    ///     offset_bytes: 4096,
    ///     length_bytes: 512,
    ///     direction: Direction::Read,
    /// })?;
    /// assert_eq!(
    ///     String::from_utf8(writer.finish()?)?,
    ///     "  8,0    0        1     0.000001000     0  Q   R 8 + 1 [strewn]\n"
    /// );
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn blkparse(output: W, action: BlkparseAction) -> Self {
        Self { output: Output::Blkparse(output, action), records: 0 }
    }

    /// Writes a record.
    ///
    /// # Errors
    ///
    /// [`WriteError::NotRepresentable`] if the format counts in sectors and the record does not, or
    /// if a number exceeds the format's range; [`WriteError::Io`] if the output fails.
    pub fn write(&mut self, record: &TraceRecord) -> Result<(), WriteError> {
        let TraceRecord { arrival_ns, device, offset_bytes, length_bytes, direction } = *record;
        let reads = direction == Direction::Read;
        let (seconds, nanoseconds) = (arrival_ns / 1_000_000_000, arrival_ns % 1_000_000_000);
        let (milliseconds, rest_ns) = (arrival_ns / 1_000_000, arrival_ns % 1_000_000);
        match &mut self.output {
            Output::Msr(output) => {
                let ticks = MSR_START_TICKS + u128::from(arrival_ns / 100);
                let kind = if reads { "Read" } else { "Write" };
                writeln!(output, "{ticks},strewn,{device},{kind},{offset_bytes},{length_bytes},0")?;
            }
            Output::Spc(output) => {
                let block = sectors("offset", offset_bytes)?;
                let opcode = if reads { 'r' } else { 'w' };
                writeln!(
                    output,
                    "{device},{block},{length_bytes},{opcode},{seconds}.{nanoseconds:09}"
                )?;
            }
            Output::Blkparse(output, action) => {
                let (sector, count) =
                    (sectors("offset", offset_bytes)?, sectors("length", length_bytes)?);
                let (major, minor) = major_and_minor(device);
                let (action, properties) = (action.letter(), if reads { 'R' } else { 'W' });
                let sequence = self.records + 1;
                writeln!(
                    output,
                    "{major:>3},{minor:<3} {:>2} {sequence:>8} {seconds:>5}.{nanoseconds:09} \
                     {:>5} {action:>2} {properties:>3} {sector} + {count} [strewn]",
                    0, 0
                )?;
            }
            Output::DiskSim(output) => {
                let (block, count) =
                    (sectors("offset", offset_bytes)?, sectors("length", length_bytes)?);
                let flags = u8::from(reads);
                writeln!(output, "{milliseconds}.{rest_ns:06} {device} {block} {count} {flags}")?;
            }
            Output::Columns(output) => {
                let (sector, count) =
                    (sectors("offset", offset_bytes)?, sectors("length", length_bytes)?);
                let (id, letter) = (self.records, if reads { 'R' } else { 'W' });
                writeln!(output, "{id},{milliseconds}.{rest_ns:06},{sector},{count},{letter}")?;
            }
            Output::FioIolog(writer) => {
                let file = format!("device{device}");
                let action = if reads {
                    IologAction::Read { offset_bytes, length_bytes }
                } else {
                    IologAction::Write { offset_bytes, length_bytes }
                };
                writer.write(arrival_ns / 1000, &file, action)?;
            }
            Output::Alibaba(output) => {
                let (opcode, at_us) = (if reads { 'R' } else { 'W' }, arrival_ns / 1000);
                writeln!(output, "{device},{opcode},{offset_bytes},{length_bytes},{at_us}")?;
            }
            Output::Tencent(output) => {
                let (sector, count) =
                    (sectors("offset", offset_bytes)?, sectors("length", length_bytes)?);
                if nanoseconds > 0 {
                    return Err(WriteError::not_representable(
                        format!("the time {arrival_ns} ns"),
                        "the format counts in whole seconds; alibaba counts in microseconds",
                    ));
                }
                let kind = u8::from(!reads);
                writeln!(output, "{seconds},{sector},{count},{kind},{device}")?;
            }
            Output::Vscsi(output) => {
                let sector = sectors("offset", offset_bytes)?;
                let length = length_of_32_bits(length_bytes)?;
                let command: u16 = if reads { 0x28 } else { 0x2a };
                let mut record = [0; 32];
                record[0..4].copy_from_slice(&(self.records as u32).to_le_bytes());
                record[4..8].copy_from_slice(&length.to_le_bytes());
                record[8..12].copy_from_slice(&1_u32.to_le_bytes());
                record[12..14].copy_from_slice(&command.to_le_bytes());
                record[14..16].copy_from_slice(&0x100_u16.to_le_bytes());
                record[16..24].copy_from_slice(&sector.to_le_bytes());
                record[24..32].copy_from_slice(&(arrival_ns / 1000).to_le_bytes());
                output.write_all(&record)?;
            }
            Output::Blktrace(output) => {
                let place = (sectors("offset", offset_bytes)?, length_of_32_bits(length_bytes)?);
                let (sequence, action) = (self.records + 1, BlkparseAction::Issued);
                let event = blktrace::event(sequence, arrival_ns, device, place, action, direction);
                output.write_all(&event)?;
            }
        }
        self.records += 1;
        Ok(())
    }

    /// Completes the trace and returns the output.
    ///
    /// # Errors
    ///
    /// [`WriteError::Io`] if the rest cannot be written to the output.
    pub fn finish(self) -> Result<W, WriteError> {
        let mut output = match self.output {
            Output::Msr(output)
            | Output::Spc(output)
            | Output::Blkparse(output, _)
            | Output::DiskSim(output)
            | Output::Columns(output)
            | Output::Alibaba(output)
            | Output::Tencent(output)
            | Output::Vscsi(output)
            | Output::Blktrace(output) => output,
            Output::FioIolog(writer) => return writer.finish(),
        };
        output.flush()?;
        Ok(output)
    }
}

fn sectors(name: &str, bytes: u64) -> Result<u64, WriteError> {
    if bytes.is_multiple_of(SECTOR_BYTES) {
        Ok(bytes / SECTOR_BYTES)
    } else {
        Err(WriteError::not_representable(
            format!("the {name} of {bytes} bytes"),
            "the format counts in sectors of 512 bytes; fio-iolog and msr count in bytes",
        ))
    }
}

fn length_of_32_bits(bytes: u64) -> Result<u32, WriteError> {
    u32::try_from(bytes).map_err(|_| {
        WriteError::not_representable(
            format!("a length of {bytes} bytes"),
            "the format has 32 bits for it; alibaba and msr have 64",
        )
    })
}
