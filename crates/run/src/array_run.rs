//! What one array did in a run, from which its results are made.

use strewn_array::{DataLost, FailedSpindle};
use strewn_report::ArrayMap;
use strewn_sim::Segment;

use crate::record::RecordError;

/// What one array did in a run.
pub(crate) struct ArrayRun {
    /// The complete segments.
    pub(crate) segments: Vec<Segment>,
    /// The spindles that failed.
    pub(crate) failures: Vec<FailedSpindle>,
    /// The data loss that ended the run early, if there was one.
    pub(crate) data_loss: Option<DataLost>,
    /// Whether the host ended by itself; a plain closed loop never does.
    pub(crate) host_is_done: bool,
    /// The layout of the file, if the run recorded it.
    pub(crate) map: Option<ArrayMap>,
    /// Why the log of its operations could not be written to its end.
    pub(crate) unrecorded: Option<RecordError>,
}
