//! Seek time by distance, and the overhead of a command where the arm stays.

use super::timing::Timing;
use super::tracks::TrackLayout;
use super::{FitError, MeasuredDrive, Stage};

/// Successive distances grow by this factor.
const DISTANCE_RATIO: f64 = 1.25;

/// Seeks measured at each distance; the longest and the shortest are dropped.
const SEEKS: usize = 10;

/// Longest distance, as a fraction of all tracks. The curve is extrapolated beyond it.
const LONGEST: f64 = 0.97;

/// Most that the step at a missed sector may differ from one revolution, in revolutions.
const STEP_TOLERANCE: f64 = 0.03;

/// The measured times of the arm.
#[derive(Clone, Debug)]
pub(super) struct Seeks {
    /// Before the arm moves.
    pub(super) overhead_ms: f64,
    /// From one track to the next.
    pub(super) next_track_ms: f64,
    /// `(cylinders, ms)`, ascending in both; a cylinder is as many tracks as the layout has heads.
    pub(super) curve: Vec<(u32, f64)>,
}

/// Measures overhead and seek curve.
pub(super) fn find_seeks<D: MeasuredDrive>(
    timing: &mut Timing<'_, D>,
    layout: &TrackLayout,
) -> Result<Seeks, FitError> {
    let heads = layout.heads();
    let longest = (f64::from(layout.tracks() / heads) * LONGEST) as u32;
    let overhead_ns = mean_ns(timing, layout, 0)?;
    let next_track_ns = mean_ns(timing, layout, 1)?;
    let mut curve = Vec::new();
    let mut next = 1;
    while next < longest {
        timing.report(Stage::Seeks, f64::ln(f64::from(next)) / f64::ln(f64::from(longest)));
        curve.push((next, mean_ns(timing, layout, next * heads)?));
        next = ((f64::from(next) * DISTANCE_RATIO).round() as u32).max(next + 1);
    }
    curve.push((longest, mean_ns(timing, layout, longest * heads)?));
    timing.report(Stage::Seeks, 1.0);
    // No seek is shorter than the overhead: the least of them bounds it.
    let overhead_ns = curve.iter().fold(overhead_ns, |least_ns, point| point.1.min(least_ns));
    let next_track_ms = (next_track_ns - overhead_ns).max(0.0) / 1e6;
    let ms = ascending(curve.iter().map(|point| (point.1 - overhead_ns) / 1e6).collect());
    let curve = curve.iter().zip(ms).map(|(point, ms)| (point.0, ms)).collect();
    Ok(Seeks { overhead_ms: overhead_ns / 1e6, next_track_ms, curve })
}

/// Mean time in nanoseconds until the head is on a track `distance` tracks away.
fn mean_ns<D: MeasuredDrive>(
    timing: &mut Timing<'_, D>,
    layout: &TrackLayout,
    distance: u32,
) -> Result<f64, FitError> {
    let mut seeks_ns = Vec::with_capacity(SEEKS);
    for attempt in 0..8 * SEEKS {
        if seeks_ns.len() == SEEKS {
            break;
        }
        let outer = timing.random(u64::from(layout.tracks() - distance)) as u32;
        let inner = outer + distance;
        let (from, to) = if attempt % 2 == 0 { (outer, inner) } else { (inner, outer) };
        seeks_ns.extend(seek_ns(timing, layout, from, to)?);
    }
    if seeks_ns.len() < SEEKS / 2 {
        return Err(FitError::NoSeek { tracks: distance });
    }
    seeks_ns.sort_unstable_by(f64::total_cmp);
    let kept = &seeks_ns[1..seeks_ns.len() - 1];
    Ok(kept.iter().sum::<f64>() / kept.len() as f64)
}

