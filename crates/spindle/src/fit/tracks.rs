//! Tracks and zones, from the angles of successive sectors.

use super::timing::{Timing, quantile};
use super::{FitError, MeasuredDrive, Stage};

/// Steps in address to a track when looking for its end, and steps taken: they span two ends.
const STEPS_PER_TRACK: f64 = 16.0;
const STEPS: u64 = 40;

/// An angle that exceeds the step's by more than this, in revolutions, is a skew. A skipped defect adds only a sector.
const LEAST_SKEW_REV: f64 = 0.015;

/// Addresses at which tracks are measured, and the part of the drive to which the boundaries between zones are then
/// narrowed down.
const SAMPLES: u64 = 64;
const BOUNDARY_PARTS: u64 = 8192;

/// Sectors per track differ by less than this fraction because of defects, and by more between zones.
const SAME_ZONE: f64 = 0.004;

/// A seek table has an entry for each cylinder and is slow if it does not fit a processor cache: more tracks than this
/// are spread over more heads.
const MAX_CYLINDERS: u32 = 1 << 19;

/// Attempts at a measurement, each at another address near by.
const TRIES: u64 = 8;

/// A zone. Its tracks are numbered over the whole drive as if there were one head.
#[derive(Clone, Copy, Debug)]
pub(super) struct FoundZone {
    pub(super) first_lba: u64,
    pub(super) first_track: u32,
    pub(super) tracks: u32,
    pub(super) sectors_per_track: u32,
    pub(super) skew_rev: f64,
}

/// All zones, in order of address.
#[derive(Clone, Debug)]
pub(super) struct TrackLayout {
    pub(super) zones: Vec<FoundZone>,
}

impl TrackLayout {
    pub(super) fn tracks(&self) -> u32 {
        self.zones.last().map_or(0, |zone| zone.first_track + zone.tracks)
    }

    /// Heads of the profile: one, or as many as keep the cylinders few.
    pub(super) fn heads(&self) -> u32 {
        self.tracks().div_ceil(MAX_CYLINDERS).max(1)
    }

    /// The zone of a track and the first sector of the track.
    pub(super) fn track(&self, track: u32) -> (FoundZone, u64) {
        let after = self.zones.partition_point(|zone| zone.first_track <= track);
        let zone = self.zones[after.max(1) - 1];
        let lba = u64::from(track - zone.first_track) * u64::from(zone.sectors_per_track);
        (zone, zone.first_lba + lba)
    }
}

/// A track measured at one address.
#[derive(Clone, Copy, Debug)]
struct TrackSample {
    lba: u64,
    sectors_per_track: f64,
    /// None where no track's end showed.
    skew_rev: Option<f64>,
}

impl TrackSample {
    fn same_zone(&self, other: &Self) -> bool {
        let (one, two) = (self.sectors_per_track, other.sectors_per_track);
        (one - two).abs() <= (SAME_ZONE * one.max(two)).max(0.5)
    }
}

/// Finds sectors per track and mean skew over all addresses.
pub(super) fn find_layout<D: MeasuredDrive>(
    timing: &mut Timing<'_, D>,
) -> Result<TrackLayout, FitError> {
    let capacity_sectors = timing.capacity_sectors();
    let mut sector_ns = sector_width_ns(timing, 0)?;
    let mut samples: Vec<TrackSample> = Vec::new();
    for number in 0..=SAMPLES {
        timing.report(Stage::Zones, number as f64 / (SAMPLES + 1) as f64);
        let lba = capacity_sectors / SAMPLES * number;
        let known: Vec<TrackSample> = samples.last().copied().into_iter().collect();
        let sample = measure_confirmed(timing, lba, &known, &mut sector_ns)?;
        if let Some(&before) = samples.last() {
            narrow(timing, before, sample, &mut sector_ns, &mut samples)?;
        }
        samples.push(sample);
    }
    timing.report(Stage::Zones, 1.0);
    Ok(TrackLayout { zones: zones_from(&samples, capacity_sectors) })
}

/// The width of a sector from `first_lba` on, in nanoseconds, to a few per cent: the angle over
/// twice as many sectors each time, until it is a fair part of a revolution.
fn sector_width_ns<D: MeasuredDrive>(
    timing: &mut Timing<'_, D>,
    first_lba: u64,
) -> Result<f64, FitError> {
    // As far as the reads below reach.
    let first_lba = first_lba.min(timing.capacity_sectors().saturating_sub(1 << 15));
    let mut widths_ns = Vec::new();
    for attempt in 0..9 {
        let lba = first_lba + attempt * 997;
        for sectors in (0..14).map(|power| 1_u64 << power) {
            let from = timing.read(lba)?;
            let to = timing.read(lba + sectors)?;
            let angle_ns = timing.angle_ns(from, to);
            let angle_ns = timing.signed_ns(angle_ns);
            if angle_ns > timing.revolution_ns() / 8.0 {
                widths_ns.push(angle_ns / sectors as f64);
                break;
            }
        }
    }
    // A track's end in the way makes the width too large, and seldom is.
    let width_ns = quantile(widths_ns, 0.35);
    if width_ns > 0.0 { Ok(width_ns) } else { Err(FitError::NoTracks { lba: first_lba }) }
}

