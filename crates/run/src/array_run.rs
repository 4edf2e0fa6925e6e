//! What one array did in a run, from which its results are made.

use serde::{Deserialize, Serialize};
use strewn_array::{DataLost, FailedSpindle};
use strewn_base::state::{StateError, StateReader, StateWriter};
use strewn_results::ArrayMap;
use strewn_sim::Segment;

use crate::record::IologError;

/// What one array did in a run, of which a [`RunInParts`](crate::RunInParts) makes results. The default is one that has done
/// nothing yet.
#[derive(Default, Serialize, Deserialize)]
pub struct ArrayRun {
    /// The complete segments.
    pub(crate) segments: Vec<Segment>,
    /// The spindles that failed.
    pub(crate) failures: Vec<FailedSpindle>,
    /// The data loss that ended the run early, if there was one.
    pub(crate) data_loss: Option<DataLost>,
    /// Whether the host ended by itself; a plain closed loop never does.
    pub(crate) host_is_done: bool,
    /// The layout of the file, if the run recorded it.
    #[serde(with = "saved_map")]
    pub(crate) map: Option<ArrayMap>,
    /// Why the log of its operations could not be written to its end.
    #[serde(skip)]
    pub(crate) unrecorded: Option<IologError>,
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

    /// Returns how many segments are complete.
    #[must_use]
    pub fn segments(&self) -> usize {
        self.segments.len()
    }
}

/// A map as `map.json` has it, because fields may be absent there.
mod saved_map {
    use serde::{Deserialize, Deserializer, Serialize, Serializer, de, ser};
    use strewn_results::{ArrayMap, LayoutMap, MAP_SCHEMA};

    pub(super) fn serialize<S: Serializer>(
        map: &Option<ArrayMap>,
        serializer: S,
    ) -> Result<S::Ok, S::Error> {
        let json = map.as_ref().map(|map| {
            let arrays = vec![map.clone()];
            LayoutMap { schema: MAP_SCHEMA, scenario: String::new(), seed: 0, arrays }
                .to_json_string()
                .map_err(ser::Error::custom)
        });
        json.transpose()?.serialize(serializer)
    }

    pub(super) fn deserialize<'d, D: Deserializer<'d>>(
        deserializer: D,
    ) -> Result<Option<ArrayMap>, D::Error> {
        let Some(json) = Option::<String>::deserialize(deserializer)? else { return Ok(None) };
        let map = LayoutMap::from_json(&json).map_err(de::Error::custom)?;
        Ok(map.arrays.into_iter().next())
    }
}
