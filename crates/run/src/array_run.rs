//! What one array did in a run, from which its results are made.

use serde::{Deserialize, Serialize};
use strewn_array::{DataLost, FailedSpindle};
use strewn_report::ArrayMap;
use strewn_sim::Segment;

use crate::record::RecordError;

/// What one array did in a run.
#[derive(Default, Serialize, Deserialize)]
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
    #[serde(with = "saved_map")]
    pub(crate) map: Option<ArrayMap>,
    /// Why the log of its operations could not be written to its end.
    #[serde(skip)]
    pub(crate) unrecorded: Option<RecordError>,
}

/// A map as `map.json` has it, because fields may be absent there.
mod saved_map {
    use serde::{Deserialize, Deserializer, Serialize, Serializer, de, ser};
    use strewn_report::{ArrayMap, LayoutMap, MAP_SCHEMA};

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
