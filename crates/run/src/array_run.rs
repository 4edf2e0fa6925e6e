//! What one array did in a run, from which its results are made.

use std::io;

use strewn_array::{DataLost, FailedSpindle};
use strewn_base::state::{SavedValue, StateError, StateReader, StateWriter};
use strewn_results::{ArrayMap, LayoutMap, MAP_SCHEMA};
use strewn_sim::Segment;

use crate::record::IologError;
use crate::save_error::SaveError;

/// What one array did in a run, of which a [`RunInParts`](crate::RunInParts) makes results. The default is one that has
/// done nothing yet.
#[derive(Default)]
pub struct ArrayRun {
    /// What it did before the first segment; none without a warm-up.
    pub(crate) warm_up: Option<Segment>,
    pub(crate) segments: Vec<Segment>,
    /// The spindles that failed.
    pub(crate) failures: Vec<FailedSpindle>,
    /// The data loss that ended the run early, if there was one.
    pub(crate) data_loss: Option<DataLost>,
    /// Whether the host ended by itself; a plain closed loop never does.
    pub(crate) host_is_done: bool,
    /// Whether it has reached what it was to run until.
    pub(crate) is_at_goal: bool,
    /// The layout of the file, if the run recorded it.
    pub(crate) map: Option<ArrayMap>,
    /// Why the log of its operations could not be written to its end.
    pub(crate) unrecorded: Option<IologError>,
    /// Why it could not be saved, which ended it.
    pub(crate) unsaved: Option<SaveError>,
}

impl ArrayRun {
    /// Returns it as bytes, which the same version of this crate reads on any machine.
    ///
    /// # Errors
    /// None that a run can cause.
    pub fn to_bytes(&self) -> Result<Vec<u8>, StateError> {
        let mut bytes = Vec::new();
        let mut writer = StateWriter::new(&mut bytes);
        writer.value(self)?;
        writer.finish()?;
        Ok(bytes)
    }

    /// Reads what [`to_bytes`](Self::to_bytes) has written.
    ///
    /// # Errors
    /// If the bytes are something else.
    pub fn from_bytes(bytes: &[u8]) -> Result<Self, StateError> {
        let mut reader = StateReader::new(bytes);
        let run = reader.value()?;
        reader.finish()?;
        Ok(run)
    }

    /// Returns whether it came to its end before the last segment: its host had nothing more to do, or it reached what
    /// it was to run until.
    pub(crate) fn ended_by_itself(&self) -> bool {
        self.host_is_done || self.is_at_goal
    }

    /// Returns how many segments are complete.
    #[must_use]
    pub fn segments(&self) -> usize {
        self.segments.len()
    }
}

/// The map as `map.json` has it, because fields may be absent there.
impl SavedValue for ArrayRun {
    fn write(&self, to: &mut StateWriter<'_>) -> Result<(), StateError> {
        let Self {
            warm_up,
            segments,
            failures,
            data_loss,
            host_is_done,
            is_at_goal,
            map,
            unrecorded: _,
            unsaved: _,
        } = self;
        to.value(warm_up)?;
        to.value(segments)?;
        to.value(failures)?;
        to.value(data_loss)?;
        to.value(host_is_done)?;
        to.value(is_at_goal)?;
        let json = map.as_ref().map(|map| {
            let arrays = vec![map.clone()];
            LayoutMap { schema: MAP_SCHEMA, scenario: String::new(), seed: 0, arrays }
                .to_json_string()
                .map_err(io::Error::other)
        });
        to.value(&json.transpose()?)
    }

    fn read(from: &mut StateReader<'_>) -> Result<Self, StateError> {
        Ok(Self {
            warm_up: from.value()?,
            segments: from.value()?,
            failures: from.value()?,
            data_loss: from.value()?,
            host_is_done: from.value()?,
            is_at_goal: from.value()?,
            map: match from.value::<Option<String>>()? {
                Some(json) => {
                    let map = LayoutMap::from_json(&json);
                    let map = map.map_err(|error| StateError::inconsistent(error.to_string()))?;
                    map.arrays.into_iter().next()
                }
                None => None,
            },
            unrecorded: None,
            unsaved: None,
        })
    }
}
