//! A drive's properties by distance and by place: from its tables, not under load.

use strewn_results::{SIGNIFICANT_DIGITS, SeekPoint, TransferPoint, rounded};
use strewn_spindle::{Command, CommandError, Direction, Drive, Track};

/// Number of points in a seek curve, and in a transfer rate curve.
const SEEK_POINTS: u32 = 200;
const TRANSFER_POINTS: u64 = 100;

/// Rounds to the significant digits of results.
pub(super) fn figure(value: f64) -> f64 {
    rounded(value, SIGNIFICANT_DIGITS)
}

/// Returns the seek curve, with points denser at short distances, where it bends.
pub(super) fn seek_curve(drive: &Drive) -> Vec<SeekPoint> {
    let longest = drive.cylinders().saturating_sub(1);
    let mut distances: Vec<u32> = (1..=SEEK_POINTS)
        .map(|point| {
            let share = f64::from(point) / f64::from(SEEK_POINTS);
            (f64::from(longest) * share * share).round() as u32
        })
        .filter(|distance| *distance > 0)
        .collect();
    distances.insert(0, 1.min(longest));
    distances.dedup();
    let point = |cylinders: u32| {
        let ticks = drive.seek_ticks(Track::new(0, 0), Track::new(cylinders, 0));
        SeekPoint { cylinders, ms: figure(drive.rotation().ns(ticks.into()) as f64 / 1e6) }
    };
    distances.into_iter().map(point).collect()
}

/// Returns the rate of reading each hundredth of the drive in order, including track and cylinder switches, and
/// limited by the bus if that is slower.
pub(super) fn transfer_rates(
    drive: &Drive,
    bus_mb_per_s: Option<f64>,
) -> Result<Vec<TransferPoint>, CommandError> {
    let place = |point: u64| point * drive.capacity_sectors() / TRANSFER_POINTS;
    let rate = |point: u64| {
        let (lba, end) = (place(point), place(point + 1));
        let sectors = u32::try_from(end - lba).unwrap_or(u32::MAX);
        let transfer = drive.transfer(&Command { lba, sectors, direction: Direction::Read })?;
        let bytes = f64::from(sectors) * f64::from(drive.sector_bytes());
        let mb_per_s = bytes * 1e3 / drive.rotation().ns(transfer.ticks) as f64;
        let mb_per_s = figure(mb_per_s.min(bus_mb_per_s.unwrap_or(f64::INFINITY)));
        Ok(TransferPoint {
            lba,
            lba_percent: point as f64 * 100.0 / TRANSFER_POINTS as f64,
            mb_per_s,
        })
    };
    (0..TRANSFER_POINTS).map(rate).collect()
}
