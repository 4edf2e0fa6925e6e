//! The keys of a data sheet, each declared once.

use super::DataSheet;
use crate::profile_validation::{MAX_HEADS, SECTOR_FORMATS};
use crate::rotation::{MAX_DELAY_MS, MAX_RPM};

/// A unit, and what it is in the quantity's own.
pub(super) type Unit = (&'static str, f64);

const CAPACITY: &[Unit] = &[
    ("MB", 1e6),
    ("GB", 1e9),
    ("TB", 1e12),
    ("MiB", 1_048_576.0),
    ("GiB", 1_073_741_824.0),
    ("TiB", 1_099_511_627_776.0),
];
const TIME: &[Unit] = &[("ms", 1.0), ("us", 1e-3), ("µs", 1e-3), ("s", 1e3)];
const RATE: &[Unit] = &[("MB/s", 1.0), ("MiB/s", 1.048_576), ("GB/s", 1e3)];
/// SATA and SAS up to 12 Gb/s send a byte as ten bits.
const INTERFACE: &[Unit] =
    &[("MB/s", 1.0), ("GB/s", 1e3), ("Gb/s", 100.0), ("Gbit/s", 100.0), ("Gbps", 100.0)];
const SPEED: &[Unit] = &[("", 1.0), ("rpm", 1.0), ("K", 1e3)];
const COUNT: &[Unit] = &[("", 1.0)];
const BYTES: &[Unit] = &[("", 1.0), ("B", 1.0), ("bytes", 1.0), ("KiB", 1024.0)];

/// A quantity on a data sheet.
pub(super) struct Key {
    pub(super) name: &'static str,
    /// An example, quoted as it is written.
    pub(super) example: &'static str,
    pub(super) units: &'static [Unit],
    pub(super) required: bool,
    /// Whether a value is possible by itself.
    pub(super) is_possible: fn(f64) -> bool,
    /// What is possible, in words.
    pub(super) limits: &'static str,
    pub(super) set: fn(&mut DataSheet, f64),
}

/// The key whose value is words: the title of the sheet.
pub(super) const SOURCE: &str = "source";

fn is_delay(ms: f64) -> bool {
    ms > 0.0 && ms < MAX_DELAY_MS
}

fn is_rate(mb_per_s: f64) -> bool {
    (0.1..=1e5).contains(&mb_per_s)
}

fn is_whole(value: f64) -> bool {
    value.fract() == 0.0
}

const DELAY_LIMITS: &str = "a seek takes more than 0 and less than 100 ms";
const RATE_LIMITS: &str = "a drive transfers 0.1 MB/s to 100 GB/s";

pub(super) const KEYS: [Key; 12] = [
    Key {
        name: "rpm",
        example: "rpm=10000",
        units: SPEED,
        required: true,
        is_possible: |rpm| (1.0..=MAX_RPM as f64).contains(&rpm) && is_whole(rpm),
        limits: "a drive turns 1 to 100000 whole times a minute",
        set: |sheet, rpm| sheet.rpm = rpm,
    },
    Key {
        name: "capacity",
        example: "capacity=\"600 GB\"",
        units: CAPACITY,
        required: true,
        is_possible: |bytes| (1e6..1e18).contains(&bytes),
        limits: "a drive holds 1 MB or more",
        set: |sheet, bytes| sheet.capacity_bytes = bytes,
    },
    Key {
        name: "seek",
        example: "seek=\"3.7 ms\"",
        units: TIME,
        required: true,
        is_possible: is_delay,
        limits: DELAY_LIMITS,
        set: |sheet, ms| sheet.seek_ms = ms,
    },
    Key {
        name: "outer",
        example: "outer=\"204 MB/s\"",
        units: RATE,
        required: true,
        is_possible: is_rate,
        limits: RATE_LIMITS,
        set: |sheet, rate| sheet.outer_mb_per_s = rate,
    },
    Key {
        name: "inner",
        example: "inner=\"125 MB/s\"",
        units: RATE,
        required: true,
        is_possible: is_rate,
        limits: RATE_LIMITS,
        set: |sheet, rate| sheet.inner_mb_per_s = rate,
    },
    Key {
        name: "track_to_track",
        example: "track_to_track=\"0.2 ms\"",
        units: TIME,
        required: false,
        is_possible: is_delay,
        limits: DELAY_LIMITS,
        set: |sheet, ms| sheet.track_to_track_ms = Some(ms),
    },
    Key {
        name: "full_stroke",
        example: "full_stroke=\"7.8 ms\"",
        units: TIME,
        required: false,
        is_possible: is_delay,
        limits: DELAY_LIMITS,
        set: |sheet, ms| sheet.full_stroke_ms = Some(ms),
    },
    Key {
        name: "write_seek",
        example: "write_seek=\"4.4 ms\"",
        units: TIME,
        required: false,
        is_possible: is_delay,
        limits: DELAY_LIMITS,
        set: |sheet, ms| sheet.write_seek_ms = Some(ms),
    },
    Key {
        name: "heads",
        example: "heads=6",
        units: COUNT,
        required: false,
        is_possible: |heads| (1.0..=MAX_HEADS as f64).contains(&heads) && is_whole(heads),
        limits: "a drive has 1 to 255 heads",
        set: |sheet, heads| sheet.heads = Some(heads),
    },
    Key {
        name: "sector",
        example: "sector=512",
        units: BYTES,
        required: false,
        is_possible: |bytes| SECTOR_FORMATS.iter().any(|format| f64::from(*format) == bytes),
        limits: "a sector has 512, 520, 528 or 4096 bytes",
        set: |sheet, bytes| sheet.sector_bytes = Some(bytes),
    },
    Key {
        name: "interface",
        example: "interface=\"6 Gb/s\"",
        units: INTERFACE,
        required: false,
        is_possible: is_rate,
        limits: RATE_LIMITS,
        set: |sheet, rate| sheet.interface_mb_per_s = Some(rate),
    },
    Key {
        name: "cache",
        example: "cache=\"64 MB\"",
        units: CAPACITY,
        required: false,
        is_possible: |bytes| (1e6..=16e9).contains(&bytes),
        limits: "a drive's cache has 1 MB to 16 GB",
        set: |sheet, bytes| sheet.cache_bytes = Some(bytes),
    },
];
