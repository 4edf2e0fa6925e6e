//! LUNs of an array.

use strewn_array::FirstSpindles;

use crate::fields::{Fields, Scales, Table, count, name, size, spindles};
use crate::setting_value::SettingValue;

/// A LUN of an array.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Lun {
    /// The name by which workloads refer to it; `None` for the only one of an array, `lun = "1000 GB"`.
    pub name: Option<String>,
    /// Its length in bytes.
    pub bytes: u64,
    /// The volume that it is in, of a write-anywhere array. LUNs that name none share one.
    pub volume: Option<String>,
    /// How much of its file is laid out before the run, in bytes; `None` if all of it is.
    pub laid_out_bytes: Option<u64>,
    /// The disk group that it lies in, counted from 1, of an in-place array; 1 in any other.
    pub group: u16,
    /// The controller of a pair that owns it, 1 or 2; 1 in any other array.
    pub controller: u16,
}

impl Default for Lun {
    fn default() -> Self {
        Self {
            name: Some(String::new()),
            bytes: 0,
            volume: None,
            laid_out_bytes: None,
            group: 1,
            controller: 1,
        }
    }
}

impl Table for Lun {
    fn fields(&mut self, f: &mut Fields<'_>) {
        f.value(
            name("name", "The name by which workloads refer to it.").required("\"database\""),
            &mut self.name,
        );
        f.value(
            size("size", "Its length.")
                .positive()
                .required("\"200 GB\"")
                .scales(Scales::Whole, "{}"),
            &mut self.bytes,
        );
        f.value(
            name(
                "volume",
                "The volume that it is in, of a write-anywhere array. LUNs that name none share one.",
            ),
            &mut self.volume,
        );
        f.value(
            size(
                "laid_out",
                "How much of its file is laid out before the run, in a write-anywhere array; all of it unless given.",
            )
            .scales(Scales::Whole, "laid out of {}"),
            &mut self.laid_out_bytes,
        );
        f.value(
            spindles(
                "group",
                "The disk group that it lies in, of an array in place: 1, the default, is [array.in_place] itself, 2 the \
                 first [[array.in_place.group]].",
            )
            .within(1..=FirstSpindles::MOST as u64)
            .refusing(refuse_no_group)
            .chosen("1")
            .listed(f.context.has_disk_groups),
            &mut self.group,
        );
        f.value(
            count("controller", "The controller of a pair that owns it.")
                .within(1..=2)
                .chosen("1")
                .listed(f.context.is_pair),
            &mut self.controller,
        );
    }
}

fn refuse_no_group(value: &SettingValue) -> Option<(String, String)> {
    let help = "disk groups have numbers: 1 is [array.in_place] itself, 2 the first [[array.in_place.group]]";
    (*value == SettingValue::Count(0)).then(|| ("is zero".to_owned(), help.to_owned()))
}