/// Bisects between two samples of different zones until the boundary is known well enough.
fn narrow<D: MeasuredDrive>(
    timing: &mut Timing<'_, D>,
    before: TrackSample,
    after: TrackSample,
    sector_ns: &mut f64,
    samples: &mut Vec<TrackSample>,
) -> Result<(), FitError> {
    let apart_sectors = after.lba.saturating_sub(before.lba);
    let near_sectors = (timing.capacity_sectors() / BOUNDARY_PARTS)
        .max(4 * before.sectors_per_track.max(after.sectors_per_track) as u64);
    if before.same_zone(&after) || apart_sectors <= near_sectors {
        return Ok(());
    }
    let lba = before.lba + apart_sectors / 2;
    let middle = measure_confirmed(timing, lba, &[before, after], sector_ns)?;
    narrow(timing, before, middle, sector_ns, samples)?;
    samples.push(middle);
    narrow(timing, middle, after, sector_ns, samples)
}

/// Measures a track at `lba`. If it resembles no known one, a read may have been late: it is measured until two results
/// in a row agree.
fn measure_confirmed<D: MeasuredDrive>(
    timing: &mut Timing<'_, D>,
    lba: u64,
    known: &[TrackSample],
    sector_ns: &mut f64,
) -> Result<TrackSample, FitError> {
    let mut sample = measure_sample(timing, lba, sector_ns)?;
    for _ in 0..TRIES {
        if known.iter().any(|known| known.same_zone(&sample)) {
            break;
        }
        let again = measure_sample(timing, lba, sector_ns)?;
        if again.same_zone(&sample) {
            break;
        }
        sample = again;
    }
    Ok(sample)
}

/// Measures a track at `lba` or, should that fail, near it. `sector_ns` is a sector's approximate width, and is set to
/// the measured one.
fn measure_sample<D: MeasuredDrive>(
    timing: &mut Timing<'_, D>,
    lba: u64,
    sector_ns: &mut f64,
) -> Result<TrackSample, FitError> {
    let sample = match measure_near(timing, lba, *sector_ns)? {
        Some(sample) => sample,
        // The previous zone's width is no guide here.
        None => {
            let width_ns = sector_width_ns(timing, lba)?;
            measure_near(timing, lba, width_ns)?.ok_or(FitError::NoTracks { lba })?
        }
    };
    *sector_ns = timing.revolution_ns() / sample.sectors_per_track;
    Ok(TrackSample { lba, ..sample })
}

/// Measures a track at `lba` or near it, one with a skew if there is any.
fn measure_near<D: MeasuredDrive>(
    timing: &mut Timing<'_, D>,
    lba: u64,
    sector_ns: f64,
) -> Result<Option<TrackSample>, FitError> {
    let track_sectors = timing.revolution_ns() / sector_ns;
    let last_lba = timing.capacity_sectors().saturating_sub((4.0 * track_sectors) as u64 + STEPS);
    let mut without_skew = None;
    for attempt in 0..TRIES {
        let near_lba = (lba + (attempt as f64 * 2.3 * track_sectors) as u64)
            .min(last_lba.saturating_sub((attempt as f64 * 2.3 * track_sectors) as u64));
        let Some(sample) = measure_track(timing, near_lba, sector_ns)? else { continue };
        if sample.skew_rev.is_some() {
            return Ok(Some(sample));
        }
        without_skew.get_or_insert(sample);
    }
    Ok(without_skew)
}

