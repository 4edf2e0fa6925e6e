//! What the figures of an array depend on, as a digest.

use crate::array::Array;
use crate::fitted_rows::FittedRows;
use crate::scenario::Scenario;
use crate::set::OF_ARRAYS;
use crate::unknown::Unknown;

/// Settings that change no figure of a segment.
const LABELS: [&str; 5] = ["name", "title", "seed", "segments", "published"];

/// The constants of the hash FNV-1a.
const FNV_OFFSET: u64 = 0xcbf2_9ce4_8422_2325;
const FNV_PRIME: u64 = 0x0100_0000_01b3;

impl Scenario {
    /// Returns a digest of everything that the figures of an array depend on, except the seed and how many segments
    /// there are: the settings of workloads, run and array, defaults included. Two scenarios with the same digest give
    /// the array the same figures, by the same version of the program.
    #[must_use]
    pub fn digest_of(&self, array: &Array) -> String {
        let own = format!("{OF_ARRAYS}{}.", array.name);
        let matters = |name: &str| {
            let is_of_another = name.starts_with(OF_ARRAYS) && !name.starts_with(&own);
            !is_of_another
                && !LABELS.contains(&name)
                && !name.starts_with("overhead.")
                && !is_of_uncertainty(name)
        };
        let mut digest = FNV_OFFSET;
        for (name, value) in self.every_setting().into_iter().filter(|(name, _)| matters(name)) {
            for byte in format!("{name}={value}\n").bytes() {
                digest = (digest ^ u64::from(byte)).wrapping_mul(FNV_PRIME);
            }
        }
        format!("{digest:016x}")
    }
}

/// Whether a setting says how far figures can be trusted, and changes none.
pub(crate) fn is_of_uncertainty(name: &str) -> bool {
    let is_of = |key: &str| name.strip_prefix(key).is_some_and(|rest| rest.starts_with('.'));
    name.ends_with(".fitted.row_scatter_percent") || is_of(Unknown::KEY) || is_of(FittedRows::KEY)
}
