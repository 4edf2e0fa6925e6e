//! Options of a trace reader.

use thiserror::Error;

use super::format::TraceFormat;
use super::lun::Lun;

/// Options of a [`TraceReader`](super::TraceReader). The default reads the whole trace unchanged and recognises its
/// format.
///
/// ```
/// use strewn_formats::trace::{Beyond, Lun, SpeedUp, TraceFormat, TraceOptions, TraceReader};
///
/// let options = TraceOptions {
///     format: Some(TraceFormat::DiskSim),
///     speed_up: SpeedUp::new(2.0)?,
///     lun: Some(Lun { bytes: 1 << 20, beyond: Beyond::Wrap }),
///     ..TraceOptions::default()
/// };
/// let trace = "0.0 0 0 8 1\n10.0 0 4097 8 0\n";
/// let records = TraceReader::new(trace.as_bytes(), options)?.collect::<Result<Vec<_>, _>>()?;
/// assert_eq!(records[1].arrival_ns, 5_000_000);
/// assert_eq!(records[1].offset_bytes, 512);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug, Default)]
pub struct TraceOptions {
    /// Name of the trace in errors.
    pub name: Option<String>,
    /// Its format; recognised by the first line if absent.
    pub format: Option<TraceFormat>,
    /// Which lines of blkparse's output, or events of blktrace, are requests.
    pub blkparse_action: BlkparseAction,
    /// How much faster requests arrive than recorded.
    pub speed_up: SpeedUp,
    /// The treatment of a record that is earlier than the one before it.
    pub out_of_order: OutOfOrder,
    /// The only devices whose records count; all if there are none.
    pub devices: Vec<u32>,
    /// Whether records of a Tencent trace, whose times are whole seconds, all arrive at the second; otherwise those of
    /// one second are spread evenly over it, in their order.
    pub at_whole_seconds: bool,
    /// Whether recorded response times are kept, for [`TraceReader::next_response`](super::TraceReader::next_response).
    pub responses: bool,
    /// The LUN on which the trace is replayed; if absent, addresses are not checked.
    pub lun: Option<Lun>,
}

/// The moment in the life of a request that counts as its arrival in blkparse's output. The lines of other moments are
/// left out and counted.
///
/// ```
/// use strewn_formats::trace::{BlkparseAction, TraceOptions, TraceReader};
///
/// let text = "8,0 3 1 0.0 697 Q W 223490 + 8 [a]\n8,0 3 2 0.1 697 D W 223490 + 8 [a]\n";
/// let options = TraceOptions {
///     blkparse_action: BlkparseAction::Queued,
///     ..TraceOptions::default()
/// };
/// assert_eq!(options.blkparse_action.letter(), 'Q');
/// let mut reader = TraceReader::new(text.as_bytes(), options)?;
/// assert_eq!(reader.by_ref().count(), 1);
/// assert_eq!(reader.skipped().other_actions, 1);
/// # Ok::<(), strewn_formats::FileFormatError>(())
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum BlkparseAction {
    /// `Q`: the request was made, before the host merged and ordered requests.
    Queued,
    /// `D`: the host issued it to the device, which is what an array sees.
    #[default]
    Issued,
    /// `C`: the device completed it.
    Completed,
}

impl BlkparseAction {
    /// Returns the letter that blkparse prints.
    #[must_use]
    pub fn letter(self) -> char {
        match self {
            Self::Queued => 'Q',
            Self::Issued => 'D',
            Self::Completed => 'C',
        }
    }
}

/// The treatment of a record that is earlier than the one before it, as in traces gathered from several processors or
/// hosts.
///
/// ```
/// use strewn_formats::trace::{OutOfOrder, TraceOptions, TraceReader};
///
/// let trace = "0,0,512,r,1.0\n0,8,512,r,3.0\n0,16,512,r,2.5\n";
/// let options =
///     TraceOptions { out_of_order: OutOfOrder::HoldBack, ..TraceOptions::default() };
/// let mut reader = TraceReader::new(trace.as_bytes(), options)?;
/// assert_eq!(reader.by_ref().last().transpose()?.map(|last| last.arrival_ns), Some(2_000_000_000));
/// assert_eq!(reader.held_back(), 1);
/// # Ok::<(), strewn_formats::FileFormatError>(())
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum OutOfOrder {
    /// It is an error, with the line.
    #[default]
    Refuse,
    /// It arrives together with the record before it, and is counted.
    HoldBack,
}

/// How much faster requests arrive than recorded: 2 halves the time between them.
///
/// The factor is kept to a millionth, so that arrival times are integer arithmetic and the same on every machine.
///
/// ```
/// use strewn_formats::trace::SpeedUp;
///
/// assert_eq!(SpeedUp::new(1.5)?.factor(), 1.5);
/// assert!(SpeedUp::new(0.0).is_err() && SpeedUp::new(f64::NAN).is_err());
/// # Ok::<(), strewn_formats::trace::SpeedUpError>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct SpeedUp {
    millionths: u64,
}

/// A speed-up that is not a positive number within bounds.
#[derive(Clone, Copy, Debug, PartialEq, Error)]
#[error("a speed-up of {factor} is not possible; give a number from 0.000001 to 1000000")]
pub struct SpeedUpError {
    factor: f64,
}

impl SpeedUp {
    /// The recorded speed.
    pub const NONE: Self = Self { millionths: 1_000_000 };

    /// Creates a speed-up of `factor` times the recorded speed.
    ///
    /// # Errors
    ///
    /// [`SpeedUpError`] unless the factor is from 0.000001 to 1000000.
    pub fn new(factor: f64) -> Result<Self, SpeedUpError> {
        if (1e-6..=1e6).contains(&factor) {
            Ok(Self { millionths: (factor * 1e6).round() as u64 })
        } else {
            Err(SpeedUpError { factor })
        }
    }

    /// Returns the factor by which requests arrive faster than recorded.
    #[must_use]
    pub fn factor(self) -> f64 {
        self.millionths as f64 / 1e6
    }

    /// Returns the replay time of a time since the first record; none if it passes 2^64 nanoseconds.
    pub(super) fn apply(self, ns: u128) -> Option<u64> {
        let scaled = if self == Self::NONE {
            ns
        } else {
            ns.checked_mul(1_000_000)? / u128::from(self.millionths)
        };
        u64::try_from(scaled).ok()
    }
}

impl Default for SpeedUp {
    fn default() -> Self {
        Self::NONE
    }
}
