//! The spindles to be bought for an array beside its working ones, counted in several ways.

use strewn_raid::ProtectionLevel;

use crate::array::Array;
use crate::fields::{
    Around, Fields, Section, Slot, Table, Text, Words, choice, count, flag, name, number, table,
    text,
};
use crate::setting_value::SettingValue;

/// The cost of overhead in a comparison: spindles bought, and their price.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Overhead {
    /// Price of a spindle in US dollars.
    pub usd_per_spindle: f64,
    /// The ways to count, in the order of the file.
    pub configurations: Vec<OverheadConfiguration>,
}

/// One way to count the spindles that an array needs.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
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

impl Table for Overhead {
    fn fields(&mut self, f: &mut Fields<'_>) {
        f.value(
            number("usd_per_spindle", "Price of a spindle, in US dollars.").required("1000.0"),
            &mut self.usd_per_spindle,
        );
        f.tables(
            table("configuration", "Ways to buy.")
                .each("A way to buy the spindles that an array needs."),
            &mut self.configurations,
        );
    }

    fn check(&self, s: &Section<'_>, _: &Around) {
        let mut used: Vec<&str> = Vec::new();
        for (configuration, table) in self.configurations.iter().zip(s.inner("configuration")) {
            let array = configuration.array.as_str();
            if !table.are_right(&["array", "used_by_results"]) || !configuration.used_by_results {
                continue;
            }
            if used.contains(&array) {
                table.problem(
                    "used_by_results",
                    format!("a second configuration of {array} is used by results"),
                    "of an array's configurations, mark one",
                );
            }
            used.push(array);
        }
    }
}

impl Table for OverheadConfiguration {
    fn fields(&mut self, f: &mut Fields<'_>) {
        f.value(name("array", "The array.").required("\"FAS2050\""), &mut self.array);
        f.value(
            name("name", "Name of the configuration.").required("\"working spindles alone\""),
            &mut self.name,
        );
        f.value(
            text("source", "Source of the configuration.").required("\"reserve rule\""),
            &mut self.source,
        );
        f.value(
            count("spare", "Spare spindles to buy; none unless given.")
                .or_zero()
                .default("0", "none"),
            &mut self.spare,
        );
        f.value(
            count("root", "Spindles to buy for root volumes; none unless given.")
                .or_zero()
                .default("0", "none"),
            &mut self.root,
        );
        f.value(
            choice::<ProtectionLevel>(
                "protection_level",
                "Number of failures for which an in-place array reserves space.",
            ),
            &mut self.protection_level,
        );
        f.value(
            flag("used_by_results", "Whether the other tables use this configuration.")
                .default("false", ""),
            &mut self.used_by_results,
        );
    }
}

impl Overhead {
    /// Checks the arrays that configurations name, of which some are right by themselves.
    pub(crate) fn check_arrays(&self, s: &Section<'_>, names: &[String], arrays: &[&Array]) {
        for (configuration, table) in self.configurations.iter().zip(s.inner("configuration")) {
            configuration.check_array(table, names, arrays);
        }
    }
}

impl OverheadConfiguration {
    /// Checks that the array is there, and takes what the configuration gives.
    fn check_array(&self, s: &Section<'_>, names: &[String], arrays: &[&Array]) {
        let array = &self.array;
        if !s.is_right("array") {
            return;
        }
        if !names.contains(array) {
            s.unknown_name("array", "array", array, names);
        }
        let Some(known) = arrays.iter().find(|one| one.name == *array) else { return };
        if known.client_raid.is_some() {
            s.problem(
                "array",
                format!("{array} is many blades, and parity between them is the clients'"),
                "leave the configuration out",
            );
        }
        let without_level = known.layout.without_protection_level();
        if let Some(kind) = without_level.filter(|_| s.gives("protection_level")) {
            s.problem(
                "protection_level",
                format!("{array} is a {kind} array, which has no protection level"),
                "give it spare spindles instead: spare = 1",
            );
        }
    }
}

impl Slot for Option<ProtectionLevel> {
    fn get(&self) -> Option<SettingValue> {
        self.map(|level| level.word().into())
    }

    fn set(&mut self, value: SettingValue) {
        let mut level = ProtectionLevel::None;
        Slot::set(&mut level, value);
        *self = Some(level);
    }

    fn clear(&mut self) {
        *self = None;
    }
}
