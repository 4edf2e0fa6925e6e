//! Commented scenarios to begin with.

const HEAD: &str = include_str!("../presets/new/head.toml");
const FAS2050: &str = include_str!("../presets/new/fas2050.toml");
const EVA4400: &str = include_str!("../presets/new/eva4400.toml");

/// A commented scenario to begin with, as `strewn new` writes it.
///
/// ```
/// use strewn_scenario::{Scenario, Template};
///
/// for template in Template::ALL {
///     println!("{}: {}", template.name, template.compares);
/// }
/// let template = Template::named("raid-5").expect("it ships");
/// let scenario = Scenario::parse(&template.scenario("mine"), "mine.toml")?;
/// assert_eq!(scenario.arrays.len(), 3);
/// # Ok::<(), strewn_scenario::ScenarioError>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Template {
    /// What `strewn new --from` calls it.
    pub name: &'static str,
    /// What the scenario compares, in one line.
    pub compares: &'static str,
    /// The parts of its text, with the placeholders `{name}` and `{compares}`.
    text: &'static [&'static str],
    /// The published figures that go beside it, for a text that names `{name}.published.toml`.
    published: Option<&'static str>,
}

impl Template {
    /// Every template, in the order in which they are listed.
    pub const ALL: &'static [Self] = &[
        Self {
            name: "both",
            compares: "A write-anywhere array beside one that updates in place",
            text: &[HEAD, FAS2050, EVA4400],
            published: None,
        },
        Self {
            name: "fas2050",
            compares: "A write-anywhere array, NetApp's FAS2050, fresh and aged",
            text: &[HEAD, FAS2050],
            published: None,
        },
        Self {
            name: "eva4400",
            compares: "An array that updates in place, HP's EVA4400",
            text: &[HEAD, EVA4400],
            published: None,
        },
        Self {
            name: "raid-5",
            compares: "RAID-5 groups of 8, 16 and 24 drives under OLTP",
            text: &[include_str!("../presets/new/raid-5.toml")],
            published: None,
        },
        Self {
            name: "raid-dp",
            compares: "A write-anywhere RAID-DP array, fresh and aged, under OLTP with range scans",
            text: &[include_str!("../presets/new/raid-dp.toml")],
            published: None,
        },
        Self {
            name: "raid-levels",
            compares: "RAID-5, RAID-0, VRAID-5 and RAID-DP on the same twenty drives",
            text: &[include_str!("../presets/new/raid-levels.toml")],
            published: None,
        },
        Self {
            name: "published",
            compares: "The experiment of 2008: both arrays beside their published figures",
            text: &[include_str!("../presets/new/published.toml")],
            published: Some(include_str!("../presets/new/published.published.toml")),
        },
        Self {
            name: "consolidation",
            compares: "A database, a file server and a backup on one array, in phases",
            text: &[include_str!("../presets/new/consolidation.toml")],
            published: None,
        },
        Self {
            name: "aging",
            compares: "A nearly full write-anywhere array with snapshots under random writes",
            text: &[include_str!("../presets/new/aging.toml")],
            published: None,
        },
        Self {
            name: "zfs-mirrors",
            compares: "A ZFS pool of mirrors, 70 % full, fresh and aged, under 16 KiB pages",
            text: &[include_str!("../presets/new/zfs-mirrors.toml")],
            published: None,
        },
        Self {
            name: "zfs-raidz2",
            compares: "A ZFS pool of RAID-Z2, 70 % full, fresh and aged, under 16 KiB pages",
            text: &[include_str!("../presets/new/zfs-raidz2.toml")],
            published: None,
        },
        Self {
            name: "zfs-draid",
            compares: "A ZFS pool of dRAID2, 70 % full, whose drive is rebuilt onto a distributed spare",
            text: &[include_str!("../presets/new/zfs-draid.toml")],
            published: None,
        },
    ];

    /// The first one, which `strewn new` writes unless it is told otherwise.
    pub const BOTH: &'static Self = &Self::ALL[0];

    /// Returns the template of this name.
    #[must_use]
    pub fn named(name: &str) -> Option<&'static Self> {
        Self::ALL.iter().find(|template| template.name == name)
    }

    /// Returns the text of a scenario called `name`, which must not contain quotes, backslashes or control characters.
    #[must_use]
    pub fn scenario(&self, name: &str) -> String {
        // The name comes last: it may hold anything, also what looks like a placeholder.
        self.text.concat().replace("{compares}", self.compares).replace("{name}", name)
    }

    /// Returns the text of the published figures that a scenario called `name` expects beside it, and the name of their
    /// file.
    #[must_use]
    pub fn published(&self, name: &str) -> Option<(String, &'static str)> {
        self.published.map(|text| (format!("{name}.published.toml"), text))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::scenario::Scenario;

    #[test]
    fn every_template_is_a_scenario_without_warnings() {
        for template in Template::ALL {
            let text = template.scenario("mine");
            assert!(!text.contains("{name}"), "{}", template.name);
            let scenario = Scenario::parse(&text, "mine.toml");
            let scenario = scenario.unwrap_or_else(|error| panic!("{}: {error}", template.name));
            assert_eq!(scenario.warnings(), Vec::<String>::new(), "{}", template.name);
            assert_eq!(scenario.name, "mine");
            assert_eq!(scenario.title, format!("mine: {}", template.compares));
            assert_eq!(scenario.published.is_some(), template.published.is_some());
        }
    }

    #[test]
    fn templates_have_names_and_lines_of_their_own() {
        for (index, template) in Template::ALL.iter().enumerate() {
            assert_eq!(Template::named(template.name), Some(template));
            let others = Template::ALL.iter().skip(index + 1);
            assert!(others.clone().all(|other| other.compares != template.compares));
            assert!(template.compares.len() <= 80, "{}", template.compares);
        }
    }

    /// Two copies, since each package has the files that it reads.
    #[test]
    fn published_figures_are_those_of_the_shipped_scenario() {
        let shipped = concat!(
            env!("CARGO_MANIFEST_DIR"),
            "/../../scenarios/making-sense-of-wafl-4.published.toml"
        );
        let published = Template::ALL.iter().filter_map(|template| template.published);
        let shipped = std::fs::read_to_string(shipped).unwrap();
        assert_eq!(published.collect::<Vec<_>>(), [shipped]);
    }
}
