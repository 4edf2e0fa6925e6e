//! The map from a sector's address to its cylinder, head and angle.
//!
//! The layout is a list of *spans*. A span is a row of tracks on one head, in cylinder order, with equally many sectors
//! and equal skew. Within it, one multiplication turns an address into a track. The Cheetah's 288,246 tracks are 6,212
//! spans: 266 kilobytes with the index, which stay in a core's second-level cache where a table of tracks would not.

use std::ops::Range;

use strewn_base::state::SavedValue;

use crate::profile::Profile;
use crate::rotation::{Angle, revolutions_to_fraction};
use crate::zone::Zone;

/// Sectors for each entry of the index into the spans, as a power of two: about as many as a span of the Cheetah holds.
const INDEX_SHIFT: u32 = 16;

/// Fractional bits of [`Span::tracks_per_sector`].
const RECIPROCAL_BITS: u32 = 40;

/// A cylinder and a head, packed so that a queue compares and subtracts them cheaply.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, SavedValue)]
pub struct Track(u32);

impl Track {
    const HEAD_BITS: u32 = 8;

    /// The track of `head` on `cylinder`; a cylinder has 24 bits, a head 8.
    #[inline]
    pub const fn new(cylinder: u32, head: u32) -> Self {
        Self(cylinder << Self::HEAD_BITS | head)
    }

    /// Cylinder, counted from the outermost.
    #[inline]
    pub const fn cylinder(self) -> u32 {
        self.0 >> Self::HEAD_BITS
    }

    /// Head, counted from 0.
    #[inline]
    pub const fn head(self) -> u32 {
        self.0 & ((1 << Self::HEAD_BITS) - 1)
    }
}

/// The point at which a sector starts.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, SavedValue)]
pub struct Location {
    /// Cylinder and head.
    pub track: Track,
    /// Angle at which the sector starts.
    pub angle: Angle,
}

impl Location {
    /// Cylinder, counted from the outermost.
    #[inline]
    pub const fn cylinder(self) -> u32 {
        self.track.cylinder()
    }

    /// Head, counted from 0.
    #[inline]
    pub const fn head(self) -> u32 {
        self.track.head()
    }
}

/// A row of tracks with equal sectors and skew. Angles are in 1/2³² revolutions, which wrap by themselves.
#[derive(Clone, Copy, Debug)]
struct Span {
    first_lba: u64,
    /// 2⁴⁰ divided by `sectors`, rounded up.
    tracks_per_sector: u64,
    first_cylinder: u32,
    /// Sectors that can be addressed on each track.
    sectors: u32,
    /// Start of the first track.
    angle: u32,
    track_skew: u32,
    /// Width of a sector, rounded down.
    sector_width: u32,
    head: u8,
    /// 1 inward, −1 outward.
    cylinder_step: i8,
}

impl Span {
    /// The cylinder of one of its tracks, counted from its first.
    #[inline]
    fn cylinder(&self, track: u32) -> u32 {
        self.first_cylinder.wrapping_add(track.wrapping_mul(self.cylinder_step as u32))
    }

    /// Whether its first track is one of the drive's.
    fn is_on(&self, profile: &Profile) -> bool {
        self.first_cylinder < profile.cylinders()
            && u32::from(self.head) < profile.heads
            && self.sectors > 0
    }
}

/// The part of a track from one sector on.
#[derive(Clone, Copy, Debug)]
pub(crate) struct TrackRemainder {
    pub(crate) start: Location,
    /// Sectors from here to the end of the track.
    pub(crate) sectors: u32,
    /// Width of each, in 1/2³² revolutions.
    sector_width: u32,
}

impl TrackRemainder {
    /// Ticks that `sectors` of this track take to pass, rounded down.
    #[inline]
    pub(crate) fn transfer_ticks(&self, sectors: u32) -> u32 {
        // At most a track: the sum of floored widths is less than 2³² sector widths.
        ((u64::from(sectors) * u64::from(self.sector_width)) >> 12) as u32
    }
}

/// The map from sector addresses to locations on the platters.
#[derive(Clone, Debug)]
pub(crate) struct Geometry {
    /// In address order, followed by one that starts at the capacity.
    spans: Vec<Span>,
    /// By address `>> INDEX_SHIFT`: the span that holds the first sector of the entry.
    index: Vec<u32>,
    capacity_sectors: u64,
}

