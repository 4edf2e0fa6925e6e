//! The texts of the scenarios and studies that ship, so that a program has them anywhere.

use strewn_playground::ShippedText;

macro_rules! texts {
    ($($path:literal),* $(,)?) => {
        &[$(ShippedText { path: $path, text: include_str!(concat!("../", $path)) }),*]
    };
}

/// The scenarios, in the order in which somebody new would look at them.
pub(crate) const SCENARIOS: &[ShippedText] = texts![
    "scenarios/making-sense-of-wafl-4.toml",
    "scenarios/fullness.toml",
    "scenarios/snapshots.toml",
    "scenarios/reallocation.toml",
    "scenarios/rebuild.toml",
    "scenarios/added-group.toml",
    "scenarios/age-and-scan.toml",
    "scenarios/streams.toml",
    "scenarios/around-the-aggregate.toml",
    "scenarios/root-volume.toml",
    "scenarios/consolidation.toml",
    "scenarios/avanade.toml",
    "scenarios/iscsi.toml",
    "scenarios/failover.toml",
    "scenarios/cisco-sn5420.toml",
    "scenarios/nas-gateways.toml",
    "scenarios/juniper-fas3040c.toml",
    "scenarios/panasas-arista.toml",
    "scenarios/zfs.toml",
    "scenarios/pool-fullness.toml",
];

/// The published figures that they name.
pub(crate) const PUBLISHED: &[ShippedText] = texts![
    "scenarios/making-sense-of-wafl-4.published.toml",
    "scenarios/cisco-sn5420.published.toml",
    "scenarios/nas-gateways.published.toml",
    "scenarios/juniper-fas3040c.published.toml",
    "scenarios/panasas-arista.published.toml",
];

/// What constants that nobody published do to figures of a scenario, which lies beside it.
pub(crate) const SENSITIVITIES: &[ShippedText] =
    texts!["scenarios/making-sense-of-wafl-4.sensitivity.toml"];

/// The studies, in the order of the questions that they answer.
pub(crate) const STUDIES: &[ShippedText] = texts![
    "scenarios/studies/alignment.toml",
    "scenarios/studies/crossover.toml",
    "scenarios/studies/steady-state.toml",
    "scenarios/studies/lun-size.toml",
    "scenarios/studies/how-full.toml",
    "scenarios/studies/reallocate.toml",
    "scenarios/studies/redundancy-and-price.toml",
    "scenarios/studies/both-heads.toml",
    "scenarios/studies/snapshots.toml",
    "scenarios/studies/scan-after-random.toml",
    "scenarios/studies/outstanding.toml",
    "scenarios/studies/noisy-neighbour.toml",
    "scenarios/studies/group-sizes.toml",
    "scenarios/studies/added-group.toml",
    "scenarios/studies/drives-and-memory.toml",
    "scenarios/studies/avanade.toml",
    "scenarios/studies/ten-years-on.toml",
    "scenarios/studies/how-full-zfs.toml",
    "scenarios/studies/volblocksize.toml",
    "scenarios/studies/mirrors-or-raidz.toml",
    "scenarios/studies/rewrite-zfs.toml",
    "scenarios/studies/special-log-arc.toml",
];

/// The scenarios that only studies begin from.
pub(crate) const BASES: &[ShippedText] = texts![
    "scenarios/studies/bases/aged-neighbours.toml",
    "scenarios/studies/bases/avanade-iscsi.toml",
    "scenarios/studies/bases/days-in-place.toml",
    "scenarios/studies/bases/days.toml",
    "scenarios/studies/bases/decade-later.toml",
    "scenarios/studies/bases/decade.toml",
    "scenarios/studies/bases/fresh-and-aged.toml",
    "scenarios/studies/bases/groups-2-of-28.toml",
    "scenarios/studies/bases/groups-4-of-14.toml",
    "scenarios/studies/bases/groups-7-of-8.toml",
    "scenarios/studies/bases/heads-eva4400.toml",
    "scenarios/studies/bases/heads-one.toml",
    "scenarios/studies/bases/heads-takeover.toml",
    "scenarios/studies/bases/heads-two.toml",
    "scenarios/studies/bases/lun-sizes.toml",
    "scenarios/studies/bases/neighbours.toml",
    "scenarios/studies/bases/one-group.toml",
    "scenarios/studies/bases/outstanding.toml",
    "scenarios/studies/bases/price-eva4400.toml",
    "scenarios/studies/bases/price-raid-4.toml",
    "scenarios/studies/bases/price-root-apart.toml",
    "scenarios/studies/bases/price-root-inside.toml",
    "scenarios/studies/bases/scan-40-spindles.toml",
    "scenarios/studies/bases/single-blocks.toml",
    "scenarios/studies/bases/snapshots-fuller.toml",
    "scenarios/studies/bases/snapshots.toml",
    "scenarios/studies/bases/week-80-percent-full.toml",
    "scenarios/studies/bases/week.toml",
    "scenarios/studies/bases/zfs-how-full.toml",
    "scenarios/studies/bases/zfs-mirrors-or-raidz.toml",
    "scenarios/studies/bases/zfs-resilver.toml",
    "scenarios/studies/bases/zfs-rewrite.toml",
    "scenarios/studies/bases/zfs-special-log-arc.toml",
    "scenarios/studies/bases/zfs-volblocksize.toml",
    "scenarios/studies/bases/zfs-volblocksize-small.toml",
];

/// Returns the text of the scenario of this name that ships.
#[must_use]
pub fn shipped_scenario(name: &str) -> Option<&'static str> {
    let file = format!("scenarios/{name}.toml");
    SCENARIOS.iter().find(|shipped| shipped.path == file).map(|shipped| shipped.text)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What is written and not listed would not ship.
    #[test]
    fn everything_in_the_folder_ships() {
        let is_listed = |path: &str| {
            let all = [SCENARIOS, PUBLISHED, SENSITIVITIES, STUDIES, BASES].concat();
            all.iter().any(|shipped| shipped.path == path)
        };
        for folder in ["scenarios", "scenarios/studies", "scenarios/studies/bases"] {
            let root = concat!(env!("CARGO_MANIFEST_DIR"), "/");
            for entry in std::fs::read_dir(format!("{root}{folder}")).unwrap() {
                let name = entry.unwrap().file_name().into_string().unwrap();
                if name.ends_with(".toml") {
                    assert!(is_listed(&format!("{folder}/{name}")), "{folder}/{name}");
                }
            }
        }
    }
}
