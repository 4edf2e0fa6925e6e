//! The spindles to be bought for an array, and what each of them then delivers.
//!
//! An array needs spindles that do no work: spares, and those that hold the array's own root
//! volume. Their number is a matter of practice, disputed in the comments of the source, so each
//! way is a configuration and gets a row. The measured throughput is the same in every row of an
//! array; only the divisor changes.
//!
//! # Capacity
//!
//! *Write-anywhere*: data spindles, times the right-sized part of a drive, less the file system's
//! own reserve. A 144 GB drive is right-sized to 136,000 MiB (132.8 GiB) and the reserve is 10 %,
//! so 18 data spindles give 2,390.6 GiB, of which 2,151.6 GiB are usable (worked out for 20 such
//! drives in "My Journey with NetApp"; right sizes also at storagegaga.com). Its further 1.5 % for
//! checksums is left out, since right-sizing already accounts for it on drives with 520-byte
//! sectors. Snapshot reserves are settings and are not subtracted.
//!
//! *In place*, VRAID-5: every spindle holds data, less the capacity of the drives that the
//! protection level reserves: 0, 2 or 4 (HP community thread 4031556, and the source's comment of
//! 2008-12-10). Four fifths of the rest is data, since a stripe is always four chunks and parity.
//! With 20 drives of 136.7 GiB that is 2,188, 1,969 or 1,750 GiB. Metadata, under 1 %, is not
//! subtracted.

use crate::data::array::LayoutKind;
use crate::data::number::{SIGNIFICANT_DIGITS, rounded};
use crate::data::overhead::OverheadRow;
use strewn_raid::ProtectionLevel;

/// How an array turns spindles into capacity.
#[derive(Clone, Debug, PartialEq)]
pub enum CapacityRule {
    /// A file system over dedicated parity.
    WriteAnywhere {
        /// The part of a drive that holds blocks, bytes.
        right_sized_bytes: u64,
        /// The file system's own reserve, percent of the data spindles.
        reserve_percent: f64,
    },
    /// A part of some of the data spindles.
    Pool {
        /// How many they are, and the part of each that the pool uses, bytes; `None` for all of it.
        spindles: Vec<(u16, Option<u64>)>,
        /// What blocks can have of that, percent.
        usable_percent: f64,
    },
    /// Blocks in place, on these disk groups.
    InPlace(Vec<DiskGroupCapacity>),
}

/// How a disk group turns spindles into capacity.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DiskGroupCapacity {
    /// VRAID-5 with distributed reserve, by the configuration's [`ProtectionLevel`].
    Vraid5 {
        /// Its spindles.
        spindles: u16,
    },
    /// One RAID-5 group: a spindle's capacity is parity.
    Raid5 {
        /// Its spindles.
        spindles: u16,
    },
    /// One RAID-0 group: all capacity is data.
    Raid0 {
        /// Its spindles.
        spindles: u16,
    },
}

/// An array, as far as cost and capacity are concerned.
#[derive(Clone, Debug, PartialEq)]
pub struct OverheadArray {
    /// Name of the array.
    pub name: String,
    /// What kind it is.
    pub layout: LayoutKind,
    /// Spindles that hold data. Where parity rotates, all of the group.
    pub data_spindles: u32,
    /// Spindles that hold nothing but parity.
    pub parity_spindles: u32,
    /// Host operations per second in the first segment.
    pub iops_fresh: f64,
    /// Host operations per second in the last segment.
    pub iops_end: f64,
    /// Capacity of a drive before any rule, bytes.
    pub capacity_per_spindle_bytes: u64,
    /// How the spindles become capacity.
    pub capacity: CapacityRule,
}

/// One way to buy an array.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OverheadConfiguration {
    /// Name of the array.
    pub array: String,
    /// Name of the configuration.
    pub name: String,
    /// Who argues for it.
    pub source: String,
    /// Spindles that stand by for a failure.
    pub spare: u32,
    /// Spindles that hold the array's own root volume and nothing else.
    pub root: u32,
    /// Reserve of a VRAID-5 array; none for others.
    pub protection_level: Option<ProtectionLevel>,
    /// Whether the spindle counts of the results are those of this configuration.
    pub used_by_results: bool,
}

/// Why overhead could not be computed.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum OverheadError {
    /// A configuration names an unknown array.
    #[error("overhead configuration {name:?}: there is no array {array:?}")]
    UnknownArray {
        /// Name of the configuration.
        name: String,
        /// The array it names.
        array: String,
    },
    /// A configuration of a VRAID-5 array does not give its reserve.
    #[error("overhead configuration {name:?}: a VRAID-5 array needs a protection level")]
    NoProtectionLevel {
        /// Name of the configuration.
        name: String,
    },
    /// The configuration leaves no spindle or no capacity.
    #[error("overhead configuration {name:?}: nothing is left for data")]
    NothingLeft {
        /// Name of the configuration.
        name: String,
    },
    /// The price of a spindle must be positive.
    #[error("overhead: the price of a spindle must be a positive number")]
    Price,
}

const BYTES_PER_GIB: f64 = (1_u64 << 30) as f64;

impl OverheadArray {
    fn purchased(&self, configuration: &OverheadConfiguration) -> u32 {
        self.data_spindles + self.parity_spindles + configuration.spare + configuration.root
    }

