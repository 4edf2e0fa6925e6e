//! The flags of `strewn trace`.

use std::path::PathBuf;

use clap::Args;
use strewn::TraceVolumes;
use strewn::formats::trace::TraceFormat;

use super::output::{FormatArguments, PictureArguments};
use super::run::TraceMomentArguments;

/// `strewn trace`.
#[derive(Debug, Args)]
pub(crate) struct TraceArguments {
    /// The trace: a file, plain, gzip or zstd
    ///
    /// Formats: MSR Cambridge, SPC, blkparse text, DiskSim ASCII, fio iolog, CSV with named columns, Alibaba, Tencent,
    /// vscsi (CloudPhysics), blktrace. Its first bytes tell which it is.
    #[arg(id = "trace", value_name = "FILE")]
    pub(crate) file: PathBuf,
    /// Look at these volumes only
    ///
    /// By number, as in 3,17,42, or those with most operations, as in hottest:8.
    #[arg(long, value_name = "N,...|hottest:N")]
    pub(crate) volumes: Option<TraceVolumes>,
    /// Write trace.json and charts to this directory
    #[arg(long, value_name = "DIR")]
    pub(crate) out: Option<PathBuf>,
    /// Write even if DIR is not empty
    ///
    /// Figures and charts in it are replaced, other files stay.
    #[arg(long, requires = "out")]
    pub(crate) force: bool,
    #[command(flatten)]
    pub(crate) format: FormatArguments,
    /// Format of the trace, if its beginning does not show it
    ///
    /// One of msr, spc, blkparse, disksim, fio-iolog, columns, alibaba, tencent, vscsi and blktrace.
    #[arg(long, value_name = "FORMAT")]
    pub(crate) trace_format: Option<TraceFormat>,
    #[command(flatten)]
    pub(crate) moments: TraceMomentArguments,
    #[command(flatten)]
    pub(crate) pictures: PictureArguments,
}
