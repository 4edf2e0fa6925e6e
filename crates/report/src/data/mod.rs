//! The data read and written: results, maps, published figures, drive studies, comparisons of runs.

pub(crate) mod band;
pub(crate) mod client_raid;
pub(crate) mod comparison;
pub(crate) mod cost;
pub(crate) mod drive;
pub(crate) mod housekeeping;
pub(crate) mod json;
pub(crate) mod layout_map;
pub(crate) mod live;
pub(crate) mod loss;
pub(crate) mod machine;
pub(crate) mod number;
pub(crate) mod overhead;
pub(crate) mod page_cache;
pub(crate) mod phase;
pub(crate) mod published;
pub(crate) mod quantity;
pub(crate) mod redundancy;
pub(crate) mod relocation;
pub(crate) mod results;
pub(crate) mod runs;
pub(crate) mod segment;
pub(crate) mod sensitivity;
pub(crate) mod snapshots;
mod toml_text;
pub(crate) mod volume;
pub(crate) mod workload;