impl Geometry {
    /// The layout of a valid profile.
    pub(crate) fn new(profile: &Profile) -> Self {
        let mut spans = Vec::new();
        for (index, zone) in profile.zones.iter().enumerate() {
            lay_out_zone(profile, zone, profile.zone_sectors(index), &mut spans);
        }
        for span in &spans {
            assert!(span.is_on(profile), "the layout leaves the drive: {span:?}");
        }
        let capacity_sectors = profile.capacity_sectors;
        if let Some(&last) = spans.last() {
            spans.push(Span { first_lba: capacity_sectors, ..last });
        }
        let entries = (capacity_sectors >> INDEX_SHIFT) + 1;
        let mut span = 0;
        let index = (0..entries)
            .map(|entry| {
                let lba = entry << INDEX_SHIFT;
                while span + 2 < spans.len() && spans[span + 1].first_lba <= lba {
                    span += 1;
                }
                span as u32
            })
            .collect();
        Self { spans, index, capacity_sectors }
    }

    pub(crate) fn capacity_sectors(&self) -> u64 {
        self.capacity_sectors
    }

    #[inline]
    fn span_number(&self, lba: u64) -> usize {
        debug_assert!(lba < self.capacity_sectors);
        let mut number = self.index[(lba >> INDEX_SHIFT) as usize] as usize;
        while self.spans[number + 1].first_lba <= lba {
            number += 1;
        }
        number
    }

    /// The sectors of the track that holds `lba`, which is below the capacity.
    pub(crate) fn track_sectors(&self, lba: u64) -> Range<u64> {
        let number = self.span_number(lba);
        let span = &self.spans[number];
        let (first_lba, sectors) = (span.first_lba, u64::from(span.sectors));
        let start = lba - (lba - first_lba) % sectors;
        start..(start + sectors).min(self.spans[number + 1].first_lba)
    }

    /// The track that holds `lba`, from that sector on. `lba` is below the capacity.
    #[inline]
    pub(crate) fn locate(&self, lba: u64) -> TrackRemainder {
        let number = self.span_number(lba);
        let span = &self.spans[number];
        // A span is a pass at most: 2^12 tracks of 2^14 sectors, so its addresses differ by less than 2^32.
        let offset = (lba - span.first_lba) as u32;
        let track = ((u64::from(offset) * span.tracks_per_sector) >> RECIPROCAL_BITS) as u32;
        let sector = offset - track * span.sectors;
        let fraction = span
            .angle
            .wrapping_add(track.wrapping_mul(span.track_skew))
            .wrapping_add(sector.wrapping_mul(span.sector_width));
        TrackRemainder {
            start: Location {
                track: Track::new(span.cylinder(track), u32::from(span.head)),
                angle: Angle::from_fraction(fraction),
            },
            sectors: (span.sectors - sector).min((self.spans[number + 1].first_lba - lba) as u32),
            sector_width: span.sector_width,
        }
    }
}

/// Appends the spans of `zone_sectors` sectors, pass by pass.
fn lay_out_zone(profile: &Profile, zone: &Zone, zone_sectors: u64, spans: &mut Vec<Span>) {
    let band_cylinders = profile.band_cylinders;
    let bands = ((2 * zone.cylinders() + band_cylinders) / (2 * band_cylinders)).max(1);
    let end_lba = zone.first_lba + zone_sectors;
    let mut layout = ZoneBuilder {
        zone,
        slips: &zone.slips,
        angle_steps: &zone.angle_steps,
        track: 0,
        lba: zone.first_lba,
        end_lba,
        angle: revolutions_to_fraction(zone.first_angle_rev),
        spans,
    };
    for band in 0..bands {
        let outer = zone.first_cylinder + band * band_cylinders;
        let inner = if band + 1 == bands { zone.last_cylinder } else { outer + band_cylinders - 1 };
        for pass in 0..profile.heads {
            if layout.lba >= end_lba {
                return;
            }
            let (head, kind) = if band % 2 == 0 {
                (pass, pass)
            } else {
                (profile.heads - 1 - pass, profile.heads + pass)
            };
            let inward = pass % 2 == 0;
            layout.pass(Pass { head, outer, inner, inward, kind: kind as usize });
        }
    }
}

/// One band on one head.
#[derive(Clone, Copy)]
struct Pass {
    head: u32,
    outer: u32,
    inner: u32,
    inward: bool,
    /// Index into the zone's skews.
    kind: usize,
}

/// Lays out a zone, span by span.
struct ZoneBuilder<'a> {
    zone: &'a Zone,
    /// Slips whose last track is still ahead.
    slips: &'a [(u32, u32, u32)],
    /// Steps not yet taken.
    angle_steps: &'a [(u32, f64)],
    track: u32,
    lba: u64,
    end_lba: u64,
    angle: u32,
    spans: &'a mut Vec<Span>,
}