/// Time in nanoseconds until the head is on track `to`, coming from track `from`. None if this attempt did not show it.
///
/// Along the target track each sector ends one sector's width after the one before, until one is no longer missed: it
/// ends a revolution less a width earlier, and is the first that the arm reaches in time.
fn seek_ns<D: MeasuredDrive>(
    timing: &mut Timing<'_, D>,
    layout: &TrackLayout,
    from: u32,
    to: u32,
) -> Result<Option<f64>, FitError> {
    let revolution_ns = timing.revolution_ns();
    let (zone, target_lba) = layout.track(to);
    let sectors = u64::from(zone.sectors_per_track);
    let sector_ns = revolution_ns / sectors as f64;
    let (from_zone, from_lba) = layout.track(from);
    let from_lba = from_lba + timing.random(u64::from(from_zone.sectors_per_track) / 2);
    // On the same track only later sectors can be late; on another, any.
    let target_lba =
        if from == to { from_lba + 1 } else { target_lba + timing.random(sectors / 2) };
    let capacity_sectors = timing.capacity_sectors();
    // The drive may end within its last track.
    if from_lba.max(target_lba) >= capacity_sectors {
        return Ok(None);
    }
    let room_sectors = capacity_sectors - target_lba;
    let mut late = 0;
    let mut reached = sectors.min(room_sectors).saturating_sub(1);
    if from == to {
        reached /= 2;
    }
    let try_at = |timing: &mut Timing<'_, D>, sector: u64| -> Result<(f64, f64), FitError> {
        let before = timing.read(from_lba)?;
        let times = timing.read(target_lba + sector)?;
        let level_ns = super::timing::span_ns(before, times) - sector as f64 * sector_ns;
        Ok((level_ns, times.end_ns.saturating_sub(times.start_ns) as f64))
    };
    let (mut late_ns, first_response_ns) = try_at(timing, late)?;
    if from == to && first_response_ns < revolution_ns / 2.0 {
        // The very next sector is reached: there is hardly any overhead.
        return Ok(Some((first_response_ns - 1.5 * sector_ns).max(0.0)));
    }
    let (mut reached_ns, mut response_ns) = try_at(timing, reached)?;
    let between_ns = late_ns - revolution_ns / 2.0;
    if reached_ns >= between_ns {
        return Ok(None);
    }
    while reached - late > 1 {
        let middle = late + (reached - late) / 2;
        let (level_ns, middle_response_ns) = try_at(timing, middle)?;
        if level_ns < between_ns {
            (reached, reached_ns, response_ns) = (middle, level_ns, middle_response_ns);
        } else {
            (late, late_ns) = (middle, level_ns);
        }
    }
    // Another step means that a track's end is in between.
    let step_rev = (late_ns - reached_ns) / revolution_ns;
    let clean = (step_rev - 1.0).abs() < STEP_TOLERANCE;
    // Less the sector's own width and the mean wait for it, half a width.
    Ok(clean.then_some((response_ns - 1.5 * sector_ns).max(0.0)))
}

/// The ascending sequence nearest to `values` in least squares: neighbours that fall are replaced by their mean.
fn ascending(values: Vec<f64>) -> Vec<f64> {
    let mut blocks: Vec<(f64, usize)> = Vec::with_capacity(values.len());
    for value in values {
        let mut block = (value, 1);
        while let Some(&(sum, count)) = blocks.last() {
            if sum / count as f64 <= block.0 / block.1 as f64 {
                break;
            }
            block = (block.0 + sum, block.1 + count);
            blocks.pop();
        }
        blocks.push(block);
    }
    let means = blocks.into_iter().map(|(sum, count)| (sum / count as f64, count));
    means.flat_map(|(mean, count)| std::iter::repeat_n(mean, count)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_curve_that_falls_is_levelled_where_it_does() {
        assert_eq!(ascending(vec![1.0, 4.0, 2.0, 3.0, 5.0]), [1.0, 3.0, 3.0, 3.0, 5.0]);
        assert_eq!(ascending(vec![3.0, 2.0, 1.0]), [2.0; 3]);
    }
}
