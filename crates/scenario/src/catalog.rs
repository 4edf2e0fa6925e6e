//! Names in a scenario that other crates define, and the capacity of drives.

use strewn_spindle::Profile;

/// Bytes of the drive in the published systems, a "146 GB" drive. It stands in for a drive whose
/// profile has a problem.
pub(crate) const USUAL_DRIVE_BYTES: u64 = 146_800_000_000;

/// Returns the names of the spindle profiles that ship.
pub(crate) fn spindle_profiles() -> Vec<&'static str> {
    Profile::shipped_names().collect()
}

/// Schedulers of a spindle, for a person to choose from. `strewn-spindle` reads the names, and also
/// accepts the last one with a number.
pub const SCHEDULERS: [&str; 5] = strewn_spindle::Scheduler::NAMES;

/// Returns the names of the access specifications that ship.
pub(crate) fn access_specifications() -> &'static [&'static str] {
    strewn_workload::shipped_names()
}

/// Returns the bytes that a drive of this profile holds.
pub(crate) fn drive_bytes(profile: &Profile) -> u64 {
    profile.capacity_sectors.saturating_mul(u64::from(profile.sector_bytes))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_scheduler_listed_is_one() {
        for name in SCHEDULERS {
            assert!(name.parse::<strewn_spindle::Scheduler>().is_ok(), "{name}");
        }
    }
}