    fn usable_bytes(&self, configuration: &OverheadConfiguration) -> Result<f64, OverheadError> {
        let name = || configuration.name.clone();
        let bytes = match &self.capacity {
            CapacityRule::WriteAnywhere { right_sized_bytes, reserve_percent } => {
                f64::from(self.data_spindles)
                    * *right_sized_bytes as f64
                    * (1.0 - reserve_percent / 100.0)
            }
            CapacityRule::Pool { spindles, usable_percent } => {
                let whole = self.capacity_per_spindle_bytes;
                let used = spindles.iter().map(|(count, used)| {
                    f64::from(*count) * used.unwrap_or(whole).min(whole) as f64
                });
                used.sum::<f64>() * usable_percent / 100.0
            }
            CapacityRule::InPlace(groups) => {
                let mut sum = 0.0;
                for group in groups {
                    sum += match *group {
                        DiskGroupCapacity::Vraid5 { spindles } => {
                            let level = configuration
                                .protection_level
                                .ok_or_else(|| OverheadError::NoProtectionLevel { name: name() })?;
                            let of_drive = self.capacity_per_spindle_bytes;
                            level.vraid5_usable_bytes(spindles, of_drive) as f64
                        }
                        DiskGroupCapacity::Raid5 { spindles } => {
                            let data = spindles.saturating_sub(1);
                            f64::from(data) * self.capacity_per_spindle_bytes as f64
                        }
                        DiskGroupCapacity::Raid0 { spindles } => {
                            f64::from(spindles) * self.capacity_per_spindle_bytes as f64
                        }
                    };
                }
                sum
            }
        };
        match bytes > 0.0 && self.data_spindles > 0 {
            true => Ok(bytes),
            false => Err(OverheadError::NothingLeft { name: name() }),
        }
    }
}

/// Returns one row per configuration, in order. A spindle costs `usd_per_spindle`, USD.
///
/// Rows are compared with the figure of the first in-place configuration that the results used, or
/// otherwise of the first in-place configuration.
///
/// # Errors
///
/// If a configuration names an unknown array or leaves nothing for data, or the price is not
/// positive.
pub fn overhead(
    arrays: &[OverheadArray],
    configurations: &[OverheadConfiguration],
    usd_per_spindle: f64,
) -> Result<Vec<OverheadRow>, OverheadError> {
    if !(usd_per_spindle.is_finite() && usd_per_spindle > 0.0) {
        return Err(OverheadError::Price);
    }
    let mut found = Vec::with_capacity(configurations.len());
    for configuration in configurations {
        let array =
            arrays.iter().find(|array| array.name == configuration.array).ok_or_else(|| {
                OverheadError::UnknownArray {
                    name: configuration.name.clone(),
                    array: configuration.array.clone(),
                }
            })?;
        found.push((array, configuration));
    }
    let mut in_place = found.iter().filter(|(array, _)| array.layout == LayoutKind::IN_PLACE);
    let reference = in_place
        .clone()
        .find(|(_, configuration)| configuration.used_by_results)
        .or_else(|| in_place.next())
        .map(|(array, configuration)| {
            let purchased = f64::from(array.purchased(configuration));
            (array.iops_fresh / purchased, array.iops_end / purchased)
        });
    found
        .iter()
        .map(|(array, configuration)| row(array, configuration, usd_per_spindle, reference))
        .collect()
}

fn row(
    array: &OverheadArray,
    configuration: &OverheadConfiguration,
    usd_per_spindle: f64,
    in_place_fresh_and_end: Option<(f64, f64)>,
) -> Result<OverheadRow, OverheadError> {
    let usable_bytes = array.usable_bytes(configuration)?;
    let purchased = array.purchased(configuration);
    let spindles = f64::from(purchased);
    let raw_bytes = spindles * array.capacity_per_spindle_bytes as f64;
    let thousands_of_usd = spindles * usd_per_spindle / 1000.0;
    let short = |value: f64| rounded(value, SIGNIFICANT_DIGITS);
    let percent = |iops: f64, reference: f64| {
        (reference > 0.0).then(|| short(100.0 * iops / spindles / reference))
    };
    Ok(OverheadRow {
        array: array.name.clone(),
        name: configuration.name.clone(),
        workloads: Vec::new(),
        source: configuration.source.clone(),
        used_by_results: configuration.used_by_results,
        purchased,
        usable_gib: short(usable_bytes / BYTES_PER_GIB),
        usable_percent_of_raw: short(100.0 * usable_bytes / raw_bytes),
        iops_fresh: short(array.iops_fresh),
        iops_end: short(array.iops_end),
        iops_per_spindle_fresh: short(array.iops_fresh / spindles),
        iops_per_spindle_end: short(array.iops_end / spindles),
        iops_per_1000_usd_fresh: short(array.iops_fresh / thousands_of_usd),
        iops_per_1000_usd_end: short(array.iops_end / thousands_of_usd),
        percent_of_in_place_fresh: in_place_fresh_and_end
            .and_then(|(fresh, _)| percent(array.iops_fresh, fresh)),
        percent_of_in_place_end: in_place_fresh_and_end
            .and_then(|(_, end)| percent(array.iops_end, end)),
    })
}