/// Measures the first whole track after `lba`. None if the angles there do not follow the addresses.
fn measure_track<D: MeasuredDrive>(
    timing: &mut Timing<'_, D>,
    lba: u64,
    sector_ns: f64,
) -> Result<Option<TrackSample>, FitError> {
    let revolution_ns = timing.revolution_ns();
    let step = (revolution_ns / STEPS_PER_TRACK / sector_ns).round().max(1.0) as u64;
    let mut before = timing.read(lba)?;
    let mut angles_ns = Vec::with_capacity(STEPS as usize);
    for number in 1..=STEPS {
        let times = timing.read(lba + number * step)?;
        angles_ns.push(timing.angle_ns(before, times));
        before = times;
    }
    let step_ns = quantile(angles_ns.clone(), 0.5);
    let turned_ns: Vec<f64> =
        angles_ns.iter().map(|angle_ns| timing.signed_ns(angle_ns - step_ns)).collect();
    let is_turned = |turned_ns: f64| turned_ns.abs() > LEAST_SKEW_REV * revolution_ns;
    let regular = turned_ns.iter().filter(|&&turned_ns| !is_turned(turned_ns));
    let (count, excess_ns) =
        regular.fold((0, 0.0), |(count, sum), turned_ns| (count + 1, sum + turned_ns));
    if count < STEPS / 2 {
        return Ok(None);
    }
    let sector_ns = (step_ns + excess_ns / count as f64) / step as f64;
    let ends: Vec<usize> =
        (0..turned_ns.len()).filter(|&number| is_turned(turned_ns[number])).collect();
    let expected = revolution_ns / sector_ns;
    let [first, second, ..] = ends[..] else {
        // No skew, or one too small to see: the width gives the number of sectors.
        let sample = TrackSample { lba, sectors_per_track: expected.round(), skew_rev: None };
        return Ok(ends.is_empty().then_some(sample));
    };
    let first_lba =
        track_end(timing, lba + first as u64 * step, step, turned_ns[first], sector_ns)?;
    let second_lba =
        track_end(timing, lba + second as u64 * step, step, turned_ns[second], sector_ns)?;
    let sectors = (second_lba - first_lba) as f64;
    if (sectors / expected - 1.0).abs() > 0.02 + 1.0 / expected {
        return Ok(None);
    }
    let skew_rev = (turned_ns[first] / revolution_ns).rem_euclid(1.0);
    Ok(Some(TrackSample { lba, sectors_per_track: sectors, skew_rev: Some(skew_rev) }))
}

/// The first sector of the track that starts within `step` sectors after `lba`, turned by
/// `skew_ns` against the one before.
fn track_end<D: MeasuredDrive>(
    timing: &mut Timing<'_, D>,
    lba: u64,
    step: u64,
    skew_ns: f64,
    sector_ns: f64,
) -> Result<u64, FitError> {
    let (mut here, mut beyond) = (0, step);
    while beyond - here > 1 {
        let middle = here + (beyond - here) / 2;
        let from = timing.read(lba)?;
        let to = timing.read(lba + middle)?;
        let turned_ns = timing.angle_ns(from, to) - middle as f64 * sector_ns;
        let turned_ns = timing.signed_ns(turned_ns);
        if timing.signed_ns(turned_ns - skew_ns).abs() < turned_ns.abs() {
            beyond = middle;
        } else {
            here = middle;
        }
    }
    Ok(lba + beyond)
}

/// Joins like samples into zones. A single sample unlike both its neighbours lies across a boundary and is dropped.
fn zones_from(samples: &[TrackSample], capacity_sectors: u64) -> Vec<FoundZone> {
    let mut runs: Vec<Vec<TrackSample>> = Vec::new();
    for &sample in samples {
        match runs.last_mut() {
            Some(run) if run[0].same_zone(&sample) => run.push(sample),
            _ => runs.push(vec![sample]),
        }
    }
    if runs.iter().any(|run| run.len() > 1) {
        runs.retain(|run| run.len() > 1);
    }
    // Join the runs that such a sample separated.
    let mut joined: Vec<Vec<TrackSample>> = Vec::new();
    for run in runs {
        match joined.last_mut() {
            Some(before) if before[0].same_zone(&run[0]) => before.extend(run),
            _ => joined.push(run),
        }
    }
    let mut zones: Vec<FoundZone> = Vec::new();
    let mut first_lba = 0;
    let mut first_track = 0;
    for (number, run) in joined.iter().enumerate() {
        let end_lba = match (run.last(), joined.get(number + 1)) {
            (Some(last), Some(next)) => last.lba + (next[0].lba - last.lba) / 2,
            _ => capacity_sectors,
        };
        let sectors = quantile(run.iter().map(|sample| sample.sectors_per_track).collect(), 0.5);
        let skews: Vec<f64> = run.iter().filter_map(|sample| sample.skew_rev).collect();
        let sectors_per_track = sectors as u32;
        let tracks = (end_lba - first_lba).div_ceil(u64::from(sectors_per_track).max(1)) as u32;
        let skew_rev = quantile(skews, 0.5);
        zones.push(FoundZone { first_lba, first_track, tracks, sectors_per_track, skew_rev });
        first_lba = end_lba;
        first_track += tracks;
    }
    zones
}
