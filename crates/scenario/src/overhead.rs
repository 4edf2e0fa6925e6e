//! The spindles to be bought for an array beside its working ones, counted in several ways.

use strewn_raid::ProtectionLevel;

use crate::array::Array;
use crate::disk_group::PROTECTION_WORDS;
use crate::layout::ArrayLayout;
use crate::section::Section;
use crate::value;

/// The cost of overhead in a comparison: spindles bought, and their price.
#[derive(Debug, Clone, PartialEq)]
pub struct Overhead {
    /// Price of a spindle in US dollars.
    pub usd_per_spindle: f64,
    /// The ways to count, in the order of the file.
    pub configurations: Vec<OverheadConfiguration>,
}

/// One way to count the spindles that an array needs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OverheadConfiguration {
    /// The array's name.
    pub array: String,
    /// Its name in a table.
    pub name: String,
    /// The source that counts this way.
    pub source: String,
    /// Spare spindles. 0 unless the file says otherwise.
    pub spare: u32,
    /// Spindles of root aggregates. 0 unless the file says otherwise.
    pub root: u32,
    /// Capacity reserved for rebuilds, for an in-place array; `None` keeps the array's own setting.
    pub protection_level: Option<ProtectionLevel>,
    /// Whether results use this configuration. At most one of an array's configurations is used.
    pub used_by_results: bool,
}

impl Overhead {
    /// Reads `[overhead]`. All arrays are known only if none of them has a problem.
    pub(crate) fn read(mut section: Section<'_>, arrays: &ArrayNames<'_>) -> Option<Self> {
        let usd_per_spindle = section.required("usd_per_spindle", "1000.0", value::number);
        let mut used: Vec<String> = Vec::new();
        let mut configurations = Some(Vec::new());
        for configuration in section.sections("configuration").unwrap_or_default() {
            let read = OverheadConfiguration::read(configuration, arrays, &mut used);
            configurations = configurations.zip(read).map(|(mut list, read)| {
                list.push(read);
                list
            });
        }
        section.finish();
        Some(Self { usd_per_spindle: usd_per_spindle?, configurations: configurations? })
    }
}

/// What is known about a scenario's arrays when its overhead is read.
pub(crate) struct ArrayNames<'a> {
    /// The names of all arrays, including those with problems.
    pub(crate) names: &'a [String],
    /// The arrays without problems.
    pub(crate) arrays: &'a [Array],
}

impl ArrayNames<'_> {
    fn layout(&self, name: &str) -> Option<&ArrayLayout> {
        self.arrays.iter().find(|array| array.name == name).map(|array| &array.layout)
    }
}

impl OverheadConfiguration {
    fn read(
        mut section: Section<'_>,
        arrays: &ArrayNames<'_>,
        used: &mut Vec<String>,
    ) -> Option<Self> {
        let array = section.required("array", "\"FAS2050\"", value::name);
        let name = section.required("name", "\"working spindles alone\"", value::name);
        let source = section.required("source", "\"reserve rule\"", value::text);
        let spare = section.optional_or("spare", 0, value::count);
        let root = section.optional_or("root", 0, value::count);
        let level_is_given = section.has("protection_level");
        let level = section.optional("protection_level", |v| value::choice(v, &PROTECTION_WORDS));
        let used_by_results = section.optional_or("used_by_results", false, value::flag);
        if let Some(array) = &array {
            if !arrays.names.contains(array) {
                section.unknown_name("array", "array", array, arrays.names);
            }
            let is_blades = |one: &&Array| one.name == *array && one.client_raid.is_some();
            if arrays.arrays.iter().any(|one| is_blades(&one)) {
                section.problem(
                    "array",
                    format!("{array} is many blades, and parity between them is the clients'"),
                    "leave the configuration out",
                );
            }
            let without_level = match arrays.layout(array) {
                Some(ArrayLayout::WriteAnywhere(_)) => Some("write-anywhere"),
                Some(ArrayLayout::InPlace(layout))
                    if !layout.groups.iter().any(|one| one.layout.has_sets()) =>
                {
                    layout.groups.first().map(|one| one.layout.title())
                }
                _ => None,
            };
            if let Some(kind) = without_level.filter(|_| level_is_given) {
                section.problem(
                    "protection_level",
                    format!("{array} is a {kind} array, which has no protection level"),
                    "give it spare spindles instead: spare = 1",
                );
            }
            if used_by_results == Some(true) {
                if used.contains(array) {
                    section.problem(
                        "used_by_results",
                        format!("a second configuration of {array} is used by results"),
                        "of an array's configurations, mark one",
                    );
                }
                used.push(array.clone());
            }
        }
        section.finish();
        Some(Self {
            array: array?,
            name: name?,
            source: source?,
            spare: spare?,
            root: root?,
            protection_level: if level_is_given { Some(level?) } else { None },
            used_by_results: used_by_results?,
        })
    }
}
