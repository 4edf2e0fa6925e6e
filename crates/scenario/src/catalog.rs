//! The names a scenario may use that other crates give meaning to, and what drives hold.

use strewn_spindle::Profile;

/// Bytes of the drive that the published systems had, for an array whose drive is not known
/// because its profile has a problem: a "146 GB" drive.
pub(crate) const USUAL_DRIVE_BYTES: u64 = 146_800_000_000;

/// The spindle profiles that ship.
pub(crate) fn spindle_profiles() -> Vec<&'static str> {
    Profile::shipped_names().collect()
}

/// How a spindle may order its commands, for a person to choose from: `strewn-spindle` reads the
/// names, and knows a form of the last with a number as well.
pub(crate) const SCHEDULERS: [&str; 5] = ["fcfs", "sstf", "c-look", "sptf", "aged-sptf"];

/// The access specifications that ship.
pub(crate) fn access_specifications() -> &'static [&'static str] {
    strewn_workload::shipped_names()
}

/// Bytes that a drive of this profile holds.
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
