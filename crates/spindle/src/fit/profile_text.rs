//! The measurements as a profile's file.

use std::fmt;

use super::seeks::Seeks;
use super::tracks::TrackLayout;
use crate::provenance::Provenance;

/// Cylinders in a band: with one head, where bands mean nothing, and with more.
const BAND_CYLINDERS: [u32; 2] = [1 << 11, 1 << 8];

/// Points of the seek curve in a line.
const POINTS_PER_LINE: usize = 4;

/// The comment that explains the numbers.
const WHAT_IS_WHAT: &str = "\
#
# Measured: the revolution, sectors per track and skew by zone, the seek by distance, the overhead of
# a read. Inferred: the number of heads, which only says how many tracks are counted as a cylinder; a
# seek is the mean over head switches and arm movements of so many tracks. Writes are as reads, for
# want of writing, and every zone starts at angle zero. Not measured: the drive's cache, its bus.

";

/// Measured, published or inferred.
type Kind = fn(String) -> Provenance;

/// The source of each number.
const PROVENANCE: [(&str, Kind, &str); 11] = [
    ("rpm", Provenance::Measured, "one sector read again and again"),
    (
        "heads",
        Provenance::Inferred,
        "as few as hold the tracks: which head reads which is not known",
    ),
    ("sector_bytes", Provenance::Published, "as the device says of itself"),
    ("capacity_sectors", Provenance::Published, "as the device says of itself"),
    (
        "band_cylinders",
        Provenance::Inferred,
        "a profile of so many heads holds such: bands were not looked for",
    ),
    ("seek", Provenance::Measured, "the sector that is just reached, by distance"),
    ("head_switch_ms", Provenance::Measured, "as a seek to the next track"),
    ("write_settle_ms", Provenance::Inferred, "writes as reads, for want of writing"),
    ("zero_latency", Provenance::Inferred, "neither, for want of long reads and of writing"),
    ("overhead_ms", Provenance::Measured, "the sector that is just reached, the arm staying"),
    ("zone", Provenance::Measured, "sectors per track and skew; angles between zones are not"),
];

/// Everything measured. Prints as the text of a profile.
pub(super) struct ProfileText<'a> {
    pub(super) name: &'a str,
    pub(super) device: &'a str,
    pub(super) sector_bytes: u32,
    pub(super) capacity_sectors: u64,
    pub(super) revolution_ns: f64,
    pub(super) reads: u64,
    pub(super) drive_ns: u64,
    pub(super) layout: &'a TrackLayout,
    pub(super) seeks: &'a Seeks,
}

impl ProfileText<'_> {
    /// A seek to the next track, shortened to the skew there if it exceeds the skew only by its measuring error:
    /// sequential reads would otherwise lose a revolution at each track.
    fn within_skew_ms(&self, seek_ms: f64) -> f64 {
        let skews = self.layout.zones.iter().map(|zone| zone.skew_rev * self.revolution_ns / 1e6);
        let least_ms = skews.filter(|&ms| ms > 0.0).fold(f64::INFINITY, f64::min) - 0.001;
        if (0.8 * seek_ms..seek_ms).contains(&least_ms) { least_ms } else { seek_ms }
    }
}

impl fmt::Display for ProfileText<'_> {
    fn fmt(&self, text: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { name, device, reads, .. } = *self;
        let seconds = self.drive_ns / 1_000_000_000;
        let (name, credit) = (
            toml::Value::from(name),
            toml::Value::from(format!("measured by strewn on {device}, through {reads} reads")),
        );
        let device: String = device.chars().filter(|letter| !letter.is_control()).collect();
        writeln!(text, "# Measured by strewn on {device},")?;
        writeln!(
            text,
            "# through {reads} reads of one sector in {seconds} s; nothing was written."
        )?;
        text.write_str(WHAT_IS_WHAT)?;
        writeln!(text, "name = {name}\ncredit = {credit}")?;
        writeln!(text, "# {:.6} ms a revolution", self.revolution_ns / 1e6)?;
        writeln!(text, "rpm = {}", (60e9 / self.revolution_ns).round())?;
        let heads = self.layout.heads();
        writeln!(text, "heads = {heads}\nsector_bytes = {}", self.sector_bytes)?;
        writeln!(text, "capacity_sectors = {}", self.capacity_sectors)?;
        writeln!(text, "band_cylinders = {}", BAND_CYLINDERS[usize::from(heads > 1)])?;
        let switch_ms = self.within_skew_ms(self.seeks.next_track_ms);
        writeln!(text, "head_switch_ms = {switch_ms:.5}\nwrite_settle_ms = 0.0")?;
        writeln!(text, "\n# [cylinders crossed, ms]\nseek = [")?;
        for (number, points) in self.seeks.curve.chunks(POINTS_PER_LINE).enumerate() {
            write!(text, "   ")?;
            for (place, &(cylinders, ms)) in points.iter().enumerate() {
                let ms = if number + place == 0 { self.within_skew_ms(ms) } else { ms };
                write!(text, " [{cylinders}, {ms:.5}],")?;
            }
            writeln!(text)?;
        }
        writeln!(text, "]\n\n[overhead_ms]")?;
        let overhead_ms = self.seeks.overhead_ms;
        for field in
            ["read_after_read", "read_after_write", "write_after_read", "write_after_write"]
        {
            writeln!(text, "{field} = {overhead_ms:.5}")?;
        }
        writeln!(text, "\n[provenance]")?;
        for (number, kind, source) in PROVENANCE {
            writeln!(text, "{number} = {}", kind(source.to_owned()))?;
        }
        let mut first_cylinder = 0;
        for zone in &self.layout.zones {
            let next_cylinder = first_cylinder + zone.tracks.div_ceil(heads);
            writeln!(text, "\n[[zone]]\nfirst_cylinder = {first_cylinder}")?;
            writeln!(text, "last_cylinder = {}", next_cylinder - 1)?;
            writeln!(text, "first_lba = {}", zone.first_lba)?;
            writeln!(text, "sectors_per_track = {}", zone.sectors_per_track)?;
            writeln!(text, "first_angle_rev = 0.0")?;
            // One below the printed precision cannot round up to a whole revolution.
            let skew = format!("{:.5}", zone.skew_rev.min(0.999_99));
            let skews = vec![skew; 2 * heads as usize].join(", ");
            writeln!(text, "track_skew_rev = [{skews}]\nturn_skew_rev = [{skews}]")?;
            first_cylinder = next_cylinder;
        }
        Ok(())
    }
}