impl ZoneBuilder<'_> {
    fn pass(&mut self, pass: Pass) {
        let track_skew = revolutions_to_fraction(self.zone.track_skew_rev[pass.kind]);
        let turn_skew = revolutions_to_fraction(self.zone.turn_skew_rev[pass.kind]);
        let tracks = pass.inner - pass.outer + 1;
        let (mut cylinder, cylinder_step) =
            if pass.inward { (pass.outer, 1) } else { (pass.inner, -1_i8) };
        let mut left = tracks;
        while left > 0 && self.lba < self.end_lba {
            let count = self.take_angle_step(left);
            let (count, slipped) = self.equal_tracks(count);
            let sectors = self.zone.sectors_per_track - slipped;
            self.spans.push(Span {
                first_lba: self.lba,
                tracks_per_sector: (1_u64 << RECIPROCAL_BITS).div_ceil(u64::from(sectors)),
                first_cylinder: cylinder,
                sectors,
                angle: self.angle,
                track_skew,
                sector_width: ((1_u64 << 32) / u64::from(self.zone.sectors_per_track)) as u32,
                // A profile has fewer than 2^8 heads.
                head: pass.head as u8,
                cylinder_step,
            });
            self.lba += u64::from(count) * u64::from(sectors);
            self.track += count;
            self.angle = self.angle.wrapping_add(count.wrapping_mul(track_skew));
            cylinder = cylinder.wrapping_add(count.wrapping_mul(cylinder_step as u32));
            left -= count;
        }
        self.angle = self.angle.wrapping_sub(track_skew).wrapping_add(turn_skew);
    }

    /// Applies the angle step at this track, if there is one. Returns how many of the next `limit` tracks precede the
    /// next step.
    fn take_angle_step(&mut self, limit: u32) -> u32 {
        while let Some(&(track, revolutions)) = self.angle_steps.first() {
            if self.track < track {
                return limit.min(track - self.track);
            }
            self.angle = self.angle.wrapping_add(revolutions_to_fraction(revolutions));
            self.angle_steps = &self.angle_steps[1..];
        }
        limit
    }

    /// How many of the next `limit` tracks lack as many sectors as the first of them, and how many sectors that is.
    fn equal_tracks(&mut self, limit: u32) -> (u32, u32) {
        while let Some(&(first, count, _)) = self.slips.first() {
            if self.track < first + count {
                break;
            }
            self.slips = &self.slips[1..];
        }
        match self.slips.first() {
            Some(&(first, _, _)) if self.track < first => (limit.min(first - self.track), 0),
            Some(&(first, count, sectors)) => (limit.min(first + count - self.track), sectors),
            None => (limit, 0),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_spans_of_the_cheetah_fit_a_second_level_cache() {
        let profile = Profile::shipped("seagate-cheetah-15k5-st3146855fc").unwrap();
        let geometry = Geometry::new(&profile);
        let bytes = geometry.spans.len() * size_of::<Span>() + geometry.index.len() * 4;
        println!("{} spans, {bytes} bytes with the index", geometry.spans.len());
        assert!(bytes < 270_000, "{bytes}");
    }

    #[test]
    fn sectors_past_32_bits_are_found() {
        let mut profile = Profile::shipped("nearline-7200-16tb").unwrap();
        profile.capacity_sectors = (1 << 33) + 12_345;
        profile.derive().unwrap();
        let geometry = Geometry::new(&profile);
        // Every track that a step finds begins where the one before ends.
        let (mut lba, mut tracks) = (0, 0_u64);
        while lba < profile.capacity_sectors {
            let track = geometry.track_sectors(lba);
            assert_eq!(track.start, lba);
            let located = geometry.locate(lba);
            assert_eq!(u64::from(located.sectors), track.end - lba);
            assert!(located.start.cylinder() < profile.cylinders());
            (lba, tracks) = (track.end, tracks + 1);
        }
        assert!(tracks <= u64::from(profile.cylinders()) * u64::from(profile.heads));
    }

    #[test]
    fn the_serpentine_turns_at_each_band_and_head() {
        let profile = Profile::shipped("seagate-cheetah-15k5-st3146855fc").unwrap();
        let geometry = Geometry::new(&profile);
        for (track, cylinder, head) in [
            (0, 0, 0),
            (64, 64, 0),
            (65, 64, 1),
            (129, 0, 1),
            (130, 0, 2),
            (259, 0, 3),
            (260, 65, 3),
        ] {
            let start = geometry.locate(track * 1200).start;
            assert_eq!((start.cylinder(), start.head()), (cylinder, head), "track {track}");
        }
    }
}
